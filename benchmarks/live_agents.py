"""Live agents: decide and observe in memory and in stores, replay, writers, bytes and memory.

A store commits every call. The floor of a call is therefore the commit of one small row, by a
connection with the settings of a store, in the same database and in the same run.
"""

from __future__ import annotations

import gc
import itertools
import multiprocessing
import random
import sys
import tempfile
import time
import tracemalloc
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from multiprocessing.synchronize import Barrier
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from display import Table, count, digits, seconds
from posteriors import few_different
from processes import in_fresh_process
from settings import Settings
from timing import Call, wall_and_cpu

from graphbandits import Agent
from graphbandits.live._database import Connection
from graphbandits.live.journal import Entry
from graphbandits.live.store import _database_of, open_store

sys.path.append(str(Path(__file__).parents[1] / "tests"))
from helpers.postgres import PostgresServer

MEMORY, SQLITE, POSTGRES = "memory", "SQLite", "PostgreSQL"
POLICY, GRAPH = "ids-n", "ring"
#: Policies and arms of the agents whose overhead is measured, and the statistics of it.
OVERHEAD_POLICIES, OVERHEAD_ARMS = ("ids-n", "ts-n"), 5
OVERHEAD = ("median", "least")
#: Calls before the first one that counts: psycopg prepares a statement at its sixth use.
WARM_UP = 6
#: Calls that count at least, passes of what takes seconds, and arms of an agent with writers.
LEAST, PASSES, WRITER_ARMS = 5, 3, 5
#: Decisions of the agent whose journal is repeated; entries that are written or read at a time.
PATTERN, BATCH, PAGE = 1_000, 50_000, 500

#: Functions that return an empty place for a store, by the name of the database.
Places = dict[str, Callable[[], str]]


def measure(settings: Settings, earlier: dict[str, Any]) -> dict[str, Any]:
    """Everything in memory and in each database that is there."""
    with databases() as (places, missing):
        kinds: dict[str, Callable[[], str | None]] = {MEMORY: lambda: None, **places}
        stored = places.items()
        return {
            "distinct": settings.live_distinct,
            "some_arms": settings.live_some_arms,
            "write_seconds": settings.live_write_seconds,
            "missing": missing,
            "versions": {kind: version(kind, new()) for kind, new in stored},
            "calls": [
                {"store": kind, "arms": arms, **time_calls(new(), arms, settings)}
                for arms in settings.live_arms
                for kind, new in kinds.items()
            ],
            "overhead": [
                {"policy": policy, **time_overhead(policy, settings)}
                for policy in OVERHEAD_POLICIES
            ],
            "replay": [{"store": kind, **replay(new(), settings)} for kind, new in stored],
            "writers": [
                {"store": kind, **row} for kind, new in stored for row in writers(new(), settings)
            ],
            "memory": [
                {"store": kind, "bytes": growth(kinds[kind](), settings)}
                for kind in (MEMORY, SQLITE)
            ],
        }


