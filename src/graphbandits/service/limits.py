"""Limits of the decision service: size and time of a body, rate, allowed headers of requests."""

from __future__ import annotations

import asyncio
import ipaddress
import json
import math
import re
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from graphbandits.errors import short_repr

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from graphbandits.service.access import Caller

#: Pages may use files of the service only, cannot be shown in a frame and cannot send forms.
CONTENT_SECURITY_POLICY = (
    "default-src 'self'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
)
#: Largest number of clients whose rates are kept in one period.
MOST_CLIENTS = 10_000

_HEADERS = [
    (b"content-security-policy", CONTENT_SECURITY_POLICY.encode("ascii")),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-resource-policy", b"same-origin"),
]
_NO_STORE = (b"cache-control", b"no-store")
#: A browser asks for each file whether it has changed: another version has other modules.
_NO_CACHE = (b"cache-control", b"no-cache")
_TYPES = {
    400: "bad_request",
    408: "timeout",
    413: "too_large",
    415: "unsupported_media_type",
    429: "too_many_requests",
}
_HOST = re.compile(rb"(\[[0-9a-f:.]*\]|[^:]*)(:[0-9]*)?")
#: A number of bytes with more digits is too large for every limit.
_MOST_DIGITS = 18


class _RefusedError(Exception):
    """A request that is answered without the application."""

    def __init__(self, status: int, message: str, retry: int | None = None) -> None:
        self.status = status
        self.message = message
        self.retry = retry


