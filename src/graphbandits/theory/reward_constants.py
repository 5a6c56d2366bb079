"""The constant of the rewards in the bounds: the width of their interval, or 2 sigma."""

from __future__ import annotations

import math
from dataclasses import is_dataclass
from typing import Any

from graphbandits.errors import InputError, short_repr
from graphbandits.posteriors import Posterior, is_discounted
from graphbandits.posteriors.support import reward_support
from graphbandits.registry import name_of, parameters_given


def sub_gaussian(posterior: Posterior) -> float | None:
    """Return the declared sub-Gaussian constant of a posterior; None if there is none."""
    found: Any = getattr(posterior, "sub_gaussian", None)
    if found is None:
        return None
    number = isinstance(found, int | float) and not isinstance(found, bool)
    if not number or not 0.0 < found < math.inf:
        raise InputError(
            f"{type(posterior).__name__}: sub_gaussian must be a finite number above 0, not "
            f"{short_repr(found)}"
        )
    return float(found)


def why_unsupported(posterior: Posterior) -> str:
    """Return the reason why no bound is proved for a posterior; empty if the bounds hold.

    >>> from graphbandits.posteriors import BetaBernoulli
    >>> why_unsupported(BetaBernoulli.of(2))
    ''
    """
    if is_discounted(posterior):
        return "the bounds are proved for constant means, but this posterior is discounted"
    if reward_support(posterior).bounded or sub_gaussian(posterior) is not None:
        return ""
    return (
        "the bounds are proved for bounded rewards and for rewards with a sub-Gaussian constant, "
        f"and the posterior '{name_of(posterior)}' has neither"
    )


def reward_scale(posterior: Posterior) -> float:
    """Return the factor of the regret bounds: 1 for rewards in [0, 1].

    The factor is 2 sigma, for rewards that are sigma-sub-Gaussian given the past: high - low for
    rewards in [low, high] (Hoeffding's lemma), and twice the attribute ``sub_gaussian`` of the
    posterior otherwise. Bounds on the information ratio are multiplied by its square.

    Parameters
    ----------
    posterior
        Posterior.

    Returns
    -------
    float

    Raises
    ------
    InputError
        If the rewards are neither bounded nor have a sub-Gaussian constant.

    Examples
    --------
    >>> from graphbandits.posteriors import BetaBernoulli
    >>> reward_scale(BetaBernoulli.of(2))
    1.0
    """
    if reason := why_unsupported(posterior):
        raise InputError(f"no regret bounds: {reason}")
    rewards = reward_support(posterior)
    if rewards.bounded:
        return rewards.high - rewards.low
    sigma = sub_gaussian(posterior)
    assert sigma is not None  # by why_unsupported
    return 2.0 * sigma


def scale_note(posterior: Posterior) -> str:
    """Return the constant of the rewards as a sentence; empty if the factor is 1."""
    scale, rewards = reward_scale(posterior), reward_support(posterior)
    if scale == 1.0:
        return ""
    if rewards.bounded:
        return (
            f"Rewards are from {rewards.low:g} to {rewards.high:g}: the bound for rewards in "
            f"[0, 1] is multiplied by {scale:g}."
        )
    return (
        f"Rewards are sub-Gaussian with the constant sigma = {scale / 2.0:g}: the bound for "
        f"rewards in [0, 1] is multiplied by 2 sigma = {scale:g}."
    )


def same_model(one: Posterior, other: Posterior) -> bool:
    """Return whether two posteriors are equal, apart from their accuracy.

    >>> from graphbandits.posteriors import BetaBernoulli
    >>> same_model(BetaBernoulli.of(2), BetaBernoulli([1, 1], [1, 1], "strict"))
    True
    """
    if one is other:
        return True
    if type(one) is not type(other):
        return False
    mine, its = (
        {name: value for name, value in _parameters(model).items() if name != "accuracy"}
        for model in (one, other)
    )
    return mine.keys() == its.keys() and all(_equal(mine[name], its[name]) for name in mine)


def _parameters(model: object) -> dict[str, Any]:
    return parameters_given(model) if is_dataclass(model) else vars(model)


def _equal(one: Any, other: Any) -> bool:
    found = one == other
    return bool(found.all()) if hasattr(found, "all") else bool(found)
