"""Several cases of one fact in one test."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any


@contextmanager
def case_named(text: str) -> Iterator[None]:
    """Add the name of a case to an error."""
    try:
        yield
    except BaseException as error:
        error.add_note(text)
        raise


def each(
    names: str | Sequence[str], cases: Iterable[Any]
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Run a test for each case, as one item; an error names its case.

    The arguments are those of ``pytest.mark.parametrize``. Cases share the fixtures of the item.
    """
    known = [one.strip() for one in names.split(",")] if isinstance(names, str) else list(names)
    alone = isinstance(names, str) and len(known) == 1

    def decorate(test: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(test)
        def loop(*args: Any, **fixtures: Any) -> None:
            for k, case in enumerate(cases):
                values = [case] if alone else list(case)
                with case_named(f"case {k}: {names} = {case!r}"):
                    test(*args, **fixtures, **dict(zip(known, values, strict=True)))

        signature = inspect.signature(test)
        rest = [one for name, one in signature.parameters.items() if name not in known]
        loop.__signature__ = signature.replace(parameters=rest)  # type: ignore[attr-defined]
        return loop

    return decorate


def lister(found: list[tuple[type, str, str]], **options: bool) -> Callable[..., Any]:
    """Return a decorator ``fails(check, saying)`` that adds mutants of plug-ins to a list."""

    def fails(check: str, saying: str) -> Callable[[type], type]:
        def note(cls: type) -> type:
            found.append((dataclass(frozen=True, **options)(cls), check, saying))
            return found[-1][0]

        return note

    return fails
