"""Tests of plots/graph.py: positions of nodes and labels."""

from __future__ import annotations

import itertools

import networkx
import numpy as np

from graphbandits.plots.graph import layout, place_labels


def test_square_grid_is_upright_and_in_row_order() -> None:
    places = layout(networkx.to_numpy_array(networkx.grid_2d_graph(5, 5))).reshape(5, 5, 2)
    assert (np.diff(places[:, :, 0], axis=1) > 0.3).all()
    assert (np.diff(places[:, :, 1], axis=0) < -0.3).all()
    assert (np.abs(np.diff(places[:, :, 1], axis=1)) < 0.05).all()


def test_parts_that_are_not_joined_do_not_overlap() -> None:
    matrix = networkx.to_numpy_array(
        networkx.disjoint_union_all([networkx.cycle_graph(7), *[networkx.complete_graph(4)] * 9])
    )
    places = layout(matrix)
    assert np.abs(places).max() == 1.0
    groups = [places[:7], *places[7:].reshape(9, 4, 2)]
    boxes = [(group.min(axis=0), group.max(axis=0)) for group in groups]
    for (low, high), (least, most) in itertools.combinations(boxes, 2):
        assert (high < least).any() or (most < low).any()


def test_parts_of_different_heights_are_in_rows() -> None:
    sizes = [*range(3, 15), 3, 3, 3]
    cycles = networkx.disjoint_union_all([networkx.cycle_graph(k) for k in sizes])
    parts = np.split(layout(networkx.to_numpy_array(cycles)), np.cumsum(sizes)[:-1])
    middles = {round(float(part[:, 1].min() + part[:, 1].max()), 2) for part in parts}
    assert len(middles) == 3


def test_members_of_a_clique_are_adjacent() -> None:
    graph = networkx.barbell_graph(3, 0)  # two triangles, joined by 2-3
    matrix = networkx.to_numpy_array(graph)
    places = layout(matrix, [(0, 1, 2), (3, 4, 5)])
    gaps = np.hypot(*(places[:, None] - places).transpose(2, 0, 1))
    assert max(gaps[0, 1], gaps[0, 2], gaps[1, 2]) < gaps[2, 3]


def test_dense_graph_is_a_circle_ordered_by_clique() -> None:
    matrix = np.ones((6, 6)) - np.eye(6)
    places = layout(matrix, [(0, 2, 4), (1, 3, 5)])
    angle = np.arctan2(places[:, 0], places[:, 1]) % (2 * np.pi)
    assert np.argsort(angle).tolist() == [0, 2, 4, 1, 3, 5]
    assert np.ptp(np.hypot(*places.T)) < 1e-5


def test_the_leaves_of_a_star_are_around_its_middle() -> None:
    """Regression test: with many equal eigenvalues, the solver found none."""
    for leaves in range(3, 40, 4):
        places = layout(networkx.to_numpy_array(networkx.star_graph(leaves)))
        gaps = np.hypot(*(places[1:] - places[0]).T)
        assert gaps.min() > 0.3 * gaps.max()


def test_layouts_are_repeatable_and_untangle_a_grid() -> None:
    matrix = networkx.to_numpy_array(networkx.grid_2d_graph(4, 5))
    places = layout(matrix)
    assert (layout(matrix) == places).all()
    gaps = np.hypot(*(places[:, None] - places).transpose(2, 0, 1))
    assert gaps[matrix > 0].max() < gaps[(matrix == 0) & ~np.eye(20, dtype=bool)].min()
    ring = layout(networkx.to_numpy_array(networkx.cycle_graph(12)))
    assert np.ptp(np.hypot(*ring.T)) < 0.1


def test_labels_do_not_overlap() -> None:
    centres = np.array([[50.0, 50.0], [54.0, 50.0], [58.0, 50.0]])
    sizes = np.array([[30.0, 10.0]] * 3)
    frame = np.array([0.0, 0.0, 110.0, 100.0])
    found, wrong = place_labels(
        sizes, np.arange(3), centres, np.full(3, 1.5), frame, np.empty((0, 2))
    )
    assert (wrong < 0.01).all()
    for first, second in itertools.combinations(found, 2):
        assert (np.abs(first - second) >= [30.0, 10.0]).any()
    _, wrong = place_labels(
        sizes, np.arange(3), centres, np.full(3, 1.5), frame / 6.0, np.empty((0, 2))
    )
    assert (wrong > 0.5).all()
