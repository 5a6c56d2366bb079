"""Bounds as plain numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from graphbandits.results import Results
from graphbandits.theory.bounds import Bound
from graphbandits.theory.regret import judge_bounds


def bounds_summary(bounds: Sequence[Bound], results: Results) -> list[dict[str, Any]]:
    """Bounds as plain numbers, each with the verdict on each policy that it is for."""
    judged = judge_bounds(bounds, results)
    return [
        {
            "name": bound.name,
            "formula": bound.formula,
            "source": bound.source,
            "note": bound.note,
            "value": bound.final,
            "standard_error": bound.final_error,
            "policies": {
                one.policy: {
                    "mean": one.mean,
                    "interval": [one.low, one.high],
                    "mean_is": one.verdict,
                }
                for one in judged
                if one.bound is bound
            },
        }
        for bound in bounds
    ]
