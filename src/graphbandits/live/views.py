"""An agent for people: history, overview and trend."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from copy import deepcopy
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from graphbandits._types import Floats, Ints
from graphbandits.errors import GraphBanditsError
from graphbandits.graphs import Feedback
from graphbandits.graphs.feedback import subgraph
from graphbandits.graphs.processes import edge_arrays, fixed_feedback
from graphbandits.live.deciding import explain, state_of_arm
from graphbandits.live.journal import Entry, Journal
from graphbandits.live.state import AgentState, outcomes_of, unpack_learned
from graphbandits.posteriors import Arm, BeliefsByArm
from graphbandits.registry import text_of
from graphbandits.simulation.loop import draw_graph

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def describe(
    entries: Iterable[Entry], arms: tuple[Arm, ...], journal: Journal
) -> list[dict[str, Any]]:
    ids: dict[int, str] = {}
    found = []
    for entry in entries:
        line: dict[str, Any] = {
            "number": entry.number,
            "time": iso_time(entry.time),
            "kind": entry.kind,
        }
        number = entry.decision
        if number is not None:
            if number not in ids:
                made = [entry, *journal.of_decision(number)]
                known = (one.body["id"] for one in made if "id" in one.body)
                ids[number] = next(known, str(number))  # its entry may have been removed
            line["decision"] = ids[number]
        found.append(line | _details(entry, arms))
    return found


class ArmCounts:
    """Numbers of plays and outcomes of each arm in a journal, without late outcomes."""

    def __init__(self, arms: int) -> None:
        self.plays: Floats = np.zeros(arms)
        self.outcomes: Floats = np.zeros(arms)
        self._number = 0  # of the last play
        self._played: dict[int, int] = {}

    def add(self, entry: Entry) -> None:
        if entry.kind == "decide":
            arm = entry.body["arm"]
            self.plays[arm] += 1.0
            self._number += 1
            self._played[arm] = self._number
        elif entry.kind in ("observe", "close") and not entry.body.get("late"):
            for arm, (_, weight) in outcomes_of(entry.body).items():
                self.outcomes[arm] += weight
        elif entry.kind == "learn":
            seen = unpack_learned(entry)
            np.add.at(self.outcomes, seen.arm, 1.0 if seen.weight is None else seen.weight)

    def extend(self, arms: int) -> None:
        """Count more arms from now on."""
        more = np.zeros(max(0, arms - len(self.plays)))
        if len(more):
            self.plays = np.concatenate([self.plays, more])
            self.outcomes = np.concatenate([self.outcomes, more])

    def recent(self) -> list[int]:
        """Return the arms that were played, each once, the last one first."""
        return sorted(self._played, key=lambda arm: -self._played[arm])


def count_entries(entries: Iterable[Entry], arms: int) -> ArmCounts:
    counts = ArmCounts(arms)
    for entry in entries:
        counts.add(entry)
    return counts


def iso_time(seconds: float | None) -> str | None:
    return None if seconds is None else datetime.fromtimestamp(seconds, UTC).isoformat()


def _details(entry: Entry, arms: tuple[Arm, ...]) -> dict[str, Any]:
    body = entry.body
    match entry.kind:
        case "decide":
            context = {"context": deepcopy(body["context"])} if "context" in body else {}
            return {"arm": arms[body["arm"]], "probability": body["p"]} | context
        case "observe" | "close":
            more = {key: body[key] for key in ("closes", "late", "reason") if key in body}
            return {"outcomes": _outcomes(body, arms)} | more
        case "pause" | "resume" | "retire":
            return {"arms": [arms[arm] for arm in body["arms"]]}
        case "add_arm":
            return {"arm": body["name"], "prior": body["prior"]}
        case "create" | "set_policy":
            return {"policy": body["policy"]}
        case "learn":
            return dict(body)
    return {}


def _outcomes(body: dict[str, Any], arms: tuple[Arm, ...]) -> dict[str, Any]:
    return {
        str(arms[arm]): reward if weight == 1.0 else [reward * weight, weight]
        for arm, (reward, weight) in outcomes_of(body).items()
    }


#: Number of different arms that were played last and are marked.
LAST = 3
#: Most edges of a part of the graph that is returned as JSON values.
MOST_EDGES = 20_000


def arm_table(
    state: AgentState, counts: ArmCounts, beliefs: BeliefsByArm | None, most: int
) -> tuple[list[dict[str, Any]], int]:
    """Return statistics of the arms as JSON values, and the number of arms that are left out."""
    chosen = _by_relevance(state, counts, beliefs)[:most]
    return arm_rows(state, counts, beliefs, chosen), len(state.setup.arms) - len(chosen)


def arm_rows(
    state: AgentState, counts: ArmCounts, beliefs: BeliefsByArm | None, chosen: Ints
) -> list[dict[str, Any]]:
    arms = state.setup.arms
    known = {name: _by_number(state, beliefs, name) for name in ("alpha", "delta", "h")}
    found = []
    for i in chosen.tolist():
        status = "retired" if i in state.retired else "paused" if i in state.paused else "active"
        numbers = {name: None if np.isnan(v[i]) else float(v[i]) for name, v in known.items()}
        own = state_of_arm(state.policy_state, i, len(arms))
        found.append(
            {"arm": arms[i], "number": i, "status": status}
            | numbers
            | {"plays": int(counts.plays[i]), "outcomes": float(counts.outcomes[i]), "state": own}
        )
    return found


def _by_relevance(state: AgentState, counts: ArmCounts, beliefs: BeliefsByArm | None) -> Ints:
    """Return all arms: those that are most likely the best first, then the most played ones."""
    chance = np.nan_to_num(_by_number(state, beliefs, "alpha"))
    return np.lexsort((-counts.outcomes, -counts.plays, -chance))


def _by_number(state: AgentState, beliefs: BeliefsByArm | None, name: str) -> Floats:
    """Return a statistic of all arms; NaN where it is not known."""
    found = np.full(len(state.setup.arms), np.nan)
    if beliefs is not None:
        found[[state.setup.index[arm] for arm in beliefs.arms]] = getattr(beliefs, name)
    return found


def search_arms(
    state: AgentState, counts: ArmCounts, beliefs: BeliefsByArm | None, text: str
) -> Ints:
    """Return the arms whose names contain a text, by relevance; see :meth:`Agent.find_arms`."""
    wanted = _folded(text)
    names = [_folded(str(arm)) for arm in state.setup.arms]
    order = _by_relevance(state, counts, beliefs).tolist()
    found = [i for i in order if wanted in names[i]]
    return np.array(sorted(found, key=lambda i: not names[i].startswith(wanted)), np.int64)


def _folded(text: str) -> str:
    return unicodedata.normalize("NFKC", text).casefold()


def part_of_graph(
    state: AgentState,
    counts: ArmCounts,
    beliefs: BeliefsByArm | None,
    around: Sequence[int],
    most: int,
) -> dict[str, Any]:
    """Return arms and the edges between them as JSON values; see :meth:`Agent.neighbourhood`."""
    feedback = draw_graph(state.setup.process, state.decisions + 1, state.setup.keys)
    recent = counts.recent()
    chance = np.nan_to_num(_by_number(state, beliefs, "alpha"))
    chosen = relevant_arms(feedback, recent, chance, counts.outcomes, most, around)
    source, target, chances = edge_arrays(subgraph(feedback, chosen))
    if state.retired:  # they are neither played nor revealed
        gone = np.isin(chosen, list(state.retired))
        kept = ~(gone[source] | gone[target])
        source, target, chances = source[kept], target[kept], chances[kept]
    total = len(source)
    pairs = dict(zip(zip(source.tolist(), target.tolist(), strict=True), chances, strict=True))
    directed = any(pairs.get((j, i)) != chance for (i, j), chance in pairs.items())
    place = {arm: i for i, arm in enumerate(chosen.tolist())}
    last = [place[arm] for arm in recent[:LAST] if arm in place]
    if total > MOST_EDGES:  # those of the most relevant arms
        focus = [place[arm] for arm in around] or last or [int(np.argmax(chance[chosen]))]
        near = np.flatnonzero(np.isin(source, focus) | np.isin(target, focus))[:MOST_EDGES]
        source, target, chances = source[near], target[near], chances[near]
    return {
        "arms": arm_rows(state, counts, beliefs, chosen),
        "edges": [
            [i, j, p]
            for i, j, p in zip(source.tolist(), target.tolist(), chances.tolist(), strict=True)
        ],
        "edges_left_out": total - len(source),
        "directed": directed,
        "total": len(state.setup.arms),
        "changes": fixed_feedback(state.setup.process) is None,
        "last": last,
    }


def decision_rows(
    state: AgentState, journal: Journal, now: float, numbers: Sequence[int]
) -> list[dict[str, Any]]:
    """Return what happened to some decisions as JSON values; removed ones are left out."""
    found = []
    for number in numbers:
        rows = journal.of_decision(number)
        made = next((row for row in rows if row.kind == "decide"), None)
        if made is None and number in state.open:
            made = state.open[number].as_entry()
        if made is not None:
            found.append(_decision_row(state, made, rows, now))
    return found


def _decision_row(
    state: AgentState, made: Entry, rows: Sequence[Entry], now: float
) -> dict[str, Any]:
    number, arms = made.decision or 0, state.setup.arms
    opened = state.open.get(number)
    reason = next((row.body["reason"] for row in rows if "reason" in row.body), None)
    expired = reason == "expired" if opened is None else opened.is_due(now)
    outcomes, late = dict[str, Any](), list[str]()
    for row in rows:
        new = _outcomes(row.body, arms)
        outcomes |= new
        late += new if row.body.get("late") else []
    return {
        "id": made.body["id"],
        "number": number,
        "arm": arms[made.body["arm"]],
        "probability": made.body["p"],
        "time": iso_time(made.time),
        "expires": iso_time(made.body.get("expires")),
        "status": "expired" if expired else "open" if opened is not None else "closed",
        "outcomes": outcomes,
        "late": late,
    }


def draw_agent(
    state: AgentState, journal: Journal, beliefs: BeliefsByArm | None, most: int, width: float
) -> Figure:
    """Draw the graph of an agent; of many arms, those around the most relevant ones."""
    from graphbandits.plots.beliefs import beliefs_figure

    setup = state.setup
    count = len(setup.arms)
    counts = count_entries(journal.entries(), count)
    plays, outcomes, recent = counts.plays, counts.outcomes, counts.recent()
    alpha = _by_number(state, beliefs, "alpha")
    feedback = draw_graph(setup.process, state.decisions + 1, setup.keys)
    arms = relevant_arms(feedback, recent, np.nan_to_num(alpha), outcomes, most)
    place = {arm: i for i, arm in enumerate(arms.tolist())}
    left_out = count - len(arms)
    caption = [f"{left_out} of {count} arms are not drawn" if left_out else ""]
    if fixed_feedback(setup.process) is None:
        caption.append("the graph changes; this is that of the next decision")
    if journal.first() > 1:
        caption.append("plays and outcomes: those in the journal, whose first entries were removed")
    caption.append("" if beliefs else "the policy has no posterior: no colours")
    return beliefs_figure(
        feedback,
        arms,
        [str(setup.arms[i]) for i in arms.tolist()],
        alpha=None if beliefs is None else alpha[arms],
        plays=plays[arms],
        outcomes=outcomes[arms],
        last=[place[arm] for arm in recent[:LAST] if arm in place],
        title=f"{text_of(setup.policy)}: decisions {state.decisions}, open {len(state.open)}",
        caption="; ".join(filter(None, caption)),
        width=width,
    )


def relevant_arms(
    feedback: Feedback,
    recent: Sequence[int],
    chance: Floats,
    outcomes: Floats,
    most: int,
    around: Sequence[int] = (),
) -> Ints:
    """Return at most ``most`` arms to draw, in increasing order.

    These are the arms ``around``, those most likely the best and those played last, with their
    neighbours; then further likely ones, with theirs.
    """
    order = np.lexsort((-outcomes, -chance))
    if len(order) <= most:
        return np.arange(len(order))
    likely = order[:most].tolist()
    few = min(LAST, max(1, most // 4))
    first = list(dict.fromkeys([*around, likely[0], *recent[:few], *likely[1:few]]))[:most]
    rank = np.argsort(order)
    near = [_neighbours(feedback, arm, rank) for arm in first]
    room = max(1, most // len(first) - 1)  # a hub leaves room for the others
    chosen = (other for one in near[: len(around)] for other in one[:most])
    found = dict.fromkeys([*around, *chosen, *first])
    found |= dict.fromkeys(other for one in near for other in one[:room])
    found |= dict.fromkeys(other for one in near for other in one)
    for arm in likely:
        if len(found) >= most:
            break
        found |= dict.fromkeys([arm, *_neighbours(feedback, arm, rank)[:room]])
    return np.sort(np.array(list(found)[:most], np.int64))


def _neighbours(feedback: Feedback, arm: int, rank: Ints) -> list[int]:
    """Return the arms that an arm reveals or that reveal it, the most probable edges first."""
    one = np.zeros((1, len(rank)))
    one[0, arm] = 1.0
    edge = np.maximum(feedback.reach(np.array([arm]))[0], feedback.gain(one)[0])
    edge[arm] = 0.0
    index = np.flatnonzero(edge)
    found: list[int] = index[np.lexsort((rank[index], -edge[index]))].tolist()
    return found


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

    Statistics need a decision to be made again, so they are computed for at most 400 decisions.
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
        return self._state.number, self._state.time

    def add(self, entries: Iterable[Entry], get: Callable[[str], bytes]) -> None:
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
