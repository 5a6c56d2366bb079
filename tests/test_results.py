"""Summaries, paired differences, files."""

from __future__ import annotations

import builtins
import json
import re
import shutil
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import networkx
import numpy as np
import pandas
import polars
import pyarrow.parquet as pq
import pytest
from fixtures.make_results import make as make_results
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from graphbandits import Bernoulli, BetaBernoulli, Results, simulate
from graphbandits.engine.shard import recorded_rounds
from graphbandits.errors import InputError
from graphbandits.graphs import Dense, Fixed, Sparse, Uniform, as_process
from graphbandits.results import QUANTILES, SCHEMA, PolicyResult, check_place, concat
from graphbandits.types import Floats

FIXTURES = Path(__file__).parent / "fixtures"
DOCUMENT = (Path(__file__).parents[1] / "docs" / "results.md").read_text("utf-8")
FILES = ["manifest.json", *(f"{table}.parquet" for table in SCHEMA)]


@pytest.fixture(scope="module")
def results() -> Results:
    return simulate(
        ["ts-n", "ids-n", "ids-lp"], graph="star(direction=out)", horizon=60, trials=40, seed=1
    )


def test_summary_statistics_are_those_of_the_trials() -> None:
    rng = np.random.default_rng(0)
    regret = np.cumsum(rng.random((50, 4)), axis=1)
    result = PolicyResult.from_trials(regret, np.array([1, 2]))
    assert result.mean == pytest.approx(np.mean(regret, axis=0))
    assert result.standard_error == pytest.approx(stats.sem(regret, axis=0))
    ordered = np.sort(regret[:, 2])
    assert result.quantiles[QUANTILES.index(0.5), 2] == pytest.approx(
        (ordered[24] + ordered[25]) / 2
    )
    assert (result.final == regret[:, -1]).all()


def test_curves_rise_and_end_at_the_final_regret(results: Results) -> None:
    for result in results.policies.values():
        assert (np.diff(result.mean) >= 0).all()
        assert result.mean[-1] == pytest.approx(result.final.mean(), rel=1e-12)
        assert int(result.plays.sum()) == 60 * 40


def test_intervals_and_paired_differences_are_student_s(results: Results) -> None:
    best, other = results.ranking()[:2]
    assert results[best].mean[-1] <= results[other].mean[-1]
    paired = results.differences(other, confidence=0.9)
    difference = next(d for d in paired if d.first == best)
    test = stats.ttest_rel(results[best].final, results[other].final)
    interval = test.confidence_interval(0.9)
    assert (difference.low, difference.high) == pytest.approx((interval.low, interval.high))
    assert difference.mean == pytest.approx((results[best].final - results[other].final).mean())
    alone = stats.ttest_1samp(results[best].final, 0.0).confidence_interval(0.95)
    assert results.interval(best) == pytest.approx((alone.low, alone.high))
    assert len(results.differences()) == 3


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


def test_the_frame_holds_the_curves(results: Results) -> None:
    frame = results.to_pandas()
    mine = frame[frame["policy"] == "ids-n"]
    assert mine["round"].tolist() == results.rounds.tolist()
    assert mine["mean"].tolist() == results["ids-n"].mean.tolist()
    assert mine["q0.9"].tolist() == results["ids-n"].quantiles[QUANTILES.index(0.9)].tolist()


def test_one_trial_has_no_standard_error() -> None:
    results = simulate("ts-n", graph="paper", horizon=5, trials=1)
    assert np.isnan(results["ts-n"].standard_error).all()
    assert results.summary()["policies"]["ts-n"]["regret"]["standard_error"] is None


@pytest.mark.parametrize("horizon", [1, 2, 199, 200, 201, 1000, 10**6])
def test_recorded_rounds_are_few_and_include_the_ends(horizon: int) -> None:
    rounds = recorded_rounds(horizon)
    assert rounds[0] == 1
    assert rounds[-1] == horizon
    assert len(rounds) <= 200
    assert (np.diff(rounds) > 0).all()


# --- levels and bands -------------------------------------------------------------------------


