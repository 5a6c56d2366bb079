"""A feedback graph on paper: where its nodes lie, and its edges as lines and arrow heads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh
from scipy.sparse.csgraph import connected_components, shortest_path

from graphbandits.graphs import Feedback
from graphbandits.types import Floats, Ints

#: Graphs with at least this share of all possible edges are drawn on a circle.
CROWDED = 0.7
#: How near the members of a clique are, beside other neighbours.
TOGETHER = 0.75
#: How well the directions of edges agree, up to right angles, in a grid (1: all do).
GRID_LIKE = 0.6


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
    starts = [_projected(steps)] + ([_circle(order)] if count <= 40 else [])  # takes seconds
    found = [_relaxed(start, steps) for start in starts]
    places = min(found, key=lambda ends: _stress(ends, steps))
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
    count = len(steps)
    values, vectors = eigh(-centred / 2.0, subset_by_index=[count - 2, count - 1])
    flat: Floats = vectors * np.sqrt(np.maximum(values, 0.0))
    angle = np.arange(len(steps))  # a little apart, for two at one place would never part
    apart: Floats = flat + 0.01 * np.column_stack([np.cos(angle), np.sin(angle)])
    return apart


def _stress(places: Floats, steps: Floats) -> float:
    """How badly distances on paper follow those in the graph, at the best scale."""
    pairs = np.triu_indices(len(places), 1)
    wanted = steps[pairs]
    ratio = np.hypot(*(places[pairs[0]] - places[pairs[1]]).T) / wanted
    return float(((ratio * (ratio.sum() / (ratio**2).sum()) - 1.0) ** 2).sum())


@dataclass(frozen=True, eq=False)
class Edges:
    """Lines (each a row of points), heads (triangles; tip first), and the probability of each."""

    ends: Ints  # (edges, 2): from, to
    probability: Floats
    lines: list[Floats]
    heads: list[Floats]


def edges_of(matrix: Floats, places: Floats, radii: Floats, head: float) -> Edges:
    """Straight lines if the graph is symmetric; else arrows, bent where there is one back."""
    if np.array_equal(matrix, matrix.T):
        ends = np.argwhere(np.triu(matrix > 0.0))
        lines = [places[pair] for pair in ends]
        return Edges(ends, matrix[ends[:, 0], ends[:, 1]], lines, [])
    ends = np.argwhere(matrix > 0.0)
    lines, heads = [], []
    for i, j in ends:
        bend = 0.14 if matrix[j, i] > 0.0 else 0.0
        line, triangle = _arrow(places[i], places[j], radii[i], radii[j], bend, head)
        lines.append(line)
        heads.append(triangle)
    return Edges(ends, matrix[ends[:, 0], ends[:, 1]], lines, heads)


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
