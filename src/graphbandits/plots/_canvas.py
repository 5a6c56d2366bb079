"""What stands around the data: panels and their scales, titles, notes and legends."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from graphbandits._types import Floats
from graphbandits.plots import style
from graphbandits.plots.style import GREY, INK, NOTE, SMALL, TEXT, literal, wrap
from graphbandits.results import Results

#: How an axis can be: "symlog" is linear around zero, and logarithmic beyond.
SCALES = ("linear", "log", "symlog")
#: One scale is enough while the largest mean is at most this many times the least.
TOGETHER = 6.0
#: Policies that are shown together in an enlargement differ by this factor at most, if they can.
CLOSE = 4.0
#: Marks that lead from a name to a note; further ones are numbers.
MARKS = "*†‡§¶"
#: The height of a line of a note in points.
LINE = 1.35 * NOTE
#: Two panels are beside each other in figures wider than this, in inches.
BESIDE = 5.0


# --- axes -------------------------------------------------------------------------------------


def tidy(axes: Axes, grid: str = "both") -> None:
    """Light grid below the data, no box, small tick labels."""
    axes.grid(axis=grid, color=style.GRID, linewidth=0.6)  # type: ignore[arg-type]
    axes.set_axisbelow(True)
    axes.tick_params(labelsize=SMALL, color=INK, labelcolor=INK)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)


def rows(axes: Axes, names: Sequence[str], room: float, margin: float = 0.0) -> None:
    """A row for each name, the first on top, without a line at the left."""
    axes.set_yticks(range(len(names)), [literal(wrap(name, room, SMALL)) for name in names])
    axes.set_ylim(len(names) - 0.5 + margin, -0.5 - margin)
    tidy(axes, "x")
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)


def column(axes: Axes, texts: Sequence[str], title: str) -> None:
    """A text at the right of each row, and above them what they are."""
    for row, text in enumerate(texts):
        transform = axes.get_yaxis_transform()
        axes.text(1.02, row, text, transform=transform, va="center", fontsize=SMALL)
    place: dict[str, Any] = {"xycoords": "axes fraction", "textcoords": "offset points"}
    axes.annotate(
        title, (1.02, 1.0), xytext=(0.0, 4.0), va="bottom", fontsize=NOTE, color=GREY, **place
    )


def set_scale(axes: Axes, axis: str, scale: str, values: Floats) -> None:
    """Scale the axis "x" or "y" for these values, which "log" shows where they are above 0."""
    sizes = np.abs(
        values[np.isfinite(values) & (values > 0.0 if scale == "log" else values != 0.0)]
    )
    if scale == "linear" or not sizes.size:
        return
    least, most = float(sizes.min()), float(sizes.max())
    if scale == "log":
        axes.set(**{f"{axis}scale": "log"})
        subs = (1.0,) if most > 1e3 * least else (1.0, 2.0, 5.0)
        getattr(axes, f"{axis}axis").set_major_locator(LogLocator(subs=subs))
        getattr(axes, f"set_{axis}lim")(0.8 * least)
        if (values <= 0.0).any():  # infinitely far outside
            for artist in (*axes.get_lines(), *axes.collections):
                artist.set_clip_on(True)
    else:
        threshold = 10.0 ** math.ceil(math.log10(max(least, 1e-4 * most)))
        getattr(axes, f"set_{axis}scale")("symlog", linthresh=threshold)
    plain = FuncFormatter(lambda value, _: style.number(value, None))
    getattr(axes, f"{axis}axis").set_major_formatter(plain)
    getattr(axes, f"{axis}axis").set_minor_formatter(NullFormatter())


def regret_axis(axes: Axes, axis: str, scale: str, values: Floats) -> None:
    """Scale the axis of a regret; it begins at zero, unless realised regret goes below."""
    set_scale(axes, axis, scale, values)
    low, high = getattr(axes.dataLim, f"interval{axis}")
    if scale != "log" and low >= 0.0:
        getattr(axes, f"set_{axis}lim")(0.0, None if high > 0.0 else 1.0)


# --- panels -----------------------------------------------------------------------------------


def near_ground(means: Mapping[str, float]) -> list[str]:
    """The policies of least regret that an enlargement shows, best first; none if none is needed.

    They end where the next mean is furthest away, as a ratio: among those within ``CLOSE`` times
    the least if there are two, and else among all.

    >>> near_ground({"a": 5.0, "b": 150.0, "c": 6.0, "d": 25.0}), near_ground({"a": 5.0, "b": 20.0})
    (['a', 'c'], [])
    """
    ranking = sorted(means, key=lambda name: means[name])
    values = [means[name] for name in ranking]
    if len(values) < 3 or values[0] <= 0.0 or values[-1] <= TOGETHER * values[0]:
        return []
    counts = range(2, len(values))
    close = [count for count in counts if values[count - 1] <= CLOSE * values[0]]
    chosen = max(close or counts, key=lambda count: values[count] / values[count - 1])
    return ranking[:chosen]


def final_means(results: Results) -> dict[str, float]:
    """The mean regret of each policy after the last round."""
    return {name: float(result.mean[-1]) for name, result in results.policies.items()}


def panels_for(lower: Sequence[str], width: float) -> tuple[Figure, list[Axes]]:
    """A figure with one panel, or with two: beside each other where there is room, else stacked."""
    height = min(4.6, 0.45 * width + 1.36)
    if not lower:
        figure = style.new_figure(width, height)
        return figure, [figure.add_subplot()]
    figure = style.new_figure(width, height if width > BESIDE else 1.7 * height)
    shape = (1, 2) if width > BESIDE else (2, 1)
    return figure, list(figure.subplots(*shape, sharex=True).flat)


def panel_width(axes: Axes) -> float:
    """The width in inches of the column of panels that the axes are in."""
    columns = axes.get_subplotspec().get_gridspec().ncols  # type: ignore[union-attr]
    return float(axes.figure.get_figwidth() / columns)  # type: ignore[union-attr]


def enlarge(panels: Sequence[Axes], reached: Floats) -> str:
    """Let the second panel show all that some policies reach, a row each; the part of the note."""
    whole, part = panels
    bottom, top = min(0.0, float(np.nanmin(reached))), 1.05 * float(np.nanmax(reached))
    part.set_ylim(bottom, top)
    for artist in (*part.get_lines(), *part.collections):
        artist.set_clip_on(True)  # the others leave at the top
    whole.axhspan(bottom, top, color=GREY, alpha=0.2, lw=0, zorder=0.5, gid="enlarged")
    whole.set_title("all policies", fontsize=SMALL, loc="left")
    part.set_title(f"enlarged: the {len(reached)} with least regret", fontsize=SMALL, loc="left")
    beside = whole.figure.get_figwidth() > BESIDE  # type: ignore[union-attr]
    if beside:
        whole.set_xlabel(part.get_xlabel(), fontsize=part.xaxis.label.get_fontsize())
    else:
        part.set_ylabel(whole.get_ylabel(), fontsize=whole.yaxis.label.get_fontsize())
    return f"grey: what the {'right' if beside else 'lower'} panel shows; "


# --- words ------------------------------------------------------------------------------------


def heading(figure: Figure, title: str) -> None:
    """The title above everything, at the left, broken where it is too long for the figure."""
    if title:
        width = 72.0 * figure.get_figwidth() - 12.0
        lines = wrap(title, width, TEXT + 1.0)
        figure.suptitle(literal(lines), x=6.0 / (width + 12.0), ha="left", fontsize=TEXT + 1.0)


def note(figure: Figure, text: str, footnotes: str = "") -> None:
    """Small print below everything, at the right; legends outside the axes go above it.

    ``footnotes`` go below it, at the left, each on a line of its own. What is more than one line
    makes the figure higher, not the axes lower.
    """
    lines = 0
    small: dict[str, Any] = {"va": "bottom", "fontsize": NOTE, "color": GREY, "linespacing": 1.2}
    for words, place, side in ((footnotes, 0.01, "left"), (text, 0.99, "right")):
        if words:
            wrapped = wrap(words, 72.0 * figure.get_figwidth() - 36.0, NOTE)
            lines += wrapped.count("\n") + 1
            figure.text(place, 0.0, literal(wrapped), ha=side, gid="note", **small)
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
    widest = max(style.text_width(line, SMALL) for text in texts for line in text.split("\n"))
    columns = max(1, min(4, len(texts), int(width / (widest + 6.5 * SMALL))))
    every: dict[str, Any] = {"title": title, "title_fontsize": SMALL, "fontsize": SMALL}
    every |= {"loc": "lower center", "ncols": columns, "alignment": "left", "handlelength": 4}
    every |= {"frameon": False, "borderaxespad": 0.0} | options
    legend = figure.legend(handles, texts, **every)
    legend.set_gid("below")
    figure.set_figheight(figure.get_figheight() + legend.get_window_extent().height / figure.dpi)
    _reserve(figure)


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
