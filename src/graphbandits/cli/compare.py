"""``graphbandits compare``: tables of the policies of one store or of several."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

from graphbandits.cli.show import plain_console, print_json
from graphbandits.cli.tables import comparison_table, comparison_tables
from graphbandits.results import Difference
from graphbandits.studies import open_studies
from graphbandits.studies.compare import Compared, compare_stores
from graphbandits.studies.places import Place
from graphbandits.studies.pooled import CONFIDENCE, Comparison, Row, Version


def run(directories: Sequence[Path], reference: str | None, as_json: bool) -> None:
    """Print the comparisons."""
    compared = compare_stores([open_studies(path) for path in directories], reference)
    if as_json:
        print_json(_plain(compared))
        return
    console = plain_console()
    for facet, group in groupby(compared.comparisons, lambda one: one.places[0].facet):
        found = list(group)
        if facet is None:
            for one in found:
                _print_one(one)
            continue
        shown = {one.places[0].value: one for one in found if one.rows}
        title = f"{_title(found[0])}: {facet.title}"
        for table in comparison_tables(shown, title, facet.label, console.width) if shown else ():
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
    console = plain_console()
    for note in one.notes:
        console.print(f"{where}{note}", soft_wrap=True)
    for version in one.versions:
        d = version.difference
        how = (
            f"paired, differs in {version.differing} of {version.trials} trials"
            if version.paired
            else "independent"
        )
        console.print(
            f"{where}{d.first} - {d.second}: {d.mean:+.2f} [{d.low:+.2f}, {d.high:+.2f}], {how}",
            soft_wrap=True,
        )


def _plain(compared: Compared) -> dict[str, Any]:
    return {
        "confidence": CONFIDENCE,
        "comparisons": [
            {
                "places": [_place(place) for place in one.places],
                "against": one.against,
                "policies": {row.policy: _row(row) for row in one.rows},
                "versions": [_version(version) for version in one.versions],
                "notes": list(one.notes),
            }
            for one in compared.comparisons
        ],
        "alone": [_place(place) for place in compared.alone],
    }


def _place(place: Place) -> dict[str, Any]:
    return {
        "directory": str(place.study.store.path),
        "study": place.study.key,
        "title": place.study.title,
        "point": place.cell.point,
    }


def _row(row: Row) -> dict[str, Any]:
    plain: dict[str, Any] = {
        "trials": row.trials,
        "mean": row.mean,
        "standard_error": row.standard_error,
        "interval": [row.low, row.high],
        "median": row.median,
        "q0.95": row.q95,
    }
    if row.difference is not None:
        plain["difference"] = _difference(row.difference, row.paired) | {"is": row.standing}
    return plain


def _version(version: Version) -> dict[str, Any]:
    d = version.difference
    return {
        "first": d.first,
        "second": d.second,
        **_difference(d, version.paired),
        "trials": version.trials,
        "differing": version.differing,
    }


def _difference(d: Difference, paired: bool) -> dict[str, Any]:
    return {
        "mean": d.mean,
        "standard_error": d.standard_error,
        "simultaneous_interval": [d.low, d.high],
        "paired": paired,
    }
