"""Expected regret, information ratio and entropy of the decisions of an agent, in their order."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any, NamedTuple

from graphbandits.errors import GraphBanditsError
from graphbandits.live.explaining import explain
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
    #: Sum of the expected regret of all decisions up to this one.
    cumulative: float


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
        made: list[Entry] = []  # decisions of the last request
        for entry in entries:
            if entry.kind == "decide":
                number = entry.decision or 0
                if entry.body.get("round", number) == number:
                    made = []
                if number >= self._next:
                    # the state before the first decision of the request is needed
                    self._replay(waiting[: len(waiting) - len(made)], get)
                    waiting = list(made)
                    self._add_point([*made, entry], get)
                made.append(entry)
            waiting.append(entry)
        self._replay(waiting, get)

    def _replay(self, entries: list[Entry], get: Callable[[str], bytes]) -> None:
        self._state.replay(entries, get)
        self.counts.extend(len(self._state.setup.arms))
        for entry in entries:
            self.counts.add(entry)

    def _add_point(self, made: list[Entry], get: Callable[[str], bytes]) -> None:
        """Add the last of some decisions of one request; the state is that before them."""
        entry, number = made[-1], made[-1].decision or 0
        before = self._points[-1] if self._points else None
        values: tuple[float | None, float | None, float | None] = (None, None, None)
        if before and len(made) > 1 and before.number >= number - len(made) + 1 and _repeats(entry):
            values = before.regret, before.ratio, before.entropy
        else:
            with suppress(GraphBanditsError):  # of a plug-in: the others are still of use
                found = explain(self._state, made, get, 1)
                values = found.regret, found.ratio, found.entropy
        regret = values[0] or 0.0
        total = regret
        if before:
            # between two decisions the expected regret is interpolated
            between = number - before.number - 1
            total += before.cumulative + 0.5 * between * ((before.regret or 0.0) + regret)
        self._points.append(_Point(number, entry.time, *values, total))
        if len(self._points) > MOST_POINTS:
            self.every *= 2
            self._points = self._points[::2]
        self._next = self._points[-1].number + self.every

    def to_dict(self, most: int) -> dict[str, Any]:
        """Return the statistics of at most so many decisions, as JSON values."""
        every = max(1, -(-len(self._points) // most))
        shown = self._points[::-1][::every][::-1]  # with the last one
        return {
            "decision": [point.number for point in shown],
            "time": [iso_time(point.time) for point in shown],
            "regret": [point.regret for point in shown],
            "cumulative": [None if point.regret is None else point.cumulative for point in shown],
            "ratio": [point.ratio for point in shown],
            "entropy": [point.entropy for point in shown],
            "every": self.every * every,
        }


def _repeats(entry: Entry) -> bool:
    """Return whether a decision has the statistics of the decisions before it in its request."""
    return not entry.body.get("distinct") and entry.body.get("pending") != "expected"
