"""Outcomes without a decision: mappings, data frames, and files in CSV and Parquet format."""

from __future__ import annotations

import math
import os
from collections.abc import Hashable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from graphbandits._types import Floats, Ints
from graphbandits.errors import InputError, short_repr
from graphbandits.live.outcomes import checked_outcomes
from graphbandits.live.setup import Setup
from graphbandits.posteriors._capabilities import check_evidence

#: Maximum of outcomes of one row for a posterior that takes single rewards.
MOST_REPEATED = 10**6
#: Maximum of outcomes of a table.
MOST_OUTCOMES = 1e15


def read_outcomes(
    table: object, setup: Setup, skip: bool = False
) -> tuple[Ints, Floats, Floats, int]:
    """Return arms, rewards and weights of outcomes, and their number, all checked.

    Unknown arms are an error, or left out if ``skip`` is True.

    >>> from graphbandits.live.setup import Setup
    >>> setup = Setup.of("ts-n", ["ann", "bob"], "empty", seed=1)
    >>> read_outcomes({"bob": (3, 4), "ann": 1}, setup)
    (array([1, 0]), array([0.75, 1.  ]), array([4., 1.]), 5)
    """
    if isinstance(table, Mapping) and not hasattr(table, "columns"):
        known = {arm: reward for arm, reward in table.items() if not skip or setup.has(arm)}
        found = checked_outcomes(setup, known)
        index, values = list(found), list(found.values())
    else:
        index, values = _from_columns(_columns(table), setup, skip)
    if not index:
        raise InputError("the table has no outcomes: give at least one")
    pairs = np.array(values, np.float64).reshape(-1, 2)
    arm, reward, weight = np.array(index, np.int64), pairs[:, 0].copy(), pairs[:, 1].copy()
    total = math.fsum(weight.tolist()) if weight.max() <= MOST_OUTCOMES else math.inf
    if not total <= MOST_OUTCOMES:
        raise InputError(f"a table has at most {MOST_OUTCOMES:g} outcomes, not {total:g}")
    outcomes = max(1, round(total))
    if not getattr(setup.posterior, "weighted", False) and not (weight == 1.0).all():
        # a posterior of single rewards learns each outcome
        times = weight.astype(np.int64)
        arm, reward = np.repeat(arm, times), np.repeat(reward, times)
        weight = np.ones(len(arm))
    return arm, reward, weight, outcomes


def _from_columns(
    columns: dict[str, list[Any]], setup: Setup, skip: bool
) -> tuple[list[int], list[tuple[float, float]]]:
    """Return the numbers of arms, and pairs of an average reward and a weight."""
    wanted = {"arm", "total", "count"} if "total" in columns else {"arm", "reward"}
    if not wanted <= columns.keys() <= wanted | {"count"}:
        [only] = columns if len(columns) == 1 else [""]
        hint = "; separate the columns by commas" if ";" in only or "\t" in only else ""
        raise InputError(
            "a table of outcomes has the columns arm and reward (and count, if a row has several "
            f"outcomes), or arm, total and count; this one has {', '.join(columns) or 'none'}{hint}"
        )
    index = list[int]()
    values = list[tuple[float, float]]()
    counts = columns.get("count", [1] * len(columns["arm"]))
    name = "total" if "total" in columns else "reward"
    numbers: dict[object, int] = {}
    for row, (arm, reward, count) in enumerate(
        zip(columns["arm"], columns[name], counts, strict=True), 1
    ):
        if skip and not setup.has(arm):
            continue
        try:
            if not isinstance(arm, Hashable) or arm not in numbers:
                numbers[arm] = setup.number_of(arm)
            index.append(numbers[arm])
            if name == "total":
                values.append(check_evidence(setup.posterior, (reward, count)))
            else:
                single = setup.posterior.check_reward(reward)
                values.append((single, _count(count)))
        except InputError as error:
            raise InputError(f"row {row} of the outcomes: {error}") from None
    return index, values


def _count(count: Any) -> float:
    number = isinstance(count, int | float | np.number) and not isinstance(count, bool)
    if not number or not 1 <= count <= MOST_REPEATED or count != int(count):
        raise InputError(
            f"count must be a whole number from 1 to {MOST_REPEATED}, not {short_repr(count)}"
        )
    return float(count)


def _columns(table: Any) -> dict[str, list[Any]]:
    """Return the columns of a data frame, a pyarrow table, or a file."""
    if isinstance(table, str | os.PathLike):
        table = _read_file(Path(table))
    if hasattr(table, "column_names") and hasattr(table, "to_pydict"):  # pyarrow
        found: dict[str, list[Any]] = table.to_pydict()
        return found
    if hasattr(table, "columns") and hasattr(table, "__getitem__"):  # pandas, polars
        names = [str(name) for name in table.columns]
        if len(set(names)) < len(names):
            raise InputError(f"two columns have the same name: {', '.join(names)}")
        return {str(name): table[name].to_list() for name in table.columns}
    raise InputError(
        "outcomes must be a mapping {arm: reward}, a data frame, a pyarrow table, or the path of a "
        f"CSV or Parquet file, not {short_repr(table)}"
    )


def _read_file(path: Path) -> Any:
    import pyarrow as pa
    from pyarrow import csv, parquet

    try:
        if path.suffix.lower() in (".parquet", ".pq"):
            return parquet.read_table(path)
        if path.suffix.lower() in (".csv", ".tsv", ".txt"):
            tab = "\t" if path.suffix.lower() == ".tsv" else ","
            # names of arms that look like numbers are names
            options = csv.ConvertOptions(column_types={"arm": pa.string()})
            return csv.read_csv(
                path, parse_options=csv.ParseOptions(delimiter=tab), convert_options=options
            )
    except (OSError, pa.ArrowException) as error:
        reason = " ".join(str(error).split())
        raise InputError(f"cannot read the outcomes in {path}: {reason}") from None
    raise InputError(f"cannot read the outcomes in {path}: its name must end in .csv or .parquet")
