"""Tests of cli/agent.py: live agents on the command line."""

from __future__ import annotations

import json
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from helpers.bad_input import check_refusal
from helpers.command_line import RUNNER, answer, read_json, refused_command, run

from graphbandits import Agent
from graphbandits.cli import app
from graphbandits.live.requests import MOST_BYTES

INIT = ("agent", "init", "a.db", "--policy=ids-n", "--graph=complete", "--seed=1")
COMMAND = [sys.executable, "-m", "graphbandits", "agent"]


def agent(*args: object) -> str:
    """Run a command of the agent in a.db, and return its output."""
    command, *more = args
    return run("agent", command, "a.db", *more)


def decide(*args: object) -> list[dict[str, Any]]:
    return [read_json(line) for line in agent("decide", *args).splitlines()]


def status() -> dict[str, Any]:
    found: dict[str, Any] = answer("agent", "status", "a.db")
    return found


@pytest.fixture
def store(place: Path) -> Path:
    """A store a.db in the working directory, with an agent of three named arms."""
    run(*INIT, "--arms=ann,bob,eve")
    return place


def serve(lines: str | bytes) -> list[dict[str, Any]]:
    """Return the answers of 'agent run' to its input."""
    result = RUNNER.invoke(app, ["agent", "run", "a.db"], input=lines)
    assert result.exit_code == 0, result.stderr
    assert result.stderr == ""
    return [read_json(line) for line in result.stdout.splitlines()]


# --- one command --------------------------------------------------------------------------------


def test_commands_of_the_issue(place: Path) -> None:
    made = run(*INIT, "--arms", 4)
    assert made == "Created agent 'default': ids-n, 4 arms, seed 1.\n"
    [decision] = decide()
    assert decision["arm"] == Agent("ids-n", 4, "complete", seed=1).decide().arm
    assert decision["reveals"] == {"0": 1.0, "1": 1.0, "2": 1.0, "3": 1.0}
    assert agent("observe", decision["id"], "0=1", "1=0", "--partial") == ""
    found = status()
    assert (found["decisions"], found["open"], found["outcomes"], found["arms"]) == (1, 1, 2, 4)
    assert agent("observe", decision["id"], "0=1", "3=1") == ""  # one outcome is known
    found = status()
    assert (found["decisions"], found["open"], found["outcomes"]) == (1, 0, 3)


def test_options_of_init_reach_the_agent(place: Path) -> None:
    agent(
        "init", "--policy=ids-n", "--arms=ann, bob", "--prior=2,5", "--prior=1,9", "--expires=1.5h"
    )
    agent("init", "--policy=ucb-lp", "--graph=edges(1-2)", "--arms=2", "--horizon=50", "--name=two")
    found = Agent(store="a.db")
    assert found.arms == ("ann", "bob")
    assert found.state == {"a": {"ann": 2.0, "bob": 1.0}, "b": {"ann": 5.0, "bob": 9.0}}
    made = found.decide()
    assert made.expires is not None
    assert (made.expires - made.time).total_seconds() == 5400
    two = Agent(store="a.db", name="two")
    assert (two.horizon, two.arms) == (50, (0, 1))
    assert found.seed != two.seed
    normal = ["init", "--posterior=normal(noise=2)", "--policy=ts-n", "--arms=2", "--name=three"]
    agent(*normal, "--prior=mean=3")
    assert Agent(store="a.db", name="three").state["mean"] == {0: 3.0, 1: 3.0}
    assert agent("list") == "default\nthree\ntwo\n"
    assert answer("agent", "list", "a.db") == {"agents": ["default", "three", "two"]}


def test_options_of_decide_reach_the_agent(store: Path) -> None:
    both = decide("--n", 2, "--distinct", "--exclude=bob", "--context", '{"day": 3}')
    assert sorted(one["arm"] for one in both) == ["ann", "eve"]
    assert both[0]["context"] == {"day": 3}
    [one] = decide("--among=bob", "--among=eve", "--graph=empty", "--expires=60", "--pi")
    assert one["arm"] in ("bob", "eve")
    assert one["reveals"] == {one["arm"]: 1.0}
    assert sum(one["pi"].values()) == pytest.approx(1.0)
    assert "expires" in one
    decide("--pending=expected")
    assert status()["open"] == 4


