"""Tests of graphs/loaders.py: stored processes and fingerprints."""

from __future__ import annotations

import io
import json

import networkx as nx
import numpy as np
from helpers.bad_input import refuses
from helpers.cases import each
from helpers.graph_known_texts import GRAPH_KNOWN_TEXTS
from helpers.process_matrices import DIRECTED, ONE_WAY, feedback_matrix

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
    from_networkx,
)
from graphbandits.graphs.loaders import fingerprint, pack, pack_process, unpack, unpack_process
from graphbandits.registry import build, text_of
from graphbandits.rng import Keys

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


@each("process", STORED.values())
def test_process_round_trips_through_storage(process: Process) -> None:
    arrays: dict[str, np.ndarray] = {}
    config = json.loads(json.dumps(pack(process, arrays)))
    file = io.BytesIO()
    np.savez(file, **arrays)
    file.seek(0)
    with np.load(file, allow_pickle=False) as stored:
        back = unpack(config, dict(stored))
    assert type(back) is type(process)
    for name in ("arms", "names", "deterministic", "rounds"):
        assert getattr(back, name) == getattr(process, name)
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
