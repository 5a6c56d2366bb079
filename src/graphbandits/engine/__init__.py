"""The loop: Algorithm 1 over blocks of trials."""

from graphbandits.engine.calls import as_pi, decide, learn, propose, show, start
from graphbandits.engine.loop import run_block
from graphbandits.engine.plan import Plan
from graphbandits.engine.shard import Plays, Ratios, Shard
from graphbandits.engine.tasks import Task

__all__ = [
    "Plan",
    "Plays",
    "Ratios",
    "Shard",
    "Task",
    "as_pi",
    "decide",
    "learn",
    "propose",
    "run_block",
    "show",
    "start",
]
