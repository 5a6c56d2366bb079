"""The explanation of a decision, recomputed from the journal of the agent."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from graphbandits._types import Floats, Ints, State
from graphbandits.engine.loop import decide
from graphbandits.gains import information_ratio
from graphbandits.gains.ratio import entropy
from graphbandits.graphs import Feedback
from graphbandits.live._packing import unpack_sparse
from graphbandits.live.deciding import as_decision, view_of
from graphbandits.live.explanation import (
    TOLERANCE,
    ExplainedArm,
    Explanation,
    FrontierPoints,
    number_text,
    plural,
)
from graphbandits.live.journal import Entry
from graphbandits.live.state import AgentState, without_retired
from graphbandits.policies import Policy, View
from graphbandits.policies.base import with_inner
from graphbandits.policies.bayesian import GainPolicy, RulePolicy
from graphbandits.policies.floor import ExplorationFloor
from graphbandits.policies.incremental import own_plays_only
from graphbandits.policies.index import IndexPolicy
from graphbandits.policies.restriction import restricted
from graphbandits.posteriors import Arm, Beliefs
from graphbandits.posteriors._capabilities import compute_beliefs, has_variance, keeps_posterior
from graphbandits.registry import name_of, summary_of, text_of
from graphbandits.rules._hull_kernels import frontier

#: Number of other arms that an arm reveals and that are listed: those with the most information.
MOST_REVEALED = 10
#: What the gain of a policy is, and how a text describes its value.
GAIN = {
    "Gh": "information in all outcomes that a play reveals (G h), in nats",
    "h": "information in the outcome of the played arm (h), in nats",
    "g": "joint information in all outcomes that a play reveals (g), in nats",
    "Gv": "variance explained by all outcomes that a play reveals (G v)",
    "v": "variance explained by the outcome of the played arm (v)",
}


def explain(
    state: AgentState, made: Sequence[Entry], get: Callable[[str], bytes], most: int
) -> Explanation:
    """Return the explanation of the last of some decisions of one request.

    Parameters
    ----------
    state : AgentState
        State before these decisions.
    made : sequence of Entry
        Entries of the decisions of the request, up to the one that is explained.
    get : callable
        Returns an object of the journal.
    most : int
        Number of arms to list.

    Returns
    -------
    Explanation
        The explanation.
    """
    setup, entry = state.setup, made[-1]
    arrays, view = view_of(state, made, get)
    opened = state.opened(entry, get)
    decision = as_decision(state, entry, view._feedback)
    policy, arms = with_inner(setup.policy)[-1], setup.arms
    part = _Part.of(setup.policy, arrays, view)
    floor = None
    if isinstance(setup.policy, ExplorationFloor):
        floor = setup.policy.exploration(part.view)[0]
    recorded = None
    if entry.data is not None:
        recorded = np.zeros(len(arms))
        index, values = unpack_sparse(entry.data)
        recorded[index] = values
    pi = None if recorded is None else recorded[part.index]
    posterior = part.view.problem.posterior
    found = gain = kind = mean = None
    if keeps_posterior(part.arrays, posterior):
        current = part.view.current(part.arrays)
        part = _Part(part.index, current, part.view)
        found = _beliefs(policy, current, part.view)
        gain, kind = _gain(policy, current, found, part.view)
        mean = posterior.mean(current)[0]
    played = int(np.searchsorted(part.index, opened.arm))
    alpha = None if found is None else found.alpha[0]
    listed = _most_relevant(played, pi, alpha, len(part.index))[:most]
    worth = np.zeros(len(arms))
    if found is not None:
        worth[part.index] = found.h[0]
    columns: dict[str, Floats | None] = {"probability": pi, "alpha": alpha, "mean": mean}
    columns["exploration"] = floor
    columns |= {name: None if found is None else getattr(found, name)[0] for name in ("delta", "h")}
    columns |= {"gain": gain, "index": _indices(policy, part)}
    explained = []
    for i in listed:
        arm = int(part.index[i])
        reach = without_retired(_reach(view._feedback, arm), state.retired, opened.number)
        reveals, more = _revealed(reach, worth, arm, arms)
        numbers = {
            name: None if values is None or not math.isfinite(values[i]) else float(values[i])
            for name, values in columns.items()
        }
        own = state_of_arm(part.arrays, i, len(part.index))
        explained.append(
            ExplainedArm(arms[arm], **numbers, state=own, reveals=reveals, reveals_more=more)
        )
    points, totals = None, dict[str, float | None]()
    if found is not None and gain is not None:
        points = FrontierPoints(
            tuple(arms[i] for i in part.index.tolist()),
            gain.tolist(),
            found.delta[0].tolist(),
            None if pi is None else pi.tolist(),
            None if floor is None else floor.tolist(),
            _hull(found.delta[0], gain),
            played,
        )
        totals = {"rho": float(found.rho[0]), "entropy": float(entropy(found.alpha)[0])}
        if pi is not None:
            ratio = float(information_ratio(pi[None], found.delta, gain[None])[0])
            totals |= {"regret": float(pi @ found.delta[0]), "information": float(pi @ gain)}
            totals["ratio"] = ratio if math.isfinite(ratio) else None
    again = decide(setup.policy, arrays, view)
    difference = _difference(recorded, opened.arm, *again)
    notes = [
        _policy_note(policy, found is not None),
        _floor_note(floor),
        _eligible_note(len(part.index), len(arms), entry, len(made)),
        _pending_note(entry),
        _difference_note(difference, recorded is None),
    ]
    return Explanation(
        decision=decision,
        policy=text_of(setup.policy),
        rule=summary_of(type(policy)),
        arms=tuple(explained),
        others=len(part.index) - len(explained),
        eligible=len(part.index),
        total=len(arms),
        **{name: totals.get(name) for name in ("rho", "entropy", "regret", "information", "ratio")},
        gain=None if kind is None else GAIN[kind],
        frontier=() if points is None else tuple(points.arms[i] for i in points.hull),
        reproduced=difference <= TOLERANCE,
        notes=tuple(filter(None, notes)),
        points=points,
    )


def state_of_arm(arrays: State, arm: int, count: int) -> dict[str, Any]:
    """Return the entries of a state of ``count`` arms that belong to an arm, as JSON values.

    >>> state_of_arm({"loss": np.array([[0.5, np.inf]]), "squares": np.zeros(1)}, 1, 2)
    {'loss': None}
    """

    def plain(value: Any) -> Any:
        if isinstance(value, list):
            return [plain(one) for one in value]
        return None if isinstance(value, float) and not math.isfinite(value) else value

    return {
        name: plain(values[0, arm].tolist())
        for name, values in arrays.items()
        if values.shape[:2] == (1, count)
    }


@dataclass(frozen=True, eq=False)
class _Part:
    """The arms that could be played, with the state of the policy and the view of these arms."""

    index: Ints
    arrays: State
    view: View

    @classmethod
    def of(cls, policy: Policy, arrays: State, view: View) -> _Part:
        if view.eligible is None:
            return cls(np.arange(view.problem.arms), arrays, view)
        [(_, index, some, part)] = restricted(policy, arrays, view)
        return cls(index, some, part)


def _beliefs(policy: Policy, state: State, view: View) -> Beliefs:
    posterior: Any = view.problem.posterior
    if getattr(policy, "variance", False) and has_variance(posterior):
        found: Beliefs = posterior.beliefs(state, variance=True)
        return found
    return compute_beliefs(posterior, state, None, False)


def _gain(policy: Policy, state: State, found: Beliefs, view: View) -> tuple[Floats, str]:
    """Return the gain of each play that the policy uses, or would have, and its kind."""
    if isinstance(policy, RulePolicy) and policy.uses_information:
        worth = found.v if policy.variance and found.v is not None else found.h
        kind = "v" if policy.variance else "h"
        if policy.needs.graph == "before":
            kind = "g" if isinstance(policy, GainPolicy) and policy.gain == "joint" else f"G{kind}"
        return policy.information_gain(state, worth, view)[0], kind
    if own_plays_only(policy):
        return found.h[0], "h"
    return view._feedback.gain(found.h)[0], "Gh"


def _indices(policy: Policy, part: _Part) -> Floats | None:
    if not isinstance(policy, IndexPolicy):
        return None
    with np.errstate(all="ignore"):  # indices of arms that were never observed are not used
        found: Floats = policy.indices(part.arrays, part.view)[0]
    return found


def _hull(delta: Floats, gain: Floats) -> list[int]:
    """Return the vertices of the lower right hull, by increasing Delta."""
    hull, order, group = (np.empty(len(delta), np.int64) for _ in range(3))
    count = frontier(np.ascontiguousarray(delta), np.ascontiguousarray(gain), hull, order, group)
    found: list[int] = hull[:count].tolist()
    return found


def _most_relevant(played: int, pi: Floats | None, alpha: Floats | None, count: int) -> list[int]:
    """Return the arms in their order of relevance.

    The played arm, the most probable other one, the one that is most likely the best, and then by
    probability.

    >>> _most_relevant(2, np.array([0.1, 0.2, 0.7, 0.0]), np.array([0.1, 0.0, 0.2, 0.7]), 4)
    [2, 1, 3, 0]
    """
    drawn = np.zeros(count) if pi is None else pi
    best = np.zeros(count) if alpha is None else alpha
    order = np.lexsort((-best, -drawn)).tolist()
    second = [i for i in order[:2] if i != played][:1]
    return list(dict.fromkeys([played, *second, int(best.argmax()), *order]))


def _reach(feedback: Feedback, arm: int) -> Floats:
    reach: Floats = feedback.reach(np.array([arm]))[0]
    return reach


def _revealed(
    reach: Floats, worth: Floats, arm: int, arms: tuple[Arm, ...]
) -> tuple[dict[Arm, float], int]:
    """Return what a play reveals, with probabilities: the arm, and others; and how many are left.

    Those with the most information are listed.
    """
    index = np.flatnonzero(reach)
    order = np.lexsort((-reach[index], -(reach * worth[: len(reach)])[index], index != arm))
    listed = np.sort(index[order[: MOST_REVEALED + 1]]).tolist()
    return {arms[i]: float(reach[i]) for i in listed}, len(index) - len(listed)


def _difference(recorded: Floats | None, arm: int, pi: Floats, action: Ints) -> float:
    """Return how much the recomputed decision differs from the recorded one.

    A policy that draws the arm itself must draw the same arm.
    """
    if recorded is None:
        return 0.0 if int(action[0]) == arm else 1.0
    return float(np.abs(pi[0] - recorded).max())


# Sentences ----------------------------------------------------------------------------------------


def _policy_note(policy: Policy, has_beliefs: bool) -> str:
    note = ""
    if not policy.exact:
        note = f"{name_of(policy)} draws the arm itself: its probability is not known. "
    if not has_beliefs:
        note += (
            f"{name_of(policy)} has no posterior of the arms: there is no probability of being the "
            "best, no expected regret and no information."
        )
    return note.strip()


def _floor_note(floor: Floats | None) -> str:
    if floor is None:
        return ""
    count = int((floor > 0.0).sum())
    return (
        f"Exploration has a probability of {number_text(float(floor.sum()))}, spread evenly over "
        f"{count} {plural(count, 'arm')}."
    )


def _eligible_note(eligible: int, total: int, entry: Entry, place: int) -> str:
    if eligible == total:
        return ""
    why = "others were excluded, paused or retired"
    if entry.body.get("distinct") and place > 1:
        why += f", or played by the {place - 1} earlier {plural(place - 1, 'decision')} of its call"
    return f"{eligible} of {total} arms could be played: {why}."


def _pending_note(entry: Entry) -> str:
    if entry.body.get("pending") != "expected":
        return ""
    return "Outcomes that were expected from open decisions count by their expectation."


def _difference_note(difference: float, draws: bool) -> str:
    if difference <= TOLERANCE:
        return ""
    what = "another arm" if draws else f"probabilities that differ by up to {difference:.2g}"
    return (
        f"Not reproduced: this version of graphbandits gives {what} from the same journal. The "
        "decision was made by another version, or by other code of a plug-in. The probabilities "
        "are the recorded ones; all other numbers are those of this version."
    )
