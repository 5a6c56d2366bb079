"""Sources that are edited during a run: what is computed comes from what the run began with."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from crew_pieces import alone, bits, children, name_of, until

from graphbandits.engine import Plan
from graphbandits.engine.crews import Cluster, Processes, Threads, study, threads
from graphbandits.engine.crews.travel import Packer
from graphbandits.engine.provenance import check_sources
from graphbandits.engine.tasks import Task
from graphbandits.errors import InputError, PolicyError, SourceError
from graphbandits.plugins import load_plugin, unload_plugin
from graphbandits.store import series_of

#: Plays arm 1 or arm 2, as a module beside it says.
POLICY = '''
from dataclasses import dataclass

import numpy as np
from graphbandits.policies.ts_n import TSN
from graphbandits.registry import register
{above}

@register("policy", "advised")
@dataclass(frozen=True)
class Advised(TSN):
    """Plays what it is told."""

    def propose(self, state, view):
        {inside}
        return np.eye(view.problem.arms)[[advice.ARM] * view.keys.trials]
'''
SAYING = r"advice\.py was changed after the run began: start the run again"


@pytest.fixture(params=["above", "inside"])
def tasks(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[list[Task]]:
    """Of a policy that imports a module, at once or when it needs it; the series are named."""
    monkeypatch.syspath_prepend(str(tmp_path))
    sys.modules.pop("advice", None)
    where = {"above": "", "inside": ""} | {request.param: "import advice"}
    (tmp_path / "advice.py").write_text("ARM = 1\n")
    (tmp_path / "advised.py").write_text(POLICY.format(**where))
    load_plugin(tmp_path / "advised.py")
    plan = Plan.of("advised", graph="star(direction=out)", horizon=5, trials=8)
    series_of(plan, "advised")
    yield [Task(plan, "advised", first, 4) for first in (0, 4)]
    unload_plugin(tmp_path / "advised.py")
    sys.modules.pop("advice", None)


def test_a_worker_that_starts_after_an_edit_refuses(tasks: list[Task], tmp_path: Path) -> None:
    expected, before = alone(tasks), children()
    with Processes(1) as crew:
        (first,) = crew.work(tasks[:1])
        assert bits(first) == expected[name_of(tasks[0])]
        (tmp_path / "advice.py").write_text("ARM = 22 // 11\n")
        # who has imported it goes on with it
        assert {name_of(one.task): bits(one) for one in crew.work(tasks)} == expected
        (pid,) = children() - before
        os.kill(int(pid), signal.SIGKILL)
        (last,) = crew.work(tasks[1:])
    assert last.shard is None
    with pytest.raises(SourceError, match=SAYING):
        raise last.error or AssertionError


def test_threads_refuse_what_they_import_after_an_edit(
    tasks: list[Task], tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    (tmp_path / "advice.py").write_text("ARM = 22 // 11\n")
    (done,) = Threads(1).work(tasks[:1])
    if "above" in request.node.name:
        (tmp_path / "advice.py").write_text("ARM = 1\n")
        assert bits(done) == alone(tasks)[name_of(tasks[0])]
    else:
        with pytest.raises(SourceError, match=SAYING):
            raise done.error or AssertionError


@pytest.mark.parametrize("tasks", ["inside"], indirect=True)
@pytest.mark.parametrize("where", [threads, study])
def test_what_is_imported_on_the_way_is_compared_afterwards(
    tasks: list[Task], where: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An edit between the look at a source and its import, by a thread and by a worker."""

    def check_then_edit(wanted: Any) -> None:
        check_sources(wanted)
        if "advice" not in sys.modules:
            (tmp_path / "advice.py").write_text("ARM = 22 // 11\n")

    monkeypatch.setattr(where, "check_sources", check_then_edit)
    if where is threads:
        (done,) = Threads(1).work(tasks[:1])
    else:
        packed = Packer()(tasks[0].plan)
        asked = study.request(packed.name, tasks[0])
        worker = study.Studies(lambda: tmp_path / "copies")
        answer = worker.answer(asked, packed.data, lambda rounds: None)
        assert answer is not None
        done = study.done_of(tasks[0], *answer)
    assert "advice" in sys.modules
    with pytest.raises(SourceError, match=SAYING):
        raise done.error or AssertionError


