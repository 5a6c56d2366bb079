"""Algorithm 2 of Russo and Van Roy for Beta-Bernoulli arms, to rounding: alpha, Delta, h.

With f_i, F_i the density and distribution function of arm i, everything is an integral over one
axis of f_i, f_i f_j and products of the other F_k. Three ideas make it exact and fast:

*Where.* Only the stretch of [0, 1] counts where the best arm can lie: from ``low``, below which
the product of all F is less than exp(-REACH), to ``high``, above which every arm's survival is.
Panels of Gauss-Legendre nodes cover it, each a fixed number of standard deviations of the
narrowest arm that is still undecided there (:mod:`graphbandits.posteriors.panel_kernels`).

*F from f.* The densities at the nodes are integrated panel by panel with the exact weights of the
interpolating polynomial, so F costs no special function, and accumulates positive terms.

*No cancellation.* Conditional means, regrets and divergences come from
W_ij = int x (1-x) f_i f_j prod_{k != i,j} F_k > 0, never from differences of means; products that
leave two arms out are built from prefixes and suffixes, never by division.

Each trial is computed by itself, in an order that depends on its own posteriors only: its bits do
not depend on the other trials of the call.
"""

from __future__ import annotations

import math

import numpy as np

from graphbandits.jit import REDUCTIONS, kernel
from graphbandits.posteriors.math_kernels import (
    bernoulli_kl,
    beta_level,
    exp_lane,
    stirling_error,
)
from graphbandits.posteriors.panel_kernels import (
    MOST_PANELS,
    NODE,
    NODES,
    REACH,
    WEIGHT,
    common_lower_end,
    entropy_term,
    fill_nodes,
    lower_end,
    place_panels,
)
from graphbandits.types import Floats, Ints

#: Where a lower tail is below exp(-TAIL), 1 minus the mass above would lose its digits.
TAIL = 8.0
#: A conditional mean stays this far inside [0, 1], where rounding might push it out.
INSIDE = 1.0 - 2.0**-50
#: Stands for 0 in a denominator.
TINY = 1e-300
#: The quadrature has settled where the probabilities of being best add up to 1 within this, or
#: where cutting the panels in two no longer helps: the rest is rounding.
SETTLED = 3e-13
REFINEMENTS = 6
#: With more arms than this, panels start at half their width.
FEW_ARMS = 20


def _integration_matrix(nodes: Floats, weights: Floats) -> Floats:
    """Row j: integrals from -1 to each node of the j-th Lagrange polynomial of the nodes."""
    n = len(nodes)
    legendre = np.polynomial.legendre.legvander(nodes, n)  # P_0 .. P_n at the nodes
    integrals = np.empty((n, n))  # [k, i]: integral of P_k from -1 to node i
    integrals[0] = nodes + 1.0
    for k in range(1, n):
        integrals[k] = (legendre[:, k + 1] - legendre[:, k - 1]) / (2 * k + 1)
    coefficients = (np.arange(n) + 0.5)[:, None] * legendre[:, :n].T * weights  # [k, j]
    return np.ascontiguousarray(coefficients.T @ integrals)


_CUMULATE = _integration_matrix(NODE, WEIGHT)


@kernel(fastmath=REDUCTIONS)
def _density(
    a: float,
    b: float,
    log_height: float,
    log_x: Floats,
    log_1mx: Floats,
    panels: int,
    n: int,
    g: Floats,
) -> None:
    """g = x (1-x) f at the nodes of the arm's panels; ``log_height`` is its logarithm at x0."""
    for i in range(panels * NODES):
        g[i] = exp_lane(log_height + a * log_x[i] + b * log_1mx[i])
    for i in range(panels * NODES, n):
        g[i] = 0.0


