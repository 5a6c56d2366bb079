"""What every posterior offers: a prior, an update by observations, and beliefs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import ClassVar, Protocol, runtime_checkable

from graphbandits._types import Floats, Ints, State
from graphbandits.errors import InputError, nearest
from graphbandits.rng import Stream


@dataclass(frozen=True, eq=False)
class Observations:
    """What was seen in one round: flat triples (trial of the block, arm, reward)."""

    trial: Ints
    arm: Ints
    reward: Floats


@dataclass(frozen=True, eq=False)
class Beliefs:
    """The statistics of Algorithm 1, one row a trial.

    ``alpha``: probability that the arm is best; ``delta``: expected regret of playing it;
    ``h``: information that its outcome gives about which arm is best, in nats;
    ``rho``: expected mean of the best arm, one number a trial. Where they were asked for:
    ``error``: an estimate of the largest error of the values of arms, one number a trial; ``v``:
    the variance form of h, of the arm's mean given which arm is best (Russo and Van Roy 2018).
    """

    alpha: Floats
    delta: Floats
    h: Floats
    rho: Floats
    error: Floats | None = None
    v: Floats | None = None


#: An arm as the user calls it: its name, or its number from 0.
Arm = str | int


@dataclass(frozen=True)
class Belief:
    """Of one arm: the probability that it is best, its expected regret, and its information."""

    alpha: float
    delta: float
    h: float


@dataclass(frozen=True, eq=False)
class BeliefsByArm:
    """The statistics of one trial: a :class:`Belief` for each arm, and all of them as arrays.

    ``alpha``, ``delta`` and ``h`` are in the order of ``arms``; ``rho`` is the expected mean of the
    best arm, and ``error`` the estimated error of the arrays, where it was asked for.
    """

    arms: tuple[Arm, ...] = field(repr=False)
    alpha: Floats
    delta: Floats
    h: Floats
    rho: float
    error: float | None
    _place: Mapping[Arm, int] = field(repr=False)

    @classmethod
    def of(cls, beliefs: Beliefs, arms: tuple[Arm, ...], place: Mapping[Arm, int]) -> BeliefsByArm:
        """The beliefs of the first trial; ``place`` is where each of the arms stands."""
        error = None if beliefs.error is None else float(beliefs.error[0])
        rows = (beliefs.alpha[0], beliefs.delta[0], beliefs.h[0])
        return cls(arms, *rows, float(beliefs.rho[0]), error, place)

    def __getitem__(self, arm: Arm) -> Belief:
        if arm not in self._place:
            raise InputError(f"unknown arm {arm!r}: {nearest(str(arm), map(str, self.arms))}")
        i = self._place[arm]
        return Belief(*(float(values[i]) for values in (self.alpha, self.delta, self.h)))

    def __iter__(self) -> Iterator[Arm]:
        return iter(self.arms)

    def __len__(self) -> int:
        return len(self.arms)


class Posterior(Protocol):
    """A family of priors closed under observation."""

    #: Where the mean of an arm lies.
    support: ClassVar[tuple[float, float]]
    #: The rewards there are; None if they cannot be listed.
    outcomes: ClassVar[tuple[float, ...] | None]

    @property
    def arms(self) -> int:
        """K."""

    def init(self, trials: int) -> State:
        """The prior for each trial."""

    def update(self, state: State, seen: Observations) -> State:
        """The state after the observations; may write into ``state``."""

    def beliefs(self, state: State) -> Beliefs:
        """alpha, Delta, h and rho."""

    def mean(self, state: State) -> Floats:
        """The expected mean of every arm, (B, K)."""

    def quantile(self, state: State, level: float) -> Floats:
        """What every arm's mean stays below with the probability ``level``, (B, K).

        The levels 0 and 1 give the ends of the support.
        """

    def sample(self, state: State, stream: Stream) -> Floats:
        """One draw of every arm's mean for each trial, (B, K)."""

    def log_density(self, state: State, theta: Floats) -> Floats:
        """The log density of every arm's mean at the points ``theta``, (B, K, points)."""

    def log_likelihood(self, reward: float, theta: Floats) -> Floats:
        """The log probability (density) of a reward from an arm of mean ``theta``."""

    def draw_reward(self, theta: Floats, uniform: Floats) -> Floats:
        """Rewards of arms of mean ``theta``, from uniform random numbers."""

    def check_reward(self, reward: float) -> float:
        """The reward as a float, or an error if the model has no such reward."""


@runtime_checkable
class Ordered(Protocol):
    """What a posterior may offer besides, if its draws can be so near each other that they tie."""

    def sample_order(self, state: State, stream: Stream) -> Floats:
        """The draws that ``sample`` makes of this stream, on an increasing scale without ties."""


@runtime_checkable
class StateChecked(Protocol):
    """What a posterior may offer besides: states from a file are checked before they are used."""

    def check_state(self, state: State) -> None:
        """Raise InputError unless the arrays of ``state`` are such as ``update`` makes."""
