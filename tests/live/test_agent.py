"""Tests of live/agent.py: decisions equal those of a simulated trial; saving and loading."""

from __future__ import annotations

import copy
import dataclasses
import json
import pickle
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path
from queue import SimpleQueue
from typing import Any, ClassVar

import networkx
import numpy as np
import pytest
from helpers.agents import Clock, facts, play, reopened, rotating, whole_pi
from helpers.bad_input import refused, refuses
from helpers.cases import case_named, each
from helpers.recorded_runs import able
from helpers.reward_families import write_plugin

from graphbandits import Agent, BetaBernoulli, Decision, load_plugin
from graphbandits._types import Floats, State
from graphbandits.errors import InputError, StoreError
from graphbandits.graphs import GraphLike
from graphbandits.plugins import unload_plugin
from graphbandits.policies import Event, Needs, Problem, View
from graphbandits.posteriors import Arm, Beliefs, Normal
from graphbandits.rng import Keys
from graphbandits.worlds import as_world

SAVED: dict[str, GraphLike] = {
    "paper": "paper",
    "r uniform": "random(r=uniform)",
    "r fixed": "random(r=0.3)",
    "revealed": "revealed-er(p=0.3, directed=true)",
    "weights": np.array(np.triu(np.full((5, 5), 0.5), 1) + np.eye(5)),
    "networkx": networkx.star_graph(4),
    "sequence": [np.eye(5)] * 20 + [np.ones((5, 5))] * 60,
    "star": "star",
}


def saved_agent_continues(policy: str, graph: GraphLike, folder: Path) -> None:
    agent = Agent(policy, arms=5, graph=graph, seed=4, prior=(1.5, 2.0), horizon=80)
    play(agent, 15)
    left_open = agent.decide()
    other = reopened(agent, folder)
    assert other.pending == (left_open.id,)
    for one in (agent, other):
        one.observe(left_open.id, {left_open.arm: 1})
    assert play(agent, 15) == play(other, 15)


def test_saved_agent_continues_with_identical_decisions(tmp_path: Path) -> None:
    for name, policy in rotating(SAVED, 5, 80):
        with case_named(f"{policy}, {name}"):
            saved_agent_continues(policy, SAVED[name], tmp_path)


@pytest.mark.nightly
def test_saved_agent_of_any_policy_and_graph_continues(tmp_path: Path) -> None:
    for name, graph in SAVED.items():
        for policy in able(graph, 5, 80):
            with case_named(f"{policy}, {name}"):
                saved_agent_continues(policy, graph, tmp_path)


#: Alpha of the second arm is so small that "simulation" has few of its digits, or none.
FAR = [(8000.0, 2000.0), (7000.0, 3000.0), (7900.0, 2100.0)]


def test_agent_uses_the_given_accuracy(tmp_path: Path) -> None:
    names = ["ann", "bob", "eve"]
    strict = Agent("ts-n", names, "star", seed=1, prior=FAR, accuracy="strict")
    plain = Agent("ts-n", names, "star", seed=1, prior=FAR)
    posterior = BetaBernoulli(*np.array(FAR).T, accuracy="strict")
    alpha = posterior.beliefs(posterior.init(1)).alpha[0]
    assert 0.0 < alpha[1] < 1e-30
    again = reopened(strict, tmp_path)
    third = Agent("ts-n", names, "star", seed=1, prior=posterior)
    for agent in (strict, again, third):
        assert whole_pi(agent, agent.decide()) == alpha.tolist()
        assert repr(agent) == "Agent('ts-n', 3 arms, 1 decisions made, 1 open)"
    assert "bob" not in (plain.decide().pi or {})
    assert plain.posterior.accuracy == "simulation"
    back = Agent("ts-n", names, "star", seed=1, prior=posterior, accuracy="simulation")
    assert back.decide().pi == Agent("ts-n", names, "star", seed=1, prior=FAR).decide().pi


