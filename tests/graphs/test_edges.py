"""Tests of graphs/edges.py: graphs written as text, ``edges(1-2 2>3)``."""

from __future__ import annotations

from typing import Any

import numpy as np
from helpers.bad_input import refuses
from helpers.cases import each
from hypothesis import given
from hypothesis import strategies as st

from graphbandits.errors import InputError
from graphbandits.graphs import (
    DenseFeedback,
    SparseFeedback,
    UniformFeedback,
    as_process,
    edges_text,
    make_process,
)
from graphbandits.registry import build, text_of
from graphbandits.rng import Keys


def matrix_of_text(text: str, arms: int | None = None) -> list[list[float]]:
    process = make_process(text, arms)
    rows: list[list[float]] = process.round(1, Keys(0)).reach(np.arange(process.arms)).tolist()
    return rows


@each(
    ("text", "arms", "matrix"),
    [
        ("edges(1-2 2-3)", None, [[1, 1, 0], [1, 1, 1], [0, 1, 1]]),
        ("edges(1>2 3>1)", None, [[1, 1, 0], [0, 1, 0], [1, 0, 1]]),
        ("edges(1>2:0.5 2>1:0.25)", None, [[1, 0.5], [0.25, 1]]),
        ("edges(1-2:1e-05)", None, [[1, 1e-05], [1e-05, 1]]),
        ("edges(2)", None, [[1, 0], [0, 1]]),
        ("edges(1>2)", 3, [[1, 1, 0], [0, 1, 0], [0, 0, 1]]),
        ("edges(1-2, 3)", None, [[1, 1, 0], [1, 1, 0], [0, 0, 1]]),
        ("edges(1, 2)", None, [[1, 0], [0, 1]]),
        ("edges('1-2')", None, [[1, 1], [1, 1]]),
        ("edges(pairs='1>2 2>1')", None, [[1, 1], [1, 1]]),
        ("edges(1-2 2>1 1-2 1-1)", None, [[1, 1], [1, 1]]),
        ("edges(1>2:0)", None, [[1, 0], [0, 1]]),
    ],
)
def test_edges_text_is_parsed(text: str, arms: int | None, matrix: list[list[float]]) -> None:
    assert matrix_of_text(text, arms) == matrix


@each(
    "text",
    [
        "edges(1-2 2=3)",
        "edges(1-2-3)",
        "edges(0-1)",
        "edges(1-99999999999999999999999)",
        "edges(1>2:2)",
        "edges(1>2:50%)",
        "edges(1>2:{x})",
        "edges(1-1:0.5)",
        "edges(1-2 2>1:0.5)",
        "edges(0.5)",
        "edges('')",
        "edges",
    ],
)
def test_invalid_edges_text_is_rejected(text: str) -> None:
    with refuses(InputError):
        as_process(text)


def test_largest_arm_number() -> None:
    assert as_process("edges(1000000)").arms == 1_000_000
    with refuses(InputError, match="arm numbers must be from 1 to 1000000"):
        as_process("edges(1>1000001)")


def test_more_arms_than_requested_are_rejected() -> None:
    with refuses(InputError):
        as_process("edges(1-4)", 3)


def test_recipe_round_trips_through_text() -> None:
    recipe = build("graph", "edges(1-2 2>3:0.5)")
    assert build("graph", text_of(recipe)) == recipe


def feedbacks() -> st.SearchStrategy[np.ndarray[Any, Any]]:
    entry = st.sampled_from([0.0, 1.0]) | st.floats(0.0, 1.0)

    def square(arms: int) -> st.SearchStrategy[np.ndarray[Any, Any]]:
        rows = st.lists(entry, min_size=arms * arms, max_size=arms * arms)
        return rows.map(lambda values: with_loops(np.array(values).reshape(arms, arms)))

    return st.integers(1, 6).flatmap(square)


def with_loops(matrix: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    np.fill_diagonal(matrix, 1.0)
    return matrix


@given(feedbacks(), st.booleans())
def test_matrix_round_trips_through_text(matrix: np.ndarray[Any, Any], symmetric: bool) -> None:
    matrix = np.maximum(matrix, matrix.T) if symmetric else matrix
    text = edges_text(DenseFeedback(matrix))
    assert matrix_of_text(text, len(matrix)) == matrix.tolist()
    assert matrix_of_text(text) == matrix.tolist()  # it knows its number of arms, too
    assert ">" not in text or not symmetric


@each("r", [0.0, 1.0, 0.1, 1 / 3, 5e-324])
def test_random_feedback_round_trips_through_text(r: float) -> None:
    again = make_process(edges_text(UniformFeedback(r, 4)), 4).round(1, Keys(0))
    assert isinstance(again, UniformFeedback)
    assert again.r.tolist() == [r]


def test_each_trial_has_its_text() -> None:
    process = as_process("revealed-er(p=0.5, directed=true)", 6)
    feedback = process.round(3, Keys(4, trials=5))
    assert isinstance(feedback, DenseFeedback)
    for trial in range(5):
        text = edges_text(feedback, trial)
        assert matrix_of_text(text, 6) == feedback.matrix[trial].tolist()
    rates = as_process("random(r=uniform)", 3).round(2, Keys(4, trials=2))
    assert isinstance(rates, UniformFeedback)
    assert edges_text(rates, 1) == f"random(r={rates.r.tolist()[1]!r})"


def test_sparse_and_dense_feedback_have_equal_text() -> None:
    sparse = SparseFeedback.from_edges(5, [0, 1, 1, 3], [1, 0, 2, 1], [1.0, 1.0, 0.5, 0.25])
    assert edges_text(sparse) == edges_text(sparse.to_dense()) == "edges(1-2 2>3:0.5 4>2:0.25 5)"
