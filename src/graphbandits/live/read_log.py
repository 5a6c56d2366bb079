"""Read logs: rows of the journal, logs of other systems, and tables of outcomes."""

from __future__ import annotations

import base64
import csv
import io
import json
import math
import os
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from functools import cache, partial
from itertools import chain
from pathlib import Path
from typing import Any, TypeVar, cast

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyarrow import parquet

from graphbandits._files import read_bytes
from graphbandits._types import Floats, Ints
from graphbandits.errors import InputError, short_repr
from graphbandits.graphs import GraphLike, Process
from graphbandits.graphs.processes import fixed_feedback
from graphbandits.live.journal import Entry
from graphbandits.live.log_table import CHANGES, Origin, log_schema, log_table, microseconds
from graphbandits.live.setup import Setup, pack_graph, unpack_graph, unpack_sparse
from graphbandits.live.state import AgentState, checked_outcomes, outcomes_of, without_retired
from graphbandits.live.values import timestamp
from graphbandits.posteriors import Arm
from graphbandits.posteriors.base import check_evidence
from graphbandits.registry import text_of
from graphbandits.simulation.loop import draw_graph

T = TypeVar("T")
#: Columns of which a log needs one, and what to do.
NEEDED = {
    ("arm",): "give the played arm of each decision",
    ("probability", "pi"): "give the probability with which the policy chose the played arm, or "
    "those of all arms; without them no other policy can be evaluated",
    ("reward", "outcomes"): "give the reward of the played arm, or the outcomes of all seen arms",
}
#: Columns with lists of arms, and the value that each item needs.
ITEMS = {"pi": "probability", "reveals": "probability", "eligible": "", "outcomes": "reward"}


def read_table(path: Path, what: str = "log") -> Any:
    """Return the content of a file: a pyarrow table, or a list of dicts."""
    data, form = read_bytes(path, what), path.suffix.lower()
    if what == "log" and data.startswith(b"SQLite format 3"):
        raise InputError(
            f"cannot read the log {path}: it is a database of agents; write the log of one first, "
            f"with 'graphbandits agent log {path} --output log.parquet'"
        )
    try:
        if form in (".parquet", ".pq"):
            return parquet.read_table(pa.BufferReader(data))
        if form == ".jsonl":
            return [json.loads(line) for line in data.decode("utf-8").splitlines() if line.strip()]
        if form in (".csv", ".tsv", ".txt"):
            lines = io.StringIO(data.decode("utf-8-sig"), newline="")
            return _csv_rows(csv.reader(lines, delimiter="\t" if form == ".tsv" else ","))
    except (OSError, ValueError, csv.Error, pa.ArrowException) as error:
        reason = " ".join(str(error).split())
        raise InputError(f"cannot read the {what} {path}: {reason}") from None
    raise InputError(
        f"cannot read the {what} {path}: its name must end in .parquet, .csv, .tsv or .jsonl"
    )


def _csv_rows(lines: Iterable[list[str]]) -> list[dict[str, str | None]]:
    header, *rows = [line for line in lines if line] or [[]]
    if len(set(header)) < len(header):
        raise ValueError("two columns have the same name")
    if not rows:
        raise ValueError("it has no rows below the names of the columns")
    for i, row in enumerate(rows, 1):
        if len(row) != len(header):
            raise ValueError(f"row {i} has {len(row)} cells, but there are {len(header)} columns")
    return [dict(zip(header, [cell or None for cell in row], strict=True)) for row in rows]


def columns_of(data: Any, what: str = "a log must be") -> dict[str, list[Any]]:
    if isinstance(data, list | tuple) and all(isinstance(row, Mapping) for row in data):
        names = dict.fromkeys(name for row in data for name in row)
        return {str(name): [row.get(name) for row in data] for name in names}
    if hasattr(data, "column_names") and hasattr(data, "to_pydict"):  # pyarrow
        return cast(dict[str, list[Any]], data.to_pydict())
    if hasattr(data, "columns") and hasattr(data, "__getitem__"):  # pandas, polars
        columns = [str(name) for name in data.columns]
        if len(set(columns)) < len(columns):
            raise InputError(f"two columns have the same name: {', '.join(columns)}")
        return {str(name): data[name].to_list() for name in data.columns}
    raise InputError(
        f"{what} a data frame, a pyarrow table, a list of dicts, or the path of a file, not "
        f"{short_repr(data)}"
    )


