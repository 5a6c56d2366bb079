"""The worlds of the package, one for each kind of reward."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import scipy

from graphbandits._rng_kernels import bernoulli_outcomes
from graphbandits._types import Floats, Ints
from graphbandits.errors import InputError, check_integer, check_positive, short_repr
from graphbandits.posteriors import (
    BetaBernoulli,
    BetaInterval,
    Dirichlet,
    GammaPoisson,
    Normal,
    NormalInverseGamma,
)
from graphbandits.posteriors.base import BINARY, Support
from graphbandits.posteriors.beta_bernoulli import beta_quantile
from graphbandits.registry import register
from graphbandits.rng import Keys, Stream
from graphbandits.worlds.base import PriorWorld, fixed_means, outcome_uniforms


@register("world", "bernoulli")
@dataclass(frozen=True, eq=False)
class Bernoulli(PriorWorld):
    """Bernoulli arms with means from a Beta prior.

    theta_i ~ Beta(a_i, b_i) once per trial; the outcome of arm i in round t is Bernoulli(theta_i).

    Parameters
    ----------
    prior : BetaBernoulli
        Prior of the means, which Bayesian policies start from.
    fixed : array_like of shape (K,), optional
        Means of the arms in every trial. If given, only the policies use the prior.

    Examples
    --------
    >>> world = Bernoulli(BetaBernoulli.of(arms=3))
    >>> world.means(Keys(seed=1, trials=2)).shape
    (2, 3)
    >>> Bernoulli(BetaBernoulli.of(arms=2), fixed=[0.2, 0.7]).means(Keys(seed=1))
    array([[0.2, 0.7]])
    """

    prior: BetaBernoulli
    fixed: Floats | None = None

    @classmethod
    def of(
        cls,
        arms: int,
        a: float | Sequence[float] = 1.0,
        b: float | Sequence[float] = 1.0,
        fixed: Sequence[float] | Floats | None = None,
    ) -> Bernoulli:
        """Create a world from parameters of the prior for all arms, or for each arm.

        Parameters
        ----------
        arms : int
            Number of arms K.
        a, b : float or sequence of float
            Parameters of the Beta prior.
        fixed : array_like of shape (K,), optional
            Means of the arms in every trial.
        """
        return cls(BetaBernoulli.of(arms, a, b), fixed)  # type: ignore[arg-type]

    @classmethod
    def examples(cls) -> list[Bernoulli]:
        return [cls.of(3, a=[1.0, 2.5, 0.5], b=[3.0, 1.5, 0.75]), cls.of(2, fixed=[0.2, 0.7])]

    def means(self, keys: Keys) -> Floats:
        if self.fixed is not None:
            return super().means(keys)
        u = Stream(keys, 0, "theta").uniform(self.arms)
        return beta_quantile(self.prior.a, self.prior.b, u)

    def outcomes(self, theta: Floats, keys: Keys, t: int, trial: Ints, arm: Ints) -> Floats:
        reward = np.empty(len(arm))
        bernoulli_outcomes(theta, keys.key("outcome"), keys.first_trial, t, trial, arm, reward)
        return reward


@register("world", "bernoulli-switch")
@dataclass(frozen=True, eq=False)
class BernoulliSwitch:
    """Bernoulli arms whose means jump at given rounds.

    The rounds are divided into periods. In each period the means are drawn from the prior again, or
    fixed; the outcome of arm i in a round of the period is Bernoulli(theta_i). The regret of a
    round is relative to the best arm of this round. Garivier and Moulines (2011).

    Parameters
    ----------
    prior : BetaBernoulli
        Prior of the means, which Bayesian policies start from.
    changes : sequence of int
        First round of each period but the first, in increasing order.
    fixed : array_like of shape (periods, K) or (K,), optional
        Means of the arms in each period, or in all of them, in every trial. If given, only the
        policies use the prior.
    """

    prior: BetaBernoulli
    changes: tuple[int, ...] = ()
    fixed: Floats | None = None

    def __post_init__(self) -> None:
        given = self.changes
        several = isinstance(given, Sequence | np.ndarray) and not isinstance(given, str)
        listed = list(given) if several else [given]
        changes = tuple(check_integer(one, "a round of changes", least=2) for one in listed)
        if list(changes) != sorted(set(changes)):
            raise InputError(
                f"changes must be different rounds in increasing order, not {short_repr(given)}"
            )
        object.__setattr__(self, "changes", changes)
        object.__setattr__(self, "fixed", fixed_means(self.fixed, self.prior, len(changes) + 1))

    @classmethod
    def of(
        cls,
        arms: int,
        a: float | Sequence[float] = 1.0,
        b: float | Sequence[float] = 1.0,
        changes: Sequence[int] = (),
        fixed: Sequence[Sequence[float]] | Sequence[float] | Floats | None = None,
    ) -> BernoulliSwitch:
        """Create a world from the parameters a and b of the prior, for all arms or for each arm."""
        return cls(BetaBernoulli.of(arms, a, b), changes, fixed)  # type: ignore[arg-type]

    @classmethod
    def examples(cls) -> list[BernoulliSwitch]:
        return [
            cls.of(3, a=[1.0, 2.5, 0.5], b=[3.0, 1.5, 0.75], changes=[3, 40]),
            cls.of(2, changes=[2], fixed=[[0.2, 0.7], [0.8, 0.7]]),
        ]

    @property
    def arms(self) -> int:
        return self.prior.arms

    @property
    def rewards(self) -> Support:
        return BINARY

    def means(self, keys: Keys) -> Floats:
        return self._means_of(0, keys)

    def means_at(self, theta: Floats, keys: Keys, t: int) -> Floats:
        period = int(np.searchsorted(self.changes, t, side="right"))
        return theta if period == 0 else self._means_of(period, keys)

    def _means_of(self, period: int, keys: Keys) -> Floats:
        if self.fixed is not None:
            means = self.fixed if self.fixed.ndim == 1 else self.fixed[period]
            return np.tile(means, (keys.trials, 1))
        return _drawn(self, period, keys).copy()

    def outcomes(self, theta: Floats, keys: Keys, t: int, trial: Ints, arm: Ints) -> Floats:
        reward = np.empty(len(arm))
        bernoulli_outcomes(theta, keys.key("outcome"), keys.first_trial, t, trial, arm, reward)
        return reward


@lru_cache(maxsize=8)
def _drawn(world: BernoulliSwitch, period: int, keys: Keys) -> Floats:
    """Return the means of a period; all of its rounds use them."""
    u = Stream(keys, period, "theta").uniform(world.arms)
    return beta_quantile(world.prior.a, world.prior.b, u)


@register("world", "beta")
@dataclass(frozen=True, eq=False)
class Beta(PriorWorld):
    """Beta distributed rewards in an interval, with means from a Beta prior.

    On the scale of [0, 1], theta_i ~ Beta(a_i, b_i) once per trial, and the outcome of arm i in
    round t is Beta(n theta_i, n (1 - theta_i)) with the concentration n; its variance is
    theta_i (1 - theta_i) / (n + 1). The matching posterior is right about the means, and learns
    from a random draw of 0 or 1 for each reward.
    """

    prior: BetaInterval
    fixed: Floats | None = None
    concentration: float = 10.0

    def __post_init__(self) -> None:
        super().__post_init__()
        check_positive(self.concentration, "beta: concentration")

    @classmethod
    def of(
        cls,
        arms: int,
        a: float | Sequence[float] = 1.0,
        b: float | Sequence[float] = 1.0,
        concentration: float = 10.0,
        low: float = 0.0,
        high: float = 1.0,
        fixed: Sequence[float] | Floats | None = None,
    ) -> Beta:
        """Create a world from the prior's a and b, for all arms or for each arm, on [low, high]."""
        prior = BetaInterval.of(arms, a, b, low, high)
        return cls(prior, fixed, concentration)  # type: ignore[arg-type]

    @classmethod
    def examples(cls) -> list[Beta]:
        return [
            cls.of(3, a=[1.0, 2.0, 4.0], b=[3.0, 2.0, 1.5]),
            cls.of(2, high=5, fixed=[1.0, 4.0]),
        ]

    def outcomes(self, theta: Floats, keys: Keys, t: int, trial: Ints, arm: Ints) -> Floats:
        low, high = self.prior.low, self.prior.high
        share = (theta[trial, arm] - low) / (high - low)
        n, inside = self.concentration, (share > 0.0) & (share < 1.0)
        found = share.copy()  # a mean at an end of the interval leaves no choice
        uniform = outcome_uniforms(keys, t, trial, arm)[inside]
        found[inside] = scipy.special.betaincinv(
            n * share[inside], n * (1.0 - share[inside]), uniform
        )
        rewards: Floats = np.clip(low + (high - low) * found, low, high)
        return rewards


