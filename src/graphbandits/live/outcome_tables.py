"""Outcomes without a decision: mappings, data frames, and files in CSV and Parquet format."""

from __future__ import annotations

import math
import os
from collections.abc import Hashable, Mapping
from contextlib import suppress
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
    """Return the columns of a data frame, a pyarrow table, a list of dicts, or a file."""
    from graphbandits.live._log_import import columns_of, read_table

    if not isinstance(table, str | os.PathLike):
        return columns_of(table, "outcomes must be a mapping {arm: reward},")
    found = columns_of(read_table(Path(table), "outcomes"))
    texts = [name for name in ("reward", "total", "count") if name in found]
    return found | {name: list(map(_number, found[name])) for name in texts}


def _number(cell: Any) -> Any:
    """Return the number in a cell of a CSV file; what is no number is refused later."""
    with suppress(ValueError):
        return float(cell) if isinstance(cell, str) else cell
    return cell
