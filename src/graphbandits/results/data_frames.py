"""The tables of results, as docs/results.md has them: one part for each policy, in its order."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from graphbandits._types import Floats, Ints
from graphbandits.errors import InputError, nearest

if TYPE_CHECKING:
    import pandas
    import polars

    from graphbandits.graphs import Feedback
    from graphbandits.results.model import PolicyResult, Results

#: Quantiles that are kept of every curve and reported of the final regret.
QUANTILES = (0.1, 0.25, 0.5, 0.75, 0.9, 0.95)
#: Why something is not known of results that have means and quantiles alone.
NO_CURVES = (
    "these results have not kept the curves of their trials; if they are from a store it has them: "
    "Cell.results(curves=True); results of format 1 have to be simulated again"
)
#: Tables, their columns and types; columns without a unit of their own name a row.
SCHEMA: dict[str, dict[str, str]] = {
    "curve": {"policy": "string", "round": "int64", "mean": "double", "standard_error": "double"}
    | {f"q{q:g}": "double" for q in QUANTILES},
    "final": {"policy": "string", "seed": "int64", "trial": "int64", "regret": "double"},
    "plays": {"policy": "string", "arm": "string", "plays": "int64"},
    "regret": {
        "policy": "string",
        "seed": "int64",
        "trial": "int64",
        "round": "int64",
        "regret": "double",
    },
    "ratios": {
        "policy": "string",
        "seed": "int64",
        "trial": "int64",
        "round": "int64",
        "ratio": "double",
        "ratio_sum": "double",
        "psi": "double",
        "entropy": "double",
    },
    "graph": {"source": "int64", "target": "int64", "probability": "double"},
}
#: The columns that say which row it is.
KEYS = frozenset({"policy", "seed", "trial", "round", "arm"})
#: Seeds are any whole numbers; the column holds those of 64 bits, the manifest all.
_MAX_SEED = 2**63 - 1


@dataclass(frozen=True, eq=False)
class Axes:
    """What the rows of the tables stand for."""

    arms: Sequence[str]
    rounds: Ints
    runs: Sequence[dict[str, Any]]

    @classmethod
    def of(cls, results: Results) -> Axes:
        return cls(results.arms, results.rounds, results.runs)

    def keys(self, table: str, policy: str) -> dict[str, pa.Array]:
        """The key columns of a policy's part: rounds vary fastest, then trials."""
        trials = sum(run["trials"] for run in self.runs)
        rounds = len(self.rounds) if "round" in SCHEMA[table] else 1
        each: dict[str, pa.Array] = {}
        if "arm" in SCHEMA[table]:
            each["arm"] = pa.array(self.arms, pa.string())
        if "trial" in SCHEMA[table]:
            run = np.repeat(np.arange(len(self.runs)), [run["trials"] for run in self.runs])
            first = [np.arange(run["trials"]) + run["first_trial"] for run in self.runs]
            number = np.concatenate(first)
            given = [run["seed"] for run in self.runs]
            seeds = pa.array([None if n is None or n > _MAX_SEED else n for n in given], pa.int64())
            each["seed"] = seeds.take(pa.array(np.repeat(run, rounds)))
            each["trial"] = pa.array(np.repeat(number, rounds))
        if "round" in SCHEMA[table]:
            times = trials if "trial" in each else 1
            each["round"] = pa.array(np.tile(self.rounds, times))
        rows = len(next(iter(each.values())))
        each["policy"] = pa.array([policy], pa.string()).take(pa.array(np.zeros(rows, np.int64)))
        return {column: each[column] for column in SCHEMA[table] if column in KEYS}


def part(axes: Axes, table: str, policy: str, result: PolicyResult) -> pa.Table:
    """The rows of one policy."""
    return pa.table(axes.keys(table, policy) | values_of(table, result), arrow_schema(table))


def values_of(table: str, result: PolicyResult) -> dict[str, Floats | Ints]:
    """The columns that hold what came out."""
    if table == "curve":
        quantiles = {f"q{q:g}": row for q, row in zip(QUANTILES, result.quantiles, strict=True)}
        return {"mean": result.mean, "standard_error": result.standard_error} | quantiles
    if table == "final":
        return {"regret": result.final}
    if table == "plays":
        return {"plays": result.plays}
    if table == "ratios" and result.ratios is not None:
        return {name: array.ravel() for name, array in result.ratios.items()}
    if table == "regret" and result.regret is not None:
        return {"regret": result.regret.ravel()}
    raise ValueError(f"this result has not kept what the table '{table}' is of")


