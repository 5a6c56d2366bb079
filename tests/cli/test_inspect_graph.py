"""Tests of cli/inspect.py: ``graphbandits graph``."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest
from helpers import command_line
from helpers.command_line import refused_command

from graphbandits import catalogue, describe_graph

run, answer = partial(command_line.run, "graph"), partial(command_line.answer, "graph")


def test_graph_command_prints_what_the_function_returns(tmp_path: Path) -> None:
    for graph in ["paper", "random(r=0.25)", "revealed-er(p=0.5)"]:
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


def test_graph_plot_is_reproducible(tmp_path: Path) -> None:
    for ending in ["png", "svg", "pdf"]:
        first, second = tmp_path / f"a.{ending}", tmp_path / "new" / f"b.{ending.upper()}"
        shown = run("edges(1-2 2-3 3>4)", "--plot", first)
        assert f"Wrote {first}." in shown
        answer("edges(1-2 2-3 3>4)", "--plot", second)
        assert first.read_bytes() == second.with_suffix(f".{ending}").read_bytes()
        assert len(first.read_bytes()) > 1000


def test_bad_input_is_refused_in_one_line_before_the_search(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def search(*args: object) -> None:
        raise AssertionError("too late")

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(catalogue, "graph_numbers", search)
    Path("file").write_text("")
    for line, words in [
        ("papr", ["unknown graph 'papr'", "did you mean 'paper'"]),
        ("paper --arms 4", ["has 5 arms, but arms=4"]),
        ("star --arms x", ["'x' is not an integer"]),
        ("paper --time-limit nan", ["--time-limit must be a finite number above 0, not nan"]),
        ("paper --horizon 0", ["horizon must be a whole number of at least 1, not 0"]),
        ("paper --plot a.gif", ["png, svg, pdf", "'a.gif'"]),
        ("paper --plot file/a.png", ["cannot write"]),
        ("empty --arms 2001 --plot a.png", ["at most 2000 arms", "has 2001 arms"]),
    ]:
        message = refused_command(tmp_path, ["graph", *line.split()])
        assert all(word in message for word in words), message
