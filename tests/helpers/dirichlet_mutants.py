"""Mutants of the Dirichlet kernels: each has one simplification that loses accuracy.

As in ``helpers/accuracy_mutants.py``, each simplification looks harmless and is accurate on easy
posteriors. Run as a program, with ``NUMBA_DISABLE_JIT=1``, this module reads JSON with the name of
a mutant or null, and a list of posteriors [accuracy, values, weights], and writes their statistics.
"""

from __future__ import annotations

import json
import math
import sys
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

import graphbandits.posteriors
from graphbandits._types import Floats
from graphbandits.posteriors import Dirichlet
from helpers.accuracy_mutants import (
    Mutant,
    clip_distribution,
    disable_check,
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


def straight_contour() -> None:
    replace("_tilt", lambda _: lambda *given: (0.0, 0.7))


def log_of_rounded() -> None:
    def log_peak(c: Floats, d: Floats, a: Floats, s: float) -> float:
        return -sum(one * math.log(other) for one, other in zip(c, a, strict=True))

    replace("log_peak", lambda _: log_peak)


def no_grading() -> None:
    def make(original: Callable[..., None]) -> Callable[..., None]:
        def fill_grading(*given: Any) -> None:
            given[-1][:] = 0.0

        return fill_grading

    replace("fill_grading", make)


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


def coarse_contour() -> None:
    replace("CONTOUR_STRIP", lambda _: 2.5)


MUTANTS = [
    Mutant(
        "straight contours",
        # the vertical line through the saddle point is the textbook contour
        straight_contour,
        (("one large weight", "simulation", "alpha"),),
    ),
    Mutant(
        "log of 1 - s d as it stands",
        # a_k is known to 16 digits
        log_of_rounded,
        (("many observations", "simulation", "alpha"),),
    ),
    Mutant(
        "no grading",
        # panels end at the values, and the densities are smooth between them
        no_grading,
        (("halves", "simulation", "alpha"),),
    ),
    Mutant(
        "F^k - F as a difference",
        # both are known to 16 digits
        change_by_difference,
        (("far behind", "strict", "h"),),
    ),
    Mutant(
        "clips F",
        # a distribution function below 1e-14 is noise, and one may divide by 1e-14
        clip_distribution,
        (("far behind", "strict", "alpha"),),
    ),
    Mutant(
        "S as 1 - F",
        # one running integral is enough for both
        survival_from_distribution,
        (("far behind", "strict", "delta"),),
    ),
    Mutant(
        "few nodes of contours",
        # the trapezoidal rule converges geometrically
        coarse_contour,
        (("halves", "simulation", "alpha"),),
    ),
]


def answer(accuracy: str, values: list[float], weights: list[list[float]]) -> dict[str, Any]:
    posterior = Dirichlet(np.array(weights), tuple(values), accuracy)
    found = posterior.beliefs(posterior.init(trials=1), variance=True)
    return {name: getattr(found, name)[0].tolist() for name in ("alpha", "delta", "h", "v")}


if __name__ == "__main__":
    # compiled code wraps around and underflows in silence; NumPy's scalars would warn
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    asked = json.load(sys.stdin)
    if asked["mutant"] is not None:
        {mutant.name: mutant for mutant in MUTANTS}[asked["mutant"]].apply()
    disable_check()
    answers = [answer(*question) for question in asked["questions"]]
    json.dump({"package": graphbandits.posteriors.__file__, "answers": answers}, sys.stdout)
