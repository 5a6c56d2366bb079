"""Panels of the quadrature for means of Dirichlet distributions over the same values.

The densities are analytic between neighbouring values; at a value v_k they have a singularity
|x - v_k|^(C - c_k - 1). So every value is the edge of a panel, and panels are graded towards values
at which the exponent is small (unless all weights are whole: then they are piecewise polynomials),
and towards the smallest and largest value.

A position x in the interval from v_q to v_{q+1} is (q, x - v_q, v_{q+1} - x): both distances are
kept, so that positions next to a value are exact. A panel is linear in x, or in the logarithm of
the distance from the value on its left or right. Panels are the columns of a table.
"""

from __future__ import annotations

import math

import numpy as np

from graphbandits._jit import kernel
from graphbandits._types import Floats, Ints
from graphbandits.posteriors._beta_kernels import CONVERGED, GOOD_ENOUGH, REFINEMENTS
from graphbandits.posteriors._dirichlet_kernels import (
    CHUNK,
    COARSE,
    FINE,
    WORK_ROWS,
    fill_after,
    level_and_slope,
    lower_tail_of,
)
from graphbandits.posteriors._family_kernels import group_rows
from graphbandits.posteriors._outcome_kernels import LEAST_ALPHA
from graphbandits.posteriors._pair_kernels import INSIDE, TINY, fold_equals, inner
from graphbandits.posteriors._quadrature_kernels import (
    NODE,
    NODES,
    WEIGHT,
    Setting,
    accumulate,
    fold_in,
    phi,
)

#: Kinds of panels: linear, or in the logarithm of the distance from the value on the left or right.
LINEAR, FROM_LEFT, FROM_RIGHT = 0.0, 1.0, 2.0
#: Rows of a table of panels: the kind, the interval, and the distances from its ends of both edges.
KIND, INTERVAL, LEFT_0, RIGHT_0, LEFT_1, RIGHT_1 = range(6)
PANEL_ROWS = 6
#: Rows of a table of nodes: the interval, distances from its ends, and dx for a panel of length 1.
NODE_INTERVAL, NODE_LEFT, NODE_RIGHT, NODE_DX = range(4)
NODE_ROWS = 4
#: Positions next to the smallest and largest value, relative to the length of the interval.
CLOSEST = math.exp(-650.0)
#: Singularities are resolved up to exp of minus this, relative to the density.
_DIGITS = 32.0
#: Width of a logarithmic panel near the middle of an interval.
_LOG_WIDTH = 3.0
#: Upper limit of the number of panels.
MOST_PANELS = 20_000


@kernel(inline=True)
def fill_differences(v: Floats, q: int, left: float, right: float, d: Floats) -> None:
    """Fill d_k = v_k - x for a position x."""
    for k in range(v.size):
        d[k] = -((v[q] - v[k]) + left) if k <= q else (v[k] - v[q + 1]) + right


@kernel()
def find_low(
    c: Floats, v: Floats, count: Floats, reach: float, mean: float, deviation: float, space: Floats
) -> tuple[int, float, float]:
    """Find a position below which the product of all F is under exp(-reach)."""
    m = v.size
    q = 0
    bound = 0.0
    while q < m - 2:
        bound, _ = _product_bound(c, v, count, q + 1, 0.0, v[q + 2] - v[q + 1], space)
        if bound < reach:
            break
        q += 1
    gap = v[q + 1] - v[q]
    # Newton's method for the logit y of the place in the interval, within a bracket
    low = -650.0
    high = 650.0
    place = (mean - deviation * math.sqrt(2.0 * reach) - v[q]) / gap
    y = 0.0
    if 0.0 < place < 1.0:
        y = math.log(place / (1.0 - place))
    for _ in range(200):
        left, right = in_interval(gap, y)
        bound, rate = _product_bound(c, v, count, q, left, right, space)
        if bound >= reach:
            low = y
            if bound < 1.1 * reach:
                break
        else:
            high = y
            if bound > 0.97 * reach:
                low = y
                break
        if high - low < 1e-14 * (1.0 + abs(low)):
            break
        rate *= left * (right / gap)
        y -= (bound - 1.03 * reach) / rate if rate < 0.0 else 0.0
        if not low < y < high:
            y = 0.5 * (low + high)
    left, right = in_interval(gap, low)
    return q, left, right


