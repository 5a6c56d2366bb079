"""Tests of experiments/study.py: reading a study, its progress and its damage."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers import FIXTURES
from helpers.bad_input import refuses
from helpers.stores import Point, run_study, sweep

import graphbandits
from graphbandits import (
    Bernoulli,
    BetaBernoulli,
    Study,
    open_studies,
    open_study,
    reproduce,
    run_experiment,
    simulate,
)
from graphbandits.engine import Plan
from graphbandits.errors import InputError
from graphbandits.experiments import dry_run, run_plan
from graphbandits.store import Store
from graphbandits.store.record import describe_cell

SWEEP_FILE = """title = "More to see"
graph = "random(r={r})"
arms = 3
horizon = 12
trials = 6
policies = ["ts-n", "ids-n"]
[[sweeps]]
parameter = "r"
values = [0, 0.5]
"""


@pytest.fixture
def sweep_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "sweep.toml"
    file.write_text(SWEEP_FILE, "utf-8")
    return file


def test_a_study_reports_draws_and_compares(sweep_file: Path, tmp_path: Path) -> None:
    study = run_experiment(sweep_file, workers=1, pages=False, progress=False)
    page = study.report("elsewhere.html")
    assert page == Path("elsewhere.html")
    assert "More to see" in page.read_text("utf-8")
    assert json.loads(Path("elsewhere.json").read_text()).keys() == {"sweep-r"}
    Path("drawn").mkdir()
    assert study.figures("drawn", formats=["pdf"]) == [Path("drawn/figure-sweep-r.pdf")]
    assert Path("drawn/figure-sweep-r.pdf").read_bytes().startswith(b"%PDF")
    with refuses(InputError, match="the name of the report is empty"):
        study.report("")

    longer = run_experiment(
        sweep_file,
        output="more",
        trials=9,
        policies=["ucb-n"],
        workers=1,
        pages=False,
        progress=False,
    )
    compared = study.compare(longer, reference="ts-n")
    assert len(compared.comparisons) == 2
    assert {row.policy for row in compared.comparisons[0].rows} == {"ts-n", "ids-n", "ucb-n"}
    assert compared.to_dict()["comparisons"][0]["against"] == "ts-n"
    assert len(study.compare().comparisons) == 2  # one per cell
    with refuses(InputError, match="a study is given twice"):
        study.compare(open_study("sweep"))


def test_studies_of_one_store_and_of_directories_of_one_name_are_compared(tmp_path: Path) -> None:
    def study(place: str, policy: str) -> Study:
        plan = Plan.of(["ts-n", policy], graph="paper", horizon=5, trials=3)
        return run_plan(plan, tmp_path / place / "out", workers=1, pages=False, progress=False)

    one, other = study("x", "ids-n"), study("y", "ucb-n")
    (found,) = one.compare(other).comparisons
    assert {row.policy for row in found.rows} == {"ts-n", "ids-n", "ucb-n"}
    store, record = one.store, one.record.model_dump() | {"key": "second"}
    store.put_study("second", record)
    (found,) = one.compare(Study.open(store, "second"), other).comparisons
    assert [place.store for place in found.cells] == [
        "x/out/simulation",
        "x/out/second",
        "y/out/simulation",
    ]
    with refuses(InputError, match="compare_studies needs studies, as returned by open_study"):
        one.compare("x")  # type: ignore[arg-type]


def test_a_report_is_about_the_study_that_writes_it(sweep_file: Path) -> None:
    options = {"output": "out", "workers": 1, "pages": False, "progress": False}
    longer = run_experiment(sweep_file, trials=6, **options)  # type: ignore[arg-type]
    run_experiment(sweep_file, trials=2, **options)  # type: ignore[arg-type]
    longer.report("page.html")
    (entry,) = json.loads(Path("page.json").read_text()).values()
    assert entry["runs"][0]["settings"]["trials"] == 6


def test_single_text_is_accepted_as_a_list(sweep_file: Path) -> None:
    found = dry_run(sweep_file, policies="ucb-n")
    assert [task.policy for task in found.tasks].count("ucb-n") == 2
    with refuses(InputError, match="unknown figure '9z'"):
        reproduce("9z")


def test_a_store_of_version_0_6_0_is_read_and_resuming_it_computes_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The names of its series differ (they depend on the sources); the numbers are the same."""
    old = shutil.copytree(FIXTURES / "store-0.6.0", tmp_path / "store-0.6.0")
    before = open_study(old)
    recorded = [cell.results() for cell in before.cells]
    study = run_experiment(
        FIXTURES / "store-0.6.0.toml", output=old, ratios="bound", workers=1, pages=False
    )
    assert "was computed by other sources or versions: its trials are" in capsys.readouterr().err
    assert before.record.series.keys().isdisjoint(study.record.series)
    for cell, results in zip(study.cells, recorded, strict=True):
        for name in results.policies:
            same = np.isclose(cell.results(name)[name].final, results[name].final, atol=1e-9)
            assert same.sum() >= 7, name  # on another CPU a near tie can be decided differently
    assert study.verify() == []


