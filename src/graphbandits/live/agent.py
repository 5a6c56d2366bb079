"""Live decisions: an agent runs a policy in one trial, with outcomes from the user."""

from __future__ import annotations

import copy
import math
import os
import secrets
import threading
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import nullcontext, suppress
from datetime import UTC, date, datetime, timedelta
from itertools import chain, islice, takewhile
from typing import TYPE_CHECKING, Any, TypeVar, cast

import numpy as np

from graphbandits.errors import (
    ConflictError,
    GraphBanditsError,
    InputError,
    InputWarning,
    NotFoundError,
    StoreError,
    check_integer,
    short_repr,
)
from graphbandits.graphs import GraphLike, Process
from graphbandits.live import views
from graphbandits.live.deciding import as_decision, check_lifetime, explain
from graphbandits.live.decision import Decision, Explanation
from graphbandits.live.evidence import HealthRecord
from graphbandits.live.health import Health, check_level
from graphbandits.live.journal import (
    Entry,
    Journal,
    MemoryJournal,
    PastJournal,
    Snapshot,
    copy_objects,
    made_entries,
    numbered,
)
from graphbandits.live.methods import AgentMethods, id_of, seconds_of
from graphbandits.live.operations import Operation, close_entries, hash_of
from graphbandits.live.setup import MODEL, Setup
from graphbandits.live.state import AgentState, MissingEntriesError, number_in
from graphbandits.live.values import timestamp
from graphbandits.live.views import TrendRecord
from graphbandits.policies import Policy, as_policy
from graphbandits.policies.wrappers import ExplorationFloor
from graphbandits.posteriors import Arm, BeliefsByArm, Posterior
from graphbandits.posteriors.base import compute_beliefs, keeps_posterior, select_arms
from graphbandits.posteriors.updates import at_decision
from graphbandits.registry import name_of, text_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from graphbandits.live.log import DecisionLog
    from graphbandits.live.store import AgentStore

T = TypeVar("T")
R = TypeVar("R", HealthRecord, TrendRecord)
#: A snapshot is written after this many entries, or more if a snapshot is large.
SNAPSHOT_ENTRIES = 1000
#: Bytes of a snapshot per entry between two of them: so snapshots at most double the size.
SNAPSHOT_BYTES = 200
#: Attempts to load an agent while other processes remove entries.
MOST_ATTEMPTS = 5
#: Entries that are copied at a time.
MOST_COPIED = 500