@kernel()
def _lower_tail(a: float, b: float, x: float, log_height: float) -> float:
    """P(theta <= x), relatively accurate, for x well below the mean.

    The continued fraction of the incomplete beta function (DLMF 8.17.22), by Lentz's method;
    ``log_height`` is the logarithm of x (1-x) f(x).
    """
    d = 1.0 / max(1e-300, 1.0 - (a + b) * x / (a + 1.0))
    c = 1.0
    value = d
    for k in range(1, 200):
        even = k * (b - k) * x / ((a + 2 * k - 1.0) * (a + 2 * k))
        d = 1.0 / (1.0 + even * d)
        c = 1.0 + even / c
        value *= d * c
        odd = -(a + k) * (a + b + k) * x / ((a + 2 * k) * (a + 2 * k + 1.0))
        d = 1.0 / (1.0 + odd * d)
        c = 1.0 + odd / c
        value *= d * c
        if abs(d * c - 1.0) < 1e-15:
            break
    # x^a (1-x)^b / (a B(a, b)) in front, and g = x^a (1-x)^b / B(a, b)
    return math.exp(log_height) / a * value


@kernel(fastmath=REDUCTIONS)
def _distribution(
    g: Floats, slope: Floats, panels: int, n: int, below: float, big_f: Floats
) -> None:
    """F at the n nodes from the density, which is nothing after ``panels`` panels.

    ``below`` is F at the first edge, or -1 for 1 minus the mass above it.
    """
    total = 0.0
    for p in range(panels):
        # slices, for an index that might be negative keeps a loop scalar
        f = g[p * NODES : (p + 1) * NODES]
        d = slope[p * NODES : (p + 1) * NODES]
        inside = big_f[p * NODES : (p + 1) * NODES]
        mass = 0.0
        for i in range(NODES):
            inside[i] = total
            mass += WEIGHT[i] * (f[i] * d[i])
        for j in range(0, NODES, 8):  # eight columns at a time: their values stay in registers
            v0 = f[j] * d[j]
            v1 = f[j + 1] * d[j + 1]
            v2 = f[j + 2] * d[j + 2]
            v3 = f[j + 3] * d[j + 3]
            v4 = f[j + 4] * d[j + 4]
            v5 = f[j + 5] * d[j + 5]
            v6 = f[j + 6] * d[j + 6]
            v7 = f[j + 7] * d[j + 7]
            for i in range(NODES):
                inside[i] += (
                    _CUMULATE[j, i] * v0
                    + _CUMULATE[j + 1, i] * v1
                    + _CUMULATE[j + 2, i] * v2
                    + _CUMULATE[j + 3, i] * v3
                    + _CUMULATE[j + 4, i] * v4
                    + _CUMULATE[j + 5, i] * v5
                    + _CUMULATE[j + 6, i] * v6
                    + _CUMULATE[j + 7, i] * v7
                )
        total += mass
    if below < 0.0:
        below = max(0.0, 1.0 - total)
    for i in range(panels * NODES):
        big_f[i] = max(0.0, min(1.0, below + big_f[i]))
    for i in range(panels * NODES, n):
        big_f[i] = 1.0


@kernel(fastmath=REDUCTIONS)
def _integrals(
    g: Floats,
    big_f: Floats,
    mu: Floats,
    excess: Floats,
    leader: int,
    n: int,
    alpha: Floats,
    w: Floats,
    before: Floats,
    after: Floats,
    rest: Floats,
) -> float:
    """alpha_j = int g_j prod_{k != j} F_k, W_ij = int g_i g_j prod_{k != i,j} F_k, and
    Delta of the leader = sum_j int excess g_j prod_{k != j, leader} F_k; all with respect to mu.
    """
    arms = alpha.size
    for i in range(n):
        after[arms, i] = mu[i]
    for k in range(arms - 1, -1, -1):
        for i in range(n):
            after[k, i] = after[k + 1, i] * big_f[k, i]
    for i in range(n):
        before[i] = 1.0
    delta = 0.0
    for k in range(arms):
        s = 0.0
        for i in range(n):
            s += g[k, i] * before[i] * after[k + 1, i]
            rest[i] = before[i]
        alpha[k] = s
        for j in range(k + 1, arms):
            s = 0.0
            if k == leader or j == leader:
                other = j if k == leader else k
                extra = 0.0
                for i in range(n):
                    product = rest[i] * after[j + 1, i]
                    s += g[k, i] * g[j, i] * product
                    extra += excess[i] * g[other, i] * product
                    rest[i] *= big_f[j, i]
                delta += extra
            else:
                for i in range(n):
                    s += g[k, i] * g[j, i] * (rest[i] * after[j + 1, i])
                    rest[i] *= big_f[j, i]
            w[k, j] = s
            w[j, k] = s
        for i in range(n):
            before[i] *= big_f[k, i]
    return delta


