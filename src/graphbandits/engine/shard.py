"""Shards (the recorded values of a block of trials of one policy) and what they record."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from graphbandits._types import Floats, Ints
from graphbandits.engine.trajectories import (
    DICTIONARY,
    RECORDS,
    TRAJECTORY_COLUMNS,
    Trajectories,
    check_record,
    from_columns,
    from_lists,
    to_columns,
    to_lists,
)
from graphbandits.errors import InputError, check_integer
from graphbandits.rng import Keys
from graphbandits.worlds import Changing, World

if TYPE_CHECKING:
    pass

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
    """What is recorded: rounds, kind of regret, gain of the ratios (or None), and trajectories.

    >>> Recording.of(horizon=1000, rounds=[10, 100]).rounds
    (10, 100, 1000)
    """

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
        """Create a checked recording.

        ``rounds`` is a maximum number of evenly spaced rounds, or a list of rounds. The last round
        is always added.
        """
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
        """The rounds as an array."""
        return np.array(self.rounds)

    @property
    def trajectories(self) -> tuple[str, ...]:
        """The recorded trajectories, a part of ``("actions", "observations", "eligible")``."""
        return tuple(word for word in RECORDS if getattr(self, word))

    def facts(self) -> dict[str, Any]:
        """Return the recording as JSON values; trajectories only if they are recorded.

        >>> Recording.of(horizon=1).facts()
        {'rounds': [1], 'regret': 'pseudo', 'ratios': None}
        """
        facts = {"rounds": list(self.rounds), "regret": self.regret, "ratios": self.ratios}
        return facts | dict.fromkeys(self.trajectories, True)


def recorded_rounds(horizon: int, points: int = MAX_POINTS) -> Ints:
    """Return at most ``points`` evenly spaced rounds, including the first and the last.

    >>> recorded_rounds(5).tolist(), len(recorded_rounds(10**6))
    ([1, 2, 3, 4, 5], 200)
    """
    spread = np.linspace(1, horizon, min(points, horizon))
    return np.unique(np.rint(spread).astype(np.int64))


@dataclass(frozen=True, eq=False)
class Ratios:
    """Information ratios of each trial at each recorded round.

    All arrays have the shape (trials, rounds). A ratio is infinite if the expected regret is
    positive and the expected information is zero. If both are zero, the ratio is NaN and counts as
    0 in the sum. ``settings["ratios"]`` of the results is the gain of Psi_t: the bound G h
    ("bound") or the exact joint gain ("joint"). psi_t always uses G h.

    Parameters
    ----------
    ratio : ndarray
        Psi_t, the squared expected regret of the decision divided by its expected information.
    ratio_sum : ndarray
        Sum of Psi over all rounds up to this one, recorded or not.
    psi : ndarray
        psi_t, the ratio of Thompson sampling with the same posterior.
    entropy : ndarray
        Entropy of alpha_t in nats: the remaining uncertainty about the best arm.
    """

    ratio: Floats
    ratio_sum: Floats
    psi: Floats
    entropy: Floats

    def items(self) -> Iterator[tuple[str, Floats]]:
        """Iterate over names and arrays.

        Returns
        -------
        iterator of (str, ndarray)
            Name and array of each field.
        """
        return ((field.name, getattr(self, field.name)) for field in fields(self))

    @classmethod
    def concat(cls, parts: Sequence[Ratios]) -> Ratios:
        """Concatenate the trials of several blocks.

        Parameters
        ----------
        parts : sequence of Ratios
            Blocks, in the order of their trials.

        Returns
        -------
        Ratios
            Ratios of all trials.
        """
        names = [field.name for field in fields(cls)]
        return cls(*(np.concatenate([getattr(part, name) for part in parts]) for name in names))


#: Columns of the information ratios in the file of a shard that has them.
RATIO_COLUMNS = tuple(field.name for field in fields(Ratios))


@dataclass(frozen=True, eq=False)
class Plays:
    """Number of plays of each arm in each trial, as flat triples without zeros.

    The triples are ordered by trial and arm.

    Parameters
    ----------
    trial : ndarray of int
        Trials, counted from the first trial of the block.
    arm : ndarray of int
        Arms.
    count : ndarray of int
        Number of plays of the arm in the trial.

    Examples
    --------
    >>> plays = Plays.of(np.array([[2, 0, 1], [0, 3, 0]]))
    >>> total = np.zeros(3, np.int64)
    >>> plays.add_to(total)
    >>> plays.arm.tolist(), total.tolist()
    ([0, 2, 1], [2, 3, 1])
    """

    trial: Ints
    arm: Ints
    count: Ints

    @classmethod
    def of(cls, plays: Ints) -> Plays:
        """Create plays from a matrix.

        Parameters
        ----------
        plays : ndarray of shape (trials, arms)
            Number of plays.

        Returns
        -------
        Plays
            The entries that are not zero.
        """
        trial, arm = np.nonzero(plays)
        return cls(trial, arm, plays[trial, arm])

    def add_to(self, total: Ints) -> None:
        """Add the plays to a total, in place.

        Parameters
        ----------
        total : ndarray of shape (arms,)
            Number of plays of each arm.
        """
        np.add.at(total, self.arm, self.count)

    def add_ranked(self, total: Ints, means: Floats) -> None:
        """Add the plays to a total by the rank of the arm in its trial, in place.

        Parameters
        ----------
        total : ndarray of shape (arms,)
            Number of plays by rank; ``total[0]`` is for the best arm of each trial.
        means : ndarray of shape (trials, arms)
            True means. If two means are equal, the arm with the smaller number ranks first.

        Examples
        --------
        >>> total = np.zeros(3, np.int64)
        >>> Plays.of(np.array([[2, 0, 1], [0, 3, 0]])).add_ranked(
        ...     total, np.array([[0.1, 0.2, 0.9], [0.3, 0.4, 0.2]])
        ... )
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

    Parameters
    ----------
    first : int
        Number of the first trial.
    regret : ndarray of shape (trials, rounds)
        Cumulative regret at the recorded rounds.
    plays : Plays
        Number of plays of each arm in each trial.
    ratios : Ratios, optional
        Information ratios, if they were recorded.
    cpu : str, default=""
        CPU type that computed the shard.
    trajectories : Trajectories, optional
        Actions, observations and eligible arms, if they were recorded.

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
        """Number of trials."""
        return len(self.regret)

    def to_parquet(self, facts: Mapping[str, Any]) -> bytes:
        """Serialize the shard: one row per trial, with its curves as lists.

        The same numbers and facts give the same bytes.

        Parameters
        ----------
        facts : mapping
            Plain JSON values that are stored in the metadata of the file.

        Returns
        -------
        bytes
            A Parquet file.
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
        """Read the bytes that :meth:`to_parquet` returned.

        Other bytes raise an exception of any type; :meth:`graphbandits.store.Store.read` converts
        it.

        Parameters
        ----------
        data : bytes
            A Parquet file.
        trajectories : bool, default=True
            If false, actions, observations and eligible arms are not read.

        Returns
        -------
        shard : Shard
            The shard.
        facts : dict
            Facts from the metadata of the file.
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
    """Return a function for the true means of a world.

    None if they are too many to rank arms, or if the ranks change from round to round.
    """
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
