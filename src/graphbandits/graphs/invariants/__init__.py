"""Clique cover, independence and domination numbers of a graph, bounded from both sides."""

from graphbandits.graphs.invariants._deterministic import clique_cover_numbers, independence_number
from graphbandits.graphs.invariants.numbers import (
    TIME_LIMIT,
    Arms,
    Bracket,
    GraphNumbers,
    Progress,
    clique_cover,
    domination,
    fractional_domination,
    graph_numbers,
    independence,
)

__all__ = [
    "TIME_LIMIT",
    "Arms",
    "Bracket",
    "GraphNumbers",
    "Progress",
    "clique_cover",
    "clique_cover_numbers",
    "domination",
    "fractional_domination",
    "graph_numbers",
    "independence",
    "independence_number",
]
