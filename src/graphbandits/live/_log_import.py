"""Logs of other systems: data frames, tables, lists of dicts, and files."""

from __future__ import annotations

import base64
import csv
import hashlib
import io
import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar, cast

import numpy as np
import pyarrow as pa
from pyarrow import parquet

from graphbandits._io import read_bytes
from graphbandits._types import Floats, Ints
from graphbandits.errors import InputError, short_repr
from graphbandits.graphs import Feedback, GraphLike, Process
from graphbandits.graphs.processes import fixed_feedback
from graphbandits.live._log_table import Origin, log_table
from graphbandits.live._packing import pack_graph
from graphbandits.live._times import MOST_SECONDS
from graphbandits.live.setup import Setup
from graphbandits.posteriors import Arm

T = TypeVar("T")
#: Columns of which a log needs one, and what to do.
NEEDED = {
    ("arm",): "give the played arm of each decision",
    ("probability", "pi"): "give the probability with which the policy chose the played arm, or "
    "those of all arms; without them no other policy can be evaluated",
    ("reward", "outcomes"): "give the reward of the played arm, or the outcomes of all seen arms",
}


def read_table(path: Path) -> Any:
    """Return the content of a file: a pyarrow table, or a list of dicts."""
    kind = path.suffix.lower()
    data = read_bytes(path, "log")
    if data.startswith(b"SQLite format 3"):
        raise InputError(
            f"cannot read the log {path}: it is a database of agents; write the log of one first, "
            f"with 'graphbandits agent log {path} --output log.parquet'"
        )
    try:
        if kind in (".parquet", ".pq"):
            return parquet.read_table(pa.BufferReader(data))
        if kind == ".jsonl":
            return [json.loads(line) for line in data.decode("utf-8").splitlines() if line.strip()]
        if kind == ".csv":
            lines = io.StringIO(data.decode("utf-8-sig"), newline="")
            return [
                {key: None if value == "" else value for key, value in row.items()}
                for row in csv.DictReader(lines)
            ]
    except (OSError, ValueError, csv.Error, pa.ArrowException) as error:
        reason = " ".join(str(error).split())
        raise InputError(f"cannot read the log {path}: {reason}") from None
    raise InputError(f"cannot read the log {path}: its name must end in .parquet, .csv or .jsonl")


def columns_of(data: Any) -> dict[str, list[Any]]:
    """Return the columns of a data frame, a pyarrow table, or a list of dicts."""
    if isinstance(data, list | tuple) and all(isinstance(row, Mapping) for row in data):
        names = dict.fromkeys(name for row in data for name in row)
        return {str(name): [row.get(name) for row in data] for name in names}
    if hasattr(data, "column_names") and hasattr(data, "to_pydict"):  # pyarrow
        return cast(dict[str, list[Any]], data.to_pydict())
    if hasattr(data, "columns") and hasattr(data, "__getitem__"):  # pandas, polars
        return {str(name): data[name].to_list() for name in data.columns}
    raise InputError(
        "a log must be a data frame, a pyarrow table, a list of dicts, or the path of a file, not "
        f"{short_repr(data)}"
    )


def log_from_columns(
    columns: dict[str, list[Any]], arms: int | Iterable[Arm] | None, graph: GraphLike
) -> tuple[pa.Table, Origin]:
    """Return the table of a log, and what it refers to, from checked columns."""
    if not any(columns.values()):
        raise InputError("the log is empty: give at least one row")
    for wanted, what in NEEDED.items():
        if not set(wanted) & columns.keys():
            raise InputError(
                f"the log has no column {' or '.join(map(repr, wanted))}: {what}; it has "
                f"{', '.join(map(repr, columns)) or 'none'}"
            )
    count = len(columns["arm"])
    rows = [_Row.of(i, {name: values[i] for name, values in columns.items()}) for i in range(count)]
    if arms is None and graph is None:
        arms = _names(rows)
    setup = Setup.of("uniform", arms, "empty" if graph is None else graph, seed=0)
    feedback = fixed_feedback(setup.process)
    if feedback is None:
        raise InputError(
            "the graph changes from round to round, and its rounds in this log are unknown: give a "
            "graph that is the same for all decisions"
        )
    made = _Foreign(setup, None if graph is None else feedback, "closed" in columns)
    for row in rows:
        made.add(row)
    return made.table()


