"""Updates of conjugate posteriors by observations, in the order of the observations.

Each kernel returns False, with the state unchanged, if an observation has no such trial or arm.
"""

from __future__ import annotations

import numpy as np

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
    power: Floats,
) -> bool:
    """Add normal observations of unknown variance; their likelihoods have the powers ``power``."""
    if not _fits(mean.shape[0], mean.shape[1], trial, arm):
        return False
    for k in range(trial.size):
        t, i = trial[k], arm[k]
        apart, w = reward[k] - mean[t, i], power[k]
        scale[t, i] += 0.5 * w * apart * apart * (count[t, i] / (count[t, i] + w))
        count[t, i] += w
        mean[t, i] += w * apart / count[t, i]
        shape[t, i] += 0.5 * w
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


@kernel()
def add_to_values(weights: Floats, trial: Ints, arm: Ints, index: Ints, power: Floats) -> bool:
    """Add ``power`` to the weight of the value ``index`` of each observation."""
    if not _fits(weights.shape[0], weights.shape[1], trial, arm):
        return False
    for k in range(trial.size):
        weights[trial[k], arm[k], index[k]] += power[k]
    return True


_MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX_2 = np.uint64(0x94D049BB133111EB)
_STEP = np.uint64(0x9E3779B97F4A7C15)
_27 = np.uint64(27)
_30 = np.uint64(30)
_31 = np.uint64(31)
_11 = np.uint64(11)
_2_POW_MINUS_53 = 1.0 / 9007199254740992.0


@kernel(inline=True)
def _mixed(bits: np.uint64) -> np.uint64:
    """Mix 64 bits (the finaliser of SplitMix64)."""
    bits = (bits ^ (bits >> _30)) * _MIX_1
    bits = (bits ^ (bits >> _27)) * _MIX_2
    return bits ^ (bits >> _31)


@kernel()
def hashed_uniform(arm: int, a: float, b: float, part: float) -> float:
    """Return a pseudo-random number in [0, 1) that depends on the arguments only."""
    bits = _mixed(np.uint64(arm) + _STEP)
    bits = _mixed((bits ^ np.float64(a).view(np.uint64)) + _STEP)
    bits = _mixed((bits ^ np.float64(b).view(np.uint64)) + _STEP)
    bits = _mixed((bits ^ np.float64(part).view(np.uint64)) + _STEP)
    return np.float64(bits >> _11) * _2_POW_MINUS_53


@kernel()
def add_draws(a: Floats, b: Floats, trial: Ints, arm: Ints, part: Floats, power: Floats) -> bool:
    """Add ``power`` successes with the probability ``part``, or failures, for each observation."""
    if not _fits(a.shape[0], a.shape[1], trial, arm):
        return False
    for k in range(trial.size):
        t, i = trial[k], arm[k]
        if hashed_uniform(i, a[t, i], b[t, i], part[k]) < part[k]:
            a[t, i] += power[k]
        else:
            b[t, i] += power[k]
    return True
