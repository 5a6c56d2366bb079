"""What pictures of graphs share: the size of nodes, the strength of edges, room for names."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from graphbandits.plots.drawing import Edges
from graphbandits.plots.labels import place_labels
from graphbandits.plots.legends import legend_below
from graphbandits.plots.style import GREY, text_width
from graphbandits.types import Floats, Ints

#: Arms that are named, at most; of more, those played most.
NAMED = 20


@dataclass(frozen=True, eq=False)
class Drawn:
    """What a panel shows, in the coordinates of its axes."""

    places: Floats
    radii: Floats
    edges: Edges
    largest: float


def largest_radius(places: Floats) -> float:
    """Of the discs: what neither covers its neighbours nor fills the page."""
    gaps = np.hypot(*(places[:, None] - places).transpose(2, 0, 1))
    gaps[np.diag_indices_from(gaps)] = np.inf
    nearest = gaps.min(axis=1)
    # of many, a few may touch: else one close pair would make all of them dots
    close = nearest.min() if len(places) <= NAMED else np.quantile(nearest, 0.2)
    return min(0.2, 0.45 * float(close))


def edge_width(probability: float) -> float:
    """In points."""
    return 0.4 + 1.4 * probability


def probability_legend(
    figure: Figure, matrix: Floats, colour: str = GREY, faint: float = 0.3, scale: float = 1.0
) -> None:
    """A legend of widths and shades, where edges are not all certain."""
    values = matrix[matrix > 0.0]
    if not values.size or (values == 1.0).all():
        return
    low, high = float(values.min()), float(values.max())
    steps = [low, (low + high) / 2.0, high] if high > low else [low]
    shades = (to_rgba(colour, faint + (1.0 - faint) * p) for p in steps)
    widths = (scale * edge_width(p) for p in steps)
    handles = [Line2D([], [], color=c, lw=lw) for c, lw in zip(shades, widths, strict=True)]
    labels = [f"{p:.3g}" for p in steps]
    legend_below(figure, handles, labels, "probability to observe", loc="lower left")


def text_box(text: str, size: float) -> tuple[float, float]:
    """Width and height of a text in points, with a little air."""
    lines = text.split("\n")
    return max(text_width(line, size) for line in lines) + 2.0, 1.25 * size * len(lines) + 2.0


def fit(figure: Figure, axes: Axes, drawn: Drawn, label: Floats) -> None:
    """Limits with the same scale both ways: the graph fills the panel but for room for names."""
    half = np.array([axes.bbox.width, axes.bbox.height]) * 36.0 / figure.dpi
    margin = np.minimum(label * [0.6, 0.8] + 4.0, 0.4 * half)
    extent = np.abs(drawn.places).max(axis=0) + drawn.largest
    scale = min(*((half - margin) / extent), half.max() / 1.2)  # a single arm is no giant
    reach = half / scale
    axes.set_aspect("equal")
    axes.set_xlim(-reach[0], reach[0])
    axes.set_ylim(-reach[1], reach[1])


def find_room(
    figure: Figure, axes: Axes, boxes: Floats, named: Ints, drawn: Drawn
) -> tuple[Floats, Floats]:
    """How far from its node each label goes (in points), and how badly it fits."""
    pixel = 72.0 / figure.dpi
    centres = axes.transData.transform(drawn.places) * pixel
    unit = float(np.diff(axes.transData.transform([[0.0, 0.0], [1.0, 0.0]])[:, 0])[0]) * pixel
    frame = np.array(axes.bbox.extents) * pixel
    # many edges leave nothing free, and are faint
    paths = drawn.edges.lines if len(drawn.edges.lines) <= 300 else []
    points = [np.linspace(path[0], path[-1], 15) if len(path) == 2 else path[::4] for path in paths]
    lines = axes.transData.transform(np.concatenate(points)) * pixel if points else np.empty((0, 2))
    found, wrong = place_labels(boxes, named, centres, drawn.radii * unit, frame, lines)
    return found - centres[named], wrong
