"""Bias of the estimators of `evaluate`, and coverage of their 95 % intervals, on simulated logs.

    python benchmarks/evaluation_coverage.py [--trials 1000] [--long-trials 300] [--variance]

Five Bernoulli arms on a star, with the means 0.3 (the hub), 0.4, 0.5, 0.6 and 0.7. A log is of
uniform plays, of `ts-n` mixed with a floor of 10 % uniform plays, or of `ts-n` alone. The policies
that are evaluated are the uniform distribution, and the arm with the mean 0.6; for logs of `ts-n`
alone the best arm, because the probabilities of the others come close to 0. `--variance` prints the
variance of a term on a star of 11 arms instead.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from graphbandits import DecisionLog, as_process, as_world, evaluate
from graphbandits.engine.loop import RunMonitor, run_block
from graphbandits.live._log_import import pack_origin
from graphbandits.live._log_table import log_table
from graphbandits.policies import Event, Needs, Policy, Problem, View, as_policy
from graphbandits.rng import Keys

MEANS = np.array([0.3, 0.4, 0.5, 0.6, 0.7])
SIZES = (100, 1000, 10_000)
ESTIMATORS = ("ips", "snips", "dr", "dr-side")


@dataclass(frozen=True)
class Floored:
    """`ts-n` mixed with uniform plays."""

    floor: float = 0.1
    needs: ClassVar[Needs] = Needs(graph="never")
    exact: ClassVar[bool] = True
    base: ClassVar[Policy] = as_policy("ts-n")

    def init(self, problem: Problem, keys: Keys) -> Any:
        return self.base.init(problem, keys)

    def propose(self, state: Any, view: View) -> Any:
        pi = self.base.propose(state, view)
        return (1.0 - self.floor) * pi + self.floor / pi.shape[1]

    def update(self, state: Any, event: Event) -> Any:
        return self.base.update(state, event)


#: Logging policy, and the evaluated policies.
LOGS: dict[str, tuple[Any, dict[str, Any]]] = {
    "uniform": (as_policy("uniform"), {"uniform": "uniform", "arm 0.6": 3}),
    "floor 10 %": (Floored(), {"uniform": "uniform", "arm 0.6": 3}),
    "`ts-n`": (as_policy("ts-n"), {"best arm": 4}),
}


class Recorder(RunMonitor):
    """Probabilities, plays and outcomes of all trials."""

    def __init__(self, trials: int, rounds: int, arms: int) -> None:
        self.pi = np.empty((rounds, trials, arms))
        self.action = np.empty((rounds, trials), np.int64)
        self.reward = np.full((rounds, trials, arms), np.nan)

    def decided(self, t: int, graph: Any, pi: Any) -> None:
        self.pi[t - 1] = pi

    def played(self, t: int, action: Any) -> None:
        self.action[t - 1] = action

    def observed(self, t: int, seen: Any) -> None:
        self.reward[t - 1, seen.trial, seen.arm] = seen.reward


def simulated(
    policy: Any, graph: Any, means: Any, rounds: int, trials: int, seed: int = 1
) -> Recorder:
    """Run a logging policy in many trials."""
    arms = len(means)
    process, world = as_process(graph, arms), as_world("bernoulli", arms, means=means)
    recorder = Recorder(trials, rounds, arms)
    keys, last = Keys(seed, 0, trials), np.array([rounds])
    run_block(policy, world, process, rounds, keys, last, monitor=recorder)
    return recorder


def logs(run: Recorder, graph: Any, rounds: int) -> Iterator[DecisionLog]:
    """Yield the log of each trial, up to a round."""
    arms = run.pi.shape[2]
    process = as_process(graph, arms)
    matrix = process.feedback.reach(np.arange(arms))
    reveals = [(np.flatnonzero(row), row[row > 0.0]) for row in matrix]
    everything, number = np.arange(arms), np.arange(1, rounds + 1)
    for trial in range(run.pi.shape[1]):
        action, pi = run.action[:rounds, trial], run.pi[:rounds, trial]
        reward = run.reward[:rounds, trial]
        row, arm = np.nonzero(~np.isnan(reward))
        plain = {
            "id": list(map(str, number)),
            "number": number,
            "time": number.astype(float),
            "arm": action,
            "probability": pi[number - 1, action],
            "policy": [None] * rounds,
            "context": [None] * rounds,
            "arms": np.full(rounds, arms),
            "graph": np.zeros(rounds, np.int64),
            "round": number,
            "entry": 2 * number,
        }
        lists = {
            "pi": [(everything, one) for one in pi],
            "reveals": [reveals[one] for one in action],
            "eligible": [None] * rounds,
        }
        entry = 2 * row + 3
        flags = np.zeros(len(row), np.bool_)
        columns = (row, arm, reward[row, arm], np.ones(len(row)), row + 1.0, flags, flags, entry)
        outcomes = list(zip(*(column.tolist() for column in columns), strict=True))
        closed = {i: (float(i + 1), "observed", 2 * i + 3) for i in range(rounds)}
        table = log_table(tuple(range(arms)), plain, lists, outcomes, closed)
        yield DecisionLog(table, pack_origin(tuple(range(arms)), process))


def study(name: str, rounds: int, trials: int) -> None:
    """Print the rows of the table for one kind of log and one number of decisions."""
    policy, targets = LOGS[name]
    run = simulated(policy, "star", MEANS, rounds, trials)
    found: dict[tuple[str, str], list[tuple[float, ...]]] = {}
    for log in logs(run, "star", rounds):
        for label, target in targets.items():
            for estimator in ESTIMATORS:
                one = evaluate(log, target, estimator=estimator, posterior="beta-bernoulli")
                assert one.guaranteed is not None
                numbers = one.value, *one.interval, *one.guaranteed, one.effective
                found.setdefault((label, estimator), []).append(numbers)
    for (label, estimator), rows in found.items():
        target = targets[label]
        truth = MEANS.mean() if target == "uniform" else MEANS[target]
        value, low, high, least, most, effective = np.array(rows).T
        error = value.std(ddof=1) / np.sqrt(trials)
        covered = ((low <= truth) & (truth <= high)).mean()
        safe = ((least <= truth) & (truth <= most)).mean()
        print(
            f"| {name} | {label} | {rounds:,} | {estimator} | {value.mean() - truth:+.4f} ± "
            f"{error:.4f} | {covered:.1%} | {(high - low).mean():.3f} | {safe:.1%} | "
            f"{(most - least).mean():.3f} | {np.median(effective):.0f} |",
            flush=True,
        )


def variance(trials: int) -> None:
    """Print the variance of a term on a star of 11 arms, with uniform plays and means of 0.9."""
    arms, mean, rounds = 11, 0.9, 1000
    run = simulated(as_policy("uniform"), "star", np.full(arms, mean), rounds, trials)
    matrix = as_process("star", arms).feedback.reach(np.arange(arms))
    chance = matrix.T @ np.full(arms, 1.0 / arms)
    noise, weight = mean * (1.0 - mean), 1.0 / arms / chance
    sums = matrix @ (weight * mean)  # of the inverse propensity form, given the play
    exact = {
        "dr": noise,
        "dr-side": noise * float((chance * weight**2).sum()),
        "plain": float((matrix @ (weight**2 * noise)).mean() + sums.var()),
    }
    seen = np.where(np.isnan(run.reward), 0.0, run.reward)
    plain = (seen / arms / chance).sum(axis=2)
    terms = {
        name: np.array(
            [
                evaluate(log, "uniform", estimator=name).terms[rounds // 2 :]
                for log in logs(run, "star", rounds)
            ]
        )
        for name in ("dr", "dr-side")
    }
    print("| estimator | formula | simulated |")
    print("|---|---|---|")
    for name, found in terms.items():
        print(f"| `{name}` | {exact[name]:.4f} | {found.var():.4f} |")
    name = "inverse propensity with side observations (not offered)"
    print(f"| {name} | {exact['plain']:.4f} | {plain.var():.4f} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=1000)
    parser.add_argument("--long-trials", type=int, default=300, help="for 10,000 decisions")
    parser.add_argument("--variance", action="store_true")
    options = parser.parse_args()
    if options.variance:
        variance(min(options.trials, 50))
        return
    print(
        "| log | policy | n | estimator | bias | covered | width | covered, guaranteed | width | "
        "effective |"
    )
    print("|---|---|---|---|---|---|---|---|---|---|")
    for rounds in SIZES:
        for name in LOGS:
            study(name, rounds, options.trials if rounds <= 1000 else options.long_trials)


if __name__ == "__main__":
    main()
