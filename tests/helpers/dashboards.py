"""Start the service as a process, and open its dashboard in a browser."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
ARGUMENTS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
#: Seconds until a service must answer, also if it compiles first, and until a page must change.
START, CHANGE = 180.0, 30.0
#: Notes violations of the Content-Security-Policy, and marks the page: a reload removes the mark.
WATCH = """
    window.violations = [];
    document.addEventListener("securitypolicyviolation", (event) =>
      window.violations.push(`${event.violatedDirective} ${event.blockedURI}`));
"""


def absent(reason: str) -> None:
    """Skip the test, or fail if the environment requires a browser (continuous integration)."""
    if os.environ.get("GRAPHBANDITS_REQUIRE_BROWSER"):
        pytest.fail(f"GRAPHBANDITS_REQUIRE_BROWSER is set, but {reason}")
    pytest.skip(reason)


@contextmanager
def chromium() -> Iterator[Any]:
    """Start Chromium."""
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        absent("playwright is not installed: pip install playwright")
    path = next(filter(None, map(shutil.which, BROWSERS)), None)
    if path is None:
        absent(f"no browser is installed, of {', '.join(BROWSERS)}: apt-get install chromium")
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=path, args=ARGUMENTS)
        yield started
        started.close()


def errors_of(page: Any) -> list[str]:
    """Return a list that collects the errors of a page; the hints of a browser do not count."""
    errors: list[str] = []
    page.on("console", lambda message: message.type == "error" and errors.append(message.text))
    page.on("pageerror", lambda error: errors.append(str(error)))
    return errors


class Served:
    """A service in a process of its own.

    ``get`` and ``post`` return the JSON value of an answer that must be a success.
    """

    def __init__(self, store: Path, port: int, process: subprocess.Popen[str]) -> None:
        self.store = store
        self.process = process
        self.port = port
        self.address = f"http://127.0.0.1:{port}/"
        self.token = ""

    @property
    def headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.token}"} if self.token else {}

    def get(self, path: str, **query: Any) -> Any:
        answer = httpx.get(self.address + path, params=query, headers=self.headers, timeout=60.0)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def post(self, path: str, body: Any) -> Any:
        answer = httpx.post(self.address + path, json=body, headers=self.headers, timeout=60.0)
        assert answer.status_code in (200, 201), answer.text
        return answer.json()


@contextmanager
def service(store: Path, port: int = 0) -> Iterator[Served]:
    """Start a service on a port of this machine, by default a free one."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        probe.bind(("127.0.0.1", port))
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "graphbandits", "serve", str(store), "--port", str(port)]
    with (store.parent / f"{store.name}.log").open("w+") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log, text=True)
        served = Served(store, port, process)
        try:
            deadline = time.monotonic() + START
            while not _answers(served.address):
                log.seek(0)
                assert process.poll() is None, log.read()
                assert time.monotonic() < deadline, log.read()
                time.sleep(0.1)
            yield served
        finally:
            process.terminate()
            process.wait(60.0)


def _answers(address: str) -> bool:
    try:
        return httpx.get(address + "health", timeout=5.0).status_code == 200
    except httpx.TransportError:
        return False


class Dashboard:
    """The dashboard of a service in a window of its own, with its errors and requests."""

    def __init__(self, browser: Any, served: Served, place: str = "", **options: Any) -> None:
        self.served = served
        self.context = browser.new_context(**{"viewport": {"width": 1280, "height": 800}} | options)
        self.context.add_init_script(WATCH)
        self.page = self.context.new_page()
        self.page.set_default_timeout(CHANGE * 1000.0)
        self.complaints = errors_of(self.page)
        self.requests: list[str] = []
        self.page.on("dialog", self._refuse)
        self.context.on("request", lambda request: self.requests.append(request.url))
        self.show(place)

    def _refuse(self, dialog: Any) -> None:
        self.complaints.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    def show(self, place: str) -> None:
        """Go to a place, such as ``#/agents/five``, from a fresh page."""
        self.page.goto("about:blank")
        self.page.goto(self.served.address + place)

    def wait(self, condition: str) -> None:
        """Wait for a condition; playwright's own function uses eval, which the page forbids."""
        deadline = time.monotonic() + CHANGE
        while not self.page.evaluate(condition):
            assert time.monotonic() < deadline, f"in vain: {condition}"
            self.page.wait_for_timeout(20)

    def panel(self, title: str) -> Any:
        """Return the part of the page with a heading."""
        return self.page.get_by_role("region", name=title, exact=True)

    def texts(self, selector: str) -> list[str]:
        """Return the texts of elements, with plain blanks."""
        found: list[str] = self.page.locator(selector).all_inner_texts()
        return [" ".join(text.split()) for text in found]

    def close(self) -> None:
        """Close the window; nothing may have been wrong with the page."""
        violations = self.page.evaluate("window.violations")
        self.context.close()
        assert violations == []
        assert self.complaints == []
        others = [url for url in self.requests if not url.startswith(self.served.address)]
        assert [url for url in others if not url.startswith(("about:", "blob:"))] == []
