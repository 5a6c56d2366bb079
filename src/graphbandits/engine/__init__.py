"""The loop: Algorithm 1 over blocks of trials."""

from graphbandits.engine.loop import as_pi, decide, draw_graph, learn, propose, run_block, start
from graphbandits.engine.plan import Plan, Task
from graphbandits.engine.shard import Plays, Ratios, Shard

__all__ = [
    "Plan",
    "Plays",
    "Ratios",
    "Shard",
    "Task",
    "as_pi",
    "decide",
    "draw_graph",
    "learn",
    "propose",
    "run_block",
    "start",
]
