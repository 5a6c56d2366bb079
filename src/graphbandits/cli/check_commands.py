"""``graphbandits check`` and ``audit``: the contract of plug-ins, and the paper's statements."""

from __future__ import annotations

import math
import re
import textwrap
from typing import TYPE_CHECKING, Annotated

import typer

import graphbandits
from graphbandits.cli import options
from graphbandits.cli.formatting import (
    count,
    duration,
    plain_console,
    plain_table,
    print_json,
    show,
)
from graphbandits.cli.options import number, option

if TYPE_CHECKING:
    from graphbandits.experiments.experiment_audit import SimulationAudit
    from graphbandits.testing import Verdict
    from graphbandits.theory.auditor import Tally

STYLES = {"passed": "green", "failed": "bold red", "exempt": "yellow", "needless": "bold red"}


def check(
    plugin: Annotated[
        list[str],
        typer.Argument(help="A Python file with plug-ins of your own, or the name of a policy."),
    ],
    only: Annotated[
        list[str] | None, option("CHECK", "Run this check only; repeat for several.")
    ] = None,
    json: options.Json = False,
) -> None:
    """Try the contract on a policy, graph or posterior: a verdict for each promise.

    Ends with exit code 1 if a promise is broken.

    Example: graphbandits check my_ucb.py
    """
    printer = _Printer()
    finished = None if json else printer.print
    verdicts = graphbandits.check_plugins(plugin, only=only or [], progress=True, finished=finished)
    if json:
        print_json([verdict.to_dict() for verdict in verdicts])
    printer.print_sums()
    raise typer.Exit(0 if all(verdict.ok for verdict in verdicts) else 1)


class _Printer:
    """Prints verdicts as they come, and the sums of each plug-in."""

    def __init__(self) -> None:
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


def audit(
    experiment: options.ExperimentName,
    trials: Annotated[int | None, number("Trials of each policy; 100 if unset.")] = None,
    seed: options.FileSeed = None,
    policy: Annotated[
        list[str] | None,
        option(
            "NAME",
            "A policy to audit besides those of the experiment that a theorem is about; "
            "repeat for several.",
        ),
    ] = None,
    gain: Annotated[
        str,
        option(
            "GAIN",
            "What information is by: joint (exact), bound (G h), or auto: joint where it is quick.",
        ),
    ] = "auto",
    workers: options.Workers = None,
    plugin: options.Plugin = None,
    json: options.Json = False,
) -> None:
    """Check the paper's statements in every round of an experiment.

    Propositions 1 and 2, Lemmas 2 and 3 and Theorems 1 to 3, for the policies and graphs that each
    is about. Ends with exit code 1 if one is violated, and prints the command that shows the state.

    Example: graphbandits audit paper-1a --trials 20
    """
    found = graphbandits.audit_experiment(
        experiment,
        trials=trials,
        seed=seed,
        policies=policy or [],
        plugins=plugin or [],
        gain=gain,
        workers=workers,
        finished=None if json else _print_audit,
    )
    if json:
        print_json(found.to_dict())
    for sentence in found.broken:
        typer.echo(f"Error: {sentence}", err=True)
    raise typer.Exit(0 if found.holds else 1)


def _print_audit(simulation: SimulationAudit) -> None:
    from graphbandits.theory.auditor import FLOOR, SMALL

    plan, found = simulation.plan, simulation.audit
    size = f"{count(plan.trials, 'trial')} of {plan.horizon} rounds, seed {plan.seed}"
    show(f"{simulation.title}: {', '.join(plan.policies)}; {size}")
    table = plain_table("", ["statement", "says"], ["checks", "tightest margin"])
    for tally in found.tallies:
        checks = f"{tally.checks:,}" if tally.checks else "none"
        broken = f"{tally.violations:,} violations" if tally.violations else _margin(tally)
        style = "bold red" if tally.violations else None
        table.add_row(tally.statement.name, tally.statement.text, checks, broken, style=style)
    show(table)
    numbers = ["mean regret", "s.e.", "Lemma 1 allows", "its theorem allows"]
    means = plain_table("", ["policy"], numbers)
    for curve in found.curves:
        theorem = f"{curve.bound[-1]:.2f} ({curve.theorem})" if curve.theorem else "there is none"
        style = "bold red" if curve.broken else None
        ends = [curve.mean[-1], curve.standard_error[-1], curve.general[-1]]
        # one trial has no standard error
        cells = ("unknown" if math.isnan(end) else f"{end:.2f}" for end in ends)
        means.add_row(curve.policy, *cells, theorem, style=style)
    show(means)
    rounds = found.rounds
    show(
        f"Checked {rounds.share:.1%} of {rounds.all:,} rounds: in {rounds.unchecked:,} the play "
        f"teaches less than {FLOOR:g} nats\n(and less than {SMALL:g} in {rounds.small:,}, "
        f"{rounds.small / rounds.all:.1%}, those included)."
    )
    if found.gain != "joint":
        show(f"Psi is by G h, and Proposition 1 is not checked: {found.why}.")
    verdict = "A statement is violated." if found.broken else "No violation."
    if rounds.unchecked == rounds.all:
        verdict = "Nothing could be checked: no play teaches anything."
    show(f"{verdict} {duration(simulation.seconds)}.\n")


def _margin(tally: Tally) -> str:
    """How far from its limit the nearest number was, relatively.

    >>> from graphbandits.theory.auditor import STATEMENTS, Tally
    >>> _margin(Tally(STATEMENTS[0], 10, 0.25, "ts-n")), _margin(Tally(STATEMENTS[0]))
    ('25.0% (ts-n)', '')
    """
    if not tally.checks:
        return ""
    share = f"{tally.margin:.1%}" if abs(tally.margin) >= 1e-3 else f"{tally.margin:.0e}"
    return f"{share} ({tally.nearest})"
