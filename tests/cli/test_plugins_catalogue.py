"""Tests of cli/plugins.py: ``graphbandits list``."""

from __future__ import annotations

import dataclasses

from helpers.command_line import answer, run

from graphbandits.policies import as_policy
from graphbandits.registry import registered


def parameters(cls: type) -> list[str]:
    return [field.name for field in dataclasses.fields(cls) if field.init]


def test_list_has_every_plugin_with_its_description_and_parameters() -> None:
    for what, kind in [("policies", "policy"), ("graphs", "graph")]:
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


def test_list_has_the_parameters_of_text_forms() -> None:
    """Those of the class method ``of``, not the fields."""
    for what, kind in [("worlds", "world"), ("posteriors", "posterior")]:
        entries = {entry["name"]: entry for entry in answer("list", what)[what]}
        assert list(entries) == list(registered(kind))
        normal = entries["gaussian" if kind == "world" else "normal"]["parameters"]
        assert {name: normal[name] for name in ("mean", "sd", "noise")} == {
            "mean": 0.0,
            "sd": 1.0,
            "noise": 1.0,
        }
        assert "mean=0.0, sd=1.0, noise=1.0" in run("list", what)


def test_listing_as_a_table_equals_the_json() -> None:
    for what in [[], ["policies"], ["graphs"], ["experiments"]]:
        shown = run("list", *what)
        for entries in answer("list", *what).values():
            for entry in entries:
                row = next(
                    line for line in shown.splitlines() if line.split()[:1] == [entry["name"]]
                )
                assert entry["description"] in row
                assert all(name in row for name in entry.get("parameters", []))
                for number in entry.get("size", {}).values():
                    ends = (min(number), max(number)) if isinstance(number, list) else (number,)
                    assert " to ".join(map(str, ends)) in row
                assert str(entry.get("runs", "")) in row
