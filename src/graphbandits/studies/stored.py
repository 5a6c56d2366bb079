"""Studies as a store has them: read without the files that described them, and bit by bit."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from graphbandits.errors import InputError
from graphbandits.graphs import Fixed, Process
from graphbandits.graphs.storage import unpack_process
from graphbandits.posteriors import BetaBernoulli
from graphbandits.results import Claim, Published, Results
from graphbandits.store import ShardFile, Store, summarise, whole

#: The layout of a study's record.
FORMAT = 1


@dataclass(frozen=True, eq=False)
class StoredCell:
    """One simulation of a study: at one point of a sweep, or the only one."""

    store: Store
    entry: Mapping[str, Any]
    trials: int
    first_trial: int

    @property
    def sweep(self) -> int | None:
        """Which sweep of the study it belongs to."""
        number: int | None = self.entry["sweep"]
        return number

    @property
    def point(self) -> dict[str, Any]:
        """The swept parameters and their values here."""
        return dict(self.entry["point"])

    @property
    def name(self) -> str:
        """What its files have in their names."""
        return str(self.entry["name"])

    @property
    def series(self) -> dict[str, str]:
        """The series of each policy."""
        return dict(self.entry["policies"])

    @property
    def lines(self) -> dict[str, str]:
        """The line of the sweep that each policy belongs to."""
        return dict(self.entry["lines"])

    @cached_property
    def description(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Settings, names of the arms, recorded rounds, graph and prior."""
        return self.store.cell(self.entry["cell"])

    def files(self, policy: str) -> tuple[ShardFile, ...]:
        """The shards of a policy's trials; what is missing is said."""
        cover = self.store.cover(self.series[policy], self.trials, self.first_trial)
        if cover.gaps:
            lacking = sum(count for _, count in cover.gaps)
            raise InputError(
                f"{self.store.path} lacks {lacking} of {self.trials} trials of '{policy}'"
                f"{self.where}: run the experiment again, which does what is missing"
            )
        return cover.used

    @property
    def where(self) -> str:
        """The point in words, for messages."""
        words = ", ".join(f"{name} = {value}" for name, value in self.point.items())
        return f" at {words}" if words else ""

    def complete(self) -> list[str]:
        """The policies that have all their trials."""
        return [
            policy
            for policy, series in self.series.items()
            if not self.store.cover(series, self.trials, self.first_trial).gaps
        ]

    def results(self, policies: Iterable[str] | None = None, curves: bool = False) -> Results:
        """The results of these policies, or of all, summarised shard by shard.

        With ``curves`` all that was recorded of every trial is loaded, as a simulation has it.
        """
        names = list(self.series if policies is None else policies)
        meta, _ = self.description
        rounds, arms = np.array(meta["rounds"]), tuple(meta["arms"])
        read = whole if curves else summarise
        found = {name: read(self.store, self.files(name), len(rounds), len(arms)) for name in names}
        run = {
            "seed": meta["settings"]["seed"],
            "first_trial": self.first_trial,
            "trials": self.trials,
        }
        described = meta["settings"]["policies"]
        settings = meta["settings"] | {
            "trials": self.trials,
            "runs": [run],
            "policies": {name: described[name] for name in names},
        }
        process = self.process
        return Results(
            rounds, found, arms, settings, process if isinstance(process, Fixed) else None
        )

    @cached_property
    def process(self) -> Process | None:
        """Who is observed; None if that is a plug-in's which is not loaded."""
        meta, arrays = self.description
        try:
            return unpack_process(meta["graph"], arrays)
        except InputError:
            return None

    @property
    def prior(self) -> BetaBernoulli:
        """What policies believe at the start."""
        meta, arrays = self.description
        accuracy = meta["settings"]["accuracy"]
        return BetaBernoulli(arrays["prior/a"], arrays["prior/b"], accuracy)


@dataclass(frozen=True)
class StoredSweep:
    """What was swept: ``x`` is the parameter on the axis, None for a list of points."""

    title: str
    parameters: tuple[str, ...]
    x: str | None
    label: str
    scale: str


@dataclass(frozen=True, eq=False)
class StoredStudy:
    """One experiment that was run, or begun, in a store."""

    store: Store
    record: Mapping[str, Any]

    @classmethod
    def open(cls, store: Store, key: str) -> StoredStudy:
        """The study of this key."""
        record = store.study(key)
        number = record.get("format")
        if isinstance(number, int) and number > FORMAT:
            raise InputError(
                f"the study '{key}' in {store.path} is of format {number}, and this version of "
                f"graphbandits reads up to {FORMAT}: update graphbandits"
            )
        return cls(store, record)

    @classmethod
    def all_of(cls, store: Store) -> list[StoredStudy]:
        """All studies of a store."""
        return [cls.open(store, key) for key in store.studies()]

    @property
    def key(self) -> str:
        return str(self.record["key"])

    @property
    def title(self) -> str:
        return str(self.record["title"])

    @property
    def rerun(self) -> str:
        """The shell command that makes it again, or goes on with it."""
        return str(self.record["rerun"])

    @property
    def notes(self) -> tuple[str, ...]:
        return tuple(self.record["notes"])

    @property
    def claims(self) -> tuple[Claim, ...]:
        return tuple(
            Claim(c["text"], tuple(c["better"]), tuple(c["than"]), c["source"])
            for c in self.record["claims"]
        )

    @property
    def published(self) -> Published | None:
        given = self.record["published"]
        if given is None:
            return None
        return Published(
            {name: tuple(pair) for name, pair in given["means"].items()}, given["source"]
        )

    @property
    def figures(self) -> tuple[Mapping[str, Any], ...]:
        """The figures to draw, as the experiment's file has them."""
        return tuple(self.record["figures"])

    @property
    def sweeps(self) -> tuple[StoredSweep, ...]:
        return tuple(
            StoredSweep(**given | {"parameters": tuple(given["parameters"])})
            for given in self.record["sweeps"]
        )

    @cached_property
    def cells(self) -> tuple[StoredCell, ...]:
        trials, first = self.record["trials"], self.record["first_trial"]
        return tuple(StoredCell(self.store, entry, trials, first) for entry in self.record["cells"])

    def lines(self) -> list[str]:
        """The lines of all sweeps, in their order, so that each looks the same in all figures."""
        return list(dict.fromkeys(line for cell in self.cells for line in cell.lines.values()))

    def facets(self, sweep: int) -> list[tuple[dict[str, Any], list[StoredCell]]]:
        """The cells of a sweep by the values of all parameters but the one on the axis."""
        x = self.sweeps[sweep].x
        groups: dict[str, tuple[dict[str, Any], list[StoredCell]]] = {}
        for cell in self.cells:
            if cell.sweep == sweep:
                rest = {} if x is None else {k: v for k, v in cell.point.items() if k != x}
                groups.setdefault(repr(rest), (rest, []))[1].append(cell)
        return list(groups.values())
