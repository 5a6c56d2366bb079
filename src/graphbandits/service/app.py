"""The application of the service: routes, limits, errors, start and end."""

from __future__ import annotations

import signal
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import Response
from fastapi.staticfiles import StaticFiles
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.routing import Match

from graphbandits import __version__
from graphbandits.errors import GraphBanditsError, short_repr
from graphbandits.live import Agent
from graphbandits.plugins import load_plugin
from graphbandits.service.agents import Agents
from graphbandits.service.limits import Limits, failure
from graphbandits.service.routes import SECURITY, STATIC, Service, error_answer, router
from graphbandits.service.server import Settings

_HTTP = {404: "not_found", 405: "method_not_allowed"}


def app_from_environment() -> FastAPI:
    """Return the application of a worker process."""
    settings = Settings.from_environment()
    for path in settings.plugins:
        load_plugin(path)
    return create_app(settings)


def create_app(settings: Settings) -> FastAPI:
    service = Service(settings)

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        _end_streams_on_signals(service.stopping)
        await run_in_threadpool(warm, service.agents)
        yield
        service.stopping.set()
        service.agents.close()

    app = FastAPI(
        title="graphbandits",
        version=__version__,
        description="Live decisions of bandits with graph feedback.",
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        generate_unique_id_function=lambda route: route.name,
        lifespan=lifespan,
    )
    describe = app.openapi

    def describe_with_tokens() -> dict[str, Any]:
        return describe() | {"components": {"securitySchemes": SECURITY}}

    app.openapi = describe_with_tokens  # type: ignore[method-assign]
    app.state.service = service
    app.include_router(router)
    app.mount("/static", StaticFiles(directory=STATIC), name="static")
    app.add_exception_handler(HTTPException, _http_error)
    app.add_exception_handler(RequestValidationError, _query_error)
    app.add_exception_handler(Exception, _internal_error)
    app.add_middleware(
        Limits,
        host=settings.host,
        body_bytes=settings.body_bytes,
        body_seconds=settings.body_seconds,
        rate=settings.rate,
        known=service.known,
    )
    return app


def warm(agents: Agents) -> None:
    """Load the machine code that decisions of these agents need, before the first request."""
    policies = {"ids-n"}
    with suppress(GraphBanditsError):  # the database is away: requests will answer so
        for name in agents.names()[:20]:
            with suppress(GraphBanditsError):  # this agent cannot be loaded
                policies.add(agents.get(name).status()["policy"])
    for policy in sorted(policies):
        try:
            agent = Agent(policy, 3, "star", horizon=10, seed=0)
            made = agent.decide()
            agent.observe(made, {made.arm: 1.0})
            agent.explain(made)
            agent.health()
        except Exception:  # also of a plug-in
            pass  # it needs another graph or other rewards: compiled with its first decision


def _end_streams_on_signals(stopping: threading.Event) -> None:
    """End event streams as soon as the server is asked to stop, which waits for open answers."""
    if threading.current_thread() is not threading.main_thread():
        return  # in a test
    for number in (signal.SIGTERM, signal.SIGINT):
        before = signal.getsignal(number)

        def stop(given: int, frame: Any, before: Any = before) -> None:
            stopping.set()
            if callable(before):
                before(given, frame)

        signal.signal(number, stop)


async def _http_error(request: Request, error: Any) -> Response:
    name = _HTTP.get(error.status_code, "bad_request")
    shown = short_repr(request.scope["path"])
    message = {
        404: f"there is no {shown}: see /openapi.json for all paths",
        405: f"{shown} does not accept {request.method}: see /openapi.json for all methods",
    }.get(error.status_code, str(error.detail))
    headers = dict(error.headers or {})
    if error.status_code == 405:  # Starlette names the methods of the first route of a path
        matching = [one for one in router.routes if one.matches(request.scope)[0] != Match.NONE]
        methods = {method for one in matching for method in getattr(one, "methods", ())}
        headers["Allow"] = ", ".join(sorted(methods)) or headers.get("Allow", "GET")
    return failure(error.status_code, name, message, headers)


async def _query_error(request: Request, error: Any) -> Response:
    """Answer to a parameter of the address that is not valid."""
    first = error.errors()[0]
    name, given = first["loc"][-1], first.get("input")
    message = f"'{name}' is not valid: {first['msg'].lower()}; not {short_repr(given)}"
    return failure(422, "invalid", message)


async def _internal_error(request: Request, error: Exception) -> Response:
    return error_answer(error)