def log_from_columns(
    columns: dict[str, list[Any]], arms: int | Iterable[Arm] | None, graph: GraphLike
) -> tuple[pa.Table, Origin]:
    _check_columns(columns)
    count = len(columns["arm"])

    def read(
        column: str, convert: Callable[[Any], T], cells: Iterable[Any] | None = None
    ) -> list[T]:
        """Convert the cells of a column; an error names row and column."""
        found = list[T]()
        for cell in columns.get(column, [None] * count) if cells is None else cells:
            try:
                found.append(convert(cell))
            except InputError as error:
                where = f"row {len(found) + 1} of the log: '{column}'"
                raise InputError(f"{where}: {error}") from None
        return found

    names = read("arm", _name)
    lists = {column: read(column, partial(_items, key=key)) for column, key in ITEMS.items()}
    outcomes = [items or [] for items in lists.pop("outcomes")]
    for name, items, reward in zip(names, outcomes, read("reward", _number), strict=True):
        if reward is not None:
            items.append({"arm": name, "reward": reward})
    if arms is None and graph is None:
        cells = chain(*lists.values(), outcomes)
        arms = _sorted_names({*names, *(item["arm"] for cell in cells for item in cell or ())})
    setup = Setup.of("uniform", arms, "empty" if graph is None else graph, seed=0)
    feedback = fixed_feedback(setup.process)
    if feedback is None:
        raise InputError(
            "the graph changes from round to round, and its rounds in this log are unknown: give a "
            "graph that is the same for all decisions"
        )
    # names that were given as texts, as in a command, may be integers in the data
    texts = isinstance(setup.arms[0], str)
    number = cache(lambda name: setup.number_of(str(name) if texts else name))

    def numbered(items: list[dict[str, Any]] | None) -> dict[int, dict[str, Any]]:
        found = {number(item["arm"]): item for item in items or ()}
        if len(found) < len(items or ()):
            raise InputError("an arm is given twice")
        return found

    def chances(items: list[dict[str, Any]] | None) -> tuple[Ints, Floats] | None:
        if items is None:
            return None
        given = sorted(
            (i, _number(one.get("probability", 1.0))) for i, one in numbered(items).items()
        )
        kept = [pair for pair in given if pair[1] != 0.0]
        return np.array([i for i, _ in kept], np.int64), np.array([p for _, p in kept], np.float64)

    @cache
    def reach(i: int) -> tuple[Ints, Floats]:
        row = feedback.reach(np.array([i]))[0]
        index: Ints = np.flatnonzero(row)
        return index, row[index]

    def seen(cell: tuple[list[dict[str, Any]], Ints]) -> list[dict[str, Any]]:
        found = []
        for i, one in numbered(cell[0]).items():
            reward, weight = _number(one["reward"]), _number(one.get("weight"))
            weight = 1.0 if weight is None else weight
            if reward is None or not math.isfinite(reward) or not 0.0 < weight < math.inf:
                raise InputError(
                    f"the reward of {setup.arms[i]!r} must be a finite number, and its weight "
                    "above 0"
                )
            outcome: dict[str, Any] = {"arm": setup.arms[i], "reward": reward, "weight": weight}
            outcome |= {"time": _seconds(one.get("time")), "entry": _whole(one.get("entry"))}
            extra = bool(one.get("extra")) or i not in cell[1]
            found.append(outcome | {"late": bool(one.get("late")), "extra": extra})
        return found

    arm = read("arm", number, names)
    found = {column: read(column, chances, cells) for column, cells in lists.items()}
    if graph is None:
        pairs = zip(arm, found["reveals"], strict=True)
        found["reveals"] = [one or (np.array([i]), np.ones(1)) for i, one in pairs]
    else:
        found["reveals"] = [reach(i) for i in arm]
    revealed = [one[0] for one in found["reveals"] if one]
    order = range(1, count + 1)
    table: dict[str, list[Any]] = {
        **found,
        "id": [one or str(i) for i, one in zip(order, read("id", _text), strict=True)],
        "number": [one or i for i, one in zip(order, read("number", _whole), strict=True)],
        "time": read("time", _seconds),
        "arm": [setup.arms[i] for i in arm],
        "probability": [
            float(pi[1][pi[0] == i].sum()) if p is None and pi else p
            for i, p, pi in zip(arm, read("probability", _number), found["pi"], strict=True)
        ],
        "outcomes": read("outcomes", seen, zip(outcomes, revealed, strict=True)),
        "policy": read("policy", _text),
        "closed": read("closed", _end, None if "closed" in columns else [True] * count),
        "context": read("context", _context),
        "arms": [len(setup.arms)] * count,
        "graph": [None if graph is None else 0] * count,
        "round": [one or i for i, one in zip(order, read("round", _whole), strict=True)],
        "entry": read("entry", _whole),
    }
    _complete_times(table)
    origin = Origin(setup.arms, len(setup.arms), [])
    if graph is not None:
        origin.graphs.append(origin.put(pack_graph(setup.process, None)))
    return log_table(setup.arms, table), origin


