"""Checks of refused input, and a policy with given proposals."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest

from graphbandits._types import Floats, State
from graphbandits.errors import GraphBanditsError
from graphbandits.policies import Event, Needs, Problem, View
from graphbandits.rng import Keys


def check_refusal(message: str) -> None:
    """Check the form of a message about bad input: a sentence in one line, without a traceback."""
    line = message.removesuffix("\n")
    assert len(line.splitlines()) == 1, line
    assert len(line.split()) > 2, line
    assert not re.search(r"Traceback|File \"|[\s:,;]$", line), line


@contextmanager
def refuses(
    error: type[Exception] | tuple[type[Exception], ...], match: str | None = None
) -> Iterator[pytest.ExceptionInfo[Exception]]:
    """``pytest.raises`` that also checks the form of the message."""
    with pytest.raises(error, match=match) as caught:
        yield caught
    check_refusal(str(caught.value))


def refused(call: Callable[[], object], *words: str) -> str:
    """Return the message of a refused call: one line that contains all the words."""
    with refuses(GraphBanditsError) as caught:
        call()
    message = str(caught.value)
    missing = [word for word in words if word not in message]
    assert not missing, f"{missing} not in: {message}"
    return message


def label(value: object) -> str:
    """Return the representation of a value without addresses, for ids of tests."""
    return re.sub(r"<(\w+\.)*(\w+) object at \w+>", r"\2", repr(value))


def tree(place: Path) -> dict[str, bytes | None]:
    """Return every path below a directory, with the content of files."""
    return {
        str(path.relative_to(place)): path.read_bytes() if path.is_file() else None
        for path in sorted(place.rglob("*"))
    }


@dataclass(frozen=True)
class Proposes:
    """A policy that proposes the same row in every trial."""

    row: tuple[float, ...]
    needs: ClassVar[Needs] = Needs()
    exact: ClassVar[bool] = True

    def init(self, problem: Problem, keys: Keys) -> State:
        return {}

    def propose(self, state: State, view: View) -> Floats:
        return np.tile(np.array(self.row), (view.keys.trials, 1))

    def update(self, state: State, event: Event) -> State:
        return state
