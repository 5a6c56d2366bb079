"""The journal of an agent for people: names of arms instead of numbers, ids of decisions."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from copy import deepcopy
from datetime import UTC, datetime
from typing import Any

import numpy as np

from graphbandits._types import Floats
from graphbandits.live.journal import Entry, Journal
from graphbandits.live.state import outcomes_of, unpack_learned
from graphbandits.posteriors import Arm


def describe(
    entries: Iterable[Entry], arms: tuple[Arm, ...], journal: Journal
) -> list[dict[str, Any]]:
    """Return entries as JSON values."""
    ids: dict[int, str] = {}
    found = []
    for entry in entries:
        line: dict[str, Any] = {
            "number": entry.number,
            "time": datetime.fromtimestamp(entry.time, UTC).isoformat(),
            "kind": entry.kind,
        }
        number = entry.decision
        if number is not None:
            if number not in ids:
                made = [entry, *journal.of_decision(number)]
                known = (one.body["id"] for one in made if "id" in one.body)
                ids[number] = next(known, str(number))  # its entry may have been removed
            line["decision"] = ids[number]
        found.append(line | _details(entry, arms))
    return found


def count_by_arm(entries: Iterable[Entry], arms: int) -> tuple[Floats, Floats, list[int]]:
    """Count the plays and the outcomes of each arm in a journal, and list the plays.

    Several outcomes that were reported as one count by their number. Late outcomes are not counted.

    Returns
    -------
    plays, outcomes : ndarray of shape (K,)
        Number of decisions for each arm, and of its outcomes with and without a decision.
    played : list of int
        Arms by decision, the last one first.
    """
    plays, outcomes = np.zeros(arms), np.zeros(arms)
    played = deque[int]()
    for entry in entries:
        if entry.kind == "decide":
            plays[entry.body["arm"]] += 1.0
            played.appendleft(entry.body["arm"])
        elif entry.kind in ("observe", "close") and not entry.body.get("late"):
            for arm, (_, weight) in outcomes_of(entry.body).items():
                outcomes[arm] += weight
        elif entry.kind == "learn":
            seen = unpack_learned(entry)
            np.add.at(outcomes, seen.arm, 1.0 if seen.weight is None else seen.weight)
    return plays, outcomes, list(played)


def _details(entry: Entry, arms: tuple[Arm, ...]) -> dict[str, Any]:
    body = entry.body
    match entry.kind:
        case "decide":
            context = {"context": deepcopy(body["context"])} if "context" in body else {}
            return {"arm": arms[body["arm"]], "probability": body["p"]} | context
        case "observe" | "close":
            outcomes = {
                str(arms[arm]): reward if weight == 1.0 else [reward * weight, weight]
                for arm, (reward, weight) in outcomes_of(body).items()
            }
            more = {key: body[key] for key in ("closes", "late", "reason") if key in body}
            return {"outcomes": outcomes} | more
        case "pause" | "resume" | "retire":
            return {"arms": [arms[arm] for arm in body["arms"]]}
        case "add_arm":
            return {"arm": body["name"], "prior": body["prior"]}
        case "create" | "set_policy":
            return {"policy": body["policy"]}
        case "learn":
            return dict(body)
    return {}
