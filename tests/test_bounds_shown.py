"""Bounds where they are shown: on figures, in the report, in the summary and in the terminal."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from matplotlib.text import Annotation
from pages import Node, Page, made_up
from typer.testing import CliRunner

from graphbandits import Results, open_study, simulate
from graphbandits.cli import app
from graphbandits.engine import Plan
from graphbandits.errors import InputError
from graphbandits.plots import ONE_COLUMN, regret_figure, save_figure
from graphbandits.posteriors import BetaBernoulli
from graphbandits.report import SimulationEntry, report_html
from graphbandits.store import simulate_plan
from graphbandits.theory import Bound, bounds_of, corollary_1, judge_bounds, theorem_1, theorem_2
from graphbandits.worlds import Bernoulli

LOG5 = math.log(5)
NAMES = ["ts-n", "ids-n", "ids-lp", "ucb-n"]
RUNNER = CliRunner(env={"COLUMNS": "200"})


@pytest.fixture(scope="module")
def plan() -> Plan:
    return Plan.of(NAMES, graph="paper", horizon=60, trials=30, seed=4)


@pytest.fixture(scope="module")
def results(plan: Plan) -> Results:
    return simulate_plan(plan, progress=False)


def lines_of(figure, panel: int = 0) -> dict[str, np.ndarray]:
    """The bounds that are drawn, by the name on them."""
    lines = [line for line in figure.axes[panel].get_lines() if line.get_gid() == "bound"]
    return {line.get_label(): line.get_xydata() for line in lines}


def names_of(figure) -> list[str]:
    texts = figure.axes[0].texts
    return [
        t.get_text() for t in texts if isinstance(t, Annotation) and t.get_gid() == "bound-name"
    ]


# figures ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("width", [7.2, ONE_COLUMN])
def test_a_line_has_the_values_of_its_bound_and_its_name_at_its_end(
    plan: Plan, results: Results, width: float
) -> None:
    bounds = {bound.name: bound for bound in bounds_of(plan)}
    figure = regret_figure(results, bounds=tuple(bounds.values()), width=width)
    drawn = lines_of(figure)
    # on a fixed graph the earlier bound is the same one
    assert list(drawn) == ["Theorem 1", "Corollary 1, earlier bound"]
    for line, name in (("Theorem 1",) * 2, ("Corollary 1, earlier bound", "Corollary 1")):
        np.testing.assert_array_equal(drawn[line][:, 0], results.rounds)
        np.testing.assert_array_equal(drawn[line][:, 1], bounds[name].values)
    assert sorted(names_of(figure)) == ["Corollary 1, earlier bound: 9.827", "Theorem 1: 15.54"]
    ends = {t.get_text().split(":")[0]: t.xy for t in figure.axes[0].texts}
    assert ends["Theorem 1"] == (60.0, bounds["Theorem 1"].final)
    low, high = figure.axes[0].get_ylim()
    assert low == 0.0
    assert high > bounds["Theorem 1"].final
    note = "\n".join(text.get_text() for text in figure.texts).replace("\n", " ")
    assert "Theorem 1 for ids-lp; Corollary 1, earlier bound for ts-n, ids-n" in note


def test_names_of_bounds_do_not_lie_on_each_other(results: Results) -> None:
    rounds = results.rounds
    bounds = [theorem_1(5, 1.0 + 0.02 * i, rounds) for i in range(2)]
    bounds = [replace(bound, name=f"number {i}") for i, bound in enumerate(bounds)]
    figure = regret_figure(results, bounds=bounds)
    figure.draw_without_rendering()
    boxes = [t.get_window_extent() for t in figure.axes[0].texts if t.get_gid() == "bound-name"]
    assert len(boxes) == 2
    assert not boxes[0].overlaps(boxes[1])


def test_bounds_far_above_make_a_second_panel_of_all_policies(results: Results) -> None:
    two = results.only(["ts-n", "ids-n"])
    assert len(regret_figure(two).axes) == 1
    far = corollary_1(1000, LOG5, results.rounds)
    figure = regret_figure(two, bounds=[far])
    whole, part = figure.axes
    assert whole.get_title(loc="left") == "all policies and bounds"
    assert part.get_title(loc="left") == "all policies, enlarged"
    assert lines_of(figure, 1) == {}
    assert part.get_ylim()[1] < 0.5 * far.final
    near = replace(far, values=far.values * 1.5 * two["ts-n"].mean[-1] / far.final)
    assert len(regret_figure(two, bounds=[near]).axes) == 1


def test_bounds_of_other_policies_are_not_drawn(plan: Plan, results: Results) -> None:
    figure = regret_figure(results.only(["ids-lp", "ucb-n"]), bounds=bounds_of(plan))
    assert list(lines_of(figure)) == ["Theorem 1"]
    without = regret_figure(results.only(["ucb-n"]), bounds=bounds_of(plan))
    assert lines_of(without) == {}


def test_without_bounds_the_figure_is_what_it_was(
    plan: Plan, results: Results, tmp_path: Path
) -> None:
    save_figure(regret_figure(results), tmp_path / "plain.svg")
    save_figure(regret_figure(results, bounds=()), tmp_path / "none.svg")
    only = results.only(["ucb-n"])
    save_figure(regret_figure(only), tmp_path / "plain-ucb.svg")
    save_figure(regret_figure(only, bounds=bounds_of(plan)), tmp_path / "none-ucb.svg")
    for plain, none in (("plain", "none"), ("plain-ucb", "none-ucb")):
        assert (tmp_path / f"{plain}.svg").read_bytes() == (tmp_path / f"{none}.svg").read_bytes()
    assert b"bound" not in (tmp_path / "plain.svg").read_bytes()


def test_bounds_of_other_rounds_are_refused(results: Results) -> None:
    with pytest.raises(InputError, match="for other rounds than the 60"):
        regret_figure(results, bounds=[corollary_1(2, LOG5, [1, 2, 60])])


# the report -------------------------------------------------------------------------------------


def page_of(*studies: SimulationEntry) -> Node:
    return Page(report_html(studies, title="Bounds")).root


def table_of(page: Node) -> list[list[str]]:
    (table,) = page.all("table", class_="bounds")
    return table.rows()


def test_the_report_lists_bounds_beside_the_means(plan: Plan, results: Results) -> None:
    study = SimulationEntry("one", "One", results, "graphbandits", bounds=bounds_of(plan))
    rows = table_of(page_of(study))
    judged = judge_bounds(study.bounds, results)
    assert len(rows) == 1 + 2 + 2
    for row, one in zip(rows, judged, strict=True):
        assert row == [
            one.bound.name,
            one.bound.formula,
            one.policy,
            study.number(one.bound.final),
            study.number(float(results[one.policy].mean[-1])),
            study.interval(*results.interval(one.policy)),
            "below",
        ]
    assert rows[0][:4] == ["Theorem 1", "sqrt(H K T / 2)", "ids-lp", "15.54"]
    text = page_of(study).text
    assert "Theorem 1, Corollary 1: Liu, Buccapatnam and Shroff (2018)." in text
    assert "earlier bound: Tossou, Dimitrakakis and Dubhashi (2017)" in text


def test_the_report_says_what_is_estimated_and_what_is_above(results: Results) -> None:
    rounds = results.rounds
    rough: Bound = replace(
        theorem_2([2.0] * len(rounds), LOG5),
        error=np.full(len(rounds), 0.25),
        note="From <few> graphs.",
    )
    small = replace(theorem_1(5, LOG5, rounds), values=np.full(len(rounds), 1e-3))
    page = page_of(SimulationEntry("one", "One", results, "graphbandits", bounds=(rough, small)))
    rows = table_of(page)
    assert [row[3] for row in rows[:2]] == ["9.83 ± 0.25"] * 2
    assert rows[-1][-1] == "above"
    (cell,) = page.all("strong", class_="verdict fails")
    assert cell.text == "above"
    assert "Theorem 2: From <few> graphs." in page.text
    assert "±: the standard error" in page.text


def test_a_report_without_bounds_has_no_section_or_says_why(results: Results) -> None:
    page = page_of(SimulationEntry("one", "One", results, "graphbandits"))
    assert page.all("table", class_="bounds") == []
    assert page.all("h3", id="study-one--bounds") == []
    world = Bernoulli(BetaBernoulli.of(5), fixed=[0.1, 0.2, 0.3, 0.4, 0.5])
    fixed = simulate("ts-n", world, "paper", horizon=5, trials=3, progress=False)
    page = page_of(SimulationEntry("one", "One", fixed, "graphbandits"))
    assert len(page.all("h3", id="study-one--bounds")) == 1
    assert "the means of the arms are fixed" in page.text


def test_the_curves_have_the_bounds_and_a_box_to_show_them(plan: Plan, results: Results) -> None:
    study = SimulationEntry("one", "One", results, "graphbandits", bounds=bounds_of(plan))
    page = page_of(study)
    (data,) = page.all("script", type="application/json")
    drawn = json.loads(data.text)["bounds"]
    assert [bound["name"] for bound in drawn] == ["Theorem 1", "Corollary 1", "earlier bound"]
    assert drawn[0]["values"] == study.bounds[0].values.tolist()
    (box,) = page.all("input", type="checkbox")
    assert "checked" not in box.attributes
    assert page_of(SimulationEntry("two", "", made_up(), "")).all("input", type="checkbox") == []


# the command line -------------------------------------------------------------------------------


def run(*args: object) -> str:
    result = RUNNER.invoke(app, [str(arg) for arg in args])
    assert result.exit_code == 0, (result.stderr, result.exception)
    return result.stdout


SIMULATE = (
    *("simulate", "--policy", "ts-n", "--policy", "ids-lp", "--policy", "ucb-n"),
    *("--graph", "paper", "--horizon", 40, "--trials", 12),
)
TWENTY = math.sqrt(40 * LOG5)  # Corollary 1 of the paper's graph


def test_simulate_prints_a_table_of_bounds_if_asked() -> None:
    assert "Theorem" not in run(*SIMULATE)
    text = run(*SIMULATE, "--bounds")
    rows = [line.split() for line in text.split("Bounds on the expected regret")[1].splitlines()]
    (corollary,) = [row for row in rows if row[1:3] == ["Corollary", "1"]]
    assert corollary[0] == "ts-n"
    assert corollary[-3] == f"{TWENTY:.2f}"
    assert corollary[-1] == "below"
    nobody = run(*SIMULATE[:1], "--policy", "ucb-n", *SIMULATE[-6:], "--bounds")
    assert "No bound is proved for any of these policies." in nobody


def test_simulate_gives_bounds_as_json_if_asked() -> None:
    assert "bounds" not in json.loads(run(*SIMULATE, "--json"))
    found = json.loads(run(*SIMULATE, "--json", "--bounds"))["bounds"]
    assert [bound["name"] for bound in found] == ["Theorem 1", "Corollary 1", "earlier bound"]
    assert found[1]["value"] == pytest.approx(TWENTY)
    assert found[1]["standard_error"] == 0.0
    assert found[1]["policies"]["ts-n"]["mean_is"] == "below"
    assert list(found[0]["policies"]) == ["ids-lp"]


def test_what_is_kept_has_the_bounds_and_the_figure_if_asked(tmp_path: Path) -> None:
    without, with_ = tmp_path / "without", tmp_path / "with"
    text = run(*SIMULATE, "--output", without)
    assert "Corollary 1" not in text
    assert "Corollary 1" in run(*SIMULATE, "--output", with_, "--bounds")
    summaries = [json.loads((place / "summary.json").read_text()) for place in (without, with_)]
    assert summaries[0] == summaries[1]
    names = [bound["name"] for bound in summaries[0]["simulation"]["bounds"]]
    assert names == ["Theorem 1", "Corollary 1", "earlier bound"]
    figures = [(place / "figure-simulation.svg").read_text() for place in (without, with_)]
    assert [figure.count('id="bound"') for figure in figures] == [0, 2]
    for part in ("-final", "-differences", "-plays"):
        name = f"figure-simulation{part}.svg"
        assert (without / name).read_bytes() == (with_ / name).read_bytes()
    for place, asked in ((without, False), (with_, True)):
        page = Page((place / "report.html").read_text()).root
        assert len(table_of(page)) == 3
        (command,) = page.all("pre", class_="command")
        assert command.text.endswith(" --bounds") is asked


def test_run_and_reproduce_draw_bounds_if_asked(tmp_path: Path) -> None:
    text = run("run", "paper-2a", "--trials", 2, "--output", tmp_path / "run", "--bounds")
    assert "Corollary 2" in text
    place = tmp_path / "reproduced"
    assert "Theorem" not in run("reproduce", "--figure", "2b", "--trials", 2, "--output", place)
    text = run("reproduce", "--figure", "1b", "--trials", 2, "--output", place, "--bounds")
    assert "Theorem 2" in text
    summary = json.loads((place / "summary.json").read_text())
    names = {key: [b["name"] for b in part["bounds"]] for key, part in summary.items()}
    assert names == {
        "1b": ["Theorem 1", "Theorem 2", "earlier bound"],
        "2b": ["Theorem 1", "Theorem 3"],  # which lay there from before
    }
    drawn = {key: (place / f"figure-{key}.svg").read_text().count('id="bound"') for key in names}
    assert drawn == {"1b": 2, "2b": 0}


def test_a_sweep_has_no_figure_for_bounds(tmp_path: Path) -> None:
    result = RUNNER.invoke(app, ["run", "density", "--bounds", f"--output={tmp_path / 'x'}"])
    assert result.exit_code == 2
    assert "density has sweeps" in result.stderr
    assert not (tmp_path / "x").exists()


def test_recorded_ratios_give_each_policy_a_bound_of_its_own() -> None:
    """Lemma 1: listed with the error of the trials, above the mean, and below the rounds."""
    words = (*SIMULATE, "--policy", "ids-n(gain=joint)", "--policy", "ids-n", "--ratios", "bound")
    told = json.loads(run(*words, "--bounds", "--json"))
    general = {one["name"]: one for one in told["bounds"] if one["name"].startswith("Lemma 1")}
    for policy in ("ts-n", "ids-lp", "ids-n", "ids-n(gain=joint)"):
        bound = general[f"Lemma 1 ({policy})"]
        assert list(bound["policies"]) == [policy]
        assert bound["policies"][policy]["mean"] < bound["value"] < 40
        assert bound["standard_error"] > 0.0


def test_ratios_of_a_sweep_are_kept_for_every_point(tmp_path: Path) -> None:
    file, out = tmp_path / "swept.toml", tmp_path / "out"
    file.write_text(
        'title = "T"\nhorizon = 10\ntrials = 4\narms = 3\npolicies = ["ids-n", "ts-n"]\n'
        '[[sweeps]]\nparameter = "r"\nvalues = [0.25, 1]\ngraph = "random(r={r})"\n'
    )
    run("run", file, "--ratios", "bound", "--output", out)
    for cell in open_study(out).cells:
        graph = f"random(r={cell.point['r']})"
        how = {"graph": graph, "arms": 3, "horizon": 10, "trials": 4, "ratios": "bound"}
        alone, kept = simulate(["ids-n", "ts-n"], **how), cell.results(curves=True)  # type: ignore[arg-type]
        assert kept.hash == alone.hash
        for name in ("ids-n", "ts-n"):
            ratios = kept[name].ratios
            assert ratios is not None
            assert np.array_equal(ratios.ratio, alone[name].ratios.ratio, equal_nan=True)
