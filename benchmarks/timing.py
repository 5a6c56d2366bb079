"""Times that can be compared: in turns, CPU seconds, the least of several passes."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

Call = Callable[[], Any]


def least_cpu_in_turns(calls: Mapping[str, Call], seconds: float) -> dict[str, float]:
    """The least CPU seconds of each call.

    The calls take turns, so that a machine that is busy for a while slows all of them. The first
    turn warms up and is not counted; at least two count. Within a turn a short call is repeated
    until it has had its share of the time too, and each repetition counts for itself.
    """
    for call in calls.values():
        call()
    least = dict.fromkeys(calls, np.inf)
    share = seconds / len(calls) / 3.0
    spent, turns = 0.0, 0
    while spent < seconds or turns < 2:
        for name, call in calls.items():
            mine = 0.0
            while mine == 0.0 or mine + least[name] < share:
                start = time.process_time()
                call()
                passed = time.process_time() - start
                mine += passed
                least[name] = min(least[name], passed)
            spent += mine
        turns += 1
    return {name: float(value) for name, value in least.items()}


def wall_and_cpu(call: Call) -> tuple[float, float]:
    """Wall and CPU seconds of one call."""
    wall, cpu = time.perf_counter(), time.process_time()
    call()
    return time.perf_counter() - wall, time.process_time() - cpu


def least_wall_and_cpu(call: Call, seconds: float) -> dict[str, float]:
    """The least of each over at least two calls, a first one not counted."""
    call()
    times = [wall_and_cpu(call), wall_and_cpu(call)]
    while sum(cpu for _, cpu in times) < seconds:
        times.append(wall_and_cpu(call))
    wall, cpu = np.min(times, axis=0)
    return {"wall": float(wall), "cpu": float(cpu)}


def growth_exponent(sizes: Sequence[float], times: Sequence[float]) -> float | None:
    """The slope of log time against log size by least squares; None from fewer than two sizes.

    >>> round(growth_exponent([10, 100, 1000], [2.0, 20.0, 200.0]), 12)
    1.0
    """
    if len(sizes) < 2:
        return None
    return float(np.polynomial.Polynomial.fit(np.log(sizes), np.log(times), 1).convert().coef[1])
