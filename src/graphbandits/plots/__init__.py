"""Pictures of results that a paper can print, in one style that all eyes can read.

Every figure is a plain ``matplotlib`` Figure, made outside pyplot; :func:`save_figure` writes it.
Names and titles are shown as they are: ``$`` starts no formula.
"""

from graphbandits.plots.final_regret import final_figure, forest_figure
from graphbandits.plots.graph import graph_figure
from graphbandits.plots.plays import plays_figure
from graphbandits.plots.regret import regret_figure, sweep_figure
from graphbandits.plots.requested import draw, draw_sweep
from graphbandits.plots.style import (
    COLOURS,
    MARKERS,
    ONE_COLUMN,
    STYLES,
    TWO_COLUMNS,
    Look,
    look,
    looks,
    save_figure,
)

__all__ = ["COLOURS", "MARKERS", "ONE_COLUMN", "STYLES", "TWO_COLUMNS", "Look", "look", "looks"]
__all__ += ["draw", "draw_sweep", "final_figure", "forest_figure", "graph_figure", "plays_figure"]
__all__ += ["regret_figure", "save_figure", "sweep_figure"]
