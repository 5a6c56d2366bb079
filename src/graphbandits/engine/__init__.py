"""Algorithm 1 over blocks of trials, and the plans, tasks and shards around it."""

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
