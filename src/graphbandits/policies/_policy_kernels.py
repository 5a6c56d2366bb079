"""Counts of observations, KL bounds, and exponential weights, for each trial."""

from __future__ import annotations

import math

import numpy as np

from graphbandits._jit import kernel
from graphbandits._rng_kernels import uniform
from graphbandits._types import Floats, Ints


@kernel()
def add_counts(count: Floats, total: Floats, trial: Ints, arm: Ints, reward: Floats) -> None:
    """Add (1, y) to (count, total) for each observation."""
    for k in range(trial.size):
        count[trial[k], arm[k]] += 1.0
        total[trial[k], arm[k]] += reward[k]


#: Maximum number of Newton steps; a handful is usual.
STEPS = 100


@kernel()
def upper_bound(p: float, most: float) -> float:
    """Find the largest q in [p, 1] with kl(p, q) <= most.

    kl(p, .) is convex, so Newton's method descends to the root from any point above it. Two such
    points are p + sqrt(most/2), by Pinsker's inequality, and 1 - (1-p) exp(-(most - p ln p)/(1-p)),
    because kl(p, q) >= p ln p + (1-p) ln((1-p)/(1-q)).
    """
    if most <= 0.0 or p >= 1.0:
        return p
    entropy = p * math.log(p) if p > 0.0 else 0.0
    rest = (1.0 - p) * math.exp((entropy - most) / (1.0 - p))
    q = min(p + math.sqrt(0.5 * most), 1.0 - rest)
    for _ in range(STEPS):
        if q >= 1.0:  # 1 - q is below the floating-point resolution
            return 1.0
        excess = (1.0 - p) * math.log((1.0 - p) / (1.0 - q)) - most
        if p > 0.0:
            excess += p * math.log(p / q)
        if excess <= 0.0:
            break
        step = excess * q * (1.0 - q) / (q - p)
        if q - step >= q:
            break
        q -= step
    return max(p, q)


@kernel()
def upper_bounds(count: Floats, mean: Floats, most: float, out: Floats) -> None:
    """Set out = max {q >= mean: count kl(mean, q) <= most}."""
    for b in range(mean.shape[0]):
        for i in range(mean.shape[1]):
            out[b, i] = upper_bound(mean[b, i], most / count[b, i])


#: Lower limit of the probability by which an estimate is divided.
LEAST = 1e-300


@kernel()
def exponential_weights(loss: Floats, step: Floats, out: Floats) -> None:
    """Set out_i proportional to exp(-step (loss_i - smallest loss)), with one step per trial."""
    for b in range(loss.shape[0]):
        least = np.inf
        for i in range(loss.shape[1]):
            least = min(least, loss[b, i])
        total = 0.0
        for i in range(loss.shape[1]):
            out[b, i] = math.exp(-step[b] * (loss[b, i] - least))
            total += out[b, i]
        for i in range(loss.shape[1]):
            out[b, i] /= total


@kernel()
def add_losses(
    loss: Floats, chance: Floats, extra: Floats, trial: Ints, arm: Ints, reward: Floats
) -> None:
    """Add (1 - y) / (chance + extra) to the loss of each observed arm; extra is per trial."""
    for k in range(trial.size):
        b = trial[k]
        i = arm[k]
        loss[b, i] += (1.0 - reward[k]) / max(chance[b, i] + extra[b], LEAST)


@kernel()
def row_ratios(pi: Floats, chance: Floats, extra: Floats, out: Floats) -> None:
    """Add sum_i pi_i / (chance_i + extra) to out_b, over the arms with pi_i > 0."""
    for b in range(pi.shape[0]):
        for i in range(pi.shape[1]):
            if pi[b, i] > 0.0:
                out[b] += pi[b, i] / (chance[b, i] + extra[b])


@kernel()
def _candidate(place: int, one: int, other: int) -> int:
    """Return the arm at position ``place`` among all arms except ``one`` and ``other``, sorted."""
    low = min(one, other)
    high = max(one, other)
    arm = place + 1 if place >= low else place
    return arm + 1 if low < high and arm >= high else arm


@kernel()
def resample(
    loss: Floats,
    squares: Floats,
    pi: Floats,
    action: Ints,
    seen: np.ndarray,
    key: np.uint64,
    first_trial: int,
    t: int,
    trial: Ints,
    arm: Ints,
    reward: Floats,
) -> None:
    """Add G_i l_i to loss_i and pi_i (G_i l_i)^2 to squares for each observed arm i of a trial.

    G_i is the first k <= K-2 at which a draw of Bernoulli(pi_i) is 1 or the k-th of the other arms,
    in random order, was observed; otherwise K-1. The k-th draw is the random number with the index
    2 K i + k - 1. The order is a Fisher-Yates shuffle with the numbers 2 K i + K, ...
    """
    arms = pi.shape[1]
    order = np.arange(arms)
    swapped = np.empty(arms, np.int64)
    for n in range(trial.size):
        b = trial[n]
        i = arm[n]
        number = first_trial + b
        others = arms - 1 if i == action[b] else arms - 2
        waited = arms - 1
        steps = 0
        for k in range(arms - 2):
            turn = uniform(key, number, t, 2 * arms * i + arms + k)
            place = k + int(turn * (others - k))
            order[k], order[place] = order[place], order[k]
            swapped[k] = place
            steps += 1
            drawn = uniform(key, number, t, 2 * arms * i + k) < pi[b, i]
            if drawn or seen[b, _candidate(order[k], i, action[b])]:
                waited = k + 1
                break
        for k in range(steps - 1, -1, -1):  # restore the order for the next arm
            place = swapped[k]
            order[k], order[place] = order[place], order[k]
        estimate = waited * (1.0 - reward[n])
        loss[b, i] += estimate
        squares[b] += pi[b, i] * estimate * estimate
