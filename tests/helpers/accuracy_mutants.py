"""Mutants of the posterior kernels: each has one simplification that loses accuracy.

Each simplification looks harmless and is accurate on easy posteriors; its docstring says why it is
tempting. A mutant names posteriors on which it violates the accuracy, the setting, and the first
quantity that shows it.

A mutant replaces functions or constants of the kernels while they run as plain Python
(``NUMBA_DISABLE_JIT=1``), in a separate process: see ``helpers/uncompiled_beliefs.py``.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import graphbandits.posteriors  # noqa: F401 (its modules are looked up in sys.modules)
from graphbandits._types import Floats
from graphbandits.posteriors._quadrature_kernels import (
    NODES,
    SIZE,
    TOP,
    A,
    B,
    log1p_lane,
    log_lane,
)

#: A stored posterior and a setting on which every mutant is accurate.
EASY = ("2 times Beta(1, 1) and Beta(3, 2)", "simulation")


@dataclass(frozen=True)
class Mutant:
    """A simplification: how it is applied, and where it is inaccurate.

    Attributes
    ----------
    name : str
        Unique name.
    apply : callable
        Replaces functions or constants of the kernels.
    breaks : tuple of (posterior, setting, quantity)
        ``quantity`` is the first one that is inaccurate.
    refused : (posterior, setting), optional
        The library rejects this posterior, because sum(alpha) is not 1. To see the values of such
        a mutant, the tests disable the check as well.
    easy : (posterior, setting)
        A posterior on which the mutant is accurate.
    """

    name: str
    apply: Callable[[], None]
    breaks: tuple[tuple[str, str, str], ...]
    refused: tuple[str, str] | None = None
    easy: tuple[str, str] = EASY


MUTANTS: list[Mutant] = []


def loses(
    *breaks: tuple[str, str, str], among: list[Mutant] = MUTANTS, **others: Any
) -> Callable[[Callable[[], None]], Callable[[], None]]:
    """Add a mutant, applied by the decorated function, to a list."""

    def note(apply: Callable[[], None]) -> Callable[[], None]:
        among.append(Mutant(apply.__name__, apply, breaks, **others))
        return apply

    return note


def replace(name: str, make: Callable[[Any], Any]) -> None:
    """Replace a function or constant in all modules of the posteriors that use it.

    ``make`` returns the new value for the current one. Fails if no module has the name, or if two
    modules have different values: the kernels have changed, and the mutant must follow them.
    """
    users = [
        module
        for path, module in list(sys.modules.items())
        if path.startswith("graphbandits.posteriors.") and hasattr(module, name)
    ]
    values = {id(value): value for value in (getattr(module, name) for module in users)}
    assert len(values) == 1, f"{len(values)} different values of {name!r} in the posteriors, not 1"
    (value,) = values.values()
    new = make(value)
    for module in users:
        setattr(module, name, new)


def disable_check() -> None:
    """Accept any sum(alpha), and do not refine the panels because of it."""
    replace("TOLERANCE", lambda _: np.inf)
    replace("CONVERGED", lambda _: np.inf)


# Distribution functions -------------------------------------------------------------------------


def change_distribution(
    change: Callable[[Floats, Floats, float], tuple[Floats, Floats, Floats]],
) -> None:
    """Change F and S of every arm after ``fold_in`` has computed them.

    ``change`` takes F, S and the least value of F; it returns F, S and the divisor of r.
    """

    def make(original: Callable[..., None]) -> Callable[..., None]:
        def fold_in(
            first: float,
            floor: float,
            others: float,
            panels: int,
            mass: Floats,
            big_f: Floats,
            survival: Floats,
            product: Floats,
            some: Floats,
            r: Floats,
        ) -> None:
            n = panels * NODES
            product_before, some_before = product[:n].copy(), some[:n].copy()
            r_before = r[:n].copy()
            original(first, floor, others, panels, mass, big_f, survival, product, some, r)
            big_f[:n], survival[:n], divisor = change(big_f[:n], survival[:n], floor)
            product[:n] = product_before * big_f[:n]
            some[:n] = some_before + others * ((1.0 - some_before) * survival[:n])
            r[:n] = r_before / divisor

        return fold_in

    replace("fold_in", make)


@loses(("led by 10, size 1e+06, 2 arms, ratio 7", "strict", "h"))
def add_to_divisor() -> None:
    """No division by 0, and 1e-15 is far below the tolerance."""
    change_distribution(lambda big_f, survival, floor: (big_f, survival, big_f + 1e-15))


@loses(("led by 8.5, size 1000, 2 arms, ratio 7", "strict", "alpha"))
def clip_distribution() -> None:
    """A distribution function below 1e-14 is noise, and one may divide by 1e-14."""

    def make(original: Callable[..., None]) -> Callable[..., None]:
        return lambda first, floor, *others: original(first, 1e-14, *others)

    replace("fold_in", make)


@loses(("led by 8.5, size 1000, 2 arms, ratio 7", "strict", "alpha"))
def distribution_from_survival() -> None:
    """One running integral is enough for both."""

    def change(big_f: Floats, survival: Floats, floor: float) -> tuple[Floats, Floats, Floats]:
        big_f = np.maximum(floor, 1.0 - survival)
        return big_f, survival, big_f

    change_distribution(change)


@loses(("led by 8.5, size 1000, 2 arms, ratio 7", "strict", "delta"))
def survival_from_distribution() -> None:
    """One running integral is enough for both."""
    change_distribution(lambda big_f, survival, floor: (big_f, 1.0 - big_f, big_f))


@loses(("live twelve equals", "strict", "delta"))
def log_of_distribution() -> None:
    """For equal arms, log F is log F."""
    replace("_log_f", lambda _: lambda big_f, survival: log_lane(big_f, 0.0))


# Delta ------------------------------------------------------------------------------------------


@loses(("led by 5, size 1e+06, 2 arms, ratio 1", "strict", "delta"))
def delta_from_rho() -> None:
    """It is the definition, and rho is there."""

    def make(original: Callable[..., int]) -> Callable[..., int]:
        def beliefs_kernel(a: Floats, b: Floats, *others: Any) -> int:
            largest = original(a, b, *others)
            _, delta, _, _, rho, _ = others[4:]
            delta[:] = np.maximum(0.0, rho[:, None] - a / (a + b))
            return largest

        return beliefs_kernel

    replace("beliefs_kernel", make)


# Panels and densities ---------------------------------------------------------------------------


@loses(
    ("tie at 500000, 2 arms", "simulation", "alpha"),
    ("tie at 500000, 2 arms", "strict", "alpha"),
    refused=("tie at 500000, 2 arms", "simulation"),
)
def fix_panels() -> None:
    """The same nodes for all posteriors are computed once."""

    def place_panels(
        arms: Floats, count: int, setting: Any, low: float, cut: float, edges: Floats, work: Floats
    ) -> int:
        if edges.size < 161:
            return -1
        edges[:161] = np.linspace(-40.0, 40.0, 161)
        return 160

    replace("place_panels", lambda _: place_panels)


@loses(
    ("observed 1e+06 to 1e+06, 3 arms, seed 2", "simulation", "alpha"),
    ("tie at 5e+08, 0.5 deviations, 2 arms", "strict", "delta"),
    refused=("tie at 5e+08, 0.5 deviations, 2 arms", "simulation"),
)
def density_by_lgamma() -> None:
    """log B(a, b) = lgamma(a) + lgamma(b) - lgamma(a + b) is in every library."""

    def make(original: Callable[..., int]) -> Callable[..., int]:
        def set_shapes(arms: Floats, count: int, reach: float) -> int:
            padded = original(arms, count, reach)
            for k in range(count):
                a, b, n = arms[A, k], arms[B, k], arms[SIZE, k]
                arms[TOP, k] = math.lgamma(n) - math.lgamma(a) - math.lgamma(b)
                arms[TOP, k] += a * math.log(a / n) + b * math.log(b / n)
            return padded

        return set_shapes

    replace("set_shapes", make)


@loses(
    ("live narrow under wide", "strict", "alpha"),
    ("live two narrow under wide", "simulation", "alpha"),
    refused=("live narrow under wide", "strict"),
)
def density_by_leader() -> None:
    """Two products for each node are cheap, and all arms share the two functions."""
    replace("ROUNDING", lambda _: np.inf)


# Elementary functions ---------------------------------------------------------------------------


@loses(
    ("tie at 5e+08, 0.5 deviations, 2 arms", "simulation", "alpha"),
    ("near the ends 10", "simulation", "alpha"),
)
def plain_log1p() -> None:
    """What 1 + u rounds off is below the last digit."""
    replace("log1p_lane", lambda _: lambda u: log_lane(1.0 + u, 0.0))
    # In simulation a mass that falls short counts as mass below the stretch and passes the
    # library's check, a mass in excess does not: noise decides.
    disable_check()


@loses(("tiny priors 21", "strict", "h"))
def divergence_without_series() -> None:
    """(1 + u) log(1 + u) - u is exact."""
    replace("phi", lambda _: lambda u: (1.0 + u) * log1p_lane(u) - u)


@loses(("live led by 9", "strict", "v"))
def variance_as_difference() -> None:
    """The variance of M is the mean of its square less the square of its mean, near 1."""

    def make(original: Callable[..., None]) -> Callable[..., None]:
        def fill_gains(*given: Any) -> None:
            original(*given)
            v = given[-1]
            v[:] = (1.0 + v) - 1.0

        return fill_gains

    replace("fill_gains", make)
