"""Tests of live/decision.py: every number of an explanation, and that it never changes.

Graphs are directed and priors asymmetric, so that no two arms and no two directions are confused.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest
from helpers.agents import GRAPH, NAMES, Clock, events
from helpers.bad_input import refused
from helpers.recorded_runs import able
from rich.console import Console

from graphbandits import Agent, Decision, Explanation, inspect_decision
from graphbandits.policies import as_policy

PRIOR = [(1.0, 3.0), (4.0, 2.0), (2.0, 2.0), (5.0, 4.0)]
#: As GRAPH, with entries 0 and 1 only.
EDGES = (GRAPH > 0.0).astype(float)


def agent_of(policy: str = "ids-n", **more: Any) -> Agent:
    given: dict[str, Any] = {"graph": GRAPH, "seed": 1, "prior": PRIOR, "horizon": 100}
    return Agent(policy, NAMES, **given | more)


def answer(agent: Agent, decision: Decision) -> None:
    """Observe rewards that depend on the arm and the number of the decision."""
    rewards = {
        arm: (len(str(arm)) * 7 + ord(str(arm)[0]) + decision.number * 3) % 5 % 2
        for arm in decision.reveals
    }
    agent.observe(decision, rewards)


def two_mixed(**more: Any) -> tuple[Agent, Decision]:
    """Return an agent whose last decision mixes two arms."""
    agent = agent_of(**more)
    for _ in range(60):
        made = agent.decide()
        if made.pi is not None and len(made.pi) == 2:
            return agent, made
        answer(agent, made)
    raise AssertionError("no decision mixes two arms")


def pairs(agent: Agent) -> list[tuple[float, float]]:
    state = agent.state
    return [(state["a"][arm], state["b"][arm]) for arm in agent.arms]


def by_arm(values: Iterable[Any], names: Iterable[Any] = NAMES) -> dict[Any, Any]:
    return dict(zip(names, values, strict=True))


def column(found: Explanation, name: str) -> dict[Any, Any]:
    return {one.arm: getattr(one, name) for one in found.arms}


# Numbers ------------------------------------------------------------------------------------------


def check_numbers(policy: str) -> None:
    """Compare the explanations of some decisions with :func:`inspect_decision`."""
    agent = agent_of(policy)
    for _ in range(4):
        posterior = pairs(agent)
        made = agent.decide()
        found = agent.explain(made)
        strict = inspect_decision(posterior, GRAPH)
        joint = "joint" in policy
        gain, pi = strict.gain["joint" if joint else "bound"], strict.pi[policy]
        columns = {"alpha": strict.alpha, "delta": strict.delta, "h": strict.h, "gain": gain}
        for name, wanted in columns.items():
            assert column(found, name) == pytest.approx(by_arm(wanted), abs=1e-9), policy
        assert column(found, "probability") == pytest.approx(by_arm(pi), abs=1e-7)
        ratios = strict.joint_ratio if joint else strict.ratio
        assert ratios is not None
        assert found.ratio == pytest.approx(ratios[policy], abs=1e-7)
        assert found.rho == pytest.approx(strict.rho, abs=1e-9)
        entropy = -sum(p * math.log(p) for p in strict.alpha)
        assert found.entropy == pytest.approx(entropy, abs=1e-8)
        assert found.regret == pytest.approx(np.dot(pi, strict.delta), abs=1e-7)
        assert found.information == pytest.approx(np.dot(pi, gain), abs=1e-7)
        means = [a / (a + b) for a, b in posterior]
        assert column(found, "mean") == pytest.approx(by_arm(means))
        assert column(found, "state") == by_arm({"a": a, "b": b} for a, b in posterior)
        assert column(found, "reveals") == by_arm(
            {other: p for other, p in zip(NAMES, row.tolist(), strict=True) if p > 0.0}
            for row in GRAPH
        )
        assert found.arms[0].arm == made.arm
        assert (found.eligible, found.total, found.others, found.reproduced) == (4, 4, 0, True)
        answer(agent, made)


def test_numbers_are_those_of_an_independent_inspection() -> None:
    for policy in ("ids-n", "idsn-lp", "ids-lp", "ts-n", "ids-n(gain=joint)"):
        check_numbers(policy)


def test_gain_of_other_policies() -> None:
    """Without a graph it is that of the own outcome; it may be a variance."""
    for policy in ("ids", "ts", "bayes-ucb"):
        agent = agent_of(policy)
        found = agent.explain(agent.decide())
        assert column(found, "gain") == column(found, "h"), policy
        assert "(h)" in str(found.gain)
    strict = inspect_decision(PRIOR, GRAPH)
    assert strict.v is not None
    for policy, gain in (("v-ids", strict.v), ("v-ids-n", (GRAPH @ strict.v).tolist())):
        agent = agent_of(policy)
        found = agent.explain(agent.decide())
        assert column(found, "gain") == pytest.approx(by_arm(gain), abs=1e-9)
        assert column(found, "h") == pytest.approx(by_arm(strict.h), abs=1e-9)
        assert "nats" not in found.text.splitlines()[1]


def test_statistics_are_those_of_the_arms_that_could_be_played() -> None:
    agent = agent_of()
    agent.pause("bob")
    made = agent.decide(exclude=["ann"])
    found = agent.explain(made)
    part = [2, 3]
    strict = inspect_decision([PRIOR[i] for i in part], GRAPH[np.ix_(part, part)])
    names = [NAMES[i] for i in part]
    assert column(found, "alpha") == pytest.approx(by_arm(strict.alpha, names), abs=1e-9)
    gain = strict.gain["bound"]
    assert column(found, "gain") == pytest.approx(by_arm(gain, names), abs=1e-9)
    # arms that may not be played can be observed
    assert column(found, "reveals")["eve"] == {"ann": 0.75, "eve": 1.0, "joe": 1.0}
    assert (found.eligible, found.total) == (2, 4)
    assert "2 of 4 arms could be played" in found.text
    agent.retire("joe")
    found = agent.explain(agent.decide())
    assert "joe" not in column(found, "reveals")
    assert column(found, "reveals")["eve"] == {"ann": 0.75, "eve": 1.0}


def test_expected_outcomes_count_as_in_the_decision() -> None:
    agent = agent_of()
    agent.decide(among=["eve"])
    one, two = (agent.explain(made) for made in agent.decide(2, pending="expected"))
    # eve is open and reveals ann with 0.75, eve and joe
    weights = np.array([0.75, 0.0, 1.0, 1.0])
    for found in (one, two):
        expected = [
            (a + w * a / (a + b), b + w * b / (a + b))
            for (a, b), w in zip(PRIOR, weights, strict=True)
        ]
        strict = inspect_decision(expected, GRAPH)
        assert column(found, "alpha") == pytest.approx(by_arm(strict.alpha), abs=1e-9)
        assert "expectation" in found.notes[0]
        weights = weights + GRAPH[NAMES.index(str(one.decision.arm))]
    plain = agent.explain(agent.decide())
    strict = inspect_decision(PRIOR, GRAPH)
    assert column(plain, "alpha") == pytest.approx(by_arm(strict.alpha), abs=1e-9)
    assert all(one.reproduced for one in (one, two, plain))


def test_distinct_batch_leaves_out_earlier_arms() -> None:
    agent = agent_of("ts-n")
    made = agent.decide(3, distinct=True)
    for place, one in enumerate(made):
        found = agent.explain(one)
        left = [i for i, arm in enumerate(NAMES) if arm not in {d.arm for d in made[:place]}]
        strict = inspect_decision([PRIOR[i] for i in left], "empty")
        wanted = by_arm(strict.alpha, [NAMES[i] for i in left])
        assert column(found, "alpha") == pytest.approx(wanted, abs=1e-9)
        assert found.reproduced
    assert "2 earlier decisions" in found.text
    agent = agent_of("ts-n")
    explained = [agent.explain(one) for one in agent.decide(5)]
    assert len({tuple(sorted(column(one, "probability").items())) for one in explained}) == 1
    assert all(one.reproduced and one.eligible == 4 for one in explained)


def test_graph_of_a_decision_is_used() -> None:
    agent = agent_of()
    found = agent.explain(agent.decide(graph=EDGES.T))
    strict = inspect_decision(PRIOR, EDGES.T)
    gain = strict.gain["bound"]
    assert column(found, "gain") == pytest.approx(by_arm(gain), abs=1e-9)
    assert column(found, "reveals")["joe"] == {"eve": 1.0, "joe": 1.0}


def test_discounted_posterior_is_that_of_the_time_of_the_decision() -> None:
    now = 1000.0
    agent = agent_of(posterior="beta-bernoulli(half_life=100)", clock=lambda: now)
    agent.learn({"ann": (8, 10)})
    now = 1100.0
    made = agent.decide()
    now = 5000.0
    found = agent.explain(made)
    assert column(found, "state")["ann"] == pytest.approx({"a": 1.0 + 4.0, "b": 3.0 + 1.0})
    strict = inspect_decision([(5.0, 4.0), *PRIOR[1:]], GRAPH)
    assert column(found, "alpha") == pytest.approx(by_arm(strict.alpha), abs=1e-9)


# The same numbers later ---------------------------------------------------------------------------


def explanations(agent: Agent, clock: Clock) -> dict[str, dict[str, Any]]:
    """Make decisions of all kinds among changes of all kinds; return the explanations at once."""
    found: dict[str, dict[str, Any]] = {}

    def keep(one: Decision) -> None:
        found[one.id] = agent.explain(one).to_dict()
        clock.now += 3600.0

    events(agent, clock, keep)
    for one in agent.decide(2, distinct=True, pending="expected"):
        keep(one)
    for policy in ("idsn-lp", "ts-n-sampled", "ucb-n", "exp3-ix", "ids-n"):
        agent.set_policy(policy, reset=True)
        for _ in range(2):
            made = agent.decide()
            keep(made)
            answer(agent, made)
    assert all(one["reproduced"] for one in found.values())
    return found


def test_explanation_is_the_same_years_later(tmp_path: Path) -> None:
    clock, place = Clock(), tmp_path / "agents.db"
    agent = agent_of(posterior="beta-bernoulli(half_life=7200)", clock=clock, store=place)
    found = explanations(agent, clock)
    clock.now += 1e8
    answer(agent, agent.decide())
    again = Agent(store=place, clock=clock)
    assert {id_: again.explain(id_).to_dict() for id_ in found} == found
    agent.compact()  # the newest snapshot is at the end
    again = Agent(store=place)
    assert {id_: again.explain(id_).to_dict() for id_ in found} == found
    assert {id_: agent.explain(id_).to_dict() for id_ in found} == found


def test_explanation_is_the_same_in_memory_and_after_forget() -> None:
    clock = Clock()
    agent = agent_of(clock=clock)
    found = explanations(agent, clock)
    assert {id_: agent.explain(id_).to_dict() for id_ in found} == found
    kept = list(found)[8:]
    assert agent.forget(agent.decision(kept[0]).time)
    assert {id_: agent.explain(id_).to_dict() for id_ in kept} == {id_: found[id_] for id_ in kept}
    gone = next(iter(found))
    refused(lambda: agent.explain(gone), gone)


def test_other_probabilities_than_the_recorded_ones_are_reported() -> None:
    agent, made = two_mixed()
    assert agent.explain(made).reproduced
    journal: Any = agent._journal
    entry = journal.of_decision(made.number)[0]
    data = bytearray(entry.data)
    chances = np.array(list((made.pi or {}).values())) + np.array([0.01, -0.01])
    data[1 + 8 :] = chances.tobytes()
    journal._by_decision[made.number][0] = entry._replace(data=bytes(data))
    found = agent.explain(made)
    assert not found.reproduced
    assert "Not reproduced" in found.text
    assert "0.01" in found.notes[-1]
    assert sorted(p for p in column(found, "probability").values() if p) == sorted(chances)


def test_another_arm_than_the_recorded_one_is_reported() -> None:
    agent = agent_of("ts-n-sampled")
    made = agent.decide()
    journal: Any = agent._journal
    entry = journal.of_decision(made.number)[0]
    other = (NAMES.index(str(made.arm)) + 1) % 4
    journal._by_decision[made.number][0] = entry._replace(body=entry.body | {"arm": other})
    assert "gives another arm" in agent.explain(made.id).text


# Every policy -------------------------------------------------------------------------------------


def test_every_policy_can_be_explained() -> None:
    for policy in able(EDGES, 4, 100):
        agent = agent_of(policy, graph=EDGES)
        for _ in range(2):
            made = agent.decide()
            found = agent.explain(made)
            assert found.reproduced, policy
            assert found.decision.arm == made.arm
            values = found.to_dict()
            assert json.loads(json.dumps(values, allow_nan=False)) == values
            assert column(found, "reveals")[made.arm] == made.reveals
            if as_policy(policy).exact:
                pi = made.pi or {}
                assert column(found, "probability") == {arm: pi.get(arm, 0.0) for arm in NAMES}
            else:
                assert set(column(found, "probability").values()) == {None}
                assert "draws the arm itself" in found.text
            if found.gain is None:
                assert "has no posterior" in found.text
                state = agent.state
                own = [{name: state[name][arm] for name in state} for arm in NAMES]
                assert column(found, "state") == by_arm(own), policy
                table = printed(found)
                assert "gain" not in table
                assert all(name in table for name in state), policy
                refused(found.figure, "no posterior")
            answer(agent, made)


def test_index_is_that_of_the_policy() -> None:
    agent = agent_of("ucb-n")
    first = agent.explain(agent.decide(among=["eve"]))
    assert set(column(first, "index").values()) == {None}  # never observed
    agent.learn({"ann": (1, 2), "bob": (3, 4), "eve": (1, 4)})
    found = agent.explain(agent.decide())
    t = found.decision.number
    wanted = {
        arm: total / count + math.sqrt(2.0 * math.log(t) / count)
        for arm, total, count in (("ann", 1, 2), ("bob", 3, 4), ("eve", 1, 4))
    }
    assert column(found, "index") == pytest.approx(wanted | {"joe": None})


# Words --------------------------------------------------------------------------------------------


def test_text_has_the_numbers_of_the_dict() -> None:
    agent, made = two_mixed()
    found = agent.explain(made)
    values = found.to_dict()
    lines = found.text.splitlines()
    assert f"{values['arm']} was drawn with probability {values['probability']:.3g}" in lines[0]
    for line, one in zip(lines[1:], values["arms"], strict=False):
        percent = re.search(r"([\d.]+) % likely the best", line)
        assert percent
        assert float(percent[1]) == pytest.approx(100 * one["alpha"], abs=0.5)
        assert f"costs {one['delta']:.3g} in expectation" in line
        assert f"gains {one['gain']:.3g} nats" in line
        for other, p in one["reveals"].items():
            shown = other if p == 1.0 else f"{other} ({p:.3g})"
            assert (shown in line.partition("also shows")[2]) == (other != one["arm"])
    second = values["arms"][1]
    assert lines[2].startswith(f"Mixed with {second['arm']} ({second['probability']:.3g}): ")
    assert lines[3].startswith("Not drawn: ")
    assert all(f"{values[key]:.3g}" in lines[5] for key in ("regret", "ratio", "entropy"))
    assert values["text"] == found.text == str(found)


def printed(found: Explanation) -> str:
    """Return the table in a wide terminal."""
    console = Console(width=200)
    with console.capture() as captured:
        console.print(found)
    return captured.get()


def test_table_has_the_numbers() -> None:
    agent, made = two_mixed()
    found = agent.explain(made)
    shown = printed(found)
    for one in found.arms:
        [row] = [line for line in shown.splitlines() if line.strip().startswith(f"{one.arm} ")][-1:]
        for value in (one.probability, one.delta, one.gain, one.mean):
            assert f"{value:.3g}" in row.split()
    assert shown.splitlines()[0].strip() == found.text.splitlines()[0]
    assert "exploration" not in shown
    agent = Agent("ids-n", ["[red]a[/red]", "$b$"], "complete", seed=1)
    found = agent.explain(agent.decide())
    assert "[red]a[/red]" in printed(found)  # names are not markup
    found.figure()


def test_of_many_arms_the_most_relevant_are_listed() -> None:
    count, rng = 3000, np.random.default_rng(1)
    prior = [(float(a), float(b)) for a, b in rng.uniform(1.0, 6.0, (count, 2))]
    graph = nx.random_regular_graph(4, count, seed=1)
    graph.add_edges_from((7, other) for other in range(100, 140))
    agent = Agent("ids-n", graph=graph, prior=prior, seed=1)
    made = agent.decide(among=[7])
    found = agent.explain(made)
    assert (found.others, found.eligible, found.total) == (0, 1, count)
    assert len(found.arms[0].reveals) == 11
    assert 7 in found.arms[0].reveals
    assert found.arms[0].reveals_more + 11 == len(made.reveals)
    made = agent.decide()
    found = agent.explain(made)
    listed = [one.arm for one in found.arms]
    assert (len(listed), listed[0], found.others) == (5, made.arm, count - 5)
    assert f"{count - 5} more arms" in found.text
    assert set(made.pi or {}) <= set(listed)
    beliefs = agent.beliefs()
    assert beliefs.arms[beliefs.alpha.argmax()] in listed
    assert len(agent.explain(made, arms=1).arms) == 1


# Figure -------------------------------------------------------------------------------------------


def test_frontier_is_the_lower_right_hull() -> None:
    agent = agent_of("ts-n")
    for _ in range(5):
        found = agent.explain(agent.decide())
        assert found.points is not None
        gain, delta = np.array(found.points.gain), np.array(found.points.delta)
        # an arm is a vertex if some weight of the gain makes it the only best one
        weights = np.concatenate([[1e-9], np.geomspace(1e-6, 1e6, 200_001)])
        best = np.argmin(delta[:, None] - weights * gain[:, None], axis=0)
        assert {found.points.arms[i] for i in best} == set(found.frontier)
        answer(agent, found.decision)
    agent, made = two_mixed()
    places = [agent.explain(made).frontier.index(arm) for arm in made.pi or {}]
    assert abs(places[0] - places[1]) == 1  # neighbours


def test_figure_has_the_arms_the_hull_and_the_mixture() -> None:
    agent, made = two_mixed()
    found = agent.explain(made)
    axes = found.figure().axes[0]
    drawn = {one.get_gid(): one.get_offsets().tolist() for one in axes.collections}
    listed = {one.arm: [one.gain, one.delta] for one in found.arms}
    mixed = sorted(listed[arm] for arm in made.pi or {})
    assert sorted(drawn["drawn"]) == mixed
    assert sorted(drawn["others"] + drawn["drawn"]) == sorted(listed.values())
    assert drawn["played"] == [listed[made.arm]]
    lines = {line.get_gid(): line.get_xydata().tolist() for line in axes.lines}
    assert lines["hull"] == [listed[arm] for arm in found.frontier]
    assert sorted(lines["mixed"]) == mixed
    labels = {text.get_text(): list(text.xy) for text in axes.texts}
    for arm, p in (made.pi or {}).items():
        assert labels[f"{arm} ({p:.2g})"] == listed[arm]
    assert axes.get_xlabel().replace("\n", " ") == found.gain


def test_labels_are_those_of_the_policy_and_of_the_frontier() -> None:
    """Of 60 arms, exploration could draw all; the labels do not depend on the listed arms."""
    rng = np.random.default_rng(2)
    prior = [(float(a), float(b)) for a, b in rng.uniform(1.0, 9.0, (60, 2))]
    agent = Agent("ids-n", graph=nx.path_graph(60), prior=prior, seed=1, floor=0.3)
    many = Agent("ts-n", graph=nx.path_graph(30), prior=[(1 + i % 7, 3) for i in range(30)])
    for one in (agent, many):
        found = one.explain(one.decide(), arms=1)
        points = found.points
        assert points is not None
        labelled, ends = points.labelled(), {points.hull[0], points.hull[-1]}
        assert labelled[0] == points.played
        assert ends <= set(labelled)
        assert len(labelled) <= 6
        if one is agent:
            policy = {i for i, p in enumerate(points.pi or []) if p > 0.006}
            assert policy <= set(labelled) <= {points.played, *policy, *points.hull}
    assert len(labelled) == 6


# Bad input ----------------------------------------------------------------------------------------


def test_unknown_decisions_are_refused() -> None:
    agent = agent_of()
    refused(lambda: agent.explain("7-nonsense"), "unknown decision")
    refused(lambda: agent.explain(agent_of().decide()), "unknown decision")
    refused(lambda: agent.explain(None), "decision must be a Decision or its id")  # type: ignore[arg-type]
    refused(lambda: agent.explain(agent.decide(), arms=0), "arms")


def test_decision_that_was_open_at_forget_has_no_explanation() -> None:
    now = 100.0
    agent = agent_of(clock=lambda: now)
    made = agent.decide()
    now = 200.0
    agent.forget(150.0)
    refused(lambda: agent.explain(made), made.id, "removed from the journal")
    agent.close(made)
    refused(lambda: agent.explain(made), made.id, "removed from the journal")


def test_floor_is_separated_from_the_policy() -> None:
    """Each probability is that of ids-n times 0.8, plus 0.2/4 of exploration."""
    common = {"arms": 4, "graph": "edges(1>2 1>3 3>4)", "prior": [(1, 9), (9, 1), (3, 5), (2, 2)]}
    plain, floored = (Agent("ids-n", seed=1, **common, floor=floor) for floor in (None, 0.2))
    bare = {one.arm: one for one in plain.explain(plain.decide()).arms}
    found = floored.explain(floored.decide())
    assert found.reproduced
    for one in found.arms:
        mine = bare[one.arm]
        assert one.exploration == 0.05
        assert one.probability == pytest.approx(0.8 * mine.probability + 0.05, abs=1e-15)
        assert (one.alpha, one.delta, one.gain) == (mine.alpha, mine.delta, mine.gain)
        named = f"Exploration only: {one.arm}" in found.text
        assert named == (mine.probability == 0.0 and one.arm != found.decision.arm)
    assert "Exploration has a probability of 0.2, spread evenly over 4 arms." in found.text
    assert found.to_dict()["arms"][0]["exploration"] == 0.05


def test_an_arm_that_was_drawn_by_exploration_is_said_to_be() -> None:
    common = {"arms": NAMES, "graph": EDGES, "prior": PRIOR, "seed": 1}
    plain = Agent("ids-n", **common).decide().pi or {}
    agent = Agent("ids-n", floor=0.4, **common)
    explained = [agent.explain(made) for made in agent.decide(60)]
    for found in (explained[0], next(one for one in explained if one.decision.arm not in plain)):
        arm, lines = found.decision.arm, found.text.splitlines()
        by_floor = arm not in plain
        assert lines[0].startswith(f"{arm} was drawn by exploration, with") == by_floor
        likely = max((one for one in NAMES if one != arm), key=lambda one: plain.get(one, 0.0))
        start = f"Most probable: {likely} ({found.arms[1].probability:.3g}): "
        assert lines[2].startswith(start) == by_floor
        assert found.text.count("Most probable") == by_floor
        header, *rows = printed(found).splitlines()[2:]
        assert "exploration" in header.split()
        shown = {row.split()[0]: row.split()[2] for row in rows[1:5]}
        assert shown == {one: "0.1" if one in plain else "only" for one in NAMES}
