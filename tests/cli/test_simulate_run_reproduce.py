"""Tests of cli/simulate.py: ``graphbandits reproduce``."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest
from helpers.bad_input import tree
from helpers.command_line import LINUX, RUNNER, read_json, refused_command, run, split
from helpers.made_up_results import same
from helpers.privileges import unprivileged
from helpers.stores import Point, run_study
from typer.testing import CliRunner

import graphbandits
from graphbandits import open_study
from graphbandits.cli import app
from graphbandits.simulation.plan import Plan
from graphbandits.simulation.results import Results
from graphbandits.study.experiment import load_experiment

pytestmark = pytest.mark.process

RULES = ["ts-n", "ids-n", "idsn-lp", "ids-lp"]
FIGURES = ["1a", "1b", "2a", "2b"]


@pytest.fixture(scope="module")
def reproduced(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """All four experiments at their full length, with two trials; the directory and the output."""
    output = tmp_path_factory.mktemp("reproduced") / "new" / "figures"
    shown = run("reproduce", "--trials", 2, "--seed", 7, "--workers", 1, "--output", output)
    return output, shown


def files_of(figures: list[str]) -> set[str]:
    files = {"summary.json", "report.html"}
    for figure in figures:
        pictures = [f"figure-{figure}{part}" for part in ("", "-final", "-differences", "-plays")]
        files |= {f"{picture}.{kind}" for picture in pictures for kind in ("png", "svg", "pdf")}
        files.add(f"studies/{figure}.json")
    return files | {"study.json", "studies", "problems", "shards"}


def named(place: Path) -> set[str]:
    """Files of a directory except the content of the store, whose names are hashes."""
    return {name for name in tree(place) if not name.startswith(("problems/", "shards/"))}


def kept(place: Path, figure: str) -> Results:
    """Return the results of an experiment with all trials."""
    (cell,) = open_study(place, figure).cells
    return cell.results()


def shards(place: Path) -> dict[Path, int]:
    """Return every shard and the time of its last change."""
    return {path: path.stat().st_mtime_ns for path in place.glob("shards/*/*.parquet")}


def test_reproduce_writes_figures_a_store_and_a_summary(reproduced: tuple[Path, str]) -> None:
    output, _ = reproduced
    assert named(output) == files_of(FIGURES)
    for figure in FIGURES:
        assert open_study(output, figure).progress().complete
        assert (output / f"figure-{figure}.png").read_bytes().startswith(b"\x89PNG\r\n\x1a\n")
        drawing = ElementTree.parse(output / f"figure-{figure}.svg").getroot()
        assert drawing.tag == "{http://www.w3.org/2000/svg}svg"
    assert list(read_json((output / "summary.json").read_text())) == FIGURES


@pytest.mark.parametrize(
    ("figure", "graph"),
    [
        ("1a", "paper"),
        ("1b", "revealed-er(p=0.25)"),
        ("2a", "random(r=0.25)"),
        ("2b", "random(r=uniform)"),
    ],
)
def test_summary_equals_stored_results_and_simulate(
    reproduced: tuple[Path, str], figure: str, graph: str
) -> None:
    output, _ = reproduced
    summary = read_json((output / "summary.json").read_text())[figure]
    results = kept(output, figure)
    assert list(summary["policies"]) == list(results.policies)
    assert set(results.policies) > set(RULES)
    settings = {"graph": graph, "arms": 5, "horizon": 1000, "trials": 2, "seed": 7}
    assert settings.items() <= summary["settings"].items()
    assert summary["settings"] == results.settings
    for name, numbers in summary["policies"].items():
        assert numbers["regret"]["mean"] == results[name].final.mean()
        assert numbers["regret"]["interval"] == list(results.interval(name))
        assert sum(numbers["plays"].values()) == 2 * 1000
    count = len(results.policies)
    assert len(summary["differences"]) == count * (count - 1) // 2
    for pair in summary["differences"]:
        gap = results[pair["first"]].final - results[pair["second"]].final
        assert pair["mean"] == pytest.approx(gap.mean(), rel=1e-12)
        assert pair["interval"][0] <= pair["mean"] <= pair["interval"][1]
    names = list(results.policies)
    again = graphbandits.simulate(names, graph=graph, horizon=1000, trials=2, seed=7)
    same(again, results)


def test_reproduce_prints_tables_with_confidence_intervals(reproduced: tuple[Path, str]) -> None:
    output, shown = reproduced
    assert shown.count("95% interval") == 8  # a table of regrets and one of claims each
    for figure in FIGURES:
        results = kept(output, figure)
        for name in results.policies:
            low, high = results.interval(name)
            assert re.search(rf"{name} .*\[{low:.2f}, {high:.2f}\]", shown)
    (done,) = shown[shown.index("Finished in ") :].splitlines()
    page = re.escape(str(output / "report.html"))
    assert re.fullmatch(rf"Finished in (\d+ min )?\d+ s\. Open {page} in a browser\.", done)


@pytest.mark.parametrize("figure", FIGURES)
def test_reproduce_judges_the_claims_of_the_paper(
    reproduced: tuple[Path, str], figure: str
) -> None:
    output, shown = reproduced
    summary = read_json((output / "summary.json").read_text())[figure]
    results = kept(output, figure)
    page = (output / "report.html").read_text()
    claims = summary["claims"]
    assert [claim["text"] for claim in claims] == [
        claim.text for claim in load_experiment(f"paper-{figure}").claims
    ]
    assert sorted([*claims[0]["better"], *claims[0]["than"]]) == sorted(results.policies)
    for claim in claims:
        assert claim["text"] in shown
        assert claim["text"] in page
        assert claim["verdict"] in ("holds", "fails", "no clear difference")
        for pair in claim["differences"]:
            gap = results[pair["first"]].final - results[pair["second"]].final
            assert pair["mean"] == pytest.approx(gap.mean(), rel=1e-12)
            low, high = pair["simultaneous_interval"]
            assert low <= pair["mean"] <= high
            assert low <= 0.0 or claim["verdict"] == "fails"
            assert high < 0.0 or claim["verdict"] != "holds"


def test_earlier_study_without_baselines_stays_in_the_report(place: Path, short: None) -> None:
    old = Plan.of(RULES, graph="paper", horizon=5, trials=4, seed=3)
    claims = list(load_experiment("paper-1a").resolved_claims())
    run_study(place / "figures", "1a", [Point(old)], claims=claims)
    run("reproduce", "--figure", "2a", "--trials", 2)
    summary = read_json(Path("figures/summary.json").read_text())
    assert list(summary["1a"]["policies"]) == RULES
    assert [claim["better"] for claim in summary["1a"]["claims"]] == [RULES[1:]]


def test_reproduce_gives_the_same_numbers_for_any_number_of_workers(
    place: Path, short: None
) -> None:
    for workers, output in ((1, "one"), (2, "two")):
        options = ["--trials", 120, "--seed", 3, "--workers", workers, "--output", output]
        run("reproduce", "--figure", "1b", "--figure", "2b", *options)
    assert Path("one/summary.json").read_bytes() == Path("two/summary.json").read_bytes()
    assert named(Path("one")) == files_of(["1b", "2b"])
    for figure in ("1b", "2b"):
        same(kept(Path("one"), figure), kept(Path("two"), figure))


@pytest.mark.filterwarnings("always::graphbandits.errors.InputWarning")
def test_reproduce_again_replaces_only_its_own_files(place: Path, short: None) -> None:
    args = ["reproduce", "--figure", "2a", "--trials", 3, "--output", "figures"]
    run(*args, "--seed", 1)
    first, before = tree(place / "figures"), shards(place / "figures")
    (place / "figures" / "notes.txt").write_text("mine")
    result = RUNNER.invoke(app, [str(arg) for arg in (*args, "--seed", 2)])
    assert result.exit_code == 0
    assert re.fullmatch(
        r"Warning: the study '2a' in figures \(2a\. .*\) was computed with other settings, .*\n",
        result.stderr,
    )
    second = tree(place / "figures")
    assert second.pop("notes.txt") == b"mine"
    (place / "figures" / "notes.txt").unlink()
    assert named(place / "figures") == files_of(["2a"])
    assert first["report.html"] != second["report.html"]
    assert read_json(second["summary.json"].decode())["2a"]["settings"]["seed"] == 2
    assert kept(place / "figures", "2a").settings["seed"] == 2
    changed = [name for name in first if name.endswith(("png", "svg", "pdf"))]
    assert changed
    assert all(first[name] != second[name] for name in changed)
    after = shards(place / "figures")
    assert len(after) == 2 * len(before)
    RUNNER.invoke(app, [str(arg) for arg in (*args, "--seed", 1)])
    assert tree(place / "figures")["summary.json"] == first["summary.json"]
    # the files of the first seed were kept and used
    assert before.items() <= after.items()
    assert shards(place / "figures") == after


def test_a_figure_asked_for_twice_is_drawn_once(place: Path, short: None) -> None:
    shown = run("reproduce", "--figure=1a", "--figure=1a", "--trials=2", "--output=figures")
    assert shown.count("vs the best") == 1
    assert list(read_json(Path("figures/summary.json").read_text())) == ["1a"]


def test_output_goes_to_figures_by_default(place: Path, short: None) -> None:
    run("reproduce", "--figure", "1a", "--trials", 2)
    assert named(place / "figures") == files_of(["1a"])


def test_the_summary_of_one_trial_is_json(place: Path, short: None) -> None:
    shown = run("reproduce", "--figure", "1a", "--trials", 1)
    summary = read_json(Path("figures/summary.json").read_text())
    assert summary["1a"]["policies"]["ts-n"]["regret"]["standard_error"] is None
    assert "nan" not in shown


def test_output_path_in_brackets_is_shown_literally(place: Path, short: None) -> None:
    shown = run("reproduce", "--figure", "1a", "--trials", 2, "--output", "[bold]")
    assert "Open [bold]/report.html in a browser" in shown
    assert named(place / "[bold]") == files_of(["1a"])


def test_reproduce_on_a_terminal_without_unicode(place: Path, short: None) -> None:
    args = ["reproduce", "--figure", "1b", "--trials", "2"]
    result = CliRunner(charset="ascii").invoke(app, args)
    assert result.exit_code == 0, result.exception
    assert named(place / "figures") == files_of(["1b"])


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ("--figure 3a", ["unknown figure '3a'", "1a", "1b", "2a", "2b"]),
        ("--figure 1", ["unknown figure '1'", "1a"]),
        ("--figure 1a --figure 1A", ["unknown figure '1A'", "1a"]),
        ("--figure 1a --trials 0", ["trials", "at least 1", "0"]),
        ("--figure 1a --trials -3", ["trials", "at least 1", "-3"]),
        ("--figure 1a --trials x", ["--trials", "'x'"]),
        ("--figure 1a --workers 0", ["workers", "at least 1", "0"]),
        ("--figure 1a --seed -1", ["seed", "at least 0", "-1"]),
        ("--figure 1a --trials 2 --output good.txt", ["cannot write good.txt"]),
        ("--figure 1a --trials 2 --output good.txt/below", ["cannot write good.txt/below"]),
        ("--figure 1a --policy ids-n", ["--policy"]),
        ("1a", ["1a"]),
    ],
)
def test_bad_reproductions_are_refused(
    bad_files: Path, short: None, options: str, words: list[str]
) -> None:
    message = refused_command(bad_files, ["reproduce", *split(options)])
    assert all(word in message for word in words)


@pytest.mark.skipif(not LINUX, reason="/proc is specific to Linux")
def test_unwritable_output_is_refused(place: Path, short: None) -> None:
    message = refused_command(
        place, ["reproduce", "--trials", "2", "--output", "/proc/graphbandits"]
    )
    assert "cannot write /proc/graphbandits" in message


@pytest.mark.parametrize("below", ["", "/new"])
def test_output_without_permission_is_refused(place: Path, short: None, below: str) -> None:
    (place / "locked").mkdir(mode=0o500)
    with unprivileged():
        words = ["reproduce", "--trials", "2", "--output", f"locked{below}"]
        message = refused_command(place, words)
    assert f"cannot write locked{below}: Permission denied" in message


@pytest.mark.parametrize("taken", ["figure-1a-plays.svg/x", "figure-1a.png/x", "summary.json/x"])
def test_output_with_taken_names_is_refused_before_anything_runs(
    place: Path, short: None, taken: str
) -> None:
    path = place / "figures" / taken
    path.parent.mkdir(parents=True)
    path.write_text("mine")
    message = refused_command(place, ["reproduce", "--figure", "1a", "--trials", "2"])
    assert taken.split("/")[0] in message
