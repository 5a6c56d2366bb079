"""The other end of :mod:`graphbandits.engine.crews.processes`: a process that runs on request."""

from __future__ import annotations

import os
import shutil
import signal
import threading
import time
from pathlib import Path
from queue import SimpleQueue
from typing import IO

from graphbandits.engine.crews.pipes import Message, receive, send
from graphbandits.engine.crews.study import Studies

#: A request is answered by messages of how far it is, this many seconds apart, and its outcome.
PACE = 0.2


def serve(folder: str) -> None:
    """Answer requests until whoever asks is gone; ``folder`` is for files, and goes then too."""
    requests, replies = apart_from_policies()
    asked: SimpleQueue[Message] = SimpleQueue()

    def listen() -> None:
        while (message := receive(requests)) is not None:
            asked.put(message)
        end(folder)

    # heard while a request is worked on: hours of work must not outlive whoever asked for it
    threading.Thread(target=listen, daemon=True).start()
    studies = Studies(lambda: Path(folder))
    while True:
        request, data = asked.get()
        played, told = 0, time.monotonic()

        def advance(rounds: int) -> None:
            nonlocal played, told
            played += rounds
            if (now := time.monotonic()) - told > PACE:
                told = now
                send(replies, {"rounds": played})

        try:
            answer = studies.answer(request, data, advance)
            send(replies, *(answer or ({"unknown": True},)))
        except OSError:
            end(folder)


def apart_from_policies() -> tuple[IO[bytes], IO[bytes]]:
    """Standard input and output for messages only, and Ctrl-C the parent's to handle."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    requests, replies = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    # what a policy prints must not end up among the messages, nor one be read by its input()
    os.dup2(2, 1)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    if hasattr(os, "register_at_fork"):  # a child that a policy forks must not keep it open
        os.register_at_fork(after_in_child=lambda: os.close(replies.fileno()))
    return requests, replies


def end(folder: str) -> None:
    """End this process, whatever it is doing, what its policies have started, and its files.

    Whoever asked would remove them, but was killed maybe.
    """
    shutil.rmtree(folder, ignore_errors=True)
    if hasattr(os, "killpg") and os.getpgrp() == os.getpid():
        os.killpg(os.getpid(), signal.SIGKILL)
    os._exit(1)
