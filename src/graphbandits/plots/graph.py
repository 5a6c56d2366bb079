"""A picture of a graph: the cliques of a cover, an independent and a dominating set."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import (
    EllipseCollection,
    LineCollection,
    PatchCollection,
    PolyCollection,
)
from matplotlib.colors import to_hex, to_rgb, to_rgba
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Circle, Rectangle
from matplotlib.patheffects import withStroke

from graphbandits.errors import InputError
from graphbandits.graphs import Feedback, Fixed, GraphLike, as_process
from graphbandits.graphs.io.networks import is_feedback
from graphbandits.graphs.processes import check_names, fixed_feedback
from graphbandits.graphs.shape import Shape
from graphbandits.plots.drawing import Edges, among, edges_of, layout
from graphbandits.plots.legends import legend_below, note
from graphbandits.plots.nodes import (
    Drawn,
    edge_width,
    find_room,
    fit,
    largest_radius,
    probability_legend,
    text_box,
)
from graphbandits.plots.style import (
    COLOURS,
    INK,
    NOTE,
    SMALL,
    TWO_COLUMNS,
    heading,
    in_style,
    literal,
    new_figure,
    one_line,
    text_width,
)
from graphbandits.types import Floats, Ints

#: Larger graphs are a blot.
MOST_ARMS, MOST_EDGES = 2000, 20_000
#: Of more arms, names are written only where they fit into the nodes.
MOST_NAMED = 100
#: Arms by themselves, and edges between cliques.
ALONE, BETWEEN = "#b8b8b8", "#c2c2c2"
#: How much of its colour an edge of probability near 0 has.
FAINT = 0.25


def _lighter(colour: str) -> str:
    red, green, blue = to_rgb(colour)
    return to_hex(((1.0 + red) / 2.0, (1.0 + green) / 2.0, (1.0 + blue) / 2.0))


#: For cliques: the colours but black, which the letters have, then the same mixed with white.
PALETTE = tuple(colour for colour in COLOURS if colour != "#000000")
PALETTE += tuple(_lighter(colour) for colour in PALETTE)


def check_drawable(feedback: Feedback) -> None:
    """Raise for a graph that is too large for a picture."""
    edges = Shape.of(feedback).edges if feedback.arms <= MOST_ARMS else 0
    if feedback.arms > MOST_ARMS or edges > MOST_EDGES:
        has = f"{feedback.arms} arms" if feedback.arms > MOST_ARMS else f"{edges} edges"
        raise InputError(
            f"a picture has at most {MOST_ARMS} arms and {MOST_EDGES} edges; this graph has {has}: "
            "leave the picture out, or draw a part of it"
        )


@in_style
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
    """A fixed graph, or the feedback of one round, with its arms as nodes.

    The members of a clique have its colour, and so have the edges among them; arms by themselves
    and all other edges are grey. ``cliques`` part the arms, as the certificate of ``clique_cover``
    does; colours repeat between cliques that are far from each other. Arms of the ``independent``
    set have a ring, those of the ``dominating`` set are squares. An arrow i -> j: playing i shows
    j; an edge both ways is a line. Arms count from 0, and are shown by their names or from 1.

    >>> from graphbandits.graphs import as_process
    >>> figure = graph_figure(as_process("paper"), cliques=[(0, 1, 2), (3, 4)])
    >>> sorted(text.get_text() for text in figure.axes[0].texts)
    ['1', '2', '3', '4', '5']
    """
    process = Fixed(graph) if is_feedback(graph) else as_process(graph)
    feedback = fixed_feedback(process)
    if feedback is None:
        raise InputError(
            "only a fixed graph can be drawn, and this one changes from round to round: give "
            "process.round(t, Keys(seed))"
        )
    check_drawable(feedback)
    count = feedback.arms
    given = process.names if names is None else names
    shown = check_names(given, count) or tuple(str(arm + 1) for arm in range(count))
    clique_of = _clique_of(cliques, count)
    matrix = among(feedback, np.arange(count))
    places = layout(matrix, cliques)
    radius = min(0.11, 0.75 * largest_radius(places))
    reach = np.full(count, 1.05 * radius)
    reach[list(dominating)] = 1.25 * radius
    reach[list(independent)] = 1.4 * radius

    extent = np.ptp(places, axis=0) + 4.0 * radius
    tall = float(np.clip(extent[1] / extent[0], 0.3, 0.9))
    figure = new_figure(width, tall * width + 0.4)
    axes = figure.subplots()
    axes.set_axis_off()
    colours = [ALONE] * count
    for clique, colour in zip(cliques, clique_colours(cliques, matrix, places), strict=True):
        for arm in clique:
            colours[arm] = colour
    edges = _draw_edges(axes, matrix, places, reach, clique_of, colours)
    _draw_nodes(axes, places, radius, colours, independent, dominating)
    heading(figure, title)
    arrows = "arrow: playing its tail shows its tip" if edges.heads else ""
    _legend(figure, cliques, independent, dominating)
    probability_legend(figure, matrix, BETWEEN, FAINT, _thin(edges, within=False))
    drawn = Drawn(places, reach, edges, float(reach.max()))
    named = _name_nodes(figure, axes, [one_line(name) for name in shown], colours, drawn, radius)
    left_out = "all" if named == 0 else str(count - named)
    without = "" if named == count else f"{left_out} names left out"
    note(figure, "; ".join(part for part in (caption, arrows, without) if part))
    return figure


def _clique_of(cliques: Sequence[Sequence[int]], arms: int) -> Ints:
    """The number of each arm's clique; -1 - arm, its own, where there are no cliques."""
    if not cliques:
        return -1 - np.arange(arms)
    members = [arm for clique in cliques for arm in clique]
    if sorted(members) != list(range(arms)):
        raise InputError(f"cliques part the arms 0 to {arms - 1}: each is in one of them")
    found = np.empty(arms, np.int64)
    for number, clique in enumerate(cliques):
        found[list(clique)] = number
    return found


