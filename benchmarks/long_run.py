"""One trial for very long: whether rounds become slower, or memory grows."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from display import Table, count, digits, seconds
from processes import MEGABYTE, in_fresh_process, memory_now, peak_memory
from settings import Settings
from timing import least_wall_and_cpu

from graphbandits import Bernoulli, BetaBernoulli, as_process
from graphbandits.engine import run_block
from graphbandits.policies import Problem, View
from graphbandits.registry import build
from graphbandits.rng import Keys

#: Each arm shows itself and the next: learning takes long, and the posteriors stay apart.
GRAPH = "ring(directed=true)"
#: A window is timed in so many parts: the fastest tells what a busy machine did to the others.
TENTHS = 10
#: CPU time for the first decision, again and again.
FIRST_SECONDS = 0.2


def measure(settings: Settings, earlier: dict[str, Any]) -> dict[str, Any]:
    """A run in a process of its own, in windows of rounds."""
    given = (settings.long_arms, settings.long_rounds, settings.long_windows, settings.seed)
    return {"arms": settings.long_arms, "graph": GRAPH, **in_fresh_process(run, *given)}


def run(arms: int, rounds: int, windows: int, seed: int) -> dict[str, Any]:
    """CPU per round and memory in each window; the first decision again when all is over."""
    world, process = Bernoulli(BetaBernoulli.of(arms)), as_process(GRAPH, arms)
    policy = build("policy", "ids-n")
    ends = np.unique(np.linspace(0, rounds, windows * TENTHS + 1).astype(np.int64)[1:])
    problem = Problem(world.prior, rounds, policy.needs)
    state = policy.init(problem, Keys(seed))
    view = View(1, Keys(seed), problem, process.round(1, Keys(seed)))

    def first_decision() -> float:
        return least_wall_and_cpu(lambda: policy.propose(state, view), FIRST_SECONDS)["cpu"]

    run_block(policy, world, process, 2, Keys(seed), np.array([2]))  # compiles
    before = first_decision()
    clock = [time.process_time()]
    memory = []
    passed, looked = 0, frozenset(ends.tolist())

    def advance(more: int) -> None:
        nonlocal passed
        passed += more
        if passed in looked:
            clock.append(time.process_time())
            memory.append((memory_now(), peak_memory()))

    run_block(policy, world, process, rounds, Keys(seed), ends, advance=advance)
    spent, length = np.diff(clock), np.diff(ends, prepend=0)
    kept = []
    for part in np.array_split(np.arange(len(ends)), min(windows, len(ends))):
        now, peak = memory[part[-1]]
        kept.append(
            {
                "end": int(ends[part[-1]]),
                "cpu_per_round": float(spent[part].sum() / length[part].sum()),
                "least_cpu_per_round": float((spent[part] / length[part]).min()),
                "memory": now,
                "peak_memory": peak,
            }
        )
    return {"first_decision": {"before": before, "after": first_decision()}, "windows": kept}


def tables(section: dict[str, Any]) -> list[Table]:
    """A row for each window."""
    windows = section["windows"]
    first = section["first_decision"]
    start = windows[0]["least_cpu_per_round"]
    rows = [
        [
            count(window["end"]),
            seconds(window["cpu_per_round"]),
            seconds(window["least_cpu_per_round"]),
            digits(window["least_cpu_per_round"] / start),
            digits(window["memory"] / MEGABYTE, 4),
            digits(window["peak_memory"] / MEGABYTE, 4),
        ]
        for window in windows
    ]
    return [
        Table(
            f"One long trial of IDS-N, {section['arms']} arms",
            [
                "up to round",
                "CPU per round",
                "fastest tenth",
                "to first",
                "memory MB",
                "peak MB",
            ],
            rows,
            f"The loop of the engine with one trial on {section['graph']}, in a separate process. "
            "The cost of a round changes with the posteriors: arms that cannot be best any more "
            f"cost nothing. The first decision takes {seconds(first['before'])} before "
            f"the run and {seconds(first['after'])} after it, in the same process.",
        )
    ]
