"""Statistics with one accuracy trap each: mutations of the kernels, a few lines of source.

Each is what one might take for a simplification, and right on easy posteriors. A mutant names
posteriors on which it breaks the promise, the setting, and the quantity that shows it.
"""

from __future__ import annotations

import math
import shutil
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.special import betainc, betaln

import graphbandits

PACKAGE = Path(graphbandits.__file__).parent
#: A stored posterior and a setting on which every mutant is right.
EASY = ("2 times Beta(1, 1) and Beta(3, 2)", "simulation")


@dataclass(frozen=True)
class Change:
    """Text of a file of the posteriors, and what stands there instead."""

    file: str
    old: str
    new: str


@dataclass(frozen=True)
class Mutant:
    """One trap: why one falls into it, what is changed, and where it shows.

    ``breaks``: posterior, setting, and the first quantity found wrong. ``refused``: a
    posterior and a setting where the library's own check, sum(alpha) = 1, stops it already; with
    such a mutant the check is taken out as well, for the tests to see the values.
    """

    name: str
    tempting: str
    changes: tuple[Change, ...]
    breaks: tuple[tuple[str, str, str], ...]
    refused: tuple[str, str] | None = None


#: Takes the library's own check out, and the cutting of panels that follows from it.
UNCHECKED = (
    Change("beta_bernoulli", "TOLERANCE = 1e-10\n", "TOLERANCE = np.inf\n"),
    Change("beta_kernels", "SETTLED = 5e-12\n", "SETTLED = np.inf\n"),
)


def write_copy(folder: Path, changes: tuple[Change, ...]) -> None:
    """Copy the package into a folder and change it; each text to be changed is there just once."""
    shutil.copytree(PACKAGE, folder / PACKAGE.name, ignore=shutil.ignore_patterns("__pycache__"))
    for change in changes:
        path = folder / PACKAGE.name / "posteriors" / f"{change.file}.py"
        source = path.read_text()
        found = source.count(change.old)
        assert found == 1, (
            f"{path.name} has this {found} times, not once: {change.old!r}; "
            "the kernels have changed, so change the mutant with them"
        )
        path.write_text(source.replace(change.old, change.new))


