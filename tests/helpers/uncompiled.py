"""Statistics by a process whose kernels are plain Python, with a mutant applied."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import graphbandits
from helpers.accuracy_mutants import Mutant

TESTS = Path(__file__).parents[1]


def run_uncompiled(mutant: Mutant | None, questions: Any, *, unchecked: bool = True) -> Any:
    """Return what ``uncompiled_beliefs.py`` answers to questions."""
    name = mutant and (mutant.apply.__module__, mutant.apply.__name__)
    given = {"mutant": name, "unchecked": unchecked, "questions": questions}
    package = Path(graphbandits.__file__).parents[1]
    settings = {
        "NUMBA_DISABLE_JIT": "1",
        "PYTHONPATH": os.pathsep.join([str(package), str(TESTS)]),
    }
    done = subprocess.run(
        [sys.executable, TESTS / "helpers" / "uncompiled_beliefs.py"],
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
