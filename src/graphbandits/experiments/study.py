"""Studies: experiments with their store, read lazily."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from graphbandits.engine.plan import point_text
from graphbandits.engine.shard import TrueMeans, true_means
from graphbandits.errors import InputError, nearest
from graphbandits.experiments._texts import Given, line_of, shown_value
from graphbandits.experiments.tables import slice_name
from graphbandits.graphs import Fixed, Process
from graphbandits.graphs._storage import unpack_process
from graphbandits.posteriors import BetaBernoulli
from graphbandits.results import Claim, Published, Results
from graphbandits.results.data_frames import to_pandas, to_polars
from graphbandits.store import ShardFile, Store
from graphbandits.store.directory import ShardIndex
from graphbandits.store.maintenance import Finding, verify
from graphbandits.store.record import StudyRecord, SweepRecord, read_record
from graphbandits.store.summary import load_with_curves, summarise_files
from graphbandits.worlds import Bernoulli

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow as pa

    from graphbandits.experiments.study_comparison import StudyComparison
    from graphbandits.report import SimulationEntry, SweepEntry

#: Policies that a text names before it says how many more there are.
NAMED = 3


@dataclass(frozen=True)
class Share:
    """One policy at one point: how many of its trials there are."""

    policy: str
    point: Mapping[str, Any]
    done: int
    trials: int

    @property
    def missing(self) -> int:
        return self.trials - self.done

    def __str__(self) -> str:
        where = f" at {point_text(self.point)}" if self.point else ""
        return f"{self.policy}{where} ({self.done} of {self.trials} trials)"


@dataclass(frozen=True, repr=False)
class Progress:
    """The policies of all cells; trials that several cells share are counted once.

    >>> Progress((Share("ts-n", {"r": 0.5}, 250, 1000), Share("ids-n", {"r": 0.5}, 1000, 1000)))
    <Progress: 1250 of 2000 trials (62 %); incomplete: ts-n at r = 0.5 (250 of 1000 trials)>
    """

    parts: tuple[Share, ...]

    @property
    def done(self) -> int:
        """The trials that are there."""
        return sum(part.done for part in self.parts)

    @property
    def trials(self) -> int:
        """The trials that were asked for."""
        return sum(part.trials for part in self.parts)

    @property
    def complete(self) -> bool:
        return not self.missing

    @property
    def missing(self) -> tuple[Share, ...]:
        """The policies that lack trials."""
        return tuple(part for part in self.parts if part.missing)

    def __repr__(self) -> str:
        share = 100 * self.done // self.trials
        text = f"{self.done} of {self.trials} trials ({share} %)"
        return f"<Progress: {text}{'; incomplete: ' if self.missing else ''}{listed(self.missing)}>"


def listed(parts: Sequence[Share]) -> str:
    """The policies with what they have, of many the first."""
    shown = ", ".join(map(str, parts[:NAMED]))
    more = len(parts) - NAMED
    return f"{shown} and {more} more" if more > 0 else shown


@dataclass(frozen=True, eq=False, repr=False)
class Cell:
    """One simulation of a study: at one point of a sweep, or the only one.

    ``sweep`` is the number of the sweep that it belongs to, and ``point`` has the swept parameters
    and their values here. ``name`` is what its files have in their names. ``series`` and ``lines``
    have the series of each policy, and the line of the sweep that it belongs to.
    """

    store: Store
    trials: int
    first_trial: int
    sweep: int | None
    point: dict[str, Any]
    name: str
    key: str  # of its description in the store
    series: dict[str, str]
    lines: dict[str, str]

    @cached_property
    def description(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Settings, names of the arms, recorded rounds, graph and prior."""
        return self.store.cell(self.key)

    def __repr__(self) -> str:
        return f"<Cell{self.where}: {self.trials} trials of {', '.join(self.series)}>"

    def cover(self, policy: str) -> ShardIndex:
        """Which shards a policy's trials are in, and the trials that none has; none is read."""
        return self.store.shard_index(
            self.series[self.policy(policy)], self.trials, self.first_trial
        )

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
            raise InputError(
                f"{self.store.path} lacks {cover.missing} of {self.trials} trials of '{policy}'"
                f"{self.where}: run the experiment again, which does what is missing"
            )
        return cover.used

    @property
    def where(self) -> str:
        """The point in words, for messages."""
        return f" at {point_text(self.point)}" if self.point else ""

    def progress(self) -> Progress:
        """How many trials of each policy there are."""
        done = {policy: self.trials - self.cover(policy).missing for policy in self.series}
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
        read = load_with_curves if curves else summarise_files
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


