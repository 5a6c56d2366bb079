"""Make decisions, and explain them later from the journal."""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from graphbandits._types import Floats, Ints, State
from graphbandits.errors import (
    MOST_ROUNDS,
    InputError,
    check_bool,
    check_integer,
    check_positive,
)
from graphbandits.graphs import Feedback, GraphLike, Process, as_process
from graphbandits.live.decision import (
    TOLERANCE,
    Decision,
    ExplainedArm,
    Explanation,
    FrontierPoints,
    number_text,
    plural,
)
from graphbandits.live.journal import Entry
from graphbandits.live.operations import Decide
from graphbandits.live.setup import pack_graph, pack_sparse, unpack_row
from graphbandits.live.state import AgentState, OpenDecision
from graphbandits.live.values import MOST_SECONDS
from graphbandits.policies import Policy, View
from graphbandits.policies.base import check_needs, own_plays_only, with_inner
from graphbandits.policies.bayesian import GainPolicy, RulePolicy
from graphbandits.policies.index import IndexPolicy
from graphbandits.policies.wrappers import ExplorationFloor, check_restrictable, restricted
from graphbandits.posteriors import Arm, Beliefs, is_discounted
from graphbandits.posteriors.base import (
    compute_beliefs,
    expect_outcomes,
    has_variance,
    keeps_posterior,
)
from graphbandits.posteriors.updates import at_decision
from graphbandits.registry import name_of, registered, summary_of, text_of
from graphbandits.rng import draw_actions
from graphbandits.rules._hull_kernels import frontier
from graphbandits.rules.gains import entropy, information_ratio
from graphbandits.simulation.loop import decide, draw_graph

#: How open decisions count in the next one.
PENDING = ("ignore", "expected")


def checked(request: Decide) -> Decide:
    if request.pending not in PENDING:
        allowed = " or ".join(map(repr, PENDING))
        raise InputError(f"pending must be {allowed}, not {request.pending!r}")
    return Decide(
        check_integer(request.n, "n"),
        check_bool(request.distinct, "distinct"),
        _listed(request.among),
        _listed(request.exclude),
        request.graph,
        None if request.context is None else _json_value(request.context),
        request.pending,
        None if request.expires is None else check_lifetime(request.expires),
    )


def check_lifetime(seconds: object) -> float:
    found = check_positive(seconds, "expires (a timedelta, or seconds)")
    if found > MOST_SECONDS:
        raise InputError(f"expires must be at most {MOST_SECONDS:g} seconds, not {found:g}")
    return found


def content_of(request: Decide) -> str:
    """Return a hash of what is asked for."""
    arms = _names_of(request.among), _names_of(request.exclude)
    values = [request.n, request.distinct, *arms, _text_of_graph(request.graph)]
    values += [request.context, request.pending, request.expires]
    # the order of the keys of a context can differ between two attempts of a client
    return hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()


def make_decisions(
    state: AgentState, request: Decide, now: float, put: Callable[[bytes], str]
) -> tuple[list[Entry], list[Decision]]:
    """Return the journal entries of new decisions, and the decisions.

    All have the same beliefs, graph and t, and each has its own random number.
    """
    setup, first = state.setup, state.decisions + 1
    if first + request.n - 1 > MOST_ROUNDS:
        raise InputError(f"an agent makes at most {MOST_ROUNDS} decisions: create another agent")
    eligible = eligible_arms(state, request.among, request.exclude)
    left = len(setup.arms) if eligible is None else int(eligible.sum())
    if request.distinct and request.n > left:
        raise InputError(
            f"{request.n} distinct arms are asked for, but only {left} may be played: ask for fewer"
        )
    if request.distinct and request.n > 1:
        check_restrictable(setup.policy, setup.problem)
    process = _process(state, request.graph)
    body = _common_body(state, request, now)
    if request.among is not None or request.exclude is not None:
        among = np.ones(len(setup.arms), np.bool_) if eligible is None else eligible
        body["among"] = put(np.packbits(among).tobytes())
    if request.graph is not None:
        body["graph"] = put(pack_graph(process, None))
        state.keep_graph(body["graph"], process)
    if request.n > 1:
        body |= {"round": first, "distinct": request.distinct}

    policy, exact = setup.policy, setup.policy.exact
    feedback = draw_graph(process, first, setup.keys)
    waiting = _ExpectedOutcomes(state, first, now) if request.pending == "expected" else None
    entries: list[Entry] = []
    made: list[Decision] = []
    arrays, pi = state.policy_state, None
    may_repeat = exact and waiting is None and not request.distinct
    for number in range(first, first + request.n):
        t = first if exact else number  # a policy that draws for itself needs new random numbers
        if pi is None or not may_repeat:
            arrays = arrays if waiting is None else waiting.state()
            pi, action = decide(policy, arrays, _view(state, t, first, now, feedback, eligible))
        arm: int = (action if number == t else draw_actions(pi, setup.keys, number)).item(0)
        id_, probability = f"{number}-{os.urandom(6).hex()}", pi.item(0, arm) if exact else None
        own = {"id": id_, "arm": arm, "p": probability, **body}
        data = pack_sparse(pi[0]) if exact else None
        entry = Entry(state.number + 1, now, "decide", number, own, data)
        entries.append(entry)
        made.append(as_decision(state, entry, feedback))
        if waiting is not None:
            waiting.add(OpenDecision.of(entry, process))
        if request.distinct:
            eligible = np.ones(len(setup.arms), np.bool_) if eligible is None else eligible.copy()
            eligible[arm] = False
    return entries, made


