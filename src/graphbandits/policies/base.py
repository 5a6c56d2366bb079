"""The contract of a policy, and what it is shown: Needs, Problem, View, Event."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol

from graphbandits._types import Floats, Ints, State
from graphbandits.errors import InputError, NeedsError, check_bool, nearest
from graphbandits.graphs import Feedback, Process
from graphbandits.graphs.graph_info import GraphInfo
from graphbandits.graphs.processes import GRAPH_KNOWN, fixed_feedback
from graphbandits.posteriors import Observations, Posterior
from graphbandits.registry import build, name_of, registered
from graphbandits.rng import Keys, Stream

#: The largest finite number.
FINITE = sys.float_info.max
#: Policies that a refusal names.
NAMED = 8
_GRAPH = {
    "never": "observations only",
    "after": "the graph after the play",
    "before": "the graph before the decision",
}


@dataclass(frozen=True)
class Needs:
    """What a policy must be told: ``View`` and ``Event`` raise on anything else.

    ``graph``: "never", "after" the play or "before" the decision; ``deterministic``: every
    entry of the graph must be 0 or 1; ``fixed``: it must be the same in every round;
    ``horizon``: the number of rounds must be known.
    """

    graph: str = "never"
    deterministic: bool = False
    horizon: bool = False
    fixed: bool = False

    def __post_init__(self) -> None:
        if self.graph not in GRAPH_KNOWN:
            raise InputError(
                f"Needs(graph={self.graph!r}): {nearest(str(self.graph), GRAPH_KNOWN)}"
            )
        for name in ("deterministic", "horizon", "fixed"):
            check_bool(getattr(self, name), f"Needs: {name}")
        if self.fixed and self.graph == "never":
            raise InputError("Needs(fixed=True) is about a graph that is told: say graph= as well")

    def __str__(self) -> str:
        told = _GRAPH[self.graph]
        told += ", which must be 0/1" if self.deterministic else ""
        told += f"{' and' if self.deterministic else ', which must'} stay the same" * self.fixed
        return told + (", and the horizon" if self.horizon else "")


@dataclass(frozen=True)
class Problem:
    """What does not change from round to round: the prior, and what the policy may know."""

    posterior: Posterior
    _horizon: int | None = None
    needs: Needs = field(default_factory=Needs)
    _graphs: GraphInfo | None = None

    @property
    def arms(self) -> int:
        return self.posterior.arms

    @property
    def horizon(self) -> int:
        """The number of rounds T, for policies that declare that they need it."""
        if not self.needs.horizon or self._horizon is None:
            raise NeedsError("this policy asked for the horizon: declare Needs(horizon=True)")
        return self._horizon

    @property
    def graphs(self) -> GraphInfo:
        """What is known of the graphs beforehand, for policies that are told them at all."""
        if self.needs.graph == "never" or self._graphs is None:
            raise NeedsError("this policy asked how the graphs come: declare Needs(graph='after')")
        return self._graphs


@dataclass(frozen=True)
class View:
    """What a policy sees before it decides in round t."""

    t: int
    keys: Keys
    problem: Problem
    _feedback: Feedback

    @property
    def graph(self) -> Feedback:
        """This round's feedback, for policies that need it before the decision."""
        if self.problem.needs.graph != "before":
            raise NeedsError(
                "this policy asked for the graph before its decision: declare Needs(graph='before')"
            )
        return self._feedback

    def random(self, purpose: str) -> Stream:
        """Random numbers of this round, the same for every policy that asks for ``purpose``."""
        return Stream(self.keys, self.t, f"policy/{purpose}")


@dataclass(frozen=True)
class Event:
    """What a policy learns after its play in round t."""

    t: int
    keys: Keys
    problem: Problem
    _feedback: Feedback
    pi: Floats
    action: Ints
    observations: Observations

    @property
    def graph(self) -> Feedback:
        """This round's feedback, for policies that need it before or after the play."""
        if self.problem.needs.graph == "never":
            raise NeedsError("this policy asked for the graph: declare Needs(graph='after')")
        return self._feedback

    @property
    def played(self) -> Observations:
        """What was seen of the arms played themselves: all there is without a graph."""
        seen = self.observations
        own = seen.arm == self.action[seen.trial]
        return Observations(seen.trial[own], seen.arm[own], seen.reward[own])

    def random(self, purpose: str) -> Stream:
        """Random numbers of this round, apart from those of the decision."""
        return Stream(self.keys, self.t, f"policy-update/{purpose}")


