"""Tests of testing/contract.py.

All built-in plug-ins and valid policies pass; exemptions; errors.
"""

from __future__ import annotations

import re
import subprocess
import sys
import textwrap
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from helpers.bad_input import check_refusal, refuses
from helpers.cases import each
from helpers.mutant_policies import AtRandom
from helpers.valid_policies import UCB, VALID_POLICIES, temporarily_registered

import graphbandits.testing
from graphbandits._types import Floats, State
from graphbandits.errors import InputError
from graphbandits.policies import View, as_policy
from graphbandits.registry import registered
from graphbandits.testing import Case, ContractViolation, cases, contract
from graphbandits.testing import policies as checks

KINDS = ("policy", "graph", "posterior", "world")
CHECKS = [(kind, check.name) for kind in KINDS for check in contract(kind)]
#: Plug-ins whose first example runs all checks. Of the others every fifth pair of an example and a
#: check runs here, and all of them in the nightly tests.
REPRESENTATIVES = {
    "policy": {"ids-n", "ts-maxn", "ucb-n"},
    "graph": {"star", "random(r=0.3)"},
    "posterior": set(registered("posterior")),
    "world": {"bernoulli", "gaussian"},
}


@pytest.mark.parametrize(("kind", "check"), CHECKS)
def test_plugins_pass_contract(kind: str, check: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checks, "LONG", 10_000)
    row, seen = CHECKS.index((kind, check)), set()
    for number, case in enumerate(one for one in cases(kind) if one.check.name == check):
        name = str(case).removesuffix(f"-{check}")
        if (name in REPRESENTATIVES[kind] - seen) or (number + row) % 5 == 0:
            case.require()
        seen.add(name)


@pytest.mark.nightly
@pytest.mark.parametrize("kind", KINDS)
def test_all_plugins_pass_contract(kind: str) -> None:
    for case in cases(kind):
        case.require()


@pytest.mark.parametrize(
    "cls",
    [
        pytest.param(cls, marks=() if number % 3 == 0 else pytest.mark.nightly)
        for number, cls in enumerate(VALID_POLICIES)
    ],
    ids=lambda cls: cls.__name__,
)
def test_valid_policies_need_no_exemption(cls: type, monkeypatch) -> None:
    """First-argmax, shared ties, drawn or exact, with every kind of need."""
    monkeypatch.setattr(checks, "LONG", 1000)
    with temporarily_registered("policy", [cls]):
        for case in cases("policy", cls()):
            case.require()


def test_unknown_kind_is_rejected() -> None:
    with refuses(InputError):
        contract("polices")


def test_every_check_is_described_in_one_sentence() -> None:
    for kind in ("policy", "graph", "posterior", "world"):
        for check in contract(kind):
            assert re.fullmatch(r"[^.].*\.", check.promise), check.name


def verdicts(cls: type, names: set[str]) -> dict[str, Any]:
    with temporarily_registered("policy", [cls]):
        chosen = [case for case in cases("policy", cls()) if case.check.name in names]
        return {case.check.name: case.verdict() for case in chosen}


@dataclass(frozen=True)
class Honest(AtRandom):
    """Plays at random, with an exemption."""

    exemptions: ClassVar[dict[str, str]] = {"beats-uniform": "it is uniform"}


@dataclass(frozen=True)
class Anxious(UCB):
    """Has an exemption that it does not need."""

    exemptions: ClassVar[dict[str, str]] = {"degenerate": "one arm is no bandit"}


@dataclass(frozen=True)
class Evasive(UCB):
    """Has an exemption from a check that does not exist."""

    exemptions: ClassVar[dict[str, str]] = {"degenerated": "one arm is no bandit"}


@dataclass(frozen=True)
class Sullen(AtRandom):
    """Has an exemption without a reason."""

    exemptions: ClassVar[dict[str, str]] = {"beats-uniform": " "}


@dataclass(frozen=True)
class Listing(AtRandom):
    """Has a list of exemptions."""

    exemptions: ClassVar[Any] = ["beats-uniform"]


