"""The loop: Algorithm 1 over blocks of trials."""

from graphbandits.engine.calls import decide, learn, start
from graphbandits.engine.loop import run_block
from graphbandits.engine.simulation import Plan, simulate

__all__ = ["Plan", "decide", "learn", "run_block", "simulate", "start"]
