"""Densities of the mean of a Dirichlet distribution over listed values, by contour integrals.

For p ~ Dirichlet(c), C = sum c and theta = sum_k p_k v_k, Cifarelli and Regazzini's identity is

    E (1 - s (theta - x))^-C = exp(K(s)),    K(s) = -sum_k c_k log(1 - s d_k),    d_k = v_k - x.

Inverted along a vertical line, it gives the density f^k of theta after the outcome v_k, and the
distribution function F (with s < 0) and its integral:

    f^k(x) = C / (2 pi i) int exp(K(s)) / (1 - s d_k) ds,
    F(x) = -1 / (2 pi i) int exp(K(s)) / s ds,
    int_{-inf}^x F = 1 / (2 pi i C) int exp(K(s)) / s^2 ds.

With p_k = c_k / C and the mean m, without cancellation: f = sum_k p_k f^k,
F^k(x) - F(x) = (x - v_k) f^k(x) / C, int_{-inf}^x (m - theta) f = sum_k p_k (v_k - x)^2 f^k(x) / C.

The line goes through the saddle point s0, K'(s0) = 0, where the integrand is largest, so values
have a small relative error, also in the tails. With a_k = 1 - s0 d_k > 0 and e_k = d_k / a_k the
integrand at s0 + i y is exp(K(s0)) prod_k (1 - i y e_k)^-c_k; with y = sinh(t) / max |e_k| the
trapezoidal rule converges geometrically. If one weight is much larger than the others and x is near
its value, the integrand oscillates before it is small: then the line is replaced by a hyperbola,
tilted to the side where the oscillating factor decreases.

-K(s0) is convex in x, with the slope C s0 and the minimum 0 at the mean. A tail beyond x is at most
exp(K(s0)) (Chernoff's bound): -K(s0) is the "level" of the density at x.
"""

from __future__ import annotations

import math

import numpy as np

from graphbandits._jit import kernel
from graphbandits._types import Floats
from graphbandits.posteriors._quadrature_kernels import exp_lane, log1p_lane

#: Number of nodes of the contour per loop.
CHUNK = 16
#: Relative errors are about exp(-digits): "strict" and "simulation".
FINE, COARSE = 36.0, 28.0
#: If the integrand is about normal, with the standard deviation sigma of t at the saddle point, the
#: error of a step h is exp(-2 pi^2 sigma^2 / h^2). A step is this part of the one with that error.
_SAFE = 0.95
#: Otherwise the error is about exp(y^2 / (2 sigma^2) - 2 pi y / h), where y is the width of the
#: strip |Im t| < y in which the integrand is not much larger than on the contour.
CONTOUR_STRIP = 0.7
#: If the phase changes by more than this while y grows by a factor of e, the contour is tilted.
MOST_PHASE = 4.0
#: Largest tilt; with a weight b in the way it is TILT / sqrt(b), for which the integrand is at most
#: cos(tilt)^-b, about 2, times larger.
MOST_TILT = 0.5
TILT = 1.2
#: Terms below exp(-digits - _MORE), relative to the largest one, are neglected.
_MORE = 6.0
#: Largest t: beyond it sinh overflows.
_MOST_T = 700.0
#: Largest |w| of a saddle point.
_MOST_W = 700.0
#: Newton steps for a saddle point; 3 to 6 are usual.
_STEPS = 100
#: Rows of the work space of a contour: y, its weight times the modulus, cos and sin of the phase.
WORK_ROWS = 6

_PI_4 = math.pi / 4.0
_PI_2 = math.pi / 2.0
_PI_2_HIGH = 1.57079632673412561417e00
_PI_2_LOW = 6.07710050650619224932e-11
_2_PI = 2.0 / math.pi


@kernel(fastmath={"contract"}, inline=True)
def angle_lane(y: float, x: float) -> float:
    """Compute the angle atan2(y, x) to 1 or 2 ulp, in a form that vectorises (after Cephes)."""
    most = max(abs(x), abs(y))
    least = min(abs(x), abs(y))
    near = least <= 0.66 * most
    r = (least if near else least - most) / (most if near else least + most)
    z = r * r
    p = -8.750608600031904122785e-1
    p = p * z - 1.615753718733365076637e1
    p = p * z - 7.500855792314704667340e1
    p = p * z - 1.228866684490136173410e2
    p = p * z - 6.485021904942025371773e1
    q = z + 2.485846490142306297962e1
    q = q * z + 1.650270098316988542046e2
    q = q * z + 4.328810604912902668951e2
    q = q * z + 4.853903996359136964868e2
    q = q * z + 1.945506571482613964425e2
    angle = (0.0 if near else _PI_4) + (r * (z * (p / q)) + r)
    angle = _PI_2 - angle if abs(y) > abs(x) else angle
    angle = math.pi - angle if x < 0.0 else angle
    return angle if y >= 0.0 else -angle


