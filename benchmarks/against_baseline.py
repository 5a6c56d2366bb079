"""Decisions against the NumPy baseline: in simulation, live, and how far off each of them is.

Every cell runs in a fresh process: what an allocator has learnt from other work would change what
"as it is" means for the baseline (see :func:`baseline.keep_memory`).
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import baseline
import numpy as np
from baseline import Floats
from display import Table, count, digits, error, seconds
from posteriors import States, all_different, graph_of, simulated
from processes import in_fresh_process
from reference import disagreement, largest_errors, method
from settings import Settings
from timing import Call, least_cpu_in_turns, wall_and_cpu

from graphbandits import Agent, BetaBernoulli
from graphbandits.engine.plan import BLOCK
from graphbandits.graphs import as_process
from graphbandits.policies import Problem, View
from graphbandits.registry import build
from graphbandits.rng import Keys

#: From here on arms with all different posteriors are timed too: in simulation many are alike.
MANY = 50
#: A block of more rows than this would not fit into any cache, and is never the fastest.
MOST_ROWS = 5_000
#: The largest number of posteriors that one pass goes through, and the least.
MOST_POSTERIORS, LEAST_POSTERIORS = 1_000, 20
MEMORY = ("as it is", "kept")


def measure(settings: Settings, earlier: dict[str, Any]) -> dict[str, Any]:
    """Times for both kinds of memory, and errors, for each number of arms."""
    cells = []
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "posteriors.npy")
        for arms, kind, (a, b) in _cells(settings):
            np.save(path, np.stack([a, b]))
            cell = {
                "arms": arms,
                "posteriors": kind,
                "count": len(a),
                "different": float(np.median([_different(*row) for row in zip(a, b, strict=True)])),
                "times": {
                    memory: in_fresh_process(time_cell, path, memory, settings.seconds)
                    for memory in MEMORY
                },
            }
            # quadrature with no two arms alike takes seconds for each posterior
            few = settings.referenced if kind == "simulated" else max(1, settings.referenced // 2)
            cells.append(cell | _errors(a[:few].copy(), b[:few].copy()))
    return {"cells": cells}


def _cells(settings: Settings) -> Iterator[tuple[int, str, States]]:
    for arms in settings.arms:
        wanted = settings.posterior_arms // arms
        number = min(MOST_POSTERIORS, max(LEAST_POSTERIORS, wanted))
        yield arms, "simulated", simulated(arms, number, settings.seed, settings.horizon)
        if arms >= MANY:
            yield arms, "distinct", all_different(arms, number, settings.seed)


def _different(a: Floats, b: Floats) -> int:
    """Different posteriors among the arms."""
    return len(set(zip(a, b, strict=True)))


def _errors(a: Floats, b: Floats) -> dict[str, Any]:
    mine = BetaBernoulli.of(a.shape[1]).beliefs({"a": a, "b": b})
    answers = {
        "baseline": baseline.beliefs(a, b),
        "graphbandits": (mine.alpha, mine.delta, mine.h),
    }
    return {
        "reference": method(a.shape[1]),
        "referenced": len(a),
        "reference_disagreement": disagreement(a[0], b[0]),
        "errors": largest_errors(a, b, answers),
    }


def time_cell(path: str, memory: str, share: float) -> dict[str, Any]:
    """CPU per decision in blocks, the baseline and this library in turns; then live decisions."""
    a, b = np.load(path)
    if memory == "kept":
        baseline.keep_memory()
    arms = a.shape[1]
    graph = baseline.paper_graph() if graph_of(arms) == "paper" else np.eye(arms)
    blocks = [n for n in baseline.BLOCKS if n == 1 or (n <= len(a) and n * arms <= MOST_ROWS)]
    simulation = {}
    for block in blocks:
        passes = {
            "baseline": _baseline_pass(a, b, graph, block),
            "graphbandits": _pass(a, b, BLOCK),
        }
        least = least_cpu_in_turns(passes, share / len(blocks))
        simulation[str(block)] = {name: value / len(a) for name, value in least.items()}
    return {"simulation": simulation, "live": _live(a, b, graph, share)}


def _baseline_pass(a: Floats, b: Floats, graph: Floats, block: int) -> Call:
    def call() -> None:
        for first in range(0, len(a), block):
            baseline.decide(a[first : first + block], b[first : first + block], graph)

    return call


def _pass(a: Floats, b: Floats, block: int) -> Call:
    arms = a.shape[1]
    policy, process = build("policy", "ids-n"), as_process(graph_of(arms), arms)
    problem = Problem(BetaBernoulli.of(arms), None, policy.needs)
    blocks = []
    for first in range(0, len(a), block):
        part = {"a": a[first : first + block].copy(), "b": b[first : first + block].copy()}
        keys = Keys(0, first, len(part["a"]))
        blocks.append((part, View(1, keys, problem, process.round(1, keys))))

    def call() -> None:
        for part, view in blocks:
            policy.propose(part, view)

    return call


def _live(a: Floats, b: Floats, graph: Floats, share: float) -> dict[str, Any]:
    """Median wall and CPU seconds of one decision for one posterior, in turns."""
    arms = a.shape[1]
    times: dict[str, list[tuple[float, float]]] = {"baseline": [], "graphbandits": []}
    spent = 0.0
    for n in range(len(a)):
        if spent > share and n > LEAST_POSTERIORS:
            break
        prior = np.stack([a[n], b[n]], axis=1)
        agent = Agent("ids-n", arms=arms, graph=graph_of(arms), seed=0, prior=prior)
        one = partial(baseline.decide, a[n : n + 1], b[n : n + 1], graph)
        for name, call in (("baseline", one), ("graphbandits", agent.decide)):
            times[name].append(wall_and_cpu(call))
            spent += times[name][-1][1]
    medians = {name: np.median(values[1:] or values, axis=0) for name, values in times.items()}
    return {
        "decisions": len(times["baseline"]),
        **{name: {"wall": float(m[0]), "cpu": float(m[1])} for name, m in medians.items()},
    }


def best(simulation: dict[str, Any], name: str) -> tuple[str, float]:
    """The fastest block, and its time."""
    return min(((block, times[name]) for block, times in simulation.items()), key=lambda p: p[1])


def tables(section: dict[str, Any]) -> list[Table]:
    """In simulation, live, and accuracy."""
    return [_simulation_table(section), _live_table(section), _accuracy_table(section)]


COLUMNS = (
    *("arms", "kind", "NumPy", "NumPy kept", "here"),
    *("ratio", "ratio kept", "error NumPy", "error here"),
)


def _row(cell: dict[str, Any], times: list[tuple[float, float]]) -> list[str]:
    """``times``: of the baseline and of this library, for both kinds of memory."""
    errors = [error(max(cell["errors"][name].values())) for name in ("baseline", "graphbandits")]
    return [
        *_head(cell),
        *(seconds(theirs) for theirs, _ in times),
        seconds(min(mine for _, mine in times)),
        *(digits(theirs / mine) for theirs, mine in times),
        *errors,
    ]


def _head(cell: dict[str, Any]) -> list[str]:
    return [count(cell["arms"]), cell["posteriors"]]


def _simulation_table(section: dict[str, Any]) -> Table:
    rows = []
    for cell in section["cells"]:
        runs = [cell["times"][memory]["simulation"] for memory in MEMORY]
        times = [(best(run, "baseline")[1], best(run, "graphbandits")[1]) for run in runs]
        rows.append(_row(cell, times))
    return Table(
        "One IDS-N decision in simulation: CPU time",
        COLUMNS,
        rows,
        "NumPy: benchmarks/baseline.py (a grid of 1000 points), in its fastest block of "
        f"{', '.join(map(str, baseline.BLOCKS))} trials. Here: graphbandits in blocks of {BLOCK}, "
        "the default of simulate. Both run alternately on the same posteriors; each time is the "
        "minimum of several passes. NumPy returns its temporary arrays to the system after each "
        "decision; in the columns 'kept' the allocator keeps them. Error: largest absolute error "
        "of alpha, Delta and h (details below). Kind: posteriors from simulated trials, or drawn "
        "such that no two arms have the same one (distinct).",
        texts=2,
    )


def _live_table(section: dict[str, Any]) -> Table:
    rows = []
    for cell in section["cells"]:
        runs = [cell["times"][memory]["live"] for memory in MEMORY]
        times = [(run["baseline"]["cpu"], run["graphbandits"]["cpu"]) for run in runs]
        wall = min(run["graphbandits"]["wall"] for run in runs)
        rows.append([*_row(cell, times), seconds(wall)])
    return Table(
        "One live IDS-N decision: median CPU time",
        [*COLUMNS, "wall here"],
        rows,
        "Here: Agent.decide, including its checks, the draw and the record of the decision. NumPy: "
        "baseline.decide for one posterior, which returns the distribution only. Both run "
        "alternately on the same posteriors.",
        texts=2,
    )


def _accuracy_table(section: dict[str, Any]) -> Table:
    rows = []
    for cell in section["cells"]:
        errors = [
            error(cell["errors"][name][part])
            for part in ("alpha", "delta", "h")
            for name in ("baseline", "graphbandits")
        ]
        head = [*_head(cell), f"{cell['different']:.0f}"]
        rows.append([*head, *errors, error(cell["reference_disagreement"])])
    methods = {cell["reference"]: cell["arms"] for cell in section["cells"]}
    named = ", ".join(f"{name} up to {count(arms)} arms" for name, arms in methods.items())
    tried = sorted({cell["referenced"] for cell in section["cells"]})
    return Table(
        "Largest absolute errors of the statistics",
        [
            *("arms", "kind", "different", "alpha NumPy", "alpha here"),
            *("Delta NumPy", "Delta here", "h NumPy", "h here", "ref."),
        ],
        rows,
        f"Over {' or '.join(map(str, tried))} of the posteriors. Reference: {named}. Last column: "
        "largest difference between the reference and a second one (quadrature with 1.5 times the "
        "panels) on one posterior, both rounded to doubles. Different: median number of different "
        "posteriors among the arms.",
        texts=2,
    )
