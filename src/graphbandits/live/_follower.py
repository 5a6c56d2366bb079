"""A policy that follows a log: it proposes at each decision, and learns from the outcomes."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from typing import Any

import numpy as np

from graphbandits._serialization import unpack_plugin
from graphbandits._types import Floats
from graphbandits.engine.loop import decide, draw_graph
from graphbandits.errors import InputError, check_horizon
from graphbandits.graphs import Feedback, Process, make_process
from graphbandits.live._log_arrays import LogArrays, OutcomeLists
from graphbandits.live._log_table import Origin
from graphbandits.live._packing import pack_sparse, unpack_npz
from graphbandits.live.journal import Entry
from graphbandits.live.log import DecisionLog
from graphbandits.live.setup import Setup, make_prior
from graphbandits.live.state import AgentState, OpenDecision, unpack_learned
from graphbandits.policies import Policy, View
from graphbandits.policies.base import check_needs
from graphbandits.posteriors import Posterior
from graphbandits.posteriors.support import reward_support
from graphbandits.registry import name_of


class Follower:
    """Policy that starts from its prior and follows the decisions of a log in their order.

    Parameters
    ----------
    log : DecisionLog
        The log.
    policy : Policy
        The policy.
    posterior, prior, horizon
        As in :class:`graphbandits.Agent`. The default is those of the log.
    """

    def __init__(
        self,
        log: DecisionLog,
        policy: Policy,
        posterior: str | Posterior | None = None,
        prior: object = None,
        horizon: int | None = None,
    ) -> None:
        self._log, self._data, self._origin = log, log.arrays, log.origin
        origin = self._origin
        self._own_prior = posterior is not None or prior is not None
        setup = Setup(
            policy,
            origin.arms[: origin.first_arms],
            start_prior(origin, posterior, prior),
            self._process(0 if origin.graphs else -1),
            None,
            origin.horizon if horizon is None else check_horizon(horizon),
            origin.keys,
        ).checked()
        self._state = AgentState(setup)
        check_rewards(self._data.outcomes, setup.posterior)
        self._events = _events(self._data, origin.changes, setup.incremental)
        self._next: tuple[int, str, Any] | None = next(self._events, None)
        self._numbers: dict[int, int] = {}  # of the decisions that were played, by row
        self._checked_graphs = set[int]()

    @property
    def posterior(self) -> Posterior:
        """The prior of the policy."""
        return self._state.setup.posterior

    def _process(self, graph: int) -> Process:
        if graph >= 0:
            found = self._origin.processes[graph]
            if found is not None:
                return found
        elif not self._origin.graphs:
            return make_process("empty", self._origin.first_arms)
        raise InputError(
            "the log has no graph, because it is of a plug-in without a text form: a policy cannot "
            "follow it; evaluate a fixed distribution of arms"
        )

    # One decision ---------------------------------------------------------------------------------

    def propose(self, row: int) -> Floats:
        """Return the distribution of the policy at a decision, over all arms of the log.

        Everything that had arrived before the decision is learned first.
        """
        data, state = self._data, self._state
        self._learn_until(int(data.entry[row]))
        setup, graph = state.setup, int(data.graph[row])
        process, count = self._process(graph), len(state.setup.arms)
        drawn = data.pi.arm[data.pi.start[row] : data.pi.start[row + 1]]
        if process.arms != count or max(data.arm[row], drawn.max(initial=0)) >= count:
            raise InputError(
                f"the log is damaged: the graph of decision {data.number[row]} has {process.arms} "
                f"arms, not {count}"
            )
        if graph not in self._checked_graphs:
            check_needs(setup.policy, process, setup.horizon)
            self._checked_graphs.add(graph)
        t = self._number(row)
        if self._is_in_order(row) and setup.policy.exact:
            t = int(data.round[row])  # decisions of one moment have the same distribution
        mask = None
        if data.eligible.known[row]:
            arms = data.eligible.arm[data.eligible.start[row] : data.eligible.start[row + 1]]
            mask = np.zeros((1, count), np.bool_)
            mask[0, arms[arms < count]] = True
        now = data.time[row] if self._by_time else float(t)
        view = View(t, setup.keys, setup.problem, self._feedback(process, row), mask, now)
        pi, _ = decide(setup.policy, state.policy_state, view)
        found = np.zeros(len(self._origin.arms))
        found[:count] = pi[0]
        return found

    def play(self, row: int) -> None:
        """Play the logged arm of a decision, so that its outcomes are learned when they arrive."""
        data, state = self._data, self._state
        pi = None
        if data.pi.known[row]:
            place = slice(data.pi.start[row], data.pi.start[row + 1])
            full = np.zeros(len(state.setup.arms))
            full[data.pi.arm[place]] = data.pi.value[place]
            pi = pack_sparse(full)
        number = self._number(row)
        self._numbers[row] = state.decisions = number
        state.open[number] = OpenDecision(
            number,
            f"{number}-",
            int(data.arm[row]),
            float(data.time[row]),
            None,
            pi,
            self._process(int(data.graph[row])),
            int(data.round[row]),
        )

    @property
    def _by_time(self) -> bool:
        return getattr(self._state.setup.posterior, "half_life", None) is not None

    def _number(self, row: int) -> int:
        """Return the number of the next decision; that of the log if no decision was left out."""
        in_order = self._is_in_order(row)
        return int(self._data.number[row]) if in_order else self._state.decisions + 1

    def _is_in_order(self, row: int) -> bool:
        """Return whether all earlier decisions of the log were played."""
        return len(self._numbers) == row

    def _feedback(self, process: Process, row: int) -> Feedback:
        return draw_graph(process, int(self._data.round[row]), self._origin.keys)

    def _learn_until(self, entry: int) -> None:
        """Learn what had arrived before an entry of the journal."""
        entries, state = list[Entry](), self._state
        while self._next is not None and self._next[0] < entry:
            _, kind, what = self._next
            self._next = next(self._events, None)
            number = state.number + len(entries) + 1
            if kind == "outcomes":
                row, body = what
                if row in self._numbers:
                    kind = "observe" if "arms" in body else "close"
                    self._check_arms(body.get("arms", ()))
                    entries.append(Entry(number, 0.0, kind, self._numbers[row], body))
                continue
            state.replay(entries, self._origin.get)
            entries = []
            state.replay([self._change(state.number + 1, what)], self._origin.get)
        state.replay(entries, self._origin.get)

    def _change(self, number: int, change: list[Any]) -> Entry:
        _, time, kind, body, packed = change
        data = None if packed is None else base64.b64decode(packed)
        setup = self._state.setup
        if kind == "add_arm" and self._own_prior:
            body = body | {"prior": setup.new_arm_prior(None)}
        entry = Entry(number, time, kind, None, body, data)
        if kind == "learn":
            seen = unpack_learned(entry)
            self._check_arms(seen.arm.tolist())
            support = reward_support(setup.posterior)
            if not ((seen.reward >= support.low) & (seen.reward <= support.high)).all():
                raise InputError(
                    "the log has outcomes without a decision that do not fit the posterior "
                    f"'{name_of(setup.posterior)}': give the posterior of the agent"
                )
        return entry

    def _check_arms(self, arms: Any) -> None:
        if any(not 0 <= arm < len(self._state.setup.arms) for arm in arms):
            raise InputError("the log is damaged: it has outcomes of arms that were added later")


def start_prior(origin: Origin, posterior: str | Posterior | None, prior: object) -> Posterior:
    """Return the prior of the first arms of a log: the given one, or that of the log."""
    names = origin.arms[: origin.first_arms]
    if posterior is not None or prior is not None or origin.prior is None:
        return make_prior(posterior, prior, names, names)
    found: Posterior = unpack_plugin(*unpack_npz(origin.get(origin.prior)))
    if found.arms != origin.first_arms:
        raise InputError("the log is damaged: its prior has another number of arms")
    return found


def check_rewards(seen: OutcomeLists, posterior: Posterior) -> None:
    """Raise InputError if a posterior does not have the rewards of a log."""
    support = reward_support(posterior)
    inside = (seen.reward >= support.low) & (seen.reward <= support.high)
    wrong = ~np.where(seen.weight == 1.0, support.contains(seen.reward), inside)
    if wrong.any():
        raise InputError(
            f"the log has the reward {seen.reward[wrong.argmax()]:g}, but the posterior "
            f"'{name_of(posterior)}' has rewards that are {support.description}: give "
            "posterior=..., such as 'normal(noise=1)'"
        )


def _events(
    data: LogArrays, changes: list[list[Any]], incremental: bool
) -> Iterator[tuple[int, str, Any]]:
    """Yield changes and outcomes with their entries, in the order of the entries.

    Late outcomes are not learned. Policies that divide by probabilities of observation do not learn
    extra outcomes, which have none.
    """
    seen = data.outcomes
    used = ~seen.late & (incremental | ~seen.extra)
    bodies: dict[tuple[int, int], dict[str, Any]] = {}
    for place in np.flatnonzero(used).tolist():
        key = int(seen.entry[place]), int(seen.row[place])
        body = bodies.setdefault(
            key, {"arms": [], "rewards": [], "weights": [], "extra": [], "closes": False}
        )
        arm = int(seen.arm[place])
        body["arms"].append(arm)
        body["rewards"].append(float(seen.reward[place]))
        body["weights"].append(float(seen.weight[place]))
        if seen.extra[place]:
            body["extra"].append(arm)
    for row in np.flatnonzero(data.closed).tolist():
        bodies.setdefault((int(data.closed_entry[row]), row), {})["closes"] = True
    found: list[tuple[int, int, str, Any]] = [
        (entry, 0, "outcomes", (row, body)) for (entry, row), body in bodies.items()
    ]
    found += [(int(change[0]), 1, "change", change) for change in changes]
    found.sort(key=lambda one: one[:2])
    return iter([(entry, kind, what) for entry, _, kind, what in found])
