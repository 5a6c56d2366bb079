"""Errors for users, and checks of arguments: what was given, what is allowed, what to do."""

from __future__ import annotations

import difflib
import math
from collections.abc import Iterable
from typing import Any, SupportsFloat

#: A message shows only a few names if there are more than this.
MOST_LISTED = 50


class GraphBanditsError(Exception):
    """Base class of the errors of this package; the command line prints them in one line."""


class InputError(GraphBanditsError, ValueError):
    """Invalid value, name, file or combination."""


class NotFoundError(InputError):
    """Name of an agent, or id of a decision, that does not exist."""


class ConflictError(InputError):
    """Input that contradicts what is stored, such as another outcome of the same decision."""


class InputWarning(UserWarning):
    """Valid input that is probably a mistake."""


class SourceError(InputError):
    """Source code that changed during a run, or that differs on a worker."""


class StoreError(GraphBanditsError):
    """A database of live agents that does not work at the moment; the message has the reason."""


class UncertainError(StoreError):
    """A change that may have been stored: the answer of the database was lost."""


class NeedsError(GraphBanditsError):
    """Use of information that a policy has not declared, or that the problem does not provide."""


class PolicyError(GraphBanditsError):
    """Error of a policy during a run; the original error is its ``__cause__``."""


class GraphError(GraphBanditsError):
    """Error of a graph process during a run; the original error is its ``__cause__``."""


class WorldError(GraphBanditsError):
    """Error of a world during a run; the original error, if any, is its ``__cause__``."""


class NumericalError(GraphBanditsError):
    """A numerical result that failed its own check."""


def nearest(name: str, known: Iterable[str]) -> str:
    """Return a hint with the most similar known name and the list of known names.

    >>> nearest("idsn", ["ids-n", "ts-n"])
    "did you mean 'ids-n'? Known: ids-n, ts-n"
    """
    names = sorted(known)
    # a comparison with very many names, or of a very long one, takes minutes
    comparable = len(names) <= 10**4 and len(name) <= 1000
    close = difflib.get_close_matches(name, names, n=1, cutoff=0.5) if comparable else []
    hint = f"did you mean '{close[0]}'? Known: " if close else "choose from "
    listed = names if len(names) <= MOST_LISTED else [*names[:2], "...", names[-1]]
    count = "" if len(names) <= MOST_LISTED else f" ({len(names)} names)"
    return f"{hint}{', '.join(listed)}{count}"


def short_repr(value: object, most: int = 80) -> str:
    """Return ``repr`` of a value on one line, shortened; its type if ``repr`` fails.

    >>> short_repr(10**5000), short_repr([0] * 1000, most=11)
    ('a value of type int', '[0, 0, 0...')
    """
    try:
        text = " ".join(repr(value).split())
    except Exception:  # repr of a user's class may raise anything
        return f"a value of type {type(value).__name__}"
    return text if len(text) <= most else text[: most - 3] + "..."


#: The counter of the random numbers has 32 bits for the round.
MOST_ROUNDS = 2**32 - 1


def check_horizon(value: object) -> int:
    """Return ``value`` as a number of rounds; raise InputError if it is not valid."""
    rounds = check_integer(value, "horizon")
    if rounds > MOST_ROUNDS:
        raise InputError(f"horizon must be at most {MOST_ROUNDS} rounds, not {rounds}")
    return rounds


def check_integer(value: object, what: str, *, least: int = 1) -> int:
    """Return ``value`` as an int of at least ``least``; raise InputError if it is not valid."""
    able: Any = value  # isinstance(value, SupportsIndex) takes a fifth of a live decision
    if hasattr(value, "__index__") and not isinstance(value, bool):
        number = int(able.__index__())
        if number >= least:
            return number
    raise InputError(f"{what} must be a whole number of at least {least}, not {value!r}")


def check_bool(value: object, what: str) -> bool:
    """Return ``value`` if it is a bool; raise InputError otherwise, for example for 'no'."""
    if not isinstance(value, bool):
        raise InputError(f"{what} must be true or false, not {value!r}")
    return value


def check_probability(value: object, what: str) -> float:
    """Return ``value`` as a float in [0, 1]; raise InputError if it is not valid."""
    number = _float(value)
    if not 0.0 <= number <= 1.0:
        raise InputError(f"{what} must be a number in [0, 1], not {value!r}")
    return number


def check_positive(value: object, what: str) -> float:
    """Return ``value`` as a finite float above 0; raise InputError if it is not valid."""
    number = _float(value)
    if not 0.0 < number < math.inf:
        raise InputError(f"{what} must be a finite number above 0, not {value!r}")
    return number


def _float(value: object) -> float:
    """Return a number as a float; NaN for anything else."""
    try:
        number = isinstance(value, SupportsFloat) and not isinstance(value, bool)
        return float(value) if number else math.nan  # type: ignore[arg-type]
    except OverflowError:
        return math.inf
