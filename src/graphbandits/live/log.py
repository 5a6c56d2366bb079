"""Logs: a table with one row per decision, with its probabilities and outcomes.

Arms, graphs, prior and the events between decisions are in the metadata of the table.
"""

from __future__ import annotations

import csv
import io
import json
import os
import warnings
from collections.abc import Iterable
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from pyarrow import parquet

from graphbandits._files import json_text, replace_file, write_text
from graphbandits._types import Floats
from graphbandits.errors import GraphBanditsError, InputError, InputWarning
from graphbandits.graphs import Feedback, GraphLike
from graphbandits.live.log_table import KEY, LogArrays, Origin, arm_type, log_schema
from graphbandits.live.read_log import columns_of, log_from_columns, read_table
from graphbandits.posteriors import Arm
from graphbandits.simulation.loop import draw_graph
from graphbandits.simulation.tables import to_pandas, to_polars

if TYPE_CHECKING:
    import pandas
    import polars


class DecisionLog:
    """Log of decisions: one row per decision, with its probabilities and outcomes.

    :meth:`Agent.log` creates it from the journal of an agent, :meth:`DecisionLog.of` from data of
    other systems, and :meth:`DecisionLog.read` from a file. docs/evaluation.md lists the columns.

    Parameters
    ----------
    table : pyarrow.Table
        The rows.
    origin : Origin
        Arms, graphs and prior.

    Examples
    --------
    >>> from graphbandits import Agent
    >>> agent = Agent("ts-n", arms=["ann", "bob"], graph="complete", seed=1)
    >>> agent.observe(agent.decide(), {"ann": 1, "bob": 0})
    >>> agent.log()
    DecisionLog(1 decision, 2 arms)
    """

    def __init__(self, table: pa.Table, origin: Origin) -> None:
        self._table, self._origin = table, origin

    def __len__(self) -> int:
        return int(self._table.num_rows)

    def __repr__(self) -> str:
        rows, arms = len(self), len(self.arms)
        return f"DecisionLog({rows} decision{'s' * (rows != 1)}, {arms} arm{'s' * (arms != 1)})"

    @property
    def arms(self) -> tuple[Arm, ...]:
        """Names of all arms, including those that were added or retired later."""
        return self._origin.arms

    @property
    def origin(self) -> Origin:
        """Arms, graphs, prior and events between the decisions."""
        return self._origin

    def feedback(self, row: int) -> Feedback | None:
        """Return the feedback graph of a decision, with retired arms; None if the log has none.

        Parameters
        ----------
        row : int
            Row of the decision, from 0.

        Returns
        -------
        Feedback or None
            The graph of the round.
        """
        graph = self._table["graph"][row].as_py()
        process = None if graph is None else self._origin.processes[graph]
        if process is None:
            return None
        return draw_graph(process, self._table["round"][row].as_py(), self._origin.keys)

    # Output ---------------------------------------------------------------------------------------

    def to_arrow(self) -> pa.Table:
        """Return the log as a pyarrow table, with the graphs and arms in its metadata."""
        return self._table.replace_schema_metadata({KEY: self._origin.to_json()})

    def to_pandas(self) -> pandas.DataFrame:
        """Return the table as a pandas data frame, without the graphs and the prior."""
        return to_pandas(self._table.replace_schema_metadata(None))

    def to_polars(self) -> polars.DataFrame:
        """Return the table as a polars data frame, without the graphs and the prior."""
        return to_polars(self._table.replace_schema_metadata(None))

    def to_parquet(self, path: str | os.PathLike[str]) -> Path:
        """Write the log, with its graphs, to a Parquet file. The write is atomic.

        Parameters
        ----------
        path : str or Path
            The file.

        Returns
        -------
        Path
            The file.
        """
        target = Path(path)
        with replace_file(target) as stream:
            parquet.write_table(self.to_arrow(), stream)
        return target

    def write(self, path: str | os.PathLike[str]) -> Path:
        """Write the log to a file: Parquet, CSV or one JSON object per line, by its suffix.

        Only Parquet files contain the graphs. Lists in a CSV file are JSON texts.

        Parameters
        ----------
        path : str or Path
            File whose name ends in .parquet, .csv or .jsonl.

        Returns
        -------
        Path
            The file.
        """
        target = Path(path)
        match target.suffix.lower():
            case ".parquet" | ".pq":
                return self.to_parquet(target)
            case ".jsonl":
                lines = (json_text(_plain(row), indent=None) for row in self._table.to_pylist())
                write_text(target, "".join(f"{line}\n" for line in lines))
            case ".csv":
                text = io.StringIO()
                writer = csv.writer(text, lineterminator="\n")
                writer.writerow(self._table.column_names)
                for row in self._table.to_pylist():
                    writer.writerow([_cell(value) for value in _plain(row).values()])
                write_text(target, text.getvalue())
            case _:
                raise InputError(
                    f"cannot write the log to {target}: its name must end in .parquet, .csv or "
                    ".jsonl"
                )
        return target

    def to_obp(self) -> dict[str, Any]:
        """Convert to the bandit feedback of Open Bandit Pipeline, without side observations.

        Open decisions, and decisions without an outcome of the played arm, are left out, with an
        InputWarning: estimates from the others are biased if answers depend on arms or rewards.

        Returns
        -------
        dict
            ``n_rounds``, ``n_actions``, ``action`` (number of the arm in :attr:`arms`),
            ``reward``, ``position`` (None), ``pscore``, ``context`` (numbers of the contexts, or
            a column of ones), ``action_context`` (one-hot) and ``pi_b`` (n_rounds, n_actions, 1).

        Examples
        --------
        >>> log = DecisionLog.of([{"arm": "a", "pi": {"a": 0.5, "b": 0.5}, "reward": 1}])
        >>> log.to_obp()["pi_b"][0, :, 0]
        array([0.5, 0.5])
        """
        data, count = self.arrays, len(self.arms)
        own = data.own_outcomes()
        used = np.flatnonzero(data.closed & (own >= 0))
        if not len(used):
            raise InputError("no closed decision has an outcome of its arm: nothing to convert")
        data.check_propensities(used)
        if not data.pi.known[used].all():
            raise InputError(
                "Open Bandit Pipeline needs the probabilities of all arms, and the log has only "
                "those of the played ones: give the column pi"
            )
        left_out = len(self) - len(used)
        if left_out:
            warnings.warn(
                f"{left_out} of {len(self)} decisions ({left_out / len(self):.1%}) are open, or "
                "have no outcome of their arm, and were left out: estimates from the others may be "
                "biased",
                InputWarning,
                stacklevel=2,
            )
        contexts = [self._table["context"][int(row)].as_py() for row in used]
        return {
            "n_rounds": len(used),
            "n_actions": count,
            "action": data.arm[used],
            "reward": data.outcomes.reward[own[used]],
            "position": None,
            "pscore": data.probability[used],
            "context": _context_numbers(contexts),
            "action_context": np.eye(count, dtype=np.int64),
            "pi_b": data.pi.dense(used, count)[:, :, None],
        }

    # Input ----------------------------------------------------------------------------------------

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> DecisionLog:
        """Read a log from a file: one of :meth:`to_parquet`, or data of other systems.

        Parameters
        ----------
        path : str or Path
            Parquet, CSV or JSONL file. One without the metadata of a log is read by :meth:`of`.

        Returns
        -------
        DecisionLog
            The log.
        """
        return cls.of(Path(path))

    @classmethod
    def _restored(cls, table: pa.Table, name: str) -> DecisionLog:
        try:
            origin = Origin.from_json(table.schema.metadata[KEY])
            schema = log_schema(arm_type(origin.arms))
            missing = [name for name in schema.names if name not in table.column_names]
            if missing:
                raise InputError(f"it has no column '{missing[0]}'")
            made = cls(table.select(schema.names).cast(schema), origin)
            assert len(origin.processes) == len(origin.graphs)
        except GraphBanditsError as error:
            raise InputError(f"cannot read {name}: {error}") from None
        except Exception as error:  # damaged metadata may raise any exception
            reason = " ".join(str(error).split())
            raise InputError(f"cannot read {name}: it is damaged ({reason})") from None
        return made

    @classmethod
    def of(
        cls,
        data: object,
        arms: int | Iterable[Arm] | None = None,
        graph: GraphLike = None,
    ) -> DecisionLog:
        """Create a log from data of another system.

        Parameters
        ----------
        data : data frame, table, list of dicts, or path
            One row per decision, in their order, with the columns ``arm``; ``probability`` of the
            played arm, or ``pi`` of all arms (a mapping, or a list of dicts with ``arm`` and
            ``probability``); ``reward`` of the played arm, or ``outcomes`` (a mapping, or a list of
            dicts with ``arm`` and ``reward``). The other columns of a log are optional; further
            columns are ignored. A missing value of ``reward`` is a missing answer. A decision is
            open if its ``closed`` is null or false. A table of :meth:`to_arrow` keeps its graphs
            and its prior, unless ``arms`` or ``graph`` are given.
        arms : int or iterable of str or int, optional
            Names of the arms, or their number. The default is the names of the graph, or those in
            the data, sorted.
        graph : graph, optional
            The feedback graph, if it is the same for all decisions. Without it, outcomes of arms
            that were not played count as extra.

        Returns
        -------
        DecisionLog
            The log.

        Examples
        --------
        >>> rows = [{"arm": "a", "probability": 0.5, "reward": 1}]
        >>> DecisionLog.of(rows, arms=["a", "b"])
        DecisionLog(1 decision, 2 arms)
        """
        name = "the log"
        if isinstance(data, str | os.PathLike):
            name, data = f"the log {data}", read_table(Path(data))
        metadata = getattr(getattr(data, "schema", None), "metadata", None) or {}
        if arms is None and graph is None and KEY in metadata:
            return cls._restored(data, name)
        return cls(*log_from_columns(columns_of(data), arms, graph))

    @cached_property
    def arrays(self) -> LogArrays:
        """The columns as arrays, with numbers of arms instead of names."""
        return LogArrays.of(self._table, self._origin)


def _plain(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, dict):
        return {key: _plain(one) for key, one in value.items()}
    return [_plain(one) for one in value] if isinstance(value, list) else value


def _cell(value: Any) -> Any:
    return json.dumps(value) if isinstance(value, dict | list) else value


def _context_numbers(contexts: list[str | None]) -> Floats:
    found = [None if one is None else json.loads(one) for one in contexts]
    first = found[0]
    names = list(first) if isinstance(first, dict) else None
    rows = list[list[Any]]()
    for one in found:
        if names is not None and isinstance(one, dict) and one.keys() == set(names):
            rows.append([one[name] for name in names])  # the order of keys may differ
        elif names is None and isinstance(one, list):
            rows.append(one)
    numbers = all(type(x) in (int, float) for row in rows for x in row)
    same = len(rows) == len(found) and len({len(row) for row in rows}) == 1
    if same and numbers and rows[0]:
        return np.array(rows, np.float64)
    return np.ones((len(found), 1))
