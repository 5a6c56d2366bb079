"""Tests of store/maintenance.py: ``verify`` and ``gc``."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from helpers.bad_input import refuses
from helpers.stores import a_plan, a_shard, files_in, fill, put_study, synthetic, whole_store

from graphbandits._io import _temporary_path
from graphbandits._process_info import machine_id
from graphbandits.engine import Trajectories
from graphbandits.engine.provenance import Series, facts_hash, series_of
from graphbandits.errors import InputError
from graphbandits.rng import Keys
from graphbandits.store import Store, activity, maintenance
from graphbandits.store.maintenance import gc, store_contents, verify


@pytest.fixture
def filled(tmp_path: Path) -> tuple[Store, object]:
    return whole_store(tmp_path / "store")


def ended_process() -> int:
    """Return the id of a process that has ended."""
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return process.pid


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


def test_verify_finds_nothing_in_a_complete_store(filled) -> None:
    store, _ = filled
    steps: list[tuple[int, int]] = []
    assert list(verify(store, lambda done, of: steps.append((done, of)))) == []
    assert steps == [(done, 6) for done in range(1, 7)]


def spoil(store: Store, pattern: str, how: Callable[[bytes], bytes | None]) -> Path:
    path = sorted(store.path.glob(pattern))[0]
    data = how(path.read_bytes())
    if data is None:
        path.unlink()
    else:
        path.write_bytes(data)
    return path


def flipped(data: bytes) -> bytes:
    return data[:9] + bytes([data[9] ^ 1]) + data[10:]


def other_key(data: bytes) -> bytes:
    return data.replace(b'"key": "study"', b'"key": "other"')


@pytest.mark.parametrize(
    ("pattern", "how", "what", "advice"),
    [
        ("shards/*/*.parquet", flipped, "damaged: its sha256", "run the experiment again"),
        ("shards/*/*.parquet", lambda data: b"", "damaged: its sha256", "run the experiment again"),
        (
            "shards/*/*.parquet",
            lambda data: data[:-5],
            "damaged: its sha256",
            "run the experiment again",
        ),
        (
            "shards/*/series.json",
            lambda data: b"{}",
            "description of the shards .* is damaged",
            "run the",
        ),
        (
            "shards/*/series.json",
            lambda data: None,
            "description of the shards .* is missing",
            "run the",
        ),
        ("cells/*.npz", flipped, "is damaged", "run the experiment again"),
        ("cells/*.npz", lambda data: None, "'study' refers to it", "run the experiment again"),
        ("studies/*.json", lambda data: data[:-20], "is damaged", "run the experiment again"),
        ("studies/*.json", lambda data: b"{}", "is damaged", "run the experiment again"),
        ("studies/*.json", other_key, "its key is 'other'", "run the experiment again"),
    ],
)
def test_every_kind_of_damage_is_found(filled, pattern, how, what: str, advice: str) -> None:
    store, _ = filled
    path = spoil(store, pattern, how)
    (found,) = [finding for finding in verify(store) if finding.wrong]
    assert found.path == path
    assert np.all([len(found.what) < 120, str(store.path) not in found.what])
    with pytest.raises(AssertionError, match=what):
        raise AssertionError(found.what)
    assert found.advice.startswith(advice)


def test_record_of_a_newer_format_is_named_and_prevents_gc(filled) -> None:
    store, _ = filled
    record = store.study("study")
    store.put_study("study", record | {"format": 2})
    (found,) = [finding for finding in verify(store) if finding.wrong]
    assert "format 2" in found.what
    before = files_in(store.path)
    with refuses(
        InputError, match="has format 2, but this version of graphbandits reads formats up"
    ):
        gc(store)
    assert files_in(store.path) == before


def test_shards_are_checked_against_their_series(tmp_path: Path) -> None:
    store, plan = Store.create(tmp_path), a_plan()
    series = series_of(plan, "ts-n")
    shard = plan.run_shard("ts-n", Keys(plan.seed, 0, 3))
    for wrong, why in (
        (replace(shard, regret=shard.regret[:, :-1]), "14 recorded rounds, not 15"),
        (replace(shard, plays=replace(shard.plays, count=shard.plays.count + 1)), "15 plays"),
        (a_plan(ratios="bound").run_shard("ts-n", Keys(4, 0, 3)), "those that should be recorded"),
    ):
        file = store.write(series, wrong, {})
        (found,) = verify(store)
        assert why in found.what
        assert found.wrong
        store.path_of(file).unlink()


def test_trajectories_are_checked_against_their_series(tmp_path: Path) -> None:
    store, plan = Store.create(tmp_path), a_plan(record=("actions", "observations"))
    series = series_of(plan, "ts-n")
    shard = plan.run_shard("ts-n", Keys(plan.seed, 0, 3))
    seen = shard.trajectories
    assert seen is not None
    assert seen.action is not None
    store.write(series, shard, {})
    assert list(verify(store)) == []
    for wrong, why in (
        (None, "those that should be recorded"),
        (Trajectories(seen.action), "those that should be recorded"),
        (replace(seen, action=seen.action[::-1]), "do not match its numbers of plays"),
    ):
        file = store.write(series, replace(shard, trajectories=wrong), {"cpu": "other"})
        found = [one for one in verify(store) if one.wrong]
        assert why in found[0].what
        store.path_of(file).unlink()
    # another reward is a difference between two files of the same trials
    assert seen.observations is not None
    reward = seen.observations.reward.copy()
    reward[-1] = 1.0 - reward[-1]
    other = replace(seen, observations=replace(seen.observations, reward=reward))
    store.write(series, replace(shard, trajectories=other), {})
    (found_one,) = verify(store)
    assert "trial 2 has other numbers" in found_one.what


@pytest.mark.parametrize("first", [0, 2, 3])
def test_different_numbers_for_the_same_trials_are_found(tmp_path: Path, first: int) -> None:
    store, series = Store.create(tmp_path), synthetic("a")
    store.write(series, a_shard(0, 4), {"cpu": "x"})
    store.write(series, a_shard(first, 4), {"cpu": "y"})  # another machine, the same numbers
    store.write(series, a_shard(4, 9), {"cpu": "x"})
    assert list(verify(store)) == []
    other = a_shard(first, 4)
    other.regret[3 - first, 1] += 2**-30
    for cpu, wrong in (("x", 1), ("y", 1), ("z", 0)):
        file = store.write(series, other, {"cpu": cpu})
        found = list(verify(store))
        assert len(found) == 2  # it differs from both others, which agree
        assert all("trial 3 has other numbers than in" in finding.what for finding in found)
        assert sum(finding.wrong for finding in found) == wrong
        assert all(("round differently" in one.what) != one.wrong for one in found)
        store.path_of(file).unlink()


def test_missing_shards_and_leftover_files_are_not_errors(filled) -> None:
    store, plan = filled
    lost = store.shards(series_of(plan, "ucb-n").name)[1]
    store.path_of(lost).write_bytes(b"broken")
    aside = store.set_aside(lost)
    temporary = _temporary_path(store.path / "cells" / f"{'0' * 64}.npz")
    temporary.write_bytes(b"half")
    stale = entry(store, "run-host-1.json", {"pid": 1})
    found = {finding.path: finding for finding in verify(store)}
    assert not any(finding.wrong for finding in found.values())
    assert set(found) == {aside, temporary, stale, store.path / "studies" / "study.json"}
    assert "5 of 24 trials" in found[store.path / "studies" / "study.json"].what


def test_a_shard_under_a_strange_name_is_found(filled) -> None:
    store, plan = filled
    file = store.shards(series_of(plan, "ts-n").name)[0]
    strange = store.path_of(file).with_name("copy of " + file.name)
    shutil.copy(store.path_of(file), strange)
    assert [finding.path for finding in verify(store) if finding.wrong] == [strange]


def test_gc_keeps_a_complete_store_and_foreign_files(filled) -> None:
    store, _ = filled
    place = next((store.path / "shards").iterdir())
    for path in (
        store.path / "figure-regret.png",
        store.path / ".figure.png-0123456789abcdef01234567",
        store.path / "report.html",
        store.path / "summary.json",
        store.path / "notes" / "thesis.tex",
        store.path / "cells" / "README",
        store.path / "cells" / "abc.npz",
        store.path / "studies" / ".hidden",
        store.path / "running" / "notes.txt",
        store.path / "shards" / "README",
        store.path / "shards" / "mine" / "0000000000-2.parquet",
        place / ".nfs0000000000000001",
        place / "data.csv",
        place / "copy.parquet",
    ):
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(b"mine")
        os.utime(path, (1, 1))
    (store.path / "empty").mkdir()
    before = files_in(store.path)
    assert gc(store) == []
    assert files_in(store.path) == before
    assert (store.path / "empty").is_dir()


def test_gc_removes_and_lists_unused_files(filled, tmp_path: Path) -> None:
    store, plan = filled
    before = files_in(store.path)
    (store.path / "report.html").write_text("mine")
    expected: dict[Path, str] = {}
    # a series and a cell of a removed study
    old = a_plan(seed=99)
    put_study(store, {"": old}, key="old")
    (store.path / "studies" / "old.json").unlink()
    for file in fill(store, old, "ts-n", (0, 3), (3, 3)):
        expected[store.path_of(file)] = "no study refers to its series"
    gone = series_of(old, "ts-n").name
    expected[store.path / "shards" / gone / "series.json"] = "no study refers to its series"
    (cell,) = set(store.path.glob("cells/*")) - {store.path / name for name in before}
    expected[cell] = "no study refers to it"
    # duplicate trials; trials beyond those of the last run are kept for the next run
    twice, beyond = fill(store, plan, "ts-n", (1, 4), (12, 8))
    expected[store.path_of(twice)] = "studies use other shards instead"
    later = store.path_of(beyond)
    # leftovers
    damaged = store.path_of(twice).with_suffix(".damaged")
    temporary = _temporary_path(store.path / "studies" / "study.json")
    dead = temporary.with_name(
        temporary.name[:-24] + f"{machine_id()}{ended_process():08x}" + temporary.name[-8:]
    )
    ancient = _temporary_path(store.path / "store.json")
    for path in (damaged, temporary, dead, ancient):
        path.write_bytes(b"left")
    os.utime(ancient, (1, 1))
    expected |= {damaged: "damaged, and set aside", dead: "incomplete", ancient: "incomplete"}
    stale = entry(store, "run-host-1.json", {"pid": 1})
    expected[stale] = "left by a run that has ended"

    full = files_in(store.path)
    planned = gc(store, dry_run=True)
    assert files_in(store.path) == full
    assert {one.path: one.why for one in planned} == expected
    assert {one.path: one.bytes for one in planned} == {p: p.stat().st_size for p in expected}
    assert gc(store) == planned
    kept = {"report.html": b"mine", str(temporary.relative_to(store.path)): b"left"}
    kept[str(later.relative_to(store.path))] = later.read_bytes()
    assert files_in(store.path) == before | kept
    assert not (store.path / "shards" / gone).exists()
    assert (store.path / "running").is_dir()  # another process may be about to write there
    assert gc(store) == []


@pytest.mark.parametrize("kind", ["run", "gc"])
def test_gc_stops_if_a_run_starts_during_the_search(filled, monkeypatch, kind: str) -> None:
    store, _ = filled
    store.write(synthetic("unused"), a_shard(0, 2), {})
    before = files_in(store.path / "shards")
    look = maintenance._garbage

    def slow(*given: object) -> list[maintenance.RemovedFile]:
        found = list(look(*given))
        assert found
        (mine,) = (store.path / "running").iterdir()
        assert json.loads(mine.read_text())["kind"] == "gc"
        another(store, kind)
        return found

    monkeypatch.setattr(maintenance, "_garbage", slow)
    with refuses(InputError):
        gc(store)
    assert files_in(store.path / "shards") == before
    assert [path.name for path in (store.path / "running").iterdir()] == [f"{kind}-a.json"]


def test_gc_without_a_running_file_checks_before_every_removal(filled, monkeypatch) -> None:
    store, _ = filled
    files = [store.write(synthetic("unused"), a_shard(first, 2), {}) for first in (0, 2)]
    unlink = Path.unlink

    def unlink_and_come(path: Path, missing_ok: bool = False) -> None:
        unlink(path, missing_ok)
        if path.suffix == ".parquet":
            another(store, "run")

    def full(*_: object, **__: object) -> None:
        raise InputError("the disk is full")

    monkeypatch.setattr(activity, "mark_active", full)
    monkeypatch.setattr(Path, "unlink", unlink_and_come)
    with refuses(InputError, match=r"'graphbandits run x' \(process 12 on node7, since now\)"):
        gc(store)
    assert store.shards(synthetic("unused").name) == files[1:]


def test_gc_keeps_files_newer_than_its_start(filled, monkeypatch) -> None:
    store, plan = filled
    read = maintenance.read_record
    later: list[Path] = []

    def read_and_write(*given: object) -> object:
        record = read(*given)
        later.append(store.path_of(store.write(synthetic("new"), a_shard(0, 2), {})))
        later.append(store.path_of(*fill(store, plan, "ts-n", (1, 4))))
        later.append(store.path / "cells" / f"{store.put_cell({'new': 1}, {})}.npz")
        return record

    monkeypatch.setattr(maintenance, "read_record", read_and_write)
    assert gc(store) == []
    monkeypatch.undo()
    removed = {one.path for one in gc(store)}
    assert removed == {*later, later[0].with_name("series.json")}


def test_gc_refuses_shards_without_any_study(filled) -> None:
    store, _ = filled
    for key in store.studies():
        (store.path / "studies" / f"{key}.json").unlink()
    before = files_in(store.path)
    with refuses(InputError, match="has shards, but no study that refers to them"):
        gc(store)
    assert files_in(store.path) == before


def test_gc_keeps_possible_replacements_of_a_damaged_shard(filled) -> None:
    store, plan = filled
    (spare,) = fill(store, plan, "ts-n", (1, 4))
    assert [one.path for one in gc(store, dry_run=True)] == [store.path_of(spare)]
    used = store.shard_index(spare.series, 12).used
    store.path_of(used[0]).write_bytes(b"broken")
    assert gc(store) == []


def test_gc_keeps_files_needed_by_any_study(tmp_path: Path) -> None:
    store, plan = Store.create(tmp_path), a_plan()
    put_study(store, {"": plan}, key="long", trials=12)
    put_study(store, {"": plan}, key="short", trials=5)
    for policy in plan.policies:
        fill(store, plan, policy, (0, 12), (0, 5))
    assert gc(store) == []
    (store.path / "studies" / "short.json").unlink()
    assert {one.path.name.split(".")[0] for one in gc(store)} == {"0000000000-5"}


def test_gc_removes_nothing_if_a_record_is_damaged(filled) -> None:
    store, _ = filled
    store.write(synthetic("unused"), a_shard(0, 2), {})
    (store.path / "studies" / "other.json").write_text('{"format": 1}')
    before = files_in(store.path)
    with refuses(InputError, match=r"is damaged \(key: Field required\)"):
        gc(store)
    assert files_in(store.path) == before


def test_gc_keeps_policies_missing_in_the_last_run_unless_asked(tmp_path: Path) -> None:
    store, plan = whole_store(tmp_path)
    not_in_last_run = set(store.path.glob(f"shards/{series_of(plan, 'ucb-n').name}/*"))
    put_study(store, {"": a_plan(policies=["ts-n"])})
    assert not {one.path for one in gc(store)} & not_in_last_run
    assert {one.path for one in gc(store, extra_policies=True)} == not_in_last_run


def test_gc_removes_an_older_version_of_a_policy_and_another_problem(tmp_path: Path) -> None:
    store, plan = whole_store(tmp_path)
    facts = series_of(plan, "ts-n").facts
    sources = facts["sources"]
    some = next(iter(sources))
    stale = [
        facts | {"sources": sources | {some: "0" * 64}},  # another version of ts-n
        facts | {"policy": "ts", "sources": sources | {some: "0" * 64}},  # unusable now
        facts | {"policy": "ts", "problem": facts["problem"] | {"horizon": 16}},
        facts | {"policy": "ts", "versions": facts["versions"] | {"numpy": "0"}},
    ]
    kept = facts | {"policy": "ts"}
    for one in (*stale, kept):
        store.write(Series(facts_hash(one), one), plan.run_shard("ts-n", Keys(4, 0, 2)), {})
    removed = {one.path.parent.name for one in gc(store)}
    assert removed == {facts_hash(one) for one in stale}


def test_contents_of_a_store_are_listed(filled) -> None:
    store, plan = filled
    put_study(store, {"": plan}, key="longer", trials=20)
    store.write(synthetic("unused"), a_shard(0, 2), {})
    (store.path / "studies" / "torn.json").write_text("{")
    contents = store_contents(store)
    longer, study, torn = contents.studies
    assert (study.key, study.title, study.cells) == ("study", "The title of study", 1)
    assert (study.policies, study.trials, study.done, study.of) == (("ts-n", "ucb-n"), 12, 24, 24)
    assert (longer.done, longer.of, longer.amount) == (24, 40, study.amount)
    assert "torn.json is damaged" in torn.damage
    shards = list(store.path.glob("shards/*/*.parquet"))
    assert (contents.total.series, contents.total.shards) == (3, 7)
    assert contents.total.bytes == sum(path.stat().st_size for path in shards)
    assert (contents.without_study.series, contents.without_study.shards) == (1, 1)
    assert contents.total.bytes == study.amount.bytes + contents.without_study.bytes
