"""Routes of the service with their answers, schemas, event streams and metrics."""

from __future__ import annotations

import asyncio
import itertools
import logging
import os
import tempfile
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal

from anyio import CapacityLimiter, to_thread
from fastapi import APIRouter, Query, Request
from fastapi.responses import FileResponse, JSONResponse, Response, StreamingResponse

from graphbandits import __version__
from graphbandits._files import json_text
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
from graphbandits.live import Agent
from graphbandits.live.operations import Operation, routes
from graphbandits.live.requests import handle, read_json
from graphbandits.live.values import ARM, FLAG, PROBABILITY, REWARDS, Schema, body_schema
from graphbandits.service.access import (
    Access,
    Caller,
    ForbiddenError,
    UnauthorizedError,
    require,
)
from graphbandits.service.agents import NEEDED, SETTINGS, Agents, describe
from graphbandits.service.server import Settings


def _text(description: str = "", **more: Any) -> Schema:
    return {"type": "string", **_words(description), **more}


def _list(items: Schema, description: str = "") -> Schema:
    return {"type": "array", "items": items, **_words(description)}


def _words(description: str) -> Schema:
    return {"description": description} if description else {}


def _object(required: str, **properties: Schema) -> Schema:
    """Return the schema of an answer; ``required`` names its keys, separated by blanks."""
    return {"type": "object", "properties": properties, "required": required.split()}


_ARM, _FLAG, _PROBABILITY = ARM.schema, FLAG.schema, PROBABILITY.schema
_NUMBER: Schema = {"type": "number"}
_OPTIONAL: Schema = {"type": ["number", "null"]}
_WHOLE: Schema = {"type": "integer"}


def _body(operation: type[Operation], *left_out: str) -> Schema:
    keys = {key: value for key, value in operation.keys.items() if key not in left_out}
    return body_schema(keys, operation.required)


def _event(operation: type[Operation]) -> Schema:
    schema = _body(operation)
    schema["properties"] = {"op": {"const": operation.op}} | schema["properties"]
    schema["required"] = ["op", *schema["required"]]
    return schema


#: Schema of the body of each route for POST requests. A key of a request is a header there.
BODIES: dict[str, Schema] = {
    route: _body(first, "request") if not more else {"oneOf": [*map(_event, (first, *more))]}
    for route, (first, *more) in routes().items()
} | {"agents": body_schema(SETTINGS, NEEDED)}

_STATUS = _object(
    "name policy arms decisions open expired outcomes learned late paused retired entries",
    **dict.fromkeys(("arms", "decisions", "open", "expired", "outcomes", "learned"), _WHOLE),
    **dict.fromkeys(("late", "entries"), _WHOLE),
    name=_text(),
    policy=_text(),
    paused=_list(_ARM),
    retired=_list(_ARM),
)
_DESCRIPTION = _object(
    " ".join([*_STATUS["required"], "posterior graph horizon seed arm_names"]),
    **_STATUS["properties"],
    posterior={"type": ["string", "null"], "description": "null: it is too long for a text"},
    graph={"type": ["string", "null"], "description": "null: it has no name"},
    horizon={"type": ["integer", "null"]},
    seed=_WHOLE,
    arm_names={"type": "string", "enum": ["text", "integer"]},
)
_DECISION = _object(
    "id arm probability reveals time",
    id=_text("id of the decision"),
    arm=_ARM,
    probability={"type": ["number", "null"], "description": "null: the policy draws the arm"},
    reveals={"type": "object", "additionalProperties": _PROBABILITY},
    time=_text(format="date-time"),
    expires=_text(format="date-time"),
    context={},
    pi={"type": ["object", "null"], "additionalProperties": _PROBABILITY},
)
_ROW = _object(
    "id number arm probability time expires status outcomes late",
    id=_text(),
    number=_WHOLE,
    arm=_ARM,
    probability=_OPTIONAL,
    time=_text(format="date-time"),
    expires={"type": ["string", "null"]},
    status={"type": "string", "enum": ["open", "closed", "expired"]},
    outcomes=REWARDS.schema,
    late=_list(_text(), "arms whose outcomes came too late to be learned"),
)
_ARM_ROW = _object(
    "arm number status alpha delta h plays outcomes state",
    arm=_ARM,
    number=_WHOLE,
    status={"type": "string", "enum": ["active", "paused", "retired"]},
    alpha=_OPTIONAL | {"description": "probability of being the best arm"},
    delta=_OPTIONAL | {"description": "expected regret"},
    h=_OPTIONAL | {"description": "information about the best arm in an outcome, in nats"},
    plays=_WHOLE,
    outcomes=_NUMBER,
    state={"type": "object", "description": "state of the policy, such as a and b of a Beta prior"},
)
_ENTRY = _object("number time kind", number=_WHOLE, time=_text(format="date-time"), kind=_text())
_OPTIONALS = _list(_OPTIONAL)

