"""Studies: experiments with their stored results, which are read on demand."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from graphbandits.errors import InputError, nearest
from graphbandits.graphs import Fixed, Process
from graphbandits.posteriors import Posterior
from graphbandits.simulation.plan import Plan, point_text
from graphbandits.simulation.results import PolicyResult, Results, concat
from graphbandits.simulation.shard import Recording, true_means
from graphbandits.simulation.tables import (
    Part,
    TrajectoryTables,
    check_trials,
    chosen_parts,
    to_pandas,
    to_polars,
)
from graphbandits.study.directory import (
    Directory,
    Finding,
    PointRecord,
    ShardFile,
    ShardIndex,
    StudyRecord,
    verify,
)
from graphbandits.study.experiment import SweepValue, display_value, line_label, slice_name
from graphbandits.worlds import World

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow as pa

    from graphbandits.study.report import SimulationEntry, SweepEntry

#: Maximum number of policies that a message lists.
MAX_LISTED = 3


@dataclass(frozen=True)
class PolicyProgress:
    """Number of stored trials of one policy at one point."""

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
    """Number of stored trials of a study or cell."""

    policies: tuple[PolicyProgress, ...]

    @property
    def done(self) -> int:
        return sum(part.done for part in self.policies)

    @property
    def trials(self) -> int:
        return sum(part.trials for part in self.policies)

    @property
    def complete(self) -> bool:
        return not self.missing

    @property
    def missing(self) -> tuple[PolicyProgress, ...]:
        return tuple(part for part in self.policies if part.missing)

    def __repr__(self) -> str:
        share = 100 * self.done // self.trials
        text = f"{self.done} of {self.trials} trials ({share} %)"
        incomplete = f"; incomplete: {join_limited(self.missing)}" if self.missing else ""
        return f"<Progress: {text}{incomplete}>"


def join_limited(parts: Sequence[PolicyProgress]) -> str:
    """Join the progress of policies; of many, list the first and the number of others."""
    shown = ", ".join(map(str, parts[:MAX_LISTED]))
    more = len(parts) - MAX_LISTED
    return f"{shown} and {more} more" if more > 0 else shown


class Cell:
    """One simulation of a study: one point of a sweep, or the only simulation.

    Attributes
    ----------
    trials : number of requested trials per policy
    first_trial : number of the first trial
    sweep : index of the sweep; None without sweeps
    point : values of the swept parameters by name
    series : series of trials in the directory, by policy
    lines : label of the line of each policy in the sweep
    settings : settings of the simulation, as in the results
    rounds : recorded rounds
    """

    def __init__(self, directory: Directory, study: StudyRecord, record: PointRecord) -> None:
        self.directory, self.problem = directory, record.problem
        self.trials, self.first_trial = study.trials, study.first_trial
        self.sweep, self.point = record.sweep, record.point
        self.series, self.lines = record.policies, record.lines
        self.settings, self.rounds = record.settings, np.array(record.rounds)

    def __repr__(self) -> str:
        return f"<Cell{self.where}: {self.trials} trials of {', '.join(self.series)}>"

    def shard_index(self, policy: str) -> ShardIndex:
        """Find the shards of a policy and its missing trials, without reading shards."""
        return self.directory.index(self.series[self.policy(policy)], self.trials, self.first_trial)

    def policy(self, name: str) -> str:
        """Return the key of a policy in ``series``, from its name or line."""
        if name in self.series:
            return name
        by_line = {line: policy for policy, line in self.lines.items()}
        if line_label(name) not in by_line:
            known = {*self.series, *by_line}
            raise InputError(f"no policy '{name}'{self.where}: {nearest(name, known)}")
        return by_line[line_label(name)]

    def files(self, policy: str) -> tuple[ShardFile, ...]:
        """Return the shards of a policy, with all requested trials."""
        index = self.shard_index(policy)
        if index.gaps:
            raise InputError(
                f"{index.missing} of {self.trials} trials of '{policy}'{self.where} are missing in "
                f"{self.directory.path}: run the experiment again to compute them"
            )
        return index.used

    @property
    def where(self) -> str:
        """The point as text, for messages."""
        return f" at {point_text(self.point)}" if self.point else ""

    def progress(self) -> Progress:
        """Count the stored trials of each policy."""
        done = {policy: self.trials - self.shard_index(policy).missing for policy in self.series}
        return Progress(
            tuple(PolicyProgress(p, self.point, n, self.trials) for p, n in done.items())
        )

    def complete(self) -> list[str]:
        """Return the policies without missing trials."""
        return [part.policy for part in self.progress().policies if not part.missing]

    def results(
        self,
        policies: str | Iterable[str] | None = None,
        *,
        curves: bool = True,
        trajectories: bool = False,
    ) -> Results:
        """Read the results; see :meth:`Study.results` for the parameters."""
        chosen = [policies] if isinstance(policies, str) else policies
        names = list(self.series if chosen is None else dict.fromkeys(map(self.policy, chosen)))
        means = None
        if self.world is not None:
            means = true_means(self.world, self.settings["seed"], self.trials)
        found = {}
        for name in names:
            shards = [
                self.directory.read(file, len(self.rounds), trajectories)
                for file in self.files(name)
            ]
            result = PolicyResult.from_shards(shards, len(self.arms), means)
            summary: dict[str, Any] = {"regret": None, "ratios": None, "trial_plays": None}
            found[name] = result if curves else replace(result, **summary)
        described = self.settings["policies"]
        settings = self.settings | {
            "problem": self.problem,
            "policies": {name: described[name] for name in names},
        }
        process = self.process
        graph = process if isinstance(process, Fixed) else None
        return Results(self.rounds, found, self.arms, settings, graph)

    def trajectories(
        self, policy: str, trials: int | Iterable[int] | None = None
    ) -> TrajectoryTables:
        """Return what a policy played and observed, as tables; see :meth:`Study.trajectories`."""
        policy, chosen = self.policy(policy), check_trials(trials)
        recorded = self.settings.get("record")
        if not recorded:
            raise InputError(
                f"no actions and no observations of '{policy}'{self.where} were recorded: set "
                "actions = true or observations = true in the table [record] of the experiment, "
                "and run it again"
            )
        if chosen is None:
            files = self.files(policy)
        else:
            files = self.shard_index(policy).used
            for trial in chosen:
                if not any(file.first <= trial < file.end for file in files):
                    raise InputError(
                        f"no trial {trial} of '{policy}'{self.where} in {self.directory.path}"
                    )
            files = tuple(f for f in files if any(f.first <= trial < f.end for trial in chosen))

        def parts() -> Iterator[Part]:
            for file in files:
                found = self.directory.read(file).trajectories
                assert found is not None  # recorded according to the settings
                yield from chosen_parts(self.settings["seed"], file.first, found, chosen)

        return TrajectoryTables(parts, recorded, self.arms)

    @cached_property
    def _plan(self) -> Plan | None:
        """The plan without policies; None if it needs a plug-in that is not loaded."""
        data = self.directory.problem(self.problem)
        horizon, run = self.settings["horizon"], (self.first_trial, self.trials)
        try:
            return Plan.unpack(
                data,
                policies={},
                horizon=horizon,
                first_trial=run[0],
                trials=run[1],
                seed=self.settings["seed"],
                recording=Recording(tuple(self.rounds.tolist())),
            )
        except InputError:
            return None

    @property
    def arms(self) -> tuple[str, ...]:
        """Names of the arms; their numbers from 1 if they have none."""
        if self._plan is not None:
            return self._plan.arm_names
        return tuple(str(i + 1) for i in range(self.settings["arms"]))

    @property
    def process(self) -> Process | None:
        """The graph process; None if a plug-in is not loaded."""
        return None if self._plan is None else self._plan.process

    @property
    def world(self) -> World | None:
        """The world; None if a plug-in is not loaded."""
        return None if self._plan is None else self._plan.world

    @property
    def posterior(self) -> Posterior | None:
        """The prior that policies start from; None if a plug-in is not loaded."""
        return None if self._plan is None else self._plan.posterior


@dataclass(frozen=True, eq=False)
class SweepSlice:
    """The cells of a sweep along its axis, with fixed values of all other parameters."""

    key: str
    title: str
    parameter: str
    label: str
    scale: str
    cells: Mapping[Any, Cell]


class Study(Sequence[Cell]):
    """An experiment with its stored results, complete or incomplete.

    :func:`graphbandits.open_study` opens a study. A study is a sequence of its ``cells``. Shards
    are read on demand.

    Parameters
    ----------
    directory
        The directory.
    record
        The description of the study.

    Attributes
    ----------
    key, title : name of the study in the directory, and its title
    trials : number of requested trials per policy and cell
    parameters : names of all swept parameters
    cells : the simulations
    rerun : shell command that repeats or continues the run
    """

    def __init__(self, directory: Directory, record: StudyRecord) -> None:
        self.directory, self.record = directory, record
        self.key, self.title, self.rerun = record.key, record.title, record.rerun
        self.trials, self.notes, self.sweeps = record.trials, record.notes, record.sweeps
        self.claims, self.published = record.claims, record.published
        self.parameters = tuple(dict.fromkeys(n for one in self.sweeps for n in one.parameters))
        self.cells = tuple(Cell(directory, record, point) for point in record.points)
        self._cached: tuple[object, list[SimulationEntry | SweepEntry]] | None = None

    @classmethod
    def open(cls, directory: Directory, key: str) -> Study:
        """Open a study.

        Parameters
        ----------
        directory
            The directory.
        key
            Key of the study.
        """
        return cls(directory, directory.study(key))

    def __repr__(self) -> str:
        count = len(self.cells)
        swept = f" over {', '.join(self.parameters)}" if self.parameters else ""
        size = f"{count} cell{'s' * (count > 1)}{swept}, {self.trials} trials"
        return f"<Study '{self.key}' in {self.directory.path}: {self.title}; {size}>"

    def __len__(self) -> int:
        return len(self.cells)

    @overload
    def __getitem__(self, number: int) -> Cell: ...
    @overload
    def __getitem__(self, number: slice) -> tuple[Cell, ...]: ...
    def __getitem__(self, number: int | slice) -> Cell | tuple[Cell, ...]:
        return self.cells[number]

    def lines(self) -> list[str]:
        """Return the labels of the lines of all sweeps, in the order of their styles in figures."""
        return list(dict.fromkeys(line for cell in self.cells for line in cell.lines.values()))

    def slices(self) -> list[SweepSlice]:
        """Split the sweeps along their axes: one slice per combination of the other parameters."""
        found: list[SweepSlice] = []
        for number, sweep in enumerate(self.sweeps):
            mine = [cell for cell in self.cells if cell.sweep == number]
            # values suffice if the label names the parameters and no value contains a comma
            commas = any("," in str(value) for cell in mine for value in cell.point.values())
            alone = sweep.label == ", ".join(sweep.parameters) and not commas
            groups: dict[str, dict[Any, Cell]] = {}
            for cell in mine:
                if sweep.x is not None:
                    fixed = {name: v for name, v in cell.point.items() if name != sweep.x}
                    value = cell.point[sweep.x]
                else:
                    fixed, values = {}, map(str, cell.point.values())
                    value = ", ".join(values) if alone else point_text(cell.point)
                groups.setdefault(point_text(fixed), {})[value] = cell
            for text, cells in groups.items():
                base = f"{self.key}-{slice_name(sweep, next(iter(cells.values())).point)}"
                key, count = base, 2
                while any(key.casefold() == other.key.casefold() for other in found):
                    key, count = f"{base}-{count}", count + 1  # for example two sweeps of "r"
                title = f"{sweep.title}: {text}" if text else sweep.title
                parameter = sweep.x or ", ".join(sweep.parameters)
                found.append(SweepSlice(key, title, parameter, sweep.label, sweep.scale, cells))
        return found

    # --- results

    def select(self, point: Mapping[str, Any] | None = None, /, **more: Any) -> list[Cell]:
        """Return all cells at given values of swept parameters, as in ``select(r=0.25)``.

        Parameters
        ----------
        point
            Values by parameter, for names that are not valid in Python: ``select({"prior.a": 2})``.
        **more
            Values by parameter.
        """
        values = _display_point({**(point or {}), **more})
        for name in values:
            if name not in self.parameters:
                swept = nearest(name, self.parameters) if self.parameters else "it has no sweeps"
                raise InputError(f"'{name}' was not swept in the study '{self.key}': {swept}")
        found = [cell for cell in self.cells if values.items() <= cell.point.items()]
        if not found:
            known = _values_text(self.cells, values)
            raise InputError(
                f"the study '{self.key}' has no cell at {point_text(values)}; values: {known}"
            )
        return found

    def cell(self, point: Mapping[str, Any] | None = None, /, **more: Any) -> Cell:
        """Return the only cell at given values of the swept parameters.

        Parameters
        ----------
        point
            Values by parameter, see :meth:`select`.
        **more
            Values by parameter.
        """
        found = self.select(point, **more)
        if len(found) > 1:
            values = _display_point({**(point or {}), **more})
            at = f" at {point_text(values)}" if values else ""
            left = [name for name in self.parameters if name not in values]
            raise InputError(
                f"the study '{self.key}' has {len(found)} cells{at}: give values of other "
                f"parameters ({_values_text(found, left)}), or use select()"
            )
        return found[0]

    def results(
        self,
        point: Mapping[str, Any] | None = None,
        /,
        policies: str | Iterable[str] | None = None,
        *,
        curves: bool = True,
        trajectories: bool = False,
        pool: str | None = None,
        **more: Any,
    ) -> Results:
        """Read the results at one point, as in ``study.results(r=0.25)``.

        Parameters
        ----------
        point
            Values of swept parameters, see :meth:`select`.
        policies
            Names or lines of policies, or a single one. Default: all.
        curves
            Whether to keep the regret and the ratios of every trial and round in memory.
        trajectories
            Whether to read recorded actions, observations and eligible arms.
        pool
            "seed" combines the trials of all seeds of a sweep over the seed.
        **more
            Values of swept parameters.

        Raises
        ------
        InputError
            If the cell is not unique, a policy is unknown, or trials are missing.
        """
        how = {"curves": curves, "trajectories": trajectories}
        if pool is None:
            return self.cell(point, **more).results(policies, **how)
        if pool != "seed" or "seed" not in self.parameters:
            raise InputError(f"pool must be 'seed' in a study with a sweep over it, not {pool!r}")
        cells = [cell for cell in self.select(point, **more) if "seed" in cell.point]
        fixed = {**(point or {}), **more}
        others = {name for cell in cells for name in cell.point if name not in ("seed", *fixed)}
        if any(len({cell.point[name] for cell in cells}) > 1 for name in others):
            raise InputError(
                f"the study '{self.key}' has several points besides the seed: give "
                f"{_values_text(cells, sorted(others))}"
            )
        return concat([cell.results(policies, **how) for cell in cells])

    def trajectories(
        self,
        point: Mapping[str, Any] | None = None,
        /,
        *,
        policy: str,
        trials: int | Iterable[int] | None = None,
        **more: Any,
    ) -> TrajectoryTables:
        """Return what a policy played and observed at one point, as tables.

        The shards are read one by one, when a table is requested.

        Parameters
        ----------
        point
            Values of swept parameters, see :meth:`select`.
        policy
            Name or line of the policy.
        trials
            Numbers of the trials. Default: all requested trials.
        **more
            Values of swept parameters.

        Returns
        -------
        TrajectoryTables
            The tables "actions", "observations" and "eligible".
        """
        return self.cell(point, **more).trajectories(policy, trials)

    def report(self, path: str | Path | None = None) -> Path:
        """Write the HTML report of the study, and its numbers as JSON.

        Parameters
        ----------
        path
            The .html file. Default: report.html in the directory of the study.
        """
        from graphbandits.study.export import write_pages

        return write_pages([self], path)[0]

    def figures(
        self, directory: str | Path | None = None, formats: Sequence[str] | None = None
    ) -> list[Path]:
        """Draw the figures of the experiment, and return the files that were written.

        Parameters
        ----------
        directory
            Directory for the figures. Default: that of the study.
        formats
            "png", "svg" and "pdf", or some of them. Default: all.
        """
        from graphbandits.study.export import draw_figures

        return draw_figures(self, directory, formats)

    def entries(self) -> list[SimulationEntry | SweepEntry]:
        """Return the entries of the report: the simulation, or the slices of the sweeps.

        Incomplete policies are left out. The result is cached until the shards change.
        """
        from graphbandits.study.export import entries_of

        used = [cell.shard_index(policy).used for cell in self.cells for policy in cell.series]
        if self._cached is None or self._cached[0] != used:
            self._cached = used, entries_of(self)
        return list(self._cached[1])

    def summary(self) -> dict[str, Any]:
        """Return the numbers of the report, the content of summary.json."""
        from graphbandits.study.report import summary_of

        return summary_of(self.entries())

    def verify(self) -> list[Finding]:
        """Return the damaged, missing and inconsistent files of the directory."""
        return verify(self.directory)

    def remove(self, policies: str | Iterable[str] | None = None) -> None:
        """Remove the study from its directory, or only its trials of some policies.

        Without ``policies``, all trials that no other study of the directory uses are removed, also
        those of earlier versions of an experiment or of a policy. Figures and reports stay.

        Parameters
        ----------
        policies
            Names or lines of policies, or a single one, whose trials are removed. Default: the
            whole study.
        """
        keys = [key for key in self.directory.studies() if key != self.key]
        others = [self.directory.study(key) for key in keys]
        kept = {series for record in others for series in record.series}
        if policies is not None:
            chosen = [policies] if isinstance(policies, str) else list(policies)
            mine = {cell.series[cell.policy(name)] for cell in self.cells for name in chosen}
            self.directory.remove(None, (mine & {*self.directory.series()}) - kept)
            return
        needed = {point.problem for record in others for point in record.points}
        unused = {*self.directory.problems()} - needed
        self.directory.remove(self.key, {*self.directory.series()} - kept, unused)

    def progress(self) -> Progress:
        """Count the stored trials, without reading shards."""
        parts: dict[str, PolicyProgress] = {}
        for cell in self.cells:
            for part in cell.progress().policies:
                parts.setdefault(cell.series[part.policy], part)
        return Progress(tuple(parts.values()))

    def batches(self, table: str, partial: bool = False) -> pa.RecordBatchReader:
        """Return a table of all cells in batches; swept parameters are the first columns.

        Parameters
        ----------
        table
            Name of a table, such as "final" or "curve".
        partial
            Whether to use the stored trials if some are missing. By default, missing trials are an
            error.
        """
        from graphbandits.study.export import batches

        return batches([self], table, partial)

    def export(self, table: str, path: str | Path, partial: bool = False) -> int:
        """Write a table to a file, and return the number of rows.

        Parameters
        ----------
        table
            Name of a table, see :meth:`batches`.
        path
            A .parquet, .csv or .csv.gz file.
        partial
            Whether to use the stored trials if some are missing.
        """
        from graphbandits.study.export import export

        return export([self], table, Path(path), partial)

    def to_pandas(self, table: str = "curve", partial: bool = False) -> pandas.DataFrame:
        """Return a table as a pandas data frame; use :meth:`export` if it does not fit into memory.

        Parameters
        ----------
        table, partial
            As in :meth:`batches`.
        """
        return to_pandas(self.batches(table, partial))

    def to_polars(self, table: str = "curve", partial: bool = False) -> polars.DataFrame:
        """Return a table as a polars data frame.

        For tables that do not fit into memory, use :meth:`export` and ``polars.scan_parquet``.

        Parameters
        ----------
        table, partial
            As in :meth:`batches`.
        """
        return to_polars(self.batches(table, partial))


def _display_point(point: Mapping[str, Any]) -> dict[str, Any]:
    """Return a point as it is stored, with lists formatted as strings."""

    def as_tuple(value: Any) -> SweepValue:
        return tuple(map(as_tuple, value)) if isinstance(value, list | tuple) else value

    return {name: display_value(as_tuple(value)) for name, value in point.items()}


def _values_text(cells: Iterable[Cell], names: Iterable[str]) -> str:
    """List the values of parameters in cells; strings with a comma are quoted."""
    points = [cell.point for cell in cells]
    texts = []
    for name in names:
        values = dict.fromkeys(point[name] for point in points if name in point)
        shown = (repr(v) if isinstance(v, str) and "," in v else str(v) for v in values)
        texts.append(f"{name}: {', '.join(shown)}")
    return "; ".join(texts)


class Studies(Mapping[str, Study]):
    """Mapping of the studies of a directory by key. Studies are opened on demand."""

    def __init__(self, directory: Directory) -> None:
        self.directory = directory
        self._keys = directory.studies()
        self._open: dict[str, Study] = {}

    def __getitem__(self, key: str) -> Study:
        if key not in self._open:
            self._open[key] = Study.open(self.directory, key)
        return self._open[key]

    def __contains__(self, key: object) -> bool:
        return key in self._keys

    def __iter__(self) -> Iterator[str]:
        return iter(self._keys)

    def __len__(self) -> int:
        return len(self._keys)

    def __repr__(self) -> str:
        return f"<Studies of {self.directory.path}: {', '.join(self) or 'none'}>"

    def select(self, keys: list[str] | None = None) -> list[Study]:
        """Return studies by key; all by default. Raise InputError if a key is unknown."""
        if not self:
            raise InputError(
                f"{self.directory.path} has no studies: create one with 'graphbandits run "
                f"EXPERIMENT --output {self.directory.path}'"
            )
        return [self[key] for key in dict.fromkeys(keys or self)]


def open_studies(directory: str | Path) -> Studies:
    """Open all studies in a directory, complete or incomplete.

    Parameters
    ----------
    directory
        Output directory of one or more runs.

    Returns
    -------
    Studies
        The studies by key.
    """
    return Studies(Directory.open(directory))


def open_study(directory: str | Path, key: str | None = None) -> Study:
    """Open the study in a directory.

    Parameters
    ----------
    directory
        Output directory of a run.
    key
        Key of the study, if the directory has several.

    Returns
    -------
    Study
        The study.

    Raises
    ------
    InputError
        If the directory has no studies, or the study is unknown or not unique.

    Examples
    --------
    >>> open_study("density").results(p=0.25)  # doctest: +SKIP
    """
    studies = open_studies(directory)
    if key is not None:
        return studies[key]
    if len(studies) > 1:
        raise InputError(
            f"{directory} has {len(studies)} studies: give the key of one: {', '.join(studies)}"
        )
    return studies.select()[0]
