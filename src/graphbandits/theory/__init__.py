"""Information ratios, regret bounds, and an audit of the statements that imply them."""

from graphbandits.rules.gains import information_ratio
from graphbandits.theory.audit import Audit, Violation, audit
from graphbandits.theory.bounds import (
    Bound,
    BoundVerdict,
    bounds_for,
    bounds_of,
    corollary_1,
    corollary_2,
    earlier_bound,
    entropy_of,
    general_bound,
    judge_bounds,
    ratio_limit,
    regret_bounds,
    theorem_1,
    theorem_2,
    theorem_3,
)
from graphbandits.theory.inspection import (
    Inspection,
    PriorInspection,
    inspect_decision,
    inspect_prior,
)

__all__ = [
    "Audit",
    "Bound",
    "BoundVerdict",
    "Inspection",
    "PriorInspection",
    "Violation",
    "audit",
    "bounds_for",
    "bounds_of",
    "corollary_1",
    "corollary_2",
    "earlier_bound",
    "entropy_of",
    "general_bound",
    "information_ratio",
    "inspect_decision",
    "inspect_prior",
    "judge_bounds",
    "ratio_limit",
    "regret_bounds",
    "theorem_1",
    "theorem_2",
    "theorem_3",
]