def _check_columns(columns: dict[str, list[Any]]) -> None:
    if not any(columns.values()):
        raise InputError("the log is empty: give at least one row")
    for wanted, what in NEEDED.items():
        if not set(wanted) & columns.keys():
            raise InputError(
                f"the log has no column {' or '.join(map(repr, wanted))}: {what}; it has "
                f"{', '.join(map(repr, columns)) or 'none'}"
            )


def _complete_times(columns: dict[str, list[Any]]) -> None:
    """Give outcomes and closes the times and entries that they lack; convert all times."""
    times = np.array(columns["time"], np.float64)  # None becomes NaN
    if np.isnan(times).any() and not np.isnan(times).all():
        raise InputError("some decisions have no time: give all times, or none")
    if (np.diff(times) < 0.0).any():
        raise InputError("the times of the decisions decrease: sort the rows by time")
    entries, outcomes = columns["entry"], columns["outcomes"]
    # with entries of some events only, their order would be unknown
    given = all(entries) and all(one["entry"] for row in outcomes for one in row)
    if not given:
        entries[:] = range(1, 2 * len(entries), 2)
    for i, (row, end) in enumerate(zip(outcomes, columns["closed"], strict=True)):
        last = entries[i] if given else 2 * i + 2
        for one in row:
            if not given:
                # after its decision, and after all decisions before its time
                when = one["time"]
                made = 0 if when is None else int(np.searchsorted(times, when, side="left"))
                one["entry"] = 2 * max(i + 1, made)
            last = max(last, one["entry"])
        if end is not None:
            end["entry"] = (given and end["entry"]) or last
        for one in row if end is None else (*row, end):
            one["time"] = microseconds(times[i] if one["time"] is None else one["time"])
    columns["time"] = [microseconds(time) for time in columns["time"]]


def _sorted_names(found: set[Any]) -> list[Arm]:
    if len({isinstance(name, str) for name in found}) > 1:
        # in a CSV file, a column of integers has texts, and JSON has integers
        if not all(str(name).isdecimal() for name in found):
            raise InputError("the names of arms must be all strings or all integers")
        found = {int(name) for name in found}
    return sorted(found)


# Cells --------------------------------------------------------------------------------------------


def _value(cell: Any) -> Any:
    if isinstance(cell, np.ndarray | np.generic):
        cell = cell.tolist()
    missing = isinstance(cell, float) and math.isnan(cell)
    return None if missing or type(cell).__name__ in ("NAType", "NaTType") else cell  # of pandas


