"""Mutants of the kernels of normal, Student and gamma posteriors: each loses accuracy.

As in ``helpers/accuracy_mutants.py``, each simplification looks harmless and is accurate on an easy
posterior. A posterior is the name of a family and that of a stored case. Run as a program, with
``NUMBA_DISABLE_JIT=1``, this module reads JSON with the name of a mutant or null, and a list of
posteriors [family, arms, accuracy, whether to compute h], and writes their statistics.
"""

from __future__ import annotations

import json
import math
import sys
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numba
import numpy as np

import graphbandits.posteriors
from graphbandits._types import Floats
from graphbandits.posteriors._outcome_kernels import COUNT_NODE
from graphbandits.posteriors._quadrature_kernels import NODES, SIMULATION
from helpers.accuracy_mutants import (
    Mutant,
    disable_check,
    replace,
)
from helpers.marginal_checks import posterior_of


@dataclass(frozen=True)
class MarginalMutant(Mutant):
    """A mutant with a posterior of its own on which it is accurate.

    Attributes
    ----------
    easy : (posterior, setting)
        All statistics that are computed are accurate here.
    """

    easy: tuple[str, str] = ("", "")


def lower_tail_by_difference() -> None:
    def make(original: Callable[..., None]) -> Callable[..., None]:
        def fold_in(
            first: float, floor: float, others: float, panels: int, mass: Floats, *rest: Floats
        ) -> None:
            first = max(0.0, 1.0 - (mass[0] + mass[panels]))
            original(first, floor, others, panels, mass, *rest)

        return fold_in

    replace("fold_in", make)


def end_of_normal() -> None:
    replace("student_end", lambda _: lambda freedom, reach: math.sqrt(2.0 * reach))


def outcomes_of_normal() -> None:
    replace("student_outcome_end", lambda _: lambda arms, k, reach: math.sqrt(2.0 * reach))


def panels_of_normal() -> None:
    replace("STRIP_PART", lambda _: np.inf)


def stirling_by_lgamma() -> None:
    def stirling_error(z: float) -> float:
        return math.lgamma(z) - ((z - 0.5) * math.log(z) - z + 0.5 * math.log(2.0 * math.pi))

    replace("stirling_error", lambda _: stirling_error)


def counts_as_reals() -> None:
    """Gauss-Legendre rules on [-1/2, M - 1/2] for the sums of M > NODES terms."""
    node, weight = np.polynomial.legendre.leggauss(NODES)
    size = NODES * 2.0 ** np.arange(1, len(COUNT_NODE))[:, None]
    replace("COUNT_NODE", lambda sums: np.vstack([sums[:1], 0.5 * size * (1.0 + node) - 0.5]))
    replace("COUNT_WEIGHT", lambda sums: np.vstack([sums[:1], 0.5 * size * weight]))


def nodes_for_all_outcomes() -> None:
    replace("RESOLVED", lambda most: np.full_like(most, np.inf))


def interval_of_simulation() -> None:
    def make(original: Callable[..., float]) -> Callable[..., float]:
        return lambda *given: original(*given[:-1], SIMULATION.reach)

    replace("find_start", make)


def no_pivot() -> None:
    def make(original: Callable[..., None]) -> Callable[..., None]:
        return lambda pivot, *others: original(0, *others)

    replace("_fill_best_given", make)


MUTANTS = [
    MarginalMutant(
        "lower tail as 1 - the rest",
        # the density is integrated already, and all of it is 1
        lower_tail_by_difference,
        (("student far 7", "strict", "alpha"), ("gamma far 133", "strict", "delta")),
        easy=("normal plain 137", "strict"),
    ),
    MarginalMutant(
        "interval of simulation",
        # below it the product of the distribution functions is under 1e-12
        interval_of_simulation,
        (("normal far 481", "strict", "alpha"), ("gamma far 133", "strict", "delta")),
        easy=("normal plain 137", "strict"),
    ),
    MarginalMutant(
        "tails of the normal distribution",
        # Student's distribution is nearly normal
        end_of_normal,
        (("student heavy 10", "simulation", "alpha"), ("student heavy 10", "simulation", "delta")),
        easy=("student narrow 409", "simulation"),
    ),
    MarginalMutant(
        "outcomes of the normal distribution",
        # 7.6 standard deviations contain all outcomes but 1e-13
        outcomes_of_normal,
        (("student plain 96", "simulation", "h"),),
        easy=("student narrow 409", "simulation"),
    ),
    MarginalMutant(
        "panels of the normal distribution",
        # a heavy tail is smoother, so that its panels may be wider
        panels_of_normal,
        (("student heavy 640", "simulation", "alpha"), ("student heavy 406", "simulation", "v")),
        easy=("student narrow 409", "simulation"),
    ),
    MarginalMutant(
        "density by lgamma",
        # log Gamma is in every library
        stirling_by_lgamma,
        (("gamma narrow 751", "simulation", "alpha"), ("gamma narrow 166", "simulation", "alpha")),
        easy=("gamma plain 54", "simulation"),
    ),
    MarginalMutant(
        "sums over counts as integrals",
        # the sum of a smooth function over many counts is its integral
        counts_as_reals,
        (("gamma plain 888", "simulation", "h"),),
        easy=("gamma large 59", "simulation"),
    ),
    MarginalMutant(
        "the same nodes for all outcomes",
        # the panels are narrow enough for the posterior
        nodes_for_all_outcomes,
        (("normal quiet 604", "simulation", "h"),),
        easy=("normal plain 137", "simulation"),
    ),
    MarginalMutant(
        "V relative to its first value",
        # a constant may be added to V
        no_pivot,
        (("normal far 481", "strict", "h"),),
        easy=("normal plain 137", "strict"),
    ),
]


def answer(family: str, arms: list[list[float]], accuracy: str, information: bool) -> Any:
    posterior, state = posterior_of(family, arms)
    found = posterior.beliefs(state, accuracy=accuracy, variance=True, information=information)
    return {name: getattr(found, name).tolist() for name in ("alpha", "delta", "h", "v", "rho")}


if __name__ == "__main__":
    assert numba.config.DISABLE_JIT, "compiled kernels would not see the replacements"
    # compiled code wraps around and underflows in silence; NumPy's scalars would warn
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    asked = json.load(sys.stdin)
    if asked["mutant"] is not None:
        {mutant.name: mutant for mutant in MUTANTS}[asked["mutant"]].apply()
    # otherwise the library rejects some posteriors of mutants, or refines their panels; disabled
    # for the unchanged kernels as well, so that the mutant is the only difference
    disable_check()
    answers = [answer(*question) for question in asked["questions"]]
    json.dump({"package": graphbandits.posteriors.__file__, "answers": answers}, sys.stdout)