#: Schema of each answer.
ANSWERS: dict[str, Schema] = {
    "health": _object("status version", status=_text(), version=_text()),
    "whoami": _object(
        "role token authentication store version",
        role={"type": "string", "enum": ["read", "decide", "admin"]},
        token={"type": ["string", "null"]},
        authentication=_FLAG,
        store=_text(),
        version=_text(),
    ),
    "agents": _object(
        "agents failed",
        agents=_list(_STATUS),
        failed=_list(
            _object("name message", name=_text(), message=_text()), "agents that cannot be loaded"
        ),
    ),
    "agent": _object("agent", agent=_DESCRIPTION),
    "decide": _object("decisions", decisions=_list(_DECISION)),
    "decisions": _object("decisions more", decisions=_list(_ROW), more=_FLAG),
    "decision": _object(
        "decision explanation note",
        decision={"type": "object"},
        explanation={"type": ["object", "null"]},
        note={"type": ["string", "null"]},
    ),
    "observe_many": _object("accepted", accepted=_WHOLE),
    "learn": _object("learned", learned=_WHOLE),
    "event": {"type": "object"},
    "beliefs": _object("beliefs rho", beliefs={"type": "object"}, rho=_NUMBER),
    "arms": _object("arms total found", arms=_list(_ARM_ROW), total=_WHOLE, found=_WHOLE),
    "graph": _object(
        "arms edges edges_left_out directed total changes last",
        arms=_list(_ARM_ROW),
        edges=_list({"type": "array", "items": _NUMBER}),
        edges_left_out=_WHOLE,
        directed=_FLAG,
        total=_WHOLE,
        changes=_FLAG,
        last=_list(_WHOLE),
    ),
    "trend": _object(
        "decision time regret cumulative ratio entropy every",
        decision=_list(_WHOLE),
        time=_list(_text()),
        regret=_OPTIONALS,
        cumulative=_OPTIONALS,
        ratio=_OPTIONALS,
        entropy=_OPTIONALS,
        every=_WHOLE,
    ),
    "agent_health": _object("health", health={"type": "object"}),
    "overview": {"type": "object"},
    "history": _object("entries", entries=_list(_ENTRY)),
    "pending": _object("pending", pending=_list(_text())),
    "error": _object("error", error=_object("type message", type=_text(), message=_text())),
}

#: Types of answers that are not JSON.
_TYPES: dict[str, tuple[str, ...]] = {
    "metrics": ("text/plain",),
    "log": ("application/jsonl", "text/csv", "application/vnd.apache.parquet"),
    "stream": ("text/event-stream",),
}
#: How a client proves its role. The token is optional on a loopback address without tokens.
SECURITY: Schema = {
    "token": {
        "type": "http",
        "scheme": "bearer",
        "description": "token of 'graphbandits token add', such as gb_...",
    }
}


def content_of(answer: str) -> Schema:
    if answer in _TYPES:
        return {kind: {"schema": {"type": "string"}} for kind in _TYPES[answer]}
    return {"application/json": {"schema": ANSWERS[answer]}}


#: Header of requests that are carried out once.
IDEMPOTENCY_KEY: Schema = {
    "name": "Idempotency-Key",
    "in": "header",
    "required": False,
    "description": "Key of this request, chosen by the client. The same request with the same key "
    "is carried out once, and has the same answer within seven days.",
    "schema": {"type": "string", "minLength": 1, "maxLength": 200, "pattern": "^[!-~]+$"},
}


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
    return JSONResponse({"error": {"type": name, "message": message}}, status, headers)


def json_answer(value: Any, status: int = 200) -> Response:
    return Response(json_text(value, indent=None), status, media_type="application/json")


class Service:
    """What the requests of a process share; ``stopping`` is set when the service has to stop."""

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
                found = work(caller, _json_object(body))
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
        return self.access.role_of(request.headers.get("authorization"))

    def away(self, error: StoreError) -> Response:
        # where the database is, and why it does not work, is in the log only
        now = time.monotonic()
        if now - self._logged >= LOG_EVERY:
            self._logged = now
            log.warning("the database does not work at the moment: %s", error)
        return error_answer(
            StoreError(
                "the database does not work at the moment: the reason is in the log of the service"
            )
        )


