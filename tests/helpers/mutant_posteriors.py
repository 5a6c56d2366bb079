"""Mutants of posteriors: each is valid except for one defect, with the check that detects it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np
from scipy.special import betaincinv, ndtri
from scipy.stats import beta as beta_distribution

from graphbandits._types import Floats, State
from graphbandits.posteriors import BetaBernoulli, Observations
from graphbandits.posteriors.base import Beliefs
from helpers.plain_posteriors import PlainNormal, PlainStudent

#: (class, the check that it fails, text of the message)
POSTERIORS: list[tuple[type, str, str]] = []


def fails(check: str, saying: str) -> Any:
    def note(cls: type) -> type:
        POSTERIORS.append((dataclass(frozen=True, eq=False)(cls), check, saying))
        return POSTERIORS[-1][0]

    return note


@fails("form", "has no description: start its docstring")
class UndocumentedPosterior(BetaBernoulli):
    pass


@fails("form", r"state\['a'\] has the shape \(3, 3\) with 2 trials")
class ForgetsTrials(BetaBernoulli):
    """Has three trials, always."""

    def init(self, trials: int) -> State:
        return super().init(3)


@fails("form", r"state\['note'\] is list: use NumPy arrays only")
class PosteriorWithList(BetaBernoulli):
    """Keeps a list in addition to its arrays."""

    def init(self, trials: int) -> State:
        return super().init(trials) | {"note": [0.0] * trials}  # type: ignore[dict-item]


@fails("form", "it lacks quantile, sample, log_likelihood: a posterior needs these members")
class UnfinishedPosterior(BetaBernoulli):
    """Has no quantile, no draws and no likelihood."""

    quantile = sample = log_likelihood = property()  # type: ignore[assignment]


@fails("form", "'TwoArms' for 5 arms has 2: of")
class TwoArms(BetaBernoulli):
    """Has two arms from its text form, always."""

    @classmethod
    def of(cls, arms: int, *given: Any, **named: Any) -> Any:
        return super().of(2, *given, **named)

    @classmethod
    def examples(cls) -> list[Any]:
        return [cls.of(2)]


@fails("bayes", "density of arm . in trial . differs from Bayes' rule")
class Swapped(BetaBernoulli):
    """Counts failures for successes."""

    def update(self, state: State, seen: Observations) -> State:
        return super().update(state, replace(seen, reward=1.0 - seen.reward))


@fails("bayes", "in trial 1 differs from Bayes' rule")
class OnlyTheFirst(BetaBernoulli):
    """Learns in the first trial only."""

    def update(self, state: State, seen: Observations) -> State:
        return super().update(state, seen.select(seen.trial == 0))


@fails("bayes", "in trial 1 differs from Bayes' rule")
class ForgetsRepeats(BetaBernoulli):
    """Adds with an index: of an arm that is seen twice in a round, one is lost."""

    def update(self, state: State, seen: Observations) -> State:
        state["a"][seen.trial, seen.arm] += seen.reward
        state["b"][seen.trial, seen.arm] += 1.0 - seen.reward
        return state


@fails("bayes", "differs from Bayes' rule")
class Forgetful(BetaBernoulli):
    """Forgets one part in a hundred each round."""

    def update(self, state: State, seen: Observations) -> State:
        for name in ("a", "b"):
            state[name] = 1.0 + 0.99 * (state[name] - 1.0)
        return super().update(state, seen)


@fails("bayes", "differs from Bayes' rule")
class ForgetsSpread(PlainStudent):
    """Does not learn the variance of the rewards."""

    def update(self, state: State, seen: Observations) -> State:
        scale = state["b"].copy()
        return super().update(state, seen) | {"b": scale}


@fails("bayes", "the density of arm . integrates to 1.1.*: log_density must be normalised")
class DensityTimesConstant(BetaBernoulli):
    """Has a density that is not normalised."""

    def log_density(self, state: State, theta: Floats) -> Floats:
        return super().log_density(state, theta) + 0.1


@fails("batch", "alpha of a trial depends on the other trials")
class ScaledTogether(BetaBernoulli):
    """Scales alpha by something of all trials, in its last digits only."""

    def beliefs(self, state: State) -> Beliefs:
        found = super().beliefs(state)
        scale = 1.0 + 1e-13 * (state["a"].sum() % 1.37)
        return replace(found, alpha=found.alpha / scale)


@fails("batch", "the mean of a trial depends on the other trials")
class MeanOfTheBlock(BetaBernoulli):
    """Draws the means towards that of all trials, in their last digits only."""

    def mean(self, state: State) -> Floats:
        found = super().mean(state)
        return found + 1e-13 * (found.mean() - found)


@fails("batch", "the quantile of a trial depends on the other trials")
class QuantileOfTheBlock(BetaBernoulli):
    """Scales the quantiles by something of all trials, in their last digits only."""

    def quantile(self, state: State, level: float) -> Floats:
        found = super().quantile(state, level)
        return found if level in (0.0, 1.0) else found * (1.0 - 1e-13 * (state["a"].sum() % 1.37))


@fails("beliefs", "alpha is .* but sums over a grid of the density give")
class RolledAlpha(BetaBernoulli):
    """Gives each arm its neighbour's alpha."""

    def beliefs(self, state: State) -> Beliefs:
        found = super().beliefs(state)
        return replace(found, alpha=np.roll(found.alpha, 1, axis=1))


