"""The posterior protocol, and the objects that a posterior takes and returns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import ClassVar, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from graphbandits._types import Floats, Ints, State
from graphbandits.errors import InputError, nearest, short_repr
from graphbandits.registry import name_of
from graphbandits.rng import Stream


@dataclass(frozen=True, eq=False)
class Observations:
    """Observations of one round: triples (trial, arm, reward) in three arrays of the same length.

    Parameters
    ----------
    trial : ndarray of int
        Row of the trial in the block.
    arm : ndarray of int
        The observed arm.
    reward : ndarray of float
        Its reward.
    weight : ndarray of float, optional
        Weight of each observation: the number of outcomes that ``reward`` is the average of; None
        if all are 1.
    time : ndarray of float, optional
        Time of each observation, which a discounted posterior uses: rounds for ``discount``, units
        of ``half_life`` otherwise. None for the time of the state: the observations have no age.
    """

    trial: Ints
    arm: Ints
    reward: Floats
    weight: Floats | None = None
    time: Floats | None = None

    def select(self, chosen: NDArray[np.bool_]) -> Observations:
        """Return the observations that a mask selects.

        Parameters
        ----------
        chosen : ndarray of bool
            Which observations to keep.

        Returns
        -------
        Observations
            The selected observations, in the same order.
        """
        weight = None if self.weight is None else self.weight[chosen]
        time = None if self.time is None else self.time[chosen]
        return Observations(self.trial[chosen], self.arm[chosen], self.reward[chosen], weight, time)


def check_weights(seen: Observations, plugin: object) -> Floats | None:
    """Return the weights of observations for a policy or a posterior; None if all are 1.

    Raise InputError if a weight is not a finite number above 0, or if a weight differs from 1 and
    the plug-in does not declare ``weighted = True``.

    >>> seen = Observations(np.array([0]), np.array([1]), np.array([0.25]), np.array([8.0]))
    >>> check_weights(seen, type("Weighted", (), {"weighted": True})())
    array([8.])
    """
    weight = getattr(seen, "weight", None)
    if weight is None:
        return None
    weight = np.asarray(weight, np.float64)
    if weight.shape != (len(seen.reward),) or not ((weight > 0.0) & np.isfinite(weight)).all():
        raise InputError(
            "the weight of an observation must be a finite number above 0, one per observation; "
            f"got {short_repr(seen.weight)}"
        )
    if (weight == 1.0).all():
        return None
    if not getattr(plugin, "weighted", False):
        raise InputError(
            f"'{name_of(plugin)}' cannot use an observation of weight "
            f"{weight[weight != 1.0][0]:g}: give single outcomes, without a weight"
        )
    return weight


@dataclass(frozen=True, eq=False)
class Beliefs:
    """Statistics of the posterior that Algorithm 1 uses, one row per trial.

    Parameters
    ----------
    alpha : ndarray of shape (B, K)
        Probability that the arm is best.
    delta : ndarray of shape (B, K)
        Expected regret of playing the arm.
    h : ndarray of shape (B, K)
        Information of the outcome of the arm about which arm is best, in nats.
    rho : ndarray of shape (B,)
        Expected mean of the best arm.
    error : ndarray of shape (B,), optional
        Estimate of the largest error of the values, if requested.
    v : ndarray of shape (B, K), optional
        Variance form of h, if requested: the variance of the mean of the arm given which arm is
        best (Russo and Van Roy 2018).
    """

    alpha: Floats
    delta: Floats
    h: Floats
    rho: Floats
    error: Floats | None = None
    v: Floats | None = None


#: An arm: its name, or its number from 0.
Arm = str | int


@dataclass(frozen=True)
class Belief:
    """Statistics of one arm.

    Parameters
    ----------
    alpha : float
        Probability that the arm is best.
    delta : float
        Expected regret of playing the arm.
    h : float
        Information of its outcome about which arm is best, in nats.
    """

    alpha: float
    delta: float
    h: float


@dataclass(frozen=True, eq=False)
class BeliefsByArm:
    """Statistics of one trial: a mapping from arms to :class:`Belief`, and arrays of all arms.

    Parameters
    ----------
    arms : tuple of str or int
        The arms, in the order of the arrays.
    alpha : ndarray of shape (K,)
        Probability that each arm is best.
    delta : ndarray of shape (K,)
        Expected regret of playing each arm.
    h : ndarray of shape (K,)
        Information of the outcome of each arm about which arm is best, in nats.
    rho : float
        Expected mean of the best arm.
    error : float or None
        Estimate of the largest error of the arrays, if requested.
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
        """Take the statistics of the first trial.

        Parameters
        ----------
        beliefs : Beliefs
            Statistics of one or more trials.
        arms : tuple of str or int
            The arms, in the order of the columns.
        place : mapping of str or int to int
            The column of each arm.

        Returns
        -------
        BeliefsByArm
            The statistics by arm.
        """
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
    """Protocol of a posterior: a conjugate family of priors with independent arms.

    The state of B trials is a dict of named arrays of numbers, each with one row per trial.

    Attributes
    ----------
    support : tuple of float
        Interval of the mean of an arm.
    outcomes : tuple of float or None
        All outcomes of the model, whose likelihoods add up to 1; None if there are infinitely many.
        Updates may accept more ``rewards``, such as those between two outcomes.
    rewards : Support, optional
        Rewards of the model (:mod:`graphbandits.posteriors.support`). Without it they are the
        listed ``outcomes``, or all real numbers.
    weighted : bool, optional
        Whether :meth:`update` uses ``Observations.weight``. Without it, weights other than 1 are
        refused.
    sub_gaussian : float, optional
        For unbounded rewards: a constant sigma such that the reward of every arm is
        sigma-sub-Gaussian given any past observations. The regret bounds use it.
    discount, half_life : float, optional
        If ``discount`` is below 1 or ``half_life`` is not None, :meth:`update` discounts old
        observations by ``Observations.time``, and a method ``discounted(state, now)`` returns the
        state at a time (:mod:`graphbandits.posteriors.discounting`).
    """

    support: ClassVar[tuple[float, float]]
    outcomes: ClassVar[tuple[float, ...] | None]

    @property
    def arms(self) -> int:
        """Number of arms K."""

    def init(self, trials: int) -> State:
        """Return the prior for each trial.

        Parameters
        ----------
        trials : int
            Number of trials B.

        Returns
        -------
        dict of str to ndarray
            The state before any observation.
        """

    def update(self, state: State, seen: Observations) -> State:
        """Update the posterior by observations.

        Parameters
        ----------
        state : dict of str to ndarray
            The current state. The method may modify it in place.
        seen : Observations
            The observations.

        Returns
        -------
        dict of str to ndarray
            The new state.
        """

    def beliefs(self, state: State) -> Beliefs:
        """Compute the statistics alpha, Delta, h and rho.

        Parameters
        ----------
        state : dict of str to ndarray
            The state.

        Returns
        -------
        Beliefs
            The statistics of each trial.
        """

    def mean(self, state: State) -> Floats:
        """Compute the posterior mean of each arm.

        Parameters
        ----------
        state : dict of str to ndarray
            The state.

        Returns
        -------
        ndarray of shape (B, K)
            The means.
        """

    def quantile(self, state: State, level: float) -> Floats:
        """Compute a posterior quantile of the mean of each arm.

        Parameters
        ----------
        state : dict of str to ndarray
            The state.
        level : float
            Level in [0, 1]; 0 and 1 give the ends of the support.

        Returns
        -------
        ndarray of shape (B, K)
            The quantiles.
        """

    def sample(self, state: State, stream: Stream) -> Floats:
        """Draw the mean of each arm from the posterior, once per trial.

        Parameters
        ----------
        state : dict of str to ndarray
            The state.
        stream : Stream
            The random numbers to use.

        Returns
        -------
        ndarray of shape (B, K)
            The draws.
        """

    def log_density(self, state: State, theta: Floats) -> Floats:
        """Compute the log density of the mean of each arm.

        Parameters
        ----------
        state : dict of str to ndarray
            The state.
        theta : ndarray of shape (points,)
            Points at which to evaluate the density.

        Returns
        -------
        ndarray of shape (B, K, points)
            The log densities.
        """

    def log_likelihood(self, reward: float, theta: Floats) -> Floats:
        """Compute the log probability, or log density, of a reward.

        Parameters
        ----------
        reward : float
            The reward.
        theta : ndarray
            Means of the arm.

        Returns
        -------
        ndarray
            The log likelihood for each mean.
        """

    def draw_reward(self, theta: Floats, uniform: Floats) -> Floats:
        """Draw rewards.

        Parameters
        ----------
        theta : ndarray
            Means of the arms.
        uniform : ndarray
            Uniform random numbers in [0, 1), of the same shape.

        Returns
        -------
        ndarray
            The rewards.
        """

    def check_reward(self, reward: float) -> float:
        """Check a reward given by a user.

        Parameters
        ----------
        reward : float
            The reward.

        Returns
        -------
        float
            The reward.

        Raises
        ------
        InputError
            If the model has no such reward.
        """


