"""Tests of service/routes.py: lost answers of the database, agents that cannot be loaded."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from graphbandits import Agent, Client
from graphbandits.errors import UncertainError
from graphbandits.live import _database
from graphbandits.live.store import open_store
from graphbandits.service.app import create_app
from graphbandits.service.server import Settings

ARMS = ["ann", "bob", "eve"]


@pytest.fixture
def place(tmp_path: Path) -> str:
    """A store with an agent."""
    found = str(tmp_path / "agents.db")
    Agent("ids-n", ARMS, "complete", seed=1, store=found).disconnect()
    return found


@pytest.fixture
def client(place: str) -> Iterator[TestClient]:
    with TestClient(create_app(Settings(place)), "http://localhost") as opened:
        yield opened


@pytest.fixture
def lost(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Let the answer to the next commit be lost: it is carried out, and ends with an error."""
    waiting = ["COMMIT"]
    before = _database.SQLite.execute

    def execute(self: Any, raw: Any, sql: str, values: Any) -> Any:
        found = before(self, raw, sql, values)
        if sql in waiting:
            waiting.remove(sql)
            raise _database.sqlite3.OperationalError("the connection was lost")
        return found

    monkeypatch.setattr(_database.SQLite, "execute", execute)
    return waiting


def status(client: TestClient) -> dict[str, Any]:
    found: dict[str, Any] = client.get("/agents/default").json()["agent"]
    return found


def test_a_lost_answer_is_no_refusal(client: TestClient, lost: list[str]) -> None:
    answer = client.post("/agents/default/learn", json={"outcomes": {"ann": 1}})
    assert (answer.status_code, answer.json()["error"]["type"]) == (500, "uncertain")
    assert "may have been stored" in answer.json()["error"]["message"]
    assert "retry-after" not in answer.headers
    assert status(client)["learned"] == 1


def test_the_client_does_not_repeat_what_counts_twice(client: TestClient, lost: list[str]) -> None:
    agent = Client(service=client)
    with pytest.raises(UncertainError, match="may have been stored"):
        agent.learn({"ann": 1})
    assert (lost, status(client)["learned"]) == ([], 1)


def test_the_client_repeats_what_counts_once(client: TestClient, lost: list[str]) -> None:
    agent = Client(service=client)
    made = agent.decide()
    assert (lost, made.number, status(client)["decisions"]) == ([], 1, 1)
    lost.append("COMMIT")
    agent.observe(made, {"ann": 1})
    assert (lost, status(client)["outcomes"]) == ([], 1)


def test_a_key_that_would_be_ignored_is_refused(client: TestClient) -> None:
    for path, body in [
        ("/agents", {"name": "new", "policy": "ts-n", "arms": 2}),
        ("/agents/default/learn", {"outcomes": {"ann": 1}}),
        ("/agents/default/events", {"op": "reset"}),
    ]:
        before = status(client)
        answer = client.post(path, json=body, headers={"Idempotency-Key": "k"})
        assert (answer.status_code, answer.json()["error"]["type"]) == (422, "invalid")
        assert "does not accept the header Idempotency-Key: " in answer.json()["error"]["message"]
        assert status(client) == before
        assert len(client.get("/agents").json()["agents"]) == 1


def test_an_agent_that_cannot_be_loaded_does_not_hide_others(place: str) -> None:
    Agent("ts-n", ARMS, seed=1, store=place, name="broken").disconnect()
    with open_store(place) as store, store._connection() as connection:
        damaged = "UPDATE graphbandits_snapshots SET data = ? WHERE agent = 2"
        assert connection.run(damaged, (b"x",)) == 1
    with TestClient(create_app(Settings(place)), "http://localhost") as client:
        found = client.get("/agents").json()
        assert [one["name"] for one in found["agents"]] == ["default"]
        [failed] = found["failed"]
        assert failed["name"] == "broken"
        assert "cannot load the agent 'broken'" in failed["message"]
        metrics = client.get("/metrics").text
        assert 'graphbandits_agent_up{agent="default"} 1' in metrics
        assert 'graphbandits_agent_up{agent="broken"} 0' in metrics
        assert 'graphbandits_decisions_total{agent="default"} 0' in metrics


def test_health_uses_few_threads(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    service = client.app.state.service  # type: ignore[attr-defined]
    running, most, lock = 0, 0, threading.Lock()
    names = service.agents.names

    def slow() -> list[str]:
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        asyncio.run(asyncio.sleep(0.02))
        with lock:
            running -= 1
        return list(names())

    monkeypatch.setattr(service.agents, "names", slow)
    threads = [threading.Thread(target=client.get, args=("/health",)) for _ in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most <= 2
