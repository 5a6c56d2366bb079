"""Tests of service/routes.py: each route does what a method of Agent does, for the right roles."""

from __future__ import annotations

import io
import json
import re
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
import pyarrow.csv
import pyarrow.parquet
import pytest
from fastapi import FastAPI
from starlette.routing import Mount, Route
from starlette.testclient import TestClient

from graphbandits import Agent, __version__
from graphbandits.errors import GraphBanditsError
from graphbandits.live.store import open_store
from graphbandits.plugins import loaded_plugins
from graphbandits.service import agents as agents_module
from graphbandits.service import routes
from graphbandits.service.access import ROLES, add_token
from graphbandits.service.agents import Agents, describe
from graphbandits.service.app import create_app
from graphbandits.service.server import Settings

NAMES = ["ann", "bob", "eve"]
URL = "http://localhost:8000"
#: Texts that a careless program would take for something else.
HOSTILE = [
    "a b",
    "a&b=c;d",
    "?x#y",
    "50 %",
    "a\"b'c`d",
    "a\\b",
    "<script>alert(1)<script>",
    "'; DROP TABLE graphbandits_agents; --",
    "{name}",
    "..",
    "...",
    "Zoë",
    "日本語",
    "🎰",
    "e\u0301",
    "null",
    "0",
    "x" * 200,
    "é" * 200,
]


