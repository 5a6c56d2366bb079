"""How long graphs of a million edges take to load: python benchmarks/graphs.py [EDGES]."""

from __future__ import annotations

import gzip
import resource
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import networkx
import numpy as np
import pandas
from scipy import sparse

from graphbandits import as_process


def main(edges: int) -> None:
    arms = max(2, edges // 10)
    generator = np.random.default_rng(0)
    pairs = np.unique(generator.integers(0, arms * arms, edges))
    source, target = np.divmod(pairs[pairs // arms != pairs % arms], arms)
    chance = np.round(generator.uniform(0.1, 1.0, len(source)), 3)
    print(f"{len(source)} edges between {arms} arms with names; seconds of CPU, peak memory so far")
    with tempfile.TemporaryDirectory() as folder:
        for name, graph in sources(Path(folder), arms, source, target, chance):
            start = time.process_time()
            process = as_process(graph())
            spent = time.process_time() - start
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
            print(f"{name:32} {spent:6.2f} s  {peak:6.0f} MB  {process.arms} arms")


def sources(
    folder: Path, arms: int, source: np.ndarray, target: np.ndarray, chance: np.ndarray
) -> list[tuple[str, Callable[[], object]]]:
    table = pandas.DataFrame(
        {
            "source": [f"user {i}" for i in source],
            "target": [f"user {i}" for i in target],
            "probability": chance,
        }
    )
    table.to_csv(folder / "edges.csv", index=False)
    with gzip.open(folder / "edges.csv.gz", "wb", compresslevel=1) as stream:
        stream.write((folder / "edges.csv").read_bytes())
    header = f"# Directed graph\n# Nodes: {arms} Edges: {len(source)}\n# FromNodeId\tToNodeId\n"
    lines = "\n".join(f"{i}\t{j}" for i, j in zip(source, target, strict=True))
    (folder / "snap.txt").write_text(f"{header}{lines}\n")
    matrix = sparse.csr_array((chance, (source, target)), shape=(arms, arms))
    network = networkx.DiGraph()
    network.add_weighted_edges_from(
        zip(source.tolist(), target.tolist(), chance.tolist(), strict=True), weight="probability"
    )
    small = networkx.DiGraph(list(network.edges)[: len(source) // 10])
    networkx.write_graphml(small, folder / "tenth.graphml")
    return [
        ("SNAP edge list", lambda: f"file:{folder}/snap.txt"),
        ("CSV with names, probabilities", lambda: f"file:{folder}/edges.csv"),
        ("the same, .gz", lambda: f"file:{folder}/edges.csv.gz"),
        ("pandas", lambda: table),
        ("scipy sparse", lambda: matrix),
        ("NetworkX", lambda: network),
        ("GraphML, a tenth of the edges", lambda: f"file:{folder}/tenth.graphml"),
    ]


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000)
