"""Mutants of the posterior kernels: each has one simplification that loses accuracy.

Each simplification looks harmless and is accurate on easy posteriors. A mutant names posteriors on
which it violates the accuracy, the setting, and the first quantity that shows it.

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
from scipy.special import betainc, betaln

import graphbandits.posteriors  # noqa: F401 (its modules are looked up in sys.modules)
from graphbandits._types import Floats
from graphbandits.posteriors._quadrature_kernels import (
    NODES,
    PLACE,
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

    A comment in the list says why it is tempting.

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
    """

    name: str
    apply: Callable[[], None]
    breaks: tuple[tuple[str, str, str], ...]
    refused: tuple[str, str] | None = None


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


def add_to_divisor() -> None:
    change_distribution(lambda big_f, survival, floor: (big_f, survival, big_f + 1e-15))


def clip_distribution() -> None:
    def make(original: Callable[..., None]) -> Callable[..., None]:
        return lambda first, floor, *others: original(first, 1e-14, *others)

    replace("fold_in", make)


def distribution_from_survival() -> None:
    def change(big_f: Floats, survival: Floats, floor: float) -> tuple[Floats, Floats, Floats]:
        big_f = np.maximum(floor, 1.0 - survival)
        return big_f, survival, big_f

    change_distribution(change)


def survival_from_distribution() -> None:
    change_distribution(lambda big_f, survival, floor: (big_f, 1.0 - big_f, big_f))


def distribution_by_recurrence(a: float, b: float, u: np.ndarray) -> np.ndarray:
    """F of Beta(a, b) at places u of the logit axis, by recurrence from parameters in (0, 1]:

    F_{a+1,b} = F_{a,b} - x (1-x) f_{a,b} / a,    F_{a,b+1} = F_{a,b} + x (1-x) f_{a,b} / b.
    """
    log_x, log_rest = -np.logaddexp(0.0, -u), -np.logaddexp(0.0, u)
    steps_a, steps_b = math.ceil(a) - 1, math.ceil(b) - 1
    first_a, first_b = a - steps_a, b - steps_b
    big_f = betainc(first_a, first_b, np.exp(log_x))
    for c in first_a + np.arange(steps_a):
        big_f -= np.exp(c * log_x + first_b * log_rest - betaln(c, first_b)) / c
    for c in first_b + np.arange(steps_b):
        big_f += np.exp(a * log_x + c * log_rest - betaln(a, c)) / c
    return np.asarray(big_f)


def use_recurrence() -> None:
    arm: list[Any] = []  # parameters and places of the arm whose density was computed last

    def remember(original: Callable[..., None]) -> Callable[..., None]:
        def fill_density(
            arms: Floats, k: int, leader: int, nodes: Floats, n: int, g: Floats
        ) -> None:
            arm[:] = [arms[A, k], arms[B, k], nodes[PLACE]]
            original(arms, k, leader, nodes, n, g)

        return fill_density

    def change(big_f: Floats, survival: Floats, floor: float) -> tuple[Floats, Floats, Floats]:
        a, b, place = arm
        exact_f = distribution_by_recurrence(a, b, place[: big_f.size])
        big_f = np.minimum(1.0, np.maximum(floor, exact_f))
        return big_f, 1.0 - big_f, big_f

    replace("fill_density", remember)
    change_distribution(change)


def log_of_distribution() -> None:
    replace("_log_f", lambda _: lambda big_f, survival: log_lane(big_f, 0.0))


# Delta ------------------------------------------------------------------------------------------


def delta_from_rho() -> None:
    def make(original: Callable[..., int]) -> Callable[..., int]:
        def beliefs_kernel(a: Floats, b: Floats, *others: Any) -> int:
            largest = original(a, b, *others)
            _, delta, _, _, rho, _ = others[4:]
            delta[:] = np.maximum(0.0, rho[:, None] - a / (a + b))
            return largest

        return beliefs_kernel

    replace("beliefs_kernel", make)


