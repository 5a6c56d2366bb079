"""Tests of service/server.py: real processes that start, share a store, fail, and end."""

from __future__ import annotations

import asyncio
import json
import os
import resource
import signal
import socket
import sqlite3
import threading
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import httpx
import pytest
import uvicorn
from helpers.command_line import command
from helpers.plugin_command_line import MINE
from helpers.postgres import PostgresServer
from helpers.service import ServiceProcess, children, free_port, run_async, wait_for

from graphbandits import Agent
from graphbandits.errors import InputError
from graphbandits.live.store import open_store
from graphbandits.service import server
from graphbandits.service.access import add_token, revoke_token
from graphbandits.service.server import HttpConnection, Settings, check_settings

NAMES = ["ann", "bob", "eve"]


def create(store: str | Path, name: str = "banner") -> None:
    Agent("ids-n", NAMES, "star", seed=1, store=store, name=name).disconnect()


def check_log(service: ServiceProcess) -> str:
    """Check that nothing went wrong, and return what the service has written."""
    output = service.output()
    assert "Traceback" not in output
    assert "internal error" not in output
    return output


# --- one process --------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("service")
    create(place / "agents.db")
    return place


@pytest.fixture(scope="module")
def service(place: Path) -> Iterator[ServiceProcess]:
    """A service that several tests use; its end is a test, too."""
    limits = {"body_seconds": 1.0, "body_bytes": 10_000, "rate": 0.0, "connections": 1000}
    with ServiceProcess(place, place / "agents.db", settings=limits) as started:
        yield started
        assert started.stop() == 0
        check_log(started)


def test_events_arrive_at_once_and_streams_leave_nothing_behind(service: ServiceProcess) -> None:
    client = service.client()
    client.get("/health")
    before = service.sockets()
    with ExitStack() as opened:
        streams = [
            opened.enter_context(client.stream("GET", "/agents/banner/stream")) for _ in range(30)
        ]
        lines = [one.iter_lines() for one in streams]
        for one in lines:
            assert next(one) == "retry: 2000"
        for one in lines:
            assert next(line for line in one if line) == "event: status"
        assert service.sockets() >= before + 29
        began = time.monotonic()
        made = client.post("/agents/banner/decisions", json={}).json()["decisions"][0]
        for one in lines:
            data = [line for _, line in zip(range(7), one, strict=False) if "decide" in line]
            assert made["id"] in data[0]
        assert time.monotonic() - began < 10
        for one in streams[:10]:
            one.close()
        response = client.get("/agents/banner", timeout=20)
        assert response.status_code == 200
    client.close()
    wait_for(lambda: service.sockets() <= before, what="closed streams")
    assert service.threads() < 60


def sent(service: ServiceProcess, data: bytes, seconds: float = 10.0) -> bytes:
    """Send bytes, and return everything that comes until the connection is closed."""
    with socket.create_connection(("127.0.0.1", service.port), seconds) as connection:
        connection.sendall(data)
        found = b""
        while part := connection.recv(65536):
            found += part
        return found


def parsed(answer: bytes) -> tuple[int, dict[str, str], Any]:
    """Return status, headers and JSON body of an answer."""
    head, _, body = answer.partition(b"\r\n\r\n")
    first, *lines = head.decode().split("\r\n")
    headers = dict(line.lower().split(": ", 1) for line in lines)
    return int(first.split()[1]), headers, json.loads(body)


START = b"POST /agents/banner/decisions HTTP/1.1\r\nHost: localhost\r\n"
JSON = b"Content-Type: application/json\r\n"


def test_slow_large_and_broken_requests_leave_nothing_behind(service: ServiceProcess) -> None:
    client = service.client()
    client.get("/health")
    before = service.sockets()
    requests: list[tuple[bytes, int, str]] = [
        (START + JSON + b"Content-Length: 10\r\n\r\n{", 408, "timeout"),
        (START + JSON + b"Transfer-Encoding: chunked\r\n\r\n1\r\n{\r\n", 408, "timeout"),
        (START + JSON + b"Content-Length: 10001\r\n\r\n{", 413, "too_large"),
        (START + JSON + b"Content-Length: " + b"9" * 15 + b"\r\n\r\n{", 413, "too_large"),
        (
            START
            + JSON
            + b"Transfer-Encoding: chunked\r\n\r\n"
            + 3 * (b"1000\r\n" + b" " * 4096 + b"\r\n"),
            413,
            "too_large",
        ),
    ]
    with ThreadPoolExecutor(len(requests)) as threads:
        answers = list(threads.map(lambda one: sent(service, one[0]), requests))
    for (data, status, kind), answer in zip(requests, answers, strict=True):
        found, headers, body = parsed(answer)
        assert (found, body["error"]["type"]) == (status, kind), data[:200]
        assert headers["connection"] == "close"
        assert headers["content-type"] == "application/json"
        assert int(headers["content-length"]) == len(answer.partition(b"\r\n\r\n")[2])
    # half-sent requests, and clients that leave
    for data in (
        b"",
        b"G",
        START,
        START + JSON + b"Content-Length: 10\r\n\r\n{",
        b"GET /agents/banner/stream HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"GET /agents/banner/log HTTP/1.1\r\nHost: localhost\r\n\r\n" * 3,
    ):
        with socket.create_connection(("127.0.0.1", service.port)) as connection:
            connection.sendall(data)
            time.sleep(0.05)
    wait_for(lambda: service.sockets() <= before, what="closed connections")
    assert service.threads() < 60
    assert client.post("/agents/banner/decisions", json={}).status_code == 200


