"""Results as a directory: Parquet tables and a JSON manifest, checked whole before they are read.

docs/results.md has the schema.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from graphbandits._io import read_regular, replace_directory, write_bytes, write_text
from graphbandits._old_words import translate_settings
from graphbandits._types import Floats, Ints
from graphbandits.engine.shard import Ratios
from graphbandits.errors import InputError
from graphbandits.results.data_frames import (
    KEYS,
    QUANTILES,
    SCHEMA,
    Axes,
    edges_of,
    part,
    policies_of,
    values_of,
)
from graphbandits.results.model import PolicyResult, Results, runs_of

#: The newest layout of saved results; a newer one still is refused by name.
FORMAT = 3
#: The layout of results without ratios, which is all that 3 has besides.
FORMAT_WITHOUT_RATIOS = 2

MANIFEST = "manifest.json"
#: The fields of the manifest.
FIELDS = ("format", "hash", "policies", "arms", "graph", "settings", "tables")
#: Tables that all results have; the others where there is something to keep.
REQUIRED_TABLES = ("curve", "final", "plays")
#: The manifest and the tables of format 1 (graphbandits 0.1): no sums, and no trial's curve.
FIELDS_1 = ("format", "policies", "arms", "settings")
COLUMNS_1 = {
    "curve": list(SCHEMA["curve"]),
    "final": ["policy", "trial", "regret"],
    "plays": list(SCHEMA["plays"]),
}


def save(results: Results, target: Path) -> Path:
    """Write the files of the results, all or none."""
    check_target(target)
    try:
        written = {name: _parquet(results, name) for name in SCHEMA}
    except UnicodeEncodeError as error:
        raise InputError(f"a name cannot be saved, for it is no text: {error.object!a}") from None
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
    """Read results of this format or an earlier one; whatever is wrong, its file is named."""
    path = source / MANIFEST
    manifest = _read_manifest(path)
    with _damaged_file_errors(path):
        _check_fields(manifest)
    tables = manifest.get("tables", COLUMNS_1)
    files = {name: _open(source / file_name(name), name, manifest) for name in tables}
    # every table is the one that the manifest names: what does not fit now is the manifest's
    with _damaged_file_errors(path):
        results = _assemble(manifest, files)
        described = {} if manifest["format"] == 1 else _manifest_entries(results)
        if any(described[field] != manifest[field] for field in described):
            raise InputError("its entries do not fit together")
        if described and content_hash(results) != manifest["hash"]:
            raise InputError("its hash is not that of its settings and of the tables")
    return results


def content_hash(results: Results) -> str:
    """sha256 of the manifest's entries that describe the results, and of all numbers.

    A line of JSON (sorted keys, no spaces, ASCII) with arms, format, graph, policies and
    settings; then for each table a line with its name and how many numbers follow, and these,
    8 bytes each in little endian: the rounds (``curve`` only), then policy by policy the columns
    of values. Of ``graph`` it is all columns.
    """
    text = _json(_manifest_entries(results), sort_keys=True, separators=(",", ":"))
    digest = hashlib.sha256(f"{text}\n".encode())
    for name in SCHEMA:
        arrays: list[Floats | Ints] = [results.rounds] if name == "curve" else []
        if name != "graph":
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


def _manifest_entries(results: Results) -> dict[str, Any]:
    """The entries of the manifest that say what the numbers are of."""
    return {
        "format": FORMAT if policies_of(results, "ratios") else FORMAT_WITHOUT_RATIOS,
        "policies": list(results.policies),
        "arms": list(results.arms),
        "graph": _graph_entry(results),
        "settings": dict(results.settings),
    }


def _json(value: object, **style: Any) -> str:
    try:
        return json.dumps(value, allow_nan=False, **style)
    except (TypeError, ValueError) as error:
        raise InputError(
            f"settings that are saved are plain values of JSON: {_first_line(error)}"
        ) from None


def _graph_entry(results: Results) -> dict[str, Any] | None:
    """How the graph is kept; its edges are in a table."""
    if results.graph is None:
        return None
    from graphbandits.graphs import SparseFeedback, UniformFeedback

    feedback, named = results.graph.feedback, results.graph.names is not None
    if isinstance(feedback, UniformFeedback):
        return {"kind": "uniform", "named": named, "r": float(feedback.r[0])}
    return {"kind": "sparse" if isinstance(feedback, SparseFeedback) else "dense", "named": named}


def _policy_tables(results: Results, table: str) -> Iterator[pa.Table]:
    """A table to write, policy by policy: the trials of all may be too much at once."""
    if table != "graph":
        axes = Axes.of(results)
        for policy in policies_of(results, table):
            yield part(axes, table, policy, results[policy])
    elif (edges := edges_of(results)) is not None:
        yield edges


def _parquet(results: Results, table: str) -> tuple[int, bytes] | None:
    """The rows and bytes of a file: a row group for each policy, keys by dictionary, zstd."""
    parts = _policy_tables(results, table)
    first = next(parts, None)
    if first is None:
        return None
    sink, rows = pa.BufferOutputStream(), 0
    keys = [column for column in SCHEMA[table] if column in KEYS]
    options = {"compression": "zstd", "version": "2.6", "store_schema": False}
    with pq.ParquetWriter(sink, first.schema, use_dictionary=keys, **options) as writer:
        for piece in chain([first], parts):
            writer.write_table(piece, row_group_size=max(1, len(piece)))
            rows += len(piece)
    return rows, sink.getvalue().to_pybytes()


def _read_manifest(path: Path) -> dict[str, Any]:
    """The manifest of results of a format that this version knows."""
    try:
        text = path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is damaged, for not text"
        raise InputError(f"no results in {path.parent}: cannot read {path}: {reason}") from None
    with _damaged_file_errors(path):
        manifest: dict[str, Any] = json.loads(text)
    number = manifest.get("format") if isinstance(manifest, dict) else None
    if isinstance(number, bool) or not isinstance(number, int) or number < 1:
        raise InputError(f"{path} is not the manifest of results, or is damaged")
    if number > FORMAT:
        raise InputError(
            f"{path.parent} has results of format {number}, and this version of "
            f"graphbandits reads up to {FORMAT}: update graphbandits"
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
            raise InputError(f"it has no rows and sha256 of the table '{name}'")


def _open(path: Path, name: str, manifest: dict[str, Any]) -> pq.ParquetFile:
    """The file of a table, once it is the one that the manifest names."""
    try:
        data = read_regular(path)
    except InputError as error:
        raise InputError(f"the file {path} cannot be read: {error}") from None
    except OSError as error:
        raise InputError(f"the file {path} is missing or damaged: {error.strerror}") from None
    sums = manifest.get("tables")
    if sums is not None and hashlib.sha256(data).hexdigest() != sums[name]["sha256"]:
        raise InputError(
            f"the file {path} is damaged, or of another run: its sha256 is not the one in "
            f"{MANIFEST}"
        )
    with _damaged_file_errors(path):
        file = pq.ParquetFile(pa.BufferReader(data))
        found = file.schema_arrow.names
        if sums is None and found != COLUMNS_1[name]:
            wanted = ", ".join(COLUMNS_1[name])
            raise InputError(f"its columns are {', '.join(found)}, not {wanted}")
    return file


def _assemble(manifest: dict[str, Any], files: dict[str, pq.ParquetFile]) -> Results:
    for name, entry in manifest.get("tables", {}).items():
        found = files[name].metadata.num_rows
        if found != entry["rows"]:
            raise InputError(f"{file_name(name)} has {found} rows, not {entry['rows']}")
    names, arms, settings = manifest["policies"], tuple(manifest["arms"]), manifest["settings"]
    # the numbers of rounds and trials, from the tables that have one row for each
    rounds = files["curve"].read(["round"], use_threads=False)["round"].to_numpy()
    rounds = np.array(rounds[: len(rounds) // len(names)])
    runs = runs_of(settings, files["final"].metadata.num_rows // len(names))
    axes = Axes(arms, rounds, runs)
    old = manifest["format"] == 1
    columns = {
        name: _values(file, name, names, axes, old)
        for name, file in files.items()
        if name != "graph"
    }
    ratios = columns.get("ratios", {})
    policies = {
        policy: PolicyResult(
            mean=columns["curve"][policy]["mean"],
            standard_error=columns["curve"][policy]["standard_error"],
            quantiles=np.array([columns["curve"][policy][f"q{q:g}"] for q in QUANTILES]),
            final=columns["final"][policy]["regret"],
            plays=columns["plays"][policy]["plays"],
            regret=columns.get("regret", {}).get(policy, {}).get("regret"),
            ratios=Ratios(**ratios[policy]) if policy in ratios else None,
        )
        for policy in names
    }
    return Results(
        rounds, policies, arms, translate_settings(settings), _graph(manifest, files.get("graph"))
    )


def _values(
    file: pq.ParquetFile, table: str, policies: list[str], axes: Axes, old: bool
) -> dict[str, dict[str, Any]]:
    """The columns of values of each policy, once its keys are those that are expected.

    Each policy has a row group, but in format 1 (``old``).
    """
    pieces = (file.read_row_group(group) for group in range(file.num_row_groups))
    if old:
        whole = file.read(use_threads=False)
        size = len(whole) // len(policies)
        pieces = (whole.slice(start, size) for start in range(0, len(whole), size))
    found: dict[str, dict[str, Any]] = {}
    for rows in pieces:
        policy = rows["policy"][0].as_py()
        keys = pa.table(axes.keys(table, policy))
        if old:
            keys = keys.select([name for name in COLUMNS_1[table] if name in KEYS])
        expected = policy in policies and policy not in found
        if not expected or not rows.select(keys.column_names).equals(keys):
            raise InputError(f"{file_name(table)} is not of these policies, arms, runs and rounds")
        values = {c: np.array(rows[c]) for c in SCHEMA[table] if c not in KEYS}
        if {"trial", "round"} <= SCHEMA[table].keys():  # a row for each trial
            values = {c: column.reshape(-1, len(axes.rounds)) for c, column in values.items()}
        found[policy] = values
    return found


def _graph(manifest: dict[str, Any], file: pq.ParquetFile | None) -> Any:
    """The graph process as it was: a matrix, lists of neighbours, or one probability."""
    entry = manifest.get("graph")
    if entry is None:
        return None
    from graphbandits.graphs import Feedback, Fixed, SparseFeedback, UniformFeedback

    count = len(manifest["arms"])
    feedback: Feedback
    if entry["kind"] == "uniform":
        feedback = UniformFeedback(entry["r"], count)
    elif file is None:
        raise InputError(f"it has no table of the edges of its graph of kind {entry['kind']!r}")
    else:
        edges = file.read(use_threads=False)
        sparse = SparseFeedback.from_edges(count, *(column.to_numpy() for column in edges.columns))
        feedback = sparse if entry["kind"] == "sparse" else sparse.to_dense()
    return Fixed(feedback, tuple(manifest["arms"]) if entry["named"] else None)


@contextmanager
def _damaged_file_errors(path: Path) -> Iterator[None]:
    """Whatever goes wrong inside is this file's fault."""
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
    """The file of a table.

    >>> file_name("curve")
    'curve.parquet'
    """
    return f"{table}.parquet"


def check_target(target: Path) -> None:
    """Refuse to replace anything but nothing, an empty directory, or earlier results."""
    if not target.exists():
        return
    names = {path.name for path in target.iterdir()} if target.is_dir() else {""}
    least = {MANIFEST} | {file_name(table) for table in REQUIRED_TABLES}
    ours = {MANIFEST} | {file_name(table) for table in SCHEMA}
    if names and not least <= names <= ours:
        foreign = sorted(names - ours)
        why = f"it holds {foreign[0]!r}" if foreign and foreign != [""] else "files are missing"
        raise InputError(f"{target} exists and is not just results ({why}): choose another place")