def view_of(
    state: AgentState, made: Sequence[Entry], get: Callable[[str], bytes]
) -> tuple[State, View]:
    """Return the state of the policy and the view with which a decision was made.

    ``made`` has the entries of the decisions of one request, up to this one; ``state`` is the state
    before them.
    """
    setup, entry = state.setup, made[-1]
    body, number, first = entry.body, entry.decision or 0, made[0].decision or 0
    arms = len(setup.arms)
    if "among" in body:
        packed = np.frombuffer(get(body["among"]), np.uint8)
        mask = np.unpackbits(packed, count=arms).astype(np.bool_)
        eligible = None if mask.all() else mask
    else:
        eligible = eligible_arms(state, None, None)
    if body.get("distinct") and len(made) > 1:
        eligible = np.ones(arms, np.bool_) if eligible is None else eligible
        eligible[[one.body["arm"] for one in made[:-1]]] = False
    opened = [state.opened(one, get) for one in made]
    arrays = state.policy_state
    if body.get("pending") == "expected":
        waiting = _ExpectedOutcomes(state, first, entry.time)
        for one in opened[:-1]:
            waiting.add(one)
        arrays = waiting.state()
    t = first if setup.policy.exact else number
    feedback = state.feedback(opened[-1])
    return arrays, _view(state, t, first, entry.time, feedback, eligible)


def _view(
    state: AgentState,
    t: int,
    first: int,
    now: float,
    feedback: Feedback,
    eligible: NDArray[np.bool_] | None,
) -> View:
    setup = state.setup
    moment = now if setup.by_time else float(first)
    mask = None if eligible is None else eligible[None, :]
    return View(t, setup.keys, setup.problem, feedback, mask, moment)


def eligible_arms(
    state: AgentState, among: Iterable[Arm] | None, exclude: Iterable[Arm] | None
) -> NDArray[np.bool_] | None:
    """Return which arms may be played, (K,); None if all may be."""
    setup, gone = state.setup, state.inactive()
    if among is None and exclude is None and not gone:
        return None
    mask = np.full(len(setup.arms), among is None)
    if among is not None:
        numbers = setup.numbers_of(among, "among")
        if not numbers:
            raise InputError("among is empty: name at least one arm that may be played")
        mask[numbers] = True
    if exclude is not None:
        mask[setup.numbers_of(exclude, "exclude")] = False
    mask[gone] = False
    if not mask.any():
        raise InputError(
            "no arm may be played: all arms are excluded, paused or retired; allow at least one"
        )
    if mask.all():
        return None
    check_restrictable(setup.policy, setup.problem)
    return mask


def as_decision(state: AgentState, entry: Entry, feedback: Feedback) -> Decision:
    number, body = entry.decision or 0, entry.body
    reach = state.reach_in(feedback, body["arm"], number)
    (index,) = reach.nonzero()
    arms = state.setup.arms
    return Decision(arms, body, number, entry.time, entry.data, (index, reach[index]))


