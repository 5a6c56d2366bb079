"""Experiments: what their files may say, and what the command makes of sweeps and claims."""

import json
import math
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import graphbandits
from graphbandits import open_study
from graphbandits.cli import app
from graphbandits.cli.formatting import claim_table, published_table, sweep_tables
from graphbandits.errors import InputError
from graphbandits.experiments import experiment_names, load_experiment
from graphbandits.plots.style import Look, looks
from graphbandits.results import Claim, Published, judge
from graphbandits.results.published import compare
from graphbandits.store import Series, Store, series_of, simulate_plan

SINGLE = """
title = "One run"
graph = "star(direction=out)"
arms = 4
horizon = 20
trials = 5
policies = ["ts-n", "ids-n", "ucb-n"]
notes = ["A note of mine."]

[[claims]]
text = "Information pays."
source = "me"
better = ["ids-n"]
than = ["ts-n()", "ucb-n"]

[published]
source = "someone (2001)"
means = { ts-n = [3.5, 0.25], ids-n = [1e6, 1] }
"""
SWEEP = """
title = "Two sweeps"
arms = 4
horizon = 20
trials = 5
seed = 3
policies = ["ts-n", "eps-greedy-lp(c={c})"]
notes = ["A note of mine."]

[[sweeps]]
parameter = "c"
title = "Exploration"
graph = "star"
values = [5, 0.5, 2]
label = "c/d²"
scale = "log"

[[sweeps]]
parameter = "arms"
graph = "random(r=0.25)"
policies = ["ids-n", "ts-n"]
values = [2, 4]
"""
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


def read_json(path: Path) -> Any:
    return json.loads(path.read_text(), parse_constant=lambda word: pytest.fail(word))


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "single.toml").write_text(SINGLE, "utf-8")
    (tmp_path / "sweep.toml").write_text(SWEEP, "utf-8")
    return tmp_path


# --- the files of the package -------------------------------------------------------------------


@pytest.mark.parametrize("name", experiment_names())
def test_a_packaged_experiment_can_be_run(name: str) -> None:
    experiment = load_experiment(name)
    plans = experiment.plans()
    assert len(plans) == experiment.runs == len(experiment.setups())
    for plan, setup in zip(plans, experiment.setups(), strict=True):
        assert plan.horizon == setup.horizon == 1000
        assert plan.process.arms == setup.arms
        assert len(plan.policies) == len(setup.policies)
        assert plan.trials == experiment.trials


def test_the_papers_experiments_have_the_policies_it_compares() -> None:
    bayesian = {"ts-n", "ids-n", "idsn-lp", "ids-lp"}
    others = {
        "1a": {"ucb-n", "ucb-maxn", "eps-greedy-lp", "ucb-lp"},
        "1b": {"ucb-n", "ucb-maxn", "eps-greedy-lp"},
        "2a": {"ucb-n", "exp3-set", "exp3-res"},
        "2b": {"ucb-n", "exp3-set", "exp3-res"},
    }
    for figure, more in others.items():
        experiment = load_experiment(f"paper-{figure}")
        plan = experiment.plan()
        assert set(plan.policies) == bayesian | more
        assert (plan.process.arms, plan.horizon, plan.trials) == (5, 1000, 1000)
        least, directed, *_ = experiment.judged_claims()
        assert least.better == ("ids-lp",)
        assert set(least.than) == set(plan.policies) - {"ids-lp"}
        behind = ("ts-n",) if figure.startswith("1") else ("ts-n", "ucb-n")
        assert (set(directed.better), directed.than) == (bayesian - {"ts-n"}, behind)
        last = experiment.judged_claims()[-1]
        assert set(last.than) == (more if figure[0] == "1" else {"exp3-set", "exp3-res"})


def test_the_published_means_of_bernoulli_arms_without_a_graph() -> None:
    experiment = load_experiment("russo-van-roy-bernoulli")
    plan = experiment.plan()
    assert (plan.graph_text, plan.process.arms, plan.trials) == ("empty", 10, 2000)
    published = experiment.published_means()
    assert published is not None
    assert published.means["v-ids"] == (18.1, 0.4)
    assert set(plan.policies) - set(published.means) == {"kl-ucb"}


