"""The decision service: latency and rate of requests, beside a bare route and a bare commit.

A request that decides or observes is one HTTP request and one commit. Its floor is therefore the
time of a route that does nothing, plus that of the commit of one small row in the same database.
"""

from __future__ import annotations

import functools
import json
import multiprocessing
import random
import socket
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from multiprocessing.synchronize import Barrier
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import urlopen

import numpy as np
from display import Table, count, digits, seconds
from live_agents import (
    GRAPH,
    POLICY,
    POSTGRES,
    WARM_UP,
    _missing_rows,
    _why_missing,
    connection_with_table,
    databases,
    experienced_agent,
    insert,
    version,
)
from settings import Settings

HOST = "127.0.0.1"
#: The median of a decision should be at most so many times the floor.
GOAL = 2.0
#: Seconds in which a server must start and stop, and between two attempts to reach it.
START, STOP, PAUSE = 120.0, 30.0, 0.05

#: Seconds of the calls of a client by their names, and of its whole share of a turn.
Times = tuple[dict[str, list[float]], float]
#: Returns the words that start a server with so many workers at a port.
Words = Callable[[int, int], list[str]]


def measure(settings: Settings, earlier: dict[str, Any]) -> dict[str, Any]:
    """Requests to the service and to the bare route, and commits, in each database there is."""
    versions, rows = {}, list[dict[str, Any]]()
    with ExitStack() as stack:
        places, missing = stack.enter_context(databases())
        pool = stack.enter_context(client_processes(max(settings.service_clients)))
        bare = stack.enter_context(servers(bare_route, settings))
        for kind, new in places.items():
            place = store_with_agents(new(), settings)
            versions[kind] = version(kind, place)
            with servers(functools.partial(service, place), settings) as ports:
                for clients in settings.service_clients:
                    found = measure_in_turns(pool, clients, place, ports, bare, settings)
                    rows += [{"store": kind, "clients": clients, **row} for row in found]
    return {
        "distinct": settings.live_distinct,
        "turns": settings.service_turns,
        "seconds": settings.service_seconds,
        "missing": missing,
        "versions": versions,
        "rows": rows,
    }


def store_with_agents(place: str, settings: Settings) -> str:
    """Make a store with an agent of each number of arms, named after it; return its place."""
    for arms in settings.service_arms:
        experienced_agent(arms, settings, place, name=str(arms)).disconnect()
    connection_with_table(place).close()  # makes the table
    return place


def measure_in_turns(
    pool: ProcessPoolExecutor,
    clients: int,
    place: str,
    ports: dict[int, int],
    bare: dict[int, int],
    settings: Settings,
) -> list[dict[str, Any]]:
    """Statistics of each number of workers: the floor, and the calls of each agent."""
    work: dict[Any, tuple[Any, ...]] = {"commit": (commit_rows, place)}
    for workers, port in ports.items():
        work[workers, "route"] = call_route, bare[workers]
        work |= {(workers, arms): (use_agent, port, arms) for arms in settings.service_arms}
    share = settings.service_seconds / settings.service_turns
    turns: dict[Any, list[list[Times]]] = defaultdict(list)
    for _ in range(settings.service_turns):
        for name, task in work.items():
            # each task takes so long that every process gets one
            done = [pool.submit(*task, share) for _ in range(clients)]
            turns[name].append([one.result() for one in done])
    found = {name: statistics(own) for name, own in turns.items()}
    return [
        {
            "workers": workers,
            **found["commit"],
            **found[workers, "route"],
            "agents": [{"arms": k, **found[workers, k]} for k in settings.service_arms],
        }
        for workers in ports
    ]


def statistics(turns: Sequence[Sequence[Times]]) -> dict[str, dict[str, float]]:
    """Median and 99th percentile of each call over all turns and clients, and its rate.

    The rate is that of all clients together, in the median of the turns.

    >>> statistics([[({"a": [0.1, 0.1, 0.2]}, 0.5), ({"a": [0.1, 0.2]}, 0.5)]])
    {'a': {'p50': 0.1, 'p99': 0.2, 'rate': 10.0}}
    """
    found = {}
    for name in turns[0][0][0]:
        times = [one for turn in turns for own, _ in turn for one in own[name]]
        rates = [sum(len(own[name]) / spent for own, spent in turn) for turn in turns]
        p50, p99 = np.percentile(times, (50, 99)).tolist()
        found[name] = {"p50": p50, "p99": p99, "rate": float(np.median(rates))}
    return found


