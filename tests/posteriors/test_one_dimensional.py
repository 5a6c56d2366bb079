"""Tests of posteriors/one_dimensional.py: what all families share."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from helpers.bad_input import refused, refuses
from helpers.cases import each
from scipy import stats

from graphbandits.errors import InputError
from graphbandits.posteriors import (
    BetaBernoulli,
    BetaInterval,
    Dirichlet,
    GammaPoisson,
    Normal,
    NormalInverseGamma,
    Observations,
)

NAN, INF = math.nan, math.inf
FAMILIES = (BetaBernoulli, BetaInterval, Dirichlet, GammaPoisson, Normal, NormalInverseGamma)
Family = Any

#: Refused parameters of two arms, with words of the message.
PARAMETERS: dict[Family, dict[str, list[Any]]] = {
    BetaInterval: {
        "high": [-1, INF],
        "evidence": ["whole"],
        "a": [0],
        "b": [[1, 2, 3]],
        "accuracy": ["exact", None],
    },
    Normal: {"sd": [0.0, 1e60, [1, 2, 3]], "mean": [NAN], "noise": [0.0, "x"]},
    NormalInverseGamma: {"shape": [0.9], "count": [0.0], "scale": [-1.0, "x"], "mean": [INF]},
    GammaPoisson: {"shape": [0.0, NAN], "rate": [-1.0, "x"]},
    Dirichlet: {
        "values": [(1,), 7, (1, 1, 2), (1, INF), (2, 1), (0, 1e-12, 1), tuple(range(31))],
        "weight": [0.05, NAN, (1, 2), "1", [[1], [1, 2]]],
        "accuracy": ["exact"],
    },
}
#: Numbers outside of the range of an array of a state.
STATES: dict[Family, dict[str, list[float]]] = {
    BetaInterval: {"a": [0.0, 1.01e10]},
    Normal: {"precision": [0.0, NAN], "mean": [INF]},
    NormalInverseGamma: {"shape": [0.5], "count": [NAN], "scale": [0.0], "mean": [INF]},
    GammaPoisson: {"rate": [NAN, 0.0], "shape": [-1.0]},
    Dirichlet: {"weights": [NAN, 0.0, 2e10]},
}
#: Rewards that an update and ``check_reward`` refuse.
REWARDS: dict[Family, list[float]] = {
    BetaInterval: [-0.1, 1.1, NAN],
    Normal: [NAN, INF],
    NormalInverseGamma: [NAN, -INF],
    GammaPoisson: [-1.0, INF],
    Dirichlet: [3.5, 0.0, 6.0, NAN],
}


def observed(trial: int, arm: int, reward: float, weight: float | None = None) -> Observations:
    weights = None if weight is None else np.array([weight])
    return Observations(np.array([trial]), np.array([arm]), np.array([reward], float), weights)


@each("family", PARAMETERS)
def test_bad_parameters_are_refused(family: Family) -> None:
    for name, wrong in PARAMETERS[family].items():
        key = {"weight": "weights"}.get(name, name)
        for value in wrong:
            word = {"a": "Beta parameter", "high": "interval", "values": ""}.get(name, name)
            refused(lambda key=key, value=value: family.of(2, **{key: value}), word)


@each("family", STATES)
def test_numbers_of_a_state_are_checked(family: Family) -> None:
    posterior = family.of(2)
    for name, wrong in STATES[family].items():
        for value in wrong:
            state = posterior.init(trials=2)
            state[name][1, 0] = value
            for call in (posterior.check_state, posterior.beliefs):
                refused(lambda call=call, state=state: call(state), name, "for arm 0 in trial 1")


@each("family", STATES)
def test_shapes_and_types_of_a_state_are_checked(family: Family) -> None:
    posterior = family.of(2)
    state = posterior.init(trials=2)
    name = next(iter(state))
    for wrong in (state[name][:, :1], state[name][0], state[name].astype(str), None):
        broken = state | {name: wrong}
        refused(lambda broken=broken: posterior.check_state(broken), name, "(trials, 2")
    whole = {key: values.astype(np.int64) for key, values in posterior.init(1).items()}
    refused(lambda: posterior.update(whole, observed(0, 0, 1.0)), "in place")


@each("family", FAMILIES)
def test_refused_observations_change_nothing(family: Family) -> None:
    posterior = family.of(2)
    state = posterior.init(trials=2)
    weighted = [] if posterior.weighted else [observed(0, 0, 1.0, weight=2.0)]
    rewards = [observed(0, 0, reward) for reward in REWARDS.get(family, [])]
    places = [observed(trial, arm, 1.0) for trial, arm in ((2, 0), (-1, 0), (0, 2), (0, -1))]
    long = Observations(np.array([0, 1]), np.array([0]), np.ones(1))
    for seen in (*places, *weighted, *rewards, long):
        with refuses(InputError):
            posterior.update(state, seen)
    for reward in (*REWARDS.get(family, []), "1", None):
        with refuses(InputError):
            posterior.check_reward(reward)
    for name, values in posterior.init(trials=2).items():
        assert (state[name] == values).all()


@each(
    ("posterior", "exact"),
    [
        (Normal.of(1, mean=2.0, sd=3.0), stats.norm(2.0, 3.0)),
        (NormalInverseGamma.of(1, 2.0, 4.0, 3.0, 6.0), stats.t(6.0, 2.0, math.sqrt(0.5))),
        (GammaPoisson.of(1, shape=3.0, rate=2.0), stats.gamma(3.0, scale=0.5)),
        (BetaBernoulli.of(1, 0.7, 3.0), stats.beta(0.7, 3.0)),
    ],
)
def test_quantiles_are_those_of_the_distribution(posterior: Any, exact: Any) -> None:
    state = posterior.init(trials=1)
    for level in (0.001, 0.3, 0.9):
        assert posterior.quantile(state, level).item() == pytest.approx(exact.ppf(level), rel=1e-10)
    assert posterior.quantile(state, 0).item() == posterior.support[0]
    assert posterior.quantile(state, 1).item() == posterior.support[1]
    for wrong in (-1e-9, 1.0 + 1e-9, NAN, "half", None):
        with refuses(InputError):
            posterior.quantile(state, wrong)


def test_weaker_priors_have_the_same_means() -> None:
    for posterior in (
        BetaBernoulli.of(2, a=[5.0, 2e-3], b=2.0),
        GammaPoisson.of(2, shape=[5.0, 2e-3], rate=2.0),
        Normal.of(2, mean=[1.0, 2.0]),
        NormalInverseGamma.of(2, mean=[1.0, 2.0]),
        Dirichlet.of(1, weights=(5, 10, 20, 3, 7), accuracy="strict"),
    ):
        weaker = posterior.weaker()
        assert weaker.accuracy == posterior.accuracy
        state, before = weaker.init(trials=1), posterior.init(trials=1)
        assert weaker.mean(state) == pytest.approx(posterior.mean(before), rel=1e-12)
        wide = weaker.quantile(state, 0.9) - weaker.quantile(state, 0.1)
        assert (wide > posterior.quantile(before, 0.9) - posterior.quantile(before, 0.1)).any()
    assert Dirichlet.of(1, weights=1.0).weaker().weights.min() == pytest.approx(0.2)


def test_prior_is_read_only() -> None:
    for posterior in (Dirichlet.of(2), Normal.of(2), BetaBernoulli.of(2)):
        prior = next(v for v in vars(posterior).values() if isinstance(v, np.ndarray))
        with pytest.raises(ValueError, match="read-only"):
            prior[0] = 7.0
