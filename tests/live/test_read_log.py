"""Tests of live/read_log.py: outcomes without a decision, in every form of a table."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from helpers.agents import reopened
from helpers.bad_input import refused
from pyarrow import csv, parquet

from graphbandits import Agent
from graphbandits.live import read_log

Columns = dict[str, list[Any]]
NAMES = ["ann", "bob", "eve"]


def to_csv(columns: Columns, place: Path) -> Path:
    csv.write_csv(pa.table(columns), place / "outcomes.csv")
    return place / "outcomes.csv"


def to_tsv(columns: Columns, place: Path) -> Path:
    pd.DataFrame(columns).to_csv(place / "outcomes.TSV", sep="\t", index=False)
    return place / "outcomes.TSV"


def to_parquet(columns: Columns, place: Path) -> str:
    parquet.write_table(pa.table(columns), place / "outcomes.parquet")
    return str(place / "outcomes.parquet")


FORMS: dict[str, Callable[[Columns, Path], Any]] = {
    "pandas": lambda columns, place: pd.DataFrame(columns),
    "pandas with an index": lambda columns, place: pd.DataFrame(columns, index=columns["arm"]),
    "pandas categories": lambda columns, place: pd.DataFrame(columns).astype({"arm": "category"}),
    "polars": lambda columns, place: pl.DataFrame(columns),
    "pyarrow": lambda columns, place: pa.table(columns),
    "dicts": lambda columns, place: pa.table(columns).to_pylist(),
    "csv": to_csv,
    "tsv": to_tsv,
    "parquet": to_parquet,
}


def by_arm(agent: Agent, name: str) -> list[float]:
    return list(agent.state[name].values())


def agent_of(prior: object = ((1, 2), (3, 1), (2, 5)), **more: Any) -> Agent:
    return Agent("ids-n", NAMES, "empty", seed=1, prior=list(prior), **more)  # type: ignore[call-overload]


#: Columns, the number of outcomes, and the ones and zeros of each arm.
TABLES: list[tuple[Columns, int, list[int], list[int]]] = [
    ({"arm": ["eve", "ann", "eve"], "reward": [1, 0, 1]}, 3, [0, 0, 2], [1, 0, 0]),
    ({"arm": ["eve", "ann"], "reward": [1, 0], "count": [7, 2]}, 9, [0, 0, 7], [2, 0, 0]),
    ({"count": [99, 3], "total": [30, 3], "arm": ["bob", "ann"]}, 102, [3, 30, 0], [0, 69, 0]),
    ({"arm": ["bob"], "reward": [1.0], "count": [40.0]}, 40, [0, 40, 0], [0, 0, 0]),
]


def test_tables_of_every_form_are_learned_by_the_names_of_arms(tmp_path: Path) -> None:
    for form, make in FORMS.items():
        for columns, outcomes, ones, zeros in TABLES:
            agent = agent_of()
            assert agent.learn(make(columns, tmp_path)) == outcomes, form
            assert by_arm(agent, "a") == pytest.approx(np.add([1, 3, 2], ones), rel=1e-14), form
            assert by_arm(agent, "b") == pytest.approx(np.add([2, 1, 5], zeros), rel=1e-14), form
            status = agent.status()
            assert (status["learned"], status["outcomes"], status["decisions"]) == (outcomes, 0, 0)
    agent = agent_of()
    assert agent.learn({"eve": (3, 10), "ann": 1}) == 11
    assert by_arm(agent, "a") == pytest.approx([2, 3, 5])
    assert by_arm(agent, "b") == pytest.approx([2, 1, 12])


def test_arms_with_integer_names(tmp_path: Path) -> None:
    """Texts of integers, as in CSV, are names; positions are not."""
    for form, make in FORMS.items():
        agent = Agent("ids-n", [33, 7], seed=1)
        assert agent.learn(make({"arm": [7, 33, 7], "reward": [1, 0, 1]}, tmp_path)) == 3, form
        assert agent.state == {"a": {33: 1.0, 7: 3.0}, "b": {33: 2.0, 7: 1.0}}, form
        table = make({"arm": [0], "reward": [1]}, tmp_path)
        refused(partial(agent.learn, table), "row 1 of the outcomes", "unknown arm")


def test_names_that_look_like_numbers_stay_names(tmp_path: Path) -> None:
    agent = Agent("ids-n", ["01", "1"], seed=1)
    (tmp_path / "outcomes.csv").write_text("arm,reward\n01,1\n1,0\n01,1\n")
    agent.learn(tmp_path / "outcomes.csv")
    assert agent.state == {"a": {"01": 3.0, "1": 1.0}, "b": {"01": 1.0, "1": 2.0}}


def test_table_equals_the_same_outcomes_of_decisions() -> None:
    """Bit for bit: the posterior does not depend on the way of an outcome."""
    text = "normal(mean=0.5, sd=2, noise=0.7)"
    told, played = (Agent("ts-n", NAMES, "complete", seed=1, posterior=text) for _ in range(2))
    rewards = np.random.default_rng(3).normal(1.0, 1.0, (20, 3)).tolist()
    for row in rewards:
        played.observe(played.decide(), dict(zip(NAMES, row, strict=True)))
    table = pd.DataFrame({"arm": NAMES * 20, "reward": np.ravel(rewards)})
    assert told.learn(table) == 60
    assert told.state == played.state


def test_totals_of_normal_rewards() -> None:
    """Precision 1/sd^2 + n/noise^2, and the mean weighted by precisions."""
    text = "normal(mean=1, sd=2, noise=0.5)"
    agent = Agent("ts-n", NAMES, seed=1, posterior=text)
    agent.learn(pl.DataFrame({"arm": ["eve"], "total": [-6.0], "count": [8]}))
    assert agent.state["precision"]["eve"] == pytest.approx(0.25 + 8 / 0.25)
    assert agent.state["mean"]["eve"] == pytest.approx((0.25 - 6 / 0.25) / (0.25 + 8 / 0.25))
    assert agent.state["precision"]["ann"] == 0.25


def test_posterior_of_single_rewards_learns_each_outcome() -> None:
    """Rows with a count are repeated; totals do not tell the single rewards."""
    text = "dirichlet(values=[0, 1, 5])"
    one, other = (Agent("ts-n", NAMES, seed=1, posterior=text) for _ in range(2))
    assert one.learn(pd.DataFrame({"arm": ["bob"], "reward": [5], "count": [4]})) == 4
    assert other.learn(pd.DataFrame({"arm": ["bob"] * 4, "reward": [5] * 4})) == 4
    for name, values in one._state.policy_state.items():
        assert values.tobytes() == other._state.policy_state[name].tobytes()
    table = pd.DataFrame({"arm": ["bob"], "total": [5], "count": [4]})
    refused(lambda: one.learn(table), "row 1", "'dirichlet' takes single rewards")


def test_a_key_is_learned_once(tmp_path: Path) -> None:
    agent = agent_of()
    assert agent.learn({"ann": 1}, key="last year") == 1
    assert agent.learn({"ann": 1, "bob": 0}, key="last year") == 0
    assert agent.learn({"ann": 1}, key="this year") == 1
    again = reopened(agent, tmp_path)
    assert again.learn({"ann": 1}, key="this year") == 0
    assert again.learn({"ann": 1}) == again.learn({"ann": 1}) == 1
    assert by_arm(again, "a") == [5.0, 3.0, 2.0]
    assert again.status()["learned"] == 4


BAD: list[tuple[Columns, list[str]]] = [
    ({"arm": ["ann", "bib"], "reward": [1, 1]}, ["row 2", "unknown arm 'bib'", "'bob'"]),
    ({"arm": ["ann", None], "reward": [1, 1]}, ["row 2", "unknown arm"]),
    ({"arm": ["ann", "bob"], "reward": [1.0, 0.5]}, ["row 2", "0.5"]),
    ({"arm": ["ann", "bob"], "reward": [1.0, math.nan]}, ["row 2"]),
    ({"arm": ["ann", "bob"], "reward": [1, None]}, ["row 2"]),
    ({"arm": ["ann", "bob"], "reward": [1, 1], "count": [1, 0]}, ["row 2", "count", "0"]),
    ({"arm": ["ann", "bob"], "reward": [1, 1], "count": [1.0, 2.5]}, ["row 2", "count", "2.5"]),
    ({"arm": ["ann", "bob"], "reward": [1, 1], "count": [1, -3]}, ["row 2", "count", "-3"]),
    ({"arm": ["ann", "bob"], "total": [1, 3], "count": [1, 2]}, ["row 2"]),
    ({"arm": ["ann"], "total": [1]}, ["has arm, total"]),
    ({"arm": ["ann"], "count": [1]}, ["has arm, count"]),
    ({"arm": ["ann"], "total": [1], "reward": [1], "count": [1]}, ["has arm"]),
    ({"reward": [1]}, ["has reward"]),
    ({"arm": ["ann"], "rewards": [1]}, ["has arm, rewards"]),
]
OTHERS: list[tuple[Any, str]] = [
    ({}, "no outcomes"),
    (None, "None"),
    (5, "5"),
    ([("ann", 1)], "[('ann', 1)]"),
    ({"ann": "1"}, "'1'"),
    ({"bib": 1}, "unknown arm 'bib'"),
    ({"ann": (3, 2)}, "(successes, trials)"),
    ({"ann": (1, 2, 3)}, "(successes, trials)"),
    ([{"arm": ["ann"], "reward": 1}], "unknown arm ['ann']"),
    ([{0: "ann", 1: 1}], "has 0, 1"),
]


def test_bad_tables_are_refused_and_change_nothing(tmp_path: Path) -> None:
    agent = agent_of()
    before = agent._state.digest()
    forms = ("pandas", "polars", "pyarrow", "csv", "parquet")
    for i, (columns, words) in enumerate(BAD):
        table = FORMS[forms[i % 5]](columns, tmp_path)
        refused(partial(agent.learn, table, key="bad"), *words)
    for other, word in OTHERS:
        refused(partial(agent.learn, other, key="bad"), word)
    refused(partial(agent.learn, pd.DataFrame({"arm": [], "reward": []})), "no outcomes")
    assert agent._state.digest() == before
    assert agent.learn({"ann": 1}, key="bad") == 1  # the key is free


def test_unreadable_files_are_refused(tmp_path: Path) -> None:
    agent = agent_of()
    for name in ("no.csv", "no.parquet"):
        refused(lambda name=name: agent.learn(tmp_path / name), "cannot read", name)
    for name in ("notes.md", "table.xlsx", "table"):
        (tmp_path / name).write_text("arm,reward\nann,1\n")
        refused(lambda name=name: agent.learn(tmp_path / name), "must end in .parquet, .csv", name)
    (tmp_path / "text.parquet").write_text("arm,reward\nann,1\n")
    refused(lambda: agent.learn(tmp_path / "text.parquet"), "cannot read", "text.parquet")
    (tmp_path / "empty.csv").write_text("")
    refused(lambda: agent.learn(tmp_path / "empty.csv"), "cannot read", "empty.csv")
    (tmp_path / "ragged.csv").write_text("arm,reward\nann,1\nbob\n")
    refused(lambda: agent.learn(tmp_path / "ragged.csv"), "cannot read", "ragged.csv")


def test_keys_and_policies_that_cannot_learn_are_refused() -> None:
    for key in ("", 5, b"x", ["x"]):
        refused(lambda key=key: agent_of().learn({"ann": 1}, key=key), "key", repr(key))
    for policy in ("exp3-ix", "exp3-set", "ucb-lp"):
        agent = Agent(policy, NAMES, "star", seed=1, horizon=50)
        refused(lambda agent=agent: agent.learn({"ann": 1}), f"'{policy}'", "without a decision")


def test_counts_of_every_kind_of_policy() -> None:
    """Also policies that otherwise learn from their own plays only."""
    for policy in ("ucb1", "ucb-n", "ts", "ids-n", "uniform", "eps-greedy-lp"):
        agent = Agent(policy, NAMES, "star", seed=1, horizon=50)
        assert agent.learn({"bob": (3, 4), "eve": 0}) == 5, policy
        state = agent.state
        if "count" in state:
            assert list(state["count"].values()) == [0.0, 4.0, 1.0], policy
            assert list(state["total"].values()) == pytest.approx([0.0, 3.0, 0.0]), policy
        elif "a" in state:
            assert list(state["a"].values()) == pytest.approx([1.0, 4.0, 1.0]), policy
            assert list(state["b"].values()) == pytest.approx([1.0, 2.0, 2.0]), policy
        else:
            assert policy == "uniform"


@pytest.mark.filterwarnings("ignore:the rewards contradict the prior")
def test_maximum_of_a_count_is_that_of_the_message() -> None:
    agent, most = agent_of(), read_log.MOST_REPEATED
    message = refused(
        lambda: agent.learn(pd.DataFrame({"arm": ["ann"], "reward": 1, "count": most + 1}))
    )
    assert f"from 1 to {most}" in message
    assert agent.learn(pd.DataFrame({"arm": ["ann"], "reward": 1, "count": most})) == most
