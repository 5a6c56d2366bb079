"""Tests of the accuracy tests: every mutant of the kernels of these families is inaccurate."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
from helpers.accuracy_checks import TOLERANCES
from helpers.accuracy_mutants import Mutant
from helpers.cases import each
from helpers.marginal_checks import FAMILIES, marginal_errors, read_truth
from helpers.marginal_mutants import MUTANTS
from helpers.uncompiled import run_uncompiled

from graphbandits.posteriors import Beliefs


@cache
def known() -> dict[str, tuple[str, Any]]:
    """Return the families and the cases of all stored posteriors, by name."""
    stored = [(family, case) for family in FAMILIES for case in read_truth(family)]
    return {f"{family} {case.name}": (family, case) for family, case in stored}


#: Posterior, setting, and whether h is computed: without it a question takes little time.
Question = tuple[str, str, bool]


def questions(mutant: Mutant) -> list[Question]:
    """The easy posterior, then those on which the mutant is inaccurate."""
    information = any(quantity == "h" for _, _, quantity in mutant.breaks)
    broken = [(name, accuracy, quantity == "h") for name, accuracy, quantity in mutant.breaks]
    return [(*mutant.easy, information), *broken]


def answers(mutant: Mutant | None, asked: list[Question]) -> list[dict[str, Any]]:
    """Statistics by the kernels as plain Python, in a process of its own."""
    questions = [
        (known()[name][0], known()[name][1].arms, accuracy, {"information": information})
        for name, accuracy, information in asked
    ]
    found: list[dict[str, Any]] = run_uncompiled(mutant, questions)
    return found


def errors(got: dict[str, Any], question: Question) -> dict[str, float]:
    """The largest error of each statistic that was computed."""
    name, accuracy, information = question
    arrays = {key: np.array(values) for key, values in got.items()}
    found = marginal_errors(*known()[name], Beliefs(**arrays), accuracy)
    return {
        quantity: float(error.max())
        for quantity, error in found.items()
        if quantity != "h" or information
    }


@pytest.mark.nightly
def test_unchanged_kernels_are_accurate_as_plain_python() -> None:
    asked = sorted({question for mutant in MUTANTS for question in questions(mutant)})
    for question, got in zip(asked, answers(None, asked), strict=True):
        for quantity, off in errors(got, question).items():
            assert off <= TOLERANCES[question[1]], (question, quantity, off)


def check_mutant(mutant: Mutant) -> None:
    asked = questions(mutant)
    easy, *broken = answers(mutant, asked)
    for quantity, off in errors(easy, asked[0]).items():
        assert off <= TOLERANCES[asked[0][1]], (mutant.easy, quantity, off)
    for question, (*_, quantity), got in zip(asked[1:], mutant.breaks, broken, strict=True):
        off = errors(got, question)[quantity]
        assert not off <= TOLERANCES[question[1]], (question, quantity, off)


def test_some_mutants_are_inaccurate_where_they_say_only() -> None:
    for mutant in MUTANTS[:2]:
        check_mutant(mutant)


@pytest.mark.nightly
@each("mutant", MUTANTS)
def test_every_mutant_is_inaccurate_where_it_says_only(mutant: Mutant) -> None:
    check_mutant(mutant)
