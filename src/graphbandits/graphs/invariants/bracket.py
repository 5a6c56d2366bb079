"""What is known of a number that is hard to compute: bounds from both sides, and their proof."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

T = TypeVar("T", int, float)

#: Called with the bounds whenever one of them has improved.
Progress = Callable[[float, float], None]
#: Arms, numbered from 0, in increasing order.
Arms = tuple[int, ...]


@dataclass(frozen=True)
class Bracket(Generic[T]):
    """``lower`` <= the number <= ``upper``, with the best set or cover that was found.

    ``certificate`` is of the size of one of the two bounds, and anyone can check it: the cliques of
    a cover (upper), the arms of an independent set (lower), of a dominating set (upper).

    >>> Bracket(2, 3, ((0, 1), (2,), (3,))).proved
    False
    """

    lower: T
    upper: T
    certificate: tuple[Arms, ...] | Arms | tuple[float, ...]

    @property
    def proved(self) -> bool:
        """Whether the bounds meet: then the number is known."""
        return self.lower == self.upper
