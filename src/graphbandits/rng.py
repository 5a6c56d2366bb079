"""Randomness without generators: every number is named by (seed, trial, round, purpose, index).

So all policies meet the same world, and nothing depends on the size of a block, the number of
workers, the order of the work or where a run was resumed.
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

#: Parameters of Beta distributions that can be drawn from.
_LEAST, _MOST = np.finfo(np.float64).tiny, np.finfo(np.float64).max


@lru_cache(maxsize=1024)
def stream_key(seed: int, purpose: str) -> np.uint64:
    """The 64-bit Philox key of a seed and a purpose.

    >>> stream_key(1, "action") == stream_key(1, "reveal")
    np.False_
    """
    digest = hashlib.blake2b(f"{seed}/{purpose}".encode(), digest_size=8).digest()
    return np.uint64(int.from_bytes(digest, "little"))


@dataclass(frozen=True)
class Keys:
    """The trials of one block: ``first_trial``, ..., ``first_trial + trials - 1`` of a seed.

    >>> Keys(seed=1, first_trial=7, trials=2).trial_numbers
    array([7, 8])
    """

    seed: int
    first_trial: int = 0
    trials: int = 1

    def __post_init__(self) -> None:
        check_integer(self.seed, "seed", least=0)
        check_integer(self.trials, "trials")
        check_integer(self.first_trial, "first_trial", least=0)
        if self.first_trial + self.trials > 2**32:
            raise InputError("trial numbers stop at 2**32: use another seed for further trials")

    @property
    def trial_numbers(self) -> Ints:
        return np.arange(self.first_trial, self.first_trial + self.trials)

    def key(self, purpose: str) -> np.uint64:
        return stream_key(self.seed, purpose)


@dataclass(frozen=True)
class Stream:
    """The random numbers of one round for one purpose; ask as often as you like, same answer.

    >>> block = Stream(Keys(seed=1, first_trial=0, trials=3), t=5, purpose="example").uniform(2)
    >>> alone = Stream(Keys(seed=1, first_trial=2, trials=1), t=5, purpose="example").uniform(2)
    >>> bool((block[2] == alone[0]).all())
    True
    """

    keys: Keys
    t: int
    purpose: str

    def uniform(self, count: int) -> Floats:
        """(B, count) floats in [0, 1)."""
        out = np.empty((self.keys.trials, count))
        _rng_kernels.fill_uniform(self.keys.key(self.purpose), self.keys.first_trial, self.t, out)
        return out

    def beta(self, a: Floats, b: Floats) -> Floats:
        """Beta(a, b) draws of the shape (B, K) of the parameters."""
        return self._filled(_rng_kernels.fill_beta, a, b)

    def beta_logit(self, a: Floats, b: Floats) -> Floats:
        """log(theta / (1 - theta)) of the draws of :meth:`beta`, also where theta rounds to 1.

        >>> stream = Stream(Keys(seed=1), t=1, purpose="example")
        >>> a, b = np.array([[1.0, 1.0]]), np.array([[1e-3, 2e-3]])
        >>> stream.beta(a, b), stream.beta_logit(a, b).round(1)
        (array([[1., 1.]]), array([[307.4, 279.9]]))
        """
        return self._filled(_rng_kernels.fill_beta_logit, a, b)

    def _filled(self, fill: Callable[..., None], a: Floats, b: Floats) -> Floats:
        a, b = np.ascontiguousarray(a, np.float64), np.ascontiguousarray(b, np.float64)
        # of others the kernels would read beyond the end, or draw for ever
        sound = a.shape == b.shape and a.ndim == 2
        if not sound or not _rng_kernels.within(a, b, _LEAST, _MOST):
            raise InputError(
                "draws of Beta(a, b) take finite parameters above 0, in two arrays of one shape "
                f"(trials, arms); got the shapes {a.shape} and {b.shape}"
            )
        out = np.empty_like(a)
        fill(self.keys.key(self.purpose), self.keys.first_trial, self.t, a, b, out)
        return out


def draw_actions(pi: Floats, keys: Keys, t: int) -> Ints:
    """One arm for each trial, from its row of ``pi``."""
    actions = np.empty(len(pi), np.int64)
    _rng_kernels.fill_actions(keys.key("action"), keys.first_trial, t, pi, actions)
    return actions
