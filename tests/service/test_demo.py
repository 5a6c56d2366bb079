"""Tests of service/demo.py: the network, the crowd, ports and signals of the demo."""

from __future__ import annotations

import os
import signal
import socket
import threading
from collections import Counter
from typing import Any

import pytest

from graphbandits import Agent, Decision
from graphbandits.errors import InputError, StoreError
from graphbandits.service import demo
from graphbandits.service.demo import (
    CIRCLES,
    Crowd,
    Network,
    free_port,
    network,
    noted_signals,
    simulate,
)


class Clock:
    """A time that passes on request."""

    def __init__(self) -> None:
        self.now = 1_800_000_000.0

    def __call__(self) -> float:
        return self.now


class Direct:
    """The methods of a client, without a service; notes what is reported."""

    def __init__(self, agent: Agent) -> None:
        self.agent = agent
        self.made: list[Decision] = []
        self.answered: list[tuple[float, str, str]] = []
        self.closed = set[str]()

    def decide(self, *, pending: str, expires: float) -> Decision:
        self.made.append(self.agent.decide(pending=pending, expires=expires))
        return self.made[-1]

    def observe_many(self, outcomes: dict[str, dict[str, float]], *, partial: bool) -> None:
        if self.closed & outcomes.keys():
            raise InputError("a decision is closed")
        for id_, found in outcomes.items():
            self.agent.observe(id_, found, partial=partial)
            now = self.agent._clock()
            self.answered += [(now, id_, person) for person in found]


@pytest.fixture(scope="module")
def made() -> Network:
    return network()


def crowd_of(made: Network) -> tuple[Crowd, Direct, Clock]:
    clock = Clock()
    agent = Agent("ids-n", graph=made.graph(), prior=made.prior, seed=1, clock=clock)
    client: Any = Direct(agent)
    return Crowd(client, made.accepts, clock=clock), client, clock


# The network --------------------------------------------------------------------------------------


def test_the_network_is_the_same_every_time(made: Network) -> None:
    assert network() == made
    assert network(seed=8) != made


def test_people_have_unique_names_and_the_graph_has_all_of_them(made: Network) -> None:
    assert 60 <= len(made.people) <= 100
    assert len(set(made.people)) == len(made.people) == len(demo.NAMES)
    assert list(made.graph().nodes) == made.people == list(made.prior) == list(made.accepts)
    assert all(name.isalpha() and name.istitle() for name in made.people)


def test_one_in_ten_is_expected_to_accept_and_communities_differ(made: Network) -> None:
    means = {name: a / (a + b) for name, (a, b) in made.prior.items()}
    assert sum(means.values()) / len(means) == pytest.approx(0.1, abs=0.01)
    assert Counter(round(mean, 6) for mean in means.values()) == {
        accepted: size for size, accepted in CIRCLES
    }
    assert sum(made.accepts.values()) / len(means) == pytest.approx(0.1, abs=0.03)


# The crowd ----------------------------------------------------------------------------------------


