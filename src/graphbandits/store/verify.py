"""Verification of all files of a directory."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from graphbandits.errors import InputError
from graphbandits.store.directory import RUN_AGAIN, Directory, ShardFile
from graphbandits.store.record import read_record


@dataclass(frozen=True)
class Finding:
    """A damaged, missing or inconsistent file.

    Parameters
    ----------
    path : Path
        The file.
    problem : str
        What is wrong, and what to do.
    """

    path: Path
    problem: str


def verify(directory: Directory, advance: Callable[[int], None] = lambda _: None) -> list[Finding]:
    """Verify every file; ``advance`` is called with 1 after each shard."""
    return [*_studies(directory), *_problems(directory), *_shards(directory, advance)]


def _finding(path: Path, error: InputError) -> Finding:
    return Finding(path, str(error).replace(f"the shard {path} ", "").replace(f"{path} ", ""))


def _studies(directory: Directory) -> Iterator[Finding]:
    for key in directory.studies():
        try:
            record = read_record(directory, key)
        except InputError as error:
            yield _finding(directory.path / "studies" / f"{key}.json", error)
            continue
        for name in dict.fromkeys(point.problem for point in record.points):
            path = directory.path / "problems" / f"{name}.npz"
            if not path.exists():
                yield Finding(path, f"is missing, but the study '{key}' needs it: {RUN_AGAIN}")


def _problems(directory: Directory) -> Iterator[Finding]:
    for name in directory.problems():
        try:
            directory.problem(name)
        except InputError as error:
            yield _finding(directory.path / "problems" / f"{name}.npz", error)


def _shards(directory: Directory, advance: Callable[[int], None]) -> Iterator[Finding]:
    for series in directory.series():
        files = directory.shards(series)
        if files and directory.identity(series) is None:
            path = directory.path / "shards" / series / "identity.json"
            yield Finding(path, f"is damaged or missing: {RUN_AGAIN}")
        # the regret of the trials that were read before, with their file and CPU type
        seen: dict[int, tuple[bytes, ShardFile, str]] = {}
        end = 0
        for file in files:
            path = directory.path_of(file)
            try:
                shard = directory.read(file)
            except InputError as error:
                yield _finding(path, error)
                continue
            finally:
                advance(1)
            if file.first >= end:
                seen.clear()
            end = max(end, file.end)
            for trial, row in enumerate(shard.regret, start=file.first):
                numbers, other, cpu = seen.setdefault(trial, (row.tobytes(), file, shard.cpu))
                if numbers != row.tobytes():
                    yield Finding(
                        path,
                        f"trial {trial} has other numbers than in {other.name} (computed on "
                        f"{shard.cpu} and {cpu}): delete one of the two files",
                    )
                    break
