"""Tests of worlds/models.py and worlds/base.py."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from helpers.bad_input import refused, refuses
from helpers.cases import each
from helpers.reward_families import FAMILIES
from scipy.special import ndtri
from scipy.stats import beta, kstest, norm

from graphbandits import Bernoulli, BetaBernoulli, simulate
from graphbandits._types import Floats
from graphbandits.errors import InputError, WorldError
from graphbandits.graphs import as_process
from graphbandits.policies import as_policy
from graphbandits.posteriors import Normal, reward_support
from graphbandits.posteriors.beta_bernoulli import beta_quantile
from graphbandits.registry import examples_of, pack_plugin, registered, text_of, unpack_plugin
from graphbandits.rng import Keys, Stream
from graphbandits.simulation.loop import run_block
from graphbandits.simulation.plan import Plan
from graphbandits.simulation.run import simulate_plan
from graphbandits.theory import audit
from graphbandits.theory.bounds import CHANGING_MEANS, bounds_of, why_no_bounds
from graphbandits.worlds import (
    BernoulliSwitch,
    Gaussian,
    PriorWorld,
    as_world,
    outcome_uniforms,
)

WORLDS = [world for cls in registered("world").values() for world in examples_of(cls)]


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


@each("world", WORLDS)
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


@each("world", WORLDS)
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


@each("family", list(FAMILIES))
def test_means_come_from_the_prior(family: str) -> None:
    """The mean of 4000 draws is that of the prior, within 5 standard errors."""
    world = as_world(FAMILIES[family].world, 2)
    assert reward_support(world) == reward_support(world.prior)
    theta = world.means(Keys(6, 0, 4000))
    expected = world.prior.mean(world.prior.init(1))[0]
    error = theta.std(axis=0, ddof=1) / np.sqrt(len(theta))
    assert (np.abs(theta.mean(axis=0) - expected) < 5.0 * error).all()


@each("family", list(FAMILIES))
def test_rewards_have_the_means_of_the_trial(family: str) -> None:
    """Over rounds, the average reward of each pair is its theta, within 5 standard errors."""
    world = as_world(FAMILIES[family].world, 2)
    keys = Keys(6, 0, 4)
    theta, (trial, arm) = world.means(keys), pairs(4, 2)
    seen = np.array([world.outcomes(theta, keys, t, trial, arm) for t in range(1, 2501)])
    error = seen.std(axis=0, ddof=1) / np.sqrt(len(seen))
    assert (np.abs(seen.mean(axis=0) - theta[trial, arm]) < 5.0 * np.maximum(error, 1e-3)).all()


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


@each("fixed", [[1.0], [1.0, 2.0, np.nan], [1.0, np.inf, 0.0], "abc", [[1.0, 2.0, 3.0]], ["x"] * 3])
def test_bad_fixed_means_are_refused(fixed: Any) -> None:
    refused(lambda: Quiet(Normal.of(3), fixed), "for each of the 3 arms")


def test_fixed_means_are_copied_and_read_only() -> None:
    given = np.array([1.0, 2.0])
    world = Quiet(Normal.of(2), given)
    given[0] = 9.0
    assert world.fixed is not None
    assert world.fixed.tolist() == [1.0, 2.0]
    assert not world.fixed.flags.writeable
    world.means(Keys(1))[0, 0] = 7.0
    assert world.means(Keys(1))[0, 0] == 1.0


PRIOR = BetaBernoulli(np.array([1.0, 2.0, 0.5]), np.array([1.0, 5.0, 0.5]))
MEANS = np.array([0.1, 0.7, 0.4])


def test_regret_uses_fixed_means() -> None:
    """Every play costs a gap of the given means; in the mean of the trials by the plays."""
    result = simulate(
        "ts-n", Bernoulli(PRIOR, fixed=MEANS), "empty", horizon=60, trials=30, seed=2
    )["ts-n"]
    gaps = MEANS.max() - MEANS
    assert result.plays.sum() == 60 * 30
    assert result.final.mean() == pytest.approx(result.plays @ gaps / 30, abs=1e-9)
    assert len(np.unique(result.final)) > 10  # the outcomes still differ from trial to trial


def test_outcomes_have_the_fixed_means() -> None:
    world, keys = Bernoulli(PRIOR, fixed=[0.0, 1.0, 0.3]), Keys(3, 0, 4000)
    theta = world.means(keys)
    trial, arm = np.repeat(np.arange(4000), 3), np.tile(np.arange(3), 4000)
    share = world.outcomes(theta, keys, 1, trial, arm).reshape(4000, 3).mean(axis=0)
    assert share[:2].tolist() == [0.0, 1.0]
    assert abs(share[2] - 0.3) <= 4.5 * np.sqrt(0.21 / 4000)


@each(
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
def test_invalid_fixed_means_are_rejected(wrong: Any) -> None:
    with refuses(InputError):
        Bernoulli(PRIOR, fixed=wrong)


def test_fixed_means_are_stored_with_results() -> None:
    world = Bernoulli(PRIOR, fixed=MEANS)
    settings = simulate("ts-n", world, "empty", horizon=3, trials=2, seed=2).settings
    assert settings["means"] == MEANS.tolist()
    assert settings["prior"] == np.stack([PRIOR.a, PRIOR.b], axis=1).tolist()
    assert "means" not in simulate("ts-n", graph="empty", horizon=3, trials=2).settings


ENDS = (1e-3, 0.04, 1.0, 1e3, 1e9)


@each("b", ENDS)
@each("a", ENDS)
def test_means_are_draws_from_the_prior(a: float, b: float) -> None:
    """In [0, 1] without a warning; their mean within 4.5 standard errors, and 4000 of them in
    Kolmogorov and Smirnov's test at level 1e-4, but for priors that have atoms among floats.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        theta = Bernoulli(BetaBernoulli.of(20, a, b)).means(Keys(3, 0, 200)).ravel()
    assert ((theta >= 0.0) & (theta <= 1.0)).all()
    mean, variance = beta.stats(a, b)
    assert abs(theta.mean() - mean) <= 4.5 * np.sqrt(variance / theta.size)
    if a >= 0.04 and b >= 1.0:
        assert kstest(theta, beta(a, b).cdf).pvalue > 1e-4


