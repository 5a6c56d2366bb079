"""The decision of a policy for given posteriors."""

from __future__ import annotations

import numpy as np

from graphbandits import BetaBernoulli
from graphbandits._types import Floats
from graphbandits.graphs import from_matrix
from graphbandits.policies import Problem, View, as_policy
from graphbandits.rng import Keys

POSTERIORS = [(2, 12), (10, 41), (9, 39), (2, 16)]


def proposal(name: str, matrix: Floats, t: int = 1, prior: BetaBernoulli | None = None) -> Floats:
    """What a policy plays by these posteriors."""
    policy, process = as_policy(name), from_matrix(matrix)
    problem = Problem(prior or BetaBernoulli(*np.array(POSTERIORS, float).T), needs=policy.needs)
    keys = Keys(1)
    view = View(t, keys, problem, process.round(t, keys))
    return policy.propose(policy.init(problem, keys), view)[0]
