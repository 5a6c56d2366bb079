"""What is believed: prior, update, beliefs."""

from graphbandits.posteriors.base import Beliefs, Observations, Posterior
from graphbandits.posteriors.beta_bernoulli import BetaBernoulli

__all__ = ["Beliefs", "BetaBernoulli", "Observations", "Posterior"]
