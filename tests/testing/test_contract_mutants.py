"""Tests of testing/contract.py: every check detects mutants that no other check detects."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

import pytest
from helpers.cases import each
from helpers.contract_mutants import ALSO_FAILS, MAY_FAIL, MUTANTS
from helpers.valid_policies import temporarily_registered

from graphbandits.registry import examples_of, registered
from graphbandits.testing import cases, contract
from graphbandits.testing import policies as checks
from graphbandits.testing.contract import _CHECKS

KINDS = list(MUTANTS)
ALONE = {cls for kind in KINDS for cls, _, _ in MUTANTS[kind] if cls.__name__ not in ALSO_FAILS}
CHECKS = [(kind, name) for kind in KINDS for name in dict.fromkeys(n for _, n, _ in MUTANTS[kind])]
#: Further mutants of these checks run in the nightly tests only.
SLOW = {"block-workers-order", "relabelling", "long-run", "beats-uniform", "save-load", "beliefs"}


def mutants_of(kind: str, check: str) -> list[tuple[type, str]]:
    """Return the mutants of a check, with the texts of their messages."""
    return [(cls, saying) for cls, name, saying in MUTANTS[kind] if name == check]


@cache
def failed_check(kind: str, cls: type, check: str) -> str:
    """Return the message of a check about all examples of a class; empty if it passes."""
    rounds = checks.LONG
    long = check == "long-run" and any(cls is other for other, _ in mutants_of(kind, check))
    checks.LONG = rounds if long else 500  # 100,000 rounds only for mutants that need them
    try:
        with temporarily_registered(kind, [cls]):
            chosen = [c for c in cases(kind, *examples_of(cls)) if c.check.name == check]
            return next((one.why for one in (c.verdict() for c in chosen) if not one.ok), "")
    finally:
        checks.LONG = rounds


def broken(kind: str, cls: type) -> dict[str, str]:
    """Return the checks of the current contract that a class fails, with their messages."""
    found = {check.name: failed_check(kind, cls, check.name) for check in contract(kind)}
    return {name: why for name, why in found.items() if why}


@pytest.fixture(autouse=True)
def registry_is_unchanged() -> Iterator[None]:
    before = {kind: registered(kind) for kind in KINDS}
    yield
    assert {kind: registered(kind) for kind in KINDS} == before


@pytest.mark.parametrize(("kind", "check"), CHECKS)
def test_check_detects_its_mutants(kind: str, check: str) -> None:
    for cls, saying in mutants_of(kind, check)[: 1 if check in SLOW else None]:
        found = failed_check(kind, cls, check)
        assert found, f"{cls.__name__} passes '{check}'"
        assert re.search(saying, found, re.DOTALL), (cls.__name__, found)


@pytest.mark.nightly
@pytest.mark.parametrize("kind", KINDS)
def test_mutants_fail_their_check_and_no_other(kind: str) -> None:
    for cls, check, saying in MUTANTS[kind]:
        found, name = broken(kind, cls), cls.__name__
        assert check in found, f"{name} passes '{check}'"
        assert re.search(saying, found[check], re.DOTALL), (name, found[check])
        chance = MAY_FAIL.get(name, set()) | {check}
        others, expected = set(found) - chance, ALSO_FAILS.get(name, set()) - chance
        assert others == expected, (name, {one: found.get(one) for one in others ^ expected})


@each("kind", KINDS)
def test_every_check_has_a_mutant_that_only_it_detects(kind: str) -> None:
    """Every mutant has its check: neither can be removed without the other."""
    names = {check.name for check in contract(kind)}
    assert {check for _, check, _ in MUTANTS[kind]} == names
    assert {check for cls, check, _ in MUTANTS[kind] if cls in ALONE} == names


@pytest.mark.nightly
@each("kind", KINDS)
def test_mutants_pass_without_their_check(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = dict(_CHECKS[kind])
    for check in whole:
        alone = next(cls for cls, _ in mutants_of(kind, check) if cls in ALONE)
        others = {name: one for name, one in whole.items() if name != check}
        monkeypatch.setitem(_CHECKS, kind, others)
        assert not broken(kind, alone), f"another check than '{check}' detects {alone.__name__}"
    monkeypatch.setitem(_CHECKS, kind, whole)


def test_lists_name_existing_mutants() -> None:
    names = [cls.__name__ for kind in KINDS for cls, _, _ in MUTANTS[kind]]
    assert len(set(names)) == len(names)
    assert set(ALSO_FAILS) | set(MAY_FAIL) <= set(names)
