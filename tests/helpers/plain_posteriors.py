"""Posteriors without listed rewards, in plain NumPy and SciPy: they pass the contract.

The statistics use distribution functions of SciPy and fixed grids, unlike the contract.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import inf
from typing import Any, ClassVar

import numpy as np
from scipy import stats
from scipy.special import expit, gammaln

from graphbandits._types import Floats, State
from graphbandits.errors import InputError
from graphbandits.posteriors import COUNT, REAL, Beliefs, Observations, Support
from graphbandits.rng import Stream

#: Probabilities at which grids have edges, from below and from above.
LEVELS = np.unique(np.concatenate([np.arange(1, 701) / 1400, expit(np.linspace(-30.0, -2.0, 200))]))


@dataclass(frozen=True, eq=False)
class PlainPosterior:
    """Common part: methods that follow from the distribution of each mean."""

    support: ClassVar[tuple[float, float]] = (-inf, inf)
    outcomes: ClassVar[tuple[float, ...] | None] = None
    rewards: ClassVar[Support] = REAL

    def means(self, state: State) -> Any:
        """Return the distributions of the means, of shape (B, K, 1)."""
        raise NotImplementedError

    def predicted(self, state: State) -> Any:
        """Return the distributions of the next rewards, of shape (B, K, 1)."""
        raise NotImplementedError

    def chances(self, state: State, rewards: Floats, theta: Floats) -> Floats:
        """Return the probabilities of rewards given the means, (K, rewards, points)."""
        raise NotImplementedError

    def mean(self, state: State) -> Floats:
        return np.asarray(self.means(state).mean())[..., 0]

    def quantile(self, state: State, level: float) -> Floats:
        if not 0.0 <= level <= 1.0:
            raise InputError(f"a level is from 0 to 1, not {level}")
        return np.asarray(self.means(state).ppf(level))[..., 0]

    def sample(self, state: State, stream: Stream) -> Floats:
        uniform = np.maximum(stream.uniform(self.arms), 1e-16)  # type: ignore[attr-defined]
        return np.asarray(self.means(state).ppf(uniform[..., None]))[..., 0]

    def log_density(self, state: State, theta: Floats) -> Floats:
        return np.asarray(self.means(state).logpdf(theta))

    def check_reward(self, reward: float) -> float:
        return self.rewards.check(reward)

    def beliefs(self, state: State, variance: bool = False, information: bool = True) -> Beliefs:
        rows = list(self._rows(state, information))
        alpha, delta, h, rho, v = (np.array(column) for column in zip(*rows, strict=True))
        return Beliefs(alpha, delta, h, rho, v=v if variance else None)

    def _rows(self, state: State, information: bool) -> Iterator[tuple[Floats, ...]]:
        for trial in range(len(next(iter(state.values())))):
            yield self._statistics({k: x[trial : trial + 1] for k, x in state.items()}, information)

    def _statistics(self, one: State, information: bool) -> tuple[Floats, ...]:
        means, predicted = self.means(one), self.predicted(one)
        edges = np.unique(np.concatenate([means.ppf(LEVELS).ravel(), means.isf(LEVELS).ravel()]))
        theta, mass = (edges[1:] + edges[:-1]) / 2.0, np.diff(means.cdf(edges)[0], axis=1)
        below = np.cumsum(mass, axis=1) - mass / 2.0
        arms = range(len(mass))
        m = np.asarray(means.mean())[0, :, 0]
        joint = np.empty((len(mass), len(mass), len(theta)))
        for i in arms:
            for j in arms:
                at = mass[j] * np.prod([below[k] for k in arms if k not in (i, j)], axis=0)
                above = np.cumsum(at[::-1])[::-1] - at / 2.0
                joint[i, j] = at if i == j else mass[i] * above
        alpha = np.array([joint[j, j].sum() for j in arms])
        rho = m[0] + sum(joint[j, j] @ (theta - m[0]) for j in arms)
        v = ((joint @ (theta - m[0]) / alpha - (m - m[0])[:, None]) ** 2) @ alpha
        if not information:
            return alpha, rho - m, np.full(len(mass), np.nan), rho, v
        if self.rewards.integer:
            rewards = np.arange(predicted.isf(1e-12).max() + 1.0)
            width = np.ones(len(rewards))
        else:
            few = LEVELS[::8]
            ends = np.concatenate([predicted.ppf(few).ravel(), predicted.isf(few).ravel()])
            ends = np.unique(ends)
            step = np.diff(ends) / np.sqrt(12.0)  # two points of Gauss's rule between the ends
            rewards = np.concatenate([(ends[1:] + ends[:-1]) / 2.0 + s for s in (-step, step)])
            width = np.tile(np.diff(ends) / 2.0, 2)
        chance = self.chances(one, rewards, theta) * width[:, None]
        h = []
        for i in arms:
            both = joint[i] @ chance[i].T + 1e-300
            h.append((both * np.log(both / (alpha[:, None] * both.sum(axis=0)))).sum())
        return alpha, rho - m, np.array(h), rho, v


@dataclass(frozen=True, eq=False)
class PlainNormal(PlainPosterior):
    """Normal rewards with known noise and equal normal priors."""

    arms: int = 3
    mean0: float = 0.0
    sd: float = 1.0
    noise: float = 1.0
    weighted: ClassVar[bool] = True

    @classmethod
    def examples(cls) -> list[Any]:
        return [cls()]

    def init(self, trials: int) -> State:
        return {name: np.zeros((trials, self.arms)) for name in ("count", "sum")}

    def update(self, state: State, seen: Observations) -> State:
        weight = getattr(seen, "weight", None)
        weight = np.ones(len(seen.arm)) if weight is None else weight
        np.add.at(state["count"], (seen.trial, seen.arm), weight)
        np.add.at(state["sum"], (seen.trial, seen.arm), weight * (seen.reward - self.mean0))
        return state

    def _mean_and_sd(self, state: State) -> tuple[Floats, Floats]:
        precision = self.sd**-2 + state["count"] * self.noise**-2
        return self.mean0 + state["sum"] * self.noise**-2 / precision, precision**-0.5

    def means(self, state: State) -> Any:
        mean, sd = self._mean_and_sd(state)
        return stats.norm(mean[..., None], sd[..., None])

    def predicted(self, state: State) -> Any:
        mean, sd = self._mean_and_sd(state)
        return stats.norm(mean[..., None], np.hypot(sd, self.noise)[..., None])

    def log_likelihood(self, reward: Any, theta: Floats) -> Floats:
        z = (reward - theta) / self.noise
        return np.asarray(-0.5 * z * z - np.log(self.noise * np.sqrt(2.0 * np.pi)))

    def chances(self, state: State, rewards: Floats, theta: Floats) -> Floats:
        found = np.exp(self.log_likelihood(rewards[:, None], theta))
        return np.broadcast_to(found, (self.arms, *found.shape))

    def draw_reward(self, theta: Floats, uniform: Floats) -> Floats:
        return theta + self.noise * stats.norm.ppf(np.maximum(uniform, 1e-16))

    def log_evidence(self, state: State) -> Floats:
        """Without the terms that do not depend on the prior."""
        n, s, tau = state["count"], state["sum"], (self.sd / self.noise) ** 2
        return np.asarray(
            (s * self.sd / self.noise**2) ** 2 / (2.0 * (1.0 + n * tau)) - np.log1p(n * tau) / 2.0
        )

    def weaker(self) -> Any:
        return replace(self, sd=10.0 * self.sd)


@dataclass(frozen=True, eq=False)
class PlainStudent(PlainPosterior):
    """Normal rewards of unknown variance: the means have Student's distribution."""

    arms: int = 3
    center: float = 0.0
    shape: float = 2.0
    scale: float = 1.0

    @classmethod
    def examples(cls) -> list[Any]:
        return [cls()]

    def init(self, trials: int) -> State:
        first = {"m": self.center, "n": 1.0, "a": self.shape, "b": self.scale}
        return {name: np.full((trials, self.arms), value) for name, value in first.items()}

    def update(self, state: State, seen: Observations) -> State:
        m, n, a, b = (state[name] for name in "mnab")
        for trial, arm, y in zip(seen.trial, seen.arm, seen.reward, strict=True):
            at = trial, arm
            b[at] += n[at] * (y - m[at]) ** 2 / (2.0 * (n[at] + 1.0))
            m[at] = (n[at] * m[at] + y) / (n[at] + 1.0)
            n[at] += 1.0
            a[at] += 0.5
        return state

    def means(self, state: State) -> Any:
        m, n, a, b = (state[name][..., None] for name in "mnab")
        return stats.t(2.0 * a, m, np.sqrt(b / (a * n)))

    def predicted(self, state: State) -> Any:
        m, n, a, b = (state[name][..., None] for name in "mnab")
        return stats.t(2.0 * a, m, np.sqrt(b * (n + 1.0) / (a * n)))

    def log_conditional(self, state: State, reward: Any, theta: Floats) -> Floats:
        m, n, a, b = (state[name][..., None] for name in "mnab")
        q = b + n * (theta - m) ** 2 / 2.0  # of the inverse gamma with a + 1/2, given theta
        shape = a + 0.5
        constant = gammaln(shape + 0.5) - gammaln(shape) - 0.5 * np.log(2.0 * np.pi * q)
        return np.asarray(constant - (shape + 0.5) * np.log1p((reward - theta) ** 2 / (2.0 * q)))

    def chances(self, state: State, rewards: Floats, theta: Floats) -> Floats:
        found = [self.log_conditional(state, y, theta)[0] for y in rewards.tolist()]
        return np.exp(np.stack(found, axis=1))

    def draw_reward(self, theta: Floats, uniform: Floats) -> Floats:
        raise NotImplementedError("use predict")

    def predict(self, state: State, stream: Stream) -> Floats:
        uniform = np.maximum(stream.uniform(self.arms), 1e-16)[..., None]
        return np.asarray(self.predicted(state).ppf(uniform))[..., 0]