def test_outcomes_as_words_and_as_json_are_the_same(store: Path) -> None:
    shutil.copy("a.db", "b.db")
    for place, outcomes in (
        ("a.db", ["ann=1", "bob=3,10"]),
        ("b.db", ["--outcomes", '{"ann": 1, "bob": [3, 10]}']),
    ):
        id_ = read_json(run("agent", "decide", place))["id"]
        run("agent", "observe", place, id_, *outcomes)
    one, other = Agent(store="a.db"), Agent(store="b.db")
    assert one.state == other.state
    assert one.state["b"] == {"ann": 1.0, "bob": 8.0, "eve": 1.0}


def test_arms_of_an_outcome_may_contain_an_equals_sign(place: Path) -> None:
    agent("init", "--policy=ids-n", "--arms=x=y,-z")
    [made] = decide("--among=x=y")
    agent("observe", made["id"], "x=y=1")
    [made] = decide("--among=-z")
    agent("observe", made["id"], "--", "-z=0")
    assert Agent(store="a.db").state["a"] == {"x=y": 2.0, "-z": 1.0}


def test_changes_of_the_world(store: Path) -> None:
    agent("add-arm", "joe", "--prior=1,9", "--edge=ann", "--reveals=bob=0.5", "--revealed-by=eve")
    joe = Agent(store="a.db").decide(among=["joe"])
    assert joe.reveals == {"ann": 1.0, "bob": 0.5, "joe": 1.0}
    agent("close", joe.id)
    agent("pause", "ann", "bob")
    agent("resume", "bob")
    agent("retire", "eve")
    found = status()
    assert (found["paused"], found["retired"], found["arms"], found["open"]) == (
        ["ann"],
        ["eve"],
        4,
        0,
    )
    agent("set-graph", "edges(1-2)")
    assert decide("--among=bob")[0]["reveals"] == {"ann": 1.0, "bob": 1.0}
    agent("set-policy", "ts-n")
    assert status()["policy"] == "ts-n"
    agent("reset")
    assert status()["open"] == 0


def test_numbered_arm_is_added(place: Path) -> None:
    run(*INIT, "--arms=2")
    agent("add-arm", "2")
    assert Agent(store="a.db").arms == (0, 1, 2)


def test_learn_from_a_file_and_from_json(store: Path) -> None:
    (store / "old.csv").write_text("arm,reward\nann,1\nann,0\neve,1\n")
    assert agent("learn", "old.csv", "--key=old") == "Learned 3 outcomes.\n"
    assert (
        agent("learn", "old.csv", "--key=old")
        == "Learned 0 outcomes: the data 'old' were learned before.\n"
    )
    assert agent("learn", "--outcomes", '{"bob": [3, 10]}') == "Learned 10 outcomes.\n"
    assert agent("learn", "--outcomes", '[{"arm": "bob", "reward": 1}]') == "Learned 1 outcome.\n"
    assert Agent(store="a.db").state["a"] == {"ann": 2.0, "bob": 5.0, "eve": 2.0}


def test_status_as_text_has_the_same_values(store: Path) -> None:
    agent("pause", "ann", "eve")
    rows = dict(re.findall(r"^ *(\w+) +(\S.*?) *$", agent("status"), re.MULTILINE))
    shown = {key: ", ".join(v) if isinstance(v, list) else str(v) for key, v in status().items()}
    assert rows == {key: value for key, value in shown.items() if value}


def test_health(store: Path) -> None:
    agent("observe", decide()[0]["id"], "ann=1", "bob=0")
    decide()
    found = answer("agent", "health", "a.db")
    assert found | {"oldest": 0, "median": 0} == Agent(store="a.db").health().to_dict() | {
        "oldest": 0,
        "median": 0,
    }
    shown = agent("health")
    assert shown.startswith("ok: nothing unusual was found.\nNote: answers that are missing")
    rows = dict(re.findall(r"^ *([a-z][\w ().]*?)  +(\S.*?) *$", shown, re.MULTILINE))
    for key in ("decisions", "open", "expired", "unanswered", "outcomes", "learned", "late"):
        assert rows[key] == str(found[key])
    assert re.search(r"^ eve +1 +0 +0 +no *$", shown, re.MULTILINE)
    assert re.search(r"^ ann +1 +1 +1 +600 +no +0.66667 +1 *$", shown, re.MULTILINE)
    assert float(rows["highest average ratio"]) == pytest.approx(1.0)
    assert "one arm alone needs a higher ratio" in shown


