"""Decisions of agents in comparable form, and the files of agents, unpacked."""

from __future__ import annotations

import copy
import json
import zlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from graphbandits import Agent, Decision
from graphbandits._io import from_npz, to_npz


def facts(decision: Decision) -> tuple[object, ...]:
    """Return what two agents with the same seed and outcomes have in common: all but the id."""
    return decision.number, decision.arm, decision.probability, decision.pi, decision.reveals


def whole_pi(agent: Agent, decision: Decision) -> list[float]:
    """Return the probabilities of all arms; those that a decision omits are zero."""
    assert decision.pi is not None
    assert all(p > 0.0 for p in decision.pi.values())
    return [decision.pi.get(arm, 0.0) for arm in agent.arms]


def play(agent: Agent, rounds: int) -> list[tuple[object, ...]]:
    """Decide and observe rewards from a fixed rule: two agents can be compared."""
    made = []
    for _ in range(rounds):
        decision = agent.decide()
        made.append(facts(decision))
        rewards = {arm: (len(str(arm)) + decision.number) % 3 % 2 for arm in decision.reveals}
        agent.observe(decision, rewards)
    return made


@dataclass
class SavedAgent:
    """Content of the file of an agent, of format 1 or 2, which a test may change.

    ``objects`` has what format 2 packs by itself: arms, prior and graphs, by their keys.
    """

    meta: dict[str, Any]
    arrays: dict[str, Any]
    objects: dict[str, Any] = field(default_factory=dict)
    outer: dict[str, Any] | None = None

    @classmethod
    def read(cls, path: Path) -> SavedAgent:
        meta, arrays = from_npz(path.read_bytes())
        if meta["format"] == 1:
            return cls(meta, arrays)
        inner, state = from_npz(arrays.pop("state").tobytes())
        objects = {}
        for name, data in arrays.items():
            raw = zlib.decompress(data.tobytes())
            archive = raw.startswith(b"PK")
            objects[name.removeprefix("object/")] = from_npz(raw) if archive else json.loads(raw)
        return cls(inner, state, objects, meta)

    def write(self, path: Path) -> Path:
        if self.outer is None:
            path.write_bytes(to_npz(self.meta, self.arrays))
            return path
        arrays = {"state": np.frombuffer(to_npz(self.meta, self.arrays), np.uint8)}
        for key, value in self.objects.items():
            raw = to_npz(*value) if isinstance(value, tuple) else json.dumps(value).encode()
            arrays[f"object/{key}"] = np.frombuffer(zlib.compress(raw), np.uint8)
        path.write_bytes(to_npz(self.outer, arrays))
        return path

    @property
    def graph(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """JSON and arrays of the graph."""
        if self.outer is None:
            return self.meta, self.arrays
        found: tuple[dict[str, Any], dict[str, Any]] = self.objects[self.meta["graph"]]
        return found

    def places(self) -> list[tuple[dict[str, Any], str]]:
        """Return all arrays, as mappings and keys."""
        archives = [one[1] for one in self.objects.values() if isinstance(one, tuple)]
        return [(arrays, name) for arrays in (self.arrays, *archives) for name in sorted(arrays)]

    def as_format_1(self) -> SavedAgent:
        """Return the agent as versions 0.6 to 0.8 have saved it: one archive without objects."""
        meta = copy.deepcopy(self.meta)
        (prior, prior_arrays), (graph, graph_arrays) = self.objects[meta["prior"]], self.graph
        arms = len(next(iter(prior_arrays.values())))
        old = {name: meta[name] for name in ("policy", "seed", "trial", "horizon", "has_nan")}
        old |= {
            "format": 1,
            "posterior": prior["name"],
            "prior": {
                name: value
                for name, value in prior["parameters"].items()
                if not (isinstance(value, dict) and "array" in value)
            },
            "arms": meta["arms"] if isinstance(meta["arms"], int) else self.objects[meta["arms"]],
            "t": meta["decisions"],
            "pending": [[number, arm] for number, _, arm, *_ in meta["open"]],
            "graph": graph["graph"],
            "prior_check": meta["prior_check"],
        }
        arrays = {name: value for name, value in self.arrays.items() if not name.startswith("pi/")}
        arrays |= prior_arrays | graph_arrays
        for number, arm in old["pending"]:
            row = np.zeros((1, arms))
            if f"pi/{number}" in self.arrays:
                packed = self.arrays[f"pi/{number}"].tobytes()
                assert packed[:1] == b"r"  # few arms
                count = len(packed) // 12
                index = np.frombuffer(packed, "<i4", count, 1)
                row[0, index] = np.frombuffer(packed, "<f8", count, 1 + 4 * count)
            else:
                row[0, arm] = 1.0  # the policy has drawn the arm itself
            arrays[f"pending/{number}"] = row
        return SavedAgent(old, arrays)
