"""The store: whole or not at all, several writers, damage, full and closed disks, kills."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import textwrap
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import combinations, pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from stores import a_plan, a_shard, files_in, fill, put_study, synthetic, whole_store

from graphbandits import files
from graphbandits.engine import Plays, Ratios, Shard
from graphbandits.errors import InputError
from graphbandits.rng import Keys
from graphbandits.store import (
    Cover,
    DamagedShardError,
    ShardFile,
    Store,
    cover_of,
    series_of,
    simulate_plan,
)
from graphbandits.store.maintenance import Finding, gc, verify

SRC = Path(__file__).parents[1] / "src"
IS_ROOT = hasattr(os, "geteuid") and os.geteuid() == 0


def python(code: str, *args: object, check: bool = True) -> subprocess.CompletedProcess[str]:
    """Run a script that can import the package and the helpers of these tests."""
    paths = os.pathsep.join([str(SRC), str(Path(__file__).parent)])
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code), *map(str, args)],
        env=os.environ | {"PYTHONPATH": paths},
        capture_output=True,
        text=True,
        check=check,
    )


def wrong(store: Store) -> list[Finding]:
    return [finding for finding in verify(store) if finding.wrong]


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store.create(tmp_path / "store")


# --- shards that are there


def test_a_shard_comes_back_bit_by_bit_with_its_facts(store: Store) -> None:
    plan = a_plan(ratios="bound")
    shard = plan.run_shard("ts-n", Keys(plan.seed, 250, 4))
    file = store.write(series_of(plan, "ts-n"), shard, {"cpu": "znver3"})
    again = store.read(file, rounds=15)
    assert (again.first, again.trials) == (250, 4)
    assert (again.regret == shard.regret).all()
    for part in ("trial", "arm", "count"):
        assert (getattr(again.plays, part) == getattr(shard.plays, part)).all()
    assert again.ratios is not None
    assert shard.ratios is not None
    for name, array in shard.ratios.items():
        assert getattr(again.ratios, name).tobytes() == array.tobytes()
    facts = Shard.from_parquet(store.path_of(file).read_bytes())[1]
    assert facts == {"cpu": "znver3", "series": file.series}


def test_a_shard_is_named_by_its_series_trials_and_bytes(store: Store) -> None:
    series = synthetic("a")
    file = store.write(series, a_shard(250, 4), {})
    path = store.path_of(file)
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    assert path == store.path / "shards" / series.name / f"0000000250-4.{digest}.parquet"
    assert ShardFile.of(series.name, path.name) == file
    assert json.loads((path.parent / "series.json").read_text()) == series.facts


def test_the_same_shard_again_changes_nothing(store: Store) -> None:
    one, two = (store.write(synthetic("a"), a_shard(0, 4), {"cpu": "x"}) for _ in range(2))
    assert one == two
    assert store.shards(one.series) == [one]


def test_the_series_cannot_be_given_as_a_fact(store: Store) -> None:
    file = store.write(synthetic("a"), a_shard(0, 2), {"series": "of another"})
    facts = Shard.from_parquet(store.path_of(file).read_bytes())[1]
    assert facts == {"series": file.series}


@pytest.mark.parametrize("facts", [{"cpu": object()}, {"load": float("nan")}, {1: {2, 3}}])
def test_facts_that_are_not_json_are_refused(store: Store, facts: dict) -> None:
    with pytest.raises(InputError, match="facts of a shard are plain values of JSON"):
        store.write(synthetic("a"), a_shard(0, 2), facts)
    assert not list(store.path.rglob("*.parquet"))


def test_names_that_are_not_those_of_shards_are_left_alone(store: Store) -> None:
    file = store.write(synthetic("a"), a_shard(0, 2), {})
    place = store.path_of(file).parent
    sha = file.checksum
    for name in (
        f"0000000000-0.{sha}.parquet",
        f"0000000000-02.{sha}.parquet",
        f"000000000-2.{sha}.parquet",
        f"{chr(0x660) * 10}-2.{sha}.parquet",
        f"0000000000-2.{sha[:-1]}.parquet",
        f"0000000000-2.{sha}.parquet.tmp",
        f".0000000000-2.{sha}.parquet-0123456789abcdef01234567",
        "notes.txt",
    ):
        (place / name).write_bytes(b"mine")
    assert store.shards(file.series) == [file]


# --- covers

SHARDS = st.lists(
    st.builds(
        lambda first, trials, checksum: ShardFile("s", first, trials, checksum),
        st.integers(0, 12),
        st.integers(1, 8),
        st.sampled_from("ab"),
    ),
    unique=True,
    max_size=9,
)


def most_trials(shards: list[ShardFile], first: int, end: int) -> tuple[int, int]:
    """(trials, -shards) of the best choice of disjoint shards, by trying all."""
    inside = [file for file in shards if first <= file.first and file.end <= end]
    best = (0, 0)
    for count in range(1, len(inside) + 1):
        for chosen in combinations(sorted(inside), count):
            if all(a.end <= b.first for a, b in pairwise(chosen)):
                best = max(best, (sum(file.trials for file in chosen), -count))
    return best


@given(SHARDS, st.integers(0, 8), st.integers(1, 12), st.randoms())
@settings(max_examples=300, deadline=None)
def test_covers_are_exact_and_as_complete_as_can_be(shards, first, trials, random) -> None:
    cover = cover_of(shards, trials, first)
    pieces = sorted([(file.first, file.trials) for file in cover.used] + list(cover.gaps))
    numbers = [trial for at, count in pieces for trial in range(at, at + count)]
    assert numbers == list(range(first, first + trials))
    assert set(cover.used) <= set(shards)
    assert list(cover.used) == sorted(cover.used)
    assert cover.missing == trials - sum(file.trials for file in cover.used)
    assert (trials - cover.missing, -len(cover.used)) == most_trials(shards, first, first + trials)
    mixed = shards[:]
    random.shuffle(mixed)
    assert cover_of(mixed, trials, first) == cover


def test_of_the_same_trials_one_file_is_used_always_the_same(store: Store) -> None:
    """Two kinds of CPU may give two files."""
    shard = a_shard(0, 4)
    other = replace(shard, regret=shard.regret * (1 + 2**-52))
    written = {
        store.write(synthetic("a"), one, {"cpu": cpu})
        for one, cpu in ((shard, "znver3"), (other, "skylake"))
    }
    assert len(written) == 2
    assert store.cover(synthetic("a").name, 4) == Cover((min(written),), ())


def test_a_store_without_the_series_has_everything_missing(store: Store) -> None:
    assert store.cover("0" * 64, 5, first=3) == Cover((), ((3, 5),))


# --- damage


@pytest.mark.parametrize("how", ["zero", "short", "long", "other"])
def test_a_shard_that_is_not_what_was_written_is_never_read(store: Store, how: str) -> None:
    file = store.write(synthetic("a"), a_shard(0, 4), {})
    path = store.path_of(file)
    data = path.read_bytes()
    changed = {"zero": b"", "short": data[:-1], "long": data + b"\0", "other": b"x" * len(data)}
    path.write_bytes(changed[how])
    with pytest.raises(DamagedShardError, match="damaged: its sha256 is not its name's") as error:
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
    with pytest.raises(DamagedShardError, match="of other trials than its name says"):
        store.read(renamed)
    (found,) = wrong(store)
    assert found.path == store.path_of(renamed)


def written_as(store: Store, data: bytes, trials: int = 2) -> ShardFile:
    """A file whose name is right, whatever is in it."""
    file = ShardFile(synthetic("a").name, 0, trials, hashlib.sha256(data).hexdigest())
    store.describe(synthetic("a"))
    store.path_of(file).write_bytes(data)
    return file


def test_what_others_have_written_under_a_right_name_is_noticed(store: Store) -> None:
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
    with pytest.raises(DamagedShardError, match="3 recorded rounds, not 4"):
        store.read(file, rounds=4)


def test_a_shard_that_is_gone_can_be_done_again(store: Store) -> None:
    file = store.write(synthetic("a"), a_shard(0, 2), {})
    store.path_of(file).unlink()
    with pytest.raises(DamagedShardError, match="is gone"):
        store.read(file)
    assert store.set_aside(file) is None


def test_a_damaged_shard_is_set_aside_and_done_again(store: Store) -> None:
    shard = a_shard(0, 2)
    file = store.write(synthetic("a"), shard, {})
    store.path_of(file).write_bytes(b"broken")
    aside = store.set_aside(file)
    assert aside is not None
    assert aside.read_bytes() == b"broken"
    assert store.cover(file.series, 2) == Cover((), ((0, 2),))
    assert store.write(synthetic("a"), shard, {}) == file
    assert (store.read(file).regret == shard.regret).all()


def test_tables_that_do_not_hang_together_are_no_shards() -> None:
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
    for column, values, why in (
        ("regret", [[1, 2], [3, 4, 5, 6]], "same rounds"),
        ("trial", [0, 2], "follow each other"),
        ("played", [[0, 1], []], "not those of the arms"),
    ):
        with pytest.raises(ValueError, match=why):
            Shard.from_parquet(changed(column, values))


# --- manifest, cells, studies


def test_a_store_can_be_made_again_and_beside_other_files(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("mine")
    one = Store.create(tmp_path)
    manifest = (tmp_path / "store.json").read_bytes()
    one.put_study("a", {"format": 1})
    assert Store.create(tmp_path).studies() == ["a"]
    assert Store.open(tmp_path).studies() == ["a"]
    assert (tmp_path / "store.json").read_bytes() == manifest
    assert sorted(files_in(tmp_path)) == ["store.json", "studies/a.json", "thesis.tex"]


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
    with pytest.raises(InputError, match=r"store\.json is not the manifest .* or is damaged: if"):
        how(tmp_path)


@pytest.mark.parametrize("how", [Store.create, Store.open])
def test_a_store_of_a_newer_format_is_refused_and_left_alone(tmp_path: Path, how: Callable) -> None:
    (tmp_path / "store.json").write_text('{"format": 2, "layout": "other"}')
    with pytest.raises(InputError, match=r"format 2.*reads up to 1: update graphbandits"):
        how(tmp_path)
    assert list(files_in(tmp_path)) == ["store.json"]


def test_the_manifest_of_somebody_quicker_is_kept(tmp_path: Path, monkeypatch) -> None:
    """One of a later version makes it between our look and our writing."""
    before = os.fsync

    def late(handle: int) -> None:
        before(handle)
        if not (tmp_path / "store.json").exists():
            (tmp_path / "store.json").write_text('{"format": 2}')

    monkeypatch.setattr(os, "fsync", late)
    with pytest.raises(InputError, match="format 2"):
        Store.create(tmp_path)
    assert files_in(tmp_path) == {"store.json": b'{"format": 2}'}


def test_a_manifest_without_links(tmp_path: Path, monkeypatch) -> None:
    def refuse(*_: object) -> None:
        raise OSError(errno.EOPNOTSUPP, "Operation not supported")

    monkeypatch.setattr(os, "link", refuse)
    Store.create(tmp_path)
    assert list(files_in(tmp_path)) == ["store.json"]
    assert not files.write_new(tmp_path / "store.json", b"later")


def test_what_is_no_store(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no store: it has no store\.json"):
        Store.open(tmp_path)
    with pytest.raises(InputError, match="no store: there is no such directory"):
        Store.open(tmp_path / "nowhere")
    (tmp_path / "file").write_text("mine")
    with pytest.raises(InputError, match="no such directory"):
        Store.open(tmp_path / "file")
    with pytest.raises(InputError, match=r"cannot write .*file: File exists; choose another place"):
        Store.create(tmp_path / "file")
    (tmp_path / "below").mkdir()
    (tmp_path / "below" / "store.json").mkdir()
    with pytest.raises(InputError, match="Is a directory"):
        Store.create(tmp_path / "below")


@pytest.mark.parametrize("name", ["shards", "studies", "cells", "running"])
def test_a_file_in_the_place_of_a_directory(store: Store, name: str) -> None:
    (store.path / name).write_text("mine")
    attempts: dict[str, Callable[[], object]] = {
        "shards": lambda: store.write(synthetic("a"), a_shard(0, 1), {}),
        "studies": lambda: store.put_study("a", {}),
        "cells": lambda: store.put_cell({}, {}),
        "running": lambda: store.announce().__enter__(),
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


def test_a_directory_under_the_name_of_a_shard(store: Store) -> None:
    """It is no shard: the trials are missing, and only this very shard cannot be written."""
    lost, kept = (store.write(synthetic("a"), a_shard(first, 2), {}) for first in (0, 2))
    path = store.path_of(lost)
    path.unlink()
    path.mkdir()
    (path / "thesis.tex").write_text("mine")
    assert store.cover(lost.series, 4) == Cover((kept,), ((0, 2),))
    assert [(one.path, one.advice) for one in wrong(store)] == [(path, "move it elsewhere")]
    with pytest.raises(
        InputError, match=f"cannot write .*{lost.name}: a directory has this name; move it else"
    ):
        store.write(synthetic("a"), a_shard(0, 2), {})
    put_study(store, {"": a_plan()})
    assert {one.path for one in gc(store)} == {store.path_of(kept), path.with_name("series.json")}
    assert (path / "thesis.tex").read_text() == "mine"


def test_cells_are_named_by_their_content_and_mended(store: Store) -> None:
    arrays = {"graph/matrix": np.arange(4.0)}
    name = store.put_cell({"rounds": [1, 2]}, arrays)
    path = store.path / "cells" / f"{name}.npz"
    before = path.stat().st_ino
    assert store.put_cell({"rounds": [1, 2]}, arrays) == name
    assert path.stat().st_ino == before
    assert store.put_cell({"rounds": [1, 3]}, arrays) != name
    path.write_bytes(path.read_bytes()[:-3])
    with pytest.raises(InputError, match="damaged: run the experiment again, which mends it"):
        store.cell(name)
    store.put_cell({"rounds": [1, 2]}, arrays)
    meta, found = store.cell(name)
    assert meta == {"rounds": [1, 2]}
    assert (found["graph/matrix"] == arrays["graph/matrix"]).all()
    path.unlink()
    with pytest.raises(InputError, match="is missing: run the experiment again"):
        store.cell(name)


def test_what_is_of_a_newer_format_is_not_overwritten(store: Store) -> None:
    store.put_study("density", {"format": 2, "new": 1})
    before = files_in(store.path)
    with pytest.raises(
        InputError, match=r"study 'density' in .* is of format 2, .* writes 1: update graphbandits"
    ):
        store.put_study("density", {"format": 1})
    assert files_in(store.path) == before
    store.put_study("density", {"format": 2})  # whoever knows it may
    assert store.study("density") == {"format": 2}


@pytest.mark.parametrize("text", ["", "[]", "{", '{"format": "new"}', '{"format": 1}'])
def test_a_damaged_record_is_mended(store: Store, text: str) -> None:
    store.put_study("density", {"format": 1})
    (store.path / "studies" / "density.json").write_text(text)
    store.put_study("density", {"format": 1, "again": True})
    assert store.study("density") == {"format": 1, "again": True}


def test_the_description_of_a_series_is_mended(store: Store) -> None:
    file = store.write(synthetic("a"), a_shard(0, 1), {})
    path = store.path_of(file).with_name("series.json")
    path.write_text("{}")
    assert [finding.path for finding in wrong(store)] == [path]
    Store.open(store.path).describe(synthetic("a"))
    assert not wrong(store)


@pytest.mark.parametrize("key", ["", ".", "..", ".hidden", "a/b", "a\\b", "a\0b"])
def test_keys_of_studies_are_names_of_files(store: Store, key: str) -> None:
    with pytest.raises(InputError, match="key of a study is a name for a file"):
        store.put_study(key, {})
    with pytest.raises(InputError, match="key of a study is a name for a file"):
        store.study(key)


def test_studies_that_cannot_be_kept_or_read(store: Store) -> None:
    for record in ({"a": float("nan")}, {"a": object()}):
        with pytest.raises(InputError, match="plain values of JSON"):
            store.put_study("a", record)
    assert store.studies() == []
    store.put_study("density", {"format": 1})
    with pytest.raises(InputError, match=r"no study 'densty' .*did you mean 'density'\?"):
        store.study("densty")
    for text in ("", "[]", '{"format": ', "\xff"):
        (store.path / "studies" / "density.json").write_text(text, "latin-1")
        with pytest.raises(InputError, match=r"density.json is damaged: run the experiment again"):
            store.study("density")


# --- disks that are full or closed


def test_a_full_disk_by_a_system_that_says_so(store: Store, monkeypatch) -> None:
    kept = store.write(synthetic("a"), a_shard(0, 2), {})
    before = files_in(store.path)

    def full(handle: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    for attempt in (
        lambda: store.write(synthetic("a"), a_shard(2, 2), {}),
        lambda: store.put_study("a", {}),
        lambda: store.put_cell({}, {}),
        lambda: store.announce().__enter__(),
    ):
        with pytest.raises(InputError, match=r"disk is full .*nothing is lost; free space and run"):
            attempt()
    assert files_in(store.path) == before
    assert store.read(kept).trials == 2


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    place = tmp_path / "small"
    place.mkdir()
    if not IS_ROOT or shutil.which("mount") is None:
        pytest.skip("mounting a small disk needs root")
    size = ["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", str(place)]
    if subprocess.run(size, capture_output=True).returncode:
        pytest.skip("this machine does not let root mount a tmpfs")
    try:
        yield place
    finally:
        subprocess.run(["umount", str(place)], check=True)


def test_a_full_disk(small_disk: Path) -> None:
    store = Store.create(small_disk / "store")
    put_study(store, {"": a_plan()})
    written: list[ShardFile] = []

    def write_on() -> None:
        for first in range(0, 10**6, 50):
            written.append(store.write(synthetic("a"), a_shard(first, 50, rounds=40), {}))

    with pytest.raises(InputError, match=r"disk is full .*free space and run the same again"):
        write_on()
    assert written
    assert store.shards(synthetic("a").name) == written
    assert not wrong(store)
    assert [path.name for path in store.path.rglob(".*")] == []
    # tidying makes room, though nothing can be written
    removed = gc(store)
    assert {one.path.name for one in removed} == {*(f.name for f in written), "series.json"}
    first = store.write(synthetic("a"), a_shard(0, 50, rounds=40), {})
    assert first == written[0]


CLOSED = """
    import os, sys
    from pathlib import Path
    from graphbandits.errors import InputError
    from graphbandits.store import Store
    from graphbandits.store.maintenance import gc
    from stores import a_shard, synthetic
    import pandas  # which pyarrow imports when it first makes an array, if it may read it
    if os.geteuid() == 0:
        os.setuid(65534)
    store = Store.open(sys.argv[1])
    file = store.shards(synthetic("a").name)[0]
    assert store.read(file).trials == 2
    assert store.others() == []
    for attempt in (
        lambda: Store.create(sys.argv[1]),
        lambda: Store.create(Path(sys.argv[1], "below")),
        lambda: store.write(synthetic("a"), a_shard(2, 2), {}),
        lambda: store.write(synthetic("b"), a_shard(2, 2), {}),
        lambda: store.put_study("a", {}),
        lambda: store.put_cell({}, {}),
        lambda: store.set_aside(file),
        lambda: store.announce().__enter__(),
        lambda: gc(store),
    ):
        try:
            attempt()
        except InputError as error:
            print(error)
        else:
            sys.exit("it was written")
