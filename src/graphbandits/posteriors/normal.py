"""Normal arms with known noise: theta_i ~ N(m_i, s_i^2), rewards N(theta_i, noise^2)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, cast

import numpy as np
import scipy

from graphbandits._types import Floats, State
from graphbandits.errors import InputError, check_integer, check_positive, check_probability
from graphbandits.posteriors._family_kernels import NORMAL
from graphbandits.posteriors._marginal import LEAST_UNIFORM, Limits, MarginalPosterior, clipped
from graphbandits.posteriors._update_kernels import add_to_normal
from graphbandits.posteriors.base import Observations, per_arm
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
        simulation. Instead of ``discount``; see :mod:`graphbandits.posteriors.discounting`.

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
        """Create a prior from parameters for all arms, or for each arm.

        Parameters
        ----------
        arms : int
            Number of arms K.
        mean, sd : float or sequence of float
            Mean and standard deviation of the prior.
        noise : float
            Standard deviation of a reward.
        accuracy : {"simulation", "strict"}
            Accuracy of :meth:`beliefs`.
        discount : float
            Factor in (0, 1] by which the weight of an observation decreases per round.
        half_life : float, optional
            Age at which an observation counts half, instead of ``discount``.

        Returns
        -------
        Normal
            The prior.

        Examples
        --------
        >>> Normal.of(arms=2, mean=[0, 1], sd=2).sds
        array([2., 2.])
        """
        given = per_arm({"mean": mean, "sd": sd}, check_integer(arms, "arms"))
        return cls(given["mean"], given["sd"], noise, accuracy, discount, half_life)

    @property
    def sub_gaussian(self) -> float:
        """Largest standard deviation of a reward, sqrt(sds_i^2 + noise^2), before any observation.

        It is at least that of a reward given any observations, because these reduce the variance
        of the mean.
        """
        return math.hypot(float(self.sds.max()), self.noise)

    @classmethod
    def examples(cls) -> list[Normal]:
        """Instances used by the contract tests.

        Returns
        -------
        list of Normal
            Three priors, one of them discounted.
        """
        return [
            cls.of(3),
            cls(np.array([0.2, -0.5, 1.0, 0.0]), np.array([1.0, 2.5, 0.5, 1.5]), 0.7),
            cls.of(2, mean=[0.5, -1.0], sd=[1.0, 2.0], half_life=7.0),
        ]

    def weaker(self) -> Normal:
        """Return a prior with the same means and ten times the standard deviations.

        Returns
        -------
        Normal
            The prior.
        """
        sds = clipped(10.0 * self.sds, self.prior_limits["sds"])
        return replace(self, sds=sds)

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
        """Update the posterior by observations, in place.

        Parameters
        ----------
        state : dict of str to ndarray
            A state made by :meth:`init`.
        seen : Observations
            Rewards; an observation of weight w is the average of w rewards.

        Returns
        -------
        dict of str to ndarray
            The same state.

        Raises
        ------
        InputError
            If the arrays do not fit the state.

        Examples
        --------
        >>> posterior = Normal.of(arms=1)
        >>> seen = Observations(np.array([0]), np.array([0]), np.array([2.0]))
        >>> posterior.update(posterior.init(trials=1), seen)
        {'mean': array([[1.]]), 'precision': array([[2.]])}
        """
        mean, precision = self._in_place(state)
        trial, arm, reward, weight = self._observed(state, seen)
        if not add_to_normal(mean, precision, trial, arm, reward, weight * self.noise**-2.0):
            raise self._misfit()
        return state

    def mean(self, state: State) -> Floats:
        """Return the posterior means.

        Parameters
        ----------
        state : dict of str to ndarray
            The state.

        Returns
        -------
        ndarray of shape (B, K)
            The means.
        """
        return np.array(state["mean"], np.float64)

    def quantile(self, state: State, level: float) -> Floats:
        """Compute quantiles of the means.

        Parameters
        ----------
        state : dict of str to ndarray
            The state.
        level : float
            Level in [0, 1]; 0 and 1 give infinite numbers.

        Returns
        -------
        ndarray of shape (B, K)
            The quantiles.

        Examples
        --------
        >>> posterior = Normal.of(arms=1)
        >>> posterior.quantile(posterior.init(trials=1), 0.975)
        array([[1.95996398]])
        """
        level = check_probability(level, "the level of a quantile")
        mean, precision = self._checked(state)
        found: Floats = mean + precision**-0.5 * scipy.special.ndtri(level)
        return found

    def sample(self, state: State, stream: Stream) -> Floats:
        """Draw the mean of each arm by inversion of its distribution function.

        Parameters
        ----------
        state : dict of str to ndarray
            The state.
        stream : Stream
            The random numbers to use.

        Returns
        -------
        ndarray of shape (B, K)
            The draws.
        """
        mean, precision = self._checked(state)
        uniform = np.maximum(stream.uniform(self.arms), LEAST_UNIFORM)
        found: Floats = mean + precision**-0.5 * scipy.special.ndtri(uniform)
        return found

    def log_density(self, state: State, theta: Floats) -> Floats:
        """Compute the log density of the mean of each arm.

        Parameters
        ----------
        state : dict of str to ndarray
            The state.
        theta : ndarray of shape (points,)
            Points at which to evaluate the density.

        Returns
        -------
        ndarray of shape (B, K, points)
            The log densities.
        """
        mean, precision = (values[..., None] for values in self._checked(state))
        found: Floats = (
            0.5 * np.log(precision) - _HALF_LOG_2PI - 0.5 * precision * (theta - mean) ** 2
        )
        return found

    def log_likelihood(self, reward: float, theta: Floats) -> Floats:
        """Compute the log density of a reward.

        Parameters
        ----------
        reward : float
            The reward.
        theta : ndarray
            Means of the arm.

        Returns
        -------
        ndarray
            The log likelihood for each mean.
        """
        z = (reward - np.asarray(theta, np.float64)) / self.noise
        found: Floats = -0.5 * z * z - _HALF_LOG_2PI - math.log(self.noise)
        return found

    def log_evidence(self, state: State) -> Floats:
        """Compute the log marginal likelihood of the data that led from this prior to a state.

        It is log N(y; m, 1/p + 1/q) for the average y of the data of an arm, of the precision q,
        and its prior mean m and precision p, without a term that depends on the data only.

        Parameters
        ----------
        state : dict of str to ndarray
            The state.

        Returns
        -------
        ndarray of shape (B, K)
            The log evidence of each arm.

        Examples
        --------
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
        found: Floats = 0.5 * (np.log(prior / precision) - prior * lost)
        return found

    def draw_reward(self, theta: Floats, uniform: Floats) -> Floats:
        """Draw rewards by inversion of the normal distribution function.

        Parameters
        ----------
        theta : ndarray
            Means of the arms.
        uniform : ndarray
            Uniform random numbers in [0, 1).

        Returns
        -------
        ndarray
            The rewards.
        """
        found: Floats = theta + self.noise * scipy.special.ndtri(np.maximum(uniform, LEAST_UNIFORM))
        return found
