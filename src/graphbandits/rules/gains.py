"""Information gains: the joint gain g, its estimate by sampling, and the information ratio."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from graphbandits._types import Floats, State
from graphbandits.errors import InputError, check_integer
from graphbandits.graphs import Feedback, Process
from graphbandits.graphs.feedback import matrices
from graphbandits.graphs.properties import at_most_outcomes, count_outcomes, most_outcomes, rows_of
from graphbandits.posteriors import Observations, Posterior
from graphbandits.posteriors.base import predict
from graphbandits.registry import name_of
from graphbandits.rng import Keys, Stream

#: Upper limit of the number of joint outcomes per trial.
MOST_OUTCOMES = 5_000_000
#: Upper limit of joint outcomes times arms per trial; the time is proportional to it.
MOST_WORK = 100_000_000


def check_joint(posterior: Posterior, process: Process) -> None:
    """Raise InputError if :func:`joint_gain` does not support a posterior and a graph."""
    check_outcomes(posterior, most_outcomes(process))


def check_outcomes(posterior: Posterior, outcomes: float) -> None:
    """Raise InputError if the joint gain is not available, or has too many outcomes."""
    if not hasattr(posterior, "information"):
        raise InputError(
            f"the posterior '{name_of(posterior)}' has no method 'information', which the joint "
            "gain needs: use gain=bound, or estimate the gain with sampled_gain"
        )
    most = most_supported(posterior.arms)
    if outcomes > most:
        raise InputError(
            f"the joint gain needs {outcomes:.1e} joint outcomes of the observed arms per trial; "
            f"at most {most:,} of {posterior.arms} arms are supported: use gain=bound, or estimate "
            "the gain with sampled_gain"
        )


def most_supported(arms: int) -> int:
    """Return the largest number of joint outcomes per trial that the joint gain supports."""
    return min(MOST_OUTCOMES, MOST_WORK // arms)


def check_shapes(posterior: Posterior, state: State, graph: Feedback) -> int:
    """Check that a posterior, a state and a graph fit together; return the number of trials."""
    if not hasattr(graph, "reach"):
        raise InputError(
            "graph must be the feedback of one round, such as as_process('star', 4).feedback, not "
            f"{graph!r}"
        )
    trials = len(next(iter(state.values())))
    if graph.arms != posterior.arms:
        raise InputError(f"the graph has {graph.arms} arms, but the posterior has {posterior.arms}")
    graph.gain(np.zeros((trials, posterior.arms)))  # raises if the number of trials differs
    return trials


def joint_gain(
    posterior: Posterior, state: State, graph: Feedback, accuracy: str | None = None
) -> Floats:
    """Compute the exact joint information gain g_i of playing each arm i.

    With the best arm A* and the outcomes Y_N of the observed arms N, g_i = sum over N of
    P(N observed | i played) I(A*; Y_N). It is at least (G h)_i, because arms are independent. Liu,
    Buccapatnam and Shroff (2018), Proposition 1.
    """
    able: Any = posterior
    trials = check_shapes(posterior, state, graph)
    few = at_most_outcomes(graph, trials, most_supported(posterior.arms))
    check_outcomes(posterior, 0.0 if few else count_outcomes(graph, trials))
    found: Floats = able.information(state, *rows_of(graph, trials), accuracy)
    return found


def information_ratio(pi: Floats, delta: Floats, gain: Floats) -> Floats:
    """Compute the information ratio Psi = (pi.Delta)^2 / (pi.gain) of each row of (B, K) arrays.

    With gain = G h it is an upper bound of the paper's Psi_t; for pi = alpha it is psi_t. It is
    infinite if the expected gain is zero; NaN if the expected regret is zero too.

    >>> import numpy as np
    >>> pi, delta = np.array([[0.5, 0.5]]), np.array([[0.1, 0.3]])
    >>> information_ratio(pi, delta, np.array([[0.1, 0.3]]))
    array([0.2])
    """
    regret = (pi * delta).sum(axis=1)
    learned = (pi * gain).sum(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio: Floats = regret * (regret / np.maximum(learned, 0.0))
    return ratio


def entropy(alpha: Floats) -> Floats:
    """Compute the entropy -sum_i alpha_i log(alpha_i) of each row, in nats.

    >>> import numpy as np
    >>> entropy(np.array([[0.5, 0.5, 0.0]])).round(6)
    array([0.693147])
    """
    logs = np.log(alpha, where=alpha > 0.0, out=np.zeros_like(alpha))
    found: Floats = -(alpha * logs).sum(axis=1)
    return np.maximum(found, 0.0)


#: Approximate number of samples times arms that are computed at once.
AT_ONCE = 200_000


@dataclass(frozen=True, eq=False)
class SampledGain:
    """Estimate of the joint information gain, with standard errors."""

    value: Floats
    standard_error: Floats


def sampled_gain(
    posterior: Posterior, state: State, graph: Feedback, samples: int, seed: int
) -> SampledGain:
    """Estimate the joint information gain of playing each arm by sampling.

    g_i = E KL(alpha after the observations of playing i || alpha now). A sample is a draw of theta
    from the posterior, of the observed arms and of their outcomes. The mean is unbiased; the errors
    of the arms of a trial are correlated. If no sample contains a rare outcome, an estimate of 0
    can have a standard error of 0.
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
    # a sum of non-negative terms
    can = now > 0.0  # an arm that cannot be best contributes nothing
    u = np.where(can, alpha / np.where(can, now, 1.0) - 1.0, 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        phi = np.where(u > -1.0, (1.0 + u) * np.log1p(u) - u, 1.0)
    # near 0 the difference cancels
    phi = np.where(np.abs(u) < 1e-4, u * u * (0.5 - u * (1.0 / 6.0 - u / 12.0)), phi)
    total: Floats = (now * phi).sum(axis=1)
    return total
