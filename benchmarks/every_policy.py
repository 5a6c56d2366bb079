"""What a round of each policy costs, the policies in turns."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from display import Table, seconds
from settings import Settings
from timing import least_cpu_in_turns

from graphbandits import Bernoulli, BetaBernoulli, as_process
from graphbandits.engine import run_block
from graphbandits.engine.plan import BLOCK
from graphbandits.policies import as_policy
from graphbandits.policies.base import unmet
from graphbandits.registry import registered
from graphbandits.rng import Keys

#: A deterministic graph for all policies, and random feedback for those that can do with it.
GRAPHS = ("cliques(size=5)", "random(r=0.25)")


def measure(settings: Settings, earlier: dict[str, Any]) -> dict[str, Any]:
    """CPU of a whole round of one trial, for every enrolled policy as it is without parameters."""
    cases = []
    for arms in settings.policy_arms:
        for graph in GRAPHS:
            rounds, process = settings.policy_rounds, as_process(graph, arms)
            calls = {
                name: partial(
                    run_block,
                    as_policy(name),
                    Bernoulli(BetaBernoulli.of(arms)),
                    process,
                    rounds,
                    Keys(settings.seed, 0, BLOCK),
                    np.array([rounds]),
                )
                for name in registered("policy")
                if not unmet(as_policy(name).needs, process, rounds)
            }
            least = least_cpu_in_turns(calls, settings.seconds)
            times = {name: time / (BLOCK * rounds) for name, time in least.items()}
            cases.append({"arms": arms, "graph": graph, "cpu": times})
    return {"block": BLOCK, "rounds": settings.policy_rounds, "cases": cases}


def tables(section: dict[str, Any]) -> list[Table]:
    """A row for each policy."""
    cases = section["cases"]
    names = sorted({name for case in cases for name in case["cpu"]})
    rows = [
        [name, *(seconds(case["cpu"][name]) if name in case["cpu"] else "-" for case in cases)]
        for name in names
    ]
    return [
        Table(
            "A simulated round of every policy: CPU time",
            ["policy", *(f"{case['graph']} K={case['arms']}" for case in cases)],
            rows,
            f"Per trial, over the first {section['rounds']} rounds in a block of "
            f"{section['block']}, including the engine. The policies alternate; minimum of several "
            "passes. -: the policy needs a graph with entries 0 and 1.",
            texts=1,
        )
    ]
