"""Tests of service/server.py under faults: what was acknowledged is stored once, nothing twice.

Clients repeat a request with the same key until it is answered, as docs/service.md recommends.
During this, worker processes are killed with SIGKILL, or the database is stopped.
"""

from __future__ import annotations

import os
import random
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
import pytest
from helpers.postgres import PostgresServer
from helpers.service import ServiceProcess, wait_for

from graphbandits import Agent

ARMS = ["ann", "bob", "eve", "joe"]
CLIENTS = 4
#: Seconds between two attempts. A program would wait for the seconds of Retry-After.
PAUSE = 0.05
PATH = "/agents/banner"


@dataclass
class Clients:
    """Threads that decide and report outcomes until they are stopped."""

    url: str
    stop: threading.Event = field(default_factory=threading.Event)
    decisions: list[str] = field(default_factory=list)
    outcomes: dict[tuple[str, str], float] = field(default_factory=dict)
    successes: int = 0
    failures: Counter[str] = field(default_factory=Counter)
    errors: list[BaseException] = field(default_factory=list)

    def __enter__(self) -> Clients:
        self.threads = [threading.Thread(target=self.work, args=(n,)) for n in range(CLIENTS)]
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop.set()
        for thread in self.threads:
            thread.join(120)
            assert not thread.is_alive()

    def work(self, number: int) -> None:
        rng = random.Random(number)
        try:
            with httpx.Client(base_url=self.url, timeout=30) as client:
                while not self.stop.is_set():
                    made = self.post(client, "decisions", {"n": rng.randint(1, 2)})["decisions"]
                    self.decisions += [one["id"] for one in made]
                    for partial in (True, False):
                        given = {
                            one["id"]: {arm: rng.randint(0, 1) for arm in ARMS[2 * partial :][:2]}
                            for one in made
                        }
                        body = {"outcomes": given, "extra": True, "partial": partial}
                        assert self.post(client, "outcomes", body) == {"accepted": len(made)}
                        for id_, rewards in given.items():
                            for arm, reward in rewards.items():
                                self.outcomes[id_, arm] = reward
        except BaseException as error:
            self.errors.append(error)

    def post(self, client: httpx.Client, path: str, body: dict[str, Any]) -> Any:
        """Send a request again and again, until it is answered."""
        key = uuid4().hex
        while True:
            try:
                response = client.post(
                    f"{PATH}/{path}", json=body, headers={"Idempotency-Key": key}
                )
                reason = str(response.status_code)
            except httpx.TransportError as error:
                response, reason = None, type(error).__name__
            if response is not None and response.status_code == 200:
                self.successes += 1
                return response.json()
            if response is not None and response.status_code == 500:
                reason = response.json()["error"]["type"]
                assert reason == "uncertain", response.text
            elif response is not None:
                assert response.status_code == 503, response.text
                assert response.headers["retry-after"] == "2"
            self.failures[reason] += 1
            time.sleep(PAUSE)

    def goes_on(self, count: int) -> None:
        """Wait for so many more acknowledged requests."""
        wanted = self.successes + count
        wait_for(lambda: self.errors or self.successes >= wanted, 60, "more successes")
        assert self.errors == []


def check(store: str, clients: Clients) -> None:
    """Compare the journal with what was acknowledged: all requests were answered at last."""
    assert clients.errors == []
    agent = Agent(store=store, name="banner")
    history = agent.history()
    made = [one["decision"] for one in history if one["kind"] == "decide"]
    assert len(made) == len(set(made))
    assert sorted(made) == sorted(clients.decisions)
    numbers = sorted(int(id_.partition("-")[0]) for id_ in made)
    assert numbers == list(range(1, len(made) + 1))
    found: dict[tuple[str, str], float] = {}
    for line in history:
        for arm, reward in line.get("outcomes", {}).items() if line["kind"] == "observe" else ():
            assert (line["decision"], arm) not in found, "an outcome was stored twice"
            found[line["decision"], arm] = reward
    assert found == clients.outcomes
    assert agent.status()["outcomes"] == len(found)
    successes = sum(agent.state["a"].values()) - len(ARMS)
    assert successes == sum(found.values())
    assert agent.verify() == len(history)


def run(
    place: Path, store: str, fault: Callable[[ServiceProcess, int], object], count: int
) -> Clients:
    """Use a service with two workers during faults."""
    Agent("ts-n", ARMS, "star", seed=1, store=store, name="banner").disconnect()
    with ServiceProcess(place, store, "--workers", 2, "--rate", 0) as service:
        with Clients(service.url) as clients:
            clients.goes_on(20)
            for number in range(count):
                wait_for(lambda: len(service.workers()) == 2, 60, "two workers")
                clients.goes_on(10)
                fault(service, number)
                clients.goes_on(10)
        wait_for(lambda: len(service.workers()) == 2, 60, "two workers")
        assert service.stop() == 0
        assert "Traceback" not in service.output()
    check(store, clients)
    return clients


# --- killed workers -----------------------------------------------------------------------------


def kill(service: ServiceProcess, number: int) -> None:
    """Kill one worker; each fifth time both, so that nothing answers for a while."""
    workers = service.workers()
    random.Random(number).shuffle(workers)
    for pid in workers if number % 5 == 4 else workers[:1]:
        os.kill(pid, signal.SIGKILL)


def kill_workers(place: Path, store: str, kills: int) -> None:
    clients = run(place, store, kill, kills)
    assert clients.failures.keys() <= {
        "ReadError",
        "RemoteProtocolError",
        "ConnectError",
        "WriteError",
    }
    assert clients.failures


def test_nothing_is_lost_or_doubled_when_workers_are_killed(tmp_path: Path) -> None:
    kill_workers(tmp_path, str(tmp_path / "agents.db"), 5)


@pytest.mark.nightly
@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_fifty_kills(tmp_path: Path, kind: str, request: pytest.FixtureRequest) -> None:
    store = str(tmp_path / "agents.db")
    if kind == "postgres":
        store = request.getfixturevalue("postgres").new_address()
    kill_workers(tmp_path, store, 50)


# --- a database that stops ----------------------------------------------------------------------


def stop_postgres(place: Path, postgres: PostgresServer, stops: int) -> None:
    def restart(service: ServiceProcess, number: int) -> None:
        postgres.stop()
        time.sleep(0.2 * (1 + number % 3))
        postgres.start()

    clients = run(place, postgres.new_address(), restart, stops)
    assert clients.failures["503"] > 0
    # the answer to a commit may be lost
    assert clients.failures.keys() <= {"503", "uncertain"}


@pytest.mark.nightly
def test_thirty_stops_of_postgres(tmp_path: Path, postgres: PostgresServer) -> None:
    stop_postgres(tmp_path, postgres, 30)