def difference_of_means() -> None:
    latest = {"a": 0.0, "b": 0.0, "regret": 0.0}  # parameters and regret of the leader

    def remember_leader(original: Callable[..., Any]) -> Callable[..., Any]:
        def choose_arms(*given: Any) -> Any:
            found = original(*given)
            lead, arms = found[1], given[-1].arms
            # (the regret, unless integrate_adaptively() is called for this trial)
            latest.update(a=float(arms[A, lead]), b=float(arms[B, lead]), regret=0.0)
            return found

        return choose_arms

    def remember_regret(original: Callable[..., Any]) -> Callable[..., Any]:
        def integrate_adaptively(*given: Any) -> Any:
            found = original(*given)
            latest["regret"] = found[1]
            return found

        return integrate_adaptively

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def fill_beliefs(t: int, a: Floats, b: Floats, *others: Any) -> Any:
            found = original(t, a, b, *others)
            delta = others[8]
            behind = latest["a"] / (latest["a"] + latest["b"]) - a[t] / (a[t] + b[t])
            delta[t] = np.maximum(0.0, latest["regret"] + behind)
            return found

        return fill_beliefs

    replace("choose_arms", remember_leader)
    replace("integrate_adaptively", remember_regret)
    replace("_fill_beliefs", make)


# Panels and densities ---------------------------------------------------------------------------


def fix_panels() -> None:
    def place_panels(
        arms: Floats, count: int, setting: Any, low: float, cut: float, edges: Floats, work: Floats
    ) -> int:
        if edges.size < 161:
            return -1
        edges[:161] = np.linspace(-40.0, 40.0, 161)
        return 160

    replace("place_panels", lambda _: place_panels)


def density_by_lgamma() -> None:
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


def density_by_leader() -> None:
    replace("ROUNDING", lambda _: np.inf)


# Elementary functions ---------------------------------------------------------------------------


def plain_log1p() -> None:
    replace("log1p_lane", lambda _: lambda u: log_lane(1.0 + u, 0.0))
    # In simulation a mass that falls short counts as mass below the stretch and passes the
    # library's check, a mass in excess does not: noise decides.
    disable_check()


def divergence_without_series() -> None:
    replace("phi", lambda _: lambda u: (1.0 + u) * log1p_lane(u) - u)


# v ----------------------------------------------------------------------------------------------


def change_variance(term: Callable[[float, float, float], float]) -> None:
    """Replace the terms of v: ``term`` takes the weight alpha, the shift M - m and the mean m."""
    values: dict[int, float] = {}  # v of each row

    def remember_row(original: Callable[..., None]) -> Callable[..., None]:
        def fill_row(
            arms: Floats,
            distinct: int,
            i: int,
            per_alpha: Floats,
            alpha: Floats,
            w: Floats,
            shift: Floats,
            weight: Floats,
        ) -> None:
            original(arms, distinct, i, per_alpha, alpha, w, shift, weight)
            mean = arms[A, i] / arms[SIZE, i]
            values[i] = sum(term(*each, mean) for each in zip(weight, shift, strict=True))

        return fill_row

    def make(original: Callable[..., None]) -> Callable[..., None]:
        def fill_gains(*given: Any) -> None:
            values.clear()
            original(*given)
            v = given[-1]
            for i, value in values.items() if v.size else ():
                v[i] = value

        return fill_gains

    replace("fill_row", remember_row)
    replace("fill_gains", make)


def variance_as_difference() -> None:
    change_variance(lambda weight, shift, mean: weight * ((mean + shift) ** 2 - mean**2))


def variance_with_larger_divisor() -> None:
    change_variance(lambda weight, shift, mean: (weight * shift) ** 2 / (weight + 1e-15))


