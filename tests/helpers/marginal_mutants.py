"""Mutants of the kernels of normal, Student and gamma posteriors: each loses accuracy.

As in ``helpers/accuracy_mutants.py``, each simplification looks harmless and is accurate on an easy
posterior. A posterior is the name of a family and that of a stored case.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

import numpy as np

from graphbandits._types import Floats
from graphbandits.posteriors._outcome_kernels import COUNT_NODE
from graphbandits.posteriors._quadrature_kernels import NODES, SIMULATION
from helpers.accuracy_mutants import Mutant, loses, replace

PLAIN = ("normal plain 137", "strict")
NARROW = ("student narrow 409", "simulation")
MUTANTS: list[Mutant] = []
spoils = partial(loses, among=MUTANTS)


@spoils(("student far 7", "strict", "alpha"), ("gamma far 133", "strict", "delta"), easy=PLAIN)
def lower_tail_by_difference() -> None:
    """The density is integrated already, and all of it is 1."""

    def make(original: Callable[..., None]) -> Callable[..., None]:
        def fold_in(
            first: float, floor: float, others: float, panels: int, mass: Floats, *rest: Floats
        ) -> None:
            first = max(0.0, 1.0 - (mass[0] + mass[panels]))
            original(first, floor, others, panels, mass, *rest)

        return fold_in

    replace("fold_in", make)


@spoils(("student heavy 10", "simulation", "alpha"), easy=NARROW)
def end_of_normal() -> None:
    """Student's distribution is nearly normal."""
    replace("student_end", lambda _: lambda freedom, reach: math.sqrt(2.0 * reach))


@spoils(("student plain 96", "simulation", "h"), easy=NARROW)
def outcomes_of_normal() -> None:
    """7.6 standard deviations contain all outcomes but 1e-13."""
    replace("student_outcome_end", lambda _: lambda arms, k, reach: math.sqrt(2.0 * reach))


@spoils(("student heavy 640", "simulation", "alpha"), easy=NARROW)
def panels_of_normal() -> None:
    """A heavy tail is smoother, so that its panels may be wider."""
    replace("STRIP_PART", lambda _: np.inf)


@spoils(("gamma narrow 751", "simulation", "alpha"), easy=("gamma plain 54", "simulation"))
def stirling_by_lgamma() -> None:
    """log Gamma is in every library."""

    def stirling_error(z: float) -> float:
        return math.lgamma(z) - ((z - 0.5) * math.log(z) - z + 0.5 * math.log(2.0 * math.pi))

    replace("stirling_error", lambda _: stirling_error)


@spoils(("gamma plain 888", "simulation", "h"), easy=("gamma large 59", "simulation"))
def counts_as_reals() -> None:
    """Gauss-Legendre rules on [-1/2, M - 1/2] for the sums of M > NODES terms."""
    node, weight = np.polynomial.legendre.leggauss(NODES)
    size = NODES * 2.0 ** np.arange(1, len(COUNT_NODE))[:, None]
    replace("COUNT_NODE", lambda sums: np.vstack([sums[:1], 0.5 * size * (1.0 + node) - 0.5]))
    replace("COUNT_WEIGHT", lambda sums: np.vstack([sums[:1], 0.5 * size * weight]))


@spoils(("normal quiet 604", "simulation", "h"), easy=("normal plain 137", "simulation"))
def nodes_for_all_outcomes() -> None:
    """The panels are narrow enough for the posterior."""
    replace("RESOLVED", lambda most: np.full_like(most, np.inf))


@spoils(("normal far 481", "strict", "alpha"), easy=PLAIN)
def interval_of_simulation() -> None:
    """Below it the product of the distribution functions is under 1e-12."""

    def make(original: Callable[..., float]) -> Callable[..., float]:
        return lambda *given: original(*given[:-1], SIMULATION.reach)

    replace("find_start", make)


@spoils(("normal far 481", "strict", "h"), easy=PLAIN)
def no_pivot() -> None:
    """A constant may be added to V."""

    def make(original: Callable[..., None]) -> Callable[..., None]:
        return lambda pivot, *others: original(0, *others)

    replace("_fill_best_given", make)
