"""Databases of live agents: connections, transactions, and errors in one line."""

from __future__ import annotations

import os
import random
import re
import sqlite3
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Protocol

from graphbandits.errors import GraphBanditsError, InputError, StoreError, UncertainError

#: Seconds after which waiting for another writer is an error.
WAIT = 60.0
#: Range of the pause between two attempts of a writer to start, in seconds.
LEAST_PAUSE, MOST_PAUSE = 0.0002, 0.002
#: Marks a file of SQLite as a store of agents: "gban" in ASCII.
APPLICATION_ID = 0x6762616E
#: Bytes of the smallest page of SQLite.
SMALLEST_FILE = 512

#: An address whose parts have no unescaped special characters.
_HOST = r"(\[[^]/?#@]*\]|[^]:/?#@,[]*)(:\d*)?"
_URL = re.compile(
    rf"postgres(ql)?://([^:/?#@]*(:[^:/?#@]*)?@)?{_HOST}(,{_HOST})*(/[^?#@]*)?(\?[^#@]*)?"
)
#: Settings of a connection. A server that does not answer is an error after about a minute.
_DEFAULTS = {
    "application_name": "graphbandits",
    "connect_timeout": 10,
    "keepalives_idle": 30,
    "keepalives_interval": 10,
    "keepalives_count": 3,
}
#: Settings of a session: an end of waiting, the locks of a machine that is gone, durable commits.
_SETTINGS = """SELECT set_config('lock_timeout', ?, false),
    set_config('tcp_keepalives_idle', '30', false),
    set_config('tcp_keepalives_interval', '10', false),
    set_config('tcp_keepalives_count', '3', false),
    set_config('synchronous_commit', replace(current_setting('synchronous_commit'), 'off', 'on'),
               false)"""

Row = tuple[Any, ...]

#: Connections of the parent process. They share sockets and locks with it: even closing is unsafe.
_inherited: list[object] = []


class Database(Protocol):
    """Protocol of a database: where it is, its dialect of SQL, and its errors."""

    #: Words of the dialect, for the statements that create tables.
    words: dict[str, str]
    #: Statements that start a transaction of a writer, and of a reader of one consistent state.
    begin_write: str
    begin_read: str
    #: End of a SELECT that locks the row.
    for_update: str
    #: After the name of the table of entries, if they are read by the number of their decision.
    by_decision: str
    #: Query with one row and column: whether the tables exist.
    has_tables: str
    #: Statements that release free space, outside of transactions.
    vacuum: tuple[str, ...]
    errors: type[Exception]

    def connect(self, create: bool) -> Connection:
        """Open a connection; a database that does not exist is created, or an error."""

    def execute(self, raw: Any, sql: str, values: Sequence[Any]) -> Any:
        """Execute a statement with placeholders ``?``; return a cursor."""

    def execute_many(self, raw: Any, sql: str, rows: Iterable[Sequence[Any]]) -> None:
        """Execute a statement for each row of values."""

    def claim_schema(self, connection: Connection) -> None:
        """Exclude other processes that create the tables, and mark a store as such."""

    def lock_table(self, connection: Connection, table: str) -> None:
        """Exclude other writers of a table until the end of the transaction."""

    def is_current(self, connection: Connection) -> bool:
        """Return whether an idle connection still leads to this database."""

    def explain(self, error: Exception, connection: Connection | None) -> GraphBanditsError:
        """Return the error to raise for an error of the database."""


def no_store(database: Database) -> InputError:
    return InputError(f"there is no store of agents at {database}: check the name, or create it")


