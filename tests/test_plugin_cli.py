"""The command line with plug-ins: check, new, run, and --plugin everywhere."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from graphbandits import check_plugins, new_experiment, new_policy, open_study, simulate
from graphbandits.cli import app
from graphbandits.plugins import load_plugin, unload_plugin
from graphbandits.registry import registered
from graphbandits.testing import Verdict, contract

RUNNER = CliRunner(env={"COLUMNS": "200"})
FILES = ("mine.py", "my_ucb.py", "plug.py")

MINE = '''
"""Thompson sampling under another name, and a graph."""

from dataclasses import dataclass

from graphbandits.graphs import from_matrix
from graphbandits.policies.ts_n import TSN
from graphbandits.registry import register


@register("policy", "mine")
@dataclass(frozen=True)
class Mine(TSN):
    """As Thompson sampling."""

    c: float = 0.5


@register("graph", "two-ways")
@dataclass(frozen=True)
class TwoWays:
    """Two arms, each of which may show the other."""

    p: float = 0.25

    def process(self, arms):
        return from_matrix([[1.0, self.p], [0.75, 1.0]])
'''

EXPERIMENT = """
title = "A study of mine"
graph = "star(direction=out)"
arms = 4
horizon = 20
trials = 6
policies = ["mine", "ids-n"]
plugins = ["mine.py"]
seed = 3
"""


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty directory with a plug-in; what is loaded from it is forgotten afterwards."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").write_text(MINE)
    yield tmp_path
    for name in FILES:
        unload_plugin(tmp_path / name)


def run(*args: object, code: int = 0) -> str:
    result = RUNNER.invoke(app, [str(arg) for arg in args])
    assert result.exit_code == code, (result.stdout, result.stderr, result.exception)
    return result.stdout


def refused(*args: object) -> str:
    """The one line that a command ends with; nothing was printed before."""
    result = RUNNER.invoke(app, [str(arg) for arg in args])
    assert result.exit_code == 2, (result.stdout, result.exception)
    lines = result.stderr.splitlines()
    assert len(lines) == 1
    assert lines[0].startswith("Error: ")
    return lines[0]


def names_in(directory: Path) -> set[str]:
    return {path.name for path in directory.iterdir()}


# --- --plugin ---------------------------------------------------------------------------------


def test_a_plug_in_is_listed_with_its_parameters(place: Path) -> None:
    listing = json.loads(run("list", "--plugin", "mine.py", "--json"))
    (mine,) = (entry for entry in listing["policies"] if entry["name"] == "mine")
    assert mine["description"] == "As Thompson sampling."
    assert mine["parameters"] == {"c": 0.5}
    assert "two-ways" in {entry["name"] for entry in listing["graphs"]}


@pytest.mark.parametrize("workers", [1, 2])
def test_a_plug_in_is_simulated_as_from_python(place: Path, workers: int) -> None:
    words = ["simulate", "--plugin", "mine.py", "--policy", "mine", "--policy", "ids-n"]
    size = ["--graph", "two-ways(p=0.5)", "--horizon", 15, "--trials", 7, "--seed", 5]
    shown = json.loads(run(*words, *size, "--workers", workers, "--json"))
    load_plugin("mine.py")
    again = simulate(["mine", "ids-n"], graph="two-ways(p=0.5)", horizon=15, trials=7, seed=5)
    for name in ("mine", "ids-n"):
        assert shown["policies"][name]["regret"]["mean"] == again[name].mean[-1]


def test_a_bayesian_plug_in_is_inspected(place: Path) -> None:
    words = ["inspect", "--beta", "3,2", "--beta", "1,4", "--graph", "two-ways"]
    shown = json.loads(run(*words, "--plugin", "mine.py", "--json"))
    assert shown["pi"]["mine"] == shown["pi"]["ts-n"]
    assert shown["gain"]["bound"][0] == pytest.approx(shown["h"][0] + 0.25 * shown["h"][1])


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (None, ["plug.py", "No such file"]),
        ("def f(:\n", ["plug.py, line 1", "syntax"]),
        ("import numpy\n\nnumpy.nothing\n", ["plug.py, line 3", "AttributeError", "nothing"]),
        ("x = 1\n", ["plug.py", "registers nothing", "@register"]),
        ("raise SystemExit(3)\n", ["plug.py, line 1", "SystemExit"]),
        (MINE.replace('"mine"', '"ids-n"'), ["plug.py, line 1", "'ids-n'", "another name"]),
        (MINE.replace('"policy"', '"polcy"'), ["'polcy'", "did you mean 'policy'"]),
        (MINE.replace("frozen=True", ""), ["frozen"]),
    ],
    ids=["missing", "syntax", "raises", "nothing", "exit", "taken", "kind", "thawed"],
)
@pytest.mark.parametrize("command", ["list", "check", "simulate"])
def test_a_bad_plug_in_is_refused_with_its_line(
    place: Path, command: str, content: str | None, words: list[str]
) -> None:
    if content is not None:
        (place / "plug.py").write_text(content)
    before = set(registered("policy"))
    simulation = "simulate --policy mine --graph empty --horizon 2 --trials 2 --plugin plug.py"
    lines = {"list": "list --plugin plug.py", "check": "check plug.py", "simulate": simulation}
    message = refused(*lines[command].split())
    for word in words:
        assert word in message
    assert set(registered("policy")) == before


def test_a_policy_that_fails_in_a_run_is_named_with_its_line(place: Path) -> None:
    method = """    c: float = 0.5

    def propose(self, state, view):
        if view.t == 3:
            return 1 / 0
        return super().propose(state, view)