def made(
    regret: dict[str, Floats],
    *,
    seed: int | None = 3,
    first: int = 0,
    graph: Fixed | None = None,
    **settings: Any,
) -> Results:
    """Results of two arms from regrets (trials, rounds), without a simulation."""
    trials, rounds = next(iter(regret.values())).shape
    policies = {
        name: PolicyResult.from_trials(values, np.array([trials, trials * (rounds - 1)]))
        for name, values in regret.items()
    }
    run = {"seed": seed, "first_trial": first, "trials": trials}
    told = {"graph": "some", "horizon": rounds, "trials": trials, "seed": seed, "runs": [run]}
    return Results(np.arange(1, rounds + 1), policies, ("a", "b"), told | settings, graph)


def random_regret(seed: int, trials: int = 6, rounds: int = 4) -> Floats:
    values: Floats = np.cumsum(np.random.default_rng(seed).random((trials, rounds)), axis=1)
    return values


def old() -> Results:
    return Results.load(FIXTURES / "results-1")


def test_any_quantile_comes_from_the_trials(results: Results) -> None:
    result = results["ts-n"]
    assert result.regret is not None
    for q in (0.0, 0.33, 0.9, 1.0):
        assert (result.quantile(q) == np.quantile(result.regret, q, axis=0)).all()
    for q in (-0.1, 1.1, float("nan")):
        with pytest.raises(InputError, match=r"level in \[0, 1\]"):
            result.quantile(q)


def test_format_1_has_the_quantiles_that_it_kept_and_says_so() -> None:
    result = old()["ids-n"]
    assert (result.quantile(0.75) == result.quantiles[QUANTILES.index(0.75)]).all()
    with pytest.raises(
        InputError, match=r"no quantile 0.3, but .*curves=True.*format 1 have to be simulated again"
    ):
        result.quantile(0.3)


def test_bands(results: Results) -> None:
    low, high = results.band("ids-n", confidence=0.9)
    regret = results["ids-n"].regret
    assert regret is not None
    for t in (0, 17, -1):
        interval = stats.ttest_1samp(regret[:, t], 0.0).confidence_interval(0.9)
        assert (low[t], high[t]) == pytest.approx((interval.low, interval.high), nan_ok=True)
    assert results.interval("ids-n", 0.9) == (low[-1], high[-1])
    low, high = results.band("ids-n", "quantiles", levels=(0.2, 0.8))
    assert (low == np.quantile(regret, 0.2, axis=0)).all()
    assert (high == np.quantile(regret, 0.8, axis=0)).all()
    with pytest.raises(InputError, match="did you mean 'quantiles'"):
        results.band("ids-n", "quantile")
    with pytest.raises(InputError, match="levels"):
        results.band("ids-n", "quantiles", levels=(0.9, 0.1))
    with pytest.raises(InputError, match="confidence"):
        results.band("ids-n", confidence=95)


def test_results_must_fit_together(results: Results) -> None:
    with pytest.raises(InputError, match="one policy at least"):
        replace(results, policies={})
    with pytest.raises(InputError, match=r"59 recorded rounds.*'mean' of 'ts-n'"):
        replace(results, rounds=results.rounds[1:])
    with pytest.raises(InputError, match="graph has 3 arms"):
        replace(results, graph=as_process("star", 3))
    other = Fixed(Dense(np.eye(5)), tuple("abcde"))
    with pytest.raises(InputError, match="different names"):
        replace(results, graph=other)
    with pytest.raises(InputError, match="39 trials together, the results 40"):
        _ = replace(results, settings={"runs": [{"seed": 1, "trials": 39}]}).runs


# --- frames -----------------------------------------------------------------------------------


@pytest.mark.parametrize("table", SCHEMA)
def test_frames_have_the_columns_of_the_schema(table: str) -> None:
    results = make_results()
    frame, other = results.to_pandas(table), results.to_polars(table)
    assert list(frame.columns) == other.columns == list(SCHEMA[table])
    assert frame.to_dict("list") == other.to_dict(as_series=False)
    kinds = {"string": polars.String, "int64": polars.Int64, "double": polars.Float64}
    assert other.schema == {name: kinds[kind] for name, kind in SCHEMA[table].items()}


