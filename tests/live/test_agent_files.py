"""Tests of live/agent.py: damaged, foreign and unwritable files."""

from __future__ import annotations

import gc
import json
import math
import os
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.bad_input import label, refused, tree
from helpers.messages import raises_pinned
from helpers.recorded_runs import able

from graphbandits import Agent, Results, simulate
from graphbandits._io import write_bytes
from graphbandits.errors import GraphBanditsError, InputError

NAN, INF = math.nan, math.inf
IS_ROOT = hasattr(os, "geteuid") and os.geteuid() == 0
LINUX = sys.platform.startswith("linux")


@pytest.fixture(scope="module")
def results() -> Results:
    return simulate(["ts-n", "ids-n"], graph="paper", horizon=3, trials=4, seed=1)


def change(path: Path, meta: dict[str, Any] | None = None, **arrays: Any) -> None:
    """Change entries of the JSON, or arrays, in the file of an agent."""
    with np.load(path) as file:
        content = dict(file)
    known = json.loads(content["meta"].tobytes()) | (meta or {})
    content["meta"] = np.frombuffer(json.dumps(known).encode(), np.uint8)
    content |= {name.replace("_", "/"): value for name, value in arrays.items()}
    np.savez(path, **content)


@pytest.fixture
def file(agent: Agent, tmp_path: Path) -> Path:
    return agent.save(tmp_path / "agent.npz")


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
def test_damaged_agent_files_are_refused(file: Path, damage: Callable[[bytes], bytes]) -> None:
    file.write_bytes(damage(file.read_bytes()))
    refused(lambda: Agent.load(file), str(file), "not a saved agent")
    gc.collect()  # a file left open is a warning, and so an error


def test_flipped_bit_is_refused_or_changes_nothing(file: Path) -> None:
    expected = Agent.load(file).decide()
    data = file.read_bytes()
    for i in range(0, 8 * len(data), 37):
        flipped = bytearray(data)
        flipped[i // 8] ^= 1 << i % 8
        file.write_bytes(bytes(flipped))
        with suppress(GraphBanditsError):
            assert Agent.load(file).decide() == expected, i
    gc.collect()  # a file left open is a warning, and so an error


def test_other_numpy_files_are_refused(tmp_path: Path) -> None:
    np.savez(tmp_path / "other.npz", x=np.eye(2))
    refused(lambda: Agent.load(tmp_path / "other.npz"), "other.npz", "not a saved agent")
    np.save(tmp_path / "other.npy", np.eye(2))
    refused(lambda: Agent.load(tmp_path / "other.npy"), "other.npy", "not a saved agent")


def test_agent_of_a_newer_format_is_refused(file: Path) -> None:
    with np.load(file) as content:
        number = json.loads(content["meta"].tobytes())["format"]
    change(file, {"format": number + 1})
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
def test_inconsistent_agent_files_are_refused(file: Path, meta: dict[str, Any]) -> None:
    change(file, meta)
    refused(lambda: Agent.load(file))


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
        {"pending_1": np.ones((1, 3))},
        {"pending_1": np.array([[NAN, 1.0, 0.0]])},
        {"pending_1": np.array([[-1.0, 1.0, 1.0]])},
        {"pending_1": np.array([[0, 1, 0]])},
    ],
    ids=label,
)
def test_state_that_does_not_match_the_agent_is_refused(file: Path, arrays: dict[str, Any]) -> None:
    change(file, **arrays)
    refused(lambda: Agent.load(file), str(file), "it is damaged")


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
def test_invalid_rounds_and_open_decisions_are_refused(
    file: Path, meta: dict[str, Any], words: list[str]
) -> None:
    change(file, meta)
    refused(lambda: Agent.load(file), str(file), *words)


def test_agent_at_the_maximum_number_of_decisions(file: Path) -> None:
    change(file, {"t": 2**32 - 1})
    agent = Agent.load(file)
    refused(agent.decide, "at most 4294967295 decisions")
    agent.observe(1, {"bob": 1})


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
def test_small_file_cannot_request_excessive_memory(file: Path, graph: dict[str, Any]) -> None:
    change(file, {"graph": graph, "arms": HUGE})
    refused(lambda: Agent.load(file), str(file), f"its graph has {HUGE} arms, but its prior has 3")


def test_compressed_file_is_refused(file: Path) -> None:
    """A megabyte would unpack to a gigabyte."""
    with np.load(file) as content:
        arrays = dict(content)
    np.savez_compressed(file, **arrays, more=np.zeros(10**6))
    refused(lambda: Agent.load(file), str(file), "compressed")


