"""Tests of cli/agent.py and 'agent log': from a store to an estimate."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.bad_input import check_refusal
from helpers.command_line import answer, refused_command, run

from graphbandits import Agent, DecisionLog, evaluate


@pytest.fixture
def log(place: Path) -> DecisionLog:
    """The log of an agent in a.db, also as log.parquet."""
    rng = np.random.default_rng(1)
    agent = Agent("uniform", ["ann", "bob", "eve"], "star", seed=1, store=place / "a.db")
    for _ in range(30):
        one = agent.decide()
        agent.observe(one, {arm: int(rng.random() < 0.5) for arm in one.reveals})
    agent.decide()
    agent.disconnect()
    assert run("agent", "log", "a.db", "--output=log.parquet") == (
        "Wrote 31 decisions to log.parquet.\n"
    )
    return DecisionLog.read("log.parquet")


def test_a_log_is_the_same_as_in_python(log: DecisionLog) -> None:
    with Agent(store="a.db") as agent:
        assert log.to_arrow().equals(agent.log().to_arrow(), check_metadata=True)
    for name in ("log.csv", "log.jsonl"):
        run("agent", "log", "a.db", f"--output={name}")
        assert len(DecisionLog.read(name)) == 31


def test_json_has_the_numbers_of_python(log: DecisionLog) -> None:
    command = ("evaluate", "log.parquet", "--policy=ids-n", '--policy={"ann": 0.5, "bob": 0.5}')
    found: Any = answer(*command, "--estimator=dr", "--level=0.9")
    targets: tuple[Any, ...] = ("ids-n", {"ann": 0.5, "bob": 0.5})
    expected = [evaluate(log, one, estimator="dr", level=0.9).to_dict() for one in targets]
    assert found["evaluations"] == expected


def test_the_table_has_values_intervals_and_warnings(log: DecisionLog) -> None:
    text = run("evaluate", "log.parquet", "--policy=uniform", "--policy=eve")
    found = evaluate(log, "uniform")
    assert f"{found.value:.5g}" in text
    assert f"{found.interval[0]:.5g}, {found.interval[1]:.5g}" in text
    assert "30 decisions, 1 open one left out" in text
    assert "(eve): only 30 decisions: the asymptotic interval is not reliable." in text


def test_logs_of_other_systems_are_read_with_a_graph(place: Path) -> None:
    (place / "other.csv").write_text(
        'arm,pi,outcomes\n1,"{""1"": 0.5, ""2"": 0.5}","{""1"": 1, ""2"": 0}"\n'
    )
    found: Any = answer("evaluate", "other.csv", "--policy=2", "--graph=edges(1-2)", "--arms=1,2")
    assert found["evaluations"][0]["estimator"] == "dr-side"


def test_decisions_before_a_date(place: Path) -> None:
    (place / "log.csv").write_text(
        "arm,probability,reward,time\na,1,1,2026-01-30T12:00+00:00\na,1,0,2026-01-31T12:00+00:00\n"
    )
    command = ("evaluate", "log.csv", "--policy=a", "--estimator=ips")
    for before, value in (("2026-01-31T00:00+00:00", 1.0), ("2026-02-01T00:00+00:00", 0.5)):
        found: Any = answer(*command, f"--before={before}")
        assert found["evaluations"][0]["value"] == value


@pytest.mark.usefixtures("log")
def test_other_bad_input_is_refused(place: Path) -> None:
    for command in [
        "evaluate none.parquet --policy=a",
        'evaluate log.parquet --policy={"ann":1',
        "evaluate log.parquet --policy=ann --estimator=magic",
        "evaluate log.parquet --policy=ann --graph=edges(1-2)",
        "evaluate log.parquet --policy=ann --before=soon",
        "evaluate log.parquet --policy=ann --before=2001-01-01",
        "evaluate a.db --policy=ann",
        "evaluate log.parquet",
        "agent log a.db --output=log.xlsx",
        "agent log a.db",
    ]:
        check_refusal(refused_command(place, command.split()))
