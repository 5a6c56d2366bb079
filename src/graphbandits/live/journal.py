"""The journal of an agent: numbered entries, snapshots of its state, and large objects by hash."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from itertools import takewhile
from typing import Any, NamedTuple, NoReturn, Protocol

from graphbandits.errors import InputError, StoreError


class Entry(NamedTuple):
    """One event in the life of an agent."""

    number: int
    time: float
    kind: str
    decision: int | None
    body: dict[str, Any]
    data: bytes | None = None


class Snapshot(NamedTuple):
    """State of an agent after an entry."""

    number: int
    data: bytes


#: Seconds for which the key of a request is remembered.
REQUEST_LIFETIME = 7 * 86400.0


class StoredRequest(NamedTuple):
    """A request that was carried out, kept under a key of its caller."""

    content: str
    first: int
    decisions: int


class Journal(Protocol):
    """Protocol of the journal of one agent. Entries are appended and never changed.

    Any number of processes may write to a journal. A thread uses its own journal, or a lock.
    """

    def write(self) -> AbstractContextManager[int]:
        """Start a transaction that excludes other writers of this agent."""

    def append(self, entries: Sequence[Entry]) -> None:
        """Append entries, inside of :meth:`write`."""

    def last(self) -> int:
        """Return the number of the last entry, without a lock."""

    def first(self) -> int:
        """Return the number of the first entry that has not been removed by :meth:`forget`."""

    def entries(self, after: int = 0) -> Iterator[Entry]:
        """Iterate over the entries in their order."""

    def of_decision(self, decision: int) -> list[Entry]:
        """Return all entries of a decision, in their order."""

    def newest_snapshot(self) -> Snapshot | None:
        """Return the newest snapshot."""

    def oldest_snapshot(self) -> Snapshot | None:
        """Return the oldest snapshot, from which all remaining entries can be replayed."""

    def add_snapshot(self, snapshot: Snapshot) -> None:
        """Store a snapshot, inside of :meth:`write`; only the oldest and the newest are kept."""

    def put_object(self, data: bytes) -> str:
        """Store an object, such as a graph, inside of :meth:`write`; equal objects once."""

    def get_object(self, key: str) -> bytes:
        """Return a stored object."""

    def get_request(self, key: str) -> StoredRequest | None:
        """Return the request with a key."""

    def put_request(self, key: str, request: StoredRequest, time: float) -> None:
        """Store a request, inside of :meth:`write`, and remove those that are too old."""

    def forget(self, base: Snapshot) -> None:
        """Remove the entries up to a snapshot, and older snapshots, inside of :meth:`write`."""

    def compact(self) -> None:
        """Release free space."""


class MemoryJournal:
    """Journal in memory, for an agent without a store. It ends with the process."""

    def __init__(self) -> None:
        self._entries: list[Entry] = []
        self._removed = 0
        self._by_decision: dict[int, list[Entry]] = {}
        self._snapshots: list[Snapshot] = []
        self._objects: dict[str, bytes] = {}
        self._requests: dict[str, tuple[float, StoredRequest]] = {}
        # at the start of this transaction, and in it
        self._before = 0, self._snapshots
        self._new_request: str | None = None

    def write(self) -> AbstractContextManager[int]:
        return self

    def __enter__(self) -> int:
        self._before, self._new_request = (len(self._entries), self._snapshots), None
        return self.last()

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None:
            return
        before, self._snapshots = self._before
        if self._new_request is not None:
            del self._requests[self._new_request]
        for entry in self._entries[before:]:
            if entry.decision is not None:
                self._by_decision[entry.decision].pop()
        del self._entries[before:]

    def append(self, entries: Sequence[Entry]) -> None:
        for entry in entries:
            self._entries.append(entry)
            if entry.decision is not None:
                self._by_decision.setdefault(entry.decision, []).append(entry)

    def last(self) -> int:
        return self._removed + len(self._entries)

    def first(self) -> int:
        return self._removed + 1

    def entries(self, after: int = 0) -> Iterator[Entry]:
        return iter(self._entries[max(0, after - self._removed) :])

    def of_decision(self, decision: int) -> list[Entry]:
        return self._by_decision.get(decision, [])

    def newest_snapshot(self) -> Snapshot | None:
        return self._snapshots[-1] if self._snapshots else None

    def oldest_snapshot(self) -> Snapshot | None:
        return self._snapshots[0] if self._snapshots else None

    def add_snapshot(self, snapshot: Snapshot) -> None:
        oldest = [one for one in self._snapshots[:1] if one.number != snapshot.number]
        self._snapshots = [*oldest, snapshot]

    def put_object(self, data: bytes) -> str:
        key = hashlib.sha256(data).hexdigest()
        self._objects[key] = data
        return key

    def get_object(self, key: str) -> bytes:
        return self._objects[key]

    def get_request(self, key: str) -> StoredRequest | None:
        found = self._requests.get(key)
        return None if found is None else found[1]

    def put_request(self, key: str, request: StoredRequest, time: float) -> None:
        oldest = time - REQUEST_LIFETIME
        # in the order of their times, unless a clock went back
        old = takewhile(lambda one: one[1][0] < oldest, self._requests.items())
        for one, _ in list(old):
            del self._requests[one]
        self._requests[key] = time, request
        self._new_request = key

    def forget(self, base: Snapshot) -> None:
        kept = self._entries[max(0, base.number - self._removed) :]
        self._removed += len(self._entries) - len(kept)
        self._entries, self._by_decision = [], {}
        self.append(kept)
        self._snapshots = [base, *(one for one in self._snapshots if one.number > base.number)]
        used = {key for one in kept for key in _object_keys(one.body)}
        self._objects = {
            key: data
            for key, data in self._objects.items()
            # the data of snapshots are not compressed
            if key in used or any(key.encode() in one.data for one in self._snapshots)
        }

    def compact(self) -> None:
        """Do nothing: no space is free."""


class PastJournal:
    """Read-only view of a journal that ends at an earlier entry: the journal as it was then."""

    def __init__(self, journal: Journal, last: int) -> None:
        self._journal, self._last, self._first = journal, last, journal.first()

    def last(self) -> int:
        return self._last

    def first(self) -> int:
        if self._journal.first() != self._first:
            raise StoreError(
                "entries of this past state were removed by forget: call at(...) of the agent again"
            )
        return self._first

    def entries(self, after: int = 0) -> Iterator[Entry]:
        self.first()
        return takewhile(lambda entry: entry.number <= self._last, self._journal.entries(after))

    def of_decision(self, decision: int) -> list[Entry]:
        return [one for one in self._journal.of_decision(decision) if one.number <= self._last]

    def newest_snapshot(self) -> Snapshot | None:
        newest = self._journal.newest_snapshot()
        recent = newest is not None and newest.number <= self._last
        return newest if recent else self.oldest_snapshot()

    def oldest_snapshot(self) -> Snapshot | None:
        return self._journal.oldest_snapshot()

    def get_object(self, key: str) -> bytes:
        return self._journal.get_object(key)

    def get_request(self, key: str) -> StoredRequest | None:
        return self._journal.get_request(key)

    def write(self, *_: object, **__: object) -> NoReturn:
        raise InputError("a past state cannot be changed: use the agent itself, not agent.at(...)")

    append = add_snapshot = put_object = put_request = forget = compact = write


def numbered(entries: Iterable[Entry], after: int) -> list[Entry]:
    return [Entry(number, *one[1:]) for number, one in enumerate(entries, after + 1)]


def made_entries(journal: Journal, numbers: Iterable[int]) -> list[Entry]:
    """Return the entries of the decisions with some numbers, without removed ones."""
    entries = (one for number in numbers for one in journal.of_decision(number))
    return [one for one in entries if one.kind == "decide"]


def copy_objects(bodies: Iterable[dict[str, Any]], source: Journal, target: Journal) -> None:
    for key in {key for body in bodies for key in _object_keys(body)}:
        target.put_object(source.get_object(key))


def _object_keys(body: dict[str, Any]) -> set[str]:
    names = ("graph", "among", "arms", "prior")
    return {key for name in names if isinstance(key := body.get(name), str)}
