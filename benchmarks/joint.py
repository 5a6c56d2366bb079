"""How long the joint gain takes: ``python benchmarks/joint.py``.

Five arms in blocks of 250 trials, in microseconds a trial; many arms, in seconds.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

from graphbandits._types import State
from graphbandits.gains import joint_gain
from graphbandits.graphs import Feedback, as_process
from graphbandits.posteriors import BetaBernoulli
from graphbandits.rng import Keys

TRIALS = 250
GRAPHS = ("paper", "revealed-er(p=0.25)", "random(r=0.25)")
MANY = (("complete", 14), ("random(r=0.25)", 14), ("complete", 22))


def best_of(work: Callable[[], object], times: int = 7) -> float:
    """The shortest of several times, in seconds."""
    taken = []
    for _ in range(times):
        start = time.perf_counter()
        work()
        taken.append(time.perf_counter() - start)
    return min(taken)


def states(arms: int, trials: int) -> State:
    """Posteriors after some tens of outcomes, or for one trial after few: all can be best."""
    if trials == 1:
        return {"a": 1.0 + 0.37 * np.arange(arms)[None], "b": 2.0 - 0.05 * np.arange(arms)[None]}
    a, b = np.random.default_rng(0).integers(1, 60, (2, trials, arms)).astype(np.float64)
    return {"a": a, "b": b}


def measure(graph: Feedback, arms: int, trials: int) -> float:
    """Seconds a trial."""
    posterior, state = BetaBernoulli.of(arms), states(arms, trials)
    joint_gain(posterior, state, graph)  # compiled
    times = 7 if trials > 1 else 1
    return best_of(lambda: joint_gain(posterior, state, graph), times) / trials


def main() -> None:
    """Print all."""
    posterior, state = BetaBernoulli.of(5), states(5, TRIALS)
    posterior.beliefs(state)
    taken = best_of(lambda: posterior.beliefs(state)) / TRIALS
    print(f"beliefs, 5 arms: {1e6 * taken:.1f} us a trial")
    for text in GRAPHS:
        graph = as_process(text, 5).round(1, Keys(0, trials=TRIALS))
        print(f"joint gain, 5 arms, {text}: {1e6 * measure(graph, 5, TRIALS):.1f} us a trial")
    for text, arms in MANY:
        graph = as_process(text, arms).round(1, Keys(0))
        print(f"joint gain, {arms} arms, {text}: {measure(graph, arms, 1):.2g} s")


if __name__ == "__main__":
    main()
