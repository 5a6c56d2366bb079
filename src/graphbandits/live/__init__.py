"""Live decisions: an agent runs a policy in one trial, with rewards from the user.

Public names are imported on first use: a client of a service needs decisions, and no kernels.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from graphbandits.live.agent import Agent
    from graphbandits.live.decision import Decision, Explanation
    from graphbandits.live.health import Health

__all__ = ["Agent", "Decision", "Explanation", "Health"]


def __getattr__(name: str) -> Any:
    if name in __all__:
        module = "decision" if name == "Explanation" else name.lower()
        return getattr(importlib.import_module(f"graphbandits.live.{module}"), name)
    raise AttributeError(f"module 'graphbandits.live' has no attribute '{name}'")