def test_a_plug_in_that_is_edited_or_removed_goes_on_as_it_was(
    tasks: list[Task], tmp_path: Path
) -> None:
    expected = alone(tasks)
    for act in (lambda: (tmp_path / "advised.py").write_text("no Python"), os.remove):
        act(*([tmp_path / "advised.py"] if act is os.remove else []))
        with Processes(1) as crew:
            assert {name_of(one.task): bits(one) for one in crew.work(tasks)} == expected


SCRIPT = """
import sys
from pathlib import Path
from graphbandits.engine import Plan
from graphbandits.engine.crews import Processes
from graphbandits.engine.tasks import Task
from graphbandits.engine.provenance import wanted_of_worker

plan = Plan.of(["ts-n", "ucb-n"], graph="paper", horizon=2, trials=2)
for policy in plan.policies:
    wanted_of_worker(plan, policy)
with Path(sys.argv[1]).open("a") as file:
    file.write("EDITED = 1")
with Processes(1) as crew:
    for done in crew.work(Task(plan, policy, 0, 1) for policy in plan.policies):
        print(done.task.policy, done.error)
"""


@pytest.mark.parametrize(
    ("module", "refused"),
    [("policies/ts_n.py", {"ts-n"}), ("graphs/storage.py", {"ts-n", "ucb-n"})],
)
def test_the_package_itself_is_edited(tmp_path: Path, module: str, refused: set[str]) -> None:
    """What the policy rests on, and what a worker makes of what it is told."""
    source = Path(__file__).parents[1] / "src" / "graphbandits"
    shutil.copytree(source, tmp_path / "graphbandits", ignore=shutil.ignore_patterns("*.pyc"))
    file = tmp_path / "graphbandits" / module
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(file)],
        env=os.environ | {"PYTHONPATH": str(tmp_path)},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    said = dict(line.split(" ", 1) for line in done.stdout.splitlines())
    changed = f"{file} was changed after the run began: start the run again"
    assert said == {policy: changed if policy in refused else "None" for policy in said}
    assert set(said) == {"ts-n", "ucb-n"}


# Workers that do not fit, and what workers leave ------------------------------------------------

#: A worker of a cluster that is not as the others are.
OTHER = """
import sys
from pathlib import Path
from graphbandits.engine import provenance
from graphbandits.engine.crews import remote
if sys.argv[3] == "versions":
    theirs = remote.identity() | {"numpy": "1.0"}
    remote.identity = lambda: theirs
else:
    import graphbandits.policies.ts_n as module
    provenance._IMPORTED[Path(module.__file__)] = "of another day"
remote.serve(*sys.argv[1:3])
"""


@contextmanager
def another_worker(crew: Any, folder: Path, kind: str) -> Iterator[None]:
    """One that joins the workers of a crew and does not fit; ended with the context."""
    words = ["-c", OTHER, crew._address, str(folder / "dask"), kind]
    source = str(Path(__file__).parents[1] / "src")
    with subprocess.Popen(
        [sys.executable, *words],
        env=os.environ | {"PYTHONPATH": source},
        stdin=subprocess.PIPE,
        process_group=0,
    ) as process:
        try:
            yield
        finally:
            process.kill()