"""


def test_a_directory_that_cannot_be_written(store: Store) -> None:
    put_study(store, {"": a_plan()})
    file = store.write(synthetic("a"), a_shard(0, 2), {})
    folder = store.path
    for place in (*folder.rglob("*"), folder):
        place.chmod(0o555 if place.is_dir() else 0o444)
    for above in folder.parents:
        if above.stat().st_uid == os.getuid() and "pytest" in str(above):
            above.chmod(0o755)  # so that another user can come here
    try:
        lines = python(CLOSED, folder).stdout.splitlines()
    finally:
        for place in (folder, *folder.rglob("*")):
            place.chmod(0o755 if place.is_dir() else 0o644)
    assert len(lines) == 9
    for line in lines:
        assert line.startswith("cannot write")
        assert "Permission denied; make it writable, or choose another place" in line
    assert store.read(file).trials == 2


# --- several at once, and kills

WRITER = """
    import sys, time
    from pathlib import Path
    from graphbandits.store import Store
    from stores import a_shard, synthetic
    folder, number = Path(sys.argv[1]), int(sys.argv[2])
    Path(f"{folder}.ready-{number}").touch()
    while not Path(f"{folder}.go").exists():
        time.sleep(0.001)
    store = Store.create(folder)
    for first in range(0, 400, 10):
        store.write(synthetic("both"), a_shard(first, 10), {"cpu": "x"})
        store.write(synthetic(f"own {number}"), a_shard(first, 10), {"cpu": "x"})
        store.put_study("both", {"format": 1, "by": number})
        store.put_cell({"the": "same"}, {})
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
    store = Store.open(folder)
    for name in ("both", "own 0", "own 1"):
        cover = store.cover(synthetic(name).name, 400)
        assert not cover.gaps
        assert len(store.shards(synthetic(name).name)) == 40
        for file in cover.used:
            assert (store.read(file).regret == a_shard(file.first, 10).regret).all()
    assert store.study("both")["by"] in (0, 1)
    assert len(list(folder.glob("cells/*"))) == 1
    assert list(folder.rglob(".*")) == []


