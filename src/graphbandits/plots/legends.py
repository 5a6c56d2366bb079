"""Words around the axes: notes, marks that lead to them, and legends where they fit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.container import Container
from matplotlib.figure import Figure

from graphbandits.plots.style import GREY, NOTE, SMALL, literal, text_width, wrap
from graphbandits.types import Floats

#: More policies than this have their legend outside the axes.
INSIDE = 8
#: Marks that lead from a name to a note; further ones are numbers.
MARKS = "*†‡§¶"
#: The height of a line of a note in points.
LINE = 1.35 * NOTE


def note(figure: Figure, text: str, footnotes: str = "") -> None:
    """Small print below everything, at the right; legends outside the axes go above it.

    ``footnotes`` go below it, at the left, each on a line of its own. What is more than one line
    makes the figure higher, not the axes lower.
    """
    lines = 0
    for words, place, side in ((footnotes, 0.01, "left"), (text, 0.99, "right")):
        if words:
            wrapped = wrap(words, 72.0 * figure.get_figwidth() - 36.0, NOTE)
            lines += wrapped.count("\n") + 1
            figure.text(
                place,
                0.0,
                literal(wrapped),
                ha=side,
                va="bottom",
                fontsize=NOTE,
                color=GREY,
                linespacing=1.2,
                gid="note",
            )
    figure.set_figheight(figure.get_figheight() + (lines - 1) * LINE / 72.0)
    _reserve(figure)


def marked(notes: Mapping[str, str]) -> tuple[dict[str, str], str]:
    """A mark for each policy that has a note, and the notes in lines that begin with the marks.

    >>> marked({"b": "Slow.", "c": "Old.", "d": "Slow."})
    ({'b': '*', 'c': '†', 'd': '*'}, '* b, d: Slow.\\n† c: Old.')
    """
    texts = list(dict.fromkeys(notes.values()))
    marks = [MARKS[i] if i < len(MARKS) else f"({i + 1})" for i in range(len(texts))]
    lines = [
        f"{mark} {', '.join(name for name in notes if notes[name] == text)}: {text}"
        for mark, text in zip(marks, texts, strict=True)
    ]
    return {name: marks[texts.index(text)] for name, text in notes.items()}, "\n".join(lines)


def legend_below(
    figure: Figure, handles: Sequence[Any], labels: Sequence[str], title: str = "", **options: Any
) -> None:
    """A legend below the axes and above the note; the figure grows by its height."""
    width = 72.0 * figure.get_figwidth()
    texts = [literal(wrap(label, 0.75 * width, SMALL)) for label in labels]
    widest = max(text_width(line, SMALL) for text in texts for line in text.split("\n"))
    columns = max(1, min(4, len(texts), int(width / (widest + 6.5 * SMALL))))
    every = _legend_options(title) | {"loc": "lower center", "ncols": columns}
    every |= {"borderaxespad": 0.0} | options
    legend = figure.legend(handles, texts, **every)
    legend.set_gid("below")
    figure.set_figheight(figure.get_figheight() + legend.get_window_extent().height / figure.dpi)
    _reserve(figure)


def add_legend(
    figure: Figure,
    panels: Sequence[Axes],
    handles: Sequence[Artist | Container],
    labels: Sequence[str],
    title: str,
    curves: Sequence[tuple[Floats, Floats, Floats]],
) -> None:
    """The legend in a corner of the one panel that no curve crosses, or else below the axes.

    ``curves`` are x, lowest and highest y of what is drawn for each policy.
    """
    if len(panels) == 1 and len(labels) <= INSIDE:
        (axes,) = panels
        texts = [literal(wrap(label, 54.0 * figure.get_figwidth(), SMALL)) for label in labels]
        legend = axes.legend(handles, texts, loc="upper left", **_legend_options(title))
        figure.draw_without_rendering()
        drawn = [_in_pixels(axes, *curve) for curve in curves]
        for corner in ("upper left", "lower right", "upper right", "lower left"):
            legend.set_loc(corner)
            box = legend.get_window_extent().padded(figure.dpi * 4.0 / 72.0)
            x0, y0, x1, y1 = box.extents
            inside = axes.bbox.padded(figure.dpi * 6.0 / 72.0)
            if not (inside.contains(x0, y0) and inside.contains(x1, y1)):
                break
            if not any(
                ((x > x0) & (x < x1) & (high > y0) & (low < y1)).any() for x, low, high in drawn
            ):
                return
        legend.remove()
    legend_below(figure, handles, labels, title)


def _legend_options(title: str) -> dict[str, Any]:
    return {
        "title": title,
        "title_fontsize": SMALL,
        "fontsize": SMALL,
        "frameon": False,
        "handlelength": 4,
        "alignment": "left",
    }


def _reserve(figure: Figure) -> None:
    """Stack note and legends at the bottom, and leave the rest of the figure to the axes.

    Done anew after each change of the height, for it is given as a share of it.
    """
    height = 72.0 * figure.get_figheight()
    used = 3.0
    for text in figure.texts:
        if text.get_gid() == "note":
            text.set_y(used / height)
            used += LINE * (text.get_text().count("\n") + 1)
    for legend in figure.legends:
        legend.set_bbox_to_anchor((0.01, used / height, 0.98, 1.0), figure.transFigure)
        used += legend.get_window_extent().height * 72.0 / figure.dpi
    figure.set_layout_engine("constrained", rect=(0.0, used / height, 1.0, 1.0 - used / height))


def _in_pixels(axes: Axes, x: Floats, low: Floats, high: Floats) -> tuple[Floats, Floats, Floats]:
    """A curve where it is drawn, at four hundred places."""
    known = np.isfinite(low) & np.isfinite(high)
    lower = axes.transData.transform(np.column_stack([x, low])[known])
    upper = axes.transData.transform(np.column_stack([x, high])[known])
    place = np.linspace(lower[0, 0], lower[-1, 0], 400)
    at_low = np.interp(place, lower[:, 0], lower[:, 1])
    return place, at_low, np.interp(place, upper[:, 0], upper[:, 1])
