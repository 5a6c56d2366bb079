"""Start the service: settings, checks, processes, and the end on a signal."""

from __future__ import annotations

import asyncio
import json
import os
import resource
import signal
import socket
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from time import time
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

from graphbandits.errors import GraphBanditsError, InputError
from graphbandits.service.limits import failure, is_loopback

#: Environment variable with the settings, as JSON. It is not visible to other users.
VARIABLE = "GRAPHBANDITS_SERVICE"


@dataclass(frozen=True)
class Settings:
    """Settings of the decision service."""

    store: str
    host: str = "127.0.0.1"
    port: int = 8000
    workers: int = 1
    plugins: tuple[str, ...] = ()
    body_bytes: int = 2**20
    body_seconds: float = 10.0
    batch: int = 1000
    rate: float = 1000.0
    connections: int = 1000

    @property
    def local(self) -> bool:
        """Whether only this machine can connect. Otherwise tokens are required."""
        return is_loopback(self.host)

    @classmethod
    def from_environment(cls) -> Settings:
        """Return the settings that the parent process has put into the environment."""
        given = json.loads(os.environ[VARIABLE])
        return cls(**given | {"plugins": tuple(given["plugins"])})


#: Seconds in which requests that are under way may end after SIGTERM.
GRACE = 10
#: Seconds after which an idle connection is closed.
KEEP_ALIVE = 30


def check_settings(settings: Settings) -> str:
    """Check that a service can start; return the name of its store without a password."""
    from graphbandits.live.requests import MOST_BYTES
    from graphbandits.live.store import open_store
    from graphbandits.service.access import list_tokens

    for name, value, most in (
        ("--workers", settings.workers, 64),
        ("--port", settings.port, 65535),
        ("--connections", settings.connections, 1_000_000),
        ("--body", settings.body_bytes, MOST_BYTES),
    ):
        if not 1 <= value <= most:
            raise InputError(f"{name} must be 1 to {most}, not {value}")
    if not settings.rate >= 0.0:
        raise InputError(f"--rate must be at least 0, not {settings.rate:g}")
    with open_store(settings.store, must_exist=True) as store:
        valid = (token.state(time()) == "valid" for token in list_tokens(store))
        if not settings.local and not any(valid):
            raise InputError(
                f"an address that other machines can reach, such as {settings.host}, needs tokens, "
                "and the store has no valid one: add one with 'graphbandits token add STORE --role "
                "admin', or use --host 127.0.0.1"
            )
        place = store.place
    _check_address(settings.host, settings.port)
    return place


def _check_address(host: str, port: int) -> None:
    try:
        family, kind, *_, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        with closing(socket.socket(family, kind)) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(address)
    except OSError as error:
        reason = os.strerror(error.errno) if error.errno and error.errno > 0 else str(error)
        raise InputError(
            f"cannot listen on {host}, port {port}: {reason}; choose another --host or --port"
        ) from None


def serve(settings: Settings, *, access_log: bool = False) -> None:
    """Run the service until SIGINT or SIGTERM. Requests that are under way are finished.

    With several workers, a process that dies is replaced.
    """
    import uvicorn

    _allow_connections(settings)
    plugins = tuple(str(Path(one).resolve()) for one in settings.plugins)
    place = settings.store
    if "://" not in place:
        place = str(Path(place).resolve())
    given = replace(settings, store=place, plugins=plugins)
    os.environ[VARIABLE] = json.dumps(asdict(given))
    try:
        with _ended_by_sigterm():
            uvicorn.run(
                "graphbandits.service.app:app_from_environment",
                factory=True,
                host=settings.host,
                port=settings.port,
                workers=settings.workers,
                http="graphbandits.service.server:HttpConnection",
                ws="none",
                lifespan="on",
                log_level="info" if access_log else "warning",
                access_log=access_log,
                limit_concurrency=settings.connections,
                timeout_keep_alive=KEEP_ALIVE,
                timeout_graceful_shutdown=GRACE,
                server_header=False,
                proxy_headers=False,
            )
    except SystemExit as stop:
        if stop.code:
            raise GraphBanditsError(
                "the service did not start: the reason is in the lines above"
            ) from None


@contextmanager
def _ended_by_sigterm() -> Iterator[None]:
    """End a process with exit code 0 on SIGTERM, which uvicorn sends again after its own end."""
    if threading.current_thread() is not threading.main_thread():
        yield  # in a test
        return

    def stop(number: int, frame: object) -> None:
        raise SystemExit(0)

    before = signal.signal(signal.SIGTERM, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


class HttpConnection(H11Protocol):
    """A connection of uvicorn, whose own answers are those of this service.

    A connection without any request is closed, as it is after a request.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        # the limit of uvicorn would also refuse requests of the connections that were there before
        self._most, self.limit_concurrency = self.limit_concurrency, None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        connection = transport.get_extra_info("socket")
        if connection is not None:
            # with several workers asyncio does not know that it is TCP, and an answer of two parts
            # would wait for the confirmation of the first one: 40 ms
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        super().connection_made(transport)
        if self._most is not None and len(self.connections) > self._most:
            self.app = _too_many_connections
        self.timeout_keep_alive_task = self.loop.call_later(
            self.timeout_keep_alive, self.timeout_keep_alive_handler
        )


async def _too_many_connections(scope: Any, receive: Any, send: Any) -> None:
    """Answer to a request of a connection beyond the limit."""
    message = "there are too many connections: try again later"
    headers = {"Retry-After": "2", "Connection": "close", "Cache-Control": "no-store"}
    await failure(503, "unavailable", message, headers)(scope, receive, send)


def _allow_connections(settings: Settings) -> None:
    """Raise the limit of open files: each connection is one, and stores and logs need some."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = 2 * settings.connections + 512
    if soft != resource.RLIM_INFINITY and soft < wanted:
        most = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, most), hard))
