"""Paired differences of the final regret as a forest plot."""

from __future__ import annotations

import math

from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from graphbandits.errors import InputError
from graphbandits.plots.enlarge import final_means, near_ground
from graphbandits.plots.legends import legend_below, note
from graphbandits.plots.style import (
    COLOURS,
    GREY,
    GRID,
    INK,
    SMALL,
    TEXT,
    TWO_COLUMNS,
    column_title,
    decimals,
    heading,
    in_style,
    literal,
    new_figure,
    number,
    percent,
    tidy,
    trials_text,
    wrap,
)
from graphbandits.results import Difference, Results

#: From more rows than this, lines part those of one policy from those of the next.
CROWDED = 10
#: Colour, marker and filling of the three verdicts.
VERDICTS = {
    "first has less regret": (COLOURS[0], "o", True),
    "second has less regret": (COLOURS[1], "s", True),
    "not told apart": (GREY, "D", False),
}


@in_style
def forest_figure(
    results: Results,
    reference: str | None = None,
    title: str = "",
    confidence: float = 0.95,
    simultaneous: bool = True,
    width: float = TWO_COLUMNS,
) -> Figure:
    """Final regret of one policy minus another's, trial by trial: a row a pair, with intervals.

    All pairs, or each policy with ``reference``. An interval without zero is a clear difference
    and drawn filled; one with zero is drawn hollow and grey. ``simultaneous`` intervals hold all
    together at ``confidence``, else each holds by itself. The differences are those of
    :meth:`graphbandits.results.Results.differences`. Where some regrets are far larger than the
    others, the axis is that of the differences between the others, and what lies beyond it is an
    arrow at its end; the numbers at the right are of all.

    >>> from graphbandits import simulate
    >>> results = simulate(["ts-n", "ids-n"], horizon=20, trials=10)
    >>> forest_figure(results).axes[0].get_xlabel()
    'difference of final regret, first − second'
    """  # noqa: RUF002
    differences = results.differences(reference, confidence, simultaneous=simultaneous)
    if not differences:
        raise InputError(
            "a forest plot compares policies, and these results have one: simulate two or more"
        )
    figure = new_figure(width, 0.95 + 0.24 * len(differences))
    axes = figure.add_subplot()
    axes.axvline(0.0, color=INK, lw=0.9, zorder=1.0)
    places = decimals((d.high - d.low) / 2.0 for d in differences)
    ends = [abs(end) for d in differences for end in (d.low, d.high) if end]
    while places is not None and places < 6 and any(end < 0.5 * 10.0**-places for end in ends):
        places += 1  # which side of zero an interval ends on must be seen
    limits = _limits(results, differences)
    inset = 0.0 if limits is None else 0.02 * (limits[1] - limits[0])
    transform = axes.get_yaxis_transform()
    for row, d in enumerate(differences):
        colour, marker, filled = VERDICTS[verdict(d)]
        if math.isfinite(d.low):
            axes.plot([d.low, d.high], [row, row], color=colour, lw=1.6 if filled else 1.2)
        place = d.mean
        if limits is not None and not limits[0] <= place <= limits[1]:
            marker = "<" if place < limits[0] else ">"
            place = min(max(place, limits[0] + inset), limits[1] - inset)
        axes.plot(
            [place],
            [row],
            color=colour,
            marker=marker,
            markersize=5.0,
            markerfacecolor=colour if filled else "white",
            linestyle="none",
        )
        if len(differences) > CROWDED and row and d.first != differences[row - 1].first:
            axes.axhline(row - 0.5, color=GRID, lw=0.6, zorder=0.5)
        axes.text(1.02, row, _numbers(d, places), transform=transform, va="center", fontsize=SMALL)
    known = any(math.isfinite(d.low) for d in differences)
    header = f"mean [{percent(confidence)} interval]" if known else "mean"
    column_title(axes, header)

    labels = [literal(_pair(d, width)) for d in differences]
    lines = max(label.count("\n") for label in labels) + 1
    figure.set_figheight(0.95 + len(labels) * max(0.24, 0.13 + lines * SMALL * 1.25 / 72.0))
    axes.set_yticks(range(len(labels)), labels)
    axes.set_ylim(len(labels) - 0.4, -0.6)
    axes.margins(x=0.08)
    if limits is not None:
        axes.set_xlim(*limits)
    axes.set_xlabel("difference of final regret, first − second", fontsize=TEXT)  # noqa: RUF001
    tidy(axes, "x")
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)
    used = {verdict(d) for d in differences}
    handles = [
        Line2D(
            [],
            [],
            color=colour,
            marker=marker,
            markersize=5.0,
            lw=1.4,
            markerfacecolor=colour if filled else "white",
        )
        for text, (colour, marker, filled) in VERDICTS.items()
        if text in used
    ]
    heading(figure, title)
    arrows = "arrow: beyond the axis; " if limits is not None else ""
    note(figure, arrows + _note(results, len(differences), known, simultaneous))
    columns = len(handles) if width > 5.0 else 1
    legend_below(figure, handles, [text for text in VERDICTS if text in used], ncols=columns)
    return figure


def verdict(difference: Difference) -> str:
    """What the interval says: one of ``VERDICTS``; without an interval nothing is told apart.

    >>> verdict(Difference("a", "b", -1.0, 0.2, -1.4, -0.6))
    'first has less regret'
    """
    if difference.high < 0.0:
        return "first has less regret"
    return "second has less regret" if difference.low > 0.0 else "not told apart"


def _limits(results: Results, differences: list[Difference]) -> tuple[float, float] | None:
    """Ends of the axis that show the policies near the ground; None where all can be shown."""
    lower = near_ground(final_means(results))
    near = [d for d in differences if d.first in lower and d.second in lower]
    ends = [end for d in near for end in (d.low, d.mean, d.high) if math.isfinite(end)]
    if not ends:
        return None
    low, high = min(0.0, *ends), max(0.0, *ends)
    margin = 0.08 * (high - low)
    return (low - margin, high + margin) if margin else None


def _numbers(d: Difference, places: int | None) -> str:
    mean = number(d.mean, places, "+")
    if not math.isfinite(d.low):
        return mean
    return f"{mean} [{number(d.low, places, '+')}, {number(d.high, places, '+')}]"


def _pair(d: Difference, width: float) -> str:
    """The two names with a minus, on two lines where one is too long."""
    room = 24.0 * width
    text = f"{d.first} − {d.second}"  # noqa: RUF001
    if "\n" not in wrap(text, room, SMALL):
        return text
    return wrap(d.first, room, SMALL) + "\n" + wrap(f"− {d.second}", room, SMALL)  # noqa: RUF001


def _note(results: Results, count: int, known: bool, simultaneous: bool) -> str:
    trials = trials_text(len(result.final) for result in results.policies.values())
    if not known:
        return f"{trials} gives no interval"
    trials += " in the same worlds"
    if count == 1:
        return trials
    if simultaneous:
        return f"the {count} intervals hold together; {trials}"
    return f"each of the {count} intervals holds by itself; {trials}"
