"""Tests of live/agent.py: decisions equal those of a simulated trial; saving and loading."""

from __future__ import annotations

import copy
import dataclasses
import json
import pickle
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import ClassVar

import networkx
import numpy as np
import pytest
from helpers import FIXTURES
from helpers.agents import facts, play, whole_pi
from helpers.bad_input import refused
from helpers.messages import raises_pinned
from helpers.recorded_runs import GRAPHS, able, record
from helpers.reward_families import FAMILIES, write_plugin
from scipy.stats import norm

from graphbandits import Agent, Bernoulli, BetaBernoulli, Decision, load_plugin
from graphbandits._types import Floats, State
from graphbandits.engine import run_block
from graphbandits.engine.loop import means_in_round
from graphbandits.errors import InputError
from graphbandits.graphs import Fixed, GraphLike, UniformFeedback, as_process
from graphbandits.plugins import unload_plugin
from graphbandits.policies import Event, Needs, Problem, View, as_policy
from graphbandits.posteriors import Beliefs, Normal
from graphbandits.rng import Keys
from graphbandits.worlds import as_world


@pytest.mark.oracle
@pytest.mark.parametrize(
    ("graph", "policy"),
    [
        (graph, policy)
        for graph in (*GRAPHS, "star(direction=out)")
        for policy in able(graph, 4, 120)
    ],
)
def test_agent_decides_like_the_simulated_trial(policy: str, graph: str) -> None:
    events, _, theta = record(policy, graph, Keys(11, 0, 7), 120, arms=4)
    trial = 3
    agent = Agent(policy, arms=4, graph=graph, seed=11, trial=trial, horizon=120)
    world, alone = Bernoulli(BetaBernoulli.of(4)), Keys(11, trial)
    process = as_process(graph, 4)
    for event in events:
        decision = agent.decide()
        assert decision.arm == event.action[trial]
        if agent.policy.exact:
            assert whole_pi(agent, decision) == event.pi[trial].tolist()
            assert decision.probability == event.pi[trial, event.action[trial]]
        else:  # the policy has drawn the arm itself
            assert decision.pi is decision.probability is None
        zeros, seen = process.round(event.t, alone).reveal(np.array([decision.arm]), alone, event.t)
        rewards = world.outcomes(theta[trial : trial + 1], alone, event.t, zeros, seen)
        agent.observe(decision, dict(zip(seen.tolist(), rewards.tolist(), strict=True)))


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


@pytest.mark.parametrize(
    ("graph", "policy"),
    [(name, policy) for name, graph in SAVED.items() for policy in able(graph, 5, 80)],
)
def test_saved_agent_continues_with_identical_decisions(policy: str, graph: str, tmp_path) -> None:
    agent = Agent(policy, arms=5, graph=SAVED[graph], seed=4, prior=(1.5, 2.0), horizon=80)
    play(agent, 15)
    left_open = agent.decide()
    other = Agent.load(agent.save(tmp_path / "agent.npz"))
    assert other.pending == (left_open.id,)
    for one in (agent, other):
        one.observe(left_open.id, {left_open.arm: 1})
    assert play(agent, 30) == play(other, 30)


def test_names_and_prior_survive_saving(tmp_path) -> None:
    agent = Agent(
        "ids-n", arms=["ann", "bob", "eve"], graph="ring", seed=4, prior=[(1, 2), (3, 1), (2, 2)]
    )
    other = Agent.load(agent.save(tmp_path / "agent.npz"))
    assert other.arms == ("ann", "bob", "eve")
    assert other.posterior.a.tolist() == [1.0, 3.0, 2.0]
    assert facts(other.decide()) == facts(agent.decide())


def test_prior_is_in_the_order_of_the_given_names() -> None:
    """The graph may list its arms in another order than the caller."""
    graph = networkx.DiGraph([("ann", "bob")])
    agent = Agent("ts-n", arms=["bob", "ann"], graph=graph, seed=1, prior=[(9, 1), (1, 9)])
    assert agent.state["a"] == {"ann": 1.0, "bob": 9.0}
    assert agent.decide().pi["bob"] > 0.99


def test_state_contains_the_posterior() -> None:
    agent = Agent("ids-n", arms=["x", "y"], graph="complete", seed=1)
    agent.observe(agent.decide(), {"x": 1, "y": 0})
    assert agent.state == {"a": {"x": 2.0, "y": 1.0}, "b": {"x": 1.0, "y": 2.0}}
    assert repr(agent) == "Agent('ids-n', 2 arms, 1 decisions made, 0 open)"


