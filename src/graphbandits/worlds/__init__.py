"""Worlds: models of the rewards, with their priors."""

from graphbandits.worlds.base import World
from graphbandits.worlds.bernoulli import Bernoulli

__all__ = ["Bernoulli", "World"]
