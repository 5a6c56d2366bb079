"""``graphbandits list``."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from typing import Any

from rich.box import SIMPLE
from rich.table import Table

from graphbandits.cli.show import plain_console, print_json
from graphbandits.experiments import experiment_names, load_experiment
from graphbandits.experiments.setups import shown_points
from graphbandits.experiments.sweeps import SweepTable
from graphbandits.registry import parameters_of, registered, summary_of


def run(what: str, as_json: bool) -> None:
    """From the registry: names, first sentences, parameters, needs."""
    kinds = {"policies": "policy", "graphs": "graph", "posteriors": "posterior"}
    chosen = {plural: kind for plural, kind in kinds.items() if what in ("", plural)}
    listing = {plural: _entries(kind) for plural, kind in chosen.items()}
    if what in ("", "experiments"):
        listing["experiments"] = _experiments()
    if as_json:
        print_json(listing)
        return
    for plural, entries in listing.items():
        table = Table(title=plural, title_justify="left", title_style="bold", box=SIMPLE)
        rows = [_row(entry) for entry in entries]
        for column in rows[0]:
            table.add_column(column, no_wrap=column == "name")
        for row in rows:
            table.add_row(*row.values())
        plain_console().print(table)


def _row(entry: dict[str, Any]) -> dict[str, str]:
    """The cells of an entry, by the title of their column."""
    row = {"name": entry["name"], "what it is": entry["description"]}
    if "size" in entry:
        size = {what: number for what, number in entry["size"].items() if number is not None}
        row["size"] = ", ".join(f"{_shown(number)} {what}" for what, number in size.items())
        row["runs"] = str(entry["runs"])
    if "parameters" in entry:
        row["parameters"] = ", ".join(
            name if default is None else f"{name}={default}"
            for name, default in entry["parameters"].items()
        )
    return row | ({"is told": entry["told"]} if "told" in entry else {})


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
    """Where it has simulations: values, or a table of values for each point of several parameters.

    >>> _points(SweepTable(parameter="r", values=[0, 0.5]))
    [0, 0.5]
    >>> _points(SweepTable(list=[{"r": 0.1, "arms": 5}]))
    [{'r': 0.1, 'arms': 5}]
    """
    points = shown_points(sweep)
    return points if len(sweep.parameters) > 1 else [one for p in points for one in p.values()]


def _range(numbers: Iterable[int | None]) -> int | list[int] | None:
    """The number that all simulations have, or all there are."""
    found = list(dict.fromkeys(number for number in numbers if number is not None))
    return found if len(found) > 1 else found[0] if found else None


def _shown(number: int | list[int]) -> str:
    """A size in words.

    >>> _shown(5), _shown([2, 3, 100])
    ('5', '2 to 100')
    """
    return f"{min(number)} to {max(number)}" if isinstance(number, list) else str(number)


def _entries(kind: str) -> list[dict[str, Any]]:
    entries = []
    for name, cls in registered(kind).items():
        entry: dict[str, Any] = {
            "name": name,
            "description": summary_of(cls),
            "parameters": parameters_of(cls),
        }
        needs = getattr(cls, "needs", None)
        if kind == "policy" and needs is not None:
            entry["needs"] = asdict(needs)
            entry["told"] = str(needs)
        entries.append(entry)
    return entries
