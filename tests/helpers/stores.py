"""Small directories with shards and studies."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from graphbandits import Bernoulli, BetaBernoulli
from graphbandits.rng import Keys
from graphbandits.simulation.identity import Series, facts_hash, series_of
from graphbandits.simulation.plan import Plan
from graphbandits.simulation.shard import Plays, Shard
from graphbandits.study.directory import Directory, ShardFile, StudyRecord, SweepRecord
from graphbandits.study.study import Study

#: A directed graph with probabilities; no two arms are alike.
CHAIN = np.array([[1, 1, 0, 0.5], [0, 1, 1, 0], [0, 0, 1, 0], [1, 0, 0, 1]], float)
PRIOR = BetaBernoulli(np.array([1.0, 2.0, 3.0, 1.5]), np.array([3.0, 2.0, 1.5, 1.0]))
POLICIES = ("ts-n", "ucb-n")


def a_plan(trials: int = 12, policies: Sequence[str] = POLICIES, **how: Any) -> Plan:
    given: dict[str, Any] = {"horizon": 15, "seed": 4}
    return Plan.of(policies, Bernoulli(PRIOR), CHAIN, trials=trials, **given | how)


def fill(
    directory: Directory, plan: Plan, policy: str, *ranges: tuple[int, int]
) -> list[ShardFile]:
    """Write the shards (first, trials) of a policy."""
    series = series_of(plan, policy)
    return [
        directory.write(series, plan.run_shard(policy, Keys(plan.seed, *some)), {"cpu": "test"})
        for some in ranges
    ]


def put_study(directory: Directory, plan: Plan, key: str = "study", **more: Any) -> StudyRecord:
    """Write the record of a study with this plan, without shards."""
    how = {"title": f"The title of {key}", "rerun": f"graphbandits run {key}"}
    record = StudyRecord.of([plan], key=key, **(how | more))
    record.write(directory, [plan])
    return record


def whole_study(path: Path, plan: Plan | None = None, size: int = 5) -> tuple[Directory, Plan]:
    """Return a directory with one complete study, and its plan."""
    plan = plan or a_plan()
    directory = Directory.create(path)
    put_study(directory, plan)
    starts = range(0, plan.trials, size)
    for policy in plan.policies:
        fill(directory, plan, policy, *((at, min(size, plan.trials - at)) for at in starts))
    return directory, plan


def synthetic(name: str) -> Series:
    """Return a series that belongs to no plan."""
    facts = {"policy": name}
    return Series(facts_hash(facts), facts)


def a_shard(first: int, trials: int, rounds: int = 3, seed: int = 0) -> Shard:
    """Return a shard whose numbers depend on seed and trial only."""
    rows = [np.random.default_rng([seed, trial]) for trial in range(first, first + trials)]
    regret = np.array([row.random(rounds).cumsum() for row in rows])
    plays = np.array([row.multinomial(rounds, [0.5, 0.3, 0.2]) for row in rows])
    return Shard(first, regret, Plays.of(plays))


def files_in(path: Path) -> dict[str, bytes]:
    """Return the content of all files below a directory, by relative path."""
    return {
        str(file.relative_to(path)): file.read_bytes()
        for file in sorted(path.rglob("*"))
        if file.is_file()
    }


@dataclass
class Point:
    """A cell of a study: its plan, its point in a sweep, and its stored trials per policy."""

    plan: Plan
    point: Mapping[str, Any] = field(default_factory=dict)
    sweep: int | None = None
    lines: Mapping[str, str] = field(default_factory=dict)
    there: Mapping[str, Iterable[tuple[int, int]]] = field(default_factory=dict)


def sweep(
    *parameters: str, x: str | None, title: str = "A sweep", label: str = "", scale: str = "linear"
) -> dict[str, Any]:
    return {
        "title": title,
        "parameters": list(parameters),
        "x": x,
        "label": label or x or ", ".join(parameters),
        "scale": scale,
    }


def run_study(
    place: Path,
    key: str,
    points: Sequence[Point],
    *,
    sweeps: Sequence[Mapping[str, Any]] = (),
    shard: int = 4,
    **more: Any,
) -> Study:
    """Run the plans in shards of a few trials, and write them with the record of a study."""
    directory, plans = Directory.create(place), []
    for cell in points:
        plan = cell.plan
        start, end = plan.first_trial, plan.first_trial + plan.trials
        blocks = [(i, min(shard, end - i)) for i in range(start, end, shard)]
        for name in plan.policies:
            fill(directory, plan, name, *cell.there.get(name, blocks))
        lines = {name: cell.lines.get(name, name) for name in plan.policies}
        plans.append(replace(plan, sweep=cell.sweep, point=cell.point, lines=lines))
    how: dict[str, Any] = {"title": f"The study {key}", "rerun": f"graphbandits run {key}"}
    how["sweeps"] = [SweepRecord(**one) for one in sweeps]
    record = StudyRecord.of(plans, key=key, **(how | more))
    record.write(directory, plans)
    return Study(directory, record)
