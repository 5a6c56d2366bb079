"""Tests of catalogue.py: new experiment files, and descriptions of graphs."""

from __future__ import annotations

import json
import math
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import networkx
import numpy as np
import pytest
from helpers.cases import each
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from graphbandits.cli import app
from graphbandits.graphs import DenseFeedback, as_process, edges_text
from graphbandits.graphs.feedback import Feedback
from graphbandits.registry import registered
from graphbandits.rng import Keys
from graphbandits.study.experiment import TABLES, Experiment, keys_of, load_experiment

RUNNER = CliRunner(env={"COLUMNS": "80"})


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def started(place: Path) -> str:
    result = RUNNER.invoke(app, ["new", "experiment", "my-study"])
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout.splitlines() == [
        "Wrote my-study.toml. Next:",
        "  graphbandits run my-study.toml --dry-run",
        "  graphbandits run my-study.toml",
    ]
    return (place / "my-study.toml").read_text("utf-8")


def blocks(text: str) -> Iterator[tuple[int, int]]:
    """First and last line of each disabled option: lines with # and no space after it."""
    lines = text.splitlines()
    off = [re.match(r"#\S", line) is not None for line in lines] + [False]
    start = None
    for number, here in enumerate(off):
        if here and start is None:
            start = number
        if not here and start is not None:
            yield start, number
            start = None


def switched_on(text: str, start: int, end: int) -> str:
    lines = text.splitlines()
    lines[start:end] = [line.removeprefix("#") for line in lines[start:end]]
    return "\n".join(lines)


def test_new_experiment_file_runs_unchanged_and_is_small(place: Path, started: str) -> None:
    (plan,) = load_experiment("my-study.toml").plans()
    assert plan.decisions <= 10**5
    result = RUNNER.invoke(app, ["run", "my-study.toml", "--trials=3", "--workers=1"])
    assert result.exit_code == 0, result.stderr
    assert (place / "my-study" / "report.html").is_file()


def test_every_option_of_a_new_experiment_file_can_be_enabled(place: Path, started: str) -> None:
    found = list(blocks(started))
    assert len(found) > 15
    plain = load_experiment("my-study.toml").model_dump()
    for start, end in found:
        text = switched_on(started, start, end)
        assert text != started
        (place / "on.toml").write_text(text, "utf-8")
        experiment = load_experiment("on.toml")
        assert experiment.plans(), text
        given = tomllib.loads(text).keys() - tomllib.loads(started).keys()
        assert given, "a block has no key"
        changed = {key for key, value in experiment.model_dump().items() if value != plain[key]}
        assert changed <= given


def test_new_experiment_file_shows_every_key_of_every_table(started: str) -> None:
    shown: dict[str, set[str]] = {name: set() for name in ("", *TABLES)}
    for text in (started, *(switched_on(started, *block) for block in blocks(started))):
        for key, value in tomllib.loads(text).items():
            shown[""].add(key)
            for table in value if isinstance(value, list) else [value]:
                if key in TABLES:
                    shown[key] |= set(table)
    assert shown[""] == set(keys_of(Experiment))
    for name, table in TABLES.items():
        assert shown[name] == set(keys_of(table)), name


@each(
    ("words", "message"),
    [
        (["a b"], "'a b': use letters, digits, '.', '+', '-' and '_', as in a-b\n"),
        (["../up"], "as in up\n"),
        (["///"], "as in my-study\n"),
        (["paper-1a"], "Error: the experiment 'paper-1a' already exists: choose another name"),
        (["here"], "Error: here.toml already exists: choose another file with --output"),
        (["--output", "here.toml"], "Error: here.toml already exists"),
        (["--output", "no/where.toml"], "Error: cannot write no/where.toml"),
    ],
)
def test_invalid_names_of_new_experiments_are_refused(
    place: Path, words: list[str], message: str
) -> None:
    (place / "here.toml").write_text("mine")
    result = RUNNER.invoke(app, ["new", "experiment", *words])
    assert (result.exit_code, result.stdout) == (2, "")
    assert message in result.stderr
    assert len(result.stderr.splitlines()) == 1
    assert [path.name for path in place.iterdir()] == ["here.toml"]
    assert (place / "here.toml").read_text() == "mine"


WIDE = CliRunner(env={"COLUMNS": "400"})
KEYS = (
    "graph arms names edges directed density degrees components note clique_cover independence "
    "domination fractional_domination fractional_domination_lower horizon bounds"
)


def run(*args: object) -> str:
    result = WIDE.invoke(app, ["graph", *map(str, args)])
    assert result.exit_code == 0, result.stderr
    assert result.stderr == ""
    return result.stdout


def answer(*args: object) -> Any:
    return json.loads(run(*args, "--json"))


def matrix_of(feedback: Feedback) -> Any:
    return feedback.reach(np.arange(feedback.arms))


def check_certificates(found: dict[str, Any], matrix: Any) -> None:
    """Verify the description of a graph by its matrix."""
    index = {name: arm for arm, name in enumerate(found["names"])}
    cover, independent, dominating = (
        found[key] for key in ("clique_cover", "independence", "domination")
    )
    for number in (cover, independent, dominating):
        assert 1 <= number["lower"] <= number["upper"] <= found["arms"]
        assert number["proved"] == (number["lower"] == number["upper"])
    cliques = [[index[name] for name in clique] for clique in cover["certificate"]]
    assert sorted(arm for clique in cliques for arm in clique) == list(range(found["arms"]))
    assert all(matrix[np.ix_(clique, clique)].all() for clique in cliques)
    assert len(cliques) == cover["upper"]
    apart = [index[name] for name in independent["certificate"]]
    assert matrix[np.ix_(apart, apart)].sum() == len(apart) == independent["lower"]
    seen = [index[name] for name in dominating["certificate"]]
    assert matrix[seen].any(axis=0).all()
    assert len(seen) == dominating["upper"]
    fractional = {
        "lower": found["fractional_domination_lower"],
        "upper": found["fractional_domination"],
    }
    pairs = [(independent, cover), (fractional, dominating)]
    if not found["directed"]:
        pairs.append((dominating, independent))
    for small, large in pairs:
        assert small["lower"] <= large["lower"] + 1e-6
        assert small["upper"] <= large["upper"] + 1e-6