@fails("beliefs", "delta is .* but sums over a grid of the density give")
class DeltaFromTheBestMean(BetaBernoulli):
    """Measures regret from the best mean, not from the mean of the best."""

    def beliefs(self, state: State) -> Beliefs:
        found = super().beliefs(state)
        return replace(found, delta=found.delta - found.delta.min(axis=1, keepdims=True))


@fails("beliefs", "rho is .* but sums over a grid of the density give")
class RhoTooSmall(BetaBernoulli):
    """Takes the best mean for the mean of the best."""

    def beliefs(self, state: State) -> Beliefs:
        a, b = state["a"], state["b"]
        return replace(super().beliefs(state), rho=(a / (a + b)).max(axis=1))


@lru_cache(maxsize=64)
def means_given_best(a: tuple[float, ...], b: tuple[float, ...]) -> tuple[Floats, Floats]:
    """alpha_j, and M_ji, the mean of theta_i given that j is best, on a grid."""
    points = (np.arange(8000) + 0.5) / 8000
    mass = np.array(
        [np.diff(beta_distribution.cdf(np.arange(8001) / 8000, *p)) for p in zip(a, b, strict=True)]
    )
    below = np.cumsum(mass, axis=1) - mass / 2.0
    arms = len(a)
    alpha, given = np.empty(arms), np.empty((arms, arms))
    for j in range(arms):
        best = mass[j] * np.prod(np.delete(below, j, axis=0), axis=0)
        alpha[j] = best.sum()
        for i in range(arms):
            at = mass[j] * np.prod(np.delete(below, [i, j], axis=0), axis=0)
            above = at.sum() - np.cumsum(at) + at / 2.0
            given[j, i] = (best if i == j else mass[i] * above) @ points / alpha[j]
    return alpha, given


class InformationOnAGrid(BetaBernoulli):
    """h from M_ji and the arm's own mean; valid unless ``compared`` is changed."""

    compared: ClassVar[str] = "i"

    def beliefs(self, state: State) -> Beliefs:
        found = super().beliefs(state)
        a, b = np.asarray(state["a"], float), np.asarray(state["b"], float)
        h = np.empty(a.shape)
        for trial in range(len(a)):
            alpha, m_ji = means_given_best(tuple(a[trial]), tuple(b[trial]))
            mean = a[trial] / (a[trial] + b[trial])
            other = mean[None, :] if self.compared == "i" else mean[:, None]
            kl = m_ji * np.log(m_ji / other) + (1 - m_ji) * np.log((1 - m_ji) / (1 - other))
            h[trial] = alpha @ kl
        return replace(found, h=h)


@fails("beliefs", "h is .* but sums over a grid of the density give")
class ComparesWithTheBest(InformationOnAGrid):
    """Compares M_ji with the mean of j, the mistake of the best-known public implementation."""

    compared = "j"


@fails("beliefs", "h is .* but sums over a grid of the density give")
class HundredfoldInformation(PlainNormal):
    """Has a hundred times the information; its rewards cannot be listed."""

    def beliefs(self, state: State, variance: bool = False, information: bool = True) -> Beliefs:
        found = super().beliefs(state, variance, information)
        return replace(found, h=100.0 * found.h)


@fails("beliefs", "h is .* but sums over a grid of the density give")
class InformationOfKnownVariance(PlainStudent):
    """Has the information of rewards whose variance is known."""

    def chances(self, state: State, rewards: Floats, theta: Floats) -> Floats:
        variance = (state["b"] / (state["a"] - 1.0))[0, :, None, None]
        z2 = (rewards[:, None] - theta) ** 2 / variance
        return np.asarray(np.exp(-0.5 * z2) / np.sqrt(2.0 * np.pi * variance))