@pytest.mark.nightly
def test_2000_connections_at_once(service: ServiceProcess) -> None:
    """Each one is answered or closed, and afterwards the service is as before."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = 2500
    if hard != resource.RLIM_INFINITY and hard < wanted:
        pytest.skip(f"at most {hard} files may be open")
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
    client = service.client()
    client.get("/health")
    before = service.sockets()
    request = b"GET /agents/banner HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
    found = Counter[str]()

    async def ask(all_open: asyncio.Event) -> None:
        try:
            reader, writer = await asyncio.open_connection("127.0.0.1", service.port)
        except OSError:
            found["refused"] += 1
            return
        found["open"] += 1
        await all_open.wait()
        try:
            writer.write(request)
            answer = await reader.read(-1)
        except OSError:
            answer = b""
        found[answer.split(b" ")[1].decode() if answer else "closed"] += 1
        if answer:
            parsed(answer)
        with suppress(OSError):
            writer.close()
            await writer.wait_closed()

    async def ask_all() -> None:
        all_open = asyncio.Event()
        tasks = [asyncio.create_task(ask(all_open)) for _ in range(2000)]
        while found["open"] + found["refused"] < 2000:
            await asyncio.sleep(0.05)
        all_open.set()
        async with asyncio.timeout(120):
            await asyncio.gather(*tasks)

    try:
        run_async(ask_all())
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    opened = found.pop("open")
    assert found["200"] > 500
    assert found["503"] > 500
    assert set(found) <= {"200", "503", "closed", "refused"}
    assert sum(found.values()) == opened + found["refused"] == 2000
    wait_for(lambda: service.sockets() <= before, what="closed connections")
    assert service.threads() < 60
    for _ in range(20):
        assert client.post("/agents/banner/decisions", json={}).status_code == 200


def test_a_signal_lets_requests_finish_and_ends_streams(tmp_path: Path) -> None:
    store = tmp_path / "agents.db"
    create(store)
    with ServiceProcess(tmp_path, store) as service, ExitStack() as opened:
        client = service.client()
        # another writer holds the lock of the file, so this request has to wait
        lock = sqlite3.connect(store, isolation_level=None)
        opened.callback(lock.close)
        lock.execute("BEGIN IMMEDIATE")
        streams = [
            opened.enter_context(client.stream("GET", "/agents/banner/stream")) for _ in range(3)
        ]
        lines = [one.iter_lines() for one in streams]
        for one in lines:
            assert next(one) == "retry: 2000"
        idle = opened.enter_context(socket.create_connection(("127.0.0.1", service.port)))
        with ThreadPoolExecutor(1) as threads:
            waiting = threads.submit(client.post, "/agents/banner/decisions", json={"n": 2})
            time.sleep(0.5)
            service.process.send_signal(signal.SIGTERM)
            for one in lines:
                list(one)  # the streams end, although the request does not
            assert service.process.poll() is None
            assert not waiting.done()
            with pytest.raises(httpx.TransportError):
                httpx.get(f"{service.url}/health")
            lock.execute("ROLLBACK")
            response = waiting.result(20)
        assert response.status_code == 200
        assert len(response.json()["decisions"]) == 2
        assert service.process.wait(20) == 0
        assert idle.recv(10) == b""
        lines_of_log = check_log(service).splitlines()
        assert len(lines_of_log) == 2
        assert lines_of_log[0].startswith("Serving the agents of")
    assert Agent(store=store, name="banner").verify() == 3


def test_a_service_for_other_machines_with_tokens_and_a_plugin(tmp_path: Path) -> None:
    store = tmp_path / "agents.db"
    create(store)
    (tmp_path / "mine.py").write_text(MINE)
    refused = command("serve", store, "--host", "0.0.0.0", "--port", free_port())
    assert refused.returncode == 2
    assert "needs tokens" in refused.stderr
    assert len(refused.stderr.splitlines()) == 1
    with open_store(store) as opened:
        token, _ = add_token(opened, "admin", name="boss")
    options = ("--plugin", "mine.py", "--workers", 2, "--access-log")
    # a relative path: worker processes must find the same file
    with ServiceProcess(tmp_path, "agents.db", *options, host="0.0.0.0") as service:
        client = service.client(headers={"Authorization": f"Bearer {token}"})
        body = {"name": "mine", "policy": "mine(c=0.25)", "arms": 3}
        for _ in range(10):
            client.cookies.clear()
            with httpx.Client(base_url=service.url, headers=client.headers, timeout=60) as other:
                assert other.post("/agents", json=body).status_code in (200, 201)
                response = other.post("/agents/mine/decisions", json={}, headers={"Host": "a.b"})
                assert response.status_code == 200
        assert httpx.get(f"{service.url}/agents").status_code == 401
        assert client.get("/whoami").json()["token"] == "boss"
        check_that_a_stream_ends_with_its_token(service, store)
        wait_for(lambda: "POST /agents/mine/decisions HTTP/1.1" in service.output())
        assert service.stop() == 0
        output = check_log(service)
        assert token not in output
        assert output.count('"POST /agents/mine/decisions HTTP/1.1" 200') == 10


def check_that_a_stream_ends_with_its_token(service: ServiceProcess, store: Path) -> None:
    with open_store(store) as opened:
        text, token = add_token(opened, "read", name="reader")
        client = service.client(headers={"Authorization": f"Bearer {text}"})
        with client.stream("GET", "/agents/banner/stream") as stream:
            lines = stream.iter_lines()
            assert next(lines) == "retry: 2000"
            began = time.monotonic()
            revoke_token(opened, token.id)
            assert "event: status" in list(lines)
            assert time.monotonic() - began < 20  # two seconds, on a machine that is not busy
        assert client.get("/agents/banner/stream").status_code == 401


# --- two processes ------------------------------------------------------------------------------


@pytest.fixture(scope="module", params=["sqlite", "postgres"])
def pair(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[ServiceProcess, str]]:
    """A service with two workers, and its store; its end is a test, too."""
    place = tmp_path_factory.mktemp("pair")
    store = str(place / "agents.db")
    if request.param == "postgres":
        server_: PostgresServer = request.getfixturevalue("postgres")
        store = server_.new_address()
    create(store)
    with ServiceProcess(place, store, "--workers", 2, "--rate", 0) as started:
        yield started, store
        workers = started.workers()
        assert len(workers) == 2
        with ExitStack() as opened:
            stream = started.client().stream("GET", "/agents/banner/stream")
            lines = opened.enter_context(stream).iter_lines()
            assert next(lines) == "retry: 2000"
            if request.param == "postgres":  # Ctrl-C is a signal to all processes
                for pid in workers:
                    os.kill(pid, signal.SIGINT)
                assert started.stop(signal.SIGINT) == 0
            else:
                assert started.stop() == 0
            list(lines)
        check_log(started)
        assert not [pid for pid in workers if Path(f"/proc/{pid}").exists()]


def test_a_killed_worker_is_replaced(pair: tuple[ServiceProcess, str]) -> None:
    service, store = pair
    wait_for(lambda: len(service.workers()) == 2, 60)
    before = service.workers()
    stop = threading.Event()
    statuses = Counter[object]()

    def ask() -> None:
        with httpx.Client(base_url=service.url, timeout=60) as client:
            while not stop.is_set():
                try:
                    statuses[client.post("/agents/banner/decisions", json={}).status_code] += 1
                except httpx.TransportError:
                    statuses["connection"] += 1

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    try:
        wait_for(lambda: statuses[200] > 10, 60)
        os.kill(before[0], signal.SIGKILL)
        answered = statuses[200]
        wait_for(lambda: statuses[200] > answered + 10, 60, "answers of the other worker")
        wait_for(lambda: len(service.workers()) == 2 and before[0] not in service.workers(), 60)
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    assert before[1] in service.workers()
    assert set(statuses) <= {200, "connection"}
    assert statuses["connection"] <= 4
    agent = Agent(store=store, name="banner")
    assert agent.verify()
    assert agent.status()["decisions"] >= statuses[200]


@pytest.mark.nightly
def test_postgres_is_stopped_and_started(
    pair: tuple[ServiceProcess, str], request: pytest.FixtureRequest
) -> None:
    service, store = pair
    if not store.startswith("postgresql://"):
        pytest.skip("another test moves the file of SQLite")
    postgres: PostgresServer = request.getfixturevalue("postgres")
    client = service.client()
    made = client.post("/agents/banner/decisions", json={}).json()["decisions"][0]
    body = {"outcomes": {made["id"]: {"ann": 1}}}
    postgres.stop()
    for turn in range(8):
        for response in (
            client.get("/health"),
            client.get("/agents/banner"),
            client.get("/agents/banner/stream"),
            client.post("/agents/banner/outcomes", json=body),
        ):
            assert response.status_code == 503
            assert response.headers["retry-after"] == "2"
            assert "s3cret" not in response.text
            assert response.json()["error"]["type"] == "unavailable"
        if turn == 0:
            assert "the database does not work" in client.get("/health").text
    postgres.start()
    wait_for(lambda: client.get("/health").status_code == 200)
    assert client.post("/agents/banner/outcomes", json=body).status_code == 200
    assert Agent(store=store, name="banner").verify()
    assert len(service.workers()) == 2
    assert "s3cret" not in service.output()
    assert "s3cret" not in " ".join(children(service.process.pid).values())


# --- connections --------------------------------------------------------------------------------


@pytest.fixture
def small() -> Iterator[int]:
    """The port of a server in this process with at most three connections."""

    async def app(scope: Any, receive: Any, send: Any) -> None:
        if scope["path"] == "/slow":
            await asyncio.sleep(0.5)
        headers = [(b"content-length", b"2")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": b"{}"})

    port = free_port()
    config = uvicorn.Config(
        app,
        port=port,
        http=HttpConnection,
        lifespan="off",
        log_level="critical",
        limit_concurrency=3,
        timeout_keep_alive=1,
    )
    running = uvicorn.Server(config)
    thread = threading.Thread(target=running.run)
    thread.start()
    wait_for(lambda: running.started)
    yield port
    running.should_exit = True
    thread.join(20)


GET = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"


def connect(port: int) -> socket.socket:
    return socket.create_connection(("127.0.0.1", port), 10)


def is_answered(connection: socket.socket, request: bytes = GET) -> bool:
    """Send a request, and read the whole answer."""
    connection.sendall(request)
    found = b""
    while not found.endswith(b"{}"):
        found += connection.recv(1000)
    return found.startswith(b"HTTP/1.1 200")


def test_connections_beyond_the_limit_are_refused_and_others_go_on(small: int) -> None:
    with ExitStack() as opened:
        first = [opened.enter_context(connect(small)) for _ in range(3)]
        assert all(map(is_answered, first))
        more = [opened.enter_context(connect(small)) for _ in range(2)]
        for one in more:
            one.sendall(GET)
            answer = b""
            while part := one.recv(1000):
                answer += part
            status, headers, body = parsed(answer)
            assert (status, headers["retry-after"], headers["connection"]) == (503, "2", "close")
            assert body["error"]["type"] == "unavailable"
        assert all(map(is_answered, first))  # they may ask again
    time.sleep(0.1)
    with connect(small) as one:
        assert is_answered(one)


def test_silent_connections_are_closed(small: int) -> None:
    with connect(small) as silent, connect(small) as asked, connect(small) as slow:
        assert is_answered(asked)
        time.sleep(0.7)
        assert is_answered(slow, GET.replace(b"/ ", b"/slow ", 1))  # the time ends with a request
        for one in (silent, asked, slow):
            assert one.recv(1000) == b""


# --- the start ----------------------------------------------------------------------------------


def test_settings_are_checked(tmp_path: Path) -> None:
    store = tmp_path / "agents.db"
    create(store)
    port = free_port()
    assert check_settings(Settings(str(store), port=port)) == str(store)
    for change in ({"workers": 0}, {"port": 0}, {"rate": -1.0}, {"rate": float("nan")}):
        with pytest.raises(InputError):
            check_settings(Settings(str(store), **({"port": port} | change)))  # type: ignore[arg-type]
    with pytest.raises(InputError, match="there is no store"):
        check_settings(Settings(str(tmp_path / "no.db"), port=port))
    assert sorted(one.name for one in tmp_path.iterdir() if "db-" not in one.name) == ["agents.db"]


def test_connections_need_open_files(monkeypatch: pytest.MonkeyPatch) -> None:
    for limits, wanted in [
        ((1024, 4096), (2512, 4096)),
        ((1024, 2000), (2000, 2000)),
        ((1024, resource.RLIM_INFINITY), (2512, resource.RLIM_INFINITY)),
        ((9999, 9999), None),
        ((resource.RLIM_INFINITY, resource.RLIM_INFINITY), None),
    ]:
        found = list[object]()
        monkeypatch.setattr(resource, "getrlimit", lambda kind, limits=limits: limits)
        monkeypatch.setattr(resource, "setrlimit", lambda kind, new, to=found: to.append(new))
        server._allow_connections(Settings("a.db"))
        assert found == ([] if wanted is None else [wanted])
