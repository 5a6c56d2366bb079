"""Tests of graphs/processes.py: edges, degrees and direction of a graph."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from helpers.cases import each

from graphbandits.graphs import DenseFeedback, SparseFeedback, UniformFeedback, as_process
from graphbandits.graphs.feedback import Feedback
from graphbandits.graphs.processes import Shape


def matrix_of(feedback: Feedback) -> Any:
    return feedback.reach(np.arange(feedback.arms))


@each("arms", [30, 250])
def test_shapes_do_not_depend_on_the_representation(arms: int) -> None:
    sparse = as_process("edges(1-2 2>3:0.5 4-5 7>1)", arms).feedback
    assert isinstance(sparse, SparseFeedback) == (arms > 100)
    one, other = Shape.of(sparse), Shape.of(DenseFeedback(matrix_of(sparse)))
    assert (one.edges, one.directed, one.components) == (6, True, arms - 4)
    assert (one.edges, one.directed, one.components, one.density) == (
        other.edges,
        other.directed,
        other.components,
        other.density,
    )
    assert (one.out_degree == other.out_degree).all()
    assert (one.in_degree == other.in_degree).all()


@each("r", [0.0, 0.3, 1.0])
@each("arms", [1, 4])
def test_random_feedback_has_the_shape_of_its_matrix(r: float, arms: int) -> None:
    one, other = (
        Shape.of(UniformFeedback(r, arms)),
        Shape.of(DenseFeedback(matrix_of(UniformFeedback(r, arms)))),
    )
    assert (one.edges, one.directed, one.components) == (
        other.edges,
        other.directed,
        other.components,
    )
    assert one.density == pytest.approx(other.density)
    assert one.out_degree == pytest.approx(other.out_degree)
    assert one.in_degree == pytest.approx(other.in_degree)


def test_equal_weights_both_ways_make_a_graph_undirected() -> None:
    assert not Shape.of(as_process("edges(1-2:0.5)").feedback).directed
    shape = Shape.of(as_process("edges(1>2:0.5 2>1:0.25)").feedback)
    assert shape.directed
    assert (shape.edges, shape.density) == (2, 0.375)
