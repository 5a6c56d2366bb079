"""Tests of rng.py: streams, purposes, draws and actions."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.bad_input import refuses
from helpers.cases import each
from scipy.special import logit

from graphbandits.errors import InputError
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


def test_purposes_have_different_numbers() -> None:
    one, two = (Stream(Keys(9), 3, purpose).uniform(100) for purpose in ("x", "y"))
    assert (one != two).all()


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
