"""Tests of simulation/loop.py: proposals that are did not propose a distributions are refused."""

from __future__ import annotations

import math

import pytest
from helpers.bad_input import Proposes, refused

from graphbandits import Results, simulate

NAN, INF = math.nan, math.inf


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize(
    ("row", "words"),
    [
        ((0.5, 0.6, 0.0), ["did not propose a distribution", "1.1"]),
        ((0.25, 0.25, 0.25), ["did not propose a distribution", "0.75"]),
        ((1.5, -0.5, 0.0), ["did not propose a distribution", "-0.5"]),
        ((0.0, 0.0, 0.0), ["did not propose a distribution", "0"]),
        ((NAN, 0.5, 0.5), ["did not propose a distribution", "nan"]),
        ((INF, 0.0, 0.0), ["did not propose a distribution", "inf"]),
        ((0.5, 0.5), ["shape", "(2, 2)", "(2, 3)"]),
        ((0.25, 0.25, 0.25, 0.25), ["shape", "(2, 4)", "(2, 3)"]),
    ],
)
def test_policy_that_proposes_no_distribution_is_named(
    row: tuple[float, ...], words: list[str], workers: int
) -> None:
    def call() -> Results:
        return simulate(
            Proposes(row), graph="star", arms=3, horizon=4, trials=2 * workers, workers=workers
        )

    refused(call, "Proposes", "round 1", *words)


def test_a_policy_that_proposes_a_distribution_is_not_refused() -> None:
    results = simulate(Proposes((0.0, 1.0, 0.0)), graph="star", arms=3, horizon=4, trials=2)
    assert next(iter(results.policies.values())).plays.tolist() == [0, 8, 0]
