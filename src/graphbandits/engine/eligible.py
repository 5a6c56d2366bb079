"""Eligible arms of a simulation: the arms that may be played in each round of each trial."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphbandits.errors import InputError, short_repr
from graphbandits.rng import Keys, Stream

Mask = NDArray[np.bool_]
#: A probability, or eligible arms of all rounds, (1, K), or of each round, (T, K).
Eligible = float | Mask


def check_eligible(given: object, horizon: int, arms: int) -> Eligible | None:
    """Return the eligible arms of a simulation, checked; None if all arms are always eligible.

    Parameters
    ----------
    given : float or array of bool, optional
        Probability in (0, 1] that an arm is eligible, or the eligible arms, of shape (K,) or
        (T, K).
    horizon : int
        Number of rounds T.
    arms : int
        Number of arms K.

    Returns
    -------
    float, ndarray of bool of shape (1, K) or (T, K), or None
        The eligible arms.

    Examples
    --------
    >>> check_eligible(0.5, horizon=100, arms=3), check_eligible([True, False, True], 100, 3)
    (0.5, array([[ True, False,  True]]))
    """
    if given is None:
        return None
    try:
        array = np.array(given)
    except ValueError:  # nested lists of different lengths
        array = np.empty(0)
    if array.ndim == 0 and array.dtype.kind in "iuf" and 0.0 < array <= 1.0:
        return float(array)
    if array.dtype != np.bool_ or array.shape not in ((arms,), (horizon, arms)):
        shape = f" of shape {array.shape} and type {array.dtype}" if array.ndim else ""
        raise InputError(
            "eligible must be a probability above 0 and at most 1, or an array of booleans of "
            f"shape ({arms},) or ({horizon}, {arms}): one per arm, or one per round and arm; got "
            f"{short_repr(given)}{shape}"
        )
    mask: Mask = np.atleast_2d(array)
    empty = np.flatnonzero(~mask.any(axis=1))
    if empty.size:
        when = f" in round {empty[0] + 1}" if array.ndim == 2 else ""
        raise InputError(f"no arm is eligible{when}: at least one arm must be")
    mask.setflags(write=False)
    return mask


def eligible_arms(eligible: Eligible, t: int, keys: Keys, arms: int) -> Mask:
    """Return the eligible arms of round t: one row per trial, or one row for all trials.

    With a probability p, each arm is eligible with probability p, independently for each trial,
    round and arm. If no arm was drawn, one arm is, with the same probability for each. All policies
    meet the same eligible arms.

    >>> eligible_arms(0.5, 1, Keys(seed=1, trials=3), arms=4)
    array([[False,  True, False, False],
           [ True,  True,  True, False],
           [False,  True, False, False]])
    """
    if not isinstance(eligible, float):
        return eligible if len(eligible) == 1 else eligible[t - 1 : t]
    u = Stream(keys, t, "eligible").uniform(arms + 1)
    drawn: Mask = u[:, :arms] < eligible
    empty = np.flatnonzero(~drawn.any(axis=1))
    drawn[empty, np.minimum((u[empty, arms] * arms).astype(np.int64), arms - 1)] = True
    return drawn


def all_eligible_arms(eligible: Eligible, horizon: int, keys: Keys, arms: int) -> Mask:
    """Return the eligible arms of all rounds, of shape (trials, rounds, arms)."""
    found = np.empty((keys.trials, horizon, arms), np.bool_)
    for t in range(1, horizon + 1):
        found[:, t - 1] = eligible_arms(eligible, t, keys, arms)
    return found


def describe_eligible(eligible: Eligible) -> Any:
    """Return the eligible arms as JSON: the probability, or shape and sha256 of the array."""
    if isinstance(eligible, float):
        return eligible
    digest = hashlib.sha256(np.ascontiguousarray(eligible).tobytes()).hexdigest()
    return {"shape": list(eligible.shape), "sha256": digest}
