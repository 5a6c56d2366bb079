"""To see an arm, play one that reveals it: the best of these."""

from __future__ import annotations

import numpy as np

from graphbandits.graphs import feedback_kernels as kernels
from graphbandits.graphs.feedback import Dense, Feedback, Sparse, Uniform
from graphbandits.types import Floats


def best_revealers(graph: Feedback, first: Floats, score: Floats) -> Floats:
    """Pass the probability of each arm on to the arms of largest score that reveal it, evenly.

    pi_j = sum_i first_i 1{j in argmax over {k: G(k, i) = 1} of score_k} / (how many there are),
    for a 0/1 graph. On an undirected graph the arms that reveal i are i and its neighbours.

    >>> import numpy as np
    >>> star = Dense(np.array([[1.0, 1.0, 1.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]))
    >>> best_revealers(star, np.array([[0.0, 1.0, 0.0]]), np.array([[0.7, 0.4, 0.9]]))
    array([[1., 0., 0.]])
    """
    pi = np.empty_like(first)
    if isinstance(graph, Sparse):
        kernels.sparse_revealers(graph.start, graph.column, graph.weight, first, score, pi)
        return pi
    if isinstance(graph, Uniform):  # never a matrix: all reveal all, or each itself
        top = (score == score.max(axis=1, keepdims=True)).astype(np.float64)
        return np.where(graph.r[:, None] > 0.0, top / top.sum(axis=1, keepdims=True), first)
    kernels.dense_revealers(matrices(graph, len(first)), first, score, pi)
    return pi


def matrices(graph: Feedback, trials: int) -> Floats:
    """G as a matrix for all trials (1, K, K), or one for each (B, K, K).

    >>> from graphbandits.graphs import Uniform
    >>> matrices(Uniform(0.5, 2), trials=7)
    array([[[1. , 0.5],
            [0.5, 1. ]]])
    """
    if isinstance(graph, Dense):
        return graph.matrix
    if graph.shared:
        return graph.reach(np.arange(graph.arms))[None]
    rows = [graph.reach(np.full(trials, arm)) for arm in range(graph.arms)]
    return np.stack(rows, axis=1)
