"""``graphbandits compare``: tables of the policies of one store or of several."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from graphbandits.cli.options import Json

if TYPE_CHECKING:
    from graphbandits.experiments.compare import Comparison, Place


def compare(
    directory: Annotated[
        list[Path], typer.Argument(help="Directories that runs wrote to.", metavar="DIR...")
    ],
    reference: Annotated[
        str | None,
        typer.Option(
            help="Show differences from this policy; from the best if unset.", metavar="POLICY"
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Compare the policies of a store, or of several where the problem is the same.

    Policies of several stores that met the same worlds are compared trial by trial; so are two
    versions of a policy. All intervals of a table hold together.

    Example: graphbandits compare my-study --reference ts-n
    """
    from graphbandits.cli.formatting import plain_console, print_json
    from graphbandits.cli.tables import comparison_tables
    from graphbandits.experiments import open_studies
    from graphbandits.experiments.compare import compare_stores

    compared = compare_stores([open_studies(path) for path in directory], reference)
    if json:
        print_json(compared.to_dict())
        return
    console = plain_console()
    for piece, group in groupby(compared.comparisons, lambda one: one.places[0].sweep_slice):
        found = list(group)
        if piece is None:
            for one in found:
                _print_one(one)
            continue
        shown = {one.places[0].value: one for one in found if one.rows}
        title = f"{_title(found[0])}: {piece.title}"
        for table in comparison_tables(shown, title, piece.label, console.width) if shown else ():
            console.print(table)
        console.print(f"Mean regret (standard error); {_marks(compared.reference)}")
        for one in found:
            _print_notes(one, f"at {one.places[0].value}: ")
        console.print()
    if compared.alone:
        console.print("Without a partner in another directory:")
        for text in _listed(compared.alone):
            console.print(f"  {text}", soft_wrap=True)
    elif not compared.comparisons:
        console.print("There is nothing to compare.")


def _print_one(one: Comparison) -> None:
    from graphbandits.cli.formatting import plain_console
    from graphbandits.cli.tables import comparison_table

    console = plain_console()
    title = f"{_title(one)}: {one.places[0].study.title}"
    if one.rows:
        console.print(comparison_table(one, title))
    else:
        console.print(title)
    _print_notes(one)
    console.print()


def _listed(places: Sequence[Place]) -> list[str]:
    """Cells one by one, or their study where that is all of it."""
    found = []
    for study, group in groupby(places, lambda place: place.study):
        mine = list(group)
        whole = len(mine) == len(study.cells) > 1
        first = f"{mine[0].store}: {study.key}, all of its {len(mine)} cells"
        found += [first] if whole else [str(place) for place in mine]
    return found


def _title(one: Comparison) -> str:
    """The places that a comparison is of."""
    return " and ".join(dict.fromkeys(f"{p.store}/{p.study.key}" for p in one.places))


def _marks(reference: str | None) -> str:
    if reference is None:
        return "* marks the least at each value, = what is not told apart from it."
    return f"< marks less than {reference}, > more, = what is not told apart from it."


def _print_notes(one: Comparison, where: str = "") -> None:
    from graphbandits.cli.formatting import plain_console

    console = plain_console()
    for note in one.notes:
        console.print(f"{where}{note}", soft_wrap=True)
    for version in one.versions:
        d = version.difference
        how = (
            f"paired, differs in {version.differing} of {version.trials} trials"
            if d.paired
            else "independent"
        )
        console.print(
            f"{where}{d.first} - {d.second}: {d.mean:+.2f} [{d.low:+.2f}, {d.high:+.2f}], {how}",
            soft_wrap=True,
        )