@pytest.mark.parametrize(
    ("kind", "saying"),
    [("versions", "numpy is 1.0 there and"), ("sources", "ts_n.py was changed after the run")],
)
def test_a_worker_that_does_not_fit_is_left_out(
    kind: str, saying: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """And when the others have gone, it is an error: of the run, or of what it cannot do."""
    plan = Plan.of(["ts-n", "ucb-n"], graph="star(direction=out)", horizon=5, trials=24)
    tasks = [Task(plan, name, first, 2) for name in plan.policies for first in range(0, 24, 2)]
    expected, done = alone(tasks), []
    with Cluster("local", 1) as crew, another_worker(crew, tmp_path, kind):
        until(lambda: len(crew._client.nthreads()) == 1)

        def waiting() -> Iterator[Task]:
            yield tasks[0]  # upon which the crew starts its own
            until(lambda: len(crew._client.nthreads()) == 2)
            yield from tasks[1:]

        for one in crew.work(waiting()):
            done.append(one)
        assert len(crew._client.nthreads()) == 2
        assert {name_of(one.task): bits(one) for one in done} == expected
        said = [line for line in capfd.readouterr().err.splitlines() if "goes on without" in line]
        assert len(said) == 1
        assert "would give other bits: " in said[0]
        assert saying in said[0]
        crew._count = 0
        crew._bury()
        until(lambda: len(crew._client.nthreads()) == 1)
        if kind == "versions":
            with pytest.raises(InputError, match=saying):
                list(crew.work(tasks))
        else:
            ended = {name_of(one.task): one for one in crew.work(tasks)}
            for task in tasks:
                if task.policy == "ts-n":
                    with pytest.raises(SourceError, match=saying):
                        raise ended[name_of(task)].error or AssertionError
                else:
                    assert bits(ended[name_of(task)]) == expected[name_of(task)]


RAISES = '''
from dataclasses import dataclass
from graphbandits.policies.ts_n import TSN
from graphbandits.registry import register

@register("policy", "raises")
@dataclass(frozen=True)
class Raises(TSN):
    """Raises what passes by most."""

    what: str = ""

    def propose(self, state, view):
        raise {"k": KeyboardInterrupt, "g": GeneratorExit, "b": BaseException}[self.what]("so")
'''


def test_whatever_a_policy_raises_in_a_worker_is_its_error(tmp_path: Path) -> None:
    file = tmp_path / "raises.py"
    file.write_text(RAISES)
    load_plugin(file)
    names = {"k": "KeyboardInterrupt", "g": "GeneratorExit", "b": "BaseException"}
    plan = Plan.of([f"raises(what={what})" for what in names], horizon=5, trials=2)
    before = children()
    with Processes(1) as crew:
        ended = list(crew.work(Task(plan, policy, 0, 2) for policy in plan.policies))
        assert len(children() - before) == 1
    unload_plugin(file)
    for one, (what, name) in zip(ended, names.items(), strict=True):
        assert isinstance(one.error, PolicyError)
        assert str(one.error) == f"policy 'raises(what={what})' failed: {file}, line 14: {name}: so"


@pytest.mark.parametrize("killed", [False, True])
def test_copies_of_plug_ins_go_with_whoever_asked(killed: bool, tmp_path: Path) -> None:
    """Also if it is killed, and so are its workers, or may be."""
    places, file, met = tmp_path / "temporary", tmp_path / "raises.py", tmp_path / "met"
    places.mkdir()
    file.write_text(RAISES)
    script = f"""
from pathlib import Path
from graphbandits import load_plugin
from graphbandits.engine import Plan
from graphbandits.engine.crews import Processes
from graphbandits.engine.tasks import Task
load_plugin({str(file)!r})
Path({str(file)!r}).unlink()
plan = Plan.of("raises(what=k)", horizon=5, trials=2)
with Processes(1) as crew:
    list(crew.work([Task(plan, "raises(what=k)", 0, 2)]))
    assert list(Path({str(places)!r}).rglob("raises.py"))
    if {killed}:
        Path({str(met)!r}).touch()
        input()
"""
    with subprocess.Popen(
        [sys.executable, "-c", script],
        env=os.environ
        | {"PYTHONPATH": str(Path(__file__).parents[1] / "src"), "TMPDIR": str(places)},
        stdin=subprocess.PIPE,
    ) as process:
        if killed:
            until(lambda: process.poll() is not None or met.exists())
            process.kill()
        assert process.wait() == (-signal.SIGKILL if killed else 0)
    until(lambda: not list(places.iterdir()), seconds=60)
