"""Multi-armed bandits with graph feedback: playing an arm also reveals its neighbours.

Public names are imported on first use, which keeps ``graphbandits --help`` fast.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from graphbandits.catalogue import (
        describe_graph,
        describe_policy,
        list_available,
        new_experiment,
        new_graph,
        new_policy,
        new_posterior,
        new_world,
    )
    from graphbandits.client import Client
    from graphbandits.errors import GraphBanditsError, InputError
    from graphbandits.graphs import as_process
    from graphbandits.live import Agent, Decision, Explanation, Health
    from graphbandits.live.evaluation import Evaluation, evaluate
    from graphbandits.live.log import DecisionLog
    from graphbandits.plugins import load_plugin
    from graphbandits.posteriors import BetaBernoulli
    from graphbandits.registry import register
    from graphbandits.simulation.recommend import recommend
    from graphbandits.simulation.results import Results
    from graphbandits.simulation.run import simulate
    from graphbandits.study.experiment import load_experiment
    from graphbandits.study.run import audit_experiment, reproduce, run_experiment, save_results
    from graphbandits.study.study import Study, open_studies, open_study
    from graphbandits.testing import check_plugins
    from graphbandits.theory import inspect_decision, inspect_prior
    from graphbandits.worlds import Bernoulli, as_posterior, as_world

__version__ = "1.0.0.dev0"

#: Module of each public name.
_MODULES = {
    "Agent": "graphbandits.live",
    "Bernoulli": "graphbandits.worlds",
    "BetaBernoulli": "graphbandits.posteriors",
    "Client": "graphbandits.client",
    "Decision": "graphbandits.live",
    "DecisionLog": "graphbandits.live.log",
    "Evaluation": "graphbandits.live.evaluation",
    "Explanation": "graphbandits.live",
    "GraphBanditsError": "graphbandits.errors",
    "Health": "graphbandits.live",
    "InputError": "graphbandits.errors",
    "Results": "graphbandits.simulation.results",
    "Study": "graphbandits.study.study",
    "as_posterior": "graphbandits.worlds",
    "as_process": "graphbandits.graphs",
    "as_world": "graphbandits.worlds",
    "audit_experiment": "graphbandits.study.run",
    "check_plugins": "graphbandits.testing",
    "describe_graph": "graphbandits.catalogue",
    "describe_policy": "graphbandits.catalogue",
    "evaluate": "graphbandits.live.evaluation",
    "inspect_decision": "graphbandits.theory",
    "inspect_prior": "graphbandits.theory",
    "list_available": "graphbandits.catalogue",
    "load_experiment": "graphbandits.study.experiment",
    "load_plugin": "graphbandits.plugins",
    "new_experiment": "graphbandits.catalogue",
    "new_graph": "graphbandits.catalogue",
    "new_policy": "graphbandits.catalogue",
    "new_posterior": "graphbandits.catalogue",
    "new_world": "graphbandits.catalogue",
    "open_studies": "graphbandits.study.study",
    "open_study": "graphbandits.study.study",
    "recommend": "graphbandits.simulation.recommend",
    "register": "graphbandits.registry",
    "reproduce": "graphbandits.study.run",
    "run_experiment": "graphbandits.study.run",
    "save_results": "graphbandits.study.run",
    "simulate": "graphbandits.simulation.run",
}

__all__ = [
    "Agent",
    "Bernoulli",
    "BetaBernoulli",
    "Client",
    "Decision",
    "DecisionLog",
    "Evaluation",
    "Explanation",
    "GraphBanditsError",
    "Health",
    "InputError",
    "Results",
    "Study",
    "__version__",
    "as_posterior",
    "as_process",
    "as_world",
    "audit_experiment",
    "check_plugins",
    "describe_graph",
    "describe_policy",
    "evaluate",
    "inspect_decision",
    "inspect_prior",
    "list_available",
    "load_experiment",
    "load_plugin",
    "new_experiment",
    "new_graph",
    "new_policy",
    "new_posterior",
    "new_world",
    "open_studies",
    "open_study",
    "recommend",
    "register",
    "reproduce",
    "run_experiment",
    "save_results",
    "simulate",
]


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return getattr(importlib.import_module(_MODULES[name]), name)
    raise AttributeError(f"module 'graphbandits' has no attribute '{name}'")


def __dir__() -> list[str]:
    return __all__