def test_beliefs_per_arm_equal_those_of_the_posterior() -> None:
    agent = Agent("ids-n", ["ann", "bob", "eve"], "star", seed=1, prior=FAR)
    agent.observe(agent.decide(), {})
    posterior, state = agent.posterior, agent.posterior.init(1)
    for accuracy in (None, "simulation", "strict"):
        for estimate in (False, True):
            found = agent.beliefs(accuracy, estimate)
            want = posterior.beliefs(state, accuracy, estimate)
            for name in ("alpha", "delta", "h"):
                assert (getattr(found, name) == getattr(want, name)[0]).all()
                by_arm = [getattr(found[arm], name) for arm in found]
                assert by_arm == getattr(want, name)[0].tolist()
            assert found.rho == want.rho[0]
            assert found.error == (want.error[0] if estimate else None)
    assert (tuple(found), len(found)) == (("ann", "bob", "eve"), 3)
    with refuses(InputError, match="unknown arm 'bib'"):
        found["bib"]


class Plain:
    """A posterior of equal arms whose statistics have neither a setting nor an estimate."""

    arms = 2

    def init(self, trials: int) -> State:
        return {"seen": np.zeros((trials, 2))}

    def beliefs(self, state: State) -> Beliefs:
        half = np.full(state["seen"].shape, 0.5)
        return Beliefs(half, half, half, half[:, 0])


def test_unsupported_features_of_a_posterior_or_policy_are_reported() -> None:
    prior = Plain()
    with refuses(InputError):
        Agent("ts-n", 2, "empty", seed=1, prior=prior, accuracy="strict")
    agent = Agent("ts-n", 2, "empty", seed=1, prior=prior)
    assert agent.beliefs()[1].alpha == agent.decide().pi[1] == 0.5
    with refuses(InputError):
        agent.beliefs("strict")
    with refuses(InputError):
        agent.beliefs(estimate=True)
    for name in ("v-ids", "v-ids-n"):
        with refuses(InputError):
            Agent(name, 2, "empty", seed=1, prior=prior)
    with refuses(InputError):
        Agent(Scribbler(), arms=2, seed=1).beliefs()
    with refuses(InputError):
        Agent("ts-n", 2, seed=1).beliefs("high")
    with refuses(InputError):
        Agent("ts-n", 2, seed=1).beliefs(estimate="no")  # type: ignore[arg-type]


def test_a_graph_of_any_size_needs_the_number_of_arms() -> None:
    with refuses(InputError, match="graph 'star' does not determine the number of arms"):
        Agent("ids-n", graph="star", seed=1)
    assert len(Agent("ids-n", graph="paper", seed=1).arms) == 5


MATRIX = np.array([[1.0, 0.3, 0.0], [0.0, 1.0, 0.9], [0.2, 0.0, 1.0]])


def first_decision() -> Decision:
    return Agent("ts-n", arms=["x", "y", "z"], graph=MATRIX, seed=1, prior=(1, 2)).decide()


@each(
    "same",
    [
        lambda decision: decision,
        copy.copy,
        copy.deepcopy,
        lambda decision: pickle.loads(pickle.dumps(decision)),
    ],
)
def test_unread_decision_equals_a_read_one(
    same: Callable[[Decision], Decision],
) -> None:
    """``pi`` and ``reveals`` are computed lazily, without a visible difference."""
    seen = first_decision()
    posterior = BetaBernoulli.of(3, 1, 2)
    pi = dict(zip("xyz", posterior.beliefs(posterior.init(1)).alpha[0].tolist(), strict=True))
    row = dict(zip("xyz", MATRIX["xyz".index(str(seen.arm))].tolist(), strict=True))
    row = {name: p for name, p in row.items() if p > 0.0}
    decision = same(first_decision())
    assert facts(decision) == (1, seen.arm, pi[str(seen.arm)], pi, row)
    assert facts(same(seen)) == facts(seen)
    assert same(seen).to_dict() == seen.to_dict()
    assert repr(same(seen)) == repr(seen)
    for name in ("pi", "reveals", "time", "expires", "p"):
        with pytest.raises(AttributeError):
            setattr(decision, name, {})


def test_decision_as_json_values() -> None:
    agent = Agent("ts-n", 3, MATRIX, seed=1, prior=(1, 2), clock=lambda: 1e9)
    decision = agent.decide(context={"day": 3}, expires=60)
    found = json.loads(json.dumps(decision.to_dict(), allow_nan=False))
    assert found == {
        "id": decision.id,
        "number": 1,
        "arm": decision.arm,
        "probability": decision.probability,
        "pi": {str(arm): p for arm, p in (decision.pi or {}).items()},
        "reveals": {str(arm): p for arm, p in decision.reveals.items()},
        "time": "2001-09-09T01:46:40+00:00",
        "expires": "2001-09-09T01:47:40+00:00",
        "context": {"day": 3},
    }


