"""Tests of benchmarks/service.py: its client, its servers, and the statistics of its tables."""

from __future__ import annotations

import doctest
import importlib
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from types import ModuleType
from typing import Any

import pytest
from helpers import ROOT

pytestmark = pytest.mark.process


@pytest.fixture(scope="module")
def service() -> ModuleType:
    if str(ROOT / "benchmarks") not in sys.path:
        sys.path.append(str(ROOT / "benchmarks"))
    return importlib.import_module("service")


@contextmanager
def answering(*parts: bytes) -> Iterator[int]:
    """Run a server that answers one request with these parts; yield its port."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def run() -> None:
            connection, _ = listener.accept()
            with connection:
                received = b""
                while not received.endswith(b"{}"):
                    received += connection.recv(1000)
                for part in parts:
                    connection.sendall(part)

        thread = threading.Thread(target=run)
        thread.start()
        yield listener.getsockname()[1]
        thread.join(30)


def test_the_client_reads_an_answer_that_comes_in_parts(service: ModuleType) -> None:
    parts = b"HTTP/1.1 200 OK\r\nConte", b'nt-Length: 8\r\n\r\n{"a"', b": 1}"
    with answering(*parts) as port, closing(service.HttpConnection(port)) as connection:
        took, answer = connection.post("/", b"{}")
    assert answer == b'{"a": 1}'
    assert took > 0.0


def test_another_status_than_200_is_an_error(service: ModuleType) -> None:
    refused = b"HTTP/1.1 422 Refused\r\ncontent-length: 4\r\n\r\nbody"
    with (
        answering(refused) as port,
        closing(service.HttpConnection(port)) as connection,
        pytest.raises(ConnectionError, match=r"/path: HTTP/1\.1 422 Refused\s+body"),
    ):
        connection.post("/path", b"{}")


def test_the_first_calls_do_not_count(service: ModuleType, monkeypatch) -> None:
    moments = iter([10.0, 11.0, 13.0])
    monkeypatch.setattr(service.time, "perf_counter", lambda: next(moments))
    calls = iter(range(99))
    times, spent = service.times_of(lambda: {"a": next(calls)}, 2.0)
    assert (times, spent) == ({"a": [service.WARM_UP, service.WARM_UP + 1]}, 3.0)


def test_a_server_that_ends_is_an_error(service: ModuleType) -> None:
    settings = importlib.import_module("settings").Settings(service_workers=(1,))
    with (
        pytest.raises(RuntimeError, match="does not answer"),
        service.servers(lambda workers, port: ["-c", ""], settings),
    ):
        pass


def test_the_bare_route_answers_with_each_number_of_workers_and_stops(service: ModuleType) -> None:
    settings = importlib.import_module("settings").Settings(service_workers=(1, 2))
    with service.servers(service.bare_route, settings) as ports:
        assert list(ports) == [1, 2]
        for port in ports.values():
            with closing(service.HttpConnection(port)) as connection:
                for _ in range(3):
                    # without the option TCP_NODELAY each answer of two workers takes 40 ms
                    _, answer = connection.post("/", b"{}")
                    assert b'"reveals"' in answer
    for port in ports.values():
        with pytest.raises(OSError, match="refused"):
            socket.create_connection(("127.0.0.1", port))


def test_a_server_that_does_not_stop_is_killed(service: ModuleType, monkeypatch) -> None:
    monkeypatch.setattr(service, "STOP", 0.1)
    code = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); print(); input()"
    pipes: Any = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen([sys.executable, "-uc", code], **pipes) as process:
        assert process.stdout
        process.stdout.readline()
        with pytest.raises(subprocess.TimeoutExpired):
            service.stop(process)
        assert process.wait(30) < 0


def section(ratio: float, missing: dict[str, str]) -> dict[str, Any]:
    """Return results in which decide takes ``ratio`` times the floor, and observe half of it."""

    def times(p50: float) -> dict[str, float]:
        return {"p50": p50, "p99": 0.02, "rate": 1000.0}

    agents = [
        {"arms": arms, "decide": times(ratio * 1e-3), "observe": times(ratio * 0.5e-3)}
        for arms in (5, 1000)
    ]
    floor = {"route": times(0.8e-3), "commit": times(0.2e-3)}
    rows = [
        {"store": "SQLite", "clients": clients, "workers": workers, **floor, "agents": agents}
        for clients in (1, 4)
        for workers in (1, 2)
    ]
    versions = {"SQLite": "3.40.1"}
    numbers = {"distinct": 100, "turns": 5, "seconds": 2.0}
    return {**numbers, "missing": missing, "versions": versions, "rows": rows}


@pytest.mark.parametrize(("ratio", "goal"), [(1.99, "met"), (2.01, "no")])
def test_the_ratio_is_that_to_both_parts_of_the_floor(
    service: ModuleType, ratio: float, goal: str
) -> None:
    decide, observe, floor = service.tables(section(ratio, {}))
    assert [row[1:4] for row in decide.rows] == [
        [arms, workers, clients]
        for arms in ("5", "10^3")
        for workers in ("1", "2")
        for clients in ("1", "4")
    ]
    assert {tuple(row[-3:]) for row in decide.rows} == {("1.00 ms", f"{ratio}", goal)}
    assert {row[-1] for row in observe.rows} == {"met"}
    assert len(floor.rows) == 4


def test_without_postgresql_a_row_states_it(service: ModuleType) -> None:
    reason = "PostgreSQL is not installed"
    for table in service.tables(section(1.5, {"PostgreSQL": reason})):
        assert table.rows[-1][:2] == ["PostgreSQL", "not available"]
        assert {len(row) for row in table.rows} == {len(table.columns)}
        assert table.note.endswith(f" PostgreSQL: {reason}.")


def test_docstring_examples_are_correct(service: ModuleType) -> None:
    outcome = doctest.testmod(service)
    assert outcome.attempted > 0
    assert outcome.failed == 0
