"""Save and load results: a directory with Parquet tables and a JSON manifest.

docs/results.md describes the schema.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from graphbandits._io import read_regular, replace_directory, write_bytes, write_text
from graphbandits._types import Floats, Ints
from graphbandits.engine.shard import Ratios
from graphbandits.engine.trajectories import RecordedObservations, Trajectories
from graphbandits.errors import InputError
from graphbandits.results.data_frames import (
    KEYS,
    QUANTILES,
    SCHEMA,
    TRAJECTORY_TABLES,
    Axes,
    edges_of,
    part,
    policies_of,
    trajectory_part,
    trajectory_values,
    values_of,
)
from graphbandits.results.model import PolicyResult, Results, runs_of

#: Newest format of saved results. A newer format raises an error.
FORMAT = 5
#: Format of results without eligible arms. Format 5 adds only the eligible arms.
FORMAT_WITHOUT_ELIGIBLE = 4
#: Format of results without trajectories. Format 4 adds only the trajectories.
FORMAT_WITHOUT_TRAJECTORIES = 3
#: Format of results without ratios and trajectories. Format 3 adds only the ratios.
FORMAT_WITHOUT_RATIOS = 2

MANIFEST = "manifest.json"
#: Fields of the manifest.
FIELDS = ("format", "hash", "policies", "arms", "graph", "settings", "tables")
#: Tables that all results have. Others are optional.
REQUIRED_TABLES = ("curve", "final", "plays")
#: Manifest and tables of format 1 (graphbandits 0.1): no checksums, and no curves of trials.
FIELDS_1 = ("format", "policies", "arms", "settings")
COLUMNS_1 = {
    "curve": list(SCHEMA["curve"]),
    "final": ["policy", "trial", "regret"],
    "plays": list(SCHEMA["plays"]),
}


def save(results: Results, target: Path) -> Path:
    """Write the files of results atomically."""
    check_target(target)
    try:
        written = {name: _parquet(results, name) for name in SCHEMA}
    except UnicodeEncodeError as error:
        raise InputError(
            f"a name cannot be saved, because it is not valid text: {error.object!a}"
        ) from None
    files = {name: file for name, file in written.items() if file is not None}
    tables = {
        name: {"rows": rows, "sha256": hashlib.sha256(data).hexdigest()}
        for name, (rows, data) in files.items()
    }
    manifest = _manifest_entries(results) | {"hash": content_hash(results), "tables": tables}
    text = _json({field: manifest[field] for field in FIELDS}, indent=2)
    with replace_directory(target) as temporary:
        for name, (_, data) in files.items():
            write_bytes(temporary / file_name(name), data)
        write_text(temporary / MANIFEST, text + "\n")
    return target


def load(source: Path) -> Results:
    """Read results of this or an earlier format; errors name the file."""
    path = source / MANIFEST
    manifest = _read_manifest(path)
    with _damaged_file_errors(path):
        _check_fields(manifest)
    tables = manifest.get("tables", COLUMNS_1)
    files = {name: _open(source / file_name(name), name, manifest) for name in tables}
    # the tables have the checksums of the manifest: other mismatches are errors of the manifest
    with _damaged_file_errors(path):
        results = _assemble(manifest, files)
        described = {} if manifest["format"] == 1 else _manifest_entries(results)
        if any(described[field] != manifest[field] for field in described):
            raise InputError("its entries are inconsistent")
        if described and content_hash(results) != manifest["hash"]:
            raise InputError("its hash does not match its settings and the tables")
    return results


def content_hash(results: Results) -> str:
    """Return the sha256 of the descriptive entries of the manifest and of all numbers.

    The hashed bytes are a line of JSON (sorted keys, no spaces, ASCII) with arms, format, graph,
    policies and settings, and then for each table a line with its name and the number of values,
    followed by the values with 8 bytes each in little endian: the rounds (``curve`` only), then
    the value columns policy by policy. All columns of ``graph`` are values, and all columns of
    ``actions``, ``observations`` and ``eligible`` except policy and seed.
    """
    text = _json(_manifest_entries(results), sort_keys=True, separators=(",", ":"))
    digest = hashlib.sha256(f"{text}\n".encode())
    for name in SCHEMA:
        arrays: list[Floats | Ints] = [results.rounds] if name == "curve" else []
        if name in TRAJECTORY_TABLES:
            for policy in policies_of(results, name):
                arrays += _trajectory_values(results, name, policy)
        elif name != "graph":
            for policy in policies_of(results, name):
                arrays += values_of(name, results[policy]).values()
        elif (edges := edges_of(results)) is not None:
            arrays += [column.to_numpy() for column in edges.columns]
        if arrays:
            digest.update(f"{name} {sum(map(len, arrays))}\n".encode())
        for array in arrays:
            kind = "<i8" if array.dtype.kind == "i" else "<f8"
            digest.update(np.ascontiguousarray(array, kind).data)
    return digest.hexdigest()


def _trajectory_values(results: Results, table: str, policy: str) -> list[Floats | Ints]:
    """Return the columns of a policy in a table of trajectories, except policy and seed."""
    trajectories = results[policy].trajectories
    assert trajectories is not None
    columns = trajectory_values(table, trajectories)
    _, numbers = Axes.of(results).seeds_and_trials()
    return list((columns | {"trial": numbers[columns["trial"]]}).values())


def _manifest_entries(results: Results) -> dict[str, Any]:
    """Return the entries of the manifest that describe the results."""
    return {
        "format": _format_of(results),
        "policies": list(results.policies),
        "arms": list(results.arms),
        "graph": _graph_entry(results),
        "settings": dict(results.settings),
    }


def _format_of(results: Results) -> int:
    """Return the oldest format that has all tables of the results."""
    if policies_of(results, "eligible"):
        return FORMAT
    if any(policies_of(results, table) for table in TRAJECTORY_TABLES):
        return FORMAT_WITHOUT_ELIGIBLE
    has_ratios = bool(policies_of(results, "ratios"))
    return FORMAT_WITHOUT_TRAJECTORIES if has_ratios else FORMAT_WITHOUT_RATIOS


def _json(value: object, **style: Any) -> str:
    try:
        return json.dumps(value, allow_nan=False, **style)
    except (TypeError, ValueError) as error:
        raise InputError(
            f"settings must be plain JSON values to be saved: {_first_line(error)}"
        ) from None


def _graph_entry(results: Results) -> dict[str, Any] | None:
    """Return the manifest entry of the graph; its edges are in a table."""
    if results.graph is None:
        return None
    from graphbandits.graphs import SparseFeedback, UniformFeedback

    feedback, named = results.graph.feedback, results.graph.names is not None
    if isinstance(feedback, UniformFeedback):
        return {"kind": "uniform", "named": named, "r": float(feedback.r[0])}
    return {"kind": "sparse" if isinstance(feedback, SparseFeedback) else "dense", "named": named}


def _policy_tables(results: Results, table: str) -> Iterator[pa.Table]:
    """Yield a table policy by policy, to limit the memory."""
    if table != "graph":
        axes = Axes.of(results)
        for policy in policies_of(results, table):
            yield part(axes, table, policy, results[policy])
    elif (edges := edges_of(results)) is not None:
        yield edges


def _parquet(results: Results, table: str) -> tuple[int, bytes] | None:
    """Return the number of rows and the bytes of a file, with a row group for each policy."""
    parts = _policy_tables(results, table)
    first = next(parts, None)
    if first is None:
        return None
    sink, rows = pa.BufferOutputStream(), 0
    keys = [column for column in SCHEMA[table] if column in KEYS or table in TRAJECTORY_TABLES]
    options = {"compression": "zstd", "version": "2.6", "store_schema": False}
    with pq.ParquetWriter(sink, first.schema, use_dictionary=keys, **options) as writer:
        for piece in chain([first], parts):
            writer.write_table(piece, row_group_size=max(1, len(piece)))
            rows += len(piece)
    return rows, sink.getvalue().to_pybytes()


def _read_manifest(path: Path) -> dict[str, Any]:
    """Read a manifest; raise InputError if its format is unknown."""
    try:
        text = path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is damaged (not valid text)"
        raise InputError(f"no results in {path.parent}: cannot read {path}: {reason}") from None
    with _damaged_file_errors(path):
        manifest: dict[str, Any] = json.loads(text)
    number = manifest.get("format") if isinstance(manifest, dict) else None
    if isinstance(number, bool) or not isinstance(number, int) or number < 1:
        raise InputError(f"{path} is not the manifest of results, or is damaged")
    if number > FORMAT:
        raise InputError(
            f"{path.parent} has results of format {number}, but this version of "
            f"graphbandits reads formats up to {FORMAT}: update graphbandits"
        )
    return manifest


def _check_fields(manifest: dict[str, Any]) -> None:
    fields = FIELDS_1 if manifest["format"] == 1 else FIELDS
    if set(manifest) != set(fields):
        raise InputError(f"its fields are {', '.join(manifest)}, not {', '.join(fields)}")
    tables = manifest.get("tables", {})
    if "tables" in fields and not set(REQUIRED_TABLES) <= set(tables) <= set(SCHEMA):
        raise InputError(f"its tables are {', '.join(tables)}")
    for name, entry in tables.items():
        sound = isinstance(entry["rows"], int) and isinstance(entry["sha256"], str)
        if not sound or not re.fullmatch("[0-9a-f]{64}", entry["sha256"]):
            raise InputError(f"it has no valid rows and sha256 for the table '{name}'")


def _open(path: Path, name: str, manifest: dict[str, Any]) -> pq.ParquetFile:
    """Open the file of a table after checking its sha256."""
    try:
        data = read_regular(path)
    except InputError as error:
        raise InputError(f"the file {path} cannot be read: {error}") from None
    except OSError as error:
        raise InputError(f"the file {path} is missing or damaged: {error.strerror}") from None
    sums = manifest.get("tables")
    if sums is not None and hashlib.sha256(data).hexdigest() != sums[name]["sha256"]:
        raise InputError(
            f"the file {path} is damaged, or from another run: its sha256 differs from the one in "
            f"{MANIFEST}"
        )
    with _damaged_file_errors(path):
        file = pq.ParquetFile(pa.BufferReader(data))
        found = file.schema_arrow.names
        if sums is None and found != COLUMNS_1[name]:
            expected = ", ".join(COLUMNS_1[name])
            raise InputError(f"its columns are {', '.join(found)}, not {expected}")
    return file


def _assemble(manifest: dict[str, Any], files: dict[str, pq.ParquetFile]) -> Results:
    """Create results from the manifest and the tables."""
    for name, entry in manifest.get("tables", {}).items():
        found = files[name].metadata.num_rows
        if found != entry["rows"]:
            raise InputError(f"{file_name(name)} has {found} rows, not {entry['rows']}")
    names, arms, settings = manifest["policies"], tuple(manifest["arms"]), manifest["settings"]
    # numbers of rounds and trials, from the tables with one row per round or trial
    rounds = files["curve"].read(["round"], use_threads=False)["round"].to_numpy()
    rounds = np.array(rounds[: len(rounds) // len(names)])
    runs = runs_of(settings, files["final"].metadata.num_rows // len(names))
    axes = Axes(arms, rounds, runs)
    old = manifest["format"] == 1
    columns = {
        name: _values(file, name, names, axes, old)
        for name, file in files.items()
        if name not in ("graph", *TRAJECTORY_TABLES)
    }
    ratios = columns.get("ratios", {})
    recorded = {
        name: _trajectory_tables(files[name], name, names, axes)
        for name in TRAJECTORY_TABLES
        if name in files
    }
    policies = {
        policy: PolicyResult(
            mean=columns["curve"][policy]["mean"],
            standard_error=columns["curve"][policy]["standard_error"],
            quantiles=np.array([columns["curve"][policy][f"q{q:g}"] for q in QUANTILES]),
            final=columns["final"][policy]["regret"],
            plays=columns["plays"][policy]["plays"],
            regret=columns.get("regret", {}).get(policy, {}).get("regret"),
            ratios=Ratios(**ratios[policy]) if policy in ratios else None,
            trajectories=_joined(recorded.get(name, {}).get(policy) for name in TRAJECTORY_TABLES),
        )
        for policy in names
    }
    return Results(rounds, policies, arms, settings, _graph(manifest, files.get("graph")))


def _values(
    file: pq.ParquetFile, table: str, policies: list[str], axes: Axes, old: bool
) -> dict[str, dict[str, Any]]:
    """Return the value columns of each policy after checking the key columns.

    Each policy has a row group, except in format 1 (``old``).
    """
    pieces = (file.read_row_group(group) for group in range(file.num_row_groups))
    if old:
        table_rows = file.read(use_threads=False)
        size = len(table_rows) // len(policies)
        pieces = (table_rows.slice(start, size) for start in range(0, len(table_rows), size))
    found: dict[str, dict[str, Any]] = {}
    for rows in pieces:
        policy = rows["policy"][0].as_py()
        keys = pa.table(axes.keys(table, policy))
        if old:
            keys = keys.select([name for name in COLUMNS_1[table] if name in KEYS])
        expected = policy in policies and policy not in found
        if not expected or not rows.select(keys.column_names).equals(keys):
            raise InputError(
                f"{file_name(table)} does not match these policies, arms, runs and rounds"
            )
        values = {c: np.array(rows[c]) for c in SCHEMA[table] if c not in KEYS}
        if {"trial", "round"} <= SCHEMA[table].keys():  # one row per trial and round
            values = {c: column.reshape(-1, len(axes.rounds)) for c, column in values.items()}
        found[policy] = values
    return found


def _joined(tables: Iterable[Trajectories | None]) -> Trajectories | None:
    """Return the trajectories of a policy from its tables; each has one part."""
    parts: dict[str, Any] = {}
    for table in tables:
        if table is not None:
            parts |= {name: part for name, part in vars(table).items() if part is not None}
    return Trajectories(**parts) if parts else None


def _trajectory_tables(
    file: pq.ParquetFile, table: str, policies: list[str], axes: Axes
) -> dict[str, Trajectories]:
    """Return the trajectories of each policy in one of their tables, checked."""
    groups: dict[str, list[pa.Table]] = {}
    for group in range(file.num_row_groups):  # a policy with very many rows has several
        rows = file.read_row_group(group)
        if len(rows):
            groups.setdefault(rows["policy"][0].as_py(), []).append(rows)
    for policy in policies if table == "observations" else ():
        groups.setdefault(policy, [file.schema_arrow.empty_table()])  # nothing was observed
    found: dict[str, Trajectories] = {}
    for policy, parts in groups.items():
        rows = pa.concat_tables(parts)
        columns = {name: rows[name].to_numpy() for name in SCHEMA[table] if name != "seed"}
        if table == "actions":
            action = columns["arm"].reshape(sum(run["trials"] for run in axes.runs), -1)
            read = Trajectories(action.astype(np.int32))
        elif table == "eligible":
            read = Trajectories(eligible=_eligible(columns, axes))
        else:
            read = Trajectories(observations=_observations(columns, rows["seed"], axes))
        keys = trajectory_part(axes, table, policy, read).select(
            ["policy", "seed", "trial", "round"]
        )
        if policy not in policies or not rows.select(keys.column_names).equals(keys):
            raise InputError(f"{file_name(table)} does not match these policies, runs and rounds")
        found[policy] = read
    return found


def _eligible(columns: dict[str, Any], axes: Axes) -> NDArray[np.bool_]:
    """Return eligible arms from the columns of their table; each round of a trial has one."""
    rounds, arms = int(axes.rounds[-1]), len(axes.arms)
    found = np.zeros((sum(run["trials"] for run in axes.runs), rounds, arms), np.bool_)
    is_new = np.append(True, (np.diff(columns["trial"]) != 0) | (np.diff(columns["round"]) < 0))
    found[np.cumsum(is_new) - 1, columns["round"] - 1, columns["arm"]] = True
    return found


def _observations(columns: dict[str, Any], seed: Any, axes: Axes) -> RecordedObservations:
    """Return observations from the columns of their table."""
    seeds, numbers = axes.seeds_and_trials()
    trial, rounds, seed = columns["trial"], columns["round"], seed.fill_null(-1).to_numpy()
    is_new = (np.diff(trial) != 0) | (np.diff(seed) != 0) | (np.diff(rounds) < 0)
    starts = np.flatnonzero(np.concatenate([np.ones(len(trial[:1]), bool), is_new]))
    sizes = np.diff(np.append(starts, len(trial)))
    counts, row = np.zeros(len(numbers), np.int64), 0
    known = list(zip(seeds.fill_null(-1).to_pylist(), numbers.tolist(), strict=True))
    for start, size in zip(starts, sizes, strict=True):
        row = known.index((seed[start], trial[start]), row)  # a trial may have no observations
        counts[row] = size
        row += 1
    weight = columns["weight"]
    return RecordedObservations(
        np.concatenate([[0], np.cumsum(counts)]),
        rounds.astype(np.int32),
        columns["arm"].astype(np.int32),
        np.array(columns["reward"]),
        np.array(weight) if (weight != 1.0).any() else None,
    )


def _graph(manifest: dict[str, Any], file: pq.ParquetFile | None) -> Any:
    """Restore the graph process: dense, sparse or uniform feedback."""
    entry = manifest.get("graph")
    if entry is None:
        return None
    from graphbandits.graphs import Feedback, Fixed, SparseFeedback, UniformFeedback

    count = len(manifest["arms"])
    feedback: Feedback
    if entry["kind"] == "uniform":
        feedback = UniformFeedback(entry["r"], count)
    elif file is None:
        raise InputError(f"it has no edge table for its graph of kind {entry['kind']!r}")
    else:
        edges = file.read(use_threads=False)
        sparse = SparseFeedback.from_edges(count, *(column.to_numpy() for column in edges.columns))
        feedback = sparse if entry["kind"] == "sparse" else sparse.to_dense()
    return Fixed(feedback, tuple(manifest["arms"]) if entry["named"] else None)


@contextmanager
def _damaged_file_errors(path: Path) -> Iterator[None]:
    """Convert all errors in the context into an InputError that names the file."""
    try:
        yield
    except (ArithmeticError, LookupError, TypeError, ValueError, AttributeError) as error:
        reason = str(error) if isinstance(error, InputError) else _first_line(error)
        raise InputError(f"the file {path} is damaged, or was changed: {reason}") from None
    except (OSError, RecursionError, pa.ArrowException) as error:
        raise InputError(f"the file {path} is damaged: {_first_line(error)}") from None


def _first_line(error: BaseException) -> str:
    return f"{type(error).__name__} {error}".splitlines()[0]


def file_name(table: str) -> str:
    """Return the file name of a table.

    >>> file_name("curve")
    'curve.parquet'
    """
    return f"{table}.parquet"


def check_target(target: Path) -> None:
    """Raise InputError unless the target does not exist, is empty, or has earlier results."""
    if not target.exists():
        return
    names = {path.name for path in target.iterdir()} if target.is_dir() else {""}
    least = {MANIFEST} | {file_name(table) for table in REQUIRED_TABLES}
    ours = {MANIFEST} | {file_name(table) for table in SCHEMA}
    if names and not least <= names <= ours:
        foreign = sorted(names - ours)
        reason = f"it has {foreign[0]!r}" if foreign else "files are missing"
        reason = "it is not a directory" if foreign == [""] else reason
        raise InputError(
            f"{target} exists and has other content than results ({reason}): choose another "
            "directory"
        )
