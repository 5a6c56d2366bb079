"""A round that breaks a statement, told so that anyone can look at it again."""

from __future__ import annotations

import shlex
from dataclasses import dataclass

from graphbandits.graphs import Feedback
from graphbandits.graphs.io.edge_lists import edges_text
from graphbandits.types import State


@dataclass(frozen=True)
class Violation:
    """The statement, where it was broken and by how much, and the command that shows the state."""

    statement: str
    text: str
    policy: str
    seed: int
    trial: int
    round: int
    value: float
    limit: float
    margin: float  # (limit - value) / limit, below 0
    replay: str
    pi: tuple[float, ...]

    def __str__(self) -> str:
        return (
            f"{self.statement} ({self.text}) does not hold: {self.value:.9g} is above "
            f"{self.limit:.9g}, for {self.policy} in round {self.round} of trial {self.trial}, "
            f"seed {self.seed}, with pi = ({', '.join(f'{p:.6g}' for p in self.pi)}); to see the "
            f"state: {self.replay}"
        )


def replay(state: State, graph: Feedback, trial: int) -> str:
    """The shell command that lays open one trial's decision, of Beta posteriors ``a``, ``b``.

    >>> import numpy as np
    >>> from graphbandits.graphs import as_process
    >>> state = {"a": np.array([[1.0, 2.5]]), "b": np.array([[3.0, 1.0]])}
    >>> replay(state, as_process("star", arms=2).feedback, 0)
    "graphbandits inspect --beta=1,3 --beta=2.5,1 --graph='edges(1-2)'"
    """
    betas = (
        f"--beta={_number(a)},{_number(b)}"
        for a, b in zip(state["a"][trial], state["b"][trial], strict=True)
    )
    graph_text = shlex.quote(edges_text(graph, trial))
    return f"graphbandits inspect {' '.join(betas)} --graph={graph_text}"


def _number(value: float) -> str:
    whole = float(value)
    return str(int(whole)) if whole.is_integer() else repr(whole)
