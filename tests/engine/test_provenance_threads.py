"""Tests of engine/provenance.py with several threads."""

from __future__ import annotations

import sys

import pytest

from graphbandits.engine import provenance


def test_sources_are_checked_while_another_thread_imports(monkeypatch: pytest.MonkeyPatch) -> None:
    is_own, added = provenance._is_own, iter(range(10**6))

    def import_another(name: str) -> bool:
        monkeypatch.setitem(sys.modules, f"imported_meanwhile_{next(added)}", sys)
        return is_own(name)

    monkeypatch.setattr(provenance, "_is_own", import_another)
    provenance.check_sources({"package numpy": provenance._version("numpy")})