def test_the_long_frame_has_every_trial_and_round() -> None:
    parts = [made({"x": random_regret(s), "y": random_regret(s + 9)}, seed=s) for s in (5, 6)]
    results = concat(parts)
    frame = results.to_pandas("regret").set_index(["policy", "seed", "trial", "round"])["regret"]
    for s, part in zip((5, 6), parts, strict=True):
        for name in "xy":
            for trial in range(6):
                for t in range(1, 5):
                    assert frame[name, s, trial, t] == part[name].regret[trial, t - 1]  # type: ignore[index]
    final = results.to_polars("final").filter(policy="y", seed=6)
    assert final["trial"].to_list() == list(range(6))
    assert final["regret"].to_list() == parts[1]["y"].final.tolist()


def test_tables_that_are_not_there(results: Results) -> None:
    with pytest.raises(InputError, match="did you mean 'curve'"):
        results.to_pandas("curves")
    with pytest.raises(InputError, match=r"'final'.*curves=True.*format 1"):
        old().to_polars("regret")
    with pytest.raises(InputError, match="no fixed graph"):
        old().to_pandas("graph")
    uniform = replace(results, graph=Fixed(Uniform(0.5, 5)))
    with pytest.raises(InputError, match=r"results\.graph\.feedback\.r"):
        uniform.to_pandas("graph")


