"""The table of a log and its arrays, with arms, graphs and priors that rows refer to."""

from __future__ import annotations

import base64
import dataclasses
import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from graphbandits._types import Floats, Ints
from graphbandits.errors import InputError, short_repr
from graphbandits.graphs import Process
from graphbandits.live.setup import unpack_graph
from graphbandits.posteriors import Arm
from graphbandits.rng import Keys

#: Number of the format of the metadata of a log.
FORMAT = 1
#: Key of the metadata in the schema of the table.
KEY = b"graphbandits"
#: Kinds of journal entries between decisions that a policy which follows the log must know.
CHANGES = ("learn", "add_arm", "set_graph", "retire", "reset")
TIME = pa.timestamp("us", "UTC")
#: Columns with a list of arms in each row.
LISTS = ("pi", "reveals", "eligible")


def log_schema(arm: pa.DataType) -> pa.Schema:
    chances = pa.list_(pa.struct([("arm", arm), ("probability", pa.float64())]))
    outcome = [("arm", arm), ("reward", pa.float64()), ("weight", pa.float64()), ("time", TIME)]
    outcome += [("late", pa.bool_()), ("extra", pa.bool_()), ("entry", pa.int64())]
    closed = [("time", TIME), ("reason", pa.string()), ("entry", pa.int64())]
    return pa.schema(
        [
            ("id", pa.string()),
            ("number", pa.int64()),
            ("time", TIME),
            ("arm", arm),
            ("probability", pa.float64()),
            ("pi", chances),
            ("reveals", chances),
            ("eligible", pa.list_(arm)),
            ("outcomes", pa.list_(pa.struct(outcome))),
            ("policy", pa.string()),
            ("closed", pa.struct(closed)),
            ("context", pa.string()),
            ("arms", pa.int64()),
            ("graph", pa.int64()),
            ("round", pa.int64()),
            ("entry", pa.int64()),
        ]
    )


@dataclass(frozen=True, eq=False)
class Origin:
    """What the table of a log refers to: arms, graphs, prior, and the events between decisions."""

    arms: tuple[Arm, ...]
    first_arms: int
    graphs: list[str | None]
    prior: str | None = None
    horizon: int | None = None
    seed: int = 0
    trial: int = 0
    retired: dict[int, int] = field(default_factory=dict)
    changes: list[list[Any]] = field(default_factory=list)
    objects: dict[str, str] = field(default_factory=dict)

    def to_json(self) -> bytes:
        fields = {one.name: getattr(self, one.name) for one in dataclasses.fields(self)}
        fields["retired"] = sorted(self.retired.items())
        return json.dumps({"format": FORMAT, **fields}).encode()

    @classmethod
    def from_json(cls, data: bytes) -> Origin:
        meta = json.loads(data)
        if (number := meta.pop("format")) != FORMAT:
            raise InputError(
                f"it has format {number}, and this version of graphbandits reads format {FORMAT}: "
                "use the version that wrote it"
            )
        meta["arms"] = tuple(meta["arms"])
        meta["retired"] = {int(arm): int(made) for arm, made in meta["retired"]}
        return cls(**meta)

    def put(self, data: bytes) -> str:
        """Keep an object, and return its key."""
        key = hashlib.sha256(data).hexdigest()
        self.objects[key] = base64.b64encode(data).decode()
        return key

    def get(self, key: str) -> bytes:
        data = base64.b64decode(self.objects[key])
        if hashlib.sha256(data).hexdigest() != key:
            raise InputError(f"its object {key} is damaged")
        return data

    @property
    def keys(self) -> Keys:
        return Keys(self.seed, self.trial)

    @cached_property
    def processes(self) -> list[Process | None]:
        return [None if key is None else unpack_graph(self.get(key))[0] for key in self.graphs]


def log_table(arms: Sequence[Arm], columns: Mapping[str, list[Any]]) -> pa.Table:
    """Return the table of a log from its columns, with times in microseconds.

    An item of a column of :data:`LISTS` is None, or the numbers of the arms and their values.
    """
    schema = log_schema(arm_type(arms))
    names = pa.array(list(arms), arm_type(arms))
    arrays = [
        _arm_lists(columns[field.name], field.name, names)
        if field.name in LISTS
        else pa.array(columns[field.name], field.type)
        for field in schema
    ]
    return pa.table(arrays, schema=schema)


