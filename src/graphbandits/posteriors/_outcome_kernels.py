"""Information h of the outcome of an arm about which arm is best.

An outcome y of arm i changes only the density of arm i, by the factor L(y | x) / p(y). With the
probability V_j(x) that arm j is best given that the mean of arm i is x,

    alpha_j(y) - alpha_j = int f_i (L/p - 1) V_j dx,     u_j = alpha_j(y) / alpha_j - 1,
    h_i = sum_y p(y) sum_j alpha_j phi(u_j),             phi(u) = (1 + u) log(1 + u) - u.

V_j(x) = int_x^inf f_j prod_{k != i, j} F_k for j != i, relative to the median of arm i, so that
tiny changes keep their digits. The change of the arm itself is minus the sum of the others.

An outcome is a row of weights of the nodes, multiplied by the table of all V_j. If the posterior
after it is too narrow for the panels, the weights are those of the polynomials through the nodes,
integrated over this posterior on panels of its own.
"""

from __future__ import annotations

import math

import numpy as np

from graphbandits._jit import REDUCTIONS, kernel
from graphbandits._types import Floats, Ints
from graphbandits.posteriors._family_kernels import (
    BELOW,
    CENTRE,
    COUNT,
    END,
    NARROW,
    SPREAD,
    START,
    are_counts,
    fill_densities,
    fill_ratios,
    has_after,
    list_outcomes,
    lower_nodes,
    outcome_ends,
    outcome_scale,
    set_after,
    shape_at,
)
from graphbandits.posteriors._pair_kernels import INSIDE, TINY, inner
from graphbandits.posteriors._quadrature_kernels import (
    NODE,
    NODES,
    WEIGHT,
    Setting,
    accumulate,
    phi,
)

#: Outcomes per product of matrices.
BATCH = 16
#: Width of a panel of outcomes, in scales of the predictive density and in scales of the posterior
#: after the outcome: simulation, strict.
OUTCOME_PANEL = np.array([4.2, 2.0])
#: Largest width of a panel of nodes, in scales of the posterior after the outcome, for which the
#: nodes resolve it: simulation, strict.
RESOLVED = np.array([4.5, 3.0])
#: Nodes of the lower tail of a posterior resolve that after an outcome if it is not narrower.
WIDE = 0.6
#: Arms that are best with a smaller probability are omitted: simulation, strict.
LEAST_ALPHA = np.array([1e-15, 1e-42])
#: Number of scales within which a posterior after an outcome matters for the panels of outcomes.
_NEAR = 7.0
#: Upper limit of the panels of outcomes.
_MOST_OUTCOME_PANELS = 4000


def _moments_to_weights() -> Floats:
    """Return weights of nodes [k, i] per integral of the k-th Legendre polynomial."""
    values = np.polynomial.legendre.legvander(NODE, NODES - 1)
    return np.ascontiguousarray(((np.arange(NODES) + 0.5) * values * WEIGHT[:, None]).T)


_TO_WEIGHTS = _moments_to_weights()


def _count_rules(rows: int) -> tuple[Floats, Floats]:
    """Return nodes and weights of sums over 0, 1, ..., M - 1, in row k for M = NODES 2^k."""
    # the Gauss rules of the discrete uniform weight, from the recurrence of its orthogonal
    # polynomials (Gram); the first rule is the sum itself
    k = np.arange(1.0, NODES)
    nodes, weights = np.empty((2, rows, NODES))
    nodes[0], weights[0] = np.arange(NODES), 1.0
    for row in range(1, rows):
        size = NODES * 2.0**row
        beside = np.sqrt(k**2 * (1.0 - (k / size) ** 2) / (4.0 * (4.0 * k**2 - 1.0)))
        values, vectors = np.linalg.eigh(np.diag(beside, 1) + np.diag(beside, -1))
        nodes[row] = size * values + 0.5 * (size - 1.0)
        weights[row] = size * vectors[0] ** 2
    return nodes, weights


COUNT_NODE, COUNT_WEIGHT = _count_rules(36)