def _listed(arms: Iterable[Arm] | None) -> Iterable[Arm] | None:
    # arms are read twice; values that are not iterable are refused later
    if arms is None or isinstance(arms, str) or not isinstance(arms, Iterable):
        return arms
    return list(arms)


def _names_of(arms: Iterable[Arm] | None) -> Any:
    return [str(arm) for arm in arms] if isinstance(arms, list) else repr(arms)


def _text_of_graph(graph: GraphLike) -> str | None:
    if graph is None or isinstance(graph, str):
        return graph
    if type(graph) in registered("graph").values():
        with suppress(InputError):  # it has parameters that are no texts
            return text_of(graph)
    return hashlib.sha256(pack_graph(as_process(graph), None)).hexdigest()


def _process(state: AgentState, graph: GraphLike) -> Process:
    setup = state.setup
    if graph is None:
        return setup.process
    if setup.policy.needs.fixed:
        name = name_of(setup.policy)
        raise InputError(f"policy '{name}' needs the same graph in every round: use set_graph")
    process = setup.read_graph(graph, "auto", state.retired)
    check_needs(setup.policy, process, setup.horizon)
    return process


def _common_body(state: AgentState, request: Decide, now: float) -> dict[str, Any]:
    body: dict[str, Any] = {}
    if request.context is not None:
        body["context"] = request.context
    if request.pending != "ignore":
        body["pending"] = request.pending
    lifetime = state.lifetime if request.expires is None else request.expires
    if lifetime is not None:
        body["expires"] = now + lifetime
    return body


def _json_value(context: object) -> Any:
    try:
        return json.loads(json.dumps(context, allow_nan=False))
    except (TypeError, ValueError, RecursionError) as error:
        raise InputError(
            f"context must be a JSON value, such as a dict of texts and numbers: {error}"
        ) from None


class _ExpectedOutcomes:
    """Posterior in which outcomes of open decisions count by their expectation."""

    def __init__(self, state: AgentState, t: int, now: float) -> None:
        policy = state.setup.policy
        if not keeps_posterior(state.policy_state, state.setup.posterior):
            raise InputError(
                f"policy '{name_of(policy)}' has no posterior: use pending='ignore', or ids-n"
            )
        self._agent, self._own = state, state.setup.own_plays_only
        self._t, self._now = t, now
        self._weight = np.zeros(len(state.setup.arms))
        for one in state.open.values():
            self.add(one)

    def add(self, decision: OpenDecision) -> None:
        reach = self._agent.reach(decision)
        if self._own:
            reach = np.where(np.arange(len(reach)) == decision.arm, reach, 0.0)
        missing = reach * self._discount(decision)
        missing[[arm for arm in decision.seen if arm < len(reach)]] = 0.0
        self._weight[: len(reach)] += missing

    def _discount(self, decision: OpenDecision) -> float:
        posterior: Any = self._agent.setup.posterior
        if not is_discounted(posterior):
            return 1.0
        if posterior.half_life is not None:
            return float(0.5 ** (max(0.0, self._now - decision.time) / posterior.half_life))
        return float(posterior.discount ** max(0, self._t - 1 - decision.number))

    def state(self) -> State:
        posterior = self._agent.setup.posterior
        now = at_decision(posterior, self._agent.policy_state, self._t, self._now)
        arrays = {name: np.array(array) for name, array in now.items()}
        arm = np.flatnonzero(self._weight)
        if not len(arm):
            return arrays
        return expect_outcomes(posterior, arrays, arm, self._weight[arm])


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
    """Return the explanation of the last of some decisions of one request."""
    setup, entry = state.setup, made[-1]
    arrays, view = view_of(state, made, get)
    opened = state.opened(entry, get)
    decision = as_decision(state, entry, view._feedback)
    policy, arms = with_inner(setup.policy)[-1], setup.arms
    part = _Part.of(setup.policy, arrays, view)
    floor = None
    if isinstance(setup.policy, ExplorationFloor):
        floor = setup.policy.exploration(part.view)[0]
    recorded = None if entry.data is None else unpack_row(entry.data, len(arms))
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
    columns = {"probability": pi, "exploration": floor, "alpha": alpha, "gain": gain, "mean": mean}
    columns |= {name: None if found is None else getattr(found, name)[0] for name in ("delta", "h")}
    columns["index"] = _indices(policy, part)
    explained = []
    for i in listed:
        arm = int(part.index[i])
        reach = state.reach_in(view._feedback, arm, opened.number)
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
            arms=tuple(arms[i] for i in part.index.tolist()),
            gain=gain.tolist(),
            delta=found.delta[0].tolist(),
            pi=None if pi is None else pi.tolist(),
            exploration=None if floor is None else floor.tolist(),
            hull=_hull(found.delta[0], gain),
            played=played,
        )
        totals = {"rho": float(found.rho[0]), "entropy": float(entropy(found.alpha)[0])}
        if pi is not None:
            ratio = float(information_ratio(pi[None], found.delta, gain[None])[0])
            totals |= {"regret": float(pi @ found.delta[0]), "information": float(pi @ gain)}
            totals["ratio"] = ratio if math.isfinite(ratio) else None
    again, action = decide(setup.policy, arrays, view)
    if recorded is None:
        difference = float(int(action[0]) != opened.arm)
    else:
        difference = float(np.abs(again[0] - recorded).max())
    eligible = len(part.index), len(arms)
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
        notes=tuple(_notes(policy, entry, found, floor, eligible, len(made), difference)),
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
        return cast(Floats, policy.indices(part.arrays, part.view)[0])


