"""Upper confidence bounds: UCB1, UCB-N, UCB-maxN, UCB-Tuned, MOSS, KL-UCB and Bayes-UCB."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from graphbandits._types import Floats, State
from graphbandits.graphs.feedback import best_in_neighbours
from graphbandits.policies._policy_kernels import upper_bounds
from graphbandits.policies.base import Needs, Problem, View, check_range
from graphbandits.policies.bayesian import OwnOutcomePolicy
from graphbandits.policies.index import (
    IndexPolicy,
    OwnOutcomeIndexPolicy,
    counts,
    means,
    uniform_argmax,
)
from graphbandits.policies.wrappers import NoiseScaledRewards, ScaledRewards
from graphbandits.posteriors import Observations
from graphbandits.posteriors.base import check_weights
from graphbandits.registry import register
from graphbandits.rng import Keys


@dataclass(frozen=True)
class _UpperConfidence(NoiseScaledRewards, IndexPolicy):
    """Base class of policies with the index of Auer, Cesa-Bianchi and Fischer (2002)."""

    def index(self, state: State, view: View) -> Floats:
        bound: Floats = means(state) + np.sqrt(2.0 * np.log(view.t) / counts(state))
        return bound


@register("policy", "ucb1")
@dataclass(frozen=True)
class UCB1(_UpperConfidence, OwnOutcomeIndexPolicy):
    """Largest upper confidence bound, from own plays only (UCB1).

    X_i + sqrt(2 ln t / N_i), with N_i plays of arm i, of mean X_i, before round t. An arm that was
    never played comes first. Auer, Cesa-Bianchi and Fischer (2002).

    Parameters
    ----------
    reward_range : pair of float, optional
        Smallest and largest reward, which are scaled to 0 and 1; by default those of the posterior.
    noise : float, optional
        Sub-Gaussian constant of the rewards, in place of a range: the bonus is multiplied by
        2 noise.
    """


@register("policy", "ucb-n")
@dataclass(frozen=True)
class UCBN(_UpperConfidence):
    """Largest upper confidence bound, from all observations (UCB-N).

    X_i + sqrt(2 ln t / O_i), with O_i observations of arm i, of mean X_i, before round t. An arm
    that was never observed comes first. Caron, Kveton, Lelarge and Bhagat (2012).

    Parameters
    ----------
    reward_range : pair of float, optional
        Smallest and largest reward, which are scaled to 0 and 1; by default those of the posterior.
    noise : float, optional
        Sub-Gaussian constant of the rewards, in place of a range: the bonus is multiplied by
        2 noise.
    """


@register("policy", "ucb-maxn")
@dataclass(frozen=True)
class UCBMaxN(_UpperConfidence):
    """Best mean among the arms that reveal the choice of UCB-N (UCB-maxN).

    i = argmax X_i + sqrt(2 ln t / O_i), then play argmax of X_j over the arms j that reveal i
    (X_j = 0 if unobserved). These are the neighbours of i; on a directed graph its in-neighbours,
    because the aim is to observe i. Caron, Kveton, Lelarge and Bhagat (2012).

    Parameters
    ----------
    reward_range : pair of float, optional
        Smallest and largest reward, which are scaled to 0 and 1; by default those of the posterior.
    noise : float, optional
        Sub-Gaussian constant of the rewards, in place of a range: the bonus is multiplied by
        2 noise.
    """

    needs: ClassVar[Needs] = Needs(graph="before", deterministic=True)

    def propose(self, state: State, view: View) -> Floats:
        first = uniform_argmax(self.indices(state, view))
        return best_in_neighbours(view.graph, first, means(state))


@register("policy", "ucb-tuned")
@dataclass(frozen=True)
class UCBTuned(ScaledRewards, OwnOutcomeIndexPolicy):
    """Largest upper confidence bound, scaled by the variance, from own plays only (UCB-Tuned).

    X_i + sqrt(min(1/4, V_i) ln t / N_i), V_i = (variance of the N_i rewards) + sqrt(2 ln t / N_i).
    An arm that was never played comes first. Auer, Cesa-Bianchi and Fischer (2002).

    Parameters
    ----------
    reward_range : pair of float, optional
        Smallest and largest reward, which are scaled to 0 and 1; by default those of the posterior.
    """

    weighted: ClassVar[bool] = False

    def init(self, problem: Problem, keys: Keys) -> State:
        state = super().init(problem, keys)
        return state | {"squares": np.zeros((keys.trials, problem.arms))}

    def index(self, state: State, view: View) -> Floats:
        count, mean, log_t = counts(state), means(state), np.log(view.t)
        variance = np.asarray(state["squares"], np.float64) / count - mean * mean
        bound = variance + np.sqrt(2.0 * log_t / count)
        index: Floats = mean + np.sqrt(np.minimum(0.25, bound) * log_t / count)
        return index

    def learn(self, state: State, seen: Observations, problem: Problem) -> State:
        scaled = self.scaled(seen, problem)
        check_weights(scaled, self)
        squares: Floats = state["squares"]  # type: ignore[assignment]
        np.add.at(squares, (scaled.trial, scaled.arm), scaled.reward * scaled.reward)
        return super().learn(state, seen, problem)

    def check_state(self, state: State, problem: Problem) -> None:
        super().check_state(state, problem)
        most = max(reward * reward for reward in self.limits(problem))
        check_range(state, "squares", 0.0, most * np.asarray(state["count"], np.float64))


@register("policy", "moss")
@dataclass(frozen=True)
class MOSS(NoiseScaledRewards, OwnOutcomeIndexPolicy):
    """Largest upper confidence bound for a known horizon, from own plays only (MOSS).

    X_i + sqrt(max(0, ln(T / (K N_i))) / N_i) for T rounds and K arms. The bonus is zero after T/K
    plays of an arm; an arm that was never played comes first. Audibert and Bubeck (2009).

    Parameters
    ----------
    reward_range : pair of float, optional
        Smallest and largest reward, which are scaled to 0 and 1; by default those of the posterior.
    noise : float, optional
        Sub-Gaussian constant of the rewards, in place of a range: the bonus is multiplied by
        2 noise.
    """

    needs: ClassVar[Needs] = Needs(graph="never", horizon=True)

    def index(self, state: State, view: View) -> Floats:
        count = counts(state)
        share = view.problem.horizon / (view.problem.arms * count)
        bonus: Floats = np.sqrt(np.maximum(0.0, np.log(share)) / count)
        return means(state) + bonus


@register("policy", "kl-ucb")
@dataclass(frozen=True)
class KLUCB(ScaledRewards, OwnOutcomeIndexPolicy):
    """Largest Kullback-Leibler upper confidence bound, from own plays only (KL-UCB).

    max {q >= X_i: N_i kl(X_i, q) <= ln t}; kl is the divergence of Bernoulli distributions. An arm
    that was never played comes first. Garivier and Cappé (2011), without the term ln ln t.

    Parameters
    ----------
    reward_range : pair of float, optional
        Smallest and largest reward, which are scaled to 0 and 1; by default those of the posterior.
    """

    def index(self, state: State, view: View) -> Floats:
        count, mean = counts(state), means(state)
        bound = np.empty_like(mean)
        upper_bounds(count, mean, float(np.log(view.t)), bound)
        return bound


@register("policy", "bayes-ucb")
@dataclass(frozen=True)
class BayesUCB(OwnOutcomePolicy):
    """Largest posterior quantile of an increasing level, without the graph (Bayes-UCB).

    The index of an arm in round t is the posterior quantile of level 1 - 1/t of its mean; in round
    1 all are equal. The policy learns from the arms played only. Kaufmann, Cappé and Garivier
    (2012), with c = 0.
    """

    def propose(self, state: State, view: View) -> Floats:
        posterior, level = view.problem.posterior, 1.0 - 1.0 / view.t
        return uniform_argmax(posterior.quantile(view.current(state), level))
