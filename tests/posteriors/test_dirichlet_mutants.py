"""Tests of the accuracy tests: every mutant of the Dirichlet kernels violates the accuracy."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
from helpers.accuracy_checks import LEAST, TOLERANCES
from helpers.accuracy_mutants import Mutant
from helpers.cases import each
from helpers.dirichlet_cases import DirichletCase
from helpers.dirichlet_mutants import EASY, MUTANTS, POSTERIORS
from helpers.uncompiled import run_uncompiled

from graphbandits.posteriors import Dirichlet

QUESTIONS = sorted({(EASY, "simulation"), *((p, a) for m in MUTANTS for p, a, _ in m.breaks)})


def answers(mutant: Mutant | None, asked: list[tuple[str, str]]) -> list[dict[str, Any]]:
    """Statistics by the kernels as plain Python, in a process of its own."""
    questions = [("dirichlet", POSTERIORS[name], accuracy, {}) for name, accuracy in asked]
    found: list[dict[str, Any]] = run_uncompiled(mutant, questions)
    return found


@cache
def truth(name: str) -> Any:
    values, weights = POSTERIORS[name]
    posterior = Dirichlet(np.array(weights), tuple(values), "strict")
    return posterior.beliefs(posterior.init(trials=1), variance=True)


def error(got: dict[str, Any], name: str, accuracy: str, quantity: str) -> float:
    values, weights = POSTERIORS[name]
    spread = DirichletCase(np.array(weights), np.array(values)).spread
    scale = {"delta": spread, "v": spread**2}.get(quantity, 1.0)
    exact = getattr(truth(name), quantity)[0]
    unit = scale * np.ones_like(exact)
    if accuracy == "strict":
        unit = np.where(exact > LEAST * scale, exact, np.inf)
    return float((np.abs(np.array(got[quantity][0]) - exact) / unit).max())


@pytest.mark.nightly
def test_unchanged_kernels_are_accurate_as_plain_python() -> None:
    for question, got in zip(QUESTIONS, answers(None, QUESTIONS), strict=True):
        for quantity in ("alpha", "delta", "h", "v"):
            assert error(got, *question, quantity) <= TOLERANCES[question[1]], (question, quantity)


def check_mutant(mutant: Mutant) -> None:
    asked = [(name, accuracy) for name, accuracy, _ in mutant.breaks]
    easy, *broken = answers(mutant, [(EASY, "simulation"), *asked])
    assert error(easy, EASY, "simulation", "alpha") <= TOLERANCES["simulation"]
    for (name, accuracy, quantity), got in zip(mutant.breaks, broken, strict=True):
        off = error(got, name, accuracy, quantity)
        assert not off <= TOLERANCES[accuracy], (name, quantity, off)


def test_some_mutants_are_inaccurate_where_they_say_only() -> None:
    for mutant in MUTANTS[:2]:
        check_mutant(mutant)


@pytest.mark.nightly
@each("mutant", MUTANTS)
def test_every_mutant_is_inaccurate_where_it_says_only(mutant: Mutant) -> None:
    check_mutant(mutant)
