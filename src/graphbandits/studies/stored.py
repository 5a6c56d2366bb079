"""Studies as a store has them: read without the files that described them, and bit by bit."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from graphbandits.engine.simulation import true_means
from graphbandits.errors import InputError, nearest
from graphbandits.experiments import Swept
from graphbandits.experiments.texts import Given, line_of, point_text, shown_value
from graphbandits.graphs import Fixed, Process
from graphbandits.graphs.storage import unpack_process
from graphbandits.posteriors import BetaBernoulli
from graphbandits.results import Claim, Published, Results
from graphbandits.results.shards import TrueMeans
from graphbandits.store import Cover, ShardFile, Store, summarise, whole
from graphbandits.studies.facets import Facet, facets_of
from graphbandits.studies.progress import Progress, Share
from graphbandits.studies.record import read_record
from graphbandits.worlds import Bernoulli

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow as pa


@dataclass(frozen=True, eq=False, repr=False)
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

    def __repr__(self) -> str:
        return f"<StoredCell{self.where}: {self.trials} trials of {', '.join(self.series)}>"

    def cover(self, policy: str) -> Cover:
        """Which shards a policy's trials are in, and the trials that none has; none is read."""
        return self.store.cover(self.series[self.policy(policy)], self.trials, self.first_trial)

    def policy(self, name: str) -> str:
        """The policy of this text, or of this line, as figures show it or as its file has it."""
        if name in self.series:
            return name
        by_line = {line: policy for policy, line in self.lines.items()}
        if line_of(name) not in by_line:
            known = {*self.series, *by_line}
            raise InputError(f"no policy '{name}'{self.where}: {nearest(name, known)}")
        return by_line[line_of(name)]

    def files(self, policy: str) -> tuple[ShardFile, ...]:
        """The shards of a policy's trials; what is missing is said."""
        cover = self.cover(policy)
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
        return f" at {point_text(self.point)}" if self.point else ""

    def progress(self) -> Progress:
        """How many trials of each policy there are."""
        done = {
            policy: self.trials - sum(count for _, count in self.cover(policy).gaps)
            for policy in self.series
        }
        return Progress(tuple(Share(p, self.point, n, self.trials) for p, n in done.items()))

    def complete(self) -> list[str]:
        """The policies that have all their trials."""
        return [part.policy for part in self.progress().parts if not part.missing]

    def results(self, policies: str | Iterable[str] | None = None, curves: bool = False) -> Results:
        """The results of these policies, or of all, summarised shard by shard.

        A policy goes by its text or by the line that it belongs to; one may be given by itself.
        With ``curves`` all that was recorded of every trial is loaded, as a simulation has it.
        """
        given = [policies] if isinstance(policies, str) else policies
        names = list(self.series if given is None else dict.fromkeys(map(self.policy, given)))
        meta, _ = self.description
        rounds, arms = np.array(meta["rounds"]), tuple(meta["arms"])
        read = whole if curves else summarise
        means = self._true_means()
        found = {
            name: read(self.store, self.files(name), len(rounds), len(arms), means)
            for name in names
        }
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

    def _true_means(self) -> TrueMeans | None:
        """The means of its trials, by which plays are ranked; None if the world is unknown."""
        settings = self.description[0]["settings"]
        if settings.get("world") != Bernoulli.__name__:
            return None
        world = Bernoulli(self.prior, settings.get("means"))
        return true_means(world, settings["seed"], self.trials)

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