def _parsed(cell: Any) -> Any:
    try:
        return json.loads(cell) if isinstance(cell, str) else _value(cell)
    except ValueError as error:
        raise InputError(f"{short_repr(cell)} is not JSON: {error}") from None


def _items(cell: Any, key: str) -> list[dict[str, Any]] | None:
    """Return a mapping {arm: value}, or a list, as a list of dicts."""
    value = _parsed(cell)
    if value is None:
        return None
    if not key:
        if not isinstance(value, list | tuple) or not value:
            raise InputError("no arm is eligible: leave out the column, or give a list of arms")
        return [{"arm": _name(one)} for one in value]
    if isinstance(value, Mapping):
        return [{"arm": _name(a), key: v} for a, v in value.items() if _value(v) is not None]
    if not isinstance(value, list | tuple) or not all(isinstance(one, Mapping) for one in value):
        raise InputError(
            f"expected a mapping {{arm: {key}}}, or a list of dicts with 'arm' and '{key}', not "
            f"{short_repr(value)}"
        )
    if any(_value(one.get(key)) is None for one in value):
        raise InputError(f"an entry of a list has no '{key}'")
    return [{**one, "arm": _name(one.get("arm"))} for one in value]


def _name(cell: Any) -> Arm:
    value = _value(cell)
    if value is None:
        raise InputError("the name of an arm is missing")
    if not isinstance(value, str) and (type(value) is not int or abs(value) >= 2**63):
        raise InputError(f"the name of an arm is a string or an integer, not {short_repr(value)}")
    return value


def _number(cell: Any) -> float | None:
    value = _value(cell)
    try:
        return None if value is None else float(value)
    except (TypeError, ValueError, OverflowError):
        raise InputError(f"expected a number, not {short_repr(value)}") from None


def _whole(cell: Any) -> int | None:
    value = _number(cell)
    if value is None:
        return None
    if not 0 <= value < 2**53 or value != int(value):
        raise InputError(f"expected a whole number from 0, not {short_repr(cell)}")
    return int(value)


def _seconds(cell: Any) -> float | None:
    value = _value(cell)
    if isinstance(value, str):
        with suppress(ValueError):
            value = datetime.fromisoformat(value)
    if isinstance(value, datetime) and value.tzinfo is None:
        value = value.replace(tzinfo=UTC)
    return None if value is None else timestamp(value, "a time")


def _end(cell: Any) -> dict[str, Any] | None:
    """Return the close of a decision; None if it is open."""
    value = _parsed(cell)
    given = value if isinstance(value, Mapping) else {}
    end = {
        "time": _seconds(given.get("time")),
        "reason": _text(given.get("reason")) or "observed",
        "entry": _whole(given.get("entry")),
    }
    return end if value else None


def _text(cell: Any) -> str | None:
    value = _value(cell)
    return None if value is None else str(value)


def _context(cell: Any) -> str | None:
    value = _value(cell)
    return value if value is None or isinstance(value, str) else json.dumps(value, default=str)


def journal_rows(
    start: AgentState, entries: Iterable[Entry], get: Callable[[str], bytes]
) -> tuple[pa.Table, Origin]:
    """Return the log of the entries of a journal; ``start`` is the state before the first one."""
    rows = _Rows(start, get)
    for entry in entries:
        rows.add(entry)
    return rows.table()


