"""Tests of service/access.py: the role of a request."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from graphbandits.errors import StoreError
from graphbandits.live.store import AgentStore, open_store
from graphbandits.service import access as access_module
from graphbandits.service.access import (
    ANYONE,
    KEPT_SECONDS,
    ROLES,
    Access,
    ForbiddenError,
    Token,
    UnauthorizedError,
    add_token,
    find_token,
    require,
    revoke_token,
)


class Clock:
    """A clock that a test sets."""

    now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def small(tmp_path: Path) -> AgentStore:
    """A store for tests that do not depend on the kind of the database."""
    return open_store(tmp_path / "small.db")


@pytest.fixture
def queries(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """Number of calls of the functions that make queries."""
    counts = Counter[str]()
    for name in ("find_token", "list_tokens"):
        function = getattr(access_module, name)

        def counted(*args: Any, name: str = name, function: Any = function) -> Any:
            counts[name] += 1
            return function(*args)

        monkeypatch.setattr(access_module, name, counted)
    return counts


def refused(access: Access, header: str | None) -> str:
    """Return the message of a refusal."""
    assert access.known(header) is None
    with pytest.raises(UnauthorizedError) as caught:
        access.role_of(header)
    message = str(caught.value)
    assert len(message.splitlines()) == 1
    return message


# --- roles --------------------------------------------------------------------------------------


def test_a_token_has_its_role(store: AgentStore, clock: Clock) -> None:
    access = Access(store, clock=clock)
    for role in ROLES:
        text, token = add_token(store, role, name=f"my {role}", clock=clock)
        for header in (f"Bearer {text}", f"bearer {text}", f" BEARER   {text} "):
            assert access.role_of(header) == token
            assert access.known(header) == token


@pytest.mark.parametrize("required", [True, False])
def test_other_headers_are_refused(store: AgentStore, clock: Clock, required: bool) -> None:
    access = Access(store, required, clock)
    text, token = add_token(store, "admin", clock=clock)
    short, _ = add_token(store, "admin", name="short", expires=10, clock=lambda: clock.now - 10)
    gone, gone_token = add_token(store, "admin", name="gone", clock=clock)
    revoke_token(store, gone_token.id, clock=clock)
    unknown = "0" * 8 if token.id != "0" * 8 else "1" * 8
    secret = text[12:]
    headers = {
        None: "a token is required",
        "": "must have the form",
        "Bearer": "must have the form",
        "Bearer ": "must have the form",
        text: "must have the form",
        f"Basic {text}": "must have the form",
        f"Token {text}": "must have the form",
        f"Bearer{text}": "must have the form",
        f"Bearer: {text}": "must have the form",
        f"Bearer {secret}": "must have the form",
        f"Bearer {text[1:]}": "must have the form",
        "Bearer gb_": "does not know the token",
        f"Bearer {text[:-1]}": "does not know the token",
        f"Bearer {text}, Bearer {text}": "does not know the token",
        f"Bearer gb_{token.id}_{'0' * 64}": "does not know the token",
        f"Bearer gb_{unknown}_{secret}": "does not know the token",
        f"Bearer {short}": "'short' has expired",
        f"Bearer {gone}": "'gone' was revoked",
    }
    for _ in range(2):
        for header, words in headers.items():
            message = refused(access, header)
            assert words in message
            for hidden in (text, short, gone, secret, short[12:], gone[12:]):
                assert hidden not in message
    assert access.role_of(f"Bearer {text}").role == "admin"


def test_roles_are_ordered() -> None:
    for i, has in enumerate(ROLES):
        for j, needed in enumerate(ROLES):
            if i >= j:
                require(Token("1", "app", has, 0.0), needed)
            else:
                with pytest.raises(ForbiddenError, match=f"'app'.*'{has}'.*'{needed}'"):
                    require(Token("1", "app", has, 0.0), needed)


# --- without tokens -----------------------------------------------------------------------------


def test_without_tokens_every_caller_is_admin_unless_they_are_required(
    store: AgentStore, clock: Clock
) -> None:
    is_open, closed = Access(store, required=False, clock=clock), Access(store, clock=clock)
    for header in (None, "nonsense", "Bearer gb_x"):
        assert is_open.role_of(header) == ANYONE
        assert is_open.known(header) == ANYONE
        refused(closed, header)


@pytest.mark.parametrize("end", ["", "expired", "revoked"])
def test_the_first_token_closes_the_service_for_good(
    store: AgentStore, clock: Clock, end: str
) -> None:
    access = Access(store, required=False, clock=clock)
    assert access.role_of(None).role == "admin"
    _, token = add_token(store, "read", expires=0.5 if end == "expired" else None, clock=clock)
    if end == "revoked":
        revoke_token(store, token.id)
    clock.now += KEPT_SECONDS
    assert access.role_of(None).role == "admin"  # the documented delay
    clock.now += 0.001
    assert "a token is required" in refused(access, None)
    clock.now += 1000
    assert "a token is required" in refused(access, None)
    assert "a token is required" in refused(Access(store, required=False, clock=clock), None)


# --- kept answers -------------------------------------------------------------------------------


def test_a_valid_token_needs_one_query_in_two_seconds(
    small: AgentStore, clock: Clock, queries: Counter[str]
) -> None:
    text, _ = add_token(small, "read", clock=clock)
    access, header = Access(small, clock=clock), f"Bearer {text}"
    assert access.known(header) is None
    for _ in range(5):
        access.role_of(header)
        clock.now += 0.5
    assert queries["find_token"] == 1
    clock.now += 0.001
    assert access.known(header) is None
    access.role_of(header)
    assert queries == {"find_token": 2}


def test_a_revoked_token_is_refused_after_two_seconds(store: AgentStore, clock: Clock) -> None:
    text, token = add_token(store, "admin", clock=clock)
    access, header = Access(store, clock=clock), f"Bearer {text}"
    access.role_of(header)
    clock.now += 0.1
    revoke_token(store, token.id, clock=clock)
    clock.now += KEPT_SECONDS - 0.1
    assert access.role_of(header).role == "admin"  # the documented delay
    clock.now += 0.001
    assert "was revoked" in refused(access, header)
    clock.now -= 2  # also if the clock is set back then
    assert access.role_of(header).role == "admin"
    clock.now -= 0.5
    assert "was revoked" in refused(access, header)


def test_the_two_seconds_start_before_the_query(
    small: AgentStore, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A token may be revoked after its row was read, while the answer is on its way."""
    text, token = add_token(small, "admin", clock=clock)

    def slow(store: AgentStore, text: str) -> Token | None:
        found = find_token(store, text)
        clock.now += 1.5
        return found

    monkeypatch.setattr(access_module, "find_token", slow)
    access, header = Access(small, clock=clock), f"Bearer {text}"
    access.role_of(header)
    revoke_token(small, token.id)
    clock.now += 0.501
    assert "was revoked" in refused(access, header)


