"""Kernels for gains and observations; loops over trials, so results do not depend on blocks."""

from __future__ import annotations

import numpy as np

from graphbandits._jit import kernel
from graphbandits._rng_kernels import uniform
from graphbandits._types import Floats, Ints


@kernel()
def dense_gain(matrix: Floats, h: Floats, out: Floats) -> None:
    """Compute out[b, i] = sum_j G[b or 0, i, j] h[b, j]."""
    shared = matrix.shape[0] == 1
    for b in range(h.shape[0]):
        g = 0 if shared else b
        for i in range(h.shape[1]):
            s = 0.0
            for j in range(h.shape[1]):
                s += matrix[g, i, j] * h[b, j]
            out[b, i] = s


@kernel()
def sparse_gain(start: Ints, column: Ints, weight: Floats, h: Floats, out: Floats) -> None:
    """Compute G h for a CSR matrix that all trials share."""
    for b in range(h.shape[0]):
        row = h[b]
        for i in range(h.shape[1]):
            chance = weight[start[i] : start[i + 1]]
            neighbour = column[start[i] : start[i + 1]]
            s = 0.0
            for e in range(neighbour.size):
                s += chance[e] * row[neighbour[e]]
            out[b, i] = s


@kernel()
def uniform_gain(r: Floats, h: Floats, out: Floats) -> None:
    """Compute out = (1 - r) h + r sum(h), with one r for all trials or one per trial."""
    shared = r.size == 1
    for b in range(h.shape[0]):
        rate = r[0] if shared else r[b]
        total = 0.0
        for i in range(h.shape[1]):
            total += h[b, i]
        for i in range(h.shape[1]):
            out[b, i] = (1.0 - rate) * h[b, i] + rate * total


@kernel()
def _is_observed(p: float, key: np.uint64, trial: int, t: int, arm: int) -> bool:
    if p >= 1.0:
        return True
    return p > 0.0 and uniform(key, trial, t, arm) < p


@kernel()
def dense_reveal(
    matrix: Floats, action: Ints, key: np.uint64, first_trial: int, t: int, trial: Ints, arm: Ints
) -> int:
    """Write the observed (trial of the block, arm) pairs, ordered; return their number."""
    shared = matrix.shape[0] == 1
    count = 0
    for b in range(action.size):
        row = matrix[0 if shared else b, action[b]]
        for j in range(row.size):
            if _is_observed(row[j], key, first_trial + b, t, j):
                trial[count] = b
                arm[count] = j
                count += 1
    return count


@kernel()
def sparse_reveal(
    start: Ints,
    column: Ints,
    weight: Floats,
    action: Ints,
    key: np.uint64,
    first_trial: int,
    t: int,
    trial: Ints,
    arm: Ints,
) -> int:
    """Write the observed pairs for a CSR matrix; return their number."""
    count = 0
    for b in range(action.size):
        for e in range(start[action[b]], start[action[b] + 1]):
            if _is_observed(weight[e], key, first_trial + b, t, column[e]):
                trial[count] = b
                arm[count] = column[e]
                count += 1
    return count


@kernel()
def uniform_reveal(
    r: Floats,
    arms: int,
    action: Ints,
    key: np.uint64,
    first_trial: int,
    t: int,
    trial: Ints,
    arm: Ints,
) -> int:
    """Write the observed pairs if every other arm is observed with probability r."""
    shared = r.size == 1
    count = 0
    for b in range(action.size):
        rate = r[0] if shared else r[b]
        for j in range(arms):
            if j == action[b] or _is_observed(rate, key, first_trial + b, t, j):
                trial[count] = b
                arm[count] = j
                count += 1
    return count


@kernel()
def erdos_renyi(
    p: float, directed: bool, key: np.uint64, first_trial: int, t: int, out: Floats
) -> None:
    """Draw one 0/1 matrix per trial; edge (i, j) uses the random number with index i K + j."""
    arms = out.shape[1]
    for b in range(out.shape[0]):
        for i in range(arms):
            out[b, i, i] = 1.0
            for j in range(arms):
                if i < j or (directed and i != j):
                    seen = uniform(key, first_trial + b, t, i * arms + j) < p
                    out[b, i, j] = 1.0 if seen else 0.0
                    if not directed:
                        out[b, j, i] = out[b, i, j]


@kernel()
def dense_observed(matrix: Floats, pi: Floats, out: Floats) -> None:
    """Compute out[b, j] = sum_i pi[b, i] G[b or 0, i, j]."""
    shared = matrix.shape[0] == 1
    for b in range(pi.shape[0]):
        g = 0 if shared else b
        out[b, :] = 0.0
        for i in range(pi.shape[1]):
            for j in range(pi.shape[1]):
                out[b, j] += pi[b, i] * matrix[g, i, j]


@kernel()
def sparse_observed(start: Ints, column: Ints, weight: Floats, pi: Floats, out: Floats) -> None:
    """Compute G'pi for a CSR matrix that all trials share."""
    for b in range(pi.shape[0]):
        out[b, :] = 0.0
        for i in range(pi.shape[1]):
            for e in range(start[i], start[i + 1]):
                out[b, column[e]] += pi[b, i] * weight[e]


@kernel()
def uniform_observed(r: Floats, pi: Floats, out: Floats) -> None:
    """Compute out = pi + (1 - pi) r: an arm is played, or observed with probability r."""
    shared = r.size == 1
    for b in range(pi.shape[0]):
        rate = r[0] if shared else r[b]
        for i in range(pi.shape[1]):
            out[b, i] = pi[b, i] + (1.0 - pi[b, i]) * rate


@kernel()
def dense_in_neighbours(matrix: Floats, first: Floats, score: Floats, pi: Floats) -> None:
    """Move ``first`` of each arm to its in-neighbours of largest score, in equal shares.

    Entries above 0 are edges.
    """
    shared = matrix.shape[0] == 1
    for b in range(first.shape[0]):
        g = 0 if shared else b
        pi[b, :] = 0.0
        for i in range(first.shape[1]):
            if first[b, i] == 0.0:
                continue
            best = -np.inf
            ties = 0
            for j in range(first.shape[1]):
                if matrix[g, j, i] > 0.0:
                    if score[b, j] > best:
                        best = score[b, j]
                        ties = 0
                    if score[b, j] == best:
                        ties += 1
            for j in range(first.shape[1]):
                if matrix[g, j, i] > 0.0 and score[b, j] == best:
                    pi[b, j] += first[b, i] / ties


@kernel()
def sparse_in_neighbours(
    start: Ints, column: Ints, weight: Floats, first: Floats, score: Floats, pi: Floats
) -> None:
    """Compute :func:`dense_in_neighbours` for a CSR matrix, in two passes over the edges."""
    arms = first.shape[1]
    best = np.empty(arms)
    ties = np.empty(arms, np.int64)
    for b in range(first.shape[0]):
        best[:] = -np.inf
        for j in range(arms):
            for e in range(start[j], start[j + 1]):
                i = column[e]
                if weight[e] > 0.0:
                    if score[b, j] > best[i]:
                        best[i] = score[b, j]
                        ties[i] = 0
                    if score[b, j] == best[i]:
                        ties[i] += 1
        for j in range(arms):
            pi[b, j] = 0.0
            for e in range(start[j], start[j + 1]):
                i = column[e]
                if weight[e] > 0.0 and score[b, j] == best[i]:
                    pi[b, j] += first[b, i] / ties[i]
