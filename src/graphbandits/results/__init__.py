"""What came out of a simulation: regret curves, comparisons, frames and files."""

from graphbandits._old_words import renamed_names
from graphbandits.results.combine import concat
from graphbandits.results.data_frames import QUANTILES, SCHEMA
from graphbandits.results.differences import Difference, Moments, standard_error
from graphbandits.results.file_formats import FORMAT, check_target
from graphbandits.results.model import PolicyResult, Results
from graphbandits.results.published import Claim, Judgement, Published, PublishedComparison, judge

__all__ = [
    "FORMAT",
    "QUANTILES",
    "SCHEMA",
    "Claim",
    "Difference",
    "Judgement",
    "Moments",
    "PolicyResult",
    "Published",
    "PublishedComparison",
    "Results",
    "check_target",
    "concat",
    "judge",
    "standard_error",
]

__getattr__ = renamed_names(__name__, {"Comparison": "PublishedComparison"})
