"""Tests of live/log.py: the log against its agent, files, and logs of other systems."""

from __future__ import annotations

import json
import math
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from helpers.agents import GRAPH, NAMES, Clock, events
from helpers.bad_input import refused, refuses

from graphbandits import Agent, DecisionLog
from graphbandits.errors import InputError, InputWarning


def eventful(
    policy: str = "ts-n", store: Path | str | None = None, **more: Any
) -> tuple[Agent, Clock]:
    clock, day = Clock(), 86400.0
    given: dict[str, Any] = {"graph": GRAPH, "seed": 7, "clock": clock, "expires": 10 * day}
    agent = Agent(policy, NAMES, store=store, **given | more)
    events(agent, clock)
    return agent, clock


def pairs(entries: Any) -> dict[Any, float] | None:
    return None if entries is None else {one["arm"]: one["probability"] for one in entries}


def test_a_log_of_every_kind_of_store_is_that_of_an_agent_in_memory(store_url: str) -> None:
    stored, clock = eventful(store=store_url)
    in_memory, _ = eventful()
    one, other = (agent.log() for agent in (stored, in_memory))
    assert one.to_arrow().drop_columns("id").equals(other.to_arrow().drop_columns("id"))
    assert one.origin.graphs == other.origin.graphs
    with Agent(store=store_url, clock=clock) as again:
        assert again.log().to_arrow().equals(one.to_arrow(), check_metadata=True)
    stored.disconnect()


def test_decisions_that_have_expired_are_closed_in_the_log() -> None:
    """The journal gets the entry at the next operation; the log does not wait for it."""
    clock = Clock()
    agent = Agent("ts-n", 2, seed=1, expires=100, clock=clock)
    made = [agent.decide(), agent.decide(expires=1e6)]
    start, clock.now = clock.now, clock.now + 500.0
    entries = agent.status()["entries"]
    first, second = agent.log().to_arrow().to_pylist()
    assert (first["id"], second["id"]) == (made[0].id, made[1].id)
    assert first["closed"]["reason"] == "expired"
    assert first["closed"]["time"].timestamp() == pytest.approx(start + 100.0, abs=1e-5)
    assert second["closed"] is None
    assert agent.status()["entries"] == entries


def test_columns_agree_with_the_decisions_of_the_agent() -> None:
    agent, _ = eventful()
    rows = agent.log().to_arrow().to_pylist()
    assert [row["number"] for row in rows] == list(range(1, agent.status()["decisions"] + 1))
    for row in rows:
        decision = agent.decision(row["id"])
        assert row["arm"] == decision.arm
        assert row["probability"] == decision.probability
        assert pairs(row["pi"]) == decision.pi
        assert pairs(row["reveals"]) == decision.reveals
        assert abs(row["time"] - decision.time) < timedelta(microseconds=2)
        assert (None if row["context"] is None else json.loads(row["context"])) == decision.context
        eligible = row["eligible"] or agent.arms[: row["arms"]]
        assert set(decision.pi or ()) <= set(eligible)
    assert [row["policy"] for row in rows][-2:] == ["ts-n", "ids-n"]


def test_eligible_arms_and_closes_of_every_kind() -> None:
    agent, _ = eventful()
    rows = {row["number"]: row for row in agent.log().to_arrow().to_pylist()}
    assert rows[1]["eligible"] is None
    assert rows[4]["eligible"] is None
    assert rows[5]["eligible"] == [arm for arm in NAMES if arm != rows[4]["arm"]]  # distinct
    assert rows[6]["eligible"] == ["bob", "eve"]  # among
    assert rows[7]["eligible"] == ["bob", "eve", "joe"]  # ann is paused
    assert rows[9]["eligible"] is None
    assert rows[10]["eligible"] == ["bob", "eve", "joe", "kim"]
    assert rows[11]["eligible"] == ["ann", "eve", "joe", "kim"]  # bob is retired
    assert {row["arms"] for row in rows.values()} == {4, 5}
    reasons = [None if row["closed"] is None else row["closed"]["reason"] for row in rows.values()]
    assert reasons[:3] == ["observed"] * 3
    assert {"expired", "closed", "reset", None} <= set(reasons)
    assert reasons[-1] is None


