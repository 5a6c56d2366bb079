"""Pictures of results."""

from __future__ import annotations

import io
from pathlib import Path

import matplotlib
import numpy as np
from matplotlib.figure import Figure

from graphbandits.files import write_bytes
from graphbandits.results import Results

#: Okabe and Ito's colours, told apart by all eyes; line styles and markers tell them apart in grey.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#000000", "#E69F00", "#56B4E9")
STYLES = ("-", "--", "-.", (0, (1, 1)), (0, (5, 1, 1, 1, 1, 1)), (0, (7, 2)), (0, (3, 3)))
MARKERS = ("o", "s", "^", "D", "v", "P", "X")


def regret_figure(results: Results, title: str = "", confidence: float = 0.95) -> Figure:
    """Mean cumulative regret with a confidence band; the legend is ordered by final regret.

    A policy keeps its colour, style and marker whatever its rank: they go by the order in which
    the policies were given.
    """
    figure = Figure(figsize=(7.2, 4.6), dpi=150, layout="constrained")
    axes = figure.add_subplot()
    order = list(results.policies)
    for name in reversed(results.ranking()):
        result = results[name]
        look = order.index(name)
        low, high = results.interval(name, confidence)
        half = (high - low) / 2.0
        widths = result.standard_error * _ratio(half, float(result.standard_error[-1]))
        colour = COLOURS[look % len(COLOURS)]
        axes.fill_between(
            results.rounds,
            result.mean - widths,
            result.mean + widths,
            color=colour,
            alpha=0.18,
            lw=0,
        )
        axes.plot(
            results.rounds,
            result.mean,
            color=colour,
            linestyle=STYLES[look % len(STYLES)],
            marker=MARKERS[look % len(MARKERS)],
            markevery=(0.04 * (look + 1) / len(order), 0.125),
            markersize=4.5,
            linewidth=1.6,
            label=f"{name}  {result.mean[-1]:.2f} ± {half:.2f}",
        )
    axes.set_xlabel("round")
    axes.set_ylabel("mean cumulative regret")
    axes.set_xlim(0, int(results.rounds[-1]))
    axes.set_ylim(bottom=0)
    axes.grid(color="#dddddd", linewidth=0.6)
    axes.set_axisbelow(True)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    handles, labels = axes.get_legend_handles_labels()
    trials = len(next(iter(results.policies.values())).final)
    axes.legend(
        handles[::-1],
        labels[::-1],
        title=f"regret after round {results.rounds[-1]}, {confidence:.0%} interval",
        title_fontsize="small",
        fontsize="small",
        frameon=False,
        handlelength=4,
    )
    axes.set_title(title, fontsize="medium", loc="left")
    figure.text(0.995, 0.005, f"{trials} trials", ha="right", va="bottom", fontsize=7, color="#777")
    return figure


def save_figure(figure: Figure, path: Path) -> list[Path]:
    """Write a figure as PNG and SVG beside each other; ``path`` has no ending."""
    written = []
    for kind in ("png", "svg"):
        buffer = io.BytesIO()
        # no date, and ids that are not random: the same figure gives the same file
        metadata = {"Date": None} if kind == "svg" else None
        with matplotlib.rc_context({"svg.hashsalt": "graphbandits"}):
            figure.savefig(buffer, format=kind, metadata=metadata)
        target = path.with_name(f"{path.name}.{kind}")
        write_bytes(target, buffer.getvalue())
        written.append(target)
    return written


def _ratio(half: float, error: float) -> float:
    return half / error if np.isfinite(half) and error > 0.0 else 0.0
