"""How long a run will take and how much room it needs, from short runs of each policy."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from graphbandits.engine import Plan
from graphbandits.engine.recorder import run_recorded
from graphbandits.engine.settings import cpu
from graphbandits.engine.simulation import BLOCK
from graphbandits.errors import GraphBanditsError
from graphbandits.files import to_npz
from graphbandits.results import Shard
from graphbandits.rng import Keys
from graphbandits.store import Series, Store
from graphbandits.store.directory import SERIES
from graphbandits.studies.recording import describe_cell
from graphbandits.studies.runner import Part, missing, shard_size

#: Rounds of a run that is not counted; seconds of a short run after its first round, about.
ROUNDS, SECONDS = 20, 2.0
#: Bytes of a number as it is, and packed at least.
NUMBER, LEAST = 8.0, 0.1


@dataclass(frozen=True)
class Pace:
    """Of one policy: seconds of a decision, bytes of a packed number, and around all of a shard."""

    seconds: float
    bytes: float
    around: float


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
    parts: Sequence[Part], store: Store | None = None, workers: int = 1, asked: int | None = None
) -> Estimate:
    """The work and the room of the trials that a store lacks, of all trials without one.

    A policy is tried once for all cells of as many arms, of the same kind of graph and of the same
    accuracy: where trials are longest. Shards are those of :func:`shard_size`.
    """
    alike: dict[tuple[object, ...], list[Part]] = {}
    for part in parts:
        if missing(store, part):
            alike.setdefault(_kind(part), []).append(part)
    seconds = room = most = 0.0
    failures: list[str] = []
    for group in alike.values():
        group.sort(key=lambda part: -part.plan.horizon)
        pace = None
        while group and pace is None:
            part = group[0]
            try:
                pace = measure(part, shard_size(parts, part.plan, workers, asked))
            except GraphBanditsError as error:
                told = f"{part.policy}{part.where} fails in a short run: {error}"
                failures.append(" ".join(told.split()))
                del group[0]
        for part in group:
            assert pace is not None
            lacking = sum(trials for _, trials in missing(store, part))
            numbers = lacking * _numbers(part.plan, len(part.plan.recording.rounds))
            shards = -(-lacking // shard_size(parts, part.plan, workers, asked))
            around = pace.around * shards + _series_room(store, part.series)
            seconds += pace.seconds * lacking * part.plan.horizon
            room += pace.bytes * numbers + around
            most += NUMBER * numbers + around
    counted = {id(part.plan): part.plan for group in alike.values() for part in group}
    cells = sum(_cell_room(store, plan) for plan in counted.values())
    return Estimate(seconds, room + cells, most + cells, tuple(failures))


def _kind(part: Part) -> tuple[object, ...]:
    """What the time and the room of a decision depend on most."""
    plan = part.plan
    accuracy = getattr(plan.world.prior, "accuracy", None)
    recording = plan.recording
    kept = recording.regret, recording.ratios
    return part.policy, plan.world.arms, type(plan.process), accuracy, *kept


def _numbers(plan: Plan, rounds: int) -> int:
    """Of a trial: what is recorded, the arms that it has played, and how often."""
    columns = 5 if plan.recording.ratios else 1
    return rounds * columns + 2 * min(plan.world.arms, plan.horizon)


def _series_room(store: Store | None, series: Series) -> int:
    """Bytes of what determines a series, unless they are there."""
    if store is not None and (store.path / "shards" / series.name / SERIES).exists():
        return 0
    return len(json.dumps(series.facts, indent=1))


def _cell_room(store: Store | None, plan: Plan) -> int:
    """Bytes of the description of a cell, unless they are there."""
    data = to_npz(*describe_cell(plan))
    name = f"{hashlib.sha256(data).hexdigest()}.npz"
    return 0 if store is not None and (store.path / "cells" / name).exists() else len(data)


def measure(part: Part, size: int) -> Pace:
    """Play a shard of this size for a while: the later half of its rounds says how fast it goes.

    What is compiled, or prepared in the first rounds, does not count.
    """
    plan, trials = part.plan, min(BLOCK, size, part.trials)
    _times(part, trials, min(ROUNDS, plan.horizon))
    times, shard = _times(part, trials, plan.horizon)
    rounds = len(times) - 1
    spent = (times[-1] - times[rounds // 2]) / (rounds - rounds // 2)
    shard = shard or _play(part, trials, rounds)
    # a shard of one number is about what there is around numbers
    facts = {"policy": part.policy, "cpu": cpu(), "series": part.series.name}
    around = len(_play(part, 1, 1).to_parquet(facts))
    numbers = trials * _numbers(plan, shard.regret.shape[1])
    packed = (len(shard.to_parquet(facts)) - around) / numbers
    return Pace(spent / trials, min(NUMBER, max(LEAST, packed)), around)


class _EnoughError(Exception):
    """Ends a short run."""


def _times(part: Part, trials: int, horizon: int) -> tuple[list[float], Shard | None]:
    """When a run began and when each round was over; and the run, if it came to its end in time."""
    times = [time.perf_counter()]

    def advance(rounds: int) -> None:
        times.append(time.perf_counter())
        if times[-1] - times[1] > SECONDS:
            raise _EnoughError

    try:
        return times, _play(part, trials, horizon, advance)
    except _EnoughError:
        return times, None


def _play(
    part: Part, trials: int, horizon: int, advance: Callable[[int], None] = lambda rounds: None
) -> Shard:
    """The first rounds of the first trials, of which is kept what the whole run keeps."""
    plan = part.plan
    kept = [t for t in plan.recording.rounds if t < horizon]
    recording = replace(plan.recording, rounds=(*kept, horizon))
    keys = Keys(plan.seed, plan.first_trial, trials)
    policy = plan.policies[part.policy]
    return run_recorded(policy, plan.world, plan.process, horizon, keys, recording, advance)
