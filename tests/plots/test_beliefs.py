"""Tests of plots/beliefs.py: colours, sizes, rings and labels of the arms of an agent."""

from __future__ import annotations

import io
from typing import Any

import networkx as nx
import numpy as np
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

from graphbandits.graphs import Feedback, as_process
from graphbandits.graphs.processes import fixed_feedback
from graphbandits.plots.beliefs import COUNTED, LAST, UNKNOWN, beliefs_figure

NAMES = ["ann", "bob", "eve"]


def graph_of(given: Any) -> Feedback:
    found = fixed_feedback(as_process(given))
    assert found is not None
    return found


def of(**more: Any) -> Figure:
    matrix = np.array([[1.0, 0.5, 0.0], [0.0, 1.0, 1.0], [0.0, 1.0, 1.0]])
    given: dict[str, Any] = {
        "alpha": np.array([0.2, np.nan, 0.8]),
        "plays": np.array([2.0, 0.0, 5.0]),
        "outcomes": np.array([1.0, 0.0, 4.0]),
        "last": [2],
    }
    return beliefs_figure(graph_of(matrix), np.arange(3), NAMES, **given | more)


def part(figure: Figure, gid: str) -> Any:
    [found] = [one for one in figure.axes[0].collections if one.get_gid() == gid]
    return found


def test_colours_follow_the_probability() -> None:
    figure = of()
    figure.draw_without_rendering()
    nodes = part(figure, "nodes")
    assert nodes.get_clim() == (0.0, 0.8)
    ann, bob, eve = nodes.get_facecolors()
    assert to_hex(bob) == UNKNOWN
    light = [np.dot(colour[:3], [0.299, 0.587, 0.114]) for colour in (ann, eve)]
    assert light[0] > light[1] + 0.3  # dark is likely; seen without colours, too
    assert figure.axes[1].get_ylabel() == "probability of being the best arm"


def test_sizes_follow_the_outcomes() -> None:
    widths = part(of(), "nodes")._widths
    assert widths[1] < widths[0] < widths[2]
    none = part(of(outcomes=np.zeros(3)), "nodes")._widths
    assert none[0] == none[1] == none[2] > 0.0


def test_last_plays_have_rings() -> None:
    figure = of(last=[2, 0, 2])
    places = part(figure, "nodes").get_offsets()
    rings = part(figure, "last")
    assert rings.get_offsets().tolist() == places[[2, 0]].tolist()
    assert {to_hex(colour) for colour in rings.get_edgecolors()} == {LAST.lower()}
    assert len(part(of(last=[]), "last").get_offsets()) == 0


def test_edges_have_their_direction_and_probability() -> None:
    figure = of()
    places = part(figure, "nodes").get_offsets()
    lines = part(figure, "edges").get_segments()
    assert len(lines) == 2  # bob - eve in both directions, and the arrow ann -> bob
    assert {tuple(lines[0][0]), tuple(lines[0][-1])} == {tuple(places[1]), tuple(places[2])}
    [head] = part(figure, "heads").get_paths()
    tip = head.vertices[0]
    assert np.argmin(np.hypot(*(places - tip).T)) == 1
    words = " ".join(text.get_text() for text in figure.texts)
    assert "arrow i → j" in words
    shown = [text.get_text() for one in figure.legends for text in one.get_texts()]
    assert "0.5" in shown


def test_few_arms_have_their_numbers() -> None:
    labels = {text.get_text() for text in of().axes[0].texts}
    wanted = {"ann: 20 %\n2 played, 1 seen", "bob\n0 played, 0 seen", "eve: 80 %\n5 played, 4 seen"}
    assert labels == wanted
    plain = {text.get_text() for text in of(alpha=None).axes[0].texts}
    assert "eve\n5 played, 4 seen" in plain


def test_labels_do_not_overlap() -> None:
    for width in (3.5, 12.0):
        graph = nx.karate_club_graph()
        count = len(graph)
        assert count > COUNTED
        rng = np.random.default_rng(1)
        counts: dict[str, Any] = {
            "plays": np.zeros(count),
            "outcomes": rng.integers(0, 9, count) * 1.0,
        }
        figure = beliefs_figure(
            graph_of(nx.to_numpy_array(graph, weight=None) + np.eye(count)),
            np.arange(count),
            [f"member {i}" for i in range(count)],
            alpha=rng.dirichlet(np.ones(count)),
            last=[3, 4, 5],
            width=width,
            **counts,
        )
        figure.savefig(io.BytesIO())
        texts = figure.axes[0].texts
        assert len(texts) >= 5
        boxes = [text.get_window_extent() for text in texts]
        for i, one in enumerate(boxes):
            assert one.x0 >= -2
            assert one.x1 <= figure.bbox.x1 + 2
            for other in boxes[:i]:
                across = min(one.x1, other.x1) - max(one.x0, other.x0)
                up = min(one.y1, other.y1) - max(one.y0, other.y0)
                shared = max(across, 0.0) * max(up, 0.0)
                assert shared <= 0.15 * min(one.width * one.height, other.width * other.height)
