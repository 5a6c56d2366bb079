"""The reward models of the package, one line each, and plug-ins of both kinds.

A new family is one more entry of :data:`FAMILIES`. Tests of the whole path, of bad input and of
saved agents run for every entry.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path


@dataclass(frozen=True)
class Family:
    """A world, its posterior, and what they accept."""

    #: Text forms with parameters that differ from the defaults.
    world: str
    posterior: str
    #: Text forms of the same names that differ in one parameter.
    other_world: str
    other_posterior: str
    #: Rewards that the posterior accepts and refuses.
    rewards: tuple[float, ...]
    bad_rewards: tuple[object, ...]
    #: Text forms with a parameter out of range, of the world and of the posterior.
    bad_parameters: tuple[str, ...]
    #: Means that the world can have, and cannot have.
    means: tuple[float, float, float]
    bad_means: str
    #: Whether the posterior has the method ``information``, and rewards for which bounds hold.
    joint: bool = False
    bounds: bool = False
    #: Trials of the run from end to end; fewer if the statistics are slow.
    trials: int = 96
    #: Policies beyond Thompson sampling, information-directed sampling and the uniform policy.
    policies: tuple[str, ...] = ()

    @property
    def world_name(self) -> str:
        return self.world.partition("(")[0]

    @property
    def posterior_name(self) -> str:
        return self.posterior.partition("(")[0]


_NUMBERS = (float("nan"), float("inf"), "1", None, [1.0])

_BERNOULLI = Family(
    "bernoulli(a=2, b=3)",
    "beta-bernoulli(a=2, b=3)",
    "bernoulli(a=2, b=3.5)",
    "beta-bernoulli(a=2.5, b=3)",
    rewards=(1.0, 0.0, 1.0),
    bad_rewards=(0.5, -1.0, 2.0, *_NUMBERS),
    bad_parameters=("a=0", "b=-1", "a=nan", "b=inf", "a=[1, 2]", "a=x"),
    means=(0.2, 0.7, 0.5),
    bad_means="0.2,0.7,1.5",
    joint=True,
    bounds=True,
    policies=("ids-n(gain=joint)", "exp3-set", "kl-ucb"),
)

FAMILIES = {
    "bernoulli": _BERNOULLI,
    "bernoulli-switch": replace(
        _BERNOULLI,
        world="bernoulli-switch(a=2, b=3, changes=[9])",
        other_world="bernoulli-switch(a=2, b=3, changes=[8])",
        other_posterior="beta-bernoulli(a=2, b=3, discount=0.9)",
        bounds=False,
        policies=(),
    ),
    "gaussian": Family(
        "gaussian(mean=0.5, sd=2, noise=0.75)",
        "normal(mean=0.5, sd=2, noise=0.75)",
        "gaussian(mean=0.5, sd=2, noise=0.8)",
        "normal(mean=0.25, sd=2, noise=0.75)",
        rewards=(1.25, -0.5, 0.0),
        bad_rewards=_NUMBERS,
        bad_parameters=("sd=0", "noise=-1", "mean=nan", "sd=inf", "noise=0", "mean=[1, 2]", "sd=x"),
        means=(-1.0, 2.5, 0.0),
        bad_means="0.2,nan,0.5",
        bounds=True,
    ),
    "categorical": Family(
        "categorical(values=[0, 1, 5], weights=[2, 1, 1.5])",
        "dirichlet(values=[0, 1, 5], weights=[2, 1, 1.5])",
        "categorical(values=[0, 1, 5], weights=[2, 1, 1.25])",
        "dirichlet(values=[0, 1, 5], weights=[2.5, 1, 1.5])",
        rewards=(5.0, 0.0, 1.0),
        bad_rewards=(0.5, -1.0, 2.0, *_NUMBERS),
        bad_parameters=("weights=0", "weights=nan", "weights=[1, 2]", "values=[1, 1]", "values=2"),
        means=(0.5, 4.5, 2.0),
        bad_means="0.5,5.5,2",
        bounds=True,
        trials=18,
        policies=("exp3-set",),
    ),
    "poisson": Family(
        "poisson(shape=2, rate=0.5)",
        "gamma-poisson(shape=2, rate=0.5)",
        "poisson(shape=2, rate=0.6)",
        "gamma-poisson(shape=2.5, rate=0.5)",
        rewards=(3.0, 0.0, 17.0),
        bad_rewards=(0.5, -1.0, *_NUMBERS),
        bad_parameters=("shape=0", "rate=-1", "shape=nan", "rate=inf", "rate=[1, 2]", "shape=x"),
        means=(0.5, 4.5, 20.0),
        bad_means="0.5,-1,2",
        trials=30,
    ),
    "gaussian-unknown-noise": Family(
        "gaussian-unknown-noise(mean=1, count=2, shape=3, scale=2)",
        "normal-inverse-gamma(mean=1, count=2, shape=3, scale=2)",
        "gaussian-unknown-noise(mean=1, count=2, shape=3, scale=2.5)",
        "normal-inverse-gamma(mean=1, count=3, shape=3, scale=2)",
        rewards=(1.25, -0.5, 0.0),
        bad_rewards=_NUMBERS,
        bad_parameters=("shape=0.5", "count=0", "scale=-1", "mean=nan", "scale=inf", "mean=x"),
        means=(-1.0, 2.5, 0.0),
        bad_means="0.2,nan,0.5",
        trials=12,
    ),
    "beta": Family(
        "beta(a=2, concentration=4, low=-1, high=4)",
        "beta-interval(a=2, low=-1, high=4)",
        "beta(a=2, concentration=5, low=-1, high=4)",
        "beta-interval(a=3, low=-1, high=4)",
        rewards=(2.5, -1.0, 4.0),
        bad_rewards=(-1.1, 4.5, *_NUMBERS),
        bad_parameters=("a=0", "low=5", "high=nan", "b=-1", "a=[1, 2]"),
        means=(-0.5, 3.5, 0.5),
        bad_means="0.2,0.7,4.5",
        bounds=True,
        policies=("exp3-set", "kl-ucb"),
    ),
}
#: Policies that run in every world.
COMMON = ("ts-n", "ids-n", "uniform")

#: A world and a posterior of a plug-in file. The parameters change numbers, or only the source.
PLUGIN = '''
"""Bernoulli arms with scaled means, and a posterior of its own."""

import math
from dataclasses import dataclass

import numpy as np

from graphbandits.posteriors import BetaBernoulli
from graphbandits.registry import register
from graphbandits.worlds import PriorWorld, outcome_uniforms


@register("posterior", "my-beta")
@dataclass(frozen=True, eq=False)
class MyBeta(BetaBernoulli):
    """Beta priors, with a limit that changes nothing."""

    limit: float = math.inf
    table: tuple = ((1, 2), (3.5, math.inf))

    @classmethod
    def of(cls, arms, a=1.0, b=1.0, limit=math.inf):
        return cls(np.full(arms, a), np.full(arms, b), limit=limit)


@register("world", "my-world")
@dataclass(frozen=True, eq=False)
class MyWorld(PriorWorld):
    """Bernoulli arms with means times a scale."""

    scale: float = 1.0

    @classmethod
    def of(cls, arms, scale=1.0):
        return cls(MyBeta.of(arms), None, scale)

    @classmethod
    def examples(cls):
        return [cls.of(2), cls.of(3, scale=0.5)]

    def means(self, keys):
        return self.scale * super().means(keys)

    def outcomes(self, theta, keys, t, trial, arm):
        return (outcome_uniforms(keys, t, trial, arm) < theta[trial, arm]).astype(float)
'''


def write_plugin(path: Path, more: str = "") -> Path:
    """Write the plug-in file, with more text at its end."""
    path.write_text(PLUGIN + more)
    return path
