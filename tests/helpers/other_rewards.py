"""Posteriors and worlds of rewards other than 0 and 1, small enough to be exact."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from scipy.special import erfcx, log_ndtr, ndtr, ndtri

from graphbandits._types import Floats, Ints, State
from graphbandits.posteriors import Beliefs, BetaBernoulli, Observations
from graphbandits.posteriors.base import REAL, Support, interval, values
from graphbandits.posteriors.normal import Normal
from graphbandits.rng import Keys, Stream
from graphbandits.worlds import Bernoulli


@dataclass(frozen=True, eq=False)
class TwoValued(BetaBernoulli):
    """Rewards low and high: the affine image of a Beta-Bernoulli posterior."""

    low: float = 0.0
    high: float = 1.0

    @property
    def rewards(self) -> Support:
        return values(self.low, self.high)

    @property
    def width(self) -> float:
        return self.high - self.low

    def update(self, state: State, seen: Observations) -> State:
        return super().update(state, replace(seen, reward=(seen.reward - self.low) / self.width))

    def beliefs(
        self,
        state: State,
        accuracy: str | None = None,
        estimate: bool = False,
        variance: bool = False,
    ) -> Beliefs:
        found = super().beliefs(state, accuracy, estimate, variance)
        return replace(
            found,
            delta=self.width * found.delta,
            rho=self.low + self.width * found.rho,
            v=None if found.v is None else self.width**2 * found.v,
        )

    def mean(self, state: State) -> Floats:
        return self.low + self.width * super().mean(state)

    def quantile(self, state: State, level: float) -> Floats:
        return self.low + self.width * super().quantile(state, level)

    def sample(self, state: State, stream: Stream) -> Floats:
        return self.low + self.width * super().sample(state, stream)

    def check_reward(self, reward: float) -> float:
        return self.rewards.check(reward)


@dataclass(frozen=True, eq=False)
class TwoValuedWorld:
    """Arms with the rewards low and high, from the random numbers of Bernoulli arms."""

    prior: TwoValued
    fixed: Floats | None = None

    @property
    def arms(self) -> int:
        return self.prior.arms

    def means(self, keys: Keys) -> Floats:
        return self.prior.low + self.prior.width * Bernoulli(self.prior).means(keys)

    def outcomes(self, theta: Floats, keys: Keys, t: int, trial: Ints, arm: Ints) -> Floats:
        chance = (theta - self.prior.low) / self.prior.width
        drawn = Bernoulli(self.prior).outcomes(chance, keys, t, trial, arm)
        return np.where(drawn > 0.0, self.prior.high, self.prior.low)


@dataclass(frozen=True, eq=False)
class OtherSupport(BetaBernoulli):
    """A posterior of which only the declared rewards count: for policies without a posterior."""

    rewards: Support = REAL


@dataclass(frozen=True, eq=False)
class Eighths:
    """Rewards low + width k / 8, k = 0..8, whatever the posterior."""

    prior: OtherSupport
    low: float = 0.0
    width: float = 1.0

    @property
    def arms(self) -> int:
        return self.prior.arms

    def means(self, keys: Keys) -> Floats:
        return self.low + self.width * Stream(keys, 0, "theta").uniform(self.arms)

    def outcomes(self, theta: Floats, keys: Keys, t: int, trial: Ints, arm: Ints) -> Floats:
        mean = ((theta - self.low) / self.width)[trial, arm]
        uniform = Stream(keys, t, "outcome").uniform(self.arms)[trial, arm]
        level = np.clip(np.round(8.0 * mean + 4.0 * (uniform - 0.5)), 0.0, 8.0) / 8.0
        return self.low + self.width * level


def eighths(low: float, width: float, arms: int, rewards: Support | None = None) -> Eighths:
    """Return a world whose posterior declares the interval of its rewards, or other rewards."""
    declared = interval(low, low + width) if rewards is None else rewards
    uniform = np.ones(arms)
    return Eighths(OtherSupport(uniform, uniform, rewards=declared), low, width)


@dataclass(frozen=True, eq=False)
class TwoNormals:
    """Two Gaussian arms of known noise: statistics in closed form, h by Gauss-Hermite."""

    center: tuple[float, float] = (0.0, 0.0)
    sd: tuple[float, float] = (1.0, 1.0)
    noise: float = 1.0
    arms: ClassVar[int] = 2
    outcomes: ClassVar[None] = None
    rewards: ClassVar[Support] = REAL
    weighted: ClassVar[bool] = True

    @property
    def sub_gaussian(self) -> float:
        return float(np.sqrt(max(self.sd) ** 2 + self.noise**2))

    def init(self, trials: int) -> State:
        precision = 1.0 / np.square(self.sd)
        return {
            "mean": np.tile(np.array(self.center), (trials, 1)),
            "precision": np.tile(precision, (trials, 1)),
        }

    def update(self, state: State, seen: Observations) -> State:
        mean, precision = (np.array(state[name], np.float64) for name in ("mean", "precision"))
        total = mean * precision
        weight = np.ones(len(seen.reward)) if seen.weight is None else seen.weight
        np.add.at(total, (seen.trial, seen.arm), weight * seen.reward / self.noise**2)
        np.add.at(precision, (seen.trial, seen.arm), weight / self.noise**2)
        return {"mean": total / precision, "precision": precision}

    def beliefs(self, state: State, variance: bool = False, information: bool = True) -> Beliefs:
        mean, square = (np.asarray(state["mean"]), 1.0 / np.asarray(state["precision"]))
        gap = (mean - mean[:, ::-1]) / np.sqrt(square.sum(axis=1, keepdims=True))
        spread = np.sqrt(square.sum(axis=1, keepdims=True))
        log_density = -0.5 * gap**2 - 0.5 * np.log(2.0 * np.pi)
        # E (theta_other - theta_leader)^+, with Mills' ratio
        behind = np.abs(gap)
        mills = np.sqrt(0.5 * np.pi) * erfcx(behind / np.sqrt(2.0))
        regret = spread * np.exp(log_density) * (1.0 - behind * mills)
        delta = regret + np.maximum(mean[:, ::-1] - mean, 0.0)
        logs = np.log(square / spread) + log_density
        v = sum(np.exp(2.0 * logs - log_ndtr(side)) for side in (gap, -gap))
        h = self._information(mean, square, gap) if information else np.full_like(mean, np.nan)
        rho = (mean + delta)[:, 0]
        return Beliefs(ndtr(gap), delta, h, rho, v=v if variance else None)

    def _information(self, mean: Floats, square: Floats, gap: Floats) -> Floats:
        """Compute E sum_j alpha_j phi(u_j), phi(u) = (1 + u) log(1 + u) - u, without cancelling."""
        nodes, weights = np.polynomial.hermite_e.hermegauss(80)
        h = np.zeros_like(mean)
        for i in range(2):
            total = square[:, i] + self.noise**2
            moved = square[:, i, None] / np.sqrt(total)[:, None] * nodes
            left = square[:, i] * self.noise**2 / total + square[:, 1 - i]
            after = ((mean[:, i] - mean[:, 1 - i])[:, None] + moved) / np.sqrt(left)[:, None]
            for sign in (1.0, -1.0):  # i is best; the other arm is
                log_alpha = log_ndtr(sign * gap[:, i, None])
                log_ratio = log_ndtr(sign * after) - log_alpha
                u = np.expm1(log_ratio)
                phi = np.where(np.abs(u) < 1e-3, u * u * (0.5 - u / 6.0 + u * u / 12.0), 0.0)
                phi = np.where(np.abs(u) < 1e-3, phi, (1.0 + u) * log_ratio - u)
                h[:, i] += (np.exp(log_alpha) * phi) @ weights / weights.sum()
        return h

    def mean(self, state: State) -> Floats:
        return np.array(state["mean"])

    def quantile(self, state: State, level: float) -> Floats:
        return np.asarray(state["mean"] + ndtri(level) / np.sqrt(state["precision"]))

    def sample(self, state: State, stream: Stream) -> Floats:
        return np.asarray(state["mean"] + ndtri(stream.uniform(2)) / np.sqrt(state["precision"]))

    def check_reward(self, reward: float) -> float:
        return REAL.check(reward)


@dataclass(frozen=True, eq=False)
class GaussianWorld:
    """Gaussian rewards with means from a normal prior."""

    prior: TwoNormals | Normal

    @property
    def arms(self) -> int:
        return self.prior.arms

    def means(self, keys: Keys) -> Floats:
        return self.prior.sample(self.prior.init(keys.trials), Stream(keys, 0, "theta"))

    def outcomes(self, theta: Floats, keys: Keys, t: int, trial: Ints, arm: Ints) -> Floats:
        noise = ndtri(Stream(keys, t, "outcome").uniform(self.arms)) * self.prior.noise
        return (theta + noise)[trial, arm]
