"""Tests of readers: NetworkX graphs and GraphML files."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
from helpers.bad_input import check_refusal, refuses
from helpers.cases import each
from helpers.graph_files import (
    GRAPHML_BODY,
    GRAPHML_HEAD,
    Named,
    any_names,
    assert_same_graph,
    error_message,
    matrix_of,
    named_graphs,
    networkx_of,
    xml_names,
)
from hypothesis import given, settings
from hypothesis import strategies as st

from graphbandits.errors import InputError
from graphbandits.graphs import (
    DenseFeedback,
    RandomFeedback,
    UniformFeedback,
    as_process,
    from_graphml,
    from_matrix,
    from_networkx,
    load_graph,
    to_networkx,
)
from graphbandits.rng import Keys

Write = Callable[[str, str | bytes], Path]


def edge(ends: str, p: str = "", more: str = "") -> str:
    data = f"<data key='p'>{p}</data>" if p else ""
    return f"<edge source='{ends[0]}' target='{ends[1]}' {more}>{data}</edge>"


@each(
    ("content", "line"),
    [
        ("<graphml>\n<graph edgedefault='directed'>\n<node id='a'>\n</graph></graphml>", 4),
        (GRAPHML_BODY.format("<edge"), 8),
        (GRAPHML_HEAD, 4),
        ("<html>\n</html>", 1),
        ("<graphml/>", None),
        ("<graphml><graph edgedefault='directed'/></graphml>", None),
        (GRAPHML_HEAD + "<graph>\n</graph></graphml>", 4),
        (GRAPHML_HEAD + "<graph edgedefault='no'>\n</graph></graphml>", 4),
        (GRAPHML_BODY.format("</graph><graph edgedefault='directed'>"), None),
        (GRAPHML_BODY.format("<node/>"), 7),
        (GRAPHML_BODY.format("<node id='a'/>"), 7),
        (GRAPHML_BODY.format("<node id=' '/>"), 7),
        (GRAPHML_BODY.format("<node id='c'/><node id='c'/>"), 7),
        (GRAPHML_BODY.format("<edge source='a'/>"), 7),
        (GRAPHML_BODY.format(edge("ac")), 7),
        (GRAPHML_BODY.format(edge("ab", "", "directed='no'")), 7),
        (GRAPHML_BODY.format("<hyperedge/>"), 7),
        (GRAPHML_BODY.format("<edge source='a' target='b'>\n<data key='q'>1</data></edge>"), 8),
        (GRAPHML_BODY.format("<edge source='a' target='b'><data>1</data></edge>"), 7),
        (GRAPHML_BODY.format(edge("ab", "often")), 7),
        (GRAPHML_BODY.format("\n" + edge("ab", "3")), 8),
        (GRAPHML_BODY.format("<edge source='a' target='b'><data key='p'/></edge>"), 7),
        (GRAPHML_BODY.format(edge("aa", "0")), 7),
        (GRAPHML_BODY.format(edge("ab") + "\n" + edge("ab", "0.5")), 8),
        (GRAPHML_BODY.format(edge("ba") + "\n" + edge("ab", "0.5", "directed='false'")), 8),
        (GRAPHML_BODY.format("<node id='Zürich'/>").encode("latin-1"), 7),
        (GRAPHML_BODY.format("").encode() + b"\0", 10),
        ('<?xml version="1.0" encoding="klingon"?><graphml/>', None),
        ("", None),
    ],
)
def test_wrong_graphml_is_rejected(write: Write, content: str | bytes, line: int | None) -> None:
    message = error_message(write("graph.graphml", content))
    check_refusal(message)
    assert line is None or f"graph.graphml, line {line}: " in message


def test_wrong_graphml_options_are_rejected(write: Write) -> None:
    node = "<key id='l' for='node' attr.name='label'/><node id='c'><data key='l'>x</data></node>"
    path = write("graph.graphml", GRAPHML_BODY.format(node))
    assert "has no label" in error_message(path, label="label")
    empty = "<key id='l' for='node' attr.name='label'/>\n<node id='c'><data key='l'></data></node>"
    gephi = GRAPHML_BODY.replace('<node id="a"/>\n<node id="b"/>\n', "").format(empty)
    message = error_message(write("gephi.graphml", gephi), label="label")
    assert "line 6: the node 'c' has an empty label" in message
    assert "nodes have no attribute 'labl': did you mean 'label'" in error_message(
        path, label="labl"
    )
    assert "edges have no attribute 'chance'" in error_message(path, probability="chance")
    assert "has no option directed=" in error_message(path, directed=False)
    twice = GRAPHML_BODY.format(node + node.partition("/>")[2].replace("'c'", "'d'"))
    twice = twice.replace("<node id='c'>", "\n<node id='c'>").replace(
        "<node id='d'>", "\n<node id='d'>"
    )
    twice = twice.replace('<node id="a"/>\n<node id="b"/>\n', "")
    path = write("graph.graphml", twice)
    assert "line 7: the label 'x' is already used in line 6" in error_message(path, label="label")


def test_xml_entity_expansion_is_rejected(write: Write) -> None:
    levels = "".join(f'<!ENTITY e{i} "{f"&e{i - 1};" * 10}">' for i in range(1, 12))
    content = f'<!DOCTYPE graphml [<!ENTITY e0 "aaaaaaaaaa">{levels}]>\n<graphml>&e11;</graphml>'
    assert "not valid XML" in error_message(write("graph.graphml", content))


def test_wrong_networkx_weights_are_reported() -> None:
    graph = nx.Graph([("a", "b", {"weight": 3})])
    with refuses(InputError):
        as_process(graph)
    with refuses(InputError):
        from_networkx(graph, probability="chance")
    parallel = nx.MultiGraph([("a", "b", {"weight": 0.5}), ("b", "a", {"weight": 0.25})])
    with refuses(InputError):
        as_process(parallel)


forty_examples = settings(max_examples=40, deadline=None, derandomize=True)


@forty_examples
@given(named_graphs(xml_names), st.booleans())
def test_graphml_round_trip(folder: Path, graph: Named, pretty: bool) -> None:
    names, matrix = graph
    path = folder / "graph.graphml"
    nx.write_graphml(networkx_of(names, matrix), path, prettyprint=pretty)
    assert_same_graph(as_process(path), names, matrix)
    assert_same_graph(from_networkx(nx.read_graphml(path)), names, matrix)


@forty_examples
@given(named_graphs(any_names))
def test_networkx_round_trip(graph: Named) -> None:
    names, matrix = graph
    fixed = from_matrix(matrix, names)
    there = to_networkx(fixed)
    assert type(there) is nx.DiGraph
    assert list(there) == names
    assert nx.number_of_selfloops(there) == 0
    assert nx.utils.graphs_equal(there, networkx_of(names, matrix))
    assert_same_graph(as_process(there), names, matrix)


GRAPHML = """<?xml version="1.0" encoding="{encoding}"?>
<graphml xmlns="http://graphml.graphdrawing.org/xmlns" xmlns:y="http://www.yworks.com/xml/graphml">
  <key id="d0" for="edge" attr.name="{attribute}" attr.type="double">{default}</key>
  <key id="d1" for="node" attr.name="label" attr.type="string"/>
  <graph id="G" edgedefault="{edgedefault}">
    <node id="n0"><data key="d1">Ann B.</data></node>
    <node id="n1"><data key="d1">Zoë</data><port name="North"/></node>
    <node id="n2"><data key="d1">Eve</data></node>
    <edge id="e0" source="n0" target="n1"><data key="d0">0.5</data></edge>
    <edge source="n2" target="n1" {directed}/>
  </graph>
