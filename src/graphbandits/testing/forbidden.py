"""What a policy leaves alone: what it has not declared, and the global random numbers."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from graphbandits.errors import NeedsError
from graphbandits.testing.contract import Violation


class Forbidden:
    """Stands for what was not declared: raises on whatever is done with it, and remembers it.

    >>> horizon = Forbidden("the horizon", "Needs(horizon=True)")
    >>> 2 * horizon
    Traceback (most recent call last):
    graphbandits.errors.NeedsError: it looked at the horizon: declare Needs(horizon=True)
    >>> horizon.complain()
    Traceback (most recent call last):
    graphbandits.testing.contract.Violation: it looked at the horizon: declare Needs(horizon=True)
    """

    def __init__(self, what: str, declare: str) -> None:
        self.__dict__.update(_complaint=f"it looked at {what}: declare {declare}", _touched=False)

    def complain(self) -> None:
        """Raise if it was touched, also where the policy caught the error."""
        if self.__dict__["_touched"]:
            raise Violation(self.__dict__["_complaint"])

    def _touch(self, *args: object) -> Any:
        self.__dict__["_touched"] = True
        raise NeedsError(self.__dict__["_complaint"])

    __getattr__ = __getitem__ = __call__ = __contains__ = __array__ = _touch
    __bool__ = __int__ = __index__ = __float__ = __len__ = __iter__ = _touch
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __neg__ = __abs__ = _touch
    __truediv__ = __rtruediv__ = __floordiv__ = __rfloordiv__ = __mod__ = __rmod__ = _touch
    __pow__ = __rpow__ = __matmul__ = __rmatmul__ = __round__ = __format__ = _touch
    __lt__ = __le__ = __gt__ = __ge__ = __eq__ = __ne__ = _touch
    __hash__ = object.__hash__


@contextmanager
def global_generators(seed: int) -> Iterator[Callable[[], bool]]:
    """Both global generators in a state of our own; yields whether they are still in it."""

    def now() -> object:
        state: Any = np.random.get_state()  # noqa: NPY002  to see that nobody used it
        return random.getstate(), state[1].tobytes(), *state[2:]

    before = random.getstate(), np.random.get_state()  # noqa: NPY002
    random.seed(f"testing/{seed}")
    np.random.seed([31, 7, seed])  # noqa: NPY002
    ours = now()
    try:
        yield lambda: now() == ours
    finally:
        random.setstate(before[0])
        np.random.set_state(before[1])  # noqa: NPY002
