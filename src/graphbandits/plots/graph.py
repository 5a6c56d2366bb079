"""Figure of a graph with the cliques of a cover, an independent and a dominating set."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
from matplotlib.collections import PatchCollection
from matplotlib.colors import to_hex, to_rgb, to_rgba
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Circle, Rectangle

from graphbandits._types import Floats, Ints
from graphbandits.errors import InputError
from graphbandits.graphs import Feedback, Fixed, GraphLike, as_process
from graphbandits.graphs._shape import Shape
from graphbandits.graphs.processes import check_names, fixed_feedback
from graphbandits.graphs.readers import is_feedback
from graphbandits.plots import _canvas, _graph_layout, style
from graphbandits.plots._graph_layout import Drawn
from graphbandits.plots.style import INK, NOTE, SMALL, TWO_COLUMNS

#: Larger graphs are not drawn.
MOST_ARMS, MOST_EDGES = 2000, 20_000
#: With more arms, only names that fit into their nodes are written.
MOST_NAMED = 100
#: Colours of single arms and of edges between cliques.
ALONE, BETWEEN = "#b8b8b8", "#c2c2c2"
#: Strength of the colour of an edge of probability near 0.
FAINT = 0.25


def _lighter(colour: str) -> str:
    red, green, blue = to_rgb(colour)
    return to_hex(((1.0 + red) / 2.0, (1.0 + green) / 2.0, (1.0 + blue) / 2.0))


#: Colours of cliques: those of the style without black, then the same mixed with white.
PALETTE = tuple(colour for colour in style.COLOURS if colour != "#000000")
PALETTE += tuple(_lighter(colour) for colour in PALETTE)


def check_drawable(feedback: Feedback) -> None:
    """Raise an error if a graph is too large to draw."""
    edges = Shape.of(feedback).edges if feedback.arms <= MOST_ARMS else 0
    if feedback.arms > MOST_ARMS or edges > MOST_EDGES:
        has = f"{feedback.arms} arms" if feedback.arms > MOST_ARMS else f"{edges} edges"
        raise InputError(
            f"a drawing can have at most {MOST_ARMS} arms and {MOST_EDGES} edges; this graph has "
            f"{has}: draw a part of it"
        )


@style.in_style
def graph_figure(
    graph: GraphLike,
    cliques: Sequence[Sequence[int]] = (),
    independent: Collection[int] = (),
    dominating: Collection[int] = (),
    names: Sequence[str] | None = None,
    title: str = "",
    caption: str = "",
    width: float = TWO_COLUMNS,
) -> Figure:
    """Draw a fixed graph, or the feedback of one round, with its arms as nodes.

    An arrow i -> j means that playing i reveals j. An edge in both directions is a line.

    Parameters
    ----------
    graph : graph-like or Feedback
        The graph; see :func:`graphbandits.as_process`.
    cliques : sequence of sequences of int
        Partition of the arms into cliques, such as the certificate of
        :func:`~graphbandits.graphs.clique_cover`. A clique and its edges share a colour;
        single arms and other edges are grey. Distant cliques may have the same colour.
    independent : collection of int
        Arms of an independent set, drawn with a ring.
    dominating : collection of int
        Arms of a dominating set, drawn as squares.
    names : sequence of str or None
        Names of the arms; those of the graph by default, else numbers from 1.
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

    Raises
    ------
    InputError
        If the graph changes from round to round or is too large to draw.

    Examples
    --------
    >>> from graphbandits.graphs import as_process
    >>> figure = graph_figure(as_process("paper"), cliques=[(0, 1, 2), (3, 4)])
    >>> sorted(text.get_text() for text in figure.axes[0].texts)
    ['1', '2', '3', '4', '5']
    """
    process = Fixed(graph) if is_feedback(graph) else as_process(graph)
    feedback = fixed_feedback(process)
    if feedback is None:
        raise InputError(
            "only a fixed graph can be drawn, but this one changes from round to round: pass one "
            "round of it, process.round(t, Keys(seed))"
        )
    check_drawable(feedback)
    count = feedback.arms
    given = process.names if names is None else names
    shown = check_names(given, count) or tuple(str(arm + 1) for arm in range(count))
    clique_of = _clique_of(cliques, count)
    matrix = _graph_layout.among(feedback, np.arange(count))
    places = _graph_layout.layout(matrix, cliques)
    radius = min(0.11, 0.75 * _graph_layout.largest_radius(places))
    reach = np.full(count, 1.05 * radius)
    reach[list(dominating)] = 1.25 * radius
    reach[list(independent)] = 1.4 * radius

    extent = np.ptp(places, axis=0) + 4.0 * radius
    tall = float(np.clip(extent[1] / extent[0], 0.3, 0.9))
    figure = style.new_figure(width, tall * width + 0.4)
    largest, head = float(reach.max()), min(0.07, 1.6 * float(reach.min()))
    drawn = Drawn.of(figure.subplots(), matrix, places, reach, largest, head)
    colours = [ALONE] * count
    for clique, colour in zip(cliques, clique_colours(cliques, matrix, places), strict=True):
        for arm in clique:
            colours[arm] = colour
    _draw_edges(drawn, clique_of, colours)
    _draw_nodes(drawn, radius, colours, independent, dominating)
    _canvas.heading(figure, title)
    arrows = "arrow i → j: playing i reveals j" if drawn.heads else ""
    _legend(figure, set(map(len, cliques)), bool(independent), bool(dominating))
    _graph_layout.probability_legend(figure, matrix, BETWEEN, FAINT, _thin(drawn, within=False))
    figure.draw_without_rendering()  # fixes the size of the axes
    named = _name_nodes(drawn, [style.one_line(name) for name in shown], colours, radius)
    left_out = "all" if named == 0 else str(count - named)
    without = "" if named == count else f"{left_out} names left out"
    _canvas.note(figure, "; ".join(part for part in (caption, arrows, without) if part))
    return figure


def _clique_of(cliques: Sequence[Sequence[int]], arms: int) -> Ints:
    """Return the index of each arm's clique, or -1 - arm if there are no cliques."""
    if not cliques:
        return -1 - np.arange(arms)
    members = [arm for clique in cliques for arm in clique]
    if sorted(members) != list(range(arms)):
        raise InputError(f"cliques must contain each of the arms 0 to {arms - 1} exactly once")
    found = np.empty(arms, np.int64)
    for number, clique in enumerate(cliques):
        found[list(clique)] = number
    return found


