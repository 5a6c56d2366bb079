"""Tests of testing/contract.py: every check detects mutants that no other check detects."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

import pytest
from helpers.contract_mutants import ALSO_FAILS, MAY_FAIL, MUTANTS
from helpers.valid_policies import temporarily_registered

from graphbandits.registry import examples_of, registered
from graphbandits.testing import Verdict, cases, contract
from graphbandits.testing import policies as checks
from graphbandits.testing.contract import _CHECKS

pytestmark = pytest.mark.mutant

KINDS = list(MUTANTS)
ALL = [
    pytest.param(kind, *mutant, id=f"{mutant[1]}-{mutant[0].__name__}")
    for kind in KINDS
    for mutant in MUTANTS[kind]
]
ALONE = {cls for kind in KINDS for cls, _, _ in MUTANTS[kind] if cls.__name__ not in ALSO_FAILS}
#: The first mutant of each check goes through all others, further ones leave out the slow ones.
FIRST = {next(c for c, n, _ in MUTANTS[k] if n == one.name) for k in KINDS for one in contract(k)}
SLOW = {"batch", "block-workers-order", "relabelling", "long-run"}


def verdict(kind: str, cls: type, check: str) -> list[Verdict]:
    """Return the verdicts of one check on all examples of a class."""
    rounds = checks.LONG
    long = check == "long-run" and any(
        cls is other and name == check for other, name, _ in MUTANTS[kind]
    )
    checks.LONG = rounds if long else 500  # 100,000 rounds only for mutants that need them
    try:
        with temporarily_registered(kind, [cls]):
            chosen = [c for c in cases(kind, *examples_of(cls)) if c.check.name == check]
            return [case.verdict() for case in chosen]
    finally:
        checks.LONG = rounds


def _concerns(cls: type) -> set[str]:
    own = {check for kind in KINDS for other, check, _ in MUTANTS[kind] if other is cls}
    return own | ALSO_FAILS.get(cls.__name__, set())


@cache
def failed_checks(kind: str, cls: type, check: str) -> str:
    """Return the message of a check about a class; empty if it passes."""
    return next((one.why for one in verdict(kind, cls, check) if not one.ok), "")


def broken(kind: str, cls: type) -> dict[str, str]:
    """Return the checks of the current contract that a class fails, with their messages."""
    names = [check.name for check in contract(kind)]
    tried = [name for name in names if cls in FIRST or name not in SLOW - _concerns(cls)]
    found = {name: failed_checks(kind, cls, name) for name in tried}
    return {name: why for name, why in found.items() if why}


@pytest.fixture(autouse=True)
def registry_is_unchanged() -> Iterator[None]:
    before = {kind: registered(kind) for kind in KINDS}
    yield
    assert {kind: registered(kind) for kind in KINDS} == before


@pytest.mark.parametrize(("kind", "cls", "check", "saying"), ALL)
def test_mutant_fails_its_check_and_no_other(kind: str, cls: type, check: str, saying: str) -> None:
    found = broken(kind, cls)
    assert check in found, f"{cls.__name__} passes '{check}'"
    assert re.search(saying, found[check], re.DOTALL), found[check]
    name = cls.__name__
    chance = MAY_FAIL.get(name, set()) | {check}
    others, expected = set(found) - chance, ALSO_FAILS.get(name, set()) - chance
    assert others == expected, {other: found.get(other, "passed") for other in others ^ expected}


@pytest.mark.parametrize("kind", KINDS)
def test_every_check_has_a_mutant_that_only_it_detects(kind: str) -> None:
    """Every mutant has its check: neither can be removed without the other."""
    names = {check.name for check in contract(kind)}
    assert {check for _, check, _ in MUTANTS[kind]} == names
    assert {check for cls, check, _ in MUTANTS[kind] if cls in ALONE} == names


@pytest.mark.parametrize(
    ("kind", "check"), [(kind, check.name) for kind in KINDS for check in contract(kind)]
)
def test_mutant_passes_without_its_check(kind: str, check: str, monkeypatch) -> None:
    mutants = [cls for cls, name, _ in MUTANTS[kind] if name == check and cls in ALONE]
    others = {name: one for name, one in _CHECKS[kind].items() if name != check}
    monkeypatch.setitem(_CHECKS, kind, others)
    assert check not in {one.name for one in contract(kind)}
    assert mutants[0] in FIRST
    with temporarily_registered(kind, mutants[:1]):
        remaining = {case.check.name for case in cases(kind, *examples_of(mutants[0]))}
    assert remaining.isdisjoint(broken(kind, mutants[0])), "another check detects it"


def test_lists_name_existing_mutants() -> None:
    names = [cls.__name__ for kind in KINDS for cls, _, _ in MUTANTS[kind]]
    assert len(set(names)) == len(names)
    assert set(ALSO_FAILS) | set(MAY_FAIL) <= set(names)
