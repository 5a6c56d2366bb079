"""What is recorded of a block of trials of one policy, and the shard that results."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from graphbandits._types import Floats, Ints
from graphbandits.errors import InputError, check_integer
from graphbandits.rng import Keys
from graphbandits.worlds import World

#: Rounds that are kept of a curve, at most.
POINTS = 200
#: Which gain the recorded ratios are by: G h, an upper bound of Psi, or the joint gain g.
GAINS = ("bound", "joint")
#: Which regret is counted: theta* - theta_A, or the difference of the outcomes.
REGRETS = ("pseudo", "realised")

#: Where a file keeps the facts about its numbers, among the metadata of its schema.
FACTS = b"graphbandits"


@dataclass(frozen=True)
class Recording:
    """The rounds at which the regret is kept, which regret it is, and whether ratios are as well.

    >>> Recording.of(horizon=1000, rounds=[10, 100]).rounds
    (10, 100, 1000)
    """

    rounds: tuple[int, ...]
    regret: str = "pseudo"
    ratios: str | None = None

    @classmethod
    def of(
        cls,
        horizon: int,
        rounds: int | Sequence[int] = POINTS,
        regret: str = "pseudo",
        ratios: str | None = None,
    ) -> Recording:
        """Checked: ``rounds`` is how many at most, evenly spread, or a list; the last is added."""
        if isinstance(rounds, Sequence) and not isinstance(rounds, str):
            kept = tuple(check_integer(t, "a recorded round") for t in rounds)
            if list(kept) != sorted(set(kept)) or (kept and kept[-1] > horizon):
                raise InputError(
                    f"recorded rounds go up from 1 to the horizon, {horizon}; got "
                    f"{', '.join(map(str, kept))}"
                )
            kept = kept if kept and kept[-1] == horizon else (*kept, horizon)
        else:
            points = check_integer(rounds, "the number of recorded rounds")
            # one point is the end
            spread = recorded_rounds(horizon, points).tolist() if points > 1 else [horizon]
            kept = tuple(spread)
        if regret not in REGRETS:
            raise InputError(f"regret is 'pseudo' or 'realised', not {regret!r}")
        if ratios is not None and ratios not in GAINS:
            raise InputError(f"ratios are by 'bound' or by 'joint', or None, not {ratios!r}")
        return cls(kept, regret, ratios)

    @property
    def record(self) -> Ints:
        """The rounds as an array."""
        return np.array(self.rounds)


def recorded_rounds(horizon: int, points: int = POINTS) -> Ints:
    """At most ``points`` rounds, evenly spread, the first and the last among them.

    >>> recorded_rounds(5).tolist(), len(recorded_rounds(10**6))
    ([1, 2, 3, 4, 5], 200)
    """
    spread = np.linspace(1, horizon, min(points, horizon))
    return np.unique(np.rint(spread).astype(np.int64))


@dataclass(frozen=True, eq=False)
class Ratios:
    """Of each trial at each recorded round, (trials, rounds).

    ``ratio``: Psi_t, the squared expected regret of the play by its expected information;
    ``ratio_sum``: the sum of Psi over all rounds up to this one, recorded or not; ``psi``: psi_t,
    that of Thompson sampling in the same place; ``entropy``: that of alpha_t, what is left to learn
    about which arm is best, in nats. A ratio is infinite where something is lost and nothing
    learned; where nothing is lost either it is NaN, and counts 0 in the sum. Psi_t is by the bound
    G h or by the exact joint gain: ``settings["ratios"]`` says which; psi_t is by G h.
    """

    ratio: Floats
    ratio_sum: Floats
    psi: Floats
    entropy: Floats

    def items(self) -> Iterator[tuple[str, Floats]]:
        """The arrays by their names."""
        return ((field.name, getattr(self, field.name)) for field in fields(self))

    @classmethod
    def concat(cls, parts: Sequence[Ratios]) -> Ratios:
        """The trials one after the other."""
        names = [field.name for field in fields(cls)]
        return cls(*(np.concatenate([getattr(part, name) for part in parts]) for name in names))


#: The columns of information ratios, where they were asked for.
RATIOS = tuple(field.name for field in fields(Ratios))


@dataclass(frozen=True, eq=False)
class Plays:
    """How often each trial played each arm, where it did: flat triples ordered by trial and arm.

    >>> plays = Plays.of(np.array([[2, 0, 1], [0, 3, 0]]))
    >>> total = np.zeros(3, np.int64)
    >>> plays.add_to(total)
    >>> plays.arm.tolist(), total.tolist()
    ([0, 2, 1], [2, 3, 1])
    """

    trial: Ints  # counted from the first of the block
    arm: Ints
    count: Ints

    @classmethod
    def of(cls, plays: Ints) -> Plays:
        """From a matrix (trials, arms)."""
        trial, arm = np.nonzero(plays)
        return cls(trial, arm, plays[trial, arm])

    def add_to(self, total: Ints) -> None:
        """Count them in a total, one number an arm."""
        np.add.at(total, self.arm, self.count)

    def add_ranked(self, total: Ints, means: Floats) -> None:
        """Count them by rank: ``total[0]`` gets the plays of each trial's best arm, and so on.

        ``means`` (trials, arms) are the true means; of equal arms the first ranks first.

        >>> total = np.zeros(3, np.int64)
        >>> Plays.of(np.array([[2, 0, 1], [0, 3, 0]])).add_ranked(
        ...     total, np.array([[0.1, 0.2, 0.9], [0.3, 0.4, 0.2]])
        ... )
        >>> total.tolist()
        [4, 0, 2]
        """
        rank = np.argsort(np.argsort(-means, axis=1, kind="stable"), axis=1)
        np.add.at(total, rank[self.trial, self.arm], self.count)


#: The true means (trials, arms) of some trials, by the first of them and how many they are.
TrueMeans = Callable[[int, int], Floats]
#: Trials times arms whose means are computed once more to rank them, at most.
RANKED = 2**20


@dataclass(frozen=True, eq=False)
class Shard:
    """The trials ``first``, ``first + 1``, ... of one policy: regret at the recorded rounds.

    ``cpu`` is the kind of processor that computed it, and ``seconds`` how long that took.

    >>> shard = Shard(250, np.array([[0.0, 0.5]]), Plays.of(np.array([[1, 1]])))
    >>> again, facts = Shard.from_parquet(shard.to_parquet({"policy": "ts-n"}))
    >>> again.first, again.regret.tolist(), facts
    (250, [[0.0, 0.5]], {'policy': 'ts-n'})
    """

    first: int
    regret: Floats  # (trials, rounds)
    plays: Plays
    ratios: Ratios | None = None
    cpu: str = ""
    seconds: float = 0.0

    @property
    def trials(self) -> int:
        return len(self.regret)

    def to_parquet(self, facts: Mapping[str, Any]) -> bytes:
        """One row a trial, its curves as lists; the same numbers and facts give the same bytes."""
        starts = np.searchsorted(self.plays.trial, np.arange(self.trials + 1)).astype(np.int32)
        columns = {
            "trial": pa.array(np.arange(self.first, self.first + self.trials)),
            "regret": _lists(self.regret),
            "played": pa.ListArray.from_arrays(starts, self.plays.arm),
            "plays": pa.ListArray.from_arrays(starts, self.plays.count),
        }
        for name, array in self.ratios.items() if self.ratios is not None else ():
            columns[name] = _lists(array)
        table = pa.table(columns).replace_schema_metadata(
            {FACTS: json.dumps(facts, sort_keys=True, allow_nan=False)}
        )
        sink = pa.BufferOutputStream()
        # curves stay where they are for long: packed well as they are, without a dictionary
        pq.write_table(table, sink, compression="zstd", use_dictionary=False, version="2.6")
        data: bytes = sink.getvalue().to_pybytes()
        return data

    @classmethod
    def from_parquet(cls, data: bytes) -> tuple[Shard, dict[str, Any]]:
        """What :meth:`to_parquet` wrote, and its facts; whatever goes wrong if it is another."""
        # not pq.read_table: its scanner may drop the last reference to the bytes on a thread of
        # Arrow's while the interpreter ends, which aborts the process
        table = pq.ParquetFile(pa.BufferReader(data)).read(use_threads=False)
        facts: dict[str, Any] = json.loads(table.schema.metadata[FACTS])
        trials, first = len(table), table["trial"][0].as_py()
        if (table["trial"].to_numpy() != np.arange(first, first + trials)).any():
            raise ValueError("its trials do not follow each other")
        ratios = {name: _matrix(table[name]) for name in RATIOS if name in table.schema.names}
        played, plays = (table[name].combine_chunks() for name in ("played", "plays"))
        starts = played.offsets.to_numpy()
        if (starts != plays.offsets.to_numpy()).any():
            raise ValueError("its plays are not those of the arms played")
        counted = Plays(
            np.repeat(np.arange(trials), np.diff(starts)),
            played.values.to_numpy(),
            plays.values.to_numpy(),
        )
        recorded = _matrix(table["regret"]), counted, Ratios(**ratios) if ratios else None
        return cls(first, *recorded, cpu=str(facts.get("cpu", ""))), facts


def true_means(world: World, seed: int, trials: int) -> TrueMeans | None:
    """The means of the world's trials, to rank its arms by; None where they are too many."""
    if trials * world.arms > RANKED:
        return None
    return cache(lambda first, count: world.means(Keys(seed, first, count)))


def rank_plays(shards: Iterable[Shard], arms: int, means: TrueMeans | None) -> Ints | None:
    """Plays of all shards by the rank of the arm in its trial; None if the means are unknown."""
    if means is None:
        return None
    total = np.zeros(arms, np.int64)
    for shard in shards:
        shard.plays.add_ranked(total, means(shard.first, shard.trials))
    return total


def _lists(array: Floats) -> pa.Array:
    offsets = np.arange(len(array) + 1, dtype=np.int32) * array.shape[1]
    return pa.ListArray.from_arrays(offsets, np.ascontiguousarray(array).ravel())


def _matrix(column: Any) -> Floats:
    lists = column.combine_chunks()
    lengths = np.diff(lists.offsets.to_numpy())
    if (lengths != lengths[0]).any():
        raise ValueError("its trials have not all the same rounds")
    values: Floats = lists.values.to_numpy()
    return values.reshape(len(lists), -1)
