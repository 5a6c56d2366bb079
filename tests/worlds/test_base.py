"""Tests of worlds/base.py: random numbers of pairs, and means that are drawn or fixed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from helpers.bad_input import label, refused
from helpers.reward_families import FAMILIES
from scipy.stats import kstest

from graphbandits.posteriors import Normal, reward_support
from graphbandits.registry import examples_of, registered
from graphbandits.rng import Keys, Stream
from graphbandits.worlds import PriorWorld, as_world, outcome_uniforms

WORLDS = [
    pytest.param(world, id=f"{name} {i}")
    for name, cls in registered("world").items()
    for i, world in enumerate(examples_of(cls))
]


def pairs(trials: int, arms: int) -> tuple[Any, Any]:
    return np.repeat(np.arange(trials), arms), np.tile(np.arange(arms), trials)


def test_a_pair_has_its_own_number_in_every_block_and_order() -> None:
    trial, arm = pairs(6, 3)
    whole = outcome_uniforms(Keys(4, 10, 6), 7, trial, arm)
    shuffled = np.random.default_rng(1).permutation(len(arm))
    again = outcome_uniforms(Keys(4, 10, 6), 7, trial[shuffled], arm[shuffled])
    assert (again == whole[shuffled]).all()
    for k in range(len(arm)):
        alone = outcome_uniforms(Keys(4, 10 + trial[k]), 7, np.array([0]), arm[k : k + 1])
        assert alone[0] == whole[k]
    twice = outcome_uniforms(Keys(4, 10, 6), 7, np.zeros(4, int), np.ones(4, int))
    assert len(set(twice)) == 1


def test_numbers_of_other_rounds_trials_arms_and_seeds_differ() -> None:
    trial, arm = pairs(5, 4)
    drawn = [outcome_uniforms(Keys(s, 0, 5), t, trial, arm) for s in (1, 2) for t in (1, 2, 3)]
    assert len(np.unique(drawn)) == 6 * 20


@pytest.mark.statistical
def test_numbers_of_pairs_are_uniform() -> None:
    trial, arm = pairs(4000, 5)
    drawn = outcome_uniforms(Keys(8, 0, 4000), 3, trial, arm)
    assert drawn.min() > 0.0
    assert drawn.max() < 1.0
    assert kstest(drawn, "uniform").pvalue > 1e-4


def test_smallest_number_is_above_zero(monkeypatch: pytest.MonkeyPatch) -> None:
    """Quantiles at 0 are infinite: every draw must be above 0."""
    from graphbandits import _rng_kernels

    monkeypatch.setattr(_rng_kernels, "uniform", lambda *given: 0.0)
    out, one = np.empty(1), np.zeros(1, np.int64)
    python = getattr(_rng_kernels.pair_uniforms, "py_func", _rng_kernels.pair_uniforms)
    python(np.uint64(1), 0, 1, one, one, out)
    assert 0.0 < out[0] < 2.0**-53


@pytest.mark.parametrize("world", WORLDS)
def test_means_and_rewards_do_not_depend_on_the_block(world: Any) -> None:
    """Any block of trials, any set of pairs: the same bits."""
    keys = Keys(5, 3, 6)
    theta = world.means(keys)
    trial, arm = pairs(6, world.arms)
    whole = world.outcomes(theta, keys, 9, trial, arm)
    assert reward_support(world).contains(whole).all()
    for b in range(6):
        alone = Keys(5, 3 + b)
        assert (world.means(alone)[0] == theta[b]).all()
        for i in range(world.arms):
            seen = world.outcomes(theta[b : b + 1], alone, 9, np.array([0]), np.array([i]))
            assert seen[0] == whole[b * world.arms + i]


@pytest.mark.parametrize("world", WORLDS)
def test_drawn_means_are_in_the_support_and_fixed_ones_are_kept(world: Any) -> None:
    low, high = world.prior.support
    theta = world.means(Keys(1, 0, 50))
    assert theta.shape == (50, world.arms)
    assert ((theta >= low) & (theta <= high)).all()
    if getattr(world, "fixed", None) is not None:
        # a world whose means change starts with those of its first period
        assert (theta == np.atleast_2d(world.fixed)[0]).all()
    else:
        assert len(np.unique(theta[:, 0])) > 40


@pytest.mark.parametrize("family", FAMILIES)
def test_means_come_from_the_prior(family: str) -> None:
    """The mean of 4000 draws is that of the prior, within 5 standard errors."""
    world = as_world(FAMILIES[family].world, 2)
    theta = world.means(Keys(6, 0, 4000))
    expected = world.prior.mean(world.prior.init(1))[0]
    error = theta.std(axis=0, ddof=1) / np.sqrt(len(theta))
    assert (np.abs(theta.mean(axis=0) - expected) < 5.0 * error).all()


@pytest.mark.statistical
@pytest.mark.parametrize("family", FAMILIES)
def test_rewards_have_the_means_of_the_trial(family: str) -> None:
    """Over rounds, the average reward of each pair is its theta, within 5 standard errors."""
    world = as_world(FAMILIES[family].world, 2)
    keys = Keys(6, 0, 4)
    theta, (trial, arm) = world.means(keys), pairs(4, 2)
    seen = np.array([world.outcomes(theta, keys, t, trial, arm) for t in range(1, 2501)])
    error = seen.std(axis=0, ddof=1) / np.sqrt(len(seen))
    assert (np.abs(seen.mean(axis=0) - theta[trial, arm]) < 5.0 * np.maximum(error, 1e-3)).all()


@pytest.mark.parametrize("family", FAMILIES)
def test_prior_of_a_world_fits_its_rewards(family: str) -> None:
    world = as_world(FAMILIES[family].world, 2)
    assert reward_support(world) == reward_support(world.prior)
    for reward in FAMILIES[family].rewards:
        assert reward_support(world).check(reward) == reward


@dataclass(frozen=True, eq=False)
class Quiet(PriorWorld):
    """Rewards equal to the means: only ``outcomes`` is defined."""

    def outcomes(self, theta: Any, keys: Keys, t: int, trial: Any, arm: Any) -> Any:
        return theta[trial, arm]


def test_subclass_inherits_means_arms_and_rewards() -> None:
    prior = Normal.of(3, mean=[0, 1, 2])
    world = Quiet(prior)
    assert world.arms == 3
    assert world.rewards == reward_support(prior)
    drawn = prior.sample(prior.init(4), Stream(Keys(1, 0, 4), 0, "theta"))
    assert (world.means(Keys(1, 0, 4)) == drawn).all()
    assert (Quiet(prior, fixed=[5, 6, 7]).means(Keys(1, 0, 2)) == [[5, 6, 7]] * 2).all()  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "fixed",
    [[1.0], [1.0, 2.0, np.nan], [1.0, np.inf, 0.0], "abc", [[1.0, 2.0, 3.0]], ["x"] * 3],
    ids=label,
)
def test_bad_fixed_means_are_refused(fixed: Any) -> None:
    refused(lambda: Quiet(Normal.of(3), fixed), "one finite number for each of the 3 arms")


def test_fixed_means_are_copied_and_read_only() -> None:
    given = np.array([1.0, 2.0])
    world = Quiet(Normal.of(2), given)
    given[0] = 9.0
    assert world.fixed is not None
    assert world.fixed.tolist() == [1.0, 2.0]
    assert not world.fixed.flags.writeable
    world.means(Keys(1))[0, 0] = 7.0
    assert world.means(Keys(1))[0, 0] == 1.0
