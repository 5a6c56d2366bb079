"""Philox 4x32-10: a counter-based random number generator.

Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as 1, 2, 3" (SC 2011). The
counter is (index, round, trial); the key is derived from (seed, purpose). See
:mod:`graphbandits.rng`.
"""

from __future__ import annotations

import math

import numpy as np

from graphbandits._jit import kernel
from graphbandits._types import Floats, Ints

_M0 = np.uint64(0xD2511F53)
_M1 = np.uint64(0xCD9E8D57)
_W0 = np.uint64(0x9E3779B9)
_W1 = np.uint64(0xBB67AE85)
_LOW = np.uint64(0xFFFFFFFF)
_32 = np.uint64(32)
_11 = np.uint64(11)
_2_POW_MINUS_53 = 1.0 / 9007199254740992.0


@kernel()
def philox(key: np.uint64, low: np.uint64, high: np.uint64) -> np.uint64:
    """Return the first 64 bits of the Philox 4x32-10 block of a 128-bit counter (high, low)."""
    c0 = low & _LOW
    c1 = low >> _32
    c2 = high & _LOW
    c3 = high >> _32
    k0 = key & _LOW
    k1 = key >> _32
    for _ in range(10):
        p0 = _M0 * c0
        p1 = _M1 * c2
        c0 = (p1 >> _32) ^ c1 ^ k0
        c1 = p1 & _LOW
        c2 = (p0 >> _32) ^ c3 ^ k1
        c3 = p0 & _LOW
        k0 = (k0 + _W0) & _LOW
        k1 = (k1 + _W1) & _LOW
    return (c1 << _32) | c0


@kernel()
def uniform(key: np.uint64, trial: int, t: int, index: int) -> float:
    """Return a float in [0, 1) with 53 random bits, for one (trial, round, index)."""
    place = (np.uint64(trial) << _32) | np.uint64(t)
    bits = philox(key, np.uint64(index), place)
    return np.float64(bits >> _11) * _2_POW_MINUS_53


@kernel()
def fill_uniform(key: np.uint64, first_trial: int, t: int, out: Floats) -> None:
    """Set out[b, i] to the uniform number of trial first_trial + b and index i."""
    for b in range(out.shape[0]):
        for i in range(out.shape[1]):
            out[b, i] = uniform(key, first_trial + b, t, i)


@kernel()
def _normal(key: np.uint64, trial: int, t: int, index: int) -> float:
    """Draw a standard normal by the Box-Muller transform, from ``index`` and ``index + 1``."""
    radius = math.sqrt(-2.0 * math.log(1.0 - uniform(key, trial, t, index)))
    return radius * math.cos(2.0 * math.pi * uniform(key, trial, t, index + 1))


@kernel()
def _log_gamma_draw(key: np.uint64, trial: int, t: int, index: int, shape: float) -> float:
    """Draw log Gamma(shape) by Marsaglia and Tsang (2000), with boosting below shape 1."""
    boost = 0.0
    if shape < 1.0:
        boost = math.log(1.0 - uniform(key, trial, t, index)) / shape
        shape += 1.0
    d = shape - 1.0 / 3.0
    c = 1.0 / math.sqrt(9.0 * d)
    attempt = index + 1
    while True:
        z = _normal(key, trial, t, attempt)
        v = 1.0 + c * z
        u = 1.0 - uniform(key, trial, t, attempt + 2)
        attempt += 3
        if v > 0.0:
            v = v * v * v
            if math.log(u) < 0.5 * z * z + d - d * v + d * math.log(v):
                return boost + math.log(d * v)


@kernel()
def within(a: Floats, b: Floats, least: float, most: float) -> bool:
    """Return whether all numbers of two arrays of the same shape are in a range; NaN is not."""
    good = True
    # no early exit: the loop can be vectorised
    for t in range(a.shape[0]):
        for k in range(a.shape[1]):
            x = a[t, k]
            y = b[t, k]
            good &= (x >= least) & (x <= most) & (y >= least) & (y <= most)
    return good


@kernel()
def fill_beta_logit(
    key: np.uint64, first_trial: int, t: int, a: Floats, b: Floats, out: Floats
) -> None:
    """Set out[b, i] to the logit of a Beta draw: the ratio of two gamma draws."""
    for trial in range(out.shape[0]):
        for i in range(out.shape[1]):
            start = i << 21
            x = _log_gamma_draw(key, first_trial + trial, t, start, a[trial, i])
            y = _log_gamma_draw(key, first_trial + trial, t, start + (1 << 20), b[trial, i])
            out[trial, i] = x - y


@kernel()
def fill_beta(key: np.uint64, first_trial: int, t: int, a: Floats, b: Floats, out: Floats) -> None:
    """Set out[b, i] ~ Beta(a[b, i], b[b, i]), the draw of :func:`fill_beta_logit`."""
    fill_beta_logit(key, first_trial, t, a, b, out)
    for trial in range(out.shape[0]):
        for i in range(out.shape[1]):
            out[trial, i] = 1.0 / (1.0 + math.exp(min(-out[trial, i], 700.0)))


@kernel()
def fill_actions(key: np.uint64, first_trial: int, t: int, pi: Floats, out: Ints) -> None:
    """Draw one arm per trial from the rows of pi by inversion; never an arm with pi = 0."""
    for b in range(pi.shape[0]):
        total = 0.0
        for i in range(pi.shape[1]):
            total += pi[b, i]
        target = uniform(key, first_trial + b, t, 0) * total
        cumulated = 0.0
        chosen = -1
        for i in range(pi.shape[1]):
            if pi[b, i] > 0.0:
                chosen = i
                cumulated += pi[b, i]
                if cumulated > target:
                    break
        out[b] = chosen


@kernel()
def are_distributions(pi: Floats, tolerance: float) -> bool:
    """Return whether no number is negative or NaN, and the sum of each row is 1."""
    good = True
    for b in range(pi.shape[0]):
        total = 0.0
        for i in range(pi.shape[1]):
            good &= pi[b, i] >= 0.0
            total += pi[b, i]
        good &= abs(total - 1.0) < tolerance
    return good


#: Replaces 0, at which quantiles are infinite; half of the smallest positive uniform number.
_LEAST = 2.0**-54


@kernel()
def bernoulli_outcomes(
    theta: Floats,
    key: np.uint64,
    first_trial: int,
    t: int,
    trial: Ints,
    arm: Ints,
    reward: Floats,
) -> None:
    """Set reward[k] to 1 with probability theta of the k-th (trial, arm), else to 0."""
    for k in range(trial.size):
        b = trial[k]
        seen = uniform(key, first_trial + b, t, arm[k]) < theta[b, arm[k]]
        reward[k] = 1.0 if seen else 0.0


@kernel()
def pair_uniforms(
    key: np.uint64, first_trial: int, t: int, trial: Ints, arm: Ints, out: Floats
) -> None:
    """Set out[k] to the uniform number of the k-th (trial, arm), in (0, 1)."""
    for k in range(trial.size):
        out[k] = max(_LEAST, uniform(key, first_trial + trial[k], t, arm[k]))
