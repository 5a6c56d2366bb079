"""Mutants of the Dirichlet kernels: each has one simplification that loses accuracy.

As in ``helpers/accuracy_mutants.py``, each simplification looks harmless and is accurate on easy
posteriors.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

from graphbandits._types import Floats
from helpers.accuracy_mutants import (
    Mutant,
    clip_distribution,
    loses,
    replace,
    survival_from_distribution,
)

EASY = "easy"
#: Posteriors by name: values and weights.
POSTERIORS: dict[str, tuple[list[float], list[list[float]]]] = {
    EASY: ([0.0, 1.0, 2.0], [[9.0, 7.0, 8.0], [7.0, 9.0, 8.0]]),
    "one large weight": ([0.0, 1.0, 2.0], [[1.0, 5000.0, 1.0], [1.0, 5000.0, 2.0]]),
    "many observations": ([0.0, 1.0, 2.0], [[4e8, 3e8, 4e8], [4e8, 3e8 + 1.0, 4e8 + 7e4]]),
    "far behind": ([0.0, 1.0, 2.0], [[70.0, 70.0, 20.0], [20.0, 70.0, 70.0]]),
    "halves": ([0.0, 1.0, 2.0], [[0.5, 2.5, 1.5], [0.5, 1.5, 2.5]]),
}


MUTANTS: list[Mutant] = []
spoils = partial(loses, among=MUTANTS, easy=(EASY, "simulation"))


@spoils(("one large weight", "simulation", "alpha"))
def straight_contour() -> None:
    """The vertical line through the saddle point is the textbook contour."""
    replace("_tilt", lambda _: lambda *given: (0.0, 0.7))


@spoils(("many observations", "simulation", "alpha"))
def log_of_rounded() -> None:
    """a_k is known to 16 digits."""

    def log_peak(c: Floats, d: Floats, a: Floats, s: float) -> float:
        return -sum(one * math.log(other) for one, other in zip(c, a, strict=True))

    replace("log_peak", lambda _: log_peak)


@spoils(("halves", "simulation", "alpha"))
def no_grading() -> None:
    """Panels end at the values, and the densities are smooth between them."""

    def make(original: Callable[..., None]) -> Callable[..., None]:
        def fill_grading(*given: Any) -> None:
            given[-1][:] = 0.0

        return fill_grading

    replace("fill_grading", make)


@spoils(("far behind", "strict", "h"))
def change_by_difference() -> None:
    """F^k - F from values rounded to 16 digits: an error of that size."""

    def make(original: Callable[..., None]) -> Callable[..., None]:
        def fill_arm(*given: Any) -> None:
            original(*given)
            change = given[-1]
            if change.size:
                change += 1e-16

        return fill_arm

    replace("_fill_arm", make)


@spoils(("halves", "simulation", "alpha"))
def coarse_contour() -> None:
    """The trapezoidal rule converges geometrically."""
    replace("CONTOUR_STRIP", lambda _: 2.5)


spoils(("far behind", "strict", "alpha"))(clip_distribution)
spoils(("far behind", "strict", "delta"))(survival_from_distribution)
