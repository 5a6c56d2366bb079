"""Fixtures of the tests of the service: stores in each kind of database."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from graphbandits.live.store import AgentStore, open_store


@pytest.fixture
def store(store_url: str) -> Iterator[AgentStore]:
    """A new store, in each kind of database."""
    with open_store(store_url) as opened:
        yield opened
