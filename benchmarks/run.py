"""``make bench``: CPU per IDS-N decision, ours against the NumPy baseline, in one run.

Both decide on the same posteriors, collected from simulated trials of IDS-N on the paper's graph
(or the empty graph for other numbers of arms), in turns, so that a busy machine slows both. Times
are the least over many passes; only ratios are meant to be compared between machines. The baseline
is shown as it runs by itself, and with an allocator that keeps freed memory, which suits it.
"""

from __future__ import annotations

import argparse
import time

import baseline
import numpy as np
from baseline import Floats
from rich.console import Console
from rich.table import Table

from graphbandits import Agent, Bernoulli, BetaBernoulli, simulate
from graphbandits.graphs import as_process
from graphbandits.policies import Event, Problem, View
from graphbandits.posteriors import Observations
from graphbandits.registry import build
from graphbandits.rng import Keys, draw_actions


def collect_states(
    arms: int, graph: str, trials: int = 20, horizon: int = 1000
) -> tuple[Floats, Floats]:
    """Posteriors of every tenth round of ``trials`` trials of IDS-N, in random order."""
    process, world = as_process(graph, arms), Bernoulli(BetaBernoulli.of(arms))
    policy = build("policy", "ids-n")
    keys = Keys(0, 0, trials)
    problem = Problem(world.prior, horizon, policy.needs)
    state, theta = policy.init(problem, keys), world.means(keys)
    a, b = [], []
    for t in range(1, horizon + 1):
        if t % 10 == 1:
            a.append(state["a"].copy())
            b.append(state["b"].copy())
        feedback = process.round(t, keys)
        pi = policy.propose(state, View(t, keys, problem, feedback))
        action = draw_actions(pi, keys, t)
        trial, arm = feedback.reveal(action, keys, t)
        seen = Observations(trial, arm, world.outcomes(theta, keys, t, trial, arm))
        state = policy.update(state, Event(t, keys, problem, feedback, pi, action, seen))
    order = np.random.default_rng(0).permutation(trials * len(a))
    return np.concatenate(a)[order], np.concatenate(b)[order]


def ours_per_decision(
    states: tuple[Floats, Floats], arms: int, graph: str, block: int, seconds: float
) -> float:
    """CPU seconds per ``propose`` of IDS-N over the given posteriors, in blocks."""
    a, b = states
    policy, process = build("policy", "ids-n"), as_process(graph, arms)
    problem = Problem(BetaBernoulli.of(arms), None, policy.needs)
    blocks = []
    for first in range(0, len(a), block):
        part = {"a": a[first : first + block].copy(), "b": b[first : first + block].copy()}
        keys = Keys(0, first, len(part["a"]))
        blocks.append((part, View(1, keys, problem, process.round(1, keys))))
    best, spent = np.inf, 0.0
    policy.propose(*blocks[0])
    while spent < seconds:
        start = time.process_time()
        for part, view in blocks:
            policy.propose(part, view)
        passed = time.process_time() - start
        best, spent = min(best, passed / len(a)), spent + passed
    return best


def live_decision(arms: int, graph: str, decisions: int = 2000) -> float:
    """Median wall seconds of ``Agent.decide``, with what it draws and keeps."""
    agent = Agent("ids-n", arms=arms, graph=graph, seed=0)
    rng = np.random.default_rng(0)
    times = []
    for _ in range(decisions):
        start = time.perf_counter()
        decision = agent.decide()
        times.append(time.perf_counter() - start)
        agent.observe(decision, {arm: int(rng.random() < 0.5) for arm in decision.reveals})
    return float(np.median(times))


def simulation(workers: int) -> float:
    """Wall seconds of 400 trials of IDS-N on the paper's graph, the best of three."""
    times = []
    for _ in range(3):
        start = time.perf_counter()
        simulate("ids-n", graph="paper", horizon=1000, trials=400, workers=workers, progress=False)
        times.append(time.perf_counter() - start)
    return min(times)


def measure(arms: int, seconds: float) -> tuple[float, float]:
    """CPU seconds per decision of the baseline and of this library, the best block of each."""
    graph = "paper" if arms == 5 else "empty"
    states = collect_states(arms, graph)
    matrix = baseline.paper_graph() if arms == 5 else np.eye(arms)
    theirs = mine = np.inf
    for block in baseline.BLOCKS:
        share = seconds / len(baseline.BLOCKS)
        theirs = min(theirs, baseline.cpu_per_decision(states, matrix, block, share))
        mine = min(mine, ours_per_decision(states, arms, graph, block, share))
    return theirs, mine


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--arms", type=int, nargs="+", default=[5, 10])
    parser.add_argument("--seconds", type=float, default=2.0, help="CPU time for each cell")
    options = parser.parse_args()
    console = Console()
    for arms in options.arms:
        live = live_decision(arms, "paper" if arms == 5 else "empty")
        console.print(f"A live decision among {arms} arms: {live * 1e6:.0f} microseconds (median).")
    table = Table(title="CPU per IDS-N decision, microseconds (best block size)")
    for column in ("NumPy runs", "arms", "NumPy grid", "graphbandits", "ratio"):
        table.add_column(column, justify="right")
    for memory in ("as it is", "with memory kept"):
        if memory != "as it is":
            baseline.keep_memory()
        for arms in options.arms:
            theirs, mine = measure(arms, options.seconds)
            cells = f"{theirs * 1e6:.0f}", f"{mine * 1e6:.2f}", f"{theirs / mine:.0f}"
            table.add_row(memory, str(arms), *cells)
    console.print(table)
    one, two = (simulation(workers) for workers in (1, 2))
    console.print(f"400 trials of 1000 rounds: {one:.1f} s with 1 worker, {two:.1f} s with 2.")


if __name__ == "__main__":
    main()
