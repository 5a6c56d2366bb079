"""``graphbandits store``, ``compare`` and ``report``: what experiments have left on disk."""

from __future__ import annotations

from dataclasses import asdict
from datetime import datetime
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import graphbandits
from graphbandits.cli import formatting, options
from graphbandits.cli.formatting import count, file_size, print_json, show, show_line
from graphbandits.cli.options import flag, load, option
from graphbandits.errors import InputError

if TYPE_CHECKING:
    from graphbandits.experiments.study_comparison import ProblemComparison
    from graphbandits.store.maintenance import RemovedFile, ShardTotals, StudyEntry

store = typer.Typer(no_args_is_help=True, help="Look after what experiments have left on disk.")

Directory = Annotated[
    Path, typer.Argument(help="A directory that 'graphbandits run' wrote to.", metavar="DIR")
]


@store.command("ls")
def list_(directory: Directory, json: options.Json = False) -> None:
    """Show the studies of a store, how far each has come, and the disk they take.

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
                "studies": [_plain(entry) for entry in contents.studies],
                "total": asdict(contents.total),
                "without_study": asdict(contents.without_study),
                "running": [{key: getattr(run, key) for key in keys} for run in runs],
            }
        )
        return
    for entry in contents.studies:
        _print_study(entry)
    studies = count(len(contents.studies), "study", "studies")
    show_line(f"{directory}: {studies}, {_text(contents.total)}.")
    if contents.without_study.shards:
        show_line(
            f"No study refers to {_text(contents.without_study)}: "
            "'graphbandits store gc --dry-run' lists what it would remove."
        )
    for run in runs:
        show_line(f"At work here now: {run}.")


def _plain(entry: StudyEntry) -> dict[str, Any]:
    plain = asdict(entry)
    amount = plain.pop("amount")
    changed = datetime.fromtimestamp(plain.pop("changed")).astimezone().isoformat("T", "seconds")
    return plain | {"changed": changed, "shards": amount["shards"], "bytes": amount["bytes"]}


def _print_study(entry: StudyEntry) -> None:
    show(entry.key, style="bold", end="")
    show_line(f"  {entry.title or 'damaged'}")
    if entry.damage:
        show_line(f"  {entry.damage}")
        return
    policies = count(len(entry.policies), "policy", "policies")
    size = f"{count(entry.cells, 'cell')}, {policies}, {count(entry.trials, 'trial')}"
    amount = f"{count(entry.amount.shards, 'shard')}, {file_size(entry.amount.bytes)}"
    when = datetime.fromtimestamp(entry.changed).strftime("%Y-%m-%d %H:%M")
    show_line(f"  {size}: {_share(entry.done, entry.of)} done; {amount}; last run {when}")


def _share(done: int, of: int) -> str:
    """All is 100 %, and nothing less is.

    >>> _share(9999, 10000), _share(1, 10000), _share(3, 3), _share(0, 3)
    ('99 %', 'under 1 %', 'all', 'none')
    """
    if done in (0, of):
        return "all" if done else "none"
    return f"{100 * done // of} %" if 100 * done >= of else "under 1 %"


def _text(amount: ShardTotals) -> str:
    shards = count(amount.shards, "shard")
    return f"{shards} in {amount.series} series, {file_size(amount.bytes)}"


@store.command()
def verify(directory: Directory, json: options.Json = False) -> None:
    """Read every file of a store and hold it against its checksum.

    Ends with exit code 1 if something is wrong, and says what to do.

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
            plain = {"file": _relative(store.path, finding.path), "wrong": finding.wrong}
            findings.append(plain | {"what": finding.what, "advice": finding.advice})
            if not json:
                mark, style = ("wrong", "red") if finding.wrong else ("note", "yellow")
                show(f"{mark:6}", style=style, end="")
                show_line(f"{plain['file']}")
                show_line(f"{'':6}{finding.what}: {finding.advice}")
    wrong = sum(bool(finding["wrong"]) for finding in findings)
    if json:
        found = {"shards": shards, "wrong": wrong, "findings": findings}
        print_json({"store": str(directory), **found})
    else:
        things = f"{count(wrong, 'thing is', 'things are')} wrong" if wrong else "nothing is wrong"
        show_line(f"{directory}: {count(shards, 'shard')} read, {things}.")
    raise typer.Exit(1 if wrong else 0)