def test_the_swept_policy_is_one_line_under_all_its_names() -> None:
    experiment = load_experiment("eps-greedy-sensitivity")
    (swept,), cells = experiment.swept(), experiment.plans()
    assert (swept.parameters, swept.x, swept.label, swept.scale) == (["c"], "c", "c/d²", "log")
    names = [next(iter(cell.policies)) for cell in cells]
    # 5 is the default of c, and so not in the name
    assert names[:4] == [*(f"eps-greedy-lp(c={c})" for c in (0.5, 1, 2)), "eps-greedy-lp"]
    for cell, name in zip(cells, names, strict=True):
        assert {"c": vars(cell.policies[name])["c"]} == cell.point
        assert list(cell.lines.values())[:2] == ["eps-greedy-lp(c=…)", "ts-n"]


def test_the_readme_tells_of_the_experiments_there_are(place: Path) -> None:
    readme = (Path(__file__).parents[1] / "README.md").read_text("utf-8")
    section = readme.split("## Experiments")[1].split("\n## ")[0]
    rows = re.findall(r"^\| (`.*?`) \|", section, re.MULTILINE)
    assert sorted(re.findall(r"`([\w-]+)`", " ".join(rows))) == experiment_names()
    assert set(re.findall(r"graphbandits run ([\w-]+) ", section)) <= set(experiment_names())
    (sweep,) = re.findall(r"```toml\n(.*?)```", section, re.DOTALL)
    (place / "sweep.toml").write_text(sweep, "utf-8")
    experiment = load_experiment("sweep.toml")
    assert [cell.point for cell in experiment.plans()] == [{"r": 0}, {"r": 0.5}, {"r": 1}]
    assert experiment.swept()[0].label == "probability to see an arm"


# --- what a file may say ------------------------------------------------------------------------


