"""A study: the results of one experiment, and what the page says of them."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from graphbandits.errors import InputError
from graphbandits.results import Difference, Results

#: Of all intervals on the page.
CONFIDENCE = 0.95


@dataclass(frozen=True)
class Study:
    """One experiment; ``rerun`` is the shell command that makes it again.

    >>> from graphbandits import simulate
    >>> results = simulate(["ts-n", "ids-n"], graph="paper", horizon=20, trials=10, seed=1)
    >>> study = Study("paper", "Two triangles", results, "graphbandits simulate --seed 1")
    >>> study.trials, study.digits
    (10, 2)
    """

    key: str
    title: str
    results: Results
    rerun: str
    notes: tuple[str, ...] = ()

    @property
    def trials(self) -> int:
        return len(next(iter(self.results.policies.values())).final)

    @property
    def digits(self) -> int:
        """Decimals that show two digits of the largest standard error: at least 2, at most 6."""
        errors = [float(result.standard_error[-1]) for result in self.results.policies.values()]
        largest = max((e for e in errors if e > 0.0), default=math.nan)
        if math.isnan(largest):
            return 2
        return int(np.clip(1 - math.floor(math.log10(largest)), 2, 6))

    @cached_property
    def pairs(self) -> list[Difference]:
        """All paired differences, with intervals that hold together."""
        return self.results.differences(None, CONFIDENCE, simultaneous=True)

    @cached_property
    def from_best(self) -> dict[str, Difference]:
        """Each policy minus the best, with the same intervals."""
        return self.results.from_best(CONFIDENCE)

    def number(self, value: float, sign: str = "") -> str:
        """A regret to the digits of this study; what one trial cannot tell is unknown."""
        return "unknown" if math.isnan(value) else f"{value:{sign}.{self.digits}f}"

    def interval(self, low: float, high: float, sign: str = "") -> str:
        """The two ends in brackets."""
        if math.isnan(low):
            return "unknown"
        return f"[{self.number(low, sign)}, {self.number(high, sign)}]"


def verdict(difference: Difference) -> str:
    """What a paired difference says of its first policy, in words.

    >>> verdict(Difference("a", "b", mean=-2.0, standard_error=0.5, low=-3.0, high=-1.0))
    'clearly better'
    """
    if math.isnan(difference.low):
        return "unknown from one trial"
    if difference.high < 0.0:
        return "clearly better"
    return "clearly worse" if difference.low > 0.0 else "not told apart"


def anchors(studies: Sequence[Study]) -> list[str]:
    """A name for each study's place in the page: its key as far as an address can hold it."""
    keys = [study.key for study in studies]
    if not keys:
        raise InputError("a report needs at least one study")
    if len(set(keys)) < len(keys):
        raise InputError(f"two studies have the same key, of {', '.join(keys)}: rename one")
    found: list[str] = []
    for number, key in enumerate(keys, start=1):
        name = f"study-{re.sub(r'[^a-z0-9]+', '-', key.lower()).strip('-') or number}"
        while name in found:
            name += f"-{number}"
        found.append(name)
    return found
