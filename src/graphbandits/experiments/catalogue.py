"""List what there is: policies, graphs, posteriors and experiments."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from typing import Any

from graphbandits.errors import InputError, nearest
from graphbandits.experiments.load import experiment_names, load_experiment
from graphbandits.experiments.sweeps import SweepTable
from graphbandits.registry import parameters_of, registered, summary_of

#: What can be listed, with the kind of plug-in that it is.
KINDS = {"policies": "policy", "graphs": "graph", "posteriors": "posterior", "experiments": None}


def list_available(what: str = "") -> dict[str, list[dict[str, Any]]]:
    """List policies, graphs, posteriors and experiments with their descriptions.

    Parameters
    ----------
    what
        "policies", "graphs", "posteriors" or "experiments"; all if empty.

    Returns
    -------
    dict
        For each of these a list of entries: name, description, and parameters with their defaults,
        what a policy must know, or the size of an experiment.

    Examples
    --------
    >>> list_available("policies")["policies"][0]["name"]
    'bayes-ucb'
    """
    if what and what not in KINDS:
        raise InputError(f"list shows {', '.join(KINDS)}, not '{what}': {nearest(what, KINDS)}")
    return {
        plural: _experiments() if kind is None else _plugins(kind)
        for plural, kind in KINDS.items()
        if what in ("", plural)
    }


def _plugins(kind: str) -> list[dict[str, Any]]:
    entries = []
    for name, cls in registered(kind).items():
        entry: dict[str, Any] = {
            "name": name,
            "description": summary_of(cls),
            "parameters": parameters_of(cls),
        }
        needs = getattr(cls, "needs", None)
        if kind == "policy" and needs is not None:
            entry |= {"needs": asdict(needs), "told": str(needs)}
        entries.append(entry)
    return entries


def _experiments() -> list[dict[str, Any]]:
    entries = []
    for name in experiment_names():
        experiment = load_experiment(name)
        setups = experiment.setups()
        size = {
            "arms": _range(setup.arms for setup in setups),
            "rounds": _range(setup.horizon for setup in setups),
            "trials": experiment.trials,
        }
        entries.append(
            {
                "name": name,
                "description": experiment.title,
                "size": size,
                "runs": experiment.runs,
                "sweeps": {
                    ", ".join(sweep.parameters): _points(sweep) for sweep in experiment.sweeps
                },
                "policies": experiment.lines(),
            }
        )
    return entries


def _points(sweep: SweepTable) -> list[Any]:
    """The points of a sweep: values, or a table of values for each point of several parameters.

    >>> _points(SweepTable(parameter="r", values=[0, 0.5]))
    [0, 0.5]
    >>> _points(SweepTable(list=[{"r": 0.1, "arms": 5}]))
    [{'r': 0.1, 'arms': 5}]
    """
    points = sweep.shown_points()
    return points if len(sweep.parameters) > 1 else [one for p in points for one in p.values()]


def _range(numbers: Iterable[int | None]) -> int | list[int] | None:
    """The number that all simulations have, or all there are."""
    found = list(dict.fromkeys(number for number in numbers if number is not None))
    return found if len(found) > 1 else found[0] if found else None
