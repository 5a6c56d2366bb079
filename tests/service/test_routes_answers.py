"""Tests of service/routes.py: errors as JSON, bodies, and threads of requests."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from helpers.service import wait_for
from starlette.testclient import TestClient

from graphbandits import Agent
from graphbandits.errors import (
    ConflictError,
    GraphBanditsError,
    InputError,
    NeedsError,
    NotFoundError,
    SourceError,
    StoreError,
    UncertainError,
)
from graphbandits.service import routes
from graphbandits.service.access import ForbiddenError, UnauthorizedError
from graphbandits.service.app import create_app
from graphbandits.service.routes import (
    READERS,
    BadRequestError,
    TooLargeError,
    error_answer,
)
from graphbandits.service.server import Settings

#: Status and type of the answer to each error.
EXPECTED: list[tuple[Exception, int, str]] = [
    (UnauthorizedError("x"), 401, "unauthorized"),
    (ForbiddenError("x"), 403, "forbidden"),
    (BadRequestError("x"), 400, "bad_request"),
    (TooLargeError("x"), 413, "too_large"),
    (NotFoundError("x"), 404, "not_found"),
    (ConflictError("x"), 409, "conflict"),
    (InputError("x"), 422, "invalid"),
    (SourceError("x"), 422, "invalid"),
    (NeedsError("x"), 422, "invalid"),
    (StoreError("x"), 503, "unavailable"),
    (UncertainError("x"), 500, "uncertain"),
    (GraphBanditsError("x"), 500, "internal"),
    (ValueError("x"), 500, "internal"),
    (KeyError("x"), 500, "internal"),
    (MemoryError("x"), 500, "internal"),
    (RecursionError("x"), 500, "internal"),
]


def test_errors() -> None:
    for error, status, kind in EXPECTED:
        response = error_answer(error)
        assert response.status_code == status
        assert response.media_type == "application/json"
        found = json.loads(response.body)
        assert found["error"]["type"] == kind
        assert (found["error"]["message"] == "x") == (kind != "internal")
        assert response.headers.get("retry-after") == ("2" if status == 503 else None)
        assert response.headers.get("www-authenticate") == ("Bearer" if status == 401 else None)


# --- threads ------------------------------------------------------------------------------------


@pytest.fixture
def service(tmp_path: Path) -> Iterator[TestClient]:
    place = tmp_path / "agents.db"
    Agent("ts-n", 3, "star", seed=1, store=place, name="banner").disconnect()
    app = create_app(Settings(str(place), rate=0.0))
    with TestClient(app, "http://localhost") as client:
        client.get("/health")
        yield client


def test_decisions_do_not_wait_for_readers(service: TestClient) -> None:
    """A long explanation holds the lock of the agent that reads, for any number of readers."""
    agents = service.app.state.service.agents  # type: ignore[attr-defined]
    readers = 3 * READERS
    begun = threading.Semaphore(0)
    ended = list[int]()

    def read(number: int) -> None:
        begun.release()
        ended.append(service.get("/agents/banner").status_code)

    with ThreadPoolExecutor(readers) as threads:
        with agents.get("banner", "read")._lock:
            reads = [threads.submit(read, number) for number in range(readers)]
            for _ in reads:
                assert begun.acquire(timeout=20)
            borrowed = service.app.state.service._readers  # type: ignore[attr-defined]
            wait_for(lambda: borrowed.borrowed_tokens == READERS, what="busy readers")
            for _ in range(5):
                made = service.post("/agents/banner/decisions", json={}).json()["decisions"][0]
                outcomes = {made["id"]: {str(made["arm"]): 1}}
                body = {"outcomes": outcomes}
                assert service.post("/agents/banner/outcomes", json=body).status_code == 200
            assert service.get("/health").status_code == 200
            assert ended == []
        for one in reads:
            one.result(timeout=30)
    assert ended == [200] * readers


def test_a_database_that_is_away_is_logged_once_in_a_while(
    service: TestClient, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    now = 1000.0
    monkeypatch.setattr(routes, "time", SimpleNamespace(monotonic=lambda: now))

    def fail(*_: object) -> Any:
        raise StoreError("cannot connect to postgresql://secret@host")

    service_ = service.app.state.service  # type: ignore[attr-defined]
    monkeypatch.setattr(service_.agents, "names", fail)
    for seconds, lines in ((0.0, 1), (1.0, 1), (29.9, 1), (30.0, 2), (31.0, 2), (60.0, 3)):
        now = 1000.0 + seconds
        response = service.get("/health")
        assert response.status_code == 503
        assert "secret" not in response.text
        assert caplog.text.count("secret@host") == lines
