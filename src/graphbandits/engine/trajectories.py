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

    dense = {"action": trajectories.action, "eligible": trajectories.eligible}
    columns = {name: to_lists(array) for name, array in dense.items() if array is not None}
    if (seen := trajectories.observations) is not None:
        starts = seen.start.astype(np.int32)
        values = (seen.round, seen.arm, seen.reward, seen.weight)
        for name, array in zip(OBSERVED_COLUMNS, values, strict=True):
            if array is not None:
                columns[name] = pa.ListArray.from_arrays(starts, array)
    return columns


def from_columns(table: pa.Table) -> Trajectories | None:
    """Return the trajectories in the columns of a file; None if it has none."""
    names = table.schema.names
    dense = (from_lists(table[n]) if n in names else None for n in ("action", "eligible"))
    action, eligible = dense
    seen = None
    if OBSERVED_COLUMNS[0] in names:
        lists = [table[name].combine_chunks() for name in OBSERVED_COLUMNS if name in names]
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