class Agent(AgentMethods):
    """Agent that makes decisions with a policy and learns from observed rewards.

    Several decisions may be open at a time. Their outcomes may come in pieces, in any order, late,
    and from other processes. Threads may share an agent. Processes share it through a store.

    Parameters
    ----------
    policy : str or Policy, optional
        Policy as text form or object. It is required for a new agent.
    arms : int or iterable of str or int, optional
        Names of the arms, or their number; then the arms are 0, 1, .... The default is the names
        of the graph.
    graph : str, array, Process or other graph, default="empty"
        Feedback graph, in any form that :func:`graphbandits.as_process` accepts.
    seed : int, optional
        Seed of the random draws. By default a random one.
    posterior : str or Posterior, optional
        Model of the rewards, as text such as "normal(mean=0, sd=1, noise=0.5)" or as an object. The
        default is Beta-Bernoulli arms: rewards 0 and 1, uniform priors.
    prior : object, optional
        Parameters of the prior in addition to those of ``posterior``: for all arms, such as (2, 5)
        or {"mean": 0, "sd": 2}; a sequence with one of these per arm; or a mapping from names of
        arms to these. A posterior object is allowed, too.
    horizon : int, optional
        Number of rounds, for policies that need it.
    trial : int, default=0
        Number of the trial: other trials of the same seed have other random draws.
    accuracy : {"simulation", "strict"}, optional
        Accuracy of the statistics. The default is that of the prior.
    expires : timedelta or float, optional
        Time (in seconds if it is a number) after which an open decision expires. By default a
        decision is open until it is observed or closed.
    floor : float, optional
        Probability of exploration that is mixed into every decision, so that the logged decisions
        can be used to evaluate other policies. ``Agent("ids-n", floor=0.02)`` has the policy
        "floor(policy=ids-n, mass=0.02)".
    floor_over : {"arms", "dominating-set"}, default="arms"
        Arms over which it is spread: all arms that may be played, or a small set of them from
        which every arm can be observed.
    weight : str or None, default="auto"
        For a NetworkX graph: the edge attribute with the probabilities; None to ignore all.
    store : str or Path, optional
        File of SQLite, or address of a PostgreSQL database such as
        "postgresql://user:password@host/database". If the store has the agent, it is opened; then
        the other arguments may be omitted, and must not contradict what is stored. By default the
        agent is in memory.
    name : str, default="default"
        Name of the agent in the store.
    clock : callable, default=time.time
        Function that returns the time in seconds since 1970.

    Raises
    ------
    NeedsError
        If the policy needs information that the graph or the horizon does not provide.

    Examples
    --------
    >>> agent = Agent("ids-n", arms=["ann", "bob", "eve"], graph="star", seed=1)
    >>> decision = agent.decide()
    >>> decision.arm, sorted(decision.reveals)
    ('ann', ['ann', 'bob', 'eve'])
    >>> agent.observe(decision, {"ann": 1}, partial=True)  # more answers may come
    >>> agent.observe(decision.id, {"bob": 0})  # later, by id; closes the decision
    >>> agent.status()["outcomes"]
    2
    """

    def __init__(
        self,
        policy: str | Policy | None = None,
        arms: int | Iterable[Arm] | None = None,
        graph: GraphLike = None,
        *,
        seed: int | None = None,
        posterior: str | Posterior | None = None,
        prior: object = None,
        horizon: int | None = None,
        trial: int | None = None,
        accuracy: str | None = None,
        expires: timedelta | float | None = None,
        floor: float | None = None,
        floor_over: str = "arms",
        weight: str | None = "auto",
        store: str | os.PathLike[str] | None = None,
        name: str = "default",
        clock: Callable[[], float] = time.time,
    ) -> None:
        if isinstance(arms, Iterable) and not isinstance(arms, str):
            arms = tuple(arms)
        given = {
            "policy": _with_floor(policy, floor, floor_over),
            "arms": arms,
            "graph": graph,
            "seed": seed,
            "posterior": posterior,
            "prior": prior,
            "horizon": horizon,
            "trial": trial,
            "accuracy": accuracy,
            "weight": weight,
        }
        self._prepare(clock, name)
        seconds = None if expires is None else check_lifetime(seconds_of(expires))
        if store is None:
            self._journal: Journal = MemoryJournal()
            self._state = AgentState(_new_setup(given), seconds)
            self._start = self._state.setup
            created = {"policy": text_of(self._start.policy)}
            self._run(lambda state, now: ([Entry(1, now, "create", None, created)], None))
        else:
            self._open(store, name, given, seconds)

    # Creation -------------------------------------------------------------------------------------

    def _prepare(self, clock: Callable[[], float], name: str) -> None:
        """Set everything except the journal and the state."""
        self.name = name
        self._clock, self._lock = clock, threading.RLock()
        self._entries_since_snapshot, self._snapshot_interval = 0, SNAPSHOT_ENTRIES
        self._invalid = False
        self._records: dict[type, HealthRecord | TrendRecord] = {}
        self._store: AgentStore | None = None

    def _open(
        self,
        place: str | os.PathLike[str],
        name: str,
        given: dict[str, Any],
        expires: float | None,
    ) -> None:
        from graphbandits.live.store import open_store

        try:
            store = open_store(place, must_exist=True)
        except InputError:
            if given["policy"] is None:
                raise
            _new_setup(given)  # invalid arguments must not create a file
            store = open_store(place)
        self._store = store
        if name not in store.agents():
            if given["policy"] is None:
                store.journal(name)  # raises an error that lists the names
            state = AgentState(_new_setup(given), expires)
            if self._create(store, name, state):
                return
        self._journal = store.journal(name)
        self._load_newest()
        self._check_arguments(given, expires)

    def _create(self, store: AgentStore, name: str, state: AgentState) -> bool:
        """Write a new agent; return False if another process has created it."""
        try:
            with store.create(name) as journal:
                state.created = state.setup.pack(journal.put_object)
                state.created["expires"] = state.lifetime
                entry = Entry(1, self._clock(), "create", None, state.created)
                state.number, state.time = 1, entry.time
                journal.append([entry])
                journal.add_snapshot(Snapshot(1, state.pack(journal.put_object)))
        except InputError:
            if name not in store.agents():
                raise
            return False
        self._journal, self._state = journal, state
        return True

    def _check_arguments(self, given: dict[str, Any], expires: float | None) -> None:
        """Raise InputError if an argument contradicts the agent, now and at its creation."""
        created = self._state.created
        current = self._state.setup.pack(hash_of) | {"expires": self._state.lifetime}
        policy = None if given["policy"] is None else text_of(as_policy(given["policy"]))
        asked = given | {"policy": policy, "expires": expires}
        for key in ("seed", "trial", "horizon", "policy", "expires"):
            if asked[key] not in (None, created[key], current[key]):
                remedy = ", or call set_policy" if key == "policy" else ""
                raise ConflictError(
                    f"{key}={short_repr(asked[key])} contradicts the agent '{self.name}' in "
                    f"{self._place}, which has {key}={short_repr(current[key])}: omit it{remedy}"
                )
        if any(given[key] is not None for key in MODEL):
            before = Setup.unpack(created, self._get)
            reasons = [known.difference(given) for known in (before, self._state.setup)]
            if all(reasons):
                raise ConflictError(
                    f"the arguments contradict the agent '{self.name}' in {self._place}: "
                    f"{reasons[-1]}. Omit them to open it"
                )

    @property
    def _place(self) -> str:
        return "memory" if self._store is None else self._store.place

    def __enter__(self) -> Agent:
        return self

    def __exit__(self, *_: object) -> None:
        self.disconnect()

    # Reading --------------------------------------------------------------------------------------

    def __repr__(self) -> str:
        with self._lock:
            state = self._state
            return (
                f"Agent({text_of(state.setup.policy)!r}, {len(state.setup.arms)} arms, "
                f"{state.decisions} decisions made, {len(state.open)} open)"
            )

    @property
    def policy(self) -> Policy:
        """The policy."""
        return self._current().setup.policy

    @property
    def arms(self) -> tuple[Arm, ...]:
        """Names of the arms, including paused and retired ones."""
        return self._current().setup.arms

    @property
    def process(self) -> Process:
        """The feedback graph."""
        return self._current().setup.process

    @property
    def posterior(self) -> Posterior:
        """The prior of the arms, and the model that updates it."""
        return self._current().setup.posterior

    @property
    def horizon(self) -> int | None:
        """Number of rounds, if it was given."""
        return self._current().setup.horizon

    @property
    def seed(self) -> int:
        """Seed of the random draws."""
        return self._current().setup.keys.seed

    @property
    def state(self) -> dict[str, dict[Arm, float]]:
        """State of the policy by arm; for Beta-Bernoulli arms the posterior parameters a and b."""
        with self._lock:
            state = self._current()
            arms = state.setup.arms
            return {
                name: dict(zip(arms, array[0].tolist(), strict=True))
                for name, array in state.policy_state.items()
                if array.shape == (1, len(arms))
            }

    @property
    def pending(self) -> tuple[str, ...]:
        """Ids of the open decisions."""
        with self._lock:
            now = self._now()
            return tuple(one.id for one in self._current().open.values() if not one.is_due(now))

    def status(self) -> dict[str, Any]:
        with self._lock:
            state = self._current()
            arms, due = state.setup.arms, len(state.due(self._now()))
            counts = state.counts | {"expired": state.counts["expired"] + due}
            return {
                "name": self.name,
                "policy": text_of(state.setup.policy),
                "arms": len(arms),
                "decisions": state.decisions,
                "open": len(state.open) - due,
                **counts,
                "paused": [arms[i] for i in sorted(state.paused)],
                "retired": [arms[i] for i in sorted(state.retired)],
                "entries": state.number,
            }

    def history(
        self,
        last: int | None = None,
        *,
        after: int | None = None,
        decision: Decision | str | None = None,
    ) -> list[dict[str, Any]]:
        if last is not None:
            check_integer(last, "last")
        start = 0 if after is None else check_integer(after, "after", least=0)
        with self._lock:
            state = self._current()
            entries: Iterable[Entry]
            if decision is not None:
                made = self._made(id_of(decision))
                rows = self._journal.of_decision(made.decision or 0)
                entries = [one for one in rows if one.number > start][-(last or 0) :]
            else:
                start = start if last is None else max(start, state.number - last)
                # a database has no numbers of any size
                entries = self._entries(min(start, state.number), state.number)
            return views.describe(entries, state.setup.arms, self._journal)

    def log(self) -> DecisionLog:
        from graphbandits.live.log import DecisionLog
        from graphbandits.live.read_log import journal_rows

        with self._lock:
            state = self._current()
            start = self._base_state(self._journal.oldest_snapshot())
            made = self._entries(start.number, state.number)
            # the next operation will write these entries
            due = [
                entry
                for one in state.due(self._now())
                for entry in close_entries(one.expires or 0.0, [one], "expired")
            ]
            entries = chain(made, numbered(due, state.number))
            return DecisionLog(*journal_rows(start, entries, self._get))

    def beliefs(self, accuracy: str | None = None, estimate: bool = False) -> BeliefsByArm:
        with self._lock:
            state = self._current()
            setup, arrays, now = state.setup, state.policy_state, self._clock()
            if not keeps_posterior(arrays, setup.posterior):
                raise InputError(
                    f"policy '{name_of(setup.policy)}' has no posterior of the arms, and therefore "
                    f"no beliefs; see its state in agent.state: {', '.join(arrays) or 'empty'}"
                )
            posterior = setup.posterior
            arrays = at_decision(posterior, arrays, state.decisions + 1, now)
            arms, index = setup.arms, setup.index
            if gone := state.inactive():
                active = np.setdiff1d(np.arange(len(arms)), gone)
                if not len(active):
                    raise InputError("all arms are paused or retired: resume one, or add one")
                fresh = posterior.init(trials=1)
                arrays = {
                    name: arrays[name][:, active] if values.ndim > 1 else arrays[name]
                    for name, values in fresh.items()
                }
                posterior = select_arms(posterior, active)
                arms = tuple(arms[i] for i in active.tolist())
                index = {arm: i for i, arm in enumerate(arms)}
            found = compute_beliefs(posterior, arrays, accuracy, estimate)
            return BeliefsByArm.of(found, arms, index)

    def health(self, level: float = 0.01) -> Health:
        level = check_level(level)
        with self._lock:
            return self._record(HealthRecord).report(self._now(), level)

    def _record(self, kind: type[R]) -> R:
        """Return a record after all entries so far; that of an earlier call is continued."""
        self._records[kind] = found = _retried(lambda: self._extended(kind))
        return found

    def _extended(self, kind: type[R]) -> R:
        known = cast(R | None, self._records.pop(kind, None))  # none if the next is interrupted
        state, first = self._current(), self._journal.first()
        if known is None or not self._is_valid(known):
            base = self._journal.oldest_snapshot()
            unknown = first > 1 and (base is None or not base.data)  # in memory: it is not stored
            known = kind(state.shadow() if unknown else self._base_state(base), first)
        known.add(self._entries(known.last[0], state.number), self._get)
        return known

    def _is_valid(self, record: HealthRecord | TrendRecord) -> bool:
        """Return whether a record can be continued with further entries of the journal."""
        if self._store is None:
            return True
        # as in _catch_up: old entries were removed, or the store is another copy
        last = next(self._journal.entries(record.last[0] - 1), None)
        same = last is not None and record.last == (last.number, last.time)
        return same and record.first == self._journal.first()

    def trend(self, points: int = 200) -> dict[str, Any]:
        most = check_integer(points, "points")
        with self._lock:
            return self._record(TrendRecord).to_dict(most)

    def find_arms(self, search: str = "", limit: int = 20) -> tuple[list[dict[str, Any]], int]:
        most = check_integer(limit, "limit")
        if not isinstance(search, str):
            raise InputError(f"search must be a text, not {short_repr(search)}")
        with self._lock:
            state, counts = self._current(), self._record(TrendRecord).counts
            beliefs = self._known_beliefs(state)
            found = views.search_arms(state, counts, beliefs, search)
            return views.arm_rows(state, counts, beliefs, found[:most]), len(found)

    def neighbourhood(self, around: Iterable[Arm] = (), limit: int = 2000) -> dict[str, Any]:
        most = check_integer(limit, "limit")
        with self._lock:
            state, counts = self._current(), self._record(TrendRecord).counts
            chosen = state.setup.numbers_of(around, "around")[:most]
            return views.part_of_graph(state, counts, self._known_beliefs(state), chosen, most)

    def decisions(
        self, limit: int = 50, *, before: int | None = None, only_open: bool = False
    ) -> list[dict[str, Any]]:
        most = check_integer(limit, "limit")
        end = None if before is None else check_integer(before, "before")
        with self._lock:
            state, now = self._current(), self._now()
            last = state.decisions if end is None else min(state.decisions, end - 1)
            numbers: Iterable[int] = range(last, 0, -1)
            if only_open:
                opened = (n for n, one in state.open.items() if not one.is_due(now) and n <= last)
                numbers = sorted(opened, reverse=True)
            return views.decision_rows(state, self._journal, now, list(islice(numbers, most)))

    def decision(self, id: str) -> Decision:
        id_ = id_of(id)
        with self._lock:
            state, entry = self._current(), self._made(id_)
            found = state.find(id_)
            if found is None and entry.kind != "decide":
                raise NotFoundError(f"the record of decision {id_} was removed, except for its end")
            if found is None:
                if entry.body.get("graph") is None and entry.number < state.graph_since:
                    state = self._past(entry.number)  # the graph has changed since
                found = state.opened(entry, self._get)
            return as_decision(state, entry, state.feedback(found))

    def explain(self, decision: Decision | str, arms: int = 5) -> Explanation:
        id_, most = id_of(decision), check_integer(arms, "arms")
        with self._lock:
            self._current()
            entry = self._made(id_)
            if entry.kind != "decide" or not entry.number:
                raise InputError(
                    f"decision {id_} cannot be explained: its entry was removed from the journal"
                )
            number = entry.decision or 0
            first = entry.body.get("round", number)
            made = [*made_entries(self._journal, range(first, number)), entry]
            before = self._past(made[0].number - 1)
            return explain(before, made, self._get, most)

    def figure(self, arms: int = 40, width: float = 7.2) -> Figure:
        """Draw the graph with the beliefs, and the plays and outcomes in the journal.

        Colours show the probability that an arm is the best, sizes the number of its outcomes. The
        three different arms that were played last are marked.

        Parameters
        ----------
        arms : int, default=40
            Largest number of arms to draw: those around the arms that were played last or are
            likely the best.
        width : float, default=7.2
            Width in inches.

        Returns
        -------
        matplotlib.figure.Figure
            The figure.
        """
        most = check_integer(arms, "arms")
        with self._lock:
            state = self._current()
            return views.draw_agent(state, self._journal, self._known_beliefs(state), most, width)

    def overview(self, arms: int = 10, last: int = 5) -> dict[str, Any]:
        most = check_integer(arms, "arms")
        count = check_integer(last, "last", least=0)
        with self._lock:
            state = self._current()
            counts = views.count_entries(self._journal.entries(), len(state.setup.arms))
            table, others = views.arm_table(state, counts, self._known_beliefs(state), most)
            last = state.decisions
            made = made_entries(self._journal, range(last, max(0, last - count), -1))
            decisions = views.describe(made, state.setup.arms, self._journal)
            status = self.status()
            return {"status": status, "arms": table, "others": others, "decisions": decisions}

    def _known_beliefs(self, state: AgentState) -> BeliefsByArm | None:
        """Return the beliefs; None if the policy has no posterior, or no arm is active."""
        known = keeps_posterior(state.policy_state, state.setup.posterior)
        active = len(state.inactive()) < len(state.setup.arms)
        return self.beliefs() if known and active else None

    def at(self, time: date | str | float) -> Agent:
        """Return the agent as it was at a time, read only.

        Parameters
        ----------
        time : date, datetime, str or float
            The time, or its text such as "2026-01-31 12:00"; seconds since 1970 if it is a number.
            A date is its first moment. Without a time zone it is local time. The journal must have
            all entries since that time.

        Returns
        -------
        Agent
            The past agent. Its methods that change an agent raise InputError.

        Examples
        --------
        >>> now = 0.0
        >>> agent = Agent("ts-n", arms=["ann", "bob"], seed=1, clock=lambda: now)
        >>> now = 60.0
        >>> agent.learn({"ann": (3, 10)})
        10
        >>> agent.at(30).state["b"], agent.state["b"]
        ({'ann': 1.0, 'bob': 1.0}, {'ann': 8.0, 'bob': 1.0})
        """
        moment = timestamp(time, "time")
        with self._lock:
            self._current()
            if moment > self._now():
                raise InputError(f"time must not be in the future: {_utc(moment)}")
            state = self._base_state(self._journal.oldest_snapshot())
            start = state.number
            if not start or _is_past(state.time, moment):
                entries = self._journal.entries(start)
                state.replay(takewhile(lambda one: _is_past(one.time, moment), entries), self._get)
            if not state.number or not _is_past(state.time, moment):
                first = state.time if start else next(self._journal.entries()).time
                what = f"the agent has no state at {_utc(moment)}"
                raise InputError(f"{what}: choose a time from {_utc(first)} on")
            journal = PastJournal(self._journal, state.number)
            past = self._without_state(journal, lambda: moment, self.name)
            past._state, past._start = state, getattr(self, "_start", state.setup)
            return past

    # Storage --------------------------------------------------------------------------------------

    def save(self, path: str | os.PathLike[str]) -> None:
        """Copy the agent with its journal to a store: ``Agent(store=path)`` opens the copy.

        The copy is independent of the agent, and makes the same decisions. Either the whole agent
        is stored, or nothing.

        Parameters
        ----------
        path : str or Path
            File of SQLite, which is created if it does not exist, or the address of a PostgreSQL
            database. It may have agents of other names.

        Raises
        ------
        InputError
            If the store has an agent of this name, or if the policy or the prior is not registered.

        Examples
        --------
        >>> import tempfile
        >>> agent = Agent("ts-n", arms=["ann", "bob"], seed=1)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     agent.save(f"{folder}/agent.db")
        ...     Agent(store=f"{folder}/agent.db").state == agent.state
        True
        """
        from graphbandits.live.store import open_store

        with self._lock:
            journal, state = self._journal, copy.copy(self._current())
            base = self._base_state(journal.oldest_snapshot())
            state.pack(hash_of)  # an agent that cannot be stored creates no file
            before = journal.first() - 1
            with open_store(path) as store, store.create(self.name, before) as target:
                if base.created:
                    copy_objects([base.created], journal, target)
                else:
                    base.created = base.setup.pack(target.put_object) | {"expires": base.lifetime}
                state.created = base.created
                target.add_snapshot(Snapshot(base.number, base.pack(target.put_object)))
                entries = journal.entries(before)
                while part := list(islice(entries, MOST_COPIED)):
                    copy_objects([one.body for one in part], journal, target)
                    target.append(part)
                target.add_snapshot(Snapshot(state.number, state.pack(target.put_object)))

    @classmethod
    def _of_store(cls, store: AgentStore, name: str) -> Agent:
        """Open an agent in a store that is open already, and shared with other agents."""
        agent = cls._without_state(store.journal(name), time.time, name)
        agent._store = store
        agent._load_newest()
        return agent

    @classmethod
    def _without_state(cls, journal: Journal, clock: Callable[[], float], name: str) -> Agent:
        agent = object.__new__(cls)
        agent._prepare(clock, name)
        agent._journal = journal
        return agent

    def compact(self) -> None:
        """Write a snapshot, remove older ones, and release free space of the store."""
        with self._lock:
            self._current()
            if self._store is not None:
                self._snapshot()
            self._journal.compact()

    def forget(self, before: date | str | float) -> int:
        """Remove all entries of the journal before a date, and keep what was learned from them.

        Decisions that were open at that date are kept, too. Ids of removed decisions are refused.

        Parameters
        ----------
        before : date, datetime, str or float
            The date, as in :meth:`at`.

        Returns
        -------
        int
            Number of removed entries.
        """
        date = timestamp(before, "before")
        with self._lock:
            with self._journal.write() as last:
                self._catch_up(last)
                old = 0
                for entry in self._journal.entries():
                    if entry.time >= date:
                        break
                    old = entry.number
                removed = old + 1 - self._journal.first()
                if removed <= 0:
                    return 0
                data = b""
                with nullcontext() if self._store else suppress(InputError, StoreError):
                    # an agent in memory may have a policy or a prior that cannot be stored
                    data = self._replayed(old).pack(self._journal.put_object)
                self._journal.forget(Snapshot(old, data))
            if self._store is not None:
                self._snapshot()
            # the next report starts from the snapshot; without one, at this moment
            self._records = {} if data else {HealthRecord: HealthRecord(self._state.shadow())}
            return removed

    def backup(self, place: str | os.PathLike[str]) -> None:
        """Copy the store, with all its agents, to a new store.

        Parameters
        ----------
        place : str or path
            A new file of SQLite, or the address of an empty PostgreSQL database.
        """
        if isinstance(self._journal, PastJournal):
            self._journal.write()  # raises an error
        if self._store is None:
            raise InputError("an agent in memory has no store to copy: use save(path)")
        from graphbandits.live.store import open_store

        with open_store(place) as other:
            self._store.copy_to(other)

    def verify(self) -> int:
        """Replay the journal and compare the result with the state.

        Returns
        -------
        int
            Number of entries that were replayed.

        Raises
        ------
        StoreError
            If the state differs.
        """
        with self._lock:
            state = self._current()
            again = self._replayed(state.number)
            if again.digest() != state.digest():
                where = f"the agent '{self.name}' in {self._place}"
                raise StoreError(f"the journal of {where} gives another state: please report this")
            return state.number + 1 - self._journal.first()

    def disconnect(self) -> None:
        """Close the connections to the store. The next use opens them again."""
        with self._lock:
            if self._store is not None:
                self._store.close()

    # Journal --------------------------------------------------------------------------------------

    def _get(self, key: str) -> bytes:
        return self._journal.get_object(key)

    def _entries(self, after: int, until: int) -> Iterator[Entry]:
        return takewhile(lambda one: one.number <= until, self._journal.entries(after))

    def _perform(self, operation: Operation) -> Any:
        result = operation.apply(self)
        if operation.learns and self._state.warning:
            self._warn_of_prior()
        return result

    def _warn_of_prior(self) -> None:
        """Warn the caller of a method if its outcomes contradict the prior."""
        with self._lock:
            state = self._state
            warning, state.warning = state.warning, ""
        if warning:  # another thread may have issued it
            text = f"the rewards contradict the prior '{text_of(state.setup.posterior)}': {warning}"
            warnings.warn(f"{text}; see inspect_prior", InputWarning, stacklevel=4)

    def _run(self, prepare: Callable[[AgentState, float], tuple[list[Entry], T]]) -> T:
        """Run one operation in a transaction: all its entries are written, or none.

        Expired decisions are closed first, in a transaction of their own.
        """
        with self._lock:
            while True:
                now = self._now()
                with self._journal.write() as last:
                    state = self._catch_up(last)
                    result: Any = None
                    if due := state.due(now):
                        entries = close_entries(now, due, "expired")
                    else:
                        entries, result = prepare(state, now)
                    # decide and observe are frequent: a single entry of them has its number
                    if len(entries) > 1 or (entries and not entries[0].number):
                        entries = numbered(entries, state.number)
                    if self._journal.first() > 1:
                        entries = [self._complete(state, entry) for entry in entries]
                    change = state.prepare(entries, self._get)
                    if entries:
                        self._journal.append(entries)
                # the transaction is committed; if that failed, the state is as before
                self._invalid = True  # if the next line is interrupted, for example by Ctrl-C
                state.install(change, self._get)
                self._invalid = False
                self._entries_since_snapshot += len(entries)
                if not due:
                    break
            if self._store and self._entries_since_snapshot >= self._snapshot_interval:
                self._entries_since_snapshot = 0
                with suppress(GraphBanditsError):  # the event is stored; a snapshot comes later
                    self._snapshot()
            return cast(T, result)

    def _complete(self, state: AgentState, entry: Entry) -> Entry:
        """Add the id and the known outcomes to the end of a decision whose entries were removed."""
        if entry.decision is None or not entry.body.get("closes"):
            return entry
        if made_entries(self._journal, [entry.decision]):
            return entry
        decision = state.open[entry.decision]
        known = [[arm, *pair] for arm, pair in decision.seen.items()]
        return entry._replace(body=entry.body | {"id": decision.id, "known": known})

    def _now(self) -> float:
        now = float(self._clock())
        if not math.isfinite(now):
            raise InputError(f"the clock returned {now!r}: it must return a finite number")
        return now

    def _current(self) -> AgentState:
        with self._lock:
            return self._catch_up(self._journal.last())

    def _catch_up(self, last: int) -> AgentState:
        """Apply the entries of other processes up to the last one."""
        state = self._state
        if last == state.number and not self._invalid:
            return state
        removed = self._journal.first() > state.number + 1
        if self._invalid or removed or last < state.number:  # or the store is an older copy
            return self._load_newest()
        before = state.number
        entries = self._journal.entries(before - 1)
        same = next(entries, None)
        if same is None or (same.number, same.time) != (before, state.time):
            if self._journal.first() <= before:  # the store is another copy, with other events
                return self._load_newest()
            entries = self._journal.entries(before)
        try:
            self._invalid = True  # if the next line is interrupted
            state.replay(entries, self._get)
            self._invalid = False
        except MissingEntriesError:
            return self._load_newest()
        self._entries_since_snapshot += state.number - before
        return state

    def _load_newest(self) -> AgentState:
        return _retried(self._load_once)

    def _load_once(self) -> AgentState:
        snapshot = self._journal.newest_snapshot()
        if snapshot is None or not snapshot.data:  # in memory
            state = self._replayed(self._journal.last())
        else:
            state = self._restored(snapshot)
            state.replay(self._journal.entries(snapshot.number), self._get)
            self._entries_since_snapshot = state.number - snapshot.number
            self._snapshot_interval = max(SNAPSHOT_ENTRIES, len(snapshot.data) // SNAPSHOT_BYTES)
        self._state, self._invalid = state, False
        return state

    def _restored(self, snapshot: Snapshot) -> AgentState:
        try:
            return AgentState.unpack(snapshot.data, self._get)
        except GraphBanditsError as error:
            reason = str(error)
        except Exception:  # a damaged snapshot may raise any exception
            reason = "its snapshot is damaged"
        raise StoreError(f"cannot load the agent '{self.name}' from {self._place}: {reason}")

    def _past(self, until: int) -> AgentState:
        newest = self._journal.newest_snapshot()
        recent = newest is not None and newest.data and newest.number <= until
        return self._replayed(until, newest if recent else None)

    def _replayed(self, until: int, base: Snapshot | None = None) -> AgentState:
        """Return the state after an entry, from a snapshot (by default the oldest one)."""
        state = self._base_state(self._journal.oldest_snapshot() if base is None else base)
        state.replay(self._entries(state.number, until), self._get)
        return state

    def _base_state(self, base: Snapshot | None) -> AgentState:
        if base is not None and base.data:  # in memory it may have none
            return self._restored(base)
        if self._journal.first() == 1:
            return AgentState(self._start, self._state.lifetime)
        raise StoreError("the entries of this agent were removed: it cannot be replayed")

    def _snapshot(self) -> None:
        with self._journal.write() as last:
            state = self._catch_up(last)
            data = state.pack(self._journal.put_object)
            self._journal.add_snapshot(Snapshot(state.number, data))
        self._entries_since_snapshot = 0
        self._snapshot_interval = max(SNAPSHOT_ENTRIES, len(data) // SNAPSHOT_BYTES)

    def _made(self, id_: str) -> Entry:
        """Return the entry of a decision; raise InputError if the agent has not made it."""
        for entry in self._journal.of_decision(number_in(id_)):
            if entry.body.get("id") == id_:
                return entry
        if found := self._state.find(id_):  # its entry was removed
            return found.as_entry()
        where = f"the agent '{self.name}'" + (f" in {self._place}" if self._store else "")
        raise NotFoundError(
            f"unknown decision {short_repr(id_)}: {where} has not made it, or its record was "
            "removed; use the id of the decision, from the agent that made it"
        )


def _retried(call: Callable[[], T]) -> T:
    # again if another process has removed old entries meanwhile
    for _ in range(MOST_ATTEMPTS):
        with suppress(MissingEntriesError):
            return call()
    return call()


def _new_setup(given: dict[str, Any]) -> Setup:
    if given["policy"] is None:
        raise InputError("a new agent needs a policy, such as Agent('ids-n', arms=4, graph='star')")
    arguments = given | {
        "graph": "empty" if given["graph"] is None else given["graph"],
        "seed": secrets.randbits(63) if given["seed"] is None else given["seed"],
        "trial": 0 if given["trial"] is None else given["trial"],
    }
    return Setup.of(**arguments)


def _with_floor(policy: str | Policy | None, floor: float | None, over: str) -> str | Policy | None:
    if floor is None:
        if over != "arms":
            raise InputError(f"floor_over={over!r} needs a floor: give floor, such as floor=0.02")
        return policy
    if policy is None:
        raise InputError(
            "the floor is part of the policy: give the policy, too; or omit both to open an agent"
        )
    return ExplorationFloor(as_policy(policy), floor, over)


def _is_past(time: float, moment: float) -> bool:
    """Compare times in microseconds, as dates have them: that of a decision includes it."""
    return round(time, 6) <= round(moment, 6)


def _utc(seconds: float) -> str:
    try:
        return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M:%S} UTC"
    except (ValueError, OverflowError, OSError):
        return f"{seconds:g} s"
