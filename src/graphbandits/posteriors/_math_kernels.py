"""Elementary functions of the quadrature, in a form that vectorises in loops over nodes."""

from __future__ import annotations

import math

import numpy as np

from graphbandits._jit import kernel

_LOG2_E = 1.4426950408889634
_LN2_HIGH = 6.93147180369123816490e-01
_LN2_LOW = 1.90821492927058770002e-10
#: Adding 1.5 * 2**52 rounds a double to an integer, which is then in its low bits.
_ROUNDER = 6755399441055744.0
#: Added to the bits of a double, it increments the exponent for mantissas from sqrt(1/2) on.
_TO_SQRT_HALF = np.uint64(0x3FF0000000000000 - 0x3FE6A09E667F3BCD)
_52 = np.uint64(52)
_1023 = np.uint64(1023)
#: A small integer or-ed into these bits is a double: 2**52 plus that integer.
_AS_DOUBLE = np.uint64(0x4330000000000000)
_DOUBLE_BIAS = 4503599627370496.0 + 1023.0
_HALF_LOG_2PI = 0.9189385332046727


@kernel(fastmath={"contract"}, inline=True)
def exp_lane(x: float) -> float:
    """Compute exp(max(x, -700)) for x <= 700, to 1 ulp; ``math.exp`` does not vectorise."""
    clipped = max(x, -700.0)
    shifted = clipped * _LOG2_E + _ROUNDER
    k = shifted - _ROUNDER
    r = (clipped - k * _LN2_HIGH) - k * _LN2_LOW
    p = 1.0 / 479001600.0
    p = p * r + 1.0 / 39916800.0
    p = p * r + 1.0 / 3628800.0
    p = p * r + 1.0 / 362880.0
    p = p * r + 1.0 / 40320.0
    p = p * r + 1.0 / 5040.0
    p = p * r + 1.0 / 720.0
    p = p * r + 1.0 / 120.0
    p = p * r + 1.0 / 24.0
    p = p * r + 1.0 / 6.0
    p = p * r + 0.5
    p = p * r + 1.0
    p = p * r + 1.0
    bits = np.float64(shifted).view(np.int64)
    power: float = np.int64((bits + 1023) << 52).view(np.float64)
    return p * power


@kernel(fastmath={"contract"}, inline=True)
def expm1_lane(x: float) -> tuple[float, float]:
    """Compute exp(x) - 1, to 1 or 2 ulp also near 0, and exp(x); x is clipped to |x| <= 700."""
    clipped = min(max(x, -700.0), 700.0)
    shifted = clipped * _LOG2_E + _ROUNDER
    k = shifted - _ROUNDER
    r = (clipped - k * _LN2_HIGH) - k * _LN2_LOW
    p = 1.0 / 6227020800.0
    p = p * r + 1.0 / 479001600.0
    p = p * r + 1.0 / 39916800.0
    p = p * r + 1.0 / 3628800.0
    p = p * r + 1.0 / 362880.0
    p = p * r + 1.0 / 40320.0
    p = p * r + 1.0 / 5040.0
    p = p * r + 1.0 / 720.0
    p = p * r + 1.0 / 120.0
    p = p * r + 1.0 / 24.0
    p = p * r + 1.0 / 6.0
    p = p * r + 0.5
    p = p * (r * r) + r
    bits = np.float64(shifted).view(np.int64)
    power: float = np.int64((bits + 1023) << 52).view(np.float64)
    return p * power + (power - 1.0), p * power + power


