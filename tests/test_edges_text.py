"""A graph written as its edges: read, written, refused."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphbandits.errors import InputError
from graphbandits.experiments import load_experiment
from graphbandits.graphs import (
    Dense,
    Fixed,
    Sparse,
    Uniform,
    as_process,
    edges_text,
    make_process,
)
from graphbandits.registry import build, text_of
from graphbandits.rng import Keys


def matrix_of(text: str, arms: int | None = None) -> list[list[float]]:
    process = make_process(text, arms)
    rows: list[list[float]] = process.round(1, Keys(0)).reach(np.arange(process.arms)).tolist()
    return rows


@pytest.mark.parametrize(
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
def test_edges_as_people_write_them(text: str, arms: int | None, matrix: list[list[float]]) -> None:
    assert matrix_of(text, arms) == matrix


def test_the_papers_graph_by_its_edges() -> None:
    assert matrix_of("edges(1-2 1-3 2-3 3-4 3-5 4-5)") == matrix_of("paper")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("edges(1-2 2=3)", "cannot read"),
        ("edges(1-2 x)", "cannot read 'x' in '1-2 x': 1-2 joins two arms both ways, 1>2 one way"),
        ("edges(1-2-3)", "cannot read '1-2-3'"),
        ("edges(0-1)", "'0-1': arms are numbered from 1 to 1000000"),
        ("edges(1-99999999999999999999999)", "arms are numbered from 1 to 1000000"),
        ("edges(1>2:2)", "'1>2:2': a probability is a number in [0, 1], not '2'"),
        ("edges(1>2:nan)", "a probability is a number in [0, 1], not 'nan'"),
        ("edges(1>2:50%)", "not '50%'; write 0.5"),
        ("edges(1-1:0.5)", "the arm that is played is always observed"),
        ("edges(1-2 2>1:0.5)", "the edge 2>1 was given before with 1.0, and now with 0.5"),
        ("edges(0.5)", "cannot read 0.5"),
        ("edges(true)", "cannot read True"),
        ("edges('')", "cannot read ''"),
        ("edges()", "needs pairs: write edges(pairs=...)"),
        ("edges", "needs pairs"),
    ],
)
def test_what_is_no_list_of_edges_is_refused(text: str, message: str) -> None:
    with pytest.raises(InputError, match=re.escape(message)):
        as_process(text)


def test_more_arms_named_than_asked_for_is_refused() -> None:
    with pytest.raises(InputError, match="has 4 arms, but 3 were asked for"):
        as_process("edges(1-4)", 3)


def test_one_parameter_needs_no_key_and_several_do() -> None:
    assert build("graph", "cliques(3)") == build("graph", "cliques(size=3)")
    assert build("graph", "star(out)") == build("graph", "star(direction=out)")
    with pytest.raises(InputError, match=r"random\(0.5\)': write key=value: it has r, low, high"):
        build("graph", "random(0.5)")
    with pytest.raises(InputError, match=r"empty\(3\)': write key=value: it takes none"):
        build("graph", "empty(3)")


def test_the_recipes_own_text_makes_it_again() -> None:
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
def test_every_matrix_comes_back_from_its_text(
    matrix: np.ndarray[Any, Any], symmetric: bool
) -> None:
    matrix = np.maximum(matrix, matrix.T) if symmetric else matrix
    text = edges_text(Dense(matrix))
    assert matrix_of(text, len(matrix)) == matrix.tolist()
    assert matrix_of(text) == matrix.tolist()  # it knows its number of arms, too
    assert ">" not in text or not symmetric


@pytest.mark.parametrize("r", [0.0, 1.0, 0.1, 1 / 3, 5e-324])
def test_random_feedback_comes_back_from_its_text(r: float) -> None:
    again = make_process(edges_text(Uniform(r, 4)), 4).round(1, Keys(0))
    assert isinstance(again, Uniform)
    assert again.r.tolist() == [r]


def test_each_trial_has_its_own_text() -> None:
    process = as_process("revealed-er(p=0.5, directed=true)", 6)
    feedback = process.round(3, Keys(4, trials=5))
    assert isinstance(feedback, Dense)
    for trial in range(5):
        text = edges_text(feedback, trial)
        assert matrix_of(text, 6) == feedback.matrix[trial].tolist()
    rates = as_process("random(r=uniform)", 3).round(2, Keys(4, trials=2))
    assert isinstance(rates, Uniform)
    assert edges_text(rates, 1) == f"random(r={rates.r.tolist()[1]!r})"


def test_lists_of_neighbours_have_the_same_text_as_their_matrix() -> None:
    sparse = Sparse.from_edges(5, [0, 1, 1, 3], [1, 0, 2, 1], [1.0, 1.0, 0.5, 0.25])
    assert edges_text(sparse) == edges_text(sparse.to_dense()) == "edges(1-2 2>3:0.5 4>2:0.25 5)"


def test_a_large_graph_by_its_edges_is_kept_as_lists() -> None:
    process = as_process("edges(1>300)")
    assert isinstance(process, Fixed)
    assert isinstance(process.feedback, Sparse)
    assert edges_text(process.feedback) == "edges(1>300)"


def graphbandits(*arguments: str) -> Any:
    done = subprocess.run(
        [sys.executable, "-m", "graphbandits", *arguments],
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_the_commands_know_them() -> None:
    betas = ["--beta", "1,2", "--beta", "4,4", "--beta", "12,9"]
    shown = graphbandits("inspect", *betas, "--graph", "edges(1-2 1-3)", "--json")
    assert shown == graphbandits("inspect", *betas, "--graph", "star", "--json")
    settings = ["--policy", "ids-n", "--horizon", "20", "--trials", "5", "--json", "--workers", "1"]
    given = graphbandits("simulate", *settings, "--graph", "edges(1-2 1-3 2-3 3-4 3-5 4-5)")
    paper = graphbandits("simulate", *settings, "--graph", "paper")
    assert given["policies"] == paper["policies"]


def test_an_experiment_file_may_have_them(tmp_path: Any) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(
        'title = "mine"\ngraph = "edges(1-2 2>3:0.5)"\narms = 4\nhorizon = 10\ntrials = 3\n'
        'policies = ["ts-n"]\n'
    )
    assert load_experiment(str(file)).graph == "edges(1-2 2>3:0.5)"
