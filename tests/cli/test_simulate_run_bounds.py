"""Tests of cli/simulate.py: the option ``--bounds``."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest
from helpers.command_line import run
from helpers.report_pages import Node, Page

LOG5 = math.log(5)


def table_of(page: Node) -> list[list[str]]:
    (table,) = page.all("table", class_="bounds")
    return table.rows()


SIMULATE = (
    *("simulate", "--policy", "ts-n", "--policy", "ids-lp", "--policy", "ucb-n"),
    *("--graph", "paper", "--horizon", 40, "--trials", 12),
)
TWENTY = math.sqrt(40 * LOG5)  # Corollary 1 of the paper's graph


def test_simulate_prints_a_table_of_bounds_if_asked() -> None:
    assert "Theorem" not in run(*SIMULATE)
    text = run(*SIMULATE, "--bounds")
    rows = [line.split() for line in text.split("Bounds on the expected regret")[1].splitlines()]
    (corollary,) = [row for row in rows if row[1:3] == ["Corollary", "1"]]
    assert corollary[0] == "ts-n"
    assert corollary[-3] == f"{TWENTY:.2f}"
    assert corollary[-1] == "below"
    without = run(*SIMULATE[:1], "--policy", "ucb-n", *SIMULATE[-6:], "--bounds")
    assert "None of these policies has a proved bound." in without


def test_simulate_gives_bounds_as_json_if_asked() -> None:
    assert "bounds" not in json.loads(run(*SIMULATE, "--json"))
    found = json.loads(run(*SIMULATE, "--json", "--bounds"))["bounds"]
    assert [bound["name"] for bound in found] == ["Theorem 1", "Corollary 1", "earlier bound"]
    assert found[1]["value"] == pytest.approx(TWENTY)
    assert found[1]["standard_error"] == 0.0
    assert found[1]["policies"]["ts-n"]["mean_is"] == "below"
    assert list(found[0]["policies"]) == ["ids-lp"]


def test_summary_has_bounds_and_figure_has_them_on_request(tmp_path: Path) -> None:
    without, with_ = tmp_path / "without", tmp_path / "with"
    text = run(*SIMULATE, "--output", without)
    assert "Corollary 1" not in text
    assert "Corollary 1" in run(*SIMULATE, "--output", with_, "--bounds")
    summaries = [json.loads((place / "summary.json").read_text()) for place in (without, with_)]
    assert summaries[0] == summaries[1]
    names = [bound["name"] for bound in summaries[0]["simulation"]["bounds"]]
    assert names == ["Theorem 1", "Corollary 1", "earlier bound"]
    figures = [(place / "figure-simulation.svg").read_text() for place in (without, with_)]
    assert [figure.count('id="bound"') for figure in figures] == [0, 2]
    for part in ("-final", "-differences", "-plays"):
        name = f"figure-simulation{part}.svg"
        assert (without / name).read_bytes() == (with_ / name).read_bytes()
    for place, asked in ((without, False), (with_, True)):
        page = Page((place / "report.html").read_text()).root
        assert len(table_of(page)) == 3
        (command,) = page.all("pre", class_="command")
        assert (" --bounds" in command.text) is asked


def test_recorded_ratios_give_each_policy_its_own_bound() -> None:
    """Lemma 1: listed with the error of the trials, above the mean, and below the rounds."""
    words = (*SIMULATE, "--policy", "ids-n(gain=joint)", "--policy", "ids-n", "--ratios", "bound")
    found = json.loads(run(*words, "--bounds", "--json"))
    general = {one["name"]: one for one in found["bounds"] if one["name"].startswith("Lemma 1")}
    for policy in ("ts-n", "ids-lp", "ids-n", "ids-n(gain=joint)"):
        bound = general[f"Lemma 1 ({policy})"]
        assert list(bound["policies"]) == [policy]
        assert bound["policies"][policy]["mean"] < bound["value"] < 40
        assert bound["standard_error"] > 0.0
