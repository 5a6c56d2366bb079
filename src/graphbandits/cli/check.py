"""``graphbandits check``: the contract, promise by promise."""

from __future__ import annotations

import re
import textwrap
from typing import TYPE_CHECKING, Annotated

import typer

from graphbandits.cli.options import Json

if TYPE_CHECKING:
    from graphbandits.testing import Verdict

STYLES = {"kept": "green", "broken": "bold red", "excused": "yellow", "needless": "bold red"}


def check(
    plugin: Annotated[
        list[str],
        typer.Argument(help="A Python file with plug-ins of your own, or the name of a policy."),
    ],
    only: Annotated[
        list[str] | None,
        typer.Option(help="Run this check only; repeat for several.", metavar="CHECK"),
    ] = None,
    json: Json = False,
) -> None:
    """Try the contract on a policy, graph or posterior: a verdict for each promise.

    Ends with exit code 1 if a promise is broken.

    Example: graphbandits check my_ucb.py
    """
    from graphbandits.cli.formatting import print_json
    from graphbandits.testing import check_plugins

    printer = _Printer()
    finished = None if json else printer.print
    verdicts = check_plugins(plugin, only=only or [], progress=True, finished=finished)
    if json:
        print_json([verdict.to_dict() for verdict in verdicts])
    else:
        printer.print_sums()
    raise typer.Exit(0 if all(verdict.ok for verdict in verdicts) else 1)


class _Printer:
    """Prints verdicts as they come, and the sums of each plug-in."""

    def __init__(self) -> None:
        from graphbandits.cli.formatting import plain_console

        self._console = plain_console()
        self._verdicts: list[Verdict] = []  # of one plug-in
        self._told: dict[str, str] = {}

    def print(self, verdict: Verdict) -> None:
        console, name = self._console, verdict.check.name
        if not self._verdicts or verdict.example is not self._verdicts[-1].example:
            self.print_sums()
            console.print(f"{verdict.check.kind} {verdict.plugin}", style="bold")
        self._verdicts.append(verdict)
        style = STYLES[verdict.outcome]
        console.print(f"  {verdict.outcome:9}", style=style, end="")
        promise = _wrapped(_first_clause(verdict.check.promise), console.width, 33)
        console.print(f"{name:22}{promise}", soft_wrap=True)
        if verdict.why:
            seen = self._told.setdefault(_gist(verdict.why), name)
            why = verdict.why if seen == name else f"the same failure as in '{seen}' above"
            shown = _wrapped(why, console.width, 11)
            console.print(f"{'':11}{shown}", style=style, soft_wrap=True)

    def print_sums(self) -> None:
        """How many promises the plug-in keeps; the next verdict is of another one."""
        from graphbandits.cli.formatting import count

        if self._verdicts:
            found = [verdict.outcome for verdict in self._verdicts]
            sums = [f"{found.count(one)} {one}" for one in STYLES if one in found]
            self._console.print(f"  {count(len(found), 'promise')}: {', '.join(sums)}.\n")
        self._verdicts, self._told = [], {}


def _first_clause(promise: str) -> str:
    """Short enough for one line of a terminal.

    >>> _first_clause("Trials do not see each other: a block gives each its bits.")
    'Trials do not see each other.'
    """
    return promise.partition(":")[0].rstrip(".") + "."


def _gist(why: str) -> str:
    """What went wrong, without where: one bug must not read like many.

    >>> _gist("star: policy 'x' failed in round 3, in propose: x.py, line 9: NameError: n")
    'x.py, line 9: NameError: n'
    """
    place = re.search(r"failed in round \d+, in \w+: (.*?)(?:\): declare .*)?$", why)
    return place[1] if place else re.sub(r"^[^:]*: |round \d+", "", why)


def _wrapped(text: str, width: int, indent: int) -> str:
    """Lines that fit the terminal, all but the first indented."""
    return ("\n" + " " * indent).join(textwrap.wrap(text, max(20, width - indent - 1)))
