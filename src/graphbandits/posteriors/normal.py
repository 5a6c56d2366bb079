"""Normal arms with known noise, and with unknown mean and variance."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, cast

import numpy as np
import scipy

from graphbandits._types import Floats, Ints, State
from graphbandits.errors import InputError, check_integer, check_positive
from graphbandits.posteriors._family_kernels import NORMAL, STUDENT
from graphbandits.posteriors._update_kernels import add_to_normal, add_to_student
from graphbandits.posteriors.base import Observations, per_arm
from graphbandits.posteriors.one_dimensional import (
    LEAST_UNIFORM,
    Limits,
    MarginalPosterior,
)
from graphbandits.registry import register
from graphbandits.rng import Stream

#: Largest absolute value of a mean, and range of standard deviations.
MOST_MEAN = 1e50
LEAST_SD, MOST_SD = 1e-50, 1e50
_HALF_LOG_2PI = 0.5 * math.log(2.0 * math.pi)


@register("posterior", "normal")
@dataclass(frozen=True, eq=False)
class Normal(MarginalPosterior):
    """Normal arms with known noise and independent normal priors of their means.

    Arm i has the prior N(means_i, sds_i^2); a reward is normal with the standard deviation
    ``noise``. It adds 1/noise^2 to the precision 1/sds_i^2 and moves the mean toward the reward. An
    observation of weight w is the average of w rewards.

    Parameters
    ----------
    means, sds : array_like of shape (K,)
        Mean and standard deviation of the prior of each arm. Means are at most 1e50 in absolute
        value; standard deviations are from 1e-50 to 1e50.
    noise : float
        Standard deviation of a reward of every arm, from 1e-50 to 1e50.
    accuracy : {"simulation", "strict"}
        Accuracy of :meth:`beliefs`: "simulation" has an absolute error of at most 1e-10 (regrets in
        units of the largest standard deviation of an arm that can be best) and is fast; "strict"
        has a relative error of at most 1e-8 for every value above 1e-30.
    discount : float
        Factor in (0, 1] by which the weight of an observation decreases per round.
    half_life : float, optional
        Age at which an observation counts half, in seconds for a live agent and in rounds for a
        simulation. Instead of ``discount``; see :mod:`graphbandits.posteriors.updates`.

    Examples
    --------
    >>> posterior = Normal.of(arms=2)
    >>> posterior.beliefs(posterior.init(trials=1)).delta
    array([[0.56418958, 0.56418958]])
    """

    means: Floats
    sds: Floats
    noise: float = 1.0
    accuracy: str = "simulation"
    discount: float = 1.0
    half_life: float | None = None
    support: ClassVar[tuple[float, float]] = (-math.inf, math.inf)
    weighted: ClassVar[bool] = True
    prior_limits: ClassVar[Limits] = {
        "means": (-MOST_MEAN, MOST_MEAN),
        "sds": (LEAST_SD, MOST_SD),
    }
    state_limits: ClassVar[Limits] = {
        "mean": (-MOST_MEAN, MOST_MEAN),
        "precision": (0.99 * MOST_SD**-2, 1e12 * LEAST_SD**-2),
    }
    family: ClassVar[int] = NORMAL

    def __post_init__(self) -> None:
        super().__post_init__()
        noise = check_positive(self.noise, "noise")
        if not LEAST_SD <= noise <= MOST_SD:
            raise InputError(f"noise must be from {LEAST_SD:g} to {MOST_SD:g}, not {noise:g}")
        object.__setattr__(self, "noise", noise)

    @classmethod
    def of(
        cls,
        arms: int,
        mean: float | Sequence[float] = 0.0,
        sd: float | Sequence[float] = 1.0,
        noise: float = 1.0,
        accuracy: str = "simulation",
        discount: float = 1.0,
        half_life: float | None = None,
    ) -> Normal:
        """Create a prior from numbers for all arms, or for each arm; see the class.

        >>> Normal.of(arms=2, mean=[0, 1], sd=2).sds
        array([2., 2.])
        """
        given = per_arm({"mean": mean, "sd": sd}, check_integer(arms, "arms"))
        return cls(given["mean"], given["sd"], noise, accuracy, discount, half_life)

    @property
    def sub_gaussian(self) -> float:
        """Largest standard deviation of a reward before any observation."""
        # observations reduce the variance of the mean
        return math.hypot(float(self.sds.max()), self.noise)

    @classmethod
    def examples(cls) -> list[Normal]:
        """Instances used by the contract tests."""
        return [
            cls.of(3),
            cls(np.array([0.2, -0.5, 1.0, 0.0]), np.array([1.0, 2.5, 0.5, 1.5]), 0.7),
            cls.of(2, mean=[0.5, -1.0], sd=[1.0, 2.0], half_life=7.0),
        ]

    def weaker(self) -> Normal:
        """Return a prior with the same means and ten times the standard deviations."""
        return replace(self, sds=np.clip(10.0 * self.sds, LEAST_SD, MOST_SD))

    def _prior_state(self) -> dict[str, Floats]:
        return {"mean": self.means, "precision": self.sds**-2.0}

    def _shrink(self, state: State, rows: Any, factor: Floats) -> None:
        """Move the precision p, and p times the mean, towards the prior."""
        mean, precision = cast(Floats, state["mean"]), cast(Floats, state["precision"])
        kept = factor[:, None] * precision[rows]
        before = self.sds**-2.0
        precision[rows] = before + factor[:, None] * (precision[rows] - before)
        mean[rows] = self.means + (kept / precision[rows]) * (mean[rows] - self.means)

    def _kernel_parameters(self, state: State) -> Floats:
        mean, precision = self._checked(state)
        return np.stack([mean, precision**-0.5, np.full(mean.shape, self.noise)], axis=-1)

    def update(self, state: State, seen: Observations) -> State:
        mean, precision = self._in_place(state)
        trial, arm, reward, weight = self._observed(state, seen)
        if not add_to_normal(mean, precision, trial, arm, reward, weight * self.noise**-2.0):
            raise self._misfit()
        return state

    def mean(self, state: State) -> Floats:
        return np.array(state["mean"], np.float64)

    def _inverse(self, arrays: list[Floats], level: Any) -> Floats:
        mean, precision = arrays
        found: Floats = mean + precision**-0.5 * scipy.special.ndtri(level)
        return found

    def log_density(self, state: State, theta: Floats) -> Floats:
        mean, precision = (values[..., None] for values in self._checked(state))
        return 0.5 * np.log(precision) - _HALF_LOG_2PI - 0.5 * precision * (theta - mean) ** 2

    def log_likelihood(self, reward: float, theta: Floats) -> Floats:
        z = (reward - np.asarray(theta, np.float64)) / self.noise
        return -0.5 * z * z - _HALF_LOG_2PI - math.log(self.noise)

    def log_evidence(self, state: State) -> Floats:
        """Compute the log marginal likelihood of each arm, without a term of the data only.

        It is log N(y; m, 1/p + 1/q) for the average y of the data of an arm, of the precision q,
        and its prior mean m and precision p.

        >>> posterior = Normal.of(arms=1)
        >>> state = {"mean": np.array([[1.0]]), "precision": np.array([[2.0]])}  # after y = 2
        >>> near = Normal.of(arms=1, mean=1)  # with the prior mean 1 the same data lead to 1.5
        >>> there = {"mean": np.array([[1.5]]), "precision": np.array([[2.0]])}
        >>> (near.log_evidence(there) - posterior.log_evidence(state)).round(12)
        array([[0.75]])
        """
        self._check_undiscounted("log_evidence")
        mean, precision = self._checked(state)
        prior = self.sds**-2.0
        added = precision - prior
        apart = (mean - self.means) ** 2
        lost = np.divide(apart * precision, added, out=np.zeros_like(apart), where=added > 0.0)
        return 0.5 * (np.log(prior / precision) - prior * lost)

    def draw_reward(self, theta: Floats, uniform: Floats) -> Floats:
        return theta + self.noise * scipy.special.ndtri(np.maximum(uniform, LEAST_UNIFORM))


#: Largest absolute value of a mean, and ranges of the other parameters of a prior and of a state.
LEAST_COUNT, MOST_COUNT = 1e-6, 1e9
LEAST_SHAPE, MOST_SHAPE = 1.0, 1e9
LEAST_SCALE, MOST_SCALE = 1e-100, 1e100
MOST_IN_STATE = 1e10
_LOG_2PI = math.log(2.0 * math.pi)


@register("posterior", "normal-inverse-gamma")
@dataclass(frozen=True, eq=False)
class NormalInverseGamma(MarginalPosterior):
    """Normal arms with unknown variance and normal-inverse-gamma priors.

    The variance of the rewards of arm i has the prior InverseGamma(shapes_i, scales_i), and given
    it the mean has the prior N(means_i, variance / counts_i). The mean alone has Student's t
    distribution with 2 shapes_i degrees of freedom. A reward y updates (m, n, a, b) to
    ((n m + y) / (n + 1), n + 1, a + 1/2, b + n (y - m)^2 / (2 (n + 1))).

    Parameters
    ----------
    means : array_like of shape (K,)
        Mean of the prior of each arm, at most 1e50 in absolute value.
    counts : array_like of shape (K,)
        Number of observations to which the prior of the mean is equivalent, from 1e-6 to 1e9.
    shapes : array_like of shape (K,)
        Shape of the prior of the variance, from 1 to 1e9.
    scales : array_like of shape (K,)
        Scale of the prior of the variance, from 1e-100 to 1e100; the prior mean of the variance is
        scales / (shapes - 1).
    accuracy : {"simulation", "strict"}
        Accuracy of :meth:`beliefs`: "simulation" has an absolute error of at most 1e-10 (regrets in
        units of the largest scale of an arm that can be best) and is fast; "strict" has a relative
        error of at most 1e-8 for every value above 1e-30.
    discount : float
        Factor in (0, 1] by which the weight of an observation decreases per round.
    half_life : float, optional
        Age at which an observation counts half, in seconds for a live agent and in rounds for a
        simulation. Instead of ``discount``; see :mod:`graphbandits.posteriors.updates`.

    Examples
    --------
    >>> posterior = NormalInverseGamma.of(arms=2)
    >>> posterior.beliefs(posterior.init(trials=1)).alpha
    array([[0.5, 0.5]])
    """

    means: Floats
    counts: Floats
    shapes: Floats
    scales: Floats
    accuracy: str = "simulation"
    discount: float = 1.0
    half_life: float | None = None
    support: ClassVar[tuple[float, float]] = (-math.inf, math.inf)
    prior_limits: ClassVar[Limits] = {
        "means": (-MOST_MEAN, MOST_MEAN),
        "counts": (LEAST_COUNT, MOST_COUNT),
        "shapes": (LEAST_SHAPE, MOST_SHAPE),
        "scales": (LEAST_SCALE, MOST_SCALE),
    }
    state_limits: ClassVar[Limits] = {
        "mean": (-MOST_MEAN, MOST_MEAN),
        "count": (LEAST_COUNT, MOST_IN_STATE),
        "shape": (LEAST_SHAPE, MOST_IN_STATE),
        "scale": (LEAST_SCALE, 1e12 * MOST_SCALE),
    }
    family: ClassVar[int] = STUDENT

    @classmethod
    def of(
        cls,
        arms: int,
        mean: float | Sequence[float] = 0.0,
        count: float | Sequence[float] = 1.0,
        shape: float | Sequence[float] = 2.0,
        scale: float | Sequence[float] = 1.0,
        accuracy: str = "simulation",
        discount: float = 1.0,
        half_life: float | None = None,
    ) -> NormalInverseGamma:
        """Create a prior from numbers for all arms, or for each arm; see the class.

        >>> NormalInverseGamma.of(arms=2, mean=[0, 1], shape=3).shapes
        array([3., 3.])
        """
        given = {"mean": mean, "count": count, "shape": shape, "scale": scale}
        found = per_arm(given, check_integer(arms, "arms"))
        prior = (found["mean"], found["count"], found["shape"], found["scale"])
        return cls(*prior, accuracy, discount, half_life)

    @classmethod
    def examples(cls) -> list[NormalInverseGamma]:
        """Instances used by the contract tests."""
        return [
            cls.of(3, shape=4.0, scale=3.0),
            cls(
                np.array([0.2, -0.5, 1.0]),
                np.array([1.0, 2.5, 4.0]),
                np.array([3.0, 5.0, 4.0]),
                np.array([2.0, 4.0, 6.0]),
            ),
            cls.of(2, mean=[0.5, -1.0], count=[1.0, 3.0], shape=4.0, scale=3.0, discount=0.9),
        ]

    def weaker(self) -> NormalInverseGamma:
        """Return a prior with a tenth of the counts; means and scale / shape stay the same."""
        counts = np.maximum(LEAST_COUNT, self.counts / 10.0)
        shapes = LEAST_SHAPE + (self.shapes - LEAST_SHAPE) / 10.0
        scales = np.maximum(LEAST_SCALE, self.scales * (shapes / self.shapes))
        return replace(self, counts=counts, shapes=shapes, scales=scales)

    def _prior_state(self) -> dict[str, Floats]:
        values = (self.means, self.counts, self.shapes, self.scales)
        return dict(zip(self.state_limits, values, strict=True))

    def _shrink(self, state: State, rows: Any, factor: Floats) -> None:
        """Move n, n m, a and b + n m^2 / 2 towards the prior; the last one without cancellation."""
        mean, count, shape, scale = (cast(Floats, state[name]) for name in self.state_limits)
        f = factor[:, None]
        kept, apart = f * count[rows], mean[rows] - self.means
        count[rows] = self.counts + f * (count[rows] - self.counts)
        share = kept / count[rows]
        mean[rows] = self.means + share * apart
        shape[rows] = self.shapes + f * (shape[rows] - self.shapes)
        between = 0.5 * share * (1.0 - f) * self.counts * apart * apart
        scale[rows] = self.scales + f * (scale[rows] - self.scales) + between

    def update(self, state: State, seen: Observations) -> State:
        mean, count, shape, scale = self._in_place(state)
        trial, arm, reward, power = self._observed(state, seen)
        if not add_to_student(mean, count, shape, scale, trial, arm, reward, power):
            raise self._misfit()
        return state

    def expect(self, state: State, arm: Ints, weight: Floats) -> State:
        """Add expected rewards to one trial, in place: mean and estimated variance stay the same.

        >>> posterior = NormalInverseGamma.of(arms=1, shape=2, scale=6)
        >>> state = posterior.expect(posterior.init(trials=1), np.array([0]), np.array([2.0]))
        >>> {name: values.item() for name, values in state.items()}
        {'mean': 0.0, 'count': 3.0, 'shape': 3.0, 'scale': 9.0}
        """
        _, count, shape, scale = (values[0] for values in self._in_place(state))
        scale[arm] *= 1.0 + 0.5 * weight / shape[arm]
        shape[arm] += 0.5 * weight
        count[arm] += weight
        return state

    def mean(self, state: State) -> Floats:
        return np.array(state["mean"], np.float64)

    def _inverse(self, arrays: list[Floats], level: Any) -> Floats:
        mean, count, shape, scale = arrays
        return mean + np.sqrt(scale / (shape * count)) * _student(shape, level)

    def predict(self, state: State, stream: Stream) -> Floats:
        """Draw the next reward of each arm from the predictive distribution, once per trial."""
        mean, count, shape, scale = self._checked(state)
        spread = np.sqrt(scale / shape * (1.0 + 1.0 / count))
        return mean + spread * _student(shape, self._uniform(stream))

    def log_density(self, state: State, theta: Floats) -> Floats:
        mean, count, shape, scale = (values[..., None] for values in self._checked(state))
        constant = (
            scipy.special.gammaln(shape + 0.5)
            - scipy.special.gammaln(shape)
            + 0.5 * (np.log(count / scale) - _LOG_2PI)
        )
        z = 0.5 * count / scale * (theta - mean) ** 2
        return constant - (shape + 0.5) * np.log1p(z)

    def log_conditional(self, state: State, reward: float, theta: Floats) -> Floats:
        """Compute the log density of a reward of each arm given its mean and the state.

        The variance is unknown: it is Student's t distribution with 2 shape + 1 degrees of freedom.
        """
        mean, count, shape, scale = (values[..., None] for values in self._checked(state))
        q = scale + 0.5 * count * (theta - mean) ** 2
        constant = (
            scipy.special.gammaln(shape + 1.0) - scipy.special.gammaln(shape + 0.5) - 0.5 * _LOG_2PI
        )
        return (
            constant - 0.5 * np.log(q) - (shape + 1.0) * np.log1p(0.5 * (reward - theta) ** 2 / q)
        )

    def log_likelihood(self, reward: float, theta: Floats) -> Floats:
        """Compute the log density of a reward for the variance scale / shape of the prior of arm 0.

        Given a state, the variance is uncertain: use :meth:`log_conditional`.
        """
        variance = self._variance()
        apart = reward - np.asarray(theta, np.float64)
        return -0.5 * (apart * apart / variance + math.log(variance) + _LOG_2PI)

    def log_evidence(self, state: State) -> Floats:
        """Compute the log marginal likelihood of each arm, up to a term of the number of data."""
        self._check_undiscounted("log_evidence")
        _, count, shape, scale = self._checked(state)
        before = 0.5 * np.log(self.counts) + self.shapes * np.log(self.scales)
        after = 0.5 * np.log(count) + shape * np.log(scale)
        return (before - scipy.special.gammaln(self.shapes)) - (
            after - scipy.special.gammaln(shape)
        )

    def draw_reward(self, theta: Floats, uniform: Floats) -> Floats:
        """Draw normal rewards with the variance scale / shape of the prior of the first arm.

        The variance is unknown: :meth:`predict` draws from the predictive distribution of a state.
        """
        noise = math.sqrt(self._variance())
        return theta + noise * scipy.special.ndtri(np.maximum(uniform, LEAST_UNIFORM))

    def _variance(self) -> float:
        return float(self.scales[0] / self.shapes[0])


def _student(shape: Floats, level: Floats | float) -> Floats:
    """Compute quantiles of Student's t distribution with 2 shape degrees of freedom."""
    return np.asarray(scipy.special.stdtrit(2.0 * shape, level), np.float64)
