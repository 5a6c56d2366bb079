"""Complete policies, one file each; a new file enrols itself (see :mod:`graphbandits.registry`)."""

from graphbandits.policies.base import (
    Event,
    Needs,
    Policy,
    Problem,
    View,
    as_policy,
    check_needs,
)

__all__ = ["Event", "Needs", "Policy", "Problem", "View", "as_policy", "check_needs"]
