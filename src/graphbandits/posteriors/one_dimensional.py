"""Base classes of posteriors with independent arms and densities of their means."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from functools import cached_property
from operator import is_not
from typing import Any, ClassVar

import numpy as np

from graphbandits._rng_kernels import within
from graphbandits._types import Floats, Ints, State
from graphbandits.errors import InputError, NumericalError, check_probability
from graphbandits.posteriors._belief_kernels import marginal_beliefs
from graphbandits.posteriors._quadrature_kernels import SIMULATION, STRICT
from graphbandits.posteriors.base import (
    REAL,
    Beliefs,
    Observations,
    Support,
    check_numbers,
    check_weights,
)
from graphbandits.posteriors.updates import DiscountedPosterior
from graphbandits.rng import Stream

#: Accuracy settings, by name.
SETTINGS = {"simulation": SIMULATION, "strict": STRICT}
#: Largest accepted error of the sum of alpha.
TOLERANCE = 1e-10
#: The relative error of smaller values is not estimated.
LEAST_VALUE = 1e-30
#: Upper limit of distinct posteriors that can be best: the time grows with all pairs of them.
MOST_DISTINCT = 10_000
#: Uniform draws are at least this, so that a quantile is finite: half of their step.
LEAST_UNIFORM = 2.0**-54

Limits = dict[str, tuple[float, float]]


class ConjugatePosterior(DiscountedPosterior):
    """Prior, state and checks that the families have in common.

    A family is a frozen dataclass with one array per parameter of the prior, and ``accuracy``,
    ``discount`` and ``half_life`` as its last fields.

    Attributes
    ----------
    prior_limits, state_limits : dict of str to (float, float)
        Names and ranges of the parameters of the prior, and of the arrays of a state.
    """

    accuracy: str
    support: ClassVar[tuple[float, float]]
    rewards: ClassVar[Support]
    weighted: ClassVar[bool] = False
    prior_limits: ClassVar[Limits]
    state_limits: ClassVar[Limits]

    def __post_init__(self) -> None:
        check_accuracy(self.accuracy)
        self._check_discount()
        first = next(iter(self.prior_limits))
        shape: tuple[int, ...] | None = None
        for name, limits in self.prior_limits.items():
            values = check_numbers(getattr(self, name), self._label(name), *limits)
            shape = values.shape if shape is None else shape
            if values.ndim != 1 or not values.size or values.shape != shape:
                raise InputError(
                    f"a prior needs one number per arm, in arrays of the same length; got "
                    f"{first} of the shape {shape} and {name} of the shape {values.shape}"
                )
            values.setflags(write=False)  # shared by policies, trials and the world
            object.__setattr__(self, name, values)

    def _label(self, name: str) -> str:
        """Return the name of a parameter in messages."""
        return name.removesuffix("s")  # users give 'sd', the array of all arms is 'sds'

    @cached_property
    def _prior_shape(self) -> tuple[int, ...]:
        """Shape (K, ...) of the arrays of the prior."""
        shape: tuple[int, ...] = getattr(self, next(iter(self.prior_limits))).shape
        return shape

    @property
    def arms(self) -> int:
        return self._prior_shape[0]

    def _prior_state(self) -> dict[str, Floats]:
        return {name: getattr(self, name) for name in self.state_limits}

    def init(self, trials: int) -> State:
        prior = self._prior_state().items()
        rows = {name: np.repeat(values[None], trials, axis=0) for name, values in prior}
        return rows | self._initial_time(trials)

    def check_state(self, state: State) -> None:
        self._checked(state)
        self._check_times(state)

    def _checked(self, state: State) -> list[Floats]:
        """Return the arrays of a state, checked because the kernels check nothing."""
        found = self._arrays(state)
        for values, (name, (low, high)) in zip(found, self.state_limits.items(), strict=True):
            row = values.reshape(1, -1)
            if not within(row, row, low, high):
                place = tuple(np.argwhere(~((values >= low) & (values <= high)))[0].tolist())
                raise InputError(
                    f"the state has {name} = {values[place]:g} for arm {place[1]} in trial "
                    f"{place[0]}; it must be from {low:g} to {high:g}: create states with "
                    "init(trials) and change them with update only"
                )
        return found

    def _arrays(self, state: State) -> list[Floats]:
        """Return the arrays (B, K, ...) of a state as floats, without checking values."""
        found: list[Floats] = []
        shape: tuple[int, ...] = ()
        for name in self.state_limits:
            values = np.asarray(state.get(name))
            shape = shape or values.shape[:1] + self._prior_shape
            if values.dtype.kind not in "iuf" or values.shape != shape:
                arrays = {one: np.asarray(state.get(one)) for one in self.state_limits}
                got = ", ".join(f"{one}: {v.dtype} {v.shape}" for one, v in arrays.items())
                raise InputError(
                    f"a state needs numeric arrays {', '.join(self.state_limits)} of the shape "
                    f"(trials, {', '.join(map(str, self._prior_shape))}), as created by "
                    f"init(trials); got {got}"
                )
            found.append(np.ascontiguousarray(values, np.float64))
        return found

    def _in_place(self, state: State) -> list[Floats]:
        """Return the arrays of a state for an update in place."""
        found = self._arrays(state)
        if any(map(is_not, found, map(state.get, self.state_limits))):
            raise InputError(
                "update works in place and needs a state of float64 arrays in C order: create it "
                "with init(trials)"
            )
        return found

    def _weights(self, state: State, seen: Observations) -> Floats | None:
        """Return the weights of observations; None if all are 1.

        With a discount, the state is discounted up to the latest observations, in place, and the
        weights of the others decrease with their age.
        """
        if not len(seen.trial) == len(seen.arm) == len(seen.reward):
            raise self._misfit()
        weight = check_weights(seen, self)
        power = self._powers(state, seen.trial, seen)
        if weight is None or power is None:
            return power if weight is None else weight
        return weight * power

    def _misfit(self) -> InputError:
        return InputError(
            "observations need a trial of the state, an arm from 0 to "
            f"{self.arms - 1} and a reward, in arrays of the same length"
        )

    def quantile(self, state: State, level: float) -> Floats:
        level = check_probability(level, "the level of a quantile")
        arrays = self._checked(state)
        if level in (0.0, 1.0):
            return np.full(arrays[0].shape[:2], self.support[int(level)])
        return self._inverse(arrays, level)

    def _inverse(self, arrays: list[Floats], level: Any) -> Floats:
        """Return the quantiles (B, K) of a level, from the arrays of a checked state."""
        raise NotImplementedError

    def check_reward(self, reward: float) -> float:
        return self.rewards.check(reward)


class MarginalPosterior(ConjugatePosterior):
    """A family whose statistics are computed from the density of the mean of each arm.

    Attributes
    ----------
    family : int
        Number of the family in :mod:`graphbandits.posteriors._family_kernels`.
    """

    outcomes: ClassVar[tuple[float, ...] | None] = None
    rewards: ClassVar[Support] = REAL
    family: ClassVar[int]

    def _kernel_common(self) -> Floats:
        """Return the parameters of the kernel that all arms share."""
        return np.zeros(1)

    def _kernel_parameters(self, state: State) -> Floats:
        """Return the parameters (B, K, P) of the kernel for a checked state."""
        return np.stack(self._checked(state), axis=-1)

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
        units = {"alpha": np.ones_like(spread), "delta": spread}
        if information:
            units["h"] = np.ones_like(spread)
        if variance:
            units["v"] = spread**2
        return with_error(found, fine, units, np.full(len(spread), 1e-12), accuracy)

    def _integrated(
        self, state: State, accuracy: str, variance: bool, information: bool, cut: float
    ) -> tuple[Beliefs, Floats]:
        """Compute the beliefs and the spread of each trial, with panels scaled by ``cut``."""
        parameters = np.ascontiguousarray(self._kernel_parameters(state), np.float64)
        trials, arms, _ = parameters.shape
        alpha, delta, h, v = np.empty((4, trials, arms))
        rho, spread, defect = np.empty((3, trials))
        settings = (
            *(SETTINGS[accuracy], accuracy == "strict", cut),
            *(bool(information), bool(variance), MOST_DISTINCT),
        )
        distinct = self._run_kernel(parameters, *settings, alpha, delta, h, v, rho, spread, defect)
        if distinct > MOST_DISTINCT:
            raise InputError(
                f"{distinct} arms that can be best have different posteriors; at most "
                f"{MOST_DISTINCT} are supported, because the time grows with all pairs. Arms with "
                "the same prior and rewards count once: use the same prior for many arms"
            )
        check_converged(defect, state)
        if not information:
            h.fill(np.nan)
        return Beliefs(alpha, delta, h, rho, v=v if variance else None), spread

    def _run_kernel(self, parameters: Floats, *others: Any) -> int:
        """Fill the arrays of statistics; return the number of distinct posteriors."""
        return marginal_beliefs(self.family, self._kernel_common(), parameters, *others)

    def _observed(self, state: State, seen: Observations) -> tuple[Ints, Ints, Floats, Floats]:
        """Return the columns of observations with their weights; raise InputError if invalid."""
        weight = self._weights(state, seen)
        reward = np.ascontiguousarray(seen.reward, np.float64)
        if not np.isfinite(reward).all():
            raise InputError(f"a reward must be {self.rewards.description}")
        trial, arm = (np.ascontiguousarray(v, np.int64) for v in (seen.trial, seen.arm))
        return trial, arm, reward, np.ones(len(trial)) if weight is None else weight

    def sample(self, state: State, stream: Stream) -> Floats:
        return self._inverse(self._checked(state), self._uniform(stream))

    def _uniform(self, stream: Stream) -> Floats:
        return np.maximum(stream.uniform(self.arms), LEAST_UNIFORM)


def check_accuracy(accuracy: object) -> str:
    if not isinstance(accuracy, str) or accuracy not in SETTINGS:
        raise InputError(f"accuracy must be {' or '.join(map(repr, SETTINGS))}, not {accuracy!r}")
    return accuracy


def check_converged(defect: Floats, state: Mapping[str, object]) -> None:
    """Raise NumericalError if the probabilities of being best do not add up to 1."""
    row = defect[None]
    if not within(row, row, -math.inf, TOLERANCE):
        worst = int(defect.argmax())
        raise NumericalError(
            f"the quadrature did not converge (the probabilities of being best add up to 1 "
            f"within {defect[worst]:.1e}); please report these posteriors: "
            + ", ".join(f"{name} = {np.asarray(state[name])[worst].tolist()}" for name in state)
        )


def with_error(
    found: Beliefs, fine: Beliefs, units: Mapping[str, Floats], unseen: Floats, accuracy: str
) -> Beliefs:
    """Add the largest difference of beliefs from finer ones to them.

    ``units`` are the scales (B,) of the statistics, and ``unseen`` are errors (B,) that both have.
    """
    if accuracy == "simulation":  # an omitted probability e is up to e log(1/e) of information
        unseen = unseen + SIMULATION.reach * math.exp(-SIMULATION.reach)
    error = unseen
    for name, unit in units.items():
        value, better = getattr(found, name), getattr(fine, name)
        scale = np.broadcast_to(unit[:, None], better.shape)
        if accuracy == "strict":
            scale = np.where(better > LEAST_VALUE * scale, better, np.inf)
        error = np.maximum(error, unseen + (np.abs(value - better) / scale).max(axis=1))
    return dataclasses.replace(found, error=error)
