"""Tests of plots/plays.py: plays on the graph and by rank."""

from __future__ import annotations

import itertools
from dataclasses import replace

import networkx
import numpy as np
import pytest
from helpers.figures import NAMES, check_page, gid, made
from matplotlib.figure import Figure
from matplotlib.text import Annotation

from graphbandits import Bernoulli, BetaBernoulli, Results, simulate
from graphbandits.graphs import Fixed, UniformFeedback
from graphbandits.plots import plays_figure
from graphbandits.plots.graph import NAMED
from graphbandits.plots.plays import DRAWN


def radii(figure: Figure, axes: int) -> np.ndarray:
    (nodes,) = gid(figure, "nodes", axes)
    return nodes._widths


def test_areas_and_colours_are_the_shares_of_plays(named: Results, directed: Fixed) -> None:
    figure = plays_figure(named, graph=directed)
    areas = {}
    for axes, name in enumerate(named.ranking()):
        plays = named[name].plays
        (nodes,) = gid(figure, "nodes", axes)
        assert nodes.get_array().tolist() == pytest.approx((plays / plays.sum()).tolist())
        assert nodes.get_clim() == (0.0, 0.4)
        areas[name] = radii(figure, axes) ** 2
        assert (areas[name] * plays.max()).tolist() == pytest.approx(
            (areas[name].max() * plays).tolist()
        )
        assert figure.axes[axes].get_title() == name.replace("$", r"\$")
    assert areas["ids_$a$"].max() == pytest.approx(areas["ts-n"].max())  # both are 40 %


def test_arrows_go_from_the_played_arm_to_the_one_it_shows(named: Results, directed: Fixed) -> None:
    figure = plays_figure(named, "ts-n", graph=directed)
    places = np.asarray(gid(figure, "nodes")[0].get_offsets())
    (heads,), (edges,) = gid(figure, "heads"), gid(figure, "edges")
    found = set()
    for path, line in zip(heads.get_paths(), edges.get_segments(), strict=True):
        target = np.argmin(np.hypot(*(places - path.vertices[0]).T))
        source = np.argmin(np.hypot(*(places - line[0]).T))
        base = path.vertices[1:3].mean(axis=0)
        towards = places[target] - base
        assert towards @ (path.vertices[0] - base) > 0.0
        found.add((int(source), int(target)))
    assert found == {(0, 1), (1, 2), (2, 0), (0, 3), (3, 4), (4, 3), (4, 5)}
    widths = dict(zip(sorted(found), edges.get_linewidths(), strict=True))
    assert widths[0, 3] > widths[0, 1] > widths[4, 5] > widths[1, 2] > widths[3, 4]


def test_a_symmetric_graph_has_lines_without_arrows(results: Results) -> None:
    figure = plays_figure(results, "ids-n", graph="paper")
    places = np.asarray(gid(figure, "nodes")[0].get_offsets()).tolist()
    pairs = {
        tuple(sorted(places.index(end) for end in segment.tolist()))
        for segment in gid(figure, "edges")[0].get_segments()
    }
    assert pairs == {(0, 1), (0, 2), (1, 2), (2, 3), (2, 4), (3, 4)}
    assert gid(figure, "heads")[0].get_paths() == []


def labels_of(figure: Figure, axes: int = 0) -> list[Annotation]:
    return [text for text in figure.axes[axes].texts if isinstance(text, Annotation)]


def check_labels(figure: Figure) -> None:
    check_page(figure)
    for axes in figure.axes[:-1]:
        boxes = [text.get_window_extent() for text in axes.texts]
        for first, second in itertools.combinations(boxes, 2):
            assert not first.padded(-1).overlaps(second.padded(-1))


def test_every_arm_is_named_and_no_name_covers_another(named: Results, directed: Fixed) -> None:
    for figure in (plays_figure(named, graph=directed), plays_figure(named)):
        check_labels(figure)
        for axes, policy in enumerate(named.ranking()):
            texts = [text.get_text().replace("\n", "") for text in labels_of(figure, axes)]
            for name, plays in zip(NAMES, named[policy].plays, strict=True):
                wanted = name.replace("$", r"\$").replace(" ", "") + f"{plays:.0f}%"
                assert wanted in [text.replace(" ", "") for text in texts]


def test_names_that_do_not_fit_become_numbers_with_a_key() -> None:
    names = tuple(f"customer segment number {i:02d} of the north" for i in range(20))
    crowded = made({"a": [1.0, 2.0], "b": [2.0, 3.0]}, np.arange(1, 21), names)
    figure = plays_figure(crowded, graph="grid(columns=5)")
    check_labels(figure)
    assert sorted(int(text.get_text()) for text in labels_of(figure)) == list(range(1, 21))
    key = [text.get_text() for text in figure.legends[0].get_texts()]
    assert key == [f"{i + 1}  {name}" for i, name in enumerate(names)]