@kernel(inline=True)
def in_interval(gap: float, y: float) -> tuple[float, float]:
    """Return the distances from both ends of an interval, at the logit y."""
    e = math.exp(-abs(y))
    near = gap * (e / (1.0 + e))
    far = gap / (1.0 + e)
    return (near, far) if y < 0.0 else (far, near)


@kernel()
def _product_bound(
    c: Floats, v: Floats, count: Floats, q: int, left: float, right: float, space: Floats
) -> tuple[float, float]:
    """Compute Chernoff's bound of minus the log of the product of all F, and its derivative."""
    m = v.size
    d, a = space[0, :m], space[1, :m]
    fill_differences(v, q, left, right, d)
    bound = 0.0
    rate = 0.0
    for i in range(c.shape[0]):
        level, slope, _ = level_and_slope(c[i], v, d, 0.0, a)
        if slope < 0.0:
            bound += count[i] * level
            rate += count[i] * slope
    return bound, rate


@kernel()
def fill_grading(
    c: Floats, v: Floats, active: int, setting: Setting, space: Floats, grading: Floats
) -> None:
    """Set the length of the last panel at each inner value, relative to the interval; 0 if none."""
    m = v.size
    d, a = space[0, :m], space[1, :m]
    for k in range(m):
        grading[k] = 0.0
    for k in range(1, m - 1):
        fill_differences(v, k, 0.0, v[k + 1] - v[k], d)
        for i in range(active):
            rest = 0.0
            whole = True
            for j in range(m):
                rest += c[i, j] if j != k else 0.0
                whole = whole and c[i, j] == math.floor(c[i, j])
            depth = math.exp(-(_DIGITS - 4.4 * rest) / rest)
            if depth > 0.25 or whole:  # (whole weights give piecewise polynomials)
                continue
            level, _, _ = level_and_slope(c[i], v, d, 0.0, a)
            if level > setting.reach:
                continue
            # the singular part is prod_j (|x - v_k| / |v_j - v_k|)^c_j, j != k
            one = 0.0
            two = 0.0
            for j in range(m):
                one += c[i, j] / (a[j] * a[j])
                two += c[i, j] * (d[j] / a[j]) ** 2
            width = setting.panel * math.sqrt(two / (one * (rest + c[i, k])))
            width = min(width, max(v[k + 1] - v[k], v[k] - v[k - 1]))
            singular = level
            for j in range(m):
                if j != k:
                    singular -= c[i, j] * math.log(abs(d[j]) / width)
            if singular < -_DIGITS - 5.0:
                continue
            depth *= width / max(v[k + 1] - v[k], v[k] - v[k - 1])
            grading[k] = depth if grading[k] == 0.0 else min(grading[k], depth)
        if grading[k] > 0.0:
            grading[k] = max(grading[k], CLOSEST)


@kernel()
def _segment(
    v: Floats, q: int, left: float, right: float, grading: Floats
) -> tuple[float, float, float]:
    """Return the kind of panels from a position on, and the position up to which it is used."""
    last = v.size - 2
    gap = v[q + 1] - v[q]
    quarter = 0.25 * gap
    if (q == 0 or grading[q] > 0.0) and left < quarter:
        end = grading[q] * gap
        if q > 0 and left < end:
            return LINEAR, end, gap - end
        return FROM_LEFT, quarter, gap - quarter
    if q == last or grading[q + 1] > 0.0:
        if right > quarter:
            return LINEAR, gap - quarter, quarter
        end = (CLOSEST if q == last else grading[q + 1]) * gap
        if right > end:
            return FROM_RIGHT, gap - end, end
    return LINEAR, gap, 0.0