def test_a_token_that_is_kept_expires_in_time(small: AgentStore, clock: Clock) -> None:
    text, _ = add_token(small, "admin", expires=1, clock=clock)
    access, header = Access(small, clock=clock), f"Bearer {text}"
    access.role_of(header)
    clock.now += 0.999
    assert access.known(header)
    clock.now += 0.001
    assert "has expired" in refused(access, header)


def test_kept_tokens_are_bounded_and_hashed(
    small: AgentStore, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(access_module, "MAX_KEPT", 3)
    access = Access(small, clock=clock)
    texts = [add_token(small, "read", clock=clock)[0] for _ in range(8)]
    for step in (0.0, 1.0):
        for text in texts * 3:
            assert access.role_of(f"Bearer {text}").role == "read"
            assert len(access._kept) <= 3
            clock.now += step
    shown = repr(vars(access))
    assert not [text for text in texts if text in shown or text[12:] in shown]


# --- database and threads -----------------------------------------------------------------------


@pytest.mark.parametrize("required", [True, False])
def test_the_file_of_the_store_is_away(
    small: AgentStore, tmp_path: Path, clock: Clock, required: bool
) -> None:
    text, _ = add_token(small, "admin", clock=clock)
    other, _ = add_token(small, "admin", clock=clock)
    access = Access(small, required, clock)
    access.role_of(f"Bearer {text}")
    away = tmp_path / "away"
    away.mkdir()
    for file in tmp_path.glob("small.db*"):
        os.rename(file, away / file.name)
    small.close()
    assert access.role_of(f"Bearer {text}").role == "admin"
    with pytest.raises(StoreError, match="no store of agents"):
        access.role_of(f"Bearer {other}")
    clock.now += KEPT_SECONDS + 0.001
    with pytest.raises(StoreError, match="no store of agents"):
        access.role_of(f"Bearer {text}")
    for file in away.iterdir():
        os.rename(file, tmp_path / file.name)
    for valid in (text, other):
        assert access.role_of(f"Bearer {valid}").role == "admin"
