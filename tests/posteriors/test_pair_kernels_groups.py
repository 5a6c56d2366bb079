"""Tests of posteriors/_pair_kernels.py: arms with equal posteriors are computed once."""

from __future__ import annotations

import math

import numpy as np
import pytest
from helpers.bad_input import refuses
from helpers.cases import each
from helpers.wide_range_oracle import wide_beliefs

from graphbandits.errors import InputError
from graphbandits.posteriors import Beliefs, BetaBernoulli, beta_bernoulli
from graphbandits.posteriors._pair_kernels import group_arms


def beliefs(a: np.ndarray, b: np.ndarray, accuracy: str = "strict") -> Beliefs:
    posterior = BetaBernoulli(a, b)
    return posterior.beliefs(posterior.init(trials=1), accuracy, variance=True)


def divergence(p: float, mean: float) -> float:
    return p * math.log(p / mean) + (1 - p) * math.log((1 - p) / (1 - mean))


@each(("arms", "a"), [(2, 0.001), (1000, 2.0), (10**5, 3.7), (10**6, 1.0), (10**6, 0.001)])
def test_many_arms_with_b_one_match_closed_form(arms: int, a: float) -> None:
    """Beta(a, 1) has F = x^a, so the best of K arms is Beta(K a, 1), and all is in closed form."""
    top, mean = arms * a / (arms * a + 1), a / (a + 1)
    h = divergence(top, mean) / arms + (1 - 1 / arms) * divergence(top * mean, mean)
    for accuracy in ("strict", "simulation"):
        got = beliefs(np.full(arms, a), np.ones(arms), accuracy)
        assert got.alpha[0, [0, -1]] == pytest.approx(1 / arms, rel=1e-9)
        assert got.rho[0] == pytest.approx(top, abs=1e-11)
        assert got.delta[0, [0, -1]] == pytest.approx(top - mean, rel=1e-9)
        # (the difference in the oracle's own h loses digits: that of many arms is small)
        loss = 1e-15 / h
        tight = 1e-9 if accuracy == "strict" else 1e-10 / h
        assert got.h[0, [0, -1]] == pytest.approx(h, rel=max(tight, loss))
        v = (top - mean) ** 2 / arms + (1 - 1 / arms) * (top * mean - mean) ** 2
        assert got.v is not None
        tight = 1e-9 if accuracy == "strict" else 1e-10 / v
        assert got.v[0, [0, -1]] == pytest.approx(v, rel=tight)


@each("accuracy", ["strict", "simulation"])
def test_three_groups_match_oracle(accuracy: str) -> None:
    """Asymmetric groups of 1, 7 and 12 arms, in mixed order, against all twenty arms at once."""
    kinds = [(41.0, 17.5), (12.0, 8.0), (1.5, 0.25)]
    rng = np.random.default_rng(0)
    which = rng.permutation(np.repeat([0, 1, 2], [1, 7, 12]))
    params = [kinds[k] for k in which]
    truth = wide_beliefs(params)
    got = beliefs(*np.array(params).T.copy(), accuracy)
    for name in ("alpha", "delta", "h", "v"):
        found, exact = getattr(got, name)[0], getattr(truth, name)
        tight = {"rel": 1e-8} if accuracy == "strict" else {"abs": 1e-10}
        assert found == pytest.approx(exact, **tight), name
        for k in range(3):  # equal arms have equal bits
            assert len(set(found[which == k].tolist())) == 1


@each(
    "groups",
    [
        [((1.0, 4.0), 3), ((8.0, 5.0), 4), ((3.0, 3.0), 7), ((8.0, 7.0), 5)],
        [((17.347545742985357, 54.35435967955719), 10), ((63.923320673563374, 0.0936873991), 1)],
        [((1.0, 19.0), 30), ((2.0, 100.0), 2)],
    ],
)
def test_equal_arms_match_oracle(groups: list[tuple[tuple[float, float], int]]) -> None:
    """Panels too wide for nineteen arms together, 1 - F in place of S, and a lower end that was
    too high for many skew arms were each wrong here once.
    """
    params = [pair for pair, count in groups for _ in range(count)]
    truth = wide_beliefs(params)
    strict, fast = (beliefs(*np.array(params).T.copy(), name) for name in ("strict", "simulation"))
    for name in ("alpha", "delta", "h", "v"):
        exact = getattr(truth, name)
        compared = exact > 1e-30
        assert getattr(strict, name)[0][compared] == pytest.approx(exact[compared], rel=1e-8)
        assert getattr(fast, name)[0] == pytest.approx(exact, abs=1e-10)


