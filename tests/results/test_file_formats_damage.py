"""Tests of results/file_formats.py: every damaged file is named."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fixtures.make_results import make as make_results
from fixtures.make_results import make_restricted
from helpers import FIXTURES
from helpers.bad_input import refuses
from helpers.made_up_results import same

from graphbandits import Results
from graphbandits.errors import InputError
from graphbandits.graphs import DenseFeedback, Fixed
from graphbandits.results.data_frames import SCHEMA
from graphbandits.results.file_formats import check_target

FILES = ["manifest.json", *(f"{table}.parquet" for table in SCHEMA)]


@pytest.fixture
def saved(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    case = request.node.callspec.params if hasattr(request.node, "callspec") else {}
    number = 5 if case.get("name") == "eligible.parquet" else 4  # ratios exclude eligible arms
    return Path(shutil.copytree(FIXTURES / f"results-{number}", tmp_path / "run"))


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
def test_damaged_files_are_named(
    saved: Path, name: str, damage: Callable[[bytes], bytes] | None
) -> None:
    path = saved / name
    if damage is None:
        path.unlink()
    else:
        path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(InputError, match=re.escape(str(path))):
        Results.load(saved)


@pytest.mark.parametrize("name", FILES)
def test_file_of_another_run_is_named(saved: Path, name: str) -> None:
    base = make_restricted(eligible=0.7) if name == "eligible.parquet" else make_results()
    swapped = {"ids-n": base["ts-n"], "ts-n": base["ids-n"]}
    graph = Fixed(DenseFeedback(np.array([[1, 0, 0.5], [0, 1, 0], [1, 0, 1]])), base.arms)
    other = replace(base, policies=swapped, graph=graph).save(saved.parent / "other")
    (saved / name).write_bytes((other / name).read_bytes())
    with pytest.raises(InputError, match=name):
        Results.load(saved)


def numbers_in(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Return the paths of all plain values in a manifest."""
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
        with refuses(InputError):
            Results.load(saved)
    for field in json.loads(text):
        manifest = json.loads(text)
        del manifest[field]
        (saved / "manifest.json").write_text(json.dumps(manifest))
        with refuses(InputError):
            Results.load(saved)
    (saved / "manifest.json").write_text(
        json.dumps(json.loads(text))
    )  # different white space is allowed
    same(Results.load(saved), Results.load(FIXTURES / "results-4"))


@pytest.mark.parametrize("name", ["curve", "final", "plays"])
def test_damage_in_format_1_is_named(tmp_path: Path, name: str) -> None:
    place = Path(shutil.copytree(FIXTURES / "results-1", tmp_path / "run"))
    path = place / f"{name}.parquet"
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(InputError, match=re.escape(str(path))):
        Results.load(place)
    shutil.copy(FIXTURES / "results-4" / "final.parquet", place / f"{name}.parquet")
    with pytest.raises(InputError, match=re.escape(str(path))):
        Results.load(place)


def test_only_results_directories_are_replaced(tmp_path: Path) -> None:
    for missing in ("curve", "final", "plays"):
        place = Path(shutil.copytree(FIXTURES / "results-4", tmp_path / missing))
        (place / f"{missing}.parquet").unlink()
        with refuses(InputError):
            check_target(place)
    (tmp_path / "curve" / "curve.parquet").write_text("x")
    check_target(tmp_path / "curve")
    (tmp_path / "curve" / "agent.npz").write_text("x")
    with refuses(InputError):
        check_target(tmp_path / "curve")
