"""Tests of study/run.py: experiments from Python."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from helpers.made_up_results import same
from helpers.stores import files_in

from graphbandits import Study, reproduce, run_experiment, simulate
from graphbandits.errors import InputError, InputWarning
from graphbandits.plugins import unload_plugin
from graphbandits.simulation.plan import Plan
from graphbandits.simulation.run import Failure, WorkerOptions, compute_missing, simulate_plan
from graphbandits.study.directory import Directory, tasks_of_plans
from graphbandits.study.experiment import load_experiment
from graphbandits.study.run import IncompleteStudyError, run_plan

BOOM = """
from dataclasses import dataclass
from graphbandits.policies.thompson import TSN
from graphbandits.registry import register

@register("policy", "boom")
@dataclass(frozen=True)
class Boom(TSN):
    "Fails in its second round."

    def propose(self, state, view):
        if view.t == 2:
            raise ZeroDivisionError("no")
        return super().propose(state, view)
"""


def test_run_experiment_returns_its_study(sweep_file: Path) -> None:
    study = run_experiment(sweep_file, workers=1, progress=False)
    assert isinstance(study, Study)
    assert study.directory.path == Path("sweep")
    for r in (0, 0.5):
        alone = simulate(["ts-n", "ids-n"], graph=f"random(r={r})", arms=3, horizon=12, trials=6)
        same(study.results(r=r), alone)
    assert {"report.html", "summary.json", "figure-sweep-r.png"} <= set(files_in(Path("sweep")))
    assert json.loads(Path("sweep/summary.json").read_text()).keys() == study.summary().keys()
    assert study.verify() == []
    assert study.rerun == f"graphbandits run {sweep_file} --trials=6 --seed=0 --output=sweep"


def test_a_second_call_computes_only_what_is_missing(sweep_file: Path) -> None:
    decisions: list[int] = []
    how = {"pages": False, "workers": 1, "progress": decisions.append}
    run_experiment(sweep_file, **how)  # type: ignore[arg-type]
    assert sum(decisions) == 2 * 2 * 6 * 12
    assert not list(Path("sweep").glob("*.html"))
    decisions.clear()
    study = run_experiment(sweep_file, policies=["ucb-n"], **how)  # type: ignore[arg-type]
    assert sum(decisions) == 2 * 6 * 12
    assert list(study.cells[0].series) == ["ts-n", "ids-n", "ucb-n"]
    before = {path.name for path in Path("sweep").rglob("*.parquet")}
    study = run_experiment(sweep_file, trials=4, **how)  # type: ignore[arg-type]
    assert study.results(r=0).trials == 4
    assert {path.name for path in Path("sweep").rglob("*.parquet")} > before  # other shards


def test_failures_raise_and_finished_trials_are_kept(sweep_file: Path, tmp_path: Path) -> None:
    (tmp_path / "boom.py").write_text(BOOM)
    try:
        with pytest.raises(
            IncompleteStudyError, match="2 shards failed; all other shards"
        ) as error:
            run_experiment(
                sweep_file, policies=["boom"], plugins=["boom.py"], workers=1, progress=False
            )
        (study,) = error.value.studies
        assert [str(f).split(":")[0] for f in error.value.failures] == [
            f"'boom' at r = {r}, trials 0 to 5" for r in (0, 0.5)
        ]
        assert all(isinstance(failure, Failure) for failure in error.value.failures)
        assert study.results(r=0, policies=["ts-n"]).trials == 6
        assert "Left out" in Path("sweep/report.html").read_text("utf-8")
        assert study.rerun.endswith("--plugin=boom.py")
    finally:
        unload_plugin(tmp_path / "boom.py")


def test_a_damaged_shard_is_computed_again_with_a_warning(sweep_file: Path) -> None:
    run_experiment(sweep_file, workers=1, pages=False, progress=False)
    before = files_in(Path("sweep/shards"))
    path = min(Path("sweep").glob("shards/*/*.parquet"))
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.warns(InputWarning, match=r"is damaged \(its sha256 .*; it is computed again"):
        run_experiment(sweep_file, workers=1, pages=False, progress=False)
    assert files_in(Path("sweep/shards")) == before


def test_trials_that_vanish_during_the_run_are_missing(
    sweep_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def removing(*given: object, **how: object) -> object:
        failures = compute_missing(*given, **how)  # type: ignore[arg-type]
        min(Path("sweep").glob("shards/*/*.parquet")).unlink()
        return failures

    monkeypatch.setattr("graphbandits.study.run.compute_missing", removing)
    with pytest.raises(IncompleteStudyError, match="6 trials were removed or damaged during"):
        run_experiment(sweep_file, workers=1, pages=False, progress=False)


def test_a_study_with_other_settings_is_replaced_with_a_warning(sweep_file: Path) -> None:
    first = run_experiment(sweep_file, workers=1, pages=False, progress=False)
    with pytest.warns(InputWarning, match=r"study 'sweep' in sweep \(More to see\) was computed"):
        second = run_experiment(sweep_file, seed=1, workers=1, pages=False, progress=False)
    assert first.record.series.isdisjoint(second.record.series)
    second.remove()
    assert list(files_in(Path("sweep"))) == ["study.json"]


def test_two_runs_share_their_trials(tmp_path: Path) -> None:
    """A second run computes everything while the first is at its first shards."""
    plan = Plan.of(["ts-n", "ids-n"], graph="star", arms=3, horizon=9, trials=12)
    tasks, directory = tasks_of_plans([plan]), Directory.create(tmp_path)
    options = WorkerOptions(shard=3)
    mine: list[int] = []
    theirs: list[int] = []

    def advance(decisions: int) -> None:
        mine.append(decisions)
        if not theirs:
            theirs.append(0)
            compute_missing(directory, tasks, options, progress=theirs.append)

    assert compute_missing(directory, tasks, options, progress=advance) == []
    assert sum(mine) == sum(theirs) == plan.decisions
    assert len(list(tmp_path.rglob("*.parquet"))) == 8
    assert not any(directory.missing(task) for task in tasks)


def test_pages_are_not_prepared_if_not_requested(sweep_file: Path) -> None:
    code = (
        "import sys; from graphbandits import run_experiment\n"
        f"run_experiment({str(sweep_file)!r}, workers=1, pages=False, progress=False)\n"
        "print('matplotlib' in sys.modules)"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout == "False\n"


def test_experiment_without_a_file_needs_an_output(sweep_file: Path) -> None:
    experiment = load_experiment(sweep_file)
    with pytest.raises(InputError, match="an Experiment object has no file name: give the output"):
        run_experiment(experiment, progress=False)
    study = run_experiment(experiment, output="here", workers=1, pages=False, progress=False)
    assert (study.key, study.trials, study.rerun) == ("here", 6, "")


def test_dry_run_writes_nothing_and_counts_stored_trials(sweep_file: Path) -> None:
    progress = run_experiment(sweep_file, dry_run=True).progress()
    assert (progress.done, progress.trials, len(progress.policies)) == (0, 24, 4)
    assert not Path("sweep").exists()
    run_experiment(sweep_file, trials=4, workers=1, pages=False, progress=False)
    before = files_in(Path("sweep"))
    assert run_experiment(sweep_file, dry_run=True).progress().done == 16
    progress = run_experiment(sweep_file, policies="ucb-n", dry_run=True).progress()
    assert (progress.done, progress.trials) == (16, 36)
    assert files_in(Path("sweep")) == before


def test_invalid_arguments_are_refused_before_anything_is_written(sweep_file: Path) -> None:
    for wrong, message in (
        ({"bounds": True}, "has sweeps, which have no bounds: remove --bounds"),
        ({"formats": ["jpg"]}, "unknown file format 'jpg'"),
        ({"workers": 0}, "workers must be a whole number"),
        ({"workers": 10**6}, "workers must be at most 10000, not 1000000"),
        ({"shard": 0}, "shard must be a whole number"),
        ({"seed": -1}, "seed"),
    ):
        with pytest.raises(InputError, match=message):
            run_experiment(sweep_file, progress=False, **wrong)
        assert not list(Path().rglob("*.parquet"))


def test_chosen_formats_of_figures_are_drawn(sweep_file: Path) -> None:
    run_experiment(sweep_file, workers=1, formats=["svg"], progress=False)
    assert [path.name for path in Path("sweep").glob("figure-*")] == ["figure-sweep-r.svg"]


def test_a_plan_is_run_into_a_directory(tmp_path: Path) -> None:
    plan = Plan.of(["ts-n", "ids-n"], graph="edges(1>2 2>3)", horizon=9, trials=4)
    study = run_plan(plan, tmp_path, title="Mine", workers=1, formats=["svg"], progress=False)
    assert (study.key, study.title) == ("simulation", "Mine")
    same(study.results(), simulate_plan(plan, progress=False))


def test_the_figures_of_the_paper_are_reproduced(tmp_path: Path) -> None:
    how: dict[str, Any] = {"output": tmp_path, "trials": 2, "workers": 1, "progress": False}
    (study,) = reproduce("2b", formats=["svg"], **how)
    assert study.key == "2b"
    assert {"figure-2b.svg", "report.html"} <= set(files_in(tmp_path))
    with pytest.raises(InputError, match="unknown figure '3'"):
        reproduce(["3"], output=tmp_path)
