"""Tests of service/access.py: tokens in a store."""

from __future__ import annotations

import hashlib
import hmac
import re
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from graphbandits.errors import InputError, NotFoundError
from graphbandits.live.store import AgentStore, open_store
from graphbandits.service.access import (
    Token,
    add_token,
    find_token,
    list_tokens,
    revoke_token,
)


def at(seconds: float) -> Any:
    return lambda: seconds


def parts(text: str) -> tuple[str, str]:
    """Return the id and the secret of the text of a token."""
    _, id_, secret = text.split("_")
    return id_, secret


@pytest.fixture
def small(tmp_path: Path) -> AgentStore:
    """A store for tests that do not depend on the kind of the database."""
    return open_store(tmp_path / "small.db")


def test_a_token_is_found_by_its_text(store: AgentStore) -> None:
    made = [
        add_token(store, "read", clock=at(10)),
        add_token(store, "decide", name="app ü [1]", expires=60, clock=at(20.5)),
        add_token(store, "admin", name="app ü [1]", expires=timedelta(days=1), clock=at(30)),
    ]
    for text, token in made:
        assert re.fullmatch("gb_[0-9a-f]{8}_[0-9a-f]{64}", text)
        assert parts(text)[0] == token.id
        assert find_token(store, text) == token
    tokens = [token for _, token in made]
    assert list_tokens(store) == tokens
    assert [(one.name, one.role, one.created, one.expires) for one in tokens] == [
        (tokens[0].id, "read", 10, None),
        ("app ü [1]", "decide", 20.5, 80.5),
        ("app ü [1]", "admin", 30, 86430),
    ]
    assert len({text for text, _ in made}) == 3
    assert len({parts(text)[1] for text, _ in made}) == 3


def test_other_texts_find_no_token(store: AgentStore) -> None:
    text, _ = add_token(store, "admin")
    other, _ = add_token(store, "admin")
    (id_, secret), (id_2, secret_2) = parts(text), parts(other)
    unknown = "00000000" if "00000000" not in (id_, id_2) else "11111111"
    for wrong in (
        f"gb_{id_}_{secret_2}",
        f"gb_{unknown}_{secret}",
        f"gb_{id_}_{'0' * 64}",
        f"gb_{id_}_{hashlib.sha256(secret.encode()).hexdigest()}",
        f"gb_{id_}_{secret.upper()}",
        f"{text}\n",
        text[:-1],
        text[3:],
        f"gb__{secret}",
        secret,
        id_,
        "",
        "gb_",
        f"gb_{id_}_{'٣' * 64}",
        f"gb_{id_}_{secret}\0",
        "\ud800",
    ):
        assert find_token(store, wrong) is None, wrong


def test_the_secret_is_not_in_the_database(store: AgentStore, store_url: str) -> None:
    text, token = add_token(store, "admin", name="app")
    _, secret = parts(text)
    find_token(store, text)
    revoke_token(store, text)
    with store._connection() as connection:
        [row] = connection.rows("SELECT * FROM graphbandits_tokens")
    assert row[:4] == (token.id, hashlib.sha256(secret.encode()).hexdigest(), "app", "admin")
    if "://" not in store_url:
        for _ in range(2):
            files = list(Path(store_url).parent.iterdir())
            contents = b"".join(file.read_bytes() for file in files)
            assert token.id.encode() in contents
            for hidden in (secret, secret[:16], secret[-16:]):
                assert hidden.encode() not in contents
            assert bytes.fromhex(secret) not in contents
            store.close()  # everything is moved into one file


def test_tokens_do_not_show_secret_or_hash(small: AgentStore) -> None:
    text, token = add_token(small, "admin")
    _, secret = parts(text)
    found = find_token(small, text)
    assert found is not None
    for shown in (token, found, token.to_dict(0), list_tokens(small), small):
        assert secret not in repr(shown)
        assert hashlib.sha256(secret.encode()).hexdigest() not in repr(shown)


def test_an_unknown_id_is_compared_as_a_known_one(
    small: AgentStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    text, token = add_token(small, "admin")
    compared = []
    compare = hmac.compare_digest

    def spy(a: str, b: str) -> bool:
        compared.append((len(a), len(b)))
        return compare(a, b)

    monkeypatch.setattr(hmac, "compare_digest", spy)
    unknown = "0" * 8 if token.id != "0" * 8 else "1" * 8
    for given_text in (text, f"gb_{token.id}_{'0' * 64}", f"gb_{unknown}_{'0' * 64}"):
        find_token(small, given_text)
    assert compared == [(64, 64)] * 3


# --- states -------------------------------------------------------------------------------------


def test_states() -> None:
    for expires, revoked, now, state in (
        (None, None, 1e12, "valid"),
        (10.0, None, 9.999, "valid"),
        (10.0, None, 10.0, "expired"),
        (None, 5.0, 6.0, "revoked"),
        (None, 5.0, 4.0, "revoked"),  # a clock was set back
        (None, 0.0, 4.0, "revoked"),
        (10.0, 5.0, 20.0, "revoked"),
    ):
        assert Token("1a2b3c4d", "x", "read", 0.0, expires, revoked).state(now) == state


def test_revocation_stays(store: AgentStore) -> None:
    text, token = add_token(store, "decide", clock=at(1))
    other_text, other = add_token(store, "decide", clock=at(2))
    revoked = revoke_token(store, token.id, clock=at(50))
    assert revoked == Token(token.id, token.id, "decide", 1, None, 50)
    assert revoke_token(store, token.id, clock=at(60)) == revoked
    assert find_token(store, text) == revoked
    assert find_token(store, other_text) == other
    assert list_tokens(store) == [revoked, other]


def test_a_token_is_revoked_by_its_text(small: AgentStore) -> None:
    text, token = add_token(small, "decide")
    assert revoke_token(small, text).id == token.id
    assert revoke_token(small, f"gb_{token.id}").id == token.id
    assert list_tokens(small)[0].state(0) == "revoked"


def test_an_unknown_id_cannot_be_revoked(store: AgentStore) -> None:
    with pytest.raises(NotFoundError, match="it has no tokens"):
        revoke_token(store, "1a2b3c4d")
    text, token = add_token(store, "decide")
    id_, secret = parts(text)
    near = id_[:-1] + ("0" if id_[-1] != "0" else "1")
    with pytest.raises(NotFoundError, match=rf"'{near}'.*did you mean '{id_}'\?"):
        revoke_token(store, near)
    for unknown in ("", "gb_", "_", "x\0", "\ud800", f"gb_{near}_{secret}", secret, f"{text[1:]}"):
        with pytest.raises(NotFoundError, match=id_) as caught:
            revoke_token(store, unknown)
        assert secret not in str(caught.value)
        assert text not in str(caught.value)
    assert list_tokens(store) == [token]


# --- bad input ----------------------------------------------------------------------------------


def test_invalid_tokens_are_refused(small: AgentStore) -> None:
    for arguments in [
        {"role": "write"},
        {"role": ""},
        {"role": ["read"]},
        {"name": "x" * 201},
        {"name": "a\0b"},
        {"name": "\x1b[31m"},
        {"expires": 0},
        {"expires": float("nan")},
        {"expires": 1e12},
        {"expires": timedelta(0)},
        {"expires": True},
    ]:
        given_arguments: dict[str, Any] = {"role": "read"} | arguments
        with pytest.raises(InputError) as caught:
            add_token(small, **given_arguments)
        assert len(str(caught.value).splitlines()) == 1
        assert not list_tokens(small)


# --- several users ------------------------------------------------------------------------------
