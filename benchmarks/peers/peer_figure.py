"""Figure of the comparison: regret against CPU time per decision."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from peer_tables import ENOUGH, PEERS, ROWS, Row, cells_of, cpu_of, mean_and_half
from peer_worlds import EMPTY, GRAPH
from worker import ALL

COLOURS = dict(
    zip(PEERS, ("#000000", "#0072b2", "#e69f00", "#009e73", "#cc79a7", "#d55e00"), strict=True)
)
MARKERS = {
    "ids-n, simulate": "*",
    "ids-n, live": "s",
    "IDS": "s",
    "ts-n, live": "o",
    "Thompson": "o",
    "Bayes-UCB": "^",
    "SquareCB": "D",
    "graph feedback": "P",
}


def draw(results: dict[str, Any], path: Path) -> None:
    """One panel for each number of arms and kind of worlds."""
    arms = results["settings"]["arms"]
    figure, panels = plt.subplots(
        2, len(arms), figsize=(4.0 * len(arms), 8.4), squeeze=False, sharex=True, sharey="col"
    )
    for line, kind in zip(panels, (EMPTY, GRAPH), strict=True):
        for panel, count in zip(line, arms, strict=True):
            for row, feedback, cell in cells_of(results, count, kind):
                if isinstance(cell, dict) and not cell.get("failed"):
                    point(panel, row, kind == EMPTY or feedback == ALL, cell)
            panel.set_xscale("log")
            panel.set_yscale("log")
            panel.grid(alpha=0.25, which="both", linewidth=0.5)
            panel.set_title(f"{count} arms, {'a graph' if kind == GRAPH else 'no graph'}")
        line[0].set_ylabel(f"regret after {results['settings']['rounds']} rounds")
    for panel in panels[-1]:
        panel.set_xlabel("CPU seconds per decision")
    figure.legend(
        handles=keys(), loc="lower center", ncols=4, frameon=False, fontsize=9, columnspacing=1.5
    )
    figure.tight_layout(rect=(0, 0.14, 1, 1))
    figure.savefig(path, dpi=110)
    plt.close(figure)


def point(panel: Axes, row: Row, filled: bool, cell: dict[str, Any]) -> None:
    """Mean regret with its interval; hollow if neighbours were not learned."""
    cpu = cpu_of(cell)
    if cpu is None or len(cell["regrets"]) < ENOUGH:
        return
    mean, half = mean_and_half(cell["regrets"])
    colour = COLOURS[row.peer]
    panel.errorbar(
        max(cpu, 1e-9),
        mean,
        # The lower end of a wide interval can be below 0, which a log scale does not have.
        yerr=[[min(half, 0.9 * mean)], [half]],
        fmt=MARKERS[row.label],
        color=colour,
        markerfacecolor=colour if filled else "white",
        markersize=10 if row.simulated else 6.5,
        linewidth=1.0,
        capsize=2,
    )


def keys() -> list[Line2D]:
    """Entries of the legend."""
    entries = [
        Line2D([], [], linestyle="", color=COLOURS[row.peer], marker=MARKERS[row.label],
               label=f"{row.peer}: {row.label}")
        for row in ROWS
    ]  # fmt: skip
    return [
        *entries,
        Line2D([], [], linestyle="", color="grey", marker="o", label="filled: learns all it can"),
        Line2D(
            [], [], linestyle="", color="grey", marker="o", markerfacecolor="white",
            label="hollow: learns only the played arm",
        ),
    ]  # fmt: skip
