"""Tests of graphs/feedback.py: invalid actions and numbers of trials are refused."""

from __future__ import annotations

import numpy as np
from helpers.bad_input import refuses
from helpers.cases import each

from graphbandits.errors import GraphBanditsError
from graphbandits.graphs import DenseFeedback, SparseFeedback, UniformFeedback
from graphbandits.rng import Keys


@each("graph", [DenseFeedback(np.stack([np.eye(2)] * 3)), UniformFeedback([0.1, 0.2, 0.3], 2)])
def test_wrong_number_of_trials_is_refused(graph) -> None:
    with refuses(GraphBanditsError, match="expected one row per trial of the graph and 2 columns"):
        graph.gain(np.ones((5, 2)))
    with refuses(
        GraphBanditsError,
        match=r"action must have one arm from 0 to 1 per trial, not \[0 0 0 0 0\]",
    ):
        graph.reveal(np.zeros(5, int), Keys(1, 0, 5), 1)


def test_an_action_out_of_range_is_refused() -> None:
    for graph in (
        DenseFeedback(np.eye(2)),
        UniformFeedback(0.5, 2),
        SparseFeedback.from_edges(2, [0], [1]),
    ):
        for action in (99, -1):
            with refuses(GraphBanditsError):
                graph.reveal(np.array([action]), Keys(1), 1)
