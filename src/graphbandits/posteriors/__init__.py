"""Posteriors: priors of the arms, updates by observations, and statistics of the best arm."""

from graphbandits.posteriors.base import (
    BINARY,
    COUNT,
    REAL,
    Arm,
    Belief,
    Beliefs,
    BeliefsByArm,
    Observations,
    Ordered,
    Posterior,
    StateChecked,
    Support,
    interval,
    reward_support,
    values,
)
from graphbandits.posteriors.beta_bernoulli import BetaBernoulli
from graphbandits.posteriors.beta_interval import BetaInterval
from graphbandits.posteriors.dirichlet import Dirichlet
from graphbandits.posteriors.gamma_poisson import GammaPoisson
from graphbandits.posteriors.normal import Normal, NormalInverseGamma
from graphbandits.posteriors.updates import discounted, is_discounted

__all__ = [
    "BINARY",
    "COUNT",
    "REAL",
    "Arm",
    "Belief",
    "Beliefs",
    "BeliefsByArm",
    "BetaBernoulli",
    "BetaInterval",
    "Dirichlet",
    "GammaPoisson",
    "Normal",
    "NormalInverseGamma",
    "Observations",
    "Ordered",
    "Posterior",
    "StateChecked",
    "Support",
    "discounted",
    "interval",
    "is_discounted",
    "reward_support",
    "values",
]
