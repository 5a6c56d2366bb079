"""The posterior protocol, beliefs, observations, supports, and optional capabilities."""

from __future__ import annotations

import dataclasses
import inspect
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from functools import lru_cache, partial
from numbers import Real
from typing import Any, ClassVar, Protocol, cast, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from graphbandits._types import Floats, Ints, State
from graphbandits.errors import InputError, check_bool, nearest, short_repr
from graphbandits.registry import name_of, parameters_given
from graphbandits.rng import Stream


@dataclass(frozen=True, eq=False)
class Observations:
    """Observations of one round: triples (trial, arm, reward) in arrays of the same length.

    Parameters
    ----------
    trial : ndarray of int
        Row of the trial in the block.
    arm : ndarray of int
        The observed arm.
    reward : ndarray of float
        Its reward.
    weight : ndarray of float, optional
        Number of outcomes that ``reward`` is the average of; None if all are 1.
    time : ndarray of float, optional
        Time of each observation, for discounted posteriors: rounds for ``discount``, units of
        ``half_life`` otherwise. None for the time of the state: the observations have no age.
    """

    trial: Ints
    arm: Ints
    reward: Floats
    weight: Floats | None = None
    time: Floats | None = None

    def select(self, chosen: NDArray[np.bool_]) -> Observations:
        """Return the observations that a mask selects, in the same order."""
        weight = None if self.weight is None else self.weight[chosen]
        time = None if self.time is None else self.time[chosen]
        return Observations(self.trial[chosen], self.arm[chosen], self.reward[chosen], weight, time)


