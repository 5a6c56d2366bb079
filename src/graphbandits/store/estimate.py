"""Estimate the time and the disk space of a run from short runs of each policy."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from graphbandits._io import to_npz
from graphbandits.engine import Plan, Shard, Task
from graphbandits.engine.identity import Series, cpu_name, series_of
from graphbandits.engine.plan import BLOCK
from graphbandits.engine.trajectories import trajectory_arrays
from graphbandits.errors import GraphBanditsError
from graphbandits.rng import Keys
from graphbandits.store.directory import SERIES_FILE, Store
from graphbandits.store.driver import WorkerOptions, shard_size
from graphbandits.store.record import cell_name, describe_cell
from graphbandits.worlds._storage import models_of

#: Rounds of the warm-up run, and approximate seconds of the measured run.
WARMUP_ROUNDS, MEASURED_SECONDS = 20, 2.0
#: Bytes of a number without compression, and the minimum with compression.
BYTES_PER_NUMBER, MIN_BYTES_PER_NUMBER = 8.0, 0.1


@dataclass(frozen=True)
class PolicyCost:
    """Cost of one policy.

    Parameters
    ----------
    seconds : float
        Seconds per decision.
    bytes : float
        Bytes per number after compression.
    overhead : float
        Bytes of a shard besides its numbers.
    trajectory : float, default=0.0
        Bytes of the recorded actions and observations per decision, after compression.
    most_trajectory : float, default=0.0
        The same without compression.
    """

    seconds: float
    bytes: float
    overhead: float
    trajectory: float = 0.0
    most_trajectory: float = 0.0


@dataclass(frozen=True)
class Estimate:
    """Estimated cost of the missing trials.

    Parameters
    ----------
    seconds : float
        Computation time with one worker.
    bytes : float
        Disk space.
    most_bytes : float
        Upper bound of the disk space.
    failures : tuple of str
        Policies that failed in their short run, with the error. They are not counted.
    """

    seconds: float
    bytes: float
    most_bytes: float
    failures: tuple[str, ...] = ()


def estimate(
    tasks: Sequence[Task], store: Store | None = None, options: WorkerOptions | None = None
) -> Estimate:
    """Estimate the time and the disk space of the trials that a store does not have.

    Without a store, all trials count. Plans with the same number of arms, kinds of graph, world
    and posterior and accuracy share one short run per policy, with the longest horizon. The size of
    shards is that of :func:`shard_size`.
    """
    options = options or WorkerOptions()
    missing = {task: missing_trials(store, task) for task in tasks}
    groups: dict[tuple[object, ...], list[Task]] = {}
    for task in tasks:
        if missing[task]:
            groups.setdefault(_cost_group(task), []).append(task)
    seconds = size = max_size = 0.0
    failures: list[str] = []
    for group in groups.values():
        group.sort(key=lambda task: -task.plan.horizon)
        cost = None
        while group and cost is None:
            task = group[0]
            try:
                cost = measure(task, shard_size(tasks, task.plan, options))
            except GraphBanditsError as error:
                message = f"{task.policy}{task.plan.where} fails in a short run: {error}"
                failures.append(" ".join(message.split()))
                del group[0]
        for task in group:
            assert cost is not None
            numbers = missing[task] * _numbers_per_trial(task.plan, len(task.plan.recording.rounds))
            shards = -(-missing[task] // shard_size(tasks, task.plan, options))
            facts = _series_bytes(store, series_of(task.plan, task.policy))
            overhead = cost.overhead * shards + facts
            decisions = missing[task] * task.plan.horizon
            seconds += cost.seconds * decisions
            size += cost.bytes * numbers + cost.trajectory * decisions + overhead
            max_size += BYTES_PER_NUMBER * numbers + cost.most_trajectory * decisions + overhead
    counted = {id(task.plan): task.plan for group in groups.values() for task in group}
    cells = sum(_cell_bytes(store, plan) for plan in counted.values())
    return Estimate(seconds, size + cells, max_size + cells, tuple(failures))


def missing_trials(store: Store | None, task: Task) -> int:
    """Return the number of trials of a task that a store does not have; all without a store."""
    return task.trials if store is None else sum(n for _, n in store.missing(task))


def _cost_group(task: Task) -> tuple[object, ...]:
    """Return the settings that determine most of the cost of a decision."""
    plan = task.plan
    models = *map(type, models_of(plan)), getattr(plan.posterior, "accuracy", None)
    recording = plan.recording
    kinds = recording.regret, recording.ratios, recording.trajectories, plan.eligible is None
    return task.policy, plan.world.arms, type(plan.process), *models, *kinds, plan.answers


def _numbers_per_trial(plan: Plan, rounds: int) -> int:
    """Return how many numbers a trial stores: recorded values, played arms and their counts."""
    columns = 5 if plan.recording.ratios else 1
    return rounds * columns + 2 * min(plan.world.arms, plan.horizon)


def _series_bytes(store: Store | None, series: Series) -> int:
    """Return the bytes of the facts of a series; 0 if the store has them."""
    if store is not None and (store.path / "shards" / series.name / SERIES_FILE).exists():
        return 0
    return len(json.dumps(series.facts, indent=1))


def _cell_bytes(store: Store | None, plan: Plan) -> int:
    """Return the bytes of the description of a cell; 0 if the store has it."""
    name = f"{cell_name(plan)}.npz"
    exists = store is not None and (store.path / "cells" / name).exists()
    return 0 if exists else len(to_npz(*describe_cell(plan)))


def measure(task: Task, size: int) -> PolicyCost:
    """Run a shard of this size for a short time and measure its cost.

    Only the second half of the rounds is timed, to exclude compilation and preparation.
    """
    plan, trials = task.plan, min(BLOCK, size, task.trials)
    _times(task, trials, min(WARMUP_ROUNDS, plan.horizon))
    times, shard = _times(task, trials, plan.horizon)
    rounds = len(times) - 1
    spent = (times[-1] - times[rounds // 2]) / (rounds - rounds // 2)
    shard = shard or _play(task, trials, rounds)
    # the size of a shard with one number is about the overhead
    facts = {
        "policy": task.policy,
        "cpu": cpu_name(),
        "series": series_of(task.plan, task.policy).name,
    }
    least = _play(task, 1, 1)
    overhead = without = len(least.to_parquet(facts))
    numbers = trials * _numbers_per_trial(plan, shard.regret.shape[1])
    size = len(shard.to_parquet(facts))
    trajectory = most_trajectory = 0.0
    if shard.trajectories is not None:
        decisions, whole = trials * rounds, size
        size = len(replace(shard, trajectories=None).to_parquet(facts))
        without = len(replace(least, trajectories=None).to_parquet(facts))
        trajectory = max(0.0, whole - overhead - (size - without)) / decisions
        arrays = trajectory_arrays(shard.trajectories)
        most_trajectory = max(trajectory, sum(array.nbytes for array in arrays) / decisions)
    packed = (size - without) / numbers
    return PolicyCost(
        spent / trials,
        min(BYTES_PER_NUMBER, max(MIN_BYTES_PER_NUMBER, packed)),
        overhead,
        trajectory,
        most_trajectory,
    )


class _StopEarlyError(Exception):
    """Ends a short run early."""


def _times(task: Task, trials: int, horizon: int) -> tuple[list[float], Shard | None]:
    """Return the start time and the end time of each round, and the shard if it was completed."""
    times = [time.perf_counter()]

    def advance(rounds: int) -> None:
        times.append(time.perf_counter())
        if times[-1] - times[1] > MEASURED_SECONDS:
            raise _StopEarlyError

    try:
        return times, _play(task, trials, horizon, advance)
    except _StopEarlyError:
        return times, None


def _play(
    task: Task, trials: int, horizon: int, advance: Callable[[int], None] = lambda rounds: None
) -> Shard:
    """Run the first rounds of the first trials, and record what the full run records."""
    rounds = [t for t in task.plan.recording.rounds if t < horizon]
    recording = replace(task.plan.recording, rounds=(*rounds, horizon))
    plan = replace(task.plan, horizon=horizon, recording=recording)
    return plan.run_shard(task.policy, Keys(plan.seed, plan.first_trial, trials), advance)
