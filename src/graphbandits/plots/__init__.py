"""Figures of results for papers and screens, in a colour-blind-safe style.

Every figure is a plain ``matplotlib`` Figure, made without pyplot; :func:`save_figure` writes it.
Names and titles are shown literally: ``$`` does not start a formula.
"""

from graphbandits.plots.final_regret import final_figure, forest_figure
from graphbandits.plots.graph import graph_figure
from graphbandits.plots.plays import plays_figure
from graphbandits.plots.regret import regret_figure, sweep_figure
from graphbandits.plots.style import ONE_COLUMN, TWO_COLUMNS, save_figure

__all__ = [
    "ONE_COLUMN",
    "TWO_COLUMNS",
    "final_figure",
    "forest_figure",
    "graph_figure",
    "plays_figure",
    "regret_figure",
    "save_figure",
    "sweep_figure",
]
