"""What ``run``, ``reproduce`` and ``simulate`` leave behind: figures, a summary and the report."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import typer
from matplotlib.figure import Figure

from graphbandits.cli.bounds import print_bounds
from graphbandits.cli.conduct import run_into, tell_failures, working_in
from graphbandits.cli.how import How
from graphbandits.cli.show import as_json, duration, plain_console
from graphbandits.cli.tables import claim_table, published_table, regret_table, sweep_tables
from graphbandits.errors import InputError
from graphbandits.experiments.figures import part_of
from graphbandits.experiments.texts import point_text
from graphbandits.files import check_name, make_directory, write_text
from graphbandits.plots import draw, draw_sweep, save_figure
from graphbandits.report import (
    SimulationEntry,
    SweepEntry,
    bounds_at,
    entries_of,
    summary_of,
    write_report,
)
from graphbandits.results import Results
from graphbandits.store import DamagedShardError, Store
from graphbandits.studies import Commission, StoredStudy
from graphbandits.studies.recording import record, record_of
from graphbandits.studies.runner import Failure, Part

#: Files of an output directory besides figures and the store's own.
PAGES = ("summary.json", "report.html")
#: Pictures that are named one by one; of more the first and the last.
NAMED = 4
#: How often results are read, if shards turn out to be damaged.
ATTEMPTS = 3

Draw = Callable[[], Figure]


def carry_out(
    commissions: Sequence[Commission],
    output: Path,
    how: How,
    *,
    title: str,
    introduction: str = "",
    also: Iterable[str] = (),
    announced: Iterable[str] = (),
) -> None:
    """Run what the store of a directory lacks; print, draw and write what came out.

    ``also`` are keys of other studies that the page tells of, where the store has them;
    ``announced`` are lines to print once it is clear that all can be written.
    """
    start = time.perf_counter()
    make_directory(output)
    check_places(output, commissions)
    store = Store.create(output)
    for line in announced:
        plain_console().print(line)
    with working_in(store, commissions) as parts:
        for commission in commissions:
            _tell_if_replaced(store, commission)
        # by what this run was asked for, whatever others write into the store meanwhile
        studies = {c.key: StoredStudy(store, record(store, c)) for c in commissions}
        failures, entries = _results(store, studies, parts, how)
        for key, study in studies.items():
            for entry in entries[key]:
                print_entry(entry, bool(study.record["bounds"]))
        for commission in commissions:
            record(store, commission)
        others = [key for key in also if key in store.studies() and key not in studies]
        every = entries | {key: entries_of(StoredStudy.open(store, key)) for key in others}
        told = [entry for key in sorted(every) for entry in every[key]]
        if told:
            write_text(output / "summary.json", as_json(summary_of(told)) + "\n")
            write_report(output / "report.html", told, title=title, introduction=introduction)
            drawn = [p for key in studies for p in draw_all(studies[key], entries[key], output)]
            console = plain_console()
            console.print(f"Done in {duration(time.perf_counter() - start)}. Written to {output}/:")
            for path in ("report.html", "summary.json", *_first_and_last(drawn)):
                console.print(f"  {path}", soft_wrap=True)
    _raise_if_missing(studies, failures)


def _results(
    store: Store, studies: Mapping[str, StoredStudy], parts: Sequence[Part], how: How
) -> tuple[list[Failure], dict[str, list[SimulationEntry | SweepEntry]]]:
    """Run what is missing, and read what came out; a shard that is damaged by then is run again."""
    failures: list[Failure] = []
    for attempt in range(ATTEMPTS):
        failures = run_into(store, parts, how).failures
        try:
            entries = {key: entries_of(study) for key, study in studies.items()}
        except DamagedShardError:
            if attempt == ATTEMPTS - 1:
                raise
        else:
            break
    tell_failures(failures)
    return failures, entries


def _tell_if_replaced(store: Store, commission: Commission) -> None:
    """Say that a study of this name was about something else."""
    if commission.key not in store.studies():
        return
    try:
        before = StoredStudy.open(store, commission.key)
    except InputError:  # damaged, and written anew
        return
    there = {series for cell in before.cells for series in cell.series.values()}
    if there.isdisjoint(found.name for mine in commission.series for found in mine.values()):
        typer.echo(
            f"{store.path} had a study '{commission.key}' with other settings or sources "
            f"({before.title}): this one takes its place; its trials stay until 'graphbandits "
            "store gc'",
            err=True,
        )


def _raise_if_missing(studies: Mapping[str, StoredStudy], failures: Sequence[Failure]) -> None:
    """End with an error where not all is there."""
    lacking = sum(share.missing for study in studies.values() for share in study.progress().missing)
    if failures:
        count = len(failures)
        raise InputError(
            f"{count} shard{'s' * (count > 1)} failed; the others are kept, and the same command "
            "tries what is missing again"
        )
    if lacking:
        raise InputError(
            f"{lacking} trials are missing, for somebody removed or damaged them meanwhile: the "
            "same command runs what is missing"
        )


def check_places(output: Path, commissions: Iterable[Commission]) -> None:
    """Notice before anything is written that pages or figures could not be."""
    for page in PAGES:
        _check_place(output / page)
    for commission in commissions:
        # the names of figures do not depend on where the cells will be described
        nowhere = [""] * len(commission.cells)
        study = StoredStudy(Store(output), record_of(commission, nowhere))
        for name, figure in pictures(study):
            for kind in figure.get("formats", ("png", "svg")):
                _check_place(output / f"{name}.{kind}")


def _check_place(path: Path) -> None:
    """Refuse a name that could not be written beside the store's own."""
    check_name(path)
    if path.is_dir():
        raise InputError(f"{path} is a directory: choose another --output")


