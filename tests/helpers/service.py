"""The decision service as a real process, on a free port of the loopback address."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any

import httpx

#: Seconds until a service must answer; machine code may have to be compiled first.
START = 180.0


def free_port() -> int:
    """Return a port that is free at the moment."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def wait_for(condition: Callable[[], Any], seconds: float = 20.0, what: str = "") -> Any:
    """Wait until a condition is true, and return its value."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if found := condition():
            return found
        time.sleep(0.02)
    raise AssertionError(f"not within {seconds:g} s: {what or condition}")


def children(process: int) -> dict[int, str]:
    """Return the command line of each child of a process, by its id."""
    found = {}
    for place in Path("/proc").glob("[0-9]*"):
        try:
            parent = int((place / "stat").read_text().rpartition(")")[2].split()[1])
            if parent == process:
                command = (place / "cmdline").read_bytes().replace(b"\0", b" ").decode()
                found[int(place.name)] = command
        except (OSError, ValueError):  # it has ended
            continue
    return found


#: Starts a service with settings that have no option.
_SERVE = """
import json, sys
from graphbandits.service.server import serve
from graphbandits.service.server import Settings
serve(Settings(**json.loads(sys.argv[1])))
"""


class ServiceProcess:
    """A service that runs in its own process. Use it with ``with``.

    The address of the store is in the environment, because a command line is visible to others.
    With ``settings``, the service is started without the command.
    """

    def __init__(
        self,
        place: Path,
        store: str | Path,
        *options: object,
        host: str = "127.0.0.1",
        settings: dict[str, Any] | None = None,
    ) -> None:
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self._log = (place / f"service-{self.port}.log").open("w+")
        arguments = ["-m", "graphbandits", "serve", "--host", host, "--port", self.port, *options]
        if settings is not None:
            given = {"store": str(store), "host": host, "port": self.port} | settings
            arguments = ["-c", _SERVE, json.dumps(given)]
        self.process = subprocess.Popen(
            [sys.executable, *map(str, arguments)],
            stdin=subprocess.DEVNULL,
            stdout=self._log,
            stderr=subprocess.STDOUT,
            env=os.environ | {"GRAPHBANDITS_STORE": str(store)},
            cwd=place,
        )
        self._clients: list[httpx.Client] = []

    def __enter__(self) -> ServiceProcess:
        try:
            wait_for(self._answers, START, "an answer of the service")
        except BaseException:
            self.__exit__(None, None, None)
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        for client in self._clients:
            client.close()
        workers = self.workers()
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        for worker in workers:  # they would keep the port
            try:
                os.kill(worker, signal.SIGKILL)
            except ProcessLookupError:
                continue
        self._log.close()

    def _answers(self) -> bool:
        code = self.process.poll()
        assert code is None, f"the service has ended with {code}: {self.output()}"
        try:
            httpx.get(f"{self.url}/health", timeout=START)
        except httpx.TransportError:
            return False
        return True

    def client(self, **options: Any) -> httpx.Client:
        """Return a client, which is closed with the service."""
        made = httpx.Client(base_url=self.url, **{"timeout": 60.0} | options)
        self._clients.append(made)
        return made

    def workers(self) -> list[int]:
        """Return the ids of the worker processes; empty if there is only one process."""
        return [pid for pid, line in children(self.process.pid).items() if "spawn_main" in line]

    def pids(self) -> list[int]:
        """Return the ids of the processes that answer requests."""
        return self.workers() or [self.process.pid]

    def threads(self) -> int:
        """Return the number of threads of a service without workers."""
        return len(list(Path(f"/proc/{self.process.pid}/task").iterdir()))

    def sockets(self) -> int:
        """Return the number of open sockets of a service without workers."""
        found = 0
        for place in Path(f"/proc/{self.process.pid}/fd").iterdir():
            try:
                found += os.readlink(place).startswith("socket:")
            except FileNotFoundError:
                continue
        return found

    def output(self) -> str:
        """Return everything that the service has written."""
        return Path(self._log.name).read_text()

    def stop(self, number: int = signal.SIGTERM, seconds: float = 30.0) -> int:
        """Send a signal, and return the exit code."""
        self.process.send_signal(number)
        return self.process.wait(seconds)
