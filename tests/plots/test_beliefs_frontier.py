"""Tests of plots/beliefs.py: points, hull, mixture and labels of a decision."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import pytest
from matplotlib.figure import Figure

from graphbandits.plots.beliefs import CROWD, frontier_figure

GAIN = np.array([0.1, 0.3, 0.2, 0.05])
DELTA = np.array([0.1, 0.2, 0.3, 0.4])
NAMES = ["ann", "bob", "eve", "joe"]


def of(**more: Any) -> Figure:
    given: dict[str, Any] = {"pi": np.array([0.4, 0.6, 0.0, 0.0]), "hull": [0, 1], "played": 1}
    return frontier_figure(GAIN, DELTA, **given | {"names": NAMES, "named": [1, 0, 2]} | more)


def offsets(figure: Figure, gid: str) -> list[list[float]]:
    [found] = [one for one in figure.axes[0].collections if one.get_gid() == gid]
    places: list[list[float]] = np.asarray(found.get_offsets()).tolist()
    return places


def legend(figure: Figure) -> set[str]:
    return {text.get_text() for one in figure.legends for text in one.get_texts()}


def test_areas_grow_with_probability() -> None:
    figure = of()
    [drawn] = [one for one in figure.axes[0].collections if one.get_gid() == "drawn"]
    small, large = drawn.get_sizes()  # type: ignore[attr-defined]
    assert small < large
    assert offsets(figure, "drawn") == [[0.1, 0.1], [0.3, 0.2]]
    assert offsets(figure, "others") == [[0.2, 0.3], [0.05, 0.4]]
    assert offsets(figure, "played") == [[0.3, 0.2]]


def test_only_two_arms_are_joined() -> None:
    assert {line.get_gid() for line in of().axes[0].lines} == {"hull", "mixed"}
    for pi in (np.array([0.0, 1.0, 0.0, 0.0]), np.full(4, 0.25)):
        figure = of(pi=pi)
        assert {line.get_gid() for line in figure.axes[0].lines} == {"hull"}
        assert "mixture of two arms" not in legend(figure)


def test_arms_of_exploration_only_are_not_those_of_the_policy() -> None:
    pi, drawn = np.array([0.35, 0.55, 0.1, 0.0]), np.array([True, True, False, False])
    figure = of(pi=pi, drawn=drawn)
    assert offsets(figure, "drawn") == [[0.1, 0.1], [0.3, 0.2]]
    assert offsets(figure, "others") == [[0.2, 0.3], [0.05, 0.4]]
    assert {line.get_gid() for line in figure.axes[0].lines} == {"hull", "mixed"}
    assert "exploration only or probability 0" in legend(figure)
    assert "exploration only" in legend(of(pi=np.array([0.3, 0.5, 0.1, 0.1]), drawn=drawn))
    assert "probability 0" in legend(of())


def test_frontier_of_one_point_is_not_in_the_legend() -> None:
    assert "frontier: least regret for a gain" in legend(of())
    assert not any("frontier" in word for word in legend(of(hull=[1])))


def test_unknown_probabilities_are_not_shown() -> None:
    figure = of(pi=None)
    assert offsets(figure, "drawn") == []
    assert {text.get_text() for text in figure.axes[0].texts} <= {"ann", "bob", "eve"}
    assert "other arms" in legend(figure)
    assert not any("probability" in word for word in legend(figure))


def test_labels_are_literal_and_in_the_axes() -> None:
    figure = of(names=["a$b$", "$x_", "eve", "joe"], width=3.5)
    assert {text.get_text() for text in figure.axes[0].texts} >= {r"a\$b\$ (0.4)", r"\$x_ (0.6)"}
    figure.draw_without_rendering()
    frame = figure.axes[0].bbox
    for text in figure.axes[0].texts[:2]:
        box = text.get_window_extent()
        assert frame.x0 - 5 <= box.x0
        assert box.x1 <= figure.bbox.x1
        assert frame.y0 - 5 <= box.y0


def test_degenerate_values_are_drawn() -> None:
    for delta in (np.zeros(4), DELTA):
        for gain in (np.zeros(4), GAIN):
            options: dict[str, Any] = {
                "pi": None,
                "hull": [0],
                "played": 0,
                "names": NAMES,
                "named": [0],
            }
            figure = frontier_figure(gain, delta, **options)
            figure.savefig(io.BytesIO())
            assert figure.axes[0].get_xlim()[0] == figure.axes[0].get_ylim()[0] == 0.0


@pytest.mark.nightly
def test_thousands_of_arms_give_a_small_vector_file() -> None:
    rng = np.random.default_rng(1)
    count = 20 * CROWD
    names = [str(i) for i in range(count)]
    figure = frontier_figure(
        rng.random(count),
        rng.random(count),
        pi=np.eye(count)[3],
        hull=[3],
        played=3,
        names=names,
        named=[3, 4],
    )
    file = io.BytesIO()
    figure.savefig(file, format="svg")
    assert len(file.getvalue()) < 1_000_000
    assert len(offsets(figure, "others")) == count - 1
