"""Tokens, roles, and the access of a request."""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from graphbandits.errors import (
    GraphBanditsError,
    InputError,
    NotFoundError,
    StoreError,
    nearest,
    short_repr,
)
from graphbandits.live._database import Row
from graphbandits.live.deciding import check_lifetime
from graphbandits.live.methods import seconds_of
from graphbandits.live.store import AgentStore
from graphbandits.live.views import iso_time

#: Roles in increasing order: each one allows all that the ones before it allow.
ROLES = ("read", "decide", "admin")

_MAX_CHARACTERS = 200
_TEXT = re.compile("gb_([0-9a-f]{8})_([0-9a-f]{64})")
_SELECT = "SELECT id, name, role, created, expires, revoked FROM graphbandits_tokens"
_INSERT = """INSERT INTO graphbandits_tokens (id, hash, name, role, created, expires)
    VALUES (?, ?, ?, ?, ?, ?)"""


@dataclass(frozen=True)
class Token:
    """A token without its secret."""

    id: str
    name: str
    role: str
    created: float
    expires: float | None = None
    revoked: float | None = None

    def state(self, now: float) -> str:
        # a revoked token stays so if a clock goes back: the time of the revocation is not compared
        if self.revoked is not None:
            return "revoked"
        return "valid" if self.expires is None or now < self.expires else "expired"

    def to_dict(self, now: float) -> dict[str, Any]:
        return {
            "id": self.id,
            "name": self.name,
            "role": self.role,
            "created": iso_time(self.created),
            "expires": iso_time(self.expires),
            "state": self.state(now),
        }


def add_token(
    store: AgentStore,
    role: str,
    *,
    name: str | None = None,
    expires: float | timedelta | None = None,
    clock: Callable[[], float] = time.time,
) -> tuple[str, Token]:
    if role not in ROLES:
        raise InputError(f"a role is read, decide or admin, not {short_repr(role)}")
    valid = isinstance(name, str) and 0 < len(name) <= _MAX_CHARACTERS and name.isprintable()
    if name is not None and not valid:
        raise InputError(
            f"the name of a token has 1 to {_MAX_CHARACTERS} printable characters, "
            f"not {short_repr(name)}"
        )
    created = float(clock())
    end = None if expires is None else created + check_lifetime(seconds_of(expires))
    id_, secret = secrets.token_hex(4), secrets.token_hex(32)
    with store._connection() as one, one.transaction(one.database.begin_write):
        one.run(_INSERT, (id_, _hash(secret), name or id_, role, created, end))
    return f"gb_{id_}_{secret}", Token(id_, name or id_, role, created, end)


def list_tokens(store: AgentStore) -> list[Token]:
    """Return all tokens, also expired and revoked ones."""
    with store._connection() as connection:
        rows = connection.rows(f"{_SELECT} ORDER BY created, id")
    return [Token(*row) for row in rows]


def revoke_token(store: AgentStore, id: str, *, clock: Callable[[], float] = time.time) -> Token:
    """Revoke a token. It stays in the list; revoking it again changes nothing."""
    # of a text that looks like a token, an error shows the id only
    given = id.split("_")[1] if id.startswith("gb_") else id
    known = [token.id for token in list_tokens(store)]
    if given not in known:
        hint = nearest(given, known) if known else "it has no tokens"
        raise NotFoundError(f"no token {short_repr(given, most=20)} in {store.place}: {hint}")
    with store._connection() as one, one.transaction(one.database.begin_write):
        query = "UPDATE graphbandits_tokens SET revoked = ? WHERE id = ? AND revoked IS NULL"
        one.run(query, (float(clock()), given))
        [row] = one.rows(f"{_SELECT} WHERE id = ?", (given,))
    return Token(*row)


def find_token(store: AgentStore, text: str) -> Token | None:
    """Return the token with this text; it may have expired or be revoked."""
    parts = _TEXT.fullmatch(text)
    if not parts:
        return None
    id_, secret = parts.groups()
    with store._connection() as connection:
        query = "SELECT hash, id, name, role, created, expires, revoked FROM graphbandits_tokens"
        rows = connection.rows(f"{query} WHERE id = ?", (id_,))
    # an unknown id is compared, too: otherwise the time would show which ids exist
    stored: Row = rows[0] if rows else ("0" * 64,)
    equal = hmac.compare_digest(stored[0], _hash(secret))
    return Token(*stored[1:]) if rows and equal else None


def _hash(secret: str) -> str:
    # no slow hash: a secret of 256 random bits cannot be guessed
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


#: Seconds for which the answers of the store are used again. A revoked token is refused, and the
#: first token of a store is required, after this time at the latest.
KEPT_SECONDS = 2.0
#: Largest number of tokens that are kept in memory.
MAX_KEPT = 1000


class UnauthorizedError(GraphBanditsError):
    """A request without a valid token."""


class ForbiddenError(GraphBanditsError):
    """A request that the role of its token does not allow."""


#: Who sends a request to a service without tokens.
ANYONE = Token("", "", "admin", 0.0)


class Access:
    """Roles of requests. Threads may share it.

    Valid tokens are kept in memory for ``KEPT_SECONDS``, in which they work without the database.
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
        # by a hash, so that a dump of the memory does not have them; each with the time before its
        # query, because it may have been revoked during the query
        self._kept: dict[str, tuple[Token, float]] = {}
        self._without_tokens: float | None = None

    def role_of(self, authorization: str | None) -> Token:
        """Return who sends a request. This may need a query, so call it in a thread."""
        caller = self.known(authorization)
        if caller:
            return caller
        now = self._clock()
        try:
            if not self._required and not list_tokens(self._store):
                self._without_tokens = now
                return ANYONE
            text = _token_of(authorization)
            token = find_token(self._store, text)
        except InputError as error:  # the file of the store was removed
            raise StoreError(str(error)) from error
        if not token:
            raise UnauthorizedError(
                "this service does not know the token: check it, or create one with "
                "'graphbandits token add'"
            )
        if token.state(now) != "valid":
            what = "was revoked" if token.revoked is not None else "has expired"
            raise UnauthorizedError(
                f"the token '{token.name}' {what}: create one with 'graphbandits token add'"
            )
        if len(self._kept) >= MAX_KEPT:
            self._kept.clear()
        self._kept[_hash(text)] = token, now
        return token

    def known(self, authorization: str | None) -> Token | None:
        """Return who sends a request, if that is known without a query."""
        now = self._clock()
        if self._without_tokens is not None and _is_recent(self._without_tokens, now):
            return ANYONE
        try:
            found = self._kept.get(_hash(_token_of(authorization)))
        except UnauthorizedError:
            return None
        if not found:
            return None
        token, since = found
        return token if _is_recent(since, now) and token.state(now) == "valid" else None


def require(caller: Token, role: str) -> None:
    if ROLES.index(caller.role) < ROLES.index(role):
        raise ForbiddenError(
            f"the token '{caller.name}' has the role '{caller.role}', and this request needs "
            f"'{role}': use a token with this role"
        )


def _token_of(authorization: str | None) -> str:
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


def _is_recent(since: float, now: float) -> bool:
    """Return whether an answer is used again; not if the clock was set back."""
    return 0 <= now - since <= KEPT_SECONDS
