"""The policy protocol, and what a policy receives: Needs, Problem, View, Event."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, NoReturn, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from graphbandits._types import Floats, Ints, State
from graphbandits.errors import InputError, NeedsError, check_bool, nearest
from graphbandits.graphs import Feedback, Process
from graphbandits.graphs.processes import GRAPH_KNOWN, fixed_feedback
from graphbandits.graphs.properties import GraphInfo
from graphbandits.posteriors import Observations, Posterior
from graphbandits.posteriors.base import (
    COUNT,
    REAL,
    Support,
    has_variance,
    reward_support,
    select_arms,
)
from graphbandits.posteriors.updates import at_decision
from graphbandits.registry import build, name_of, registered
from graphbandits.rng import Keys, Stream

#: The largest finite number.
MAX_FLOAT = sys.float_info.max
#: Number of alternatives that the error about unmet needs lists.
MAX_ALTERNATIVES = 8
#: Restricted problems in the cache of a problem, times its number of arms.
MAX_CACHED_ARMS = 2**16
_GRAPH = {
    "never": "observations only",
    "after": "the graph after the play",
    "before": "the graph before the decision",
}


@dataclass(frozen=True)
class Needs:
    """Information that a policy needs; access to anything else raises :class:`NeedsError`.

    Parameters
    ----------
    graph : {"never", "after", "before"}
        Whether the policy uses the graph, and when it needs it: after the play or before the
        decision.
    deterministic : bool
        Whether every entry of the graph must be 0 or 1.
    horizon : bool
        Whether the number of rounds must be known.
    fixed : bool
        Whether the graph must be the same in every round.

    Examples
    --------
    >>> str(Needs(graph="before", deterministic=True))
    'the graph before the decision, with entries 0 and 1 only'
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
            raise InputError("Needs(fixed=True) needs a graph: add graph='before' or graph='after'")

    def __str__(self) -> str:
        text = _GRAPH[self.graph]
        text += ", with entries 0 and 1 only" if self.deterministic else ""
        text += ", the same in every round" if self.fixed else ""
        return text + (", and the horizon" if self.horizon else "")


