"""The layout of saved results: names and types of the files and their columns (docs/results.md)."""

from __future__ import annotations

from pathlib import Path

from graphbandits.errors import InputError

#: Quantiles that are kept of every curve and reported of the final regret.
QUANTILES = (0.1, 0.25, 0.5, 0.75, 0.9, 0.95)
#: Why something is not known of results that have means and quantiles alone.
NO_CURVES = (
    "these results have not kept the curves of their trials; if they are from a store it has them: "
    "Cell.results(curves=True); results of format 1 have to be simulated again"
)
#: The newest layout of saved results; a newer one still is refused by name.
FORMAT = 3
#: The layout of results without ratios, which is all that 3 has besides.
WITHOUT_RATIOS = 2

MANIFEST = "manifest.json"
#: The fields of the manifest.
FIELDS = ("format", "hash", "policies", "arms", "graph", "settings", "tables")
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
#: Tables that all results have; the others where there is something to keep.
ALWAYS = ("curve", "final", "plays")


def file_name(table: str) -> str:
    """The file of a table.

    >>> file_name("curve")
    'curve.parquet'
    """
    return f"{table}.parquet"


def check_place(target: Path) -> None:
    """Refuse to replace anything but nothing, an empty directory, or earlier results."""
    if not target.exists():
        return
    names = {path.name for path in target.iterdir()} if target.is_dir() else {""}
    least = {MANIFEST} | {file_name(table) for table in ALWAYS}
    ours = {MANIFEST} | {file_name(table) for table in SCHEMA}
    if names and not least <= names <= ours:
        foreign = sorted(names - ours)
        why = f"it holds {foreign[0]!r}" if foreign and foreign != [""] else "files are missing"
        raise InputError(f"{target} exists and is not just results ({why}): choose another place")
