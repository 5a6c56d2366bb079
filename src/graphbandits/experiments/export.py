"""Export of tables for all cells of studies, shard by shard.

The first columns are ``study`` and every swept parameter, which is null in cells that do not have
it. If the texts of policies differ along a line of a sweep, the column ``line`` follows.
"""

from __future__ import annotations

import gzip
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from graphbandits._io import check_name, replace_file
from graphbandits._types import Floats, Ints
from graphbandits.engine import Shard
from graphbandits.errors import InputError
from graphbandits.graphs import Fixed
from graphbandits.results import PolicyResult
from graphbandits.results.data_frames import (
    SCHEMA,
    TRAJECTORY_TABLES,
    Axes,
    arrow_schema,
    check_table,
    graph_table,
    part,
)
from graphbandits.results.trajectory_tables import trajectory_rows
from graphbandits.store import ShardFile

if TYPE_CHECKING:
    from graphbandits.experiments.study import Cell, Study

#: Rows of a batch and of a Parquet row group; limits the memory usage.
ROWS = 2**17
#: Suffixes of the supported file formats.
SUFFIXES = (".parquet", ".csv", ".csv.gz")


def batches(studies: Sequence[Study], table: str, partial: bool = False) -> pa.RecordBatchReader:
    """Return the rows of a table, ordered by cell, policy, trial and round.

    Without ``partial``, raise an error before reading if a requested trial is missing. With
    ``partial``, use the trials that exist.
    """
    check_table(table)
    cells = [(study, cell) for study in studies for cell in study.cells]
    if table == "ratios":
        cells = [(s, c) for s, c in cells if c.settings.get("ratios")]
        if not cells:
            raise InputError(
                "no information ratios in these studies: run them with --ratios bound or joint"
            )
    if table in TRAJECTORY_TABLES:
        cells = [(s, c) for s, c in cells if table in c.settings.get("record", ())]
        if not cells:
            what = "eligible arms" if table == "eligible" else table
            raise InputError(
                f"no {what} in these studies: set {table} = true in the table [record] of the "
                "experiment, and run it again"
            )
    if table == "graph":
        cells = [(study, cell) for study, cell in cells if isinstance(cell.process, Fixed)]
        if not cells:
            raise InputError("no fixed graph in these studies: the table 'graph' is not available")
    elif not partial:
        for _, cell in cells:
            for policy in cell.series:
                cell.files(policy)  # raises an error if trials are missing
    front = _leading_columns(studies, with_line=table != "graph")
    schema = pa.schema([*front, *arrow_schema(table)])
    return pa.RecordBatchReader.from_batches(schema, _in_batches(_rows(cells, table, front)))


def export(studies: Sequence[Study], table: str, path: Path, partial: bool = False) -> int:
    """Write a table to a file atomically and return the number of rows."""
    suffix = next((e for e in reversed(SUFFIXES) if path.name.lower().endswith(e)), None)
    if suffix is None:
        raise InputError(f"unknown file format '{path.name}': use one of {', '.join(SUFFIXES)}")
    if os.path.isdir(path):  # Path.is_dir raises an error if the name is too long
        raise InputError(f"{path} is a directory: give the name of a file")
    check_name(path)
    found = batches(studies, table, partial)
    rows = 0
    with replace_file(path) as stream, ExitStack() as stack:
        sink: Any = stream
        if suffix == ".csv.gz":
            # no name and no time: the same rows give the same bytes
            sink = gzip.GzipFile("", "wb", compresslevel=6, fileobj=stream, mtime=0)
            stack.enter_context(sink)
        if suffix == ".parquet":  # one row group per batch
            writer = pa.parquet.ParquetWriter(sink, found.schema, compression="zstd")
        else:
            writer = pa.csv.CSVWriter(sink, found.schema)
        stack.enter_context(writer)
        for batch in found:
            writer.write_batch(batch)
            rows += batch.num_rows
    return rows


def _leading_columns(studies: Sequence[Study], with_line: bool) -> pa.Schema:
    """Return the schema of the first columns: study, swept parameters, and line."""
    values: dict[str, list[Any]] = {}
    cells = [cell for study in studies for cell in study.cells]
    for cell in cells:
        for name, value in _parameters(cell).items():
            values.setdefault(name, []).append(value)
    lines = with_line and any(p != line for cell in cells for p, line in cell.lines.items())
    fields = {"study": pa.string()} | {
        name: _column_type(column) for name, column in values.items()
    }
    return pa.schema(fields | ({"line": pa.string()} if lines else {}))


