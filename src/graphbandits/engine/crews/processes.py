"""Processes of this machine: fresh Pythons that share nothing, for policies that hold its lock.

One that dies is noticed and replaced, and its task done again.
"""

from __future__ import annotations

import signal
import subprocess
import tempfile
from collections.abc import Callable
from contextlib import suppress
from threading import Lock
from typing import Any

from graphbandits.engine.crews.local import LocalCrew
from graphbandits.engine.crews.pipes import Message, receive, send
from graphbandits.engine.crews.spawning import Process, bury, ends, kill, start
from graphbandits.engine.crews.study import done_of, request
from graphbandits.engine.crews.travel import Packer
from graphbandits.engine.tasks import DEATHS, Done, Task
from graphbandits.errors import InputError


class Processes(LocalCrew):
    """``count`` processes, each started when a task finds no other idle."""

    def __init__(self, count: int) -> None:
        super().__init__(count)
        self._packed = Packer()
        self._idle: list[Process] = []
        self._busy: set[Process] = set()
        self._lock = Lock()
        self._folder: tempfile.TemporaryDirectory[str] | None = None

    def __exit__(self, *reason: object) -> None:
        self._end()
        bury(self._idle)
        self._idle.clear()
        if self._folder is not None:
            self._folder.cleanup()
            self._folder = None

    def _interrupt(self) -> None:
        with self._lock:  # nobody starts another one meanwhile
            self._stop.set()
            for process in self._busy:
                kill(process)  # whoever waits for its answer buries it

    def _run(self, task: Task, tell: Callable[[int], None]) -> Done:
        packed = self._packed(task.plan)
        asked = request(packed.name, task)
        told = 0

        def heard(rounds: int) -> None:
            nonlocal told
            decisions = rounds * task.trials
            if decisions > told:  # it may be done again from the beginning
                tell(decisions - told)
                told = decisions

        for _ in range(DEATHS):
            process = self._take()
            answer = _ask(process, asked, packed.data, heard)
            if answer is not None:
                self._give_back(process)
                if "error" not in answer[0]:
                    heard(task.plan.horizon)
                return done_of(task, *answer)
            code = self._dead(process)
        raise InputError(
            f"{DEATHS} worker processes ended, one after the other, while they ran {task} "
            f"({_end_of(code)}): were they out of memory, or ended from outside? Else the policy "
            "ends its process: run it alone to see"
        )

    def _take(self) -> Process:
        """A process that is idle, or a new one."""
        with self._lock:
            if self._stop.is_set():
                raise InterruptedError
            while self._idle:
                process = self._idle.pop()
                if process.poll() is None:
                    break
                bury([process])
            else:
                if self._folder is None:  # what workers write goes when they are gone
                    self._folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
                process = start("worker", self._folder.name)
            self._busy.add(process)
            return process

    def _give_back(self, process: Process) -> None:
        with self._lock:
            self._busy.remove(process)
            self._idle.append(process)

    def _dead(self, process: Process) -> int | None:
        """What a process that answers no more ended with."""
        with suppress(subprocess.TimeoutExpired):  # its pipe closes a moment before it ends
            process.wait(timeout=5)
        code = process.poll()
        with self._lock:
            self._busy.remove(process)
        bury([process])
        return code


def _end_of(code: int | None) -> str:
    """How a process ended.

    >>> _end_of(7), _end_of(-11)
    ('exit code 7', 'exit code -11, SIGSEGV')
    """
    try:
        return f"exit code {code}, {signal.Signals(-(code or 0)).name}"
    except ValueError:  # it ended by itself
        return f"exit code {code}"


def _ask(
    process: Process, asked: dict[str, Any], plan: bytes, heard: Callable[[int], None]
) -> Message | None:
    """The answer of a process; None if it died over it."""
    try:
        send(ends(process.stdin), asked)
        while (answer := receive(ends(process.stdout))) is not None:
            if "unknown" in answer[0]:
                send(ends(process.stdin), asked, plan)
            elif "rounds" in answer[0]:
                heard(answer[0]["rounds"])
            else:
                break
    except OSError:
        return None
    return answer
