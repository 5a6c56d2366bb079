"""Random graph processes, and the kinds of graphs that a policy accepts."""

from __future__ import annotations

from functools import cache

import numpy as np

from graphbandits._types import Floats
from graphbandits.graphs import Process, as_process, from_matrix
from graphbandits.policies import as_policy
from graphbandits.policies.base import unmet


def random_matrix(rng: np.random.Generator, arms: int, kind: str) -> Floats:
    """Zeros and ones, directed or not, of any density, or probabilities; ones on the diagonal."""
    matrix = (rng.random((arms, arms)) < rng.random()).astype(np.float64)
    if kind == "undirected":
        matrix = np.maximum(np.triu(matrix, 1), np.triu(matrix, 1).T)
    if kind == "probabilities":
        matrix *= rng.random((arms, arms)).round(2)
    np.fill_diagonal(matrix, 1.0)
    return matrix


def random_process(rng: np.random.Generator, kind: str) -> Process:
    arms = int(rng.integers(1, 8))
    if kind in ("directed", "undirected", "probabilities"):
        return from_matrix(random_matrix(rng, arms, kind))
    if kind.startswith("revealed"):
        directed = str(kind == "revealed directed").lower()
        return as_process(f"revealed-er(p={rng.random():.2f}, directed={directed})", arms)
    rate = {"one r": f"{rng.random():.2f}", "r drawn": "uniform", "r = 0": "0", "r = 1": "1"}
    return as_process(f"random(r={rate[kind]})", arms)


KINDS = [
    "directed",
    "undirected",
    "probabilities",
    "revealed directed",
    "revealed undirected",
    "one r",
    "r drawn",
    "r = 0",
    "r = 1",
]


@cache
def accepted(policies: tuple[str, ...]) -> dict[str, list[str]]:
    """Return the kinds of graphs on which each policy may be played."""
    rng = np.random.default_rng(0)
    processes = {kind: random_process(rng, kind) for kind in KINDS}
    for kind in ("probabilities", "one r", "r drawn"):  # one arm has no probabilities
        while processes[kind].deterministic:
            processes[kind] = random_process(rng, kind)
    return {
        text: [kind for kind in KINDS if not unmet(as_policy(text).needs, processes[kind], 10)]
        for text in policies
    }


@cache
def sampled(policies: tuple[str, ...]) -> dict[str, set[str]]:
    """Return one kind of graph for each policy in turn, and all kinds for each class of needs."""
    known = accepted(policies)
    found = {text: {kinds[i % len(kinds)]} for i, (text, kinds) in enumerate(known.items())}
    for k, kind in enumerate(KINDS):
        classes: dict[str, list[str]] = {}
        for text in policies:
            if kind in known[text]:
                classes.setdefault(str(as_policy(text).needs), []).append(text)
        for texts in classes.values():
            found[texts[k % len(texts)]].add(kind)
    return found
