"""The functions of each family, selected by the number of the family.

Every family has an axis with places t, increasing with the mean x; see
:mod:`graphbandits.posteriors._arm_kernels`. A new family adds a module with its functions, and a
branch here in each function.
"""

from __future__ import annotations

import math

import numpy as np

from graphbandits._jit import kernel
from graphbandits._types import Floats
from graphbandits.posteriors._arm_kernels import MEAN, PARAMETERS, SPREAD
from graphbandits.posteriors._gamma_kernels import (
    RATE,
    fill_gamma,
    fill_gamma_ratio,
    fill_gamma_widths,
    gamma_after,
    gamma_difference,
    gamma_outcome_ends,
    gamma_predictive,
    gamma_shape,
    set_gamma,
)
from graphbandits.posteriors._normal_kernels import (
    fill_normal,
    fill_normal_ratio,
    normal_after,
    normal_predictive,
    normal_shape,
    set_normal,
)
from graphbandits.posteriors._student_kernels import (
    fill_student,
    fill_student_ratio,
    set_student,
    student_after,
    student_factor,
    student_outcome_end,
    student_predictive,
    student_shape,
)

#: Numbers of the families.
NORMAL, STUDENT, GAMMA = range(3)


@kernel()
def set_mean(family: int, common: Floats, arms: Floats, k: int) -> None:
    """Fill the mean of an arm from its parameters."""
    if family == GAMMA:
        arms[MEAN, k] = arms[PARAMETERS, k] / arms[RATE, k]
    else:
        arms[MEAN, k] = arms[PARAMETERS, k]


@kernel()
def origin_of(family: int, common: Floats, arms: Floats, leader: int) -> float:
    """Return the mean whose place on the axis is 0: that of the leader."""
    return float(arms[MEAN, leader])


@kernel()
def set_arm(family: int, common: Floats, arms: Floats, k: int, origin: float, reach: float) -> None:
    """Fill all rows of an arm except COUNT and BELOW.

    ``origin`` is the mean at place 0. The mass beyond START and beyond END is below exp(-reach).
    """
    if family == STUDENT:
        set_student(arms, k, origin, reach)
    elif family == GAMMA:
        set_gamma(arms, k, origin, reach)
    else:
        set_normal(arms, k, origin, reach)


@kernel()
def shape_at(
    family: int, common: Floats, arms: Floats, k: int, t: float
) -> tuple[float, float, float]:
    """Return the log density on the axis, its slope, and the scale on which it changes."""
    if family == STUDENT:
        return student_shape(arms, k, t)
    if family == GAMMA:
        return gamma_shape(arms, k, t)
    return normal_shape(arms, k, t)


@kernel()
def difference(family: int, common: Floats, origin: float, t: float, other: float) -> float:
    """Compute x(t) - x(other) without cancellation."""
    if family == GAMMA:
        return gamma_difference(origin, t, other)
    return t - other


@kernel()
def fill_widths(
    family: int, common: Floats, origin: float, place: Floats, dt: Floats, dx: Floats
) -> None:
    """Compute the weights dx = x'(t) dt of integrals over the mean."""
    if family == GAMMA:
        fill_gamma_widths(origin, place, dt, dx)
        return
    for i in range(dx.size):
        dx[i] = dt[i]


@kernel()
def special_after(family: int, common: Floats, origin: float, t: float) -> float:
    """Return the next place above t that must be an edge of a panel, or infinity."""
    return math.inf


@kernel()
def fill_densities(
    family: int, common: Floats, arms: Floats, k: int, place: Floats, g: Floats
) -> None:
    """Compute the density on the axis at the nodes."""
    if family == STUDENT:
        fill_student(arms, k, place, g)
    elif family == GAMMA:
        fill_gamma(arms, k, place, g)
    else:
        fill_normal(arms, k, place, g)


@kernel()
def has_moment_factor(family: int) -> bool:
    """Return whether :func:`moment_factor` is exact; otherwise it is an upper bound."""
    return True


@kernel()
def moment_factor(family: int, common: Floats, arms: Floats, k: int, t: float) -> float:
    """Return C(x) / g(t) with C(x) = int_{-inf}^x (m - theta) f(theta) dtheta."""
    if family == STUDENT:
        return student_factor(arms, k, t)
    if family == GAMMA:
        return 1.0 / float(arms[RATE, k])
    return float(arms[SPREAD, k] * arms[SPREAD, k])


@kernel()
def has_after(family: int) -> bool:
    """Return whether the posterior after an outcome can be narrow: whether set_after is used."""
    return True


@kernel()
def set_after(
    family: int, common: Floats, arms: Floats, k: int, y: float, reach: float, after: Floats
) -> None:
    """Fill column 0 of ``after`` with arm k after the outcome y, for :func:`fill_densities`.

    CENTRE, SPREAD, START and END are needed, and what :func:`shape_at` uses.
    """
    if family == STUDENT:
        student_after(arms, k, y, reach, after)
    elif family == GAMMA:
        gamma_after(arms, k, y, reach, after)
    else:
        normal_after(arms, k, y, reach, after)


@kernel()
def list_outcomes(
    family: int, common: Floats, arms: Floats, k: int, reach: float, cut: float
) -> tuple[bool, Floats, Floats]:
    """Return True, outcomes and their probabilities; False for outcomes that are real numbers."""
    return False, np.empty(0), np.empty(0)


@kernel()
def outcome_scale(
    family: int, common: Floats, arms: Floats, k: int, y: float
) -> tuple[float, float]:
    """Return the predictive density of the outcome y and the scale on which it changes."""
    if family == STUDENT:
        return student_predictive(arms, k, y)
    if family == GAMMA:
        return gamma_predictive(arms, k, y)
    return normal_predictive(y), 1.0


@kernel()
def outcome_ends(
    family: int, common: Floats, arms: Floats, k: int, reach: float
) -> tuple[float, float]:
    """Return numbers such that outcomes below and above them can be neglected."""
    if family == GAMMA:
        return gamma_outcome_ends(arms, k, reach)
    far = student_outcome_end(arms, k, reach) if family == STUDENT else math.sqrt(2.0 * reach)
    return -far, far


@kernel()
def are_counts(family: int) -> bool:
    """Return whether outcomes are whole numbers."""
    return family == GAMMA


@kernel()
def fill_ratios(
    family: int,
    common: Floats,
    arms: Floats,
    k: int,
    outcomes: Floats,
    place: Floats,
    ratios: Floats,
) -> None:
    """Compute L(y | x) / p(y) - 1 at the nodes, one row per outcome."""
    for q in range(outcomes.size):
        row = ratios[q, : place.size]
        if family == STUDENT:
            fill_student_ratio(arms, k, outcomes[q], place, row)
        elif family == GAMMA:
            fill_gamma_ratio(arms, k, outcomes[q], place, row)
        else:
            fill_normal_ratio(arms, k, outcomes[q], place, row)
