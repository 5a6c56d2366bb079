"""Stores of live agents in a file of SQLite, or in PostgreSQL."""

from __future__ import annotations

import hashlib
import json
import os
import re
import weakref
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from graphbandits.errors import (
    ConflictError,
    InputError,
    NotFoundError,
    StoreError,
    nearest,
    short_repr,
)
from graphbandits.live._database import Connection, Database, Postgres, Row, SQLite, no_store
from graphbandits.live.journal import REQUEST_LIFETIME, Entry, Snapshot, StoredRequest

#: Number of the format of a store: its tables, and the content of their columns.
FORMAT = 3
#: Statements that create the tables.
TABLES = (
    "CREATE TABLE graphbandits_store (version INTEGER NOT NULL)",
    "INSERT INTO graphbandits_store VALUES ({format})",
    """CREATE TABLE graphbandits_agents (
            id {identity}, name TEXT NOT NULL UNIQUE, last BIGINT NOT NULL, first BIGINT NOT NULL
        )""",
    """CREATE TABLE graphbandits_entries (
            agent INTEGER NOT NULL REFERENCES graphbandits_agents, number BIGINT NOT NULL,
            time DOUBLE PRECISION NOT NULL, kind TEXT NOT NULL, decision BIGINT,
            body TEXT NOT NULL, data {blob}, PRIMARY KEY (agent, number)
        ){options}""",
    """CREATE INDEX graphbandits_decisions ON graphbandits_entries (agent, decision)
            WHERE decision IS NOT NULL""",
    """CREATE TABLE graphbandits_snapshots (
            agent INTEGER NOT NULL REFERENCES graphbandits_agents, number BIGINT NOT NULL,
            data {blob} NOT NULL, PRIMARY KEY (agent, number)
        )""",
    "CREATE TABLE graphbandits_objects (key TEXT PRIMARY KEY, data {blob} NOT NULL)",
    """CREATE TABLE graphbandits_requests (
            agent INTEGER NOT NULL REFERENCES graphbandits_agents, key TEXT NOT NULL,
            content TEXT NOT NULL, time DOUBLE PRECISION NOT NULL,
            first BIGINT NOT NULL, decisions BIGINT NOT NULL, PRIMARY KEY (agent, key)
        )""",
    "CREATE INDEX graphbandits_requests_time ON graphbandits_requests (agent, time)",
    """CREATE TABLE graphbandits_tokens (
            id TEXT PRIMARY KEY, hash TEXT NOT NULL, name TEXT NOT NULL, role TEXT NOT NULL,
            created DOUBLE PRECISION NOT NULL, expires DOUBLE PRECISION, revoked DOUBLE PRECISION
        )""",
)

#: Most connections that are kept for later use.
MOST_IDLE = 30
#: Entries that are read at a time, and bytes above which arrays of an entry are read alone.
_PAGE, _LARGE = 500, 4096
_MOST_CHARACTERS = 200
_ENCODER = json.JSONEncoder(allow_nan=False, separators=(",", ":"))
_INSERT_ENTRY = "INSERT INTO graphbandits_entries VALUES (?, ?, ?, ?, ?, ?, ?)"
_INSERT_SNAPSHOT = "INSERT INTO graphbandits_snapshots VALUES (?, ?, ?)"
_INSERT_OBJECT = "INSERT INTO graphbandits_objects VALUES (?, ?)"
_INSERT_REQUEST = "INSERT INTO graphbandits_requests VALUES (?, ?, ?, ?, ?, ?)"
#: Number of an agent by its name. A store that was restored from a copy may have other numbers.
_AGENT = "(SELECT id FROM graphbandits_agents WHERE name = ?)"


@dataclass
class _Transaction:
    """A transaction on the journal of an agent, and the numbers of its last and first entry."""

    connection: Connection
    agent: int
    last: int
    first: int