#: Number of bisections that locate a tilt up to rounding.
_HALVINGS = 200


@register("world", "categorical")
@dataclass(frozen=True, eq=False)
class Categorical(PriorWorld):
    """Rewards from a list, with probabilities from a Dirichlet prior.

    Once per trial, the probabilities of the values of arm i are drawn from Dirichlet(weights_i);
    theta_i is the mean of the values. With ``fixed`` means the probabilities are those of the prior
    mean, weighted by exp(c value) with the c that gives this mean.
    """

    prior: Dirichlet
    fixed: Floats | None = None

    @classmethod
    def of(
        cls,
        arms: int,
        values: Sequence[float] = (1.0, 2.0, 3.0, 4.0, 5.0),
        weights: float | Sequence[float] | Sequence[Sequence[float]] = 1.0,
        fixed: Sequence[float] | Floats | None = None,
    ) -> Categorical:
        """Create a world; ``weights`` are one number, one per value, or one list per arm."""
        return cls(Dirichlet.of(arms, values, weights), fixed)  # type: ignore[arg-type]

    @classmethod
    def examples(cls) -> list[Categorical]:
        return [
            cls.of(3, values=(0, 1, 5), weights=(4.0, 2.0, 1.0)),
            cls.of(2, values=(1, 2, 3), fixed=[1.4, 2.9]),
        ]

    def probabilities(self, keys: Keys) -> Floats:
        """Return the probability of each value, (B, K, values)."""
        return _probabilities(self, keys)

    def means(self, keys: Keys) -> Floats:
        if self.fixed is not None:
            return super().means(keys)
        means: Floats = (self.probabilities(keys) * self.prior.values).sum(axis=2)
        return means

    def outcomes(self, theta: Floats, keys: Keys, t: int, trial: Ints, arm: Ints) -> Floats:
        share = self.probabilities(keys)[trial, arm]
        uniform = outcome_uniforms(keys, t, trial, arm)
        below = np.cumsum(share, axis=1)
        index = (uniform[:, None] >= below / below[:, -1:]).sum(axis=1)
        rewards: Floats = np.asarray(self.prior.values)[index]
        return rewards


