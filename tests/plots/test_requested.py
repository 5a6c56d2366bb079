"""Tests of plots/requested.py: figures from plain data."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from helpers.bad_input import refuses
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

import graphbandits
from graphbandits import Results
from graphbandits.engine import Plan
from graphbandits.errors import InputError
from graphbandits.experiments.figures import FigureTable
from graphbandits.plots import (
    ONE_COLUMN,
    final_figure,
    forest_figure,
    plays_figure,
    regret_figure,
    save_figure,
    sweep_figure,
)
from graphbandits.plots.requested import draw, draw_sweep
from graphbandits.plots.style import looks
from graphbandits.store import simulate_plan
from graphbandits.theory import bounds_of

NAMES = ["ts-n", "ids-n", "ucb-n", "uniform"]


@pytest.fixture(scope="module")
def plan() -> Plan:
    return Plan.of(NAMES, graph="edges(1>2 2>3 3-4)", horizon=60, trials=40, seed=2)


@pytest.fixture(scope="module")
def results(plan: Plan) -> Results:
    return simulate_plan(plan, progress=False)


@pytest.fixture(scope="module")
def kept(results: Results) -> Results:
    """Results as read from a store: without the curves of trials."""
    policies = {name: replace(found, regret=None) for name, found in results.policies.items()}
    return replace(results, policies=policies)


@pytest.fixture(scope="module")
def sweep() -> dict[float, Results]:
    return {
        r: graphbandits.simulate(NAMES, graph=f"random(r={r})", horizon=20, trials=10)
        for r in (0.5, 1)
    }


def picture(figure: Figure, tmp_path: Any) -> bytes:
    (path,) = save_figure(figure, tmp_path / "figure", "svg")
    return path.read_bytes()


@pytest.mark.oracle
@pytest.mark.parametrize(
    ("figure", "by_hand"),
    [
        ({"kind": "regret"}, lambda r: regret_figure(r, "T")),
        (
            {"kind": "regret", "band": "quantiles", "levels": [0.25, 0.95], "scale": "log"},
            lambda r: regret_figure(r, "T", band="quantiles", levels=(0.25, 0.95), scale="log"),
        ),
        (
            {"kind": "regret", "confidence": 0.5, "title": "Mine", "width": "one"},
            lambda r: regret_figure(r, "Mine", confidence=0.5, width=ONE_COLUMN),
        ),
        ({"kind": "regret", "band": "none"}, lambda r: regret_figure(r, "T", band="none")),
        ({"kind": "final", "confidence": 0.5}, lambda r: final_figure(r, "T", confidence=0.5)),
        ({"kind": "final", "xscale": "symlog"}, lambda r: final_figure(r, "T", xscale="symlog")),
        ({"kind": "regret", "yscale": "log"}, lambda r: regret_figure(r, "T", yscale="log")),
        ({"kind": "differences"}, lambda r: forest_figure(r, title="T")),
        (
            {"kind": "differences", "all_pairs": True, "xscale": "symlog"},
            lambda r: forest_figure(r, title="T", all_pairs=True, xscale="symlog"),
        ),
        ({"kind": "plays"}, lambda r: plays_figure(r, title="T")),
        ({"kind": "plays", "by": "arm"}, lambda r: plays_figure(r, title="T", by="arm")),
        (
            {"kind": "differences", "reference": "ids-n", "simultaneous": False, "width": "one"},
            lambda r: forest_figure(r, "ids-n", "T", simultaneous=False, width=ONE_COLUMN),
        ),
        (
            {"kind": "differences", "policies": ["ts-n", "ucb-n"], "confidence": 0.8},
            lambda r: forest_figure(r.only(["ts-n", "ucb-n"]), title="T", confidence=0.8),
        ),
        (
            {"kind": "plays", "policies": ["uniform", "ts-n"], "name": "x", "formats": ["pdf"]},
            lambda r: plays_figure(r, ["uniform", "ts-n"], title="T"),
        ),
    ],
)
def test_requested_figure_equals_the_figure_function(
    kept: Results, figure: dict[str, Any], by_hand: Any, tmp_path: Any
) -> None:
    """Also from results without the curves of trials, and after conversion to JSON and back."""
    asked = FigureTable.model_validate(figure).to_dict()
    assert asked == figure  # all options are given
    drawn = draw(json.loads(json.dumps(asked)), kept, "T")
    assert picture(drawn, tmp_path) == picture(by_hand(kept), tmp_path)


@pytest.mark.oracle
def test_bounds_are_drawn_with_regrets_and_with_nothing_else(
    plan: Plan, results: Results, tmp_path: Any
) -> None:
    bounds = bounds_of(plan)
    assert bounds
    drawn = picture(draw({"kind": "regret"}, results, "T", bounds), tmp_path)
    assert drawn == picture(regret_figure(results, "T", bounds=bounds), tmp_path)
    assert drawn != picture(draw({"kind": "regret"}, results, "T"), tmp_path)
    for kind in ("final", "differences", "plays"):
        with_them, without = (draw({"kind": kind}, results, "T", b) for b in (bounds, ()))
        assert picture(with_them, tmp_path) == picture(without, tmp_path)


def colours(figure: Figure) -> dict[str, str]:
    """Return the colours of the named lines."""
    lines = {str(line.get_label()): line for axes in figure.axes for line in axes.lines}
    return {n: to_hex(line.get_color()).upper() for n, line in lines.items() if n[0] != "_"}


def test_style_of_a_policy_does_not_depend_on_omitted_policies(results: Results) -> None:
    all_of_them = colours(draw({"kind": "regret"}, results, ""))
    assert all_of_them == {name: one.colour for name, one in looks(NAMES).items()}
    some = colours(draw({"kind": "regret", "policies": ["ucb-n", "ids-n"]}, results, ""))
    assert some == {name: all_of_them[name] for name in ("ids-n", "ucb-n")}
    final = draw({"kind": "final", "policies": ["ucb-n"]}, results, "")
    (cloud,) = [c for c in final.axes[0].collections if c.get_gid() == "trials of ucb-n"]
    assert to_hex(cloud.get_facecolor()[0]).upper() == all_of_them["ucb-n"]


def test_lines_of_a_sweep_have_the_same_style_at_its_points(results: Results) -> None:
    lines = {"ts-n": "ts(c=…)", "ids-n": "ids(c=…)"}
    renamed, order = results.renamed(lines), ["other", "uniform", "ts(c=…)", "ids(c=…)", "ucb-n"]
    asked = {"kind": "regret", "policies": ["ts(c=…)", "uniform", "other"]}
    drawn = colours(draw(asked, renamed, "", order=order))
    swept = draw_sweep({"kind": "sweep"}, {1: renamed, 2: renamed}, "c", "", order=order[::-1])
    bars = {bar.get_label(): bar.lines[0].get_color() for bar in swept.axes[0].containers}
    assert drawn == {name: bars[name].upper() for name in ("ts(c=…)", "uniform")}
    assert len(set(bars.values())) == 4
    forest = draw({"kind": "differences", "reference": "ts(c=…)"}, renamed, "")
    assert len(forest.axes[0].get_yticklabels()) == 3
    assert forest.axes[0].get_xlabel().endswith("ts(c=…)")


def test_requested_sweep_equals_the_figure_function(
    sweep: dict[float, Results], tmp_path: Any
) -> None:
    asked = {"kind": "sweep", "confidence": 0.5, "width": "one", "yscale": "log"}
    drawn = draw_sweep(asked, sweep, "chance", "T", scale="log")
    by_hand = sweep_figure(sweep, "chance", "T", 0.5, "log", ONE_COLUMN, yscale="log")
    assert picture(drawn, tmp_path) == picture(by_hand, tmp_path)


def test_a_sweep_of_some_policies_leaves_out_values_without_them(
    sweep: dict[float, Results],
) -> None:
    less = {0.25: sweep[0.5].only(["ts-n"]), **sweep}
    asked = {"kind": "sweep", "policies": ["ucb-n", "ids-n"], "title": "Mine"}
    figure = draw_sweep(asked, less, "r", "T")
    drawn = {bar.get_label(): bar for bar in figure.axes[0].containers}
    assert set(drawn) == {"ids-n", "ucb-n"}
    for name, bar in drawn.items():
        assert bar.lines[0].get_xdata().tolist() == [0.5, 1]
        assert np.array_equal(bar.lines[0].get_ydata(), [sweep[r][name].mean[-1] for r in (0.5, 1)])
        # as in a figure of all of them
        assert to_hex(bar.lines[0].get_color()).upper() == looks(NAMES)[name].colour
    assert figure.get_suptitle() == "Mine"


@pytest.mark.parametrize(
    ("requested", "message"),
    [
        ({"kind": "regrets"}, "unknown kind of figure 'regrets': did you mean 'regret'?"),
        ({"kind": "sweep"}, "unknown kind of figure 'sweep'"),
        ({}, "unknown kind of figure None"),
        ({"kind": "final", "band": "none"}, "kind 'final' has no option 'band'"),
        ({"kind": "final", "widht": "one"}, "no option 'widht': did you mean 'width'?"),
        ({"kind": "final", "width": "three"}, "unknown width 'three'"),
        ({"kind": "final", "policies": ["ids"]}, "have none of the policies of the figure"),
        ({"kind": "regret", "band": "bars"}, "unknown band 'bars'"),
    ],
)
def test_invalid_requests_are_refused(
    results: Results, requested: dict[str, Any], message: str
) -> None:
    with pytest.raises(InputError) as caught:
        draw(requested, results, "")
    assert message in str(caught.value)


def test_a_sweep_is_drawn_of_sweeps_only(sweep: dict[float, Results]) -> None:
    with refuses(InputError, match="unknown kind of figure 'final'"):
        draw_sweep({"kind": "final"}, sweep, "r", "")
    with refuses(InputError, match="the results have none of the policies of the figure, ids"):
        draw_sweep({"kind": "sweep", "policies": ["ids"]}, sweep, "r", "")


def test_levels_that_are_not_kept_are_refused_without_the_curves(
    results: Results, kept: Results
) -> None:
    requested = {"kind": "regret", "band": "quantiles", "levels": [0.2, 0.9]}
    assert draw(requested, results, "")
    with refuses(
        InputError, match=r"quantile 0\.2 is not saved, only 0\.1, 0\.25, 0\.5, 0\.75, 0\.9"
    ):
        draw(requested, kept, "")


@pytest.mark.parametrize("levels", [(0.1, 0.9), (0.25, 0.75)])
def test_band_is_between_its_levels_and_is_labelled(
    results: Results, levels: tuple[float, float]
) -> None:
    figure = regret_figure(results.only(["ts-n"]), band="quantiles", levels=levels)
    (band,) = figure.axes[0].collections
    corners = band.get_paths()[0].vertices
    low, high = results.band("ts-n", "quantiles", levels=levels)
    last = corners[corners[:, 0] == results.rounds[-1]]
    assert {float(low[-1]), float(high[-1])} <= set(last[:, 1].tolist())
    texts = " ".join(text.get_text() for text in figure.findobj(lambda a: hasattr(a, "get_text")))
    assert f"{100 * levels[0]:g} % to {100 * levels[1]:g} % of" in " ".join(texts.split())
