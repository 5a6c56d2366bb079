"""Worlds: models of the rewards, with their priors; from text forms and objects."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from graphbandits.errors import InputError, short_repr
from graphbandits.posteriors import BetaBernoulli, Posterior
from graphbandits.posteriors.beta_bernoulli import beta_pair
from graphbandits.registry import build, class_of, name_of, parameters_of, parse
from graphbandits.worlds.base import Changing, PriorWorld, World, outcome_uniforms
from graphbandits.worlds.models import (
    Bernoulli,
    BernoulliSwitch,
    Beta,
    Categorical,
    Gaussian,
    GaussianUnknownNoise,
    Poisson,
)

__all__ = [
    "Bernoulli",
    "BernoulliSwitch",
    "Beta",
    "Categorical",
    "Changing",
    "Gaussian",
    "GaussianUnknownNoise",
    "Poisson",
    "PriorWorld",
    "World",
    "as_posterior",
    "as_world",
    "outcome_uniforms",
]

#: Members without which nothing works; the contract checks test all others.
POSTERIOR_PARTS = ("arms", "init", "beliefs")
WORLD_PARTS = ("arms", "means", "outcomes", "prior")
#: Parameters of worlds and posteriors that are not parameters of the prior of an arm.
NOT_PRIOR = ("fixed", "changes", "accuracy", "discount", "half_life")


def as_world(
    given: str | World | None, arms: int, prior: object = None, means: object = None
) -> World:
    """Return a world, given as text or as an object.

    Parameters
    ----------
    given : str, World or None
        A text such as ``"gaussian(noise=0.5)"``, a world, or None for Bernoulli arms with uniform
        priors.
    arms : int
        Number of arms K.
    prior : object, optional
        Parameters of the prior in addition to those of the text, for all arms or by arm.
    means : sequence of float, optional
        Fixed means of the arms.

    Returns
    -------
    World
        The world; an object is returned unchanged.

    Examples
    --------
    >>> as_world("bernoulli(a=2)", arms=2, prior=[(2, 5), (1, 1)]).prior.b
    array([5., 1.])
    """
    if given is not None and not isinstance(given, str):
        if prior is not None or means is not None:
            raise InputError("prior and means are parameters of a world given as text")
        return check_world(given, arms)
    text = "bernoulli" if given is None else given
    name, written = parse(text, what="world")
    cls = class_of("world", name)
    more = {} if prior is None else prior_parameters(prior, cls, arms, written)
    if means is not None:
        if "fixed" not in parameters_of(cls):
            raise InputError(f"the means of the world '{name_of(cls)}' cannot be fixed")
        more["fixed"] = means
    return check_world(build("world", text, arms, **more), arms)


def check_world(given: object, arms: int | None = None) -> World:
    """Return a world, checked, also for its number of arms if that is given."""
    world: World = _check_parts(given, "world", WORLD_PARTS, Bernoulli)
    if arms is not None and world.arms != arms:
        raise InputError(f"the world has {world.arms} arms, but {arms} were given")
    return world


def _check_parts(given: Any, what: str, parts: Sequence[str], example: type) -> Any:
    """Return an object that has the parts of a world or posterior; raise InputError otherwise."""
    missing = [part for part in parts if not hasattr(given, part)]
    if isinstance(given, type) or parts[-1] in missing:
        raise InputError(
            f"a {what} must be a text such as '{name_of(example)}' or an object such as "
            f"{example.__name__}(...), not {short_repr(given)}"
        )
    if missing:
        raise InputError(f"{what} '{name_of(given)}' lacks {', '.join(missing)}")
    return given


def as_posterior(given: str | Posterior | None, arms: int, prior: object = None) -> Posterior:
    """Return the prior of K arms, given as text or as an object.

    Parameters
    ----------
    given : str, Posterior or None
        A text such as ``"normal(mean=0, sd=1, noise=0.5)"``, a posterior, or None for
        Beta-Bernoulli arms.
    arms : int
        Number of arms K.
    prior : object, optional
        Parameters in addition to those of the text, for all arms or by arm.

    Returns
    -------
    Posterior
        The prior; an object is returned unchanged.

    Examples
    --------
    >>> as_posterior("beta-bernoulli(a=2, b=5)", arms=3).b
    array([5., 5., 5.])
    """
    if given is None or isinstance(given, str):
        text = "beta-bernoulli" if given is None else given
        name, written = parse(text, what="posterior")
        cls = class_of("posterior", name)
        more = {} if prior is None else prior_parameters(prior, cls, arms, written)
        given = build("posterior", text, arms, **more)
    elif prior is not None:
        raise InputError("prior has parameters of a posterior given as text")
    posterior: Posterior = _check_parts(given, "posterior", POSTERIOR_PARTS, BetaBernoulli)
    if posterior.arms != arms:
        raise InputError(f"the prior has {posterior.arms} arms, but the graph has {arms}")
    return posterior


def prior_parameters(
    prior: Any, cls: type, arms: int, written: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """Return parameters of a prior as arguments of the class method ``of`` of its class."""
    names = [name for name in parameters_of(cls) if name not in NOT_PRIOR]
    if is_one_prior(prior):
        return _one_prior(prior, cls, names)
    listed = list(prior) if isinstance(prior, Sequence | np.ndarray) else []
    if len(listed) != arms:
        raise InputError(
            f"prior must have the parameters of all arms, such as {_example(names)}, or a list "
            f"with those of each of the {arms} arms; got {short_repr(prior)}"
        )
    entries = [_one_prior(one, cls, names) for one in listed]
    used = [name for name in names if any(name in entry for entry in entries)]
    defaults = parameters_of(cls) | dict(written or {})
    return {
        name: [entry.get(name, _of_arm(defaults[name], i, arms)) for i, entry in enumerate(entries)]
        for name in used
    }


def _of_arm(value: Any, arm: int, arms: int) -> Any:
    """Return the value of an arm: an entry if there is one for each arm, else the value itself."""
    by_arm = isinstance(value, list | tuple) and len(value) == arms
    return value[arm] if by_arm else value


def is_one_prior(prior: object) -> bool:
    """Return whether a prior is for all arms, not a list by arm."""
    if isinstance(prior, str | Mapping):
        return True
    return isinstance(prior, Sequence | np.ndarray) and all(map(_is_number, prior))


def _is_number(value: object) -> bool:
    return isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)


def _one_prior(prior: Any, cls: type, names: list[str]) -> dict[str, Any]:
    if isinstance(prior, str) and "=" not in prior and names[:2] == ["a", "b"]:
        prior = beta_pair(prior)
    if isinstance(prior, str):
        _, found = parse(f"prior({prior})", what="prior")
        prior = found if "=" in prior else next(iter(found.values()), ())
        prior = prior if isinstance(prior, Mapping | tuple) else (prior,)
    if isinstance(prior, Mapping):
        found = dict(prior)
    elif is_one_prior(prior) and 0 < len(prior) <= len(names):
        found = dict(zip(names, prior, strict=False))
    else:
        raise InputError(
            f"a prior of '{name_of(cls)}' has the parameters {', '.join(names)}: write "
            f"{_example(names)}, not {short_repr(prior)}"
        )
    for name in found:
        if name not in names:
            raise InputError(
                f"a prior of '{name_of(cls)}' has no parameter {name!r}: choose from "
                f"{', '.join(names)}"
            )
    return found


def _example(names: list[str]) -> str:
    return "'" + ",".join(f"{name}=1" for name in names[:2]) + "'"
