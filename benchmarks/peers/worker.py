"""One process: one adapter on one set of worlds. It reads a JSON task and writes a JSON report.

It runs in the environment of the peer, which has neither graphbandits nor the other peers.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

from adapters import ADAPTERS, Adapter
from peer_worlds import Worlds, regret

OWN, ALL = "own", "all"
#: Rounds of the loop without a peer; its time per round is subtracted.
LOOP_ROUNDS = 2_000


def play(
    policy: Adapter,
    outcomes: list[list[int]],
    shown: list[list[int]],
    until: float = float("inf"),
) -> tuple[list[int], float]:
    """Arms of one trial, and its CPU seconds; it ends early at the wall time ``until``."""
    played = []
    start = time.process_time()
    for row in outcomes:
        arm = policy.choose()
        policy.learn([(near, row[near]) for near in shown[arm]])
        played.append(arm)
        if time.monotonic() > until:
            break
    return played, time.process_time() - start


def peak_memory() -> int:
    """Peak resident bytes of this program. ``ru_maxrss`` would include the parent's before exec."""
    (line,) = (
        line
        for line in Path("/proc/self/status").read_text().splitlines()
        if line.startswith("VmHWM:")
    )
    return int(line.split()[1]) * 1024


def run(task: dict[str, Any]) -> dict[str, Any]:
    """Play trials until all are played or the time is over; a few at least, if time allows."""
    kind = ADAPTERS[task["adapter"]]
    before = time.process_time()
    kind.load()
    imported = time.process_time() - before
    neighbours = task["neighbours"]
    shown = neighbours if task["feedback"] == ALL else [[arm] for arm in range(len(neighbours))]
    worlds = Worlds.read(Path(task["worlds"]))
    start = time.monotonic()
    soft, hard = start + task["seconds"], start + task["most_seconds"]
    if task["warm_up"]:
        play(kind(neighbours, 0), worlds.outcomes(0)[:1].tolist(), shown)
    first = time.process_time()
    regrets, cpus, unfinished = [], [], None
    for trial in range(min(task["trials"], worlds.trials)):
        if time.monotonic() > (soft if len(regrets) >= task["least"] else hard):
            break
        policy = kind(neighbours, task["seed"] + trial)
        outcomes = worlds.outcomes(trial).tolist()
        played, cpu = play(policy, outcomes, shown, hard)
        if len(played) < worlds.rounds:
            unfinished = {"rounds": len(played), "cpu": cpu / len(played)}
            break
        regrets.append(regret(worlds.means(trial), played))
        cpus.append(cpu / worlds.rounds)
    peak = peak_memory()
    rows = [worlds.outcomes(0)[0].tolist()] * LOOP_ROUNDS
    loop = play(ADAPTERS["fixed"](neighbours, 0), rows, shown)[1] / LOOP_ROUNDS
    return {
        "regrets": regrets,
        "cpus": cpus,
        "unfinished": unfinished,
        "loop": loop,
        "import": imported,
        "first": first,
        "peak": peak,
    }


def main() -> None:
    task = json.loads(Path(sys.argv[1]).read_text())
    Path(sys.argv[2]).write_text(json.dumps(run(task)))


if __name__ == "__main__":
    main()