def test_agent_saved_by_an_earlier_version_continues() -> None:
    """Saved before ``accuracy`` existed; the expected decisions are those of that version."""
    agent = Agent.load(FIXTURES / "agent-1.npz")
    assert repr(agent) == "Agent('ts-n', 3 arms, 2 decisions made, 1 open)"
    assert agent.pending == ("2",)
    assert agent.posterior.accuracy == "simulation"
    agent.observe(agent.pending[0], {"Zoë": 0})
    decision = agent.decide()
    assert decision.arm == "Zoë"
    pi = {"ann": 0.05593257193741775, "bob lee": 0.32975967362829656, "Zoë": 0.6143077544342856}
    assert decision.pi == pytest.approx(pi, abs=1e-12)


#: Alpha of the second arm is so small that "simulation" has few of its digits, or none.
FAR = [(8000.0, 2000.0), (7000.0, 3000.0), (7900.0, 2100.0)]


def test_agent_uses_the_given_accuracy(tmp_path: Path) -> None:
    names = ["ann", "bob", "eve"]
    strict = Agent("ts-n", names, "star", seed=1, prior=FAR, accuracy="strict")
    plain = Agent("ts-n", names, "star", seed=1, prior=FAR)
    posterior = BetaBernoulli(*np.array(FAR).T, accuracy="strict")
    alpha = posterior.beliefs(posterior.init(1)).alpha[0]
    assert 0.0 < alpha[1] < 1e-30
    again = Agent.load(strict.save(tmp_path / "agent.npz"))
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
    with raises_pinned(InputError):
        found["bib"]


def test_beliefs_follow_the_observations() -> None:
    agent = Agent("ts-n-sampled", 2, "complete", seed=1)
    agent.observe(agent.decide(), {0: 1, 1: 0})
    found = agent.beliefs("strict")  # Beta(2, 1) against Beta(1, 2): 5/6
    assert found[0].alpha == pytest.approx(5 / 6, rel=1e-12)
    assert found[1].delta == pytest.approx(found.rho - 1 / 3, rel=1e-12)


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
    with raises_pinned(InputError):
        Agent("ts-n", 2, "empty", seed=1, prior=prior, accuracy="strict")
    agent = Agent("ts-n", 2, "empty", seed=1, prior=prior)
    assert agent.beliefs()[1].alpha == agent.decide().pi[1] == 0.5
    with raises_pinned(InputError):
        agent.beliefs("strict")
    with raises_pinned(InputError):
        agent.beliefs(estimate=True)
    for name in ("v-ids", "v-ids-n"):
        with raises_pinned(InputError):
            Agent(name, 2, "empty", seed=1, prior=prior)
    with raises_pinned(InputError):
        Agent(Scribbler(), arms=2, seed=1).beliefs()
    with raises_pinned(InputError):
        Agent("ts-n", 2, seed=1, accuracy="high")
    with raises_pinned(InputError):
        Agent("ts-n", 2, seed=1).beliefs("high")
    with raises_pinned(InputError):
        Agent("ts-n", 2, seed=1).beliefs(estimate="no")  # type: ignore[arg-type]


def test_names_come_from_the_graph() -> None:
    graph = networkx.DiGraph([("hub", "left"), ("hub", "right")])
    agent = Agent("ids-n", graph=graph, seed=1)
    decision = agent.decide()
    assert decision.arm == "hub"
    assert decision.reveals == {"hub": 1.0, "left": 1.0, "right": 1.0}


def test_reveals_are_the_graph_row_of_the_played_arm() -> None:
    matrix = np.array([[1.0, 0.3, 0.0], [0.0, 1.0, 0.9], [0.2, 0.0, 1.0]])
    agent = Agent("ts-n", arms=["x", "y", "z"], graph=matrix, seed=1)
    rows = {"x": {"x": 1.0, "y": 0.3}, "y": {"y": 1.0, "z": 0.9}, "z": {"x": 0.2, "z": 1.0}}
    seen = set()
    for _ in range(30):
        decision = agent.decide()
        assert decision.reveals == rows[str(decision.arm)]
        seen.add(decision.arm)
    assert seen == {"x", "y", "z"}


def test_several_decisions_may_be_open_and_are_observed_in_any_order() -> None:
    agent = Agent("ts-n", arms=3, graph="complete", seed=2)
    decisions = [agent.decide() for _ in range(3)]
    assert [decision.number for decision in decisions] == [1, 2, 3]
    assert agent.pending == tuple(decision.id for decision in decisions)
    for decision in (decisions[2], decisions[0], decisions[1]):
        agent.observe(decision, {0: 1, 1: 0})
    assert agent.pending == ()
    alpha = agent.decide().pi
    direct = BetaBernoulli(np.array([4.0, 1.0, 1.0]), np.array([1.0, 4.0, 1.0]))
    want = direct.beliefs(direct.init(1)).alpha[0]
    assert list(alpha.values()) == want.tolist()


