"""State of an agent: the result of all entries of its journal, applied in their order."""

from __future__ import annotations

import copy
import hashlib
import heapq
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from graphbandits._files import from_npz, to_npz
from graphbandits._types import Floats, Ints, State
from graphbandits.errors import ConflictError, InputError, StoreError
from graphbandits.graphs import Feedback, Process
from graphbandits.graphs.loaders import Arrays
from graphbandits.live.journal import Entry
from graphbandits.live.setup import (
    PriorCheck,
    Setup,
    extended_state,
    pack_graph,
    unpack_graph,
    unpack_row,
    unpack_sparse,
)
from graphbandits.policies import Event, Policy
from graphbandits.policies.base import check_saved
from graphbandits.posteriors import Arm, Observations
from graphbandits.posteriors.base import check_evidence, check_weights
from graphbandits.posteriors.updates import with_time
from graphbandits.registry import name_of
from graphbandits.simulation.loop import draw_graph, learn_state, update_state

if TYPE_CHECKING:
    from graphbandits.live.agent import Agent
    from graphbandits.live.operations import Observe

#: Number of graphs of single decisions that are kept in memory.
MOST_GRAPHS = 8
#: Reward and weight of an outcome.
Outcome = tuple[float, float]


@dataclass(slots=True)
class OpenDecision:
    """A decision whose outcomes are still expected."""

    number: int
    id: str
    arm: int
    time: float
    expires: float | None
    pi: bytes | None
    process: Process
    round: int
    seen: dict[int, Outcome] = field(default_factory=dict)

    @classmethod
    def of(cls, entry: Entry, process: Process) -> OpenDecision:
        body, number = entry.body, entry.decision or 0
        expires, round_ = body.get("expires"), body.get("round", number)
        return cls(
            number, body["id"], body["arm"], entry.time, expires, entry.data, process, round_
        )

    def is_due(self, now: float) -> bool:
        return self.expires is not None and self.expires <= now

    def as_entry(self) -> Entry:
        """Return the entry of the decision, as far as it is known; the context is not."""
        probability = None
        if self.pi is not None:
            index, values = unpack_sparse(self.pi)
            probability = float(values[index == self.arm][0])
        body = {"id": self.id, "arm": self.arm, "p": probability, "expires": self.expires}
        return Entry(0, self.time, "decide", self.number, body, self.pi)


class MissingEntriesError(StoreError):
    """Entries that another process has removed during a replay."""


