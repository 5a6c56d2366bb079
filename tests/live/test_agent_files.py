"""Tests of live/agent.py: damaged, foreign and unwritable files."""

from __future__ import annotations

import gc
import io
import json
import math
import os
import subprocess
import sys
import tracemalloc
import zlib
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.agents import SavedAgent, facts, play
from helpers.bad_input import label, refused, refuses, tree
from helpers.privileges import unprivileged
from helpers.recorded_runs import able

from graphbandits import Agent, Results, simulate
from graphbandits._io import from_npz, to_npz, write_bytes
from graphbandits._process_info import machine_id
from graphbandits.errors import GraphBanditsError, InputError
from graphbandits.live._packing import MOST_UNPACKED

NAN, INF = math.nan, math.inf
LINUX = sys.platform.startswith("linux")


@pytest.fixture(scope="module")
def results() -> Results:
    return simulate(["ts-n", "ids-n"], graph="paper", horizon=3, trials=4, seed=1)


def change(path: Path, meta: dict[str, Any] | None = None, **arrays: Any) -> None:
    """Change entries of the JSON, or arrays, in the file of an agent."""
    saved = SavedAgent.read(path)
    saved.meta |= meta or {}
    saved.arrays |= {name.replace("_", "/"): value for name, value in arrays.items()}
    saved.write(path)


def change_open(path: Path, **values: Any) -> None:
    """Change the one open decision in a file of format 2."""
    saved = SavedAgent.read(path)
    (decision,) = saved.meta["open"]
    names = ("number", "id", "arm", "time", "expires", "graph", "round", "seen")
    assert values.keys() <= set(names)
    saved.meta["open"] = [
        [values.get(name, old) for name, old in zip(names, decision, strict=True)]
    ]
    saved.write(path)


@pytest.fixture
def file(agent: Agent, tmp_path: Path) -> Path:
    """A saved agent with an open decision."""
    return agent.save(tmp_path / "agent.npz")


@pytest.fixture
def old_file(file: Path) -> Path:
    """The same agent as versions 0.6 to 0.8 saved it."""
    return SavedAgent.read(file).as_format_1().write(file)


@pytest.fixture(params=["format 2", "format 1"])
def any_file(request: pytest.FixtureRequest, file: Path) -> Path:
    """The same agent in each format."""
    return SavedAgent.read(file).as_format_1().write(file) if "1" in request.param else file


def test_unpacked_and_packed_file_is_the_same_agent(agent: Agent, any_file: Path) -> None:
    """The damages below are made in files that are valid otherwise."""
    other = Agent.load(SavedAgent.read(any_file).write(any_file))
    for one in (agent, other):
        one.observe(one.pending[0], {"bob": 1, "eve": 0})
    assert play(other, 10) == play(agent, 10)


def test_loading_a_missing_agent_is_refused(tmp_path: Path) -> None:
    refused(lambda: Agent.load(tmp_path / "no.npz"), str(tmp_path / "no.npz"), "No such file")
    refused(lambda: Agent.load(tmp_path), str(tmp_path), "directory")


