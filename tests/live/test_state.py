"""Tests of live/state.py: what a policy learns from the outcomes of a decision."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.cases import case_named, each

from graphbandits import Agent, BetaBernoulli
from graphbandits._types import State
from graphbandits.errors import GraphBanditsError, InputError, PolicyError
from graphbandits.policies.base import as_policy, own_plays_only
from graphbandits.policies.thompson import TS
from graphbandits.posteriors import Observations
from graphbandits.registry import registered
from graphbandits.simulation.loop import update_state

ARMS = 4


def after_update(agent: Agent, number: int, seen: dict[int, tuple[float, float]]) -> State:
    """Return the state of the policy after ``update`` with an event, without changing the agent."""
    state = agent._state
    arrays = {name: np.array(array) for name, array in state.policy_state.items()}
    event = state._event(state.open[number], state.setup, seen)
    return update_state(state.setup.policy, arrays, event)


def test_outcomes_are_learned_as_by_update() -> None:
    names = [name for name in registered("policy") if own_plays_only(as_policy(name)) is not None]
    for k, policy in enumerate([*names, "floor(policy=ts, mass=0.1)"]):
        posterior = ("", "(discount=0.8)", "(half_life=30)")[k % 3]
        with case_named(f"{policy}, {posterior}"):
            learned_as_by_update(policy, posterior)


def learned_as_by_update(policy: str, posterior: str) -> None:
    clock = iter(np.arange(100.0, 1000.0, 7.0)).__next__
    prior = f"beta-bernoulli{posterior}"
    agent = Agent(
        policy, arms=ARMS, graph="complete", seed=3, posterior=prior, horizon=50, clock=clock
    )
    rng = np.random.default_rng(1)
    for part in range(8):
        decision = agent.decide()
        outcomes = {arm: int(rng.integers(2)) for arm in range(ARMS) if rng.random() < 0.8}
        if part == 5:
            outcomes = {(decision.arm + 1) % ARMS: 1}  # type: ignore[operator]
        seen = {arm: (float(reward), 1.0) for arm, reward in outcomes.items()}
        expected = after_update(agent, decision.number, seen) if seen else agent._state.policy_state
        agent.observe(decision, outcomes)
        found = agent._state.policy_state
        assert found.keys() == expected.keys()
        for name, array in found.items():
            assert np.array_equal(array, expected[name])


class Unweighted(TS):
    """Learns from own plays, and cannot use weights."""

    weighted = False


def test_weights_of_outcomes_that_are_not_used_are_refused_too() -> None:
    agent = Agent(Unweighted(), arms=2, graph="complete", seed=1)
    decision = agent.decide()
    other = 1 - int(decision.arm)
    with pytest.raises(InputError) as refused:
        agent.observe(decision, {decision.arm: 1, other: (3, 10)})
    with pytest.raises(InputError) as expected:
        after_update(agent, 1, {int(decision.arm): (1.0, 1.0), other: (0.3, 10.0)})
    assert str(refused.value) == str(expected.value)
    agent.observe(decision, {decision.arm: 1, other: 0})


class Failing(BetaBernoulli):
    """A posterior whose update fails, or returns no state."""

    def update(self, state: State, seen: Observations) -> State:
        if seen.reward[0]:
            raise RuntimeError("no more")
        return None  # type: ignore[return-value]


@each(("reward", "kind"), [(1, PolicyError), (0, InputError)])
def test_errors_of_a_posterior_are_those_of_update(
    reward: int, kind: type[GraphBanditsError]
) -> None:
    agent = Agent("ts-n", arms=2, seed=1, posterior=Failing(np.ones(2), np.ones(2)))
    agent.decide()
    decision = agent.decide()
    with pytest.raises(kind) as refused:
        agent.observe(decision, {decision.arm: reward})
    with pytest.raises(kind) as expected:
        after_update(agent, 2, {int(decision.arm): (float(reward), 1.0)})
    assert str(refused.value).replace(" learn", " update") == str(expected.value)
    assert agent.pending[1] == decision.id
