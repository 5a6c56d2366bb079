"""Answers of the service: JSON, errors, and the check of a request before it is carried out."""

from __future__ import annotations

import asyncio
import itertools
import logging
import os
import threading
import time
from collections.abc import Callable
from functools import cached_property
from typing import Any, Literal

from anyio import CapacityLimiter, to_thread
from fastapi import Request
from fastapi.responses import JSONResponse, Response

from graphbandits._io import json_text
from graphbandits.errors import (
    ConflictError,
    GraphBanditsError,
    InputError,
    NeedsError,
    NotFoundError,
    StoreError,
    UncertainError,
    short_repr,
)
from graphbandits.live.requests import read_json
from graphbandits.service.access import (
    Access,
    Caller,
    ForbiddenError,
    UnauthorizedError,
    require,
)
from graphbandits.service.agents import Agents
from graphbandits.service.settings import Settings

log = logging.getLogger("graphbandits.service")

#: Seconds after which a client may try again while the database is away.
RETRY_AFTER = "2"
#: Seconds between two lines of the log about a database that is away.
LOG_EVERY = 30.0
#: Threads that decide and learn, those that read, and those of requests without a role. A long
#: explanation delays other readers of its agent, and these must not take the threads of decisions.
WRITERS, READERS, CHECKERS = 16, 8, 2
_numbers = itertools.count(1)

Role = Literal["read", "decide", "admin"]
#: Carries out a request of a caller, with the JSON object of its body.
Work = Callable[[Caller, dict[str, Any]], Any]


class BadRequestError(InputError):
    """A body that is not JSON."""


class TooLargeError(InputError):
    """A request for too much at a time."""


#: Status and type of the answer to each error; the first one that fits.
ERRORS: tuple[tuple[type[GraphBanditsError], int, str], ...] = (
    (UnauthorizedError, 401, "unauthorized"),
    (ForbiddenError, 403, "forbidden"),
    (BadRequestError, 400, "bad_request"),
    (TooLargeError, 413, "too_large"),
    (NotFoundError, 404, "not_found"),
    (ConflictError, 409, "conflict"),
    (InputError, 422, "invalid"),
    (NeedsError, 422, "invalid"),
    (UncertainError, 500, "uncertain"),
    (StoreError, 503, "unavailable"),
)


def error_answer(error: Exception) -> Response:
    """Return the answer to an error: its sentence, and never a traceback."""
    headers: dict[str, str] = {}
    for kind, status, name in ERRORS:
        if isinstance(error, kind):
            if status == 401:
                headers["WWW-Authenticate"] = "Bearer"
            if status == 503:
                headers["Retry-After"] = RETRY_AFTER
            return failure(status, name, " ".join(str(error).split()), headers)
    number = next(_numbers)
    log.error("internal error %d in process %d", number, os.getpid(), exc_info=error)
    return failure(
        500,
        "internal",
        f"internal error: see number {number} of process {os.getpid()} in the log of the service",
        headers,
    )


def failure(status: int, name: str, message: str, headers: dict[str, str]) -> Response:
    """Return the answer to a request that was not carried out."""
    return JSONResponse({"error": {"type": name, "message": message}}, status, headers)


def json_answer(value: Any, status: int = 200) -> Response:
    """Return a value as JSON."""
    return Response(json_text(value, indent=None), status, media_type="application/json")


class Service:
    """What the requests of a process share.

    Parameters
    ----------
    settings : Settings
        The settings.

    Attributes
    ----------
    agents : Agents
        The agents of the store.
    stopping : threading.Event
        Whether the service is asked to stop.
    """

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.agents = Agents(settings.store)
        self.stopping = threading.Event()
        self._logged = -LOG_EVERY
        self._writers, self._readers = CapacityLimiter(WRITERS), CapacityLimiter(READERS)
        self._checkers = CapacityLimiter(CHECKERS)

    @cached_property
    def access(self) -> Access:
        """Roles of requests; like the store, it is opened on first use."""
        return Access(self.agents.store, required=not self.settings.local)

    def known(self, authorization: str | None) -> Caller | None:
        """Return the caller of a request if that is known without a query."""
        return self.access.known(authorization) if self.agents.opened else None

    async def answer(self, request: Request, role: Role, work: Work, status: int = 200) -> Response:
        """Check the role of the caller, read the body and carry out the request, in a thread."""
        body = await request.body() if request.method == "POST" else b""

        def run() -> Response:
            try:
                try:
                    caller = self.caller(request)
                except StoreError as error:
                    return self.away(error)
                require(caller, role)
                found = work(caller, _object(body))
                return found if isinstance(found, Response) else json_answer(found, status)
            except Exception as error:
                return error_answer(error)

        limiter = self._writers if request.method == "POST" else self._readers
        try:
            return await to_thread.run_sync(run, limiter=limiter)
        except asyncio.CancelledError:
            if not self.stopping.is_set():
                raise
            # the thread goes on, and the process ends after it
            return error_answer(
                UncertainError("the service has stopped: the request may have been carried out")
            )

    async def check(self, run: Callable[[], Response]) -> Response:
        """Answer a request without a role, in one of two threads: anyone can send many of them."""
        return await to_thread.run_sync(run, limiter=self._checkers)

    def caller(self, request: Request) -> Caller:
        """Return who sends a request."""
        return self.access.role_of(request.headers.get("authorization"))

    def away(self, error: StoreError) -> Response:
        """Return the answer of a service without its database to a caller without a known role.

        Where the database is, and why it does not work, is in the log only.
        """
        now = time.monotonic()
        if now - self._logged >= LOG_EVERY:
            self._logged = now
            log.warning("the database does not work at the moment: %s", error)
        return error_answer(
            StoreError(
                "the database does not work at the moment: the reason is in the log of the service"
            )
        )


def _object(body: bytes) -> dict[str, Any]:
    """Read the body of a request: a JSON object; an empty body is an empty object."""
    if not body:
        return {}
    try:
        found = read_json(body)
    except InputError as error:
        raise BadRequestError(str(error)) from None
    if not isinstance(found, dict):
        raise BadRequestError(f"the body must be a JSON object, not {short_repr(found)}")
    return found
