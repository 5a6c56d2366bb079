"""Tests of live/store.py: journals of agents in a database."""

from __future__ import annotations

import gc
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from helpers.bad_input import refuses
from helpers.cases import each
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from graphbandits.errors import InputError, StoreError
from graphbandits.live import _database, store
from graphbandits.live.journal import (
    REQUEST_LIFETIME,
    Entry,
    Journal,
    MemoryJournal,
    Snapshot,
    StoredRequest,
)
from graphbandits.live.store import AgentStore, StoredJournal, open_store


def entry(number: int, decision: int | None = None, **body: Any) -> Entry:
    return Entry(number, 0.25 * number, "tick", decision, body)


def append(journal: Journal, count: int = 1) -> None:
    with journal.write() as last:
        journal.append([entry(last + 1 + i) for i in range(count)])


@pytest.fixture
def opened(store_url: str) -> Iterator[AgentStore]:
    with open_store(store_url) as found:
        yield found


@pytest.fixture
def journal(opened: AgentStore) -> StoredJournal:
    with opened.create("agent") as created:
        pass
    return created


# --- the journal agrees with the one in memory --------------------------------------------------

STEPS = st.one_of(
    st.tuples(st.just("append"), st.lists(st.sampled_from([None, 1, 2]), max_size=4)),
    st.tuples(st.just("add_snapshot"), st.none()),
    st.tuples(st.just("forget"), st.floats(0, 1)),
    st.tuples(st.just("put_object"), st.binary(max_size=2)),
    st.tuples(st.just("put_request"), st.tuples(st.integers(0, 5), st.floats(0, 3))),
    st.tuples(st.just("compact"), st.none()),
    st.tuples(st.just("fail"), st.none()),
)


def run(journal: Journal, step: str, value: Any) -> str | None:
    """Run a step of a test on a journal; return what it returns."""
    if step == "compact":
        journal.compact()
        return None
    with journal.write() as last:
        if step == "append":
            journal.append(
                [
                    Entry(last + 1 + i, i / 3, "tick", of, {"i": i}, bytes(i) if i else None)
                    for i, of in enumerate(value)
                ]
            )
        elif step == "add_snapshot":
            journal.add_snapshot(Snapshot(last, b"%d" % last))
        elif step == "forget":
            before = journal.first() - 1
            base = before + round(value * (last - before))
            journal.forget(Snapshot(base, b"base %d" % base))
        elif step == "put_object":
            return journal.put_object(value)
        elif step == "put_request":
            number, lifetimes = value
            key, time = f"k{number}", REQUEST_LIFETIME * lifetimes
            if journal.get_request(key) is None:
                journal.put_request(key, StoredRequest(f"{time}", number, 1), time)
    return None


def content(journal: Journal) -> dict[str, Any]:
    return {
        "first": journal.first(),
        "last": journal.last(),
        "entries": [list(journal.entries(after)) for after in (0, 2, 5)],
        "decisions": [journal.of_decision(decision) for decision in (1, 2, 3)],
        "requests": [journal.get_request(f"k{number}") for number in range(6)],
        "snapshots": (journal.oldest_snapshot(), journal.newest_snapshot()),
    }


@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(steps=st.lists(STEPS, max_size=12))
def test_journal_agrees_with_one_in_memory(
    opened: AgentStore, steps: list[tuple[str, Any]]
) -> None:
    memory = MemoryJournal()
    with opened.create(f"agent {len(opened.agents())}") as stored:
        pass
    with opened.create(f"agent {len(opened.agents())}") as other:
        other.append([entry(1, 1)])
        other.add_snapshot(Snapshot(1, b"other"))
    time = 0.0
    for step, value in steps:
        if step == "put_request":  # clocks do not go back
            time += value[1]
            value = value[0], time
        if step == "fail":
            with pytest.raises(ZeroDivisionError), stored.write() as last:  # noqa: PT012
                stored.append([entry(last + 1, 1)])
                stored.add_snapshot(Snapshot(last + 1, b"discarded"))
                stored.forget(Snapshot(last + 1, b"discarded"))
                stored.put_request("discarded", StoredRequest("", 0, 0), 0.0)
                raise ZeroDivisionError
        else:
            key = run(memory, step, value)
            assert run(stored, step, value) == key
            if key:
                assert stored.get_object(key) == memory.get_object(key) == value
        assert content(stored) == content(memory)
    assert stored.get_request("discarded") is other.get_request("k1") is None
    assert content(other)["entries"][0] == [entry(1, 1)]
    assert other.newest_snapshot() == Snapshot(1, b"other")


