"""Tests of results/file_formats.py: saving and loading all formats."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from fixtures.make_results import make as make_results
from helpers import FIXTURES
from helpers.bad_input import refuses
from helpers.made_up_results import SPARSE, contents, made, old, same
from hypothesis import given, settings
from hypothesis import strategies as st

from graphbandits import Results, simulate
from graphbandits.engine import Trajectories
from graphbandits.errors import InputError
from graphbandits.graphs import Fixed, UniformFeedback, as_process
from graphbandits.results.file_formats import check_target


@pytest.fixture(scope="module")
def results() -> Results:
    return simulate(
        ["ts-n", "ids-n", "ids-lp"], graph="star(direction=out)", horizon=60, trials=40, seed=1
    )


def test_saved_results_are_the_same_to_the_last_bit(results: Results, tmp_path) -> None:
    copy = Results.load(results.save(tmp_path / "run"))
    assert (copy.rounds == results.rounds).all()
    assert copy.arms == results.arms
    assert copy.settings == results.settings
    assert list(copy.policies) == list(results.policies)
    for name, result in results.policies.items():
        for part in ("mean", "standard_error", "quantiles", "final", "plays", "regret"):
            mine, theirs = getattr(result, part), getattr(copy[name], part)
            assert mine.dtype == theirs.dtype
            assert (mine == theirs).all(), (name, part)


def test_saving_again_replaces_and_leaves_nothing_behind(results: Results, tmp_path) -> None:
    results.save(tmp_path / "run")
    other = simulate("ts-n", graph="paper", horizon=5, trials=3)
    other.save(tmp_path / "run")
    assert list(Results.load(tmp_path / "run").policies) == ["ts-n"]
    assert [path.name for path in tmp_path.iterdir()] == ["run"]


def test_nothing_is_pickled(results: Results, tmp_path) -> None:
    target = results.save(tmp_path / "run")
    names = sorted(path.name for path in target.iterdir())
    tables = ["curve.parquet", "final.parquet", "manifest.json", "plays.parquet", "regret.parquet"]
    assert [name for name in names if name != "graph.parquet"] == tables
    for path in target.glob("*.parquet"):
        assert path.read_bytes()[:4] == b"PAR1"
    assert json.loads((target / "manifest.json").read_text())["settings"]["seed"] == 1


@pytest.mark.parametrize(
    "graph",
    [
        None,
        as_process("empty", 5),
        as_process("paper"),
        Fixed(SPARSE),
        Fixed(SPARSE.to_dense(), ("1", "2", "3", "4", "5")),
        Fixed(UniformFeedback(0.3, 5)),
    ],
    ids=["none", "empty", "paper", "sparse", "named", "uniform"],
)
def test_saving_what_was_loaded_gives_the_same_bytes(
    results: Results, tmp_path: Path, graph: Fixed | None
) -> None:
    mine = replace(results, graph=graph)
    loaded = Results.load(mine.save(tmp_path / "one"))
    same(mine, loaded)
    loaded.save(tmp_path / "two")
    assert contents(tmp_path / "one") == contents(tmp_path / "two")
    edges = graph is not None and not isinstance(graph.feedback, UniformFeedback)
    assert (tmp_path / "one" / "graph.parquet").exists() == edges
    check_target(tmp_path / "one")


@settings(max_examples=25, deadline=None)
@given(
    trials=st.integers(1, 5),
    rounds=st.integers(1, 4),
    numbers=st.lists(st.floats(-1e300, 1e300), min_size=20, max_size=20),
    names=st.lists(
        st.text(st.characters(exclude_categories=["Cs"]), max_size=5),
        min_size=1,
        max_size=3,
        unique=True,
    ),
    seed=st.none() | st.integers(0, 2**70),
)
def test_any_numbers_and_names_survive_saving(
    tmp_path_factory: pytest.TempPathFactory,
    trials: int,
    rounds: int,
    numbers: list[float],
    names: list[str],
    seed: int | None,
) -> None:
    regret = np.array(numbers)[: trials * rounds].reshape(trials, rounds)
    with np.errstate(over="ignore", invalid="ignore"):
        mine = made({name: np.roll(regret, i) for i, name in enumerate(names)}, seed=seed)
    loaded = Results.load(mine.save(tmp_path_factory.mktemp("any") / "run"))
    same(mine, loaded)
    assert loaded.runs == mine.runs
    for name in names:
        assert mine[name].regret is not None
        assert mine[name].regret.tobytes() == loaded[name].regret.tobytes()  # type: ignore[union-attr]


def changed_trajectories(base: Trajectories | None) -> list[Trajectories]:
    """Return trajectories that differ in a single number, or lack a part."""
    assert base is not None
    action, seen = base.action, base.observations
    assert action is not None
    assert seen is not None
    other = action.copy()
    other[3, 4] = (other[3, 4] + 1) % 3
    start = seen.start.copy()
    start[5] += 1  # the last observation of a trial becomes one of the trial before
    weight = np.ones(len(seen.arm))
    weight[7] = 0.5
    changes = [{"start": start}, {"weight": weight}]
    for name, value in (("round", 9), ("arm", (seen.arm[11] + 1) % 3), ("reward", 0.25)):
        array = getattr(seen, name).copy()
        array[11] = value
        changes.append({name: array})
    observed = [replace(seen, **change) for change in changes]
    return [
        replace(base, action=None),
        replace(base, observations=None),
        replace(base, action=other),
        *(replace(base, observations=one) for one in observed),
    ]


def test_hash_depends_on_every_part() -> None:
    base = make_results()
    ids, ts = base.policies["ids-n"], base.policies["ts-n"]
    assert ids.regret is not None
    moved = ids.regret.copy()
    moved[2, 3] = np.nextafter(moved[2, 3], 9.0)
    others = [
        replace(base, policies={"ts-n": ts, "ids-n": ids}),
        replace(base, policies={"ids-n": ts, "ts-n": ids}),
        replace(base, policies={"ids-n": replace(ids, regret=moved), "ts-n": ts}),
        replace(base, policies={"ids-n": replace(ids, regret=None), "ts-n": ts}),
        replace(base, policies={"ids-n": replace(ids, ratios=None), "ts-n": ts}),
        replace(base, policies={"ids-n": replace(ids, ratios=ts.ratios), "ts-n": ts}),
        *(
            replace(base, policies={"ids-n": replace(ids, trajectories=one), "ts-n": ts})
            for one in (None, ts.trajectories, *changed_trajectories(ids.trajectories))
        ),
        replace(base, settings=dict(base.settings) | {"horizon": 31}),
        replace(base, graph=None),
        replace(base, graph=Fixed(UniformFeedback(0.2, 3), base.arms)),
        replace(base, rounds=base.rounds + 1),
    ]
    assert len({base.hash, *(other.hash for other in others)}) == 1 + len(others)
    assert make_results().hash == base.hash


def test_settings_that_are_not_json_are_refused(results: Results, tmp_path: Path) -> None:
    for value in (float("nan"), object(), {1, 2}):
        with refuses(InputError):
            replace(results, settings={"odd": value}).save(tmp_path / "odd")
    name = replace(results, policies={"\udc80": results["ts-n"]})
    with refuses(InputError):
        name.save(tmp_path / "odd")
    assert list(tmp_path.iterdir()) == []


def test_format_1_loads_and_is_saved_again(tmp_path: Path) -> None:
    results = old()
    assert results.arms == ("ann", "bob lee", "Zoë")
    assert results["ids-n"].mean[-1] == 0.9720277158026444
    assert results["ts-n"].plays.tolist() == [14, 131, 215]
    assert results["ts-n"].regret is None
    assert results.graph is None
    assert results.runs == [{"seed": 4, "first_trial": 0, "trials": 12}]
    assert results.differences(simultaneous=True)[0].simultaneous
    shutil.copytree(FIXTURES / "results-1", tmp_path / "run")
    results.save(tmp_path / "run")  # old files may be replaced
    same(results, Results.load(tmp_path / "run"))
    assert json.loads((tmp_path / "run" / "manifest.json").read_text())["format"] == 2


def test_format_3_loads_and_is_format_2_without_its_ratios(tmp_path: Path) -> None:
    """Written by the first version with format 3; regenerate with tests/fixtures/make_results.py
    only if that version was never published."""
    assert sum(path.stat().st_size for path in (FIXTURES / "results-3").iterdir()) < 90_000
    results = Results.load(FIXTURES / "results-3")
    ratios = results["ids-n"].ratios
    assert ratios is not None
    assert ratios.ratio[3, -1] == 0.22413981804462543
    bare = replace(
        results, policies={n: replace(p, ratios=None) for n, p in results.policies.items()}
    )
    formats = [
        json.loads((one.save(tmp_path / name) / "manifest.json").read_text("utf-8"))["format"]
        for name, one in (("with", results), ("without", bare))
    ]
    assert formats == [3, 2]
    assert not (tmp_path / "without" / "ratios.parquet").exists()


def test_format_4_loads_and_is_format_3_without_its_trajectories(tmp_path: Path) -> None:
    """Written by the first version with format 4; regenerate with tests/fixtures/make_results.py
    only if that version was never published."""
    assert sum(path.stat().st_size for path in (FIXTURES / "results-4").iterdir()) < 100_000
    results = Results.load(FIXTURES / "results-4")
    seen = results["ids-n"].trajectories
    assert seen is not None
    assert seen.action is not None
    assert seen.observations is not None
    assert seen.action.shape == (12, 30)
    assert np.bincount(seen.action.ravel()).tolist() == results["ids-n"].plays.tolist()
    assert seen.observations.start[-1] == len(seen.observations.reward) > 360
    bare = replace(
        results, policies={n: replace(p, trajectories=None) for n, p in results.policies.items()}
    )
    for name, one, number in (("with", results, 4), ("without", bare, 3)):
        manifest = (one.save(tmp_path / name) / "manifest.json").read_text("utf-8")
        assert json.loads(manifest)["format"] == number
        assert (tmp_path / name / "actions.parquet").exists() == (number == 4)
        same(one, Results.load(tmp_path / name))


def test_format_5_loads_and_is_format_4_without_its_eligible_arms(tmp_path: Path) -> None:
    """Written by the first version with format 5; regenerate with tests/fixtures/make_results.py
    only if that version was never published."""
    results = Results.load(FIXTURES / "results-5")
    seen = results["ids-n"].trajectories
    assert seen is not None
    assert seen.action is not None
    assert seen.eligible is not None
    assert seen.eligible.shape == (12, 30, 3)
    assert seen.eligible.sum(axis=(0, 1)).tolist() == [187, 213, 190]
    assert np.take_along_axis(seen.eligible, seen.action[:, :, None].astype(int), axis=2).all()
    bare = replace(
        results,
        policies={
            n: replace(p, trajectories=replace(p.trajectories, eligible=None))
            for n, p in results.policies.items()
            if p.trajectories is not None
        },
    )
    for name, one, number in (("with", results, 5), ("without", bare, 4)):
        manifest = (one.save(tmp_path / name) / "manifest.json").read_text("utf-8")
        assert json.loads(manifest)["format"] == number
        assert (tmp_path / name / "eligible.parquet").exists() == (number == 5)
        same(one, Results.load(tmp_path / name))


def test_format_2_loads() -> None:
    """Written by the first version with format 2."""
    assert sum(path.stat().st_size for path in (FIXTURES / "results-2").iterdir()) < 60_000
    results = Results.load(FIXTURES / "results-2")
    assert results.arms == ("ann", "bob lee", "Zoë")
    assert results["ids-n"].mean[-1] == 0.9720277158026444
    assert results["ts-n"].plays.tolist() == [14, 131, 215]
    assert results["ts-n"].regret is not None
    assert results["ts-n"].regret.shape == (12, 30)
    assert results.settings["versions"]["graphbandits"] == "0.2.0"
    assert results.graph is not None
    assert results.graph.names == results.arms
    assert results.graph.feedback.reach(np.arange(3)).tolist() == [
        [1.0, 0.5, 0.0],
        [0.0, 1.0, 1.0],
        [0.0, 0.0, 1.0],
    ]
    first, again = old(), results
    for name in first.policies:
        assert (first[name].final == again[name].final).all()
