"""Information ratios, regret bounds, and an audit of the statements that imply them."""

from graphbandits.gains import information_ratio
from graphbandits.theory.auditor import Audit, Violation, audit
from graphbandits.theory.bounds import (
    Bound,
    corollary_1,
    corollary_2,
    earlier_bound,
    general_bound,
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
from graphbandits.theory.ratio_limits import ratio_limit
from graphbandits.theory.simulation_bounds import (
    BoundVerdict,
    bounds_for,
    bounds_of,
    entropy_of,
    judge_bounds,
    regret_bounds,
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
