"""How long a run will take and how much room it needs, from short runs of each policy."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from graphbandits._io import to_npz
from graphbandits.engine import Plan, Shard, Task
from graphbandits.engine.plan import BLOCK
from graphbandits.engine.provenance import Series, cpu_name, series_of
from graphbandits.errors import GraphBanditsError
from graphbandits.rng import Keys
from graphbandits.store.directory import SERIES_FILE, Store
from graphbandits.store.driver import WorkerOptions, shard_size
from graphbandits.store.record import cell_name, describe_cell

#: Rounds of a run that is not counted; seconds of a short run after its first round, about.
WARMUP_ROUNDS, MEASURED_SECONDS = 20, 2.0
#: Bytes of a number as it is, and packed at least.
BYTES_PER_NUMBER, MIN_BYTES_PER_NUMBER = 8.0, 0.1


@dataclass(frozen=True)
class PolicyCost:
    """Of one policy: seconds of a decision, bytes of a packed number, and overhead all of a shard."""

    seconds: float
    bytes: float
    overhead: float


@dataclass(frozen=True)
class Estimate:
    """Of what is missing: seconds of one worker; bytes, and the most that they can be.

    ``failures`` tell what failed in its short run, and is not counted.
    """

    seconds: float
    bytes: float
    most_bytes: float
    failures: tuple[str, ...] = ()


def estimate(
    wanted: Sequence[Task], store: Store | None = None, options: WorkerOptions | None = None
) -> Estimate:
    """The time and the room of the trials that a store lacks; of all trials without a store.

    A policy is tried once for all plans of as many arms, of the same kind of graph and of the same
    accuracy: where trials are longest. Shards are those of :func:`shard_size`.
    """
    options = options or WorkerOptions()
    lacking = {task: missing_trials(store, task) for task in wanted}
    alike: dict[tuple[object, ...], list[Task]] = {}
    for task in wanted:
        if lacking[task]:
            alike.setdefault(_cost_group(task), []).append(task)
    seconds = room = most = 0.0
    failures: list[str] = []
    for group in alike.values():
        group.sort(key=lambda task: -task.plan.horizon)
        pace = None
        while group and pace is None:
            task = group[0]
            try:
                pace = measure(task, shard_size(wanted, task.plan, options))
            except GraphBanditsError as error:
                told = f"{task.policy}{task.plan.where} fails in a short run: {error}"
                failures.append(" ".join(told.split()))
                del group[0]
        for task in group:
            assert pace is not None
            numbers = lacking[task] * _numbers_per_trial(task.plan, len(task.plan.recording.rounds))
            shards = -(-lacking[task] // shard_size(wanted, task.plan, options))
            overhead = pace.overhead * shards + _series_room(
                store, series_of(task.plan, task.policy)
            )
            seconds += pace.seconds * lacking[task] * task.plan.horizon
            room += pace.bytes * numbers + overhead
            most += BYTES_PER_NUMBER * numbers + overhead
    counted = {id(task.plan): task.plan for group in alike.values() for task in group}
    cells = sum(_cell_room(store, plan) for plan in counted.values())
    return Estimate(seconds, room + cells, most + cells, tuple(failures))


def missing_trials(store: Store | None, task: Task) -> int:
    """How many trials of a task a store lacks; all of them without a store."""
    return task.trials if store is None else sum(n for _, n in store.missing(task))


def _cost_group(task: Task) -> tuple[object, ...]:
    """What the time and the room of a decision depend on most."""
    plan = task.plan
    accuracy = getattr(plan.world.prior, "accuracy", None)
    recording = plan.recording
    kept = recording.regret, recording.ratios
    return task.policy, plan.world.arms, type(plan.process), accuracy, *kept


def _numbers_per_trial(plan: Plan, rounds: int) -> int:
    """Of a trial: what is recorded, the arms that it has played, and how often."""
    columns = 5 if plan.recording.ratios else 1
    return rounds * columns + 2 * min(plan.world.arms, plan.horizon)


def _series_room(store: Store | None, series: Series) -> int:
    """Bytes of what determines a series, unless they are there."""
    if store is not None and (store.path / "shards" / series.name / SERIES_FILE).exists():
        return 0
    return len(json.dumps(series.facts, indent=1))


def _cell_room(store: Store | None, plan: Plan) -> int:
    """Bytes of the description of a cell, unless they are there."""
    name = f"{cell_name(plan)}.npz"
    is_there = store is not None and (store.path / "cells" / name).exists()
    return 0 if is_there else len(to_npz(*describe_cell(plan)))


def measure(task: Task, size: int) -> PolicyCost:
    """Play a shard of this size for a while: the later half of its rounds says how fast it goes.

    What is compiled, or prepared in the first rounds, does not count.
    """
    plan, trials = task.plan, min(BLOCK, size, task.trials)
    _times(task, trials, min(WARMUP_ROUNDS, plan.horizon))
    times, shard = _times(task, trials, plan.horizon)
    rounds = len(times) - 1
    spent = (times[-1] - times[rounds // 2]) / (rounds - rounds // 2)
    shard = shard or _play(task, trials, rounds)
    # a shard of one number is about what there is overhead numbers
    facts = {
        "policy": task.policy,
        "cpu": cpu_name(),
        "series": series_of(task.plan, task.policy).name,
    }
    overhead = len(_play(task, 1, 1).to_parquet(facts))
    numbers = trials * _numbers_per_trial(plan, shard.regret.shape[1])
    packed = (len(shard.to_parquet(facts)) - overhead) / numbers
    return PolicyCost(
        spent / trials, min(BYTES_PER_NUMBER, max(MIN_BYTES_PER_NUMBER, packed)), overhead
    )


class _StopEarlyError(Exception):
    """Ends a short run."""


def _times(task: Task, trials: int, horizon: int) -> tuple[list[float], Shard | None]:
    """When a run began and when each round was over; and the run, if it came to its end in time."""
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
    """The first rounds of the first trials, of which is kept what the whole run keeps."""
    kept = [t for t in task.plan.recording.rounds if t < horizon]
    recording = replace(task.plan.recording, rounds=(*kept, horizon))
    plan = replace(task.plan, horizon=horizon, recording=recording)
    return plan.run_shard(task.policy, Keys(plan.seed, plan.first_trial, trials), advance)
