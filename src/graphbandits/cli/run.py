"""``graphbandits run``: any experiment, from its file to figures and a report."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from graphbandits.cli.dry_run import dry_run
from graphbandits.cli.how import How
from graphbandits.cli.keep import carry_out
from graphbandits.errors import GraphBanditsError, InputError
from graphbandits.experiments import load_experiment
from graphbandits.studies import Commission


def run(
    experiment: str,
    trials: int | None,
    seed: int | None,
    policies: list[str],
    output: Path | None,
    how: How,
    plugins: Sequence[Path],
    bounds: bool,
    ratios: str | None,
    dry: bool,
) -> None:
    """Check everything, run what is missing, draw, write."""
    described = load_experiment(experiment)
    key = Path(experiment).stem
    place = Path(key) if output is None else output
    if bounds and described.sweeps:
        raise InputError(
            f"{experiment} has sweeps, which are drawn against a parameter, and bounds are of one "
            "simulation: leave --bounds out"
        )
    command = ["run", experiment]
    command += [f"--trials={described.trials if trials is None else trials}"]
    command += [f"--seed={described.seed if seed is None else seed}"]
    command += [f"--policy={policy}" for policy in policies]
    command += [f"--output={place}"]
    command += ["--bounds"] if bounds else []
    command += [f"--ratios={ratios}"] if ratios else []
    with errors_of(experiment):
        commission = Commission.of(
            described,
            key,
            rerun_command(command, plugins),
            trials=trials,
            seed=seed,
            policies=policies,
            ratios=ratios,
            bounds=bounds,
        )
    if dry:
        dry_run(commission, place, how)
    else:
        carry_out([commission], place, how, title=described.title)


@contextmanager
def errors_of(experiment: str) -> Iterator[None]:
    """Errors name the experiment that they are about."""
    try:
        yield
    except GraphBanditsError as error:
        raise type(error)(f"{experiment}: {error}") from error


def rerun_command(words: Sequence[str], plugins: Sequence[Path]) -> str:
    """The shell command that makes a study again.

    >>> rerun_command(["run", "paper-1a", "--seed=0"], [Path("my ucb.py")])
    "graphbandits run paper-1a --seed=0 '--plugin=my ucb.py'"
    """
    return shlex.join(["graphbandits", *words, *(f"--plugin={path}" for path in plugins)])
