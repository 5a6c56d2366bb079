"""``graphbandits run --dry-run``: what would be done, how long it takes, what room it needs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from graphbandits.cli.conduct import size
from graphbandits.cli.how import How
from graphbandits.cli.show import announce_compilation, duration, plain_console
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
    words = ["at", "graph", "policies"] if commission.sweeps else ["graph", "policies"]
    table = plain_table(commission.title, words, ["arms", "rounds", "trials", "there"])
    rows = []
    for cell, series in zip(commission.cells, commission.series, strict=True):
        plan = cell.plan
        trials = plan.trials * len(plan.policies)
        there = trials - sum(min(plan.trials, lacking[found.name]) for found in series.values())
        rows.append(
            (
                *([point_text(cell.point)] if commission.sweeps else []),
                plan.graph_text,
                _short(list(plan.policies)),
                str(plan.world.arms),
                str(plan.horizon),
                f"{plan.trials} x {len(plan.policies)}",
                f"{there / trials:.0%}",
            )
        )
    for row in rows if len(rows) <= SHOWN else rows[: SHOWN // 2]:
        table.add_row(*row)
    if len(rows) > SHOWN:
        table.add_row(f"... ({len(rows) - SHOWN} more)", *[""] * (len(words) + 3))
        for row in rows[-SHOWN // 2 :]:
            table.add_row(*row)
    console.print(table)
    shared = sum(Counter(f.name for mine in commission.series for f in mine.values()).values())
    again = shared - len(parts)
    todo = sum(lacking.values())
    total = sum(part.trials for part in parts)
    console.print(
        f"{_count(len(commission.cells), 'simulation')}, {_count(len(parts), 'series', 'series')} "
        f"(a policy in a simulation)"
        + (f", {again} of them met again at other values" if again else "")
        + f"; {todo} of {total} trials to run."
    )
    if todo:
        announce_compilation()
        told = estimate(parts, store)
        alone = duration(told.seconds)
        if how.cluster is not None:
            console.print(f"Time: about {alone} for one worker of the cluster.")
        else:
            each = duration(told.seconds / how.count)
            console.print(f"Time: about {each} on {_count(how.count, 'worker')} (one: {alone}).")
        room = f"Room: about {size(told.bytes)}, at most {size(told.most_bytes)}, in {output}/."
        console.print(room, soft_wrap=True)
        console.print("Measured by a short run here; start-up, compiling and figures come on top.")
    console.print("Nothing was written.")


def _short(names: Sequence[str]) -> str:
    """Some names, and how many more there are.

    >>> _short(["ts-n", "ids-n", "ids-lp", "ucb-n", "ucb1"])
    'ts-n, ids-n, ids-lp, ... (2 more)'
    """
    shown = ", ".join(names[:3])
    return shown if len(names) <= 3 else f"{shown}, ... ({len(names) - 3} more)"


def _count(number: int, word: str, several: str = "") -> str:
    """A number with its word.

    >>> _count(1, "worker"), _count(2, "worker")
    ('1 worker', '2 workers')
    """
    return f"{number} {word if number == 1 else several or word + 's'}"