def test_exemption_with_reason_is_accepted() -> None:
    found = verdicts(Honest, {"form", "beats-uniform"})
    assert found["beats-uniform"].outcome == "exempt"
    assert found["beats-uniform"].why.startswith("it is uniform (found: on arms with the means")
    assert found["beats-uniform"].ok
    assert found["form"].outcome == "passed"


def test_unneeded_exemption_fails() -> None:
    verdict = verdicts(Anxious, {"degenerate"})["degenerate"]
    assert verdict.outcome == "needless"
    assert not verdict.ok
    assert "remove 'degenerate' from its exemptions (one arm is no bandit)" in verdict.why
    with (
        temporarily_registered("policy", [Anxious]),
        refuses(ContractViolation),
    ):
        next(c for c in cases("policy", Anxious()) if c.check.name == "degenerate").require()


@each("cls", [Evasive, Sullen, Listing])
def test_invalid_exemptions_fail_the_form_check(cls: type) -> None:
    verdict = verdicts(cls, {"form"})["form"]
    assert verdict.outcome == "failed"
    check_refusal(verdict.why)


@dataclass(frozen=True)
class Buggy(UCB):
    """Fails in round 7."""

    def propose(self, state: State, view: View) -> Floats:
        return super().propose(state, view) if view.t < 7 else 1 / 0  # type: ignore[return-value]


def test_error_of_policy_is_shown_with_round_and_line() -> None:
    place = r"policy 'Buggy' failed in round (\d+), in propose: .*test_contract.py, line \d+: "
    names = {check.name for check in contract("policy")} - {"form", "long-run"}
    for name, found in verdicts(Buggy, names).items():
        assert found.outcome == "failed", name
        match = re.search(place + "ZeroDivisionError: division by zero", found.why)
        assert match, (name, found.why)
        assert match[1] == "7", name


def test_errors_of_graphs_and_posteriors_are_shown_with_line() -> None:
    from helpers.mutant_graphs import Slope

    @dataclass(frozen=True)
    class Unfinished(Slope):
        """Fails when it is made."""

        def process(self, arms: int | None) -> Any:
            return undefined_name  # type: ignore[name-defined]  # noqa: F821

    with temporarily_registered("graph", [Unfinished]):
        why = next(iter(cases("graph", Unfinished()))).verdict().why
    assert re.search(r"test_contract.py, line \d+: NameError: .*undefined_name", why)


def test_global_random_generators_are_unchanged() -> None:
    import random

    np.random.seed(3)  # noqa: NPY002
    random.seed(3)
    before = random.getstate(), np.random.get_state()[1].tolist()  # noqa: NPY002
    next(
        c for c in cases("policy", as_policy("ts-n")) if c.check.name == "own-randomness"
    ).require()
    assert (random.getstate(), np.random.get_state()[1].tolist()) == before  # noqa: NPY002


def test_example_of_documentation_runs(tmp_path: Path) -> None:
    """The three lines in the docstring of the package, as a test file."""
    text = textwrap.dedent((graphbandits.testing.__doc__ or "").split("::\n")[1])
    (tmp_path / "test_mine.py").write_text(f"import graphbandits.testing\nimport pytest\n\n{text}")
    words = ["-q", "-p", "no:cacheprovider", "-k", "ts-n-form or idsn-lp-state", str(tmp_path)]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *words], capture_output=True, text=True, check=False
    )
    assert "2 passed" in done.stdout, done.stdout


@dataclass(frozen=True)
class Mixed(UCB):
    """With eps = 1 it is uniform, and only then."""

    eps: float = 0.0
    exemptions: ClassVar[dict[str, str]] = {"beats-uniform": "uniform with eps = 1"}

    @classmethod
    def examples(cls) -> list[Mixed]:
        return [cls(), cls(eps=1.0)]

    def propose(self, state: State, view: View) -> Floats:
        pi = super().propose(state, view)
        return (1.0 - self.eps) * pi + self.eps / view.problem.arms


def test_exemption_is_needed_if_one_example_needs_it() -> None:
    (check,) = (one for one in contract("policy") if one.name == "beats-uniform")
    with temporarily_registered("policy", [Mixed]):
        outcomes = [Case(check, example).verdict().outcome for example in Mixed.examples()]
    assert outcomes == ["passed", "exempt"]
