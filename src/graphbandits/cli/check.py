"""``graphbandits check``: the contract, promise by promise."""

from __future__ import annotations

import os
import re
import textwrap
from collections.abc import Iterator
from typing import Any

from graphbandits.cli.show import announce_compilation, plain_console, print_json
from graphbandits.errors import InputError, nearest
from graphbandits.plugins import load_plugin
from graphbandits.registry import PACKAGES, build, examples_of, registered
from graphbandits.testing import Case, Verdict, cases, contract

STYLES = {"kept": "green", "broken": "bold red", "excused": "yellow", "needless": "bold red"}


def run(targets: list[str], only: list[str], as_json: bool) -> int:
    """Print a verdict for each check as it comes; 0 if all promises are kept, else 1."""
    chosen = [plugin for target in targets for plugin in _plugins(target)]
    known = {check.name for kind, _ in chosen for check in contract(kind)}
    for name in only:
        if name not in known:
            raise InputError(f"no check '{name}': {nearest(name, known)}")
    announce_compilation()
    verdicts: list[Verdict] = []
    for kind, plugin in chosen:
        wanted = [case for case in cases(kind, plugin) if not only or case.check.name in only]
        if wanted:
            verdicts += _try(wanted, as_json)
    if as_json:
        print_json([_plain(verdict) for verdict in verdicts])
    return 0 if all(verdict.ok for verdict in verdicts) else 1


def _plugins(target: str) -> Iterator[tuple[str, Any]]:
    """(kind, example) of everything in a file, or of a name."""
    if target.endswith(".py") or os.path.isfile(target):
        for kind, names in load_plugin(target).names.items():
            for name in names:
                yield from ((kind, example) for example in examples_of(registered(kind)[name]))
        return
    name = target.partition("(")[0].strip()
    kinds = [kind for kind in PACKAGES if name in registered(kind)]
    if not kinds:
        everything = [name for kind in PACKAGES for name in registered(kind)]
        raise InputError(
            f"'{target}' is neither a Python file nor a known name: {nearest(name, everything)}"
        )
    for kind in kinds:
        given = [build(kind, target)] if "(" in target else examples_of(registered(kind)[name])
        yield from ((kind, plugin) for plugin in given)


def _try(wanted: list[Case], quiet: bool) -> list[Verdict]:
    console = plain_console()
    verdicts, told = [], dict[str, str]()
    for number, case in enumerate(wanted):
        verdict = case.verdict()
        verdicts.append(verdict)
        if quiet:
            continue
        if not number:
            console.print(f"{case.check.kind} {verdict.plugin}", style="bold")
        style = STYLES[verdict.outcome]
        console.print(f"  {verdict.outcome:9}", style=style, end="")
        promise = _wrapped(_first_clause(case.check.promise), console.width, 33)
        console.print(f"{case.check.name:22}{promise}", soft_wrap=True)
        if verdict.why:
            seen = told.setdefault(_gist(verdict.why), case.check.name)
            again = seen != case.check.name
            why = f"the same failure as in '{seen}' above" if again else verdict.why
            shown = _wrapped(why, console.width, 11)
            console.print(f"{'':11}{shown}", style=style, soft_wrap=True)
    if not quiet:
        counts = {
            outcome: sum(verdict.outcome == outcome for verdict in verdicts) for outcome in STYLES
        }
        sums = ", ".join(f"{count} {outcome}" for outcome, count in counts.items() if count)
        promises = "1 promise" if len(verdicts) == 1 else f"{len(verdicts)} promises"
        console.print(f"  {promises}: {sums}.\n")
    return verdicts


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


def _plain(verdict: Verdict) -> dict[str, str]:
    return {
        "plugin": verdict.plugin,
        "kind": verdict.check.kind,
        "check": verdict.check.name,
        "promise": verdict.check.promise,
        "outcome": verdict.outcome,
        "why": verdict.why,
    }
