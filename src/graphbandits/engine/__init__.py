"""The loop: Algorithm 1 over blocks of trials."""

from graphbandits.engine.loop import decide, run_block
from graphbandits.engine.simulation import Plan, simulate

__all__ = ["Plan", "decide", "run_block", "simulate"]
