"""Small problems and given histories for the checks of policies, and instrumented policies."""

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
from graphbandits.errors import GraphBanditsError, NeedsError
from graphbandits.graphs import GraphLike, Process, as_process, from_matrix
from graphbandits.graphs.properties import GraphInfo
from graphbandits.policies import Event, Needs, Policy, Problem, View
from graphbandits.policies.base import unmet
from graphbandits.posteriors import BetaBernoulli, Observations
from graphbandits.rng import Keys, Stream
from graphbandits.simulation.loop import check_pi, init_state, propose, run_block, update_state
from graphbandits.testing.contract import ContractViolation
from graphbandits.worlds import Bernoulli

#: log(2 / p) for the probability p = 1e-9 of a false alarm of each comparison.
LEVEL = float(np.log(2e9))
#: Smoothings (a, b) of a mean (s + a) / (n + b): none, Laplace, Jeffreys, one prior 0, one prior 1.
SMOOTHED = ((0.0, 0.0), (1.0, 2.0), (0.5, 1.0), (0.0, 1.0), (1.0, 1.0))


# --- scenarios


@dataclass(frozen=True)
class Scenario:
    """A problem for a check of a policy."""

    name: str
    process: Process
    prior: BetaBernoulli
    horizon: int = 40

    def run(
        self,
        policy: Policy,
        keys: Keys,
        eligible: NDArray[np.bool_] | None = None,
        **hooks: Any,
    ) -> list[Floats]:
        """Play all rounds and return the proposals of each round.

        ``eligible`` are the arms that may be played, of shape (horizon, arms). ``hooks`` are fields
        of :class:`InstrumentedPolicy`.
        """
        instrumented = InstrumentedPolicy(policy, **hooks)
        player = cast(Policy, instrumented)  # needs is a property, not a class variable
        world, record = Bernoulli(self.prior), np.array([self.horizon])
        try:
            run_block(player, world, self.process, self.horizon, keys, record, eligible=eligible)
        except GraphBanditsError as error:
            raise ContractViolation(f"{self.name}: {error}") from error
        return instrumented.pis


def scenario(name: str, graph: GraphLike, arms: int | None = None, horizon: int = 40) -> Scenario:
    """Create a scenario on any graph, with a different prior for each arm."""
    process = as_process(graph, arms)
    return Scenario(name, process, asymmetric_prior(process.arms), horizon)


def asymmetric_prior(arms: int) -> BetaBernoulli:
    i = np.arange(arms, dtype=np.float64)
    return BetaBernoulli(1.0 + 0.37 * i, 2.0 - 0.83 * i / arms)


def directed_weights() -> Floats:
    """Return a directed graph of four arms with probabilities and without symmetries."""
    return np.array(
        [[1.0, 0.9, 0.0, 0.3], [0.0, 1.0, 0.5, 0.0], [0.2, 0.0, 1.0, 0.0], [0.0, 0.6, 0.8, 1.0]]
    )


def directed_ranks() -> Floats:
    """Return a 0/1 graph of four arms without symmetries: each arm reveals all of lower rank."""
    rank = np.array([2, 0, 3, 1])
    return (rank[:, None] >= rank).astype(np.float64)


def ordinary_scenarios(policy: Policy) -> list[Scenario]:
    """Return scenarios on directed, weighted, changing and random graphs that meet the needs."""
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
    """Return extreme scenarios: one or two arms, equal arms, no or all edges, r of 0 and 1."""
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
        scenario("star, leaves reveal the centre", "star(direction=in)", 4, 20),
        scenario("star, centre reveals the leaves", "star(direction=out)", 4, 20),
        scenario("r = 0", "random(r=0)", 3, 20),
        scenario("r = 1", "random(r=1)", 3, 20),
        scenario("one round", "paper", None, 1),
    ]
    return allowed(policy, corners + equal)


def allowed(policy: Policy, candidates: list[Scenario]) -> list[Scenario]:
    return [one for one in candidates if not unmet(policy.needs, one.process, one.horizon)]