def _arm_lists(cells: list[tuple[Ints, Floats] | None], column: str, names: pa.Array) -> pa.Array:
    given = [cell for cell in cells if cell is not None]
    items = names.take(
        pa.array(np.concatenate([arm for arm, _ in given] or [np.empty(0, np.int64)]))
    )
    if column != "eligible":
        value = pa.array(np.concatenate([value for _, value in given] or [np.empty(0)]))
        items = pa.StructArray.from_arrays([items, value], ["arm", "probability"])
    counts = [0 if cell is None else len(cell[0]) for cell in cells]
    start = pa.array(np.cumsum([0, *counts]), pa.int32())
    missing = pa.array([cell is None for cell in cells], pa.bool_())
    return pa.ListArray.from_arrays(start, items, mask=missing)


def microseconds(time: float | None) -> int | None:
    return None if time is None or math.isnan(time) else round(time * 1e6)


def arm_type(arms: Sequence[Arm]) -> pa.DataType:
    return pa.int64() if arms and isinstance(arms[0], int) else pa.string()


@dataclass(frozen=True, eq=False)
class ArmLists:
    """A list of arms with values for each row: those of row t are ``start[t]:start[t + 1]``."""

    start: Ints
    arm: Ints
    value: Floats
    known: NDArray[np.bool_]

    def dense(self, rows: Ints, arms: int) -> Floats:
        """Return the values of some rows as an array, with zeros elsewhere."""
        found = np.zeros((len(rows), arms))
        where, place = spread(self.start, rows)
        found[where, self.arm[place]] = self.value[place]
        return found


@dataclass(frozen=True, eq=False)
class OutcomeLists:
    """Outcomes of each row: those of row t are ``start[t]:start[t + 1]``."""

    start: Ints
    row: Ints
    arm: Ints
    reward: Floats
    weight: Floats
    late: NDArray[np.bool_]
    extra: NDArray[np.bool_]
    entry: Ints


