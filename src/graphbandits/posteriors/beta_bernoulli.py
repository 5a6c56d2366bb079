"""Beta-Bernoulli arms: independent theta_i ~ Beta(a_i, b_i), outcomes 0 and 1."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from numbers import Real
from typing import ClassVar

import numpy as np
import scipy

from graphbandits._rng_kernels import within
from graphbandits._types import Floats, Ints, State
from graphbandits.errors import (
    InputError,
    NumericalError,
    check_integer,
    check_probability,
    short_repr,
)
from graphbandits.posteriors._beta_kernels import MANY_DISTINCT, add_outcomes, beliefs_kernel
from graphbandits.posteriors._joint_kernels import information_kernel
from graphbandits.posteriors._moment_kernels import MOST_PAIRS, many_beliefs_kernel
from graphbandits.posteriors._pair_kernels import group_arms
from graphbandits.posteriors._quadrature_kernels import SIMULATION, STRICT
from graphbandits.posteriors.base import (
    BINARY,
    Beliefs,
    Observations,
    Support,
    check_weights,
    per_arm,
)
from graphbandits.posteriors.updates import DiscountedPosterior
from graphbandits.registry import register
from graphbandits.rng import Stream

#: Allowed range of the parameters of a prior.
LEAST_PARAMETER = 1e-3
MOST_PARAMETER = 1e9
#: Upper limit in a state: up to 2^32 rounds add one observation each.
MOST_IN_STATE = 1e10
#: Accuracy settings, by name.
SETTINGS = {"simulation": SIMULATION, "strict": STRICT}
#: Largest accepted error of the sum of alpha.
TOLERANCE = 1e-10
#: The relative error of smaller values is not estimated.
LEAST_VALUE = 1e-30
#: Upper limits of distinct posteriors that can be best: the memory grows with their number, and
#: with strict accuracy the time grows with all pairs of them.
MOST_DISTINCT = {"simulation": 1_000_000, "strict": 100_000}
#: Upper limit of arms observed together: a table has all their outcomes.
MOST_TOGETHER = 22
#: Tolerance of the distribution function at a quantile, or one floating-point step beside it.
_NEAR = 1e-6
#: In place of v: the kernel computes no variance.
_NO_VARIANCE = np.empty((0, 0))
#: Types of rewards. NumPy registers its numbers as Real, but not its bool.
_NUMBERS = (int, float, Real, Decimal, np.bool_)
#: Number of bisections that locate a logit in [-710, 710] up to rounding.
_HALVINGS = 64


@register("posterior", "beta-bernoulli")
@dataclass(frozen=True, eq=False)
class BetaBernoulli(DiscountedPosterior):
    """Bernoulli arms with independent Beta priors.

    Arm i has the prior Beta(a_i, b_i); an outcome y updates it by (a_i, b_i) += (y, 1 - y), and w
    outcomes with the share y of successes by (a_i, b_i) += (w y, w (1 - y)).

    Parameters
    ----------
    a, b : array_like of shape (K,)
        Parameters of the prior of each arm, from 1e-3 to 1e9.
    accuracy : {"simulation", "strict"}
        Accuracy of :meth:`beliefs`: "simulation" has an absolute error of at most 1e-10 and is
        fast; "strict" has a relative error of at most 1e-8 for every value above 1e-30.
    discount : float
        Factor in (0, 1] by which the weight of an observation decreases per round.
    half_life : float, optional
        Age at which an observation counts half, in seconds for a live agent and in rounds for a
        simulation. Instead of ``discount``; see :mod:`graphbandits.posteriors.updates`.

    Examples
    --------
    >>> posterior = BetaBernoulli.of(arms=2)
    >>> posterior.beliefs(posterior.init(trials=1)).delta
    array([[0.16666667, 0.16666667]])
    """

    a: Floats
    b: Floats
    accuracy: str = "simulation"
    discount: float = 1.0
    half_life: float | None = None
    support: ClassVar[tuple[float, float]] = (0.0, 1.0)
    outcomes: ClassVar[tuple[float, ...] | None] = (0.0, 1.0)
    rewards: ClassVar[Support] = BINARY
    weighted: ClassVar[bool] = True

    def __post_init__(self) -> None:
        a, b = (check_parameters(getattr(self, name)) for name in ("a", "b"))
        if a.shape != b.shape or a.ndim != 1 or not a.size:
            raise InputError(
                "a Beta prior needs one a and one b per arm, in two arrays of the same length; got "
                f"the shapes {a.shape} and {b.shape}"
            )
        for name, values in (("a", a), ("b", b)):
            values.setflags(write=False)  # shared by policies, trials and the world
            object.__setattr__(self, name, values)
        check_accuracy(self.accuracy)
        self._check_discount()

    @classmethod
    def of(
        cls,
        arms: int,
        a: float | Sequence[float] = 1.0,
        b: float | Sequence[float] = 1.0,
        accuracy: str = "simulation",
        discount: float = 1.0,
        half_life: float | None = None,
    ) -> BetaBernoulli:
        """Create a prior from parameters for all arms, or for each arm.

        Parameters
        ----------
        arms : int
            Number of arms K.
        a, b : float or sequence of float
            Parameters of the prior, from 1e-3 to 1e9.
        accuracy : {"simulation", "strict"}
            Accuracy of :meth:`beliefs`.
        discount : float
            Factor in (0, 1] by which the weight of an observation decreases per round.
        half_life : float, optional
            Age at which an observation counts half, instead of ``discount``.

        Returns
        -------
        BetaBernoulli
            The prior.

        Examples
        --------
        >>> BetaBernoulli.of(arms=2, a=3, b=7).mean(BetaBernoulli.of(2, 3, 7).init(trials=1))
        array([[0.3, 0.3]])
        """
        count = check_integer(arms, "arms")
        given = per_arm({"a": check_parameters(a), "b": check_parameters(b)}, count)
        return cls(given["a"], given["b"], accuracy, discount, half_life)

    @classmethod
    def examples(cls) -> list[BetaBernoulli]:
        """Instances used by the contract tests."""
        return [
            cls.of(3),
            cls(np.array([1.0, 2.5, 0.5, 4.0]), np.array([3.0, 1.5, 0.75, 2.0])),
            cls.of(2, a=[1.0, 3.0], b=[2.0, 1.5], discount=0.9),
        ]

    @property
    def arms(self) -> int:
        return len(self.a)

    def init(self, trials: int) -> State:
        prior = {name: np.tile(values, (trials, 1)) for name, values in self._prior_state().items()}
        return prior | self._initial_time(trials)

    def _prior_state(self) -> dict[str, Floats]:
        return {"a": self.a, "b": self.b}

    def update(self, state: State, seen: Observations) -> State:
        a, b = self._arrays(state)
        if a is not state["a"] or b is not state["b"]:
            raise InputError(
                "update works in place and needs a state of float64 arrays in C order: create it "
                "with init(trials)"
            )
        even = len(seen.trial) == len(seen.arm) == len(seen.reward)
        weight = check_weights(seen, self)
        power = self._powers(state, seen.trial, seen) if even else None
        if power is not None:
            weight = power if weight is None else weight * power
        places = a, b, seen.trial, seen.arm, seen.reward
        if not even or not (
            add_outcomes(*places) if weight is None else add_shares(weight, *places)
        ):
            raise InputError(
                f"observations need a trial from 0 to {len(a) - 1}, an arm from 0 to "
                f"{self.arms - 1} and a reward, in three arrays of the same length"
            )
        return state

    def beliefs(
        self,
        state: State,
        accuracy: str | None = None,
        estimate: bool = False,
        variance: bool = False,
    ) -> Beliefs:
        """Compute alpha, Delta, h and rho by quadrature (Russo and Van Roy 2018, Algorithm 2).

        alpha_i = int f_i prod_{k != i} F_k; Delta_i = E[max theta] - m_i; and
        h_i = sum_j alpha_j KL(M_ji || m_i), M_ji the mean of theta_i given that j is best.

        Parameters
        ----------
        state : dict of str to ndarray
            The state.
        accuracy : {"simulation", "strict"}, optional
            Accuracy setting, if different from that of the posterior.
        estimate : bool
            Whether to estimate the error: the quadrature is repeated with panels of half the width,
            and ``error`` is the largest difference, absolute for "simulation", relative above 1e-30
            for "strict", plus the rounding of densities and, for "simulation", the omitted tails.
        variance : bool
            Whether to compute v_i = sum_j alpha_j (M_ji - m_i)^2, at most h_i / 2.

        Returns
        -------
        Beliefs
            The statistics of each trial.

        Raises
        ------
        NumericalError
            If the quadrature fails its own check.

        Examples
        --------
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
        if accuracy == "simulation":  # an omitted probability e is up to e log(1/e) of information
            unseen += SIMULATION.reach * math.exp(-SIMULATION.reach)
        error = unseen
        for name in ("alpha", "delta", "h", "v") if variance else ("alpha", "delta", "h"):
            value, better = getattr(found, name), getattr(fine, name)
            scale = np.where(better > LEAST_VALUE, better, np.inf) if accuracy == "strict" else 1.0
            error = np.maximum(error, unseen + (np.abs(value - better) / scale).max(axis=1))
        return dataclasses.replace(found, error=error)

    def check_state(self, state: State) -> None:
        self._parameters(state)
        self._check_times(state)

    def _parameters(self, state: State) -> tuple[Floats, Floats]:
        """Return a and b of a state as (B, K) arrays, checked because the kernels check nothing."""
        a, b = self._arrays(state)
        if not within(a, b, LEAST_PARAMETER, MOST_IN_STATE):
            for name, values in (("a", a), ("b", b)):
                wrong = np.argwhere(~((values >= LEAST_PARAMETER) & (values <= MOST_IN_STATE)))
                if len(wrong):
                    trial, arm = wrong[0].tolist()
                    raise InputError(
                        f"the state has {name} = {values[trial, arm]:g} for arm {arm} in trial "
                        f"{trial}; it must be from {LEAST_PARAMETER:g} to {MOST_IN_STATE:g}: "
                        "create states with init(trials) and change them with update only"
                    )
        return a, b

    def _arrays(self, state: State) -> tuple[Floats, Floats]:
        """Return a and b of a state as (B, K) arrays of floats, without checking their values."""
        a, b = np.asarray(state.get("a")), np.asarray(state.get("b"))
        numbers = a.dtype.kind in "iuf" and b.dtype.kind in "iuf"
        if not numbers or a.shape != b.shape or a.shape[1:] != (len(self.a),):
            raise InputError(
                f"a state needs numeric arrays a and b of the shape (trials, {self.arms}), as "
                f"created by init(trials); got a: {a.dtype} {a.shape}, b: {b.dtype} {b.shape}"
            )
        return np.ascontiguousarray(a, np.float64), np.ascontiguousarray(b, np.float64)

    def _integrated(self, state: State, accuracy: str, variance: bool, cut: float) -> Beliefs:
        """Compute the beliefs, with the widths of all panels scaled by ``cut``."""
        a, b = self._parameters(state)
        shape, trials = a.shape, len(a)
        alpha, delta, h = np.empty(shape), np.empty(shape), np.empty(shape)
        v = np.empty(shape) if variance else _NO_VARIANCE
        rho, defect = np.empty(trials), np.empty(trials)
        found = alpha, delta, h, v, rho, defect
        setting, most, strict = SETTINGS[accuracy], MOST_DISTINCT[accuracy], accuracy == "strict"
        few = most if strict else MANY_DISTINCT
        distinct = beliefs_kernel(a, b, setting, strict, cut, few, *found)
        if distinct > most:
            raise InputError(
                f"{distinct} arms that can be best have different posteriors; at most {most} are "
                f"supported with {accuracy} accuracy. Arms with the same prior and outcomes count "
                "once: use the same prior for many arms, or round the priors"
            )
        if distinct > few:
            pairs = many_beliefs_kernel(a, b, setting, cut, most, *found)
            if pairs > MOST_PAIRS:
                raise InputError(
                    f"the statistics of {distinct} arms with different posteriors need {pairs:.0e} "
                    f"pairs of arms; at most {MOST_PAIRS:.0e} are supported. Use larger parameters "
                    "a, or the same prior for many arms"
                )
        _check_converged(defect, a, b)
        return Beliefs(alpha, delta, h, rho, v=v if variance else None)

    def information(
        self, state: State, start: Ints, arm: Ints, chance: Floats, accuracy: str | None = None
    ) -> Floats:
        """Compute the information of sets of arms observed together about the best arm.

        For a set N that is observed with certainty, this is
        I(A*; Y_N) = sum over y, j of P(y, j) log(P(j | y) / P(j)); otherwise the mean over the
        random set N.

        Parameters
        ----------
        state : dict of str to ndarray
            The state.
        start : ndarray of int, of shape (B, rows + 1) or (1, rows + 1)
            Row i of trial t consists of the arms ``arm[start[t, i]:start[t, i + 1]]``. A single
            line applies to all trials.
        arm : ndarray of int
            The arms of all rows.
        chance : ndarray of float
            The probability that each of them is observed.
        accuracy : {"simulation", "strict"}, optional
            Accuracy setting, if different from that of the posterior.

        Returns
        -------
        ndarray of shape (B, rows)
            The information in nats.

        Examples
        --------
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
                f"the information of {longest} arms observed together needs 2^{longest} outcomes; "
                f"at most {MOST_TOGETHER} arms are supported: estimate it with sampled_gain"
            )
        found, defect = np.empty((len(a), start.shape[1] - 1)), np.empty(len(a))
        strict = accuracy == "strict"
        information_kernel(a, b, SETTINGS[accuracy], strict, start, arm, chance, found, defect)
        _check_converged(defect, a, b)
        return found

    def log_evidence(self, state: State) -> Floats:
        """Compute the log probability of the outcomes of each arm between the prior and a state.

        Parameters
        ----------
        state : dict of str to ndarray
            The state after the outcomes.

        Returns
        -------
        ndarray of shape (B, K)
            log B(a, b) - log B(a_0, b_0).
        """
        self._check_undiscounted("log_evidence")
        a, b = self._parameters(state)
        return np.asarray(scipy.special.betaln(a, b) - scipy.special.betaln(self.a, self.b))

    def weaker(self) -> BetaBernoulli:
        """Return a prior with the same means and a tenth of the weight."""
        weight = np.maximum(0.1, LEAST_PARAMETER / np.minimum(self.a, self.b))
        return dataclasses.replace(self, a=self.a * weight, b=self.b * weight)

    def mean(self, state: State) -> Floats:
        a, b = (np.asarray(state[name], np.float64) for name in ("a", "b"))
        mean: Floats = a / (a + b)
        return mean

    def quantile(self, state: State, level: float) -> Floats:
        level = check_probability(level, "the level of a quantile")
        a, b = self._parameters(state)
        if level in self.support:
            return np.full(a.shape, level)
        # many posteriors of a block are equal: invert each distinct one once
        group, first = np.empty((2, a.size), np.int64)
        distinct = first[: group_arms(a.ravel(), b.ravel(), group, first)]
        theta = beta_quantile(a.flat[distinct], b.flat[distinct], np.array(level))
        return theta[group].reshape(a.shape)

    def sample(self, state: State, stream: Stream) -> Floats:
        return stream.beta(*self._parameters(state))

    def sample_order(self, state: State, stream: Stream) -> Floats:
        # logits: draws can round to 1 if b is small
        return stream.beta_logit(*self._parameters(state))

    def log_density(self, state: State, theta: Floats) -> Floats:
        a, b = (np.asarray(state[name], np.float64)[..., None] for name in ("a", "b"))
        return np.asarray(
            scipy.special.xlogy(a - 1.0, theta)
            + scipy.special.xlog1py(b - 1.0, -theta)
            - scipy.special.betaln(a, b)
        )

    def log_likelihood(self, reward: float, theta: Floats) -> Floats:
        return np.asarray(
            scipy.special.xlogy(reward, theta) + scipy.special.xlog1py(1.0 - reward, -theta),
            np.float64,
        )

    def draw_reward(self, theta: Floats, uniform: Floats) -> Floats:
        return (uniform < theta).astype(np.float64)

    def check_reward(self, reward: float) -> float:
        # NumPy registers timedelta64 as an integer
        number = isinstance(reward, _NUMBERS) and not isinstance(reward, np.timedelta64)
        if not number or not _is_outcome(reward):
            raise InputError(
                f"a reward of a Bernoulli arm must be 0 or 1, not {short_repr(reward)}"
            )
        return float(reward)


def add_shares(
    weight: Floats, a: Floats, b: Floats, trial: Ints, arm: Ints, reward: Floats
) -> bool:
    """Add (w y, w (1 - y)) to (a, b) for each share y; return False if a place is invalid."""
    trials, arms = a.shape
    if not ((trial >= 0) & (trial < trials) & (arm >= 0) & (arm < arms)).all():
        return False
    wrong = ~((reward >= 0.0) & (reward <= 1.0))
    if wrong.any():
        raise InputError(
            "a weighted reward of a Bernoulli arm must be a share of successes in [0, 1], not "
            f"{reward[wrong][0]:g}"
        )
    np.add.at(a, (trial, arm), weight * reward)
    np.add.at(b, (trial, arm), weight * (1.0 - reward))
    return True


def _is_outcome(number: object) -> bool:
    try:
        return number in (0, 1)
    except ArithmeticError:  # a signalling NaN of decimal
        return False


def _check_converged(defect: Floats, a: Floats, b: Floats) -> None:
    """Raise NumericalError if the probabilities of being best do not add up to 1."""
    if not within(defect[None], defect[None], -math.inf, TOLERANCE):
        worst = int(defect.argmax())
        raise NumericalError(
            f"the quadrature did not converge (the probabilities of being best add up to 1 "
            f"within {defect[worst]:.1e}); please report these posteriors: "
            f"a = {a[worst].tolist()}, b = {b[worst].tolist()}"
        )


def _check_rows(start: Ints, arm: Ints, chance: Floats, shape: tuple[int, ...]) -> None:
    """Check the arguments of :meth:`BetaBernoulli.information`; the kernel does not."""
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
            f"each row arm[start[t, i]:start[t, i + 1]] needs one or more arms from 0 to {arms - 1}"
            f", with a chance in [0, 1] for each; start needs one line, or {trials} (one per trial)"
        )


def check_accuracy(accuracy: object) -> str:
    if not isinstance(accuracy, str) or accuracy not in SETTINGS:
        raise InputError(f"accuracy must be {' or '.join(map(repr, SETTINGS))}, not {accuracy!r}")
    return accuracy


def beta_pair(text: str) -> tuple[float, float]:
    """Read the parameters of Beta(A, B) from a text A,B.

    >>> beta_pair("2, 0.5")
    (2.0, 0.5)
    """
    try:
        a, b = (float(part) for part in text.split(","))
    except ValueError:
        raise InputError(f"Beta(A, B) needs two numbers A,B such as 3,7, not '{text}'") from None
    return a, b


def check_parameters(values: object) -> Floats:
    """Return Beta parameters as floats in the range in which the statistics are accurate."""
    try:
        array = np.asarray(values)
    except ValueError:  # nested lists of different lengths
        array = np.empty(0, object)
    if array.dtype.kind not in "iuf":
        raise InputError(f"a Beta parameter must be a number, not {short_repr(values)}")
    array = np.array(array, np.float64, order="C")
    wrong = ~((array >= LEAST_PARAMETER) & (array <= MOST_PARAMETER))
    if wrong.any():
        raise InputError(
            f"a Beta parameter must be from {LEAST_PARAMETER:g} to {MOST_PARAMETER:g}, "
            f"not {array[wrong].flat[0]:g}"
        )
    return array


def beta_quantile(a: Floats, b: Floats, u: Floats) -> Floats:
    """Compute the quantile of level u of Beta(a, b).

    >>> beta_quantile(np.array(1000.0), np.array(1e9), np.array([0.5])).round(11)
    array([9.9967e-07])
    """
    # Boost's inverse is sometimes wrong if one parameter is a million times the other: values that
    # do not lead back to u are found by bisection of the logit
    theta: Floats = np.asarray(scipy.special.betaincinv(a, b, u))
    gap = np.spacing(theta) + 1e-300
    low = scipy.special.betainc(a, b, np.maximum(0.0, theta - gap)) - _NEAR
    high = scipy.special.betainc(a, b, np.minimum(1.0, theta + gap)) + _NEAR
    off = ~((low <= u) & (u <= high))
    if off.any():
        a, b, u = (np.broadcast_to(values, off.shape)[off] for values in (a, b, u))
        below, above = np.full((2, len(u)), 710.0) * [[-1.0], [1.0]]
        for _ in range(_HALVINGS):
            middle = (below + above) / 2.0
            enough = scipy.special.betainc(a, b, scipy.special.expit(middle)) >= u
            below, above = np.where(enough, below, middle), np.where(enough, middle, above)
        theta[off] = scipy.special.expit(above)
    return theta
