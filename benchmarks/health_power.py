"""False alarms and power of the test in the health report of an agent.

    python benchmarks/health_power.py [--agents 1000]

All arms are observed in every round. False alarms: 5 arms, 2000 rounds. Power: 5 arms whose means
are 0.6 for the first 200 rounds; the number of further rounds until the warning.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

import numpy as np

from graphbandits.live.evidence import SequentialTest
from graphbandits.posteriors import BetaBernoulli
from graphbandits.posteriors._natural import natural_family

ARMS, BEFORE, AFTER, LONG = 5, 200, 500, 2000
LEVELS = (0.01, 0.05)
Means = Callable[[np.random.Generator], Any]


def uniform(rng: np.random.Generator) -> Any:
    return np.tile(rng.random(ARMS), (LONG, 1))


def fixed(mean: float) -> Means:
    return lambda _: np.full((LONG, ARMS), mean)


def drift(to: Any, arms: int = ARMS, first: float = 0.6) -> Means:
    """Return means that are ``first``, and then ``to`` in some arms."""

    def means(_: np.random.Generator) -> Any:
        found = np.full((BEFORE + AFTER, ARMS), first)
        found[BEFORE:, :arms] = np.broadcast_to(to, (AFTER,))[:, None]
        return found

    return means


#: Means of all arms and rounds, and the prior.
FALSE: dict[str, tuple[Means, tuple[float, float]]] = {
    "means from the prior": (uniform, (1.0, 1.0)),
    "all means 0.05": (fixed(0.05), (1.0, 1.0)),
    "all means 0.5": (fixed(0.5), (1.0, 1.0)),
    "all means 0.95": (fixed(0.95), (1.0, 1.0)),
}
POWER: dict[str, tuple[Means, tuple[float, float], int]] = {
    "all arms from 0.6 to 0.4": (drift(0.4), (1.0, 1.0), BEFORE),
    "one arm from 0.6 to 0.4": (drift(0.4, 1), (1.0, 1.0), BEFORE),
    "one arm from 0.6 to 0.8": (drift(0.8, 1), (1.0, 1.0), BEFORE),
    "all arms, slowly: 0.6 to 0.4 in 300 rounds": (
        drift(np.maximum(0.4, 0.6 - 0.2 * np.arange(AFTER) / 300)),
        (1.0, 1.0),
        BEFORE,
    ),
    "only zeros of one arm": (drift(0.0, 1), (1.0, 1.0), BEFORE),
    "only zeros of all arms": (drift(0.0), (1.0, 1.0), BEFORE),
    "only zeros of all arms, mean 0.1 before": (drift(0.0, first=0.1), (1.0, 1.0), BEFORE),
    "prior (90, 10), all means 0.6": (drift(0.6), (90.0, 10.0), 0),
}


def highest(outcomes: Any, prior: tuple[float, float], rounds: int) -> float:
    """Return the logarithm of the highest ratio in the first rounds."""
    family = natural_family(BetaBernoulli.of(ARMS, *prior))
    assert family is not None
    test = SequentialTest(family)
    reward = outcomes[:rounds].ravel()
    ones = np.ones_like(reward)
    test.add(np.tile(np.arange(ARMS), rounds), reward, ones, ones)
    return test.highest()


def first_warning(outcomes: Any, prior: tuple[float, float], level: float) -> float:
    """Return the number of rounds until the warning; infinite without one."""
    least, most = 0, len(outcomes)
    if highest(outcomes, prior, most) < -np.log(level):
        return np.inf
    while most - least > 1:
        middle = (least + most) // 2
        reached = highest(outcomes, prior, middle) >= -np.log(level)
        least, most = (least, middle) if reached else (middle, most)
    return most


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--agents", type=int, default=1000)
    agents = parser.parse_args().agents
    rng = np.random.default_rng(1)
    print(f"| {agents} agents, {ARMS} arms, {LONG} outcomes each | level 0.01 | level 0.05 |")
    print("|---|---|---|")
    for name, (means, prior) in FALSE.items():
        found = []
        for _ in range(agents):
            theta = means(rng)
            found.append(highest((rng.random(theta.shape) < theta).astype(float), prior, LONG))
        shares = (f"{(np.array(found) >= -np.log(level)).mean():.1%}" for level in LEVELS)
        print(f"| {name} | {' | '.join(shares)} |", flush=True)
    print("\n| change | level 0.01 | level 0.05 |\n|---|---|---|")
    for name, (means, prior, change) in POWER.items():
        cells = []
        theta = means(rng)
        drawn = [(rng.random(theta.shape) < theta).astype(float) for _ in range(agents // 4)]
        for level in LEVELS:
            delay = np.array([first_warning(one, prior, level) for one in drawn]) - change
            delay = delay[delay > 0]
            middle, late = np.quantile(delay, [0.5, 0.9], method="inverted_cdf")
            cells.append(f"{middle:.0f}, {late:.0f}; {np.isfinite(delay).mean():.0%}")
        print(f"| {name} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
