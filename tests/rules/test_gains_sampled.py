"""Tests of rules/gains.py: the estimate and its standard error."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from helpers.bad_input import refuses
from helpers.cases import each
from helpers.joint_gain_cases import WEIGHTS, joint_gain_of, state_of

from graphbandits.errors import InputError
from graphbandits.graphs import DenseFeedback, UniformFeedback, as_process
from graphbandits.posteriors import BetaBernoulli
from graphbandits.rules.gains import sampled_gain


def test_estimate_of_fourteen_arms_matches_exact_gain() -> None:
    params = [(1.0 + 0.37 * i, 2.0 - 0.05 * i) for i in range(14)]
    exact = joint_gain_of(params, as_process("complete", 14).feedback)
    found = sampled_gain(
        BetaBernoulli.of(14), state_of(params), as_process("complete", 14).feedback, 1000, seed=1
    )
    assert 0.0 < found.standard_error.max() < 0.05 * exact[0]
    assert (np.abs(found.value[0] - exact) < 4.0 * found.standard_error[0]).all()


def test_standard_error_matches_deviations() -> None:
    """Of 200 estimates as many lie within one and two standard errors as of a normal."""
    params = [(1, 2), (4, 4), (5, 3), (2, 6)]
    exact = joint_gain_of(params, DenseFeedback(WEIGHTS))
    found = sampled_gain(
        BetaBernoulli.of(4), state_of(params, 200), DenseFeedback(WEIGHTS), samples=400, seed=2
    )
    z = (found.value - exact) / found.standard_error
    assert np.abs(z.mean(axis=0)).max() < 4.0 / math.sqrt(200)
    assert (
        np.abs((np.abs(z) < 1.0).mean(axis=0) - 0.683) < 4.0 * math.sqrt(0.683 * 0.317 / 200)
    ).all()
    assert ((np.abs(z) < 2.0).mean(axis=0) > 0.954 - 4.0 * math.sqrt(0.954 * 0.046 / 200)).all()


def test_estimate_is_reproducible_by_seed() -> None:
    posterior, graph = BetaBernoulli.of(3), UniformFeedback(0.4, 3)
    state = state_of([(1, 2), (4, 4), (12, 9)], 3)
    one, again = (sampled_gain(posterior, state, graph, 50, seed=7) for _ in range(2))
    other = sampled_gain(posterior, state, graph, 50, seed=8)
    assert one.value.tobytes() == again.value.tobytes()
    assert one.standard_error.tobytes() == again.standard_error.tobytes()
    assert (one.value != other.value).all()
    assert len(set(one.value[:, 0].tolist())) == 3  # each trial has its own draws
    alone = sampled_gain(posterior, state_of([(1, 2), (4, 4), (12, 9)]), graph, 50, seed=7)
    assert alone.value[0].tobytes() == one.value[0].tobytes()


@each("samples", [1, 0, 2.5, "many"])
def test_too_few_samples_are_rejected(samples: Any) -> None:
    posterior = BetaBernoulli.of(2)
    with refuses(InputError):
        sampled_gain(posterior, posterior.init(1), UniformFeedback(0.5, 2), samples, seed=0)
