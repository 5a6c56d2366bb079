"""Tests of the accuracy tests: every mutant of the posterior kernels violates the accuracy.

The unchanged package is accurate on the same posteriors, computed in the same way.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from helpers.accuracy_checks import assert_accurate
from helpers.accuracy_mutants import (
    EASY,
    MUTANTS,
    UNCHECKED,
    Change,
    Mutant,
    distribution_by_recurrence,
    write_copy,
)
from helpers.wide_range_cases import live_cases, read_fixture
from helpers.wide_range_oracle import wide_beliefs
from scipy.special import betainc

from graphbandits.posteriors import Beliefs

TESTS = Path(__file__).parents[1]
ASKED = sorted({EASY, *((case, accuracy) for m in MUTANTS for case, accuracy, _ in m.breaks)})
#: Posteriors with their truths: those of the fixture, and with v the easy one, the live ones that
#: mutants name, and those that show v.
WHOLE = {EASY[0], *(case for m in MUTANTS for case, _, quantity in m.breaks if quantity == "v")}
KNOWN = {case.name: (case, truth) for case, truth in read_fixture()}
KNOWN |= {
    case.name: (case, wide_beliefs(case.params))
    for case in [*(case for case, _ in KNOWN.values() if case.name in WHOLE), *live_cases()]
    if case.name in {name for name, _ in ASKED}
}
each_mutant = pytest.mark.parametrize("mutant", MUTANTS, ids=lambda m: m.name)
Question = tuple[str, str]  # name of a posterior, setting


def answers(
    folder: Path, changes: tuple[Change, ...], asked: list[Question]
) -> list[Beliefs | str]:
    """Beliefs, or the refusal, of a changed copy of the package, run as plain Python."""
    write_copy(folder, changes)
    settings = {
        "NUMBA_DISABLE_JIT": "1",
        "NUMBA_CACHE_DIR": str(folder),
        "PYTHONPATH": os.pathsep.join([str(folder), str(TESTS)]),
    }
    done = subprocess.run(
        [sys.executable, TESTS / "helpers" / "uncompiled_beliefs.py"],
        input=json.dumps([(accuracy, KNOWN[case][0].params) for case, accuracy in asked]),
        env=os.environ | settings,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    assert Path(said["package"]).is_relative_to(folder)
    return [
        one if isinstance(one, str) else Beliefs(**{k: np.array([v]) for k, v in one.items()})
        for one in said["answers"]
    ]


def assert_question_accurate(got: Beliefs | str, question: Question) -> None:
    name, accuracy = question
    assert isinstance(got, Beliefs), (got, name)
    assert_accurate(got, *KNOWN[name], accuracy)


@pytest.fixture(scope="module")
def unchanged(tmp_path_factory: pytest.TempPathFactory) -> dict[Question, Beliefs | str]:
    """Beliefs of an unchanged copy of the package, computed in the same way."""
    return dict(zip(ASKED, answers(tmp_path_factory.mktemp("unchanged"), (), ASKED), strict=True))


@pytest.mark.parametrize("question", ASKED, ids=" - ".join)
def test_unchanged_copy_is_accurate(question: Question, unchanged) -> None:
    assert_question_accurate(unchanged[question], question)


@each_mutant
def test_mutant_is_inaccurate_on_its_posteriors(mutant: Mutant, tmp_path) -> None:
    changes = (*mutant.changes, *UNCHECKED) if mutant.refused else mutant.changes
    asked = [EASY, *((case, accuracy) for case, accuracy, _ in mutant.breaks)]
    easy, *hard = answers(tmp_path, changes, asked)
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
    (got,) = answers(tmp_path, mutant.changes, [mutant.refused])
    assert "the quadrature did not settle" in str(got)


def test_recurrence_loses_only_small_values() -> None:
    """The mutant's F is no blunder: it loses the small values and nothing else."""
    a, b, u = 374.0, 626.5, np.linspace(-2.0, 0.5, 26)
    exact = betainc(a, b, 1.0 / (1.0 + np.exp(-u)))
    got = distribution_by_recurrence(a, b, u)
    assert got == pytest.approx(exact, rel=0.0, abs=1e-12)
    assert np.abs(got / exact - 1.0).max() > 1.0


def test_outdated_change_is_detected(tmp_path) -> None:
    with pytest.raises(AssertionError, match="has this 0 times, not once"):
        write_copy(tmp_path, (Change("beta_kernels", "no such line", ""),))


def test_mutant_names_are_unique() -> None:
    assert len({mutant.name for mutant in MUTANTS}) == len(MUTANTS)