class Connection:
    """Connection to a database, for one process and one thread at a time.

    After an error of the database it is used for nothing but the end of its transaction.
    """

    def __init__(self, database: Database, raw: Any, identity: object = None) -> None:
        self.database = database
        self.raw = raw
        self.identity = identity
        self.failed = False
        self._pid = os.getpid()

    def rows(self, sql: str, values: Sequence[Any] = ()) -> list[Row]:
        with self._checked():
            found: list[Row] = self.database.execute(self.raw, sql, values).fetchall()
        return found

    def run(self, sql: str, values: Sequence[Any] = ()) -> int:
        with self._checked():
            return int(self.database.execute(self.raw, sql, values).rowcount)

    def run_many(self, sql: str, rows: Iterable[Sequence[Any]]) -> None:
        with self._checked():
            self.database.execute_many(self.raw, sql, rows)

    @contextmanager
    def transaction(self, begin: str) -> Iterator[None]:
        """Run a block as one transaction; an exception discards it."""
        self.run(begin)
        try:
            yield
            if self.failed:  # the block has suppressed the error
                raise StoreError(f"{self.database}: nothing was stored, because a part failed")
            try:
                self.run("COMMIT")
            except StoreError as error:
                raise UncertainError(f"{error}; the transaction may have been stored") from error
        except BaseException:
            if self.is_usable():
                try:
                    self.raw.rollback()
                except self.database.errors:
                    self.failed = True  # the connection was lost, and the transaction with it
            raise

    def is_usable(self) -> bool:
        return self._pid == os.getpid()

    def close(self) -> None:
        """Close the connection; errors do not matter any more."""
        if not self.is_usable():
            _inherited.append(self.raw)
            return
        with suppress(self.database.errors):
            self.raw.close()

    @contextmanager
    def _checked(self) -> Iterator[None]:
        """Explain errors of the database, after which the connection is not used again."""
        if not self.is_usable():
            raise StoreError(f"{self.database}: a transaction ends in the process that began it")
        try:
            yield
        except BaseException as error:
            self.failed = True  # also after Ctrl-C, which leaves the statement half done
            if isinstance(error, self.database.errors):
                raise self.database.explain(error, self) from error
            raise


