"""Fixtures of the tests of agents."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from helpers.postgres import PostgresServer

from graphbandits import Agent


@pytest.fixture
def agent() -> Agent:
    """An agent with three named arms; only 'bob' also shows another arm, 'eve'."""
    matrix = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.5], [0.0, 0.0, 1.0]])
    agent = Agent("ids-n", ["ann", "bob", "eve"], matrix, seed=1, prior=[(1, 9), (9, 1), (1, 9)])
    assert agent.decide().arm == "bob"
    return agent


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
