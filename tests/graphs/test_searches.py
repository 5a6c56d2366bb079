"""Tests of graphs/_independence.py: searches."""

from __future__ import annotations

import networkx

from graphbandits.graphs._independence import Budget, CliqueSearch


def test_known_clique_is_not_searched() -> None:
    edges = networkx.to_numpy_array(networkx.complete_graph(4)) > 0
    for known, want in ((3, [0, 1, 2, 3]), (4, [])):
        search = CliqueSearch(edges)
        search.set_known(known)
        search.run(Budget(), lambda: None)
        assert (search.upper, search.clique.tolist()) == (4, want)
        search = CliqueSearch(edges, known)
        search.run(Budget(), lambda: None)
        assert (search.upper, search.clique.tolist()) == (4, want)