def test_answers_are_late_partial_or_missing(made: Network) -> None:
    crowd, client, clock = crowd_of(made)
    for second in range(400):
        if second < 300:
            crowd.offer()
        for _ in range(4):
            crowd.answer()
            clock.now += 0.25
    asked = sum(len(one.reveals) for one in client.made)
    assert len(client.answered) / asked == pytest.approx(0.8, abs=0.03)
    time_of = {one.id: one.time.timestamp() for one in client.made}
    delays = sorted(when - time_of[id_] for when, id_, _ in client.answered)
    assert delays[0] < 1.0
    assert delays[len(delays) // 2] < 10.0
    assert 60.0 < delays[-1] < 76.0
    # each answer once
    assert len({(id_, person) for _, id_, person in client.answered}) == len(client.answered)
    status = client.agent.status()
    assert status["late"] == sum(delay >= 60.0 for delay in delays) > 10
    assert status["outcomes"] == len(delays) - status["late"]
    assert status["open"] == 0
    # complete decisions are closed by their last answer, the others expire
    found = Counter(id_ for _, id_, _ in client.answered)
    complete = sum(len(one.reveals) == found[one.id] for one in client.made)
    assert 0 < len(client.made) - status["expired"] <= complete


def test_a_minute_shows_open_late_and_expired_decisions(made: Network) -> None:
    crowd, client, clock = crowd_of(made)
    for _ in range(demo.WARM_UP):
        crowd.answer()
        crowd.offer(demo.SPEED)
        clock.now += demo.PACE / demo.SPEED
    first = client.agent.status()
    before = max(one.alpha for one in map(client.agent.beliefs().__getitem__, made.people))
    assert first["decisions"] == demo.WARM_UP
    assert first["open"] > 10
    assert min(first["expired"], first["late"]) > 0
    for _ in range(50):
        crowd.answer()
        crowd.offer()
        clock.now += demo.PACE
    after = max(one.alpha for one in map(client.agent.beliefs().__getitem__, made.people))
    assert after > 2 * before
    assert client.agent.health().warnings == ()


def test_an_answer_to_a_closed_decision_does_not_lose_the_others(made: Network) -> None:
    crowd, client, clock = crowd_of(made)
    for _ in range(3):
        crowd.offer()
    client.closed.add(client.made[1].id)
    clock.now += 59.0
    crowd.answer()
    assert {id_ for _, id_, _ in client.answered} == {client.made[0].id, client.made[2].id}


class Scripted:
    """A crowd whose decisions raise the given errors."""

    next = float("inf")

    def __init__(self, errors: dict[int, Exception], stop: threading.Event, last: int) -> None:
        self.errors, self.stop, self.last = errors, stop, last
        self.speeds = list[float]()

    def answer(self) -> None:
        pass

    def offer(self, speed: float) -> None:
        self.speeds.append(speed)
        if len(self.speeds) == self.last:
            self.stop.set()
        if len(self.speeds) in self.errors:
            raise self.errors[len(self.speeds)]


@pytest.fixture
def fast(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(demo, "PACE", 0.01)
    monkeypatch.setattr(demo, "WARM_UP", 5)


@pytest.mark.usefixtures("fast")
def test_the_first_decisions_are_fast_and_later_errors_are_passed_over() -> None:
    stop, warm = threading.Event(), threading.Event()
    errors: dict[int, Exception] = {7: StoreError("busy"), 8: InputError("all arms are paused")}
    crowd: Any = Scripted(errors, stop, last=10)
    simulate(crowd, stop, warm)
    assert crowd.speeds == [demo.SPEED] * 5 + [1.0] * 5
    assert warm.is_set()


@pytest.mark.usefixtures("fast")
def test_an_error_of_the_warm_up_is_raised() -> None:
    stop, warm = threading.Event(), threading.Event()
    crowd: Any = Scripted({2: InputError("no such agent")}, stop, last=10)
    with pytest.raises(InputError, match="no such agent"):
        simulate(crowd, stop, warm)
    assert not warm.is_set()


# The process --------------------------------------------------------------------------------------


def test_the_next_free_port_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as taken:
        taken.bind((demo.HOST, 0))
        taken.listen()
        port = taken.getsockname()[1]
        with socket.socket() as other:
            other.bind((demo.HOST, 0))
            free = other.getsockname()[1]
        monkeypatch.setattr(demo, "PORTS", [port, free])
        assert free_port() == free
        assert free_port(free) == free
        with pytest.raises(InputError, match=f"port {port} is not free"):
            free_port(port)
        monkeypatch.setattr(demo, "PORTS", [port])
        with pytest.raises(InputError, match="--port"):
            free_port()


def test_a_port_that_does_not_exist_is_refused() -> None:
    for port in [-1, 0, 65536, 10**20]:
        with pytest.raises(InputError, match=f"1 to 65535, not {port}"):
            free_port(port)


def test_signals_are_noted_and_handlers_restored() -> None:
    # a process in the background ignores some of them
    known = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]
    numbers = [one for one in known if signal.getsignal(one) is not signal.SIG_IGN]
    before = [signal.getsignal(number) for number in numbers]
    for number in numbers:
        with noted_signals() as signals:
            assert signals == []
            os.kill(os.getpid(), number)
            assert signals == [number]
    assert [signal.getsignal(number) for number in numbers] == before