@kernel(inline=True)
def _point(
    kind: float, left: float, right: float, last_left: float, last_right: float, part: float
) -> tuple[float, float, float]:
    """Return the position at a part in [0, 1] of a segment, and dx / d(part)."""
    if kind == FROM_LEFT:
        rate = math.log(last_left / left)
        here = last_left if part == 1.0 else left * math.exp(rate * part)
        return here, last_right + (last_left - here), here * rate
    if kind == FROM_RIGHT:
        rate = math.log(right / last_right)
        here = last_right if part == 1.0 else right * math.exp(-rate * part)
        return left + (right - here), here, here * rate
    # (the length, from the distances that are not rounded)
    width = last_left - left if last_left < last_right else right - last_right
    rest = 1.0 - part
    return left + part * width, last_right + rest * width, width


@kernel()
def divide_values(
    c: Floats,
    v: Floats,
    active: int,
    setting: Setting,
    cut: float,
    low: tuple[int, float, float],
    grading: Floats,
    panels: Floats,
    panels_of: Ints,
    space: Floats,
) -> int:
    """Divide the interval from ``low`` to the end of all arms into panels; return their number."""
    # return -1 if the table is too small; arm i is negligible from panel ``panels_of[i]`` on
    m = v.size
    q, left, right = low
    d, a = space[0, :m], space[1, :m]
    state = np.empty((6, active))  # level, slope and w at the left and right edge
    most = (setting.panel * cut) ** 2
    found = 0
    part = 1.0
    running = 0
    fill_differences(v, q, left, right, d)
    for i in range(active):
        state[0, i], state[1, i], state[2, i] = level_and_slope(c[i], v, d, 0.0, a)
        panels_of[i] = 0 if state[1, i] > 0.0 and state[0, i] > setting.reach else -1
        running += 1 if panels_of[i] < 0 else 0
    while running > 0:
        if found == panels.shape[1]:
            return -1
        gap = v[q + 1] - v[q]
        kind, last_left, last_right = _segment(v, q, left, right, grading)
        # the same length as before, if the segment is the same, or all of the segment
        for _ in range(200):
            next_left, next_right, _ = _point(kind, left, right, last_left, last_right, part)
            if kind == LINEAR:
                rate_0 = _point(kind, left, right, next_left, next_right, 0.0)[2]
                rate_1 = rate_0
                good = True
            else:
                near = left if kind == FROM_LEFT else right
                far = next_left if kind == FROM_LEFT else next_right
                log_width = abs(math.log(far / near))
                rate_0 = near * log_width
                rate_1 = far * log_width
                middle = math.log(0.25 * gap / max(near, far))
                good = log_width <= cut * (_LOG_WIDTH + 0.5 * middle)
            if good:
                fill_differences(v, q, next_left, next_right, d)
                for i in range(active):
                    if panels_of[i] >= 0:
                        continue
                    level, slope, w = level_and_slope(c[i], v, d, state[2, i], a)
                    state[3, i] = level
                    state[4, i] = slope
                    state[5, i] = w
                    bend = abs(slope * rate_1 - state[1, i] * rate_0)
                    least = min(level, state[0, i])
                    change = abs(level - state[0, i])
                    allowed = cut * (setting.change + setting.relief * least)
                    if bend > most or change > allowed:
                        good = False
                        break
            if good:
                break
            part *= 0.7
        panels[KIND, found] = kind
        panels[INTERVAL, found] = q
        panels[LEFT_0, found] = left
        panels[RIGHT_0, found] = right
        panels[LEFT_1, found] = next_left
        panels[RIGHT_1, found] = next_right
        found += 1
        length = part
        left, right = next_left, next_right
        for i in range(active):
            if panels_of[i] < 0:
                state[:3, i] = state[3:, i]
                if state[1, i] > 0.0 and state[0, i] > setting.reach:
                    panels_of[i] = found
                    running -= 1
        if part == 1.0:
            if q == m - 2 and kind == FROM_RIGHT:
                break
            if right == 0.0:
                q += 1
                left = 0.0
                right = v[q + 1] - v[q]
        else:
            part = min(1.0, 1.6 * length / (1.0 - length))
            part = 1.0 if part > 0.75 else (0.5 if part > 0.5 else part)
    for i in range(active):
        if panels_of[i] < 0:
            panels_of[i] = found
    return found


