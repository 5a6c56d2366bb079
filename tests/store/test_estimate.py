"""Tests of store/estimate.py: estimated time and size of a run."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest
from typer.testing import CliRunner

from graphbandits._io import to_npz
from graphbandits.cli import app
from graphbandits.engine import Plan, Task
from graphbandits.engine.identity import series_of
from graphbandits.engine.loop import run_recorded
from graphbandits.experiments import Experiment
from graphbandits.plugins import unload_plugin
from graphbandits.rng import Keys
from graphbandits.store import Store, WorkerOptions
from graphbandits.store import estimate as module
from graphbandits.store.estimate import MIN_BYTES_PER_NUMBER, PolicyCost, estimate, measure
from graphbandits.store.record import StudyRecord, describe_cell, tasks_of_plans

ONE = """title = "T"
graph = "random(r=0.5)"
arms = 3
horizon = 20
trials = 40
policies = ["ts-n"]
"""
BOOM = """
from dataclasses import dataclass
from graphbandits.policies.ts_n import TSN
from graphbandits.registry import register

@register("policy", "boom")
@dataclass(frozen=True)
class Boom(TSN):
    "Fails where c is 2."
    c: int = 1

    def propose(self, state, view):
        if self.c == 2:
            raise ZeroDivisionError("no\\nway")
        return super().propose(state, view)
