"""Texts of graphs for each time at which policies may know the graph."""

from __future__ import annotations

GRAPH_KNOWN_TEXTS = [
    "random(r=0.25, graph_known={})",
    "random(r=uniform, graph_known={})",
    "revealed-er(p=0.4, graph_known={})",
]
