"""What policies are tried on: small problems and given histories, and how they are watched."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from graphbandits._types import Floats, Ints, State
from graphbandits.engine import run_block
from graphbandits.engine.loop import check_pi, init_state, propose, update_state
from graphbandits.errors import GraphBanditsError, NeedsError
from graphbandits.graphs import GraphLike, Process, as_process, from_matrix
from graphbandits.graphs.graph_info import GraphInfo
from graphbandits.policies import Event, Needs, Policy, Problem, View
from graphbandits.policies.base import unmet
from graphbandits.posteriors import BetaBernoulli, Observations
from graphbandits.rng import Keys, Stream
from graphbandits.testing.contract import ContractViolation
from graphbandits.worlds import Bernoulli

#: The logarithm of two over the probability of a false alarm: one in 10^9 for each number compared.
LEVEL = float(np.log(2e9))
#: How means are smoothed, (s + a) / (n + b): not at all, Laplace, Jeffreys, as if 0 or 1 was seen.
SMOOTHED = ((0.0, 0.0), (1.0, 2.0), (0.5, 1.0), (0.0, 1.0), (1.0, 1.0))


# --- scenes


@dataclass(frozen=True)
class Scenario:
    """A problem to try a policy on."""

    name: str
    process: Process
    prior: BetaBernoulli
    horizon: int = 40

    def run(self, policy: Policy, keys: Keys, **hooks: Any) -> list[Floats]:
        """Play all rounds, watched by ``hooks``; what was proposed in each round.

        What goes wrong is reported with the name of the scene.
        """
        watched = Watched(policy, **hooks)
        player = cast(Policy, watched)  # it has its needs from the policy
        world, record = Bernoulli(self.prior), np.array([self.horizon])
        try:
            run_block(player, world, self.process, self.horizon, keys, record)
        except GraphBanditsError as error:
            raise ContractViolation(f"{self.name}: {error}") from error
        return watched.pis


def scenario(name: str, graph: GraphLike, arms: int | None = None, horizon: int = 40) -> Scenario:
    """A scene on any graph, with a prior that differs from arm to arm."""
    process = as_process(graph, arms)
    return Scenario(name, process, lopsided_prior(process.arms), horizon)


def lopsided_prior(arms: int) -> BetaBernoulli:
    """Beta priors no two of which are alike."""
    i = np.arange(arms, dtype=np.float64)
    return BetaBernoulli(1.0 + 0.37 * i, 2.0 - 0.83 * i / arms)


def directed_weights() -> Floats:
    """A directed graph of four arms with probabilities, like no relabelling of itself."""
    return np.array(
        [[1.0, 0.9, 0.0, 0.3], [0.0, 1.0, 0.5, 0.0], [0.2, 0.0, 1.0, 0.0], [0.0, 0.6, 0.8, 1.0]]
    )


def directed_ranks() -> Floats:
    """A 0/1 graph of four arms, each of which reveals those below it: no two arms are alike."""
    rank = np.array([2, 0, 3, 1])
    return (rank[:, None] >= rank).astype(np.float64)


def ordinary_scenarios(policy: Policy) -> list[Scenario]:
    """Directed, weighted, changing and random graphs, as far as the policy's needs allow."""
    everything = [
        scenario("directed star", "star(direction=out)", 4),
        scenario("two triangles", "paper"),
        scenario("directed graph with probabilities", from_matrix(directed_weights())),
        scenario("directed graphs redrawn each round", "revealed-er(p=0.4, directed=true)", 4),
        scenario("random feedback", "random(r=0.3)", 3),
        scenario("random feedback, r uniform", "random(r=uniform)", 4),
    ]
    return allowed(policy, everything)


def degenerate_scenarios(policy: Policy) -> list[Scenario]:
    """The corners: one arm, two, equal arms, no edges, all edges, a directed star, r of 0 and 1."""
    equal = [
        Scenario(f"equal arms, {graph}", as_process(graph, 3), BetaBernoulli.of(3), 20)
        for graph in ("empty", "complete", "star(direction=in)", "random(r=0.5)")
    ]
    corners = [
        scenario("one arm", "empty", 1, 20),
        scenario("one arm, random feedback", "random(r=0.5)", 1, 20),
        scenario("two arms", "path(directed=true)", 2, 20),
        scenario("empty", "empty", 4, 20),
        scenario("complete", "complete", 4, 20),
        scenario("star, leaves show the middle", "star(direction=in)", 4, 20),
        scenario("star, middle shows the leaves", "star(direction=out)", 4, 20),
        scenario("r = 0", "random(r=0)", 3, 20),
        scenario("r = 1", "random(r=1)", 3, 20),
        scenario("one round", "paper", None, 1),
    ]
    return allowed(policy, corners + equal)


