"""I(A*; Y_N) of Beta-Bernoulli arms from its definition, in exact rationals: an oracle.

P(y, A* = j) = P(y) alpha_j(posterior after y), where alpha_j is the integral of a polynomial, and
I = sum over y, j of P(y, j) log(P(y, j) / (alpha_j P(y))), the logarithms in ball arithmetic.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache
from itertools import product

import numpy as np
from flint import arb, ctx, fmpq, fmpz_poly

Params = Sequence[tuple[int, int]]


@cache
def exact_alpha(params: tuple[tuple[int, int], ...]) -> tuple[fmpq, ...]:
    """alpha_j = int f_j prod_{k != j} F_k, for whole parameters.

    In the variable x, f = c x^(a-1) (1-x)^(b-1) and F is its primitive: all plain polynomials.
    """
    density, distribution = [], []
    for a, b in params:
        scale = math.factorial(a + b - 1) // (math.factorial(a - 1) * math.factorial(b - 1))
        f = scale * fmpz_poly([0, 1]) ** (a - 1) * fmpz_poly([1, -1]) ** (b - 1)
        density.append(f)
        distribution.append([fmpq(0)] + [fmpq(c, i + 1) for i, c in enumerate(f.coeffs())])
    found = []
    for j, f in enumerate(density):
        inside = [fmpq(c) for c in f.coeffs()]
        for k, big_f in enumerate(distribution):
            if k != j:
                inside = _times(inside, big_f)
        found.append(sum((c / (i + 1) for i, c in enumerate(inside)), fmpq(0)))
    assert sum(found, fmpq(0)) == 1
    return tuple(found)


def _times(one: list[fmpq], other: list[fmpq]) -> list[fmpq]:
    product_ = [fmpq(0)] * (len(one) + len(other) - 1)
    for i, c in enumerate(one):
        for j, d in enumerate(other):
            product_[i + j] += c * d
    return product_


def exact_information(params: Params, seen: Sequence[int]) -> float:
    """I(A*; Y_N), rounded once."""
    prior = exact_alpha(tuple(params))
    with ctx.workprec(500):
        total = arb(0)
        for outcome in product((0, 1), repeat=len(seen)):
            after, chance = list(params), fmpq(1)
            for arm, y in zip(seen, outcome, strict=True):
                a, b = after[arm]
                chance *= fmpq(a if y else b, a + b)
                after[arm] = (a + y, b + 1 - y)
            for before, now in zip(prior, exact_alpha(tuple(after)), strict=True):
                joint = chance * now
                if joint != 0 and joint != before * chance:
                    total += arb(joint) * arb(joint / (before * chance)).log()
        assert total.rel_accuracy_bits() > 80 or total == 0
        return float(total)


def exact_gain(params: Params, matrix: np.ndarray) -> np.ndarray:
    """g_i: the mean of I(A*; Y_N) over the sets N that playing i may show, (K,)."""
    arms = range(len(params))
    known: dict[tuple[int, ...], float] = {}
    found = np.zeros(len(params))
    for i in arms:
        for shown in product((False, True), repeat=len(params)):
            chance = math.prod(
                float(p) if there else 1.0 - float(p)
                for p, there in zip(matrix[i], shown, strict=True)
            )
            if chance > 0.0:
                seen = tuple(k for k in arms if shown[k])
                if seen not in known:
                    known[seen] = exact_information(params, seen)
                found[i] += chance * known[seen]
    return found
