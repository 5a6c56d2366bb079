"""Priors, rounds and lookups for the tests of regret bounds."""

from __future__ import annotations

import math

import numpy as np

from graphbandits.posteriors import BetaBernoulli
from graphbandits.theory import Bound

LOG5 = math.log(5)
FIVE = BetaBernoulli.of(5)
ROUNDS = [1, 2, 10, 1000]
#: Chances of being best: 1/2, 1/3 and 1/6 for the larger of uniforms with cubes and squares.
UNEQUAL = BetaBernoulli(np.array([3.0, 2.0, 1.0]), np.array([1.0, 1.0, 1.0]))


def by_name(bounds: tuple[Bound, ...]) -> dict[str, Bound]:
    return {bound.name: bound for bound in bounds}
