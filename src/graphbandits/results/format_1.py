"""Results of format 1 (graphbandits 0.1): three tables without sums, and no trial's curve."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from graphbandits.errors import InputError
from graphbandits.results.model import PolicyResult, Results
from graphbandits.results.schema import MANIFEST, QUANTILES, SCHEMA, file_name
from graphbandits.types import Floats

COLUMNS = {
    "curve": list(SCHEMA["curve"]),
    "final": ["policy", "trial", "regret"],
    "plays": list(SCHEMA["plays"]),
}


def load(source: Path, manifest: dict[str, Any]) -> Results:
    """Results of format 1; the regret of each trial and round is not among them."""
    path = source / MANIFEST
    if set(manifest) != {"format", "policies", "arms", "settings"}:
        raise InputError(f"the file {path} is damaged: it is no manifest of format 1")
    tables = {name: _read(source / file_name(name), columns) for name, columns in COLUMNS.items()}
    try:
        names, arms = list(manifest["policies"]), tuple(manifest["arms"])
        rounds = _column(tables["curve"], names[0], "round").astype(np.int64)
        trials = int((tables["final"]["policy"].to_numpy() == names[0]).sum())
        rows = {"curve": len(rounds), "final": trials, "plays": len(arms)}
        for name in names:
            for table, wanted in rows.items():
                found = len(_column(tables[table], name, "policy"))
                if found != max(1, wanted):
                    raise InputError(
                        f"the file {source / file_name(table)} is damaged, or of another run: it "
                        f"has {found} rows of '{name}' where {max(1, wanted)} are needed"
                    )
        curve, final, plays = (tables[table] for table in COLUMNS)
        policies = {
            name: PolicyResult(
                mean=_column(curve, name, "mean"),
                standard_error=_column(curve, name, "standard_error"),
                quantiles=np.array([_column(curve, name, f"q{q:g}") for q in QUANTILES]),
                final=_column(final, name, "regret"),
                plays=_column(plays, name, "plays").astype(np.int64),
            )
            for name in names
        }
        return Results(rounds, policies, arms, dict(manifest["settings"]))
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        if isinstance(error, InputError):
            raise
        reason = f"{type(error).__name__} {error}".splitlines()[0]
        raise InputError(f"the file {path} is damaged: {reason}") from None


def _read(path: Path, columns: list[str]) -> pa.Table:
    try:
        table = pq.ParquetFile(path).read(use_threads=False)
    except (OSError, pa.ArrowException) as error:
        reason = str(error).splitlines()[0]
        raise InputError(f"the file {path} is missing or damaged: {reason}") from None
    if table.column_names != columns:
        found = ", ".join(table.column_names)
        raise InputError(
            f"the file {path} is damaged, or of another kind: its columns are {found}, not "
            f"{', '.join(columns)}"
        )
    return table


def _column(table: pa.Table, policy: str, column: str) -> Floats:
    rows = table.column("policy").to_numpy(zero_copy_only=False) == policy
    values: Floats = table.column(column).to_numpy(zero_copy_only=False)[rows]
    return values
