"""What this machine can do, measured, and how far the statistics and the gain are from it."""

from __future__ import annotations

import os
import platform
from pathlib import Path
from typing import Any

import numpy as np
from display import Table, count, digits, seconds
from machine_kernels import CHAIN, LATENCY, multiply_adds, one_after_another, triad
from settings import Settings
from timing import least_cpu_in_turns

#: Numbers in the register test: two kilobytes, at home in the nearest cache.
SMALL = 256
ROUNDS = 20_000
OPERATIONS = 2 * CHAIN * SMALL * ROUNDS
STEPS = 2_000_000
#: Multiply-adds that a core with two 256-bit units starts in a cycle.
UNITS_TIMES_LANES = 8


def cpu_model() -> str:
    """The processor by its name."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()


def cores() -> int:
    return os.cpu_count() or 1


def busy_registers() -> None:
    """OPERATIONS of the fastest kind there is."""
    multiply_adds(np.linspace(0.0, 1.0, SMALL), 0.5, ROUNDS)


def measure(settings: Settings, earlier: dict[str, Any]) -> dict[str, Any]:
    """Peak and bandwidth of one core; then what the sections before reached of them."""
    size = settings.stream_megabytes * 1_000_000 // 8
    streams = np.ones((3, size))
    calls = {
        "multiply_adds": busy_registers,
        "chain": lambda: one_after_another(0.5, 0.5, STEPS),
        "triad": lambda: triad(streams[0], streams[1], streams[2], 0.5),
    }
    least = least_cpu_in_turns(calls, settings.seconds)
    clock = LATENCY * STEPS / least["chain"]
    peak = OPERATIONS / least["multiply_adds"]
    bandwidth = streams.nbytes / least["triad"]
    return {
        "clock": clock,
        "peak": peak,
        "multiply_adds_per_cycle": peak / 2.0 / clock,
        "stream_bytes": streams.nbytes,
        "bandwidth": bandwidth,
        "reached": [*_statistics(earlier), *_gains(earlier, bandwidth)],
    }


def _statistics(earlier: dict[str, Any]) -> list[dict[str, Any]]:
    rows = []
    for case in earlier.get("round", {"cases": []})["cases"]:
        work = case["work"]["operations"]
        cpu = case["cpu"]["beliefs"]
        what = f"statistics, {count(case['arms'])} arms"
        share = work / cpu / case["peak"]  # measured in turns with them
        rows.append({"what": what, "work": work, "unit": "flop", "cpu": cpu, "share": share})
    return rows


def _gains(earlier: dict[str, Any], bandwidth: float) -> list[dict[str, Any]]:
    rows = []
    for case in earlier.get("many-arms", {"cases": []})["cases"]:
        if case["graph"] == "sparse":
            work = case["graph_bytes"] + case["vector_bytes"]
            cpu = case["cpu"]["gain"]
            what = f"sparse gain, {count(case['arms'])} arms"
            share = work / cpu / bandwidth
            rows.append({"what": what, "work": work, "unit": "byte", "cpu": cpu, "share": share})
    return rows


def tables(section: dict[str, Any]) -> list[Table]:
    """The machine, and what was reached of it."""
    per_cycle = section["multiply_adds_per_cycle"]
    machine = [
        ["clock under load", f"{digits(section['clock'] / 1e9)} GHz"],
        ["multiply-adds in registers", f"{digits(section['peak'] / 1e9)} Gflop/s"],
        ["the same for each cycle", f"{digits(per_cycle)} of {UNITS_TIMES_LANES}"],
        ["triad in memory", f"{digits(section['bandwidth'] / 1e9)} GB/s"],
    ]
    reached = [_reached_row(row) for row in section["reached"]]
    return [
        Table(
            "What one core can do",
            ["", "measured"],
            machine,
            f"Double precision. The clock is measured with a chain of dependent multiply-adds of "
            f"{LATENCY} cycles each (AMD since Zen, Intel since Skylake). Two units of four lanes "
            f"start {UNITS_TIMES_LANES} multiply-adds per cycle. A rate near that means vectorised "
            f"code in registers. The triad reads two arrays and writes one, "
            f"{section['stream_bytes'] / 3e6:.0f} MB each.",
            texts=1,
        ),
        Table(
            "Share of the peak",
            ["", "work", "CPU time", "rate", "share"],
            reached,
            "Statistics: operations per posterior of a block by the formula of benchmarks/work.py, "
            "which counts an exponential by its multiply-adds. The statistics and the peak are "
            "measured alternately. Gain: the bytes of the graph and of both vectors, each counted "
            "once.",
            texts=1,
        ),
    ]


def _reached_row(row: dict[str, Any]) -> list[str]:
    rate = digits(row["work"] / row["cpu"] / 1e9)
    if row["unit"] == "byte":
        work, rate, of = f"{digits(row['work'] / 1e6)} MB", f"{rate} GB/s", "triad"
    else:
        work, rate, of = f"{digits(row['work'] / 1e3)} kflop", f"{rate} Gflop/s", "peak"
    return [row["what"], work, seconds(row["cpu"]), rate, f"{row['share']:.0%} of {of}"]
