"""Export of a study: tables, pages and figures."""

from __future__ import annotations

import gzip
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
from matplotlib.figure import Figure

from graphbandits._files import check_name, json_text, make_directory, replace_file, write_text
from graphbandits._types import Floats, Ints
from graphbandits.errors import InputError
from graphbandits.graphs import Fixed, RandomFeedback, UniformFeedback
from graphbandits.graphs.processes import fixed_feedback
from graphbandits.plots import (
    final_figure,
    forest_figure,
    plays_figure,
    regret_figure,
    save_figure,
    sweep_figure,
)
from graphbandits.plots.style import FORMATS, check_word
from graphbandits.posteriors import Posterior
from graphbandits.rng import Keys
from graphbandits.simulation.results import PolicyResult, Results
from graphbandits.simulation.shard import Shard
from graphbandits.simulation.tables import (
    SCHEMA,
    TRAJECTORY_TABLES,
    Axes,
    arrow_schema,
    check_table,
    graph_table,
    part,
    trajectory_rows,
)
from graphbandits.study.claims import Published
from graphbandits.study.directory import ShardFile
from graphbandits.study.report import (
    Entry,
    SimulationEntry,
    SweepEntry,
    report_html,
    summary_of,
)
from graphbandits.study.study import Cell, PolicyProgress, Study, SweepSlice, join_limited
from graphbandits.theory import Bound, bounds_for
from graphbandits.theory.bounds import WITH_GRAPH, recorded_bounds, why_no_bounds

#: Rows of a batch and of a Parquet row group; limits the memory usage.
ROWS = 2**17
#: Suffixes of the supported file formats.
SUFFIXES = (".parquet", ".csv", ".csv.gz")


def batches(studies: Sequence[Study], table: str, partial: bool = False) -> pa.RecordBatchReader:
    """Return the rows of a table, ordered by cell, policy, trial and round.

    Without ``partial``, missing trials are an error, which is raised before reading.
    """
    check_table(table)
    cells = [(study, cell) for study in studies for cell in study.cells]
    if table == "graph":
        cells = [(study, cell) for study, cell in cells if isinstance(cell.process, Fixed)]
    elif table == "ratios" or table in TRAJECTORY_TABLES:
        cells = [(study, cell) for study, cell in cells if table in _recorded(cell)]
    if not cells:
        key = f"{table} = " + ("'bound'" if table == "ratios" else "true")
        how = f"set {key} in the table [record] of the experiment, and run it again"
        raise InputError(
            f"no {table} in these studies: {'no graph is fixed' if table == 'graph' else how}"
        )
    if table != "graph" and not partial:
        for _, cell in cells:
            for policy in cell.series:
                cell.files(policy)  # raises an error if trials are missing
    front = _leading_columns(studies, with_line=table != "graph")
    schema = pa.schema([*front, *arrow_schema(table)])
    return pa.RecordBatchReader.from_batches(schema, _in_batches(_rows(cells, table, front)))


def _recorded(cell: Cell) -> list[str]:
    return [*cell.settings.get("record", ()), *(["ratios"] if "ratios" in cell.settings else [])]


def export(studies: Sequence[Study], table: str, path: Path, partial: bool = False) -> int:
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


#: Maximum number of arms for which clique covers are computed without --bounds, for graphs that
#: are fixed (True) or change (False). One cover at 60 arms, or hundreds at 40, take seconds.
MAX_COVER_ARMS = {True: 60, False: 40}
#: Maximum number of different priors for which the entropy of the best arm is computed without
#: --bounds: it takes 1 s, and 150 s at 20,000.
MAX_DISTINCT_PRIORS = 2000
#: Files of an output directory besides the figures and the trials.
PAGES = ("summary.json", "report.html")


# --- entries of the report


def entries_of(study: Study) -> list[Entry]:
    """Return the report entries of the complete policies: the simulation, or the slices."""
    found: list[Entry] = []
    for cell in study.cells:
        if cell.sweep is None and (complete := cell.complete()):
            found.append(_simulation(study, cell, complete))
    found += [entry for part in study.slices() if (entry := _sweep(study, part)) is not None]
    if found:  # show the notes of the study once
        found[0] = replace(found[0], notes=(*study.notes, *found[0].notes))
    return found


