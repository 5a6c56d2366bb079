"""Where to write the names of nodes so that they cover neither each other nor a node."""

from __future__ import annotations

import numpy as np

from graphbandits.types import Floats, Ints

#: Directions that are tried around a node, at each of these distances (points of print).
DIRECTIONS = 24
DISTANCES = (1.5, 6.0, 12.0)


def place_labels(
    sizes: Floats, nodes: Ints, centres: Floats, radii: Floats, frame: Floats, lines: Floats
) -> tuple[Floats, Floats]:
    """Centres of the labels, and the share of each that lies on a label, on a node or outside.

    ``sizes`` (L, 2) are the labels of the first L ``nodes``, the most important first;
    ``centres`` and ``radii`` are of all N nodes; ``frame`` is (x0, y0, x1, y1); ``lines`` are
    points along the edges, best left free. Every label goes to the cheapest of some places around
    its node, given all others, until none moves. All lengths have the same unit.

    >>> import numpy as np
    >>> nodes, page = np.array([[20.0, 50.0], [80.0, 50.0]]), np.array([0.0, 0.0, 100.0, 100.0])
    >>> places, wrong = place_labels(
    ...     np.full((2, 2), 10.0), np.arange(2), nodes, np.full(2, 3.0), page, np.empty((0, 2))
    ... )
    >>> places.round(1).tolist(), wrong.tolist()  # outwards, 4.5 from the middle of its node
    ([[10.5, 50.0], [89.5, 50.0]], [0.0, 0.0])
    """
    count = len(sizes)
    middle = (centres.min(axis=0) + centres.max(axis=0)) / 2.0
    options = [_places(sizes[i], centres[nodes[i]], radii[nodes[i]], middle) for i in range(count)]
    fixed = [
        base + _fixed_cost(places, sizes[i], centres, radii, frame, lines)
        for i, (places, base) in enumerate(options)
    ]
    chosen = np.full((count, 2), np.inf)
    for _ in range(6):
        before = chosen.copy()
        for i in range(count):
            places = options[i][0]
            others = np.delete(np.arange(count), i)
            shared = _overlap(places, sizes[i], chosen[others], sizes[others]).sum(axis=1)
            chosen[i] = places[np.argmin(fixed[i] + 20.0 * shared / sizes[i].prod())]
        if (chosen == before).all():
            break
    wrong = np.empty(count)
    for i in range(count):
        others = np.delete(np.arange(count), i)
        shared = _overlap(chosen[i : i + 1], sizes[i], chosen[others], sizes[others]).sum()
        squares = np.sqrt(np.pi) * radii[:, None] * np.ones(2)  # of the area of the discs
        shared += _overlap(chosen[i : i + 1], sizes[i], centres, squares).sum()
        wrong[i] = (shared + _outside(chosen[i : i + 1], sizes[i], frame)[0]) / sizes[i].prod()
    return chosen, wrong


def _places(size: Floats, centre: Floats, radius: float, middle: Floats) -> tuple[Floats, Floats]:
    """Centres of the label around its node, and how little each is liked: outwards and near."""
    outwards = centre - middle
    length = float(np.hypot(*outwards))
    start = np.arctan2(outwards[1], outwards[0]) if length > 1e-9 else -np.pi / 2.0
    angle = start + 2.0 * np.pi * np.arange(DIRECTIONS) / DIRECTIONS
    ray = np.column_stack([np.cos(angle), np.sin(angle)])
    # along each ray, the first place at which the label clears a circle around the node
    places, cost = [], []
    for rank, distance in enumerate(DISTANCES):
        reach = _clearance(ray, size / 2.0, radius + distance)
        places.append(centre + ray * reach[:, None])
        cost.append(0.3 * (1.0 - np.cos(angle - start)) + 0.35 * rank)
    return np.concatenate(places), np.concatenate(cost)


def _clearance(ray: Floats, half: Floats, radius: float) -> Floats:
    """How far along ``ray`` the middle of a box must be to touch a circle of ``radius``."""
    low: Floats = np.zeros(len(ray))
    high: Floats = np.full(len(ray), radius + float(np.hypot(*half)))
    for _ in range(20):
        reach = (low + high) / 2.0
        gap = np.maximum(np.abs(ray * reach[:, None]) - half, 0.0)
        clear = np.hypot(gap[:, 0], gap[:, 1]) >= radius
        low, high = np.where(clear, low, reach), np.where(clear, reach, high)
    return high


def _fixed_cost(
    places: Floats, size: Floats, centres: Floats, radii: Floats, frame: Floats, lines: Floats
) -> Floats:
    area = float(size.prod())
    on_nodes = _overlap(places, size, centres, 2.0 * radii[:, None] * np.ones(2)).sum(axis=1)
    cost: Floats = 8.0 * on_nodes / area + 40.0 * _outside(places, size, frame) / area
    if len(lines):
        gap = np.abs(places[:, None] - lines) < size / 2.0
        cost += np.minimum(0.1 * gap.all(axis=2).sum(axis=1), 1.2)
    return cost


def _overlap(first: Floats, size: Floats, second: Floats, sizes: Floats) -> Floats:
    """Areas that boxes around ``first`` (all of one size) share with boxes around ``second``."""
    if not len(second):
        return np.zeros((len(first), 0))
    reach = (size + sizes) / 2.0 - np.abs(first[:, None] - second)
    shared: Floats = np.maximum(np.minimum(reach, np.minimum(size, sizes)), 0.0).prod(axis=2)
    return shared


def _outside(places: Floats, size: Floats, frame: Floats) -> Floats:
    """The area of each box that is not within the frame."""
    low = np.maximum(places - size / 2.0, frame[:2])
    high = np.minimum(places + size / 2.0, frame[2:])
    inside: Floats = np.maximum(high - low, 0.0).prod(axis=1)
    outside: Floats = size.prod() - inside
    return outside