@dataclass(frozen=True)
class Problem:
    """The part of a problem that is the same in all rounds.

    Parameters
    ----------
    posterior : Posterior
        The prior, and the model that updates it.
    needs : Needs
        The declared needs of the policy, which limit what it can read from the problem.
    """

    posterior: Posterior
    _horizon: int | None = None
    needs: Needs = field(default_factory=Needs)
    _graphs: GraphInfo | None = None
    _index: Ints | None = None  # numbers of the arms, if the problem is restricted
    _parts: dict[bytes, Problem] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )
    _cache: dict[str, Any] = field(default_factory=dict, init=False, repr=False, compare=False)

    @property
    def arms(self) -> int:
        """Number of arms K."""
        return self.posterior.arms

    @property
    def horizon(self) -> int:
        """Number of rounds T, for policies that declare ``Needs(horizon=True)``."""
        if not self.needs.horizon or self._horizon is None:
            raise NeedsError("this policy uses the horizon: declare Needs(horizon=True)")
        return self._horizon

    @property
    def graphs(self) -> GraphInfo:
        """Properties of the graphs, for policies that declare that they need the graph."""
        if self.needs.graph == "never" or self._graphs is None:
            raise NeedsError(
                "this policy uses properties of the graphs: declare Needs(graph='after')"
            )
        if self._index is None:
            return self._graphs
        if "graphs" not in self._cache:  # only if the policy asks for them
            self._cache["graphs"] = self._graphs.among(self._index)
        found: GraphInfo = self._cache["graphs"]
        return found

    def among(self, arms: Ints) -> Problem:
        """Return the problem restricted to ``arms``, in increasing order: its arm i is ``arms[i]``.

        Equal arms give the same object.
        """
        if len(arms) == self.arms:
            return self
        key = arms.tobytes()
        if key not in self._parts:
            if len(self._parts) >= max(1, MAX_CACHED_ARMS // self.arms):
                self._parts.clear()
            index = arms if self._index is None else self._index[arms]
            chosen = select_arms(self.posterior, arms)
            self._parts[key] = replace(self, posterior=chosen, _index=index)
        return self._parts[key]


@dataclass(frozen=True)
class View:
    """Information available to a policy before its decision in round t.

    If only some arms are eligible, the engine calls :meth:`Policy.propose` with the view of the
    problem restricted to these arms: ``problem``, ``graph`` and the state have no other arms, and
    :attr:`arm_numbers` has their numbers. A policy needs no code for it.

    Parameters
    ----------
    t : int
        The round, from 1.
    keys : Keys
        The trials of the block, which identify its random numbers.
    problem : Problem
        The part of the problem that is the same in all rounds.
    eligible : ndarray of bool, optional
        Arms that may be played, of shape (B, K), or (1, K) if they are the same in all trials. None
        if all arms of the problem are eligible, as in every view that a policy receives.
    now : float
        The time of the decision; by default the round. A live agent gives seconds since 1970 if the
        posterior has a half-life.
    """

    t: int
    keys: Keys
    problem: Problem
    _feedback: Feedback
    eligible: NDArray[np.bool_] | None = None
    now: float = math.nan

    def __post_init__(self) -> None:
        if math.isnan(self.now):
            object.__setattr__(self, "now", float(self.t))

    def current(self, state: State) -> State:
        """Return the state of the posterior at this decision: discounted, if the posterior is.

        Use it in ``propose`` for all statistics of the posterior. ``state`` is not modified.
        """
        return at_decision(self.problem.posterior, state, self.t, self.now)

    @property
    def arm_numbers(self) -> Ints:
        """Numbers of the arms of this view: 0 to K - 1, or those of the eligible arms."""
        index = self.problem._index
        return np.arange(self.problem.arms) if index is None else index

    @property
    def graph(self) -> Feedback:
        """The graph of this round, for policies that declare ``Needs(graph="before")``."""
        if self.problem.needs.graph != "before":
            raise NeedsError(
                "this policy uses the graph before its decision: declare Needs(graph='before')"
            )
        return self._feedback

    def random(self, purpose: str) -> Stream:
        """Return random numbers of this round; the same ``purpose`` gives the same numbers."""
        return Stream(self.keys, self.t, f"policy/{purpose}")


@dataclass(frozen=True)
class Event:
    """Information available to a policy after its play in round t.

    Parameters
    ----------
    t : int
        The round, from 1.
    keys : Keys
        The trials of the block, which identify its random numbers.
    problem : Problem
        The part of the problem that is the same in all rounds.
    pi : ndarray of shape (B, K)
        The distribution that the policy proposed.
    action : ndarray of shape (B,)
        The arm played in each trial.
    observations : Observations
        The rewards observed: of the arm played, and of the arms that it revealed.
    now : float
        The time of the decision, as in :class:`View`; by default the round.
    """

    t: int
    keys: Keys
    problem: Problem
    _feedback: Feedback
    pi: Floats
    action: Ints
    observations: Observations
    now: float = math.nan

    def __post_init__(self) -> None:
        if math.isnan(self.now):
            object.__setattr__(self, "now", float(self.t))

    @property
    def graph(self) -> Feedback:
        """The graph of this round, for policies that declare that they need the graph."""
        if self.problem.needs.graph == "never":
            raise NeedsError("this policy uses the graph: declare Needs(graph='after')")
        return self._feedback

    @property
    def played(self) -> Observations:
        """Observations of the arms played, without side observations."""
        seen = self.observations
        return seen.select(seen.arm == self.action[seen.trial])

    def random(self, purpose: str) -> Stream:
        """Return random numbers of this round, different from those of :meth:`View.random`."""
        return Stream(self.keys, self.t, f"policy-update/{purpose}")


class Policy(Protocol):
    """Protocol of a policy: a frozen dataclass of parameters, with a state of named arrays.

    A policy works on a block of B trials at once. Every array of its state has one row per trial.

    Attributes
    ----------
    needs : Needs
        Information that the policy needs.
    exact : bool
        True if :meth:`propose` returns the distribution of the play, False if it returns a draw
        from it (one-hot rows).
    accepts : Support or None, optional
        The rewards that the policy accepts; None, the default, for all. Another problem is refused
        before the run.
    weighted : bool, optional
        Whether :meth:`update` uses ``Observations.weight``. Without it, weights other than 1 are
        refused.
    incremental : bool, optional
        Whether :meth:`update` may be called with a part of the observations of a round, several
        times per round and in any order of the rounds. Such a policy has a method
        ``learn(state, seen, problem)`` for observations that belong to no round. Without it, a live
        agent updates the policy once per decision, when the decision is closed.
    restrictable : bool, optional
        Whether :meth:`propose` may be called for some of the arms, with the state of these arms;
        True by default. Eligible arms are refused before the run if it is False.
    """

    needs: ClassVar[Needs]
    exact: ClassVar[bool]

    def init(self, problem: Problem, keys: Keys) -> State:
        """Return the state before the first round: named arrays of numbers, one row per trial.

        Parameters
        ----------
        problem : Problem
            The prior and, if declared in ``needs``, the horizon and properties of the graphs.
        keys : Keys
            The trials of the block.
        """

    def propose(self, state: State, view: View) -> Floats:
        """Return the probability of each arm in each trial, (B, K), without changing the state.

        Parameters
        ----------
        state : dict of str to ndarray
            The current state.
        view : View
            Information available before the decision.
        """

    def update(self, state: State, event: Event) -> State:
        """Return the state after a round, with the same names, shapes and types.

        Parameters
        ----------
        state : dict of str to ndarray
            The current state, which may be modified in place.
        event : Event
            The play and the observations.
        """


def as_policy(given: object) -> Policy:
    """Return a policy, given as text such as ``"ids-n(gain=joint)"`` or as an object.

    >>> as_policy("ids-n")
    IDSN(gain='bound')
    """
    policy: Any = build("policy", given) if isinstance(given, str) else given
    parts = ("needs", "exact", "init", "propose", "update")
    missing = [part for part in parts if not hasattr(policy, part)]
    if isinstance(policy, type) or missing:
        raise InputError(
            f"a policy must be a text such as 'ids-n' or a policy object, not {given!r}"
            + (f", which has no {', '.join(missing)}" if missing else "")
        )
    needs, accepts = policy.needs, getattr(policy, "accepts", None)
    if not isinstance(needs, Needs) or not isinstance(accepts, Support | None):
        raise InputError(
            f"policy '{name_of(policy)}': needs must be a Needs object, not {needs!r}, and accepts "
            f"must be None or a support such as interval(0, 1), not {accepts!r}"
        )
    checked: Policy = policy
    return checked


def with_inner(policy: Policy) -> list[Policy]:
    """Return a policy, and the policy that it contains, if there is one."""
    inner = getattr(policy, "inner", None)
    return [policy] if inner is None else [policy, *with_inner(inner)]


def check_needs(policy: Policy, process: Process, horizon: int | None) -> None:
    """Raise NeedsError if a problem does not meet the needs of a policy; list alternatives."""
    missing = unmet(policy.needs, process, horizon)
    if missing:
        name = name_of(policy)
        suitable = alternatives(name, lambda cls: not unmet(cls.needs, process, horizon))
        raise NeedsError(f"policy '{name}' {missing}; suitable policies: {suitable}")


def alternatives(name: str, is_suitable: Callable[[Any], bool]) -> str:
    """List the first suitable policies, and the number of others."""
    others: dict[str, Any] = dict(registered("policy"))
    suitable = [
        other
        for other, cls in others.items()
        if isinstance(getattr(cls, "needs", None), Needs) and is_suitable(cls)
    ]
    family = name.partition("-")[0]
    # policies of the same family first, then those that use most of the available information
    suitable.sort(
        key=lambda other: (
            other.partition("-")[0] != family,
            -GRAPH_KNOWN.index(others[other].needs.graph),
        )
    )
    more = len(suitable) - MAX_ALTERNATIVES
    return ", ".join(suitable[:MAX_ALTERNATIVES]) + (f" and {more} more" if more > 0 else "")


def unaccepted(policy: object, rewards: Support) -> str:
    """Return the reason why a policy, or its class, does not accept rewards; empty if it does."""
    accepts = getattr(policy, "accepts", None)
    if accepts is None or accepts.includes(rewards):
        return ""
    if getattr(policy, "rescales", False):
        stated = not isinstance(policy, type) and getattr(policy, "scale_is_stated", False)
        if rewards.bounded or stated:
            return ""
        kind = {REAL: "real numbers", COUNT: "counts"}.get(rewards, "not bounded")
        return f"needs rewards in a bounded interval, but these rewards are {kind}"
    return (
        f"needs each reward to be {accepts.description}, but here a reward is {rewards.description}"
    )


def raise_unaccepted(policy: object, problem: Problem) -> NoReturn:
    """Raise NeedsError because a policy does not accept the rewards; list alternatives."""
    name, rewards = name_of(policy), reward_support(problem.posterior)

    remedy = getattr(policy, "remedy", None)
    scale = "" if remedy is None else f": state a scale, as in {remedy()}, or use another policy"
    raise NeedsError(
        f"policy '{name}' {unaccepted(policy, rewards)}{scale}; suitable policies: "
        + alternatives(name, lambda cls: suits(cls, problem))
    )


def suits(cls: Any, problem: Problem) -> bool:
    """Return whether the policies of a class can solve a problem."""
    graphs, posterior = problem._graphs, problem.posterior
    met = graphs is None or not unmet(cls.needs, graphs._process, problem._horizon)
    able = not getattr(cls, "variance", False) or has_variance(posterior)
    return met and able and not unaccepted(cls, reward_support(posterior))


def check_problem(policy: Policy, problem: Problem) -> None:
    """Check that a policy accepts the rewards, and call its optional method ``check``."""
    if unaccepted(policy, reward_support(problem.posterior)):
        raise_unaccepted(policy, problem)
    if hasattr(policy, "check"):
        policy.check(problem)


def check_saved(policy: Policy, state: State, problem: Problem) -> None:
    """Call the optional method ``check_state`` of a policy on a state loaded from a file."""
    if hasattr(policy, "check_state"):
        policy.check_state(state, problem)


def check_range(state: State, name: str, least: object, most: object) -> None:
    """Raise InputError if an array of a saved state has NaN or a number outside of a range."""
    values: Any = state[name]
    if not ((values >= least) & (values <= most)).all():
        raise InputError(f"the array '{name}' of its state has a number outside the valid range")


def unmet(needs: Needs, process: Process, horizon: int | None) -> str:
    """Return the reason why a problem does not meet needs; an empty text if it does."""
    # a process of a plug-in may lack the attribute: its graph is known before the decision
    known = getattr(process, "graph_known", "before")
    if GRAPH_KNOWN.index(known) < GRAPH_KNOWN.index(needs.graph):
        revealed = "never revealed" if known == "never" else "revealed only after the play"
        return f"needs {_GRAPH[needs.graph]}, but this graph is {revealed}"
    if needs.deterministic and not process.deterministic:
        return "needs a graph with entries 0 and 1 only, but this graph has other probabilities"
    if needs.fixed and fixed_feedback(process) is None:
        return "needs a graph that is the same in every round, but this graph changes"
    if needs.horizon and horizon is None:
        return "needs the number of rounds, but no horizon is given: set the horizon"
    return ""


Method = TypeVar("Method", bound=Callable[..., Any])


def marked(**marks: bool) -> Callable[[Method], Method]:
    """Mark a method of a policy with facts about it.

    - ``learns_outcomes``: ``update`` passes the outcomes of ``learns_from`` to ``learn``. Outcomes
      of several rounds can then be learned together, with the same bits as one after the other, if
      the posterior is not discounted.
    - ``delegates``: ``update`` only calls ``update`` of the policy ``inner``.
    - ``own_plays``: whether ``learns_from`` selects the outcomes of own plays only.
    """

    def mark(method: Method) -> Method:
        method.__dict__.update(marks, marked=method)
        return method

    return mark


def own_plays_only(policy: object) -> bool | None:
    """Return whether a policy learns from own plays only; None if its methods have no marks.

    A class that overrides ``update`` or ``learns_from`` has no mark, even if the new method copies
    the attributes of the old one.
    """
    cls = type(policy)
    if _mark(cls, "update", "delegates"):
        cls = type(getattr(policy, "inner", None))
    learns = _mark(cls, "update", "learns_outcomes")
    return _mark(cls, "learns_from", "own_plays") if learns else None


def _mark(cls: type, method: str, mark: str) -> bool | None:
    found = getattr(cls, method, None)
    own = getattr(found, "marked", None) is found
    return getattr(found, mark, None) if own else None