@pytest.mark.oracle
@pytest.mark.parametrize(
    "damage",
    [
        lambda data: b"",
        lambda data: b"no agent at all\n",
        lambda data: b"\x80\x04K\x01.",  # a pickle
        lambda data: b"\x93NUMPY",
        lambda data: b"PK\x03\x04",
        lambda data: data[:-1],
        lambda data: data[: len(data) // 2],
        lambda data: data[:300] + bytes(50) + data[350:],
        lambda data: data.replace(b'"policy"', b'"polizy"'),
    ],
    ids=["empty", "text", "pickle", "npy", "zip", "shorter", "half", "zeros", "letter"],
)
def test_damaged_agent_files_are_refused(any_file: Path, damage: Callable[[bytes], bytes]) -> None:
    damaged = damage(any_file.read_bytes())
    assert damaged != any_file.read_bytes()
    any_file.write_bytes(damaged)
    refused(lambda: Agent.load(any_file), str(any_file), "not a saved agent")
    gc.collect()  # a file left open is a warning, and so an error


def test_flipped_bit_is_refused_or_changes_nothing(any_file: Path) -> None:
    expected = facts(Agent.load(any_file).decide())
    data = any_file.read_bytes()
    for i in range(0, 8 * len(data), 37):
        flipped = bytearray(data)
        flipped[i // 8] ^= 1 << i % 8
        any_file.write_bytes(bytes(flipped))
        with suppress(GraphBanditsError):
            assert facts(Agent.load(any_file).decide()) == expected, i
    gc.collect()  # a file left open is a warning, and so an error


def test_other_numpy_files_are_refused(tmp_path: Path) -> None:
    np.savez(tmp_path / "other.npz", x=np.eye(2))
    refused(lambda: Agent.load(tmp_path / "other.npz"), "other.npz", "not a saved agent")
    np.save(tmp_path / "other.npy", np.eye(2))
    refused(lambda: Agent.load(tmp_path / "other.npy"), "other.npy", "not a saved agent")


@pytest.mark.parametrize("part", ["outer", "meta"])
def test_agent_of_a_newer_format_is_refused(file: Path, part: str) -> None:
    saved = SavedAgent.read(file)
    number = saved.meta["format"]
    assert saved.outer == {"format": number}
    getattr(saved, part)["format"] = number + 1
    saved.write(file)
    words = [f"format {number + 1}", f"up to {number}", "update", str(file)]
    refused(lambda: Agent.load(file), *words)
    change(file, {"policy": "of-the-future", "graph": None})
    refused(lambda: Agent.load(file), *words)


@pytest.mark.parametrize(
    "meta",
    [
        {"format": "x"},
        {"format": None},
        {"policy": "of-the-future"},
        {"arms": ["ann", "bob"]},
        {"arms": 4},
        {"graph": None},
        {"graph": {"kind": "Unheard", "fields": {}}},
        {"seed": -1},
        {"horizon": 0},
        {"pending": 5},
        {"pending": [[7, 1]]},
    ],
    ids=label,
)
def test_inconsistent_old_files_are_refused(old_file: Path, meta: dict[str, Any]) -> None:
    change(old_file, meta)
    refused(lambda: Agent.load(old_file), str(old_file))


@pytest.mark.parametrize(
    "meta",
    [
        {"format": "x"},
        {"format": None},
        {"policy": "of-the-future"},
        {"arms": 4},
        {"arms": 2},
        {"arms": "0" * 64},
        {"graph": None},
        {"prior": None},
        {"seed": -1},
        {"trial": -1},
        {"horizon": 0},
        {"lifetime": 0},
        {"lifetime": "1"},
        {"paused": [3]},
        {"paused": [-1]},
        {"retired": [[3, 0]]},
        {"retired": [0]},
        {"counts": {}},
        {"open": 5},
        {"open": [[1]]},
    ],
    ids=label,
)
def test_inconsistent_agent_files_are_refused(file: Path, meta: dict[str, Any]) -> None:
    change(file, meta)
    refused(lambda: Agent.load(file), str(file))


NAMES = [["ann", "bob"], ["ann", "bob", "ann"], ["ann", 2, "eve"], [None] * 3, [[1], [2], [3]], {}]


@pytest.mark.parametrize("names", NAMES, ids=label)
def test_names_that_arms_cannot_have_are_refused(file: Path, names: Any) -> None:
    saved = SavedAgent.read(file)
    assert saved.objects[saved.meta["arms"]] == ["ann", "bob", "eve"]
    saved.objects[saved.meta["arms"]] = names
    saved.write(file)
    refused(lambda: Agent.load(file), str(file))


@pytest.mark.parametrize(
    "arrays",
    [
        {"state_a": np.ones((1, 7))},
        {"state_a": np.ones((2, 3))},
        {"state_a": np.array([[1.0, NAN, 1.0]])},
        {"state_a": np.array([["x", "y", "z"]])},
        {"state_a": np.array([[1.0, 0.0, 1.0]])},
        {"state_b": np.array([[1.0, INF, 1.0]])},
        {"state_b": np.array([[1.0, -1.0, 1.0]])},
        {"state_b": np.array([[1.0, 1.0, 1e11]])},
    ],
    ids=label,
)
def test_state_that_does_not_match_the_agent_is_refused(
    any_file: Path, arrays: dict[str, Any]
) -> None:
    change(any_file, **arrays)
    refused(lambda: Agent.load(any_file), str(any_file), "it is damaged")


@pytest.mark.parametrize(
    "pi",
    [
        np.ones((1, 3)),
        np.array([[NAN, 1.0, 0.0]]),
        np.array([[-1.0, 1.0, 1.0]]),
        np.array([[0, 1, 0]]),
    ],
    ids=label,
)
def test_pi_that_is_no_distribution_is_refused_in_old_files(old_file: Path, pi: Any) -> None:
    change(old_file, pending_1=pi)
    refused(lambda: Agent.load(old_file), str(old_file), "open decision 1 is not valid")


def packed(index: list[int], values: list[float]) -> bytes:
    """The stored form of the positive entries of a distribution."""
    return np.array(index, "<i4").tobytes() + np.array(values, "<f8").tobytes()


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"r",
        b"z",
        b"r" + packed([0, 1], [0.5, 0.5])[:-1],
        b"r" + packed([1], [0.5]),
        b"r" + packed([1], [NAN]),
        b"r" + packed([0, 1], [-1.0, 2.0]),
        b"r" + packed([3], [1.0]),
        b"r" + packed([-1], [1.0]),
        b"r" + packed([1, 1], [0.5, 0.5]),
        b"r" + packed([1, 0], [0.5, 0.5]),
        b"z" + packed([1], [1.0]),
        b"z" + zlib.compress(packed([3], [1.0])),
        b"z" + zlib.compress(packed([1], [1.0]))[:-1],
        b"z" + zlib.compress(packed([1], [1.0])) + b"x",
        b"z" + zlib.compress(bytes(12 * 10**7)),
    ],
    ids=lambda data: f"{len(data)} bytes, hash {zlib.crc32(data)}",
)
def test_pi_that_is_no_distribution_is_refused(file: Path, data: bytes) -> None:
    change(file, pi_1=np.frombuffer(data, np.uint8))
    refused(lambda: Agent.load(file), str(file), "open decision 1 is not valid")


