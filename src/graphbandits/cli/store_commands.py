"""``graphbandits store``, ``compare`` and ``report``: manage and evaluate stored results."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import graphbandits
from graphbandits.cli import formatting, options
from graphbandits.cli.formatting import (
    count,
    file_size,
    print_json,
    print_line,
    print_table,
    print_text,
)
from graphbandits.cli.options import flag, load, option
from graphbandits.errors import InputError

if TYPE_CHECKING:
    from graphbandits.experiments.study import SweepSlice
    from graphbandits.experiments.study_comparison import ProblemComparison
    from graphbandits.store.maintenance import RemovedFile, ShardTotals, StudyEntry

store = typer.Typer(no_args_is_help=True, help="List, verify, clean up and export stored results.")

Directory = Annotated[
    Path, typer.Argument(help="Output directory of 'graphbandits run'.", metavar="DIR")
]


@store.command("ls")
def list_(directory: Directory, json: options.Json = False) -> None:
    """List the studies of a store with their progress and disk usage.

    Example: graphbandits store ls paper-1a
    """
    from graphbandits.store import Store
    from graphbandits.store.maintenance import store_contents

    store = Store.open(directory)
    contents, runs = store_contents(store), store.other_processes()
    if json:
        keys = ("kind", "host", "pid", "started", "command")
        print_json(
            {
                "store": str(directory),
                "studies": [_entry_to_dict(entry) for entry in contents.studies],
                "total": asdict(contents.total),
                "without_study": asdict(contents.without_study),
                "running": [{key: getattr(run, key) for key in keys} for run in runs],
            }
        )
        return
    for entry in contents.studies:
        _print_study(entry)
    studies = count(len(contents.studies), "study", "studies")
    print_line(f"{directory}: {studies}, {_amount_text(contents.total)}.")
    if contents.without_study.shards:
        print_line(
            f"Not used by any study: {_amount_text(contents.without_study)}. "
            "'graphbandits store gc --dry-run' lists what can be removed."
        )
    for run in runs:
        print_line(f"Currently running: {run}.")


def _entry_to_dict(entry: StudyEntry) -> dict[str, Any]:
    fields = asdict(entry)
    amount = fields.pop("amount")
    changed = datetime.fromtimestamp(fields.pop("changed")).astimezone().isoformat("T", "seconds")
    return fields | {"changed": changed, "shards": amount["shards"], "bytes": amount["bytes"]}


def _print_study(entry: StudyEntry) -> None:
    print_text(entry.key, style="bold", end="")
    print_line(f"  {entry.title or 'damaged'}")
    if entry.damage:
        print_line(f"  {entry.damage}")
        return
    policies = count(len(entry.policies), "policy", "policies")
    size = f"{count(entry.cells, 'cell')}, {policies}, {count(entry.trials, 'trial')}"
    amount = f"{count(entry.amount.shards, 'shard')}, {file_size(entry.amount.bytes)}"
    when = datetime.fromtimestamp(entry.changed).strftime("%Y-%m-%d %H:%M")
    print_line(
        f"  {size}: {_finished_share(entry.done, entry.of)} finished; {amount}; last run {when}"
    )


def _finished_share(done: int, of: int) -> str:
    """Format a share in per cent; only the exact total is 'all'.

    >>> _finished_share(9999, 10000), _finished_share(1, 10000)
    ('99 %', 'under 1 %')
    >>> _finished_share(3, 3), _finished_share(0, 3)
    ('all', 'none')
    """
    if done in (0, of):
        return "all" if done else "none"
    return f"{100 * done // of} %" if 100 * done >= of else "under 1 %"


def _amount_text(amount: ShardTotals) -> str:
    shards = count(amount.shards, "shard")
    return f"{shards} in {amount.series} series, {file_size(amount.bytes)}"


@store.command()
def verify(directory: Directory, json: options.Json = False) -> None:
    """Verify the checksum of every file in a store.

    Prints each problem with a remedy. The exit code is 1 if a file is damaged or missing.

    Example: graphbandits store verify paper-1a
    """
    from graphbandits.engine._progress import progress_bar
    from graphbandits.store import Store
    from graphbandits.store.maintenance import store_contents
    from graphbandits.store.maintenance import verify as findings_in

    store = Store.open(directory)
    shards = store_contents(store).total.shards
    findings = []
    with progress_bar("reading shards", shards) as advance:
        for finding in findings_in(store, lambda done, of: advance(1)):
            entry = {"file": _relative(store.path, finding.path), "wrong": finding.wrong}
            findings.append(entry | {"what": finding.what, "advice": finding.advice})
            if not json:
                mark, style = ("wrong", "red") if finding.wrong else ("note", "yellow")
                print_text(f"{mark:6}", style=style, end="")
                print_line(f"{entry['file']}")
                print_line(f"{'':6}{finding.what}: {finding.advice}")
    wrong = sum(bool(finding["wrong"]) for finding in findings)
    if json:
        found = {"shards": shards, "wrong": wrong, "findings": findings}
        print_json({"store": str(directory), **found})
    else:
        problems = count(wrong, "problem") if wrong else "no problems"
        print_line(f"{directory}: {count(shards, 'shard')} read, {problems}.")
    raise typer.Exit(1 if wrong else 0)


@store.command()
def gc(
    directory: Directory,
    dry_run: Annotated[
        bool, flag("--dry-run", "Only list the files that would be removed.")
    ] = False,
    extra_policies: Annotated[
        bool,
        flag(
            "--extra-policies",
            "Also remove trials of policies that the latest run of a study did not include.",
        ),
    ] = False,
    json: options.Json = False,
) -> None:
    """Remove unused files from a store: unused shards and temporary files of killed runs.

    Other files, such as figures and reports, are kept.

    Example: graphbandits store gc paper-1a --dry-run
    """
    from graphbandits.store import Store
    from graphbandits.store.maintenance import gc as collect

    removed = collect(Store.open(directory), dry_run, extra_policies)
    total = sum(one.bytes for one in removed)
    if json:
        files = [
            {"file": _relative(directory, one.path), "why": one.why, "bytes": one.bytes}
            for one in removed
        ]
        print_json({"store": str(directory), "dry_run": dry_run, "bytes": total, "removed": files})
        return
    groups: dict[str, list[RemovedFile]] = {}
    for one in removed:
        groups.setdefault(one.why, []).append(one)
    for why, ones in groups.items():
        size = file_size(sum(one.bytes for one in ones))
        print_line(f"{why}: {count(len(ones), 'file')}, {size}")
        for one in ones:
            print_line(f"  {_relative(directory, one.path)}")
    action = "would be removed" if dry_run else "removed"
    files_text = count(len(removed), "file") if removed else "nothing"
    size = f", {file_size(total)}" if removed else ""
    print_line(f"{directory}: {files_text} {action}{size}.")


def _relative(directory: Path, path: Path) -> str:
    return path.relative_to(directory).as_posix()


@store.command("export")
def export_(
    directory: Directory,
    output: Annotated[Path, option("FILE", "File to write: .parquet, .csv or .csv.gz.")],
    table: Annotated[
        str,
        option(
            "TABLE",
            "Table: final (one row per trial), curve (one row per round), plays, "
            "regret (one row per trial and round), ratios, graph, actions, observations or "
            "eligible.",
        ),
    ] = "final",
    study: options.StudyKeys = None,
    partial: Annotated[
        bool, flag("--partial", "Export incomplete studies: use the trials that exist.")
    ] = False,
) -> None:
    """Export a table of all simulations to one file; swept parameters are the first columns.

    Example: graphbandits store export my-study --table regret --output regret.parquet
    """
    from graphbandits.experiments.export import export
    from graphbandits.experiments.study import join_limited

    chosen = graphbandits.open_studies(directory).select(study)
    rows = export(chosen, table, output, partial)
    if table != "graph":
        for one in chosen:
            if missing := one.progress().missing:
                typer.echo(f"incomplete: {one.key}: {join_limited(missing)}", err=True)
    print_line(f"{output}: {rows} rows, {file_size(output.stat().st_size)}")


def report(
    directory: Annotated[Path, typer.Argument(help="Output directory of a run.")],
    study: options.StudyKeys = None,
    output: Annotated[
        str | None,
        option(
            "FILE",
            "HTML file to write; its numbers are written to a .json file next to it. "
            "Default: report.html and summary.json in the directory.",
        ),
    ] = None,
    plugin: options.Plugin = None,
) -> None:
    """Write an HTML report about the studies of a store, complete or incomplete.

    Example: graphbandits report figures --output page.html
    """
    if output == "":
        raise InputError("--output is empty: give the name of an .html file")
    load(plugin)
    from graphbandits.experiments.outputs import write_pages

    chosen = graphbandits.open_studies(directory).select(study)
    written = write_pages(chosen, output)
    print_text("Written:")
    for path in written:
        print_line(f"  {path}")
    for one in chosen:
        progress = one.progress()
        if not progress.complete:
            print_line(
                f"Incomplete: {one.key}, {progress.done} of {progress.trials} trials. To "
                f"continue: {one.rerun}"
            )


def compare(
    directory: Annotated[
        list[Path], typer.Argument(help="Output directories of runs.", metavar="DIR")
    ],
    reference: Annotated[
        str | None,
        option("POLICY", "Show differences from this policy. Default: from the best policy."),
    ] = None,
    json: options.Json = False,
) -> None:
    """Compare the policies of one store, or of several stores that share a problem.

    Policies that were run in the same worlds are compared trial by trial, also across stores; the
    same holds for two versions of a policy. The intervals of a table are simultaneous.

    Example: graphbandits compare my-study --reference ts-n
    """
    from graphbandits.experiments.study_comparison import compare_stores

    compared = compare_stores([graphbandits.open_studies(path) for path in directory], reference)
    if json:
        print_json(compared.to_dict())
        return
    for sweep_slice, group in groupby(compared.comparisons, lambda one: one.cells[0].sweep_slice):
        comparisons = list(group)
        if sweep_slice is None:
            for one in comparisons:
                _print_comparison(one)
        else:
            _print_slice_comparison(comparisons, sweep_slice, compared.reference)
    if compared.alone:
        print_text("No matching problem in another directory:")
        for study, alone in groupby(compared.alone, lambda cell: cell.study):
            cells = list(alone)
            summary = f"{cells[0].store}: {study.key}, all {len(cells)} cells"
            for text in [summary] if len(cells) == len(study.cells) > 1 else map(str, cells):
                print_line(f"  {text}")
    elif not compared.comparisons:
        print_text("There is nothing to compare.")


def _print_comparison(comparison: ProblemComparison) -> None:
    """Print the comparison of one problem that is not part of a sweep."""
    title = f"{_title(comparison)}: {comparison.cells[0].study.title}"
    if comparison.rows:
        print_table(formatting.comparison_table(comparison, title))
    else:
        print_text(title)
    _print_notes(comparison)
    print_text()


def _print_slice_comparison(
    comparisons: Sequence[ProblemComparison], sweep_slice: SweepSlice, reference: str | None
) -> None:
    """Print the comparisons along the axis of a sweep."""
    by_value = {one.cells[0].value: one for one in comparisons if one.rows}
    title = f"{_title(comparisons[0])}: {sweep_slice.title}"
    width = formatting.plain_console().width
    for table in formatting.comparison_tables(by_value, title, sweep_slice.label, width):
        print_table(table)
    marks = "* lowest mean in the row, = no clear difference from it."
    if reference is not None:
        marks = f"< less than {reference}, > more, = no clear difference."
    print_text(f"Mean regret (standard error). {marks}")
    for one in comparisons:
        _print_notes(one, f"at {one.cells[0].value}: ")
    print_text()


def _title(comparison: ProblemComparison) -> str:
    """Return the stores and studies of a comparison."""
    return " and ".join(dict.fromkeys(f"{c.store}/{c.study.key}" for c in comparison.cells))


def _print_notes(comparison: ProblemComparison, prefix: str = "") -> None:
    for note in comparison.notes:
        print_line(f"{prefix}{note}")
    for version in comparison.versions:
        d, kind = version.difference, "independent"
        if d.paired:
            kind = f"paired, differs in {version.differing} of {version.trials} trials"
        print_line(f"{prefix}{d.first} - {d.second}: {formatting.difference_text(d)}, {kind}")
