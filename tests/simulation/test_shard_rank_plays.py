"""Tests of simulation/shard.py: plays by the rank of an arm in its trial."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from helpers.bad_input import refuses
from typer.testing import CliRunner

from graphbandits import Bernoulli, BetaBernoulli, Results, open_study, simulate
from graphbandits.cli import app
from graphbandits.errors import InputError
from graphbandits.rng import Keys
from graphbandits.simulation import shard
from graphbandits.simulation.plan import Plan
from graphbandits.simulation.results import PolicyResult

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


@pytest.mark.parametrize("block", [4, 250])
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


@pytest.mark.process
def test_a_store_gives_the_same_with_and_without_curves(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    words = "simulate --policy ts-n --policy uniform --graph star --arms 4 --horizon 30"
    more = "--trials 25 --seed 7 --output out"
    ran = CliRunner().invoke(app, [*words.split(), *more.split()])
    assert ran.exit_code == 0, ran.output
    for curves in (False, True):
        results = open_study("out")[0].results(curves=curves)
        for name in NAMES:
            assert results[name].rank_plays.tolist() == by_hand(name).tolist()  # type: ignore[union-attr]


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


def test_ranks_of_another_number_of_arms_are_refused() -> None:
    one = PolicyResult.from_trials(np.ones((2, 1)), np.ones(3, np.int64))
    wrong = {"a": PolicyResult(**vars(one) | {"rank_plays": np.ones(2, np.int64)})}
    with refuses(InputError):
        Results(np.array([1]), wrong, ("1", "2", "3"), {})
