"""Tests of testing/worlds.py: valid worlds of every form pass."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from helpers.cases import each
from helpers.mutant_worlds import PlainGaussian
from helpers.plain_posteriors import PlainCounts, PlainNormal
from helpers.valid_policies import temporarily_registered
from scipy.stats import poisson

from graphbandits import Bernoulli, BetaBernoulli
from graphbandits._types import Floats, Ints
from graphbandits.rng import Keys, Stream
from graphbandits.testing import Verdict, cases
from graphbandits.worlds import PriorWorld, outcome_uniforms


@dataclass(frozen=True, eq=False)
class PoissonWorld(PriorWorld):
    """Counts whose rates are draws from a gamma prior."""

    def outcomes(self, theta: Floats, keys: Keys, t: int, trial: Ints, arm: Ints) -> Floats:
        uniform = outcome_uniforms(keys, t, trial, arm)
        return np.asarray(poisson.ppf(uniform, theta[trial, arm]))


@dataclass(frozen=True)
class BareWorld:
    """Has only the members that a world needs."""

    sd: float = 1.0

    @property
    def prior(self) -> PlainNormal:
        return PlainNormal(2, sd=self.sd)

    @property
    def arms(self) -> int:
        return 2

    def means(self, keys: Keys) -> Floats:
        return self.prior.sample(self.prior.init(keys.trials), Stream(keys, 0, "theta"))

    def outcomes(self, theta: Floats, keys: Keys, t: int, trial: Ints, arm: Ints) -> Floats:
        uniform = Stream(keys, t, "outcome").uniform(2)
        return self.prior.draw_reward(theta[trial, arm], uniform[trial, arm])


def verdicts(world: Any) -> list[Verdict]:
    new = [] if type(world) is Bernoulli else [type(world)]
    with temporarily_registered("world", new):
        return [case.verdict() for case in cases("world", world)]


@each(
    "world",
    [
        PlainGaussian.of(3),
        PlainGaussian(PlainNormal(2, mean0=1e5, sd=1e3, noise=10.0)),
        PlainGaussian(PlainNormal(4, sd=1e-3), np.array([-1.0, 2.0, 0.0, 1.0])),
        PoissonWorld(PlainCounts(3)),
        PoissonWorld(PlainCounts(2), np.array([0.001, 500.0])),
        Bernoulli(BetaBernoulli.of(1)),
        Bernoulli(BetaBernoulli.of(2), fixed=[0.0, 1.0]),
        Bernoulli(BetaBernoulli.of(2), fixed=[1e-4, 0.9999]),
    ],
)
def test_valid_worlds_pass(world: Any) -> None:
    failed = {one.check.name: one.why for one in verdicts(world) if not one.ok}
    assert not failed


def test_world_without_a_text_form_passes() -> None:
    """No class method ``of``, and a number of arms that is not a parameter."""

    @dataclass(frozen=True)
    class OfArms(BareWorld):
        """Needs a standard deviation."""

        def __init__(self, sd: float) -> None:
            object.__setattr__(self, "sd", sd)

    failed = {one.check.name: one.why for one in verdicts(OfArms(2.0)) if not one.ok}
    assert not failed


def test_error_of_world_is_shown_with_line() -> None:
    @dataclass(frozen=True, eq=False)
    class BuggyWorld(Bernoulli):
        """Fails in round 2."""

        def outcomes(self, theta: Floats, keys: Keys, t: int, trial: Ints, arm: Ints) -> Floats:
            return super().outcomes(theta, keys, t, trial, arm) / (0 if t == 2 else 1)

        def means(self, keys: Keys) -> Floats:
            return undefined_name  # type: ignore[name-defined]  # noqa: F821

    found = {one.check.name: one.why for one in verdicts(BuggyWorld(BetaBernoulli.of(2)))}
    assert "test_worlds.py, line" in found["means"]
    assert "undefined_name" in found["means"]
