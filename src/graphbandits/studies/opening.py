"""The door to what was run: studies of a directory, opened without reading a shard."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from graphbandits.errors import InputError
from graphbandits.store import Store
from graphbandits.studies.stored import StoredStudy


class Studies(Mapping[str, StoredStudy]):
    """The studies of a store by their keys, each opened when it is first asked for."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self._keys = store.studies()
        self._open: dict[str, StoredStudy] = {}

    def __getitem__(self, key: str) -> StoredStudy:
        if key not in self._open:
            self._open[key] = StoredStudy.open(self.store, key)
        return self._open[key]

    def __contains__(self, key: object) -> bool:
        return key in self._keys

    def __iter__(self) -> Iterator[str]:
        return iter(self._keys)

    def __len__(self) -> int:
        return len(self._keys)

    def __repr__(self) -> str:
        return f"<Studies of {self.store.path}: {', '.join(self) or 'none'}>"

    def chosen(self, keys: list[str] | None = None) -> list[StoredStudy]:
        """The studies of these keys, or all; a store without any is refused."""
        if not self:
            raise InputError(
                f"{self.store.path} has no studies: 'graphbandits run EXPERIMENT --output "
                f"{self.store.path}' makes one"
            )
        return [self[key] for key in dict.fromkeys(keys or self)]


def open_studies(directory: str | Path) -> Studies:
    """All studies that were run, or begun, in a directory."""
    return Studies(Store.open(directory))


def open_study(directory: str | Path, key: str | None = None) -> StoredStudy:
    """The study that was run in a directory; of several the one of this key.

    ``open_study("density").results(p=0.25)`` has the results at one point of its sweep.
    """
    studies = open_studies(directory)
    if key is not None:
        return studies[key]
    if len(studies) > 1:
        raise InputError(
            f"{directory} has {len(studies)} studies: give the key of one, of {', '.join(studies)}"
        )
    return studies.chosen()[0]
