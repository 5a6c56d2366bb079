"""Tests of simulation/workers.py: identical bits, errors, no process left."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from helpers import SRC
from helpers.bad_input import refuses
from helpers.cases import each
from helpers.executor_tasks import GRAPH
from helpers.valid_policies import UCB, temporarily_registered

from graphbandits import Bernoulli, BetaBernoulli, Results, simulate
from graphbandits.errors import InputError, PolicyError
from graphbandits.graphs import from_matrix
from graphbandits.plugins import load_plugin, unload_plugin
from graphbandits.policies import as_policy
from graphbandits.registry import build
from graphbandits.simulation.plan import Plan
from graphbandits.simulation.workers import ProcessExecutor, ThreadExecutor, executor_for

UCB_FILE = '''
import os
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from graphbandits.policies import Needs
from graphbandits.registry import register


@register("policy", "my-ucb")
@dataclass(frozen=True)
class MyUCB:
    """UCB in plain Python."""

    width: float = 0.5
    fault: str = ""
    needs: ClassVar[Needs] = Needs(graph="before")
    exact: ClassVar[bool] = True

    def init(self, problem, keys):
        return {name: np.zeros((keys.trials, problem.arms)) for name in "ns"}

    def propose(self, state, view):
        if self.fault == "print":
            print("thinking", flush=True)
            os.write(1, b"thinking")
        if self.fault == "ask":
            input("what shall I play? ")
        n = np.maximum(state["n"], 1)
        score = state["s"] / n + self.width * np.sqrt(np.log(view.t) / n)
        score = np.where(state["n"] > 0, view.graph.gain(score), 1e6)
        return np.eye(view.problem.arms)[score.argmax(axis=1)]

    def update(self, state, event):
        seen = event.observations
        np.add.at(state["n"], (seen.trial, seen.arm), 1)
        np.add.at(state["s"], (seen.trial, seen.arm), seen.reward)
        return state
'''

#: Its process has the name of a process of the package.
GRAPH_FILE = GRAPH.replace("Drawn", "Fixed").replace("drawn-graph", "my-graph")


TELL_TALE_FILE = '''
from dataclasses import dataclass

import numpy as np
from graphbandits.policies.thompson import TSN
from graphbandits.registry import register


@register("policy", "tell-tale")
@dataclass(frozen=True)
class TellTale(TSN):
    """Plays the last arm if it can be best, else the first."""

    def propose(self, state, view):
        alpha = super().propose(state, view)
        return np.eye(view.problem.arms)[np.where(alpha[:, -1] > 0.0, -1, 0)]
'''


@pytest.fixture
def ucb(tmp_path: Path) -> Iterator[str]:
    file = tmp_path / "my_ucb.py"
    file.write_text(UCB_FILE)
    load_plugin(file)
    yield "my-ucb"
    unload_plugin(file)


@pytest.fixture
def graph(tmp_path: Path) -> Iterator[str]:
    file = tmp_path / "my_graph.py"
    file.write_text(GRAPH_FILE)
    load_plugin(file)
    yield "my-graph"
    unload_plugin(file)


@pytest.fixture(autouse=True)
def no_process_is_left() -> Iterator[None]:
    def children() -> set[str]:
        """Return the ids of child processes, including zombies."""
        found: set[str] = set()
        for thread in Path("/proc/self/task").glob("*/children"):
            with suppress(OSError):  # a thread that ends meanwhile
                found.update(thread.read_text().split())
        return found

    before = children()
    yield
    assert children() == before


def same(left: Results, right: Results) -> None:
    assert list(left.policies) == list(right.policies)
    for name in left.policies:
        assert left[name].final.tobytes() == right[name].final.tobytes(), name
        assert left[name].mean.tobytes() == right[name].mean.tobytes(), name
        assert (left[name].plays == right[name].plays).all(), name


SMALL: dict[str, Any] = {"horizon": 30, "trials": 11, "seed": 4, "progress": False}


def test_threads_processes_and_serial_runs_give_identical_bits(ucb: str, graph: str) -> None:
    """With a policy and a graph from files, the graph with its own class."""
    policies = [f"{ucb}(width=0.3)", "ts-n", "ids-n"]
    for how in ({"graph": f"{graph}(p=0.4)", "arms": 4}, {"graph": build("graph", "my-graph")}):
        alone = simulate(policies, **how, **SMALL)
        same(alone, simulate(policies, **how, **SMALL, workers=2, parallel="threads", block=3))
        same(alone, simulate(policies, **how, **SMALL, workers=2, parallel="processes", block=4))
    assert len(np.unique(alone[f"{ucb}(width=0.3)"].final)) > 5


def test_worlds_and_matrices_are_sent_to_workers(ucb: str) -> None:
    prior = BetaBernoulli(np.array([1.0, 2.0, 0.5]), np.array([3.0, 1.0, 0.75]))
    matrix = np.array([[1.0, 0.3, 0.0], [0.0, 1.0, 0.9], [0.2, 0.0, 1.0]])
    for world in (Bernoulli(prior), Bernoulli(prior, fixed=np.array([0.2, 0.5, 0.4]))):
        given: dict[str, Any] = {"world": world, "graph": from_matrix(matrix), "regret": "realised"}
        alone = simulate(ucb, **given, **SMALL)
        same(alone, simulate(ucb, **given, **SMALL, workers=2, parallel="processes", block=6))


def test_accuracy_is_sent_to_workers(tmp_path: Path) -> None:
    """Checked by a policy that plays the third arm if its P(best), 1e-33, is known."""
    file = tmp_path / "tell_tale.py"
    file.write_text(TELL_TALE_FILE)
    load_plugin(file)
    a, b = np.array([8000.0, 7900.0, 7000.0]), np.array([2000.0, 2100.0, 3000.0])
    policies = ["tell-tale", "ts-n", "ids-n", "ts-n-sampled"]
    for accuracy, plays in (("strict", [0, 0, 330]), ("simulation", [330, 0, 0])):
        world = Bernoulli(BetaBernoulli(a, b, accuracy))
        given: dict[str, Any] = {"world": world, "graph": "star(direction=out)", **SMALL}
        alone = simulate(policies, **given)
        assert alone["tell-tale"].plays.tolist() == plays
        assert alone.settings["accuracy"] == accuracy
        same(alone, simulate(policies, **given, workers=2, parallel="threads", block=3))
        same(alone, simulate(policies, **given, workers=2, parallel="processes", block=6))
    unload_plugin(file)


def test_a_policy_of_an_imported_module_is_imported_by_the_workers() -> None:
    """A user's module with @register, neither a scratch file nor an installed package."""
    script = """
import my_module
from graphbandits import simulate
given = dict(graph="paper", horizon=20, trials=6, seed=1, progress=False)
one = simulate("my-ucb", **given)
two = simulate("my-ucb", **given, workers=2, parallel="processes", block=2)
assert one["my-ucb"].final.tobytes() == two["my-ucb"].final.tobytes()
print("same")
"""
    done = run_script(script, my_module=UCB_FILE)
    assert done.stdout == "same\n", done.stderr


