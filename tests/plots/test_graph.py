"""Tests of plots/graph.py: nodes, edges, cliques and sets of a graph."""

from __future__ import annotations

import itertools
from typing import Any

import networkx
import numpy as np
import pytest
from helpers.bad_input import refuses
from matplotlib.collections import Collection
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

from graphbandits.errors import InputError
from graphbandits.graphs import Feedback, UniformFeedback, as_process
from graphbandits.graphs.numbers import clique_cover, domination, independence
from graphbandits.plots import graph_figure
from graphbandits.plots.graph import ALONE, PALETTE, check_drawable, clique_colours, layout


def part(figure: Figure, gid: str) -> Any:
    (found,) = [child for child in figure.axes[0].collections if child.get_gid() == gid]
    assert isinstance(found, Collection)
    return found


def centres(figure: Figure) -> Any:
    """Return the positions of the nodes: the centre of each outline."""
    outlines = [path.get_extents() for path in part(figure, "nodes").get_paths()]
    return np.array([[(box.x0 + box.x1) / 2, (box.y0 + box.y1) / 2] for box in outlines])


def ends(figure: Figure, gid: str) -> set[tuple[int, int]]:
    """The nodes that each line joins, first to last."""
    places = centres(figure)

    def nearest(point: Any) -> int:
        return int(np.argmin(np.hypot(*(places - point).T)))

    return {(nearest(line[0]), nearest(line[-1])) for line in part(figure, gid).get_segments()}


def colours(figure: Figure) -> list[str]:
    return [to_hex(colour) for colour in part(figure, "nodes").get_facecolors()]


def of(graph: Feedback, **options: Any) -> Figure:
    sets: dict[str, Any] = {
        "cliques": clique_cover(graph).certificate,
        "independent": independence(graph).certificate,
        "dominating": domination(graph).certificate,
    }
    return graph_figure(graph, **(sets | options))


GRAPHS = [
    ("paper", 5),
    ("star", 8),
    ("ring", 12),
    ("grid(6)", 36),
    ("cliques(4)", 22),
    ("edges(1-2 3>1 3>2 5>4)", 7),
    ("complete", 9),
    ("empty", 3),
    ("empty", 1),
]


def test_nodes_and_edges_are_those_of_the_graph() -> None:
    for text, arms in GRAPHS:
        graph = as_process(text, arms).feedback
        figure = of(graph)
        matrix = graph.reach(np.arange(arms)) - np.eye(arms)
        mutual = {(i, j) for i, j in np.argwhere(np.triu(matrix * matrix.T)).tolist()}
        one_way = {(i, j) for i, j in np.argwhere(matrix > matrix.T).tolist()}
        clique_of = {arm: k for k, c in enumerate(clique_cover(graph).certificate) for arm in c}
        inside = {(i, j) for i, j in mutual if clique_of[i] == clique_of[j]}
        assert len(part(figure, "nodes").get_paths()) == arms
        assert ends(figure, "inside") == inside
        assert ends(figure, "between") == (mutual - inside) | one_way
        assert len(part(figure, "heads").get_paths()) == len(one_way)
        assert [text.get_text() for text in figure.axes[0].texts] == [
            str(i + 1) for i in range(arms)
        ]


def test_arrows_point_at_the_arm_that_is_shown() -> None:
    figure = of(as_process("edges(1>2 3>2 2-4)").feedback)
    places = centres(figure)
    tips = [path.vertices[0] for path in part(figure, "heads").get_paths()]
    assert [int(np.argmin(np.hypot(*(places - tip).T))) for tip in tips] == [1, 1]


def test_clique_has_one_colour_and_its_neighbours_have_others() -> None:
    for text, arms in GRAPHS:
        graph = as_process(text, arms).feedback
        cliques: Any = clique_cover(graph).certificate
        drawn = colours(of(graph))
        matrix = graph.reach(np.arange(arms))
        for clique in cliques:
            assert len({drawn[arm] for arm in clique}) == 1
            assert (drawn[clique[0]] == ALONE) == (len(clique) == 1)
        for one, other in itertools.combinations([c for c in cliques if len(c) > 1], 2):
            if matrix[np.ix_(one, other)].any() or matrix[np.ix_(other, one)].any():
                assert drawn[one[0]] != drawn[other[0]]


