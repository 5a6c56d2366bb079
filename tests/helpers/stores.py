"""Small stores with shards, studies and results."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from graphbandits import Bernoulli, BetaBernoulli
from graphbandits.engine import Plan, Plays, Shard
from graphbandits.engine.identity import Series, facts_hash, series_of
from graphbandits.experiments import Study
from graphbandits.rng import Keys
from graphbandits.store import ShardFile, Store
from graphbandits.store.record import describe_cell

#: A directed graph with probabilities; no two arms are alike.
CHAIN = np.array([[1, 1, 0, 0.5], [0, 1, 1, 0], [0, 0, 1, 0], [1, 0, 0, 1]], float)
PRIOR = BetaBernoulli(np.array([1.0, 2.0, 3.0, 1.5]), np.array([3.0, 2.0, 1.5, 1.0]))
POLICIES = ("ts-n", "ucb-n")


def a_plan(trials: int = 12, policies: Sequence[str] = POLICIES, **how: Any) -> Plan:
    given: dict[str, Any] = {"horizon": 15, "seed": 4}
    return Plan.of(policies, Bernoulli(PRIOR), CHAIN, trials=trials, **given | how)


def fill(store: Store, plan: Plan, policy: str, *ranges: tuple[int, int]) -> list[ShardFile]:
    """Write the shards (first, trials) of a policy."""
    series = series_of(plan, policy)
    return [
        store.write(series, plan.run_shard(policy, Keys(plan.seed, first, trials)), {"cpu": "test"})
        for first, trials in ranges
    ]


def study_record(key: str, plan: Plan, cells: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the record of a study without sweeps."""
    return {
        "format": 1,
        "key": key,
        "title": f"The title of {key}",
        "notes": [],
        "rerun": f"graphbandits run {key}",
        "seed": plan.seed,
        "first_trial": plan.first_trial,
        "trials": plan.trials,
        "claims": [],
        "published": None,
        "figures": [],
        "bounds": False,
        "sweeps": [],
        "cells": cells,
    }


def put_study(
    store: Store, cells: Mapping[str, Plan], key: str = "study", trials: int | None = None
) -> dict[str, Any]:
    """Write the record of a study with these plans as cells, without shards."""
    plans = list(cells.values())
    entries = []
    for name, plan in cells.items():
        entries.append(
            {
                "sweep": None,
                "point": {},
                "name": name,
                "cell": store.put_cell(*describe_cell(plan)),
                "policies": {policy: series_of(plan, policy).name for policy in plan.policies},
                "lines": {policy: policy for policy in plan.policies},
            }
        )
    record = study_record(key, plans[0], entries)
    record |= {"first_trial": 0, "trials": trials or plans[0].trials}
    store.put_study(key, record)
    return record


def whole_store(path: Path, plan: Plan | None = None, size: int = 5) -> tuple[Store, Plan]:
    """Return a store with one complete study, and its plan."""
    plan = plan or a_plan()
    store = Store.create(path)
    put_study(store, {"": plan})
    starts = range(0, plan.trials, size)
    for policy in plan.policies:
        fill(store, plan, policy, *((at, min(size, plan.trials - at)) for at in starts))
    return store, plan


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
    store = Store.create(place)
    cells = []
    for cell in points:
        plan = cell.plan
        start, end = plan.first_trial, plan.first_trial + plan.trials
        blocks = [(i, min(shard, end - i)) for i in range(start, end, shard)]
        series = {name: series_of(plan, name) for name in plan.policies}
        for name in plan.policies:
            for first, trials in cell.there.get(name, blocks):
                keys = Keys(plan.seed, first, trials)
                store.write(series[name], plan.run_shard(name, keys), {})
        cells.append(
            {
                "sweep": cell.sweep,
                "point": dict(cell.point),
                "name": "-".join(f"{n}-{v}" for n, v in cell.point.items()),
                "cell": store.put_cell(*describe_cell(plan)),
                "policies": {name: one.name for name, one in series.items()},
                "lines": {name: cell.lines.get(name, name) for name in plan.policies},
            }
        )
    record = study_record(key, points[0].plan, cells)
    record |= {"title": f"The study {key}", "sweeps": [dict(one) for one in sweeps]}
    store.put_study(key, record | more)
    return Study.open(store, key)