KILLED = """
    import os, signal, sys
    from graphbandits.engine import Plan
    from graphbandits.store import Store
    from stores import a_plan, fill
    store = Store.open(sys.argv[1])
    replace = os.replace
    def killing(source, target):
        if str(target).endswith(".parquet"):
            os.kill(os.getpid(), signal.SIGKILL)
        replace(source, target)
    os.replace = killing
    with store.announce():
        fill(store, a_plan(), "ts-n", (5, 5))
"""


def test_killed_between_the_temporary_name_and_the_shards_own(tmp_path: Path) -> None:
    plan = a_plan()
    store = Store.create(tmp_path)
    put_study(store, {"": plan})
    fill(store, plan, "ts-n", (0, 5))
    ended = python(KILLED, tmp_path, check=False)
    assert ended.returncode == -signal.SIGKILL
    series = series_of(plan, "ts-n").name
    (left,) = (tmp_path / "shards" / series).glob(".*.parquet-*")
    assert left.stat().st_size > 0
    assert store.cover(series, 12) == Cover(tuple(store.shards(series)), ((5, 7),))
    found = list(verify(store))
    assert not any(finding.wrong for finding in found)
    assert left in [finding.path for finding in found]
    assert any(finding.path.parent.name == "running" for finding in found)

    # it goes on, and afterwards is as if nothing had been
    for policy in plan.policies:
        for first, trials in store.cover(series_of(plan, policy).name, 12).gaps:
            fill(store, plan, policy, (first, trials))
    removed = gc(store)
    assert left in [one.path for one in removed]
    assert not list(verify(store))
    assert list(tmp_path.rglob(".*")) == []
    whole = simulate_plan(plan, progress=False)
    regret = [store.read(file).regret for file in store.cover(series, 12).used]
    assert (np.concatenate(regret) == whole["ts-n"].regret).all()


def test_what_two_runs_of_other_shard_sizes_wrote_is_used_as_far_as_it_goes(
    tmp_path: Path,
) -> None:
    store, plan = whole_store(tmp_path, size=5)
    fill(store, plan, "ts-n", (0, 8), (8, 4))
    series = series_of(plan, "ts-n").name
    assert [(f.first, f.trials) for f in store.cover(series, 12).used] == [(0, 8), (8, 4)]
    assert store.cover(series, 20).gaps == ((12, 8),)
    assert store.cover(series, 10).gaps == ()
    assert not wrong(store)
