"""Tests of study/study.py: reading a study, its progress and its damage."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.bad_input import refuses
from helpers.made_up_results import same as same_numbers
from helpers.stores import Point, run_study, sweep

import graphbandits
from graphbandits import (
    Bernoulli,
    BetaBernoulli,
    Study,
    open_studies,
    open_study,
    run_experiment,
    simulate,
)
from graphbandits.errors import InputError
from graphbandits.simulation.plan import Plan
from graphbandits.simulation.results import concat
from graphbandits.study.claims import Claim, Published
from graphbandits.study.directory import Directory


def test_a_study_reports_and_draws(sweep_file: Path) -> None:
    study = run_experiment(sweep_file, workers=1, pages=False, progress=False)
    page = study.report("elsewhere.html")
    assert page == Path("elsewhere.html")
    assert "More to see" in page.read_text("utf-8")
    assert json.loads(Path("elsewhere.json").read_text()).keys() == {"sweep-r"}
    Path("drawn").mkdir()
    assert study.figures("drawn", formats=["pdf"]) == [Path("drawn/figure-sweep-r.pdf")]
    assert Path("drawn/figure-sweep-r.pdf").read_bytes().startswith(b"%PDF")
    with pytest.raises(InputError, match="the name of the report is empty"):
        study.report("")


def test_results_of_several_studies_are_compared(sweep_file: Path) -> None:
    """Paired differences across directories, and of two versions of a policy."""
    how = {"workers": 1, "pages": False, "progress": False}
    one = run_experiment(sweep_file, **how).results(r=0.5)  # type: ignore[arg-type]
    more = run_experiment(sweep_file, output="more", policies=["ucb-n"], **how)  # type: ignore[arg-type]
    other = more.results(r=0.5, policies=["ucb-n", "ts-n"])
    together = concat([one, other.renamed({"ts-n": "ts-n (more)"})])
    found = {(d.first, d.second): d for d in together.differences("ts-n")}
    assert found["ts-n (more)", "ts-n"].mean == 0.0
    wanted = other["ucb-n"].final - one["ts-n"].final
    assert found["ucb-n", "ts-n"].mean == wanted.mean()


def test_seeds_of_a_sweep_are_pooled(tmp_path: Path) -> None:
    points = [
        Point(plan(seed=s, graph="star", arms=k), {"seed": s, "arms": k}, 0)
        for s in (5, 9)
        for k in (3, 4)
    ]
    study = run_study(tmp_path, "s", points, sweeps=[sweep("seed", "arms", x="arms")])
    pooled = study.results(arms=3, pool="seed")
    apart = [study.results(arms=3, seed=s) for s in (5, 9)]
    assert pooled.runs == [one.runs[0] for one in apart]
    for name in NAMES:
        assert pooled[name].final.tolist() == [v for one in apart for v in one[name].final]
    assert pooled.differences()[0].mean == pytest.approx(
        np.mean([one.differences(pooled.differences()[0].second)[0].mean for one in apart])
    )
    with pytest.raises(InputError, match="has several points besides the seed: give arms: 3, 4"):
        study.results(pool="seed")
    with pytest.raises(InputError, match="pool must be 'seed' in a study with a sweep over it"):
        study.results(arms=3, pool="arms")


def test_other_files_are_ignored_and_kept(tmp_path: Path) -> None:
    study = run_study(tmp_path, "a", [Point(plan(["ts-n"], trials=2))])
    others = [tmp_path / name for name in ("shards/notes", "problems/a.npz", "studies/x.txt", "z")]
    for path in others:
        path.write_text("mine")
    assert study.verify() == []
    assert study.results().trials == 2
    study.remove()
    assert all(path.exists() for path in others)


def test_a_removed_study_leaves_what_others_use(tmp_path: Path) -> None:
    both = run_study(tmp_path, "both", [Point(plan())])
    alone = run_study(tmp_path, "alone", [Point(plan(["ts-n"], trials=4))])
    other = run_study(tmp_path, "other", [Point(plan(["ts-n"], graph="ring", arms=3))])
    (tmp_path / "report.html").write_text("mine")
    both.remove("ts-n")  # the study "alone" uses its trials
    assert both.progress().complete
    both.remove(["ids-n"])
    assert [part.policy for part in both.progress().missing] == ["ids-n"]
    both.remove()
    assert list(open_studies(tmp_path)) == ["alone", "other"]
    assert alone.progress().complete
    alone.remove()
    assert other.progress().complete
    assert {path.stem for path in tmp_path.glob("problems/*")} == {other.cells[0].problem}
    assert {path.name for path in tmp_path.glob("shards/*")} == other.record.series
    assert (tmp_path / "report.html").exists()
    with pytest.raises(InputError, match="no policy 'idsn'"):
        other.remove("idsn")


def test_a_report_is_about_the_study_that_writes_it(sweep_file: Path) -> None:
    options = {"output": "out", "workers": 1, "pages": False, "progress": False}
    longer = run_experiment(sweep_file, trials=6, **options)  # type: ignore[arg-type]
    run_experiment(sweep_file, trials=2, **options)  # type: ignore[arg-type]
    longer.report("page.html")
    (entry,) = json.loads(Path("page.json").read_text()).values()
    assert entry["runs"][0]["settings"]["trials"] == 6


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
    """Compare all bits and all settings."""
    assert found.settings == wanted.settings
    same_numbers(found, wanted)


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


def test_unknown_point_lists_the_existing_ones(tmp_path: Path) -> None:
    for point, message in (
        ({"r": 0.5}, "has 2 cells at r = 0.5: give values of other parameters (arms: 2, 3)"),
        ({}, "(r: 0.0, 0.5, 1; arms: 2, 3)"),
        ({"r": 0.3}, "no cell at r = 0.3; values: r: 0.0, 0.5, 1"),
        ({"arm": 2}, "'arm' was not swept in the study 'grid': did you mean 'arms'?"),
    ):
        study = grid(tmp_path)
        with pytest.raises(InputError) as error:
            study.results(point)
        assert message in str(error.value)


def test_lists_and_texts_are_categories(tmp_path: Path) -> None:
    points = [Point(plan(), {"g": g, "arms": k}, 0) for g, k in (("star", 3), ("ring", 4))]
    points += [Point(plan(), {"kind": kind}, 1) for kind in "ab"]
    points += [Point(plan(), {"g": g, "arms": 3}, 2) for g in ("star", "path")]
    points += [Point(plan(), {"prior": p, "arms": 3}, 3) for p in ("1,9", "uniform")]
    sweeps = [
        sweep("g", "arms", x=None),
        sweep("kind", x="kind"),
        sweep("g", "arms", x=None, label="problem"),
        sweep("prior", "arms", x=None),
    ]
    first, second, third, last = run_study(tmp_path, "list", points, sweeps=sweeps).slices()
    assert (list(first.cells), first.label) == (["star, 3", "ring, 4"], "g, arms")
    assert (list(second.cells), second.scale) == (["a", "b"], "linear")
    # the parameters are named unless the label does, and if a value has a comma
    assert list(third.cells) == ["g = star, arms = 3", "g = path, arms = 3"]
    assert list(last.cells) == ["prior = 1,9, arms = 3", "prior = uniform, arms = 3"]
    assert len({part.key for part in (first, second, third, last)}) == 4


def test_results_have_curves_or_summaries(tmp_path: Path) -> None:
    study = run_study(tmp_path, "a", [Point(plan(ratios="bound"))])
    wanted = simulate(NAMES, graph=DIRECTED, horizon=20, trials=6, seed=3, ratios="bound")
    for table in ("regret", "ratios"):
        assert study.results().to_polars(table).equals(wanted.to_polars(table))
    summary = study.results(curves=False)
    for name in NAMES:
        for part in ("mean", "standard_error", "quantiles", "final", "plays", "rank_plays"):
            assert (getattr(summary[name], part) == getattr(wanted[name], part)).all()
        assert (summary[name].ratio_sums.mean == wanted[name].ratio_sums.mean).all()
    with pytest.raises(InputError, match=r"these results are summaries: "):
        summary.to_pandas("ratios")


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
    with refuses(InputError, match=r"give values of other parameters \(r: 0.5, 1; arms: 3, 4, 5"):
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


def test_opening_reads_no_shard_and_no_problem(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    grid(tmp_path)

    def refuse(*_: object) -> None:
        raise AssertionError("read")

    monkeypatch.setattr(Directory, "read", refuse)
    monkeypatch.setattr(Directory, "problem", refuse)
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
    with pytest.raises(InputError, match="has 2 studies: give the key of one: a, b"):
        open_study(tmp_path)
    for key, message in (
        ("c", "no study 'c' in .*: choose from a, b"),
        ("../a", "valid file name"),
    ):
        with pytest.raises(InputError, match=message):
            open_study(tmp_path, key)


def test_missing_directory_and_missing_study_have_different_messages(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"has no studies: it has no study.json"):
        open_study(tmp_path)
    Directory.create(tmp_path)
    with pytest.raises(InputError, match="has no studies: create one with"):
        open_study(tmp_path)
    with pytest.raises(InputError, match=r"no study 'a' in .*: there are none"):
        open_study(tmp_path, "a")


def spoil(record: dict[str, Any], path: tuple[Any, ...], value: Any) -> None:
    *above, last = path
    for part in above:
        record = record[part]
    record[last] = value


def test_damaged_record_is_reported_in_one_line(tmp_path: Path) -> None:
    grid(tmp_path)
    file = tmp_path / "studies" / "grid.json"
    sound = file.read_text()
    for path, value, message in (
        (("trials",), "6", "trials: Input should be a valid integer"),
        (("trials",), 0, "trials: Input should be greater than or equal to 1"),
        (("points",), [], "points: List should have at least 1 item"),
        (("points", 0, "problem"), "../../../etc/passwd", "points.0.problem: String should match"),
        (("points", 0, "policies", "ts-n"), "zz", "points.0.policies.ts-n: String should match"),
        (("points", 0, "sweep"), 1, "point 1 refers to a sweep that does not exist"),
        (("points", 0, "point"), {"q": 1}, "point 1 has other parameters"),
        (("points", 0, "lines"), {}, "the keys of lines are not its policies"),
        (("points", 0, "lines"), {"ts-n": "a", "ids-n": "a"}, "two policies have the same line"),
        (("sweeps", 0, "x"), "q", "x is 'q', which is not one of its parameters"),
        (("sweeps", 0, "scale"), "cubic", "sweeps.0.scale: Input should be 'linear' or 'log'"),
        (("published",), {"source": "me", "means": {"ts-n": [1]}}, "published.means.ts-n"),
        (("key",), "other", "its key is 'other'"),
        (("later",), 0, "later: Extra inputs are not permitted"),
    ):
        record = json.loads(sound)
        spoil(record, path, value)
        file.write_text(json.dumps(record))
        with pytest.raises(InputError) as error:
            open_study(tmp_path)
        found = str(error.value)
        assert found.startswith(f"{file} is damaged (")
        assert message in found
        assert found.endswith("run the experiment again to repair it")
        assert "\n" not in found


def test_claims_and_published_means_are_read_from_the_record(tmp_path: Path) -> None:
    claim = Claim("Less.", ("ids-n",), ("ts-n",), "me")
    published = Published({"ts-n": (2, 0.5)}, "you")
    run_study(tmp_path, "a", [Point(plan())], claims=[claim], published=published)
    study = open_study(tmp_path)
    assert study.claims[0].pairs == [("ids-n", "ts-n")]
    assert study.published is not None
    assert study.published.means == {"ts-n": (2, 0.5)}
