"""List what there is (policies, graphs, posteriors, experiments), and write starting files."""

from __future__ import annotations

import keyword
import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from graphbandits._io import check_name, write_new
from graphbandits.errors import InputError, nearest
from graphbandits.experiments._texts import file_part
from graphbandits.experiments.experiment import experiment_names, load_experiment
from graphbandits.experiments.tables import SweepTable
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
        plural: list(map(_experiment, experiment_names())) if kind is None else _plugins(kind)
        for plural, kind in KINDS.items()
        if what in ("", plural)
    }


def _plugins(kind: str) -> list[dict[str, Any]]:
    entries = []
    for name, cls in registered(kind).items():
        entry = {"name": name, "description": summary_of(cls), "parameters": parameters_of(cls)}
        needs = getattr(cls, "needs", None)
        if kind == "policy" and needs is not None:
            entry |= {"needs": asdict(needs), "graph_known": str(needs)}
        entries.append(entry)
    return entries


def _experiment(name: str) -> dict[str, Any]:
    experiment = load_experiment(name)
    setups = experiment.setups()
    return {
        "name": name,
        "description": experiment.title,
        "size": {
            "arms": _range(setup.arms for setup in setups),
            "rounds": _range(setup.horizon for setup in setups),
            "trials": experiment.trials,
        },
        "runs": experiment.runs,
        "sweeps": {", ".join(sweep.parameters): _points(sweep) for sweep in experiment.sweeps},
        "policies": experiment.lines(),
    }


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


def new_policy(name: str, output: str | Path | None = None) -> Path:
    """Write a commented policy that works and passes the contract.

    Parameters
    ----------
    name
        Its name in texts, such as "my-ucb".
    output
        The file to write; named after the policy, in the working directory, if not given.

    Returns
    -------
    Path
        The file; one that exists is not replaced.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     new_policy("my-ucb", Path(folder, "my_ucb.py")).name
    'my_ucb.py'
    """
    words = [word for word in re.split(r"[-_.]+", name) if word]
    if not re.fullmatch(r"[a-z][a-z0-9_.\-]*", name) or not words:
        raise InputError(
            f"a policy's name has small letters, digits and '-', and begins with a letter, such "
            f"as my-ucb; not '{name}'"
        )
    if name in registered("policy"):
        raise InputError(f"there is a policy '{name}' already: choose another name")
    stem, class_name = "_".join(words), "".join(word.capitalize() for word in words)
    if keyword.iskeyword(class_name):
        class_name += "Policy"
    if keyword.iskeyword(stem) or _is_taken(stem):
        stem += "_policy"  # a file named like a module would be imported in its place
    target = Path(f"{stem}.py") if output is None else Path(output)
    return _write(target, "policy_template.txt", {"NAME": name, "CLASS": class_name})


def new_experiment(name: str = "my-experiment", output: str | Path | None = None) -> Path:
    """Write a commented experiment that runs in seconds and shows every key.

    ``name`` becomes its title, and names the file in the working directory if ``output`` is not
    given. A file that exists is not replaced.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     new_experiment("my-study", Path(folder, "my-study.toml")).name
    'my-study.toml'
    """
    if not name or file_part(name) != name:
        raise InputError(
            f"an experiment's name has letters, digits, points and signs, such as "
            f"{file_part(name) or 'my-study'}; not '{name}'"
        )
    if name in experiment_names():
        raise InputError(f"there is an experiment '{name}' already: choose another name")
    target = Path(f"{name}.toml") if output is None else Path(output)
    return _write(target, "experiment_template.txt", {"NAME": name})


def _write(target: Path, template: str, names: Mapping[str, str]) -> Path:
    """Write a template with names in it; a file that exists is left alone."""
    text = files(__package__).joinpath(template).read_text("utf-8")
    for key, name in names.items():
        text = text.replace(f"@@{key}@@", name)
    if os.path.lexists(target):
        raise InputError(f"{target} exists: choose another name with --output")
    check_name(target)
    if not write_new(target, text.encode()):
        raise InputError(f"{target} exists: choose another name with --output")
    return target


def _is_taken(stem: str) -> bool:
    """Whether a module of this name comes from elsewhere than here."""
    try:
        spec = find_spec(stem)
    except ValueError:  # a module that was made in another way than by import
        return False
    return spec is not None and Path(spec.origin or "").parent != Path.cwd()
