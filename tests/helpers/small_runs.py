"""Settings of a small simulation, and the source of a plug-in that plays one arm."""

from __future__ import annotations

from typing import Any

SMALL_RUN: dict[str, Any] = {
    "graph": "paper",
    "horizon": 20,
    "trials": 6,
    "seed": 3,
    "progress": False,
}
PLUGIN_SOURCE = '''
from dataclasses import dataclass
from typing import ClassVar
import numpy as np
from graphbandits.policies import Needs
from graphbandits.registry import register

@register("policy", "edited")
@dataclass(frozen=True)
class Edited:
    """Plays one arm."""
    labels: tuple = ()
    cap: float = 1.0
    needs: ClassVar[Needs] = Needs()
    exact: ClassVar[bool] = True
    def init(self, problem, keys):
        return {"least": np.full((keys.trials, problem.arms), np.inf)}
    def propose(self, state, view):
        pi = np.zeros((view.keys.trials, view.problem.arms))
        pi[:, ARM] = 1.0
        return pi
    def update(self, state, event):
        return state
'''