def test_output_of_a_policy_does_not_disturb_workers(ucb: str, capfd) -> None:
    alone = simulate(ucb, graph="paper", **SMALL)
    chatty = f"{ucb}(fault=print)"
    result = simulate(chatty, graph="paper", **SMALL, workers=2, parallel="processes", block=6)
    assert result[chatty].final.tobytes() == alone[ucb].final.tobytes()
    out, err = capfd.readouterr()
    assert "thinking" not in out
    assert "thinking" in err


def test_policy_that_reads_standard_input_gets_end_of_file(ucb: str) -> None:
    with refuses(PolicyError, match="policy 'my-ucb' failed in round 1, in propose"):
        simulate(f"{ucb}(fault=ask)", **SMALL, workers=2, parallel="processes", block=4)


@each("way", ["file", "input"])
def test_a_script_without_a_main_guard_works(way: str, tmp_path: Path) -> None:
    """Also with other modules in the working directory."""
    (tmp_path / "my_ucb.py").write_text(UCB_FILE)
    script = f"""
from graphbandits import simulate
from graphbandits.plugins import load_plugin
print("once")
load_plugin({str(tmp_path / "my_ucb.py")!r})
given = dict(graph="paper", horizon=20, trials=6, seed=1)
one = simulate("my-ucb", **given)
two = simulate("my-ucb", **given, workers=2, block=2)
assert one["my-ucb"].final.tobytes() == two["my-ucb"].final.tobytes()
"""
    done = run_script(script, way, queue="raise SystemExit('of the user')")
    assert done.stdout == "once\n", done.stderr
    assert done.returncode == 0


