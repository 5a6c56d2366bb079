"""Tests of service/routes.py: counts in the text format of Prometheus."""

from __future__ import annotations

import re
from typing import Any

from graphbandits import Agent, __version__
from graphbandits.service.routes import _METRICS, prometheus_text

_LINE = re.compile(r"([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? (\S+)")
_LABEL = re.compile(r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\["\\n])*)"(,|$)')


def parse(text: str) -> tuple[dict[tuple[str, str], float], dict[str, str]]:
    """Read the text format: values by metric and label, and the type of each metric."""
    assert text.endswith("\n")
    values, types, described = {}, {}, set()
    for line in text.removesuffix("\n").split("\n"):
        if line.startswith("# HELP "):
            name, words = line.removeprefix("# HELP ").split(" ", 1)
            assert words.endswith(".")
            described.add(name)
        elif line.startswith("# TYPE "):
            name, kind = line.removeprefix("# TYPE ").split(" ")
            assert name in described
            assert name not in types
            types[name] = kind
        else:
            match = _LINE.fullmatch(line)
            assert match, line
            name, labels, value = match.groups()
            assert name in types
            label = _LABEL.fullmatch(labels)
            assert label, labels
            plain = re.sub(r"\\(.)", lambda one: {"n": "\n"}.get(one[1], one[1]), label[2])
            assert (name, plain) not in values
            values[name, plain] = float(value)
    return values, types


def test_counts_are_those_of_the_status() -> None:
    now = 0.0
    agent = Agent("ts-n", ["ann", "bob"], "star", seed=1, name="banner", clock=lambda: now)
    for expires in (None, 5.0, 5.0, 50.0):
        made = agent.decide(expires=expires)
    agent.observe(made, {made.arm: 1}, partial=True)
    agent.learn({"ann": (1, 3)})
    now = 10.0
    agent.observe(agent.decisions()[-2]["id"], {"ann": 1})
    agent.pause("bob")
    status = agent.status()
    values, types = parse(prometheus_text([status]))
    assert values["graphbandits_agent_up", "banner"] == 1
    wanted = {
        "decisions_total": 4,
        "open_decisions": 2,
        "expired_decisions_total": 2,
        "outcomes_total": 1,
        "learned_total": 3,
        "late_outcomes_total": 1,
        "arms": 2,
        "journal_entries_total": status["entries"],
    }
    assert {name: values[f"graphbandits_{name}", "banner"] for name in wanted} == wanted
    assert len(values) == len(wanted) + 2
    assert values["graphbandits_info", __version__] == 1
    for name, kind in types.items():
        assert (kind == "counter") == name.endswith("_total")


def test_names_are_escaped() -> None:
    for name in ['a"b', "a\\b", "\\", '\\"', "a}b{c=", "é 日本 🎰", "# HELP", "\\n"]:
        statuses = [
            dict.fromkeys([key for key, *_ in _METRICS], 7) | {"name": one} for one in (name, "b")
        ]
        values, _ = parse(prometheus_text(statuses))
        assert {label for metric, label in values if metric != "graphbandits_info"} == {name, "b"}
        assert set(values.values()) == {7.0, 1.0}


def test_every_count_of_the_status_has_a_metric() -> None:
    status: dict[str, Any] = Agent("ts-n", 2).status()
    counts = {key for key, value in status.items() if isinstance(value, int)}
    assert {key for key, *_ in _METRICS} == counts
