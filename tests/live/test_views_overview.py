"""Tests of live/views.py: the table and the figure of an agent."""

from __future__ import annotations

import json
from typing import Any

import networkx as nx
import numpy as np
import pytest
from helpers.bad_input import refused
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib.figure import Figure

from graphbandits import Agent, InputError
from graphbandits.live import views

NAMES = ["ann", "bob", "eve", "joe"]
GRAPH = np.array(
    [
        [1.0, 0.5, 0.0, 0.0],
        [0.0, 1.0, 1.0, 0.0],
        [1.0, 0.0, 1.0, 1.0],
        [0.0, 0.0, 0.0, 1.0],
    ]
)


def busy(**more: Any) -> Agent:
    """Return an agent: bob is played twice and eve once; ann is seen 11 times."""
    agent = Agent(
        "ts-n", NAMES, GRAPH, **{"seed": 1, "prior": [(1, 3), (4, 2), (2, 2), (5, 4)]} | more
    )
    agent.observe(agent.decide(among=["bob"]), {"bob": 1, "eve": (2, 3)})
    agent.observe(agent.decide(among=["eve"]), {"eve": 0, "ann": 1}, partial=True)
    agent.decide(among=["bob"])
    agent.learn({"ann": (3, 10)})
    return agent


def collections(figure: Figure) -> dict[Any, Any]:
    return {one.get_gid(): one for one in figure.axes[0].collections}


def test_overview_has_beliefs_and_counts() -> None:
    agent = busy()
    agent.pause("joe")
    found = agent.overview()
    assert json.loads(json.dumps(found)) == found
    assert found["status"] == agent.status()
    arms = {one["arm"]: one for one in found["arms"]}
    counts = {arm: (one["plays"], one["outcomes"]) for arm, one in arms.items()}
    assert counts == {"ann": (0, 11.0), "bob": (2, 1.0), "eve": (1, 4.0), "joe": (0, 0.0)}
    beliefs = agent.beliefs()
    for arm in beliefs:
        assert {name: arms[arm][name] for name in ("alpha", "delta", "h")} == vars(beliefs[arm])
    assert arms["joe"]["alpha"] is None
    assert arms["joe"]["status"] == "paused"
    assert arms["ann"]["state"] == {"a": 1.0 + 1.0 + 3.0, "b": 3.0 + 7.0}
    best = [one["arm"] for one in found["arms"]]
    assert best[:3] == sorted(beliefs, key=lambda arm: -beliefs[arm].alpha)
    assert [one["arm"] for one in found["decisions"]] == ["bob", "eve", "bob"]
    made = [one for one in reversed(agent.history()) if one["kind"] == "decide"]
    assert found["decisions"] == made
    found = agent.overview(arms=2, last=1)
    assert (len(found["arms"]), found["others"], found["decisions"]) == (2, 2, made[:1])
    assert agent.overview(last=0)["decisions"] == []
    refused(lambda: agent.overview(arms=0), "arms")


def test_overview_of_a_policy_without_a_posterior_has_its_state() -> None:
    agent = Agent("ucb-n", NAMES, GRAPH, seed=1)
    agent.observe(agent.decide(among=["bob"]), {"bob": 1, "eve": 0})
    first = agent.overview()["arms"][0]
    assert first["arm"] == "bob"
    assert (first["alpha"], first["delta"], first["h"]) == (None, None, None)
    assert first["state"] == {"count": 1.0, "total": 1.0}


def test_late_outcomes_are_not_counted() -> None:
    now = 0.0
    agent = Agent("ts-n", NAMES, GRAPH, seed=1, clock=lambda: now)
    made = agent.decide(among=["joe"], expires=10.0)
    now = 20.0
    agent.observe(made, {"joe": 1})
    assert {one["arm"]: one["outcomes"] for one in agent.overview()["arms"]}["joe"] == 0.0


def test_figure_shows_beliefs_counts_and_last_plays() -> None:
    agent = busy()
    figure = agent.figure()
    parts = collections(figure)
    nodes = parts["nodes"]
    beliefs = agent.beliefs()
    assert nodes.get_array().tolist() == [beliefs[arm].alpha for arm in NAMES]
    labels = {text.get_text().partition(":")[0]: text for text in figure.axes[0].texts}
    assert labels.keys() == set(NAMES)
    places = dict(zip(NAMES, nodes.get_offsets().tolist(), strict=True))
    counts = {"ann": (0, 11), "bob": (2, 1), "eve": (1, 4), "joe": (0, 0)}
    for arm, (plays, outcomes) in counts.items():
        assert labels[arm].get_text() == (
            f"{arm}: {100 * beliefs[arm].alpha:.0f} %\n{plays} played, {outcomes} seen"
        )
        assert list(labels[arm].xy) == places[arm]
    rings = {tuple(place) for place in parts["last"].get_offsets().tolist()}
    assert rings == {tuple(places["bob"]), tuple(places["eve"])}
    # the width of a disc grows with the number of outcomes
    assert np.argsort(nodes._widths, kind="stable").tolist() == [3, 1, 2, 0]
    lines = parts["edges"].get_segments()
    assert len(lines) == 4  # each edge is in one direction
    assert figure.axes[1].get_ylabel() == "probability of being the best arm"