"""
    source = MINE.replace("    c: float = 0.5\n", method)
    (place / "plug.py").write_text(source)
    line = source.splitlines().index("            return 1 / 0") + 1
    words = "simulate --plugin plug.py --policy mine --graph empty --horizon 9 --trials 2"
    for workers in (1, 2):
        message = refused(*words.split(), "--workers", workers)
        assert "'mine' failed in round 3, in propose" in message
        assert f"plug.py, line {line}: ZeroDivisionError" in message


def test_without_its_plug_in_a_policy_is_unknown_and_the_hint_says_how(place: Path) -> None:
    words = "simulate --policy minne --graph empty --horizon 2 --trials 2 --plugin mine.py"
    assert "did you mean 'mine'" in refused(*words.split())
    unload_plugin("mine.py")
    message = refused(
        *["simulate", "--policy", "mine", "--graph", "empty", "--horizon", "2", "--trials", "2"]
    )
    assert "--plugin FILE" in message


# --- check ------------------------------------------------------------------------------------


def test_check_gives_a_verdict_for_each_promise(place: Path) -> None:
    verdicts: list[dict[str, Any]] = json.loads(run("check", "mine.py", "--json"))
    assert {verdict["outcome"] for verdict in verdicts} == {"kept"}
    for kind, plugin in (("policy", "mine"), ("graph", "two-ways")):
        found = [v["check"] for v in verdicts if (v["kind"], v["plugin"]) == (kind, plugin)]
        assert found == [check.name for check in contract(kind)]


def test_check_prints_what_the_function_returns(place: Path) -> None:
    seen: list[Verdict] = []
    verdicts = check_plugins([place / "mine.py", "ts-n"], only=["form"], finished=seen.append)
    assert seen == verdicts
    shown = json.loads(run("check", "mine.py", "ts-n", "--only", "form", "--json"))
    assert [verdict.to_dict() for verdict in verdicts] == shown


def test_check_of_names_and_single_checks(place: Path) -> None:
    shown = run("check", "ts-n", "cliques(size=2)", "--only", "form", "--only", "simplex")
    assert re.findall(r"^(\w+ \S+)$", shown, re.MULTILINE) == [
        "policy ts-n",
        "graph cliques(size=2)",
    ]
    assert shown.count("kept     form") == 2
    assert shown.count("kept     simplex") == 1


def test_a_broken_promise_is_shown_and_ends_with_1(place: Path) -> None:
    (place / "plug.py").write_text(
        MINE.replace("    c: float = 0.5\n", "    c: float = 0.5\n    needs = None\n")
    )
    shown = run("check", "plug.py", "--only", "form", code=1)
    assert "broken" in shown
    assert "needs is None" in shown
    verdicts = json.loads(run("check", "plug.py", "--only", "form", "--json", code=1))
    assert [verdict["outcome"] for verdict in verdicts] == ["broken", "kept"]


def test_check_refuses_what_it_does_not_know(place: Path) -> None:
    assert "did you mean 'ids-n'" in refused("check", "ids_n")
    assert "did you mean 'simplex'" in refused("check", "ts-n", "--only", "simplx")


# --- new --------------------------------------------------------------------------------------


def test_a_new_policy_passes_the_contract(place: Path) -> None:
    shown = run("new", "policy", "my-ucb")
    assert "Wrote my_ucb.py" in shown
    assert run("check", "my_ucb.py").endswith("14 promises: 14 kept.\n\n")
    assert "MyUcb" in (place / "my_ucb.py").read_text()


@pytest.mark.parametrize(
    ("name", "word"),
    [("ids-n", "already"), ("My UCB", "small letters"), ("-x", "option"), ("2x", "a letter")],
)
def test_names_that_a_new_policy_cannot_have(place: Path, name: str, word: str) -> None:
    before = names_in(place)
    assert word in refused("new", "policy", name).lower()
    assert names_in(place) == before


def test_starting_files_are_those_of_the_functions(place: Path) -> None:
    for kind, write in (("policy", new_policy), ("experiment", new_experiment)):
        run("new", kind, "my-own", "--output", "here")
        assert write("my-own", place / "there").read_bytes() == Path("here").read_bytes()
        Path("here").unlink()
        Path("there").unlink()


def test_a_new_policy_replaces_nothing(place: Path) -> None:
    (place / "my_ucb.py").write_text("mine")
    assert "exists" in refused("new", "policy", "my-ucb")
    assert (place / "my_ucb.py").read_text() == "mine"
    run("new", "policy", "my-ucb", "--output", "plug.py")
    assert "my-ucb" in (place / "plug.py").read_text()


# --- run --------------------------------------------------------------------------------------


def test_an_experiment_of_a_file_with_a_plug_in_beside_it(place: Path) -> None:
    folder = place / "studies"
    folder.mkdir()
    (folder / "mine.py").write_text(MINE)
    (folder / "study.toml").write_text(EXPERIMENT)
    shown = run("run", "studies/study.toml")
    unload_plugin(folder / "mine.py")
    assert "A study of mine" in shown
    results = open_study("study").results()
    assert list(results.policies) == ["mine", "ids-n"]
    wanted = {"graph": "star(direction=out)", "horizon": 20, "trials": 6, "seed": 3}
    assert wanted.items() <= results.settings.items()
    page = (place / "study" / "report.html").read_text()
    assert "graphbandits run studies/study.toml" in page


def test_a_packaged_experiment_with_another_policy_and_size(place: Path) -> None:
    words = ["run", "paper-2a", "--trials", 3, "--seed", 9, "--output", "out"]
    run(*words, "--plugin", "mine.py", "--policy", "mine(c=2)")
    results = open_study("out", "paper-2a").results()
    assert list(results.policies)[-1] == "mine(c=2)"
    assert results.settings["seed"] == 9
    assert results.trials == 3
    assert names_in(place / "out") >= {"report.html", "summary.json", "figure-paper-2a.png"}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ("horizon = 20", ["horizon", "missing"]),
        (("horizon", "horizn"), ["'horizn'", "did you mean 'horizon'"]),
        (("20", "0"), ["horizon", "0", "1"]),
        (("20", "'long'"), ["horizon", "'long'"]),
        (("20", "true"), ["horizon = true"]),
        (('["mine", "ids-n"]', "[]"), ["policies"]),
        (('"ids-n"', '"idsn"'), ["'idsn'", "did you mean"]),
        (('"mine.py"', '"other.py"'), ["other.py", "No such file"]),
        (("title =", "title"), ["not TOML", "line 2"]),
        (("star(direction=out)", "star(direction=up)"), ["direction", "'up'"]),
    ],
)
def test_a_bad_experiment_is_refused_with_its_key(
    place: Path, change: Any, words: list[str]
) -> None:
    old, new = (change, "") if isinstance(change, str) else change
    assert old in EXPERIMENT
    (place / "study.toml").write_text(EXPERIMENT.replace(old, new))
    message = refused("run", "study.toml")
    for word in words:
        assert word in message
    assert names_in(place) <= {"study.toml", "mine.py", "__pycache__"}


def test_unknown_experiments_and_unreadable_files(place: Path) -> None:
    assert "did you mean 'paper-1a'" in refused("run", "papr-1a")
    assert "No such file" in refused("run", "nothing.toml")
    (place / "bad.toml").write_bytes(b"\xff\xfe")
    assert "UTF-8" in refused("run", "bad.toml")


def test_an_output_that_cannot_be_written_is_noticed_before_the_work(place: Path) -> None:
    (place / "taken").write_text("mine")
    words = "simulate --policy ts-n --graph paper --horizon 2 --trials 2 --output taken"
    assert "taken" in refused(*words.split())
    assert (place / "taken").read_text() == "mine"
    assert "--json" in refused(*words.replace("taken", "free").split(), "--json")
    assert not (place / "free").exists()


def test_reports_of_earlier_figures_stay_in_the_page(place: Path) -> None:
    for figure in ("1b", "2a"):
        run("reproduce", "--figure", figure, "--trials", 2, "--output", "figs")
    page = (place / "figs" / "report.html").read_text()
    summary = json.loads((place / "figs" / "summary.json").read_text())
    assert list(summary) == ["1b", "2a"]
    for title in ("1b. Erdős", "2a. Random feedback"):
        assert title in page


def test_a_study_on_a_file_is_called_after_it(place: Path) -> None:
    (place / "deep").mkdir()
    (place / "deep" / "friends.csv").write_text("source,target\nann,bob\n")
    for graph in ("file:deep/friends.csv", f"file:{place / 'deep' / 'friends.csv'}"):
        words = ["simulate", "--policy", "ts-n", "--graph", graph, "--horizon", 2, "--trials", 2]
        assert run(*words, "--output", "out").startswith("friends.csv, 2 arms, 2 rounds")
    (place / "near.csv").write_text("source,target\nann,bob\n")
    words[words.index(graph)] = "file:near.csv"
    assert run(*words, "--output", "out").startswith("near.csv, 2 arms")