@dataclass(frozen=True)
class InstrumentedPolicy:
    """A wrapper around a policy that records its proposals and calls hooks.

    ``before_propose`` and ``after_propose`` are called around each proposal, ``on_state`` with each
    new state. ``replace_problem``, ``replace_view`` and ``replace_event`` substitute the arguments
    of the wrapped policy.
    """

    inner: Policy
    pis: list[Floats] = field(default_factory=list)
    before_propose: Callable[[State, View], None] = lambda state, view: None
    after_propose: Callable[[State, View, Floats], None] = lambda state, view, pi: None
    on_state: Callable[[State], None] = lambda state: None
    replace_problem: Callable[[Problem], Problem] = lambda problem: problem
    replace_view: Callable[[View], View] = lambda view: view
    replace_event: Callable[[Event], Event] = lambda event: event

    @property
    def needs(self) -> Needs:
        return self.inner.needs

    @property
    def exact(self) -> bool:
        return self.inner.exact

    def init(self, problem: Problem, keys: Keys) -> State:
        state = init_state(self.inner, self.replace_problem(problem), keys)
        self.on_state(state)
        return state

    def propose(self, state: State, view: View) -> Floats:
        self.before_propose(state, view)
        replaced = self.replace_view(view)
        proposed: Any = propose(self.inner, state, replaced)
        pi = check_pi(self.inner, proposed, replaced)
        self.after_propose(state, view, proposed)
        self.pis.append(np.array(proposed))
        return pi

    def update(self, state: State, event: Event) -> State:
        state = update_state(self.inner, state, self.replace_event(event))
        self.on_state(state)
        return state


def check_state(state: State, trials: int) -> None:
    """Check that a state is a dict of named arrays of numbers, each with one row per trial."""
    for name, value in state.items():
        where = f"state[{name!r}]"
        if not isinstance(name, str):
            raise ContractViolation(f"{where}: the names in a state must be strings")
        if not isinstance(value, np.ndarray):
            raise ContractViolation(f"{where} is {type(value).__name__}: use NumPy arrays only")
        if value.dtype.kind not in "biuf":
            raise ContractViolation(f"{where} has the type {value.dtype}: use numbers only")
        if value.shape[:1] != (trials,):
            raise ContractViolation(
                f"{where} has the shape {value.shape} with {trials} trials: the first axis must be "
                "the trial; make data that all trials share a parameter, or compute it again"
            )


def same_bits(left: object, right: object) -> bool:
    """Return whether two arrays are bitwise equal, NaN included, and have the same type."""
    a, b = np.asarray(left), np.asarray(right)
    return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()


def row_text(values: Floats) -> str:
    return "[" + ", ".join(f"{value:.6g}" for value in np.ravel(values)) + "]"


def relabelled(process: Process, place: Ints) -> Process:
    """Return the fixed graph in which arm i has the number ``place[i]``."""
    matrix = process.round(1, Keys(0)).reach(np.arange(process.arms))
    moved = np.empty_like(matrix)
    moved[np.ix_(place, place)] = matrix
    return from_matrix(moved)


def without(view: View | Event, feedback: object) -> View | Event:
    """Return a view or an event with another object as its graph."""
    return replace(view, _feedback=feedback)  # type: ignore[arg-type]


# --- given histories


