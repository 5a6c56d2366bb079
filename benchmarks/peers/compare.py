"""``make peers``: public alternatives in environments of their own, on the same simulated worlds.

Every worker is a process of its own and uses one thread. All figures go to
benchmarks/peers/results.json, from which docs/peers.md and docs/peers.png are made.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NoReturn

sys.path.append(str(Path(__file__).parents[1]))

from document import write_document
from environments import REQUIREMENTS, Environment, prepare, versions
from machine import cores, cpu_model
from peer_figure import draw
from peer_tables import PEERS, ROWS, Row, contents, tables
from peer_worlds import EMPTY, GRAPH, Worlds, neighbours
from rich.console import Console

from graphbandits._io import read_bytes, write_text
from graphbandits.engine.plan import versions as own_versions
from graphbandits.errors import GraphBanditsError, InputError, check_integer

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
RESULTS, DOCUMENT, FIGURE = HERE / "results.json", ROOT / "docs/peers.md", ROOT / "docs/peers.png"
FORMAT = 1
KEYS = ("format", "settings", "machine", "worlds", "peers", "cells")
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
#: Seconds of a worker beyond its time limit: imports, the last round, and compilation.
GRACE = 300.0
SLOW = "vowpalwabbit/graph"


@dataclass(frozen=True)
class Settings:
    """Sizes of the worlds and times of a worker."""

    arms: tuple[int, ...] = (5, 10, 50)
    rounds: int = 1_000
    trials: int = 200
    seed: int = 0
    #: No more trials after ``seconds``, except for the ``least``; nothing after ``most_seconds``.
    seconds: float = 5.0
    least: int = 3
    most_seconds: float = 40.0
    #: Time limit of the slowest policy with five arms, which gives it a few trials.
    slow_seconds: float = 260.0

    @classmethod
    def quick(cls) -> Settings:
        """About a minute: five arms, few trials."""
        return cls(arms=(5,), trials=20, seconds=0.3, least=1, most_seconds=2.0, slow_seconds=2.0)


def run(settings: Settings, peers: list[str], folder: Path, console: Console) -> dict[str, Any]:
    """Install the peers, run all of their workers, and give everything that was measured."""
    records: dict[str, Any] = {}
    cells: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as temporary:
        places = Path(temporary)
        worlds = {
            arms: Worlds.make(
                places / str(arms), arms, settings.rounds, settings.trials, settings.seed
            )
            for arms in settings.arms
        }
        for peer in peers:
            console.print(f"[dim]{peer} ...[/dim]")
            environment = installed(peer, folder)
            if environment.python is None:
                print(f"{peer}: not installed: {environment.reason}", file=sys.stderr)
                records[peer] = {"missing": environment.reason}
                continue
            start = time.perf_counter()
            for arms, own in worlds.items():
                for kind in (EMPTY, GRAPH):
                    cells += measure(settings, peer, environment, own, arms, kind, places)
            records[peer] = {
                "date": datetime.now(UTC).isoformat(timespec="seconds"),
                "seconds": time.perf_counter() - start,
                "versions": versions_of(peer, environment),
            }
        digests = {str(arms): own.digest() for arms, own in worlds.items()}
    return {
        "format": FORMAT,
        "settings": plain(settings),
        "machine": {
            "cpu": cpu_model(),
            "cores": cores(),
            "system": own_versions()["machine"],
        },
        "worlds": digests,
        "peers": records,
        "cells": cells,
    }


def installed(peer: str, folder: Path) -> Environment:
    """This environment for graphbandits, one of its own for a peer."""
    if peer == "graphbandits":
        return Environment(Path(sys.executable))
    return prepare(peer, folder)


def versions_of(peer: str, environment: Environment) -> dict[str, str]:
    """Versions of a package, of Python and of what it is pinned with."""
    if peer == "graphbandits":
        return {name: text for name, text in own_versions().items() if name != "machine"}
    assert environment.python is not None
    names = [requirement.split("==")[0] for requirement in REQUIREMENTS[peer]]
    known = versions(environment.python, tuple(names))
    return {names[0]: known.pop(names[0]), **known}


def measure(
    settings: Settings,
    peer: str,
    environment: Environment,
    worlds: Worlds,
    arms: int,
    kind: str,
    folder: Path,
) -> list[dict[str, Any]]:
    """Reports of all policies of a package on worlds of one kind."""
    cells = []
    for row in ROWS:
        for feedback in row.feedbacks(kind) if row.peer == peer else ():
            slow = row.adapter == SLOW
            task = {
                "adapter": row.adapter,
                "neighbours": neighbours(arms, kind),
                "feedback": feedback,
                "worlds": str(worlds.folder),
                "trials": settings.trials,
                "seconds": settings.seconds,
                "least": settings.least,
                "most_seconds": (
                    settings.slow_seconds if slow and arms == 5 else settings.most_seconds
                ),
                "seed": settings.seed,
                # One round of it can take a minute, which is then better spent on its figure.
                "warm_up": not (slow and arms > 5),
            }
            report = in_worker(environment, row, task, folder)
            place = {"arms": arms, "kind": kind, "peer": peer, "label": row.label}
            cells.append({**place, "feedback": feedback, "warm_up": task["warm_up"], **report})
    return cells


def in_worker(
    environment: Environment, row: Row, task: dict[str, Any], folder: Path
) -> dict[str, Any]:
    """Report of one process; ``failed`` has the reason if there is none."""
    given, wanted = folder / "task.json", folder / "report.json"
    given.write_text(json.dumps(task))
    wanted.unlink(missing_ok=True)
    script = HERE / ("simulated.py" if row.simulated else "worker.py")
    variables = {**os.environ, **dict.fromkeys(THREADS, "1"), "PYTHONWARNINGS": "ignore"}
    if row.peer != "graphbandits":
        variables.pop("PYTHONPATH", None)
    command = [str(environment.python), str(script), str(given), str(wanted)]
    # The first process of graphbandits may compile; what is measured is a later one.
    runs = 2 if row.peer == "graphbandits" and not compiled(folder) else 1
    for _ in range(runs):
        try:
            done = subprocess.run(
                command,
                capture_output=True,
                text=True,
                env=variables,
                timeout=task["most_seconds"] + GRACE,
            )
        except subprocess.TimeoutExpired:
            return {"failed": "it did not end in time"}
    if done.returncode or not wanted.exists():
        lines = done.stderr.strip().splitlines() or [f"exit code {done.returncode}"]
        return {"failed": lines[-1][:200]}
    report: dict[str, Any] = json.loads(wanted.read_text())
    return report


def compiled(folder: Path) -> bool:
    """Whether a process of graphbandits has run before; notes that one has."""
    mark = folder / "compiled"
    known = mark.exists()
    mark.touch()
    return known


def read_results(path: Path) -> dict[str, Any]:
    """A file that this program wrote."""
    data = read_bytes(path, "results")
    try:
        results: dict[str, Any] = json.loads(data)
        complete = results["format"] == FORMAT and all(key in results for key in KEYS)
    except (ValueError, KeyError, TypeError):
        complete = False
    if not complete:
        raise InputError(f"{path} holds no results of this comparison: run `make peers`")
    return results


def plain(settings: Settings) -> dict[str, Any]:
    """Settings as JSON returns them."""
    values: dict[str, Any] = json.loads(json.dumps(asdict(settings)))
    return values


def check_same(old: dict[str, Any], new: dict[str, Any]) -> None:
    """Refuse to put results side by side that were not measured in the same way."""
    for key in ("settings", "worlds", "machine"):
        if key in new and old[key] != new[key]:
            raise InputError(f"the earlier results have other {key}: run without --only")


def merge(old: dict[str, Any], new: dict[str, Any]) -> dict[str, Any]:
    """Replace the packages of ``new`` in ``old``."""
    check_same(old, new)
    kept = [cell for cell in old["cells"] if cell["peer"] not in new["peers"]]
    return {**old, "peers": {**old["peers"], **new["peers"]}, "cells": [*kept, *new["cells"]]}


class OneLineParser(argparse.ArgumentParser):
    """Reports bad arguments in one line, as everything else."""

    def error(self, message: str) -> NoReturn:
        """Leave with exit code 2."""
        self.exit(2, f"{message}\n")


def options() -> argparse.Namespace:
    parser = OneLineParser(description=__doc__)
    add = parser.add_argument
    add("--quick", action="store_true", help="about a minute: five arms, few trials")
    add("--only", nargs="+", choices=PEERS, metavar="NAME", help=f"of {', '.join(PEERS)}")
    add("--arms", type=int, nargs="+", help="numbers of arms")
    add("--trials", type=int, help="trials in each row, at most")
    add("--seconds", type=float, help="time after which a row starts no more trials")
    add("--environments", type=Path, default=ROOT / "build/peers", help="where peers are installed")
    add("--output", type=Path, help="where the figures go")
    add("--write-docs", action="store_true", help="only fill docs/peers.md and draw docs/peers.png")
    return parser.parse_args()


def chosen(given: argparse.Namespace) -> Settings:
    """Settings that the options ask for."""
    settings = asdict(Settings.quick() if given.quick else Settings())
    if given.arms:
        settings["arms"] = [check_integer(count, "--arms", least=2) for count in given.arms]
    if given.trials is not None:
        settings["trials"] = check_integer(given.trials, "--trials", least=1)
    if given.seconds is not None:
        if not given.seconds > 0.0:
            raise InputError(f"--seconds is a time above 0, not {given.seconds:g}")
        settings["seconds"] = given.seconds
    return Settings(**{**settings, "arms": tuple(dict.fromkeys(settings["arms"]))})


def main() -> None:
    given = options()
    usual = not (given.quick or given.arms or given.trials or given.seconds)
    # Only a full run replaces what the document shows.
    output = given.output or (RESULTS if usual else given.environments / "results.json")
    if not given.write_docs:
        settings, peers = chosen(given), [peer for peer in PEERS if peer in (given.only or PEERS)]
        console, old = Console(), None
        if given.only and output.exists():
            old = read_results(output)
            check_same(old, {"settings": plain(settings)})  # before minutes of work
        results = run(settings, peers, given.environments, console)
        if old is not None:
            results = merge(old, results)
        for table in tables(results):
            table.show(console)
        output.parent.mkdir(parents=True, exist_ok=True)
        write_text(output, json.dumps(results, indent=1, allow_nan=False) + "\n")
        print(f"All figures: {output}")
    if given.write_docs or output == RESULTS:
        results = read_results(output)
        write_document(DOCUMENT, contents(results))
        draw(results, FIGURE)


if __name__ == "__main__":
    try:
        main()
    except GraphBanditsError as error:
        print(error, file=sys.stderr)
        sys.exit(2)
