"""Dockerfile, compose.yaml and docs/deployment.md: checks without Docker."""

from __future__ import annotations

import json
import re
import shlex
from fnmatch import fnmatchcase
from pathlib import Path
from typing import NamedTuple

import click
import pytest
import typer
import yaml
from helpers import ROOT

from graphbandits.cli import app

DOCUMENT = (ROOT / "docs" / "deployment.md").read_text("utf-8")


# Reading the files --------------------------------------------------------------------------------


class Instruction(NamedTuple):
    """An instruction of a Dockerfile, such as ``COPY --from=build /a /b``."""

    name: str
    options: dict[str, str]
    text: str


#: The instructions of a stage; the first one is FROM.
Stage = list[Instruction]


def read_dockerfile(text: str) -> list[Stage]:
    """Return the instructions before the first stage, and the stages."""
    lines = [line for line in text.splitlines() if not line.lstrip().startswith("#")]
    joined = re.sub(r"\\\n\s*", "", "\n".join(lines))
    parts = list[Stage]([[]])
    for name, flags, rest in re.findall(r"^(\w+) ((?:--\S+\s+)*)(.*)$", joined, re.MULTILINE):
        if name == "FROM":
            parts.append([])
        options = dict(re.findall(r"--([\w-]+)=(\S+)", flags))
        parts[-1].append(Instruction(name, options, rest.strip()))
    return parts


def every(stage: Stage, name: str) -> list[Instruction]:
    return [one for one in stage if one.name == name]


def only(stage: Stage, name: str) -> str:
    """Return the text of an instruction that a stage has once."""
    (found,) = every(stage, name)
    return found.text


def variables(stage: Stage) -> dict[str, str]:
    words = [word for one in every(stage, "ENV") for word in shlex.split(one.text)]
    return dict(word.split("=", 1) for word in words)


BEFORE, BUILD, RUN = read_dockerfile((ROOT / "Dockerfile").read_text("utf-8"))
COMMAND = json.loads(only(RUN, "CMD"))
IGNORED = (ROOT / ".dockerignore").read_text("utf-8").splitlines()
COMPOSE = yaml.safe_load((ROOT / "compose.yaml").read_text("utf-8"))


def is_sent(path: str) -> bool:
    """Return whether a file of the project is part of the context of the build."""
    sent = True
    for line in IGNORED:
        pattern = line.removeprefix("!")
        if not line or line.startswith("#"):
            continue
        parents = [path, *map(str, Path(path).parents)]
        if any(fnmatchcase(f"/{one}", pattern.replace("**/", "*/")) for one in parents) or any(
            fnmatchcase(one, pattern) for one in parents
        ):
            sent = line.startswith("!")
    return sent


# Static checks ------------------------------------------------------------------------------------


def test_the_image_has_two_stages_on_the_same_base() -> None:
    assert [one.name for one in BEFORE] == ["ARG"]
    assert only(BUILD, "FROM") == "python:${PYTHON}-slim AS build"
    assert only(RUN, "FROM") == "python:${PYTHON}-slim"
    assert {one.options.get("from") for one in every(RUN, "COPY")} == {"build"}
    assert not every(RUN, "RUN")


def test_the_service_does_not_run_as_root() -> None:
    user, _, group = only(RUN, "USER").partition(":")
    assert min(int(user), int(group)) >= 1000
    # only the directory for data belongs to the user
    owned = [one.text for one in every(RUN, "COPY") if one.options.get("chown")]
    assert owned == ["/opt/data /data"]
    assert only(RUN, "WORKDIR") == "/data"


def test_both_stages_use_the_same_machine_code() -> None:
    built, used = variables(BUILD), variables(RUN)
    assert built["NUMBA_CPU_NAME"] == used["NUMBA_CPU_NAME"] == "generic"
    (command,) = [one.text for one in every(BUILD, "RUN") if " precompile " in one.text]
    assert f" --cache {used['NUMBA_CACHE_DIR']} " in command


