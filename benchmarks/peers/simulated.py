"""``simulate`` of graphbandits on the worlds of the peers: all trials in one call.

The outcomes are those that the peers meet, so that the regret of a trial can be compared with
theirs.
"""

from __future__ import annotations

import json
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from peer_worlds import Worlds
from worker import peak_memory


@dataclass(frozen=True, eq=False)
class Recorded:
    """A world of graphbandits that reads means and outcomes instead of drawing them."""

    prior: Any
    theta: Any
    recorded: Any

    @property
    def arms(self) -> int:
        """Number of arms."""
        return int(self.theta.shape[1])

    def means(self, keys: Any) -> Any:
        """Means of the trials of a block."""
        return self.theta[keys.first_trial : keys.first_trial + keys.trials].copy()

    def outcomes(self, theta: Any, keys: Any, t: int, trial: Any, arm: Any) -> Any:
        """Outcomes of pairs of trial and arm in a round."""
        return self.recorded[keys.first_trial + trial, t - 1, arm].astype(np.float64)


def run(task: dict[str, Any]) -> dict[str, Any]:
    """Regret of every trial, and the CPU time per decision of the whole call."""
    before = time.process_time()
    from graphbandits import simulate
    from graphbandits.posteriors import BetaBernoulli

    imported = time.process_time() - before
    worlds = Worlds.read(Path(task["worlds"]))
    trials = min(task["trials"], worlds.trials)
    recorded = Recorded(
        BetaBernoulli.of(worlds.arms),
        np.array([worlds.means(trial) for trial in range(trials)]),
        np.array([worlds.outcomes(trial) for trial in range(trials)]),
    )
    matrix = np.zeros((worlds.arms, worlds.arms))
    for arm, revealed in enumerate(task["neighbours"]):
        matrix[arm, revealed] = 1.0

    def simulated(rounds: int) -> Any:
        policy, seed = task["adapter"].split("/")[1], task["seed"]
        return simulate(
            policy, recorded, matrix, horizon=rounds, trials=trials, seed=seed, progress=False
        )

    simulated(2)
    first = time.process_time()
    results = simulated(worlds.rounds)
    cpu = (time.process_time() - first) / (trials * worlds.rounds)
    return {
        "regrets": final_regrets(results),
        "cpus": [cpu],
        "unfinished": None,
        "loop": 0.0,
        "import": imported,
        "first": first,
        "peak": peak_memory(),
    }


def final_regrets(results: Any) -> list[float]:
    """Regret after the last round, trial by trial."""
    (policy,) = results.policies.values()
    return [float(value) for value in policy.final]


def main() -> None:
    task = json.loads(Path(sys.argv[1]).read_text())
    Path(sys.argv[2]).write_text(json.dumps(run(task)))


if __name__ == "__main__":
    main()
