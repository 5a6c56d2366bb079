"""Tests of _rng_kernels.py."""

from __future__ import annotations

import math

import numpy as np
from helpers.cases import each

from graphbandits._rng_kernels import are_distributions


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
