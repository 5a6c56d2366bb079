"""List plug-ins and experiments, and create files from templates."""

from __future__ import annotations

import inspect
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
from graphbandits.experiments._texts import file_name_part
from graphbandits.experiments.experiment import experiment_names, load_experiment
from graphbandits.experiments.tables import SweepTable
from graphbandits.policies import Policy, as_policy
from graphbandits.policies.base import with_inner
from graphbandits.policies.bayesian import PosteriorPolicy
from graphbandits.registry import (
    name_of,
    parameters_of,
    registered,
    summary_of,
    text_of,
    text_parameters,
)

#: What can be listed, with the kind of plug-in.
KINDS = {
    "policies": "policy",
    "graphs": "graph",
    "worlds": "world",
    "posteriors": "posterior",
    "experiments": None,
}
#: Example of a name of each kind of plug-in.
NAMES = {"policy": "my-ucb", "graph": "my-path", "world": "my-world", "posterior": "my-normal"}


def list_available(what: str = "") -> dict[str, list[dict[str, Any]]]:
    """List policies, graphs, worlds, posteriors and experiments with their descriptions.

    Parameters
    ----------
    what
        "policies", "graphs", "worlds", "posteriors" or "experiments". If empty, list all of them.

    Returns
    -------
    dict
        A list of entries for each of these. An entry has a name and a description. Plug-ins also
        have parameters with their defaults, policies have their needs, and experiments have a size.

    Raises
    ------
    InputError
        If ``what`` is unknown.

    Examples
    --------
    >>> list_available("policies")["policies"][0]["name"]
    'bayes-ucb'
    """
    if what and what not in KINDS:
        raise InputError(f"unknown list '{what}': {nearest(what, KINDS)}")
    return {
        plural: list(map(_experiment_entry, experiment_names()))
        if kind is None
        else _plugin_entries(kind)
        for plural, kind in KINDS.items()
        if what in ("", plural)
    }


def _plugin_entries(kind: str) -> list[dict[str, Any]]:
    entries = []
    for name, cls in registered(kind).items():
        entry = {"name": name, "description": summary_of(cls), "parameters": parameters_of(cls)}
        needs = getattr(cls, "needs", None)
        if kind == "policy" and needs is None:  # it depends on the parameters: those of the default
            needs = getattr(as_policy(name), "needs", None)
        if kind == "policy" and needs is not None:
            entry |= {"needs": asdict(needs), "graph_known": str(needs)}
        entries.append(entry)
    return entries


def describe_policy(policy: str | Policy) -> dict[str, Any]:
    """Describe a policy: its parameters, what it needs, and what it declares.

    Parameters
    ----------
    policy
        Text form such as "ids-n" or "eps-greedy-lp(c=2)", or a policy.

    Returns
    -------
    dict
        ``name``, ``text``, ``description``; ``details``, the rest of its documentation with its
        source; ``parameters``, each with ``name``, ``value``, ``default`` and ``description``;
        ``needs`` and ``graph_known``, the same in words; ``exact``, ``posterior``, ``weighted``,
        ``incremental`` and ``restrictable`` (see :class:`graphbandits.policies.Policy`);
        ``accepts``, the accepted rewards in words, None for all; and ``file``.

    Raises
    ------
    InputError
        If there is no such policy.

    Examples
    --------
    >>> found = describe_policy("eps-greedy-lp(c=2)")
    >>> [(one["name"], one["value"], one["default"]) for one in found["parameters"]]
    [('c', 2, 5.0), ('d', 1.0, 1.0)]
    """
    made = as_policy(policy)
    cls = type(made)
    accepts = getattr(made, "accepts", None)
    texts, details = _documented(cls)
    defaults = parameters_of(cls)
    given = text_parameters(made)
    return {
        "name": name_of(made),
        "text": text_of(made),
        "description": summary_of(cls),
        "details": details,
        "parameters": [
            {
                "name": name,
                "value": given.get(name, default),
                "default": default,
                "description": texts.get(name, ""),
            }
            for name, default in defaults.items()
        ],
        "needs": asdict(made.needs),
        "graph_known": str(made.needs),
        "exact": made.exact,
        "posterior": isinstance(with_inner(made)[-1], PosteriorPolicy),
        "weighted": bool(getattr(made, "weighted", False)),
        "incremental": bool(getattr(made, "incremental", False)),
        "restrictable": bool(getattr(made, "restrictable", True)),
        "accepts": None if accepts is None else accepts.description,
        "file": inspect.getsourcefile(cls),
    }


def _documented(cls: type) -> tuple[dict[str, str], str]:
    """Return the descriptions of parameters in a docstring, and its text without its summary."""
    parts = re.split(r"\n(\w[\w ]*)\n-{3,}\n", "\n" + (inspect.getdoc(cls) or ""))
    sections = dict(zip(parts[1::2], parts[2::2], strict=True))
    found = {}
    for block in re.split(r"\n(?=\S)", sections.get("Parameters", "").strip()):
        head, _, text = block.partition("\n")
        for name in head.split(" : ")[0].split(", "):
            found[name] = " ".join(text.replace("``", "").split())
    _, _, details = parts[0].strip().partition("\n\n")
    return found, " ".join(details.replace("``", "").split())


def _experiment_entry(name: str) -> dict[str, Any]:
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
    """Return the points of a sweep: values, or one dict per point for several parameters.

    >>> _points(SweepTable(parameter="r", values=[0, 0.5]))
    [0, 0.5]
    >>> _points(SweepTable(list=[{"r": 0.1, "arms": 5}]))
    [{'r': 0.1, 'arms': 5}]
    """
    points = sweep.display_points()
    return points if len(sweep.parameters) > 1 else [one for p in points for one in p.values()]