class AgentState:
    """State of an agent after some entries of its journal."""

    def __init__(self, setup: Setup, lifetime: float | None = None) -> None:
        self.setup = setup
        self.lifetime = lifetime
        self.policy_state = setup.init()
        self.number, self.time = 0, 0.0
        self.decisions = 0
        self.open: dict[int, OpenDecision] = {}
        self.paused: set[int] = set()
        self.retired: dict[int, int] = {}
        self.counts = dict.fromkeys(("outcomes", "learned", "late", "expired"), 0)
        self.tables: set[str] = set()
        self.created: dict[str, Any] = {}
        self.graph_since = 0
        self.warning = ""
        self.prior_check = PriorCheck(setup.posterior)
        self._due: list[tuple[float, int]] = []
        self._graphs: dict[str, Process] = {}

    # Reading --------------------------------------------------------------------------------------

    def find(self, id_: str) -> OpenDecision | None:
        decision = self.open.get(number_in(id_))
        return None if decision is None or decision.id != id_ else decision

    def due(self, now: float) -> list[OpenDecision]:
        while self._due and self._due[0][1] not in self.open:
            heapq.heappop(self._due)
        if not self._due or self._due[0][0] > now:
            return []
        return [one for one in self.open.values() if one.is_due(now)]

    def keep_graph(self, key: str, process: Process) -> None:
        """Keep a graph of a decision in memory, in place of the oldest one."""
        if len(self._graphs) >= MOST_GRAPHS:
            del self._graphs[next(iter(self._graphs))]
        self._graphs[key] = process

    def feedback(self, decision: OpenDecision) -> Feedback:
        return draw_graph(decision.process, decision.round, self.setup.keys)

    def reach(self, decision: OpenDecision) -> Floats:
        """Return the probability that a decision reveals each of the arms of that time."""
        return self.reach_in(self.feedback(decision), decision.arm, decision.number)

    def reach_in(self, graph: Feedback, arm: int, number: int) -> Floats:
        """Return the probability of each arm in the graph of a decision, by its arm and number."""
        reach: Floats = graph.reach(np.array([arm]))[0]
        return without_retired(reach, self.retired, number) if self.retired else reach

    def shadow(self) -> AgentState:
        """Return a copy for the next entries of the journal; graphs and prior are shared."""
        made = copy.copy(self)
        made.policy_state = {name: np.array(array) for name, array in self.policy_state.items()}
        made.open = {n: replace(one, seen=dict(one.seen)) for n, one in self.open.items()}
        made.paused, made.tables = set(self.paused), set(self.tables)
        made.retired, made.counts = dict(self.retired), dict(self.counts)
        made._due, made._graphs = list(self._due), dict(self._graphs)
        made.prior_check = copy.copy(self.prior_check)
        made.prior_check.done = True
        return made

    def inactive(self) -> list[int]:
        return sorted(self.paused | self.retired.keys()) if self.paused or self.retired else []

    def observation(self, agent: Agent, now: float, asked: Observe) -> list[Entry]:
        """Return the entry of outcomes of a decision; none if they change nothing."""
        id_, given = asked.id, checked_outcomes(self.setup, asked.outcomes)
        decision = self.find(id_)
        if decision is None:
            number = agent._made(id_).decision or 0
            body = late_outcomes(agent._journal.of_decision(number), id_, given, self.setup.arms)
        else:
            number, body = decision.number, new_outcomes(self, decision, given, asked.extra)
            body["closes"] = not asked.partial
        changes = body["arms"] or body.get("closes")
        return [Entry(self.number + 1, now, "observe", number, body)] if changes else []

    # Applying entries -----------------------------------------------------------------------------

    def prepare(self, entries: Sequence[Entry], get: Callable[[str], bytes]) -> Change:
        """Compute the change of the policy by entries, without a change of the state.

        Errors of the policy are raised here, before anything is written.
        """
        setup, arrays = self.setup, self.policy_state
        learned = [entry for entry in entries if entry.kind not in _BOOKKEEPING]
        if learned:
            arrays = {name: np.array(array) for name, array in arrays.items()}
        for entry in learned:
            open_ = entry.body.get("closes") is False
            if entry.kind == "observe" and not setup.incremental and open_:
                # the policy learns at the close, but must not refuse the outcomes then
                trial = {name: np.array(array) for name, array in arrays.items()}
                whole = entry._replace(body=entry.body | {"closes": True})
                self._after_outcomes(whole, setup, trial)
            setup, arrays = self._learned(entry, setup, arrays, get)
        if learned:
            if setup is self.setup:
                _check_form(setup.policy, self.policy_state, arrays)
            # an entry that leads to an invalid state would make the journal unusable
            try:
                check_saved(setup.policy, arrays, setup.problem)
            except InputError as error:
                raise InputError(f"the policy would have an invalid state: {error}") from None
        return Change(entries, setup, arrays)

    def install(self, change: Change, get: Callable[[str], bytes]) -> None:
        """Apply a prepared change, after its entries were written."""
        self.setup, self.policy_state = change.setup, change.policy_state
        for entry in change.entries:
            self._record(entry, get)

    def replay(self, entries: Iterable[Entry], get: Callable[[str], bytes]) -> None:
        """Apply entries that were written."""
        for entry in entries:
            self._check_next(entry)
            self.warning = ""
            change = self._learned(entry, self.setup, self.policy_state, get)
            self.setup, self.policy_state = change
            self._record(entry, get)

    def follow(self, entry: Entry, get: Callable[[str], bytes]) -> None:
        """Apply an entry to everything except the state of the policy, which learns nothing."""
        self._check_next(entry)
        self.setup = _changed_setup(entry, self.setup, get)
        self._record(entry, get)

    def _check_next(self, entry: Entry) -> None:
        if entry.number != self.number + 1:
            raise MissingEntriesError(f"entry {self.number + 1} of the journal was removed")

    def _learned(
        self, entry: Entry, setup: Setup, arrays: State, get: Callable[[str], bytes]
    ) -> tuple[Setup, State]:
        """Return the setup and the state of the policy after an entry; may write into arrays."""
        setup = _changed_setup(entry, setup, get)
        match entry.kind:
            case "observe" | "close":
                arrays = self._after_outcomes(entry, setup, arrays)
            case "learn":
                now = entry.time if setup.by_time else float(self.decisions)
                seen = with_time(setup.posterior, unpack_learned(entry), now)
                arrays = learn_state(setup.policy, arrays, seen, setup.problem)
            case "add_arm":
                arrays = extended_state(arrays, setup.init(), name_of(setup.policy))
            case "set_policy" | "reset" if entry.body.get("reset", True):
                arrays = setup.init()
        return setup, arrays

    def _after_outcomes(self, entry: Entry, setup: Setup, arrays: State) -> State:
        """Return the state of the policy after outcomes of a decision, or after its close."""
        body, decision = entry.body, self.open.get(entry.decision or 0)
        if decision is None or body.get("late"):
            return arrays
        new = outcomes_of(body)
        if not setup.incremental:
            if body["closes"]:
                event = self._event(decision, setup, decision.seen | new)
                arrays = update_state(setup.policy, arrays, event)
            return arrays
        extra = {arm: new.pop(arm) for arm in body.get("extra", ())}
        if new:
            arrays = self._after_round(decision, setup, arrays, new)
        if extra:
            more = with_time(setup.posterior, _observations(extra), self._moment(decision))
            arrays = learn_state(setup.policy, arrays, more, setup.problem)
        return arrays

    def _after_round(
        self, decision: OpenDecision, setup: Setup, arrays: State, seen: dict[int, Outcome]
    ) -> State:
        """Return the state of an incremental policy after outcomes that a decision revealed."""
        own = setup.own_plays_only
        if own is None:
            return update_state(setup.policy, arrays, self._event(decision, setup, seen))
        # what update does, without an event: to make one takes longer than to learn
        observed = _observations(seen)
        if own:
            check_weights(observed, setup.policy)
            observed = observed.select(observed.arm == decision.arm)
        observed = with_time(setup.posterior, observed, self._moment(decision))
        return learn_state(setup.policy, arrays, observed, setup.problem, decision.number)

    def _event(self, decision: OpenDecision, setup: Setup, seen: dict[int, Outcome]) -> Event:
        if decision.pi is None:
            pi = (np.arange(len(setup.arms)) == decision.arm).astype(np.float64)
        else:
            pi = unpack_row(decision.pi, len(setup.arms))
        return Event(
            decision.number,
            setup.keys,
            setup.problem,
            self.feedback(decision),
            pi[None],
            np.array([decision.arm]),
            _observations(seen),
            self._moment(decision),
        )

    def _moment(self, decision: OpenDecision) -> float:
        """Return the time of a decision in the unit in which the posterior discounts."""
        return decision.time if self.setup.by_time else float(decision.number)

    def _record(self, entry: Entry, get: Callable[[str], bytes]) -> None:
        body = entry.body
        self.number, self.time = entry.number, entry.time
        match entry.kind:
            case "decide":
                decision = self.opened(entry, get)
                self.decisions = decision.number
                self.open[decision.number] = decision
                if decision.expires is not None:
                    heapq.heappush(self._due, (decision.expires, decision.number))
            case "observe" | "close":
                self._record_outcomes(entry)
            case "learn":
                self.counts["learned"] += int(body["outcomes"])
                if not self.prior_check.done:
                    self.warning = self.prior_check.observe(unpack_learned(entry))
                if body.get("key") is not None:
                    self.tables.add(body["key"])
            case "pause":
                self.paused.update(body["arms"])
            case "resume":
                self.paused.difference_update(body["arms"])
            case "retire":
                for arm in body["arms"]:
                    self.retired.setdefault(arm, self.decisions)
            case "add_arm" | "set_graph":
                self.graph_since = entry.number
                if entry.kind == "add_arm":  # its states have the arms of the beginning
                    self.prior_check.done = True
            case "reset":
                self.prior_check = PriorCheck(self.setup.posterior)
                self.tables.clear()  # they may be learned again

    def opened(self, entry: Entry, get: Callable[[str], bytes]) -> OpenDecision:
        key = entry.body.get("graph")
        if key is not None and key not in self._graphs:
            self.keep_graph(key, unpack_graph(get(key))[0])
        return OpenDecision.of(entry, self.setup.process if key is None else self._graphs[key])

    def _record_outcomes(self, entry: Entry) -> None:
        body = entry.body
        new = outcomes_of(body)
        if body.get("late"):
            self.counts["late"] += len(new)
            return
        decision = self.open.get(entry.decision or 0)
        if decision is None:
            return
        decision.seen.update(new)
        self.counts["outcomes"] += len(new)
        if new and not self.prior_check.done:
            self.warning = self.prior_check.observe(_observations(new))
        if body["closes"]:
            del self.open[decision.number]
            self.counts["expired"] += body.get("reason") == "expired"

    # Storage --------------------------------------------------------------------------------------

    def pack(self, put: Callable[[bytes], str]) -> bytes:
        """Convert to bytes; ``put`` stores an object, such as the graph, and returns its key."""
        arrays: Arrays = {f"state/{name}": value for name, value in self.policy_state.items()}
        check = self.prior_check
        for i, state in enumerate(() if check.done else check.states):
            arrays |= {f"prior_check/{i}/{name}": value for name, value in state.items()}
        meta = self.setup.pack(put)
        graphs = {id(self.setup.process): meta["graph"]}
        decisions = []
        for one in self.open.values():
            if id(one.process) not in graphs:
                graphs[id(one.process)] = put(pack_graph(one.process, None))
            key = graphs[id(one.process)]
            if one.pi is not None:
                arrays[f"pi/{one.number}"] = np.frombuffer(one.pi, np.uint8)
            seen = [[arm, *pair] for arm, pair in one.seen.items()]
            decisions.append(
                [one.number, one.id, one.arm, one.time, one.expires, key, one.round, seen]
            )
        meta |= {
            "number": self.number,
            "time": self.time,
            "decisions": self.decisions,
            "lifetime": self.lifetime,
            "open": decisions,
            "paused": sorted(self.paused),
            "retired": sorted(self.retired.items()),
            "counts": self.counts,
            "tables": sorted(self.tables),
            "created": self.created,
            "graph_since": self.graph_since,
            "prior_check": [check.count, check.done],
        }
        data = to_npz(meta, arrays)
        return hashlib.sha256(data).digest() + data

    @classmethod
    def unpack(cls, data: bytes, get: Callable[[str], bytes]) -> AgentState:
        if hashlib.sha256(data[32:]).digest() != data[:32]:
            raise InputError("its snapshot is damaged: restore the store from a backup")
        meta, arrays = from_npz(data[32:])
        state = cls(Setup.unpack(meta, get), meta["lifetime"])
        state._restore(meta, arrays)
        state.number, state.time = meta["number"], meta["time"]
        state.decisions = meta["decisions"]
        state.paused, state.retired = set(meta["paused"]), dict(meta["retired"])
        state.counts, state.tables = meta["counts"], set(meta["tables"])
        state.created, state.graph_since = meta["created"], meta["graph_since"]
        processes: dict[str, Process] = {meta["graph"]: state.setup.process}
        for number, id_, arm, time, expires, key, round_, seen in meta["open"]:
            if key not in processes:
                processes[key] = unpack_graph(get(key))[0]
            pi = arrays[f"pi/{number}"].tobytes() if f"pi/{number}" in arrays else None
            outcomes = {i: (reward, weight) for i, reward, weight in seen}
            state.open[number] = OpenDecision(
                number, id_, arm, time, expires, pi, processes[key], round_, outcomes
            )
            if expires is not None:
                heapq.heappush(state._due, (expires, number))
        return state

    def _restore(self, meta: dict[str, Any], arrays: Arrays) -> None:
        """Restore the state of the policy, whose class may have changed, and of the prior check."""
        for name, fresh in self.policy_state.items():
            saved = arrays.get(f"state/{name}")
            if saved is None or _form(saved) != _form(fresh):
                policy = name_of(self.setup.policy)
                raise InputError(f"policy '{policy}' has changed since: it had another '{name}'")
            self.policy_state[name] = saved
        try:
            check_saved(self.setup.policy, self.policy_state, self.setup.problem)
        except InputError as error:
            raise InputError(f"the stored state of the policy is not valid: {error}") from None
        check = self.prior_check
        check.count, done = meta["prior_check"]
        check.done = done or check.done
        if not check.done:
            check.states = [
                {name: arrays[f"prior_check/{i}/{name}"] for name in state}
                for i, state in enumerate(check.states)
            ]

    def digest(self) -> str:
        """Return a hash of the state, for comparisons."""
        data = self.pack(lambda part: hashlib.sha256(part).hexdigest())
        return hashlib.sha256(data).hexdigest()


