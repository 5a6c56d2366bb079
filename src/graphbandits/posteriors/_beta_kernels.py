"""Algorithm 2 of Russo and Van Roy for Beta-Bernoulli arms: alpha, Delta, h, v up to rounding.

All statistics are one-dimensional integrals of densities f_i, f_i f_j and products of distribution
functions F_k. Only distinct posteriors that can be best are used
(:mod:`graphbandits.posteriors._pair_kernels`). On the logit axis every Beta density is smooth:
panels of Gauss-Legendre nodes cover the interval that contains the best arm, and F_k is a running
integral at the nodes (:mod:`graphbandits.posteriors._quadrature_kernels`). The probabilities of
being best must add up to 1; otherwise the panels are halved. (The sum does not detect mass lost
below the interval.)

Each trial is computed separately, in an order that depends only on its own posteriors: its bits do
not depend on the other trials of the call.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from graphbandits._jit import kernel
from graphbandits._types import Floats, Ints
from graphbandits.posteriors._pair_kernels import (
    AT_ONCE,
    FEW_DISTINCT,
    fill_gains,
    fold_equals,
    group_arms,
    inner,
)
from graphbandits.posteriors._quadrature_kernels import (
    BELOW,
    CENTRE,
    COUNT,
    DU,
    DX,
    END,
    LANES,
    MOST_PANELS,
    NODE_ROWS,
    NODES,
    ROWS,
    SIZE,
    TOP,
    A,
    B,
    Setting,
    accumulate,
    count_panels,
    fill_density,
    fill_nodes,
    find_low,
    fold_in,
    level_at,
    lower_tail,
    pad,
    place_panels,
    set_places,
    set_shapes,
)

#: The quadrature has converged if the probabilities of being best add up to 1 within CONVERGED, or
#: within GOOD_ENOUGH if halving the panels no longer helps: the rest is rounding.
CONVERGED = 5e-12
GOOD_ENOUGH = 1e-11
REFINEMENTS = 6
#: Rows of work space with one column per node: P du, the probability that an arm other than the
#: leader lies above, masses of panels, functions of one arm and of the leader, the table of nodes.
JOINT, SOME, MASS, BIG_F, SURVIVAL, LEADER_F, NODE_TABLE = range(7)
#: Initial number of panels of the work space; odd, because rows at a distance of a power of two
#: would use the same cache lines.
PANELS = 17
#: Rows of the work space with alpha, not normalised, h and v of the distinct posteriors.
ALPHA, GAIN, VARIANCE = 7, 8, 9
#: Above this number of distinct posteriors that can be best, a simulation computes h and v by
#: moments (:mod:`graphbandits.posteriors._moment_kernels`): from here on it is faster.
MANY_DISTINCT = 256


@kernel()
def _excess(arms: Floats, k: int, u: float, big_f: float) -> float:
    """Compute int_0^x F = (x - m) F + x (1-x) f / (a+b) of arm k, for x = x(u)."""
    level, slope, _ = level_at(arms[A, k], arms[B, k], arms[CENTRE, k], u)
    # (the slope of the level is (a+b) (x - m))
    excess: float = max(0.0, slope * big_f + math.exp(arms[TOP, k] - level)) / arms[SIZE, k]
    return excess


@kernel()
def _integrate(
    arms: Floats,
    distinct: int,
    leader: int,
    setting: Setting,
    strict: bool,
    panels: int,
    edges: Floats,
    panels_of: Ints,
    line: Floats,
    r: Floats,
    alpha: Floats,
) -> tuple[float, float]:
    """Fill alpha (not normalised) and r = g/F; return Delta of the leader and sum(alpha)."""
    # P du is in ``line[JOINT]``
    n = panels * NODES
    joint, some, mass, survival = line[JOINT, :n], line[SOME, :n], line[MASS], line[SURVIVAL]
    nodes, low = line[NODE_TABLE:], edges[0]
    floor = math.exp(-setting.reach - 4.0)
    excess = 0.0
    fill_nodes(arms, leader, edges, panels, nodes)
    for i in range(n):
        joint[i] = nodes[DU, i]
        some[i] = 0.0
    for k in range(distinct):
        end = panels_of[k] * NODES
        big_f = line[LEADER_F if k == leader else BIG_F]
        fill_density(arms, k, leader, nodes, end, r[k, :n])
        total = accumulate(r[k], edges, panels_of[k], mass, big_f)
        below = min(arms[BELOW, k], max(0.0, 1.0 - total))
        part = -1.0
        if strict and low < arms[CENTRE, k]:
            below, part = lower_tail(arms, k, low)
        others = 0.0 if k == leader else 1.0
        fold_in(below, floor, others, panels_of[k], mass, big_f, survival, joint, some, r[k])
        if arms[COUNT, k] > 1.0:
            more = arms[COUNT, k] - 1.0
            fold_equals(big_f[:end], survival[:end], more, joint[:end], some[:end])
        if k == leader:
            excess = part if part >= 0.0 else _excess(arms, k, low, below)
            big_f[end:n] = 1.0
    total = 0.0
    for k in range(distinct):
        end = panels_of[k] * NODES
        alpha[k] = inner(r[k, :end], joint[:end])
        total += arms[COUNT, k] * alpha[k]
    # int F_L (1 - prod_{k != L} F_k) dx
    for i in range(n):
        some[i] *= nodes[DX, i]
    return excess + inner(line[LEADER_F, :n], some), total


class Space(NamedTuple):
    """Work space of one thread, with the values of one trial."""

    group: Ints
    first: Ints
    place: Ints  # column of each distinct posterior that can be best, or -1
    panels_of: Ints
    every: Floats
    arms: Floats
    edges: Floats
    line: Floats
    r: Floats
    work: Floats  # with the results of the distinct posteriors in its last rows


@kernel()
def _aligned(rows: int, columns: int) -> Floats:
    """Create an array that begins at a cache line: vectors that cross lines are slow."""
    flat = np.empty(rows * columns + 8)
    begin = -(flat.ctypes.data // 8) % 8
    return flat[begin : begin + rows * columns].reshape(rows, columns)


@kernel()
def make_space(count: int) -> Space:
    """Create work space for ``count`` arms of few distinct posteriors, and for few panels."""
    group = np.empty((2, count), np.int64)
    edges = np.empty(4 * PANELS)
    line = _aligned(NODE_TABLE + NODE_ROWS, PANELS * NODES)
    r = _aligned(FEW_DISTINCT, PANELS * NODES)
    # (an odd multiple of LANES, as for PANELS)
    return _with_tables(group[0], group[1], edges, line, r, 2 * AT_ONCE + LANES)


@kernel()
def _with_tables(
    group: Ints, first: Ints, edges: Floats, line: Floats, r: Floats, room: int
) -> Space:
    whole = np.empty((2, room), np.int64)
    tables = _aligned(2 * ROWS + 10, room)
    every, arms, work = tables[:ROWS], tables[ROWS : 2 * ROWS], tables[2 * ROWS :]
    return Space(group, first, whole[0], whole[1], every, arms, edges, line, r, work)


@kernel()
def has_room(space: Space, distinct: int) -> bool:
    """Return whether the work space is large enough for this number of distinct posteriors."""
    return bool(2 * (distinct + 2 * LANES) <= space.place.size)


@kernel()
def enlarge(space: Space, distinct: int, active: int, panels: int) -> Space:
    """Return work space with room for these numbers, and with the same groups."""
    group, first, place, panels_of, every, arms, edges, line, r, work = space
    nodes = panels * NODES
    if panels >= edges.size:
        edges = np.empty(4 * edges.size)
    if nodes > line.shape[1]:
        line = _aligned(NODE_TABLE + NODE_ROWS, 2 * nodes + NODES)
    if r.shape[0] < active or r.shape[1] < nodes:
        # spare columns of very many arms would take gigabytes
        columns = line.shape[1] if active <= MANY_DISTINCT else nodes
        r = _aligned(active + min(active // 2, 100), columns)
    if not has_room(space, distinct):
        return _with_tables(group, first, edges, line, r, 2 * (distinct + 2 * LANES))
    return Space(group, first, place, panels_of, every, arms, edges, line, r, work)


@kernel()
def choose_arms(
    a: Floats, b: Floats, distinct: int, setting: Setting, most: int, space: Space
) -> tuple[int, int, int, float]:
    """Fill the table of the distinct posteriors of one trial that can be best."""
    # Return their number, the column of the leader, the padded size of the table, and the start of
    # the interval. If there are more than ``most``, the table is not complete
    first, place, every, arms = space.first, space.place, space.every, space.arms
    leader = 0
    for d in range(distinct):
        every[A, d] = a[first[d]]
        every[B, d] = b[first[d]]
        every[COUNT, d] = 0.0
    for k in range(a.size):
        every[COUNT, space.group[k]] += 1.0
    padded = set_shapes(every, distinct, setting.reach)
    for d in range(distinct):
        leader = d if every[CENTRE, d] > every[CENTRE, leader] else leader
    low = find_low(every, padded, setting, leader, space.work)
    active = 0
    lead = 0
    for d in range(distinct):
        place[d] = -1
        if d == leader or every[END, d] > low:  # the others cannot be best
            lead = active if d == leader else lead
            for row in range(ROWS):
                arms[row, active] = every[row, d]
            place[d] = active
            active += 1
    if active > most:
        return active, lead, 0, low
    padded = pad(arms, active)
    set_places(arms, padded, arms[CENTRE, lead], low)
    return active, lead, padded, low


@kernel()
def integrate_adaptively(
    active: int,
    lead: int,
    padded: int,
    low: float,
    setting: Setting,
    strict: bool,
    cut: float,
    space: Space,
) -> tuple[int, float, float, float, float]:
    """Integrate, and halve the panels until the probabilities of being best add up to 1."""
    # Return the number of panels (negative if the work space is too small for it), Delta of the
    # leader, the sum of alpha, its error, and the final scale of the widths
    before = np.inf
    scale = cut
    regret = 0.0
    total = 1.0
    panels = 0
    defect = 0.0
    arms, edges, line, r = space.arms, space.edges, space.line, space.r
    for _ in range(REFINEMENTS):
        found = place_panels(arms, padded, setting, low, scale, edges, space.work)
        if found < 0 and edges.size <= MOST_PANELS:
            return -edges.size, regret, total, defect, scale
        if found < 0:  # keep the result of the previous pass
            defect = before
            break
        nodes = found * NODES
        if nodes > line.shape[1] or nodes > r.shape[1] or active > r.shape[0]:
            return -found, regret, total, defect, scale
        panels = found
        count_panels(arms, active, edges, panels, space.panels_of)
        regret, total = _integrate(
            arms,
            active,
            lead,
            setting,
            strict,
            panels,
            edges,
            space.panels_of,
            line,
            r,
            space.work[ALPHA],
        )
        defect = abs(total - 1.0)
        if defect <= CONVERGED or 0.5 * before < defect < GOOD_ENOUGH:
            break
        before = defect
        scale *= 0.5
    return panels, regret, total, defect, scale


@kernel()
def with_reach(setting: Setting, count: int) -> Setting:
    """Extend the reach of a setting: neglected probabilities add up over the arms."""
    reach = setting.reach + math.log(count)
    return Setting(reach, setting.panel, setting.change, setting.relief)


@kernel()
def copy_to_arms(
    t: int,
    a: Floats,
    b: Floats,
    lead: int,
    regret: float,
    total: float,
    space: Space,
    alpha: Floats,
    delta: Floats,
    h: Floats,
    v: Floats,
) -> float:
    """Copy the results of the distinct posteriors of trial t to its arms; return rho."""
    work = space.work
    a_best, b_best = space.arms[A, lead], space.arms[B, lead]
    n_best = a_best + b_best
    for k in range(a.shape[1]):
        d = space.place[space.group[k]]
        alpha[t, k] = work[ALPHA, d] / total if d >= 0 else 0.0
        h[t, k] = work[GAIN, d] if d >= 0 else 0.0
        if v.size > 0:
            v[t, k] = work[VARIANCE, d] if d >= 0 else 0.0
        # m_L - m_k, and exactly 0 for the leader
        behind = (a_best * b[t, k] - b_best * a[t, k]) / (n_best * (a[t, k] + b[t, k]))
        delta[t, k] = max(0.0, regret + behind)
    return float(min(1.0, a_best / n_best + regret))


@kernel()
def _fill_beliefs(
    t: int,
    a: Floats,
    b: Floats,
    distinct: int,
    setting: Setting,
    strict: bool,
    cut: float,
    most: int,
    space: Space,
    few: Floats,
    alpha: Floats,
    delta: Floats,
    h: Floats,
    v: Floats,
) -> tuple[int, int, float, float]:
    """Fill alpha, Delta, h and v of one trial, whose groups are in the work space."""
    # Return the number of panels (as in integrate_adaptively), that of the distinct posteriors that
    # can be best, rho, and the defect
    active, lead, padded, low = choose_arms(a[t], b[t], distinct, setting, most, space)
    if active > most:
        return 0, active, 0.0, 0.0
    work = space.work
    panels = 0
    regret = 0.0
    total = 1.0
    defect = 0.0
    if active == 1 and space.arms[COUNT, 0] == 1.0:
        work[ALPHA, 0] = 1.0
        work[GAIN, 0] = 0.0
        work[VARIANCE, 0] = 0.0
    else:
        panels, regret, total, defect, _ = integrate_adaptively(
            active, lead, padded, low, setting, strict, cut, space
        )
        if panels < 0:
            return panels, active, 0.0, 0.0
        if defect < 1.0:
            fill_gains(
                space.arms,
                active,
                space.panels_of,
                space.r,
                space.line[JOINT],
                work[ALPHA],
                space.line[SOME],
                space.line[SURVIVAL],
                few,
                work,
                work[GAIN],
                work[VARIANCE] if v.size > 0 else work[VARIANCE, :0],
            )
    best = copy_to_arms(t, a, b, lead, regret, total, space, alpha, delta, h, v)
    return panels, active, best, defect


@kernel()
def _fill_trials(
    start: int,
    grouped: int,
    a: Floats,
    b: Floats,
    setting: Setting,
    strict: bool,
    cut: float,
    most: int,
    space: Space,
    few: Floats,
    alpha: Floats,
    delta: Floats,
    h: Floats,
    v: Floats,
    rho: Floats,
    defect: Floats,
) -> tuple[int, int, int, int, int]:
    """Fill the trials from ``start`` on, up to one for which the work space is too small."""
    # return that trial, the largest number of distinct posteriors, and what the trial needs: the
    # numbers of distinct posteriors, of those that can be best, and of panels
    largest = 0
    for t in range(start, a.shape[0]):
        distinct = grouped
        if t > start or grouped == 0:
            distinct = group_arms(a[t], b[t], space.group, space.first)
        if not has_room(space, distinct):
            return t, largest, distinct, 0, 0
        panels, active, rho[t], defect[t] = _fill_beliefs(
            t, a, b, distinct, setting, strict, cut, most, space, few, alpha, delta, h, v
        )
        if panels < 0:
            return t, largest, distinct, active, -panels
        largest = max(largest, active)
    return a.shape[0], largest, 0, 0, 0


@kernel()
def beliefs_kernel(
    a: Floats,
    b: Floats,
    setting: Setting,
    strict: bool,
    cut: float,
    most: int,
    alpha: Floats,
    delta: Floats,
    h: Floats,
    v: Floats,
    rho: Floats,
    defect: Floats,
) -> int:
    """Fill the statistics and the defect, the error of sum(alpha) = 1; an empty v stays empty."""
    # Trials in which more than ``most`` distinct posteriors can be best are left out. Return the
    # largest number of such posteriors
    trials, count = a.shape
    setting = with_reach(setting, count)
    space = make_space(count)
    few = np.empty((FEW_DISTINCT, FEW_DISTINCT))
    largest = 0
    t = 0
    distinct = 0
    # the loop over the trials makes no arrays: it would count references (see graphbandits._jit)
    while t < trials:
        t, found, distinct, active, panels = _fill_trials(
            t,
            distinct,
            a,
            b,
            setting,
            strict,
            cut,
            most,
            space,
            few,
            alpha,
            delta,
            h,
            v,
            rho,
            defect,
        )
        largest = max(largest, found)
        if t < trials:
            space = enlarge(space, distinct, active, panels)
    return largest


@kernel()
def add_outcomes(a: Floats, b: Floats, trial: Ints, arm: Ints, reward: Floats) -> bool:
    """Add (y, 1 - y) to (a, b) for each observation; return False, unchanged, if one is invalid."""
    trials, arms = a.shape
    for k in range(trial.size):
        if not (0 <= trial[k] < trials and 0 <= arm[k] < arms):
            return False
    for k in range(trial.size):
        a[trial[k], arm[k]] += reward[k]
        b[trial[k], arm[k]] += 1.0 - reward[k]
    return True
