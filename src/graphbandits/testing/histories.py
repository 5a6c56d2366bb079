"""Given histories: plays, observations and rewards that do not depend on the policy."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphbandits.engine import as_pi, learn, propose, start
from graphbandits.graphs import Process, as_process
from graphbandits.graphs.prospect import Prospect
from graphbandits.policies import Event, Policy, Problem, View
from graphbandits.posteriors import BetaBernoulli, Observations
from graphbandits.rng import Keys, Stream
from graphbandits.testing.contract import Violation
from graphbandits.testing.scenes import lopsided_prior
from graphbandits.types import Floats, Ints, State

#: How means are smoothed, (s + a) / (n + b): not at all, Laplace, Jeffreys, as if 0 or 1 was seen.
SMOOTHED = ((0.0, 0.0), (1.0, 2.0), (0.5, 1.0), (0.0, 1.0), (1.0, 1.0))


@dataclass(frozen=True)
class Script:
    """What was played, seen and gained: arrays of (rounds, trials) and (rounds, trials, arms)."""

    action: Ints
    seen: Ints
    reward: Ints

    @classmethod
    def of(cls, matrix: Floats, *, trials: int, rounds: int, alike: bool) -> Script:
        """Random plays on a graph, some arms more often than others; ``alike``: one for all."""
        arms = len(matrix)
        keys = Keys(22, 0, 1 if alike else trials)
        draws = [Stream(keys, t, "testing/script").uniform(1 + 2 * arms) for t in range(rounds)]
        u = np.stack(draws)
        action = np.minimum((u[..., 0] ** 1.7 * arms).astype(np.int64), arms - 1)
        seen = (u[..., 1 : arms + 1] < matrix[action]).astype(np.int64)
        reward = (u[..., arms + 1 :] < np.linspace(0.25, 0.8, arms)).astype(np.int64)
        if alike:
            action, seen, reward = (np.repeat(x, trials, axis=1) for x in (action, seen, reward))
        return cls(action, seen, reward)

    def relabelled(self, place: Ints) -> Script:
        """The same with arm i called ``place[i]``."""
        old = np.argsort(place)
        return Script(place[self.action], self.seen[..., old], self.reward[..., old])

    def observations(self, t: int) -> Observations:
        """Of round t = 0, 1, ..."""
        trial, arm = np.nonzero(self.seen[t])
        return Observations(trial, arm, self.reward[t, trial, arm].astype(np.float64))

    def ties(self) -> list[NDArray[np.bool_]]:
        """Before each round, the trials in which two arms have the same count or the same mean.

        Of all that was seen, or of what was played, for some policies learn from their plays
        only; and the mean (s + a) / (n + b) as it is usually smoothed.
        """
        played = (self.action[..., None] == np.arange(self.seen.shape[2])).astype(np.int64)
        i, j = np.triu_indices(self.seen.shape[2], 1)
        tied = np.zeros(self.action.shape, np.bool_)
        for seen in (self.seen, played):
            before = np.zeros_like(seen[:1])
            count = np.concatenate([before, np.cumsum(seen, axis=0)[:-1]])
            total = np.concatenate([before, np.cumsum(seen * self.reward, axis=0)[:-1]])
            tied |= (count[..., i] == count[..., j]).any(axis=-1)
            for a, b in SMOOTHED:
                s, n = total + a, count + b
                tied |= (s[..., i] * n[..., j] == s[..., j] * n[..., i]).any(axis=-1)
        return list(tied)


def rehearse(
    policy: Policy, script: Script, process: Process, prior: BetaBernoulli
) -> list[Floats]:
    """What the policy proposes in each round of a given history."""
    keys = Keys(23, 0, script.action.shape[1])
    problem = Problem(prior, len(script.action), policy.needs, Prospect(process))
    state = start(policy, problem, keys)
    proposals = []
    for t in range(1, len(script.action) + 1):
        graph = process.round(t, keys)
        view = View(t, keys, problem, graph)
        pi = as_pi(policy, propose(policy, state, view), view)
        proposals.append(pi)
        seen = script.observations(t - 1)
        event = Event(t, keys, problem, graph, pi, script.action[t - 1], seen)
        state = learn(policy, state, event)
    return proposals


def long_run(policy: Policy, rounds: int) -> State:
    """The state after many rounds: arms that always win and lose, and mixed ones.

    A proposal is asked for every few rounds only, and played until the next.
    """
    process, prior = as_process("star(direction=out)", 3), lopsided_prior(3)
    keys = Keys(24, 0, 2)
    problem = Problem(prior, rounds, policy.needs, Prospect(process))
    state = start(policy, problem, keys)
    graph = process.round(1, keys)
    means = np.array([[1.0, 0.0, 0.5], [0.4, 0.6, 0.6]])
    asked = np.unique(np.geomspace(1, rounds, 150).astype(np.int64)).tolist()
    for first, after in pairwise([*asked, rounds + 1]):
        view = View(first, keys, problem, graph)
        pi = as_pi(policy, propose(policy, state, view), view)
        u = Stream(Keys(25, first, after - first), 1, "testing/long").uniform(4)
        cumulative = np.cumsum(pi, axis=1)
        reached = cumulative[None] <= u[:, :1, None] * cumulative[None, :, -1:]
        actions = np.minimum(reached.sum(axis=2), 2)
        seen = (actions == 0)[:, :, None] | (actions[:, :, None] == np.arange(3))
        rewards = (u[:, None, 1:] < means).astype(np.float64)
        round_, trial, arm = np.nonzero(seen)
        edges = np.searchsorted(round_, np.arange(after - first + 1)).tolist()
        reward = rewards[round_, trial, arm]
        for t, (i, j) in enumerate(pairwise(edges), first):
            observations = Observations(trial[i:j], arm[i:j], reward[i:j])
            event = Event(t, keys, problem, graph, pi, actions[t - first], observations)
            before = _short_integers(state)
            state = learn(policy, state, event)
            for name, counts in before.items():
                _check_no_overflow(name, counts, state[name], t)
    view = View(rounds, keys, problem, graph)
    as_pi(policy, propose(policy, state, view), view)
    return state


def _short_integers(state: State) -> State:
    """Copies of the arrays in which counting to 100,000 may not be possible."""
    return {
        name: value.copy()
        for name, value in state.items()
        if isinstance(value, np.ndarray) and value.dtype.kind in "iu" and value.itemsize < 4
    }


def _check_no_overflow(name: str, before: NDArray[Any], after: NDArray[Any], t: int) -> None:
    """A short integer that moves by half its range in one round has run over."""
    if before.dtype != after.dtype or before.shape != after.shape:
        return
    step = np.abs(after.astype(np.int64) - before.astype(np.int64))
    if step.size and step.max() >= 2 ** (8 * before.itemsize - 1):
        raise Violation(
            f"state['{name}'] ran over in round {t}, from {before.flat[step.argmax()]} to "
            f"{after.flat[step.argmax()]}: {before.dtype} is too short to count with, use int64"
        )
