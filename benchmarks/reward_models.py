"""What a round of each reward model costs, the models in turns."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from display import Table, seconds
from settings import Settings
from timing import least_cpu_in_turns

from graphbandits import as_process, as_world
from graphbandits.engine import run_block
from graphbandits.policies import as_policy
from graphbandits.registry import registered
from graphbandits.rng import Keys

#: Policies that need no information, all information, and its variance form.
POLICIES = ("ts-n", "ids-n", "v-ids-n")
GRAPH = "star"
#: Trials of a block; some models take milliseconds per decision.
TRIALS = 10


def measure(settings: Settings, earlier: dict[str, Any]) -> dict[str, Any]:
    """CPU of a whole round of one trial, for every registered world with its default parameters."""
    cases = []
    for arms in settings.model_arms:
        process, rounds = as_process(GRAPH, arms), settings.model_rounds
        calls = {
            (name, policy): partial(
                run_block,
                as_policy(policy),
                as_world(name, arms),
                process,
                rounds,
                Keys(settings.seed, 0, TRIALS),
                np.array([rounds]),
            )
            for name in registered("world")
            for policy in POLICIES
        }
        least = least_cpu_in_turns(calls, settings.seconds)
        for (name, policy), time in least.items():
            cpu = time / (TRIALS * rounds)
            cases.append({"arms": arms, "world": name, "policy": policy, "cpu": cpu})
    return {"trials": TRIALS, "rounds": settings.model_rounds, "graph": GRAPH, "cases": cases}


def tables(section: dict[str, Any]) -> list[Table]:
    """A row for each world; a column for each policy and number of arms."""
    cases = section["cases"]
    columns = list(dict.fromkeys((case["policy"], case["arms"]) for case in cases))
    found = {(case["world"], case["policy"], case["arms"]): case["cpu"] for case in cases}
    rows = [
        [world, *(seconds(found[world, *column]) for column in columns)]
        for world in dict.fromkeys(case["world"] for case in cases)
    ]
    return [
        Table(
            "A simulated round of every reward model: CPU time",
            ["world", *(f"{policy} K={arms}" for policy, arms in columns)],
            rows,
            f"Per trial, on the graph {section['graph']}, over the first {section['rounds']} "
            f"rounds in a block of {section['trials']}, including the engine, with the matching "
            "posterior. The models alternate; minimum of several passes.",
            texts=1,
        )
    ]
