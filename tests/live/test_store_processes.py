"""Tests of live/store.py: several processes, killed processes, full disks and read-only files."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from helpers.privileges import unprivileged

from graphbandits.errors import StoreError
from graphbandits.live.journal import Entry, Snapshot
from graphbandits.live.store import open_store

# libraries start threads; Python 3.12 warns of a fork then
pytestmark = pytest.mark.filterwarnings(
    "ignore:This process .* is multi-threaded:DeprecationWarning"
)


def entry(number: int, **body: object) -> Entry:
    return Entry(number, 0.0, "tick", None, body)


def in_children(count: int, work: Callable[[int], None]) -> None:
    """Call ``work(number)`` in forked processes, and check that none fails."""
    children = list[int]()
    for number in range(count):
        child = os.fork()
        if child == 0:
            code = 1
            try:
                work(number)
                code = 0
            except BaseException:
                sys.excepthook(*sys.exc_info())
            finally:
                os._exit(code)
        children.append(child)
    assert [os.waitpid(child, 0)[1] for child in children] == [0] * count


def test_processes_that_create_a_store_and_an_agent_together(store_url: str) -> None:
    """One creates the agent with its snapshot; the others open it."""
    start = time.time() + 0.3
    directory = tempfile.TemporaryDirectory()

    def work(number: int) -> None:
        time.sleep(max(0.0, start - time.time()))
        store = open_store(store_url)
        try:
            with store.create("agent") as journal:
                journal.append([entry(1, by=number)])
                journal.add_snapshot(Snapshot(1, b"state"))
            Path(directory.name, str(number)).touch()
        except ValueError:  # InputError
            journal = store.journal("agent")
        assert journal.newest_snapshot() == Snapshot(1, b"state")

    with directory:
        in_children(6, work)
        [creator] = os.listdir(directory.name)
    [first] = open_store(store_url, must_exist=True).journal("agent").entries()
    assert first.body == {"by": int(creator)}


def test_a_forked_process_uses_its_own_connection(store_url: str) -> None:
    store = open_store(store_url)
    with store.create("agent") as journal:
        journal.append([entry(1)])
    [before] = store._idle

    def work(_: int) -> None:
        with journal.write() as last:
            journal.append([entry(last + 1)])
        assert store._idle[0] is not before
        store.close()

    in_children(1, work)
    assert [one.number for one in journal.entries()] == [1, 2]
    assert store._idle[0] is before
    with journal.write() as last:
        journal.append([entry(last + 1)])
    assert journal.last() == 3


@pytest.mark.parametrize("lines", ["raise SystemExit", "pass"])
def test_a_child_that_leaves_a_transaction_of_its_parent(store_url: str, lines: str) -> None:
    """The child neither commits nor rolls back, also if it runs all handlers of its end."""
    code = f"""
import os, sys
from graphbandits.errors import StoreError
from graphbandits.live.journal import Entry
from graphbandits.live.store import open_store
store = open_store(sys.argv[1])
with store.create("agent") as journal:
    pass
pid = None
try:
    with journal.write():
        journal.append([Entry(1, 0.0, "a", None, {{}})])
        pid = os.fork()
        if pid == 0:
            {lines}
        else:
            assert os.waitpid(pid, 0)[1] == 0
            journal.append([Entry(2, 0.0, "b", None, {{}})])
except StoreError as error:
    assert pid == 0, error
    assert "in the process that began it" in str(error)
"""
    subprocess.run([sys.executable, "-c", code, store_url], check=True)
    assert open_store(store_url).journal("agent").last() == 2


def make_store(path: Path) -> None:
    with open_store(path) as store, store.create("agent") as journal:
        journal.append([entry(1)])


def test_a_read_only_file_can_be_read(tmp_path: Path) -> None:
    path = tmp_path / "agents.db"
    make_store(path)
    path.chmod(0o444)
    with unprivileged():
        store = open_store(path)
        journal = store.journal("agent")
        assert [one.number for one in journal.entries()] == [1]
        with pytest.raises(StoreError, match="it is read-only: make the file"), journal.write():
            journal.append([entry(2)])
        store.close()
    path.chmod(0o666)
    for name in tmp_path.glob("agents.db-*"):
        name.chmod(0o666)
    with unprivileged():
        with journal.write() as last:
            journal.append([entry(last + 1)])
        assert journal.last() == 2
        store.close()


def test_a_file_in_a_read_only_directory(tmp_path: Path) -> None:
    """SQLite needs further files next to it."""
    path = tmp_path / "agents.db"
    make_store(path)
    path.chmod(0o444)
    tmp_path.chmod(0o555)
    with unprivileged(), pytest.raises(StoreError, match=r"make the file.* and the directory writ"):
        open_store(path)
    tmp_path.chmod(0o777)
    with unprivileged():
        assert open_store(path).agents() == ["agent"]


def test_a_file_without_rights(tmp_path: Path) -> None:
    path = tmp_path / "agents.db"
    make_store(path)
    path.chmod(0o000)
    tmp_path.chmod(0o555)
    with unprivileged():
        for place in (path, tmp_path / "new.db"):
            with pytest.raises(StoreError, match="its files cannot be opened"):
                open_store(place)
    tmp_path.chmod(0o777)
