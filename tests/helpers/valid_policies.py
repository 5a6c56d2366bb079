"""Valid policies of many kinds in plain NumPy: they pass the contract without an exemption.

They are not registered on import, because other tests run over all registered policies.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from graphbandits._types import Floats, State
from graphbandits.policies import Event, Needs, Problem, View
from graphbandits.registry import registered_by, replace_registrations
from graphbandits.rng import Keys


@contextmanager
def temporarily_registered(kind: str, classes: Iterable[type]) -> Iterator[None]:
    """Register classes under their class names until the context ends."""
    by_module: dict[str, dict[tuple[str, str], type]] = {}
    for cls in classes:
        by_module.setdefault(cls.__module__, {})[kind, cls.__name__] = cls
    before = {module: registered_by(module) for module in by_module}
    for module, some in by_module.items():
        replace_registrations(module, before[module] | some)
    try:
        yield
    finally:
        for module, some in before.items():
            replace_registrations(module, some)


def one_hot(best: object, arms: int) -> Floats:
    return np.eye(arms)[np.asarray(best)]


def fair(score: Floats) -> Floats:
    """All probability on the largest; ties have equal probability."""
    top = (score == score.max(axis=1, keepdims=True)).astype(np.float64)
    return top / top.sum(axis=1, keepdims=True)


def softmax(score: Floats) -> Floats:
    weight = np.exp(score - score.max(axis=1, keepdims=True))
    return weight / weight.sum(axis=1, keepdims=True)


def observe_chance(pi: Floats, graph) -> Floats:
    """sum_i pi_i G_ij: the probability that arm j is observed."""
    chance = np.zeros_like(pi)
    for i in range(pi.shape[1]):
        chance += pi[:, i : i + 1] * graph.reach(np.full(len(pi), i))
    return chance


@dataclass(frozen=True)
class UCB:
    """UCB1 with all observations; the first of equal arms."""

    needs: ClassVar[Needs] = Needs()
    exact: ClassVar[bool] = True

    def init(self, problem: Problem, keys: Keys) -> State:
        shape = keys.trials, problem.arms
        return {"n": np.zeros(shape), "s": np.zeros(shape)}

    def score(self, state: State, view: View) -> Floats:
        n, s = state["n"], state["s"]
        known = np.maximum(n, 1.0)
        index = s / known + np.sqrt(0.5 * np.log(view.t) / known)
        return np.where(n > 0.0, index, np.inf)

    def propose(self, state: State, view: View) -> Floats:
        return one_hot(self.score(state, view).argmax(axis=1), view.problem.arms)

    def update(self, state: State, event: Event) -> State:
        seen = event.observations
        np.add.at(state["n"], (seen.trial, seen.arm), 1.0)
        np.add.at(state["s"], (seen.trial, seen.arm), seen.reward)
        return state


@dataclass(frozen=True)
class FairUCB(UCB):
    """UCB1 that plays equal arms with equal probability."""

    def propose(self, state: State, view: View) -> Floats:
        return fair(self.score(state, view))


@dataclass(frozen=True)
class PlaysUCB(UCB):
    """UCB1 that learns from the played arm only."""

    def update(self, state: State, event: Event) -> State:
        seen = event.observations
        own = event.action[seen.trial] == seen.arm
        np.add.at(state["n"], (seen.trial[own], seen.arm[own]), 1.0)
        np.add.at(state["s"], (seen.trial[own], seen.arm[own]), seen.reward[own])
        return state


@dataclass(frozen=True)
class EpsilonGreedy(UCB):
    """The best mean so far, and with probability epsilon any arm."""

    epsilon: float = 0.1

    def score(self, state: State, view: View) -> Floats:
        return (state["s"] + 1.0) / (state["n"] + 1.0)

    def propose(self, state: State, view: View) -> Floats:
        best = one_hot(self.score(state, view).argmax(axis=1), view.problem.arms)
        return (1.0 - self.epsilon) * best + self.epsilon / view.problem.arms


@dataclass(frozen=True)
class DrawnEpsilonGreedy(EpsilonGreedy):
    """Epsilon-greedy that draws its play: pi is one-hot and not the distribution."""

    exact: ClassVar[bool] = False

    def propose(self, state: State, view: View) -> Floats:
        arms = view.problem.arms
        u = view.random("epsilon").uniform(2)
        best = self.score(state, view).argmax(axis=1)
        any_arm = (u[:, 1] * arms).astype(np.int64)
        return one_hot(np.where(u[:, 0] < self.epsilon, any_arm, best), arms)


@dataclass(frozen=True)
class Sampling(UCB):
    """Thompson sampling with uniform priors, by drawing."""

    exact: ClassVar[bool] = False

    def propose(self, state: State, view: View) -> Floats:
        n, s = state["n"], state["s"]
        draw = view.random("sampling").beta(1.0 + s, 1.0 + n - s)
        return one_hot(draw.argmax(axis=1), view.problem.arms)


@dataclass(frozen=True)
class ExploreThenCommit(UCB):
    """Any arm for T^(2/3) rounds, then the best mean."""

    needs: ClassVar[Needs] = Needs(horizon=True)

    def propose(self, state: State, view: View) -> Floats:
        arms = view.problem.arms
        if view.t <= view.problem.horizon ** (2 / 3):
            return np.full(state["n"].shape, 1.0 / arms)
        return fair((state["s"] + 0.5) / (state["n"] + 1.0))


@dataclass(frozen=True)
class Degrees(EpsilonGreedy):
    """Epsilon-greedy that explores with the arm that reveals most."""

    needs: ClassVar[Needs] = Needs(graph="before", deterministic=True)

    def propose(self, state: State, view: View) -> Floats:
        arms, trials = view.problem.arms, len(state["n"])
        degree = [view.graph.reach(np.full(trials, i)).sum(axis=1) for i in range(arms)]
        best = one_hot(self.score(state, view).argmax(axis=1), arms)
        return (1.0 - self.epsilon) * best + self.epsilon * fair(np.stack(degree, axis=1))


@dataclass(frozen=True)
class Exp3(UCB):
    """Exponential weights on losses over the probability that they are seen."""

    needs: ClassVar[Needs] = Needs(graph="after")
    eta: float = 0.05
    mix: float = 0.05

    def init(self, problem: Problem, keys: Keys) -> State:
        return {"loss": np.zeros((keys.trials, problem.arms))}

    def propose(self, state: State, view: View) -> Floats:
        pi = softmax(-self.eta * state["loss"])
        return (1.0 - self.mix) * pi + self.mix / view.problem.arms

    def update(self, state: State, event: Event) -> State:
        chance = observe_chance(event.pi, event.graph)
        seen = event.observations
        estimate = (1.0 - seen.reward) / chance[seen.trial, seen.arm]
        np.add.at(state["loss"], (seen.trial, seen.arm), estimate)
        return state


@dataclass(frozen=True)
class KeptWeights(UCB):
    """Returns its state as its proposal: callers that keep the proposal must copy it."""

    restrictable: ClassVar[bool] = False  # the weights of some arms do not add up to 1

    def init(self, problem: Problem, keys: Keys) -> State:
        return {"w": np.full((keys.trials, problem.arms), 1.0 / problem.arms)}

    def propose(self, state: State, view: View) -> Floats:
        return state["w"]

    def update(self, state: State, event: Event) -> State:
        seen, w = event.observations, state["w"]
        loss = (1.0 - seen.reward) / np.maximum(event.pi[seen.trial, seen.arm], 0.1)
        np.multiply.at(w, (seen.trial, seen.arm), np.exp(-0.1 * loss))
        w += 0.002 * w.sum(axis=1, keepdims=True)
        w /= w.sum(axis=1, keepdims=True)
        return state


VALID_POLICIES = [
    UCB,
    FairUCB,
    PlaysUCB,
    EpsilonGreedy,
    DrawnEpsilonGreedy,
    Sampling,
    ExploreThenCommit,
    Degrees,
    Exp3,
    KeptWeights,
]
