"""Tests of simulation/workers.py: identical bits, errors, edited sources, no process left."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from helpers import SRC
from helpers.bad_input import refuses
from helpers.cases import each
from helpers.executor_tasks import GRAPH, alone, bits, children, computed, name_of, until
from helpers.made_up_results import same
from helpers.valid_policies import UCB, temporarily_registered

from graphbandits import Bernoulli, BetaBernoulli, simulate
from graphbandits.errors import GraphBanditsError, InputError, PolicyError, SourceError
from graphbandits.graphs import from_matrix
from graphbandits.plugins import load_plugin, unload_plugin
from graphbandits.policies import as_policy
from graphbandits.registry import build
from graphbandits.simulation.identity import series_of
from graphbandits.simulation.plan import Plan, Task
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
    before = children()
    yield
    assert children() == before


SMALL: dict[str, Any] = {"horizon": 30, "trials": 11, "seed": 4, "progress": False}


def test_threads_processes_and_serial_runs_give_identical_bits(ucb: str, graph: str) -> None:
    """With a policy and a graph from files, the graph with its own class."""
    policies = [f"{ucb}(width=0.3)", "ts-n", "ids-n"]
    for how in ({"graph": f"{graph}(p=0.4)", "arms": 4}, {"graph": build("graph", "my-graph")}):
        alone = simulate(policies, **how, **SMALL)
        same(alone, simulate(policies, **how, **SMALL, workers=2, parallel="threads", block=3))
        same(alone, simulate(policies, **how, **SMALL, workers=2, parallel="processes", block=4))
    assert len(np.unique(alone[f"{ucb}(width=0.3)"].final)) > 5


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


#: Plays arm 1 or arm 2, as given by a module next to it.
POLICY = '''
from dataclasses import dataclass

import numpy as np
from graphbandits.policies.thompson import TSN
from graphbandits.registry import register

@register("policy", "advised")
@dataclass(frozen=True)
class Advised(TSN):
    """Plays the arm of another module."""

    def propose(self, state, view):
        import advice
        return np.eye(view.problem.arms)[[advice.ARM] * view.keys.trials]
'''


@pytest.fixture
def tasks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Task]]:
    """Tasks of a policy that imports a module in a function."""
    monkeypatch.syspath_prepend(str(tmp_path))
    sys.modules.pop("advice", None)
    (tmp_path / "advice.py").write_text("ARM = 1\n")
    (tmp_path / "advised.py").write_text(POLICY)
    load_plugin(tmp_path / "advised.py")
    plan = Plan.of("advised", graph="star(direction=out)", horizon=5, trials=8)
    series_of(plan, "advised")
    yield [Task(plan, "advised", first, 4) for first in (0, 4)]
    unload_plugin(tmp_path / "advised.py")
    sys.modules.pop("advice", None)


def test_a_worker_that_starts_after_an_edit_refuses(tasks: list[Task], tmp_path: Path) -> None:
    expected, before = alone(tasks), children()
    with ProcessExecutor(1) as executor:
        (first,) = executor.run(tasks[:1])
        assert bits(*first) == expected[name_of(tasks[0])]
        (tmp_path / "advice.py").write_text("ARM = 22 // 11\n")
        # a process that has imported it continues
        assert computed(executor, tasks) == expected
        (pid,) = children() - before
        os.kill(int(pid), signal.SIGKILL)
        ((_, error),) = executor.run(tasks[1:])
    with pytest.raises(SourceError, match="the module advice on a worker differs from that of"):
        raise error  # type: ignore[misc]


def test_edited_or_removed_plug_in_keeps_its_loaded_source(
    tasks: list[Task], tmp_path: Path
) -> None:
    expected = alone(tasks)
    for act in (lambda: (tmp_path / "advised.py").write_text("no Python"), os.remove):
        act(*([tmp_path / "advised.py"] if act is os.remove else []))
        with ProcessExecutor(1) as executor:
            assert computed(executor, tasks) == expected


SCRIPT = """
import sys
from pathlib import Path
from graphbandits.simulation.plan import Plan
from graphbandits.simulation.workers import ProcessExecutor
from graphbandits.simulation.plan import Task

plan = Plan.of("ts-n", graph="paper", horizon=2, trials=2)
with Path(sys.argv[1]).open("a") as file:
    file.write("EDITED = 1")
with ProcessExecutor(1) as executor:
    ((_, outcome),) = executor.run([Task(plan, "ts-n", 0, 1)])
print(getattr(outcome, "trials", outcome))
"""


def test_edited_package_is_detected(tmp_path: Path) -> None:
    source = SRC / "graphbandits"
    shutil.copytree(source, tmp_path / "graphbandits", ignore=shutil.ignore_patterns("*.pyc"))
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(tmp_path / "graphbandits" / "rng.py")],
        env=os.environ | {"PYTHONPATH": str(tmp_path), "NUMBA_DISABLE_JIT": "1"},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.startswith("a worker has other sources of graphbandits than the process")


RAISES = '''
from dataclasses import dataclass
from graphbandits.policies.thompson import TSN
from graphbandits.registry import register

@register("policy", "raises")
@dataclass(frozen=True)
class Raises(TSN):
    """Raises exceptions that most handlers do not catch."""

    what: str = ""

    def propose(self, state, view):
        raise {"k": KeyboardInterrupt, "g": GeneratorExit, "b": BaseException}[self.what]("so")
'''


def test_any_exception_of_a_policy_in_a_worker_is_reported(tmp_path: Path) -> None:
    file = tmp_path / "raises.py"
    file.write_text(RAISES)
    load_plugin(file)
    names = {"k": "KeyboardInterrupt", "g": "GeneratorExit", "b": "BaseException"}
    plan = Plan.of([f"raises(what={what})" for what in names], horizon=5, trials=2)
    before = children()
    with ProcessExecutor(1) as executor:
        ended = list(executor.run(Task(plan, policy, 0, 2) for policy in plan.policies))
        assert len(children() - before) == 1
    unload_plugin(file)
    for (_, error), name in zip(ended, names.values(), strict=True):
        assert isinstance(error, GraphBanditsError)
        assert str(error) == f"a worker failed: {name}: so"


@pytest.mark.parametrize("killed", [False, True])
def test_copies_of_plug_ins_are_removed_with_their_process(killed: bool, tmp_path: Path) -> None:
    """Also if the process is killed."""
    places, file, met = tmp_path / "temporary", tmp_path / "raises.py", tmp_path / "met"
    places.mkdir()
    file.write_text(RAISES)
    script = f"""
from pathlib import Path
from graphbandits import load_plugin
from graphbandits.simulation.plan import Plan
from graphbandits.simulation.workers import ProcessExecutor
from graphbandits.simulation.plan import Task
load_plugin({str(file)!r})
Path({str(file)!r}).unlink()
plan = Plan.of("raises(what=k)", horizon=5, trials=2)
with ProcessExecutor(1) as executor:
    list(executor.run([Task(plan, "raises(what=k)", 0, 2)]))
    assert list(Path({str(places)!r}).rglob("raises.py"))
    if {killed}:
        Path({str(met)!r}).touch()
        input()
"""
    with subprocess.Popen(
        [sys.executable, "-c", script],
        env=os.environ | {"PYTHONPATH": str(SRC), "TMPDIR": str(places)},
        stdin=subprocess.PIPE,
    ) as process:
        if killed:
            until(lambda: process.poll() is not None or met.exists())
            process.kill()
        assert process.wait() == (-signal.SIGKILL if killed else 0)
    until(lambda: not list(places.iterdir()), seconds=60)