@dataclass(frozen=True)
class _Row:
    """A row of another system, parsed; arms are names."""

    number: int
    given: dict[str, Any]
    arm: Any
    pi: dict[Any, float] | None
    eligible: list[Any] | None
    reveals: dict[Any, float] | None
    outcomes: list[dict[str, Any]]
    closed: Mapping[str, Any] | None

    @classmethod
    def of(cls, index: int, given: dict[str, Any]) -> _Row:
        given = {name: _value(value) for name, value in given.items()}
        with _row_errors(index):
            arm = _cell(given, "arm", _name)
            outcomes = _cell(given, "outcomes", lambda value: _dicts(value, "reward")) or []
            if given.get("reward") is not None:
                outcomes.append({"arm": arm, "reward": given["reward"]})
            closed = _cell(given, "closed", _parsed)
            return cls(
                index,
                given,
                arm,
                _cell(given, "pi", _mapping),
                _cell(given, "eligible", _arm_names),
                _cell(given, "reveals", _mapping),
                outcomes,
                {"reason": "observed"} if closed and not isinstance(closed, Mapping) else closed,
            )

    def names(self) -> set[Any]:
        """Return the arms of the row."""
        found = {self.arm, *(self.pi or ()), *(self.eligible or ()), *(self.reveals or ())}
        return found | {one["arm"] for one in self.outcomes}


def _names(rows: Sequence[_Row]) -> list[Arm]:
    """Return the names of arms in the data, sorted."""
    found = {name for row in rows for name in row.names()}
    if len({isinstance(name, str) for name in found}) > 1:
        # in a CSV file, a column of integers has texts, and JSON has integers
        if not all(str(name).isdecimal() for name in found):
            raise InputError("the names of arms must be all strings or all integers")
        found = {int(name) for name in found}
    return sorted(found)


