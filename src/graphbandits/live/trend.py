"""Expected regret, information ratio and entropy of the decisions of an agent, in their order."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from graphbandits.errors import GraphBanditsError
from graphbandits.live.explanation import explain
from graphbandits.live.history import ArmCounts, iso_time
from graphbandits.live.journal import Entry
from graphbandits.live.state import AgentState

#: Decisions whose statistics are kept; beyond that, every second one is left out.
MOST_POINTS = 400


class _Point(NamedTuple):
    """Statistics of one decision; None where they are not defined."""

    number: int
    time: float
    regret: float | None
    ratio: float | None
    entropy: float | None


class TrendRecord:
    """Statistics of the decisions in a journal, and the numbers of plays and outcomes by arm.

    It follows the journal: entries are added as they come. Statistics need a decision to be made
    again, so they are computed for at most 400 decisions, at equal distances.

    Parameters
    ----------
    state : AgentState
        State before the first entry. The record changes it.
    first : int
        Number of the first entry of the journal.
    """

    def __init__(self, state: AgentState, first: int) -> None:
        self.first = first
        self.counts = ArmCounts(len(state.setup.arms))
        self.every = 1
        self._state = state
        self._points: list[_Point] = []
        self._next = state.decisions + 1

    @property
    def last(self) -> tuple[int, float]:
        """Number and time of the last entry that was added."""
        return self._state.number, self._state.time

    def add(self, entries: Iterable[Entry], get: Callable[[str], bytes]) -> None:
        """Add entries, which follow those that were added before."""
        waiting: list[Entry] = []
        for entry in entries:
            number = entry.decision or 0
            first_of_request = entry.kind == "decide" and entry.body.get("round", number) == number
            if first_of_request and number >= self._next:
                self._replay(waiting, get)
                waiting = []
                self._add_point(entry, get)
            waiting.append(entry)
        self._replay(waiting, get)

    def _replay(self, entries: list[Entry], get: Callable[[str], bytes]) -> None:
        self._state.replay(entries, get)
        self.counts.extend(len(self._state.setup.arms))
        for entry in entries:
            self.counts.add(entry)

    def _add_point(self, entry: Entry, get: Callable[[str], bytes]) -> None:
        number = entry.decision or 0
        try:
            found = explain(self._state, [entry], get, 1)
            values = found.regret, found.ratio, found.entropy
        except GraphBanditsError:  # of a plug-in: the others are still of use
            values = None, None, None
        self._points.append(_Point(number, entry.time, *values))
        if len(self._points) > MOST_POINTS:
            self.every *= 2
            self._points = self._points[::2]
        self._next = self._points[-1].number + self.every

    def to_dict(self, most: int) -> dict[str, Any]:
        """Return the statistics of at most so many decisions, as JSON values."""
        every = max(1, -(-len(self._points) // most))
        shown = self._points[::-1][::every][::-1]  # with the last one
        cumulative, total, before = [], 0.0, self._points[0].number - 1 if self._points else 0
        chosen = {point.number for point in shown}
        for point in self._points:
            # the decisions in between had about the same expected regret
            total += (point.regret or 0.0) * (point.number - before)
            before = point.number
            if point.number in chosen:
                cumulative.append(None if point.regret is None else total)
        return {
            "decision": [point.number for point in shown],
            "time": [iso_time(point.time) for point in shown],
            "regret": [point.regret for point in shown],
            "cumulative": cumulative,
            "ratio": [point.ratio for point in shown],
            "entropy": [point.entropy for point in shown],
            "every": self.every * every,
        }
