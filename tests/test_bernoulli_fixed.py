"""Bernoulli worlds whose means are given."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from graphbandits import Bernoulli, BetaBernoulli, simulate
from graphbandits.errors import InputError
from graphbandits.rng import Keys

PRIOR = BetaBernoulli(np.array([1.0, 2.0, 0.5]), np.array([1.0, 5.0, 0.5]))
MEANS = np.array([0.1, 0.7, 0.4])


def test_every_trial_has_the_means_that_are_given() -> None:
    for keys in (Keys(1, 0, 4), Keys(7, 30, 2)):
        found = Bernoulli(PRIOR, fixed=MEANS).means(keys)
        assert (found == MEANS).all()
        assert found.shape == (keys.trials, 3)


def test_means_are_copied() -> None:
    given = MEANS.copy()
    world = Bernoulli(PRIOR, fixed=given)
    given[:] = 0.9
    found = world.means(Keys(1, 0, 2))
    found[:] = 0.5  # nor is what it gives away its own
    assert (world.means(Keys(1)) == MEANS).all()


def test_the_prior_is_still_what_policies_believe() -> None:
    world = Bernoulli(PRIOR, fixed=MEANS)
    assert world.prior is PRIOR
    assert world.arms == 3


def test_regret_is_that_of_the_given_means() -> None:
    """Every play costs a gap of the given means; in the mean of the trials by the plays."""
    result = simulate(
        "ts-n", Bernoulli(PRIOR, fixed=MEANS), "empty", horizon=60, trials=30, seed=2
    )["ts-n"]
    gaps = MEANS.max() - MEANS
    assert result.plays.sum() == 60 * 30
    assert result.final.mean() == pytest.approx(result.plays @ gaps / 30, abs=1e-9)
    assert len(np.unique(result.final)) > 10  # the outcomes still differ from trial to trial


def test_outcomes_have_the_given_means_and_sure_ones_are_sure() -> None:
    world, keys = Bernoulli(PRIOR, fixed=[0.0, 1.0, 0.3]), Keys(3, 0, 4000)
    theta = world.means(keys)
    trial, arm = np.repeat(np.arange(4000), 3), np.tile(np.arange(3), 4000)
    share = world.outcomes(theta, keys, 1, trial, arm).reshape(4000, 3).mean(axis=0)
    assert share[:2].tolist() == [0.0, 1.0]
    assert abs(share[2] - 0.3) <= 4.5 * np.sqrt(0.21 / 4000)


@pytest.mark.parametrize(
    "wrong",
    [
        [0.1, 0.2],
        [[0.1, 0.2, 0.3]],
        [0.1, 0.2, 1.1],
        [-0.1, 0.2, 0.3],
        [0.1, np.nan, 0.3],
        0.5,
        ["a", "b", "c"],
        [None, None, 0.2],
        [[0.1], [0.2, 0.3], 0.1],
    ],
)
def test_means_that_fit_no_arms_are_refused(wrong: Any) -> None:
    with pytest.raises(InputError, match=r"one number in \[0, 1\] for each of the 3 arms; got"):
        Bernoulli(PRIOR, fixed=wrong)


def test_fixed_means_are_kept_with_the_result() -> None:
    world = Bernoulli(PRIOR, fixed=MEANS)
    settings = simulate("ts-n", world, "empty", horizon=3, trials=2, seed=2).settings
    assert settings["means"] == MEANS.tolist()
    assert settings["prior"] == np.stack([PRIOR.a, PRIOR.b], axis=1).tolist()
    assert "means" not in simulate("ts-n", graph="empty", horizon=3, trials=2).settings