@kernel()
def _log_amplitude(a: float, b: float) -> float:
    """log of x (1-x) f at the mean: Stirling's formula keeps the digits that betaln loses."""
    n = a + b
    remainder = stirling_error(n) - stirling_error(a) - stirling_error(b)
    return 0.5 * math.log(a * b / (2.0 * math.pi * n)) + remainder


@kernel(fastmath=REDUCTIONS)
def _divergences(a: Floats, b: Floats, alpha: Floats, w: Floats, shift: Floats, h: Floats) -> None:
    """h_i = sum_j alpha_j KL(M_ji || m_i), where M_ji - m_i comes from W without cancellation:
    -W_ij / ((a_i+b_i) alpha_j) for j != i, and sum_j W_ij / ((a_i+b_i) alpha_i) for j = i.
    """
    for i in range(a.size):
        size = a[i] + b[i]
        mean = a[i] / size
        most_down = mean * INSIDE
        own = 0.0
        w[i, i] = 0.0
        for j in range(a.size):
            own += w[i, j]
            # an arm that is never best has alpha = W = 0: 0/tiny is 0, and it counts for nothing
            shift[j] = -min(most_down, w[i, j] / max(size * alpha[j], TINY))
        shift[i] = min((1.0 - mean) * INSIDE, own / max(size * alpha[i], TINY))
        s = 0.0
        for j in range(a.size):
            s += alpha[j] * bernoulli_kl(mean, shift[j])
        h[i] = s


@kernel()
def _integrate(
    a: Floats,
    b: Floats,
    low: float,
    leader: int,
    panels: int,
    kinds: Ints,
    edges: Floats,
    panels_of: Ints,
    line: Floats,
    table: Floats,
    alpha: Floats,
    w: Floats,
) -> tuple[float, float]:
    """Fill alpha (not yet scaled to 1) and W over the given panels; return Delta of the leader
    and the sum of alpha. ``line`` and ``table`` are work space, a row for each function of x.
    """
    n = panels * NODES
    x, log_x, log_1mx, slope = line[0], line[1], line[2], line[3]
    mu, excess, before, rest = line[4], line[5], line[6], line[7]
    g, big_f, after = table[0], table[1], table[2]

    size = a[leader] + b[leader]
    x0 = a[leader] / size
    origin = math.atan(math.sqrt(a[leader] / b[leader]))
    fill_nodes(panels, kinds, edges, origin, x, log_x, log_1mx, slope, mu)
    x_low = math.sin(low) ** 2
    for k in range(a.size):
        top = _log_amplitude(a[k], b[k])
        height = top - beta_level(a[k], b[k], x0)
        _density(a[k], b[k], height, log_x, log_1mx, panels_of[k], n, g[k])
        below = -1.0
        if x_low * (a[k] + b[k]) < a[k]:
            level = beta_level(a[k], b[k], x_low)
            if level > REACH:
                below = 0.0
            elif level > TAIL:
                below = _lower_tail(a[k], b[k], x_low, top - level)
        _distribution(g[k], slope, panels_of[k], n, below, big_f[k])
    for i in range(n):
        # int_0^x F = (x - m) F + x (1-x) f / (a+b), of the leader
        excess[i] = max(0.0, (x[i] - x0) * big_f[leader, i] + g[leader, i] / size)
    leader_delta = _integrals(g, big_f, mu, excess, leader, n, alpha, w, before, after, rest)
    total = 0.0
    for k in range(a.size):
        total += alpha[k]
    return leader_delta, total


