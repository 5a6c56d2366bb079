"""alpha, Delta, h and v of independent arms whose means have one-dimensional densities.

With the density g_i and the distribution function F_i of arm i on an axis with places t, P = prod
F_k, and r_i = g_i / F_i,

    alpha_i = int r_i P dt,    Delta_L = int F_L (1 - P / F_L) dx,    W_ij = int c_i r_j P dt,

with c_i = C_i / F_i and C_i(x) = int_{-inf}^x (m_i - theta) f_i(theta) dtheta. The mean of arm i
given that arm j is best is m_i - W_ij / alpha_j for j != i. All terms are positive.

The families and their panels are in :mod:`graphbandits.posteriors._family_kernels`, h is in
:mod:`graphbandits.posteriors._outcome_kernels`. Each trial is computed separately.
"""

from __future__ import annotations

import math

import numpy as np

from graphbandits._jit import kernel
from graphbandits._types import Floats, Ints
from graphbandits.posteriors._beta_kernels import CONVERGED, GOOD_ENOUGH, REFINEMENTS
from graphbandits.posteriors._family_kernels import (
    BELOW,
    CENTRE,
    COUNT,
    DEVIATION,
    END,
    MEAN,
    PARAMETERS,
    ROOM,
    count_panels_of,
    difference,
    divide,
    divide_steep,
    fill_densities,
    fill_places,
    fill_widths,
    find_start,
    group_rows,
    has_moment_factor,
    lower_nodes,
    moment_factor,
    origin_of,
    set_arm,
    set_mean,
)
from graphbandits.posteriors._outcome_kernels import fill_information
from graphbandits.posteriors._pair_kernels import TINY, fold_equals, inner
from graphbandits.posteriors._quadrature_kernels import NODES, Setting, accumulate, fold_in

#: Largest accepted error of the sum of alpha after the last refinement.
ACCEPTED = 1e-10


@kernel()
def _integrate_marginals(
    family: int,
    common: Floats,
    arms: Floats,
    active: int,
    leader: int,
    origin: float,
    setting: Setting,
    strict: bool,
    edges: Floats,
    place: Floats,
    dt: Floats,
    panels_of: Ints,
    r: Floats,
    big_f: Floats,
    product: Floats,
    alpha: Floats,
) -> tuple[float, float]:
    """Fill alpha (not normalised), r, F and P; return Delta of the leader and the sum of alpha."""
    n = place.size
    low = edges[0]
    survival, some, dx = np.empty((3, n))
    mass = np.empty(2 * edges.size)
    floor = math.exp(-setting.reach - 40.0)
    excess = 0.0
    fill_widths(family, common, origin, place, dt, dx)
    for i in range(n):
        product[i] = 1.0
        some[i] = 0.0
    for k in range(active):
        panels = panels_of[k]
        end = panels * NODES
        fill_densities(family, common, arms, k, place[:end], r[k, :end])
        r[k, end:n] = 0.0
        total = accumulate(r[k], edges, panels, mass, big_f[k])
        below = max(0.0, 1.0 - total)
        if low < arms[CENTRE, k] and (strict or k == leader):
            tail_place, tail_weight = lower_nodes(family, common, arms, k, origin, low)
            below = 0.0
            for i in range(tail_place.size):
                below += tail_weight[i]
                if k == leader:
                    gap = difference(family, common, origin, low, tail_place[i])
                    excess += tail_weight[i] * gap
        arms[BELOW, k] = below
        others = 0.0 if k == leader else 1.0
        fold_in(below, floor, others, panels, mass, big_f[k], survival, product, some, r[k])
        if arms[COUNT, k] > 1.0:
            more = arms[COUNT, k] - 1.0
            fold_equals(big_f[k, :end], survival[:end], more, product[:end], some[:end])
        if k == leader and low >= arms[CENTRE, k]:
            excess = difference(family, common, origin, low, arms[CENTRE, k])
            excess += inner(survival[:end], dx[:end])
        big_f[k, end:n] = 1.0
    total = 0.0
    for i in range(n):
        # int F_L (1 - prod_{k != L} F_k) dx
        excess += big_f[leader, i] * some[i] * dx[i]
        survival[i] = product[i] * dt[i]
    for k in range(active):
        end = panels_of[k] * NODES
        alpha[k] = inner(r[k, :end], survival[:end])
        total += arms[COUNT, k] * alpha[k]
    return excess, total


