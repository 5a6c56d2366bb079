"""Clique cover, independence and domination numbers of a graph, bounded from both sides."""

from graphbandits.graphs.invariants.bracket import Arms, Bracket, Progress
from graphbandits.graphs.invariants.numbers import (
    TIME_LIMIT,
    clique_cover,
    clique_cover_numbers,
    domination,
    fractional_domination,
    independence,
)

__all__ = [
    "TIME_LIMIT",
    "Arms",
    "Bracket",
    "Progress",
    "clique_cover",
    "clique_cover_numbers",
    "domination",
    "fractional_domination",
    "independence",
]
