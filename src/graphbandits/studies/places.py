"""Cells and where they are: what tells whether two of them are the same problem."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from graphbandits.experiments.texts import point_text
from graphbandits.results.combine import JOINED
from graphbandits.studies.facets import Facet
from graphbandits.studies.opening import Studies
from graphbandits.studies.stored import StoredCell, StoredStudy

#: What of the settings says how a problem was looked at, and not what it is.
RECORDING = frozenset({"ratios"})


@dataclass(frozen=True, eq=False)
class Place:
    """A cell in a store of that name; ``facet`` shows it at ``value``, if it is of a sweep."""

    store: str
    study: StoredStudy
    cell: StoredCell
    facet: Facet | None = None
    value: Any = None

    def __str__(self) -> str:
        at = f" at {point_text(self.cell.point)}" if self.cell.point else ""
        return f"{self.store}: {self.study.key}{at}"

    @property
    def seed(self) -> int:
        seed: int = self.cell.description[0]["settings"]["seed"]
        return seed

    @cached_property
    def problem(self) -> str:
        """Everything that regret depends on but the policy, the seed and the trials.

        A graph of a plug-in's own kind is its text and ``graph_source``: so two versions of its
        file are two problems.
        """
        meta, _ = self.cell.description
        left = {k: v for k, v in meta["settings"].items() if k not in JOINED | RECORDING}
        if left.get("graph_hash") is not None:
            del left["graph"]  # a graph is what it is, whatever it is called
        return json.dumps([left, meta["arms"]], sort_keys=True)


def places_of(store: str, studies: Studies) -> list[Place]:
    """All cells of a store, those of sweeps facet by facet."""
    found: list[Place] = []
    for study in studies.chosen():
        found += [Place(store, study, cell) for cell in study.cells if cell.sweep is None]
        for facet in study.facets():
            found += [Place(store, study, cell, facet, at) for at, cell in facet.cells.items()]
    return found
