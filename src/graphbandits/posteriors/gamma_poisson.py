"""Counts: independent Poisson rates theta_i ~ Gamma(a_i, b_i), rewards Poisson(theta_i)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import scipy

from graphbandits._types import Floats, State
from graphbandits.errors import InputError, check_integer
from graphbandits.posteriors._family_kernels import GAMMA
from graphbandits.posteriors._update_kernels import add_to_gamma
from graphbandits.posteriors.base import COUNT, Observations, Support, per_arm
from graphbandits.posteriors.one_dimensional import Limits, MarginalPosterior
from graphbandits.registry import register
from graphbandits.rng import Stream

#: Ranges of the parameters of a prior, and of a state.
LEAST_SHAPE, MOST_SHAPE = 1e-3, 1e9
LEAST_RATE, MOST_RATE = 1e-6, 1e9
MOST_IN_STATE = 1e13
#: Below this the logarithm of a draw is computed from the power law of the density near 0.
_TINY = 1e-280


@register("posterior", "gamma-poisson")
@dataclass(frozen=True, eq=False)
class GammaPoisson(MarginalPosterior):
    """Poisson arms (counts) with independent gamma priors of their rates.

    Arm i has the prior Gamma(shapes_i, rates_i) with the mean shapes_i / rates_i. A reward y
    updates it by (y, 1). An observation of weight w is a count per unit of an exposure w, and
    updates it by (w y, w).

    Parameters
    ----------
    shapes : array_like of shape (K,)
        Shape of the prior of each arm, from 1e-3 to 1e9.
    rates : array_like of shape (K,)
        Rate (inverse scale) of the prior of each arm, from 1e-6 to 1e9.
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
    >>> posterior = GammaPoisson.of(arms=2)
    >>> posterior.beliefs(posterior.init(trials=1)).delta
    array([[0.5, 0.5]])
    """

    shapes: Floats
    rates: Floats
    accuracy: str = "simulation"
    discount: float = 1.0
    half_life: float | None = None
    support: ClassVar[tuple[float, float]] = (0.0, math.inf)
    rewards: ClassVar[Support] = COUNT
    weighted: ClassVar[bool] = True
    prior_limits: ClassVar[Limits] = {
        "shapes": (LEAST_SHAPE, MOST_SHAPE),
        "rates": (LEAST_RATE, MOST_RATE),
    }
    state_limits: ClassVar[Limits] = {
        "shape": (LEAST_SHAPE, MOST_IN_STATE),
        "rate": (LEAST_RATE, MOST_IN_STATE),
    }
    family: ClassVar[int] = GAMMA

    @classmethod
    def of(
        cls,
        arms: int,
        shape: float | Sequence[float] = 1.0,
        rate: float | Sequence[float] = 1.0,
        accuracy: str = "simulation",
        discount: float = 1.0,
        half_life: float | None = None,
    ) -> GammaPoisson:
        """Create a prior from numbers for all arms, or for each arm; see the class.

        >>> GammaPoisson.of(arms=2, shape=[1, 2], rate=0.5).rates
        array([0.5, 0.5])
        """
        given = per_arm({"shape": shape, "rate": rate}, check_integer(arms, "arms"))
        return cls(given["shape"], given["rate"], accuracy, discount, half_life)

    @classmethod
    def examples(cls) -> list[GammaPoisson]:
        """Instances used by the contract tests."""
        return [
            cls.of(3),
            cls(np.array([2.0, 1.5, 4.0, 3.0]), np.array([1.0, 0.5, 2.0, 1.0])),
            cls.of(2, shape=[2.0, 3.0], rate=[1.0, 2.0], discount=0.9),
        ]

    def weaker(self) -> GammaPoisson:
        """Return a prior with the same means, of a tenth of the shape and of the rate."""
        factor = np.maximum(0.1, np.maximum(LEAST_SHAPE / self.shapes, LEAST_RATE / self.rates))
        shapes = np.clip(self.shapes * factor, LEAST_SHAPE, MOST_SHAPE)
        rates = np.clip(self.rates * factor, LEAST_RATE, MOST_RATE)
        return replace(self, shapes=shapes, rates=rates)

    def _prior_state(self) -> dict[str, Floats]:
        return {"shape": self.shapes, "rate": self.rates}

    def update(self, state: State, seen: Observations) -> State:
        shape, rate = self._in_place(state)
        trial, arm, reward, weight = self._observed(state, seen)
        if (reward < 0.0).any():
            raise InputError(f"a count must be at least 0, not {reward.min():g}")
        if not add_to_gamma(shape, rate, trial, arm, reward, weight):
            raise self._misfit()
        return state

    def mean(self, state: State) -> Floats:
        shape, rate = (np.asarray(state[name], np.float64) for name in ("shape", "rate"))
        return shape / rate

    def _inverse(self, arrays: list[Floats], level: Any) -> Floats:
        shape, rate = arrays
        found: Floats = scipy.special.gammaincinv(shape, level) / rate
        return found

    def sample_order(self, state: State, stream: Stream) -> Floats:
        """Return the logarithms of the draws, which can round to 0."""
        shape, rate = self._checked(state)
        uniform = self._uniform(stream)
        draws = scipy.special.gammaincinv(shape, uniform)
        # near 0 the distribution function is x^shape / Gamma(shape + 1)
        power = (np.log(uniform) + scipy.special.gammaln(shape + 1.0)) / shape
        log_draws = np.where(draws > _TINY, np.log(np.maximum(draws, _TINY)), power)
        return log_draws - np.log(rate)

    def log_density(self, state: State, theta: Floats) -> Floats:
        shape, rate = (values[..., None] for values in self._checked(state))
        return (
            scipy.special.xlogy(shape, rate)
            - scipy.special.gammaln(shape)
            + scipy.special.xlogy(shape - 1.0, theta)
            - rate * theta
        )

    def log_likelihood(self, reward: float, theta: Floats) -> Floats:
        return (
            scipy.special.xlogy(reward, theta)
            - np.asarray(theta)
            - scipy.special.gammaln(reward + 1.0)
        )

    def log_evidence(self, state: State) -> Floats:
        """Compute the log marginal likelihood of each arm, without a term of the data only.

        >>> posterior = GammaPoisson.of(arms=1)
        >>> state = {"shape": np.array([[1.0]]), "rate": np.array([[2.0]])}  # after the count 0
        >>> posterior.log_evidence(state)  # P(0) = 1/2
        array([[-0.69314718]])
        """
        self._check_undiscounted("log_evidence")
        shape, rate = self._checked(state)
        before = scipy.special.xlogy(self.shapes, self.rates) - scipy.special.gammaln(self.shapes)
        return before - (scipy.special.xlogy(shape, rate) - scipy.special.gammaln(shape))

    def draw_reward(self, theta: Floats, uniform: Floats) -> Floats:
        # inversion of the Poisson distribution function
        theta, uniform = np.broadcast_arrays(np.asarray(theta, np.float64), uniform)
        found = np.zeros(theta.shape)
        some = uniform > np.exp(-theta)  # (the others are 0)
        rate, level = theta[some], uniform[some]
        high = np.ceil(scipy.special.pdtrik(level, rate))
        lower = np.maximum(high - 1.0, 0.0)
        found[some] = np.where(scipy.special.pdtr(lower, rate) >= level, lower, high)
        return found