@pytest.mark.parametrize("package", ["pandas", "polars"])
def test_a_package_that_is_not_installed(
    results: Results, package: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(InputError, match=re.escape(f'pip install "graphbandits[{package}]"')):
        getattr(results, f"to_{package}")()


# --- files ------------------------------------------------------------------------------------


def same(one: Results, other: Results) -> None:
    assert one.hash == other.hash
    assert one.arms == other.arms
    assert list(one.policies) == list(other.policies)
    assert (one.graph is None) == (other.graph is None)
    if one.graph is not None and other.graph is not None:
        assert type(one.graph.feedback) is type(other.graph.feedback)
        assert one.graph.names == other.graph.names
        every = np.arange(len(one.arms))
        assert (one.graph.feedback.reach(every) == other.graph.feedback.reach(every)).all()


def contents(place: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in place.iterdir()}


SPARSE = Sparse.from_edges(5, [0, 4, 4, 2], [3, 0, 1, 1], [0.25, 1.0, 0.1, 1.0])


@pytest.mark.parametrize(
    "graph",
    [
        None,
        as_process("empty", 5),
        as_process("paper"),
        Fixed(SPARSE),
        Fixed(SPARSE.to_dense(), ("1", "2", "3", "4", "5")),
        Fixed(Uniform(0.3, 5)),
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
    edges = graph is not None and not isinstance(graph.feedback, Uniform)
    assert (tmp_path / "one" / "graph.parquet").exists() == edges
    check_place(tmp_path / "one")


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
def test_any_numbers_and_names_come_back(
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


def test_the_hash_sees_every_part() -> None:
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
        replace(base, settings=dict(base.settings) | {"horizon": 31}),
        replace(base, graph=None),
        replace(base, graph=Fixed(Uniform(0.2, 3), base.arms)),
        replace(base, rounds=base.rounds + 1),
    ]
    assert len({base.hash, *(other.hash for other in others)}) == 1 + len(others)
    assert make_results().hash == base.hash


def test_settings_that_are_not_json(results: Results, tmp_path: Path) -> None:
    for value in (float("nan"), object(), {1, 2}):
        with pytest.raises(InputError, match="plain values of JSON"):
            replace(results, settings={"odd": value}).save(tmp_path / "odd")
    name = replace(results, policies={"\udc80": results["ts-n"]})
    with pytest.raises(InputError, match="no text"):
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
    only if that version never left the house."""
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


def test_format_2_is_joined_by_what_is_simulated_now() -> None:
    """It was written before ``accuracy`` was a setting: that is "simulation"."""
    kept = Results.load(FIXTURES / "results-2")
    assert "accuracy" not in kept.settings
    prior = np.array(kept.settings["prior"]).T
    for accuracy in ("simulation", "strict"):
        world = Bernoulli(BetaBernoulli(*prior, accuracy=accuracy))
        graph = networkx.DiGraph([("ann", "bob lee"), ("bob lee", "Zoë")])
        graph.edges["ann", "bob lee"]["probability"] = 0.5
        new = simulate("idsn-lp", graph=graph, world=world, horizon=30, trials=12, seed=4)
        assert new.settings["accuracy"] == accuracy
        if accuracy == "simulation":
            for parts in ([kept, new], [new, kept]):
                together = concat(parts)
                assert set(together.policies) == {"ids-n", "ts-n", "idsn-lp"}
                assert together.settings["accuracy"] == "simulation"
        else:
            with pytest.raises(InputError, match="accuracy is simulation and strict"):
                concat([kept, new])


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    return Path(shutil.copytree(FIXTURES / "results-3", tmp_path / "run"))


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize(
    "damage",
    [
        lambda data: b"",
        lambda data: data[: len(data) // 2],
        lambda data: data[:-1] if data[-1:] != b"\n" else data[:-2],
        lambda data: data[: len(data) // 2] + b"\x07" + data[len(data) // 2 + 1 :],
        lambda data: data + b"x",
        None,
    ],
    ids=["empty", "half", "shorter", "flipped", "longer", "deleted"],
)
def test_damage_is_named(saved: Path, name: str, damage: Callable[[bytes], bytes] | None) -> None:
    path = saved / name
    if damage is None:
        path.unlink()
    else:
        path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(InputError, match=re.escape(str(path))):
        Results.load(saved)


@pytest.mark.parametrize("name", FILES)
def test_a_file_of_another_run_is_named(saved: Path, name: str) -> None:
    base = make_results()
    swapped = {"ids-n": base["ts-n"], "ts-n": base["ids-n"]}
    graph = Fixed(Dense(np.array([[1, 0, 0.5], [0, 1, 0], [1, 0, 1]])), base.arms)
    other = replace(base, policies=swapped, graph=graph).save(saved.parent / "other")
    (saved / name).write_bytes((other / name).read_bytes())
    with pytest.raises(InputError, match=name):
        Results.load(saved)


def numbers_in(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The places of all plain values in a manifest."""
    if isinstance(value, dict | list):
        items = value.items() if isinstance(value, dict) else enumerate(value)
        return [place for key, below in items for place in numbers_in(below, (*path, key))]
    return [path]


def test_an_edited_manifest_is_named(saved: Path) -> None:
    text = (saved / "manifest.json").read_text("utf-8")
    places = numbers_in(json.loads(text))
    assert len(places) > 40
    for place in places:
        manifest = json.loads(text)
        entry = manifest
        for key in place[:-1]:
            entry = entry[key]
        value = entry[place[-1]]
        if isinstance(value, bool) or value is None:
            entry[place[-1]] = not value
        elif isinstance(value, str):
            entry[place[-1]] = value[:-1] + ("0" if value[-1:] != "0" else "1")
        else:
            entry[place[-1]] = value - 1  # format 2 becomes 1
        (saved / "manifest.json").write_text(json.dumps(manifest))
        with pytest.raises(InputError, match=r"manifest\.json"):
            Results.load(saved)
    for field in json.loads(text):
        manifest = json.loads(text)
        del manifest[field]
        (saved / "manifest.json").write_text(json.dumps(manifest))
        with pytest.raises(InputError, match=r"manifest\.json"):
            Results.load(saved)
    (saved / "manifest.json").write_text(json.dumps(json.loads(text)))  # other spaces, no harm
    same(Results.load(saved), Results.load(FIXTURES / "results-3"))


@pytest.mark.parametrize("name", ["curve", "final", "plays"])
def test_damage_in_format_1_is_named(tmp_path: Path, name: str) -> None:
    place = Path(shutil.copytree(FIXTURES / "results-1", tmp_path / "run"))
    path = place / f"{name}.parquet"
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(InputError, match=re.escape(str(path))):
        Results.load(place)
    shutil.copy(FIXTURES / "results-3" / "final.parquet", place / f"{name}.parquet")
    with pytest.raises(InputError, match=re.escape(str(path))):
        Results.load(place)


def test_only_sets_of_results_are_replaced(tmp_path: Path) -> None:
    for missing in ("curve", "final", "plays"):
        place = Path(shutil.copytree(FIXTURES / "results-3", tmp_path / missing))
        (place / f"{missing}.parquet").unlink()
        with pytest.raises(InputError, match="not just results"):
            check_place(place)
    (tmp_path / "curve" / "curve.parquet").write_text("x")
    check_place(tmp_path / "curve")
    (tmp_path / "curve" / "agent.npz").write_text("x")
    with pytest.raises(InputError, match="not just results"):
        check_place(tmp_path / "curve")


# --- the document -----------------------------------------------------------------------------


def test_the_document_has_every_column_and_no_other(saved: Path) -> None:
    sections = dict(re.findall(r"^### `(\w+)`:.*?\n(.*?)(?=^##)", DOCUMENT, re.M | re.S))
    assert set(sections) == set(SCHEMA)
    for table, section in sections.items():
        written = dict(re.findall(r"^\| `([\w.]+)` \| (\w+) \|", section, re.MULTILINE))
        schema = pq.read_schema(saved / f"{table}.parquet")
        found = dict(zip(schema.names, map(str, schema.types), strict=True))
        assert written == found == SCHEMA[table]


def test_the_document_has_every_field_of_the_manifest(tmp_path: Path) -> None:
    place = make_results().save(tmp_path / "run")
    manifest = json.loads((place / "manifest.json").read_text("utf-8"))
    section = DOCUMENT.split("## The manifest")[1].split("**The hash**")[0]
    first, second = section.split("`settings` is what")
    rows = r"^\| `(\w+)` \|"
    assert re.findall(rows, first, re.MULTILINE) == list(manifest)
    optional = {"means", "graph_source"}  # of fixed means; of a graph without a hash
    assert set(re.findall(rows, second, re.MULTILINE)) - optional == set(manifest["settings"])


def test_the_python_of_the_document_runs(saved: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    saved.rename(saved.with_name("my-results"))
    monkeypatch.chdir(saved.parent)
    blocks = re.findall(r"```python\n(.*?)```", DOCUMENT, re.DOTALL)
    assert len(blocks) == 2
    shown: list[Any] = []
    monkeypatch.setattr(builtins, "print", shown.append)
    for block in blocks:
        names: dict[str, Any] = {}
        exec(compile(block, "docs/results.md", "exec"), names)
    assert shown[0]["mean"].tolist()[0] == 0.9720277158026444
    assert shown[1].shape == (2, 2)


def test_differences_are_a_frame(results: Results) -> None:
    frame = pandas.DataFrame(results.differences(simultaneous=True))
    assert frame["simultaneous"].all()
    assert len(frame) == 3


# --- putting results together -----------------------------------------------------------------


def halves(values: dict[str, Floats], cut: int, **how: Any) -> list[Results]:
    parts = {name: (regret[:cut], regret[cut:]) for name, regret in values.items()}
    return [
        made({name: part[i] for name, part in parts.items()}, first=first, **how)
        for i, first in enumerate((0, cut))
    ]


VALUES = {name: random_regret(i) for i, name in enumerate("xyz")}


def test_two_halves_are_the_whole() -> None:
    whole, together = made(VALUES), Results.concat(halves(VALUES, 2))
    assert together.hash == whole.hash
    assert together.runs == [{"seed": 3, "first_trial": 0, "trials": 6}]
    assert together.settings["trials"] == together.trials == 6


def test_policies_of_the_same_worlds_are_joined() -> None:
    parts = [made({name: values}) for name, values in VALUES.items()]
    assert concat(parts).hash == made(VALUES).hash
    assert concat([*parts, parts[0]]).hash == made(VALUES).hash
    assert list(concat(parts[::-1]).policies) == ["z", "y", "x"]
    assert concat(parts[:1]) is parts[0]


def test_a_grid_of_runs_and_policies_is_put_together() -> None:
    parts = [p for name in "xyz" for p in halves({name: VALUES[name]}, 4)]
    assert concat(parts).hash == made(VALUES).hash
    with pytest.raises(InputError, match="'z' is missing in seed 3, trials 4 to 5"):
        concat(parts[:-1])
    with pytest.raises(InputError, match="'z' is missing in seed 3, trials 0 to 3"):
        concat([*parts[:4], parts[5]])


def test_simulations_are_put_together_as_if_they_had_been_one() -> None:
    how: dict[str, Any] = {"graph": "star(direction=out)", "horizon": 15, "trials": 8}
    names = ["ts-n", "ids-n"]
    apart = concat([simulate(name, seed=s, **how) for s in (1, 2) for name in names])
    both = [simulate(names, seed=s, **how) for s in (1, 2)]
    for name in names:
        assert apart[name].final.tolist() == [v for r in both for v in r[name].final.tolist()]
        assert (apart[name].plays == both[0][name].plays + both[1][name].plays).all()
        assert apart[name].mean[-1] == pytest.approx(apart[name].final.mean(), rel=1e-12)
    assert apart.settings["seed"] is None
    assert [run["seed"] for run in apart.runs] == [1, 2]
    assert apart.differences()[0].mean == pytest.approx(
        np.mean([r.differences(apart.differences()[0].second)[0].mean for r in both])
    )


@pytest.mark.parametrize("first", [0, 3, 5])
def test_worlds_do_not_count_twice(first: int) -> None:
    with pytest.raises(InputError, match=r"twice: seed 3, trials 0 to 5 and seed 3, trials"):
        concat([made(VALUES), made({n: v[::-1][:5] for n, v in VALUES.items()}, first=first)])


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"horizon": 9}, ["horizon", "4", "9"]),
        ({"graph": "paper"}, ["graph", "some", "paper"]),
        ({"prior": [[1, 2], [3, 4]]}, ["prior", "not given", "[[1, 2], [3, 4]]"]),
        ({"regret": "realised"}, ["regret", "pseudo", "realised"]),
        ({"world": "new"}, ["world", "not given", "new"]),
        ({"accuracy": "strict"}, ["accuracy", "simulation", "strict"]),
    ],
    ids=lambda value: next(iter(value)),
)
def test_different_problems_are_not_put_together(change: dict[str, Any], words: list[str]) -> None:
    one, other = made(VALUES), made(VALUES, seed=9)
    concat([one, other])
    with pytest.raises(InputError) as caught:
        concat([one, replace(other, settings=dict(other.settings) | change)])
    for word in words:
        assert word in str(caught.value)


