"""Exact statistics of Dirichlet arms with whole weights, by piecewise polynomials with rationals.

The mean of a Dirichlet distribution with whole weights has the density of a B-spline whose knots
are the values, repeated as often as their weights (Curry and Schoenberg 1966): its survival
function is the divided difference of (t - x)_+^(C-1), a sum of residues. So all integrals are sums
of rationals; only the logarithms of h are rounded, to 300 bits. Nothing here is shared with the
library.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from flint import arb, ctx, fmpq, fmpq_poly, fmpq_series

BITS = 300


@dataclass(frozen=True)
class ExactBeliefs:
    """Correctly rounded statistics."""

    alpha: np.ndarray
    delta: np.ndarray
    h: np.ndarray
    v: np.ndarray
    rho: float


def rational(x: float) -> fmpq:
    return fmpq(*float(x).as_integer_ratio())


def _survival(weights: list[int], values: list[fmpq]) -> list[fmpq_poly]:
    """The survival function of the mean as a polynomial of x between neighbouring values."""
    total = sum(weights)
    x = fmpq_poly([0, 1])
    residues = []
    for k, weight in enumerate(weights):
        ctx.cap = weight
        series = fmpq_series([1], prec=weight)
        for j, other in enumerate(weights):
            if j != k:
                base = fmpq_series([values[k] - values[j], 1], prec=weight)
                series = series * (1 / base) ** other
        found, choose = fmpq_poly([0]), fmpq(1)
        # coefficient of u^(weight-1) in series(u) (u + v_k - x)^(total-1)
        powers = [(values[k] - x) ** (total - weight)]
        for _ in range(weight - 1):
            powers.append(powers[-1] * (values[k] - x))
        for r in range(weight):
            found = found + series[weight - 1 - r] * choose * powers[weight - 1 - r]
            choose = choose * (total - 1 - r) / (r + 1)
        residues.append(found)
    return [sum(residues[q + 1 :], fmpq_poly([0])) for q in range(len(values) - 1)]


def _integrate(pieces: list[fmpq_poly], values: list[fmpq]) -> fmpq:
    total = fmpq(0)
    for piece, low, high in zip(pieces, values, values[1:], strict=False):
        whole = piece.integral()
        total += whole(high) - whole(low)
    return total


def _running(pieces: list[fmpq_poly], values: list[fmpq]) -> list[fmpq_poly]:
    """The integral from the smallest value to x."""
    found, before = [], fmpq(0)
    for piece, low, high in zip(pieces, values, values[1:], strict=False):
        whole = piece.integral()
        whole = whole - whole(low) + before
        found.append(whole)
        before = whole(high)
    return found


def _times(*factors: list[fmpq_poly]) -> list[fmpq_poly]:
    product = factors[0]
    for factor in factors[1:]:
        product = [a * b for a, b in zip(product, factor, strict=True)]
    return product


def exact_dirichlet(weights: np.ndarray, values: np.ndarray) -> ExactBeliefs:
    """Statistics of arms with whole weights (K, m)."""
    with ctx.workprec(BITS):
        return _exact([[int(c) for c in row] for row in weights], [rational(x) for x in values])


def _exact(weights: list[list[int]], values: list[fmpq]) -> ExactBeliefs:
    arms, m = len(weights), len(values)
    x = [fmpq_poly([0, 1])] * (m - 1)
    below = []
    for row in weights:
        below.append([1 - piece for piece in _survival(row, values)])
    density = [[piece.derivative() for piece in big_f] for big_f in below]
    part = [_running(_times(x, f), values) for f in density]
    means = [
        sum((c * v for c, v in zip(row, values, strict=True)), fmpq(0)) / sum(row)
        for row in weights
    ]

    def others(*left_out: int) -> list[list[fmpq_poly]]:
        return [below[k] for k in range(arms) if k not in left_out]

    best = [_times(density[j], *others(j)) for j in range(arms)]
    alpha = [_integrate(pieces, values) for pieces in best]
    rho = sum((_integrate(_times(x, pieces), values) for pieces in best), fmpq(0))
    h, v = [], []
    for i, row in enumerate(weights):
        spread = fmpq(0)
        for j in range(arms):
            inside = best[i] if i == j else _times(density[j], *others(i, j), part[i])
            moment = _integrate(_times(x, inside) if i == j else inside, values)
            if alpha[j] > 0:
                spread += alpha[j] * (moment / alpha[j] - means[i]) ** 2
        v.append(float(arb(spread)))
        gain = arb(0)
        for k in range(m):
            after = [c + (1 if n == k else 0) for n, c in enumerate(row)]
            big_f = [1 - piece for piece in _survival(after, values)]
            f = [piece.derivative() for piece in big_f]
            chance = fmpq(row[k], sum(row))
            for j in range(arms):
                inside = (
                    _times(f, *others(i)) if i == j else _times(density[j], *others(i, j), big_f)
                )
                mass = _integrate(inside, values)
                if mass > 0:
                    gain += arb(chance * mass) * (arb(mass) / arb(alpha[j])).log()
        h.append(float(gain))
    delta = [float(arb(rho - mean)) for mean in means]
    return ExactBeliefs(
        np.array([float(arb(a)) for a in alpha]),
        np.array(delta),
        np.array(h),
        np.array(v),
        float(arb(rho)),
    )
