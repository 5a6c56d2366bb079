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
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

from anyio import CapacityLimiter, to_thread
from fastapi import APIRouter, Query, Request
from fastapi.responses import FileResponse, Response, StreamingResponse

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
from graphbandits.live.values import ARM, FLAG, PROBABILITY, REWARDS, Schema, body_schema, list_of
from graphbandits.service.access import (
    ANYONE,
    Access,
    ForbiddenError,
    Token,
    UnauthorizedError,
    require,
)
from graphbandits.service.agents import NEEDED, SETTINGS, Agents, describe
from graphbandits.service.limits import failure
from graphbandits.service.server import Settings


def _object(optional: str = "", /, **properties: Schema) -> Schema:
    """Return the schema of an answer; ``optional`` names keys that it may lack."""
    required = [key for key in properties if key not in optional.split()]
    return {"type": "object", "properties": properties, "required": required}


_ARM, _FLAG, _PROBABILITY = ARM.schema, FLAG.schema, PROBABILITY.schema
_NUMBER: Schema = {"type": "number"}
_OPTIONAL: Schema = {"type": ["number", "null"]}
_WHOLE: Schema = {"type": "integer"}
_TEXT: Schema = {"type": "string"}
_TIME = _TEXT | {"format": "date-time"}
_OBJECT: Schema = {"type": "object"}


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
    name=_TEXT,
    policy=_TEXT,
    **dict.fromkeys(("arms", "decisions", "open", "expired", "outcomes", "learned"), _WHOLE),
    late=_WHOLE,
    paused=list_of(_ARM),
    retired=list_of(_ARM),
    entries=_WHOLE,
)
_DESCRIPTION = _object(
    **_STATUS["properties"],
    posterior={"type": ["string", "null"], "description": "null: it is too long for a text"},
    graph={"type": ["string", "null"], "description": "null: it has no name"},
    horizon={"type": ["integer", "null"]},
    seed=_WHOLE,
    arm_names={"type": "string", "enum": ["text", "integer"]},
)
_DECISION = _object(
    "expires context pi",
    id=_TEXT | {"description": "id of the decision"},
    arm=_ARM,
    probability={"type": ["number", "null"], "description": "null: the policy draws the arm"},
    reveals={"type": "object", "additionalProperties": _PROBABILITY},
    time=_TIME,
    expires=_TIME,
    context={},
    pi={"type": ["object", "null"], "additionalProperties": _PROBABILITY},
)
_ROW = _object(
    id=_TEXT,
    number=_WHOLE,
    arm=_ARM,
    probability=_OPTIONAL,
    time=_TIME,
    expires={"type": ["string", "null"]},
    status={"type": "string", "enum": ["open", "closed", "expired"]},
    outcomes=REWARDS.schema,
    late=list_of(_TEXT, description="arms whose outcomes came too late to be learned"),
)
_ARM_ROW = _object(
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
_ENTRY = _object(number=_WHOLE, time=_TIME, kind=_TEXT)

#: Schema of each answer.
ANSWERS: dict[str, Schema] = {
    "health": _object(status=_TEXT, version=_TEXT),
    "whoami": _object(
        role={"type": "string", "enum": ["read", "decide", "admin"]},
        token={"type": ["string", "null"]},
        authentication=_FLAG,
        store=_TEXT,
        version=_TEXT,
    ),
    "agents": _object(
        agents=list_of(_STATUS),
        failed=list_of(
            _object(name=_TEXT, message=_TEXT), description="agents that cannot be loaded"
        ),
    ),
    "agent": _object(agent=_DESCRIPTION),
    "decide": _object(decisions=list_of(_DECISION)),
    "decisions": _object(decisions=list_of(_ROW), more=_FLAG),
    "decision": _object(
        decision=_OBJECT,
        explanation={"type": ["object", "null"]},
        note={"type": ["string", "null"]},
    ),
    "observe_many": _object(accepted=_WHOLE),
    "learn": _object(learned=_WHOLE),
    "event": _OBJECT,
    "beliefs": _object(beliefs=_OBJECT, rho=_NUMBER),
    "arms": _object(arms=list_of(_ARM_ROW), total=_WHOLE, found=_WHOLE),
    "graph": _object(
        arms=list_of(_ARM_ROW),
        edges=list_of({"type": "array", "items": _NUMBER}),
        edges_left_out=_WHOLE,
        directed=_FLAG,
        total=_WHOLE,
        changes=_FLAG,
        last=list_of(_WHOLE),
    ),
    "trend": _object(
        decision=list_of(_WHOLE),
        time=list_of(_TEXT),
        **dict.fromkeys(("regret", "cumulative", "ratio", "entropy"), list_of(_OPTIONAL)),
        every=_WHOLE,
    ),
    "agent_health": _object(health=_OBJECT),
    "overview": _OBJECT,
    "history": _object(entries=list_of(_ENTRY)),
    "pending": _object(pending=list_of(_TEXT)),
    "error": _object(error=_object(type=_TEXT, message=_TEXT)),
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
Work = Callable[[Token, dict[str, Any]], Any]
#: Reads an agent, with the parameters of a query.
Read = TypeVar("Read", bound=Callable[..., Any])


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
    )


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

    def known(self, authorization: str | None) -> Token | None:
        return self.access.known(authorization) if self.agents.opened else None

    async def answer(self, request: Request, role: Role | None, work: Work) -> Response:
        """Check the role of the caller, read the body and carry out the request, in a thread."""
        body = await request.body() if request.method == "POST" else b""

        def run() -> Response:
            trusted = False
            try:
                if role is None:
                    caller = ANYONE
                else:
                    caller = self.caller(request)
                    require(caller, role)
                    trusted = True
                found = work(caller, _json_object(body))
                return found if isinstance(found, Response) else json_answer(found)
            except Exception as error:
                is_away = isinstance(error, StoreError) and not trusted
                return error_answer(self.away(error) if is_away else error)

        limiter = self._writers if request.method == "POST" else self._readers
        if role is None:  # anyone can send many of these requests
            limiter = self._checkers
        try:
            return await to_thread.run_sync(run, limiter=limiter)
        except asyncio.CancelledError:
            if not self.stopping.is_set():
                raise
            # the thread goes on, and the process ends after it
            return error_answer(
                UncertainError("the service has stopped: the request may have been carried out")
            )

    def caller(self, request: Request) -> Token:
        return self.access.role_of(request.headers.get("authorization"))

    def away(self, error: Exception) -> StoreError:
        """Log why the database does not work; return what a caller without a role may know."""
        now = time.monotonic()
        if now - self._logged >= LOG_EVERY:
            self._logged = now
            log.warning("the database does not work at the moment: %s", error)
        return StoreError(
            "the database does not work at the moment: the reason is in the log of the service"
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
    extra: dict[str, Any] = {"security": [] if answer == "health" else [{"token": [role]}]}
    if body is not None:
        form = {"application/json": {"schema": BODIES[body]}}
        extra["requestBody"] = {"required": True, "content": form}
    if once:
        extra["parameters"] = [IDEMPOTENCY_KEY]
    success = {"description": "Success", "content": content_of(answer)}
    responses: dict[int | str, Any] = dict.fromkeys({200, status}, success)
    responses["default"] = {"description": "Error", "content": content_of("error")}
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


async def _read(request: Request, name: str, work: Callable[[Agent], Any]) -> Response:
    return await _service(request).answer(
        request, "read", lambda *_: work(_agents(request).get(name, "read"))
    )


def _reads(path: str, answer: str, tag: str = "agents") -> Callable[[Read], Read]:
    """Add a route whose function reads an agent; its other parameters are those of the query."""

    def add(function: Read) -> Read:
        async def get(request: Request, name: str, **query: Any) -> Response:
            return await _read(request, name, lambda agent: function(agent, **query))

        _, *own = signature(function, eval_str=True).parameters.values()
        first = [signature(get, eval_str=True).parameters[key] for key in ("request", "name")]
        get.__signature__ = Signature(  # type: ignore[attr-defined]
            [one.replace(kind=Parameter.KEYWORD_ONLY) for one in (*first, *own)]
        )
        get.__doc__ = function.__doc__
        described = _described(answer, tag=tag)
        router.get(f"/agents/{{name}}{path}", name=function.__name__, **described)(get)
        return function

    return add


def _statuses(request: Request) -> dict[str, list[dict[str, Any]]]:
    """Return the status of each agent; one that cannot be loaded does not hide the others."""
    agents = _agents(request)
    found, failed = list[dict[str, Any]](), list[dict[str, Any]]()
    for name in agents.names():
        try:
            found.append(agents.get(name, "read").status())
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

    def work(*_: object) -> Any:
        _agents(request).names()
        return {"status": "ok", "version": __version__}

    return await _service(request).answer(request, None, work)


@router.get("/whoami", **_described("whoami", tag="service"))
async def whoami(request: Request) -> Response:
    """Return the role of the caller, and what it is connected to."""
    return await _service(request).answer(
        request,
        "read",
        lambda caller, _: {
            "role": caller.role,
            "token": caller.name or None,
            "authentication": bool(caller.name),
            "store": _agents(request).store.place,
            "version": __version__,
        },
    )


@router.get("/metrics", **_described("metrics", tag="service"))
async def metrics(request: Request) -> Response:
    """Return counts of all agents in the text format of Prometheus."""

    def work(caller: Token, _: object) -> Response:
        text = prometheus_text(**_statuses(request))
        return Response(text, media_type="text/plain; version=0.0.4")

    return await _service(request).answer(request, "read", work)


# Agents ---------------------------------------------------------------------------------------


@router.get("/agents", **_described("agents", tag="agents"))
async def list_agents(request: Request) -> Response:
    """List the agents, with the counts of each."""
    return await _service(request).answer(request, "read", lambda *_: _statuses(request))


@router.post("/agents", **_described("agent", "agents", tag="agents", role="admin", status=201))
async def create_agent(request: Request) -> Response:
    """Create an agent. The same request again changes nothing, and returns 200."""

    def work(caller: Token, body: dict[str, Any]) -> Response:
        _refuse_key(request, "the same request again changes nothing")
        agent, is_new = _agents(request).create(body)
        return json_answer({"agent": describe(agent)}, 201 if is_new else 200)

    return await _service(request).answer(request, "admin", work)


@_reads("", "agent")
def show_agent(agent: Agent) -> Any:
    """Return the settings and counts of an agent."""
    return {"agent": describe(agent)}


# Decisions ------------------------------------------------------------------------------------


def _add_route(path: str, operations: list[type[Operation]]) -> None:
    """Add a route for an operation; for several ones, the body names it."""
    first, *more = operations
    names, keys = [one.op for one in operations], first.keys

    async def post(request: Request, name: str) -> Response:
        def work(caller: Token, body: dict[str, Any]) -> Any:
            op = body.pop("op", None) if more else first.op
            if op not in names:
                raise InputError(f"'op' must be one of {', '.join(names)}; not {short_repr(op)}")
            if body.get("op") is not None:
                raise InputError(f"the body has no key 'op': this address is for '{op}' only")
            if "request" in keys:
                if body.get("request") is not None:
                    raise InputError(
                        "the body has no key 'request': use the header Idempotency-Key"
                    )
                _check_size(body, _service(request).settings.batch)
                body["request"] = request.headers.get("idempotency-key")
            else:
                remedy = "give 'key' in the body" if "key" in keys else "look at the history first"
                _refuse_key(request, remedy)
            return handle(_agents(request).get(name), body | {"op": op}, files=False)

        return await _service(request).answer(request, first.role, work)

    answer = "event" if more else first.op
    post.__doc__ = first.__doc__
    if more:
        post.__doc__ = "Change an agent: carry out one of several operations."
    described = _described(
        answer,
        path,
        tag="agents" if more else "decisions",
        role=first.role,
        once="request" in keys,
    )
    router.post(f"/agents/{{name}}/{path}", name=answer, **described)(post)


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


@_reads("/decisions", "decisions", tag="decisions")
def list_decisions(
    agent: Agent,
    open: Annotated[bool, Query(description="only open decisions")] = False,
    limit: _Limit = 50,
    before: Annotated[
        int | None, Query(ge=1, description="number of the decision before which to start")
    ] = None,
) -> Any:
    """List decisions with their status and outcomes, the newest first."""
    found = agent.decisions(limit + 1, before=before, only_open=open)
    return {"decisions": found[:limit], "more": len(found) > limit}


@_reads("/decisions/{id}", "decision", tag="decisions")
def show_decision(
    agent: Agent,
    id: str,
    explain: Annotated[bool, Query(description="with the explanation")] = True,
    arms: Annotated[int, Query(ge=1, le=1000, description="arms to explain")] = 5,
    pi: Annotated[bool, Query(description="with the probability of each arm")] = False,
) -> Any:
    """Return a decision, open or closed, and why its arm was played."""
    made = handle(agent, {"op": "decision", "id": id, "pi": pi})["decision"]
    rows = agent.decisions(1, before=agent.decision(id).number + 1)
    row = next((one for one in rows if one["id"] == id), {})
    explanation, note = None, None
    if explain:
        try:
            found = agent.explain(id, arms)
        except InputError as error:
            note = str(error)
        else:
            explanation = found.to_dict() | {"points": found.points and found.points.to_dict()}
    return {"decision": row | made, "explanation": explanation, "note": note}


@_reads("/pending", "pending", tag="decisions")
def pending(agent: Agent) -> Any:
    """List the ids of the open decisions."""
    return {"pending": agent.pending}


# Reading --------------------------------------------------------------------------------------


@_reads("/beliefs", "beliefs")
def beliefs(agent: Agent, accuracy: str | None = None, estimate: bool = False) -> Any:
    """Return the statistics of each arm: alpha, delta and h."""
    return handle(agent, {"op": "beliefs", "accuracy": accuracy, "estimate": estimate})


@_reads("/arms", "arms")
def arms(
    agent: Agent,
    search: Annotated[str, Query(max_length=200, description="part of the name")] = "",
    limit: _Limit = 20,
) -> Any:
    """Find arms by their names, the most relevant ones first."""
    rows, found = agent.find_arms(search, limit)
    return {"arms": rows, "total": len(agent.arms), "found": found}


@_reads("/graph", "graph")
def graph(
    agent: Agent,
    around: Annotated[list[str] | None, Query(description="arm to start from")] = None,
    limit: Annotated[int, Query(ge=1, le=5000, description="most arms of the answer")] = 2000,
) -> Any:
    """Return arms and the edges between them; of a large graph, a part."""
    return agent.neighbourhood(around or (), limit)


@_reads("/trend", "trend")
def trend(agent: Agent, points: Annotated[int, Query(ge=1, le=1000)] = 200) -> Any:
    """Return how expected regret, information ratio and entropy have developed."""
    return agent.trend(points)


@_reads("/overview", "overview")
def overview(
    agent: Agent,
    arms: Annotated[int, Query(ge=1, le=1000)] = 10,
    last: Annotated[int, Query(ge=0, le=1000)] = 5,
) -> Any:
    """Return the most relevant arms and the last decisions."""
    return agent.overview(arms, last)


@_reads("/health", "agent_health")
def agent_health(agent: Agent, level: float = 0.01) -> Any:
    """Report whether outcomes contradict the posterior, and which answers are missing."""
    return {"health": agent.health(level).to_dict()}


@_reads("/history", "history")
def history(
    agent: Agent,
    last: _Limit = 20,
    after: Annotated[int | None, Query(ge=0, description="number of an entry")] = None,
    decision: Annotated[str | None, Query(description="id of a decision")] = None,
) -> Any:
    """Return the last entries of the journal."""
    return {"entries": agent.history(last, after=after, decision=decision)}


@_reads("/log", "log")
def decision_log(agent: Agent, format: Literal["parquet", "csv", "jsonl"] = "jsonl") -> Response:
    """Return all decisions with their probabilities and outcomes, as a file.

    Only Parquet has the graphs.
    """
    with tempfile.TemporaryDirectory() as directory:
        path = agent.log().write(f"{directory}/log.{format}")
        size = path.stat().st_size
        file = path.open("rb")  # the file is removed before it is sent
    kinds = {"parquet": "application/vnd.apache.parquet", "csv": "text/csv; charset=utf-8"}
    headers = {
        "Content-Disposition": f'attachment; filename="log.{format}"',
        "Content-Length": str(size),
    }

    def parts() -> Iterator[bytes]:
        with file:
            while part := file.read(_CHUNK):
                yield part

    kind = kinds.get(format, "application/jsonl")
    return StreamingResponse(parts(), media_type=kind, headers=headers)


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


def _refuse_key(request: Request, remedy: str) -> None:
    if "idempotency-key" in request.headers:
        raise InputError(f"this route does not accept the header Idempotency-Key: {remedy}")
