"""The exact joint information gain: what all that a play shows tells about the best arm."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np

from graphbandits.graphs import Feedback, Process
from graphbandits.graphs.revealers import matrices
from graphbandits.posteriors import Observations, Posterior
from graphbandits.types import Floats, State


def check_joint(posterior: Posterior, process: Process) -> None:
    """Refuse, before anything runs, what :func:`joint_gain` cannot afford."""


def joint_gain(
    posterior: Posterior, state: State, graph: Feedback, accuracy: str | None = None
) -> Floats:
    """g_i = I(A*; all that playing i reveals) for each trial and arm, (B, K), in nats.

    Under random feedback it is the expectation over the sets of arms seen.

    >>> from graphbandits.graphs import as_process
    >>> from graphbandits.posteriors import BetaBernoulli
    >>> posterior = BetaBernoulli([1, 4, 12], [2, 4, 9])
    >>> graph = as_process("empty", 3).feedback
    >>> bool(abs(joint_gain(posterior, posterior.init(1), graph)
    ...      - posterior.beliefs(posterior.init(1)).h).max() < 1e-9)
    True
    """
    able: Any = posterior
    before = able.beliefs(state, accuracy)
    trials, arms = before.alpha.shape
    mean = posterior.mean(state)
    found = np.zeros((trials, arms))
    known: dict[tuple[int, ...], Floats] = {}
    chance = np.broadcast_to(matrices(graph, trials), (trials, arms, arms))
    for i in range(arms):
        for shown in product((False, True), repeat=arms):
            weight = np.where(shown, chance[:, i], 1.0 - chance[:, i]).prod(axis=1)
            if not weight.any():
                continue
            seen = tuple(np.flatnonzero(shown).tolist())
            if seen not in known:
                known[seen] = _information(able, state, before.alpha, mean, seen, accuracy)
            found[:, i] += weight * known[seen]
    return found


def _information(
    posterior: Any, state: State, alpha: Floats, mean: Floats, seen: tuple[int, ...], accuracy: Any
) -> Floats:
    total = np.zeros(len(alpha))
    for outcomes in product((0.0, 1.0), repeat=len(seen)):
        weight = np.ones(len(alpha))
        after = {name: array.copy() for name, array in state.items()}
        for arm, outcome in zip(seen, outcomes, strict=True):
            weight *= mean[:, arm] if outcome else 1.0 - mean[:, arm]
            rows = np.arange(len(alpha))
            after = posterior.update(
                after, Observations(rows, np.full_like(rows, arm), np.full(len(rows), outcome))
            )
        new = posterior.beliefs(after, accuracy).alpha
        with np.errstate(divide="ignore", invalid="ignore"):
            u = np.where(alpha > 0.0, new / alpha - 1.0, 0.0)
            phi = np.where(u > -1.0, (1.0 + u) * np.log1p(u) - u, 1.0)
        total += weight * (alpha * phi).sum(axis=1)
    return total