def _json_object(body: bytes) -> dict[str, Any]:
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


#: Metrics: key of the status, name, kind and description.
_METRICS = (
    ("decisions", "decisions_total", "counter", "Decisions that were made."),
    ("open", "open_decisions", "gauge", "Decisions that are open."),
    ("expired", "expired_decisions_total", "counter", "Decisions that have expired."),
    ("outcomes", "outcomes_total", "counter", "Outcomes of decisions that were learned."),
    ("learned", "learned_total", "counter", "Outcomes without a decision that were learned."),
    ("late", "late_outcomes_total", "counter", "Outcomes that came too late to be learned."),
    ("arms", "arms", "gauge", "Arms, with paused and retired ones."),
    ("entries", "journal_entries_total", "counter", "Entries of the journal."),
)


def prometheus_text(
    agents: Iterable[Mapping[str, Any]], failed: Iterable[Mapping[str, Any]] = ()
) -> str:
    """Return the counts of agents. They come from the store: all processes give the same."""
    rows = list(agents)
    loaded = [(row["name"], 1) for row in rows] + [(row["name"], 0) for row in failed]
    lines = [
        "# HELP graphbandits_info Version of the service.",
        "# TYPE graphbandits_info gauge",
        f'graphbandits_info{{version="{__version__}"}} 1',
    ]
    lines += [
        "# HELP graphbandits_agent_up Whether the agent can be loaded.",
        "# TYPE graphbandits_agent_up gauge",
        *(f'graphbandits_agent_up{{agent="{_escaped(name)}"}} {up}' for name, up in loaded),
    ]
    for key, name, kind, description in _METRICS:
        full = f"graphbandits_{name}"
        lines += [f"# HELP {full} {description}", f"# TYPE {full} {kind}"]
        lines += [f'{full}{{agent="{_escaped(row["name"])}"}} {row[key]}' for row in rows]
    return "\n".join(lines) + "\n"


def _escaped(name: str) -> str:
    return name.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


#: Seconds between two looks at the journal, and after which a silent stream sends a comment.
PAUSE, SILENCE = 0.4, 15.0
#: Most entries that are sent at a time. A client that is further behind misses older ones.
MOST_ENTRIES = 500
#: Threads that look at journals. They are not those of requests, which must not wait for streams.
_THREADS = CapacityLimiter(4)


async def events_of(
    agent: Agent,
    after: int | None,
    is_stopping: Callable[[], bool],
    check: Callable[[], object] = lambda: None,
) -> AsyncIterator[str]:
    """Yield events for new entries until the client leaves or the service stops.

    ``after`` is the number of the last entry that the client has. ``check`` raises an error, which
    ends the stream, as soon as the client may not read any more.
    """
    known, sent = after, time.monotonic()
    yield "retry: 2000\n\n"
    while not is_stopping():
        try:
            status, entries = await to_thread.run_sync(_news, agent, known, check, limiter=_THREADS)
        except StoreError as error:  # the database is away: the client comes back
            yield _message("away", {"message": str(error)})
            return
        except GraphBanditsError:  # the client comes back, and gets the reason
            return
        if status is not None:
            for entry in entries:
                yield _message("entry", entry, entry["number"])
            yield _message("status", status)
            # entries that were written after these were read come next time
            known = entries[-1]["number"] if entries else status["entries"]
            sent = time.monotonic()
        elif time.monotonic() - sent > SILENCE:
            yield ": ping\n\n"
            sent = time.monotonic()
        await asyncio.sleep(PAUSE)


def _news(
    agent: Agent, known: int | None, check: Callable[[], object]
) -> tuple[dict[str, Any] | None, list[dict[str, Any]]]:
    """Return the new entries, and the status after them; None if there is nothing new."""
    check()
    status = agent.status()
    if known is None or known > status["entries"]:
        return status, []
    if known == status["entries"]:
        return None, []
    entries = agent.history(MOST_ENTRIES, after=known)
    return agent.status(), entries


def _message(name: str, value: Any, number: int | None = None) -> str:
    id_ = "" if number is None else f"id: {number}\n"
    return f"event: {name}\n{id_}data: {json_text(value, indent=None)}\n\n"


STATIC = Path(__file__).parent / "static"
#: Bytes of a log that are sent at a time.
_CHUNK = 2**16

router = APIRouter()

_Limit = Annotated[int, Query(ge=1, le=1000, description="most rows of the answer")]