def check_weights(seen: Observations, plugin: object) -> Floats | None:
    """Return the weights of observations for a policy or a posterior; None if all are 1.

    Raise InputError if a weight is not a finite number above 0, or differs from 1 and the plug-in
    is not ``weighted``.

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
    """Statistics of one arm: the numbers of :class:`Beliefs`.

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
    alpha, delta, h : ndarray of shape (K,)
        As in :class:`Beliefs`.
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
        """Take the statistics of the first trial; ``place`` is the column of each arm."""
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
        Rewards of the model. Without it they are the listed ``outcomes``, or all real numbers.
    weighted : bool, optional
        Whether :meth:`update` uses ``Observations.weight``. Without it, weights other than 1 are
        refused.
    sub_gaussian : float, optional
        For unbounded rewards: a sigma such that every reward is sigma-sub-Gaussian given any past
        observations. The regret bounds use it.
    discount, half_life : float, optional
        If ``discount`` is below 1 or ``half_life`` is not None, :meth:`update` discounts old
        observations by ``Observations.time``, and a method ``discounted(state, now)`` returns the
        state at a time (:mod:`graphbandits.posteriors.updates`).
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
        """Draw rewards of arms with given means.

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
        """Return a reward given by a user as a float; raise InputError if it is not allowed.

        Parameters
        ----------
        reward : float
            The reward.

        Returns
        -------
        float
            The reward.
        """


def per_arm(parameters: Mapping[str, object], arms: int) -> dict[str, Floats]:
    """Return each parameter as an array with one entry per arm; raise InputError for other shapes.

    >>> per_arm({"mean": 0.5, "sd": [1, 2]}, arms=2)
    {'mean': array([0.5, 0.5]), 'sd': array([1., 2.])}
    """
    found: dict[str, Floats] = {}
    for name, value in parameters.items():
        array = _numeric(value)
        if array is None or array.shape not in ((), (arms,)):
            raise InputError(
                f"{name} must be a number, or a list of {arms} numbers, one per arm; not "
                f"{short_repr(value)}"
            )
        found[name] = np.array(np.broadcast_to(array, (arms,)), np.float64)
    return found


def check_numbers(values: object, name: str, low: float, high: float) -> Floats:
    """Return numbers of a range as a new array of floats."""
    given = _numeric(values)
    if given is None:
        raise InputError(f"{name} must be a number, not {short_repr(values)}")
    array = np.array(given, np.float64, order="C")
    wrong = ~((array >= low) & (array <= high))
    if wrong.any():
        raise InputError(f"{name} must be from {low:g} to {high:g}, not {array[wrong].flat[0]:g}")
    return array


def _numeric(values: object) -> NDArray[Any] | None:
    """Return numbers as an array, and None for anything else."""
    try:
        array = np.asarray(values)
    except ValueError:  # nested lists of different lengths
        return None
    return array if array.dtype.kind in "iuf" else None


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
        """Raise InputError unless ``init`` and ``update`` can produce the state.

        Parameters
        ----------
        state : dict of str to ndarray
            The state.
        """


@dataclass(frozen=True)
class Support:
    """A set of rewards: listed values, an interval, counts, or all real numbers.

    Create one with :data:`BINARY`, :data:`COUNT`, :data:`REAL`, :func:`interval` or :func:`values`.

    Parameters
    ----------
    low, high : float
        Smallest and largest reward; infinite if there is none.
    listed : tuple of float, optional
        All rewards, in increasing order, if they can be listed.
    integer : bool
        Whether rewards are integers.

    Examples
    --------
    >>> str(interval(0, 5)), str(values(1, 2, 5)), interval(0, 5).includes(BINARY)
    ('interval(0, 5)', 'values(1, 2, 5)', True)
    """

    low: float
    high: float
    listed: tuple[float, ...] | None = None
    integer: bool = False

    def __str__(self) -> str:
        if self.listed is not None:
            binary = self.listed == (0.0, 1.0)
            return "binary" if binary else f"values({', '.join(f'{x:g}' for x in self.listed)})"
        if self.integer:
            return "count"
        return f"interval({self.low:g}, {self.high:g})" if self.bounded else "real"

    @property
    def bounded(self) -> bool:
        return math.isfinite(self.low) and math.isfinite(self.high)

    @property
    def description(self) -> str:
        """The rewards in words, for messages."""
        if self.listed is not None:
            *most, last = (f"{x:g}" for x in self.listed)
            return f"{', '.join(most)} or {last}" if most else last
        if self.integer:
            return "a whole number of at least 0"
        if self.bounded:
            return f"a number in [{self.low:g}, {self.high:g}]"
        return "a finite number"

    def contains(self, rewards: Floats) -> NDArray[np.bool_]:
        """Return for each number whether it is a reward of this support.

        >>> COUNT.contains(np.array([0.0, 1.5, -1.0, np.nan])).tolist()
        [True, False, False, False]
        """
        if self.listed is not None:
            return np.isin(rewards, self.listed)
        inside = np.isfinite(rewards) & (rewards >= self.low) & (rewards <= self.high)
        return inside & (rewards == np.rint(rewards)) if self.integer else inside

    def includes(self, other: Support) -> bool:
        """Return whether every reward of another support is in this one."""
        if other.listed is not None:
            return bool(self.contains(np.array(other.listed)).all())
        if self.listed is not None or (self.integer and not other.integer):
            return False
        return self.low <= other.low and other.high <= self.high

    def check(self, reward: object) -> float:
        """Return a reward given by a user as a float; raise InputError if it is not allowed."""
        # NumPy registers timedelta64 as an integer
        if isinstance(reward, _NUMBERS) and not isinstance(reward, np.timedelta64):
            try:
                found = float(reward)
            except (ArithmeticError, ValueError):  # a signalling NaN of decimal, or a huge integer
                found = math.nan
            inside = found in self.listed if self.listed else self.contains(np.array(found))
            # an integer must be exact; other numbers may be rounded
            if inside and (found == reward or not isinstance(reward, int)):
                return found
        raise InputError(f"a reward must be {self.description}, not {short_repr(reward)}")


#: Types of rewards, the most frequent ones first; Decimal and NumPy's bool are not Real.
_NUMBERS = (int, float, Real, Decimal, np.bool_)
#: The rewards 0 and 1.
BINARY = Support(0.0, 1.0, (0.0, 1.0), True)
#: The rewards 0, 1, 2, ...
COUNT = Support(0.0, math.inf, integer=True)
#: All real numbers.
REAL = Support(-math.inf, math.inf)


def interval(low: float, high: float) -> Support:
    """Return the support of rewards between two finite numbers, low < high.

    Parameters
    ----------
    low, high : float
        Smallest and largest reward.

    Returns
    -------
    Support
        The support.

    Examples
    --------
    >>> interval(0, 5).contains(np.array([0.0, 5.0, 5.1])).tolist()
    [True, True, False]
    """
    ends = [end for end in (low, high) if not isinstance(end, bool) and isinstance(end, Real)]
    if len(ends) < 2 or not -math.inf < low < high < math.inf:
        raise InputError(
            f"an interval needs two finite numbers low < high, not {short_repr((low, high))}"
        )
    return Support(float(low), float(high))


def values(*listed: float) -> Support:
    """Return the support of listed rewards.

    Parameters
    ----------
    *listed : float
        All rewards: one or more different finite numbers.

    Returns
    -------
    Support
        The support.

    Examples
    --------
    >>> values(0, 1) == BINARY, values(5, 1, 3).listed
    (True, (1.0, 3.0, 5.0))
    """
    numbers = [x for x in listed if isinstance(x, Real) and not isinstance(x, bool)]
    found = tuple(sorted({float(x) for x in numbers}))
    if not found or len(found) < len(listed) or not all(map(math.isfinite, found)):
        raise InputError(
            f"listed rewards must be different finite numbers, not {short_repr(listed)}"
        )
    return Support(found[0], found[-1], found, all(x == round(x) and x >= 0.0 for x in found))


def reward_support(model: object) -> Support:
    """Return the rewards of a posterior or a world.

    Without the attribute ``rewards`` they are those of its prior, if it has one, else the listed
    ``outcomes``, else all real numbers.

    Parameters
    ----------
    model : Posterior or World
        The model.

    Returns
    -------
    Support
        Its rewards.

    Examples
    --------
    >>> from graphbandits.posteriors import BetaBernoulli
    >>> str(reward_support(BetaBernoulli.of(2)))
    'binary'
    """
    found: Any = getattr(model, "rewards", None)
    if found is None and hasattr(model, "prior"):
        return reward_support(model.prior)
    if found is None:
        listed = getattr(model, "outcomes", None)
        return REAL if listed is None or callable(listed) else values(*listed)
    if not isinstance(found, Support):
        raise InputError(
            f"{type(model).__name__}: rewards must be a support such as REAL or interval(0, 1), "
            f"not {short_repr(found)}"
        )
    return found


def with_accuracy(posterior: Posterior, accuracy: str | None) -> Posterior:
    """Return the posterior with an accuracy setting; unchanged if ``accuracy`` is None."""
    if accuracy is None:
        return posterior
    given: Any = posterior
    if not _has_accuracy(posterior):
        raise InputError(
            f"the posterior '{name_of(posterior)}' has no accuracy settings: remove "
            f"accuracy={accuracy!r}"
        )
    return cast(Posterior, dataclasses.replace(given, accuracy=accuracy))


def select_arms(posterior: Posterior, index: Sequence[int] | Ints) -> Posterior:
    """Return the prior of some arms: arm i is ``index[i]``, and an arm may be repeated.

    Among the parameters of a posterior, arrays have one entry per arm.

    >>> from graphbandits.posteriors import BetaBernoulli
    >>> select_arms(BetaBernoulli.of(3, a=[1.0, 2.0, 3.0]), [2, 0, 0, 1]).a
    array([3., 1., 1., 2.])
    """
    given: Any = posterior
    fields: dict[str, Any] = parameters_given(given) if dataclasses.is_dataclass(given) else {}
    by_arm = {name: v for name, v in fields.items() if isinstance(v, np.ndarray) and v.ndim}
    if by_arm and all(len(values) == posterior.arms for values in by_arm.values()):
        chosen = {name: values[np.asarray(index)] for name, values in by_arm.items()}
        made = cast(Posterior, replace(given, **chosen))
        if made.arms == len(index):
            return made
    raise InputError(
        f"the arms of the posterior '{name_of(posterior)}' cannot be selected: it must be a "
        "dataclass whose arrays have one entry per arm"
    )


def strictest(posterior: Posterior) -> Posterior:
    """Return the posterior with the accuracy "strict"; unchanged if it has no such setting.

    >>> from graphbandits.posteriors import BetaBernoulli
    >>> strictest(BetaBernoulli.of(arms=2)).accuracy
    'strict'
    """
    return with_accuracy(posterior, "strict" if _has_accuracy(posterior) else None)


def compute_beliefs(
    posterior: Posterior, state: State, accuracy: str | None, estimate: bool
) -> Beliefs:
    """Compute the beliefs with an accuracy setting and, on request, an error estimate."""
    precise: Any = with_accuracy(posterior, accuracy)
    if not check_bool(estimate, "estimate"):
        return cast(Beliefs, precise.beliefs(state))
    if "estimate" not in _options_of(precise.beliefs):
        raise InputError(
            f"the posterior '{name_of(posterior)}' does not estimate its error: remove "
            "estimate=True"
        )
    return cast(Beliefs, precise.beliefs(state, estimate=True))


def _has_accuracy(posterior: Posterior) -> bool:
    given: Any = posterior
    fields = dataclasses.fields(given) if dataclasses.is_dataclass(given) else ()
    return "accuracy" in {field.name for field in fields}


def has_variance(posterior: Posterior) -> bool:
    """Return whether the posterior can compute the variance form v."""
    return "variance" in _options_of(posterior.beliefs)


def _options_of(method: Callable[..., Any]) -> frozenset[str]:
    return _arguments(getattr(method, "__func__", method))


@lru_cache(maxsize=128)
def _arguments(function: Callable[..., Any]) -> frozenset[str]:
    # inspecting a function takes longer than a decision
    return frozenset(inspect.signature(function).parameters)


def without_information(posterior: Posterior) -> Callable[..., Beliefs]:
    """Return the method ``beliefs``, without the computation of h if the posterior can omit it."""
    able: Any = posterior
    if "information" in _options_of(able.beliefs):
        return partial(able.beliefs, information=False)
    return posterior.beliefs


def check_variance(posterior: Posterior) -> None:
    if not has_variance(posterior):
        raise InputError(
            f"the posterior '{name_of(posterior)}' has no variance form v, which this policy "
            "uses: add an argument 'variance' to its method beliefs, or use a policy based on h"
        )


def variance_form(posterior: Posterior, state: State) -> tuple[Beliefs, Floats]:
    """Compute the beliefs and the variance form v, without h if the posterior can omit it.

    >>> from graphbandits.posteriors import BetaBernoulli
    >>> posterior = BetaBernoulli.of(arms=2)
    >>> variance_form(posterior, posterior.init(trials=1))[1]
    array([[0.02777778, 0.02777778]])
    """
    found = without_information(posterior)(state, variance=True)
    return found, cast(Floats, found.v)


def check_evidence(posterior: Posterior, given: Sequence[object]) -> tuple[float, float]:
    """Return the average and the weight of several outcomes given as (total, count).

    >>> from graphbandits.posteriors import BetaBernoulli
    >>> check_evidence(BetaBernoulli.of(arms=2), (3, 10))
    (0.3, 10.0)
    """
    if not getattr(posterior, "weighted", False):
        raise InputError(
            f"the posterior '{name_of(posterior)}' takes single rewards, not "
            f"{short_repr(given)}: report each outcome in a decision of its own"
        )
    support = reward_support(posterior)
    try:
        total, count = (REAL.check(one) for one in given)
    except (InputError, ValueError):
        total = count = math.nan
    whole = not support.integer or total == np.rint(total)
    whole = whole and (support != BINARY or count == np.rint(count))
    average = total / count if count > 0.0 else math.nan
    inside = math.isfinite(average) and support.low <= average <= support.high
    if not (whole and inside):
        kinds = {
            BINARY: "whole numbers (successes, trials), at least one trial, successes <= trials",
            COUNT: "(events, exposure), a whole number of events and an exposure above 0",
        }
        allowed = kinds.get(support, "(total, count) of rewards, with a count above 0")
        raise InputError(
            f"a reward must be {support.description}, or several outcomes as {allowed}; not "
            f"{short_repr(given)}"
        )
    return average, count


def expect_outcomes(posterior: Posterior, state: State, arm: Ints, weight: Floats) -> State:
    """Add expected outcomes to the state of one trial: the means stay, and the spread shrinks.

    ``weight`` is the expected number of outcomes of each arm. A posterior that takes single rewards
    has a method ``expect(state, arm, weight)``.

    >>> from graphbandits.posteriors import BetaBernoulli
    >>> posterior = BetaBernoulli.of(arms=2, a=3, b=1)
    >>> expect_outcomes(posterior, posterior.init(trials=1), np.array([1]), np.array([2.0]))
    {'a': array([[3. , 4.5]]), 'b': array([[1. , 1.5]])}
    """
    able: Any = posterior
    if hasattr(able, "expect"):
        return cast(State, able.expect(state, arm, weight))
    if not getattr(posterior, "weighted", False):
        raise InputError(
            f"the posterior '{name_of(posterior)}' cannot count outcomes by their expectation: use "
            "pending='ignore', or give it a method expect(state, arm, weight)"
        )
    mean = posterior.mean(state)[0, arm]
    return posterior.update(state, Observations(np.zeros_like(arm), arm, mean, weight))


def predict(posterior: Posterior, state: State, stream: Stream) -> Floats:
    """Draw the next reward of each arm from the predictive distribution, once per trial.

    It is the reward of a mean drawn from the posterior, unless the posterior has a method
    ``predict(state, stream)``: its rewards then depend on more than the mean.
    """
    able: Any = posterior
    if hasattr(able, "predict"):
        return cast(Floats, able.predict(state, stream))
    theta = posterior.sample(state, replace(stream, purpose=f"{stream.purpose}/theta"))
    uniform = replace(stream, purpose=f"{stream.purpose}/outcome").uniform(posterior.arms)
    return posterior.draw_reward(theta, uniform)


def keeps_posterior(state: State, posterior: Posterior) -> bool:
    """Return whether the state of a policy contains the posterior of one trial."""
    return all(
        name in state and (state[name].shape, state[name].dtype) == (fresh.shape, fresh.dtype)
        for name, fresh in posterior.init(trials=1).items()
    )
