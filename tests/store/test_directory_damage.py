"""Tests of store/directory.py: damaged and foreign files are detected."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from helpers.bad_input import refuses
from helpers.stores import a_plan, a_shard, files_in, put_study, synthetic
from hypothesis import given, settings
from hypothesis import strategies as st

from graphbandits.engine import Plays, Ratios, Shard
from graphbandits.errors import InputError
from graphbandits.store import DamagedShardError, ShardFile, Store
from graphbandits.store.directory import ShardIndex
from graphbandits.store.maintenance import Finding, gc, verify


def wrong(store: Store) -> list[Finding]:
    return [finding for finding in verify(store) if finding.wrong]


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store.create(tmp_path / "store")


@pytest.mark.parametrize("how", ["zero", "short", "long", "other"])
def test_changed_shard_is_never_read(store: Store, how: str) -> None:
    file = store.write(synthetic("a"), a_shard(0, 4), {})
    path = store.path_of(file)
    data = path.read_bytes()
    changed = {"zero": b"", "short": data[:-1], "long": data + b"\0", "other": b"x" * len(data)}
    path.write_bytes(changed[how])
    with refuses(
        DamagedShardError, match="is damaged: its sha256 differs from the one in its name"
    ) as error:
        store.read(file)
    assert error.value.file == file
    assert str(path) in str(error.value)


@given(st.data())
@settings(max_examples=60, deadline=None)
def test_a_flipped_bit_anywhere_is_noticed(tmp_path_factory, data) -> None:
    store = Store.create(tmp_path_factory.mktemp("flip"))
    file = store.write(synthetic("a"), a_shard(0, 3), {})
    path = store.path_of(file)
    content = bytearray(path.read_bytes())
    content[data.draw(st.integers(0, len(content) - 1))] ^= 1 << data.draw(st.integers(0, 7))
    path.write_bytes(content)
    with pytest.raises(DamagedShardError):
        store.read(file)


@pytest.mark.parametrize("to", ["other trials", "fewer trials", "other series"])
def test_a_renamed_shard_is_noticed(store: Store, to: str) -> None:
    file = store.write(synthetic("a"), a_shard(10, 4), {})
    store.write(synthetic("b"), a_shard(0, 1), {})
    renamed = {
        "other trials": replace(file, first=14),
        "fewer trials": replace(file, trials=3),
        "other series": replace(file, series=synthetic("b").name),
    }[to]
    os.replace(store.path_of(file), store.path_of(renamed))
    assert renamed in store.shards(renamed.series)
    with refuses(DamagedShardError):
        store.read(renamed)
    (found,) = wrong(store)
    assert found.path == store.path_of(renamed)


def written_as(store: Store, data: bytes, trials: int = 2) -> ShardFile:
    """Write any content to a file with a valid name."""
    file = ShardFile(synthetic("a").name, 0, trials, hashlib.sha256(data).hexdigest())
    store.describe(synthetic("a"))
    store.path_of(file).write_bytes(data)
    return file


def test_foreign_content_under_a_valid_name_is_noticed(store: Store) -> None:
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
    assert len(wrong(store)) == len(bad)


def test_other_rounds_than_expected_are_noticed(store: Store) -> None:
    file = store.write(synthetic("a"), a_shard(0, 2, rounds=3), {})
    assert store.read(file, rounds=3).trials == 2
    with refuses(DamagedShardError, match="has 3 recorded rounds, not 4"):
        store.read(file, rounds=4)


def test_removed_shard_can_be_written_again(store: Store) -> None:
    file = store.write(synthetic("a"), a_shard(0, 2), {})
    store.path_of(file).unlink()
    with refuses(DamagedShardError):
        store.read(file)
    assert store.set_aside(file) is None


def test_damaged_shard_is_set_aside_and_written_again(store: Store) -> None:
    shard = a_shard(0, 2)
    file = store.write(synthetic("a"), shard, {})
    store.path_of(file).write_bytes(b"broken")
    aside = store.set_aside(file)
    assert aside is not None
    assert aside.read_bytes() == b"broken"
    assert store.shard_index(file.series, 2) == ShardIndex((), ((0, 2),))
    assert store.write(synthetic("a"), shard, {}) == file
    assert (store.read(file).regret == shard.regret).all()


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
        with refuses(ValueError):
            Shard.from_parquet(changed(column, values))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        '{"format": 1',
        "[]",
        "null",
        '{"format": "1"}',
        '{"format": true}',
        '{"format": 0}',
        '{"made_by": "me"}',
        "[" * 10**5,
        "\udcff",
    ],
    ids=lambda text: ascii(text[:20]),
)
@pytest.mark.parametrize("how", [Store.create, Store.open])
def test_a_damaged_manifest_is_named(tmp_path: Path, text: str, how: Callable) -> None:
    path = tmp_path / "store.json"
    path.write_bytes(text.encode("utf-8", "surrogateescape"))
    with refuses(InputError, match="is not the manifest of a store, or is damaged: if"):
        how(tmp_path)


@pytest.mark.parametrize("how", [Store.create, Store.open])
def test_a_store_of_a_newer_format_is_refused_and_not_changed(
    tmp_path: Path, how: Callable
) -> None:
    (tmp_path / "store.json").write_text('{"format": 2, "layout": "other"}')
    with refuses(
        InputError, match="is a store of format 2, but this version of graphbandits reads"
    ):
        how(tmp_path)
    assert list(files_in(tmp_path)) == ["store.json"]


def test_paths_without_a_store_are_refused(tmp_path: Path) -> None:
    with refuses(InputError, match=r"is not a store: it has no store\.json"):
        Store.open(tmp_path)
    with refuses(InputError, match="is not a store: the directory does not exist"):
        Store.open(tmp_path / "nowhere")
    (tmp_path / "file").write_text("mine")
    with refuses(InputError):
        Store.open(tmp_path / "file")
    with refuses(InputError):
        Store.create(tmp_path / "file")
    (tmp_path / "below").mkdir()
    (tmp_path / "below" / "store.json").mkdir()
    with refuses(InputError):
        Store.create(tmp_path / "below")


@pytest.mark.parametrize("name", ["shards", "studies", "cells", "running"])
def test_file_instead_of_a_directory_is_reported(store: Store, name: str) -> None:
    (store.path / name).write_text("mine")
    attempts: dict[str, Callable[[], object]] = {
        "shards": lambda: store.write(synthetic("a"), a_shard(0, 1), {}),
        "studies": lambda: store.put_study("a", {}),
        "cells": lambda: store.put_cell({}, {}),
        "running": lambda: store.mark_active().__enter__(),
    }
    advice = f"{re.escape(str(store.path / name))} is not a directory, .*: move it elsewhere, and"
    with pytest.raises(InputError, match=advice):
        attempts[name]()
    listed: dict[str, Callable[[], object]] = {
        "shards": lambda: store.shards("0" * 64),
        "studies": store.studies,
    }
    if name in listed:
        with pytest.raises(InputError, match=advice):
            listed[name]()


def test_directory_with_the_name_of_a_shard_is_reported(store: Store) -> None:
    """The trials count as missing; other shards can be written."""
    lost, kept = (store.write(synthetic("a"), a_shard(first, 2), {}) for first in (0, 2))
    path = store.path_of(lost)
    path.unlink()
    path.mkdir()
    (path / "thesis.tex").write_text("mine")
    assert store.shard_index(lost.series, 4) == ShardIndex((kept,), ((0, 2),))
    assert [(one.path, one.advice) for one in wrong(store)] == [(path, "move it elsewhere")]
    with pytest.raises(InputError, match=f"cannot write .*{lost.name}: it is a directory; move it"):
        store.write(synthetic("a"), a_shard(0, 2), {})
    put_study(store, {"": a_plan()})
    assert {one.path for one in gc(store)} == {store.path_of(kept), path.with_name("series.json")}
    assert (path / "thesis.tex").read_text() == "mine"


def test_cells_are_named_by_their_content_and_repaired(store: Store) -> None:
    arrays = {"graph/matrix": np.arange(4.0)}
    name = store.put_cell({"rounds": [1, 2]}, arrays)
    path = store.path / "cells" / f"{name}.npz"
    before = path.stat().st_ino
    assert store.put_cell({"rounds": [1, 2]}, arrays) == name
    assert path.stat().st_ino == before
    assert store.put_cell({"rounds": [1, 3]}, arrays) != name
    path.write_bytes(path.read_bytes()[:-3])
    with refuses(InputError):
        store.cell(name)
    store.put_cell({"rounds": [1, 2]}, arrays)
    meta, found = store.cell(name)
    assert meta == {"rounds": [1, 2]}
    assert (found["graph/matrix"] == arrays["graph/matrix"]).all()
    path.unlink()
    with refuses(InputError):
        store.cell(name)


def test_files_of_a_newer_format_are_not_overwritten(store: Store) -> None:
    store.put_study("density", {"format": 2, "new": 1})
    before = files_in(store.path)
    with refuses(
        InputError, match="has format 2, but this version of graphbandits writes format 1"
    ):
        store.put_study("density", {"format": 1})
    assert files_in(store.path) == before
    store.put_study("density", {"format": 2})  # a later version may do this
    assert store.study("density") == {"format": 2}


@pytest.mark.parametrize("text", ["", "[]", "{", '{"format": "new"}', '{"format": 1}'])
def test_damaged_record_is_rewritten(store: Store, text: str) -> None:
    store.put_study("density", {"format": 1})
    (store.path / "studies" / "density.json").write_text(text)
    store.put_study("density", {"format": 1, "again": True})
    assert store.study("density") == {"format": 1, "again": True}


def test_damaged_description_of_a_series_is_rewritten(store: Store) -> None:
    file = store.write(synthetic("a"), a_shard(0, 1), {})
    path = store.path_of(file).with_name("series.json")
    path.write_text("{}")
    assert [finding.path for finding in wrong(store)] == [path]
    Store.open(store.path).describe(synthetic("a"))
    assert not wrong(store)


@pytest.mark.parametrize("key", ["", ".", "..", ".hidden", "a/b", "a\\b", "a\0b"])
def test_keys_of_studies_are_names_of_files(store: Store, key: str) -> None:
    with refuses(InputError):
        store.put_study(key, {})
    with refuses(InputError):
        store.study(key)


def test_invalid_studies_are_refused(store: Store) -> None:
    for record in ({"a": float("nan")}, {"a": object()}):
        with refuses(InputError):
            store.put_study("a", record)
    assert store.studies() == []
    store.put_study("density", {"format": 1})
    with refuses(InputError):
        store.study("densty")
    for text in ("", "[]", '{"format": ', "\xff"):
        (store.path / "studies" / "density.json").write_text(text, "latin-1")
        with refuses(InputError):
            store.study("density")
