"""Tests of graphs/loaders.py: graphs from files, arrays, lists and text; stored processes."""

from __future__ import annotations

import gzip
import io
import json
import math
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import networkx
import networkx as nx
import numpy as np
import pandas as pd
import pytest
from helpers.bad_input import refused, refuses
from helpers.cases import each
from helpers.graph_files import assert_same_graph, matrix_of
from helpers.graph_known_texts import GRAPH_KNOWN_TEXTS
from helpers.process_matrices import DIRECTED, ONE_WAY, feedback_matrix

from graphbandits import Agent, simulate
from graphbandits._types import Floats
from graphbandits.errors import InputError
from graphbandits.graphs import (
    DenseFeedback,
    Fixed,
    GivenSequence,
    Process,
    RandomFeedback,
    RevealedErdosRenyi,
    SparseFeedback,
    UniformFeedback,
    as_process,
    from_csv,
    from_edge_list,
    from_matrix,
    from_networkx,
    load_graph,
)
from graphbandits.graphs.loaders import (
    File,
    fingerprint,
    pack,
    pack_process,
    unpack,
    unpack_process,
)
from graphbandits.graphs.named import Star
from graphbandits.registry import build, text_of
from graphbandits.rng import Keys


@each(
    "text",
    [
        "file",
        "file(path=5)",
        "file(path=edges.txt, directed=no)",
        "file(path=edges.txt, direct=true)",
        "file(path=edges.txt)",
        "file:",
    ],
)
def test_wrong_file_recipe_is_rejected(
    text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with refuses(InputError):
        as_process(text)


Write = Callable[[str, str | bytes], Path]


def test_undirected_edge_may_be_given_in_both_directions(write: Write) -> None:
    path = write("edges.txt", "a b 0.5\nb a 0.5\na a\n")
    assert matrix_of(from_edge_list(path, directed=False)).tolist() == [[1, 0.5], [0.5, 1]]
    path = write("edges.csv", "u,v,p\na,b,0.5\nb,a,0.5\na,a,1\n")
    assert matrix_of(from_csv(path, directed=False)).tolist() == [[1, 0.5], [0.5, 1]]


@each(("name", "wrong"), [("edges.txt", ""), ("edges.csv", "value"), ("edges.csv.gz", "edge")])
def test_large_file_is_read_or_rejected(write: Write, name: str, wrong: str) -> None:
    """Above a megabyte; an error far down has its line."""
    rng = np.random.default_rng(2)
    line_ends = rng.integers(0, 500, (90_000, 2))
    line_ends = line_ends[line_ends[:, 0] != line_ends[:, 1]]
    weight = (line_ends[:, 0] * 7 + line_ends[:, 1]) % 100 / 100
    by, head = (" ", "# many\n") if name == "edges.txt" else (",", "source,target,weight\n")
    lines = [f"n{a}{by}n{b}{by}{p}\n" for (a, b), p in zip(line_ends.tolist(), weight, strict=True)]
    at = len(lines) - 3
    lines[at] = {"": lines[at], "value": f"x{by}y{by}3\n", "edge": lines[0][:-1] + "5\n"}[wrong]
    content = (head + "".join(lines)).encode()
    assert len(content) > 1 << 20
    path = write(name, gzip.compress(content, 1) if name.endswith("gz") else content)
    if wrong:
        reason = "not '3'" if wrong == "value" else "but 0.56 earlier"
        with pytest.raises(InputError, match=f"{name}, line {at + 2}: .*{reason}"):
            load_graph(path)
        return
    process = load_graph(path)
    first = dict.fromkeys(f"n{arm}" for arm in line_ends.ravel().tolist())
    assert process.names == tuple(first)
    number = np.array([int(arm[1:]) for arm in first])
    want = np.zeros((500, 500))
    want[line_ends[:, 0], line_ends[:, 1]] = weight
    np.fill_diagonal(want, 1.0)
    assert (matrix_of(process) == want[np.ix_(number, number)]).all()


def test_blanks_around_names_are_removed(write: Write) -> None:
    graph = nx.DiGraph([(" ann", "bob\t")])
    path = write("a.csv", "source,target\n ann,bob\t\n")
    nx.write_graphml(graph, path.with_name("a.graphml"))
    for graph_like in (
        pd.DataFrame({"u": [" ann", "ann"], "v": ["bob", "bob\t"]}),
        graph,
        path,
        path.with_name("a.graphml"),
        from_matrix([[1, 1], [0, 1]], [" ann", "bob\t"]),
        Fixed(DenseFeedback(np.array([[1, 1], [0, 1]])), (" ann", "bob\t")),
    ):
        assert_same_graph(as_process(graph_like), ["ann", "bob"], np.array([[1, 1], [0, 1]]))


def test_file_recipe_round_trips_through_text() -> None:
    for recipe in (
        File("edges.txt"),
        File("my files/edges (1).csv", directed=False, probability=None),
        File("a,b.csv", source="the player", target="5"),
        File("it's.graphml", label="label", probability="chance"),
    ):
        assert build("graph", text_of(recipe)) == recipe
    assert text_of(File("edges.txt", directed=True)) == "file(path=edges.txt, directed=true)"


def test_path_with_spaces_and_brackets_is_read(write: Write) -> None:
    path = write("my edges (1).csv", "source,target\nAnn B.,Zoë\n")
    for text in (f"file:{path}", f"file(path='{path}')", f'file(path="{path}", directed=true)'):
        assert as_process(text).names == ("Ann B.", "Zoë")


def test_home_directory_is_expanded(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write("edges.txt", "a b\n")
    monkeypatch.setenv("HOME", str(path.parent))
    assert as_process("file:~/edges.txt").names == load_graph(Path("~/edges.txt")).names
    monkeypatch.chdir(path.parent)
    write("~other.txt", "c d\n")
    assert load_graph("~other.txt").names == ("c", "d")
    with refuses(InputError, match=r"cannot read the graph file ~nobody-of-this-name/a\.txt"):
        load_graph("~nobody-of-this-name/a.txt")


def test_files_of_all_formats_form_a_sequence(write: Write, tmp_path: Path) -> None:
    np.save(tmp_path / "1.npy", np.eye(2, k=1))
    given = [tmp_path / "1.npy", write("2.csv", "a,b\n1,0\n1,1\n"), write("3.txt", "a b\n")]
    process = as_process(given)
    assert process.names == ("a", "b")
    rounds = [process.round(t, Keys(0)).reach(np.arange(2)).tolist() for t in (1, 2, 3)]
    assert rounds == [[[1, 1], [0, 1]], [[1, 0], [1, 1]], [[1, 1], [0, 1]]]


def path_and_triangle() -> tuple[Floats, Floats]:
    path = np.array([[1.0, 1.0, 0.0], [1.0, 1.0, 1.0], [0.0, 1.0, 1.0]])
    return path, np.ones((3, 3))


@each(
    "given",
    [
        list(path_and_triangle()),
        path_and_triangle(),
        [matrix.tolist() for matrix in path_and_triangle()],
        ["path", "complete"],
        [DenseFeedback(path_and_triangle()[0]), UniformFeedback(1.0, 3)],
        [Fixed(DenseFeedback(path_and_triangle()[0])), "complete"],
        [nx.path_graph(3), nx.complete_graph(3)],
        ["path", nx.complete_graph(3)],
    ],
)
def test_list_of_graphs_has_one_graph_per_round(given: object) -> None:
    process = as_process(given, arms=3)
    assert isinstance(process, GivenSequence)
    assert (process.arms, process.rounds, process.deterministic) == (3, 2, True)
    for t, want in enumerate(path_and_triangle(), 1):
        assert (matrix_of(process, t) == want).all()


def test_graphs_of_list_with_different_names_are_rejected(tmp_path: Path) -> None:
    """Arm 0 is ann in round 1 and bob in round 2: refused, or brought into one order."""
    (tmp_path / "1.txt").write_text("ann bob\n")
    (tmp_path / "2.txt").write_text("bob ann\n")
    try:
        process = as_process([tmp_path / "1.txt", tmp_path / "2.txt"])
    except InputError:
        return
    assert matrix_of(process, 1).tolist() == matrix_of(process, 2).T.tolist()


@each(
    "given",
    [
        0,
        None,
        object(),
        {},
        {1, 2},
        [],
        (),
        [1, 2],
        np.array(1.0),
        np.zeros((0, 0)),
        [[]],
        [np.eye(2), [[1, 0], [0]]],
        [np.eye(2), 0.5],
        ["paper", "revealed-er"],
        ["paper", RandomFeedback(5, 0.5)],
        DenseFeedback(np.stack([np.eye(2)] * 3)),
        UniformFeedback(np.array([0.1, 0.2]), 3),
        [[1, None], [0, 1]],
        np.zeros((3, 3)),
        [[1, 0], [0, 1 - 1e-9]],
        nx.Graph(),
        Star,
    ],
)
def test_invalid_graph_is_rejected(given: object) -> None:
    with pytest.raises(InputError):
        as_process(given)


@each(
    "given",
    [
        "paper",
        np.eye(5),
        np.eye(5).tolist(),
        [np.eye(5)] * 2,
        nx.path_graph(5),
        UniformFeedback(0.5, 5),
        RandomFeedback(5, 0.5),
    ],
)
def test_number_of_arms_must_match(given: object) -> None:
    assert as_process(given, arms=5).arms == 5
    with refuses(InputError):
        as_process(given, arms=4)


@each("arms", [0, -1, 2.5, "5", True])
@each("text", ["star", "complete", "random(r=0.5)", "revealed-er"])
def test_number_of_arms_must_be_an_integer(text: str, arms: int) -> None:
    with refuses(InputError):
        as_process(text, arms=arms)


@each(
    "text",
    [
        "sart",
        "edges.txt",
        "star(directon=out)",
        "cliques(sizes=3)",
        "empty(size=3)",
        "cliques",
        "grid",
        "random(low=0.5)",
        "random(r=2)",
        "random(r=abc)",
        "random(r=nan)",
        "random(r=[])",
        "random(r=[0.5, 2])",
        "random(r=[0.1, 0.2)",
        "random(r={[]: 1})",
        "random(r=0.5, low=0.1)",
        "random(r=0.5, shared=true)",
        "random(r=uniform, low=0.8, high=0.2)",
        "random(r=uniform, low=abc)",
        "random(r=uniform, high=3)",
        "star(direction=up)",
        "star(direction)",
        "star(direction=out))",
        "star(direction='out)",
        "star(direction=out, direction=out)",
        "cliques(size=0)",
        "cliques(size=2.5)",
        "cliques(size=true)",
        "grid(columns=3)",
        "grid(columns=0)",
        "revealed-er(p=nan)",
        "revealed-er(p=1.01)",
        "revealed-er(p=[0.5])",
        "ring(directed=no)",
        "revealed-er(directed=off)",
        "random(r=uniform, shared=no)",
    ],
)
def test_invalid_values_are_rejected(text: str) -> None:
    with refuses(InputError):
        as_process(text, arms=7)


@each(
    "text",
    [
        "",
        " ",
        "star(",
        "(direction=out)",
        "star(direction=)",
        "star(=out)",
        "star(direction=out",
        "star, ring",
        "st ar",
        "random(r=0.1, 0.2)",
    ],
)
def test_unreadable_text_is_quoted_in_error(text: str) -> None:
    with pytest.raises(InputError, match=f"^cannot read .*'{re.escape(text)}': write "):
        as_process(text)


@each(
    ("text", "same"),
    [
        ("  star  ", "star"),
        ("star( direction = in )", "star(direction=in)"),
        ("star(in)", "star(direction=in)"),
        ("star(direction=in,)", "star(direction=in)"),
        ("ring(directed=True)", "ring(directed=true)"),
        ("random(r=(0.5, 1))", "random(r=[0.5, 1.0])"),
    ],
)
def test_spaces_and_case_of_text_are_ignored(text: str, same: str) -> None:
    one, other = as_process(text, arms=4), as_process(same, arms=4)
    assert one.rounds == other.rounds
    assert (matrix_of(one) == matrix_of(other)).all()


NAN, INF = math.nan, math.inf


@each("form", [np.array, list])
@each(
    ("matrix", "words"),
    [
        ([[1.0, 1.0, 1.0], [1.0, 1.0, 1.0]], ["square", "(2, 3)"]),
        ([[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]], ["square", "(3, 2)"]),
        ([[1.0, 1.5], [0.0, 1.0]], ["[0, 1]", "1.5"]),
        ([[1.0, 0.0], [-0.25, 1.0]], ["[0, 1]", "-0.25"]),
        ([[1.0, NAN], [0.0, 1.0]], ["[0, 1]", "nan"]),
        ([[1.0, INF], [0.0, 1.0]], ["[0, 1]", "inf"]),
        ([[NAN, 0.0], [0.0, 1.0]], ["[0, 1]", "nan"]),
        ([[1.0, 0.0], [0.0, 0.5]], ["diagonal", "must be 1", "(1, 1)", "0.5"]),
        ([[0.0, 1.0], [1.0, 0.0]], ["diagonal", "must be 1", "(0, 0)", "0"]),
        ([[1.0, "often"], [0.0, 1.0]], ["[0, 1]"]),
        ([[1.0, 0.5j], [0.0, 1.0]], ["[0, 1]"]),
    ],
)
def test_invalid_matrices_are_refused(
    form: Callable[[Any], Any], matrix: list[list[Any]], words: list[str]
) -> None:
    given = form(matrix)
    message = refused(lambda: as_process(given), *words)
    assert refused(lambda: simulate("ts-n", graph=given, horizon=2, trials=2)) == message
    assert refused(lambda: Agent("ts-n", graph=given, seed=1)) == message


def test_the_entry_of_a_matrix_is_named_by_its_row_and_column() -> None:
    refused(lambda: as_process(np.array([[1.0, 1.5], [0.0, 1.0]])), "(0, 1)")


@each(
    ("given", "words"),
    [
        ([[1.0, 0.0], [0.0]], ["matrix", "rows"]),
        (np.ones(3), ["square", "(3,)"]),
        (np.ones((0, 0)), ["(0, 0)"]),
        (np.ones((2, 2, 2)), ["one K x K matrix"]),
        (5, ["int", "matrix"]),
        (None, ["NoneType", "matrix"]),
        ([], ["list"]),
        ("sta", ["unknown graph 'sta'", "'star'"]),
        ("star(way=in)", ["no parameter 'way'", "direction"]),
        ([np.eye(2), np.eye(3)], ["2", "3", "arms"]),
        (networkx.Graph(), ["no nodes"]),
        (Path("no/such/file"), ["no/such/file", "No such file"]),
    ],
)
def test_invalid_graphs_are_refused(given: object, words: list[str]) -> None:
    refused(lambda: as_process(given), *words)


STORED: dict[str, Process] = {
    "dense": Fixed(DenseFeedback(DIRECTED)),
    "dense with names": Fixed(DenseFeedback(DIRECTED), ("ann", "böb", "eve")),
    "sparse": as_process("star(direction=out)", arms=120),
    "sparse with probabilities": Fixed(
        SparseFeedback.from_edges(4, [0, 1, 3], [1, 0, 2], [0.5, 0.2, 1.0])
    ),
    "uniform": Fixed(UniformFeedback(0.3, 4)),
    "networkx": from_networkx(nx.path_graph(["x", "y", "z"])),
    "sequence": GivenSequence(
        (DenseFeedback(DIRECTED), UniformFeedback(0.5, 3), DenseFeedback(ONE_WAY))
    ),
    "sequence of lists": GivenSequence(
        (SparseFeedback.from_edges(3, [0], [2]), DenseFeedback(DIRECTED))
    ),
    "sequence with names": GivenSequence((DenseFeedback(DIRECTED),), ("a", "b", "c")),
    "constant r": RandomFeedback(4, 0.1),
    "given r": RandomFeedback(4, (0.1, 1 / 3, 1.0)),
    "uniform r": RandomFeedback(4, None, 0.1, 0.7),
    "shared r": RandomFeedback(4, None, 0.1, 0.7, shared=True, names=("a", "b", "c", "d")),
    "erdos-renyi": RevealedErdosRenyi(4, 0.3),
    "directed erdos-renyi": RevealedErdosRenyi(4, 0.3, directed=True),
    "shared erdos-renyi": RevealedErdosRenyi(4, 1 / 3, shared=True, names=("a", "b", "c", "d")),
    "numpy numbers": RandomFeedback(np.int64(4), None, np.float64(0.1)),  # type: ignore[arg-type]
}


@each("name", STORED)
def test_process_round_trips_through_storage(name: str) -> None:
    process = STORED[name]
    arrays: dict[str, np.ndarray] = {}
    config = json.loads(json.dumps(pack(process, arrays)))
    file = io.BytesIO()
    np.savez(file, **arrays)
    file.seek(0)
    with np.load(file, allow_pickle=False) as stored:
        back = unpack(config, dict(stored))
    assert type(back) is type(process)
    for part in ("arms", "names", "deterministic", "rounds"):
        assert getattr(back, part) == getattr(process, part)
    keys = Keys(seed=5, first_trial=2, trials=6)
    h = np.random.default_rng(0).random((6, process.arms))
    action = np.arange(6) % process.arms
    for t in range(1, (process.rounds or 4) + 1):
        before, after = process.round(t, keys), back.round(t, keys)
        assert type(after) is type(before)
        assert (after.gain(h) == before.gain(h)).all()
        mine, theirs = after.reveal(action, keys, t), before.reveal(action, keys, t)
        assert [x.tolist() for x in mine] == [x.tolist() for x in theirs]


def test_stored_arrays_do_not_overwrite_each_other() -> None:
    arrays: dict[str, np.ndarray] = {}
    first = pack(Fixed(DenseFeedback(DIRECTED)), arrays, "first")
    second = pack(Fixed(DenseFeedback(ONE_WAY)), arrays, "second")
    for config, want in ((first, DIRECTED), (second, ONE_WAY)):
        assert (feedback_matrix(unpack(config, arrays).round(1, Keys(0))) == want).all()


def test_custom_process_cannot_be_stored() -> None:
    class Mine:
        arms, names, deterministic, rounds = 3, None, True, None

    with refuses(InputError, match="cannot save a graph of type Mine"):
        pack(Mine(), {})


@each("graph", GRAPH_KNOWN_TEXTS)
@each("known", ["never", "after", "before"])
def test_graph_known_round_trips_through_text_and_storage(graph: str, known: str) -> None:
    recipe = build("graph", graph.format(known))
    assert ("graph_known" in text_of(recipe)) == (known != "before")
    assert build("graph", text_of(recipe)) == recipe
    process: Process = recipe.process(4)
    arrays: dict[str, np.ndarray] = {}
    config = pack_process(process, None, arrays)
    assert unpack_process(config, arrays).graph_known == known


@each("graph", GRAPH_KNOWN_TEXTS)
def test_fingerprints_depend_on_graph_known(graph: str) -> None:
    each = [
        fingerprint(as_process(graph.format(known), 4)) for known in ("before", "after", "never")
    ]
    assert len(set(each)) == 3
