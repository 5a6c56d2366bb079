"""Tests of worlds/__init__.py: worlds and posteriors from texts, parameters by arm and objects."""

from __future__ import annotations

from typing import Any

import numpy as np
from helpers.bad_input import refused
from helpers.cases import each
from helpers.reward_families import FAMILIES

from graphbandits import Bernoulli, BetaBernoulli
from graphbandits.posteriors import Normal
from graphbandits.registry import build, class_of, parameters_given
from graphbandits.worlds import (
    Gaussian,
    as_posterior,
    as_world,
    check_world,
    is_one_prior,
    prior_parameters,
)

BETA, NORMAL = BetaBernoulli.of(2), Normal.of(2)


def arrays(model: Any) -> dict[str, Any]:
    return {
        name: value.tolist() if isinstance(value, np.ndarray) else value
        for name, value in parameters_given(model).items()
    }


def test_default_models_are_bernoulli_with_uniform_priors() -> None:
    world = as_world(None, 3)
    assert type(world) is Bernoulli
    assert arrays(world.prior) == arrays(as_posterior(None, 3)) == arrays(BetaBernoulli.of(3))


def test_objects_are_returned_unchanged() -> None:
    for world in (Bernoulli(BETA), Gaussian(NORMAL)):
        assert as_world(world, 2) is world
        assert as_posterior(world.prior, 2) is world.prior


@each("family", list(FAMILIES))
def test_texts_equal_the_class_method_of(family: str) -> None:
    """The world has the prior that the posterior of the same parameters is."""
    given = FAMILIES[family]
    world, posterior = as_world(given.world, 4), as_posterior(given.posterior, 4)
    assert type(posterior) is class_of("posterior", given.posterior_name)
    assert arrays(world.prior) == arrays(posterior)
    assert arrays(build("posterior", given.posterior, 4)) == arrays(posterior)
    assert world.arms == posterior.arms == 4


@each("family", list(FAMILIES))
def test_means_are_fixed(family: str) -> None:
    world: Any = as_world(FAMILIES[family].world, 3, means=FAMILIES[family].means)
    assert world.fixed.tolist() == list(FAMILIES[family].means)


@each(
    ("prior", "cls", "expected"),
    [
        ("2,5", BetaBernoulli, {"a": 2.0, "b": 5.0}),
        ((2, 5), BetaBernoulli, {"a": 2, "b": 5}),
        ([2.0, 5.0], BetaBernoulli, {"a": 2.0, "b": 5.0}),
        (np.array([2.0, 5.0]), BetaBernoulli, {"a": 2.0, "b": 5.0}),
        ("b=5", BetaBernoulli, {"b": 5}),
        ({"b": 5}, BetaBernoulli, {"b": 5}),
        ([(2, 5), (3, 1)], BetaBernoulli, {"a": [2, 3], "b": [5, 1]}),
        (["2,5", "3,1"], BetaBernoulli, {"a": [2.0, 3.0], "b": [5.0, 1.0]}),
        ([{"b": 5}, "2,1"], BetaBernoulli, {"a": [1.0, 2.0], "b": [5, 1.0]}),
        ([{}, {}], BetaBernoulli, {}),
        ("0.5", Normal, {"mean": 0.5}),
        ("0.5,2", Normal, {"mean": 0.5, "sd": 2}),
        ("sd=2, mean=-1", Normal, {"sd": 2, "mean": -1}),
        ((0.5, 2, 3), Normal, {"mean": 0.5, "sd": 2, "noise": 3}),
        ([(0.5,), "sd=3"], Normal, {"mean": [0.5, 0.0], "sd": [1.0, 3]}),
        (["0.5,2", (1, 4)], Gaussian, {"mean": [0.5, 1], "sd": [2, 4]}),
    ],
)
def test_parameters_of_a_prior_are_read(prior: Any, cls: type, expected: dict[str, Any]) -> None:
    assert prior_parameters(prior, cls, arms=2) == expected


def test_parameters_override_those_of_the_text() -> None:
    world = as_world("gaussian(mean=1, sd=2, noise=3)", 2, prior="mean=7")
    assert arrays(world.prior) | {"accuracy": ""} == {
        "means": [7.0, 7.0],
        "sds": [2.0, 2.0],
        "noise": 3.0,
        "accuracy": "",
        "discount": 1.0,
        "half_life": None,
    }
    posterior: Any = as_posterior("normal(noise=3)", 2, prior=[{"sd": 2}, {"mean": 4}])
    assert (posterior.means.tolist(), posterior.sds.tolist()) == ([0.0, 4.0], [2.0, 1.0])
    assert posterior.noise == 3.0