def test_of_many_arms_only_the_most_played_are_drawn() -> None:
    plays = np.arange(300)
    many = made({"a": [1.0, 2.0]}, plays)
    graph = networkx.path_graph(300, create_using=networkx.DiGraph)
    graph = networkx.relabel_nodes(graph, {i: str(i + 1) for i in range(300)})
    figure = plays_figure(many, graph=graph)
    (nodes,) = gid(figure, "nodes")
    assert sorted(nodes.get_array() * plays.sum()) == pytest.approx(list(range(300 - DRAWN, 300)))
    assert len(gid(figure, "edges")[0].get_segments()) == DRAWN - 1
    named = [int(text.get_text().split("\n")[0]) for text in labels_of(figure)]
    assert 0 < len(named) <= NAMED
    assert min(named) > 300 - NAMED
    assert any("100 most played of 300 arms" in text.get_text() for text in figure.texts)
    check_labels(figure)


def test_200_000_arms_need_no_matrix() -> None:
    plays = np.ones(200_000, np.int64)
    plays[77] = 10**7
    figure = plays_figure(made({"a": [1.0]}, plays), graph=UniformFeedback(0.2, 200_000))
    assert labels_of(figure)[0].get_text().split("\n")[0] == "78"


def test_one_arm_and_graphs_without_edges_can_be_drawn() -> None:
    check_labels(plays_figure(made({"a": [1.0]}, [7]), graph="empty"))
    figure = plays_figure(made({"a": [1.0]}, [7, 2, 1]))
    assert any("no fixed graph" in text.get_text() for text in figure.texts)
    check_labels(figure)


def parts(figure: Figure) -> np.ndarray:
    """Widths of the parts of each bar: one row per policy, one column per rank."""
    bars = figure.axes[0].patches
    rows = len(figure.axes[0].get_yticks())
    return np.array([bar.get_width() for bar in bars]).reshape(-1, rows).T


def test_plays_are_by_true_rank_the_best_arm_first(results: Results) -> None:
    figure = plays_figure(results, width=3.5)
    assert [t.get_text() for t in figure.axes[0].get_yticklabels()] == results.ranking()
    for name, shares in zip(results.ranking(), parts(figure), strict=True):
        assert shares == pytest.approx(results[name].rank_plays / results[name].plays.sum())
        assert shares[0] == shares.max()  # the best is played most; which arm that is differs
    assert "true rank" in figure.axes[0].get_xlabel().replace("\n", " ")
    assert [t.get_text() for t in figure.legends[0].get_texts()] == list("12345")
    check_page(figure)
    # on a graph, plays are shown by arm
    assert gid(plays_figure(results, by="arm"), "nodes")
    assert gid(plays_figure(results, graph="paper"), "nodes")


def test_ranks_of_many_arms_are_grouped() -> None:
    results = simulate("uniform", graph="star", arms=30, horizon=30, trials=20)
    figure = plays_figure(results)
    ranked = results["uniform"].rank_plays / results["uniform"].plays.sum()
    cuts = [0, 1, 2, 3, 5, 10, 20, 30]
    wanted = [ranked[a:b].sum() for a, b in itertools.pairwise(cuts)]
    assert parts(figure)[0] == pytest.approx(wanted)
    legend = [text.get_text() for text in figure.legends[0].get_texts()]
    assert legend == ["1", "2", "3", "4 to 5", "6 to 10", "11 to 20", "21 to 30"]
    check_page(figure)


def without_ranks(results: Results) -> Results:
    """Return results as those of a study whose plug-in is not loaded."""
    policies = {name: replace(one, rank_plays=None) for name, one in results.policies.items()}
    return replace(results, policies=policies)


def test_without_ranks_plays_are_by_arm_with_a_note(results: Results) -> None:
    loaded = without_ranks(results)
    figure = plays_figure(loaded)
    assert figure.axes[-1].get_ylabel() == "share of plays, by arm"
    note = " ".join(text.get_text() for text in figure.texts)
    assert "by arm: the true ranks are not recorded" in note.replace("\n", " ")
    assert not any("ranks" in t.get_text() for t in plays_figure(loaded, by="arm").texts)
    # with fixed means they are known from the settings
    world = Bernoulli(BetaBernoulli.of(3), fixed=[0.2, 0.9, 0.3])
    fixed = simulate("ts", world, "empty", horizon=30, trials=5)
    plays = fixed["ts"].plays[[1, 2, 0]] / fixed["ts"].plays.sum()
    assert parts(plays_figure(without_ranks(fixed)))[0] == pytest.approx(plays)