@dataclass(frozen=True, eq=False)
class PlainCounts(PlainPosterior):
    """Poisson counts with equal gamma priors."""

    arms: int = 3
    shape: float = 2.0
    rate: float = 1.0
    support: ClassVar[tuple[float, float]] = (0.0, inf)
    rewards: ClassVar[Support] = COUNT

    @classmethod
    def examples(cls) -> list[Any]:
        return [cls()]

    def init(self, trials: int) -> State:
        shape = trials, self.arms
        return {"a": np.full(shape, self.shape), "b": np.full(shape, self.rate)}

    def update(self, state: State, seen: Observations) -> State:
        np.add.at(state["a"], (seen.trial, seen.arm), seen.reward)
        np.add.at(state["b"], (seen.trial, seen.arm), 1.0)
        return state

    def means(self, state: State) -> Any:
        return stats.gamma(state["a"][..., None], scale=1.0 / state["b"][..., None])

    def predicted(self, state: State) -> Any:
        a, b = (state[name][..., None] for name in "ab")
        return stats.nbinom(a, b / (b + 1.0))

    def log_likelihood(self, reward: Any, theta: Floats) -> Floats:
        return np.asarray(reward * np.log(theta) - theta - gammaln(reward + 1.0))

    def chances(self, state: State, rewards: Floats, theta: Floats) -> Floats:
        found = np.exp(self.log_likelihood(rewards[:, None], theta))
        return np.broadcast_to(found, (self.arms, *found.shape))

    def draw_reward(self, theta: Floats, uniform: Floats) -> Floats:
        return np.asarray(stats.poisson.ppf(uniform, theta)).clip(0.0)


#: Valid posteriors of every form, far from the scale 1 and with heavy tails.
VALID_POSTERIORS: list[Any] = [
    PlainNormal(),
    PlainNormal(mean0=5.0, sd=1e-3, noise=2e-3),
    PlainNormal(arms=2, mean0=-1e6, sd=1e4, noise=3e3),
    PlainStudent(),
    PlainStudent(arms=2, center=7.0, shape=1.5, scale=1e-6),
    PlainCounts(),
    PlainCounts(arms=2, shape=3.0, rate=1e-2),
]
