"""The world of an experiment: the prior of its arms, or their means, as its file has them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TypeGuard

import numpy as np

from graphbandits.errors import InputError
from graphbandits.experiments.texts import Given, errors_at, placeholders
from graphbandits.graphs import make_process
from graphbandits.posteriors import BetaBernoulli
from graphbandits.posteriors.beta_bernoulli import beta_pair, check_parameters
from graphbandits.worlds import Bernoulli

#: What a prior is, for those who gave something else.
PRIOR = '"A,B", [A, B], or a list with one of these for each arm'
MEANS = "a list of numbers in [0, 1], one for each arm"


def is_number(value: object) -> TypeGuard[int | float]:
    """Whether it is a number; true and false are none.

    >>> is_number(0.5), is_number(True), is_number("1")
    (True, False, False)
    """
    return isinstance(value, int | float) and not isinstance(value, bool)


def is_means(value: object) -> bool:
    """Whether it is a list of probabilities.

    >>> is_means([0.2, 1]), is_means([]), is_means([0.2, 1.5])
    (True, False, False)
    """
    if not isinstance(value, list | tuple) or not value:
        return False
    return all(is_number(mean) and 0 <= mean <= 1 for mean in value)


def check_prior(given: object) -> Given:
    """A prior as it is written, with lists as tuples; texts may have placeholders.

    >>> check_prior([[2, 5], "1,{b}"])
    ((2, 5), '1,{b}')
    """
    if isinstance(given, list | tuple) and given and not _is_pair(given):
        if any(isinstance(one, list | tuple) and not _is_pair(one) for one in given):
            raise InputError(f"a prior is {PRIOR}")
        return tuple(_checked_pair(one) for one in given)
    return _checked_pair(given)


def _checked_pair(given: object) -> Given:
    if isinstance(given, str):
        if not placeholders(given):
            check_parameters(beta_pair(given))
        return given
    if isinstance(given, list | tuple) and _is_pair(given):
        check_parameters(given)
        return tuple(given)
    raise InputError(f"a prior is {PRIOR}")


def _is_pair(given: list[object] | tuple[object, ...]) -> bool:
    return len(given) == 2 and all(map(is_number, given))


def prior_texts(prior: Given | None) -> Iterator[str]:
    """The texts of a prior, in which placeholders may stand.

    >>> list(prior_texts(((2, 5), "1,{b}")))
    ['1,{b}']
    """
    for one in prior if isinstance(prior, tuple) else (prior,):
        if isinstance(one, str):
            yield one


def world_of(
    graph: str,
    arms: int | None,
    prior: Given | None = None,
    means: tuple[float, ...] | None = None,
    accuracy: str = "simulation",
) -> Bernoulli | None:
    """Bernoulli arms with this prior, or these means; None where all is as without a word.

    >>> world_of("star", 2, prior=((2, 5), "1,1")).prior.a
    array([2., 1.])
    >>> world_of("paper", None, prior="2,5", accuracy="strict").arms
    5
    """
    if prior is None and means is None and accuracy == "simulation":
        return None
    pairs = None
    if prior is not None:
        with errors_at("prior"):
            pairs = [_pair(one) for one in (prior if _is_by_arm(prior) else (prior,))]
            check_parameters(pairs)
    sizes = {
        "arms": arms,
        "prior": len(prior) if _is_by_arm(prior) else None,
        "means": None if means is None else len(means),
    }
    known = {key: count for key, count in sizes.items() if count is not None}
    if arms is None:
        with errors_at("graph"):
            known["graph"] = make_process(graph, next(iter(known.values()), None)).arms
    if len(set(known.values())) > 1:
        told = ", ".join(f"{count} by {key}" for key, count in known.items())
        raise InputError(f"the number of arms is {told}: make them agree")
    count = next(iter(known.values()))
    if _is_by_arm(prior):
        a, b = np.array(pairs, np.float64).T
        posterior = BetaBernoulli(a, b)
    else:
        posterior = BetaBernoulli.of(count, *(pairs or [(1.0, 1.0)])[0])
    fixed = None if means is None else np.array(means, np.float64)
    return Bernoulli(replace(posterior, accuracy=accuracy), fixed)


def _is_by_arm(prior: Given | None) -> TypeGuard[tuple[Given, ...]]:
    return isinstance(prior, tuple) and not _is_pair(prior)


def _pair(given: Given) -> tuple[float, float]:
    if isinstance(given, str):
        return beta_pair(given)
    a, b = np.array(given, np.float64).tolist()
    return a, b
