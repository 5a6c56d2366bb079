"""Decisions of an agent: one or several at a moment, among the arms that may be played."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphbandits._types import State
from graphbandits.engine.loop import decide, draw_graph
from graphbandits.errors import MOST_ROUNDS, InputError, check_bool, check_integer, check_positive
from graphbandits.graphs import Feedback, GraphLike, Process, as_process
from graphbandits.live._packing import pack_graph, pack_sparse
from graphbandits.live._times import MOST_SECONDS
from graphbandits.live.decision import Decision
from graphbandits.live.journal import Entry
from graphbandits.live.operations import Decide
from graphbandits.live.state import AgentState, OpenDecision
from graphbandits.policies import View
from graphbandits.policies.base import check_needs
from graphbandits.policies.restriction import check_restrictable
from graphbandits.posteriors import Arm, is_discounted
from graphbandits.posteriors._capabilities import expect_outcomes, keeps_posterior
from graphbandits.posteriors.discounting import at_decision
from graphbandits.registry import name_of, registered, text_of
from graphbandits.rng import draw_actions

#: How open decisions count in the next one.
PENDING = ("ignore", "expected")


def checked(request: Decide) -> Decide:
    """Return a request with checked values and a copy of its context."""
    if request.pending not in PENDING:
        allowed = " or ".join(map(repr, PENDING))
        raise InputError(f"pending must be {allowed}, not {request.pending!r}")
    check_bool(request.distinct, "distinct")
    return replace(
        request,
        n=check_integer(request.n, "n"),
        among=_listed(request.among),
        exclude=_listed(request.exclude),
        context=None if request.context is None else _json_value(request.context),
        expires=None if request.expires is None else check_lifetime(request.expires),
    )


def check_lifetime(seconds: object) -> float:
    """Return the time after which decisions expire; raise InputError if it is not valid."""
    found = check_positive(seconds, "expires (a timedelta, or seconds)")
    if found > MOST_SECONDS:
        raise InputError(f"expires must be at most {MOST_SECONDS:g} seconds, not {found:g}")
    return found


def content_of(request: Decide) -> str:
    """Return a hash of what is asked for, which does not depend on the agent."""
    values = [
        request.n,
        request.distinct,
        _names_of(request.among),
        _names_of(request.exclude),
        _text_of_graph(request.graph),
        request.context,
        request.pending,
        request.expires,
    ]
    # the order of the keys of a context can differ between two attempts of a client
    return hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()


def make_decisions(
    state: AgentState, request: Decide, now: float, put: Callable[[bytes], str]
) -> tuple[list[Entry], list[Decision]]:
    """Return the journal entries of new decisions, and the decisions.

    Each decision has its own number, and therefore its own random number. All are made at one
    moment: with the same beliefs, the same graph and the same t.
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
    for number in range(first, first + request.n):
        t = first if exact else number  # a policy that draws for itself needs new random numbers
        if pi is None or request.distinct or waiting is not None or not exact:
            arrays = arrays if waiting is None else waiting.state()
            pi, action = decide(policy, arrays, _view(state, t, first, now, feedback, eligible))
        arm: int = (action if number == t else draw_actions(pi, setup.keys, number)).item(0)
        own = {
            "id": f"{number}-{os.urandom(6).hex()}",
            "arm": arm,
            "p": pi.item(0, arm) if exact else None,
            **body,
        }
        data = pack_sparse(pi[0]) if exact else None
        entry = Entry(state.number + len(entries) + 1, now, "decide", number, own, data)
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

    ``made`` has the entries of the decisions of one request, up to this decision. ``state`` is the
    state before them. :func:`~graphbandits.engine.loop.decide` gives the same pi again.
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
    """Return the view of a decision; ``first`` is the first one of its request."""
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
    """Return the decision of a journal entry, as users see it."""
    number, body = entry.decision or 0, entry.body
    reach = state.reach_in(feedback, body["arm"], number)
    (index,) = reach.nonzero()
    arms = state.setup.arms
    return Decision(arms, body, number, entry.time, entry.data, (index, reach[index]))


def _listed(arms: Iterable[Arm] | None) -> Iterable[Arm] | None:
    """Return arms as a list, which can be read twice; other values are refused later."""
    return list(arms) if isinstance(arms, Iterable) and not isinstance(arms, str) else arms


def _names_of(arms: Iterable[Arm] | None) -> Any:
    return [str(arm) for arm in arms] if isinstance(arms, list) else repr(arms)


def _text_of_graph(graph: GraphLike) -> str | None:
    """Return a graph as text: that of a name, or a hash of its edges."""
    if graph is None or isinstance(graph, str):
        return graph
    if type(graph) in registered("graph").values():
        with suppress(InputError):  # it has parameters that are no texts
            return text_of(graph)
    return hashlib.sha256(pack_graph(as_process(graph), None)).hexdigest()


def _process(state: AgentState, graph: GraphLike) -> Process:
    """Return the graph of decisions: the given one, or that of the agent."""
    setup = state.setup
    if graph is None:
        return setup.process
    if setup.policy.needs.fixed:
        raise InputError(
            f"policy '{name_of(setup.policy)}' needs the same graph in every round: use set_graph, "
            "or another policy"
        )
    process = setup.read_graph(graph, "auto", state.retired)
    check_needs(setup.policy, process, setup.horizon)
    return process


def _common_body(state: AgentState, request: Decide, now: float) -> dict[str, Any]:
    """Return what the entries of all decisions of a request have in common."""
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
    """Return a copy of a context as JSON values."""
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
                f"pending='expected' needs a policy with a posterior, and '{name_of(policy)}' has "
                "none: use pending='ignore', or a policy such as ids-n"
            )
        self._agent, self._own = state, state.setup.own_plays_only
        self._t, self._now = t, now
        self._weight = np.zeros(len(state.setup.arms))
        for one in state.open.values():
            self.add(one)

    def add(self, decision: OpenDecision) -> None:
        """Add the outcomes of a decision that are not known yet."""
        reach = self._agent.reach(decision)
        if self._own:
            reach = np.where(np.arange(len(reach)) == decision.arm, reach, 0.0)
        missing = np.ones(len(reach), np.bool_)
        missing[[arm for arm in decision.seen if arm < len(reach)]] = False
        self._weight[: len(reach)] += np.where(missing, reach * self._discount(decision), 0.0)

    def _discount(self, decision: OpenDecision) -> float:
        """Return how much an outcome of a decision counts now."""
        posterior: Any = self._agent.setup.posterior
        if not is_discounted(posterior):
            return 1.0
        if posterior.half_life is not None:
            return float(0.5 ** (max(0.0, self._now - decision.time) / posterior.half_life))
        return float(posterior.discount ** max(0, self._t - 1 - decision.number))

    def state(self) -> State:
        """Return a copy of the state of the policy, with the expected outcomes."""
        posterior = self._agent.setup.posterior
        now = at_decision(posterior, self._agent.policy_state, self._t, self._now)
        arrays = {name: np.array(array) for name, array in now.items()}
        arm = np.flatnonzero(self._weight)
        if not len(arm):
            return arrays
        return expect_outcomes(posterior, arrays, arm, self._weight[arm])
