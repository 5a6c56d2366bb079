"""Tests of results/file_formats.py: missing, damaged and foreign directories."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from helpers.bad_input import refused, tree

from graphbandits import Results, simulate
from graphbandits.errors import GraphBanditsError
from graphbandits.results.file_formats import FORMAT

TABLES = ["curve.parquet", "final.parquet", "plays.parquet", "regret.parquet"]


@pytest.fixture(scope="module")
def results() -> Results:
    return simulate(["ts-n", "ids-n"], graph="paper", horizon=3, trials=4, seed=1)


@pytest.fixture
def saved(results: Results, tmp_path: Path) -> Path:
    return results.save(tmp_path / "saved")


def test_loading_from_a_path_without_results_is_refused(tmp_path: Path) -> None:
    refused(lambda: Results.load(tmp_path / "missing"), str(tmp_path / "missing"), "No such file")
    refused(lambda: Results.load(tmp_path), str(tmp_path), "manifest.json")
    (tmp_path / "file").write_text("x")
    refused(lambda: Results.load(tmp_path / "file"), str(tmp_path / "file"), "Not a directory")


@pytest.mark.parametrize("table", TABLES)
def test_a_missing_table_is_named(saved: Path, table: str) -> None:
    (saved / table).unlink()
    refused(lambda: Results.load(saved), str(saved / table), "missing")


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize(
    "damage",
    [
        lambda data: b"",
        lambda data: b"no table",
        lambda data: b"PAR1 no table PAR1",
        lambda data: data[:-1],
        lambda data: data[: len(data) // 2],
        lambda data: data[:20] + bytes(100) + data[120:],
        lambda data: data[:-200] + bytes(100) + data[-100:],
    ],
    ids=["empty", "text", "magic", "shorter", "half", "zeros", "zeros in the footer"],
)
def test_a_damaged_table_is_named(
    saved: Path, table: str, damage: Callable[[bytes], bytes]
) -> None:
    path = saved / table
    path.write_bytes(damage(path.read_bytes()))
    refused(lambda: Results.load(saved), str(path), "damaged")


@pytest.mark.parametrize("table", TABLES)
def test_table_of_other_policies_is_named(saved: Path, table: str) -> None:
    other = simulate("idsn-lp", graph="paper", horizon=3, trials=4).save(saved.parent / "other")
    (saved / table).write_bytes((other / table).read_bytes())
    refused(lambda: Results.load(saved), table)


@pytest.mark.parametrize(("one", "other"), [(0, 1), (1, 2), (2, 0)])
def test_swapped_tables_are_named(saved: Path, one: int, other: int) -> None:
    (saved / TABLES[one]).write_bytes((saved / TABLES[other]).read_bytes())
    refused(lambda: Results.load(saved), str(saved))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "no json",
        "[]",
        "null",
        "{}",
        '{"format": "x"}',
        '{"format": null}',
        '{"format": 1}',
        '{"format": 1, "policies": [], "arms": [], "settings": {}}',
        '{"format": 1, "policies": ["nobody"], "arms": ["1"], "settings": {}}',
    ],
)
def test_damaged_manifest_is_refused(saved: Path, text: str) -> None:
    (saved / "manifest.json").write_text(text)
    refused(lambda: Results.load(saved), str(saved))


def test_binary_manifest_is_refused(saved: Path) -> None:
    (saved / "manifest.json").write_bytes(b"\xff\xfe\x00")
    refused(lambda: Results.load(saved), str(saved))


def test_results_of_a_newer_format_are_refused(saved: Path) -> None:
    manifest = json.loads((saved / "manifest.json").read_text())
    number = FORMAT
    (saved / "manifest.json").write_text(json.dumps(manifest | {"format": number + 1}))
    words = [f"format {number + 1}", f"up to {number}", "update", str(saved)]
    refused(lambda: Results.load(saved), *words)
    (saved / "manifest.json").write_text(json.dumps({"format": number + 1}))
    refused(lambda: Results.load(saved), *words)


@pytest.mark.parametrize(
    "files",
    [
        {"thesis.tex": "mine"},
        {"below/thesis.tex": "mine"},
        {"manifest.json": '{"name": "my web page"}', "index.html": "mine"},
        {"manifest.json": "no json"},
        {"curve.parquet": "mine"},
    ],
    ids=lambda files: " ".join(files),
)
def test_directory_without_results_is_not_overwritten(
    results: Results, tmp_path: Path, files: dict[str, str]
) -> None:
    target = tmp_path / "target"
    for name, text in files.items():
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        (target / name).write_text(text)
    before = tree(tmp_path)
    try:
        refused(lambda: results.save(target), str(target), "choose another directory")
    finally:
        assert tree(tmp_path) == before


def test_other_files_beside_the_results_are_kept(results: Results, saved: Path) -> None:
    (saved / "notes.txt").write_text("mine")
    with suppress(GraphBanditsError):
        results.save(saved)
    assert (saved / "notes.txt").read_text() == "mine"


def test_results_do_not_replace_a_file(results: Results, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    before = tree(tmp_path)
    refused(lambda: results.save(tmp_path / "file"), str(tmp_path / "file"))
    refused(lambda: results.save(tmp_path / "file" / "below"), str(tmp_path / "file" / "below"))
    assert tree(tmp_path) == before


def test_results_are_saved_through_a_link(tmp_path) -> None:
    real, link = tmp_path / "real", tmp_path / "link"
    real.mkdir()
    link.symlink_to(real)
    results = simulate("ts-n", graph="paper", horizon=3, trials=2)
    for _ in range(2):
        results.save(link)
    assert Results.load(link)["ts-n"].final.shape == (2,)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["link", "real"]
    assert link.is_symlink()
