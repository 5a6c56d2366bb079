"""Tests of experiments/run.py: experiments from Python."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from helpers.bad_input import refuses
from helpers.stores import files_in

from graphbandits import Study, load_plugin, reproduce, run_experiment, simulate
from graphbandits.engine import Plan, Task
from graphbandits.errors import InputError
from graphbandits.experiments import IncompleteStudyError, dry_run, load_experiment, run_plan
from graphbandits.plugins import unload_plugin
from graphbandits.store import Failure, RunProgress, Store, WorkerOptions, simulate_plan

SWEEP = """title = "More to see"
graph = "random(r={r})"
arms = 3
horizon = 12
trials = 6
policies = ["ts-n", "ids-n"]
[[sweeps]]
parameter = "r"
values = [0, 0.5]
"""
BOOM = """
from dataclasses import dataclass
from graphbandits.policies.ts_n import TSN
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


@pytest.fixture
def sweep(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "sweep.toml"
    file.write_text(SWEEP, "utf-8")
    return file


@pytest.mark.process
def test_run_experiment_returns_its_study(sweep: Path) -> None:
    study = run_experiment(sweep, workers=1, progress=False)
    assert isinstance(study, Study)
    assert study.store.path == Path("sweep")
    for r in (0, 0.5):
        alone = simulate(["ts-n", "ids-n"], graph=f"random(r={r})", arms=3, horizon=12, trials=6)
        assert study.results(r=r, curves=True).hash == alone.hash
    assert {"report.html", "summary.json", "figure-sweep-r.png"} <= set(files_in(Path("sweep")))
    assert json.loads(Path("sweep/summary.json").read_text()).keys() == study.summary().keys()
    assert study.verify() == []
    assert study.rerun == f"graphbandits run {sweep} --trials=6 --seed=0 --output=sweep"


def test_a_second_call_computes_only_what_is_missing(sweep: Path) -> None:
    monitor = Counting()
    run_experiment(sweep, pages=False, workers=1, progress=monitor)
    assert sorted(monitor.finished_tasks) == ["ids-n"] * 2 + ["ts-n"] * 2
    assert not list(Path("sweep").glob("*.html"))
    again = Counting()
    study = run_experiment(sweep, policies=["ucb-n"], workers=1, pages=False, progress=again)
    assert again.finished_tasks == ["ucb-n"] * 2
    assert list(study.cells[0].series) == ["ts-n", "ids-n", "ucb-n"]


class Counting(RunProgress):
    """Records the reports of a run."""

    def __init__(self) -> None:
        self.finished_tasks: list[str] = []
        self.decisions = 0
        self.calls: list[str] = []

    def prepared(self, store: Store, tasks: Sequence[Task], options: WorkerOptions) -> None:
        self.calls.append("prepared")

    def started(self, wanted: Mapping[Task, int], tasks: Sequence[Task], workers: int) -> None:
        self.calls.append("started")

    def advanced(self, task: Task, decisions: int) -> None:
        self.decisions += decisions

    def finished(self, task: Task, seconds: float | None) -> None:
        assert seconds is not None
        self.finished_tasks.append(task.policy)

    def stopped(self) -> None:
        self.calls.append("stopped")

    def written(self, files: Sequence[Path]) -> None:
        self.calls.append("written")


@pytest.mark.process
def test_a_monitor_receives_every_step(sweep: Path) -> None:
    monitor = Counting()
    run_experiment(sweep, workers=1, progress=monitor)
    assert monitor.calls == ["prepared", "started", "stopped", "written"]
    assert monitor.decisions == 2 * 2 * 6 * 12
    again = Counting()  # nothing is missing, and so nothing is started
    run_experiment(sweep, workers=1, progress=again)
    assert again.calls == ["prepared", "written"]


@pytest.mark.process
def test_failures_raise_and_finished_trials_are_kept(sweep: Path, tmp_path: Path) -> None:
    (tmp_path / "boom.py").write_text(BOOM)
    try:
        with refuses(IncompleteStudyError, match="2 shards failed") as error:
            run_experiment(sweep, policies=["boom"], plugins=["boom.py"], workers=1, progress=False)
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


def test_figures_that_cannot_be_drawn_give_a_warning(sweep: Path) -> None:
    study = run_experiment(sweep, workers=1, pages=False, progress=False)
    for shard in Path("sweep").glob("shards/*/*.parquet"):
        shard.unlink()
    with pytest.warns(UserWarning, match="no figure of the study 'sweep' was drawn: trials"):
        assert study.figures("new/folder") == []


@pytest.mark.process
def test_pages_are_not_prepared_if_not_requested(sweep: Path) -> None:
    code = (
        "import sys; from graphbandits import run_experiment\n"
        f"run_experiment({str(sweep)!r}, workers=1, pages=False, progress=False)\n"
        "print('matplotlib' in sys.modules)"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout == "False\n"


def test_failures_are_reported_before_pages_are_written(
    sweep: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise InputError("the disk is full")

    seen: list[Failure] = []

    class Noting(RunProgress):
        def computed(self, failures: Sequence[Failure]) -> None:
            seen.extend(failures)

    monkeypatch.setattr("graphbandits.experiments.outputs.write_entries", fail)
    (tmp_path / "boom.py").write_text(BOOM)
    try:
        with refuses(InputError, match="the disk is full"):
            run_experiment(
                sweep, policies=["boom"], plugins="boom.py", workers=1, progress=Noting()
            )
    finally:
        unload_plugin(tmp_path / "boom.py")
    assert len(seen) == 2


def test_experiment_without_a_file_needs_an_output(sweep: Path) -> None:
    experiment = load_experiment(sweep)
    with refuses(InputError, match="an Experiment object has no file name"):
        run_experiment(experiment, progress=False)
    study = run_experiment(experiment, output="here", workers=1, pages=False, progress=False)
    assert (study.key, study.trials, study.rerun) == ("here", 6, "")


def test_dry_run_writes_nothing_and_counts_missing_trials(sweep: Path) -> None:
    found = dry_run(sweep, workers=2)
    assert (found.trials, sum(found.missing), len(found.tasks)) == (24, 24, 4)
    assert found.estimate.seconds > 0
    assert not Path("sweep").exists()
    run_experiment(sweep, trials=4, workers=1, pages=False, progress=False)
    assert sum(dry_run(sweep).missing) == 8
    assert sum(dry_run(sweep, policies=["ucb-n"]).missing) == 20


@pytest.mark.process
def test_a_plan_is_run_into_a_directory(tmp_path: Path) -> None:
    plan = Plan.of(["ts-n", "ids-n"], graph="edges(1>2 2>3)", horizon=9, trials=4)
    study = run_plan(plan, tmp_path, title="Mine", workers=1, progress=False)
    assert (study.key, study.title) == ("simulation", "Mine")
    assert study.results(curves=True).hash == simulate_plan(plan, progress=False).hash


@pytest.mark.process
def test_the_figures_of_the_paper_are_reproduced(tmp_path: Path) -> None:
    studies = reproduce(["2b", "1a"], output=tmp_path, trials=2, workers=1, progress=False)
    assert [study.key for study in studies] == ["1a", "2b"]
    assert {"figure-1a.png", "figure-2b.png", "report.html"} <= set(files_in(tmp_path))
    with refuses(InputError, match="unknown figure '3'"):
        reproduce(["3"], output=tmp_path)


def test_plugins_that_are_loaded_may_be_named(sweep: Path, tmp_path: Path) -> None:
    (tmp_path / "fine.py").write_text(BOOM.replace("view.t == 2", "False").replace("boom", "fine"))
    load_plugin(tmp_path / "fine.py")
    try:
        study = run_experiment(sweep, policies=["fine"], workers=1, pages=False, progress=False)
        same = study.results(r=0.5)
        assert same["fine"].final.tolist() == same["ts-n"].final.tolist()
    finally:
        unload_plugin(tmp_path / "fine.py")
