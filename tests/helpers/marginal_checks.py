"""Posteriors from the parameters of their arms, and assertions of their documented accuracy.

Strict: relative 1e-8 for what is above 1e-30. Simulation: absolute 1e-10. Regrets are in units of
the largest scale of an arm that can be best; v is in units of the square of it, or of the scale of
the arm itself if that is larger.

The stored truth was computed in extended precision by ``tests/fixtures/make_marginal_truth.py``,
which shares nothing with the package.
"""

from __future__ import annotations

import json
import math
import warnings
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from graphbandits._types import State
from graphbandits.posteriors import Beliefs, GammaPoisson, Normal, NormalInverseGamma
from helpers.accuracy_checks import LEAST, TOLERANCES, WITH_VARIANCE, information_of

FIXTURES = Path(__file__).parents[1] / "fixtures"
#: The families that have a file of posteriors and truths.
FAMILIES = ("normal", "student", "gamma")
#: Parameters of an arm, in the order of the kernels.
Arms = list[list[float]]


@dataclass(frozen=True)
class MarginalCase:
    """Parameters of the arms, and the exact statistics.

    Attributes
    ----------
    name : str
        Unique name.
    arms : list of list of float
        Parameters of the posterior of each arm.
    truth : dict of str to ndarray
        alpha, delta, h and v.
    """

    name: str
    arms: Arms
    truth: dict[str, np.ndarray]


def read_truth(family: str) -> list[MarginalCase]:
    """Read the stored cases of a family."""
    stored = json.loads((FIXTURES / f"{family}_truth.json").read_text())
    return [
        MarginalCase(
            name,
            case["arms"],
            {key: np.array(case[key]) for key in ("alpha", "delta", "h", "v")},
        )
        for name, case in stored.items()
    ]


Marginal = Normal | NormalInverseGamma | GammaPoisson


def posterior_of(family: str, arms: Arms) -> tuple[Marginal, State]:
    """Return a posterior and a state with the given posteriors of the arms."""
    columns = [np.array(column) for column in zip(*arms, strict=True)]
    if family == "normal":
        prior: Marginal = Normal(columns[0], columns[1], columns[2][0])
        # (the precision of a state, not the standard deviation of a prior, is the parameter)
        return prior, prior.init(1)
    made = NormalInverseGamma.of(len(arms)) if family == "student" else GammaPoisson.of(len(arms))
    return made, {
        name: column[None].copy() for name, column in zip(made.state_limits, columns, strict=True)
    }


def spreads(family: str, arms: Arms) -> np.ndarray:
    """Return the scale of each arm, in units of the mean."""
    table = np.array(arms).T
    if family == "normal":
        return table[1]
    if family == "student":
        return np.sqrt(table[3] / (table[1] * table[2]))
    return np.sqrt(table[0]) / table[1]


def found_beliefs(family: str, arms: Arms, accuracy: str, estimate: bool = False) -> Beliefs:
    """The library's values; any warning or floating-point exception is an error."""
    posterior, state = posterior_of(family, arms)
    with warnings.catch_warnings(), np.errstate(all="raise", under="ignore"):
        warnings.simplefilter("error")
        return posterior.beliefs(state, accuracy=accuracy, estimate=estimate, variance=True)


def marginal_errors(
    family: str, case: MarginalCase, got: Beliefs, accuracy: str
) -> dict[str, np.ndarray]:
    """Return the errors of all statistics in the units of the accuracy."""
    # an arm counts if it can be best
    scale = spreads(family, case.arms)[case.truth["alpha"] > 1e-12].max()
    own = np.maximum(scale, spreads(family, case.arms))
    units = {"alpha": 1.0, "delta": scale, "h": 1.0, "v": own**2}
    found = {}
    for name in WITH_VARIANCE:
        mine, exact = getattr(got, name)[0] / units[name], case.truth[name] / units[name]
        apart = np.abs(mine - exact)
        if accuracy == "strict":
            # a difference of means is exact up to the rounding of the means
            means = np.abs(np.array(case.arms)[:, 0]).max() if family != "gamma" else 0.0
            rounding = 4e-16 * means / scale if name == "delta" else 0.0
            compared = exact > LEAST
            apart = np.maximum(0.0, apart - rounding)
            apart = np.where(compared, apart / np.where(compared, exact, 1.0), 0.0)
        found[name] = apart
    return found


def assert_marginal_accurate(family: str, case: MarginalCase, got: Beliefs, accuracy: str) -> None:
    """Assert the documented accuracy and general properties of beliefs."""
    alpha, delta, h = (getattr(got, name)[0] for name in ("alpha", "delta", "h"))
    assert np.isfinite([alpha, delta, h, got.v[0]]).all(), case.name
    assert min(alpha.min(), delta.min(), h.min(), got.v.min()) >= 0.0, case.name
    assert abs(math.fsum(alpha) - 1.0) < 1e-12, case.name
    entropy = information_of(alpha)
    slack = 1e-10 if accuracy == "simulation" else 1e-8 * entropy + LEAST
    assert h.max() <= entropy + slack, (case.name, h.max(), entropy)
    for name, error in marginal_errors(family, case, got, accuracy).items():
        worst = int(np.argmax(error))
        assert error[worst] <= TOLERANCES[accuracy], (
            f"{case.name}: {name}[{worst}] = {getattr(got, name)[0][worst]!r}, truth "
            f"{case.truth[name][worst]!r}, error {error[worst]:.2g}; {case.arms}"
        )