@lru_cache(maxsize=8)
def _probabilities(world: Categorical, keys: Keys) -> Floats:
    prior, values = world.prior, np.array(world.prior.values)
    if world.fixed is None:
        shape = (keys.trials, *prior.weights.shape)
        u = Stream(keys, 0, "theta").uniform(prior.weights.size).reshape(shape)
        gamma = scipy.special.gammaincinv(prior.weights, np.maximum(u, 2.0**-54))
        found: Floats = gamma / gamma.sum(axis=2, keepdims=True)
    else:
        tilted = [_tilted(w, values, m) for w, m in zip(prior.weights, world.fixed, strict=True)]
        found = np.tile(np.stack(tilted), (keys.trials, 1, 1))
    found.setflags(write=False)
    return found


def _tilted(weights: Floats, values: Floats, mean: float) -> Floats:
    """Return the probabilities proportional to weights * exp(c values) with the given mean."""
    if mean in (values[0], values[-1]):
        at_end: Floats = (values == mean).astype(np.float64)
        return at_end
    scaled = (values - mean) / (values[-1] - values[0])
    low, high = -1e4, 1e4
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        share = weights * np.exp(middle * scaled - (middle * scaled).max())
        low, high = (middle, high) if (share * scaled).sum() < 0.0 else (low, middle)
    tilted: Floats = share / share.sum()
    return tilted


@register("world", "gaussian")
@dataclass(frozen=True, eq=False)
class Gaussian(PriorWorld):
    """Gaussian rewards of known noise, with means from a normal prior.

    theta_i ~ N(mean_i, sd_i^2) once per trial; the outcome of arm i in round t is
    N(theta_i, noise^2).
    """

    prior: Normal
    fixed: Floats | None = None

    @classmethod
    def of(
        cls,
        arms: int,
        mean: float | Sequence[float] = 0.0,
        sd: float | Sequence[float] = 1.0,
        noise: float = 1.0,
        fixed: Sequence[float] | Floats | None = None,
    ) -> Gaussian:
        """Create a world from the mean and sd of the prior, for all arms or for each arm."""
        return cls(Normal.of(arms, mean, sd, noise), fixed)  # type: ignore[arg-type]

    @classmethod
    def examples(cls) -> list[Gaussian]:
        return [cls.of(3, mean=[0.0, 0.5, -1.0], sd=[1.0, 0.5, 2.0]), cls.of(2, fixed=[-3.0, 7.0])]

    def outcomes(self, theta: Floats, keys: Keys, t: int, trial: Ints, arm: Ints) -> Floats:
        noise = self.prior.noise
        rewards: Floats = theta[trial, arm] + noise * scipy.special.ndtri(
            outcome_uniforms(keys, t, trial, arm)
        )
        return rewards


