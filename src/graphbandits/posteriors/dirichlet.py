"""Arms with listed rewards: independent Dirichlet priors of the probabilities of the values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
import scipy

from graphbandits._types import Floats, Ints, State
from graphbandits.errors import InputError, check_integer, short_repr
from graphbandits.posteriors._dirichlet_belief_kernels import (
    dirichlet_beliefs,
    fill_log_densities,
    fill_quantiles,
)
from graphbandits.posteriors._family_kernels import group_rows
from graphbandits.posteriors._update_kernels import add_to_values
from graphbandits.posteriors.base import Observations, Support, check_numbers
from graphbandits.posteriors.base import values as listed_values
from graphbandits.posteriors.one_dimensional import Limits, MarginalPosterior, check_accuracy
from graphbandits.registry import register
from graphbandits.rng import Stream

#: Range of the weights of a prior.
LEAST_WEIGHT, MOST_WEIGHT = 0.2, 1e9
#: Upper limit in a state: up to 2^32 rounds add one observation each.
MOST_IN_STATE = 1e10
#: Upper limit of the number of values.
MOST_VALUES = 30
#: Range of the difference of the largest and smallest value, and least difference relative to it.
LEAST_RANGE, MOST_RANGE = 1e-100, 1e100
LEAST_GAP = 1e-9


@register("posterior", "dirichlet")
@dataclass(frozen=True, eq=False)
class Dirichlet(MarginalPosterior):
    """Arms whose rewards are listed values, such as star ratings, with Dirichlet priors.

    The probabilities of the m values have the prior Dirichlet(weights_i) for arm i; a reward adds 1
    to the weight of its value. The mean of an arm is the sum of the values times their
    probabilities; its density is computed by contour integrals, without approximation.

    Parameters
    ----------
    weights : array_like of shape (K, m)
        Weights of the values of each arm, from 0.2 to 1e9.
    values : sequence of float
        All rewards, 2 to 30 different numbers in increasing order.
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
    >>> stars = Dirichlet.of(arms=2, values=(1, 2, 3, 4, 5))
    >>> seen = Observations(np.array([0]), np.array([1]), np.array([5.0]))
    >>> state = stars.update(stars.init(trials=1), seen)
    >>> stars.mean(state).round(4), stars.beliefs(state).alpha.round(4)
    (array([[3.    , 3.3333]]), array([[0.3392, 0.6608]]))
    """

    weights: Floats
    values: tuple[float, ...] = (1.0, 2.0, 3.0, 4.0, 5.0)
    accuracy: str = "simulation"
    discount: float = 1.0
    half_life: float | None = None
    prior_limits: ClassVar[Limits] = {"weights": (LEAST_WEIGHT, MOST_WEIGHT)}
    state_limits: ClassVar[Limits] = {"weights": (LEAST_WEIGHT, MOST_IN_STATE)}

    def __post_init__(self) -> None:
        check_accuracy(self.accuracy)
        self._check_discount()
        object.__setattr__(self, "values", _check_values(self.values))
        weights = check_numbers(self.weights, "a weight", LEAST_WEIGHT, MOST_WEIGHT)
        if weights.ndim != 2 or not weights.size or weights.shape[1] != len(self.values):
            raise InputError(
                f"a Dirichlet prior needs one weight per arm and value, in an array of the shape "
                f"(arms, {len(self.values)}); got the shape {weights.shape}"
            )
        weights.setflags(write=False)  # shared by policies, trials and the world
        object.__setattr__(self, "weights", weights)

    @classmethod
    def of(
        cls,
        arms: int,
        values: Sequence[float] = (1, 2, 3, 4, 5),
        weights: float | Sequence[float] | Sequence[Sequence[float]] = 1.0,
        accuracy: str = "simulation",
        discount: float = 1.0,
        half_life: float | None = None,
    ) -> Dirichlet:
        """Create a prior from one weight, one per value, or one per arm and value; see the class.

        >>> Dirichlet.of(arms=2, values=(0, 1, 10), weights=(5, 3, 1)).weights
        array([[5., 3., 1.],
               [5., 3., 1.]])
        """
        count = check_integer(arms, "arms")
        listed = _check_values(values)
        given = check_numbers(weights, "a weight", LEAST_WEIGHT, MOST_WEIGHT)
        if given.shape not in ((), (len(listed),), (count, len(listed))):
            raise InputError(
                f"weights must be a number, a list of {len(listed)} numbers, one per value, or "
                f"{count} such lists, one per arm; not {short_repr(weights)}"
            )
        by_arm = np.broadcast_to(given, (count, len(listed)))
        return cls(by_arm, listed, accuracy, discount, half_life)

    @classmethod
    def examples(cls) -> list[Dirichlet]:
        """Instances used by the contract tests."""
        some = [[2.0, 1.0, 3.5], [1.0, 2.5, 1.0], [4.0, 1.5, 2.0], [1.0, 1.0, 1.5]]
        return [
            cls.of(3),
            cls(np.array(some), (-1.0, 0.5, 2.0)),
            cls.of(2, values=(0, 1, 5), weights=[[2, 1, 1], [1, 2, 1]], discount=0.9),
        ]

    def weaker(self) -> Dirichlet:
        """Return a prior with the same means and a tenth of the weights, if allowed."""
        share = np.maximum(0.1, LEAST_WEIGHT / self.weights.min(axis=1, keepdims=True))
        return replace(self, weights=self.weights * np.minimum(share, 1.0))

    @property
    def support(self) -> tuple[float, float]:  # type: ignore[override]
        return self.values[0], self.values[-1]

    @property
    def outcomes(self) -> tuple[float, ...]:  # type: ignore[override]
        return self.values

    @property
    def rewards(self) -> Support:  # type: ignore[override]
        return listed_values(*self.values)

    def _kernel_common(self) -> Floats:
        return np.array(self.values)

    def _kernel_parameters(self, state: State) -> Floats:
        return self._checked(state)[0]

    def _run_kernel(self, parameters: Floats, *others: Any) -> int:
        return dirichlet_beliefs(self._kernel_common(), parameters, *others)

    def update(self, state: State, seen: Observations) -> State:
        (weights,) = self._in_place(state)
        trial, arm, reward, power = self._observed(state, seen)
        listed = np.array(self.values)
        index = np.minimum(np.searchsorted(listed, reward), len(listed) - 1)
        if not (listed[index] == reward).all():
            self.rewards.check(float(reward[listed[index] != reward][0]))
        if not add_to_values(weights, trial, arm, index, power):
            raise self._misfit()
        return state

    def expect(self, state: State, arm: Ints, weight: Floats) -> State:
        """Add expected rewards to one trial, in place: weights grow in their proportions.

        >>> posterior = Dirichlet.of(arms=1, values=(0, 1, 5), weights=(2, 1, 1))
        >>> posterior.expect(posterior.init(trials=1), np.array([0]), np.array([2.0]))
        {'weights': array([[[3. , 1.5, 1.5]]])}
        """
        weights = self._in_place(state)[0][0]
        total = weights[arm].sum(axis=-1, keepdims=True)
        weights[arm] *= 1.0 + weight[:, None] / total
        return state

    def mean(self, state: State) -> Floats:
        weights = np.asarray(state["weights"], np.float64)
        # relative to the smallest value; sums of one row do not depend on the other rows
        apart = np.array(self.values) - self.values[0]
        mean: Floats = (weights * apart).sum(axis=-1) / weights.sum(axis=-1)
        return np.minimum(self.values[0] + mean, self.values[-1])

    def _inverse(self, arrays: list[Floats], level: Any) -> Floats:
        rows = arrays[0].reshape(-1, len(self.values))
        # many posteriors of a block are equal: invert each distinct one once
        group, first = np.empty((2, len(rows)), np.int64)
        distinct = rows[first[: group_rows(rows, group, first)]]
        found = np.empty(len(distinct))
        fill_quantiles(self._kernel_common(), distinct, level, found)
        return np.clip(found, *self.support)[group].reshape(-1, self.arms)

    def sample(self, state: State, stream: Stream) -> Floats:
        low, high = self.support
        share: Floats = scipy.special.expit(self.sample_order(state, stream))
        return np.clip(low + (high - low) * share, low, high)

    def sample_order(self, state: State, stream: Stream) -> Floats:
        """Return logits of the draws in the support: draws can round to the largest value."""
        (weights,) = self._checked(state)
        trials, arms, m = weights.shape
        # the share of each value in the rest has a Beta distribution
        rest = np.cumsum(weights[..., :0:-1], axis=-1)[..., ::-1]
        shape = (trials, arms * (m - 1))
        logit = stream.beta_logit(weights[..., :-1].reshape(shape), rest.reshape(shape))
        logit = logit.reshape(trials, arms, m - 1)
        share, others = -np.logaddexp(0.0, -logit), -np.logaddexp(0.0, logit)
        log_p = np.zeros(weights.shape)
        log_p[..., 1:] = np.cumsum(others, axis=-1)
        log_p[..., :-1] += share
        listed = np.array(self.values)
        with np.errstate(divide="ignore"):
            up, down = np.log(listed - listed[0]), np.log(listed[-1] - listed)
        above = np.logaddexp.reduce(log_p[..., 1:] + up[1:], axis=-1)
        below = np.logaddexp.reduce(log_p[..., :-1] + down[:-1], axis=-1)
        order: Floats = above - below
        return order

    def predict(self, state: State, stream: Stream) -> Floats:
        """Draw the next reward of each arm: a value with probability weight / sum of weights."""
        (weights,) = self._checked(state)
        below = np.cumsum(weights, axis=-1)
        target = stream.uniform(self.arms)[..., None] * below[..., -1:]
        index = np.minimum((below <= target).sum(axis=-1), len(self.values) - 1)
        found: Floats = np.array(self.values)[index]
        return found

    def log_density(self, state: State, theta: Floats) -> Floats:
        return self._log_densities(state, theta, -1)

    def log_conditional(self, state: State, reward: float, theta: Floats) -> Floats:
        """Compute the log probability of a reward of each arm given its mean and the state.

        >>> posterior = Dirichlet.of(arms=1, values=(0, 1))  # a reward is 1 with probability theta
        >>> theta = np.array([0.25])
        >>> np.exp(posterior.log_conditional(posterior.init(trials=1), 1.0, theta)).round(12)
        array([[[0.25]]])
        """
        return self._log_densities(state, theta, self.values.index(self.check_reward(reward)))

    def _log_densities(self, state: State, theta: Floats, outcome: int) -> Floats:
        (weights,) = self._checked(state)
        points = np.ascontiguousarray(theta, np.float64).ravel()
        found = np.empty((*weights.shape[:2], len(points)))
        fill_log_densities(
            self._kernel_common(),
            weights.reshape(-1, len(self.values)),
            points,
            outcome,
            found.reshape(-1, len(points)),
        )
        return found

    def log_likelihood(self, reward: float, theta: Floats) -> Floats:
        """Compute the log probability of a reward under :meth:`draw_reward`.

        The mean does not determine the probabilities of three or more values:
        :meth:`log_conditional` is the likelihood of the model.
        """
        listed = np.array(self.values)
        k = self.values.index(self.check_reward(reward))
        weight = np.interp(theta, listed, np.eye(len(listed))[k])
        with np.errstate(divide="ignore"):
            found: Floats = np.log(weight)
        return found

    def log_evidence(self, state: State) -> Floats:
        """Compute the log probability of the sequence of rewards of each arm.

        >>> posterior = Dirichlet.of(arms=1, values=(0, 1))
        >>> state = {"weights": np.array([[[1.0, 3.0]]])}  # after 1 and 1
        >>> np.exp(posterior.log_evidence(state)).round(12)  # 1/2 times 2/3
        array([[0.33333333]])
        """
        self._check_undiscounted("log_evidence")
        (weights,) = self._checked(state)
        prior = self.weights
        gained = (scipy.special.gammaln(weights) - scipy.special.gammaln(prior)).sum(axis=-1)
        totals = scipy.special.gammaln(weights.sum(axis=-1)) - scipy.special.gammaln(
            prior.sum(axis=-1)
        )
        found: Floats = gained - totals
        return found

    def draw_reward(self, theta: Floats, uniform: Floats) -> Floats:
        """Draw rewards with given means: one of the two values next to the mean.

        The mean does not determine the probabilities of three or more values; use :meth:`predict`
        for rewards of the model.
        """
        listed = np.array(self.values)
        above = np.clip(np.searchsorted(listed, theta), 1, len(listed) - 1)
        low, high = listed[above - 1], listed[above]
        return np.where(uniform * (high - low) < theta - low, high, low)


def _check_values(values: object) -> tuple[float, ...]:
    """Return listed rewards as floats in increasing order."""
    given: Any = values
    try:
        listed = tuple(given)
    except TypeError:
        raise InputError(
            f"values must be a list of 2 to {MOST_VALUES} numbers, not {short_repr(values)}"
        ) from None
    found = listed_values(*listed).listed or ()
    if found != tuple(float(x) for x in listed):
        raise InputError(
            f"values must be in increasing order, not {short_repr(values)}: the weights belong to "
            "the values in their order"
        )
    if not 2 <= len(found) <= MOST_VALUES:
        raise InputError(f"a Dirichlet prior needs 2 to {MOST_VALUES} values, not {len(found)}")
    width = found[-1] - found[0]
    gap = min(b - a for a, b in pairwise(found))
    if not LEAST_RANGE <= width <= MOST_RANGE or gap < LEAST_GAP * width:
        raise InputError(
            f"values must differ by {LEAST_RANGE:g} to {MOST_RANGE:g}, and each two by at least "
            f"{LEAST_GAP:g} of the largest difference; got {short_repr(values)}"
        )
    return found
