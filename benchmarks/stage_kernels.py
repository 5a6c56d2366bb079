"""The statistics of many posteriors up to a stage, so that differences of times show each stage.

It calls the kernels of the library in the order of ``beliefs_kernel``, without cutting panels
again, and stops early.
"""

from __future__ import annotations

import math

import numpy as np

from graphbandits._jit import kernel
from graphbandits._types import Floats
from graphbandits.posteriors._beta_kernels import (
    JOINT,
    LEADER_F,
    NODE_TABLE,
    PANELS,
    SOME,
    SURVIVAL,
    _integrate,
)
from graphbandits.posteriors._distribution_kernels import accumulate, fill_density
from graphbandits.posteriors._group_kernels import group_arms
from graphbandits.posteriors._pair_kernels import AT_ONCE, FEW_DISTINCT, fill_gains
from graphbandits.posteriors._panel_kernels import (
    NODE_ROWS,
    NODES,
    count_panels,
    fill_nodes,
    find_low,
    place_panels,
)
from graphbandits.posteriors._shape_kernels import (
    CENTRE,
    COUNT,
    END,
    LANES,
    ROWS,
    A,
    B,
    Setting,
    pad,
    set_places,
    set_shapes,
)

#: What is done up to each stage, in order; "alpha" folds all arms in and integrates.
STAGES = (
    "groups",
    "shapes",
    "stretch",
    "panels",
    "nodes",
    "densities",
    "running sums",
    "alpha",
    "h",
)
#: Panels that are enough for posteriors of a simulated trial.
ROOM = 16 * PANELS


@kernel()
def statistics_until(a: Floats, b: Floats, setting: Setting, stage: int, room: int) -> float:
    """Do the stages up to number ``stage`` for each row of a and b; ``room`` panels are enough."""
    trials, count = a.shape
    setting = Setting(
        setting.reach + math.log(count), setting.panel, setting.change, setting.relief
    )
    group = np.empty(count, np.int64)
    first = np.empty(count, np.int64)
    edges = np.empty(room + 1)
    line = np.empty((NODE_TABLE + NODE_ROWS, room * NODES))
    r = np.empty((count, room * NODES))
    few = np.empty((FEW_DISTINCT, FEW_DISTINCT))
    every = np.empty((ROWS, count + LANES))
    arms = np.empty((ROWS, count + LANES))
    panels_of = np.empty(count, np.int64)
    work = np.empty((10, 2 * (count + 2 * LANES) + 2 * AT_ONCE))
    done = 0.0
    for t in range(trials):
        distinct = group_arms(a[t], b[t], group, first)
        for d in range(distinct):
            every[A, d] = a[t, first[d]]
            every[B, d] = b[t, first[d]]
            every[COUNT, d] = 0.0
        for k in range(count):
            every[COUNT, group[k]] += 1.0
        if stage == 0:
            continue
        padded = set_shapes(every, distinct, setting.reach)
        leader = 0
        for d in range(distinct):
            leader = d if every[CENTRE, d] > every[CENTRE, leader] else leader
        if stage == 1:
            continue
        low = find_low(every, padded, setting, leader, work)
        if stage == 2:
            done += low
            continue
        active = 0
        lead = 0
        for d in range(distinct):
            if d == leader or every[END, d] > low:
                lead = active if d == leader else lead
                for row in range(ROWS):
                    arms[row, active] = every[row, d]
                active += 1
        if active == 1 and arms[COUNT, 0] == 1.0:
            continue
        padded = pad(arms, active)
        set_places(arms, padded, arms[CENTRE, lead], low)
        panels = place_panels(arms, padded, setting, low, 1.0, edges, work)
        count_panels(arms, active, edges, panels, panels_of)
        if stage == 3:
            continue
        n = panels * NODES
        nodes = line[NODE_TABLE:]
        if stage < 7:
            fill_nodes(arms, lead, edges, panels, nodes)
            if stage == 4:
                continue
            for k in range(active):
                fill_density(arms, k, lead, nodes, panels_of[k] * NODES, r[k, :n])
                if stage == 6:
                    done += accumulate(r[k], edges, panels_of[k], line[SURVIVAL], line[LEADER_F])
            continue
        alpha = work[7]
        _integrate(arms, active, lead, setting, False, panels, edges, panels_of, line, r, alpha)
        if stage == 7:
            continue
        fill_gains(
            arms,
            active,
            panels_of,
            r,
            line[JOINT],
            alpha,
            line[SOME],
            line[SURVIVAL],
            few,
            work,
            work[8],
            work[9, :0],
        )
    return done
