"""Studies put into a store by hand, for the tests of what reads them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from graphbandits.engine import Plan
from graphbandits.experiments import Study
from graphbandits.rng import Keys
from graphbandits.store import Store, describe_cell, series_of


@dataclass
class Point:
    """A cell to be: its plan, where it is, and which of its trials are there, by policy."""

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


def put(
    place: Path,
    key: str,
    points: Sequence[Point],
    *,
    sweeps: Sequence[Mapping[str, Any]] = (),
    shard: int = 4,
    **more: Any,
) -> Study:
    """Run the plans in shards of a few trials, and keep them with their record."""
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
    plan = points[0].plan
    record = {
        "format": 1,
        "key": key,
        "title": f"The study {key}",
        "notes": [],
        "rerun": f"graphbandits run {key}",
        "seed": plan.seed,
        "first_trial": plan.first_trial,
        "trials": plan.trials,
        "claims": [],
        "published": None,
        "figures": [],
        "bounds": False,
        "sweeps": [dict(one) for one in sweeps],
        "cells": cells,
    }
    store.put_study(key, record | more)
    return Study.open(store, key)
