"""Base class of posteriors with independent arms and one-dimensional densities of their means."""

from __future__ import annotations

import dataclasses
import math
from typing import Any, ClassVar

import numpy as np

from graphbandits._types import Floats, Ints, State
from graphbandits.errors import InputError, NumericalError, short_repr
from graphbandits.posteriors._belief_kernels import marginal_beliefs
from graphbandits.posteriors._quadrature_kernels import SIMULATION
from graphbandits.posteriors.base import REAL, Beliefs, Observations, Support
from graphbandits.posteriors.beta_bernoulli import (
    LEAST_VALUE,
    SETTINGS,
    TOLERANCE,
    check_accuracy,
)
from graphbandits.posteriors.updates import DiscountedPosterior

#: Upper limit of distinct posteriors that can be best: the time grows with all pairs of them.
MOST_DISTINCT = 10_000
#: Uniform draws are at least this, so that a quantile is finite: half of their step.
LEAST_UNIFORM = 2.0**-54

Limits = dict[str, tuple[float, float]]


class MarginalPosterior(DiscountedPosterior):
    """Statistics, states and checks that the families have in common.

    A family is a frozen dataclass with one array per parameter of the prior, and ``accuracy``,
    ``discount`` and ``half_life`` as its last fields.

    Attributes
    ----------
    prior_limits, state_limits : dict of str to (float, float)
        Names and ranges of the parameters of the prior, and of the arrays of a state.
    family : int
        Number of the family in :mod:`graphbandits.posteriors._family_kernels`.
    """

    accuracy: str
    outcomes: ClassVar[tuple[float, ...] | None] = None
    rewards: ClassVar[Support] = REAL
    weighted: ClassVar[bool] = False
    prior_limits: ClassVar[Limits]
    state_limits: ClassVar[Limits]
    family: ClassVar[int]

    def __post_init__(self) -> None:
        check_accuracy(self.accuracy)
        self._check_discount()
        first = next(iter(self.prior_limits))
        shape: tuple[int, ...] | None = None
        for name, limits in self.prior_limits.items():
            values = _check_numbers(getattr(self, name), name, *limits)
            shape = values.shape if shape is None else shape
            if values.ndim != 1 or not values.size or values.shape != shape:
                raise InputError(
                    f"a prior needs one number per arm, in arrays of the same length; got "
                    f"{first} of the shape {shape} and {name} of the shape {values.shape}"
                )
            values.setflags(write=False)  # shared by policies, trials and the world
            object.__setattr__(self, name, values)

    @property
    def arms(self) -> int:
        return len(getattr(self, next(iter(self.prior_limits))))

    def _prior_state(self) -> dict[str, Floats]:
        return {name: getattr(self, name) for name in self.state_limits}

    def _kernel_common(self) -> Floats:
        """Return the parameters of the kernel that all arms share."""
        return np.zeros(1)

    def _kernel_parameters(self, state: State) -> Floats:
        """Return the parameters (B, K, P) of the kernel for a checked state."""
        return np.stack(self._checked(state), axis=-1)

    def init(self, trials: int) -> State:
        prior = {name: np.tile(values, (trials, 1)) for name, values in self._prior_state().items()}
        return prior | self._initial_time(trials)

    def beliefs(
        self,
        state: State,
        *,
        accuracy: str | None = None,
        estimate: bool = False,
        variance: bool = False,
        information: bool = True,
    ) -> Beliefs:
        """Compute alpha, Delta, h and rho by quadrature.

        alpha_i = int f_i prod_{k != i} F_k; Delta_i = E[max theta] - m_i; and h_i is the mutual
        information of the next reward of arm i and the best arm, from the probabilities of being
        best after each reward. Parameters: see :meth:`BetaBernoulli.beliefs`. The error of regrets
        is relative to the largest standard deviation of an arm that can be best. Without
        ``information`` h is NaN, and the computation takes a tenth of the time.
        """
        accuracy = self.accuracy if accuracy is None else check_accuracy(accuracy)
        found, spread = self._integrated(state, accuracy, variance, information, 1.0)
        if not estimate:
            return found
        fine, _ = self._integrated(state, accuracy, variance, information, 0.5)
        unseen = 1e-12
        if accuracy == "simulation":  # an omitted probability e is up to e log(1/e) of information
            unseen += SIMULATION.reach * math.exp(-SIMULATION.reach)
        error = np.full(len(spread), unseen)
        scales = {"alpha": np.ones_like(spread), "delta": spread}
        if information:
            scales["h"] = np.ones_like(spread)
        if variance:
            scales["v"] = spread**2
        for name, unit in scales.items():
            value, better = getattr(found, name), getattr(fine, name)
            scale = np.broadcast_to(unit[:, None], better.shape)
            if accuracy == "strict":
                scale = np.where(better > LEAST_VALUE * scale, better, np.inf)
            error = np.maximum(error, unseen + (np.abs(value - better) / scale).max(axis=1))
        return dataclasses.replace(found, error=error)

    def _integrated(
        self, state: State, accuracy: str, variance: bool, information: bool, cut: float
    ) -> tuple[Beliefs, Floats]:
        """Compute the beliefs and the spread of each trial, with panels scaled by ``cut``."""
        parameters = np.ascontiguousarray(self._kernel_parameters(state), np.float64)
        trials, arms, _ = parameters.shape
        alpha, delta, h, v = np.empty((4, trials, arms))
        rho, spread, defect = np.empty((3, trials))
        distinct = self._run_kernel(
            parameters,
            SETTINGS[accuracy],
            accuracy == "strict",
            cut,
            bool(information),
            bool(variance),
            MOST_DISTINCT,
            alpha,
            delta,
            h,
            v,
            rho,
            spread,
            defect,
        )
        if distinct > MOST_DISTINCT:
            raise InputError(
                f"{distinct} arms that can be best have different posteriors; at most "
                f"{MOST_DISTINCT} are supported, because the time grows with all pairs. Arms with "
                "the same prior and rewards count once: use the same prior for many arms"
            )
        if not (defect <= TOLERANCE).all():
            worst = int(np.argmax(np.nan_to_num(defect, nan=np.inf)))
            raise NumericalError(
                f"the quadrature did not converge (the probabilities of being best add up to 1 "
                f"within {defect[worst]:.1e}); please report these posteriors: "
                + ", ".join(f"{name} = {np.asarray(state[name])[worst].tolist()}" for name in state)
            )
        if not information:
            h.fill(np.nan)
        return Beliefs(alpha, delta, h, rho, v=v if variance else None), spread

    def _run_kernel(self, parameters: Floats, *others: Any) -> int:
        """Fill the arrays of statistics; return the number of distinct posteriors."""
        return marginal_beliefs(self.family, self._kernel_common(), parameters, *others)

    def check_state(self, state: State) -> None:
        self._checked(state)
        self._check_times(state)

    def _checked(self, state: State) -> list[Floats]:
        """Return the arrays of a state, checked because the kernels check nothing."""
        found = self._arrays(state)
        for values, (name, (low, high)) in zip(found, self.state_limits.items(), strict=True):
            wrong = ~((values >= low) & (values <= high))
            if wrong.any():
                trial, arm = np.argwhere(wrong)[0].tolist()
                raise InputError(
                    f"the state has {name} = {values[trial, arm]:g} for arm {arm} in trial "
                    f"{trial}; it must be from {low:g} to {high:g}: create states with "
                    "init(trials) and change them with update only"
                )
        return found

    def _arrays(self, state: State) -> list[Floats]:
        """Return the arrays of a state as (B, K) arrays of floats, without checking values."""
        found = [np.asarray(state.get(name)) for name in self.state_limits]
        numbers = all(values.dtype.kind in "iuf" for values in found)
        shapes = {values.shape for values in found}
        if not numbers or len(shapes) > 1 or found[0].shape[1:] != (self.arms,):
            got = ", ".join(
                f"{name}: {values.dtype} {values.shape}"
                for name, values in zip(self.state_limits, found, strict=True)
            )
            raise InputError(
                f"a state needs numeric arrays {', '.join(self.state_limits)} of the shape "
                f"(trials, {self.arms}), as created by init(trials); got {got}"
            )
        return [np.ascontiguousarray(values, np.float64) for values in found]

    def _in_place(self, state: State) -> list[Floats]:
        """Return the arrays of a state for an update in place."""
        found = self._arrays(state)
        if any(values is not state[name] for name, values in zip(state, found, strict=False)):
            raise InputError(
                "update works in place and needs a state of float64 arrays in C order: create it "
                "with init(trials)"
            )
        return found

    def _observed(self, state: State, seen: Observations) -> tuple[Ints, Ints, Floats, Floats]:
        """Return the columns of observations with their weights; raise InputError if invalid."""
        # with a discount, the state is discounted up to the latest observations, in place, and the
        # weights of the others decrease with their age
        given: Any = getattr(seen, "weight", None)
        weight = np.ones(len(seen.trial)) if given is None else np.asarray(given, np.float64)
        if not len(seen.trial) == len(seen.arm) == len(seen.reward) == len(weight):
            raise self._misfit()
        if not (np.isfinite(weight) & (weight >= 0.0)).all():
            raise InputError(
                f"a weight of an observation must be a finite number of at least 0, not "
                f"{short_repr(weight.tolist())}"
            )
        if not self.weighted and not (weight == 1.0).all():
            raise InputError(
                f"{type(self).__name__} takes observations of weight 1 only, not "
                f"{weight[weight != 1.0][0]:g}"
            )
        rewards = np.ascontiguousarray(seen.reward, np.float64)
        if not np.isfinite(rewards).all():
            raise InputError(f"a reward must be {self.rewards.description}")
        trial, arm = (np.ascontiguousarray(v, np.int64) for v in (seen.trial, seen.arm))
        power = self._powers(state, trial, seen)
        return trial, arm, rewards, weight if power is None else weight * power

    def _misfit(self) -> InputError:
        return InputError(
            "observations need a trial of the state, an arm from 0 to "
            f"{self.arms - 1} and a reward, in arrays of the same length"
        )

    def check_reward(self, reward: float) -> float:
        return self.rewards.check(reward)


def _check_numbers(values: object, name: str, low: float, high: float) -> Floats:
    """Return numbers of a range as a new array of floats."""
    try:
        array = np.asarray(values)
    except ValueError:  # nested lists of different lengths
        array = np.empty(0, object)
    name = name.removesuffix("s")  # users give 'sd', the array of all arms is 'sds'
    if array.dtype.kind not in "iuf":
        raise InputError(f"{name} must be a number, not {short_repr(values)}")
    array = np.array(array, np.float64, order="C")
    wrong = ~((array >= low) & (array <= high))
    if wrong.any():
        raise InputError(f"{name} must be from {low:g} to {high:g}, not {array[wrong].flat[0]:g}")
    return array


def clipped(values: Floats, limits: tuple[float, float]) -> Floats:
    return np.clip(values, *limits)
