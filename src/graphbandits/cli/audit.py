"""``graphbandits audit``: the paper's statements, checked in every round of an experiment."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated

import typer

from graphbandits.cli.options import ExperimentName, FileSeed, Json, Plugin, Workers, number

if TYPE_CHECKING:
    from graphbandits.experiments.audit import SimulationAudit
    from graphbandits.theory.audits import Tally


def audit(
    experiment: ExperimentName,
    trials: Annotated[int | None, number("Trials of each policy; 100 if unset.")] = None,
    seed: FileSeed = None,
    policy: Annotated[
        list[str] | None,
        typer.Option(
            help="A policy to audit besides those of the experiment that a theorem is about; "
            "repeat for several.",
            metavar="NAME",
        ),
    ] = None,
    gain: Annotated[
        str,
        typer.Option(
            help="What information is by: joint (exact), bound (G h), or auto: joint where it is "
            "quick.",
            metavar="GAIN",
        ),
    ] = "auto",
    workers: Workers = None,
    plugin: Plugin = None,
    json: Json = False,
) -> None:
    """Check the paper's statements in every round of an experiment.

    Propositions 1 and 2, Lemmas 2 and 3 and Theorems 1 to 3, for the policies and graphs that each
    is about. Ends with exit code 1 if one is violated, and prints the command that shows the state.

    Example: graphbandits audit paper-1a --trials 20
    """
    from graphbandits.cli.formatting import print_json
    from graphbandits.experiments.audit import audit_experiment

    found = audit_experiment(
        experiment,
        trials=trials,
        seed=seed,
        policies=policy or [],
        plugins=plugin or [],
        gain=gain,
        workers=workers,
        finished=None if json else _print,
    )
    if json:
        print_json(found.to_dict())
    for sentence in found.broken:
        typer.echo(f"Error: {sentence}", err=True)
    raise typer.Exit(0 if found.holds else 1)


def _print(simulation: SimulationAudit) -> None:
    from graphbandits.cli.formatting import count, duration, plain_console
    from graphbandits.cli.tables import plain_table
    from graphbandits.theory.audits import FLOOR, SMALL

    console, plan, found = plain_console(), simulation.plan, simulation.audit
    size = f"{count(plan.trials, 'trial')} of {plan.horizon} rounds, seed {plan.seed}"
    console.print(f"{simulation.title}: {', '.join(plan.policies)}; {size}")
    table = plain_table("", ["statement", "says"], ["checks", "tightest margin"])
    for tally in found.tallies:
        checks = f"{tally.checks:,}" if tally.checks else "none"
        broken = f"{tally.violations:,} violations" if tally.violations else _margin(tally)
        style = "bold red" if tally.violations else None
        table.add_row(tally.statement.name, tally.statement.text, checks, broken, style=style)
    console.print(table)
    numbers = ["mean regret", "s.e.", "Lemma 1 allows", "its theorem allows"]
    means = plain_table("", ["policy"], numbers)
    for curve in found.curves:
        theorem = f"{curve.bound[-1]:.2f} ({curve.theorem})" if curve.theorem else "there is none"
        style = "bold red" if curve.broken else None
        cells = (_two(x[-1]) for x in (curve.mean, curve.standard_error, curve.general))
        means.add_row(curve.policy, *cells, theorem, style=style)
    console.print(means)
    rounds = found.rounds
    console.print(
        f"Checked {rounds.share:.1%} of {rounds.all:,} rounds: in {rounds.unchecked:,} the play "
        f"teaches less than {FLOOR:g} nats\n(and less than {SMALL:g} in {rounds.small:,}, "
        f"{rounds.small / rounds.all:.1%}, those included)."
    )
    if found.gain != "joint":
        console.print(f"Psi is by G h, and Proposition 1 is not checked: {found.why}.")
    verdict = "A statement is violated." if found.broken else "No violation."
    if rounds.unchecked == rounds.all:
        verdict = "Nothing could be checked: no play teaches anything."
    console.print(f"{verdict} {duration(simulation.seconds)}.\n")


def _two(value: float) -> str:
    """Two decimals, if there is a number: one trial has no standard error."""
    return "unknown" if math.isnan(value) else f"{value:.2f}"


def _margin(tally: Tally) -> str:
    """How far from its limit the nearest number was, relatively.

    >>> from graphbandits.theory.audits import STATEMENTS, Tally
    >>> _margin(Tally(STATEMENTS[0], 10, 0.25, "ts-n")), _margin(Tally(STATEMENTS[0]))
    ('25.0% (ts-n)', '')
    """
    if not tally.checks:
        return ""
    share = f"{tally.margin:.1%}" if abs(tally.margin) >= 1e-3 else f"{tally.margin:.0e}"
    return f"{share} ({tally.nearest})"