@store.command()
def gc(
    directory: Directory,
    dry_run: Annotated[bool, flag("--dry-run", "Only tell what would go.")] = False,
    extra_policies: Annotated[
        bool,
        flag(
            "--extra-policies",
            "Also remove the trials of policies that the last run of a study left out.",
        ),
    ] = False,
    json: options.Json = False,
) -> None:
    """Remove what no study of a store needs: shards, leftovers of killed runs.

    Files of other names, such as figures and reports, are left alone.

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
        show_line(f"{why}: {count(len(ones), 'file')}, {size}")
        for one in ones:
            show_line(f"  {_relative(directory, one.path)}")
    done = "would be removed" if dry_run else "removed"
    what = count(len(removed), "file") if removed else "nothing"
    size = f", {file_size(total)}" if removed else ""
    show_line(f"{directory}: {what} {done}{size}.")


def _relative(directory: Path, path: Path) -> str:
    return path.relative_to(directory).as_posix()


@store.command("export")
def export_(
    directory: Directory,
    output: Annotated[Path, option("FILE", "The file: .parquet, .csv or .csv.gz.")],
    table: Annotated[
        str,
        option(
            "TABLE",
            "final (each trial), curve (each round), plays, regret (each trial and round), "
            "ratios or graph.",
        ),
    ] = "final",
    study: options.StudyKeys = None,
    partial: Annotated[bool, flag("--partial", "Take the trials that are there.")] = False,
) -> None:
    """Write a table of all simulations to one file, the swept parameters in front.

    Example: graphbandits store export my-study --table regret --output regret.parquet
    """
    from graphbandits.experiments.export import export
    from graphbandits.experiments.study import listed

    chosen = graphbandits.open_studies(directory).chosen(study)
    rows = export(chosen, table, output, partial)
    if table != "graph":
        for one in chosen:
            if missing := one.progress().missing:
                typer.echo(f"not complete: {one.key}: {listed(missing)}", err=True)
    show_line(f"{output}: {rows} rows, {file_size(output.stat().st_size)}")


def report(
    directory: Annotated[Path, typer.Argument(help="A directory that runs wrote to.")],
    study: options.StudyKeys = None,
    output: Annotated[
        str | None,
        option(
            "FILE",
            "The page to write, with its numbers beside it as .json; report.html and "
            "summary.json in the directory if unset.",
        ),
    ] = None,
    plugin: options.Plugin = None,
) -> None:
    """Write report.html about the studies of a store, complete or not.

    Example: graphbandits report figures --output page.html
    """
    if output == "":
        raise InputError("--output is the page to write, a file .html: its name is empty")
    load(plugin)
    from graphbandits.experiments.outputs import write_pages

    chosen = graphbandits.open_studies(directory).chosen(study)
    written = write_pages(chosen, output)
    show("Written:")
    for path in written:
        show_line(f"  {path}")
    for one in chosen:
        progress = one.progress()
        if not progress.complete:
            show_line(
                f"Not complete: {one.key}, {progress.done} of {progress.trials} trials. To go "
                f"on: {one.rerun}"
            )


def compare(
    directory: Annotated[
        list[Path], typer.Argument(help="Directories that runs wrote to.", metavar="DIR...")
    ],
    reference: Annotated[
        str | None, option("POLICY", "Show differences from this policy; from the best if unset.")
    ] = None,
    json: options.Json = False,
) -> None:
    """Compare the policies of a store, or of several where the problem is the same.

    Policies of several stores that met the same worlds are compared trial by trial; so are two
    versions of a policy. All intervals of a table hold together.

    Example: graphbandits compare my-study --reference ts-n
    """
    from graphbandits.experiments.study_comparison import compare_stores

    compared = compare_stores([graphbandits.open_studies(path) for path in directory], reference)
    if json:
        print_json(compared.to_dict())
        return
    for piece, group in groupby(compared.comparisons, lambda one: one.places[0].sweep_slice):
        found = list(group)
        if piece is None:
            for one in found:
                title = f"{_title(one)}: {one.places[0].study.title}"
                show(formatting.comparison_table(one, title) if one.rows else title)
                _print_notes(one)
                show()
            continue
        shown = {one.places[0].value: one for one in found if one.rows}
        title, width = f"{_title(found[0])}: {piece.title}", formatting.plain_console().width
        for table in formatting.comparison_tables(shown, title, piece.label, width):
            show(table)
        marks = "* marks the least at each value, = what is no clear difference from it."
        if compared.reference is not None:
            marks = f"< marks less than {compared.reference}, > more, = what is no clear difference from it."
        show(f"Mean regret (standard error); {marks}")
        for one in found:
            _print_notes(one, f"at {one.places[0].value}: ")
        show()
    if compared.alone:
        show("Without a partner in another directory:")
        for study, places in groupby(compared.alone, lambda place: place.study):
            mine = list(places)
            whole = f"{mine[0].store}: {study.key}, all of its {len(mine)} cells"
            for text in [whole] if len(mine) == len(study.cells) > 1 else map(str, mine):
                show_line(f"  {text}")
    elif not compared.comparisons:
        show("There is nothing to compare.")


def _title(one: ProblemComparison) -> str:
    """The places that a comparison is of."""
    return " and ".join(dict.fromkeys(f"{p.store}/{p.study.key}" for p in one.places))


def _print_notes(one: ProblemComparison, where: str = "") -> None:
    for note in one.notes:
        show_line(f"{where}{note}")
    for version in one.versions:
        d, how = version.difference, "independent"
        if d.paired:
            how = f"paired, differs in {version.differing} of {version.trials} trials"
        show_line(f"{where}{d.first} - {d.second}: {formatting.difference_text(d)}, {how}")
