"""Tests of cli/inspect.py: ``graphbandits graph``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from graphbandits import catalogue, describe_graph
from graphbandits.cli import app

RUNNER = CliRunner(env={"COLUMNS": "400"})


def run(*args: object) -> str:
    result = RUNNER.invoke(app, ["graph", *map(str, args)])
    assert result.exit_code == 0, result.stderr
    assert result.stderr == ""
    return result.stdout


def answer(*args: object) -> Any:
    return json.loads(run(*args, "--json"))


@pytest.mark.parametrize("graph", ["paper", "random(r=0.25)", "revealed-er(p=0.5)"])
def test_graph_command_prints_what_the_function_returns(graph: str, tmp_path: Path) -> None:
    found = describe_graph(graph, 5, horizon=50, plot=tmp_path / "graph.png")
    assert found.to_dict() == answer(graph, "--arms", 5, "--horizon", 50)
    assert [path.name for path in found.files] == ["graph.png"]


def test_names_are_in_certificates_and_long_ones_are_shortened(tmp_path: Path) -> None:
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


def test_table_equals_the_json() -> None:
    shown = run("cliques(3)", "--arms", 8, "--horizon", 200)
    assert "8 arms, 7 edges (undirected), density 0.25, 3 components" in shown
    assert all(clique in shown for clique in ("{1, 2, 3}", "{4, 5, 6}", "{7, 8}"))
    assert "regret in 200 rounds" in shown
    for bound in answer("cliques(3)", "--arms", 8, "--horizon", 200)["bounds"]:
        assert f"{bound['value']:.2f}" in shown
        assert bound["formula"] in shown


def test_horizon_is_1000_or_the_length_of_the_graph_sequence() -> None:
    assert answer("paper")["horizon"] == 1000
    assert answer("random(r=[0.1, 0.5])")["horizon"] == 2


def test_progress_is_shown_on_a_terminal_only(monkeypatch: pytest.MonkeyPatch) -> None:
    updates: list[str] = []

    class Status:
        def __enter__(self) -> Status:
            return self

        def __exit__(self, *error: object) -> None:
            pass

        def update(self, text: str) -> None:
            updates.append(text)

    class Terminal:
        is_terminal = True

        def __init__(self, **options: object) -> None:
            assert options == {"stderr": True}

        def status(self, text: str) -> Status:
            return Status()

    monkeypatch.setattr(catalogue, "Console", Terminal)
    answer("paper")
    assert updates == []
    run("paper")
    sought = ["clique cover", "independence", "domination", "fractional domination"]
    assert [text for text in updates if "," not in text] == [f"Searching: {s} ..." for s in sought]
    with catalogue._search_status(True) as watch:
        progress = watch("clique cover")
        assert progress is not None
        progress(2, 5)
    assert updates[-1] == "Searching: clique cover, 2 to 5 ..."


@pytest.mark.process
@pytest.mark.parametrize("ending", ["png", "svg", "pdf"])
def test_graph_plot_is_reproducible(tmp_path: Path, ending: str) -> None:
    first, second = tmp_path / f"a.{ending}", tmp_path / "new" / f"b.{ending.upper()}"
    shown = run("edges(1-2 2-3 3>4)", "--plot", first)
    assert f"Wrote {first}." in shown
    answer("edges(1-2 2-3 3>4)", "--plot", second)
    assert first.read_bytes() == second.with_suffix(f".{ending}").read_bytes()
    assert len(first.read_bytes()) > 1000


def test_graph_of_a_plug_in_can_be_described(tmp_path: Path) -> None:
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
    assert found["note"].startswith("The graph changes")


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("papr", ["unknown graph 'papr'", "did you mean 'paper'"]),
        ("edges(1-x)", ["cannot read '1-x'", "use 1-2 for an edge"]),
        ("paper --arms 4", ["has 5 arms, but arms=4"]),
        ("star --arms 0", ["number of arms must be a whole number of at least 1, not 0"]),
        ("star --arms x", ["'x' is not an integer"]),
        ("paper --time-limit 0", ["--time-limit must be a finite number above 0, not 0.0"]),
        ("paper --time-limit nan", ["--time-limit must be a finite number above 0, not nan"]),
        ("paper --time-limit soon", ["'soon' is not a number of seconds"]),
        ("paper --horizon 0", ["horizon must be a whole number of at least 1, not 0"]),
        ("random(r=[0.1]) --horizon 2", ["--horizon is 2", "has 1 round: use at most 1"]),
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
    monkeypatch.setattr(catalogue, "graph_numbers", search)
    Path("file").write_text("")
    Path("folder.png").mkdir()
    result = RUNNER.invoke(app, ["graph", *line.split()])
    assert result.exit_code == 2
    assert result.stdout == ""
    assert result.stderr.count("\n") == 1
    assert result.stderr.startswith("Error: ")
    assert all(word in result.stderr for word in words), result.stderr
    assert not Path("a.png").exists()