@pytest.mark.parametrize(
    ("figure", "wrong"),
    [({}, "the kind None"), ({"kind": "nope"}, "the kind 'nope'")]
    + [({"kind": "final", "formats": formats}, "the formats") for formats in (5, [5])],
)
def test_a_record_whose_figures_are_damaged_is_refused(
    tmp_path: Path, figure: dict[str, object], wrong: str
) -> None:
    plan = Plan.of("ts-n", graph="paper", horizon=3, trials=2)
    run_plan(plan, tmp_path, workers=1, pages=False, progress=False)
    file = tmp_path / "studies" / "simulation.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | {"figures": [figure]}))
    with pytest.raises(InputError, match=rf"simulation.json is damaged \(.*figure 1 has {wrong}"):
        open_study(tmp_path)


NAMES = ["ts-n", "ids-n"]
DIRECTED = "edges(1>2:0.5 2>3 3-1)"


def plan(policies: list[str] = NAMES, **changes: Any) -> Plan:
    settings = {"graph": DIRECTED, "horizon": 20, "trials": 6, "seed": 3} | changes
    return Plan.of(policies, **settings)


def grid(place: Path) -> Study:
    points = [
        Point(plan(graph=f"random(r={r})", arms=arms), {"r": r, "arms": arms}, 0)
        for arms in (2, 3)
        for r in (0.0, 0.5, 1)
    ]
    return run_study(place, "grid", points, sweeps=[sweep("r", "arms", x="r", title="Both")])


def same(found: graphbandits.Results, wanted: graphbandits.Results) -> None:
    """Compare all bits, except the curves of trials, which a summary does not have."""
    assert found.settings == wanted.settings
    assert found.arms == wanted.arms
    assert list(found.policies) == list(wanted.policies)
    assert np.array_equal(found.rounds, wanted.rounds)
    for name in wanted.policies:
        for part in ("mean", "standard_error", "quantiles", "final", "plays"):
            assert np.array_equal(getattr(found[name], part), getattr(wanted[name], part)), part


def test_results_of_a_study_equal_those_of_simulate(tmp_path: Path) -> None:
    prior = BetaBernoulli(np.array([1.0, 2.0, 3.0]), np.array([3.0, 2.0, 1.5]))
    settings = {
        "graph": DIRECTED,
        "horizon": 30,
        "trials": 11,
        "seed": 5,
        "world": Bernoulli(prior),
    }
    run_study(tmp_path, "one", [Point(Plan.of(NAMES, **settings))])
    study = open_study(tmp_path)
    same(study.results(), simulate(NAMES, **settings))
    same(study.results(policies=["ids-n"]), simulate("ids-n", **settings))
    (cell,) = study.cells
    assert np.array_equal(cell.posterior.b, [3, 2, 1.5])
    assert cell.results().graph is not None


def test_trials_that_begin_later_keep_their_numbers(tmp_path: Path) -> None:
    run_study(tmp_path, "late", [Point(plan(first_trial=7))])
    wanted = simulate(NAMES, graph=DIRECTED, horizon=20, trials=6, seed=3, first_trial=7)
    same(open_study(tmp_path).results(), wanted)


def test_a_point_of_a_grid_is_found_by_its_values(tmp_path: Path) -> None:
    study = grid(tmp_path)
    wanted = simulate(NAMES, graph="random(r=0.5)", arms=3, horizon=20, trials=6, seed=3)
    same(study.results(arms=3, r=0.5), wanted)
    same(study.results({"r": 0.5}, arms=3), wanted)
    assert [cell.point["arms"] for cell in study.select(r=0.5)] == [2, 3]
    assert [cell.point for cell in study][1] == {"r": 0.5, "arms": 2}
    assert len(study) == 6
    assert study.parameters == ("r", "arms")