@kernel()
def _outcome_width(
    family: int,
    common: Floats,
    arms: Floats,
    i: int,
    setting: Setting,
    strict: bool,
    edges: Floats,
    y: float,
    after: Floats,
) -> float:
    """Compute the largest width of a panel of outcomes at y."""
    size = OUTCOME_PANEL[1 if strict else 0]
    _, scale = outcome_scale(family, common, arms, i, y)
    step = 1e-3 * scale
    set_after(family, common, arms, i, y + step, setting.reach, after)
    rate = after[CENTRE, 0]
    set_after(family, common, arms, i, y, setting.reach, after)
    rate = (rate - after[CENTRE, 0]) / step
    # the narrowest panel that this posterior reaches
    here = after[CENTRE, 0]
    left = here - _NEAR * after[SPREAD, 0]
    right = here + _NEAR * after[SPREAD, 0]
    panel = math.inf
    if right < edges[0]:
        panel = max(edges[0] - here, edges[1] - edges[0])
    else:
        p = max(0, np.searchsorted(edges, left) - 1)
        while p < edges.size - 1 and edges[p] < right:
            panel = min(panel, edges[p + 1] - edges[p])
            p += 1
    return float(min(size * scale, max(size * after[SPREAD, 0], panel) / max(rate, 1e-300)))


@kernel()
def place_outcomes(
    family: int,
    common: Floats,
    arms: Floats,
    i: int,
    setting: Setting,
    strict: bool,
    cut: float,
    edges: Floats,
    after: Floats,
) -> tuple[Floats, Floats]:
    """Return outcomes of arm i and their probabilities, as weights of a quadrature."""
    found, listed, chances = list_outcomes(family, common, arms, i, setting.reach, cut)
    if found:
        return listed, chances
    y, high = outcome_ends(family, common, arms, i, setting.reach)
    counts = are_counts(family)
    outcomes, chances = np.empty((2, 16 * NODES))
    n = 0
    while y < high and n < _MOST_OUTCOME_PANELS * NODES:
        width = _outcome_width(family, common, arms, i, setting, strict, edges, y, after)
        full = width
        width = min(width, high - y)
        for _ in range(60):
            there = min(
                _outcome_width(
                    family, common, arms, i, setting, strict, edges, y + 0.5 * width, after
                ),
                _outcome_width(family, common, arms, i, setting, strict, edges, y + width, after),
            )
            if width <= 1.25 * there:
                break
            width *= 0.8
            full = width
        width = cut * full
        if n + NODES > outcomes.size:
            more = np.empty((2, 4 * outcomes.size))
            more[0, :n] = outcomes[:n]
            more[1, :n] = chances[:n]
            outcomes, chances = more
        which = 0
        if counts:
            while which < COUNT_NODE.shape[0] - 1 and 2.0 * NODES * 2.0**which <= width:
                which += 1
            width = NODES * 2.0**which
        elif y + 1.1 * width > high:
            width = high - y
        for q in range(NODES):
            if counts:
                outcomes[n + q] = y + COUNT_NODE[which, q]
                weight = COUNT_WEIGHT[which, q]
            else:
                outcomes[n + q] = y + 0.5 * width * (1.0 + NODE[q])
                weight = 0.5 * width * WEIGHT[q]
            density, _ = outcome_scale(family, common, arms, i, outcomes[n + q])
            chances[n + q] = weight * density
        n += NODES
        y = high if y + 1e-9 * width > high else y + width
    return outcomes[:n], chances[:n]


@kernel()
def _fill_best_given(
    pivot: int,
    panels: int,
    edges: Floats,
    base: Floats,
    row: Floats,
    q: Floats,
    mass: Floats,
    inside: Floats,
    v: Floats,
) -> None:
    """Fill V_j - V_j(edge ``pivot``) at the nodes, and in the last entry at the first edge."""
    n = panels * NODES
    for x in range(n):
        q[x] = row[x] * base[x]
    accumulate(q, edges, panels, mass, inside)
    left = 0.0
    for p in range(pivot, panels):
        for x in range(p * NODES, (p + 1) * NODES):
            v[x] = -(left + inside[x])
        left += mass[p]
    right = 0.0
    for p in range(pivot - 1, -1, -1):
        for x in range(p * NODES, (p + 1) * NODES):
            v[x] = right + (mass[p] - inside[x])
        right += mass[p]
    v[n] = right


