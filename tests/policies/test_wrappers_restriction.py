"""Tests of policies/wrappers.py: a policy on the eligible arms plays as in the sub-problem."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from helpers.bad_input import refuses
from helpers.cases import each
from helpers.reward_families import FAMILIES
from helpers.valid_policies import UCB

from graphbandits._types import Floats, Ints, State
from graphbandits.errors import InputError, NeedsError
from graphbandits.graphs import (
    DenseFeedback,
    Feedback,
    Fixed,
    Process,
    RandomFeedback,
    SparseFeedback,
    UniformFeedback,
    as_process,
)
from graphbandits.graphs.properties import GraphInfo
from graphbandits.policies import Event, Policy, Problem, View, as_policy
from graphbandits.policies.wrappers import arm_arrays, check_restrictable
from graphbandits.posteriors import BetaBernoulli, Observations
from graphbandits.posteriors.base import select_arms
from graphbandits.registry import registered
from graphbandits.rng import Keys
from graphbandits.simulation.loop import decide, init_state, update_state
from graphbandits.worlds import as_posterior

KEYS = Keys(5, 3, 4)
ARMS = 5
A, B = np.array([1.0, 2.5, 3.0, 1.5, 4.0]), np.array([3.0, 2.0, 1.5, 1.0, 2.5])
WEIGHTS = np.array(
    [
        [1.0, 0.9, 0.0, 0.3, 0.0],
        [0.0, 1.0, 0.5, 0.0, 0.2],
        [0.2, 0.0, 1.0, 0.0, 0.7],
        [0.0, 0.6, 0.8, 1.0, 0.0],
        [0.4, 0.0, 0.0, 0.1, 1.0],
    ]
)
LINKS = (WEIGHTS > 0.25).astype(float)
#: Policies whose decision depends on nothing but the state, the graph and the problem of its arms.
NAMES = [name for name, cls in registered("policy").items() if getattr(cls, "restrictable", True)]


def edges(matrix: Floats) -> SparseFeedback:
    source, target = np.nonzero(matrix)
    return SparseFeedback.from_edges(len(matrix), source, target, matrix[source, target])


def graphs(policy: Policy) -> dict[str, tuple[Feedback, Any]]:
    """Feedback of five arms, and the one among some arms, written by hand."""
    matrix = LINKS if policy.needs.deterministic else WEIGHTS
    r = 1.0 if policy.needs.deterministic else 0.3
    return {
        "dense": (DenseFeedback(matrix), lambda s: DenseFeedback(matrix[np.ix_(s, s)])),
        "sparse": (edges(matrix), lambda s: edges(matrix[np.ix_(s, s)])),
        "uniform": (UniformFeedback(r, ARMS), lambda s: UniformFeedback(r, len(s))),
    }


def played(policy: Policy, problem: Problem, graph: Feedback) -> State:
    """The state after some rounds of given plays, in which all arms were played and observed."""
    state = init_state(policy, problem, KEYS)
    rng = np.random.default_rng(7)
    for t in range(1, 9):
        action = np.array([(t + trial) % ARMS for trial in range(KEYS.trials)])
        trial, arm = np.nonzero(graph.reach(action) > 0.2)
        seen = Observations(trial, arm, (rng.random(len(arm)) < 0.6).astype(float))
        pi = np.full((KEYS.trials, ARMS), 1.0 / ARMS)
        state = update_state(policy, state, Event(t, KEYS, problem, graph, pi, action, seen))
    return state


@each("kind", ["dense", "sparse", "uniform"])
@each("name", NAMES)
def test_pi_is_that_of_the_problem_of_the_eligible_arms(name: str, kind: str) -> None:
    """Trials of a block have different eligible arms; some of them only one."""
    policy = as_policy(name)
    graph, part_of = graphs(policy)[kind]
    problem = Problem(BetaBernoulli(A, B), 50, policy.needs, GraphInfo(Fixed(graph)))
    state = played(policy, problem, graph)
    sets = [np.array([0, 2, 4]), np.array([0, 2, 4]), np.array([3]), np.array([1, 2])]
    eligible = np.zeros((4, ARMS), bool)
    for trial, some in enumerate(sets):
        eligible[trial, some] = True
    pi, action = decide(policy, state, View(9, KEYS, problem, graph, eligible))
    assert (pi[~eligible] == 0.0).all()
    assert eligible[np.arange(4), action].all()
    for trial, some in enumerate(sets):
        part = part_of(some)
        prior = BetaBernoulli(A[some], B[some])
        small = Problem(prior, 50, policy.needs, GraphInfo(Fixed(part)))
        alone = {
            key: array[trial : trial + 1, some] if array.ndim > 1 else array[trial : trial + 1]
            for key, array in state.items()
        }
        wanted = policy.propose(alone, View(9, Keys(5, 3 + trial, 1), small, part))
        np.testing.assert_allclose(pi[trial, some], wanted[0], rtol=0.0, atol=1e-12)


def test_one_row_of_eligible_arms_is_for_all_trials() -> None:
    policy, graph = as_policy("ids-n"), DenseFeedback(WEIGHTS)
    problem = Problem(BetaBernoulli(A, B), 50, policy.needs, GraphInfo(Fixed(graph)))
    state = played(policy, problem, graph)
    row = np.array([[True, False, True, True, False]])
    one = decide(policy, state, View(9, KEYS, problem, graph, row))
    each = decide(policy, state, View(9, KEYS, problem, graph, np.repeat(row, 4, axis=0)))
    assert one[0].tobytes() == each[0].tobytes()
    assert one[1].tolist() == each[1].tolist()


def test_all_arms_eligible_are_the_same_bits_as_none_given() -> None:
    policy, graph = as_policy("idsn-lp"), DenseFeedback(WEIGHTS)
    problem = Problem(BetaBernoulli(A, B), 50, policy.needs, GraphInfo(Fixed(graph)))
    state = played(policy, problem, graph)
    bare, _ = decide(policy, state, View(9, KEYS, problem, graph))
    full, _ = decide(policy, state, View(9, KEYS, problem, graph, np.ones((4, ARMS), bool)))
    assert bare.tobytes() == full.tobytes()


@each("process", ["revealed-er(p=0.5, directed=true)", "random(r=uniform)"])
def test_graphs_of_each_trial_are_restricted_with_their_trials(process: str) -> None:
    """Each trial of a block has its own graph; alone it has the same pi."""
    policy, made = as_policy("ids-n"), as_process(process, ARMS)
    problem = Problem(BetaBernoulli(A, B), 50, policy.needs, GraphInfo(made))
    state = init_state(policy, problem, KEYS)
    eligible = np.random.default_rng(2).random((4, ARMS)) < 0.7
    eligible[:, 0] = True
    whole, _ = decide(policy, state, View(3, KEYS, problem, made.round(3, KEYS), eligible))
    for trial in range(4):
        keys = Keys(5, 3 + trial, 1)
        alone = init_state(policy, problem, keys)
        view = View(3, keys, problem, made.round(3, keys), eligible[trial : trial + 1])
        assert decide(policy, alone, view)[0].tobytes() == whole[trial : trial + 1].tobytes()


class Own:
    """Feedback of a plug-in class: only the methods of the protocol, by a matrix per trial."""

    deterministic, shared, arms = False, False, ARMS

    def __init__(self, matrix: Floats) -> None:
        self.matrix = matrix

    def gain(self, h: Floats) -> Floats:
        return np.einsum("bij,bj->bi", self.matrix, h)

    def observed(self, pi: Floats) -> Floats:
        return np.einsum("bij,bi->bj", self.matrix, pi)

    def reveal(self, action: Ints, keys: Keys, t: int) -> tuple[Ints, Ints]:
        raise NotImplementedError

    def reach(self, action: Ints) -> Floats:
        return self.matrix[np.arange(len(action)), action]


def test_feedback_of_a_plug_in_is_restricted() -> None:
    scale = np.array([1.0, 0.5, 0.25, 0.0])[:, None, None]
    matrix = np.where(np.eye(ARMS) == 1.0, 1.0, scale * WEIGHTS)
    policy = as_policy("ids-n")
    problem = Problem(BetaBernoulli(A, B), 50, policy.needs)
    state = init_state(policy, problem, KEYS)
    eligible = np.array([[1, 1, 0, 1, 0]] * 2 + [[0, 1, 1, 0, 1]] * 2, bool)
    own, dense = (
        decide(policy, state, View(1, KEYS, problem, graph, eligible))[0]
        for graph in (Own(matrix), DenseFeedback(matrix))
    )
    np.testing.assert_allclose(own, dense, atol=1e-12)


def test_a_policy_reads_the_numbers_of_the_arms() -> None:
    met: list[tuple[list[int], int, list[int]]] = []

    @dataclass(frozen=True)
    class Reads(UCB):
        """Notes what it gets."""

        def propose(self, state: State, view: View) -> Floats:
            assert view.eligible is None
            numbers = view.keys.trial_numbers.tolist()
            met.append((view.arm_numbers.tolist(), view.problem.arms, numbers))
            return super().propose(state, view)

    policy = Reads()
    problem = Problem(BetaBernoulli(A, B), None, policy.needs)
    state = init_state(policy, problem, KEYS)
    graph = DenseFeedback(WEIGHTS)
    eligible = np.array([[0, 1, 0, 1, 0]] * 3 + [[1, 1, 1, 1, 1]], bool)
    decide(policy, state, View(1, KEYS, problem, graph, eligible))
    assert met == [([1, 3], 2, [3, 4, 5]), ([0, 1, 2, 3, 4], 5, [6])]


@each("family", FAMILIES)
def test_every_posterior_can_be_restricted(family: str) -> None:
    """alpha of some arms is that of the posterior of as many arms, with their state."""
    text, rewards = FAMILIES[family].posterior, FAMILIES[family].rewards
    posterior, policy = as_posterior(text, 4), as_policy("ts-n")
    problem = Problem(posterior, None, policy.needs)
    assert arm_arrays(policy, problem) == frozenset(posterior.init(1))
    first = np.zeros(3, np.int64)
    seen = Observations(first, np.array([0, 2, 3]), np.array(rewards[:3]))
    state = posterior.update(posterior.init(1), seen)
    eligible = np.array([[True, False, True, False]])
    pi, _ = decide(policy, state, View(2, Keys(1), problem, UniformFeedback(0.5, 4), eligible))
    some = {name: np.ascontiguousarray(array[:, [0, 2]]) for name, array in state.items()}
    wanted = as_posterior(text, 2).beliefs(some).alpha
    np.testing.assert_allclose(pi, [[wanted[0, 0], 0.0, wanted[0, 1], 0.0]], atol=1e-10)


@each("name", registered("policy"))
def test_arrays_by_arm_are_those_that_grow_with_the_real_number_of_arms(name: str) -> None:
    """Compared with a problem of the same graph family and one arm more."""
    policy = as_policy(name)

    def state(arms: int) -> State:
        graphs = GraphInfo(as_process("star", arms))
        return init_state(policy, Problem(BetaBernoulli.of(arms), 50, policy.needs, graphs), KEYS)

    small, large = state(6), state(7)
    grown = {key for key in small if small[key].shape != large[key].shape}
    graphs = GraphInfo(as_process("star", 6))
    assert arm_arrays(policy, Problem(BetaBernoulli.of(6), 50, policy.needs, graphs)) == grown


def test_restricted_problems_are_kept_but_not_without_limit() -> None:
    problem = Problem(BetaBernoulli.of(100))
    some = np.arange(50)
    assert problem.among(some) is problem.among(some.copy())
    assert problem.among(np.arange(100)) is problem
    for start in range(2000):
        problem.among(np.array([start % 50, 50 + start // 50]))
    assert len(problem._parts) <= 2**16 // 100
    nested = problem.among(np.array([3, 5, 8])).among(np.array([0, 2]))
    assert nested._index is not None
    assert nested._index.tolist() == [3, 8]
    assert replace(problem, _horizon=3)._parts == {}


def test_policies_for_all_arms_are_refused_with_alternatives() -> None:
    policy = as_policy("ucb-lp")
    graphs = GraphInfo(as_process("star", 4))
    problem = Problem(BetaBernoulli.of(4), 100, policy.needs, graphs)
    with refuses(NeedsError, match="policy 'ucb-lp' needs all arms in every round"):
        check_restrictable(policy, problem)


@dataclass(frozen=True)
class Strange(UCB):
    """Has a state whose shape depends on the arms in a strange way."""

    form: str = "pairs"

    def init(self, problem: Problem, keys: Keys) -> State:
        b, k = keys.trials, problem.arms
        more: dict[str, Any] = {
            "pairs": np.zeros((b, k, k)),
            "squares": np.zeros((b, k * k)),
            "last axis": np.zeros((b, 3, k)),
            "no trials": np.zeros(k),
            "fewer": np.zeros((b, k - 1)),
        }
        if self.form == "name":
            return {f"arms {k}": np.zeros((b, k))}
        if self.form == "fails":
            raise ValueError("no")
        return super().init(problem, keys) | {"more": more[self.form]}


@each("form", ["pairs", "squares", "last axis", "no trials", "fewer", "name", "fails"])
def test_states_that_cannot_be_restricted_are_refused(form: str) -> None:
    with refuses(InputError):
        check_restrictable(Strange(form), Problem(BetaBernoulli.of(4)))


class NotADataclass:
    """A posterior whose parameters are unknown."""

    arms = 3


@dataclass(frozen=True, eq=False)
class WithGrid(BetaBernoulli):
    """A posterior with an array that has no arms."""

    grid: Any = None


@dataclass(frozen=True)
class InTuples:
    """A posterior with the parameters of its arms in a tuple."""

    means: tuple[float, ...]
    scale: Any
    arms: ClassVar[int] = 2


@each(
    "posterior",
    [
        NotADataclass(),
        WithGrid(np.ones(3), np.ones(3), grid=np.zeros(7)),
        InTuples((0.1, 0.2), np.zeros(2)),
    ],
)
def test_posteriors_whose_arms_cannot_be_selected_are_refused(posterior: Any) -> None:
    with refuses(InputError):
        select_arms(posterior, [0])


@each("eligible", [np.zeros((4, ARMS), bool), np.array([[True] * ARMS] * 3 + [[False] * ARMS])])
def test_bad_eligible_arms_are_refused(eligible: Any) -> None:
    policy = as_policy("uniform")
    problem = Problem(BetaBernoulli(A, B))
    with refuses(InputError):
        decide(policy, {}, View(2, KEYS, problem, DenseFeedback(WEIGHTS), eligible))


@each(
    ("process", "values"),
    [
        (Fixed(DenseFeedback(LINKS)), None),
        (RandomFeedback(ARMS, 0.3), None),
        (as_process("revealed-er(p=0)", ARMS), 3.0),
        (as_process("revealed-er(p=1)", ARMS), 1.0),
    ],
)
def test_graph_info_is_that_of_the_restricted_graphs(process: Process, values: Any) -> None:
    some = np.array([0, 2, 3])
    found = GraphInfo(process).among(some)
    if values is not None:
        assert found.independence(10) == 10 * values
    elif isinstance(process, Fixed):
        alone = GraphInfo(Fixed(DenseFeedback(LINKS[np.ix_(some, some)])))
        assert found.independence_number == alone.independence_number
        assert found.independence(7) == alone.independence(7)
    else:
        assert found.independence(7) == GraphInfo(RandomFeedback(3, 0.3)).independence(7)
