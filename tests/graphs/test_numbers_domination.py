"""Tests of graphs/numbers.py."""

from __future__ import annotations

import numpy as np
from helpers.graph_number_oracles import random_matrix
from scipy.sparse import csr_array

from graphbandits.graphs._independence import Budget
from graphbandits.graphs.numbers import DominationProblem


class EndsAfterOneCheck(Budget):
    """A budget that ends between the check of a round and its first step."""

    left = 1

    @property
    def exhausted(self) -> bool:
        self.left -= 1
        return self.left < 0


def test_budget_that_ends_between_checks_leaves_valid_weights() -> None:
    edges = random_matrix(np.random.default_rng(11), 400, 0.02) > 0
    graph = DominationProblem(csr_array(edges.astype(np.int8)))
    z, y = graph.primal_dual(EndsAfterOneCheck(), lambda *_: None)
    assert graph.sums(z, graph.incoming).min() >= 1.0 - 1e-12
    assert graph.sums(y, graph.outgoing).max() <= 1.0 + 1e-12
