"""Tests of the accuracy tests: every mutant of the posterior kernels violates the accuracy.

The unchanged package is accurate on the same posteriors, computed in the same way.
"""

from __future__ import annotations

import re
from functools import cache

import numpy as np
import pytest
from helpers.accuracy_checks import assert_accurate
from helpers.accuracy_mutants import EASY, MUTANTS, Mutant, replace
from helpers.cases import each
from helpers.uncompiled import run_uncompiled
from helpers.wide_range_cases import Case, live_cases, read_fixture
from helpers.wide_range_oracle import WideBeliefs, wide_beliefs

from graphbandits.posteriors import Beliefs

ASKED = sorted({EASY, *((case, accuracy) for m in MUTANTS for case, accuracy, _ in m.breaks)})
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
    mutant: Mutant | None, asked: list[Question], unchecked: bool = False
) -> list[Beliefs | str]:
    """Return beliefs or error messages of a mutant, or of the unchanged package."""
    questions = [("beta", known()[case][0].params, accuracy, {}) for case, accuracy in asked]
    found = run_uncompiled(mutant, questions, unchecked=unchecked)
    return [
        one if isinstance(one, str) else Beliefs(**{k: np.array(v) for k, v in one.items()})
        for one in found
    ]


def assert_question_accurate(got: Beliefs | str, question: Question) -> None:
    name, accuracy = question
    assert isinstance(got, Beliefs), (got, name)
    assert_accurate(got, *known()[name], accuracy)


def check_mutant(mutant: Mutant) -> None:
    """Check that a mutant is inaccurate, and that the library refuses what does not add up."""
    asked = [EASY, *((case, accuracy) for case, accuracy, _ in mutant.breaks)]
    easy, *hard = answers(mutant, asked, unchecked=mutant.refused is not None)
    assert_question_accurate(easy, EASY)
    for got, question, (_, _, quantity) in zip(hard, asked[1:], mutant.breaks, strict=True):
        with pytest.raises(AssertionError, match=f"^{re.escape(question[0])}: {quantity}"):
            assert_question_accurate(got, question)
    if mutant.refused is not None:
        (refused,) = answers(mutant, [mutant.refused])
        assert "the quadrature did not converge" in str(refused)


@pytest.mark.nightly
def test_unchanged_package_is_accurate() -> None:
    for question, got in zip(ASKED, answers(None, ASKED), strict=True):
        assert_question_accurate(got, question)


def test_some_mutants_are_inaccurate_on_their_posteriors() -> None:
    checked = [next(m for m in MUTANTS if m.refused), next(m for m in MUTANTS if not m.refused)]
    for mutant in checked:
        check_mutant(mutant)


@pytest.mark.nightly
@each("mutant", MUTANTS)
def test_every_mutant_is_inaccurate_on_its_posteriors(mutant: Mutant) -> None:
    check_mutant(mutant)


def test_replacement_of_a_missing_name_is_detected() -> None:
    with pytest.raises(AssertionError, match="0 different values of 'no_such_kernel'"):
        replace("no_such_kernel", lambda value: value)
