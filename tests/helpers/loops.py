"""Tests that run for all values in one item."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable
from typing import Any


def each(names: str | tuple[str, ...], values: Iterable[Any]) -> Callable[[Any], Any]:
    """Run a test for all values, as ``pytest.mark.parametrize`` but in one item.

    A failure names the values with which it happened.
    """
    keys = [name.strip() for name in names.split(",")] if isinstance(names, str) else names
    rows = [(value,) if len(keys) == 1 else value for value in values]

    def wrap(test: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(test)
        def run(**fixtures: Any) -> None:
            for row in rows:
                given = dict(zip(keys, row, strict=True))
                try:
                    test(**given, **fixtures)
                except BaseException as error:
                    error.add_note(f"with {given!r:.500}")
                    raise

        signature = inspect.signature(test)
        rest = [p for name, p in signature.parameters.items() if name not in keys]
        run.__signature__ = signature.replace(parameters=rest)  # type: ignore[attr-defined]
        del run.__wrapped__
        return run

    return wrap
