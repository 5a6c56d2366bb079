"""Worlds: models of the rewards, with their priors."""

from graphbandits.worlds.base import Changing, PriorWorld, World, outcome_uniforms
from graphbandits.worlds.bernoulli import Bernoulli
from graphbandits.worlds.bernoulli_switch import BernoulliSwitch
from graphbandits.worlds.beta import Beta
from graphbandits.worlds.categorical import Categorical
from graphbandits.worlds.gaussian import Gaussian
from graphbandits.worlds.gaussian_unknown_noise import GaussianUnknownNoise
from graphbandits.worlds.loaders import as_posterior, as_world
from graphbandits.worlds.poisson import Poisson

__all__ = [
    "Bernoulli",
    "BernoulliSwitch",
    "Beta",
    "Categorical",
    "Changing",
    "Gaussian",
    "GaussianUnknownNoise",
    "Poisson",
    "PriorWorld",
    "World",
    "as_posterior",
    "as_world",
    "outcome_uniforms",
]
