"""What determines a result, as plain data that is kept with it."""

from __future__ import annotations

import platform
from dataclasses import asdict
from functools import cache
from importlib.metadata import version
from typing import Any

import numpy as np
from llvmlite.binding import get_host_cpu_name

from graphbandits.graphs import Process
from graphbandits.graphs.storage import fingerprint
from graphbandits.jit import numba_config
from graphbandits.plugins import data_files, file_of, source_hash
from graphbandits.policies import Policy
from graphbandits.posteriors import BetaBernoulli
from graphbandits.registry import build, summary_of
from graphbandits.version import __version__
from graphbandits.worlds import World


def versions() -> dict[str, str]:
    """Of everything that the numbers may depend on in their last digit.

    >>> sorted(versions())
    ['graphbandits', 'machine', 'numba', 'numpy', 'python', 'scipy']
    """
    return {
        "graphbandits": __version__,
        "python": platform.python_version(),
        **{name: version(name) for name in ("numpy", "scipy", "numba")},
        "machine": f"{platform.system()} {platform.machine()}",
    }


@cache
def cpu() -> str:
    """The kind of processor that Numba compiles for: bits are the same on one kind.

    >>> cpu() != ""
    True
    """
    return str(numba_config.CPU_NAME or get_host_cpu_name())


def describe_policy(policy: Policy, arms: int, horizon: int) -> dict[str, Any]:
    """What a policy is, what it is told, and which source it was run from.

    A policy may have a method ``caveat(arms, horizon)``: the sentence that it returns, if any, is
    kept as its note and shown wherever its regret is.

    >>> from graphbandits.policies import as_policy
    >>> describe_policy(as_policy("ids-n"), arms=5, horizon=100)["told"]
    'the graph before the decision'
    >>> describe_policy(as_policy("exp3-res"), arms=5, horizon=1000)["note"][-8:]
    '= 0.863.'
    """
    file = file_of(policy)
    caveat = getattr(policy, "caveat", None)
    note = caveat(arms, horizon) if caveat is not None else ""
    return {
        "summary": summary_of(type(policy)),
        "told": str(policy.needs),
        "needs": asdict(policy.needs),
        "exact": policy.exact,
        "plugin": None if file is None else file.name,
        "source": source_hash(type(policy)),
    } | ({"note": note} if note else {})


def describe_graph(process: Process, text: str | None) -> dict[str, Any]:
    """What a graph is, as a hash; for a plug-in's own class, which has none, what it is made from.

    That is the sha256 of the files of its class and of the recipe that ``text`` names, and of the
    files that their parameters name.

    >>> from graphbandits.graphs import as_process
    >>> list(describe_graph(as_process("paper"), "paper"))
    ['graph_hash']
    """
    known = fingerprint(process)
    if known is not None:
        return {"graph_hash": known}
    pieces: list[object] = [process] if text is None else [process, build("graph", text)]
    sources = {source_hash(type(piece)) for piece in pieces} - {None}
    files = {digest for piece in pieces for digest in data_files(piece).values()}
    return {"graph_hash": None, "graph_source": sorted(map(str, sources | files))}


def describe_world(world: World) -> dict[str, Any]:
    """The prior that policies start from, and the means where they are fixed."""
    described: dict[str, Any] = {"world": type(world).__name__}
    if isinstance(world.prior, BetaBernoulli):
        described["prior"] = np.stack([world.prior.a, world.prior.b], axis=1).tolist()
        described["accuracy"] = world.prior.accuracy
    fixed = getattr(world, "fixed", None)
    if fixed is not None:
        described["means"] = np.asarray(fixed).tolist()
    return described
