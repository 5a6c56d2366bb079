"""``graphbandits list``: the policies, graphs, posteriors and experiments there are."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from graphbandits.cli.options import Json, Plugin, load


def list_(
    what: Annotated[
        str, typer.Argument(help="policies, graphs, posteriors or experiments; all if left out.")
    ] = "",
    plugin: Plugin = None,
    json: Json = False,
) -> None:
    """Show the policies, graphs and experiments there are, with their parameters and needs."""
    load(plugin)
    from rich.box import SIMPLE
    from rich.table import Table

    from graphbandits.cli.formatting import plain_console, print_json
    from graphbandits.experiments.catalogue import list_available

    listing = list_available(what)
    if json:
        print_json(listing)
        return
    for plural, entries in listing.items():
        rows = [_row(entry) for entry in entries]
        table = Table(title=plural, title_justify="left", title_style="bold", box=SIMPLE)
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


def _shown(number: int | list[int]) -> str:
    """A size in words.

    >>> _shown(5), _shown([2, 3, 100])
    ('5', '2 to 100')
    """
    return f"{min(number)} to {max(number)}" if isinstance(number, list) else str(number)