def test_outcomes_have_their_times_weights_and_kinds() -> None:
    agent, _ = eventful()
    rows = agent.log().to_arrow().to_pylist()
    outcomes = [dict(one, number=row["number"]) for row in rows for one in row["outcomes"]]
    status = agent.status()
    assert sum(not one["late"] for one in outcomes) == status["outcomes"]
    assert sum(one["late"] for one in outcomes) == status["late"] == 1
    extra = [one for one in outcomes if one["extra"]]
    assert [(one["number"], one["reward"]) for one in extra] == [(6, 1.0)]
    assert extra[0]["arm"] not in (pairs(rows[5]["reveals"]) or {})
    assert {one["weight"] for one in outcomes} == {1.0, 5.0}
    journal = {line["number"]: line for line in agent.history()}
    for one in outcomes:
        line = journal[one["entry"]]
        assert line["kind"] == "observe"
        assert one["arm"] in line["outcomes"]
        when = datetime.fromisoformat(line["time"])
        assert abs(one["time"] - when) < timedelta(microseconds=2)


def test_feedback_of_random_graphs_is_built_again(tmp_path: Path) -> None:
    for graph in ("random(r=uniform)", "revealed-er(p=0.5)", "random(r=0.25)"):
        agent = Agent("ts-n", NAMES, graph, seed=3, trial=5)
        for one in (*agent.decide(3), agent.decide(), agent.decide()):
            agent.observe(one, {one.arm: 1})
        log = DecisionLog.read(agent.log().to_parquet(tmp_path / "log.parquet"))
        for row, line in enumerate(log.to_arrow().to_pylist()):
            feedback = log.feedback(row)
            assert feedback is not None
            reach = feedback.reach(np.array([NAMES.index(line["arm"])]))[0]
            found = {NAMES[i]: p for i, p in enumerate(reach.tolist()) if p > 0.0}
            assert found == pairs(line["reveals"]) == agent.decision(line["id"]).reveals, graph


def test_a_policy_that_draws_itself_has_no_probabilities() -> None:
    agent = Agent("ts-n-sampled", 3, seed=1)
    agent.observe(agent.decide(), {agent.log().to_arrow()["arm"][0].as_py(): 1})
    [row] = agent.log().to_arrow().to_pylist()
    assert row["probability"] is None
    assert row["pi"] is None
    assert row["reveals"] == [{"arm": row["arm"], "probability": 1.0}]
    assert type(row["arm"]) is int


def test_removed_decisions_are_not_in_the_log(tmp_path: Path) -> None:
    agent, _ = eventful(store=tmp_path / "a.db")
    whole = agent.log().to_arrow().to_pylist()
    middle = whole[8]["time"].timestamp() - 1.0
    agent.forget(middle)
    left = agent.log().to_arrow().to_pylist()
    assert [row["number"] for row in left] == [row["number"] for row in whole[8:]]
    for row, before in zip(left, whole[8:], strict=True):
        assert {key: row[key] for key in row if key != "graph"} == {
            key: before[key] for key in before if key != "graph"
        }
    in_memory, _ = eventful()
    in_memory.forget(middle)
    kept = in_memory.log().to_arrow().to_pylist()
    assert [row["number"] for row in kept] == [row["number"] for row in whole[8:]]


def test_an_agent_without_decisions_has_an_empty_log(tmp_path: Path) -> None:
    log = Agent("ts-n", 2, seed=1).log()
    again = DecisionLog.read(log.to_parquet(tmp_path / "empty.parquet"))
    assert len(again) == len(log) == len(again.arrays.arm) == 0


# Files and data frames ----------------------------------------------------------------------------


def test_a_table_with_metadata_keeps_everything(tmp_path: Path) -> None:
    log = eventful()[0].log()
    assert log.arms == ("ann", "bob", "eve", "joe", "kim")
    path = log.to_parquet(tmp_path / "log.parquet")
    assert [file.name for file in tmp_path.iterdir()] == ["log.parquet"]
    for again in (DecisionLog.read(path), DecisionLog.of(log.to_arrow())):
        assert again.to_arrow().equals(log.to_arrow(), check_metadata=True)
        assert again.origin.prior is not None
        for row in range(len(log)):
            one, other = log.feedback(row), again.feedback(row)
            assert one is not None
            assert other is not None
            action = np.arange(one.arms)
            assert (one.reach(action) == other.reach(action)).all()
    assert DecisionLog.of(log.to_arrow(), arms=log.arms).origin.prior is None