@kernel()
def _fill_moments(
    family: int,
    common: Floats,
    arms: Floats,
    k: int,
    origin: float,
    edges: Floats,
    place: Floats,
    panels: int,
    r: Floats,
    big_f: Floats,
    q: Floats,
    mass: Floats,
    c: Floats,
) -> None:
    """Compute C / F of arm k at the nodes: from the left below the mean, from the right above."""
    centre = arms[CENTRE, k]
    for x in range(panels * NODES):
        gap = difference(family, common, origin, centre, place[x])
        q[x] = gap * (r[k, x] * big_f[k, x])
    accumulate(q, edges, panels, mass, c)
    left = 0.0
    if edges[0] < centre:
        tail_place, tail_weight = lower_nodes(family, common, arms, k, origin, edges[0])
        for x in range(tail_place.size):
            left += tail_weight[x] * difference(family, common, origin, centre, tail_place[x])
    for p in range(panels):
        for x in range(p * NODES, (p + 1) * NODES):
            beyond = (c[x] - mass[p]) - mass[panels + p]  # (above the mean, masses are negative)
            moment = left + c[x] if edges[p] < centre else beyond
            c[x] = max(0.0, moment) / big_f[k, x]
        left += mass[p]


@kernel()
def _fill_variance(
    family: int,
    common: Floats,
    arms: Floats,
    active: int,
    origin: float,
    edges: Floats,
    place: Floats,
    dt: Floats,
    panels_of: Ints,
    r: Floats,
    big_f: Floats,
    product: Floats,
    alpha: Floats,
    total: float,
    v: Floats,
) -> None:
    """Compute v_i = sum_j alpha_j (M_ji - m_i)^2."""
    c = np.empty(place.size)
    mass = np.empty(2 * edges.size)
    q = np.empty(place.size)
    for i in range(active):
        n = panels_of[i] * NODES
        if has_moment_factor(family):
            for x in range(n):
                c[x] = moment_factor(family, common, arms, i, place[x]) * r[i, x]
        else:
            _fill_moments(
                family, common, arms, i, origin, edges, place, panels_of[i], r, big_f, q, mass, c
            )
        for x in range(n):
            c[x] *= product[x] * dt[x]
        own = 0.0
        v[i] = 0.0
        for j in range(active):
            number = arms[COUNT, j] - (1.0 if j == i else 0.0)
            if number > 0.0:
                w = inner(c[:n], r[j, :n])
                own += number * w
                v[i] += number * w * (w / max(alpha[j], TINY))
        v[i] += own * (own / max(alpha[i], TINY))
        v[i] /= total


