"""Times that people give: dates, their texts, or seconds since 1970."""

from __future__ import annotations

from datetime import date, datetime
from typing import cast

from graphbandits.errors import InputError, short_repr

#: Largest time and longest lifetime, in seconds: a datetime cannot hold a much later date.
MOST_SECONDS = 1e11


def timestamp(value: object, what: str) -> float:
    """Return a date as seconds since 1970; without a time zone it is local time.

    >>> timestamp("1970-01-02T00:00+00:00", "before"), timestamp(5, "before")
    (86400.0, 5.0)
    """
    if isinstance(value, str):
        try:
            value = datetime.fromisoformat(value)
        except ValueError:
            raise InputError(
                f"{what} must be a date such as 2026-01-31, not {short_repr(value)}"
            ) from None
    if isinstance(value, date) and not isinstance(value, datetime):
        value = datetime.combine(value, datetime.min.time())
    if isinstance(value, datetime):
        try:
            return value.timestamp()
        except (ValueError, OverflowError, OSError):
            raise InputError(f"{what} is a date out of range: {value}") from None
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if not number or not -MOST_SECONDS <= cast(float, value) <= MOST_SECONDS:
        raise InputError(
            f"{what} must be a date, a datetime, or seconds since 1970, not {short_repr(value)}"
        )
    return float(cast(float, value))
