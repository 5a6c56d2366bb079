"""The service: latency and rate of requests, beside a bare route and a bare commit.

A request that decides or observes is one HTTP request and one commit. Run as a program, this module
serves the bare route: a route of FastAPI that does nothing.
"""

from __future__ import annotations

import asyncio
import json
import multiprocessing
import random
import socket
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from http.client import HTTPConnection
from typing import Any
from urllib.error import HTTPError
from urllib.request import urlopen

import numpy as np
import uvicorn
from agents import WARM_UP, commits, databases, experienced_agent
from common import digits, print_table, seconds
from fastapi import FastAPI
from uvicorn.protocols.http.h11_impl import H11Protocol

HOST = "127.0.0.1"
#: An answer of the size of a decision.
DECISION = {
    "id": "1000-0123456789ab",
    "arm": 1,
    "probability": 0.123456789,
    "reveals": {"0": 1.0, "1": 1.0, "2": 1.0},
    "time": "2026-01-01T00:00:00.123456+00:00",
}
#: Seconds of the calls of a client by their names, and of its whole turn.
Times = tuple[dict[str, list[float]], float]


def latency(quick: bool) -> None:
    turns, share = (1, 0.3) if quick else (4, 0.5)
    rows = []
    with ExitStack() as stack:
        stores = stack.enter_context(databases())
        context = multiprocessing.get_context("spawn")
        pool = stack.enter_context(ProcessPoolExecutor(4, context))
        for name, new in stores.items():
            store = new()
            experienced_agent(5, store).disconnect()
            for workers, all_clients in ((1, (1, 4)), (2, (4,))):
                serve = ["-m", "graphbandits", "serve", store, "--host", HOST, "--rate", "0"]
                with server([__file__], workers) as bare, server(serve, workers) as port:
                    work = {commit_rows: store, call_route: bare, use_agent: port}
                    for clients in all_clients:
                        found = in_turns(pool, work, clients, turns, share)
                        (p50, p99, rate), observe = found["decide"], found["observe"][0]
                        floor = found["commit"][0] + found["route"][0]
                        times = map(seconds, (p50, p99, observe, floor))
                        cells = [name, str(workers), str(clients), *times, digits(p50 / floor)]
                        rows.append([*cells, digits(rate)])
    print_table(
        "The service: ids-n on the graph ring, 5 arms",
        [
            *("store", "workers", "clients", "decide", "p99", "observe"),
            *("floor", "decide / floor", "decisions/s"),
        ],
        rows,
        "Median wall time of a request. workers: processes of the service. clients: processes with "
        "one connection each, which use the same agent. floor: a route that does nothing and the "
        "commit of one small row, with as many clients.",
    )


def in_turns(
    pool: ProcessPoolExecutor, work: dict[Any, Any], clients: int, turns: int, share: float
) -> dict[str, tuple[float, float, float]]:
    """Median, 99th percentile and calls per second of each call."""
    times: dict[str, list[float]] = defaultdict(list)
    rates: dict[str, float] = defaultdict(float)
    for _ in range(turns):
        for task, target in work.items():
            done = [pool.submit(task, target, share) for _ in range(clients)]
            for own, spent in (one.result() for one in done):
                for call, values in own.items():
                    times[call] += values
                    rates[call] += len(values) / spent / turns
    return {
        call: (*map(float, np.percentile(values, (50, 99))), rates[call])
        for call, values in times.items()
    }


# Clients ------------------------------------------------------------------------------------------


def use_agent(port: int, share: float) -> Times:
    """Ask for a decision and report its outcomes, for so many seconds."""
    rng = random.Random()
    with closing(HTTPConnection(HOST, port)) as connection:

        def step() -> dict[str, float]:
            decide, answer = post(connection, "/agents/default/decisions", {})
            (made,) = answer["decisions"]
            outcomes = {made["id"]: {arm: rng.randint(0, 1) for arm in made["reveals"]}}
            observe, _ = post(connection, "/agents/default/outcomes", {"outcomes": outcomes})
            return {"decide": decide, "observe": observe}

        return times_of(step, share)


def call_route(port: int, share: float) -> Times:
    with closing(HTTPConnection(HOST, port)) as connection:
        return times_of(lambda: {"route": post(connection, "/", {})[0]}, share)


def commit_rows(store: str, share: float) -> Times:
    with commits(store) as commit:

        def step() -> dict[str, float]:
            start = time.perf_counter()
            commit()
            return {"commit": time.perf_counter() - start}

        return times_of(step, share)


def post(connection: HTTPConnection, path: str, body: Any) -> tuple[float, Any]:
    """Seconds until the whole answer is here, and the answer."""
    data = json.dumps(body).encode()
    start = time.perf_counter()
    connection.request("POST", path, data, {"Content-Type": "application/json"})
    response = connection.getresponse()
    answer = response.read()
    took = time.perf_counter() - start
    if response.status != 200:
        raise ConnectionError(f"{path}: {response.status} {answer.decode(errors='replace')}")
    return took, json.loads(answer)


def times_of(step: Callable[[], dict[str, float]], share: float) -> Times:
    """Repeat calls for so many seconds; the first ones do not count."""
    for _ in range(WARM_UP):
        step()
    times: dict[str, list[float]] = defaultdict(list)
    start = time.perf_counter()
    while time.perf_counter() < start + share or not times:
        for name, took in step().items():
            times[name].append(took)
    return dict(times), time.perf_counter() - start


# Servers ------------------------------------------------------------------------------------------


@contextmanager
def server(words: list[str], workers: int) -> Iterator[int]:
    """Start a server, and yield its port."""
    with socket.create_server((HOST, 0)) as probe:
        port = int(probe.getsockname()[1])
    options = ["--port", str(port), "--workers", str(workers)]
    process = subprocess.Popen([sys.executable, *words, *options], stdout=subprocess.DEVNULL)
    try:
        start = time.perf_counter()
        while not answers(port):
            if process.poll() is not None or time.perf_counter() > start + 120.0:
                raise RuntimeError(f"{process.args!r} does not answer")
            time.sleep(0.05)
        if workers > 1:  # one has answered; the others have started at the same time
            time.sleep(time.perf_counter() - start)
        yield port
    finally:
        process.terminate()
        process.wait(30.0)


def answers(port: int) -> bool:
    try:
        urlopen(f"http://{HOST}:{port}/health", timeout=30.0).close()
    except HTTPError:  # the bare route has no such path
        return True
    except OSError:
        return False
    return True


class Protocol(H11Protocol):
    """Sends small parts of an answer at once, as the service does.

    Without this, uvicorn with several workers takes 40 ms per answer
    (https://github.com/Kludex/uvicorn/issues/3149).
    """

    def connection_made(self, transport: asyncio.Transport) -> None:
        connection = transport.get_extra_info("socket")
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        super().connection_made(transport)


def create_app() -> FastAPI:
    app = FastAPI()

    @app.post("/")
    def answer(body: dict[str, Any]) -> dict[str, Any]:
        return {"decisions": [DECISION]}

    return app


if __name__ == "__main__":
    _, _, port_text, _, workers_text = sys.argv
    uvicorn.run(
        "service:create_app",
        factory=True,
        http="service:Protocol",
        host=HOST,
        port=int(port_text),
        workers=int(workers_text),
        log_level="warning",
        access_log=False,
    )
