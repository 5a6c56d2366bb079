"""Discounted posteriors: an observation counts less the older it is.

With the factor g per unit of time, the natural parameters S of a conjugate family are

    S = S_0 + sum over the observations of g^age s(y),

where S_0 are those of the prior and s(y) is what an observation y adds to them: the density is
proportional to f_0 times the likelihoods to the power g^age. Without observations it moves towards
the prior, f_0^(1 - g) f^g after one unit of time.

``discount`` is g per round. ``half_life`` is the age at which an observation counts half:
g = 2^(-1/half_life) per unit of time, a second in a live agent and a round in a simulation.
"""

from __future__ import annotations

import dataclasses
from typing import Any, cast

import numpy as np

from graphbandits._types import Floats, Ints, State
from graphbandits.errors import InputError, check_positive, short_repr
from graphbandits.posteriors.base import Observations, Posterior

#: Array of a state: the time up to which each trial is discounted, (B,).
TIME = "discounted_to"


def is_discounted(posterior: object) -> bool:
    """Return whether a posterior has a discount below 1 or a half-life.

    Parameters
    ----------
    posterior : Posterior
        The posterior.

    Returns
    -------
    bool
        Whether it discounts old observations.

    Examples
    --------
    >>> from graphbandits.posteriors import BetaBernoulli
    >>> is_discounted(BetaBernoulli.of(arms=2)), is_discounted(BetaBernoulli.of(2, discount=0.99))
    (False, True)
    """
    if not hasattr(posterior, "discounted"):  # a plug-in may have a parameter of such a name
        return False
    discount, half_life = getattr(posterior, "discount", 1.0), getattr(posterior, "half_life", None)
    return discount != 1.0 or half_life is not None


def discounted(posterior: Posterior, state: State, now: float) -> State:
    """Return a state discounted up to a time; unchanged if the posterior is not discounted.

    Parameters
    ----------
    posterior : Posterior
        The posterior.
    state : dict of str to ndarray
        Its state, which is not modified. Other arrays are kept.
    now : float
        The time: rounds for ``discount``, units of ``half_life`` otherwise. An earlier time changes
        nothing.

    Returns
    -------
    dict of str to ndarray
        The state at this time.

    Examples
    --------
    >>> from graphbandits.posteriors import BetaBernoulli
    >>> posterior = BetaBernoulli.of(arms=1, discount=0.5)
    >>> seen = Observations(np.array([0]), np.array([0]), np.array([1.0]), time=np.array([1.0]))
    >>> state = posterior.update(posterior.init(trials=1), seen)
    >>> discounted(posterior, state, now=3)["a"]  # 1 + 0.5^2
    array([[1.25]])
    """
    able: Any = posterior
    return cast(State, able.discounted(state, now)) if is_discounted(posterior) else state


def at_decision(posterior: Posterior, state: State, t: int, now: float) -> State:
    """Return a state discounted up to the decision of round t at the time ``now``.

    With ``discount`` these are all rounds before t.

    >>> from graphbandits.posteriors import BetaBernoulli
    >>> posterior = BetaBernoulli.of(arms=1, discount=0.5)
    >>> at_decision(posterior, posterior.init(trials=1), t=3, now=3.0)["discounted_to"]
    array([2.])
    """
    if not is_discounted(posterior):
        return state
    by_round = getattr(posterior, "half_life", None) is None
    return discounted(posterior, state, float(t - 1) if by_round else now)


def with_time(posterior: Posterior, seen: Observations, now: float) -> Observations:
    """Return observations with the time ``now``, if they have none and the posterior uses it."""
    if seen.time is not None or not is_discounted(posterior):
        return seen
    return dataclasses.replace(seen, time=np.full(len(seen.arm), now))


