"""What strict statistics cost beside those of a simulation."""

from __future__ import annotations

from typing import Any

from display import Table, count, digits, seconds
from posteriors import simulated
from settings import Settings
from timing import least_cpu_in_turns

from graphbandits import BetaBernoulli
from graphbandits._types import State

POSTERIORS = 100


def measure(settings: Settings, earlier: dict[str, Any]) -> dict[str, Any]:
    """Both ways on the same posteriors, in turns."""
    cases = []
    for arms in settings.strict_arms:
        a, b = simulated(arms, POSTERIORS, settings.seed, settings.horizon)
        posterior = BetaBernoulli.of(arms)
        state: State = {"a": a, "b": b}
        calls = {
            "simulation": lambda p=posterior, s=state: p.beliefs(s),
            "strict": lambda p=posterior, s=state: p.beliefs(s, accuracy="strict"),
        }
        least = least_cpu_in_turns(calls, settings.seconds)
        cases.append({"arms": arms, **{name: value / len(a) for name, value in least.items()}})
    return {"posteriors": POSTERIORS, "cases": cases}


def tables(section: dict[str, Any]) -> list[Table]:
    """A row for each number of arms."""
    rows = [
        [
            count(case["arms"]),
            seconds(case["simulation"]),
            seconds(case["strict"]),
            digits(case["strict"] / case["simulation"]),
        ]
        for case in section["cases"]
    ]
    return [
        Table(
            "Statistics of one posterior: accuracy of a simulation and strict accuracy",
            ["arms", "beliefs(state)", 'accuracy="strict"', "ratio"],
            rows,
            f"CPU time per posterior, for {section['posteriors']} posteriors from simulated trials "
            "in one call. The two run alternately; minimum of several passes.",
        )
    ]
