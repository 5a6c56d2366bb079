"""The table of a log, and what it refers to: arms, graphs, prior, and events in between."""

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
from numpy.typing import NDArray

from graphbandits._types import Floats, Ints
from graphbandits.errors import InputError
from graphbandits.graphs import Process
from graphbandits.live._packing import unpack_graph
from graphbandits.posteriors import Arm
from graphbandits.rng import Keys

#: Number of the format of the metadata of a log.
FORMAT = 1
#: Key of the metadata in the schema of the table.
KEY = b"graphbandits"
#: Kinds of journal entries between decisions that a policy which follows the log must know.
CHANGES = ("learn", "add_arm", "set_graph", "retire", "reset")
TIME = pa.timestamp("us", "UTC")


def log_schema(arm: pa.DataType) -> pa.Schema:
    """Return the schema of a log; ``arm`` is the type of the names of arms."""
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
    """What the table of a log refers to: arms, graphs, prior, and the events between decisions.

    Parameters
    ----------
    arms : tuple of str or int
        Names of all arms, in the order of their numbers.
    first_arms : int
        Number of arms before the first decision.
    graphs : list of str or None
        Keys of the graphs, to which the column ``graph`` refers; None for a graph of a plug-in that
        cannot be stored.
    prior : str or None
        Key of the prior of the first arms; None if unknown.
    horizon : int or None
        Number of rounds.
    seed, trial : int
        Random numbers of graphs that change.
    retired : dict of int to int
        Arms that were retired, with the number of decisions before.
    changes : list
        Journal entries of the kinds :data:`CHANGES`: number, time, kind, body, and data in base 64.
    objects : dict of str to str
        Graphs and priors by their keys, in base 64.
    """

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
        """Return the metadata as JSON."""
        fields = {one.name: getattr(self, one.name) for one in dataclasses.fields(self)}
        fields["retired"] = sorted(self.retired.items())
        return json.dumps({"format": FORMAT, **fields}).encode()

    @classmethod
    def from_json(cls, data: bytes) -> Origin:
        """Restore the metadata."""
        meta = json.loads(data)
        if (number := meta.pop("format")) != FORMAT:
            raise InputError(
                f"it has format {number}, and this version of graphbandits reads format {FORMAT}: "
                "use the version that wrote it"
            )
        meta["arms"] = tuple(meta["arms"])
        meta["retired"] = {int(arm): int(made) for arm, made in meta["retired"]}
        return cls(**meta)

    def get(self, key: str) -> bytes:
        """Return a stored object."""
        data = base64.b64decode(self.objects[key])
        if hashlib.sha256(data).hexdigest() != key:
            raise InputError(f"its object {key} is damaged")
        return data

    @property
    def keys(self) -> Keys:
        """Random numbers of graphs that change."""
        return Keys(self.seed, self.trial)

    @cached_property
    def processes(self) -> list[Process | None]:
        """The graphs."""
        return [None if key is None else unpack_graph(self.get(key))[0] for key in self.graphs]


def log_table(
    arms: Sequence[Arm],
    plain: Mapping[str, Sequence[Any]],
    lists: Mapping[str, Sequence[tuple[Ints, Floats] | None]],
    outcomes: Sequence[tuple[int, int, float, float, float, bool, bool, int]],
    closed: Mapping[int, tuple[float, str, int]],
) -> pa.Table:
    """Return the table of a log, from numbers of arms."""
    schema = log_schema(arm_type(arms))
    names = pa.array(list(arms), arm_type(arms))
    rows = len(plain["arm"])

    def named(index: Any) -> pa.Array:
        return names.take(pa.array(np.asarray(index, np.int64)))

    def listed(counts: Ints, values: pa.Array, missing: NDArray[np.bool_]) -> pa.Array:
        total = int(counts.sum())
        if total >= 2**31:
            raise InputError(f"the log has {total:,} entries in one column, more than 2**31 - 1")
        start = pa.array(np.concatenate([[0], np.cumsum(counts)]), pa.int32())
        return pa.ListArray.from_arrays(start, values, mask=pa.array(missing))

    columns: dict[str, pa.Array] = {
        name: pa.array(values, schema.field(name).type)
        for name, values in plain.items()
        if name not in ("arm", "time")
    }
    columns["arm"], columns["time"] = named(plain["arm"]), _times(plain["time"])
    for name, parts in lists.items():
        given = [part for part in parts if part is not None]
        arm = named(np.concatenate([part[0] for part in given] or [np.empty(0, np.int64)]))
        value = np.concatenate([part[1] for part in given] or [np.empty(0)])
        inner = arm
        if name != "eligible":
            inner = pa.StructArray.from_arrays([arm, pa.array(value)], ["arm", "probability"])
        counts = np.array([0 if part is None else len(part[0]) for part in parts], np.int64)
        columns[name] = listed(counts, inner, np.array([part is None for part in parts], np.bool_))
    row, *fields = zip(*outcomes, strict=True) if outcomes else [()] * 8
    at = np.array(row, np.int64)
    order = np.argsort(at, kind="stable")
    arm, reward, weight, time, late, extra, entry = fields
    inner = pa.StructArray.from_arrays(
        [
            named(arm),
            pa.array(reward, pa.float64()),
            pa.array(weight, pa.float64()),
            _times(time),
            pa.array(late, pa.bool_()),
            pa.array(extra, pa.bool_()),
            pa.array(entry, pa.int64()),
        ],
        fields=list(schema.field("outcomes").type.value_type),
    )
    counts = np.bincount(at, minlength=rows)
    columns["outcomes"] = listed(counts, inner.take(pa.array(order)), np.zeros(rows, np.bool_))
    ends = [closed.get(i) for i in range(rows)]
    columns["closed"] = pa.array(
        [
            None
            if end is None
            else {"time": _microseconds(end[0]), "reason": end[1], "entry": end[2]}
            for end in ends
        ],
        schema.field("closed").type,
    )
    return pa.table([columns[name] for name in schema.names], schema=schema)


def _microseconds(time: float) -> int | None:
    return None if math.isnan(time) else round(time * 1e6)


def _times(seconds: Sequence[float | None]) -> pa.Array:
    given = np.array(seconds, np.float64)  # None becomes NaN
    missing = np.isnan(given)
    micro = np.rint(np.where(missing, 0.0, given) * 1e6).astype(np.int64)
    return pa.array(micro, pa.int64(), mask=missing).cast(TIME)


def arm_type(arms: Sequence[Arm]) -> pa.DataType:
    return pa.int64() if arms and isinstance(arms[0], int) else pa.string()
