"""What the figures say: their artists hold the results, and a reader can tell everything apart."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
from pathlib import Path

import matplotlib
import networkx
import numpy as np
import pytest
from matplotlib.colors import to_hex, to_rgb
from matplotlib.figure import Figure
from matplotlib.text import Annotation, Text

from graphbandits import Bernoulli, BetaBernoulli, Results, simulate
from graphbandits.errors import InputError
from graphbandits.experiments import experiment_names, load_experiment
from graphbandits.graphs import Fixed, RandomFeedback, Uniform, from_matrix
from graphbandits.plots import (
    COLOURS,
    Look,
    final_figure,
    forest_figure,
    look,
    looks,
    plays_figure,
    regret_figure,
    save_figure,
    style,
    sweep_figure,
)
from graphbandits.plots.canvas import near_ground
from graphbandits.plots.drawing import NAMED, layout, place_labels
from graphbandits.plots.final import POINTS, spread, thinned
from graphbandits.plots.plays import DRAWN
from graphbandits.registry import registered
from graphbandits.results import QUANTILES, Difference, PolicyResult

FOUR = ["ts-n", "ids-n", "idsn-lp", "ids-lp"]
NAMES = ("São Paulo", "bob lee", "Zürich Hauptbahnhof", "Łódź", "cost_$5_$6", "x" * 40)


class Paired(Results):
    """Results whose differences are given, and that remember how they were asked for them."""

    def differences(self, reference=None, confidence=0.95, simultaneous=True):  # type: ignore[override]
        self.settings["asked"] = (reference, confidence, simultaneous)  # type: ignore[index]
        return self.settings["differences"]


def made(finals: dict[str, list[float]], plays: object = (1, 2, 3), arms: object = None) -> Results:
    """Results of two rounds with these final regrets."""
    counts = np.asarray(plays, np.int64)
    policies = {
        name: PolicyResult.from_trials(np.column_stack([np.array(v) / 2.0, v]), counts)
        for name, v in finals.items()
    }
    names = tuple(str(i + 1) for i in range(len(counts))) if arms is None else arms
    return Results(np.array([1, 2]), policies, names, {})  # type: ignore[arg-type]


def renamed(results: Results, names: list[str]) -> Results:
    policies = dict(zip(names, results.policies.values(), strict=True))
    return Results(results.rounds, policies, results.arms, results.settings)


@pytest.fixture(scope="module")
def results() -> Results:
    return simulate(FOUR, graph="paper", horizon=80, trials=60)


@pytest.fixture(scope="module")
def directed() -> Fixed:
    matrix = np.eye(6)
    for i, j, p in [(0, 1, 0.9), (1, 2, 0.3), (2, 0, 0.5), (0, 3, 1), (3, 4, 0.1), (4, 3, 0.8)]:
        matrix[i, j] = p
    matrix[4, 5] = 0.6
    return Fixed(from_matrix(matrix).feedback, NAMES)


@pytest.fixture(scope="module")
def named(directed: Fixed) -> Results:
    plays = np.array([40, 10, 20, 0, 25, 5])
    other = np.array([5, 5, 5, 5, 40, 40])
    policies = {
        name: PolicyResult.from_trials(np.array([[1.0, 2.0], [2.0, 3.5]]) + i, p)
        for i, (name, p) in enumerate({"ids_$a$": plays, "ts-n": other}.items())
    }
    return Results(np.array([1, 2]), policies, NAMES, {})


def gid(figure: Figure, name: str, axes: int = 0) -> list:
    return [child for child in figure.axes[axes].get_children() if child.get_gid() == name]


def shown(figure: Figure) -> list[Text]:
    """Texts that are on the page."""
    figure.draw_without_rendering()
    return [t for t in figure.findobj(Text) if t.get_visible() and t.get_text().strip()]


def check_page(figure: Figure) -> None:
    """No text leaves the page, none is smaller than 7 points, legend and note do not meet."""
    inside = figure.bbox.padded(1.5)
    figure.draw_without_rendering()
    hidden = set()
    for axis in itertools.chain.from_iterable((a.xaxis, a.yaxis) for a in figure.axes):
        hidden |= {id(text) for tick in axis.get_major_ticks() for text in tick.findobj(Text)}
        hidden |= {id(text) for tick in axis.get_minor_ticks() for text in tick.findobj(Text)}
        if axis.axes.axison:  # ticks beyond the limits are there, and not drawn
            drawn = axis._update_ticks()
            hidden -= {id(text) for tick in drawn for text in tick.findobj(Text)}
    for text in shown(figure):
        if id(text) in hidden:
            continue
        box = text.get_window_extent()
        here = f"{text.get_text()!r} at {box.extents} of {figure.bbox.extents}"
        assert inside.contains(box.x0, box.y0), here
        assert inside.contains(box.x1, box.y1), here
        assert text.get_fontsize() >= 7.0, here
    below = [legend.get_window_extent() for legend in figure.legends]
    below += [text.get_window_extent() for text in figure.texts if text.get_gid() == "note"]
    for first, second in itertools.combinations(below, 2):
        assert not first.padded(-1).overlaps(second.padded(-1))
    for axes in figure.axes:
        box = axes.get_tightbbox()
        assert not any(box.padded(-1).overlaps(other.padded(-1)) for other in below)


def legend_of(figure: Figure):
    legend = figure.axes[0].get_legend()
    return figure.legends[0] if legend is None else legend


# --- style ------------------------------------------------------------------------------------


def test_looks_of_64_policies_differ_even_without_colour() -> None:
    assert len({(str(look(i).line), look(i).marker) for i in range(64)}) == 64
    assert len({(look(i).colour, look(i).marker) for i in range(64)}) == 64
    assert len({(look(i).colour, str(look(i).line)) for i in range(64)}) == 64
    first = [look(i) for i in range(8)]  # what a paper has: nothing is shared at all
    for part in ("colour", "line", "marker"):
        assert len({str(getattr(one, part)) for one in first}) == 8


def test_a_look_goes_with_the_name_not_with_the_place_or_the_company() -> None:
    known = [name for group in style.OWNERS for name in group]
    everything = looks([*known, "mine", "yours"])
    assert looks([*reversed(known), "yours", "mine"]) == everything
    for name in known:
        assert looks(["mine", name, "ids-n(beta=2)"])[name] == everything[name]
        assert looks([name])[name] == everything[name]
    alone = looks(["mine"])["mine"]
    assert looks(["ids-n", "mine"])["mine"] == looks(["mine", "ts-n"])["mine"] == alone
    assert len(set(looks(known).values())) == len(known) == len(set(known))
    assert set(known) <= set(registered("policy"))


@pytest.mark.parametrize("name", experiment_names())
def test_policies_of_a_built_in_experiment_share_no_colour_if_eight_will_do(name: str) -> None:
    for cell in load_experiment(name).plans():
        lines = list(cell.lines.values())
        colours = {one.colour for one in looks(lines).values()}
        assert len(colours) == min(8, len(lines))


@pytest.mark.parametrize("count", [8, 30, 64, 70])
def test_policies_of_others_share_colours_only_where_all_are_taken(count: int) -> None:
    names = [f"mine(beta={i})" for i in range(count - 3)] + ["ids-n", "ts-n", "uniform"]
    found = looks(names)
    assert list(found) == names
    uses = [sum(one.colour == colour for one in found.values()) for colour in COLOURS]
    assert max(uses) - min(uses) <= 1
    assert len(set(found.values())) == min(count, 64)


def test_a_policy_looks_the_same_in_every_figure(results: Results) -> None:
    wanted = {name: one.colour for name, one in looks(results.policies).items()}
    curves = {line.get_label(): line for line in regret_figure(results).axes[0].get_lines()}
    assert {name: line.get_color() for name, line in curves.items()} == wanted
    swept = sweep_figure({0: results, 1: results}, "r").axes[0].containers
    assert {bar.get_label(): bar.lines[0].get_color() for bar in swept} == wanted
    final = final_figure(results)
    for name, colour in wanted.items():
        (points,) = gid(final, f"trials of {name}")
        assert to_hex(points.get_facecolor()[0]) == colour.lower()


def test_colours_differ_in_brightness_or_hue_for_all_eyes() -> None:
    """Under a simulated lack of red or green receptors (Machado 2009) no two colours coincide."""
    linear = np.array([to_rgb(c) for c in COLOURS]) ** 2.2
    for matrix in (
        [[0.152, 1.053, -0.205], [0.115, 0.786, 0.099], [-0.004, -0.048, 1.052]],
        [[0.367, 0.861, -0.228], [0.280, 0.673, 0.047], [-0.012, 0.043, 0.969]],
    ):
        seen = np.clip(linear @ np.array(matrix).T, 0, 1) ** (1 / 2.2)
        gaps = [np.linalg.norm(a - b) for i, a in enumerate(seen) for b in seen[:i]]
        assert min(gaps) > 0.1
    luminance = linear @ [0.2126, 0.7152, 0.0722]
    assert (1.05 / (luminance + 0.05)).min() > 2.0  # on white


def test_a_users_settings_change_nothing_and_are_not_changed(results: Results, tmp_path) -> None:
    def picture(name: str) -> bytes:
        return save_figure(regret_figure(results), tmp_path / name, "png")[0].read_bytes()

    plain = picture("plain")
    own = {"axes.facecolor": "black", "font.size": 30.0, "text.usetex": True, "axes.grid": True}
    with matplotlib.rc_context(own):
        assert picture("own") == plain
        assert {key: matplotlib.rcParams[key] for key in own} == own


# --- regret -----------------------------------------------------------------------------------


def test_the_legend_is_ordered_by_final_regret(results: Results) -> None:
    texts = [text.get_text() for text in legend_of(regret_figure(results)).get_texts()]
    assert [text.split()[0] for text in texts] == results.ranking()
    best = results.ranking()[0]
    assert float(texts[0].split()[1]) == pytest.approx(results[best].mean[-1], abs=0.006)


@pytest.mark.parametrize("band", ["interval", "quantiles", "none"])
def test_lines_are_the_means_and_bands_what_was_asked(results: Results, band: str) -> None:
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


def test_a_band_stays_where_all_trials_end_alike() -> None:
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


def test_the_legend_covers_no_curve(results: Results) -> None:
    for drawn in (results, made({"a": [4.0, 4.2], "b": [0.1, 0.2]})):
        figure = regret_figure(drawn)
        check_page(figure)
        legend = figure.axes[0].get_legend()
        if legend is None:
            continue
        box = legend.get_window_extent()
        for line in figure.axes[0].get_lines():
            path = line.get_transform().transform_path(line.get_path())
            assert not path.intersects_bbox(box, filled=False)


def test_many_policies_have_their_legend_outside() -> None:
    many = made({f"policy-{i}(beta={i})": [i + 1.0, i + 2.0, i + 4.0] for i in range(20)})
    figure = regret_figure(many)
    assert figure.axes[0].get_legend() is None
    assert len(figure.legends[0].get_texts()) == 20
    check_page(figure)


@pytest.mark.parametrize("width", [3.5, 7.2])
def test_names_and_titles_are_shown_as_they_are_and_fit(results: Results, width: float) -> None:
    names = [
        "$weird_{name}$",
        r"a\$b $c$",
        "ε-greedy(ε=0.1)\ud800",
        "a-name-that-has-40-letters" + "-" * 14,
    ]
    odd = renamed(results, names)
    title = "Costs of $5 and $6_a: São Paulo → Łódź, " + "a title that is too long for a line " * 3
    for figure in (
        regret_figure(odd, title, width=width),
        final_figure(odd, title, width=width),
        sweep_figure({"a": odd, "$b$": odd}, "$r$", title, width=width),
    ):
        check_page(figure)
        written = {text.get_text() for text in shown(figure)}
        assert not any(text._preprocess_math(text.get_text())[1] for text in shown(figure))
        joined = "".join(written).replace("\n", "").replace(" ", "")
        for name in names:
            wanted = name.replace("\ud800", "?").replace("$", r"\$").replace(" ", "")
            assert wanted in joined


def test_a_log_axis_of_rounds(results: Results) -> None:
    axes = regret_figure(results, scale="log").axes[0]
    assert axes.get_xscale() == "log"
    assert axes.get_xlim() == (1.0, 80.0)


@pytest.mark.parametrize("scale", ["log", "symlog"])
@pytest.mark.parametrize("width", [3.5, 7.2])
def test_regret_on_a_log_or_symlog_axis_needs_no_second_panel(scale: str, width: float) -> None:
    sweep = {0.1: eight(), 10.0: eight(90.0)}
    for figure, along in (
        (regret_figure(eight(), yscale=scale, width=width), "y"),
        (sweep_figure(sweep, "r", yscale=scale, width=width), "y"),
        (final_figure(eight(), xscale=scale, width=width), "x"),
    ):
        (axes,) = figure.axes
        assert getattr(axes, f"get_{along}scale")() == scale
        low, high = getattr(axes, f"get_{along}lim")()
        assert (low > 0.0) == (scale == "log")
        assert high > 100.0
        check_page(figure)
    assert sweep_figure({0: eight(), 1: eight()}, "r", scale="symlog").axes[0].get_xlim()[0] < 0.0


def test_what_a_log_axis_cannot_show_is_left_out_and_said() -> None:
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


def eight(worst: float = 150.0, notes: dict[str, str] | None = None) -> Results:
    """As in a paper: five policies of about the same regret, two larger ones, and the worst."""
    rng = np.random.default_rng(4)
    finals = [5.0, 7.5, 5.2, 6.0, 7.4, 19.0, 25.0, worst]
    names = [*FOUR, "ts-n-sampled", "eps-greedy-lp", "ucb-maxn", "exp3-res"]
    rounds = np.arange(1, 101)
    policies = {
        name: PolicyResult.from_trials(
            final * rng.gamma(4.0, 0.25, (40, 1)) * np.sqrt(rounds / 100.0), np.array([30, 50, 20])
        )
        for name, final in zip(names, finals, strict=True)
    }
    facts = {name: {"note": text} for name, text in (notes or {}).items()}
    return Results(rounds, policies, ("1", "2", "3"), {"policies": facts})


def check_enlarged(figure: Figure, count: int) -> None:
    """Two panels with the same x axis and one legend; the note and the titles say what is what."""
    whole, part = figure.axes
    assert whole.get_xlim() == part.get_xlim()
    assert whole.get_title("left") == "all policies"
    assert part.get_title("left") == f"enlarged: the {count} with least regret"
    assert len(figure.legends) == 1
    assert whole.get_legend() is None
    (shade,) = gid(figure, "enlarged")
    assert (shade.get_y(), shade.get_y() + shade.get_height()) == pytest.approx(part.get_ylim())
    assert any("grey: what the" in text.get_text() for text in figure.texts)
    check_page(figure)


@pytest.mark.parametrize("width", [3.5, 7.2])
@pytest.mark.parametrize("band", ["interval", "quantiles"])
def test_far_larger_regrets_leave_the_others_a_panel_of_their_own(band: str, width: float) -> None:
    results = eight()
    figure = regret_figure(results, "Title", band=band, width=width)
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


def test_one_panel_is_enough_up_to_six_times_the_least() -> None:
    means = {name: float(result.mean[-1]) for name, result in eight(27.0).policies.items()}
    assert max(means.values()) < 6.0 * min(means.values())
    assert len(regret_figure(eight(27.0)).axes) == 1
    assert len(regret_figure(made({"a": [1.0, 1.2], "b": [90.0, 95.0]})).axes) == 1
    assert len(regret_figure(made({"a": [-1.0], "b": [1.0], "c": [90.0]})).axes) == 1
    assert len(regret_figure(made({"a": [0.0], "b": [1.0], "c": [90.0]})).axes) == 1


@pytest.mark.parametrize(
    ("means", "shown"),
    [
        ([5.0, 6.0, 31.0], 2),
        ([5.0, 5.2, 6.0, 7.4, 7.5, 19.0, 25.0, 150.0], 5),  # not 7: the five would be flat
        ([5.0, 16.0, 17.0, 18.0, 100.0], 4),  # not the best alone
        ([1.0, 40.0, 41.0, 200.0], 3),  # no two are close: up to the largest gap
        ([1.0, 2.0, 5.9], 0),
    ],
)
def test_an_enlargement_ends_at_a_gap(means: list[float], shown: int) -> None:
    names = [f"p{i}" for i in range(len(means))]
    found = near_ground(dict(zip(reversed(names), reversed(means), strict=True)))
    assert found == names[:shown]


@pytest.mark.parametrize("width", [3.5, 7.2])
def test_notes_on_policies_are_marked_and_below_the_picture(width: float) -> None:
    long = "its guarantee needs r_t of at least ln T/(2K-2) = $0.863 here, and " + "more " * 20
    notes = {"exp3-res": long, "ucb-maxn": "made for graphs that stay.", "ts-n": " "}
    results = eight(notes=notes)
    sweep = {0: eight(), 1: results, 2: results}
    for figure, text in (
        (regret_figure(results, width=width), long.strip()),
        (sweep_figure(sweep, "r", width=width), f"at 1, 2: {long.strip()}"),
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


def test_a_note_makes_the_figure_higher_and_not_the_axes_lower() -> None:
    figures = [regret_figure(eight(27.0, notes=n)) for n in ({}, {"ts-n": "a b c " * 60})]
    heights = []
    for figure in figures:
        figure.draw_without_rendering()
        heights.append(figure.axes[0].bbox.height)
    assert heights[1] == pytest.approx(heights[0], rel=0.03)
    assert figures[1].get_figheight() > figures[0].get_figheight() + 0.2


# --- sweep ------------------------------------------------------------------------------------


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


@pytest.mark.parametrize("keys", [(2, 3), (3, 4, 5), (7,), (2, 200), (10**6, 10**6 + 1)])
def test_an_axis_of_whole_numbers_has_whole_ticks(results: Results, keys: tuple[int, ...]) -> None:
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


def test_a_policy_looks_the_same_in_the_figures_of_several_sweeps() -> None:
    def drawn(names: str, **options: str) -> dict[str, tuple[object, ...]]:
        runs = {value: made({name: [1.0, 2.0] for name in names}) for value in (1, 2)}
        (axes,) = sweep_figure(runs, "r", **options).axes
        lines = {bar.get_label(): bar.lines[0] for bar in axes.containers}
        return {n: (m.get_color(), m.get_linestyle(), m.get_marker()) for n, m in lines.items()}

    everything = drawn("abcdefgh")
    assert drawn("hgfedcba") == everything
    assert drawn("cb", order="abcdefgh") == {name: everything[name] for name in "cb"}
    assert drawn("abcdefgh", order="a") == everything


def test_one_trial_and_one_value_can_be_swept() -> None:
    check_page(sweep_figure({3: made({"a": [1.0]})}, "K"))


@pytest.mark.parametrize("width", [3.5, 7.2])
def test_a_sweep_with_far_larger_regrets_is_enlarged_too(width: float) -> None:
    sweep = {"star": eight(), "cycle": eight(120.0), "a-graph-with-a-long-name": eight()}
    check_enlarged(sweep_figure(sweep, "graph", "Title", width=width), 5)
    figure = sweep_figure({0.1: eight(), 10.0: eight(90.0)}, "r", scale="log", width=width)
    check_enlarged(figure, 5)
    highest = max(eight().interval(name)[1] for name in eight().ranking()[:5])
    assert figure.axes[1].get_ylim()[1] == pytest.approx(1.05 * highest)


# --- final ------------------------------------------------------------------------------------


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


def test_many_trials_are_thinned_and_the_figure_says_so() -> None:
    values = np.random.default_rng(3).pareto(2.0, 10_000)
    figure = final_figure(made({"a": values.tolist()}))
    (points,) = gid(figure, "trials of a")
    x = np.asarray(points.get_offsets())[:, 0]
    assert len(x) == POINTS
    assert (x.min(), x.max()) == (values.min(), values.max())
    assert np.median(x) == pytest.approx(np.median(values), rel=0.02)
    assert any("400 of 10000 trials" in text.get_text().replace("\n", " ") for text in figure.texts)


@pytest.mark.parametrize("width", [3.5, 7.2])
def test_far_larger_regrets_have_a_longer_axis(width: float) -> None:
    results = eight()
    figure = final_figure(results, "Title", width=width)
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


@pytest.mark.parametrize("values", [[2.0], [0.0], [3.0] * 30, [0.0] * 30, [1.0, 9.0]])
def test_few_or_equal_trials_can_be_drawn(values: list[float]) -> None:
    one = made({"a": values, "b": values})
    for figure in (regret_figure(one), final_figure(one), regret_figure(one, scale="log")):
        check_page(figure)
    figure = final_figure(one)
    assert len(gid(figure, "quartiles")) == (2 if len(values) >= 5 else 0)
    low, high = figure.axes[0].get_xlim()
    assert low <= one.interval("a")[0] or len(values) == 1
    assert high >= max(values)


def test_the_cloud_is_wide_where_trials_are_many() -> None:
    values = np.sort(np.concatenate([np.linspace(0, 1, 90), np.linspace(5, 50, 10)]))
    places = spread(values)
    assert places[:90].max() > 0.8
    assert places[90:].max() < 0.3
    assert ((places >= 0) & (places <= 1)).all()
    assert (spread(values) == places).all()
    assert thinned(values, most=100) is values


# --- plays ------------------------------------------------------------------------------------


def radii(figure: Figure, axes: int) -> np.ndarray:
    (nodes,) = gid(figure, "nodes", axes)
    return nodes._widths


def test_areas_and_colours_are_the_shares_of_plays(named: Results, directed: Fixed) -> None:
    figure = plays_figure(named, graph=directed)
    areas = {}
    for axes, name in enumerate(named.ranking()):
        plays = named[name].plays
        (nodes,) = gid(figure, "nodes", axes)
        assert nodes.get_array().tolist() == pytest.approx((plays / plays.sum()).tolist())
        assert nodes.get_clim() == (0.0, 0.4)
        areas[name] = radii(figure, axes) ** 2
        assert (areas[name] * plays.max()).tolist() == pytest.approx(
            (areas[name].max() * plays).tolist()
        )
        assert figure.axes[axes].get_title() == name.replace("$", r"\$")
    assert areas["ids_$a$"].max() == pytest.approx(areas["ts-n"].max())  # both are 40 %


def test_arrows_go_from_the_played_arm_to_the_one_it_shows(named: Results, directed: Fixed) -> None:
    figure = plays_figure(named, "ts-n", graph=directed)
    places = np.asarray(gid(figure, "nodes")[0].get_offsets())
    (heads,), (edges,) = gid(figure, "heads"), gid(figure, "edges")
    found = set()
    for path, line in zip(heads.get_paths(), edges.get_segments(), strict=True):
        target = np.argmin(np.hypot(*(places - path.vertices[0]).T))
        source = np.argmin(np.hypot(*(places - line[0]).T))
        base = path.vertices[1:3].mean(axis=0)
        towards = places[target] - base
        assert towards @ (path.vertices[0] - base) > 0.0
        found.add((int(source), int(target)))
    assert found == {(0, 1), (1, 2), (2, 0), (0, 3), (3, 4), (4, 3), (4, 5)}
    widths = dict(zip(sorted(found), edges.get_linewidths(), strict=True))
    assert widths[0, 3] > widths[0, 1] > widths[4, 5] > widths[1, 2] > widths[3, 4]


def test_a_symmetric_graph_has_lines_without_arrows(results: Results) -> None:
    figure = plays_figure(results, "ids-n", graph="paper")
    places = np.asarray(gid(figure, "nodes")[0].get_offsets()).tolist()
    pairs = {
        tuple(sorted(places.index(end) for end in segment.tolist()))
        for segment in gid(figure, "edges")[0].get_segments()
    }
    assert pairs == {(0, 1), (0, 2), (1, 2), (2, 3), (2, 4), (3, 4)}
    assert gid(figure, "heads")[0].get_paths() == []


def labels_of(figure: Figure, axes: int = 0) -> list[Annotation]:
    return [text for text in figure.axes[axes].texts if isinstance(text, Annotation)]


def check_labels(figure: Figure) -> None:
    check_page(figure)
    for axes in figure.axes[:-1]:
        boxes = [text.get_window_extent() for text in axes.texts]
        for first, second in itertools.combinations(boxes, 2):
            assert not first.padded(-1).overlaps(second.padded(-1))


def test_every_arm_is_named_and_no_name_covers_another(named: Results, directed: Fixed) -> None:
    for figure in (plays_figure(named, graph=directed), plays_figure(named)):
        check_labels(figure)
        for axes, policy in enumerate(named.ranking()):
            texts = [text.get_text().replace("\n", "") for text in labels_of(figure, axes)]
            for name, plays in zip(NAMES, named[policy].plays, strict=True):
                wanted = name.replace("$", r"\$").replace(" ", "") + f"{plays:.0f}%"
                assert wanted in [text.replace(" ", "") for text in texts]


def test_names_without_room_become_numbers_with_a_key() -> None:
    names = tuple(f"customer segment number {i:02d} of the north" for i in range(20))
    crowded = made({"a": [1.0, 2.0], "b": [2.0, 3.0]}, np.arange(1, 21), names)
    figure = plays_figure(crowded, graph="grid(columns=5)")
    check_labels(figure)
    assert sorted(int(text.get_text()) for text in labels_of(figure)) == list(range(1, 21))
    key = [text.get_text() for text in figure.legends[0].get_texts()]
    assert key == [f"{i + 1}  {name}" for i, name in enumerate(names)]


def test_of_many_arms_the_most_played_are_drawn_and_named() -> None:
    plays = np.arange(300)
    many = made({"a": [1.0, 2.0]}, plays)
    graph = networkx.path_graph(300, create_using=networkx.DiGraph)
    graph = networkx.relabel_nodes(graph, {i: str(i + 1) for i in range(300)})
    figure = plays_figure(many, graph=graph)
    (nodes,) = gid(figure, "nodes")
    assert sorted(nodes.get_array() * plays.sum()) == pytest.approx(list(range(300 - DRAWN, 300)))
    assert len(gid(figure, "edges")[0].get_segments()) == DRAWN - 1
    named = [int(text.get_text().split("\n")[0]) for text in labels_of(figure)]
    assert 0 < len(named) <= NAMED
    assert min(named) > 300 - NAMED
    assert any("100 most played of 300 arms" in text.get_text() for text in figure.texts)
    check_labels(figure)


def test_200_000_arms_need_no_matrix() -> None:
    plays = np.ones(200_000, np.int64)
    plays[77] = 10**7
    figure = plays_figure(made({"a": [1.0]}, plays), graph=Uniform(0.2, 200_000))
    assert labels_of(figure)[0].get_text().split("\n")[0] == "78"


def test_one_arm_and_graphs_without_edges_can_be_drawn() -> None:
    check_labels(plays_figure(made({"a": [1.0]}, [7]), graph="empty"))
    figure = plays_figure(made({"a": [1.0]}, [7, 2, 1]))
    assert any("no fixed graph" in text.get_text() for text in figure.texts)
    check_labels(figure)


def test_layouts_are_repeatable_and_untangle_a_grid() -> None:
    matrix = networkx.to_numpy_array(networkx.grid_2d_graph(4, 5))
    places = layout(matrix)
    assert (layout(matrix) == places).all()
    gaps = np.hypot(*(places[:, None] - places).transpose(2, 0, 1))
    assert gaps[matrix > 0].max() < gaps[(matrix == 0) & ~np.eye(20, dtype=bool)].min()
    ring = layout(networkx.to_numpy_array(networkx.cycle_graph(12)))
    assert np.ptp(np.hypot(*ring.T)) < 0.1


def test_labels_move_out_of_each_others_way() -> None:
    centres = np.array([[50.0, 50.0], [54.0, 50.0], [58.0, 50.0]])
    sizes = np.array([[30.0, 10.0]] * 3)
    frame = np.array([0.0, 0.0, 110.0, 100.0])
    found, wrong = place_labels(
        sizes, np.arange(3), centres, np.full(3, 1.5), frame, np.empty((0, 2))
    )
    assert (wrong < 0.01).all()
    for first, second in itertools.combinations(found, 2):
        assert (np.abs(first - second) >= [30.0, 10.0]).any()
    _, wrong = place_labels(
        sizes, np.arange(3), centres, np.full(3, 1.5), frame / 6.0, np.empty((0, 2))
    )
    assert (wrong > 0.5).all()


def parts(figure: Figure) -> np.ndarray:
    """Widths of the parts of each bar: a row a policy, a column a rank."""
    bars = figure.axes[0].patches
    rows = len(figure.axes[0].get_yticks())
    return np.array([bar.get_width() for bar in bars]).reshape(-1, rows).T


@pytest.mark.parametrize("width", [3.5, 7.2])
def test_plays_are_by_true_rank_the_best_arm_first(results: Results, width: float) -> None:
    figure = plays_figure(results, width=width)
    assert [t.get_text() for t in figure.axes[0].get_yticklabels()] == results.ranking()
    for name, shares in zip(results.ranking(), parts(figure), strict=True):
        assert shares == pytest.approx(results[name].rank_plays / results[name].plays.sum())
        assert shares[0] == shares.max()  # the best is played most; which arm that is differs
    assert "true rank" in figure.axes[0].get_xlabel().replace("\n", " ")
    assert [t.get_text() for t in figure.legends[0].get_texts()] == list("12345")
    check_page(figure)
    # on a graph which arm it is matters
    assert gid(plays_figure(results, by="arm"), "nodes")
    assert gid(plays_figure(results, graph="paper"), "nodes")


def test_of_many_arms_ranks_share_parts() -> None:
    results = simulate("uniform", graph="star", arms=30, horizon=30, trials=20)
    figure = plays_figure(results)
    ranked = results["uniform"].rank_plays / results["uniform"].plays.sum()
    cuts = [0, 1, 2, 3, 5, 10, 20, 30]
    wanted = [ranked[a:b].sum() for a, b in itertools.pairwise(cuts)]
    assert parts(figure)[0] == pytest.approx(wanted)
    legend = [text.get_text() for text in figure.legends[0].get_texts()]
    assert legend == ["1", "2", "3", "4 to 5", "6 to 10", "11 to 20", "21 to 30"]
    check_page(figure)


def test_without_ranks_plays_are_by_arm_and_the_figure_says_so(
    results: Results, tmp_path: Path
) -> None:
    loaded = Results.load(results.save(tmp_path / "kept"))
    figure = plays_figure(loaded)
    assert figure.axes[-1].get_ylabel() == "share of plays, by arm"
    note = " ".join(text.get_text() for text in figure.texts)
    assert "by arm: the true ranks are not recorded" in note.replace("\n", " ")
    assert not any("ranks" in t.get_text() for t in plays_figure(loaded, by="arm").texts)
    # with fixed means they are known from the settings
    world = Bernoulli(BetaBernoulli.of(3), fixed=[0.2, 0.9, 0.3])
    fixed = simulate("ts", world, "empty", horizon=30, trials=5)
    again = Results.load(fixed.save(tmp_path / "fixed"))
    plays = fixed["ts"].plays[[1, 2, 0]] / fixed["ts"].plays.sum()
    assert parts(plays_figure(again))[0] == pytest.approx(plays)


# --- forest -----------------------------------------------------------------------------------


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
    assert legend == ["first has less regret", "second has less regret", "not told apart"]
    assert any("by itself" in text.get_text() for text in figure.texts)
    check_page(figure)


def test_an_interval_that_touches_zero_tells_nothing_apart() -> None:
    nan = float("nan")
    none = paired(
        Difference("a", "b", 0.0, 0.0, 0.0, 0.0), Difference("a", "b", -3.0, nan, nan, nan)
    )
    figure = forest_figure(none, all_pairs=True)
    assert none.settings["asked"] == (None, 0.95, True)
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["not told apart"]
    check_page(figure)


def test_long_names_and_one_column_fit() -> None:
    long = "policy(with=1, many=2, parameters=3, 40)"
    rows = [Difference(long, f"{long}-{i}", -1.0, 0.1, -1.2, -0.8) for i in range(5)]
    for width in (3.5, 7.2):
        check_page(forest_figure(paired(*rows), width=width, all_pairs=True))
        check_page(forest_figure(paired(*rows), "b", width=width))


@pytest.mark.parametrize("width", [3.5, 7.2])
def test_differences_that_are_far_larger_are_arrows_with_their_numbers(width: float) -> None:
    results = eight()
    figure = forest_figure(results, width=width, all_pairs=True)
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


@pytest.mark.parametrize("width", [3.5, 7.2])
def test_eight_policies_have_their_plays_side_by_side(width: float) -> None:
    figure = plays_figure(eight(), graph="star(direction=out)", width=width)
    check_labels(figure)
    titles = [axes.title.get_window_extent() for axes in figure.axes[:-1]]
    assert len(titles) == 8
    for first, second in itertools.combinations(titles, 2):
        assert not first.overlaps(second)


# --- files ------------------------------------------------------------------------------------


def test_the_same_figure_gives_the_same_files(named: Results, directed: Fixed, tmp_path) -> None:
    def write() -> dict[str, bytes]:
        figure = plays_figure(named, title="Title", graph=directed)
        written = save_figure(figure, tmp_path / "figure", ("png", "svg", "pdf"))
        return {path.name: path.read_bytes() for path in written}

    first = write()
    assert write() == first
    assert list(first) == ["figure.png", "figure.svg", "figure.pdf"]
    assert first["figure.png"][:8] == b"\x89PNG\r\n\x1a\n"
    assert b"<svg" in first["figure.svg"]
    assert first["figure.pdf"][:5] == b"%PDF-"
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(first)


def test_another_process_writes_the_same_bytes(tmp_path) -> None:
    program = (
        "import sys; from graphbandits import simulate; from graphbandits.plots import *;"
        "r = simulate('ts-n', graph='paper', horizon=5, trials=4);"
        "save_figure(plays_figure(r, graph='paper'), sys.argv[1], ('svg', 'pdf'))"
    )
    source = str(Path(__file__).parents[1] / "src")
    for seed in "01":
        environment = os.environ | {"PYTHONHASHSEED": seed, "PYTHONPATH": source}
        command = [sys.executable, "-c", program, str(tmp_path / seed)]
        subprocess.run(command, check=True, env=environment)
    for kind in ("svg", "pdf"):
        assert (tmp_path / f"0.{kind}").read_bytes() == (tmp_path / f"1.{kind}").read_bytes()


# --- bad input --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda r: regret_figure(r, band="quantile"), "did you mean 'quantiles'"),
        (lambda r: regret_figure(r, scale="logarithm"), "unknown scale"),
        (lambda r: regret_figure(r, confidence=95), "between 0 and 1"),
        (lambda r: final_figure(r, confidence=0), "between 0 and 1"),
        (lambda r: regret_figure(r, width=0.5), "3.5 is one column"),
        (lambda r: sweep_figure({}, "r"), "at least one value"),
        (lambda r: sweep_figure({1: r, "2": r}, "r"), "all finite numbers or all texts"),
        (lambda r: sweep_figure({True: r}, "r"), "all finite numbers or all texts"),
        (lambda r: sweep_figure({float("nan"): r}, "r"), "finite"),
        (lambda r: sweep_figure({0: r}, "r", scale="log"), "above 0"),
        (lambda r: sweep_figure({"a": r}, "r", scale="log"), "texts"),
        (lambda r: sweep_figure({1: "r"}, "r"), "{value: results}"),
        (lambda r: plays_figure(r, "idsn"), "no policy 'idsn'"),
        (lambda r: plays_figure(r, []), "no policy was named"),
        (lambda r: plays_figure(r, graph=np.eye(3)), "3 arms"),
        (lambda r: plays_figure(r, graph=RandomFeedback(5, 0.5)), "only a fixed graph"),
        (lambda r: plays_figure(r, graph=Fixed(Uniform(1.0, 5), tuple("abcde"))), "a, b, c"),
        (lambda r: forest_figure(paired(), "a"), "two or more"),
        (lambda r: forest_figure(r.only(["ts-n"])), "two or more"),
        (lambda r: forest_figure(r, "ts-n", all_pairs=True), "does not go with a reference"),
        (lambda r: forest_figure(r, xscale="log"), "below zero"),
        (lambda r: forest_figure(r, xscale="logit"), "unknown xscale"),
        (lambda r: regret_figure(r, yscale="logit"), "unknown yscale"),
        (lambda r: sweep_figure({1: r}, "r", yscale="logit"), "unknown yscale"),
        (lambda r: plays_figure(r, by="ranks"), "did you mean 'rank'"),
        (lambda r: plays_figure(made({"a": [1.0]}), by="rank"), "plays by rank"),
        (lambda r: save_figure(regret_figure(r), "figure", ["gif"]), "unknown kind"),
        (lambda r: save_figure(regret_figure(r), "figure.pdf", "png"), "has an ending"),
    ],
)
def test_wrong_input_is_named(results: Results, call, words: str, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match=words.replace("{", r"\{")):
        call(results)
    assert list(tmp_path.iterdir()) == []


def test_a_look_is_plain_data() -> None:
    assert look(8) == Look(COLOURS[0], look(8).line, look(8).marker, filled=False)


def test_the_header_of_two_rows_is_inside_the_picture() -> None:
    """It was cut through the middle once."""
    results = simulate(["ids-n", "ts-n"], graph="paper", horizon=20, trials=20)
    for draw in (forest_figure, final_figure):
        figure = draw(results)
        figure.draw_without_rendering()
        for text in figure.axes[0].texts:
            box = text.get_window_extent()
            assert box.y1 <= figure.bbox.y1
            assert box.x1 <= figure.bbox.x1


def test_an_interval_that_ends_near_zero_shows_its_side(monkeypatch: pytest.MonkeyPatch) -> None:
    results = simulate(["ids-n", "ts-n"], graph="paper", horizon=5, trials=5)
    difference = Difference("ids-n", "ts-n", -1.0, 0.5, -2.0, 0.004)
    monkeypatch.setattr(Results, "differences", lambda *args, **options: [difference])
    texts = [text.get_text() for text in forest_figure(results, "ts-n").axes[0].texts]
    assert any("+0.004" in text for text in texts)


@pytest.mark.parametrize("width", [3.5, 7.2])
def test_policies_are_compared_with_the_best_unless_asked(width: float) -> None:
    results = eight()
    figure = forest_figure(results, width=width)
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
    # each by itself: those of a reference
    alone = forest_figure(results, simultaneous=False).axes[0]
    assert [t.get_text() for t in alone.texts] == [
        t.get_text() for t in forest_figure(results, best, simultaneous=False).axes[0].texts
    ]
    (axes,) = forest_figure(results, xscale="symlog", width=width).axes
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


def test_rounds_have_whole_numbers_on_their_axis() -> None:
    axes = regret_figure(simulate("ts-n", graph="paper", horizon=20, trials=5)).axes[0]
    assert all(tick == round(tick) for tick in axes.get_xticks())


def test_an_ending_chooses_the_kind(tmp_path: Path) -> None:
    figure = regret_figure(simulate("ts-n", graph="paper", horizon=5, trials=3))
    assert save_figure(figure, tmp_path / "a.pdf") == [tmp_path / "a.pdf"]
    assert save_figure(figure, tmp_path / "b") == [
        tmp_path / f"b.{kind}" for kind in ("png", "svg", "pdf")
    ]
    assert (tmp_path / "a.pdf").read_bytes().startswith(b"%PDF")
