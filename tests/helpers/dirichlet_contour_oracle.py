"""Densities and distribution functions of means of Dirichlet distributions, with proven digits.

The integrals of Cifarelli and Regazzini are computed by the interval arithmetic of FLINT along two
straight rays from a saddle point, for any weights. Nothing here is shared with the library.
"""

from __future__ import annotations

import numpy as np
from flint import acb, arb, ctx

BITS = 160
#: Angles of the rays to a vertical line that are tried.
TILTS = (0.0, 0.15, -0.15, 0.3, -0.3, 0.5, -0.5, 0.8, -0.8, 1.2, -1.2)


def contour_value(weights: np.ndarray, values: np.ndarray, x: float, order: int, k: int) -> arb:
    """The density after the outcome k (order 0), F(x) (order 1) or the integral of F (order 2)."""
    with ctx.workprec(BITS):
        return _contour_value(weights, values, x, order, k)


def _saddle(c: list[arb], d: list[arb], order: int) -> arb:
    low, high = 1 / d[0], arb(0) if order else 1 / d[-1]
    for _ in range(140):
        middle = ((low + high) / 2).mid()
        slope = sum((a * b / (1 - middle * b) for a, b in zip(c, d, strict=True)), arb(0))
        if order:
            slope -= order / middle
        if slope > 0:
            high = middle
        else:
            low = middle
    return ((low + high) / 2).mid()


def _ray(c: np.ndarray, e: np.ndarray, k: int | None) -> tuple[float, float]:
    """The angle along which the integrand decreases best, and where it is below exp(-60)."""
    t = np.concatenate([np.linspace(0.0, 3.0, 60), np.geomspace(3.0, 1e60, 900)])
    best = (np.inf, 0.0, 1.0)
    for tilt in TILTS:
        z = t * np.exp(1j * (np.pi / 2.0 - tilt))
        size = -(c[:, None] * np.log(np.abs(1.0 - z * e[:, None]))).sum(axis=0)
        if k is not None:
            size -= np.log(np.abs(1.0 - z * e[k]))
        size += np.log(t + 1e-3)
        end = t[min(np.nonzero(size > -60.0)[0][-1] + 1, len(t) - 1)]
        score = np.log(end + 1.0) + 2.0 * max(0.0, size.max() - 3.0)
        best = min(best, (score, tilt, float(end)))
    return best[1], best[2]


def _contour_value(weights: np.ndarray, values: np.ndarray, x: float, order: int, k: int) -> arb:
    c = [arb(float(w)) for w in weights]
    d = [arb(float(v)) - arb(float(x)) for v in values]
    total = sum(c, arb(0))
    s = _saddle(c, d, order)
    a = [1 - s * one for one in d]
    e = [one / other for one, other in zip(d, a, strict=True)]
    peak = (-sum((one * other.log() for one, other in zip(c, a, strict=True)), arb(0))).exp()
    if order:  # the pole at s = 0 is like one more value
        c, e = [*c, arb(order)], [*e, -1 / s]
    unit = arb(max(abs(float(one)) for one in e))
    e = [one / unit for one in e]
    rounded = (np.array([float(one) for one in row]) for row in (c, e))
    tilt, end = _ray(*rounded, None if order else k)
    ray = (acb(0, 1) * (arb.pi() / 2 - tilt)).exp()

    def integrand(t: acb, analytic: bool) -> acb:
        z = ray * t
        log = acb(0)
        for one, other in zip(c, e, strict=True):
            log -= one * (1 - z * other).log(analytic=analytic)
        return log.exp() / (1 if order else 1 - z * e[k])

    near = acb.integral(integrand, 0, 1, rel_tol=1e-24, abs_tol=1e-30, eval_limit=10**6)
    far = acb(0)
    if end > 1.0:
        far = acb.integral(
            lambda u, analytic: u.exp() * integrand(u.exp(), analytic),
            0,
            arb(float(np.log(end))),
            rel_tol=1e-24,
            abs_tol=1e-30,
            eval_limit=10**6,
        )
    value = (ray * (near + far) / acb(0, 1)).real / arb.pi() / unit * peak
    if order == 0:
        return total * value / a[k]
    return value / (-s) if order == 1 else value / (s * s * total)
