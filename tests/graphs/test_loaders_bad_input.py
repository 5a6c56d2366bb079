"""Tests of graphs/loaders.py: invalid matrices and graphs are refused."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import networkx
import numpy as np
from helpers.bad_input import refused
from helpers.cases import each

from graphbandits import Agent, as_process, simulate

NAN, INF = math.nan, math.inf


@each("form", [np.array, list])
@each(
    ("matrix", "words"),
    [
        ([[1.0, 1.0, 1.0], [1.0, 1.0, 1.0]], ["square", "(2, 3)"]),
        ([[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]], ["square", "(3, 2)"]),
        ([[1.0, 1.5], [0.0, 1.0]], ["[0, 1]", "1.5"]),
        ([[1.0, 0.0], [-0.25, 1.0]], ["[0, 1]", "-0.25"]),
        ([[1.0, NAN], [0.0, 1.0]], ["[0, 1]", "nan"]),
        ([[1.0, INF], [0.0, 1.0]], ["[0, 1]", "inf"]),
        ([[NAN, 0.0], [0.0, 1.0]], ["[0, 1]", "nan"]),
        ([[1.0, 0.0], [0.0, 0.5]], ["diagonal", "must be 1", "(1, 1)", "0.5"]),
        ([[0.0, 1.0], [1.0, 0.0]], ["diagonal", "must be 1", "(0, 0)", "0"]),
        ([[1.0, "often"], [0.0, 1.0]], ["[0, 1]"]),
        ([[1.0, 0.5j], [0.0, 1.0]], ["[0, 1]"]),
    ],
)
def test_invalid_matrices_are_refused(
    form: Callable[[Any], Any], matrix: list[list[Any]], words: list[str]
) -> None:
    given = form(matrix)
    message = refused(lambda: as_process(given), *words)
    assert refused(lambda: simulate("ts-n", graph=given, horizon=2, trials=2)) == message
    assert refused(lambda: Agent("ts-n", graph=given, seed=1)) == message


def test_the_entry_of_a_matrix_is_named_by_its_row_and_column() -> None:
    refused(lambda: as_process(np.array([[1.0, 1.5], [0.0, 1.0]])), "(0, 1)")


@each(
    ("given", "words"),
    [
        ([[1.0, 0.0], [0.0]], ["matrix", "rows"]),
        (np.ones(3), ["square", "(3,)"]),
        (np.ones((0, 0)), ["(0, 0)"]),
        (np.ones((2, 2, 2)), ["one K x K matrix", "2"]),
        (5, ["int", "matrix"]),
        (None, ["NoneType", "matrix"]),
        ([], ["list"]),
        ("sta", ["unknown graph 'sta'", "'star'"]),
        ("star(way=in)", ["no parameter 'way'", "direction"]),
        ([np.eye(2), np.eye(3)], ["2", "3", "arms"]),
        (networkx.Graph(), ["no nodes"]),
        (Path("no/such/file"), ["no/such/file", "No such file"]),
    ],
)
def test_invalid_graphs_are_refused(given: object, words: list[str]) -> None:
    refused(lambda: as_process(given), *words)
