"""Dockerfile, compose.yaml and docs/deployment.md: static checks, and the recipe without Docker.

The nightly test carries out the instructions of the Dockerfile in a temporary directory and starts
the result as the container would. It replaces what only Docker can do: the base image by an
environment of this Python, and layers by copies whose times are whole seconds.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shlex
import shutil
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import click
import pytest
import typer
import yaml
from helpers import ROOT

from graphbandits.cli import app

DOCUMENT = (ROOT / "docs" / "deployment.md").read_text("utf-8")
IS_ROOT = os.geteuid() == 0
#: User that builds, if the tests run as root: nobody.
BUILDER = 65534
#: Variables of this machine that pip may need to reach the index of packages.
NETWORK = re.compile(r"PIP_|(https?|no|all)_proxy$|SSL_CERT_|REQUESTS_CA_BUNDLE$", re.IGNORECASE)
#: Directories of the recipe that are created in a temporary directory instead.
OWN = re.compile(r"(?<![\w./-])/(?=(?:opt|data)\b)")


# Reading the files --------------------------------------------------------------------------------


@dataclass
class Instruction:
    """An instruction of a Dockerfile, such as ``COPY --from=build /a /b``."""

    name: str
    options: dict[str, str]
    text: str

    def words(self) -> list[str]:
        """Return the words of the JSON form, or of the plain form."""
        if self.text.startswith("["):
            found: list[str] = json.loads(self.text)
            return found
        return shlex.split(self.text)


@dataclass
class Stage:
    """A stage of a Dockerfile: its base, its name and its instructions."""

    base: str
    name: str
    instructions: list[Instruction] = field(default_factory=list)

    def all(self, name: str) -> list[Instruction]:
        return [one for one in self.instructions if one.name == name]

    def only(self, name: str) -> Instruction:
        (found,) = self.all(name)
        return found

    def variables(self, initial: dict[str, str]) -> dict[str, str]:
        """Return the environment after all instructions ENV."""
        found = dict(initial)
        for one in self.all("ENV"):
            found |= assignments(one.text, found)
        return found


def assignments(text: str, known: dict[str, str]) -> dict[str, str]:
    """Read ``NAME=VALUE ...`` with references to known variables."""
    pairs = (word.split("=", 1) for word in shlex.split(text))
    expand = re.compile(r"\$\{?(\w+)\}?")
    return {name: expand.sub(lambda found: known[found[1]], value) for name, value in pairs}


def read_dockerfile(text: str) -> tuple[list[Instruction], list[Stage]]:
    """Return the instructions before the first stage, and the stages."""
    lines = [line for line in text.splitlines() if not line.lstrip().startswith("#")]
    joined = re.sub(r"\\\n\s*", "", "\n".join(lines))
    before, stages = list[Instruction](), list[Stage]()
    for line in filter(None, map(str.strip, joined.splitlines())):
        name, _, rest = line.partition(" ")
        found = re.match(r"((?:--[\w-]+=\S+\s+)*)(.*)", rest)
        assert found
        options = dict(re.findall(r"--([\w-]+)=(\S+)", found[1]))
        if name == "FROM":
            base, _, alias = found[2].partition(" AS ")
            stages.append(Stage(base, alias))
        else:
            (stages[-1].instructions if stages else before).append(
                Instruction(name, options, found[2])
            )
    return before, stages


BEFORE, (BUILD, RUN) = read_dockerfile((ROOT / "Dockerfile").read_text("utf-8"))
HEALTHCHECK = json.loads(RUN.only("HEALTHCHECK").text.removeprefix("CMD "))
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
    assert BUILD.base == RUN.base == "python:${PYTHON}-slim"
    assert BUILD.name == "build"
    assert {one.options.get("from") for one in RUN.all("COPY")} == {"build"}
    assert not RUN.all("RUN")


def test_the_service_does_not_run_as_root() -> None:
    user, _, group = RUN.only("USER").text.partition(":")
    assert min(int(user), int(group)) >= 1000
    # only the directory for data belongs to the user
    owned = [one.text for one in RUN.all("COPY") if one.options.get("chown")]
    assert owned == ["/opt/data /data"]
    assert RUN.only("WORKDIR").text == "/data"


def test_both_stages_use_the_same_machine_code() -> None:
    built, used = BUILD.variables({"PATH": ""}), RUN.variables({"PATH": ""})
    assert built["NUMBA_CPU_NAME"] == used["NUMBA_CPU_NAME"] == "generic"
    (command,) = [one.text for one in BUILD.all("RUN") if " precompile " in one.text]
    assert f" --cache {used['NUMBA_CACHE_DIR']} " in command


def test_the_image_has_no_secrets() -> None:
    text = (ROOT / "Dockerfile").read_text("utf-8")
    assert not re.search(r"password|secret|token|credential|gb_[0-9a-f]", text, re.IGNORECASE)
    sources = [word for one in BUILD.all("COPY") for word in one.words()[:-1]]
    assert all(is_sent(source) for source in sources)
    assert is_sent("src/graphbandits/service/app.py")
    for path in (".env", ".git/config", "campaign.db", ".venv/bin/python", "compose.yaml"):
        assert not is_sent(path), path
    for path in ("src/graphbandits/__pycache__/a.pyc", "src/graphbandits.egg-info/PKG-INFO"):
        assert not is_sent(path), path


def test_the_container_is_asked_for_its_health_without_other_programs() -> None:
    program, flag, code = HEALTHCHECK
    assert (program, flag) == ("python", "-c")
    compile(code, "HEALTHCHECK", "exec")
    port = RUN.only("EXPOSE").text
    assert f"http://127.0.0.1:{port}/health" in code
    assert RUN.only("CMD").words()[-2:] == ["--port", port]
    assert RUN.only("STOPSIGNAL").text == "SIGTERM"


def parse(words: list[str], environment: dict[str, str] | None = None) -> None:
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
        for name, value in (environment or {}).items():
            patch.setenv(name, value)
        command.make_context("x", arguments, parent=context)


STORE = {"GRAPHBANDITS_STORE": "agents.db"}


def test_the_command_of_the_image_exists() -> None:
    assert RUN.only("ENTRYPOINT").words() == ["graphbandits"]
    parse(RUN.only("CMD").words(), STORE)


def test_compose_starts_the_service_after_the_database() -> None:
    service, database = COMPOSE["services"]["service"], COMPOSE["services"]["postgres"]
    assert COMPOSE["services"].keys() == {"service", "postgres"}
    assert service["depends_on"] == {"postgres": {"condition": "service_healthy"}}
    assert database["healthcheck"]["test"][:2] == ["CMD", "pg_isready"]
    assert database["volumes"] == ["postgres:/var/lib/postgresql/data"]
    assert "postgres" in COMPOSE["volumes"]
    parse(service["command"], STORE)
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


def shell_lines() -> list[str]:
    found = re.findall(r"^```sh\n(.*?)^```$", DOCUMENT, re.DOTALL | re.MULTILINE)
    joined = re.sub(r"\\\n\s*", "", "\n".join(found))
    return joined.splitlines()


def test_commands_of_the_page_exist() -> None:
    checked = 0
    for line in shell_lines():
        run = re.match(
            r"docker compose run --rm(?: -T)?(?: -v \S+)* service (.+?)(?: [<>] \S+)?$", line
        )
        own = re.match(r"(?:sudo -u graphbandits )?(?:\S+/)?graphbandits (.+)$", line)
        found = run or own
        if found:
            parse(shlex.split(found[1]), STORE)
            checked += 1
    assert checked >= 4


# The recipe ---------------------------------------------------------------------------------------


def readable_python() -> str | None:
    """Return a Python that the builder can run and that makes environments with pip."""
    for python in (sys._base_executable, "/usr/bin/python3"):  # type: ignore[attr-defined]
        code = "import ensurepip, sys; sys.exit(sys.version_info < (3, 11))"
        try:
            done = subprocess.run([python, "-c", code], check=False, cwd="/", **as_user(BUILDER))
        except OSError:
            continue
        if not done.returncode:
            return python
    return None


def as_user(number: int) -> dict[str, Any]:
    """Return arguments of subprocess that run a process as a user without rights."""
    return {"user": number, "group": number, "extra_groups": []} if IS_ROOT else {}


class Image:
    """The directories of the container, below a temporary directory."""

    def __init__(self, python: str) -> None:
        self.place = Path(tempfile.mkdtemp(prefix="gb-image-", dir="/tmp"))
        self.place.chmod(0o755)
        for name in ("opt", "home", "tmp", "built"):
            (self.place / name).mkdir()
            self._own(self.place / name)
        self._own(self.place)
        # the part of the base image: Python with pip
        network = {name: value for name, value in os.environ.items() if NETWORK.match(name)}
        self.base = network | {
            "HOME": str(self.place / "home"),
            "TMPDIR": str(self.place / "tmp"),
            "PATH": os.defpath,
        }
        self._run([python, "-m", "venv", str(self.place / "base")], self.base, self.place)
        self.base["PATH"] = f"{self.place}/base/bin:/usr/bin:/bin"

    def path(self, text: str) -> str:
        """Return a text with the directories of the recipe below the temporary one."""
        return OWN.sub(f"{self.place}/", text)

    def build(self) -> None:
        """Carry out the first stage, and the copies of the second one."""
        variables, directory = dict(self.base), self.place
        for one in BUILD.instructions:
            if one.name == "ENV":
                variables |= assignments(self.path(one.text), variables)
            elif one.name == "ARG":
                variables |= assignments(one.text, variables)
            elif one.name == "WORKDIR":
                directory = Path(self.path(one.text))
                directory.mkdir(parents=True)
                self._own(directory)
            elif one.name == "COPY":
                self._copy_context(one, directory)
            else:
                assert one.name == "RUN", one
                self._run(["/bin/sh", "-c", self.path(one.text)], variables, directory)
        built = (self.place / "opt").rename(self.place / "built" / "opt")
        for one in RUN.all("COPY"):
            source, target = one.words()
            copy = Path(self.path(target))
            copy.parent.mkdir(exist_ok=True)
            shutil.copytree(built.parent / source[1:], copy, symlinks=True)
            user = one.options.get("chown", "0:0").split(":")[0]
            self._finish(copy, int(user))
        shutil.rmtree(built)

    def _copy_context(self, one: Instruction, directory: Path) -> None:
        *sources, target = one.words()
        for source in sources:
            files = [ROOT / source, *sorted((ROOT / source).rglob("*"))]
            for file in files:
                relative = file.relative_to(ROOT)
                if file.is_file() and is_sent(str(relative)):
                    inside = file.relative_to(ROOT / source) if file != ROOT / source else Path()
                    copy = directory / target / (inside if (ROOT / source).is_dir() else source)
                    copy.parent.mkdir(parents=True, exist_ok=True)
                    shutil.copy2(file, copy)
        for path in (directory, *directory.rglob("*")):
            self._own(path)

    def _run(self, command: list[str], variables: dict[str, str], directory: Path) -> None:
        done = subprocess.run(
            command,
            env=variables,
            cwd=directory,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
            **as_user(BUILDER),
        )
        assert done.returncode == 0, f"{command}:\n{done.stdout[-5000:]}"

    @staticmethod
    def _own(path: Path) -> None:
        if IS_ROOT:
            os.chown(path, BUILDER, BUILDER)

    @staticmethod
    def _finish(place: Path, user: int) -> None:
        """Keep whole seconds, as layers do, and give the files to their user."""
        for path in (place, *place.rglob("*")):
            whole = int(path.lstat().st_mtime)
            os.utime(path, (whole, whole), follow_symlinks=False)
            if IS_ROOT:
                os.chown(path, user, user, follow_symlinks=False)
            elif not user and not path.is_symlink():
                path.chmod(stat.S_IMODE(path.stat().st_mode) & ~0o222)

    def remove(self) -> None:
        for path in (self.place, *self.place.rglob("*")):
            if path.is_dir() and not path.is_symlink():
                path.chmod(0o755)
        shutil.rmtree(self.place)


@pytest.fixture(scope="module")
def image() -> Iterator[Image]:
    python = readable_python()
    if python is None:
        pytest.skip("a user without rights can run no Python of this machine that has ensurepip")
    made = Image(python)
    try:
        made.build()
        yield made
    finally:
        made.remove()


class Container:
    """Processes as the container would start them."""

    def __init__(self, image: Image, **variables: str) -> None:
        self.image = image
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = str(free.getsockname()[1])
        given = {"PATH": os.defpath, "GRAPHBANDITS_STORE": self._local("/data/agents.db")}
        local = Stage(
            "", "", [Instruction("ENV", {}, self._local(one.text)) for one in RUN.all("ENV")]
        )
        self.variables = local.variables(given) | variables
        self.log = image.place / "tmp" / "log"
        user = int(RUN.only("USER").text.split(":")[0])
        self.how: dict[str, Any] = {
            "env": self.variables,
            "cwd": self._local(RUN.only("WORKDIR").text),
            "stdin": subprocess.DEVNULL,
            **as_user(user),
        }

    def _local(self, text: str) -> str:
        return self.image.path(text).replace("8000", getattr(self, "port", "8000"))

    def command(self, words: list[str]) -> list[str]:
        program, *rest = (self._local(word) for word in words)
        found = shutil.which(program, path=self.variables["PATH"])
        assert found, program
        return [found, *rest]

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Run another command in the container, as ``docker compose run`` does."""
        command = self.command([*RUN.only("ENTRYPOINT").words(), *words])
        return subprocess.run(command, capture_output=True, text=True, check=False, **self.how)

    def is_healthy(self) -> bool:
        done = subprocess.run(
            self.command(HEALTHCHECK), capture_output=True, check=False, **self.how
        )
        return not done.returncode

    def start(self) -> None:
        command = self.command([*RUN.only("ENTRYPOINT").words(), *RUN.only("CMD").words()])
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                command, stdout=log, stderr=log, start_new_session=True, **self.how
            )
        end = time.monotonic() + 120
        while not self.is_healthy():
            assert self.process.poll() is None, self.log.read_text()
            assert time.monotonic() < end, self.log.read_text()

    def stop(self) -> int:
        number = signal.Signals[RUN.only("STOPSIGNAL").text]
        self.process.send_signal(number)
        return self.process.wait(30)

    def request(self, path: str, token: str = "", body: object = None) -> Any:
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        data = None if body is None else json.dumps(body).encode()
        if data:
            headers["Content-Type"] = "application/json"
        request = Request(f"http://127.0.0.1:{self.port}{path}", data, headers)
        with urlopen(request, timeout=60) as answer:
            found = answer.read()
            is_json = answer.headers.get_content_type() == "application/json"
        return json.loads(found) if is_json else found


