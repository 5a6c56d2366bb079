"""Worlds: models of the rewards, with their priors."""

from graphbandits.worlds.base import PriorWorld, World, outcome_uniforms
from graphbandits.worlds.bernoulli import Bernoulli
from graphbandits.worlds.categorical import Categorical
from graphbandits.worlds.gaussian import Gaussian
from graphbandits.worlds.loaders import as_posterior, as_world

__all__ = [
    "Bernoulli",
    "Categorical",
    "Gaussian",
    "PriorWorld",
    "World",
    "as_posterior",
    "as_world",
    "outcome_uniforms",
]
