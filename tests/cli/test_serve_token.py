"""Tests of cli/serve.py: tokens of the service on the command line."""

from __future__ import annotations

import re
import time
from datetime import datetime
from pathlib import Path

import pytest
from helpers.bad_input import tree
from helpers.command_line import RUNNER, answer, refused_command, run

from graphbandits.cli import app
from graphbandits.live.store import open_store
from graphbandits.service.access import find_token, list_tokens

STORE = "GRAPHBANDITS_STORE"


@pytest.fixture(autouse=True)
def no_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(STORE, raising=False)


@pytest.fixture
def store(place: Path) -> Path:
    """A store a.db without agents in the working directory."""
    open_store("a.db").close()
    return place


def add(*args: object) -> str:
    """Create a token in a.db, and return its text."""
    text: str = answer("token", "add", "a.db", *args)["token"]
    return text


def test_a_token_is_printed_once_and_valid(store: Path) -> None:
    first, *lines = run("token", "add", "a.db", "--role=decide", "--name=my app").splitlines()
    assert lines == [
        "Copy the token 'my app' now: it is not shown again.",
        "It is the first of the store: a service now refuses requests without a token.",
    ]
    second, *lines = run("token", "add", "a.db", "--role=read").splitlines()
    id_ = second.split("_")[1]
    assert lines == [f"Copy the token '{id_}' now: it is not shown again."]
    with open_store("a.db") as found:
        tokens = list_tokens(found)
        assert [find_token(found, text) for text in (first, second)] == tokens
    assert [(one.role, one.name) for one in tokens] == [("decide", "my app"), ("read", id_)]
    listed = run("token", "list", "a.db") + run("token", "list", "a.db", "--json")
    for text in (first, second):
        assert text not in listed
        assert text.split("_")[2] not in listed


def test_a_token_as_json(store: Path) -> None:
    before = time.time()
    found = answer("token", "add", "a.db", "--role=admin", "--name=x", "--expires=30d")
    assert list(found) == ["token", "id", "name", "role", "created", "expires", "state"]
    assert found["token"].startswith(f"gb_{found['id']}_")
    assert (found["name"], found["role"], found["state"]) == ("x", "admin", "valid")
    created, expires = (datetime.fromisoformat(found[key]) for key in ("created", "expires"))
    assert before - 1 < created.timestamp() < time.time() + 1
    assert (expires - created).total_seconds() == 30 * 86400
    assert answer("token", "add", "a.db", "--role=admin")["expires"] is None


def test_list(store: Path) -> None:
    assert answer("token", "list", "a.db") == {"tokens": []}
    names = "app [red]", "short", "gone"
    texts = [
        add("--role=decide", f"--name={name}", *more)
        for name, more in zip(names, ([], ["--expires=0.001"], ["--expires=90"]), strict=True)
    ]
    ids = [text.split("_")[1] for text in texts]
    run("token", "revoke", "a.db", ids[2])
    time.sleep(0.01)
    tokens = answer("token", "list", "a.db")["tokens"]
    assert [one["id"] for one in tokens] == ids
    assert [one["name"] for one in tokens] == list(names)
    assert [one["state"] for one in tokens] == ["valid", "expired", "revoked"]
    assert {tuple(one) for one in tokens} == {("id", "name", "role", "created", "expires", "state")}
    date = r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d"
    shown = run("token", "list", "a.db")
    for id_, name, expires, state in zip(
        ids, names, ("never", date, date), ("valid", "expired", "revoked"), strict=True
    ):
        row = rf"^ {id_} +{re.escape(name)} +decide +{date} +{expires} +{state} *$"
        assert re.search(row, shown, re.MULTILINE), shown


def test_revoke(store: Path) -> None:
    text, other = add("--role=read", "--name=app"), add("--role=read")
    assert run("token", "revoke", "a.db", text.split("_")[1]) == "Revoked the token 'app'.\n"
    assert run("token", "revoke", "a.db", text.split("_")[1]) == "Revoked the token 'app'.\n"
    states = [one["state"] for one in answer("token", "list", "a.db")["tokens"]]
    assert states == ["revoked", "valid"]
    assert run("token", "revoke", "a.db", other).startswith("Revoked the token")
    with open_store("a.db") as found:
        assert {one.state(0) for one in list_tokens(found)} == {"revoked"}


def test_the_store_may_come_from_the_environment(
    store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(STORE, "a.db")
    id_ = answer("token", "add", "--role=read", "--name=app")["id"]
    assert [one["id"] for one in answer("token", "list")["tokens"]] == [id_]
    assert run("token", "revoke", id_) == "Revoked the token 'app'.\n"
    open_store("b.db").close()
    assert answer("token", "list", "b.db") == {"tokens": []}
    assert answer("token", "add", "b.db", "--role=read")["name"] != "app"
    result = RUNNER.invoke(app, ["token", "revoke", "b.db", id_])
    assert (result.exit_code, result.stdout) == (2, "")
    assert f"no token '{id_}'" in result.stderr


def test_invalid_commands_are_refused(store: Path) -> None:
    (store / "text.txt").write_text("not a database, and long enough to have a header\n" * 20)
    for args, words in [
        (["add", "no.db", "--role=admin"], ["no store of agents", "no.db"]),
        (["list", "no.db", "--json"], ["no store of agents"]),
        (["add", "folder/no.db", "--role=admin"], ["no directory"]),
        (["add", "--role=admin"], ["STORE"]),
        (["revoke"], [STORE]),
        (["add", "a.db"], ["--role"]),
        (["add", "a.db", "--role=admin", "--expires=soon"], ["'soon'", "3d"]),
        (["add", "a.db", "--role=admin", "--expires=nan"], ["expires", "nan"]),
        (["add", "a.db", "--role=admin", "--expires=9999999d"], ["at most"]),
        (["add", "a.db", "--role=admin", "--name=a\nb"], ["printable"]),
        (["remove", "a.db"], ["'remove'"]),
    ]:
        before = tree(store)
        message = refused_command(store, ["token", *args])
        assert all(word in message for word in words), message
        assert tree(store) == before
