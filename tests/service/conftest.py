"""Fixtures of the tests of the service: stores in each kind of database."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from helpers.postgres import PostgresServer

from graphbandits.live.store import AgentStore, open_store


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    """A server of PostgreSQL; one for each worker of pytest-xdist."""
    server = PostgresServer()
    yield server
    server.remove()


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.process)])
def store_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A place for a new store, in each kind of database."""
    if request.param == "sqlite":
        return str(tmp_path / "agents.db")
    server: PostgresServer = request.getfixturevalue("postgres")
    return server.new_address()


@pytest.fixture
def store(store_url: str) -> Iterator[AgentStore]:
    """A new store, in each kind of database."""
    with open_store(store_url) as opened:
        yield opened
