"""Summaries of shards, in memory that does not grow with the trials."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from graphbandits.results import PolicyResult
from graphbandits.store.covers import ShardFile, rows_of
from graphbandits.store.directory import Store
from graphbandits.types import Floats

#: Regrets that are in memory at once, trials times rounds; the shards are read again for others.
ENTRIES = 2**23


def summarise(store: Store, files: Sequence[ShardFile], rounds: int, arms: int) -> PolicyResult:
    """What :meth:`PolicyResult.from_trials` says of the trials of shards, bit for bit.

    Quantiles need all trials of a round: as many rounds as fit are taken at once, and all shards
    are read for each such lot. The curves of trials are not kept.
    """
    trials = rows_of(files)
    # one column alone would be summed in another order, which may change the last bit
    width = min(rounds, max(2, ENTRIES // trials))
    plays = np.zeros(arms, np.int64)
    parts: list[PolicyResult] = []
    first = 0
    while first < rounds:
        start = min(first, rounds - width)
        block: Floats = np.empty((trials, width))
        row = 0
        for file in files:
            shard = store.read(file)
            block[row : row + file.trials] = shard.regret[:, start : start + width]
            row += file.trials
            if not parts:
                shard.plays.add_to(plays)
        part = PolicyResult.from_trials(block, plays)
        new = slice(first - start, None)
        parts.append(
            PolicyResult(
                part.mean[new], part.standard_error[new], part.quantiles[:, new], part.final, plays
            )
        )
        first = start + width
    return PolicyResult(
        mean=np.concatenate([part.mean for part in parts]),
        standard_error=np.concatenate([part.standard_error for part in parts]),
        quantiles=np.concatenate([part.quantiles for part in parts], axis=1),
        final=parts[-1].final,
        plays=plays,
    )