@kernel(fastmath={"contract"}, inline=True)
def cos_sin_lane(x: float) -> tuple[float, float]:
    """Compute cos(x) and sin(x) with an absolute error of about 1e-16 |x|."""
    k = math.floor(x * _2_PI + 0.5)
    r = (x - k * _PI_2_HIGH) - k * _PI_2_LOW
    z = r * r
    s = 1.58969099521155010221e-10
    s = s * z - 2.50507602534068634195e-08
    s = s * z + 2.75573137070700676789e-06
    s = s * z - 1.98412698298579493134e-04
    s = s * z + 8.33333333332248946124e-03
    s = s * z - 1.66666666666666324348e-01
    sine = r + r * (z * s)
    c = -1.13596475577881948265e-11
    c = c * z + 2.08757232129817482790e-09
    c = c * z - 2.75573143513906633035e-07
    c = c * z + 2.48015872894767294178e-05
    c = c * z - 1.38888888888741095749e-03
    c = c * z + 4.16666666666666019037e-02
    cosine = 1.0 - 0.5 * z + z * z * c
    quarter = k - 4.0 * math.floor(0.25 * k)
    odd = quarter == 1.0 or quarter == 3.0
    one = sine if odd else cosine
    two = cosine if odd else sine
    return (
        -one if quarter == 1.0 or quarter == 2.0 else one,
        -two if quarter >= 2.0 else two,
    )


@kernel()
def find_saddle(c: Floats, v: Floats, d: Floats, pole: float, start: float, a: Floats) -> float:
    """Find the saddle point s0 < 1/d_k of K(s) - pole log(-s); fill a_k = 1 - s0 d_k; return w."""
    # w, the log of the ratio of a_0 and the last a, determines all of them without cancellation;
    # ``start`` is an initial w; if ``pole`` is above 0, w is below 0
    n = c.size
    last = n - 1
    total = 1.0
    for k in range(n):
        total += c[k]
    enough = 0.02 / math.sqrt(total)
    left = -_MOST_W
    right = 0.0 if pole > 0.0 else _MOST_W
    w = start
    if not left < w < right:
        w = max(left + 1.0, -1.0) if pole > 0.0 else 0.0
    for _ in range(_STEPS):
        e = math.exp(-abs(w))
        up = (1.0 if w >= 0.0 else e) / (1.0 + e)
        down = (e if w >= 0.0 else 1.0) / (1.0 + e)
        scale = up * d[last] - down * d[0]
        per_scale = 1.0 / scale
        above = 0.0
        below = 0.0
        above_slope = 0.0
        below_slope = 0.0
        for k in range(n):
            a[k] = (up * (v[last] - v[k]) + down * (v[k] - v[0])) * per_scale
            tilted = d[k] / a[k]
            term = c[k] * tilted
            if term > 0.0:
                above += term
                above_slope += term * tilted
            else:
                below -= term
                below_slope += term * tilted
        if pole > 0.0:
            per_s = scale / math.tanh(-0.5 * w)
            above += pole * per_s
            above_slope += pole * per_s * per_s
        miss = math.log(above / below)
        if abs(miss) < enough:
            break
        if miss > 0.0:
            right = w
        else:
            left = w
        rate = (above_slope / above + below_slope / below) * (up * down * (v[last] - v[0]))
        w -= miss * scale * scale / rate
        if not left < w < right:
            if pole > 0.0 and right == 0.0:
                w = 0.5 * left if left > -_MOST_W else w
            if not left < w < right:
                w = 0.5 * (left + right)
        if right - left < 1e-13 * (abs(left) + abs(right)):
            break
    return w


