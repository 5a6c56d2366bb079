"""A simulated round of every policy and reward model, and simulations with several workers."""

from __future__ import annotations

import os
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from common import Call, digits, least_cpu_in_turns, number, print_table, seconds

from graphbandits import (
    Bernoulli,
    BetaBernoulli,
    as_process,
    as_world,
    list_available,
    run_experiment,
    simulate,
)
from graphbandits.errors import InputError
from graphbandits.policies import as_policy
from graphbandits.rng import Keys
from graphbandits.simulation.loop import run_block


def every_policy(quick: bool) -> None:
    block, rounds = 250, 50 if quick else 200
    columns, cells = [], list[dict[str, str]]()
    for arms in (5,) if quick else (5, 50):
        for graph in ("cliques(size=5)", "random(r=0.25)"):
            calls = {}
            for name in (one["name"] for one in list_available()["policies"]):
                call = block_of(name, Bernoulli(BetaBernoulli.of(arms)), graph, rounds, block)
                try:
                    call()
                except InputError:  # the policy needs another graph
                    continue
                calls[name] = call
            least = least_cpu_in_turns(calls, 0.3 if quick else 2.0)
            cells.append({name: seconds(t / (block * rounds)) for name, t in least.items()})
            columns.append(f"{graph} K={arms}")
    names = sorted({name for column in cells for name in column})
    print_table(
        "A simulated round of every policy",
        ["policy", *columns],
        [[name, *(column.get(name, "-") for column in cells)] for name in names],
        f"CPU time per trial, over the first {rounds} rounds in a block of {block}. -: the policy "
        "needs a graph with entries 0 and 1.",
    )


def every_model(quick: bool) -> None:
    block, rounds = 10, 10 if quick else 50
    columns, cells = [], list[list[str]]()
    worlds = [one["name"] for one in list_available()["worlds"]]
    for arms in (5,) if quick else (5, 10):
        for policy in ("ts-n", "ids-n", "v-ids-n"):
            calls = {
                name: block_of(policy, as_world(name, arms), "star", rounds, block)
                for name in worlds
            }
            least = least_cpu_in_turns(calls, 0.1 if quick else 1.0)
            cells.append([seconds(t / (block * rounds)) for t in least.values()])
            columns.append(f"{policy} K={arms}")
    print_table(
        "A simulated round of every reward model",
        ["world", *columns],
        [list(row) for row in zip(worlds, *cells, strict=True)],
        f"CPU time per trial, on the graph star, over the first {rounds} rounds in a block of "
        f"{block}, with the matching posterior.",
    )


def block_of(policy: str, world: Any, graph: str, rounds: int, trials: int) -> Call:
    """Return a call that simulates a block of trials."""
    process, keys = as_process(graph, world.arms), Keys(0, 0, trials)
    last = np.array([rounds])
    return partial(run_block, as_policy(policy), world, process, rounds, keys, last)


def workers(quick: bool) -> None:
    trials, passes = (100, 1) if quick else (1000, 3)
    policies = ["ids-n", "ts-n"]
    options: dict[str, Any] = {"graph": "paper", "horizon": 1000, "trials": trials}
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        experiment = Path(folder, "experiment.toml")
        experiment.write_text(
            f'title = "Benchmark"\ngraph = "paper"\nhorizon = 1000\ntrials = {trials}\n'
            f"policies = {policies}\n"
        )
        fresh_directory = (str(Path(folder, f"study{n}")) for n in range(2 * passes))
        in_memory = partial(simulate, policies, progress=False, **options)
        study = partial(run_experiment, experiment, pages=False, progress=False, workers=2)
        calls: dict[str, Call] = {
            "simulate, 1 thread": lambda: in_memory(workers=1, parallel="threads"),
            "simulate, 2 threads": lambda: in_memory(workers=2, parallel="threads"),
            "simulate, 2 processes": lambda: in_memory(workers=2, parallel="processes"),
            "study, 2 workers": lambda: study(output=next(fresh_directory)),
            "the same study again": lambda: study(output=str(Path(folder, "study0"))),
        }
        in_memory(workers=1, parallel="threads")  # compiles
        least = dict.fromkeys(calls, (np.inf, np.inf))
        for _ in range(passes):
            for name, call in calls.items():
                start, before = time.perf_counter(), cpu_of_all()
                call()
                spent = time.perf_counter() - start, cpu_of_all() - before
                least[name] = min(least[name], spent)
    first = least["simulate, 1 thread"][0]
    for name, (wall, cpu) in least.items():
        rows.append([name, seconds(wall), digits(first / wall), seconds(cpu)])
    print_table(
        f"{number(trials)} trials of 1,000 rounds of IDS-N and TS-N",
        ["", "wall time", "faster", "CPU"],
        rows,
        f"The paper's graph; minimum of {passes} passes, in turns. CPU: with that of the worker "
        "processes, which start anew in each pass. study: a directory with its shards, without "
        "report. The same study again reads what is there.",
    )


def cpu_of_all() -> float:
    """CPU seconds of this process and of the processes that it has waited for."""
    return sum(os.times()[:4])
