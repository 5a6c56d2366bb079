"""Figure of what an agent believes: its graph with the probability that each arm is the best."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib import colormaps
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, MaxNLocator

from graphbandits._types import Floats, Ints
from graphbandits.graphs import Feedback
from graphbandits.plots import _canvas, _graph_layout, style
from graphbandits.plots._graph_layout import Drawn
from graphbandits.plots.plays import COLOUR_MAP
from graphbandits.plots.style import GREY, INK, NOTE, SMALL, TWO_COLUMNS

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

    Parameters
    ----------
    feedback : Feedback
        The graph of all K arms.
    arms : ndarray of int
        Arms to draw, in increasing order.
    names : sequence of str
        Names of these arms.
    alpha : ndarray or None
        Probability that each of these arms is the best; NaN for arms that are not played. None if
        it is not known.
    plays, outcomes : ndarray
        Number of plays and of outcomes of each of these arms.
    last : sequence of int
        Positions in ``arms`` of the arms that were played last.
    title : str
        Title above the figure.
    caption : str
        Text below the figure.
    width : float
        Width in inches.

    Returns
    -------
    matplotlib.figure.Figure
        The figure.

    Examples
    --------
    >>> from graphbandits.graphs import as_process
    >>> from graphbandits.rng import Keys
    >>> graph = as_process("star", 3).round(1, Keys(0))
    >>> counts = {"plays": np.array([2, 0, 1]), "outcomes": np.array([3, 2, 3])}
    >>> alpha = np.array([0.2, 0.1, 0.7])
    >>> figure = beliefs_figure(graph, np.arange(3), ["ann", "bob", "eve"], alpha=alpha, **counts)
    >>> figure.axes[0].texts[0].get_text().splitlines()
    ['eve: 70 %', '1 played, 3 seen']
    """
    matrix = _graph_layout.among(feedback, arms)
    places = _graph_layout.layout(matrix)
    largest = min(0.14, _graph_layout.largest_radius(places))
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
    count = len(drawn.ends)
    strength = max(0.2, min(1.0, math.sqrt(20.0 / max(1, count))))
    paint = [to_rgba(GREY, (0.3 + 0.7 * p) * strength) for p in drawn.probability]
    drawn.add_edges(np.arange(count), paint, strength, zorder=1.0, gid="edges")
    drawn.add_heads(paint)
    rims: dict[str, Any] = {"linewidths": 0.6, "facecolors": UNKNOWN}
    nodes = _graph_layout.add_discs(axes, places, radii, zorder=3.0, gid="nodes", **rims)
    if alpha is not None:
        colours = colormaps[COLOUR_MAP].with_extremes(bad=UNKNOWN)
        nodes.set_array(np.ma.masked_invalid(alpha))
        nodes.set_cmap(colours)
        nodes.set_clim(0.0, max(float(np.nanmax(alpha)), 1e-12))
        bar = figure.colorbar(nodes, ax=axes, shrink=0.7, aspect=30, pad=0.01)
        bar.set_label("probability of being the best arm", fontsize=SMALL)
        bar.ax.tick_params(labelsize=SMALL)
        bar.locator = MaxNLocator(5)
        bar.formatter = FuncFormatter(lambda chance, _: f"{100.0 * chance:.3g} %")
        bar.outline.set_linewidth(0.5)
    rings: dict[str, Any] = {"facecolors": "none", "linewidths": 2.0, "zorder": 2.9}
    around = _graph_layout.add_discs(
        axes, places[recent], radii[recent] + 0.22 * largest, gid="last", **rings
    )
    around.set_edgecolor(LAST)
    _canvas.heading(figure, title)
    _legend(figure, len(recent) > 0, alpha is not None and bool(np.isnan(alpha).any()))
    _graph_layout.probability_legend(figure, matrix, scale=strength)
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
    _canvas.note(figure, "; ".join(filter(None, ("size: number of outcomes", arrows, caption))))
    figure.draw_without_rendering()  # fixes the size of the axes
    _write(drawn, order, texts)
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
    plain: dict[str, Any] = {"marker": "o", "markersize": 8.0, "linestyle": "none"}
    entries: dict[str, dict[str, Any]] = {}
    if recent:
        ring = {"markerfacecolor": "none", "markeredgecolor": LAST, "markeredgewidth": 2.0}
        entries["played last"] = plain | ring
    if unknown:
        entries["paused or retired"] = plain | {"color": UNKNOWN, "markeredgecolor": INK}
    if entries:
        handles = [Line2D([], [], **look) for look in entries.values()]
        _canvas.legend_below(figure, handles, list(entries), handlelength=1.0)


def _write(drawn: Drawn, order: Ints, texts: list[str]) -> None:
    """Write labels beside nodes; of many arms, those that find room."""
    boxes = np.array([_graph_layout.text_box(text, NOTE) for text in texts])
    drawn.fit(boxes.max(axis=0))
    offsets, wrong = drawn.find_room(boxes, order)
    for i, text, offset, bad in zip(order.tolist(), texts, offsets, wrong, strict=True):
        if bad <= 0.05 or len(drawn.places) <= COUNTED:
            drawn.write_beside(text, i, offset, NOTE)
