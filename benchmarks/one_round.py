"""Where the time of one simulated round goes, as far as public calls tell it apart."""

from __future__ import annotations

from typing import Any

import numpy as np
from display import Table, count, seconds
from machine import OPERATIONS, busy_registers
from posteriors import States, graph_of, simulated
from settings import Settings
from timing import Call, least_cpu_in_turns
from work import mean_operations

from graphbandits import Bernoulli, BetaBernoulli, as_process
from graphbandits._types import State
from graphbandits.engine.loop import check_pi, draw_graph, reveal, update_state
from graphbandits.engine.plan import BLOCK
from graphbandits.policies import Event, Problem, View
from graphbandits.posteriors import Observations
from graphbandits.registry import build
from graphbandits.rng import Keys, draw_actions
from graphbandits.rules import ids_n

#: The parts of a round, in its order; what they add up to is the round.
PARTS = ("beliefs", "gain", "rule", "draw", "reveal", "outcomes", "learn")


def measure(settings: Settings, earlier: dict[str, Any]) -> dict[str, Any]:
    """CPU of each part for each trial, the operations of the statistics, and the peak of the core,
    all in turns."""
    cases = []
    for arms in settings.round_arms:
        states = simulated(arms, BLOCK, settings.seed, settings.horizon)
        calls = calls_of_a_round(states, settings.seed) | {"peak": busy_registers}
        least = least_cpu_in_turns(calls, settings.seconds)
        peak = OPERATIONS / least.pop("peak")
        times = {name: value / BLOCK for name, value in least.items()}
        work = mean_operations(*states)
        cases.append({"arms": arms, "cpu": times, "work": work, "peak": peak})
    return {"block": BLOCK, "cases": cases}


def calls_of_a_round(states: States, seed: int) -> dict[str, Call]:
    """The calls that a round consists of, by name; ``propose`` is the first three together.

    A further entry is timed with them, and is a column of the table once it is named in PARTS.
    """
    a, b = states
    arms = a.shape[1]
    world, process = Bernoulli(BetaBernoulli.of(arms)), as_process(graph_of(arms), arms)
    posterior, policy = BetaBernoulli.of(arms), build("policy", "ids-n")
    keys = Keys(seed, 0, len(a))
    problem = Problem(posterior, None, policy.needs)
    graph = draw_graph(process, 1, keys)
    view = View(1, keys, problem, graph)
    state: State = {"a": a, "b": b}
    theta = world.means(keys)
    beliefs = posterior.beliefs(state)
    gain = graph.gain(beliefs.h)
    pi = ids_n(beliefs.alpha, beliefs.delta, beliefs.h, gain)
    action = draw_actions(pi, keys, 1)
    trial, arm = reveal(graph, action, keys, 1)
    seen = Observations(trial, arm, world.outcomes(theta, keys, 1, trial, arm))
    event = Event(1, keys, problem, graph, pi, action, seen)
    scratch: State = {name: array.copy() for name, array in state.items()}
    return {
        "beliefs": lambda: posterior.beliefs(state),
        "gain": lambda: graph.gain(beliefs.h),
        "rule": lambda: ids_n(beliefs.alpha, beliefs.delta, beliefs.h, gain),
        "draw": lambda: draw_actions(check_pi(policy, pi, view), keys, 1),
        "reveal": lambda: reveal(draw_graph(process, 1, keys), action, keys, 1),
        "outcomes": lambda: world.outcomes(theta, keys, 1, trial, arm),
        "learn": lambda: update_state(policy, scratch, event),
        "propose": lambda: policy.propose(state, view),
    }


def tables(section: dict[str, Any]) -> list[Table]:
    """Times, and their shares of the round."""
    rows = []
    for case in section["cases"]:
        parts = np.array([case["cpu"][part] for part in PARTS])
        rows.append([count(case["arms"]), *map(seconds, (*parts, parts.sum()))])
        rows.append(["share", *(f"{s:.1%}" for s in parts / parts.sum()), ""])
    note = (
        f"CPU time per trial of a block of {section['block']}, on posteriors from simulated "
        "trials. The parts alternate; minimum of several passes. draw: check pi and draw the arm. "
        "reveal: the graph, and which arms are observed. learn: update the posterior. round: the "
        "sum. All times include the overhead of Python calls."
    )
    columns = ["arms", *PARTS, "round"]
    return [Table("Where the time of one simulated round goes", columns, rows, note)]
