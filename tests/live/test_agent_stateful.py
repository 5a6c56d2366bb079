"""All operations of an agent in random order, compared with a simple model of its promises."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from graphbandits import Agent, InputError

FIRST_ARMS = ["ann", "bob", "eve"]
#: Directed: bob reveals eve, but not the other way round.
GRAPH = "edges(1-2 2>3)"
LIFETIME = 100.0


@dataclass
class Made:
    """What the model knows of a decision."""

    arm: str
    reveals: set[str]
    expires: float
    closed: str = ""
    seen: dict[str, int] = field(default_factory=dict)
    late: dict[str, int] = field(default_factory=dict)


class AgentMachine(RuleBasedStateMachine):
    """An agent, or two handles of one agent in a store, beside a model."""

    stored = False

    def __init__(self) -> None:
        super().__init__()
        self.now = 1000.0
        self.directory = tempfile.TemporaryDirectory() if self.stored else None
        self.turn = 0

    @initialize(policy=st.sampled_from(["ids-n", "ts-n", "greedy", "ts"]))
    def create(self, policy: str) -> None:
        options: dict[str, Any] = {"expires": LIFETIME, "clock": lambda: self.now}
        if self.directory is not None:
            options["store"] = str(Path(self.directory.name, "agents.db"))
        self.agents = [Agent(policy, FIRST_ARMS, GRAPH, seed=1, **options)]
        if self.directory is not None:
            self.agents.append(Agent(store=options["store"], clock=lambda: self.now))
        self.own = policy == "ts"
        self.made: dict[str, Made] = {}
        self.arms = list(FIRST_ARMS)
        self.paused, self.retired = set[str](), set[str]()
        self.a = dict.fromkeys(self.arms, 1)
        self.b = dict.fromkeys(self.arms, 1)
        self.counts = {"outcomes": 0, "late": 0, "learned": 0, "expired": 0}
        self.keys = set[str]()

    @property
    def agent(self) -> Agent:
        """The handles take turns."""
        self.turn += 1
        return self.agents[self.turn % len(self.agents)]

    def teardown(self) -> None:
        for agent in getattr(self, "agents", []):
            agent.verify()
            agent.disconnect()
        if self.directory is not None:
            self.directory.cleanup()

    def active(self) -> set[str]:
        return set(self.arms) - self.paused - self.retired

    def learn_one(self, arm: str, value: int) -> None:
        (self.a if value else self.b)[arm] += 1

    def expire(self) -> None:
        for one in self.made.values():
            if not one.closed and one.expires <= self.now:
                one.closed = "expired"
                self.counts["expired"] += 1

    # Rules ----------------------------------------------------------------------------------------

    @rule(n=st.integers(1, 3), distinct=st.booleans(), pending=st.booleans(), data=st.data())
    def decide(self, n: int, distinct: bool, pending: bool, data: st.DataObject) -> None:
        among = data.draw(st.none() | st.sets(st.sampled_from(self.arms)))
        allowed = self.active() if among is None else self.active() & among
        options: dict[str, Any] = {"distinct": distinct, "among": among}
        options["pending"] = "expected" if pending else "ignore"
        if not allowed or (distinct and n > len(allowed)):
            with pytest.raises(InputError):
                self.agent.decide(n, **options)
            return
        made = self.agent.decide(n, **options)
        self.expire()
        assert len(made) == n
        for one in made:
            assert one.id not in self.made
            assert one.arm in allowed
            assert one.pi is not None
            assert set(one.pi) <= allowed
            assert abs(sum(one.pi.values()) - 1.0) < 1e-9
            self.made[one.id] = Made(str(one.arm), set(map(str, one.reveals)), self.now + LIFETIME)
        if distinct:
            assert len({one.arm for one in made}) == n

    @rule(data=st.data(), partial=st.booleans(), extra=st.booleans())
    def observe(self, data: st.DataObject, partial: bool, extra: bool) -> None:
        if not self.made:
            return
        id_ = data.draw(st.sampled_from(sorted(self.made)))
        names = st.sampled_from(self.arms)
        given = data.draw(st.dictionaries(names, st.integers(0, 1), max_size=3))
        self.expire()  # the agent does so before it looks at the outcomes
        one = self.made[id_]
        known = one.seen | one.late
        conflict = any(arm in known and known[arm] != value for arm, value in given.items())
        new = {arm: value for arm, value in given.items() if arm not in known}
        outside = {arm for arm in new if arm not in one.reveals}
        late = one.closed in ("expired", "reset")
        refused = conflict or (new and one.closed and not late)
        refused = refused or (not one.closed and outside and not extra)
        before = self.agent.state
        if refused:
            with pytest.raises(InputError):
                self.agent.observe(id_, given, partial=partial, extra=extra)
            assert self.agent.state == before
            return
        self.agent.observe(id_, given, partial=partial, extra=extra)
        if late:
            one.late |= new
            self.counts["late"] += len(new)
            return
        if one.closed:
            return
        one.seen |= new
        self.counts["outcomes"] += len(new)
        for arm, value in new.items():
            if arm in outside or not self.own or arm == one.arm:
                self.learn_one(arm, value)
        if not partial:
            one.closed = "observed"

    @rule(data=st.data())
    def close(self, data: st.DataObject) -> None:
        if self.made:
            id_ = data.draw(st.sampled_from(sorted(self.made)))
            self.agent.close(id_)
            self.expire()
            self.made[id_].closed = self.made[id_].closed or "closed"

    @rule(seconds=st.sampled_from([1.0, 30.0, 101.0]))
    def wait(self, seconds: float) -> None:
        self.now += seconds
        self.expire()

    @rule(data=st.data(), key=st.none() | st.sampled_from(["x", "y"]))
    def learn(self, data: st.DataObject, key: str | None) -> None:
        arm = data.draw(st.sampled_from(self.arms))
        learned = self.agent.learn({arm: (2, 5)}, key=key)
        self.expire()
        if key in self.keys:
            assert learned == 0
            return
        assert learned == 5
        self.counts["learned"] += 5
        self.a[arm] += 2
        self.b[arm] += 3
        if key is not None:
            self.keys.add(key)

    @rule(data=st.data(), kind=st.sampled_from(["pause", "resume", "retire"]))
    def change_arms(self, data: st.DataObject, kind: str) -> None:
        arm = data.draw(st.sampled_from(self.arms))
        if arm in self.retired and kind != "retire":
            with pytest.raises(InputError, match="is retired"):
                getattr(self.agent, kind)(arm)
            return
        getattr(self.agent, kind)(arm)
        self.expire()
        if kind == "pause":
            self.paused.add(arm)
        elif kind == "resume":
            self.paused.discard(arm)
        else:
            self.retired.add(arm)

    @rule(data=st.data())
    def add_arm(self, data: st.DataObject) -> None:
        if len(self.arms) > 5:
            return
        name = f"new{len(self.arms)}"
        neighbours = data.draw(st.sets(st.sampled_from(self.arms), max_size=2))
        self.agent.add_arm(name, prior=(2, 3), edges=sorted(neighbours))
        self.expire()
        self.arms.append(name)
        self.a[name], self.b[name] = 2, 3

    @rule(policy=st.sampled_from(["ids-lp", "ts-n", "greedy"]))
    def set_policy(self, policy: str) -> None:
        self.agent.set_policy(policy)
        self.expire()
        self.own = False

    @rule()
    def set_graph(self) -> None:
        self.agent.set_graph("complete")
        self.expire()

    @rule()
    def reset(self) -> None:
        self.agent.reset()
        self.expire()
        for one in self.made.values():
            one.closed = one.closed or "reset"
        self.keys.clear()
        for arm in self.arms:
            new = arm not in FIRST_ARMS
            self.a[arm], self.b[arm] = (2, 3) if new else (1, 1)

    @rule()
    def maintain(self) -> None:
        self.agent.compact()

    @rule()
    def unknown_ids_are_refused(self) -> None:
        for id_ in ("1-000000000000", "0", "", "999-abc", "x"):
            with pytest.raises(InputError, match="unknown decision"):
                self.agent.observe(id_, {})

    # Promises -------------------------------------------------------------------------------------

    @invariant()
    def the_agent_agrees_with_the_model(self) -> None:
        if not hasattr(self, "made"):
            return
        for agent in self.agents:
            assert agent.state == {"a": self.a, "b": self.b}
            status = agent.status()
            assert status["decisions"] == len(self.made)
            assert {name: status[name] for name in self.counts} == self.counts
            assert status["paused"] == [arm for arm in self.arms if arm in self.paused]
            assert status["retired"] == [arm for arm in self.arms if arm in self.retired]
            assert list(agent.pending) == [i for i, one in self.made.items() if not one.closed]


class StoredAgentMachine(AgentMachine):
    """Two handles of one agent in a file."""

    stored = True


CHECKS = [HealthCheck.too_slow, HealthCheck.filter_too_much]
AgentMachine.TestCase.settings = settings(
    max_examples=40,
    stateful_step_count=30,
    deadline=None,
    derandomize=True,
    suppress_health_check=CHECKS,
)
StoredAgentMachine.TestCase.settings = settings(
    max_examples=15,
    stateful_step_count=25,
    deadline=None,
    derandomize=True,
    suppress_health_check=CHECKS,
)


class TestAgentInMemory(AgentMachine.TestCase):
    """The machine in memory."""


class TestAgentInAStore(StoredAgentMachine.TestCase):
    """The machine with a store."""
