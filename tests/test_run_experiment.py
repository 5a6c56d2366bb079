"""Experiments from Python: what the commands do, one call does."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pytest
from stores import files_in

from graphbandits import Study, load_plugin, open_study, reproduce, run_experiment, simulate
from graphbandits.engine import Plan, Task
from graphbandits.errors import InputError
from graphbandits.experiments import IncompleteStudyError, dry_run, load_experiment, run_plan
from graphbandits.plugins import unload_plugin
from graphbandits.store import Failure, RunMonitor, Store, WorkerOptions, simulate_plan

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


def test_an_experiment_is_run_and_its_study_returned(sweep: Path) -> None:
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


class Counting(RunMonitor):
    """Notes what a run reports."""

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


def test_a_monitor_receives_every_step(sweep: Path) -> None:
    monitor = Counting()
    run_experiment(sweep, workers=1, progress=monitor)
    assert monitor.calls == ["prepared", "started", "stopped", "written"]
    assert monitor.decisions == 2 * 2 * 6 * 12
    again = Counting()  # nothing is missing, and so nothing is started
    run_experiment(sweep, workers=1, progress=again)
    assert again.calls == ["prepared", "written"]


def test_what_fails_is_an_error_and_the_rest_is_kept(sweep: Path, tmp_path: Path) -> None:
    (tmp_path / "boom.py").write_text(BOOM)
    try:
        with pytest.raises(IncompleteStudyError, match="2 shards failed; the others are") as error:
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


def test_a_study_reports_draws_and_compares(sweep: Path, tmp_path: Path) -> None:
    study = run_experiment(sweep, workers=1, pages=False, progress=False)
    page = study.report("elsewhere.html")
    assert page == Path("elsewhere.html")
    assert "More to see" in page.read_text("utf-8")
    assert json.loads(Path("elsewhere.json").read_text()).keys() == {"sweep-r"}
    Path("drawn").mkdir()
    assert study.figures("drawn", formats=["pdf"]) == [Path("drawn/figure-sweep-r.pdf")]
    assert Path("drawn/figure-sweep-r.pdf").read_bytes().startswith(b"%PDF")
    with pytest.raises(InputError, match="must not be empty"):
        study.report("")

    longer = run_experiment(
        sweep, output="more", trials=9, policies=["ucb-n"], workers=1, pages=False, progress=False
    )
    compared = study.compare(longer, reference="ts-n")
    assert len(compared.comparisons) == 2
    assert {row.policy for row in compared.comparisons[0].rows} == {"ts-n", "ids-n", "ucb-n"}
    assert compared.to_dict()["comparisons"][0]["against"] == "ts-n"
    assert len(study.compare().comparisons) == 2  # each cell by itself
    with pytest.raises(InputError, match="given twice"):
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
    assert [place.store for place in found.places] == [
        "x/out/simulation",
        "x/out/second",
        "y/out/simulation",
    ]
    with pytest.raises(InputError, match="studies are compared, as open_study gives them, not 'x'"):
        one.compare("x")  # type: ignore[arg-type]


def test_a_report_is_about_the_study_that_writes_it(sweep: Path) -> None:
    how = {"output": "out", "workers": 1, "pages": False, "progress": False}
    longer = run_experiment(sweep, trials=6, **how)  # type: ignore[arg-type]
    run_experiment(sweep, trials=2, **how)  # type: ignore[arg-type]
    longer.report("page.html")
    (entry,) = json.loads(Path("page.json").read_text()).values()
    assert entry["runs"][0]["settings"]["trials"] == 6


def test_one_text_is_a_list_of_one(sweep: Path) -> None:
    found = dry_run(sweep, policies="ucb-n")
    assert [task.policy for task in found.tasks].count("ucb-n") == 2
    with pytest.raises(InputError, match="unknown figure '9z'"):
        reproduce("9z")


def test_figures_that_cannot_be_drawn_are_warned_of(sweep: Path) -> None:
    study = run_experiment(sweep, workers=1, pages=False, progress=False)
    for shard in Path("sweep").glob("shards/*/*.parquet"):
        shard.unlink()
    with pytest.warns(UserWarning, match="no figure of the study 'sweep' was drawn: its policies"):
        assert study.figures("new/folder") == []


def test_pages_are_not_prepared_if_they_are_not_wanted(sweep: Path) -> None:
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

    class Noting(RunMonitor):
        def computed(self, failures: Sequence[Failure]) -> None:
            seen.extend(failures)

    monkeypatch.setattr("graphbandits.experiments.outputs.write_entries", fail)
    (tmp_path / "boom.py").write_text(BOOM)
    try:
        with pytest.raises(InputError, match="the disk is full"):
            run_experiment(
                sweep, policies=["boom"], plugins="boom.py", workers=1, progress=Noting()
            )
    finally:
        unload_plugin(tmp_path / "boom.py")
    assert len(seen) == 2


def test_an_experiment_without_a_file_needs_a_place(sweep: Path) -> None:
    experiment = load_experiment(sweep)
    with pytest.raises(InputError, match="give the directory for it, output="):
        run_experiment(experiment, progress=False)
    study = run_experiment(experiment, output="here", workers=1, pages=False, progress=False)
    assert (study.key, study.trials, study.rerun) == ("here", 6, "")


def test_a_dry_run_writes_nothing_and_knows_what_is_missing(sweep: Path) -> None:
    found = dry_run(sweep, workers=2)
    assert (found.trials, sum(found.missing), len(found.tasks)) == (24, 24, 4)
    assert found.estimate.seconds > 0
    assert not Path("sweep").exists()
    run_experiment(sweep, trials=4, workers=1, pages=False, progress=False)
    assert sum(dry_run(sweep).missing) == 8
    assert sum(dry_run(sweep, policies=["ucb-n"]).missing) == 20


def test_a_plan_is_run_into_a_directory(tmp_path: Path) -> None:
    plan = Plan.of(["ts-n", "ids-n"], graph="edges(1>2 2>3)", horizon=9, trials=4)
    study = run_plan(plan, tmp_path, title="Mine", workers=1, progress=False)
    assert (study.key, study.title) == ("simulation", "Mine")
    assert study.results(curves=True).hash == simulate_plan(plan, progress=False).hash


def test_the_figures_of_the_paper_are_reproduced(tmp_path: Path) -> None:
    studies = reproduce(["2b", "1a"], output=tmp_path, trials=2, workers=1, progress=False)
    assert [study.key for study in studies] == ["1a", "2b"]
    assert {"figure-1a.png", "figure-2b.png", "report.html"} <= set(files_in(tmp_path))
    with pytest.raises(InputError, match="unknown figure '3'"):
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


def test_a_store_of_version_0_6_0_is_read_and_resuming_it_computes_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Series were named by other sources then; the numbers are the same."""
    fixtures = Path(__file__).parent / "fixtures"
    old = shutil.copytree(fixtures / "store-0.6.0", tmp_path / "store-0.6.0")
    before = open_study(old)
    recorded = [cell.results() for cell in before.cells]
    study = run_experiment(
        fixtures / "store-0.6.0.toml", output=old, ratios="bound", workers=1, pages=False
    )
    assert "was computed by other sources or versions: its trials are" in capsys.readouterr().err
    assert before.record.series.keys().isdisjoint(study.record.series)
    for cell, results in zip(study.cells, recorded, strict=True):
        for name in results.policies:
            same = np.isclose(cell.results(name)[name].final, results[name].final, atol=1e-9)
            assert same.sum() >= 7, name  # on another CPU a trial may part at a near tie
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