def service_of(place: Path, **settings: Any) -> TestClient:
    """Return a service in this process, as a client of httpx."""
    app = create_app(Settings(store=str(place), **{"rate": 0.0} | settings))
    return TestClient(app, URL, raise_server_exceptions=False)


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A store with the agent 'banner'."""
    place = tmp_path / "agents.db"
    Agent("ids-n", NAMES, "star", seed=1, store=place, name="banner").disconnect()
    return place


@pytest.fixture
def service(place: Path) -> Iterator[TestClient]:
    with service_of(place) as client:
        yield client


@pytest.fixture
def agent(place: Path) -> Agent:
    """The agent of the store, opened beside the service."""
    return Agent(store=place, name="banner")


def plain(value: Any) -> Any:
    """Return a value as JSON has it."""
    return json.loads(json.dumps(value))


def ok(response: httpx.Response, status: int = 200) -> Any:
    """Return the JSON value of a successful answer."""
    assert response.status_code == status, response.text
    assert response.headers["content-type"] == "application/json"
    return response.json()


def refused(response: httpx.Response, status: int, kind: str) -> str:
    """Return the sentence of an error."""
    assert response.status_code == status, response.text
    assert response.headers["content-type"] == "application/json"
    assert ("retry-after" in response.headers) == (status in (429, 503))
    assert response.headers.get("www-authenticate") == ("Bearer" if status == 401 else None)
    found = response.json()
    assert found.keys() == {"error"}
    assert found["error"].keys() == {"type", "message"}
    assert found["error"]["type"] == kind
    message = found["error"]["message"]
    assert isinstance(message, str)
    assert message
    assert "\n" not in message
    return message


def sentence(call: Callable[[], object]) -> str:
    """Return the message of a call that the library refuses."""
    with pytest.raises(GraphBanditsError) as caught:
        call()
    return " ".join(str(caught.value).split())


def decide(service: TestClient, name: str = "banner", **body: Any) -> list[dict[str, Any]]:
    path = f"/agents/{quote(name, safe='')}/decisions"
    found: list[dict[str, Any]] = ok(service.post(path, json=body))["decisions"]
    return found


def observe(service: TestClient, outcomes: Any, key: str | None = None, **body: Any) -> Any:
    headers = {} if key is None else {"Idempotency-Key": key}
    return service.post(
        "/agents/banner/outcomes", json={"outcomes": outcomes} | body, headers=headers
    )


def play(service: TestClient, count: int = 5) -> list[dict[str, Any]]:
    """Make decisions and report outcomes of all but the last one."""
    made = decide(service, n=count)
    rewards = {one["id"]: {one["arm"]: i % 2} for i, one in enumerate(made[:-1])}
    assert ok(observe(service, rewards)) == {"accepted": count - 1}
    return made


# --- roles --------------------------------------------------------------------------------------

#: Least role of each route; None: no token is needed.
NEEDED: dict[tuple[str, str], str | None] = {
    ("GET", "/"): None,
    ("GET", "/openapi.json"): None,
    ("GET", "/health"): None,
    ("GET", "/whoami"): "read",
    ("GET", "/metrics"): "read",
    ("GET", "/agents"): "read",
    ("POST", "/agents"): "admin",
    ("GET", "/agents/{name}"): "read",
    ("POST", "/agents/{name}/events"): "admin",
    ("POST", "/agents/{name}/decisions"): "decide",
    ("POST", "/agents/{name}/outcomes"): "decide",
    ("POST", "/agents/{name}/learn"): "decide",
    ("GET", "/agents/{name}/decisions"): "read",
    ("GET", "/agents/{name}/decisions/{id}"): "read",
    ("GET", "/agents/{name}/pending"): "read",
    ("GET", "/agents/{name}/beliefs"): "read",
    ("GET", "/agents/{name}/arms"): "read",
    ("GET", "/agents/{name}/graph"): "read",
    ("GET", "/agents/{name}/trend"): "read",
    ("GET", "/agents/{name}/overview"): "read",
    ("GET", "/agents/{name}/health"): "read",
    ("GET", "/agents/{name}/history"): "read",
    ("GET", "/agents/{name}/log"): "read",
    ("GET", "/agents/{name}/stream"): "read",
}
#: A valid body of each route that has one.
BODIES: dict[str, Any] = {
    "/agents": {"name": "banner", "policy": "ids-n"},
    "/agents/{name}/events": {"op": "pause", "arms": ["bob"]},
    "/agents/{name}/decisions": {},
    "/agents/{name}/outcomes": {"outcomes": {}},
    "/agents/{name}/learn": {"outcomes": {"ann": 1}},
}


def routes_of(app: FastAPI) -> set[tuple[str, str]]:
    """Return the methods and paths of all routes, and of nothing else."""
    found = set()
    given = [one for one in app.routes if isinstance(one, Mount | Route)]
    mounted = [one for one in given if isinstance(one, Mount)]
    assert [one.path for one in mounted] == ["/static"]
    for one in [*given, *routes.router.routes]:
        if one in mounted:
            continue
        assert isinstance(one, Route), one
        found |= {(method, one.path) for method in one.methods or ()}
    return found - {("HEAD", "/openapi.json")}


def request(service: TestClient, method: str, path: str, **more: Any) -> httpx.Response:
    """Send a valid request to a route."""
    path_ = path.replace("{name}", "banner").replace("{id}", "1-0")
    body = {"json": BODIES[path]} if method == "POST" else {}
    return service.request(method, path_, **body | more)


def test_the_table_has_every_route(service: TestClient) -> None:
    assert routes_of(service.app) == set(NEEDED)  # type: ignore[arg-type]
    documented = {
        (method.upper(), path): operation["security"]
        for path, methods in service.get("/openapi.json").json()["paths"].items()
        for method, operation in methods.items()
    }
    pages = {("GET", "/"), ("GET", "/openapi.json")}
    assert documented == {
        route: [{"token": [role]}] if role else []
        for route, role in NEEDED.items()
        if route not in pages
    }


def test_every_route_has_its_least_role(service: TestClient, place: Path) -> None:
    with open_store(place) as store:
        tokens = {role: add_token(store, role, name=f"my {role}")[0] for role in ROLES}
    service.app.state.service.stopping.set()  # type: ignore[attr-defined]  # event streams end
    for (method, path), needed in NEEDED.items():
        response = request(service, method, path)
        if needed is None:
            assert response.status_code == 200, path
            continue
        assert "a token is required" in refused(response, 401, "unauthorized")
        wrong = {"Authorization": f"Bearer {tokens['admin'][:-1]}"}
        assert "does not know" in refused(
            request(service, method, path, headers=wrong), 401, "unauthorized"
        )
        for role in ROLES:
            headers = {"Authorization": f"Bearer {tokens[role]}"}
            response = request(service, method, path, headers=headers)
            if ROLES.index(role) < ROLES.index(needed):
                message = refused(response, 403, "forbidden")
                assert f"'my {role}' has the role '{role}'" in message
                assert f"'{needed}'" in message
            else:
                assert response.status_code not in (401, 403), (path, role)
                assert response.status_code < 500


def test_other_methods_are_refused(service: TestClient) -> None:
    for path in {path for _, path in NEEDED}:
        allowed = {method for method, one in NEEDED if one == path}
        for method in {"GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"} - allowed:
            shown = path.replace("{name}", "banner").replace("{id}", "1-0")
            more = {"json": {}} if method in ("POST", "PUT", "PATCH") else {}
            response = service.request(method, shown, **more)
            message = refused(response, 405, "method_not_allowed")
            assert f"'{shown}' does not accept {method}" in message
            assert set(response.headers["allow"].split(", ")) >= allowed


# --- the service --------------------------------------------------------------------------------


def test_health_and_whoami(service: TestClient, place: Path) -> None:
    assert ok(service.get("/health")) == {"status": "ok", "version": __version__}
    found = ok(service.get("/whoami"))
    assert found == {
        "role": "admin",
        "token": None,
        "authentication": False,
        "store": str(place),
        "version": __version__,
    }
    with open_store(place) as store:
        token, _ = add_token(store, "decide", name="app")
    found |= {"role": "decide", "token": "app", "authentication": True}
    service.app.state.service.access._without_tokens = None  # type: ignore[attr-defined]
    assert ok(service.get("/whoami", headers={"Authorization": f"Bearer {token}"})) == found


def test_unknown_paths(service: TestClient) -> None:
    for path in [
        "/nothing",
        "/agents/",
        "/agents/banner/",
        "/agents/banner/nothing",
        "/agents//decisions",
        "/agents/a/b/decisions",
        "/static/../routes.py",
        "/static/%2e%2e/routes.py",
        "/static/..%2froutes.py",
        "/static/",
        "/static/%00",
        "/static/" + "x" * 5000,
        "/%ff%fe",
    ]:
        message = refused(service.get(path), 404, "not_found")
        assert "see /openapi.json" in message
        assert len(message) < 200


# --- agents -------------------------------------------------------------------------------------


def test_bad_events(service: TestClient, agent: Agent) -> None:
    for body, words in [
        ({}, "'op' must be one of close, add_arm"),
        ({"op": "decide"}, "'op' must be one of"),
        ({"op": "learn", "outcomes": {}}, "'op' must be one of"),
        ({"op": "observe", "id": "1-0", "outcomes": {}}, "'op' must be one of"),
        ({"op": ["reset"]}, "'op' must be one of"),
        ({"op": {"a": 1}}, "'op' must be one of"),
        ({"op": "pause"}, "'pause' needs the key 'arms'"),
        ({"op": "pause", "arms": ["ann"], "x": 1}, "'pause' has no key 'x'"),
        ({"op": "pause", "arms": "ann"}, "'arms' must be a list"),
    ]:
        response = service.post("/agents/banner/events", json=body)
        assert words in refused(response, 422, "invalid")
        assert len(agent.history()) == 1


# --- decisions ----------------------------------------------------------------------------------


def test_an_empty_body_is_an_empty_object(service: TestClient) -> None:
    headers = {"Content-Type": "application/json"}
    assert len(ok(service.post("/agents/banner/decisions", headers=headers))["decisions"]) == 1
    assert len(decide(service, n=None, among=None, context=None)) == 1


def test_a_decision_is_explained(service: TestClient, agent: Agent) -> None:
    made = decide(service, n=2, pi=True, context={"a": 1}, distinct=True)[1]
    observe(service, {made["id"]: {made["arm"]: 1}}, partial=True)
    path = f"/agents/banner/decisions/{made['id']}"
    found = ok(service.get(path, params={"pi": "true"}))
    wanted = agent.explain(made["id"])
    assert wanted.points is not None
    assert found == {
        "decision": made
        | {
            "number": 2,
            "status": "open",
            "expires": None,
            "outcomes": {made["arm"]: 1.0},
            "late": [],
        },
        "explanation": plain(wanted.to_dict() | {"points": wanted.points.to_dict()}),
        "note": None,
    }
    points = found["explanation"]["points"]
    assert points["arms"][points["played"]] == made["arm"]
    assert found["decision"]["pi"] == made["pi"]
    del found["decision"]["pi"]
    assert ok(service.get(path, params={"explain": "false"})) == found | {"explanation": None}
    few = ok(service.get(path, params={"arms": 1}))["explanation"]
    assert few == plain(agent.explain(made["id"], 1).to_dict()) | {"points": points}
    agent.close(made["id"])
    assert ok(service.get(path))["decision"]["status"] == "closed"


# --- outcomes -----------------------------------------------------------------------------------


# --- reading ------------------------------------------------------------------------------------


def test_log_is_that_of_the_agent(service: TestClient, agent: Agent) -> None:
    made = decide(service, n=4, context={"a": "ü"})
    observe(service, {one["id"]: {one["arm"]: 1} for one in made[:3]})
    for form in ["jsonl", "csv", "parquet"]:
        response = service.get("/agents/banner/log", params={"format": form})
        assert response.status_code == 200
        assert response.headers["content-disposition"] == f'attachment; filename="log.{form}"'
        assert int(response.headers["content-length"]) == len(response.content)
        if form == "jsonl":
            assert service.get("/agents/banner/log").content == response.content
            rows = [json.loads(line) for line in response.text.splitlines()]
            assert [row["id"] for row in rows] == [one["id"] for one in made]
        elif form == "csv":
            table = pyarrow.csv.read_csv(io.BytesIO(response.content))
            assert table["id"].to_pylist() == [one["id"] for one in made]
        else:
            table = pyarrow.parquet.read_table(io.BytesIO(response.content))
            assert table.equals(agent.log().to_arrow())


def test_bad_parameters(service: TestClient) -> None:
    refusals: list[tuple[str, str]] = [
        ("decisions?limit=0", "'limit'"),
        ("decisions?before=0", "'before'"),
        ("decisions?before=" + "9" * 5000, "'before'"),
        ("decisions?open=perhaps", "'open'"),
        ("decisions/1-0?arms=0", "'arms'"),
        ("arms?limit=0", "'limit'"),
        ("arms?search=" + "x" * 201, "'search'"),
        ("graph?limit=5001", "'limit'"),
        ("graph?around=joe", "unknown arm 'joe'"),
        ("trend?points=0", "'points'"),
        ("overview?last=-1", "'last'"),
        ("health?level=0", "level"),
        ("history?last=0", "'last'"),
        ("log?format=xml", "'format'"),
        ("stream?after=-1", "'after'"),
        ("beliefs?accuracy=low", "accuracy"),
        ("beliefs?estimate=7", "'estimate'"),
    ]
    for path, words in refusals:
        message = refused(service.get(f"/agents/banner/{path}"), 422, "invalid")
        assert words in message
        assert len(message) < 300


# --- names --------------------------------------------------------------------------------------


def test_hostile_names(service: TestClient, place: Path) -> None:
    """Such a name is an agent and an arm; or the agent is refused, with a reason."""
    for name in HOSTILE:
        body = {"name": name, "policy": "ids-n", "arms": [name, "other"], "graph": "complete"}
        response = service.post("/agents", json=body)
        path = f"/agents/{quote(name, safe='')}"
        if name == "..":
            assert "part of addresses" in refused(response, 422, "invalid")
            body["name"], path = "dots", "/agents/dots"
            response = service.post("/agents", json=body)
        assert ok(response, 201)["agent"]["name"] == body["name"]
        [made] = ok(service.post(f"{path}/decisions", json={"among": [name]}))["decisions"]
        assert made["arm"] == name
        assert made["reveals"] == {name: 1.0, "other": 1.0}
        outcomes = {made["id"]: {name: 1}}
        assert ok(service.post(f"{path}/outcomes", json={"outcomes": outcomes})) == {"accepted": 1}
        agent = Agent(store=place, name=str(body["name"]))
        assert agent.state["a"] == {name: 2.0, "other": 1.0}
        found = ok(service.get(f"{path}/arms", params={"search": name}))
        assert [one["arm"] for one in found["arms"]] == [name]
        found = ok(service.get(f"{path}/graph", params={"around": name}))
        assert found["arms"][0]["arm"] == name
        ok(service.post(f"{path}/events", json={"op": "pause", "arms": [name]}))
        assert ok(service.get(path))["agent"] == plain(describe(agent))
        for route in ("history", "trend", "overview", "health", "beliefs", "decisions", "log"):
            assert service.get(f"{path}/{route}").status_code == 200
        assert ok(service.get(f"{path}/decisions/{made['id']}"))["decision"]["arm"] == name
        assert service.get("/metrics").status_code == 200


def test_refused_names(service: TestClient) -> None:
    for name in ["a/b", "/", "..", ".", "", "x" * 201, "a\nb", "a\0b", "\u200b"]:
        response = service.post("/agents", json={"name": name, "policy": "ids-n", "arms": 2})
        refused(response, 422, "invalid")
        assert len(ok(service.get("/agents"))["agents"]) == 1


def test_unknown_agents_and_decisions(service: TestClient, agent: Agent, place: Path) -> None:
    with open_store(place) as store:
        wanted = sentence(lambda: store.journal("bannre"))
    assert refused(service.get("/agents/bannre"), 404, "not_found") == wanted
    response = service.post("/agents/bannre/decisions", json={})
    assert refused(response, 404, "not_found") == wanted
    for id_ in ("1-0", "0", "x" * 300, "9" * 40, "1-0%00", "-1", "1-%C3%BC"):
        message = refused(service.get(f"/agents/banner/decisions/{id_}"), 404, "not_found")
        assert "unknown decision" in message
        params = {"decision": id_}
        refused(service.get("/agents/banner/history", params=params), 404, "not_found")
        body = {"op": "close", "id": id_}
        refused(service.post("/agents/banner/events", json=body), 404, "not_found")


# --- keys of requests ---------------------------------------------------------------------------


def with_key(key: str) -> dict[str, str]:
    return {"Idempotency-Key": key}


def test_a_repeated_request_has_the_same_answer(
    service: TestClient, place: Path, agent: Agent
) -> None:
    """It has, after changes of the agent, after a restart, and from another process."""
    path, body = "/agents/banner/decisions", {"n": 3, "pi": True, "context": [1], "expires": 1e6}
    first = service.post(path, json=body, headers=with_key("a key"))
    assert len(ok(first)["decisions"]) == 3
    assert service.post(path, json=body, headers=with_key("a key")).content == first.content
    observe(service, {one["id"]: {"ann": 1} for one in first.json()["decisions"]})
    agent.add_arm("joe", edges=["ann"])
    agent.retire("bob")
    agent.set_graph("complete")
    agent.set_policy("ts-n")
    with service_of(place) as other:
        for client in (service, other):
            assert client.post(path, json=body, headers=with_key("a key")).content == first.content
    with service_of(place) as other:
        again = other.post(path, json=body, headers=with_key("a key"))
        assert again.content == first.content
    assert agent.status()["decisions"] == 3
    assert service.post(path, json=body).content != first.content
    assert agent.status()["decisions"] == 6


def test_bad_keys(service: TestClient, agent: Agent) -> None:
    for key in ["", "x" * 201, "ü", "a\tb"]:
        headers = {"Idempotency-Key": key.encode("latin-1")}
        for path, body in (("decisions", {}), ("outcomes", {"outcomes": {}})):
            response = service.post(f"/agents/banner/{path}", json=body, headers=headers)  # type: ignore[arg-type]
            assert "the key of a request has 1 to 200" in refused(response, 422, "invalid")
            response = service.post(f"/agents/banner/{path}", json=body | {"request": "k"})
            assert "use the header Idempotency-Key" in refused(response, 422, "invalid")
        assert len(agent.history()) == 1


# --- limits -------------------------------------------------------------------------------------


def test_batches_are_limited(place: Path, agent: Agent) -> None:
    with service_of(place, batch=3) as service:
        path = "/agents/banner"
        response = service.post(f"{path}/decisions", json={"n": 4})
        assert "about 4 decisions" in refused(response, 413, "too_large")
        made = decide(service, n=3)
        given = {one["id"]: {"ann": 1} for one in made}
        response = observe(service, given | {"1-0": {}})
        assert "about 4 decisions" in refused(response, 413, "too_large")
        assert agent.status()["outcomes"] == 0
        assert ok(observe(service, given)) == {"accepted": 3}
        for count in (0, -1, 2.0, "2", True):
            response = service.post(f"{path}/decisions", json={"n": count})
            refused(response, 422, "invalid")


def test_bad_bodies(service: TestClient, agent: Agent) -> None:
    for body, status, words in [
        ("{", 400, "not valid JSON"),
        ('"x"', 400, "must be a JSON object"),
        ('{"n": 1, "n": 2}', 400, "given twice"),
        ('{"expires": 1e999}', 400, "too large"),
        (b"\xff{}", 400, "UTF-8"),
        ('{"context": ' + "[" * 60 + "]" * 60 + "}", 422, "levels"),
        ('{"n": "1"}', 422, "'n' must be"),
        ('{"among": ["joe"]}', 422, "joe"),
        ('{"graph": {"edges": [["ann", "joe"]]}}', 422, "joe"),
        ('{"op": "reset"}', 422, "has no key 'op'"),
    ]:
        response = service.post(
            "/agents/banner/decisions", content=body, headers={"Content-Type": "application/json"}
        )
        message = refused(response, status, {400: "bad_request", 422: "invalid"}[status])
        assert words in message
        assert len(message) < 1000
        assert len(agent.history()) == 1


# --- files and code -----------------------------------------------------------------------------


def graph_texts(path: str) -> list[Any]:
    """Return texts and objects with which a client could try to read a file."""
    texts = [
        f"file:{path}",
        f" file:{path}",
        f"file(path={path})",
        f"file(path='{path}')",
        f'file(path="{path}", directed=true)',
        path,
        f"star(file:{path})",
        f"random(r=file({path}))",
    ]
    objects: list[Any] = [
        {"edges": f"file:{path}"},
        {"edges": [[f"file:{path}", "ann"]]},
        {"path": path},
        {"edges": [["ann"]], "file": path},
        [[1, 0], [0, 1]],
    ]
    return [*texts, *objects]


@pytest.fixture
def short_path() -> Iterator[Path]:
    """A directory with a short path, which messages show in full."""
    with tempfile.TemporaryDirectory(dir="/tmp") as directory:
        yield Path(directory)


def test_graphs_are_never_read_from_files(
    service: TestClient, agent: Agent, short_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The answers do not even show whether there is a file."""
    monkeypatch.chdir(short_path)
    (short_path / "found.txt").write_text("ann bob 0.5\nbob eve 0.25\n")
    entries = agent.history()
    for kind in ("{}", str(short_path / "{}")):
        messages: list[list[str]] = []
        for name in ("found.txt", "nofil.txt"):  # there is no second file
            messages.append([])
            for graph in graph_texts(kind.format(name)):
                for path, body in (
                    ("/agents", {"name": "new", "policy": "ids-n", "arms": NAMES}),
                    ("/agents", {"name": "new", "policy": "ids-n"}),
                    ("/agents/banner/decisions", {}),
                    ("/agents/banner/events", {"op": "set_graph"}),
                ):
                    if isinstance(graph, dict) and "arms" not in body and "name" in body:
                        continue  # an agent may have an arm of any name
                    response = service.post(path, json=body | {"graph": graph})
                    message = refused(response, 422, "invalid")
                    messages[-1].append(message.replace(name, "NAME"))
                    assert "0.25" not in message
        assert messages[0] == messages[1]
    assert agent.history() == entries
    assert len(ok(service.get("/agents"))["agents"]) == 1