class _Rows:
    """Rows of a log, from the entries of a journal."""

    def __init__(self, start: AgentState, get: Callable[[str], bytes]) -> None:
        setup, self._get = start.setup, get
        self._arms, self._policy = list(setup.arms), text_of(setup.policy)
        self._paused, self._decisions = set(start.paused), start.decisions
        self._origin = Origin(
            setup.arms,
            len(setup.arms),
            [],
            horizon=setup.horizon,
            seed=setup.keys.seed,
            trial=setup.keys.first_trial,
            retired=dict(start.retired),
        )
        self._processes: list[Process] = []
        self._graph_index: dict[str, int] = {}
        data = None
        with suppress(InputError):  # a graph of a plug-in without a text form
            data = pack_graph(setup.process, setup.graph_text)
        self._graph = self._add_graph(setup.process, data)
        with suppress(InputError):  # a prior that is not registered
            self._origin = replace(self._origin, prior=self._origin.put(setup._packed_prior()))
        self._reach: dict[tuple[int, int], tuple[Ints, Floats]] = {}
        self._masks: dict[tuple[str, int], NDArray[np.bool_]] = {}
        self._batch: tuple[int, set[int]] = 0, set()
        self._row_of: dict[int, int] = {}
        self._columns: dict[str, list[Any]] = {name: [] for name in log_schema(pa.string()).names}

    def add(self, entry: Entry) -> None:
        body = entry.body
        if entry.kind in CHANGES:
            data = None if entry.data is None else base64.b64encode(entry.data).decode()
            self._origin.changes.append([entry.number, entry.time, entry.kind, body, data])
        match entry.kind:
            case "decide":
                self._add_decision(entry)
            case "observe" | "close":
                self._add_outcomes(entry)
            case "add_arm":
                self._arms.append(body["name"])
                self._graph = self._stored_graph(body["graph"])
            case "set_graph":
                self._graph = self._stored_graph(body["graph"])
            case "set_policy":
                self._policy = body["policy"]
            case "pause":
                self._paused.update(body["arms"])
            case "resume":
                self._paused.difference_update(body["arms"])
            case "retire":
                for arm in body["arms"]:
                    self._origin.retired.setdefault(arm, self._decisions)
                self._reach.clear()

    def _add_graph(self, process: Process, data: bytes | None) -> int:
        self._origin.graphs.append(None if data is None else self._origin.put(data))
        self._processes.append(process)
        return len(self._processes) - 1

    def _stored_graph(self, key: str) -> int:
        if key not in self._graph_index:
            data = self._get(key)
            self._graph_index[key] = self._add_graph(unpack_graph(data)[0], data)
        return self._graph_index[key]

    def _add_decision(self, entry: Entry) -> None:
        body, number = entry.body, entry.decision or 0
        self._row_of[number] = len(self._row_of)
        self._decisions = number
        graph = self._stored_graph(body["graph"]) if "graph" in body else self._graph
        round_, arm = body.get("round", number), body["arm"]
        row = {
            "id": body["id"],
            "number": number,
            "time": microseconds(entry.time),
            "arm": self._arms[arm],
            "probability": body["p"],
            "pi": None if entry.data is None else unpack_sparse(entry.data),
            "reveals": self._reached(graph, arm, number, round_),
            "eligible": self._eligible_arms(body, round_, arm),
            "outcomes": [],
            "policy": self._policy,
            "closed": None,
            "context": json.dumps(body["context"]) if "context" in body else None,
            "arms": len(self._arms),
            "graph": None if self._origin.graphs[graph] is None else graph,
            "round": round_,
            "entry": entry.number,
        }
        for name, cell in row.items():
            self._columns[name].append(cell)

    def _reached(self, graph: int, arm: int, number: int, round_: int) -> tuple[Ints, Floats]:
        known = self._reach.get((graph, arm))
        if known is not None:
            return known
        process = self._processes[graph]
        row = draw_graph(process, round_, self._origin.keys).reach(np.array([arm]))[0]
        row = without_retired(row, self._origin.retired, number)
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
            mask[list(self._paused | self._origin.retired.keys())] = False
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
        event = {"time": microseconds(entry.time), "entry": entry.number}
        late, extra = bool(body.get("late")), body.get("extra", ())
        for arm, (reward, weight) in outcomes_of(body).items():
            outcome = {"arm": self._arms[arm], "reward": reward, "weight": weight}
            outcome |= {"late": late, "extra": arm in extra}
            self._columns["outcomes"][row].append(outcome | event)
        if body.get("closes"):
            self._columns["closed"][row] = event | {"reason": body.get("reason", "observed")}

    def table(self) -> tuple[pa.Table, Origin]:
        origin = replace(self._origin, arms=tuple(self._arms))
        return log_table(origin.arms, self._columns), origin


