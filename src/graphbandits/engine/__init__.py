"""Run Algorithm 1 over blocks of trials: plans, tasks, shards and executors."""

from graphbandits.engine.loop import MonitorFactory, RunMonitor, run_block
from graphbandits.engine.plan import Plan, Task
from graphbandits.engine.shard import Plays, Ratios, Shard
from graphbandits.engine.trajectories import RecordedObservations, Trajectories

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