class Change(NamedTuple):
    """Entries, and the setup and the state of the policy after them."""

    entries: Sequence[Entry]
    setup: Setup
    policy_state: State


def _changed_setup(entry: Entry, setup: Setup, get: Callable[[str], bytes]) -> Setup:
    body = entry.body
    match entry.kind:
        case "add_arm":
            process, text = unpack_graph(get(body["graph"]))
            return setup.with_arm(body["name"], body["prior"], process, text)
        case "set_graph":
            return setup.with_graph(*unpack_graph(get(body["graph"])))
        case "set_policy":
            return setup.with_policy(body["policy"])
    return setup


#: Kinds of entries that do not change the policy.
_BOOKKEEPING = ("create", "decide", "pause", "resume", "retire")


def _observations(seen: dict[int, Outcome]) -> Observations:
    arms = sorted(seen)
    reward, weight = [seen[arm][0] for arm in arms], [seen[arm][1] for arm in arms]
    given = None if weight.count(1.0) == len(weight) else np.array(weight)
    trial = np.zeros(len(arms), np.int64)
    return Observations(trial, np.array(arms, np.int64), np.array(reward, np.float64), given)


def outcomes_of(body: dict[str, Any]) -> dict[int, Outcome]:
    rewards = body.get("rewards", ())
    weights = body.get("weights") or [1.0] * len(rewards)
    return dict(zip(body.get("arms", ()), zip(rewards, weights, strict=True), strict=True))


