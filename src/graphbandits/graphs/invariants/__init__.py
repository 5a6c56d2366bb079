"""Clique cover, independence and domination numbers of a graph, bounded from both sides."""

from graphbandits.graphs.invariants.bracket import Arms, Bracket, Progress
from graphbandits.graphs.invariants.numbers import (
    TIME_LIMIT,
    clique_cover,
    domination,
    fractional_domination,
    independence,
)
from graphbandits.graphs.invariants.steady import clique_cover_numbers, independence_number

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
    "independence_number",
]
