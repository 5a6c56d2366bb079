"""Exponential weights of estimated losses: Exp3-SET, Exp3.G, Exp3-IX and Exp3-Res."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from graphbandits._types import Floats, State
from graphbandits.errors import InputError, check_positive, check_probability
from graphbandits.policies._policy_kernels import (
    add_losses,
    exponential_weights,
    resample,
    row_ratios,
)
from graphbandits.policies.base import MAX_FLOAT, Event, Needs, Problem, View, check_range
from graphbandits.policies.wrappers import ScaledRewards
from graphbandits.posteriors.base import check_weights
from graphbandits.registry import register
from graphbandits.rng import Keys


@dataclass(frozen=True)
class ExponentialWeights(ScaledRewards):
    """Base class of policies with exponential weights of estimated losses.

    pi_i is proportional to exp(-eta L_i). L_i is the estimated loss of arm i so far, with the
    loss l = 1 - reward: L_i += l_i 1{i observed} / q_i, q = G'pi. A subclass defines :meth:`step`,
    and may override the estimate in :meth:`update`, for the event of :meth:`scaled_event`. The
    reward of the loss is scaled to [0, 1].

    Parameters
    ----------
    reward_range : pair of float, optional
        Smallest and largest reward; by default those of the posterior.
    """

    needs: ClassVar[Needs] = Needs(graph="after")
    exact: ClassVar[bool] = True
    weighted: ClassVar[bool] = False

    def init(self, problem: Problem, keys: Keys) -> State:
        return {"loss": np.zeros((keys.trials, problem.arms))}

    def step(self, state: State, problem: Problem) -> Floats:
        """Return the learning rate eta of each trial, (B,)."""
        raise NotImplementedError

    def propose(self, state: State, view: View) -> Floats:
        loss = np.asarray(state["loss"], np.float64)
        pi = np.empty_like(loss)
        exponential_weights(loss, self.step(state, view.problem), pi)
        return pi

    def update(self, state: State, event: Event) -> State:
        event = self.scaled_event(event)
        chance = event.graph.observed(event.pi)
        estimate_losses(state, event, chance, np.zeros(len(chance)))
        return state

    def scaled_event(self, event: Event) -> Event:
        """Return the event with rewards in [0, 1]; weights other than 1 are refused."""
        check_weights(event.observations, self)
        return replace(event, observations=self.scaled(event.observations, event.problem))

    def check_state(self, state: State, problem: Problem) -> None:
        check_range(state, "loss", -MAX_FLOAT, MAX_FLOAT)


def estimate_losses(state: State, event: Event, chance: Floats, extra: Floats) -> None:
    """Add l_i / (chance_i + extra) to L_i for every observed arm i."""
    seen = event.observations
    add_losses(state["loss"], chance, extra, seen.trial, seen.arm, seen.reward)  # type: ignore[arg-type]


@register("policy", "exp3-g")
@dataclass(frozen=True)
class Exp3G(ExponentialWeights):
    """Exponential weights mixed with uniform exploration (Exp3.G).

    pi = (1 - gamma) w + gamma/K, w proportional to exp(-eta L), L_i += l_i 1{i observed} / P_i,
    P = G'pi. The default gamma = min(sqrt(1/(alpha(G) T)), 1/2) and eta = 2 gamma is for strongly
    observable graphs. alpha(G) is the independence number of a fixed 0/1 graph (its best upper
    bound if the exact value takes too long), else K. Alon, Cesa-Bianchi, Dekel and Koren (2015).

    Parameters
    ----------
    gamma : float, optional
        Probability of uniform exploration, in [0, 1]. If given, the policy needs no horizon.
    eta : float, optional
        Learning rate, above 0; 2 gamma if not given.
    reward_range : pair of float, optional
        Smallest and largest reward, which are scaled to 0 and 1; by default those of the posterior.
    """

    gamma: float | None = None
    eta: float | None = None
    needs: ClassVar[Needs] = Needs(graph="after", horizon=True)

    @classmethod
    def examples(cls) -> list[Exp3G]:
        return [cls(), cls(gamma=0.1, eta=0.3)]

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.eta is not None:
            check_positive(self.eta, "exp3-g: eta")
        if self.gamma is not None:
            if check_probability(self.gamma, "exp3-g: gamma") == 0.0 and self.eta is None:
                raise InputError(
                    "exp3-g: gamma=0 without eta gives eta = 2 gamma = 0, which never learns: "
                    "set eta, or gamma above 0"
                )
            # gamma does not depend on the horizon
            object.__setattr__(self, "needs", Needs(graph="after"))

    def mixing(self, problem: Problem) -> float:
        if self.gamma is not None:
            return float(self.gamma)
        independent = problem.graphs.independence_number
        return min(math.sqrt(1.0 / (independent * problem.horizon)), 0.5)

    def step(self, state: State, problem: Problem) -> Floats:
        eta = 2.0 * self.mixing(problem) if self.eta is None else self.eta
        return np.full(len(state["loss"]), eta, np.float64)

    def propose(self, state: State, view: View) -> Floats:
        gamma = self.mixing(view.problem)
        return (1.0 - gamma) * super().propose(state, view) + gamma / view.problem.arms


@register("policy", "exp3-ix")
@dataclass(frozen=True)
class Exp3IX(ExponentialWeights):
    """Exponential weights with implicit exploration (Exp3-IX).

    L_i += l_i 1{i observed} / (o_i + gamma_t), o = G'pi, with eta_t = gamma_t =
    sqrt(ln K / (K + sum_{s<t} Q_s)) and Q_s = sum_i pi_i / (o_i + gamma_s). gamma_t biases the
    estimated losses downwards. The policy needs no horizon. A delayed observation uses the gamma_t
    of its arrival. Kocak, Neu, Valko and Munos (2014).

    Parameters
    ----------
    reward_range : pair of float, optional
        Smallest and largest reward, which are scaled to 0 and 1; by default those of the posterior.
    """

    def init(self, problem: Problem, keys: Keys) -> State:
        return super().init(problem, keys) | {"spread": np.zeros(keys.trials)}

    def step(self, state: State, problem: Problem) -> Floats:
        spread = np.asarray(state["spread"], np.float64)
        step: Floats = np.sqrt(math.log(problem.arms) / (problem.arms + spread))
        return step

    def update(self, state: State, event: Event) -> State:
        event = self.scaled_event(event)
        gamma = self.step(state, event.problem)
        chance = event.graph.observed(event.pi)
        estimate_losses(state, event, chance, gamma)
        row_ratios(event.pi, chance, gamma, state["spread"])  # type: ignore[arg-type]
        return state

    def check_state(self, state: State, problem: Problem) -> None:
        super().check_state(state, problem)
        check_range(state, "spread", 0.0, MAX_FLOAT)


@register("policy", "exp3-res")
@dataclass(frozen=True)
class Exp3Res(ExponentialWeights):
    """Exponential weights with observation probabilities estimated by resampling (Exp3-Res).

    L_i += G_i l_i for every observed arm i. G_i is the first k <= K-2 at which a draw of
    Bernoulli(pi_i) is 1 or the k-th of the other arms, in random order, was observed; otherwise
    K-1. eta_t = sqrt(ln K / (K^2 + sum_{s<t} sum_i pi_i (G_i l_i)^2)). The guarantee is for random
    feedback with r_t >= ln T / (2K - 2). Kocak, Neu and Valko (2016).

    Parameters
    ----------
    reward_range : pair of float, optional
        Smallest and largest reward, which are scaled to 0 and 1; by default those of the posterior.
    """

    needs: ClassVar[Needs] = Needs(graph="never")
    exemptions: ClassVar[dict[str, str]] = {
        "relabelling": "the random numbers of an arm depend on its number"
    }

    def init(self, problem: Problem, keys: Keys) -> State:
        return super().init(problem, keys) | {"squares": np.zeros(keys.trials)}

    def step(self, state: State, problem: Problem) -> Floats:
        squares = np.asarray(state["squares"], np.float64)
        step: Floats = np.sqrt(math.log(problem.arms) / (problem.arms**2 + squares))
        return step

    def update(self, state: State, event: Event) -> State:
        event = self.scaled_event(event)
        observed = event.observations
        seen = np.zeros(event.pi.shape, np.bool_)
        seen[observed.trial, observed.arm] = True
        stream = event.random("resampling")
        resample(
            state["loss"],  # type: ignore[arg-type]
            state["squares"],  # type: ignore[arg-type]
            event.pi,
            event.action,
            seen,
            stream.keys.key(stream.purpose),
            stream.keys.first_trial,
            event.t,
            observed.trial,
            observed.arm,
            observed.reward,
        )
        return state

    def check_state(self, state: State, problem: Problem) -> None:
        super().check_state(state, problem)
        check_range(state, "squares", 0.0, MAX_FLOAT)

    def caveat(self, arms: int, horizon: int) -> str:
        if arms < 2:
            return ""
        least = math.log(horizon) / (2 * arms - 2)
        impossible = ", which is impossible" if least > 1.0 else ""
        return (
            "the guarantee requires random feedback with r_t of at least "
            f"ln T/(2K - 2) = {least:.3f}{impossible}."
        )


@register("policy", "exp3-set")
@dataclass(frozen=True)
class Exp3SET(ExponentialWeights):
    """Exponential weights of losses divided by their probability of observation (Exp3-SET).

    L_i += l_i 1{i observed} / q_i, q = G'pi, without further exploration. The default learning rate
    is eta = sqrt(2 ln K / sum_t Q_t). Q_t is the independence number of an undirected graph, K for
    a directed graph, (1 - (1-r)^K)/r for random feedback, and its expectation for graphs that are
    drawn at random. Alon, Cesa-Bianchi, Gentile and Mansour (2013).

    Parameters
    ----------
    eta : float, optional
        Learning rate, above 0. If given, the policy needs no horizon.
    reward_range : pair of float, optional
        Smallest and largest reward, which are scaled to 0 and 1; by default those of the posterior.
    """

    eta: float | None = None
    needs: ClassVar[Needs] = Needs(graph="after", horizon=True)

    @classmethod
    def examples(cls) -> list[Exp3SET]:
        return [cls(), cls(eta=0.3)]

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.eta is not None:
            check_positive(self.eta, "exp3-set: eta")
            # eta does not depend on the horizon
            object.__setattr__(self, "needs", Needs(graph="after"))

    def step(self, state: State, problem: Problem) -> Floats:
        eta = self.eta
        if eta is None:
            total = problem.graphs.independence(problem.horizon)
            eta = math.sqrt(2.0 * math.log(problem.arms) / total)
        return np.full(len(state["loss"]), eta, np.float64)
