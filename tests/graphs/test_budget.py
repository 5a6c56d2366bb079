"""Tests of graphs/_independence.py: search budgets."""

from __future__ import annotations

import math
from types import SimpleNamespace

import pytest
from numba.core import event

from graphbandits import _jit
from graphbandits.graphs._independence import Budget


def test_budget_excludes_compilation_time(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 100.0
    monkeypatch.setattr(_jit, "time", SimpleNamespace(monotonic=lambda: now))
    before = _jit.clock()
    budget = Budget(seconds=5.0)
    part = budget.part(0.5)
    with event.trigger_event("numba:compile"):
        now += 3.0
        with event.trigger_event("numba:compile"):  # a callee
            now += 4.0
    assert math.isclose(_jit.clock(), before)
    assert math.isclose(part.seconds, 2.5)
    now += 2.0
    assert math.isclose(_jit.clock(), before + 2.0)
    assert math.isclose(budget.seconds, 3.0)
