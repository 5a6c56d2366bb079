"""Counter-based random numbers: a function of (seed, trial, round, purpose, index).

All policies see the same world. Results do not depend on the block size, the number of workers,
the order of the work or where a run was resumed.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from graphbandits import _rng_kernels
from graphbandits._types import Floats, Ints
from graphbandits.errors import InputError, check_integer

#: Allowed range of the parameters of Beta draws.
_LEAST, _MOST = np.finfo(np.float64).tiny, np.finfo(np.float64).max


@lru_cache(maxsize=1024)
def stream_key(seed: int, purpose: str) -> np.uint64:
    """Compute the 64-bit Philox key of a seed and a purpose."""
    digest = hashlib.blake2b(f"{seed}/{purpose}".encode(), digest_size=8).digest()
    return np.uint64(int.from_bytes(digest, "little"))


@dataclass(frozen=True)
class Keys:
    """The trials of a block: ``first_trial``, ..., ``first_trial + trials - 1`` of a seed."""

    seed: int
    first_trial: int = 0
    trials: int = 1

    def __post_init__(self) -> None:
        check_integer(self.seed, "seed", least=0)
        check_integer(self.trials, "trials")
        check_integer(self.first_trial, "first_trial", least=0)
        if self.first_trial + self.trials > 2**32:
            raise InputError("trial numbers must be below 2**32: use another seed for more trials")

    @property
    def trial_numbers(self) -> Ints:
        return np.arange(self.first_trial, self.first_trial + self.trials)

    def key(self, purpose: str) -> np.uint64:
        return stream_key(self.seed, purpose)


@dataclass(frozen=True)
class Stream:
    """Random numbers of one round for one purpose; repeated calls return the same numbers."""

    keys: Keys
    t: int
    purpose: str

    def uniform(self, count: int) -> Floats:
        """Draw uniform numbers in [0, 1)."""
        out = np.empty((self.keys.trials, count))
        _rng_kernels.fill_uniform(self.keys.key(self.purpose), self.keys.first_trial, self.t, out)
        return out

    def beta(self, a: Floats, b: Floats) -> Floats:
        return self._filled(_rng_kernels.fill_beta, a, b)

    def beta_logit(self, a: Floats, b: Floats) -> Floats:
        """Return the logits of the draws of :meth:`beta`, exact if theta rounds to 1."""
        return self._filled(_rng_kernels.fill_beta_logit, a, b)

    def _filled(self, fill: Callable[..., None], a: Floats, b: Floats) -> Floats:
        a, b = np.ascontiguousarray(a, np.float64), np.ascontiguousarray(b, np.float64)
        # otherwise the kernels would read out of bounds, or never stop
        sound = a.shape == b.shape and a.ndim == 2
        if not sound or not _rng_kernels.within(a, b, _LEAST, _MOST):
            raise InputError(
                "draws of Beta(a, b) need finite parameters above 0, in two arrays of the same "
                f"shape (trials, arms); got the shapes {a.shape} and {b.shape}"
            )
        out = np.empty_like(a)
        fill(self.keys.key(self.purpose), self.keys.first_trial, self.t, a, b, out)
        return out


def draw_actions(pi: Floats, keys: Keys, t: int) -> Ints:
    """Draw one arm per trial from the rows of ``pi``."""
    actions = np.empty(len(pi), np.int64)
    _rng_kernels.fill_actions(keys.key("action"), keys.first_trial, t, pi, actions)
    return actions
