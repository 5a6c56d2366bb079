"""Results from shards: summaries in bounded memory, or all recorded values."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from graphbandits._types import Floats, Ints
from graphbandits.engine import Plan, Ratios, Shard, Trajectories
from graphbandits.engine.shard import TrueMeans, rank_plays, true_means
from graphbandits.errors import InputError
from graphbandits.graphs import Fixed
from graphbandits.results import PolicyResult, Results
from graphbandits.results.differences import Moments
from graphbandits.store.directory import ShardFile, Store

#: Maximum of trials times rounds in memory. For more rounds, the shards are read again.
MAX_ENTRIES = 2**23
#: Maximum of trials times rounds that are summarised at once, which needs some copies.
MAX_COPIED_ENTRIES = 2**20


def summarise_files(
    store: Store,
    files: Sequence[ShardFile],
    rounds: int,
    arms: int,
    means: TrueMeans | None = None,
) -> PolicyResult:
    """Summarise the trials of shards in bounded memory.

    The result equals :meth:`PolicyResult.from_trials` of all trials, bit for bit. Quantiles need
    all trials of a round. Therefore the rounds are processed in windows, and all shards are read
    and verified once per window. The result has no curves of single trials, and of recorded ratios
    it has only the moments of their sums. If the true ``means`` are given, plays are also counted
    by rank.
    """
    plays, ranked = np.zeros(arms, np.int64), np.zeros(arms, np.int64)
    final: dict[int, Floats] = {}
    recorded: list[bool] = []

    def regret(shard: Shard) -> Floats:
        if shard.first not in final:
            final[shard.first] = shard.regret[:, -1].copy()
            recorded.append(shard.ratios is not None)
            count_plays(shard, plays)
            if means is not None:
                shard.plays.add_ranked(ranked, means(shard.first, shard.trials))
        return shard.regret

    def summary(part: Floats) -> Floats:
        found = PolicyResult.from_trials(part, plays)
        return np.vstack([found.mean, found.standard_error, found.quantiles])

    curves = _summarise_windows(store, files, rounds, regret, summary)
    sums = None
    if all(recorded):
        mean, error = _summarise_windows(store, files, rounds, _ratio_sum, _moments)
        sums = Moments(mean, error)
    return PolicyResult(
        mean=curves[0],
        standard_error=curves[1],
        quantiles=curves[2:],
        final=np.concatenate([final[file.first] for file in files]),
        plays=plays,
        ratio_sums=sums,
        rank_plays=None if means is None else ranked,
    )


def load_with_curves(
    store: Store,
    files: Sequence[ShardFile],
    rounds: int,
    arms: int,
    means: TrueMeans | None = None,
) -> PolicyResult:
    """Read the trials of shards with their curves, as in the results of a simulation."""
    if not files:
        raise InputError(f"there are no shards to read in {store.path}")
    return summarise_shards([store.read(file, rounds) for file in files], arms, means)


def results_from_shards(plan: Plan, shards: dict[str, list[Shard]]) -> Results:
    """Return the results of a plan from the shards of its policies."""
    means = true_means(plan.world, plan.seed, plan.trials)
    found = {name: summarise_shards(mine, plan.world.arms, means) for name, mine in shards.items()}
    graph = plan.process if isinstance(plan.process, Fixed) else None
    return Results(plan.recording.record, found, plan.arm_names, plan.settings(), graph)


def summarise_shards(
    shards: Sequence[Shard], arms: int, means: TrueMeans | None = None
) -> PolicyResult:
    """Concatenate the trials of shards, with all recorded values, and summarise them."""
    ratios = [shard.ratios for shard in shards if shard.ratios is not None]
    regret: Floats = np.concatenate([shard.regret for shard in shards])
    plays = np.zeros(arms, np.int64)
    for shard in shards:
        count_plays(shard, plays)
    joined = Ratios.concat(ratios) if len(ratios) == len(shards) else None
    found = PolicyResult.from_trials(regret, plays, joined)
    ranked, seen = rank_plays(shards, arms, means), [shard.trajectories for shard in shards]
    trajectories = Trajectories.concat(seen) if any(seen) else None
    return replace(found, rank_plays=ranked, trajectories=trajectories)


def count_plays(shard: Shard, plays: Ints) -> None:
    """Add the plays of a shard to a total, in place because there may be very many arms."""
    arm = shard.plays.arm
    if arm.size and not 0 <= arm.min() <= arm.max() < len(plays):
        raise InputError(
            f"the shard of trials {shard.first} to {shard.first + shard.trials - 1} has plays of "
            f"arms that are not among the {len(plays)} arms"
        )
    shard.plays.add_to(plays)


def _ratio_sum(shard: Shard) -> Floats:
    assert shard.ratios is not None
    return shard.ratios.ratio_sum


def _moments(part: Floats) -> Floats:
    found = Moments.of(part)
    return np.vstack([found.mean, found.standard_error])


def _summarise_windows(
    store: Store,
    files: Sequence[ShardFile],
    rounds: int,
    curve: Callable[[Shard], Floats],
    summary: Callable[[Floats], Floats],
) -> Floats:
    """Apply ``summary`` to all trials of each round, in windows of rounds.

    Return an array (statistics, rounds).
    """
    trials = sum(file.trials for file in files)
    if not trials:
        raise InputError(f"there are no shards to summarise in {store.path}")
    windows = []
    for start, stop, new in _windows(rounds, MAX_ENTRIES // trials):
        block: Floats = np.empty((trials, stop - start))
        row = 0
        for file in files:
            block[row : row + file.trials] = curve(store.read(file, rounds, False))[:, start:stop]
            row += file.trials
        parts = [
            summary(block[:, first:last])[:, fresh - first :]
            for first, last, fresh in _windows(stop - start, MAX_COPIED_ENTRIES // trials)
        ]
        windows.append(np.concatenate(parts, axis=1)[:, new - start :])
    return np.concatenate(windows, axis=1)


def _windows(columns: int, width: int) -> Iterator[tuple[int, int, int]]:
    """Yield windows (start, stop) over columns, and the first new column of each.

    NumPy sums a single column in another order, which may change the last bit. Therefore every
    window has two columns or more, and the last window may overlap the one before.

    >>> list(_windows(5, 2)), list(_windows(1, 2))
    ([(0, 2, 0), (2, 4, 2), (3, 5, 4)], [(0, 1, 0)])
    """
    width = min(columns, max(2, width))
    new = 0
    while new < columns:
        start = min(new, columns - width)
        yield start, start + width, new
        new = start + width
