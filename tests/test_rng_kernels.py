"""Tests of _rng_kernels.py: Philox test vectors, uniformity and large indices."""

from __future__ import annotations

import numpy as np
from helpers.cases import each
from scipy.stats import kstest

from graphbandits._rng_kernels import philox, uniform
from graphbandits.rng import Keys, Stream


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
