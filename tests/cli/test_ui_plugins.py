"""Tests of cli/_ui.py: the option ``--plugin``."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from helpers.plugin_command_line import refused, run

from graphbandits.plugins import unload_plugin


def test_a_plug_in_is_listed_with_its_parameters(plugin_place: Path) -> None:
    listing = json.loads(run("list", "--plugin", "mine.py", "--json"))
    (mine,) = (entry for entry in listing["policies"] if entry["name"] == "mine")
    assert mine["description"] == "As Thompson sampling."
    assert mine["parameters"] == {"c": 0.5}
    assert "two-ways" in {entry["name"] for entry in listing["graphs"]}


def test_a_bayesian_plug_in_is_inspected(plugin_place: Path) -> None:
    words = ["inspect", "--beta", "3,2", "--beta", "1,4", "--graph", "two-ways"]
    shown = json.loads(run(*words, "--plugin", "mine.py", "--json"))
    assert shown["pi"]["mine"] == shown["pi"]["ts-n"]
    assert shown["gain"]["bound"][0] == pytest.approx(shown["h"][0] + 0.25 * shown["h"][1])


def test_a_bad_plug_in_is_refused_with_its_line(plugin_place: Path) -> None:
    (plugin_place / "plug.py").write_text("import numpy\n\nnumpy.nothing\n")
    size = "--graph empty --horizon 2 --trials 2"
    for line in (
        "list --plugin plug.py",
        "check plug.py",
        f"simulate --policy mine {size} --plugin plug.py",
    ):
        message = refused(*line.split())
        assert "plug.py, line 3" in message
        assert "AttributeError" in message


def test_unknown_policy_gives_a_hint_about_plug_ins(plugin_place: Path) -> None:
    words = "simulate --policy minne --graph empty --horizon 2 --trials 2 --plugin mine.py"
    assert "did you mean 'mine'" in refused(*words.split())
    unload_plugin("mine.py")
    message = refused(
        *["simulate", "--policy", "mine", "--graph", "empty", "--horizon", "2", "--trials", "2"]
    )
    assert "--plugin FILE" in message