@kernel()
def marginal_beliefs(
    family: int,
    common: Floats,
    parameters: Floats,
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
    """Fill the statistics, the spread and the defect; return the number of distinct posteriors."""
    # spread: the largest scale of an arm that can be best; defect: the error of sum(alpha) = 1;
    # if the number is above ``most``, the results are not complete
    trials, count, size = parameters.shape
    largest = 0
    # neglected probabilities add up over the arms
    reach = setting.reach + math.log(count)
    setting = Setting(reach, setting.panel, setting.change, setting.relief)
    group, first, place_of = np.empty((3, count), np.int64)
    for t in range(trials):
        distinct = group_rows(parameters[t], group, first)
        arms = np.empty((max(ROOM, PARAMETERS + 2 * size), distinct))
        leader = 0
        for d in range(distinct):
            arms[COUNT, d] = 0.0
            for i in range(size):
                arms[PARAMETERS + i, d] = parameters[t, first[d], i]
            set_mean(family, common, arms, d)
            leader = d if arms[MEAN, d] > arms[MEAN, leader] else leader
        best = arms[MEAN, leader]
        origin = origin_of(family, common, arms, leader)
        for k in range(count):
            arms[COUNT, group[k]] += 1.0
            delta[t, k] = best - arms[MEAN, group[k]]
        for d in range(distinct):
            set_arm(family, common, arms, d, origin, reach)
        low = find_start(family, common, arms, distinct, leader, origin, reach)
        active = 0
        lead = 0
        for d in range(distinct):
            place_of[d] = -1
            if d == leader or arms[END, d] > low:  # the others cannot be best
                lead = active if d == leader else lead
                for row in range(arms.shape[0]):
                    arms[row, active] = arms[row, d]
                place_of[d] = active
                active += 1
        largest = max(largest, active)
        if active > most:
            break
        some_alpha, some_h, some_v = np.zeros((3, active))
        spread[t] = 0.0
        for d in range(active):
            spread[t] = max(spread[t], arms[DEVIATION, d])
        regret = 0.0
        total = 1.0
        defect[t] = 0.0
        if active == 1 and arms[COUNT, 0] == 1.0:
            some_alpha[0] = 1.0
        else:
            before = np.inf
            scale = cut
            for step in range(REFINEMENTS):
                edges = divide(
                    family,
                    common,
                    arms,
                    active,
                    origin,
                    setting,
                    strict,
                    information,
                    low,
                    scale,
                )
                if edges.size == 0:  # too many panels
                    defect[t] = np.inf
                    break
                edges = divide_steep(family, common, arms, active, origin, setting, scale, edges)
                n = (edges.size - 1) * NODES
                place, dt, product = np.empty((3, n))
                r = np.empty((active, n))
                big_f = np.empty((active, n))
                panels_of = np.empty(active, np.int64)
                fill_places(edges, place, dt)
                count_panels_of(arms, active, edges, panels_of)
                regret, total = _integrate_marginals(
                    family,
                    common,
                    arms,
                    active,
                    lead,
                    origin,
                    setting,
                    strict,
                    edges,
                    place,
                    dt,
                    panels_of,
                    r,
                    big_f,
                    product,
                    some_alpha,
                )
                defect[t] = abs(total - 1.0)
                # (the last pass must fill h and v, unless it fails)
                enough = GOOD_ENOUGH if step < REFINEMENTS - 1 else ACCEPTED
                before = before if step < REFINEMENTS - 1 else 0.0
                good = defect[t] <= CONVERGED or 0.5 * before < defect[t] < enough
                if good and variance:
                    _fill_variance(
                        family,
                        common,
                        arms,
                        active,
                        origin,
                        edges,
                        place,
                        dt,
                        panels_of,
                        r,
                        big_f,
                        product,
                        some_alpha,
                        total,
                        some_v,
                    )
                if good and information:
                    off = fill_information(
                        family,
                        common,
                        arms,
                        active,
                        origin,
                        setting,
                        strict,
                        scale,
                        edges,
                        place,
                        dt,
                        panels_of,
                        r,
                        big_f,
                        product,
                        some_alpha,
                        total,
                        some_h,
                    )
                    defect[t] = max(defect[t], off)
                    good = defect[t] <= CONVERGED or 0.5 * before < defect[t] < enough
                if good:
                    break
                before = defect[t]
                scale *= 0.5
        rho[t] = best + regret
        for k in range(count):
            d = place_of[group[k]]
            alpha[t, k] = some_alpha[d] / total if d >= 0 else 0.0
            delta[t, k] += regret
            h[t, k] = some_h[d] if d >= 0 else 0.0
            v[t, k] = some_v[d] if d >= 0 else 0.0
    return largest
