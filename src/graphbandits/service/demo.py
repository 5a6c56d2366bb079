"""``graphbandits demo``: a service with one agent, and a simulated crowd that uses it over HTTP."""

from __future__ import annotations

import heapq
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import webbrowser
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from graphbandits.client import Client
from graphbandits.errors import GraphBanditsError, InputError

HOST = "127.0.0.1"
#: Ports that are tried, unless a port is given.
PORTS = range(8000, 8100)
#: Name of the agent.
AGENT = "promotions"
#: Seconds until a decision expires, and until the last answers come.
EXPIRES, LATEST = 60.0, 75.0
#: Probability that a person answers.
ANSWERS = 0.8
#: Answers by decision and person, both as texts.
Pieces = dict[Any, dict[Any, float]]
#: Seconds between decisions.
PACE = 1.0
#: Decisions before the first look, and how much faster they are made and answered.
WARM_UP, SPEED = 80, 10.0
#: Seconds that an answer of the service may take, also while kernels are compiled, and seconds that
#: it has to stop. Nothing is lost if it is killed then.
PATIENCE, STOP = 180.0, 3.0
STARTING = "Starting a service with a simulated crowd ..."
#: What the demo is, and what to look at.
TEXT = """\
Dashboard: {address} (Ctrl-C stops the demo and removes its files)
A shop offers a promotion to one of {people} people per second, and asks friends, too.
Overview: first, people with many friends are chosen, later the one who is most likely to accept.
Decisions: some are open, others have expired. Select one to see why this person was chosen.
Outcomes: answers come one by one, some too late; a fifth of the people does not answer.
Trend: the expected regret falls as the agent learns.
"""

_NAMES = """
    Ada Aisha Akira Amara Anders Anna Ben Boris Camila Carlos Chloe Clara Daniel Diego Elif Emma
    Erik Esther Eva Farid Felix Fiona Freya Gita Greta Hana Hassan Hugo Ida Ines Irina Ivan Jack
    Jana Jonas Julia Kai Karim Kofi Lars Laura Leila Leo Lina Lucia Maja Malik Marco Maria Mei
    Mila Nadia Nils Nina Noah Nora Olga Omar Oscar Paula Pedro Priya Ravi Rosa Ruth Samir Sara
    Selma Sofia Stefan Tariq Theo Vera Viktor Yara Yusuf
"""
NAMES = _NAMES.split()


#: Size of each community of the network, and the mean probability that its people accept.
CIRCLES = ((24, 0.05), (20, 0.08), (18, 0.12), (14, 0.16))
#: Sum of the two parameters of each prior, and number of friendships between communities.
PRIOR_SIZE, BRIDGES = 8.0, 18


@dataclass(frozen=True)
class Network:
    """A simulated social network."""

    people: list[str]
    friends: list[tuple[str, str]]
    prior: dict[str, tuple[float, float]]
    accepts: dict[str, float]

    def graph(self) -> Any:
        import networkx

        made = networkx.Graph()
        made.add_nodes_from(self.people)
        made.add_edges_from(self.friends)
        return made


def network(seed: int = 7) -> Network:
    """Generate a network of four communities with few friendships between them.

    Friendships in a community grow by preferential attachment with triangles (Holme and Kim, 2002).
    """
    import networkx

    draws = random.Random(seed)
    groups = list[list[str]]()
    friends = list[tuple[str, str]]()
    prior = dict[str, tuple[float, float]]()
    for size, accepted in CIRCLES:
        group = NAMES[len(prior) : len(prior) + size]
        part = networkx.powerlaw_cluster_graph(size, 2, 0.7, seed=draws.randrange(2**31))
        friends += [(group[one], group[other]) for one, other in part.edges]
        a = PRIOR_SIZE * accepted
        prior |= dict.fromkeys(group, (round(a, 6), round(PRIOR_SIZE - a, 6)))
        groups.append(group)
    bridges = set[tuple[str, str]]()
    while len(bridges) < BRIDGES:
        one, other = sorted(draws.sample(range(len(groups)), 2))
        bridges.add((draws.choice(groups[one]), draws.choice(groups[other])))
    accepts = {name: draws.betavariate(*both) for name, both in prior.items()}
    return Network(list(prior), friends + sorted(bridges), prior, accepts)


