"""Tests of worlds/_storage.py: the world and the posterior of a simulation as JSON and arrays."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from helpers.bad_input import refused
from helpers.reward_families import FAMILIES
from helpers.valid_policies import temporarily_registered

from graphbandits import Bernoulli, BetaBernoulli
from graphbandits._serialization import Arrays
from graphbandits.engine import Plan
from graphbandits.rng import Keys
from graphbandits.worlds import as_posterior, as_world
from graphbandits.worlds._storage import models_of, pack_models, unpack_models

PRIOR = BetaBernoulli(np.array([1.0, 2.0]), np.array([3.0, 0.5]), "strict")


def restored(world: Any, posterior: Any) -> tuple[Any, Any, dict[str, Any]]:
    arrays: Arrays = {}
    packed = json.loads(json.dumps(pack_models(world, posterior, arrays), allow_nan=False))
    return *unpack_models(packed, arrays), packed


@pytest.mark.parametrize("fixed", [None, np.array([0.2, 0.9])])
def test_bernoulli_arms_keep_their_prior_and_fixed_means(fixed: Any) -> None:
    world = Bernoulli(PRIOR, fixed)
    found, posterior, _ = restored(world, PRIOR)
    assert posterior is found.prior
    assert found.prior.accuracy == "strict"
    assert (found.prior.a == PRIOR.a).all()
    assert (found.prior.b == PRIOR.b).all()
    assert (found.means(Keys(1, 0, 5)) == world.means(Keys(1, 0, 5))).all()


@pytest.mark.parametrize("family", FAMILIES)
def test_models_draw_the_same_means_and_rewards_after_storage(family: str) -> None:
    world = as_world(FAMILIES[family].world, 3)
    other = as_posterior(FAMILIES[family].other_posterior, 3)
    keys, pairs = Keys(3, 2, 4), (np.array([0, 1, 3, 3]), np.array([2, 0, 1, 2]))
    for posterior in (world.prior, other):
        found, its, packed = restored(world, posterior)
        theta = found.means(keys)
        assert theta.tobytes() == world.means(keys).tobytes()
        again = found.outcomes(theta, keys, 5, *pairs)
        assert again.tobytes() == world.outcomes(theta, keys, 5, *pairs).tobytes()
        assert (its is found.prior) == (posterior is world.prior)
        assert ("posterior" in packed) == (posterior is other)
        for name, values in posterior.init(2).items():
            assert its.init(2)[name].tobytes() == values.tobytes()


def test_fixed_means_are_stored() -> None:
    world = as_world("gaussian(noise=2)", 2, means=[3.0, -1.0])
    found, _, _ = restored(world, world.prior)
    assert found.fixed.tolist() == [3.0, -1.0]
    assert found.prior.noise == 2.0


def test_models_of_a_plan_have_no_repeats() -> None:
    plan = Plan.of("ts-n", "gaussian", "star", horizon=2, trials=1)
    assert models_of(plan) == [plan.world, plan.posterior]
    other = Plan.of("ts-n", "gaussian", "star", horizon=2, trials=1, posterior="normal(sd=2)")
    assert models_of(other) == [other.world, other.world.prior, other.posterior]


@dataclass(frozen=True, eq=False)
class Doubles(BetaBernoulli):
    """Its constructor does not keep the parameter."""

    size: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "size", 2.0 * self.size)


def test_model_that_does_not_keep_its_parameters_is_refused() -> None:
    """Otherwise workers would run another model than this process."""
    one = np.ones(2)
    with temporarily_registered("posterior", [Doubles]):
        refused(
            lambda: pack_models(Bernoulli(PRIOR), Doubles(one, one), {}),
            "does not keep its parameters",
        )
