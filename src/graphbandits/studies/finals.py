"""What trials ended with, read from shards: all that comparing policies takes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
from numpy.typing import NDArray

from graphbandits.results import PolicyResult, Results
from graphbandits.store import ShardFile
from graphbandits.studies.stored import StoredCell
from graphbandits.types import Floats, Ints

#: Trials as (first, one after the last), in order and apart from each other.
Ranges = tuple[tuple[int, int], ...]


def ranges_of(files: Iterable[ShardFile]) -> Ranges:
    """The trials of shards that follow each other.

    >>> ranges_of([ShardFile("s", 0, 5, ""), ShardFile("s", 5, 5, ""), ShardFile("s", 20, 1, "")])
    ((0, 10), (20, 21))
    """
    merged: list[tuple[int, int]] = []
    for file in files:
        if merged and merged[-1][1] == file.first:
            merged[-1] = (merged[-1][0], file.end)
        else:
            merged.append((file.first, file.end))
    return tuple(merged)


def common(one: Ranges, other: Ranges) -> Ranges:
    """The trials that are in both.

    >>> common(((0, 10), (20, 30)), ((5, 25),))
    ((5, 10), (20, 25))
    """
    pairs = ((max(a, c), min(b, d)) for a, b in one for c, d in other)
    return tuple((first, end) for first, end in pairs if first < end)


def count_of(ranges: Ranges) -> int:
    """How many trials there are."""
    return sum(end - first for first, end in ranges)


def within(ranges: Ranges, some: Ranges) -> NDArray[np.bool_]:
    """Which of the trials are among some others, one after the other.

    >>> within(((0, 2), (5, 7)), ((1, 6),)).tolist()
    [False, True, True, False]
    """
    numbers = np.concatenate([np.arange(first, end) for first, end in ranges])
    inside = np.zeros(len(numbers), bool)
    for first, end in some:
        inside |= (numbers >= first) & (numbers < end)
    return inside


def final_result(cell: StoredCell, files: Iterable[ShardFile], ranges: Ranges) -> PolicyResult:
    """What these trials ended with, from shards of a policy, as the last round of its results."""
    parts: list[Floats] = []
    plays: Ints = np.zeros(len(cell.description[0]["arms"]), np.int64)
    for file in files:
        kept = within(((file.first, file.end),), ranges)
        if kept.any():
            shard = cell.store.read(file)
            parts.append(shard.regret[kept, -1])
            counted = kept[shard.plays.trial]
            np.add.at(plays, shard.plays.arm[counted], shard.plays.count[counted])
    final = np.concatenate(parts)
    # one column alone would be summed in another order, which may change the last bit
    twice = PolicyResult.from_trials(np.stack([final, final], axis=1), plays)
    last = slice(1, None)
    return PolicyResult(
        twice.mean[last], twice.standard_error[last], twice.quantiles[:, last], final, plays
    )


def final_results(cell: StoredCell, found: Mapping[str, PolicyResult]) -> Results:
    """Results of the last round alone, of policies in the worlds of a cell."""
    meta, _ = cell.description
    settings = {k: v for k, v in meta["settings"].items() if k not in ("policies", "runs")}
    return Results(np.array(meta["rounds"][-1:]), found, tuple(meta["arms"]), settings)
