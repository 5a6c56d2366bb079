"""Tests of rules/_hull_kernels.py: the frontier compared with a sort of all arms."""

from __future__ import annotations

from collections.abc import Callable

import numba
import numpy as np
from helpers.cases import each
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from graphbandits._types import Floats, Ints
from graphbandits.rules._hull_kernels import FEW, MANY, TIE, _merge_sort, frontier


@numba.njit(error_model="numpy")
def frontier_by_sorting(delta: Floats, gain: Floats, hull: Ints, order: Ints, group: Ints) -> int:
    """No arm is left out, and the order is that of one stable sort."""
    arms = delta.size
    largest_delta = 0.0
    largest_gain = 0.0
    for i in range(arms):
        largest_delta = max(largest_delta, delta[i])
        largest_gain = max(largest_gain, gain[i])
    delta_tie = TIE * largest_delta
    gain_tie = TIE * largest_gain
    order[:] = np.argsort(delta, kind="mergesort")
    count = 0
    first = 0
    while first < arms:
        last = first
        best = order[first]
        while last + 1 < arms and delta[order[last + 1]] <= delta[order[first]] + delta_tie:
            last += 1
            if gain[order[last]] > gain[best]:
                best = order[last]
        for k in range(first, last + 1):
            i = order[k]
            group[i] = best if gain[i] >= gain[best] - gain_tie else -1
        first = last + 1
        if count > 0 and gain[best] <= gain[hull[count - 1]] + gain_tie:
            continue
        while count > 1:
            q = hull[count - 1]
            p = hull[count - 2]
            here = (gain[q] - gain[p]) / largest_gain * ((delta[best] - delta[p]) / largest_delta)
            there = (gain[best] - gain[p]) / largest_gain * ((delta[q] - delta[p]) / largest_delta)
            if here > there:
                break
            count -= 1
        hull[count] = best
        count += 1
    return count


def points(
    way: Callable[[Floats, Floats, Ints, Ints, Ints], int], delta: Floats, gain: Floats
) -> list[tuple[int, list[int]]]:
    """Each vertex with the arms that share it."""
    hull, order, group = np.full((3, delta.size), -7)
    count = way(delta, gain, hull, order, group)
    return [(v, np.flatnonzero(group == v).tolist()) for v in hull[:count].tolist()]


def assert_same(delta: Floats, gain: Floats) -> None:
    assert points(frontier, delta, gain) == points(frontier_by_sorting, delta, gain)


def near(rng: np.random.Generator, values: Floats, ties: float) -> Floats:
    """The values moved by up to so many ties: chains in which each arm is equal to the next."""
    return np.asarray(values + rng.uniform(0.0, ties * TIE, values.size) * values.max())


KINDS: dict[str, Callable[[np.random.Generator, int], tuple[Floats, Floats]]] = {
    "random": lambda rng, n: (rng.random(n), rng.random(n)),
    "few values": lambda rng, n: (rng.integers(1, 9, n) / 9, rng.integers(0, 9, n) / 9),
    "few regrets": lambda rng, n: (rng.integers(0, 50, n) / 50, rng.random(n)),
    "one regret": lambda rng, n: (np.full(n, 0.3), rng.random(n)),
    "one gain": lambda rng, n: (rng.random(n), np.full(n, 0.3)),
    "nothing to gain": lambda rng, n: (rng.random(n), np.zeros(n)),
    "nothing to lose": lambda rng, n: (np.zeros(n), rng.random(n)),
    "chains of near ties": lambda rng, n: (
        near(rng, rng.integers(1, 9, n) / 9, 5.0),
        near(rng, rng.integers(1, 9, n) / 9, 5.0),
    ),
    "all within a few ties": lambda rng, n: (
        near(rng, np.ones(n), 20.0),
        near(rng, np.ones(n), 20.0),
    ),
    "on a curve": lambda rng, n: ((x := rng.exponential(size=n)), near(rng, np.sqrt(x), 1e6)),
    "on a line": lambda rng, n: ((x := rng.random(n)), near(rng, 0.1 + x, 2.0)),
    "many scales": lambda rng, n: (10.0 ** rng.uniform(-200, 0, n), rng.random(n) ** 8),
    "one large regret": lambda rng, n: (
        np.where(np.arange(n) == 0, 1.0, rng.integers(0, 30, n) * 1e-9),
        rng.random(n),
    ),
    "tiny": lambda rng, n: (rng.random(n) * 1e-300, rng.random(n) * 1e-300),
}


@each("kind", KINDS)
def test_frontier_matches_sorting(kind: str) -> None:
    rng = np.random.default_rng(list(KINDS).index(kind))
    sizes = [1, 2, 3, 5, 8, FEW, FEW + 1, 100, 700, MANY - 1, MANY + 1, 3 * MANY]
    for arms in sizes:
        for _ in range(2000 // (arms + 10) + 2):
            assert_same(*KINDS[kind](rng, arms))


@each("kind", KINDS)
def test_frontier_matches_sorting_for_many_arms(kind: str) -> None:
    assert_same(*KINDS[kind](np.random.default_rng(50), 200_000))


#: Few values, half of them within a tie or two of each other.
VALUES = st.one_of(
    st.sampled_from([0.0, 0.1, 0.5, 1.0]),
    st.builds(lambda v, k: v + k * TIE / 2, st.sampled_from([0.1, 0.5]), st.integers(-5, 5)),
    st.floats(0.0, 1.0),
)


@settings(max_examples=500, deadline=None)
@given(
    hnp.arrays(float, st.shared(st.integers(1, 60), key="arms"), elements=VALUES),
    hnp.arrays(float, st.shared(st.integers(1, 60), key="arms"), elements=VALUES),
    st.sampled_from([1, 200]),
)
def test_frontier_matches_sorting_with_ties(delta: Floats, gain: Floats, times: int) -> None:
    """Also if every point has many arms in its bucket."""
    assert_same(np.tile(delta, times), np.tile(gain, times))


@each("size", [1, 2, FEW - 1, FEW, FEW + 1, 2 * FEW, 3 * FEW + 5, 1000])
def test_merge_sort_is_stable(size: int) -> None:
    rng = np.random.default_rng(size)
    values = rng.integers(0, 1 + size // 4, 2 * size).astype(np.float64)  # with many ties
    values[rng.integers(0, 2 * size)] = np.inf
    order = rng.permutation(2 * size)[:size]
    expected = order[np.argsort(values[order], kind="stable")]
    _merge_sort(values, order)
    assert order.tolist() == expected.tolist()
