"""Decisions of agents in comparable form, and copies of agents."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

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
