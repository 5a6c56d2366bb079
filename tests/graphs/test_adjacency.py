"""Tests of graphs/_independence.py: adjacency lists."""

from __future__ import annotations

import networkx
import numpy as np
from helpers.graph_number_oracles import adjacency, is_cover, undirected_graphs
from hypothesis import given, settings

from graphbandits.graphs._independence import greedy_cover


@settings(max_examples=150, deadline=None)
@given(undirected_graphs())
def test_components_match_networkx(edges: np.ndarray) -> None:
    graph = adjacency(edges)
    kept = np.flatnonzero(np.arange(len(edges)) % 3 != 1)
    inner = networkx.from_numpy_array(edges).subgraph(kept.tolist())
    want = sorted(sorted(part) for part in networkx.connected_components(inner))
    found = graph.components(kept)
    assert sorted(vertices.tolist() for vertices, _ in found) == want
    sizes = [len(vertices) for vertices, _ in found]
    assert sizes == sorted(sizes)
    for vertices, own in found:
        assert (own.matrix() == edges[np.ix_(vertices, vertices)]).all()
        assert is_cover(own.matrix(), greedy_cover(own))
