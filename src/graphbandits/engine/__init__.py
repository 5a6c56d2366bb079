"""The loop: Algorithm 1 over blocks of trials."""

from graphbandits.engine.calls import as_pi, decide, learn, propose, show, start
from graphbandits.engine.loop import run_block
from graphbandits.engine.simulation import Plan, simulate

__all__ = ["Plan", "as_pi", "decide", "learn", "propose", "run_block", "show", "simulate", "start"]
