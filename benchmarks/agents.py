"""Live agents in memory, SQLite and PostgreSQL, and the first decision of a process."""

from __future__ import annotations

import itertools
import json
import multiprocessing
import os
import random
import sqlite3
import subprocess
import sys
import tempfile
import time
import tracemalloc
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from common import Call, digits, few_different, number, print_table, seconds, wall_and_cpu

from graphbandits import Agent

sys.path.append(str(Path(__file__).parents[1] / "tests"))
from helpers.postgres import PostgresServer

POLICY, GRAPH = "ids-n", "ring"
#: Calls before the first one that counts: psycopg prepares a statement at its sixth use.
WARM_UP = 6


# Databases ----------------------------------------------------------------------------------------


@contextmanager
def databases() -> Iterator[dict[str, Callable[[], str]]]:
    """Functions that return the address of an empty store, by the name of the database."""
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        numbers = itertools.count()
        stores = {"SQLite": lambda: f"{folder}/{next(numbers)}.db"}
        try:
            server = PostgresServer()
        except pytest.skip.Exception as reason:
            print(f"Without PostgreSQL: {reason}\n")
        else:
            stack.callback(server.remove)
            stores["PostgreSQL"] = server.new_address
        yield stores


@contextmanager
def commits(store: str) -> Iterator[Call]:
    """Yield a call that commits one small row, with the settings of a store."""
    if store.startswith("postgresql"):
        import psycopg

        with psycopg.connect(store, autocommit=True) as postgres:
            postgres.execute("CREATE TABLE IF NOT EXISTS bare (number INTEGER)")
            yield lambda: postgres.execute("INSERT INTO bare VALUES (1)")
        return
    with closing(sqlite3.connect(store, isolation_level=None, timeout=60.0)) as connection:
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("CREATE TABLE IF NOT EXISTS bare (number INTEGER)")
        yield lambda: connection.execute("INSERT INTO bare VALUES (1)")


def experienced_agent(arms: int, store: str | None = None) -> Agent:
    """An agent whose arms have at most 100 different histories."""
    agent = Agent(POLICY, arms, GRAPH, seed=0, store=store)
    pairs = zip(*(one[0].tolist() for one in few_different(arms, 100)), strict=True)
    agent.learn({arm: (a - 1.0, a + b - 2.0) for arm, (a, b) in enumerate(pairs) if a + b > 2.0})
    return agent


def answers(decision: Any, rng: random.Random) -> dict[Any, float]:
    return {arm: float(rng.random() < 0.5) for arm in decision.reveals}


# Calls --------------------------------------------------------------------------------------------


def calls(quick: bool) -> None:
    rows = []
    with databases() as stores:
        for arms in (5, 1_000):
            for name, new in {"memory": lambda: None, **stores}.items():
                times = time_calls(new(), arms, 0.3 if quick else 2.0)
                decide, observe = times["decide"], times["observe"]
                cells = [number(arms), name, *map(seconds, (*decide, *observe))]
                cells.append(digits(1.0 / (decide[0] + observe[0])))
                if "commit" in times:
                    commit = times["commit"][0]
                    cells += [seconds(commit), digits(decide[0] / commit)]
                rows.append(cells + ["-"] * (9 - len(cells)))
    print_table(
        f"Live agents: a decision and its outcomes, {POLICY} on the graph {GRAPH}",
        [
            *("arms", "store", "decide", "CPU", "observe", "CPU"),
            *("decisions/s", "commit", "decide / commit"),
        ],
        rows,
        "Median wall time, and CPU time of the process of the agent. A decision reveals three "
        "arms, and observe reports their outcomes. decisions/s: with their outcomes. commit: of "
        "one small row in the same database.",
        texts=2,
    )


def time_calls(store: str | None, arms: int, share: float) -> dict[str, tuple[float, float]]:
    """Median wall and CPU seconds of decide, of observe and of a bare commit, in turns."""
    agent, rng = experienced_agent(arms, store), random.Random(0)
    times: dict[str, list[tuple[float, float]]] = {"decide": [], "observe": []}
    with ExitStack() as stack:
        if store:
            commit = stack.enter_context(commits(store))
            times["commit"] = []
        end = time.perf_counter() + share
        while time.perf_counter() < end or len(times["decide"]) < WARM_UP + 5:
            if store:
                times["commit"].append(wall_and_cpu(commit))
            made = list[Any]()
            times["decide"].append(wall_and_cpu(lambda m=made: m.append(agent.decide())))
            seen = answers(made[0], rng)
            times["observe"].append(wall_and_cpu(lambda d=made[0], s=seen: agent.observe(d, s)))
    agent.disconnect()
    medians = {name: np.median(own[WARM_UP:], axis=0) for name, own in times.items()}
    return {name: (float(wall), float(cpu)) for name, (wall, cpu) in medians.items()}


# Writers ------------------------------------------------------------------------------------------