@dataclass(frozen=True, eq=False)
class SweepSlice:
    """The cells of a sweep at ``fixed`` values of all parameters but the one on its axis.

    ``cells`` has them by the value on the axis, or by all values of their point as a text where
    the sweep is a list. ``key`` is what its files have in their names.
    """

    key: str
    title: str
    sweep: SweepRecord
    fixed: Mapping[str, Any]
    cells: Mapping[Any, Cell]

    @property
    def scale(self) -> str:
        """Of its axis; categories have none."""
        return "linear" if any(isinstance(value, str) for value in self.cells) else self.sweep.scale

    @property
    def label(self) -> str:
        """What its axis says."""
        return self.sweep.label


def _fixed(cell: Cell, sweep: SweepRecord) -> dict[str, Any]:
    """What stays the same along the axis; a list has none."""
    if sweep.x is None:
        return {}
    return {name: value for name, value in cell.point.items() if name != sweep.x}


def _on_axis(cell: Cell, sweep: SweepRecord, alone: bool) -> Any:
    """Where a cell is on the axis: a value, or the point in words or its values ``alone``."""
    if sweep.x is not None:
        return cell.point[sweep.x]
    values = (str(cell.point[name]) for name in sweep.parameters)
    return ", ".join(values) if alone else point_text(cell.point)


