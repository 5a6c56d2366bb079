"""Tests of live/store.py: several processes, killed processes, full disks and read-only files."""

from __future__ import annotations

import os
import random
import signal
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

pytestmark = [
    pytest.mark.process,
    # libraries start threads; Python 3.12 warns of a fork then
    pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning"),
]

#: Appends entries without end, and prints the number of each one after its commit.
WRITER = """
import sys
from graphbandits.live.journal import Entry
from graphbandits.live.store import open_store
journal = open_store(sys.argv[1], must_exist=True).journal("agent")
count = 0
while True:
    with journal.write() as last:
        body = {"writer": sys.argv[2], "count": count}
        journal.append([Entry(last + 1, 0.5, "tick", None, body)])
    count += 1
    print(last + 1, flush=True)
"""


def entry(number: int, **body: object) -> Entry:
    return Entry(number, 0.0, "tick", None, body)


@pytest.mark.parametrize("seed", range(3))
def test_acknowledged_entries_survive_a_kill_of_both_writers(store_url: str, seed: int) -> None:
    store = open_store(store_url)
    with store.create("agent"):
        pass
    command = [sys.executable, "-c", WRITER, store_url]
    writers = [
        subprocess.Popen([*command, name], stdout=subprocess.PIPE, text=True) for name in "ab"
    ]
    acknowledged = list[list[int]]()
    try:
        for writer in writers:
            assert writer.stdout
            writer.stdout.readline()  # both are at work
        time.sleep(random.Random(seed).uniform(0.0, 0.3))
    finally:
        for writer in writers:
            writer.send_signal(signal.SIGKILL)
    for writer in writers:
        lines = writer.communicate()[0].splitlines(keepends=True)
        acknowledged.append([int(line) for line in lines if line.endswith("\n")])

    for again in (store, open_store(store_url, must_exist=True)):
        journal = again.journal("agent")
        with journal.write() as last:  # no lock is left
            pass
        entries = list(journal.entries())
        assert [one.number for one in entries] == list(range(1, last + 1))
        for name, numbers in zip("ab", acknowledged, strict=True):
            own = [one for one in entries if one.body["writer"] == name]
            # the first line was read above; one entry may have been stored and not acknowledged
            assert [one.number for one in own][1 : 1 + len(numbers)] == numbers
            assert len(numbers) + 1 <= len(own) <= len(numbers) + 2
            assert [one.body["count"] for one in own] == list(range(len(own)))
        again.close()


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


def test_processes_that_write_together_lose_nothing(store_url: str) -> None:
    with open_store(store_url) as store, store.create("agent") as journal:
        pass

    def work(number: int) -> None:
        for count in range(50):
            with journal.write() as last:
                journal.append([entry(last + 1, writer=number, count=count)])
            if count % 10 == 0:
                with journal.write() as last:
                    journal.put_object(bytes(number % 2))
                    journal.put_object(bytes(1 - number % 2))
                    journal.add_snapshot(Snapshot(last, b"state"))

    in_children(4, work)
    entries = list(journal.entries())
    assert [one.number for one in entries] == list(range(1, 201))
    for number in range(4):
        own = [one.body["count"] for one in entries if one.body["writer"] == number]
        assert own == list(range(50))


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


def test_a_fork_inside_of_a_transaction_leaves_it_to_the_parent(store_url: str) -> None:
    store = open_store(store_url)
    with store.create("agent") as journal:
        pass
    with journal.write():
        journal.append([entry(1)])

        def work(_: int) -> None:
            with pytest.raises(StoreError, match="in the process that began it"):
                journal.append([entry(2)])

        in_children(1, work)
        journal.append([entry(2)])
    assert journal.last() == 2


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


FULL = """
import resource, sys
from graphbandits.errors import StoreError
from graphbandits.live.journal import Entry, Snapshot
from graphbandits.live.store import open_store
store = open_store(sys.argv[1])
with store.create("agent") as journal:
    journal.append([Entry(1, 0.0, "a", None, {})])
resource.setrlimit(resource.RLIMIT_FSIZE, (2**18, resource.RLIM_INFINITY))
for attempt in range(2):
    try:
        with journal.write() as last:
            journal.append([Entry(last + 1, 0.0, "a", None, {}, bytes(2**19))])
    except StoreError as error:
        print(error)
    assert journal.last() == 1
    assert journal.newest_snapshot() is None
with journal.write() as last:  # a small one has room
    journal.append([Entry(last + 1, 0.0, "a", None, {})])
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY,) * 2)
with journal.write() as last:
    journal.append([Entry(last + 1, 0.0, "a", None, {}, bytes(2**19))])
assert [len(one.data or b"") for one in journal.entries()] == [0, 0, 2**19]
"""


def test_a_full_disk_is_an_error_and_the_store_continues_after_it(tmp_path: Path) -> None:
    command = [sys.executable, "-c", FULL, str(tmp_path / "agents.db")]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    [line, again] = done.stdout.splitlines()
    assert line == again
    assert line.startswith(f"cannot use {tmp_path}/agents.db: ")
    assert "free space" in line


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
