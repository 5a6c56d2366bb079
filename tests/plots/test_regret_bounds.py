"""Tests of plots/regret.py: bounds in regret figures."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from helpers.bad_input import refuses
from matplotlib.text import Annotation

from graphbandits import Results
from graphbandits.errors import InputError
from graphbandits.plots import ONE_COLUMN, regret_figure
from graphbandits.simulation.plan import Plan
from graphbandits.simulation.run import simulate_plan
from graphbandits.theory import bounds_of, corollary_1, theorem_1

LOG5 = math.log(5)
NAMES = ["ts-n", "ids-n", "ids-lp", "ucb-n"]


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


def test_a_line_has_the_values_of_its_bound_and_its_name_at_its_end(
    plan: Plan, results: Results
) -> None:
    for width in (7.2, ONE_COLUMN):
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


def test_names_of_bounds_do_not_overlap(results: Results) -> None:
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


def test_bounds_of_other_rounds_are_refused(results: Results) -> None:
    with refuses(InputError, match="the bound 'Corollary 1' is for other rounds than the 60 that"):
        regret_figure(results, bounds=[corollary_1(2, LOG5, [1, 2, 60])])