class Crowd:
    """People who answer late, in pieces, or never. Their only contact to the agent is HTTP."""

    def __init__(
        self,
        client: Client,
        accepts: dict[str, float],
        seed: int = 1,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._client = client
        self._accepts = accepts
        self._draws = random.Random(seed)
        self._clock = clock
        #: (time, decision, person, answer) of the answers to come
        self._coming: list[tuple[float, str, str, int]] = []
        #: Number of answers to come of decisions that are complete with the last of them.
        self._complete: dict[str, int] = {}

    def offer(self, speed: float = 1.0) -> None:
        """Make a decision: the person and the friends are asked for their answers."""
        made = self._client.decide(pending="expected", expires=EXPIRES / speed)
        asked, now = [str(name) for name in made.reveals], self._clock()
        answering = [name for name in asked if self._draws.random() < ANSWERS]
        for name in answering:
            # between 0.5 seconds and LATEST, half of them within 6 seconds
            delay = 0.5 * (LATEST / 0.5) ** self._draws.random() / speed
            accepted = int(self._draws.random() < self._accepts.get(name, 0.0))
            heapq.heappush(self._coming, (now + delay, made.id, name, accepted))
        if len(answering) == len(asked):
            self._complete[made.id] = len(asked)

    def answer(self) -> None:
        now, pieces, last = self._clock(), defaultdict[Any, dict[Any, float]](dict), set[str]()
        while self._coming and self._coming[0][0] <= now:
            _, id_, name, accepted = heapq.heappop(self._coming)
            pieces[id_][name] = accepted
            if id_ in self._complete:
                self._complete[id_] -= 1
                if not self._complete[id_]:
                    del self._complete[id_]
                    last.add(id_)
        for closing in (False, True):
            part = {id_: found for id_, found in pieces.items() if (id_ in last) == closing}
            if part:
                self._report(part, partial=not closing)

    def _report(self, pieces: Pieces, partial: bool) -> None:
        try:
            self._client.observe_many(pieces, partial=partial)
        except InputError:  # all or nothing: one of the decisions was closed in the dashboard
            if len(pieces) > 1:
                for id_, found in pieces.items():
                    self._report({id_: found}, partial)

    @property
    def next(self) -> float:
        """Time of the next answer."""
        return self._coming[0][0] if self._coming else float("inf")


def simulate(crowd: Crowd, stop: threading.Event, warm: threading.Event) -> None:
    """Make decisions and report answers until ``stop`` is set; set ``warm`` after the warm-up."""
    made, due = 0, time.monotonic()
    while not stop.is_set():
        speed = SPEED if made < WARM_UP else 1.0
        try:
            crowd.answer()
            if time.monotonic() >= due:
                # after a delay, such as the compilation, decisions do not come all at once
                made, due = made + 1, max(due, time.monotonic() - PACE / speed) + PACE / speed
                crowd.offer(speed)
        except GraphBanditsError:
            if not warm.is_set():
                raise
            stop.wait(PACE)  # the service is busy, or all arms were paused in the dashboard
        if made == WARM_UP:
            warm.set()
        stop.wait(max(0.0, min(due, crowd.next) - time.monotonic()))


# Processes ----------------------------------------------------------------------------------------


@contextmanager
def noted_signals() -> Iterator[list[int]]:
    """Note the signals that stop the demo, so that nothing is interrupted half-way.

    Signals that the process ignores stay ignored.
    """
    received, before = list[int](), {}
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:
            before[number] = signal.signal(number, lambda given, _: received.append(given))
    try:
        yield received
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def free_port(wanted: int | None = None) -> int:
    if wanted is not None and not 1 <= wanted <= 65535:
        raise InputError(f"--port must be 1 to 65535, not {wanted}")
    for port in PORTS if wanted is None else [wanted]:
        with socket.socket() as tried, suppress(OSError):
            # as the service does: connections of an earlier one may linger
            tried.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            tried.bind((HOST, port))
            return port
    if wanted is None:
        raise InputError(f"no port from {PORTS[0]} to {PORTS[-1]} is free: choose one with --port")
    raise InputError(f"port {wanted} is not free: choose another --port, or none")


@contextmanager
def service(directory: Path, port: int) -> Iterator[subprocess.Popen[bytes]]:
    """Run the service of a directory in a process of its own, and stop it at the end.

    It stops when its standard input ends, even if this process is killed, and has a session of its
    own, because Ctrl-C in a terminal reaches all processes of a session.
    """
    command = [sys.executable, "-m", "graphbandits.service.demo", str(directory), str(port)]
    with (directory / "service.log").open("wb") as log:
        process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=log, stderr=log, start_new_session=True
        )
    try:
        yield process
    finally:
        process.terminate()
        try:
            process.wait(STOP)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        if process.stdin:
            process.stdin.close()