@kernel()
def split_panel(panels: Floats, p: int, parts: int, new: Floats, at: int) -> int:
    """Copy panel p in equal parts to columns of a new table from ``at`` on; return the next one."""
    kind = panels[KIND, p]
    left, right = panels[LEFT_0, p], panels[RIGHT_0, p]
    for i in range(parts):
        next_left, next_right, _ = _point(
            kind,
            panels[LEFT_0, p],
            panels[RIGHT_0, p],
            panels[LEFT_1, p],
            panels[RIGHT_1, p],
            (i + 1.0) / parts,
        )
        if i == parts - 1:
            next_left, next_right = panels[LEFT_1, p], panels[RIGHT_1, p]
        new[KIND, at] = kind
        new[INTERVAL, at] = panels[INTERVAL, p]
        new[LEFT_0, at] = left
        new[RIGHT_0, at] = right
        new[LEFT_1, at] = next_left
        new[RIGHT_1, at] = next_right
        left, right = next_left, next_right
        at += 1
    return at


@kernel()
def fill_value_nodes(panels: Floats, found: int, nodes: Floats) -> None:
    """Fill the table of nodes of all panels."""
    for p in range(found):
        for i in range(NODES):
            x = p * NODES + i
            left, right, rate = _point(
                panels[KIND, p],
                panels[LEFT_0, p],
                panels[RIGHT_0, p],
                panels[LEFT_1, p],
                panels[RIGHT_1, p],
                0.5 + 0.5 * NODE[i],
            )
            nodes[NODE_INTERVAL, x] = panels[INTERVAL, p]
            nodes[NODE_LEFT, x] = left
            nodes[NODE_RIGHT, x] = right
            nodes[NODE_DX, x] = rate


#: Passes in which panels are split because the product of many distribution functions is steep.
_STEEP_PASSES = 12


@kernel()
def _fill_arm(
    c: Floats,
    v: Floats,
    nodes: Floats,
    n: int,
    digits: float,
    space: Floats,
    work: Floats,
    g: Floats,
    moment: Floats,
    change: Floats,
) -> None:
    """Fill functions of one arm at the first n nodes; empty arrays stay empty."""
    # ``g``: density per part of the panel; ``moment``: int (m - theta) f; ``change[k]``: F^k - F
    m = v.size
    d, a, out = space[0, :m], space[1, :m], space[2, :m]
    per_total = 1.0 / c.sum()
    w = 0.0
    for x in range(n):
        q = int(nodes[NODE_INTERVAL, x])
        fill_differences(v, q, nodes[NODE_LEFT, x], nodes[NODE_RIGHT, x], d)
        level, w = fill_after(c, v, d, w, digits, a, out, work)
        peak = math.exp(-min(level, 700.0))
        f = 0.0
        for k in range(m):
            out[k] *= peak
            f += c[k] * out[k]
        g[x] = f * nodes[NODE_DX, x]
        if moment.size > 0:
            s = 0.0
            for k in range(m):
                s += c[k] * (d[k] * d[k]) * out[k]
            moment[x] = s * per_total
        if change.size > 0:
            for k in range(m):
                change[k, x] = -d[k] * out[k]


@kernel()
def _tail_of(
    order: float, c: Floats, v: Floats, d: Floats, a: Floats, out: Floats, work: Floats
) -> float:
    factor, level = lower_tail_of(c, v, d, order, a, out, work)
    return factor * math.exp(-min(level, 700.0))


