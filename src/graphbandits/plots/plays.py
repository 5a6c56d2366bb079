"""Figure of the plays: by the true rank of the arm, or by arm on the graph."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter

from graphbandits._types import Floats, Ints
from graphbandits.errors import InputError
from graphbandits.graphs import Fixed, GraphLike, as_process
from graphbandits.plots import graph as graph_layout
from graphbandits.plots import style
from graphbandits.plots.graph import NAMED, Drawn
from graphbandits.plots.style import NOTE, SMALL, TEXT, TWO_COLUMNS
from graphbandits.simulation.results import Results

#: What to count: plays of the best arm of each trial, the second best, ..., or of each arm.
BY = ("rank", "arm")
#: Up to this many arms, each rank has a part of the bar; with more arms, parts end at ``ENDS``.
RANKS = 8
ENDS = (1, 2, 3, *(step * 10**k for k in range(7) for step in (5, 10, 20)))
#: Largest number of arms that are drawn: the most played ones.
DRAWN = 100
#: Perceptually uniform and colour-blind-safe (Nunez, Anderton and Renslow 2018); dark is large.
COLOUR_MAP = "cividis_r"
#: Font size, width of a line of a name (0: a number and a key), and whether to print the share.
#: The first entry that fits is used.
LETTERING = [(SMALL, 66.0, True), (NOTE, 60.0, True)]
LETTERING += [(NOTE, room, False) for room in (60.0, 45.0, 0.0)]
#: Largest number of lines of a name.
LINES = 3


@style.in_style
def plays_figure(
    results: Results,
    policy: str | Sequence[str] | None = None,
    title: str = "",
    graph: GraphLike | None = None,
    width: float = TWO_COLUMNS,
    by: str | None = None,
) -> Figure:
    """Plot the share of plays of each policy by rank of the arm, or by arm on the graph.

    By rank, each policy has a bar that starts with the share of the truly best arm of each trial.
    Ranks are unknown if there are very many arms, or if the ranks change from round to round.

    By arm, each policy has a panel with the graph. Area and colour of a node show its share of all
    plays, on one scale for all panels. An arrow i -> j means that playing i may reveal j; a line is
    an edge with the same probability in both directions. Width and strength of an edge show its
    probability. At most ``DRAWN`` arms are drawn and ``NAMED`` are labelled: the most played ones.

    Parameters
    ----------
    results : Results
        Results of one simulation.
    policy : str, sequence of str or None
        Policies to show; all by default. The best is first.
    title : str
        Title above the figure.
    graph : graph-like or None
        The fixed graph of the simulation, if the results do not contain it. Without a graph the
        arms are on a circle.
    width : float
        Width in inches.
    by : {"rank", "arm"} or None
        What to show. None is "rank" if ranks are known and no graph is given, else "arm".

    Examples
    --------
    >>> from graphbandits import simulate
    >>> results = simulate(["ts-n", "ids-n"], graph="paper", horizon=20, trials=10)
    >>> plays_figure(results).axes[0].get_xlabel()
    'share of plays, by true rank of the arm in its trial'
    """
    if by is not None:
        style.check_word(by, "by", BY)
    names = _chosen(results, policy)
    ranked = [_ranked(results, name) for name in names]
    known = [shares for shares in ranked if shares is not None]
    if by == "rank" and len(known) < len(names):
        raise InputError(
            "results read from a file have no plays by rank: use by='arm', or results of a "
            "simulation or a store"
        )
    if by == "rank" or (by is None and graph is None and len(known) == len(names)):
        return _bars(results, names, np.array(known), title, width)
    return _on_graph(results, names, title, graph, width, unranked=by is None and graph is None)


def _chosen(results: Results, policy: str | Sequence[str] | None) -> list[str]:
    given = results.policies if policy is None else policy
    wanted = [given] if isinstance(given, str) else list(given)
    if not wanted:
        raise InputError("policy is an empty list: name policies, or leave it out to show all")
    for name in wanted:
        results[name]  # raises for an unknown name
    return [name for name in results.ranking() if name in wanted]


# --- by rank ----------------------------------------------------------------------------------


def _ranked(results: Results, name: str) -> Floats | None:
    """Return the share of plays of the best arm, the second best, ...; None if unknown."""
    plays = results[name].rank_plays
    means = results.settings.get("means")
    if plays is None and means is not None:
        plays = results[name].plays[np.argsort(-np.asarray(means), kind="stable")]
    return None if plays is None else plays / plays.sum()


def _bars(
    results: Results, names: Sequence[str], shares: Floats, title: str, width: float
) -> Figure:
    """A bar for each policy, in parts by rank."""
    count = shares.shape[1]
    ends = range(1, count + 1) if count <= RANKS else [*(e for e in ENDS if e < count), count]
    starts = [0, *ends[:-1]]
    parts = np.add.reduceat(shares, starts, axis=1)
    figure = style.new_figure(width, 0.95 + 0.32 * len(names))
    axes = figure.add_subplot()
    colours = colormaps[COLOUR_MAP.removesuffix("_r")](np.linspace(0.0, 0.95, len(parts[0])))
    left, handles = np.zeros(len(names)), []
    for part, colour in zip(parts.T, colours, strict=True):
        look: dict[str, Any] = {"color": colour, "edgecolor": "white", "linewidth": 0.5}
        bars = axes.barh(range(len(names)), part, left=left, height=0.72, **look)
        handles.append(bars[0])
        # where there is room for the number
        words = [f"{100 * p:.{int(p < 0.995)}f} %" if p * width > 0.6 else "" for p in part]
        ink = style.ink_on(colour)
        axes.bar_label(bars, words, label_type="center", color=ink, fontsize=NOTE)
        left = left + part
    style.rows(axes, names, 24.0 * width)
    axes.set_xlim(0.0, 1.0)
    axes.xaxis.set_major_formatter(FuncFormatter(lambda share, _: f"{100.0 * share:.3g} %"))
    said = style.wrap("share of plays, by true rank of the arm in its trial", 45.0 * width, TEXT)
    axes.set_xlabel(said, fontsize=TEXT)
    style.heading(figure, title)
    trials = style.trials_text(len(results[name].final) for name in names)
    style.note(figure, f"rank 1: the arm with the largest true mean in its trial; {trials}")
    spans = [
        f"{a + 1}" if b == a + 1 else f"{a + 1} to {b}" for a, b in zip(starts, ends, strict=True)
    ]
    columns = min(len(spans), 8 if width > style.BESIDE else 5)
    style.legend_below(figure, handles, spans, "true rank", ncols=columns, handlelength=1.2)
    return figure


# --- by arm -----------------------------------------------------------------------------------


def _on_graph(
    results: Results,
    names: Sequence[str],
    title: str,
    graph: GraphLike | None,
    width: float,
    unranked: bool,
) -> Figure:
    """A panel for each policy, with its share of plays on each arm."""
    fixed = _fixed_graph(results, graph)
    shares = np.array([results[name].plays / results[name].plays.sum() for name in names])
    # a stable order: the most played first, and of equals the first
    order = np.argsort(-shares.sum(axis=0), kind="stable")
    arms = np.sort(order[:DRAWN])
    matrix = graph_layout.among(fixed.feedback, arms) if fixed else np.zeros((len(arms), len(arms)))
    places = graph_layout.layout(matrix)
    most = float(shares[:, arms].max())

    columns = len(names) if len(names) < 4 else min(4, math.ceil(math.sqrt(len(names))))
    height = math.ceil(len(names) / columns)
    panel = min(4.2, (width - 0.8) / columns)
    size = TEXT if panel > 1.5 else SMALL
    figure = style.new_figure(width, height * (0.85 * panel + 0.3) + 0.5)
    grid: list[Axes] = list(figure.subplots(height, columns, squeeze=False).flat)
    panels = grid[: len(names)]
    drawn = []
    for axes, name, share in zip(panels, names, shares, strict=True):
        drawn.append(_panel(axes, matrix, places, share[arms], most))
        axes.set_title(style.literal(style.wrap(name, 66.0 * panel, size)), fontsize=size)
    for axes in grid[len(names) :]:
        axes.remove()
    style.colour_bar(figure, panels[0].collections[-1], panels, "share of plays, by arm", 0.8)
    style.heading(figure, title)
    said = "area and colour of a node: its share of the plays; " + _most_played(shares, arms)
    said += "by arm: the true ranks are not recorded; " if unranked else ""
    said += "" if fixed else "no fixed graph: arms on a circle, no edges; "
    style.note(figure, said + style.trials_text(len(results[name].final) for name in names))
    graph_layout.probability_legend(figure, matrix)
    named = np.flatnonzero(np.isin(arms, order[:NAMED]))
    named = named[np.argsort(-shares[:, arms[named]].sum(axis=0), kind="stable")]
    _name_nodes(figure, results.arms, arms, shares, named, drawn)
    return figure


def _fixed_graph(results: Results, graph: GraphLike | None) -> Fixed | None:
    if graph is None:
        graph = results.graph
    if graph is None:
        return None
    process = as_process(graph, len(results.arms))
    if not isinstance(process, Fixed):
        raise InputError(
            "only a fixed graph can be drawn, but this one changes from round to round: omit the "
            "graph to draw the arms on a circle"
        )
    if process.names is not None and process.names != results.arms:
        raise InputError(
            f"the arms of the graph ({', '.join(process.names[:3])}, ...) are not those of the "
            f"results ({', '.join(results.arms[:3])}, ...): give the graph of the simulation"
        )
    return process


def _panel(axes: Axes, matrix: Floats, places: Floats, share: Floats, most: float) -> Drawn:
    """Draw edges, a small ring for every arm, and discs with the area of its share."""
    largest = graph_layout.largest_radius(places)
    radii = largest * np.sqrt(share / most)
    ring = np.full(len(share), 0.18 * largest)
    reach = np.maximum(radii, ring) + 0.02 * largest
    drawn = Drawn.of(axes, matrix, places, reach, largest, min(0.09, largest))
    strength = min(1.0, math.sqrt(80.0 / max(1, len(drawn.ends))))
    drawn.add_grey(max(strength, 0.15), min(max(strength, 0.4), max(5.0 * largest, 0.3)))
    rims: dict[str, Any] = {"linewidths": 0.6, "facecolors": "white"}
    graph_layout.add_discs(axes, places, ring, zorder=2.0, gid="rings", **rims)
    discs = graph_layout.add_discs(axes, places, radii, zorder=3.0, gid="nodes", **rims)
    discs.set_array(share)
    discs.set_cmap(colormaps[COLOUR_MAP])
    discs.set_clim(0.0, most)
    return drawn


def _most_played(shares: Floats, arms: Ints) -> str:
    """Format how many arms are drawn, and their share of the plays; empty if all are."""
    if len(arms) == shares.shape[1]:
        return ""
    part = [f"{100 * share:.0f} %" for share in sorted(shares[:, arms].sum(axis=1))]
    span = " to ".join(dict.fromkeys((part[0], part[-1])))
    return f"the {len(arms)} most played of {shares.shape[1]} arms, {span} of plays; "


def _name_nodes(
    figure: Figure,
    names: tuple[str, ...],
    arms: Ints,
    shares: Floats,
    named: Ints,
    drawn: list[Drawn],
) -> None:
    """Write the names at the first font size at which all fit; else numbers, and a key below."""
    shown = arms[named]
    for size, room, with_share in LETTERING:
        if not room and any(len(names[arm]) > 4 for arm in shown):
            key = [f"{arm + 1}  {style.one_line(names[arm])}" for arm in np.sort(shown)]
            blank = [Line2D([], [], linestyle="none") for _ in key]
            style.legend_below(figure, blank, key, "arms", handlelength=0.0, handletextpad=0.0)
            names = tuple(str(arm + 1) for arm in range(len(names)))
        figure.draw_without_rendering()  # fixes the size of the panels
        texts = [
            [_label(names[arm], share[arm], size, room, with_share) for arm in shown]
            for share in shares
        ]
        boxes = np.array([[graph_layout.text_box(text, size) for text in panel] for panel in texts])
        found = []
        for box, panel in zip(boxes, drawn, strict=True):
            panel.fit(boxes.max(axis=(0, 1)))
            found.append(panel.find_room(box, named))
        longest = max(text.count("\n") for panel in texts for text in panel)
        if longest < LINES + with_share and max(wrong.max() for _, wrong in found) < 0.01:
            break
    for text, panel, (offsets, wrong) in zip(texts, drawn, found, strict=True):
        for i, label, offset, bad in zip(named, text, offsets, wrong, strict=True):
            if bad <= 0.05 or len(arms) <= NAMED:  # of many arms, no name is better than an overlap
                graph_layout.write_beside(panel.axes, label, panel.places[i], offset, size)


def _label(name: str, share: float, size: float, room: float, with_share: bool) -> str:
    text = style.wrap(name, room, size) if room else name
    if not with_share:
        return text
    return f"{text}\n<1 %" if 0.0 < share < 0.005 else f"{text}\n{100 * share:.0f} %"