def _described(
    answer: str,
    body: str | None = None,
    *,
    tag: str,
    role: Role = "read",
    status: int = 200,
    once: bool = False,
) -> dict[str, Any]:
    content = content_of(answer)
    failed = content_of("error")
    extra: dict[str, Any] = {"security": [] if answer == "health" else [{"token": [role]}]}
    if body is not None:
        form = {"application/json": {"schema": BODIES[body]}}
        extra["requestBody"] = {"required": True, "content": form}
    if once:
        extra["parameters"] = [IDEMPOTENCY_KEY]
    responses: dict[int | str, Any] = {
        code: {"description": "Success", "content": content} for code in {200, status}
    }
    responses["default"] = {"description": "Error", "content": failed}
    return {
        "tags": [tag],
        "status_code": status,
        "responses": responses,
        "openapi_extra": extra,
        "response_class": Response,
    }


def _service(request: Request) -> Service:
    found: Service = request.app.state.service
    return found


def _agents(request: Request) -> Agents:
    return _service(request).agents


async def _answer(request: Request, role: Role, work: Work) -> Response:
    return await _service(request).answer(request, role, work)


async def _read(request: Request, name: str, work: Callable[[Agent], Any]) -> Response:
    return await _answer(request, "read", lambda *_: work(_agents(request).reader(name)))


def _statuses(request: Request) -> dict[str, list[dict[str, Any]]]:
    """Return the status of each agent; one that cannot be loaded does not hide the others."""
    agents = _agents(request)
    found, failed = list[dict[str, Any]](), list[dict[str, Any]]()
    for name in agents.names():
        try:
            found.append(agents.reader(name).status())
        except GraphBanditsError as error:
            agents.names()  # an error if the database is away
            failed.append({"name": name, "message": str(error)})
    return {"agents": found, "failed": failed}


# The service ----------------------------------------------------------------------------------


@router.get("/", include_in_schema=False)
async def dashboard() -> Response:
    """Return the dashboard."""
    return FileResponse(STATIC / "index.html")


@router.get("/health", **_described("health", tag="service"))
async def health(request: Request) -> Response:
    """Return whether the service and its database work. It needs no token."""

    def run() -> Response:
        try:
            _agents(request).names()
        except StoreError as error:
            return _service(request).away(error)
        except Exception as error:
            return error_answer(error)
        return json_answer({"status": "ok", "version": __version__})

    return await _service(request).check(run)


@router.get("/whoami", **_described("whoami", tag="service"))
async def whoami(request: Request) -> Response:
    """Return the role of the caller, and what it is connected to."""
    return await _answer(
        request,
        "read",
        lambda caller, _: {
            "role": caller.role,
            "token": caller.name,
            "authentication": caller.name is not None,
            "store": _agents(request).store.place,
            "version": __version__,
        },
    )


@router.get("/metrics", **_described("metrics", tag="service"))
async def metrics(request: Request) -> Response:
    """Return counts of all agents in the text format of Prometheus."""

    def work(caller: Caller, _: object) -> Response:
        text = prometheus_text(**_statuses(request))
        return Response(text, media_type="text/plain; version=0.0.4")

    return await _answer(request, "read", work)


# Agents ---------------------------------------------------------------------------------------


@router.get("/agents", **_described("agents", tag="agents"))
async def list_agents(request: Request) -> Response:
    """List the agents, with the counts of each."""
    return await _answer(request, "read", lambda *_: _statuses(request))


@router.post("/agents", **_described("agent", "agents", tag="agents", role="admin", status=201))
async def create_agent(request: Request) -> Response:
    """Create an agent. The same request again changes nothing, and returns 200."""

    def work(caller: Caller, body: dict[str, Any]) -> Response:
        _refuse_key(request, "the same request again changes nothing")
        agent, is_new = _agents(request).create(body)
        return json_answer({"agent": describe(agent)}, 201 if is_new else 200)

    return await _answer(request, "admin", work)


@router.get("/agents/{name}", **_described("agent", tag="agents"))
async def show_agent(request: Request, name: str) -> Response:
    """Return the settings and counts of an agent."""
    return await _read(request, name, lambda agent: {"agent": describe(agent)})


# Decisions ------------------------------------------------------------------------------------


