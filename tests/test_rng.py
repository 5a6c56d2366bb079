"""Tests of rng.py and _rng_kernels.py: streams, draws, Philox, large indices."""

from __future__ import annotations

import math

import numpy as np
import pytest
from helpers.bad_input import refuses
from helpers.cases import each
from scipy.special import logit
from scipy.stats import kstest

from graphbandits._rng_kernels import are_distributions, philox, uniform
from graphbandits.errors import InputError, check_horizon, nearest
from graphbandits.rng import Keys, Stream, draw_actions


def test_actions_are_drawn_from_pi() -> None:
    pi = np.tile([0.0, 0.2, 0.0, 0.5, 0.3, 0.0], (20_000, 1))
    share = np.bincount(draw_actions(pi, Keys(2, 0, 20_000), t=1), minlength=6) / 20_000
    assert (np.abs(share - pi[0]) <= 4.5 * np.sqrt(pi[0] * (1 - pi[0]) / 20_000)).all()
    assert share[pi[0] == 0.0].sum() == 0.0


def test_stream_of_trial_does_not_depend_on_block() -> None:
    whole = Stream(Keys(9, 0, 10), 3, "x")
    a = np.full((10, 4), 2.5)
    for first, trials in ((0, 1), (3, 4), (9, 1)):
        part = Stream(Keys(9, first, trials), 3, "x")
        rows = slice(first, first + trials)
        assert (part.uniform(5) == whole.uniform(5)[rows]).all()
        assert (part.beta(a[rows], a[rows]) == whole.beta(a, a)[rows]).all()


def test_logits_match_draws() -> None:
    """If theta and 1 - theta are accurate, logit(theta) equals the drawn logit to 1e-12."""
    rng = np.random.default_rng(2)
    a, b = rng.uniform(0.5, 30.0, (2, 400, 5))
    stream = Stream(Keys(9, 0, 400), 3, "x")
    theta, found = stream.beta(a, b), stream.beta_logit(a, b)
    kept = (theta > 1e-3) & (theta < 1.0 - 1e-3)
    assert kept.mean() > 0.9
    assert found[kept] == pytest.approx(logit(theta[kept]), abs=1e-12)
    order = np.argsort(found, axis=1)
    assert (np.diff(np.take_along_axis(theta, order, axis=1), axis=1) >= 0.0).all()


@each("wrong", [0.0, -1.0, np.nan, np.inf])
def test_invalid_beta_parameters_are_rejected(wrong: float) -> None:
    stream = Stream(Keys(1, 0, 2), 1, "test")
    good, bad = np.ones((2, 3)), np.array([[1.0, 1.0, 1.0], [1.0, wrong, 1.0]])
    for draw in (stream.beta, stream.beta_logit):
        for a, b in ((good, bad), (bad, good), (good, good[:, :2]), (good[0], good[0])):
            with refuses(InputError):
                draw(a, b)


@each(
    ("counter", "key", "first", "second"),
    [  # Random123's kat_vectors for philox4x32-10: the first two of the four words
        ((0, 0, 0, 0), (0, 0), 0x6627E8D5, 0xE169C58D),
        ((0xFFFFFFFF,) * 4, (0xFFFFFFFF,) * 2, 0x408F276D, 0x41C83B0E),
        (
            (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344),
            (0xA4093822, 0x299F31D0),
            0xD16CFE09,
            0x94FDCCEB,
        ),
    ],
)
def test_philox_matches_published_test_vectors(counter, key, first, second) -> None:
    low = np.uint64(counter[1] << 32 | counter[0])
    high = np.uint64(counter[3] << 32 | counter[2])
    got = int(philox(np.uint64(key[1] << 32 | key[0]), low, high))
    assert (got & 0xFFFFFFFF, got >> 32) == (first, second)


def test_numbers_are_uniform_and_independent() -> None:
    key = np.uint64(12345)
    numbers = np.array([uniform(key, 0, 1, i) for i in range(20_000)])
    assert kstest(numbers, "uniform").pvalue > 1e-4
    for other in (
        [uniform(key, 1, 1, i) for i in range(20_000)],
        [uniform(key, 0, 2, i) for i in range(20_000)],
        [uniform(np.uint64(12346), 0, 1, i) for i in range(20_000)],
    ):
        assert abs(np.corrcoef(numbers, other)[0, 1]) < 4.5 / np.sqrt(20_000)


def whole_numbers(key: int, trial: int, t: int, index: int) -> float:
    """Compute a uniform number with Python integers, which do not overflow."""
    c = [index % 2**32, index >> 32, t, trial]
    k = [key % 2**32, key >> 32]
    for _ in range(10):
        p, q = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [(q >> 32) ^ c[1] ^ k[0], q % 2**32, (p >> 32) ^ c[3] ^ k[1], p % 2**32]
        k = [(k[0] + 0x9E3779B9) % 2**32, (k[1] + 0xBB67AE85) % 2**32]
    return (c[1] << 32 | c[0]) // 2**11 / 2**53


def test_large_indices_do_not_wrap() -> None:
    """A million arms have edge indices up to 10**12; the draws of edge i start at i * 2**21."""
    key = 0x9E3779B97F4A7C15
    indices = [0, 1, 2**31, 2**32, 2**32 + 1, 10**12 - 1, (10**6 - 1) << 21, 2**63 - 1]
    for trial in (0, 1, 2**32 - 1):
        for t in (1, 10**6, 2**32 - 1):
            for index in indices:
                want = whole_numbers(key, trial, t, index)
                assert uniform(np.uint64(key), trial, t, index) == want


def test_million_arms_have_distinct_numbers() -> None:
    keys = Keys(3, first_trial=7)
    stream = Stream(keys, 10**6, "x")
    numbers = stream.uniform(10**6)[0]
    for arm in (0, 2**16, 10**6 - 1):
        assert numbers[arm] == whole_numbers(int(keys.key("x")), 7, 10**6, arm)
    ones = np.ones((1, 10**6))
    assert len(np.unique(numbers)) == len(np.unique(stream.beta(ones, ones))) == 10**6


@each("arms", [1, 5, 1000, 1_000_000])
def test_rows_of_any_length_are_distributions(arms: int) -> None:
    rows = np.random.default_rng(1).random((3, arms))
    rows /= rows.sum(axis=1, keepdims=True)
    assert are_distributions(rows, 1e-9)


@each("wrong", [-1e-300, 1e-8, 1.0, math.nan, math.inf, -math.inf])
@each("place", [(0, 0), (1, 2), (2, 3)])
def test_one_wrong_number_is_found(wrong: float, place: tuple[int, int]) -> None:
    rows = np.zeros((3, 4))
    rows[:, 1] = 1.0
    assert are_distributions(rows, 1e-9)
    rows[place] = wrong
    assert not are_distributions(rows, 1e-9)


def test_limits_of_rounds_and_trials() -> None:
    """The counter has 32 bits for each."""
    assert check_horizon(2**32 - 1) == 2**32 - 1
    assert Keys(1, first_trial=2**32 - 1).trials == 1
    with refuses(InputError):
        check_horizon(2**32)
    with refuses(InputError):
        Keys(1, first_trial=2**32 - 1, trials=2)


def test_long_lists_of_names_are_shortened() -> None:
    names = [f"n{i:02}" for i in range(51)]
    assert "n25" in nearest("x", names[:50])
    assert "n25" not in nearest("x", names)
    assert nearest("x", names).endswith("n00, n01, ..., n50 (51 names)")
