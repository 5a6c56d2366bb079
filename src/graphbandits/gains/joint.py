"""The exact joint information gain of all observations of a play about the best arm."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphbandits._types import Floats, State
from graphbandits.errors import InputError
from graphbandits.graphs import Feedback, Process
from graphbandits.graphs._outcome_space import (
    at_most_outcomes,
    count_outcomes,
    most_outcomes,
    rows_of,
)
from graphbandits.posteriors import Posterior
from graphbandits.registry import name_of

#: Upper limit of the number of joint outcomes per trial.
MOST_OUTCOMES = 5_000_000
#: Upper limit of joint outcomes times arms per trial; the time is proportional to it.
MOST_WORK = 100_000_000


def check_joint(posterior: Posterior, process: Process) -> None:
    """Raise InputError if :func:`joint_gain` does not support a posterior and a graph.

    >>> from graphbandits.graphs import as_process
    >>> from graphbandits.posteriors import BetaBernoulli
    >>> check_joint(BetaBernoulli.of(14), as_process("random(r=0.25)", 14))  # 3^14 outcomes
    """
    check_outcomes(posterior, most_outcomes(process))


def check_outcomes(posterior: Posterior, outcomes: float) -> None:
    """Raise InputError if the joint gain is not available, or has too many outcomes."""
    if not hasattr(posterior, "information"):
        raise InputError(
            f"the posterior '{name_of(posterior)}' has no method 'information', which the joint "
            "gain needs: use gain=bound, or estimate the gain with sampled_gain"
        )
    if outcomes > MOST_OUTCOMES:
        raise InputError(
            f"the joint gain needs {outcomes:.1e} joint outcomes of the observed arms per trial; "
            f"at most {MOST_OUTCOMES:,} are supported: use gain=bound, or estimate the gain with "
            "sampled_gain"
        )
    if outcomes * posterior.arms > MOST_WORK:
        raise InputError(
            f"the joint gain needs {outcomes:.1e} joint outcomes times {posterior.arms} arms per "
            f"trial; at most {MOST_WORK:,} are supported: use gain=bound, or estimate the gain "
            "with sampled_gain"
        )


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

    Parameters
    ----------
    posterior : Posterior
        A posterior with a method ``information``, such as :class:`BetaBernoulli`.
    state : dict of str to ndarray
        State of the posterior.
    graph : Feedback
        The graph of one round.
    accuracy : {"simulation", "strict"}, optional
        Accuracy setting, if different from that of the posterior.

    Returns
    -------
    ndarray of shape (B, K)
        The gains in nats.

    Raises
    ------
    InputError
        If the graph does not fit, or there are too many joint outcomes.

    Examples
    --------
    >>> from graphbandits.graphs import as_process
    >>> from graphbandits.posteriors import BetaBernoulli
    >>> posterior = BetaBernoulli([1, 4, 12], [2, 4, 9])
    >>> state, star = posterior.init(trials=1), as_process("star(direction=out)", 3).feedback
    >>> joint_gain(posterior, state, star), star.gain(posterior.beliefs(state).h)
    (array([[0.08404623, 0.02395048, 0.0040205 ]]), array([[0.08370526, 0.02395048, 0.0040205 ]]))
    """
    able: Any = posterior
    trials = check_shapes(posterior, state, graph)
    known = at_most_outcomes(graph, trials, MOST_OUTCOMES)
    known = known and MOST_OUTCOMES * posterior.arms <= MOST_WORK
    check_outcomes(posterior, 0.0 if known else count_outcomes(graph, trials))
    found: Floats = able.information(state, *rows_of(graph, trials), accuracy)
    return found
