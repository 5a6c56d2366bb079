"""Bounds on the regret in the terminal."""

from __future__ import annotations

from collections.abc import Sequence

from graphbandits.cli.show import plain_console
from graphbandits.cli.tables import bound_table
from graphbandits.theory import BoundVerdict


def print_bounds(judged: Sequence[BoundVerdict]) -> None:
    """The table of bounds, or that there is none."""
    if judged:
        plain_console().print(bound_table(judged))
    else:
        plain_console().print("No bound is proved for any of these policies.\n")
