"""Updates of conjugate posteriors by observations, in the order of the observations.

Each kernel returns False, with the state unchanged, if an observation has no such trial or arm.
"""

from __future__ import annotations

from graphbandits._jit import kernel
from graphbandits._types import Floats, Ints


@kernel()
def _fits(trials: int, arms: int, trial: Ints, arm: Ints) -> bool:
    k = 0
    while k < trial.size and 0 <= trial[k] < trials and 0 <= arm[k] < arms:
        k += 1
    return k == trial.size


@kernel()
def add_to_normal(
    mean: Floats, precision: Floats, trial: Ints, arm: Ints, reward: Floats, gain: Floats
) -> bool:
    """Add normal observations with the precisions ``gain``."""
    if not _fits(mean.shape[0], mean.shape[1], trial, arm):
        return False
    for k in range(trial.size):
        t, i = trial[k], arm[k]
        precision[t, i] += gain[k]
        mean[t, i] += (reward[k] - mean[t, i]) * (gain[k] / precision[t, i])
    return True


@kernel()
def add_to_student(
    mean: Floats,
    count: Floats,
    shape: Floats,
    scale: Floats,
    trial: Ints,
    arm: Ints,
    reward: Floats,
) -> bool:
    """Add normal observations of unknown variance."""
    if not _fits(mean.shape[0], mean.shape[1], trial, arm):
        return False
    for k in range(trial.size):
        t, i = trial[k], arm[k]
        apart = reward[k] - mean[t, i]
        scale[t, i] += 0.5 * apart * apart * (count[t, i] / (count[t, i] + 1.0))
        count[t, i] += 1.0
        mean[t, i] += apart / count[t, i]
        shape[t, i] += 0.5
    return True


@kernel()
def add_to_gamma(
    shape: Floats, rate: Floats, trial: Ints, arm: Ints, reward: Floats, exposure: Floats
) -> bool:
    """Add counts per unit of exposure."""
    if not _fits(shape.shape[0], shape.shape[1], trial, arm):
        return False
    for k in range(trial.size):
        shape[trial[k], arm[k]] += exposure[k] * reward[k]
        rate[trial[k], arm[k]] += exposure[k]
    return True
