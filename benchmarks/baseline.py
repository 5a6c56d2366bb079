"""What graphbandits is compared with: IDS-N in NumPy on a grid, and exact statistics.

The NumPy version is Algorithm 2 of Russo and Van Roy on a grid of 1000 points, as it is usually
computed, for B trials at once: densities on the grid, distribution functions by cumulative sums,
all pairs of arms by one matrix product per trial, and the best pair of arms in closed form.

The reference is Gauss-Legendre quadrature in 192-bit ball arithmetic, for integer parameters. With
equal posteriors taken together, densities f, distribution functions F (binomial tails, all terms
positive) and partial means Q at the nodes of [0, 1],

    alpha_j = int f_j/F_j P,    alpha_j M_ji = int f_j/F_j Q_i/F_i P,    P = prod_k F_k.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from functools import cache

import numpy as np
from common import Floats
from flint import arb, arb_mat, arb_poly, ctx

#: Points of the grid, and trials of the blocks that are tried.
GRID = 1000
BLOCKS = (1, 10, 100)
_X = (np.arange(GRID) + 0.5) / GRID
_LOG_X = np.log(_X)
_LOG_1MX = np.log1p(-_X)


def beliefs(a: Floats, b: Floats) -> tuple[Floats, Floats, Floats]:
    """alpha, Delta and h of the posteriors Beta(a, b), all (B, K)."""
    f = (a - 1.0)[:, :, None] * _LOG_X
    f += (b - 1.0)[:, :, None] * _LOG_1MX
    f -= f.max(axis=2, keepdims=True)
    np.exp(f, out=f)
    f /= f.sum(axis=2, keepdims=True)
    big_f = np.cumsum(f, axis=2)
    q = np.cumsum(f * _X, axis=2)
    np.maximum(big_f, 1e-300, out=big_f)
    density = f / big_f * big_f.prod(axis=1, keepdims=True)  # of arm j being the best, at x
    alpha = density.sum(axis=2)
    # M[j, i]: mean of theta_i where j is best
    means = np.matmul(density, np.swapaxes(q / big_f, 1, 2))
    arms = np.arange(a.shape[1])
    means[:, arms, arms] = density @ _X
    means /= np.maximum(alpha, 1e-300)[:, :, None]
    alpha /= alpha.sum(axis=1, keepdims=True)
    mean = a / (a + b)
    delta = (alpha * means[:, arms, arms]).sum(axis=1, keepdims=True) - mean
    m = mean[:, None, :]
    means = np.clip(means, 1e-12, 1.0 - 1e-12)
    divergence = means * np.log(means / m) + (1.0 - means) * np.log((1.0 - means) / (1.0 - m))
    h = (alpha[:, :, None] * divergence).sum(axis=1)
    return alpha, np.maximum(delta, 0.0), np.maximum(h, 0.0)


def ids_n(delta: Floats, gain: Floats) -> Floats:
    """min (pi.delta)^2 / (pi.gain) over all pairs of arms, in closed form, (B, K) -> (B, K)."""
    trials, arms = delta.shape
    first, second = (index.ravel() for index in np.indices((arms, arms)))
    d1, d2, i1, i2 = delta[:, first], delta[:, second], gain[:, first], gain[:, second]
    d_step, i_step = d2 - d1, i2 - i1
    with np.errstate(divide="ignore", invalid="ignore"):
        weight = np.clip(np.nan_to_num(d1 / d_step - 2.0 * i1 / i_step), 0.0, 1.0)
        weight = np.where((d_step > 0.0) & (i_step > 0.0), weight, 0.0)
        value = (d1 + weight * d_step) ** 2 / (i1 + weight * i_step)
    best = np.where(np.isnan(value), np.inf, value).argmin(axis=1)
    rows = np.arange(trials)
    pi = np.zeros((trials, arms))
    pi[rows, second[best]] += weight[rows, best]
    pi[rows, first[best]] += 1.0 - weight[rows, best]
    return pi


def decide(a: Floats, b: Floats, graph: Floats) -> Floats:
    """One IDS-N decision for each trial; row i of ``graph`` is what playing i reveals."""
    _, delta, h = beliefs(a, b)
    return ids_n(delta, h @ graph.T)


def paper_graph() -> Floats:
    """Two triangles that share arm 3."""
    graph = np.eye(5)
    for i, j in ((0, 1), (0, 2), (1, 2), (2, 3), (2, 4), (3, 4)):
        graph[i, j] = graph[j, i] = 1.0
    return graph


def keep_memory() -> None:
    """Make the allocator of glibc keep what is freed, up to 30 MB, for the rest of the process.

    Otherwise it hands the temporary arrays of a block of 10 back to the system after every
    decision, and half of the time goes into getting them again.
    """
    np.ones(30 << 17).sum()


# Reference ----------------------------------------------------------------------------------------


#: Bits, nodes of a panel, and panels.
PRECISION, NODES, PANELS = 192, 40, 24
Pair = tuple[int, int]


def reference(a: Floats, b: Floats) -> tuple[Floats, Floats, Floats]:
    """alpha, Delta and h of one posterior, (K,) each, for integer parameters."""
    pairs = [(int(p), int(q)) for p, q in zip(a, b, strict=True)]
    with ctx.workprec(PRECISION):
        counts = Counter(pairs)
        nodes = _nodes(PANELS)
        arms = [_Arm(pair, nodes) for pair in counts]
        product = [weight for _, weight in nodes]
        for arm, count in zip(arms, counts.values(), strict=True):
            product = [p * f**count for p, f in zip(product, arm.big_f, strict=True)]
        best = [
            [f / c * p for f, c, p in zip(arm.f, arm.big_f, product, strict=True)] for arm in arms
        ]
        alpha = [sum(row, arb(0)) for row in best]
        means = [arb(a) / (a + b) for a, b in counts]
        shares = arb_mat([[q / c for q, c in zip(arm.q, arm.big_f, strict=True)] for arm in arms])
        others = arb_mat(best) * shares.transpose()  # [j, i]: alpha_j M_ji, j another arm than i
        own = [sum((x * p for (x, _), p in zip(nodes, row, strict=True)), arb(0)) for row in best]
        total = sum((count * s for count, s in zip(counts.values(), own, strict=True)), arb(0))
        h = []
        for i, mean in enumerate(means):
            terms = [alpha[i] * _divergence(own[i] / alpha[i], mean)]
            for j, count in enumerate(counts.values()):
                if count > (i == j):
                    term = alpha[j] * _divergence(others[j, i] / alpha[j], mean)
                    terms.append((count - (i == j)) * term)
            h.append(sum(terms, arb(0)))
        positions = {pair: i for i, pair in enumerate(counts)}
        delta = [total - mean for mean in means]
        found = [np.array([float(v[positions[p]]) for p in pairs]) for v in (alpha, delta, h)]
        return found[0], found[1], found[2]


class _Arm:
    """f, F and Q of Beta(a, b) at the nodes.

    With y = x/(1-x) and n = a+b-1, F = (1-x)^n sum_{k >= a} C(n, k) y^k.
    """

    def __init__(self, pair: Pair, nodes: Sequence[tuple[arb, arb]]) -> None:
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
