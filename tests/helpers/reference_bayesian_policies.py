"""Reference implementations of Bayesian policies on exact posteriors.

Priors are integers (a, b): alpha, Delta and h come from rational arithmetic.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

from scipy.special import betainc

from helpers.oracles import Beliefs, exact_beliefs
from helpers.reference_policies import Graph, Pi, Uniform, entry, evenly, through_revealers

Prior = Sequence[tuple[int, int]]


class Posterior(Uniform):
    """Beta posteriors of the played arms, and of all observations with ``side``."""

    side = True

    def __init__(self, arms: int, horizon: int, prior: Prior) -> None:
        super().__init__(arms, horizon)
        self.beta = [list(pair) for pair in prior]

    def learn(self, t, graph, pi, action, seen, draws) -> None:
        for arm, reward in seen.items():
            if self.side or arm == action:
                self.beta[arm][0 if reward == 1.0 else 1] += 1

    def means(self) -> list[float]:
        return [a / (a + b) for a, b in self.beta]

    def beliefs(self) -> Beliefs:
        return exact_beliefs([(a, b) for a, b in self.beta])

    def best_arm(self) -> list[float]:
        """alpha: how likely each arm is to be the best."""
        return [1.0] if self.arms == 1 else self.beliefs().alpha.tolist()


class Greedy(Posterior):
    def decide(self, t: int, graph: Graph) -> Pi:
        return evenly(self.means())


class TSN(Posterior):
    def decide(self, t: int, graph: Graph) -> Pi:
        return self.best_arm()


class TS(TSN):
    side = False


class TSMaxN(Posterior):
    def decide(self, t: int, graph: Graph) -> Pi:
        return through_revealers(graph, self.best_arm(), self.means())


class BayesUCB(Posterior):
    """The quantile 1 - 1/t by bisection: the first x with I_x(a, b) >= 1 - 1/t."""

    side = False

    def decide(self, t: int, graph: Graph) -> Pi:
        return evenly([self.quantile(a, b, 1.0 - 1.0 / t) for a, b in self.beta])

    @staticmethod
    def quantile(a: float, b: float, level: float) -> float:
        if level <= 0.0:
            return 0.0
        low, high = 0.0, 1.0
        while True:
            middle = 0.5 * (low + high)
            if middle in (low, high):
                return high
            if betainc(a, b, middle) < level:
                low = middle
            else:
                high = middle


def least_ratio(delta: Sequence[float], gain: Sequence[float]) -> Pi:
    """The pi of least (pi.delta)^2 / (pi.gain), by all pairs of arms; equal arms share.

    On i and j with q on j it is (d_i + q D)^2 / (g_i + q E), D = d_j - d_i and E = g_j - g_i:
    convex in q, its derivative zero where 2 D (g_i + q E) = E (d_i + q D), which is
    q = d_i / D - 2 g_i / E; outside [0, 1] the nearer end is least.
    """
    arms = len(delta)
    alike: list[list[int]] = []
    for i in range(arms):
        for group in alike:
            j = group[0]
            if math.isclose(delta[i], delta[j], rel_tol=1e-12) and math.isclose(
                gain[i], gain[j], rel_tol=1e-12
            ):
                group.append(i)
                break
        else:
            alike.append([i])
    tried = [(delta[g[0]] ** 2 / gain[g[0]], [(g, 1.0)]) for g in alike]
    for one, two in itertools.permutations(alike, 2):
        i, j = one[0], two[0]
        wider, more = delta[j] - delta[i], gain[j] - gain[i]
        if wider <= 0.0 or more <= 0.0:
            continue  # one arm is better in both, and alone as good as any mixture
        q = delta[i] / wider - 2.0 * gain[i] / more
        if 0.0 < q < 1.0:
            cost, learnt = delta[i] + q * wider, gain[i] + q * more
            tried.append((cost**2 / learnt, [(one, 1.0 - q), (two, q)]))
    pi = [0.0] * arms
    for group, share in min(tried, key=lambda case: case[0])[1]:
        for i in group:
            pi[i] = share / len(group)
    return pi


class IDSN(Posterior):
    """``informative``: h_i, or the variance of the mean that is learnt of, v_i."""

    variance = False

    def decide(self, t: int, graph: Graph) -> Pi:
        if self.arms == 1:
            return [1.0]
        beliefs = self.beliefs()
        about = self.variances(beliefs) if self.variance else beliefs.h.tolist()
        return least_ratio(beliefs.delta.tolist(), self.gain(graph, about))

    def variances(self, beliefs: Beliefs) -> list[float]:
        """v_i = sum_j alpha_j (E[theta_i | j is best] - E[theta_i])^2."""
        means, every = self.means(), range(self.arms)
        given = beliefs.conditional_means
        return [
            math.fsum(beliefs.alpha[j] * (given[j, i] - means[i]) ** 2 for j in every)
            for i in every
        ]

    def gain(self, graph: Graph, about: Sequence[float]) -> list[float]:
        every = range(self.arms)
        return [sum(entry(graph, i, j) * about[j] for j in every) for i in every]


class VIDSN(IDSN):
    variance = True


class IDS(IDSN):
    side = False

    def gain(self, graph: Graph, about: Sequence[float]) -> list[float]:
        return list(about)


class VIDS(IDS):
    variance = True
