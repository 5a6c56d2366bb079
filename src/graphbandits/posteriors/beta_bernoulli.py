"""Beta-Bernoulli arms: theta_i ~ Beta(a_i, b_i) independently, outcomes 0 and 1."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from decimal import Decimal
from numbers import Real
from typing import ClassVar

import numpy as np
from scipy.special import betainc, betaincinv, betaln, expit, xlog1py, xlogy

from graphbandits._rng_kernels import within
from graphbandits._types import Floats, Ints, State
from graphbandits.errors import (
    InputError,
    NumericalError,
    check_integer,
    check_probability,
    short_repr,
)
from graphbandits.posteriors._beta_kernels import add_outcomes, beliefs_kernel
from graphbandits.posteriors._group_kernels import group_arms
from graphbandits.posteriors._information_kernels import information_kernel
from graphbandits.posteriors._shape_kernels import SIMULATION, STRICT
from graphbandits.posteriors.base import Beliefs, Observations
from graphbandits.registry import register
from graphbandits.rng import Stream

#: Parameters of a prior are taken in this range.
LEAST_PARAMETER = 1e-3
MOST_PARAMETER = 1e9
#: Those of a state may be larger, by an observation in each of up to 2^32 rounds.
MOST_IN_STATE = 1e10
#: The settings of accuracy, by name.
SETTINGS = {"simulation": SIMULATION, "strict": STRICT}
#: The largest error of the sum of alpha that is let through.
TOLERANCE = 1e-10
#: An error of a smaller value than this is not estimated relatively.
LEAST_VALUE = 1e-30
#: More distinct posteriors than this that can still be best would take minutes: all pairs count.
MOST_DISTINCT = 100_000
#: The most arms seen together: there is a table of all their outcomes.
MOST_TOGETHER = 22
#: A quantile is one if the distribution function there, or a step beside it, is as near as this.
_NEAR = 1e-6
#: Of a logit in [-710, 710], to rounding.
_HALVINGS = 64


@register("posterior", "beta-bernoulli")
@dataclass(frozen=True, eq=False)
class BetaBernoulli:
    """The prior Beta(a_i, b_i) of each arm, its update (a, b) += (y, 1 - y), and the beliefs.

    ``accuracy`` is what :meth:`beliefs` keeps to: "simulation" (1e-10 absolutely, fast) or
    "strict" (1e-8 relatively for every value above 1e-30).

    >>> posterior = BetaBernoulli.of(arms=2)
    >>> posterior.beliefs(posterior.init(trials=1)).delta
    array([[0.16666667, 0.16666667]])
    """

    a: Floats
    b: Floats
    accuracy: str = "simulation"
    support: ClassVar[tuple[float, float]] = (0.0, 1.0)
    outcomes: ClassVar[tuple[float, ...] | None] = (0.0, 1.0)

    def __post_init__(self) -> None:
        a, b = (check_parameters(getattr(self, name)) for name in ("a", "b"))
        if a.shape != b.shape or a.ndim != 1 or not a.size:
            raise InputError(
                f"a Beta prior has one a and one b for each arm; got {a.shape} and {b.shape}"
            )
        for name, values in (("a", a), ("b", b)):
            values.setflags(write=False)  # policies, trials and the world share it
            object.__setattr__(self, name, values)
        check_accuracy(self.accuracy)

    @classmethod
    def of(cls, arms: int, a: float = 1.0, b: float = 1.0) -> BetaBernoulli:
        """The same prior Beta(a, b) for every arm."""
        count = check_integer(arms, "arms")
        return cls(np.repeat(check_parameters(a), count), np.repeat(check_parameters(b), count))

    @classmethod
    def examples(cls) -> list[BetaBernoulli]:
        """Priors that the contract of a posterior is tried on."""
        return [cls.of(3), cls(np.array([1.0, 2.5, 0.5, 4.0]), np.array([3.0, 1.5, 0.75, 2.0]))]

    @property
    def arms(self) -> int:
        return len(self.a)

    def init(self, trials: int) -> State:
        """The prior, for each trial: arrays ``a`` and ``b`` of shape (B, K)."""
        return {name: np.tile(getattr(self, name), (trials, 1)) for name in ("a", "b")}

    def update(self, state: State, seen: Observations) -> State:
        """Count the outcomes, in place."""
        a, b = self._arrays(state)
        if a is not state["a"] or b is not state["b"]:
            raise InputError(
                "outcomes are counted in place, in arrays of float64 in C order: start from "
                "init(trials)"
            )
        even = len(seen.trial) == len(seen.arm) == len(seen.reward)
        if not even or not add_outcomes(a, b, seen.trial, seen.arm, seen.reward):
            raise InputError(
                f"an observation is a trial from 0 to {len(a) - 1}, an arm from 0 to "
                f"{self.arms - 1} and a reward, in three arrays of one length"
            )
        return state

    def beliefs(
        self,
        state: State,
        accuracy: str | None = None,
        estimate: bool = False,
        variance: bool = False,
    ) -> Beliefs:
        """alpha, Delta and h by quadrature, to rounding (Russo and Van Roy 2018, Algorithm 2).

        alpha_i = int f_i prod_{k != i} F_k; Delta_i = E[max theta] - m_i; and
        h_i = sum_j alpha_j KL(M_ji || m_i), M_ji the mean of theta_i given that j is best. With
        ``variance`` also v_i = sum_j alpha_j (M_ji - m_i)^2, at most h_i / 2.

        With ``estimate`` all is computed once more with panels of half the width, and ``error``
        is the largest difference, absolute in simulation, relative above 1e-30 where strict; with
        the rounding of densities on top, and in simulation what was left out in the tails.

        >>> posterior = BetaBernoulli([500000, 500100], [500000, 499900])
        >>> found = posterior.beliefs(posterior.init(trials=1), "strict", estimate=True)
        >>> found.alpha, bool(found.error[0] < 1e-11)
        (array([[0.44376852, 0.55623148]]), True)
        """
        accuracy = self.accuracy if accuracy is None else check_accuracy(accuracy)
        found = self._integrated(state, accuracy, variance, 1.0)
        if not estimate:
            return found
        fine = self._integrated(state, accuracy, variance, 0.5)
        # log densities are rounded relative to z sqrt(a + b), z standard deviations from the mode
        sizes = np.add(*self._parameters(state))
        unseen = 1e-12 + 1e-15 * np.sqrt(sizes.max(axis=1))
        if accuracy == "simulation":  # a chance e left out is up to e log(1/e) of information
            unseen += SIMULATION.reach * math.exp(-SIMULATION.reach)
        error = unseen
        for name in ("alpha", "delta", "h", "v") if variance else ("alpha", "delta", "h"):
            value, better = getattr(found, name), getattr(fine, name)
            scale = np.where(better > LEAST_VALUE, better, np.inf) if accuracy == "strict" else 1.0
            error = np.maximum(error, unseen + (np.abs(value - better) / scale).max(axis=1))
        return dataclasses.replace(found, error=error)

    def check_state(self, state: State) -> None:
        """Refuse a state whose parameters are not in the range that the statistics are right in."""
        self._parameters(state)

    def _parameters(self, state: State) -> tuple[Floats, Floats]:
        """a and b of a state as the kernels read them, which check nothing: (B, K), in range."""
        a, b = self._arrays(state)
        if not within(a, b, LEAST_PARAMETER, MOST_IN_STATE):
            for name, values in (("a", a), ("b", b)):
                wrong = np.argwhere(~((values >= LEAST_PARAMETER) & (values <= MOST_IN_STATE)))
                if len(wrong):
                    trial, arm = wrong[0].tolist()
                    raise InputError(
                        f"the state has {name} = {values[trial, arm]:g} for arm {arm} in trial "
                        f"{trial}; it must be from {LEAST_PARAMETER:g} to {MOST_IN_STATE:g}: a "
                        "state is made by init(trials), and changed by update only"
                    )
        return a, b

    def _arrays(self, state: State) -> tuple[Floats, Floats]:
        """a and b of a state as arrays of floats, (B, K), of any values."""
        a, b = np.asarray(state.get("a")), np.asarray(state.get("b"))
        numbers = a.dtype.kind in "iuf" and b.dtype.kind in "iuf"
        if not numbers or a.shape != b.shape or a.shape[1:] != (len(self.a),):
            raise InputError(
                f"a state has arrays of numbers a and b of the shape (trials, {self.arms}), as "
                f"init(trials) makes them; got a: {a.dtype} {a.shape}, b: {b.dtype} {b.shape}"
            )
        return np.ascontiguousarray(a, np.float64), np.ascontiguousarray(b, np.float64)

    def _integrated(self, state: State, accuracy: str, variance: bool, cut: float) -> Beliefs:
        """The beliefs, with the widths of all panels scaled by ``cut``."""
        a, b = self._parameters(state)
        alpha, delta, h = (np.empty(a.shape) for _ in range(3))
        v = np.empty(a.shape if variance else (0, 0))
        rho, defect = np.empty((2, len(a)))
        distinct = beliefs_kernel(
            a,
            b,
            SETTINGS[accuracy],
            accuracy == "strict",
            cut,
            MOST_DISTINCT,
            alpha,
            delta,
            h,
            v,
            rho,
            defect,
        )
        if distinct > MOST_DISTINCT:
            raise InputError(
                f"{distinct} arms that can still be best all have different posteriors, and all "
                f"pairs of them count: at most {MOST_DISTINCT}. Arms with the same prior and "
                "outcomes count once: give arms one prior, or rounded ones"
            )
        _check_settled(defect, a, b)
        return Beliefs(alpha, delta, h, rho, v=v if variance else None)

    def information(
        self, state: State, start: Ints, arm: Ints, chance: Floats, accuracy: str | None = None
    ) -> Floats:
        """What rows of arms seen together tell about the best arm, in nats: (B, rows).

        Row i of trial t shows each of ``arm[start[t, i]:start[t, i + 1]]``, with its ``chance``; if
        ``start`` has one line, it is that of all trials. Where the arms N are seen, this is
        I(A*; Y_N) = sum over y, j of P(y, j) log(P(j | y) / P(j)), and else the mean over N.

        >>> posterior = BetaBernoulli.of(arms=2)
        >>> rows = np.array([[0, 1, 3]]), np.array([0, 0, 1]), np.ones(3)  # arm 0; both
        >>> posterior.information(posterior.init(trials=1), *rows)
        array([[0.05663301, 0.12129299]])
        """
        accuracy = self.accuracy if accuracy is None else check_accuracy(accuracy)
        a, b = self._parameters(state)
        _check_rows(start, arm, chance, a.shape)
        longest = int(np.diff(start, axis=1).max())
        if longest > MOST_TOGETHER:
            raise InputError(
                f"the information of {longest} arms seen together takes 2^{longest} outcomes: at "
                f"most {MOST_TOGETHER} arms, or estimate it with sampled_gain"
            )
        found, defect = np.empty((len(a), start.shape[1] - 1)), np.empty(len(a))
        strict = accuracy == "strict"
        information_kernel(a, b, SETTINGS[accuracy], strict, start, arm, chance, found, defect)
        _check_settled(defect, a, b)
        return found

    def mean(self, state: State) -> Floats:
        """a / (a + b)."""
        a, b = (np.asarray(state[name], np.float64) for name in ("a", "b"))
        mean: Floats = a / (a + b)
        return mean

    def quantile(self, state: State, level: float) -> Floats:
        """The theta at which the distribution function of Beta(a, b) is ``level``.

        >>> posterior = BetaBernoulli([1, 2], [1, 1])  # F(x) = x and x^2
        >>> posterior.quantile(posterior.init(trials=1), 0.81)
        array([[0.81, 0.9 ]])
        """
        level = check_probability(level, "the level of a quantile")
        a, b = self._parameters(state)
        if level in self.support:
            return np.full(a.shape, level)
        # trials of a block have many posteriors in common, and each is inverted for itself
        group, first = np.empty((2, a.size), np.int64)
        distinct = first[: group_arms(a.ravel(), b.ravel(), group, first)]
        theta = beta_quantile(a.flat[distinct], b.flat[distinct], np.array(level))
        return theta[group].reshape(a.shape)

    def sample(self, state: State, stream: Stream) -> Floats:
        """One draw of theta for each trial."""
        return stream.beta(*self._parameters(state))

    def sample_order(self, state: State, stream: Stream) -> Floats:
        """The logits of the draws of :meth:`sample`, many of which round to 1 if b is small."""
        return stream.beta_logit(*self._parameters(state))

    def log_density(self, state: State, theta: Floats) -> Floats:
        """log f(theta) = (a-1) log theta + (b-1) log(1-theta) - log B(a, b)."""
        a, b = (np.asarray(state[name], np.float64)[..., None] for name in ("a", "b"))
        return np.asarray(xlogy(a - 1.0, theta) + xlog1py(b - 1.0, -theta) - betaln(a, b))

    def log_likelihood(self, reward: float, theta: Floats) -> Floats:
        """y log theta + (1 - y) log(1 - theta)."""
        return np.asarray(xlogy(reward, theta) + xlog1py(1.0 - reward, -theta), np.float64)

    def draw_reward(self, theta: Floats, uniform: Floats) -> Floats:
        """1 where the uniform number is below theta, else 0."""
        return (uniform < theta).astype(np.float64)

    def check_reward(self, reward: float) -> float:
        """0 or 1 as a float; anything else is outside the model."""
        # NumPy registers a time as a whole number; Decimal and NumPy's bool are no Real
        number = isinstance(reward, Real | Decimal | np.bool_)
        if not number or isinstance(reward, np.timedelta64) or not _is_outcome(reward):
            raise InputError(f"a reward of a Bernoulli arm is 0 or 1, not {short_repr(reward)}")
        return float(reward)


def _is_outcome(number: object) -> bool:
    try:
        return number in (0, 1)
    except ArithmeticError:  # a signalling NaN of decimal
        return False


def _check_settled(defect: Floats, a: Floats, b: Floats) -> None:
    if not (defect <= TOLERANCE).all():
        worst = int(defect.argmax())
        raise NumericalError(
            f"the quadrature did not settle (the probabilities of being best add up to 1 "
            f"within {defect[worst]:.1e}); please report these posteriors: "
            f"a = {a[worst].tolist()}, b = {b[worst].tolist()}"
        )


def _check_rows(start: Ints, arm: Ints, chance: Floats, shape: tuple[int, ...]) -> None:
    """The kernel does not check where it reads."""
    trials, arms = shape
    if not (
        start.dtype == arm.dtype == np.int64
        and chance.dtype == np.float64
        and arm.shape == chance.shape == (len(arm),)
        and start.ndim == 2
        and len(start) in (1, trials)
        and start.shape[1] > 1
        and (np.diff(start, axis=1) >= 1).all()
        and 0 <= start.min() <= start.max() <= len(arm)
        and 0 <= arm.min() <= arm.max() < arms
        and 0.0 <= chance.min() <= chance.max() <= 1.0
    ):
        raise InputError(
            f"rows are arm[start[t, i]:start[t, i + 1]], of one arm or more from 0 to {arms - 1}, "
            f"with a chance for each; start has one line, or one for each of {trials} trials"
        )


def check_accuracy(accuracy: object) -> str:
    """The name of a setting."""
    if not isinstance(accuracy, str) or accuracy not in SETTINGS:
        raise InputError(f"accuracy is {' or '.join(map(repr, SETTINGS))}, not {accuracy!r}")
    return accuracy


def beta_pair(text: str) -> tuple[float, float]:
    """The parameters of Beta(A, B) from a text A,B.

    >>> beta_pair("2, 0.5")
    (2.0, 0.5)
    """
    try:
        a, b = (float(part) for part in text.split(","))
    except ValueError:
        raise InputError(f"Beta(A, B) is two numbers A,B such as 3,7, not '{text}'") from None
    return a, b


def check_parameters(values: object) -> Floats:
    """Beta parameters as floats in the range for which the statistics are right."""
    array = np.asarray(values)
    if array.dtype.kind not in "iuf":
        raise InputError(f"a Beta parameter is a number, not {values!r}")
    array = np.array(array, np.float64, order="C")
    wrong = ~((array >= LEAST_PARAMETER) & (array <= MOST_PARAMETER))
    if wrong.any():
        raise InputError(
            f"a Beta parameter is a number from {LEAST_PARAMETER:g} to {MOST_PARAMETER:g}, "
            f"not {array[wrong].flat[0]:g}"
        )
    return array


def beta_quantile(a: Floats, b: Floats, u: Floats) -> Floats:
    """The theta at which the distribution function of Beta(a, b) is u.

    Boost's inverse misses now and then where one parameter is a million times the other, so what
    does not lead back to u is found by bisection on the logit axis.

    >>> beta_quantile(np.array(1000.0), np.array(1e9), np.array([0.5])).round(11)
    array([9.9967e-07])
    """
    theta: Floats = np.asarray(betaincinv(a, b, u))
    gap = np.spacing(theta) + 1e-300
    low = betainc(a, b, np.maximum(0.0, theta - gap)) - _NEAR
    high = betainc(a, b, np.minimum(1.0, theta + gap)) + _NEAR
    off = ~((low <= u) & (u <= high))
    if off.any():
        a, b, u = (np.broadcast_to(values, off.shape)[off] for values in (a, b, u))
        below, above = np.full((2, len(u)), 710.0) * [[-1.0], [1.0]]
        for _ in range(_HALVINGS):
            middle = (below + above) / 2.0
            enough = betainc(a, b, expit(middle)) >= u
            below, above = np.where(enough, below, middle), np.where(enough, middle, above)
        theta[off] = expit(above)
    return theta
