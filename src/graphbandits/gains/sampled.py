"""The joint information gain by sampling, with its standard error."""

from __future__ import annotations

from dataclasses import dataclass

from graphbandits.types import Floats


@dataclass(frozen=True, eq=False)
class SampledGain:
    """An estimate of g, and its standard error, (B, K)."""

    value: Floats
    standard_error: Floats


def sampled_gain() -> SampledGain:
    """To be written."""
    raise NotImplementedError
