"""Tests of cli/simulate.py: ``graphbandits reproduce``."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest
from helpers.bad_input import tree
from helpers.command_line import read_json, refused_command, run, split
from helpers.made_up_results import same
from helpers.privileges import unprivileged

import graphbandits
from graphbandits import open_study
from graphbandits.simulation.results import Results

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


def test_summary_equals_stored_results_and_simulate(reproduced: tuple[Path, str]) -> None:
    for figure, graph in [
        ("1a", "paper"),
        ("1b", "revealed-er(p=0.25)"),
        ("2a", "random(r=0.25)"),
        ("2b", "random(r=uniform)"),
    ]:
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


def test_a_figure_asked_for_twice_is_drawn_once(place: Path, short: None) -> None:
    """The output goes to figures by default."""
    shown = run("reproduce", "--figure=1a", "--figure=1a", "--trials=2")
    assert shown.count("vs the best") == 1
    assert list(read_json(Path("figures/summary.json").read_text())) == ["1a"]
    assert named(place / "figures") == files_of(["1a"])


def test_bad_reproductions_are_refused(bad_files: Path, short: None) -> None:
    for options, words in [
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
    ]:
        message = refused_command(bad_files, ["reproduce", *split(options)])
        assert all(word in message for word in words)


@pytest.mark.parametrize("below", ["", "/new"])
def test_output_without_permission_is_refused(place: Path, short: None, below: str) -> None:
    (place / "locked").mkdir(mode=0o500)
    with unprivileged():
        words = ["reproduce", "--trials", "2", "--output", f"locked{below}"]
        message = refused_command(place, words)
    assert f"cannot write locked{below}: Permission denied" in message
