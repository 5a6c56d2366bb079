"""Tables of results and trajectories for pandas and polars."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from graphbandits._types import Floats, Ints
from graphbandits.errors import InputError, check_integer, nearest
from graphbandits.simulation.shard import RATIO_COLUMNS, Trajectories

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow as pa

    from graphbandits.graphs import Feedback
    from graphbandits.simulation.results import PolicyResult, Results

#: Levels of the quantiles of every curve and of the final regret.
QUANTILES = (0.1, 0.25, 0.5, 0.75, 0.9, 0.95)
#: Reason and advice if results have only means and quantiles.
NO_CURVES = "these results are summaries: read them with study.results()"
_TRIAL = {"policy": "string", "seed": "int64", "trial": "int64"}
_ROUND = _TRIAL | {"round": "int64"}
#: Tables with their columns and types.
SCHEMA: dict[str, dict[str, str]] = {
    "curve": {"policy": "string", "round": "int64"}
    | dict.fromkeys(["mean", "standard_error", *(f"q{q:g}" for q in QUANTILES)], "double"),
    "final": _TRIAL | {"regret": "double"},
    "plays": {"policy": "string", "arm": "string", "plays": "int64"},
    "regret": _ROUND | {"regret": "double"},
    "ratios": _ROUND | dict.fromkeys(RATIO_COLUMNS, "double"),
    "graph": {"source": "int64", "target": "int64", "probability": "double"},
    "actions": _ROUND | {"arm": "int64"},
    "observations": _ROUND | {"arm": "int64", "reward": "double", "weight": "double"},
    "eligible": _ROUND | {"arm": "int64"},
}
#: Tables of recorded trajectories.
TRAJECTORY_TABLES = ("actions", "observations", "eligible")
#: Columns that identify a row.
KEYS = frozenset({"policy", "seed", "trial", "round", "arm"})
#: Largest seed in the column of a table. The manifest has seeds of any size.
_MAX_SEED = 2**63 - 1


@dataclass(frozen=True, eq=False)
class Axes:
    """Arms, rounds and runs that identify the rows of the tables."""

    arms: Sequence[str]
    rounds: Ints
    runs: Sequence[dict[str, Any]]

    def seeds_and_trials(self) -> tuple[pa.Array, Ints]:
        """Return the seed and the number of each trial."""
        import pyarrow as pa

        run = np.repeat(np.arange(len(self.runs)), [run["trials"] for run in self.runs])
        first = [np.arange(run["trials"]) + run["first_trial"] for run in self.runs]
        given = [run["seed"] for run in self.runs]
        seeds = pa.array([None if n is None or n > _MAX_SEED else n for n in given], pa.int64())
        return seeds.take(pa.array(run)), np.concatenate(first)

    def keys(self, table: str, policy: str) -> dict[str, pa.Array]:
        """Return the key columns of the rows of a policy; rounds vary fastest, then trials."""
        import pyarrow as pa

        rounds = len(self.rounds) if "round" in SCHEMA[table] else 1
        each: dict[str, pa.Array] = {}
        if "arm" in SCHEMA[table]:
            each["arm"] = pa.array(self.arms, pa.string())
        if "trial" in SCHEMA[table]:
            seeds, number = self.seeds_and_trials()
            each["seed"] = seeds.take(pa.array(np.repeat(np.arange(len(number)), rounds)))
            each["trial"] = pa.array(np.repeat(number, rounds))
        if "round" in SCHEMA[table]:
            trials = sum(run["trials"] for run in self.runs) if "trial" in each else 1
            each["round"] = pa.array(np.tile(self.rounds, trials))
        each["policy"] = pa.repeat(policy, len(next(iter(each.values()))))
        return {column: each[column] for column in SCHEMA[table] if column in KEYS}


def part(axes: Axes, table: str, policy: str, result: PolicyResult) -> pa.Table:
    """Return the rows of a policy that has the values of the table."""
    import pyarrow as pa

    if table in TRAJECTORY_TABLES:
        assert result.trajectories is not None
        return trajectory_part(axes, table, policy, result.trajectories)
    values: dict[str, Floats | Ints]
    if table == "curve":
        quantiles = {f"q{q:g}": row for q, row in zip(QUANTILES, result.quantiles, strict=True)}
        values = {"mean": result.mean, "standard_error": result.standard_error} | quantiles
    elif table == "plays":
        values = {"plays": result.plays}
    elif table == "ratios":
        assert result.ratios is not None
        values = {name: array.ravel() for name, array in result.ratios.items()}
    else:
        regret = result.final if table == "final" else result.regret
        assert regret is not None
        values = {"regret": regret.ravel()}
    return pa.table(axes.keys(table, policy) | values, arrow_schema(table))


def trajectory_part(axes: Axes, table: str, policy: str, trajectories: Trajectories) -> pa.Table:
    """Return the rows of one policy in a table of trajectories; ``axes`` has its trials."""
    import pyarrow as pa

    columns: dict[str, NDArray[Any]]
    if table == "actions":
        assert trajectories.action is not None
        row, time = np.indices(trajectories.action.shape).reshape(2, -1)
        columns = {"round": time + 1, "arm": trajectories.action.ravel()}
    elif table == "observations":
        seen = trajectories.observations
        assert seen is not None
        row, ones = seen.trial, np.ones(len(seen.reward))
        columns = {"round": seen.round, "arm": seen.arm, "reward": seen.reward, "weight": ones}
    else:
        assert trajectories.eligible is not None
        row, time, arm = np.nonzero(trajectories.eligible)
        columns = {"round": time + 1, "arm": arm}
    seeds, trials = axes.seeds_and_trials()
    keys = {
        "policy": pa.repeat(policy, len(row)),
        "seed": seeds.take(pa.array(row)),
        "trial": pa.array(trials[row]),
    }
    return pa.table(keys | columns).cast(arrow_schema(table))


def graph_table(feedback: Feedback) -> pa.Table | None:
    """Return the edges of a fixed graph, sorted, without self-loops.

    None for a uniform feedback, which has one probability for all other arms and no edge table.

    >>> from graphbandits.graphs import as_process
    >>> graph_table(as_process("star(direction=out)", 3).feedback).to_pydict()
    {'source': [0, 0], 'target': [1, 2], 'probability': [1.0, 1.0]}
    """
    import pyarrow as pa

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


def full_table(results: Results, table: str) -> pa.Table:
    import pyarrow as pa

    check_table(table)
    if table == "graph":
        if results.graph is None:
            raise InputError("these results have no fixed graph, and therefore no table 'graph'")
        edges = graph_table(results.graph.feedback)
        if edges is None:
            raise InputError(
                "the graph of these results has one probability for all other arms and no "
                "table of edges: use results.graph.feedback.r"
            )
        return edges
    found = results.policies
    if table in TRAJECTORY_TABLES:
        found = {
            n: r for n, r in found.items() if r.trajectories and table in r.trajectories.recorded
        }
        if not found:
            raise not_recorded(table, results.settings)
    if table in ("regret", "ratios"):
        summed = any(result.ratio_sums is not None for result in found.values())
        found = {n: r for n, r in found.items() if getattr(r, table) is not None}
        if not found and table == "ratios" and not summed:
            raise InputError(
                "these results have no information ratios: simulate with ratios='bound' or 'joint'"
            )
        if not found:
            raise InputError(f"no table '{table}': {NO_CURVES}; or use 'curve' or 'final'")
    axes = Axes(results.arms, results.rounds, results.runs)
    return pa.concat_tables([part(axes, table, name, found[name]) for name in found])


def not_recorded(table: str, settings: Mapping[str, Any]) -> InputError:
    """Return the error for a table of trajectories that results do not have."""
    what = "eligible arms" if table == "eligible" else table
    if table in (settings.get("record") or ()):
        return InputError(
            f"these results were read without {what}: use study.trajectories(policy=...), or "
            "study.results(trajectories=True)"
        )
    return InputError(f"these results have no {what}: simulate with record='{table}'")


def arrow_schema(table: str) -> pa.Schema:
    import pyarrow as pa

    return pa.schema([(name, pa.type_for_alias(kind)) for name, kind in SCHEMA[table].items()])


def check_table(table: str) -> None:
    if table not in SCHEMA:
        raise InputError(f"no table '{table}': {nearest(str(table), SCHEMA)}")


def to_pandas(rows: pa.Table | pa.RecordBatchReader) -> pandas.DataFrame:
    frame: pandas.DataFrame = _read_all("pandas", rows).to_pandas()
    return frame


def to_polars(rows: pa.Table | pa.RecordBatchReader) -> polars.DataFrame:
    table = _read_all("polars", rows)
    import polars

    frame = polars.from_arrow(table)
    assert isinstance(frame, polars.DataFrame)  # a table never gives a series
    return frame


def _read_all(package: str, rows: pa.Table | pa.RecordBatchReader) -> pa.Table:
    """Read all rows; raise InputError if ``package`` is not installed."""
    import pyarrow as pa

    try:
        importlib.import_module(package)
    except ImportError:
        raise InputError(
            f'to_{package} needs {package}: pip install "graphbandits[{package}]"'
        ) from None
    return rows.read_all() if isinstance(rows, pa.RecordBatchReader) else rows


#: Approximate number of rows that are converted at once; limits the memory.
ROWS = 2**17

#: Trajectories of consecutive trials, with the seed and the number of the first of them.
Part = tuple[int | None, int, Trajectories]


class TrajectoryTables:
    """Actions, observations and eligible arms of one policy, as tables that are read on demand.

    The table "actions" has one row per trial and round, with the columns ``seed``, ``trial``,
    ``round`` and ``arm``; "observations" has one row per observation, and also ``reward`` and
    ``weight``; "eligible" has one row per eligible arm. Arms are numbers from 0. If they have
    names, ``arm_name`` follows ``arm``. Rows are ordered by trial, round and arm.
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
        """Return a table in batches. Of a store, one shard at a time is in memory."""
        import pyarrow as pa

        schema = self.schema(table)
        return pa.RecordBatchReader.from_batches(schema, self._batches(table, schema))

    def table(self, table: str) -> pa.Table:
        """Return all rows of a table."""
        return self.batches(table).read_all()

    def to_pandas(self, table: str = "actions") -> pandas.DataFrame:
        """Return a table as a pandas data frame."""
        return to_pandas(self.batches(table))

    def to_polars(self, table: str = "actions") -> polars.DataFrame:
        """Return a table as a polars data frame."""
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
    seen = trajectories.observations
    recorded = {
        "actions": trajectories.action,
        "observations": None if seen is None else seen.arm,
        "eligible": trajectories.eligible,
    }[table]
    assert recorded is not None
    trials = trajectories.trials
    step = max(1, ROWS * trials // max(1, recorded.size))
    for start in range(0, trials, step):
        count = min(step, trials - start)
        run = {"seed": seed, "first_trial": first + start, "trials": count}
        axes = Axes(arms, np.empty(0, np.int64), [run])
        yield trajectory_part(axes, table, policy, trajectories.rows(slice(start, start + count)))


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