# Clients ------------------------------------------------------------------------------------------


@contextmanager
def client_processes(most: int) -> Iterator[ProcessPoolExecutor]:
    """Processes of clients that have started."""
    context = multiprocessing.get_context("spawn")
    together = (context.Barrier(most),)
    with ProcessPoolExecutor(most, context, start_client, together) as pool:
        # each of the first tasks starts a process, which waits for the others
        for task in [pool.submit(time.sleep, 0.0) for _ in range(most)]:
            task.result()
        yield pool


def start_client(together: Barrier) -> None:
    together.wait(START)


def use_agent(port: int, arms: int, share: float) -> Times:
    """Ask for a decision and report its outcomes, for so many seconds."""
    rng = random.Random()
    with closing(HttpConnection(port)) as connection:

        def calls() -> dict[str, float]:
            decide, answer = connection.post(f"/agents/{arms}/decisions", b"{}")
            (made,) = json.loads(answer)["decisions"]
            outcomes = {made["id"]: {arm: rng.randint(0, 1) for arm in made["reveals"]}}
            body = json.dumps({"outcomes": outcomes}).encode()
            observe, _ = connection.post(f"/agents/{arms}/outcomes", body)
            return {"decide": decide, "observe": observe}

        return times_of(calls, share)


def call_route(port: int, share: float) -> Times:
    """Send requests to the bare route for so many seconds."""
    with closing(HttpConnection(port)) as connection:
        return times_of(lambda: {"route": connection.post("/", b"{}")[0]}, share)


def commit_rows(place: str, share: float) -> Times:
    """Commit rows for so many seconds."""
    with closing(connection_with_table(place)) as connection:

        def commit() -> dict[str, float]:
            start = time.perf_counter()
            insert(connection)
            return {"commit": time.perf_counter() - start}

        return times_of(commit, share)


def times_of(calls: Callable[[], dict[str, float]], share: float) -> Times:
    """Repeat calls for so many seconds; the first ones do not count."""
    for _ in range(WARM_UP):
        calls()
    times: dict[str, list[float]] = defaultdict(list)
    start = now = time.perf_counter()
    while now < start + share or not times:
        for name, took in calls().items():
            times[name].append(took)
        now = time.perf_counter()
    return dict(times), now - start


class HttpConnection:
    """A persistent connection of a client, which takes little time itself."""

    def __init__(self, port: int) -> None:
        self._socket = socket.create_connection((HOST, port), timeout=START)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._answers = self._socket.makefile("rb")

    def post(self, path: str, body: bytes) -> tuple[float, bytes]:
        """Send a JSON body; return the seconds until the whole answer is here, and the answer."""
        head = f"POST {path} HTTP/1.1\r\nHost: {HOST}\r\nContent-Type: application/json\r\n"
        request = f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body
        start = time.perf_counter()
        self._socket.sendall(request)
        status, size = self._answers.readline(), 0
        while (line := self._answers.readline()).strip():
            name, _, value = line.partition(b":")
            if name.lower() == b"content-length":
                size = int(value)
        answer = self._answers.read(size)
        took = time.perf_counter() - start
        if not status.startswith(b"HTTP/1.1 200"):
            raise ConnectionError(f"{path}: {(status + answer).decode(errors='replace')}")
        return took, answer

    def close(self) -> None:
        """Close the connection."""
        self._answers.close()
        self._socket.close()


# Servers ------------------------------------------------------------------------------------------


def service(place: str, workers: int, port: int) -> list[str]:
    """Words that start the service, without a limit of the rate."""
    words = ["-m", "graphbandits", "serve", place, "--host", HOST, "--rate", "0"]
    return [*words, "--port", str(port), "--workers", str(workers)]


def bare_route(workers: int, port: int) -> list[str]:
    """Words that start the bare route."""
    return [str(Path(__file__).with_name("bare_route.py")), str(port), str(workers)]


@contextmanager
def servers(words: Words, settings: Settings) -> Iterator[dict[int, int]]:
    """Start a server with each number of workers, and yield their ports."""
    start = time.perf_counter()
    ports = dict(
        zip(settings.service_workers, free_ports(len(settings.service_workers)), strict=True)
    )
    with ExitStack() as stack:
        started = {}
        for workers, port in ports.items():
            command = [sys.executable, *words(workers, port)]
            started[port] = subprocess.Popen(command, stdout=subprocess.DEVNULL)
            stack.callback(stop, started[port])
        for port, process in started.items():
            wait_for_answer(port, process)
        if max(ports) > 1:
            # one of the workers has answered; the others have started at the same time
            time.sleep(time.perf_counter() - start)
        yield ports


