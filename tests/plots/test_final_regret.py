"""Tests of plots/final_regret.py: final regrets and differences."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.figures import Paired, check_page, eight, gid, made

from graphbandits import Results
from graphbandits.plots import final_figure, forest_figure, regret_figure, style
from graphbandits.plots.final_regret import POINTS, spread, thinned
from graphbandits.simulation.statistics import Difference


def test_boxes_are_quartiles_and_every_trial_is_a_point() -> None:
    skewed = made({"worse": [4.0, 5.0, 6.0, 7.0, 90.0], "better": [1.0, 1.0, 2.0, 3.0, 50.0]})
    figure = final_figure(skewed)
    ranks = ["better", "worse"]
    assert [label.get_text() for label in figure.axes[0].get_yticklabels()] == ranks
    low, high = sorted(figure.axes[0].get_ylim())
    assert figure.axes[0].get_ylim() == (high, low)  # the first row is on top
    for row, name in enumerate(ranks):
        final = skewed[name].final
        (points,) = gid(figure, f"trials of {name}")
        assert sorted(points.get_offsets()[:, 0]) == sorted(final)
        assert (np.abs(points.get_offsets()[:, 1] - row) < 0.5).all()
        box = gid(figure, "quartiles")[row].get_xdata()
        assert (min(box), max(box)) == tuple(np.quantile(final, [0.25, 0.75]))
        assert set(gid(figure, "median")[row].get_xdata()) == {np.median(final)}
        whiskers = gid(figure, "whiskers")[row].get_xdata()
        assert (whiskers[0], whiskers[-1]) == tuple(np.quantile(final, [0.1, 0.9]))
        assert gid(figure, "mean")[row].get_xdata()[0] == pytest.approx(final.mean())
        interval = gid(figure, "interval")[row].get_xdata()
        assert tuple(interval) == pytest.approx(skewed.interval(name))
    assert figure.axes[0].get_xscale() == "linear"
    assert figure.axes[0].get_xlim()[1] >= 90.0
    check_page(figure)


def test_many_trials_are_thinned_with_a_note() -> None:
    values = np.random.default_rng(3).pareto(2.0, 10_000)
    figure = final_figure(made({"a": values.tolist()}))
    (points,) = gid(figure, "trials of a")
    x = np.asarray(points.get_offsets())[:, 0]
    assert len(x) == POINTS
    assert (x.min(), x.max()) == (values.min(), values.max())
    assert np.median(x) == pytest.approx(np.median(values), rel=0.02)
    assert any("400 of 10000 trials" in text.get_text().replace("\n", " ") for text in figure.texts)


def test_far_larger_regrets_have_a_longer_axis() -> None:
    results = eight()
    figure = final_figure(results, "Title", width=3.5)
    near, far = figure.axes
    names = [[label.get_text() for label in axes.get_yticklabels()] for axes in (near, far)]
    assert names == [results.ranking()[:5], results.ranking()[5:]]
    assert (near.get_title("left"), far.get_title("left")) == (
        "the 5 with least regret",
        "the other 3, on another axis",
    )
    for panel, group in enumerate(names):
        for row, name in enumerate(group):
            (points,) = gid(figure, f"trials of {name}", panel)
            assert sorted(points.get_offsets()[:, 0]) == sorted(results[name].final)
            assert (np.abs(points.get_offsets()[:, 1] - row) < 0.5).all()
            low, high = figure.axes[panel].get_xlim()
            assert low <= results[name].final.min() <= results[name].final.max() <= high
    (shade,) = gid(figure, "enlarged", 1)
    assert shade.get_width() == pytest.approx(near.get_xlim()[1])
    check_page(figure)


def test_few_or_equal_trials_can_be_drawn() -> None:
    for values in ([2.0], [0.0], [3.0] * 30, [0.0] * 30, [1.0, 9.0]):
        one = made({"a": values, "b": values})
        for figure in (regret_figure(one), final_figure(one), regret_figure(one, scale="log")):
            check_page(figure)
        figure = final_figure(one)
        assert len(gid(figure, "quartiles")) == (2 if len(values) >= 5 else 0)
        low, high = figure.axes[0].get_xlim()
        assert low <= one.interval("a")[0] or len(values) == 1
        assert high >= max(values)


def test_spread_of_points_follows_their_density() -> None:
    values = np.sort(np.concatenate([np.linspace(0, 1, 90), np.linspace(5, 50, 10)]))
    places = spread(values)
    assert places[:90].max() > 0.8
    assert places[90:].max() < 0.3
    assert ((places >= 0) & (places <= 1)).all()
    assert (spread(values) == places).all()
    assert thinned(values, most=100) is values


def paired(*differences: Difference, trials: int = 3) -> Paired:
    plain = made({"a": [1.0] * trials, "b": [2.0] * trials, "$c_1$": [2.0] * trials})
    settings = {"differences": list(differences)}
    return Paired(plain.rounds, plain.policies, plain.arms, settings)


def test_rows_are_the_differences_with_their_verdicts() -> None:
    three = paired(
        Difference("a", "b", -1.0, 0.1, -1.25, -0.75),
        Difference("a", "$c_1$", 0.5, 0.3, -0.2, 1.2),
        Difference("b", "$c_1$", 2.0, 0.3, 1.5, 2.5),
    )
    figure = forest_figure(three, title="Title", confidence=0.9, simultaneous=False, all_pairs=True)
    assert three.settings["asked"] == (None, 0.9, False)
    axes = figure.axes[0]
    drawn = axes.get_lines()[1:]
    assert [list(line.get_xdata()) for line in drawn[0::2]] == [
        [-1.25, -0.75],
        [-0.2, 1.2],
        [1.5, 2.5],
    ]
    points = drawn[1::2]
    assert [line.get_xdata()[0] for line in points] == [-1.0, 0.5, 2.0]
    assert [line.get_ydata()[0] for line in points] == [0, 1, 2]
    assert len({line.get_marker() for line in points}) == 3
    assert [line.get_markerfacecolor() == "white" for line in points] == [False, True, False]
    rows = [label.get_text() for label in axes.get_yticklabels()]
    assert rows == ["a − b", r"a − \$c_1\$", r"b − \$c_1\$"]  # noqa: RUF001
    numbers = [text.get_text() for text in axes.texts]
    assert numbers[0] == "−1.00 [−1.25, −0.75]"  # noqa: RUF001
    assert axes.get_lines()[0].get_xdata() == [0.0, 0.0]
    legend = [text.get_text() for text in figure.legends[0].get_texts()]
    assert legend == ["first has less regret", "second has less regret", "no clear difference"]
    assert any("by itself" in text.get_text() for text in figure.texts)
    check_page(figure)


def test_interval_that_touches_zero_shows_no_clear_difference() -> None:
    nan = float("nan")
    none = paired(
        Difference("a", "b", 0.0, 0.0, 0.0, 0.0), Difference("a", "b", -3.0, nan, nan, nan)
    )
    figure = forest_figure(none, all_pairs=True)
    assert none.settings["asked"] == (None, 0.95, True)
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["no clear difference"]
    check_page(figure)


def test_differences_that_are_far_larger_are_arrows_with_their_numbers() -> None:
    results = eight()
    figure = forest_figure(results, width=3.5, all_pairs=True)
    (axes,) = figure.axes
    low, high = axes.get_xlim()
    near = results.ranking()[:5]
    differences = results.differences(simultaneous=True)
    assert len(differences) == 28
    marks = [line for line in axes.get_lines() if line.get_linestyle() == "None"]
    marks = [mark for mark in marks if mark.get_gid() != "clipped"]
    for row, (d, mark) in enumerate(zip(differences, marks, strict=True)):
        ((x,), (y,)) = mark.get_data()
        assert y == row
        if d.first in near and d.second in near:
            assert x == d.mean
            assert low < d.low < d.high < high
        else:
            assert d.mean < low < x < low + 0.05 * (high - low)
            assert mark.get_marker() == "<"
    numbers = [text.get_text().split()[0] for text in axes.texts]
    assert float(numbers[6].replace("−", "-")) == pytest.approx(differences[6].mean, abs=0.051)  # noqa: RUF001
    assert any("arrow: beyond the axis" in text.get_text() for text in figure.texts)
    check_page(figure)
    # nothing is near a reference that is far from all: then all of it is shown
    far = forest_figure(results, "exp3-res").axes[0]
    assert far.get_xlim()[0] < -140.0


def test_policies_are_compared_with_the_best_unless_asked() -> None:
    results = eight()
    figure = forest_figure(results, width=3.5)
    best, *others = results.ranking()
    (axes,) = figure.axes
    assert [label.get_text() for label in axes.get_yticklabels()] == others
    assert axes.get_xlabel().replace("\n", " ") == f"final regret minus that of {best}"
    wanted = results.from_best(0.95)
    bars = [line for line in axes.get_lines()[1:] if len(line.get_xdata()) == 2]
    bars = [bar for bar in bars if bar.get_ydata()[0] == bar.get_ydata()[1]]
    assert [list(bar.get_xdata()) for bar in bars] == [[d.low, d.high] for d in wanted.values()]
    legend = [text.get_text() for text in figure.legends[0].get_texts()]
    assert f"more regret than {best}" in legend
    note = " ".join(text.get_text() for text in figure.texts).replace("\n", " ")
    assert f"{best} has the least mean; the 7 intervals hold together" in note
    check_page(figure)
    # not simultaneous: those of a reference
    alone = forest_figure(results, simultaneous=False).axes[0]
    assert [t.get_text() for t in alone.texts] == [
        t.get_text() for t in forest_figure(results, best, simultaneous=False).axes[0].texts
    ]
    (axes,) = forest_figure(results, xscale="symlog", width=3.5).axes
    assert axes.get_xscale() == "symlog"
    assert axes.get_xlim()[1] > max(d.high for d in wanted.values())


def test_an_interval_that_leaves_the_axis_ends_in_an_arrow(monkeypatch: pytest.MonkeyPatch) -> None:
    results = eight()
    near = [Difference(name, "ts-n", 1.0, 0.5, 0.0, 2.0) for name in results.ranking()[1:5]]
    wide = Difference("exp3-res", "ts-n", 1.5, 9.0, -9.0, 12.0)
    far = Difference("ucb-maxn", "ts-n", -30.0, 1.0, -32.0, -28.0)
    monkeypatch.setattr(Results, "differences", lambda *args, **options: [*near, wide, far])
    axes = forest_figure(results, "ts-n").axes[0]
    low, high = axes.get_xlim()
    arrows = gid(axes.figure, "clipped")
    assert [(mark.get_marker(), mark.get_ydata()[0]) for mark in arrows] == [("<", 4), (">", 4)]
    for mark, end in zip(arrows, (low, high), strict=True):
        assert mark.get_xdata()[0] == pytest.approx(end, abs=0.03 * (high - low))
    (mean,) = [m for m in axes.get_lines() if list(m.get_ydata()) == [5] and m.get_marker() == "<"]
    assert low < mean.get_xdata()[0] < low + 0.05 * (high - low)


def test_no_number_is_minus_zero() -> None:
    almost = paired(
        Difference("a", "b", -0.001, 0.5, -1.0, 1.0), Difference("a", "$c_1$", -1e-9, 0.5, -1e-9, 2)
    )
    texts = [t.get_text() for t in forest_figure(almost, all_pairs=True).axes[0].texts]
    assert texts[:2] == ["−0.001000 [−1.000000, +1.000000]", "0.000000 [0.000000, +2.000000]"]  # noqa: RUF001
    assert style.number(-0.004, 2) == style.number(0.004, 2, "+") == "0.00"
    assert style.plus_minus([-0.001], [0.5]) == ["0.00 ± 0.50"]
    assert style.number(-0.0, None) == "0"
