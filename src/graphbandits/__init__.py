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

#: Public names of each module.
_NAMES = {
    "catalogue": [
        "describe_graph",
        "describe_policy",
        "list_available",
        "new_experiment",
        "new_graph",
        "new_policy",
        "new_posterior",
        "new_world",
    ],
    "client": ["Client"],
    "errors": ["GraphBanditsError", "InputError"],
    "graphs": ["as_process"],
    "live": ["Agent", "Decision", "Explanation", "Health"],
    "live.evaluation": ["Evaluation", "evaluate"],
    "live.log": ["DecisionLog"],
    "plugins": ["load_plugin"],
    "posteriors": ["BetaBernoulli"],
    "registry": ["register"],
    "simulation.recommend": ["recommend"],
    "simulation.results": ["Results"],
    "simulation.run": ["simulate"],
    "study.experiment": ["load_experiment"],
    "study.run": ["audit_experiment", "reproduce", "run_experiment", "save_results"],
    "study.study": ["Study", "open_studies", "open_study"],
    "testing": ["check_plugins"],
    "theory": ["inspect_decision", "inspect_prior"],
    "worlds": ["Bernoulli", "as_posterior", "as_world"],
}
_MODULES = {name: module for module, names in _NAMES.items() for name in names}

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
        return getattr(importlib.import_module(f"{__name__}.{_MODULES[name]}"), name)
    raise AttributeError(f"module 'graphbandits' has no attribute '{name}'")


def __dir__() -> list[str]:
    return __all__