def test_different_arms_rounds_and_graphs_are_not_put_together() -> None:
    one, other = made(VALUES), made(VALUES, seed=9)
    there, back = (Fixed(Dense(np.array(m))) for m in ([[1, 1], [0, 1]], [[1, 0], [0.5, 1]]))
    for mine, theirs, words in [
        (one, replace(other, arms=("a", "c")), "names of the arms is .*'b'.*'c'"),
        (one, replace(other, rounds=other.rounds * 2), "recorded rounds is .*4.*8"),
        (one, replace(other, graph=there), "graph is not kept and 1 edges"),
        (
            replace(one, graph=there),
            replace(other, graph=back),
            "a -> b of probability 1 and .* b -> a of probability 0.5",
        ),
        (
            replace(one, graph=there),
            replace(other, graph=Fixed(Uniform(0.25, 2))),
            "1 edges and all others with probability 0.25",
        ),
    ]:
        with pytest.raises(InputError, match=words):
            concat([mine, theirs])
    kept = concat([replace(one, graph=there), replace(other, graph=there)]).graph
    assert kept is there


def test_the_same_policy_with_other_numbers_or_another_source_is_refused() -> None:
    one = made(VALUES)
    changed = made(VALUES | {"y": VALUES["y"] * 2})
    with pytest.raises(InputError, match=r"'y' is there twice.*final regret of its trial 0"):
        concat([one, changed])
    ways = [made({"x": VALUES["x"]}, policies={"x": {"source": s}}) for s in ("1a", "2b")]
    with pytest.raises(InputError, match="source of policy 'x' is 1a and 2b"):
        concat(ways)
    moved = [
        made({"x": VALUES["x"]}, seed=s, policies={"x": {"source": "1a", "plugin": f"/{s}.py"}})
        for s in (1, 2)
    ]
    assert concat(moved).settings["policies"]["x"]["plugin"] == "/1.py"


