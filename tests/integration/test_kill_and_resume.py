"""Runs that are killed at any moment and resumed give identical bits."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from helpers.made_up_results import same

from graphbandits.study.directory import Directory
from graphbandits.study.study import Study

STUDY = """
title = "Killed and killed again"
graph = "edges(1>2 2>3:0.5 3>1 4)"
prior = ["1,2", "2,2", "3,1", "1,1"]
horizon = 300
trials = 400
seed = 5
policies = ["ts-n", "ids-n", "exp3-set(eta={eta})"]

[[sweeps]]
parameter = "eta"
values = [0.05, 0.2]
"""
#: Trials per shard: 4 series of 50 shards.
SHARD = 8
COMMAND = [
    sys.executable,
    "-m",
    "graphbandits",
    "run",
    "study.toml",
    f"--shard={SHARD}",
    "--formats=svg",
]
#: A run that kills itself after the n-th shard is complete, before the shard is renamed.
BETWEEN = """
import os, signal, sys
from graphbandits.cli import main

wanted, rename = int(sys.argv.pop(1)), os.replace

def replace(source, target):
    global wanted
    if str(target).endswith(".parquet"):
        wanted -= 1
        if wanted == 0:
            os.kill(os.getpid(), signal.SIGKILL)
    rename(source, target)

os.replace = replace
sys.argv[0] = "graphbandits"
main()
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("survival")
    (place / "study.toml").write_text(STUDY)
    return place


@pytest.fixture(scope="module")
def whole(folder: Path) -> Path:
    """An uninterrupted run in threads of this process."""
    place = folder / "whole"
    run(folder, place, "--workers=1")
    return place