@dataclasses.dataclass(frozen=True)
class Scribbler:
    """Plays the first arm, and overwrites the arrays of its play in ``update``."""

    needs: ClassVar[Needs] = Needs()
    exact: ClassVar[bool] = True

    def init(self, problem: Problem, keys: Keys) -> State:
        return {}

    def propose(self, state: State, view: View) -> Floats:
        return np.array([[0.75, 0.25]])

    def update(self, state: State, event: Event) -> State:
        event.pi[:] = event.action[:] = event.observations.arm[:] = 0
        return state


def test_decision_is_unaffected_by_later_changes_of_the_policy_state() -> None:
    agent = Agent(Scribbler(), arms=2, graph="complete", seed=1)
    decision = agent.decide()
    agent.observe(decision, {0: 1, 1: 0})
    assert decision.pi == {0: 0.75, 1: 0.25}
    assert decision.reveals == {0: 1.0, 1: 1.0}


# Promises -----------------------------------------------------------------------------------------


def test_ids_are_never_reused(tmp_path: Path) -> None:
    """Agents from one file make the same decisions with different ids."""
    agent = Agent("ts-n", 3, "star", seed=1)
    runs = [one.decide(4) for one in [*(reopened(agent, tmp_path) for _ in range(5)), agent]]
    for run in runs:
        assert [facts(one) for one in run] == [facts(one) for one in runs[0]]
        assert [one.id.partition("-")[0] for one in run] == ["1", "2", "3", "4"]
    assert len({one.id for run in runs for one in run}) == 24


def test_decision_that_a_crash_has_lost_is_refused(tmp_path: Path) -> None:
    """Its outcome is not credited to the decision that has its number after the restart."""
    agent = Agent("ts-n", 3, "star", seed=1)
    again = reopened(agent, tmp_path)
    lost = agent.decide()
    refused(lambda: again.observe(lost, {lost.arm: 1}), "unknown decision", lost.id)
    new = again.decide()
    assert facts(new) == facts(lost)
    for call in (again.close, again.decision, lambda id_: again.observe(id_, {lost.arm: 1})):
        refused(lambda call=call: call(lost.id), "unknown decision", lost.id)
    assert again.pending == (new.id,)
    assert again.status()["outcomes"] == 0
    again.observe(new, {new.arm: 1})
    refused(lambda: agent.observe(new, {new.arm: 1}), "unknown decision", new.id)


