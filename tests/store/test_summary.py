"""Tests of store/summary.py: statistics of a store without all curves in memory."""

from __future__ import annotations

import math
import os
import subprocess
import sys
import textwrap
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers import SRC, TESTS
from helpers.bad_input import refuses
from helpers.stores import PRIOR, a_plan, a_shard, fill, put_study, synthetic, whole_store

from graphbandits.engine import Ratios, Shard
from graphbandits.errors import InputError
from graphbandits.experiments import Study
from graphbandits.results import PolicyResult, Results, concat
from graphbandits.results.differences import Moments
from graphbandits.store import DamagedShardError, ShardFile, Store, simulate_plan, summary
from graphbandits.store.summary import load_with_curves, summarise_files
from graphbandits.theory import general_bound
from graphbandits.theory.simulation_bounds import recorded_bounds


def written(store: Store, shards: Iterable[Shard]) -> list[ShardFile]:
    return [store.write(synthetic("a"), shard, {}) for shard in shards]


def with_ratios(shard: Shard, seed: int = 1) -> Shard:
    random = np.random.default_rng(seed + shard.first)
    return replace(shard, ratios=Ratios(*(random.random(shard.regret.shape) for _ in range(4))))


def assert_same(one: PolicyResult, other: PolicyResult) -> None:
    for part in ("mean", "standard_error", "quantiles", "final", "plays"):
        mine, theirs = getattr(one, part), getattr(other, part)
        assert mine.dtype == theirs.dtype
        assert mine.tobytes() == theirs.tobytes(), part


@pytest.mark.oracle
@pytest.mark.parametrize("rounds", [1, 2, 3, 7, 200])
@pytest.mark.parametrize("trials", [1, 2, 3, 10, 173])
@pytest.mark.parametrize(("entries", "copied"), [(1, 1), (700, 1), (700, 400), (2**23, 2**20)])
def test_summary_equals_the_statistics_of_all_trials(
    tmp_path: Path, monkeypatch, rounds: int, trials: int, entries: int, copied: int
) -> None:
    monkeypatch.setattr(summary, "MAX_ENTRIES", entries)
    monkeypatch.setattr(summary, "MAX_COPIED_ENTRIES", copied)
    starts = range(0, trials, 40)
    shards = [with_ratios(a_shard(at, min(40, trials - at), rounds)) for at in starts]
    store = Store.create(tmp_path)
    files = written(store, shards)
    found = summarise_files(store, files, rounds, arms=3)
    loaded = load_with_curves(store, files, rounds, arms=3)

    plays = np.zeros(3, np.int64)
    for shard in shards:
        shard.plays.add_to(plays)
    ratios = Ratios.concat([shard.ratios for shard in shards if shard.ratios is not None])
    regret = np.concatenate([shard.regret for shard in shards])
    expected = PolicyResult.from_trials(regret, plays, ratios)
    assert_same(found, expected)
    assert_same(loaded, expected)
    assert found.regret is None
    assert found.ratios is None
    assert found.ratio_sums is not None
    moments = Moments.of(ratios.ratio_sum)
    assert found.ratio_sums.mean.tobytes() == moments.mean.tobytes()
    assert found.ratio_sums.standard_error.tobytes() == moments.standard_error.tobytes()
    assert loaded.regret is not None
    assert loaded.regret.tobytes() == regret.tobytes()
    assert loaded.ratios is not None
    assert loaded.ratios.psi.tobytes() == ratios.psi.tobytes()


def test_trials_far_apart_in_size_keep_their_last_bits(tmp_path: Path, monkeypatch) -> None:
    """Sums in another order would have different bits."""
    monkeypatch.setattr(summary, "MAX_ENTRIES", 2)
    monkeypatch.setattr(summary, "MAX_COPIED_ENTRIES", 2)
    random = np.random.default_rng(3)
    regret = 10.0 ** random.uniform(-12, 12, (500, 5))
    shard = a_shard(0, 500, 5)
    store = Store.create(tmp_path)
    files = written(store, [replace(shard, regret=regret)])
    plays = np.zeros(3, np.int64)
    shard.plays.add_to(plays)
    assert regret[:, 1].copy().mean() != regret.mean(axis=0)[1]  # one column alone, that is
    assert_same(summarise_files(store, files, 5, 3), PolicyResult.from_trials(regret, plays))


def test_a_shard_that_is_damaged_between_two_readings_is_noticed(
    tmp_path: Path, monkeypatch
) -> None:
    monkeypatch.setattr(summary, "MAX_ENTRIES", 2)
    store = Store.create(tmp_path)
    files = written(store, [a_shard(0, 4, rounds=6), a_shard(4, 4, rounds=6)])
    read, count = Store.read, 0

    def spoiling(self: Store, file: ShardFile, *how: Any) -> Shard:
        nonlocal count
        count += 1
        if count == 4:
            path = store.path_of(files[1])
            path.write_bytes(path.read_bytes()[:-1])
        return read(self, file, *how)

    monkeypatch.setattr(Store, "read", spoiling)
    with pytest.raises(DamagedShardError):
        summarise_files(store, files, 6, 3)
    assert count == 4


def test_shards_of_other_rounds_or_arms_are_refused(tmp_path: Path) -> None:
    store = Store.create(tmp_path)
    files = written(store, [a_shard(0, 4, rounds=6)])
    for read in (summarise_files, load_with_curves):
        with refuses(DamagedShardError):
            read(store, files, 5, 3)
        with refuses(InputError):
            read(store, files, 6, 2)
        with refuses(InputError):
            read(store, [], 6, 3)


@pytest.fixture(scope="module")
def stored(tmp_path_factory) -> tuple[Study, Results]:
    plan = a_plan(ratios="bound", trials=23)
    store, _ = whole_store(tmp_path_factory.mktemp("stored"), plan, size=7)
    return Study.open(store, "study"), simulate_plan(plan, progress=False)


