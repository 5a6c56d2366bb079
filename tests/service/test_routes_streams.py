"""Tests of service/routes.py: each entry is sent once, in order, until the client may not read."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from helpers.service import run_async

from graphbandits import Agent
from graphbandits.errors import NotFoundError
from graphbandits.service import routes
from graphbandits.service.access import UnauthorizedError
from graphbandits.service.routes import events_of


@pytest.fixture(autouse=True)
def fast(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(routes, "PAUSE", 0.002)


@pytest.fixture
def agent(tmp_path: Path) -> Agent:
    return Agent("ts-n", 3, "star", seed=1, store=tmp_path / "agents.db")


def read(
    agent: Any,
    after: int | None,
    *,
    until: Callable[[list[Any]], bool],
    step: Callable[[int], object] = lambda number: None,
    **more: Any,
) -> list[tuple[str, int | None, Any]]:
    """Return the events up to a condition; ``step`` is called after each one."""
    found: list[tuple[str, int | None, Any]] = []

    async def collect() -> None:
        texts = events_of(agent, after, lambda: until(found), **more)
        assert await anext(texts) == "retry: 2000\n\n"
        end = time.monotonic() + 60
        async for text in texts:
            assert text.endswith("\n\n")
            assert time.monotonic() < end
            if text.startswith(":"):
                found.append(("comment", None, text))
                continue
            fields = dict(line.split(": ", 1) for line in text.removesuffix("\n\n").split("\n"))
            number = fields.get("id")
            found.append(
                (fields["event"], number and int(number), json.loads(fields["data"]))  # type: ignore[arg-type]
            )
            await asyncio.to_thread(step, len(found))

    run_async(collect())
    return found


def statuses(found: list[Any]) -> int:
    return sum(one[0] == "status" for one in found)


def entries(found: list[Any]) -> list[Any]:
    for name, number, value in found:
        assert name != "entry" or number == value["number"]
    return [value for name, _, value in found if name == "entry"]


def test_a_new_client_gets_the_status_and_then_what_is_new(agent: Agent) -> None:
    agent.decide(3)
    found = read(
        agent,
        None,
        until=lambda found: statuses(found) == 2,
        step=lambda number: agent.decide(2) if number == 1 else None,
    )
    assert [name for name, _, _ in found] == ["status", "entry", "entry", "status"]
    assert entries(found) == agent.history()[-2:]
    assert found[0][2]["entries"] == 4
    assert found[-1][2] == agent.status()


@pytest.mark.parametrize("after", [0, 4])
def test_a_client_that_comes_back_misses_nothing(agent: Agent, after: int) -> None:
    agent.decide(3)
    step = lambda number: None if agent.status()["entries"] > 4 else agent.decide()  # noqa: E731
    if after == 4:
        agent.decide()
    found = read(agent, after, until=lambda found: statuses(found) >= 1, step=step)
    assert [one["number"] for one in entries(found)] == list(range(after + 1, 5 + (after == 4)))


def test_each_entry_comes_once_while_others_write(agent: Agent, tmp_path: Path) -> None:
    writers = [Agent(store=tmp_path / "agents.db") for _ in range(2)]

    def write(writer: Agent) -> None:
        for number in range(40):
            made = writer.decide()
            writer.observe(made, {made.arm: number % 2})

    threads = [threading.Thread(target=write, args=(one,)) for one in writers]
    last = 2 * 2 * 40 + 1

    def is_complete(found: list[Any]) -> bool:
        if not threads[0].ident:
            for thread in threads:
                thread.start()
        return bool(found) and entries(found)[-1:] != [] and entries(found)[-1]["number"] == last

    found = read(agent, 0, until=is_complete)
    for thread in threads:
        thread.join()
    assert [one["number"] for one in entries(found)] == list(range(1, last + 1))
    assert entries(found) == agent.history()
    assert found[-1] == ("status", None, agent.status())
    counts = [value["entries"] for name, _, value in found if name == "status"]
    assert counts == sorted(counts)


def test_a_client_far_behind_gets_the_last_ones(
    agent: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(routes, "MOST_ENTRIES", 3)
    agent.decide(10)
    found = read(agent, 0, until=lambda found: statuses(found) == 1)
    assert entries(found) == agent.history()[-3:]


def test_a_silent_stream_sends_comments(agent: Agent, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(routes, "SILENCE", 0.02)
    found = read(agent, 1, until=lambda found: len(found) == 3)
    assert found == [("comment", None, ": ping\n\n")] * 3


def test_a_stream_ends_when_the_database_is_away(agent: Agent, tmp_path: Path) -> None:
    place = tmp_path / "agents.db"

    def move_away(number: int) -> None:
        if number == 1:
            agent.disconnect()
            place.rename(tmp_path / "away.db")

    found = read(agent, None, until=lambda found: False, step=move_away)
    assert [name for name, _, _ in found][:1] == ["status"]
    assert found[-1][0] == "away"
    assert "there is no store" in found[-1][2]["message"]


def test_a_stream_ends_when_the_client_may_not_read_any_more(agent: Agent) -> None:
    for error in [UnauthorizedError("revoked"), NotFoundError("gone")]:
        looks = 0

        def check(error: Exception = error) -> None:
            nonlocal looks
            looks += 1
            if looks == 4:
                raise error

        found = read(agent, None, until=lambda found: False, check=check)
        assert [name for name, _, _ in found] == ["status"]
        assert looks == 4
