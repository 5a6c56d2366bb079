"""Arms with rewards in an interval and Beta distributions of their means."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import ClassVar, cast

import numpy as np
import scipy

from graphbandits._types import Floats, Ints, State
from graphbandits.errors import InputError, check_integer
from graphbandits.posteriors._beta_kernels import add_outcomes
from graphbandits.posteriors._update_kernels import add_draws
from graphbandits.posteriors.base import (
    Beliefs,
    Observations,
    Support,
    check_weights,
    interval,
    per_arm,
)
from graphbandits.posteriors.beta_bernoulli import BetaBernoulli, add_shares
from graphbandits.registry import register
from graphbandits.rng import Stream

#: Ways in which a reward inside the interval counts.
EVIDENCE = ("draw", "fraction")


@register("posterior", "beta-interval")
@dataclass(frozen=True, eq=False)
class BetaInterval:
    """Arms with rewards in an interval, with Beta distributions of their scaled means.

    The mean of arm i is low + (high - low) x, x ~ Beta(a_i, b_i). A reward y has the place
    p = (y - low) / (high - low). With ``evidence="draw"`` it counts as one success with probability
    p, else as one failure (Agrawal and Goyal 2012): the posterior is exact for these draws,
    whatever the distribution of the rewards, but ignores what the reward tells beyond its draw.
    With ``evidence="fraction"`` the reward adds p to a and 1 - p to b: there is no noise of draws,
    but it is not the posterior of a model, and too wide if the rewards of an arm vary little.

    The likelihood of the rewards is unknown, so an agent cannot check this prior with its first
    observations.

    The statistic h is the information of one draw about the best arm. For ``evidence="draw"`` it is
    a lower bound of the information of the reward itself.

    A draw is a pseudo-random function of the arm, its parameters a and b, and the reward. So
    updates are reproducible; trials in which an arm has the same parameters and reward have the
    same draw.

    Parameters
    ----------
    a, b : array_like of shape (K,)
        Parameters of the prior of each arm, from 1e-3 to 1e9.
    low, high : float
        Smallest and largest reward.
    evidence : {"draw", "fraction"}
        How a reward inside the interval counts.
    accuracy : {"simulation", "strict"}
        Accuracy of :meth:`beliefs`, as for :class:`BetaBernoulli`, on the scale of the interval.
    discount : float
        Factor in (0, 1] by which the weight of an observation decreases per round.
    half_life : float, optional
        Age at which an observation counts half, in seconds for a live agent and in rounds for a
        simulation. Instead of ``discount``; see :mod:`graphbandits.posteriors.updates`.

    Examples
    --------
    >>> posterior = BetaInterval.of(arms=2, low=0, high=10, evidence="fraction")
    >>> seen = Observations(np.array([0]), np.array([1]), np.array([8.0]))
    >>> state = posterior.update(posterior.init(trials=1), seen)
    >>> posterior.mean(state)
    array([[5., 6.]])
    """

    a: Floats
    b: Floats
    low: float = 0.0
    high: float = 1.0
    evidence: str = "draw"
    accuracy: str = "simulation"
    discount: float = 1.0
    half_life: float | None = None
    weighted: ClassVar[bool] = False

    def __post_init__(self) -> None:
        rewards = interval(self.low, self.high)
        if not isinstance(self.evidence, str) or self.evidence not in EVIDENCE:
            raise InputError(
                f"evidence must be {' or '.join(map(repr, EVIDENCE))}, not {self.evidence!r}"
            )
        beta = self._beta
        for name, value in (
            ("a", beta.a),
            ("b", beta.b),
            ("low", rewards.low),
            ("high", rewards.high),
            ("discount", beta.discount),
            ("half_life", beta.half_life),
        ):
            object.__setattr__(self, name, value)

    @classmethod
    def of(
        cls,
        arms: int,
        a: float | Sequence[float] = 1.0,
        b: float | Sequence[float] = 1.0,
        low: float = 0.0,
        high: float = 1.0,
        evidence: str = "draw",
        accuracy: str = "simulation",
        discount: float = 1.0,
        half_life: float | None = None,
    ) -> BetaInterval:
        """Create a prior from a and b for all arms, or for each arm; see the class.

        >>> BetaInterval.of(arms=2, a=3, low=-1, high=1).support
        (-1.0, 1.0)
        """
        arrays = per_arm({"a": a, "b": b}, check_integer(arms, "arms"))
        return cls(arrays["a"], arrays["b"], low, high, evidence, accuracy, discount, half_life)

    @classmethod
    def examples(cls) -> list[BetaInterval]:
        """Instances used by the contract tests."""
        a, b = np.array([1.0, 2.5, 0.5, 4.0]), np.array([3.0, 1.5, 0.75, 2.0])
        return [
            cls.of(3),
            cls(a, b, -1.0, 3.0, "fraction"),
            cls.of(2, a=[1.0, 3.0], b=[2.0, 1.5], low=-1.0, high=3.0, discount=0.9),
        ]

    @cached_property
    def _beta(self) -> BetaBernoulli:
        return BetaBernoulli(self.a, self.b, self.accuracy, self.discount, self.half_life)

    @property
    def _width(self) -> float:
        return self.high - self.low

    @property
    def arms(self) -> int:
        return len(self.a)

    @property
    def support(self) -> tuple[float, float]:
        return self.low, self.high

    @property
    def outcomes(self) -> tuple[float, ...]:
        """Outcomes of a draw: the ends of the interval."""
        return self.low, self.high

    @property
    def rewards(self) -> Support:
        return interval(self.low, self.high)

    def init(self, trials: int) -> State:
        return self._beta.init(trials)

    def discounted(self, state: State, now: float) -> State:
        return self._beta.discounted(state, now)

    def update(self, state: State, seen: Observations) -> State:
        a, b = self._beta._in_place(state)
        check_weights(seen, self)
        power = self._beta._weights(state, seen)
        reward = np.ascontiguousarray(seen.reward, np.float64)
        inside = self.rewards.contains(reward)
        if not inside.all():
            self.rewards.check(float(reward[~inside][0]))
        part = np.clip((reward - self.low) / self._width, 0.0, 1.0)
        add: Callable[..., bool] = add_outcomes if power is None else partial(add_shares, power)
        if self.evidence == "draw":
            add = partial(add_draws, power=np.ones(len(part)) if power is None else power)
        trial, arm = (np.ascontiguousarray(x, np.int64) for x in (seen.trial, seen.arm))
        if not add(a, b, trial, arm, part):
            raise self._beta._misfit()
        return state

    def beliefs(
        self,
        state: State,
        *,
        accuracy: str | None = None,
        estimate: bool = False,
        variance: bool = False,
        information: bool = True,
    ) -> Beliefs:
        """Compute the statistics by the quadrature of :meth:`BetaBernoulli.beliefs`.

        All numbers are on the scale of the interval; h is the information of one draw, and NaN
        without ``information``.

        >>> posterior = BetaInterval.of(arms=2, low=0, high=6)
        >>> posterior.beliefs(posterior.init(trials=1)).delta
        array([[1., 1.]])
        """
        found = self._beta.beliefs(state, accuracy, estimate, variance)
        width = self._width
        return dataclasses.replace(
            found,
            delta=width * found.delta,
            h=found.h if information else np.full_like(found.h, np.nan),
            rho=self.low + width * found.rho,
            v=None if found.v is None else width**2 * found.v,
        )

    def check_state(self, state: State) -> None:
        self._beta.check_state(state)

    def expect(self, state: State, arm: Ints, weight: Floats) -> State:
        """Add expected rewards to one trial, in place: a and b grow in their proportion."""
        a, b = cast(Floats, state["a"])[0], cast(Floats, state["b"])[0]
        growth = 1.0 + weight / (a[arm] + b[arm])
        a[arm] *= growth
        b[arm] *= growth
        return state

    def mean(self, state: State) -> Floats:
        return self._scaled(self._beta.mean(state))

    def quantile(self, state: State, level: float) -> Floats:
        return self._scaled(self._beta.quantile(state, level))

    def sample(self, state: State, stream: Stream) -> Floats:
        return self._scaled(self._beta.sample(state, stream))

    def sample_order(self, state: State, stream: Stream) -> Floats:
        return self._beta.sample_order(state, stream)

    def _scaled(self, part: Floats) -> Floats:
        """Return means from numbers in [0, 1]; the ends are exact."""
        scaled: Floats = np.minimum(self.low + self._width * part, self.high)
        return np.where(part == 1.0, self.high, scaled)

    def _part(self, theta: Floats) -> Floats:
        return (np.asarray(theta, np.float64) - self.low) / self._width

    def log_density(self, state: State, theta: Floats) -> Floats:
        found: Floats = self._beta.log_density(state, self._part(theta)) - np.log(self._width)
        return found

    def log_likelihood(self, reward: float, theta: Floats) -> Floats:
        """Compute p log x + (1 - p) log(1 - x) for the places p of a reward and x of a mean.

        For a reward at an end of the interval it is the log probability of its draw.
        """
        part, x = (reward - self.low) / self._width, self._part(theta)
        return np.asarray(
            scipy.special.xlogy(part, x) + scipy.special.xlog1py(1.0 - part, -x), np.float64
        )

    def draw_reward(self, theta: Floats, uniform: Floats) -> Floats:
        """Return the largest reward with the probability that gives the mean, else the smallest."""
        return np.where(uniform < self._part(theta), self.high, self.low)

    def check_reward(self, reward: float) -> float:
        return self.rewards.check(reward)
