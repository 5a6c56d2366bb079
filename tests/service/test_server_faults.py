"""Tests of service/server.py: workers and databases that end while clients work."""

from __future__ import annotations

import os
import random
import signal
import statistics
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from helpers.postgres import PostgresServer
from helpers.service import ServiceProcess, wait_for

from graphbandits import Agent, Client

pytestmark = pytest.mark.process

ARMS = ["ann", "bob", "eve", "joe"]
CLIENTS = 3


class Crowd:
    """Threads that decide and report outcomes through a service, and note what was acknowledged."""

    def __init__(self, url: str) -> None:
        self.decided: list[str] = []
        self.observed: dict[str, dict[str, int]] = {}
        self.errors: list[BaseException] = []
        self.last_success = time.monotonic()
        self._url = url
        self._ended = threading.Event()
        self._threads = [threading.Thread(target=self._work, args=(i,)) for i in range(CLIENTS)]

    def __enter__(self) -> Crowd:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        for thread in self._threads:
            thread.join(120)

    def _work(self, seed: int) -> None:
        rng = random.Random(seed)
        try:
            with Client(service=self._url, timeout=60.0) as agent:
                while not self._ended.is_set():
                    made = agent.decide()
                    self.decided.append(made.id)
                    outcomes = {arm: rng.randint(0, 1) for arm in made.reveals}
                    agent.observe(made, outcomes)
                    self.observed[made.id] = outcomes
                    self.last_success = time.monotonic()
        except BaseException as error:
            self.errors.append(error)

    def recovery(self, since: float) -> float:
        """Wait for the next success after a time, and return how long it took."""
        wait_for(lambda: self.last_success > since or self.errors, 60, "a success after a fault")
        assert not self.errors, self.errors
        return self.last_success - since


def check(store: str, crowd: Crowd) -> None:
    """Check that everything that was acknowledged is in the journal, once."""
    assert not crowd.errors, crowd.errors
    agent = Agent(store=store)
    agent.verify()
    made = [one for one in agent.history() if one["kind"] == "decide"]
    ids = [one["decision"] for one in made]
    assert len(crowd.decided) == len(set(crowd.decided))
    # every client has ended after an answer: none was made that it does not know
    assert sorted(ids) == sorted(crowd.decided)
    assert [int(id_.partition("-")[0]) for id_ in ids] == list(range(1, len(ids) + 1))
    rows = {row["id"]: row for row in agent.decisions(len(ids))}
    assert {id_: row["outcomes"] for id_, row in rows.items()} == crowd.observed
    seen = [id_ for one in agent.history() if one["kind"] == "observe" for id_ in [one["decision"]]]
    assert len(seen) == len(set(seen)) == len(ids)
    assert agent.status()["outcomes"] == sum(map(len, crowd.observed.values()))
    agent.disconnect()


def kill_workers(tmp_path: Path, store: str, kills: int) -> list[float]:
    """Kill workers under load; return the times from a kill to the next success."""
    Agent("ids-n", ARMS, "complete", seed=1, store=store).disconnect()
    rng, times = random.Random(7), []
    with ServiceProcess(tmp_path, store, "--workers", 2, "--rate", 0) as service:
        wait_for(lambda: len(service.workers()) == 2, 60, "two workers")
        with Crowd(service.url) as crowd:
            for _ in range(kills):
                time.sleep(rng.uniform(0.1, 0.6))
                before = service.workers()
                killed = rng.choice(before)
                os.kill(killed, signal.SIGKILL)
                times.append(crowd.recovery(time.monotonic()))
                left = set(before) - {killed}
                wait_for(lambda old=left: len(set(service.workers()) - old) == 1, 60, "a worker")
        check(store, crowd)
        assert service.stop() == 0
        assert "Traceback" not in service.output()
    return times


@pytest.mark.parametrize("kills", [5, pytest.param(50, marks=pytest.mark.slow)])
def test_killed_workers_lose_and_double_nothing(
    tmp_path: Path, store_url: str, kills: int, record_property: Callable[[str, object], None]
) -> None:
    times = kill_workers(tmp_path, store_url, kills)
    record_property("median recovery in seconds", statistics.median(times))
    assert len(times) == kills


@pytest.mark.parametrize("stops", [2, pytest.param(20, marks=pytest.mark.slow)])
def test_a_database_that_stops_loses_and_doubles_nothing(
    tmp_path: Path, stops: int, record_property: Callable[[str, object], None]
) -> None:
    server = PostgresServer()
    try:
        store = server.new_address()
        Agent("ids-n", ARMS, "complete", seed=1, store=store).disconnect()
        times = []
        with (
            ServiceProcess(tmp_path, store, "--workers", 2, "--rate", 0) as service,
            Crowd(service.url) as crowd,
        ):
            for _ in range(stops):
                time.sleep(0.5)
                server.stop()
                health = service.client().get("/health")
                assert (health.status_code, health.json()["error"]["type"]) == (503, "unavailable")
                assert health.headers["retry-after"]
                server.start()
                times.append(crowd.recovery(time.monotonic()))
            with suppress(AssertionError):
                wait_for(lambda: len(crowd.decided) > 20, 10)
        check(store, crowd)
        record_property("median recovery in seconds", statistics.median(times))
    finally:
        server.remove()
