"""Outcomes of decisions: checks, and what is new in them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from graphbandits.errors import ConflictError, InputError
from graphbandits.live.journal import Entry
from graphbandits.live.setup import Setup
from graphbandits.live.state import AgentState, OpenDecision, Outcome, outcomes_of
from graphbandits.posteriors import Arm
from graphbandits.posteriors._capabilities import check_evidence
from graphbandits.registry import name_of

#: A reward, or several outcomes as a pair (total, count).
Reward = float | tuple[float, float]
_SEVERAL = (tuple, list)
#: Reasons of a close after which outcomes are kept as late ones.
LATE = ("expired", "reset")


def checked_outcomes(setup: Setup, outcomes: Mapping[Arm, Reward]) -> dict[int, Outcome]:
    """Return reward and weight by the number of the arm, checked."""
    found: dict[int, Outcome] = {}
    for name, reward in outcomes.items():
        arm = setup.number_of(name)
        if arm in found:
            raise InputError(f"the arm {setup.arms[arm]!r} is given twice: give one outcome")
        try:
            if isinstance(reward, _SEVERAL):
                found[arm] = check_evidence(setup.posterior, reward)
            else:
                found[arm] = setup.posterior.check_reward(reward), 1.0
        except InputError as error:
            raise InputError(f"outcome of {setup.arms[arm]!r}: {error}") from None
    return found


def new_outcomes(
    state: AgentState, decision: OpenDecision, given: dict[int, Outcome], extra: bool
) -> dict[str, Any]:
    """Return the body of an entry with the outcomes of an open decision that are new."""
    setup = state.setup
    new = _unknown(given, decision.seen, setup.arms, decision.id)
    outside: list[int] = []
    if new:
        reach = state.reach(decision)
        arms = len(reach)
        outside = sorted([arm for arm in new if arm >= arms or reach.item(arm) == 0.0])
    if outside and not extra:
        raise InputError(
            f"playing {setup.arms[decision.arm]!r} does not reveal {setup.arms[outside[0]]!r} in "
            "this graph: omit this arm, or give extra=True if you observed it"
        )
    if outside and not setup.incremental:
        raise InputError(
            f"policy '{name_of(setup.policy)}' cannot learn from an outcome that its decision did "
            f"not reveal: omit {setup.arms[outside[0]]!r}, or use a policy with a posterior"
        )
    body = _body(new)
    if outside:
        body["extra"] = outside
    return body


def late_outcomes(
    entries: Iterable[Entry], id_: str, given: dict[int, Outcome], arms: tuple[Arm, ...]
) -> dict[str, Any] | None:
    """Return the body of an entry with late outcomes of a decision; None if nothing is new.

    ``entries`` are those of the decision, which is not open.
    """
    known, reason = dict[int, Outcome](), ""
    for entry in entries:
        known |= outcomes_of(entry.body)
        known |= {arm: (reward, weight) for arm, reward, weight in entry.body.get("known", ())}
        reason = entry.body.get("reason", reason)
    new = _unknown(given, known, arms, id_)
    if not new:
        return None
    if reason not in LATE:
        raise ConflictError(
            f"decision {id_} is closed, and has no outcome of {arms[min(new)]!r}: use partial=True "
            "as long as outcomes may come, or agent.learn for outcomes without a decision"
        )
    return _body(new) | {"late": True}


def _body(outcomes: dict[int, Outcome]) -> dict[str, Any]:
    order = sorted(outcomes)
    body: dict[str, Any] = {"arms": order, "rewards": [outcomes[arm][0] for arm in order]}
    weights = [outcomes[arm][1] for arm in order]
    if weights.count(1.0) != len(weights):
        body["weights"] = weights
    return body


def _unknown(
    given: dict[int, Outcome], known: dict[int, Outcome], arms: tuple[Arm, ...], id_: str
) -> dict[int, Outcome]:
    """Return the outcomes that are not known yet; raise InputError if one contradicts them."""
    if not known:
        return given
    for arm, pair in given.items():
        if arm in known and known[arm] != pair:
            raise ConflictError(
                f"decision {id_} has the outcome {_shown(known[arm])} of {arms[arm]!r}, not "
                f"{_shown(pair)}: a reported outcome cannot be changed"
            )
    return {arm: pair for arm, pair in given.items() if arm not in known}


def _shown(pair: Outcome) -> str:
    reward, weight = pair
    return f"{reward:g}" if weight == 1.0 else f"({reward * weight:g}, {weight:g})"
