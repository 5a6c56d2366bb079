"""Figure of a decision: the expected regret of each arm against its gain, with the frontier."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from numpy.typing import NDArray

from graphbandits._types import Floats, Ints
from graphbandits.plots import _canvas, _graph_layout, style
from graphbandits.plots.style import GREY, INK, NOTE, SMALL, TEXT, TWO_COLUMNS

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

    Parameters
    ----------
    gain : ndarray of shape (K,)
        Gain of playing each arm.
    delta : ndarray of shape (K,)
        Expected regret of playing each arm.
    pi : ndarray of shape (K,) or None
        Probability of each arm; None if it is not known. The area of a point shows it.
    drawn : ndarray of bool, optional
        Arms that are marked as those of the policy. By default, all of a positive probability; an
        exploration floor adds the others.
    hull : sequence of int
        Vertices of the hull, by increasing regret.
    played : int
        The played arm, drawn with a ring.
    names : sequence of str
        Names of the arms.
    named : sequence of int
        Arms to label, the most important first.
    gain_label : str
        Label of the gain.
    title : str
        Title above the figure.
    width : float
        Width in inches.

    Returns
    -------
    matplotlib.figure.Figure
        The figure.

    Examples
    --------
    >>> gain, delta = np.array([0.1, 0.3, 0.2]), np.array([0.1, 0.2, 0.3])
    >>> names, pi = ["ann", "bob", "eve"], np.array([0.4, 0.6, 0.0])
    >>> chosen = {"hull": [0, 1], "played": 1, "names": names, "named": [1, 0]}
    >>> figure = frontier_figure(gain, delta, pi=pi, **chosen)
    >>> [text.get_text() for text in figure.axes[0].texts]
    ['bob (0.6)', 'ann (0.4)']
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
    _canvas.tidy(axes)
    axes.margins(0.08)
    axes.set_xlim(0.0, None if gain.max() > 0.0 else 1.0)
    axes.set_ylim(0.0, None if delta.max() > 0.0 else 1.0)
    room = 45.0 * width
    axes.set_xlabel(style.literal(style.wrap(gain_label, room, TEXT)), fontsize=TEXT)
    axes.set_ylabel("expected regret", fontsize=TEXT)
    _canvas.heading(figure, title)
    _legend(
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
    _write(axes, places, area, np.array(named, np.int64), texts)
    return figure


def _is_visible(gain: Floats, delta: Floats, hull: Sequence[int]) -> bool:
    """Return whether the hull is a line, and not one point.

    >>> equal = np.full(2, 0.5)
    >>> _is_visible(equal, equal + [0.0, 1e-16], [0, 1]), _is_visible(equal, equal, [0])
    (False, False)
    """
    extents = [np.ptp(one[hull]) / (one.max() or 1.0) for one in (gain, delta)]
    return bool(max(extents) > 1e-3)


def _legend(figure: Figure, rest: Floats | None, others: bool, hull: bool, mixed: bool) -> None:
    """Add a legend; ``rest`` has the probabilities of the other arms, None if unknown."""
    plain: dict[str, Any] = {"marker": "o", "linestyle": "none", "markeredgecolor": "white"}
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
        entries["frontier: least regret for a gain"] = {"color": HULL, "lw": 1.2}
    if mixed:
        entries["mixture of two arms"] = {"color": DRAWN, "lw": 6.0, "alpha": 0.35}
    handles = [Line2D([], [], **look) for look in entries.values()]
    _canvas.legend_below(figure, handles, list(entries), handlelength=1.4)


def _write(axes: Axes, places: Floats, area: Floats, named: Ints, texts: list[str]) -> None:
    """Write labels beside points; those of the two most important arms are always written."""
    pixel = 72.0 / axes.figure.dpi
    to_page = axes.transData.transform
    # labels avoid other points; thousands of them would only take time
    near = np.arange(len(places)) if len(places) <= CROWD else named
    nodes = np.concatenate([named, np.setdiff1d(near, named)])
    centres = to_page(places[nodes]) * pixel
    boxes = np.array([_graph_layout.text_box(text, SMALL) for text in texts])
    frame = np.array(axes.bbox.extents) * pixel
    hull = np.asarray(axes.lines[0].get_xydata())
    paths = [np.linspace(a, b, 15) for a, b in pairwise(hull)]
    lines = to_page(np.concatenate([np.empty((0, 2)), *paths])) * pixel
    radii = np.sqrt(area[nodes] / np.pi) + 1.0
    count = np.arange(len(named))
    spots, wrong = _graph_layout.place_labels(boxes, count, centres, radii, frame, lines)
    for k, (text, spot) in enumerate(zip(texts, spots, strict=True)):
        if k > 1 and wrong[k] > 0.3:
            continue
        look: dict[str, Any] = {
            "fontsize": SMALL if k < 2 else NOTE,
            "color": INK if k < 2 else GREY,
        }
        look |= {"ha": "center", "va": "center", "zorder": 4.0, "textcoords": "offset points"}
        place = (places[nodes[k], 0], places[nodes[k], 1])
        written = axes.annotate(style.literal(text), place, xytext=spot - centres[k], **look)
        written.set_in_layout(False)
