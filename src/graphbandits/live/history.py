"""The journal of an agent for people: names of arms instead of numbers, ids of decisions."""

from __future__ import annotations

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
            "time": iso_time(entry.time),
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


class ArmCounts:
    """Numbers of plays and outcomes of each arm in a journal.

    Several outcomes that were reported as one count by their number. Late outcomes are not counted.

    Parameters
    ----------
    arms : int
        Number of arms.

    Attributes
    ----------
    plays, outcomes : ndarray of shape (K,)
        Number of decisions for each arm, and of its outcomes with and without a decision.
    """

    def __init__(self, arms: int) -> None:
        self.plays: Floats = np.zeros(arms)
        self.outcomes: Floats = np.zeros(arms)
        self._number = 0  # of the last play
        self._played: dict[int, int] = {}

    def add(self, entry: Entry) -> None:
        """Count an entry."""
        if entry.kind == "decide":
            arm = entry.body["arm"]
            self.plays[arm] += 1.0
            self._number += 1
            self._played[arm] = self._number
        elif entry.kind in ("observe", "close") and not entry.body.get("late"):
            for arm, (_, weight) in outcomes_of(entry.body).items():
                self.outcomes[arm] += weight
        elif entry.kind == "learn":
            seen = unpack_learned(entry)
            np.add.at(self.outcomes, seen.arm, 1.0 if seen.weight is None else seen.weight)

    def extend(self, arms: int) -> None:
        """Count more arms from now on."""
        more = np.zeros(max(0, arms - len(self.plays)))
        if len(more):
            self.plays = np.concatenate([self.plays, more])
            self.outcomes = np.concatenate([self.outcomes, more])

    def recent(self) -> list[int]:
        """Return the arms that were played, each once, the last one first."""
        return sorted(self._played, key=lambda arm: -self._played[arm])


def count_entries(entries: Iterable[Entry], arms: int) -> ArmCounts:
    """Return the numbers of plays and outcomes in a journal with so many arms."""
    counts = ArmCounts(arms)
    for entry in entries:
        counts.add(entry)
    return counts


def iso_time(seconds: float | None) -> str | None:
    """Return a time as text (UTC); None stays None."""
    return None if seconds is None else datetime.fromtimestamp(seconds, UTC).isoformat()


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
