"""Policies that explore a fractional dominating set: UCB-LP and eps_t-greedy-LP."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from graphbandits._types import Floats, Ints, State
from graphbandits.errors import MOST_ROUNDS, InputError, check_positive
from graphbandits.graphs.dominating_sets import fractional_dominating_set
from graphbandits.policies.base import Event, Needs, Problem, View, check_range
from graphbandits.policies.index import CountPolicy, IndexPolicy, means, uniform_argmax
from graphbandits.policies.wrappers import ScaledRewards
from graphbandits.registry import register
from graphbandits.rng import Keys


@register("policy", "ucb-lp")
@dataclass(frozen=True)
class UCBLP(ScaledRewards, CountPolicy):
    """Elimination of arms in phases, observed through a dominating set (UCB-LP).

    Phase m = 0, ..., floor(log2(T/e)/2) has D = 2^-m and n(m) = ceil(2 ln(T D^2)/D^2), n(-1) = 0.
    B is the set of remaining arms and z* the fractional dominating set. If sum z* <= |B| D, every
    arm j is played ceil(z*_j (n(m) - n(m-1))) times, otherwise every arm of B n(m) - n(m-1) times,
    in order. Then arm i is eliminated if X_i + w < max over B of X_j - w, with
    w = sqrt(ln(T D^2)/(2 n(m))). The last remaining arm, or after the last phase the best mean in
    B, is played in all further rounds. If observations are missing, w uses the actual number of
    observations. A play counts once it is observed: the proposal stays the same while decisions are
    open. Buccapatnam, Eryilmaz and Shroff (2014).

    Parameters
    ----------
    reward_range : pair of float, optional
        Smallest and largest reward, which are scaled to 0 and 1; by default those of the posterior.
    """

    needs: ClassVar[Needs] = Needs(graph="before", deterministic=True, horizon=True, fixed=True)
    weighted: ClassVar[bool] = False
    incremental: ClassVar[bool] = False  # an update counts one play of its phase
    restrictable: ClassVar[bool] = False  # the phases are scheduled for a fixed set of arms
    exemptions: ClassVar[dict[str, str]] = {
        "relabelling": "a phase plays its arms in the order of their numbers"
    }

    def init(self, problem: Problem, keys: Keys) -> State:
        shape = keys.trials, problem.arms
        state = super().init(problem, keys) | {
            "left": np.ones(shape, np.bool_),  # B
            "plays": np.zeros(shape, np.int64),  # remaining plays of the phase
            "phase": np.full(keys.trials, -1),
        }
        for trial in range(keys.trials):
            self._next_phase(state, problem, trial)
        return state

    def propose(self, state: State, view: View) -> Floats:
        plays: Ints = state["plays"]  # type: ignore[assignment]
        busy = plays.any(axis=1, keepdims=True)
        scheduled = np.zeros(plays.shape)
        scheduled[np.arange(len(plays)), (plays > 0).argmax(axis=1)] = 1.0
        best = uniform_argmax(np.where(state["left"], means(state), -np.inf))
        return np.where(busy, scheduled, best)

    def update(self, state: State, event: Event) -> State:
        state = super().update(state, event)
        plays: Ints = state["plays"]  # type: ignore[assignment]
        rows = np.arange(len(plays))
        busy = plays.any(axis=1)
        played = plays[rows, event.action]
        plays[rows, event.action] = np.maximum(played - 1, 0)
        for trial in np.flatnonzero(busy & ~plays.any(axis=1)).tolist():
            self._end_phase(state, event.problem, trial)
            self._next_phase(state, event.problem, trial)
        return state

    def check_state(self, state: State, problem: Problem) -> None:
        super().check_state(state, problem)
        check_range(state, "plays", 0, MOST_ROUNDS)
        check_range(state, "phase", -1, last_phase(problem.horizon))
        if not state["left"].any(axis=1).all():
            raise InputError("the array 'left' of its state has no remaining arm")

    def _end_phase(self, state: State, problem: Problem, trial: int) -> None:
        rounds, phase = problem.horizon, int(state["phase"][trial])
        count, total = (np.asarray(state[name][trial], np.float64) for name in ("count", "total"))
        mean, left = total / np.maximum(count, 1.0), state["left"][trial]
        # n(m) observations per arm, unless some are missing
        known = np.minimum(count, observations(rounds, phase))
        width = np.sqrt(math.log(rounds * 4.0**-phase) / (2.0 * np.maximum(known, 0.5)))
        width[known == 0.0] = np.inf
        best = (mean - width)[left].max()
        state["left"][trial] = left & ~(mean + width < best)

    def _next_phase(self, state: State, problem: Problem, trial: int) -> None:
        graph, rounds, left = problem.graphs.fixed, problem.horizon, state["left"][trial]
        assert graph is not None  # by Needs(fixed=True)
        z = fractional_dominating_set(graph)[0]
        while left.sum() > 1 and state["phase"][trial] < last_phase(rounds):
            state["phase"][trial] += 1
            phase = int(state["phase"][trial])
            more = observations(rounds, phase) - observations(rounds, phase - 1)
            if z.sum() <= left.sum() * 2.0**-phase:
                state["plays"][trial] = np.ceil(z * more - 1e-9).astype(np.int64)
            else:
                state["plays"][trial] = np.where(left, more, 0)
            if state["plays"][trial].any():
                return
            self._end_phase(state, problem, trial)
            left = state["left"][trial]


def last_phase(rounds: int) -> int:
    """Return floor(log2(T/e)/2), which is below 0 for T < 3."""
    return math.floor(math.log2(rounds / math.e) / 2.0)


def observations(rounds: int, phase: int) -> int:
    """Return n(m) = ceil(2 ln(T D^2)/D^2), D = 2^-m: observations of an arm after phase m."""
    if phase < 0:
        return 0
    square = 4.0**-phase
    return math.ceil(2.0 * math.log(rounds * square) / square)


#: Upper limit of the rate c/d^2, which avoids overflow; the policy explores in every round anyway.
MOST = 1e200


@register("policy", "eps-greedy-lp")
@dataclass(frozen=True)
class EpsGreedyLP(IndexPolicy):
    """Best mean, or with probability eps_t an arm of a dominating set (eps-greedy-LP).

    eps_t = min(1, c sum z* / (d^2 t)); exploration plays arm j with probability z*_j / sum z*.
    z* is the fractional dominating set of the graph of the round. Otherwise the policy plays an
    arm that was never observed, or the arm of the best mean. The theory requires c > 4 and d below
    the smallest gap; the regret depends on c/d^2. Buccapatnam, Eryilmaz and Shroff (2014).

    Parameters
    ----------
    c : float
        Constant of the exploration rate, above 0.
    d : float
        Lower bound of the smallest gap between the best mean and another, above 0.
    """

    c: float = 5.0
    d: float = 1.0
    needs: ClassVar[Needs] = Needs(graph="before", deterministic=True)

    @classmethod
    def examples(cls) -> list[EpsGreedyLP]:
        return [cls(), cls(c=0.5, d=0.7)]

    def __post_init__(self) -> None:
        check_positive(self.c, "eps-greedy-lp: c")
        check_positive(self.d, "eps-greedy-lp: d")

    def index(self, state: State, view: View) -> Floats:
        return means(state)

    def propose(self, state: State, view: View) -> Floats:
        z = fractional_dominating_set(view.graph)
        total = z.sum(axis=1, keepdims=True)
        rate = min(self.c / self.d / self.d, MOST)
        eps = np.minimum(1.0, rate * total / view.t)
        greedy = uniform_argmax(self.indices(state, view))
        pi: Floats = (1.0 - eps) * greedy + eps * (z / total)
        return pi
