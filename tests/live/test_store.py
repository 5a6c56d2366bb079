"""Tests of live/store.py: journals of agents in a database."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import time

import pytest

from graphbandits.live.store import open_store

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


@pytest.mark.process
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
        entries = list(journal.entries())
        assert [entry.number for entry in entries] == list(range(1, journal.last() + 1))
        for name, numbers in zip("ab", acknowledged, strict=True):
            own = [entry for entry in entries if entry.body["writer"] == name]
            # the first line was read above; one entry may have been stored and not acknowledged
            assert [entry.number for entry in own][1 : 1 + len(numbers)] == numbers
            assert len(numbers) + 1 <= len(own) <= len(numbers) + 2
            assert [entry.body["count"] for entry in own] == list(range(len(own)))
        with journal.write() as last:  # no lock is left
            assert last == len(entries)
        again.close()