def test_figure_marks_arms_that_are_not_played() -> None:
    agent = busy()
    agent.retire("joe")
    agent.pause("ann")
    figure = agent.figure()
    shown = collections(figure)["nodes"].get_array()
    assert shown.mask.tolist() == [True, False, False, True]
    words = {text.get_text() for legend in figure.legends for text in legend.get_texts()}
    assert "paused or retired" in words
    agent.pause("bob", "eve")
    assert len(agent.figure().axes) == 1


def drawn_arms(agent: Agent, arms: int) -> set[Any]:
    """Return the arms of the figure; their labels have names."""
    figure = agent.figure(arms=arms)
    assert len(collections(figure)["nodes"].get_offsets()) == arms
    labels = [text.get_text().partition("\n")[0] for text in figure.axes[0].texts]
    return {int(label.partition(":")[0]) for label in labels}


def test_neighbours_in_both_directions_come_before_other_likely_arms() -> None:
    """Arm 50 is the best: it reveals 51, and 52 reveals it; 20 others are likely, too."""
    graph = nx.DiGraph()
    graph.add_nodes_from(range(60))
    graph.add_edges_from([(50, 51), (52, 50), (53, 40), (40, 54)])
    prior = [(8.0, 2.0)] * 20 + [(1.0, 9.0)] * 40
    prior[50] = (9.0, 1.0)
    agent = Agent("ts-n", graph=graph, prior=prior, seed=1)
    agent.decide(among=[40])
    agent.decide(3, among=[50])
    found = drawn_arms(agent, 12)
    assert {50, 51, 52, 40, 53, 54} <= found
    assert found - {50, 51, 52, 40, 53, 54} <= set(range(20))


def test_of_many_arms_the_part_around_the_relevant_ones_is_drawn() -> None:
    prior = [(1.0, 9.0)] * 2000
    prior[700] = (90.0, 10.0)
    agent = Agent("ts-n", graph=nx.path_graph(2000), prior=prior, seed=1)
    agent.decide(among=[1500])
    assert {699, 700, 701, 1499, 1500, 1501} <= drawn_arms(agent, 12)
    assert "1988 of 2000 arms are not drawn" in words_of(agent.figure(arms=12))
    # arm 0 is the best and has 80 neighbours, which leave room; 90 was played, and has two
    graph = nx.star_graph(80)
    graph.add_edges_from([(90, 91), (92, 90), *((i, i + 1) for i in range(93, 99))])
    agent = Agent("ts-n", graph=graph, prior=[(30.0, 1.0)] + [(1.0, 9.0)] * 90, seed=1)
    agent.decide(among=[90])
    assert {0, 90, 91, 92} <= drawn_arms(agent, 12)


def test_likely_edges_are_drawn_first() -> None:
    matrix = np.eye(30)
    matrix[0, 1:21] = np.linspace(0.05, 1.0, 20)
    agent = Agent("ts-n", 30, matrix, prior=[(50.0, 1.0)] + [(1.0, 9.0)] * 29, seed=1)
    agent.decide(among=[0])
    assert {0, 15, 16, 17, 18, 19, 20} <= drawn_arms(agent, 10)


def words_of(figure: Figure) -> str:
    return " ".join(text.get_text() for text in figure.texts).replace("\n", " ")


def test_figure_says_what_it_does_not_show() -> None:
    agent = busy(clock=lambda: 1e9)
    agent.forget(2e9)
    assert "first entries were removed" in words_of(agent.figure(width=12.0))
    random = Agent("ts-n", NAMES, "revealed-er(p=0.4)", seed=1)
    assert "the graph changes" in words_of(random.figure(width=12))
    figure = Agent("ucb-n", NAMES, GRAPH, seed=1).figure()
    assert len(figure.axes) == 1
    assert "no posterior" in words_of(figure)
    refused(lambda: agent.figure(arms=0), "arms")
    refused(lambda: agent.figure(width=0.1), "width")


# --- parts of the graph, arms by name, decisions ------------------------------------------------


