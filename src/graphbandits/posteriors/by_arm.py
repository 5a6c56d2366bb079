"""Beliefs of one trial by the names of its arms."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from graphbandits.errors import InputError, nearest
from graphbandits.posteriors.base import Beliefs
from graphbandits.types import Floats

#: An arm as the user calls it: its name, or its number from 0.
Arm = str | int


@dataclass(frozen=True)
class Belief:
    """Of one arm: the probability that it is best, its expected regret, and its information."""

    alpha: float
    delta: float
    h: float


@dataclass(frozen=True, eq=False)
class BeliefsByArm:
    """The statistics of one trial: a :class:`Belief` for each arm, and all of them as arrays.

    ``alpha``, ``delta`` and ``h`` are in the order of ``arms``; ``rho`` is the expected mean of the
    best arm, and ``error`` the estimated error of the arrays, where it was asked for.
    """

    arms: tuple[Arm, ...] = field(repr=False)
    alpha: Floats
    delta: Floats
    h: Floats
    rho: float
    error: float | None
    _place: Mapping[Arm, int] = field(repr=False)

    @classmethod
    def of(cls, beliefs: Beliefs, arms: tuple[Arm, ...], place: Mapping[Arm, int]) -> BeliefsByArm:
        """The beliefs of the first trial; ``place`` is where each of the arms stands."""
        error = None if beliefs.error is None else float(beliefs.error[0])
        rows = (beliefs.alpha[0], beliefs.delta[0], beliefs.h[0])
        return cls(arms, *rows, float(beliefs.rho[0]), error, place)

    def __getitem__(self, arm: Arm) -> Belief:
        if arm not in self._place:
            raise InputError(f"unknown arm {arm!r}: {nearest(str(arm), map(str, self.arms))}")
        i = self._place[arm]
        return Belief(*(float(values[i]) for values in (self.alpha, self.delta, self.h)))

    def __iter__(self) -> Iterator[Arm]:
        return iter(self.arms)

    def __len__(self) -> int:
        return len(self.arms)
