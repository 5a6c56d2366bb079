"""``graphbandits audit``: the paper's statements, held against every round of an experiment."""

from __future__ import annotations

import dataclasses
import math
import time
from dataclasses import replace
from typing import Any

import typer
from rich.box import SIMPLE
from rich.table import Table

from graphbandits.cli.show import (
    announce_compilation,
    duration,
    plain_console,
    print_json,
)
from graphbandits.engine import Plan
from graphbandits.engine.plan import point_text
from graphbandits.engine.progress import progress_bar
from graphbandits.errors import InputError, whole_number
from graphbandits.experiments import load_experiment
from graphbandits.experiments.run import available_cores
from graphbandits.experiments.texts import errors_at
from graphbandits.theory import Audit, audit
from graphbandits.theory.auditor import FLOOR, SMALL, Tally
from graphbandits.theory.audits import audited
from graphbandits.theory.means import Curve

#: Trials of an audit, unless the user says otherwise: every round of each is looked at.
TRIALS = 100


def run(
    experiment: str,
    trials: int | None,
    seed: int | None,
    policies: list[str],
    gain: str,
    workers: int | None,
    as_json: bool,
) -> int:
    """Audit each simulation of the experiment; the exit code: 1 if a statement is violated."""
    count = available_cores() if workers is None else whole_number(workers, "workers")
    plans = _plans(experiment, TRIALS if trials is None else trials, seed, policies)
    announce_compilation("a minute")
    found: dict[str, Any] = {}
    broken: list[str] = []
    for title, plan in plans.items():
        start = time.perf_counter()
        with progress_bar(title, plan.decisions) as advance:
            outcome = audit(plan, gain=gain, workers=count, progress=advance)
        broken += outcome.broken
        found[title] = _plain(plan, outcome)
        if not as_json:
            _print(title, plan, outcome, time.perf_counter() - start)
    if as_json:
        print_json({"holds": not broken, "audits": found})
    for sentence in broken:
        typer.echo(f"Error: {sentence}", err=True)
    return 1 if broken else 0


def _plans(experiment: str, trials: int, seed: int | None, policies: list[str]) -> dict[str, Plan]:
    """The simulations, with the policies that there is a theorem on and those asked for."""
    described = load_experiment(experiment)
    with errors_at(experiment):
        titles = [swept.title for swept in described.swept()]
        plans = {
            described.title
            if plan.sweep is None
            else f"{titles[plan.sweep]}: {point_text(plan.point)}": plan
            for plan in described.plans(trials=trials, seed=seed, policies=policies)
        }
        chosen = {}
        for title, plan in plans.items():
            wanted = audited(plan.policies) | {
                name: policy for name, policy in plan.policies.items() if name in policies
            }
            if not wanted:
                raise InputError(
                    "none of its policies has a theorem: name one, as in --policy ids-n"
                )
            chosen[title] = replace(plan, policies=wanted)
    return chosen


def _print(title: str, plan: Plan, found: Audit, seconds: float) -> None:
    console = plain_console()
    size = (
        f"{plan.trials} trial{'s' * (plan.trials > 1)} of {plan.horizon} rounds, seed {plan.seed}"
    )
    console.print(f"{title}: {', '.join(plan.policies)}; {size}")
    table = Table(box=SIMPLE, padding=(0, 1, 0, 0))
    for column in ("statement", "says"):
        table.add_column(column)
    table.add_column("checks", justify="right")
    table.add_column("tightest margin", justify="right")
    for tally in found.tallies:
        checks = f"{tally.checks:,}" if tally.checks else "none"
        broken = f"{tally.violations:,} violations" if tally.violations else _margin(tally)
        style = "bold red" if tally.violations else None
        table.add_row(tally.statement.name, tally.statement.text, checks, broken, style=style)
    console.print(table)
    means = Table(box=SIMPLE, padding=(0, 1, 0, 0))
    means.add_column("policy")
    for column in ("mean regret", "s.e.", "Lemma 1 allows", "its theorem allows"):
        means.add_column(column, justify="right")
    for curve in found.curves:
        theorem = f"{curve.bound[-1]:.2f} ({curve.theorem})" if curve.theorem else "there is none"
        style = "bold red" if curve.broken else None
        numbers = (_two(x[-1]) for x in (curve.mean, curve.standard_error, curve.general))
        means.add_row(curve.policy, *numbers, theorem, style=style)
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
    console.print(f"{verdict} {duration(seconds)}.\n")


def _two(value: float) -> str:
    """Two decimals, if there is a number: one trial has no standard error."""
    return "unknown" if math.isnan(value) else f"{value:.2f}"


def _margin(tally: Tally) -> str:
    """How far from its limit the nearest number was, relatively.

    >>> from graphbandits.theory.statements import STATEMENTS
    >>> _margin(Tally(STATEMENTS[0], 10, 0.25, "ts-n")), _margin(Tally(STATEMENTS[0]))
    ('25.0% (ts-n)', '')
    """
    if not tally.checks:
        return ""
    share = f"{tally.margin:.1%}" if abs(tally.margin) >= 1e-3 else f"{tally.margin:.0e}"
    return f"{share} ({tally.nearest})"


def _plain(plan: Plan, found: Audit) -> dict[str, Any]:
    """An audit as plain numbers."""
    return {
        "policies": list(plan.policies),
        "graph": plan.graph_text,
        "horizon": plan.horizon,
        "trials": plan.trials,
        "seed": plan.seed,
        "gain": found.gain,
        "why": found.why,
        "rounds": {
            "all": found.rounds.all,
            "unchecked": found.rounds.unchecked,
            "small": found.rounds.small,
            "share": found.rounds.share,
        },
        "statements": [
            {
                "name": tally.statement.name,
                "text": tally.statement.text,
                "checks": tally.checks,
                "margin": tally.margin,
                "nearest": tally.nearest,
                "violations": tally.violations,
                "worst": None if tally.worst is None else dataclasses.asdict(tally.worst),
            }
            for tally in found.tallies
        ],
        "means": [_plain_curve(curve) for curve in found.curves],
    }


def _plain_curve(curve: Curve) -> dict[str, Any]:
    return {
        "policy": curve.policy,
        "mean": float(curve.mean[-1]),
        "standard_error": float(curve.standard_error[-1]),
        "general": float(curve.general[-1]),
        "theorem": curve.theorem,
        "bound": float(curve.bound[-1]),
        "broken": curve.broken,
    }
