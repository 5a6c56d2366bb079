"""What ``run``, ``reproduce`` and ``simulate`` leave behind: figures, a summary and the report."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from graphbandits.cli.bounds import print_bounds
from graphbandits.cli.conduct import run_into, tell_failures
from graphbandits.cli.how import How
from graphbandits.cli.show import as_json, duration, plain_console
from graphbandits.cli.tables import claim_table, published_table, regret_table, sweep_tables
from graphbandits.errors import InputError
from graphbandits.experiments.figures import part_of
from graphbandits.files import check_name, make_directory, write_text
from graphbandits.plots import draw, draw_sweep, save_figure
from graphbandits.report import Study, Sweep, studies_of, summary_of, write_report
from graphbandits.results import Results
from graphbandits.store import Store
from graphbandits.studies import Commission, StoredStudy
from graphbandits.studies.recording import record, record_of

#: Files of an output directory besides figures and the store's own.
PAGES = ("summary.json", "report.html")
#: Pictures that are named one by one; of more the first and the last.
NAMED = 4


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
    for commission in commissions:
        record(store, commission)
    keys = [commission.key for commission in commissions]
    outcome = run_into(store, commissions, how)
    if not any(cell.complete() for key in keys for cell in StoredStudy.open(store, key).cells):
        tell_failures(outcome)
    shown = sorted({*keys, *(key for key in also if key in store.studies())})
    entries = {key: studies_of(store, [key]) for key in shown}
    drawn: list[Path] = []
    for key in keys:
        study = StoredStudy.open(store, key)
        for entry in entries[key]:
            print_entry(entry, bool(study.record["bounds"]))
        drawn += draw_all(study, entries[key], output)
    every = [entry for mine in entries.values() for entry in mine]
    write_text(output / "summary.json", as_json(summary_of(every)) + "\n")
    write_report(output / "report.html", every, title=title, introduction=introduction)
    console = plain_console()
    console.print(f"Done in {duration(time.perf_counter() - start)}. Written to {output}/:")
    for path in ("report.html", "summary.json", *_first_and_last(drawn)):
        console.print(f"  {path}", soft_wrap=True)
    tell_failures(outcome)


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
    check_name(path)
    if path.is_dir():
        raise InputError(f"{path} is a directory: choose another --output")


def print_entry(entry: Study | Sweep, bounds: bool = False) -> None:
    """The regrets, and what they say of claims, of bounds if asked, and of published means."""
    console = plain_console()
    if isinstance(entry, Sweep):
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
        part = part_of(figure)
        if not study.sweeps:
            places = [study.key]
        elif figure["kind"] == "sweep":
            places = [facet.key for facet in study.facets()]
        else:
            places = [f"{study.key}-{cell.name}" for cell in study.cells]
        for place in places:
            yield "-".join(filter(None, ("figure", place, part))), figure


def draw_all(study: StoredStudy, entries: Sequence[Study | Sweep], output: Path) -> list[Path]:
    """Draw the figures that the study asks for, of what is there; the first file of each."""
    order, drawn = study.lines(), []

    def keep(picture: Any, figure: Mapping[str, Any], place: str) -> None:
        name = "-".join(filter(None, ("figure", place, part_of(figure))))
        drawn.append(save_figure(picture, output / name, figure.get("formats"))[0])

    for figure in study.figures:
        for entry in entries:
            if not _has_enough(figure, _lines_in(entry)):
                continue
            if isinstance(entry, Study):
                bounds = entry.drawn_bounds if study.record["bounds"] else ()
                keep(draw(figure, entry.results, entry.title, bounds), figure, entry.key)
            elif figure["kind"] == "sweep":
                picture = draw_sweep(
                    figure, entry.results, entry.label, entry.title, scale=entry.scale, order=order
                )
                keep(picture, figure, entry.key)
        if study.sweeps and figure["kind"] != "sweep":
            for facet in study.facets():
                for value, results in _by_value(facet.key, entries).items():
                    if not _has_enough(figure, list(results.policies)):
                        continue
                    cell = facet.cells[value]
                    title = f"{facet.title}, {cell.where.removeprefix(' at ')}"
                    picture = draw(figure, results, title, order=order)
                    keep(picture, figure, f"{study.key}-{cell.name}")
    return drawn


def _lines_in(entry: Study | Sweep) -> list[str]:
    """The policies that a study has results of, or a sweep at some value."""
    found = entry.results.values() if isinstance(entry, Sweep) else [entry.results]
    return list(dict.fromkeys(name for results in found for name in results.policies))


def _has_enough(figure: Mapping[str, Any], there: Sequence[str]) -> bool:
    """Whether these policies make the figure, where others that it was to show have failed.

    >>> _has_enough({"kind": "final"}, ["ts-n"]), _has_enough({"kind": "differences"}, ["ts-n"])
    (True, False)
    """
    shown = [name for name in there if name in figure.get("policies", there)]
    least = 2 if figure["kind"] == "differences" else 1
    return len(shown) >= least and figure.get("reference", shown[0]) in shown


def _by_value(key: str, entries: Sequence[Study | Sweep]) -> Mapping[Any, Results]:
    """The results of a sweep; none if nothing of it is complete."""
    found = [entry for entry in entries if isinstance(entry, Sweep) and entry.key == key]
    return found[0].results if found else {}


def _first_and_last(paths: Sequence[Path]) -> list[str]:
    """The names of files, of more than some the ends.

    >>> _first_and_last([Path("out", letter) for letter in "abcde"])
    ['a', '... (3 more)', 'e']
    """
    names = [path.name for path in paths]
    many = len(names) > NAMED
    return [names[0], f"... ({len(names) - 2} more)", names[-1]] if many else names