@kernel(fastmath={"contract"}, inline=True)
def log_lane(z: float, lost: float) -> float:
    """Compute log(z) + lost for z > 0, to about 1 ulp.

    z = 2^k m with m in [sqrt(1/2), sqrt(2)); log m by the odd series in (m-1)/(m+1), with the
    coefficients of fdlibm. ``lost`` is a correction of log z for the rounding of z.
    """
    bits = np.float64(z).view(np.uint64)
    biased = (bits + _TO_SQRT_HALF) >> _52
    k = np.uint64(biased | _AS_DOUBLE).view(np.float64) - _DOUBLE_BIAS
    mantissa = np.uint64(bits - ((biased - _1023) << _52)).view(np.float64)
    f = mantissa - 1.0
    s = f / (2.0 + f)
    w = s * s
    r = 1.479819860511658591e-01
    r = r * w + 1.531383769920937332e-01
    r = r * w + 1.818357216161805012e-01
    r = r * w + 2.222219843214978396e-01
    r = r * w + 2.857142874366239149e-01
    r = r * w + 3.999999999940941908e-01
    r = (r * w + 6.666666666666735130e-01) * w
    half_square = 0.5 * f * f
    small = s * (half_square + r) + (k * _LN2_LOW + lost)
    return k * _LN2_HIGH - ((half_square - small) - f)


@kernel(fastmath={"contract"}, inline=True)
def log1p_lane(u: float) -> float:
    """Compute log(1 + u) for u > -1, with a first-order correction for the rounding of 1 + u."""
    z = 1.0 + u
    # (1/z is about 2 - z if the rounding matters)
    return log_lane(z, (u - (z - 1.0)) * max(0.0, 2.0 - z))


def _stirling_error(z: float) -> float:
    """Compute the remainder from that at z + 20, by Gamma(z + 1) = z Gamma(z)."""
    y = z + 20.0
    u = 1.0 / (y * y)
    series = (1.0 / 12.0 - u * (1.0 / 360.0 - u * (1.0 / 1260.0 - u / 1680.0))) / y
    rising = math.fsum(math.log(z + k) for k in range(20))
    return math.fsum((series, (y - 0.5) * math.log(y), -20.0, -rising, -(z - 0.5) * math.log(z)))


#: Remainder of Stirling's formula at 1/2, 1, 3/2, ..., 10: the values of most posteriors.
_HALVES = np.array([0.0] + [_stirling_error(0.5 * k) for k in range(1, 21)])


@kernel()
def stirling_error(z: float) -> float:
    """Compute the remainder log Gamma(z) - ((z - 1/2) log z - z + log(2 pi)/2) of Stirling."""
    if z < 10.0:
        twice = int(2.0 * z)
        if twice == 2.0 * z:
            return float(_HALVES[twice])
        return math.lgamma(z) - ((z - 0.5) * math.log(z) - z + _HALF_LOG_2PI)
    u = 1.0 / (z * z)
    s = -691.0 / 360360.0 + u * (1.0 / 156.0)
    s = 1.0 / 1188.0 + u * s
    s = -1.0 / 1680.0 + u * s
    s = 1.0 / 1260.0 + u * s
    s = -1.0 / 360.0 + u * s
    return (1.0 / 12.0 + u * s) / z


@kernel(fastmath={"contract"}, inline=True)
def phi(u: float) -> float:
    """Compute (1 + u) log(1 + u) - u for u > -1, without cancellation near 0."""
    # sum_{k>=2} (-u)^k / (k (k - 1)), to rounding for |u| < 0.02
    s = 1.0 / 90.0
    s = 1.0 / 72.0 - u * s
    s = 1.0 / 56.0 - u * s
    s = 1.0 / 42.0 - u * s
    s = 1.0 / 30.0 - u * s
    s = 1.0 / 20.0 - u * s
    s = 1.0 / 12.0 - u * s
    s = 1.0 / 6.0 - u * s
    s = 1.0 / 2.0 - u * s
    return u * u * s if abs(u) < 0.02 else (1.0 + u) * log1p_lane(u) - u


@kernel(inline=True)
def bernoulli_kl(mean: float, rest: float, shift: float) -> float:
    """Compute KL(Bernoulli(m + e) || Bernoulli(m)) = m phi(e/m) + (1-m) phi(-e/(1-m)).

    The shift e must keep m + e strictly between 0 and 1. ``rest`` is 1 - m, passed separately
    because the difference can lose its digits.
    """
    return mean * phi(shift / mean) + rest * phi(-shift / rest)
