"""Tests of cli/serve.py: options, and refusals before anything is started."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from helpers.bad_input import check_refusal
from helpers.command_line import refused_command, run
from helpers.plugin_command_line import MINE
from helpers.service import free_port

from graphbandits import Agent
from graphbandits.cli import serve as serve_command
from graphbandits.live.store import open_store
from graphbandits.plugins import unload_plugin
from graphbandits.service import server
from graphbandits.service.access import add_token, revoke_token
from graphbandits.service.server import Settings


@pytest.fixture
def store(place: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A store in the working directory."""
    monkeypatch.delenv(serve_command.STORE_VARIABLE, raising=False)
    Agent("ts-n", 3, store="campaign.db", seed=1).disconnect()
    return place / "campaign.db"


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Settings, bool]]:
    """Settings with which a service would be started."""
    found: list[tuple[Settings, bool]] = []

    def serve(settings: Settings, *, access_log: bool = False) -> None:
        found.append((settings, access_log))

    monkeypatch.setattr(server, "serve", serve)
    return found


def test_defaults(store: Path, started: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "_check_address", lambda host, port: None)
    shown = run("serve", "campaign.db")
    assert started == [(Settings("campaign.db"), False)]
    assert shown == (
        f"Serving the agents of {store} at http://127.0.0.1:8000 (Ctrl-C stops it).\n"
        "Dashboard: http://127.0.0.1:8000/   API: http://127.0.0.1:8000/openapi.json\n"
    )


def test_options(store: Path, started: list[Any], place: Path) -> None:
    (place / "mine.py").write_text(MINE)
    port = free_port()
    options = f"--host localhost --port {port} --workers 3 --rate 2.5 --connections 7 --body 100"
    shown = run(*("serve", "campaign.db", *options.split(), "--access-log", "--plugin", "mine.py"))
    unload_plugin(place / "mine.py")
    wanted = Settings(
        "campaign.db",
        "localhost",
        port,
        3,
        ("mine.py",),
        body_bytes=100,
        rate=2.5,
        connections=7,
    )
    assert started == [(wanted, True)]
    assert f"http://localhost:{port}/openapi.json" in shown


def test_an_address_of_version_6_is_in_brackets(store: Path, started: list[Any]) -> None:
    if not socket.has_ipv6:
        pytest.skip("no IPv6")
    try:
        with socket.socket(socket.AF_INET6) as probe:
            probe.bind(("::1", 0))
    except OSError:
        pytest.skip("no IPv6")
    assert "http://[::1]:" in run("serve", "campaign.db", "--host", "::1", "--port", free_port())


def test_the_store_may_be_in_the_environment(
    store: Path, started: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(serve_command.STORE_VARIABLE, str(store))
    run("serve", "--port", free_port())
    assert started[0][0].store == str(store)


def test_other_addresses_need_a_valid_token(store: Path, started: list[Any], place: Path) -> None:
    args = ["serve", "campaign.db", "--host", "0.0.0.0", "--port", str(free_port())]
    check_refusal(refused_command(place, args))
    with open_store(store) as opened:
        _, token = add_token(opened, "read")
        revoke_token(opened, token.id)
        add_token(opened, "admin", expires=1e-6)
    check_refusal(refused_command(place, args))
    assert started == []
    with open_store(store) as opened:
        text, _ = add_token(opened, "read")
    run(*args)
    assert started[0][0].host == "0.0.0.0"
    assert text not in str(started)


@pytest.fixture
def taken() -> Iterator[int]:
    """A port on which another program listens."""
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        yield other.getsockname()[1]


def test_a_port_in_use(store: Path, started: list[Any], place: Path, taken: int) -> None:
    message = refused_command(place, ["serve", "campaign.db", "--port", str(taken)])
    assert message.startswith(f"Error: cannot listen on 127.0.0.1, port {taken}: Address already")
    assert "choose another --host or --port" in message
    assert started == []


def test_bad_options(store: Path, started: list[Any], place: Path) -> None:
    (place / "folder").mkdir()
    (place / "text.txt").write_text("x" * 1000)
    (place / "bad.py").write_text("1 / 0\n")
    for args in [
        "no.db",
        "text.txt",
        "campaign.db --port 0",
        "campaign.db --port -1",
        "campaign.db --workers 0",
        "campaign.db --rate -1",
        "campaign.db --rate x",
        "campaign.db --connections 100000000000000000000",
        "campaign.db --body 16777217",
        "campaign.db --host 999.1.1.1",
        "campaign.db --plugin no.py",
        "campaign.db --workres 2",
        "",
    ]:
        message = refused_command(place, ["serve", *args.split()])
        if "--host" not in args:  # the reason is of the operating system
            check_refusal(message)
        assert started == []


def test_a_missing_extra(
    store: Path, started: list[Any], place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for missing in ("fastapi", "httpx", "uvicorn"):
        monkeypatch.setattr(
            serve_command, "find_spec", lambda name, missing=missing: name != missing
        )
        for words in (["serve", "campaign.db"], ["demo"]):
            message = refused_command(place, words)
            check_refusal(message)
            assert "graphbandits[serve]" in message
    assert started == []
