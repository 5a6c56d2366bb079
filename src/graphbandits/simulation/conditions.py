"""Conditions of a simulation: eligible arms, delayed and missing answers."""

from __future__ import annotations

import hashlib
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphbandits._types import Floats, Ints
from graphbandits.errors import InputError, short_repr
from graphbandits.policies import Event, Policy
from graphbandits.policies.base import own_plays_only
from graphbandits.posteriors import Observations, is_discounted
from graphbandits.rng import Keys, Stream
from graphbandits.worlds.base import outcome_uniforms

Mask = NDArray[np.bool_]
#: A probability, or eligible arms of all rounds, (1, K), or of each round, (T, K).
Eligible = float | Mask


def check_eligible(given: object, horizon: int, arms: int) -> Eligible | None:
    """Return the eligible arms of a simulation, checked; None if all arms are always eligible."""
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


@dataclass(frozen=True)
class Answers:
    """Delays of outcomes, and the probability that an outcome arrives.

    Draws are independent for each trial, round and arm, and the same for all policies.
    """

    low: int = 0
    high: int = 0
    rate: float = 1.0

    @classmethod
    def of(cls, delay: object = 0, answer_rate: object = 1.0) -> Answers | None:
        """Return the checked answers; None if all arrive in the round of the play."""
        rate = np.asarray(answer_rate)
        if rate.ndim or rate.dtype.kind not in "iuf" or not 0.0 < rate <= 1.0:
            raise InputError(
                "answer_rate must be a probability above 0 and at most 1; got "
                f"{short_repr(answer_rate)}"
            )
        answers = cls(*check_delay(delay), float(rate))
        return None if answers == cls() else answers

    @property
    def delay(self) -> int | list[int]:
        """The delay as JSON: a number, or the smallest and the largest one."""
        return self.low if self.low == self.high else [self.low, self.high]

    def settings(self) -> dict[str, Any]:
        """Return the settings that are not the default, as JSON."""
        delay = {"delay": self.delay} if self.high else {}
        return delay | ({"answer_rate": self.rate} if self.rate < 1.0 else {})

    def draw(self, keys: Keys, t: int, trial: Ints, arm: Ints) -> tuple[NDArray[np.bool_], Ints]:
        """Draw which outcomes of a round arrive, and after how many rounds."""
        arrives, delay = np.ones(len(arm), np.bool_), np.full(len(arm), self.low)
        if self.rate < 1.0:
            arrives = outcome_uniforms(keys, t, trial, arm, "answer") < self.rate
        if self.high > self.low:
            u = outcome_uniforms(keys, t, trial, arm, "delay")
            steps = self.high - self.low + 1
            # a number next to 1 may round up in the product
            delay += np.minimum((u * steps).astype(np.int64), steps - 1)
        return arrives, delay


def check_delay(given: object) -> tuple[int, int]:
    """Return the smallest and the largest delay; raise InputError if they are not valid."""
    pair: Any = given if isinstance(given, Sequence) else (given, given)
    try:
        low, high = (-1 if isinstance(one, bool | str) else int(one.__index__()) for one in pair)
    except (AttributeError, TypeError, ValueError):
        low = high = -1
    if not 0 <= low <= high:
        raise InputError(
            "delay must be a whole number of at least 0, or the smallest and the largest of such "
            f"numbers, as in 30 or [0, 60]; got {short_repr(given)}"
        )
    return low, high


class AnswerQueue:
    """Outcomes of a block of trials that are on their way.

    An incremental policy gets outcomes as they arrive, in the order of the plays and arms. Other
    policies get all outcomes of a round together, when the largest delay has passed.
    """

    def __init__(self, answers: Answers, policy: Policy) -> None:
        self._answers = answers
        self._incremental = getattr(policy, "incremental", False)
        self._own = own_plays_only(policy)
        self._arriving: dict[int, list[Arrival]] = {}
        self._open = deque[Event]()

    def add(self, event: Event) -> None:
        seen = event.observations
        arrives, delay = self._answers.draw(event.keys, event.t, seen.trial, seen.arm)
        if not self._incremental:
            self._open.append(replace(event, observations=seen.select(arrives)))
        kept = np.flatnonzero(arrives)
        kept = kept[np.argsort(delay[kept], kind="stable")]
        trial, arm, reward = seen.trial[kept], seen.arm[kept], seen.reward[kept]
        waits, starts = np.unique(delay[kept], return_index=True)
        ends = [*starts.tolist(), len(kept)]
        for wait, start, end in zip(waits.tolist(), ends, ends[1:], strict=False):
            part = Arrival(event, trial[start:end], arm[start:end], reward[start:end])
            self._arriving.setdefault(event.t + wait, []).append(part)

    def arrivals(self, t: int) -> list[Arrival]:
        """Remove the outcomes that arrive in round t."""
        return self._arriving.pop(t, [])

    def lessons(self, t: int, arrived: Sequence[Arrival]) -> Iterator[Event | Observations]:
        """Return what the policy learns from at the end of round t."""
        if not self._incremental:
            if self._open and self._open[0].t + self._answers.high == t:
                yield self._open.popleft()
        elif not arrived:
            return
        elif self._own is None or is_discounted(arrived[0].event.problem.posterior):
            # rounding depends on the steps of a discounted posterior
            for one in arrived:
                part = Observations(one.trial, one.arm, one.reward)
                yield replace(one.event, observations=part)
        else:
            seen = joined(arrived)
            if self._own:
                played = np.concatenate([one.arm == one.event.action[one.trial] for one in arrived])
                seen = seen.select(played)
            yield seen


class Arrival(NamedTuple):
    """Outcomes of a play that arrive in the same round."""

    event: Event
    trial: Ints
    arm: Ints
    reward: Floats


def joined(arrived: Sequence[Arrival]) -> Observations:
    """Return the outcomes of several plays, with the round of the play as their time."""
    if not arrived:
        none = np.empty(0, np.int64)
        return Observations(none, none, np.empty(0), time=np.empty(0))
    counts = [len(one.arm) for one in arrived]
    return Observations(
        np.concatenate([one.trial for one in arrived]),
        np.concatenate([one.arm for one in arrived]),
        np.concatenate([one.reward for one in arrived]),
        time=np.repeat([float(one.event.t) for one in arrived], counts),
    )