def content(place: Path) -> dict[str, str]:
    """Return a hash of every file."""
    return {
        str(path.relative_to(place)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(place.rglob("*"))
        if path.is_file()
    }


@pytest.mark.nightly
@pytest.mark.parametrize("writable", [False, True], ids=["as built", "writable cache"])
def test_the_recipe_makes_a_service_that_compiles_nothing(image: Image, writable: bool) -> None:
    """With a cache that can be written, a compilation would leave a file; otherwise a warning."""
    kernels = image.place / "opt" / "kernels"
    container = Container(image)
    if writable:
        kernels = Path(shutil.copytree(kernels, image.place / "kernels"))
        for path in (kernels, *kernels.rglob("*")):
            path.chmod(0o777 if path.is_dir() else 0o666)
        container = Container(image, NUMBA_CACHE_DIR=str(kernels))
    before = content(kernels), content(image.place / "opt")
    assert any(name.endswith(".nbi") for name in before[0])
    assert not container.is_healthy()

    # an address that other machines can reach needs a token, and a token needs a store
    words = ["--policy", "ids-n", "--graph", "star", "--arms", "ann,bob,eve", "--seed", "1"]
    name = f"agent{int(writable)}"
    created = container.run(
        "agent", "init", container.variables["GRAPHBANDITS_STORE"], *words, "--name", name
    )
    assert created.returncode == 0, created.stderr
    if not writable:
        refused = container.run(*RUN.only("CMD").words())
        assert refused.returncode == 2
        assert "token" in refused.stderr
    added = container.run("token", "add", "--role", "admin")
    assert added.returncode == 0, added.stderr
    token = re.findall(r"gb_\w+", added.stdout)[0]

    container.start()
    try:
        assert container.request("/health")["status"] == "ok"
        page = container.request("/").decode()
        for link in re.findall(r'(?:src|href)="(static/[^"]+)"', page):
            assert container.request(f"/{link}"), link
        with pytest.raises(HTTPError, match="401"):
            container.request("/agents")
        at = f"/agents/{name}"
        body: dict[str, Any] = {"pending": "expected"}
        for _ in range(3):
            (made,) = container.request(f"{at}/decisions", token, body)["decisions"]
            outcomes = {"outcomes": {made["id"]: {made["arm"]: 1}}, "partial": True}
            assert container.request(f"{at}/outcomes", token, outcomes)["accepted"] == 1
        shown = container.request(f"{at}/decisions/{made['id']}?explain=true", token)
        assert shown["explanation"]["reproduced"] is True
        for route in ("beliefs", "health", "trend", "arms", "graph", "history", "log"):
            assert container.request(f"{at}/{route}", token)
        again = {"name": f"{name}b", "policy": "ts-n", "graph": "ring", "arms": 5}
        container.request("/agents", token, again)
        container.request(f"/agents/{name}b/decisions", token, {})
    finally:
        code = container.stop()
    log = container.log.read_text()
    assert code in (0, -signal.SIGTERM), log
    assert "compil" not in log.lower() + created.stderr + added.stderr
    assert "Traceback" not in log
    assert (content(kernels), content(image.place / "opt")) == before
    assert {path.name.split(".")[0] for path in (image.place / "data").iterdir()} == {"agents"}
