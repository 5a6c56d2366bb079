"""Multi-armed bandits with graph feedback: playing an arm also reveals its neighbours.

Public names are imported on first use, which keeps ``graphbandits --help`` fast.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from graphbandits._version import __version__

if TYPE_CHECKING:
    from graphbandits.client import Client
    from graphbandits.errors import GraphBanditsError, InputError
    from graphbandits.experiments import (
        Study,
        load_experiment,
        open_studies,
        open_study,
        reproduce,
        run_experiment,
        save_results,
    )
    from graphbandits.experiments.catalogue import (
        describe_policy,
        list_available,
        new_experiment,
        new_graph,
        new_policy,
        new_posterior,
        new_world,
    )
    from graphbandits.experiments.experiment_audit import audit_experiment
    from graphbandits.experiments.graph_description import describe_graph
    from graphbandits.experiments.recommend import recommend
    from graphbandits.graphs import as_process
    from graphbandits.live import Agent, Decision, Explanation, Health
    from graphbandits.live.evaluation import Evaluation, evaluate
    from graphbandits.live.log import DecisionLog
    from graphbandits.plugins import load_plugin
    from graphbandits.posteriors import BetaBernoulli
    from graphbandits.registry import register
    from graphbandits.results import Results
    from graphbandits.store import simulate
    from graphbandits.testing import check_plugins
    from graphbandits.theory import inspect_decision, inspect_prior
    from graphbandits.worlds import Bernoulli, as_posterior, as_world

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
    "Results": "graphbandits.results",
    "Study": "graphbandits.experiments",
    "as_posterior": "graphbandits.worlds",
    "as_process": "graphbandits.graphs",
    "as_world": "graphbandits.worlds",
    "audit_experiment": "graphbandits.experiments.experiment_audit",
    "check_plugins": "graphbandits.testing",
    "describe_graph": "graphbandits.experiments.graph_description",
    "describe_policy": "graphbandits.experiments.catalogue",
    "evaluate": "graphbandits.live.evaluation",
    "inspect_decision": "graphbandits.theory",
    "inspect_prior": "graphbandits.theory",
    "list_available": "graphbandits.experiments.catalogue",
    "load_experiment": "graphbandits.experiments",
    "load_plugin": "graphbandits.plugins",
    "new_experiment": "graphbandits.experiments.catalogue",
    "new_graph": "graphbandits.experiments.catalogue",
    "new_policy": "graphbandits.experiments.catalogue",
    "new_posterior": "graphbandits.experiments.catalogue",
    "new_world": "graphbandits.experiments.catalogue",
    "open_studies": "graphbandits.experiments",
    "open_study": "graphbandits.experiments",
    "recommend": "graphbandits.experiments.recommend",
    "register": "graphbandits.registry",
    "reproduce": "graphbandits.experiments",
    "run_experiment": "graphbandits.experiments",
    "save_results": "graphbandits.experiments",
    "simulate": "graphbandits.store",
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
