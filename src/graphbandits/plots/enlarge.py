"""When a few regrets are so large that the others lie on the ground: what to show enlarged."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from graphbandits.plots.style import GREY, SMALL, new_figure
from graphbandits.results import Results
from graphbandits.types import Floats

#: One scale is enough while the largest mean is at most this many times the least.
TOGETHER = 6.0
#: Policies that are shown together in an enlargement differ by this factor at most, if they can.
CLOSE = 4.0
#: x, and the lowest and highest y that is drawn there.
Curve = tuple[Floats, Floats, Floats]


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
        figure = new_figure(width, height)
        return figure, [figure.add_subplot()]
    beside = _beside(width)
    figure = new_figure(width, height if beside else 1.7 * height)
    shape = (1, 2) if beside else (2, 1)
    return figure, list(figure.subplots(*shape, sharex=True).flat)


def enlarge(panels: Sequence[Axes], lower: Sequence[Curve]) -> str:
    """Let the second panel show what the lower curves reach; what the note says of it."""
    whole, part = panels
    top = 1.05 * max(float(np.nanmax(high)) for _, _, high in lower)
    bottom = min(0.0, *(float(np.nanmin(low)) for _, low, _ in lower))
    part.set_ylim(bottom, top)
    for artist in (*part.get_lines(), *part.collections):
        artist.set_clip_on(True)  # the others leave at the top
    whole.axhspan(bottom, top, color=GREY, alpha=0.2, lw=0, zorder=0.5, gid="enlarged")
    whole.set_title("all policies", fontsize=SMALL, loc="left")
    part.set_title(f"enlarged: the {len(lower)} with least regret", fontsize=SMALL, loc="left")
    beside = _beside(whole.figure.get_figwidth())  # type: ignore[union-attr]
    if beside:
        whole.set_xlabel(part.get_xlabel(), fontsize=part.xaxis.label.get_fontsize())
    else:
        part.set_ylabel(whole.get_ylabel(), fontsize=whole.yaxis.label.get_fontsize())
    return f"grey: what the {'right' if beside else 'lower'} panel shows; "


def _beside(width: float) -> bool:
    return width > 5.0
