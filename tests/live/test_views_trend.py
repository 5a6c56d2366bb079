"""Tests of live/views.py: it has the numbers of the explanations, however it is read."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.agents import GRAPH, NAMES, Clock, events
from helpers.bad_input import refused
from hypothesis import given, settings
from hypothesis import strategies as st

from graphbandits import Agent
from graphbandits.errors import GraphBanditsError
from graphbandits.live import views as module
from graphbandits.live.views import MOST_POINTS

#: The warning of the prior at the first outcomes is another one.
pytestmark = pytest.mark.filterwarnings("ignore::graphbandits.errors.InputWarning")


def new(policy: str = "ids-n", **more: Any) -> Agent:
    arguments: dict[str, Any] = {
        "arms": NAMES,
        "graph": "star",
        "seed": 1,
        "clock": Clock(step=60.0),
    }
    return Agent(policy, **arguments | {"clock": Clock(step=60.0)} | more)


def answer(agent: Agent, made: Any, salt: int = 0) -> None:
    """Report all outcomes of a decision; they follow from its number."""
    rewards = {arm: (made.number * 7 + i + salt) % 3 % 2 for i, arm in enumerate(made.reveals)}
    agent.observe(made, rewards)


def expected(agent: Agent, first: int = 1) -> dict[str, list[Any]]:
    """Return the trend from the explanations of all decisions, one by one."""
    found: dict[str, list[Any]] = {
        key: [] for key in ("decision", "time", "regret", "cumulative", "ratio", "entropy")
    }
    rows = [row for row in agent.decisions(10**6) if row["number"] >= first]
    total = 0.0
    for row in reversed(rows):
        one = agent.explain(row["id"])
        total += one.regret or 0.0
        found["decision"].append(row["number"])
        found["time"].append(row["time"])
        found["regret"].append(one.regret)
        found["cumulative"].append(None if one.regret is None else total)
        found["ratio"].append(one.ratio)
        found["entropy"].append(one.entropy)
    return found


def check(agent: Agent, first: int = 1) -> dict[str, Any]:
    """Compare the trend with the explanations, and return it."""
    before = agent._current().digest()
    found, wanted = agent.trend(1000), expected(agent, first)
    assert agent._current().digest() == before
    assert found.pop("every") == 1
    for name in ("decision", "time"):
        assert found[name] == wanted[name]
    for name in ("regret", "cumulative", "ratio", "entropy"):
        assert [one is None for one in found[name]] == [one is None for one in wanted[name]]
        numbers = [[one for one in lists[name] if one is not None] for lists in (found, wanted)]
        assert numbers[0] == pytest.approx(numbers[1], rel=1e-12, abs=1e-15), name
    assert json.loads(json.dumps(found)) == found
    return found


# --- the numbers of the explanations ------------------------------------------------------------


AGENTS: list[dict[str, Any]] = [
    *({"policy": name} for name in ("ids-n", "ids-lp", "idsn-lp", "ids-n(gain=joint)")),
    {"floor": 0.1},
    {"posterior": "beta-bernoulli(discount=0.9)"},
    {"posterior": "beta-bernoulli(half_life=300)"},
    {"posterior": "normal(noise=0.5, discount=0.8)", "policy": "ts-n"},
    {"posterior": "gamma-poisson", "graph": "random(r=0.5)"},
]


def test_single_decisions_and_batches() -> None:
    for settings_ in AGENTS:
        agent = new(**settings_)
        for count in (1, 1, 1, 1, 4, 1, 3):
            for made in agent.decide(count):
                answer(agent, made)
        found = check(agent)
        assert len(set(found["regret"][4:8])) == 1, settings_
        if "policy" not in settings_:
            assert found["regret"][7] != found["regret"][8], settings_
        assert found["cumulative"] == sorted(found["cumulative"])
        assert math.isclose(found["cumulative"][-1], sum(found["regret"]))


def test_policies_without_a_posterior_or_probabilities() -> None:
    for policy in ("ucb-n", "exp3-ix", "uniform", "ts-n-sampled"):
        agent = new(policy)
        for _ in range(5):
            answer(agent, agent.decide())
        agent.decide(3)
        found = check(agent)
        assert found["regret"] == found["ratio"] == found["cumulative"] == [None] * 8, policy
        assert (found["entropy"] == [None] * 8) == (policy != "ts-n-sampled")


def test_batches_of_different_or_pending_decisions() -> None:
    agent = new("ts-n")
    for count in (4, 2, 3):
        answer(agent, agent.decide(count, distinct=True)[0])
    found = check(agent)
    assert len(set(found["entropy"][:4])) == 4
    assert found["entropy"][3] == found["regret"][3] == 0.0  # one arm is left
    agent = new("ts-n", graph="complete", prior=[(1, 1), (2, 1), (1, 3), (2, 2)])
    for count in (3, 2):
        agent.decide(count, pending="expected")
    agent.decide(2, pending="expected", distinct=True)
    assert len(set(check(agent)["regret"])) == 7


def test_every_event_and_other_policies() -> None:
    clock = Clock()
    agent = new("ts-n", graph=GRAPH, clock=clock)
    events(agent, clock)
    check(agent)
    first = agent.status()["decisions"]
    agent.set_policy("ucb-n", reset=True)
    answer(agent, agent.decide())
    agent.decide(2)
    agent.set_policy("ids-n", reset=True)
    answer(agent, agent.decide())
    found = check(agent)
    missing = [number for number, one in enumerate(found["regret"]) if one is None]
    assert missing == [first, first + 1, first + 2]
    assert found["ratio"][first] is found["cumulative"][first] is found["entropy"][first] is None


def test_an_agent_without_decisions() -> None:
    agent = new()
    nothing = {"decision": [], "time": [], "regret": [], "cumulative": [], "ratio": []}
    assert agent.trend() == nothing | {"entropy": [], "every": 1}
    agent.learn({"ann": 1})
    assert agent.trend()["decision"] == []


# --- reading ------------------------------------------------------------------------------------


def steps(agent: Agent, number: int) -> None:
    """Do one of several things to an agent."""
    kind = number % 7
    if kind == 0:
        agent.decide(3)
    elif kind == 1:
        agent.decide(2, distinct=True, pending="expected")
    elif kind == 2 and agent.pending:
        agent.observe(agent.pending[0], {"ann": number % 2}, partial=True, extra=True)
    elif kind == 3:
        for id_ in agent.pending:
            agent.close(id_)
    elif kind == 4:
        agent.learn({"bob": (1, 3)})
    elif kind == 5:
        agent.decide(expires=100.0)
    else:
        answer(agent, agent.decide())


@given(st.lists(st.integers(0, 6), max_size=25), st.sets(st.integers(0, 24)), st.booleans())
@settings(max_examples=25, deadline=None)
def test_reading_again_is_reading_once(
    numbers: list[int], looks: set[int], at_the_end: bool
) -> None:
    now = 1e9  # reading looks at the clock, too
    agent, other = new(clock=lambda: now), new(clock=lambda: now)
    for i, number in enumerate(numbers):
        now = 1e9 + 60.0 * i
        steps(agent, number)
        steps(other, number)
        if i in looks:
            agent.trend()
            agent.find_arms()
    if at_the_end:
        agent.trend()
    assert agent.trend() == agent.trend() == other.trend()
    assert agent._current().digest() == agent._replayed(agent._state.number).digest()
    assert agent.find_arms() == other.find_arms()
    wanted = {row["arm"]: row for row in agent.overview()["arms"]}
    assert {row["arm"]: row for row in agent.find_arms()[0]} == wanted


def test_reading_again_reads_only_what_is_new(monkeypatch: pytest.MonkeyPatch) -> None:
    agent, calls = new(), []
    explain = module.explain

    def counted(*args: Any) -> Any:
        calls.append(args[1][-1].decision)
        return explain(*args)

    monkeypatch.setattr(module, "explain", counted)
    for _ in range(5):
        answer(agent, agent.decide())
    agent.decide(50)
    agent.trend()
    assert calls == [1, 2, 3, 4, 5, 6]  # a batch with the same numbers needs one explanation
    agent.trend()
    agent.find_arms()
    answer(agent, agent.decide())
    agent.neighbourhood()
    agent.trend()
    assert calls == [1, 2, 3, 4, 5, 6, 56]


# --- entries that were removed ------------------------------------------------------------------


def test_an_agent_in_memory_whose_prior_cannot_be_stored_shares_no_arrays() -> None:
    class Own(type(Agent("ts-n", 3).posterior)):  # type: ignore[misc]
        """A prior that is not registered."""

    own = Own(np.ones(4), np.ones(4))
    clock = Clock(step=60.0)
    agent, other = (new(posterior=own, clock=clock) for _ in range(2))
    for one in (agent, other):
        for _ in range(5):
            answer(one, one.decide())
        one.forget(clock.now + 1)
    for number in range(6):
        if number != 3:
            agent.trend()
        for one in (agent, other):
            answer(one, one.decide(), salt=1)
        agent.learn({"joe": (1, 2)})
        other.learn({"joe": (1, 2)})
    assert agent.trend()["decision"] == list(range(6, 12))
    assert agent.state == other.state
    for name, array in agent._state.policy_state.items():
        for record in agent._records.values():
            assert not np.shares_memory(array, record._state.policy_state[name])


def test_the_agent_at_an_earlier_time() -> None:
    agent = new()
    for _ in range(6):
        answer(agent, agent.decide())
    whole = agent.trend()
    past = agent.at(agent.decision(agent.decisions(2)[1]["id"]).time)
    assert check(past) == {name: whole[name][:5] for name in whole if name != "every"}


def test_a_store_that_was_restored_from_an_older_copy(tmp_path: Path) -> None:
    place = tmp_path / "agents.db"
    agent = new(store=place)
    for _ in range(3):
        answer(agent, agent.decide())
    agent.backup(tmp_path / "copy.db")
    for _ in range(3):
        answer(agent, agent.decide())
    assert len(check(agent)["decision"]) == 6
    agent.disconnect()
    for path in tmp_path.glob("agents.db*"):
        path.unlink()
    (tmp_path / "copy.db").rename(place)
    assert len(check(agent)["decision"]) == 3
    for _ in range(5):
        answer(agent, agent.decide(), salt=1)
    assert len(check(agent)["decision"]) == 8


def raises_at_3(error: BaseException) -> Callable[..., Any]:
    """Return a function that explains decisions, and raises an error at the third one."""
    explain = module.explain

    def explained(*args: Any) -> Any:
        if args[1][-1].decision == 3:
            raise error
        return explain(*args)

    return explained


def test_errors_of_one_decision_and_interrupts(monkeypatch: pytest.MonkeyPatch) -> None:
    """The other decisions have their values; after an interrupt, reading starts again."""
    agent, other = new(), new()
    for one in (agent, other):
        for _ in range(5):
            answer(one, one.decide())
    with monkeypatch.context() as patch:
        patch.setattr(module, "explain", raises_at_3(GraphBanditsError("a plug-in")))
        found, wanted = agent.trend(), expected(agent)
        patch.undo()
        patch.setattr(module, "explain", raises_at_3(KeyboardInterrupt()))
        with pytest.raises(KeyboardInterrupt):
            other.trend()
    check(other)
    assert found["regret"][2] is found["cumulative"][2] is found["entropy"][2] is None
    for name in ("regret", "entropy"):
        for place in (0, 1, 3, 4):
            assert found[name][place] == pytest.approx(wanted[name][place])


# --- many decisions -----------------------------------------------------------------------------


def many(counts: list[int]) -> Agent:
    """Return an agent with requests for so many decisions."""
    agent = new("ts-n")
    for number, count in enumerate(counts):
        made = agent.decide(count)
        if number % 5 == 0:
            agent.observe(made[0], {made[0].arm: number % 2})
    return agent


@pytest.mark.parametrize(
    ("counts", "every"), [([1] * 400, 1), ([401], 2), ([1000, 3] * 3, 8), ([7] * 170, 4)]
)
def test_decisions_at_equal_distances_stand_for_the_others(counts: list[int], every: int) -> None:
    agent = many(counts)
    total = sum(counts)
    found = agent.trend(1000)
    assert found["every"] == every
    numbers = found["decision"]
    assert numbers == list(range(1, total + 1, every))[: len(numbers)]
    assert total - numbers[-1] < every
    assert MOST_POINTS / 2 <= len(numbers) <= MOST_POINTS
    rows = {row["number"]: row["id"] for row in agent.decisions(total)}
    for i in (0, 1, len(numbers) // 2, -1):
        one = agent.explain(rows[numbers[i]])
        for name in ("regret", "entropy", "ratio"):
            assert found[name][i] == pytest.approx(getattr(one, name), rel=1e-12)
    assert len(numbers) == len(found["time"]) == len(found["cumulative"])
    assert found["cumulative"] == sorted(found["cumulative"])


def test_left_out_decisions_count_with_their_regret() -> None:
    agent = many([3] * 300)
    ids = [row["id"] for row in agent.decisions(900)][::-1]
    wanted = np.cumsum([agent.explain(id_, 1).regret for id_ in ids[::3]]).tolist()
    found = agent.trend(1000)
    assert found["every"] == 4
    for number, cumulative in zip(found["decision"], found["cumulative"], strict=True):
        request, place = divmod(number - 1, 3)
        exact = 3 * (wanted[request - 1] if request else 0.0)
        exact += (place + 1) * (wanted[request] - (wanted[request - 1] if request else 0.0))
        if number <= 400:
            assert cumulative == pytest.approx(exact, rel=1e-9)
        assert cumulative == pytest.approx(exact, rel=2e-3)


def test_fewer_points_are_at_equal_distances_and_have_the_last_one() -> None:
    agent = many([1] * 450)
    whole = agent.trend(1000)
    for points in (1, 2, 3, 50, 200, 224, 225, 226, 1000):
        found = agent.trend(points)
        step = found["every"] // whole["every"]
        assert 1 <= len(found["decision"]) <= points
        for name in ("decision", "time", "regret", "cumulative", "ratio", "entropy"):
            assert found[name] == whole[name][::-1][::step][::-1]
    assert agent.trend() == agent.trend(200)


def test_thinning_does_not_depend_on_when_it_is_read() -> None:
    often, once = new("ts-n"), new("ts-n")
    for number in range(120):
        for agent in (often, once):
            agent.decide(1 + number % 9)
        if number % 7 == 0:
            often.trend()
    assert often.trend() == once.trend()


def test_bad_input() -> None:
    for points in (0, -1, 1.5, "3", True, None):
        refused(lambda points=points: new().trend(points), "points")  # type: ignore[misc]
