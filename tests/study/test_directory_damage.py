"""Tests of study/directory.py: damaged and foreign files are detected."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from helpers.bad_input import refuses
from helpers.stores import a_plan, a_shard, files_in, fill, put_study, synthetic
from hypothesis import given, settings
from hypothesis import strategies as st

from graphbandits.errors import InputError, InputWarning
from graphbandits.simulation.plan import Plan, Task
from graphbandits.simulation.shard import Plays, Ratios, Shard
from graphbandits.study.directory import (
    DamagedShardError,
    Directory,
    ShardFile,
    verify,
)


@pytest.fixture
def store(tmp_path: Path) -> Directory:
    return Directory.create(tmp_path / "store")


@given(st.data())
@settings(max_examples=60, deadline=None)
def test_a_flipped_bit_anywhere_is_noticed(tmp_path_factory, data) -> None:
    store = Directory.create(tmp_path_factory.mktemp("flip"))
    file = store.write(synthetic("a"), a_shard(0, 3), {})
    path = store.path_of(file)
    content = bytearray(path.read_bytes())
    content[data.draw(st.integers(0, len(content) - 1))] ^= 1 << data.draw(st.integers(0, 7))
    path.write_bytes(content)
    with pytest.raises(DamagedShardError):
        store.read(file)


@pytest.mark.parametrize("to", ["other trials", "fewer trials", "other series"])
def test_a_renamed_shard_is_noticed(store: Directory, to: str) -> None:
    file = store.write(synthetic("a"), a_shard(10, 4), {})
    store.write(synthetic("b"), a_shard(0, 1), {})
    renamed = {
        "other trials": replace(file, first=14),
        "fewer trials": replace(file, trials=3),
        "other series": replace(file, series=synthetic("b").name),
    }[to]
    os.replace(store.path_of(file), store.path_of(renamed))
    assert renamed in store.shards(renamed.series)
    with pytest.raises(DamagedShardError, match="its trials are not those in its name"):
        store.read(renamed)
    (found,) = verify(store)
    assert found.path == store.path_of(renamed)


def written_as(store: Directory, data: bytes, trials: int = 2) -> ShardFile:
    """Write any content to a file with a valid name."""
    file = ShardFile(synthetic("a").name, 0, trials, hashlib.sha256(data).hexdigest())
    store.path_of(file).parent.mkdir(parents=True, exist_ok=True)
    store.path_of(file).write_bytes(data)
    return file


def test_foreign_content_under_a_valid_name_is_noticed(store: Directory) -> None:
    shard = a_shard(0, 2)
    facts = {"series": synthetic("a").name}
    bad = {
        "no Parquet": b"anything",
        "no series": shard.to_parquet({}),
        "no facts": shard.to_parquet([]),  # type: ignore[arg-type]
        "nothing": b"",
        "no number": replace(shard, regret=shard.regret * np.nan).to_parquet(facts),
    }
    for data in bad.values():
        with pytest.raises(DamagedShardError):
            store.read(written_as(store, data))
    assert len(verify(store)) == len(bad) + 1  # and the identity is missing


def test_other_rounds_than_expected_are_noticed(store: Directory) -> None:
    file = store.write(synthetic("a"), a_shard(0, 2, rounds=3), {})
    assert store.read(file, rounds=3).trials == 2
    with pytest.raises(DamagedShardError, match="it has 3 rounds, not 4"):
        store.read(file, rounds=4)


def test_a_run_removes_damaged_shards_and_counts_them_as_missing(store: Directory) -> None:
    plan = a_plan()
    lost, kept = fill(store, plan, "ts-n", (0, 6), (6, 6))
    store.path_of(lost).write_bytes(b"broken")
    task = Task(plan, "ts-n", 0, 12)
    assert store.missing(task) == ()
    with pytest.warns(InputWarning, match="its sha256 differs .*; it is computed again"):
        store.remove_damaged(task)
    assert store.missing(task) == ((0, 6),)
    assert store.shards(kept.series) == [kept]
    assert fill(store, plan, "ts-n", (0, 6)) == [lost]


def test_inconsistent_tables_are_refused() -> None:
    shard = Shard(0, np.ones((2, 3)), Plays(np.array([0, 1]), np.array([0, 2]), np.array([3, 3])))
    ragged = replace(shard, ratios=Ratios(*(np.ones((2, 2)) for _ in range(4))))
    assert Shard.from_parquet(ragged.to_parquet({}))[0].ratios is not None
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = pq.read_table(pa.BufferReader(shard.to_parquet({})))

    def changed(column: str, values: object) -> bytes:
        place = table.schema.get_field_index(column)
        array = pa.array(values, table.schema.field(column).type)
        sink = pa.BufferOutputStream()
        pq.write_table(table.set_column(place, column, array), sink)
        return sink.getvalue().to_pybytes()

    assert Shard.from_parquet(changed("regret", [[1, 2, 3], [4, 5, 6]]))[0].regret[1, 2] == 6
    for column, values in (
        ("regret", [[1, 2], [3, 4, 5, 6]]),
        ("trial", [0, 2]),
        ("played", [[0, 1], []]),
    ):
        with pytest.raises(ValueError, match=r"its (trials|numbers of plays)"):
            Shard.from_parquet(changed(column, values))


def test_a_damaged_manifest_is_named(tmp_path: Path) -> None:
    for how in (Directory.create, Directory.open):
        for text in (
            "",
            "{",
            '{"format": 1',
            "[]",
            "null",
            '{"format": "1"}',
            '{"format": true}',
            '{"made_by": "me"}',
            "[" * 10**5,
            "\udcff",
        ):
            path = tmp_path / "study.json"
            path.write_bytes(text.encode("utf-8", "surrogateescape"))
            with pytest.raises(InputError, match=r"study.json is damaged: delete it and run"):
                how(tmp_path)


@pytest.mark.parametrize("how", [Directory.create, Directory.open])
def test_another_format_is_refused_and_not_changed(tmp_path: Path, how: Callable) -> None:
    (tmp_path / "study.json").write_text('{"format": 2, "layout": "other"}')
    with pytest.raises(
        InputError, match=r"has studies of format 2, but .* reads format 1: use the"
    ):
        how(tmp_path)
    assert list(files_in(tmp_path)) == ["study.json"]


@pytest.mark.parametrize("name", ["shards", "studies", "problems"])
def test_file_instead_of_a_directory_is_reported(store: Directory, name: str) -> None:
    record = put_study(store, a_plan())
    shutil.rmtree(store.path / name, ignore_errors=True)
    (store.path / name).write_text("mine")
    attempts: dict[str, Callable[[], object]] = {
        "shards": lambda: store.write(synthetic("a"), a_shard(0, 1), {}),
        "studies": lambda: store.put_study(record),
        "problems": lambda: store.put_problem(b""),
    }
    with pytest.raises(InputError, match=f"cannot write .*{name}.*: (File exists|Not a directory)"):
        attempts[name]()
    with pytest.raises(InputError, match=f"cannot list .*{name}: Not a directory"):
        verify(store)


def test_problems_are_named_by_their_content_and_repaired(store: Directory) -> None:
    plan = a_plan()
    put_study(store, plan)
    path = store.path / "problems" / f"{plan.problem}.npz"
    before = path.stat().st_ino
    put_study(store, plan)
    assert path.stat().st_ino == before
    assert (
        Plan.unpack(
            store.problem(plan.problem), policies={}, horizon=1, trials=1, seed=0, recording=None
        ).problem
        == plan.problem
    )
    path.write_bytes(path.read_bytes()[:-3])
    with pytest.raises(InputError, match="npz is damaged: run the experiment again"):
        store.problem(plan.problem)
    assert [one.path for one in verify(store)] == [path]
    put_study(store, plan)
    assert not verify(store)
    path.unlink()
    with pytest.raises(InputError, match="npz is missing: run the experiment again"):
        store.problem(plan.problem)
    assert [one.path for one in verify(store)] == [path]


def test_a_damaged_record_is_named_and_replaced_by_a_run(store: Directory) -> None:
    for text in ("[]", "{", "\0", "[" * 10**5):
        put_study(store, a_plan())
        path = store.path / "studies" / "study.json"
        path.write_text(text)
        with refuses(InputError, match="study.json is damaged"):
            store.study("study")
        assert [one.path for one in verify(store)] == [path]
        put_study(store, a_plan())
        assert store.study("study").trials == 12


def test_damaged_identity_of_a_series_is_rewritten(store: Directory) -> None:
    plan = a_plan()
    (file,) = fill(store, plan, "ts-n", (0, 5))
    path = store.path_of(file).with_name("identity.json")
    path.write_text("{}")
    assert [finding.path for finding in verify(store)] == [path]
    Directory.open(store.path).remove_damaged(Task(plan, "ts-n", 0, 5))
    assert not verify(store)


def test_keys_of_studies_are_names_of_files(store: Directory) -> None:
    for key in ("", ".", "..", ".hidden", "a/b", "a\\b", "a\0b"):
        with pytest.raises(InputError, match="must be a valid file name"):
            put_study(store, a_plan(), key)
        with pytest.raises(InputError, match="must be a valid file name"):
            store.study(key)


def test_trials_with_other_numbers_in_two_files_are_found(store: Directory) -> None:
    one = store.write(synthetic("a"), a_shard(0, 4), {"cpu": "znver3"})
    store.write(synthetic("a"), a_shard(2, 4), {"cpu": "znver3"})
    assert not verify(store)
    other = store.write(synthetic("a"), a_shard(3, 2, seed=1), {"cpu": "skylake"})
    (found,) = verify(store)
    assert found.path == store.path_of(other)
    assert re.match(
        rf"trial 3 has other numbers than in {one.name} .*skylake and znver3", found.problem
    )
