"""Tests of live/store.py: errors, passwords and lost connections of PostgreSQL."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from helpers.bad_input import refuses
from helpers.cases import each
from helpers.postgres import PASSWORD, PostgresServer

from graphbandits.errors import GraphBanditsError, InputError, StoreError
from graphbandits.live._database import Postgres
from graphbandits.live.journal import Entry, Journal
from graphbandits.live.store import AgentStore, StoredJournal, open_store


def append(journal: Journal) -> int:
    with journal.write() as last:
        journal.append([Entry(last + 1, 0.0, "tick", None, {})])
    return last + 1


@pytest.fixture
def opened(postgres: PostgresServer) -> Iterator[AgentStore]:
    with open_store(postgres.new_address()) as store:
        yield store


@pytest.fixture
def journal(opened: AgentStore) -> StoredJournal:
    with opened.create("agent") as journal:
        pass
    return journal


ENDS = (
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'graphbandits'"
)


def test_a_lost_connection_is_an_error_and_the_next_call_connects(
    postgres: PostgresServer, journal: StoredJournal
) -> None:
    append(journal)
    postgres.execute(ENDS)
    with pytest.raises(StoreError, match=r"postgresql://.* went away: .*; try again"):
        append(journal)
    assert append(journal) == 2
    postgres.execute(ENDS)
    with pytest.raises(StoreError, match="went away"):
        list(journal.entries())
    assert [one.number for one in journal.entries()] == [1, 2]


def test_a_connection_lost_inside_of_a_transaction_discards_it(
    postgres: PostgresServer, journal: StoredJournal
) -> None:
    with pytest.raises(StoreError, match="went away"), journal.write():  # noqa: PT012
        journal.append([Entry(1, 0.0, "tick", None, {})])
        postgres.execute(ENDS)
        journal.append([Entry(2, 0.0, "tick", None, {})])
    assert journal.last() == 0
    with pytest.raises(StoreError, match="may have been stored"), journal.write():  # noqa: PT012
        journal.append([Entry(1, 0.0, "tick", None, {})])
        postgres.execute(ENDS)
    assert journal.last() == 0
    # no statement runs outside of the transaction, on a new connection
    with pytest.raises(StoreError, match="nothing was stored"), journal.write():  # noqa: PT012
        postgres.execute(ENDS)
        for _ in range(2):
            with pytest.raises(StoreError, match="went away"):
                journal.append([Entry(1, 0.0, "tick", None, {})])
    assert append(journal) == 1


def test_writers_of_different_agents_do_not_wait_for_each_other(
    opened: AgentStore, journal: StoredJournal
) -> None:
    with opened.create("other") as other:
        pass
    with journal.write():
        journal.append([Entry(1, 0.0, "tick", None, {})])
        assert append(other) == 1
        with opened.create("third") as third:
            assert third.put_object(b"x")
    waited = list[float]()

    def write() -> None:
        start = time.monotonic()
        append(opened.journal("agent"))
        waited.append(time.monotonic() - start)

    with journal.write():
        thread = threading.Thread(target=write)
        thread.start()
        time.sleep(0.3)
        journal.append([Entry(2, 0.0, "tick", None, {})])
    thread.join()
    assert waited[0] > 0.25
    assert journal.last() == 3


def test_objects_in_opposite_orders_cause_no_deadlock(
    opened: AgentStore, journal: StoredJournal
) -> None:
    with opened.create("other") as other:
        pass
    first_is_in = threading.Event()

    def write() -> None:
        first_is_in.wait()
        with other.write():
            other.put_object(b"y")
            other.put_object(b"x")
            other.append([Entry(1, 0.0, "tick", None, {})])

    thread = threading.Thread(target=write)
    thread.start()
    with journal.write():
        journal.put_object(b"x")
        first_is_in.set()
        time.sleep(0.3)
        journal.put_object(b"y")
        journal.append([Entry(1, 0.0, "tick", None, {})])
    thread.join()
    assert (journal.last(), other.last()) == (1, 1)


def test_commits_are_durable_and_transactions_have_their_level(postgres: PostgresServer) -> None:
    address = postgres.new_address()
    given = "-csynchronous_commit%3Doff%20-cdefault_transaction_isolation%3Dserializable"
    with open_store(f"{address}%20{given}") as store, store.create("agent") as journal:
        connection = journal._need_transaction("").connection
        assert connection.rows("SHOW synchronous_commit") == [("on",)]
        assert connection.rows("SHOW transaction_isolation") == [("read committed",)]
        assert connection.rows("SHOW lock_timeout") == [("1min",)]


def test_the_password_is_in_no_message(postgres: PostgresServer) -> None:
    wrong = "wrong-\u00e9/@:?#%word"
    texts = []
    for place in (
        postgres.address(wrong),
        postgres.address(database="missing"),
        postgres.address().replace("tester", "stranger"),
        f"postgresql://localhost:1/x?password={PASSWORD.replace('@', '%40')}",
    ):
        with pytest.raises(StoreError, match="cannot connect to postgresql://") as caught:
            open_store(place)
        texts.append(str(caught.value))
    with open_store(postgres.new_address()) as store, store.create("agent") as journal:
        texts += [repr(store), store.place, repr(journal)]
    with pytest.raises(InputError) as unknown:
        store.journal("agnet")
    texts.append(str(unknown.value))
    assert "password authentication failed" in texts[0]
    assert 'database "missing" does not exist' in texts[1]
    for text in texts:
        assert "word@" not in text
        assert "s3cret" not in text
        assert "wrong-" not in text
        assert len(text.splitlines()) == 1


@each(
    "rest",
    [
        "user:sec/ret@host/db",
        "user:sec@ret@host/db",
        "user:sec?ret@host/db",
        "user:sec%ret@host/db",
        "user:secret@host:ret/db",
        "user:secret@host/db?nothing=ret",
        "user:sec\0ret@host/db",
    ],
)
def test_addresses_with_unescaped_characters_are_refused(rest: str) -> None:
    with refuses(GraphBanditsError, match="an address of PostgreSQL has the form") as caught:
        open_store(f"postgresql://{rest}")
    assert "sec" not in str(caught.value)
    assert "ret" not in str(caught.value)


def test_a_missing_driver_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with refuses(InputError, match="PostgreSQL needs psycopg: python -m pip install"):
        open_store("postgres://user@host/db")


def test_a_store_that_must_exist_is_not_created(postgres: PostgresServer) -> None:
    address = postgres.new_address()
    with pytest.raises(InputError, match="there is no store of agents at postgresql://tester@"):
        open_store(address, must_exist=True)
    open_store(address).close()
    assert open_store(address.replace("postgresql:", "postgres:"), must_exist=True).agents() == []


def test_rights_that_are_missing_are_named(postgres: PostgresServer) -> None:
    address = postgres.new_address()
    with pytest.raises(StoreError, match=r"no schema has been selected to create in$"):
        open_store(f"{address}%20-crole%3Dpg_monitor")
    open_store(address).close()
    schema = address.rpartition("%3D")[2]
    postgres.execute(f"GRANT USAGE ON SCHEMA {schema} TO pg_monitor")
    with pytest.raises(StoreError, match=r"permission denied for table graphbandits_store$"):
        open_store(f"{address}%20-crole%3Dpg_monitor")


@each("name", ["DiskFull", "ReadOnlySqlTransaction", "AdminShutdown"])
def test_errors_of_the_server_say_what_to_do(name: str) -> None:
    errors = pytest.importorskip("psycopg").errors
    connection: Any = SimpleNamespace(raw=SimpleNamespace(closed=False))
    error = getattr(errors, name)("a reason\nin two lines")
    with refuses(StoreError):
        raise Postgres("postgresql://user:password@host:5432,[::1]/db").explain(error, connection)
