"""``graphbandits check`` and ``audit``: contract tests and checks of the paper's statements."""

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
    print_table,
    print_text,
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
        typer.Argument(help="Python file with plug-ins, or the name of a plug-in."),
    ],
    only: Annotated[
        list[str] | None, option("CHECK", "Run only this check; repeat for several.")
    ] = None,
    json: options.Json = False,
) -> None:
    """Run the contract tests on a policy, graph, world or posterior.

    Prints one verdict per check. The exit code is 1 if a check fails.

    Example: graphbandits check my_ucb.py
    """
    printer = _Printer()
    finished = None if json else printer.print
    verdicts = graphbandits.check_plugins(plugin, only=only or [], progress=True, finished=finished)
    if json:
        print_json([verdict.to_dict() for verdict in verdicts])
    printer.print_totals()
    raise typer.Exit(0 if all(verdict.ok for verdict in verdicts) else 1)


class _Printer:
    """Prints verdicts as they arrive, and the totals of each plug-in."""

    def __init__(self) -> None:
        self._console = plain_console()
        self._verdicts: list[Verdict] = []  # of the current plug-in
        self._first_check: dict[str, str] = {}  # the check that first reported a failure

    def print(self, verdict: Verdict) -> None:
        console, name = self._console, verdict.check.name
        if not self._verdicts or verdict.example is not self._verdicts[-1].example:
            self.print_totals()
            console.print(f"{verdict.check.kind} {verdict.plugin}", style="bold")
        self._verdicts.append(verdict)
        style = STYLES[verdict.outcome]
        console.print(f"  {verdict.outcome:9}", style=style, end="")
        promise = _wrapped(_first_clause(verdict.check.promise), console.width, 33)
        console.print(f"{name:22}{promise}", soft_wrap=True)
        if verdict.why:
            first = self._first_check.setdefault(_failure_cause(verdict.why), name)
            why = verdict.why if first == name else f"same failure as in '{first}' above"
            shown = _wrapped(why, console.width, 11)
            console.print(f"{'':11}{shown}", style=style, soft_wrap=True)

    def print_totals(self) -> None:
        """Print the totals of the current plug-in and reset them."""
        if self._verdicts:
            found = [verdict.outcome for verdict in self._verdicts]
            sums = [f"{found.count(one)} {one}" for one in STYLES if one in found]
            self._console.print(f"  {count(len(found), 'check')}: {', '.join(sums)}.\n")
        self._verdicts, self._first_check = [], {}


def _first_clause(promise: str) -> str:
    """Return the part of a promise before the colon, which fits in one line.

    >>> _first_clause("Trials do not see each other: a block gives each its bits.")
    'Trials do not see each other.'
    """
    return promise.partition(":")[0].rstrip(".") + "."


def _failure_cause(why: str) -> str:
    """Return the cause of a failure without its location, to report each bug once.

    >>> _failure_cause("star: policy 'x' failed in round 3, in propose: x.py, line 9: NameError: n")
    'x.py, line 9: NameError: n'
    """
    match = re.search(r"failed in round \d+, in \w+: (.*?)(?:\): declare .*)?$", why)
    return match[1] if match else re.sub(r"^[^:]*: |round \d+", "", why)


def _wrapped(text: str, width: int, indent: int) -> str:
    """Wrap a text to the terminal width, and indent all lines but the first."""
    return ("\n" + " " * indent).join(textwrap.wrap(text, max(20, width - indent - 1)))


def audit(
    experiment: options.ExperimentName,
    trials: Annotated[int | None, number("Trials per policy. Default: 100.")] = None,
    seed: options.FileSeed = None,
    policy: Annotated[
        list[str] | None,
        option(
            "NAME",
            "Additional policy to audit; repeat for several. Policies of the experiment that a "
            "theorem covers are always audited.",
        ),
    ] = None,
    gain: Annotated[
        str,
        option(
            "GAIN",
            "Information gain: joint (exact), bound (G h), or auto (joint if it is fast to "
            "compute, else bound).",
        ),
    ] = "auto",
    workers: options.Workers = None,
    plugin: options.Plugin = None,
    json: options.Json = False,
) -> None:
    """Check the paper's statements in every round of an experiment.

    Checks Propositions 1 and 2, Lemmas 2 and 3 and Theorems 1 to 3 for the policies and graphs
    that they cover. If a statement is violated, prints a command that shows the state, and exits
    with code 1.

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
    print_text(f"{simulation.title}: {', '.join(plan.policies)}; {size}")
    table = plain_table("", ["statement", "content"], ["checks", "tightest margin"])
    for tally in found.tallies:
        checks = f"{tally.checks:,}" if tally.checks else "none"
        broken = f"{tally.violations:,} violations" if tally.violations else _margin(tally)
        style = "bold red" if tally.violations else None
        table.add_row(tally.statement.name, tally.statement.text, checks, broken, style=style)
    print_table(table)
    numbers = ["mean regret", "s.e.", "bound of Lemma 1", "bound of its theorem"]
    means = plain_table("", ["policy"], numbers)
    for curve in found.curves:
        theorem = f"{curve.bound[-1]:.2f} ({curve.theorem})" if curve.theorem else "none"
        style = "bold red" if curve.broken else None
        ends = [curve.mean[-1], curve.standard_error[-1], curve.general[-1]]
        # the standard error of a single trial is undefined
        cells = ("unknown" if math.isnan(end) else f"{end:.2f}" for end in ends)
        means.add_row(curve.policy, *cells, theorem, style=style)
    print_table(means)
    rounds = found.rounds
    print_text(
        f"Checked {rounds.share:.1%} of {rounds.all:,} rounds. In {rounds.unchecked:,} rounds the "
        f"information gain\nof the play is below {FLOOR:g} nats: not checked (below {SMALL:g} in "
        f"{rounds.small:,} rounds, {rounds.small / rounds.all:.1%})."
    )
    if found.gain != "joint":
        print_text(f"Psi is computed with G h, and Proposition 1 is not checked: {found.why}.")
    for name, why in found.skipped.items():
        print_text(f"{name} is not checked: {why}.")
    verdict = "A statement is violated." if found.broken else "No violation."
    if rounds.unchecked == rounds.all:
        verdict = "Nothing was checked: no play has an information gain."
    print_text(f"{verdict} {duration(simulation.seconds)}.\n")


def _margin(tally: Tally) -> str:
    """Format the smallest relative distance to the limit.

    >>> from graphbandits.theory.auditor import STATEMENTS, Tally
    >>> _margin(Tally(STATEMENTS[0], 10, 0.25, "ts-n")), _margin(Tally(STATEMENTS[0]))
    ('25.0% (ts-n)', '')
    """
    if not tally.checks:
        return ""
    share = f"{tally.margin:.1%}" if abs(tally.margin) >= 1e-3 else f"{tally.margin:.0e}"
    return f"{share} ({tally.nearest})"