def test_values_return_exactly(journal: StoredJournal) -> None:
    body = {
        "floats": [0.1, 1e-323, 1.7976931348623157e308, -0.0, 1 / 3],
        "integers": [2**70, -1],
        "text": "h\u00e9\u0000\u2603\U0001f600'\"\\%s ?",
        "none": None,
        "nested": {"": [[], {}]},
    }
    data = bytes(range(256)) * 1000  # more than what is read with a page
    entries = [
        Entry(1, 1763437000.1234567, "\u00e9", 2**62, body, data),
        Entry(2, 0.1, "b", None, {}, b""),
        Entry(3, 0.1, "c", 0, {}, None),
    ]
    with journal.write():
        journal.append(entries)
        journal.add_snapshot(Snapshot(3, data))
    assert list(journal.entries()) == entries
    assert journal.of_decision(2**62) == entries[:1]
    assert str(next(journal.entries()).body["floats"][3]) == "-0.0"
    assert journal.newest_snapshot() == Snapshot(3, data)
    with journal.store._connection() as connection:
        rows = connection.rows("SELECT body FROM graphbandits_entries ORDER BY number")
    assert rows[0][0].isascii()
    assert rows[0][0].startswith('{"floats":[0.1,1e-323,')  # compact


def test_entries_are_read_in_pages(journal: StoredJournal, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "_PAGE", 4)
    append(journal, 8)
    for after in range(10):
        numbers = [one.number for one in journal.entries(after)]
        assert numbers == list(range(after + 1, 9))
    reader = journal.entries()
    first = next(reader)
    append(journal, 3)  # the reader does not hold a connection or a lock
    assert [first.number, *(one.number for one in reader)] == list(range(1, 12))


def test_entries_removed_during_a_read_are_an_error(
    journal: StoredJournal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store, "_PAGE", 4)
    append(journal, 12)
    reader = journal.entries()
    next(reader)
    with journal.write():
        journal.forget(Snapshot(6, b""))
        assert journal.first() == 7
    assert journal.first() == 7
    with pytest.raises(StoreError, match="removed while they were read"):
        list(reader)
    assert [one.number for one in journal.entries()] == list(range(7, 13))


def test_a_transaction_sees_its_own_entries_and_others_do_not(
    opened: AgentStore, journal: StoredJournal
) -> None:
    other = opened.journal("agent")
    with journal.write():
        journal.append([entry(1, 5)])
        assert (journal.last(), len(journal.of_decision(5))) == (1, 1)
        assert (other.last(), other.of_decision(5)) == (0, [])
    assert (other.last(), len(other.of_decision(5))) == (1, 1)


# --- agents -------------------------------------------------------------------------------------


def test_agents_are_listed_by_name(opened: AgentStore, store_url: str) -> None:
    for name in ("zoë", "ann", "Ann", "a" * 200):
        with opened.create(name):
            pass
    assert opened.agents() == sorted(["zoë", "ann", "Ann", "a" * 200])
    assert open_store(store_url, must_exist=True).agents() == opened.agents()


def test_an_agent_that_was_not_completed_does_not_exist(opened: AgentStore) -> None:
    with pytest.raises(ZeroDivisionError), opened.create("agent") as journal:  # noqa: PT012
        journal.append([entry(1)])
        journal.add_snapshot(Snapshot(1, b"state"))
        raise ZeroDivisionError
    assert opened.agents() == []
    with opened.create("agent") as journal:
        journal.append([entry(1)])
        journal.add_snapshot(Snapshot(1, b"state"))
    assert opened.journal("agent").newest_snapshot() == Snapshot(1, b"state")


@each("name", ["", "a" * 201, "a\nb", "a\0b", "\ud800", 3, None])
def test_names_that_are_not_allowed_are_refused(tmp_path: Path, name: Any) -> None:
    opened = open_store(tmp_path / "agents.db")
    with refuses(InputError), opened.create(name):
        pass
    assert opened.agents() == []


