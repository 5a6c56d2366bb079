"""Input of a report: an entry for each simulation and for each sweep."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from graphbandits.errors import InputError
from graphbandits.plots.regret import in_order, shown, sweep_notes
from graphbandits.results import (
    Claim,
    Difference,
    Judgement,
    Published,
    PublishedComparison,
    Results,
    judge,
)
from graphbandits.results.published import compare
from graphbandits.theory import Bound, BoundVerdict, judge_bounds

#: Of all intervals on the page.
CONFIDENCE = 0.95


@dataclass(frozen=True)
class SimulationEntry:
    """The results of one simulation, and what they are compared with.

    Parameters
    ----------
    key : str
        Name of the entry, unique in its report.
    title : str
        Heading of the entry.
    results : Results
        Results of the simulation.
    rerun : str
        Shell command that runs the simulation again.
    notes : tuple of str
        Paragraphs below the heading.
    claims : tuple of Claim
        Claims to test against the results.
    published : Published or None
        Published mean regrets, listed beside the means of the results.
    bounds : tuple of Bound
        Upper bounds on the expected regret, compared with the means of the results.

    Examples
    --------
    >>> from graphbandits import simulate
    >>> results = simulate(["ts-n", "ids-n"], graph="paper", horizon=20, trials=10, seed=1)
    >>> entry = SimulationEntry("paper", "Two triangles", results, "graphbandits simulate")
    >>> entry.trials, entry.digits
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

    @cached_property
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
        """Notes on policies, which are shown in tables and figures."""
        return self.results.notes

    @cached_property
    def judgements(self) -> list[Judgement]:
        """The verdict on each claim."""
        return [judge(claim, self.results, CONFIDENCE) for claim in self.claims]

    @property
    def drawn_bounds(self) -> tuple[Bound, ...]:
        """Bounds that figures show: without those that have a line per policy."""
        return tuple(bound for bound in self.bounds if not bound.with_parameters)

    @cached_property
    def kept_bounds(self) -> list[BoundVerdict]:
        """Each bound with the regret of each policy to which it applies."""
        return judge_bounds(self.bounds, self.results, CONFIDENCE)

    @cached_property
    def comparisons(self) -> list[PublishedComparison]:
        """The published regrets beside those found here."""
        return compare(self.published, self.results) if self.published else []

    def number(self, value: float, sign: str = "") -> str:
        """Format a regret with the digits of this entry.

        Parameters
        ----------
        value : float
            The regret.
        sign : str
            Format of the sign: "" or "+".

        Returns
        -------
        str
            The number, or "unknown" for NaN.
        """
        return "unknown" if math.isnan(value) else f"{value:{sign}.{self.digits}f}"

    def interval(self, low: float, high: float, sign: str = "") -> str:
        """Format an interval with the digits of this entry.

        Parameters
        ----------
        low, high : float
            Ends of the interval.
        sign : str
            Format of the signs: "" or "+".

        Returns
        -------
        str
            Both ends in brackets, or "unknown" for NaN.
        """
        if math.isnan(low):
            return "unknown"
        return f"[{self.number(low, sign)}, {self.number(high, sign)}]"


@dataclass(frozen=True)
class SweepEntry:
    """The results of one experiment at several values of a parameter.

    Parameters
    ----------
    key : str
        Name of the entry, unique in its report.
    title : str
        Heading of the entry.
    parameter : str
        Name of the parameter.
    results : mapping of float or str to Results
        Results at each value. Numbers are on an axis, texts are categories in the given order.
    rerun : str
        Shell command that runs the experiment again.
    label : str
        Label of the axis; the name of the parameter by default.
    scale : {"linear", "log"}
        Scale of the axis.
    notes : tuple of str
        Paragraphs below the heading.
    order : tuple of str
        Policies of all sweeps of a study, so that each has the same style in all figures.
    lines : mapping
        For each value, the name in ``results`` of each policy by its own name.
    points : mapping
        For each value, the values of all swept parameters, if there are several.

    Examples
    --------
    >>> from graphbandits import simulate
    >>> results = {r: simulate("ts-n", graph=f"random(r={r})", horizon=9, trials=5) for r in (1, 0)}
    >>> sweep = SweepEntry("r", "More to see", "r", results, "graphbandits run r")
    >>> [entry.title for entry in sweep.simulations]
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
    def simulations(self) -> list[SimulationEntry]:
        """An entry for each value, in order, with the value as its title."""
        return [
            SimulationEntry(f"{self.key}-{number}", shown(value), results, self.rerun)
            for number, (value, results) in enumerate(in_order(self.results, self.scale).items())
        ]

    @property
    def notes_on_policies(self) -> dict[str, str]:
        """Notes on policies, which are shown in tables and figures."""
        return sweep_notes(in_order(self.results, self.scale))


Entry = SimulationEntry | SweepEntry


def simulations_of(entry: Entry) -> list[SimulationEntry]:
    """The entries of a sweep at each value, or the one simulation itself."""
    return entry.simulations if isinstance(entry, SweepEntry) else [entry]


def policies_of(entries: Iterable[Entry]) -> list[str]:
    """Every policy of at least one entry, in order of first appearance."""
    return list(
        dict.fromkeys(
            name
            for entry in entries
            for simulation in simulations_of(entry)
            for name in simulation.results.policies
        )
    )


def verdict(difference: Difference) -> str:
    """Describe the first policy of a paired difference in words.

    >>> verdict(Difference("a", "b", mean=-2.0, standard_error=0.5, low=-3.0, high=-1.0))
    'clearly better'
    """
    if math.isnan(difference.low):
        return "unknown from one trial"
    if difference.high < 0.0:
        return "clearly better"
    return "clearly worse" if difference.low > 0.0 else "no clear difference"


def anchors(entries: Sequence[Entry]) -> list[str]:
    """Return a unique id for each entry: its key, reduced to characters allowed in an address."""
    keys = [entry.key for entry in entries]
    if not keys:
        raise InputError("a report needs at least one study")
    if len(set(keys)) < len(keys):
        twice = next(key for i, key in enumerate(keys) if key in keys[:i])
        raise InputError(f"two studies have the same key '{twice}': rename one")
    found: list[str] = []
    for number, key in enumerate(keys, start=1):
        name = f"study-{re.sub(r'[^a-z0-9]+', '-', key.lower()).strip('-') or number}"
        while name in found:
            name += f"-{number}"
        found.append(name)
    return found