def print_entry(entry: SimulationEntry | SweepEntry, bounds: bool = False) -> None:
    """The regrets, and what they say of claims, of bounds if asked, and of published means."""
    console = plain_console()
    if isinstance(entry, SweepEntry):
        for table in sweep_tables(entry.results, entry.title, entry.label, console.width):
            console.print(table)
        console.print("Mean regret (standard error); * marks the least at each value.\n")
        return
    console.print(regret_table(entry.results, entry.title))
    if entry.claims:
        console.print(claim_table(entry.judgements))
    if bounds:
        print_bounds(entry.kept_bounds)
    if entry.published is not None:
        console.print(published_table(entry.comparisons, entry.published.source))


def pictures(study: StoredStudy) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The names of the figures of a study, without endings, and what each is to be."""
    for figure in study.figures:
        if not study.sweeps:
            places = [study.key]
        elif figure["kind"] == "sweep":
            places = [facet.key for facet in study.facets()]
        else:
            places = [f"{study.key}-{cell.name}" for cell in study.cells]
        for place in places:
            yield picture_name(place, figure), figure


def picture_name(place: str, figure: Mapping[str, Any]) -> str:
    """The name of a figure's files, without their ending.

    >>> picture_name("1a", {"kind": "final"})
    'figure-1a-final'
    """
    return "-".join(filter(None, ("figure", place, part_of(figure))))


def draw_all(
    study: StoredStudy, entries: Sequence[SimulationEntry | SweepEntry], output: Path
) -> list[Path]:
    """Draw the figures that the study asks for; the first file of each.

    One that nothing is left of, because policies lack trials, is not drawn, and that is said.
    """
    order, drawn = study.lines(), []

    def keep(place: str, figure: Mapping[str, Any], lines: Collection[str], make: Draw) -> None:
        name = picture_name(place, figure)
        if _can_be_drawn(figure, lines):
            drawn.append(save_figure(make(), output / name, figure.get("formats"))[0])
        else:
            typer.echo(f"{name} was not drawn: its policies lack trials", err=True)

    for figure in study.figures:
        for entry in entries:
            if isinstance(entry, SimulationEntry):
                bounds = entry.drawn_bounds if study.record["bounds"] else ()
                make = partial(draw, figure, entry.results, entry.title, bounds)
                keep(entry.key, figure, entry.results.policies, make)
            elif figure["kind"] == "sweep":
                lines = {line for found in entry.results.values() for line in found.policies}
                make = partial(
                    draw_sweep,
                    figure,
                    entry.results,
                    entry.label,
                    entry.title,
                    scale=entry.scale,
                    order=order,
                )
                keep(entry.key, figure, lines, make)
        if study.sweeps and figure["kind"] != "sweep":
            for facet in study.facets():
                for value, results in _by_value(facet.key, entries).items():
                    cell = facet.cells[value]
                    title = f"{facet.sweep.title}: {point_text(cell.point)}"
                    asked = study.record["bounds"] and figure["kind"] == "regret"
                    bounds = bounds_at(cell, results, asked)[0] if asked else ()
                    make = partial(draw, figure, results, title, bounds, order=order)
                    keep(f"{study.key}-{cell.name}", figure, results.policies, make)
    return drawn


def _can_be_drawn(figure: Mapping[str, Any], lines: Collection[str]) -> bool:
    """Whether what a figure is to show is there."""
    wanted = [line for line in figure.get("policies", lines) if line in lines]
    least = 2 if figure["kind"] == "differences" else 1
    return len(wanted) >= least and figure.get("reference", wanted[0]) in wanted


def _by_value(key: str, entries: Sequence[SimulationEntry | SweepEntry]) -> Mapping[Any, Results]:
    """The results of a sweep; none if nothing of it is complete."""
    found = [entry for entry in entries if isinstance(entry, SweepEntry) and entry.key == key]
    return found[0].results if found else {}


def _first_and_last(paths: Sequence[Path]) -> list[str]:
    """The names of files, of more than some the ends.

    >>> _first_and_last([Path("out", letter) for letter in "abcde"])
    ['a', '... (3 more)', 'e']
    """
    names = [path.name for path in paths]
    many = len(names) > NAMED
    return [names[0], f"... ({len(names) - 2} more)", names[-1]] if many else names