def test_the_table_survives_other_formats(tmp_path: Path) -> None:
    for arms in (NAMES, [3, 1, 4, 15]):
        agent = Agent("ts-n", arms, "complete", seed=1, clock=Clock())  # type: ignore[arg-type]
        for one in agent.decide(3, context={"x": 1}):
            agent.observe(one, {arms[0]: 1, arms[1]: 0})  # type: ignore[dict-item]
        agent.decide(among=arms[:2])
        log = agent.log()
        table = log.to_arrow()
        forms: list[Any] = [log.to_pandas(), log.to_polars(), table, table.to_pylist()]
        forms += [log.write(tmp_path / f"log.{form}") for form in ("csv", "jsonl", "parquet")]
        for data in forms:
            again = DecisionLog.of(data, arms=arms, graph="complete")
            assert again.to_arrow().to_pylist() == table.to_pylist(), type(data)


def test_eligible_arms_with_and_without_a_new_arm() -> None:
    """The masks of 3 and 4 arms are the same byte."""
    agent = Agent("uniform", ["a", "b", "c"], seed=1)
    agent.decide(among=["a", "b", "c"])
    agent.add_arm("d")
    agent.decide(among=["a", "b", "c"])
    found = [row["eligible"] for row in agent.log().to_arrow().to_pylist()]
    assert found == [None, ["a", "b", "c"]]


def test_read_accepts_text_files_of_a_log(tmp_path: Path) -> None:
    log = eventful()[0].log()
    for name in ("log.csv", "log.jsonl"):
        again = DecisionLog.read(log.write(tmp_path / name))
        assert again.arms == ("ann", "bob", "eve", "joe", "kim")
        columns = ["id", "arm", "probability", "pi", "reveals", "eligible", "outcomes", "closed"]
        one, other = (found.to_arrow().select(columns) for found in (log, again))
        assert one.to_pylist() == other.to_pylist()


def test_a_minimal_log() -> None:
    rows = [
        {"arm": "a", "probability": 0.25, "reward": 1.5},
        {"arm": "b", "probability": 0.75, "reward": None},
    ]
    log = DecisionLog.of(rows)
    assert log.arms == ("a", "b")
    first, second = log.to_arrow().to_pylist()
    assert first["pi"] is None
    assert first["outcomes"][0]["reward"] == 1.5
    assert second["outcomes"] == []
    assert second["closed"]["reason"] == "observed"


def test_outcomes_of_unplayed_arms_are_extra_without_a_graph() -> None:
    rows = [{"arm": "a", "pi": {"a": 0.5, "b": 0.5}, "outcomes": {"a": 1, "b": 0}}]
    for graph, extra in ((None, [False, True]), ("complete", [False, False])):
        arms = ["a", "b"]
        [row] = DecisionLog.of(rows, arms=arms, graph=graph).to_arrow().to_pylist()
        assert [one["extra"] for one in row["outcomes"]] == extra
        assert row["probability"] == 0.5


def test_outcomes_of_other_systems_are_ordered_by_their_times() -> None:
    def at(second: float) -> datetime:
        return datetime.fromtimestamp(second, UTC)

    late = [{"arm": "a", "reward": 1, "time": at(25)}]
    rows = [
        {"arm": "a", "probability": 1.0, "outcomes": late, "time": at(10)},
        {"arm": "a", "probability": 1.0, "outcomes": {"a": 0}, "time": at(20)},
        {"arm": "a", "probability": 1.0, "outcomes": {"a": 0}, "time": at(30)},
    ]
    found = DecisionLog.of(rows).to_arrow().to_pylist()
    decisions = [row["entry"] for row in found]
    outcomes = [row["outcomes"][0]["entry"] for row in found]
    assert decisions == sorted(decisions)
    assert decisions[0] < decisions[1] < outcomes[0] < decisions[2] < outcomes[2]
    assert decisions[1] < outcomes[1] < decisions[2]


def test_entries_of_some_events_only_are_not_used() -> None:
    """Otherwise outcomes would come before their decisions, and nothing would be learned."""
    for partly in ({}, {"entry": 15}):
        first: dict[str, Any] = {"arm": "a", "reward": 1} | partly
        rows = [
            {"arm": "a", "probability": 1.0, "outcomes": [first], "entry": 10},
            {"arm": "a", "probability": 1.0, "outcomes": {"a": 0}, "entry": 20},
        ]
        found = DecisionLog.of(rows).to_arrow().to_pylist()
        entries = [x for row in found for x in (row["entry"], row["outcomes"][0]["entry"])]
        assert entries == sorted(set(entries))
        assert all(row["closed"]["entry"] == row["outcomes"][0]["entry"] for row in found)