@pytest.mark.parametrize("data", [b"r", b"z"])
def test_valid_pi_is_accepted(agent: Agent, file: Path, data: bytes) -> None:
    """The damages above are damages."""
    raw = packed([0, 1], [0.25, 0.75])
    data += zlib.compress(raw) if data == b"z" else raw
    change(file, pi_1=np.frombuffer(data, np.uint8))
    assert Agent.load(file).pending == agent.pending


@pytest.mark.parametrize(
    ("meta", "words"),
    [
        ({"t": 2**70}, ["more than 4294967295 decisions"]),
        ({"t": 1.5}, ["t must be a whole number", "1.5"]),
        ({"t": True}, ["t must be a whole number", "True"]),
        ({"t": -1}, ["t must be a whole number", "-1"]),
        ({"t": 0}, ["open decision 1 is not valid"]),
        ({"pending": [[1, 1.5]]}, ["open decision 1 is not valid"]),
        ({"pending": [[1, True]]}, ["open decision 1 is not valid"]),
        ({"pending": [[1, -1]]}, ["open decision 1 is not valid"]),
        ({"pending": [[1, 3]]}, ["open decision 1 is not valid"]),
        ({"pending": [[1, 2**70]]}, ["open decision 1 is not valid"]),
        ({"pending": [[1, 1], [1, 1]]}, ["open decision 1 is not valid"]),
        ({"pending": [["1", 1]]}, ["open decision '1' is not valid"]),
        ({"pending": [[1]]}, ["not a saved agent"]),
    ],
    ids=label,
)
def test_invalid_rounds_and_open_decisions_of_old_files_are_refused(
    old_file: Path, meta: dict[str, Any], words: list[str]
) -> None:
    change(old_file, meta)
    refused(lambda: Agent.load(old_file), str(old_file), *words)


@pytest.mark.parametrize(
    ("meta", "words"),
    [
        ({"decisions": 2**70}, ["more than 4294967295 decisions"]),
        ({"decisions": 1.5}, ["decisions must be a whole number", "1.5"]),
        ({"decisions": True}, ["decisions must be a whole number", "True"]),
        ({"decisions": -1}, ["decisions must be a whole number", "-1"]),
        ({"decisions": 0}, ["open decision 1 is not valid"]),
        ({"number": -1}, ["number must be a whole number", "-1"]),
        ({"number": "x"}, ["number must be a whole number", "'x'"]),
    ],
    ids=label,
)
def test_invalid_rounds_are_refused(file: Path, meta: dict[str, Any], words: list[str]) -> None:
    change(file, meta)
    refused(lambda: Agent.load(file), str(file), *words)