def test_health_with_a_warning_ends_with_code_1(store: Path) -> None:
    agent("learn", "--outcomes", '{"ann": [60, 60]}')
    agent("learn", "--outcomes", '{"ann": [0, 60]}')
    for more in ([], ["--json"]):
        result = RUNNER.invoke(app, ["agent", "health", "a.db", *more])
        assert result.exit_code == 1
        assert "the outcomes of ann contradict its posterior" in " ".join(result.stdout.split())
    assert RUNNER.invoke(app, ["agent", "health", "a.db", "--level=1e-40"]).exit_code == 0


def test_history(store: Path) -> None:
    [made] = decide("--context", '"x"')
    agent("observe", made["id"], "ann=1", "bob=3,10")
    entries = [read_json(line) for line in agent("history", "--json").splitlines()]
    assert entries == Agent(store="a.db").history()
    assert [entry["kind"] for entry in entries] == ["create", "decide", "observe"]
    shown = agent("history")
    assert "ann=1, bob=3,10, closes" in shown
    assert shown.count(made["id"]) == 2
    assert "context x" in shown
    last = agent("history", "--last=1")
    assert ("observe" in last, "decide" in last) == (True, False)


def test_care_of_the_store(store: Path) -> None:
    decide("--n", 3)
    before = status()
    assert agent("verify") == "Replayed 4 entries: the state is the same.\n"
    assert agent("backup", "copy.db") == "Copied 1 agent.\n"
    assert run("agent", "verify", "copy.db") == "Replayed 4 entries: the state is the same.\n"
    assert agent("compact") == ""
    assert agent("forget", "--before=2001-01-01") == "Removed 0 entries.\n"
    assert agent("forget", "--before=2999-01-31T12:00+01:00") == "Removed 4 entries.\n"
    assert agent("history", "--json") == ""
    assert status() == before
    assert answer("agent", "status", "copy.db") == before


def test_plugin_policies(plugin_place: Path) -> None:
    run("agent", "init", "a.db", "--policy=mine", "--arms=3", "--plugin=mine.py")
    made = read_json(run("agent", "decide", "a.db", "--plugin=mine.py"))
    run("agent", "observe", "a.db", made["id"], f"{made['arm']}=1", "--plugin=mine.py")
    assert answer("agent", "status", "a.db", "--plugin=mine.py")["outcomes"] == 1


# --- refused commands ---------------------------------------------------------------------------


def test_invalid_commands_are_refused(store: Path) -> None:
    (store / "text.txt").write_text("not a database, and long enough to have a header\n" * 9)
    for args in [
        ["decide", "no.db"],
        ["health", "no.db"],
        ["run", "no.db"],
        ["list", "no.db"],
        ["verify", "folder/no.db"],
        ["init", "no.db", "--policy=ids-n", "--arms=ann,,bob"],
        ["init", "mysql://me:secret@host/db", "--policy=ids-n", "--arms=2"],
        ["init", "a.db", "--policy=ts-n", "--arms=2"],
        ["init", "text.txt", "--policy=ids-n", "--arms=2"],
        ["decide", "a.db", "--context=NaN"],
        ["observe", "a.db", "1-0123456789ab", "ann=1", "--outcomes={}"],
        ["observe", "a.db", "1-0123456789ab", "ann=x"],
        ["observe", "a.db", "1-0123456789ab", "ann=nan"],
        ["observe", "a.db", "1-0123456789ab", "ann=1"],
        ["observe", "a.db", "1-0123456789ab", "--outcomes=[1]"],
        ["learn", "a.db", "text.txt", "--outcomes={}"],
        ["add-arm", "a.db", "ann"],
        ["add-arm", "a.db", "joe", "--edge=bob=0.5,1"],
        ["set-policy", "a.db", "ucb-n"],
        ["backup", "a.db", "a.db"],
    ]:
        check_refusal(refused_command(store, ["agent", *args]))


