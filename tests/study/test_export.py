"""Tests of study/export.py: tables of all cells of a study in every format."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import polars
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest
from helpers.bad_input import refuses
from helpers.stores import Point, run_study, sweep
from pandas.testing import assert_frame_equal

from graphbandits import simulate
from graphbandits.errors import InputError
from graphbandits.simulation.plan import Plan
from graphbandits.simulation.tables import SCHEMA
from graphbandits.study import export as export_module
from graphbandits.study.directory import Directory
from graphbandits.study.export import batches
from graphbandits.study.study import Study

NAMES = ["ts-n", "ids-n"]
RECORD = {"ratios": "bound", "record": ("actions", "observations")}
SETTINGS: dict[str, Any] = {"horizon": 12, "trials": 7, "seed": 3, **RECORD}
DIRECTED = "edges(1>2:0.5 2>3 3-1)"
TABLES = [table for table in SCHEMA if table != "eligible"]  # ratios exclude eligible arms


@pytest.fixture(scope="module")
def one(tmp_path_factory: pytest.TempPathFactory) -> Study:
    place = tmp_path_factory.mktemp("one")
    return run_study(place, "one", [Point(Plan.of(NAMES, graph=DIRECTED, **SETTINGS))])


@pytest.fixture(scope="module")
def swept(tmp_path_factory: pytest.TempPathFactory) -> Study:
    """Two sweeps: of r, which a policy uses too, and of the number of arms."""
    points = [
        Point(
            Plan.of(["ts-n", f"eps-greedy-lp(c={r})"], graph="star", arms=4, **SETTINGS),
            {"r": r, "seed": seed},
            0,
            {f"eps-greedy-lp(c={r})": "eps-greedy-lp(c=…)"},
        )
        for r, seed in ((1, "a"), (2.5, "b"))
    ]
    points += [
        Point(Plan.of(["ts-n"], graph="ring", arms=k, **SETTINGS), {"arms": k}, 1) for k in (3, 5)
    ]
    sweeps = [sweep("r", "seed", x="r"), sweep("arms", x="arms")]
    return run_study(tmp_path_factory.mktemp("swept"), "swept", points, sweeps=sweeps)


def test_table_equals_that_of_simulate_bit_for_bit(one: Study) -> None:
    for table in TABLES:
        results = simulate(NAMES, graph=DIRECTED, **SETTINGS)
        frame = one.to_pandas(table)
        assert list(frame.columns) == ["study", *SCHEMA[table]]
        assert set(frame["study"]) == {"one"}
        assert_frame_equal(frame.drop(columns="study"), results.to_pandas(table), check_exact=True)
        assert one.to_polars(table).drop("study").equals(results.to_polars(table))


def test_eligible_arms_equal_those_of_simulate(tmp_path: Path) -> None:
    given = SETTINGS | {"ratios": None, "eligible": 0.5, "record": ("actions", "eligible")}
    study = run_study(tmp_path, "some", [Point(Plan.of(NAMES, graph=DIRECTED, **given))])
    results = simulate(NAMES, graph=DIRECTED, **given)
    frame = study.to_pandas("eligible")
    assert list(frame.columns) == ["study", *SCHEMA["eligible"]]
    wanted = results.to_pandas("eligible")
    assert_frame_equal(frame.drop(columns="study"), wanted, check_exact=True)
    assert study.export("eligible", tmp_path / "t.csv") == len(wanted)
    found = study.trajectories(policy="ts-n", trials=[1, 5]).table("eligible")
    assert found.equals(results.trajectories("ts-n", [1, 5]).table("eligible"))


def test_batches_have_the_given_size_and_identical_rows(
    one: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    for rows in (1, 5, 17, 10**6):
        for table in TABLES:
            whole = pa.Table.from_batches(one.batches(table))
            monkeypatch.setattr(export_module, "ROWS", rows)
            parts = list(one.batches(table))
            assert {part.num_rows for part in parts[:-1]} <= {rows}
            assert 0 < parts[-1].num_rows <= rows
            assert pa.Table.from_batches(parts).equals(whole)


def test_files_have_the_rows_of_the_frame(one: Study, tmp_path: Path) -> None:
    for ending in ("parquet", "csv", "csv.gz", "CSV.GZ"):
        for table in TABLES:
            place = tmp_path / str(len(list(tmp_path.iterdir())))
            place.mkdir()
            path = place / f"t.{ending}"
            wanted = pa.Table.from_batches(one.batches(table))
            assert one.export(table, path) == len(wanted)
            if ending == "parquet":
                found = pa.parquet.read_table(path)
            else:
                data = path.read_bytes()
                text = gzip.decompress(data) if ending.lower() == "csv.gz" else data
                types = dict(zip(wanted.schema.names, wanted.schema.types, strict=True))
                options = pa.csv.ConvertOptions(column_types=types)
                found = pa.csv.read_csv(pa.BufferReader(text), convert_options=options)
            assert found.schema.equals(wanted.schema)
            assert_frame_equal(
                found.to_pandas(), wanted.to_pandas(), check_exact=True
            )  # NaN is NaN
            assert [p.name for p in place.iterdir()] == [path.name]


def test_the_same_rows_are_the_same_bytes(one: Study, tmp_path: Path) -> None:
    for ending in ("parquet", "csv", "csv.gz"):
        for name in ("a", "b"):
            one.export("regret", tmp_path / f"{name}.{ending}")
        assert (tmp_path / f"a.{ending}").read_bytes() == (tmp_path / f"b.{ending}").read_bytes()


def test_row_groups_limit_the_memory(
    one: Study, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(export_module, "ROWS", 50)
    rows = one.export("regret", tmp_path / "t.parquet")
    file = pa.parquet.ParquetFile(tmp_path / "t.parquet")
    sizes = [file.metadata.row_group(i).num_rows for i in range(file.num_row_groups)]
    assert sizes == [50] * (rows // 50) + [rows % 50]


def test_swept_parameters_are_columns_in_front(swept: Study) -> None:
    frame = swept.to_polars("final")
    front = {
        "study": polars.String,
        "r": polars.Float64,
        "swept_seed": polars.String,
        "arms": polars.Int64,
        "line": polars.String,
    }
    assert dict(list(frame.schema.items())[:5]) == front
    assert frame.columns[5:] == list(SCHEMA["final"])
    first = frame.filter(polars.col("r") == 2.5)
    assert set(first["swept_seed"]) == {"b"}
    assert set(first["arms"]) == {None}
    assert set(first["policy"]) == {"ts-n", "eps-greedy-lp(c=2.5)"}
    assert set(frame["line"]) == {"ts-n", "eps-greedy-lp(c=…)"}
    wanted = simulate("ts-n", graph="ring", arms=5, **SETTINGS).to_polars("final")
    found = frame.filter(polars.col("arms") == 5).select(list(SCHEMA["final"]))
    assert found.equals(wanted)
    assert len(frame) == 7 * (2 * 2 + 2)


def test_lines_equal_to_the_policies_are_left_out(one: Study) -> None:
    assert "line" not in one.to_pandas("curve")


def test_a_parameter_has_the_type_that_holds_its_values(tmp_path: Path) -> None:
    for values, kind in (
        ((1, 2), pa.int64()),
        ((1, 2.5), pa.float64()),
        ((1, "a"), pa.string()),
        ((1, 2**63), pa.string()),
        ((1, 2**63 + 1), pa.string()),
        ((0.5, 2**53), pa.float64()),
        ((0.5, 2**53 + 1), pa.string()),
    ):
        place = tmp_path / str(len(list(tmp_path.iterdir())))
        place.mkdir()
        plan = Plan.of("ts-n", graph="star", horizon=2, trials=1)
        points = [Point(plan, {"p": value}, 0) for value in values]
        study = run_study(place, "a", points, sweeps=[sweep("p", x="p")])
        table = pa.Table.from_batches(study.batches("final"))
        assert table.schema.field("p").type == kind
        wanted = [str(v) for v in values] if kind == pa.string() else list(values)
        assert table["p"].to_pylist() == wanted


def test_several_studies_share_a_table(one: Study, swept: Study) -> None:
    table = pa.Table.from_batches(batches([one, swept], "final"))
    frame = table.to_pandas()
    assert list(dict.fromkeys(frame["study"])) == ["one", "swept"]
    assert frame[frame["study"] == "one"]["r"].isna().all()


def test_missing_trials_stop_an_export_unless_it_is_partial(tmp_path: Path) -> None:
    there = {"ids-n": [(0, 2), (4, 1)]}
    plan = Plan.of(NAMES, graph=DIRECTED, **SETTINGS)
    study = run_study(tmp_path, "half", [Point(plan, there=there)])
    for table in ("curve", "final", "plays", "regret", "ratios"):
        with refuses(InputError):
            study.batches(table)  # before the first row is read
        with refuses(InputError):
            study.export(table, tmp_path / "t.csv")
    assert not (tmp_path / "t.csv").exists()
    study.to_pandas("graph")
    frame = study.to_pandas("final", partial=True)
    assert frame[frame["policy"] == "ids-n"]["trial"].tolist() == [0, 1, 4]
    wanted = simulate(NAMES, graph=DIRECTED, **SETTINGS).to_pandas("final")
    merged = frame.merge(wanted, on=["policy", "seed", "trial"], suffixes=("", "_whole"))
    assert len(merged) == 10
    assert (merged["regret"] == merged["regret_whole"]).all()
    plays = study.to_pandas("plays", partial=True)
    assert plays.groupby("policy")["plays"].sum().to_dict() == {"ids-n": 36, "ts-n": 84}
    curve = study.to_pandas("curve", partial=True).query("policy == 'ids-n'")
    kept = wanted.query("policy == 'ids-n' and trial in [0, 1, 4]")["regret"]
    assert curve["mean"].iloc[-1] == pytest.approx(kept.mean(), rel=1e-14)


def test_study_without_trials_gives_an_empty_table(tmp_path: Path) -> None:
    plan = Plan.of("ts-n", graph="star", horizon=2, trials=1)
    study = run_study(tmp_path, "a", [Point(plan, there={"ts-n": []})])
    assert study.to_pandas("final", partial=True).empty
    assert study.export("final", tmp_path / "t.parquet", partial=True) == 0
    assert pa.parquet.read_table(tmp_path / "t.parquet").num_rows == 0


def test_failed_export_keeps_the_old_file(
    one: Study, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "t.csv"
    path.write_text("before")
    reads: list[object] = []
    read = Directory.read

    def fail(store: Directory, file: Any, **how: Any) -> Any:
        reads.append(file)
        if len(reads) > 2:
            raise InputError("the shard is damaged")
        return read(store, file, **how)

    monkeypatch.setattr(Directory, "read", fail)
    monkeypatch.setattr(export_module, "ROWS", 5)
    for ending in ("csv", "csv.gz", "parquet"):
        reads.clear()
        with refuses(InputError):
            one.export("regret", tmp_path / f"t.{ending}")
    assert path.read_text() == "before"
    assert [p.name for p in tmp_path.iterdir()] == ["t.csv"]


def test_unknown_suffixes_are_refused(one: Study, tmp_path: Path) -> None:
    for name in ("t.txt", "t", "t.gz", "t.parquet.gz"):
        with pytest.raises(InputError, match=rf"'{name}'.* \.parquet, \.csv, \.csv\.gz$"):
            one.export("final", tmp_path / name)


def test_unwritable_paths_are_refused(one: Study, tmp_path: Path) -> None:
    (tmp_path / "d.csv").mkdir()
    with refuses(InputError, match="is a directory"):
        one.export("final", tmp_path / "d.csv")
    with refuses(InputError, match="No such file or directory"):
        one.export("final", tmp_path / "no" / "t.csv")


def test_unknown_tables_are_refused(tmp_path: Path) -> None:
    plan = Plan.of("ts-n", graph="random(r=0.5)", arms=3, horizon=2, trials=1)
    study = run_study(tmp_path, "a", [Point(plan)])
    with refuses(InputError, match="no ratios in these studies: set ratios = 'bound'"):
        study.batches("ratios")
    with refuses(InputError, match="no table 'finals'"):
        study.batches("finals")
    changing = run_study(
        tmp_path, "b", [Point(Plan.of("ts-n", graph="revealed-er(p=0.5)", horizon=2, trials=1))]
    )
    with refuses(InputError):
        changing.batches("graph")


def test_memory_holds_at_most_one_shard_and_one_batch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Shards are read one after the other, as rows are asked for."""
    plan = Plan.of("ts-n", graph="star", horizon=4, trials=12)
    study = run_study(tmp_path, "a", [Point(plan)], shard=3)
    reads: list[int] = []
    read = Directory.read

    def counted(store: Directory, file: Any, **how: Any) -> Any:
        reads.append(file.first)
        return read(store, file, **how)

    monkeypatch.setattr(Directory, "read", counted)
    monkeypatch.setattr(export_module, "ROWS", 12)
    found = study.batches("regret")
    assert reads == []
    for number, _ in enumerate(found, start=1):
        assert reads == [0, 3, 6, 9][:number]
    assert len(reads) == 4
