"""``graphbandits reproduce``: the paper's experiments, from nothing to a report."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from graphbandits.cli.options import Bounds, Cluster, Seed, Workers, number


def reproduce(
    figure: Annotated[
        list[str] | None,
        typer.Option(
            help="One of 1a, 1b, 2a, 2b; repeat for several. All four if unset.", metavar="FIGURE"
        ),
    ] = None,
    trials: Annotated[
        int | None, number("Trials of each policy; 1000 as in the paper if unset.")
    ] = None,
    seed: Seed = 0,
    output: Annotated[
        Path, typer.Option(help="Directory for figures and results.", metavar="DIR")
    ] = Path("figures"),
    workers: Workers = None,
    cluster: Cluster = None,
    bounds: Bounds = False,
) -> None:
    """Run the paper's four experiments and draw their figures.

    1a: a fixed graph of five arms. 1b: a graph redrawn and revealed each round. 2a: random
    feedback with r = 0.25. 2b: random feedback with r uniform each round. What was stopped goes on
    where it was with the same command.

    Example: graphbandits reproduce --figure 1a --trials 200 --output figures
    """
    from graphbandits import experiments
    from graphbandits.cli.formatting import plain_console
    from graphbandits.cli.progress import CommandProgress, interruptible

    lines = ["Reproducing the experiments of Liu, Buccapatnam and Shroff (2018):"]
    for name in sorted({*(figure or experiments.run.FIGURES)} & {*experiments.run.FIGURES}):
        described = experiments.load_experiment(f"paper-{name}")
        size = f"{described.horizon} rounds, {trials or described.trials} trials"
        lines += [f"  {name}. {described.title}", f"      {', '.join(described.lines())}: {size}"]
    progress = CommandProgress(output, lines)
    with interruptible():
        experiments.reproduce(
            figure,
            output=output,
            trials=trials,
            seed=seed,
            bounds=bounds,
            workers=workers,
            cluster=cluster,
            progress=progress,
        )
    plain_console().print(f"To explore, open {output / 'report.html'} in a browser.")
