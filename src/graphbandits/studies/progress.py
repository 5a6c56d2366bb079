"""How much of a study is there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from graphbandits.experiments.texts import point_text

#: Policies that a text names before it says how many more there are.
NAMED = 3


@dataclass(frozen=True)
class Share:
    """One policy at one point: how many of its trials there are."""

    policy: str
    point: Mapping[str, Any]
    done: int
    trials: int

    @property
    def missing(self) -> int:
        return self.trials - self.done

    def __str__(self) -> str:
        where = f" at {point_text(self.point)}" if self.point else ""
        return f"{self.policy}{where} ({self.done} of {self.trials} trials)"


@dataclass(frozen=True, repr=False)
class Progress:
    """The policies of all cells; trials that several cells share are counted once.

    >>> Progress((Share("ts-n", {"r": 0.5}, 250, 1000), Share("ids-n", {"r": 0.5}, 1000, 1000)))
    <Progress: 1250 of 2000 trials (62 %); incomplete: ts-n at r = 0.5 (250 of 1000 trials)>
    """

    parts: tuple[Share, ...]

    @property
    def done(self) -> int:
        """The trials that are there."""
        return sum(part.done for part in self.parts)

    @property
    def trials(self) -> int:
        """The trials that were asked for."""
        return sum(part.trials for part in self.parts)

    @property
    def complete(self) -> bool:
        return not self.missing

    @property
    def missing(self) -> tuple[Share, ...]:
        """The policies that lack trials."""
        return tuple(part for part in self.parts if part.missing)

    def __repr__(self) -> str:
        share = 100 * self.done // self.trials
        text = f"{self.done} of {self.trials} trials ({share} %)"
        return f"<Progress: {text}{'; incomplete: ' if self.missing else ''}{listed(self.missing)}>"


def listed(parts: Sequence[Share]) -> str:
    """The policies with what they have, of many the first."""
    shown = ", ".join(map(str, parts[:NAMED]))
    more = len(parts) - NAMED
    return f"{shown} and {more} more" if more > 0 else shown
