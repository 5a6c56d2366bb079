"""The other end of :mod:`graphbandits.engine.workers`: a process that runs blocks on request.

It is told everything as plain numbers and texts: a policy is its text, a plug-in the path of its
file. Messages are archives of :func:`graphbandits.files.to_npz` behind their length.
"""

from __future__ import annotations

import importlib
import os
import signal
import traceback
from collections.abc import Mapping
from typing import IO, Any

from numpy.typing import NDArray

from graphbandits.engine.loop import run_block
from graphbandits.errors import GraphBanditsError
from graphbandits.files import from_npz, to_npz
from graphbandits.graphs.storage import unpack_process
from graphbandits.plugins import load_plugin
from graphbandits.policies import as_policy
from graphbandits.posteriors import BetaBernoulli
from graphbandits.rng import Keys
from graphbandits.worlds import Bernoulli

Message = tuple[dict[str, Any], dict[str, NDArray[Any]]]


def send(stream: IO[bytes], meta: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> None:
    """Write one message."""
    data = to_npz(meta, arrays)
    stream.write(len(data).to_bytes(8, "little") + data)
    stream.flush()


def receive(stream: IO[bytes]) -> Message | None:
    """Read one message; None at the end of the stream."""
    length = stream.read(8)
    if len(length) < 8:
        return None
    wanted = int.from_bytes(length, "little")
    data = stream.read(wanted)
    return from_npz(data) if len(data) == wanted else None


def serve() -> None:
    """Answer requests until the stream ends; the first message says what is to be simulated."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's to handle
    requests, replies = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    # what a policy prints must not end up among the messages, nor one be read by its input()
    os.dup2(2, 1)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    spec = receive(requests)
    if spec is None:
        return
    study: _Study | None = None
    while (request := receive(requests)) is not None:
        try:
            study = study or _Study(*spec)
            answer: Message = {}, study.run(**request[0])
        except Exception as error:
            known = isinstance(error, GraphBanditsError)
            kind = type(error).__name__ if known else ""
            text = str(error) if known else traceback.format_exc()
            answer = {"error": text, "kind": kind}, {}
        send(replies, *answer)


class _Study:
    """What the first message describes."""

    def __init__(self, meta: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
        for path in meta["plugins"]:
            load_plugin(path)
        for module in meta["modules"]:
            importlib.import_module(module)
        self.horizon, self.seed, self.realised = meta["horizon"], meta["seed"], meta["realised"]
        prior = BetaBernoulli(arrays["prior/a"], arrays["prior/b"])
        self.world = Bernoulli(prior, arrays.get("fixed"))
        self.process = unpack_process(meta["graph"], arrays)
        self.record = arrays["record"]

    def run(self, policy: str, first: int, trials: int) -> dict[str, NDArray[Any]]:
        outcome = run_block(
            as_policy(policy),
            self.world,
            self.process,
            self.horizon,
            Keys(self.seed, first, trials),
            self.record,
            self.realised,
        )
        return {"regret": outcome.regret, "plays": outcome.plays}
