"""Information-directed sampling: IDS, IDS-N, IDS-LP, IDSN-LP, V-IDS and V-IDS-N."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from graphbandits.errors import check_bool
from graphbandits.policies.base import Event, Needs
from graphbandits.policies.bayesian import GainPolicy, OwnOutcomePolicy, Rule, RulePolicy
from graphbandits.posteriors import Observations
from graphbandits.registry import register
from graphbandits.rules import ids_lp, ids_n, idsn_lp


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
    """

    side: bool = False
    rule: ClassVar[Rule] = staticmethod(ids_n)

    @classmethod
    def examples(cls) -> list[IDS]:
        return [cls(), cls(side=True)]

    def __post_init__(self) -> None:
        check_bool(self.side, "ids: side")

    def learns_from(self, event: Event) -> Observations:
        return event.observations if self.side else event.played


@register("policy", "ids-n")
@dataclass(frozen=True)
class IDSN(GainPolicy):
    """Information-directed sampling: minimal squared regret per information gain (IDS-N).

    P1: min (pi.Delta)^2 / (pi.Gh). Liu, Buccapatnam and Shroff (2018); on the empty graph it is
    the IDS of Russo and Van Roy (2018). With ``gain=joint`` the exact information g replaces its
    lower bound G h.

    Parameters
    ----------
    gain : {"bound", "joint"}
        Information gain of a play: the lower bound G h, or the exact information g of all
        observations together.
    """

    rule: ClassVar[Rule] = staticmethod(ids_n)


@register("policy", "ids-lp")
@dataclass(frozen=True)
class IDSLP(GainPolicy):
    """Minimal expected regret with at least the information gain of TS without a graph (IDS-LP).

    P3: min pi.Delta subject to pi.Gh >= alpha.h. Liu, Buccapatnam and Shroff (2018). With
    ``gain=joint`` the constraint is pi.g >= alpha.h.

    Parameters
    ----------
    gain : {"bound", "joint"}
        Information gain of a play: the lower bound G h, or the exact information g of all
        observations together.
    """

    rule: ClassVar[Rule] = staticmethod(ids_lp)


@register("policy", "idsn-lp")
@dataclass(frozen=True)
class IDSNLP(GainPolicy):
    """Minimal expected regret with at least the information gain of TS-N (IDSN-LP).

    P2: min pi.Delta subject to pi.Gh >= alpha.Gh. Liu, Buccapatnam and Shroff (2018). With
    ``gain=joint`` the constraint is pi.g >= alpha.g.

    Parameters
    ----------
    gain : {"bound", "joint"}
        Information gain of a play: the lower bound G h, or the exact information g of all
        observations together.
    """

    rule: ClassVar[Rule] = staticmethod(idsn_lp)


@register("policy", "v-ids")
@dataclass(frozen=True)
class VIDS(OwnOutcomePolicy, RulePolicy):
    """Variance-based information-directed sampling without the graph (V-IDS).

    P1 with the gain v: min (pi.Delta)^2 / (pi.v), v_i = sum_j alpha_j (M_ji - m_i)^2 <= h_i / 2.
    The policy learns from the arms played only. Russo and Van Roy (2018).
    """

    rule: ClassVar[Rule] = staticmethod(ids_n)
    variance: ClassVar[bool] = True


@register("policy", "v-ids-n")
@dataclass(frozen=True)
class VIDSN(RulePolicy):
    """Variance-based information-directed sampling with the graph (V-IDS-N).

    P1 with the gain G v: min (pi.Delta)^2 / (pi.Gv). The variance form v of Russo and Van Roy
    (2018) replaces h of Liu, Buccapatnam and Shroff (2018).
    """

    needs: ClassVar[Needs] = Needs(graph="before")
    rule: ClassVar[Rule] = staticmethod(ids_n)
    variance: ClassVar[bool] = True