def run(folder: Path, place: Path, *options: str) -> None:
    done = subprocess.run(
        [*COMMAND, f"--output={place}", *options], cwd=folder, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr[-3000:]


def start(folder: Path, place: Path, *options: str, words: list[str] = COMMAND) -> Process:
    with (folder / "log").open("ab") as log:
        return Process(
            [*words, f"--output={place}", *options],
            cwd=folder,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )


class Process(subprocess.Popen[bytes]):
    """A run that can be killed alone or with its workers."""

    def kill_all(self) -> None:
        os.killpg(self.pid, signal.SIGKILL)
        self.wait()


def shards(place: Path) -> set[str]:
    """Return the paths of the shards: series, trials and the sha256 of their bytes."""
    root = place / "shards"
    return {str(path.relative_to(root)) for path in root.rglob("*.parquet")}


def leftovers(place: Path) -> list[Path]:
    return [path for path in (place / "shards").rglob(".*") if path.is_file()]


def wait_for(place: Path, count: int, process: Process, patience: float = 60.0) -> None:
    """Wait until the store has ``count`` shards, or the run has ended."""
    end = time.monotonic() + patience
    while len(shards(place)) < count and process.poll() is None and time.monotonic() < end:
        time.sleep(0.005)


def same_run(place: Path, whole: Path) -> None:
    """Check that all shards, the summary and the results are identical."""
    assert shards(place) == shards(whole)
    assert (place / "summary.json").read_text().replace(str(place), str(whole)) == (
        whole / "summary.json"
    ).read_text()
    mine, theirs = (study(p) for p in (place, whole))
    for left, right in zip(mine.cells, theirs.cells, strict=True):
        same(left.results(), right.results())


def check_killed_run(folder: Path, whole: Path, kills: int) -> None:
    place, chance = folder / f"killed-{kills}", random.Random(7)
    total = len(shards(whole))
    assert total == 200
    between = mid = 0
    for number in range(kills):
        before = len(shards(place))
        if number == kills // 2:
            words = [sys.executable, "-c", BETWEEN, "3", *COMMAND[3:]]
            process = start(folder, place, words=words)
            assert process.wait(timeout=120) == -signal.SIGKILL
            assert len(leftovers(place)) >= 1  # complete but not renamed
            between += 1
        else:
            process = start(folder, place, f"--workers={1 + number % 2}")
            if number % 3 == 0:
                time.sleep(chance.uniform(0.0, 3.0))
            else:
                wait_for(place, before + chance.randint(1, 6), process)
                time.sleep(chance.uniform(0.0, 0.05))
            assert process.poll() is None, "the run ended before it could be killed"
            # only the run, whose workers must notice it, or all processes at once
            process.kill() if number % 2 else process.kill_all()
            process.wait()
        assert all(name in shards(whole) for name in shards(place))
        mid += before > 0 and len(shards(place)) < total and len(shards(place)) > before
    assert between == 1
    assert mid >= kills // 4
    assert 0 < len(shards(place)) < total
    run(folder, place, "--workers=2")
    same_run(place, whole)


def test_run_killed_five_times_gives_identical_bits(folder: Path, whole: Path) -> None:
    check_killed_run(folder, whole, 5)


@pytest.mark.nightly
def test_run_killed_twenty_times_gives_identical_bits(folder: Path, whole: Path) -> None:
    check_killed_run(folder, whole, 20)


def test_same_bits_for_any_shard_size_and_number_of_workers(folder: Path, whole: Path) -> None:
    wanted = [cell.results() for cell in study(whole).cells]
    for size, workers in ((400, 2), (33, 1)):
        place = folder / f"size-{size}"
        options = (f"--output={place}", f"--shard={size}", f"--workers={workers}")
        subprocess.run([*COMMAND, *options], cwd=folder, check=True, capture_output=True)
        assert shards(place) != shards(whole)
        for cell, right in zip(study(place).cells, wanted, strict=True):
            same(cell.results(), right)


def test_two_concurrent_runs_share_one_store(folder: Path, whole: Path) -> None:
    place, log = folder / "both", folder / "log"
    first = start(folder, place, "--workers=1")
    wait_for(place, 3, first)
    second = start(folder, place, "--workers=1")
    assert (second.wait(timeout=300), first.wait(timeout=300)) == (0, 0), log.read_text()[-3000:]
    same_run(place, whole)


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root mounts")
def test_run_resumes_after_a_full_disk(folder: Path, whole: Path) -> None:
    place = folder / "small"
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=400k", "tmpfs", str(place)]
    if subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("this machine does not let root mount a tmpfs")
    try:
        command = [*COMMAND, f"--output={place}", "--workers=1"]
        full = subprocess.run(command, cwd=folder, capture_output=True, text=True)
        assert full.returncode == 2
        (line,) = full.stderr.splitlines()
        assert line.startswith("Error: ")
        assert "disk is full" in line
        before = shards(place)
        assert before
        assert before < shards(whole)
        assert not leftovers(place)
        subprocess.run(["mount", "-o", "remount,size=64m", str(place)], check=True)
        run(folder, place, "--workers=1")
        same_run(place, whole)
    finally:
        subprocess.run(["umount", str(place)], check=True)


def study(place: Path) -> Study:
    return Study.open(Directory.open(place), "study")


@pytest.fixture(scope="module")
def scheduler(folder: Path) -> Iterator[tuple[str, list[Process]]]:
    """A dask scheduler, and two worker processes without a nanny."""
    pytest.importorskip("distributed")
    log, file = (folder / "dask.log").open("ab"), folder / "scheduler.json"
    options_of_process = {"cwd": folder, "stdout": log, "stderr": log, "start_new_session": True}
    dask = [sys.executable, "-m", "distributed.cli.dask_scheduler"]
    options = ["--port=0", "--dashboard-address=:0", "--no-dashboard", f"--scheduler-file={file}"]
    processes = [Process([*dask, *options], **options_of_process)]
    deadline = time.monotonic() + 60
    while not file.exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    import json

    address = json.loads(file.read_text())["address"]
    worker = [sys.executable, "-m", "distributed.cli.dask_worker", address, "--no-nanny"]
    worker += ["--nthreads=1", "--no-dashboard"]
    processes += [Process(worker, **options_of_process) for _ in range(2)]
    yield address, processes
    for process in processes:
        if process.poll() is None:
            process.kill_all()
    log.close()


def test_run_on_a_cluster_that_loses_a_busy_worker(
    folder: Path, whole: Path, scheduler: tuple[str, list[Process]]
) -> None:
    address, (_, victim, _) = scheduler
    place = folder / "cluster"
    process = start(folder, place, f"--cluster={address}")
    wait_for(place, 20, process)
    process.kill()  # the run first: its requested tasks are not lost
    process.wait()
    there = len(shards(place))
    assert 20 <= there < 200
    process = start(folder, place, f"--cluster={address}")
    wait_for(place, there + 20, process)
    victim.kill_all()
    assert process.poll() is None
    assert process.wait(timeout=300) == 0, (folder / "log").read_text()[-3000:]
    same_run(place, whole)