@dataclass(frozen=True)
class History:
    """Given plays, observations and rewards.

    ``action`` has the shape (rounds, trials); ``seen`` and ``reward`` (rounds, trials, arms).
    """

    action: Ints
    seen: Ints
    reward: Ints

    @classmethod
    def of(cls, matrix: Floats, *, trials: int, rounds: int, alike: bool) -> History:
        """Draw random plays on a graph, some arms more often; ``alike``: equal in all trials."""
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

    def relabelled(self, place: Ints) -> History:
        """Return the history in which arm i has the number ``place[i]``."""
        old = np.argsort(place)
        return History(place[self.action], self.seen[..., old], self.reward[..., old])

    def observations(self, t: int) -> Observations:
        """Return the observations of round t = 0, 1, ..."""
        trial, arm = np.nonzero(self.seen[t])
        return Observations(trial, arm, self.reward[t, trial, arm].astype(np.float64))

    def ties(self) -> list[NDArray[np.bool_]]:
        """Find the trials in which two arms have the same count or mean, before each round.

        Counts and means are those of all observations and those of the arms played, because some
        policies learn from their plays only. Means include the usual smoothings (s + a) / (n + b).
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


def replay(
    policy: Policy, history: History, process: Process, prior: BetaBernoulli
) -> list[Floats]:
    """Return the proposals of a policy in each round of a given history."""
    keys = Keys(23, 0, history.action.shape[1])
    problem = Problem(prior, len(history.action), policy.needs, GraphInfo(process))
    state = init_state(policy, problem, keys)
    proposals = []
    for t in range(1, len(history.action) + 1):
        graph = process.round(t, keys)
        view = View(t, keys, problem, graph)
        pi = check_pi(policy, propose(policy, state, view), view)
        proposals.append(pi)
        seen = history.observations(t - 1)
        event = Event(t, keys, problem, graph, pi, history.action[t - 1], seen)
        state = update_state(policy, state, event)
    return proposals


def long_run(policy: Policy, rounds: int) -> State:
    """Return the state after many rounds, with means of 0, 1 and in between.

    The policy proposes only in some rounds; the proposal is played until the next one.
    """
    process, prior = as_process("star(direction=out)", 3), asymmetric_prior(3)
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
            before = {name: np.array(state[name]) for name in short}  # a short type may overflow
            state = update_state(policy, state, event)
            for name, counts in before.items():
                _check_no_overflow(name, counts, state[name], t)
    view = View(rounds, keys, problem, graph)
    check_pi(policy, propose(policy, state, view), view)
    return state


def _check_no_overflow(name: str, before: NDArray[Any], after: NDArray[Any], t: int) -> None:
    """Raise ContractViolation if a short integer changes by half its range in one round."""
    same = before.dtype == after.dtype and before.shape == after.shape
    if not same or before.dtype.kind not in "iu":
        return
    step = np.abs(after.astype(np.int64) - before.astype(np.int64))
    if step.size and step.max() >= 2 ** (8 * before.itemsize - 1):
        raise ContractViolation(
            f"state['{name}'] overflowed in round {t}, from {before.flat[step.argmax()]} to "
            f"{after.flat[step.argmax()]}: {before.dtype} is too short, use int64"
        )


# --- undeclared needs and global generators


class Forbidden:
    """Placeholder of an undeclared need: any use of it raises NeedsError and is recorded."""

    def __init__(self, what: str, declare: str) -> None:
        self.__dict__.update(_message=f"it uses {what}: declare {declare}", _used=False)

    def raise_if_used(self) -> None:
        """Raise ContractViolation if it was used, even if the policy caught the error."""
        if self.__dict__["_used"]:
            raise ContractViolation(self.__dict__["_message"])

    def _record(self, *args: object) -> Any:
        self.__dict__["_used"] = True
        raise NeedsError(self.__dict__["_message"])

    __getattr__ = __getitem__ = __call__ = __contains__ = __array__ = _record
    __bool__ = __int__ = __index__ = __float__ = __len__ = __iter__ = _record
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __neg__ = __abs__ = _record
    __truediv__ = __rtruediv__ = __floordiv__ = __rfloordiv__ = __mod__ = __rmod__ = _record
    __pow__ = __rpow__ = __matmul__ = __rmatmul__ = __round__ = __format__ = _record
    __lt__ = __le__ = __gt__ = __ge__ = __eq__ = __ne__ = _record
    __hash__ = object.__hash__


@contextmanager
def global_generators(seed: int) -> Iterator[Callable[[], bool]]:
    """Seed both global generators; yield a function that tells whether they are unused."""

    def now() -> object:
        state: Any = np.random.get_state()  # noqa: NPY002  to detect its use
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


def same_with_other_globals(run: Callable[[], list[Floats]], what: str, use: str) -> None:
    """Check that a run neither uses nor depends on the global generators.

    ``what`` starts the messages, and ``use`` are the functions to draw with.
    """
    runs = []
    for seed in (1, 2):
        with global_generators(seed) as untouched:
            runs.append(run())
            if not untouched():
                raise ContractViolation(
                    f"{what}it used or seeded a global random generator: use {use}"
                )
    for t, (one, two) in enumerate(zip(*runs, strict=True), 1):
        if not same_bits(one, two):
            raise ContractViolation(
                f"{what}two runs with the same keys differ from round {t} on: use {use}, and keep "
                "no data elsewhere"
            )


# --- statistical bounds


def deviation_bound(variance: object) -> Floats:
    """Bound the deviation of a sum of independent terms from its mean: sqrt(2 L v) + L / 3.

    Each term is within 1 of its mean, and v is the sum of their variances (Bernstein's
    inequality). Unlike a number of standard errors, the bound holds for one trial, and for
    frequencies of 0 and 1.
    """
    return np.sqrt(2.0 * LEVEL * np.asarray(variance, np.float64)) + LEVEL / 3.0


def frequencies_differ(one: Floats, two: Floats, trials: int) -> bool:
    """Return whether two lists of frequencies over ``trials`` have different probabilities.

    The variance is that of the pooled frequency: given the total number of plays of an arm, each
    play belongs to either list with probability 1/2.

    >>> frequencies_differ(np.array([0.0, 1.0]), np.array([0.001, 0.999]), 3000)
    False
    """
    pooled = (one + two) / 2.0
    variance = 2.0 * trials * pooled * (1.0 - pooled)
    return bool((np.abs(one - two) * trials > deviation_bound(variance)).any())
