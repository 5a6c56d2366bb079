"""Tests of simulation/shard.py: what is recorded, and its file."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.bad_input import refuses
from helpers.cases import each
from helpers.made_up_results import same
from helpers.stores import CHAIN, PRIOR, a_plan

from graphbandits import Bernoulli, BetaBernoulli, Results, simulate
from graphbandits.errors import InputError
from graphbandits.graphs import as_process
from graphbandits.posteriors import Observations
from graphbandits.rng import Keys
from graphbandits.rules.gains import information_ratio
from graphbandits.simulation import shard
from graphbandits.simulation.loop import TrajectoryRecorder
from graphbandits.simulation.plan import Plan
from graphbandits.simulation.results import concat
from graphbandits.simulation.shard import (
    Ratios,
    Shard,
    Trajectories,
    check_record,
    recorded_rounds,
    to_columns,
)


@each("horizon", [1, 2, 199, 200, 201, 1000, 10**6])
def test_recorded_rounds_are_few_and_include_the_ends(horizon: int) -> None:
    rounds = recorded_rounds(horizon)
    assert rounds[0] == 1
    assert rounds[-1] == horizon
    assert len(rounds) <= 200
    assert (np.diff(rounds) > 0).all()


NAMES = ["ts-n", "uniform"]
HOW = {"graph": "star", "arms": 4, "horizon": 30, "trials": 25, "seed": 7}


def by_hand(name: str) -> np.ndarray:
    """Return the plays per rank: plays of each trial sorted by its means, summed over trials."""
    plan = Plan.of(name, **HOW)  # type: ignore[arg-type]
    shard = plan.run_shard(name, Keys(7, 0, 25))
    plays = np.zeros((25, 4), np.int64)
    plays[shard.plays.trial, shard.plays.arm] = shard.plays.count
    means = plan.world.means(Keys(7, 0, 25))
    return np.array([p[np.argsort(-m)] for p, m in zip(plays, means, strict=True)]).sum(axis=0)


@each("block", [4, 250])
def test_a_simulation_counts_plays_by_rank(block: int) -> None:
    results = simulate(NAMES, block=block, **HOW)  # type: ignore[arg-type]
    for name in NAMES:
        ranked = results[name].rank_plays
        assert ranked is not None
        assert ranked.tolist() == by_hand(name).tolist()
        assert ranked.sum() == results[name].plays.sum()
    # a policy that learns plays the best arm most often; the other plays all arms equally often
    learned, blind = (results[name].rank_plays for name in NAMES)
    assert learned.argmax() == 0  # type: ignore[union-attr]
    assert learned[0] > 1.5 * blind[0]  # type: ignore[index]


def test_fixed_means_rank_the_same_arms_in_every_trial() -> None:
    world = Bernoulli(BetaBernoulli.of(3), fixed=[0.2, 0.9, 0.2])
    results = simulate("ts", world, "empty", horizon=20, trials=5)
    ranked, plays = results["ts"].rank_plays, results["ts"].plays
    assert ranked.tolist() == plays[[1, 0, 2]].tolist()  # type: ignore[union-attr]


def test_ranks_of_more_trials_add_up() -> None:
    parts = [simulate("ts-n", **HOW | {"seed": seed}) for seed in (1, 2)]  # type: ignore[arg-type]
    both = Results.concat(parts)["ts-n"].rank_plays
    added = np.sum([part["ts-n"].rank_plays for part in parts], axis=0)
    assert both.tolist() == added.tolist()  # type: ignore[union-attr]


def test_too_many_arms_are_not_ranked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shard, "MAX_RANKED_ENTRIES", 99)
    assert simulate("ts-n", **HOW)["ts-n"].rank_plays is None  # type: ignore[arg-type]


POLICIES = ["ts-n", "ids-n", "ucb-n"]


def run(**how: object) -> Results:
    given: dict = {"horizon": 25, "trials": 14, "seed": 3, "ratios": "bound", "progress": False}
    return simulate(POLICIES, Bernoulli(PRIOR), CHAIN, **given | how)


def ratios_of(results: Results, policy: str) -> Ratios:
    found = results[policy].ratios
    assert found is not None
    return found


@pytest.fixture(scope="module")
def results() -> Results:
    return run()


def test_ratios_of_first_round_match_prior(results: Results) -> None:
    beliefs = PRIOR.beliefs(PRIOR.init(trials=1), "strict")
    gain = beliefs.h @ CHAIN.T
    psi = information_ratio(beliefs.alpha, beliefs.delta, gain)
    alpha = beliefs.alpha[0]
    for policy in POLICIES:
        ratios = ratios_of(results, policy)
        assert ratios.psi[:, 0] == pytest.approx(psi[0], rel=1e-12)
        assert ratios.entropy[:, 0] == pytest.approx(-(alpha * np.log(alpha)).sum(), rel=1e-12)
    # UCB-N has observed nothing and plays all arms with equal probability
    even = beliefs.delta.mean() ** 2 / gain.mean()
    assert ratios_of(results, "ucb-n").ratio[:, 0] == pytest.approx(even, rel=1e-12)


def test_ratios_use_observed_outcomes() -> None:
    """On the complete graph all outcomes are seen, so every policy has the same psi and entropy."""
    results = simulate(
        POLICIES, Bernoulli(PRIOR), "complete", horizon=20, trials=9, seed=2, ratios="bound"
    )
    one, other = ratios_of(results, "ts-n"), ratios_of(results, "ucb-n")
    assert (one.psi == other.psi).all()
    assert (one.entropy == other.entropy).all()
    assert len(np.unique(one.entropy[:, -1])) == 9


def test_ratio_of_thompson_sampling_is_psi(results: Results) -> None:
    ratios = ratios_of(results, "ts-n")
    assert ratios.ratio == pytest.approx(ratios.psi, rel=1e-9)
    lower = ratios_of(results, "ids-n")
    assert (lower.ratio <= lower.psi * (1 + 1e-9)).all()


def test_sums_include_unrecorded_rounds() -> None:
    every, few = run(horizon=230, trials=3), run(horizon=200, trials=3)
    assert len(every.rounds) == 200
    for policy in POLICIES:
        whole = ratios_of(few, policy)  # of 200 rounds all are recorded
        sums = np.cumsum(np.nan_to_num(whole.ratio), axis=1)
        assert whole.ratio_sum == pytest.approx(sums, rel=1e-12)
        common = every.rounds <= 200
        part = ratios_of(every, policy).ratio_sum[:, common]
        assert (part == whole.ratio_sum[:, every.rounds[common] - 1]).all()


def test_ratios_with_joint_gain_are_smaller(results: Results) -> None:
    joint = run(ratios="joint", horizon=6)
    for policy in POLICIES:
        exact, bound = ratios_of(joint, policy), ratios_of(results, policy)
        assert (exact.ratio <= bound.ratio[:, :6] * (1 + 1e-9)).all()
        assert (exact.ratio < bound.ratio[:, :6] * (1 - 1e-4)).any()
        assert (exact.psi == bound.psi[:, :6]).all()


def test_concat_joins_ratios(results: Results) -> None:
    parts = [run(trials=5), run(trials=9, first_trial=5)]
    same(concat(parts), results)
    with refuses(InputError, match="results of different problems cannot be combined"):
        concat([parts[0], run(trials=9, first_trial=5, ratios=None)])


def test_invalid_ratios_are_rejected(results: Results) -> None:
    with refuses(InputError, match="ratios must be 'bound', 'joint' or None, not 'exact'"):
        run(ratios="exact")


RECORDS = ("actions", "observations")
POLICIES_RECORDED = ["ts-n", "ids-n", "exp3-ix"]
GRAPHS = {
    "probabilities": CHAIN,
    "random": "random(r=0.4)",
    "redrawn": "revealed-er(p=0.5, directed=true)",
}


def run_recorded(graph: object = CHAIN, **how: object) -> Results:
    given: dict = {"horizon": 23, "trials": 17, "seed": 3, "record": RECORDS, "progress": False}
    return simulate(POLICIES_RECORDED, Bernoulli(PRIOR), graph, **given | how)


def recorded(results: Results, policy: str) -> Trajectories:
    found = results[policy].trajectories
    assert found is not None
    return found


def assert_same(one: Trajectories, other: Trajectories) -> None:
    assert one.recorded == other.recorded
    assert to_columns(one) == to_columns(other)


@each("graph", list(GRAPHS))
def test_replay_gives_the_regret_the_plays_and_the_revealed_arms(graph: str) -> None:
    """The regret is the sum of theta* - theta_A, and a play reveals the arms of its graph."""
    results, process = run_recorded(GRAPHS[graph]), as_process(GRAPHS[graph], 4)
    world, keys = Bernoulli(PRIOR), Keys(3, 0, 17)
    theta = world.means(keys)
    rows = np.arange(17)
    for policy in POLICIES_RECORDED:
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
        order = np.lexsort((found.arm, found.round, found.trial))
        assert order.tolist() == list(range(len(order)))


def test_recording_changes_no_other_number() -> None:
    bare, whole = run_recorded(record=()), run_recorded(ratios="bound")
    for policy in POLICIES_RECORDED:
        assert bare[policy].trajectories is None
        assert bare[policy].ratios is None
        assert bare[policy].regret.tobytes() == whole[policy].regret.tobytes()  # type: ignore[union-attr]
    assert {"record", "ratios"}.isdisjoint(bare.settings)
    assert whole.settings["record"] == ["actions", "observations"]
    assert whole.settings["ratios"] == "bound"


def test_only_the_requested_part_is_recorded() -> None:
    played, seen = (recorded(run_recorded(record=word), "ts-n") for word in RECORDS)
    assert played.recorded == ("actions",)
    assert seen.recorded == ("observations",)
    both = recorded(run_recorded(), "ts-n")
    assert_same(both, Trajectories(played.action, seen.observations))


def a_shard(*record: str) -> Shard:
    eligible = 0.4 if "eligible" in record else None
    return a_plan(record=record, eligible=eligible).run_shard("ts-n", Keys(4, 2, 5))


@each("record", [("actions",), ("observations",), ("eligible",), (*RECORDS, "eligible")])
def test_file_of_a_shard_has_the_trajectories(record: tuple[str, ...]) -> None:
    shard = a_shard(*record)
    data = shard.to_parquet({"policy": "ts-n"})
    again, _ = Shard.from_parquet(data)
    assert again.trajectories is not None
    assert shard.trajectories is not None
    assert again.trajectories.recorded == record
    assert_same(again.trajectories, shard.trajectories)
    assert again.to_parquet({"policy": "ts-n"}) == data
    assert Shard.from_parquet(data, trajectories=False)[0].trajectories is None


def test_recorder_sorts_observations() -> None:
    """Late outcomes arrive in another order than that of their plays."""
    recorder = TrajectoryRecorder(3, actions=False, observations=True)
    recorder.played(1, np.array([0, 1, 2]))
    rows = [np.array(row) for row in ([2, 0, 0], [1, 4, 3], [0.1, 0.2, 0.3])]
    recorder.observed(2, Observations(*rows, time=np.array([2.0, 2.0, 1.0])))
    recorder.observed(3, Observations(*(np.array(row) for row in ([0, 2], [5, 0], [0.4, 0.5]))))
    found = recorder.trajectories
    assert found.action is None
    seen = found.observations
    assert seen is not None
    assert seen.start.tolist() == [0, 3, 3, 5]  # the second trial observed nothing
    assert seen.round.tolist() == [1, 2, 3, 2, 3]
    assert seen.arm.tolist() == [3, 4, 5, 1, 0]
    assert seen.reward.tolist() == [0.3, 0.2, 0.4, 0.1, 0.5]


def test_rows_and_concat_are_inverse() -> None:
    whole = recorded(run_recorded(), "ids-n")
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


@each("record", ["action", ["actions", "rewards"], 3, [None]])
def test_unknown_words_are_refused(record: object) -> None:
    with refuses(InputError):
        check_record(record)  # type: ignore[arg-type]
    with refuses(InputError):
        run_recorded(record=record)
