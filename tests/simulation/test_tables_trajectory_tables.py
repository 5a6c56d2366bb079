"""Tests of simulation/tables.py: tables of recorded trajectories."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import networkx
import numpy as np
import pytest
from helpers.bad_input import refuses

from graphbandits import Results, simulate
from graphbandits.errors import InputError
from graphbandits.simulation import tables as trajectory_tables
from graphbandits.simulation.results import concat
from graphbandits.simulation.shard import Trajectories

BOTH = ("actions", "observations")
NAMED = networkx.DiGraph()
NAMED.add_edge("ann", "bob", probability=0.5)
NAMED.add_edges_from([("bob", "eve"), ("eve", "bob")])
HOW: dict[str, Any] = {"graph": NAMED, "horizon": 8, "record": BOTH}


@pytest.fixture(scope="module")
def results() -> Results:
    """Trials of two seeds."""
    return concat(
        [
            simulate(["ts-n", "ucb-n"], seed=5, trials=4, first_trial=2, **HOW),
            simulate(["ts-n", "ucb-n"], seed=6, trials=3, **HOW),
        ]
    )


def test_one_row_per_play_and_per_observation(results: Results) -> None:
    tables, seen = results.trajectories("ucb-n"), results["ucb-n"].trajectories
    assert seen is not None
    assert seen.action is not None
    assert seen.observations is not None
    actions = tables.table("actions").to_pydict()
    assert actions["seed"] == [5] * 32 + [6] * 24
    numbers = np.repeat([2, 3, 4, 5, 0, 1, 2], 8)
    assert actions["trial"] == numbers.tolist()
    assert actions["round"] == list(range(1, 9)) * 7
    assert actions["arm"] == seen.action.ravel().tolist()
    assert actions["arm_name"] == [("ann", "bob", "eve")[arm] for arm in actions["arm"]]
    observed = tables.to_pandas("observations")
    assert observed["reward"].tolist() == seen.observations.reward.tolist()
    assert observed["arm"].tolist() == seen.observations.arm.tolist()
    assert set(observed["weight"]) == {1.0}
    # every play is observed
    played = tables.to_pandas("actions").merge(observed, on=["seed", "trial", "round", "arm"])
    assert len(played) == 56


def test_trials_can_be_chosen(results: Results) -> None:
    chosen = results.trajectories("ts-n", trials=[2, 5, 3]).to_pandas("actions")
    pairs = chosen[["seed", "trial"]].drop_duplicates().to_numpy().tolist()
    assert pairs == [[5, 2], [5, 3], [5, 5], [6, 2]]
    whole = results.trajectories("ts-n").to_pandas("actions")
    assert chosen.equals(whole[whole["trial"].isin([2, 3, 5])].reset_index(drop=True))
    assert results.trajectories("ts-n", 1).table("actions").num_rows == 8


@pytest.mark.parametrize("rows", [1, 9, 20])
def test_batches_have_the_same_rows(
    results: Results, rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = [results.trajectories("ts-n").table(table) for table in BOTH]
    monkeypatch.setattr(trajectory_tables, "ROWS", rows)
    for table, expected in zip(BOTH, whole, strict=True):
        reader = results.trajectories("ts-n").batches(table)
        assert reader.schema == expected.schema
        parts = list(reader)
        assert len(parts) > 3
        assert expected.equals(type(expected).from_batches(parts))


def test_unknown_trials_policies_and_tables_are_refused(results: Results) -> None:
    for how in ({"trials": 6}, {"trials": [0, -1]}, {"trials": 0.5}):
        with refuses(InputError):
            results.trajectories("ts-n", **how)  # type: ignore[arg-type]
    with refuses(InputError):
        results.trajectories("ts")
    with refuses(InputError):
        results.trajectories("ts-n").batches("action")
    bare = simulate("ts-n", horizon=2, trials=2)
    with refuses(InputError):
        bare.trajectories("ts-n")
    with refuses(InputError):
        bare.to_pandas("actions")
    played = simulate("ts-n", horizon=2, trials=2, record="actions")
    with refuses(InputError):
        played.trajectories("ts-n").table("observations")


def test_trajectories_of_other_trials_or_arms_are_refused(results: Results) -> None:
    part = results["ts-n"].trajectories
    assert part is not None
    assert part.action is not None
    seen = part.observations
    assert seen is not None
    wrong = (
        part.rows(slice(0, 3)),
        Trajectories(part.action + np.int32(1)),
        Trajectories(observations=replace(seen, arm=seen.arm - np.int32(1))),
    )
    for one in wrong:
        with refuses(InputError):
            replace(results, policies={"ts-n": replace(results["ts-n"], trajectories=one)})
