"""Predictive probabilities of conjugate families, in natural parameters.

The posterior of an arm is a vector S, and an outcome y of weight w adds a vector s(y, w) to it. So
the states of many moments follow from sums, and the predictive probability of every outcome is one
call on arrays. All log probabilities omit a term that depends on the outcome only: it cancels in
the ratio of two predictions.
"""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import scipy

from graphbandits._types import Floats, Ints, State
from graphbandits.posteriors import is_discounted
from graphbandits.posteriors.base import Posterior
from graphbandits.posteriors.beta_bernoulli import BetaBernoulli
from graphbandits.posteriors.dirichlet import Dirichlet
from graphbandits.posteriors.gamma_poisson import GammaPoisson
from graphbandits.posteriors.normal import Normal
from graphbandits.posteriors.normal_inverse_gamma import NormalInverseGamma


class NaturalFamily:
    """A conjugate family in natural parameters. :func:`natural_family` returns that of a prior.

    Parameters
    ----------
    posterior : Posterior
        The prior of K arms.

    Attributes
    ----------
    prior : ndarray of shape (K, d)
        Natural parameters of the prior.
    weak : ndarray of shape (K, d)
        Those of a prior with the same means that is not stronger than the default of the family.
    """

    prior: Floats
    weak: Floats

    def __init__(self, posterior: Any) -> None:
        raise NotImplementedError

    def of_state(self, state: State) -> Floats:
        """Return the natural parameters (K, d) of the state of one trial."""
        raise NotImplementedError

    def statistic(self, arm: Ints, reward: Floats, weight: Floats) -> Floats:
        """Return what each outcome adds, (n, d)."""
        raise NotImplementedError

    def steps(self, weight: Floats) -> Floats:
        """Return the number of outcomes in each report."""
        return weight

    def log_predictive(self, before: Floats, added: Floats) -> Floats:
        """Return the log probabilities (...) of outcomes (..., d), given the parameters before."""
        raise NotImplementedError

    def mean(self, arm: Ints, parameters: Floats) -> Floats:
        """Return the means (n,) of arms (n,) with parameters (n, d)."""
        raise NotImplementedError


class _Counts(NaturalFamily):
    """Dirichlet weights of the values; two for Bernoulli arms: successes and failures."""

    def __init__(self, posterior: Any) -> None:
        self._binary = isinstance(posterior, BetaBernoulli)
        if self._binary:
            self._values = np.array([1.0, 0.0])
            self.prior = np.stack([posterior.a, posterior.b], axis=-1)
        else:
            self._values, self.prior = np.array(posterior.values), np.array(posterior.weights)
        total = self.prior.sum(axis=1, keepdims=True)
        self.weak = self.prior * np.minimum(1.0, len(self._values) / total)

    def of_state(self, state: State) -> Floats:
        if self._binary:
            return np.stack([state["a"][0], state["b"][0]], axis=-1)
        return np.array(state["weights"][0])

    def statistic(self, arm: Ints, reward: Floats, weight: Floats) -> Floats:
        if self._binary:  # the reward is a share of successes
            return np.stack([weight * reward, weight * (1.0 - reward)], axis=-1)
        return np.asarray(weight[:, None] * (reward[:, None] == self._values))

    def log_predictive(self, before: Floats, added: Floats) -> Floats:
        found = _log_rising(before, added).sum(axis=-1)
        return np.asarray(found - _log_rising(before.sum(axis=-1), added.sum(axis=-1)))

    def mean(self, arm: Ints, parameters: Floats) -> Floats:
        return np.asarray(parameters @ self._values / parameters.sum(axis=-1))


class _Events(NaturalFamily):
    """Shape and rate of a Gamma distribution: numbers of events, and exposure."""

    def __init__(self, posterior: GammaPoisson) -> None:
        self.prior = np.stack([posterior.shapes, posterior.rates], axis=-1)
        self.weak = self.prior * np.minimum(1.0, 1.0 / self.prior[:, 1:])

    def of_state(self, state: State) -> Floats:
        return np.stack([state["shape"][0], state["rate"][0]], axis=-1)

    def statistic(self, arm: Ints, reward: Floats, weight: Floats) -> Floats:
        return np.stack([weight * reward, weight], axis=-1)

    def steps(self, weight: Floats) -> Floats:
        return np.ones_like(weight)  # an exposure is in any unit

    def log_predictive(self, before: Floats, added: Floats) -> Floats:
        shape, rate = before[..., 0], before[..., 1]
        events, exposure = added[..., 0], added[..., 1]
        grown = np.log1p(exposure / rate)
        return np.asarray(
            _log_rising(shape, events) - (shape + events) * grown - events * np.log(rate)
        )

    def mean(self, arm: Ints, parameters: Floats) -> Floats:
        return np.asarray(parameters[:, 0] / parameters[:, 1])


