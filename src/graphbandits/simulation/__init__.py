"""Simulations in memory: plans, Algorithm 1 over blocks of trials, workers, results."""

from graphbandits.simulation.loop import MonitorFactory, RunMonitor, run_block
from graphbandits.simulation.plan import Plan, Task
from graphbandits.simulation.shard import Plays, Ratios, RecordedObservations, Shard, Trajectories

__all__ = [
    "MonitorFactory",
    "Plan",
    "Plays",
    "Ratios",
    "RecordedObservations",
    "RunMonitor",
    "Shard",
    "Task",
    "Trajectories",
    "run_block",
]
