"""What is believed: prior, update, beliefs."""

from graphbandits.posteriors.base import Beliefs, Observations, Ordered, Posterior, StateChecked
from graphbandits.posteriors.beta_bernoulli import BetaBernoulli
from graphbandits.posteriors.by_arm import Arm, Belief, BeliefsByArm

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
