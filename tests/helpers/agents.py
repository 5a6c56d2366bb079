"""Decisions of agents in comparable form, and copies of agents."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from graphbandits import Agent, Decision
from graphbandits.graphs import GraphLike
from helpers.recorded_runs import able


class Clock:
    """A clock that tests advance; it may also go on with each look."""

    def __init__(self, now: float = 1e9, step: float = 0.0) -> None:
        self.now, self.step = now, step

    def __call__(self) -> float:
        self.now += self.step
        return self.now


def facts(decision: Decision) -> tuple[object, ...]:
    """Return what two agents with the same seed and outcomes have in common: all but the id."""
    return decision.number, decision.arm, decision.probability, decision.pi, decision.reveals


def whole_pi(agent: Agent, decision: Decision) -> list[float]:
    """Return the probabilities of all arms; those that a decision omits are zero."""
    assert decision.pi is not None
    assert all(p > 0.0 for p in decision.pi.values())
    return [decision.pi.get(arm, 0.0) for arm in agent.arms]


def play(agent: Agent, rounds: int) -> list[tuple[object, ...]]:
    """Decide and observe rewards from a fixed rule: two agents can be compared."""
    made = []
    for _ in range(rounds):
        decision = agent.decide()
        made.append(facts(decision))
        rewards = {arm: (len(str(arm)) + decision.number) % 3 % 2 for arm in decision.reveals}
        agent.observe(decision, rewards)
    return made


def reopened(agent: Agent, folder: Path, **options: Any) -> Agent:
    """Save an agent to a new file in a folder, and open it there."""
    place = folder / f"saved-{len(list(folder.iterdir()))}.db"
    agent.save(place)
    return Agent(store=place, name=agent.name, **options)


def rotating(graphs: Mapping[str, GraphLike], arms: int, horizon: int) -> Iterator[tuple[str, str]]:
    """Return each policy with the name of one graph that it can play on; graphs take turns."""
    fits = {name: able(graph, arms, horizon) for name, graph in graphs.items()}
    for k, policy in enumerate(sorted(set().union(*fits.values()))):
        names = [name for name in graphs if policy in fits[name]]
        yield names[k % len(names)], policy


NAMES = ["ann", "bob", "eve", "joe"]
#: Directed, with probabilities.
GRAPH = np.array(
    [
        [1.0, 0.5, 0.0, 0.0],
        [0.0, 1.0, 0.25, 0.0],
        [0.75, 0.0, 1.0, 1.0],
        [0.0, 0.0, 0.0, 1.0],
    ]
)


def events(
    agent: Agent, clock: Clock, decided: Callable[[Decision], object] = lambda _: None
) -> None:
    """Let an agent meet batches, late answers, and other graphs, arms and policies.

    Its arms are NAMES; ``decided`` gets each decision at once.
    """

    waiting: list[Any] = []

    def decide(*args: Any, **keys: Any) -> list[Any]:
        clock.now += 100.0
        made = agent.decide(*args, **keys)
        several = made if isinstance(made, list) else [made]
        for one in several:
            decided(one)
        return several

    agent.learn({"ann": (3, 4), "joe": 1})
    for one in decide(3, context={"day": 1.5, "visits": 2}):
        agent.observe(one, {one.arm: one.number % 2})
    waiting += decide(2, distinct=True)
    waiting += decide(among=["bob", "eve"])
    agent.pause("ann")
    waiting += decide()
    agent.observe(waiting[0], {waiting[0].arm: 1}, partial=True)
    agent.set_graph(GRAPH.T.copy())
    waiting += decide()
    agent.resume("ann")
    waiting += decide(graph="complete")
    agent.add_arm("kim", prior=(1, 9), edges={"ann": 1.0, "joe": 0.5})
    waiting += decide(exclude=["ann"])
    agent.retire("bob")
    other = next(arm for arm in NAMES if arm not in waiting[2].reveals)
    agent.observe(waiting[2], {waiting[2].arm: 0, other: 1}, extra=True)
    waiting += decide(4)
    for one in waiting[5:]:
        agent.observe(one, dict.fromkeys(one.reveals, one.number % 3 % 2))
    late = decide(expires=50.0)[0]
    clock.now += 60.0
    decide()
    agent.observe(late, {late.arm: 1})
    agent.close(waiting[3])
    agent.reset()
    for one in decide(2):
        agent.observe(one, {one.arm: (2, 5)})
    agent.set_policy("ids-n")
    decide()