@given(data=st.data(), arms=st.integers(1, 9))
@settings(max_examples=40, deadline=None)
def test_edges_are_those_of_the_matrix(data: st.DataObject, arms: int) -> None:
    chances = st.sampled_from([0.0, 0.0, 0.25, 1.0])
    size = {"min_size": arms, "max_size": arms}
    rows = data.draw(st.lists(st.lists(chances, **size), **size))
    matrix = np.array(rows)
    np.fill_diagonal(matrix, 1.0)
    agent = Agent("ts-n", [f"arm{i}" for i in range(arms)], matrix, seed=1)
    around = data.draw(st.lists(st.integers(0, arms - 1), max_size=3, unique=True))
    limit = data.draw(st.integers(1, arms + 1))
    found = agent.neighbourhood([f"arm{i}" for i in around], limit)
    chosen = [one["number"] for one in found["arms"]]
    assert len(chosen) == min(limit, arms)
    assert chosen == sorted(set(chosen))
    assert set(around[:limit]) <= set(chosen)
    part = matrix[np.ix_(chosen, chosen)] - np.eye(len(chosen))
    seen = np.zeros_like(part)
    for i, j, chance in found["edges"]:
        seen[i, j] = chance
    assert (seen == part).all()
    assert found["directed"] == bool((part != part.T).any())
    assert (found["total"], found["edges_left_out"], found["changes"]) == (arms, 0, False)


def test_neighbours_of_the_chosen_arms_come_first() -> None:
    agent = Agent("ts-n", 50, "ring", seed=1, prior=[(30 - i % 30, 1) for i in range(50)])
    found = agent.neighbourhood([40], limit=3)
    assert [one["arm"] for one in found["arms"]] == [39, 40, 41]
    assert len(found["edges"]) == 4


def test_many_edges_are_cut_to_those_of_the_relevant_arms(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(views, "MOST_EDGES", 30)
    agent = Agent("ts-n", 12, "complete", seed=1)
    found = agent.neighbourhood([7])
    assert len(found["edges"]) == 22
    assert {7} == set.intersection(*({i, j} for i, j, _ in found["edges"]))
    assert found["edges_left_out"] == 12 * 11 - 22


def test_retired_arms_are_not_revealed_and_random_graphs_change() -> None:
    agent = Agent("ts-n", ["ann", "bob", "eve"], "complete", seed=1)
    agent.retire("bob")
    agent.pause("eve")
    found = agent.neighbourhood()
    assert [one["status"] for one in found["arms"]] == ["active", "retired", "paused"]
    assert not [edge for edge in found["edges"] if edge[1] == 1]
    random = Agent("ts-n", 3, "random(r=0.5)", seed=1).neighbourhood()
    assert not random["changes"]
    assert {chance for _, _, chance in random["edges"]} == {0.5}
    assert Agent("ts-n", 3, "random(r=uniform)", seed=1).neighbourhood()["changes"]


def test_arms_that_were_played_last_are_marked() -> None:
    agent = Agent("ts-n", ["ann", "bob", "eve", "joe"], seed=1)
    for arm in ("joe", "ann", "ann", "bob", "eve", "bob"):
        agent.decide(among=[arm])
    found = agent.neighbourhood()
    assert [found["arms"][i]["arm"] for i in found["last"]] == ["bob", "eve", "ann"]
    assert [one["plays"] for one in found["arms"]] == [2, 2, 1, 1]


def test_arms_are_found_by_name() -> None:
    names = ["Joanna", "ann", "ANNE", "\u00c5sa", "stra\u00dfe"]
    agent = Agent("ts-n", names, seed=1, prior=[(1, 9), (1, 9), (9, 1), (1, 1), (1, 1)])
    rows, found = agent.find_arms("ann")
    assert [row["arm"] for row in rows] == ["ANNE", "ann", "Joanna"]
    assert found == 3
    assert [row["arm"] for row in agent.find_arms("STRASSE")[0]] == ["stra\u00dfe"]
    assert [row["arm"] for row in agent.find_arms("A\u030asa")[0]] == ["\u00c5sa"]
    rows, found = agent.find_arms(limit=2)
    assert ([row["arm"] for row in rows], found) == (["ANNE", "\u00c5sa"], 5)
    assert agent.find_arms("<b>") == ([], 0)
    with pytest.raises(InputError, match="search must be a text, not 3"):
        agent.find_arms(3)  # type: ignore[arg-type]


def test_decisions_have_their_status_and_outcomes() -> None:
    now = 0.0
    agent = Agent("ts-n", ["ann", "bob"], "complete", seed=1, clock=lambda: now)
    closed, late, still, due = (agent.decide(expires=e) for e in (None, 5, None, 50))
    agent.observe(closed, {"ann": 1, "bob": (3, 10)})
    now = 10.0
    agent.observe(late, {"bob": 0})
    agent.observe(still, {"bob": 1}, partial=True)
    now = 60.0
    rows = agent.decisions()
    assert [row["id"] for row in rows] == [due.id, still.id, late.id, closed.id]
    assert [row["status"] for row in rows] == ["expired", "open", "expired", "closed"]
    several = {"ann": 1.0, "bob": [3.0, 10.0]}
    assert [row["outcomes"] for row in rows] == [{}, {"bob": 1.0}, {"bob": 0.0}, several]
    assert [row["late"] for row in rows] == [[], [], ["bob"], []]
    assert [row["id"] for row in agent.decisions(only_open=True)] == [still.id]
    assert [row["number"] for row in agent.decisions(2, before=4)] == [3, 2]
    assert agent.decisions(before=1) == []
