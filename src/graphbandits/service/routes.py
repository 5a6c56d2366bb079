"""Routes of the service. Each one names the role that it needs, and calls the agent."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Request
from fastapi.responses import FileResponse, Response, StreamingResponse

from graphbandits._version import __version__
from graphbandits.errors import GraphBanditsError, InputError, StoreError, short_repr
from graphbandits.live import Agent
from graphbandits.live.operations import Operation, routes
from graphbandits.live.requests import handle
from graphbandits.service import openapi
from graphbandits.service.access import Caller, require
from graphbandits.service.agents import Agents, describe
from graphbandits.service.answers import (
    Role,
    Service,
    TooLargeError,
    Work,
    error_answer,
    json_answer,
)
from graphbandits.service.metrics import prometheus_text
from graphbandits.service.streams import events_of

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
    """Return the arguments of a route that describe it."""
    content = openapi.content_of(answer)
    failed = openapi.content_of("error")
    extra: dict[str, Any] = {"security": [] if answer == "health" else [{"token": [role]}]}
    if body is not None:
        form = {"application/json": {"schema": openapi.BODIES[body]}}
        extra["requestBody"] = {"required": True, "content": form}
    if once:
        extra["parameters"] = [openapi.IDEMPOTENCY_KEY]
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
    """Answer with what a function returns for an agent."""
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
    """Raise TooLargeError if a request is about too many decisions."""
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
    """Raise InputError if a request has a key, which this route would ignore."""
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
