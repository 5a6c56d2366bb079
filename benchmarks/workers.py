"""A whole simulation with one worker and with two."""

from __future__ import annotations

import time
from typing import Any

from display import Table, digits, seconds
from settings import Settings

from graphbandits import simulate

PASSES = 3


def measure(settings: Settings, earlier: dict[str, Any]) -> dict[str, Any]:
    """Wall seconds, the least of some passes in turns."""
    least = {1: float("inf"), 2: float("inf")}
    trials, horizon = settings.worker_trials, settings.worker_rounds
    for _ in range(PASSES):
        for workers in least:
            start = time.perf_counter()
            simulate(
                "ids-n",
                graph="paper",
                horizon=horizon,
                trials=trials,
                seed=settings.seed,
                workers=workers,
                parallel="threads",
                progress=False,
            )
            least[workers] = min(least[workers], time.perf_counter() - start)
    return {"trials": trials, "rounds": horizon, "wall": {str(n): t for n, t in least.items()}}


def tables(section: dict[str, Any]) -> list[Table]:
    """A row for each number of workers."""
    alone = section["wall"]["1"]
    rows = [[n, seconds(t), digits(alone / t)] for n, t in section["wall"].items()]
    return [
        Table(
            f"{section['trials']} trials of {section['rounds']} rounds of IDS-N",
            ["workers", "wall time", "faster"],
            rows,
            f"The paper's graph, threads. The two alternate; minimum of {PASSES} passes.",
        )
    ]
