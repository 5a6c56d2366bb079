"""Tests of study/directory.py: writing, reading and combining shards."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from itertools import combinations, pairwise
from pathlib import Path

import pytest
from helpers.stores import a_plan, a_shard, files_in, put_study, synthetic
from hypothesis import given, settings
from hypothesis import strategies as st

from graphbandits.rng import Keys
from graphbandits.simulation.identity import series_of
from graphbandits.simulation.shard import Shard
from graphbandits.study.directory import Directory, ShardFile, ShardIndex, index_shards


@pytest.fixture
def store(tmp_path: Path) -> Directory:
    return Directory.create(tmp_path / "store")


def test_shard_is_read_back_bit_by_bit_with_its_metadata(store: Directory) -> None:
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


def test_a_shard_is_named_by_its_series_trials_and_bytes(store: Directory) -> None:
    series = synthetic("a")
    file = store.write(series, a_shard(250, 4), {})
    path = store.path_of(file)
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    assert path == store.path / "shards" / series.name / f"0000000250-4.{digest}.parquet"
    assert ShardFile.of(series.name, path.name) == file
    assert json.loads((path.parent / "identity.json").read_text()) == series.facts


def test_the_same_shard_again_changes_nothing(store: Directory) -> None:
    one, two = (store.write(synthetic("a"), a_shard(0, 4), {"cpu": "x"}) for _ in range(2))
    assert one == two
    assert store.shards(one.series) == [one]


def test_series_cannot_be_given_as_metadata(store: Directory) -> None:
    file = store.write(synthetic("a"), a_shard(0, 2), {"series": "of another"})
    facts = Shard.from_parquet(store.path_of(file).read_bytes())[1]
    assert facts == {"series": file.series}


def test_files_with_other_names_are_ignored(store: Directory) -> None:
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
    """Return (trials, -shards) of the best choice of disjoint shards, by brute force."""
    inside = [file for file in shards if first <= file.first and file.end <= end]
    best = (0, 0)
    for count in range(1, len(inside) + 1):
        for chosen in combinations(sorted(inside), count):
            if all(a.end <= b.first for a, b in pairwise(chosen)):
                best = max(best, (sum(file.trials for file in chosen), -count))
    return best


@given(SHARDS, st.integers(0, 8), st.integers(1, 12), st.randoms())
@settings(max_examples=300, deadline=None)
def test_covers_are_disjoint_and_maximal(shards, first, trials, random) -> None:
    cover = index_shards(shards, trials, first)
    pieces = sorted([(file.first, file.trials) for file in cover.used] + list(cover.gaps))
    numbers = [trial for at, count in pieces for trial in range(at, at + count)]
    assert numbers == list(range(first, first + trials))
    assert set(cover.used) <= set(shards)
    assert list(cover.used) == sorted(cover.used)
    assert cover.missing == trials - sum(file.trials for file in cover.used)
    assert (trials - cover.missing, -len(cover.used)) == most_trials(shards, first, first + trials)
    mixed = shards[:]
    random.shuffle(mixed)
    assert index_shards(mixed, trials, first) == cover


def test_choice_among_equal_shards_is_deterministic(store: Directory) -> None:
    """Two types of CPU may write two files."""
    shard = a_shard(0, 4)
    other = replace(shard, regret=shard.regret * (1 + 2**-52))
    written = {
        store.write(synthetic("a"), one, {"cpu": cpu})
        for one, cpu in ((shard, "znver3"), (other, "skylake"))
    }
    assert len(written) == 2
    assert store.index(synthetic("a").name, 4) == ShardIndex((min(written),), ())


def test_a_store_without_the_series_has_everything_missing(store: Directory) -> None:
    assert store.index("0" * 64, 5, first=3) == ShardIndex((), ((3, 5),))


def test_a_store_can_be_created_again_and_next_to_other_files(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("mine")
    one = Directory.create(tmp_path)
    manifest = (tmp_path / "study.json").read_bytes()
    put_study(one, a_plan(), "a")
    assert Directory.create(tmp_path).studies() == ["a"]
    assert Directory.open(tmp_path).studies() == ["a"]
    assert (tmp_path / "study.json").read_bytes() == manifest
    files = {name for name in files_in(tmp_path) if not name.startswith("problems")}
    assert files == {"studies/a.json", "study.json", "thesis.tex"}