class StoredJournal:
    """Journal of an agent in a store. Each call uses a connection of the store."""

    def __init__(
        self, store: AgentStore, name: str, transaction: _Transaction | None = None
    ) -> None:
        self.store = store
        self.name = name
        self._transaction = transaction

    @contextmanager
    def write(self, new_after: int | None = None) -> Iterator[int]:
        """Start a transaction; ``new_after`` adds the agent, with entries after this number."""
        if self._transaction:
            raise InputError("write() of a journal cannot be nested")
        with self.store._connection() as connection:
            database = connection.database
            with connection.transaction(database.begin_write):
                if new_after is not None:
                    self._register(connection, new_after)
                query = "SELECT id, last, first FROM graphbandits_agents WHERE name = ?"
                found = connection.rows(query + database.for_update, (self.name,))
                agent, last, first = self._one(found)
                self._transaction = _Transaction(connection, agent, last, first)
                try:
                    yield last
                finally:
                    self._transaction = None

    def append(self, entries: Sequence[Entry]) -> None:
        now = self._need_transaction("append")
        rows = [_row_of(now.agent, entry) for entry in entries]
        numbers = [entry.number for entry in entries]
        last = now.last + len(rows)
        if numbers != list(range(now.last + 1, last + 1)):
            raise InputError(
                f"entries must follow entry {now.last} without gaps, not {short_repr(numbers)}"
            )
        now.connection.run_many(_INSERT_ENTRY, rows)
        query = "UPDATE graphbandits_agents SET last = ? WHERE id = ?"
        now.connection.run(query, (last, now.agent))
        now.last = last

    def last(self) -> int:
        return self._number("last")

    def first(self) -> int:
        # no other writer can change it during a transaction
        return self._transaction.first if self._transaction else self._number("first")

    def _number(self, column: str) -> int:
        query = f"SELECT {column} FROM graphbandits_agents WHERE name = ?"
        return int(self._one(self._rows(query, self.name))[0])

    def entries(self, after: int = 0) -> Iterator[Entry]:
        for page in self._pages(after):
            for row in page:
                yield self._entry(*row[:5], self._data(row[0]) if row[6] else row[5])

    def of_decision(self, decision: int) -> list[Entry]:
        with self._reading() as connection:
            query = f"""SELECT number, time, kind, decision, body, data
                FROM graphbandits_entries{connection.database.by_decision}
                WHERE agent = {_AGENT} AND decision = ? ORDER BY number"""
            return [self._entry(*row) for row in connection.rows(query, (self.name, decision))]

    def _entry(self, *row: Any) -> Entry:
        number, time, kind, decision, body, data = row
        try:
            return Entry(number, time, kind, decision, json.loads(body), data)
        except ValueError as error:
            raise StoreError(f"{self}: entry {number} is damaged: {error}") from None

    def newest_snapshot(self) -> Snapshot | None:
        return self._snapshot("DESC")

    def oldest_snapshot(self) -> Snapshot | None:
        return self._snapshot("ASC")

    def add_snapshot(self, snapshot: Snapshot) -> None:
        now = self._need_transaction("add_snapshot")
        query = _INSERT_SNAPSHOT + " ON CONFLICT (agent, number) DO UPDATE SET data = excluded.data"
        now.connection.run(query, (now.agent, snapshot.number, snapshot.data))
        query = """DELETE FROM graphbandits_snapshots WHERE agent = ? AND number < ? AND number >
            (SELECT min(number) FROM graphbandits_snapshots WHERE agent = ?)"""
        now.connection.run(query, (now.agent, snapshot.number, now.agent))

    def put_object(self, data: bytes) -> str:
        connection = self._need_transaction("put_object").connection
        key = hashlib.sha256(data).hexdigest()
        query = "SELECT 1 FROM graphbandits_objects WHERE key = ?"
        if not connection.rows(query, (key,)):
            # two writers that insert the same objects in different orders would wait for each other
            connection.database.lock_table(connection, "graphbandits_objects")
            connection.run(_INSERT_OBJECT + " ON CONFLICT (key) DO NOTHING", (key, data))
        return key

    def get_object(self, key: str) -> bytes:
        found = self._rows("SELECT data FROM graphbandits_objects WHERE key = ?", key)
        if not found:
            raise StoreError(f"{self.store} has no object {key}")
        data = bytes(found[0][0])
        if hashlib.sha256(data).hexdigest() != key:
            raise StoreError(f"{self.store}: object {key} is damaged: restore it from a backup")
        return data

    def get_request(self, key: str) -> StoredRequest | None:
        query = f"""SELECT content, first, decisions FROM graphbandits_requests
            WHERE agent = {_AGENT} AND key = ?"""
        found = self._rows(query, self.name, key)
        return StoredRequest(*found[0]) if found else None

    def put_request(self, key: str, request: StoredRequest, time: float) -> None:
        now = self._need_transaction("put_request")
        query = "DELETE FROM graphbandits_requests WHERE agent = ? AND time < ?"
        now.connection.run(query, (now.agent, time - REQUEST_LIFETIME))
        content, first, decisions = request
        now.connection.run(_INSERT_REQUEST, (now.agent, key, content, time, first, decisions))

    def forget(self, base: Snapshot) -> None:
        now = self._need_transaction("forget")
        for table in ("graphbandits_entries", "graphbandits_snapshots"):
            query = f"DELETE FROM {table} WHERE agent = ? AND number <= ?"
            now.connection.run(query, (now.agent, base.number))
        now.connection.run(_INSERT_SNAPSHOT, (now.agent, base.number, base.data))
        query = "UPDATE graphbandits_agents SET first = ? WHERE id = ?"
        now.connection.run(query, (base.number + 1, now.agent))
        now.first = base.number + 1

    def compact(self) -> None:
        with self.store._connection() as connection:
            for statement in connection.database.vacuum:
                connection.run(statement)

    def __repr__(self) -> str:
        return f"<journal of {self.name!r} in {self.store.place}>"

    @contextmanager
    def _reading(self) -> Iterator[Connection]:
        if self._transaction:
            yield self._transaction.connection
        else:
            with self.store._connection() as connection:
                yield connection

    def _rows(self, query: str, *values: object) -> list[Row]:
        with self._reading() as connection:
            return connection.rows(query, values)

    def _need_transaction(self, method: str) -> _Transaction:
        if not self._transaction:
            raise InputError(f"{method}() of a journal must be called inside of write()")
        return self._transaction

    def _one(self, rows: list[Row]) -> Row:
        if not rows:
            raise StoreError(f"the agent {self.name!r} is no longer in {self.store.place}")
        return rows[0]

    def _register(self, connection: Connection, after: int) -> None:
        """Add the agent; wait for another process that adds the same name."""
        added = connection.run(
            """INSERT INTO graphbandits_agents (name, last, first) VALUES (?, ?, ?)
            ON CONFLICT (name) DO NOTHING""",
            (self.name, after, after + 1),
        )
        if not added:
            raise ConflictError(
                f"{self.store.place} has an agent {self.name!r}: open it, or choose another name"
            )

    def _pages(self, after: int) -> Iterator[list[Row]]:
        """Iterate over rows of entries. Large arrays are None: they are read one at a time."""
        query = f"""SELECT number, time, kind, decision, body,
            CASE WHEN length(data) <= {_LARGE} THEN data END, length(data) > {_LARGE}
            FROM graphbandits_entries WHERE agent = {_AGENT} AND number > ?
            ORDER BY number LIMIT {_PAGE}"""
        page = list[Row]()
        while not page or len(page) == _PAGE:
            # the connection is free between two pages: a slow reader delays no other use
            before, page = page, self._rows(query, self.name, after)
            if before and page and page[0][0] != after + 1:
                raise self._removed()
            if not page:
                return
            yield page
            after = page[-1][0]

    def _data(self, number: int) -> bytes:
        query = f"SELECT data FROM graphbandits_entries WHERE agent = {_AGENT} AND number = ?"
        found = self._rows(query, self.name, number)
        if not found:
            raise self._removed()
        return bytes(found[0][0])

    def _removed(self) -> StoreError:
        return StoreError(f"entries of {self} were removed while they were read: try again")

    def _copy_to(self, target: Connection) -> None:
        """Copy the agent and its journal, in transactions of both databases."""
        now = self._need_transaction("copy_to")
        query = "INSERT INTO graphbandits_agents (name, last, first) VALUES (?, ?, ?)"
        target.run(query, (self.name, now.last, now.first))
        [(agent,)] = target.rows("SELECT id FROM graphbandits_agents WHERE name = ?", (self.name,))
        for page in self._pages(0):
            rows = ((agent, *row[:5], self._data(row[0]) if row[6] else row[5]) for row in page)
            target.run_many(_INSERT_ENTRY, rows)
        query = "SELECT number, data FROM graphbandits_snapshots WHERE agent = ?"
        rows = ((agent, *row) for row in now.connection.rows(query, (now.agent,)))
        target.run_many(_INSERT_SNAPSHOT, rows)
        query = """SELECT key, content, time, first, decisions FROM graphbandits_requests
            WHERE agent = ?"""
        rows = ((agent, *row) for row in now.connection.rows(query, (now.agent,)))
        target.run_many(_INSERT_REQUEST, rows)

    def _snapshot(self, order: str) -> Snapshot | None:
        query = f"""SELECT number, data FROM graphbandits_snapshots WHERE agent = {_AGENT}
            ORDER BY number {order} LIMIT 1"""
        found = self._rows(query, self.name)
        return Snapshot(*found[0]) if found else None


