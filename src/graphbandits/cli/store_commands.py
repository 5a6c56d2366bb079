"""``graphbandits store``: list, verify, tidy and export what experiments have left on disk."""

from __future__ import annotations

from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from graphbandits.cli.options import Json

if TYPE_CHECKING:
    from rich.console import Console

    from graphbandits.store import Store
    from graphbandits.store.maintenance import Amount, Finding, Removed, StudyEntry

store = typer.Typer(no_args_is_help=True, help="Look after what experiments have left on disk.")

Directory = Annotated[
    Path, typer.Argument(help="A directory that 'graphbandits run' wrote to.", metavar="DIR")
]


@store.command("ls")
def list_(directory: Directory, json: Json = False) -> None:
    """Show the studies of a store, how far each has come, and the disk they take.

    Example: graphbandits store ls paper-1a
    """
    from graphbandits.cli.formatting import plain_console, print_json
    from graphbandits.store import Store
    from graphbandits.store.maintenance import contents_of

    store = Store.open(directory)
    contents, runs = contents_of(store), store.others()
    if json:
        print_json(
            {
                "store": str(directory),
                "studies": [_plain(entry) for entry in contents.studies],
                "total": asdict(contents.total),
                "without_study": asdict(contents.without_study),
                "running": [
                    {
                        "kind": run.kind,
                        "host": run.host,
                        "pid": run.pid,
                        "started": run.started,
                        "command": run.command,
                    }
                    for run in runs
                ],
            }
        )
        return
    console = plain_console()
    for entry in contents.studies:
        _print_study(console, entry)
    studies = _count(len(contents.studies), "study", "studies")
    console.print(f"{directory}: {studies}, {_text(contents.total)}.", soft_wrap=True)
    if contents.without_study.shards:
        console.print(
            f"No study refers to {_text(contents.without_study)}: "
            "'graphbandits store gc --dry-run' lists what it would remove.",
            soft_wrap=True,
        )
    for run in runs:
        console.print(f"At work here now: {run}.", soft_wrap=True)


@store.command()
def verify(directory: Directory, json: Json = False) -> None:
    """Read every file of a store and hold it against its checksum.

    Ends with exit code 1 if something is wrong, and says what to do.

    Example: graphbandits store verify paper-1a
    """
    from graphbandits.cli.formatting import plain_console, print_json
    from graphbandits.engine.progress import progress_bar
    from graphbandits.store import Store
    from graphbandits.store.maintenance import contents_of
    from graphbandits.store.maintenance import verify as findings_in

    store = Store.open(directory)
    shards = contents_of(store).total.shards
    console, findings = plain_console(), []
    with progress_bar("reading shards", shards) as advance:
        for finding in findings_in(store, lambda done, of: advance(1)):
            findings.append(finding)
            if not json:
                _print(console, store, finding)
    wrong = sum(finding.wrong for finding in findings)
    if json:
        print_json(
            {
                "store": str(directory),
                "shards": shards,
                "wrong": wrong,
                "findings": [
                    {
                        "file": _where(store, finding),
                        "wrong": finding.wrong,
                        "what": finding.what,
                        "advice": finding.advice,
                    }
                    for finding in findings
                ],
            }
        )
    else:
        read = _count(shards, "shard", "shards")
        verdict = "nothing is wrong" if not wrong else _count(wrong, "thing is", "things are")
        ending = "" if not wrong else " wrong"
        console.print(f"{directory}: {read} read, {verdict}{ending}.", soft_wrap=True)
    raise typer.Exit(1 if wrong else 0)


@store.command()
def gc(
    directory: Directory,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only tell what would go.")] = False,
    extra_policies: Annotated[
        bool,
        typer.Option(
            "--extra-policies",
            help="Also remove the trials of policies that the last run of a study left out.",
        ),
    ] = False,
    json: Json = False,
) -> None:
    """Remove what no study of a store needs: shards, leftovers of killed runs.

    Files of other names, such as figures and reports, are left alone.

    Example: graphbandits store gc paper-1a --dry-run
    """
    from graphbandits.cli.formatting import file_size, plain_console, print_json
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
    console = plain_console()
    groups: dict[str, list[Removed]] = {}
    for one in removed:
        groups.setdefault(one.why, []).append(one)
    for why, ones in groups.items():
        size = file_size(sum(one.bytes for one in ones))
        console.print(f"{why}: {_count(len(ones), 'file', 'files')}, {size}", soft_wrap=True)
        for one in ones:
            console.print(f"  {_relative(directory, one.path)}", soft_wrap=True)
    done = "would be removed" if dry_run else "removed"
    what = _count(len(removed), "file", "files") if removed else "nothing"
    size = f", {file_size(total)}" if removed else ""
    console.print(f"{directory}: {what} {done}{size}.", soft_wrap=True)