"""


def plans(text: str) -> list[Plan]:
    return Experiment.model_validate(tomllib.loads(text)).plans()


def tasks(text: str) -> list[Task]:
    return tasks_of_plans(plans(text))


def swept(parameter: str, values: str) -> str:
    return f'{ONE}[[sweeps]]\nparameter = "{parameter}"\nvalues = {values}\n'


@pytest.fixture
def tried(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Task, int]]:
    """Return the timed tasks with their shard sizes; all tasks have the same speed."""
    found: list[tuple[Task, int]] = []

    def note(task: Task, size: int) -> PolicyCost:
        found.append((task, size))
        return PolicyCost(seconds=0.5, bytes=2.0, overhead=1000.0)

    monkeypatch.setattr(module, "measure", note)
    return found


def test_each_accuracy_is_timed_separately(tried: list[tuple[Task, int]]) -> None:
    estimate(tasks(swept("accuracy", '["simulation", "strict"]')))
    assert [task.plan.world.prior.accuracy for task, _ in tried] == ["simulation", "strict"]


def test_similar_cells_are_timed_once_at_the_longest_trials(
    tried: list[tuple[Task, int]],
) -> None:
    cost = estimate(tasks(swept("horizon", "[1, 30, 10]")))
    assert [task.plan.horizon for task, _ in tried] == [30]
    assert cost.seconds == 0.5 * 40 * (1 + 30 + 10)


def test_estimated_size_counts_numbers_shards_series_and_cells(
    tried: list[tuple[Task, int]], tmp_path: Path
) -> None:
    (plan,) = plans(ONE)
    (task,) = tasks_of_plans([plan])
    found = series_of(plan, "ts-n")
    numbers = 40 * (20 + 2 * 3)
    series = len(json.dumps(found.facts, indent=1))
    cell = len(to_npz(*describe_cell(plan)))
    assert series > 1000
    assert cell > 1000
    for workers, asked, shards in ((1, None, 1), (4, None, 4), (4, 16, 3)):
        cost = estimate([task], None, WorkerOptions(workers, shard=asked))
        assert cost.bytes == 2 * numbers + 1000 * shards + series + cell
        assert cost.most_bytes == 8 * numbers + 1000 * shards + series + cell
    assert [size for _, size in tried] == [40, 10, 16]
    store = Store.create(tmp_path / "store")
    StudyRecord.of([plan], key="key", title="T", rerun="").write(store, [plan])
    store.describe(found)
    assert estimate([task], store).bytes == 2 * numbers + 1000


@pytest.mark.parametrize("horizon", [1, 2, 20])
def test_bytes_per_number_are_positive_for_short_trials(horizon: int) -> None:
    (task,) = tasks(ONE.replace("horizon = 20", f"horizon = {horizon}"))
    pace = measure(task, 40)
    assert MIN_BYTES_PER_NUMBER <= pace.bytes <= 8
    assert pace.seconds > 0


def test_timing_run_uses_the_block_size_and_records_of_the_real_run(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (task,) = tasks(ONE.replace("horizon = 20", "horizon = 60") + "[record]\nrounds = [7, 50]\n")
    runs = []

    def note(policy, world, process, horizon, keys, recording, *more):  # type: ignore[no-untyped-def]
        runs.append((keys.trials, recording.rounds))
        return run_recorded(policy, world, process, horizon, keys, recording, *more)

    monkeypatch.setattr("graphbandits.engine.plan.run_recorded", note)
    monkeypatch.setattr(module, "MEASURED_SECONDS", float("inf"))
    measure(task, 16)
    assert runs == [(16, (7, 20)), (16, (7, 50, 60)), (1, (1,))]
    runs.clear()
    monkeypatch.setattr(module, "MEASURED_SECONDS", -1.0)  # each run ends after its first round
    measure(task, 16)
    assert runs == [(16, (7, 20)), (16, (7, 50, 60)), (16, (1,)), (1, (1,))]


def test_policies_that_fail_while_timed_are_named_and_others_estimated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("boom.py").write_text(BOOM, "utf-8")
    text = ONE.replace('"ts-n"', '"ts-n", "boom(c={c})"') + 'plugins = ["boom.py"]\n'
    Path("mine.toml").write_text(text + '[[sweeps]]\nparameter = "c"\nvalues = [3, 2]\n', "utf-8")
    runner = CliRunner(env={"COLUMNS": "80"})
    try:
        dry = runner.invoke(app, ["run", "mine.toml", "--dry-run"])
        assert dry.exit_code == 0, dry.output
        (warning,) = dry.stderr.splitlines()
        assert warning.startswith(
            "boom(c=2) at c = 2 fails in a short run: policy 'boom' failed in"
        )
        assert warning.endswith("ZeroDivisionError: no way")
        assert "Time: about" in dry.stdout
        assert "need a few MB more" in dry.stdout
        assert not Path("mine").exists()
        # a long run prints its estimated time first
        monkeypatch.setattr("graphbandits.cli.progress.LONG_RUN", 1)
        ran = runner.invoke(app, ["run", "mine.toml", "--workers", "1"])
        assert ran.exit_code == 2
        assert "short run" not in ran.stderr
        assert "failed: 'boom(c=2)' at c = 2, trials 0 to 39" in ran.stderr
        assert len(list(Path("mine").glob("shards/*/*.parquet"))) == 2
    finally:
        unload_plugin("boom.py")


@pytest.mark.parametrize("graph", ["random(r=0.5)", "complete"])
def test_estimated_size_of_trajectories_is_close(graph: str, tmp_path: Path) -> None:
    text = ONE.replace('"random(r=0.5)"', f'"{graph}"').replace("horizon = 20", "horizon = 400")
    found = {}
    for words in ((), ("actions", "observations")):
        record = "".join(f"{word} = true\n" for word in words)
        (task,) = tasks(f"{text}[record]\npoints = 10\n{record}")
        cost = estimate([task])
        shard = task.plan.run_shard("ts-n", Keys(0, 0, 40))
        size = len(shard.to_parquet({})) + len(to_npz(*describe_cell(task.plan)))
        size += len(json.dumps(series_of(task.plan, "ts-n").facts, indent=1))
        assert 0.8 * size < cost.bytes < 1.2 * size
        assert cost.bytes <= cost.most_bytes
        found[words] = cost.bytes
    assert found[()] * 1.2 < found["actions", "observations"]


def test_short_run_estimates_long_trajectories(monkeypatch: pytest.MonkeyPatch) -> None:
    (task,) = tasks(f"{ONE.replace('= 20', '= 400')}[record]\nactions = true\n")
    whole = measure(task, 40)
    stopped, times = [0], module.time.perf_counter

    def fast_clock() -> float:
        stopped[0] += 1
        return times() + 0.02 * stopped[0]  # the measured run ends after about 100 rounds

    monkeypatch.setattr(module.time, "perf_counter", fast_clock)
    short = measure(task, 40)
    # later rounds repeat the same arms and need less space
    assert whole.trajectory < short.trajectory < 0.1 * short.most_trajectory
    assert short.most_trajectory == whole.most_trajectory == 4.0
