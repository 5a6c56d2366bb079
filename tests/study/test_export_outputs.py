"""Tests of study/export.py: the report of any store."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.bad_input import refuses
from helpers.report_pages import Page
from helpers.stores import Point, run_study, sweep

from graphbandits import Bernoulli, BetaBernoulli, simulate, theory
from graphbandits.errors import InputError
from graphbandits.graphs.numbers import clique_cover_numbers
from graphbandits.simulation.plan import Plan
from graphbandits.study.claims import Claim, Published
from graphbandits.study.export import merge_entries, write_pages
from graphbandits.study.report import SimulationEntry, SweepEntry, report_html, summary_of
from graphbandits.study.study import Study, open_studies
from graphbandits.theory import bounds_of

NAMES = ["ts-n", "ids-n"]
SETTINGS: dict[str, Any] = {"graph": "edges(1>2 2>3 3-1)", "horizon": 20, "trials": 6, "seed": 3}


def plan(policies: list[str] | str = NAMES, **changes: Any) -> Plan:
    return Plan.of(policies, **(SETTINGS | changes))


def grid(place: Path, there: dict[str, list[tuple[int, int]]] | None = None) -> Study:
    """Three numbers of arms by four probabilities; ``there``: trials of the last cell."""
    points = [
        Point(plan(graph=f"random(r={r})", arms=arms), {"r": r, "arms": arms}, 0)
        for arms in (2, 3, 4)
        for r in (1.0, 0.0, 0.25, 0.5)
    ]
    points[-1] = replace(points[-1], there=there or {})
    sweeps = [sweep("r", "arms", x="r", title="Chance", label="chance r")]
    return run_study(place, "grid", points, sweeps=sweeps, notes=["All of it."])


def entries(place: Path, keys: list[str] | None = None) -> list[SimulationEntry | SweepEntry]:
    return merge_entries(open_studies(place).select(keys))


def test_stored_simulation_gives_the_report_of_a_new_run(tmp_path: Path) -> None:
    """The page, its numbers and its bounds are equal; the curves of trials are not stored."""
    claim = Claim("Less.", ("ids-n",), ("ts-n",), "me")
    published = Published({"ts-n": (2, 0.5)}, "you")
    stored = run_study(
        tmp_path, "one", [Point(plan())], claims=[claim], published=published, notes=["So."]
    )
    (entry,) = entries(tmp_path)
    assert isinstance(entry, SimulationEntry)
    results = simulate(NAMES, **SETTINGS)
    wanted = SimulationEntry(
        "one",
        stored.title,
        results,
        stored.rerun,
        ("So.",),
        stored.claims,
        stored.published,
        bounds_of(plan(), results),
    )
    assert wanted.bounds
    page = report_html([entry], title="T")
    assert page == report_html([wanted], title="T")
    assert summary_of([entry]) == summary_of([wanted])


def test_grid_is_a_sweep_per_slice(tmp_path: Path) -> None:
    grid(tmp_path)
    found = entries(tmp_path)
    assert [entry.key for entry in found] == ["grid-r-arms-2", "grid-r-arms-3", "grid-r-arms-4"]
    assert [entry.title for entry in found] == [f"Chance: arms = {k}" for k in (2, 3, 4)]
    assert found[0].notes == ("All of it.",)
    assert found[1].notes == ()
    three = found[1]
    assert isinstance(three, SweepEntry)
    assert (three.parameter, three.label) == ("r", "chance r")
    assert [study.title for study in three.simulations] == ["0", "0.25", "0.5", "1"]
    wanted = simulate(NAMES, **SETTINGS | {"graph": "random(r=0.25)", "arms": 3})
    for name in NAMES:
        assert np.array_equal(three.results[0.25][name].final, wanted[name].final)
    page = Page(report_html(found, title="A grid")).root
    assert [h.text for h in page.all("h2")][1:4] == [entry.title for entry in found]
    tables = [t for t in page.all("table") if "values" in t.attributes.get("class", "")]
    assert [row[0] for row in tables[1].rows()] == ["0", "0.25", "0.5", "1"]


def test_summary_of_a_slice_has_its_points_and_names(tmp_path: Path) -> None:
    points = [
        Point(
            plan(["ts-n", f"eps-greedy-lp(c={c})"], graph="star", arms=arms),
            {"c": c, "arms": arms},
            0,
            {f"eps-greedy-lp(c={c})": "eps-greedy-lp(c=…)"},
        )
        for arms in (3, 4)
        for c in (1, 2)
    ]
    run_study(tmp_path, "s", points, sweeps=[sweep("c", "arms", x="c", scale="log")])
    found = entries(tmp_path)
    assert all(
        "eps-greedy-lp(c=…)" in e.results[2].policies for e in found if isinstance(e, SweepEntry)
    )
    summary = summary_of(found)
    assert list(summary) == ["s-c-arms-3", "s-c-arms-4"]
    four = summary["s-c-arms-4"]
    assert (four["title"], four["parameter"], four["scale"]) == ("A sweep: arms = 4", "c", "log")
    assert [run["point"] for run in four["runs"]] == [{"c": c, "arms": 4} for c in (1, 2)]
    policies = four["runs"][1]["policies"]
    assert {name: entry["line"] for name, entry in policies.items()} == {
        "ts-n": "ts-n",
        "eps-greedy-lp(c=2)": "eps-greedy-lp(c=…)",
    }
    wanted = simulate(["ts-n", "eps-greedy-lp(c=2)"], **SETTINGS | {"graph": "star", "arms": 4})
    numbers = summary_of([SimulationEntry("w", "", wanted, "")])["w"]
    assert (
        policies["eps-greedy-lp(c=2)"]["plays"]
        == numbers["policies"]["eps-greedy-lp(c=2)"]["plays"]
    )
    assert four["runs"][1]["differences"] == numbers["differences"]
    assert four["runs"][1]["settings"] == wanted.settings


def test_incomplete_policies_are_left_out_and_named(tmp_path: Path) -> None:
    grid(tmp_path, {"ids-n": [(0, 4)]})
    *others, last = entries(tmp_path)
    assert isinstance(last, SweepEntry)
    assert [list(last.results[r].policies) for r in (0.25, 0.5)] == [NAMES, ["ts-n"]]
    note = "Left out because trials are missing: ids-n at r = 0.5, arms = 4 (4 of 6 trials)."
    assert last.notes == (f"{note} To continue: graphbandits run grid",)
    assert all("Left out" not in text for entry in others for text in entry.notes)
    assert note in report_html([last], title="T")


def test_values_and_slices_without_trials_are_left_out(tmp_path: Path) -> None:
    nothing: dict[str, list[tuple[int, int]]] = {"ts-n": [], "ids-n": [(0, 1)]}
    points = [Point(plan(graph=f"random(r={r})", arms=k), {"r": r, "k": k}, 0)
              for k in (2, 3) for r in (0.0, 0.5)]  # fmt: skip
    points[1:] = [replace(point, there=nothing) for point in points[1:]]
    run_study(tmp_path, "s", points, sweeps=[sweep("r", "k", x="r")])
    (found,) = entries(tmp_path)
    assert isinstance(found, SweepEntry)
    assert list(found.results) == [0.0]


def test_claims_and_published_means_of_missing_policies_are_left_out(tmp_path: Path) -> None:
    claims = [
        Claim("A", ("ids-n",), ("ts-n",)),
        Claim("B", ("ucb-n",), ("ts-n",)),
    ]
    means = {"ids-n": (1, 1), "ts-n": (2, 1)}
    run_study(
        tmp_path,
        "s",
        [Point(plan([*NAMES, "ucb-n"]), there={"ids-n": []})],
        claims=claims,
        published=Published(means, "x"),
    )
    (entry,) = entries(tmp_path)
    assert isinstance(entry, SimulationEntry)
    assert [claim.text for claim in entry.claims] == ["B"]
    assert entry.published is not None
    assert list(entry.published.means) == ["ts-n"]
    assert "Left out" in entry.notes[0]


def test_study_without_trials_is_named_and_refused_if_alone(tmp_path: Path) -> None:
    run_study(tmp_path, "none", [Point(plan("ts-n"), there={"ts-n": [(0, 2)]})])
    with refuses(InputError, match="is complete yet"):
        write_pages(open_studies(tmp_path).select())
    run_study(tmp_path, "some", [Point(plan("ids-n"))])
    assert [entry.key for entry in entries(tmp_path)] == ["some"]
    missing = "The study none: no policy is complete yet. To continue: graphbandits run none"
    page, _ = write_pages(open_studies(tmp_path).select())
    assert missing in page.read_text("utf-8")
    page, _ = write_pages(open_studies(tmp_path).select(["some"]))
    assert missing not in page.read_text("utf-8")


def test_studies_are_selected_by_key_and_keep_distinct_keys(tmp_path: Path) -> None:
    run_study(tmp_path, "a-r", [Point(plan("ts-n"))])
    run_study(tmp_path, "a", [Point(plan("ts-n"), {"r": 1}, 0)], sweeps=[sweep("r", x="r")])
    assert [entry.key for entry in entries(tmp_path, ["a-r"])] == ["a-r"]
    keys = [entry.key for entry in entries(tmp_path)]
    assert keys == ["a-r", "a-r-2"]
    report_html(entries(tmp_path), title="both")
    with refuses(InputError, match="choose from a, a-r"):
        entries(tmp_path, ["b"])


def test_bounds_need_the_graph_and_means_that_are_drawn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fixed = Bernoulli(BetaBernoulli.of(3), fixed=[0.2, 0.5, 0.7])
    run_study(tmp_path / "fixed", "s", [Point(plan(world=fixed))])
    (entry,) = entries(tmp_path / "fixed")
    assert isinstance(entry, SimulationEntry)
    assert entry.bounds == ()
    assert "the means of the arms are fixed" in report_html([entry], title="T")

    run_study(tmp_path / "plain", "s", [Point(plan())])

    def unknown(*_: object, **__: object) -> None:
        raise InputError("unknown graph")

    monkeypatch.setattr("graphbandits.study.study.Plan.unpack", unknown)
    (entry,) = entries(tmp_path / "plain")
    assert isinstance(entry, SimulationEntry)
    assert entry.bounds == ()
    assert entry.notes == (
        "Bounds were not computed: the graph, the world or the posterior is defined by a plug-in. "
        "Load it with --plugin FILE.",
    )


def test_covers_of_large_graphs_are_computed_only_if_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[int] = []

    def count(feedback: Any) -> Any:
        calls.append(feedback.arms)
        return clique_cover_numbers(feedback)

    monkeypatch.setattr("graphbandits.theory.bounds.clique_cover_numbers", count)
    monkeypatch.setattr("graphbandits.graphs.numbers.clique_cover_numbers", count)
    for number, (graph, arms, asked, computed) in enumerate(
        (
            ("ring", 60, False, True),
            ("ring", 61, False, False),
            ("ring", 61, True, True),
            ("revealed-er", 40, False, True),
            ("revealed-er", 41, False, False),
            ("random(r=uniform)", 61, False, True),  # has a formula for any number of arms
        )
    ):
        calls.clear()
        place, one = tmp_path / str(number), plan("ts-n", graph=graph, arms=arms, horizon=2)
        run_study(place, "s", [Point(one)], bounds=asked)
        (entry,) = entries(place)
        assert isinstance(entry, SimulationEntry)
        assert bool(entry.bounds) is computed
        assert bool(calls) is (computed and "random" not in graph)
        assert bool(entry.notes) is not computed
        if not computed:
            (note,) = entry.notes
            assert f"with {arms} arms" in note
            assert "--bounds" in note


def test_the_entropy_of_many_priors_is_computed_only_if_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> float:
        raise AssertionError("not asked for")

    priors = Bernoulli(BetaBernoulli(np.ones(5), np.arange(1.0, 6.0)))
    run_study(tmp_path, "s", [Point(plan("ts-n", world=priors, graph="random(r=0.25)", horizon=2))])
    (entry,) = entries(tmp_path)
    assert isinstance(entry, SimulationEntry)
    assert entry.bounds
    monkeypatch.setattr("graphbandits.study.export.MAX_DISTINCT_PRIORS", 4)
    monkeypatch.setattr(theory.bounds, "entropy_of", refuse)
    (entry,) = entries(tmp_path)
    assert isinstance(entry, SimulationEntry)
    assert entry.bounds == ()
    assert "--bounds" in entry.notes[0]
