"""The posteriors that decisions are timed on."""

from __future__ import annotations

import numpy as np
from baseline import Floats

from graphbandits import Bernoulli, BetaBernoulli
from graphbandits.graphs import as_process
from graphbandits.policies import Event, Problem, View
from graphbandits.posteriors import Observations
from graphbandits.registry import build
from graphbandits.rng import Keys, draw_actions

States = tuple[Floats, Floats]

#: Observations of an arm whose posterior is drawn and not simulated.
MOST_OBSERVED = 60


def graph_of(arms: int) -> str:
    """The paper's graph of five arms; without edges for any other number."""
    return "paper" if arms == 5 else "empty"


def simulated(arms: int, count: int, seed: int, horizon: int = 1000) -> States:
    """Posteriors (N, K) of every tenth round of at least four trials of IDS-N, in random order."""
    trials = max(4, -(-10 * count // horizon))
    process, world = as_process(graph_of(arms), arms), Bernoulli(BetaBernoulli.of(arms))
    policy = build("policy", "ids-n")
    keys = Keys(seed, 0, trials)
    problem = Problem(world.prior, horizon, policy.needs)
    state, theta = policy.init(problem, keys), world.means(keys)
    a, b = [], []
    for t in range(1, horizon + 1):
        if t % 10 == 1:
            a.append(state["a"].copy())
            b.append(state["b"].copy())
        feedback = process.round(t, keys)
        pi = policy.propose(state, View(t, keys, problem, feedback))
        action = draw_actions(pi, keys, t)
        trial, arm = feedback.reveal(action, keys, t)
        seen = Observations(trial, arm, world.outcomes(theta, keys, t, trial, arm))
        state = policy.update(state, Event(t, keys, problem, feedback, pi, action, seen))
    order = np.random.default_rng(seed).permutation(trials * len(a))[:count]
    return np.concatenate(a)[order], np.concatenate(b)[order]


def all_different(arms: int, count: int, seed: int) -> States:
    """Posteriors (N, K) in which no two arms have the same: the hardest case for ``arms`` arms.

    An arm has been observed up to MOST_OBSERVED times, and every number of ones is as likely.
    """
    rng = np.random.default_rng(seed)
    most = max(MOST_OBSERVED, int(2.0 * np.sqrt(arms)))
    pairs = [(ones, seen) for seen in range(most + 1) for ones in range(seen + 1)]
    chance = np.array([1.0 / (seen + 1) for _, seen in pairs])
    chosen = np.stack(
        [rng.choice(len(pairs), arms, replace=False, p=chance / chance.sum()) for _ in range(count)]
    )
    ones, seen = np.array(pairs, float).T
    return 1.0 + ones[chosen], 1.0 + (seen - ones)[chosen]


def few_different(arms: int, distinct: int, seed: int) -> States:
    """One posterior (1, K) of very many arms, which share at most ``distinct`` pairs (a, b)."""
    a, b = all_different(min(arms, distinct), 1, seed)
    owner = np.random.default_rng(seed + 1).integers(0, a.shape[1], arms)
    owner[: a.shape[1]] = np.arange(a.shape[1])
    return a[:, owner], b[:, owner]
