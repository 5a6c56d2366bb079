"""Tests of Plan.pack and Plan.unpack: the bytes that name, send and store a problem."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from helpers.reward_families import FAMILIES
from helpers.valid_policies import temporarily_registered

from graphbandits import Bernoulli, BetaBernoulli
from graphbandits._files import from_npz, to_npz
from graphbandits.errors import InputError
from graphbandits.graphs import DenseFeedback, Fixed
from graphbandits.rng import Keys
from graphbandits.simulation.plan import Plan
from graphbandits.worlds import as_posterior, as_world

PRIOR = BetaBernoulli(np.array([1.0, 2.0]), np.array([3.0, 0.5]), "strict")
DIRECTED = np.array([[1.0, 0.5, 0.0], [0.0, 1.0, 0.25], [0.0, 0.0, 1.0]])


def a_plan(**how: Any) -> Plan:
    return Plan.of(**{"policies": "ts-n", "graph": DIRECTED, "horizon": 6, "trials": 3} | how)


def restored(plan: Plan) -> Plan:
    return Plan.unpack(
        plan.pack(),
        policies=plan.policies,
        horizon=plan.horizon,
        trials=plan.trials,
        seed=plan.seed,
        recording=plan.recording,
    )


@pytest.mark.parametrize("family", FAMILIES)
def test_restored_plan_computes_the_same_shard(family: str) -> None:
    given = FAMILIES[family]
    fixed = as_world(given.world, 3, means=given.means)
    for how in ({"world": given.world, "posterior": given.other_posterior}, {"world": fixed}):
        plan = a_plan(**how)
        again = restored(plan)
        assert again.pack() == plan.pack()
        (policy,), keys = plan.policies, Keys(3, 2, 4)
        one, other = plan.run_shard(policy, keys), again.run_shard(policy, keys)
        assert one.regret.tobytes() == other.regret.tobytes()
        assert (again.posterior is again.world.prior) == ("posterior" not in how)


def test_eligible_arms_answers_and_names_are_restored() -> None:
    mask = np.random.default_rng(1).random((6, 3)) < 0.5
    mask[:, 1] = True
    process = Fixed(DenseFeedback(DIRECTED), ("a", "bö", "c"))
    plan = a_plan(graph=process, eligible=mask, delay=[1, 3], answer_rate=0.5)
    again = restored(plan)
    assert np.array_equal(again.eligible, mask)
    assert again.answers == plan.answers
    assert again.arm_names == ("a", "bö", "c")
    assert restored(a_plan(eligible=0.25)).eligible == 0.25


def test_problem_depends_on_what_determines_numbers_for_all_policies() -> None:
    same = a_plan()
    for how in ({"policies": "ids-n"}, {"horizon": 9}, {"trials": 9}, {"seed": 1}, {"rounds": 2}):
        assert a_plan(**how).problem == same.problem
    assert a_plan(graph=np.asfortranarray(DIRECTED)).problem == same.problem
    other = DIRECTED.copy()
    other[2, 0] = 1e-9
    mask = np.array([True, True, False])
    plans = [
        same,
        a_plan(graph=other),
        a_plan(world=Bernoulli(BetaBernoulli.of(3, a=1 + 2**-50))),
        a_plan(world=as_world("bernoulli", 3, means=[0.1, 0.2, 0.3])),
        a_plan(posterior="beta-bernoulli(accuracy=strict)"),
        a_plan(world="gaussian"),
        a_plan(world="bernoulli", posterior="normal"),
        a_plan(eligible=0.5),
        a_plan(eligible=mask),
        a_plan(eligible=~mask),
        a_plan(delay=1),
        a_plan(answer_rate=0.5),
    ]
    assert len({plan.problem for plan in plans}) == len(plans)


@pytest.mark.process
def test_problem_is_the_same_in_another_process() -> None:
    code = (
        "import json; from graphbandits.simulation import Plan; "
        "print(json.dumps([Plan.of('ts-n', w, "
        "'random(r=0.2)', arms=4, horizon=5, trials=1).problem for w in ('bernoulli', 'poisson')]))"
    )
    command = [sys.executable, "-P", "-c", code]
    found = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)
    how: dict[str, Any] = {"graph": "random(r=0.2)", "arms": 4}
    assert found == [a_plan(world=world, **how).problem for world in ("bernoulli", "poisson")]


def test_another_format_is_refused() -> None:
    meta, arrays = from_npz(a_plan().pack())
    with pytest.raises(InputError, match="has format 7, but this version"):
        Plan.unpack(to_npz(meta | {"format": 7}, arrays))


@dataclass(frozen=True, eq=False)
class Doubles(BetaBernoulli):
    """Its constructor does not keep the parameter."""

    size: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "size", 2.0 * self.size)


def test_model_that_does_not_keep_its_parameters_is_refused() -> None:
    """Otherwise workers would run another model than this process."""
    one = np.ones(3)
    with temporarily_registered("posterior", [Doubles]):
        plan = a_plan(world=as_world("bernoulli", 3), posterior=Doubles(one, one))
        with pytest.raises(InputError, match="does not keep its parameters"):
            plan.pack()


def test_world_that_is_not_registered_is_refused() -> None:
    class Mine(Bernoulli):
        pass

    with pytest.raises(InputError, match="Mine is not registered"):
        a_plan(world=Mine(as_posterior("beta-bernoulli", 3))).pack()
