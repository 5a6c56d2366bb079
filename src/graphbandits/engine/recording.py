"""What is kept of each trial."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from graphbandits.errors import InputError, whole_number
from graphbandits.types import Ints

#: Rounds that are kept of a curve, at most.
POINTS = 200
#: Which gain the recorded ratios are by: G h, an upper bound of Psi, or the joint gain g.
GAINS = ("bound", "joint")
#: Which regret is counted: theta* - theta_A, or the difference of the outcomes.
REGRETS = ("pseudo", "realised")


@dataclass(frozen=True)
class Recording:
    """The rounds at which the regret is kept, which regret it is, and whether ratios are as well.

    >>> Recording.of(horizon=1000, rounds=[10, 100]).rounds
    (10, 100, 1000)
    """

    rounds: tuple[int, ...]
    regret: str = "pseudo"
    ratios: str | None = None

    @classmethod
    def of(
        cls,
        horizon: int,
        rounds: int | Sequence[int] = POINTS,
        regret: str = "pseudo",
        ratios: str | None = None,
    ) -> Recording:
        """Checked: ``rounds`` is how many at most, evenly spread, or a list; the last is added."""
        if isinstance(rounds, Sequence) and not isinstance(rounds, str):
            kept = tuple(whole_number(t, "a recorded round") for t in rounds)
            if list(kept) != sorted(set(kept)) or (kept and kept[-1] > horizon):
                raise InputError(
                    f"recorded rounds go up from 1 to the horizon, {horizon}; got "
                    f"{', '.join(map(str, kept))}"
                )
            kept = kept if kept and kept[-1] == horizon else (*kept, horizon)
        else:
            points = whole_number(rounds, "the number of recorded rounds")
            # one point is the end
            spread = recorded_rounds(horizon, points).tolist() if points > 1 else [horizon]
            kept = tuple(spread)
        if regret not in REGRETS:
            raise InputError(f"regret is 'pseudo' or 'realised', not {regret!r}")
        if ratios is not None and ratios not in GAINS:
            raise InputError(f"ratios are by 'bound' or by 'joint', or None, not {ratios!r}")
        return cls(kept, regret, ratios)

    @property
    def record(self) -> Ints:
        """The rounds as an array."""
        return np.array(self.rounds)


def recorded_rounds(horizon: int, points: int = POINTS) -> Ints:
    """At most ``points`` rounds, evenly spread, the first and the last among them.

    >>> recorded_rounds(5).tolist(), len(recorded_rounds(10**6))
    ([1, 2, 3, 4, 5], 200)
    """
    spread = np.linspace(1, horizon, min(points, horizon))
    return np.unique(np.rint(spread).astype(np.int64))
