"""Tests of cli/store_commands.py: ``graphbandits compare``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NoReturn

import pytest
from helpers.stores import Point, run_study, sweep
from typer.testing import CliRunner

from graphbandits import Results, simulate
from graphbandits.cli import app
from graphbandits.engine import Plan

DIRECTED = "edges(1>2:0.5 2>3 3-1)"
SETTINGS: dict[str, Any] = {"graph": DIRECTED, "horizon": 40, "trials": 12, "seed": 3}
NAMES = ["ts-n", "ids-n", "ucb-n"]
RUNNER = CliRunner(env={"COLUMNS": "300"})


def plan(policies: list[str] | str = NAMES, **changes: Any) -> Plan:
    return Plan.of(policies, **(SETTINGS | changes))


def ran(policies: list[str] | str = NAMES, **changes: Any) -> Results:
    return simulate(policies, **(SETTINGS | changes))


def run(*args: object) -> str:
    result = RUNNER.invoke(app, ["compare", *map(str, args)])
    assert result.exit_code == 0, result.stderr
    assert result.stderr == ""
    return result.stdout


def refuse(word: str) -> NoReturn:
    raise AssertionError(f"{word} is not JSON")


def test_table_of_a_simulation(tmp_path: Path) -> None:
    run_study(tmp_path / "a", "s", [Point(plan())])
    text = run(tmp_path / "a")
    results = ran()
    lines = [line.split() for line in text.splitlines()]
    assert text.startswith("a/s: The study s")
    assert "vs the best, paired" in text
    names = [line[0] for line in lines if line and line[0] in NAMES]
    assert names == results.ranking()
    d = results.from_best()[names[1]]
    assert f"{d.mean:+.2f} [{d.low:+.2f}, {d.high:+.2f}]" in text
    assert "vs ts-n, paired" in run(tmp_path / "a", "--reference", "ts-n")


def grid(place: Path, trials: int = 12) -> None:
    points = [
        Point(plan(graph=f"random(r={r})", arms=k, trials=trials), {"r": r, "arms": k}, 0)
        for k in (3, 4)
        for r in (0.0, 1.0)
    ]
    run_study(place, "g", points, sweeps=[sweep("r", "arms", x="r", label="chance r")])


def test_tables_of_a_grid_mark_the_best_and_the_possibly_best(tmp_path: Path) -> None:
    grid(tmp_path / "a")
    text = run(tmp_path / "a")
    assert "A sweep: arms = 3" in text
    assert "A sweep: arms = 4" in text
    for arms in (3, 4):
        for r in (0.0, 1.0):
            results = ran(graph=f"random(r={r})", arms=arms)
            for name in NAMES:
                mean = f"{results[name].mean[-1]:.2f} ({results[name].standard_error[-1]:.2f})"
                if name == results.ranking()[0]:
                    mark = "*"
                else:
                    mark = "=" if results.from_best()[name].low <= 0.0 else " "
                assert f"{mark}{mean}" in text
    assert "* lowest mean in the row" in text
    text = run(tmp_path / "a", "--reference", "ts-n")
    results = ran(graph="random(r=0.0)", arms=3)
    for d in results.differences("ts-n", simultaneous=True):
        mark = "<" if d.high < 0 else ">" if d.low > 0 else "="
        assert f"{mark}{results[d.first].mean[-1]:.2f}" in text
    assert "< less than ts-n, > more" in text


def test_json_has_every_number(tmp_path: Path) -> None:
    run_study(tmp_path / "a", "s", [Point(plan(["ts-n", "ids-n"]))])
    run_study(tmp_path / "b", "t", [Point(plan("ucb-n"))])
    run_study(tmp_path / "b", "u", [Point(plan("ucb-n", horizon=3))])
    found = json.loads(run(tmp_path / "a", tmp_path / "b", "--json"), parse_constant=refuse)
    (one,) = found["comparisons"]
    results = ran()
    assert [place["study"] for place in one["places"]] == ["s", "t"]
    assert list(one["policies"]) == results.ranking()
    for name, d in results.from_best().items():
        entry = one["policies"][name]
        assert entry["mean"] == results[name].mean[-1]
        assert entry["interval"] == list(results.interval(name))
        assert entry["difference"]["simultaneous_interval"] == [d.low, d.high]
        assert entry["difference"]["paired"] is True
    assert [place["study"] for place in found["alone"]] == ["u"]


def test_one_trial_has_no_intervals_and_valid_json(tmp_path: Path) -> None:
    run_study(tmp_path / "a", "s", [Point(plan(trials=1))])
    assert "unknown" in run(tmp_path / "a")
    found = json.loads(run(tmp_path / "a", "--json"), parse_constant=refuse)
    policies = found["comparisons"][0]["policies"].values()
    assert [p["difference"]["is"] for p in policies if "difference" in p] == ["unknown"] * 2


def test_policies_without_a_counterpart_are_listed(tmp_path: Path) -> None:
    grid(tmp_path / "a", trials=2)
    run_study(tmp_path / "b", "s", [Point(plan("ts-n", trials=2))])
    text = run(tmp_path / "a", tmp_path / "b")
    assert "a: g, all 4 cells" in text
    assert "b: s" in text


@pytest.mark.parametrize(
    ("args", "fragment"),
    [
        (["nowhere"], "nowhere is not a store"),
        (["a", "a"], "is given twice"),
        (["a", "empty/../a"], "is given twice"),
        (["a", "--reference", "ts"], "unknown reference policy 'ts': did you mean 'ts-n'"),
        (["empty"], "has no studies"),
        ([], "Missing argument"),
    ],
)
def test_bad_input_is_refused_in_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, args: list[str], fragment: str
) -> None:
    from graphbandits.store import Store

    monkeypatch.chdir(tmp_path)
    run_study(tmp_path / "a", "s", [Point(plan(trials=2))])
    Store.create(tmp_path / "empty")
    result = RUNNER.invoke(app, ["compare", *args])
    assert result.exit_code == 2
    assert result.stdout == ""
    assert result.stderr.startswith("Error: ")
    assert fragment in result.stderr
    assert result.stderr.count("\n") == 1