class AgentStore:
    """Store of agents: their journals, in a database. Use :func:`open_store`.

    Threads and processes may share a store, also after a fork.
    """

    def __init__(self, database: Database, *, create: bool) -> None:
        self._database = database
        self._idle: deque[Connection] = deque()
        self._release(self._connect(create))
        weakref.finalize(self, _close_all, self._idle)

    @property
    def place(self) -> str:
        """Path of the file, or address of the database without the password."""
        return str(self._database)

    def agents(self) -> list[str]:
        with self._connection() as connection:
            return sorted(row[0] for row in connection.rows("SELECT name FROM graphbandits_agents"))

    @contextmanager
    def create(self, name: str, after: int = 0) -> Iterator[StoredJournal]:
        """Add an agent, in one transaction with the first lines of its journal."""
        valid = isinstance(name, str) and 0 < len(name) <= _MOST_CHARACTERS and name.isprintable()
        if not valid:
            allowed = f"1 to {_MOST_CHARACTERS} printable characters"
            raise InputError(f"the name of an agent has {allowed}, not {short_repr(name)}")
        journal = StoredJournal(self, name)
        with journal.write(after):
            yield journal

    def journal(self, name: str) -> StoredJournal:
        known = self.agents()
        if name not in known:
            hint = nearest(str(name), known) if known else "it has no agents"
            raise NotFoundError(f"no agent {short_repr(name)} in {self.place}: {hint}")
        return StoredJournal(self, name)

    def copy_to(self, other: AgentStore) -> None:
        """Copy all agents and tokens, in one consistent state, to a store without agents."""
        if other is self:
            raise InputError(f"{self.place} cannot be copied to itself")
        with (
            self._connection() as source,
            other._connection() as target,
            source.transaction(source.database.begin_read),
            target.transaction(target.database.begin_write),
        ):
            target.database.lock_table(target, "graphbandits_agents")
            if target.rows("SELECT 1 FROM graphbandits_agents LIMIT 1"):
                raise InputError(f"{other.place} has agents: copy to a new store")
            target.run("DELETE FROM graphbandits_objects")  # no agent refers to them
            for key in source.rows("SELECT key FROM graphbandits_objects"):
                query = "SELECT key, data FROM graphbandits_objects WHERE key = ?"
                for row in source.rows(query, key):
                    target.run(_INSERT_OBJECT, row)
            for row in source.rows("SELECT * FROM graphbandits_tokens"):
                target.run("INSERT INTO graphbandits_tokens VALUES (?, ?, ?, ?, ?, ?, ?)", row)
            query = "SELECT name, id, last, first FROM graphbandits_agents ORDER BY id"
            for name, *numbers in source.rows(query):
                StoredJournal(self, name, _Transaction(source, *numbers))._copy_to(target)

    def close(self) -> None:
        """Close the connections that are not in use. The next use opens a new one."""
        _close_all(self._idle)

    def __enter__(self) -> AgentStore:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<store of agents {self.place}>"

    @contextmanager
    def _connection(self) -> Iterator[Connection]:
        """Lend a connection to this thread."""
        connection = self._take() or self._connect_again()
        try:
            yield connection
        finally:
            self._release(connection)

    def _take(self) -> Connection | None:
        while True:
            try:
                connection = self._idle.pop()
            except IndexError:
                return None
            if connection.is_usable() and self._database.is_current(connection):
                return connection
            connection.close()

    def _release(self, connection: Connection) -> None:
        if len(self._idle) >= MOST_IDLE:
            connection.close()
        elif connection.failed:
            # what ended this connection has probably ended the others, too
            connection.close()
            self.close()
        else:
            self._idle.append(connection)

    def _connect_again(self) -> Connection:
        try:
            return self._connect(create=False)
        except InputError as error:  # it was a store before: it was moved, or is being restored
            raise StoreError(str(error)) from error

    def _connect(self, create: bool) -> Connection:
        connection = self._database.connect(create)
        try:
            _use_tables(connection, create)
        except BaseException:
            connection.close()
            raise
        return connection


