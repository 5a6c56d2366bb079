"""The tables of docs/results.md over all cells of studies, shard by shard.

In front of their columns are ``study`` and every parameter that was swept, null where a cell has
none of that name; then ``line``, where policies of different texts belong together.
"""

from __future__ import annotations

import gzip
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from graphbandits._io import check_name, replace_file
from graphbandits._types import Floats, Ints
from graphbandits.engine import Shard
from graphbandits.errors import InputError
from graphbandits.graphs import Fixed
from graphbandits.results.data_frames import (
    SCHEMA,
    Axes,
    arrow_schema,
    check_table,
    graph_table,
    part,
)
from graphbandits.store import ShardFile
from graphbandits.store.summary import summarise_files

if TYPE_CHECKING:
    from graphbandits.experiments.study import Cell, Study

#: Rows of a batch, and of a row group of a file: what is in memory at once.
ROWS = 2**17
#: The endings of files that can be written.
ENDINGS = (".parquet", ".csv", ".csv.gz")


def batches(studies: Sequence[Study], table: str, partial: bool = False) -> pa.RecordBatchReader:
    """The rows of a table: by cell, policy, trial and round, each in the order of its study.

    Without ``partial`` every trial that was asked for must be there, which is checked before
    anything is read; with it, those that are there count.
    """
    check_table(table)
    cells = [(study, cell) for study in studies for cell in study.cells]
    if table == "ratios":
        cells = [(s, c) for s, c in cells if c.description[0]["settings"].get("ratios")]
        if not cells:
            raise InputError(
                "these studies have no information ratios: run them with --ratios bound or joint"
            )
    if table == "graph":
        cells = [(study, cell) for study, cell in cells if isinstance(cell.process, Fixed)]
        if not cells:
            raise InputError("these studies have no fixed graph: there is no table 'graph'")
    elif not partial:
        for _, cell in cells:
            for policy in cell.series:
                cell.files(policy)  # says what is missing
    front = _front(studies, with_line=table != "graph")
    schema = pa.schema([*front, *arrow_schema(table)])
    return pa.RecordBatchReader.from_batches(schema, _gathered(_rows(cells, table, front)))


def export(studies: Sequence[Study], table: str, path: Path, partial: bool = False) -> int:
    """Write a table to a file, whole or not at all; how many rows it has."""
    ending = next((e for e in reversed(ENDINGS) if path.name.lower().endswith(e)), None)
    if ending is None:
        raise InputError(f"an export is a file {', '.join(ENDINGS)}, not '{path.name}'")
    if os.path.isdir(path):  # unlike that of Path, it bears a name that is too long
        raise InputError(f"{path} is a directory: choose another name for the file")
    check_name(path)
    found = batches(studies, table, partial)
    rows = 0
    with replace_file(path) as stream, ExitStack() as stack:
        sink: Any = stream
        if ending == ".csv.gz":
            # without a name or a time: the same rows are the same bytes
            sink = gzip.GzipFile("", "wb", compresslevel=6, fileobj=stream, mtime=0)
            stack.enter_context(sink)
        if ending == ".parquet":  # with a row group for each batch
            writer = pa.parquet.ParquetWriter(sink, found.schema, compression="zstd")
        else:
            writer = pa.csv.CSVWriter(sink, found.schema)
        stack.enter_context(writer)
        for batch in found:
            writer.write_batch(batch)
            rows += batch.num_rows
    return rows


def _front(studies: Sequence[Study], with_line: bool) -> pa.Schema:
    """The columns in front: of which study, point and line a row is."""
    values: dict[str, list[Any]] = {}
    cells = [cell for study in studies for cell in study.cells]
    for cell in cells:
        for name, value in _parameters(cell).items():
            values.setdefault(name, []).append(value)
    lines = with_line and any(p != line for cell in cells for p, line in cell.lines.items())
    fields = {"study": pa.string()} | {name: _type(there) for name, there in values.items()}
    return pa.schema(fields | ({"line": pa.string()} if lines else {}))


def _parameters(cell: Cell) -> dict[str, Any]:
    """The values of a point; a parameter with the name of a column of any table is ``swept_``."""
    taken = {"study", "line"}.union(*SCHEMA.values())
    return {f"swept_{n}" if n in taken else n: value for n, value in cell.point.items()}


def _put(front: pa.Schema, values: Mapping[str, Any], rows: pa.Table) -> pa.Table:
    """Rows with the columns in front of them."""
    columns = []
    for field in front:
        value = values.get(field.name)
        if value is not None and pa.types.is_string(field.type):
            value = str(value)
        elif value is not None and pa.types.is_floating(field.type):
            value = float(value)
        columns.append(pa.repeat(pa.scalar(value, field.type), len(rows)))
    return pa.table([*columns, *rows.columns], schema=pa.schema([*front, *rows.schema]))


def _type(values: Sequence[Any]) -> pa.DataType:
    """What holds all values of a parameter, with all digits: numbers, yes and no, or texts."""
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
                yield _put(front, values, edges)
            continue
        for policy, line in cell.lines.items():
            if files := cell.cover(policy).used:
                for rows in _of_policy(cell, policy, files, table):
                    yield _put(front, values | {"line": line}, rows)


def _of_policy(
    cell: Cell, policy: str, files: Sequence[ShardFile], table: str
) -> Iterator[pa.Table]:
    """The rows of a policy, at most about ``ROWS`` at once where they are of trials."""
    meta, _ = cell.description
    rounds, arms, seed = np.array(meta["rounds"]), meta["arms"], meta["settings"]["seed"]
    if table in ("curve", "plays"):
        whole = summarise_files(cell.store, files, len(rounds), len(arms))
        yield part(Axes(arms, rounds, ()), table, policy, whole)
    else:
        step = max(1, ROWS // (len(rounds) if "round" in SCHEMA[table] else 1))
        for file in files:
            shard = cell.store.read(file)
            for start in range(0, shard.trials, step):
                some = slice(start, min(start + step, shard.trials))
                count = some.stop - some.start
                run = {"seed": seed, "first_trial": shard.first + start, "trials": count}
                keys = Axes(arms, rounds, [run]).keys(table, policy)
                yield pa.table(keys | _values(shard, table, some), arrow_schema(table))


def _values(shard: Shard, table: str, some: slice) -> dict[str, Floats | Ints]:
    """The columns of trials of a shard that hold what came out."""
    if table == "final":
        return {"regret": shard.regret[some, -1]}
    if table == "regret":
        return {"regret": shard.regret[some].ravel()}
    assert shard.ratios is not None  # the settings say that they were recorded
    return {name: array[some].ravel() for name, array in shard.ratios.items()}


def _gathered(tables: Iterator[pa.Table]) -> Iterator[pa.RecordBatch]:
    """The rows in batches of ``ROWS``, but for the last: neither tiny nor large."""
    waiting: list[pa.Table] = []
    count = 0
    for table in tables:
        waiting.append(table)
        count += len(table)
        if count >= ROWS:
            whole = pa.concat_tables(waiting).combine_chunks()
            full = count - count % ROWS
            yield from whole.slice(0, full).to_batches(ROWS)
            waiting, count = [whole.slice(full)], count - full
    if count:
        yield from pa.concat_tables(waiting).combine_chunks().to_batches(ROWS)
