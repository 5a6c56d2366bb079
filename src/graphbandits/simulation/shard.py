"""Shards: what is recorded of a block of trials of one policy, with trajectories."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from graphbandits._types import Floats, Ints
from graphbandits.errors import InputError, check_integer, nearest
from graphbandits.rng import Keys
from graphbandits.worlds import Changing, World

if TYPE_CHECKING:
    import pyarrow as pa

#: What ``record`` can name: the played arm of every round, the observed arms and rewards, and the
#: arms that were eligible.
RECORDS = ("actions", "observations", "eligible")
#: Maximum number of observations in a file of a shard, and of trials times rounds times arms with
#: eligible arms: its offsets have 32 bits.
MAX_OBSERVATIONS = 2**31 - 1

Int32s = NDArray[np.int32]
T = TypeVar("T")


def check_record(record: str | Iterable[str]) -> tuple[str, ...]:
    """Return the quantities that ``record`` names, in the order of :data:`RECORDS`."""
    given = (
        list(record) if isinstance(record, Iterable) and not isinstance(record, str) else [record]
    )
    for word in given:
        if word not in RECORDS:
            raise InputError(f"cannot record {word!r}: {nearest(str(word), RECORDS)}")
    return tuple(word for word in RECORDS if word in given)


def join_all(parts: Sequence[T | None], join: Callable[[list[T]], T]) -> T | None:
    """Join the values of several parts; None if a part has none."""
    given = [part for part in parts if part is not None]
    return join(given) if given and len(given) == len(parts) else None


@dataclass(frozen=True, eq=False)
class RecordedObservations:
    """Observations of several trials as flat arrays, ordered by trial, round and arm.

    Attributes
    ----------
    start : the observations of trial b are the entries from ``start[b]`` to ``start[b + 1]``
    round : rounds, from 1, as int32
    arm : observed arms, as int32
    reward : their rewards
    """

    start: Ints
    round: Int32s
    arm: Int32s
    reward: Floats

    @property
    def trials(self) -> int:
        return len(self.start) - 1

    @property
    def trial(self) -> Ints:
        """Row of the trial of each observation."""
        return np.repeat(np.arange(self.trials), np.diff(self.start))

    def rows(self, trials: slice) -> RecordedObservations:
        """Return the observations of consecutive trials, without a copy of the arrays."""
        first, last, _ = trials.indices(self.trials)
        last = max(first, last)
        some = slice(self.start[first], self.start[last])
        start = self.start[first : last + 1] - self.start[first]
        return RecordedObservations(start, self.round[some], self.arm[some], self.reward[some])

    @classmethod
    def concat(cls, parts: Sequence[RecordedObservations]) -> RecordedObservations:
        """Concatenate the trials of several blocks."""
        counts = [np.diff(part.start) for part in parts]
        return cls(
            np.concatenate([[0], np.cumsum(np.concatenate(counts))]),
            np.concatenate([part.round for part in parts]),
            np.concatenate([part.arm for part in parts]),
            np.concatenate([part.reward for part in parts]),
        )


@dataclass(frozen=True, eq=False)
class Trajectories:
    """What each trial could play, played and observed; a part is None if it was not recorded.

    Attributes
    ----------
    action : played arm, of shape (trials, rounds), as int32
    observations : observed arms and rewards
    eligible : arms that could be played, of shape (trials, rounds, arms)
    """

    action: Int32s | None = None
    observations: RecordedObservations | None = None
    eligible: NDArray[np.bool_] | None = None

    @property
    def trials(self) -> int:
        for array in (self.action, self.eligible):
            if array is not None:
                return len(array)
        return 0 if self.observations is None else self.observations.trials

    @property
    def recorded(self) -> tuple[str, ...]:
        """The recorded quantities, a part of ``("actions", "observations", "eligible")``."""
        parts = self.action, self.observations, self.eligible
        return tuple(word for word, part in zip(RECORDS, parts, strict=True) if part is not None)

    def rows(self, trials: slice) -> Trajectories:
        """Return the trajectories of consecutive trials, without a copy of the arrays."""
        seen = self.observations
        return Trajectories(
            None if self.action is None else self.action[trials],
            None if seen is None else seen.rows(trials),
            None if self.eligible is None else self.eligible[trials],
        )

    @classmethod
    def concat(cls, parts: Sequence[Trajectories | None]) -> Trajectories | None:
        """Concatenate the trials of several blocks: the quantities that all have, or None."""
        known = [part or cls() for part in parts]
        joined = cls(
            join_all([part.action for part in known], np.concatenate),
            join_all([part.observations for part in known], RecordedObservations.concat),
            join_all([part.eligible for part in known], np.concatenate),
        )
        return joined if joined.recorded else None


# Columns in the file of a shard -----------------------------------------------------------------

#: Columns of the observations in the file of a shard.
OBSERVED_COLUMNS = ("observed_round", "observed_arm", "observed_reward")
#: Columns of trajectories in the file of a shard.
TRAJECTORY_COLUMNS = ("action", *OBSERVED_COLUMNS, "eligible")
#: Columns with a dictionary: their values repeat often.
DICTIONARY = [f"{name}.list.element" for name in ("action", *OBSERVED_COLUMNS)]


def to_columns(trajectories: Trajectories) -> dict[str, pa.Array]:
    """Return trajectories as columns of lists, one row per trial."""
    import pyarrow as pa  # only for files: a live decision does not need it

    dense = {"action": trajectories.action, "eligible": trajectories.eligible}
    columns = {name: to_lists(array) for name, array in dense.items() if array is not None}
    if (seen := trajectories.observations) is not None:
        starts = seen.start.astype(np.int32)
        for name, array in zip(OBSERVED_COLUMNS, (seen.round, seen.arm, seen.reward), strict=True):
            columns[name] = pa.ListArray.from_arrays(starts, array)
    return columns


def from_columns(table: pa.Table) -> Trajectories | None:
    """Return the trajectories in the columns of a file; None if it has none."""
    names = table.schema.names
    dense = (from_lists(table[n]) if n in names else None for n in ("action", "eligible"))
    action, eligible = dense
    seen = None
    if OBSERVED_COLUMNS[0] in names:
        lists = [table[name].combine_chunks() for name in OBSERVED_COLUMNS]
        starts = lists[0].offsets.to_numpy()
        if any((one.offsets.to_numpy() != starts).any() for one in lists):
            raise ValueError("its observed rounds, arms and rewards do not match")
        values = (one.values.to_numpy() for one in lists)
        seen = RecordedObservations(starts.astype(np.int64), *values)
    found = Trajectories(action, seen, eligible)
    return found if found.recorded else None


def to_lists(array: NDArray[Any]) -> pa.Array:
    """Return an array as lists (of lists), one per trial."""
    import pyarrow as pa

    values = pa.array(np.ascontiguousarray(array).ravel())
    for size in array.shape[:0:-1]:
        starts = np.arange(len(values) // size + 1, dtype=np.int32) * np.int32(size)
        values = pa.ListArray.from_arrays(starts, values)
    return values


def from_lists(column: pa.ChunkedArray) -> NDArray[Any]:
    """Return the array in a column of :func:`to_lists`."""
    import pyarrow as pa

    values = column.combine_chunks()
    shape = [len(values)]
    while pa.types.is_list(values.type):
        lengths = np.diff(values.offsets.to_numpy())
        if (lengths != lengths[0]).any():
            raise ValueError("its trials have different numbers of rounds or arms")
        shape.append(lengths[0])
        values = values.values
    found: NDArray[Any] = values.to_numpy(zero_copy_only=False)
    return found.reshape(shape)


# Recording --------------------------------------------------------------------------------------

#: Default maximum number of recorded rounds.
MAX_POINTS = 200
#: Gains for recorded ratios: G h, which gives an upper bound of Psi, or the joint gain g.
GAINS = ("bound", "joint")
#: Kinds of regret: theta* - theta_A, or the difference of the outcomes.
REGRETS = ("pseudo", "realised")

#: Key of the facts of a shard in the schema metadata of its file.
METADATA_KEY = b"graphbandits"


@dataclass(frozen=True)
class Recording:
    """What is recorded: rounds, kind of regret, gain of the ratios (or None), and trajectories."""

    rounds: tuple[int, ...]
    regret: str = "pseudo"
    ratios: str | None = None
    actions: bool = False
    observations: bool = False
    eligible: bool = False

    @classmethod
    def of(
        cls,
        horizon: int,
        rounds: int | Sequence[int] = MAX_POINTS,
        regret: str = "pseudo",
        ratios: str | None = None,
        record: str | Iterable[str] = (),
    ) -> Recording:
        """Create a checked recording; ``rounds`` is a maximum number or a list of rounds."""
        if isinstance(rounds, Sequence) and not isinstance(rounds, str):
            kept = tuple(check_integer(t, "a recorded round") for t in rounds)
            if list(kept) != sorted(set(kept)) or (kept and kept[-1] > horizon):
                raise InputError(
                    f"recorded rounds must increase, from 1 to at most the horizon {horizon}; got "
                    f"{', '.join(map(str, kept))}"
                )
            kept = kept if kept and kept[-1] == horizon else (*kept, horizon)
        else:
            points = check_integer(rounds, "the number of recorded rounds")
            # a single point is the last round
            spread = recorded_rounds(horizon, points).tolist() if points > 1 else [horizon]
            kept = tuple(spread)
        if regret not in REGRETS:
            raise InputError(f"regret must be 'pseudo' or 'realised', not {regret!r}")
        if ratios is not None and ratios not in GAINS:
            raise InputError(f"ratios must be 'bound', 'joint' or None, not {ratios!r}")
        words = check_record(record)
        return cls(kept, regret, ratios, **{word: word in words for word in RECORDS})

    @property
    def record(self) -> Ints:
        return np.array(self.rounds)

    @property
    def trajectories(self) -> tuple[str, ...]:
        """The recorded trajectories, a part of ``("actions", "observations", "eligible")``."""
        return tuple(word for word in RECORDS if getattr(self, word))

    def facts(self) -> dict[str, Any]:
        """Return the recording as JSON values; trajectories only if they are recorded."""
        facts = {"rounds": list(self.rounds), "regret": self.regret, "ratios": self.ratios}
        return facts | dict.fromkeys(self.trajectories, True)


def recorded_rounds(horizon: int, points: int = MAX_POINTS) -> Ints:
    """Return at most ``points`` evenly spaced rounds, including the first and the last."""
    spread = np.linspace(1, horizon, min(points, horizon))
    return np.unique(np.rint(spread).astype(np.int64))


@dataclass(frozen=True, eq=False)
class Ratios:
    """Information ratios of each trial at each recorded round, in arrays of shape (trials, rounds).

    A ratio is infinite if the expected regret is positive and the expected information is zero. If
    both are zero, the ratio is NaN and counts as 0 in the sum. ``settings["ratios"]`` is the gain
    of Psi_t: the bound G h ("bound") or the exact joint gain ("joint").

    Attributes
    ----------
    ratio : Psi_t, the squared expected regret of the decision divided by its expected information
    ratio_sum : sum of Psi over all rounds up to this one, recorded or not
    psi : psi_t, the ratio of Thompson sampling with the same posterior, always with G h
    entropy : entropy of alpha_t in nats, the remaining uncertainty about the best arm
    """

    ratio: Floats
    ratio_sum: Floats
    psi: Floats
    entropy: Floats

    def items(self) -> Iterator[tuple[str, Floats]]:
        """Iterate over names and arrays."""
        return ((field.name, getattr(self, field.name)) for field in fields(self))

    @classmethod
    def concat(cls, parts: Sequence[Ratios]) -> Ratios:
        """Concatenate the trials of several blocks."""
        names = [field.name for field in fields(cls)]
        return cls(*(np.concatenate([getattr(part, name) for part in parts]) for name in names))


#: Columns of the information ratios in the file of a shard that has them.
RATIO_COLUMNS = tuple(field.name for field in fields(Ratios))


@dataclass(frozen=True, eq=False)
class Plays:
    """Number of plays of each arm in each trial, without zeros, ordered by trial and arm.

    Attributes
    ----------
    trial : trials, counted from the first trial of the block
    arm : arms
    count : number of plays of the arm in the trial
    """

    trial: Ints
    arm: Ints
    count: Ints

    @classmethod
    def of(cls, plays: Ints) -> Plays:
        """Create plays from a matrix of shape (trials, arms)."""
        trial, arm = np.nonzero(plays)
        return cls(trial, arm, plays[trial, arm])

    def add_to(self, total: Ints) -> None:
        """Add the plays of each arm to ``total``, in place."""
        np.add.at(total, self.arm, self.count)

    def add_ranked(self, total: Ints, means: Floats) -> None:
        """Add the plays to ``total`` by the rank of the arm in its trial, in place.

        ``means`` has the shape (trials, arms). ``total[0]`` is for the best arm of each trial. Of
        equal means, the arm with the smaller number ranks first.

        >>> total = np.zeros(3, np.int64)
        >>> means = np.array([[0.1, 0.2, 0.9], [0.3, 0.4, 0.2]])
        >>> Plays.of(np.array([[2, 0, 1], [0, 3, 0]])).add_ranked(total, means)
        >>> total.tolist()
        [4, 0, 2]
        """
        rank = np.argsort(np.argsort(-means, axis=1, kind="stable"), axis=1)
        np.add.at(total, rank[self.trial, self.arm], self.count)


#: Function of (first trial, number of trials) that returns the true means (trials, arms).
TrueMeans = Callable[[int, int], Floats]
#: Maximum of trials times arms for which arms are ranked; their means are computed again.
MAX_RANKED_ENTRIES = 2**20


@dataclass(frozen=True, eq=False)
class Shard:
    """Outcome of a task: the recorded values of consecutive trials of one policy.

    Attributes
    ----------
    first : number of the first trial
    regret : cumulative regret at the recorded rounds, of shape (trials, rounds)
    plays : number of plays of each arm in each trial
    ratios : information ratios, if they were recorded
    cpu : CPU type that computed the shard
    trajectories : actions, observations and eligible arms, if they were recorded

    Examples
    --------
    >>> shard = Shard(250, np.array([[0.0, 0.5]]), Plays.of(np.array([[1, 1]])))
    >>> again, facts = Shard.from_parquet(shard.to_parquet({"policy": "ts-n"}))
    >>> again.first, again.regret.tolist(), facts
    (250, [[0.0, 0.5]], {'policy': 'ts-n'})
    """

    first: int
    regret: Floats
    plays: Plays
    ratios: Ratios | None = None
    cpu: str = ""
    trajectories: Trajectories | None = None

    @property
    def trials(self) -> int:
        return len(self.regret)

    def to_parquet(self, facts: Mapping[str, Any]) -> bytes:
        """Serialize the shard as Parquet: one row per trial, with its curves as lists.

        ``facts`` are plain JSON values for the metadata. Equal numbers and facts give equal bytes.
        """
        # only for files: a live decision and a simulation do not need it
        import pyarrow as pa
        import pyarrow.parquet as pq

        starts = np.searchsorted(self.plays.trial, np.arange(self.trials + 1)).astype(np.int32)
        columns = {
            "trial": pa.array(np.arange(self.first, self.first + self.trials)),
            "regret": to_lists(self.regret),
            "played": pa.ListArray.from_arrays(starts, self.plays.arm),
            "plays": pa.ListArray.from_arrays(starts, self.plays.count),
        }
        for name, array in self.ratios.items() if self.ratios is not None else ():
            columns[name] = to_lists(array)
        dictionary: list[str] | bool = False
        if self.trajectories is not None:
            columns |= to_columns(self.trajectories)
            dictionary = DICTIONARY
        table = pa.table(columns).replace_schema_metadata(
            {METADATA_KEY: json.dumps(facts, sort_keys=True, allow_nan=False)}
        )
        sink = pa.BufferOutputStream()
        # zstd compresses the curves well; a dictionary does not help them
        pq.write_table(table, sink, compression="zstd", use_dictionary=dictionary, version="2.6")
        data: bytes = sink.getvalue().to_pybytes()
        return data

    @classmethod
    def from_parquet(cls, data: bytes, trajectories: bool = True) -> tuple[Shard, dict[str, Any]]:
        """Read a shard and its facts; ``trajectories`` selects whether trajectories are read.

        Other bytes raise an exception of any type; ``Directory.read`` converts it.
        """
        import pyarrow as pa
        import pyarrow.parquet as pq

        # not pq.read_table: its scanner may drop the last reference to the bytes on an Arrow
        # thread during interpreter shutdown, which aborts the process
        file = pq.ParquetFile(pa.BufferReader(data))
        names = file.schema_arrow.names
        recorded = [name for name in names if name in TRAJECTORY_COLUMNS]
        wanted = None if trajectories else [name for name in names if name not in recorded]
        table = file.read(wanted, use_threads=False)
        facts: dict[str, Any] = json.loads(table.schema.metadata[METADATA_KEY])
        trials, first = len(table), table["trial"][0].as_py()
        if (table["trial"].to_numpy() != np.arange(first, first + trials)).any():
            raise ValueError("its trials are not consecutive")
        ratios = {
            name: from_lists(table[name]) for name in RATIO_COLUMNS if name in table.schema.names
        }
        played, plays = (table[name].combine_chunks() for name in ("played", "plays"))
        starts = played.offsets.to_numpy()
        if (starts != plays.offsets.to_numpy()).any():
            raise ValueError("its numbers of plays do not match its played arms")
        counted = Plays(
            np.repeat(np.arange(trials), np.diff(starts)),
            played.values.to_numpy(),
            plays.values.to_numpy(),
        )
        values = from_lists(table["regret"]), counted, Ratios(**ratios) if ratios else None
        seen = from_columns(table) if recorded and trajectories else None
        return cls(first, *values, cpu=str(facts.get("cpu", "")), trajectories=seen), facts


def true_means(world: World, seed: int, trials: int) -> TrueMeans | None:
    """Return a function for the true means; None if ranks change, or arms are too many to rank."""
    if trials * world.arms > MAX_RANKED_ENTRIES or isinstance(world, Changing):
        return None
    return cache(lambda first, count: world.means(Keys(seed, first, count)))


def rank_plays(shards: Iterable[Shard], arms: int, means: TrueMeans | None) -> Ints | None:
    """Count the plays of shards by the rank of the arm in its trial; None if means is None."""
    if means is None:
        return None
    total = np.zeros(arms, np.int64)
    for shard in shards:
        shard.plays.add_ranked(total, means(shard.first, shard.trials))
    return total