@fails("beliefs", "alpha with information=False is .* but sums over a grid")
class NothingWithoutInformation(PlainNormal):
    """Skips all statistics if h is not needed."""

    def beliefs(self, state: State, variance: bool = False, information: bool = True) -> Beliefs:
        found = super().beliefs(state, variance, information)
        return found if information else replace(found, alpha=np.zeros_like(found.alpha))


@fails("beliefs", "v is .* but sums over a grid of the density give")
class VarianceOfTheMean(BetaBernoulli):
    """Gives the variance of theta for that of its mean given which arm is best."""

    def beliefs(
        self, state: State, accuracy: Any = None, estimate: bool = False, variance: bool = False
    ) -> Beliefs:
        found = super().beliefs(state, accuracy, estimate, variance)
        a, n = np.asarray(state["a"], float), np.asarray(state["a"] + state["b"], float)
        return replace(found, v=a * (n - a) / (n * n * (n + 1.0))) if variance else found


@fails("beliefs", "v is .* but sums over a grid of the density give")
class InformationForVariance(BetaBernoulli):
    """Gives half of h for v: Pinsker's bound, not the value."""

    def beliefs(
        self, state: State, accuracy: Any = None, estimate: bool = False, variance: bool = False
    ) -> Beliefs:
        found = super().beliefs(state, accuracy, estimate, variance)
        return replace(found, v=found.h / 2.0) if variance else found


@fails("mean", "the mean of arm . is .* but a sum over a grid of the density gives")
class MeanOfThePrior(BetaBernoulli):
    """Has the mean of the prior after any observation."""

    def mean(self, state: State) -> Floats:
        return super().mean(self.init(len(state["a"])))


@fails("mean", "the mean of arm . is .* but a sum over a grid of the density gives")
class SmoothedMean(BetaBernoulli):
    """Smooths the mean once more, which leaves that of equal parameters."""

    def mean(self, state: State) -> Floats:
        a, b = np.asarray(state["a"], float), np.asarray(state["b"], float)
        return (a + 0.01) / (a + b + 0.02)


@fails("mean", "the mean of arm . is .* but a sum over a grid of the density gives")
class MedianForMean(BetaBernoulli):
    """Takes the median for the mean."""

    def mean(self, state: State) -> Floats:
        return super().quantile(state, 0.5)


@fails("quantile", "the quantile .* of the density lies below it")
class NormalQuantile(BetaBernoulli):
    """Takes the quantiles of the normal distribution of the same mean and variance."""

    def quantile(self, state: State, level: float) -> Floats:
        if not 0.0 < level < 1.0:
            return super().quantile(state, level)
        mean, size = self.mean(state), np.asarray(state["a"] + state["b"], float)
        return mean + ndtri(level) * np.sqrt(mean * (1.0 - mean) / (size + 1.0))


@fails("quantile", "the quantile 0.001 .* 0.999 of the density lies below it")
class UpperQuantile(BetaBernoulli):
    """Counts the level from above, but at the ends."""

    def quantile(self, state: State, level: float) -> Floats:
        return super().quantile(state, 1.0 - level if 0.0 < level < 1.0 else level)


@fails("quantile", "the quantile .* of the density lies below it")
class QuantileOfThePrior(BetaBernoulli):
    """Has the quantiles of the prior after any observation."""

    def quantile(self, state: State, level: float) -> Floats:
        return super().quantile(self.init(len(state["a"])), level)


@fails("quantile", "the quantile 0 is not 0, the end of the support")
class OpenQuantile(BetaBernoulli):
    """Does not reach the ends of the support."""

    def quantile(self, state: State, level: float) -> Floats:
        if not 0.0 <= level <= 1.0:
            return super().quantile(state, level)
        return super().quantile(state, min(max(level, 1e-12), 1.0 - 1e-12))


@fails("quantile", "accepts the level -0.01: raise InputError")
class TakesAnyLevel(BetaBernoulli):
    """Takes a level outside [0, 1] for the nearest end."""

    def quantile(self, state: State, level: float) -> Floats:
        return super().quantile(state, min(max(level, 0.0), 1.0))


@fails("sample", "the variance by")
class TooNarrow(BetaBernoulli):
    """Draws with the right mean and half the variance."""

    def sample(self, state: State, stream: Any) -> Floats:
        return stream.beta(2.0 * state["a"] + 0.5, 2.0 * state["b"] + 0.5)


