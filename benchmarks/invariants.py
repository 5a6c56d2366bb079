"""What of the four numbers of a graph is proved within a time limit, and how far bounds differ."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from display import Table, count, digits, seconds
from settings import Settings

from graphbandits.graphs import (
    DenseFeedback,
    Feedback,
    SparseFeedback,
    clique_cover,
    domination,
    fractional_domination,
    independence,
)

NUMBERS = {
    "clique cover": clique_cover,
    "independence": independence,
    "domination": domination,
    "fractional": fractional_domination,
}
DENSITIES = (0.1, 0.3, 0.5, 0.7, 0.9)
#: Edges an arm of the sparse graphs.
DEGREE = 4


def random_graph(arms: int, p: float, seed: int) -> DenseFeedback:
    """Undirected, every edge with probability p."""
    rng = np.random.default_rng([seed, arms, round(1000 * p)])
    edges = np.triu(rng.random((arms, arms)) < p, 1)
    return DenseFeedback(edges + edges.T + np.eye(arms))


def sparse_graph(arms: int, seed: int) -> SparseFeedback:
    """Undirected, with edges between arms drawn at random."""
    ends = np.random.default_rng([seed, arms]).integers(0, arms, (2, arms * DEGREE // 2))
    return SparseFeedback.from_edges(arms, np.concatenate([*ends]), np.concatenate([*ends[::-1]]))


def measure(settings: Settings, earlier: dict[str, Any]) -> dict[str, Any]:
    """Each graph once: the bounds and the time."""
    for number in NUMBERS.values():  # so that no search has to wait for the compiler
        number(random_graph(80, 0.3, settings.seed), time_limit=10.0)
        number(sparse_graph(5000, settings.seed), time_limit=1.0)
    graphs: list[tuple[int, str, Feedback]] = [
        (arms, f"{p:g}", random_graph(arms, p, settings.seed))
        for arms in settings.graph_arms
        for p in DENSITIES
    ]
    graphs += [(arms, "sparse", sparse_graph(arms, settings.seed)) for arms in settings.sparse_arms]
    cases = []
    for arms, kind, graph in graphs:
        case: dict[str, Any] = {"arms": arms, "kind": kind}
        for name, number in NUMBERS.items():
            start = time.perf_counter()
            found = number(graph, time_limit=settings.graph_seconds)
            spent = time.perf_counter() - start
            case[name] = {"lower": found.lower, "upper": found.upper, "seconds": spent}
        cases.append(case)
    return {"limit": settings.graph_seconds, "cases": cases}


def _cell(found: dict[str, float]) -> str:
    whole = isinstance(found["lower"], int)
    lower, upper = (
        f"{found[side]}" if whole else digits(found[side], 4) for side in ("lower", "upper")
    )
    if found["lower"] == found["upper"]:
        return lower
    return f"{lower}-{upper}"


def tables(section: dict[str, Any]) -> list[Table]:
    """A row for each graph, and how many were proved."""
    cases = section["cases"]
    rows = [
        [count(case["arms"]), case["kind"], *(_cell(case[name]) for name in NUMBERS)]
        for case in cases
    ]
    limit = seconds(section["limit"])
    bounds = Table(
        "Numbers of random graphs",
        ["arms", "p", *NUMBERS],
        rows,
        f"One number if it is proved within {limit}, otherwise its two bounds. Each pair of arms "
        f"has an edge with probability p; sparse: {DEGREE} edges per arm.",
        texts=2,
    )
    sizes = list(dict.fromkeys(case["arms"] for case in cases))
    shares = []
    for arms in sizes:
        own = [case for case in cases if case["arms"] == arms]
        cells = []
        for name in NUMBERS:
            proved = sum(case[name]["lower"] == case[name]["upper"] for case in own)
            longest = max(case[name]["seconds"] for case in own)
            cells.append(f"{proved}/{len(own)} {seconds(longest)}")
        shares.append([count(arms), *cells])
    proved = Table(
        "Proved numbers",
        ["arms", *NUMBERS],
        shares,
        f"How many of the numbers above are proved, and the longest time of one of them. The time "
        f"limit is {limit}.",
        texts=1,
    )
    return [bounds, proved]
