"""What the page tells of: studies, each the results of one experiment, and sweeps of several."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from graphbandits.errors import InputError
from graphbandits.plots.sweep import in_order, shown, sweep_notes
from graphbandits.results import (
    Claim,
    Comparison,
    Difference,
    Judgement,
    Published,
    Results,
    judge,
)
from graphbandits.results.published import compare
from graphbandits.theory import Bound, BoundVerdict, judge_bounds

#: Of all intervals on the page.
CONFIDENCE = 0.95


@dataclass(frozen=True)
class Study:
    """One experiment; ``rerun`` is the shell command that makes it again.

    ``claims`` and ``bounds`` are held against the results, and ``published`` regrets are put
    beside them.

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
    claims: tuple[Claim, ...] = ()
    published: Published | None = None
    bounds: tuple[Bound, ...] = ()

    @property
    def trials(self) -> int:
        return self.results.trials

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

    @property
    def notes_on_policies(self) -> dict[str, str]:
        """What is to be said of policies wherever they are shown."""
        return self.results.notes

    @cached_property
    def judgements(self) -> list[Judgement]:
        """What the results say of each claim."""
        return [judge(claim, self.results, CONFIDENCE) for claim in self.claims]

    @property
    def drawn_bounds(self) -> tuple[Bound, ...]:
        """Those that figures can show: a line for each policy by itself would be too many."""
        return tuple(bound for bound in self.bounds if not bound.whole)

    @cached_property
    def kept_bounds(self) -> list[BoundVerdict]:
        """Each bound beside the regret of each policy that it is for."""
        return judge_bounds(self.bounds, self.results, CONFIDENCE)

    @cached_property
    def comparisons(self) -> list[Comparison]:
        """The published regrets beside those found here."""
        return compare(self.published, self.results) if self.published else []

    def number(self, value: float, sign: str = "") -> str:
        """A regret to the digits of this study; what one trial cannot tell is unknown."""
        return "unknown" if math.isnan(value) else f"{value:{sign}.{self.digits}f}"

    def interval(self, low: float, high: float, sign: str = "") -> str:
        """The two ends in brackets."""
        if math.isnan(low):
            return "unknown"
        return f"[{self.number(low, sign)}, {self.number(high, sign)}]"


@dataclass(frozen=True)
class Sweep:
    """One experiment at several values of a ``parameter``; ``label`` is what its axis says.

    Numbers are on an axis (``scale`` "linear" or "log"), texts are categories in the given order.
    ``order`` names the policies of all sweeps of the page, so that each looks the same in all.
    ``lines`` has, for each value, the name in the results of each policy by its own; ``points``
    all parameters at each value, where there are several.

    >>> from graphbandits import simulate
    >>> results = {r: simulate("ts-n", graph=f"random(r={r})", horizon=9, trials=5) for r in (1, 0)}
    >>> [study.title for study in Sweep("r", "More to see", "r", results, "sh r.sh").studies]
    ['0', '1']
    """

    key: str
    title: str
    parameter: str
    results: Mapping[float, Results] | Mapping[str, Results]
    rerun: str
    label: str = ""
    scale: str = "linear"
    notes: tuple[str, ...] = ()
    order: tuple[str, ...] = ()
    lines: Mapping[Any, Mapping[str, str]] = field(default_factory=dict)
    points: Mapping[Any, Mapping[str, Any]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        in_order(self.results, self.scale)  # refuses what is no sweep

    @cached_property
    def studies(self) -> list[Study]:
        """A study at each value, in order, with the value for a title."""
        return [
            Study(f"{self.key}-{number}", shown(value), results, self.rerun)
            for number, (value, results) in enumerate(in_order(self.results, self.scale).items())
        ]

    @property
    def notes_on_policies(self) -> dict[str, str]:
        """What is to be said of policies wherever they are shown."""
        return sweep_notes(in_order(self.results, self.scale))


def names_of(studies: Iterable[Study]) -> list[str]:
    """Every policy of one study at least, in the order of the first that has it."""
    return list(dict.fromkeys(name for study in studies for name in study.results.policies))


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


def anchors(studies: Sequence[Study | Sweep]) -> list[str]:
    """A name for each one's place in the page: its key as far as an address can hold it."""
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
