"""One trial for very long: whether rounds become slower, or memory grows."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from display import Table, count, digits, seconds
from processes import MEGABYTE, in_fresh_process, memory_now, peak_memory
from settings import Settings

from graphbandits import Bernoulli, BetaBernoulli, as_process
from graphbandits.engine import run_block
from graphbandits.registry import build
from graphbandits.rng import Keys

#: Each arm shows itself and the next: learning takes long, and the posteriors stay apart.
GRAPH = "ring(directed=true)"


def measure(settings: Settings) -> dict[str, Any]:
    """A run in a process of its own, in windows of rounds."""
    given = (settings.long_arms, settings.long_rounds, settings.long_windows, settings.seed)
    return {"arms": settings.long_arms, "graph": GRAPH, "windows": in_fresh_process(run, *given)}


def run(arms: int, rounds: int, windows: int, seed: int) -> list[dict[str, float]]:
    """CPU per round and memory at the end of each window."""
    world, process = Bernoulli(BetaBernoulli.of(arms)), as_process(GRAPH, arms)
    policy = build("policy", "ids-n")
    ends = np.unique(np.linspace(0, rounds, windows + 1).astype(np.int64)[1:])
    kept: list[dict[str, float]] = []
    run_block(policy, world, process, 2, Keys(seed), np.array([2]))  # compiles
    clock = [time.process_time()]

    def advance(passed: int) -> None:
        clock.append(time.process_time())
        kept.append(
            {
                "rounds": int(passed),
                "end": int(ends[len(kept)]),
                "cpu_per_round": (clock[-1] - clock[-2]) / passed,
                "memory": memory_now(),
                "peak_memory": peak_memory(),
            }
        )

    run_block(policy, world, process, rounds, Keys(seed), ends, advance=advance)
    return kept


def tables(section: dict[str, Any]) -> list[Table]:
    """A row for each window."""
    windows = section["windows"]
    first = windows[0]["cpu_per_round"]
    rows = [
        [
            count(window["end"]),
            seconds(window["cpu_per_round"]),
            digits(window["cpu_per_round"] / first),
            digits(window["memory"] / MEGABYTE, 4),
            digits(window["peak_memory"] / MEGABYTE, 4),
        ]
        for window in windows
    ]
    return [
        Table(
            f"One long trial of IDS-N, {section['arms']} arms",
            ["up to round", "CPU per round", "to the first", "memory MB", "peak MB"],
            rows,
            f"The engine's own loop with one trial on {section['graph']}, in a process of its own. "
            "What a round costs changes with the posteriors: arms that cannot be best any more "
            "cost nothing.",
        )
    ]
