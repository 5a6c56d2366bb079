"""Tests of theory/bounds.py: formulas of the theorems and corollaries."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from helpers.bad_input import refuses
from helpers.bound_cases import FIVE, LOG5

from graphbandits.errors import InputError
from graphbandits.graphs import RandomFeedback, as_process
from graphbandits.posteriors import BetaBernoulli
from graphbandits.theory import (
    corollary_1,
    corollary_2,
    earlier_bound,
    general_bound,
    regret_bounds,
    theorem_1,
    theorem_2,
    theorem_3,
)


def test_theorem_1_matches_formula() -> None:
    assert theorem_1(5, LOG5, [1000]).values == pytest.approx([math.sqrt(2500 * LOG5)], rel=1e-14)
    assert theorem_1(5, LOG5, [1000]).policies == ("ids-lp",)


def test_theorem_2_sums_clique_cover_numbers() -> None:
    found = theorem_2([2, 1, 5, 3], entropy=0.7)
    assert found.rounds.tolist() == [1, 2, 3, 4]
    wanted = np.sqrt(0.7 * np.array([1.0, 1.5, 4.0, 5.5]))
    np.testing.assert_allclose(found.values, wanted, rtol=1e-14)
    np.testing.assert_array_equal(theorem_2([2, 1, 5, 3], 0.7, [2, 4]).values, wanted[[1, 3]])


def test_trials_are_averaged_under_the_square_root() -> None:
    found = theorem_2([[1, 1], [3, 5]], entropy=2.0)
    np.testing.assert_allclose(found.values, np.sqrt([2.0, 5.0]), rtol=1e-14)
    before = earlier_bound([[4, 1], [3, 5]], entropy=2.0)  # largest until then: 4, 3 and 4, 5
    np.testing.assert_allclose(before.values, np.sqrt([3.5, 9.0]), rtol=1e-14)


def test_corollaries_equal_theorems_for_constant_graphs() -> None:
    rounds = [1, 7, 20]
    fixed, by_round = corollary_1(3, 0.9, rounds), theorem_2([3] * 20, 0.9, rounds)
    np.testing.assert_allclose(fixed.values, by_round.values, rtol=1e-14)
    np.testing.assert_allclose(earlier_bound([3] * 20, 0.9, rounds).values, fixed.values)
    constant, rates = corollary_2(6, 0.3, 0.9, rounds), theorem_3(6, [0.3] * 20, 0.9, rounds)
    np.testing.assert_allclose(constant.values, rates.values, rtol=1e-14)


def test_theorem_3_matches_limits_r_0_and_r_1() -> None:
    nothing, everything = theorem_3(7, [0.0] * 9, 1.3), theorem_3(7, [1.0] * 9, 1.3)
    np.testing.assert_allclose(nothing.values, theorem_1(7, 1.3, range(1, 10)).values, rtol=1e-14)
    np.testing.assert_allclose(everything.values, np.sqrt(np.arange(1, 10) * 1.3 / 2), rtol=1e-14)


def test_general_bound_of_constant_ratios_equals_corollary_1() -> None:
    rounds = np.array([1, 5, 50])
    found = general_bound(1.5 * rounds, LOG5, rounds, policies=("mine",))
    np.testing.assert_allclose(found.values, corollary_1(3, LOG5, rounds).values, rtol=1e-14)
    assert found.exact
    assert found.is_for("mine(a=1)")


def test_general_bound_of_trials_has_standard_error() -> None:
    """The delta method, compared with the spread of the bounds of resampled trials."""
    random = np.random.default_rng(3)
    ratios = random.gamma(4.0, 1.0, (400, 1))
    found = general_bound(ratios, 0.8, [30])
    assert found.values == pytest.approx([math.sqrt(0.8 * ratios.mean())])
    again = np.sqrt(0.8 * random.choice(ratios[:, 0], (4000, 400)).mean(axis=1))
    # the deviation of 4000 draws is itself known to 1 / sqrt(8000)
    assert found.final_error == pytest.approx(again.std(), rel=4 / math.sqrt(8000) + 0.01)
    assert not found.exact


def test_bound_applies_to_policy_with_any_parameters() -> None:
    two = theorem_2([1], LOG5)
    for name in ("ts-n", "ts-n-sampled", "ids-n", "idsn-lp", "ids-n(gain=joint)"):
        assert two.is_for(name), name
    for name in ("ids-lp", "ts", "ids", "v-ids-n", "ucb-n", "ts-maxn"):
        assert not two.is_for(name), name
    assert theorem_1(2, 0.1, [1]).is_for("ids-lp(gain=joint)")


@pytest.mark.parametrize(
    "call",
    [
        pytest.param(lambda: theorem_1(0, 1.0, [1]), id="no arms"),
        pytest.param(lambda: theorem_1(2, -1.0, [1]), id="negative entropy"),
        pytest.param(lambda: theorem_1(2, math.nan, [1]), id="entropy nan"),
        pytest.param(lambda: theorem_1(2, 1.0, [2, 1]), id="unordered rounds"),
        pytest.param(lambda: theorem_1(2, 1.0, [0, 1]), id="round 0"),
        pytest.param(lambda: theorem_1(2, 1.0, [1.5]), id="fractional round"),
        pytest.param(lambda: theorem_1(2, 1.0, []), id="no rounds"),
        pytest.param(lambda: theorem_2([1, 0], 1.0), id="cover number 0"),
        pytest.param(lambda: theorem_2([], 1.0), id="no cover numbers"),
        pytest.param(lambda: theorem_2("many", 1.0), id="text for cover numbers"),
        pytest.param(lambda: theorem_2([1, 2], 1.0, [3]), id="too many rounds"),
        pytest.param(lambda: theorem_3(5, [0.5, 1.5], 1.0), id="r above 1"),
        pytest.param(lambda: theorem_3(5, [0.5, math.nan], 1.0), id="r nan"),
        pytest.param(lambda: corollary_2(5, 2.0, 1.0, [1]), id="one r above 1"),
        pytest.param(lambda: general_bound([1.0, math.inf], 1.0, [1, 2]), id="infinite ratio"),
        pytest.param(lambda: general_bound([1.0], 1.0, [1, 2]), id="too few ratios"),
        pytest.param(
            lambda: regret_bounds(as_process("paper"), BetaBernoulli.of(4), [1]),
            id="prior of other arms",
        ),
        pytest.param(
            lambda: regret_bounds(RandomFeedback(5, (0.1, 0.2)), FIVE, [3]), id="short sequence"
        ),
    ],
)
def test_invalid_arguments_are_rejected(call: Callable[[], object]) -> None:
    with refuses(InputError):
        call()