@kernel(fastmath=REDUCTIONS)
def _products(v: Floats, rows: int, w: Floats, n: int, out: Floats) -> None:
    """Compute out[j, q] = v[j] . w[q] over the first n columns, for BATCH rows of w."""
    for j in range(0, rows, 2):
        k = min(j + 1, rows - 1)
        one = v[j, :n]
        two = v[k, :n]
        for q in range(0, BATCH, 4):
            w0 = w[q, :n]
            w1 = w[q + 1, :n]
            w2 = w[q + 2, :n]
            w3 = w[q + 3, :n]
            s0 = 0.0
            s1 = 0.0
            s2 = 0.0
            s3 = 0.0
            t0 = 0.0
            t1 = 0.0
            t2 = 0.0
            t3 = 0.0
            for x in range(n):
                s0 += one[x] * w0[x]
                s1 += one[x] * w1[x]
                s2 += one[x] * w2[x]
                s3 += one[x] * w3[x]
                t0 += two[x] * w0[x]
                t1 += two[x] * w1[x]
                t2 += two[x] * w2[x]
                t3 += two[x] * w3[x]
            out[j, q] = s0
            out[j, q + 1] = s1
            out[j, q + 2] = s2
            out[j, q + 3] = s3
            out[k, q] = t0
            out[k, q + 1] = t1
            out[k, q + 2] = t2
            out[k, q + 3] = t3


@kernel()
def _times(w: Floats, density: Floats, n: int) -> None:
    one, two = w[:n], density[:n]
    for x in range(n):
        one[x] *= two[x]


@kernel(fastmath=REDUCTIONS)
def _divergence_of(alpha: float, change: Floats, chance: Floats) -> float:
    """Compute the mean of alpha phi(u) over outcomes that change alpha by alpha u."""
    per_alpha = 1.0 / max(alpha, TINY)
    s = 0.0
    for b in range(change.size):
        s += chance[b] * phi(max(-INSIDE, change[b] * per_alpha))
    return alpha * s


