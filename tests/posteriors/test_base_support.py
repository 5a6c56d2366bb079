"""Tests of posteriors/base.py: sets of rewards as sets."""

from __future__ import annotations

import itertools
import math
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
from helpers.bad_input import refused
from helpers.cases import each

from graphbandits.posteriors import BetaBernoulli
from graphbandits.posteriors.base import (
    BINARY,
    COUNT,
    REAL,
    Support,
    interval,
    reward_support,
    values,
)
from graphbandits.worlds import Bernoulli

#: Supports with the numbers of POINTS that they contain.
POINTS = (-math.inf, -3.0, -0.5, 0.0, 0.25, 1.0, 2.0, 2.5, 5.0, 1e300, math.inf, math.nan)
SETS: dict[str, tuple[Support, set[float]]] = {
    "binary": (BINARY, {0.0, 1.0}),
    "count": (COUNT, {0.0, 1.0, 2.0, 5.0, 1e300}),
    "real": (REAL, {x for x in POINTS if math.isfinite(x)}),
    "interval(0, 1)": (interval(0, 1), {0.0, 0.25, 1.0}),
    "interval(-3, 2.5)": (interval(-3, 2.5), {-3.0, -0.5, 0.0, 0.25, 1.0, 2.0, 2.5}),
    "values(0, 2, 5)": (values(0, 2, 5), {0.0, 2.0, 5.0}),
    "values(-0.5, 1)": (values(-0.5, 1), {-0.5, 1.0}),
    "values(1)": (values(1), {1.0}),
}


@each("name", SETS)
def test_contains_exactly_its_numbers(name: str) -> None:
    support, inside = SETS[name]
    found = support.contains(np.array(POINTS))
    assert {x for x, one in zip(POINTS, found, strict=True) if one} == inside
    assert str(support) == name


@each(("one", "other"), list(itertools.product(SETS, SETS)))
def test_inclusion_agrees_with_the_numbers(one: str, other: str) -> None:
    """The points tell the sets apart: inclusion of the sets is inclusion of their points."""
    (large, its), (small, theirs) = SETS[one], SETS[other]
    assert large.includes(small) == (theirs <= its)


def test_equal_sets_are_equal_supports() -> None:
    assert values(1, 0) == values(0.0, 1.0) == BINARY
    assert interval(0, 1) != BINARY
    assert not interval(0, 1).integer
    assert values(0, 2).integer
    assert not values(-1, 2).integer  # counts are at least 0


@each("reward", [1, 1.0, True, np.float32(1), np.int8(1), np.bool_(True), Decimal(1), Fraction(1)])
def test_numbers_of_all_types_are_rewards(reward: Any) -> None:
    for support in (BINARY, COUNT, REAL, interval(0, 1), values(1, 7)):
        found = support.check(reward)
        assert found == 1.0
        assert type(found) is float


@each(
    "reward",
    [
        *("1", None, [1.0], np.array([1.0]), 1j, b"1", {}, object()),
        *(math.nan, math.inf, -math.inf, Decimal("nan"), Decimal("sNaN"), Decimal("inf")),
        *(10**400, np.timedelta64(1), np.datetime64("2020-01-01")),
    ],
)
def test_other_objects_are_not_rewards(reward: Any) -> None:
    for support in (BINARY, COUNT, REAL, interval(0, 1), values(1, 7)):
        refused(lambda s=support: s.check(reward), "a reward must be", support.description)


def test_integer_that_a_float_cannot_hold_is_refused() -> None:
    assert COUNT.check(2**53) == 2.0**53
    refused(lambda: COUNT.check(2**53 + 1))


@each(
    "ends",
    [(1, 0), (1, 1), (0, math.inf), (-math.inf, 0), (math.nan, 1), ("0", 1), (True, 2), (0, None)],
)
def test_bad_intervals_are_refused(ends: tuple[Any, Any]) -> None:
    refused(lambda: interval(*ends), "two finite numbers low < high")


@each("listed", [(), (1, 1), (1, 1.0), (0, math.nan), (math.inf,), ("1",), (True,), (None, 1)])
def test_bad_lists_are_refused(listed: tuple[Any, ...]) -> None:
    refused(lambda: values(*listed), "different finite numbers")


class Plain:
    """A model with the given attributes."""

    def __init__(self, **given: Any) -> None:
        vars(self).update(given)


def test_support_of_a_model_is_found() -> None:
    beta = BetaBernoulli.of(2)
    assert reward_support(beta) == reward_support(Bernoulli(beta)) == BINARY
    assert reward_support(Plain(outcomes=(0, 5))) == values(0, 5)
    assert reward_support(Plain(outcomes=None)) == REAL
    assert reward_support(Plain()) == REAL
    # a world has a method 'outcomes', and the rewards of its prior unless it declares its own
    assert reward_support(Plain(outcomes=print, prior=beta)) == BINARY
    assert reward_support(Plain(rewards=COUNT, prior=beta)) == COUNT
    refused(lambda: reward_support(Plain(rewards=(0, 1))), "rewards must be a support", "(0, 1)")