def _range(numbers: Iterable[int | None]) -> int | list[int] | None:
    """Return the common number of all simulations, or the list of different numbers."""
    found = list(dict.fromkeys(number for number in numbers if number is not None))
    return found if len(found) > 1 else found[0] if found else None


def new_policy(name: str, output: str | Path | None = None) -> Path:
    """Create a commented, working policy that passes the contract tests.

    Parameters
    ----------
    name
        Name of the policy, such as "my-ucb".
    output
        File to write. Default: a file in the working directory, named after the policy.

    Returns
    -------
    Path
        Path of the new file.

    Raises
    ------
    InputError
        If the name is invalid or in use, or if the file exists.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     new_policy("my-ucb", Path(folder, "my_ucb.py")).name
    'my_ucb.py'
    """
    return _new_plugin("policy", name, output)


def new_graph(name: str, output: str | Path | None = None) -> Path:
    """Create a commented, working graph that passes the contract tests.

    Parameters
    ----------
    name
        Name of the graph, such as "my-path".
    output
        File to write. Default: a file in the working directory, named after the graph.

    Returns
    -------
    Path
        Path of the new file.

    Raises
    ------
    InputError
        If the name is invalid or in use, or if the file exists.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     new_graph("my-path", Path(folder, "my_path.py")).name
    'my_path.py'
    """
    return _new_plugin("graph", name, output)


def new_world(name: str, output: str | Path | None = None) -> Path:
    """Create a commented, working world that passes the contract tests.

    Parameters
    ----------
    name
        Name of the world, such as "my-world".
    output
        File to write. Default: a file in the working directory, named after the world.

    Returns
    -------
    Path
        Path of the new file.

    Raises
    ------
    InputError
        If the name is invalid or in use, or if the file exists.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     new_world("my-world", Path(folder, "my_world.py")).name
    'my_world.py'
    """
    return _new_plugin("world", name, output)


def new_posterior(name: str, output: str | Path | None = None) -> Path:
    """Create a commented, working posterior that passes the contract tests.

    Parameters
    ----------
    name
        Name of the posterior, such as "my-normal".
    output
        File to write. Default: a file in the working directory, named after the posterior.

    Returns
    -------
    Path
        Path of the new file.

    Raises
    ------
    InputError
        If the name is invalid or in use, or if the file exists.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     new_posterior("my-normal", Path(folder, "my_normal.py")).name
    'my_normal.py'
    """
    return _new_plugin("posterior", name, output)


def _new_plugin(kind: str, name: str, output: str | Path | None) -> Path:
    """Write the template of a kind of plug-in with a name."""
    words = [word for word in re.split(r"[-_.]+", name) if word]
    if not re.fullmatch(r"[a-z][a-z0-9_.\-]*", name) or not words:
        raise InputError(
            f"invalid {kind} name '{name}': use lower-case letters, digits and '-', and start "
            f"with a letter, as in {NAMES[kind]}"
        )
    if name in registered(kind):
        raise InputError(f"the {kind} '{name}' already exists: choose another name")
    stem, class_name = "_".join(words), "".join(word.capitalize() for word in words)
    if keyword.iskeyword(class_name):
        class_name += kind.capitalize()
    if keyword.iskeyword(stem) or _module_exists(stem):
        stem += f"_{kind}"  # a file with the name of a module would shadow it
    target = Path(f"{stem}.py") if output is None else Path(output)
    return _write(target, f"{kind}_template.txt", {"NAME": name, "CLASS": class_name})


def new_experiment(name: str = "my-experiment", output: str | Path | None = None) -> Path:
    """Create a commented experiment file that shows every key and runs in seconds.

    Parameters
    ----------
    name
        Title of the experiment, such as "my-study".
    output
        File to write. Default: a file in the working directory, named after the experiment.

    Returns
    -------
    Path
        Path of the new file.

    Raises
    ------
    InputError
        If the name is invalid or in use, or if the file exists.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     new_experiment("my-study", Path(folder, "my-study.toml")).name
    'my-study.toml'
    """
    if not name or file_name_part(name) != name:
        raise InputError(
            f"invalid experiment name '{name}': use letters, digits, '.', '+', '-' and '_', as in "
            f"{file_name_part(name) or 'my-study'}"
        )
    if name in experiment_names():
        raise InputError(f"the experiment '{name}' already exists: choose another name")
    target = Path(f"{name}.toml") if output is None else Path(output)
    return _write(target, "experiment_template.txt", {"NAME": name})


def _write(target: Path, template: str, names: Mapping[str, str]) -> Path:
    """Write a template with its names filled in; do not replace an existing file."""
    text = files(__package__).joinpath(template).read_text("utf-8")
    for key, name in names.items():
        text = text.replace(f"@@{key}@@", name)
    if os.path.lexists(target):
        raise InputError(f"{target} already exists: choose another file with --output")
    check_name(target)
    if not write_new(target, text.encode()):
        raise InputError(f"{target} already exists: choose another file with --output")
    return target


def _module_exists(stem: str) -> bool:
    """Return whether a module of this name exists outside of the working directory."""
    try:
        spec = find_spec(stem)
    except ValueError:  # the module was not created by an import
        return False
    return spec is not None and Path(spec.origin or "").parent != Path.cwd()
