"""Several cases of one fact in one test."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any


def each(
    names: str | Sequence[str], cases: Iterable[Any] | Mapping[str, Any]
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Run a test for each case, as one item; an error names its case.

    The arguments are those of ``pytest.mark.parametrize``. Cases share the fixtures of the item.
    The keys of a mapping are names of cases.
    """
    known = [names] if isinstance(names, str) else list(names)

    def decorate(test: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(test)
        def loop(*args: Any, **fixtures: Any) -> None:
            labelled = cases.items() if isinstance(cases, Mapping) else enumerate(cases)
            for label, case in labelled:
                values = [case] if isinstance(names, str) else list(case)
                try:
                    test(*args, **fixtures, **dict(zip(known, values, strict=True)))
                except BaseException as error:
                    error.add_note(f"case {label}: {names} = {case!r}")
                    raise

        signature = inspect.signature(test)
        rest = [one for name, one in signature.parameters.items() if name not in known]
        loop.__signature__ = signature.replace(parameters=rest)  # type: ignore[attr-defined]
        return loop

    return decorate