def _hull(delta: Floats, gain: Floats) -> list[int]:
    hull, order, group = (np.empty(len(delta), np.int64) for _ in range(3))
    count = frontier(np.ascontiguousarray(delta), np.ascontiguousarray(gain), hull, order, group)
    return cast(list[int], hull[:count].tolist())


def _most_relevant(played: int, pi: Floats | None, alpha: Floats | None, count: int) -> list[int]:
    """Order arms: the played one, the other most probable one, the likely best one, then by pi."""
    drawn = np.zeros(count) if pi is None else pi
    best = np.zeros(count) if alpha is None else alpha
    order = np.lexsort((-best, -drawn)).tolist()
    second = [i for i in order[:2] if i != played][:1]
    return list(dict.fromkeys([played, *second, int(best.argmax()), *order]))


def _revealed(
    reach: Floats, worth: Floats, arm: int, arms: tuple[Arm, ...]
) -> tuple[dict[Arm, float], int]:
    """Return what a play reveals, the most informative arms first; and how many are left out."""
    index = np.flatnonzero(reach)
    order = np.lexsort((-reach[index], -(reach * worth[: len(reach)])[index], index != arm))
    listed = np.sort(index[order[: MOST_REVEALED + 1]]).tolist()
    return {arms[i]: float(reach[i]) for i in listed}, len(index) - len(listed)


def _notes(
    policy: Policy,
    entry: Entry,
    found: Beliefs | None,
    floor: Floats | None,
    eligible: tuple[int, int],
    place: int,
    difference: float,
) -> list[str]:
    """Return sentences about a decision, the last of ``place`` decisions of one request."""
    name, notes = name_of(policy), list[str]()
    if not policy.exact:
        notes.append(f"{name} draws the arm itself: its probability is not known.")
    if found is None:
        notes.append(
            f"{name} has no posterior of the arms: there is no probability of being the best, no "
            "expected regret and no information."
        )
    if floor is not None:
        count = int((floor > 0.0).sum())
        notes.append(
            f"Exploration has a probability of {number_text(float(floor.sum()))}, spread evenly "
            f"over {count} {plural(count, 'arm')}."
        )
    part, total = eligible
    if part != total:
        why = "others were excluded, paused or retired"
        if entry.body.get("distinct") and place > 1:
            why += f", or played by the {place - 1} earlier {plural(place - 1, 'decision')}"
            why += " of its call"
        notes.append(f"{part} of {total} arms could be played: {why}.")
    if entry.body.get("pending") == "expected":
        notes.append("Outcomes that were expected from open decisions count by their expectation.")
    if difference > TOLERANCE:
        what = f"probabilities that differ by up to {difference:.2g}"
        notes.append(
            f"Not reproduced: this version of graphbandits gives "
            f"{'another arm' if entry.data is None else what} from the same journal. The decision "
            "was made by another version, or by other code of a plug-in. The probabilities are the "
            "recorded ones; all other numbers are those of this version."
        )
    return notes
