"""What came out of a simulation: regret curves, comparisons, frames and files."""

from graphbandits.results.claims import Claim, Judgement, judge
from graphbandits.results.combine import concat
from graphbandits.results.compare import Difference, standard_error
from graphbandits.results.model import POINTS, PolicyResult, Results, recorded_rounds
from graphbandits.results.published import Comparison, Published
from graphbandits.results.ratios import Moments, Ratios
from graphbandits.results.schema import FORMAT, QUANTILES, SCHEMA, check_place
from graphbandits.results.shards import Plays, Shard

__all__ = [
    "FORMAT",
    "POINTS",
    "QUANTILES",
    "SCHEMA",
    "Claim",
    "Comparison",
    "Difference",
    "Judgement",
    "Moments",
    "Plays",
    "PolicyResult",
    "Published",
    "Ratios",
    "Results",
    "Shard",
    "check_place",
    "concat",
    "judge",
    "recorded_rounds",
    "standard_error",
]
