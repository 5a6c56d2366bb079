"""Trajectories: what each trial of a block played and observed in every round."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from graphbandits._types import Floats, Ints
from graphbandits.errors import InputError, nearest

if TYPE_CHECKING:
    import pyarrow as pa

    from graphbandits.engine.shard import Plays

#: What ``record`` can name: the played arm of every round, the observed arms and rewards, and the
#: arms that were eligible.
RECORDS = ("actions", "observations", "eligible")
#: Maximum number of observations in a file of a shard, and of trials times rounds times arms with
#: eligible arms: its offsets have 32 bits.
MAX_OBSERVATIONS = 2**31 - 1

Int32s = NDArray[np.int32]


def check_record(record: str | Iterable[str]) -> tuple[str, ...]:
    """Return the quantities that ``record`` names, in the order of :data:`RECORDS`.

    >>> check_record("actions"), check_record(["observations", "actions"]), check_record(())
    (('actions',), ('actions', 'observations'), ())
    """
    words = [record] if isinstance(record, str) else record
    if not isinstance(words, Iterable):
        raise InputError(
            "record must be 'actions', 'observations', 'eligible' or a list of them, not "
            f"{record!r}"
        )
    given = set()
    for word in words:
        if word not in RECORDS:
            raise InputError(f"cannot record {word!r}: {nearest(str(word), RECORDS)}")
        given.add(word)
    return tuple(word for word in RECORDS if word in given)


@dataclass(frozen=True, eq=False)
class RecordedObservations:
    """Observations of several trials as flat arrays, ordered by trial, round and arm.

    Parameters
    ----------
    start : ndarray of shape (trials + 1,)
        The observations of trial b are the entries from ``start[b]`` to ``start[b + 1]``.
    round : ndarray of int32
        Rounds, from 1.
    arm : ndarray of int32
        Observed arms.
    reward : ndarray of float
        Their rewards.
    weight : ndarray of float, optional
        Weights of the observations. None if all of them are 1.

    Examples
    --------
    >>> seen = RecordedObservations(
    ...     np.array([0, 2, 3]),
    ...     np.array([1, 1, 1], np.int32),
    ...     np.array([0, 2, 1], np.int32),
    ...     np.array([1.0, 0.0, 1.0]),
    ... )
    >>> seen.trial.tolist(), seen.rows(slice(1, 2)).arm.tolist()
    ([0, 0, 1], [1])
    """

    start: Ints
    round: Int32s
    arm: Int32s
    reward: Floats
    weight: Floats | None = None

    @property
    def trials(self) -> int:
        """Number of trials."""
        return len(self.start) - 1

    @property
    def trial(self) -> Ints:
        """Row of the trial of each observation."""
        return np.repeat(np.arange(self.trials), np.diff(self.start))

    @property
    def weights(self) -> Floats:
        """Weight of each observation."""
        return np.ones(len(self.reward)) if self.weight is None else self.weight

    def rows(self, trials: slice) -> RecordedObservations:
        """Return the observations of consecutive trials, without a copy of the arrays.

        Parameters
        ----------
        trials : slice
            Rows of the trials, with a step of 1.

        Returns
        -------
        RecordedObservations
            Their observations.
        """
        first, last, _ = trials.indices(self.trials)
        last = max(first, last)
        some = slice(self.start[first], self.start[last])
        start = self.start[first : last + 1] - self.start[first]
        weight = None if self.weight is None else self.weight[some]
        return RecordedObservations(
            start, self.round[some], self.arm[some], self.reward[some], weight
        )

    @classmethod
    def concat(cls, parts: Sequence[RecordedObservations]) -> RecordedObservations:
        """Concatenate the trials of several blocks.

        Parameters
        ----------
        parts : sequence of RecordedObservations
            Blocks, in the order of their trials.

        Returns
        -------
        RecordedObservations
            Observations of all trials.
        """
        counts = [np.diff(part.start) for part in parts]
        weighted = any(part.weight is not None for part in parts)
        return cls(
            np.concatenate([[0], np.cumsum(np.concatenate(counts))]),
            np.concatenate([part.round for part in parts]),
            np.concatenate([part.arm for part in parts]),
            np.concatenate([part.reward for part in parts]),
            np.concatenate([part.weights for part in parts]) if weighted else None,
        )


@dataclass(frozen=True, eq=False)
class Trajectories:
    """What each trial could play, played and observed; a part is None if it was not recorded.

    Parameters
    ----------
    action : ndarray of shape (trials, rounds), optional
        Played arm of every round, as int32.
    observations : RecordedObservations, optional
        Observed arms and rewards of every round.
    eligible : ndarray of bool of shape (trials, rounds, arms), optional
        Arms that could be played in every round.

    Examples
    --------
    >>> played = Trajectories(np.array([[0, 2], [1, 1]], np.int32))
    >>> Trajectories.concat([played, played]).action.shape, played.rows(slice(1, 2)).trials
    ((4, 2), 1)
    """

    action: Int32s | None = None
    observations: RecordedObservations | None = None
    eligible: NDArray[np.bool_] | None = None

    @property
    def trials(self) -> int:
        """Number of trials."""
        for array in (self.action, self.eligible):
            if array is not None:
                return len(array)
        return 0 if self.observations is None else self.observations.trials

    @property
    def recorded(self) -> tuple[str, ...]:
        """The recorded quantities, a part of ``("actions", "observations", "eligible")``."""
        parts = self.action, self.observations, self.eligible
        return tuple(word for word, part in zip(RECORDS, parts, strict=True) if part is not None)

    def check_arms(self, arms: int, what: str) -> None:
        """Raise InputError if an arm does not exist.

        Parameters
        ----------
        arms : int
            Number of arms.
        what : str
            Name of the trajectories in the message.
        """
        seen = self.observations
        for array in (self.action, None if seen is None else seen.arm):
            if array is not None and array.size and not 0 <= array.min() <= array.max() < arms:
                raise InputError(f"{what} have arms that are not among the {arms} arms")
        if self.eligible is not None and self.eligible.shape[2] != arms:
            raise InputError(
                f"{what} have eligible arms of {self.eligible.shape[2]} arms, not of {arms}"
            )

    def rows(self, trials: slice) -> Trajectories:
        """Return the trajectories of consecutive trials, without a copy of the arrays.

        Parameters
        ----------
        trials : slice
            Rows of the trials, with a step of 1.

        Returns
        -------
        Trajectories
            Their trajectories.
        """
        seen = self.observations
        return Trajectories(
            None if self.action is None else self.action[trials],
            None if seen is None else seen.rows(trials),
            None if self.eligible is None else self.eligible[trials],
        )

    @classmethod
    def concat(cls, parts: Sequence[Trajectories | None]) -> Trajectories | None:
        """Concatenate the trials of several blocks.

        Parameters
        ----------
        parts : sequence of Trajectories or None
            Blocks, in the order of their trials; None for a block without trajectories.

        Returns
        -------
        Trajectories or None
            The quantities that all blocks have; None if there are none.
        """
        known = [part for part in parts if part is not None]
        actions = [part.action for part in known if part.action is not None]
        seen = [part.observations for part in known if part.observations is not None]
        eligible = [part.eligible for part in known if part.eligible is not None]
        joined = cls(
            np.concatenate(actions) if actions and len(actions) == len(parts) else None,
            RecordedObservations.concat(seen) if seen and len(seen) == len(parts) else None,
            np.concatenate(eligible) if eligible and len(eligible) == len(parts) else None,
        )
        return joined if joined.recorded else None


# Columns in the file of a shard -----------------------------------------------------------------

#: Columns of the observations in the file of a shard.
OBSERVED_COLUMNS = ("observed_round", "observed_arm", "observed_reward", "observed_weight")
#: Columns of trajectories in the file of a shard.
TRAJECTORY_COLUMNS = ("action", *OBSERVED_COLUMNS, "eligible")
#: Columns with a dictionary: their values repeat often.
DICTIONARY = [f"{name}.list.element" for name in ("action", *OBSERVED_COLUMNS[:3])]


def to_columns(trajectories: Trajectories) -> dict[str, pa.Array]:
    """Return trajectories as columns of lists, one row per trial."""
    import pyarrow as pa  # only for files: a live decision does not need it

    columns: dict[str, pa.Array] = {}
    if (action := trajectories.action) is not None:
        starts = np.arange(len(action) + 1, dtype=np.int32) * action.shape[1]
        columns["action"] = pa.ListArray.from_arrays(starts, np.ascontiguousarray(action).ravel())
    if (seen := trajectories.observations) is not None:
        starts = seen.start.astype(np.int32)
        values = (seen.round, seen.arm, seen.reward, seen.weight)
        for name, array in zip(OBSERVED_COLUMNS, values, strict=True):
            if array is not None:
                columns[name] = pa.ListArray.from_arrays(starts, array)
    if (eligible := trajectories.eligible) is not None:
        trials, rounds, arms = eligible.shape
        flat = pa.array(np.ascontiguousarray(eligible).ravel())
        starts = np.arange(trials * rounds + 1, dtype=np.int32)
        by_round = pa.ListArray.from_arrays(starts * arms, flat)
        columns["eligible"] = pa.ListArray.from_arrays(starts[: trials + 1] * rounds, by_round)
    return columns


def from_columns(table: pa.Table) -> Trajectories | None:
    """Return the trajectories in the columns of a file; None if it has none."""
    action = seen = eligible = None
    if "action" in table.schema.names:
        starts, values = _flat(table["action"])
        lengths = np.diff(starts)
        if (lengths != lengths[0]).any():
            raise ValueError("its trials have different numbers of actions")
        action = values.reshape(len(lengths), -1)
    if "eligible" in table.schema.names:
        by_round = table["eligible"].combine_chunks()
        lengths = np.diff(by_round.offsets.to_numpy())
        arms = np.diff(by_round.values.offsets.to_numpy())
        if (lengths != lengths[0]).any() or (arms != arms[0]).any():
            raise ValueError("its trials have different numbers of rounds or eligible arms")
        flat = by_round.values.values.to_numpy(zero_copy_only=False)
        eligible = flat.reshape(len(lengths), lengths[0], arms[0])
    if OBSERVED_COLUMNS[0] in table.schema.names:
        starts, rounds = _flat(table[OBSERVED_COLUMNS[0]])
        arrays = []
        for name in OBSERVED_COLUMNS[1:]:
            if name not in table.schema.names and name == OBSERVED_COLUMNS[3]:
                continue
            others, values = _flat(table[name])
            if (others != starts).any():
                raise ValueError(f"its column '{name}' does not match its observed rounds")
            arrays.append(values)
        seen = RecordedObservations(starts, rounds, *arrays)
    found = Trajectories(action, seen, eligible)
    return found if found.recorded else None


def _flat(column: pa.ChunkedArray) -> tuple[Ints, Any]:
    lists = column.combine_chunks()
    return lists.offsets.to_numpy().astype(np.int64), lists.values.to_numpy()


def trajectory_arrays(trajectories: Trajectories) -> list[NDArray[Any]]:
    """Return the recorded arrays of trajectories."""
    seen = trajectories.observations
    arrays: list[NDArray[Any] | None] = [trajectories.action, trajectories.eligible]
    if seen is not None:
        arrays += [seen.round, seen.arm, seen.reward, seen.weight]
    return [array for array in arrays if array is not None]


def check_trajectories(trajectories: Trajectories, horizon: int, plays: Plays) -> None:
    """Raise ValueError if trajectories contradict the number of rounds or the plays."""
    action, seen, eligible = trajectories.action, trajectories.observations, trajectories.eligible
    if eligible is not None:
        if eligible.shape[1] != horizon or not eligible.any(axis=2).all():
            raise ValueError(f"its trials do not have eligible arms in {horizon} rounds each")
        if not np.any(eligible, axis=1)[plays.trial, plays.arm].all():
            raise ValueError("an arm was played that was not eligible")
    if action is not None:
        if action.shape[1] != horizon:
            raise ValueError(f"its trials do not have {horizon} actions each")
        rows = np.repeat(np.arange(len(action)), horizon)
        found = np.unique(np.stack([rows, action.ravel()]), axis=1, return_counts=True)
        (trial, arm), count = found
        same = len(count) == len(plays.count)
        if not same or not all(
            np.array_equal(one, other)
            for one, other in ((trial, plays.trial), (arm, plays.arm), (count, plays.count))
        ):
            raise ValueError("its actions do not match its numbers of plays")
    if seen is not None and len(seen.round):
        later = np.diff(seen.trial) > 0
        if seen.round.min() < 1 or seen.round.max() > horizon or seen.arm.min() < 0:
            raise ValueError("its observations have rounds or arms that do not exist")
        if not (later | (np.diff(seen.round) >= 0)).all():
            raise ValueError("its observations are not ordered by round")


# Recording --------------------------------------------------------------------------------------


class GrowingArray:
    """Array that grows at its end; appending takes constant time on average.

    >>> grown = GrowingArray(np.int32)
    >>> for part in ([1, 2], [3]):
    ...     grown.append(np.array(part))
    >>> grown.values.tolist()
    [1, 2, 3]
    """

    def __init__(self, kind: type[np.generic]) -> None:
        self._held: NDArray[Any] = np.empty(1024, kind)
        self.size = 0

    def append(self, values: NDArray[Any]) -> None:
        """Append values."""
        end = self.size + len(values)
        if end > len(self._held):
            grown = np.empty(max(end, 2 * len(self._held)), self._held.dtype)
            grown[: self.size] = self._held[: self.size]
            self._held = grown
        self._held[self.size : end] = values
        self.size = end

    @property
    def values(self) -> NDArray[Any]:
        """The values, without a copy."""
        return self._held[: self.size]
