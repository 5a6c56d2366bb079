"""Statistical properties that docs/evaluation.md, agent.md and results.md quote."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import Any, ClassVar

import networkx
import numpy as np
from common import number, print_table

from graphbandits import Agent, BetaBernoulli, DecisionLog, as_process, as_world, evaluate
from graphbandits.live.evidence import SequentialTest, natural_family
from graphbandits.policies import Event, Needs, Policy, Problem, View, as_policy
from graphbandits.rng import Keys, Stream
from graphbandits.simulation.loop import RunMonitor, run_block
from graphbandits.simulation.statistics import max_t, standard_error

# Evaluation ---------------------------------------------------------------------------------------

#: Means of five arms on a star; the first is the hub.
MEANS = np.array([0.3, 0.4, 0.5, 0.6, 0.7])
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


#: Logging policy and the evaluated policies. The probabilities of `ts-n` for bad arms approach 0.
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


def record(policy: Any, means: Any, rounds: int, trials: int) -> Recorder:
    """Run a logging policy on a star in many trials."""
    arms = len(means)
    process, world = as_process("star", arms), as_world("bernoulli", arms, means=means)
    recorder, keys = Recorder(trials, rounds, arms), Keys(1, 0, trials)
    run_block(policy, world, process, rounds, keys, np.array([rounds]), monitor=recorder)
    return recorder


def logs(run: Recorder) -> Iterator[DecisionLog]:
    """Yield the log of each trial."""
    arms = run.pi.shape[2]
    for trial in range(run.pi.shape[1]):
        rows = [
            {
                "arm": int(arm),
                "pi": dict(enumerate(pi.tolist())),
                "outcomes": {int(i): float(reward[i]) for i in np.flatnonzero(reward >= 0.0)},
            }
            for arm, pi, reward in zip(
                run.action[:, trial], run.pi[:, trial], run.reward[:, trial], strict=True
            )
        ]
        yield DecisionLog.of(rows, arms, "star")


def evaluation(quick: bool) -> None:
    sizes = {50: 10} if quick else {100: 1000, 1000: 1000, 10_000: 300}
    rows = []
    for rounds, trials in sizes.items():
        for name, (policy, targets) in LOGS.items():
            found: dict[tuple[str, str], list[tuple[float, ...]]] = {}
            for log in logs(record(policy, MEANS, rounds, trials)):
                for label, target in targets.items():
                    for method in ESTIMATORS:
                        one = evaluate(log, target, estimator=method, posterior="beta-bernoulli")
                        assert one.guaranteed is not None
                        values = one.value, *one.interval, *one.guaranteed, one.effective
                        found.setdefault((label, method), []).append(values)
            for (label, method), values in found.items():
                truth = MEANS.mean() if label == "uniform" else MEANS[targets[label]]
                rows.append([name, label, number(rounds), f"`{method}`", *cells(values, truth)])
    print_table(
        "Bias and coverage of the estimators of evaluate",
        [
            *("log", "policy", "n", "estimator", "bias ± standard error", "covered", "width"),
            *("covered, guaranteed", "width", "effective"),
        ],
        rows,
        f"Five Bernoulli arms on a star; {', '.join(map(number, sizes.values()))} logs of "
        f"{', '.join(map(number, sizes))} decisions. Intervals of the level 95 %.",
        texts=2,
    )


def cells(values: list[tuple[float, ...]], truth: float) -> list[str]:
    value, low, high, least, most, effective = np.array(values).T
    deviation = value.std(ddof=1) / np.sqrt(len(value))
    return [
        f"{value.mean() - truth:+.4f} ± {deviation:.4f}",
        f"{((low <= truth) & (truth <= high)).mean():.1%}",
        f"{(high - low).mean():.3f}",
        f"{((least <= truth) & (truth <= most)).mean():.1%}",
        f"{(most - least).mean():.3f}",
        f"{np.median(effective):.0f}",
    ]


def variance(quick: bool) -> None:
    arms, mean, rounds = 11, 0.9, 100 if quick else 1000
    run = record(as_policy("uniform"), np.full(arms, mean), rounds, 5 if quick else 50)
    matrix = as_process("star", arms).feedback.reach(np.arange(arms))
    chance = matrix.T @ np.full(arms, 1.0 / arms)
    noise, weight = mean * (1.0 - mean), 1.0 / arms / chance
    sums = matrix @ (weight * mean)  # of the inverse propensity form, given the play
    exact = {"dr": noise, "dr-side": noise * float((chance * weight**2).sum())}
    all_logs = list(logs(run))
    rows = []
    for name, formula in exact.items():
        found = [evaluate(log, "uniform", estimator=name).terms[rounds // 2 :] for log in all_logs]
        rows.append([f"`{name}`", f"{formula:.4f}", f"{np.var(found):.4f}"])
    plain = (np.nan_to_num(run.reward) / arms / chance).sum(axis=2).var()
    formula = float((matrix @ (weight**2 * noise)).mean() + sums.var())
    name = "inverse propensity with side observations (not offered)"
    rows.append([name, f"{formula:.4f}", f"{plain:.4f}"])
    print_table(
        "Variance of a term",
        ["estimator", "formula", "simulated"],
        rows,
        f"A star of {arms} arms with means of {mean:g}; uniform plays and a uniform policy.",
    )


# Health -------------------------------------------------------------------------------------------

ARMS, BEFORE, AFTER, LONG = 5, 200, 500, 2000
LEVELS = (0.01, 0.05)
#: Means of all rounds and arms.
Means = Callable[[np.random.Generator], Any]


def fixed(mean: float) -> Means:
    return lambda _: np.full((LONG, ARMS), mean)


def drift(to: Any, arms: int = ARMS, first: float = 0.6) -> Means:
    """Return means that are ``first``, and then ``to`` in some arms."""

    def means(_: np.random.Generator) -> Any:
        found = np.full((BEFORE + AFTER, ARMS), first)
        found[BEFORE:, :arms] = np.broadcast_to(to, (AFTER,))[:, None]
        return found

    return means


FALSE: dict[str, Means] = {
    "means from the prior": lambda rng: np.tile(rng.random(ARMS), (LONG, 1)),
    "all means 0.05": fixed(0.05),
    "all means 0.5": fixed(0.5),
    "all means 0.95": fixed(0.95),
}
#: Means, prior and the round of the change.
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


def health(quick: bool) -> None:
    agents = 8 if quick else 1000
    rng = np.random.default_rng(1)

    def outcomes(means: Means) -> Any:
        theta = means(rng)
        return (rng.random(theta.shape) < theta).astype(float)

    rows = []
    for name, means in FALSE.items():
        found = np.array([highest(outcomes(means), (1.0, 1.0), LONG) for _ in range(agents)])
        rows.append([name, *(f"{(found >= -np.log(level)).mean():.1%}" for level in LEVELS)])
    columns = [f"level {level:g}" for level in LEVELS]
    print_table(
        "False warnings of the health report",
        ["means", *columns],
        rows,
        f"{number(agents)} agents, {ARMS} Bernoulli arms, {number(LONG)} outcomes each.",
    )
    rows = []
    for name, (means, prior, change) in POWER.items():
        drawn = [outcomes(means) for _ in range(agents // 4)]
        line = [name]
        for level in LEVELS:
            delay = np.array([first_warning(one, prior, level) for one in drawn]) - change
            delay = delay[delay > 0]
            middle, late = np.quantile(delay, [0.5, 0.9], method="inverted_cdf")
            line.append(f"{middle:.0f}, {late:.0f}; {np.isfinite(delay).mean():.0%}")
        rows.append(line)
    print_table(
        "Power of the health report",
        ["change", *columns],
        rows,
        f"Median and 90 % quantile of the outcomes of each arm until the warning, and the share of "
        f"agents with a warning within {AFTER}; {agents // 4} agents.",
    )


def highest(outcomes: Any, prior: tuple[float, float], rounds: int) -> float:
    """Return the logarithm of the highest ratio in the first rounds."""
    family = natural_family(BetaBernoulli.of(ARMS, *prior))
    assert family is not None
    test, reward = SequentialTest(family), outcomes[:rounds].ravel()
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


# Late answers -------------------------------------------------------------------------------------

DELAY = 30
#: Delay of an answer in rounds, from whether it is of the played member and a random number.
WAYS: dict[str, Callable[[bool, float], int | None]] = {
    "all at once": lambda own, uniform: 0,
    f"all {DELAY} decisions later": lambda own, uniform: DELAY,
    f"own answer at once, those of friends {DELAY} decisions later": (
        lambda own, uniform: 0 if own else DELAY
    ),
    f"each answer 0 to {2 * DELAY} decisions later, in pieces": (
        lambda own, uniform: int(uniform * (2 * DELAY + 1))
    ),
    "own answer at once, those of friends lost": lambda own, uniform: 0 if own else None,
}


def late_answers(quick: bool) -> None:
    trials, rounds = (3, 50) if quick else (100, 300)
    rows = []
    for way, delay_of in WAYS.items():
        found = [regret(delay_of, trial, rounds) for trial in range(trials)]
        half = 1.96 * np.std(found, ddof=1) / np.sqrt(trials)
        rows.append([way, f"{np.mean(found):.1f} ± {half:.1f}"])
    print_table(
        "Regret of ids-n with late answers",
        ["answers", "mean regret"],
        rows,
        f"The karate club of 34 members, {rounds} decisions, {trials} trials with uniform means.",
    )


def regret(delay_of: Callable[[bool, float], int | None], trial: int, rounds: int) -> float:
    """Return the regret of one trial; means and outcomes are the same for all delays."""
    agent = Agent("ids-n", graph=networkx.karate_club_graph(), weight=None, seed=1, trial=trial)
    keys, arms = Keys(1, trial), len(agent.arms)
    world = as_world("bernoulli", arms)
    theta = world.means(keys)
    total, waiting = 0.0, list[tuple[int, str, int, int]]()
    for t in range(1, rounds + 1):
        while waiting and waiting[0][0] < t:
            _, id_, arm, answer = heapq.heappop(waiting)
            agent.observe(id_, {arm: answer}, partial=True)
        decision = agent.decide()
        total += float(theta.max() - theta[0, int(decision.arm)])
        seen = np.array(sorted(map(int, decision.reveals)))
        rewards = world.outcomes(theta, keys, t, np.zeros_like(seen), seen)
        uniform = Stream(keys, t, "delay").uniform(arms)[0]
        for arm, answer in zip(seen.tolist(), rewards.tolist(), strict=True):
            delay = delay_of(arm == decision.arm, float(uniform[arm]))
            if delay is not None:
                heapq.heappush(waiting, (t + delay, decision.id, arm, int(answer)))
    return total


# Simultaneous intervals ---------------------------------------------------------------------------


def intervals(quick: bool) -> None:
    experiments, confidence, policies = (20 if quick else 10_000), 0.9, 4
    generator = np.random.default_rng(0)
    first, second = np.array(list(combinations(range(policies), 2))).T
    rows = []
    for trials in (10, 20, 50, 200):
        held = 0
        for _ in range(experiments):
            final = generator.normal(size=(trials, policies))
            paired = final[:, first] - final[:, second]
            t = np.abs(paired.mean(axis=0)) / standard_error(paired)
            held += bool((t <= max_t(paired, confidence)).all())
        share = held / experiments
        deviation = np.sqrt(share * (1.0 - share) / experiments)
        rows.append([number(trials), f"{share:.1%}", f"{deviation:.1%}"])
    print_table(
        "Coverage of simultaneous intervals",
        ["trials", "covered", "standard error"],
        rows,
        f"All pairs of {policies} normal policies, nominal {confidence:.0%}.",
        texts=0,
    )