class DiscountedPosterior:
    """Base class of posteriors that can discount old observations.

    A subclass is a dataclass with the fields ``discount`` and ``half_life``. If one of them is
    used, the state has one more array, ``discounted_to`` of shape (B,): the time up to which each
    trial is discounted. It starts at 0 for ``discount``, and for ``half_life`` at -inf: such a
    state takes the first time that it meets.
    """

    discount: float
    half_life: float | None

    def _prior_state(self) -> dict[str, Floats]:
        """Return the arrays (K, ...) of the state before any observation."""
        raise NotImplementedError

    def _check_discount(self) -> None:
        """Check the parameters, and store them as floats."""
        discount = check_positive(self.discount, "discount")
        if discount > 1.0:
            raise InputError(f"discount must be at most 1, which means none; not {discount:g}")
        object.__setattr__(self, "discount", discount)
        if self.half_life is None:
            return
        object.__setattr__(self, "half_life", check_positive(self.half_life, "half_life"))
        if discount < 1.0:
            raise InputError(
                f"discount={discount:g} and half_life={self.half_life:g} were given: use discount "
                "for a factor per round, or half_life for an age in time, not both"
            )

    def _initial_time(self, trials: int) -> State:
        if not is_discounted(self):
            return {}
        return {TIME: np.full(trials, 0.0 if self.half_life is None else -np.inf)}

    def discounted(self, state: State, now: float) -> State:
        """See :func:`discounted`."""
        if not is_discounted(self) or not (self._times(state) < now).any():
            return state
        names = (*self._prior_state(), TIME)
        moved = state | {name: np.array(state[name], np.float64) for name in names}
        self._move(moved, np.full(len(moved[TIME]), float(now)))
        return moved

    def _move(self, state: State, to: Floats) -> None:
        """Discount each trial of a state up to a time, in place; not if the time is past."""
        time = self._times(state)
        later = to > time
        aged = later & (time > -np.inf)
        if aged.any():
            # a slice does not copy the rows
            rows = slice(None) if aged.all() else aged
            self._shrink(state, rows, self._factor((to - time)[rows]))
        time[later] = to[later]

    def _factor(self, age: Floats) -> Floats:
        """Return the weight of an observation of each age."""
        if self.half_life is None:
            return np.asarray(self.discount**age)
        return np.exp2(-age / self.half_life)

    def _shrink(self, state: State, rows: Any, factor: Floats) -> None:
        """Move natural parameters of some trials towards the prior, by a factor for each trial."""
        # S_0 + f (S - S_0) is not below S_0, and does not change the prior. Families whose arrays
        # are not natural parameters override this method
        for name, prior in self._prior_state().items():
            values = cast(Floats, state[name])
            by_row = factor.reshape(-1, *(1,) * (values.ndim - 1))
            values[rows] = prior + by_row * (values[rows] - prior)

    def _powers(self, state: State, trial: Ints, seen: Observations) -> Floats | None:
        """Discount a state up to its latest observations, in place; return their weights by age."""
        if seen.time is None or not is_discounted(self):
            return None
        when, time = np.asarray(seen.time), self._times(state)
        if when.shape != trial.shape or when.dtype.kind not in "iuf" or not np.isfinite(when).all():
            raise InputError(
                "the time of an observation must be a finite number, one per observation; got "
                f"{short_repr(seen.time)}"
            )
        if not ((trial >= 0) & (trial < len(time))).all():
            raise InputError(f"observations need a trial from 0 to {len(time) - 1}")
        latest = time.copy()
        np.maximum.at(latest, trial, when)
        self._move(state, latest)
        age = latest[trial] - when
        return self._factor(age) if age.any() else None

    def _times(self, state: State) -> Floats:
        """Return the times of a state; raise InputError if it has no such array."""
        found = np.asarray(state.get(TIME))
        trials = len(state[next(iter(self._prior_state()))])
        if found.dtype != np.float64 or found.shape != (trials,):
            raise InputError(
                f"a state of a discounted posterior needs an array {TIME} of {trials} floats, one "
                f"per trial, as created by init(trials); got {found.dtype} {found.shape}"
            )
        return found

    def _check_times(self, state: State) -> None:
        if not is_discounted(self):
            return
        found = self._times(state)
        valid = np.isfinite(found) | ((found == -np.inf) & (self.half_life is not None))
        if not valid.all():
            raise InputError(
                f"the state has {TIME} = {found[~valid][0]:g}; it must be a finite number: create "
                "states with init(trials) and change them with update only"
            )

    def _check_undiscounted(self, what: str) -> None:
        if is_discounted(self):
            raise InputError(
                f"{what} is not defined for a discounted posterior, whose likelihood is not a "
                "probability of the observations: use it without discount and half_life"
            )
