"""Tests of README.md, CONTRIBUTING.md and docs: examples run, lists are complete."""

from __future__ import annotations

import builtins
import importlib
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from typing import Any, get_args

import pyarrow.parquet as pq
import pytest
from fixtures.make_results import make as make_results
from helpers import FIXTURES, ROOT
from helpers.experiment_files import SINGLE, SWEEP
from helpers.stores import Point, fill, run_study, sweep, whole_store
from typer.testing import CliRunner

from graphbandits import open_study
from graphbandits.cli import app
from graphbandits.engine import Plan
from graphbandits.experiments import Experiment, experiment_names, load_experiment
from graphbandits.experiments.experiment import TABLES, keys_of
from graphbandits.experiments.export import ROWS
from graphbandits.experiments.figures import OPTIONS, FigureTable
from graphbandits.experiments.tables import KEYS, Table
from graphbandits.plugins import unload_plugin
from graphbandits.registry import registered
from graphbandits.results.data_frames import SCHEMA
from graphbandits.store import simulate_plan

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


def default_text(table: type[Table], key: str) -> str:
    """The default of a key as the document writes it."""
    field = next(f for n, f in table.model_fields.items() if (f.alias or n) == key)
    if field.is_required():
        return "needed"
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


def test_experiments_md_lists_the_options_of_each_figure_kind() -> None:
    document = (ROOT / "docs" / "experiment-files.md").read_text("utf-8")
    section = document.split("## `[[figures]]`\n")[1].split("\n## ")[0]
    for kind, options in OPTIONS.items():
        (row,) = re.findall(rf'^\| `"{kind}"` \| .+? \| (.*?) \|$', section, re.MULTILINE)
        assert tuple(re.findall(r"`(\w+)`", row)) == options, kind
    assert set(get_args(FigureTable.model_fields["kind"].annotation)) == set(OPTIONS)


def test_experiments_md_lists_what_can_be_swept() -> None:
    document = (ROOT / "docs" / "experiment-files.md").read_text("utf-8")
    sentence = re.search(r"A parameter that is one of the keys (.+?) sets that key", document)
    assert sentence is not None
    assert set(re.findall(r"`(\w+)`", sentence[1])) == set(KEYS)


def test_files_of_experiments_md_are_valid(place: Path) -> None:
    document = (ROOT / "docs" / "experiment-files.md").read_text("utf-8")
    found = re.findall(r"```toml\n(.*?)```", document, re.DOTALL)
    assert len(found) >= 3
    for text in found:
        whole = text if "title =" in text else ONE + text
        (place / "shown.toml").write_text(whole, "utf-8")
        assert load_experiment("shown.toml").plans()


@pytest.fixture
def place_with_experiments(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "single.toml").write_text(SINGLE, "utf-8")
    (tmp_path / "sweep.toml").write_text(SWEEP, "utf-8")
    return tmp_path


def test_readme_lists_the_packaged_experiments(place_with_experiments: Path) -> None:
    readme = (ROOT / "README.md").read_text("utf-8")
    section = readme.split("## Experiments")[1].split("\n## ")[0]
    rows = re.findall(r"^\| (`.*?`) \|", section, re.MULTILINE)
    assert sorted(re.findall(r"`([\w-]+)`", " ".join(rows))) == experiment_names()
    assert set(re.findall(r"graphbandits run ([\w-]+) ", section)) <= set(experiment_names())
    (sweep,) = re.findall(r"```toml\n(.*?)```", section, re.DOTALL)
    (place_with_experiments / "sweep.toml").write_text(sweep, "utf-8")
    experiment = load_experiment("sweep.toml")
    assert [cell.point for cell in experiment.plans()] == [{"r": 0}, {"r": 0.5}, {"r": 1}]
    assert experiment.swept()[0].label == "probability to see an arm"