def test_commands_with_invalid_options_are_refused(store: Path) -> None:
    for args, words in [
        (["init", "no.db", "--arms=2"], ["--policy"]),
        (["init", "no.db", "--policy=ts-n", "--arms=2", "--expires=soon"], ["'soon'", "12h"]),
        (["decide", "a.db", "--n=x"], ["'x' is not an integer"]),
        (["learn", "a.db", "missing.csv"], ["missing.csv", "No such file"]),
        (["pause", "a.db"], ["ARM"]),
        (["forget", "a.db"], ["--before"]),
        (["forget", "a.db", "--before=yesterday"], ["'yesterday'", "2026-01-31"]),
        (["clos", "a.db"], ["'clos'", "close"]),
    ]:
        message = refused_command(store, ["agent", *args])
        assert all(word in message for word in words), message


# --- agent run ----------------------------------------------------------------------------------


def test_run_answers_each_line(store: Path) -> None:
    lines = b'{"op": "decide"}\r\n\n  \t\n\xff\n{"op": "status"}\nnonsense\n{"op": "reset"}'
    decided, invalid, found, nonsense, last = serve(lines)
    assert decided["ok"]
    assert found["status"]["decisions"] == 1
    assert last == {"ok": True}
    check_refusal(invalid["error"])
    check_refusal(nonsense["error"])


def test_run_refuses_a_long_line_and_goes_on(store: Path) -> None:
    for size in (MOST_BYTES + 1, MOST_BYTES + 2, 2 * MOST_BYTES + 2, 2 * MOST_BYTES + 3):
        refused, found = serve(b" " * (size - 1) + b"x\n" + b'{"op": "status"}\n')
        assert refused["error"] == "a request has at most 16,777,216 bytes: divide it into several"
        assert found["ok"]
    line = b'{"op": "status"}'
    assert [one["ok"] for one in serve(line.ljust(MOST_BYTES - 1) + b"\n")] == [True]


def test_output_of_a_plugin_is_not_an_answer(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    status_of = Agent.status

    def loud(self: Agent) -> dict[str, Any]:
        print("loud")
        return status_of(self)

    monkeypatch.setattr(Agent, "status", loud)
    result = RUNNER.invoke(app, ["agent", "run", "a.db"], input='{"op": "status"}\n')
    assert read_json(result.stdout)["ok"]
    assert result.stderr == "loud\n"


def started(*args: str) -> subprocess.Popen[bytes]:
    process = subprocess.Popen(
        [*COMMAND, "run", "a.db", *args],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert ask(process, {"op": "status"})["ok"]
    return process


def ask(process: subprocess.Popen[bytes], request: dict[str, Any]) -> dict[str, Any]:
    """Send a request, and wait for the answer."""
    assert process.stdin
    assert process.stdout
    process.stdin.write(json.dumps(request).encode() + b"\n")
    process.stdin.flush()
    found: dict[str, Any] = json.loads(process.stdout.readline())
    return found


def test_two_processes_share_an_agent(store: Path) -> None:
    one, other = started(), started()
    id_ = ask(one, {"op": "decide"})["decisions"][0]["id"]
    assert ask(other, {"op": "observe", "id": id_, "outcomes": {"ann": 1}})["ok"]
    assert not ask(one, {"op": "observe", "id": id_, "outcomes": {"bob": 1}})["ok"]
    assert ask(one, {"op": "status"}) == ask(other, {"op": "status"})
    for process in (one, other):
        assert process.communicate(timeout=60) == (b"", b"")  # closes the input
        assert process.returncode == 0


def test_sigterm_ends_a_waiting_process_quietly(store: Path) -> None:
    process = started()
    assert ask(process, {"op": "decide"})["ok"]
    process.send_signal(signal.SIGTERM)
    assert process.communicate(timeout=60) == (b"", b"")
    assert process.returncode == 0
    assert status()["decisions"] == 1


def test_sigterm_waits_for_the_answer(store: Path, plugin_place: Path) -> None:
    slow = (
        "import os, signal, time\n"
        "from graphbandits import Agent\n"
        "decide = Agent.decide\n"
        "def slow(*args, **options):\n"
        "    os.kill(os.getpid(), signal.SIGTERM)\n"
        "    time.sleep(0.1)\n"
        "    return decide(*args, **options)\n"
        "Agent.decide = slow\n"
    )
    (store / "slow.py").write_text(slow + (store / "mine.py").read_text())
    process = started("--plugin=slow.py")
    found = ask(process, {"op": "decide"})
    assert process.communicate(timeout=60) == (b"", b"")
    assert process.returncode == 0
    assert found["decisions"][0]["id"] in Agent(store="a.db").pending
