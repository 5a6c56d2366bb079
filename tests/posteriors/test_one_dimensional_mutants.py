"""Tests of the accuracy tests: every mutant of the kernels of these families is inaccurate."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.accuracy_checks import TOLERANCES
from helpers.marginal_cases import KINDS, read_truth
from helpers.marginal_checks import marginal_errors
from helpers.marginal_mutants import MUTANTS, MarginalMutant

import graphbandits.posteriors
from graphbandits.posteriors import Beliefs

pytestmark = pytest.mark.mutant

TESTS = Path(__file__).parents[1]
CASES = {f"{family} {case.name}": (family, case) for family in KINDS for case in read_truth(family)}
#: Posterior, setting, and whether h is computed: without it a question takes little time.
Question = tuple[str, str, bool]


def questions(mutant: MarginalMutant) -> list[Question]:
    """The easy posterior, then those on which the mutant is inaccurate."""
    information = any(quantity == "h" for _, _, quantity in mutant.breaks)
    broken = [(name, accuracy, quantity == "h") for name, accuracy, quantity in mutant.breaks]
    return [(*mutant.easy, information), *broken]


def answers(mutant: MarginalMutant | None, asked: list[Question]) -> list[dict[str, Any]]:
    """Statistics by the kernels as plain Python, in a process of its own."""
    settings = {
        "NUMBA_DISABLE_JIT": "1",
        "PYTHONPATH": os.pathsep.join([str(Path(graphbandits.__file__).parents[1]), str(TESTS)]),
    }
    given = {
        "mutant": mutant.name if mutant else None,
        "questions": [
            (CASES[name][0], CASES[name][1].arms, accuracy, information)
            for name, accuracy, information in asked
        ],
    }
    done = subprocess.run(
        [sys.executable, TESTS / "helpers" / "marginal_mutants.py"],
        input=json.dumps(given),
        env=os.environ | settings,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["package"] == graphbandits.posteriors.__file__
    answered: list[dict[str, Any]] = found["answers"]
    return answered


def errors(got: dict[str, Any], question: Question) -> dict[str, float]:
    """The largest error of each statistic that was computed."""
    name, accuracy, information = question
    arrays = {key: np.array(values) for key, values in got.items()}
    found = marginal_errors(*CASES[name], Beliefs(**arrays), accuracy)
    return {
        quantity: float(error.max())
        for quantity, error in found.items()
        if quantity != "h" or information
    }


def test_unchanged_kernels_are_accurate_as_plain_python() -> None:
    asked = sorted({question for mutant in MUTANTS for question in questions(mutant)})
    for question, got in zip(asked, answers(None, asked), strict=True):
        for quantity, off in errors(got, question).items():
            assert off <= TOLERANCES[question[1]], (question, quantity, off)


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda m: m.name)
def test_mutant_is_inaccurate_where_it_says_only(mutant: MarginalMutant) -> None:
    asked = questions(mutant)
    easy, *broken = answers(mutant, asked)
    for quantity, off in errors(easy, asked[0]).items():
        assert off <= TOLERANCES[asked[0][1]], (mutant.easy, quantity, off)
    for question, (*_, quantity), got in zip(asked[1:], mutant.breaks, broken, strict=True):
        off = errors(got, question)[quantity]
        assert not off <= TOLERANCES[question[1]], (question, quantity, off)
