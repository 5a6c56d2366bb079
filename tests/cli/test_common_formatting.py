"""Tests of cli/_common.py: tables of sweeps, claims and published means."""

from __future__ import annotations

import math
from typing import Any

import graphbandits
from graphbandits.cli._ui import claim_table, published_table, sweep_tables
from graphbandits.study.claims import Claim, Published, compare, judge


def lines_of(*tables: Any, width: int = 80) -> list[str]:
    from rich.console import Console

    console = Console(width=width, markup=False, highlight=False)
    with console.capture() as captured:
        for table in tables:
            console.print(table)
    return captured.get().splitlines()


def test_a_wide_sweep_is_cut_into_tables_that_fit() -> None:
    names = ["ts-n", "ids-n", "idsn-lp", "ids-lp", "ucb-n", "ucb-maxn", "eps-greedy-lp", "ucb-lp"]
    sweep = {
        horizon: graphbandits.simulate(names, graph="paper", horizon=horizon, trials=3)
        for horizon in (2, 6)
    }
    tables = sweep_tables(sweep, "Title", "rounds", 60)
    lines = lines_of(*tables, width=60)
    assert len(tables) > 1
    heads = [line.split() for line in lines if line.split()[:1] == ["rounds"]]
    assert [name for head in heads for name in head[1:]] == names
    assert lines[0].strip() == "Title"
    assert sum("Title" in line for line in lines) == 1
    for horizon, results in sweep.items():
        rows = [line for line in lines if line.split()[:1] == [str(horizon)]]
        assert len(rows) == len(tables)
        for name in names:
            assert f"{results[name].mean[-1]:.2f} (" in " ".join(rows)
    assert "…" not in "".join(lines)


def test_table_of_claims_shows_the_decisive_pair() -> None:
    names = ["ts-n", "ids-n", "uniform"]
    results = graphbandits.simulate(names, graph="star", horizon=100, trials=60, seed=1)
    good = judge(Claim("It pays to think.", ("ids-n", "ts-n"), ("uniform",)), results)
    bad = judge(Claim("It does not.", ("uniform",), ("ts-n", "ids-n")), results)
    assert (good.verdict, bad.verdict) == ("holds", "fails")
    lines = lines_of(claim_table([good, bad]), width=120)
    for judgement in (good, bad):
        row = next(line for line in lines if judgement.claim.text in line)
        d = judgement.decisive
        assert judgement.verdict in row
        assert f"{d.first} - {d.second}" in row
        assert f"{d.mean:+.2f}" in row
        assert f"[{d.low:+.2f}, {d.high:+.2f}]" in row


def test_table_of_published_means_shows_the_distance() -> None:
    results = graphbandits.simulate(["ts-n", "ids-n"], graph="star", horizon=9, trials=50, seed=1)
    ours, error = float(results["ts-n"].mean[-1]), float(results["ts-n"].standard_error[-1])
    # hypot(error, sqrt(3) error) = 2 error
    there = {"ts-n": (ours - 5 * error, math.sqrt(3) * error), "ids-n": (1e3, 0.0)}
    lines = lines_of(published_table(compare(Published(there, "they"), results), "they"))
    assert lines[0].strip() == "Published: they"
    near, far = (next(line for line in lines if f" {name} " in line) for name in there)
    assert f"{ours:.2f} ({error:.2f})" in near
    assert "+2.5 s.e." in near
    assert near.split()[-1] == "yes"
    assert "1000.00 (0.00)" in far
    assert far.split()[-1] == "no"