def test_a_need_that_older_versions_did_not_know_is_none() -> None:
    """Results of 0.3 and of 0.4 of the same plug-in go together; a note may be new."""
    before = {"source": "1a", "needs": {"graph": "after", "deterministic": True}}
    now = before | {"needs": before["needs"] | {"fixed": False}, "note": "New."}
    other = before | {"needs": before["needs"] | {"fixed": True}}
    first, later, changed = (
        made({"x": VALUES["x"]}, seed=s, policies={"x": facts})
        for s, facts in enumerate((before, now, other))
    )
    assert concat([first, later]).trials == 2 * first.trials
    assert concat([later, first]).notes == {"x": "New."}
    with pytest.raises(InputError, match="needs of policy 'x'"):
        concat([first, changed])


def test_versions_that_differ_are_listed() -> None:
    parts = [
        made(VALUES, seed=s, versions={"numpy": n, "python": "3.11"})
        for s, n in enumerate(["2.0", "2.1", "2.0", "2.2"])
    ]
    for together in (concat(parts), concat([concat(parts[:2]), concat(parts[2:])])):
        assert together.settings["versions"] == {"numpy": ["2.0", "2.1", "2.2"], "python": "3.11"}


def test_what_cannot_be_put_together() -> None:
    with pytest.raises(InputError, match="empty"):
        concat([])
    with pytest.raises(InputError, match="do not say their seed"):
        concat([made(VALUES, seed=None), made(VALUES, seed=None)])
    first = old()
    later = replace(first, settings=dict(first.settings) | {"seed": 5})
    with pytest.raises(
        InputError, match=r"no trials can be added .*format 1 have to be simulated again"
    ):
        concat([first, later])
    alone = replace(first, policies={"ts-n": first["ts-n"]})
    assert concat([alone, first]).policies.keys() == {"ts-n", "ids-n"}