@kernel(inline=True)
def saddle_point(v: Floats, d: Floats, w: float) -> float:
    """Compute s0 from w (see :func:`find_saddle`)."""
    e = math.exp(-abs(w))
    up = (1.0 if w >= 0.0 else e) / (1.0 + e)
    down = (e if w >= 0.0 else 1.0) / (1.0 + e)
    s: float = math.tanh(0.5 * w) / (up * d[d.size - 1] - down * d[0])
    return s


@kernel()
def log_peak(c: Floats, d: Floats, a: Floats, s: float) -> float:
    """Compute K(s) = -sum_k c_k log(1 - s d_k), with a_k = 1 - s d_k; minus the level."""
    total = 0.0
    for k in range(c.size):
        shift = -s * d[k]
        # a_k is rounded relative to 1, and weights are up to 1e10
        total -= c[k] * (math.log1p(shift) if abs(shift) < 0.5 else math.log(a[k]))
    return total


@kernel()
def level_and_slope(
    c: Floats, v: Floats, d: Floats, start: float, a: Floats
) -> tuple[float, float, float]:
    """Compute the level -K(s0), its derivative C s0 with respect to x, and w of the saddle."""
    w = find_saddle(c, v, d, 0.0, start, a)
    s = saddle_point(v, d, w)
    return max(0.0, -log_peak(c, d, a, s)), c.sum() * s, w


@kernel()
def _tilt(
    c: Floats,
    d: Floats,
    a: Floats,
    pole: float,
    pole_e: float,
    unit: float,
    deviation: float,
    digits: float,
) -> tuple[float, float]:
    """Return the angle of the contour to a vertical line far out, and the width of its strip."""
    # The angle is 0 if the integrand hardly oscillates, or if the direction in which it decreases
    # changes before it is negligible; then more nodes are needed
    most = 0.0
    weight = 0.0
    rate = 0.0
    y = min(1.0, deviation)
    while y < 1e300:
        u = y * (pole_e * unit)
        level = 0.5 * pole * log1p_lane(u * u)
        rate = pole * u / (1.0 + u * u)
        passed = pole * (u * u / (0.25 + u * u))
        for k in range(c.size):
            u = y * (d[k] / a[k] * unit)
            level += 0.5 * c[k] * log1p_lane(u * u)
            rate += c[k] * u / (1.0 + u * u)
            passed += c[k] * (u * u / (0.25 + u * u))
        if level > digits:
            break
        if abs(rate) > abs(most):
            most = rate
            weight = passed
        y *= 4.0 if y < 1e4 else 64.0
    if abs(most) < MOST_PHASE:
        return 0.0, CONTOUR_STRIP
    if most * rate < 0.0:
        return 0.0, min(CONTOUR_STRIP, MOST_PHASE / abs(most))
    tilt = min(MOST_TILT, TILT / math.sqrt(max(weight, 1.0)))
    return -tilt if most > 0.0 else tilt, tilt


@kernel()
def _cut_tail(
    along: Floats,
    smallest: float,
    digits: float,
    weight: Floats,
    phase: Floats,
    real: Floats,
    imaginary: Floats,
) -> bool:
    """Remove the nodes from the first negligible one on; return whether there is one."""
    # further on, a tilted contour may lead to large values
    ended = False
    for i in range(CHUNK):
        size = weight[i] + math.log1p(along[i]) - math.log1p(along[i] * smallest)
        ended = ended or size < -digits - _MORE
        if ended:
            weight[i] = -700.0
            phase[i] = 0.0
            real[i] = 0.0
            imaginary[i] = 0.0
    return ended