class _Foreign:
    """Columns of a log that grow with the rows of another system."""

    def __init__(self, setup: Setup, feedback: Feedback | None, has_closed: bool) -> None:
        self._setup, self._feedback, self._has_closed = setup, feedback, has_closed
        names = ("id", "number", "time", "arm", "probability", "policy", "context", "arms")
        self._plain: dict[str, list[Any]] = {
            name: [] for name in (*names, "graph", "round", "entry")
        }
        lists = ("pi", "reveals", "eligible")
        self._lists: dict[str, list[tuple[Ints, Floats] | None]] = {name: [] for name in lists}
        self._outcomes: list[tuple[int, dict[str, Any], int]] = []
        self._closed: dict[int, tuple[float | None, str, int | None]] = {}
        self._number: dict[Any, int] = {}
        self._reach: dict[int, tuple[Ints, Floats]] = {}

    def _index(self, name: Any) -> int:
        if name not in self._number:
            # names that were given as texts, as in a command, may be integers in the data
            texts = isinstance(self._setup.arms[0], str)
            self._number[name] = self._setup.number_of(str(name) if texts else name)
        return self._number[name]

    def _pairs(self, values: Mapping[Any, float] | None) -> tuple[Ints, Floats] | None:
        if values is None:
            return None
        found = sorted((self._index(arm), float(value)) for arm, value in values.items())
        kept = [pair for pair in found if pair[1] != 0.0]
        return np.array([arm for arm, _ in kept], np.int64), np.array([p for _, p in kept])

    def _reached(self, arm: int, given: Mapping[Any, float] | None) -> tuple[Ints, Floats]:
        if self._feedback is None:
            return self._pairs(given) or (np.array([arm]), np.ones(1))
        if arm not in self._reach:
            row = self._feedback.reach(np.array([arm]))[0]
            index: Ints = np.flatnonzero(row)
            self._reach[arm] = index, row[index]
        return self._reach[arm]

    def add(self, row: _Row) -> None:
        """Add a row."""
        given, number = row.given, row.number + 1
        with _row_errors(row.number):
            arm, pi = self._index(row.arm), self._pairs(row.pi)
            p = _cell(given, "probability", _number)
            if p is None and pi is not None:
                p = float(pi[1][pi[0] == arm].sum())
            reveals = self._reached(arm, row.reveals)
            values = (
                *(_text(given.get("id")) or str(number), _cell(given, "number", _whole) or number),
                *(_cell(given, "time", _seconds), arm, p),
                *(_text(given.get("policy")), _cell(given, "context", _context)),
                *(len(self._setup.arms), None if self._feedback is None else 0),
                _cell(given, "round", _whole) or number,
                _cell(given, "entry", _whole),
            )
            eligible = None if row.eligible is None else self._pairs(dict.fromkeys(row.eligible, 1))
            seen = set[int]()
            for one in row.outcomes:
                self._add_outcome(row.number, one, reveals[0], seen)
            if row.closed is not None or not self._has_closed:
                end = row.closed or {}
                when, entry = _cell(end, "time", _seconds), _cell(end, "entry", _whole)
                self._closed[row.number] = when, _text(end.get("reason")) or "observed", entry
        for column, value in zip(self._plain.values(), values, strict=True):
            column.append(value)
        for name, part in (("pi", pi), ("reveals", reveals), ("eligible", eligible)):
            self._lists[name].append(part)

    def _add_outcome(self, row: int, one: dict[str, Any], reveals: Ints, seen: set[int]) -> None:
        arm, reward = self._index(one["arm"]), _cell(one, "reward", float)
        weight = _cell(one, "weight", _number) or 1.0
        if arm in seen:
            raise InputError(f"two outcomes of the arm {self._setup.arms[arm]!r}: give one")
        if not math.isfinite(reward) or not 0.0 < weight < math.inf:
            raise InputError(f"the reward of {self._setup.arms[arm]!r} must be a finite number")
        seen.add(arm)
        extra = bool(one.get("extra")) or arm not in reveals
        found: dict[str, Any] = {"arm": arm, "reward": reward, "weight": weight, "extra": extra}
        found |= {"late": bool(one.get("late")), "time": _cell(one, "time", _seconds)}
        self._outcomes.append((row, found, _cell(one, "entry", _whole) or 0))

    def table(self) -> tuple[pa.Table, Origin]:
        """Return the table; events without a number get one from their times."""
        times = np.array([math.nan if t is None else t for t in self._plain["time"]])
        rows = len(times)
        if np.isnan(times).any() and not np.isnan(times).all():
            raise InputError("some decisions have no time: give all times, or none")
        if (np.diff(times) < 0.0).any():
            raise InputError("the times of the decisions decrease: sort the rows by time")
        # with entries of some events only, their order would be unknown
        given = all(self._plain["entry"]) and all(entry for _, _, entry in self._outcomes)
        if not given:
            self._plain["entry"] = [2 * i + 1 for i in range(rows)]
        outcomes = []
        last = list(self._plain["entry"]) if given else [2 * i + 2 for i in range(rows)]
        for row, one, entry in self._outcomes:
            late = one["time"]
            if not given:
                # after its decision, and after all decisions before its time
                made = 0 if late is None else int(np.searchsorted(times, late, side="left"))
                entry = 2 * max(row + 1, made)
            last[row] = max(last[row], entry)
            late = times[row] if late is None else late
            flags = one["late"], one["extra"]
            outcomes.append((row, one["arm"], one["reward"], one["weight"], late, *flags, entry))
        closed = {}
        for row, (when, reason, end) in self._closed.items():
            ended = times[row] if when is None else when
            closed[row] = ended, reason, end if given and end else last[row]
        arms = self._setup.arms
        origin = pack_origin(arms, None if self._feedback is None else self._setup.process)
        return log_table(arms, self._plain, self._lists, outcomes, closed), origin


@contextmanager
def _row_errors(index: int) -> Iterator[None]:
    """Turn errors of a row into an InputError with its number."""
    try:
        yield
    except InputError as error:
        reason = str(error)
    else:
        return
    raise InputError(f"row {index + 1} of the log: {reason}")