def test_results_put_together_are_saved(tmp_path: Path) -> None:
    together = concat([made(VALUES, seed=2**64 + s) for s in (0, 1)] + [made(VALUES, seed=1)])
    loaded = Results.load(together.save(tmp_path / "run"))
    same(together, loaded)
    assert [run["seed"] for run in loaded.runs] == [2**64, 2**64 + 1, 1]
    seeds = loaded.to_polars("final")["seed"].to_list()
    assert seeds[:18] == [None] * 12 + [1] * 6


# --- found by review --------------------------------------------------------------------------


def test_other_sequences_of_graphs_are_other_problems() -> None:
    """A list of matrices has no text: what the graphs are must be compared."""
    how = {"horizon": 6, "trials": 3, "seed": 1}
    alone = simulate("ts-n", graph=[np.eye(3)] * 6, **how)
    again = simulate("ids-n", graph=[np.eye(3)] * 6, **how)
    other = simulate("ids-n", graph=[np.ones((3, 3))] * 6, **how)
    assert set(Results.concat([alone, again]).policies) == {"ts-n", "ids-n"}
    with pytest.raises(InputError, match="graph is list"):
        Results.concat([alone, other])


def test_the_same_graph_from_two_places_is_the_same_problem(tmp_path: Path) -> None:
    texts = []
    for folder in ("here", "there"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "e.csv").write_text("source,target,p\nann,bob,0.5\nbob,eve,1\n")
        texts.append(f"file:{tmp_path / folder / 'e.csv'}")
    one, two = (
        simulate("ts-n", graph=text, horizon=5, trials=4, seed=s) for s, text in enumerate(texts)
    )
    assert Results.concat([one, two]).trials == 8
    (tmp_path / "there" / "e.csv").write_text("source,target,p\nann,bob,0.25\nbob,eve,1\n")
    other = simulate("ts-n", graph=texts[1], horizon=5, trials=4, seed=1)
    with pytest.raises(InputError, match="graph is"):
        Results.concat([one, other])


@pytest.mark.parametrize(
    "call",
    [
        lambda r: Results.concat(r),
        lambda r: Results.concat([r, None]),
        lambda r: r.differences(confidence="0.9"),
        lambda r: r["ts-n"].quantile("a"),
        lambda r: r.band("ts-n", "quantiles", levels=0.5),
        lambda r: r.band("ts-n", "quantiles", levels=("a", "b")),
    ],
)
def test_what_is_no_number_or_no_list_is_refused(call: Callable[[Results], object]) -> None:
    with pytest.raises(InputError):
        call(old())


def test_one_trial_has_no_standard_error_to_show() -> None:
    shown = repr(simulate("ts-n", graph="paper", horizon=3, trials=1))
    assert "1 trial," in shown
    assert "nan" not in shown
