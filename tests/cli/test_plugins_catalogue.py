"""Tests of cli/plugins.py: ``graphbandits list``."""

from __future__ import annotations

import dataclasses
import json
from typing import ClassVar

import pytest
from helpers.command_line import answer, run

import graphbandits
from graphbandits import catalogue
from graphbandits.policies import Needs, as_policy
from graphbandits.registry import registered


def parameters(cls: type) -> list[str]:
    return [field.name for field in dataclasses.fields(cls) if field.init]


@pytest.mark.parametrize(("what", "kind"), [("policies", "policy"), ("graphs", "graph")])
def test_list_has_every_plugin_with_its_description_and_parameters(what: str, kind: str) -> None:
    listing = answer("list", what)
    assert list(listing) == [what]
    assert [entry["name"] for entry in listing[what]] == list(registered(kind))
    for entry in listing[what]:
        cls = registered(kind)[entry["name"]]
        assert entry["description"] in " ".join((cls.__doc__ or "").replace("``", "").split())
        assert entry["description"].endswith(".")
        assert list(entry["parameters"]) == parameters(cls)
        if kind == "policy":
            assert entry["needs"] == dataclasses.asdict(as_policy(entry["name"]).needs)


def test_list_gives_defaults_and_needs() -> None:
    listing = answer("list")
    assert list(listing) == ["policies", "graphs", "worlds", "posteriors", "experiments"]
    graphs = {entry["name"]: entry for entry in listing["graphs"]}
    assert graphs["star"]["parameters"] == {"direction": "both"}
    assert graphs["revealed-er"]["parameters"]["p"] == 0.25
    policies = {entry["name"]: entry for entry in listing["policies"]}
    assert policies["ts-n"]["needs"]["graph"] == "never"
    assert policies["ids-n"]["needs"]["graph"] == "before"


@pytest.mark.parametrize(("what", "kind"), [("worlds", "world"), ("posteriors", "posterior")])
def test_list_has_the_parameters_of_text_forms(what: str, kind: str) -> None:
    """Those of the class method ``of``, not the fields."""
    entries = {entry["name"]: entry for entry in answer("list", what)[what]}
    assert list(entries) == list(registered(kind))
    normal = entries["gaussian" if kind == "world" else "normal"]["parameters"]
    assert {name: normal[name] for name in ("mean", "sd", "noise")} == {
        "mean": 0.0,
        "sd": 1.0,
        "noise": 1.0,
    }
    assert "mean=0.0, sd=1.0, noise=1.0" in run("list", what)


def test_list_shows_the_needs_of_a_new_policy(monkeypatch: pytest.MonkeyPatch) -> None:
    @dataclasses.dataclass(frozen=True)
    class Demanding:
        """Requires much information."""

        draws: int = 3
        needs: ClassVar[Needs] = Needs(graph="after", deterministic=True, fixed=True)

    monkeypatch.setattr(catalogue, "registered", lambda kind: {"demanding": Demanding})
    (entry,) = answer("list", "policies")["policies"]
    needs = {"graph": "after", "deterministic": True, "horizon": False, "fixed": True}
    assert entry["needs"] == needs
    assert entry["parameters"] == {"draws": 3}
    assert "draws=3" in run("list", "policies")


def test_list_prints_what_the_function_returns() -> None:
    assert answer("list") == json.loads(json.dumps(graphbandits.list_available()))


@pytest.mark.parametrize("what", [[], ["policies"], ["graphs"], ["experiments"]])
def test_listing_as_a_table_equals_the_json(what: list[str]) -> None:
    shown = run("list", *what)
    for entries in answer("list", *what).values():
        for entry in entries:
            row = next(line for line in shown.splitlines() if line.split()[:1] == [entry["name"]])
            assert entry["description"] in row
            assert all(name in row for name in entry.get("parameters", []))
            for number in entry.get("size", {}).values():
                ends = (min(number), max(number)) if isinstance(number, list) else (number,)
                assert " to ".join(map(str, ends)) in row
            assert str(entry.get("runs", "")) in row
