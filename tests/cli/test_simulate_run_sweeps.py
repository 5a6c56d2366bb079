"""Tests of cli/simulate.py: ``graphbandits run`` with sweeps, claims and published means."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from helpers.command_line import read_json, refused_command, run
from helpers.experiment_files import SINGLE, SWEEP
from helpers.made_up_results import same

import graphbandits
from graphbandits import open_study
from graphbandits.study.claims import Claim, judge


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "single.toml").write_text(SINGLE, "utf-8")
    (tmp_path / "sweep.toml").write_text(SWEEP, "utf-8")
    return tmp_path


def shards(output: Path) -> dict[Path, int]:
    """Return every shard of a store and the time of its last change."""
    return {path: path.stat().st_mtime_ns for path in output.glob("shards/*/*.parquet")}


def test_a_sweep_from_its_file_to_figures_results_summary_and_page(place: Path) -> None:
    shown = run("run", "sweep.toml", "--output", "out", "--workers", 1)
    out = place / "out"
    figures = {f"figure-sweep-{p}.{kind}" for p in ("c", "arms") for kind in ("png", "svg", "pdf")}
    store = {"study.json", "studies", "problems", "shards"}
    assert {p.name for p in out.iterdir()} == figures | store | {"report.html", "summary.json"}
    study = open_study(out)
    points = [{"c": 5}, {"c": 0.5}, {"c": 2}, {"arms": 2}, {"arms": 4}]
    assert [cell.point for cell in study.cells] == points
    # the results equal those of simulate, with full policy names
    alone = graphbandits.simulate(
        ["ts-n", "eps-greedy-lp(c=0.5)"], graph="star", arms=4, horizon=20, trials=5, seed=3
    )
    kept = study.cell(c=0.5).results()
    assert list(kept.policies) == list(alone.policies)
    same(kept, alone)
    assert study.results(arms=2).settings["arms"] == 2

    summary = read_json((out / "summary.json").read_text())
    assert list(summary) == ["sweep-c", "sweep-arms"]
    swept = summary["sweep-c"]
    assert {key: swept[key] for key in ("title", "parameter", "label", "scale")} == {
        "title": "Exploration",
        "parameter": "c",
        "label": "c/d²",
        "scale": "log",
    }
    assert [one["value"] for one in swept["runs"]] == [5, 0.5, 2]
    policies = swept["runs"][1]["policies"]
    assert list(policies) == list(alone.policies)
    assert policies["eps-greedy-lp(c=0.5)"]["line"] == "eps-greedy-lp(c=…)"
    assert policies["ts-n"]["line"] == "ts-n"
    assert policies["ts-n"]["regret"]["mean"] == alone["ts-n"].mean[-1]

    page = (out / "report.html").read_text("utf-8")
    for text in ("Exploration", "Two sweeps", "A note of mine.", "c/d²", "eps-greedy-lp(c=…)"):
        assert text in page
    assert "graphbandits run sweep.toml --trials=5 --seed=3 --output=out" in page
    assert shown.splitlines()[-1].endswith("Open out/report.html in a browser.")


def test_the_table_of_a_sweep_has_means_and_marks_the_best(place: Path) -> None:
    shown = run("run", "sweep.toml", "--output", "out")
    for value in ("5", "0.5", "2"):
        results = open_study("out").results(c=float(value))
        row = next(line for line in shown.splitlines() if line.split()[:1] == [value])
        for name, result in results.policies.items():
            cell = f"{result.mean[-1]:.2f} ({result.standard_error[-1]:.2f})"
            assert f"{'*' if name == results.ranking()[0] else ' '}{cell}" in row


def test_options_apply_to_every_value_of_a_sweep(place: Path) -> None:
    words = ["--trials", 1, "--seed", 9, "--policy", "uniform", "--workers", 1]
    shown = run("run", "sweep.toml", *words)
    assert "nan" not in shown
    cells = open_study("sweep").cells
    assert len(cells) == 5
    for cell in cells:
        results = cell.results()
        assert (results.trials, results.settings["seed"]) == (1, 9)
        assert list(results.policies)[-1] == "uniform"
    summary = read_json((place / "sweep" / "summary.json").read_text())
    policies = summary["sweep-arms"]["runs"][0]["policies"]
    assert policies["uniform"]["regret"]["standard_error"] is None


@pytest.mark.parametrize(
    "taken", ["figure-sweep-c.png/mine.tex", "figure-sweep-arms.svg/x", "report.html/x"]
)
def test_taken_output_name_is_reported_before_anything_runs(place: Path, taken: str) -> None:
    path = place / "out" / taken
    path.parent.mkdir(parents=True)
    path.write_text("mine")
    assert taken.split("/")[0] in refused_command(place, ["run", "sweep.toml", "--output", "out"])


# too long by itself, or with the suffix of the temporary file
@pytest.mark.parametrize("letters", [245, 225])
def test_too_long_output_name_is_reported_before_anything_runs(place: Path, letters: int) -> None:
    file, _ = place / f"{'x' * letters}.toml", (place / "out").mkdir()
    file.write_text(SINGLE, "utf-8")
    message = refused_command(place, ["run", file.name, "--output", "out"])
    assert "too long; choose a shorter name" in message


def test_claims_and_published_means_are_in_table_summary_and_page(place: Path) -> None:
    shown = run("run", "single.toml", "--trials", 40)
    results = open_study("single").cells[0].results()
    summary = read_json((place / "single" / "summary.json").read_text())["single"]
    judgement = judge(Claim("Information pays.", ("ids-n",), ("ts-n", "ucb-n")), results)
    (claim,) = summary["claims"]
    assert claim["verdict"] == judgement.verdict
    assert (claim["text"], claim["source"]) == ("Information pays.", "me")
    assert [d["second"] for d in claim["differences"]] == ["ts-n", "ucb-n"]
    for pair, d in zip(claim["differences"], judgement.differences, strict=True):
        assert pair["mean"] == d.mean
        assert pair["simultaneous_interval"] == [d.low, d.high]
    near, far = (summary["published"]["means"][name] for name in ("ts-n", "ids-n"))
    ours = results["ts-n"]
    apart = (ours.mean[-1] - 3.5) / math.hypot(ours.standard_error[-1], 0.25)
    assert near["distance"] == pytest.approx(apart, rel=1e-12)
    assert near["within"] == (abs(apart) <= 3)
    assert (far["published_mean"], far["published_error"], far["within"]) == (1e6, 1, False)
    assert summary["published"]["source"] == "someone (2001)"
    page = (place / "single" / "report.html").read_text("utf-8")
    for text in ("Information pays.", "someone (2001)", "A note of mine."):
        assert text in page
    assert judgement.verdict in shown
    assert f"{ours.mean[-1]:.2f} ({ours.standard_error[-1]:.2f})" in shown