def _serve(directory: Path, port: int) -> None:
    """Run the service, in the child process of :func:`service`."""
    from graphbandits.live import Agent
    from graphbandits.service.server import Settings, check_settings, serve

    alone = threading.Event()

    def stop_with_parent() -> None:
        sys.stdin.buffer.read()
        alone.set()
        os.kill(os.getpid(), signal.SIGTERM)

    signal.signal(signal.SIGTERM, lambda *_: sys.exit())
    try:
        threading.Thread(target=stop_with_parent, daemon=True).start()
        settings, made = Settings(str(directory / "demo.db"), HOST, port), network()
        graph, store = made.graph(), settings.store
        Agent("ids-n", graph=graph, prior=made.prior, seed=1, store=store, name=AGENT).disconnect()
        check_settings(settings)
        serve(settings)
    except GraphBanditsError as error:
        sys.exit(str(error))
    finally:
        if alone.is_set():
            shutil.rmtree(directory, ignore_errors=True)


def run(
    port: int | None = None, browser: bool = True, show: Callable[[str], object] = print
) -> int:
    """Run the demo until a signal stops it. No process and no file is left behind."""
    chosen = free_port(port)
    address = f"http://{HOST}:{chosen}"
    page = f"{address}/#/agents/{AGENT}"
    show(STARTING)
    with (
        noted_signals() as signals,
        tempfile.TemporaryDirectory(prefix="graphbandits-demo-") as path,
        service(Path(path), chosen) as process,
    ):
        visitors = _Visitors(address)
        visitors.start()
        shown = False
        while not signals:
            if process.poll() is not None:
                log = (Path(path) / "service.log").read_text("utf-8", "replace")
                last = [line for line in log.splitlines() if line.strip()][-1:]
                raise GraphBanditsError(f"the service of the demo has stopped: {' '.join(last)}")
            if visitors.error is not None:
                raise visitors.error
            if not shown and visitors.warm.is_set():
                shown = True
                for line in TEXT.format(people=len(NAMES), address=page).splitlines():
                    show(line)
                if browser and has_display():
                    webbrowser.open(page)
            time.sleep(0.1)
        visitors.stop.set()  # the service stops next, and with it the present request
        return signals[0]


class _Visitors(threading.Thread):
    """The thread of the crowd."""

    def __init__(self, address: str) -> None:
        super().__init__(daemon=True)
        self.warm, self.stop = threading.Event(), threading.Event()
        self.error: Exception | None = None
        self._address = address

    def run(self) -> None:
        try:
            # it waits until the service has started
            with Client(
                service=self._address, name=AGENT, token="", timeout=PATIENCE, pi=False
            ) as client:
                simulate(Crowd(client, network().accepts), self.stop, self.warm)
        except Exception as error:  # of this thread; the main thread raises it
            self.error = error


def has_display() -> bool:
    """Return whether a browser can be opened: there is a display, and no CI."""
    if os.environ.get("CI"):
        return False
    if sys.platform == "darwin":
        return True
    return bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


if __name__ == "__main__":
    _serve(Path(sys.argv[1]), int(sys.argv[2]))
