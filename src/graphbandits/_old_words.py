"""Names of version 0.6.0 and earlier: translated in old files, an error with a hint elsewhere."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

#: Renamed parameters of plug-ins: old name to new name.
PARAMETERS = {"told": "graph_known"}
_PARAMETER = re.compile(rf"\b({'|'.join(PARAMETERS)})(?=\s*=)")


def translate_text(text: str) -> str:
    """Replace old parameter names in the text form of a plug-in.

    >>> translate_text("random(r=0.5, told=never)")
    'random(r=0.5, graph_known=never)'
    """
    return _PARAMETER.sub(lambda match: PARAMETERS[match[0]], text)


def translate_keys(values: Mapping[str, Any]) -> dict[str, Any]:
    """Replace old parameter names among the keys of a mapping.

    >>> translate_keys({"p": 0.3, "told": "after"})
    {'p': 0.3, 'graph_known': 'after'}
    """
    return {PARAMETERS.get(key, key): value for key, value in values.items()}


def translate_settings(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Replace old names in the settings of stored results.

    >>> translate_settings({"graph": "random(told=never)", "policies": {"ts": {"told": "..."}}})
    {'graph': 'random(graph_known=never)', 'policies': {'ts': {'graph_known': '...'}}}
    """
    found = dict(settings)
    if isinstance(found.get("graph"), str):
        found["graph"] = translate_text(found["graph"])
    policies = found.get("policies")
    if isinstance(policies, Mapping):
        found["policies"] = {
            name: translate_keys(facts) if isinstance(facts, Mapping) else facts
            for name, facts in policies.items()
        }
    return found


def renamed_names(module: str, names: Mapping[str, str]) -> Callable[[str], Any]:
    """Make a ``__getattr__`` for a module that raises an error with the new name for an old one.

    >>> renamed_names("graphbandits.graphs", {"Dense": "DenseFeedback"})("Dense")
    Traceback (most recent call last):
    ...
    ImportError: graphbandits.graphs.Dense was renamed: use graphbandits.graphs.DenseFeedback
    """

    def missing(name: str) -> Any:
        if name in names:
            raise ImportError(f"{module}.{name} was renamed: use {module}.{names[name]}")
        raise AttributeError(f"module '{module}' has no attribute '{name}'")

    return missing
