"""Beta-Bernoulli arms: independent theta_i ~ Beta(a_i, b_i), outcomes 0 and 1."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import scipy

from graphbandits._rng_kernels import within
from graphbandits._types import Floats, Ints, State
from graphbandits.errors import InputError, check_integer
from graphbandits.posteriors._beta_kernels import MANY_DISTINCT, add_outcomes, beliefs_kernel
from graphbandits.posteriors._joint_kernels import information_kernel
from graphbandits.posteriors._moment_kernels import MOST_PAIRS, many_beliefs_kernel
from graphbandits.posteriors._pair_kernels import group_arms
from graphbandits.posteriors.base import BINARY, Beliefs, Observations, Support, per_arm
from graphbandits.posteriors.one_dimensional import (
    SETTINGS,
    ConjugatePosterior,
    Limits,
    check_accuracy,
    check_converged,
    with_error,
)
from graphbandits.registry import register
from graphbandits.rng import Stream

#: Allowed range of the parameters of a prior.
LEAST_PARAMETER = 1e-3
MOST_PARAMETER = 1e9
#: Upper limit in a state: up to 2^32 rounds add one observation each.
MOST_IN_STATE = 1e10
#: Upper limits of distinct posteriors that can be best: the memory grows with their number, and
#: with strict accuracy the time grows with all pairs of them.
MOST_DISTINCT = {"simulation": 1_000_000, "strict": 100_000}
#: Upper limit of arms observed together: a table has all their outcomes.
MOST_TOGETHER = 22
#: Tolerance of the distribution function at a quantile, or one floating-point step beside it.
_NEAR = 1e-6
#: In place of v: the kernel computes no variance.
_NO_VARIANCE = np.empty((0, 0))
#: Number of bisections that locate a logit in [-710, 710] up to rounding.
_HALVINGS = 64


@register("posterior", "beta-bernoulli")
@dataclass(frozen=True, eq=False)
class BetaBernoulli(ConjugatePosterior):
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
    prior_limits: ClassVar[Limits] = dict.fromkeys("ab", (LEAST_PARAMETER, MOST_PARAMETER))
    state_limits: ClassVar[Limits] = dict.fromkeys("ab", (LEAST_PARAMETER, MOST_IN_STATE))

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
        given = per_arm({"a": a, "b": b}, check_integer(arms, "arms"))
        return cls(given["a"], given["b"], accuracy, discount, half_life)

    @classmethod
    def examples(cls) -> list[BetaBernoulli]:
        """Instances used by the contract tests."""
        return [
            cls.of(3),
            cls(np.array([1.0, 2.5, 0.5, 4.0]), np.array([3.0, 1.5, 0.75, 2.0])),
            cls.of(2, a=[1.0, 3.0], b=[2.0, 1.5], discount=0.9),
        ]

    def _label(self, name: str) -> str:
        return "a Beta parameter"

    def _checked(self, state: State) -> list[Floats]:
        a, b = found = self._arrays(state)  # one pass, because each round needs it
        return found if within(a, b, *self.state_limits["a"]) else super()._checked(state)

    def update(self, state: State, seen: Observations) -> State:
        a, b = self._in_place(state)
        weight = self._weights(state, seen)
        places = a, b, seen.trial, seen.arm, seen.reward
        if not (add_outcomes(*places) if weight is None else add_shares(weight, *places)):
            raise self._misfit()
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
        sizes = np.add(*self._checked(state)).max(axis=1)
        names = ("alpha", "delta", "h", "v") if variance else ("alpha", "delta", "h")
        units = dict.fromkeys(names, np.ones(len(sizes)))
        return with_error(found, fine, units, 1e-12 + 1e-15 * np.sqrt(sizes), accuracy)

    def _integrated(self, state: State, accuracy: str, variance: bool, cut: float) -> Beliefs:
        """Compute the beliefs, with the widths of all panels scaled by ``cut``."""
        a, b = self._checked(state)
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
        check_converged(defect, {"a": a, "b": b})
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
        a, b = self._checked(state)
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
        check_converged(defect, {"a": a, "b": b})
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
        a, b = self._checked(state)
        return np.asarray(scipy.special.betaln(a, b) - scipy.special.betaln(self.a, self.b))

    def weaker(self) -> BetaBernoulli:
        """Return a prior with the same means and a tenth of the weight."""
        weight = np.maximum(0.1, LEAST_PARAMETER / np.minimum(self.a, self.b))
        return dataclasses.replace(self, a=self.a * weight, b=self.b * weight)

    def mean(self, state: State) -> Floats:
        a, b = (np.asarray(state[name], np.float64) for name in ("a", "b"))
        return a / (a + b)

    def _inverse(self, arrays: list[Floats], level: Any) -> Floats:
        a, b = arrays
        # many posteriors of a block are equal: invert each distinct one once
        group, first = np.empty((2, a.size), np.int64)
        distinct = first[: group_arms(a.ravel(), b.ravel(), group, first)]
        theta = beta_quantile(a.flat[distinct], b.flat[distinct], np.array(level))
        return theta[group].reshape(a.shape)

    def sample(self, state: State, stream: Stream) -> Floats:
        return stream.beta(*self._checked(state))

    def sample_order(self, state: State, stream: Stream) -> Floats:
        # logits: draws can round to 1 if b is small
        return stream.beta_logit(*self._checked(state))

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
