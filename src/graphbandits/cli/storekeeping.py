"""What ``graphbandits store`` prints."""

from __future__ import annotations

from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import Any

from rich.console import Console

from graphbandits.cli.show import file_size, plain_console, print_json
from graphbandits.engine.progress import progress_bar
from graphbandits.store import Store
from graphbandits.store.check import Finding, verify
from graphbandits.store.contents import Amount, StudyEntry, contents_of
from graphbandits.store.garbage import Removed, gc


def show(directory: Path, as_json: bool) -> None:
    """``store ls``."""
    store = Store.open(directory)
    contents, runs = contents_of(store), store.others()
    if as_json:
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
            "'graphbandits store gc' removes them.",
            soft_wrap=True,
        )
    for run in runs:
        console.print(f"At work here now: {run}.", soft_wrap=True)


def check(directory: Path, as_json: bool) -> int:
    """``store verify``; the exit code."""
    store = Store.open(directory)
    shards = contents_of(store).total.shards
    console, findings = plain_console(), []
    with progress_bar("reading shards", shards) as advance:
        for finding in verify(store, lambda done, of: advance(1)):
            findings.append(finding)
            if not as_json:
                _print(console, store, finding)
    wrong = sum(finding.wrong for finding in findings)
    if as_json:
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
    return 1 if wrong else 0


def tidy(directory: Path, dry_run: bool, as_json: bool) -> None:
    """``store gc``."""
    removed = gc(Store.open(directory), dry_run)
    total = sum(one.bytes for one in removed)
    if as_json:
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


def _print_study(console: Console, entry: StudyEntry) -> None:
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
