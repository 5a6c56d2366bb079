"""Tests of worlds/models.py, and of regret and outcomes when means change."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from helpers.bad_input import refuses

from graphbandits._types import Floats
from graphbandits.errors import InputError, WorldError
from graphbandits.graphs import as_process
from graphbandits.policies import as_policy
from graphbandits.posteriors import BetaBernoulli
from graphbandits.registry import pack_plugin, text_of, unpack_plugin
from graphbandits.rng import Keys
from graphbandits.simulation.loop import run_block
from graphbandits.simulation.plan import Plan
from graphbandits.simulation.run import simulate_plan
from graphbandits.theory import audit
from graphbandits.theory.bounds import CHANGING_MEANS, bounds_of, why_no_bounds
from graphbandits.worlds import Bernoulli, BernoulliSwitch, as_world

TEXT = "bernoulli-switch(changes=[11, 21], fixed=[[0.1, 0.6], [0.9, 0.6], [0.2, 0.3]])"


def test_fixed_means_change_in_the_given_rounds() -> None:
    world, keys = as_world(TEXT, arms=2), Keys(seed=1, trials=3)
    theta = world.means(keys)
    expected = {1: [0.1, 0.6], 10: [0.1, 0.6], 11: [0.9, 0.6], 20: [0.9, 0.6], 21: [0.2, 0.3]}
    for t, means in expected.items():
        assert world.means_at(theta, keys, t).tolist() == [means] * 3  # type: ignore[attr-defined]


def test_drawn_means_are_new_in_each_period() -> None:
    world, keys = BernoulliSwitch.of(4, a=2, b=3, changes=[5, 9]), Keys(seed=1, trials=50)
    theta = world.means(keys)
    assert (theta == Bernoulli.of(4, a=2, b=3).means(keys)).all()  # the first period
    periods = [world.means_at(theta, keys, t) for t in (4, 5, 9)]
    assert (periods[0] == theta).all()
    assert (periods[1] != theta).all()
    assert (periods[2] != periods[1]).all()
    assert (world.means_at(theta, keys, 8) == periods[1]).all()
    periods[1][:] = 0.0  # a copy
    assert (world.means_at(theta, keys, 5) != 0.0).all()


@pytest.mark.parametrize("realised", [False, True])
def test_regret_is_relative_to_the_best_arm_of_the_round(realised: bool) -> None:
    world, keys, rounds = as_world(TEXT, arms=2), Keys(seed=3, trials=4), 30

    actions = np.empty((4, rounds), np.int64)

    class Actions:
        def decided(self, t: int, graph: Any, pi: Floats) -> None: ...

        def observed(self, t: int, seen: Any) -> None: ...

        def played(self, t: int, action: Any) -> None:
            actions[:, t - 1] = action

    found = run_block(
        as_policy("uniform"),
        world,
        as_process("empty", 2),
        rounds,
        keys,
        np.arange(1, rounds + 1),
        realised,
        monitor=Actions(),
    )
    regret, trial = np.zeros(4), np.arange(4)
    for t in range(1, rounds + 1):
        means = np.array([0.1, 0.6] if t <= 10 else [0.9, 0.6] if t <= 20 else [0.2, 0.3])
        action, best = actions[:, t - 1], np.full(4, means.argmax())
        if realised:
            theta = np.tile(means, (4, 1))
            regret += world.outcomes(theta, keys, t, trial, best)
            regret -= world.outcomes(theta, keys, t, trial, action)
        else:
            regret += means.max() - means[action]
        assert found.regret[:, t - 1] == pytest.approx(regret, abs=1e-12)


def test_without_changes_a_run_is_that_of_constant_means() -> None:
    common: Any = {"graph": "star", "horizon": 40, "trials": 8, "seed": 2, "arms": 3}
    one = simulate_plan(Plan.of("ids-n", "bernoulli", **common))["ids-n"]
    two = simulate_plan(Plan.of("ids-n", "bernoulli-switch", **common))["ids-n"]
    assert (one.mean == two.mean).all()
    assert (one.plays == two.plays).all()


def test_results_have_no_ranks_of_arms_and_no_bounds() -> None:
    """The best arm is not the same in all rounds."""
    plan = Plan.of("ts-n", as_world(TEXT, arms=2), "complete", horizon=30, trials=2)
    results = simulate_plan(plan)
    assert results["ts-n"].rank_plays is None
    assert "means" not in results.settings
    assert results.settings["world_parameters"]["changes"] == [11, 21]
    assert results.settings["world_parameters"]["fixed"][1] == [0.9, 0.6]
    assert bounds_of(plan) == ()
    assert why_no_bounds(BernoulliSwitch.of(2)) == CHANGING_MEANS
    with refuses(InputError, match="no audit: the means of the arms change"):
        audit(Plan.of("ts-n", "bernoulli-switch", "complete", arms=2, horizon=5, trials=2))


def test_text_and_stored_form() -> None:
    for text in (TEXT, "bernoulli-switch(a=2.0, changes=[7])"):
        world = as_world(text, arms=2)
        arrays: dict[str, Any] = {}
        restored = unpack_plugin(pack_plugin(world, arrays, "world"), arrays)
        keys = Keys(5, 2, 3)
        theta = world.means(keys)
        assert type(restored) is BernoulliSwitch
        assert text_of(restored.prior) == text_of(world.prior)
        for t in (1, 7, 11, 25):
            now: Any = [w.means_at(theta, keys, t) for w in (world, restored)]  # type: ignore[attr-defined]
            assert (now[0] == now[1]).all()


@pytest.mark.parametrize(
    "given",
    [
        {"changes": [1]},
        {"changes": [5, 5]},
        {"changes": [9, 5]},
        {"changes": [2.5]},
        {"changes": "later"},
        {"changes": [5], "fixed": [[0.1, 0.2]]},
        {"changes": [5], "fixed": [[0.1, 0.2], [0.3]]},
        {"changes": [5], "fixed": [[0.1, 0.2], [0.3, 1.1]]},
        {"changes": [5], "fixed": [[0.1, 0.2], [0.3, float("nan")]]},
        {"fixed": "high"},
    ],
    ids=str,
)
def test_bad_parameters_are_refused(given: Any) -> None:
    with refuses(InputError):
        BernoulliSwitch.of(2, **given)


@dataclass(frozen=True, eq=False)
class Wrong(BernoulliSwitch):
    """Returns what ``now`` gives."""

    now: Any = None

    def means_at(self, theta: Floats, keys: Keys, t: int) -> Floats:
        if t > 1:
            found: Floats = self.now(theta)
            return found
        return theta


@pytest.mark.parametrize(
    "now",
    [lambda theta: theta[0], lambda theta: theta / 0.0, lambda theta: theta.nothing],
    ids=["shape", "infinite", "error"],
)
def test_wrong_means_of_a_plug_in_are_refused(now: Any) -> None:
    world = Wrong(BetaBernoulli.of(2), now=now)
    with np.errstate(divide="ignore"), refuses(WorldError):
        simulate_plan(Plan.of("ts-n", world, "empty", horizon=3, trials=2))