def open_store(place: str | os.PathLike[str], *, must_exist: bool = False) -> AgentStore:
    """Open a store of agents."""
    scheme = re.match(r"([a-zA-Z][\w+.-]*)://", place) if isinstance(place, str) else None
    if not isinstance(place, str | os.PathLike) or place in ("", ":memory:"):
        raise InputError(f"a store is a path or an address, not {short_repr(place)}")
    if scheme and scheme[1] not in ("postgresql", "postgres"):
        raise InputError(f"a store is a file, or postgresql://..., not {scheme[1]}://...")
    database: Database = Postgres(str(place)) if scheme else SQLite(Path(place))
    return AgentStore(database, create=not must_exist)


def _use_tables(connection: Connection, create: bool) -> None:
    """Create the tables if there are none; raise StoreError for another format."""
    database = connection.database
    number = _format(connection)
    if not number and not create:
        raise no_store(database)
    if not number:
        with connection.transaction(database.begin_write):
            database.claim_schema(connection)
            number = _format(connection)  # another process may have been faster
            if not number:
                for statement in TABLES:
                    connection.run(statement.format(format=FORMAT, **database.words))
                number = FORMAT
    if number != FORMAT:
        raise StoreError(
            f"{database} has format {number}, and this version of graphbandits reads format "
            f"{FORMAT}: use the version that wrote it"
        )


def _format(connection: Connection) -> int:
    if not connection.rows(connection.database.has_tables)[0][0]:
        return 0
    return int(connection.rows("SELECT version FROM graphbandits_store")[0][0])


def _row_of(agent: int, entry: Entry) -> Row:
    try:
        # ASCII: PostgreSQL does not store a NUL
        body = _ENCODER.encode(entry.body)
    except (TypeError, ValueError, RecursionError) as error:
        raise InputError(f"entry {entry.number} has a body that is not JSON: {error}") from None
    return (agent, entry.number, entry.time, entry.kind, entry.decision, body, entry.data)


def _close_all(idle: deque[Connection]) -> None:
    while True:
        try:
            idle.pop().close()
        except IndexError:
            return
