"""``graphbandits evaluate``: the value of a policy, estimated from a log of decisions."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import graphbandits
from graphbandits.cli import options
from graphbandits.cli.agent_commands import read_arms
from graphbandits.cli.formatting import count, plain_table, print_json, print_table, print_text
from graphbandits.cli.options import load, number, option

if TYPE_CHECKING:
    from graphbandits.live.evaluation import Evaluation


def evaluate(
    log: Annotated[
        Path,
        typer.Argument(
            help="Log of decisions: a file of 'graphbandits agent log', or a CSV, JSONL or Parquet "
            "file with the columns arm, probability (or pi) and reward (or outcomes).",
            metavar="LOG",
        ),
    ],
    policy: Annotated[
        list[str],
        option(
            "POLICY",
            'Policy, arm, or probabilities as a JSON object such as \'{"ann": 0.5, "bob": '
            "0.5}'; repeat for several.",
        ),
    ],
    estimator: Annotated[
        str,
        option(
            "NAME",
            "ips, snips, dr (doubly robust), dr-side (with side observations), replay (uniform "
            "logs), or auto.",
        ),
    ] = "auto",
    level: Annotated[float, option("LEVEL", "Level of the intervals.")] = 0.95,
    graph: Annotated[
        str | None,
        option("GRAPH", "Feedback graph of a log that has none, as in 'graphbandits graph'."),
    ] = None,
    arms: Annotated[
        str | None,
        option("ARMS", "Names of the arms of this graph, separated by commas, or their number."),
    ] = None,
    posterior: Annotated[
        str | None,
        option("POSTERIOR", "Model of the rewards of a learning policy. Default: that of the log."),
    ] = None,
    prior: Annotated[
        list[str] | None,
        option("PARAMETERS", "Parameters of its prior, such as 2,5; once, or repeated per arm."),
    ] = None,
    horizon: Annotated[
        int | None, number("Number of decisions, for policies that need it.")
    ] = None,
    before: Annotated[
        datetime | None,
        options.date("Use only decisions that were made before this date, such as 2026-01-31."),
    ] = None,
    plugin: options.Plugin = None,
    json: options.Json = False,
) -> None:
    """Estimate the expected reward per decision of policies, from a log of other decisions.

    Example: graphbandits evaluate log.parquet --policy ids-n --policy uniform
    """
    load(plugin)
    made = graphbandits.DecisionLog.of(log, read_arms(arms), graph)
    more: dict[str, Any] = {
        "posterior": posterior,
        "prior": prior[0] if prior and len(prior) == 1 else prior,
        "horizon": horizon,
        "before": before,
    }
    found = [
        graphbandits.evaluate(made, _policy(text), estimator=estimator, level=level, **more)
        for text in policy
    ]
    if json:
        print_json({"evaluations": [one.to_dict() for one in found]})
        return
    _print(found)


def _policy(text: str) -> Any:
    """Read a policy, or probabilities of arms.

    >>> _policy("ids-n"), _policy('{"ann": 1}')
    ('ids-n', {'ann': 1})
    """
    if not text.lstrip().startswith("{"):
        return text
    from graphbandits.live.requests import read_json

    return read_json(text)


def _print(found: list[Evaluation]) -> None:
    first = found[0]
    table = plain_table(
        "", ["policy", "estimator"], ["value", "interval", "guaranteed", "effective"]
    )
    for one in found:
        table.add_row(
            one.policy,
            one.estimator,
            f"{one.value:.4g}",
            _interval(one.interval),
            "none" if one.guaranteed is None else _interval(one.guaranteed),
            f"{one.effective:.0f}",
        )
    print_table(table)
    print_text(
        f"{count(first.decisions, 'decision')}, {count(first.open_decisions, 'open one')} left "
        f"out; average reward of the plays {first.logged:.4g}."
    )
    print_text(
        f"Level {first.level:g}; 'interval' is asymptotic, 'guaranteed' valid for any number of "
        "decisions."
    )
    warnings = dict[str, list[str]]()  # with the policies that have them
    for one in found:
        for warning in one.warnings:
            warnings.setdefault(warning, []).append(one.policy)
    for warning, policies in warnings.items():
        print_text(f"Warning ({'; '.join(policies)}): {warning}.")


def _interval(ends: tuple[float, float]) -> str:
    return f"[{ends[0]:.3f}, {ends[1]:.3f}]"
