"""Tests of study/directory.py: full disks, kills and several writers."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import textwrap
import threading
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from helpers import SRC, TESTS
from helpers.privileges import unprivileged
from helpers.stores import a_plan, a_shard, files_in, fill, put_study, synthetic, whole_study

from graphbandits import _files
from graphbandits.errors import InputError
from graphbandits.simulation.identity import series_of
from graphbandits.simulation.run import simulate_plan
from graphbandits.study.directory import Directory, ShardIndex, verify
from graphbandits.study.study import Study


def python(code: str, *args: object, check: bool = True) -> subprocess.CompletedProcess[str]:
    """Run a script that can import the package and the helpers of these tests."""
    paths = os.pathsep.join([str(SRC), str(TESTS)])
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code), *map(str, args)],
        env=os.environ | {"PYTHONPATH": paths},
        capture_output=True,
        text=True,
        check=check,
    )


@pytest.fixture
def store(tmp_path: Path) -> Directory:
    return Directory.create(tmp_path / "store")


def test_manifest_written_by_a_concurrent_process_is_kept(tmp_path: Path, monkeypatch) -> None:
    """A later version writes the manifest between the check and the write."""
    before = os.fsync

    def late(handle: int) -> None:
        before(handle)
        if not (tmp_path / "study.json").exists():
            (tmp_path / "study.json").write_text('{"format": 2}')

    monkeypatch.setattr(os, "fsync", late)
    with pytest.raises(InputError, match="has studies of format 2"):
        Directory.create(tmp_path)
    assert files_in(tmp_path) == {"study.json": b'{"format": 2}'}


def test_manifest_is_written_without_hard_links(tmp_path: Path, monkeypatch) -> None:
    def refuse(*_: object) -> None:
        raise OSError(errno.EOPNOTSUPP, "Operation not supported")

    monkeypatch.setattr(os, "link", refuse)
    Directory.create(tmp_path)
    assert list(files_in(tmp_path)) == ["study.json"]
    assert not _files.write_new(tmp_path / "study.json", b"later")


def test_simulated_full_disk_keeps_the_store(store: Directory, monkeypatch) -> None:
    kept = store.write(synthetic("a"), a_shard(0, 2), {})
    record = put_study(store, a_plan())
    before = files_in(store.path)

    def full(handle: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    for attempt in (
        lambda: store.write(synthetic("a"), a_shard(2, 2), {}),
        lambda: store.put_study(record),
        lambda: store.put_problem(b""),
    ):
        with pytest.raises(InputError, match=r"the disk is full .*no data is lost"):
            attempt()
    assert files_in(store.path) == before
    assert store.read(kept).trials == 2
    Study.open(store, "study").remove()  # makes room on a full disk
    assert "studies/study.json" not in files_in(store.path)


def test_unwritable_directory_is_reported(store: Directory) -> None:
    record = put_study(store, a_plan())
    file = store.write(synthetic("a"), a_shard(0, 2), {})
    folder, before = store.path, files_in(store.path)
    attempts: list[Callable[[], object]] = [
        lambda: Directory.create(folder),
        lambda: Directory.create(folder / "below"),
        lambda: store.write(synthetic("a"), a_shard(2, 2), {}),
        lambda: store.write(synthetic("b"), a_shard(2, 2), {}),
        lambda: store.put_study(record),
        lambda: store.put_problem(b""),
        lambda: store.remove("study", []),
    ]
    for place in (*folder.rglob("*"), folder):
        place.chmod(0o555 if place.is_dir() else 0o444)
    try:
        with unprivileged(read=True):
            assert Directory.open(folder).read(file).trials == 2
            for attempt in attempts:
                with pytest.raises(InputError, match=r"cannot write .*Permission denied; make it"):
                    attempt()
    finally:
        for place in (folder, *folder.rglob("*")):
            place.chmod(0o755 if place.is_dir() else 0o644)
    assert files_in(folder) == before


WRITER = """
    import sys, time
    from pathlib import Path
    from graphbandits.study.directory import Directory
    from helpers.stores import a_plan, a_shard, put_study, synthetic
    folder, number = Path(sys.argv[1]), int(sys.argv[2])
    Path(f"{folder}.ready-{number}").touch()
    while not Path(f"{folder}.go").exists():
        time.sleep(0.001)
    store = Directory.create(folder)
    for first in range(0, 100, 10):
        store.write(synthetic("both"), a_shard(first, 10), {"cpu": "x"})
        store.write(synthetic(f"own {number}"), a_shard(first, 10), {"cpu": "x"})
        put_study(store, a_plan(), "both", title=str(number))
        store.put_problem(b"the same")
"""


def test_two_processes_write_the_same_and_different_shards_at_once(tmp_path: Path) -> None:
    folder = tmp_path / "store"
    threads = [threading.Thread(target=python, args=(WRITER, folder, n)) for n in range(2)]
    for thread in threads:
        thread.start()
    while len(list(tmp_path.glob("store.ready-*"))) < 2:
        pass
    Path(f"{folder}.go").touch()
    for thread in threads:
        thread.join()
    store = Directory.open(folder)
    for name in ("both", "own 0", "own 1"):
        cover = store.index(synthetic(name).name, 100)
        assert not cover.gaps
        assert len(store.shards(synthetic(name).name)) == 10
        for file in cover.used:
            assert (store.read(file).regret == a_shard(file.first, 10).regret).all()
    assert store.study("both").title in ("0", "1")
    assert len(list(folder.glob("problems/*"))) == 2
    assert list(folder.rglob(".*")) == []


KILLED = """
    import os, signal, sys
    from graphbandits.simulation.plan import Plan
    from graphbandits.study.directory import Directory
    from helpers.stores import a_plan, fill
    store = Directory.open(sys.argv[1])
    replace = os.replace
    def killing(source, target):
        if str(target).endswith(".parquet"):
            os.kill(os.getpid(), signal.SIGKILL)
        replace(source, target)
    os.replace = killing
    fill(store, a_plan(), "ts-n", (5, 5))
"""


def test_kill_between_writing_and_renaming_a_shard(tmp_path: Path) -> None:
    plan = a_plan()
    store = Directory.create(tmp_path)
    put_study(store, plan)
    fill(store, plan, "ts-n", (0, 5))
    ended = python(KILLED, tmp_path, check=False)
    assert ended.returncode == -signal.SIGKILL
    series = series_of(plan, "ts-n").name
    (left,) = (tmp_path / "shards" / series).glob(".*.parquet-*")
    assert left.stat().st_size > 0
    assert store.index(series, 12) == ShardIndex(tuple(store.shards(series)), ((5, 7),))
    assert not verify(store)

    # the run resumes, and the store is complete
    for policy in plan.policies:
        for first, trials in store.index(series_of(plan, policy).name, 12).gaps:
            fill(store, plan, policy, (first, trials))
    assert not verify(store)
    assert left.exists()
    whole = simulate_plan(plan, progress=False)
    regret = [store.read(file).regret for file in store.index(series, 12).used]
    assert (np.concatenate(regret) == whole["ts-n"].regret).all()


def test_shards_of_two_sizes_are_combined(
    tmp_path: Path,
) -> None:
    store, plan = whole_study(tmp_path, size=5)
    fill(store, plan, "ts-n", (0, 8), (8, 4))
    series = series_of(plan, "ts-n").name
    assert [(f.first, f.trials) for f in store.index(series, 12).used] == [(0, 8), (8, 4)]
    assert store.index(series, 20).gaps == ((12, 8),)
    assert store.index(series, 10).gaps == ()
    assert not verify(store)