def test_means_where_boost_quantile_is_wrong() -> None:
    """Beta(1000, 1e9) is Gamma(1000)/1e9 but for parts in a million: mean 1e-6, spread 3.2e-8."""
    theta = Bernoulli(BetaBernoulli.of(50, 1000.0, 1e9)).means(Keys(3, 0, 100))
    assert np.abs(theta / 1e-6 - 1.0).max() < 6 / np.sqrt(1000)
    assert theta.std() == pytest.approx(1e-6 / np.sqrt(1000), rel=4.5 / np.sqrt(2 * theta.size))


def test_means_are_quantiles_of_the_prior() -> None:
    """Each mean has its own random number."""
    a, b = np.exp(np.random.default_rng(1).uniform(np.log(0.5), np.log(1e5), (2, 30)))
    keys = Keys(4, 0, 50)
    u = Stream(keys, 0, "theta").uniform(30)
    assert (Bernoulli(BetaBernoulli(a, b)).means(keys) == beta_quantile(a, b, u)).all()


TEXT = "bernoulli-switch(changes=[11, 21], fixed=[[0.1, 0.6], [0.9, 0.6], [0.2, 0.3]])"


def test_fixed_means_change_in_the_given_rounds() -> None:
    world, keys = as_world(TEXT, arms=2), Keys(seed=1, trials=3)
    theta = world.means(keys)
    expected = {1: [0.1, 0.6], 10: [0.1, 0.6], 11: [0.9, 0.6], 20: [0.9, 0.6], 21: [0.2, 0.3]}
    for t, means in expected.items():
        assert world.means_at(theta, keys, t).tolist() == [means] * 3  # type: ignore[attr-defined]