@pytest.mark.parametrize(
    "values",
    [
        {"number": 0},
        {"number": 2},
        {"number": 2**70},
        {"number": True},
        {"number": 1.0},
        {"number": "1"},
        {"id": 1},
        {"id": ""},
        {"id": "2-9f86d081e4a2"},
        {"arm": -1},
        {"arm": 3},
        {"arm": 2**70},
        {"arm": 1.5},
        {"arm": True},
        {"time": None},
        {"time": "x"},
        {"time": NAN},
        {"expires": "x"},
        {"expires": INF},
        {"round": 0},
        {"round": 2},
        {"round": 2**70},
        {"round": None},
        {"seen": [[3, 1.0, 1.0]]},
        {"seen": [[-1, 1.0, 1.0]]},
        {"seen": [["1", 1.0, 1.0]]},
        {"seen": [[1, 0.5, 1.0]]},
        {"seen": [[1, NAN, 1.0]]},
        {"seen": [[1, 1.5, 2.0]]},
        {"seen": [[1, 0.5, -2.0]]},
        {"seen": [[1, 0.5, NAN]]},
        {"seen": [[1, 0.5, INF]]},
        {"seen": [[1, "x", 1.0]]},
        {"seen": [[1, 1.0, None]]},
    ],
    ids=label,
)
def test_invalid_open_decisions_are_refused(file: Path, values: dict[str, Any]) -> None:
    change_open(file, **values)
    refused(lambda: Agent.load(file), str(file), "its open decision", "is not valid")


def test_an_open_decision_cannot_be_listed_twice(file: Path) -> None:
    change(file, {"open": 2 * SavedAgent.read(file).meta["open"]})
    refused(lambda: Agent.load(file), str(file), "open decision 1 is not valid")


def test_graph_of_an_open_decision_has_its_arm(file: Path) -> None:
    """A smaller graph is that of a time with fewer arms; the played arm was there."""
    saved = SavedAgent.read(file)
    small = Agent("ids-n", 2, np.eye(2), seed=1).save(file.with_name("small.npz"))
    saved.objects["small"] = SavedAgent.read(small).graph
    large = Agent("ids-n", 4, np.eye(4), seed=1).save(file.with_name("large.npz"))
    saved.objects["large"] = SavedAgent.read(large).graph
    saved.write(file)
    for arm, graph, word in ((1, "small", ""), (2, "small", "valid"), (1, "large", "valid")):
        change_open(file, graph=graph, arm=arm)
        if not word:
            assert len(Agent.load(file).pending) == 1
        else:
            refused(lambda: Agent.load(file), str(file), "it is damaged", word)


def test_agent_at_the_maximum_number_of_decisions(any_file: Path) -> None:
    old = SavedAgent.read(any_file).outer is None
    change(any_file, {"t" if old else "decisions": 2**32 - 1})
    agent = Agent.load(any_file)
    refused(agent.decide, "at most 4294967295 decisions")
    refused(lambda: agent.decide(5), "at most 4294967295 decisions")
    agent.observe(agent.pending[0], {"bob": 1})


HUGE = 10**12


@pytest.mark.parametrize(
    "graph",
    [
        {"text": "star", "arms": HUGE},
        {"kind": "RandomFeedback", "fields": {"arms": HUGE, "r": 0.5}},
        {"kind": "RevealedErdosRenyi", "fields": {"arms": HUGE, "p": 0.5}},
        {"kind": "Fixed", "fields": {"feedback": {"kind": "Uniform", "fields": {"count": HUGE}}}},
    ],
    ids=label,
)
def test_small_file_cannot_request_excessive_memory(any_file: Path, graph: dict[str, Any]) -> None:
    saved = SavedAgent.read(any_file)
    saved.graph[0]["graph"] = graph
    if saved.outer is None:
        saved.meta["arms"] = HUGE
    saved.write(any_file)
    words = [str(any_file), f"its graph has {HUGE} arms, but its prior has 3"]
    refused(lambda: Agent.load(any_file), *words)


