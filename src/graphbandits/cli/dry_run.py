"""``graphbandits run --dry-run``: what would be done, how long it takes, what room it needs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import typer

from graphbandits.cli.conduct import TOLD
from graphbandits.cli.how import How
from graphbandits.cli.show import announce_compilation, duration, file_size, plain_console
from graphbandits.cli.tables import plain_table
from graphbandits.experiments.texts import point_text
from graphbandits.store import Store
from graphbandits.store.directory import MANIFEST
from graphbandits.studies.estimate import estimate
from graphbandits.studies.recording import Commission
from graphbandits.studies.runner import missing, parts_of

#: Cells that a table shows; of more the first and the last.
SHOWN = 40


def dry_run(commission: Commission, output: Path, how: How) -> None:
    """Print the cells, the time and the room; write nothing."""
    store = Store.open(output) if (output / MANIFEST).exists() else None
    parts = parts_of([commission])
    lacking = {part.series.name: sum(n for _, n in missing(store, part)) for part in parts}
    console = plain_console()
    cells = list(zip(commission.cells, commission.series, strict=True))
    # named once where all simulations have the same
    alike = len({tuple(cell.lines.values()) for cell, _ in cells}) == 1
    words = ["at"] * bool(commission.sweeps) + ["graph"] + ["policies"] * (not alike)
    table = plain_table(commission.title, words, ["arms", "rounds", "trials", "there"])
    rows = []
    for cell, series in cells:
        plan = cell.plan
        trials = plan.trials * len(plan.policies)
        there = trials - sum(min(plan.trials, lacking[found.name]) for found in series.values())
        said = {"at": point_text(cell.point), "graph": plan.graph_text}
        said["policies"] = _short(list(cell.lines.values()))
        numbers = (plan.world.arms, plan.horizon, f"{plan.trials} x {len(plan.policies)}")
        rows.append((*(said[word] for word in words), *map(str, numbers), f"{there / trials:.0%}"))
    for row in rows if len(rows) <= SHOWN else rows[: SHOWN // 2]:
        table.add_row(*row)
    if len(rows) > SHOWN:
        table.add_row(f"... ({len(rows) - SHOWN} more)", *[""] * (len(words) + 3))
        for row in rows[-SHOWN // 2 :]:
            table.add_row(*row)
    console.print(table)
    if alike:
        console.print(f"Policies: {', '.join(cells[0][0].lines.values())}.")
    shared = sum(len(mine) for mine in commission.series) - len(parts)
    todo, total = sum(lacking.values()), sum(part.trials for part in parts)
    again = f" {shared} of their policies are the same at other values, and run once." * bool(
        shared
    )
    console.print(f"{_count(len(cells), 'simulation')}; {todo} of {total} trials to run.{again}")
    if todo:
        announce_compilation()
        told = estimate(parts, store, how.count, how.shard)
        _tell_failures(told.failures)
        alone = duration(told.seconds)
        if how.cluster is not None:
            console.print(f"Time: about {alone} for one worker of the cluster.")
        else:
            each = duration(told.seconds / how.count)
            console.print(f"Time: about {each} on {_count(how.count, 'worker')} (one: {alone}).")
        room, most = file_size(told.bytes), file_size(told.most_bytes)
        console.print(f"Room: about {room}, at most {most}, in {output}/.", soft_wrap=True)
        console.print("Measured by a short run here; start-up and compiling come on top, and")
        console.print("figures and the page take some MB more.")
    console.print("Nothing was written.")


def _tell_failures(failures: Sequence[str]) -> None:
    """What failed in its short run, and is not counted."""
    for failure in failures[:TOLD]:
        typer.echo(failure, err=True)
    if len(failures) > TOLD:
        typer.echo(f"... ({len(failures) - TOLD} more)", err=True)


def _short(names: Sequence[str]) -> str:
    """Some names, and how many more there are.

    >>> _short(["ts-n", "ids-n", "ids-lp", "ucb-n", "ucb1"])
    'ts-n, ids-n, ids-lp, ... (2 more)'
    """
    shown = ", ".join(names[:3])
    return shown if len(names) <= 3 else f"{shown}, ... ({len(names) - 3} more)"


def _count(number: int, word: str) -> str:
    """A number with its word.

    >>> _count(1, "worker"), _count(2, "worker")
    ('1 worker', '2 workers')
    """
    return f"{number} {word}{'s' * (number != 1)}"
