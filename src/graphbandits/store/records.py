"""What the records of studies refer to: cells, and trials of series."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from graphbandits.errors import InputError
from graphbandits.store.directory import AGAIN, UNREADABLE, Store

#: The layout of a study's record; a newer one is refused by name.
FORMAT = 1
HASH = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True)
class Needed:
    """Trials ``first`` to ``first + trials - 1`` of a series, which a study has as a policy's."""

    policy: str
    series: str
    first: int
    trials: int


@dataclass(frozen=True)
class Record:
    """A study, as far as it says what of the store is its."""

    key: str
    title: str
    trials: int
    cells: tuple[str, ...]  # of each simulation the hash of its description
    policies: tuple[str, ...]
    needed: tuple[Needed, ...]  # each series once


def record_of(store: Store, key: str) -> Record:
    """What a study refers to; one that does not say so is refused, and its file named."""
    given = store.study(key)
    number = given.get("format")
    if isinstance(number, int) and number > FORMAT:
        raise InputError(
            f"the study '{key}' in {store.path} is of format {number}, and this version of "
            f"graphbandits reads up to {FORMAT}: update graphbandits"
        )
    try:
        return _record(key, given)
    except UNREADABLE as error:
        path = store.path / "studies" / f"{key}.json"
        why = f"{type(error).__name__}: {error}"
        raise InputError(f"{path} is damaged ({why}): {AGAIN}") from None


def _record(key: str, given: dict[str, Any]) -> Record:
    first, trials = int(given["first_trial"]), int(given["trials"])
    cells = tuple(_hash(cell["cell"]) for cell in given["cells"])
    needed = {
        _hash(series): Needed(policy, series, first, trials)
        for cell in given["cells"]
        for policy, series in cell["policies"].items()
    }
    policies = tuple(dict.fromkeys(name for cell in given["cells"] for name in cell["policies"]))
    if given["key"] != key:
        raise ValueError(f"its key is '{given['key']}'")
    return Record(key, str(given["title"]), trials, cells, policies, tuple(needed.values()))


def _hash(value: Any) -> str:
    if not isinstance(value, str) or not HASH.fullmatch(value):
        raise ValueError(f"{value!r} is not a sha256")
    return value