def pack_learned(arm: Ints, reward: Floats, weight: Floats) -> bytes:
    values = np.concatenate([reward, weight]).astype("<f8")
    return arm.astype("<i4").tobytes() + values.tobytes()


def unpack_learned(entry: Entry) -> Observations:
    data = entry.data or b""
    count = len(data) // 20
    arm = np.frombuffer(data, "<i4", count).astype(np.int64)
    values = np.frombuffer(data, "<f8", offset=4 * count).astype(np.float64)
    reward, weight = values[:count], values[count:]
    given = None if (weight == 1.0).all() else weight
    return Observations(np.zeros_like(arm), arm, reward, given)


def number_in(id_: str) -> int:
    """Return the number of a decision from its id; 0 if it has none."""
    digits = id_.partition("-")[0]
    return int(digits) if digits.isascii() and digits.isdigit() and len(digits) <= 10 else 0


def without_retired(reach: Floats, retired: dict[int, int], decision: int) -> Floats:
    gone = [arm for arm, made in retired.items() if made < decision and arm < len(reach)]
    if gone:
        reach = reach.copy()
        reach[gone] = 0.0
    return reach


def _check_form(policy: Policy, before: State, after: State) -> None:
    # a state of another form could not be restored
    same = before.keys() == after.keys()
    for name, array in before.items():
        same = same and _form(array) == _form(after[name])
    if not same:
        raise InputError(
            f"policy '{name_of(policy)}' has changed the form of its state: keep that of init"
        )


def _form(array: Any) -> tuple[Any, Any]:
    if type(array) is np.ndarray:
        return array.shape, array.dtype
    return np.shape(array), getattr(array, "dtype", None)


#: A reward, or several outcomes as a pair (total, count).
Reward = float | tuple[float, float]
_SEVERAL = (tuple, list)
#: Reasons of a close after which outcomes are kept as late ones.
LATE = ("expired", "reset")


def checked_outcomes(setup: Setup, outcomes: Mapping[Arm, Reward]) -> dict[int, Outcome]:
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
    reach = state.reach(decision) if new else np.zeros(0)
    outside = sorted([arm for arm in new if arm >= len(reach) or reach.item(arm) == 0.0])
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
) -> dict[str, Any]:
    """Return the body of an entry with the outcomes of a closed decision that are new."""
    known, reason = dict[int, Outcome](), ""
    for entry in entries:
        known |= outcomes_of(entry.body)
        known |= {arm: (reward, weight) for arm, reward, weight in entry.body.get("known", ())}
        reason = entry.body.get("reason", reason)
    new = _unknown(given, known, arms, id_)
    if new and reason not in LATE:
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
