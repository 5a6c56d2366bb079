"""Tests of live/agent.py: what a live decision imports."""

from __future__ import annotations

import json
import subprocess
import sys

DECIDED = """
import json, sys
from graphbandits import Agent
agent = Agent("ids-n", arms=["ann", "bob", "eve"], graph="star", seed=1)
decision = agent.decide()
assert not {"scipy.sparse", "scipy.special"} & set(sys.modules)
agent.observe(decision, {decision.arm: 1})
"""
SIMULATED = """
from graphbandits import simulate
simulate("ids-n", graph="star", arms=3, horizon=3, trials=2, workers=1, progress=False)
"""
MODULES = """
import json, sys
print(json.dumps(sorted(sys.modules)))
"""
#: Packages for files, figures, graphs of other libraries, settings, terminals and clusters.
UNUSED = {"dask", "matplotlib", "networkx", "pandas", "pyarrow", "pydantic", "rich", "typer"}


def imported_by(program: str) -> set[str]:
    run = subprocess.run(
        [sys.executable, "-c", program + MODULES],
        capture_output=True,
        text=True,
        timeout=600,
        check=True,
    )
    return set(json.loads(run.stdout))


def test_a_live_decision_imports_only_what_it_uses() -> None:
    packages = {name.partition(".")[0] for name in imported_by(DECIDED)}
    assert {"graphbandits", "numba", "numpy"} <= packages
    assert not packages & UNUSED


def test_a_simulation_imports_only_what_it_uses() -> None:
    packages = {name.partition(".")[0] for name in imported_by(SIMULATED)}
    assert packages & UNUSED <= {"rich"}  # for the progress bar
