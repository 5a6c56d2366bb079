"""Tests of simulation/shard.py: information ratios recorded by a simulation."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from helpers.bad_input import refuses
from helpers.made_up_results import same

from graphbandits import Bernoulli, BetaBernoulli, Results, simulate
from graphbandits.errors import InputError
from graphbandits.rules.gains import information_ratio
from graphbandits.simulation.results import concat
from graphbandits.simulation.shard import Ratios

PRIOR = BetaBernoulli(np.array([1.0, 2.0, 3.0, 1.5]), np.array([3.0, 2.0, 1.5, 1.0]))
CHAIN = np.array([[1, 1, 0, 0.5], [0, 1, 1, 0], [0, 0, 1, 0], [1, 0, 0, 1]], float)
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


def test_recording_ratios_changes_nothing_else(results: Results) -> None:
    plain = run(ratios=None)
    for policy in POLICIES:
        assert (plain[policy].regret == results[policy].regret).all()
        assert plain[policy].ratios is None
    assert "ratios" not in plain.settings
    assert results.settings["ratios"] == "bound"


@pytest.mark.process
@pytest.mark.parametrize(
    "how",
    [
        {"block": 1},
        {"block": 5, "workers": 2},
        {"workers": 2, "parallel": "processes"},
    ],
)
def test_ratios_do_not_depend_on_blocks_or_workers(
    results: Results, how: dict[str, object]
) -> None:
    same(run(**how), results)


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


def test_ratios_as_data_frame(results: Results) -> None:
    frame = results.to_pandas("ratios").set_index(["policy", "trial", "round"])
    assert frame.loc["ids-n", 3, 7]["psi"] == ratios_of(results, "ids-n").psi[3, 6]
    with refuses(InputError, match="these results have no information ratios"):
        run(ratios=None).to_pandas("ratios")


def test_invalid_ratios_are_rejected(results: Results) -> None:
    with refuses(InputError, match="ratios must be 'bound', 'joint' or None, not 'exact'"):
        run(ratios="exact")
    wrong = replace(ratios_of(results, "ts-n"), psi=np.zeros((2, 2)))
    with refuses(InputError, match=r"'psi' of 'ts-n' has the shape \(2, 2\)"):
        replace(results, policies={"ts-n": replace(results["ts-n"], ratios=wrong)})