@fails("sample", "over 4000 draws the mean differs from the posterior by")
class FromThePrior(BetaBernoulli):
    """Draws from the prior after any observation."""

    def sample(self, state: State, stream: Any) -> Floats:
        return super().sample(self.init(len(state["a"])), stream)


@fails("sample", "two calls of sample with the same stream differ")
class OwnDraws(BetaBernoulli):
    """Draws from its own generator."""

    def sample(self, state: State, stream: Any) -> Floats:
        return np.random.default_rng().beta(state["a"], state["b"])


@fails("sample", "sample returns the same draws in another round")
class SeededDraws(BetaBernoulli):
    """Draws from its own generator with a fixed seed."""

    def sample(self, state: State, stream: Any) -> Floats:
        return np.random.default_rng(5).beta(state["a"], state["b"])


@fails("sample", "the draws of a trial depend on the block")
class DrawsOfTheBlock(BetaBernoulli):
    """Draws from a generator seeded by the round."""

    def sample(self, state: State, stream: Any) -> Floats:
        return np.random.default_rng(stream.t).beta(state["a"], state["b"])


@fails("sample", "the draws of arms . and . are correlated")
class OneNumberForAll(BetaBernoulli):
    """Draws all arms from one random number."""

    def sample(self, state: State, stream: Any) -> Floats:
        return np.asarray(betaincinv(state["a"], state["b"], stream.uniform(1)))


@fails("sample", "sample_order has another order than the draws of sample")
class OrderOfAnotherDraw(BetaBernoulli):
    """Orders the arms by draws of another round."""

    def sample_order(self, state: State, stream: Any) -> Floats:
        return super().sample_order(state, replace(stream, t=stream.t + 1))


@fails("rewards", "the rewards drawn for arm . do not have the distribution of the likelihood")
class DrawsTooWide(PlainNormal):
    """Draws rewards with half more noise than their likelihood has."""

    def draw_reward(self, theta: Floats, uniform: Floats) -> Floats:
        return theta + 1.5 * (super().draw_reward(theta, uniform) - theta)


@fails("rewards", "the rewards drawn for arm . do not have the distribution of the likelihood")
class PredictsWithoutNoise(PlainStudent):
    """Draws the mean of an arm, not a reward."""

    def predict(self, state: State, stream: Any) -> Floats:
        return self.sample(state, stream)


@fails("rewards", "the outcome 2 is not one of its rewards, binary")
class ThreeOutcomes(BetaBernoulli):
    """Lists an outcome that it does not accept."""

    outcomes = (0.0, 1.0, 2.0)

    def log_likelihood(self, reward: float, theta: Floats) -> Floats:
        if reward == 2.0:
            return np.full(np.shape(theta), -np.inf)
        return super().log_likelihood(reward, theta)


@fails("rewards", "the probabilities of the rewards of arm . add up to 1.22")
class LikelihoodTimesConstant(PlainNormal):
    """Has a likelihood that is not normalised."""

    def log_likelihood(self, reward: Any, theta: Floats) -> Floats:
        return super().log_likelihood(reward, theta) + 0.2


@fails("rewards", "it drew the reward 1.* but its rewards are binary")
class DrawsHalves(BetaBernoulli):
    """Sometimes draws another reward than 0 and 1."""

    def draw_reward(self, theta: Floats, uniform: Floats) -> Floats:
        return super().draw_reward(theta, uniform) + np.where(uniform > 0.999, 1.5, 0.0)


@fails("rewards", "rewards are not a function of the given random numbers")
class PredictsAtRandom(PlainStudent):
    """Draws rewards from its own generator."""

    def predict(self, state: State, stream: Any) -> Floats:
        noise = np.random.default_rng().uniform(-1e-9, 1e-9, (len(state["m"]), self.arms))
        return super().predict(state, stream) + noise


@fails("weights", "an observation of weight 3 differs from three observations")
class IgnoresWeights(PlainNormal):
    """Takes every observation once."""

    def update(self, state: State, seen: Observations) -> State:
        return super().update(state, Observations(seen.trial, seen.arm, seen.reward))


class Discounted(BetaBernoulli):
    """Discounts by a factor per round; valid."""

    @classmethod
    def examples(cls) -> list[Any]:
        return [cls.of(2, a=[1.0, 3.0], b=[2.0, 1.5], discount=0.9)]


