"""``graphbandits list``."""

from __future__ import annotations

from typing import Any

from rich.box import SIMPLE
from rich.table import Table

from graphbandits.cli.show import plain_console, print_json
from graphbandits.experiments import load_experiment
from graphbandits.experiments.load import experiment_names
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
            table.add_column(column)
        for row in rows:
            table.add_row(*row.values())
        plain_console().print(table)


def _row(entry: dict[str, Any]) -> dict[str, str]:
    """The cells of an entry, by the title of their column."""
    row = {"name": entry["name"], "what it is": entry["description"]}
    if "size" in entry:
        row["size"] = ", ".join(f"{number} {what}" for what, number in entry["size"].items())
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
        size = {"arms": experiment.arms, "rounds": experiment.horizon, "trials": experiment.trials}
        described = {"name": name, "description": experiment.title, "size": size}
        entries.append(described | {"policies": list(experiment.policies)})
    return entries


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
            entry["needs"] = {
                "graph": needs.graph,
                "deterministic": needs.deterministic,
                "horizon": needs.horizon,
            }
            entry["told"] = str(needs)
        entries.append(entry)
    return entries
