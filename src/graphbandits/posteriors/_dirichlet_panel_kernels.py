"""Panels of the quadrature for means of Dirichlet distributions over the same values.

The densities are analytic between neighbouring values; at a value v_k they have a singularity
|x - v_k|^(C - c_k - 1). Therefore every value is the edge of a panel, and panels are graded towards
values at which the exponent is small (unless all weights are whole, which gives piecewise
polynomials), and towards the smallest and largest value.

A position x in the interval from v_q to v_{q+1} is (q, x - v_q, v_{q+1} - x): both distances are
kept, so that positions next to a value are exact. A panel is linear in x, or in the logarithm of
the distance from the value on its left or right. Panels are the columns of a table.
"""

from __future__ import annotations

import math

import numpy as np

from graphbandits._jit import kernel
from graphbandits._types import Floats, Ints
from graphbandits.posteriors._dirichlet_kernels import level_and_slope
from graphbandits.posteriors._panel_kernels import NODE, NODES
from graphbandits.posteriors._shape_kernels import Setting

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
    """Find a position below which the product of all distribution functions is under exp(-reach).

    ``c`` has one row per distinct arm; ``mean`` and ``deviation`` belong to the leader.
    """
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
    """Divide the interval from ``low`` to the end of all arms into panels; return their number.

    The density of arm i is negligible from panel ``panels_of[i]`` on. Return -1 if the table is too
    small.
    """
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
