"""Tests of cli/_ui.py: the option ``--plugin``."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from helpers.plugin_command_line import MINE, refused, run

from graphbandits.plugins import unload_plugin
from graphbandits.registry import registered


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
    for command in ["list", "check", "simulate"]:
        for content, words in [
            (None, ["plug.py", "No such file"]),
            ("def f(:\n", ["plug.py, line 1", "syntax"]),
            ("import numpy\n\nnumpy.nothing\n", ["plug.py, line 3", "AttributeError", "nothing"]),
            ("x = 1\n", ["plug.py", "registers nothing", "@register"]),
            ("raise SystemExit(3)\n", ["plug.py, line 1", "SystemExit"]),
            (MINE.replace('"mine"', '"ids-n"'), ["plug.py, line 1", "'ids-n'", "another name"]),
            (MINE.replace('"policy"', '"polcy"'), ["'polcy'", "did you mean 'policy'"]),
            (MINE.replace("frozen=True", ""), ["frozen"]),
        ]:
            (plugin_place / "plug.py").unlink(missing_ok=True)
            if content is not None:
                (plugin_place / "plug.py").write_text(content)
            before = set(registered("policy"))
            simulation = (
                "simulate --policy mine --graph empty --horizon 2 --trials 2 --plugin plug.py"
            )
            lines = {
                "list": "list --plugin plug.py",
                "check": "check plug.py",
                "simulate": simulation,
            }
            message = refused(*lines[command].split())
            for word in words:
                assert word in message
            assert set(registered("policy")) == before


def test_unknown_policy_gives_a_hint_about_plug_ins(plugin_place: Path) -> None:
    words = "simulate --policy minne --graph empty --horizon 2 --trials 2 --plugin mine.py"
    assert "did you mean 'mine'" in refused(*words.split())
    unload_plugin("mine.py")
    message = refused(
        *["simulate", "--policy", "mine", "--graph", "empty", "--horizon", "2", "--trials", "2"]
    )
    assert "--plugin FILE" in message
