"""The joint information gain by sampling, with its standard error: for any posterior and graph."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from graphbandits._types import Floats, State
from graphbandits.errors import InputError, check_integer
from graphbandits.gains.joint import check_fit
from graphbandits.graphs import Feedback
from graphbandits.graphs.feedback import matrices
from graphbandits.posteriors import Observations, Posterior
from graphbandits.rng import Keys, Stream

#: Statistics of about so many arms are computed at once, samples times arms.
AT_ONCE = 200_000


@dataclass(frozen=True, eq=False)
class SampledGain:
    """An estimate of g, and its standard error, (B, K)."""

    value: Floats
    standard_error: Floats


def sampled_gain(
    posterior: Posterior, state: State, graph: Feedback, samples: int, seed: int
) -> SampledGain:
    """g_i = E KL(alpha after what playing i shows || alpha now), over draws of what it shows.

    A draw is a theta from the posterior, the arms seen and their outcomes; ``samples`` of them for
    each arm, at least 2. The mean is unbiased, and its standard error is that of independent draws.
    The arms of a trial share theta and outcomes, so their errors go together. Draw s of trial t has
    the same numbers whatever else is computed. What no draw has met shows in neither: where all of
    g is in rare outcomes, an estimate of 0 has an error of 0.

    >>> from graphbandits.gains import joint_gain
    >>> from graphbandits.graphs import as_process
    >>> from graphbandits.posteriors import BetaBernoulli
    >>> posterior = BetaBernoulli([1, 4, 12], [2, 4, 9])
    >>> state, star = posterior.init(trials=1), as_process("star(direction=out)", 3).feedback
    >>> found = sampled_gain(posterior, state, star, samples=2000, seed=1)
    >>> exact = joint_gain(posterior, state, star)
    >>> bool((abs(found.value - exact) < 4.0 * found.standard_error).all())
    True
    """
    if check_integer(samples, "samples") < 2:
        raise InputError("a standard error takes at least 2 samples, not 1: give more")
    trials = check_fit(posterior, state, graph)
    value, error = np.empty((2, trials, posterior.arms))
    chance = np.broadcast_to(matrices(graph, trials), (trials, posterior.arms, posterior.arms))
    for t in range(trials):
        one = {name: array[t : t + 1] for name, array in state.items()}
        keys = Keys(seed, trials=samples)
        drawn = _divergences(posterior, one, chance[t], keys, t)
        value[t] = drawn.mean(axis=0)
        error[t] = drawn.std(axis=0, ddof=1) / np.sqrt(samples)
    return SampledGain(value, error)


def _divergences(
    posterior: Posterior, state: State, chance: Floats, keys: Keys, trial: int
) -> Floats:
    """KL of each draw and arm played, (samples, K)."""
    arms = posterior.arms
    now = posterior.beliefs(state).alpha
    found = np.empty((keys.trials, arms))
    most = max(1, AT_ONCE // arms)
    for first in range(0, keys.trials, most):
        part = Keys(keys.seed, first, min(most, keys.trials - first))
        many = {name: np.repeat(array, part.trials, axis=0) for name, array in state.items()}
        theta = posterior.sample(many, Stream(part, trial, "sampled-gain/theta"))
        outcome = posterior.draw_reward(
            theta, Stream(part, trial, "sampled-gain/outcome").uniform(arms)
        )
        luck = Stream(part, trial, "sampled-gain/seen").uniform(arms)
        for i in range(arms):
            row, arm = np.nonzero(luck < chance[i])
            after = {name: array.copy() for name, array in many.items()}
            after = posterior.update(after, Observations(row, arm, outcome[row, arm]))
            here = slice(first, first + part.trials)
            found[here, i] = _divergence(posterior.beliefs(after).alpha, now)
    return found


def _divergence(alpha: Floats, now: Floats) -> Floats:
    """KL of each row from one, as a sum of terms none of which is negative."""
    can = now > 0.0  # an arm that cannot be best says nothing
    u = np.where(can, alpha / np.where(can, now, 1.0) - 1.0, 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        phi = np.where(u > -1.0, (1.0 + u) * np.log1p(u) - u, 1.0)
    # near 0 the difference cancels
    phi = np.where(np.abs(u) < 1e-4, u * u * (0.5 - u * (1.0 / 6.0 - u / 12.0)), phi)
    total: Floats = (now * phi).sum(axis=1)
    return total
