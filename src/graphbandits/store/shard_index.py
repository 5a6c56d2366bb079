"""The names of shards, and which of them make up a range of trials."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

_SHARD = re.compile(r"([0-9]{10})-([1-9][0-9]*)\.([0-9a-f]{64})\.parquet")


@dataclass(frozen=True, order=True)
class ShardFile:
    """Trials ``first`` to ``first + trials - 1`` of a series; the name of its file tells all."""

    series: str
    first: int
    trials: int
    checksum: str

    @classmethod
    def of(cls, series: str, name: str) -> ShardFile | None:
        """What the name of a file says; None if it is not that of a shard.

        >>> ShardFile.of("s", f"0000000250-50.{'ab' * 32}.parquet").end
        300
        """
        match = _SHARD.fullmatch(name)
        return cls(series, int(match[1]), int(match[2]), match[3]) if match else None

    @property
    def end(self) -> int:
        return self.first + self.trials

    @property
    def name(self) -> str:
        return f"{self.first:010d}-{self.trials}.{self.checksum}.parquet"


@dataclass(frozen=True)
class Cover:
    """Shards that follow each other, and the trials that none has, as (first, trials)."""

    used: tuple[ShardFile, ...]
    gaps: tuple[tuple[int, int], ...]

    @property
    def missing(self) -> int:
        """How many trials none of them has."""
        return sum(trials for _, trials in self.gaps)


def cover_of(files: Iterable[ShardFile], trials: int, first: int = 0) -> Cover:
    """Which shards make up the trials, each whole and none twice, and what is missing.

    As many trials as can be had; then as few shards as will do; then those whose last ones begin,
    and are named, first. So it depends on which files there are alone.

    >>> short, long = ShardFile("s", 0, 10, "a"), ShardFile("s", 5, 95, "b")
    >>> cover = cover_of([short, long, ShardFile("s", 5, 95, "a")], trials=100)
    >>> [(file.first, file.checksum) for file in cover.used], cover.gaps
    ([(5, 'a')], ((0, 5),))
    """
    end = first + trials
    inside = [file for file in files if first <= file.first and file.end <= end]
    inside.sort(key=lambda file: (file.end, file.first, file.checksum))
    ends = [file.end for file in inside]
    # best[n]: (trials, -shards) of the first n files, and whether the last of them is taken
    best: list[tuple[int, int]] = [(0, 0)]
    taken: list[bool] = []
    for number, file in enumerate(inside):
        have, shards = best[bisect_right(ends, file.first, hi=number)]
        found = have + file.trials, shards - 1
        taken.append(found > best[-1])
        best.append(max(found, best[-1]))
    used: list[ShardFile] = []
    number = len(inside)
    while number:
        if taken[number - 1]:
            file = inside[number - 1]
            used.append(file)
            number = bisect_right(ends, file.first, hi=number - 1)
        else:
            number -= 1
    used.reverse()
    return Cover(tuple(used), tuple(_gaps(used, first, end)))


def _gaps(used: Sequence[ShardFile], first: int, end: int) -> list[tuple[int, int]]:
    starts = [first, *(file.end for file in used)]
    stops = [*(file.first for file in used), end]
    return [(at, stop - at) for at, stop in zip(starts, stops, strict=True) if at < stop]


def rows_of(files: Sequence[ShardFile]) -> int:
    """How many trials the shards have together."""
    return sum(file.trials for file in files)
