"""The log of the journal of an agent, in one pass."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from graphbandits._types import Floats, Ints
from graphbandits.engine.loop import draw_graph
from graphbandits.errors import InputError
from graphbandits.graphs import Process
from graphbandits.graphs.processes import fixed_feedback
from graphbandits.live._log_table import CHANGES, Origin, log_table
from graphbandits.live._packing import pack_graph, unpack_graph, unpack_sparse
from graphbandits.live.journal import Entry
from graphbandits.live.state import AgentState, without_retired
from graphbandits.registry import text_of


def journal_rows(
    start: AgentState, entries: Iterable[Entry], get: Callable[[str], bytes]
) -> tuple[pa.Table, Origin]:
    """Return the log of the decisions in the entries of a journal, in one pass.

    ``start`` is the state before the first entry.
    """
    rows = _Rows(start, get)
    for entry in entries:
        rows.add(entry)
    return rows.table()


class _Rows:
    """Rows of a log that grow with the entries of a journal."""

    def __init__(self, start: AgentState, get: Callable[[str], bytes]) -> None:
        setup = start.setup
        self._get, self._keys = get, setup.keys
        self._arms, self._first_arms = list(setup.arms), len(setup.arms)
        self._policy, self._horizon = text_of(setup.policy), setup.horizon
        self._paused, self._retired = set(start.paused), dict(start.retired)
        self._decisions = start.decisions
        self._objects: dict[str, str] = {}
        self._graphs: list[str | None] = []
        self._processes: list[Process] = []
        self._graph_index: dict[str, int] = {}
        data = None
        with suppress(InputError):  # a graph of a plug-in without a text form
            data = pack_graph(setup.process, setup.graph_text)
        self._graph = self._add_graph(setup.process, data)
        self._prior: str | None = None
        with suppress(InputError):  # a prior that is not registered
            self._prior = self._put(setup._packed_prior())
        self._changes: list[list[Any]] = []
        self._reach: dict[tuple[int, int], tuple[Ints, Floats]] = {}
        self._masks: dict[tuple[str, int], NDArray[np.bool_]] = {}
        self._batch: tuple[int, set[int]] = 0, set()
        self._row_of: dict[int, int] = {}
        self._plain: dict[str, list[Any]] = {
            name: []
            for name in (
                *("id", "number", "time", "arm", "probability", "policy", "context", "arms"),
                *("graph", "round", "entry"),
            )
        }
        self._pi: list[tuple[Ints, Floats] | None] = []
        self._reveals: list[tuple[Ints, Floats] | None] = []
        self._eligible: list[tuple[Ints, Floats] | None] = []
        self._outcomes: list[tuple[int, int, float, float, float, bool, bool, int]] = []
        self._closed: dict[int, tuple[float, str, int]] = {}

    def add(self, entry: Entry) -> None:
        """Add an entry of the journal."""
        body = entry.body
        if entry.kind in CHANGES:
            data = None if entry.data is None else base64.b64encode(entry.data).decode()
            self._changes.append([entry.number, entry.time, entry.kind, body, data])
        match entry.kind:
            case "decide":
                self._add_decision(entry)
            case "observe" | "close":
                self._add_outcomes(entry)
            case "add_arm":
                self._arms.append(body["name"])
                self._set_graph(body["graph"])
            case "set_graph":
                self._set_graph(body["graph"])
            case "set_policy":
                self._policy = body["policy"]
            case "pause":
                self._paused.update(body["arms"])
            case "resume":
                self._paused.difference_update(body["arms"])
            case "retire":
                for arm in body["arms"]:
                    self._retired.setdefault(arm, self._decisions)
                self._reach.clear()

    def _put(self, data: bytes) -> str:
        key = hashlib.sha256(data).hexdigest()
        self._objects[key] = base64.b64encode(data).decode()
        return key

    def _add_graph(self, process: Process, data: bytes | None) -> int:
        self._graphs.append(None if data is None else self._put(data))
        self._processes.append(process)
        return len(self._graphs) - 1

    def _stored_graph(self, key: str) -> int:
        if key not in self._graph_index:
            data = self._get(key)
            process = unpack_graph(data)[0]
            self._graph_index[key] = self._add_graph(process, data)
        return self._graph_index[key]

    def _set_graph(self, key: str) -> None:
        self._graph = self._stored_graph(key)

    def _add_decision(self, entry: Entry) -> None:
        body, number = entry.body, entry.decision or 0
        self._row_of[number] = len(self._pi)
        self._decisions = number
        graph = self._stored_graph(body["graph"]) if "graph" in body else self._graph
        round_, arm = body.get("round", number), body["arm"]
        context = json.dumps(body["context"]) if "context" in body else None
        stored = None if self._graphs[graph] is None else graph
        values = (
            *(body["id"], number, entry.time, arm, body["p"], self._policy, context),
            *(len(self._arms), stored, round_, entry.number),
        )
        for column, value in zip(self._plain.values(), values, strict=True):
            column.append(value)
        self._pi.append(None if entry.data is None else unpack_sparse(entry.data))
        self._reveals.append(self._reached(graph, arm, number, round_))
        self._eligible.append(self._eligible_arms(body, round_, arm))

    def _reached(self, graph: int, arm: int, number: int, round_: int) -> tuple[Ints, Floats]:
        """Return the arms that a play reveals, and their probabilities."""
        known = self._reach.get((graph, arm))
        if known is not None:
            return known
        process = self._processes[graph]
        row = draw_graph(process, round_, self._keys).reach(np.array([arm]))[0]
        row = without_retired(row, self._retired, number)
        index: Ints = np.flatnonzero(row)
        found = index, row[index]
        if fixed_feedback(process) is not None:
            self._reach[graph, arm] = found
        return found

    def _eligible_arms(
        self, body: dict[str, Any], round_: int, arm: int
    ) -> tuple[Ints, Floats] | None:
        """Return the arms that could be played; None if all could."""
        count = len(self._arms)
        if "among" in body:
            key = body["among"], count  # the same bytes are the mask of more arms later
            if key not in self._masks:
                bits = np.frombuffer(self._get(body["among"]), np.uint8)
                self._masks[key] = np.unpackbits(bits)[:count].astype(np.bool_)
            mask = self._masks[key]
        else:
            mask = np.ones(count, np.bool_)
            mask[list(self._paused | self._retired.keys())] = False
        if body.get("distinct"):
            if self._batch[0] != round_:
                self._batch = round_, set()
            mask = mask.copy()
            mask[list(self._batch[1])] = False
            self._batch[1].add(arm)
        if mask.all():
            return None
        index: Ints = np.flatnonzero(mask)
        return index, np.ones(len(index))

    def _add_outcomes(self, entry: Entry) -> None:
        body, row = entry.body, self._row_of.get(entry.decision or 0)
        if row is None:  # the record of its decision was removed
            return
        late, extra = bool(body.get("late")), body.get("extra", ())
        weights = body.get("weights") or [1.0] * len(body.get("arms", ()))
        for arm, reward, weight in zip(
            body.get("arms", ()), body.get("rewards", ()), weights, strict=True
        ):
            outcome = row, arm, reward, weight, entry.time, late, arm in extra, entry.number
            self._outcomes.append(outcome)
        if body.get("closes"):
            self._closed[row] = entry.time, body.get("reason", "observed"), entry.number

    def table(self) -> tuple[pa.Table, Origin]:
        """Return the table, and what it refers to."""
        origin = Origin(
            tuple(self._arms),
            self._first_arms,
            self._graphs,
            self._prior,
            self._horizon,
            self._keys.seed,
            self._keys.first_trial,
            self._retired,
            self._changes,
            self._objects,
        )
        lists = {"pi": self._pi, "reveals": self._reveals, "eligible": self._eligible}
        table = log_table(origin.arms, self._plain, lists, self._outcomes, self._closed)
        return table, origin