@kernel()
def _integrate_values(
    c: Floats,
    v: Floats,
    count: Floats,
    active: int,
    leader: int,
    setting: Setting,
    digits: float,
    low: tuple[int, float, float],
    panels: int,
    panels_of: Ints,
    nodes: Floats,
    space: Floats,
    work: Floats,
    r: Floats,
    big_f: Floats,
    product: Floats,
    moment: Floats,
    change: Floats,
    alpha: Floats,
) -> tuple[float, float]:
    """Fill alpha (not normalised), r, F and P; return Delta of the leader and the sum of alpha."""
    m = v.size
    n = panels * NODES
    survival, some = np.empty((2, n))
    mass = np.empty(2 * panels)
    edges = np.arange(panels + 1).astype(np.float64)
    floor = math.exp(-setting.reach - 40.0)
    excess = 0.0
    for x in range(n):
        product[x] = 1.0
        some[x] = 0.0
    d, a, out = space[0, :m], space[1, :m], space[2, :m]
    for i in range(active):
        end = panels_of[i] * NODES
        moment_row = moment[i, :end] if moment.size > 0 else moment[0, :0]
        change_rows = change[i, :, :end] if change.size > 0 else change[0, :, :0]
        _fill_arm(c[i], v, nodes, end, digits, space, work, r[i], moment_row, change_rows)
        r[i, end:n] = 0.0
        total = accumulate(r[i], edges, panels_of[i], mass, big_f[i])
        fill_differences(v, low[0], low[1], low[2], d)
        _, slope, _ = level_and_slope(c[i], v, d, 0.0, a)
        below = max(0.0, 1.0 - total)
        if slope < 0.0:
            below = _tail_of(1.0, c[i], v, d, a, out, work)
            if i == leader:
                excess = _tail_of(2.0, c[i], v, d, a, out, work)
        others = 0.0 if i == leader else 1.0
        fold_in(below, floor, others, panels_of[i], mass, big_f[i], survival, product, some, r[i])
        if count[i] > 1.0:
            fold_equals(big_f[i, :end], survival[:end], count[i] - 1.0, product[:end], some[:end])
        if i == leader and slope >= 0.0:  # x - m + int S
            excess = -inner(c[i], d) / c[i].sum()
            for x in range(end):
                excess += survival[x] * nodes[NODE_DX, x] * (0.5 * WEIGHT[x % NODES])
        big_f[i, end:n] = 1.0
    total = 0.0
    for x in range(n):
        weight = 0.5 * WEIGHT[x % NODES]
        excess += big_f[leader, x] * some[x] * (nodes[NODE_DX, x] * weight)
        survival[x] = product[x] * weight
    for i in range(active):
        end = panels_of[i] * NODES
        alpha[i] = inner(r[i, :end], survival[:end])
        total += count[i] * alpha[i]
    return excess, total


@kernel()
def _fill_gains(
    c: Floats,
    count: Floats,
    active: int,
    strict: bool,
    panels_of: Ints,
    r: Floats,
    big_f: Floats,
    product: Floats,
    moment: Floats,
    change: Floats,
    alpha: Floats,
    total: float,
    h: Floats,
    v: Floats,
) -> None:
    """Compute h and v; an empty ``change`` or ``moment`` means that h or v is not needed."""
    least = LEAST_ALPHA[1 if strict else 0]
    m = c.shape[1]
    row = np.empty(product.size)
    for i in range(active):
        n = panels_of[i] * NODES
        h[i] = 0.0
        v[i] = 0.0
        if moment.size > 0:
            for x in range(n):
                row[x] = moment[i, x] / big_f[i, x] * product[x] * (0.5 * WEIGHT[x % NODES])
            own = 0.0
            for j in range(active):
                number = count[j] - (1.0 if j == i else 0.0)
                if number > 0.0:
                    end = min(n, panels_of[j] * NODES)
                    w = inner(row[:end], r[j, :end])
                    own += number * w
                    v[i] += number * w * (w / max(alpha[j], TINY))
            v[i] = (v[i] + own * (own / max(alpha[i], TINY))) / total
        if change.size > 0:
            per_c = 1.0 / c[i].sum()
            for k in range(m):
                for x in range(n):
                    weight = product[x] * (0.5 * WEIGHT[x % NODES])
                    row[x] = change[i, k, x] / big_f[i, x] * weight
                own = 0.0
                gain = 0.0
                for j in range(active):
                    number = count[j] - (1.0 if j == i else 0.0)
                    if number > 0.0:
                        end = min(n, panels_of[j] * NODES)
                        u = inner(row[:end], r[j, :end])
                        own -= number * u
                        if alpha[j] > least:
                            gain += number * alpha[j] * phi(max(-INSIDE, u / alpha[j]))
                if alpha[i] > least:
                    gain += alpha[i] * phi(max(-INSIDE, own / alpha[i]))
                h[i] += c[i, k] * per_c * gain
            h[i] /= total