def test_a_policy_of_the_script_itself_runs_in_threads(tmp_path: Path) -> None:
    script = (
        UCB_FILE
        + """
from graphbandits import simulate
given = dict(graph="paper", horizon=20, trials=6, seed=1, workers=2, block=2)
simulate("my-ucb", **given)
try:
    simulate("my-ucb", **given, parallel="processes")
except ValueError as error:
    print(error)
"""
    )
    done = run_script(script)
    assert "policy 'my-ucb' cannot be sent to another process: register it in a file" in done.stdout


class Custom(Bernoulli):
    """A world that is not of the package."""


@dataclass(frozen=True)
class Unregistered(UCB):
    """A policy without a registered name."""


@dataclass(frozen=True, eq=False)
class OwnProcess:
    """A process without a text form."""

    arms: int = 3
    deterministic: ClassVar[bool] = True
    names: ClassVar[None] = None
    rounds: ClassVar[None] = None

    def round(self, t: int, keys: Any) -> Any:
        return from_matrix(np.eye(3)).round(t, keys)


def test_objects_that_cannot_be_sent_are_refused_or_run_in_threads(ucb: str) -> None:
    cases: list[tuple[dict[str, Any], str]] = [
        (
            {"policies": [ucb], "world": Custom(BetaBernoulli.of(5))},
            "the world .* cannot be sent .* Custom is not",
        ),
        ({"policies": [ucb, Unregistered()]}, "policy 'Unregistered' cannot be sent"),
        ({"policies": [ucb], "graph": OwnProcess()}, "the graph cannot be sent .* OwnProcess"),
    ]
    for given, why in cases:
        with pytest.raises(InputError, match=f"{why}.*use parallel='threads'"):
            simulate(**given, **SMALL, workers=2, parallel="processes")
        same(simulate(**given, **SMALL), simulate(**given, **SMALL, workers=2, block=3))
        plan = Plan.of(**given, horizon=3, trials=2)
        assert isinstance(executor_for(2, None, "auto", [plan], plan.decisions), ThreadExecutor)


def test_auto_uses_processes_for_plug_ins_and_large_work(ucb: str) -> None:
    def chosen(*policies: str, workers: int = 2, horizon: int = 3) -> type:
        plan = Plan.of(policies, horizon=horizon, trials=2)
        return type(executor_for(workers, None, "auto", [plan], plan.decisions))

    assert chosen("ts-n", ucb) is ProcessExecutor
    assert chosen("ts-n", "ids-n") is ThreadExecutor
    assert chosen("ts-n", ucb, workers=1) is ThreadExecutor
    assert chosen("ts-n", "ids-n", horizon=250_000) is ProcessExecutor
    assert chosen("ts-n", "ids-n", horizon=249_999) is ThreadExecutor
    assert chosen("ts-n", "ids-n", horizon=250_000, workers=1) is ThreadExecutor


def test_registered_class_that_cannot_be_imported_is_refused() -> None:
    made = type("Made", (UCB,), {"__doc__": "Made.", "__module__": "dreamt"})
    with (
        temporarily_registered("policy", [made]),
        refuses(InputError, match="policy 'Made' cannot be sent to another process"),
    ):
        simulate(as_policy("Made"), **SMALL, workers=2, parallel="processes")


def run_script(text: str, way: str = "module", **modules: str) -> subprocess.CompletedProcess[str]:
    """Run a script and its modules in a new directory; "module": the directory is on the path."""
    words = {
        "module": ["script.py"],
        "file": ["-P", "script.py"],
        "command": ["-P", "-c", text],
        "input": ["-P", "-"],
    }
    source = SRC
    with tempfile.TemporaryDirectory() as folder:
        for name, source_text in {"script": text, **modules}.items():
            Path(folder, f"{name}.py").write_text(source_text)
        return subprocess.run(
            [sys.executable, *words[way]],
            input=text,
            cwd=folder,
            env=os.environ | {"PYTHONPATH": str(source)},
            capture_output=True,
            text=True,
            timeout=120,
        )
