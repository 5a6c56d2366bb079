"""Runs of a script in a process whose kernels are plain Python, with a mutant applied."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import graphbandits

TESTS = Path(__file__).parents[1]


def run_uncompiled(script: str, **given: Any) -> Any:
    """Return the JSON that a script of ``helpers`` answers to JSON."""
    package = Path(graphbandits.__file__).parents[1]
    settings = {
        "NUMBA_DISABLE_JIT": "1",
        "PYTHONPATH": os.pathsep.join([str(package), str(TESTS)]),
    }
    done = subprocess.run(
        [sys.executable, TESTS / "helpers" / script],
        input=json.dumps(given),
        env=os.environ | settings,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["package"] == str(package / "graphbandits" / "posteriors" / "__init__.py")
    return found["answers"]