class Study(Sequence[Cell]):
    """One experiment that was run, or begun, in a store; its shards are read when asked for.

    :func:`graphbandits.open_study` opens one. It is a sequence of its ``cells``. ``trials`` is how
    many were asked for, of each policy in each cell; ``parameters`` everything that was swept;
    ``rerun`` the shell command that makes it again, or goes on with it.
    """

    def __init__(self, store: Store, record: StudyRecord) -> None:
        self.store, self.record = store, record
        self.key, self.title, self.rerun = record.key, record.title, record.rerun
        self.trials, self.notes, self.sweeps = record.trials, record.notes, record.sweeps
        self.parameters = tuple(dict.fromkeys(n for one in self.sweeps for n in one.parameters))
        self.claims = [Claim(c.text, (*c.better,), (*c.than,), c.source) for c in record.claims]
        self.published: Published | None = None
        if record.published is not None:
            means = {name: (mean, error) for name, (mean, error) in record.published.means.items()}
            self.published = Published(means, record.published.source)
        more = record.trials, record.first_trial
        self.cells = tuple(
            Cell(store, *more, one.sweep, one.point, one.name, one.cell, one.policies, one.lines)
            for one in record.cells
        )
        self._read: tuple[object, list[SimulationEntry | SweepEntry]] | None = None

    @classmethod
    def open(cls, store: Store, key: str) -> Study:
        """The study of this key."""
        known = store.studies()
        if key not in known:
            there = nearest(key, known) if known else "there is none"
            raise InputError(f"no study '{key}' in {store.path}: {there}")
        return cls(store, read_record(store, key))

    def __repr__(self) -> str:
        count = len(self.cells)
        swept = f" over {', '.join(self.parameters)}" if self.parameters else ""
        size = f"{count} cell{'s' * (count > 1)}{swept}, {self.trials} trials"
        return f"<Study '{self.key}' in {self.store.path}: {self.title}; {size}>"

    def __len__(self) -> int:
        return len(self.cells)

    @overload
    def __getitem__(self, number: int) -> Cell: ...
    @overload
    def __getitem__(self, number: slice) -> tuple[Cell, ...]: ...
    def __getitem__(self, number: int | slice) -> Cell | tuple[Cell, ...]:
        return self.cells[number]

    def lines(self) -> list[str]:
        """The lines of all sweeps, in their order, so that each looks the same in all figures."""
        return list(dict.fromkeys(line for cell in self.cells for line in cell.lines.values()))

    def slices(self) -> list[SweepSlice]:
        """The sweeps, each by the values of all parameters but the one on the axis."""
        found: list[SweepSlice] = []
        for number, sweep in enumerate(self.sweeps):
            mine = [cell for cell in self.cells if cell.sweep == number]
            # values alone will do where the axis says what they are, and no comma is within them
            commas = any("," in str(value) for cell in mine for value in cell.point.values())
            alone = sweep.label == ", ".join(sweep.parameters) and not commas
            # an axis has numbers only, or categories only
            texts = any(isinstance(_on_axis(cell, sweep, alone), str | bool) for cell in mine)
            groups: dict[str, list[Cell]] = {}
            for cell in mine:
                groups.setdefault(repr(_fixed(cell, sweep)), []).append(cell)
            for cells in groups.values():
                fixed = _fixed(cells[0], sweep)
                key = f"{self.key}-{slice_name(sweep, cells[0].point)}"
                if any(key == other.key for other in found):
                    key += f"-{number + 1}"  # two sweeps of the same parameters
                title = f"{sweep.title}: {point_text(fixed)}" if fixed else sweep.title
                at = ((_on_axis(cell, sweep, alone), cell) for cell in cells)
                values = {str(value) if texts else value: cell for value, cell in at}
                if len(values) < len(cells):  # texts that read the same, as 1 and '1'
                    values = {repr(cell.point): cell for cell in cells}
                found.append(SweepSlice(key, title, sweep, fixed, values))
        return found

    # --- what came out

    def select(self, point: Mapping[str, Any] | None = None, /, **more: Any) -> list[Cell]:
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

    def cell(self, point: Mapping[str, Any] | None = None, /, **more: Any) -> Cell:
        """The one cell at these values of the swept parameters."""
        found = self.select(point, **more)
        if len(found) > 1:
            wanted = _shown({**(point or {}), **more})
            at = f" at {point_text(wanted)}" if wanted else ""
            raise InputError(
                f"the study '{self.key}' has {len(found)} cells{at}: {self._choices(found, wanted)}"
            )
        return found[0]

    def _choices(self, cells: Sequence[Cell], given: Mapping[str, Any]) -> str:
        """What tells cells apart, sweep by sweep."""
        by_sweep: dict[int | None, list[Cell]] = {}
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
        """The results at one point, as :meth:`Cell.results`: ``study.results(r=0.25)``."""
        return self.cell(point, **more).results(policies, curves)

    def report(self, path: str | Path | None = None) -> Path:
        """Write the HTML page of the study, and its numbers as JSON beside it; the page's path.

        ``path`` is report.html in the directory of the store if it is not given.
        """
        from graphbandits.experiments.outputs import write_pages

        return write_pages([self], path)[0]

    def figures(
        self, directory: str | Path | None = None, formats: Sequence[str] | None = None
    ) -> list[Path]:
        """Draw the figures that the experiment asks for; the files written.

        ``directory`` is that of the store, and ``formats`` those of the experiment, if not given.
        """
        from graphbandits.experiments.outputs import draw_figures

        return draw_figures(self, directory, formats)

    def entries(self) -> list[SimulationEntry | SweepEntry]:
        """The simulation, or the slices of the sweeps, as reports and tables show them.

        Policies that lack trials are left out. Shards are read once as long as they stay the same.
        """
        from graphbandits.experiments.outputs import entries_of

        there = [cell.cover(policy).used for cell in self.cells for policy in cell.series]
        if self._read is None or self._read[0] != there:
            self._read = there, entries_of(self)
        return list(self._read[1])

    def summary(self) -> dict[str, Any]:
        """The numbers of the page as plain data, the content of summary.json."""
        from graphbandits.report import summary_of

        return summary_of(self.entries())

    def compare(self, *others: Study, reference: str | None = None) -> StudyComparison:
        """Compare the policies of each cell, or of the problems that other studies share.

        Differences are paired where the worlds are the same; they are from the policy of least
        regret, or from ``reference``.
        """
        from graphbandits.experiments.study_comparison import compare_studies

        return compare_studies([self, *others], reference)

    def verify(self) -> list[Finding]:
        """Verify every file of the store; what is damaged, missing, doubtful or left over."""
        return list(verify(self.store))

    def progress(self) -> Progress:
        """How much of it is there, from the names of the shards alone."""
        parts: dict[str, Share] = {}
        for cell in self.cells:
            for part in cell.progress().parts:
                parts.setdefault(cell.series[part.policy], part)
        return Progress(tuple(parts.values()))

    def batches(self, table: str, partial: bool = False) -> pa.RecordBatchReader:
        """A table of docs/results.md over all cells, bit by bit; the parameters are in front.

        ``partial`` takes the trials that are there, where some are missing.
        """
        from graphbandits.experiments.export import batches

        return batches([self], table, partial)

    def export(self, table: str, path: str | Path, partial: bool = False) -> int:
        """Write a table to a file .parquet, .csv or .csv.gz; how many rows it has."""
        from graphbandits.experiments.export import export

        return export([self], table, Path(path), partial)

    def to_pandas(self, table: str = "curve", partial: bool = False) -> pandas.DataFrame:
        """The table of :meth:`batches` in memory; one that is too large for it can be exported."""
        return to_pandas(self.batches(table, partial))

    def to_polars(self, table: str = "curve", partial: bool = False) -> polars.DataFrame:
        """The same for polars; ``polars.scan_parquet`` reads large ones from an exported file."""
        return to_polars(self.batches(table, partial))


