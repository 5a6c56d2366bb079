"""Tests of service/server.py: start, several workers, overload, databases that go away, the end."""

from __future__ import annotations

import resource
import signal
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest
from helpers.service import ServiceProcess, wait_for

from graphbandits import Agent
from graphbandits.live.store import open_store
from graphbandits.service.tokens import add_token, revoke_token

pytestmark = pytest.mark.process

ARMS = ["ann", "bob", "eve"]


@pytest.fixture
def stored(store_url: str) -> str:
    """A store with an agent, in each kind of database."""
    Agent("ids-n", ARMS, "complete", seed=1, store=store_url).disconnect()
    return store_url


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A file with an agent."""
    found = tmp_path / "agents.db"
    Agent("ids-n", ARMS, "complete", seed=1, store=found).disconnect()
    return found


def decide(client: httpx.Client, **options: Any) -> httpx.Response:
    return client.post("/agents/default/decisions", json={}, **options)


def threads_of(process: int) -> int:
    status = Path(f"/proc/{process}/status").read_text()
    return int(status.split("Threads:")[1].split()[0])


def test_workers_act_as_one_agent(stored: str, tmp_path: Path) -> None:
    with ServiceProcess(tmp_path, stored, "--workers", 2, "--rate", 0) as service:
        wait_for(lambda: len(service.workers()) == 2, 60, "two workers")

        def work(seed: int) -> list[str]:
            found = []
            for _ in range(15):  # a connection of its own reaches any worker
                with httpx.Client(base_url=service.url, timeout=60.0) as client:
                    made = decide(client).json()["decisions"][0]
                    outcomes = {made["id"]: dict.fromkeys(made["reveals"], seed % 2)}
                    done = client.post("/agents/default/outcomes", json={"outcomes": outcomes})
                    assert done.json() == {"accepted": 1}
                    found.append(made["id"])
            return found

        with ThreadPoolExecutor(4) as pool:
            ids = [id_ for found in pool.map(work, range(4)) for id_ in found]
        numbers = sorted(int(id_.partition("-")[0]) for id_ in ids)
        assert numbers == list(range(1, 61))
        metrics = service.client().get("/metrics").text
        assert 'graphbandits_outcomes_total{agent="default"} 180' in metrics
        assert service.stop() == 0
    agent = Agent(store=stored)
    agent.verify()
    assert agent.state["a"]["ann"] == 31.0


@pytest.mark.parametrize("workers", [1, 2])
def test_sigterm_finishes_requests_and_ends_streams(place: Path, workers: int) -> None:
    with ServiceProcess(place.parent, place, "--workers", workers) as service:
        client, ended = service.client(), threading.Event()
        events: list[str] = []

        def listen() -> None:
            url = f"{service.url}/agents/default/stream"
            with httpx.stream("GET", url, timeout=60.0) as answer:
                for line in answer.iter_lines():
                    events.append(line)
            ended.set()

        thread = threading.Thread(target=listen)
        thread.start()
        wait_for(lambda: "event: status" in events, 20, "the begin of the stream")
        assert decide(client).status_code == 200
        wait_for(lambda: "event: entry" in events, 20, "an event")
        found: list[httpx.Response] = []
        body = b'{"outcomes": {' + b" " * 300_000

        def slow() -> Any:
            yield body
            service.process.send_signal(signal.SIGTERM)
            time.sleep(1.0)
            yield b'"ann": 1}}'

        header = {"Content-Type": "application/json"}
        url = "/agents/default/learn"
        found.append(client.post(url, content=slow(), headers=header))
        assert (found[0].status_code, found[0].json()) == (200, {"learned": 1})
        assert ended.wait(20)
        thread.join()
        code = service.process.wait(30)
        assert code in (0, -signal.SIGTERM)
        assert "Traceback" not in service.output()
    assert Agent(store=place).state["a"]["ann"] == 2.0


def test_a_database_that_goes_away_and_comes_back(place: Path) -> None:
    with ServiceProcess(place.parent, place) as service:
        client = service.client()
        first = decide(client).json()["decisions"][0]["id"]
        files = list(place.parent.glob("agents.db*"))
        for file in files:
            file.rename(file.with_name("moved-" + file.name))
        for answer in (decide(client), client.get("/health"), client.get("/agents")):
            assert answer.status_code == 503, answer.text
            assert answer.json()["error"]["type"] == "unavailable"
            assert int(answer.headers["Retry-After"]) > 0
        for file in files:
            file.with_name("moved-" + file.name).rename(file)
        assert client.get("/health").json()["status"] == "ok"
        assert decide(client).json()["decisions"][0]["id"].startswith("2-")
        assert client.get(f"/agents/default/decisions/{first}").status_code == 200


def test_tokens_decide_who_may_do_what(place: Path) -> None:
    with open_store(place) as store:
        texts = {role: add_token(store, role)[0] for role in ("read", "decide", "admin")}
        old, expired = add_token(store, "admin", expires=1.0, clock=lambda: 0.0)
        _, revoked = texts_of_revoked(store)
    with ServiceProcess(place.parent, place, "--host", "127.0.0.1") as service:
        client = service.client()

        def status(token: str | None, path: str, body: dict[str, Any] | None = None) -> int:
            headers = {} if token is None else {"Authorization": f"Bearer {token}"}
            method = "GET" if body is None else "POST"
            return client.request(method, path, json=body, headers=headers).status_code

        pause = {"op": "pause", "arms": ["bob"]}
        for wrong in (None, "x", "gb_00000000_" + "0" * 64, old, revoked, texts["read"][:-1] + "x"):
            assert status(wrong, "/agents") == 401
        expected = {"read": (200, 403, 403), "decide": (200, 200, 403), "admin": (200, 200, 200)}
        for role, token in texts.items():
            found = (
                status(token, "/agents/default"),
                status(token, "/agents/default/decisions", {}),
                status(token, "/agents/default/events", pause),
            )
            assert found == expected[role]
        with open_store(place) as store:
            revoke_token(store, texts["admin"])
        wait_for(lambda: status(texts["admin"], "/agents") == 401, 5, "the end of the token")
        assert all(text not in service.output() for text in (*texts.values(), old))
    assert expired.role == "admin"


def texts_of_revoked(store: Any) -> tuple[str, str]:
    """Create a token and revoke it; return its id and its text."""
    text, token = add_token(store, "admin")
    revoke_token(store, token.id)
    return token.id, text


def test_two_thousand_connections(place: Path) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < 5000:
        pytest.skip("this account may not open so many connections")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, 5000), hard))
    request = b"GET /agents HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
    try:
        with ServiceProcess(place.parent, place, "--rate", 0) as service:
            before = threads_of(service.process.pid)
            sockets = []
            for _ in range(2000):
                one = socket.create_connection(("127.0.0.1", service.port), timeout=60)
                sockets.append(one)
            answers = []
            for one in sockets:
                one.sendall(request)
            for one in sockets:
                try:
                    answers.append(one.recv(4096).split(b" ")[1] if one else b"")
                except (OSError, IndexError):
                    answers.append(b"closed")
                one.close()
            counts = {status: answers.count(status) for status in set(answers)}
            assert set(counts) <= {b"200", b"503", b"closed"}, counts
            assert counts.get(b"200", 0) >= 500, counts
            with service.client() as client:
                wait_for(lambda: client.get("/health").status_code == 200, 30, "a normal answer")
            assert decide(service.client()).status_code == 200
            assert threads_of(service.process.pid) <= before + 50
            assert "Traceback" not in service.output()
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_bodies_that_are_too_large_or_never_end(place: Path) -> None:
    with ServiceProcess(place.parent, place, "--body", 10_000) as service:
        client = service.client()
        large = client.post("/agents/default/learn", json={"outcomes": {"x" * 10_000: 1}})
        assert (large.status_code, large.json()["error"]["type"]) == (413, "too_large")
        start = b"POST /agents/default/learn HTTP/1.1\r\nHost: localhost\r\n"
        start += b"Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{"
        with socket.create_connection(("127.0.0.1", service.port), timeout=60) as slow:
            slow.sendall(start)
            began = time.monotonic()
            assert slow.recv(100).startswith(b"HTTP/1.1 408 ")
            assert time.monotonic() - began > 5
        for _ in range(20):  # half a request, and gone
            with socket.create_connection(("127.0.0.1", service.port), timeout=60) as gone:
                gone.sendall(start)
        assert decide(client).status_code == 200
        assert service.stop() in (0, -signal.SIGTERM)
        assert "Traceback" not in service.output()


def test_the_page_of_the_api_loads_nothing_from_elsewhere(place: Path) -> None:
    with ServiceProcess(place.parent, place) as service:
        client = service.client()
        page = client.get("/docs").text
        for path in ("/static/docs/swagger-ui-bundle.js", "/static/docs/swagger-ui.css"):
            assert path in page
            assert client.get(path).status_code == 200
        assert "http" not in page
        assert client.get("/openapi.json").json()["info"]["title"] == "graphbandits"
