"""Tests of simulation/conditions.py: eligible arms, their records and identity."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.bad_input import refuses
from helpers.stores import CHAIN, PRIOR, a_plan

from graphbandits import Bernoulli, Results, simulate
from graphbandits._types import Floats
from graphbandits.errors import InputError, NeedsError
from graphbandits.graphs import Feedback, as_process
from graphbandits.graphs.properties import GraphInfo
from graphbandits.policies import Event, Problem, View, as_policy
from graphbandits.posteriors import Observations
from graphbandits.registry import registered, text_of
from graphbandits.rng import Keys
from graphbandits.simulation.conditions import check_eligible, eligible_arms
from graphbandits.simulation.identity import series_of
from graphbandits.simulation.loop import RunMonitor, decide
from graphbandits.simulation.plan import Plan
from graphbandits.simulation.shard import Shard
from graphbandits.study.run import run_plan
from graphbandits.theory import audit, bounds_of

RECORDS = ("actions", "observations", "eligible")
POLICIES = ["ts-n", "ids-n", "exp3-ix", "ts-n-sampled"]
ROUNDS = np.random.default_rng(3).random((23, 4)) < 0.6
ROUNDS[:, 1] |= ~ROUNDS.any(axis=1)


def run(**how: Any) -> Results:
    given: dict[str, Any] = {"horizon": 23, "trials": 17, "seed": 3, "eligible": 0.5}
    given |= {"record": RECORDS, "progress": False, "graph": CHAIN, "world": Bernoulli(PRIOR)}
    return simulate(how.pop("policies", POLICIES), **given | how)


def parts(results: Results, policy: str) -> tuple[Any, Any, Any]:
    found = results[policy].trajectories
    assert found is not None
    return found.action, found.observations, found.eligible


def bits(results: Results) -> list[bytes]:
    every = []
    for name in results.policies:
        action, seen, eligible = parts(results, name)
        arrays = (results[name].regret, action, seen.arm, seen.reward, eligible)
        every += [np.asarray(array).tobytes() for array in arrays]
    return every


@pytest.mark.parametrize("regret", ["pseudo", "realised"])
@pytest.mark.parametrize("eligible", [0.5, ROUNDS, ROUNDS[0]], ids=["p", "rounds", "arms"])
def test_replay_gives_the_regret_and_the_observations(eligible: Any, regret: str) -> None:
    """The regret is that against the best eligible arm; all neighbours are observed."""
    results = run(eligible=eligible, regret=regret)
    world, keys, process = Bernoulli(PRIOR), Keys(3, 0, 17), as_process(CHAIN)
    theta, rows = world.means(keys), np.arange(17)
    for name in POLICIES:
        action, seen, allowed = parts(results, name)
        total, unplayed = np.zeros(17), 0
        for t in range(1, 24):
            played = action[:, t - 1]
            best = np.array(
                [max(np.flatnonzero(allowed[b, t - 1]), key=lambda j: theta[b, j]) for b in rows]
            )
            assert allowed[rows, t - 1, played].all()
            if regret == "pseudo":
                total += theta[rows, best] - theta[rows, played]
            else:
                total += world.outcomes(theta, keys, t, rows, best)
                total -= world.outcomes(theta, keys, t, rows, played)
            trial, arm = process.round(t, keys).reveal(played.astype(np.int64), keys, t)
            here = seen.round == t
            assert sorted(zip(seen.trial[here], seen.arm[here], strict=True)) == sorted(
                zip(trial, arm, strict=True)
            )
            unplayed += (~allowed[trial, t - 1, arm]).sum()
        np.testing.assert_allclose(results[name].final, total, atol=1e-12)
        assert unplayed > 0  # arms that were not eligible were observed


def test_given_arms_are_the_recorded_ones() -> None:
    for name in POLICIES:
        assert (parts(run(eligible=ROUNDS), name)[2] == ROUNDS).all()
        assert (parts(run(eligible=ROUNDS[4]), name)[2] == ROUNDS[4]).all()


def test_all_policies_meet_the_same_eligible_arms_and_seeds_differ() -> None:
    results = run()
    first = parts(results, "ts-n")[2]
    assert all((parts(results, name)[2] == first).all() for name in POLICIES)
    assert (parts(run(seed=4), "ts-n")[2] != first).any()
    later = parts(run(first_trial=5, trials=12), "ts-n")[2]
    assert (later == first[5:]).all()


def test_arms_are_drawn_with_probability_p() -> None:
    """Given p, an arm is eligible with p + (1-p)^K / K; five standard errors."""
    for p, arms in ((0.3, 4), (0.05, 3), (1.0, 3)):
        drawn = np.concatenate([eligible_arms(p, t, Keys(2, 0, 500), arms) for t in range(1, 21)])
        wanted = p + (1.0 - p) ** arms / arms
        spread = 5.0 * np.sqrt(wanted * (1.0 - wanted) / len(drawn))
        assert (np.abs(drawn.mean(axis=0) - wanted) <= spread).all()
        assert drawn.any(axis=1).all()
        assert (drawn.sum(axis=1) == 1).mean() >= (1.0 - p) ** arms  # the drawn single arms
        pairs = (drawn[:, 0] & drawn[:, 1]).mean()
        assert abs(pairs - p * p) <= 5.0 * np.sqrt(p * p * (1.0 - p * p) / len(drawn))


def test_probability_1_gives_the_numbers_without_eligible_arms() -> None:
    bare = run(eligible=None, record=RECORDS[:2])
    full = run(eligible=1, record=RECORDS[:2])
    for name in POLICIES:
        assert bare[name].regret.tobytes() == full[name].regret.tobytes()  # type: ignore[union-attr]


def test_all_arms_as_an_array_give_the_numbers_without_eligible_arms() -> None:
    names = [text_of(as_policy(name)) for name in registered("policy") if name != "ucb-lp"]
    how = {"policies": names, "graph": "paper", "world": None, "record": (), "trials": 4}
    bare, full = (run(eligible=eligible, **how) for eligible in (None, np.ones(5, bool)))
    for name in names:
        assert bare[name].regret.tobytes() == full[name].regret.tobytes()  # type: ignore[union-attr]


def test_same_bits_for_every_block_and_number_of_threads() -> None:
    one = bits(run())
    for how in ({"block": 1}, {"block": 4}, {"block": 5, "workers": 2, "parallel": "threads"}):
        assert bits(run(**how)) == one


@pytest.mark.process
@pytest.mark.parametrize("eligible", [0.5, ROUNDS], ids=["p", "rounds"])
def test_same_bits_in_processes(eligible: Any) -> None:
    how = {"block": 5, "workers": 2, "parallel": "processes"}
    assert bits(run(eligible=eligible, **how)) == bits(run(eligible=eligible))


def test_exponential_weights_divide_by_positive_probabilities() -> None:
    """An arm that is not eligible may be observed: only by the play of an eligible neighbour."""
    names = ["exp3-set", "exp3-ix", "exp3-g", "exp3-res"]
    least, unplayable = [], []

    class Divisors(RunMonitor):
        def decided(self, t: int, graph: Feedback, pi: Floats) -> None:
            self.pi, self.chance = pi, graph.observed(pi)

        def observed(self, t: int, seen: Observations) -> None:
            least.append(self.chance[seen.trial, seen.arm].min())
            unplayable.append((self.pi[seen.trial, seen.arm] == 0.0).sum())

    run(policies=names, eligible=0.3, horizon=200, monitor=lambda *_: Divisors())
    assert min(least) > 0.0
    assert sum(unplayable) > 0
    for name in names:  # the estimated losses stay finite
        policy, keys, process = as_policy(name), Keys(3, 0, 5), as_process(CHAIN)
        problem = Problem(PRIOR, 50, policy.needs, GraphInfo(process))
        state, graph = policy.init(problem, keys), process.round(1, keys)
        for t in range(1, 51):
            allowed = eligible_arms(0.3, t, keys, 4)
            pi, action = decide(policy, state, View(t, keys, problem, graph, allowed))
            trial, arm = graph.reveal(action, keys, t)
            seen = Observations(trial, arm, ((trial + arm + t) % 2).astype(float))
            state = policy.update(state, Event(t, keys, problem, graph, pi, action, seen))
        assert np.isfinite(state["loss"]).all()  # type: ignore[arg-type]


def test_a_restricted_run_learns() -> None:
    """Thompson sampling has less regret than uniform play on the eligible arms."""
    results = run(policies=["ts-n", "uniform"], horizon=200, trials=60)
    difference = results["uniform"].final - results["ts-n"].final
    assert difference.mean() > 5.0 * difference.std() / np.sqrt(60)


# Identity ---------------------------------------------------------------------------------------


def test_eligible_arms_are_part_of_the_series_and_absent_ones_change_nothing() -> None:
    plans = [a_plan(eligible=eligible) for eligible in (None, 0.5, 0.6, ROUNDS[:15], ROUNDS[1:16])]
    series = [series_of(plan, "ts-n") for plan in plans]
    assert len({one.name for one in series}) == 5
    json.dumps([one.facts for one in series])
    settings = [plan.settings() for plan in plans]
    assert "eligible" not in settings[0]
    assert settings[1]["eligible"] == 0.5
    assert settings[3]["eligible"]["shape"] == [15, 4]
    assert settings[3]["eligible"] != settings[4]["eligible"]


def test_results_with_other_eligible_arms_cannot_be_joined() -> None:
    one, other = run(trials=3, record=()), run(trials=3, first_trial=3, eligible=0.6, record=())
    with pytest.raises(InputError, match="cannot be combined; problem: eligible"):
        Results.concat([one, other])
    same = run(trials=3, first_trial=3)
    assert Results.concat([run(trials=3), same]).trials == 6


# Records ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("record", [("eligible",), ("actions", "eligible"), RECORDS])
def test_file_of_a_shard_has_the_eligible_arms(record: tuple[str, ...]) -> None:
    plan = a_plan(eligible=0.4, record=record)
    shard = plan.run_shard("ts-n", Keys(4, 2, 5))
    again, facts = Shard.from_parquet(shard.to_parquet({"x": 1}))
    assert facts == {"x": 1}
    assert shard.trajectories is not None
    assert again.trajectories is not None
    assert again.trajectories.recorded == shard.trajectories.recorded == record
    mine, its = shard.trajectories.eligible, again.trajectories.eligible
    assert mine is not None
    assert its is not None
    assert its.dtype == bool
    assert mine.shape == (5, 15, 4)
    assert (mine == its).all()
    bare, _ = Shard.from_parquet(shard.to_parquet({}), trajectories=False)
    assert bare.trajectories is None


def test_tables_have_one_row_per_eligible_arm() -> None:
    results = run()
    allowed = parts(results, "ids-n")[2]
    rows = results.trajectories("ids-n", trials=[2, 9]).table("eligible").to_pydict()
    wanted = [
        (3, trial, t, arm)
        for trial in (2, 9)
        for t in range(1, 24)
        for arm in np.flatnonzero(allowed[trial, t - 1])
    ]
    columns = ("seed", "trial", "round", "arm")
    assert list(zip(*(rows[name] for name in columns), strict=True)) == wanted
    assert len(results.to_pandas("eligible")) == len(POLICIES) * allowed.sum()


@pytest.mark.process
def test_an_interrupted_run_continues_with_the_same_bits(tmp_path: Path) -> None:
    """A store with the first trials computes the others; verify finds nothing."""
    how: dict[str, Any] = {"progress": False, "workers": 1}
    given: dict[str, Any] = {"eligible": 0.5, "record": RECORDS}
    run_plan(a_plan(trials=6, **given), tmp_path, **how)
    study = run_plan(a_plan(trials=12, **given), tmp_path, **how)
    whole = simulate(
        ["ts-n", "ucb-n"], Bernoulli(PRIOR), CHAIN, horizon=15, trials=12, seed=4, **given
    )
    found = study.results(trajectories=True)
    assert bits(found) == bits(whole)
    assert found.settings["eligible"] == 0.5
    assert study.verify() == []


# Refused ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "eligible",
    [
        0,
        0.0,
        1.0001,
        -0.5,
        float("nan"),
        True,
        "half",
        [True, False],
        [1, 0, 1, 1],
        [[True, False, True, False]] * 14,
        [[True, False], [True]],
        [False] * 4,
        [[True] * 4] * 7 + [[False] * 4] * 8,
    ],
    ids=str,
)
def test_bad_eligible_arms_are_refused(eligible: Any) -> None:
    with refuses(InputError):
        a_plan(eligible=eligible)


def test_given_arrays_are_copied() -> None:
    given = ROUNDS[:15].copy()
    kept = check_eligible(given, 15, 4)
    given[:] = False
    assert isinstance(kept, np.ndarray)
    assert (kept == ROUNDS[:15]).all()


def test_policies_ratios_and_records_that_do_not_fit_are_refused() -> None:
    with refuses(NeedsError, match="policy 'ucb-lp' needs all arms in every round"):
        Plan.of("ucb-lp", graph="star", arms=4, horizon=20, trials=2, eligible=0.5)
    with refuses(InputError, match="information ratios are not defined for eligible arms"):
        a_plan(eligible=0.5, ratios="bound")
    with refuses(InputError):
        a_plan(record="eligible")


def test_bounds_and_audits_are_not_for_eligible_arms() -> None:
    plan = Plan.of("ts-n", graph="paper", horizon=5, trials=2, eligible=0.5)
    assert bounds_of(plan) == ()
    assert bounds_of(replace(plan, eligible=None)) != ()
    with refuses(InputError, match="no audit: only some arms are eligible in a round"):
        audit(plan)


def test_blocks_too_large_to_record_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    from graphbandits.simulation import loop

    monkeypatch.setattr(loop, "MAX_OBSERVATIONS", 100)
    with refuses(InputError, match="a block of 5 trials, 15 rounds and 4 arms is too large to"):
        a_plan(eligible=0.5, record="eligible").run_shard("ts-n", Keys(4, 0, 5))
