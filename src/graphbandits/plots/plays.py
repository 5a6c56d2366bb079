"""How often each arm was played, on the drawn graph."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.collections import EllipseCollection, LineCollection, PolyCollection
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patheffects import withStroke
from matplotlib.ticker import FuncFormatter, MaxNLocator

from graphbandits.errors import InputError
from graphbandits.graphs import Fixed, GraphLike, as_process
from graphbandits.plots.drawing import among, edges_of, layout
from graphbandits.plots.legends import legend_below, note
from graphbandits.plots.nodes import (
    NAMED,
    Drawn,
    edge_width,
    find_room,
    fit,
    largest_radius,
    probability_legend,
    text_box,
)
from graphbandits.plots.style import (
    GREY,
    INK,
    NOTE,
    SMALL,
    TEXT,
    TWO_COLUMNS,
    heading,
    in_style,
    literal,
    new_figure,
    one_line,
    trials_text,
    wrap,
)
from graphbandits.results import Results
from graphbandits.types import Floats, Ints

#: Arms that are drawn, at most; of more, those played most.
DRAWN = 100
#: Perceptually uniform and the same for all eyes (Nunez, Anderton and Renslow 2018); dark is much.
COLOUR_MAP = "cividis_r"
#: Size of the letters, width of a line of a name (0: a number and a key), and whether to print
#: the share: the first that fits is taken.
LETTERING = (
    (SMALL, 66.0, True),
    (NOTE, 60.0, True),
    (NOTE, 60.0, False),
    (NOTE, 45.0, False),
    (NOTE, 0.0, False),
)
#: Lines that a name may take.
LINES = 3


@in_style
def plays_figure(
    results: Results,
    policy: str | Sequence[str] | None = None,
    title: str = "",
    graph: GraphLike | None = None,
    width: float = TWO_COLUMNS,
) -> Figure:
    """Plays per arm on the graph, a panel for each policy (all, best first, or those named).

    Area and colour of a node are its share of all plays, on one scale for all panels. An arrow
    i -> j: playing i may show j; a symmetric graph has lines. Width and strength of an edge are
    its probability. ``graph`` is the fixed graph of the simulation if the results do not carry
    it; without one the arms are on a circle. Of more than ``DRAWN`` arms those played most are
    drawn with the edges between them; of more than ``NAMED`` those played most are named.

    >>> from graphbandits import simulate
    >>> results = simulate(["ts-n", "ids-n"], graph="paper", horizon=20, trials=10)
    >>> [axes.get_title() for axes in plays_figure(results, "ids-n").axes]
    ['ids-n', '']
    """
    names = _chosen(results, policy)
    fixed = _fixed_graph(results, graph)
    shares = np.array([results[name].plays / results[name].plays.sum() for name in names])
    # a stable order: the most played first, and of equals the first
    order = np.argsort(-shares.sum(axis=0), kind="stable")
    arms = np.sort(order[:DRAWN])
    matrix = among(fixed.feedback, arms) if fixed else np.zeros((len(arms), len(arms)))
    places = layout(matrix)
    largest = largest_radius(places)
    most = float(shares[:, arms].max())

    columns = len(names) if len(names) < 4 else min(4, math.ceil(math.sqrt(len(names))))
    rows = math.ceil(len(names) / columns)
    panel = min(4.2, (width - 0.8) / columns)
    size = TEXT if panel > 1.5 else SMALL
    figure = new_figure(width, rows * (0.85 * panel + 0.3) + 0.5)
    grid = figure.subplots(rows, columns, squeeze=False)
    panels: list[Axes] = list(grid.flat)
    drawn = []
    for axes, name, share in zip(panels, names, shares, strict=False):
        drawn.append(_panel(axes, matrix, places, share[arms], largest, most))
        axes.set_title(literal(wrap(name, 66.0 * panel, size)), fontsize=size)
    for axes in panels[len(names) :]:
        axes.remove()
    bar = figure.colorbar(
        panels[0].collections[-1], ax=panels[: len(names)], shrink=0.8, aspect=30, pad=0.01
    )
    bar.set_label("share of plays", fontsize=SMALL)
    bar.ax.tick_params(labelsize=SMALL)
    bar.locator = MaxNLocator(5)
    bar.formatter = FuncFormatter(lambda share, _: f"{100.0 * share:.3g} %")
    bar.outline.set_linewidth(0.5)
    heading(figure, title)
    note(figure, _note(results, names, fixed, shares, arms))
    probability_legend(figure, matrix)
    named = np.flatnonzero(np.isin(arms, order[:NAMED]))
    named = named[np.argsort(-shares[:, arms[named]].sum(axis=0), kind="stable")]
    _name_nodes(figure, panels[: len(names)], results.arms, arms, shares, named, drawn)
    return figure


def _chosen(results: Results, policy: str | Sequence[str] | None) -> list[str]:
    wanted = (
        [policy]
        if isinstance(policy, str)
        else list(results.policies if policy is None else policy)
    )
    if not wanted:
        raise InputError("no policy was named: name some, or leave it out for all")
    for name in wanted:
        results[name]  # refuses a name that it has not
    return [name for name in results.ranking() if name in wanted]


def _fixed_graph(results: Results, graph: GraphLike | None) -> Fixed | None:
    if graph is None:
        graph = results.graph
    if graph is None:
        return None
    process = as_process(graph, len(results.arms))
    if not isinstance(process, Fixed):
        raise InputError(
            "only a fixed graph can be drawn, and this one changes from round to round: leave "
            "the graph out to see the arms on a circle"
        )
    if process.names is not None and process.names != results.arms:
        raise InputError(
            f"the arms of the graph ({', '.join(process.names[:3])}, ...) are not those of the "
            f"results ({', '.join(results.arms[:3])}, ...): give the graph of the simulation"
        )
    return process


def _panel(
    axes: Axes, matrix: Floats, places: Floats, share: Floats, largest: float, most: float
) -> Drawn:
    """Edges, then a small ring for every arm, then discs with the area of its share."""
    radii = largest * np.sqrt(share / most)
    ring = np.full(len(share), 0.18 * largest)
    edges = edges_of(matrix, places, np.maximum(radii, ring) + 0.02 * largest, min(0.09, largest))
    strength = min(1.0, math.sqrt(80.0 / max(1, len(edges.ends))))
    paint = [to_rgba(GREY, (0.3 + 0.7 * p) * max(strength, 0.15)) for p in edges.probability]
    widths = [
        edge_width(p) * min(max(strength, 0.4), max(5.0 * largest, 0.3)) for p in edges.probability
    ]
    axes.add_collection(
        LineCollection(edges.lines, colors=paint, linewidths=widths, zorder=1.0, gid="edges"),
        autolim=False,
    )
    axes.add_collection(
        PolyCollection(edges.heads, facecolors=paint, linewidths=0, zorder=1.1, gid="heads"),
        autolim=False,
    )
    for radius, gid in ((ring, "rings"), (radii, "nodes")):
        discs = EllipseCollection(
            2.0 * radius,
            2.0 * radius,
            np.zeros(len(share)),
            units="xy",
            offsets=places,
            offset_transform=axes.transData,
            edgecolors=INK,
            linewidths=0.6,
            facecolors="white",
            zorder=2.0 if gid == "rings" else 3.0,
            gid=gid,
        )
        if gid == "nodes":
            discs.set_array(share)
            discs.set_cmap(colormaps[COLOUR_MAP])
            discs.set_clim(0.0, most)
        axes.add_collection(discs, autolim=False)
    axes.set_axis_off()
    return Drawn(places, radii, edges, largest)


def _note(
    results: Results, names: list[str], fixed: Fixed | None, shares: Floats, arms: Ints
) -> str:
    parts = ["area and colour of a node: its share of the plays"]
    if len(arms) < len(results.arms):
        part = shares[:, arms].sum(axis=1)
        span = f"{100 * part.min():.0f} %"
        if round(100 * part.max()) > round(100 * part.min()):
            span += f" to {100 * part.max():.0f} %"
        parts.append(f"the {len(arms)} most played of {len(results.arms)} arms, {span} of plays")
    if fixed is None:
        parts.append("no fixed graph: arms on a circle, no edges")
    parts.append(trials_text(len(results[name].final) for name in names))
    return "; ".join(parts)


def _name_nodes(
    figure: Figure,
    panels: list[Axes],
    names: tuple[str, ...],
    arms: Ints,
    shares: Floats,
    named: Ints,
    drawn: list[Drawn],
) -> None:
    """Write the names at the first lettering at which all find room in every panel.

    Where there is none, the arms have numbers, and a key below the panels tells their names.
    """
    for size, room, with_share in LETTERING:
        if not room and any(len(names[arms[i]]) > 4 for i in named):
            inside = np.sort(arms[named])
            key = [f"{arm + 1}  {one_line(names[arm])}" for arm in inside]
            blank = [Line2D([], [], linestyle="none") for _ in key]
            legend_below(figure, blank, key, "arms", handlelength=0.0, handletextpad=0.0)
            names = tuple(str(arm + 1) for arm in range(len(names)))
        figure.draw_without_rendering()  # from here on it is known how large the panels are
        texts = [
            [_label(names[arms[i]], share[arms[i]], size, room, with_share) for i in named]
            for share in shares
        ]
        boxes = [np.array([text_box(text, size) for text in panel]) for panel in texts]
        for axes, panel in zip(panels, drawn, strict=True):
            fit(figure, axes, panel, np.max(boxes, axis=(0, 1)))
        found = [
            find_room(figure, axes, box, named, panel)
            for axes, box, panel in zip(panels, boxes, drawn, strict=True)
        ]
        short = all(text.count("\n") < LINES + with_share for panel in texts for text in panel)
        if short and all((wrong < 0.01).all() for _, wrong in found):
            break
    for axes, text, panel, (offsets, wrong) in zip(panels, texts, drawn, found, strict=True):
        for i, label, offset, bad in zip(named, text, offsets, wrong, strict=True):
            if bad > 0.05 and len(arms) > NAMED:
                continue  # many arms: better no name than one on top of another
            written = axes.annotate(
                literal(label),
                tuple(panel.places[i]),
                xytext=tuple(offset),
                textcoords="offset points",
                ha="center",
                va="center",
                fontsize=size,
                linespacing=1.1,
                zorder=5.0,
                path_effects=[withStroke(linewidth=2.0, foreground="white")],
            )
            written.set_in_layout(False)


def _label(name: str, share: float, size: float, room: float, with_share: bool) -> str:
    text = wrap(name, room, size) if room else name
    if not with_share:
        return text
    return text + ("\n<1 %" if 0.0 < share < 0.005 else f"\n{100 * share:.0f} %")
