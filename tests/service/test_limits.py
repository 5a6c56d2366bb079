"""Tests of service/limits.py: limits of requests, and headers of all answers."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest
from helpers.service import run_async
from hypothesis import given, settings
from hypothesis import strategies as st

from graphbandits.service import limits as limits_module
from graphbandits.service.access import ANYONE, Token
from graphbandits.service.limits import CONTENT_SECURITY_POLICY, Limits

JSON = {"host": "localhost:8000", "content-type": "application/json"}
Application = Callable[[Any, Any, Any], Awaitable[None]]


@dataclass
class Answer:
    """An answer, and the times at which its parts were sent."""

    status: int = 0
    headers: list[tuple[str, str]] = field(default_factory=list)
    body: bytes = b""
    parts: list[bytes] = field(default_factory=list)

    def __getitem__(self, name: str) -> str:
        """Return a header that is there once."""
        [value] = [value for key, value in self.headers if key == name]
        return value

    @property
    def error(self) -> tuple[int, str]:
        """Status and type of a refusal, in the JSON form of all errors."""
        found = json.loads(self.body)
        assert set(found) == {"error"}
        assert set(found["error"]) == {"type", "message"}
        assert len(found["error"]["message"].splitlines()) == 1
        assert self["content-type"] == "application/json"
        assert self["content-length"] == str(len(self.body))
        return self.status, found["error"]["type"]


class Clock:
    """A clock that a test sets."""

    now = 123456.789

    def __call__(self) -> float:
        return self.now


class Echo:
    """An application that answers with the body of the request."""

    def __init__(self, status: int = 200, headers: dict[str, str] | None = None) -> None:
        self.status = status
        self.headers = headers or {}
        self.bodies: list[bytes] = []

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        body, more = b"", True
        while more:
            message = await receive()
            assert message["type"] == "http.request"
            body += message["body"]
            more = message["more_body"]
        self.bodies.append(body)
        headers = [(key.encode(), value.encode()) for key, value in self.headers.items()]
        await send({"type": "http.response.start", "status": self.status, "headers": headers})
        await send({"type": "http.response.body", "body": body})


def limited(app: Application | None = None, **given: Any) -> Limits:
    settings: dict[str, Any] = {"host": "127.0.0.1", "rate": 0} | given
    return Limits(app or Echo(), **settings)


async def ask(
    limits: Limits,
    method: str = "GET",
    path: str = "/",
    headers: dict[str, str] | None = None,
    parts: Sequence[bytes | float] = (b"",),
    client: tuple[str, int] | None = ("10.0.0.1", 5000),
) -> Answer:
    """Send a request whose body comes in parts; a number is a pause, and None ends the client."""
    answer, rest = Answer(), list(parts)
    left = [part for part in parts if not isinstance(part, float)]
    given_headers = JSON if headers is None else headers
    scope = {
        "type": "http",
        "method": method,
        "path": path,
        "headers": [(k.encode("latin-1"), v.encode("latin-1")) for k, v in given_headers.items()],
        "client": client,
    }

    async def receive() -> dict[str, Any]:
        while rest and isinstance(rest[0], float):
            await asyncio.sleep(rest.pop(0))
        if not rest:
            return {"type": "http.disconnect"}
        left.pop()
        return {"type": "http.request", "body": rest.pop(0), "more_body": bool(left)}

    async def send(message: dict[str, Any]) -> None:
        if message["type"] == "http.response.start":
            assert not answer.status
            answer.status = message["status"]
            answer.headers = [(k.decode(), v.decode()) for k, v in message["headers"]]
        else:
            answer.body += message["body"]
            answer.parts.append(message["body"])

    await limits(scope, receive, send)
    return answer


def asked(limits: Limits, *args: Any, **given: Any) -> Answer:
    return run_async(ask(limits, *args, **given))


# --- size of the body ---------------------------------------------------------------------------


def test_a_larger_body_is_refused() -> None:
    for method in ["POST", "PUT", "PATCH", "GET", "DELETE"]:
        declared = JSON | {"content-length": "11"}
        chunked = JSON | {"transfer-encoding": "chunked"}
        for headers, parts in (
            (declared, [b"x" * 11]),
            (declared, [b"x"]),
            (JSON | {"content-length": "5"}, [b"x" * 11]),  # the length is wrong
            (chunked, [b"x" * 11]),
            (chunked, [b"x" * 10, b"x"]),
            (chunked, [b"x"] * 11),
            (chunked, [b"x"] * 1000),
        ):
            app = Echo()
            answer = asked(limited(app, body_bytes=10), method, headers=headers, parts=parts)
            assert answer.error == (413, "too_large")
            assert answer["connection"] == "close"
            assert "at most 10 bytes" in answer.body.decode()
            assert app.bodies == []


@settings(deadline=None)  # of a busy machine
@given(
    parts=st.lists(st.binary(max_size=8), min_size=1, max_size=6),
    most=st.integers(0, 20),
    declared=st.booleans(),
)
def test_bodies_arrive_whole_or_not_at_all(parts: list[bytes], most: int, declared: bool) -> None:
    app, body = Echo(), b"".join(parts)
    more = {"content-length": str(len(body))} if declared else {}
    answer = asked(limited(app, body_bytes=most), "POST", headers=JSON | more, parts=parts)
    if len(body) > most:
        assert answer.error == (413, "too_large")
        assert app.bodies == []
    else:
        assert answer.body == body
        assert app.bodies == [body]


# --- time of the body ---------------------------------------------------------------------------


def test_a_slow_body_is_refused() -> None:
    for parts in ([60.0, b"x"], [b"x", 60.0, b"x"], [b"x", *[0.02, b"x"] * 1000]):
        app = Echo()
        started = time.monotonic()
        answer = asked(limited(app, body_seconds=0.1), "POST", parts=parts)
        assert answer.error == (408, "timeout")
        assert answer["connection"] == "close"
        assert "within 0.1 s" in answer.body.decode()
        assert 0.09 < time.monotonic() - started < 15
        assert app.bodies == []


def test_the_time_of_the_answer_is_not_limited() -> None:
    async def slow(scope: Any, receive: Any, send: Any) -> None:
        await asyncio.sleep(0.2)
        await Echo()(scope, receive, send)

    for method in ("GET", "POST"):
        assert asked(limited(slow, body_seconds=0.05), method).status == 200


def test_a_client_that_goes_away_does_not_reach_the_application() -> None:
    async def run() -> None:
        app, messages, sent = Echo(), [True, False], []

        async def receive() -> dict[str, Any]:
            if messages.pop(0):
                return {"type": "http.request", "body": b"{", "more_body": True}
            return {"type": "http.disconnect"}

        async def send(message: Any) -> None:
            sent.append(message)

        headers = [(key.encode(), value.encode()) for key, value in JSON.items()]
        scope = {"type": "http", "method": "POST", "path": "/", "client": None, "headers": headers}
        await limited(app)(scope, receive, send)
        assert (app.bodies, sent) == ([], [])

    run_async(run())


# --- rate ---------------------------------------------------------------------------------------


def test_a_client_may_send_as_many_requests_at_once_as_in_a_second() -> None:
    for rate in [1, 2, 3, 7, 10, 999, 1000]:
        limits = limited(rate=rate, clock=Clock())

        async def run(limits: Limits, rate: int) -> list[Answer]:
            return [await ask(limits) for _ in range(rate + 2)]

        answers = run_async(run(limits, rate))
        assert [one.status for one in answers] == [200] * rate + [429] * 2
        assert answers[-1].error == (429, "too_many_requests")
        assert answers[-1]["retry-after"] == "1"
        assert f"more than {rate} requests per second" in answers[-1].body.decode()


def test_a_rate_below_one_request_per_second() -> None:
    clock = Clock()
    limits = limited(rate=0.2, clock=clock)
    assert [asked(limits).status for _ in range(2)] == [200, 429]
    assert asked(limits)["retry-after"] == "5"
    clock.now += 3.5
    assert asked(limits)["retry-after"] == "2"
    clock.now += 1.6
    assert [asked(limits).status for _ in range(2)] == [200, 429]


@settings(deadline=None)  # of a busy machine
@given(st.lists(st.integers(0, 20), min_size=1, max_size=60), st.sampled_from([1, 2, 4, 16]))
def test_the_rate_is_that_of_a_token_bucket(steps: list[int], rate: int) -> None:
    """Compare with the definition; all numbers are exact multiples of powers of two."""
    clock = Clock()
    clock.now = 64.0
    rates = limits_module._Rates(rate, clock)
    bucket = float(rate)
    for step in steps:
        clock.now += step / 16
        bucket = min(float(rate), bucket + rate * step / 16)
        allowed = bucket >= 1
        bucket -= allowed
        assert (rates.wait("client") == 0) == allowed


def test_each_client_has_its_own_rate() -> None:
    limits = limited(rate=2, clock=Clock())
    for host in ("10.0.0.1", "10.0.0.2", "::1"):
        assert [asked(limits, client=(host, port)).status for port in range(3)] == [200, 200, 429]
    assert [asked(limits, client=None).status for _ in range(3)] == [200, 200, 429]


def test_tokens_that_are_known_are_clients() -> None:
    callers = {
        "Bearer a": Token("aaaaaaaa", "same", "read", 0.0),
        "Bearer b": Token("bbbbbbbb", "same", "read", 0.0),
        None: None,
    }
    limits = limited(rate=2, clock=Clock(), known=callers.get)
    for header in ("Bearer a", "Bearer b"):
        headers = JSON | {"authorization": header}
        statuses = [asked(limits, headers=headers, client=(f"10.0.0.{i}", 1)).status for i in "123"]
        assert statuses == [200, 200, 429]
    # made-up tokens count to the address
    headers = [JSON | {"authorization": f"Bearer made-up-{i}"} for i in range(3)]
    assert [asked(limits, headers=one).status for one in headers] == [200, 200, 429]
    assert asked(limits).status == 429


def test_an_open_service_counts_addresses() -> None:
    limits = limited(rate=2, clock=Clock(), known=lambda header: ANYONE)
    headers = JSON | {"authorization": "Bearer a"}
    assert [asked(limits, headers=headers).status for _ in range(3)] == [200, 200, 429]
    assert asked(limits, headers=headers, client=("10.0.0.2", 1)).status == 200
    assert asked(limits).status == 429


def test_memory_of_rates_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits_module, "MAX_CLIENTS", 100)
    clock = Clock()
    rates = limits_module._Rates(5.0, clock)
    for number in range(1000):
        assert rates.wait(f"client {number}") == 0
        assert len(rates._free) <= 100
    for _ in range(4):
        rates.wait("client 999")
    assert rates.wait("client 999") == 1
    clock.now += 1.1
    for number in range(100):  # idle clients are forgotten
        rates.wait(f"new {number}")
    assert "client 999" not in rates._free


def test_a_refused_request_does_not_reach_the_application() -> None:
    app = Echo()
    limits = limited(app, rate=1, clock=Clock())
    for _ in range(3):
        asked(limits, "POST", parts=[b"{}"])
    assert app.bodies == [b"{}"]


# --- headers of requests ------------------------------------------------------------------------


def test_hosts_of_a_loopback_address() -> None:
    for host in ["localhost", "LocalHost", "127.0.0.1", "[::1]"]:
        for port in ["", ":", ":80", ":8000"]:
            for bound in ("127.0.0.1", "::1", "localhost", "[::1]", "LOCALHOST", "127.0.0.5"):
                assert asked(limited(host=bound), headers={"host": host + port}).status == 200


def test_other_hosts_are_refused_on_a_loopback_address() -> None:
    for host in [
        None,
        "evil.example",
        "localhost.evil.example",
        "evil.example/localhost",
        "evil.example@localhost",
        "localhost:80x",
        "[::1]evil.example",
        "localhost evil.example",
        "127.1",
        "192.168.0.1",
        "[::2]",
        "x" * 10_000,
    ]:
        for bound in ("127.0.0.1", "::1", "localhost"):
            app = Echo()
            headers = {} if host is None else {"host": host}
            answer = asked(limited(app, host=bound), headers=headers)
            assert answer.error == (400, "bad_request")
            assert len(answer.body) < 500
            assert app.bodies == []


def test_all_hosts_are_allowed_on_other_addresses() -> None:
    for bound in ("0.0.0.0", "::", "192.168.0.1", "bandits.example"):
        for headers in ({"host": "bandits.example"}, {"host": "x:80"}, {}):
            assert asked(limited(host=bound), headers=headers).status == 200


def test_content_types() -> None:
    for method in ["POST", "PUT", "PATCH"]:
        host = {"host": "localhost"}
        for allowed in ("application/json", "Application/JSON", "application/json; charset=utf-8"):
            assert asked(limited(), method, headers=host | {"content-type": allowed}).status == 200
        for other in (
            "text/plain",
            "text/plain; application/json",
            "application/x-www-form-urlencoded",
            "multipart/form-data; boundary=x",
            "application/jsonp",
            "application/json, text/plain",
            "text/plain, application/json",
            "json",
            "",
            ";application/json",
            "\xe9",
            "x" * 10_000,
            None,
        ):
            app = Echo()
            headers = host if other is None else host | {"content-type": other}
            answer = asked(limited(app), method, headers=headers, parts=[b"{}"])
            assert answer.error == (415, "unsupported_media_type")
            assert app.bodies == []


# --- headers of answers -------------------------------------------------------------------------

SECURE = {
    "content-security-policy": CONTENT_SECURITY_POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}


def secure(answer: Answer) -> dict[str, str]:
    """Return the headers of SECURE; each is there at most once, and there are none of CORS."""
    names = [name for name, _ in answer.headers]
    assert len(names) == len(set(names))
    assert not [name for name in names if name.startswith("access-control-")]
    return {name: answer[name] for name in SECURE if name in names}


def test_all_answers_have_security_headers() -> None:
    statuses = []
    origin = JSON | {"origin": "https://evil.example", "access-control-request-method": "POST"}
    for app, method, headers in (
        (Echo(), "GET", origin),
        (Echo(201), "POST", origin),
        (Echo(405), "OPTIONS", origin),
        (Echo(304), "GET", origin),
        (Echo(401), "GET", origin),
        (Echo(404), "GET", origin),
        (Echo(500), "GET", origin),
        (Echo(), "GET", origin | {"host": "evil.example"}),
        (Echo(), "POST", {"host": "localhost"}),
        (Echo(), "POST", origin | {"content-length": "99"}),
    ):
        answer = asked(limited(app, body_bytes=10), method, headers=headers)
        statuses.append(answer.status)
        assert secure(answer) == SECURE
    assert statuses == [200, 201, 405, 304, 401, 404, 500, 400, 415, 413]
    slow = asked(limited(body_seconds=0.01), "POST", parts=[60.0, b""])
    limits = limited(rate=1, clock=Clock())
    often = [asked(limits) for _ in range(2)][1]
    assert [(one.status, secure(one)) for one in (slow, often)] == [(408, SECURE), (429, SECURE)]


def test_headers_of_the_application_stay_but_for_those_of_security() -> None:
    given_headers = {
        "content-type": "text/html",
        "etag": '"x"',
        "cache-control": "public, max-age=99",
        "content-security-policy": "default-src *",
    }
    answer = asked(limited(Echo(headers=given_headers)))
    assert secure(answer) == SECURE
    assert (answer["content-type"], answer["etag"]) == ("text/html", '"x"')
    assert len(answer.headers) == len(SECURE) + 2


# --- streams ------------------------------------------------------------------------------------


# --- with a server ------------------------------------------------------------------------------


POST = b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
