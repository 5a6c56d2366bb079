"""Tests of live/agent.py: what a live decision imports."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

DECIDED = """
from graphbandits import Agent
agent = Agent("ids-n", arms=["ann", "bob", "eve"], graph="star", seed=1)
decision = agent.decide()
"""
OBSERVED = DECIDED + "agent.observe(decision, {decision.arm: 1})"
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
#: Modules of scipy that are imported when they are used.
ON_DEMAND = {"scipy.sparse", "scipy.special"}


def imported_by(program: str) -> set[str]:
    run = subprocess.run(
        [sys.executable, "-c", program + MODULES],
        capture_output=True,
        text=True,
        timeout=600,
        check=True,
    )
    return set(json.loads(run.stdout))


@pytest.mark.process
def test_a_live_decision_imports_only_what_it_uses() -> None:
    packages = {name.partition(".")[0] for name in imported_by(OBSERVED)}
    assert {"graphbandits", "numba", "numpy"} <= packages
    assert not packages & UNUSED


@pytest.mark.process
def test_a_live_decision_does_not_import_special_functions_and_sparse_matrices() -> None:
    assert not imported_by(DECIDED) & ON_DEMAND


@pytest.mark.process
def test_a_simulation_imports_only_what_it_uses() -> None:
    packages = {name.partition(".")[0] for name in imported_by(SIMULATED)}
    assert packages & UNUSED <= {"rich"}  # for the progress bar
