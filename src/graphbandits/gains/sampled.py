"""The joint information gain by sampling, with standard errors, for any posterior and graph."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from graphbandits._types import Floats, State
from graphbandits.errors import InputError, check_integer
from graphbandits.gains.joint import check_shapes
from graphbandits.graphs import Feedback
from graphbandits.graphs.feedback import matrices
from graphbandits.posteriors import Observations, Posterior
from graphbandits.posteriors._capabilities import predict
from graphbandits.rng import Keys, Stream

#: Approximate number of samples times arms that are computed at once.
AT_ONCE = 200_000


@dataclass(frozen=True, eq=False)
class SampledGain:
    """Estimate of the joint information gain, with standard errors.

    Parameters
    ----------
    value : ndarray of shape (B, K)
        The estimates in nats.
    standard_error : ndarray of shape (B, K)
        Their standard errors.
    """

    value: Floats
    standard_error: Floats


def sampled_gain(
    posterior: Posterior, state: State, graph: Feedback, samples: int, seed: int
) -> SampledGain:
    """Estimate the joint information gain of playing each arm by sampling.

    g_i = E KL(alpha after the observations of playing i || alpha now). A sample is a draw of theta
    from the posterior, of the observed arms and of their outcomes. The mean is unbiased. The arms
    of a trial share theta and outcomes, so their errors are correlated. Rare outcomes that no
    sample contains affect neither number: an estimate of 0 can have a standard error of 0.

    Parameters
    ----------
    posterior : Posterior
        The posterior.
    state : dict of str to ndarray
        Its state.
    graph : Feedback
        The graph of one round.
    samples : int
        Number of samples per trial, at least 2.
    seed : int
        Seed of the random draws. Sample s of trial t does not depend on other samples or trials.

    Returns
    -------
    SampledGain
        Estimates and standard errors.

    Examples
    --------
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
        raise InputError("samples must be at least 2 for a standard error, not 1")
    trials = check_shapes(posterior, state, graph)
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
    """Compute the KL divergence of each sample and arm played, (samples, K)."""
    arms = posterior.arms
    now = posterior.beliefs(state).alpha
    found = np.empty((keys.trials, arms))
    most = max(1, AT_ONCE // arms)
    for first in range(0, keys.trials, most):
        part = Keys(keys.seed, first, min(most, keys.trials - first))
        many = {name: np.repeat(array, part.trials, axis=0) for name, array in state.items()}
        outcome = predict(posterior, many, Stream(part, trial, "sampled-gain"))
        luck = Stream(part, trial, "sampled-gain/seen").uniform(arms)
        for i in range(arms):
            row, arm = np.nonzero(luck < chance[i])
            after = {name: array.copy() for name, array in many.items()}
            after = posterior.update(after, Observations(row, arm, outcome[row, arm]))
            here = slice(first, first + part.trials)
            found[here, i] = _divergence(posterior.beliefs(after).alpha, now)
    return found


def _divergence(alpha: Floats, now: Floats) -> Floats:
    """Compute the KL divergence of each row from ``now``, as a sum of non-negative terms."""
    can = now > 0.0  # an arm that cannot be best contributes nothing
    u = np.where(can, alpha / np.where(can, now, 1.0) - 1.0, 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        phi = np.where(u > -1.0, (1.0 + u) * np.log1p(u) - u, 1.0)
    # near 0 the difference cancels
    phi = np.where(np.abs(u) < 1e-4, u * u * (0.5 - u * (1.0 / 6.0 - u / 12.0)), phi)
    total: Floats = (now * phi).sum(axis=1)
    return total
