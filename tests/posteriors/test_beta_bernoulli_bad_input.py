"""Tests of posteriors/beta_bernoulli.py: invalid priors are refused."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from helpers.bad_input import refused
from helpers.cases import each

from graphbandits import Agent, BetaBernoulli

NAN, INF = math.nan, math.inf


@each("value", [0, -1, NAN, INF, -INF, 1e-300, 1e-4, 9e-4, 1.1e9, 2e9, 1e300])
@each("place", [0, 1])
def test_beta_parameters_out_of_range_are_refused(value: float, place: int) -> None:
    good, bad = [1.0, 2.0], [1.0, value]
    a, b = (bad, good) if place == 0 else (good, bad)
    words = ["Beta parameter", "from 0.001 to 1e+09", f"not {value:g}"]
    refused(lambda: BetaBernoulli(np.array(a), np.array(b)), *words)
    refused(lambda: Agent("ids-n", 2, prior=list(zip(a, b, strict=True)), seed=1), *words)
    pair = (a[1], b[1])
    refused(lambda: Agent("ids-n", 2, prior=pair, seed=1), *words)
    refused(lambda: BetaBernoulli.of(2, *pair), *words)


@each("pair", [(1e-3, 1e-3), (1e9, 1e9), (1e-3, 1e9), (1e9, 1e-3)])
def test_ends_of_the_beta_range_are_accepted(pair: tuple[float, float]) -> None:
    """Equal arms: alpha is 1/3, whatever they are."""
    for accuracy in ("simulation", "strict"):
        agent = Agent("ts-n", 3, prior=pair, seed=1, accuracy=accuracy)
        assert list(agent.decide().pi.values()) == pytest.approx([1 / 3] * 3, abs=1e-10)


@each(
    ("call", "words"),
    [
        (lambda: BetaBernoulli([1.0, 1.0], [1.0]), ["(2,)", "(1,)", "per arm"]),
        (lambda: BetaBernoulli([[1.0]], [[1.0]]), ["(1, 1)", "per arm"]),
        (lambda: BetaBernoulli(["x"], [1.0]), ["number", "x"]),
        (lambda: BetaBernoulli([], []), ["arm"]),
        (lambda: BetaBernoulli.of(0), ["arms", "at least 1", "0"]),
        (lambda: BetaBernoulli.of(2.5), ["arms", "whole number", "2.5"]),
        (lambda: BetaBernoulli.of(2, a="x"), ["number", "x"]),
        (lambda: BetaBernoulli.of(2, b="1"), ["number", "'1'"]),
        (lambda: BetaBernoulli([1.0], [2.0], "exact"), ["'simulation' or 'strict'", "'exact'"]),
        (lambda: BetaBernoulli([1.0], [2.0], None), ["'simulation' or 'strict'", "None"]),
        (lambda: Agent("ids-n", 3, prior=BetaBernoulli.of(4), seed=1), ["4", "3", "arms"]),
        (lambda: Agent("ids-n", 3, prior=[(1, 1), (2, 2)], seed=1), ["parameters", "3 arms"]),
        (lambda: Agent("ids-n", 3, prior=(1, 2, 3), seed=1), ["parameters a, b", "(1, 2, 3)"]),
        (lambda: Agent("ids-n", 3, prior=(), seed=1), ["parameters a, b", "()"]),
        (lambda: Agent("ids-n", 3, prior="flat", seed=1), ["two numbers A,B", "'flat'"]),
        (lambda: Agent("ids-n", 3, prior=2.0, seed=1), ["parameters", "2.0"]),
        (lambda: Agent("ids-n", 3, prior=[2.0, None, 1.0], seed=1), ["parameters a, b", "2.0"]),
    ],
)
def test_invalid_priors_are_refused(call: Callable[[], object], words: list[str]) -> None:
    refused(call, *words)
