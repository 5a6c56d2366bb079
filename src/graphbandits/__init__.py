"""Bandits where playing one arm also shows you its neighbours.

The names below are loaded when they are first used, so that ``graphbandits --help`` is quick.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from graphbandits.version import __version__

if TYPE_CHECKING:
    from graphbandits.engine import simulate
    from graphbandits.graphs import as_process
    from graphbandits.live import Agent, Decision
    from graphbandits.plugins import load_plugin
    from graphbandits.posteriors import BetaBernoulli
    from graphbandits.results import Results
    from graphbandits.studies import open_studies, open_study
    from graphbandits.worlds import Bernoulli

_HOMES = {
    "Agent": "graphbandits.live",
    "Decision": "graphbandits.live",
    "simulate": "graphbandits.engine",
    "as_process": "graphbandits.graphs",
    "load_plugin": "graphbandits.plugins",
    "BetaBernoulli": "graphbandits.posteriors",
    "Results": "graphbandits.results",
    "open_studies": "graphbandits.studies",
    "open_study": "graphbandits.studies",
    "Bernoulli": "graphbandits.worlds",
}

__all__ = [
    "Agent",
    "Bernoulli",
    "BetaBernoulli",
    "Decision",
    "Results",
    "__version__",
    "as_process",
    "load_plugin",
    "open_studies",
    "open_study",
    "simulate",
]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(importlib.import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'graphbandits' has no attribute '{name}'")


def __dir__() -> list[str]:
    return __all__
