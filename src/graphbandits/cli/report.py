"""``graphbandits report``: a page about the studies of a store."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from graphbandits.cli.show import as_json, plain_console
from graphbandits.errors import InputError
from graphbandits.files import write_text
from graphbandits.report import missing_of, studies_of, summary_of, write_report
from graphbandits.studies import open_studies


def run(directory: Path, keys: Sequence[str], output: Path | None) -> None:
    """Write the page, and its numbers beside it."""
    page = directory / "report.html" if output is None else output
    numbers = directory / "summary.json" if output is None else output.with_suffix(".json")
    if page == numbers:
        raise InputError(f"the page is a file .html, not '{page.name}'")
    studies = open_studies(directory)
    chosen = studies.chosen(list(keys))
    entries = studies_of(studies.store, keys)
    alone = len(chosen) == 1
    title = chosen[0].title if alone else f"{len(chosen)} studies of {directory.resolve().name}"
    missing = missing_of(studies.store, keys)
    write_text(numbers, as_json(summary_of(entries)) + "\n")
    write_report(page, entries, title=title, introduction="\n\n".join(missing))
    console = plain_console()
    console.print("Written:")
    for path in (page, numbers):
        console.print(f"  {path}", soft_wrap=True)
    for study in chosen:
        progress = study.progress()
        if not progress.complete:
            console.print(
                f"Not complete: {study.key}, {progress.done} of {progress.trials} trials. To go "
                f"on: {study.rerun}",
                soft_wrap=True,
            )
