"""Sources that are edited during a run: what is computed comes from what the run began with."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from crew_pieces import alone, bits, children, name_of

from graphbandits.engine import Plan
from graphbandits.engine.crews import Processes, Threads
from graphbandits.engine.tasks import Task
from graphbandits.errors import SourceError
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
from graphbandits.store import series_of

plan = Plan.of(["ts-n", "ucb-n"], graph="paper", horizon=2, trials=2)
for policy in plan.policies:
    series_of(plan, policy)
with Path(sys.argv[1]).open("a") as file:
    file.write("# edited")
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
