"""Tests of graphs/named.py: graphs by name and their parameters."""

from __future__ import annotations

from collections.abc import Callable

import networkx as nx
import numpy as np
from helpers.cases import each
from helpers.process_matrices import assert_frequency, feedback_matrix, trial_matrices

from graphbandits._types import Floats
from graphbandits.graphs import DenseFeedback, SparseFeedback, UniformFeedback, as_process
from graphbandits.rng import Keys


def cliques(arms: int, size: int) -> nx.Graph:
    blocks = [nx.complete_graph(min(size, arms - start)) for start in range(0, arms, size)]
    return nx.disjoint_union_all(blocks)


def grid(arms: int, columns: int) -> nx.Graph:
    rectangle = nx.grid_2d_graph(arms // columns, columns)
    return nx.relabel_nodes(rectangle, {(i, j): i * columns + j for i, j in rectangle})


def arrows(arms: int, edges: list[tuple[int, int]]) -> nx.DiGraph:
    graph = nx.empty_graph(arms, create_using=nx.DiGraph)
    graph.add_edges_from(edges)
    return graph


NAMED: dict[str, Callable[[int], nx.Graph]] = {
    "empty": nx.empty_graph,
    "complete": nx.complete_graph,
    "star": lambda arms: nx.star_graph(arms - 1),
    "star(direction=both)": lambda arms: nx.star_graph(arms - 1),
    "star(direction=out)": lambda arms: arrows(arms, [(0, i) for i in range(1, arms)]),
    "star(direction=in)": lambda arms: arrows(arms, [(i, 0) for i in range(1, arms)]),
    "ring": nx.cycle_graph,
    "ring(directed=true)": lambda arms: nx.cycle_graph(arms, create_using=nx.DiGraph),
    "path": nx.path_graph,
    "path(directed=true)": lambda arms: nx.path_graph(arms, create_using=nx.DiGraph),
    "cliques(size=1)": lambda arms: cliques(arms, 1),
    "cliques(size=3)": lambda arms: cliques(arms, 3),
    "cliques(size=4)": lambda arms: cliques(arms, 4),
    "cliques(size=200)": lambda arms: cliques(arms, 200),
    "grid(columns=1)": lambda arms: grid(arms, 1),
}


def adjacency(graph: nx.Graph) -> Floats:
    """0/1 with ones on the diagonal, by NetworkX."""
    matrix = nx.to_numpy_array(graph, nodelist=sorted(graph))
    np.fill_diagonal(matrix, 1.0)
    return matrix


@each("text", NAMED)
def test_named_graphs_match_networkx(text: str) -> None:
    for arms in [1, 2, 3, 4, 5, 7, 30, 100, 101, 151]:
        process = as_process(text, arms=arms)
        assert process.arms == arms
        assert process.deterministic is True
        assert process.rounds is None
        feedback = process.round(1, Keys(0))
        assert isinstance(feedback, DenseFeedback) is (arms <= 100)
        assert (feedback_matrix(feedback) == adjacency(NAMED[text](arms))).all()


@each(
    ("columns", "arms"), [(1, 1), (2, 2), (3, 6), (2, 6), (6, 6), (10, 100), (4, 104), (104, 104)]
)
def test_grids_match_networkx(columns: int, arms: int) -> None:
    feedback = as_process(f"grid(columns={columns})", arms=arms).round(1, Keys(0))
    assert isinstance(feedback, DenseFeedback) is (arms <= 100)
    assert (feedback_matrix(feedback) == adjacency(grid(arms, columns))).all()


@each("arms", [None, 5])
def test_paper_graph_has_its_edges(arms: int | None) -> None:
    edges = [(1, 2), (1, 3), (2, 3), (3, 4), (3, 5), (4, 5)]
    feedback = as_process("paper", arms=arms).round(1, Keys(0))
    assert (feedback_matrix(feedback) == adjacency(nx.Graph(edges))).all()


def test_clique_larger_than_graph_is_complete() -> None:
    feedback = as_process("cliques(size=1000000000000000)", arms=5).round(1, Keys(0))
    assert (feedback_matrix(feedback) == 1.0).all()


def test_random_feedback_by_name_uses_parameters() -> None:
    listed = as_process("random(r=[0.1, 0.9])", arms=3)
    assert listed.rounds == 2
    assert trial_matrices(listed, 2, Keys(0))[0, 0, 1] == 0.9
    drawn = as_process("random(r=uniform, low=0.4, high=0.5)", arms=3)
    r = trial_matrices(drawn, 1, Keys(0, trials=100))[:, 0, 1]
    assert len(set(r.tolist())) == 100
    assert 0.4 <= r.min() < 0.42
    assert 0.48 < r.max() <= 0.5
    shared = as_process("random(r=uniform, shared=true)", arms=3)
    assert len(set(trial_matrices(shared, 1, Keys(0, trials=100))[:, 0, 1].tolist())) == 1


def test_revealed_graphs_by_name_use_parameters() -> None:
    keys = Keys(0, trials=2000)
    upper = np.triu_indices(6, 1)

    def draw(text: str) -> Floats:
        return trial_matrices(as_process(text, arms=6), 1, keys)

    assert_frequency(draw("revealed-er")[:, *upper], 0.25)
    assert_frequency(draw("revealed-er(p=0.7)")[:, *upper], 0.7)
    directed = draw("revealed-er(p=0.5, directed=true)")
    assert (directed != directed.transpose(0, 2, 1)).any()
    shared = draw("revealed-er(p=0.5, shared=true)")
    assert (shared == shared[0]).all()


MANY = 10**5


@each(
    ("text", "degrees"),
    [
        ("empty", np.ones(MANY)),
        ("star", np.concatenate([[MANY], np.full(MANY - 1, 2.0)])),
        ("star(direction=out)", np.concatenate([[MANY], np.ones(MANY - 1)])),
        ("ring", np.full(MANY, 3.0)),
        ("path(directed=true)", np.concatenate([np.full(MANY - 1, 2.0), [1.0]])),
        ("cliques(size=3)", np.concatenate([np.full(MANY - 1, 3.0), [1.0]])),
        ("complete", np.full(MANY, float(MANY))),
        ("random(r=0.25)", np.full(MANY, 0.75 + 0.25 * MANY)),
    ],
)
def test_graphs_with_many_arms_need_no_matrix(text: str, degrees: Floats) -> None:
    feedback = as_process(text, arms=MANY).round(1, Keys(seed=0))
    assert isinstance(feedback, SparseFeedback | UniformFeedback)
    assert (feedback.gain(np.ones((1, MANY)))[0] == degrees).all()
