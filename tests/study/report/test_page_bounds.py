"""Tests of study/report.py: bounds in the report."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import numpy as np
import pytest
from helpers.report_pages import Node, Page, made_up

from graphbandits import Results, simulate
from graphbandits.posteriors import BetaBernoulli
from graphbandits.simulation.plan import Plan
from graphbandits.simulation.run import simulate_plan
from graphbandits.study.report import SimulationEntry, report_html
from graphbandits.theory import Bound, bounds_of, judge_bounds, theorem_1, theorem_2
from graphbandits.worlds import Bernoulli

LOG5 = math.log(5)
NAMES = ["ts-n", "ids-n", "ids-lp", "ucb-n"]


@pytest.fixture(scope="module")
def plan() -> Plan:
    return Plan.of(NAMES, graph="paper", horizon=60, trials=30, seed=4)


@pytest.fixture(scope="module")
def results(plan: Plan) -> Results:
    return simulate_plan(plan, progress=False)


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


def test_report_marks_estimated_bounds_and_means_above_a_bound(results: Results) -> None:
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


def test_report_without_bounds_omits_the_section_or_gives_the_reason(results: Results) -> None:
    page = page_of(SimulationEntry("one", "One", results, "graphbandits"))
    assert page.all("table", class_="bounds") == []
    assert page.all("h3", id="study-1-one--bounds") == []
    world = Bernoulli(BetaBernoulli.of(5), fixed=[0.1, 0.2, 0.3, 0.4, 0.5])
    fixed = simulate("ts-n", world, "paper", horizon=5, trials=3, progress=False)
    page = page_of(SimulationEntry("one", "One", fixed, "graphbandits"))
    assert len(page.all("h3", id="study-1-one--bounds")) == 1
    assert "the means of the arms are fixed" in page.text


def test_the_curves_have_the_bounds_and_a_box_to_show_them(plan: Plan, results: Results) -> None:
    study = SimulationEntry("one", "One", results, "graphbandits", bounds=bounds_of(plan))
    page = page_of(study)
    (data,) = page.all("script", type="application/json")
    drawn = json.loads(data.text)["bounds"]
    assert [bound["name"] for bound in drawn] == ["Theorem 1", "Corollary 1", "earlier bound"]
    assert drawn[0]["values"] == pytest.approx(study.bounds[0].values, abs=1e-4)
    (box,) = page.all("input", type="checkbox")
    assert "checked" not in box.attributes
    assert page_of(SimulationEntry("two", "", made_up(), "")).all("input", type="checkbox") == []
