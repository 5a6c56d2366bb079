"""Errors that a user can act on: what was given, what is allowed, what to do."""

from __future__ import annotations

import difflib
import math
from collections.abc import Iterable
from typing import SupportsFloat

#: Of more names than this a message shows a few.
MOST_LISTED = 50


class GraphBanditsError(Exception):
    """Anything wrong with what the user gave; the command line prints it in one line."""


class InputError(GraphBanditsError, ValueError):
    """A value, name, file or combination that cannot be used."""


class InputWarning(UserWarning):
    """What was given can be used, but is probably not what was meant."""


class SourceError(InputError):
    """A source is not what it was when the run began, or is another one at a worker."""


class NeedsError(GraphBanditsError):
    """A policy asks for what it has not declared, or for what the problem cannot tell it."""


class PolicyError(GraphBanditsError):
    """A policy raised in the middle of a run; the error behind it is its ``__cause__``."""


class GraphError(GraphBanditsError):
    """A graph process raised in the middle of a run; the error behind it is its ``__cause__``."""


class NumericalError(GraphBanditsError):
    """A result failed its own check; never silently clipped."""


def nearest(name: str, known: Iterable[str]) -> str:
    """A hint that names the nearest known name, and all of them unless they are many.

    >>> nearest("idsn", ["ids-n", "ts-n"])
    "did you mean 'ids-n'? Known: ids-n, ts-n"
    """
    names = sorted(known)
    # comparing with very many takes minutes
    close = [] if len(names) > 10**4 else difflib.get_close_matches(name, names, n=1, cutoff=0.5)
    hint = f"did you mean '{close[0]}'? " if close else ""
    listed = names if len(names) <= MOST_LISTED else [*names[:2], "...", names[-1]]
    count = "" if len(names) <= MOST_LISTED else f" ({len(names)} names)"
    return f"{hint}Known: {', '.join(listed)}{count}"


def short_repr(value: object, most: int = 80) -> str:
    """``repr`` of a value on one line, shortened; also of what has none, as an int of 5000 digits.

    >>> short_repr(10**5000), short_repr([0] * 1000, most=11)
    ('a value of type int', '[0, 0, 0...')
    """
    try:
        text = " ".join(repr(value).split())
    except Exception:  # whatever a class of the user's raises
        return f"a value of type {type(value).__name__}"
    return text if len(text) <= most else text[: most - 3] + "..."


#: Rounds are counted in 32 bits, by which random numbers are named.
MOST_ROUNDS = 2**32 - 1


def check_horizon(value: object) -> int:
    """``value`` as a number of rounds, or an error that says how many there can be.

    >>> check_horizon(1000)
    1000
    """
    rounds = check_integer(value, "horizon")
    if rounds > MOST_ROUNDS:
        raise InputError(f"horizon is a number of rounds up to {MOST_ROUNDS}, not {rounds}")
    return rounds


def check_integer(value: object, what: str, *, least: int = 1) -> int:
    """``value`` as an int of at least ``least``, or an error that names it.

    >>> check_integer(3, "trials")
    3
    """
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise InputError(f"{what} must be a whole number of at least {least}, not {value!r}")
    number = int(value.__index__())
    if number < least:
        raise InputError(f"{what} must be a whole number of at least {least}, not {number}")
    return number


def check_bool(value: object, what: str) -> bool:
    """``value`` if it is a bool; a word such as 'no' is not taken for true.

    >>> check_bool(True, "directed")
    True
    """
    if not isinstance(value, bool):
        raise InputError(f"{what} is true or false, not {value!r}")
    return value


def check_probability(value: object, what: str) -> float:
    """``value`` as a float in [0, 1], or an error that names it.

    >>> check_probability(0.25, "r")
    0.25
    """
    number = isinstance(value, SupportsFloat) and not isinstance(value, bool)
    if not number or not 0.0 <= float(value) <= 1.0:  # type: ignore[arg-type]
        raise InputError(f"{what} must be a number in [0, 1], not {value!r}")
    return float(value)  # type: ignore[arg-type]


def check_positive(value: object, what: str) -> float:
    """``value`` as a finite float above 0, or an error that names it.

    >>> check_positive(5, "c")
    5.0
    """
    number = isinstance(value, SupportsFloat) and not isinstance(value, bool)
    try:
        found = float(value) if number else math.nan  # type: ignore[arg-type]
    except OverflowError:
        found = math.inf
    if not 0.0 < found < math.inf:
        raise InputError(f"{what} must be a finite number above 0, not {value!r}")
    return found
