"""``graphbandits graph``: what it tells of a graph, and how it refuses bad input."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import networkx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from graphbandits import describe_graph
from graphbandits.cli import app
from graphbandits.experiments import describe
from graphbandits.graphs import Dense, Sparse, Uniform, as_process, edges_text
from graphbandits.graphs.feedback import Feedback
from graphbandits.graphs.shape import Shape
from graphbandits.registry import registered
from graphbandits.rng import Keys

RUNNER = CliRunner(env={"COLUMNS": "400"})
KEYS = (
    "graph arms names edges directed density degrees components note clique_cover independence "
    "domination fractional_domination fractional_domination_lower horizon bounds"
)


def run(*args: object) -> str:
    result = RUNNER.invoke(app, ["graph", *map(str, args)])
    assert result.exit_code == 0, result.stderr
    assert result.stderr == ""
    return result.stdout


def answer(*args: object) -> Any:
    return json.loads(run(*args, "--json"))


def matrix_of(feedback: Feedback) -> Any:
    return feedback.reach(np.arange(feedback.arms))


def check_certificates(found: dict[str, Any], matrix: Any) -> None:
    """Whoever has the graph can check what is said of it."""
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


def test_the_papers_graph() -> None:
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


@pytest.mark.parametrize("graph", ["paper", "random(r=0.25)", "revealed-er(p=0.5)"])
def test_the_command_prints_what_the_function_returns(graph: str, tmp_path: Path) -> None:
    found = describe_graph(graph, 5, horizon=50, plot=tmp_path / "graph.png")
    assert found.to_dict() == answer(graph, "--arms", 5, "--horizon", 50)
    assert [path.name for path in found.files] == ["graph.png"]


def test_any_graph_can_be_described() -> None:
    found = describe_graph(np.array([[1.0, 1.0], [0.0, 1.0]]))
    assert (found.shape.edges, found.shape.directed, found.text) == (1, True, "ndarray")
    assert found.numbers is not None
    assert found.numbers.domination.upper == 1


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 8), st.floats(0.0, 1.0), st.booleans(), st.integers(0, 2**32))
def test_what_is_told_of_any_graph_can_be_checked(
    arms: int, density: float, directed: bool, seed: int
) -> None:
    matrix = (np.random.default_rng(seed).random((arms, arms)) < density).astype(float)
    matrix = matrix if directed else np.triu(matrix) + np.triu(matrix, 1).T
    np.fill_diagonal(matrix, 1.0)
    found = answer(edges_text(Dense(matrix)))
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


@pytest.mark.parametrize("seed", range(3))
def test_numbers_of_a_network_agree_when_time_is_short(seed: int, tmp_path: Path) -> None:
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


@pytest.mark.parametrize("arms", [30, 250])
def test_shapes_do_not_depend_on_how_a_graph_is_kept(arms: int) -> None:
    sparse = as_process("edges(1-2 2>3:0.5 4-5 7>1)", arms).feedback
    assert isinstance(sparse, Sparse) == (arms > 100)
    one, other = Shape.of(sparse), Shape.of(Dense(matrix_of(sparse)))
    assert (one.edges, one.directed, one.parts) == (6, True, arms - 4)
    assert (one.edges, one.directed, one.parts, one.density) == (
        other.edges,
        other.directed,
        other.parts,
        other.density,
    )
    assert (one.seen == other.seen).all()
    assert (one.seen_by == other.seen_by).all()


@pytest.mark.parametrize("r", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("arms", [1, 4])
def test_random_feedback_has_the_shape_of_its_matrix(r: float, arms: int) -> None:
    one, other = Shape.of(Uniform(r, arms)), Shape.of(Dense(matrix_of(Uniform(r, arms))))
    assert (one.edges, one.directed, one.parts) == (other.edges, other.directed, other.parts)
    assert one.density == pytest.approx(other.density)
    assert one.seen == pytest.approx(other.seen)
    assert one.seen_by == pytest.approx(other.seen_by)


def test_equal_weights_both_ways_are_no_direction_and_others_are() -> None:
    assert not Shape.of(as_process("edges(1-2:0.5)").feedback).directed
    shape = Shape.of(as_process("edges(1>2:0.5 2>1:0.25)").feedback)
    assert shape.directed
    assert (shape.edges, shape.density) == (2, 0.375)


def test_random_feedback_has_a_bound_and_no_cliques() -> None:
    found = answer("random(r=0.25)", "--arms", 6)
    for key in ("clique_cover", "independence", "domination", "fractional_domination"):
        assert found[key] is None
    assert "every other arm is observed with probability 0.25" in found["note"]
    assert found["degrees"]["out"]["mean"] == pytest.approx(1.25)
    name, value = found["bounds"][1]["name"], found["bounds"][1]["value"]
    limit = 6 / (2 * (6 * 0.25 + 0.75))
    assert (name, value) == ("Corollary 2", pytest.approx(math.sqrt(limit * 1000 * math.log(6))))
    assert "clique cover " not in run("random(r=0.25)").split("There is no")[0]


def test_probabilities_that_differ_have_the_general_bound(tmp_path: Path) -> None:
    (tmp_path / "edges.txt").write_text("ann bob 0.5\nbob [red]eve 1\n")
    found = answer(f"file:{tmp_path / 'edges.txt'}")
    assert found["names"] == ["ann", "bob", "[red]eve"]
    assert "some edges have probabilities" in found["note"]
    values = [bound["value"] for bound in found["bounds"]]
    assert values == [pytest.approx(math.sqrt(1.5 * 1000 * math.log(3)))] * 2


def test_a_graph_that_changes_is_shown_as_in_round_1() -> None:
    found = answer("revealed-er(p=0.5)", "--arms", 7)
    assert found["note"].startswith("This graph changes: here it is as in round 1 of trial 0")
    first = as_process("revealed-er(p=0.5)", 7).round(1, Keys(seed=0))
    check_certificates(found, matrix_of(first))
    shown = answer(edges_text(first), "--arms", 7)
    assert shown["clique_cover"] == found["clique_cover"]
    assert "Corollary 1" not in [bound["name"] for bound in found["bounds"]]
    assert answer("revealed-er(p=1)")["note"] is None  # which does not


def test_names_stand_in_certificates_and_long_ones_are_shortened(tmp_path: Path) -> None:
    lines = [f"member-{i} member-{i}x" for i in range(30)]
    (tmp_path / "edges.txt").write_text("# Undirected graph: pairs\n" + "\n".join(lines))
    text = f"file:{tmp_path / 'edges.txt'}"
    found = answer(text)
    assert found["clique_cover"]["certificate"].count(["member-7", "member-7x"]) == 1
    assert found["clique_cover"]["proved"]
    assert found["clique_cover"]["upper"] == found["components"] == 30
    shown = run(text)
    assert "{member-0, member-0x} {member-1, member-1x} and 28 more" in shown
    assert "member-29" not in shown


def test_the_table_says_what_json_says() -> None:
    shown = run("cliques(3)", "--arms", 8, "--horizon", 200)
    assert "8 arms, 7 edges (undirected), density 0.25, 3 components" in shown
    assert all(clique in shown for clique in ("{1, 2, 3}", "{4, 5, 6}", "{7, 8}"))
    assert "regret of 200 rounds" in shown
    for bound in answer("cliques(3)", "--arms", 8, "--horizon", 200)["bounds"]:
        assert f"{bound['value']:.2f}" in shown
        assert bound["formula"] in shown


def test_the_horizon_is_1000_or_as_long_as_the_graph_lasts() -> None:
    assert answer("paper")["horizon"] == 1000
    assert answer("random(r=[0.1, 0.5])")["horizon"] == 2


def test_progress_is_told_on_a_terminal_only(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[str] = []

    class Status:
        def __enter__(self) -> Status:
            return self

        def __exit__(self, *error: object) -> None:
            pass

        def update(self, text: str) -> None:
            told.append(text)

    class Terminal:
        is_terminal = True

        def __init__(self, **options: object) -> None:
            assert options == {"stderr": True}

        def status(self, text: str) -> Status:
            return Status()

    monkeypatch.setattr(describe, "Console", Terminal)
    answer("paper")
    assert told == []
    run("paper")
    sought = ["clique cover", "independence", "domination", "fractional domination"]
    assert [text for text in told if "," not in text] == [f"Searching: {s} ..." for s in sought]
    with describe._searching(show=True) as watch:
        progress = watch("clique cover")
        assert progress is not None
        progress(2, 5)
    assert told[-1] == "Searching: clique cover, 2 to 5 ..."


@pytest.mark.parametrize("ending", ["png", "svg", "pdf"])
def test_a_picture_is_written_the_same_each_time(tmp_path: Path, ending: str) -> None:
    first, second = tmp_path / f"a.{ending}", tmp_path / "new" / f"b.{ending.upper()}"
    shown = run("edges(1-2 2-3 3>4)", "--plot", first)
    assert f"Wrote {first}." in shown
    answer("edges(1-2 2-3 3>4)", "--plot", second)
    assert first.read_bytes() == second.with_suffix(f".{ending}").read_bytes()
    assert len(first.read_bytes()) > 1000


def test_a_graph_of_ones_own(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(
        '"""Mine."""\n'
        "from dataclasses import dataclass\n"
        "from graphbandits.graphs import as_process\n"
        "from graphbandits.registry import register\n"
        '@register("graph", "mine-for-graph-cli")\n'
        "@dataclass(frozen=True)\n"
        "class Mine:\n"
        '    """Mine."""\n'
        "    def process(self, arms):\n"
        '        return as_process(["edges(1-2)", "edges(1>2)"], arms)\n'
    )
    found = answer("mine-for-graph-cli", "--arms", 2, "--plugin", tmp_path / "mine.py")
    assert (found["horizon"], found["edges"], found["directed"]) == (2, 1, False)
    assert found["note"].startswith("This graph changes")


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("papr", ["unknown graph 'papr'", "did you mean 'paper'"]),
        ("edges(1-x)", ["cannot read '1-x'", "1-2 joins two arms"]),
        ("paper --arms 4", ["has 5 arms, but 4 were asked for"]),
        ("star --arms 0", ["--arms must be a whole number of at least 1, not 0"]),
        ("star --arms x", ["'x' is not a whole number"]),
        ("paper --time-limit 0", ["--time-limit must be a finite number above 0, not 0.0"]),
        ("paper --time-limit nan", ["--time-limit must be a finite number above 0, not nan"]),
        ("paper --time-limit soon", ["'soon' is not a number of seconds"]),
        ("paper --horizon 0", ["horizon must be a whole number of at least 1, not 0"]),
        ("random(r=[0.1]) --horizon 2", ["serves 1 round: --horizon is at most 1, not 2"]),
        ("paper --plot a.gif", ["png, svg, pdf", "'a.gif'"]),
        ("paper --plot a", ["png, svg, pdf", "'a'"]),
        ("paper --plot file/a.png", ["cannot write"]),
        ("paper --plot folder.png", ["folder.png", "directory"]),
        ("empty --arms 2001 --plot a.png", ["at most 2000 arms", "has 2001 arms"]),
        ("complete --arms 300 --plot a.png", ["20000 edges", "has 44850 edges"]),
    ],
)
def test_bad_input_is_refused_in_one_line_before_the_search(
    line: str, words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def search(*args: object) -> None:
        raise AssertionError("too late")

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(describe, "graph_numbers", search)
    Path("file").write_text("")
    Path("folder.png").mkdir()
    result = RUNNER.invoke(app, ["graph", *line.split()])
    assert result.exit_code == 2
    assert result.stdout == ""
    assert result.stderr.count("\n") == 1
    assert result.stderr.startswith("Error: ")
    assert all(word in result.stderr for word in words), result.stderr
    assert not Path("a.png").exists()
