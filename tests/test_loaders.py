"""Graphs from files, NetworkX, arrays and text; and what is said about those that are wrong."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graphbandits.errors import InputError
from graphbandits.graphs import (
    Dense,
    Fixed,
    GivenSequence,
    Process,
    RandomFeedback,
    Sparse,
    Uniform,
    as_process,
    from_edge_list,
    from_matrix,
    from_networkx,
)
from graphbandits.graphs.named import Star
from graphbandits.rng import Keys
from graphbandits.types import Floats

few = settings(max_examples=50, deadline=None, derandomize=True)

DIRECTED = np.array([[1.0, 0.5, 0.0], [0.0, 1.0, 1.0], [0.25, 0.0, 1.0]])


def matrix_of(process: Process, t: int = 1) -> Floats:
    return process.round(t, Keys(0)).reach(np.arange(process.arms))


@pytest.fixture
def write(tmp_path: Path) -> Callable[[str | bytes], Path]:
    """Write a graph file, byte by byte, and give its path."""

    def writer(content: str | bytes) -> Path:
        path = tmp_path / "edges.txt"
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return writer


Write = Callable[[str | bytes], Path]


# Edge lists


@pytest.mark.parametrize(
    ("content", "names", "matrix"),
    [
        ("a b\n", "a b", [[1, 1], [0, 1]]),
        ("a b", "a b", [[1, 1], [0, 1]]),
        ("a b\nb a\n", "a b", [[1, 1], [1, 1]]),
        ("b a\n", "b a", [[1, 1], [0, 1]]),
        ("a b 0.25\nb a 0.5\n", "a b", [[1, 0.25], [0.5, 1]]),
        ("a b 1e-3\n", "a b", [[1, 0.001], [0, 1]]),
        ("a b 0\n", "a b", [[1, 0], [0, 1]]),
        ("a b 1\n", "a b", [[1, 1], [0, 1]]),
        ("z y\nx z\n", "z y x", [[1, 1, 0], [0, 1, 0], [1, 0, 1]]),
        ("10 2\n2 1\n", "10 2 1", [[1, 1, 0], [0, 1, 1], [0, 0, 1]]),
        ("# who sees whom\n\n   \na b # sure\n#c d\n", "a b", [[1, 1], [0, 1]]),
        ("a b#c\n", "a b#c", [[1, 1], [0, 1]]),
        ("a C# 0.5\n", "a C#", [[1, 0.5], [0, 1]]),
        ("a b #c\n", "a b", [[1, 1], [0, 1]]),
        ("#python #rust\na b\t#c#\n", "a b", [[1, 1], [0, 1]]),
        ("http://x.org/a#b y#\n", "http://x.org/a#b y#", [[1, 1], [0, 1]]),
        ("% asym\n// note\n  %x y\na b\n//c d\n", "a b", [[1, 1], [0, 1]]),
        ("a %b\n", "a %b", [[1, 1], [0, 1]]),
        ("u v 1\n", "u v", [[1, 1], [0, 1]]),
        ("0 1\n1 0\n", "0 1", [[1, 1], [1, 1]]),
        ("\t a \t b   0.5  \n", "a b", [[1, 0.5], [0, 1]]),
        ("a b 0.5\na b 0.50\n", "a b", [[1, 0.5], [0, 1]]),
        ("a b\na b 1.0\n", "a b", [[1, 1], [0, 1]]),
        ("lonely\na b\n", "lonely a b", [[1, 0, 0], [0, 1, 1], [0, 0, 1]]),
        ("a b\nlonely\n", "a b lonely", [[1, 1, 0], [0, 1, 0], [0, 0, 1]]),
        ("a b\na\nb\n", "a b", [[1, 1], [0, 1]]),
        ("a\n", "a", [[1]]),
        ("a a\n", "a", [[1]]),
        ("a a 1.0\na b\n", "a b", [[1, 1], [0, 1]]),
        ("a b\nb b\n", "a b", [[1, 1], [0, 1]]),
        ("A a\n", "A a", [[1, 1], [0, 1]]),
        ("Zürich 東京 0.5\n東京 🙂\n", "Zürich 東京 🙂", [[1, 0.5, 0], [0, 1, 1], [0, 0, 1]]),
        (b"\xef\xbb\xbfa b\nb a\n", "a b", [[1, 1], [1, 1]]),
        (
            b"\xef\xbb\xbf# note\r\na b 0.5\r\n\r\nc\r\n",
            "a b c",
            [[1, 0.5, 0], [0, 1, 0], [0, 0, 1]],
        ),
        ("a b\r\nb c 0.5\r\n", "a b c", [[1, 1, 0], [0, 1, 0.5], [0, 0, 1]]),
    ],
)
def test_an_edge_list(write: Write, content: str | bytes, names: str, matrix: list) -> None:
    path = write(content)
    for process in (from_edge_list(path), as_process(path), as_process(f"file:{path}")):
        assert process.names == tuple(names.split())
        assert matrix_of(process).tolist() == matrix
        assert process.deterministic is bool(np.isin(matrix, (0, 1)).all())
        assert process.rounds is None


@pytest.mark.parametrize(
    ("content", "line", "message"),
    [
        ("a b\nb c 0.5 x\n", 2, "4 words"),
        ("a b c d e\n", 1, "5 words"),
        ("a b 1.5\n", 1, "not '1.5'"),
        ("a b -0.5\n", 1, "not '-0.5'"),
        ("a b nan\n", 1, "not 'nan'"),
        ("a b inf\n", 1, "not 'inf'"),
        ("# one\n\na b often # three\n", 3, "not 'often'"),
        ("a b 0,5\n", 1, "not '0,5'"),
        ("a b 0.5\nc d\na b 0.25\n", 3, "a -> b was given before with 0.5"),
        ("a b\na b 0.5\n", 2, "a -> b was given before with 1"),
        ("a b 0\r\na b\r\n", 2, "a -> b was given before with 0"),
        ("a b 0.5\na b 0\n", 2, "a -> b was given before with 0.5"),
        ("a b\na a 0.5\n", 2, "always observed"),
        ("a a 0\n", 1, "always observed"),
        ("a a\na a 0.5\n", 2, "a -> a|always observed"),
        (b"\xef\xbb\xbfa b\n\na b 7\n", 3, "not '7'"),
    ],
)
def test_a_wrong_line_is_named(write: Write, content: str | bytes, line: int, message: str) -> None:
    path = write(content)
    with pytest.raises(InputError, match=f"^{re.escape(str(path))}, line {line}: .*({message})"):
        from_edge_list(path)


def test_the_way_back_may_differ(write: Write) -> None:
    """Only the same direction twice is a repetition."""
    process = from_edge_list(write("a b 0.5\nb a 0.25\n"))
    assert matrix_of(process).tolist() == [[1, 0.5], [0.25, 1]]


@pytest.mark.parametrize("content", ["", "\n\n", "# nothing\n", b"\xef\xbb\xbf", "  \t\r\n"])
def test_an_empty_file_is_refused(write: Write, content: str | bytes) -> None:
    path = write(content)
    with pytest.raises(InputError, match=f"{re.escape(str(path))} holds no edges"):
        from_edge_list(path)


@pytest.mark.parametrize(
    "content",
    [
        b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR",
        b"a b\n\x00\x01",
        bytes(range(256)),
        "a b\n".encode("utf-16"),
        "Zürich Köln\n".encode("latin-1"),
    ],
    ids=["png", "zero", "bytes", "utf-16", "latin-1"],
)
def test_a_file_that_is_not_text_is_refused(write: Write, content: bytes) -> None:
    path = write(content)
    with pytest.raises(InputError, match=f"{re.escape(str(path))} is not text"):
        from_edge_list(path)


@pytest.mark.parametrize(
    "load", [from_edge_list, as_process, lambda path: as_process(f"file:{path}")]
)
def test_a_file_that_cannot_be_read_is_named(
    load: Callable[[Path], Process], tmp_path: Path
) -> None:
    missing = tmp_path / "missing.txt"
    with pytest.raises(InputError, match=f"{re.escape(str(missing))}: No such file"):
        load(missing)
    with pytest.raises(InputError, match=f"{re.escape(str(tmp_path))}: Is a directory"):
        load(tmp_path)


def test_a_file_must_have_the_arms_asked_for(write: Write) -> None:
    path = write("a b\nb c\n")
    assert as_process(path, arms=3).arms == 3
    with pytest.raises(InputError, match="3 arms, but 4"):
        as_process(f"file:{path}", arms=4)


def test_a_large_file_is_kept_as_lists(write: Write) -> None:
    process = from_edge_list(write("".join(f"n{i} n{i + 1} 0.5\n" for i in range(5000))))
    assert process.arms == 5001
    feedback = process.round(1, Keys(0))
    assert isinstance(feedback, Sparse)
    gain = feedback.gain(np.ones((1, 5001)))[0]
    assert gain.tolist() == [1.5] * 5000 + [1.0]
    assert process.names is not None
    assert process.names[-1] == "n5000"


words = st.text(
    st.characters(codec="utf-8", exclude_characters="#%/,;\0\ufeff", exclude_categories=["Z", "C"]),
    min_size=1,
    max_size=6,
)


@few
@given(st.data())
def test_a_written_graph_is_read_back(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    names = data.draw(st.lists(words, min_size=1, max_size=6, unique=True))
    arms = len(names)
    entries = st.floats(0.0, 1.0) | st.sampled_from([0.0, 1.0])
    values = data.draw(st.lists(entries, min_size=arms * arms, max_size=arms * arms))
    matrix = np.array(values).reshape(arms, arms)
    np.fill_diagonal(matrix, 1.0)
    lines = list(names)
    for i, j in data.draw(st.permutations(list(np.ndindex(arms, arms)))):
        p = float(matrix[i, j])
        lines.append(f"{names[i]} {names[j]}" + (f" {p!r}" if p < 1.0 else ""))
    end = data.draw(st.sampled_from(["\n", "\r\n"]))
    path = tmp_path_factory.mktemp("graph") / "edges.txt"
    path.write_bytes(end.join(lines).encode())
    process = from_edge_list(path)
    assert process.names == tuple(names)
    assert (matrix_of(process) == matrix).all()


# NetworkX


@pytest.mark.parametrize("arms", [1, 2, 6, 130])
@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_a_networkx_graph(arms: int, directed: bool, weighted: bool) -> None:
    rng = np.random.default_rng(arms)
    graph = nx.gnp_random_graph(arms, 0.3, seed=arms, directed=directed)
    for u, v in graph.edges:
        if weighted:
            graph.edges[u, v]["probability"] = rng.random()
            graph.edges[u, v]["weight"] = 7.0  # means nothing beside a probability
    want = nx.to_numpy_array(graph, weight="probability" if weighted else None)
    np.fill_diagonal(want, 1.0)
    for process in (from_networkx(graph), as_process(graph), as_process(graph, arms=arms)):
        assert (matrix_of(process) == want).all()
        assert process.names == tuple(str(i) for i in range(arms))
        assert isinstance(process.round(1, Keys(0)), Dense) is (arms <= 100)


def test_networkx_nodes_keep_their_order_and_may_be_anything() -> None:
    graph = nx.DiGraph()
    graph.add_nodes_from([(1, 2), "b", 3.5, frozenset()])
    graph.add_edge("b", (1, 2), probability=0.5)
    graph.add_edge(3.5, "b")
    process = from_networkx(graph)
    assert process.names == ("(1, 2)", "b", "3.5", "frozenset()")
    want = np.eye(4)
    want[1, 0], want[2, 1] = 0.5, 1.0
    assert (matrix_of(process) == want).all()


def test_the_probability_may_have_another_name() -> None:
    graph = nx.Graph()
    graph.add_edge("a", "b", p=0.5, probability=0.1)
    assert matrix_of(from_networkx(graph, probability="p")).tolist() == [[1, 0.5], [0.5, 1]]


def test_an_edge_without_probability_is_sure() -> None:
    graph = nx.DiGraph()
    graph.add_edge("a", "b", probability=0.5)
    graph.add_edge("b", "c")
    assert matrix_of(from_networkx(graph)).tolist() == [[1, 0.5, 0], [0, 1, 1], [0, 0, 1]]


@pytest.mark.parametrize("kind", [nx.Graph, nx.DiGraph])
def test_networkx_self_loops_change_nothing(kind: type[nx.Graph]) -> None:
    graph = kind([("a", "a"), ("b", "b")])
    assert matrix_of(from_networkx(graph)).tolist() == [[1, 0], [0, 1]]


def test_parallel_edges_that_agree_are_one() -> None:
    graph = nx.MultiDiGraph([("a", "b", {"probability": 0.5}), ("a", "b", {"probability": 0.5})])
    assert matrix_of(from_networkx(graph)).tolist() == [[1, 0.5], [0, 1]]


@pytest.mark.parametrize("p", [1.5, -0.1, float("nan"), None, "often", [0.5, 0.5]])
def test_wrong_networkx_probabilities_are_refused(p: object) -> None:
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


@pytest.mark.parametrize("case", wrong_networkx())
def test_a_wrong_networkx_graph_is_refused(case: str) -> None:
    with pytest.raises(InputError):
        from_networkx(wrong_networkx()[case])


# Arrays and lists


@pytest.mark.parametrize(
    "given",
    [
        DIRECTED,
        DIRECTED.tolist(),
        tuple(tuple(row) for row in DIRECTED.tolist()),
        list(DIRECTED),
        np.asfortranarray(DIRECTED),
        DIRECTED.astype(np.float32),
        DIRECTED.astype(object),
        np.repeat(DIRECTED, 2, axis=1)[:, ::2],
        Dense(DIRECTED),
        Fixed(Dense(DIRECTED)),
    ],
    ids=[
        "array",
        "lists",
        "tuples",
        "rows",
        "fortran",
        "float32",
        "object",
        "strided",
        "feedback",
        "process",
    ],
)
def test_a_matrix_in_any_form(given: object) -> None:
    process = as_process(given, arms=3)
    assert isinstance(process, Fixed)
    assert (matrix_of(process) == DIRECTED).all()
    h = np.array([[0.25, 0.5, 1.0]])
    assert process.round(1, Keys(0)).gain(h).tolist() == [[0.5, 1.5, 1.0625]]


@pytest.mark.parametrize("kind", [bool, int, np.uint8])
def test_zeros_and_ones_of_any_type(kind: type) -> None:
    process = as_process(np.triu(np.ones((4, 4))).astype(kind))
    assert (matrix_of(process) == np.triu(np.ones((4, 4)))).all()
    assert process.deterministic is True


def test_a_matrix_of_one_arm() -> None:
    assert matrix_of(as_process([[1]])).tolist() == [[1.0]]


def test_names_of_a_matrix() -> None:
    assert from_matrix(DIRECTED, ("x", "y", "z")).names == ("x", "y", "z")
    with pytest.raises(InputError, match="2 names were given for 3 arms"):
        from_matrix(DIRECTED, ("x", "y"))


def test_a_large_matrix_is_kept_as_lists() -> None:
    rng = np.random.default_rng(0)
    matrix = rng.random((130, 130)) * (rng.random((130, 130)) < 0.1)
    np.fill_diagonal(matrix, 1.0)
    process = as_process(matrix)
    assert isinstance(process.round(1, Keys(0)), Sparse)
    assert (matrix_of(process) == matrix).all()


def path_and_triangle() -> tuple[Floats, Floats]:
    path = np.array([[1.0, 1.0, 0.0], [1.0, 1.0, 1.0], [0.0, 1.0, 1.0]])
    return path, np.ones((3, 3))


@pytest.mark.parametrize(
    "given",
    [
        list(path_and_triangle()),
        path_and_triangle(),
        [matrix.tolist() for matrix in path_and_triangle()],
        ["path", "complete"],
        [Dense(path_and_triangle()[0]), Uniform(1.0, 3)],
        [Fixed(Dense(path_and_triangle()[0])), "complete"],
        [nx.path_graph(3), nx.complete_graph(3)],
        ["path", nx.complete_graph(3)],
    ],
    ids=["arrays", "tuple", "lists", "texts", "feedbacks", "mixed", "networkx", "networkx last"],
)
def test_a_list_of_graphs_is_one_a_round(given: object) -> None:
    process = as_process(given, arms=3)
    assert isinstance(process, GivenSequence)
    assert (process.arms, process.rounds, process.deterministic) == (3, 2, True)
    for t, want in enumerate(path_and_triangle(), 1):
        assert (matrix_of(process, t) == want).all()


def test_a_list_of_files_is_one_a_round(tmp_path: Path) -> None:
    (tmp_path / "1.txt").write_text("a b\nb c\n")
    (tmp_path / "2.txt").write_text("a b 0.5\nc\n")
    process = as_process([tmp_path / "1.txt", f"file:{tmp_path / '2.txt'}"])
    assert matrix_of(process, 1).tolist() == [[1, 1, 0], [0, 1, 1], [0, 0, 1]]
    assert matrix_of(process, 2).tolist() == [[1, 0.5, 0], [0, 1, 0], [0, 0, 1]]


def test_graphs_of_a_list_that_name_their_arms_differently_are_not_mixed(tmp_path: Path) -> None:
    """Arm 0 is ann in round 1 and bob in round 2: refused, or brought into one order."""
    (tmp_path / "1.txt").write_text("ann bob\n")
    (tmp_path / "2.txt").write_text("bob ann\n")
    try:
        process = as_process([tmp_path / "1.txt", tmp_path / "2.txt"])
    except InputError:
        return
    assert matrix_of(process, 1).tolist() == matrix_of(process, 2).T.tolist()


def test_a_recipe_or_a_feedback_may_be_given() -> None:
    star = [[1, 1, 1], [0, 1, 0], [0, 0, 1]]
    assert matrix_of(as_process(Star("out"), arms=3)).tolist() == star
    assert as_process(Star("out")).arms == 5
    assert matrix_of(as_process(Uniform(0.5, 2))).tolist() == [[1, 0.5], [0.5, 1]]


def test_a_process_is_returned_as_it_is() -> None:
    process = RandomFeedback(3, 0.5)
    assert as_process(process) is process


@pytest.mark.parametrize(
    "given",
    [
        0,
        0.5,
        True,
        None,
        b"paper",
        object(),
        {},
        {"a": "b"},
        {1, 2},
        [],
        (),
        [1, 2],
        [None],
        np.array(1.0),
        np.ones(3),
        np.zeros((0, 0)),
        np.ones((2, 3)),
        np.ones((2, 3)).tolist(),
        [[1, 0], [0]],
        [[1, 0], []],
        [[]],
        [np.eye(2), np.eye(3)],
        [np.eye(2), [[1, 0], [0]]],
        [[[1, 0], [0]], np.eye(2)],
        [np.eye(2), 0.5],
        [np.eye(2), None],
        ["paper", "revealed-er"],
        ["paper", RandomFeedback(5, 0.5)],
        np.stack([np.eye(2)] * 3),
        Dense(np.stack([np.eye(2)] * 3)),
        Uniform(np.array([0.1, 0.2]), 3),
        [[1, 2], [0, 1]],
        [[1, -0.1], [0, 1]],
        [[1, float("nan")], [0, 1]],
        [[1, None], [0, 1]],
        [[1, "x"], [0, 1]],
        [[1, 1j], [0, 1]],
        np.zeros((3, 3)),
        np.full((3, 3), 0.5),
        [[1, 0], [0, 1 - 1e-9]],
        nx.Graph(),
        Star,
    ],
    ids=lambda given: re.sub(r"\s+|0x\w+", "", repr(given))[:40],
)
def test_what_is_no_graph_is_refused(given: object) -> None:
    with pytest.raises(InputError):
        as_process(given)


@pytest.mark.parametrize("matrix", [None, 1.0, "abc", [1, 2], [[1, 0], [0]], {}, [[1, 2], [0, 1]]])
def test_what_is_no_matrix_is_refused(matrix: object) -> None:
    with pytest.raises(InputError):
        from_matrix(matrix)


@pytest.mark.parametrize(
    "given",
    [
        "paper",
        np.eye(5),
        np.eye(5).tolist(),
        [np.eye(5)] * 2,
        nx.path_graph(5),
        Uniform(0.5, 5),
        RandomFeedback(5, 0.5),
    ],
    ids=["text", "array", "lists", "sequence", "networkx", "feedback", "process"],
)
def test_the_number_of_arms_must_agree(given: object) -> None:
    assert as_process(given, arms=5).arms == 5
    with pytest.raises(InputError, match=r"5 arms.* 4|4.*5 arms"):
        as_process(given, arms=4)


@pytest.mark.parametrize("arms", [0, -1, 2.5, "5", True])
@pytest.mark.parametrize("text", ["star", "complete", "random(r=0.5)", "revealed-er"])
def test_the_number_of_arms_is_a_whole_number(text: str, arms: int) -> None:
    with pytest.raises(InputError, match="number"):
        as_process(text, arms=arms)


# Text


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("sart", "unknown graph 'sart': did you mean 'star'"),
        ("Star", "did you mean 'star'"),
        ("cliqes(size=3)", "did you mean 'cliques'"),
        ("revealed_er", "did you mean 'revealed-er'"),
        ("papers", "did you mean 'paper'"),
        ("edges.txt", "unknown graph 'edges.txt'.*Known: .*paper.*star"),
        ("star(directon=out)", "no parameter 'directon': did you mean 'direction'"),
        ("cliques(sizes=3)", "no parameter 'sizes': did you mean 'size'"),
        ("random(r=uniform, lo=0.1)", "no parameter 'lo': did you mean 'low'"),
        ("revealed-er(p=0.5, direct=true)", "no parameter 'direct': did you mean 'directed'"),
        ("empty(size=3)", "no parameter 'size': it takes none"),
        ("cliques", r"needs size: write cliques\(size=\.\.\.\)"),
        ("cliques()", "needs size"),
        ("grid", "needs columns"),
        ("random", "needs r"),
        ("random(low=0.5)", "needs r"),
    ],
)
def test_names_that_are_unknown_or_missing(text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        as_process(text)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("random(r=2)", "r must be a number in [0, 1], not 2"),
        ("random(r=-0.1)", "not -0.1"),
        ("random(r=abc)", "'abc'"),
        ("random(r=nan)", "nan"),
        ("random(r=[])", "empty"),
        ("random(r=[0.5, 2])", "round 2"),
        ("random(r=[0.5, abc])", "abc"),
        ("random(r=[0.1, 0.2)", "[0.1, 0.2"),
        ("random(r={[]: 1})", "r"),
        ("random(r=0.5, low=0.1)", "r=uniform"),
        ("random(r=0.5, shared=true)", "r=uniform"),
        ("random(r=uniform, low=0.8, high=0.2)", "low must not exceed high"),
        ("random(r=uniform, low=abc)", "low"),
        ("random(r=uniform, low='0.2')", "low"),
        ("random(r=uniform, high=3)", "high"),
        ("star(direction=up)", "'up'"),
        ("star(direction=1)", "direction"),
        ("star(direction)", "not 'direction'"),
        ("star(direction out)", "not 'direction out'"),
        ("star(direction=out))", "not closed"),
        ("star(direction='out)", "'out"),
        ("star(direction=out, direction=out)", "'direction' is given twice"),
        ("star(direction=none)", "direction"),
        ("cliques(size=0)", "size"),
        ("cliques(size=-3)", "size"),
        ("cliques(size=2.5)", "size"),
        ("cliques(size=big)", "'big'"),
        ("cliques(size=true)", "size"),
        ("grid(columns=3)", "multiple of 3 arms, not 7"),
        ("grid(columns=14)", "multiple of 14 arms, not 7"),
        ("grid(columns=0)", "columns"),
        ("revealed-er(p=nan)", "p must be a number in [0, 1]"),
        ("revealed-er(p=1.01)", "p must be a number in [0, 1]"),
        ("revealed-er(p=[0.5])", "p must be a number in [0, 1]"),
        ("revealed-er(p=half)", "'half'"),
        ("ring(directed=no)", "directed"),
        ("path(directed=maybe)", "directed"),
        ("revealed-er(directed=off)", "directed"),
        ("revealed-er(shared=never)", "shared"),
        ("random(r=uniform, shared=no)", "shared"),
    ],
)
def test_values_that_cannot_be(text: str, names: str) -> None:
    with pytest.raises(InputError, match=re.escape(names)):
        as_process(text, arms=7)


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "star(",
        "star)",
        "star((",
        "(direction=out)",
        "star(direction=)",
        "star(=out)",
        "star(direction=out",
        "star(direction=out) ring",
        "star, ring",
        "st ar",
        "random(r=0.1, 0.2)",
    ],
)
def test_text_that_cannot_be_read_is_shown(text: str) -> None:
    with pytest.raises(InputError, match=f"^cannot read .*'{re.escape(text)}': write "):
        as_process(text)


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("  star  ", "star"),
        ("star()", "star"),
        ("star( direction = in )", "star(direction=in)"),
        ("star(in)", "star(direction=in)"),
        ("star(direction='in')", "star(direction=in)"),
        ("star(direction=in,)", "star(direction=in)"),
        ("ring(directed=True)", "ring(directed=true)"),
        ("ring(directed=false)", "ring"),
        ("random(r=(0.5, 1))", "random(r=[0.5, 1.0])"),
        ("random(r=5e-1)", "random(r=0.5)"),
    ],
)
def test_text_is_read_generously(text: str, same: str) -> None:
    one, other = as_process(text, arms=4), as_process(same, arms=4)
    assert one.rounds == other.rounds
    assert (matrix_of(one) == matrix_of(other)).all()


def test_a_file_with_commas_is_not_read_as_isolated_arms(tmp_path: Path) -> None:
    path = tmp_path / "edges.csv"
    path.write_text("a b\nb,c\n")
    with pytest.raises(InputError, match=r"line 2.*spaces"):
        from_edge_list(path)
