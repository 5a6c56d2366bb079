"""Tests of cli/serve.py: ``graphbandits demo``, from its start to its end."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from helpers.command_line import RUNNER

from graphbandits.cli import app
from graphbandits.client import Client
from graphbandits.service.demo import STARTING

COMMAND = [sys.executable, "-m", "graphbandits", "demo", "--no-browser"]
#: Seconds until the first look; the machine may be busy, and kernels may be compiled.
PATIENCE = 180


class Demo:
    """A process of the demo with a temporary directory of its own."""

    def __init__(self, place: Path) -> None:
        self.temporary = place / "temporary"
        self.temporary.mkdir()
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.command = [*COMMAND, "--port", str(self.port)]
        self.variables = os.environ | {"TMPDIR": str(self.temporary)}
        self.process: subprocess.Popen[str] | None = None

    def start(self) -> subprocess.Popen[str]:
        self.process = subprocess.Popen(
            self.command,
            env=self.variables,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        return self.process

    def wait_for_service(self) -> int:
        """Wait until the demo has started a service; return the number of its process."""
        wait_until(lambda: bool(self.children()))
        return self.children()[0]

    def children(self) -> list[int]:
        """Return the processes whose command line has the temporary directory."""
        found = []
        for path in Path("/proc").glob("[0-9]*/cmdline"):
            try:
                words = path.read_bytes()
            except OSError:  # it has ended
                continue
            if str(self.temporary).encode() in words:
                found.append(int(path.parent.name))
        return found

    def check_nothing_is_left(self) -> None:
        wait_until(lambda: not self.children())
        wait_until(lambda: not list(self.temporary.iterdir()))


def wait_until(ready: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE
    while not ready():
        assert time.monotonic() < end, "nothing has happened"
        time.sleep(0.05)


@pytest.fixture(autouse=True)
def hangups_are_not_ignored() -> Iterator[None]:
    """Processes inherit what nohup has set, and the demo respects it."""
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGHUP, before)


@pytest.fixture
def demo(tmp_path: Path) -> Iterator[Demo]:
    made = Demo(tmp_path)
    yield made
    if made.process is not None:
        made.process.kill()
        made.process.communicate()
    for child in made.children():
        os.kill(child, signal.SIGKILL)


def test_a_demo_from_its_start_to_control_c(demo: Demo) -> None:
    process = demo.start()
    assert process.stdout is not None
    shown = [process.stdout.readline() for _ in range(7)]  # until the warm-up is over
    assert shown[0] == f"{STARTING}\n"
    address = f"http://127.0.0.1:{demo.port}"
    assert shown[1].startswith(f"Dashboard: {address}/#/agents/promotions ")
    with Client(service=address, name="promotions") as client:
        status = client.status()
        assert status["policy"] == "ids-n"
        assert status["decisions"] >= 80
        assert min(status[key] for key in ("open", "expired", "late", "outcomes")) > 0
        assert len(client.arms) == 76
        played = {client.decision(id_).arm for id_ in client.pending}
        assert client.decide().arm in client.arms
    assert played
    # another demo takes another port, or refuses one that is not free
    again = subprocess.run(demo.command, capture_output=True, text=True, timeout=60, check=False)
    assert (again.returncode, again.stdout) == (2, "")
    assert again.stderr.startswith("Error: ")
    assert str(demo.port) in again.stderr
    assert again.stderr.count("\n") == 1
    process.send_signal(signal.SIGINT)
    rest, errors = process.communicate(timeout=60)
    assert process.returncode == 130
    assert rest == ""
    assert errors == "stopped; the service has ended and its files are removed.\n"
    demo.check_nothing_is_left()


@pytest.mark.nightly
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_during_the_start_leaves_nothing(demo: Demo, number: signal.Signals) -> None:
    process = demo.start()
    demo.wait_for_service()
    process.send_signal(number)
    shown, errors = process.communicate(timeout=60)
    assert process.returncode == (130 if number == signal.SIGINT else 0)
    end = "stopped; the service has ended and its files are removed.\n"
    assert f"{shown}{errors}" == f"{STARTING}\n{end}"
    demo.check_nothing_is_left()


@pytest.mark.nightly
def test_a_killed_demo_leaves_nothing(demo: Demo) -> None:
    process = demo.start()
    demo.wait_for_service()
    process.kill()
    process.communicate(timeout=60)
    demo.check_nothing_is_left()


@pytest.mark.nightly
def test_a_service_that_dies_ends_the_demo(demo: Demo) -> None:
    process = demo.start()
    os.kill(demo.wait_for_service(), signal.SIGKILL)
    shown, errors = process.communicate(timeout=60)
    assert (process.returncode, shown) == (2, f"{STARTING}\n")
    assert re.fullmatch(r"Error: the service of the demo has stopped.*\n", errors)
    demo.check_nothing_is_left()


def test_a_missing_extra_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    for missing in ["fastapi", "httpx", "uvicorn"]:
        monkeypatch.setattr(
            "graphbandits.cli.serve.find_spec",
            lambda name, missing=missing: None if name == missing else name,
        )
        result = RUNNER.invoke(app, ["demo"])
        assert (result.exit_code, result.stdout) == (2, "")
        assert result.stderr.count("\n") == 1
        assert re.search(r"python -m pip install ['\"]graphbandits\[serve\]['\"]", result.stderr)


def test_bad_ports_are_refused() -> None:
    for words, message in [
        (["--port", "0"], "--port must be 1 to 65535"),
        (["--port", "x"], "is not an integer"),
    ]:
        result = RUNNER.invoke(app, ["demo", *words])
        assert (result.exit_code, result.stdout) == (2, "")
        assert message in result.stderr
        assert result.stderr.count("\n") == 1
