"""Posteriors: priors of the arms, updates by observations, and statistics of the best arm."""

from graphbandits.posteriors.base import (
    Arm,
    Belief,
    Beliefs,
    BeliefsByArm,
    Observations,
    Ordered,
    Posterior,
    StateChecked,
)
from graphbandits.posteriors.beta_bernoulli import BetaBernoulli
from graphbandits.posteriors.beta_interval import BetaInterval
from graphbandits.posteriors.dirichlet import Dirichlet
from graphbandits.posteriors.discounting import discounted, is_discounted
from graphbandits.posteriors.gamma_poisson import GammaPoisson
from graphbandits.posteriors.normal import Normal
from graphbandits.posteriors.normal_inverse_gamma import NormalInverseGamma
from graphbandits.posteriors.support import (
    BINARY,
    COUNT,
    REAL,
    Support,
    interval,
    reward_support,
    values,
)

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
