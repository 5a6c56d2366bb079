"""Tests of plots/regret.py: regret and sweep figures."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.figures import FOUR, check_enlarged, check_page, eight, legend_of, made, renamed, shown

from graphbandits import Results
from graphbandits.plots import final_figure, regret_figure, sweep_figure
from graphbandits.plots.style import near_ground
from graphbandits.simulation.results import PolicyResult
from graphbandits.simulation.tables import QUANTILES


def test_the_legend_is_ordered_by_final_regret(results: Results) -> None:
    texts = [text.get_text() for text in legend_of(regret_figure(results)).get_texts()]
    assert [text.split()[0] for text in texts] == results.ranking()
    best = results.ranking()[0]
    assert float(texts[0].split()[1]) == pytest.approx(results[best].mean[-1], abs=0.006)


def test_lines_are_means_and_bands_are_the_requested_ones(results: Results) -> None:
    for band in ("interval", "quantiles", "none"):
        axes = regret_figure(results, band=band, confidence=0.9).axes[0]
        lines = {line.get_label(): line for line in axes.get_lines()}
        for name, result in results.policies.items():
            assert (lines[name].get_ydata() == result.mean).all()
            assert (lines[name].get_xdata() == results.rounds).all()
        assert len(axes.collections) == (0 if band == "none" else len(FOUR))
        for name, collection in zip(results.policies, axes.collections, strict=False):
            at_end = collection.get_paths()[0].vertices
            at_end = at_end[at_end[:, 0] == results.rounds[-1], 1]
            wanted = results.interval(name, 0.9)
            if band == "quantiles":
                levels = [QUANTILES.index(0.1), QUANTILES.index(0.9)]
                wanted = tuple(results[name].quantiles[levels, -1])
            assert (at_end.min(), at_end.max()) == pytest.approx(wanted)


def test_band_is_drawn_if_all_trials_end_equal() -> None:
    curves = np.array([[1.0, 3.0], [2.0, 3.0], [6.0, 3.0]])
    one = {"a": PolicyResult.from_trials(curves, np.ones(2, np.int64))}
    axes = regret_figure(Results(np.array([1, 2]), one, ("1", "2"), {})).axes[0]
    band = axes.collections[0].get_paths()[0].vertices
    first = band[band[:, 0] == 1, 1]
    error = curves[:, 0].std(ddof=1) / np.sqrt(3)
    assert np.ptp(first) == pytest.approx(2 * 4.302653 * error, rel=1e-6)  # t with 2 degrees


def test_regret_below_zero_is_not_cut_off(results: Results) -> None:
    axes = regret_figure(made({"a": [-3.0, 1.0], "b": [2.0, 2.5]}), band="quantiles").axes[0]
    assert axes.get_ylim()[0] < -2.5
    assert regret_figure(results).axes[0].get_ylim()[0] == 0.0


def test_names_and_titles_are_shown_literally_and_fit(results: Results) -> None:
    names = [
        "$weird_{name}$",
        r"a\$b $c$",
        "ε-greedy(ε=0.1)\ud800",
        "a-name-that-has-40-letters" + "-" * 14,
    ]
    odd = renamed(results, names)
    title = "Costs of $5 and $6_a: São Paulo → Łódź, " + "a title that is too long for a line " * 3
    for figure in (
        regret_figure(odd, title, width=3.5),
        final_figure(odd, title, width=3.5),
        sweep_figure({"a": odd, "$b$": odd}, "$r$", title, width=3.5),
    ):
        check_page(figure)
        written = {text.get_text() for text in shown(figure)}
        assert not any(text._preprocess_math(text.get_text())[1] for text in shown(figure))
        joined = "".join(written).replace("\n", "").replace(" ", "")
        for name in names:
            wanted = name.replace("\ud800", "?").replace("$", r"\$").replace(" ", "")
            assert wanted in joined


def test_regret_on_a_log_or_symlog_axis_needs_no_second_panel() -> None:
    for scale in ("log", "symlog"):
        sweep = {0.1: eight(), 10.0: eight(90.0)}
        for figure, along in (
            (regret_figure(eight(), yscale=scale, width=3.5), "y"),
            (sweep_figure(sweep, "r", yscale=scale, width=3.5), "y"),
            (final_figure(eight(), xscale=scale, width=3.5), "x"),
        ):
            (axes,) = figure.axes
            assert getattr(axes, f"get_{along}scale")() == scale
            low, high = getattr(axes, f"get_{along}lim")()
            assert (low > 0.0) == (scale == "log")
            assert high > 100.0
            check_page(figure)
        assert (
            sweep_figure({0: eight(), 1: eight()}, "r", scale="symlog").axes[0].get_xlim()[0] < 0.0
        )


def test_values_not_shown_on_a_log_axis_are_noted() -> None:
    some = made({"a": [0.0, 0.0, 1.0, 2.0, 30.0], "b": [-1.0, 3.0, 4.0, 5.0, 6.0]})
    figure = final_figure(some, xscale="log")
    assert figure.axes[0].get_xlim()[0] == pytest.approx(0.8)
    assert any("3 at or below 0 not shown" in t.get_text().replace("\n", " ") for t in figure.texts)
    check_page(figure)
    late = {"a": PolicyResult.from_trials(np.array([[0.0, 2.0], [0.0, 5.0]]), np.ones(2, np.int64))}
    figure = regret_figure(Results(np.array([1, 2]), late, ("1", "2"), {}), yscale="log")
    assert all(line.get_clip_on() for line in figure.axes[0].get_lines())
    check_page(figure)
    nothing = made({"a": [0.0, 0.0], "b": [0.0, 0.0]})
    for figure in (
        regret_figure(nothing, yscale="log"),
        final_figure(nothing, xscale="log"),
        sweep_figure({1: nothing, 2: some}, "r", yscale="log"),
    ):
        check_page(figure)


def test_far_larger_regrets_add_an_enlarged_panel() -> None:
    for band in ("interval", "quantiles"):
        results = eight()
        figure = regret_figure(results, "Title", band=band, width=3.5)
        check_enlarged(figure, 5)
        whole, part = figure.axes
        for axes in (whole, part):
            lines = {line.get_label(): line for line in axes.get_lines()}
            assert set(lines) == set(results.policies)
            for name, line in lines.items():
                assert (line.get_ydata() == results[name].mean).all()
        highest = max(results.band(name, band)[1].max() for name in results.ranking()[:5])
        assert highest < part.get_ylim()[1] < 1.1 * highest
        assert whole.get_ylim()[1] > results.band("exp3-res", band)[1].max()
        # what leaves the panel at the top is not drawn over what is above it
        assert all(line.get_clip_on() for line in part.get_lines())
        assert len(legend_of(figure).get_texts()) == 8


def test_one_panel_suffices_up_to_six_times_the_smallest_regret() -> None:
    means = {name: float(result.mean[-1]) for name, result in eight(27.0).policies.items()}
    assert max(means.values()) < 6.0 * min(means.values())
    assert len(regret_figure(eight(27.0)).axes) == 1
    assert len(regret_figure(made({"a": [1.0, 1.2], "b": [90.0, 95.0]})).axes) == 1
    assert len(regret_figure(made({"a": [-1.0], "b": [1.0], "c": [90.0]})).axes) == 1
    assert len(regret_figure(made({"a": [0.0], "b": [1.0], "c": [90.0]})).axes) == 1


def test_an_enlargement_ends_at_a_gap() -> None:
    for means, count in (
        ([5.0, 6.0, 31.0], 2),
        ([5.0, 5.2, 6.0, 7.4, 7.5, 19.0, 25.0, 150.0], 5),
        ([5.0, 16.0, 17.0, 18.0, 100.0], 4),
        ([1.0, 40.0, 41.0, 200.0], 3),
        ([1.0, 2.0, 5.9], 0),
    ):
        names = [f"p{i}" for i in range(len(means))]
        found = near_ground(dict(zip(reversed(names), reversed(means), strict=True)))
        assert found == names[:count]


def test_notes_on_policies_are_marked_and_below_the_figure() -> None:
    long = "its guarantee needs r_t of at least ln T/(2K-2) = $0.863 here, and " + "more " * 20
    notes = {"exp3-res": long, "ucb-maxn": "made for graphs that stay."}
    results = eight(notes=notes)
    sweep = {0: eight(), 1: results, 2: results}
    for figure, text in (
        (regret_figure(results, width=3.5), long.strip()),
        (sweep_figure(sweep, "r", width=3.5), f"at 1, 2: {long.strip()}"),
    ):
        check_page(figure)
        labels = [label.get_text().split("  ")[0] for label in legend_of(figure).get_texts()]
        assert sorted(label for label in labels if not label[-1].isalnum()) == [
            "exp3-res†",
            "ucb-maxn*",
        ]
        below = [t.get_text().replace("\n", " ") for t in figure.texts if t.get_gid() == "note"]
        assert f"† exp3-res: {text}".replace("$", r"\$") in below[0]
        assert "* ucb-maxn: " in below[0]
    plain = regret_figure(eight())
    assert len([t for t in plain.texts if t.get_gid() == "note"]) == 1


def test_sweep_points_are_final_means_at_sorted_values_with_their_intervals() -> None:
    sweep = {
        0.5: made({"a": [1.0, 3.0], "b": [5.0, 6.0]}),
        0.0: made({"a": [2.0, 8.0]}),
        1.0: made({"b": [1.0, 2.0], "a": [0.5, 0.5]}),
    }
    axes = sweep_figure(sweep, "r", confidence=0.8).axes[0]
    bars = {bar.get_label(): bar.lines for bar in axes.containers}
    assert bars["a"][0].get_xdata().tolist() == [0.0, 0.5, 1.0]
    assert bars["a"][0].get_ydata().tolist() == [5.0, 2.0, 0.5]
    assert bars["b"][0].get_ydata().tolist() == pytest.approx([np.nan, 5.5, 1.5], nan_ok=True)
    segments = bars["a"][2][0].get_segments()
    for value, segment in zip((0.0, 0.5, 1.0), segments, strict=True):
        assert segment[:, 1].tolist() == pytest.approx(list(sweep[value].interval("a", 0.8)))
    low, high = axes.get_xlim()
    assert low < 0.0 < 1.0 < high
    assert axes.get_ylim()[1] > 5.0 + 3.0
    assert [text.get_text() for text in legend_of(sweep_figure(sweep, "r")).get_texts()] == [
        "a",
        "b",
    ]


def test_an_axis_of_whole_numbers_has_whole_ticks(results: Results) -> None:
    for keys in ((2, 3), (3, 4, 5), (7,), (2, 200), (10**6, 10**6 + 1)):
        axes = sweep_figure(dict.fromkeys(keys, results), "arms").axes[0]
        low, high = axes.get_xlim()
        ticks = [float(tick) for tick in axes.get_xticks() if low <= tick <= high]
        assert ticks
        assert all(tick.is_integer() for tick in ticks)
        between = sweep_figure({float(key): results for key in (0, 1)}, "r").axes[0].get_xticks()
        assert not all(float(tick).is_integer() for tick in between)


def test_sweep_over_texts_keeps_their_order(results: Results) -> None:
    figure = sweep_figure({"star": results, "empty $1": results}, "graph")
    ticks = [text.get_text() for text in figure.axes[0].get_xticklabels()]
    assert ticks == ["star", r"empty \$1"]
    check_page(figure)
    long = {f"a-description-in-one-word-number-{i}": results for i in range(6)}
    check_page(sweep_figure(long, "graph"))


def test_a_sweep_with_far_larger_regrets_is_enlarged_too() -> None:
    sweep = {"star": eight(), "cycle": eight(120.0), "a-graph-with-a-long-name": eight()}
    check_enlarged(sweep_figure(sweep, "graph", "Title", width=3.5), 5)
    figure = sweep_figure({0.1: eight(), 10.0: eight(90.0)}, "r", scale="log", width=3.5)
    check_enlarged(figure, 5)
    highest = max(eight().interval(name)[1] for name in eight().ranking()[:5])
    assert figure.axes[1].get_ylim()[1] == pytest.approx(1.05 * highest)
