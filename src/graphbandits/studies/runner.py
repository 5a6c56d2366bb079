"""Run what a store lacks: shard by shard, each kept as soon as it is there."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from graphbandits.engine import Plan
from graphbandits.engine.executors import Executor
from graphbandits.engine.simulation import BLOCK, ENTRIES
from graphbandits.engine.tasks import Task
from graphbandits.errors import GraphBanditsError
from graphbandits.experiments.texts import point_text
from graphbandits.store import Cover, DamagedShardError, Series, ShardFile, Store
from graphbandits.studies.recording import Commission

#: Decisions of a shard, at most: what a kill may cost is a minute of work, not an hour.
DECISIONS = 5 * 10**6


@dataclass(frozen=True, eq=False)
class Part:
    """The trials of one series that are wanted; ``where`` is its point of the sweep in words."""

    series: Series
    plan: Plan
    policy: str
    trials: int
    where: str

    @property
    def label(self) -> str:
        return f"'{self.policy}'{self.where}"


@dataclass(frozen=True, eq=False)
class Failure:
    """A shard that could not be computed."""

    part: Part
    first: int
    trials: int
    error: GraphBanditsError

    def __str__(self) -> str:
        last = self.first + self.trials - 1
        return f"{self.part.label}, trials {self.first} to {last}: {self.error}"


@dataclass
class Outcome:
    """What a run has done."""

    shards: int = 0
    found: int = 0
    failures: list[Failure] = field(default_factory=list)
    seconds: float = 0.0

    def add(self, more: Outcome) -> None:
        """Count in what was done besides."""
        self.shards += more.shards
        self.found += more.found
        self.failures += more.failures
        self.seconds += more.seconds


class Watcher(Protocol):
    """Is told how a run comes along."""

    def checked(self, part: Part) -> None:
        """What is there of a part has been read."""

    def damaged(self, file: ShardFile, reason: str) -> None:
        """A shard that was there is not what was written; it will be computed again."""

    def advance(self, part: Part, decisions: int) -> None:
        """A shard has come this much further."""

    def finished(self, part: Part, trials: int, seconds: float) -> None:
        """A shard was computed and is kept."""

    def found(self, part: Part, trials: int) -> None:
        """A shard was there when its turn came: another run has computed it."""

    def failed(self, failure: Failure) -> None:
        """A shard could not be computed."""


def parts_of(commissions: Sequence[Commission]) -> list[Part]:
    """The series of all cells, each once: a policy may not know the parameter that is swept."""
    parts: dict[str, Part] = {}
    for commission in commissions:
        for cell, series in zip(commission.cells, commission.series, strict=True):
            where = f" at {point_text(cell.point)}" if cell.point else ""
            for policy, found in series.items():
                known = parts.get(found.name)
                if known is None or known.trials < cell.plan.trials:
                    parts[found.name] = Part(found, cell.plan, policy, cell.plan.trials, where)
    return list(parts.values())


def shard_size(parts: Sequence[Part], plan: Plan, workers: int, asked: int | None) -> int:
    """Trials of a shard: what runs in lockstep, fewer where a trial is long or has many arms."""
    if asked is not None:
        return asked
    most = min(BLOCK, max(1, ENTRIES // plan.world.arms), max(1, DECISIONS // plan.horizon))
    share = -(-sum(part.trials for part in parts) // workers)  # no worker is to be left without
    return max(1, min(most, share))


def missing(store: Store | None, part: Part) -> list[tuple[int, int]]:
    """The trials of a part that the store lacks, as (first, trials)."""
    if store is None:
        return [(part.plan.first_trial, part.trials)]
    return list(_cover(store, part).gaps)


def check_present(store: Store, parts: Sequence[Part], watcher: Watcher) -> None:
    """Read every shard that is there and wanted; set aside what is damaged."""
    for part in parts:
        store.describe(part.series)
        sound: set[ShardFile] = set()
        # others may stand in for one that is set aside, and are read then
        while doubtful := set(_cover(store, part).used) - sound:
            for file in sorted(doubtful):
                try:
                    store.read(file)
                    sound.add(file)
                except DamagedShardError as error:
                    store.set_aside(file)
                    watcher.damaged(file, str(error))
        watcher.checked(part)


def _cover(store: Store, part: Part) -> Cover:
    return store.cover(part.series.name, part.trials, part.plan.first_trial)


def conduct(
    store: Store, tasks: Sequence[tuple[Part, Task]], executor: Executor, watcher: Watcher
) -> Outcome:
    """Compute the shards that are still missing; what raises is reported, and the others go on."""
    start = time.perf_counter()
    outcome = Outcome()
    if store.others():  # so that two runs do not do the same at the same time
        tasks = random.sample(tasks, len(tasks))
    by_task = {id(task): part for part, task in tasks}

    def wanted() -> Iterator[Task]:
        for part, task in tasks:
            end = task.first + task.trials
            if any(first < end and task.first < first + n for first, n in missing(store, part)):
                yield task
            else:
                outcome.found += 1
                watcher.found(part, task.trials)

    def advance(task: Task, decisions: int) -> None:
        watcher.advance(by_task[id(task)], decisions)

    for task, result in executor.run(wanted(), advance):
        part = by_task[id(task)]
        if isinstance(result, GraphBanditsError):
            failure = Failure(part, task.first, task.trials, result)
            outcome.failures.append(failure)
            watcher.failed(failure)
        else:
            store.write(part.series, result, {"policy": part.policy, "cpu": result.cpu})
            outcome.shards += 1
            watcher.finished(part, task.trials, result.seconds)
    outcome.seconds = time.perf_counter() - start
    return outcome


def tasks_of(
    store: Store, parts: Sequence[Part], workers: int, asked: int | None = None
) -> list[tuple[Part, Task]]:
    """The gaps of all parts in shards: cell by cell, in each the first trials of all policies."""
    cells: dict[int, list[tuple[int, int, Part, Task]]] = {}
    for place, part in enumerate(parts):
        size = shard_size(parts, part.plan, workers, asked)
        mine = cells.setdefault(id(part.plan), [])
        for first, trials in missing(store, part):
            # at multiples of the size, so that runs of other lengths make the same shards
            start = first
            while start < first + trials:
                end = min((start // size + 1) * size, first + trials)
                mine.append((start, place, part, Task(part.plan, part.policy, start, end - start)))
                start = end
    return [
        (part, task)
        for mine in cells.values()
        for _, _, part, task in sorted(mine, key=lambda entry: entry[:2])
    ]
