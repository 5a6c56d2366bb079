"""Agents in single files: the state of an agent as an archive of NumPy, without pickle."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from graphbandits._io import (
    from_npz,
    is_abandoned,
    read_regular,
    readable_errors,
    temporary_for,
    to_npz,
    write_bytes,
)
from graphbandits._serialization import restored_value
from graphbandits.errors import (
    MOST_ROUNDS,
    GraphBanditsError,
    InputError,
    check_integer,
    nearest,
    short_repr,
)
from graphbandits.graphs._storage import Arrays, unpack_process
from graphbandits.live._packing import check_sizes, pack_sparse
from graphbandits.live.setup import Setup
from graphbandits.live.state import FORMAT, AgentState, OpenDecision
from graphbandits.posteriors import Posterior
from graphbandits.registry import registered

#: Maximum size of a saved agent, far above that of an agent with a million arms.
MAX_BYTES = 4 * 2**30


def save(state: AgentState, path: Path) -> Path:
    """Write the state of an agent to a file; return its path."""
    if not _may_be_replaced(path):
        raise InputError(f"{path} exists and is not a saved agent: choose another name")
    arrays: Arrays = {}

    def put(data: bytes) -> str:
        key = hashlib.sha256(data).hexdigest()
        arrays[f"object/{key}"] = np.frombuffer(data, np.uint8)
        return key

    arrays["state"] = np.frombuffer(state.pack(put), np.uint8)
    _remove_abandoned(path)
    write_bytes(path, to_npz({"format": FORMAT}, arrays))
    return path


def load(path: Path) -> AgentState:
    """Read the state of an agent from a file; files of earlier versions are read, too."""
    try:
        meta, arrays = from_npz(read_regular(path, MAX_BYTES))
        if meta["format"] > FORMAT:
            raise InputError(
                f"it has format {meta['format']}, but this version of graphbandits reads "
                f"formats up to {FORMAT}: update graphbandits"
            )
        if meta["format"] == 1:
            return _from_format_1(meta, arrays)
        return AgentState.unpack(
            arrays["state"].tobytes(), lambda key: arrays[f"object/{key}"].tobytes()
        )
    except GraphBanditsError as error:
        raise InputError(f"cannot load an agent from {path}: {error}") from None
    except OSError as error:
        raise InputError(f"cannot load an agent from {path}: {error.strerror}") from None
    except Exception:  # a damaged archive may raise any exception
        raise InputError(f"cannot load an agent from {path}: it is not a saved agent") from None


def _may_be_replaced(path: Path) -> bool:
    """Return whether the file does not exist, or may be a saved agent."""
    if os.path.isdir(path) or not os.path.exists(path):  # writing it raises a clear error
        return True
    if not os.path.isfile(path):
        return False
    with readable_errors(path), path.open("rb") as file:
        return file.read(2) in (b"", b"PK")


def _remove_abandoned(path: Path) -> None:
    """Remove temporary files of saves of this file whose process was killed."""
    with suppress(OSError):
        for name in os.listdir(path.parent):
            if temporary_for(name) == path.name and is_abandoned(name):
                with suppress(OSError):
                    (path.parent / name).unlink()


# Version 0.8 and earlier ------------------------------------------------------------------------


def _from_format_1(meta: dict[str, Any], arrays: Arrays) -> AgentState:
    """Read an agent that was saved by version 0.8 or earlier. The ids of decisions are numbers."""
    prior = _saved_prior(meta, arrays)
    check_sizes(meta["graph"], prior.arms)
    setup = Setup.of(
        meta["policy"],
        meta["arms"],
        unpack_process(meta["graph"], arrays),
        seed=meta["seed"],
        posterior=prior,
        horizon=meta["horizon"],
        trial=meta["trial"],
    )
    text = meta["graph"].get("text")
    setup = replace(setup, graph_text=text)
    state = AgentState(setup)
    state._restore(meta, arrays)
    state.number = 1  # its creation: the entries before the load are not known
    state.decisions = check_integer(meta["t"], "t", least=0)
    if state.decisions > MOST_ROUNDS:
        raise InputError(f"it is damaged: it has made more than {MOST_ROUNDS} decisions")
    for t, action in meta["pending"]:
        pi = arrays[f"pending/{t}"]
        fits = type(t) is type(action) is int and t not in state.open
        fits = fits and 0 < t <= state.decisions and 0 <= action < len(setup.arms)
        fits = fits and pi.shape == (1, len(setup.arms)) and pi.dtype == np.float64
        if not fits or not (pi >= 0.0).all() or not abs(pi.sum() - 1.0) < 1e-9:
            raise InputError(f"it is damaged: its open decision {short_repr(t)} is not valid")
        packed = pack_sparse(pi[0]) if setup.policy.exact else None
        state.open[t] = OpenDecision(t, str(t), action, 0.0, None, packed, setup.process, t)
    return state


def _saved_prior(meta: Mapping[str, Any], arrays: Arrays) -> Posterior:
    """Return the prior of a saved agent; early files do not name its class."""
    name = meta.get("posterior", "beta-bernoulli")
    known = registered("posterior")
    if name not in known:
        raise InputError(f"unknown posterior '{name}': {nearest(name, known)}")
    saved: dict[str, Any] = {
        key.removeprefix("prior/"): value
        for key, value in arrays.items()
        if key.startswith("prior/")
    }
    saved |= {name: restored_value(value) for name, value in meta.get("prior", {}).items()}
    posterior: Posterior = known[name](**saved)
    return posterior
