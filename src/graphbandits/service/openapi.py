"""JSON schemas of the requests and answers of the service, for its description (OpenAPI)."""

from __future__ import annotations

from typing import Any

from graphbandits.live.operations import Operation, routes
from graphbandits.live.values import ARM, FLAG, PROBABILITY, REWARDS, Schema, body_schema
from graphbandits.service.agents import NEEDED, SETTINGS


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
    """Return the schema of an answer by its type.

    >>> list(content_of("metrics")), list(content_of("health"))
    (['text/plain'], ['application/json'])
    """
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
