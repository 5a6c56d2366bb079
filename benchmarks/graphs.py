"""Numbers of a graph within a time limit, and the time to load graphs of a million edges."""

from __future__ import annotations

import gzip
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import networkx
import numpy as np
import pandas
from common import digits, number, print_table, seconds
from scipy import sparse

from graphbandits import as_process
from graphbandits.graphs import (
    DenseFeedback,
    Feedback,
    SparseFeedback,
    clique_cover,
    domination,
    fractional_domination,
    independence,
)

NUMBERS = {
    "clique cover": clique_cover,
    "independence": independence,
    "domination": domination,
    "fractional": fractional_domination,
}


def random_graph(arms: int, p: float) -> Feedback:
    """Undirected, every edge with probability p."""
    rng = np.random.default_rng([0, arms, round(1000 * p)])
    edges = np.triu(rng.random((arms, arms)) < p, 1)
    return DenseFeedback(edges + edges.T + np.eye(arms))


def sparse_graph(arms: int) -> Feedback:
    """Undirected, with four edges per arm on average."""
    ends = np.random.default_rng([0, arms]).integers(0, arms, (2, 2 * arms))
    return SparseFeedback.from_edges(arms, np.concatenate([*ends]), np.concatenate([*ends[::-1]]))


def numbers(quick: bool) -> None:
    limit = 1.0 if quick else 5.0
    graphs = [
        (number(arms), f"{p:g}", random_graph(arms, p))
        for arms in ((20, 40) if quick else (20, 60, 100, 1_000))
        for p in (0.1, 0.5, 0.9)
    ]
    many = 10_000 if quick else 100_000
    graphs.append((number(many), "sparse", sparse_graph(many)))
    for function in NUMBERS.values():  # compiles
        function(random_graph(80, 0.3), time_limit=10.0)
        function(sparse_graph(5000), time_limit=1.0)
    rows = []
    for arms, p, graph in graphs:
        cells = [arms, p]
        for function in NUMBERS.values():
            start = time.perf_counter()
            found = function(graph, time_limit=limit)
            spent = time.perf_counter() - start
            lower, upper = (
                str(one) if isinstance(one, int) else digits(one, 4)
                for one in (found.lower, found.upper)
            )
            value = lower if found.lower == found.upper else f"{lower}-{upper}"
            cells.append(f"{value}, {seconds(spent)}")
        rows.append(cells)
    print_table(
        "Numbers of random graphs",
        ["arms", "p", *NUMBERS],
        rows,
        f"One number if it is proved within {limit:g} s, otherwise its two bounds; wall time. Each "
        "pair of arms has an edge with probability p; sparse: 4 edges per arm.",
        texts=2,
    )


def readers(quick: bool) -> None:
    edges = 10_000 if quick else 1_000_000
    arms = edges // 10
    generator = np.random.default_rng(0)
    pairs = np.unique(generator.integers(0, arms * arms, edges))
    source, target = np.divmod(pairs[pairs // arms != pairs % arms], arms)
    chance = np.round(generator.uniform(0.1, 1.0, len(source)), 3)
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for name, graph in sources(Path(folder), arms, source, target, chance):
            start = time.process_time()
            as_process(graph())
            rows.append([name, seconds(time.process_time() - start)])
    print_table(
        f"Loading a graph of {number(len(source))} edges between {number(arms)} arms",
        ["source", "CPU"],
        rows,
        "as_process of a file or an object.",
    )


def sources(
    folder: Path, arms: int, source: np.ndarray, target: np.ndarray, chance: np.ndarray
) -> list[tuple[str, Callable[[], object]]]:
    """Write the files; return the name of each source, and a call that returns it."""
    table = pandas.DataFrame({"source": source, "target": target, "probability": chance})
    for end in ("source", "target"):
        table[end] = "user " + table[end].astype(str)
    table.to_csv(folder / "edges.csv", index=False)
    with gzip.open(folder / "edges.csv.gz", "wb", compresslevel=1) as stream:
        stream.write((folder / "edges.csv").read_bytes())
    header = f"# Directed graph\n# Nodes: {arms} Edges: {len(source)}\n# FromNodeId\tToNodeId\n"
    lines = "\n".join(f"{i}\t{j}" for i, j in zip(source, target, strict=True))
    (folder / "snap.txt").write_text(f"{header}{lines}\n")
    matrix = sparse.csr_array((chance, (source, target)), shape=(arms, arms))
    network = networkx.DiGraph()
    ends = zip(source.tolist(), target.tolist(), chance.tolist(), strict=True)
    network.add_weighted_edges_from(ends, weight="probability")
    small = networkx.DiGraph(list(network.edges)[: len(source) // 10])
    networkx.write_graphml(small, folder / "tenth.graphml")
    return [
        ("SNAP edge list", lambda: f"file:{folder}/snap.txt"),
        ("CSV with names and probabilities", lambda: f"file:{folder}/edges.csv"),
        ("the same, .gz", lambda: f"file:{folder}/edges.csv.gz"),
        ("pandas", lambda: table),
        ("scipy.sparse", lambda: matrix),
        ("NetworkX", lambda: network),
        ("GraphML, a tenth of the edges", lambda: f"file:{folder}/tenth.graphml"),
    ]