class Limits:
    """ASGI application that refuses requests beyond the limits, and adds headers to all answers.

    It must be outside of all other middleware, whose answers need the headers, too.
    """

    def __init__(
        self,
        app: ASGIApp,
        *,
        host: str,
        body_bytes: int = 2**20,
        body_seconds: float = 10.0,
        rate: float = 1000.0,
        known: Callable[[str | None], Caller | None] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._app = app
        self._body_bytes = body_bytes
        self._body_seconds = body_seconds
        self._hosts = _allowed_hosts(host)
        self._rates = _Rates(rate, clock) if rate else None
        self._known = known

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        path: str = scope["path"]

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                new = list(_HEADERS)
                is_file = message["status"] < 400 and path.startswith("/static/")
                new.append(_NO_CACHE if is_file else _NO_STORE)
                names = {name for name, _ in new}
                given = message.get("headers", ())
                new += [one for one in given if one[0].lower() not in names]
                message = {**message, "headers": new}
            await send(message)

        headers: dict[bytes, bytes] = dict(scope["headers"])
        try:
            self._check(scope, headers)
            if _has_body(scope["method"], headers):
                body = await self._read(receive)
                if body is None:  # the client is gone
                    return
                receive = _after(body, receive)
        except _RefusedError as refused:
            await _refuse(send_with_headers, refused, b"transfer-encoding" in headers)
            return
        await self._app(scope, receive, send_with_headers)

    def _check(self, scope: Scope, headers: Mapping[bytes, bytes]) -> None:
        host = headers.get(b"host", b"")
        if self._hosts and _without_port(host) not in self._hosts:
            # The owner of a domain can let its name lead to a loopback address (DNS rebinding).
            # For the browser, this service then belongs to the site of that domain, whose pages can
            # read all answers
            raise _RefusedError(
                400,
                "the header Host must be localhost, 127.0.0.1 or [::1], not "
                f"{short_repr(host.decode('latin-1'))}: open the service at one of these addresses",
            )
        if self._rates:
            wait = self._rates.wait(self._client(scope, headers))
            if wait:
                raise _RefusedError(
                    429,
                    f"more than {self._rates.rate:g} requests per second: wait {wait} s, and send "
                    "several decisions or outcomes in one request",
                    wait,
                )
        if scope["method"] in ("POST", "PUT", "PATCH"):
            # A page of another site can make the browser of a user send forms and plain text to
            # this service, which may need no token on a loopback address. Before JSON, a browser
            # sends a request OPTIONS, and stops, because this service does not allow other origins
            given = headers.get(b"content-type", b"").partition(b";")[0].strip().lower()
            if given != b"application/json":
                raise _RefusedError(
                    415,
                    "the header Content-Type must be application/json, not "
                    f"{short_repr(given.decode('latin-1'))}",
                )
        length = headers.get(b"content-length", b"0")
        if not length.isdigit():
            raise _RefusedError(
                400,
                "the header Content-Length must be a number of bytes, not "
                f"{short_repr(length.decode('latin-1'))}",
            )
        if len(length) > _MOST_DIGITS or int(length) > self._body_bytes:
            raise self._too_large()

    def _client(self, scope: Scope, headers: Mapping[bytes, bytes]) -> str:
        # an unknown token does not count as a client: made-up tokens would evade the limit
        given = headers.get(b"authorization")
        if given and self._known:
            caller = self._known(given.decode("latin-1"))
            if caller and caller.id:
                return caller.id
        client = scope.get("client")
        return client[0] if client else ""

    async def _read(self, receive: Receive) -> bytes | None:
        """Return the whole body; None if the client has closed the connection."""
        parts, size = list[bytes](), 0
        try:
            async with asyncio.timeout(self._body_seconds):
                more = True
                while more:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        return None
                    part = message.get("body", b"")
                    size += len(part)
                    if size > self._body_bytes:
                        raise self._too_large()
                    parts.append(part)
                    more = message.get("more_body", False)
        except TimeoutError:
            raise _RefusedError(
                408,
                f"the body did not arrive within {self._body_seconds:g} s: send less in one "
                "request, or check the network",
            ) from None
        return b"".join(parts)

    def _too_large(self) -> _RefusedError:
        return _RefusedError(
            413,
            f"a body has at most {self._body_bytes:,} bytes: divide the request into several",
        )


class _Rates:
    """Rates of clients: each may send ``rate`` requests per second, and as many at once.

    This is the generic cell rate algorithm, with one number per client.
    """

    def __init__(self, rate: float, clock: Callable[[], float]) -> None:
        self.rate = rate
        self._clock = clock
        self._step = 1 / rate
        self._period = max(1.0, self._step)  # below one request per second, a single one is allowed
        self._end = -math.inf
        self._now: dict[str, float] = {}
        self._before: dict[str, float] = {}

    def wait(self, client: str) -> int:
        """Count a request; return 0, or the number of seconds to wait if it is one too many."""
        now = self._clock()
        if now >= self._end or len(self._now) >= MOST_CLIENTS:
            self._before, self._now = self._now, {}
            self._end = now + self._period
        free = self._now.get(client) or self._before.get(client, now)
        after = max(free, now) + self._step
        excess = after - now - self._period
        if excess > 1e-6:  # rounding
            return math.ceil(excess)
        self._now[client] = after
        return 0


def is_loopback(host: str) -> bool:
    """Return whether an address can be reached from this machine only."""
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host.lower() == "localhost"


def _allowed_hosts(host: str) -> frozenset[bytes]:
    """Return the names that the header Host may have; none if all are allowed."""
    if not is_loopback(host):
        return frozenset()
    return frozenset({b"localhost", b"127.0.0.1", b"[::1]", host.lower().encode()})


def _without_port(host: bytes) -> bytes:
    parts = _HOST.fullmatch(host.lower())
    return parts[1] if parts else b""


def _has_body(method: str, headers: Mapping[bytes, bytes]) -> bool:
    declared = b"content-length" in headers or b"transfer-encoding" in headers
    return declared or method not in ("GET", "HEAD")


def _after(body: bytes, receive: Receive) -> Receive:
    """Return a function that receives a body that was read, and then what comes after it."""
    read = False

    async def receive_again() -> Message:
        nonlocal read
        if read:
            return await receive()
        read = True
        return {"type": "http.request", "body": body, "more_body": False}

    return receive_again


async def _refuse(send: Send, refused: _RefusedError, chunked: bool) -> None:
    error = {"type": _TYPES[refused.status], "message": refused.message}
    body = json.dumps({"error": error}).encode()
    headers = [
        (b"content-type", b"application/json"),
        (b"content-length", str(len(body)).encode()),
    ]
    if refused.retry is not None:
        headers.append((b"retry-after", str(refused.retry).encode()))
    if chunked or refused.status in (408, 413):
        headers.append((b"connection", b"close"))  # the rest of the body is not read
    await send({"type": "http.response.start", "status": refused.status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