def _cell(row: Mapping[str, Any], column: str, read: Callable[[Any], T]) -> T:
    """Return a value of a row; raise InputError with its column if it is not valid."""
    value = row.get(column)
    try:
        return read(value)
    except InputError as error:
        reason = str(error)
    except (TypeError, ValueError, KeyError, AttributeError, ArithmeticError):
        reason = f"invalid value {short_repr(value)}"
    raise InputError(f"'{column}': {reason}")


def pack_origin(arms: tuple[Arm, ...], process: Process | None) -> Origin:
    """Return what the table of a log with one graph refers to."""
    if process is None:
        return Origin(arms, len(arms), [])
    data = pack_graph(process, None)
    key = hashlib.sha256(data).hexdigest()
    return Origin(arms, len(arms), [key], objects={key: base64.b64encode(data).decode()})


def _value(value: Any) -> Any:
    """Return a cell; None if it is missing."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return None
    if type(value).__name__ in ("NAType", "NaTType"):  # of pandas
        return None
    return value.tolist() if isinstance(value, np.ndarray | np.generic) else value


def _parsed(value: Any) -> Any:
    """Return a list or mapping, which may be a JSON text."""
    try:
        return json.loads(value) if isinstance(value, str) else value
    except ValueError as error:
        raise InputError(f"{short_repr(value)} is not JSON: {error}") from None


def _dicts(value: Any, key: str) -> list[dict[str, Any]] | None:
    """Return a mapping {arm: value}, or a list of dicts, as a list of dicts."""
    value = _parsed(value)
    if value is None:
        return None
    if isinstance(value, Mapping):
        known = {arm: one for arm, one in value.items() if _value(one) is not None}
        return [{"arm": _name(arm), key: one} for arm, one in known.items()]
    if not isinstance(value, list | tuple) or not all(isinstance(one, Mapping) for one in value):
        raise InputError(
            f"expected a mapping {{arm: {key}}}, or a list of dicts with 'arm' and '{key}', not "
            f"{short_repr(value)}"
        )
    found = [{str(name): _value(one) for name, one in part.items()} for part in value]
    missing = [name for name in ("arm", key) for one in found if one.get(name) is None]
    if missing:
        raise InputError(f"an entry of a list has no '{missing[0]}'")
    return [one | {"arm": _name(one["arm"])} for one in found]


def _mapping(value: Any) -> dict[Any, float] | None:
    found = _dicts(value, "probability")
    if found is None:
        return None
    made = {one["arm"]: float(one["probability"]) for one in found}
    if len(made) < len(found):
        raise InputError("an arm is given twice in a list of probabilities")
    return made


def _arm_names(value: Any) -> list[Arm] | None:
    value = _parsed(value)
    if value is None:
        return None
    found = [_name(one) for one in value]
    if not found:
        raise InputError("no arm is eligible: leave out the column, or name the arms")
    return found


def _number(value: Any) -> float | None:
    value = _value(value)
    return None if value is None else float(value)


def _seconds(value: Any) -> float | None:
    """Return a time in seconds since 1970; a time without a zone is UTC."""
    value = _value(value)
    if value is None:
        return None
    if isinstance(value, str):
        value = datetime.fromisoformat(value)
    if isinstance(value, datetime):
        return (value if value.tzinfo else value.replace(tzinfo=UTC)).timestamp()
    seconds = float(value)
    if not abs(seconds) <= MOST_SECONDS:
        raise InputError(f"a time must be a date, or seconds since 1970, not {short_repr(value)}")
    return seconds


def _whole(value: Any) -> int | None:
    if _value(value) is None:
        return None
    if not 0 <= int(value) < 2**53:
        raise InputError(f"numbers of decisions and entries are positive, not {short_repr(value)}")
    return int(value)


def _name(value: Any) -> Arm:
    """Return the name of an arm."""
    value = _value(value)
    if value is None:
        raise InputError("the name of an arm is missing")
    valid = isinstance(value, str) or (type(value) is int and abs(value) < 2**63)
    if not valid:
        raise InputError(f"the name of an arm is a string or an integer, not {short_repr(value)}")
    return cast(Arm, value)


def _text(value: Any) -> str | None:
    return None if value is None else str(value)


def _context(value: Any) -> str | None:
    return value if value is None or isinstance(value, str) else json.dumps(value, default=str)