def merge_entries(studies: Sequence[Study]) -> list[Entry]:
    """Return the entries of several studies, with unique keys."""
    found: list[Entry] = []
    for study in studies:
        for entry in study.entries():
            key, number = entry.key, 2
            while any(key == other.key for other in found):
                key, number = f"{entry.key}-{number}", number + 1
            found.append(replace(entry, key=key))
    return found


def _simulation(study: Study, cell: Cell, complete: Sequence[str]) -> SimulationEntry:
    results = cell.results(complete, curves=False)
    bounds, why = cell_bounds(cell, results, study.record.bounds)
    notes = _missing_note(study, cell.progress().missing)
    return SimulationEntry(
        study.key,
        study.title,
        results,
        study.rerun,
        (*notes, *why),
        tuple(c for c in study.claims if {*c.better, *c.than} <= {*complete}),
        _published(study, complete),
        bounds,
    )


def _sweep(study: Study, part: SweepSlice) -> SweepEntry | None:
    """Return the entry of a slice with all complete policies; None if there are none."""
    results: dict[Any, Results] = {}
    missing: list[PolicyProgress] = []
    for value, cell in part.cells.items():
        missing += cell.progress().missing
        if complete := cell.complete():
            lines = {name: cell.lines[name] for name in complete}
            results[value] = cell.results(complete, curves=False).renamed(lines)
    if not results:
        return None
    notes, order = _missing_note(study, missing), tuple(study.lines())
    return SweepEntry(**vars(part), results=results, rerun=study.rerun, notes=notes, order=order)


def _missing_note(study: Study, parts: Sequence[PolicyProgress]) -> tuple[str, ...]:
    """Return a note about policies that are left out because trials are missing."""
    if not parts:
        return ()
    return (f"Left out because trials are missing: {join_limited(parts)}.{_continue_hint(study)}",)


def _continue_hint(study: Study) -> str:
    return f" To continue: {study.rerun}" if study.rerun else ""


def _published(study: Study, complete: Sequence[str]) -> Published | None:
    if study.published is None:
        return None
    means = {name: pair for name, pair in study.published.means.items() if name in complete}
    return replace(study.published, means=means) if means else None


def cell_bounds(
    cell: Cell, results: Results, requested: bool
) -> tuple[tuple[Bound, ...], tuple[str, ...]]:
    """Return the proved bounds of the policies, and a note if some were not computed.

    Bounds that may take longer than the simulation are computed only if ``requested``.
    """
    settings, prior, process = results.settings, cell.posterior, cell.process
    if cell.world is None or prior is None or process is None:
        why = (
            "Bounds were not computed: the graph, the world or the posterior is defined by a "
            "plug-in. Load it with --plugin FILE."
        )
        return (), (why,)
    late = settings.get("delay", settings.get("answer_rate"))
    if "posterior" in settings or why_no_bounds(
        cell.world, eligible=settings.get("eligible"), answers=late
    ):
        return (), ()  # the report gives the reason
    general = recorded_bounds(results, prior) if settings.get("ratios") else ()
    fixed = fixed_feedback(process)
    covers = not isinstance(process, RandomFeedback)
    if fixed is not None:
        covers = fixed.deterministic and not isinstance(fixed, UniformFeedback)
    large = process.arms > MAX_COVER_ARMS[fixed is not None]
    if not covers:
        large = _distinct_priors(prior) > MAX_DISTINCT_PRIORS
    proved = any(name.split("(")[0] in ("ids-lp", *WITH_GRAPH) for name in results.policies)
    if large and proved and not requested:
        why = (
            f"Bounds on the expected regret were not computed: with {process.arms} arms they can "
            "take longer than the simulation. The command under 'Run it again' computes them if "
            "--bounds is added; it uses the stored trials."
        )
        return general, (why,)
    keys = Keys(settings["seed"], cell.first_trial, cell.trials)
    found = bounds_for(results.policies, process, prior, results.rounds, keys)
    return found + general, ()