def test_given_entries_are_kept() -> None:
    late = [{"arm": "a", "reward": 1, "entry": 25}]
    rows = [
        {"arm": "a", "probability": 1.0, "outcomes": late, "entry": 10},
        {"arm": "a", "probability": 1.0, "reward": None, "entry": 20},
    ]
    first, second = DecisionLog.of(rows).to_arrow().to_pylist()
    assert (first["entry"], first["outcomes"][0]["entry"], first["closed"]["entry"]) == (10, 25, 25)
    assert (second["entry"], second["closed"]["entry"]) == (20, 20)


def test_names_given_as_texts_are_found_as_integers() -> None:
    rows = [{"arm": 10, "pi": {10: 0.5, 20: 0.5}, "outcomes": {10: 1, 20: 0}}]
    [row] = DecisionLog.of(rows, arms=["10", "20"], graph="complete").to_arrow().to_pylist()
    assert [row["arm"], *(one["arm"] for one in row["outcomes"])] == ["10", "10", "20"]


# Open Bandit Pipeline -----------------------------------------------------------------------------


def test_format_of_open_bandit_pipeline() -> None:
    agent, _ = eventful()
    one = agent.decide()
    agent.observe(one, {one.arm: 1}, partial=True)  # it is open
    log = agent.log()
    answered = [
        row
        for row in log.to_arrow().to_pylist()
        if row["closed"] and any(one["arm"] == row["arm"] for one in row["outcomes"])
    ]
    with pytest.warns(InputWarning, match=f"^{len(log) - len(answered)} of {len(log)} decisions"):
        found = log.to_obp()
    assert found["n_rounds"] == len(answered) < len(log)
    assert found["n_actions"] == 5
    assert [log.arms[i] for i in found["action"]] == [row["arm"] for row in answered]
    assert found["pscore"].tolist() == [row["probability"] for row in answered]
    for i, row in enumerate(answered):
        own = [one["reward"] for one in row["outcomes"] if one["arm"] == row["arm"]]
        assert found["reward"][i] == own[0]
        assert dict(zip(log.arms, found["pi_b"][i, :, 0], strict=True)) == {
            arm: (pairs(row["pi"]) or {}).get(arm, 0.0) for arm in log.arms
        }
    assert found["position"] is None
    assert found["context"].shape == (len(answered), 1)
    assert np.issubdtype(found["action"].dtype, np.integer)
    assert (found["pscore"] > 0.0).all()


def test_columns_of_a_context_are_its_keys() -> None:
    for contexts, expected in (
        ([{"x": 1.5, "y": 2}, {"y": 4, "x": 3}], [[1.5, 2], [3, 4]]),
        ([{"x": 1, "y": 2}, {"x": 3, "z": 4}], [[1], [1]]),
        ([[1, 2], {"x": 3, "y": 4}], [[1], [1]]),
        ([[1, 2], [3, 4]], [[1, 2], [3, 4]]),
        ([[1, 2], [3]], [[1], [1]]),
        ([{"x": True}, {"x": False}], [[1], [1]]),
        ([{"x": 1}, None], [[1], [1]]),
    ):
        rows = [{"arm": "a", "pi": {"a": 1.0}, "reward": 1, "context": one} for one in contexts]
        assert DecisionLog.of(rows).to_obp()["context"].tolist() == expected, contexts


# Bad input ----------------------------------------------------------------------------------------

GOOD: dict[str, Any] = {"arm": "a", "probability": 0.5, "reward": 1}


#: Invalid rows, and what the message names.
BAD: list[tuple[list[dict[str, Any]], str]] = [
    ([], "empty"),
    ([{"probability": 0.5, "reward": 1}], "no column 'arm'"),
    ([{"arm": "a", "reward": 1}], "no column 'probability' or 'pi'"),
    ([{"arm": "a", "probability": 0.5}], "no column 'reward' or 'outcomes'"),
    ([GOOD | {"arm": None}], "row 1 of the log: 'arm'"),
    ([GOOD | {"arm": 1}, GOOD], "all strings or all integers"),
    ([GOOD | {"arm": 1.5}], "row 1 of the log: 'arm': .* not 1.5"),
    ([GOOD, GOOD | {"reward": "much"}], "row 2 of the log: 'reward': .* not 'much'"),
    ([GOOD, GOOD | {"reward": math.inf}], "row 2 .*'outcomes': the reward of 'a' must be"),
    ([GOOD | {"pi": "{no json"}], "row 1 of the log: 'pi': '{no json' is not JSON"),
    ([GOOD | {"pi": [{"arm": "a"}]}], "'pi': .* no 'probability'"),
    ([GOOD | {"pi": 3}], "'pi': .* not 3"),
    ([GOOD | {"pi": 2 * [{"arm": "a", "probability": 1}]}], "'pi': an arm is given twice"),
    ([GOOD | {"outcomes": {"a": 0}}], "'outcomes': an arm is given twice"),
    ([GOOD | {"time": "yesterday"}], "row 1 of the log: 'time': .* not 'yesterday'"),
    ([GOOD | {"time": 5}, GOOD | {"time": 4}], "decrease"),
    ([GOOD | {"time": 5}, GOOD], "some decisions have no time"),
    ([GOOD | {"outcomes": [{"reward": 1}]}], "'outcomes': the name of an arm is missing"),
    ([GOOD | {"probability": "half"}], "'probability': expected a number, not 'half'"),
    ([GOOD | {"number": "one"}], "'number': .* not 'one'"),
    ([GOOD | {"number": 1.5}], "'number': .* not 1.5"),
    ([GOOD | {"outcomes": [{"arm": "b", "reward": 1, "weight": "much"}]}], "not 'much'"),
    ([GOOD | {"closed": {"time": "never"}}], "'closed': .* not 'never'"),
    ([GOOD | {"eligible": []}], "'eligible': no arm is eligible"),
]