def test_requests_load_no_code(
    service: TestClient, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    marker = tmp_path / "loaded"
    plugin = tmp_path / "mine.py"
    plugin.write_text(f"open({str(marker)!r}, 'w').close()\n")
    monkeypatch.syspath_prepend(tmp_path)
    texts = [
        "mine",
        str(plugin),
        f"file:{plugin}",
        "__import__('mine')",
        "ids-n(accuracy=__import__('mine'))",
        f"floor(policy={plugin})",
        "ids-n\nmine",
    ]
    before = loaded_plugins()
    for text in texts:
        for path, body in (
            ("/agents", {"name": "new", "policy": text, "arms": 3}),
            ("/agents", {"name": "new", "policy": "ids-n", "arms": 3, "posterior": text}),
            ("/agents", {"name": "new", "policy": "ids-n", "arms": 3, "prior": text}),
            ("/agents", {"name": "new", "policy": "ids-n", "arms": 3, "graph": text}),
            ("/agents/banner/events", {"op": "set_policy", "policy": text, "reset": True}),
            ("/agents/banner/events", {"op": "set_graph", "graph": text}),
            ("/agents/banner/events", {"op": "add_arm", "name": "joe", "prior": text}),
        ):
            refused(service.post(path, json=body), 422, "invalid")
    assert not marker.exists()
    assert loaded_plugins() == before
    assert len(ok(service.get("/agents"))["agents"]) == 1


# --- faults -------------------------------------------------------------------------------------


class FaultError(Exception):
    """An error that the service does not expect."""


def test_faults_have_a_number_and_no_details(
    service: TestClient, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*_: object) -> Any:
        raise FaultError("secret of /srv/app/routes.py")

    monkeypatch.setattr(Agents, "names", fail)
    monkeypatch.setattr(Agents, "get", fail)
    numbers = set()
    for (method, path), needed in NEEDED.items():
        if (needed is None and path != "/health") or path == "/whoami":
            continue
        caplog.clear()
        message = refused(request(service, method, path), 500, "internal")
        found = re.fullmatch(
            r"internal error: see number (\d+) of process (\d+) in the log of the service", message
        )
        assert found, message
        numbers.add(found[1])
        assert "secret of" in caplog.text
        assert f"internal error {found[1]} in process {found[2]}" in caplog.text
    assert len(numbers) == len(NEEDED) - 3


def test_the_store_is_away_and_comes_back(
    service: TestClient, place: Path, agent: Agent, caplog: pytest.LogCaptureFixture
) -> None:
    agent.disconnect()
    decide(service)
    away = place.with_name("away")
    away.mkdir()
    files = [one for one in place.parent.iterdir() if one.name.startswith(place.name)]
    for one in files:
        one.rename(away / one.name)
    for (method, path), needed in NEEDED.items():
        if (needed is None and path != "/health") or path == "/whoami":
            continue
        message = refused(request(service, method, path), 503, "unavailable")
        if path == "/health":  # it needs no token
            assert str(place) not in message
    service.app.state.service.access._without_tokens = None  # type: ignore[attr-defined]
    message = refused(service.get("/agents"), 503, "unavailable")
    assert str(place) not in message
    assert caplog.text.count(str(place)) == 1
    assert not place.exists()
    for one in files:
        (away / one.name).rename(one)
    assert ok(service.get("/health"))["status"] == "ok"
    assert decide(service)[0]["id"].startswith("2-")
    assert agent.verify() == 3


def test_a_service_starts_before_its_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """So does a worker process that is replaced while the database is away."""
    monkeypatch.setattr(agents_module, "RETRY_SECONDS", 0.0)
    place = tmp_path / "later.db"
    with service_of(place) as service:
        for path in ("/health", "/whoami", "/agents"):
            assert str(place) not in refused(service.get(path), 503, "unavailable")
        assert not place.exists()
        open_store(place).close()
        assert ok(service.get("/agents")) == {"agents": [], "failed": []}
        body = {"name": "banner", "policy": "ts-n", "arms": 2}
        ok(service.post("/agents", json=body), 201)


# --- the event stream ---------------------------------------------------------------------------


def test_a_stream_starts_after_the_entry_that_the_client_has(
    service: TestClient, agent: Agent
) -> None:
    play(service, 3)
    entries = plain(agent.history())
    stopping = service.app.state.service.stopping  # type: ignore[attr-defined]
    looks = 0

    def stop_after_a_look() -> bool:
        nonlocal looks
        looks += 1
        return looks > 1

    for headers, params, first in (
        ({}, {}, len(entries)),
        ({}, {"after": 2}, 2),
        ({"Last-Event-ID": "4"}, {"after": 2}, 4),
        ({"Last-Event-ID": "nonsense"}, {"after": 3}, 3),
        ({"Last-Event-ID": "9" * 30}, {"after": 3}, 3),
        ({}, {"after": 10**30}, len(entries)),
    ):
        looks = 0
        stopping.is_set = stop_after_a_look
        response = service.get("/agents/banner/stream", headers=headers, params=params)
        assert response.headers["content-type"].startswith("text/event-stream")
        assert response.headers["cache-control"] == "no-store"
        found = [
            json.loads(line.removeprefix("data: "))
            for line in response.text.splitlines()
            if line.startswith("data: ")
        ]
        known = [one for one in found if "kind" in one]
        assert known == entries[first:]
        if first < len(entries) or "after" not in params or params["after"] > len(entries):
            assert found[-1] == agent.status()
    refused(service.get("/agents/nothing/stream"), 404, "not_found")
