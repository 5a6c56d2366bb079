"""What a store keeps of a study besides its shards."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

from graphbandits.engine import Plan
from graphbandits.errors import InputError
from graphbandits.experiments import Cell, Experiment, Swept
from graphbandits.graphs.storage import Arrays, pack_process
from graphbandits.posteriors import BetaBernoulli
from graphbandits.results import Claim, Published
from graphbandits.store import Series, Store, series_of
from graphbandits.studies.record import FORMAT


@dataclass(frozen=True, eq=False)
class Commission:
    """An experiment that is to be run into a store: its checked cells, and what is told of them.

    ``rerun`` is the shell command that makes it again; ``figures`` are to be drawn of it.
    """

    key: str
    title: str
    cells: Sequence[Cell]
    rerun: str
    notes: tuple[str, ...] = ()
    claims: tuple[Claim, ...] = ()
    published: Published | None = None
    figures: tuple[Mapping[str, Any], ...] = ()
    sweeps: tuple[Swept, ...] = ()
    bounds: bool = False

    @classmethod
    def of(
        cls,
        experiment: Experiment,
        key: str,
        rerun: str,
        *,
        title: str = "",
        trials: int | None = None,
        seed: int | None = None,
        policies: Sequence[str] = (),
        ratios: str | None = None,
        bounds: bool = False,
    ) -> Commission:
        """All simulations of an experiment, checked, with the changes that were asked for."""
        cells = experiment.cells(trials, seed, policies, ratios)
        return cls(
            key,
            title or experiment.title,
            cells,
            rerun,
            experiment.notes,
            experiment.judged_claims(),
            experiment.published_means(),
            tuple(experiment.drawn(cells)),
            tuple(experiment.swept()),
            bounds,
        )

    @cached_property
    def series(self) -> list[dict[str, Series]]:
        """The series of each policy of each cell."""
        return [
            {name: series_of(cell.plan, name) for name in cell.plan.policies} for cell in self.cells
        ]


def record(store: Store, commission: Commission) -> dict[str, Any]:
    """Write into the store what a study is made of, so that it can be read without its files."""
    store.check_study(commission.key, {"format": FORMAT})  # before anything is written
    described = [store.put_cell(*describe_cell(cell.plan)) for cell in commission.cells]
    written = record_of(commission, described)
    store.put_study(commission.key, written)
    return written


def record_of(commission: Commission, described: Sequence[str]) -> dict[str, Any]:
    """The record of a study whose cells are described under these names in a store."""
    plan, published = commission.cells[0].plan, commission.published
    return {
        "format": FORMAT,
        "key": commission.key,
        "title": commission.title,
        "notes": list(commission.notes),
        "rerun": commission.rerun,
        "seed": plan.seed,
        "first_trial": plan.first_trial,
        "trials": plan.trials,
        "claims": [asdict(claim) for claim in commission.claims],
        "published": None
        if published is None
        else {
            "source": published.source,
            "means": {name: list(pair) for name, pair in published.means.items()},
        },
        "figures": [dict(figure) for figure in commission.figures],
        "bounds": commission.bounds,
        "sweeps": [
            asdict(swept) | {"parameters": list(swept.parameters)} for swept in commission.sweeps
        ],
        "cells": [
            {
                "sweep": cell.sweep,
                "point": dict(cell.point),
                "name": cell.name,
                "cell": name,
                "policies": {policy: found.name for policy, found in mine.items()},
                "lines": dict(cell.lines),
            }
            for cell, mine, name in zip(commission.cells, commission.series, described, strict=True)
        ],
    }


def describe_cell(plan: Plan) -> tuple[dict[str, Any], Arrays]:
    """The description of a cell, for :meth:`graphbandits.store.Store.put_cell`.

    Settings, names of the arms, recorded rounds, graph and prior: all that reading results takes,
    without the file that described the experiment.

    >>> meta, arrays = describe_cell(Plan.of("ts-n", graph="paper", horizon=10, trials=5))
    >>> meta["arms"], meta["rounds"][-1], sorted(arrays)
    (['1', '2', '3', '4', '5'], 10, ['graph/feedback/matrix', 'prior/a', 'prior/b'])
    """
    prior = plan.world.prior
    if not isinstance(prior, BetaBernoulli):
        raise InputError(f"a prior of {type(prior).__name__} cannot be kept in a store")
    arrays: Arrays = {"prior/a": prior.a, "prior/b": prior.b}
    meta = {
        "settings": plan.settings(),
        "arms": list(plan.process.names or map(str, range(1, plan.process.arms + 1))),
        "rounds": list(plan.recording.rounds),
        "graph": pack_process(plan.process, plan.given_text, arrays),
    }
    return meta, arrays