def allowed(policy: Policy, scenes: list[Scenario]) -> list[Scenario]:
    """The scenes that can tell the policy what it needs."""
    return [one for one in scenes if not unmet(policy.needs, one.process, one.horizon)]


@dataclass(frozen=True)
class Watched:
    """A policy that behaves like ``inner`` while its calls are watched, or shown other views.

    ``ahead`` is called before each proposal, ``look`` after it, and ``keep`` with each new state.
    """

    inner: Policy
    pis: list[Floats] = field(default_factory=list)
    ahead: Callable[[State, View], None] = lambda state, view: None
    look: Callable[[State, View, Floats], None] = lambda state, view, pi: None
    keep: Callable[[State], None] = lambda state: None
    show_problem: Callable[[Problem], Problem] = lambda problem: problem
    show_view: Callable[[View], View] = lambda view: view
    show_event: Callable[[Event], Event] = lambda event: event

    @property
    def needs(self) -> Needs:
        return self.inner.needs

    @property
    def exact(self) -> bool:
        return self.inner.exact

    def init(self, problem: Problem, keys: Keys) -> State:
        state = init_state(self.inner, self.show_problem(problem), keys)
        self.keep(state)
        return state

    def propose(self, state: State, view: View) -> Floats:
        self.ahead(state, view)
        shown = self.show_view(view)
        proposed: Any = propose(self.inner, state, shown)
        pi = check_pi(self.inner, proposed, shown)
        self.look(state, view, proposed)
        self.pis.append(np.array(proposed))
        return pi

    def update(self, state: State, event: Event) -> State:
        state = update_state(self.inner, state, self.show_event(event))
        self.keep(state)
        return state


def check_state(state: State, trials: int) -> None:
    """Named arrays of numbers, each with one row a trial."""
    for name, value in state.items():
        where = f"state[{name!r}]"
        if not isinstance(name, str):
            raise ContractViolation(f"{where}: the names of a state are texts")
        if not isinstance(value, np.ndarray):
            raise ContractViolation(f"{where} is {type(value).__name__}: keep NumPy arrays only")
        if value.dtype.kind not in "biuf":
            raise ContractViolation(f"{where} holds {value.dtype}: keep numbers only")
        if value.shape[:1] != (trials,):
            raise ContractViolation(
                f"{where} has the shape {value.shape} with {trials} trials: its first axis is "
                "the trial; what is the same for all belongs in a parameter, or is computed again"
            )


def same_bits(left: object, right: object) -> bool:
    """Whether two arrays are equal, NaN included, and of one type."""
    a, b = np.asarray(left), np.asarray(right)
    return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()


def relabelled(process: Process, place: Ints) -> Process:
    """The fixed graph in which arm i is called ``place[i]``."""
    matrix = process.round(1, Keys(0)).reach(np.arange(process.arms))
    moved = np.empty_like(matrix)
    moved[np.ix_(place, place)] = matrix
    return from_matrix(moved)


def without(view: View | Event, feedback: object) -> View | Event:
    """The same view or event with another object in the place of its graph."""
    return replace(view, _feedback=feedback)  # type: ignore[arg-type]


# --- given histories