@kernel()
def _split_steep(
    setting: Setting, cut: float, panels: Floats, found: int, product: Floats
) -> tuple[Floats, int, int]:
    """Split panels in which the product of all F is steep, and drop those in which it vanishes."""
    new = np.empty((PANEL_ROWS, 4 * found + 8))
    number = 0
    changes = 0
    keeping = False
    least = math.exp(-setting.reach)
    for p in range(found):
        first = max(product[p * NODES], least)
        last = max(product[(p + 1) * NODES - 1], least)
        keeping = keeping or last > least
        if not keeping:
            changes += 1
            continue
        # (nodes do not reach the edges of the panel)
        change = 1.1 * math.log(last / first)
        parts = min(4, math.ceil(change / (1.3 * cut * setting.change)))
        changes += 1 if parts > 1 else 0
        number = split_panel(panels, p, max(1, parts), new, number)
    return new, number, changes


@kernel()
def _fill_means(c: Floats, v: Floats, mean: Floats) -> tuple[int, int]:
    """Fill the means of all arms relative to one of the values; return the leader and the value."""
    # it is the value with the largest weight of the leader: several means may be next to it
    leader = 0
    base = 0
    for attempt in range(2):
        for i in range(c.shape[0]):
            mean[i] = 0.0
            for k in range(v.size):
                mean[i] += c[i, k] * (v[k] - v[base])
            mean[i] /= c[i].sum()
        leader = int(np.argmax(mean))
        if attempt == 0:
            base = int(np.argmax(c[leader]))
    return leader, base


@kernel()
def _choose_arms(
    c: Floats,
    v: Floats,
    number: Floats,
    leader: int,
    low: tuple[int, float, float],
    reach: float,
    space: Floats,
    place_of: Ints,
) -> tuple[int, int]:
    """Move the arms that can be best to the first rows; return their number and the leader."""
    m = v.size
    d, a = space[0, :m], space[1, :m]
    fill_differences(v, low[0], low[1], low[2], d)
    active = 0
    lead = 0
    for i in range(c.shape[0]):
        place_of[i] = -1
        level, slope, _ = level_and_slope(c[i], v, d, 0.0, a)
        if i == leader or slope < 0.0 or level < reach:
            lead = active if i == leader else lead
            c[active] = c[i]
            number[active] = number[i]
            place_of[i] = active
            active += 1
    return active, lead


