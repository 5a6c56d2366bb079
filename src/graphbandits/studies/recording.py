"""What a store keeps of a study besides its shards."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

from graphbandits.engine import Plan
from graphbandits.engine.travel import as_message
from graphbandits.experiments import Cell, Sweep
from graphbandits.results import Claim, Published
from graphbandits.store import Series, Store, series_of
from graphbandits.studies.stored import FORMAT


@dataclass(frozen=True, eq=False)
class Commission:
    """An experiment that is to be run into a store: its checked cells, and what is told of them.

    ``rerun`` is the shell command that makes it again; ``figures`` are the tables of its file.
    """

    key: str
    title: str
    cells: Sequence[Cell]
    rerun: str
    notes: tuple[str, ...] = ()
    claims: tuple[Claim, ...] = ()
    published: Published | None = None
    figures: tuple[Mapping[str, Any], ...] = ()
    sweeps: tuple[Sweep, ...] = ()
    bounds: bool = False

    @cached_property
    def series(self) -> list[dict[str, Series]]:
        """The series of each policy of each cell."""
        return [{name: series_of(cell.plan, name) for name in cell.plan.policies} for cell in self.cells]


def record(store: Store, commission: Commission) -> None:
    """Write into the store what a study is made of, so that it can be read without its files."""
    cells = [
        {
            "sweep": cell.sweep,
            "point": dict(cell.point),
            "name": cell.name,
            "cell": store.put_cell(*describe_cell(cell.plan)),
            "trials": cell.plan.trials,
            "first_trial": cell.plan.first_trial,
            "policies": {name: found.name for name, found in mine.items()},
            "lines": dict(cell.lines),
        }
        for cell, mine in zip(commission.cells, commission.series, strict=True)
    ]
    store.put_study(
        commission.key,
        {
            "format": FORMAT,
            "key": commission.key,
            "title": commission.title,
            "notes": list(commission.notes),
            "rerun": commission.rerun,
            "claims": [asdict(claim) for claim in commission.claims],
            "published": None if commission.published is None else asdict(commission.published),
            "figures": [dict(figure) for figure in commission.figures],
            "bounds": commission.bounds,
            "sweeps": [asdict(sweep) for sweep in commission.sweeps],
            "cells": cells,
        },
    )


def describe_cell(plan: Plan) -> tuple[dict[str, Any], dict[str, Any]]:
    """Settings, names of the arms, recorded rounds, graph and prior of a plan, as plain data."""
    meta, arrays = as_message(plan)
    described = {
        "settings": plan.settings(),
        "arms": list(plan.names),
        "rounds": list(plan.recording.rounds),
        "graph": meta["graph"],
    }
    return described, arrays