@register("world", "gaussian-unknown-noise")
@dataclass(frozen=True, eq=False)
class GaussianUnknownNoise(PriorWorld):
    """Gaussian rewards of unknown noise, with means and variances from a prior.

    Once per trial, the variance of arm i is the inverse of a Gamma(shape_i, scale_i) draw, and
    theta_i ~ N(mean_i, variance_i / count_i). The outcome of arm i in round t is
    N(theta_i, variance_i). With ``fixed`` means the variances are still drawn from the prior.
    """

    prior: NormalInverseGamma
    fixed: Floats | None = None

    @classmethod
    def of(
        cls,
        arms: int,
        mean: float | Sequence[float] = 0.0,
        count: float | Sequence[float] = 1.0,
        shape: float | Sequence[float] = 2.0,
        scale: float | Sequence[float] = 1.0,
        fixed: Sequence[float] | Floats | None = None,
    ) -> GaussianUnknownNoise:
        """Create a world from the parameters of the prior, for all arms or for each arm."""
        return cls(NormalInverseGamma.of(arms, mean, count, shape, scale), fixed)  # type: ignore[arg-type]

    @classmethod
    def examples(cls) -> list[GaussianUnknownNoise]:
        return [
            cls.of(3, mean=[0.0, 0.5, -1.0], shape=3.0),
            cls.of(2, shape=3.0, fixed=[-1.0, 2.0]),
        ]

    def variances(self, keys: Keys) -> Floats:
        """Return the variance of the rewards of every arm, (B, K)."""
        return _variances(self, keys)

    def means(self, keys: Keys) -> Floats:
        if self.fixed is not None:
            return super().means(keys)
        u = np.maximum(Stream(keys, 0, "theta").uniform(self.arms), 2.0**-54)
        spread = np.sqrt(self.variances(keys) / self.prior.counts)
        drawn: Floats = self.prior.means + spread * scipy.special.ndtri(u)
        return drawn

    def outcomes(self, theta: Floats, keys: Keys, t: int, trial: Ints, arm: Ints) -> Floats:
        spread = np.sqrt(self.variances(keys)[trial, arm])
        rewards: Floats = theta[trial, arm] + spread * scipy.special.ndtri(
            outcome_uniforms(keys, t, trial, arm)
        )
        return rewards


@lru_cache(maxsize=8)
def _variances(world: GaussianUnknownNoise, keys: Keys) -> Floats:
    u = np.maximum(Stream(keys, 0, "variance").uniform(world.arms), 2.0**-54)
    found: Floats = world.prior.scales / scipy.special.gammaincinv(world.prior.shapes, u)
    found.setflags(write=False)
    return found


@register("world", "poisson")
@dataclass(frozen=True, eq=False)
class Poisson(PriorWorld):
    """Poisson counts, with rates from a Gamma prior.

    theta_i ~ Gamma(shape_i, rate_i) once per trial; the outcome of arm i in round t is
    Poisson(theta_i).
    """

    prior: GammaPoisson
    fixed: Floats | None = None

    @classmethod
    def of(
        cls,
        arms: int,
        shape: float | Sequence[float] = 1.0,
        rate: float | Sequence[float] = 1.0,
        fixed: Sequence[float] | Floats | None = None,
    ) -> Poisson:
        """Create a world from shape and rate of the prior, for all arms or for each arm."""
        return cls(GammaPoisson.of(arms, shape, rate), fixed)  # type: ignore[arg-type]

    @classmethod
    def examples(cls) -> list[Poisson]:
        return [
            cls.of(3, shape=[2.0, 1.0, 5.0], rate=[1.0, 0.5, 4.0]),
            cls.of(2, fixed=[0.2, 40.0]),
        ]

    def outcomes(self, theta: Floats, keys: Keys, t: int, trial: Ints, arm: Ints) -> Floats:
        uniform = outcome_uniforms(keys, t, trial, arm)
        return self.prior.draw_reward(theta[trial, arm], uniform)