@dataclass(frozen=True, eq=False)
class LogArrays:
    """Columns of a log as arrays, with numbers of arms instead of names."""

    number: Ints
    time: Floats
    arm: Ints
    probability: Floats
    pi: ArmLists
    reveals: ArmLists
    eligible: ArmLists
    outcomes: OutcomeLists
    closed: NDArray[np.bool_]
    closed_entry: Ints
    arms: Ints
    graph: Ints
    round: Ints
    entry: Ints

    @classmethod
    def of(cls, table: pa.Table, origin: Origin) -> LogArrays:
        names = pa.array(list(origin.arms), arm_type(origin.arms))
        columns = {name: table[name].combine_chunks() for name in table.column_names}

        def numbers(values: pa.Array, what: str) -> Ints:
            index = pc.index_in(values, value_set=names)
            if index.null_count:
                wrong = values[int(np.flatnonzero(index.is_null().to_numpy(False))[0])].as_py()
                raise InputError(
                    f"the column '{what}' of the log has the unknown arm {short_repr(wrong)}: give "
                    "all names in arms"
                )
            found: Ints = index.to_numpy().astype(np.int64)
            return found

        def lists(name: str, valued: bool = True) -> ArmLists:
            column = columns[name]
            parts = column.flatten()
            arm, value = parts.flatten() if valued else (parts, None)
            chances = np.ones(len(arm)) if value is None else _filled(value, math.nan)
            return ArmLists(_starts(column), numbers(arm, name), chances, _known(column))

        column = columns["outcomes"]
        arm, reward, weight, _, late, extra, entry = column.flatten().flatten()
        start = _starts(column)
        outcomes = OutcomeLists(
            start,
            np.repeat(np.arange(len(column)), np.diff(start)),
            numbers(arm, "outcomes"),
            _filled(reward, math.nan),
            _filled(weight, math.nan),
            _filled(late, False),
            _filled(extra, False),
            _filled(entry, 0),
        )
        made = cls(
            _filled(columns["number"], 0),
            _filled(columns["time"].cast(pa.int64()), 0) / 1e6,
            numbers(columns["arm"], "arm"),
            _filled(columns["probability"], math.nan),
            lists("pi"),
            lists("reveals"),
            lists("eligible", valued=False),
            outcomes,
            _known(columns["closed"]),
            _filled(columns["closed"].flatten()[2], 0),
            _filled(columns["arms"], 0),
            _filled(columns["graph"], -1),
            _filled(columns["round"], 0),
            _filled(columns["entry"], 0),
        )
        made._check(len(origin.arms), len(origin.graphs))
        return made

    def _check(self, arms: int, graphs: int) -> None:
        # kernels do not check what they get
        for name, valid in (
            ("number", (np.diff(self.number, prepend=0) > 0).all()),
            ("round", (self.round > 0).all()),
            ("arms", ((self.arms > 0) & (self.arms <= arms)).all()),
            ("graph", (self.graph < graphs).all()),
        ):
            if not valid:
                raise InputError(
                    f"the column '{name}' of the log is not valid: numbers and rounds are "
                    "positive, and numbers increase; leave out the column to count the rows"
                )
        weight = self.outcomes.weight
        if not ((weight > 0.0) & np.isfinite(weight)).all():
            raise InputError("the column 'outcomes' of the log has a weight that is not above 0")
        empty = self.eligible.known & (np.diff(self.eligible.start) == 0)
        if empty.any():
            raise InputError(
                f"the column 'eligible' of the log has no arm in decision "
                f"{self.number[empty.argmax()]}: it must be null if all arms could be played"
            )

    def own_outcomes(self) -> Ints:
        """Return the position of the outcome of the played arm of each row; -1 if there is none."""
        seen = self.outcomes
        own = np.flatnonzero((seen.arm == self.arm[seen.row]) & ~seen.extra)
        found = np.full(len(self.arm), -1)
        found[seen.row[own]] = own
        return found

    def check_propensities(self, rows: Ints) -> None:
        """Raise InputError if probabilities of decisions are missing or are no distribution."""
        p, pi = self.probability[rows], self.pi
        missing = np.isnan(p)
        if missing.any():
            raise InputError(
                f"{missing.sum()} of {len(rows)} decisions have no probability; a policy that "
                "draws the arm itself has none: log with a policy with exact probabilities, such "
                "as ts-n instead of ts-n-sampled"
            )
        where, place = spread(pi.start, rows)
        value = np.where(pi.value[place] >= 0.0, pi.value[place], np.inf)
        total = np.bincount(where, value, len(rows))
        own = pi.arm[place] == self.arm[rows][where]
        listed = np.bincount(where[own], value[own], len(rows))
        known = pi.known[rows]
        for wrong, found, text in (
            (~((p > 0.0) & (p <= 1.0 + 1e-9)), p, "its arm was played with probability {:g}"),
            (known & ~(np.abs(total - 1.0) <= 1e-6), total, "the entries of pi sum to {:g}, not 1"),
            (known & ~(np.abs(listed - p) <= 1e-6), listed, "its arm has another entry {:g} in pi"),
        ):
            if wrong.any():
                i = wrong.argmax()
                raise InputError(
                    f"decision {self.number[rows[i]]} of the log: {text.format(found[i])}; no "
                    "entry may be negative, and that of the played arm must be above 0"
                )


def spread(start: Ints, rows: Ints) -> tuple[Ints, Ints]:
    """Return the row and the position of each entry of the lists of some rows."""
    count = start[rows + 1] - start[rows]
    where = np.repeat(np.arange(len(rows)), count)
    first = np.repeat(start[rows] - np.cumsum(count) + count, count)
    return where, first + np.arange(len(where))


def _starts(column: pa.Array) -> Ints:
    lengths = pc.fill_null(pc.list_value_length(column), 0).to_numpy().astype(np.int64)
    return np.concatenate([[0], np.cumsum(lengths)])


def _known(column: pa.Array) -> NDArray[np.bool_]:
    found: NDArray[np.bool_] = column.is_valid().to_numpy(zero_copy_only=False)
    return found


def _filled(values: pa.Array, missing: float) -> NDArray[Any]:
    found: NDArray[Any] = np.array(pc.fill_null(values, missing))
    return found
