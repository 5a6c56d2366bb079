"""What one core of this machine can do: fused multiply-adds in registers, and a memory triad."""

from __future__ import annotations

from graphbandits._jit import REDUCTIONS, kernel
from graphbandits._types import Floats

#: Multiply-adds of one element: long enough to hide its load, short enough that several elements
#: are under way at once.
CHAIN = 16
#: Cycles from the start of a multiply-add to its result, on AMD since Zen and Intel since Skylake.
LATENCY = 4


@kernel(fastmath=REDUCTIONS)
def multiply_adds(x: Floats, slope: float, rounds: int) -> float:
    """``rounds * x.size`` independent chains of CHAIN multiply-adds, and one addition each."""
    total = 0.0
    for _ in range(rounds):
        for i in range(x.size):
            v = x[i]
            y = v
            for _step in range(CHAIN):
                y = y * slope + v
            total += y
    return total


@kernel(fastmath={"contract"})
def one_after_another(start: float, slope: float, count: int) -> float:
    """``count`` multiply-adds, each waiting for the one before: LATENCY cycles each, so that
    their time gives the clock."""
    y = start
    for _ in range(count):
        y = y * slope + start
    return y


@kernel()
def triad(out: Floats, x: Floats, y: Floats, factor: float) -> None:
    """out = x + factor y: two streams read, one written."""
    for i in range(out.size):
        out[i] = x[i] + factor * y[i]
