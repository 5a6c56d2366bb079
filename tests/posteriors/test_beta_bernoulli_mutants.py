"""Tests of the accuracy tests: every mutant of the posterior kernels violates the accuracy.

The unchanged package is accurate on the same posteriors, computed in the same way.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from helpers.accuracy_checks import assert_accurate
from helpers.accuracy_mutants import EASY, MUTANTS, Mutant, distribution_by_recurrence, replace
from helpers.wide_range_cases import Case, live_cases, read_fixture
from helpers.wide_range_oracle import WideBeliefs, wide_beliefs
from scipy.special import betainc

import graphbandits.posteriors
from graphbandits.posteriors import Beliefs

pytestmark = pytest.mark.mutant

TESTS = Path(__file__).parents[1]
ASKED = sorted({EASY, *((case, accuracy) for m in MUTANTS for case, accuracy, _ in m.breaks)})
each_mutant = pytest.mark.parametrize("mutant", MUTANTS, ids=lambda m: m.name)
Question = tuple[str, str]  # name of a posterior, setting


@cache
def known() -> dict[str, tuple[Case, WideBeliefs]]:
    """Return posteriors with their truths, by name: those of the fixture, and live ones.

    The easy one, and those that show v, are computed with v.
    """
    whole = {EASY[0], *(case for m in MUTANTS for case, _, quantity in m.breaks if quantity == "v")}
    found = {case.name: (case, truth) for case, truth in read_fixture()}
    cases = [*(case for case, _ in found.values() if case.name in whole), *live_cases()]
    asked = {name for name, _ in ASKED}
    return found | {
        case.name: (case, wide_beliefs(case.params)) for case in cases if case.name in asked
    }


def answers(
    folder: Path, mutant: Mutant | None, asked: list[Question], unchecked: bool = False
) -> list[Beliefs | str]:
    """Return beliefs or error messages of a mutant, or of the unchanged package, in plain Python.

    Each mutant is applied in a new process; ``folder`` is its cache of machine code.
    """
    package = Path(graphbandits.__file__).parents[1]
    settings = {
        "NUMBA_DISABLE_JIT": "1",
        "NUMBA_CACHE_DIR": str(folder),
        "PYTHONPATH": os.pathsep.join([str(package), str(TESTS)]),
    }
    given = {
        "mutant": mutant.name if mutant else None,
        "unchecked": unchecked,
        "questions": [(accuracy, known()[case][0].params) for case, accuracy in asked],
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
    assert found["package"] == graphbandits.posteriors.__file__
    return [
        one if isinstance(one, str) else Beliefs(**{k: np.array([v]) for k, v in one.items()})
        for one in found["answers"]
    ]


def assert_question_accurate(got: Beliefs | str, question: Question) -> None:
    name, accuracy = question
    assert isinstance(got, Beliefs), (got, name)
    assert_accurate(got, *known()[name], accuracy)


@pytest.fixture(scope="module")
def unchanged(tmp_path_factory: pytest.TempPathFactory) -> dict[Question, Beliefs | str]:
    """Beliefs of the unchanged package, computed in the same way."""
    return dict(zip(ASKED, answers(tmp_path_factory.mktemp("unchanged"), None, ASKED), strict=True))


@pytest.mark.parametrize("question", ASKED, ids=" - ".join)
def test_unchanged_package_is_accurate(question: Question, unchanged) -> None:
    assert_question_accurate(unchanged[question], question)


@each_mutant
def test_mutant_is_inaccurate_on_its_posteriors(mutant: Mutant, tmp_path) -> None:
    asked = [EASY, *((case, accuracy) for case, accuracy, _ in mutant.breaks)]
    easy, *hard = answers(tmp_path, mutant, asked, unchecked=mutant.refused is not None)
    assert_question_accurate(easy, EASY)
    for got, question, (_, _, quantity) in zip(hard, asked[1:], mutant.breaks, strict=True):
        with pytest.raises(
            AssertionError, match=f"^{re.escape(question[0])}: {quantity}"
        ) as caught:
            assert_question_accurate(got, question)
        # (pytest -rP shows the figures)
        print(f"{mutant.name}, {question[1]}: {caught.value}")


@pytest.mark.parametrize("mutant", [m for m in MUTANTS if m.refused], ids=lambda m: m.name)
def test_library_rejects_alpha_that_does_not_sum_to_one(mutant: Mutant, tmp_path) -> None:
    assert mutant.refused is not None
    (got,) = answers(tmp_path, mutant, [mutant.refused])
    assert "the quadrature did not converge" in str(got)


def test_recurrence_loses_only_small_values() -> None:
    """F of the mutant is accurate except for small values."""
    a, b, u = 374.0, 626.5, np.linspace(-2.0, 0.5, 26)
    exact = betainc(a, b, 1.0 / (1.0 + np.exp(-u)))
    got = distribution_by_recurrence(a, b, u)
    assert got == pytest.approx(exact, rel=0.0, abs=1e-12)
    assert np.abs(got / exact - 1.0).max() > 1.0


def test_replacement_of_a_missing_name_is_detected() -> None:
    with pytest.raises(AssertionError, match="0 different values of 'no_such_kernel'"):
        replace("no_such_kernel", lambda value: value)


def test_mutant_names_are_unique() -> None:
    assert len({mutant.name for mutant in MUTANTS}) == len(MUTANTS)
