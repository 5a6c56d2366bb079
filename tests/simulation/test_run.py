"""Tests of simulation/run.py: arguments of ``simulate``, later trials, and sizes of shards."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from helpers.bad_input import refused
from helpers.cases import each

from graphbandits import Bernoulli, BetaBernoulli, simulate
from graphbandits.errors import InputError
from graphbandits.simulation.plan import Plan, Task
from graphbandits.simulation.run import WorkerOptions, shard_size


@each(
    ("change", "words"),
    [
        *(
            ({name: value}, [name, "whole number", "at least 1", repr(value)])
            for name in ("trials", "horizon", "workers", "block")
            for value in (0, -1, 2.5, True, "3", None)
        ),
        *(({"seed": value}, ["seed", "at least 0", repr(value)]) for value in (-1, 0.5, None)),
        *(
            ({"arms": value, "graph": "star"}, ["arms", "at least 1", repr(value)])
            for value in (0, -1, 2.5, True, "3")
        ),
        ({"arms": 4}, ["'paper'", "5 arms", "4"]),
        ({"regret": "true"}, ["'pseudo'", "'realised'", "'true'"]),
        ({"policies": "ids-m"}, ["unknown policy 'ids-m'", "did you mean 'ids-n'"]),
        ({"policies": ["ts-n", "ts-n"]}, ["'ts-n'", "twice"]),
        ({"policies": []}, ["no policy", "ids-n"]),
        ({"policies": None}, ["policy", "None"]),
        ({"graph": "sta"}, ["unknown graph 'sta'", "did you mean 'star'"]),
        ({"graph": [np.eye(5)] * 2}, ["2 rounds", "3"]),
        ({"world": Bernoulli(BetaBernoulli.of(4))}, ["5 arms", "4"]),
        ({"world": Bernoulli(BetaBernoulli.of(4)), "arms": 5}, ["5", "4"]),
    ],
)
def test_invalid_simulation_arguments_are_refused(change: dict[str, Any], words: list[str]) -> None:
    given = {"policies": "ts-n", "graph": "paper", "horizon": 3, "trials": 2}
    refused(lambda: simulate(**(given | change)), *words)


@each("policy", ["ts-n", "ts-n-sampled", "ids-n"])
@each("graph", ["revealed-er(p=0.4, directed=true)", "random(r=uniform)"])
def test_later_trials_equal_those_of_a_whole_run(policy: str, graph: str) -> None:
    given: dict[str, Any] = {"graph": graph, "arms": 4, "horizon": 40, "seed": 9}
    whole = simulate(policy, trials=20, **given)[policy]
    later = simulate(policy, trials=10, first_trial=10, block=3, **given)
    assert later[policy].final.tobytes() == whole.final[10:].tobytes()
    assert later.settings["runs"] == [{"seed": 9, "first_trial": 10, "trials": 10}]


def test_invalid_first_trials_are_refused() -> None:
    for wrong in (-1, 1.5, "3", True, None):
        with pytest.raises(InputError, match="first_trial must be a whole number"):
            simulate("ts-n", horizon=2, trials=2, first_trial=wrong)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="trial"):
        simulate("ts-n", horizon=2, trials=2, first_trial=2**32 - 1)


@each(
    ("graph", "arms", "size"), [("empty", 50, 250), ("complete", 50, 80), ("random(r=0.5)", 99, 80)]
)
def test_shards_have_fewer_trials_if_many_observations_are_recorded(
    graph: str, arms: int, size: int
) -> None:
    given: dict[str, Any] = {"graph": graph, "arms": arms, "horizon": 1000, "trials": 10**4}
    for record, trials in (((), 250), ("actions", 250), ("observations", size)):
        plan = Plan.of("ucb-n", record=record, **given)
        task = Task(plan, "ucb-n", 0, plan.trials)
        assert shard_size([task], plan, WorkerOptions()) == trials
        assert shard_size([task], plan, WorkerOptions(shard=900)) == 900
