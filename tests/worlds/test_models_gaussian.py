"""Tests of worlds/models.py: rewards of a known mean and a known noise."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from helpers.bad_input import refused
from scipy.special import ndtri
from scipy.stats import kstest, norm

from graphbandits import simulate
from graphbandits.posteriors import Normal
from graphbandits.rng import Keys
from graphbandits.worlds import Gaussian, outcome_uniforms

TRIALS = 3000
MEAN, SD, NOISE = np.array([0.5, -2.0, 10.0]), np.array([1.0, 0.25, 3.0]), 0.5
WORLD = Gaussian.of(3, MEAN, SD, NOISE)  # type: ignore[arg-type]


def rewards(world: Gaussian, keys: Keys, t: int = 4) -> tuple[Any, Any]:
    """Return the means of all trials, and a reward of every arm in every trial."""
    theta = world.means(keys)
    trial = np.repeat(np.arange(keys.trials), world.arms)
    arm = np.tile(np.arange(world.arms), keys.trials)
    return theta, world.outcomes(theta, keys, t, trial, arm).reshape(theta.shape)


@pytest.mark.statistical
def test_means_have_the_distribution_of_the_prior() -> None:
    theta, _ = rewards(WORLD, Keys(2, 0, TRIALS))
    for i in range(3):
        assert kstest(theta[:, i], norm(MEAN[i], SD[i]).cdf).pvalue > 1e-4


@pytest.mark.statistical
def test_noise_has_its_distribution_and_is_independent() -> None:
    """Between arms, rounds and means; standard errors of correlations are 1 / sqrt(n)."""
    keys = Keys(2, 0, TRIALS)
    theta, seen = rewards(WORLD, keys)
    _, later = rewards(WORLD, keys, t=5)
    noise = (seen - theta) / NOISE
    assert kstest(noise.ravel(), "norm").pvalue > 1e-4
    columns = np.column_stack([noise, (later - theta) / NOISE, theta])
    correlations = np.corrcoef(columns.T) - np.eye(9)
    assert np.abs(correlations).max() < 5.0 / np.sqrt(TRIALS)


@pytest.mark.statistical
def test_rewards_have_mean_and_variance_of_the_predictive_distribution() -> None:
    """N(mean, sd^2 + noise^2); the variance of a sample variance is 2 sigma^4 / (n - 1)."""
    _, seen = rewards(WORLD, Keys(3, 0, TRIALS))
    variance = SD**2 + NOISE**2
    assert (np.abs(seen.mean(axis=0) - MEAN) < 5.0 * np.sqrt(variance / TRIALS)).all()
    error = variance * np.sqrt(2.0 / (TRIALS - 1))
    assert (np.abs(seen.var(axis=0, ddof=1) - variance) < 5.0 * error).all()


def test_a_reward_is_the_quantile_of_the_number_of_its_pair() -> None:
    world = Gaussian.of(2, noise=2.0, fixed=[1.0, -1.0])
    keys, trial, arm = Keys(9, 5, 3), np.array([0, 2, 1]), np.array([1, 0, 0])
    u = outcome_uniforms(keys, 6, trial, arm)
    found = world.outcomes(world.means(keys), keys, 6, trial, arm)
    assert found == pytest.approx(np.array([-1.0, 1.0, 1.0]) + 2.0 * ndtri(u), rel=1e-15)


def test_scaled_and_shifted_world_gives_scaled_and_shifted_numbers() -> None:
    """theta -> s theta + c, in mean, sd and noise, changes means and rewards in this way only."""
    scale, shift, keys = 4.0, 8.0, Keys(1, 0, 50)  # powers of two: no rounding of products
    base = Gaussian.of(2, mean=0.0, sd=1.0, noise=0.5)
    other = Gaussian.of(2, mean=shift, sd=scale, noise=0.5 * scale)
    (theta, seen), (theirs, their_seen) = rewards(base, keys), rewards(other, keys)
    assert theirs == pytest.approx(scale * theta + shift, rel=1e-14)
    assert their_seen == pytest.approx(scale * seen + shift, rel=1e-13)


def test_regret_is_in_units_of_the_rewards() -> None:
    """A world ten times as large has ten times the regret, with the same plays."""
    how: dict[str, Any] = {"graph": "star", "arms": 3, "horizon": 30, "trials": 20, "workers": 1}
    small = simulate("ts-n", "gaussian(sd=1, noise=1)", **how)["ts-n"]
    large = simulate("ts-n", "gaussian(sd=16, noise=16)", **how)["ts-n"]
    assert (large.plays == small.plays).all()
    assert large.final == pytest.approx(16.0 * small.final, rel=1e-9)


def test_prior_has_the_parameters_of_the_world() -> None:
    prior = WORLD.prior
    assert type(prior) is Normal
    assert (prior.means.tolist(), prior.sds.tolist()) == (MEAN.tolist(), SD.tolist())
    assert prior.noise == NOISE


@pytest.mark.parametrize(
    ("how", "words"),
    [
        ({"sd": 0.0}, "sd must be from"),
        ({"sd": [1.0, -1.0]}, "sd must be from"),
        ({"noise": 0.0}, "noise"),
        ({"noise": float("nan")}, "noise"),
        ({"noise": [1.0, 2.0]}, "noise"),
        ({"mean": float("inf")}, "mean must be from"),
        ({"mean": [0.0, 1.0, 2.0]}, "a list of 2 numbers"),
        ({"mean": "high"}, "mean must be a number"),
        ({"fixed": [0.0]}, "each of the 2 arms"),
    ],
    ids=str,
)
def test_bad_parameters_are_refused(how: dict[str, Any], words: str) -> None:
    refused(lambda: Gaussian.of(2, **how), words)
