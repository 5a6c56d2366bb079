"""Tests of cli/simulate.py: ``graphbandits recommend``."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import networkx as nx
import pytest
from helpers.command_line import RUNNER, answer, refused_command, run, split

from graphbandits import recommend
from graphbandits.cli import app

LINE = split("recommend --graph file:karate.txt --horizon 30 --policy ids-n --policy ts-n")
LINE += split("--trials 4 --prior 2,3 --delay 0,9 --answer-rate 0.8 --seed 3")


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    edges = nx.karate_club_graph().edges
    (tmp_path / "karate.txt").write_text("".join(f"{i} {j}\n" for i, j in edges), "utf-8")
    return tmp_path


def without_cpu(found: dict[str, Any]) -> dict[str, Any]:
    for one in found["candidates"]:
        assert one.pop("cpu") > 0.0
    return found


def test_json_has_the_numbers_of_the_function(place: Path) -> None:
    said = without_cpu(answer(*LINE))
    found = recommend(
        "file:karate.txt",
        horizon=30,
        policies=["ids-n", "ts-n"],
        trials=4,
        prior="2,3",
        delay=[0, 9],
        answer_rate=0.8,
        seed=3,
    )
    mine = without_cpu(found.to_dict())
    mine["candidates"] = list(mine["candidates"])
    assert said == mine
    assert said["policy"] == "ids-n"
    assert sorted(place.iterdir()) == [place / "karate.txt"]


@pytest.mark.parametrize("columns", [80, 120])
def test_table_fits_the_terminal(place: Path, columns: int) -> None:
    result = RUNNER.invoke(app, LINE, env={"COLUMNS": str(columns)})
    assert result.exit_code == 0, result.stderr
    lines = result.stdout.splitlines()
    assert max(map(len, lines)) <= columns
    assert re.search(
        r"^ policy +regret +minus first +cost of delay +CPU +trials *$", result.stdout, re.M
    )
    rows = [line.split() for line in lines if line.startswith((" ids-n", " ts-n"))]
    assert [row[0] for row in rows] == ["ids-n", "ts-n"]
    assert all(row[-1] == "4" for row in rows)
    assert "Recommended: ids-n. ids-n has the lowest regret" in " ".join(lines)


def test_without_delay_the_table_has_no_cost_of_delay(place: Path) -> None:
    line = [*split("recommend --graph random(r=0.5) --arms 3 --horizon 9 --trials 2")]
    said = run(*line)
    assert "cost of delay" not in said
    assert "Left out: ts-maxn needs a graph with entries 0 and 1 only" in said


def test_bad_input_is_refused_in_one_line(place: Path) -> None:
    for words, part in [
        ("--graph=file:nothing.csv", "nothing.csv"),
        ("--horizon=0", "horizon must be a whole number of at least 1"),
        ("--delay=-1", "delay must be a whole number of at least 0"),
        ("--delay=soon", "'soon' is not a whole number"),
        ("--answer-rate=0", "answer_rate must be a probability above 0"),
        ("--prior=nothing", "prior"),
        ("--trials=1", "trials must be a whole number of at least 2"),
        ("--seconds=0", "seconds must be"),
        ("--policy=idsn", "did you mean 'ids-n'?"),
    ]:
        assert part in refused_command(place, [*LINE, words])


def test_no_suitable_policy(place: Path) -> None:
    line = split("recommend --graph random(r=0.5) --arms 3 --horizon 9 --policy ts-maxn")
    said = refused_command(place, line)
    assert "policy 'ts-maxn' needs a graph with entries 0 and 1 only" in said
