"""What alpha, Delta and h are: exact rationals for few arms, 192-bit quadrature for many.

Both need whole parameters, as posteriors from uniform priors have. The exact ones are those of
the tests (tests/helpers/oracles.py). They take all pairs of arms through polynomials of the degree
of all observations together; for many arms this is too much, and Gauss-Legendre panels in ball
arithmetic take over: with equal posteriors taken together, densities f, distribution functions F
(binomial tails, all terms positive) and partial means Q at the nodes of [0, 1],

    alpha_j = int f_j/F_j P,    alpha_j M_ji = int f_j/F_j Q_i/F_i P,    P = prod_k F_k,

and all pairs are one matrix product. With 192 bits no cancellation matters.
"""

from __future__ import annotations

import math
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
from baseline import Floats
from flint import arb, arb_mat, arb_poly, ctx

sys.path.append(str(Path(__file__).parents[1] / "tests"))
from helpers.oracles import exact_beliefs

#: Up to here exact rationals take less than a second.
EXACT_ARMS = 10
PRECISION = 192
NODES = 40
PANELS = 24
Pair = tuple[int, int]


@dataclass(frozen=True, eq=False)
class Reference:
    """alpha, Delta and h of one posterior, (K,) each."""

    alpha: Floats
    delta: Floats
    h: Floats


def method(arms: int) -> str:
    """How the reference of so many arms is computed."""
    return "exact rationals" if arms <= EXACT_ARMS else f"{PRECISION}-bit quadrature"


def reference(a: Floats, b: Floats) -> Reference:
    """The right answer for arms Beta(a_i, b_i) with whole parameters."""
    pairs = [(int(p), int(q)) for p, q in zip(a, b, strict=True)]
    if len(pairs) > EXACT_ARMS:
        return by_quadrature(pairs)
    exact = exact_beliefs(pairs)
    return Reference(exact.alpha, exact.delta, exact.h)


def largest_errors(
    a: Floats, b: Floats, answers: Mapping[str, Sequence[Floats]]
) -> dict[str, dict[str, float]]:
    """Of each of several answers (alpha, Delta, h), all (N, K): the largest absolute errors."""
    right = [reference(*row) for row in zip(a, b, strict=True)]
    return {
        name: {
            part: float(np.abs(values - np.array([getattr(r, part) for r in right])).max())
            for part, values in zip(("alpha", "delta", "h"), answer, strict=True)
        }
        for name, answer in answers.items()
    }


def disagreement(a: Floats, b: Floats) -> float:
    """The largest difference of two ways to the reference of one posterior: exact rationals and
    quadrature, or quadrature with half as many panels again."""
    pairs = [(int(p), int(q)) for p, q in zip(a, b, strict=True)]
    one, other = reference(a, b), by_quadrature(pairs, PANELS * 3 // 2)
    parts = ((one.alpha, other.alpha), (one.delta, other.delta), (one.h, other.h))
    return max(float(np.abs(p - q).max()) for p, q in parts)


def by_quadrature(pairs: Sequence[Pair], panels: int = PANELS) -> Reference:
    """The same in ball arithmetic on panels of [0, 1]."""
    with ctx.workprec(PRECISION):
        kinds = Counter(pairs)
        nodes = _nodes(panels)
        table = {pair: _Arm(pair, nodes) for pair in kinds}
        arms = list(table.values())
        powers = [[f ** kinds[arm.pair] for f in arm.big_f] for arm in arms]
        product = [weight for _, weight in nodes]
        for power in powers:
            product = [p * f for p, f in zip(product, power, strict=True)]
        best = [
            [f / c * p for f, c, p in zip(arm.f, arm.big_f, product, strict=True)] for arm in arms
        ]
        alpha = [sum(row, arb(0)) for row in best]
        means = [arb(a) / (a + b) for a, b in kinds]
        shares = arb_mat([[q / c for q, c in zip(arm.q, arm.big_f, strict=True)] for arm in arms])
        others = arb_mat(best) * shares.transpose()  # [j, i]: alpha_j M_ji, j another arm than i
        own = [sum((x * p for (x, _), p in zip(nodes, row, strict=True)), arb(0)) for row in best]
        total = sum((count * s for count, s in zip(kinds.values(), own, strict=True)), arb(0))
        counts = list(kinds.values())
        h = []
        for i, mean in enumerate(means):
            terms = [alpha[i] * _divergence(own[i] / alpha[i], mean)]
            for j, count in enumerate(counts):
                if count > (i == j):
                    term = alpha[j] * _divergence(others[j, i] / alpha[j], mean)
                    terms.append((count - (i == j)) * term)
            h.append(sum(terms, arb(0)))
        place = {pair: i for i, pair in enumerate(kinds)}
        order = [place[pair] for pair in pairs]
        delta = [total - mean for mean in means]
        return Reference(*(np.array([float(v[i]) for i in order]) for v in (alpha, delta, h)))


class _Arm:
    """f, F and Q of Beta(a, b) at the nodes.

    With y = x/(1-x) and n = a+b-1, F = (1-x)^n sum_{k >= a} C(n, k) y^k.
    """

    def __init__(self, pair: Pair, nodes: Sequence[tuple[arb, arb]]) -> None:
        self.pair = pair
        a, b = pair
        n = a + b - 1
        tail = arb_poly([0] * a + [math.comb(n, k) for k in range(a, n + 1)])
        scale = n * math.comb(n - 1, a - 1)
        mean = arb(a) / (a + b)
        self.f, self.big_f, self.q = [], [], []
        for x, _ in nodes:
            f = scale * x ** (a - 1) * (1 - x) ** (b - 1)
            big_f = (1 - x) ** n * tail(x / (1 - x))
            self.f.append(f)
            self.big_f.append(big_f)
            self.q.append(mean * big_f - x * (1 - x) * f / (a + b))


@cache
def _nodes(panels: int) -> list[tuple[arb, arb]]:
    """Gauss-Legendre nodes and weights on equal panels of [0, 1]."""
    rule = [arb.legendre_p_root(NODES, k, True) for k in range(NODES)]
    return [
        ((2 * p + 1 + x) / (2 * panels), w / (2 * panels)) for p in range(panels) for x, w in rule
    ]


def _divergence(p: arb, q: arb) -> arb:
    return p * (p / q).log() + (1 - p) * ((1 - p) / (1 - q)).log()