@pytest.mark.parametrize(
    ("point", "message"),
    [
        ({"r": 0.5}, "has 2 cells at r = 0.5: give arms: 2, 3"),
        ({}, "has 6 cells: give r: 0.0, 0.5, 1; arms: 2, 3"),
        ({"r": 0.3}, "no cell at r = 0.3; values: r: 0.0, 0.5, 1"),
        ({"arm": 2}, "'arm' was not swept in the study 'grid': did you mean 'arms'?"),
    ],
)
def test_unknown_point_lists_the_existing_ones(
    tmp_path: Path, point: dict[str, Any], message: str
) -> None:
    study = grid(tmp_path)
    with pytest.raises(InputError) as error:
        study.results(point)
    assert message in str(error.value)


def test_grid_has_a_slice_per_value_off_the_axis(tmp_path: Path) -> None:
    two, three = grid(tmp_path).slices()
    assert (two.key, two.title, dict(two.fixed)) == ("grid-r-arms-2", "Both: arms = 2", {"arms": 2})
    assert three.title == "Both: arms = 3"
    assert list(two.cells) == [0.0, 0.5, 1]
    assert three.cells[0.5].point == {"r": 0.5, "arms": 3}
    assert (two.label, two.scale) == ("r", "linear")


def test_lists_and_texts_are_categories(tmp_path: Path) -> None:
    cells = [("star", 3), ("ring", 4)]
    points = [Point(plan(graph=g, arms=k), {"g": g, "arms": k}, 0) for g, k in cells]
    points += [
        Point(plan(graph=g, arms=3), {"kind": h}, 1) for g, h in (("star", 1), ("path", "b"))
    ]
    points += [Point(plan(graph=g, arms=3), {"g": g, "arms": 3}, 2) for g in ("star", "path")]
    study = run_study(
        tmp_path,
        "list",
        points,
        sweeps=[
            sweep("g", "arms", x=None),
            sweep("kind", x="kind", scale="log"),
            sweep("g", "arms", x=None, label="problem"),
        ],
    )
    first, second, third = study.slices()
    assert (list(first.cells), first.label, first.fixed) == (["star, 3", "ring, 4"], "g, arms", {})
    assert (list(second.cells), second.scale) == (["1", "b"], "linear")
    assert list(third.cells) == ["g = star, arms = 3", "g = path, arms = 3"]
    assert len({part.key for part in study.slices()}) == 3


def test_categories_with_commas_in_their_values_name_the_parameters(tmp_path: Path) -> None:
    cells = [("1,9", 3), ("uniform", 4)]
    points = [Point(plan(), {"prior": p, "arms": k}, 0) for p, k in cells]
    (part,) = run_study(tmp_path, "a", points, sweeps=[sweep("prior", "arms", x=None)]).slices()
    assert list(part.cells) == ["prior = 1,9, arms = 3", "prior = uniform, arms = 4"]


def test_results_with_curves_equal_those_of_simulate(tmp_path: Path) -> None:
    study = run_study(tmp_path, "a", [Point(plan(ratios="bound"))])
    wanted = simulate(NAMES, graph=DIRECTED, horizon=20, trials=6, seed=3, ratios="bound")
    found = study.results(curves=True)
    for table in ("regret", "ratios"):
        assert found.to_polars(table).equals(wanted.to_polars(table))
    with refuses(InputError, match="these results have only the means of the information ratios"):
        study.results().to_pandas("ratios")
    without = run_study(tmp_path, "b", [Point(plan())])
    with refuses(InputError, match="these results have no information ratios"):
        without.results().to_pandas("ratios")


def test_policies_are_selected_by_text_or_line(tmp_path: Path) -> None:
    texts = {c: f"eps-greedy-lp(c={c})" for c in (2, 4)}
    points = [
        Point(plan(["ts-n", text], graph="star", arms=3), {"c": c}, 0, {text: "eps-greedy-lp(c=…)"})
        for c, text in texts.items()
    ]
    study = run_study(tmp_path, "a", points, sweeps=[sweep("c", x="c")])
    assert list(study.results(c=2, policies="ts-n").policies) == ["ts-n"]
    for name in (texts[4], "eps-greedy-lp(c=…)", "eps-greedy-lp(c={c})"):
        assert list(study.results(c=4, policies=name).policies) == [texts[4]]
    both = study.results(c=4, policies=["eps-greedy-lp(c=…)", texts[4], "ts-n"])
    assert list(both.policies) == [texts[4], "ts-n"]
    with refuses(InputError, match=r"no policy 'eps-greedy-lp\(c=2\)' at c = 4"):
        study.results(c=4, policies=texts[2])


