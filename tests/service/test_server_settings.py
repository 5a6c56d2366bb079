"""Tests of service/server.py: settings reach the worker processes unchanged."""

from __future__ import annotations

import json
from dataclasses import asdict, fields
from typing import Any

import pytest

from graphbandits.service.server import VARIABLE, Settings

OTHERS: dict[str, Any] = {
    "store": "postgresql://me:p%40ss@host/db?options=-csearch_path%3Dx",
    "host": "::1",
    "port": 9,
    "workers": 4,
    "plugins": ("/a b/ü.py", "c.py"),
    "body_bytes": 10**9,
    "body_seconds": 0.1,
    "batch": 7,
    "rate": 0.0,
    "connections": 5,
}


def test_settings_pass_through_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    assert OTHERS.keys() == {field.name for field in fields(Settings)}
    for settings in (Settings("a.db"), Settings(**OTHERS), Settings("a.db", rate=float("inf"))):
        monkeypatch.setenv(VARIABLE, json.dumps(asdict(settings)))
        assert Settings.from_environment() == settings


def test_the_defaults_are_those_of_the_documentation() -> None:
    found = Settings("a.db")
    assert (found.host, found.port, found.workers) == ("127.0.0.1", 8000, 1)
    assert (found.body_bytes, found.body_seconds, found.batch) == (2**20, 10.0, 1000)
    assert (found.rate, found.connections) == (1000.0, 1000)


def test_only_loopback_addresses_are_local() -> None:
    for host, local in [
        ("127.0.0.1", True),
        ("127.1.2.3", True),
        ("::1", True),
        ("localhost", True),
        ("0.0.0.0", False),
        ("::", False),
        ("192.168.0.7", False),
        ("example.org", False),
        ("localhost.example.org", False),
        ("", False),
    ]:
        assert Settings("a.db", host).local == local
