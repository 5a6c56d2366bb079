"""Summaries of shards without their curves in memory; or all of them, whole."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from graphbandits._types import Floats, Ints
from graphbandits.engine import Plan, Ratios, Shard
from graphbandits.engine.shard import TrueMeans, rank_plays, true_means
from graphbandits.errors import InputError
from graphbandits.graphs import Fixed
from graphbandits.results import PolicyResult, Results
from graphbandits.results.differences import Moments
from graphbandits.store.directory import ShardFile, Store

#: Numbers that are in memory at once, trials times rounds; for others the shards are read again.
MAX_ENTRIES = 2**23
#: Of these, how many are summarised at once, which takes some copies of them.
MAX_COPIED_ENTRIES = 2**20


def summarise_files(
    store: Store,
    files: Sequence[ShardFile],
    rounds: int,
    arms: int,
    means: TrueMeans | None = None,
) -> PolicyResult:
    """What :meth:`PolicyResult.from_trials` says of the trials of shards, bit for bit.

    Quantiles need all trials of a round: as many rounds as fit are taken at once, and all shards
    are read, and checked, for each such lot. The curves of trials are not kept, and of recorded
    ratios only the moments of their sums. Plays are also counted by rank where the true ``means``
    of the trials are given.
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
    """The trials of shards with all that was recorded of each, as a simulation gives them."""
    if not files:
        raise InputError(f"there are no shards in {store.path} to be read")
    return summarise_shards([store.read(file, rounds) for file in files], arms, means)


def results_from_shards(plan: Plan, shards: dict[str, list[Shard]]) -> Results:
    """The results of a plan from the shards of its policies."""
    means = true_means(plan.world, plan.seed, plan.trials)
    found = {name: summarise_shards(mine, plan.world.arms, means) for name, mine in shards.items()}
    graph = plan.process if isinstance(plan.process, Fixed) else None
    return Results(plan.recording.record, found, plan.arm_names, plan.settings(), graph)


def summarise_shards(
    shards: Sequence[Shard], arms: int, means: TrueMeans | None = None
) -> PolicyResult:
    """The trials of shards one after the other, with everything that was recorded of each."""
    ratios = [shard.ratios for shard in shards if shard.ratios is not None]
    regret: Floats = np.concatenate([shard.regret for shard in shards])
    plays = np.zeros(arms, np.int64)
    for shard in shards:
        count_plays(shard, plays)
    joined = Ratios.concat(ratios) if len(ratios) == len(shards) else None
    found = PolicyResult.from_trials(regret, plays, joined)
    return replace(found, rank_plays=rank_plays(shards, arms, means))


def count_plays(shard: Shard, plays: Ints) -> None:
    """Add the plays of a shard to a total, in place: there may be very many arms."""
    arm = shard.plays.arm
    if arm.size and not 0 <= arm.min() <= arm.max() < len(plays):
        raise InputError(
            f"a shard of trials {shard.first} to {shard.first + shard.trials - 1} has plays of "
            f"other arms than the {len(plays)} that there are"
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
    """Numbers about each round (numbers, rounds), from all trials of some rounds at a time."""
    trials = sum(file.trials for file in files)
    if not trials:
        raise InputError(f"there are no shards in {store.path} to be summarised")
    lots = []
    for start, stop, new in _windows(rounds, MAX_ENTRIES // trials):
        block: Floats = np.empty((trials, stop - start))
        row = 0
        for file in files:
            block[row : row + file.trials] = curve(store.read(file, rounds))[:, start:stop]
            row += file.trials
        parts = [
            summary(block[:, first:last])[:, fresh - first :]
            for first, last, fresh in _windows(stop - start, MAX_COPIED_ENTRIES // trials)
        ]
        lots.append(np.concatenate(parts, axis=1)[:, new - start :])
    return np.concatenate(lots, axis=1)


def _windows(columns: int, width: int) -> Iterator[tuple[int, int, int]]:
    """Windows (start, stop) over columns, and from which column on each has something new.

    One column alone would be summed in another order, which may change the last bit: so all have
    two or more, and the last one begins among the columns of the one before.

    >>> list(_windows(5, 2)), list(_windows(1, 2))
    ([(0, 2, 0), (2, 4, 2), (3, 5, 4)], [(0, 1, 0)])
    """
    width = min(columns, max(2, width))
    new = 0
    while new < columns:
        start = min(new, columns - width)
        yield start, start + width, new
        new = start + width
