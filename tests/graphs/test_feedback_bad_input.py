"""Tests of graphs/feedback.py: invalid actions and numbers of trials are refused."""

from __future__ import annotations

import numpy as np
import pytest

from graphbandits.errors import GraphBanditsError
from graphbandits.graphs import Dense, Sparse, Uniform
from graphbandits.rng import Keys


@pytest.mark.parametrize(
    "graph", [Dense(np.stack([np.eye(2)] * 3)), Uniform([0.1, 0.2, 0.3], 2)], ids=["dense", "r"]
)
def test_wrong_number_of_trials_is_refused(graph) -> None:
    with pytest.raises(GraphBanditsError, match="trials"):
        graph.gain(np.ones((5, 2)))
    with pytest.raises(GraphBanditsError, match="each trial"):
        graph.reveal(np.zeros(5, int), Keys(1, 0, 5), 1)


def test_an_action_out_of_range_is_refused() -> None:
    for graph in (Dense(np.eye(2)), Uniform(0.5, 2), Sparse.from_edges(2, [0], [1])):
        for action in (99, -1):
            with pytest.raises(GraphBanditsError, match="from 0 to 1"):
                graph.reveal(np.array([action]), Keys(1), 1)
