"""Tests of cli/store_commands.py: ``graphbandits store ls``, ``verify`` and ``gc``."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from helpers.stores import a_plan, a_shard, files_in, fill, put_study, synthetic, whole_store
from typer.testing import CliRunner, Result

from graphbandits.cli.app import app
from graphbandits.engine.identity import series_of
from graphbandits.store import Store


def run(*args: object) -> Result:
    return CliRunner().invoke(app, ["store", *map(str, args)], env={"COLUMNS": "110"})


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return whole_store(tmp_path / "store")[0]


def test_ls_shows_studies_and_their_size(store: Store) -> None:
    put_study(store, {"a": a_plan(), "b": a_plan(seed=5)}, key="larger", trials=20)
    store.write(synthetic("unused"), a_shard(0, 2), {})
    result = run("ls", store.path)
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    assert lines[0] == "larger  The title of larger"
    assert lines[1].startswith("  2 cells, 2 policies, 20 trials: 30 % finished; 6 shards, ")
    assert lines[2] == "study  The title of study"
    when = r"last run \d{4}-\d\d-\d\d \d\d:\d\d"
    assert re.fullmatch(
        rf"  1 cell, 2 policies, 12 trials: all finished; 6 shards, [\d.]+ kB; {when}", lines[3]
    )
    assert "2 studies, 7 shards in 3 series" in result.stdout
    assert "Not used by any study: 1 shard in 1 series, " in result.stdout


def test_ls_as_json(store: Store) -> None:
    (store.path / "studies" / "torn.json").write_text("{")
    with store.mark_active():
        found = json.loads(run("ls", store.path, "--json").stdout)
    study, torn = found["studies"]
    assert (study["key"], study["done"], study["of"], study["shards"]) == ("study", 24, 24, 6)
    assert study["policies"] == ["ts-n", "ucb-n"]
    assert study["bytes"] == found["total"]["bytes"] > 0
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[+-]\d\d:\d\d", study["changed"])
    assert "torn.json is damaged" in torn["damage"]
    assert found["without_study"] == {"series": 0, "shards": 0, "bytes": 0}
    assert found["running"] == []


def test_ls_names_a_damaged_record_and_shows_the_others(store: Store) -> None:
    (store.path / "studies" / "torn.json").write_text("{")
    result = run("ls", store.path)
    assert result.exit_code == 0
    assert "torn.json is damaged: run the experiment again" in result.stdout
    assert "The title of study" in result.stdout


def test_empty_store_is_listed(tmp_path: Path) -> None:
    Store.create(tmp_path)
    assert run("ls", tmp_path).stdout == f"{tmp_path}: 0 studies, 0 shards in 0 series, 0 bytes.\n"
    assert run("verify", tmp_path).stdout == f"{tmp_path}: 0 shards read, no problems.\n"
    assert run("gc", tmp_path).stdout == f"{tmp_path}: nothing removed.\n"
    assert sorted(files_in(tmp_path)) == ["store.json"]


def test_verify_of_an_intact_store(store: Store) -> None:
    result = run("verify", store.path)
    assert result.exit_code == 0
    assert result.stdout == f"{store.path}: 6 shards read, no problems.\n"
    found = json.loads(run("verify", store.path, "--json").stdout)
    assert found == {"store": str(store.path), "shards": 6, "wrong": 0, "findings": []}


def test_verify_names_problems_and_remedies(store: Store) -> None:
    lost, broken = store.shards(series_of(a_plan(), "ts-n").name)[:2]
    store.path_of(lost).unlink()
    path = store.path_of(broken)
    path.write_bytes(path.read_bytes()[:-1])
    result = run("verify", store.path)
    assert result.exit_code == 1
    lines = result.stdout.splitlines()
    name = path.relative_to(store.path)
    place = lines.index(f"wrong {name}")
    assert lines[place + 1] == (
        "      is damaged: its sha256 differs from the one in its name: "
        "run the experiment again to repair it"
    )
    assert "note  studies/study.json" in lines
    assert lines[-1] == f"{store.path}: 5 shards read, 1 problem."
    result = run("verify", store.path, "--json")
    assert result.exit_code == 1
    found = json.loads(result.stdout)
    assert found["wrong"] == 1
    assert [(one["file"], one["wrong"]) for one in found["findings"]] == [
        ("studies/study.json", False),
        (str(name), True),
    ]


def test_gc_lists_files_before_it_removes_them(store: Store) -> None:
    (store.path / "report.html").write_text("mine")
    before = files_in(store.path)
    (spare,) = fill(store, a_plan(), "ts-n", (1, 4))
    full = files_in(store.path)
    size = store.path_of(spare).stat().st_size
    name = store.path_of(spare).relative_to(store.path)
    dry = run("gc", store.path, "--dry-run")
    assert dry.exit_code == 0
    assert dry.stdout.splitlines() == [
        f"studies use other shards instead: 1 file, {size / 1000:.1f} kB",
        f"  {name}",
        f"{store.path}: 1 file would be removed, {size / 1000:.1f} kB.",
    ]
    assert files_in(store.path) == full
    found = json.loads(run("gc", store.path, "--json").stdout)
    why = "studies use other shards instead"
    assert found == {
        "store": str(store.path),
        "dry_run": False,
        "bytes": size,
        "removed": [{"file": str(name), "why": why, "bytes": size}],
    }
    assert files_in(store.path) == before


@pytest.mark.parametrize("command", ["ls", "verify", "gc"])
def test_errors_are_one_line_and_exit_code_2(command: str, tmp_path: Path) -> None:
    def refused(*words: str) -> None:
        for more in ((), ("--json",)):
            result = run(command, tmp_path / "store", *more)
            assert result.exit_code == 2
            assert result.stdout == ""
            assert len(result.stderr.splitlines()) == 1
            for word in words:
                assert word in result.stderr

    refused("Error:", "the directory does not exist", "graphbandits run")
    manifest = tmp_path / "store" / "store.json"
    manifest.parent.mkdir()
    refused("has no store.json")
    manifest.write_text('{"format": 1')
    refused("store.json", "damaged", "delete the file")
    manifest.write_text('{"format": 7}')
    refused("format 7", "update graphbandits")


def test_help_lists_the_store_commands() -> None:
    text = run("--help").stdout
    assert all(word in text for word in ("ls", "verify", "gc"))
    assert "--dry-run" in run("gc", "--help").stdout
