"""``graphbandits recommend``: compare policies on a graph before going live."""

from __future__ import annotations

import sys
from contextlib import nullcontext, redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from graphbandits.cli import options
from graphbandits.cli.formatting import (
    count,
    plain_table,
    print_json,
    print_table,
    print_text,
)
from graphbandits.cli.options import number, option

if TYPE_CHECKING:
    from graphbandits.experiments.recommend import Interval, Recommendation


def recommend(
    graph: options.Graph,
    horizon: Annotated[int, number("Rounds per trial.")],
    arms: options.Arms = None,
    world: options.World = None,
    prior: options.Prior = None,
    posterior: options.Posterior = None,
    delay: options.Delay = "0",
    answer_rate: options.AnswerRate = 1.0,
    policy: Annotated[
        list[str] | None,
        option("NAME", "Policy to compare; repeat for several. Default: all suitable policies."),
    ] = None,
    trials: Annotated[
        int | None, number("Trials per policy. Default: as many as fit in the time.")
    ] = None,
    seconds: Annotated[
        float, options.seconds("Time limit, approximately; not with --trials.")
    ] = 40.0,
    seed: options.Seed = 0,
    workers: options.Workers = None,
    plugin: options.Plugin = None,
    json: options.Json = False,
) -> None:
    """Compare the suitable policies on your graph, and recommend one.

    The policies are simulated in the same random worlds, with delayed and missing answers, within a
    time limit. The table shows the regret, what delays and missing answers cost, and the CPU time
    of a decision.

    Example: graphbandits recommend --graph file:friends.csv --prior 2,8 --horizon 1000 --delay 0,60
    --answer-rate 0.8

    A line of a file is an edge in one direction. For friendships write
    --graph "file(path=friends.csv, directed=false)".
    """
    options.load(plugin)
    from graphbandits.engine._progress import announce_compilation
    from graphbandits.experiments.experiment import build_models
    from graphbandits.experiments.recommend import recommend as compare

    announce_compilation()
    given = prior or []
    entries = tuple(given) if len(given) > 1 else given[0] if given else None
    made, other = build_models(graph, arms, world, prior=entries, posterior=posterior)
    # keep the printed output of policies out of the JSON
    with redirect_stdout(sys.stderr) if json else nullcontext():
        found = compare(
            graph,
            horizon=horizon,
            arms=arms,
            world=made,
            posterior=other,
            delay=options.delay(delay),
            answer_rate=answer_rate,
            policies=policy or None,
            trials=trials,
            seconds=seconds,
            seed=seed,
            workers=workers,
        )
    if json:
        print_json(found.to_dict())
    else:
        _print(found, graph)


def _print(found: Recommendation, graph: str) -> None:
    from graphbandits.experiments.recommend import cpu_text

    settings = found.settings
    is_late = settings["delay"] != 0 or settings["answer_rate"] < 1.0
    name = Path(graph.removeprefix("file:")).name if graph.startswith("file:") else graph
    title = f"{name}, {settings['arms']} arms"
    if "edges" in settings:
        way = "directed" if settings["directed"] else "undirected"
        title += f", {count(settings['edges'], f'{way} edge')}"
    title += f", {settings['horizon']} rounds"
    if is_late:
        title += options.answers_text(settings["delay"], settings["answer_rate"])
    columns = ["regret", "minus first", *["cost of delay"] * is_late, "CPU", "trials"]
    table = plain_table(title, ["policy"], columns)
    for one in found.candidates:
        numbers = [_with_interval(one.regret)]
        numbers.append("" if one is found.candidates[0] else _with_interval(one.difference, "+"))
        if is_late:
            numbers.append("" if one.delay_cost is None else _with_interval(one.delay_cost, "+"))
        table.add_row(one.policy, *numbers, cpu_text(one.cpu), str(one.trials))
    print_table(table)
    print_text("±: 95 % confidence interval. CPU: of one decision and its update.")
    for name, why in found.left_out.items():
        print_text(f"Left out: {name} {why}.")
    print_text()
    print_text(f"Recommended: {found.policy}. {found.reason}")


def _with_interval(one: Interval, sign: str = "") -> str:
    """Format a mean, with three or more digits, and the half width of its interval."""
    digits = 0 if abs(one.mean) >= 100.0 else 1 if abs(one.mean) >= 10.0 else 2
    return f"{one.mean:{sign}.{digits}f} ± {one.high - one.mean:.{digits}f}"
