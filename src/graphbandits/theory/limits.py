"""How large the information ratio of one round can be."""

from __future__ import annotations

import numpy as np

from graphbandits.graphs import Feedback, Uniform
from graphbandits.graphs.invariants import clique_cover_numbers
from graphbandits.theory.bounds import rate_limit
from graphbandits.types import Floats


def ratio_limit(graph: Feedback) -> Floats:
    """What psi_t = (alpha.Delta)^2 / (alpha.Gh) cannot exceed on this graph, one number a trial.

    chi(G)/2 for a graph of entries 0 and 1 (the proof of Theorem 2), K / (2 (K r + 1 - r)) where
    every other arm is seen with probability r (Theorem 3), and K/2 for any other matrix of
    probabilities (Lemma 2). Liu, Buccapatnam and Shroff (2018). One number where all trials share
    the graph.

    >>> from graphbandits.graphs import as_process
    >>> ratio_limit(as_process("paper").feedback), ratio_limit(Uniform(0.25, count=5))
    (array([1.]), array([1.25]))
    """
    if isinstance(graph, Uniform):
        return rate_limit(graph.arms, graph.r)
    if graph.deterministic:
        return clique_cover_numbers(graph) / 2.0
    return np.array([graph.arms / 2.0])