def free_ports(number: int) -> list[int]:
    with ExitStack() as stack:
        probes = [stack.enter_context(socket.create_server((HOST, 0))) for _ in range(number)]
        return [probe.getsockname()[1] for probe in probes]


def wait_for_answer(port: int, process: subprocess.Popen[bytes]) -> None:
    """Wait until a server answers, also if it answers that there is no such path."""
    end = time.perf_counter() + START
    while True:
        try:
            urlopen(f"http://{HOST}:{port}/health", timeout=START).close()
            return
        except HTTPError as error:
            error.close()
            return
        except OSError as error:
            if process.poll() is not None or time.perf_counter() > end:
                raise RuntimeError(f"{process.args!r} does not answer") from error
            time.sleep(PAUSE)


def stop(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(STOP)
    except subprocess.TimeoutExpired:
        process.kill()
        raise


# Tables -------------------------------------------------------------------------------------------


def tables(section: dict[str, Any]) -> list[Table]:
    """Decide and observe beside their floor, and the two parts of the floor."""
    versions = ", ".join(f"{kind} {number}" for kind, number in section["versions"].items())
    turn = seconds(section["seconds"] / section["turns"])
    return [
        _calls(
            section,
            "decide",
            f"{versions}. Wall time from the request to the end of the answer, on the loopback "
            "interface. workers: processes of the service. clients: processes with one connection "
            "each, which use the same agent and alternate decide and observe. rate: decisions per "
            "second of all clients together; as many requests report outcomes. floor: the medians "
            "of a bare route and of a commit, with the same number of clients, together (below). "
            f"Ratio: p50 divided by the floor. goal: a ratio of at most {GOAL:g}. The arms have at "
            f"most {section['distinct']} different histories. All alternate in {section['turns']} "
            f"turns of {turn}.",
        ),
        _calls(section, "observe", "The same for the requests that report three outcomes each."),
        _floor(section),
    ]


def _calls(section: dict[str, Any], call: str, note: str) -> Table:
    cases = [
        (agent["arms"], row["workers"], row["clients"], row, agent[call])
        for row in section["rows"]
        for agent in row["agents"]
    ]
    rows = []
    for kind in section["versions"]:
        own = (case for case in cases if case[3]["store"] == kind)
        for arms, workers, clients, row, times in sorted(own, key=lambda case: case[:3]):
            floor = row["route"]["p50"] + row["commit"]["p50"]
            ratio = times["p50"] / floor
            cells = [kind, count(arms), str(workers), str(clients), *_percentiles(times)]
            rows.append([*cells, seconds(floor), digits(ratio), "met" if ratio <= GOAL else "no"])
    columns = ["store", "arms", "workers", "clients", "p50", "p99", "rate", "floor", "ratio"]
    columns.append("goal")
    return Table(
        f"The service: {call}, {POLICY} on the graph {GRAPH}",
        columns,
        [*rows, *_missing_rows(section, [POSTGRES], columns)],
        note + _why_missing(section),
        texts=1,
    )


def _floor(section: dict[str, Any]) -> Table:
    rows = [
        [
            row["store"],
            str(row["workers"]),
            str(row["clients"]),
            *_percentiles(row["route"]),
            *_percentiles(row["commit"]),
        ]
        for row in section["rows"]
    ]
    columns = ["store", "workers", "clients", "route", "p99", "rate", "commit", "p99", "rate"]
    return Table(
        "The service: the floor",
        columns,
        [*rows, *_missing_rows(section, [POSTGRES], columns)],
        "route: median of requests to a route of FastAPI that reads a JSON body and returns a "
        "constant. It runs in a thread, as requests to the service do, and its server has the same "
        "settings. commit: median of the insert and commit of one small row. As many processes as "
        "there are clients do so, without a service. rate: per second, all clients together."
        + _why_missing(section),
        texts=1,
    )


def _percentiles(times: dict[str, float]) -> list[str]:
    return [seconds(times["p50"]), seconds(times["p99"]), digits(times["rate"])]