def _parameters(cell: Cell) -> dict[str, Any]:
    """Return the values of a point; add ``swept_`` to names that are columns of a table."""
    taken = {"study", "line"}.union(*SCHEMA.values())
    return {f"swept_{n}" if n in taken else n: value for n, value in cell.point.items()}


def _prepend_columns(front: pa.Schema, values: Mapping[str, Any], rows: pa.Table) -> pa.Table:
    """Add the first columns to rows of a table."""
    columns = []
    for field in front:
        value = values.get(field.name)
        if value is not None and pa.types.is_string(field.type):
            value = str(value)
        elif value is not None and pa.types.is_floating(field.type):
            value = float(value)
        columns.append(pa.repeat(pa.scalar(value, field.type), len(rows)))
    return pa.table([*columns, *rows.columns], schema=pa.schema([*front, *rows.schema]))


def _column_type(values: Sequence[Any]) -> pa.DataType:
    """Return a type that represents all values of a parameter exactly."""
    kinds = {type(value) for value in values}
    if kinds == {bool}:
        return pa.bool_()
    if kinds == {int}:
        return pa.int64() if all(-(2**63) <= value < 2**63 for value in values) else pa.string()
    exact = all(abs(value) <= 2**53 for value in values if isinstance(value, int))
    return pa.float64() if kinds <= {int, float} and exact else pa.string()


def _rows(cells: Sequence[tuple[Study, Cell]], table: str, front: pa.Schema) -> Iterator[pa.Table]:
    for study, cell in cells:
        values = {"study": study.key} | _parameters(cell)
        if table == "graph":
            assert isinstance(cell.process, Fixed)
            edges = graph_table(cell.process.feedback)
            if edges is not None:
                yield _prepend_columns(front, values, edges)
            continue
        for policy, line in cell.lines.items():
            if files := cell.shard_index(policy).used:
                for rows in _policy_rows(cell, policy, files, table):
                    yield _prepend_columns(front, values | {"line": line}, rows)


def _policy_rows(
    cell: Cell, policy: str, files: Sequence[ShardFile], table: str
) -> Iterator[pa.Table]:
    """Yield the rows of a policy; tables with trials in parts of about ``ROWS`` rows."""
    rounds, arms, seed = cell.rounds, cell.arms, cell.settings["seed"]
    if table in ("curve", "plays"):
        shards = [cell.directory.read(file, len(rounds), False) for file in files]
        summary = PolicyResult.from_shards(shards, len(arms))
        yield part(Axes(arms, rounds, ()), table, policy, summary)
    elif table in TRAJECTORY_TABLES:
        for file in files:
            seen = cell.directory.read(file).trajectories
            assert seen is not None  # recorded according to the settings
            yield from trajectory_rows(arms, table, policy, seed, file.first, seen)
    else:
        step = max(1, ROWS // (len(rounds) if "round" in SCHEMA[table] else 1))
        for file in files:
            shard = cell.directory.read(file, trajectories=False)
            for start in range(0, shard.trials, step):
                some = slice(start, min(start + step, shard.trials))
                count = some.stop - some.start
                run = {"seed": seed, "first_trial": shard.first + start, "trials": count}
                keys = Axes(arms, rounds, [run]).keys(table, policy)
                yield pa.table(keys | _values(shard, table, some), arrow_schema(table))


def _values(shard: Shard, table: str, some: slice) -> dict[str, Floats | Ints]:
    """Return the result columns for some trials of a shard."""
    if table == "final":
        return {"regret": shard.regret[some, -1]}
    if table == "regret":
        return {"regret": shard.regret[some].ravel()}
    assert shard.ratios is not None  # recorded according to the settings
    return {name: array[some].ravel() for name, array in shard.ratios.items()}


def _in_batches(tables: Iterator[pa.Table]) -> Iterator[pa.RecordBatch]:
    """Combine tables into batches of ``ROWS`` rows; the last batch may be smaller."""
    waiting: list[pa.Table] = []
    count = 0
    for table in tables:
        waiting.append(table)
        count += len(table)
        if count >= ROWS:
            combined = pa.concat_tables(waiting).combine_chunks()
            full = count - count % ROWS
            yield from combined.slice(0, full).to_batches(ROWS)
            waiting, count = [combined.slice(full)], count - full
    if count:
        yield from pa.concat_tables(waiting).combine_chunks().to_batches(ROWS)
