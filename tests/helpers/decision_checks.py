"""Compare every decision of a batched policy with its reference implementation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from graphbandits._types import Floats
from graphbandits.graphs import Feedback, Process, UniformFeedback
from graphbandits.graphs.properties import GraphInfo
from graphbandits.policies import Event, Problem, View, as_policy
from graphbandits.posteriors import BetaBernoulli, Observations
from graphbandits.rng import Keys, Stream
from graphbandits.simulation.loop import check_pi, init_state, propose, update_state

#: Trials that are compared at once; each has its own history, and its own graphs if drawn.
TRIALS = 3


@dataclass(frozen=True)
class History:
    """Events of both: the plays of the policy, or given plays that it does not choose.

    ``least``: least probability of a played arm, for policies that divide by it.
    ``means``: means of the arms; drawn by default.
    """

    process: Process
    prior: list[tuple[int, int]]
    horizon: int
    rounds: int
    own: bool = True
    least: float = 0.0
    means: tuple[float, ...] | None = None
    seed: int = 0

    @property
    def arms(self) -> int:
        return self.process.arms

    def posterior(self) -> BetaBernoulli:
        a, b = np.array(self.prior, np.float64).T.copy()
        return BetaBernoulli(a, b, accuracy="strict")


def graphs_of(feedback: Feedback) -> list[Any]:
    """The graph of each trial as references read it: r, or a tuple of rows."""
    if isinstance(feedback, UniformFeedback):
        return np.broadcast_to(feedback.r, TRIALS).tolist()
    rows = [feedback.reach(np.full(TRIALS, i)).tolist() for i in range(feedback.arms)]
    return [tuple(tuple(row[b]) for row in rows) for b in range(TRIALS)]


def follow(text: str, history: History, make: Callable[[], Any]) -> list[Floats]:
    """Return the difference of the two in each round, per trial; ``make`` creates a reference.

    Rewards are 0 or 1, of means that differ from arm to arm and trial to trial; all random numbers
    but those of the graphs and of the policy itself are NumPy's.
    """
    rng = np.random.default_rng(history.seed)
    arms, keys = history.arms, Keys(history.seed, 5, TRIALS)
    policy = as_policy(text)
    graphs = GraphInfo(history.process)
    problem = Problem(history.posterior(), history.horizon, policy.needs, graphs)
    state = init_state(policy, problem, keys)
    written = [make() for _ in range(TRIALS)]
    means = rng.random((TRIALS, arms)) if history.means is None else np.array(history.means)
    favourite = rng.dirichlet(np.full(arms, 1.5), size=TRIALS)
    apart, shown, graphs = [], None, []
    for t in range(1, history.rounds + 1):
        feedback = history.process.round(t, keys)
        if feedback is not shown:  # a fixed graph is read once
            shown, graphs = feedback, graphs_of(feedback)
        view = View(t, keys, problem, feedback)
        pi = check_pi(policy, propose(policy, state, view), view)
        wanted = np.array([written[b].decide(t, graphs[b]) for b in range(TRIALS)])
        apart.append(np.abs(pi - wanted).max(axis=1))
        drawn_from = pi if history.own else favourite * (pi >= history.least)
        action = np.array([rng.choice(arms, p=p / p.sum()) for p in drawn_from])
        seen = rng.random((TRIALS, arms)) < feedback.reach(action)
        reward = (rng.random((TRIALS, arms)) < means).astype(np.float64)
        draws = Stream(keys, t, "policy-update/resampling").uniform(2 * arms * arms)
        for b in range(TRIALS):
            rewards = {int(i): float(reward[b, i]) for i in np.flatnonzero(seen[b])}
            written[b].learn(
                t, graphs[b], pi[b].tolist(), int(action[b]), rewards, draws[b].tolist()
            )
        trial, arm = np.nonzero(seen)
        observations = Observations(trial, arm, reward[trial, arm])
        state = update_state(
            policy, state, Event(t, keys, problem, feedback, pi, action, observations)
        )
    return apart


def assert_matches_reference(
    text: str, history: History, make: Callable[[], Any], tolerance: float = 1e-12
) -> None:
    """Both decide alike in every round of every trial."""
    apart = np.array(follow(text, history, make))
    late = np.argwhere(~(apart <= tolerance))
    assert not len(late), (
        f"{text}: round {late[0][0] + 1}, trial {late[0][1]} is off by {apart[tuple(late[0])]:.3g} "
        f"({len(late)} of {apart.size} decisions); {history}"
    )


class Game:
    """One trial of a policy, played by hand: ``pi()``, then ``play(arm, {arm: reward, ...})``."""

    keys: ClassVar[Keys] = Keys(3)

    def __init__(
        self,
        text: str,
        process: Process,
        horizon: int = 100,
        prior: Sequence[tuple[int, int]] | None = None,
    ) -> None:
        self.policy, self.process, self.t = as_policy(text), process, 1
        a, b = np.array(prior or [(1, 1)] * process.arms, np.float64).T.copy()
        posterior = BetaBernoulli(a, b)
        self.problem = Problem(posterior, horizon, self.policy.needs, GraphInfo(process))
        self.state = init_state(self.policy, self.problem, self.keys)

    def pi(self) -> list[float]:
        feedback = self.process.round(self.t, self.keys)
        view = View(self.t, self.keys, self.problem, feedback)
        proposed = propose(self.policy, self.state, view)
        row: list[float] = check_pi(self.policy, proposed, view)[0].tolist()
        return row

    def play(self, action: int, seen: dict[int, float]) -> None:
        arms = np.array(sorted(seen))
        rewards = np.array([seen[arm] for arm in sorted(seen)], np.float64)
        event = Event(
            self.t,
            self.keys,
            self.problem,
            self.process.round(self.t, self.keys),
            np.array([self.pi()]),
            np.array([action]),
            Observations(np.zeros_like(arms), arms, rewards),
        )
        self.state = update_state(self.policy, self.state, event)
        self.t += 1
