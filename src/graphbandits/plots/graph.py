"""Figure of a graph with its cover and sets; layout of nodes, edges and labels."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
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
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components, shortest_path

from graphbandits._types import Floats, Ints
from graphbandits.errors import InputError
from graphbandits.graphs import Feedback, Fixed, GraphLike, as_process
from graphbandits.graphs.feedback import is_feedback
from graphbandits.graphs.processes import Shape, check_names, fixed_feedback
from graphbandits.plots import style
from graphbandits.plots.style import GREY, INK, NOTE, SMALL, TWO_COLUMNS, literal, text_width

#: Graphs with at least this share of all possible edges are drawn on a circle.
CROWDED = 0.7
#: Distance between members of a clique, relative to other neighbours.
TOGETHER = 0.75
#: Agreement of edge directions, up to right angles, above which a graph is a grid (1: all).
GRID_LIKE = 0.6
#: Largest number of labelled arms: the most played ones.
NAMED = 20
#: Directions around a node that are tried for its label, at each of these distances (points).
DIRECTIONS = 24
DISTANCES = (1.5, 6.0, 12.0)
#: Number of times that each label may move.
PASSES = 6


def among(feedback: Feedback, arms: Ints) -> Floats:
    """Return the probabilities between some arms, without self-loops; row i -> column j."""
    matrix = np.array([feedback.reach(np.array([i]))[0, arms] for i in arms])
    np.fill_diagonal(matrix, 0.0)
    return matrix


def layout(matrix: Floats, cliques: Sequence[Sequence[int]] = ()) -> Floats:
    """Compute a deterministic position in [-1, 1] x [-1, 1] for each node.

    Kamada and Kawai (1989): distances on paper follow those in the graph, directions ignored, and
    members of a clique of three or more stand together. Components are in rows, the largest first.
    Graphs without edges and crowded ones are circles, clockwise from the top, clique by clique.
    """
    count = len(matrix)
    order = np.array([node for clique in sorted(cliques, key=min) for node in clique], np.int64)
    order = order if len(order) else np.arange(count)
    joined = (matrix > 0.0) | (matrix.T > 0.0)
    if count == 1 or not joined.any():
        return _circle(order) if count > 1 else np.zeros((1, 2))
    _, part = connected_components(joined, directed=False)
    members = [np.flatnonzero(part == k) for k in range(int(part.max()) + 1)]
    drawn = []
    for nodes in members:
        inside = set(nodes.tolist())
        local = [np.searchsorted(nodes, clique) for clique in cliques if clique[0] in inside]
        turn = np.searchsorted(nodes, order[np.isin(order, nodes)])
        drawn.append(_connected(joined[np.ix_(nodes, nodes)], local, turn))
    places = np.empty((count, 2))
    for nodes, found in zip(members, _in_rows(drawn), strict=True):
        places[nodes] = found
    places -= (places.min(axis=0) + places.max(axis=0)) / 2.0
    rounded: Floats = np.round(places / np.abs(places).max(), 6)
    return rounded


def _circle(order: Ints) -> Floats:
    """Place nodes on the unit circle, clockwise from the top, in this order."""
    angle = np.pi / 2.0 - 2.0 * np.pi * np.argsort(order) / len(order)
    return np.column_stack([np.cos(angle), np.sin(angle)])


def _connected(joined: NDArray[np.bool_], cliques: Sequence[Ints], order: Ints) -> Floats:
    """Place the nodes of a connected graph, neighbours about 1 apart."""
    count = len(joined)
    if count < 3:
        return np.array([[k - 0.5 * (count - 1), 0.0] for k in range(count)])
    if joined.sum() >= CROWDED * count * (count - 1):
        return _circle(order) * max(0.6, 0.8 * count / (2.0 * np.pi))
    steps = shortest_path(joined, unweighted=True)
    for clique in cliques:
        if len(clique) > 2:  # pairs would bend rings and grids
            steps[np.ix_(clique, clique)] *= TOGETHER
    # either start may end in a bad optimum: the circle for a grid, the projection for a star
    starts = ([_circle(order)] if count <= 40 else []) + [_projected(steps)]  # takes seconds
    found = [_relaxed(start, steps) for start in starts]
    # ties: the circle, on which the nodes are in order
    places = min(found, key=lambda ends: round(_stress(ends, steps), 6))
    places = _upright(places - places.mean(axis=0), np.argwhere(np.triu(joined)))
    turned: Floats = places * np.where(places[0] * [-1.0, 1.0] < 0.0, -1.0, 1.0)
    return turned  # the first at the top left


def _in_rows(parts: Sequence[Floats]) -> list[Floats]:
    """Arrange components in rows of about the same width, the highest first."""
    boxes = np.array([np.ptp(part, axis=0) + 1.0 for part in parts])
    area = boxes.prod(axis=1)
    row = float(boxes[:, 0].max())
    if area.max() < 0.5 * area.sum():  # else what is left goes below the one large part
        row = max(row, float(np.sqrt(1.8 * area.sum())))
    found = [np.empty(0)] * len(parts)
    x = y = height = 0.0
    for k in sorted(range(len(parts)), key=lambda k: -boxes[k, 1]):
        if x > 0.0 and x + boxes[k, 0] > row:
            x, y, height = 0.0, y - height, 0.0
        height = max(height, float(boxes[k, 1]))
        corner = np.array([parts[k][:, 0].min(), parts[k][:, 1].max()])
        found[k] = parts[k] - corner + [x, y - (height - boxes[k, 1]) / 2.0]
        x += float(boxes[k, 0])
    return found


def _upright(places: Floats, ends: Ints) -> Floats:
    """Rotate a layout: the longest direction is horizontal, a grid is upright.

    Four times its angle is the same for all four directions of a grid's edges.
    """
    way = places[ends[:, 1]] - places[ends[:, 0]]
    turn = np.exp(4j * np.arctan2(way[:, 1], way[:, 0])).mean()
    if abs(turn) <= GRID_LIKE:
        turned: Floats = places @ np.linalg.svd(places, full_matrices=False)[2].T
        return turned
    angle = np.angle(turn) / 4.0
    axes = np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])
    turned = places @ axes.T
    across, up = np.ptp(turned, axis=0)
    square = 0.98 * up < across < 1.02 * up
    first = np.abs(axes @ way[0])
    flat = first[0] > first[1] if square else across > up  # a square is read row by row
    return turned if flat else turned[:, ::-1]


def _relaxed(start: Floats, steps: Floats) -> Floats:
    """Minimise the stress of Kamada and Kawai by majorization (Gansner, Koren, North 2005)."""
    count = len(steps)
    wanted = steps + np.eye(count)
    weight = wanted**-2.0 - np.eye(count)
    solve = np.linalg.inv(np.diag(weight.sum(axis=1)) - weight + 1.0 / count)
    places: Floats = start * (steps.mean() / np.hypot(*start.T).mean())
    for _ in range(max(20, min(500, 3 * 10**7 // count**2))):
        x, y = places.T
        gaps = np.hypot(x[:, None] - x, y[:, None] - y) + np.eye(count)
        pull = weight * wanted / np.maximum(gaps, 1e-9)
        ends: Floats = solve @ (pull.sum(axis=1)[:, None] * places - pull @ places)
        moved = np.abs(ends - places).max()
        places = ends
        if moved < 1e-5 * steps.max():
            break
    return places


def _projected(steps: Floats) -> Floats:
    """Project graph distances on a plane by classical scaling (Torgerson 1952)."""
    squares = steps**2
    centred = squares - squares.mean(axis=0) - squares.mean(axis=1)[:, None] + squares.mean()
    values, vectors = np.linalg.eigh(-centred / 2.0)
    flat: Floats = vectors[:, -2:] * np.sqrt(np.maximum(values[-2:], 0.0))
    angle = np.arange(len(steps))  # two nodes at one position would stay together
    apart: Floats = flat + 0.01 * np.column_stack([np.cos(angle), np.sin(angle)])
    return apart


def _stress(places: Floats, steps: Floats) -> float:
    """Return the stress of a layout at its best scale."""
    pairs = np.triu_indices(len(places), 1)
    ratio = np.hypot(*(places[pairs[0]] - places[pairs[1]]).T) / steps[pairs]
    return float(((ratio * (ratio.sum() / (ratio**2).sum()) - 1.0) ** 2).sum())


# --- edges, nodes and their names -------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Drawn:
    """A graph in a panel, in the coordinates of its axes.

    Edges that are alike both ways are straight lines; then come arrows, bent if there is one back.
    ``lines`` are rows of points, ``heads`` are the triangles (tip first) of the last of them.
    """

    axes: Axes
    places: Floats
    radii: Floats
    largest: float
    ends: Ints  # (edges, 2): from, to
    probability: Floats
    lines: list[Floats]
    heads: list[Floats]

    @classmethod
    def of(
        cls, axes: Axes, matrix: Floats, places: Floats, radii: Floats, largest: float, head: float
    ) -> Drawn:
        """The edges of a graph between nodes of these ``radii``, with heads of this length."""
        alike = matrix == matrix.T
        both = np.argwhere(np.triu(alike & (matrix > 0.0)))
        one_way = np.argwhere(~alike & (matrix > 0.0))
        arrows = [
            _arrow(places[i], places[j], radii[i], radii[j], 0.14 * (matrix[j, i] > 0.0), head)
            for i, j in one_way
        ]
        ends = np.concatenate([both, one_way])
        lines = [*(places[pair] for pair in both), *(line for line, _ in arrows)]
        heads = [tip for _, tip in arrows]
        axes.set_axis_off()
        return cls(axes, places, radii, largest, ends, matrix[*ends.T], lines, heads)

    def add_edges(self, chosen: Ints, paint: Any, thin: float, **more: Any) -> None:
        """Draw the lines of some edges, ``thin`` times as wide as usual."""
        lines, widths = [self.lines[k] for k in chosen], thin * edge_width(self.probability[chosen])
        drawn = LineCollection(lines, colors=paint, linewidths=widths, **more)
        self.axes.add_collection(drawn, autolim=False)

    def add_heads(self, paint: Sequence[Any]) -> None:
        """Draw the heads of arrows in the colours of their edges, of which ``paint`` has all."""
        last = paint[len(self.lines) - len(self.heads) :]
        drawn = PolyCollection(self.heads, facecolors=last, linewidths=0, zorder=1.1, gid="heads")
        self.axes.add_collection(drawn, autolim=False)

    def add_grey(self, strength: float, thin: float) -> None:
        """Draw all edges in grey, darker with a larger probability."""
        paint = [to_rgba(GREY, (0.3 + 0.7 * p) * strength) for p in self.probability]
        self.add_edges(np.arange(len(self.ends)), paint, thin, zorder=1.0, gid="edges")
        self.add_heads(paint)

    def fit(self, label: Floats) -> None:
        """Set limits with equal scales, so that graph and labels fill the panel.

        The size of the panel is known only after the figure was drawn.
        """
        half = np.array(self.axes.bbox.size) * 36.0 / self.axes.figure.dpi
        margin = np.minimum(label * [0.6, 0.8] + 4.0, 0.4 * half)
        extent = np.abs(self.places).max(axis=0) + self.largest
        scale = min(*((half - margin) / extent), half.max() / 1.2)  # a single arm stays small
        x, y = half / scale
        self.axes.set(aspect="equal", xlim=(-x, x), ylim=(-y, y))

    def find_room(self, boxes: Floats, named: Ints) -> tuple[Floats, Floats]:
        """Return the offset of each label from its node in points, and its overlap."""
        ends = self.axes.transData.transform([[0.0, 0.0], [1.0, 0.0]])[:, 0]
        unit = float(np.diff(ends)[0]) * 72.0 / self.axes.figure.dpi
        # with many edges, labels may cover them
        paths = self.lines if len(self.lines) <= 300 else []
        points = [np.linspace(p[0], p[-1], 15) if len(p) == 2 else p[::4] for p in paths]
        return room_beside(self.axes, boxes, named, self.places, self.radii * unit, points)

    def label(self, texts: Sequence[str], nodes: Ints, always: bool = False) -> int:
        """Write labels beside nodes, ``always`` or where there is room; return their number."""
        boxes = np.array([text_box(text, NOTE) for text in texts])
        self.fit(boxes.max(axis=0))
        offsets, wrong = self.find_room(boxes, nodes)
        kept = np.flatnonzero((wrong <= 0.05) | always)
        for k in kept.tolist():
            write_beside(self.axes, texts[k], self.places[nodes[k]], offsets[k], NOTE)
        return len(kept)


def room_beside(
    axes: Axes, boxes: Floats, named: Ints, places: Floats, radii: Floats, paths: Sequence[Floats]
) -> tuple[Floats, Floats]:
    """Return the offset of each label from its point, and its overlap; radii are in points."""
    pixel, to_page = 72.0 / axes.figure.dpi, axes.transData.transform
    centres, frame = to_page(places) * pixel, np.array(axes.bbox.extents) * pixel
    lines = to_page(np.concatenate([np.empty((0, 2)), *paths])) * pixel
    found, wrong = place_labels(boxes, named, centres, radii, frame, lines)
    return found - centres[named], wrong


def write_beside(
    axes: Axes, text: str, place: Floats, offset: Floats, size: float, colour: str = INK
) -> None:
    """Write a label at an offset (in points) from its point, readable on top of lines."""
    at: dict[str, Any] = {"xytext": offset, "textcoords": "offset points", "zorder": 5.0}
    look: dict[str, Any] = {"ha": "center", "va": "center", "linespacing": 1.1, "color": colour}
    written = axes.annotate(literal(text), (place[0], place[1]), fontsize=size, **at, **look)
    written.set_path_effects([withStroke(linewidth=2.0, foreground="white")])
    written.set_in_layout(False)


def _arrow(
    start: Floats, end: Floats, near: float, far: float, bend: float, head: float
) -> tuple[Floats, Floats]:
    """Return a curve between the rims of two nodes, and the triangle at its end."""
    way = end - start
    length = float(np.hypot(*way))
    head = min(head, 0.5 * max(length - near - far, 0.2 * length))
    control = (start + end) / 2.0 + bend * np.array([way[1], -way[0]])
    t = np.linspace(0.0, 1.0, 61)[:, None]
    curve = (1 - t) ** 2 * start + 2 * t * (1 - t) * control + t**2 * end
    outside = (np.hypot(*(curve - start).T) >= near) & (np.hypot(*(curve - end).T) >= far + head)
    curve = curve[outside] if outside.any() else curve[30:31]
    along = (end - curve[-1]) / np.hypot(*(end - curve[-1]))
    tip = end - far * along
    base = tip - head * along
    across = 0.4 * head * np.array([-along[1], along[0]])
    return np.vstack([curve, base]), np.array([tip, base + across, base - across])


def largest_radius(places: Floats) -> float:
    gaps = np.hypot(*(places[:, None] - places).transpose(2, 0, 1))
    gaps[np.diag_indices_from(gaps)] = np.inf
    nearest = gaps.min(axis=1)
    # of many nodes a few may touch: one close pair would make all discs too small
    close = nearest.min() if len(places) <= NAMED else np.quantile(nearest, 0.2)
    return min(0.2, 0.45 * float(close))


def edge_width(probability: Floats) -> Floats:
    return 0.4 + 1.4 * probability


def add_discs(axes: Axes, places: Floats, radii: Floats, **options: Any) -> EllipseCollection:
    """Draw discs, in the coordinates of the axes."""
    options |= {"units": "xy", "offset_transform": axes.transData, "edgecolors": INK}
    sizes, angles = 2.0 * radii, np.zeros(len(radii))
    drawn = EllipseCollection(sizes, sizes, angles, offsets=places, **options)
    axes.add_collection(drawn, autolim=False)
    return drawn


def probability_legend(
    figure: Figure, matrix: Floats, colour: str = GREY, faint: float = 0.3, scale: float = 1.0
) -> None:
    """Add a legend of widths and shades, unless all edges have probability 1."""
    values = matrix[matrix > 0.0]
    if not values.size or (values == 1.0).all():
        return
    low, high = float(values.min()), float(values.max())
    steps = np.array([low, (low + high) / 2.0, high] if high > low else [low])
    shades = [to_rgba(colour, faint + (1.0 - faint) * p) for p in steps]
    widths = scale * edge_width(steps)
    handles = [Line2D([], [], color=c, lw=lw) for c, lw in zip(shades, widths, strict=True)]
    labels = [f"{p:.3g}" for p in steps]
    style.legend_below(figure, handles, labels, "probability to observe", loc="lower left")


def text_box(text: str, size: float) -> tuple[float, float]:
    """Return width and height of a text in points, with a margin."""
    lines = text.split("\n")
    return max(text_width(line, size) for line in lines) + 2.0, 1.25 * size * len(lines) + 2.0


def place_labels(
    sizes: Floats, nodes: Ints, centres: Floats, radii: Floats, frame: Floats, lines: Floats
) -> tuple[Floats, Floats]:
    """Place labels; return their centres and the share of each that overlaps something.

    ``sizes`` (L, 2) are the labels of the L ``nodes``, the most important first; ``centres`` and
    ``radii`` are of all N nodes; ``frame`` is (x0, y0, x1, y1); ``lines`` are points along the
    edges, best left free. Every label goes to the cheapest of some positions around its node, given
    all others, a few times. All lengths have the same unit.
    """
    middle = (centres.min(axis=0) + centres.max(axis=0)) / 2.0
    squares = np.sqrt(np.pi) * radii[:, None] * np.ones(2)  # of the area of the discs
    options, fixed, dislike = [], [], []
    for size, node in zip(sizes, nodes, strict=True):
        places, cost = _around(size, centres[node], radii[node], middle)
        low = np.maximum(places - size / 2.0, frame[:2])
        high = np.minimum(places + size / 2.0, frame[2:])
        outside = 1.0 - np.maximum(high - low, 0.0).prod(axis=1) / size.prod()
        crossed = (np.abs(places[:, None] - lines) < size / 2.0).all(axis=2).sum(axis=1)
        options.append(places)
        fixed.append(outside + _overlap(places, size, centres, squares))
        dislike.append(cost + np.minimum(0.1 * crossed, 1.2))
    chosen, wrong = np.full((len(sizes), 2), np.inf), np.zeros(len(sizes))
    for i in [*range(len(sizes))] * PASSES:
        others = np.arange(len(sizes)) != i
        bad = fixed[i] + _overlap(options[i], sizes[i], chosen[others], sizes[others])
        best = np.argmin(20.0 * bad + dislike[i])
        chosen[i], wrong[i] = options[i][best], bad[best]
    return chosen, wrong


def _around(size: Floats, centre: Floats, radius: float, middle: Floats) -> tuple[Floats, Floats]:
    """Return candidate centres of a label and their costs: outwards and near is best."""
    x, y = centre - middle
    start = np.arctan2(y, x) if np.hypot(x, y) > 1e-9 else -np.pi / 2.0
    turn = 2.0 * np.pi * np.arange(DIRECTIONS) / DIRECTIONS
    ray = np.column_stack([np.cos(start + turn), np.sin(start + turn)])
    # along each ray, the first positions at which the label clears the square around the node
    clear = size / 2.0 + radius + np.array(DISTANCES)[:, None, None]
    reach = (clear / np.maximum(np.abs(ray), 1e-9)).min(axis=2, keepdims=True)
    cost = 0.3 * (1.0 - np.cos(turn)) + 0.35 * np.arange(len(DISTANCES))[:, None]
    return (centre + ray * reach).reshape(-1, 2), cost.ravel()


def _overlap(first: Floats, size: Floats, second: Floats, sizes: Floats) -> Floats:
    """Return the share of each box around ``first`` that overlaps boxes around ``second``."""
    reach = (size + sizes) / 2.0 - np.abs(first[:, None] - second)
    shared = np.maximum(np.minimum(reach, np.minimum(size, sizes)), 0.0).prod(axis=2)
    shares: Floats = shared.sum(axis=1) / size.prod()
    return shares


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
    title, caption : str
        Texts above and below the figure.
    width : float
        Width in inches.

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
    matrix = among(feedback, np.arange(count))
    places = layout(matrix, cliques)
    radius = min(0.11, 0.75 * largest_radius(places))
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
    style.heading(figure, title)
    arrows = "arrow i → j: playing i reveals j" if drawn.heads else ""
    _legend(figure, set(map(len, cliques)), bool(independent), bool(dominating))
    probability_legend(figure, matrix, BETWEEN, FAINT, _thin(drawn, within=False))
    figure.draw_without_rendering()  # fixes the size of the axes
    named = _name_nodes(drawn, [style.one_line(name) for name in shown], colours, radius)
    left_out = "all" if named == 0 else str(count - named)
    without = "" if named == count else f"{left_out} names left out"
    style.note(figure, "; ".join(part for part in (caption, arrows, without) if part))
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
    add_discs(drawn.axes, drawn.places[ringed], radii, gid="independent", **rings)


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
    style.legend_of(figure, {text: plain | own for text, own in entries.items()}, 1.0)


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
    return drawn.label(names, np.arange(len(names)))
