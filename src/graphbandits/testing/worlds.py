"""Checks of worlds: means and rewards are reproducible, and agree with each other and the prior."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphbandits._types import Floats, Ints
from graphbandits.posteriors import Observations
from graphbandits.posteriors.base import reward_support
from graphbandits.registry import name_of
from graphbandits.rng import Keys
from graphbandits.simulation.loop import draw_means, means_in_round
from graphbandits.testing.contract import (
    ContractViolation,
    check,
    check_created_by_text,
    check_form,
)
from graphbandits.testing.scenarios import same_bits, same_with_other_globals
from graphbandits.worlds import Changing, World, as_posterior, check_world

#: Trials and rounds of the checks of averages.
TRIALS, ROUNDS = 2000, 2000
#: Bound of the number of events that are rare: with this expectation, none has probability 2e-9.
RARE = 20.0
#: Levels of the quantiles that are compared with the drawn means.
LEVELS = (0.1, 0.3, 0.5, 0.7, 0.9)


@check("world", "form")
def form(world: World) -> None:
    """The class is documented and registered, and has all members of a world.

    The name with a number of arms creates a world.
    """
    check_form("world", world)
    check_world(world)  # lists the members that are missing
    if isinstance(world.arms, bool) or not isinstance(world.arms, int) or world.arms < 1:
        raise ContractViolation(f"arms must be a whole number of at least 1, not {world.arms!r}")
    reward_support(world)  # refuses rewards that are not a support
    check_created_by_text("world", world)


@check("world", "means")
def means(world: World) -> None:
    """means are finite and in the support of the prior, and depend on seed and trial only.

    They differ between trials and seeds, unless the world has the attribute ``fixed``. The same
    holds for ``means_at``, if it exists, in each round; in round 1 it returns ``means``.
    """
    keys = Keys(61, 3, 6)
    theta = draw_means(world, keys)
    low, high = world.prior.support
    rounds = (1, 2, 3, 50) if isinstance(world, Changing) else (1,)
    for t in rounds:
        now = means_in_round(world, theta, keys, t)
        inside = (now >= low) & (now <= high)
        if not inside.all():
            raise ContractViolation(
                f"a mean is {now[~inside][0]:g}, outside of [{low:g}, {high:g}], the support of "
                f"the prior '{name_of(world.prior)}'"
            )
        row = means_in_round(world, theta[2:3].copy(), Keys(61, 5, 1), t)
        if not same_bits(now[2:3], row) or (t == 1 and not same_bits(now, theta)):
            raise ContractViolation(
                f"means_at depends on the block, or differs from means in round 1 (round {t}): it "
                "must be a function of theta, the seed, the trial and the round"
            )
    if not same_bits(theta, draw_means(world, keys)):
        raise ContractViolation(
            "two calls of means with the same keys differ: draw with Stream(keys, 0, purpose) only"
        )
    for trial in range(keys.trials):
        alone = draw_means(world, Keys(61, 3 + trial, 1))
        if not same_bits(theta[trial : trial + 1], alone):
            raise ContractViolation(
                f"the means of trial {3 + trial} depend on the block: draw with "
                "Stream(keys, 0, purpose) only"
            )
    if _is_fixed(world):
        return
    if (theta == theta[0]).all():
        raise ContractViolation(
            "the means are equal in all trials: draw them with Stream(keys, 0, purpose), or "
            "declare them as the attribute 'fixed'"
        )
    if same_bits(theta, draw_means(world, Keys(62, 3, 6))):
        raise ContractViolation(
            "the means do not depend on the seed: draw with Stream(keys, 0, purpose)"
        )


@check("world", "outcomes")
def outcomes(world: World) -> None:
    """Rewards depend on seed, trial, round and arm only.

    They do not depend on the other pairs of the call, on their order or on the block. They differ
    between rounds and seeds, unless they equal the means.
    """
    keys = Keys(63, 2, 5)
    theta = draw_means(world, keys)
    before = theta.copy()
    trial, arm = _all_pairs(keys.trials, world.arms)
    rounds = [_rewards(world, theta, keys, t, trial, arm) for t in range(1, 13)]
    if not same_bits(theta, before):
        raise ContractViolation("outcomes modified theta: work on a copy")
    for t in (12, 1, 7):
        reward = rounds[t - 1]
        if not same_bits(reward, _rewards(world, theta, keys, t, trial, arm)):
            raise ContractViolation(
                f"two calls of outcomes in round {t} differ: draw with outcome_uniforms or Stream "
                "only, and keep no state"
            )
        some = np.array([len(arm) - 1, 0, len(arm) // 2])
        few = _rewards(world, theta, keys, t, trial[some], arm[some])
        if not same_bits(reward[some], few):
            raise ContractViolation(
                f"in round {t} the reward of an arm depends on the other pairs or on their order: "
                "use outcome_uniforms(keys, t, trial, arm)"
            )
        for row in range(keys.trials):
            mine = trial == row
            single = Keys(63, 2 + row, 1)
            zero = np.zeros(int(mine.sum()), np.int64)
            alone = _rewards(world, theta[row : row + 1], single, t, zero, arm[mine])
            if not same_bits(reward[mine], alone):
                raise ContractViolation(
                    f"in round {t} the rewards of trial {2 + row} depend on the block: use "
                    "outcome_uniforms(keys, t, trial, arm)"
                )
        if len(_rewards(world, theta, keys, t, trial[:0], arm[:0])):
            raise ContractViolation("outcomes returned rewards for an empty list of pairs")
    # rewards without noise, or whose noise is rare
    if np.abs(rounds[0] - theta[trial, arm]).max() <= 0.05 * _range(world, np.stack(rounds)):
        return
    if all(same_bits(reward, rounds[0]) for reward in rounds):
        raise ContractViolation("the rewards are equal in all rounds: use the round t")
    other = [_rewards(world, theta, Keys(64, 2, 5), t, trial, arm) for t in range(1, 13)]
    if all(same_bits(one, two) for one, two in zip(rounds, other, strict=True)):
        raise ContractViolation("the rewards do not depend on the seed: use the keys")


@check("world", "rewards-in-support")
def rewards_in_support(world: World) -> None:
    """Every reward is a finite number of the declared rewards."""
    support = reward_support(world)
    for _, reward, t in _some_rewards(world):
        inside = support.contains(reward)
        if not inside.all():
            raise ContractViolation(
                f"it gave the reward {reward[~inside][0]:g} in round {t}, but its rewards are "
                f"declared as {support}: a reward must be {support.description}"
            )


@check("world", "mean-of-rewards")
def mean_of_rewards(world: World) -> None:
    """The average of many rewards of an arm is its mean, within six standard errors."""
    found = _some_rewards(world)
    scale = _range(world, np.stack([reward for _, reward, _ in found]))
    off = np.stack([reward - theta for theta, reward, _ in found])
    _check_averages(off.reshape(-1, world.arms), scale, "over many trials")
    keys = Keys(66, 1, 6)  # few trials and many rounds: each mean by itself
    theta = draw_means(world, keys)
    trial, arm = _all_pairs(keys.trials, world.arms)
    rows = [
        _rewards(world, theta, keys, t, trial, arm)
        - means_in_round(world, theta, keys, t)[trial, arm]
        for t in range(1, ROUNDS + 1)
    ]
    _check_averages(np.stack(rows), scale, "of one trial")


def _check_averages(off: Floats, scale: float, where: str) -> None:
    count = len(off)
    rare = RARE * scale / count  # a column of rare rewards may have none of them
    most = 6.0 * off.std(axis=0) / np.sqrt(count) + rare
    wrong = ~(np.abs(off.mean(axis=0)) <= most)
    if wrong.any():
        column = int(wrong.argmax())
        found = off[:, column].mean() / (off[:, column].std() / np.sqrt(count) + 1e-300)
        raise ContractViolation(
            f"{where}, the average of {count} rewards differs from means by "
            f"{off[:, column].mean():.4g}, {abs(found):.0f} standard errors: means must return the "
            "expected rewards"
        )


@check("world", "independence")
def independence(world: World) -> None:
    """Rewards of different arms, and of different rounds, are independent given the means."""
    found = _some_rewards(world)[:2]
    scale = _range(world, np.stack([reward for _, reward, _ in found]))
    both = np.concatenate([reward - theta for theta, reward, _ in found], axis=1)
    both = (both - both.mean(axis=0)) / (scale or 1.0)
    spread, largest = both.std(axis=0), np.abs(both).max(axis=0)
    most = 6.0 * np.sqrt(len(both)) * np.outer(spread, spread) + RARE * np.outer(largest, largest)
    together = np.triu(np.abs(both.T @ both) / np.maximum(most, 1e-12), 1)
    if together.max(initial=0.0) > 1.0:
        one, two = np.unravel_index(together.argmax(), together.shape)
        arms = world.arms
        raise ContractViolation(
            f"the rewards of arm {one % arms} in round {1 + one // arms} and of arm {two % arms} "
            f"in round {1 + two // arms} are correlated: use outcome_uniforms(keys, t, trial, arm)"
        )


@check("world", "prior")
def prior(world: World) -> None:
    """The prior is a posterior that accepts the rewards; the means have its distribution."""
    posterior = as_posterior(world.prior, world.arms)
    mine, its = reward_support(world), reward_support(posterior)
    if not its.includes(mine):
        raise ContractViolation(
            f"the rewards of the world are {mine}, but its prior '{name_of(posterior)}' accepts "
            f"only {its}"
        )
    keys = Keys(67, 0, TRIALS)
    theta = draw_means(world, keys)
    trial, arm = _all_pairs(3, world.arms)
    for reward in _rewards(world, theta[:3], Keys(67, 0, 3), 1, trial, arm).tolist():
        posterior.check_reward(reward)
    if not _is_fixed(world):
        state = posterior.init(TRIALS)
        _check_coverage(posterior, state, theta, "the prior")


@check("world", "calibration")
def calibration(world: World) -> None:
    """After some rewards, the posterior covers the means with its stated probabilities.

    Otherwise the likelihood of the prior is not that of the rewards of the world.
    """
    if _is_fixed(world) or isinstance(world, Changing):
        return
    keys = Keys(68, 0, TRIALS)
    theta = draw_means(world, keys)
    trial, arm = _all_pairs(TRIALS, world.arms)
    state = world.prior.init(TRIALS)
    for t in range(1, 4):
        reward = _rewards(world, theta, keys, t, trial, arm)
        state = world.prior.update(state, Observations(trial, arm, reward))
    _check_coverage(world.prior, state, theta, "the posterior after three rewards")


def _check_coverage(posterior: Any, state: Any, theta: Floats, what: str) -> None:
    """Check that the share of the means below each quantile is its level."""
    for level in LEVELS:
        share = (theta <= posterior.quantile(state, level)).mean(axis=0)
        off = np.abs(share - level) / np.sqrt(level * (1.0 - level) / len(theta))
        if not (off <= 6.0).all():
            arm = int(off.argmax())
            raise ContractViolation(
                f"{share[arm]:.4f} of the means of arm {arm} are below the quantile {level:g} of "
                f"{what}, which differs by {off[arm]:.0f} standard errors: the prior must match "
                "the world"
            )


@check("world", "own-randomness")
def own_randomness(world: World) -> None:
    """It draws with Stream or outcome_uniforms only, not with global generators."""
    keys = Keys(69, 0, 4)
    trial, arm = _all_pairs(4, world.arms)

    def run() -> list[Floats]:
        theta = draw_means(world, keys)
        return [theta, *(_rewards(world, theta, keys, t, trial, arm) for t in (1, 2))]

    same_with_other_globals(run, "", "Stream(keys, t, purpose) or outcome_uniforms")


def _is_fixed(world: object) -> bool:
    return getattr(world, "fixed", None) is not None


def _range(world: World, rewards: Floats) -> float:
    """Return the range of the declared rewards, or of the given ones if it is infinite."""
    support = reward_support(world)
    if support.bounded:
        return support.high - support.low
    return max(float(np.ptp(rewards)), 1.0 if support.integer else 0.0)


def _all_pairs(trials: int, arms: int) -> tuple[Ints, Ints]:
    return np.repeat(np.arange(trials), arms), np.tile(np.arange(arms), trials)


def _rewards(world: World, theta: Floats, keys: Keys, t: int, trial: Ints, arm: Ints) -> Floats:
    """Return the rewards of pairs; check their number and type, but not their values."""
    now = means_in_round(world, theta, keys, t)
    reward: object = world.outcomes(now, keys, t, trial, arm)
    if not isinstance(reward, np.ndarray) or reward.shape != arm.shape or reward.dtype.kind != "f":
        what = (
            f"an array {reward.shape} of {reward.dtype}"
            if isinstance(reward, np.ndarray)
            else type(reward).__name__
        )
        raise ContractViolation(
            f"outcomes returned {what} in round {t}; return an array of {len(arm)} floats, one "
            "per pair"
        )
    return reward


def _some_rewards(world: World) -> list[tuple[Floats, Floats, int]]:
    """Return means, rewards (trials, arms) and the round, for many trials and a few rounds."""
    keys = Keys(65, 4, TRIALS)
    theta = draw_means(world, keys)
    trial, arm = _all_pairs(TRIALS, world.arms)
    found = []
    for t in (1, 2, 3, 50):
        reward = _rewards(world, theta, keys, t, trial, arm)
        now = means_in_round(world, theta, keys, t)
        found.append((now, reward.reshape(TRIALS, world.arms), t))
    return found