def writers(quick: bool) -> None:
    share = 0.3 if quick else 3.0
    counts = (1, 2) if quick else (1, 2, 4)
    rows = []
    context = multiprocessing.get_context("spawn")
    with databases() as stores:
        for name, new in stores.items():
            store = new()
            Agent(POLICY, 5, GRAPH, seed=0, store=store).disconnect()
            for count in counts:
                barrier = (context.Barrier(count),)
                with ProcessPoolExecutor(count, context, wait_for_others, barrier) as pool:
                    done = list(pool.map(use_agent, [store] * count, [share] * count))
                rates, longest = zip(*done, strict=True)
                cells = [name, str(count), digits(sum(rates)), digits(min(rates))]
                rows.append([*cells, seconds(max(longest))])
    print_table(
        "Live agents: several processes with one agent",
        ["store", "processes", "calls/s", "slowest", "longest call"],
        rows,
        "Each process alternates decide and observe on 5 arms. calls/s: of all processes together. "
        "slowest: calls per second of the slowest process.",
    )


def wait_for_others(barrier: Any) -> None:
    """Start a process: load the kernels, and wait until all have done so."""
    agent = experienced_agent(3)
    agent.observe(agent.decide(), {})
    barrier.wait(300)


def use_agent(store: str, share: float) -> tuple[float, float]:
    """Calls per second, and the time of the longest one."""
    agent, rng, times = Agent(store=store), random.Random(), list[float]()
    end = time.perf_counter() + share
    while time.perf_counter() < end:
        made = list[Any]()
        times.append(wall_and_cpu(lambda m=made: m.append(agent.decide()))[0])
        seen = answers(made[0], rng)
        times.append(wall_and_cpu(lambda d=made[0], s=seen: agent.observe(d, s))[0])
    agent.disconnect()
    return len(times) / sum(times), max(times)


# Journal ------------------------------------------------------------------------------------------


def journal(quick: bool) -> None:
    decisions, arms = (300 if quick else 5_000), 1_000
    rows = []
    with databases() as stores:
        for name, new in {"memory": lambda: None, **stores}.items():
            store = new()
            agent, rng = experienced_agent(arms, store), random.Random(0)
            tracemalloc.start()
            for n in range(decisions):
                if n == decisions // 2:
                    before = tracemalloc.get_traced_memory()[0]
                decision = agent.decide()
                agent.observe(decision, answers(decision, rng))
            growth = (tracemalloc.get_traced_memory()[0] - before) / (decisions / 2)
            tracemalloc.stop()
            replay = wall_and_cpu(agent.verify)[0]
            agent.disconnect()
            opened = (
                seconds(wall_and_cpu(lambda s=store: Agent(store=s).disconnect())[0])
                if store
                else "-"
            )
            path = Path(store or "")
            size = f"{path.stat().st_size / decisions:.0f}" if path.is_file() else "-"
            rows.append([name, opened, digits(2 * decisions / replay), size, f"{growth:.0f}"])
    print_table(
        f"Live agents: {number(decisions)} decisions with their outcomes among {number(arms)} arms",
        ["store", "open", "replayed/s", "file, bytes", "memory, bytes"],
        rows,
        "open: from the last snapshot. replayed/s: entries of the journal per second, in verify. "
        "Bytes of the file, and of Python and NumPy objects that stay in memory, per decision.",
    )


# Start --------------------------------------------------------------------------------------------

AGENT = """
import json, time
times = [time.process_time()]
import numba, numpy
times.append(time.process_time())
from graphbandits import Agent
times.append(time.process_time())
agent = Agent("ids-n", arms=5, graph="ring", seed=0)
times.append(time.process_time())
agent.decide()
times.append(time.process_time())
print(json.dumps([b - a for a, b in zip(times, times[1:])]))
"""
PARTS = ("import numpy and numba", "import Agent, after them", "create an agent", "first decision")
COMMANDS = {
    "Agent, first decision": ["-c", AGENT],
    "graphbandits inspect": [
        *("-m", "graphbandits", "inspect", "--beta", "1,2", "--beta", "4,4", "--graph", "star"),
    ],
    "graphbandits simulate": [
        *("-m", "graphbandits", "simulate", "--policy", "ids-n", "--policy", "ts-n"),
        *("--graph", "paper", "--horizon", "10", "--trials", "10"),
    ],
}


def start(quick: bool) -> None:
    rows, parts = [], list[list[float]]()
    with tempfile.TemporaryDirectory() as folder:
        for name, words in COMMANDS.items():
            cache = Path(folder, name)
            empty = "not measured" if quick else seconds(run(words, cache)[0])
            warm = [run(words, None if quick else cache) for _ in range(1 if quick else 5)]
            rows.append([name, empty, seconds(min(cpu for cpu, _ in warm))])
            if words[-1] == AGENT:
                parts = [json.loads(output) for _, output in warm]
    print_table(
        "The first run of a command",
        ["command", "empty cache", "warm"],
        rows,
        "CPU time. The kernels are compiled with an empty cache. warm: the same command again.",
    )
    print_table(
        "A warm process up to its first decision",
        ["part", "CPU"],
        [[part, seconds(least)] for part, least in zip(PARTS, np.min(parts, axis=0), strict=True)],
        "A live agent with five arms and ids-n, in memory; minimum of 5 processes.",
    )


def run(words: list[str], cache: Path | None) -> tuple[float, str]:
    """CPU seconds of a command and its workers, and its output."""
    # without byte code on disk every import would compile its source
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    if cache:
        kept["NUMBA_CACHE_DIR"] = str(cache)
    before = os.times()
    command = [sys.executable, *words]
    output = subprocess.run(command, env=kept, capture_output=True, text=True, check=True).stdout
    after = os.times()
    return sum(after[2:4]) - sum(before[2:4]), output
