"""Optional capabilities of posteriors: accuracy settings, error estimates, the variance form."""

from __future__ import annotations

import dataclasses
import inspect
import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from typing import Any, cast

import numpy as np

from graphbandits._types import Floats, Ints, State
from graphbandits.errors import InputError, check_bool, short_repr
from graphbandits.posteriors.base import Beliefs, Observations, Posterior
from graphbandits.posteriors.support import BINARY, COUNT, REAL, reward_support
from graphbandits.registry import name_of, parameters_given
from graphbandits.rng import Stream


def with_accuracy(posterior: Posterior, accuracy: str | None) -> Posterior:
    """Return the posterior with an accuracy setting; unchanged if ``accuracy`` is None.

    >>> from graphbandits.posteriors import BetaBernoulli
    >>> with_accuracy(BetaBernoulli.of(arms=2), "strict").accuracy
    'strict'
    """
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

    The arrays among the parameters of a posterior have one entry per arm; all other parameters are
    those of all arms.

    Raises
    ------
    InputError
        If the posterior is not a dataclass, or one of its arrays does not have one entry per arm.

    Examples
    --------
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
    """Return the names of the arguments of a method."""
    return _arguments(getattr(method, "__func__", method))


@lru_cache(maxsize=128)
def _arguments(function: Callable[..., Any]) -> frozenset[str]:
    # inspecting a function takes longer than a decision
    return frozenset(inspect.signature(function).parameters)


def without_information(posterior: Posterior) -> Callable[..., Beliefs]:
    """Return the method ``beliefs``, without the computation of h if the posterior can omit it.

    >>> from graphbandits.posteriors import BetaBernoulli
    >>> posterior = BetaBernoulli.of(arms=2)  # computes h together with alpha
    >>> without_information(posterior)(posterior.init(trials=1)).alpha
    array([[0.5, 0.5]])
    """
    able: Any = posterior
    if "information" in _options_of(able.beliefs):
        return partial(able.beliefs, information=False)
    return posterior.beliefs


def check_variance(posterior: Posterior) -> None:
    """Raise InputError if a posterior cannot compute the variance form v."""
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

    ``weight`` has the expected number of outcomes of each arm. A posterior that takes single
    rewards has a method ``expect(state, arm, weight)``.

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

    By default the reward of a mean drawn from the posterior. A posterior whose rewards do not
    depend on the mean alone has a method ``predict(state, stream)``.

    >>> from graphbandits.posteriors import BetaBernoulli
    >>> from graphbandits.rng import Keys
    >>> posterior = BetaBernoulli.of(arms=2)
    >>> predict(posterior, posterior.init(trials=3), Stream(Keys(1, trials=3), 1, "example")).shape
    (3, 2)
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