def test_drawn_means_are_new_in_each_period() -> None:
    world, keys = BernoulliSwitch.of(4, a=2, b=3, changes=[5, 9]), Keys(seed=1, trials=50)
    theta = world.means(keys)
    assert (theta == Bernoulli.of(4, a=2, b=3).means(keys)).all()  # the first period
    periods = [world.means_at(theta, keys, t) for t in (4, 5, 9)]
    assert (periods[0] == theta).all()
    assert (periods[1] != theta).all()
    assert (periods[2] != periods[1]).all()
    assert (world.means_at(theta, keys, 8) == periods[1]).all()
    periods[1][:] = 0.0  # a copy
    assert (world.means_at(theta, keys, 5) != 0.0).all()


@each("realised", [False, True])
def test_regret_is_relative_to_the_best_arm_of_the_round(realised: bool) -> None:
    world, keys, rounds = as_world(TEXT, arms=2), Keys(seed=3, trials=4), 30

    actions = np.empty((4, rounds), np.int64)

    class Actions:
        def decided(self, t: int, graph: Any, pi: Floats) -> None: ...

        def observed(self, t: int, seen: Any) -> None: ...

        def played(self, t: int, action: Any) -> None:
            actions[:, t - 1] = action

    found = run_block(
        as_policy("uniform"),
        world,
        as_process("empty", 2),
        rounds,
        keys,
        np.arange(1, rounds + 1),
        realised,
        monitor=Actions(),
    )
    regret, trial = np.zeros(4), np.arange(4)
    for t in range(1, rounds + 1):
        means = np.array([0.1, 0.6] if t <= 10 else [0.9, 0.6] if t <= 20 else [0.2, 0.3])
        action, best = actions[:, t - 1], np.full(4, means.argmax())
        if realised:
            theta = np.tile(means, (4, 1))
            regret += world.outcomes(theta, keys, t, trial, best)
            regret -= world.outcomes(theta, keys, t, trial, action)
        else:
            regret += means.max() - means[action]
        assert found.regret[:, t - 1] == pytest.approx(regret, abs=1e-12)


def test_without_changes_a_run_is_that_of_constant_means() -> None:
    common: Any = {"graph": "star", "horizon": 40, "trials": 8, "seed": 2, "arms": 3}
    one = simulate_plan(Plan.of("ids-n", "bernoulli", **common))["ids-n"]
    two = simulate_plan(Plan.of("ids-n", "bernoulli-switch", **common))["ids-n"]
    assert (one.mean == two.mean).all()
    assert (one.plays == two.plays).all()


def test_results_have_no_ranks_of_arms_and_no_bounds() -> None:
    """The best arm is not the same in all rounds."""
    plan = Plan.of("ts-n", as_world(TEXT, arms=2), "complete", horizon=30, trials=2)
    results = simulate_plan(plan)
    assert results["ts-n"].rank_plays is None
    assert "means" not in results.settings
    assert results.settings["world_parameters"]["changes"] == [11, 21]
    assert results.settings["world_parameters"]["fixed"][1] == [0.9, 0.6]
    assert bounds_of(plan) == ()
    assert why_no_bounds(BernoulliSwitch.of(2)) == CHANGING_MEANS
    with refuses(InputError, match="no audit: the means of the arms change"):
        audit(Plan.of("ts-n", "bernoulli-switch", "complete", arms=2, horizon=5, trials=2))


def test_text_and_stored_form() -> None:
    for text in (TEXT, "bernoulli-switch(a=2.0, changes=[7])"):
        world = as_world(text, arms=2)
        arrays: dict[str, Any] = {}
        restored = unpack_plugin(pack_plugin(world, arrays, "world"), arrays)
        keys = Keys(5, 2, 3)
        theta = world.means(keys)
        assert type(restored) is BernoulliSwitch
        assert text_of(restored.prior) == text_of(world.prior)
        for t in (1, 7, 11, 25):
            now: Any = [w.means_at(theta, keys, t) for w in (world, restored)]  # type: ignore[attr-defined]
            assert (now[0] == now[1]).all()


