"""Wording of error messages, pinned in one file: ``tests/messages.json``.

``raises_pinned(InputError)`` replaces ``pytest.raises(InputError, match=...)``: it checks the whole
message against the file, by the id of the test. ``make messages`` writes the file anew after the
wording of messages has changed; the difference is then reviewed in one place.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
from types import TracebackType

import pytest

from helpers import ROOT

FILE = ROOT / "tests" / "messages.json"
#: Parts of messages that differ between runs, and what stands for them in the file.
_VARYING = (
    (re.compile(r"/[^\s'\":]*?/pytest-\d+/(popen-gw\d+/)?[^\s/'\":;,)]+"), "TMP"),
    (re.compile(re.escape(str(ROOT))), "ROOT"),
    (re.compile(r"0x[0-9a-f]{6,}"), "ADDRESS"),
    (re.compile(r"(?<=tcp://127\.0\.0\.1:)\d{4,5}\b"), "PORT"),
    (re.compile(r"\b[0-9a-f]{64}\b"), "SHA256"),
    (re.compile(r"\b(run|gc)-\S+-\d+-[0-9a-f]{8}\.json"), r"\1-HOST-PID-ID.json"),
    # lines of test files, last digits of numbers, and texts of Python that depend on its version
    (re.compile(r"(ROOT/tests/\S+\.py, line )\d+"), r"\1N"),
    (re.compile(r"\d+\.\d{10,}"), "NUMBER"),
    (re.compile(r"\w+Error: source code string cannot contain null bytes"), "NULL BYTE"),
    (re.compile(r"Out of range float values are not JSON compliant(: \w+)?"), "NOT JSON"),
    (re.compile(r"\(unicode error\) .*"), "NOT UTF-8"),
)
_pinned: dict[str, list[str]] = json.loads(FILE.read_text("utf-8")) if FILE.exists() else {}
_found: dict[str, list[str]] = {}


def check_message(text: str) -> None:
    """Compare a message with the one pinned for this place in the current test."""
    test = os.environ["PYTEST_CURRENT_TEST"].rpartition(" ")[0]
    for pattern, name in _VARYING:
        text = pattern.sub(name, text)
    found = _found.setdefault(test, [])
    found.append(text)
    if os.environ.get("UPDATE_MESSAGES"):
        return
    pinned = _pinned.get(test, [])
    assert len(pinned) >= len(found), f"no message is pinned for {test}: run `make messages`"
    assert text == pinned[len(found) - 1]


class raises_pinned:  # noqa: N801 - used like pytest.raises
    """Check that a block raises an error whose message is the pinned one."""

    def __init__(self, error: type[Exception] | tuple[type[Exception], ...]) -> None:
        self._raises = pytest.raises(error)

    def __enter__(self) -> pytest.ExceptionInfo[Exception]:
        self._caught = self._raises.__enter__()
        return self._caught

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        traceback: TracebackType | None,
    ) -> bool:
        expected = self._raises.__exit__(kind, value, traceback)
        if expected:
            check_message(str(self._caught.value))
        return expected


def write_messages() -> None:
    """Add what the tests of this process found to the file."""
    with FILE.open("a+", encoding="utf-8") as stream:
        fcntl.flock(stream, fcntl.LOCK_EX)  # several processes run tests
        stream.seek(0)
        merged = json.loads(stream.read() or "{}") | _found
        stream.truncate(0)
        stream.write(json.dumps(dict(sorted(merged.items())), indent=1, ensure_ascii=False) + "\n")
