"""Mutants of worlds: each is valid except for one defect, with the check that detects it."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import ndtri

from graphbandits._types import Floats, Ints
from graphbandits.posteriors import BetaBernoulli, interval
from graphbandits.rng import Keys, Stream
from graphbandits.worlds import Bernoulli, BernoulliSwitch, PriorWorld, outcome_uniforms
from helpers.plain_posteriors import PlainNormal

#: (class, the check that it fails, text of the message)
WORLDS: list[tuple[type, str, str]] = []


def fails(check: str, saying: str) -> Any:
    def note(cls: type) -> type:
        WORLDS.append((dataclass(frozen=True, eq=False)(cls), check, saying))
        return WORLDS[-1][0]

    return note


@dataclass(frozen=True, eq=False)
class PlainGaussian(PriorWorld):
    """Normal rewards with known noise; valid."""

    @classmethod
    def of(cls, arms: int) -> Any:
        return cls(PlainNormal(arms))

    @classmethod
    def examples(cls) -> list[Any]:
        return [cls.of(3), cls(PlainNormal(2), np.array([-1.0, 2.0]))]

    def noise(self, keys: Keys, t: int, trial: Ints, arm: Ints) -> Floats:
        return np.asarray(ndtri(outcome_uniforms(keys, t, trial, arm)))

    def outcomes(self, theta: Floats, keys: Keys, t: int, trial: Ints, arm: Ints) -> Floats:
        noise = self.prior.noise * self.noise(keys, t, trial, arm)
        return np.asarray(theta[trial, arm] + noise)


@fails("form", "has no description: start its docstring")
class UndocumentedWorld(Bernoulli):
    pass


@fails("form", "world 'UnfinishedWorld' lacks means, outcomes")
class UnfinishedWorld(Bernoulli):
    """Has a prior and nothing to draw."""

    means = outcomes = property()  # type: ignore[assignment]


@fails("form", "rewards must be a support such as REAL or interval")
class NamedSupport(Bernoulli):
    """Names its rewards in a text."""

    rewards = "binary"  # type: ignore[assignment]


@fails("form", "'TwoArmWorld' for 5 arms has 2: of")
class TwoArmWorld(Bernoulli):
    """Has two arms from its text form, always."""

    @classmethod
    def of(cls, arms: int, *given: Any, **named: Any) -> Any:
        return super().of(2, *given, **named)

    @classmethod
    def examples(cls) -> list[Any]:
        return [cls(BetaBernoulli.of(2))]


@fails("means", "the means of trial 3 depend on the block")
class MeansByRow(Bernoulli):
    """Draws the means of a block in one go."""

    def means(self, keys: Keys) -> Floats:
        rng = np.random.default_rng(keys.seed)
        return rng.beta(self.prior.a, self.prior.b, (keys.trials + 1, self.arms))[1:][::-1].copy()

    @classmethod
    def examples(cls) -> list[Any]:
        return [cls.of(3)]


@fails("means", "returned means of shape .6,. and type float64; return an array of numbers")
class OneMean(Bernoulli):
    """Has one mean per trial."""

    def means(self, keys: Keys) -> Floats:
        return super().means(keys)[:, 0]


@fails("means", "returned means that are not finite numbers")
class MeansWithNaN(Bernoulli):
    """Does not know the mean of the last arm."""

    def means(self, keys: Keys) -> Floats:
        theta = super().means(keys)
        theta[:, -1] = np.nan
        return theta


@fails("means", "two calls of means with the same keys differ")
class MeansAtRandom(Bernoulli):
    """Draws means from its own generator."""

    def means(self, keys: Keys) -> Floats:
        rng = np.random.default_rng()
        return rng.beta(self.prior.a, self.prior.b, (keys.trials, self.arms))

    @classmethod
    def examples(cls) -> list[Any]:
        return [cls.of(3)]


@fails("means", "the means are equal in all trials: draw them with Stream")
class SameMeans(Bernoulli):
    """Has the same means in all trials, without saying so."""

    def means(self, keys: Keys) -> Floats:
        return np.tile([0.2, 0.5, 0.9], (keys.trials, 1))

    @classmethod
    def examples(cls) -> list[Any]:
        return [cls.of(3)]


@fails("means", "the means do not depend on the seed")
class MeansWithoutSeed(Bernoulli):
    """Draws the means with a seed of its own."""

    def means(self, keys: Keys) -> Floats:
        return super().means(Keys(5, keys.first_trial, keys.trials))

    @classmethod
    def examples(cls) -> list[Any]:
        return [cls.of(3)]


@fails("means", "a mean is .* outside of .0, 1., the support of the prior")
class MeansOutside(Bernoulli):
    """Has an arm that is better than the prior allows."""

    def means(self, keys: Keys) -> Floats:
        theta = super().means(keys)
        theta[:, 0] += 1.5
        return theta


@fails("means", "a mean is 1.2, outside of .0, 1., the support of the prior")
class ChangesToOutside(BernoulliSwitch):
    """Has a mean above 1 after the change."""

    def means_at(self, theta: Floats, keys: Keys, t: int) -> Floats:
        return theta if t < 3 else np.full_like(theta, 1.2)


@fails("means", "means_at depends on the block, or differs from means in round 1 .round 2.")
class ChangesWithTheBlock(BernoulliSwitch):
    """Moves the means by the average of all trials, in their last digits only."""

    def means_at(self, theta: Floats, keys: Keys, t: int) -> Floats:
        now = super().means_at(theta, keys, t)
        return now if t == 1 else now * (1.0 - 1e-13 * now.mean())


@fails("mean-of-rewards", "the average of .* rewards differs from means by")
class RewardsOfTheFirstPeriod(BernoulliSwitch):
    """Draws rewards of the first period in all rounds."""

    def outcomes(self, theta: Floats, keys: Keys, t: int, trial: Ints, arm: Ints) -> Floats:
        return super().outcomes(self.means(keys), keys, t, trial, arm)


@fails("outcomes", "the reward of an arm depends on the other pairs or on their order")
class InOrderOfPairs(PlainGaussian):
    """Draws one number after the other for the pairs that it is asked for."""

    def noise(self, keys: Keys, t: int, trial: Ints, arm: Ints) -> Floats:
        return super().noise(keys, t, trial, np.arange(len(arm)))


@fails("outcomes", "the rewards of trial 3 depend on the block")
class RewardsByRow(PlainGaussian):
    """Numbers the trials by their row in the block."""

    def noise(self, keys: Keys, t: int, trial: Ints, arm: Ints) -> Floats:
        return super().noise(Keys(keys.seed, 2, keys.trials), t, trial, arm)


@fails("outcomes", "two calls of outcomes in round 12 differ")
class RewardsAtRandom(PlainGaussian):
    """Draws rewards from its own generator."""

    def noise(self, keys: Keys, t: int, trial: Ints, arm: Ints) -> Floats:
        return np.random.default_rng().normal(size=len(arm))


@fails("outcomes", "the rewards are equal in all rounds: use the round t")
class SameEveryRound(PlainGaussian):
    """Has the same rewards in every round."""

    def noise(self, keys: Keys, t: int, trial: Ints, arm: Ints) -> Floats:
        return super().noise(keys, 1, trial, arm)


@fails("outcomes", "the rewards do not depend on the seed: use the keys")
class RewardsWithoutSeed(PlainGaussian):
    """Draws rewards with a seed of its own."""

    def noise(self, keys: Keys, t: int, trial: Ints, arm: Ints) -> Floats:
        return super().noise(Keys(5, keys.first_trial, keys.trials), t, trial, arm)


@fails("outcomes", "outcomes modified theta: work on a copy")
class AddsToTheta(PlainGaussian):
    """Adds the smallest noise to the means themselves."""

    def outcomes(self, theta: Floats, keys: Keys, t: int, trial: Ints, arm: Ints) -> Floats:
        found = super().outcomes(theta, keys, t, trial, arm)
        theta += 1e-12
        return found


@fails("outcomes", r"outcomes returned an array \(1, 15\) of float64 in round 1; return an array")
class RowOfRewards(PlainGaussian):
    """Returns a matrix with one row."""

    def outcomes(self, theta: Floats, keys: Keys, t: int, trial: Ints, arm: Ints) -> Floats:
        return super().outcomes(theta, keys, t, trial, arm)[None]


@fails(
    "rewards-in-support", "it gave the reward 2 in round .* declared as binary: a reward must be"
)
class RareTwos(Bernoulli):
    """Gives the reward 2 in round 50 in one of a thousand pairs."""

    def outcomes(self, theta: Floats, keys: Keys, t: int, trial: Ints, arm: Ints) -> Floats:
        reward = super().outcomes(theta, keys, t, trial, arm)
        rare = outcome_uniforms(keys, 7, trial, arm) < 1e-3
        return np.where(rare & (t == 50), 2.0, reward)


@fails("rewards-in-support", "it gave the reward nan in round .* declared as binary")
class RareNaN(Bernoulli):
    """Sometimes has no reward."""

    def outcomes(self, theta: Floats, keys: Keys, t: int, trial: Ints, arm: Ints) -> Floats:
        reward = super().outcomes(theta, keys, t, trial, arm)
        return np.where(outcome_uniforms(keys, t + 7, trial, arm) < 1e-3, np.nan, reward)


@fails("mean-of-rewards", "over many trials, the average of .* rewards differs from means by")
class BetterLater(PlainGaussian):
    """Adds to the rewards of all arms from round 4 on."""

    def noise(self, keys: Keys, t: int, trial: Ints, arm: Ints) -> Floats:
        return super().noise(keys, t, trial, arm) + (0.5 if t > 3 else 0.0)


@fails("mean-of-rewards", "of one trial, the average of 2000 rewards differs from means by")
class OppositeMeans(Bernoulli):
    """Takes the mean for the probability of 0; the prior is symmetric."""

    def outcomes(self, theta: Floats, keys: Keys, t: int, trial: Ints, arm: Ints) -> Floats:
        return 1.0 - super().outcomes(theta, keys, t, trial, arm)

    @classmethod
    def examples(cls) -> list[Any]:
        return [cls.of(3)]


@fails("independence", "the rewards of arm . in round (.) and of arm . in round \\1 are correlated")
class SameNoiseForAllArms(PlainGaussian):
    """Draws one number for all arms."""

    def noise(self, keys: Keys, t: int, trial: Ints, arm: Ints) -> Floats:
        return super().noise(keys, t, trial, np.zeros_like(arm))


@fails("independence", "the rewards of arm (.) in round 1 and of arm \\1 in round 2 are correlated")
class SlowNoise(PlainGaussian):
    """Has the same noise in two rounds."""

    def noise(self, keys: Keys, t: int, trial: Ints, arm: Ints) -> Floats:
        return super().noise(keys, (t + 1) // 2, trial, arm)


@fails("prior", "the rewards of the world are interval.0, 1., but its prior .* accepts only binary")
class WiderThanThePrior(Bernoulli):
    """Declares rewards that its prior does not accept."""

    rewards = interval(0, 1)  # type: ignore[assignment]


@fails("prior", "of the means of arm . are below the quantile .* of the prior, which differs")
class NarrowMeans(Bernoulli):
    """Draws means near the middle."""

    def means(self, keys: Keys) -> Floats:
        return 0.25 + super().means(keys) / 2.0

    @classmethod
    def examples(cls) -> list[Any]:
        return [cls.of(3)]


@fails("calibration", "quantile 0.1 of the posterior after three rewards, which differs by")
class MoreNoise(PlainGaussian):
    """Has more noise than its prior assumes."""

    def noise(self, keys: Keys, t: int, trial: Ints, arm: Ints) -> Floats:
        return 1.5 * super().noise(keys, t, trial, arm)


@fails("own-randomness", "it used or seeded a global random generator: use Stream")
class ThrowsDice(PlainGaussian):
    """Uses a global generator, without effect."""

    def noise(self, keys: Keys, t: int, trial: Ints, arm: Ints) -> Floats:
        random.random()
        return super().noise(keys, t, trial, arm)


@fails("own-randomness", "it used or seeded a global random generator: use Stream")
class SeedsTheGenerator(PlainGaussian):
    """Seeds the global generator of NumPy, and draws from it."""

    def means(self, keys: Keys) -> Floats:
        np.random.seed(keys.seed)  # noqa: NPY002
        return super().means(keys) + 0.0 * Stream(keys, 0, "x").uniform(self.arms)
