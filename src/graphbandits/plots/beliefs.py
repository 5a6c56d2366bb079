"""Figures of an agent: its beliefs on the graph, and the frontier of a decision."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from graphbandits._types import Floats, Ints
from graphbandits.graphs import Feedback
from graphbandits.plots import graph, style
from graphbandits.plots.graph import Drawn
from graphbandits.plots.plays import COLOUR_MAP
from graphbandits.plots.style import GREY, INK, NOTE, SMALL, TEXT, TWO_COLUMNS

#: Colour of the ring of an arm that was played last, and of arms without a belief.
LAST, UNKNOWN = style.COLOURS[1], "#e4e4e4"
#: Up to this many arms, labels have the numbers of plays and outcomes; above, names only.
COUNTED, NAMED = 12, 60
#: Radius of an arm without an outcome, relative to that of the arm with the most.
LEAST = 0.4


@style.in_style
def beliefs_figure(
    feedback: Feedback,
    arms: Ints,
    names: Sequence[str],
    *,
    alpha: Floats | None,
    plays: Floats,
    outcomes: Floats,
    last: Sequence[int] = (),
    title: str = "",
    caption: str = "",
    width: float = TWO_COLUMNS,
) -> Figure:
    """Draw arms of a feedback graph, coloured by the probability that each is the best.

    The size of a node shows the number of its outcomes. Arms that were played last have a ring.
    """
    matrix = graph.among(feedback, arms)
    places = graph.layout(matrix)
    largest = min(0.14, graph.largest_radius(places))
    share = np.sqrt(outcomes / max(1.0, float(outcomes.max())))
    radii = largest * (LEAST + (1.0 - LEAST) * share)
    extent = np.ptp(places, axis=0) + 4.0 * largest
    tall = float(np.clip(extent[1] / extent[0], 0.35, 0.8))
    figure = style.new_figure(width, tall * width + 0.5)
    axes = figure.subplots()
    recent = np.array(list(dict.fromkeys(last)), np.int64)
    reach = radii + 0.1 * largest
    reach[recent] += 0.2 * largest  # the rings
    drawn = Drawn.of(axes, matrix, places, reach, float(reach.max()), min(0.07, 1.2 * largest))
    strength = max(0.2, min(1.0, math.sqrt(20.0 / max(1, len(drawn.ends)))))
    drawn.add_grey(strength, strength)
    rims: dict[str, Any] = {"linewidths": 0.6, "facecolors": UNKNOWN}
    nodes = graph.add_discs(axes, places, radii, zorder=3.0, gid="nodes", **rims)
    if alpha is not None:
        colours = colormaps[COLOUR_MAP].with_extremes(bad=UNKNOWN)
        nodes.set_array(np.ma.masked_invalid(alpha))
        nodes.set_cmap(colours)
        nodes.set_clim(0.0, max(float(np.nanmax(alpha)), 1e-12))
        style.colour_bar(figure, nodes, axes, "probability of being the best arm", 0.7)
    rings: dict[str, Any] = {"facecolors": "none", "linewidths": 2.0, "zorder": 2.9}
    around = graph.add_discs(
        axes, places[recent], radii[recent] + 0.22 * largest, gid="last", **rings
    )
    around.set_edgecolor(LAST)
    style.heading(figure, title)
    _legend(figure, len(recent) > 0, alpha is not None and bool(np.isnan(alpha).any()))
    graph.probability_legend(figure, matrix, scale=strength)
    order = _importance(alpha, outcomes, recent)
    arrows = "arrow i → j: playing i reveals j" if drawn.heads else ""
    texts = [
        _label(
            style.one_line(names[i], 24),
            None if alpha is None else alpha[i],
            plays[i],
            outcomes[i],
            len(arms) <= COUNTED,
        )
        for i in order
    ]
    style.note(figure, "; ".join(filter(None, ("size: number of outcomes", arrows, caption))))
    figure.draw_without_rendering()  # fixes the size of the axes
    drawn.label(texts, order, always=len(arms) <= COUNTED)
    return figure


def _importance(alpha: Floats | None, outcomes: Floats, recent: Ints) -> Ints:
    """Return the arms to label: played last, likely the best, often observed."""
    chance = np.zeros(len(outcomes)) if alpha is None else np.nan_to_num(alpha)
    behind = np.ones(len(outcomes))
    behind[recent] = 0.0
    found: Ints = np.lexsort((-outcomes, -chance, behind))[:NAMED]
    return found


def _label(name: str, chance: float | None, plays: float, outcomes: float, counts: bool) -> str:
    """Format the label of an arm.

    >>> _label("eve", 0.593, 2, 7, True), _label("eve", 0.002, 2, 7, False)
    ('eve: 59 %\\n2 played, 7 seen', 'eve')
    """
    value = math.nan if chance is None else chance
    if value >= 0.01 or (counts and value >= 0.0):
        shown = "<1 %" if 0.0 < value < 0.005 else f"{100.0 * value:.0f} %"
        name = f"{name}: {shown}"
    return f"{name}\n{plays:g} played, {outcomes:g} seen" if counts else name


def _legend(figure: Figure, recent: bool, unknown: bool) -> None:
    plain: dict[str, Any] = {"marker": "o", "markersize": 8.0}
    entries: dict[str, dict[str, Any]] = {}
    if recent:
        ring = {"markerfacecolor": "none", "markeredgecolor": LAST, "markeredgewidth": 2.0}
        entries["played last"] = plain | ring
    if unknown:
        entries["paused or retired"] = plain | {"color": UNKNOWN, "markeredgecolor": INK}
    style.legend_of(figure, entries, 1.0)


#: Colours of arms that could be drawn, of the others, and of the frontier.
DRAWN, OTHERS, HULL = style.COLOURS[1], "#9a9a9a", style.COLOURS[0]
#: Area of the point of an arm that cannot be drawn, and largest area of one that can (points²).
SMALLEST, LARGEST = 16.0, 130.0
#: With more arms that cannot be drawn, their points are small.
CROWD = 500


@style.in_style
def frontier_figure(
    gain: Floats,
    delta: Floats,
    *,
    pi: Floats | None,
    drawn: NDArray[np.bool_] | None = None,
    hull: Sequence[int],
    played: int,
    names: Sequence[str],
    named: Sequence[int],
    gain_label: str = "gain",
    title: str = "",
    width: float = TWO_COLUMNS,
) -> Figure:
    """Plot the expected regret of each arm against its gain, with the lower right hull.

    A policy that trades regret against information mixes one or two arms on the hull.
    """
    figure = style.new_figure(width, min(4.4, 0.45 * width + 1.4))
    axes = figure.add_subplot()
    if drawn is None:
        drawn = np.zeros(len(gain), np.bool_) if pi is None else pi > 0.0
    area = SMALLEST + (LARGEST - SMALLEST) * (np.zeros(len(gain)) if pi is None else pi)
    points: dict[str, Any] = {"linewidths": 0.6, "edgecolors": "white", "clip_on": False}
    rest, most = np.flatnonzero(~drawn), np.flatnonzero(drawn)
    plain = points
    if len(rest) > CROWD:
        area[rest] = SMALLEST / 4.0
        plain = points | {"rasterized": True, "linewidths": 0.0}  # smaller files
    axes.scatter(gain[rest], delta[rest], area[rest], OTHERS, zorder=2.0, gid="others", **plain)
    axes.plot(gain[hull], delta[hull], color=HULL, lw=1.2, zorder=2.5, gid="hull", clip_on=False)
    if len(most) == 2:
        wide: dict[str, Any] = {"color": DRAWN, "lw": 6.0, "alpha": 0.35}
        axes.plot(gain[most], delta[most], zorder=2.4, gid="mixed", clip_on=False, **wide)
    axes.scatter(gain[most], delta[most], area[most], DRAWN, zorder=3.0, gid="drawn", **points)
    ring: dict[str, Any] = {"facecolors": "none", "edgecolors": INK, "linewidths": 1.3}
    ring["clip_on"] = False
    axes.scatter(
        gain[[played]], delta[[played]], area[[played]] + 60.0, zorder=3.1, gid="played", **ring
    )
    style.tidy(axes)
    axes.margins(0.08)
    axes.set_xlim(0.0, None if gain.max() > 0.0 else 1.0)
    axes.set_ylim(0.0, None if delta.max() > 0.0 else 1.0)
    room = 45.0 * width
    axes.set_xlabel(style.literal(style.wrap(gain_label, room, TEXT)), fontsize=TEXT)
    axes.set_ylabel("expected regret", fontsize=TEXT)
    style.heading(figure, title)
    _frontier_legend(
        figure,
        None if pi is None else pi[rest],
        len(rest) > 0,
        _is_visible(gain, delta, hull),
        len(most) == 2,
    )
    figure.draw_without_rendering()  # fixes the size of the axes
    places = np.column_stack([gain, delta])
    texts = [
        style.one_line(names[i]) + ("" if pi is None or pi[i] == 0.0 else f" ({pi[i]:.2g})")
        for i in named
    ]
    _write_frontier(axes, places, area, np.array(named, np.int64), texts)
    return figure


def _is_visible(gain: Floats, delta: Floats, hull: Sequence[int]) -> bool:
    """Return whether the hull is a line, and not one point.

    >>> equal = np.full(2, 0.5)
    >>> _is_visible(equal, equal + [0.0, 1e-16], [0, 1]), _is_visible(equal, equal, [0])
    (False, False)
    """
    extents = [np.ptp(one[hull]) / (one.max() or 1.0) for one in (gain, delta)]
    return bool(max(extents) > 1e-3)


def _frontier_legend(
    figure: Figure, rest: Floats | None, others: bool, hull: bool, mixed: bool
) -> None:
    """Add a legend; ``rest`` has the probabilities of the other arms, None if unknown."""
    plain: dict[str, Any] = {"marker": "o", "markeredgecolor": "white"}
    entries: dict[str, dict[str, Any]] = {}
    if rest is not None:
        entries["could be drawn; area: probability"] = plain | {"color": DRAWN, "markersize": 8.0}
    ring = {"markerfacecolor": "none", "markeredgecolor": INK, "markersize": 9.0}
    entries["played"] = plain | ring
    if others:
        label = "other arms"
        if rest is not None:
            kinds = {"exploration only": (rest > 0.0).any(), "probability 0": (rest == 0.0).any()}
            label = " or ".join(kind for kind, found in kinds.items() if found)
        entries[label] = plain | {"color": OTHERS, "markersize": 5.0}
    if hull:
        entries["frontier: least regret for a gain"] = {"color": HULL, "lw": 1.2, "linestyle": "-"}
    if mixed:
        wide: dict[str, Any] = {"lw": 6.0, "alpha": 0.35, "linestyle": "-"}
        entries["mixture of two arms"] = wide | {"color": DRAWN}
    style.legend_of(figure, entries, 1.4)


def _write_frontier(
    axes: Axes, places: Floats, area: Floats, named: Ints, texts: list[str]
) -> None:
    """Write labels beside points; those of the two most important arms are always written."""
    # labels avoid other points; thousands of them would only take time
    near = np.arange(len(places)) if len(places) <= CROWD else named
    nodes = np.concatenate([named, np.setdiff1d(near, named)])
    boxes = np.array([graph.text_box(text, SMALL) for text in texts])
    hull = np.asarray(axes.lines[0].get_xydata())
    paths = [np.linspace(a, b, 15) for a, b in pairwise(hull)]
    radii = np.sqrt(area[nodes] / np.pi) + 1.0
    count = np.arange(len(named))
    offsets, wrong = graph.room_beside(axes, boxes, count, places[nodes], radii, paths)
    for k, (text, offset) in enumerate(zip(texts, offsets, strict=True)):
        if k < 2:
            graph.write_beside(axes, text, places[nodes[k]], offset, SMALL, INK)
        elif wrong[k] <= 0.3:
            graph.write_beside(axes, text, places[nodes[k]], offset, NOTE, GREY)