def test_a_pickled_array_is_not_loaded(file: Path) -> None:
    with np.load(file) as content:
        arrays = dict(content)
    arrays["state/a"] = np.array([[1, "x", None]], object)
    np.savez(file, **arrays)
    refused(lambda: Agent.load(file), str(file), "not a saved agent")


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
    monkeypatch.setattr("graphbandits.live.agent.MAX_BYTES", 100)
    refused(lambda: Agent.load(file), str(file), "at most 100 are allowed")


#: Replacements of an array of a saved agent.
DAMAGES: dict[str, Callable[[Any], Any]] = {
    "zeros": np.zeros_like,
    "ones": np.ones_like,
    "negative": lambda array: np.full_like(array, -1),
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


@pytest.mark.filterwarnings("ignore:the rewards contradict the prior")
@pytest.mark.parametrize("policy", [*able(CHAIN, 5, 60), "ids-n(gain=joint)"])
def test_damaged_arrays_are_refused_or_harmless(policy: str, tmp_path: Path) -> None:
    """A file is refused when it is loaded, or the agent continues.

    Without the checks kernels read beyond their arrays, or never return.
    """
    agent = Agent(policy, graph=CHAIN, seed=1, horizon=60)
    for _ in range(12):
        decision = agent.decide()
        agent.observe(decision, dict.fromkeys(decision.reveals, decision.id % 2))
    agent.decide()
    path = agent.save(tmp_path / "agent.npz")
    change(path, {"has_nan": ["a", "b", "count", "total", "loss", "spread", "squares"]})
    with np.load(path) as file:
        content = dict(file)
    refusals = 0
    for name in sorted(content.keys() - {"meta"}):
        for damage in DAMAGES.values():
            np.savez(path, **{**content, name: damage(content[name])})
            try:
                damaged = Agent.load(path)
            except InputError:
                refusals += 1
                continue
            damaged.observe(damaged.pending[0], {})
            decision = damaged.decide()
            damaged.observe(decision, dict.fromkeys(decision.reveals, 1))
            damaged.decide()
    assert refusals > 10 * (len(content) - 1)


ODD = [None, True, -1, 0, 1.5, 2**40, 2**70, "x", "", [], [[]], {}, {"x": 1}, [None], [1, 2, 3]]


def test_damaged_entries_are_refused_or_harmless(file: Path, tmp_path: Path) -> None:
    with np.load(file) as content:
        meta = json.loads(content["meta"].tobytes())
    data = file.read_bytes()
    for name in meta:
        for value in ODD:
            file.write_bytes(data)
            change(file, {name: value})
            with suppress(InputError):
                agent = Agent.load(file)
                decision = agent.decide()
                agent.observe(decision, dict.fromkeys(decision.reveals, 1))


def test_saving_to_an_unwritable_path_is_refused(agent: Agent, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    (tmp_path / "folder").mkdir()
    before = tree(tmp_path)
    for name in ("missing/agent.npz", "file/agent.npz", "folder"):
        refused(lambda name=name: agent.save(tmp_path / name), "cannot write", str(tmp_path / name))
    assert tree(tmp_path) == before
    assert agent.pending == (1,)


@pytest.mark.skipif(not LINUX, reason="/proc is a matter of Linux")
def test_saving_in_proc_is_refused(agent: Agent, results: Results) -> None:
    refused(lambda: agent.save("/proc/agent.npz"), "cannot write", "/proc/agent.npz")
    refused(lambda: results.save("/proc/results"), "cannot write", "/proc/results")


@pytest.mark.skipif(IS_ROOT, reason="root may write everywhere")
def test_saving_without_permission_is_refused(
    agent: Agent, results: Results, tmp_path: Path
) -> None:
    locked = tmp_path / "locked"
    locked.mkdir(mode=0o500)
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
    with np.load(path) as file:
        arrays = dict(file)
    arrays[f"graph/feedback/{part}"][index] = value
    np.savez(path, **arrays)
    with raises_pinned(GraphBanditsError):
        Agent.load(path)


def test_agent_does_not_overwrite_other_files(tmp_path) -> None:
    notes = tmp_path / "notes.txt"
    notes.write_text("keep me")
    with raises_pinned(GraphBanditsError):
        Agent("ids-n", arms=2, seed=1).save(notes)
    assert notes.read_text() == "keep me"