def test_agent_learns_the_best_arm() -> None:
    agent = Agent("ids-n", arms=["bad", "good"], graph="empty", seed=3)
    rng = np.random.default_rng(0)
    for _ in range(300):
        decision = agent.decide()
        chance = 0.8 if decision.arm == "good" else 0.2
        agent.observe(decision, {decision.arm: int(rng.random() < chance)})
    assert agent.decide().pi["good"] > 0.99


def test_a_graph_of_any_size_needs_the_number_of_arms() -> None:
    with raises_pinned(InputError):
        Agent("ids-n", graph="star", seed=1)
    assert len(Agent("ids-n", graph="paper", seed=1).arms) == 5


MATRIX = np.array([[1.0, 0.3, 0.0], [0.0, 1.0, 0.9], [0.2, 0.0, 1.0]])


def first_decision() -> Decision:
    return Agent("ts-n", arms=["x", "y", "z"], graph=MATRIX, seed=1, prior=(1, 2)).decide()


@pytest.mark.parametrize(
    "same",
    [
        lambda decision: decision,
        copy.copy,
        copy.deepcopy,
        lambda decision: pickle.loads(pickle.dumps(decision)),
    ],
    ids=["itself", "copy", "deepcopy", "pickle"],
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
    assert decision.pi is decision.pi  # made once
    assert decision.reveals is decision.reveals
    for name in ("pi", "reveals", "time", "expires", "p"):
        with pytest.raises(AttributeError):
            setattr(decision, name, {})
    with pytest.raises(AttributeError, match="no attribute 'p'"):
        decision.p  # type: ignore[attr-defined]  # noqa: B018


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


def test_message_does_not_list_too_many_arms() -> None:
    names = [f"arm {i}" for i in range(60)]
    agent = Agent("ts-n-sampled", arms=names, graph="complete", seed=1)
    with pytest.raises(InputError) as raised:
        agent.observe(agent.decide(), {"arm 5x": 1})
    hint = "did you mean 'arm 5'? Known: arm 0, arm 1, ..., arm 9 (60 names)"
    assert str(raised.value) == f"unknown arm 'arm 5x': {hint}"
    graph = Fixed(UniformFeedback(0.5, 20_000), tuple(f"node {i}" for i in range(20_000)))
    with raises_pinned(InputError) as raised:
        Agent("ts-n", [*reversed((graph.names or ())[1:]), "node x"], graph, seed=1)
    assert len(str(raised.value)) < 120


# Other posteriors --------------------------------------------------------------------------------


def numbers(agent: Agent, *names: str) -> list[list[float]]:
    """Return parameters of the prior in the order of the arms."""
    return [getattr(agent.posterior, name).tolist() for name in names]


@pytest.mark.parametrize(
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
    ids=str,
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


def test_normal_posterior_follows_the_observations() -> None:
    """Precision 1 + n / noise^2; the mean is the precision-weighted average."""
    agent = Agent("ts-n", ["x", "y"], "complete", seed=1, posterior="normal(noise=0.5)")
    rewards = [1.5, -0.25, 0.75]
    for reward in rewards:
        agent.observe(agent.decide(), {"x": reward})
    assert agent.state["precision"] == pytest.approx({"x": 13.0, "y": 1.0})
    assert agent.state["mean"] == pytest.approx({"x": 4.0 * sum(rewards) / 13.0, "y": 0.0})
    gap = agent.state["mean"]["x"] / np.sqrt(1.0 + 1.0 / 13.0)
    assert agent.beliefs("strict")["x"].alpha == pytest.approx(norm.cdf(gap), rel=1e-8)


@pytest.mark.parametrize("family", FAMILIES)
def test_agent_of_every_family_decides_like_the_simulated_trial(family: str) -> None:
    """The rewards of a simulated trial, given to an agent of the same seed and trial."""
    given = FAMILIES[family]
    world, seed, trial = as_world(given.world, 3), 7, 2
    keys, process = Keys(seed, trial), as_process("star(direction=out)", 3)
    for policy in ("ts-n", "ids-n"):
        agent = Agent(policy, 3, "star(direction=out)", seed=seed, trial=trial, prior=world.prior)
        theta, plays = world.means(keys), np.zeros(3, int)
        for t in range(1, 21):
            decision = agent.decide()
            plays[decision.arm] += 1
            seen = np.array(sorted(decision.reveals))
            now = means_in_round(world, theta, keys, t)
            drawn = world.outcomes(now, keys, t, np.zeros_like(seen), seen)
            agent.observe(decision, dict(zip(seen.tolist(), drawn.tolist(), strict=True)))
        block = run_block(as_policy(policy), world, process, 20, keys, np.array([20]))
        assert plays.tolist() == block.plays[0].tolist()


@pytest.mark.parametrize(
    ("how", "words"),
    [
        ({"posterior": "norml"}, ["unknown posterior 'norml'", "'normal'"]),
        ({"posterior": "gaussian"}, ["unknown posterior 'gaussian'"]),
        ({"posterior": "normal(sd=0)"}, ["sd must be from"]),
        ({"posterior": "normal", "prior": (0, -1)}, ["sd must be from"]),
        ({"posterior": "normal", "prior": [(0, 1)] * 3}, ["2 arms"]),
        ({"posterior": "normal", "prior": {"z": (0, 1)}}, ["no parameter 'z'"]),
        ({"posterior": "normal", "prior": {"x": (0, 1), "z": (0, 1)}}, ["no parameter 'x'"]),
        ({"posterior": Normal.of(3)}, ["3 arms", "2"]),
        ({"posterior": Normal.of(2), "prior": (0, 1)}, ["given as text"]),
        ({"posterior": "normal", "prior": Normal.of(2)}, ["remove one of them"]),
        ({"posterior": Normal.of(2), "prior": Normal.of(2)}, ["remove one of them"]),
        ({"posterior": 5}, ["a posterior must be a text"]),
        ({"posterior": Normal}, ["a posterior must be a text"]),
        ({"posterior": as_world("gaussian", 2)}, ["a posterior must be a text"]),
        ({"posterior": "normal", "accuracy": "exact"}, ["accuracy", "'exact'"]),
    ],
    ids=str,
)
def test_bad_posteriors_are_refused(how: dict, words: list[str]) -> None:
    refused(lambda: Agent("ts-n", ["x", "y"], seed=1, **how), *words)


def test_policy_that_cannot_use_the_rewards_is_refused() -> None:
    refused(
        lambda: Agent("exp3-set", 3, "star", seed=1, posterior="normal", horizon=9),
        "'exp3-set'",
        "bounded interval",
    )
    agent = Agent(
        "exp3-set(reward_range=[-1, 3])", 3, "star", seed=1, posterior="normal", horizon=9
    )
    agent.observe(decision := agent.decide(), {decision.arm: 2.5})


def test_posterior_of_a_plug_in_is_saved_with_all_parameters(tmp_path: Path) -> None:
    """Infinite numbers and nested tuples, and a posterior that does not check loaded states."""
    file = write_plugin(tmp_path / "mine.py")
    load_plugin(file)
    agent = Agent("ids-n", ["x", "y"], "complete", seed=1, posterior="my-beta(a=2)")
    play(agent, 5)
    other = Agent.load(agent.save(tmp_path / "agent.npz"))
    assert other.posterior.limit == np.inf
    assert other.posterior.table == ((1, 2), (3.5, np.inf))
    assert play(agent, 10) == play(other, 10)
    unload_plugin(file)
    refused(lambda: Agent.load(tmp_path / "agent.npz"), "unknown posterior 'my-beta'")


UNCHECKED = """
from dataclasses import dataclass
import numpy as np
from graphbandits.posteriors import BetaBernoulli
from graphbandits.registry import register


@register("posterior", "unchecked")
@dataclass(frozen=True, eq=False)
class Unchecked:
    "All the methods of a Beta posterior except check_state."
    a: np.ndarray
    b: np.ndarray
    support = (0.0, 1.0)
    outcomes = (0.0, 1.0)

    @classmethod
    def of(cls, arms, a=1.0, b=1.0):
        return cls(np.full(arms, a), np.full(arms, b))

    def weaker(self):
        return Unchecked(0.1 * self.a, 0.1 * self.b)

    def __getattr__(self, name):
        if name.startswith("_") or name == "check_state":
            raise AttributeError(name)
        return getattr(BetaBernoulli(self.a, self.b), name)
"""


def test_agent_with_a_posterior_that_checks_no_states_is_loaded(tmp_path: Path) -> None:
    (tmp_path / "unchecked.py").write_text(UNCHECKED)
    load_plugin(tmp_path / "unchecked.py")
    agent = Agent("ts-n", ["x", "y"], "complete", seed=1, posterior="unchecked(a=2)")
    play(agent, 5)
    assert not agent._state.prior_check.done
    other = Agent.load(agent.save(tmp_path / "agent.npz"))
    assert other._state.prior_check.count == agent._state.prior_check.count == 10
    assert play(agent, 10) == play(other, 10)


#: Prints the memory after 1000 rounds and after 1000 more, and the open decisions.
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
print(rounds(1000), rounds(1000), len(agent.pending))
"""


@pytest.mark.process
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
