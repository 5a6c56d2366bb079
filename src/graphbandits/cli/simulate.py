"""``graphbandits simulate``."""

from __future__ import annotations

from graphbandits.cli.show import (
    announce_compilation,
    plain_console,
    print_json,
    regret_table,
    worker_count,
)
from graphbandits.engine import Plan


def run(
    policies: list[str],
    graph: str,
    horizon: int,
    trials: int,
    arms: int | None,
    seed: int,
    workers: int | None,
    as_json: bool,
) -> None:
    """Check, run, and print the table or the JSON object."""
    plan = Plan.of(policies, graph=graph, arms=arms, horizon=horizon, trials=trials, seed=seed)
    announce_compilation()
    results = plan.run(workers=worker_count(workers), label="simulating")
    if as_json:
        print_json(results.summary())
        return
    title = f"{graph}, {plan.process.arms} arms, {horizon} rounds, {trials} trials, seed {seed}"
    plain_console().print(regret_table(results, title))