def test_python_of_the_readme_runs(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    readme = (ROOT / "README.md").read_text()
    blocks = re.findall(r"```python\n(.*?)```", readme, re.DOTALL)
    assert len(blocks) == 5
    # the study that one of them opens: the README's own experiment, with few trials
    (study,) = re.findall(r"```toml\n(.*?)```", readme, re.DOTALL)
    (tmp_path / "my-study.toml").write_text(study + "[record]\npoints = 3\n")
    command = ["run", "my-study.toml", "--trials=2", "--workers=1"]
    assert CliRunner().invoke(app, command).exit_code == 0
    names: dict[str, object] = {}
    for block in blocks:
        exec(compile(block, "README.md", "exec"), names)
    decision = names["decision"]
    assert decision.arm == "ann"  # type: ignore[attr-defined]
    assert (tmp_path / "agent.npz").is_file()
    assert (tmp_path / "my-results" / "manifest.json").is_file()
    assert list(names["frame"]["r"].unique()) == [0, 0.5, 1]  # type: ignore[index]
    assert {"regret.pdf", "differences.svg", "sweep.png"} <= {p.name for p in tmp_path.iterdir()}


def test_readme_lists_the_registered_policies() -> None:
    table = (ROOT / "README.md").read_text().split("## The policies")[1].split("##")[0]
    assert set(re.findall(r"^\| `([a-z0-9-]+)` \|", table, re.MULTILINE)) == set(
        registered("policy")
    )


RESULTS_DOCUMENT = (ROOT / "docs" / "results.md").read_text("utf-8")


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    return Path(shutil.copytree(FIXTURES / "results-3", tmp_path / "run"))


def test_results_md_lists_exactly_the_columns(saved: Path) -> None:
    sections = dict(re.findall(r"^### `(\w+)`:.*?\n(.*?)(?=^##)", RESULTS_DOCUMENT, re.M | re.S))
    assert set(sections) == set(SCHEMA)
    for table, section in sections.items():
        written = dict(re.findall(r"^\| `([\w.]+)` \| (\w+) \|", section, re.MULTILINE))
        schema = pq.read_schema(saved / f"{table}.parquet")
        found = dict(zip(schema.names, map(str, schema.types), strict=True))
        assert written == found == SCHEMA[table]


def test_results_md_lists_every_field_of_the_manifest(tmp_path: Path) -> None:
    place = make_results().save(tmp_path / "run")
    manifest = json.loads((place / "manifest.json").read_text("utf-8"))
    section = RESULTS_DOCUMENT.split("## The manifest")[1].split("**The hash**")[0]
    first, second = section.split("`settings` is what")
    rows = r"^\| `(\w+)` \|"
    assert re.findall(rows, first, re.MULTILINE) == list(manifest)
    optional = {"means", "graph_source"}  # of fixed means; of a graph without a hash
    assert set(re.findall(rows, second, re.MULTILINE)) - optional == set(manifest["settings"])


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


def test_python_of_store_md_reads_a_store(tmp_path: Path, monkeypatch) -> None:
    store, plan = whole_store(tmp_path / "my-store")
    fill(store, plan, "ts-n", (1, 4))  # trials twice
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


def test_store_md_lists_every_directory_of_a_store(tmp_path: Path) -> None:
    store, _ = whole_store(tmp_path)
    text = (ROOT / "docs" / "store.md").read_text()
    with store.announce():
        for path in store.path.iterdir():
            assert f"  {path.name}" in text


NAMES = ["ts-n", "ids-n"]
DIRECTED = "edges(1>2:0.5 2>3 3-1)"


def plan(policies: list[str] = NAMES, **changes: Any) -> Plan:
    how = {"graph": DIRECTED, "horizon": 20, "trials": 6, "seed": 3} | changes
    return Plan.of(policies, **how)


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


TEXT = (ROOT / "CONTRIBUTING.md").read_text()


def blocks(language: str) -> list[str]:
    return re.findall(rf"^ *```{language}\n(.*?)```", TEXT, re.DOTALL | re.MULTILINE)


def command(place: Path, *words: str, source: Path = ROOT / "src") -> str:
    """Run ``graphbandits ...`` as a shell would, in ``place``."""
    assert words[0] == "graphbandits"
    done = subprocess.run(
        [sys.executable, "-m", *words],
        cwd=place,
        env=os.environ | {"PYTHONPATH": str(source)},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


class Words(HTMLParser):
    """The text of a page, without its scripts and styles."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.silent, self.words = False, ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.silent = tag in ("script", "style")

    def handle_endtag(self, tag: str) -> None:
        self.silent = False

    def handle_data(self, data: str) -> None:
        self.words += "" if self.silent else f"{data} "


@pytest.fixture(scope="module")
def walked(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[str]]:
    """A directory in which every shell command of CONTRIBUTING was run, and what each printed."""
    place = tmp_path_factory.mktemp("walk")
    lines = [line for block in blocks("sh") for line in block.strip().splitlines()]
    return place, [command(place, *shlex.split(line)) for line in lines]


def test_commands_of_contributing_work(walked: tuple[Path, list[str]]) -> None:
    place, printed = walked
    assert len(printed) == 3
    assert "Wrote my_ucb.py" in printed[0]
    assert re.search(r"(\d+) promises: \1 kept\.", printed[1])
    for name in ("my-ucb", "my-ucb(c=0.25)", "ids-n"):
        assert name in printed[2]
    assert {path.name for path in place.iterdir() if path.name != "__pycache__"} == {
        "my_ucb.py",
        "my-study",
    }
    results = open_study(place / "my-study").results()
    assert set(results.policies) == {"my-ucb", "my-ucb(c=0.25)", "ids-n"}
    assert results.settings["policies"]["my-ucb"]["plugin"] == "my_ucb.py"


def test_other_commands_of_contributing_work(walked: tuple[Path, list[str]]) -> None:
    place, _ = walked
    named = [shlex.split(text) for text in re.findall(r"`(graphbandits [^`]+)`", TEXT)]
    runs = [words for words in named if words[1] == "run"]
    lists = [words for words in named if words[1] == "list"]
    assert runs
    assert lists
    for words in lists:
        assert "my-ucb" in command(place, *words)
    for words in runs:
        shown = command(place, *words, "--trials", "4", "--output", "one")
        assert re.search(r"my-ucb +\d", shown)
        assert (place / "one" / "report.html").is_file()


def test_python_of_contributing_runs(
    walked: tuple[Path, list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    place, _ = walked
    monkeypatch.chdir(place)
    (agent,) = (block for block in blocks("python") if "Agent(" in block)
    names: dict[str, object] = {}
    try:
        exec(compile(agent, "CONTRIBUTING.md", "exec"), names)
        assert names["agent"].decide().arm in ("ann", "bob", "eve")  # type: ignore[attr-defined]
    finally:
        unload_plugin("my_ucb.py")
    (test,) = (block for block in blocks("python") if "parametrize" in block)
    (place / "test_mine.py").write_text(test)
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-k",
            "my-ucb-form or ids-lp-simplex",
            "test_mine.py",
        ],
        cwd=place,
        capture_output=True,
        text=True,
        check=False,
    )
    assert "2 passed" in done.stdout, done.stdout


def test_file_moved_into_the_package_is_registered(
    walked: tuple[Path, list[str]], tmp_path: Path
) -> None:
    place, _ = walked
    source = tmp_path / "src"
    shutil.copytree(ROOT / "src", source, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(place / "my_ucb.py", source / "graphbandits" / "policies")
    assert "my-ucb" in command(tmp_path, "graphbandits", "list", source=source)
    shown = command(tmp_path, "graphbandits", "check", "my-ucb", "--only", "form", source=source)
    assert "1 promise: 1 kept" in shown


STRANGER = '''
"""UCB with a square-root bonus."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from graphbandits.policies import Needs
from graphbandits.registry import register


@register("policy", "root-ucb")
@dataclass(frozen=True)
class RootUCB:
    """The highest mean plus a bonus that falls with the root of the observations."""

    bonus: float = 0.4
    needs: ClassVar[Needs] = Needs()
    exact: ClassVar[bool] = True

    def init(self, problem, keys):
        return {name: np.zeros((keys.trials, problem.arms)) for name in ("n", "s")}

    def propose(self, state, view):
        n = state["n"] + 1e-6
        index = state["s"] / n + self.bonus / np.sqrt(n)
        pi = np.zeros_like(index)
        pi[np.arange(len(pi)), index.argmax(axis=1)] = 1.0
        return pi

    def update(self, state, event):
        seen = event.observations
        np.add.at(state["n"], (seen.trial, seen.arm), 1)
        np.add.at(state["s"], (seen.trial, seen.arm), seen.reward)
        return state
'''


def test_new_policy_file_appears_in_the_report(tmp_path: Path) -> None:
    (tmp_path / "root_ucb.py").write_text(STRANGER)
    verdicts = command(tmp_path, "graphbandits", "check", "root_ucb.py")
    assert re.search(r"(\d+) promises: \1 kept\.", verdicts), verdicts
    words = "simulate --plugin root_ucb.py --policy root-ucb --policy ids-n --graph paper"
    size = "--horizon 200 --trials 150 --workers 2 --output study"
    command(tmp_path, "graphbandits", *words.split(), *size.split())
    touched = {path.name for path in tmp_path.iterdir()} - {"__pycache__"}
    assert touched == {"root_ucb.py", "study"}
    results = open_study(tmp_path / "study").cells[0].results(curves=True)
    page = Words((tmp_path / "study" / "report.html").read_text()).words
    for name in ("root-ucb", "ids-n"):
        assert name in page
        assert f"{results[name].mean[-1]:.2f}" in page
    assert "root_ucb.py" in page
    alone = command(
        tmp_path, "graphbandits", *words.split(), *size.split()[:4], "--workers", "1", "--json"
    )
    mean = re.search(r'"root-ucb": \{\s*"regret": \{\s*"mean": ([0-9.e+-]+)', alone)
    assert mean is not None
    assert float(mean[1]) == results["root-ucb"].mean[-1]
