"""What came out of a simulation: regret curves, comparisons, frames and files."""

from graphbandits.results.combine import concat
from graphbandits.results.compare import Difference, Moments, standard_error
from graphbandits.results.model import PolicyResult, Results
from graphbandits.results.published import Claim, Comparison, Judgement, Published, judge
from graphbandits.results.storage import FORMAT, check_place
from graphbandits.results.tables import QUANTILES, SCHEMA

__all__ = [
    "FORMAT",
    "QUANTILES",
    "SCHEMA",
    "Claim",
    "Comparison",
    "Difference",
    "Judgement",
    "Moments",
    "PolicyResult",
    "Published",
    "Results",
    "check_place",
    "concat",
    "judge",
    "standard_error",
]
