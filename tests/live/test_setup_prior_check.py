"""Tests of live/setup.py: false alarms, power, and when the check ends."""

from __future__ import annotations

import math
import re
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.agents import reopened
from helpers.cases import case_named, each
from helpers.reward_families import FAMILIES
from scipy.special import betaln

from graphbandits import Agent
from graphbandits.errors import InputWarning
from graphbandits.live import setup
from graphbandits.live.setup import CONTRADICTION, EARLY, PriorCheck
from graphbandits.posteriors import BetaBernoulli, Normal, Observations
from graphbandits.rng import Keys
from graphbandits.worlds import as_posterior, as_world


def seen(arm: Any, reward: Any) -> Observations:
    arm = np.atleast_1d(np.asarray(arm, np.int64))
    return Observations(np.zeros_like(arm), arm, np.atleast_1d(np.asarray(reward, np.float64)))


def ratios(prior: Any, arms: Any, rewards: Any) -> np.ndarray[Any, Any]:
    """Return the likelihood ratio after each observation, from the models of a check."""
    check = PriorCheck(prior)
    states = [model.init(1) for model in check.models]
    found = []
    for arm, reward in zip(arms, rewards, strict=True):
        one = seen(arm, reward)
        states = [m.update(s, one) for m, s in zip(check.models, states, strict=True)]
        evidence = [m.log_evidence(s).sum() for m, s in zip(check.models, states, strict=True)]
        found.append(0.5 * (np.exp(evidence[1:] - evidence[0])).sum())
    return np.array(found)


def test_ratio_of_normal_arms_is_that_of_the_marginal_likelihoods() -> None:
    """Rewards of one arm are jointly normal with covariance sd^2 + noise^2 I."""
    prior, rewards = Normal.of(1, mean=0.5, sd=0.3, noise=0.8), np.array([1.5, 0.2, 2.5, 1.0])

    def density(sd: float) -> float:
        covariance = np.full((4, 4), sd**2) + 0.8**2 * np.eye(4)
        apart = rewards - 0.5
        log = -0.5 * apart @ np.linalg.solve(covariance, apart)
        return float(np.exp(log) / np.sqrt(np.linalg.det(2.0 * np.pi * covariance)))

    expected = 0.5 * (density(3.0) + density(30.0)) / density(0.3)
    assert ratios(prior, [0] * 4, rewards)[-1] == pytest.approx(expected, rel=1e-9)


def test_ratio_of_bernoulli_arms_is_that_of_the_products_of_predictions() -> None:
    a, b, outcomes = 3.0, 1.5, [0, 1, 0, 0]

    def likelihood(weight: float) -> float:
        ones, zeros, product = weight * a, weight * b, 1.0
        for one in outcomes:
            product *= (ones if one else zeros) / (ones + zeros)
            ones, zeros = ones + one, zeros + 1 - one
        return product

    expected = 0.5 * (likelihood(0.1) + likelihood(0.01)) / likelihood(1.0)
    found = ratios(BetaBernoulli.of(1, a, b), [0] * 4, outcomes)[-1]
    assert found == pytest.approx(expected, rel=1e-9)


def test_ratio_is_a_martingale_for_bernoulli_arms() -> None:
    """The expected ratio after all sequences of outcomes is 1, and after one more it is kept."""
    prior = BetaBernoulli.of(2, [4.0, 1.0], [2.0, 3.0])
    arms = [0, 1, 0, 1]
    total = 0.0
    for number in range(16):
        outcomes = [number >> k & 1 for k in range(4)]
        probability, a, b = 1.0, [4.0, 1.0], [2.0, 3.0]
        for arm, one in zip(arms, outcomes, strict=True):
            probability *= (a[arm] if one else b[arm]) / (a[arm] + b[arm])
            a[arm], b[arm] = a[arm] + one, b[arm] + 1 - one
        total += probability * ratios(prior, arms, outcomes)[-1]
    assert total == pytest.approx(1.0, rel=1e-10)


