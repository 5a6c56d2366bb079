"""Tests of cli/_ui.py: tables of sweeps, claims and published means."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest

import graphbandits
from graphbandits.cli._ui import print_claims, print_published, print_sweep
from graphbandits.study.claims import Claim, Published, compare, judge

Printed = Callable[..., list[str]]


@pytest.fixture
def printed(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Printed:
    """Return a function that returns the lines that another one prints."""

    def lines_of(function: Callable[..., None], *args: Any, width: int = 120) -> list[str]:
        monkeypatch.setenv("COLUMNS", str(width))
        function(*args)
        return capsys.readouterr().out.splitlines()

    return lines_of


def test_a_sweep_cuts_no_number(printed: Printed) -> None:
    names = ["ts-n", "ids-n", "idsn-lp", "ids-lp", "ucb-n", "ucb-maxn", "ucb-lp"]
    sweep = {
        horizon: graphbandits.simulate(names, graph="paper", horizon=horizon, trials=3)
        for horizon in (2, 6)
    }
    lines = printed(print_sweep, sweep, "Title", "rounds", width=80)
    assert lines[0].strip() == "Title"
    assert "…" not in "".join(lines)
    for horizon, results in sweep.items():
        [row] = [line for line in lines if line.split()[:1] == [str(horizon)]]
        assert all(f"{results[name].mean[-1]:.2f}" in row for name in names)
        assert f"*{results[results.ranking()[0]].mean[-1]:.2f}" in row


def test_table_of_claims_shows_the_decisive_pair(printed: Printed) -> None:
    names = ["ts-n", "ids-n", "uniform"]
    results = graphbandits.simulate(names, graph="star", horizon=100, trials=60, seed=1)
    good = judge(Claim("It pays to think.", ("ids-n", "ts-n"), ("uniform",)), results)
    bad = judge(Claim("It does not.", ("uniform",), ("ts-n", "ids-n")), results)
    assert (good.verdict, bad.verdict) == ("holds", "fails")
    lines = printed(print_claims, [good, bad])
    for judgement in (good, bad):
        row = next(line for line in lines if judgement.claim.text in line)
        d = judgement.decisive
        assert judgement.verdict in row
        assert f"{d.first} - {d.second}" in row
        assert f"{d.mean:+.2f}" in row
        assert f"[{d.low:+.2f}, {d.high:+.2f}]" in row


def test_table_of_published_means_shows_the_distance(printed: Printed) -> None:
    results = graphbandits.simulate(["ts-n", "ids-n"], graph="star", horizon=9, trials=50, seed=1)
    ours, error = float(results["ts-n"].mean[-1]), float(results["ts-n"].standard_error[-1])
    # hypot(error, sqrt(3) error) = 2 error
    there = {"ts-n": (ours - 5 * error, math.sqrt(3) * error), "ids-n": (1e3, 0.0)}
    lines = printed(print_published, compare(Published(there, "they"), results), "they")
    assert lines[0].strip() == "Published: they"
    near, far = (next(line for line in lines if f" {name} " in line) for name in there)
    assert f"{ours:.2f} ({error:.2f})" in near
    assert "+2.5 s.e." in near
    assert near.split()[-1] == "yes"
    assert "1000.00 (0.00)" in far
    assert far.split()[-1] == "no"
