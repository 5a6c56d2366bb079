"""Graphs, the policies that can play on them, and runs with every event recorded."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from graphbandits import Bernoulli, BetaBernoulli
from graphbandits._types import Floats, State
from graphbandits.graphs import GraphLike, as_process
from graphbandits.policies import Event, Needs, Policy, Problem, View
from graphbandits.policies.base import unmet
from graphbandits.registry import build, registered
from graphbandits.rng import Keys
from graphbandits.simulation.loop import run_block

GRAPHS = ["revealed-er(p=0.4, directed=true)", "random(r=uniform)"]
POLICIES = list(registered("policy"))


def able(graph: GraphLike, arms: int, horizon: int) -> list[str]:
    """Return the policies whose needs this problem meets."""
    process = as_process(graph, arms)
    return [name for name in POLICIES if not unmet(build("policy", name).needs, process, horizon)]


@dataclass(frozen=True)
class Recorder:
    """Plays like ``inner`` and records every event."""

    inner: Policy
    needs: Needs
    events: list[Event] = field(default_factory=list)
    exact: ClassVar[bool] = True

    def init(self, problem: Problem, keys: Keys) -> State:
        return self.inner.init(problem, keys)

    def propose(self, state: State, view: View) -> Floats:
        return self.inner.propose(state, view)

    def update(self, state: State, event: Event) -> State:
        self.events.append(event)
        return self.inner.update(state, event)


def record(policy: str, graph: str, keys: Keys, horizon: int, arms: int | None = None):
    process = as_process(graph, arms)
    world = Bernoulli(BetaBernoulli.of(process.arms))
    inner = build("policy", policy)
    recorder = Recorder(inner, inner.needs)
    outcome = run_block(recorder, world, process, horizon, keys, np.array([horizon]))
    return recorder.events, outcome, world.means(keys)
