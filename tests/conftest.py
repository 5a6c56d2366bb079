"""Fixtures for all tests."""

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from graphbandits.plugins import loaded_plugins, unload_plugin

# failed assertions in helpers show their values, as those in test files do
pytest.register_assert_rewrite("helpers")

from helpers.postgres import PostgresServer  # noqa: E402

# a continuous integration may ask for colours, which are characters in the output of commands
os.environ.pop("FORCE_COLOR", None)


#: Seconds of the costly tests, recorded by ``make nightly`` (tests/tools/costs.py).
COSTS = Path(__file__).parent / "costs.json"


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the costly tests, which ``make quick`` leaves out."""
    costs = json.loads(COSTS.read_text("utf-8"))
    for item in items:
        if item.nodeid in costs:
            item.add_marker("costly")


@pytest.fixture(autouse=True)
def no_plugins_left() -> Iterator[None]:
    """Unload the plug-ins that a test has loaded, because tests must pass in any order."""
    before = {plugin.path for plugin in loaded_plugins()}
    yield
    for plugin in loaded_plugins():
        if plugin.path not in before:
            unload_plugin(plugin.path)


@pytest.fixture
def write(tmp_path: Path) -> Callable[[str, str | bytes], Path]:
    """Return a function that writes a file into ``tmp_path`` and returns its path."""

    def writer(name: str, content: str | bytes) -> Path:
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return writer


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    """A server of PostgreSQL; one for each worker of pytest-xdist."""
    server = PostgresServer()
    yield server
    server.remove()


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """Chromium; one for each worker of pytest-xdist."""
    from helpers.dashboards import chromium

    with chromium() as started:
        yield started


@pytest.fixture(params=["sqlite", "postgres"])
def store_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A place for a new store, in each kind of database."""
    if request.param == "sqlite":
        return str(tmp_path / "agents.db")
    server: PostgresServer = request.getfixturevalue("postgres")
    return server.new_address()