def test_a_name_is_given_once_and_a_wrong_one_gets_a_hint(tmp_path: Path) -> None:
    opened = open_store(tmp_path / "agents.db")
    with refuses(InputError, match="no agent 'banner' in"):
        opened.journal("banner")
    with opened.create("banner"):
        pass
    with (
        refuses(InputError, match="has an agent 'banner': open it, or choose another name"),
        opened.create("banner"),
    ):
        pass
    with refuses(InputError):
        opened.journal("baner")


# --- wrong use of a journal ---------------------------------------------------------------------


@each("numbers", [[0], [2, 3], [1, 3], [1, 1], [2]])
def test_numbers_with_gaps_are_refused(journal: StoredJournal, numbers: list[int]) -> None:
    with refuses(InputError), journal.write():
        journal.append([entry(number) for number in numbers])
    assert journal.last() == 0


@each("value", [float("nan"), float("inf"), {1, 2}, b"bytes"])
def test_bodies_that_are_not_json_are_refused(journal: StoredJournal, value: Any) -> None:
    with pytest.raises(InputError, match="entry 2 has a body that is not JSON"), journal.write():
        journal.append([entry(1), entry(2, value=value)])
    assert journal.last() == 0


@each(
    "call",
    [
        lambda journal: journal.append([]),
        lambda journal: journal.add_snapshot(Snapshot(0, b"")),
        lambda journal: journal.put_object(b""),
        lambda journal: journal.forget(Snapshot(0, b"")),
    ],
)
def test_writing_outside_of_a_transaction_is_refused(
    journal: StoredJournal, call: Callable[[Journal], object]
) -> None:
    with refuses(InputError):
        call(journal)


def test_nested_transactions_are_refused(journal: StoredJournal) -> None:
    with (
        refuses(InputError, match=r"write\(\) of a journal cannot be nested"),
        journal.write(),
        journal.write(),
    ):
        pass
    append(journal)


def test_an_error_that_the_block_suppresses_discards_the_block(journal: StoredJournal) -> None:
    with pytest.raises(StoreError, match="nothing was stored"), journal.write():  # noqa: PT012
        journal.append([entry(1)])
        with pytest.raises(StoreError):
            journal.append([Entry(2, None, "no time", None, {})])  # type: ignore[arg-type]
    assert journal.last() == 0
    append(journal)


def test_an_unknown_object_is_an_error(journal: StoredJournal) -> None:
    with pytest.raises(StoreError, match="has no object 00"):
        journal.get_object("00")


# --- copies, space, versions --------------------------------------------------------------------


def test_compact_releases_the_space_of_snapshots(tmp_path: Path) -> None:
    path = tmp_path / "agents.db"
    opened = open_store(path)
    with opened.create("agent") as journal:
        journal.append([entry(number) for number in range(1, 4)])
        journal.add_snapshot(Snapshot(1, bytes(10**5)))
        for number in (2, 3):
            journal.add_snapshot(Snapshot(number, bytes(10**6)))
    opened.close()
    before = path.stat().st_size
    with journal.write():
        journal.append([entry(4)])
        journal.add_snapshot(Snapshot(4, b"small"))
    journal.compact()
    opened.close()
    assert before > 10**6 > 4 * 10**5 > path.stat().st_size
    assert journal.oldest_snapshot() == Snapshot(1, bytes(10**5))
    assert journal.newest_snapshot() == Snapshot(4, b"small")