def test_results_of_a_store_are_those_of_the_simulation(stored) -> None:
    study, simulated = stored
    (cell,) = study.cells
    assert cell.results(curves=True).hash == simulated.hash
    summed = cell.results()
    for policy in simulated.policies:
        assert_same(summed[policy], simulated[policy])
        assert summed[policy].regret is None


def test_lemma_1_from_a_store_equals_that_of_the_simulation(stored) -> None:
    study, simulated = stored
    (cell,) = study.cells
    expected = recorded_bounds(simulated, PRIOR)
    assert len(expected) == 2
    for results in (cell.results(), cell.results(curves=True)):
        found = recorded_bounds(results, cell.posterior)
        for mine, theirs in zip(found, expected, strict=True):
            assert (mine.name, mine.policies) == (theirs.name, theirs.policies)
            assert mine.values.tobytes() == theirs.values.tobytes()
            assert mine.error is not None
            assert theirs.error is not None
            assert mine.error.tobytes() == theirs.error.tobytes()


def test_general_bound_accepts_moments() -> None:
    sums = np.array([[1.0, 4.0], [3.0, 5.0], [2.0, 9.0]])
    rows, moments = (general_bound(given, 0.8, [1, 2]) for given in (sums, Moments.of(sums)))
    assert (rows.values == moments.values).all()
    assert rows.error is not None
    assert moments.error is not None
    assert (rows.error == moments.error).all()
    # sqrt(H x) has the slope sqrt(H / x) / 2
    assert moments.error[0] == pytest.approx(math.sqrt(0.8 / 2) / 2 / math.sqrt(3), rel=1e-12)
    assert general_bound(Moments.of(sums[:1]), 0.8, [1, 2]).error is None
    with refuses(InputError):
        general_bound(Moments.of(sums), 0.8, [1, 2, 3])


def test_infinite_ratios_have_no_bound_from_a_store(tmp_path: Path) -> None:
    """A policy that has regret in rounds without information gain."""
    shards = [with_ratios(a_shard(0, 5)), with_ratios(a_shard(5, 5))]
    assert shards[1].ratios is not None
    shards[1].ratios.ratio_sum[2, 1:] = np.inf
    store = Store.create(tmp_path)
    files = written(store, shards)
    results = [
        Results(np.array([1, 2, 3]), {"a": read(store, files, 3, 3)}, ("x", "y", "z"), {})
        for read in (summarise_files, load_with_curves)
    ]
    sums = results[0]["a"].ratio_sums
    assert sums is not None
    assert np.isfinite(sums.mean).tolist() == [True, False, False]
    assert [recorded_bounds(result, PRIOR) for result in results] == [(), ()]


def test_summaries_are_saved_and_loaded_like_results(stored, tmp_path: Path) -> None:
    study, _ = stored
    results = study.cells[0].results()
    results.save(tmp_path / "saved")
    again = Results.load(tmp_path / "saved")
    assert again.hash == results.hash
    assert again["ts-n"].ratio_sums is None
    assert_same(again["ts-n"], results["ts-n"])


def test_missing_parts_of_summaries_are_reported_with_their_location(stored) -> None:
    study, simulated = stored
    results = study.cells[0].results()
    assert (results["ts-n"].quantile(0.75) == simulated["ts-n"].quantile(0.75)).all()
    other = replace(results, settings=dict(results.settings) | {"runs": None, "seed": 9})
    for attempt in (
        lambda: results["ts-n"].quantile(0.3),
        lambda: results.to_pandas("regret"),
        lambda: concat([results, other]),
    ):
        with refuses(InputError):
            attempt()


def test_policies_without_all_trials_are_named(tmp_path: Path) -> None:
    plan = a_plan()
    store = Store.create(tmp_path)
    put_study(store, {"": plan})
    fill(store, plan, "ts-n", (0, 12))
    fill(store, plan, "ucb-n", (2, 4))
    (cell,) = Study.open(store, "study").cells
    assert cell.complete() == ["ts-n"]
    for curves in (False, True):
        assert list(cell.results(["ts-n"], curves=curves).policies) == ["ts-n"]
        with refuses(InputError):
            cell.results(curves=curves)


MEMORY = """
    import sys
    import numpy as np
    from graphbandits.engine import Plays, Shard
    from graphbandits.store import Store
    from graphbandits.store.summary import summarise_files
    from helpers.stores import synthetic
    store = Store.create(sys.argv[1])
    trials, size, rounds = 100_000, 1000, 200
    plays = Plays.of(np.full((size, 5), rounds // 5))
    peaks = []
    for name in ("one", "other"):
        series = synthetic(name)
        for first in range(0, trials, size):
            regret = np.random.default_rng([len(name), first]).random((size, rounds), np.float32)
            store.write(series, Shard(first, np.cumsum(regret, axis=1, dtype=float), plays), {})
        found = summarise_files(store, store.shard_index(series.name, trials).used, rounds, 5)
        assert len(found.final) == trials and abs(found.mean[-1] - 100.0) < 0.1
        # ru_maxrss would include the memory of the parent process
        status = dict(line.split(":", 1) for line in open("/proc/self/status"))
        peaks.append(int(status["VmHWM"].split()[0]) / 1024)
    print(*peaks)
"""


@pytest.mark.process
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the peak is read from /proc")
def test_memory_of_a_summary_of_100_000_trials_is_limited(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(MEMORY), str(tmp_path)],
        env=os.environ | {"PYTHONPATH": os.pathsep.join([str(SRC), str(TESTS)])},
        capture_output=True,
        text=True,
        check=True,
    )
    assert max(map(float, done.stdout.split())) < 500
