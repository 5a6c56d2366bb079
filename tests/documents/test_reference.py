"""Tests of the reference pages: lists are complete, examples run, named functions exist."""

from __future__ import annotations

import importlib
import json
import re
from dataclasses import MISSING, is_dataclass
from pathlib import Path
from typing import Any

import pytest
from helpers import ROOT
from helpers.made_up_results import recorded
from helpers.stores import Point, fill, run_study, sweep, whole_study
from pydantic_core import PydanticUndefined

from graphbandits.simulation.plan import Plan
from graphbandits.simulation.run import simulate_plan
from graphbandits.simulation.tables import SCHEMA
from graphbandits.study.experiment import (
    SWEEPABLE,
    TABLES,
    Experiment,
    Table,
    keys_of,
    load_experiment,
)
from graphbandits.study.export import ROWS

ONE = """title = "T"
graph = "random(r=0.5)"
arms = 3
horizon = 20
trials = 4
policies = ["ids-n", "ts-n"]
"""


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def default_text(table: type[Any], key: str) -> str:
    """The default of a key as the document writes it."""
    if is_dataclass(table):
        default = table.__dataclass_fields__[key].default
    else:
        default = next(f for n, f in table.model_fields.items() if (f.alias or n) == key).default
    if default in (MISSING, PydanticUndefined):
        return "required"
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


def test_experiments_md_lists_what_can_be_swept() -> None:
    document = (ROOT / "docs" / "experiment-files.md").read_text("utf-8")
    sentence = re.search(r"A parameter that is one of the keys (.+?) sets that key", document)
    assert sentence is not None
    assert set(re.findall(r"`(\w+)`", sentence[1])) == set(SWEEPABLE)


def test_files_of_experiments_md_are_valid(place: Path) -> None:
    document = (ROOT / "docs" / "experiment-files.md").read_text("utf-8")
    found = re.findall(r"```toml\n(.*?)```", document, re.DOTALL)
    assert len(found) >= 2
    for text in found:
        whole = text if "title =" in text else ONE + text
        (place / "shown.toml").write_text(whole, "utf-8")
        assert load_experiment("shown.toml").plans()


RESULTS_DOCUMENT = (ROOT / "docs" / "results.md").read_text("utf-8")


def test_results_md_lists_exactly_the_columns() -> None:
    rows = re.findall(
        r"^\| `(\w+)` \| [\w, ]+ \| (`policy`.*|`source`.*) \|$", RESULTS_DOCUMENT, re.M
    )
    found = {table: re.findall(r"`([\w.]+)`", columns) for table, columns in rows}
    assert found == {table: list(columns) for table, columns in SCHEMA.items()}


def test_results_md_lists_every_setting() -> None:
    section = RESULTS_DOCUMENT.split("## Settings")[1].split("\n## ")[0]
    rows = re.findall(r"^\| `(\w+)` \|", section, re.MULTILINE)
    # of fixed means; of a graph without a hash; of eligible arms; of delayed and missing answers
    optional = {"means", "graph_source", "eligible", "delay", "answer_rate"}
    assert set(rows) - optional == set(recorded().settings)


@pytest.mark.parametrize("page", ["results", "experiment-files"])
def test_python_of_pages_runs(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    text = (ROOT / "docs" / f"{page}.md").read_text("utf-8")
    (block,) = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    exec(compile(block, page, "exec"), {})


def test_python_of_store_md_reads_a_study(tmp_path: Path, monkeypatch) -> None:
    directory, plan = whole_study(tmp_path / "my-study")
    fill(directory, plan, "ts-n", (1, 4))  # some trials are stored twice
    monkeypatch.chdir(tmp_path)
    text = (ROOT / "docs" / "store.md").read_text()
    (block,) = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    names: dict[str, Any] = {}
    exec(compile(block, "store.md", "exec"), names)
    simulated = simulate_plan(plan, progress=False)["ts-n"]
    assert names["rounds"] == list(range(1, 16))
    assert (names["final"].to_numpy() == simulated.final).all()
    for path in directory.path.iterdir():
        assert f"  {path.name}" in text


NAMES = ["ts-n", "ids-n"]
DIRECTED = "edges(1>2:0.5 2>3 3-1)"


def plan(policies: list[str] = NAMES, **changes: Any) -> Plan:
    settings = {"graph": DIRECTED, "horizon": 20, "trials": 6, "seed": 3} | changes
    return Plan.of(policies, **settings)


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


THEORY_DOCUMENT = (ROOT / "docs" / "theory.md").read_text("utf-8").split("## The audit")[0]
THEORY_ROWS = re.findall(r"^\| (.+?) \| .+? \| (.+?) \| (.+?) \|$", THEORY_DOCUMENT, re.MULTILINE)[
    1:
]


def test_theory_md_lists_every_numbered_statement() -> None:
    numbered = [("Definition", 1), ("Proposition", 4), ("Lemma", 4), ("Theorem", 3)]
    numbered += [("Corollary", 2), ("Fact", 2)]
    wanted = {f"{kind} {i}" for kind, count in numbered for i in range(1, count + 1)}
    assert wanted <= {name for name, _, _ in THEORY_ROWS}


def test_functions_of_theory_md_can_be_imported() -> None:
    for name, functions, _ in THEORY_ROWS:
        found = re.findall(r"`(graphbandits[\w.]+)`", functions)
        assert found, name
        for path in found:
            parts = path.split(".")
            depth = next(
                i for i, part in enumerate(parts) if not part.islower() or i == len(parts) - 1
            )
            target = importlib.import_module(".".join(parts[:depth]))
            for part in parts[depth:]:
                target = getattr(target, part)
            assert callable(target), path


def test_tests_of_theory_md_exist() -> None:
    for name, _, tests in THEORY_ROWS:
        found = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", tests)
        assert found, name
        for file, test in found:
            assert f"def {test}(" in (ROOT / file).read_text("utf-8"), f"{file}::{test}"
