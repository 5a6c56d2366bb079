"""Policies, one file each, and the base classes for new ones.

A file in this package registers its policy when it is imported; see :mod:`graphbandits.registry`.
"""

from graphbandits.policies.base import (
    Event,
    Needs,
    Policy,
    Problem,
    View,
    as_policy,
)

__all__ = [
    "Event",
    "Needs",
    "Policy",
    "Problem",
    "View",
    "as_policy",
]
