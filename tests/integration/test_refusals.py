"""Refused input of every kind: one sentence that names the argument, key, option, file or line."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from helpers.bad_input import check_refusal, refused
from helpers.command_line import RUNNER, run

from graphbandits import (
    Agent,
    as_process,
    evaluate,
    inspect_decision,
    load_plugin,
    open_study,
    simulate,
)
from graphbandits.cli import app

EXPERIMENT = 'title = "T"\ngraph = "paper"\nhorizon = 9\ntrials = 2\npolicies = ["ts-n"]\n'


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    run("agent", "init", "a.db", "--policy=ids-n", "--graph=star", "--arms=ann,bob,eve")
    Path("twice.csv").write_text("source,target,probability\na,b,1\nb,c,2\n")
    Path("edges.txt").write_text("a b\na b 0.5\n")
    Path("broken.py").write_text("x = 1\nimport nothing_of_this_name\n")
    Path("text.txt").write_text("no database")
    return tmp_path


def simulated(*policies: str, **changes: Any) -> Callable[[], object]:
    settings = {"graph": "star", "arms": 3, "horizon": 5, "trials": 2, "workers": 1} | changes
    return lambda: simulate(policies or "ts-n", **settings)


def agent(**changes: Any) -> Callable[[], object]:
    return lambda: Agent(**{"policy": "ids-n", "arms": 3, "graph": "star", "seed": 1} | changes)


def decided(change: Callable[[Agent, Any], object]) -> Callable[[], object]:
    def call() -> object:
        agent = Agent("ids-n", ["ann", "bob", "eve"], "star", seed=1)
        return change(agent, agent.decide())

    return call


PYTHON: dict[Callable[[], object], tuple[str, ...]] = {
    simulated("idsn"): ("unknown policy 'idsn'", "did you mean 'ids-n'"),
    simulated("ids-n(x=1)"): ("'ids-n'", "no parameter 'x'"),
    simulated("ucb-lp", graph="random(r=0.5)"): ("policy 'ucb-lp' needs", "suitable policies"),
    simulated(graph="sta"): ("unknown graph 'sta'", "did you mean 'star'"),
    simulated(graph="paper", arms=4): ("5 arms", "4"),
    simulated(graph="edges(1-2 2=3)"): ("'edges(1-2 2=3)'", "key=value"),
    simulated(graph=[[1, 2], [0, 1]]): ("[0, 1]", "2"),
    simulated(graph="file:none.csv"): ("none.csv", "No such file"),
    simulated(graph="file:twice.csv"): ("twice.csv, line 3", "[0, 1]"),
    simulated(graph="file:edges.txt"): ("edges.txt, line 2", "a"),
    simulated(horizon=0): ("horizon", "at least 1", "not 0"),
    simulated(trials=2.5): ("trials", "whole number", "2.5"),
    simulated(seed=-1): ("seed", "at least 0", "-1"),
    simulated(workers=0): ("workers", "at least 1", "not 0"),
    simulated(world="bernouli"): ("unknown world 'bernouli'", "'bernoulli'"),
    simulated(record="everything"): ("record", "'everything'"),
    simulated(delay=[3]): ("delay", "[3]"),
    simulated(answer_rate=2): ("answer_rate", "2"),
    simulated(parallel="threat"): ("parallel", "'threat'"),
    agent(policy="ids-m"): ("unknown policy 'ids-m'", "did you mean 'ids-n'"),
    agent(arms=["ann", "bob", "ann"]): ("'ann'", "distinct"),
    agent(arms=0): ("arms", "at least 1", "0"),
    agent(graph="paper"): ("5 arms", "3"),
    agent(graph="star", arms=None): ("'star'", "arms=..."),
    agent(expires="1 h"): ("expires", "seconds", "'1 h'"),
    agent(accuracy="high"): ("'simulation' or 'strict'", "'high'"),
    agent(store="none/a.db"): ("none/a.db", "no directory"),
    agent(store="text.txt"): ("text.txt", "SQLite"),
    decided(lambda agent, made: agent.observe(made, {"zoe": 1})): ("unknown arm 'zoe'", "eve"),
    decided(lambda agent, made: agent.observe(made, {made.arm: 0.5})): ("0 or 1", "0.5"),
    decided(lambda agent, made: agent.observe("7-x", {"ann": 1})): ("decision", "'7-x'"),
    decided(lambda agent, made: agent.decide(n=0)): ("n must be", "0"),
    decided(lambda agent, made: agent.pause("zoe")): ("unknown arm 'zoe'", "eve"),
    decided(lambda agent, made: agent.set_policy("ids-m")): ("unknown policy 'ids-m'", "'ids-n'"),
    lambda: as_process(5): ("graph", "int"),  # type: ignore[arg-type]
    lambda: inspect_decision([(1, 1), (1, 0)], graph="star"): ("Beta parameter", "0"),
    lambda: evaluate("none.parquet", "uniform"): ("none.parquet", "No such file"),
    lambda: load_plugin("broken.py"): ("broken.py, line 2", "nothing_of_this_name"),
    lambda: load_plugin("none.py"): ("none.py", "No such file"),
    lambda: open_study("nowhere"): ("nowhere", "does not exist"),
}


def test_refusals_in_python(place: Path) -> None:
    for call, words in PYTHON.items():
        refused(call, *words)


def refused_command(line: str) -> str:
    result = RUNNER.invoke(app, line.split())
    assert (result.exit_code, result.stdout) == (2, ""), line
    assert result.stderr.startswith("Error: ")
    check_refusal(result.stderr)
    return result.stderr


#: Changes of an experiment file, and what the message names.
EXPERIMENTS: dict[tuple[str, str], tuple[str, ...]] = {
    ("horizon = 9", "horizon = -9"): ("horizon", "-9"),
    ("horizon = 9", 'horizon = "x"'): ("horizon", "x"),
    ("horizon = 9\n", ""): ("horizon", "required"),
    ("trials", "trails"): ("trails",),
    ("title", "title = 3 #"): ("title",),
    ('"ts-n"', '"tsn"'): ("policies", "'tsn'", "did you mean 'ts-n'"),
    ('"ts-n"', '"ts-n", "ts-n"'): ("policy", "ts-n"),
    ('"paper"', '"papr"'): ("graph", "'papr'", "did you mean 'paper'"),
    ("trials = 2", "trials = 2\n[[sweeps]]\nvalues = [1]"): ("sweeps", "parameter"),
    ("trials = 2", "trials 2"): ("line 4",),
}


def test_refusals_of_experiment_files(place: Path) -> None:
    for change, words in EXPERIMENTS.items():
        (place / "bad.toml").write_text(EXPERIMENT.replace(*change))
        message = refused_command("run bad.toml")
        assert all(word in message for word in ("bad.toml", *words)), message


#: Command lines, and what the message names.
COMMANDS = {
    "simulate --policy idsn --graph paper --horizon 3 --trials 2": ("unknown policy 'idsn'",),
    "simulate --policy ids-n": ("--graph",),
    "simulate --policy ids-n --graph paper --trials 2 --horizon x": ("--horizon", "'x'"),
    "simulate --policy ids-n --graph paper --horizn 3": ("--horizn", "--horizon"),
    "simulate --policy ids-n --graph file:none.csv --horizon 3 --trials 2": ("none.csv",),
    "simulat": ("simulat", "simulate"),
    "run none.toml": ("none.toml",),
    "run paper-1x": ("paper-1x", "paper-1a"),
    "reproduce --figure 3": ("'3'", "1a"),
    "inspect --beta 1 --graph star": ("Beta(A, B)", "'1'"),
    "graph sta": ("unknown graph 'sta'", "'star'"),
    "check none.py": ("none.py",),
    "evaluate none.parquet --policy uniform": ("none.parquet",),
    "agent decide none.db": ("none.db",),
    "agent decide a.db --name other": ("'other'", "a.db"),
    "agent observe a.db 7-x ann=1": ("'7-x'",),
    "agent pause a.db zoe": ("unknown arm 'zoe'",),
    "agent init a.db --policy ids-n --graph star --arms ann,bob": ("a.db", "'default'"),
    "serve a.db --port 0": ("--port", "0"),
    "report nowhere": ("nowhere",),
}


def test_refusals_of_commands(place: Path) -> None:
    for line, words in COMMANDS.items():
        message = refused_command(line)
        assert all(word in message for word in words), message


#: Lines of the JSON protocol, and what the message names.
LINES = {
    '{"op": "decide"': ("JSON", "character"),
    '{"op": "decid"}': ("'decid'", "decide"),
    '{"op": "decide", "m": 2}': ("'m'",),
    '{"op": "decide", "n": 0}': ("'n' must be", "0"),
    '{"op": "decide", "op": "status"}': ("'op'", "twice"),
    '{"op": "observe", "outcomes": {"ann": 1}}': ("id",),
    '{"op": "observe", "id": "7-x", "outcomes": {"ann": 1}}': ("'7-x'",),
    '{"op": "learn", "outcomes": {"ann": 2}}': ("'ann'", "0 or 1", "2"),
    '{"op": "pause", "arms": ["zoe"]}': ("unknown arm 'zoe'",),
    '{"op": "set_graph", "graph": "sta"}': ("unknown graph 'sta'",),
}


def test_refusals_of_the_json_protocol(place: Path) -> None:
    result = RUNNER.invoke(app, ["agent", "run", "a.db"], input="\n".join(LINES))
    answers = [json.loads(line) for line in result.stdout.splitlines()]
    for answer, (line, words) in zip(answers, LINES.items(), strict=True):
        assert not answer["ok"], line
        check_refusal(answer["error"])
        assert all(word in answer["error"] for word in words), (line, answer)