def _shown(point: Mapping[str, Any]) -> dict[str, Any]:
    """The values of a point as they are kept, where lists are texts.

    >>> _shown({"prior": [1, 9], "r": 0.5})
    {'prior': '1,9', 'r': 0.5}
    """

    def given(value: Any) -> Given:
        return tuple(map(given, value)) if isinstance(value, list | tuple) else value

    return {name: shown_value(given(value)) for name, value in point.items()}


def _values(cells: Iterable[Cell], names: Iterable[str]) -> str:
    """The values that parameters have in cells; a text with a comma is in quotes."""
    points = [cell.point for cell in cells]
    texts = []
    for name in names:
        values = dict.fromkeys(point[name] for point in points if name in point)
        shown = (repr(v) if isinstance(v, str) and "," in v else str(v) for v in values)
        texts.append(f"{name}: {', '.join(shown)}")
    return "; ".join(texts)


class Studies(Mapping[str, Study]):
    """The studies of a store by their keys, each opened when it is first asked for."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self._keys = store.studies()
        self._open: dict[str, Study] = {}

    def __getitem__(self, key: str) -> Study:
        if key not in self._open:
            self._open[key] = Study.open(self.store, key)
        return self._open[key]

    def __contains__(self, key: object) -> bool:
        return key in self._keys

    def __iter__(self) -> Iterator[str]:
        return iter(self._keys)

    def __len__(self) -> int:
        return len(self._keys)

    def __repr__(self) -> str:
        return f"<Studies of {self.store.path}: {', '.join(self) or 'none'}>"

    def chosen(self, keys: list[str] | None = None) -> list[Study]:
        """The studies of these keys, or all; a store without any is refused."""
        if not self:
            raise InputError(
                f"{self.store.path} has no studies: 'graphbandits run EXPERIMENT --output "
                f"{self.store.path}' makes one"
            )
        return [self[key] for key in dict.fromkeys(keys or self)]


def open_studies(directory: str | Path) -> Studies:
    """All studies that were run, or begun, in a directory."""
    return Studies(Store.open(directory))


def open_study(directory: str | Path, key: str | None = None) -> Study:
    """The study that was run in a directory; of several the one of this key.

    ``open_study("density").results(p=0.25)`` has the results at one point of its sweep.
    """
    studies = open_studies(directory)
    if key is not None:
        return studies[key]
    if len(studies) > 1:
        raise InputError(
            f"{directory} has {len(studies)} studies: give the key of one, of {', '.join(studies)}"
        )
    return studies.chosen()[0]