def test_few_cliques_share_no_colour_and_many_share_with_distant_ones() -> None:
    pairs = [(2 * k, 2 * k + 1) for k in range(len(PALETTE))]
    places = np.column_stack([np.arange(2 * len(pairs)), np.zeros(2 * len(pairs))])
    nothing = np.zeros((2 * len(pairs), 2 * len(pairs)))
    assert sorted(clique_colours(pairs, nothing, places)) == sorted(PALETTE)
    ring = networkx.to_numpy_array(networkx.cycle_graph(200))
    cliques = [(k, k + 1) for k in range(0, 200, 2)]
    found = clique_colours(cliques, ring, layout(ring))
    assert all(one != other for one, other in itertools.pairwise([*found, found[0]]))


def test_sets_are_marked() -> None:
    figure = graph_figure("paper", independent=(0, 4), dominating=(2,))
    places = centres(figure)
    rings = np.asarray(part(figure, "independent").get_offsets())
    assert rings == pytest.approx(places[[0, 4]], abs=1e-9)
    corners = [len(path.vertices) for path in part(figure, "nodes").get_paths()]
    assert [count == 5 for count in corners] == [False, False, True, False, False]
    assert set(colours(figure)) == {ALONE}
    legend = [text.get_text() for text in figure.legends[0].get_texts()]
    assert legend == ["independent set", "dominating set"]


def test_caption_title_and_names_are_shown_literally() -> None:
    figure = graph_figure("path", names=["a", "$b$", "c", "d", "e"], title="t_1", caption="cover 3")
    written = [text.get_text() for text in figure.axes[0].texts]
    assert written == ["a", r"\$b\$", "c", "d", "e"]
    assert any(text.get_text() == "cover 3" for text in figure.texts)
    assert figure.get_suptitle() == "t_1"


def test_names_that_do_not_fit_into_nodes_are_beside_them() -> None:
    names = [f"customer number {i}" for i in range(12)]
    figure = graph_figure(as_process("ring", 12), names=names)
    assert sorted(text.get_text() for text in figure.axes[0].texts) == sorted(names)
    figure.draw_without_rendering()
    boxes = [text.get_window_extent() for text in figure.axes[0].texts]
    page = figure.bbox
    for box in boxes:
        assert page.x0 <= box.x0 < box.x1 <= page.x1
    for one, other in itertools.combinations(boxes, 2):
        assert not one.padded(-1).overlaps(other.padded(-1))


def test_many_names_are_left_out_with_a_note() -> None:
    figure = graph_figure(as_process("cliques(5)", 300))
    assert len(figure.axes[0].texts) == 0
    assert any("all names left out" in text.get_text() for text in figure.texts)


def test_probabilities_have_a_legend_and_their_widths() -> None:
    figure = graph_figure("edges(1>2:0.2 2>1:0.9 2-3:0.5)")
    assert figure.legends[0].get_title().get_text() == "probability to observe"
    lines = part(figure, "between")
    widths = sorted(lines.get_linewidths())
    assert widths[0] < widths[1] < widths[2]
    assert len(part(figure, "heads").get_paths()) == 2


def test_changing_or_too_large_graphs_and_invalid_covers_are_refused() -> None:
    with refuses(InputError, match="only a fixed graph can be drawn"):
        graph_figure("revealed-er")
    with refuses(InputError, match="a drawing can have at most 2000 arms and 20000 edges"):
        check_drawable(as_process("path", 2001).feedback)
    with refuses(InputError):
        check_drawable(UniformFeedback(0.5, 201))
    check_drawable(UniformFeedback(0.5, 200))
    with refuses(InputError):
        graph_figure("paper", cliques=[(0, 1), (1, 2, 3, 4)])
