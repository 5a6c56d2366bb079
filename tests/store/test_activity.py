"""Tests of store/activity.py: processes that work in a store."""

from __future__ import annotations

import fcntl
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from helpers import SRC
from helpers.bad_input import refuses
from helpers.stores import whole_store

from graphbandits.errors import InputError
from graphbandits.store import Store, activity
from graphbandits.store.maintenance import gc


@pytest.fixture
def filled(tmp_path: Path) -> tuple[Store, object]:
    return whole_store(tmp_path / "store")


#: Descriptors of files that are locked, as by another process.
HELD: list[int] = []


@pytest.fixture(autouse=True)
def _release() -> Iterator[None]:
    yield
    while HELD:
        os.close(HELD.pop())


def entry(store: Store, name: str, content: object, locked: bool = False) -> Path:
    """Write a file in ``running``, optionally locked as by another process."""
    path = store.path / "running" / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    if locked:  # another open file is another owner to the operating system
        HELD.append(os.open(path, os.O_RDONLY))
        fcntl.flock(HELD[-1], fcntl.LOCK_EX)
    return path


def another(store: Store, kind: str, name: str = "a") -> Path:
    """Write the file of another process that is active."""
    content = {"host": "node7", "pid": 12, "started": "now", "command": "graphbandits run x"}
    return entry(store, f"{kind}-{name}.json", content | {"kind": kind}, locked=True)


def test_a_process_is_announced_while_it_works(tmp_path: Path) -> None:
    store = Store.create(tmp_path)
    assert store.other_processes() == []
    with store.mark_active("graphbandits run density"):
        (file,) = (tmp_path / "running").iterdir()
        content = json.loads(file.read_text())
        assert file.name.startswith("run-")
        assert (content["pid"], content["command"]) == (os.getpid(), "graphbandits run density")
        assert store.other_processes() == []  # only other processes are listed
        with Store.open(tmp_path / ".").mark_active():
            assert len(list((tmp_path / "running").iterdir())) == 2
            assert store.other_processes() == []
        assert list((tmp_path / "running").iterdir()) == [file]
    assert not file.exists()
    with pytest.raises(ZeroDivisionError), store.mark_active():
        raise ZeroDivisionError
    assert list((tmp_path / "running").iterdir()) == []


@pytest.mark.process
def test_other_process_is_listed_until_it_is_killed(tmp_path: Path) -> None:
    store = Store.create(tmp_path)
    code = (
        "import sys, time; from graphbandits.store import Store\n"
        "with Store.open(sys.argv[1]).mark_active('my run'):\n"
        "    print('here', flush=True); time.sleep(600)\n"
    )
    source = str(SRC)
    process = subprocess.Popen(
        [sys.executable, "-c", code, str(tmp_path)],
        stdout=subprocess.PIPE,
        env=os.environ | {"PYTHONPATH": source},
    )
    with process:
        try:
            assert process.stdout is not None
            process.stdout.readline()
            (run,) = store.other_processes()
            assert (run.pid, run.command) == (process.pid, "my run")
            for dry_run in (False, True):
                with pytest.raises(
                    InputError, match=rf"another run .*'my run' \(process {run.pid}"
                ):
                    gc(store, dry_run=dry_run)
        finally:
            process.kill()
    assert store.other_processes() == []
    assert list((tmp_path / "running").iterdir()) == []
    assert gc(store) == []


def test_only_files_that_are_locked_count_and_others_are_removed(tmp_path: Path) -> None:
    store = Store.create(tmp_path)
    alive = another(store, "run")
    foreign = entry(store, "README.txt", "mine")
    of_user = entry(store, "notes.json", "{}")
    dead = [
        entry(store, "run-b.json", {"host": "this", "pid": 1, "command": "x"}),
        entry(store, "gc-c.json", ""),
        entry(store, "run-d.json", "[]"),
    ]
    (run,) = store.other_processes()
    assert (run.host, run.pid, run.kind, run.mine) == ("node7", 12, "run", False)
    assert sorted((tmp_path / "running").iterdir()) == sorted([alive, foreign, of_user])
    assert not any(path.exists() for path in dead)


@pytest.mark.parametrize("text", ["", "garbage", "[]", "{}", '{"pid": 0}', '{"pid": true}'])
def test_a_locked_file_that_describes_no_process_is_ignored(filled, text: str) -> None:
    store, _ = filled
    path = entry(store, "run-x.json", text, locked=True)
    assert store.other_processes() == []
    assert gc(store) == []
    assert path.exists()


def test_running_file_is_locked_when_it_appears(tmp_path: Path, monkeypatch) -> None:
    """An unlocked file would be treated as the file of a killed process."""
    store, rename, seen = Store.create(tmp_path), os.rename, []

    def look_first(source: Path, target: Path) -> None:
        seen.append(activity.process_files(tmp_path / "running"))
        rename(source, target)
        seen.append([run for _, run in activity.process_files(tmp_path / "running")])

    monkeypatch.setattr(os, "rename", look_first)
    with store.mark_active("mine"):
        before, (run,) = seen
        assert before == []
        assert run.command == "mine"


def test_a_run_waits_until_gc_has_ended(tmp_path: Path) -> None:
    store = Store.create(tmp_path)
    tidying = another(store, "gc")
    lines: list[str] = []

    def tell(line: str) -> None:
        lines.append(line)
        assert len(list((tmp_path / "running").iterdir())) == 2  # gc can see that we are here
        tidying.unlink()

    with store.mark_active("my run", notify=tell):
        assert not tidying.exists()
    (line,) = lines
    assert f"{tmp_path}: 'graphbandits run x' (process 12" in line


def test_run_waits_for_gc_a_limited_time_and_not_for_runs(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(activity, "GC_TIMEOUT", 0.0)
    store = Store.create(tmp_path)
    other = another(store, "run")
    with store.mark_active():
        pass
    tidying = another(store, "gc", "b")
    with (
        refuses(InputError, match=r"'graphbandits run x' \(process 12 on node7, since now\)"),
        store.mark_active(),
    ):
        pass
    assert sorted((tmp_path / "running").iterdir()) == [tidying, other]
