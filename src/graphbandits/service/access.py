"""Tokens, roles, and the access of a request."""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
import threading
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
    check_positive,
    nearest,
    short_repr,
)
from graphbandits.live._database import Row
from graphbandits.live.store import AgentStore
from graphbandits.live.values import MOST_SECONDS
from graphbandits.live.views import iso_time

#: Roles in increasing order: each one allows all that the ones before it allow.
ROLES = ("read", "decide", "admin")

_MOST_CHARACTERS = 200
_TEXT = re.compile("gb_([0-9a-f]{8})_([0-9a-f]{64})")
_SELECT = "SELECT id, name, role, created, expires, revoked FROM graphbandits_tokens"
_INSERT = """INSERT INTO graphbandits_tokens (id, hash, name, role, created, expires)
    VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO NOTHING"""


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
    valid = isinstance(name, str) and 0 < len(name) <= _MOST_CHARACTERS and name.isprintable()
    if name is not None and not valid:
        raise InputError(
            f"the name of a token has 1 to {_MOST_CHARACTERS} printable characters, "
            f"not {short_repr(name)}"
        )
    created = float(clock())
    end = None if expires is None else created + _lifetime(expires)
    added = 0
    while not added:  # ids are random; another token may have this one
        id_, secret = secrets.token_hex(4), secrets.token_hex(32)
        values = (id_, _hash(secret), name or id_, role, created, end)
        with store._connection() as connection:
            database = connection.database
            with connection.transaction(database.begin_write):
                added = connection.run(_INSERT, values)
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
    with store._connection() as connection:
        database = connection.database
        with connection.transaction(database.begin_write):
            query = "UPDATE graphbandits_tokens SET revoked = ? WHERE id = ? AND revoked IS NULL"
            connection.run(query, (float(clock()), given))
            [row] = connection.rows(f"{_SELECT} WHERE id = ?", (given,))
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


def has_tokens(store: AgentStore) -> bool:
    """Return whether the store has tokens; expired and revoked ones count."""
    with store._connection() as connection:
        return bool(connection.rows("SELECT 1 FROM graphbandits_tokens LIMIT 1"))


def has_valid_token(store: AgentStore, now: float) -> bool:
    return any(token.state(now) == "valid" for token in list_tokens(store))


def _hash(secret: str) -> str:
    # no slow hash: a secret of 256 random bits cannot be guessed
    return hashlib.sha256(secret.encode("ascii")).hexdigest()


def _lifetime(value: float | timedelta) -> float:
    seconds = value.total_seconds() if isinstance(value, timedelta) else value
    seconds = check_positive(seconds, "expires (a timedelta, or seconds)")
    if seconds > MOST_SECONDS:
        raise InputError(f"expires must be at most {MOST_SECONDS:g} seconds, not {seconds:g}")
    return seconds


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
    """Who sends a request."""

    role: str
    name: str | None = None
    id: str | None = None


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
        self._lock = threading.Lock()
        # by a hash, so that a dump of the memory does not have them; each with the time before its
        # query, because it may have been revoked during the query
        self._kept: dict[bytes, tuple[Token, float]] = {}
        self._without_tokens: float | None = None

    def role_of(self, authorization: str | None) -> Caller:
        """Return who sends a request. This may need a query, so call it in a thread."""
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
        """Return who sends a request, if that is known without a query."""
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


def _key(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()


def _is_recent(since: float, now: float) -> bool:
    """Return whether an answer is used again; not if the clock was set back."""
    return 0 <= now - since <= KEPT_SECONDS


def _caller(token: Token) -> Caller:
    return Caller(token.role, token.name, token.id)