def test_values_take_the_place_of_placeholders_and_sweeps_go_before_the_experiment(
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
    by_c, by_arms = experiment.swept()
    assert by_c.title == "Exploration"
    assert (by_arms.label, by_arms.scale) == ("arms", "linear")
    for plan in (*first, *second):
        assert (plan.horizon, plan.trials, plan.seed) == (20, 5, 3)
        assert list(plan.policies)[-1] == "ucb-n"
    again = experiment.plans(trials=7, seed=8)
    assert {(cell.trials, cell.seed) for cell in again} == {(7, 8)}


def test_sweeps_without_a_title_can_be_told_apart(place: Path) -> None:
    both, one = SWEEP.replace('title = "Exploration"\n', ""), SWEEP[: SWEEP.rindex("[[sweeps]]")]
    (place / "both.toml").write_text(both, "utf-8")
    (place / "one.toml").write_text(one.replace('title = "Exploration"\n', ""), "utf-8")
    titles = [sweep.title for sweep in load_experiment(place / "both.toml").swept()]
    assert titles == ["Two sweeps: by c/d²", "Two sweeps: by arms"]
    (alone,) = load_experiment(place / "one.toml").swept()
    assert alone.title == "Two sweeps"


def test_a_policy_given_besides_may_be_swept_too(place: Path) -> None:
    text = SWEEP[: SWEEP.index('[[sweeps]]\nparameter = "arms"')]
    (place / "one.toml").write_text(text, "utf-8")
    *_, cell = load_experiment("one.toml").plans(policies=["eps-greedy-lp(d=0.5, c={c})"])
    assert cell.point == {"c": 2}
    assert list(cell.policies)[-1] == "eps-greedy-lp(c=2, d=0.5)"
    assert cell.lines["eps-greedy-lp(c=2, d=0.5)"] == "eps-greedy-lp(d=0.5, c=…)"


def test_texts_can_be_swept_and_files_of_graphs_lie_beside_the_experiment(place: Path) -> None:
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
    assert (star.name, random.name) == ("graph-star", "graph-random-r-0.5")
    assert random.point == {"graph": "random(r=0.5)"}
    assert random.results().settings["graph"] == "random(r=0.5)"


def test_a_horizon_can_be_swept(place: Path) -> None:
    text = SINGLE[: SINGLE.index("[[claims]]")].replace("horizon = 20", "")
    text += '[[sweeps]]\nparameter = "horizon"\nvalues = [10, 30]\n'
    (place / "long.toml").write_text(text)
    experiment = load_experiment("long.toml")
    assert [cell.horizon for cell in experiment.plans()] == [10, 30]
    with pytest.raises(InputError, match="2 simulations"):
        experiment.plan()


def test_claims_and_means_speak_of_policies_by_the_names_of_results(place: Path) -> None:
    experiment = load_experiment("single.toml")
    (claim,) = experiment.judged_claims()
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
        ("eps-greedy-lp(c={c})", "ids-n", ["sweep of 'c' changes nothing", "{c}"]),
        ("[5, 0.5, 2]", "[]", ["sweeps 1, values = []", "one entry"]),
        ("[5, 0.5, 2]", "5", ["sweeps 1, values = 5", "a list"]),
        ("[5, 0.5, 2]", "[5, true]", ["sweeps 1, values 2 = true", "finite number"]),
        ("[5, 0.5, 2]", "[nan]", ["sweeps 1, values 1 = nan", "finite number"]),
        ("[5, 0.5, 2]", "[5, [1]]", ["sweeps 1, values 2 = [1]", "finite number"]),
        ("[5, 0.5, 2]", '[5, "2"]', ["sweeps 1, values 2 = '2'", "all numbers or all texts"]),
        ("[5, 0.5, 2]", "[5, 2, 5.0]", ["sweeps 1", "the value 5.0 is given twice"]),
        ("[5, 0.5, 2]", "[5, -1]", ["sweeps 1", "'log'", "above 0"]),
        ('"log"', '"square"', ["sweeps 1, scale = 'square'", "this is 'linear' or 'log'"]),
        ("[2, 4]", '["a b", "A/B"]', ["sweeps 2", "names of files", "a b, A/B"]),
        ("[2, 4]", "[2, 4.5]", ["sweeps 2", "arms", "whole numbers", "4.5"]),
        ("[2, 4]", "[2, 0]", ["sweeps 2", "arms", "whole numbers", "0"]),
        ("[2, 4]", "[2, 4]\narms = 3", ["sweeps 2", "arms", "leave"]),
        ("[2, 4]", "[2, 4]\nvalue = 3", ["sweeps 2: unknown key 'value'", "did you mean 'values'"]),
        ("values = [2, 4]", "", ["sweeps 2: the key 'values' is missing"]),
        ('"arms"', '"c"', ["two sweeps", "'c'"]),
        (
            'parameter = "arms"\ngraph = "random(r=0.25)"\npolicies = ["ids-n", "ts-n"]',
            'parameter = "C"\ngraph = "random(r={C})"\npolicies = ["ids-n"]',
            ["two sweeps", "'c'"],
        ),
        ('"arms"', '"my arms"', ["sweeps 2, parameter = 'my arms'", "word"]),
        ("horizon = 20", "", ["'horizon' is missing"]),
        ('graph = "star"', "", ["'graph' is missing"]),
        ("[5, 0.5, 2]", "[5, 0.5, 2]\nhorizon = 0", ["sweeps 1, horizon = 0: this is at least 1"]),
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
            ["both", "published"],
        ),
        (
            "[2, 4]",
            '[2, 4]\n[[claims]]\ntext = "t"\nbetter = ["a"]\nthan = ["b"]',
            ["sweeps or claims, not both"],
        ),
        (
            SWEEP[SWEEP.index("[[sweeps]]") :],
            '[sweeps]\nparameter = "c"\nvalues = [1]',
            ["sweep.toml: ", "write [[sweeps]] in the place of [sweeps]"],
        ),
        ('[[sweeps]]\nparameter = "arms"', "[sweep]\nx = 1", ["unknown key 'sweep'", "'sweeps'"]),
    ],
)
def test_a_mistake_in_a_sweep_is_told_in_one_line(
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
        ('better = ["ids-n"]', 'better = ["ids-lp"]', ["'Information pays.'", "'ids-lp'", "among"]),
        (
            'better = ["ids-n"]',
            'better = ["idsn"]',
            ["single.toml: the claim 'Information pays.': unknown policy 'idsn'"],
        ),
        ("arms = 4", "arms = 4.0", ["arms = 4.0: this is a whole number"]),
        ('"Information pays."', '""', ["claims 1, text = '': this text must not be empty"]),
        ('better = ["ids-n"]', 'better = ["ucb-n"]', ["claims 1", "'ucb-n'", "itself"]),
        ('better = ["ids-n"]', 'better = "ids-n"', ["claims 1, better = 'ids-n'", "list"]),
        ('better = ["ids-n"]', "better = []", ["claims 1, better = []"]),
        ('better = ["ids-n"]', "", ["claims 1: the key 'better' is missing"]),
        ('text = "Information pays."', "", ["claims 1: the key 'text' is missing"]),
        ("better =", "bettr =", ["claims 1: unknown key 'bettr'", "did you mean 'better'"]),
        ("1e6, 1]", "1e6]", ["published", "'ids-n'", "two numbers", "[1000000.0]"]),
        ("1e6, 1]", '"much", 1]', ["published", "'ids-n'", "two numbers"]),
        ("1e6, 1]", "nan, 1]", ["published", "'ids-n'", "two numbers"]),
        ("1e6, 1]", "1, -1]", ["published", "'ids-n'", "at least 0"]),
        ("ids-n = [1e6", "ids-lp = [1e6", ["someone (2001)", "'ids-lp'", "among"]),
        (
            "ids-n = [1e6",
            '"ts-n()" = [1e6',
            ["single.toml: published by someone (2001): policy 'ts-n' is given twice"],
        ),
        ("means = {", "means = 3 #", ["published, means = 3"]),
        ('source = "someone (2001)"', "", ["published: the key 'source' is missing"]),
        ('["A note of mine."]', '"A note"', ["notes = 'A note'", "list"]),
        ('["A note of mine."]', '["A note", 3]', ["notes 2 = 3: this is a text"]),
    ],
)
def test_a_mistake_in_claims_or_published_means_is_told_in_one_line(
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


# --- names --------------------------------------------------------------------------------------


def test_results_under_other_names_are_the_same_results() -> None:
    results = graphbandits.simulate(["ts-n", "ids-n"], graph="star", horizon=5, trials=4)
    other = results.renamed({"ids-n": "directed"})
    assert list(other.policies) == ["ts-n", "directed"]
    assert other["directed"] is results["ids-n"]
    assert other.settings["policies"]["directed"] == results.settings["policies"]["ids-n"]
    assert list(results.policies) == list(results.settings["policies"]) == ["ts-n", "ids-n"]
    swapped = results.renamed({"ids-n": "ts-n", "ts-n": "ids-n"})
    assert np.array_equal(swapped["ts-n"].final, results["ids-n"].final)
    with pytest.raises(InputError, match="no policy 'idsn'"):
        results.renamed({"idsn": "directed"})
    with pytest.raises(InputError, match="two policies would be called 'ts-n'"):
        results.renamed({"ids-n": "ts-n"})


# --- run ----------------------------------------------------------------------------------------


def shards(output: Path) -> dict[Path, int]:
    """Every shard of a store, and when it was written."""
    return {path: path.stat().st_mtime_ns for path in output.glob("shards/*/*.parquet")}


def test_a_sweep_from_its_file_to_figures_results_summary_and_page(place: Path) -> None:
    shown = run("run", "sweep.toml", "--output", "out", "--workers", 1)
    out = place / "out"
    figures = {f"figure-sweep-{p}.{kind}" for p in ("c", "arms") for kind in ("png", "svg", "pdf")}
    store = {"store.json", "studies", "cells", "shards", "running"}
    assert {p.name for p in out.iterdir()} == figures | store | {"report.html", "summary.json"}
    study = open_study(out)
    names = ["c-5", "c-0.5", "c-2", "arms-2", "arms-4"]
    assert [cell.name for cell in study.cells] == names
    # the results are those of simulate, under their true names
    alone = graphbandits.simulate(
        ["ts-n", "eps-greedy-lp(c=0.5)"], graph="star", arms=4, horizon=20, trials=5, seed=3
    )
    kept = study.cell(c=0.5).results(curves=True)
    assert list(kept.policies) == list(alone.policies)
    assert kept.hash == alone.hash
    assert study.results(arms=2).settings["arms"] == 2

    summary = read_json(out / "summary.json")
    assert list(summary) == ["sweep-c", "sweep-arms"]
    swept = summary["sweep-c"]
    assert {key: swept[key] for key in ("title", "parameter", "label", "scale")} == {
        "title": "Exploration",
        "parameter": "c",
        "label": "c/d²",
        "scale": "log",
    }
    assert [one["value"] for one in swept["runs"]] == [5, 0.5, 2]
    policies = swept["runs"][1]["policies"]
    assert list(policies) == list(alone.policies)
    assert policies["eps-greedy-lp(c=0.5)"]["line"] == "eps-greedy-lp(c=…)"
    assert policies["ts-n"]["line"] == "ts-n"
    assert policies["ts-n"]["regret"]["mean"] == alone["ts-n"].mean[-1]

    page = (out / "report.html").read_text("utf-8")
    for text in ("Exploration", "Two sweeps", "A note of mine.", "c/d²", "eps-greedy-lp(c=…)"):
        assert text in page
    assert "graphbandits run sweep.toml --trials=5 --seed=3 --output=out" in page
    written = shown[shown.index("Written to out/:") :].split()[3:]
    pictures = ["figure-sweep-c.png", "figure-sweep-arms.png"]
    assert written == ["report.html", "summary.json", *pictures]


def test_a_policy_has_one_look_in_all_pictures_of_an_experiment(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: list[list[str]] = []

    def seen(names: Iterable[str]) -> dict[str, Look]:
        given.append(list(dict.fromkeys(names)))
        return looks(given[-1])

    monkeypatch.setattr("graphbandits.plots.style.looks", seen)
    run("run", "sweep.toml", "--workers", 1)
    # two figures, and two widths of each in the page
    assert given == [["ts-n", "eps-greedy-lp(c=…)", "ids-n"]] * 6


def test_the_table_of_a_sweep_has_means_and_marks_the_best(place: Path) -> None:
    shown = run("run", "sweep.toml", "--output", "out")
    for value in ("5", "0.5", "2"):
        results = open_study("out").results(c=float(value))
        row = next(line for line in shown.splitlines() if line.split()[:1] == [value])
        for name, result in results.policies.items():
            cell = f"{result.mean[-1]:.2f} ({result.standard_error[-1]:.2f})"
            assert f"{'*' if name == results.ranking()[0] else ' '}{cell}" in row


def test_another_size_and_seed_and_one_more_policy_for_every_value(place: Path) -> None:
    words = ["--trials", 1, "--seed", 9, "--policy", "uniform", "--workers", 1]
    shown = run("run", "sweep.toml", *words)
    assert "nan" not in shown
    cells = open_study("sweep").cells
    assert len(cells) == 5
    for cell in cells:
        results = cell.results()
        assert (results.trials, results.settings["seed"]) == (1, 9)
        assert list(results.policies)[-1] == "uniform"
    summary = read_json(place / "sweep" / "summary.json")
    policies = summary["sweep-arms"]["runs"][0]["policies"]
    assert policies["uniform"]["regret"]["standard_error"] is None


@pytest.mark.parametrize(
    "taken", ["figure-sweep-c.png/mine.tex", "figure-sweep-arms.svg/x", "report.html/x"]
)
def test_a_name_that_is_taken_is_noticed_before_anything_runs(place: Path, taken: str) -> None:
    path = place / "out" / taken
    path.parent.mkdir(parents=True)
    path.write_text("mine")
    assert taken.split("/")[0] in refused(place, "run", "sweep.toml", "--output", "out")


# too long itself, or with what is added while it is written
@pytest.mark.parametrize("letters", [245, 225])
def test_a_name_that_is_too_long_is_noticed_before_anything_runs(place: Path, letters: int) -> None:
    file, _ = place / f"{'x' * letters}.toml", (place / "out").mkdir()
    file.write_text(SINGLE, "utf-8")
    message = refused(place, "run", file.name, "--output", "out")
    assert "too long; choose a shorter name" in message


def test_a_sweep_that_is_stopped_keeps_what_had_finished(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = Store.write

    def stop_at_two(store: Store, series: Series, *more: Any) -> Any:
        if series.name == at_two:
            raise KeyboardInterrupt
        return write(store, series, *more)

    cells = load_experiment("sweep.toml").plans()
    at_two = series_of(cells[2], "eps-greedy-lp(c=2)").name
    with monkeypatch.context() as patched:
        patched.setattr(Store, "write", stop_at_two)
        result = RUNNER.invoke(app, ["run", "sweep.toml", "--workers", "1"])
    assert result.exit_code == 130
    # ts-n, which is the same for all c, and what c = 5 and c = 0.5 are
    kept = "15 of 40 trials are kept in sweep"
    assert result.stderr == f"stopped; {kept}: the same command goes on there.\n"
    study, before = open_study("sweep"), shards(place / "sweep")
    assert len(before) == 3
    alone = simulate_plan(cells[1], progress=False)
    assert study.cell(c=0.5).results(curves=True).hash == alone.hash
    with pytest.raises(InputError, match=r"lacks 5 of 5 trials of 'eps-greedy-lp\(c=2\)' at c = 2"):
        study.results(c=2)
    assert not list((place / "sweep").glob("figure-*"))
    run("run", "sweep.toml", "--workers", 1)
    after = shards(place / "sweep")
    assert len(after) == 8
    assert before.items() <= after.items()
    for cell, whole in zip(open_study("sweep").cells, cells, strict=True):
        assert cell.results(curves=True).hash == simulate_plan(whole, progress=False).hash


@pytest.mark.parametrize(
    ("change", "computed"),
    [
        ([], 0),
        (["--seed=4"], 8),
        (["--trials=6"], 8),  # the sixth of each
        (["--trials=3"], 8),  # a shard is used whole, and those that are there have five
        (["--policy=ucb-n"], 3),  # for all c at once, and for two numbers of arms
        (["[5, 0.5, 2]", "[5, 2]"], 0),
        (["[5, 0.5, 2]", "[5, 0.5, 2, 1]"], 1),
        (['"star"', '"ring"'], 4),
    ],
)
def test_another_run_in_the_same_place_computes_only_what_is_not_there(
    place: Path, change: list[str], computed: int
) -> None:
    run("run", "sweep.toml", "--workers", 1)
    before = shards(place / "sweep")
    options = [option for option in change if option.startswith("--")]
    if change and not options:
        (place / "sweep.toml").write_text(SWEEP.replace(*change), "utf-8")
    result = RUNNER.invoke(app, ["run", "sweep.toml", "--workers=1", *options])
    assert result.exit_code == 0
    # nothing of the study is left with another seed
    assert ("sweep had a study 'sweep'" in result.stderr) == (options == ["--seed=4"])
    after = shards(place / "sweep")
    assert before.items() <= after.items()
    assert len(after) - len(before) == computed
    given = dict(option.removeprefix("--").split("=") for option in options)
    wanted = load_experiment("sweep.toml").plans(
        trials=int(given["trials"]) if "trials" in given else None,
        seed=int(given["seed"]) if "seed" in given else None,
        policies=[given["policy"]] if "policy" in given else [],
    )
    for cell, whole in zip(open_study("sweep").cells, wanted, strict=True):
        assert cell.point == whole.point
        assert cell.results(curves=True).hash == simulate_plan(whole, progress=False).hash


def test_claims_and_published_means_are_in_table_summary_and_page(place: Path) -> None:
    shown = run("run", "single.toml", "--trials", 40)
    results = open_study("single").cells[0].results(curves=True)
    summary = read_json(place / "single" / "summary.json")["single"]
    judgement = judge(Claim("Information pays.", ("ids-n",), ("ts-n", "ucb-n")), results)
    (claim,) = summary["claims"]
    assert claim["verdict"] == judgement.verdict
    assert (claim["text"], claim["source"]) == ("Information pays.", "me")
    assert [d["second"] for d in claim["differences"]] == ["ts-n", "ucb-n"]
    for told, d in zip(claim["differences"], judgement.differences, strict=True):
        assert told["mean"] == d.mean
        assert told["simultaneous_interval"] == [d.low, d.high]
    near, far = (summary["published"]["means"][name] for name in ("ts-n", "ids-n"))
    ours = results["ts-n"]
    apart = (ours.mean[-1] - 3.5) / math.hypot(ours.standard_error[-1], 0.25)
    assert near["distance"] == pytest.approx(apart, rel=1e-12)
    assert near["within"] == (abs(apart) <= 3)
    assert (far["published_mean"], far["published_error"], far["within"]) == (1e6, 1, False)
    assert summary["published"]["source"] == "someone (2001)"
    page = (place / "single" / "report.html").read_text("utf-8")
    for text in ("Information pays.", "someone (2001)", "A note of mine."):
        assert text in page
    assert judgement.verdict in shown
    assert f"{ours.mean[-1]:.2f} ({ours.standard_error[-1]:.2f})" in shown


def test_one_trial_says_nothing_of_claims_and_published_means(place: Path) -> None:
    shown = run("run", "single.toml", "--trials", 1)
    assert "nan" not in shown
    summary = read_json(place / "single" / "summary.json")["single"]
    assert summary["claims"][0]["verdict"] == "unknown"
    assert summary["published"]["means"]["ts-n"]["distance"] is None


def test_a_policy_that_meets_the_same_problem_again_is_run_once(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written, write = [], Store.write

    def count(store: Store, series: Series, *more: Any) -> Any:
        written.append(series.name)
        return write(store, series, *more)

    monkeypatch.setattr(Store, "write", count)
    run("run", "sweep.toml", "--workers", 1)
    cells = load_experiment("sweep.toml").plans()
    series = [series_of(c, name).name for c in cells for name in c.policies]
    assert len(series) == 10
    assert len({series_of(cell, "ts-n").name for cell in cells[:3]}) == 1
    assert len({series_of(cell, "ts-n").name for cell in cells}) == 3
    # each once, in the order in which cells ask for them
    assert written == list(dict.fromkeys(series))
    for cell, whole in zip(open_study("sweep").cells, cells, strict=True):
        assert cell.results(curves=True).hash == simulate_plan(whole, progress=False).hash


def test_a_long_run_says_how_long_before_it_starts(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    size = 8 * 20 * 5  # eight series of a policy
    monkeypatch.setattr("graphbandits.cli.progress.LONG", size + 1)
    assert "About" not in run("run", "sweep.toml", "--output=brief")
    monkeypatch.setattr("graphbandits.cli.progress.LONG", size)
    shown = run("run", "sweep.toml", "--workers=2")
    said = r"About \d+ s of simulation on 2 workers;\nabout [\d.]+ (bytes|kB) go to sweep/, and"
    assert re.search(said, shown)
    assert shown.index("About") < shown.index("Exploration")
    # it is about what is missing, and that is little now
    assert "About" not in run("run", "sweep.toml", "--workers=2", "--trials=6")


def test_the_listing_tells_sweeps_and_how_many_runs() -> None:
    entries = {
        e["name"]: e for e in json.loads(run("list", "experiments", "--json"))["experiments"]
    }
    assert list(entries) == experiment_names()
    assert entries["paper-1a"]["runs"] == 1
    assert entries["paper-1a"]["sweeps"] == {}
    assert entries["density"]["runs"] == 22
    assert list(entries["density"]["sweeps"]) == ["r", "p"]
    assert entries["arms"]["size"] == {
        "arms": [2, 3, 5, 10, 20, 50, 100],
        "rounds": 1000,
        "trials": 200,
    }
    assert entries["eps-greedy-sensitivity"]["policies"][0] == "eps-greedy-lp(c=…)"
    shown = run("list", "experiments")
    assert "eps-greedy-sensitivity " in shown
    assert max(map(len, shown.splitlines())) <= 80


# --- tables -------------------------------------------------------------------------------------


def lines_of(*tables: Any, width: int = 80) -> list[str]:
    from rich.console import Console

    console = Console(width=width, markup=False, highlight=False)
    with console.capture() as captured:
        for table in tables:
            console.print(table)
    return captured.get().splitlines()


def test_a_wide_sweep_is_cut_into_tables_that_fit() -> None:
    names = ["ts-n", "ids-n", "idsn-lp", "ids-lp", "ucb-n", "ucb-maxn", "eps-greedy-lp", "ucb-lp"]
    sweep = {
        horizon: graphbandits.simulate(names, graph="paper", horizon=horizon, trials=3)
        for horizon in (2, 6)
    }
    tables = sweep_tables(sweep, "Title", "rounds", 60)
    lines = lines_of(*tables, width=60)
    assert len(tables) > 1
    heads = [line.split() for line in lines if line.split()[:1] == ["rounds"]]
    assert [name for head in heads for name in head[1:]] == names
    assert lines[0].strip() == "Title"
    assert sum("Title" in line for line in lines) == 1
    for horizon, results in sweep.items():
        rows = [line for line in lines if line.split()[:1] == [str(horizon)]]
        assert len(rows) == len(tables)
        for name in names:
            assert f"{results[name].mean[-1]:.2f} (" in " ".join(rows)
    assert "…" not in "".join(lines)


def test_the_table_of_claims_shows_the_pair_that_decides() -> None:
    names = ["ts-n", "ids-n", "uniform"]
    results = graphbandits.simulate(names, graph="star", horizon=100, trials=60, seed=1)
    good = judge(Claim("It pays to think.", ("ids-n", "ts-n"), ("uniform",)), results)
    bad = judge(Claim("It does not.", ("uniform",), ("ts-n", "ids-n")), results)
    assert (good.verdict, bad.verdict) == ("holds", "fails")
    lines = lines_of(claim_table([good, bad]), width=120)
    for judgement in (good, bad):
        row = next(line for line in lines if judgement.claim.text in line)
        d = judgement.decisive
        assert judgement.verdict in row
        assert f"{d.first} - {d.second}" in row
        assert f"{d.mean:+.2f}" in row
        assert f"[{d.low:+.2f}, {d.high:+.2f}]" in row


def test_the_table_of_published_means_says_how_far_apart() -> None:
    results = graphbandits.simulate(["ts-n", "ids-n"], graph="star", horizon=9, trials=50, seed=1)
    ours, error = float(results["ts-n"].mean[-1]), float(results["ts-n"].standard_error[-1])
    # hypot(error, sqrt(3) error) = 2 error
    there = {"ts-n": (ours - 5 * error, math.sqrt(3) * error), "ids-n": (1e3, 0.0)}
    lines = lines_of(published_table(compare(Published(there, "they"), results), "they"))
    assert lines[0].strip() == "Published: they"
    near, far = (next(line for line in lines if f" {name} " in line) for name in there)
    assert f"{ours:.2f} ({error:.2f})" in near
    assert "+2.5 s.e." in near
    assert near.split()[-1] == "yes"
    assert "1000.00 (0.00)" in far
    assert far.split()[-1] == "no"