def clique_colours(cliques: Sequence[Sequence[int]], matrix: Floats, places: Floats) -> list[str]:
    """A colour for each clique, grey for a single arm: the same for two only where they are apart.

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


def _draw_edges(
    axes: Axes,
    matrix: Floats,
    places: Floats,
    reach: Floats,
    clique_of: Ints,
    colours: Sequence[str],
) -> Edges:
    """Lines for edges both ways, arrows for others; those inside a clique above the rest."""
    same = matrix == matrix.T
    head = min(0.07, 1.6 * float(reach.min()))
    parts = [edges_of(np.where(keep, matrix, 0.0), places, reach, head) for keep in (same, ~same)]
    edges = Edges(
        np.concatenate([part.ends for part in parts]),
        np.concatenate([part.probability for part in parts]),
        [line for part in parts for line in part.lines],
        [triangle for part in parts for triangle in part.heads],
    )
    inside = clique_of[edges.ends[:, 0]] == clique_of[edges.ends[:, 1]]
    for within, gid in ((False, "between"), (True, "inside")):
        chosen = np.flatnonzero(inside == within)
        paint = [
            to_rgba(
                colours[edges.ends[k, 0]] if within else BETWEEN,
                FAINT + (1.0 - FAINT) * edges.probability[k],
            )
            for k in chosen
        ]
        scale = _thin(edges, within)
        widths = [scale * edge_width(edges.probability[k]) for k in chosen]
        axes.add_collection(
            LineCollection(
                [edges.lines[k] for k in chosen],
                colors=paint,
                linewidths=widths,
                zorder=1.2 if within else 1.0,
                gid=gid,
            ),
            autolim=False,
        )
    # an edge one way is in no clique
    one_way = [to_rgba(BETWEEN, FAINT + (1.0 - FAINT) * p) for p in parts[1].probability]
    axes.add_collection(
        PolyCollection(edges.heads, facecolors=one_way, linewidths=0, zorder=1.1, gid="heads"),
        autolim=False,
    )
    return edges


def _thin(edges: Edges, within: bool) -> float:
    """How wide lines are: thinner where there are many, wider within a clique."""
    thin = min(1.0, math.sqrt(120.0 / max(1, len(edges.ends))))
    return max(thin, 0.2) * (1.3 if within else 0.9)


def _draw_nodes(
    axes: Axes,
    places: Floats,
    radius: float,
    colours: Sequence[str],
    independent: Collection[int],
    dominating: Collection[int],
) -> None:
    side = math.sqrt(math.pi) * radius  # of the same area
    fine = min(1.0, 20.0 * radius)  # else rims would fill small nodes
    shapes = [
        Rectangle((x - side / 2.0, y - side / 2.0), side, side)
        if arm in dominating
        else Circle((x, y), radius)
        for arm, (x, y) in enumerate(places)
    ]
    axes.add_collection(
        PatchCollection(
            shapes,
            facecolors=colours,
            edgecolors="white",
            linewidths=0.6 * fine,
            zorder=3.0,
            gid="nodes",
        ),
        autolim=False,
    )
    ringed = sorted(independent)
    wide = np.full(len(ringed), 2.75 * radius)
    axes.add_collection(
        EllipseCollection(
            wide,
            wide,
            np.zeros(len(ringed)),
            units="xy",
            offsets=places[ringed],
            offset_transform=axes.transData,
            facecolors="none",
            edgecolors=INK,
            linewidths=max(0.3, 1.1 * math.sqrt(fine)),
            zorder=2.9,
            gid="independent",
        ),
        autolim=False,
    )


def _legend(
    figure: Figure,
    cliques: Sequence[Sequence[int]],
    independent: Collection[int],
    dominating: Collection[int],
) -> None:
    plain: dict[str, Any] = {"linestyle": "none", "markersize": 7.0, "markeredgecolor": "none"}
    entries: list[tuple[str, Line2D]] = []
    if any(len(clique) > 1 for clique in cliques):
        entries.append(
            ("a colour: a clique", Line2D([], [], marker="o", color=PALETTE[0], **plain))
        )
    if any(len(clique) == 1 for clique in cliques):
        entries.append(("a clique of one", Line2D([], [], marker="o", color=ALONE, **plain)))
    if independent:
        ring = plain | {"markeredgecolor": INK, "markersize": 9.0}
        entries.append(
            ("independent set", Line2D([], [], marker="o", markerfacecolor="none", **ring))
        )
    if dominating:
        entries.append(("dominating set", Line2D([], [], marker="s", color=ALONE, **plain)))
    if entries:
        labels, handles = zip(*entries, strict=True)
        legend_below(figure, handles, labels, handlelength=1.0)


def _name_nodes(
    figure: Figure,
    axes: Axes,
    names: list[str],
    colours: Sequence[str],
    drawn: Drawn,
    radius: float,
) -> int:
    """Write the names into the nodes if all fit, else beside them; how many there are."""
    figure.draw_without_rendering()  # from here on it is known how large the axes are
    fit(figure, axes, drawn, np.zeros(2))
    across = axes.transData.transform([[0.0, 0.0], [2.0 * radius, 0.0]])[:, 0]
    room = 0.82 * float(np.diff(across)[0]) * 72.0 / figure.dpi
    for size in (SMALL + 1.0, NOTE):
        if max(math.hypot(text_width(name, size), 0.7 * size) for name in names) <= room:
            for name, place, colour in zip(names, drawn.places, colours, strict=True):
                dark = np.dot(to_rgb(colour), [0.299, 0.587, 0.114]) < 0.6
                axes.text(
                    place[0],
                    place[1],
                    literal(name),
                    ha="center",
                    va="center_baseline",
                    fontsize=size,
                    color="white" if dark else INK,
                    zorder=5.0,
                ).set_in_layout(False)
            return len(names)
    if len(names) > MOST_NAMED:
        return 0
    boxes = np.array([text_box(name, NOTE) for name in names])
    fit(figure, axes, drawn, boxes.max(axis=0))
    offsets, wrong = find_room(figure, axes, boxes, np.arange(len(names)), drawn)
    kept = [arm for arm in range(len(names)) if wrong[arm] <= 0.05]
    for arm in kept:
        axes.annotate(
            literal(names[arm]),
            tuple(drawn.places[arm]),
            xytext=tuple(offsets[arm]),
            textcoords="offset points",
            ha="center",
            va="center",
            fontsize=NOTE,
            zorder=5.0,
            path_effects=[withStroke(linewidth=2.0, foreground="white")],
        ).set_in_layout(False)
    return len(kept)
