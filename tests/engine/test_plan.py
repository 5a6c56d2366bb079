"""Tests of engine/plan.py: limits of a plan."""

from __future__ import annotations

import itertools
import tracemalloc
from typing import Any

import numpy as np
import pytest
from helpers.bad_input import refused
from helpers.recorded_runs import GRAPHS, able

from graphbandits import Results, simulate
from graphbandits.engine import Plan
from graphbandits.engine import plan as plan_module
from graphbandits.engine.loop import run_recorded
from graphbandits.rng import Keys


def test_too_many_trials_are_refused_before_anything_runs() -> None:
    refused(lambda: Plan.of("ts-n", horizon=1, trials=2**32 + 1), "trial", "2**32")


def assert_same_results(left: Results, right: Results) -> None:
    for name in left.policies:
        assert (left[name].final == right[name].final).all(), name
        assert (left[name].mean == right[name].mean).all(), name
        assert (left[name].plays == right[name].plays).all(), name


@pytest.mark.process
@pytest.mark.parametrize("graph", GRAPHS)
def test_results_do_not_depend_on_block_size_workers_or_order(graph: str) -> None:
    def run(policies: list[str], **how: Any) -> Results:
        return simulate(policies, graph=graph, arms=4, horizon=120, trials=21, seed=5, **how)

    policies = able(graph, 4, 120)
    assert len(policies) > 20
    whole = run(policies, block=100)
    assert_same_results(whole, run(policies, block=1))
    assert_same_results(whole, run(policies, block=7, workers=2))
    assert_same_results(whole, run(policies[::-1], block=8, workers=2))
    assert len(np.unique(whole["ids-n"].final)) > 15  # the trials do differ


@pytest.mark.parametrize("workers", [1, 2])
def test_blocks_have_fewer_trials_for_many_arms(workers: int, monkeypatch) -> None:
    made: list[int] = []

    def counting(*given: Any, **more: Any) -> Any:
        keys = next(one for one in given if isinstance(one, Keys))
        made.append(keys.trials)
        return run_recorded(*given, **more)

    def run() -> Results:
        made.clear()
        return simulate(
            ["ts-n", "ids-n"], arms=5, horizon=20, trials=11, seed=3, workers=workers, block=8
        )

    monkeypatch.setattr(plan_module, "run_recorded", counting)
    whole = run()
    # a block of eight would leave the second worker three
    assert sorted(made) == ([3, 3, 8, 8] if workers == 1 else [5, 5, 6, 6])
    for entries, sizes in ((20, [3, 3, 4, 4, 4, 4]), (4, [1] * 22)):
        monkeypatch.setattr(plan_module, "MAX_BLOCK_ENTRIES", entries)
        assert_same_results(whole, run())
        assert sorted(made) == sizes


def test_trials_do_not_depend_on_their_number() -> None:
    few = simulate("ids-n", graph="paper", horizon=50, trials=5, seed=2)
    many = simulate("ids-n", graph="paper", horizon=50, trials=12, seed=2)
    assert (few["ids-n"].final == many["ids-n"].final[:5]).all()


def test_seeds_give_different_results() -> None:
    one = simulate("ts-n", graph="paper", horizon=50, trials=5, seed=1)
    two = simulate("ts-n", graph="paper", horizon=50, trials=5, seed=2)
    assert (one["ts-n"].final != two["ts-n"].final).all()


@pytest.mark.process
@pytest.mark.parametrize("policy", ["ts-n-sampled", "ids-n"])
@pytest.mark.parametrize("graph", [*GRAPHS, "ring"])
def test_memory_does_not_grow_with_rounds(policy: str, graph: str) -> None:
    """Except the 200 that are recorded, whose memory is reserved at the start."""
    rounds = 3000
    memory = np.zeros(rounds, np.int64)
    played = itertools.count()

    def look(_: int) -> None:
        memory[next(played)] = tracemalloc.get_traced_memory()[0]

    settings: dict[str, Any] = {"graph": graph, "arms": 4, "trials": 1}
    Plan.of(policy, horizon=5, **settings).run_shard(policy, Keys(0, 0, 1))  # fills the caches
    plan = Plan.of(policy, horizon=rounds, **settings)
    tracemalloc.start()
    try:
        plan.run_shard(policy, Keys(0, 0, 1), look)
    finally:
        tracemalloc.stop()
    assert next(played) == rounds
    # a list of the rounds would show
    assert memory[1500:].max() - memory[300:750].min() < 2000, memory[::15]