def test_the_image_has_no_secrets() -> None:
    text = (ROOT / "Dockerfile").read_text("utf-8")
    assert not re.search(r"password|secret|token|credential|gb_[0-9a-f]", text, re.IGNORECASE)
    sources = [word for one in every(BUILD, "COPY") for word in one.text.split()[:-1]]
    assert all(is_sent(path) for path in [*sources, "src/graphbandits/service/app.py"])
    for path in (".env", ".git/config", "campaign.db", ".venv/bin/python", "compose.yaml"):
        assert not is_sent(path), path
    for path in ("src/graphbandits/__pycache__/a.pyc", "src/graphbandits.egg-info/PKG-INFO"):
        assert not is_sent(path), path


def test_the_container_is_asked_for_its_health_without_other_programs() -> None:
    program, flag, code = json.loads(only(RUN, "HEALTHCHECK").removeprefix("CMD "))
    assert (program, flag) == ("python", "-c")
    compile(code, "HEALTHCHECK", "exec")
    port = only(RUN, "EXPOSE")
    assert f"http://127.0.0.1:{port}/health" in code
    assert COMMAND[-2:] == ["--port", port]
    assert only(RUN, "STOPSIGNAL") == "SIGTERM"


def parse(words: list[str]) -> None:
    """Parse a command of graphbandits without running it; unknown options raise."""
    command: click.Command = typer.main.get_command(app)
    context: click.Context | None = None
    arguments = list(words)
    while isinstance(command, click.Group):
        context = command.make_context("x", arguments[:1], parent=context, resilient_parsing=True)
        _, found, _ = command.resolve_command(context, arguments)
        assert found is not None, words
        command, arguments = found, arguments[1:]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GRAPHBANDITS_STORE", "agents.db")
        command.make_context("x", arguments, parent=context)


def test_the_command_of_the_image_exists() -> None:
    assert json.loads(only(RUN, "ENTRYPOINT")) == ["graphbandits"]
    parse(COMMAND)


def test_compose_starts_the_service_after_the_database() -> None:
    service, database = COMPOSE["services"]["service"], COMPOSE["services"]["postgres"]
    assert COMPOSE["services"].keys() == {"service", "postgres"}
    assert service["depends_on"] == {"postgres": {"condition": "service_healthy"}}
    assert database["healthcheck"]["test"][:2] == ["CMD", "pg_isready"]
    assert database["volumes"] == ["postgres:/var/lib/postgresql/data"]
    assert "postgres" in COMPOSE["volumes"]
    parse(service["command"])
    address = service["environment"]["GRAPHBANDITS_STORE"]
    user, name = database["environment"]["POSTGRES_USER"], database["environment"]["POSTGRES_DB"]
    assert address == f"postgresql://{user}@postgres/{name}"


def test_compose_has_no_password_and_is_not_reachable_from_other_machines() -> None:
    service, database = COMPOSE["services"]["service"], COMPOSE["services"]["postgres"]
    password = re.compile(r"\$\{POSTGRES_PASSWORD:\?[^}]+\}")  # an error if it is not set
    assert password.fullmatch(service["environment"]["PGPASSWORD"])
    assert password.fullmatch(database["environment"]["POSTGRES_PASSWORD"])
    assert service["ports"] == ["127.0.0.1:8000:8000"]
    assert "ports" not in database
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert "/tmp" in service["tmpfs"]


def test_commands_of_the_page_exist() -> None:
    blocks = re.findall(r"^```sh\n(.*?)^```$", DOCUMENT, re.DOTALL | re.MULTILINE)
    text = re.sub(r"\\\n\s*", "", "\n".join(blocks))
    run = r"docker compose run --rm(?: -T)?(?: -v \S+)* service "
    own = r"(?:sudo -u graphbandits )?(?:\S+/)?graphbandits "
    found = re.findall(rf"^(?:{run}|{own})(.+?)(?: [<>] \S+)?$", text, re.MULTILINE)
    assert len(found) >= 4
    for words in found:
        parse(shlex.split(words))