def test_number_of_arms_cannot_request_excessive_memory(file: Path) -> None:
    change(file, {"arms": HUGE})
    refused(lambda: Agent.load(file), str(file), f"it has {HUGE} arms, but its prior has 3")


def test_compressed_file_is_refused(any_file: Path) -> None:
    """A megabyte would unpack to a gigabyte."""
    with np.load(any_file) as content:
        arrays = dict(content)
    np.savez_compressed(any_file, **arrays, more=np.zeros(10**6))
    refused(lambda: Agent.load(any_file), str(any_file), "compressed")


@pytest.mark.parametrize("name", ["arms", "prior", "graph"])
def test_object_that_unpacks_to_much_more_is_refused(file: Path, name: str) -> None:
    """Memory grows by the limit, not by the size of the object."""
    key = SavedAgent.read(file).meta[name]
    meta, arrays = from_npz(file.read_bytes())
    bomb = zlib.compress(b"[" + b" " * (5 * MOST_UNPACKED) + b"]")
    assert len(bomb) < MOST_UNPACKED / 100
    arrays[f"object/{key}"] = np.frombuffer(bomb, np.uint8)
    file.write_bytes(to_npz(meta, arrays))
    tracemalloc.start()
    refused(lambda: Agent.load(file), str(file), "it is damaged", "unpack to more than")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2.5 * MOST_UNPACKED


def test_compressed_archive_inside_of_an_object_is_refused(file: Path) -> None:
    saved = SavedAgent.read(file)
    meta, arrays = from_npz(file.read_bytes())
    graph, matrices = saved.graph
    buffer = io.BytesIO()
    described = np.frombuffer(json.dumps(graph).encode(), np.uint8)
    np.savez_compressed(buffer, meta=described, **matrices, more=np.zeros(10**6))
    inner = np.frombuffer(zlib.compress(buffer.getvalue()), np.uint8)
    arrays[f"object/{saved.meta['graph']}"] = inner
    file.write_bytes(to_npz(meta, arrays))
    refused(lambda: Agent.load(file), str(file), "compressed")


def test_large_objects_that_compress_well_are_saved_and_loaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What would be refused is not compressed."""
    monkeypatch.setattr("graphbandits.live._packing.MOST_UNPACKED", 1000)
    names = [f"arm {i}" + " of very many" * 20 for i in range(300)]
    agent = Agent("ts-n", names, "complete", seed=1)
    play(agent, 2)
    agent.decide()
    other = Agent.load(agent.save(tmp_path / "agent.npz"))
    assert other.arms == agent.arms
    assert play(other, 2) == play(agent, 2)


def test_a_pickled_array_is_not_loaded(any_file: Path) -> None:
    change(any_file, state_a=np.array([[1, "x", None]], object))
    refused(lambda: Agent.load(any_file), str(any_file), "not a saved agent")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes with names")
def test_pipes_and_devices_are_neither_read_nor_replaced(agent: Agent, tmp_path: Path) -> None:
    """Reading from a pipe without a writer, or from a device, would never end."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for path in (pipe, Path("/dev/zero")):
        refused(lambda path=path: Agent.load(path), str(path), "not a regular file")
    refused(lambda: agent.save(pipe), str(pipe), "not a saved agent")
    refused(lambda: write_bytes(pipe, b""), str(pipe), "not a regular file")
    assert pipe.is_fifo()


