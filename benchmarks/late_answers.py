"""Regret of an agent on the karate club when answers come late, in pieces, or not at all.

    python benchmarks/late_answers.py [--trials 100] [--policy ids-n]

The means of the 34 members are uniform. All ways of answering meet the same means and outcomes.
"""

from __future__ import annotations

import argparse
import heapq

import networkx
import numpy as np

from graphbandits import Agent, as_world
from graphbandits.rng import Keys, Stream

ROUNDS, DELAY = 300, 30


def immediate(_: bool, __: float) -> int:
    return 0


def together(_: bool, __: float) -> int:
    return DELAY


def friends_late(own: bool, _: float) -> int:
    return 0 if own else DELAY


def spread_out(_: bool, uniform: float) -> int:
    return int(uniform * (2 * DELAY + 1))


def own_only(own: bool, _: float) -> int | None:
    return 0 if own else None


#: Delay of an answer in rounds, from whether it is of the played member and a random number.
WAYS = {
    "all answers at once": immediate,
    f"all answers {DELAY} rounds later": together,
    f"own answer at once, those of friends {DELAY} rounds later": friends_late,
    f"each answer 0 to {2 * DELAY} rounds later, in pieces": spread_out,
    "own answer at once, those of friends lost": own_only,
}


def regret(way: str, trial: int, policy: str) -> float:
    """Return the regret of one trial."""
    graph = networkx.karate_club_graph()
    agent = Agent(policy, graph=graph, weight=None, seed=1, trial=trial)
    keys, arms = Keys(1, trial), len(agent.arms)
    world = as_world("bernoulli", arms)
    theta = world.means(keys)
    total, waiting = 0.0, list[tuple[int, str, int, int]]()
    for t in range(1, ROUNDS + 1):
        while waiting and waiting[0][0] < t:
            _, id_, arm, answer = heapq.heappop(waiting)
            agent.observe(id_, {arm: answer}, partial=True)
        decision = agent.decide()
        total += float(theta.max() - theta[0, int(decision.arm)])
        seen = np.array(sorted(map(int, decision.reveals)))
        answers = world.outcomes(theta, keys, t, np.zeros_like(seen), seen)
        uniform = Stream(keys, t, "delay").uniform(arms)[0]
        for arm, answer in zip(seen.tolist(), answers.tolist(), strict=True):
            delay = WAYS[way](arm == decision.arm, float(uniform[arm]))
            if delay is not None:
                heapq.heappush(waiting, (t + delay, decision.id, arm, int(answer)))
    return total


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=100)
    parser.add_argument("--policy", default="ids-n")
    options = parser.parse_args()
    print(f"| answers ({options.policy}, {ROUNDS} rounds, {options.trials} trials) | mean regret |")
    print("|---|---|")
    for way in WAYS:
        found = [regret(way, trial, options.policy) for trial in range(options.trials)]
        half = 1.96 * np.std(found, ddof=1) / np.sqrt(len(found))
        print(f"| {way} | {np.mean(found):.1f} ± {half:.1f} |", flush=True)


if __name__ == "__main__":
    main()