def test_invalid_rows_are_refused() -> None:
    for rows, words in BAD:
        with refuses(InputError, match=words):
            DecisionLog.of(rows)


def test_decisions_without_an_end_are_open() -> None:
    closed = [None, False, True, {"time": 7, "reason": "expired"}]
    log = DecisionLog.of([GOOD | {"closed": one, "time": 5} for one in closed])
    ends = log.to_arrow()["closed"].to_pylist()
    assert [end and end["reason"] for end in ends] == [None, None, "observed", "expired"]


def test_invalid_data_is_refused(tmp_path: Path) -> None:
    refused(lambda: DecisionLog.of(17), "a log must be")
    refused(lambda: DecisionLog.of([GOOD], arms=["b", "c"]), "row 1", "unknown arm 'a'")
    refused(lambda: DecisionLog.of([GOOD], graph="random(r=uniform)", arms=["a", "b"]), "changes")
    for name in ("log.txt", "none.parquet", "none.csv"):
        refused(lambda name=name: DecisionLog.read(tmp_path / name), "log")
    Agent("ts-n", 2, store=tmp_path / "a.db").disconnect()
    refused(lambda: DecisionLog.read(tmp_path / "a.db"), "agent log", "--output log.parquet")
    (tmp_path / "bad.parquet").write_bytes(b"PAR1 no")
    refused(lambda: DecisionLog.read(tmp_path / "bad.parquet"), "cannot read the log")
    refused(lambda: Agent("ts-n", 2).log().write(tmp_path / "a.xlsx"), ".parquet, .csv or .jsonl")
    refused(lambda: Agent("ts-n", 2).log().to_obp(), "nothing to convert")


def outcome(weight: float) -> dict[str, Any]:
    return {"arm": "ann", "reward": 1.0, "weight": weight}


def with_value(table: pa.Table, name: str, value: Any) -> pa.Table:
    """Return the table with another value of the last row."""
    field = table.schema.field(name)
    changed = pa.array([*table[name].to_pylist()[:-1], value], field.type)
    return table.set_column(table.column_names.index(name), field, changed)


def test_damaged_metadata_is_refused(tmp_path: Path) -> None:
    from pyarrow import parquet

    table = eventful()[0].log().to_arrow()
    meta = json.loads(table.schema.metadata[b"graphbandits"])
    path = tmp_path / "log.parquet"
    changes: list[dict[str, Any]] = [
        {"format": 99},
        {"objects": {}},
        {"graphs": ["x"]},
        {"arms": ["ann"]},
        {"first_arms": None, "more": 1},
    ]
    for change in changes:
        data = json.dumps(meta | change).encode()
        parquet.write_table(table.replace_schema_metadata({b"graphbandits": data}), path)
        refused(lambda: DecisionLog.read(path).arrays, "log")
    for name, value in (("eligible", []), ("outcomes", [outcome(math.nan)])):
        parquet.write_table(with_value(table, name, value), path)
        refused(lambda: DecisionLog.read(path).arrays, f"the column '{name}' of the log has")
    for weight in (-1.0, 0.0, math.inf):
        parquet.write_table(with_value(table, "outcomes", [outcome(weight)]), path)
        refused(lambda: DecisionLog.read(path).arrays, "weight that is not above 0")
    parquet.write_table(table.drop_columns(["pi"]), path)
    refused(lambda: DecisionLog.read(path), "no column 'pi'")
