"""``graphbandits list``."""

from __future__ import annotations

from typing import Any

from rich.box import SIMPLE
from rich.table import Table

from graphbandits.cli.show import plain_console, print_json
from graphbandits.registry import parameters_of, registered, summary_of


def run(what: str, as_json: bool) -> None:
    """From the registry: names, first sentences, parameters, needs."""
    kinds = {"policies": "policy", "graphs": "graph"}
    chosen = {plural: kind for plural, kind in kinds.items() if what in ("", plural)}
    listing = {plural: _entries(kind) for plural, kind in chosen.items()}
    if as_json:
        print_json(listing)
        return
    for plural, entries in listing.items():
        table = Table(title=plural, title_justify="left", title_style="bold", box=SIMPLE)
        for column in ("name", "what it is", "parameters"):
            table.add_column(column)
        if plural == "policies":
            table.add_column("is told")
        for entry in entries:
            given = ", ".join(
                name if default is None else f"{name}={default}"
                for name, default in entry["parameters"].items()
            )
            row = [entry["name"], entry["description"], given]
            table.add_row(*row, *([entry["told"]] if plural == "policies" else []))
        plain_console().print(table)


def _entries(kind: str) -> list[dict[str, Any]]:
    entries = []
    for name, cls in registered(kind).items():
        entry: dict[str, Any] = {
            "name": name,
            "description": summary_of(cls),
            "parameters": parameters_of(cls),
        }
        if kind == "policy":
            needs = cls.needs  # type: ignore[attr-defined]
            entry["needs"] = {
                "graph": needs.graph,
                "deterministic": needs.deterministic,
                "horizon": needs.horizon,
            }
            entry["told"] = str(needs)
        entries.append(entry)
    return entries