def test_description_of_the_graph_of_the_paper() -> None:
    found = answer("paper", "--horizon", 500)
    assert list(found) == KEYS.split()
    assert found["graph"] == "paper"
    assert found["names"] == ["1", "2", "3", "4", "5"]
    assert (found["arms"], found["edges"], found["directed"], found["components"]) == (5, 6, 0, 1)
    assert found["density"] == pytest.approx(0.6)
    spread = {"min": 2.0, "mean": 2.4, "max": 4.0}
    assert found["degrees"] == {"out": spread, "in": spread}
    assert (found["clique_cover"]["upper"], found["domination"]["certificate"]) == (2, ["3"])
    assert (found["independence"]["lower"], found["fractional_domination"]) == (2, 1.0)
    assert found["note"] is None
    first, second = found["bounds"]
    assert (first["name"], first["policies"]) == ("Theorem 1", ["ids-lp"])
    assert first["value"] == pytest.approx(math.sqrt(5 / 2 * 500 * math.log(5)))
    assert second["name"] == "Corollary 1"
    assert second["value"] == pytest.approx(math.sqrt(2 / 2 * 500 * math.log(5)))
    assert set(first["policies"] + second["policies"]) <= set(registered("policy"))
    check_certificates(found, matrix_of(as_process("paper").feedback))


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 8), st.floats(0.0, 1.0), st.booleans(), st.integers(0, 2**32))
def test_description_of_any_graph_is_verified(
    arms: int, density: float, directed: bool, seed: int
) -> None:
    matrix = (np.random.default_rng(seed).random((arms, arms)) < density).astype(float)
    matrix = matrix if directed else np.triu(matrix) + np.triu(matrix, 1).T
    np.fill_diagonal(matrix, 1.0)
    found = answer(edges_text(DenseFeedback(matrix)))
    check_certificates(found, matrix)
    others = matrix - np.eye(arms)
    assert found["directed"] == (others != others.T).any()
    pairs = arms * (arms - 1) / (1 if found["directed"] else 2)
    assert found["edges"] == others.sum() / (1 if found["directed"] else 2)
    assert found["density"] == pytest.approx(found["edges"] / pairs if pairs else 0.0)
    for way, degrees in (("out", others.sum(axis=1)), ("in", others.sum(axis=0))):
        assert found["degrees"][way]["min"] == degrees.min()
        assert found["degrees"][way]["max"] == degrees.max()
        assert found["degrees"][way]["mean"] == pytest.approx(degrees.mean())
    limit = found["clique_cover"]["upper"] / 2 * 1000 * math.log(arms)
    assert found["bounds"][1]["value"] == pytest.approx(math.sqrt(limit))


@each("seed", range(3))
def test_numbers_of_a_network_agree_under_a_short_time_limit(seed: int, tmp_path: Path) -> None:
    graph = networkx.powerlaw_cluster_graph(900, 6, 0.8, seed=seed)
    file = tmp_path / "friends.txt"
    file.write_text("# Undirected graph\n" + "\n".join(f"{i} {j}" for i, j in graph.edges))
    found = answer(f"file:{file}", "--time-limit", 0.02)
    index = [int(name) for name in found["names"]]
    matrix = networkx.to_numpy_array(graph, nodelist=index) + np.eye(900)
    check_certificates(found, matrix)


def test_a_directed_star_has_degrees_of_both_kinds() -> None:
    found = answer("star(out)", "--arms", 4)
    assert (found["edges"], found["directed"], found["density"]) == (3, True, 0.25)
    assert found["degrees"]["out"] == {"min": 0.0, "mean": 0.75, "max": 3.0}
    assert found["degrees"]["in"] == {"min": 0.0, "mean": 0.75, "max": 1.0}
    assert "out 0 to 3, 0.75 on average; in 0 to 1" in run("star(out)", "--arms", 4)


def test_random_feedback_has_a_bound_and_no_cliques() -> None:
    found = answer("random(r=0.25)", "--arms", 6)
    for key in ("clique_cover", "independence", "domination", "fractional_domination"):
        assert found[key] is None
    assert "every other arm is observed with probability 0.25" in found["note"]
    assert found["degrees"]["out"]["mean"] == pytest.approx(1.25)
    name, value = found["bounds"][1]["name"], found["bounds"][1]["value"]
    limit = 6 / (2 * (6 * 0.25 + 0.75))
    assert (name, value) == ("Corollary 2", pytest.approx(math.sqrt(limit * 1000 * math.log(6))))
    assert "clique cover " not in run("random(r=0.25)")


def test_changing_graph_is_described_at_round_1() -> None:
    found = answer("revealed-er(p=0.5)", "--arms", 7)
    assert found["note"].startswith(
        "The graph changes over time; this is round 1 of trial 0 with seed 0"
    )
    first = as_process("revealed-er(p=0.5)", 7).round(1, Keys(seed=0))
    check_certificates(found, matrix_of(first))
    shown = answer(edges_text(first), "--arms", 7)
    assert shown["clique_cover"] == found["clique_cover"]
    assert "Corollary 1" not in [bound["name"] for bound in found["bounds"]]
    assert answer("revealed-er(p=1)")["note"] is None  # this graph does not change