@each(
    ("arms", "a", "b"),
    [
        (100, 1.0, 19.0),
        (309, 1.0, 10.0),
        (406, 28.99, 25.49),
        (50_000, 0.5, 0.5),
        (10**5, 0.1, 0.1),
        (10**6, 0.5, 1.0),
        (30_000, 1e9, 1e-3),
        (10**6, 1e9, 1e9),
    ],
)
def test_many_equal_arms_converge_in_both_settings(arms: int, a: float, b: float) -> None:
    """They have equal alpha, and the settings agree. Outcomes of different arms are independent,
    and their information about the best arm sums to at most its entropy: K h <= log K.
    """
    posterior = BetaBernoulli.of(arms, a, b)
    state = posterior.init(trials=1)
    strict = posterior.beliefs(state, "strict", estimate=True)
    fast = posterior.beliefs(state)
    assert strict.error is not None
    assert strict.error[0] < 1e-9
    assert strict.alpha[0, [0, -1]] == pytest.approx(1 / arms, rel=1e-10)
    for name in ("alpha", "delta", "h", "rho"):
        assert np.abs(getattr(strict, name) - getattr(fast, name)).max() <= 1e-10, name
    assert strict.h[0, 0] <= math.log(arms) / arms


@each("accuracy", ["strict", "simulation"])
def test_neglected_mass_is_small_for_all_arms(accuracy: str) -> None:
    """A million arms of which each beats the leader with a chance p of 1e-13 or so: together they
    count, and to first order in N p the leader is best with probability 1 - N p.
    """
    leader, behind, arms = (30000.0, 10000.0), (102.0, 98.0), 10**6
    p = wide_beliefs([leader, behind]).alpha[1]
    assert 1e-14 < p < 1e-12
    a, b = (
        np.append(value, np.full(arms, rest)) for value, rest in zip(leader, behind, strict=True)
    )
    got = beliefs(a, b, accuracy)
    assert 1.0 - got.alpha[0, 0] == pytest.approx(arms * p, rel=1e-6, abs=1e-10)


@each("seed", range(4))
@each("arms", [1, 5, 16, 17, 100, 3000])
def test_groups_are_distinct_pairs_in_order_of_appearance(arms: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    pool = rng.uniform(0.5, 9.0, (max(1, arms // (1 + seed)), 2))
    pool[::3, 1] = pool[::3, 0]  # pairs that share a number, or have it in the other place
    pool[1::3] = np.roll(pool[1::3], 1, axis=1)
    pairs = pool[rng.integers(0, len(pool), arms)]
    a, b = pairs.T.copy()
    group, first = np.empty((2, arms), np.int64)
    count = group_arms(a, b, group, first)
    seen = list(dict.fromkeys(map(tuple, pairs.tolist())))
    assert count == len(seen)
    assert [seen.index(pair) for pair in map(tuple, pairs.tolist())] == group.tolist()
    assert [(a[k], b[k]) for k in first[:count]] == seen


@each("accuracy", ["strict", "simulation"])
def test_too_many_distinct_posteriors_are_rejected(
    accuracy: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(beta_bernoulli.MOST_DISTINCT, accuracy, 10)
    a = 1.0 + np.arange(11) / 7
    with refuses(InputError):
        beliefs(a, np.ones(11), accuracy)
    assert beliefs(a[:10], np.ones(10), accuracy).alpha.sum() == pytest.approx(1.0)
    # those that cannot be best do not count
    far = np.append(a[:10], np.full(5, 1.0)), np.append(np.ones(10), 1e5 + np.arange(5))
    assert (beliefs(*far, accuracy).alpha[0, 10:] < 1e-30).all()
