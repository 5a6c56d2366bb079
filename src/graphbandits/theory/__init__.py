"""What is promised: the information ratio, and the regret bounds that rest on it."""

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
from graphbandits.theory.limits import ratio_limit
from graphbandits.theory.ratio import information_ratio
from graphbandits.theory.regret import (
    BoundVerdict,
    bounds_of,
    entropy_of,
    judge_bounds,
    regret_bounds,
    why_no_bounds,
)

__all__ = [
    "Bound",
    "BoundVerdict",
    "bounds_of",
    "corollary_1",
    "corollary_2",
    "earlier_bound",
    "entropy_of",
    "general_bound",
    "information_ratio",
    "judge_bounds",
    "ratio_limit",
    "regret_bounds",
    "theorem_1",
    "theorem_2",
    "theorem_3",
    "why_no_bounds",
]
