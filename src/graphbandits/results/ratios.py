"""What a run may keep besides regret: information ratios and what is left to learn."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields

import numpy as np

from graphbandits.results.compare import standard_error
from graphbandits.types import Floats


@dataclass(frozen=True, eq=False)
class Ratios:
    """Of each trial at each recorded round, (trials, rounds).

    ``ratio``: Psi_t, the squared expected regret of the play by its expected information;
    ``ratio_sum``: the sum of Psi over all rounds up to this one, recorded or not; ``psi``: psi_t,
    that of Thompson sampling in the same place; ``entropy``: that of alpha_t, what is left to learn
    about which arm is best, in nats. A ratio is infinite where something is lost and nothing
    learned; where nothing is lost either it is NaN, and counts 0 in the sum. Psi_t is by the bound
    G h or by the exact joint gain: ``settings["ratios"]`` says which; psi_t is by G h.
    """

    ratio: Floats
    ratio_sum: Floats
    psi: Floats
    entropy: Floats

    def items(self) -> Iterator[tuple[str, Floats]]:
        """The arrays by their names."""
        return ((field.name, getattr(self, field.name)) for field in fields(self))

    @classmethod
    def concat(cls, parts: Sequence[Ratios]) -> Ratios:
        """The trials one after the other."""
        names = [field.name for field in fields(cls)]
        return cls(*(np.concatenate([getattr(part, name) for part in parts]) for name in names))


@dataclass(frozen=True, eq=False)
class Moments:
    """The mean over the trials in each recorded round, and its standard error (NaN of one trial).

    >>> found = Moments.of(np.array([[1.0, 2.0], [3.0, 2.0]]))
    >>> found.mean.tolist(), found.standard_error.tolist()
    ([2.0, 2.0], [1.0, 0.0])
    """

    mean: Floats
    standard_error: Floats

    @classmethod
    def of(cls, values: Floats) -> Moments:
        """Of an array (trials, rounds)."""
        with np.errstate(invalid="ignore"):  # infinite sums have no standard error
            return cls(values.mean(axis=0), standard_error(values))
