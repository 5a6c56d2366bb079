"""A feedback graph on paper: where its nodes lie, its edges, and the names beside its nodes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import EllipseCollection, LineCollection, PolyCollection
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patheffects import withStroke
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components, shortest_path

from graphbandits._types import Floats, Ints
from graphbandits.graphs import Feedback
from graphbandits.plots import _canvas
from graphbandits.plots.style import GREY, INK, literal, text_width

#: Graphs with at least this share of all possible edges are drawn on a circle.
CROWDED = 0.7
#: How near the members of a clique are, beside other neighbours.
TOGETHER = 0.75
#: How well the directions of edges agree, up to right angles, in a grid (1: all do).
GRID_LIKE = 0.6
#: Arms that are named, at most; of more, those played most.
NAMED = 20
#: Directions that are tried around a node for its name, at each of these distances (points).
DIRECTIONS = 24
DISTANCES = (1.5, 6.0, 12.0)
#: How often each label may move out of the way of the others.
PASSES = 6


def among(feedback: Feedback, arms: Ints) -> Floats:
    """The probabilities between some arms, without their self-loops; row i -> column j."""
    matrix = np.array([feedback.reach(np.array([i]))[0, arms] for i in arms])
    np.fill_diagonal(matrix, 0.0)
    return matrix


def layout(matrix: Floats, cliques: Sequence[Sequence[int]] = ()) -> Floats:
    """A place in [-1, 1] x [-1, 1] for each node, the same at every call.

    Kamada and Kawai (1989): distances on paper follow those in the graph, directions ignored, and
    the members of a clique of three or more, where ``cliques`` part the nodes, stand together.
    Parts that are not joined stand in rows, the largest first. Graphs without edges and crowded
    ones are circles, clockwise from the top, clique by clique.

    >>> import numpy as np
    >>> path = np.array([[0.0, 0.5, 0.0], [0.0, 0.0, 1.0], [0.0, 0.0, 0.0]])
    >>> (np.abs(layout(path) - [[-1, 0], [0, 0], [1, 0]]) < 0.01).all()
    np.True_
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
    """The unit circle, clockwise from the top, in this order."""
    angle = np.pi / 2.0 - 2.0 * np.pi * np.argsort(order) / len(order)
    return np.column_stack([np.cos(angle), np.sin(angle)])


def _connected(joined: NDArray[np.bool_], cliques: Sequence[Ints], order: Ints) -> Floats:
    """The places of a connected graph, neighbours about 1 apart."""
    count = len(joined)
    if count < 3:
        return np.array([[k - 0.5 * (count - 1), 0.0] for k in range(count)])
    if joined.sum() >= CROWDED * count * (count - 1):
        return _circle(order) * max(0.6, 0.8 * count / (2.0 * np.pi))
    steps = shortest_path(joined, unweighted=True)
    for clique in cliques:
        if len(clique) > 2:  # pairs would bend rings and grids
            steps[np.ix_(clique, clique)] *= TOGETHER
    # either start may end in a knot: from the circle a grid, from the projection a star
    starts = ([_circle(order)] if count <= 40 else []) + [_projected(steps)]  # takes seconds
    found = [_relaxed(start, steps) for start in starts]
    # of equals the circle, where the nodes are in order
    places = min(found, key=lambda ends: round(_stress(ends, steps), 6))
    places = _upright(places - places.mean(axis=0), np.argwhere(np.triu(joined)))
    turned: Floats = places * np.where(places[0] * [-1.0, 1.0] < 0.0, -1.0, 1.0)
    return turned  # the first at the top left


def _in_rows(parts: Sequence[Floats]) -> list[Floats]:
    """Parts side by side in rows of about the same width, the highest first."""
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
    """Turned: the longest direction across the page, where names have room; a grid stands upright.

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
    """The springs of Kamada and Kawai at rest: stress majorization (Gansner, Koren, North 2005).

    Each step solves for the places at which the springs, as long as they are now, pull least.
    """
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
    """Classical scaling of Torgerson (1952): the plane that keeps most of the distances."""
    squares = steps**2
    centred = squares - squares.mean(axis=0) - squares.mean(axis=1)[:, None] + squares.mean()
    values, vectors = np.linalg.eigh(-centred / 2.0)
    flat: Floats = vectors[:, -2:] * np.sqrt(np.maximum(values[-2:], 0.0))
    angle = np.arange(len(steps))  # a little apart, for two at one place would never part
    apart: Floats = flat + 0.01 * np.column_stack([np.cos(angle), np.sin(angle)])
    return apart


def _stress(places: Floats, steps: Floats) -> float:
    """How badly distances on paper follow those in the graph, at the best scale."""
    pairs = np.triu_indices(len(places), 1)
    ratio = np.hypot(*(places[pairs[0]] - places[pairs[1]]).T) / steps[pairs]
    return float(((ratio * (ratio.sum() / (ratio**2).sum()) - 1.0) ** 2).sum())


# --- edges, nodes and their names -------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Drawn:
    """A graph in a panel, in the coordinates of its axes, which reach as far as discs could.

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

    def fit(self, label: Floats) -> None:
        """Limits with the same scale both ways: the graph fills the panel but for room for names.

        It is known how large the panel is once the figure was drawn.
        """
        half = np.array(self.axes.bbox.size) * 36.0 / self.axes.figure.dpi
        margin = np.minimum(label * [0.6, 0.8] + 4.0, 0.4 * half)
        extent = np.abs(self.places).max(axis=0) + self.largest
        scale = min(*((half - margin) / extent), half.max() / 1.2)  # a single arm is no giant
        x, y = half / scale
        self.axes.set(aspect="equal", xlim=(-x, x), ylim=(-y, y))

    def find_room(self, boxes: Floats, named: Ints) -> tuple[Floats, Floats]:
        """How far from its node each label goes (in points), and how badly it fits."""
        pixel, to_page = 72.0 / self.axes.figure.dpi, self.axes.transData.transform
        centres = to_page(self.places) * pixel
        unit = float(np.diff(to_page([[0.0, 0.0], [1.0, 0.0]])[:, 0])[0]) * pixel
        frame = np.array(self.axes.bbox.extents) * pixel
        # many edges leave nothing free, and are faint
        paths = self.lines if len(self.lines) <= 300 else []
        points = [np.linspace(p[0], p[-1], 15) if len(p) == 2 else p[::4] for p in paths]
        lines = to_page(np.concatenate([np.empty((0, 2)), *points])) * pixel
        found, wrong = place_labels(boxes, named, centres, self.radii * unit, frame, lines)
        return found - centres[named], wrong

    def write_beside(self, text: str, node: int, offset: Floats, size: float) -> None:
        """A name at an offset (in points) from its node, readable on top of edges."""
        at: dict[str, Any] = {"xytext": offset, "textcoords": "offset points", "zorder": 5.0}
        middle: dict[str, Any] = {"ha": "center", "va": "center", "linespacing": 1.1}
        place = (self.places[node, 0], self.places[node, 1])
        written = self.axes.annotate(literal(text), place, fontsize=size, **at, **middle)
        written.set_path_effects([withStroke(linewidth=2.0, foreground="white")])
        written.set_in_layout(False)