def _add_route(path: str, operations: list[type[Operation]]) -> None:
    """Add a route for an operation; for several ones, the body names it."""
    first, *more = operations
    names, keys = [one.op for one in operations], first.keys

    async def post(request: Request, name: str) -> Response:
        def work(caller: Caller, body: dict[str, Any]) -> Any:
            op = first.op
            if more:
                op = body.pop("op", None)
                if op not in names:
                    raise InputError(
                        f"'op' must be one of {', '.join(names)}; not {short_repr(op)}"
                    )
            _refuse(body, "op", f"this address is for '{op}' only")
            if "request" in keys:
                _refuse(body, "request", "use the header Idempotency-Key")
                _check_size(body, _service(request).settings.batch)
                body["request"] = _key(request)
            else:
                use_key = "give 'key' in the body"
                _refuse_key(
                    request,
                    use_key if "key" in keys else "look at the history before you repeat it",
                )
            return handle(_agents(request).get(name), body | {"op": op}, files=False)

        return await _answer(request, first.role, work)

    answer = "event" if more else first.op
    tag = "agents" if more else "decisions"
    router.add_api_route(
        f"/agents/{{name}}/{path}",
        post,
        methods=["POST"],
        name=answer,
        description="Change an agent: carry out one of several operations."
        if more
        else first.__doc__,
        **_described(answer, path, tag=tag, role=first.role, once="request" in keys),
    )


def _check_size(body: dict[str, Any], most: int) -> None:
    count, outcomes = body.get("n"), body.get("outcomes")
    if isinstance(outcomes, dict):
        count = len(outcomes)
    if isinstance(count, int) and count > most:
        raise TooLargeError(
            f"the request is about {count} decisions, and one request has at most {most}: divide "
            "it into several"
        )


for path, operations in routes().items():
    _add_route(path, operations)


@router.get("/agents/{name}/decisions", **_described("decisions", tag="decisions"))
async def list_decisions(
    request: Request,
    name: str,
    open: Annotated[bool, Query(description="only open decisions")] = False,
    limit: _Limit = 50,
    before: Annotated[
        int | None, Query(ge=1, description="number of the decision before which to start")
    ] = None,
) -> Response:
    """List decisions with their status and outcomes, the newest first."""

    def work(agent: Agent) -> Any:
        found = agent.decisions(limit + 1, before=before, only_open=open)
        return {"decisions": found[:limit], "more": len(found) > limit}

    return await _read(request, name, work)


@router.get("/agents/{name}/decisions/{id}", **_described("decision", tag="decisions"))
async def show_decision(
    request: Request,
    name: str,
    id: str,
    explain: Annotated[bool, Query(description="with the explanation")] = True,
    arms: Annotated[int, Query(ge=1, le=1000, description="arms to explain")] = 5,
    pi: Annotated[bool, Query(description="with the probability of each arm")] = False,
) -> Response:
    """Return a decision, open or closed, and why its arm was played."""
    return await _read(
        request, name, lambda agent: _explained(agent, id, arms if explain else 0, pi)
    )


@router.get("/agents/{name}/pending", **_described("pending", tag="decisions"))
async def pending(request: Request, name: str) -> Response:
    """List the ids of the open decisions."""
    return await _read(request, name, lambda agent: {"pending": agent.pending})


# Reading --------------------------------------------------------------------------------------


@router.get("/agents/{name}/beliefs", **_described("beliefs", tag="agents"))
async def beliefs(
    request: Request, name: str, accuracy: str | None = None, estimate: bool = False
) -> Response:
    """Return the statistics of each arm: alpha, delta and h."""
    keys = {"op": "beliefs", "accuracy": accuracy, "estimate": estimate}
    return await _read(request, name, lambda agent: handle(agent, keys))


@router.get("/agents/{name}/arms", **_described("arms", tag="agents"))
async def arms(
    request: Request,
    name: str,
    search: Annotated[str, Query(max_length=200, description="part of the name")] = "",
    limit: _Limit = 20,
) -> Response:
    """Find arms by their names, the most relevant ones first."""

    def work(agent: Agent) -> Any:
        rows, found = agent.find_arms(search, limit)
        return {"arms": rows, "total": len(agent.arms), "found": found}

    return await _read(request, name, work)


@router.get("/agents/{name}/graph", **_described("graph", tag="agents"))
async def graph(
    request: Request,
    name: str,
    around: Annotated[list[str] | None, Query(description="arm to start from")] = None,
    limit: Annotated[int, Query(ge=1, le=5000, description="most arms of the answer")] = 2000,
) -> Response:
    """Return arms and the edges between them; of a large graph, a part."""
    return await _read(request, name, lambda agent: agent.neighbourhood(around or (), limit))


