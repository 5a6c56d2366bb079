"""What some posteriors can do besides: other accuracies, estimated errors, the variance form."""

from __future__ import annotations

import dataclasses
import inspect
from typing import Any, cast

from graphbandits._types import Floats, State
from graphbandits.errors import InputError, check_bool
from graphbandits.posteriors.base import Beliefs, Posterior
from graphbandits.registry import name_of


def with_accuracy(posterior: Posterior, accuracy: str | None) -> Posterior:
    """The posterior with another setting of accuracy, or as it is if none is given.

    >>> from graphbandits.posteriors import BetaBernoulli
    >>> with_accuracy(BetaBernoulli.of(arms=2), "strict").accuracy
    'strict'
    """
    if accuracy is None:
        return posterior
    given: Any = posterior
    if not _has_accuracy(posterior):
        raise InputError(
            f"the posterior '{name_of(posterior)}' has no setting of accuracy: leave out "
            f"accuracy={accuracy!r}"
        )
    return cast(Posterior, dataclasses.replace(given, accuracy=accuracy))


def strictest(posterior: Posterior) -> Posterior:
    """The posterior in the setting "strict", if it has settings of accuracy; else as it is.

    >>> from graphbandits.posteriors import BetaBernoulli
    >>> strictest(BetaBernoulli.of(arms=2)).accuracy
    'strict'
    """
    return with_accuracy(posterior, "strict" if _has_accuracy(posterior) else None)


def believed(posterior: Posterior, state: State, accuracy: str | None, estimate: bool) -> Beliefs:
    """The beliefs in this accuracy, with an estimate of their error if that is asked for."""
    precise: Any = with_accuracy(posterior, accuracy)
    if not check_bool(estimate, "estimate"):
        return cast(Beliefs, precise.beliefs(state))
    if "estimate" not in inspect.signature(precise.beliefs).parameters:
        raise InputError(
            f"the posterior '{name_of(posterior)}' does not estimate its error: leave out "
            "estimate=True"
        )
    return cast(Beliefs, precise.beliefs(state, estimate=True))


def _has_accuracy(posterior: Posterior) -> bool:
    given: Any = posterior
    fields = dataclasses.fields(given) if dataclasses.is_dataclass(given) else ()
    return "accuracy" in {field.name for field in fields}


def has_variance(posterior: Posterior) -> bool:
    """Whether its beliefs have the variance form v of h, on request."""
    return "variance" in inspect.signature(posterior.beliefs).parameters


def check_variance(posterior: Posterior) -> None:
    """Refuse a posterior without the variance form for a policy that plays by it."""
    if not has_variance(posterior):
        raise InputError(
            f"the posterior '{name_of(posterior)}' has no variance form v, which this policy plays "
            "by: give its beliefs an argument variance, or take a policy that plays by h"
        )


def variance_form(posterior: Posterior, state: State) -> tuple[Beliefs, Floats]:
    """The beliefs, and v.

    >>> from graphbandits.posteriors import BetaBernoulli
    >>> posterior = BetaBernoulli.of(arms=2)
    >>> variance_form(posterior, posterior.init(trials=1))[1]
    array([[0.02777778, 0.02777778]])
    """
    able: Any = posterior
    found: Beliefs = able.beliefs(state, variance=True)
    return found, cast(Floats, found.v)


def keeps_posterior(state: State, posterior: Posterior) -> bool:
    """Whether the state of a policy has the arrays of the posterior, of one trial, in it."""
    return all(
        name in state and (state[name].shape, state[name].dtype) == (fresh.shape, fresh.dtype)
        for name, fresh in posterior.init(trials=1).items()
    )