</graphml>
"""


def graphml(**options: str) -> str:
    usual = {
        "encoding": "UTF-8",
        "attribute": "probability",
        "default": "",
        "edgedefault": "directed",
        "directed": "",
    }
    return GRAPHML.format(**(usual | options))


@each("name", ["a.graphml", "a.xml", "a", "a.graphml.gz"])
def test_graphml_is_recognized_by_extension_or_content(write: Write, name: str) -> None:
    content = graphml().encode()
    process = as_process(write(name, gzip.compress(content) if name.endswith("gz") else content))
    assert_same_graph(process, ["n0", "n1", "n2"], np.array([[1, 0.5, 0], [0, 1, 0], [0, 1, 1]]))


@each(
    ("options", "matrix"),
    [
        ({"attribute": "weight"}, [[1, 0.5, 0], [0, 1, 0], [0, 1, 1]]),
        ({"attribute": "chance"}, [[1, 1, 0], [0, 1, 0], [0, 1, 1]]),
        ({"default": "<default>0.25</default>"}, [[1, 0.5, 0], [0, 1, 0], [0, 0.25, 1]]),
        ({"edgedefault": "undirected"}, [[1, 0.5, 0], [0.5, 1, 1], [0, 1, 1]]),
        ({"directed": 'directed="false"'}, [[1, 0.5, 0], [0, 1, 1], [0, 1, 1]]),
        (
            {"edgedefault": "undirected", "directed": 'directed="true"'},
            [[1, 0.5, 0], [0.5, 1, 0], [0, 1, 1]],
        ),
    ],
)
def test_graphml_is_read(write: Write, options: dict[str, str], matrix: list) -> None:
    path = write("a.graphml", graphml(**options))
    assert matrix_of(load_graph(path)).tolist() == matrix


def test_graphml_options_select_attributes(write: Write) -> None:
    path = write("a.graphml", graphml(attribute="chance"))
    sure, half = [[1, 1, 0], [0, 1, 0], [0, 1, 1]], [[1, 0.5, 0], [0, 1, 0], [0, 1, 1]]
    assert matrix_of(from_graphml(path, probability="chance")).tolist() == half
    assert matrix_of(as_process(f"file(path={path}, probability=chance)")).tolist() == half
    assert matrix_of(from_graphml(path, probability=None)).tolist() == sure
    assert from_graphml(path, label="label").names == ("Ann B.", "Zoë", "Eve")
    assert as_process(f"file(path={path}, label=label)").names == ("Ann B.", "Zoë", "Eve")


@each("encoding", ["UTF-8", "UTF-16", "ISO-8859-1"])
def test_graphml_encoding_is_used(write: Write, encoding: str) -> None:
    path = write("a.graphml", graphml(encoding=encoding).encode(encoding))
    assert from_graphml(path, label="label").names == ("Ann B.", "Zoë", "Eve")


def test_yed_label_with_elements_is_read(write: Write) -> None:
    inside = "<y:LabelModel><y:SmartNodeLabelModel/>\n</y:LabelModel>\n<y:ModelParameter/>"
    drawn = f"<y:ShapeNode><y:NodeLabel>{{}}{inside}</y:NodeLabel><y:NodeLabel/></y:ShapeNode>"
    content = graphml().replace('attr.name="label"', 'yfiles.type="nodegraphics"')
    for name in ("Ann B.", "Zoë", "Eve"):
        content = content.replace(name, drawn.format(name))
    path = write("a.graphml", content)
    assert from_graphml(path, label="label").names == ("Ann B.", "Zoë", "Eve")
    path = write("b.graphml", content.replace("Zoë", " "))
    with refuses(InputError):
        from_graphml(path, label="label")


def test_weight_is_probability_if_no_other_attribute() -> None:
    graph = nx.DiGraph([("a", "b", {"weight": 0.5}), ("b", "c", {})])
    want = [[1, 0.5, 0], [0, 1, 1], [0, 0, 1]]
    assert matrix_of(as_process(graph)).tolist() == want
    graph.edges["b", "c"]["probability"] = 0.25
    assert matrix_of(as_process(graph)).tolist() == [[1, 1, 0], [0, 1, 0.25], [0, 0, 1]]
    assert from_networkx(graph, probability=None).deterministic
    assert matrix_of(from_networkx(graph, probability="weight")).tolist() == want


def test_unnamed_nodes_are_numbers() -> None:
    there = to_networkx(as_process("star(direction=out)", arms=3))
    assert list(there.edges(data="probability")) == [(0, 1, 1.0), (0, 2, 1.0)]
    assert to_networkx(UniformFeedback(0.5, 2)).edges[1, 0] == {"probability": 0.5}
    assert list(to_networkx(UniformFeedback(0.0, 10_000)).edges) == []
    assert len(to_networkx(UniformFeedback(0.0, 3))) == 3


@each(
    "graph",
    [
        RandomFeedback(3, None),
        DenseFeedback(np.stack([np.eye(2)] * 3)),
        UniformFeedback(np.array([0.1, 0.2]), 3),
        UniformFeedback(0.5, 1_000_000),
        "paper",
        None,
        np.eye(3),
    ],
)
def test_only_single_graphs_convert_to_networkx(graph: object) -> None:
    with pytest.raises(InputError):
        to_networkx(graph)  # type: ignore[arg-type]


@each("arms", [1, 2, 6, 130])
@each("directed", [False, True])
@each("weighted", [False, True])
def test_networkx_graph_is_read(arms: int, directed: bool, weighted: bool) -> None:
    rng = np.random.default_rng(arms)
    graph = nx.gnp_random_graph(arms, 0.3, seed=arms, directed=directed)
    for u, v in graph.edges:
        if weighted:
            graph.edges[u, v]["probability"] = rng.random()
            graph.edges[u, v]["weight"] = 7.0  # is ignored if there is a probability
    want = nx.to_numpy_array(graph, weight="probability" if weighted else None)
    np.fill_diagonal(want, 1.0)
    for process in (from_networkx(graph), as_process(graph), as_process(graph, arms=arms)):
        assert (matrix_of(process) == want).all()
        assert process.names == tuple(str(i) for i in range(arms))
        assert isinstance(process.round(1, Keys(0)), DenseFeedback) is (arms <= 100)


def test_networkx_nodes_keep_order_and_can_be_any_object() -> None:
    graph = nx.DiGraph()
    graph.add_nodes_from([(1, 2), "b", 3.5, frozenset()])
    graph.add_edge("b", (1, 2), probability=0.5)
    graph.add_edge(3.5, "b")
    process = from_networkx(graph)
    assert process.names == ("(1, 2)", "b", "3.5", "frozenset()")
    want = np.eye(4)
    want[1, 0], want[2, 1] = 0.5, 1.0
    assert (matrix_of(process) == want).all()


@each("kind", [nx.Graph, nx.DiGraph])
def test_networkx_self_loops_are_ignored(kind: type[nx.Graph]) -> None:
    graph = kind([("a", "a"), ("b", "b")])
    assert matrix_of(from_networkx(graph)).tolist() == [[1, 0], [0, 1]]


def test_equal_parallel_edges_are_merged() -> None:
    graph = nx.MultiDiGraph([("a", "b", {"probability": 0.5}), ("a", "b", {"probability": 0.5})])
    assert matrix_of(from_networkx(graph)).tolist() == [[1, 0.5], [0, 1]]


@each("p", [1.5, -0.1, float("nan"), None, "often", [0.5, 0.5]])
def test_wrong_networkx_probabilities_are_rejected(p: object) -> None:
    graph = nx.DiGraph([("a", "b", {"probability": p})])
    with pytest.raises(InputError):
        from_networkx(graph)


def wrong_networkx() -> dict[str, nx.Graph]:
    same = nx.Graph()
    same.add_nodes_from([1, "1"])

    def parallel(p: float, q: float) -> nx.Graph:
        return nx.MultiGraph([("a", "b", {"probability": p}), ("a", "b", {"probability": q})])

    return {
        "no nodes": nx.Graph(),
        "nodes of the same name": same,
        "parallel edges that differ": parallel(0.5, 0.25),
        "parallel edges that differ, one zero": parallel(0.0, 0.25),
        "a self-loop that is not sure": nx.Graph([("a", "a", {"probability": 0.5})]),
    }


@each("case", wrong_networkx())
def test_wrong_networkx_graph_is_rejected(case: str) -> None:
    with pytest.raises(InputError):
        from_networkx(wrong_networkx()[case])