def test_a_study_is_a_sequence_of_its_cells(tmp_path: Path) -> None:
    study = grid(tmp_path)
    assert study[0] is study.cells[0]
    assert study[-1].point == {"r": 1, "arms": 3}
    assert study[1:3] == study.cells[1:3]
    with pytest.raises(IndexError):
        study[6]


def test_point_of_a_list_is_found_by_its_values(tmp_path: Path) -> None:
    points = [
        Point(plan(), {"prior": prior, "r": r}, 0) for prior in ("1,9", "1,2 3,4") for r in (1, 2)
    ]
    study = run_study(tmp_path, "a", points, sweeps=[sweep("prior", "r", x="r")])
    assert study.cell(prior=[1, 9], r=2) is study[1]
    assert study.cell(prior=(1.0, 9.0), r=1) is study[0]
    assert study.cell(prior=[[1, 2], [3, 4]], r=1) is study[2]
    assert study.cell({"prior": "1,9"}, r=1) is study[0]
    with refuses(InputError, match="the study 'a' has no cell at prior = 1,8"):
        study.cell(prior=[1, 8])


def test_ambiguous_point_of_several_sweeps_is_refused(tmp_path: Path) -> None:
    points = [Point(plan(), {"r": r, "arms": 3}, 0) for r in (0.5, 1)]
    points += [Point(plan(), {"arms": k}, 1) for k in (3, 4)]
    points += [Point(plan(), {"arms": k}, 2) for k in (4, 5)]
    titles = ("By r", "By arms", "Again")
    swept = [("r", "arms"), ("arms",), ("arms",)]
    sweeps = [sweep(*p, x=p[0], title=t) for p, t in zip(swept, titles, strict=True)]
    study = run_study(tmp_path, "a", points, sweeps=sweeps)
    choices = "give r: 0.5, 1; arms: 3 (By r), or arms: 3, 4 (By arms), or arms: 4, 5 (Again)"
    with pytest.raises(InputError, match=re.escape(choices)):
        study.results()
    with refuses(InputError, match="the study 'a' has 2 cells at arms = 4"):
        study.results(arms=4)
    assert [cell.sweep for cell in study.select(arms=4)] == [1, 2]


def test_progress_counts_trials_and_names_incomplete_policies(tmp_path: Path) -> None:
    there = {"ids-n": [(0, 2), (4, 1)]}
    study = run_study(tmp_path, "half", [Point(plan(), there=there)])
    progress = study.progress()
    assert (progress.done, progress.trials, progress.complete) == (9, 12, False)
    assert [(part.policy, part.missing) for part in progress.missing] == [("ids-n", 3)]
    assert "9 of 12 trials (75 %); incomplete: ids-n (3 of 6 trials)" in repr(progress)
    assert study.cells[0].complete() == ["ts-n"]
    with refuses(InputError, match="run the experiment again to compute them"):
        study.results()
    assert list(study.results(policies=["ts-n"]).policies) == ["ts-n"]
    with refuses(InputError, match="no policy 'idsn'"):
        study.results(policies=["idsn"])


def test_shared_trials_count_once(tmp_path: Path) -> None:
    points = [Point(plan(), {"c": c}, 0) for c in (1, 2)]
    study = run_study(tmp_path, "twice", points, sweeps=[sweep("c", x="c")])
    assert study.progress().trials == 12


