"""Tests of study/experiment.py: sweeps, placeholders and claims."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from helpers.bad_input import refuses
from helpers.experiment_files import SINGLE, SWEEP
from typer.testing import CliRunner

from graphbandits import open_study
from graphbandits.cli import app
from graphbandits.errors import InputError
from graphbandits.simulation.conditions import Answers
from graphbandits.study.claims import Claim, Published
from graphbandits.study.experiment import load_experiment

RUNNER = CliRunner(env={"COLUMNS": "80"})


def run(*args: object) -> str:
    result = RUNNER.invoke(app, [str(arg) for arg in args])
    assert result.exit_code == 0, (result.stderr, result.exception)
    assert result.stderr == ""
    return result.stdout


def refused(place: Path, *args: object) -> str:
    """The one line of a command that leaves nothing behind."""
    before = sorted(place.rglob("*"))
    result = RUNNER.invoke(app, [str(arg) for arg in args])
    assert isinstance(result.exception, SystemExit), repr(result.exception)
    assert (result.exit_code, result.stdout) == (2, "")
    assert re.fullmatch(r"Error: [^\n]+\n", result.stderr)
    assert sorted(place.rglob("*")) == before
    return result.stderr


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "single.toml").write_text(SINGLE, "utf-8")
    (tmp_path / "sweep.toml").write_text(SWEEP, "utf-8")
    return tmp_path


def test_placeholders_are_filled_and_sweeps_override_the_experiment(
    place: Path,
) -> None:
    experiment = load_experiment("sweep.toml")
    assert experiment.runs == 5
    assert experiment.lines() == ["ts-n", "eps-greedy-lp(c=…)", "ids-n"]
    cells = experiment.plans(policies=["ucb-n"])
    assert [cell.point for cell in cells] == [
        *({"c": c} for c in (5, 0.5, 2)),
        *({"arms": arms} for arms in (2, 4)),
    ]
    assert [cell.sweep for cell in cells] == [0, 0, 0, 1, 1]
    first, second = cells[:3], cells[3:]
    assert [list(plan.policies)[1] for plan in first] == [
        "eps-greedy-lp",
        "eps-greedy-lp(c=0.5)",
        "eps-greedy-lp(c=2)",
    ]
    assert [plan.process.arms for plan in second] == [2, 4]
    assert {plan.graph_text for plan in first} == {"star"}
    by_c, by_arms = experiment.sweep_records()
    assert by_c.title == "Exploration"
    assert (by_arms.label, by_arms.scale) == ("arms", "linear")
    for plan in (*first, *second):
        assert (plan.horizon, plan.trials, plan.seed) == (20, 5, 3)
        assert list(plan.policies)[-1] == "ucb-n"
    again = experiment.plans(trials=7, seed=8)
    assert {(cell.trials, cell.seed) for cell in again} == {(7, 8)}


def test_eligible_arms_are_a_key_and_can_be_swept(place: Path) -> None:
    text = SINGLE.replace("trials = 5", "trials = 5\neligible = 0.25")
    (place / "some.toml").write_text(text, "utf-8")
    assert load_experiment("some.toml").plan().eligible == 0.25
    head = text.partition("[[claims]]")[0]
    swept = '[record]\neligible = true\n[[sweeps]]\nparameter = "eligible"\nvalues = [0.5, 1]\n'
    (place / "swept.toml").write_text(head + swept, "utf-8")
    plans = load_experiment("swept.toml").plans()
    assert [(plan.point, plan.eligible) for plan in plans] == [
        ({"eligible": 0.5}, 0.5),
        ({"eligible": 1}, 1.0),
    ]
    run("run", "swept.toml", "--trials=2", "--workers=1")
    study = open_study("swept")
    rows = study.trajectories(eligible=1, policy="ts-n").table("eligible")
    assert len(rows) == 2 * 20 * 4
    assert study.results(eligible=0.5).settings["eligible"] == 0.5


@pytest.mark.parametrize(
    ("key", "value", "swept", "found"),
    [
        ("delay", "[0, 3]", "[0, 30]", [None, Answers(30, 30, 1.0)]),
        ("delay", "3", "[[0, 1], [2, 5]]", [Answers(0, 1, 1.0), Answers(2, 5, 1.0)]),
        ("answer_rate", "0.5", "[0.25, 1]", [Answers(0, 0, 0.25), None]),
    ],
)
def test_delays_and_answer_rates_are_keys_and_can_be_swept(
    place: Path, key: str, value: str, swept: str, found: list[Any]
) -> None:
    text = SINGLE.replace("trials = 5", f"trials = 5\n{key} = {value}")
    (place / "some.toml").write_text(text, "utf-8")
    plan = load_experiment("some.toml").plan()
    assert plan.answers == Answers.of(**{key: json.loads(value)})
    head = text.partition("[[claims]]")[0]
    more = f'[[sweeps]]\nparameter = "{key}"\nvalues = {swept}\n'
    (place / "swept.toml").write_text(head + more, "utf-8")
    assert [plan.answers for plan in load_experiment("swept.toml").plans()] == found
    run("run", "swept.toml", "--trials=2", "--workers=1")
    settings = [cell.results().settings for cell in open_study("swept")]
    default = {"delay": 0, "answer_rate": 1}[key]
    assert [one.get(key, default) for one in settings] == json.loads(swept)


def test_sweeps_without_a_title_have_distinct_names(place: Path) -> None:
    both, one = SWEEP.replace('title = "Exploration"\n', ""), SWEEP[: SWEEP.rindex("[[sweeps]]")]
    (place / "both.toml").write_text(both, "utf-8")
    (place / "one.toml").write_text(one.replace('title = "Exploration"\n', ""), "utf-8")
    titles = [sweep.title for sweep in load_experiment(place / "both.toml").sweep_records()]
    assert titles == ["Two sweeps: by c/d²", "Two sweeps: by arms"]
    (alone,) = load_experiment(place / "one.toml").sweep_records()
    assert alone.title == "Two sweeps"


def test_additional_policy_can_be_swept(place: Path) -> None:
    text = SWEEP[: SWEEP.index('[[sweeps]]\nparameter = "arms"')]
    (place / "one.toml").write_text(text, "utf-8")
    *_, cell = load_experiment("one.toml").plans(policies=["eps-greedy-lp(d=0.5, c={c})"])
    assert cell.point == {"c": 2}
    assert list(cell.policies)[-1] == "eps-greedy-lp(c=2, d=0.5)"
    assert cell.lines["eps-greedy-lp(c=2, d=0.5)"] == "eps-greedy-lp(d=0.5, c=…)"


@pytest.mark.process
def test_texts_can_be_swept_and_graph_files_are_relative_to_the_experiment(place: Path) -> None:
    (place / "deep").mkdir()
    (place / "deep" / "pair.csv").write_text("source,target\nann,bob\n")
    (place / "deep" / "line.csv").write_text("source,target\nann,bob\nbob,eve\n")
    base = 'title = "T"\nhorizon = 3\ntrials = 2\npolicies = ["ts-n"]\n[[sweeps]]\n'
    for graph in ("file:{name}.csv", "file(path={name}.csv, directed=false)"):
        text = f'{base}parameter = "name"\nvalues = ["pair", "line"]\ngraph = "{graph}"\n'
        (place / "deep" / "files.toml").write_text(text)
        cells = load_experiment("deep/files.toml").plans()
        assert [cell.process.names for cell in cells] == [
            ("ann", "bob"),
            ("ann", "bob", "eve"),
        ]
    text = f'{base}parameter = "graph"\nvalues = ["star", "random(r=0.5)"]\ngraph = "{{graph}}"\n'
    (place / "graphs.toml").write_text(text)
    run("run", "graphs.toml")
    star, random = open_study("graphs").cells
    assert star.point == {"graph": "star"}
    assert random.point == {"graph": "random(r=0.5)"}
    assert random.results().settings["graph"] == "random(r=0.5)"


def test_a_horizon_can_be_swept(place: Path) -> None:
    text = SINGLE[: SINGLE.index("[[claims]]")].replace("horizon = 20", "")
    text += '[[sweeps]]\nparameter = "horizon"\nvalues = [10, 30]\n'
    (place / "long.toml").write_text(text)
    experiment = load_experiment("long.toml")
    assert [cell.horizon for cell in experiment.plans()] == [10, 30]
    with refuses(InputError, match="this experiment has 2 simulations"):
        experiment.plan()


def test_claims_and_published_means_use_the_names_of_results(place: Path) -> None:
    experiment = load_experiment("single.toml")
    (claim,) = experiment.resolved_claims()
    assert claim == Claim("Information pays.", ("ids-n",), ("ts-n", "ucb-n"), "me")
    published = Published({"ts-n": (3.5, 0.25), "ids-n": (1e6, 1)}, "someone (2001)")
    assert experiment.published_means() == published
    assert list(experiment.plan(policies=["ts-n-sampled"]).policies)[-1] == "ts-n-sampled"


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("{c}", "{d}", ["unknown placeholder {d}", "eps-greedy-lp(c={d})", "{c}"]),
        ("{c}", "{}", ["unknown placeholder {}", "{c}"]),
        ('"star"', '"random(r={c}, low={r})"', ["unknown placeholder {r}", "{c}"]),
        ("eps-greedy-lp(c={c})", "ids-n", ["the parameter 'c' has no effect", "{c}"]),
        ("[5, 0.5, 2]", "[]", ["sweeps 1, values = []", "one entry"]),
        ("[5, 0.5, 2]", "5", ["sweeps 1, values = 5", "a list"]),
        ("[5, 0.5, 2]", "[5, true]", ["sweeps 1, values 2 = true", "finite number"]),
        ("[5, 0.5, 2]", "[nan]", ["sweeps 1, values 1 = nan", "finite number"]),
        ("[5, 0.5, 2]", "[5, [1]]", ["sweeps 1, values 2 = [1]", "finite number"]),
        ("[5, 0.5, 2]", '[5, "2"]', ["sweeps 1, values 2 = '2'", "all numbers or all strings"]),
        ("[5, 0.5, 2]", "[5, 2, 5.0]", ["sweeps 1", "the value 5.0 is given twice"]),
        ("[5, 0.5, 2]", "[5, -1]", ["sweeps 1", "'log'", "positive numbers"]),
        ('"log"', '"square"', ["sweeps 1, scale = 'square'", "must be 'linear' or 'log'"]),
        ("[2, 4]", "[2, 4.5]", ["sweeps 2", "arms", "integers of at least 1", "4.5"]),
        ("[2, 4]", "[2, 0]", ["sweeps 2", "arms", "integers of at least 1", "0"]),
        ("[2, 4]", "[2, 4]\narms = 3", ["sweeps 2", "arms", "remove the key 'arms'"]),
        ("[2, 4]", "[2, 4]\nvalue = 3", ["sweeps 2: unknown key 'value'", "did you mean 'values'"]),
        ("values = [2, 4]", "", ["sweeps 2: the required key 'values' is missing"]),
        ('"arms"', '"my arms"', ["sweeps 2, parameter = 'my arms'", "identifier"]),
        ("horizon = 20", "", ["'horizon' is missing"]),
        ('graph = "star"', "", ["'graph' is missing"]),
        ("[5, 0.5, 2]", "[5, 0.5, 2]\nhorizon = 0", ["sweeps 1, horizon = 0: must be at least 1"]),
        (
            '"star"',
            '"stra"',
            ["sweep.toml: sweeps 1, at c = 5: graph: ", "unknown graph 'stra'", "'star'"],
        ),
        ('"ids-n", "ts-n"', '"ids-n", "tsn"', ["at arms = 2", "unknown policy 'tsn'", "ts-n"]),
        ("r=0.25", "r=1.25", ["at arms = 2", "[0, 1]", "1.25"]),
        ("random(r=0.25)", "paper", ["at arms = 2", "'paper'", "5 arms"]),
        (
            "[2, 4]",
            '[2, 4]\n[published]\nsource = "x"\nmeans = {a = [1, 1]}',
            ["sweeps and published cannot be combined"],
        ),
        (
            "[2, 4]",
            '[2, 4]\n[[claims]]\ntext = "t"\nbetter = ["a"]\nthan = ["b"]',
            ["sweeps and claims cannot be combined"],
        ),
        (
            SWEEP[SWEEP.index("[[sweeps]]") :],
            '[sweeps]\nparameter = "c"\nvalues = [1]',
            ["sweep.toml: ", "write [[sweeps]] instead of [sweeps]"],
        ),
        ('[[sweeps]]\nparameter = "arms"', "[sweep]\nx = 1", ["unknown key 'sweep'", "'sweeps'"]),
    ],
)
def test_mistake_in_a_sweep_is_reported_in_one_line(
    place: Path, old: str, new: str, words: list[str]
) -> None:
    assert old in SWEEP
    (place / "sweep.toml").write_text(SWEEP.replace(old, new), "utf-8")
    message = refused(place, "run", "sweep.toml")
    assert all(word in message for word in words), message


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('"ids-n", "ucb-n"]', '"ids-n", "eps-greedy-lp(c={c})"]', ["{c}", "[[sweeps]]"]),
        ("star(direction=out)", "random(r={r})", ["{r}", "[[sweeps]]"]),
        (
            'better = ["ids-n"]',
            'better = ["ids-lp"]',
            ["'Information pays.'", "'ids-lp'", "not one of"],
        ),
        (
            'better = ["ids-n"]',
            'better = ["idsn"]',
            ["single.toml: the claim 'Information pays.': unknown policy 'idsn'"],
        ),
        ("arms = 4", "arms = 4.0", ["arms = 4.0: must be an integer"]),
        ('"Information pays."', '""', ["claims 1, text = '': must not be empty"]),
        (
            'better = ["ids-n"]',
            'better = ["ucb-n"]',
            ["claims 1", "'ucb-n' in both 'better' and 'than'"],
        ),
        ('better = ["ids-n"]', 'better = "ids-n"', ["claims 1, better = 'ids-n'", "list"]),
        ('better = ["ids-n"]', "better = []", ["claims 1, better = []"]),
        ('better = ["ids-n"]', "", ["claims 1: the required key 'better' is missing"]),
        ('text = "Information pays."', "", ["claims 1: the required key 'text' is missing"]),
        ("better =", "bettr =", ["claims 1: unknown key 'bettr'", "did you mean 'better'"]),
        ("1e6, 1]", "1e6]", ["published", "'ids-n'", "two numbers", "[1000000.0]"]),
        ("1e6, 1]", '"much", 1]', ["published", "'ids-n'", "two numbers"]),
        ("1e6, 1]", "nan, 1]", ["published", "'ids-n'", "two numbers"]),
        ("1e6, 1]", "1, -1]", ["published", "'ids-n'", "at least 0"]),
        ("ids-n = [1e6", "ids-lp = [1e6", ["someone (2001)", "'ids-lp'", "not one of"]),
        (
            "ids-n = [1e6",
            '"ts-n()" = [1e6',
            ["single.toml: published by someone (2001): policy 'ts-n' is given twice"],
        ),
        ("means = {", "means = 3 #", ["published, means = 3"]),
        ('source = "someone (2001)"', "", ["published: the required key 'source' is missing"]),
        ('["A note of mine."]', '"A note"', ["notes = 'A note'", "list"]),
        ('["A note of mine."]', '["A note", 3]', ["notes 2 = 3: must be a string"]),
    ],
)
def test_mistake_in_claims_or_published_means_is_reported_in_one_line(
    place: Path, old: str, new: str, words: list[str]
) -> None:
    assert old in SINGLE
    (place / "single.toml").write_text(SINGLE.replace(old, new), "utf-8")
    message = refused(place, "run", "single.toml")
    assert all(word in message for word in words), message


def test_a_placeholder_on_the_command_line_needs_its_sweep(place: Path) -> None:
    assert "{c}" in refused(place, "run", "single.toml", "--policy", "eps-greedy-lp(c={c})")
    message = refused(place, "run", "sweep.toml", "--policy", "eps-greedy-lp(c={arms})")
    assert "unknown placeholder {arms}" in message
    assert "at c = 5: policy 'ts-n' is given twice" in refused(
        place, "run", "sweep.toml", "--policy", "ts-n"
    )