@dataclass(frozen=True)
class Script:
    """What was played, seen and gained: arrays of (rounds, trials) and (rounds, trials, arms)."""

    action: Ints
    seen: Ints
    reward: Ints

    @classmethod
    def of(cls, matrix: Floats, *, trials: int, rounds: int, alike: bool) -> Script:
        """Random plays on a graph, some arms more often than others; ``alike``: one for all."""
        arms = len(matrix)
        keys = Keys(22, 0, 1 if alike else trials)
        draws = [Stream(keys, t, "testing/script").uniform(1 + 2 * arms) for t in range(rounds)]
        u = np.stack(draws)
        action = np.minimum((u[..., 0] ** 1.7 * arms).astype(np.int64), arms - 1)
        seen = (u[..., 1 : arms + 1] < matrix[action]).astype(np.int64)
        reward = (u[..., arms + 1 :] < np.linspace(0.25, 0.8, arms)).astype(np.int64)
        if alike:
            action, seen, reward = (np.repeat(x, trials, axis=1) for x in (action, seen, reward))
        return cls(action, seen, reward)

    def relabelled(self, place: Ints) -> Script:
        """The same with arm i called ``place[i]``."""
        old = np.argsort(place)
        return Script(place[self.action], self.seen[..., old], self.reward[..., old])

    def observations(self, t: int) -> Observations:
        """Of round t = 0, 1, ..."""
        trial, arm = np.nonzero(self.seen[t])
        return Observations(trial, arm, self.reward[t, trial, arm].astype(np.float64))

    def ties(self) -> list[NDArray[np.bool_]]:
        """Before each round, the trials in which two arms have the same count or the same mean.

        Of all that was seen, or of what was played, for some policies learn from their plays
        only; and the mean (s + a) / (n + b) as it is usually smoothed.
        """
        played = (self.action[..., None] == np.arange(self.seen.shape[2])).astype(np.int64)
        i, j = np.triu_indices(self.seen.shape[2], 1)
        tied = np.zeros(self.action.shape, np.bool_)
        for seen in (self.seen, played):
            before = np.zeros_like(seen[:1])
            count = np.concatenate([before, np.cumsum(seen, axis=0)[:-1]])
            total = np.concatenate([before, np.cumsum(seen * self.reward, axis=0)[:-1]])
            tied |= (count[..., i] == count[..., j]).any(axis=-1)
            for a, b in SMOOTHED:
                s, n = total + a, count + b
                tied |= (s[..., i] * n[..., j] == s[..., j] * n[..., i]).any(axis=-1)
        return list(tied)


def rehearse(
    policy: Policy, script: Script, process: Process, prior: BetaBernoulli
) -> list[Floats]:
    """What the policy proposes in each round of a given history."""
    keys = Keys(23, 0, script.action.shape[1])
    problem = Problem(prior, len(script.action), policy.needs, GraphInfo(process))
    state = init_state(policy, problem, keys)
    proposals = []
    for t in range(1, len(script.action) + 1):
        graph = process.round(t, keys)
        view = View(t, keys, problem, graph)
        pi = check_pi(policy, propose(policy, state, view), view)
        proposals.append(pi)
        seen = script.observations(t - 1)
        event = Event(t, keys, problem, graph, pi, script.action[t - 1], seen)
        state = update_state(policy, state, event)
    return proposals


def long_run(policy: Policy, rounds: int) -> State:
    """The state after many rounds: arms that always win and lose, and mixed ones.

    A proposal is asked for every few rounds only, and played until the next.
    """
    process, prior = as_process("star(direction=out)", 3), lopsided_prior(3)
    keys = Keys(24, 0, 2)
    problem = Problem(prior, rounds, policy.needs, GraphInfo(process))
    state = init_state(policy, problem, keys)
    graph = process.round(1, keys)
    means = np.array([[1.0, 0.0, 0.5], [0.4, 0.6, 0.6]])
    asked = np.unique(np.geomspace(1, rounds, 150).astype(np.int64)).tolist()
    for first, after in pairwise([*asked, rounds + 1]):
        view = View(first, keys, problem, graph)
        pi = check_pi(policy, propose(policy, state, view), view)
        u = Stream(Keys(25, first, after - first), 1, "testing/long").uniform(4)
        cumulative = np.cumsum(pi, axis=1)
        reached = cumulative[None] <= u[:, :1, None] * cumulative[None, :, -1:]
        actions = np.minimum(reached.sum(axis=2), 2)
        seen = (actions == 0)[:, :, None] | (actions[:, :, None] == np.arange(3))
        rewards = (u[:, None, 1:] < means).astype(np.float64)
        round_, trial, arm = np.nonzero(seen)
        edges = np.searchsorted(round_, np.arange(after - first + 1)).tolist()
        reward = rewards[round_, trial, arm]
        for t, (i, j) in enumerate(pairwise(edges), first):
            observations = Observations(trial[i:j], arm[i:j], reward[i:j])
            event = Event(t, keys, problem, graph, pi, actions[t - first], observations)
            short = [name for name, value in state.items() if np.asarray(value).itemsize < 4]
            before = {name: np.array(state[name]) for name in short}  # may not count to 100,000
            state = update_state(policy, state, event)
            for name, counts in before.items():
                _check_no_overflow(name, counts, state[name], t)
    view = View(rounds, keys, problem, graph)
    check_pi(policy, propose(policy, state, view), view)
    return state


