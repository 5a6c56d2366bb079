"""The distribution of the final regret."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from graphbandits.plots.enlarge import final_means, near_ground
from graphbandits.plots.legends import note
from graphbandits.plots.style import (
    GREY,
    INK,
    SMALL,
    TEXT,
    TWO_COLUMNS,
    Look,
    column_title,
    heading,
    in_style,
    literal,
    looks,
    new_figure,
    percent,
    plus_minus,
    tidy,
    trials_text,
    wrap,
)
from graphbandits.results import Results
from graphbandits.types import Floats

#: Points that are drawn of one policy, at most; of more trials, so many evenly spaced in rank.
POINTS = 400
#: Fewer trials than this have no quartiles worth a box.
BOX = 5
#: The ends of the whiskers.
WHISKERS = (0.1, 0.9)


@in_style
def final_figure(
    results: Results,
    title: str = "",
    confidence: float = 0.95,
    width: float = TWO_COLUMNS,
    order: Sequence[str] = (),
) -> Figure:
    """How the final regret is spread over the trials, a row a policy, the best mean on top.

    Each row has a box (quartiles and median, whiskers from 10 % to 90 %), below it a point for
    each trial, spread by how dense they are, and the mean with its interval. The axis is linear,
    so that a long tail looks long. Of many trials ``POINTS`` are drawn, evenly spaced in rank
    with the smallest and the largest; box and mean are of all. Policies of far larger regret
    have a panel of their own, with another axis. ``order`` names the policies of several figures,
    so that each looks the same in all of them. The idea is the raincloud of Allen, Poggiali,
    Whitaker, Marshall and Kievit (2019).

    >>> from graphbandits import simulate
    >>> results = simulate(["ts-n", "ids-n"], horizon=20, trials=10)
    >>> final_figure(results).axes[0].get_xlabel()
    'regret of a trial after round 20'
    """
    lower = near_ground(final_means(results))
    ranking = results.ranking()
    groups = [lower, ranking[len(lower) :]] if lower else [ranking]
    figure = new_figure(width, 0.95 + 0.52 * len(ranking) + 0.6 * (len(groups) - 1))
    sizes = [len(group) for group in groups]
    panels = list(figure.subplots(len(groups), 1, height_ratios=sizes, squeeze=False).flat)
    halves = {name: float(np.diff(results.interval(name, confidence))[0]) / 2 for name in ranking}
    means = [float(results[name].mean[-1]) for name in ranking]
    numbers = dict(zip(ranking, plus_minus(means, list(halves.values())), strict=True))
    shown = 0
    for axes, group in zip(panels, groups, strict=True):
        shown = max(shown, _rows(axes, results, group, halves, order))
        transform = axes.get_yaxis_transform()
        for row, name in enumerate(group):
            text = numbers[name]
            axes.text(1.02, row, text, transform=transform, va="center", fontsize=SMALL)
        names = [literal(wrap(name, 24.0 * width, SMALL)) for name in group]
        axes.set_yticks(range(len(group)), names)
        axes.set_ylim(len(group) - 0.5, -0.5)
        tidy(axes, "x")
        axes.tick_params(axis="y", length=0)
        axes.spines["left"].set_visible(False)
    known = bool(np.isfinite(list(halves.values())).any())
    column_title(panels[0], f"mean ± {percent(confidence)}" if known else "mean")
    panels[-1].set_xlabel(f"regret of a trial after round {int(results.rounds[-1])}", fontsize=TEXT)
    if lower:
        top = panels[0].get_xlim()[1]
        panels[1].axvspan(0.0, top, color=GREY, alpha=0.15, lw=0, zorder=0.5, gid="enlarged")
        said = (f"the {sizes[0]} with least regret", f"the other {sizes[1]}, on another axis")
        for axes, text in zip(panels, said, strict=True):
            axes.set_title(text, fontsize=SMALL, loc="left")
    heading(figure, title)
    counts = [len(results[name].final) for name in ranking]
    shade = "grey: the axis of the upper panel; " if lower else ""
    note(figure, shade + _explanation(counts, shown, known, confidence))
    return figure


def _rows(
    axes: Axes,
    results: Results,
    group: list[str],
    halves: dict[str, float],
    order: Sequence[str],
) -> int:
    """A row for each policy of the group; how many trials are drawn, at most."""
    every = looks(dict.fromkeys((*order, *results.policies)))
    shown = 0
    for row, name in enumerate(group):
        final, look = np.sort(results[name].final), every[name]
        points = thinned(final)
        shown = max(shown, len(points))
        axes.scatter(
            points,
            row + 0.06 + 0.36 * spread(points),
            s=3.0 if len(points) > 100 else 7.0,
            color=look.colour,
            alpha=0.55 if len(points) > 20 else 1.0,
            linewidths=0,
            clip_on=False,
            gid=f"trials of {name}",
        )
        if len(final) >= BOX:
            _box(axes, final, row - 0.09, look)
        _mean(axes, float(results[name].mean[-1]), halves[name], row - 0.32, look)
    lowest = min(
        float(np.fmin(results[n].final.min(), results[n].mean[-1] - halves[n])) for n in group
    )
    highest = max(float(results[name].final.max()) for name in group)
    if lowest >= 0.0:
        axes.set_xlim(0.0, None if highest > 0.0 else 1.0)
    return shown


def thinned(ordered: Floats, most: int = POINTS) -> Floats:
    """At most ``most`` of the ordered values, evenly spaced in rank, first and last among them.

    >>> import numpy as np
    >>> thinned(np.arange(101.0), most=5).tolist()
    [0.0, 25.0, 50.0, 75.0, 100.0]
    """
    if len(ordered) <= most:
        return ordered
    return ordered[np.rint(np.linspace(0, len(ordered) - 1, most)).astype(np.int64)]


def spread(ordered: Floats) -> Floats:
    """A place in [0, 1] for each point: van der Corput's sequence times the density around it.

    The density is a Gaussian kernel estimate with Silverman's (1986) width, largest at 1, so that
    the cloud of points has the outline of the distribution. No randomness: the same points
    always lie at the same places.
    """
    count = len(ordered)
    places = np.array([int(f"{i:016b}"[::-1], 2) / 2**16 for i in range(1, count + 1)])
    quartiles = np.quantile(ordered, [0.25, 0.75])
    sizes = [size for size in (ordered.std(), np.diff(quartiles)[0] / 1.34) if size > 0.0]
    if not sizes:
        return places
    gaps = (ordered[:, None] - ordered) / (0.9 * min(sizes) * count**-0.2)
    density: Floats = np.exp(-0.5 * gaps * gaps).sum(axis=1)
    spread_out: Floats = places * (density / density.max())
    return spread_out


def _box(axes: Axes, final: Floats, y: float, look: Look) -> None:
    low, q1, median, q3, high = np.quantile(final, [WHISKERS[0], 0.25, 0.5, 0.75, WHISKERS[1]])
    half = 0.1
    axes.plot([low, q1, np.nan, q3, high], [y] * 5, color=look.colour, lw=1.0, gid="whiskers")
    axes.fill_between(
        [q1, q3], y - half, y + half, facecolor=look.colour, alpha=0.25, lw=0, gid="box"
    )
    axes.plot(
        [q1, q3, q3, q1, q1],
        [y - half, y - half, y + half, y + half, y - half],
        color=look.colour,
        lw=0.9,
        gid="quartiles",
    )
    axes.plot([median, median], [y - half, y + half], color=look.colour, lw=2.0, gid="median")


def _mean(axes: Axes, mean: float, half: float, y: float, look: Look) -> None:
    if np.isfinite(half):
        axes.plot(
            [mean - half, mean + half],
            [y, y],
            color=INK,
            lw=1.6,
            gid="interval",
            zorder=4.0,
            solid_capstyle="butt",
        )
    marks = look.marks(3.8) | {"markerfacecolor": "white", "markeredgecolor": INK}
    axes.plot(
        [mean],
        [y],
        linestyle="none",
        markeredgewidth=1.0,
        gid="mean",
        zorder=5.0,
        clip_on=False,
        **marks,
    )


def _explanation(counts: list[int], shown: int, known: bool, confidence: float) -> str:
    parts = []
    if max(counts) >= BOX:
        parts.append("box: quartiles and median, whiskers 10 % to 90 % of the trials")
    parts.append(
        f"white mark: mean with {percent(confidence)} interval" if known else "white mark: mean"
    )
    parts.append("dots: trials")
    if max(counts) > shown:
        parts[-1] += f", {shown} of {trials_text(counts)} shown, evenly spaced in rank"
    else:
        parts.append(trials_text(counts))
    return "; ".join(parts)