@store.command("export")
def export_(
    directory: Directory,
    output: Annotated[
        Path, typer.Option(help="The file: .parquet, .csv or .csv.gz.", metavar="FILE")
    ],
    table: Annotated[
        str,
        typer.Option(
            help="final (each trial), curve (each round), plays, regret (each trial and round), "
            "ratios or graph.",
            metavar="TABLE",
        ),
    ] = "final",
    study: Annotated[
        list[str] | None,
        typer.Option(help="A study of it; repeat for several. All if unset.", metavar="KEY"),
    ] = None,
    partial: Annotated[
        bool, typer.Option("--partial", help="Take the trials that are there.")
    ] = False,
) -> None:
    """Write a table of all simulations to one file, the swept parameters in front.

    Example: graphbandits store export my-study --table regret --output regret.parquet
    """
    from graphbandits.cli.formatting import file_size, plain_console
    from graphbandits.experiments import open_studies
    from graphbandits.experiments.export import export
    from graphbandits.experiments.study import listed

    chosen = open_studies(directory).chosen(study)
    rows = export(chosen, table, output, partial)
    if table != "graph":
        for one in chosen:
            if missing := one.progress().missing:
                typer.echo(f"not complete: {one.key}: {listed(missing)}", err=True)
    room = file_size(output.stat().st_size)
    plain_console().print(f"{output}: {rows} rows, {room}", soft_wrap=True)


def _print_study(console: Console, entry: StudyEntry) -> None:
    from graphbandits.cli.formatting import file_size

    console.print(entry.key, style="bold", end="")
    console.print(f"  {entry.title or 'damaged'}", soft_wrap=True)
    if entry.damage:
        console.print(f"  {entry.damage}", soft_wrap=True)
        return
    size = (
        _count(entry.cells, "cell", "cells"),
        _count(len(entry.policies), "policy", "policies"),
        _count(entry.trials, "trial", "trials"),
    )
    amount = f"{_count(entry.amount.shards, 'shard', 'shards')}, {file_size(entry.amount.bytes)}"
    when = datetime.fromtimestamp(entry.changed).strftime("%Y-%m-%d %H:%M")
    console.print(
        f"  {', '.join(size)}: {_share(entry.done, entry.of)} done; {amount}; last run {when}",
        soft_wrap=True,
    )


def _share(done: int, of: int) -> str:
    """All is 100 %, and nothing less is.

    >>> _share(9999, 10000), _share(1, 10000), _share(3, 3), _share(0, 3)
    ('99 %', 'under 1 %', 'all', 'none')
    """
    if done in (0, of):
        return "all" if done else "none"
    return f"{100 * done // of} %" if 100 * done >= of else "under 1 %"


def _text(amount: Amount) -> str:
    from graphbandits.cli.formatting import file_size

    shards = _count(amount.shards, "shard", "shards")
    return f"{shards} in {amount.series} series, {file_size(amount.bytes)}"


def _count(number: int, one: str, many: str) -> str:
    return f"{number} {one if number == 1 else many}"


def _print(console: Console, store: Store, finding: Finding) -> None:
    mark, style = ("wrong", "red") if finding.wrong else ("note", "yellow")
    console.print(f"{mark:6}", style=style, end="")
    console.print(f"{_where(store, finding)}", soft_wrap=True)
    console.print(f"{'':6}{finding.what}: {finding.advice}", soft_wrap=True)


def _where(store: Store, finding: Finding) -> str:
    return _relative(store.path, finding.path)


def _relative(directory: Path, path: Path) -> str:
    return path.relative_to(directory).as_posix()


def _plain(entry: StudyEntry) -> dict[str, Any]:
    plain = asdict(entry)
    amount = plain.pop("amount")
    changed = datetime.fromtimestamp(plain.pop("changed")).astimezone().isoformat("T", "seconds")
    return plain | {"changed": changed, "shards": amount["shards"], "bytes": amount["bytes"]}