def test_too_large_file_is_not_read(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("graphbandits.live.saved_files.MAX_BYTES", 100)
    refused(lambda: Agent.load(file), str(file), "at most 100 are allowed")


#: Replacements of an array of a saved agent.
DAMAGES: dict[str, Callable[[Any], Any]] = {
    "zeros": np.zeros_like,
    "ones": np.ones_like,
    "negative": lambda array: np.full(array.shape, -1).astype(array.dtype),
    "inf": lambda array: np.full(array.shape, INF),
    "-inf": lambda array: np.full(array.shape, -INF),
    "nan": lambda array: np.full(array.shape, NAN),
    "huge": lambda array: np.full(array.shape, 1e308),
    "tiny": lambda array: np.full(array.shape, 5e-324),
    "one inf": lambda array: np.where(np.arange(array.size).reshape(array.shape) == 1, INF, array),
    "largest int": lambda array: np.full(array.shape, 2**63 - 1),
    "longer": lambda array: np.concatenate([array, array], axis=-1),
    "shorter": lambda array: array[..., :-1],
    "more trials": lambda array: np.repeat(array, 3, axis=0),
    "no trials": lambda array: array[:0],
    "scalar": lambda array: array.ravel()[0],
    "float32": lambda array: array.astype(np.float32),
    "int64": lambda array: array.astype(np.int64),
    "complex": lambda array: array.astype(np.complex128),
    "text": lambda array: array.astype(str),
    "big-endian": lambda array: array.astype(array.dtype.newbyteorder(">")),
}
CHAIN = np.eye(5) + np.eye(5, k=1)


def go_on(agent: Agent) -> None:
    """Observe and decide with an agent from a damaged file."""
    for left_open in agent.pending:
        agent.observe(left_open, {})
    decision = agent.decide()
    agent.observe(decision, dict.fromkeys(decision.reveals, 1))
    agent.decide()


@pytest.mark.filterwarnings("ignore:the rewards contradict the prior")
@pytest.mark.parametrize("number", [2, 1])
@pytest.mark.parametrize("policy", [*able(CHAIN, 5, 60), "ids-n(gain=joint)"])
def test_damaged_arrays_are_refused_or_harmless(policy: str, number: int, tmp_path: Path) -> None:
    """A file is refused when it is loaded, or the agent continues.

    Without the checks kernels read beyond their arrays, or never return.
    """
    agent = Agent(policy, graph=CHAIN, seed=1, horizon=60)
    for _ in range(12):
        decision = agent.decide()
        agent.observe(decision, dict.fromkeys(decision.reveals, decision.number % 2))
    agent.observe(decision := agent.decide(), {decision.arm: 1}, partial=True)
    path = agent.save(tmp_path / "agent.npz")
    saved = SavedAgent.read(path)
    saved = saved.as_format_1() if number == 1 else saved
    saved.meta["has_nan"] = ["a", "b", "count", "total", "loss", "spread", "squares"]
    go_on(Agent.load(saved.write(path)))
    refusals, places = 0, saved.places()
    for arrays, name in places:
        right = arrays[name]
        for damage in DAMAGES.values():
            arrays[name] = damage(right)
            try:
                damaged = Agent.load(saved.write(path))
            except InputError:
                refusals += 1
                continue
            go_on(damaged)
        arrays[name] = right
    assert refusals > 10 * len(places)


ODD = [None, True, -1, 0, 1.5, 2**40, 2**70, "x", "", [], [[]], {}, {"x": 1}, [None], [1, 2, 3]]


def mappings(value: Any) -> Iterator[dict[Any, Any] | list[Any]]:
    """All mappings and lists in a JSON value."""
    if isinstance(value, dict | list):
        yield value
        for part in list(value.values() if isinstance(value, dict) else value):
            yield from mappings(part)


@pytest.mark.parametrize("policy", ["ids-n", "exp3-ix"])
def test_damaged_entries_are_refused_or_harmless(policy: str, tmp_path: Path) -> None:
    """Every entry of every JSON value in the file, in both formats."""
    agent = Agent(policy, ["ann", "bob", "eve"], CHAIN[:3, :3], seed=1, expires=1e6)
    agent.observe(decision := agent.decide(), {decision.arm: 1}, partial=True)
    agent.pause("ann")
    agent.retire("bob")
    path = agent.save(tmp_path / "agent.npz")
    saved, changes = SavedAgent.read(path), 0
    for one in (saved, saved.as_format_1()):
        texts = [part[0] if isinstance(part, tuple) else part for part in one.objects.values()]
        for where in [found for text in (one.meta, *texts) for found in mappings(text)]:
            for key in list(where) if isinstance(where, dict) else range(len(where)):
                right = where[key]
                for value in ODD:
                    where[key] = value
                    changes += 1
                    with suppress(InputError):
                        go_on(Agent.load(one.write(path)))
                where[key] = right
    assert changes > 500


def test_saving_to_an_unwritable_path_is_refused(agent: Agent, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    (tmp_path / "folder").mkdir()
    before = tree(tmp_path)
    for name in ("missing/agent.npz", "file/agent.npz", "folder"):
        refused(lambda name=name: agent.save(tmp_path / name), "cannot write", str(tmp_path / name))
    assert tree(tmp_path) == before
    assert len(agent.pending) == 1


@pytest.mark.skipif(not LINUX, reason="/proc is a matter of Linux")
def test_saving_in_proc_is_refused(agent: Agent, results: Results) -> None:
    refused(lambda: agent.save("/proc/agent.npz"), "cannot write", "/proc/agent.npz")
    refused(lambda: results.save("/proc/results"), "cannot write", "/proc/results")


def test_saving_without_permission_is_refused(
    agent: Agent, results: Results, tmp_path: Path
) -> None:
    locked = tmp_path / "locked"
    locked.mkdir(mode=0o500)
    with unprivileged():
        refused(lambda: agent.save(locked / "agent.npz"), "cannot write", "Permission denied")
        refused(lambda: results.save(locked / "results"), "cannot write", "Permission denied")
    assert tree(locked) == {}


def test_failed_save_keeps_the_old_file(
    agent: Agent, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = agent.save(tmp_path / "agent.npz")
    before = tree(tmp_path)

    def full(*args: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    agent.decide()
    refused(lambda: agent.save(path), "cannot write", str(path), "No space left")
    assert tree(tmp_path) == before


@pytest.mark.parametrize(
    ("part", "index", "value"),
    [("column", 5, 10**9), ("column", 5, -1), ("start", 3, 10**6), ("weight", 2, 7.0)],
)
def test_a_damaged_graph_of_a_saved_agent_is_refused(tmp_path, part, index, value) -> None:
    """Kernels do not check their indices: invalid ones must not reach them."""
    agent = Agent("ids-n", arms=101, graph="star", seed=1)
    path = agent.save(tmp_path / "agent.npz")
    saved = SavedAgent.read(path)
    for one in (saved, saved.as_format_1()):
        array = one.graph[1][f"graph/feedback/{part}"].copy()
        array[index] = value
        one.graph[1][f"graph/feedback/{part}"] = array
        one.write(path)
        with refuses(GraphBanditsError):
            Agent.load(path)


def test_agent_does_not_overwrite_other_files(tmp_path) -> None:
    notes = tmp_path / "notes.txt"
    notes.write_text("keep me")
    with refuses(GraphBanditsError, match="exists and is not a saved agent"):
        Agent("ids-n", arms=2, seed=1).save(notes)
    assert notes.read_text() == "keep me"


def test_temporary_files_of_killed_saves_are_removed(agent: Agent, tmp_path: Path) -> None:
    """Only those of this file, of processes of this machine that have ended."""
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    numbers = {"ended": ended.pid, "own": os.getpid()}
    for name, pid in numbers.items():
        (tmp_path / f".agent.npz-{machine_id()}{pid:08x}0123abcd").write_text(name)
    (tmp_path / f".agent.npz-{machine_id()[::-1]}{ended.pid:08x}0123abcd").write_text("elsewhere")
    (tmp_path / f".other.npz-{machine_id()}{ended.pid:08x}0123abcd").write_text("other")
    (tmp_path / ".agent.npz-mine").write_text("mine")
    agent.save(tmp_path / "agent.npz")
    texts = [path.read_text() for path in tmp_path.glob(".*")]
    assert sorted(texts) == ["elsewhere", "mine", "other", "own"]
    assert Agent.load(tmp_path / "agent.npz").pending == agent.pending


KILLED = """
import os, sys
from graphbandits import Agent
agent = Agent("ids-n", ["ann", "bob"], seed=1)
agent.save(sys.argv[1])
os.fsync = lambda handle: os.kill(os.getpid(), 9)
agent.observe(agent.decide(), {})
agent.save(sys.argv[1])
"""


@pytest.mark.process
def test_killed_save_leaves_the_file_before_and_the_next_one_cleans_up(tmp_path: Path) -> None:
    path = tmp_path / "agent.npz"
    done = subprocess.run([sys.executable, "-c", KILLED, str(path)], timeout=300)
    assert done.returncode == -9
    assert len(list(tmp_path.iterdir())) == 2
    agent = Agent.load(path)
    assert agent.status()["decisions"] == 0
    agent.save(path)
    assert list(tmp_path.iterdir()) == [path]