def test_arm_without_a_value_has_that_of_the_text() -> None:
    """Not the default of the class, which the text replaces."""
    entries = [{"mean": 7}, {"sd": 3}]
    world = as_world("gaussian(mean=1, sd=2)", 2, prior=entries)
    assert (world.prior.means.tolist(), world.prior.sds.tolist()) == ([7.0, 1.0], [2.0, 3.0])
    posterior: Any = as_posterior("normal(mean=[4, 5], sd=2)", 2, prior=entries)
    assert (posterior.means.tolist(), posterior.sds.tolist()) == ([7.0, 5.0], [2.0, 3.0])
    posterior = as_posterior("normal", 2, prior=entries)
    assert (posterior.means.tolist(), posterior.sds.tolist()) == ([7.0, 0.0], [1.0, 3.0])


@each(
    ("prior", "one"),
    [
        *(((2, 5), True), ("2,5", True), ({"a": 1}, True), ([1.0], True), (np.ones(2), True)),
        *(([(2, 5)], False), (["2,5"], False), (np.ones((2, 2)), False), ([{"a": 1}], False)),
        *((5, False), (None, False), ([True, False], False)),
    ],
)
def test_priors_for_all_arms_are_told_from_lists(prior: Any, one: bool) -> None:
    assert is_one_prior(prior) is one


@each(
    ("prior", "words"),
    [
        (5, ["prior must have the parameters of all arms", "2 arms"]),
        ([(1, 1)], ["each of the 2 arms"]),
        ([], ["a, b", "[]"]),
        ({"c": 1}, ["no parameter 'c'", "a, b"]),
        ("a=1,a=2", ["'a' is given twice"]),
        ({"fixed": [0.5, 0.5]}, ["no parameter 'fixed'"]),
        ("one,two", ["'one,two'", "two numbers A,B"]),
        ("", ["''"]),
        ([(1, 1), 5], ["a, b", "5"]),
        ([{"a": (1, 2)}, (1, 1)], ["a must be a number", "(1, 2)"]),
    ],
)
def test_bad_parameters_of_a_prior_are_refused(prior: Any, words: list[str]) -> None:
    refused(lambda: as_world("bernoulli", 2, prior), *words)
    refused(lambda: as_posterior("beta-bernoulli", 2, prior), *words)


@each("given", [5, Bernoulli, object(), BETA, [1], {"a": 1}, 0.5])
def test_objects_that_are_no_worlds_are_refused(given: Any) -> None:
    refused(lambda: as_world(given, 2), "world")


@each("given", [5, BetaBernoulli, object(), Bernoulli(BETA), [1]])
def test_objects_that_are_no_posteriors_are_refused(given: Any) -> None:
    refused(lambda: as_posterior(given, 2), "a posterior must be a text")


class Half:
    """A world without outcomes."""

    prior, arms = BETA, 2

    def means(self, keys: Any) -> Any:
        return np.zeros((keys.trials, 2))


class Beliefs:
    """A posterior without a number of arms and a prior state."""

    def beliefs(self, state: Any) -> Any:
        return None


def test_missing_members_are_named() -> None:
    refused(lambda: check_world(Half()), "world 'Half' lacks outcomes")
    refused(lambda: as_posterior(Beliefs(), 2), "posterior 'Beliefs' lacks arms, init")  # type: ignore[arg-type]


def test_numbers_of_arms_must_agree() -> None:
    refused(lambda: as_world(Bernoulli(BETA), 3), "the world has 2 arms, but 3 were given")
    refused(lambda: as_posterior(BETA, 3), "the prior has 2 arms, but the graph has 3")
    refused(lambda: as_world("bernoulli(a=[1, 2])", 3), "a list of 3 numbers")
    refused(lambda: as_world("gaussian", 3, means=[0.0, 1.0]), "each of the 3 arms")


def test_parameters_of_objects_are_refused() -> None:
    refused(lambda: as_world(Bernoulli(BETA), 2, prior=(1, 1)), "given as text")
    refused(lambda: as_world(Bernoulli(BETA), 2, means=[0.5, 0.5]), "given as text")
    refused(lambda: as_posterior(BETA, 2, prior=(1, 1)), "given as text")


@each(
    ("text", "words"),
    [
        ("gausian", ["unknown world 'gausian'", "did you mean 'gaussian'"]),
        ("gaussian(sigma=1)", ["'gaussian' has no parameter 'sigma'", "noise"]),
        ("gaussian(1, 2)", ["key=value"]),
        ("", ["world ''"]),
    ],
)
def test_bad_texts_are_refused(text: str, words: list[str]) -> None:
    refused(lambda: as_world(text, 2), *words)
