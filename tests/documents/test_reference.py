"""Tests of the reference pages: lists are complete, examples run, named functions exist."""

from __future__ import annotations

import builtins
import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
from helpers import FIXTURES, ROOT
from helpers.stores import Point, fill, run_study, sweep, whole_store

from graphbandits.engine import Plan
from graphbandits.experiments import Experiment
from graphbandits.experiments.experiment import TABLES, keys_of
from graphbandits.experiments.export import ROWS
from graphbandits.experiments.tables import Table
from graphbandits.store import simulate_plan


def default_text(table: type[Table], key: str) -> str:
    """The default of a key as the document writes it."""
    field = next(f for n, f in table.model_fields.items() if (f.alias or n) == key)
    if field.is_required():
        return "required"
    default = field.default
    if default is None or default == () or isinstance(default, Table):
        return "—"
    return f"`{json.dumps(default)}`"


def test_experiments_md_lists_every_key_with_its_default() -> None:
    document = (ROOT / "docs" / "experiment-files.md").read_text("utf-8")
    headings = {"The experiment": Experiment} | {
        f"`[{name}]`" if name in ("record", "published") else f"`[[{name}]]`": table
        for name, table in TABLES.items()
    }
    for heading, table in headings.items():
        section = document.split(f"## {heading}\n")[1].split("\n## ")[0]
        rows = re.findall(r"^\| `(\w+)` \| (.+?) \| .+ \|$", section, re.MULTILINE)
        wanted = [(key, default_text(table, key)) for key in keys_of(table)]
        assert sorted(rows) == sorted(wanted), heading


RESULTS_DOCUMENT = (ROOT / "docs" / "results.md").read_text("utf-8")


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    return Path(shutil.copytree(FIXTURES / "results-4", tmp_path / "run"))


def test_python_of_results_md_runs(saved: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    saved.rename(saved.with_name("my-results"))
    monkeypatch.chdir(saved.parent)
    blocks = re.findall(r"```python\n(.*?)```", RESULTS_DOCUMENT, re.DOTALL)
    assert len(blocks) == 2
    shown: list[Any] = []
    monkeypatch.setattr(builtins, "print", shown.append)
    for block in blocks:
        names: dict[str, Any] = {}
        exec(compile(block, "docs/results.md", "exec"), names)
    assert shown[0]["mean"].tolist()[0] == 0.9720277158026444
    assert shown[1].shape == (2, 2)


@pytest.mark.process
def test_python_of_store_md_reads_a_store(tmp_path: Path, monkeypatch) -> None:
    store, plan = whole_store(tmp_path / "my-store")
    fill(store, plan, "ts-n", (1, 4))  # some trials are stored twice
    monkeypatch.chdir(tmp_path)
    text = (ROOT / "docs" / "store.md").read_text()
    blocks = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    assert len(blocks) == 3
    names: dict[str, Any] = {}
    for block in blocks:
        exec(compile(block, "store.md", "exec"), names)
    simulated = simulate_plan(plan, progress=False)["ts-n"]
    assert names["rounds"] == list(range(1, 16))
    assert names["cpu"] == "test"
    assert (names["final"].to_numpy() == simulated.final).all()
    assert simulated.regret is not None
    assert (names["curve"]["regret"].to_numpy() == simulated.regret.ravel()).all()
    assert (names["result"].mean == simulated.mean).all()
    assert (names["shard"].regret == simulated.regret[: names["shard"].trials]).all()


NAMES = ["ts-n", "ids-n"]
DIRECTED = "edges(1>2:0.5 2>3 3-1)"


def plan(policies: list[str] = NAMES, **changes: Any) -> Plan:
    settings = {"graph": DIRECTED, "horizon": 20, "trials": 6, "seed": 3} | changes
    return Plan.of(policies, **settings)


@pytest.mark.process
def test_python_of_reading_md_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    points = [
        Point(plan(graph=f"random(r={r})", arms=arms), {"r": r, "arms": arms}, 0)
        for arms in (2, 3)
        for r in (0.25, 0.5)
    ]
    run_study(tmp_path / "my-study", "my-study", points, sweeps=[sweep("r", "arms", x="r")])
    document = (ROOT / "docs" / "reading.md").read_text("utf-8")
    for block in re.findall(r"```python\n(.*?)```", document, re.DOTALL):
        exec(compile(block, "reading.md", "exec"), {})
    printed = capsys.readouterr().out
    assert "<Results of 20 trials, 5 arms, 1000 rounds" in printed
    assert (tmp_path / "my-run" / "report.html").is_file()
    assert "<Progress: 48 of 48 trials (100 %)>" in printed
    assert "{'r': 0.25, 'arms': 2} True" in printed
    assert f"at most {ROWS:,} rows" in document
