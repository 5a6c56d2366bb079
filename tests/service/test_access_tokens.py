"""Tests of service/access.py: tokens in a store."""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphbandits.errors import InputError, NotFoundError
from graphbandits.live.store import AgentStore, open_store
from graphbandits.service.access import (
    ROLES,
    Token,
    add_token,
    find_token,
    has_tokens,
    has_valid_token,
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
        f"{text} ",
        f"{text}\n",
        f" {text}",
        text[:-1],
        text + "0",
        text[3:],
        text.upper(),
        f"gb_{id_}_",
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


def test_every_changed_character_makes_another_text(small: AgentStore) -> None:
    text, token = add_token(small, "admin")
    for place, letter in enumerate(text):
        new = "0" if letter != "0" else "1"
        assert find_token(small, text[:place] + new + text[place + 1 :]) is None
    assert find_token(small, text) == token


def test_a_token_of_another_store_is_unknown(store: AgentStore, tmp_path: Path) -> None:
    text, token = add_token(store, "admin", clock=at(5))
    revoked = revoke_token(store, add_token(store, "read", clock=at(6))[1].id, clock=at(7))
    with open_store(tmp_path / "other.db") as other:
        assert find_token(other, text) is None
        add_token(other, "admin")
        assert find_token(other, text) is None
    with open_store(tmp_path / "copy.db") as copy:
        store.copy_to(copy)  # a copy of a store has its tokens
        assert find_token(copy, text) == token
        assert list_tokens(copy) == [token, revoked]


def test_an_id_of_another_store_does_not_help(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    draw = secrets.token_hex
    monkeypatch.setattr(secrets, "token_hex", lambda n: "1a2b3c4d" if n == 4 else draw(n))
    texts = []
    for name in ("a.db", "b.db"):
        with open_store(tmp_path / name) as opened:
            texts.append(add_token(opened, "admin")[0])
            assert find_token(opened, texts[-1])
    assert parts(texts[0])[0] == parts(texts[1])[0]
    with open_store(tmp_path / "b.db") as opened:
        assert find_token(opened, texts[0]) is None


def test_an_id_that_exists_is_not_used_again(
    store: AgentStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, token = add_token(store, "read")
    draw, ids = secrets.token_hex, [token.id, token.id, "0a0b0c0d"]
    monkeypatch.setattr(secrets, "token_hex", lambda n: ids.pop(0) if n == 4 else draw(n))
    second, other = add_token(store, "admin")
    assert ids == []
    assert other.id == "0a0b0c0d"
    assert find_token(store, first) == token
    assert find_token(store, second) == other


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


def test_dictionary_of_a_token() -> None:
    token = Token("1a2b3c4d", "app", "read", 0.0, 86400.0, None)
    assert token.to_dict(5.0) == {
        "id": "1a2b3c4d",
        "name": "app",
        "role": "read",
        "created": "1970-01-01T00:00:00+00:00",
        "expires": "1970-01-02T00:00:00+00:00",
        "state": "valid",
    }


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


def test_whether_a_store_has_tokens(store: AgentStore) -> None:
    assert (has_tokens(store), has_valid_token(store, 0)) == (False, False)
    _, token = add_token(store, "read", expires=10, clock=at(0))
    assert (has_tokens(store), has_valid_token(store, 9)) == (True, True)
    assert (has_tokens(store), has_valid_token(store, 10)) == (True, False)
    _, lasting = add_token(store, "read", clock=at(0))
    assert has_valid_token(store, 10)
    revoke_token(store, lasting.id)
    assert (has_tokens(store), has_valid_token(store, 10)) == (True, False)
    assert has_valid_token(store, 9)
    revoke_token(store, token.id)
    assert (has_tokens(store), has_valid_token(store, 9)) == (True, False)


# --- bad input ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "arguments",
    [
        {"role": "write"},
        {"role": "Admin"},
        {"role": ""},
        {"role": None},
        {"role": ["read"]},
        {"name": ""},
        {"name": "x" * 201},
        {"name": "a\nb"},
        {"name": "a\0b"},
        {"name": "\ud800"},
        {"name": "\x1b[31m"},
        {"name": 5},
        {"expires": 0},
        {"expires": -1},
        {"expires": float("nan")},
        {"expires": float("inf")},
        {"expires": 1e12},
        {"expires": 10**400},
        {"expires": timedelta(0)},
        {"expires": "30d"},
        {"expires": True},
    ],
    ids=lambda one: repr(one)[:40],
)
def test_invalid_tokens_are_refused(small: AgentStore, arguments: dict[str, Any]) -> None:
    given_arguments: dict[str, Any] = {"role": "read"} | arguments
    with pytest.raises(InputError) as caught:
        add_token(small, **given_arguments)
    assert len(str(caught.value).splitlines()) == 1
    assert not has_tokens(small)


@given(role=st.sampled_from(ROLES), name=st.text(min_size=1, max_size=200).filter(str.isprintable))
def test_names_come_back(tmp_path_factory: pytest.TempPathFactory, role: str, name: str) -> None:
    with open_store(tmp_path_factory.getbasetemp() / "names.db") as opened:
        text, token = add_token(opened, role, name=name)
        assert (token.role, token.name) == (role, name)
        assert find_token(opened, text) == token


# --- several users ------------------------------------------------------------------------------


def test_other_processes_see_changes_at_once(store: AgentStore, store_url: str) -> None:
    with open_store(store_url, must_exist=True) as other:
        text, token = add_token(store, "read")
        assert find_token(other, text) == token
        revoked = revoke_token(other, token.id)
        assert find_token(store, text) == revoked


def test_threads_add_and_revoke_at_once(store: AgentStore) -> None:
    def work(number: int) -> list[str]:
        texts = [add_token(store, "read", name=f"{number}-{i}")[0] for i in range(5)]
        for text in texts:
            assert find_token(store, text)
        revoke_token(store, texts[0])
        return texts

    with ThreadPoolExecutor(6) as pool:
        texts = [text for found in pool.map(work, range(6)) for text in found]
    assert len({parts(text)[0] for text in texts}) == 30
    states = [one.state(0) for one in list_tokens(store)]
    assert (states.count("valid"), states.count("revoked")) == (24, 6)