#: Maximum of outcomes of one row for a posterior that takes single rewards.
MOST_REPEATED = 10**6
#: Maximum of outcomes of a table.
MOST_OUTCOMES = 1e15


def read_outcomes(
    table: object, setup: Setup, skip: bool = False
) -> tuple[Ints, Floats, Floats, int]:
    """Return arms, rewards, weights and number of outcomes; ``skip`` omits unknown arms."""
    if isinstance(table, Mapping) and not hasattr(table, "columns"):
        known = {arm: reward for arm, reward in table.items() if not skip or setup.has(arm)}
        found = checked_outcomes(setup, known)
        index, values = list(found), list(found.values())
    else:
        index, values = _from_columns(_columns(table), setup, skip)
    if not index:
        raise InputError("the table has no outcomes: give at least one")
    pairs = np.array(values, np.float64).reshape(-1, 2)
    arm, reward, weight = np.array(index, np.int64), pairs[:, 0].copy(), pairs[:, 1].copy()
    total = math.fsum(weight.tolist()) if weight.max() <= MOST_OUTCOMES else math.inf
    if not total <= MOST_OUTCOMES:
        raise InputError(f"a table has at most {MOST_OUTCOMES:g} outcomes, not {total:g}")
    outcomes = max(1, round(total))
    if not getattr(setup.posterior, "weighted", False) and not (weight == 1.0).all():
        # a posterior of single rewards learns each outcome
        times = weight.astype(np.int64)
        arm, reward = np.repeat(arm, times), np.repeat(reward, times)
        weight = np.ones(len(arm))
    return arm, reward, weight, outcomes


def _from_columns(
    columns: dict[str, list[Any]], setup: Setup, skip: bool
) -> tuple[list[int], list[tuple[float, float]]]:
    wanted = {"arm", "total", "count"} if "total" in columns else {"arm", "reward"}
    if not wanted <= columns.keys() <= wanted | {"count"}:
        [only] = columns if len(columns) == 1 else [""]
        hint = "; separate the columns by commas" if ";" in only or "\t" in only else ""
        raise InputError(
            "a table of outcomes has the columns arm and reward (and count, if a row has several "
            f"outcomes), or arm, total and count; this one has {', '.join(columns) or 'none'}{hint}"
        )
    index = list[int]()
    values = list[tuple[float, float]]()
    counts = columns.get("count", [1] * len(columns["arm"]))
    name = "total" if "total" in columns else "reward"
    for row, (arm, reward, count) in enumerate(
        zip(columns["arm"], columns[name], counts, strict=True), 1
    ):
        if skip and not setup.has(arm):
            continue
        try:
            index.append(setup.number_of(arm))
            if name == "total":
                values.append(check_evidence(setup.posterior, (reward, count)))
            else:
                single = setup.posterior.check_reward(reward)
                values.append((single, _count(count)))
        except InputError as error:
            raise InputError(f"row {row} of the outcomes: {error}") from None
    return index, values


def _count(count: Any) -> float:
    number = isinstance(count, int | float | np.number) and not isinstance(count, bool)
    if not number or not 1 <= count <= MOST_REPEATED or count != int(count):
        raise InputError(
            f"count must be a whole number from 1 to {MOST_REPEATED}, not {short_repr(count)}"
        )
    return float(count)


def _columns(table: Any) -> dict[str, list[Any]]:
    if not isinstance(table, str | os.PathLike):
        return columns_of(table, "outcomes must be a mapping {arm: reward},")
    found = columns_of(read_table(Path(table), "outcomes"))
    texts = [name for name in ("reward", "total", "count") if name in found]
    return found | {name: list(map(_number_of, found[name])) for name in texts}


def _number_of(cell: Any) -> Any:
    # what is no number is refused later
    with suppress(ValueError):
        return float(cell) if isinstance(cell, str) else cell
    return cell