class SQLite:
    """A file of SQLite."""

    words = {"blob": "BLOB", "identity": "INTEGER PRIMARY KEY", "options": " WITHOUT ROWID"}
    begin_write = "BEGIN IMMEDIATE"
    begin_read = "BEGIN"
    for_update = ""
    # without statistics SQLite would search all entries of the agent
    by_decision = " INDEXED BY graphbandits_decisions"
    has_tables = "SELECT count(*) FROM sqlite_master WHERE name = 'graphbandits_store'"
    vacuum: tuple[str, ...] = ("VACUUM", "PRAGMA wal_checkpoint(TRUNCATE)")
    errors: type[Exception] = sqlite3.Error

    def __init__(self, path: Path) -> None:
        self.path = path.absolute()  # the working directory may change

    def __str__(self) -> str:
        return str(self.path)

    def connect(self, create: bool) -> Connection:
        self._check_path(create)
        self._open_side_files()
        uri = f"{self.path.as_uri()}?mode={'rwc' if create else 'rw'}"
        try:
            raw = sqlite3.connect(
                uri, uri=True, timeout=WAIT, isolation_level=None, check_same_thread=False
            )
        except sqlite3.Error as error:
            raise self.explain(error, None) from error
        connection = Connection(self, raw)
        try:
            self._check_owner(connection, create)
            self._use_write_ahead_log(connection)
            connection.run("PRAGMA synchronous = FULL")
            connection.run("PRAGMA fullfsync = ON")  # of macOS
            connection.run("PRAGMA foreign_keys = ON")
            connection.identity = self._file()
        except BaseException:
            connection.close()
            raise
        return connection

    def execute(self, raw: Any, sql: str, values: Sequence[Any]) -> Any:
        return self._begin_write(raw) if sql == self.begin_write else raw.execute(sql, values)

    def execute_many(self, raw: Any, sql: str, rows: Iterable[Sequence[Any]]) -> None:
        raw.executemany(sql, rows)

    def _begin_write(self, raw: Any) -> Any:
        # SQLite itself sleeps up to 0.1 s between two attempts, in which a busy writer starves the
        # others, and does not notice Ctrl-C
        until = time.monotonic() + WAIT
        raw.execute("PRAGMA busy_timeout = 0")
        try:
            while True:
                try:
                    return raw.execute(self.begin_write)
                except sqlite3.OperationalError as error:
                    if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY:
                        raise
                    if time.monotonic() > until:
                        raise
                time.sleep(random.uniform(LEAST_PAUSE, MOST_PAUSE))
        finally:
            raw.execute(f"PRAGMA busy_timeout = {round(1000 * WAIT)}")

    def claim_schema(self, connection: Connection) -> None:
        connection.run(f"PRAGMA application_id = {APPLICATION_ID}")

    def lock_table(self, connection: Connection, table: str) -> None:
        """Do nothing: a transaction locks the whole file."""

    def is_current(self, connection: Connection) -> bool:
        # after a removal SQLite goes on with the removed file
        return connection.identity == self._file()

    def explain(self, error: Exception, connection: Connection | None) -> GraphBanditsError:
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF
        if code == sqlite3.SQLITE_NOTADB:
            return InputError(f"{self} is not a database of SQLite: choose another file")
        why = {
            sqlite3.SQLITE_BUSY: f"another writer has been at work for {WAIT:g} s: try again",
            sqlite3.SQLITE_FULL: "the disk is full: free space and try again",
            sqlite3.SQLITE_IOERR: f"{error}: check the disk and its free space, and try again",
            sqlite3.SQLITE_READONLY: "it is read-only: make the file, those beside it with "
            "-wal and -shm, and the directory writable",
            sqlite3.SQLITE_CANTOPEN: "its files cannot be opened: make them and the directory "
            "readable and writable, or copy the file to another directory",
            sqlite3.SQLITE_CORRUPT: f"it is damaged ({error}): restore it from a copy",
        }.get(code, f"{error}")
        return StoreError(f"cannot use {self}: {why}")

    def _open_side_files(self) -> None:
        # SQLite creates the files beside the store with its rights at that time, perhaps read-only
        with suppress(OSError):
            if not os.access(self.path, os.W_OK):
                return
            for ending in ("-wal", "-shm"):
                beside = self.path.with_name(self.path.name + ending)
                if beside.exists() and not os.access(beside, os.W_OK):
                    beside.chmod(self.path.stat().st_mode & 0o777)

    def _file(self) -> tuple[int, int] | None:
        """Return what identifies the file, also after a rename; None if there is none."""
        try:
            status = os.stat(self.path)
        except OSError:
            return None
        return status.st_dev, status.st_ino

    def _check_path(self, create: bool) -> None:
        try:
            if self.path.is_dir():
                raise InputError(f"{self} is a directory: name a file in it, such as agents.db")
            if not self.path.parent.is_dir():
                raise InputError(f"cannot use {self}: there is no directory {self.path.parent}")
            exists = self.path.exists()
            # SQLite would overwrite it. Do not open it: a close releases all locks of the process
            if exists and 0 < self.path.stat().st_size < SMALLEST_FILE:
                raise InputError(f"{self} is not a database of SQLite: choose another file")
            if not exists and not create:
                raise no_store(self)
        except InputError:
            raise
        except (OSError, ValueError) as error:
            raise InputError(f"cannot use {str(self)!r} as a store: {error}") from None

    def _check_owner(self, connection: Connection, create: bool) -> None:
        """Raise InputError for a database of another application, or one without tables."""
        # one statement reads one state: another process may be creating the tables
        query = "SELECT (SELECT * FROM pragma_application_id), (SELECT count(*) FROM sqlite_master)"
        [(owner, tables)] = connection.rows(query)
        if owner != APPLICATION_ID and (owner or tables):
            raise InputError(f"{self} is a database of another application: choose another file")
        if not tables and not create:
            raise no_store(self)

    def _use_write_ahead_log(self, connection: Connection) -> None:
        # in this mode readers do not wait for writers
        end = time.monotonic() + WAIT
        while connection.rows("PRAGMA journal_mode") != [("wal",)]:
            try:
                connection.raw.execute("PRAGMA journal_mode = WAL")
                return  # some file systems cannot: then readers wait
            except sqlite3.OperationalError as error:
                # SQLite does not wait here for another process that does the same
                busy = error.sqlite_errorcode & 0xFF == sqlite3.SQLITE_BUSY
                if not busy or time.monotonic() > end:
                    raise self.explain(error, connection) from error
                time.sleep(0.01)


