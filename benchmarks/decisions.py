"""One IDS-N decision: compared with NumPy, and with very many arms."""

from __future__ import annotations

import tempfile
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from common import (
    MEGABYTE,
    Call,
    Floats,
    digits,
    distinct,
    error,
    few_different,
    fresh,
    graph_of,
    least_cpu_in_turns,
    memory,
    number,
    print_table,
    reset_peak,
    seconds,
    simulated,
    wall_and_cpu,
)

from graphbandits import Agent, BetaBernoulli, as_process
from graphbandits.graphs import Feedback, SparseFeedback, UniformFeedback
from graphbandits.policies import Problem, View, as_policy
from graphbandits.rng import Keys
from graphbandits.rules import ids_n

#: Trials of a block of ``simulate``.
BLOCK = 250
#: NumPy blocks with more rows than this do not fit into the cache, and are never the fastest.
MAX_ROWS = 5_000
#: Numbers of arms from which posteriors that are all different are tried too.
MANY = 50


# Compared with NumPy ------------------------------------------------------------------------------


def against_numpy(quick: bool) -> None:
    rows = []
    for arms in (5, 50) if quick else (5, 50, 200):
        count = min(1000, max(20, (2_500 if quick else 12_000) // arms))
        for kind, make in (("simulated", simulated), ("distinct", distinct)):
            if kind == "simulated" or arms >= MANY:
                a, b = make(arms, count)
                found = fresh(time_decisions, a, b, 0.3 if quick else 2.0)
                theirs, own, live_theirs, live_own = found
                rows.append(
                    [
                        *(number(arms), kind, seconds(theirs), seconds(own), digits(theirs / own)),
                        *(seconds(live_theirs), seconds(live_own), digits(live_theirs / live_own)),
                        *map(error, errors(a, b, 1 if quick else 3)),
                    ]
                )
    print_table(
        "One IDS-N decision: CPU time and error",
        [
            *("arms", "posteriors", "NumPy", "graphbandits", "ratio"),
            *("NumPy, live", "Agent.decide", "ratio", "error NumPy", "error graphbandits"),
        ],
        rows,
        "NumPy: a grid of 1000 points, in its fastest block of 1, 10 or 100 trials. graphbandits: "
        f"blocks of {BLOCK} trials, as in simulate. live: one decision, median; Agent.decide also "
        "checks, draws and records. Error: the largest of alpha, Delta and h. Posteriors: from "
        "simulated trials, or all arms different (distinct).",
        texts=2,
    )


def time_decisions(a: Floats, b: Floats, share: float) -> tuple[float, float, float, float]:
    """CPU per decision of NumPy and graphbandits: in simulation, and live."""
    import baseline

    baseline.keep_memory()
    arms = a.shape[1]
    graph = np.eye(arms) if graph_of(arms) == "empty" else baseline.paper_graph()
    calls: dict[Any, Call] = {
        size: partial(numpy_pass, a, b, graph, size)
        for size in baseline.BLOCKS
        if size == 1 or (size <= len(a) and size * arms <= MAX_ROWS)
    }
    calls["graphbandits"] = own_pass(a, b)
    least = least_cpu_in_turns(calls, share)
    own = least.pop("graphbandits")
    times, spent = [], 0.0
    for n in range(len(a)):
        if spent > share and n > 20:
            break
        prior = np.stack([a[n], b[n]], axis=1)
        agent = Agent("ids-n", arms=arms, graph=graph_of(arms), seed=0, prior=prior)
        theirs = wall_and_cpu(partial(baseline.decide, a[n : n + 1], b[n : n + 1], graph))[1]
        times.append((theirs, wall_and_cpu(agent.decide)[1]))
        spent += sum(times[-1])
    live = np.median(times[1:], axis=0)
    return min(least.values()) / len(a), own / len(a), float(live[0]), float(live[1])


def numpy_pass(a: Floats, b: Floats, graph: Floats, size: int) -> None:
    import baseline

    for first in range(0, len(a), size):
        baseline.decide(a[first : first + size], b[first : first + size], graph)


def own_pass(a: Floats, b: Floats) -> Call:
    """Return a call that decides for all posteriors in blocks."""
    arms = a.shape[1]
    policy, process = as_policy("ids-n"), as_process(graph_of(arms), arms)
    problem = Problem(BetaBernoulli.of(arms), None, policy.needs)
    blocks = []
    for first in range(0, len(a), BLOCK):
        part = {"a": a[first : first + BLOCK].copy(), "b": b[first : first + BLOCK].copy()}
        keys = Keys(0, first, len(part["a"]))
        blocks.append((part, View(1, keys, problem, process.round(1, keys))))

    def call() -> None:
        for part, view in blocks:
            policy.propose(part, view)

    return call


def errors(a: Floats, b: Floats, count: int) -> tuple[float, float]:
    """Largest absolute errors of NumPy and graphbandits over some posteriors."""
    import baseline

    a, b = a[:count].copy(), b[:count].copy()
    right = np.array([baseline.reference(*pair) for pair in zip(a, b, strict=True)])
    beliefs = BetaBernoulli.of(a.shape[1]).beliefs({"a": a, "b": b})
    own = (beliefs.alpha, beliefs.delta, beliefs.h)
    found = [np.abs(np.stack(one, 1) - right).max() for one in (baseline.beliefs(a, b), own)]
    return float(found[0]), float(found[1])


def strict(quick: bool) -> None:
    rows = []
    for arms in (2, 5, 50):
        a, b = simulated(arms, 100)
        posterior, state = BetaBernoulli.of(arms), {"a": a, "b": b}
        calls = {
            name: partial(posterior.beliefs, state, accuracy=name)
            for name in ("simulation", "strict")
        }
        least = least_cpu_in_turns(calls, 0.3 if quick else 2.0)
        rough, exact = least["simulation"] / len(a), least["strict"] / len(a)
        rows.append([number(arms), seconds(rough), seconds(exact), digits(exact / rough)])
    print_table(
        "Statistics with the accuracy of a simulation and strict accuracy",
        ["arms", "simulation", "strict", "ratio"],
        rows,
        "CPU time per posterior, for 100 posteriors from simulated trials in one call.",
        texts=0,
    )


# Many arms ----------------------------------------------------------------------------------------

DEGREE, RATE, DIFFERENT = 20, 0.1, 1_000
KINDS = {
    "scattered": "a and b uniform from 1 to 21",
    "uniform priors": "a and b uniform from 1 to 1.01",
    "near ties": "means 0.5 with a deviation of 0.001, a + b uniform from 10 to 1000",
}


def many_arms(quick: bool) -> None:
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for graph in ("sparse", "uniform"):
            for arms in (1_000, 10_000) if quick else (1_000, 100_000, 1_000_000):
                path = str(Path(folder, f"{arms}.npz")) if graph == "sparse" else ""
                if path:
                    fresh(save_graph, path, arms)
                times, loaded, more = fresh(decide_once, path, arms, 0.3 if quick else 2.0)
                sizes = [f"{value / MEGABYTE:.0f}" for value in (loaded, more)]
                rows.append([graph, number(arms), *map(seconds, times), *sizes])
    print_table(
        "One IDS-N decision among very many arms",
        ["graph", "arms", "beliefs", "gain", "rule", "Agent.decide", "MB loaded", "MB more"],
        rows,
        f"CPU time; at most {number(DIFFERENT)} different posteriors. sparse: directed, degree "
        f"{DEGREE}. uniform: every other arm is observed with probability {RATE:g}. MB loaded: "
        "memory of the process before the first decision. MB more: its growth in the decision.",
    )


def save_graph(path: str, arms: int) -> None:
    """Save a random directed graph with self-loops."""
    rng = np.random.default_rng(0)
    source = np.repeat(np.arange(arms), rng.poisson(DEGREE, arms))
    edge = source * arms + rng.integers(0, arms, len(source))
    row, column = np.divmod(np.union1d(edge, np.arange(arms) * (arms + 1)), arms)
    start = np.concatenate([[0], np.cumsum(np.bincount(row, minlength=arms))])
    weight = np.where(row == column, 1.0, rng.uniform(0.1, 1.0, len(row)))
    np.savez(path, start=start, column=column, weight=weight)


def decide_once(path: str, arms: int, share: float) -> tuple[list[float], float, float]:
    """CPU seconds of the parts and of Agent.decide, memory before, and its growth."""
    feedback: Feedback = UniformFeedback(RATE, arms)
    if path:
        with np.load(path) as data:
            feedback = SparseFeedback(data["start"], data["column"], data["weight"])
    a, b = few_different(arms, min(arms, DIFFERENT))
    policy, posterior, keys = as_policy("ids-n"), BetaBernoulli(a[0], b[0]), Keys(0)
    view = View(1, keys, Problem(posterior, None, policy.needs), feedback)
    state = posterior.init(1)
    warm_up = BetaBernoulli(*parameters("scattered", 1_000))
    loops = SparseFeedback(np.arange(1_001), np.arange(1_000), np.ones(1_000))
    policy.propose(warm_up.init(1), View(1, keys, Problem(warm_up, None, policy.needs), loops))
    reset_peak()
    loaded = memory()
    policy.propose(state, view)
    more = memory(peak=True) - loaded
    beliefs = posterior.beliefs(state)
    gain = feedback.gain(beliefs.h)
    agent = Agent("ids-n", graph=feedback, seed=0, prior=posterior)
    calls = {
        "beliefs": lambda: posterior.beliefs(state),
        "gain": lambda: feedback.gain(beliefs.h),
        "rule": lambda: ids_n(beliefs.alpha, beliefs.delta, beliefs.h, gain),
        "agent": agent.decide,
    }
    return list(least_cpu_in_turns(calls, share).values()), loaded, more


def different(quick: bool) -> None:
    rows = []
    for kind in KINDS:
        for arms in (100, 1_000) if quick else (100, 1_000, 10_000, 100_000):
            active, cpu, more = fresh(time_different, kind, arms, 0.1 if quick else 0.5)
            size = f"{more / MEGABYTE:.0f}"
            rows.append([kind, number(arms), number(active), seconds(cpu), size])
    kinds = "; ".join(f"{name}: {text}" for name, text in KINDS.items())
    print_table(
        "Statistics of arms whose posteriors all differ",
        ["posteriors", "arms", "can be best", "CPU", "MB"],
        rows,
        f"Minimum of several passes; {kinds}. MB: peak memory beyond the posteriors.",
    )


def parameters(kind: str, arms: int) -> Floats:
    """Parameters a and b of all arms."""
    rng = np.random.default_rng(0)
    if kind == "near ties":
        mean = rng.normal(0.5, 1e-3, arms)
        return rng.uniform(10.0, 1000.0, arms) * np.array([mean, 1.0 - mean])
    return rng.uniform(1.0, 21.0 if kind == "scattered" else 1.01, (2, arms))


def time_different(kind: str, arms: int, share: float) -> tuple[int, float, float]:
    """Arms that can be best, CPU seconds, and memory of the first call."""
    warm = BetaBernoulli(*parameters(kind, 1000))
    warm.beliefs(warm.init(1))
    posterior = BetaBernoulli(*parameters(kind, arms))
    state = posterior.init(1)
    reset_peak()
    before = memory()
    active = int((posterior.beliefs(state).alpha > 0.0).sum())
    more = memory(peak=True) - before
    return active, least_cpu_in_turns({0: lambda: posterior.beliefs(state)}, share)[0], more
