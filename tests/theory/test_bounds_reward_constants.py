"""Tests of theory/bounds.py: the factor of the bounds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from helpers.bad_input import refuses
from helpers.other_rewards import OtherSupport, TwoNormals
from hypothesis import given, settings
from hypothesis import strategies as st

from graphbandits.errors import InputError
from graphbandits.graphs import UniformFeedback, as_process
from graphbandits.posteriors.base import BINARY, REAL, Support, interval, values
from graphbandits.theory import ratio_limit
from graphbandits.theory.bounds import reward_scale, scale_note


def declared(rewards: Support) -> OtherSupport:
    return OtherSupport(np.ones(2), np.ones(2), rewards=rewards)


@pytest.mark.parametrize(
    ("rewards", "scale"),
    [(BINARY, 1.0), (interval(0, 1), 1.0), (interval(-2, 3), 5.0), (values(0.25, 0.5), 0.25)],
)
def test_factor_of_bounded_rewards_is_their_width(rewards: Support, scale: float) -> None:
    assert reward_scale(declared(rewards)) == scale
    assert (scale_note(declared(rewards)) == "") == (scale == 1.0)


def test_factor_of_gaussian_rewards_is_twice_the_standard_deviation() -> None:
    posterior = TwoNormals(sd=(3.0, 1.0), noise=4.0)
    assert reward_scale(posterior) == 10.0
    assert "sigma = 5" in scale_note(posterior)


@pytest.mark.parametrize("constant", [0.0, -1.0, np.nan, np.inf, "1", True])
def test_invalid_constant_is_refused(constant: Any) -> None:
    @dataclass(frozen=True, eq=False)
    class WrongConstant(OtherSupport):
        sub_gaussian: Any = constant

    with refuses(InputError):
        reward_scale(WrongConstant(np.ones(2), np.ones(2), rewards=REAL))


def test_ratio_limit_has_the_square_of_the_factor() -> None:
    for graph in (as_process("paper").feedback, UniformFeedback(0.25, count=5)):
        np.testing.assert_allclose(ratio_limit(graph, 3.0), 9.0 * ratio_limit(graph))


@settings(max_examples=200, deadline=None)
@given(
    st.floats(-5.0, 5.0),
    st.tuples(st.floats(0.05, 5.0), st.floats(0.05, 5.0)),
    st.floats(0.1, 5.0),
)
def test_information_of_gaussian_rewards_is_at_least_its_variance_form(
    gap: float, sd: tuple[float, float], noise: float
) -> None:
    """h_i >= v_i / (2 sigma_i^2), with the constant of each arm."""
    posterior = TwoNormals(center=(gap, 0.0), sd=sd, noise=noise)
    found = posterior.beliefs(posterior.init(1), variance=True)
    assert found.v is not None
    sigma = np.sqrt(np.square(sd) + noise**2)
    least = found.v[0] / (2.0 * sigma**2)
    assert (found.h[0] >= least * (1.0 - 1e-6) - 1e-14).all()
