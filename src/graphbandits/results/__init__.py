"""Results of simulations: regret curves, comparisons, data frames and files."""

from graphbandits.results.combine import concat
from graphbandits.results.differences import Difference, standard_error
from graphbandits.results.model import PolicyResult, Results
from graphbandits.results.published import (
    Claim,
    Judgement,
    Published,
    PublishedComparison,
    judge,
)
from graphbandits.results.trajectory_tables import TrajectoryTables

__all__ = [
    "Claim",
    "Difference",
    "Judgement",
    "PolicyResult",
    "Published",
    "PublishedComparison",
    "Results",
    "TrajectoryTables",
    "concat",
    "judge",
    "standard_error",
]