@kernel()
def dirichlet_beliefs(
    values: Floats,
    weights: Floats,
    setting: Setting,
    strict: bool,
    cut: float,
    information: bool,
    variance: bool,
    most: int,
    alpha: Floats,
    delta: Floats,
    h: Floats,
    v: Floats,
    rho: Floats,
    spread: Floats,
    defect: Floats,
) -> int:
    """Fill what ``marginal_beliefs`` fills, for weights (B, K, m) of the increasing ``values``."""
    trials, count, m = weights.shape
    largest = 0
    # neglected probabilities add up over the arms
    reach = setting.reach + math.log(count)
    setting = Setting(reach, setting.panel, setting.change, setting.relief)
    # a power of two scales the values without rounding
    unit = 2.0 ** math.ceil(math.log2(values[m - 1] - values[0]))
    place = values / unit
    group, first, place_of = np.empty((3, count), np.int64)
    space = np.empty((3, m))
    work = np.empty((WORK_ROWS, CHUNK))
    grading = np.empty(m)
    table = np.empty((PANEL_ROWS, 64))
    for t in range(trials):
        distinct = group_rows(weights[t], group, first)
        c = np.empty((distinct, m))
        number = np.zeros(distinct)
        mean = np.empty(distinct)
        for i in range(distinct):
            c[i] = weights[t, first[i]]
        for k in range(count):
            number[group[k]] += 1.0
        leader, base = _fill_means(c, place, mean)
        best = mean[leader]
        low = find_low(
            c,
            place,
            number,
            reach,
            place[base] + best,
            _deviation(c[leader], place),
            space,
        )
        active, lead = _choose_arms(c, place, number, leader, low, reach, space, place_of)
        largest = max(largest, active)
        if active > most:
            break
        some_alpha, some_h, some_v = np.zeros((3, active))
        spread[t] = 0.0
        for i in range(active):
            spread[t] = max(spread[t], unit * _deviation(c[i], place))
        regret = 0.0
        total = 1.0
        defect[t] = 0.0
        if active == 1 and number[0] == 1.0:
            some_alpha[0] = 1.0
        else:
            before = np.inf
            scale = cut
            r, big_f, moment = np.empty((3, 1, 1))
            product = np.empty(1)
            change = np.empty((1, 1, 1))
            panels_of = np.empty(active, np.int64)
            fill_grading(c, place, active, setting, space, grading)
            for _ in range(REFINEMENTS):
                found = divide_values(
                    c, place, active, setting, scale, low, grading, table, panels_of, space
                )
                while found < 0 and table.shape[1] < MOST_PANELS:
                    table = np.empty((PANEL_ROWS, 4 * table.shape[1]))
                    found = divide_values(
                        c, place, active, setting, scale, low, grading, table, panels_of, space
                    )
                if found < 0:
                    defect[t] = np.inf
                    break
                panels = table
                start = low
                for _ in range(_STEEP_PASSES):
                    n = found * NODES
                    nodes = np.empty((NODE_ROWS, n))
                    fill_value_nodes(panels, found, nodes)
                    r, big_f = np.empty((2, active, n))
                    product = np.empty(n)
                    moment = np.empty((active if variance else 1, n if variance else 0))
                    change = np.empty((active if information else 1, m, n if information else 0))
                    regret, total = _integrate_values(
                        c,
                        place,
                        number,
                        active,
                        lead,
                        setting,
                        FINE if strict else COARSE,
                        start,
                        found,
                        panels_of,
                        nodes,
                        space,
                        work,
                        r,
                        big_f,
                        product,
                        moment,
                        change,
                        some_alpha,
                    )
                    if number[:active].sum() <= 3.0:
                        break
                    new, size, changes = _split_steep(setting, scale, panels, found, product)
                    if changes == 0 or size > MOST_PANELS or size == 0:
                        break
                    for i in range(active):
                        panels_of[i] = _moved(panels, panels_of[i], found, new, size)
                    panels = new
                    found = size
                    start = (int(panels[INTERVAL, 0]), panels[LEFT_0, 0], panels[RIGHT_0, 0])
                defect[t] = abs(total - 1.0)
                if defect[t] <= CONVERGED or 0.5 * before < defect[t] < GOOD_ENOUGH:
                    break
                before = defect[t]
                scale *= 0.5
            if defect[t] < 1.0:
                _fill_gains(
                    c,
                    number,
                    active,
                    strict,
                    panels_of,
                    r,
                    big_f,
                    product,
                    moment,
                    change,
                    some_alpha,
                    total,
                    some_h,
                    some_v,
                )
        rho[t] = values[base] + unit * (best + regret)
        for k in range(count):
            i = place_of[group[k]]
            alpha[t, k] = some_alpha[i] / total if i >= 0 else 0.0
            delta[t, k] = unit * max(0.0, regret + (best - mean[group[k]]))
            h[t, k] = some_h[i] if i >= 0 else 0.0
            v[t, k] = unit * unit * some_v[i] if i >= 0 else 0.0
    return largest


@kernel()
def _deviation(c: Floats, v: Floats) -> float:
    """Compute the standard deviation of the mean."""
    total = c.sum()
    s = 0.0
    for j in range(c.size):
        for k in range(j):
            s += (c[j] / total) * (c[k] / total) * (v[j] - v[k]) ** 2
    return math.sqrt(s / (total + 1.0))


@kernel()
def _moved(panels: Floats, end: int, found: int, new: Floats, size: int) -> int:
    """Return the number of panels of a new table up to the end of panel ``end`` - 1 of the old."""
    if end >= found:
        return size
    if end == 0:
        return 0
    moved = 0
    for p in range(size):
        before = new[INTERVAL, p] < panels[INTERVAL, end]
        here = new[INTERVAL, p] == panels[INTERVAL, end]
        if before or (here and new[RIGHT_0, p] > panels[RIGHT_0, end]):
            moved = p + 1
    return moved


@kernel(inline=True)
def _locate(v: Floats, x: float) -> tuple[int, float, float]:
    """Return the position of x (see :mod:`graphbandits.posteriors._dirichlet_belief_kernels`)."""
    q = 0
    while q < v.size - 2 and x >= v[q + 1]:
        q += 1
    return q, x - v[q], v[q + 1] - x


