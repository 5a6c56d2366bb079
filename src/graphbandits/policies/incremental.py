"""Marks of policies that learn outcomes one by one, from own plays only or from all plays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

Method = TypeVar("Method", bound=Callable[..., Any])


def learns_outcomes(method: Method) -> Method:
    """Mark a method ``update`` that passes the outcomes of ``learns_from`` to ``learn``.

    Outcomes of several rounds can then be learned together, with the same bits as one after the
    other, if the posterior is not discounted.
    """
    method.__dict__["learns_outcomes"] = method
    return method


def delegates(method: Method) -> Method:
    """Mark a method ``update`` that only calls ``update`` of the policy ``inner``."""
    method.__dict__["delegates"] = method
    return method


def selects(own_plays: bool) -> Callable[[Method], Method]:
    """Mark a method ``learns_from`` that selects the outcomes of own plays, or all outcomes."""

    def mark(method: Method) -> Method:
        method.__dict__["own_plays"] = own_plays
        return method

    return mark


def own_plays_only(policy: object) -> bool | None:
    """Return whether a policy learns from own plays only; None if its methods have no marks.

    A class that overrides ``update`` or ``learns_from`` has no mark, even if the new method copies
    the attributes of the old one.

    >>> from graphbandits.policies import as_policy
    >>> own_plays_only(as_policy("ts")), own_plays_only(as_policy("ts-n"))
    (True, False)
    """
    cls = type(policy)
    if _has_mark(cls, "delegates"):
        cls = type(getattr(policy, "inner", None))
    if not _has_mark(cls, "learns_outcomes"):
        return None
    own: bool | None = getattr(getattr(cls, "learns_from", None), "own_plays", None)
    return own


def _has_mark(cls: type, mark: str) -> bool:
    update = getattr(cls, "update", None)
    return update is not None and getattr(update, mark, None) is update