@contextmanager
def databases() -> Iterator[tuple[Places, dict[str, str]]]:
    """Empty places in each database, and the reason why a database is missing."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        numbers = itertools.count(1)
        places: Places = {SQLITE: lambda: str(folder / f"{next(numbers)}.db")}
        try:
            server = PostgresServer()
        except pytest.skip.Exception as reason:
            yield places, {POSTGRES: str(reason)}
            return
        stack.callback(server.remove)
        yield {**places, POSTGRES: server.new_address}, {}


def version(kind: str, place: str) -> str:
    """The version of a database, such as 3.40.1."""
    query = "SHOW server_version" if kind == POSTGRES else "SELECT sqlite_version()"
    with closing(_database_of(place).connect(create=True)) as connection:
        return str(connection.rows(query)[0][0]).split()[0]


# Calls --------------------------------------------------------------------------------------------


def time_calls(place: str | None, arms: int, settings: Settings) -> dict[str, dict[str, float]]:
    """Median wall and CPU seconds of decide, of observe and of a bare commit, in turns."""
    agent, rng = experienced_agent(arms, settings, place), random.Random(settings.seed)
    times: dict[str, list[tuple[float, float]]] = {"decide": [], "observe": []}
    with ExitStack() as stack:
        if place is not None:
            bare = stack.enter_context(closing(connection_with_table(place)))
            times["commit"] = []
        end = time.perf_counter() + settings.live_seconds
        while time.perf_counter() < end or len(times["decide"]) < WARM_UP + LEAST:
            if place is not None:
                times["commit"].append(wall_and_cpu(lambda: insert(bare)))
            took, decision = timed(agent.decide)
            times["decide"].append(took)
            outcomes = {arm: rng.randint(0, 1) for arm in decision.reveals}
            took, _ = timed(lambda d=decision, o=outcomes: agent.observe(d, o))
            times["observe"].append(took)
    agent.disconnect()
    return {name: median_times(own[WARM_UP:]) for name, own in times.items()}


def experienced_agent(
    arms: int,
    settings: Settings,
    place: str | None = None,
    policy: str = POLICY,
    name: str = "default",
) -> Agent:
    """An agent whose arms have at most ``live_distinct`` different histories."""
    agent = Agent(policy, arms, GRAPH, seed=settings.seed, store=place, name=name)
    a, b = few_different(arms, settings.live_distinct, settings.seed)
    pairs = zip(a[0].tolist(), b[0].tolist(), strict=True)
    agent.learn({arm: (a - 1.0, a + b - 2.0) for arm, (a, b) in enumerate(pairs) if a + b > 2.0})
    return agent


def connection_with_table(place: str) -> Connection:
    """A connection to a store, with a table of its own for bare commits."""
    connection = _database_of(place).connect(create=False)
    connection.run("CREATE TABLE IF NOT EXISTS bare (number INTEGER)")
    return connection


def insert(connection: Connection) -> None:
    """Commit one small row."""
    connection.run("INSERT INTO bare VALUES (?)", (1,))


def timed(call: Call) -> tuple[tuple[float, float], Any]:
    """Wall and CPU seconds of a call, and its result."""
    results = list[Any]()
    return wall_and_cpu(lambda: results.append(call())), results[0]


def median_times(times: Sequence[tuple[float, float]]) -> dict[str, float]:
    wall, cpu = np.median(times, axis=0)
    return {"wall": float(wall), "cpu": float(cpu)}


def time_overhead(policy: str, settings: Settings) -> dict[str, dict[str, float]]:
    """Median and least CPU seconds of decide and of observe of an agent in memory."""
    agent = experienced_agent(OVERHEAD_ARMS, settings, policy=policy)
    rng = random.Random(settings.seed)
    times: dict[str, list[float]] = {"decide": [], "observe": []}
    clock = time.process_time
    end = time.perf_counter() + settings.live_seconds
    while time.perf_counter() < end or len(times["decide"]) < WARM_UP + LEAST:
        start = clock()
        decision = agent.decide()
        times["decide"].append(clock() - start)
        outcomes = {arm: rng.randint(0, 1) for arm in decision.reveals}
        start = clock()
        agent.observe(decision, outcomes)
        times["observe"].append(clock() - start)
    return {
        name: {"median": float(np.median(own[WARM_UP:])), "least": min(own[WARM_UP:])}
        for name, own in times.items()
    }


# Replay -------------------------------------------------------------------------------------------


def replay(place: str, settings: Settings) -> dict[str, Any]:
    """Seconds to open an agent with many events, and the bytes that they take."""
    write_journal(place, settings)
    events = settings.live_events
    with closing(_database_of(place).connect(create=False)) as connection:
        query = "SELECT sum(length(body) + coalesce(length(data), 0)) FROM graphbandits_entries"
        content = int(connection.rows(query)[0][0])
        if place.startswith("postgresql"):
            query = "SELECT pg_total_relation_size('graphbandits_entries')"
            size = int(connection.rows(query)[0][0])
        else:
            size = Path(place).stat().st_size
    sizes = {"events": events, "bytes": size / events, "content": content / events}
    return sizes | in_fresh_process(open_agent, place)


def write_journal(place: str, settings: Settings) -> None:
    """Create an agent, and append the events of decisions that it has not made.

    They are those of a short run in memory, repeated with new numbers and ids.
    """
    arms, rng = settings.live_some_arms, random.Random(settings.seed)
    source = experienced_agent(arms, settings)
    before = source.status()["entries"]
    for _ in range(min(PATTERN, settings.live_events // 2)):
        decision = source.decide()
        source.observe(decision, {arm: rng.randint(0, 1) for arm in decision.reveals})
    pattern = list(source._journal.entries(before))
    Agent(POLICY, arms, GRAPH, seed=settings.seed, store=place).disconnect()
    with open_store(place) as store:
        journal = store.journal("default")
        entries = repeated(pattern, journal.last(), rng)
        for first in range(0, settings.live_events, BATCH):
            with journal.write():
                batch = min(BATCH, settings.live_events - first)
                journal.append(list(itertools.islice(entries, batch)))


def repeated(pattern: Sequence[Entry], last: int, rng: random.Random) -> Iterator[Entry]:
    """Pairs of a decision and its outcomes without end, with the numbers that follow."""
    for place, entry in enumerate(itertools.cycle(pattern)):
        decision, body = place // 2 + 1, entry.body
        if entry.kind == "decide":
            body = body | {"id": f"{decision}-{rng.randbytes(6).hex()}"}
        yield entry._replace(number=last + place + 1, decision=decision, body=body)


def open_agent(place: str) -> dict[str, Any]:
    """Median times: read all rows, open with all events to replay, open with a new snapshot."""
    load_kernels()
    read, replayed, opened = [], [], []
    for _ in range(PASSES):
        read.append(wall_and_cpu(lambda: read_rows(place)))
        took, agent = timed(lambda: Agent(store=place))
        replayed.append(took)
    agent.observe(agent.decide(), {})  # after so many entries this writes a snapshot
    for _ in range(PASSES):
        opened.append(wall_and_cpu(lambda: Agent(store=place)))
    times = {"read": read, "replay": replayed, "snapshot": opened}
    return {name: median_times(own) for name, own in times.items()}


def load_kernels() -> None:
    """Load the machine code that an agent needs."""
    agent = Agent(POLICY, 3, GRAPH, seed=1)
    agent.observe(agent.decide(), {0: 1})
    agent.learn({0: 1})


def read_rows(place: str) -> None:
    """Read all entries of a store, without a look at them."""
    query = f"""SELECT number, time, kind, decision, body, data FROM graphbandits_entries
        WHERE agent = 1 AND number > ? ORDER BY number LIMIT {PAGE}"""
    with closing(_database_of(place).connect(create=False)) as connection:
        last = 0
        while rows := connection.rows(query, (last,)):
            last = rows[-1][0]


# Writers ------------------------------------------------------------------------------------------


def writers(place: str, settings: Settings) -> list[dict[str, Any]]:
    """Events per second of several processes with one agent, and of as many with bare commits."""
    share, most = settings.live_write_seconds, max(settings.live_writers)
    Agent(POLICY, WRITER_ARMS, GRAPH, seed=settings.seed, store=place).disconnect()
    connection_with_table(place).close()  # makes the table
    context = multiprocessing.get_context("spawn")
    together = (context.Barrier(most),)
    rows = []
    with ProcessPoolExecutor(most, context, start_writer, together) as pool:
        # each of the first tasks starts a process, which waits for the others
        for task in [pool.submit(load_kernels) for _ in range(most)]:
            task.result()
        found: dict[int, list[list[float]]] = {number: [] for number in settings.live_writers}
        for _ in range(PASSES):
            for number, own in found.items():
                commits, *_ = at_once(pool, number, commit_rows, place, share / 3)
                own.append([commits, *at_once(pool, number, use_agent, place, share)])
        for number, own in found.items():
            names = ("commits", "events", "least", "longest")
            medians = np.median(own, axis=0).tolist()
            rows.append({"writers": number, **dict(zip(names, medians, strict=True))})
    return rows


def start_writer(together: Barrier) -> None:
    load_kernels()
    together.wait(300)


def at_once(
    pool: ProcessPoolExecutor,
    number: int,
    work: Callable[[str, float], tuple[float, float]],
    place: str,
    share: float,
) -> tuple[float, float, float]:
    """Calls per second of all processes and of the slowest one, and the longest call of any."""
    done = [task.result() for task in [pool.submit(work, place, share) for _ in range(number)]]
    rates, longest = zip(*done, strict=True)
    return sum(rates), min(rates), max(longest)


def use_agent(place: str, share: float) -> tuple[float, float]:
    """Decide and observe for so many seconds."""
    agent, rng = Agent(store=place), random.Random()

    def events() -> Iterator[None]:
        while True:
            decision = agent.decide()
            yield
            agent.observe(decision, {arm: rng.randint(0, 1) for arm in decision.reveals})
            yield

    rate = rate_of(events(), share)
    agent.disconnect()
    return rate


def commit_rows(place: str, share: float) -> tuple[float, float]:
    """Commit rows for so many seconds."""
    with closing(connection_with_table(place)) as connection:
        return rate_of((insert(connection) for _ in itertools.count()), share)


def rate_of(steps: Iterator[None], share: float) -> tuple[float, float]:
    """Steps per second during so many seconds, and the time of the longest one."""
    start = before = time.perf_counter()
    longest = 0.0
    for done, _ in enumerate(steps, 1):
        now = time.perf_counter()
        longest, before = max(longest, now - before), now
        if now >= start + share:
            return done / (now - start), longest
    raise AssertionError("the steps have ended")


# Memory -------------------------------------------------------------------------------------------


def growth(place: str | None, settings: Settings) -> float:
    """Bytes of Python and NumPy objects that each decision and its outcomes leave behind."""
    agent = experienced_agent(settings.live_some_arms, settings, place)
    rng = random.Random(settings.seed)

    def bytes_after_more_decisions() -> int:
        for _ in range(settings.live_decisions):
            decision = agent.decide()
            agent.observe(decision, {arm: rng.randint(0, 1) for arm in decision.reveals})
        del decision
        gc.collect()
        return tracemalloc.get_traced_memory()[0]

    tracemalloc.start()
    try:
        before = bytes_after_more_decisions()  # and caches are full
        return (bytes_after_more_decisions() - before) / settings.live_decisions
    finally:
        tracemalloc.stop()
        agent.disconnect()


# Tables -------------------------------------------------------------------------------------------


def tables(section: dict[str, Any]) -> list[Table]:
    """Calls, replay and size, writers, calls in memory, and memory."""
    stored = _calls(section), _replay(section), _writers(section)
    return [*stored, _overhead(section), _memory(section)]


def _calls(section: dict[str, Any]) -> Table:
    rows = []
    for case in section["calls"]:
        commit = case.get("commit")
        cells = [seconds(commit["wall"]) if commit else "-"]
        for call in ("decide", "observe"):
            cells += [seconds(case[call][clock]) for clock in ("wall", "cpu")]
            cells.append(digits(case[call]["wall"] / commit["wall"]) if commit else "-")
        rows.append([count(case["arms"]), case["store"], *cells])
    versions = ", ".join(f"{kind} {number}" for kind, number in section["versions"].items())
    columns = ["arms", "store", "commit", "decide", "CPU", "ratio", "observe", "CPU", "ratio"]
    return Table(
        f"Live agents: one decision, and its outcomes, of {POLICY} on the graph {GRAPH}",
        columns,
        [*rows, *_missing_rows(section, ["", POSTGRES], columns)],
        f"{versions}. Median wall time of a call, and CPU time of the process of the agent in the "
        f"columns 'CPU'. The arms have at most {section['distinct']} different histories. A "
        "decision reveals three arms, and observe reports their outcomes. commit: insert and "
        "commit one small row in the same database. The three alternate. Ratio: wall time divided "
        "by that of the commit." + _why_missing(section),
        texts=2,
    )


def _overhead(section: dict[str, Any]) -> Table:
    rows = [
        [
            case["policy"],
            *(seconds(case[call][kind]) for call in ("decide", "observe") for kind in OVERHEAD),
        ]
        for case in section["overhead"]
    ]
    return Table(
        f"Live agents: CPU time of one call with {OVERHEAD_ARMS} arms, in memory",
        ["policy", *(f"{call} {kind}" for call in ("decide", "observe") for kind in OVERHEAD)],
        rows,
        f"The graph is {GRAPH}: a decision reveals three arms, and observe reports their "
        "outcomes. The two alternate. least: the fastest call, with the least disturbance by "
        "other processes.",
        texts=1,
    )


def _replay(section: dict[str, Any]) -> Table:
    rows = []
    for case in section["replay"]:
        replayed, read = case["replay"]["wall"], case["read"]["wall"]
        rows.append(
            [
                case["store"],
                count(case["events"]),
                seconds(replayed),
                digits(case["events"] / replayed),
                seconds(read),
                digits(replayed / read),
                seconds(case["snapshot"]["wall"]),
                digits(case["bytes"]),
                digits(case["content"]),
            ]
        )
    columns = ["store", "events", "replay", "per second", "bare read", "ratio", "snapshot"]
    columns += ["bytes", "content"]
    return Table(
        "Live agents: open an agent with many events",
        columns,
        [*rows, *_missing_rows(section, [POSTGRES], columns)],
        f"Wall time in a fresh process; median of {PASSES} passes. Half of the events are "
        f"decisions among {section['some_arms']} arms, the others three outcomes each. replay: "
        "open the agent from the snapshot of its creation. bare read: read the same rows and "
        "nothing else; the two alternate. snapshot: open it with a snapshot of all events. bytes: "
        "size of the file of SQLite, or of the table of events of PostgreSQL with its indices, "
        "per event. content: bytes of an event as JSON and packed arrays." + _why_missing(section),
        texts=1,
    )


def _writers(section: dict[str, Any]) -> Table:
    rows, alone = [], {}
    for case in section["writers"]:
        one = alone.setdefault(case["store"], case["events"])
        rows.append(
            [
                case["store"],
                str(case["writers"]),
                digits(case["events"]),
                digits(case["events"] / one),
                digits(case["least"]),
                digits(case["commits"]),
                digits(case["events"] / case["commits"]),
                seconds(case["longest"]),
            ]
        )
    columns = ["store", "writers", "events/s", "to first", "slowest", "commits/s", "ratio"]
    columns.append("longest call")
    return Table(
        "Live agents: several processes with one agent",
        columns,
        [*rows, *_missing_rows(section, [POSTGRES], columns)],
        f"Each process alternates decide and observe on {WRITER_ARMS} arms; each call is an "
        f"event. All processes together; median of {PASSES} passes of "
        f"{seconds(section['write_seconds'])}. slowest: events per second of the slowest process. "
        "commits: as many processes insert and commit one small row at a time; the two alternate. "
        "Ratio: events divided by commits. longest call: of any process, including the wait for "
        "the others." + _why_missing(section),
        texts=1,
    )


def _memory(section: dict[str, Any]) -> Table:
    rows = [[case["store"], f"{case['bytes']:.0f}"] for case in section["memory"]]
    return Table(
        "Live agents: growth of memory",
        ["store", "bytes per decision"],
        rows,
        "Bytes of Python and NumPy objects (tracemalloc) that a decision and its outcomes leave "
        f"in the process, with {section['some_arms']} arms.",
        texts=1,
    )


def _missing_rows(
    section: dict[str, Any], first: Sequence[str], columns: Sequence[str]
) -> list[list[str]]:
    """A row that states that PostgreSQL could not be measured."""
    if POSTGRES not in section["missing"]:
        return []
    return [[*first, "not available", *[""] * (len(columns) - len(first) - 1)]]


def _why_missing(section: dict[str, Any]) -> str:
    return "".join(f" {kind}: {reason}." for kind, reason in section["missing"].items())
