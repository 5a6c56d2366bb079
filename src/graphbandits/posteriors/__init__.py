"""What is believed: prior, update, beliefs."""

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

__all__ = [
    "Arm",
    "Belief",
    "Beliefs",
    "BeliefsByArm",
    "BetaBernoulli",
    "Observations",
    "Ordered",
    "Posterior",
    "StateChecked",
]
