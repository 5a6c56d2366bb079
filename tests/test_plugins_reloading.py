"""Tests of plugins.py: edited plug-ins, and plug-ins that use other plug-ins."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest
from helpers.small_runs import PLUGIN_SOURCE, SMALL_RUN

from graphbandits import simulate
from graphbandits.plugins import load_plugin, unload_plugin

pytestmark = pytest.mark.process


def test_edited_plugin_changes_only_after_reloading(tmp_path: Path) -> None:
    file = tmp_path / "edited.py"
    file.write_text(PLUGIN_SOURCE.replace("ARM", "0"))
    before = load_plugin(file).source
    try:
        run = simulate("edited", **SMALL_RUN)
        file.write_text(PLUGIN_SOURCE.replace("ARM", "1"))
        again = simulate("edited", **SMALL_RUN)
        assert (run["edited"].final == again["edited"].final).all()
        assert again.settings["policies"]["edited"]["source"] == before
        apart = simulate("edited", **SMALL_RUN, workers=2, block=3)
        assert (run["edited"].final == apart["edited"].final).all()
        assert load_plugin(file).source != before
        assert (simulate("edited", **SMALL_RUN)["edited"].final != run["edited"].final).any()
    finally:
        unload_plugin(file)


def test_plugin_that_uses_another_runs_in_worker_processes(tmp_path: Path) -> None:
    (tmp_path / "inner.py").write_text(PLUGIN_SOURCE.replace("ARM", "1").replace("edited", "inner"))
    outer = textwrap.dedent(
        '''
        from dataclasses import dataclass
        from typing import ClassVar
        from graphbandits.policies import Needs, as_policy
        from graphbandits.registry import register

        @register("policy", "outer")
        @dataclass(frozen=True)
        class Outer:
            """As another."""
            inner: str = "inner"
            needs: ClassVar[Needs] = Needs()
            exact: ClassVar[bool] = True
            def init(self, problem, keys):
                return as_policy(self.inner).init(problem, keys)
            def propose(self, state, view):
                return as_policy(self.inner).propose(state, view)
            def update(self, state, event):
                return state
        '''
    )
    (tmp_path / "outer.py").write_text(outer)
    try:
        for name in ("inner", "outer"):
            load_plugin(tmp_path / f"{name}.py")
        alone = simulate("outer", **SMALL_RUN)
        apart = simulate("outer", **SMALL_RUN, workers=2, block=3, parallel="processes")
        assert (alone["outer"].final == apart["outer"].final).all()
    finally:
        for name in ("inner", "outer"):
            unload_plugin(tmp_path / f"{name}.py")
