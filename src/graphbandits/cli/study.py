"""``graphbandits store`` and ``report``: verify, export, remove and report stored results."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

import graphbandits
from graphbandits.cli import _ui

store = typer.Typer(no_args_is_help=True, help="Verify, export and remove stored results.")

Directory = Annotated[Path, _ui.argument("DIR", "Output directory of 'graphbandits run'.")]


@store.command("verify")
def verify_(directory: Directory, json: _ui.Json = False) -> None:
    """Verify the checksum of every stored file.

    Prints each problem with a remedy. The exit code is 1 if there is one.

    Example: graphbandits store verify paper-1a
    """
    from graphbandits.simulation.progress import progress_bar
    from graphbandits.study.directory import Directory, verify

    opened = Directory.open(directory)
    shards = sum(len(opened.shards(series)) for series in opened.series())
    with progress_bar("reading shards", shards) as advance:
        findings = verify(opened, advance)
    files = [
        {"file": one.path.relative_to(directory).as_posix(), "problem": one.problem}
        for one in findings
    ]
    if json:
        _ui.print_json({"directory": str(directory), "shards": shards, "findings": files})
    else:
        for one in files:
            _ui.print_line(f"{one['file']} {one['problem']}")
        problems = _ui.count(len(files), "problem") if files else "no problems"
        _ui.print_line(f"{directory}: {_ui.count(shards, 'shard')} read, {problems}.")
    raise typer.Exit(1 if findings else 0)


@store.command()
def remove(
    directory: Directory,
    study: Annotated[str, _ui.option("KEY", "Study to remove, or whose trials to remove.")],
    policy: Annotated[
        list[str] | None,
        _ui.option("NAME", "Remove only the trials of this policy; repeat for several."),
    ] = None,
) -> None:
    """Remove a study and all trials that no other study of the directory uses.

    Figures and reports are kept.

    Example: graphbandits store remove figures --study 1a
    """
    graphbandits.open_study(directory, study).remove(policy)


@store.command("export")
def export_(
    directory: Directory,
    output: Annotated[Path, _ui.option("FILE", "File to write: .parquet, .csv or .csv.gz.")],
    table: Annotated[
        str,
        _ui.option(
            "TABLE",
            "final, curve, plays, regret, ratios, graph, actions, observations or eligible.",
        ),
    ] = "final",
    study: _ui.StudyKeys = None,
    partial: Annotated[
        bool, _ui.flag("--partial", "Export incomplete studies: use the trials that exist.")
    ] = False,
) -> None:
    """Export a table of all simulations to one file; swept parameters are the first columns.

    Example: graphbandits store export my-study --table regret --output regret.parquet
    """
    from graphbandits.study.export import export
    from graphbandits.study.study import join_limited

    chosen = graphbandits.open_studies(directory).select(study)
    rows = export(chosen, table, output, partial)
    if table != "graph":
        for one in chosen:
            if missing := one.progress().missing:
                typer.echo(f"incomplete: {one.key}: {join_limited(missing)}", err=True)
    _ui.print_line(f"{output}: {rows} rows")


def report(
    directory: Annotated[Path, typer.Argument(help="Output directory of a run.")],
    study: _ui.StudyKeys = None,
    output: Annotated[
        str | None,
        _ui.option(
            "FILE",
            "HTML file, with a .json file next to it. Default: report.html and summary.json.",
        ),
    ] = None,
    plugin: _ui.Plugin = None,
) -> None:
    """Write an HTML report about the studies of a directory, complete or incomplete.

    Example: graphbandits report figures --output page.html
    """
    _ui.load(plugin)
    from graphbandits.study.export import write_pages

    chosen = graphbandits.open_studies(directory).select(study)
    written = write_pages(chosen, output)
    _ui.print_text("Written:")
    for path in written:
        _ui.print_line(f"  {path}")
    for one in chosen:
        progress = one.progress()
        if not progress.complete:
            _ui.print_line(
                f"Incomplete: {one.key}, {progress.done} of {progress.trials} trials. To "
                f"continue: {one.rerun}"
            )
