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
    "GammaPoisson",
    "Normal",
    "NormalInverseGamma",
    "Observations",
    "Ordered",
    "Posterior",
    "StateChecked",
    "Support",
    "interval",
    "reward_support",
    "values",
]