@router.get("/agents/{name}/trend", **_described("trend", tag="agents"))
async def trend(
    request: Request, name: str, points: Annotated[int, Query(ge=1, le=1000)] = 200
) -> Response:
    """Return how expected regret, information ratio and entropy have developed."""
    return await _read(request, name, lambda agent: agent.trend(points))


@router.get("/agents/{name}/overview", **_described("overview", tag="agents"))
async def overview(
    request: Request,
    name: str,
    arms: Annotated[int, Query(ge=1, le=1000)] = 10,
    last: Annotated[int, Query(ge=0, le=1000)] = 5,
) -> Response:
    """Return the most relevant arms and the last decisions."""
    return await _read(request, name, lambda agent: agent.overview(arms, last))


@router.get("/agents/{name}/health", **_described("agent_health", tag="agents"))
async def agent_health(request: Request, name: str, level: float = 0.01) -> Response:
    """Report whether outcomes contradict the posterior, and which answers are missing."""
    return await _read(request, name, lambda agent: {"health": agent.health(level).to_dict()})


@router.get("/agents/{name}/history", **_described("history", tag="agents"))
async def history(
    request: Request,
    name: str,
    last: _Limit = 20,
    after: Annotated[int | None, Query(ge=0, description="number of an entry")] = None,
    decision: Annotated[str | None, Query(description="id of a decision")] = None,
) -> Response:
    """Return the last entries of the journal."""
    return await _read(
        request,
        name,
        lambda agent: {"entries": agent.history(last, after=after, decision=decision)},
    )


@router.get("/agents/{name}/log", **_described("log", tag="agents"))
async def decision_log(
    request: Request, name: str, format: Literal["parquet", "csv", "jsonl"] = "jsonl"
) -> Response:
    """Return all decisions with their probabilities and outcomes, as a file.

    Only Parquet has the graphs.
    """
    return await _read(request, name, lambda agent: _log_file(agent, format))


@router.get("/agents/{name}/stream", **_described("stream", tag="agents"))
async def stream(
    request: Request,
    name: str,
    after: Annotated[int | None, Query(ge=0, description="number of an entry")] = None,
) -> Response:
    """Send new entries of the journal as server-sent events."""
    last = request.headers.get("last-event-id", "")
    start = int(last) if last.isdecimal() and len(last) < 16 else after

    def work(agent: Agent) -> Response:
        agent.status()  # a database that is away is an error, and not a stream that ends
        service = _service(request)
        events = events_of(
            agent,
            start,
            service.stopping.is_set,
            # the token may be revoked, or expire
            lambda: require(service.caller(request), "read"),
        )
        return StreamingResponse(events, media_type="text/event-stream")

    return await _read(request, name, work)


def _refuse(body: dict[str, Any], key: str, remedy: str) -> None:
    if body.get(key) is not None:
        raise InputError(f"the body has no key {key!r}: {remedy}")


def _refuse_key(request: Request, remedy: str) -> None:
    if _key(request) is not None:
        raise InputError(f"this route does not accept the header Idempotency-Key: {remedy}")


def _key(request: Request) -> str | None:
    return request.headers.get("idempotency-key")


def _explained(agent: Agent, id_: str, arms: int, pi: bool) -> dict[str, Any]:
    """Return a decision with its status, and its explanation for so many arms."""
    made = handle(agent, {"op": "decision", "id": id_, "pi": pi})["decision"]
    rows = agent.decisions(1, before=agent.decision(id_).number + 1)
    explanation, note = None, None
    if arms:
        try:
            found = agent.explain(id_, arms)
        except InputError as error:
            note = str(error)
        else:
            explanation = found.to_dict() | {"points": found.points and found.points.to_dict()}
    row = next((one for one in rows if one["id"] == id_), {})
    return {"decision": row | made, "explanation": explanation, "note": note}


def _log_file(agent: Agent, format: str) -> Response:
    """Return the log of an agent as a file, which is removed before it is sent."""
    with tempfile.TemporaryDirectory() as directory:
        path = agent.log().write(Path(directory) / f"log.{format}")
        size = path.stat().st_size
        file = path.open("rb")
    kinds = {"parquet": "application/vnd.apache.parquet", "csv": "text/csv; charset=utf-8"}
    headers = {
        "Content-Disposition": f'attachment; filename="log.{format}"',
        "Content-Length": str(size),
    }

    def parts() -> Iterator[bytes]:
        with file:
            while part := file.read(_CHUNK):
                yield part

    return StreamingResponse(
        parts(), media_type=kinds.get(format, "application/jsonl"), headers=headers
    )
