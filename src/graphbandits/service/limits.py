"""Limits of the decision service: size and time of a body, rate, allowed headers of requests."""

from __future__ import annotations

import asyncio
import ipaddress
import math
import re
import time
from collections.abc import Callable, Mapping

from starlette.datastructures import MutableHeaders
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from graphbandits.errors import short_repr
from graphbandits.service.access import Token

#: Pages may use files of the service only, cannot be shown in a frame and cannot send forms.
CONTENT_SECURITY_POLICY = (
    "default-src 'self'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
)
#: Largest number of clients whose rates are kept.
MAX_CLIENTS = 10_000

_HEADERS = {
    "Content-Security-Policy": CONTENT_SECURITY_POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
}
_TYPES = {
    400: "bad_request",
    408: "timeout",
    413: "too_large",
    415: "unsupported_media_type",
    429: "too_many_requests",
}
_HOST = re.compile(r"(\[[0-9a-f:.]*\]|[^:]*)(:[0-9]*)?")


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
        known: Callable[[str | None], Token | None] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._app = app
        self._body_bytes = body_bytes
        self._body_seconds = body_seconds
        #: Names that the header Host may have; none if all are allowed.
        self._hosts = set[str]()
        if is_loopback(host):
            self._hosts = {"localhost", "127.0.0.1", "[::1]", host.lower()}
        self._rates = _Rates(rate, clock) if rate else None
        self._known = known

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request = Request(scope, receive)

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                is_file = message["status"] < 400 and scope["path"].startswith("/static/")
                # a browser asks for each file whether it has changed
                caching = {"Cache-Control": "no-cache" if is_file else "no-store"}
                MutableHeaders(scope=message).update(_HEADERS | caching)
            await send(message)

        read = list[Message]()

        async def receive_again() -> Message:
            return read.pop() if read else await receive()

        headers = request.headers
        try:
            self._check(request)
            declared = "content-length" in headers or "transfer-encoding" in headers
            if declared or request.method not in ("GET", "HEAD"):
                body = await self._read(request)
                read.append({"type": "http.request", "body": body, "more_body": False})
        except ClientDisconnect:
            return
        except _RefusedError as refused:
            more = {} if refused.retry is None else {"Retry-After": str(refused.retry)}
            if "transfer-encoding" in headers or refused.status in (408, 413):
                more["Connection"] = "close"  # the rest of the body is not read
            answer = failure(refused.status, _TYPES[refused.status], refused.message, more)
            await answer(scope, receive, send_with_headers)
            return
        await self._app(scope, receive_again, send_with_headers)

    def _check(self, request: Request) -> None:
        headers = request.headers
        host = headers.get("host", "")
        name = _HOST.fullmatch(host.lower())
        if self._hosts and (name is None or name[1] not in self._hosts):
            # The owner of a domain can let its name lead to a loopback address (DNS rebinding).
            # For the browser, this service then belongs to the site of that domain, whose pages can
            # read all answers
            raise _RefusedError(
                400,
                "the header Host must be localhost, 127.0.0.1 or [::1], not "
                f"{short_repr(host)}: open the service at one of these addresses",
            )
        if self._rates:
            wait = self._rates.wait(self._client(request))
            if wait:
                raise _RefusedError(
                    429,
                    f"more than {self._rates.rate:g} requests per second: wait {wait} s, and send "
                    "several decisions or outcomes in one request",
                    wait,
                )
        if request.method in ("POST", "PUT", "PATCH"):
            # A page of another site can make the browser of a user send forms and plain text to
            # this service, which may need no token on a loopback address. Before JSON, a browser
            # sends a request OPTIONS, and stops, because this service does not allow other origins
            given = headers.get("content-type", "").partition(";")[0].strip().lower()
            if given != "application/json":
                raise _RefusedError(
                    415,
                    f"the header Content-Type must be application/json, not {short_repr(given)}",
                )
        if int(headers.get("content-length", "0")) > self._body_bytes:
            raise self._too_large()

    def _client(self, request: Request) -> str:
        # an unknown token does not count as a client: made-up tokens would evade the limit
        given = request.headers.get("authorization")
        caller = self._known(given) if given and self._known else None
        if caller and caller.id:
            return caller.id
        return request.client.host if request.client else ""

    async def _read(self, request: Request) -> bytes:
        parts, size = list[bytes](), 0
        try:
            async with asyncio.timeout(self._body_seconds):
                async for part in request.stream():
                    size += len(part)
                    if size > self._body_bytes:
                        raise self._too_large()
                    parts.append(part)
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
        self._free: dict[str, float] = {}

    def wait(self, client: str) -> int:
        """Count a request; return 0, or the number of seconds to wait if it is one too many."""
        now = self._clock()
        free = max(self._free.pop(client, now), now)
        excess = free + self._step - now - self._period
        is_allowed = excess < 1e-6  # rounding
        self._free[client] = free + self._step if is_allowed else free
        if len(self._free) > MAX_CLIENTS:
            del self._free[next(iter(self._free))]  # whose last request is the longest ago
        return 0 if is_allowed else math.ceil(excess)


def failure(
    status: int, name: str, message: str, headers: Mapping[str, str] | None = None
) -> JSONResponse:
    """Return the answer to a request that was refused, or has failed."""
    return JSONResponse({"error": {"type": name, "message": message}}, status, headers)


def is_loopback(host: str) -> bool:
    """Return whether an address can be reached from this machine only."""
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host.lower() == "localhost"
