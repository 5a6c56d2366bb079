"""Clique cover, independence and domination numbers of a graph, with lower and upper bounds."""

from graphbandits.graphs.invariants.numbers import (
    Bracket,
    GraphNumbers,
    clique_cover,
    domination,
    fractional_domination,
    graph_numbers,
    independence,
)

__all__ = [
    "Bracket",
    "GraphNumbers",
    "clique_cover",
    "domination",
    "fractional_domination",
    "graph_numbers",
    "independence",
]
