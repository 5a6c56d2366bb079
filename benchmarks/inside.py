"""Where the time of the statistics goes: the stages of the compiled code, one after another."""

from __future__ import annotations

from functools import partial
from typing import Any

from display import Table, count, seconds
from posteriors import simulated
from settings import Settings
from stage_kernels import ROOM, STAGES, statistics_until
from timing import least_cpu_in_turns

from graphbandits.posteriors._shape_kernels import SIMULATION

POSTERIORS = 200


def measure(settings: Settings, earlier: dict[str, Any]) -> dict[str, Any]:
    """CPU seconds of each stage for one posterior: differences of runs that stop after it."""
    cases = []
    for arms in settings.strict_arms:
        a, b = simulated(arms, POSTERIORS, settings.seed, settings.horizon)
        calls = {
            name: partial(statistics_until, a, b, SIMULATION, stage, ROOM)
            for stage, name in enumerate(STAGES)
        }
        least = least_cpu_in_turns(calls, settings.seconds)
        until = [least[name] / len(a) for name in STAGES]
        steps = [after - before for before, after in zip([0.0, *until[:-1]], until, strict=True)]
        cases.append({"arms": arms, "stages": dict(zip(STAGES, steps, strict=True))})
    return {"posteriors": POSTERIORS, "cases": cases}


def tables(section: dict[str, Any]) -> list[Table]:
    """A row for each stage, a column for each number of arms."""
    cases = section["cases"]
    rows = []
    for name in STAGES:
        row = [name]
        for case in cases:
            spent, whole = case["stages"][name], sum(case["stages"].values())
            row += [seconds(max(spent, 0.0)), f"{max(spent, 0.0) / whole:.0%}"]
        rows.append(row)
    headings = [text for case in cases for text in (f"{count(case['arms'])} arms", "share")]
    return [
        Table(
            "Inside the statistics",
            ["stage", *headings],
            rows,
            "CPU time per posterior, for posteriors from simulated trials. The time of a stage is "
            "the difference between runs that stop after it and before it. The runs alternate; "
            "minimum of several passes. alpha: running sums become F and S, which are multiplied "
            "over all arms and integrated.",
            texts=1,
        )
    ]
