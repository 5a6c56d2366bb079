"""Tests of live/evaluation.py: formulas, variances, and the finite-sample interval."""

from __future__ import annotations

import math

import numpy as np
import pytest

from graphbandits._types import Floats
from graphbandits.graphs.feedback import DenseFeedback
from graphbandits.live.evaluation import (
    RunningMean,
    largest_drop,
    limited_model,
    lower_bound,
    terms,
    weights_of,
)

#: Directed, with probabilities.
GRAPH = np.array(
    [
        [1.0, 0.3, 0.0, 0.9],
        [0.0, 1.0, 0.6, 0.0],
        [0.5, 0.0, 1.0, 0.2],
        [0.0, 0.8, 0.0, 1.0],
    ]
)
STAR = np.eye(11)
STAR[0] = STAR[:, 0] = 1.0


@pytest.mark.parametrize("graph", [STAR, GRAPH], ids=["star", "directed"])
def test_variance_of_a_term_with_side_observations(graph: Floats) -> None:
    """With the true means as model it is sum_j pi_j^2 s_j^2 / q_j, and with own plays / mu_j."""
    rng = np.random.default_rng(5)
    arms, count = len(graph), 200_000
    theta, mu = rng.uniform(0.1, 0.9, arms), rng.dirichlet(np.full(arms, 3.0))
    target = rng.dirichlet(np.ones(arms))
    action = rng.choice(arms, count, p=mu)
    shown = rng.random((count, arms)) < graph[action]
    reward = (rng.random((count, arms)) < theta).astype(float)
    chance = DenseFeedback(graph).observed(mu[None])[0]
    noise = theta * (1.0 - theta)
    played = np.arange(arms) == action[:, None]
    rows = np.tile(target, (count, 1))
    for seen, known in ((shown, chance), (played, mu)):
        weight = weights_of(rows, np.tile(known, (count, 1)))
        psi = terms(rows, weight, seen, reward, np.tile(theta, (count, 1)))
        formula = (target**2 * noise / known).sum()
        error = np.sqrt(((psi - psi.mean()) ** 4).mean() / count)
        assert abs(psi.var() - formula) < 4.0 * error
        assert abs(psi.mean() - target @ theta) < 4.0 * psi.std() / math.sqrt(count)


def test_the_model_of_a_row_depends_on_earlier_rows_only() -> None:
    rng = np.random.default_rng(1)
    seen, reward = rng.random((20, 3)) < 0.5, rng.random((20, 3))
    weight = rng.integers(1, 4, (20, 3)).astype(float)
    whole = RunningMean(3, 0.5).before(seen, reward, weight)
    parts = RunningMean(3, 0.5)
    pieces = [parts.before(seen[i:j], reward[i:j], weight[i:j]) for i, j in ((0, 7), (7, 20))]
    assert np.allclose(whole, np.concatenate(pieces), atol=1e-14)
    for t in range(20):
        past = seen[:t]
        for j in range(3):
            if past[:, j].any():
                expected = np.average(reward[:t, j][past[:, j]], weights=weight[:t, j][past[:, j]])
            elif past.any():
                expected = np.average(reward[:t][past], weights=weight[:t][past])
            else:
                expected = 0.5
            assert whole[t, j] == pytest.approx(expected, abs=1e-12)


def test_a_limited_model_bounds_the_terms_below() -> None:
    rng = np.random.default_rng(2)
    model, weight = rng.random((50, 4)), rng.exponential(5.0, (50, 4))
    limited, drop = limited_model(model, weight, 2.0)
    assert (limited <= model).all()
    assert (weight * limited <= 2.0 + 1e-12).all()
    assert drop == pytest.approx((weight * limited).max(axis=1))
    assert (limited[weight * model <= 2.0] == model[weight * model <= 2.0]).all()


def test_lower_bound_holds_with_rare_large_weights() -> None:
    """A term is 500 with probability 1/1000, else 0: a normal interval would fail half the time."""
    rng = np.random.default_rng(3)
    trials, count, mean = 400, 1000, 0.5
    wrong = normal = 0
    for _ in range(trials):
        psi = np.where(rng.random(count) < 1e-3, 500.0, 0.0)
        wrong += lower_bound(psi, np.zeros(count), 0.0, 0.025) > mean
        normal += psi.mean() + 1.96 * psi.std() / math.sqrt(count) < mean
    assert wrong <= 0.025 * trials
    assert normal > 0.2 * trials


def test_lower_bound_is_tight_enough() -> None:
    """It approaches the value: width within twice that of the normal interval at 10,000 terms."""
    rng = np.random.default_rng(4)
    for count, factor in ((1000, 2.2), (10_000, 1.8)):
        psi = (rng.random(count) < 0.3).astype(float)
        found = lower_bound(psi, np.zeros(count), largest_drop(count), 0.025)
        half = 1.96 * psi.std() / math.sqrt(count)
        assert psi.mean() - factor * half < found < psi.mean() - half
    assert lower_bound(np.zeros(10), np.zeros(10), 0.0, 0.025) == 0.0