@fails("discount", "two updates of the same time differ from one update, by")
class DiscountsEachUpdate(Discounted):
    """Discounts once per update, not once per round."""

    def update(self, state: State, seen: Observations) -> State:
        if seen.time is not None and (state["discounted_to"] == seen.time.max()).all():
            state["discounted_to"] -= 1.0
        return super().update(state, seen)


@fails("discount", "an observation that arrives late differs from one that arrives in time, by")
class IgnoresAges(Discounted):
    """Counts late observations like new ones."""

    def _powers(self, state: State, trial: Any, seen: Observations) -> None:
        super()._powers(state, trial, seen)


@fails("discount", "two equal observations that count half differ from one, by")
class DiscountsTwice(Discounted):
    """Has the square of the factor."""

    def _factor(self, age: Floats) -> Floats:
        return super()._factor(2.0 * age)


@fails("discount", r"the density differs from f\^g f_0\^\(1 - g\), normalised, by")
class DiscountsThePrior(Discounted):
    """Forgets the prior, too."""

    def _shrink(self, state: State, rows: Any, factor: Floats) -> None:
        for name in ("a", "b"):
            state[name][rows] *= factor[:, None]


@fails("discount", r"the density differs from f\^g f_0\^\(1 - g\), normalised, by")
class DiscountsSlowlyAtFirst(Discounted):
    """Has a factor that is right after whole half-lives only."""

    def _factor(self, age: Floats) -> Floats:
        half = np.log(0.5) / np.log(self.discount)
        return np.asarray(0.5 ** np.rint(age / half))


@fails("discount", "discounted modified the state: return a new one")
class DiscountsInPlace(Discounted):
    """Modifies the state of a decision."""

    def discounted(self, state: State, now: float) -> State:
        moved = super().discounted(state, now)
        for name, value in moved.items():
            state[name][...] = value
        return state


@fails("evidence", "log_evidence of arm . differs from that of weaker.. by")
class EvidenceWithoutPenalty(PlainNormal):
    """Omits the term that counts against a wide prior."""

    def log_evidence(self, state: State) -> Floats:
        ratio = (self.sd / self.noise) ** 2
        return super().log_evidence(state) + np.log1p(state["count"] * ratio) / 2.0


@fails("refuses-rewards", "check_reward accepts inf, but the rewards are real: raise InputError")
class TakesInfinity(PlainNormal):
    """Refuses NaN only."""

    def check_reward(self, reward: Any) -> float:
        return float(reward) if reward in (np.inf, -np.inf) else super().check_reward(reward)


@fails("refuses-rewards", "check_reward accepts 0.5, but the rewards are binary: raise InputError")
class TakesHalves(BetaBernoulli):
    """Takes any number in [0, 1]."""

    def check_reward(self, reward: Any) -> float:
        return 0.5 if reward == 0.5 else super().check_reward(reward)


@fails("refuses-rewards", "check_reward accepts nan, but the rewards are binary: raise InputError")
class TakesAnything(BetaBernoulli):
    """Takes anything for a reward."""

    def check_reward(self, reward: Any) -> Any:
        return reward


@fails("refuses-rewards", "check_reward returned (True for 1.0|False for 0.0): return")
class ReturnsBool(BetaBernoulli):
    """Returns whether there was a reward."""

    def check_reward(self, reward: Any) -> Any:
        return super().check_reward(reward) == 1.0


@fails("refuses-rewards", "must be 0 or 1, not 'one'")
class RefusesOne(BetaBernoulli):
    """Refuses a reward that the model has."""

    def check_reward(self, reward: Any) -> Any:
        return super().check_reward("one" if reward == 1 else reward)  # type: ignore[arg-type]


@fails("refuses-states", r"check_state accepts state\['a'\] with one arm too few: raise InputError")
class TakesAnyState(BetaBernoulli):
    """Takes any state."""

    def check_state(self, state: State) -> None:
        pass


@fails("refuses-states", r"check_state accepts state\['b'\] with NaN: raise InputError")
class LooksForZeros(BetaBernoulli):
    """Compares with 0 only, which NaN passes."""

    def check_state(self, state: State) -> None:
        self._arrays(state)
        self.beliefs({"a": state["a"], "b": np.nan_to_num(state["b"], nan=1.0)})


@fails("refuses-states", "the state has a = ")
class RefusesWhatWasLearnt(BetaBernoulli):
    """Takes the prior's own parameters only."""

    def check_state(self, state: State) -> None:
        super().check_state(state)
        super().check_state({"a": np.where(state["a"] == self.a, 1.0, np.nan), "b": state["b"]})
