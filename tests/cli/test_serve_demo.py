"""Tests of cli/serve.py: ``graphbandits demo``, from its start to its end."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from helpers.service import free_port, wait_for

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
        self.port = free_port()
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
        found: list[int] = wait_for(self.children, PATIENCE)
        return found[0]

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
        wait_for(lambda: not self.children(), PATIENCE)
        wait_for(lambda: not list(self.temporary.iterdir()), PATIENCE)


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