@each(
    "given",
    [
        {"changes": [1]},
        {"changes": [5, 5]},
        {"changes": [9, 5]},
        {"changes": [2.5]},
        {"changes": "later"},
        {"changes": [5], "fixed": [[0.1, 0.2]]},
        {"changes": [5], "fixed": [[0.1, 0.2], [0.3]]},
        {"changes": [5], "fixed": [[0.1, 0.2], [0.3, 1.1]]},
        {"changes": [5], "fixed": [[0.1, 0.2], [0.3, float("nan")]]},
        {"fixed": "high"},
    ],
)
def test_bad_parameters_are_refused(given: Any) -> None:
    with refuses(InputError):
        BernoulliSwitch.of(2, **given)


@dataclass(frozen=True, eq=False)
class Wrong(BernoulliSwitch):
    """Returns what ``now`` gives."""

    now: Any = None

    def means_at(self, theta: Floats, keys: Keys, t: int) -> Floats:
        if t > 1:
            found: Floats = self.now(theta)
            return found
        return theta


@each("now", [lambda theta: theta[0], lambda theta: theta / 0.0, lambda theta: theta.nothing])
def test_wrong_means_of_a_plug_in_are_refused(now: Any) -> None:
    world = Wrong(BetaBernoulli.of(2), now=now)
    with np.errstate(divide="ignore"), refuses(WorldError):
        simulate_plan(Plan.of("ts-n", world, "empty", horizon=3, trials=2))


TRIALS = 3000
MEAN, SD, NOISE = np.array([0.5, -2.0, 10.0]), np.array([1.0, 0.25, 3.0]), 0.5
WORLD = Gaussian.of(3, MEAN, SD, NOISE)  # type: ignore[arg-type]


def rewards(world: Gaussian, keys: Keys, t: int = 4) -> tuple[Any, Any]:
    """Return the means of all trials, and a reward of every arm in every trial."""
    theta = world.means(keys)
    trial = np.repeat(np.arange(keys.trials), world.arms)
    arm = np.tile(np.arange(world.arms), keys.trials)
    return theta, world.outcomes(theta, keys, t, trial, arm).reshape(theta.shape)


def test_means_have_the_distribution_of_the_prior() -> None:
    theta, _ = rewards(WORLD, Keys(2, 0, TRIALS))
    for i in range(3):
        assert kstest(theta[:, i], norm(MEAN[i], SD[i]).cdf).pvalue > 1e-4


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


def test_a_reward_is_the_quantile_of_the_number_of_its_pair() -> None:
    world = Gaussian.of(2, noise=2.0, fixed=[1.0, -1.0])
    keys, trial, arm = Keys(9, 5, 3), np.array([0, 2, 1]), np.array([1, 0, 0])
    u = outcome_uniforms(keys, 6, trial, arm)
    found = world.outcomes(world.means(keys), keys, 6, trial, arm)
    assert found == pytest.approx(np.array([-1.0, 1.0, 1.0]) + 2.0 * ndtri(u), rel=1e-15)


def test_regret_is_in_units_of_the_rewards() -> None:
    """A world ten times as large has ten times the regret, with the same plays."""
    how: dict[str, Any] = {"graph": "star", "arms": 3, "horizon": 30, "trials": 20, "workers": 1}
    small = simulate("ts-n", "gaussian(sd=1, noise=1)", **how)["ts-n"]
    large = simulate("ts-n", "gaussian(sd=16, noise=16)", **how)["ts-n"]
    assert (large.plays == small.plays).all()
    assert large.final == pytest.approx(16.0 * small.final, rel=1e-9)
