"""The exact joint information gain: what all that a play shows tells about the best arm."""

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

#: The most outcomes that are told apart, for one trial ...
MOST_OUTCOMES = 5_000_000
#: ... and the most of them times arms, which the time goes with.
MOST_WORK = 100_000_000


def check_joint(posterior: Posterior, process: Process) -> None:
    """Refuse, before anything runs, what :func:`joint_gain` cannot do or afford.

    >>> from graphbandits.graphs import as_process
    >>> from graphbandits.posteriors import BetaBernoulli
    >>> check_joint(BetaBernoulli.of(14), as_process("random(r=0.25)", 14))  # 3^14 outcomes
    """
    check_outcomes(posterior, most_outcomes(process))


def check_outcomes(posterior: Posterior, outcomes: float) -> None:
    """The same for graphs of at most so many outcomes."""
    if not hasattr(posterior, "information"):
        raise InputError(
            f"the posterior '{name_of(posterior)}' has no method information, which the joint gain "
            "takes: play by gain=bound, or estimate it with sampled_gain"
        )
    if outcomes > MOST_OUTCOMES:
        raise InputError(
            f"the joint gain would tell {outcomes:.1e} outcomes of the arms seen together apart, "
            f"for each trial; at most {MOST_OUTCOMES:,} are affordable: play by gain=bound, or "
            "estimate it with sampled_gain"
        )
    if outcomes * posterior.arms > MOST_WORK:
        raise InputError(
            f"the joint gain would follow {posterior.arms} arms through {outcomes:.1e} outcomes, "
            f"for each trial; at most {MOST_WORK:,} of both together are affordable: play by "
            "gain=bound, or estimate it with sampled_gain"
        )


def check_fit(posterior: Posterior, state: State, graph: Feedback) -> int:
    """The number of trials of the state, which the graph must be of, and of the same arms."""
    if not hasattr(graph, "reach"):
        raise InputError(
            f"a graph of one round is a feedback, as in as_process('star').feedback, not {graph!r}"
        )
    trials = len(next(iter(state.values())))
    if graph.arms != posterior.arms:
        raise InputError(f"the graph has {graph.arms} arms, the posterior {posterior.arms}")
    graph.gain(np.zeros((trials, posterior.arms)))  # refuses one of other trials
    return trials


def joint_gain(
    posterior: Posterior, state: State, graph: Feedback, accuracy: str | None = None
) -> Floats:
    """g_i = I(A*; all that playing i reveals) for each trial and arm, (B, K), in nats.

    The best arm A* and the outcomes Y_N of the arms N that are seen: g_i = sum over N of
    P(N seen | i played) I(A*; Y_N), exactly; at least (G h)_i, for arms are independent. Liu,
    Buccapatnam and Shroff (2018), Proposition 1.

    >>> from graphbandits.graphs import as_process
    >>> from graphbandits.posteriors import BetaBernoulli
    >>> posterior = BetaBernoulli([1, 4, 12], [2, 4, 9])
    >>> state, star = posterior.init(trials=1), as_process("star(direction=out)", 3).feedback
    >>> joint_gain(posterior, state, star), star.gain(posterior.beliefs(state).h)
    (array([[0.08404623, 0.02395048, 0.0040205 ]]), array([[0.08370526, 0.02395048, 0.0040205 ]]))
    """
    able: Any = posterior
    trials = check_fit(posterior, state, graph)
    known = at_most_outcomes(graph, trials, MOST_OUTCOMES)
    known = known and MOST_OUTCOMES * posterior.arms <= MOST_WORK
    check_outcomes(posterior, 0.0 if known else count_outcomes(graph, trials))
    found: Floats = able.information(state, *rows_of(graph, trials), accuracy)
    return found