def distribution_by_recurrence(a: float, b: float, u: np.ndarray) -> np.ndarray:
    """F of Beta(a, b) at places u of the logit axis, upwards from parameters in (0, 1]:

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


MUTANTS = [
    Mutant(
        "divides by F plus a little",
        "nobody divides by 0 then, and 1e-15 is far below what is promised",
        (Change("distribution_kernels", "ratio[i] /= value", "ratio[i] /= value + 1e-15"),),
        (
            ("led by 10, size 1e+06, 2 arms, ratio 7", "strict", "h"),
            ("led by 10, size 10000, 2 arms, ratio 1", "strict", "h"),
        ),
    ),
    Mutant(
        "clips F",
        "a distribution function below 1e-14 is noise, and one may divide by 1e-14",
        (Change("beta_kernels", "floor = math.exp(-setting.reach - 4.0)", "floor = 1e-14"),),
        (
            ("led by 8.5, size 1000, 2 arms, ratio 7", "strict", "alpha"),
            ("led by 10, size 10000, 2 arms, ratio 1", "strict", "alpha"),
        ),
    ),
    Mutant(
        "F as 1 - S",
        "one running integral is enough for both",
        (
            Change(
                "distribution_kernels",
                "max(floor, left + increment)",
                "max(floor, 1.0 - (max(0.0, here - increment) + right))",
            ),
        ),
        (
            ("led by 8.5, size 1000, 2 arms, ratio 7", "strict", "alpha"),
            ("led by 10, size 10000, 2 arms, ratio 1", "strict", "alpha"),
        ),
    ),
    Mutant(
        "S as 1 - F",
        "one running integral is enough for both",
        (
            Change(
                "distribution_kernels",
                "above = min(1.0, max(0.0, here - increment) + right)",
                "above = 1.0 - value",
            ),
        ),
        (
            ("led by 8.5, size 1000, 2 arms, ratio 7", "strict", "delta"),
            ("led by 10, size 10000, 2 arms, ratio 1", "strict", "delta"),
        ),
    ),
    Mutant(
        "Delta as rho - m",
        "it is the definition, and rho is there",
        (
            Change(
                "beta_kernels",
                "max(0.0, regret + behind)",
                "max(0.0, rho[t] - a[t, k] / (a[t, k] + b[t, k]))",
            ),
        ),
        (
            ("led by 5, size 1e+06, 2 arms, ratio 1", "strict", "delta"),
            ("led by 10, size 10000, 2 arms, ratio 1", "strict", "delta"),
        ),
    ),
    Mutant(
        "difference of means",
        "m_L - m_k is one subtraction",
        (
            Change(
                "beta_kernels",
                "(a_best * b[t, k] - b_best * a[t, k]) / (n_best * (a[t, k] + b[t, k]))",
                "a_best / n_best - a[t, k] / (a[t, k] + b[t, k])",
            ),
        ),
        (("near the ends 6", "strict", "delta"),),
    ),
    Mutant(
        "F by recurrence",
        "exact formulas with densities only, and right to 1e-12",
        (
            Change(
                "beta_kernels",
                "        others = 0.0 if k == leader else 1.0\n",
                "        others = 0.0 if k == leader else 1.0\n"
                "        from helpers.accuracy_mutants import distribution_by_recurrence\n"
                "        big_f[:end] = distribution_by_recurrence(\n"
                "            arms[A, k], arms[B, k], nodes[0, :end]\n"
                "        )\n",
            ),
            Change("distribution_kernels", "max(floor, left + increment)", "max(floor, increment)"),
            Change(
                "distribution_kernels",
                "above = min(1.0, max(0.0, here - increment) + right)",
                "above = 1.0 - value",
            ),
        ),
        (
            ("led by 8.5, size 1000, 2 arms, ratio 7", "strict", "alpha"),
            ("led by 10, size 10000, 2 arms, ratio 1", "strict", "alpha"),
        ),
    ),
    Mutant(
        "fixed panels",
        "the same nodes for all posteriors are computed once",
        (
            Change(
                "panel_kernels",
                "    high = -np.inf\n",
                "    if edges.size < 161:\n        return -1\n"
                "    edges[:161] = np.linspace(-40.0, 40.0, 161)\n    return 160\n",
            ),
        ),
        (
            ("tie at 500000, 2 arms", "simulation", "alpha"),
            ("tie at 500000, 2 arms", "strict", "alpha"),
            ("led by 10, size 10000, 2 arms, ratio 1", "strict", "alpha"),
        ),
        refused=("tie at 500000, 2 arms", "simulation"),
    ),
    Mutant(
        "density by lgamma",
        "log B(a, b) = lgamma(a) + lgamma(b) - lgamma(a + b) is in every library",
        (
            Change(
                "shape_kernels",
                "stirling_error(n) - stirling_error(a) - stirling_error(b)",
                "math.lgamma(n) - math.lgamma(a) - math.lgamma(b)",
            ),
            Change(
                "shape_kernels",
                "0.5 * (log_lane(a * (b / arms[SIZE, k]), 0.0) - _LOG_2PI)",
                "a * math.log(a / arms[SIZE, k]) + b * math.log(b / arms[SIZE, k])",
            ),
        ),
        (
            ("observed 1e+06 to 1e+06, 3 arms, seed 2", "simulation", "alpha"),
            ("tie at 5e+08, 0.5 deviations, 2 arms", "strict", "delta"),
        ),
        refused=("tie at 5e+08, 0.5 deviations, 2 arms", "simulation"),
    ),
    Mutant(
        "log(1 + u) as it stands",
        "what 1 + u rounds off is below the last digit",
        (
            Change(
                "math_kernels",
                "log_lane(z, (u - (z - 1.0)) * max(0.0, 2.0 - z))",
                "log_lane(z, 0.0)",
            ),
            # in simulation a mass that falls short counts as mass below the stretch and passes the
            # library's check, one in excess does not: noise decides
            *UNCHECKED,
        ),
        (
            ("tie at 5e+08, 0.5 deviations, 2 arms", "simulation", "alpha"),
            ("near the ends 10", "simulation", "alpha"),
        ),
    ),
    Mutant(
        "KL without its series",
        "(1 + u) log(1 + u) - u is exact",
        (Change("math_kernels", "u * u * s if abs(u) < 0.02 else ", ""),),
        (("tiny priors 21", "strict", "h"),),
    ),
    Mutant(
        "v as a difference of squares",
        "the variance of M is the mean of its square less the square of its mean, m",
        (
            Change(
                "pair_kernels",
                "total += weight[x] * (shift[x] * shift[x])",
                "total += weight[x] * ((mean[x] + shift[x]) ** 2 - mean[x] ** 2)",
            ),
        ),
        (
            ("live led by 9", "strict", "v"),
            ("near the ends 6", "strict", "v"),
        ),
    ),
    Mutant(
        "v divides by alpha plus a little",
        "alpha (M - m) is W / n before it is divided by alpha, and nobody divides by 0 then",
        (
            Change(
                "pair_kernels",
                "total += weight[x] * (shift[x] * shift[x])",
                "total += (weight[x] * shift[x]) ** 2 / (weight[x] + 1e-15)",
            ),
        ),
        (
            ("live led by 9", "strict", "v"),
            ("led by 10, size 10000, 2 arms, ratio 1", "strict", "v"),
        ),
    ),
    Mutant(
        "equal arms from 1 - F",
        "log F is log F",
        (
            Change(
                "pair_kernels",
                "z = 1.0 - survival if by_survival else big_f",
                "z, by_survival = big_f, False",
            ),
        ),
        (("live twelve equals", "strict", "delta"),),
    ),
    Mutant(
        "all log densities from the leader's",
        "two products for each node are cheap, and all arms share the two functions",
        (Change("distribution_kernels", "ROUNDING = 2e-13", "ROUNDING = np.inf"),),
        (
            ("live narrow under wide", "strict", "alpha"),
            ("live two narrow under wide", "simulation", "alpha"),
        ),
        refused=("live narrow under wide", "strict"),
    ),
]