def clique_colours(cliques: Sequence[Sequence[int]], matrix: Floats, places: Floats) -> list[str]:
    """Choose a colour for each clique, grey for single arms; only distant cliques share one.

    Large cliques choose first, each the colour that costs least: sharing it with a clique that it
    has edges to costs most, with one far off on the page least.

    >>> import numpy as np
    >>> clique_colours([(0, 1), (2, 3), (4,)], np.zeros((5, 5)), np.eye(5)[:, :2])
    ['#0072B2', '#D55E00', '#b8b8b8']
    """
    centres = np.array([places[list(clique)].mean(axis=0) for clique in cliques]).reshape(-1, 2)
    colours = [ALONE] * len(cliques)
    cost = np.zeros((len(cliques), len(PALETTE)))
    joined = (matrix > 0.0) | (matrix.T > 0.0)
    clique_of = _clique_of(cliques, len(matrix))
    for k in sorted(range(len(cliques)), key=lambda k: -len(cliques[k])):
        if len(cliques[k]) == 1:
            continue
        chosen = int(np.argmin(cost[k]))
        colours[k] = PALETTE[chosen]
        near = 0.01 / (0.01 + ((centres - centres[k]) ** 2).sum(axis=1))
        beside = joined[list(cliques[k])].any(axis=0)
        cost[:, chosen] += near
        cost[np.unique(clique_of[beside]), chosen] += 1e3
    return colours


def _draw_edges(drawn: Drawn, clique_of: Ints, colours: Sequence[str]) -> None:
    """Draw lines for edges in both directions and arrows for others, cliques on top."""
    inside = np.equal(*clique_of[drawn.ends.T])
    strength = FAINT + (1.0 - FAINT) * drawn.probability
    for within, gid in ((False, "between"), (True, "inside")):
        chosen = np.flatnonzero(inside == within)
        source = [colours[drawn.ends[k, 0]] if within else BETWEEN for k in chosen]
        paint = [to_rgba(c, strength[k]) for c, k in zip(source, chosen, strict=True)]
        drawn.add_edges(chosen, paint, _thin(drawn, within), zorder=1.0 + 0.2 * within, gid=gid)
    # an edge in one direction is in no clique
    drawn.add_heads([to_rgba(BETWEEN, share) for share in strength])


