"""Reference implementations of policies: one trial, plain loops, no code of the library.

Each is created for a number of arms and rounds, decides by ``decide(t, graph)`` and learns by
``learn(t, graph, pi, action, seen, draws)``. A graph is a matrix as a list of rows, entry (i, j)
being the probability that playing i reveals j, or one number r for all other arms; ``seen`` is
{arm: reward}; ``draws`` are uniform numbers, for policies that draw. t starts at 1.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence

Graph = float | Sequence[Sequence[float]]
Pi = list[float]


def evenly(index: Sequence[float]) -> Pi:
    """Uniform over the argmax."""
    top = max(index)
    best = [i for i, value in enumerate(index) if value == top]
    return [1.0 / len(best) if i in best else 0.0 for i in range(len(index))]


def entry(graph: Graph, i: int, j: int) -> float:
    if isinstance(graph, float):
        return 1.0 if i == j else graph
    return graph[i][j]


def chance_to_see(graph: Graph, p: Sequence[float]) -> list[float]:
    """q_j = sum_i p_i G_ij, which is p_j + (1 - p_j) r under random feedback."""
    arms = len(p)
    if isinstance(graph, float):
        return [p[j] + (1.0 - p[j]) * graph for j in range(arms)]
    return [sum(p[i] * graph[i][j] for i in range(arms)) for j in range(arms)]


def through_revealers(graph: Graph, first: Sequence[float], score: Sequence[float]) -> Pi:
    """Arm i with probability first_i, then the best score among the arms that reveal i."""
    arms = len(first)
    pi = [0.0] * arms
    for i in range(arms):
        revealing = [j for j in range(arms) if entry(graph, j, i) == 1.0]
        top = max(score[j] for j in revealing)
        best = [j for j in revealing if score[j] == top]
        for j in best:
            pi[j] += first[i] / len(best)
    return pi


def largest_independent_set(matrix: Sequence[Sequence[float]]) -> int:
    """How many arms may be chosen without an edge between two of them, either way."""
    arms = len(matrix)
    return max(
        size
        for size in range(1, arms + 1)
        for some in itertools.combinations(range(arms), size)
        if all(matrix[i][j] == matrix[j][i] == 0.0 for i, j in itertools.combinations(some, 2))
    )


def quality(graph: Graph, arms: int) -> float:
    """Q of one round: alpha(G) undirected, K directed, (1 - (1-r)^K) / r and K at r = 0."""
    if isinstance(graph, float):
        return float(arms) if graph == 0.0 else (1.0 - (1.0 - graph) ** arms) / graph
    entries = [(i, j) for i in range(arms) for j in range(arms)]
    sure = all(graph[i][j] in (0.0, 1.0) for i, j in entries)
    undirected = all(graph[i][j] == graph[j][i] for i, j in entries)
    return float(largest_independent_set(graph) if sure and undirected else arms)


class Uniform:
    def __init__(self, arms: int, horizon: int) -> None:
        self.arms, self.horizon = arms, horizon

    def decide(self, t: int, graph: Graph) -> Pi:
        return [1.0 / self.arms] * self.arms

    def learn(
        self,
        t: int,
        graph: Graph,
        pi: Pi,
        action: int,
        seen: dict[int, float],
        draws: Sequence[float],
    ) -> None:
        pass


class Counting(Uniform):
    """O_i observations of arm i and their sum; its own plays only, unless ``side``."""

    side = True

    def __init__(self, arms: int, horizon: int) -> None:
        super().__init__(arms, horizon)
        self.times, self.sum, self.squares = [0] * arms, [0.0] * arms, [0.0] * arms

    def learn(self, t, graph, pi, action, seen, draws) -> None:
        for arm, reward in seen.items():
            if self.side or arm == action:
                self.times[arm] += 1
                self.sum[arm] += reward
                self.squares[arm] += reward * reward

    def mean(self, i: int) -> float:
        """0 for unobserved arms."""
        return self.sum[i] / self.times[i] if self.times[i] else 0.0

    def means(self) -> list[float]:
        return [self.mean(i) for i in range(self.arms)]

    def index(self, i: int, t: int) -> float:
        raise NotImplementedError

    def first_choice(self, t: int) -> Pi:
        return evenly([self.index(i, t) if self.times[i] else math.inf for i in range(self.arms)])

    def decide(self, t: int, graph: Graph) -> Pi:
        return self.first_choice(t)


class UCBN(Counting):
    def index(self, i: int, t: int) -> float:
        return self.mean(i) + math.sqrt(2.0 * math.log(t) / self.times[i])


class UCBMaxN(UCBN):
    def decide(self, t: int, graph: Graph) -> Pi:
        return through_revealers(graph, self.first_choice(t), self.means())


class UCB1(UCBN):
    side = False


class UCBTuned(Counting):
    side = False

    def index(self, i: int, t: int) -> float:
        n, mean = self.times[i], self.mean(i)
        v = self.squares[i] / n - mean * mean + math.sqrt(2.0 * math.log(t) / n)
        return mean + math.sqrt(min(0.25, v) * math.log(t) / n)


class MOSS(Counting):
    side = False

    def index(self, i: int, t: int) -> float:
        n = self.times[i]
        return self.mean(i) + math.sqrt(max(0.0, math.log(self.horizon / (self.arms * n))) / n)


class KLUCB(Counting):
    """max{q >= mean: N kl(mean, q) <= ln t}, by bisection."""

    side = False

    def index(self, i: int, t: int) -> float:
        n, mean = self.times[i], self.mean(i)
        low, high = mean, 1.0
        while True:
            middle = 0.5 * (low + high)
            if middle in (low, high):
                return low
            if n * self.kl(mean, middle) <= math.log(t):
                low = middle
            else:
                high = middle

    @staticmethod
    def kl(p: float, q: float) -> float:
        """KL(Bernoulli(p) || Bernoulli(q)) for q inside (0, 1)."""
        win = p * math.log(p / q) if p > 0.0 else 0.0
        loss = (1.0 - p) * math.log((1.0 - p) / (1.0 - q)) if p < 1.0 else 0.0
        return win + loss


class EpsilonGreedyLP(Counting):
    """``dominating``: graph -> z*."""

    def __init__(self, arms: int, horizon: int, dominating, c: float = 5.0, d: float = 1.0) -> None:
        super().__init__(arms, horizon)
        self.dominating, self.c, self.d = dominating, c, d

    def index(self, i: int, t: int) -> float:
        return self.mean(i)

    def decide(self, t: int, graph: Graph) -> Pi:
        z, greedy = self.dominating(graph), self.first_choice(t)
        epsilon = min(1.0, self.c * sum(z) / (self.d**2 * t))
        return [(1.0 - epsilon) * greedy[j] + epsilon * z[j] / sum(z) for j in range(self.arms)]


class UCBLP(Counting):
    """Successive elimination in phases; ``alive`` are the arms that are left."""

    def __init__(self, arms: int, horizon: int, z: Sequence[float]) -> None:
        super().__init__(arms, horizon)
        self.z, self.alive = list(z), list(range(arms))
        self.phases: list[int] = []  # n(m) of the phases that began
        self.plan = self.play()

    def decide(self, t: int, graph: Graph) -> Pi:
        return next(self.plan)

    def play(self) -> Iterator[Pi]:
        big_t, d, before = self.horizon, 1.0, 0
        last = math.floor(math.log2(big_t / math.e) / 2.0)
        for _ in range(last + 1):
            n = math.ceil(2.0 * math.log(big_t * d * d) / (d * d))
            self.phases.append(n)
            if len(self.alive) == 1:
                break
            if sum(self.z) <= len(self.alive) * d:
                times = [math.ceil(z * (n - before) - 1e-9) for z in self.z]
            else:
                times = [n - before if i in self.alive else 0 for i in range(self.arms)]
            for arm, count in enumerate(times):
                for _ in range(count):
                    yield [1.0 if i == arm else 0.0 for i in range(self.arms)]
            w = math.sqrt(math.log(big_t * d * d) / (2.0 * n))
            most = max(self.mean(j) - w for j in self.alive)
            self.alive = [i for i in self.alive if not self.mean(i) + w < most]
            d, before = d / 2.0, n
        while True:
            yield evenly([self.mean(i) if i in self.alive else -math.inf for i in range(self.arms)])


def softmax(losses: Sequence[float], eta: float) -> Pi:
    least = min(losses)
    weight = [math.exp(-eta * (loss - least)) for loss in losses]
    return [w / sum(weight) for w in weight]


class Exp3Set(Uniform):
    """``total``: the sum of Q_t over the horizon; ``eta``: given by hand, or by the formula."""

    def __init__(self, arms: int, horizon: int, total: float, eta: float | None = None) -> None:
        super().__init__(arms, horizon)
        self.eta = math.sqrt(2.0 * math.log(arms) / total) if eta is None else eta
        self.losses = [0.0] * arms

    def decide(self, t: int, graph: Graph) -> Pi:
        return softmax(self.losses, self.eta)

    def learn(self, t, graph, pi, action, seen, draws) -> None:
        q = chance_to_see(graph, pi)
        for i, reward in seen.items():
            self.losses[i] += (1.0 - reward) / q[i]


class Exp3IX(Uniform):
    def __init__(self, arms: int, horizon: int) -> None:
        super().__init__(arms, horizon)
        self.losses, self.total = [0.0] * arms, 0.0

    def step(self) -> float:
        """eta_t = gamma_t."""
        return math.sqrt(math.log(self.arms) / (self.arms + self.total))

    def decide(self, t: int, graph: Graph) -> Pi:
        return softmax(self.losses, self.step())

    def learn(self, t, graph, pi, action, seen, draws) -> None:
        o, gamma = chance_to_see(graph, pi), self.step()
        for i, reward in seen.items():
            self.losses[i] += (1.0 - reward) / (o[i] + gamma)
        self.total += sum(pi[i] / (o[i] + gamma) for i in range(self.arms))


class Exp3G(Uniform):
    """``independence``: alpha(G), or K if the graph is not fixed; others are given."""

    def __init__(
        self,
        arms: int,
        horizon: int,
        independence: int,
        gamma: float | None = None,
        eta: float | None = None,
    ) -> None:
        super().__init__(arms, horizon)
        formula = min(math.sqrt(1.0 / (independence * horizon)), 0.5)
        self.gamma = formula if gamma is None else gamma
        self.eta = 2.0 * self.gamma if eta is None else eta
        self.losses = [0.0] * arms

    def decide(self, t: int, graph: Graph) -> Pi:
        q = softmax(self.losses, self.eta)
        return [(1.0 - self.gamma) * value + self.gamma / self.arms for value in q]

    def learn(self, t, graph, pi, action, seen, draws) -> None:
        chance = chance_to_see(graph, pi)
        for i, reward in seen.items():
            self.losses[i] += (1.0 - reward) / chance[i]


class Exp3Res(Uniform):
    """The draws of a seen arm i begin at i 2K: K for coins, then K for the permutation."""

    def __init__(self, arms: int, horizon: int) -> None:
        super().__init__(arms, horizon)
        self.losses, self.total = [0.0] * arms, 0.0

    def decide(self, t: int, graph: Graph) -> Pi:
        return softmax(self.losses, math.sqrt(math.log(self.arms) / (self.arms**2 + self.total)))

    def learn(self, t, graph, pi, action, seen, draws) -> None:
        for i, reward in seen.items():
            loss = self.resampled(i, pi[i], action, seen, draws) * (1.0 - reward)
            self.losses[i] += loss
            self.total += pi[i] * loss * loss

    def resampled(
        self, i: int, p: float, action: int, seen: dict[int, float], draws: Sequence[float]
    ) -> int:
        """G_i."""
        arms, start = self.arms, 2 * self.arms * i
        sigma = [j for j in range(arms) if j not in (i, action)]
        n = len(sigma)
        for k in range(n):
            other = k + math.floor(draws[start + arms + k] * (n - k))
            sigma[k], sigma[other] = sigma[other], sigma[k]
        for k in range(1, arms - 1):
            if draws[start + k - 1] < p or sigma[k - 1] in seen:
                return k
        return arms - 1