class Postgres:
    """A database of PostgreSQL. Its tables are in the first schema of the search path."""

    words = {
        "blob": "BYTEA",
        "identity": "INTEGER GENERATED ALWAYS AS IDENTITY PRIMARY KEY",
        "options": "",
    }
    # the default of the database may be another level, at which transactions can fail
    begin_write = "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE"
    begin_read = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
    for_update = " FOR UPDATE"
    by_decision = ""
    # to_regclass would not see tables that were created while this process waited for its lock
    has_tables = """SELECT count(*) FROM pg_class
        WHERE relname = 'graphbandits_store' AND pg_table_is_visible(oid)"""
    vacuum: tuple[str, ...] = (
        "VACUUM graphbandits_entries, graphbandits_snapshots, graphbandits_objects",
    )

    def __init__(self, url: str) -> None:
        try:
            import psycopg
            from psycopg.conninfo import conninfo_to_dict
        except ImportError:
            raise InputError(
                "PostgreSQL needs psycopg: python -m pip install 'graphbandits[postgres]'"
            ) from None
        self.errors: type[Exception] = psycopg.Error
        try:
            # libpq reads "user:pass/word@host" as the host "user", and shows the rest in errors
            valid = _URL.fullmatch(url) and url.isprintable()
            given = conninfo_to_dict(url) if valid else None
        except (psycopg.Error, ValueError):  # the reason may contain the password
            given = None
        if given is None:
            raise InputError(
                "an address of PostgreSQL has the form postgresql://user:password@host:port/name; "
                "write special characters as %40 (@), %3A (:), %2F (/), %3F (?), %23 (#), %25 (%)"
            )
        self._given: dict[str, Any] = _DEFAULTS | given | {"client_encoding": "utf8"}
        # parameters after the question mark may have a password, too
        self._text = re.sub(r":[^:/@]*@", "@", url.partition("?")[0])

    def __str__(self) -> str:
        return self._text

    def connect(self, create: bool) -> Connection:
        import psycopg

        try:
            raw = psycopg.connect(**self._given, autocommit=True)
        except psycopg.Error as error:
            raise self.explain(error, None) from error
        connection = Connection(self, raw)
        try:
            connection.rows(_SETTINGS, (str(round(1000 * WAIT)),))
        except BaseException:
            connection.close()
            raise
        return connection

    def execute(self, raw: Any, sql: str, values: Sequence[Any]) -> Any:
        return raw.execute(sql.replace("?", "%s"), values, binary=True)

    def execute_many(self, raw: Any, sql: str, rows: Iterable[Sequence[Any]]) -> None:
        rows, sql = list(rows), sql.replace("?", "%s")
        if len(rows) == 1:  # the usual case, and faster
            raw.execute(sql, rows[0])
            return
        with raw.cursor() as cursor:
            cursor.executemany(sql, rows)

    def claim_schema(self, connection: Connection) -> None:
        connection.rows("SELECT pg_advisory_xact_lock(?)", (APPLICATION_ID,))

    def lock_table(self, connection: Connection, table: str) -> None:
        connection.run(f"LOCK TABLE {table} IN SHARE ROW EXCLUSIVE MODE")

    def is_current(self, connection: Connection) -> bool:
        return not connection.raw.closed

    def explain(self, error: Exception, connection: Connection | None) -> GraphBanditsError:
        text = " ".join(str(error).split())
        if connection is None:
            return StoreError(f"cannot connect to {self}: {text}")
        code = getattr(error, "sqlstate", None) or ""
        text = getattr(getattr(error, "diag", None), "message_primary", None) or text
        # 57P01 to 57P05: the server ends the connection
        if connection.raw.closed or code.startswith(("08", "57P")):
            return StoreError(f"the database {self} went away: {text}; try again")
        why = {
            "55P03": f"another writer has been at work for {WAIT:g} s: try again",
            "53100": f"the disk of the server is full ({text}): free space and try again",
            "25006": "it is read-only: connect to the primary server",
        }.get(code, text)
        return StoreError(f"cannot use {self}: {why}")
