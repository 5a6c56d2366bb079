"""Random graph processes, and pairs of a policy and a kind of graph that it accepts."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pytest

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


def cases(policies: Iterable[str]) -> list[Any]:
    """Each policy with each kind of graph that it may be played on."""
    rng = np.random.default_rng(0)
    processes = {kind: random_process(rng, kind) for kind in KINDS}
    for kind in ("probabilities", "one r", "r drawn"):  # one arm has no probabilities
        while processes[kind].deterministic:
            processes[kind] = random_process(rng, kind)
    return [
        pytest.param(text, kind, id=f"{text}-{kind}")
        for text in policies
        for kind in KINDS
        if not unmet(as_policy(text).needs, processes[kind], 10)
    ]