@kernel()
def fill_log_densities(
    values: Floats, weights: Floats, theta: Floats, outcome: int, out: Floats
) -> None:
    """Set out[i, x] to the log density of the mean with the weights i at theta[x]."""
    # if ``outcome`` >= 0, to the log probability of that outcome given the mean
    m = values.size
    space = np.empty((3, m))
    work = np.empty((WORK_ROWS, CHUNK))
    d, a, after = space[0], space[1], space[2]
    unit = 2.0 ** math.ceil(math.log2(values[m - 1] - values[0]))
    v = values / unit
    for i in range(weights.shape[0]):
        c = weights[i]
        for x in range(theta.size):
            out[i, x] = -np.inf
            if not values[0] < theta[x] < values[m - 1]:
                continue
            q, left, right = _locate(v, theta[x] / unit)
            fill_differences(v, q, left, right, d)
            level, _ = fill_after(c, v, d, 0.0, FINE, a, after, work)
            f = inner(c, after)
            if outcome >= 0:
                out[i, x] = math.log(c[outcome] * after[outcome] / f)
            else:
                out[i, x] = math.log(f / unit) - level


@kernel()
def _both_tails(
    c: Floats, v: Floats, d: Floats, space: Floats, work: Floats
) -> tuple[float, float]:
    """Compute F and 1 - F, the smaller one relatively accurate."""
    m = v.size
    a, out = space[1], space[2]
    _, slope, _ = level_and_slope(c, v, d, 0.0, a)
    if slope < 0.0:
        below = _tail_of(1.0, c, v, d, a, out, work)
        return below, 1.0 - below
    mirrored = np.empty((3, m))
    for k in range(m):
        mirrored[0, k] = c[m - 1 - k]
        mirrored[1, k] = -v[m - 1 - k]
        mirrored[2, k] = -d[m - 1 - k]
    above = _tail_of(1.0, mirrored[0], mirrored[1], mirrored[2], a, out, work)
    return 1.0 - above, above


@kernel()
def fill_quantiles(values: Floats, weights: Floats, level: float, out: Floats) -> None:
    """Set out[i] to the quantile of a level in (0, 1) of the mean with the weights i."""
    m = values.size
    space = np.empty((3, m))
    work = np.empty((WORK_ROWS, CHUNK))
    d, a, after = space[0], space[1], space[2]
    unit = 2.0 ** math.ceil(math.log2(values[m - 1] - values[0]))
    v = values / unit
    for i in range(weights.shape[0]):
        c = weights[i]
        q = 0
        while q < m - 2:
            fill_differences(v, q + 1, 0.0, v[q + 2] - v[q + 1], d)
            below, above = _both_tails(c, v, d, space, work)
            if (below if level <= 0.5 else 1.0 - above) >= level:
                break
            q += 1
        gap = v[q + 1] - v[q]
        # Newton's method for the logit y of the place in the interval, within a bracket
        low = -700.0
        high = 700.0
        y = 0.0
        left = 0.5 * gap
        right = 0.5 * gap
        for _ in range(200):
            left, right = in_interval(gap, y)
            fill_differences(v, q, left, right, d)
            below, above = _both_tails(c, v, d, space, work)
            miss = math.log(below / level) if level <= 0.5 else math.log((1.0 - level) / above)
            if miss >= 0.0:
                high = y
            if miss <= 0.0:
                low = y
            peak, _ = fill_after(c, v, d, 0.0, FINE, a, after, work)
            rate = inner(c, after) * math.exp(-min(peak, 700.0)) * (left * (right / gap))
            rate /= below if level <= 0.5 else above
            before = y
            # (far out both tails and densities have a lower limit)
            y = y - miss / rate if rate > 0.0 and abs(miss) < 100.0 else high
            if not low < y < high:
                y = 0.5 * (low + high)
            if abs(y - before) <= 1e-14 * max(1.0, abs(y)) or abs(miss) < 1e-15:
                break
        out[i] = unit * (v[q] + left if left < right else v[q + 1] - right)
