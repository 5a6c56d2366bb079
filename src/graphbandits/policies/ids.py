"""IDS: information-directed sampling without the graph."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from graphbandits.errors import check_bool
from graphbandits.policies.base import Event
from graphbandits.policies.bayesian import Rule, RulePolicy
from graphbandits.posteriors import Observations
from graphbandits.registry import register
from graphbandits.rules import ids_n


@register("policy", "ids")
@dataclass(frozen=True)
class IDS(RulePolicy):
    """Information-directed sampling without the graph (IDS).

    P1 with the gain h: min (pi.Delta)^2 / (pi.h), the minimal squared regret per information gain.
    The policy does not use the graph, and learns from the arms played only. With ``side=True`` it
    also learns from side observations; the difference to IDS-N is then the value of knowing the
    graph. Russo and Van Roy (2018).

    Parameters
    ----------
    side : bool
        Whether to learn from side observations.

    Examples
    --------
    >>> from graphbandits import Agent
    >>> Agent("ids", arms=4, graph="star", seed=1).decide().probability  # ignores the graph
    0.25
    """

    side: bool = False
    rule: ClassVar[Rule] = staticmethod(ids_n)

    @classmethod
    def examples(cls) -> list[IDS]:
        """Instances used by the contract tests.

        Returns
        -------
        list of IDS
            One instance for each value of ``side``.
        """
        return [cls(), cls(side=True)]

    def __post_init__(self) -> None:
        check_bool(self.side, "ids: side")

    def learns_from(self, event: Event) -> Observations:
        return event.observations if self.side else event.played
