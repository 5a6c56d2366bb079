"""Tests of live/agent.py: what a live decision imports."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

PROGRAM = """
import json, sys
from graphbandits import Agent
agent = Agent("ids-n", arms=["ann", "bob", "eve"], graph="star", seed=1)
decision = agent.decide()
agent.observe(decision, {decision.arm: 1})
print(json.dumps(sorted({name.partition(".")[0] for name in sys.modules})))
"""
#: Packages for files, figures, graphs of other libraries, settings, terminals and clusters.
UNUSED = {"dask", "matplotlib", "networkx", "pandas", "pyarrow", "pydantic", "rich", "typer"}


@pytest.mark.process
def test_a_live_decision_imports_only_what_it_uses() -> None:
    run = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=600, check=True
    )
    imported = set(json.loads(run.stdout))
    assert {"graphbandits", "numba", "numpy"} <= imported
    assert not imported & UNUSED