def _distinct_priors(prior: Posterior) -> int:
    rows = [array[0].reshape(prior.arms, -1) for array in prior.init(trials=1).values()]
    return len(np.unique(np.column_stack(rows), axis=0))


# --- pages


def write_pages(studies: Sequence[Study], path: str | Path | None = None) -> tuple[Path, Path]:
    """Write the HTML report on studies of one directory, and its numbers as JSON."""
    chosen, directory = list(studies), studies[0].directory.path
    if path is not None and not Path(path).name:
        raise InputError("the name of the report is empty: give the name of an .html file")
    page = directory / "report.html" if path is None else Path(path)
    numbers = directory / "summary.json" if path is None else page.with_suffix(".json")
    if page == numbers:
        raise InputError(
            f"the report cannot be written to '{page.name}': give the name of an .html file"
        )
    _check_files([page, numbers])
    entries = merge_entries(chosen)
    if not entries:
        raise InputError(
            f"no policy in {directory} is complete yet; to continue: {chosen[0].rerun}"
        )
    missing = [
        f"{study.title}: no policy is complete yet.{_continue_hint(study)}"
        for study in chosen
        if not any(cell.complete() for cell in study.cells)
    ]
    alone = len(chosen) == 1
    title = chosen[0].title if alone else f"{len(chosen)} studies in {directory.resolve().name}"
    write_entries(entries, page, numbers, title=title, introduction="\n\n".join(missing))
    return page, numbers


def write_entries(
    entries: Sequence[Entry], page: Path, numbers: Path, *, title: str, introduction: str = ""
) -> None:
    write_text(numbers, json_text(summary_of(entries)) + "\n")
    write_text(page, report_html(entries, title=title, introduction=introduction))


# --- figures


def figure_names(study: Study) -> list[str]:
    """Return the file names of the figures of a study, without suffix."""
    if slices := study.slices():
        return [f"figure-{one.key}" for one in slices]
    several = len(study.cells[0].series) > 1  # else there is nothing to compare
    kinds = ("", "-final", *(["-differences"] if several else []), "-plays")
    return [f"figure-{study.key}{kind}" for kind in kinds]


def draw_figures(
    study: Study, directory: str | Path | None = None, formats: Sequence[str] | None = None
) -> list[Path]:
    """Draw the figures of the complete policies of a study; return the files that were written."""
    target = study.directory.path if directory is None else make_directory(Path(directory))
    drawn: list[Path] = []
    for entry in study.entries():
        for kind, make in _figures(study, entry).items():
            drawn += save_figure(make(), target / f"figure-{entry.key}{kind}", formats)
    return drawn


def _figures(study: Study, entry: Entry) -> dict[str, Callable[[], Figure]]:
    """Return functions that draw the figures of an entry, by the end of their names."""
    title = entry.title
    if isinstance(entry, SweepEntry):
        how: dict[str, Any] = {"title": title, "scale": entry.scale, "order": entry.order}
        return {"": partial(sweep_figure, entry.results, entry.label, **how)}
    results, bounds = entry.results, entry.drawn_bounds if study.record.bounds else ()
    figures: dict[str, Callable[[], Figure]] = {
        "": partial(regret_figure, results, title, bounds=bounds),
        "-final": partial(final_figure, results, title),
        "-differences": partial(forest_figure, results, title=title),
        "-plays": partial(plays_figure, results, title=title),
    }
    if len(results.policies) == 1:
        del figures["-differences"]
    return figures


def check_formats(formats: Sequence[str] | None) -> None:
    for kind in formats or ():
        check_word(kind, "file format", FORMATS)


def check_outputs(study: Study, formats: Sequence[str] | None) -> None:
    """Raise an error before the run if a page or a figure could not be written."""
    figures = [f"{name}.{kind}" for name in figure_names(study) for kind in formats or FORMATS]
    _check_files(study.directory.path / name for name in (*PAGES, *figures))


def _check_files(paths: Iterable[Path]) -> None:
    for path in paths:
        check_name(path)
        if path.is_dir():
            raise InputError(f"{path} is a directory: choose another --output")
