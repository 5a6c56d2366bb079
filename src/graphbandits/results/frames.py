"""Results as data frames."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from graphbandits.errors import InputError, nearest
from graphbandits.results.schema import SCHEMA
from graphbandits.results.tables import whole_table

if TYPE_CHECKING:
    import pandas
    import polars

    from graphbandits.results.model import Results


def to_pandas(results: Results, table: str) -> pandas.DataFrame:
    """A table of docs/results.md as a pandas frame."""
    check_table(table, "pandas")
    frame: pandas.DataFrame = whole_table(results, table).to_pandas()
    return frame


def to_polars(results: Results, table: str) -> polars.DataFrame:
    """A table of docs/results.md as a polars frame."""
    check_table(table, "polars")
    import polars

    frame = polars.from_arrow(whole_table(results, table))
    assert isinstance(frame, polars.DataFrame)  # a table never gives a series
    return frame


def check_table(table: str, package: str = "pyarrow") -> None:
    """Refuse a table that does not exist, and a package that is not there."""
    if table not in SCHEMA:
        raise InputError(f"no table '{table}': {nearest(str(table), SCHEMA)}")
    try:
        importlib.import_module(package)
    except ImportError:
        raise InputError(
            f'to_{package} needs {package}: pip install "graphbandits[{package}]"'
        ) from None