def worst_ratios(prior: Any, truth: Any, agents: int, rounds: int) -> np.ndarray[Any, Any]:
    """Return the largest ratio of each agent; all arms are observed in every round."""
    check = PriorCheck(prior)
    keys, world = Keys(11, 0, agents), truth
    theta = world.means(keys)
    trial = np.repeat(np.arange(agents), world.arms)
    arm = np.tile(np.arange(world.arms), agents)
    states = [model.init(agents) for model in check.models]
    worst = np.zeros(agents)
    for t in range(1, rounds + 1):
        one = Observations(trial, arm, world.outcomes(theta, keys, t, trial, arm))
        states = [m.update(s, one) for m, s in zip(check.models, states, strict=True)]
        evidence = [
            m.log_evidence(s).sum(axis=1) for m, s in zip(check.models, states, strict=True)
        ]
        apart = np.array(evidence[1:]) - evidence[0]
        ratio = 0.5 * np.exp(np.minimum(apart, 700.0)).sum(axis=0)
        worst = np.maximum(worst, ratio)
    return worst


def test_ville_inequality_holds_if_the_prior_is_right() -> None:
    """P(the ratio ever reaches c) <= 1/c; 2000 agents with means from the prior."""
    for family, known in FAMILIES.items():
        world = as_world(known.world, 3)
        if PriorCheck(world.prior).models:
            with case_named(family):
                ville_inequality_holds(worst_ratios(world.prior, world, 2000, EARLY // 3))


def ville_inequality_holds(worst: np.ndarray[Any, Any]) -> None:
    for level in (2.0, 5.0, 20.0, 100.0, CONTRADICTION):
        share, most = (worst >= level).mean(), 1.0 / level
        assert share <= most + 4.0 * math.sqrt(most * (1.0 - most) / len(worst)), level


@each(
    ("prior", "world"),
    [
        ("beta-bernoulli(a=90, b=10)", "bernoulli(a=10, b=90)"),
        ("normal(mean=0, sd=0.1, noise=1)", "gaussian(mean=3, sd=0.1, noise=1)"),
        ("normal(mean=100, sd=1, noise=1)", "gaussian(mean=0, sd=1, noise=1)"),
    ],
)
def test_a_wrong_prior_is_detected(prior: str, world: str) -> None:
    """Within the first EARLY observations, in almost all agents."""
    worst = worst_ratios(as_posterior(prior, 3), as_world(world, 3), 300, EARLY // 3)
    assert (worst >= CONTRADICTION).mean() > 0.95


class Unnormalised(BetaBernoulli):
    """Its evidence lacks the normalising constant of the prior."""

    def log_evidence(self, state: Any) -> Any:
        return betaln(state["a"], state["b"])


def test_ville_inequality_fails_for_evidence_without_its_constant() -> None:
    """The test above can fail: the ratio of this mutant is no martingale."""
    prior = Unnormalised(np.full(3, 2.0), np.full(3, 3.0))
    worst = worst_ratios(prior, as_world("bernoulli(a=2, b=3)", 3), 200, 5)
    assert (worst >= 20.0).mean() > 0.5


def test_check_reports_once_and_ends() -> None:
    check = PriorCheck(BetaBernoulli.of(1, 900, 100))
    messages = [check.observe(seen(0, 0)) for _ in range(20)]
    (message,) = filter(None, messages)
    assert check.done
    number = messages.index(message) + 1
    found = re.fullmatch(
        r"the first (\d+) rewards are (\S+) times more likely under a weaker prior", message
    )
    assert found
    assert int(found[1]) == number
    after = ratios(BetaBernoulli.of(1, 900, 100), [0] * number, [0] * number)
    assert after[-1] >= CONTRADICTION > after[-2]
    assert float(found[2]) == pytest.approx(after[-1], rel=0.5)


def test_check_ends_without_a_report_after_early_observations() -> None:
    check = PriorCheck(BetaBernoulli.of(2))
    assert check.observe(seen([], [])) == ""
    for t in range(EARLY // 2):
        assert not check.done
        assert check.observe(seen([0, 1], [t % 2, 1 - t % 2])) == ""
    assert check.done
    assert check.count == EARLY
    assert check.observe(seen([0] * 500, [0] * 500)) == ""
    assert check.count == EARLY


def test_large_evidence_is_a_finite_number() -> None:
    check = PriorCheck(Normal.of(1, mean=0, sd=1e-3, noise=1e-3))
    message = check.observe(seen(0, 1e3))
    assert "inf" not in message
    assert "nan" not in message
    assert "times more likely" in message


def test_posteriors_without_weaker_priors_and_many_arms_are_not_checked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Alone(BetaBernoulli):
        weaker: Any = None

        def __getattribute__(self, name: str) -> Any:
            if name == "weaker":
                raise AttributeError(name)
            return super().__getattribute__(name)

    assert PriorCheck(Alone(np.ones(2), np.ones(2))).done
    monkeypatch.setattr(setup, "MOST_ARMS", 3)
    assert not PriorCheck(BetaBernoulli.of(3)).done
    assert PriorCheck(BetaBernoulli.of(4)).done


# Agents -------------------------------------------------------------------------------------------


def wrong() -> Agent:
    """An agent with a prior that the rewards below contradict."""
    return Agent("ts-n", ["x", "y"], "complete", seed=1, posterior="normal(mean=50, noise=1)")


def feed(agent: Agent, rounds: int) -> list[int]:
    """Observe rewards near 0; return the decisions that issue a warning."""
    warned = []
    for _ in range(rounds):
        decision = agent.decide()
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            agent.observe(decision, {"x": 0.25, "y": -0.5})
        assert {one.category for one in caught} <= {InputWarning}
        warned += [decision.number] * len(caught)
    return warned


def test_agent_warns_once_and_names_prior_and_remedy() -> None:
    agent = wrong()
    with pytest.warns(InputWarning) as caught:
        agent.observe(agent.decide(), {"x": 0.25, "y": -0.5})
    text = str(caught[0].message)
    assert len(caught) == 1
    assert "normal(mean=50.0)" in text
    assert "inspect_prior" in text
    assert caught[0].filename == __file__
    assert feed(agent, 30) == []


def test_agent_warns_if_learned_outcomes_contradict_the_prior() -> None:
    agent = wrong()
    with pytest.warns(InputWarning, match=r"normal\(mean=50.0\)") as caught:
        agent.learn({"x": (1.5, 6), "y": -0.5})
    assert len(caught) == 1
    assert caught[0].filename == __file__
    assert feed(agent, 30) == []


def test_right_prior_issues_no_warning() -> None:
    agent = Agent("ts-n", ["x", "y"], "complete", seed=1, posterior="normal(mean=0, noise=1)")
    assert feed(agent, 120) == []


def test_warning_does_not_depend_on_saving(tmp_path: Path) -> None:
    """A prior that is contradicted after some observations; saved and loaded in each round."""
    text = "normal(mean=3, sd=0.3, noise=3)"
    plain = Agent("ts-n", ["x", "y"], "complete", seed=1, posterior=text)
    expected = feed(plain, 60)
    assert len(expected) == 1
    assert expected[0] > 3
    agent, found = Agent("ts-n", ["x", "y"], "complete", seed=1, posterior=text), []
    for _ in range(60):
        found += feed(agent, 1)
        agent = reopened(agent, tmp_path)
    assert found == expected


def test_refused_reward_is_not_counted() -> None:
    agent = Agent("ts-n", ["x", "y"], "complete", seed=1)
    decision = agent.decide()
    with pytest.raises(Exception, match="reward"):
        agent.observe(decision, {"x": 1, "y": 0.5})
    assert agent._state.prior_check.count == 0
    agent.observe(decision, {"x": 1, "y": 0})
    assert agent._state.prior_check.count == 2