def test_opening_reads_no_shard_and_no_description(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    grid(tmp_path)

    def refuse(*_: object) -> None:
        raise AssertionError("read")

    monkeypatch.setattr(Store, "read", refuse)
    monkeypatch.setattr(Store, "cell", refuse)
    study = open_study(tmp_path)
    assert study.progress().complete
    assert [part.key for part in study.slices()] == ["grid-r-arms-2", "grid-r-arms-3"]
    text = repr(study) + repr(study.cells[0]) + repr(open_studies(tmp_path))
    assert "6 cells over r, arms, 6 trials" in text
    assert "<Cell at r = 0.0, arms = 2: 6 trials of ts-n, ids-n>" in text


def test_studies_of_a_directory_are_listed(tmp_path: Path) -> None:
    run_study(tmp_path, "b", [Point(plan(["ts-n"], trials=1))])
    run_study(tmp_path, "a", [Point(plan(["ts-n"], trials=2))])
    studies = open_studies(tmp_path)
    assert (list(studies), len(studies), "a" in studies, "c" in studies) == (
        ["a", "b"],
        2,
        True,
        False,
    )
    assert studies["b"].trials == 1
    assert open_study(tmp_path, "a").trials == 2
    with refuses(InputError):
        open_study(tmp_path)
    for key in ("c", "../studies/a"):
        with refuses(InputError):
            open_study(tmp_path, key)


def test_missing_store_and_missing_study_have_different_messages(tmp_path: Path) -> None:
    with refuses(InputError, match=r"is not a store: it has no store\.json"):
        open_study(tmp_path)
    Store.create(tmp_path)
    with refuses(InputError, match="has no studies: create one with"):
        open_study(tmp_path)
    with refuses(InputError):
        open_study(tmp_path, "a")


def spoil(record: dict[str, Any], path: tuple[Any, ...], value: Any) -> None:
    *above, last = path
    for part in above:
        record = record[part]
    record[last] = value


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (("trials",), "6", "trials: Input should be a valid integer"),
        (("trials",), 0, "trials: Input should be greater than or equal to 1"),
        (("cells",), [], "cells: List should have at least 1 item"),
        (("cells", 0, "cell"), "../../../etc/passwd", "cells.0.cell: String should match"),
        (("cells", 0, "policies", "ts-n"), "zz", "cells.0.policies.ts-n: String should match"),
        (("cells", 0, "sweep"), 1, "cell 1 refers to a sweep that does not exist"),
        (("cells", 0, "point"), {"q": 1}, "the point of cell 1 has other parameters"),
        (("cells", 0, "lines"), {}, "the keys of lines are not its policies"),
        (("cells", 0, "lines"), {"ts-n": "a", "ids-n": "a"}, "two policies have the same line"),
        (("sweeps", 0, "x"), "q", "x is 'q', which is not one of its parameters"),
        (("sweeps", 0, "scale"), "cubic", "sweeps.0.scale: Input should be 'linear' or 'log'"),
        (("published",), {"source": "me", "means": {"ts-n": [1]}}, "published.means.ts-n"),
        (("key",), "other", "its key is 'other'"),
        (("format",), 0, "format: Input should be greater"),
    ],
)
def test_damaged_record_is_reported_in_one_line(
    tmp_path: Path, path: tuple[Any, ...], value: Any, message: str
) -> None:
    grid(tmp_path)
    file = tmp_path / "studies" / "grid.json"
    record = json.loads(file.read_text())
    spoil(record, path, value)
    file.write_text(json.dumps(record))
    with pytest.raises(InputError) as error:
        open_study(tmp_path)
    found = str(error.value)
    assert found.startswith(f"{file} is damaged (")
    assert message in found
    assert found.endswith("run the experiment again to write a new one")
    assert "\n" not in found


@pytest.mark.parametrize("text", ["[]", "null", '{"format": 1}', '"study"'])
def test_json_that_is_no_record_is_reported_as_damage(tmp_path: Path, text: str) -> None:
    run_study(tmp_path, "a", [Point(plan(["ts-n"], trials=1))])
    (tmp_path / "studies" / "a.json").write_text(text)
    with refuses(InputError):
        open_study(tmp_path)


def test_a_newer_record_is_refused_by_its_format(tmp_path: Path) -> None:
    run_study(tmp_path, "a", [Point(plan(["ts-n"], trials=1))])
    (tmp_path / "studies" / "a.json").write_text('{"format": 2}')
    with refuses(
        InputError, match="has format 2, but this version of graphbandits reads formats up"
    ):
        open_study(tmp_path)


def test_unknown_field_of_the_same_format_is_ignored(tmp_path: Path) -> None:
    study = run_study(tmp_path, "a", [Point(plan(["ts-n"], trials=1))], later="this")
    assert open_study(tmp_path).title == study.title


def test_claims_and_published_means_are_read_from_the_record(tmp_path: Path) -> None:
    claim = {"text": "Less.", "source": "me", "better": ["ids-n"], "than": ["ts-n"]}
    published = {"source": "you", "means": {"ts-n": [2, 0.5]}}
    study = run_study(tmp_path, "a", [Point(plan())], claims=[claim], published=published)
    assert study.claims[0].pairs == [("ids-n", "ts-n")]
    assert study.published is not None
    assert study.published.means == {"ts-n": (2, 0.5)}


def test_description_has_all_settings_of_the_results() -> None:
    described = plan(rounds=[5, 20])
    meta, arrays = describe_cell(described)
    assert meta["settings"] == described.settings()
    assert meta["rounds"] == [5, 20]
    assert meta["arms"] == ["1", "2", "3"]
    assert json.loads(json.dumps(meta)) == meta
    assert np.array_equal(arrays["prior/a"], [1, 1, 1])