def test_threads_share_an_agent() -> None:
    """Each thread observes decisions of any thread; every outcome counts once."""
    agent = Agent("ts-n", 3, "complete", seed=1)
    made: SimpleQueue[Decision] = SimpleQueue()
    threads, rounds = 8, 50

    def rewards(number: int) -> dict[Arm, float]:
        return {0: number % 2, 1: number // 2 % 2, 2: number % 3 == 0}

    def work(_: int) -> list[Decision]:
        found = []
        for _ in range(rounds):
            found.append(agent.decide())
            made.put(found[-1])
            other = made.get()
            agent.observe(other, rewards(other.number))
            agent.observe(other.id, rewards(other.number))  # once more
        return found

    with ThreadPoolExecutor(threads) as pool:
        decisions = [one for found in pool.map(work, range(threads)) for one in found]
    total = threads * rounds
    assert sorted(one.number for one in decisions) == list(range(1, total + 1))
    assert len({one.id for one in decisions}) == total
    assert agent.pending == ()
    status = agent.status()
    counts = {"decisions": total, "open": 0, "outcomes": 3 * total, "late": 0, "expired": 0}
    assert {key: status[key] for key in counts} == counts
    ones = [sum(rewards(number)[arm] for number in range(1, total + 1)) for arm in range(3)]
    assert agent.state["a"] == {arm: 1 + ones[arm] for arm in range(3)}
    assert agent.state["b"] == {arm: 1 + total - ones[arm] for arm in range(3)}
    agent.verify()


#: Policies that learn when a decision is closed.
AT_THE_CLOSE = {"exp3-g", "exp3-ix", "exp3-res", "exp3-set", "ucb-lp"}
#: Directed: a reveals b, b reveals all, c reveals a.
DIRECTED = np.array([[1.0, 1.0, 0.0], [1.0, 1.0, 1.0], [1.0, 0.0, 1.0]])


def policy_bytes(agent: Agent) -> dict[str, bytes]:
    return {name: array.tobytes() for name, array in agent._state.policy_state.items()}


@each(
    ("policy", "posterior"),
    [(name, None) for name in able(DIRECTED, 3, 60)]
    + [(name, "normal(noise=0.7)") for name in ("ts-n", "ids-n", "v-ids", "ts", "greedy")],
)
def test_outcomes_one_by_one_are_those_at_once(policy: str, posterior: str | None) -> None:
    """Bit for bit, in any order, for every policy; some learn when the decision is closed."""
    at_once, one_by_one, backwards = (
        Agent(policy, ["a", "b", "c"], DIRECTED, seed=5, horizon=60, posterior=posterior)
        for _ in range(3)
    )
    rng, changes = np.random.default_rng(1), 0
    for _ in range(25):
        decisions = [agent.decide() for agent in (at_once, one_by_one, backwards)]
        assert facts(decisions[0]) == facts(decisions[1]) == facts(decisions[2])
        drawn = rng.random(3) if posterior else rng.integers(0, 2, 3)
        rewards = {arm: drawn["abc".index(str(arm))].item() for arm in decisions[0].reveals}
        at_once.observe(decisions[0], rewards)
        for agent, decision, order in (
            (one_by_one, decisions[1], list(rewards)),
            (backwards, decisions[2], list(reversed(rewards))),
        ):
            before = policy_bytes(agent)
            for arm in order:
                agent.observe(decision, {arm: rewards[arm]}, partial=True)
                agent.observe(decision, {arm: rewards[arm]}, partial=True)  # repeated
            if policy in AT_THE_CLOSE:
                assert policy_bytes(agent) == before
            agent.close(decision)
            changes += policy_bytes(agent) != before
            assert policy_bytes(agent) == policy_bytes(at_once)
            assert agent.status()["outcomes"] == at_once.status()["outcomes"]
    assert changes > 25 or policy == "uniform"


# Integer nodes ------------------------------------------------------------------------------------


def test_integer_nodes_of_networkx_stay_integers(tmp_path: Path) -> None:
    graph = networkx.DiGraph([(33, 7), (7, 10)])
    agent = Agent("ids-n", graph=graph, seed=1)
    assert agent.arms == (33, 7, 10)
    decision = agent.decide(among=[33])
    assert (decision.arm, decision.reveals) == (33, {33: 1.0, 7: 1.0})
    assert type(decision.arm) is int
    agent.observe(decision, {33: 1}, partial=True)
    agent.observe(decision, {"7": 0})  # as in JSON
    other = reopened(agent, tmp_path)
    for one in (agent, other):
        assert one.state == {"a": {33: 2.0, 7: 1.0, 10: 1.0}, "b": {33: 1.0, 7: 2.0, 10: 1.0}}
        refused(lambda one=one: one.observe(one.decide(), {0: 1}), "unknown arm 0")
    again = other.decide(among=[np.int64(7)])
    other.observe(again, {np.int64(10): 1})
    assert other.state["a"][10] == 2.0


# Several decisions --------------------------------------------------------------------------------


def alpha_of(a: Any, b: Any) -> Any:
    posterior = BetaBernoulli(np.asarray(a, float), np.asarray(b, float))
    return posterior.beliefs(posterior.init(1)).alpha[0]


def test_distinct_decisions_are_made_among_the_arms_that_are_left() -> None:
    """Each pi is alpha of the arms that are left."""
    rng = np.random.default_rng(2)
    names = [f"arm {i}" for i in range(30)]
    a, b = rng.integers(1, 9, (2, 30)).astype(float)
    agent = Agent("ts-n", names, "ring", seed=1, prior=list(zip(a, b, strict=True)))
    left = names[2:29]
    decisions = agent.decide(25, distinct=True, among=left, context={"page": 1})
    assert [one.number for one in decisions] == list(range(1, 26))
    assert {one.time for one in decisions} == {decisions[0].time}
    assert all(one.context == {"page": 1} for one in decisions)
    left = list(left)
    for one in decisions:
        index = [names.index(arm) for arm in left]
        wanted = dict(zip(left, alpha_of(a[index], b[index]), strict=True))
        assert one.pi == pytest.approx(wanted, abs=1e-12)
        assert one.probability == (one.pi or {})[one.arm]
        left.remove(str(one.arm))
    assert len(left) == 2
    refused(lambda: agent.decide(28, distinct=True, among=names[2:29]), "28", "only 27")
    refused(lambda: agent.decide(31, distinct=True), "31", "only 30")
    assert len(agent.pending) == 25


def test_several_decisions_have_the_same_pi_and_their_own_draws() -> None:
    agent = Agent("ts-n", 4, "star", seed=3, prior=[(1, 2), (2, 1), (3, 3), (1, 1)])
    decisions = agent.decide(400)
    pi = whole_pi(agent, decisions[0])
    assert all(one.pi == decisions[0].pi for one in decisions)
    plays = np.bincount([int(one.arm) for one in decisions], minlength=4) / 400
    assert (abs(plays - pi) <= 4.0 * np.sqrt(np.multiply(pi, 1.0 - np.array(pi)) / 400)).all()


@each(
    ("how", "words"),
    [
        ({"n": 0}, ["n must be", "0"]),
        ({"distinct": 1}, ["distinct", "1"]),
        ({"among": []}, ["among is empty"]),
        ({"among": ["bib"]}, ["unknown arm 'bib'"]),
        ({"among": ["x"], "exclude": ["x"]}, ["no arm may be played"]),
        ({"exclude": 5}, ["exclude must be a list of arms", "5"]),
        ({"pending": "all"}, ["pending", "'ignore' or 'expected'", "'all'"]),
        ({"context": {1, 2}}, ["context must be a JSON value"]),
        ({"context": {"x": np.nan}}, ["context must be a JSON value"]),
        ({"expires": -1}, ["expires", "-1"]),
    ],
)
def test_bad_requests_of_decisions_are_refused(how: dict[str, Any], words: list[str]) -> None:
    agent = Agent("ts-n", ["x", "y"], seed=1)
    refused(lambda: agent.decide(**how), *words)
    assert agent.status()["entries"] == 1


# Expected outcomes --------------------------------------------------------------------------------


@each("policy", ["ts-n", "ts"])
def test_expected_outcomes_of_open_decisions(policy: str) -> None:
    """Beta(a, b) with the mean m and the weight w counts as Beta(a + w m, b + w (1 - m)).

    The weight of an arm is the sum of its probabilities of observation in open decisions; for
    ``ts``, which learns from its own plays, the number of these.
    """
    rng = np.random.default_rng(4)
    graph = np.where(np.eye(5) > 0, 1.0, rng.random((5, 5)) * (rng.random((5, 5)) < 0.6))
    a, b = rng.integers(1, 6, (2, 5)).astype(float)
    agent = Agent(policy, 5, graph, seed=2, prior=list(zip(a, b, strict=True)))
    rows = graph if policy == "ts-n" else np.eye(5)
    open_ = agent.decide(4)
    agent.observe(open_[0], {open_[0].arm: 1}, partial=True)
    agent.observe(open_[1], {})
    a[int(open_[0].arm)] += 1.0
    weight = sum(rows[int(one.arm)] for one in (open_[0], *open_[2:]))
    weight[int(open_[0].arm)] -= 1.0  # its outcome is known
    state = agent.state
    for decision in agent.decide(3, pending="expected"):
        mean = a / (a + b)
        wanted = alpha_of(a + weight * mean, b + weight * (1.0 - mean))
        assert whole_pi(agent, decision) == pytest.approx(wanted, abs=1e-12)
        weight = weight + rows[int(decision.arm)]
    assert agent.state == state  # nothing is learned
    assert whole_pi(agent, agent.decide()) == pytest.approx(alpha_of(a, b), abs=1e-15)


@each("policy", ["ucb1", "exp3-ix", "uniform"])
def test_policies_without_a_posterior_expect_nothing(policy: str) -> None:
    agent = Agent(policy, 3, "star", seed=1, horizon=9)
    refused(lambda: agent.decide(pending="expected"), f"'{policy}'", "pending='ignore'")


# Context and expiry -------------------------------------------------------------------------------


def test_context_is_kept_with_the_decision() -> None:
    agent = Agent("ts-n", 3, "star", seed=1)
    context: dict[str, Any] = {"user": 5, "tags": ["a", None, 1.5], "où": {"x": True}}
    decision = agent.decide(context=context)
    wanted = copy.deepcopy(context)
    context["tags"].append("later")
    assert decision.context == agent.decision(decision.id).context == wanted
    agent.observe(decision, {})
    assert agent.decision(decision.id).context == agent.history()[1]["context"] == wanted
    assert agent.decide().context is None


@each("expires", [60, 60.0, timedelta(minutes=1)])
def test_outcomes_after_the_expiry_are_late(expires: Any) -> None:
    clock = Clock(1000.0)
    agent = Agent("ts-n", 3, "complete", seed=1, expires=expires, clock=clock)
    decision, short = agent.decide(), agent.decide(expires=timedelta(seconds=5))
    assert decision.time == datetime(1970, 1, 1, 0, 16, 40, tzinfo=UTC)
    assert decision.expires == decision.time + timedelta(seconds=60)
    assert short.expires == decision.time + timedelta(seconds=5)
    clock.now = 1059.5
    agent.observe(decision, {0: 1}, partial=True)
    assert agent.pending == (decision.id,)
    assert agent.status()["expired"] == 1
    clock.now = 1060.0
    agent.observe(decision, {0: 1, 1: 0})  # arm 0 is known, arm 1 is late
    agent.observe(decision, {1: 0})
    refused(lambda: agent.observe(decision, {1: 1}), "has the outcome 0 of 1")
    assert agent.pending == ()
    assert agent.state == {"a": {0: 2.0, 1: 1.0, 2: 1.0}, "b": {0: 1.0, 1: 1.0, 2: 1.0}}
    status = agent.status()
    assert (status["expired"], status["late"], status["outcomes"]) == (2, 1, 1)
    agent.verify()


def test_policy_that_learns_at_the_close_learns_at_the_expiry() -> None:
    clock = Clock(1000.0)
    one = Agent("exp3-ix", 3, "complete", seed=1, horizon=9, expires=60, clock=clock)
    other = Agent("exp3-ix", 3, "complete", seed=1, horizon=9)
    one.observe(one.decide(), {0: 1, 2: 0}, partial=True)
    other.observe(other.decide(), {0: 1, 2: 0})
    clock.now += 60.0
    assert facts(one.decide()) == facts(other.decide())
    assert one.state == other.state


def test_clock_that_goes_back_changes_no_promise() -> None:
    clock = Clock(1000.0)
    agent = Agent("ts-n", 3, "complete", seed=1, expires=60, clock=clock)
    one = agent.decide()
    clock.now = 10.0
    other = agent.decide()
    agent.observe(one, {0: 1})
    clock.now = 70.0
    agent.observe(other, {0: 1})
    assert agent.status()["late"] == 1
    assert agent.state["a"][0] == 2.0
    agent.verify()


# Other posteriors --------------------------------------------------------------------------------


def numbers(agent: Agent, *names: str) -> list[list[float]]:
    """Return parameters of the prior in the order of the arms."""
    return [getattr(agent.posterior, name).tolist() for name in names]


@each(
    "how",
    [
        {"posterior": "normal(mean=0.5, sd=2, noise=3)"},
        {"posterior": "normal(noise=3)", "prior": (0.5, 2)},
        {"posterior": "normal(noise=3)", "prior": {"mean": 0.5, "sd": 2}},
        {"posterior": "normal(noise=3)", "prior": "mean=0.5,sd=2"},
        {"posterior": "normal(noise=3)", "prior": [(0.5, 2)] * 2},
        {"posterior": "normal(noise=3, sd=2)", "prior": {"x": (0.5,), "y": {"mean": 0.5}}},
        {"posterior": Normal.of(2, 0.5, 2.0, 3.0)},
        {"prior": Normal.of(2, 0.5, 2.0, 3.0)},
    ],
)
def test_posterior_and_prior_may_be_given_in_any_form(how: dict) -> None:
    agent = Agent("ts-n", ["x", "y"], seed=1, **how)
    assert numbers(agent, "means", "sds") == [[0.5, 0.5], [2.0, 2.0]]
    assert agent.posterior.noise == 3.0


def test_prior_by_name_is_in_the_order_of_the_graph() -> None:
    graph = networkx.DiGraph([("ann", "bob"), ("bob", "eve")])
    given = {"eve": (3, 1), "ann": {"mean": 1}}
    agent = Agent("ts-n", ["eve", "bob", "ann"], graph, seed=1, posterior="normal", prior=given)
    assert agent.arms == ("ann", "bob", "eve")
    assert numbers(agent, "means") == [[1.0, 0.0, 3.0]]
    listed = Agent("ts-n", ["eve", "bob", "ann"], graph, seed=1, posterior="normal(mean=[3, 0, 1])")
    assert numbers(listed, "means") == [[1.0, 0.0, 3.0]]


def test_numbers_by_name_are_not_read_as_parameters() -> None:
    """They were: (2, 5) of two arms became a = 2 and b = 5 of both."""
    refused(lambda: Agent("ts-n", ["x", "y"], prior={"x": 2, "y": 5}, seed=1), "no parameter 'x'")
    # names of arms may be names of parameters: numbers are parameters, pairs are priors of arms
    both = Agent("ts-n", ["a", "b"], prior={"a": 2, "b": 5}, seed=1)
    assert numbers(both, "a", "b") == [[2.0, 2.0], [5.0, 5.0]]
    one = Agent("ts-n", ["a", "b"], prior={"a": (2, 5)}, seed=1)
    assert numbers(one, "a", "b") == [[2.0, 1.0], [5.0, 1.0]]


@each(
    ("how", "words"),
    [
        ({"posterior": "norml"}, ["unknown posterior 'norml'", "'normal'"]),
        ({"posterior": "normal(sd=0)"}, ["sd must be from"]),
        ({"posterior": "normal", "prior": [(0, 1)] * 3}, ["2 arms"]),
        ({"posterior": "normal", "prior": {"z": (0, 1)}}, ["no parameter 'z'"]),
        ({"posterior": Normal.of(3)}, ["3 arms", "2"]),
        ({"posterior": Normal.of(2), "prior": (0, 1)}, ["given as text"]),
        ({"posterior": "normal", "prior": Normal.of(2)}, ["remove one of them"]),
        ({"posterior": 5}, ["a posterior must be a text"]),
        ({"posterior": as_world("gaussian", 2)}, ["a posterior must be a text"]),
    ],
)
def test_bad_posteriors_are_refused(how: dict, words: list[str]) -> None:
    refused(lambda: Agent("ts-n", ["x", "y"], seed=1, **how), *words)


def test_posterior_of_a_plug_in_is_saved_with_all_parameters(tmp_path: Path) -> None:
    """Infinite numbers and nested tuples, and a posterior that does not check loaded states."""
    file = write_plugin(tmp_path / "mine.py")
    load_plugin(file)
    agent = Agent("ids-n", ["x", "y"], "complete", seed=1, posterior="my-beta(a=2)")
    play(agent, 5)
    other = reopened(agent, tmp_path)
    assert other.posterior.limit == np.inf
    assert other.posterior.table == ((1, 2), (3.5, np.inf))
    assert play(agent, 10) == play(other, 10)
    unload_plugin(file)
    with pytest.raises(StoreError, match="unknown posterior 'my-beta'"):
        Agent(store=next(tmp_path.glob("*.db")))


#: Prints the memory after 1000 decisions and after 1000 more, and the open decisions.
MEMORY = """
import gc, time, tracemalloc
from graphbandits import Agent

agent = Agent("ts-n-sampled", arms=50, graph="random(r=uniform)", seed=1)

def rounds(count):
    for _ in range(count):
        decision, useless = agent.decide(), agent.decide()
        agent.observe(decision, {decision.arm: 1} | dict.fromkeys(decision.reveals, 0))
        agent.observe(useless.id, {})
    agent.forget(before=time.time() + 1)
    gc.collect()
    return tracemalloc.get_traced_memory()[0]

tracemalloc.start()
rounds(1)  # what the first calls import and cache
print(rounds(500), rounds(500), len(agent.pending))
"""


@pytest.mark.nightly
def test_agent_forgets_observed_decisions() -> None:
    """A thousand more decisions take less than a kilobyte, also without observations.

    The agent has a history until ``forget``. In a process of its own, where no thread or cache of
    another test allocates memory.
    """
    done = subprocess.run(
        [sys.executable, "-c", MEMORY], capture_output=True, text=True, check=True, timeout=300
    )
    before, after, pending = map(int, done.stdout.split())
    assert pending == 0
    assert after - before < 1000, (before, after)