@kernel()
def beliefs_kernel(
    a: Floats, b: Floats, alpha: Floats, delta: Floats, h: Floats, rho: Floats, defect: Floats
) -> None:
    """Fill alpha, Delta, h (B, K), rho (B,) and the defect of sum(alpha) = 1 (B,).

    The panels suit most posteriors; where many arms make the product of their distribution
    functions steeper than any of them, the defect shows it, and the panels are cut in two.
    """
    trials, arms = a.shape
    capacity = 17  # odd: rows a power of two apart would crowd the same lines of the cache
    line = np.empty((8, capacity * NODES))
    table = np.empty((3, arms + 1, capacity * NODES))
    kinds = np.empty(MOST_PANELS, np.int64)
    edges = np.empty((2, MOST_PANELS))
    w = np.empty((arms, arms))
    entropy = np.empty(arms)
    chi_end = np.empty(arms)
    active = np.empty(arms, np.int64)
    panels_of = np.empty(arms, np.int64)
    some_a, some_b, some_end, some_alpha, some_h, shift = np.empty((6, arms))
    for t in range(trials):
        leader = 0
        best = 0.0
        for k in range(arms):
            entropy[k] = entropy_term(a[t, k], b[t, k])
            chi_end[k] = lower_end(b[t, k], a[t, k], entropy[k])  # mirrored: an upper end
            mean = a[t, k] / (a[t, k] + b[t, k])
            if mean > best:
                best = mean
                leader = k
        low = common_lower_end(a[t], b[t], entropy, leader)
        m = 0
        lead = 0
        for k in range(arms):
            alpha[t, k] = 0.0
            h[t, k] = 0.0
            if k == leader or low < 0.5 * math.pi - chi_end[k]:  # the others cannot be best
                lead = m if k == leader else lead
                active[m] = k
                some_a[m] = a[t, k]
                some_b[m] = b[t, k]
                some_end[m] = chi_end[k]
                m += 1
        leader_delta = 0.0
        defect[t] = 0.0
        if m == 1:
            alpha[t, leader] = 1.0
        else:
            total = 1.0
            before = np.inf
            cut = 1.0 if m <= FEW_ARMS else 0.5
            for _ in range(REFINEMENTS):
                panels = place_panels(
                    some_a[:m], some_b[:m], some_end[:m], low, cut, kinds, edges, panels_of[:m]
                )
                if panels < 0:
                    defect[t] = np.inf
                    break
                if panels > capacity:
                    capacity = 2 * panels + 1
                    line = np.empty((8, capacity * NODES))
                    table = np.empty((3, arms + 1, capacity * NODES))
                leader_delta, total = _integrate(
                    some_a[:m],
                    some_b[:m],
                    low,
                    lead,
                    panels,
                    kinds,
                    edges,
                    panels_of[:m],
                    line,
                    table,
                    some_alpha[:m],
                    w,
                )
                defect[t] = abs(total - 1.0)
                if defect[t] <= SETTLED or defect[t] > 0.5 * before:
                    break
                before = defect[t]
                cut *= 0.5
            _divergences(some_a[:m], some_b[:m], some_alpha[:m], w, shift, some_h[:m])
            for k in range(m):
                alpha[t, active[k]] = some_alpha[k] / total
                h[t, active[k]] = some_h[k]
        rho[t] = best + leader_delta
        for k in range(arms):
            delta[t, k] = leader_delta + (best - a[t, k] / (a[t, k] + b[t, k]))


@kernel()
def add_outcomes(a: Floats, b: Floats, trial: Ints, arm: Ints, reward: Floats) -> None:
    """(a, b) += (y, 1 - y) for each observation."""
    for k in range(trial.size):
        a[trial[k], arm[k]] += reward[k]
        b[trial[k], arm[k]] += 1.0 - reward[k]
