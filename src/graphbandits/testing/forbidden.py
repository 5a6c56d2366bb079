"""A stand-in for what a policy has not declared: it notices when it is looked at."""

from __future__ import annotations

from typing import Any

from graphbandits.errors import NeedsError
from graphbandits.testing.contract import Violation


class Forbidden:
    """Raises on whatever is done with it, and remembers that something was.

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