def _thin(drawn: Drawn, within: bool) -> float:
    """Return the line width: thinner with many edges, wider within a clique."""
    thin = min(1.0, math.sqrt(120.0 / max(1, len(drawn.ends))))
    return max(thin, 0.2) * (1.3 if within else 0.9)


def _draw_nodes(
    drawn: Drawn,
    radius: float,
    colours: Sequence[str],
    independent: Collection[int],
    dominating: Collection[int],
) -> None:
    side = math.sqrt(math.pi) * radius  # of the same area
    fine = min(1.0, 20.0 * radius)  # wider rims would fill small nodes
    shapes = [
        Rectangle((x - side / 2.0, y - side / 2.0), side, side)
        if arm in dominating
        else Circle((x, y), radius)
        for arm, (x, y) in enumerate(drawn.places)
    ]
    rims: dict[str, Any] = {"edgecolors": "white", "linewidths": 0.6 * fine, "zorder": 3.0}
    nodes = PatchCollection(shapes, facecolors=colours, gid="nodes", **rims)
    drawn.axes.add_collection(nodes, autolim=False)
    ringed = sorted(independent)
    wide = max(0.3, 1.1 * math.sqrt(fine))
    rings: dict[str, Any] = {"facecolors": "none", "linewidths": wide, "zorder": 2.9}
    radii = np.full(len(ringed), 1.375 * radius)
    _graph_layout.add_discs(drawn.axes, drawn.places[ringed], radii, gid="independent", **rings)


def _legend(figure: Figure, sizes: set[int], independent: bool, dominating: bool) -> None:
    """Explain colours, rings and squares; ``sizes`` are the sizes of the cliques."""
    plain: dict[str, Any] = {"marker": "o", "markersize": 7.0, "markeredgecolor": "none"}
    entries: dict[str, dict[str, Any]] = {}
    if sizes - {1}:
        entries["colour: a clique"] = {"color": PALETTE[0]}
    if 1 in sizes:
        entries["a clique of one"] = {"color": ALONE}
    if independent:
        ring = {"markeredgecolor": INK, "markersize": 9.0, "markerfacecolor": "none"}
        entries["independent set"] = ring
    if dominating:
        entries["dominating set"] = {"color": ALONE, "marker": "s"}
    if entries:
        handles = [Line2D([], [], linestyle="none", **(plain | own)) for own in entries.values()]
        _canvas.legend_below(figure, handles, list(entries), handlelength=1.0)


def _name_nodes(drawn: Drawn, names: list[str], colours: Sequence[str], radius: float) -> int:
    """Write the names into the nodes if all fit, else beside them; return their number."""
    axes = drawn.axes
    drawn.fit(np.zeros(2))
    across = axes.transData.transform([[0.0, 0.0], [2.0 * radius, 0.0]])[:, 0]
    room = 0.82 * float(np.diff(across)[0]) * 72.0 / axes.figure.dpi
    middle: dict[str, Any] = {"ha": "center", "va": "center_baseline", "zorder": 5.0}
    for size in (SMALL + 1.0, NOTE):
        if max(math.hypot(style.text_width(name, size), 0.7 * size) for name in names) <= room:
            for name, (x, y), colour in zip(names, drawn.places, colours, strict=True):
                ink = style.ink_on(colour)
                written = axes.text(x, y, style.literal(name), fontsize=size, color=ink, **middle)
                written.set_in_layout(False)
            return len(names)
    if len(names) > MOST_NAMED:
        return 0
    boxes = np.array([_graph_layout.text_box(name, NOTE) for name in names])
    drawn.fit(boxes.max(axis=0))
    offsets, wrong = drawn.find_room(boxes, np.arange(len(names)))
    kept = np.flatnonzero(wrong <= 0.05).tolist()
    for arm in kept:
        drawn.write_beside(names[arm], arm, offsets[arm], NOTE)
    return len(kept)