def _check_no_overflow(name: str, before: NDArray[Any], after: NDArray[Any], t: int) -> None:
    """A short integer that moves by half its range in one round has run over."""
    same = before.dtype == after.dtype and before.shape == after.shape
    if not same or before.dtype.kind not in "iu":
        return
    step = np.abs(after.astype(np.int64) - before.astype(np.int64))
    if step.size and step.max() >= 2 ** (8 * before.itemsize - 1):
        raise ContractViolation(
            f"state['{name}'] ran over in round {t}, from {before.flat[step.argmax()]} to "
            f"{after.flat[step.argmax()]}: {before.dtype} is too short to count with, use int64"
        )


# --- what a policy leaves alone


class Forbidden:
    """Stands for what was not declared: raises on whatever is done with it, and remembers it.

    >>> horizon = Forbidden("the horizon", "Needs(horizon=True)")
    >>> 2 * horizon
    Traceback (most recent call last):
    graphbandits.errors.NeedsError: it looked at the horizon: declare Needs(horizon=True)
    >>> horizon.complain()
    Traceback (most recent call last):
    graphbandits.testing.contract.Violation: it looked at the horizon: declare Needs(horizon=True)
    """

    def __init__(self, what: str, declare: str) -> None:
        self.__dict__.update(_complaint=f"it looked at {what}: declare {declare}", _touched=False)

    def complain(self) -> None:
        """Raise if it was touched, also where the policy caught the error."""
        if self.__dict__["_touched"]:
            raise ContractViolation(self.__dict__["_complaint"])

    def _touch(self, *args: object) -> Any:
        self.__dict__["_touched"] = True
        raise NeedsError(self.__dict__["_complaint"])

    __getattr__ = __getitem__ = __call__ = __contains__ = __array__ = _touch
    __bool__ = __int__ = __index__ = __float__ = __len__ = __iter__ = _touch
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __neg__ = __abs__ = _touch
    __truediv__ = __rtruediv__ = __floordiv__ = __rfloordiv__ = __mod__ = __rmod__ = _touch
    __pow__ = __rpow__ = __matmul__ = __rmatmul__ = __round__ = __format__ = _touch
    __lt__ = __le__ = __gt__ = __ge__ = __eq__ = __ne__ = _touch
    __hash__ = object.__hash__


@contextmanager
def global_generators(seed: int) -> Iterator[Callable[[], bool]]:
    """Both global generators in a state of our own; yields whether they are still in it."""

    def now() -> object:
        state: Any = np.random.get_state()  # noqa: NPY002  to notice its use
        return random.getstate(), state[1].tobytes(), *state[2:]

    before = random.getstate(), np.random.get_state()  # noqa: NPY002
    random.seed(f"testing/{seed}")
    np.random.seed([31, 7, seed])  # noqa: NPY002
    ours = now()
    try:
        yield lambda: now() == ours
    finally:
        random.setstate(before[0])
        np.random.set_state(before[1])  # noqa: NPY002


# --- what cannot be chance


def most_by_chance(variance: object) -> Floats:
    """How far a sum of independent terms strays from its mean: sqrt(2 L v) + L / 3.

    Each term is within 1 of its mean, and v is the sum of their variances (Bernstein's
    inequality). It holds for one trial and for shares of 0 and 1 as well, where a number of
    standard errors means nothing.

    >>> most_by_chance(0.0).round(2), most_by_chance(1000.0).round(1)
    (np.float64(7.14), np.float64(214.1))
    """
    bound: Floats = np.sqrt(2.0 * LEVEL * np.asarray(variance, np.float64)) + LEVEL / 3.0
    return bound


def shares_differ(one: Floats, two: Floats, trials: int) -> bool:
    """Whether two lists of shares, each of as many trials, cannot have the same probabilities.

    The variance is that of the pooled share: given how often an arm was played in both, each of
    these plays falls to either side with probability 1/2.

    >>> shares_differ(np.array([0.0, 1.0]), np.array([0.001, 0.999]), 3000)
    False
    """
    pooled = (one + two) / 2.0
    variance = 2.0 * trials * pooled * (1.0 - pooled)
    return bool((np.abs(one - two) * trials > most_by_chance(variance)).any())
