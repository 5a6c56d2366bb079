"""Policies, one module each, and the base classes for new policies.

A module of this package registers its policy when it is imported; see
:mod:`graphbandits.registry`.
"""

from graphbandits._types import Floats, State
from graphbandits.policies.base import Event, Needs, Policy, Problem, View, as_policy
from graphbandits.policies.bayesian import (
    Bayesian,
    GainPolicy,
    OwnOutcomePolicy,
    PosteriorPolicy,
    RulePolicy,
)
from graphbandits.policies.exponential_weights import ExponentialWeights
from graphbandits.policies.index import CountPolicy, IndexPolicy, OwnOutcomeIndexPolicy

__all__ = [
    "Bayesian",
    "CountPolicy",
    "Event",
    "ExponentialWeights",
    "Floats",
    "GainPolicy",
    "IndexPolicy",
    "Needs",
    "OwnOutcomeIndexPolicy",
    "OwnOutcomePolicy",
    "Policy",
    "PosteriorPolicy",
    "Problem",
    "RulePolicy",
    "State",
    "View",
    "as_policy",
]