@dataclass(frozen=True, eq=False, repr=False)
class StoredStudy(Sequence[StoredCell]):
    """One experiment that was run, or begun, in a store; its shards are read when asked for.

    :func:`graphbandits.open_study` opens one. It is a sequence of its cells.
    """

    store: Store
    record: Mapping[str, Any]

    @classmethod
    def open(cls, store: Store, key: str) -> StoredStudy:
        """The study of this key."""
        known = store.studies()
        if key not in known:
            there = nearest(key, known) if known else "there is none"
            raise InputError(f"no study '{key}' in {store.path}: {there}")
        return cls(store, read_record(store, key))

    @classmethod
    def all_of(cls, store: Store) -> list[StoredStudy]:
        """All studies of a store."""
        return [cls.open(store, key) for key in store.studies()]

    def __repr__(self) -> str:
        count = len(self.cells)
        swept = f" over {', '.join(self.parameters)}" if self.parameters else ""
        size = f"{count} cell{'s' * (count > 1)}{swept}, {self.trials} trials"
        return f"<Study '{self.key}' in {self.store.path}: {self.title}; {size}>"

    def __iter__(self) -> Iterator[StoredCell]:
        return iter(self.cells)

    def __len__(self) -> int:
        return len(self.cells)

    @overload
    def __getitem__(self, number: int) -> StoredCell: ...
    @overload
    def __getitem__(self, number: slice) -> tuple[StoredCell, ...]: ...
    def __getitem__(self, number: int | slice) -> StoredCell | tuple[StoredCell, ...]:
        return self.cells[number]

    @property
    def key(self) -> str:
        return str(self.record["key"])

    @property
    def trials(self) -> int:
        """How many were asked for, of each policy in each cell."""
        return int(self.record["trials"])

    @property
    def parameters(self) -> tuple[str, ...]:
        """Everything that was swept."""
        return tuple(dict.fromkeys(name for sweep in self.sweeps for name in sweep.parameters))

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
    def sweeps(self) -> tuple[Swept, ...]:
        return tuple(
            Swept(**given | {"parameters": tuple(given["parameters"])})
            for given in self.record["sweeps"]
        )

    @cached_property
    def cells(self) -> tuple[StoredCell, ...]:
        trials, first = self.record["trials"], self.record["first_trial"]
        return tuple(StoredCell(self.store, entry, trials, first) for entry in self.record["cells"])

    def lines(self) -> list[str]:
        """The lines of all sweeps, in their order, so that each looks the same in all figures."""
        return list(dict.fromkeys(line for cell in self.cells for line in cell.lines.values()))

    def facets(self) -> list[Facet]:
        """The sweeps, each by the values of all parameters but the one on the axis."""
        return facets_of(self)

    # --- what came out

    def select(self, point: Mapping[str, Any] | None = None, /, **more: Any) -> list[StoredCell]:
        """The cells at these values of swept parameters: ``select(r=0.25)``.

        Parameters whose names are no names of Python's go in a dict: ``select({"prior.a": 2})``.
        """
        wanted = _shown({**(point or {}), **more})
        for name in wanted:
            if name not in self.parameters:
                swept = nearest(name, self.parameters) if self.parameters else "nothing was"
                raise InputError(f"'{name}' was not swept in the study '{self.key}': {swept}")
        found = [cell for cell in self.cells if wanted.items() <= cell.point.items()]
        if not found:
            there = _values(self.cells, wanted)
            raise InputError(f"the study '{self.key}' has nothing at {point_text(wanted)}; {there}")
        return found

    def cell(self, point: Mapping[str, Any] | None = None, /, **more: Any) -> StoredCell:
        """The one cell at these values of the swept parameters."""
        found = self.select(point, **more)
        if len(found) > 1:
            wanted = _shown({**(point or {}), **more})
            at = f" at {point_text(wanted)}" if wanted else ""
            raise InputError(
                f"the study '{self.key}' has {len(found)} cells{at}: {self._choices(found, wanted)}"
            )
        return found[0]

    def _choices(self, cells: Sequence[StoredCell], given: Mapping[str, Any]) -> str:
        """What tells cells apart, sweep by sweep."""
        by_sweep: dict[int | None, list[StoredCell]] = {}
        for cell in cells:
            by_sweep.setdefault(cell.sweep, []).append(cell)
        texts: list[str] = []
        for sweep, mine in by_sweep.items():
            title = "" if sweep is None or len(by_sweep) == 1 else self.sweeps[sweep].title
            left = [name for name in mine[0].point if name not in given]
            if not left:  # the same point is in several sweeps, or is all that this one has
                return "choose one of those that select() gives by its 'sweep'"
            texts.append(f"{_values(mine, left)}{f' ({title})' if title else ''}")
        return f"give {', or '.join(texts)}"

    def results(
        self,
        point: Mapping[str, Any] | None = None,
        /,
        policies: str | Iterable[str] | None = None,
        curves: bool = False,
        **more: Any,
    ) -> Results:
        """The results at one point, as :meth:`StoredCell.results`: ``study.results(r=0.25)``."""
        return self.cell(point, **more).results(policies, curves)

    def progress(self) -> Progress:
        """How much of it is there, from the names of the shards alone."""
        parts: dict[str, Share] = {}
        for cell in self.cells:
            for part in cell.progress().parts:
                parts.setdefault(cell.series[part.policy], part)
        return Progress(tuple(parts.values()))

    def batches(self, table: str, partial: bool = False) -> Iterator[pa.RecordBatch]:
        """A table of docs/results.md over all cells, bit by bit; the parameters are in front.

        ``partial`` takes the trials that are there, where some are missing.
        """
        from graphbandits.studies.export import batches

        return batches([self], table, partial)

    def export(self, table: str, path: str | Path, partial: bool = False) -> int:
        """Write a table to a file .parquet, .csv or .csv.gz; how many rows it has."""
        from graphbandits.studies.export import export

        return export([self], table, Path(path), partial)

    def to_pandas(self, table: str = "curve", partial: bool = False) -> pandas.DataFrame:
        """The table of :meth:`batches` in memory; one that is too large for it can be exported."""
        from graphbandits.studies.export import to_pandas

        return to_pandas([self], table, partial)

    def to_polars(self, table: str = "curve", partial: bool = False) -> polars.DataFrame:
        """The same for polars; ``polars.scan_parquet`` reads large ones from an exported file."""
        from graphbandits.studies.export import to_polars

        return to_polars([self], table, partial)


def _shown(point: Mapping[str, Any]) -> dict[str, Any]:
    """The values of a point as they are kept, where lists are texts.

    >>> _shown({"prior": [1, 9], "r": 0.5})
    {'prior': '1,9', 'r': 0.5}
    """

    def given(value: Any) -> Given:
        return tuple(map(given, value)) if isinstance(value, list | tuple) else value

    return {name: shown_value(given(value)) for name, value in point.items()}


def _values(cells: Iterable[StoredCell], names: Iterable[str]) -> str:
    """The values that parameters have in cells; a text with a comma is in quotes."""
    points = [cell.point for cell in cells]
    texts = []
    for name in names:
        values = dict.fromkeys(point[name] for point in points if name in point)
        shown = (repr(v) if isinstance(v, str) and "," in v else str(v) for v in values)
        texts.append(f"{name}: {', '.join(shown)}")
    return "; ".join(texts)
