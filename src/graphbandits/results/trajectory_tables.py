"""Tables of trajectories: what the trials of one policy played and observed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from graphbandits.engine.trajectories import Trajectories
from graphbandits.errors import InputError, check_integer, nearest
from graphbandits.results.data_frames import (
    TRAJECTORY_TABLES,
    Axes,
    arrow_schema,
    not_recorded,
    to_pandas,
    to_polars,
    trajectory_part,
)

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow as pa

    from graphbandits.results.model import Results

#: Approximate number of rows that are converted at once; limits the memory.
ROWS = 2**17

#: Trajectories of consecutive trials, with the seed and the number of the first of them.
Part = tuple[int | None, int, Trajectories]


class TrajectoryTables:
    """Actions, observations and eligible arms of one policy, as tables that are read on demand.

    ``Results.trajectories`` and ``Study.trajectories`` create it. The table "actions" has one row
    per trial and round, with the columns ``seed``, ``trial``, ``round`` and ``arm``. The table
    "observations" has one row per observation, and also the columns ``reward`` and ``weight``. The
    table "eligible" has one row per arm that could be played, with the columns of "actions". Arms
    are numbers from 0. If the arms have names, the column ``arm_name`` follows ``arm``. Rows are
    ordered by trial, round and arm.

    Parameters
    ----------
    parts : callable
        Returns an iterator over the trajectories, in the order of the trials.
    recorded : sequence of str
        The recorded tables.
    arms : sequence of str
        Names of the arms.

    Examples
    --------
    >>> from graphbandits import simulate
    >>> how = {"graph": "star", "arms": 3, "horizon": 2, "trials": 2}
    >>> results = simulate("uniform", record=("actions", "observations"), **how)
    >>> tables = results.trajectories("uniform")
    >>> tables.table("actions").select(["trial", "round"]).to_pydict()
    {'trial': [0, 0, 1, 1], 'round': [1, 2, 1, 2]}
    >>> tables.table("observations").column_names
    ['seed', 'trial', 'round', 'arm', 'reward', 'weight']
    """

    def __init__(
        self, parts: Callable[[], Iterator[Part]], recorded: Sequence[str], arms: Sequence[str]
    ) -> None:
        self._parts, self.recorded = parts, tuple(recorded)
        self._arms = arms
        # without names, the arms are called 1, 2, ...
        self._is_named = any(name != str(i) for i, name in enumerate(arms, start=1))

    def __repr__(self) -> str:
        return f"<TrajectoryTables: {', '.join(self.recorded)}>"

    def schema(self, table: str) -> pa.Schema:
        """Return the columns of a table.

        Parameters
        ----------
        table : {"actions", "observations", "eligible"}
            The table.

        Returns
        -------
        pyarrow.Schema
            Names and types of the columns.

        Raises
        ------
        InputError
            If the table was not recorded.
        """
        import pyarrow as pa

        if table not in TRAJECTORY_TABLES:
            raise InputError(
                f"no table '{table}' of trajectories: {nearest(str(table), TRAJECTORY_TABLES)}"
            )
        if table not in self.recorded:
            raise not_recorded(table, {})
        fields = list(arrow_schema(table))[1:]  # all rows have the same policy
        if self._is_named:
            fields.insert(4, pa.field("arm_name", pa.string()))
        return pa.schema(fields)

    def batches(self, table: str) -> pa.RecordBatchReader:
        """Return a table in batches. Of a store, one shard at a time is in memory.

        Parameters
        ----------
        table : {"actions", "observations", "eligible"}
            The table.

        Returns
        -------
        pyarrow.RecordBatchReader
            The rows.
        """
        import pyarrow as pa

        schema = self.schema(table)
        return pa.RecordBatchReader.from_batches(schema, self._batches(table, schema))

    def table(self, table: str) -> pa.Table:
        """Return all rows of a table.

        Parameters
        ----------
        table : {"actions", "observations", "eligible"}
            The table.

        Returns
        -------
        pyarrow.Table
            The rows.
        """
        return self.batches(table).read_all()

    def to_pandas(self, table: str = "actions") -> pandas.DataFrame:
        """Return a table as a pandas data frame.

        Parameters
        ----------
        table : {"actions", "observations", "eligible"}, default="actions"
            The table.

        Returns
        -------
        pandas.DataFrame
            All rows.
        """
        return to_pandas(self.batches(table))

    def to_polars(self, table: str = "actions") -> polars.DataFrame:
        """Return a table as a polars data frame.

        Parameters
        ----------
        table : {"actions", "observations", "eligible"}, default="actions"
            The table.

        Returns
        -------
        polars.DataFrame
            All rows.
        """
        return to_polars(self.batches(table))

    def _batches(self, table: str, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        names = pa.array(self._arms, pa.string())
        for seed, first, trajectories in self._parts():
            for rows in trajectory_rows(self._arms, table, "", seed, first, trajectories):
                columns = {name: rows[name] for name in rows.column_names[1:]}
                if self._is_named:
                    columns["arm_name"] = names.take(rows["arm"].combine_chunks())
                yield from pa.table(columns).select(schema.names).combine_chunks().to_batches()


def trajectory_rows(
    arms: Sequence[str],
    table: str,
    policy: str,
    seed: int | None,
    first: int,
    trajectories: Trajectories,
) -> Iterator[pa.Table]:
    """Yield a table of the trajectories of consecutive trials in parts of about ``ROWS`` rows."""
    trials, step = trajectories.trials, trajectories.trials
    if trials and (rows := _rows_of(table, trajectories)) > ROWS:
        step = max(1, ROWS * trials // rows)
    for start in range(0, trials, max(1, step)):
        count = min(step, trials - start)
        run = {"seed": seed, "first_trial": first + start, "trials": count}
        axes = Axes(arms, np.empty(0, np.int64), [run])
        yield trajectory_part(axes, table, policy, trajectories.rows(slice(start, start + count)))


def _rows_of(table: str, trajectories: Trajectories) -> int:
    if table == "actions":
        return 0 if trajectories.action is None else trajectories.action.size
    if table == "eligible":
        return 0 if trajectories.eligible is None else int(trajectories.eligible.sum())
    return 0 if trajectories.observations is None else len(trajectories.observations.arm)


def check_trials(trials: int | Iterable[int] | None) -> list[int] | None:
    """Return numbers of trials, sorted and without duplicates; None for all trials.

    >>> check_trials([3, 1, 3]), check_trials(2), check_trials(None)
    ([1, 3], [2], None)
    """
    if trials is None:
        return None
    given = trials if isinstance(trials, Iterable) and not isinstance(trials, str) else [trials]
    return sorted({check_integer(trial, "the number of a trial", least=0) for trial in given})


def chosen_parts(
    seed: int | None, first: int, trajectories: Trajectories, chosen: Sequence[int] | None
) -> Iterator[Part]:
    """Yield the chosen trials of a part, in ranges of consecutive trials."""
    if chosen is None:
        yield seed, first, trajectories
        return
    rows = [trial - first for trial in chosen if 0 <= trial - first < trajectories.trials]
    breaks = [i for i in range(1, len(rows)) if rows[i] != rows[i - 1] + 1]
    for start, stop in zip([0, *breaks], [*breaks, len(rows)], strict=True):
        if start < stop:
            some = slice(rows[start], rows[stop - 1] + 1)
            yield seed, first + rows[start], trajectories.rows(some)


def tables_in_memory(
    results: Results, policy: str, trials: int | Iterable[int] | None
) -> TrajectoryTables:
    """Return the tables of a policy of results in memory."""
    trajectories, chosen, runs = results[policy].trajectories, check_trials(trials), results.runs
    if trajectories is None:
        recorded = results.settings.get("record")
        raise not_recorded("actions" if not recorded else recorded[0], results.settings)
    known = [range(run["first_trial"], run["first_trial"] + run["trials"]) for run in runs]
    for trial in chosen or ():
        if not any(trial in numbers for numbers in known):
            shown = ", ".join(f"{numbers[0]} to {numbers[-1]}" for numbers in known)
            raise InputError(f"no trial {trial} in these results; they have the trials {shown}")

    def parts() -> Iterator[Part]:
        row = 0
        for run in runs:
            mine = trajectories.rows(slice(row, row + run["trials"]))
            yield from chosen_parts(run["seed"], run["first_trial"], mine, chosen)
            row += run["trials"]

    return TrajectoryTables(parts, trajectories.recorded, results.arms)
