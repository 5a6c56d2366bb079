"""Standard errors, confidence intervals, and paired differences with simultaneous intervals."""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import scipy

from graphbandits._types import Floats
from graphbandits.errors import InputError

#: Number of random directions to average the distribution of the largest |t|.
DIRECTIONS = 2**15
#: Relative differences below this are rounding errors.
ROUNDING = 1e-12


@dataclass(frozen=True)
class Difference:
    """Difference of the expected final regret of two policies: ``first`` minus ``second``."""

    first: str
    second: str
    mean: float
    standard_error: float
    low: float
    high: float
    simultaneous: bool = False

    def reversed(self) -> Difference:
        return replace(
            self,
            first=self.second,
            second=self.first,
            mean=-self.mean,
            low=-self.high,
            high=-self.low,
        )


def standard_error(values: Floats) -> Floats:
    """Standard error of the mean over the first axis."""
    count = len(values)
    if count < 2:
        return np.full(values.shape[1:], np.nan)
    error: Floats = values.std(axis=0, ddof=1) / math.sqrt(count)
    return error


@dataclass(frozen=True, eq=False)
class Moments:
    """Mean over the trials at each recorded round, and its standard error (NaN for one trial)."""

    mean: Floats
    standard_error: Floats

    @classmethod
    def of(cls, values: Floats) -> Moments:
        with np.errstate(invalid="ignore"):  # infinite sums have no standard error
            return cls(values.mean(axis=0), standard_error(values))


def t_quantile(confidence: float, trials: float) -> float:
    """Return the half width of a two-sided t interval in standard errors; NaN for one trial.

    The degrees of freedom are ``trials - 1``, which need not be an integer.

    >>> round(t_quantile(0.95, trials=11), 3)
    2.228
    """
    if not isinstance(confidence, numbers.Real) or not 0.0 < confidence < 1.0:
        raise InputError(f"confidence must be a number between 0 and 1, not {confidence!r}")
    # from scipy.special, because the import of scipy.stats takes a second
    return (
        float(scipy.special.stdtrit(trials - 1, 0.5 + confidence / 2.0)) if trials > 1 else math.nan
    )


def paired_differences(
    final: Mapping[str, Floats],
    pairs: Sequence[tuple[str, str]],
    confidence: float,
    simultaneous: bool,
) -> list[Difference]:
    """Return the paired differences of the final regret; exactly 0 if equal up to rounding."""
    if not pairs:
        return []
    paired = np.stack([final[first] - final[second] for first, second in pairs], axis=1)
    sizes = np.array([np.abs([final[first], final[second]]).max() for first, second in pairs])
    paired[:, np.abs(paired).max(axis=0) <= ROUNDING * sizes] = 0.0
    means, errors = paired.mean(axis=0), standard_error(paired)
    width = max_t(paired, confidence) if simultaneous else t_quantile(confidence, len(paired))
    return [
        Difference(*pair, mean, error, mean - width * error, mean + width * error, simultaneous)
        for pair, mean, error in zip(pairs, means.tolist(), errors.tolist(), strict=True)
    ]


def max_t(paired: Floats, confidence: float) -> float:
    """Return the half width, in standard errors, of simultaneous intervals for all m columns.

    ``paired`` has the shape (trials, m). The half width is the quantile c of max_j |T_j|, where T
    has the multivariate t distribution with trials - 1 degrees of freedom and the correlation of
    the columns (single-step max-t; Hothorn, Bretz and Westfall 2008, section 3). With the
    correlation L L', L of rank k, and a random direction u, T is L u times a radius whose square
    is k F(k, trials - 1), so

        P(max |T_j| <= c) = E_u P(F(k, trials - 1) <= c^2 / (k max_j (L u)_j^2)),

    which is averaged over fixed directions. The result is deterministic and accurate to 0.01. It
    lies between Student's quantile and Sidak's bound. If the number of trials is so small that the
    correlation has rank trials - 1, the result is Sidak's bound.
    """
    trials = len(paired)
    least = t_quantile(confidence, trials)
    centred = paired - paired.mean(axis=0)
    lengths = np.sqrt((centred * centred).sum(axis=0))
    # a difference that is equal in all trials, up to rounding, has an interval of width 0
    moving = lengths > ROUNDING * math.sqrt(trials) * np.abs(paired).max(axis=0)
    count = int(moving.sum())
    if trials < 2 or count < 2:
        return least
    most = float(scipy.special.stdtrit(trials - 1, 0.5 + confidence ** (1.0 / count) / 2.0))
    factor = _correlation_factor(centred[:, moving] / lengths[moving])
    rank = factor.shape[1]
    if rank >= trials - 1:
        return most
    if rank == 1:  # all differences are equal up to sign and scale
        return least
    scale = 1.0 / (rank * _max_projection(factor) ** 2)
    return _root(
        lambda c: float(scipy.special.fdtr(rank, trials - 1, c * c * scale).mean()) - confidence,
        least,
        most,
    )


def _root(function: Callable[[float], float], low: float, high: float) -> float:
    """Return the root of an increasing function to 1e-5; the nearest end if there is none.

    Regula falsi with the Illinois rule: few (expensive) calls, no slow import of scipy.optimize.
    """
    below, above = function(low), function(high)
    if below >= 0.0:
        return low
    if above <= 0.0:
        return high
    stayed = 0
    while high - low > 1e-5:
        middle = (low * above - high * below) / (above - below)
        value = function(middle)
        if abs(value) < 1e-9:
            return middle
        if value < 0.0:
            low, below = middle, value
            above *= 0.5 if stayed > 0 else 1.0
            stayed = 1
        else:
            high, above = middle, value
            below *= 0.5 if stayed < 0 else 1.0
            stayed = -1
    return 0.5 * (low + high)


def _correlation_factor(columns: Floats) -> Floats:
    """Return L (m, k), of full rank, with the correlation L L' of columns of length one."""
    values, vectors = np.linalg.eigh(columns.T @ columns)
    there = values > 1e-10 * values[-1]
    factor: Floats = vectors[:, there] * np.sqrt(values[there])
    return factor


def _max_projection(factor: Floats) -> Floats:
    """Return max_j |(L u)_j| for each of the fixed directions u."""
    rank = factor.shape[1]
    # raw Philox words, because NumPy guarantees them; its normal variates may change
    words = np.random.Philox(key=2008).random_raw(DIRECTIONS * rank) >> np.uint64(12)
    normal = scipy.special.ndtri((words + 0.5) * 2.0**-52).reshape(DIRECTIONS, rank)
    normal /= np.sqrt((normal * normal).sum(axis=1, keepdims=True))
    parts = np.array_split(normal, 64)  # in parts, to limit the memory
    return np.concatenate([np.abs(part @ factor.T).max(axis=1) for part in parts])