class _Gaussian(NaturalFamily):
    """Precision p, and p times the distance of the mean from the prior mean."""

    def __init__(self, posterior: Normal) -> None:
        self._centre, self._precision = posterior.means, posterior.noise**-2.0
        precision = posterior.sds**-2.0
        self.prior = np.stack([precision, np.zeros_like(precision)], axis=-1)
        self.weak = np.minimum(self.prior, self._precision)

    def of_state(self, state: State) -> Floats:
        precision = state["precision"][0]
        return np.stack([precision, precision * (state["mean"][0] - self._centre)], axis=-1)

    def statistic(self, arm: Ints, reward: Floats, weight: Floats) -> Floats:
        precision = weight * self._precision
        return np.stack([precision, precision * (reward - self._centre[arm])], axis=-1)

    def log_predictive(self, before: Floats, added: Floats) -> Floats:
        variance = 1.0 / before[..., 0] + 1.0 / added[..., 0]
        apart = added[..., 1] / added[..., 0] - before[..., 1] / before[..., 0]
        return np.asarray(-0.5 * (np.log(variance) + apart * apart / variance))

    def mean(self, arm: Ints, parameters: Floats) -> Floats:
        return np.asarray(self._centre[arm] + parameters[:, 1] / parameters[:, 0])


class _Student(NaturalFamily):
    """Count n, n x, twice the shape, and twice the scale plus n x^2.

    x is the distance of the mean from the prior mean.
    """

    def __init__(self, posterior: NormalInverseGamma) -> None:
        self._centre = posterior.means
        count, freedom = posterior.counts, 2.0 * posterior.shapes
        none, scale = np.zeros_like(count), 2.0 * posterior.scales
        self.prior = np.stack([count, none, freedom, scale], axis=-1)
        share = np.minimum(1.0, 4.0 / freedom)
        self.weak = np.stack([np.minimum(1.0, count), none, share * freedom, share * scale], -1)

    def of_state(self, state: State) -> Floats:
        count, apart = state["count"][0], state["mean"][0] - self._centre
        scale = 2.0 * state["scale"][0] + count * apart * apart
        return np.stack([count, count * apart, 2.0 * state["shape"][0], scale], axis=-1)

    def statistic(self, arm: Ints, reward: Floats, weight: Floats) -> Floats:
        apart = reward - self._centre[arm]
        return np.stack([weight, weight * apart, weight, weight * apart * apart], axis=-1)

    def log_predictive(self, before: Floats, added: Floats) -> Floats:
        count, total, freedom, squares = np.moveaxis(before, -1, 0)
        mean = total / count
        spread = (squares - total * mean) * (1.0 + 1.0 / count)
        apart = added[..., 1] - mean
        tail = 0.5 * (freedom + 1.0) * np.log1p(apart * apart / spread)
        return np.asarray(-scipy.special.betaln(0.5 * freedom, 0.5) - 0.5 * np.log(spread) - tail)

    def mean(self, arm: Ints, parameters: Floats) -> Floats:
        return np.asarray(self._centre[arm] + parameters[:, 1] / parameters[:, 0])


def _log_rising(start: Floats, steps: Floats) -> Floats:
    """Return log Gamma(start + steps) - log Gamma(start) - log Gamma(steps), and 0 for no steps.

    A difference of two large values of log Gamma would lose the digits of a small step.
    """
    start, steps = np.broadcast_arrays(start, steps)
    found = np.where(steps == 0.0, 0.0, np.log(start))
    other = (steps != 0.0) & (steps != 1.0)
    found[other] = -scipy.special.betaln(start[other], steps[other])
    return found


_FAMILIES: dict[type, type[NaturalFamily]] = {
    BetaBernoulli: _Counts,
    Dirichlet: _Counts,
    GammaPoisson: _Events,
    Normal: _Gaussian,
    NormalInverseGamma: _Student,
}


def natural_family(posterior: Posterior) -> NaturalFamily | None:
    """Return the family of a prior; None if its predictions are not known exactly.

    These are plug-ins, discounted posteriors, and posteriors that round rewards at random.

    >>> family = natural_family(BetaBernoulli.of(arms=1, a=3, b=1))
    >>> success = family.statistic(np.array([0]), np.array([1.0]), np.array([1.0]))
    >>> np.exp(family.log_predictive(family.prior, success))
    array([0.75])
    """
    # an exact type: a subclass may have other updates
    found = _FAMILIES.get(type(cast(object, posterior)))
    return None if found is None or is_discounted(posterior) else found(posterior)