class Policy(Protocol):
    """A frozen dataclass of parameters; the state is plain named arrays, one row a trial."""

    needs: ClassVar[Needs]
    #: Whether ``propose`` returns the distribution of the play, or a draw from it (one-hot).
    exact: ClassVar[bool]

    def init(self, problem: Problem, keys: Keys) -> State:
        """The state before the first round."""

    def propose(self, state: State, view: View) -> Floats:
        """The distribution of this round's play, (B, K); leaves the state as it was."""

    def update(self, state: State, event: Event) -> State:
        """The state after this round; consumes ``state`` and may write into it."""


def as_policy(given: object) -> Policy:
    """A policy from its text, or the object itself if it is one.

    >>> as_policy("ids-n")
    IDSN(gain='bound')
    """
    policy: Any = build("policy", given) if isinstance(given, str) else given
    parts = ("needs", "exact", "init", "propose", "update")
    missing = [part for part in parts if not hasattr(policy, part)]
    if isinstance(policy, type) or len(missing) == len(parts):
        raise InputError(f"a policy is a text such as 'ids-n' or a policy object, not {given!r}")
    if missing:
        raise InputError(f"policy '{name_of(policy)}' has no {', no '.join(missing)}")
    if not isinstance(policy.needs, Needs):
        raise InputError(
            f"policy '{name_of(policy)}': needs is {policy.needs!r}; write needs: "
            "ClassVar[Needs] = Needs(...)"
        )
    checked: Policy = policy
    return checked


def check_needs(policy: Policy, process: Process, horizon: int | None) -> None:
    """Refuse a policy that cannot be told what it needs, and name others that would do."""
    missing = unmet(policy.needs, process, horizon)
    if missing:
        name = name_of(policy)
        others: dict[str, Any] = dict(registered("policy"))
        would_do = [
            other
            for other, cls in others.items()
            if isinstance(getattr(cls, "needs", None), Needs)
            and not unmet(cls.needs, process, horizon)
        ]
        family = name.partition("-")[0]
        # its relatives first, then those that make most of what they are told
        would_do.sort(
            key=lambda other: (
                other.partition("-")[0] != family,
                -GRAPH_KNOWN.index(others[other].needs.graph),
            )
        )
        more = len(would_do) - NAMED
        raise NeedsError(
            f"policy '{name}' {missing}; policies that would do: {', '.join(would_do[:NAMED])}"
            + (f" and {more} more" if more > 0 else "")
        )


def check_problem(policy: Policy, problem: Problem) -> None:
    """Let a policy refuse what it cannot play, before anything runs, if it has a ``check``."""
    given: Any = policy
    if hasattr(given, "check"):
        given.check(problem)


def check_saved(policy: Policy, state: State, problem: Problem) -> None:
    """Let a policy refuse a state from a file, if it has a ``check_state``, before it is used."""
    given: Any = policy
    if hasattr(given, "check_state"):
        given.check_state(state, problem)


def check_range(state: State, name: str, least: object, most: object) -> None:
    """Refuse an array of a saved state that has a number outside of a range, or NaN."""
    values: Any = state[name]
    if not ((values >= least) & (values <= most)).all():
        raise InputError(f"its state '{name}' has a number that no plays lead to")


def unmet(needs: Needs, process: Process, horizon: int | None) -> str:
    """Why a problem cannot tell a policy what it needs; empty if it can."""
    told = getattr(
        process, "graph_known", "before"
    )  # what a plug-in's process does not say it tells
    if GRAPH_KNOWN.index(told) < GRAPH_KNOWN.index(needs.graph):
        here = "never told" if told == "never" else "told after the play only"
        return f"needs {_GRAPH[needs.graph]}, and this one is {here}"
    if needs.deterministic and not process.deterministic:
        return "needs a graph with entries 0 and 1 only, and this one has probabilities"
    if needs.fixed and fixed_feedback(process) is None:
        return "needs a graph that is the same in every round, and this one changes"
    if needs.horizon and horizon is None:
        return "needs to know the number of rounds, and it is not given"
    return ""