@kernel()
def integrate_contour(
    c: Floats,
    d: Floats,
    a: Floats,
    pole: float,
    pole_e: float,
    digits: float,
    out: Floats,
    work: Floats,
) -> float:
    """Integrate the integrand over its value at the saddle point, along the hyperbola."""
    # with z = s - s0 and q = prod_j (1 - z e_j)^-c_j: without a pole out[k] is the integral of
    # q / (1 - z e_k) dz / (2 pi i), with one that of q (1 - z pole_e)^-pole is returned
    n = c.size
    largest = abs(pole_e) if pole > 0.0 else 0.0
    smallest = np.inf
    for k in range(n):
        e = d[k] / a[k]
        out[k] = 0.0
        largest = max(largest, abs(e))
        smallest = min(smallest, abs(e))
    unit = 1.0 / largest
    bend = pole * (pole_e * unit) ** 2
    for k in range(n):
        bend += c[k] * (d[k] / a[k] * unit) ** 2
    if pole > 0.0:
        smallest = 0.0
    deviation = 1.0 / math.sqrt(bend)
    tilt, strip = _tilt(c, d, a, pole, pole_e, unit, deviation, digits)
    step = _SAFE * math.pi * math.sqrt(2.0 / digits) * deviation
    if 2.0 * math.pi * deviation * deviation > strip * step:
        damping = digits + 0.5 * (strip / deviation) ** 2
        step = min(step, 2.0 * math.pi * strip / damping)
    turn = math.sin(tilt)
    cos_turn = math.cos(tilt)
    across, along, weight, phase = work[0], work[1], work[2], work[3]
    real, imaginary = work[4], work[5]
    value = 0.0
    first = 0
    ended = False
    while True:
        for i in range(CHUNK):
            t = step * (first + i)
            e = math.exp(0.5 * t)
            sinh = 0.5 * (e - 1.0 / e) if t > 0.5 else math.sinh(0.5 * t)
            across[i] = 2.0 * turn * (sinh * sinh)
            cosh = 0.5 * (e + 1.0 / e)
            along[i] = 2.0 * cos_turn * (sinh * cosh)
            real[i] = cos_turn * (cosh * cosh + sinh * sinh)
            imaginary[i] = -2.0 * turn * (sinh * cosh)
            weight[i] = 0.0
            phase[i] = 0.0
        for k in range(n):
            e = d[k] / a[k] * unit
            for i in range(CHUNK):
                x = across[i] * e
                y = along[i] * e
                weight[i] -= 0.5 * c[k] * log1p_lane((x * x + y * y) - 2.0 * x)
                phase[i] += c[k] * angle_lane(y, 1.0 - x)
        if pole > 0.0:
            e = pole_e * unit
            for i in range(CHUNK):
                x = across[i] * e
                y = along[i] * e
                weight[i] -= 0.5 * pole * log1p_lane((x * x + y * y) - 2.0 * x)
                phase[i] += pole * angle_lane(y, 1.0 - x)
        ended = _cut_tail(along, smallest * unit, digits, weight, phase, real, imaginary)
        for i in range(CHUNK):
            cosine, sine = cos_sin_lane(phase[i])
            modulus = exp_lane(weight[i])
            re = modulus * (cosine * real[i] - sine * imaginary[i])
            imaginary[i] = modulus * (cosine * imaginary[i] + sine * real[i])
            real[i] = re
        if first == 0:
            real[0] *= 0.5
            imaginary[0] *= 0.5
        for k in range(n if pole == 0.0 else 0):
            e = d[k] / a[k] * unit
            s = 0.0
            for i in range(CHUNK):
                x = 1.0 - across[i] * e
                y = along[i] * e
                s += (real[i] * x - imaginary[i] * y) / (x * x + y * y)
            out[k] += s
        if pole > 0.0:
            for i in range(CHUNK):
                value += real[i]
        first += CHUNK
        if ended or step * (first + CHUNK) > _MOST_T:
            break
    factor = step * unit / math.pi
    for k in range(n):
        out[k] *= factor
    return value * factor


@kernel()
def fill_after(
    c: Floats,
    v: Floats,
    d: Floats,
    start: float,
    digits: float,
    a: Floats,
    out: Floats,
    work: Floats,
) -> tuple[float, float]:
    """Set out[k] exp(-level) = f^k(x) / C; return the level and w of the saddle."""
    w = find_saddle(c, v, d, 0.0, start, a)
    s = saddle_point(v, d, w)
    integrate_contour(c, d, a, 0.0, 0.0, digits, out, work)
    for k in range(c.size):
        out[k] /= a[k]
    return -log_peak(c, d, a, s), w


@kernel()
def lower_tail_of(
    c: Floats, v: Floats, d: Floats, order: float, a: Floats, out: Floats, work: Floats
) -> tuple[float, float]:
    """Compute F (order 1) or its integral (order 2) as factor exp(-level): return both."""
    w = find_saddle(c, v, d, order, -1.0, a)
    s = saddle_point(v, d, w)
    value = integrate_contour(c, d, a, order, -1.0 / s, FINE, out, work)
    value *= (-1.0 / s) ** order
    if order > 1.0:
        value /= c.sum()
    return value, -log_peak(c, d, a, s)