@kernel()
def _is_narrow(
    family: int,
    common: Floats,
    arms: Floats,
    i: int,
    setting: Setting,
    strict: bool,
    outcomes: Floats,
    edges: Floats,
    panels: int,
    after: Floats,
) -> bool:
    """Return whether the posterior after one of the outcomes is too narrow for the nodes."""
    if not has_after(family):
        return False
    most = RESOLVED[1 if strict else 0]
    for q in (0, outcomes.size // 2, outcomes.size - 1):
        set_after(family, common, arms, i, outcomes[q], setting.reach, after)
        for p in range(panels):
            reached = edges[p + 1] > after[START, 0] and edges[p] < after[END, 0]
            if reached and edges[p + 1] - edges[p] > most * after[SPREAD, 0]:
                # (the scale can be larger in a tail)
                left = shape_at(family, common, after, 0, edges[p])[2]
                right = shape_at(family, common, after, 0, edges[p + 1])[2]
                if edges[p + 1] - edges[p] > most * min(left, right):
                    return True
    return False


@kernel()
def _fill_narrow(
    family: int,
    common: Floats,
    arms: Floats,
    i: int,
    y: float,
    setting: Setting,
    strict: bool,
    edges: Floats,
    place: Floats,
    dt: Floats,
    panels: int,
    after: Floats,
    weight: Floats,
) -> None:
    """Fill the weights of the nodes for an integral over the posterior after the outcome y."""
    # the last entry is the mass below the first edge
    n = panels * NODES
    for x in range(n + 1):
        weight[x] = 0.0
    set_after(family, common, arms, i, y, setting.reach, after)
    most = RESOLVED[1 if strict else 0]
    start, end = after[START, 0], after[END, 0]
    here, g = np.empty((2, NODES))
    moments = np.zeros(NODES)
    if strict:  # (otherwise the mass below the first edge is not used)
        weight[n] = _mass_below(family, common, after, setting, edges[0], here, g)
    for p in range(panels):
        left, right = edges[p], edges[p + 1]
        if right <= start or left >= end:
            continue
        nodes = slice(p * NODES, (p + 1) * NODES)
        scale = min(
            shape_at(family, common, after, 0, left)[2],
            shape_at(family, common, after, 0, right)[2],
        )
        if right - left <= most * scale:
            fill_densities(family, common, after, 0, place[nodes], weight[nodes])
            for x in range(p * NODES, (p + 1) * NODES):
                weight[x] *= dt[x]
            continue
        t = max(left, start)
        last = min(right, end)
        while t < last:
            stop = _step(family, common, after, setting, t)
            stop = last if stop > last - 1e-9 * (last - left) else stop
            _fill_pieces(family, common, after, t, stop, here, g)
            for q in range(NODES):
                # Legendre polynomials by their recurrence
                z = (2.0 * here[q] - left - right) / (right - left)
                before = 0.0
                value = g[q]
                for k in range(NODES):
                    moments[k] += value
                    new = ((2 * k + 1) * z * value - k * before) / (k + 1)
                    before = value
                    value = new
            t = stop
        _add_moments(moments, weight[nodes])


@kernel()
def _mass_below(
    family: int,
    common: Floats,
    after: Floats,
    setting: Setting,
    low: float,
    here: Floats,
    g: Floats,
) -> float:
    """Compute the mass of the posterior after an outcome below ``low``."""
    mass = 0.0
    t = after[START, 0]
    low = min(low, after[END, 0])
    while t < low:
        right = min(low, _step(family, common, after, setting, t))
        mass += _fill_pieces(family, common, after, t, right, here, g)
        t = right
    return mass


@kernel()
def _change_below(
    family: int,
    common: Floats,
    arms: Floats,
    i: int,
    y: float,
    setting: Setting,
    low: float,
    after: Floats,
    inside: Floats,
) -> float:
    """Compute the change of the mass of arm i below ``low`` by the outcome y."""
    # The sum of ``inside``, the changes above ``low``, is accurate if the mass is not small. After
    # a precise outcome, the mass itself is
    if arms[NARROW, i] >= WIDE or arms[BELOW, i] >= 0.25 or not has_after(family):
        return -float(inside.sum())
    here, g = np.empty((2, NODES))
    set_after(family, common, arms, i, y, setting.reach, after)
    return _mass_below(family, common, after, setting, low, here, g) - float(arms[BELOW, i])


@kernel()
def _step(family: int, common: Floats, after: Floats, setting: Setting, t: float) -> float:
    """Return the end of a panel from t for the posterior after an outcome."""
    _, slope, scale = shape_at(family, common, after, 0, t)
    width = min(setting.panel * scale, 30.0 / max(abs(slope), 1e-300))
    for _ in range(60):
        middle = shape_at(family, common, after, 0, t + 0.5 * width)[2]
        right = shape_at(family, common, after, 0, t + width)[2]
        if width <= 1.25 * setting.panel * min(middle, right):
            break
        width *= 0.8
    return t + width


@kernel()
def _fill_pieces(
    family: int, common: Floats, after: Floats, t: float, end: float, place: Floats, g: Floats
) -> float:
    """Fill the nodes of a panel and the masses at the nodes; return their sum."""
    half = 0.5 * (end - t)
    for q in range(NODES):
        place[q] = t + half * (1.0 + NODE[q])
    fill_densities(family, common, after, 0, place, g)
    total = 0.0
    for q in range(NODES):
        g[q] *= half * WEIGHT[q]
        total += g[q]
    return total


@kernel()
def _add_moments(moments: Floats, weight: Floats) -> None:
    """Add the weights of the nodes of a panel from integrals of polynomials, and clear these."""
    for k in range(NODES):
        for x in range(NODES):
            weight[x] += moments[k] * _TO_WEIGHTS[k, x]
        moments[k] = 0.0


@kernel()
def _count_with_mass(panels: int, reach: float, r: Floats, big_f: Floats, dt: Floats) -> int:
    """Count the panels with mass: heavy tails extend beyond the mass that matters for h."""
    above = 0.0
    most = panels
    while panels > 0 and above < math.exp(-reach):
        panels -= 1
        for x in range(panels * NODES, (panels + 1) * NODES):
            above += r[x] * big_f[x] * dt[x]
    return min(panels + 1, most)


@kernel()
def fill_information(
    family: int,
    common: Floats,
    arms: Floats,
    active: int,
    origin: float,
    setting: Setting,
    strict: bool,
    cut: float,
    edges: Floats,
    place: Floats,
    dt: Floats,
    panels_of: Ints,
    r: Floats,
    big_f: Floats,
    product: Floats,
    alpha: Floats,
    total: float,
    h: Floats,
) -> float:
    """Compute h of all arms; return the largest error of the sum of p(y)."""
    defect = 0.0
    nodes = place.size
    v = np.empty((active, nodes + 1))
    w = np.empty((BATCH, nodes + 1))
    out = np.empty((active, BATCH))
    base, q, inside, density = np.empty((4, nodes))
    mass = np.empty(2 * edges.size)
    chosen = np.empty(active, np.int64)
    after = np.empty(arms[:, :1].shape)
    own, chance = np.empty((2, BATCH))
    least = LEAST_ALPHA[1 if strict else 0]
    for i in range(active):
        h[i] = 0.0
        panels = _count_with_mass(panels_of[i], setting.reach, r[i], big_f[i], dt)
        n = panels * NODES
        pivot = 0
        if strict and arms[BELOW, i] < 0.5:
            while pivot < panels and big_f[i, pivot * NODES] < 0.5:
                pivot += 1
        for x in range(n):
            base[x] = product[x] / big_f[i, x]
            density[x] = r[i, x] * big_f[i, x] * dt[x]
        rows = 0
        for j in range(active):
            if (j != i or arms[COUNT, i] > 1.0) and alpha[j] > least:
                chosen[rows] = j
                _fill_best_given(pivot, panels, edges, base, r[j], q, mass, inside, v[rows])
                rows += 1
        if n == 0 or rows == 0:
            continue
        # the lower tail below the panels, if it is too small for a difference from 1
        tail = pivot > 0 and edges[0] < arms[CENTRE, i] and arms[BELOW, i] < 0.25
        tail = tail and (arms[NARROW, i] >= WIDE or not has_after(family))
        tail_place, tail_weight = place[:0], place[:0]
        if tail:
            tail_place, tail_weight = lower_nodes(family, common, arms, i, origin, edges[0])
        tail_ratio = np.empty((BATCH, tail_place.size))
        outcomes, chances = place_outcomes(
            family, common, arms, i, setting, strict, cut, edges, after
        )
        defect = max(defect, abs(chances.sum() - 1.0))
        for first in range(0, outcomes.size, BATCH):
            batch = outcomes[first : first + BATCH]
            size = batch.size
            if _is_narrow(family, common, arms, i, setting, strict, batch, edges, panels, after):
                for b in range(size):
                    _fill_narrow(
                        family,
                        common,
                        arms,
                        i,
                        batch[b],
                        setting,
                        strict,
                        edges,
                        place,
                        dt,
                        panels,
                        after,
                        w[b],
                    )
                    for x in range(n):
                        w[b, x] -= density[x]
                    w[b, n] -= arms[BELOW, i]
            else:
                fill_ratios(family, common, arms, i, batch, place[:n], w)
                if tail:
                    fill_ratios(family, common, arms, i, batch, tail_place, tail_ratio)
                for b in range(size):
                    _times(w[b], density, n)
                    if tail:
                        w[b, n] = inner(tail_ratio[b], tail_weight)
                    elif pivot > 0:
                        w[b, n] = _change_below(
                            family,
                            common,
                            arms,
                            i,
                            batch[b],
                            setting,
                            edges[0],
                            after,
                            w[b, :n],
                        )
            for b in range(size, BATCH):
                w[b, : n + 1] = 0.0
            _products(v, rows, w, n + 1 if pivot > 0 else n, out)
            chance[:size] = chances[first : first + size]
            chance[size:] = 0.0
            own[:] = 0.0
            for c in range(rows):
                j = chosen[c]
                number = arms[COUNT, j] - (1.0 if j == i else 0.0)
                own -= number * out[c]
                h[i] += number * _divergence_of(alpha[j], out[c], chance)
            if alpha[i] > least:
                h[i] += _divergence_of(alpha[i], own, chance)
        h[i] /= total
    return defect