def per_arm(parameters: Mapping[str, object], arms: int) -> dict[str, Floats]:
    """Return each parameter as an array with one entry per arm; raise InputError for other shapes.

    >>> per_arm({"mean": 0.5, "sd": [1, 2]}, arms=2)
    {'mean': array([0.5, 0.5]), 'sd': array([1., 2.])}
    """
    found: dict[str, Floats] = {}
    for name, value in parameters.items():
        try:
            array = np.asarray(value)
        except ValueError:  # nested lists of different lengths
            array = np.empty(0, object)
        if array.dtype.kind not in "iuf" or array.shape not in ((), (arms,)):
            raise InputError(
                f"{name} must be a number, or a list of {arms} numbers, one per arm; not "
                f"{short_repr(value)}"
            )
        found[name] = np.array(np.broadcast_to(array, (arms,)), np.float64)
    return found


@runtime_checkable
class Ordered(Protocol):
    """Optional protocol of a posterior whose draws can be equal after rounding."""

    def sample_order(self, state: State, stream: Stream) -> Floats:
        """Return numbers in the order of the draws of ``sample``, without ties.

        Parameters
        ----------
        state : dict of str to ndarray
            The state.
        stream : Stream
            The random numbers that ``sample`` uses.

        Returns
        -------
        ndarray of shape (B, K)
            An increasing function of the draws before rounding.
        """


@runtime_checkable
class StateChecked(Protocol):
    """Optional protocol of a posterior that checks states loaded from files."""

    def check_state(self, state: State) -> None:
        """Check that a state is one that ``init`` and ``update`` can produce.

        Parameters
        ----------
        state : dict of str to ndarray
            The state.

        Raises
        ------
        InputError
            If it is not.
        """
