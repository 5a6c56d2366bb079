"""Outcomes on demand: only observed outcomes are drawn."""

from __future__ import annotations

import numpy as np

from graphbandits._jit import kernel
from graphbandits._rng_kernels import uniform
from graphbandits._types import Floats, Ints

#: Replaces 0, at which quantiles are infinite; half of the smallest positive uniform number.
_LEAST = 2.0**-54


@kernel()
def bernoulli_outcomes(
    theta: Floats,
    key: np.uint64,
    first_trial: int,
    t: int,
    trial: Ints,
    arm: Ints,
    reward: Floats,
) -> None:
    """Set reward[k] to 1 with probability theta of the k-th (trial, arm), else to 0."""
    for k in range(trial.size):
        b = trial[k]
        seen = uniform(key, first_trial + b, t, arm[k]) < theta[b, arm[k]]
        reward[k] = 1.0 if seen else 0.0


@kernel()
def pair_uniforms(
    key: np.uint64, first_trial: int, t: int, trial: Ints, arm: Ints, out: Floats
) -> None:
    """Set out[k] to the uniform number of the k-th (trial, arm), in (0, 1)."""
    for k in range(trial.size):
        out[k] = max(_LEAST, uniform(key, first_trial + trial[k], t, arm[k]))
