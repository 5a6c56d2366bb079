"""The sums of the test in :mod:`graphbandits.live.evidence`, outcome by outcome."""

from __future__ import annotations

import math

import numpy as np

from graphbandits._jit import kernel
from graphbandits._types import Floats, Ints

#: Number of outcomes after which a switch becomes less probable with each further outcome.
PATIENCE = 20.0
#: Largest logarithm of a ratio in the running total, far above any threshold.
MOST = 600.0


@kernel()
def states_before(
    row: Ints,
    added: Floats,
    steps: Floats,
    rest: Floats,
    kept: Floats,
    state: Floats,
    before: Floats,
) -> None:
    """Move the states (rows, M, d) over outcomes; ``before`` has the states that predict each.

    First the M models keep ``kept ** steps`` of what they have learned, beyond ``rest``.
    """
    for i in range(row.size):
        k = row[i]
        for m in range(state.shape[1]):
            part = 1.0 if kept[m] == 1.0 else kept[m] ** steps[i]
            for j in range(state.shape[2]):
                old = state[k, m, j]
                if part < 1.0:
                    old = rest[k, m, j] + part * (old - rest[k, m, j])
                before[i, m, j] = old
                state[k, m, j] = old + added[i, j]


@kernel()
def _log_add(x: float, y: float) -> float:
    high = max(x, y)
    return high + math.log1p(math.exp(min(x, y) - high))


@kernel()
def log_unswitched(count: float, start: float) -> float:
    return math.log((1.0 - start) / (1.0 + math.log1p(count / PATIENCE)))


@kernel()
def _observe(
    k: int,
    ratio: Floats,
    start: float,
    count: Ints,
    switched: Floats,
    highest: Floats,
    kind: Ints,
) -> float:
    """Add one outcome to a row; return the log of its evidence."""
    models, t = ratio.size, float(count[k])
    left, now = 1.0 + np.log1p(t / PATIENCE), 1.0 + np.log1p((t + 1.0) / PATIENCE)
    leaves = (1.0 - start) * np.log1p(1.0 / (PATIENCE + t)) / (left * now)
    # the probability that the switch is just before this outcome, to each model but the first
    leaving = np.log(leaves / (models - 1))
    count[k] += 1
    found = log_unswitched(t + 1.0, start)
    best = 0
    for m in range(models):
        if m > 0:
            switched[k, m] = _log_add(switched[k, m], leaving)
        switched[k, m] += ratio[m]
        found = _log_add(found, switched[k, m])
        if switched[k, m] > switched[k, best]:
            best = m
    if found > highest[k]:
        highest[k], kind[k] = found, best
    return found


@kernel()
def add_evidence(
    row: Ints,
    ratio: Floats,
    start: float,
    share: Floats,
    count: Ints,
    switched: Floats,
    log_evidence: Floats,
    highest: Floats,
    kind: Ints,
    total: Floats,
) -> int:
    """Add outcomes with the log ratios (n, M); row 0 is that of all arms together.

    ``share`` has the log of the share of each row in the total. Return the index of the outcome
    with the highest total so far, -1 if an earlier batch has it.
    """
    found = -1
    for i in range(row.size):
        for k in (row[i], 0):
            # after a fall from E the sum has an error of E 1e-16, which the highest total exceeds
            total[0] -= np.exp(min(share[k] + log_evidence[k], MOST))
            log_evidence[k] = _observe(k, ratio[i], start, count, switched, highest, kind)
            total[0] += np.exp(min(share[k] + log_evidence[k], MOST))
        if total[0] > total[1]:
            total[1], found = total[0], i
    return found