def policies_of(results: Results, table: str) -> list[str]:
    """The policies that have rows in a table."""
    always = table not in ("regret", "ratios")
    kept = results.policies.items()
    return [name for name, result in kept if always or getattr(result, table) is not None]


def graph_table(feedback: Feedback) -> pa.Table | None:
    """The edges of a fixed graph, ordered, without the loops that every arm has.

    None for a feedback with one probability for all other arms, which has no need of them.

    >>> from graphbandits.graphs import as_process
    >>> graph_table(as_process("star(direction=out)", 3).feedback).to_pydict()
    {'source': [0, 0], 'target': [1, 2], 'probability': [1.0, 1.0]}
    """
    from graphbandits.graphs import SparseFeedback, UniformFeedback

    if isinstance(feedback, UniformFeedback):
        return None
    if isinstance(feedback, SparseFeedback):
        source = np.repeat(np.arange(feedback.arms), np.diff(feedback.start))
        sparse = SparseFeedback.from_edges(feedback.arms, source, feedback.column, feedback.weight)
        source = np.repeat(np.arange(sparse.arms), np.diff(sparse.start))
        target, probability = sparse.column, sparse.weight
    else:
        matrix = feedback.reach(np.arange(feedback.arms))
        source, target = np.nonzero(matrix)
        probability = matrix[source, target]
    edge = source != target
    columns = {"source": source[edge], "target": target[edge], "probability": probability[edge]}
    return pa.table(columns, arrow_schema("graph"))


def edges_of(results: Results) -> pa.Table | None:
    """The edges of the fixed graph of results; None if it has none, or no need of them."""
    return None if results.graph is None else graph_table(results.graph.feedback)


def full_table(results: Results, table: str) -> pa.Table:
    """All rows of a table, or why there are none."""
    check_table(table)
    if table == "graph":
        if results.graph is None:
            raise InputError("these results have no fixed graph: there is no table 'graph'")
        edges = edges_of(results)
        if edges is None:
            raise InputError(
                "the graph of these results has one probability for all other arms and no "
                "table of edges: see results.graph.feedback.r"
            )
        return edges
    names, axes = policies_of(results, table), Axes.of(results)
    if not names and table == "ratios":
        if any(result.ratio_sums is not None for result in results.policies.values()):
            raise InputError(
                "these results have of their information ratios only means; the store that they "
                "are from has those of each trial: Cell.results(curves=True)"
            )
        raise InputError(
            "these results have no information ratios: simulate with ratios='bound' or 'joint'"
        )
    if not names:
        raise InputError(
            "no table 'regret', but 'final', the regret of each trial, and 'curve', the quantiles "
            f"of each round: {NO_CURVES}"
        )
    return pa.concat_tables([part(axes, table, name, results[name]) for name in names])


def arrow_schema(table: str) -> pa.Schema:
    """The columns of a table and their types."""
    return pa.schema([(name, pa.type_for_alias(kind)) for name, kind in SCHEMA[table].items()])


def check_table(table: str) -> None:
    """Refuse a table that does not exist."""
    if table not in SCHEMA:
        raise InputError(f"no table '{table}': {nearest(str(table), SCHEMA)}")


def to_pandas(rows: pa.Table | pa.RecordBatchReader) -> pandas.DataFrame:
    """The rows of a table as a pandas frame."""
    frame: pandas.DataFrame = _read_all("pandas", rows).to_pandas()
    return frame


def to_polars(rows: pa.Table | pa.RecordBatchReader) -> polars.DataFrame:
    """The rows of a table as a polars frame."""
    table = _read_all("polars", rows)
    import polars

    frame = polars.from_arrow(table)
    assert isinstance(frame, polars.DataFrame)  # a table never gives a series
    return frame


def _read_all(package: str, rows: pa.Table | pa.RecordBatchReader) -> pa.Table:
    """All rows, once a package that they are for is there."""
    try:
        importlib.import_module(package)
    except ImportError:
        raise InputError(
            f'to_{package} needs {package}: pip install "graphbandits[{package}]"'
        ) from None
    return rows.read_all() if isinstance(rows, pa.RecordBatchReader) else rows
