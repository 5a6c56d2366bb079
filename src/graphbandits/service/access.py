"""Access to the decision service: the role of a request, from its token."""

from __future__ import annotations

import hashlib
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from graphbandits.errors import GraphBanditsError, InputError, StoreError
from graphbandits.live.store import AgentStore
from graphbandits.service.tokens import ROLES, Token, find_token, has_tokens

#: Seconds for which the answers of the store are used again. A revoked token is refused, and the
#: first token of a store is required, after this time at the latest.
KEPT_SECONDS = 2.0
#: Largest number of tokens that are kept in memory.
MOST_KEPT = 1000


class UnauthorizedError(GraphBanditsError):
    """A request without a valid token."""


class ForbiddenError(GraphBanditsError):
    """A request that the role of its token does not allow."""


@dataclass(frozen=True)
class Caller:
    """Who sends a request.

    Attributes
    ----------
    role : str
        "read", "decide" or "admin".
    name : str or None
        Name of the token; None without one.
    id : str or None
        Id of the token; None without one.
    """

    role: str
    name: str | None = None
    id: str | None = None


class Access:
    """Roles of requests. Threads may share it.

    Valid tokens are kept in memory for ``KEPT_SECONDS``: in this time a token needs no query, and
    works although the database is away. Texts that are no valid tokens are not kept, so a new token
    is valid at once.

    Parameters
    ----------
    store : AgentStore
        The store with the tokens.
    required : bool, default=True
        Whether tokens are required although the store has none. If not, every request to a store
        without tokens has the role "admin"; use this on loopback addresses only.
    clock : callable, default=time.time
        Function that returns the time in seconds since 1970.
    """

    def __init__(
        self,
        store: AgentStore,
        required: bool = True,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._store = store
        self._required = required
        self._clock = clock
        self._lock = threading.Lock()
        # by a hash, so that a dump of the memory does not have them; each with the time before its
        # query, because it may have been revoked during the query
        self._kept: dict[bytes, tuple[Token, float]] = {}
        self._without_tokens: float | None = None

    def role_of(self, authorization: str | None) -> Caller:
        """Return who sends a request. This may need a query, so call it in a thread.

        Parameters
        ----------
        authorization : str or None
            Value of the header Authorization; None without this header.

        Returns
        -------
        Caller
            The role, and the name of the token.

        Raises
        ------
        UnauthorizedError
            If a token is required, and this is none, or it is not valid.
        StoreError
            If the database does not work at the moment.
        """
        caller = self.known(authorization)
        if caller:
            return caller
        now = self._clock()
        try:
            if not self._required and not has_tokens(self._store):
                self._without_tokens = now
                return Caller("admin")
            text = _token_of(authorization)
            token = find_token(self._store, text)
        except InputError as error:  # the file of the store was removed
            raise StoreError(str(error)) from error
        if not token:
            raise UnauthorizedError(
                "this service does not know the token: check it, or create one with "
                "'graphbandits token add'"
            )
        state = token.state(now)
        if state != "valid":
            what = "has expired" if state == "expired" else "was revoked"
            raise UnauthorizedError(
                f"the token '{token.name}' {what}: create one with 'graphbandits token add'"
            )
        self._keep(text, token, now)
        return _caller(token)

    def known(self, authorization: str | None) -> Caller | None:
        """Return who sends a request, if that is known without a query.

        Parameters
        ----------
        authorization : str or None
            Value of the header Authorization; None without this header.

        Returns
        -------
        Caller or None
            The same as that of :meth:`role_of`; None if it needs a query, or would raise an error.
        """
        now = self._clock()
        if self._without_tokens is not None and _is_recent(self._without_tokens, now):
            return Caller("admin")
        try:
            key = _key(_token_of(authorization))
        except UnauthorizedError:
            return None
        found = self._kept.get(key)
        if not found:
            return None
        token, since = found
        return _caller(token) if _is_recent(since, now) and token.state(now) == "valid" else None

    def _keep(self, text: str, token: Token, now: float) -> None:
        with self._lock:
            if len(self._kept) >= MOST_KEPT:
                recent = {key: one for key, one in self._kept.items() if _is_recent(one[1], now)}
                self._kept = recent if len(recent) < MOST_KEPT else {}
            self._kept[_key(text)] = token, now


def require(caller: Caller, role: str) -> None:
    """Raise ForbiddenError if the role of a request does not allow it.

    Parameters
    ----------
    caller : Caller
        Who sends the request.
    role : str
        The least role that may send it.

    Raises
    ------
    ForbiddenError
        If the role is too low.

    Examples
    --------
    >>> require(Caller("decide", "app"), "read")
    >>> require(Caller("decide", "app"), "admin")
    Traceback (most recent call last):
        ...
    graphbandits.service.access.ForbiddenError: the token 'app' has the role 'decide', and this
    request needs 'admin': use a token with this role
    """
    if ROLES.index(caller.role) < ROLES.index(role):
        raise ForbiddenError(
            f"the token '{caller.name}' has the role '{caller.role}', and this request needs "
            f"'{role}': use a token with this role"
        )


def _token_of(authorization: str | None) -> str:
    """Return the text of the token in a header; raise UnauthorizedError if there is none."""
    if authorization is None:
        raise UnauthorizedError(
            "a token is required: send the header 'Authorization: Bearer gb_...' with a token that "
            "'graphbandits token add' has created"
        )
    scheme, _, text = authorization.strip().partition(" ")
    text = text.strip()
    if scheme.lower() != "bearer" or not text.startswith("gb_"):
        raise UnauthorizedError("the header Authorization must have the form 'Bearer gb_...'")
    return text


def _key(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()


def _is_recent(since: float, now: float) -> bool:
    """Return whether an answer is used again; not if the clock was set back."""
    return 0 <= now - since <= KEPT_SECONDS


def _caller(token: Token) -> Caller:
    return Caller(token.role, token.name, token.id)