def _arrow(
    start: Floats, end: Floats, near: float, far: float, bend: float, head: float
) -> tuple[Floats, Floats]:
    """A curve from the rim of one node to the rim of another, and the triangle at its end."""
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
    """Of the discs: what neither covers its neighbours nor fills the page."""
    gaps = np.hypot(*(places[:, None] - places).transpose(2, 0, 1))
    gaps[np.diag_indices_from(gaps)] = np.inf
    nearest = gaps.min(axis=1)
    # of many, a few may touch: else one close pair would make all of them dots
    close = nearest.min() if len(places) <= NAMED else np.quantile(nearest, 0.2)
    return min(0.2, 0.45 * float(close))


def edge_width(probability: Floats) -> Floats:
    """In points."""
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
    """A legend of widths and shades, where edges are not all certain."""
    values = matrix[matrix > 0.0]
    if not values.size or (values == 1.0).all():
        return
    low, high = float(values.min()), float(values.max())
    steps = np.array([low, (low + high) / 2.0, high] if high > low else [low])
    shades = [to_rgba(colour, faint + (1.0 - faint) * p) for p in steps]
    widths = scale * edge_width(steps)
    handles = [Line2D([], [], color=c, lw=lw) for c, lw in zip(shades, widths, strict=True)]
    labels = [f"{p:.3g}" for p in steps]
    _canvas.legend_below(figure, handles, labels, "probability to observe", loc="lower left")


def text_box(text: str, size: float) -> tuple[float, float]:
    """Width and height of a text in points, with a little air."""
    lines = text.split("\n")
    return max(text_width(line, size) for line in lines) + 2.0, 1.25 * size * len(lines) + 2.0


def place_labels(
    sizes: Floats, nodes: Ints, centres: Floats, radii: Floats, frame: Floats, lines: Floats
) -> tuple[Floats, Floats]:
    """Centres of the labels, and the share of each that lies on a label, on a node or outside.

    ``sizes`` (L, 2) are the labels of the L ``nodes``, the most important first; ``centres`` and
    ``radii`` are of all N nodes; ``frame`` is (x0, y0, x1, y1); ``lines`` are points along the
    edges, best left free. Every label goes to the cheapest of some places around its node, given
    all others, a few times. All lengths have the same unit.

    >>> import numpy as np
    >>> nodes, page = np.array([[20.0, 50.0], [80.0, 50.0]]), np.array([0.0, 0.0, 100.0, 100.0])
    >>> places, wrong = place_labels(
    ...     np.full((2, 2), 10.0), np.arange(2), nodes, np.full(2, 3.0), page, np.empty((0, 2))
    ... )
    >>> places.round(1).tolist(), wrong.tolist()  # outwards, 4.5 from the middle of its node
    ([[10.5, 50.0], [89.5, 50.0]], [0.0, 0.0])
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
    """Centres of the label around its node, and how little each is liked: outwards and near."""
    x, y = centre - middle
    start = np.arctan2(y, x) if np.hypot(x, y) > 1e-9 else -np.pi / 2.0
    turn = 2.0 * np.pi * np.arange(DIRECTIONS) / DIRECTIONS
    ray = np.column_stack([np.cos(start + turn), np.sin(start + turn)])
    # along each ray, the first places at which the label clears the square around the node
    clear = size / 2.0 + radius + np.array(DISTANCES)[:, None, None]
    reach = (clear / np.maximum(np.abs(ray), 1e-9)).min(axis=2, keepdims=True)
    cost = 0.3 * (1.0 - np.cos(turn)) + 0.35 * np.arange(len(DISTANCES))[:, None]
    return (centre + ray * reach).reshape(-1, 2), cost.ravel()


def _overlap(first: Floats, size: Floats, second: Floats, sizes: Floats) -> Floats:
    """Shares of boxes around ``first`` (all of one size) that lie on boxes around ``second``."""
    reach = (size + sizes) / 2.0 - np.abs(first[:, None] - second)
    shared = np.maximum(np.minimum(reach, np.minimum(size, sizes)), 0.0).prod(axis=2)
    shares: Floats = shared.sum(axis=1) / size.prod()
    return shares
