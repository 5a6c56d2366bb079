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

import numpy as np
from numpy.typing import NDArray

from graphbandits.engine.recorder import run_recorded
from graphbandits.engine.recording import Recording
from graphbandits.errors import GraphBanditsError, InputError
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
    if hasattr(os, "register_at_fork"):  # a child that a policy forks must not keep it open
        os.register_at_fork(after_in_child=lambda: os.close(replies.fileno()))
    spec = receive(requests)
    if spec is None:
        return
    study: _Study | None = None
    while (request := receive(requests)) is not None:
        try:
            study = study or _Study(*spec)
            answer: Message = {}, study.run(**request[0])
        except Exception as error:
            kind = type(error).__name__ if isinstance(error, GraphBanditsError) else ""
            answer = {"error": str(error), "kind": kind, "trace": traceback.format_exc()}, {}
        try:
            send(replies, *answer)
        except OSError:  # whoever asked is gone
            return


class _Study:
    """What the first message describes."""

    def __init__(self, meta: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
        for path, source, needed in meta["plugins"]:
            try:
                loaded = load_plugin(path)
            except InputError:
                if needed:
                    raise
                continue
            if loaded.source != source:
                raise InputError(f"{path} was changed after it was loaded: load it again")
        for module in meta["modules"]:
            importlib.import_module(module)
        self.horizon, self.seed = meta["horizon"], meta["seed"]
        kept = meta["recording"]
        self.recording = Recording(**kept | {"rounds": tuple(kept["rounds"])})
        prior = BetaBernoulli(arrays["prior/a"], arrays["prior/b"], meta["accuracy"])
        self.world = Bernoulli(prior, arrays.get("fixed"))
        self.process = unpack_process(meta["graph"], arrays)

    def run(self, policy: str, first: int, trials: int) -> dict[str, NDArray[Any]]:
        shard = run_recorded(
            as_policy(policy),
            self.world,
            self.process,
            self.horizon,
            Keys(self.seed, first, trials),
            self.recording,
        )
        return {"shard": np.frombuffer(shard.to_parquet({}), np.uint8)}
