"""How long a run will take and how much room it needs, from a short run of each policy."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass, replace

from graphbandits.engine.recorder import run_recorded
from graphbandits.rng import Keys
from graphbandits.store import Store
from graphbandits.studies.runner import Part, missing

#: The size of the short run.
TRIALS, ROUNDS = 20, 50
#: Bytes of a number as it is; and of a shard around its numbers, about.
NUMBER, AROUND = 8, 3000


@dataclass(frozen=True)
class Pace:
    """Of one policy: seconds of a decision, bytes of a recorded number once it is packed."""

    seconds: float
    bytes: float


@dataclass(frozen=True)
class Estimate:
    """Of what is missing: seconds of one worker; bytes, and the most that they can be."""

    seconds: float
    bytes: float
    most_bytes: float


def estimate(parts: Iterable[Part], store: Store | None = None) -> Estimate:
    """The work and the room of the trials that a store lacks, of all trials without one.

    A policy is tried once for all cells of as many arms and of the same kind of graph.
    """
    paces: dict[tuple[object, ...], Pace] = {}
    seconds = room = most = 0.0
    for part in parts:
        lacking = sum(trials for _, trials in missing(store, part))
        if not lacking:
            continue
        plan = part.plan
        alike = part.policy, plan.world.arms, type(plan.process), plan.recording.ratios
        if alike not in paces:
            paces[alike] = measure(part)
        pace = paces[alike]
        numbers = lacking * len(plan.recording.rounds) * (5 if plan.recording.ratios else 1)
        # the arms that a trial has played, and how often
        plays = 2.0 * lacking * min(plan.world.arms, plan.horizon)
        around = AROUND * max(1.0, lacking / 250.0)
        seconds += pace.seconds * lacking * plan.horizon
        room += pace.bytes * (numbers + plays) + around
        most += NUMBER * (numbers + plays) + around
    return Estimate(seconds, room, most)


def measure(part: Part) -> Pace:
    """Play some rounds of some trials; what is compiled the first time does not count."""
    plan = part.plan
    keys = Keys(plan.seed, plan.first_trial, min(TRIALS, part.trials))
    horizon = min(ROUNDS, plan.horizon)
    recording = replace(plan.recording, rounds=tuple(range(1, horizon + 1)))
    policy = plan.policies[part.policy]
    for _ in range(2):
        start = time.perf_counter()
        shard = run_recorded(policy, plan.world, plan.process, horizon, keys, recording)
        spent = time.perf_counter() - start
    numbers = keys.trials * horizon * (5 if recording.ratios else 1)
    packed = max(0, len(shard.to_parquet({})) - AROUND)
    return Pace(spent / (keys.trials * horizon), min(NUMBER, packed / numbers))