MUTANTS = [
    Mutant(
        "divides by F plus a little",
        # no division by 0, and 1e-15 is far below the tolerance
        add_to_divisor,
        (
            ("led by 10, size 1e+06, 2 arms, ratio 7", "strict", "h"),
            ("led by 10, size 10000, 2 arms, ratio 1", "strict", "h"),
        ),
    ),
    Mutant(
        "clips F",
        # a distribution function below 1e-14 is noise, and one may divide by 1e-14
        clip_distribution,
        (
            ("led by 8.5, size 1000, 2 arms, ratio 7", "strict", "alpha"),
            ("led by 10, size 10000, 2 arms, ratio 1", "strict", "alpha"),
        ),
    ),
    Mutant(
        "F as 1 - S",
        # one running integral is enough for both
        distribution_from_survival,
        (
            ("led by 8.5, size 1000, 2 arms, ratio 7", "strict", "alpha"),
            ("led by 10, size 10000, 2 arms, ratio 1", "strict", "alpha"),
        ),
    ),
    Mutant(
        "S as 1 - F",
        # one running integral is enough for both
        survival_from_distribution,
        (
            ("led by 8.5, size 1000, 2 arms, ratio 7", "strict", "delta"),
            ("led by 10, size 10000, 2 arms, ratio 1", "strict", "delta"),
        ),
    ),
    Mutant(
        "Delta as rho - m",
        # it is the definition, and rho is there
        delta_from_rho,
        (
            ("led by 5, size 1e+06, 2 arms, ratio 1", "strict", "delta"),
            ("led by 10, size 10000, 2 arms, ratio 1", "strict", "delta"),
        ),
    ),
    Mutant(
        "difference of means",
        # m_L - m_k is one subtraction
        difference_of_means,
        (("near the ends 6", "strict", "delta"),),
    ),
    Mutant(
        "F by recurrence",
        # exact formulas with densities only, and right to 1e-12
        use_recurrence,
        (
            ("led by 8.5, size 1000, 2 arms, ratio 7", "strict", "alpha"),
            ("led by 10, size 10000, 2 arms, ratio 1", "strict", "alpha"),
        ),
    ),
    Mutant(
        "fixed panels",
        # the same nodes for all posteriors are computed once
        fix_panels,
        (
            ("tie at 500000, 2 arms", "simulation", "alpha"),
            ("tie at 500000, 2 arms", "strict", "alpha"),
            ("led by 10, size 10000, 2 arms, ratio 1", "strict", "alpha"),
        ),
        refused=("tie at 500000, 2 arms", "simulation"),
    ),
    Mutant(
        "density by lgamma",
        # log B(a, b) = lgamma(a) + lgamma(b) - lgamma(a + b) is in every library
        density_by_lgamma,
        (
            ("observed 1e+06 to 1e+06, 3 arms, seed 2", "simulation", "alpha"),
            ("tie at 5e+08, 0.5 deviations, 2 arms", "strict", "delta"),
        ),
        refused=("tie at 5e+08, 0.5 deviations, 2 arms", "simulation"),
    ),
    Mutant(
        "log(1 + u) as it stands",
        # what 1 + u rounds off is below the last digit
        plain_log1p,
        (
            ("tie at 5e+08, 0.5 deviations, 2 arms", "simulation", "alpha"),
            ("near the ends 10", "simulation", "alpha"),
        ),
    ),
    Mutant(
        "KL without its series",
        # (1 + u) log(1 + u) - u is exact
        divergence_without_series,
        (("tiny priors 21", "strict", "h"),),
    ),
    Mutant(
        "v as a difference of squares",
        # the variance of M is the mean of its square less the square of its mean, m
        variance_as_difference,
        (("live led by 9", "strict", "v"), ("near the ends 6", "strict", "v")),
    ),
    Mutant(
        "v divides by alpha plus a little",
        # alpha (M - m) is W / n before it is divided by alpha, and no division by 0
        variance_with_larger_divisor,
        (
            ("live led by 9", "strict", "v"),
            ("led by 10, size 10000, 2 arms, ratio 1", "strict", "v"),
        ),
    ),
    Mutant(
        "equal arms from 1 - F",
        # log F is log F
        log_of_distribution,
        (("live twelve equals", "strict", "delta"),),
    ),
    Mutant(
        "all log densities from the leader's",
        # two products for each node are cheap, and all arms share the two functions
        density_by_leader,
        (
            ("live narrow under wide", "strict", "alpha"),
            ("live two narrow under wide", "simulation", "alpha"),
        ),
        refused=("live narrow under wide", "strict"),
    ),
]
