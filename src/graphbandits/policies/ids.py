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

    P1 with the gain h: min (pi.Delta)^2 / (pi.h), the least squared regret per information, of what
    was seen of the arms played. With ``side`` it learns from side observations as well, and still
    does not know the graph: what IDS-N gains beyond that is what the graph is worth. Russo and Van
    Roy (2018).

    >>> from graphbandits import Agent
    >>> Agent("ids", arms=4, graph="star", seed=1).decide().probability  # the middle is no better
    0.25
    """

    side: bool = False
    rule: ClassVar[Rule] = staticmethod(ids_n)

    @classmethod
    def examples(cls) -> list[IDS]:
        """Of these the contract is tried."""
        return [cls(), cls(side=True)]

    def __post_init__(self) -> None:
        check_bool(self.side, "ids: side")

    def learns_from(self, event: Event) -> Observations:
        """What was seen of the arm played, or with ``side`` all that was."""
        return event.observations if self.side else event.played
