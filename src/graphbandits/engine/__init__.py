"""Run Algorithm 1 over blocks of trials: plans, tasks, shards and executors."""

from graphbandits.engine.loop import RunMonitor, run_block
from graphbandits.engine.plan import Plan, Task
from graphbandits.engine.shard import Plays, Ratios, Shard

__all__ = [
    "Plan",
    "Plays",
    "Ratios",
    "RunMonitor",
    "Shard",
    "Task",
    "run_block",
]
