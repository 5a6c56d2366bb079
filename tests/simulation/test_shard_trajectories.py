"""Tests of simulation/shard.py: recorded actions and observations."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from helpers.bad_input import refuses
from helpers.stores import CHAIN, PRIOR, a_plan

from graphbandits import Bernoulli, Results, simulate
from graphbandits.errors import InputError
from graphbandits.graphs import as_process
from graphbandits.posteriors import Observations
from graphbandits.rng import Keys
from graphbandits.simulation.identity import series_of
from graphbandits.simulation.loop import TrajectoryRecorder
from graphbandits.simulation.shard import (
    RecordedObservations,
    Shard,
    Trajectories,
    check_record,
    to_columns,
)

RECORDS = ("actions", "observations")
POLICIES = ["ts-n", "ids-n", "exp3-ix"]
GRAPHS = {
    "probabilities": CHAIN,
    "random": "random(r=0.4)",
    "redrawn": "revealed-er(p=0.5, directed=true)",
}


def run(graph: object = CHAIN, **how: object) -> Results:
    given: dict = {"horizon": 23, "trials": 17, "seed": 3, "record": RECORDS, "progress": False}
    return simulate(POLICIES, Bernoulli(PRIOR), graph, **given | how)


def recorded(results: Results, policy: str) -> Trajectories:
    found = results[policy].trajectories
    assert found is not None
    return found


def assert_same(one: Trajectories, other: Trajectories) -> None:
    assert one.recorded == other.recorded
    assert to_columns(one) == to_columns(other)


@pytest.mark.parametrize("graph", GRAPHS)
def test_replay_gives_the_regret_the_plays_and_the_revealed_arms(graph: str) -> None:
    """The regret is the sum of theta* - theta_A, and a play reveals the arms of its graph."""
    results, process = run(GRAPHS[graph]), as_process(GRAPHS[graph], 4)
    world, keys = Bernoulli(PRIOR), Keys(3, 0, 17)
    theta = world.means(keys)
    rows = np.arange(17)
    for policy in POLICIES:
        seen = recorded(results, policy)
        assert seen.action is not None
        assert seen.observations is not None
        regret, plays = np.zeros(17), np.zeros((17, 4), np.int64)
        found = seen.observations
        by_round = [found.round == t for t in range(1, 24)]
        for t in range(1, 24):
            action = seen.action[:, t - 1].astype(np.int64)
            regret += theta.max(axis=1) - theta[rows, action]
            plays[rows, action] += 1
            trial, arm = process.round(t, keys).reveal(action, keys, t)
            mine = by_round[t - 1]
            assert found.trial[mine].tolist() == trial.tolist()
            assert found.arm[mine].tolist() == arm.tolist()
            reward = world.outcomes(theta, keys, t, trial, arm)
            assert found.reward[mine].tolist() == reward.tolist()
            assert results[policy].regret[:, t - 1].tolist() == regret.tolist()  # type: ignore[index]
        assert plays.sum(axis=0).tolist() == results[policy].plays.tolist()
        assert found.weight is None
        order = np.lexsort((found.arm, found.round, found.trial))
        assert order.tolist() == list(range(len(order)))


def test_same_bits_for_every_block_and_number_of_threads() -> None:
    whole = run(block=250)
    for how in ({"block": 1}, {"block": 7}, {"block": 7, "workers": 2}, {"workers": 2}):
        other = run(parallel="threads", **how)
        for policy in POLICIES:
            assert_same(recorded(whole, policy), recorded(other, policy))


@pytest.mark.process
def test_same_bits_in_processes() -> None:
    whole, other = run(), run(workers=2, parallel="processes", block=5)
    for policy in POLICIES:
        assert_same(recorded(whole, policy), recorded(other, policy))


def test_recording_changes_no_other_number() -> None:
    bare, whole = run(record=()), run()
    for policy in POLICIES:
        assert bare[policy].trajectories is None
        assert bare[policy].regret.tobytes() == whole[policy].regret.tobytes()  # type: ignore[union-attr]
    assert "record" not in bare.settings
    assert whole.settings["record"] == ["actions", "observations"]


def test_only_the_requested_part_is_recorded() -> None:
    played, seen = (recorded(run(record=word), "ts-n") for word in RECORDS)
    assert played.recorded == ("actions",)
    assert seen.recorded == ("observations",)
    both = recorded(run(), "ts-n")
    assert_same(both, Trajectories(played.action, seen.observations))


def a_shard(*record: str) -> Shard:
    return a_plan(record=record).run_shard("ts-n", Keys(4, 2, 5))


@pytest.mark.parametrize("record", [("actions",), ("observations",), RECORDS])
def test_file_of_a_shard_has_the_trajectories(record: tuple[str, ...]) -> None:
    shard = a_shard(*record)
    data = shard.to_parquet({"policy": "ts-n"})
    again, _ = Shard.from_parquet(data)
    assert again.trajectories is not None
    assert shard.trajectories is not None
    assert_same(again.trajectories, shard.trajectories)
    assert again.to_parquet({"policy": "ts-n"}) == data
    assert Shard.from_parquet(data, trajectories=False)[0].trajectories is None


def test_file_of_a_shard_without_trajectories_keeps_its_bytes() -> None:
    bare = replace(a_shard(*RECORDS), trajectories=None)
    assert bare.to_parquet({}) == a_shard().to_parquet({})


def test_weights_are_stored_only_if_one_differs_from_1() -> None:
    shard = a_shard("observations")
    assert shard.trajectories is not None
    seen = shard.trajectories.observations
    assert seen is not None
    weight = np.ones(len(seen.arm))
    weight[3] = 0.25
    heavy = replace(shard, trajectories=Trajectories(None, replace(seen, weight=weight)))
    again, _ = Shard.from_parquet(heavy.to_parquet({}))
    assert again.trajectories is not None
    found = again.trajectories.observations
    assert found is not None
    assert found.weight is not None
    assert found.weight.tolist() == weight.tolist()
    joined = RecordedObservations.concat([seen, found])
    assert joined.weights.tolist() == [1.0] * len(weight) + weight.tolist()
    assert RecordedObservations.concat([seen, seen]).weight is None


class Weighted(Observations):
    """Observations with a weight each."""

    def __init__(self, trial: object, arm: object, reward: object, weight: object) -> None:
        super().__init__(*map(np.array, (trial, arm, reward)))
        object.__setattr__(self, "weight", None if weight is None else np.array(weight))


def test_recorder_sorts_observations_and_their_weights() -> None:
    recorder = TrajectoryRecorder(3, 2, actions=False, observations=True)
    recorder.played(1, np.array([0, 1, 2]))
    recorder.observed(1, Weighted([2, 0, 0], [1, 4, 3], [0.1, 0.2, 0.3], None))
    recorder.observed(2, Weighted([0, 2], [5, 0], [0.4, 0.5], [1.0, 2.0]))
    found = recorder.trajectories
    assert found.action is None
    seen = found.observations
    assert seen is not None
    assert seen.start.tolist() == [0, 3, 3, 5]  # the second trial observed nothing
    assert seen.round.tolist() == [1, 1, 2, 1, 2]
    assert seen.arm.tolist() == [3, 4, 5, 1, 0]
    assert seen.reward.tolist() == [0.3, 0.2, 0.4, 0.1, 0.5]
    assert seen.weight is not None
    assert seen.weight.tolist() == [1.0, 1.0, 1.0, 1.0, 2.0]


def test_rows_and_concat_are_inverse() -> None:
    whole = recorded(run(), "ids-n")
    parts = [whole.rows(slice(first, first + 4)) for first in range(0, 17, 4)]
    assert [part.trials for part in parts] == [4, 4, 4, 4, 1]
    joined = Trajectories.concat(parts)
    assert joined is not None
    assert_same(whole, joined)
    assert whole.rows(slice(5, 5)).trials == 0
    assert Trajectories.concat([whole, None]) is None
    part = Trajectories.concat([whole, Trajectories(whole.action)])
    assert part is not None
    assert part.recorded == ("actions",)


def test_series_depends_on_the_trajectories_and_keeps_its_facts_without_them() -> None:
    series = [series_of(a_plan(record=record), "ts-n") for record in ((), "actions", RECORDS[::-1])]
    assert len({one.name for one in series}) == 3
    recordings = [one.facts["recording"] for one in series]
    assert list(recordings[0]) == ["rounds", "regret", "ratios"]
    assert recordings[2] == recordings[0] | {"actions": True, "observations": True}


@pytest.mark.parametrize("record", ["action", ["actions", "rewards"], 3, [None]])
def test_unknown_words_are_refused(record: object) -> None:
    with refuses(InputError):
        check_record(record)  # type: ignore[arg-type]
    with refuses(InputError):
        run(record=record)
