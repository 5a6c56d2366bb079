"""Tests of cli/serve_command.py: bad input is refused before anything is started."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest
from helpers.command_line import refused_command

from graphbandits import Agent
from graphbandits.cli.serve_command import STORE_VARIABLE
from graphbandits.live.store import open_store
from graphbandits.service.tokens import add_token


@pytest.fixture(autouse=True)
def no_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(STORE_VARIABLE, raising=False)


@pytest.fixture
def store(place: Path) -> Path:
    """A store a.db with an agent in the working directory."""
    Agent("ts-n", 3, store="a.db", seed=1).disconnect()
    return place


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("serve", "Missing argument 'STORE'"),
        ("serve no.db", "there is no store of agents at"),
        ("serve mysql://host/db", "a store is a file"),
        ("serve a.db --port 0", "--port must be 1 to 65535, not 0"),
        ("serve a.db --port 65536", "--port must be 1 to 65535, not 65536"),
        ("serve a.db --port x", "'x' is not an integer"),
        ("serve a.db --workers 0", "--workers must be 1 to 64, not 0"),
        ("serve a.db --workers 65", "--workers must be 1 to 64, not 65"),
        ("serve a.db --rate -1", "--rate must be at least 0, not -1"),
        ("serve a.db --rate nan", "--rate must be at least 0, not nan"),
        ("serve a.db --connections 0", "--connections must be at least 1, not 0"),
        ("serve a.db --body 0", "--body must be at least 1, not 0"),
        ("serve a.db --plugin no.py", "no.py"),
        ("serve a.db --host 0.0.0.0", "needs tokens, and the store has no valid one"),
        ("serve a.db --host :: --workers 2", "needs tokens, and the store has no valid one"),
        ("serve a.db --host no.such.name.invalid", "needs tokens"),
    ],
)
def test_bad_options(store: Path, line: str, words: str) -> None:
    assert words in refused_command(store, line.split())


def test_an_expired_token_is_not_enough(store: Path) -> None:
    with open_store("a.db") as found:
        add_token(found, "admin", expires=1.0, clock=lambda: 0.0)
    assert "no valid one" in refused_command(store, ["serve", "a.db", "--host", "0.0.0.0"])


def test_a_port_in_use(store: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        message = refused_command(store, ["serve", "a.db", "--port", str(port)])
    assert f"cannot listen on 127.0.0.1, port {port}: Address already in use" in message


def test_an_unknown_host(store: Path) -> None:
    with open_store("a.db") as found:
        add_token(found, "admin")
    message = refused_command(store, ["serve", "a.db", "--host", "no.such.name.invalid"])
    assert "cannot listen on no.such.name.invalid, port 8000" in message


def test_a_missing_extra(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("graphbandits.cli.serve_command.find_spec", lambda name: None)
    assert 'pip install "graphbandits[serve]"' in refused_command(store, ["serve", "a.db"])