def test_a_copy_is_one_state_of_the_store(
    opened: AgentStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another writer adds entries and agents while the copy runs."""
    monkeypatch.setattr(store, "_PAGE", 2)
    with opened.create("agent") as journal:
        journal.append([entry(number) for number in range(1, 9)])
        journal.add_snapshot(Snapshot(8, b"eight"))
    pages = StoredJournal._pages

    def interrupted(self: StoredJournal, after: int) -> Iterator[list[Any]]:
        for page in pages(self, after):
            with journal.write() as last:
                journal.append([entry(last + 1)])
                journal.add_snapshot(Snapshot(last + 1, b"late"))
            with opened.create(f"late {last}"):
                pass
            yield page

    monkeypatch.setattr(StoredJournal, "_pages", interrupted)
    target = open_store(tmp_path / "copy.db")
    opened.copy_to(target)
    monkeypatch.undo()
    assert target.agents() == ["agent"]
    assert content(target.journal("agent")) == content(journal) | {
        "last": 8,
        "entries": [list(journal.entries(after))[: 8 - after] for after in (0, 2, 5)],
        "snapshots": (Snapshot(8, b"eight"),) * 2,
    }


def test_a_copy_can_be_restored(store_url: str, tmp_path: Path) -> None:
    source = open_store(tmp_path / "copy.db")
    with source.create("agent") as journal:
        key = journal.put_object(b"object")
        journal.append([Entry(1, 0.1, "a", 1, {"x": "\0", "y": [1 / 3]}, bytes(5000))])
        journal.append([entry(number, 1) for number in range(2, 1201)])
        journal.add_snapshot(Snapshot(5, b"five"))
        journal.put_request("k1", StoredRequest("text", 2, 1), 0.0)
        journal.forget(Snapshot(3, b"three"))
    target = open_store(store_url)
    with pytest.raises(ZeroDivisionError), target.create("agent") as gone:  # noqa: PT012
        gone.put_object(b"object")
        raise ZeroDivisionError
    with pytest.raises(InputError, match="itself"):
        source.copy_to(source)
    source.copy_to(target)
    with pytest.raises(InputError, match="has agents: copy to a new store"):
        source.copy_to(target)
    restored = target.journal("agent")
    assert content(restored) == content(journal)
    assert restored.get_object(key) == b"object"
    append(restored)
    with target.create("new") as new:  # the numbers of agents go on
        new.append([entry(1)])
    assert (restored.last(), new.last()) == (1201, 1)


def test_a_store_of_another_format_is_refused(store_url: str) -> None:
    with open_store(store_url) as opened, opened._connection() as connection:
        connection.run("UPDATE graphbandits_store SET version = 2")
    with pytest.raises(StoreError, match=r"has format 2, and this version .* reads format 3: use"):
        open_store(store_url)


def test_failed_creation_of_tables_leaves_none(
    store_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(store, "TABLES", (*store.TABLES, "SELECT * FROM nothing"))
        with pytest.raises(StoreError, match="nothing"):
            open_store(store_url)
    with open_store(store_url) as again, again.create("agent") as journal:
        journal.append([entry(1)])
    assert journal.last() == 1


def test_reading_by_decision_uses_the_index(tmp_path: Path) -> None:
    with open_store(tmp_path / "agents.db") as opened, opened.create("agent") as journal:
        plans = []
        rows = journal._need_transaction("").connection.rows

        def explain(sql: str, values: Any) -> Any:
            plans.append(str(rows(f"EXPLAIN QUERY PLAN {sql}", values)))
            return rows(sql, values)

        journal._need_transaction("").connection.rows = explain  # type: ignore[method-assign]
        journal.of_decision(1)
    assert "graphbandits_decisions (agent=? AND decision=?)" in plans[0]
    assert "TEMP B-TREE" not in plans[0]


# --- errors of SQLite ---------------------------------------------------------------------------


@each("place", ["", ":memory:", "sqlite:///a.db", "mysql://u:p@h/d", None, 3])
def test_places_that_are_no_store_are_refused(place: Any) -> None:
    with refuses(InputError) as caught:
        open_store(place)
    assert "u:p" not in str(caught.value)


def other_database(path: Path) -> None:
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE mine (x)")
    connection.close()


@each(
    ("name", "make"),
    [
        ("directory", Path.mkdir),
        ("text.db", lambda path: path.write_text("not a database, " * 100)),
        ("short.db", lambda path: path.write_text("x")),
        ("other.db", other_database),
        ("missing/agents.db", lambda path: None),
        ("file/agents.db", lambda path: path.parent.write_text("")),
    ],
)
def test_files_that_are_no_store_are_refused_and_not_changed(
    tmp_path: Path, name: str, make: Callable[[Path], object]
) -> None:
    path = tmp_path / name
    make(path)
    before = path.read_bytes() if path.is_file() else None
    for must_exist in (False, True):
        with refuses(InputError):
            open_store(path, must_exist=must_exist)
        assert (path.read_bytes() if path.is_file() else None) == before
    assert not list(tmp_path.glob("*-*"))


@each("content", [None, b""])
def test_a_store_that_must_exist_is_not_created(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / f"{content!r}.db"
    if content is not None:
        path.write_bytes(content)
    with refuses(InputError, match="there is no store of agents at"):
        open_store(path, must_exist=True)
    assert (path.read_bytes() if path.exists() else None) == content
    open_store(path).close()
    assert open_store(str(path), must_exist=True).agents() == []


def test_paths_with_special_characters(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    opened = open_store("a b?mode=ro#%41.db")
    monkeypatch.chdir("/")  # the path is relative to the directory at the start
    with opened.create("agent"):
        pass
    opened.close()
    assert [path.name for path in tmp_path.iterdir()] == ["a b?mode=ro#%41.db"]
    assert repr(opened) == f"<store of agents {tmp_path}/a b?mode=ro#%41.db>"


def test_settings_of_sqlite_make_commits_durable(tmp_path: Path) -> None:
    with open_store(tmp_path / "agents.db") as opened, opened._connection() as connection:
        found = {
            name: connection.rows(f"PRAGMA {name}")[0][0]
            for name in ("journal_mode", "synchronous", "foreign_keys", "busy_timeout")
        }
    assert found == {
        "journal_mode": "wal",
        "synchronous": 2,
        "foreign_keys": 1,
        "busy_timeout": 60000,
    }


def test_a_lock_that_is_held_too_long_is_an_error(
    store_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_database, "WAIT", 0.2)
    opened = open_store(store_url)
    with opened.create("agent") as journal:
        pass
    other = opened.journal("agent")
    with journal.write():
        with pytest.raises(StoreError, match=r"another writer has been at work for 0.2 s: try"):
            append(other)
        assert other.last() == 0
        journal.append([entry(1)])
    append(other)
    assert journal.last() == 2


def test_agents_of_a_file_that_was_removed_or_replaced(tmp_path: Path) -> None:
    path = tmp_path / "agents.db"
    opened = open_store(path)
    with opened.create("agent") as journal:
        journal.append([entry(1)])
    copy = tmp_path / "copy.db"
    with open_store(copy) as backup:
        with open_store(tmp_path / "first.db") as source, source.create("another"):
            pass
        opened.copy_to(backup)
    append(journal)
    for name in ("agents.db", "agents.db-wal", "agents.db-shm"):
        (tmp_path / name).unlink()
    with refuses(StoreError, match="there is no store of agents at"), journal.write():
        pytest.fail("an entry in a removed file would be lost")
    assert not path.exists()
    copy.rename(path)
    assert journal.last() == 1
    append(journal)
    with open_store(path) as again:
        assert again.journal("agent").last() == 2
    path.unlink()
    open_store(path).close()
    with refuses(StoreError, match="the agent 'agent' is no longer in"):
        journal.last()


def test_a_damaged_file_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "agents.db"
    with open_store(path) as opened, opened.create("agent") as journal:
        journal.append([entry(number, text="x" * 1000) for number in range(1, 201)])
    data = bytearray(path.read_bytes())
    data[4096 * 8 :] = b"\xff" * (len(data) - 4096 * 8)
    path.write_bytes(data)
    with refuses(StoreError, match=r"it is damaged \(database disk image is malformed\)"):
        list(open_store(path).journal("agent").entries())


def test_a_damaged_body_is_an_error(journal: StoredJournal) -> None:
    append(journal, 3)
    with journal.store._connection() as connection:
        connection.run("UPDATE graphbandits_entries SET body = '{' WHERE number = 2")
    with pytest.raises(StoreError, match="entry 2 is damaged"):
        list(journal.entries())


@pytest.mark.filterwarnings("error")
def test_stores_without_references_close_their_connections(store_url: str) -> None:
    opened = open_store(store_url)
    with opened.create("agent") as journal:
        pass
    [connection] = opened._idle
    del opened
    assert journal.last() == 0
    del journal
    gc.collect()
    with pytest.raises(StoreError):
        connection.rows("SELECT 1")
