"""Live decisions: an agent runs a policy in one trial, with outcomes from the user."""

from __future__ import annotations

import copy
import hashlib
import math
import os
import secrets
import threading
import time
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import nullcontext, suppress
from datetime import UTC, date, datetime, timedelta
from itertools import chain, islice, takewhile
from typing import TYPE_CHECKING, Any, TypeVar, cast, overload

import numpy as np

from graphbandits.errors import (
    ConflictError,
    GraphBanditsError,
    InputError,
    InputWarning,
    NotFoundError,
    StoreError,
    check_bool,
    check_integer,
    check_positive,
    short_repr,
)
from graphbandits.graphs import GraphLike, Process
from graphbandits.graphs.named import recipe_text
from graphbandits.live._packing import pack_graph
from graphbandits.live._times import MOST_SECONDS, timestamp
from graphbandits.live.deciding import Request, as_decision, make_decisions
from graphbandits.live.decision import Decision
from graphbandits.live.explanation import Explanation, explain
from graphbandits.live.health import Health, HealthRecord, check_level
from graphbandits.live.history import count_entries, describe
from graphbandits.live.journal import (
    Entry,
    Journal,
    MemoryJournal,
    PastJournal,
    Snapshot,
    StoredRequest,
    copy_objects,
)
from graphbandits.live.outcome_tables import read_outcomes
from graphbandits.live.outcomes import Reward, checked_outcomes, late_outcomes, new_outcomes
from graphbandits.live.setup import MODEL, EdgesLike, Setup
from graphbandits.live.state import (
    AgentState,
    MissingEntriesError,
    OpenDecision,
    number_in,
    pack_learned,
)
from graphbandits.live.trend import TrendRecord
from graphbandits.policies import Policy, as_policy
from graphbandits.policies.floor import ExplorationFloor
from graphbandits.posteriors import Arm, BeliefsByArm, Posterior
from graphbandits.posteriors._capabilities import compute_beliefs, keeps_posterior, select_arms
from graphbandits.posteriors.discounting import at_decision
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
#: Most characters of the key of a request.
MOST_KEY = 200
#: Attempts to load an agent while other processes remove entries.
MOST_ATTEMPTS = 5
#: Entries that are copied at a time.
MOST_COPIED = 500


class Agent:
    """Agent that makes decisions with a policy and learns from observed rewards.

    Several decisions may be open at a time. Their outcomes may come in pieces, in any order, late,
    and from other processes. Threads may share an agent. Processes share it through a store.

    Parameters
    ----------
    policy : str or Policy, optional
        Policy as text form or object. It is required for a new agent.
    arms : int or iterable of str or int, optional
        Names of the arms, or their number; then the arms are 0, 1, .... It may be omitted if the
        graph has names.
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
        Number of the trial; agents with the same seed and different trials have different random
        draws.
    accuracy : {"simulation", "strict"}, optional
        Accuracy of the statistics. The default is that of the prior.
    expires : timedelta or float, optional
        Time after which an open decision expires, in seconds if it is a number. By default a
        decision is open until it is observed or closed.
    floor : float, optional
        Probability of exploration that is mixed into every decision, so that the logged decisions
        can be used to evaluate other policies. ``Agent("ids-n", floor=0.02)`` has the policy
        "floor(policy=ids-n, mass=0.02)".
    floor_over : {"arms", "dominating-set"}, default="arms"
        Arms over which it is spread: all arms that may be played, or a small set of them from
        which every arm can be observed.
    weight : str or None, default="auto"
        For a NetworkX graph: the edge attribute with the probabilities; None to ignore all
        attributes.
    store : str or Path, optional
        Where the agent is kept: a file of SQLite, or the address of a PostgreSQL database such as
        "postgresql://user:password@host/database". If the store has the agent, it is opened; then
        the other arguments may be omitted, and must not contradict what is stored. By default the
        agent is in memory.
    name : str, default="default"
        Name of the agent in the store.
    clock : callable, default=time.time
        Function that returns the time in seconds since 1970.

    Raises
    ------
    InputError
        If a value is not allowed.
    NeedsError
        If the policy needs information that the graph or the horizon does not provide.
    StoreError
        If the store does not work at the moment.

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
        self._clock, self._lock = clock, threading.RLock()
        self._entries_since_snapshot, self._snapshot_interval = 0, SNAPSHOT_ENTRIES
        self._invalid = False
        self._health: HealthRecord | None = None
        self._trend: TrendRecord | None = None
        self._store: AgentStore | None = None
        seconds = None if expires is None else _seconds(expires, "expires")
        if store is None:
            self.name = name
            self._journal: Journal = MemoryJournal()
            self._state = AgentState(_new_setup(given), seconds)
            self._start = self._state.setup
            created = {"policy": text_of(self._start.policy)}
            self._run(lambda state, now: ([Entry(1, now, "create", None, created)], None))
        else:
            self._open(store, name, given, seconds)

    # Creation -------------------------------------------------------------------------------------

    def _open(
        self,
        place: str | os.PathLike[str],
        name: str,
        given: dict[str, Any],
        expires: float | None,
    ) -> None:
        """Open the agent in a store, or create it."""
        from graphbandits.live.store import open_store

        try:
            store = open_store(place, must_exist=True)
        except InputError:
            if given["policy"] is None:
                raise
            _new_setup(given)  # invalid arguments must not create a file
            store = open_store(place)
        self._store, self.name = store, name
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
        current = self._state.setup.pack(_hash_only) | {"expires": self._state.lifetime}
        plain = {key: given[key] for key in ("seed", "trial", "horizon") if given[key] is not None}
        if given["policy"] is not None:
            plain["policy"] = text_of(as_policy(given["policy"]))
        if expires is not None:
            plain["expires"] = expires
        for key, value in plain.items():
            if value not in (created[key], current[key]):
                remedy = "; set_policy changes the policy" if key == "policy" else ""
                raise ConflictError(
                    f"{key}={short_repr(value)} contradicts the agent '{self.name}' in "
                    f"{self._place}, which has {key}={short_repr(current[key])}: omit it, or "
                    f"choose another name{remedy}"
                )
        if any(given[key] is not None for key in MODEL):
            before = Setup.unpack(created, self._get)
            reasons = [known.difference(given) for known in (before, self._state.setup)]
            if all(reasons):
                raise ConflictError(
                    f"the arguments contradict the agent '{self.name}' in {self._place}: "
                    f"{reasons[-1]}. Omit them to open it, or choose another name"
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
        """Count decisions and outcomes.

        Returns
        -------
        dict
            ``name``, ``policy``, number of ``arms``, ``decisions``, ``open`` ones, ``expired``
            ones, distinct ``outcomes`` of decisions, ``learned`` outcomes without a decision,
            ``late`` outcomes, names of ``paused`` and ``retired`` arms, and ``entries`` of the
            journal.
        """
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
        """Return the entries of the journal, as JSON values.

        Parameters
        ----------
        last : int, optional
            Number of entries to return, the newest ones. The default is all that were not removed.
        after : int, optional
            Number of the entry after which to start.
        decision : Decision or str, optional
            Return the entries of this decision only; it may be the id.

        Returns
        -------
        list of dict
            ``number``, ``time``, ``kind``, ``decision`` (the id) and what belongs to the kind.
        """
        if last is not None:
            check_integer(last, "last")
        start = 0 if after is None else check_integer(after, "after", least=0)
        with self._lock:
            state = self._current()
            entries: Iterable[Entry]
            if decision is not None:
                made = self._made(_id_of(decision))
                rows = self._journal.of_decision(made.decision or 0)
                entries = [one for one in rows if one.number > start][-(last or 0) :]
            else:
                start = start if last is None else max(start, state.number - last)
                entries = takewhile(
                    lambda entry: entry.number <= state.number,
                    # a database has no numbers of any size
                    self._journal.entries(min(start, state.number)),
                )
            return describe(entries, state.setup.arms, self._journal)

    def log(self) -> DecisionLog:
        """Return all decisions with their probabilities and outcomes, as a table.

        Decisions whose entries were removed by :meth:`forget` are not in it. Decisions that have
        expired by now are closed.

        Returns
        -------
        DecisionLog
            One row per decision.

        Raises
        ------
        StoreError
            If the agent is in memory, and its first entries were removed.

        Examples
        --------
        >>> agent = Agent("ts-n", arms=["ann", "bob"], seed=1)
        >>> agent.observe(agent.decide(among=["bob"]), {"bob": 1})
        >>> agent.log().to_arrow()["eligible"].to_pylist()
        [['bob']]
        """
        from graphbandits.live.log import DecisionLog

        with self._lock:
            state = self._current()
            start = self._base_state(self._journal.oldest_snapshot())
            entries = self._journal.entries(start.number)
            made = takewhile(lambda one: one.number <= state.number, entries)
            # the next operation will write these entries
            expired = state.due(self._now())
            due = [
                entry._replace(time=one.expires or 0.0)
                for entry, one in zip(
                    _close_entries(state, 0.0, expired, "expired"), expired, strict=True
                )
            ]
            return DecisionLog._of_journal(start, chain(made, due), self._get)

    def beliefs(self, accuracy: str | None = None, estimate: bool = False) -> BeliefsByArm:
        """Compute the current statistics alpha, Delta and h of each arm.

        Paused and retired arms are left out: alpha is the probability that an arm is the best of
        the others.

        Parameters
        ----------
        accuracy : {"simulation", "strict"}, optional
            Accuracy of the statistics. The default is that of the agent.
        estimate : bool, default=False
            If true, the result has an estimated ``error``, which is absolute with the accuracy
            "simulation" and relative with "strict".

        Returns
        -------
        BeliefsByArm
            Statistics by arm.

        Raises
        ------
        InputError
            If the policy has no posterior.

        Examples
        --------
        >>> agent = Agent("ids-n", ["ann", "bob"], prior=[(80, 20), (20, 80)], seed=1)
        >>> found = agent.beliefs("strict", estimate=True)
        >>> f"{found['bob'].alpha:.8g}", found.arms[found.alpha.argmax()], found.error < 1e-8
        ('5.342731e-19', 'ann', True)
        """
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
        """Report whether outcomes contradict the posterior, and which answers are missing.

        A sequential test compares the outcomes with the predictions of the posterior
        (:mod:`graphbandits.live.evidence`). If the model is right and the parameters of the arms
        are drawn from the prior, it ever warns with a probability of at most ``level``, however
        often it is called. :meth:`reset` starts it again, and so does :meth:`forget`, from what was
        learned. The first call reads the journal; further calls read what is new.

        Parameters
        ----------
        level : float, default=0.01
            Level of the tests.

        Returns
        -------
        Health
            Warnings, counts, the test, and the shares of answers by arm.

        Raises
        ------
        InputError
            If the level is not between 0 and 1.

        Examples
        --------
        >>> agent = Agent("ts-n", arms=["ann", "bob"], seed=1)
        >>> agent.learn({"ann": (30, 50), "bob": (25, 50)})
        100
        >>> agent.health().verdict
        'ok'
        >>> agent.learn({"ann": (0, 40), "bob": (21, 40)})  # the tracking of ann is broken
        80
        >>> found = agent.health()
        >>> found.verdict, found.test.arms[0].arm
        ('warning', 'ann')
        """
        level = check_level(level)
        with self._lock:
            return _retried(self._health_record).report(self._now(), level)

    def _health_record(self) -> HealthRecord:
        known, self._health = self._health, None  # if the next line is interrupted
        self._health = self._extended(HealthRecord, known)
        return self._health

    def _trend_record(self) -> TrendRecord:
        known, self._trend = self._trend, None  # if the next line is interrupted
        self._trend = self._extended(TrendRecord, known)
        return self._trend

    def _extended(self, kind: type[R], known: R | None) -> R:
        """Return a record after all entries so far; ``known`` is continued if it is valid."""
        state, first = self._current(), self._journal.first()
        if known is None or not self._is_valid(known):
            base = self._journal.oldest_snapshot()
            if first > 1 and (base is None or not base.data):  # in memory: it cannot be stored
                start = state.shadow()
                start.policy_state = {
                    name: np.array(array) for name, array in state.policy_state.items()
                }
            else:
                start = self._base_state(base)
            known = kind(start, first)
        entries = self._journal.entries(known.last[0])
        known.add(takewhile(lambda one: one.number <= state.number, entries), self._get)
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
        """Return how expected regret, information ratio and entropy have developed.

        The statistics of a decision are those with which it was made, as in :meth:`explain`. With
        more than 400 decisions, some at equal distances stand for the others. The first call reads
        the journal, further calls read what is new.

        Parameters
        ----------
        points : int, default=200
            Largest number of decisions to return.

        Returns
        -------
        dict
            Lists with one value per decision: its number ``decision``, its ``time``, its expected
            ``regret``, the estimated ``cumulative`` regret, the information ``ratio`` and the
            ``entropy`` of the best arm before it. Values are None if the policy has no posterior.
            ``every`` is the distance between two decisions.

        Examples
        --------
        >>> agent = Agent("ts-n", arms=["ann", "bob"], seed=1)
        >>> for reward in (1, 1, 0):
        ...     decision = agent.decide()
        ...     agent.observe(decision, {decision.arm: reward})
        >>> [round(value, 2) for value in agent.trend()["cumulative"]]
        [0.17, 0.31, 0.42]
        """
        most = check_integer(points, "points")
        with self._lock:
            return _retried(self._trend_record).to_dict(most)

    def find_arms(self, search: str = "", limit: int = 20) -> tuple[list[dict[str, Any]], int]:
        """Return statistics of the arms whose names contain a text, the most relevant ones first.

        Parameters
        ----------
        search : str, default=""
            The text; upper and lower case are the same. By default all arms are found.
        limit : int, default=20
            Largest number of arms to return.

        Returns
        -------
        arms : list of dict
            Rows as those of :meth:`overview`: arms whose names start with the text, then those that
            are most likely the best.
        found : int
            Number of arms that were found.

        Examples
        --------
        >>> agent = Agent("ts-n", arms=["ann", "bob", "joanna"], seed=1)
        >>> rows, found = agent.find_arms("AN")
        >>> [row["arm"] for row in rows], found
        (['ann', 'joanna'], 2)
        """
        most = check_integer(limit, "limit")
        if not isinstance(search, str):
            raise InputError(f"search must be a text, not {short_repr(search)}")
        from graphbandits.live.overview import arm_rows, search_arms

        with self._lock:
            state, counts = self._current(), _retried(self._trend_record).counts
            beliefs = self._known_beliefs(state)
            found = search_arms(state, counts, beliefs, search)
            return arm_rows(state, counts, beliefs, found[:most]), len(found)

    def neighbourhood(self, around: Iterable[Arm] = (), limit: int = 2000) -> dict[str, Any]:
        """Return arms with their statistics, and the edges between them.

        Parameters
        ----------
        around : iterable of arms, default=()
            Arms to start from. They are chosen first, then their neighbours, and the arms that are
            likely the best or were played last.
        limit : int, default=2000
            Largest number of arms to return.

        Returns
        -------
        dict
            ``arms``, rows as those of :meth:`overview`; ``edges``, lists [i, j, p] of positions in
            ``arms`` and the probability that i reveals j; ``edges_left_out``, their number;
            ``directed``; the ``total`` number of arms; ``changes``, whether the graph differs from
            round to round; ``last``, the positions of the three arms that were played last.

        Examples
        --------
        >>> agent = Agent("ts-n", arms=["ann", "bob", "eve"], graph="edges(1>2:0.5)", seed=1)
        >>> found = agent.neighbourhood()
        >>> [row["arm"] for row in found["arms"]], found["edges"], found["directed"]
        (['ann', 'bob', 'eve'], [[0, 1, 0.5]], True)
        """
        most = check_integer(limit, "limit")
        from graphbandits.live.overview import part_of_graph

        with self._lock:
            state, counts = self._current(), _retried(self._trend_record).counts
            chosen = state.setup.numbers_of(around, "around")[:most]
            return part_of_graph(state, counts, self._known_beliefs(state), chosen, most)

    def decisions(
        self, limit: int = 50, *, before: int | None = None, only_open: bool = False
    ) -> list[dict[str, Any]]:
        """Return decisions with their status and outcomes, the newest first, as JSON values.

        Parameters
        ----------
        limit : int, default=50
            Largest number of decisions to return.
        before : int, optional
            Number of the decision before which to start.
        only_open : bool, default=False
            Whether only decisions are returned that can be observed.

        Returns
        -------
        list of dict
            ``id``, ``number``, ``arm``, ``probability``, ``time``, ``expires``, ``status`` ("open",
            "closed" or "expired"), ``outcomes`` by arm, and the arms of ``late`` outcomes.

        Examples
        --------
        >>> agent = Agent("ts-n", arms=["ann", "bob"], graph="complete", seed=1)
        >>> agent.observe(agent.decide(), {"bob": 1}, partial=True)
        >>> [(one["status"], one["outcomes"]) for one in agent.decisions()]
        [('open', {'bob': 1.0})]
        """
        most = check_integer(limit, "limit")
        end = None if before is None else check_integer(before, "before")
        from graphbandits.live.overview import decision_rows

        with self._lock:
            state, now = self._current(), self._now()
            last = state.decisions if end is None else min(state.decisions, end - 1)
            numbers: Iterable[int] = range(last, 0, -1)
            if only_open:
                opened = (n for n, one in state.open.items() if not one.is_due(now) and n <= last)
                numbers = sorted(opened, reverse=True)
            return decision_rows(state, self._journal, now, list(islice(numbers, most)))

    def decision(self, id: str) -> Decision:
        """Return a decision, open or closed.

        Parameters
        ----------
        id : str
            Id of the decision.

        Returns
        -------
        Decision
            The decision.

        Raises
        ------
        InputError
            If the agent has not made this decision, or its record was removed.
        """
        id_ = _id_of(id)
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
        """Explain why an arm was played, from the journal alone.

        The state before the decision is replayed: later outcomes and changes of policy, graph and
        arms do not change the explanation.

        Parameters
        ----------
        decision : Decision or str
            The decision, or its id; open or closed.
        arms : int, default=5
            Number of arms to list: the played one, and those that are most relevant.

        Returns
        -------
        Explanation
            The explanation: ``text``, ``to_dict()``, a table of rich, ``figure()``.

        Raises
        ------
        InputError
            If the agent has not made this decision, or its record was removed.

        Examples
        --------
        >>> agent = Agent("ids-n", ["ann", "bob"], prior={"ann": (8, 2), "bob": (1, 1)}, seed=1)
        >>> [round(one.alpha, 2) for one in agent.explain(agent.decide()).arms]
        [0.8, 0.2]
        """
        id_, most = _id_of(decision), check_integer(arms, "arms")
        with self._lock:
            self._current()
            entry = self._made(id_)
            if entry.kind != "decide" or not entry.number:
                raise InputError(
                    f"decision {id_} cannot be explained: its entry was removed from the journal"
                )
            number = entry.decision or 0
            made = [
                one
                for earlier in range(entry.body.get("round", number), number)
                for one in self._journal.of_decision(earlier)
                if one.kind == "decide"
            ]
            made.append(entry)
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
        from graphbandits.live.overview import draw_agent

        with self._lock:
            state = self._current()
            return draw_agent(state, self._journal, self._known_beliefs(state), most, width)

    def overview(self, arms: int = 10, last: int = 5) -> dict[str, Any]:
        """Return the beliefs, plays and outcomes by arm, and the last decisions, as JSON values.

        Parameters
        ----------
        arms : int, default=10
            Number of arms to list: those that are most likely the best, then the most played ones.
        last : int, default=5
            Number of decisions to list.

        Returns
        -------
        dict
            ``status`` as in :meth:`status`; ``arms``, a list with ``arm``, ``number``, ``status``,
            ``alpha``, ``delta``, ``h`` (None without a posterior), ``plays``, ``outcomes`` and
            ``state``; the number of ``others``; and ``decisions``, as in :meth:`history`.

        Examples
        --------
        >>> agent = Agent("ts-n", arms=["ann", "bob"], seed=1)
        >>> agent.learn({"bob": (3, 4)})
        4
        >>> [(one["arm"], one["outcomes"]) for one in agent.overview()["arms"]]
        [('bob', 4.0), ('ann', 0.0)]
        """
        most = check_integer(arms, "arms")
        count = check_integer(last, "last", least=0)
        from graphbandits.live.overview import arm_table

        with self._lock:
            state = self._current()
            counts = count_entries(self._journal.entries(), len(state.setup.arms))
            table, others = arm_table(state, counts, self._known_beliefs(state), most)
            first = state.decisions - count + 1
            made = [
                one
                for number in range(max(1, first), state.decisions + 1)
                for one in self._journal.of_decision(number)
                if one.kind == "decide"
            ]
            decisions = describe(made, state.setup.arms, self._journal)
            return {
                "status": self.status(),
                "arms": table,
                "others": others,
                "decisions": decisions[::-1],
            }

    def _known_beliefs(self, state: AgentState) -> BeliefsByArm | None:
        """Return the beliefs; None if the policy has no posterior, or no arm is active."""
        known = keeps_posterior(state.policy_state, state.setup.posterior)
        active = len(state.inactive()) < len(state.setup.arms)
        return self.beliefs() if known and active else None

    def at(self, time: date | str | float) -> Agent:
        """Return the agent as it was at a time. It can be read, and not changed.

        Beliefs, status, history, decisions and explanations are those of that time. The journal of
        the agent is used, and it must have the entries since that time.

        Parameters
        ----------
        time : date, datetime, str or float
            The time, or its text such as "2026-01-31 12:00"; seconds since 1970 if it is a number.
            A date is its first moment. Without a time zone it is local time.

        Returns
        -------
        Agent
            The past agent. Its methods that change an agent raise InputError.

        Raises
        ------
        InputError
            If the time is before the creation of the agent or before entries that were removed, or
            if it is in the future.

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
                removed = f"entries before {_utc(first)} were removed"
                what = removed if start > 1 else f"the agent was created at {_utc(first)}"
                raise InputError(f"{what}: choose a later time than {_utc(moment)}")
            journal = PastJournal(self._journal, state.number)
            past = self._without_state(journal, lambda: moment, self.name)
            past._state, past._start = state, getattr(self, "_start", state.setup)
            return past

    # Decisions ------------------------------------------------------------------------------------

    @overload
    def decide(
        self,
        n: None = None,
        *,
        distinct: bool = False,
        among: Iterable[Arm] | None = None,
        exclude: Iterable[Arm] | None = None,
        graph: GraphLike = None,
        context: object = None,
        pending: str = "ignore",
        expires: timedelta | float | None = None,
        request: str | None = None,
    ) -> Decision: ...

    @overload
    def decide(
        self,
        n: int,
        *,
        distinct: bool = False,
        among: Iterable[Arm] | None = None,
        exclude: Iterable[Arm] | None = None,
        graph: GraphLike = None,
        context: object = None,
        pending: str = "ignore",
        expires: timedelta | float | None = None,
        request: str | None = None,
    ) -> list[Decision]: ...

    def decide(
        self,
        n: int | None = None,
        *,
        distinct: bool = False,
        among: Iterable[Arm] | None = None,
        exclude: Iterable[Arm] | None = None,
        graph: GraphLike = None,
        context: object = None,
        pending: str = "ignore",
        expires: timedelta | float | None = None,
        request: str | None = None,
    ) -> Decision | list[Decision]:
        """Make the next decision, or several decisions at one moment.

        Parameters
        ----------
        n : int, optional
            Number of decisions, which are returned as a list. By default one decision is returned.
        distinct : bool, default=False
            Whether the arms of the ``n`` decisions must differ. Each is then decided among the
            arms that are left; its ``pi`` is conditional on the earlier ones.
        among, exclude : iterable of arms, optional
            Arms that may be played, or that may not. The statistics are those of the best arm that
            may be played.
        graph : graph, optional
            Graph of these decisions, if it is known and differs from that of the agent.
        context : object, optional
            JSON value that is kept with the decision.
        pending : {"ignore", "expected"}, default="ignore"
            Whether outcomes that are expected from open decisions are ignored, or counted by their
            expectation: then the posterior is narrower, with the same mean, and further decisions
            try other arms.
        expires : timedelta or float, optional
            Time after which these decisions expire, if it differs from that of the agent.
        request : str, optional
            Key of this request, chosen by the caller. If the same request is made again with the
            same key within seven days, its decisions are returned again, and none is made.

        Returns
        -------
        Decision or list of Decision
            Arm to play, and the arms that may be observed.

        Raises
        ------
        InputError
            If an argument is not allowed, or no arm may be played.
        ConflictError
            If another request was made with this key.

        Examples
        --------
        >>> agent = Agent("ts-n", arms=["ann", "bob", "eve"], seed=1)
        >>> sorted(one.arm for one in agent.decide(2, distinct=True, exclude=["bob"]))
        ['ann', 'eve']
        """
        asked = Request(
            1 if n is None else n,
            distinct,
            among,
            exclude,
            graph,
            context,
            pending,
            None if expires is None else _seconds(expires, "expires"),
        )
        put = self._journal.put_object
        if request is None:
            made = self._run(lambda state, now: make_decisions(state, asked, now, put))
        else:
            made = self._decide_once(check_request(request), asked)
        return made[0] if n is None else made

    def _decide_once(self, key: str, asked: Request) -> list[Decision]:
        """Make the decisions of a request, or return those that were made before."""

        content = asked.content()

        def prepare(state: AgentState, now: float) -> tuple[list[Entry], list[Decision]]:
            known = self._known_request(key, content)
            if known is None:
                entries, made = make_decisions(state, asked, now, self._journal.put_object)
                first = StoredRequest(content, made[0].number, len(made))
                self._journal.put_request(key, first, now)
                return entries, made
            numbers = range(known.first, known.first + known.decisions)
            rows = [self._journal.of_decision(number) for number in numbers]
            ids = [one.body["id"] for row in rows for one in row if one.kind == "decide"]
            if len(ids) < known.decisions:
                raise NotFoundError(f"the record of the decisions of request {key!r} was removed")
            return [], [self.decision(one) for one in ids]

        return self._run(prepare)

    def _known_request(self, key: str, content: str) -> StoredRequest | None:
        """Return the request with a key; raise ConflictError if its arguments were others."""
        known = self._journal.get_request(key)
        if known is not None and known.content != content:
            raise ConflictError(
                f"another request was made with the key {short_repr(key)}: use a new key for each "
                "request, and the same one only to repeat it"
            )
        return known

    def observe(
        self,
        decision: Decision | str,
        outcomes: Mapping[Arm, Reward],
        *,
        partial: bool = False,
        extra: bool = False,
    ) -> None:
        """Learn from outcomes of a decision.

        Without ``partial`` the decision is closed. If an exception is raised, nothing changes. The
        same outcome may be reported again: it counts once. Outcomes of a decision that has expired
        are kept in the journal, counted as ``late`` in :meth:`status`, and not learned. If early
        outcomes contradict the prior, :class:`graphbandits.errors.InputWarning` is issued once.

        Parameters
        ----------
        decision : Decision or str
            The decision, or its id.
        outcomes : mapping of arm to float or pair
            Observed rewards. Omit the arms that were not observed. Several outcomes of an arm can
            be given as one pair (total, count): (successes, trials) of Bernoulli arms, (sum,
            number) of Gaussian rewards, (events, exposure) of counts.
        partial : bool, default=False
            Whether more outcomes of this decision may come. Policies that divide by probabilities
            of observation, such as ``exp3-ix``, learn when the decision is closed.
        extra : bool, default=False
            Whether outcomes of arms are accepted that the decision did not reveal.

        Raises
        ------
        InputError
            If the agent has not made this decision, if it is closed, if an arm or a reward is not
            allowed, or if another reward was reported before.

        Examples
        --------
        >>> agent = Agent("ts-n", arms=["ann", "bob"], graph="complete", seed=1)
        >>> agent.observe(agent.decide(), {"ann": (3, 10), "bob": 1})
        >>> agent.state["b"]
        {'ann': 8.0, 'bob': 1.0}
        """
        id_ = _id_of(decision)
        check_bool(partial, "partial")
        check_bool(extra, "extra")
        _check_mapping(outcomes)

        def prepare(state: AgentState, now: float) -> tuple[list[Entry], None]:
            entry = self._observation(state, now, id_, outcomes, partial, extra)
            return ([] if entry is None else [entry]), None

        self._run(prepare)
        self._warn_of_prior()

    def observe_many(
        self,
        outcomes: Mapping[Decision | str, Mapping[Arm, Reward]],
        *,
        partial: bool = False,
        extra: bool = False,
        request: str | None = None,
    ) -> None:
        """Learn from outcomes of several decisions, in one transaction: all of them, or none.

        The same as :meth:`observe` for each decision, and faster.

        Parameters
        ----------
        outcomes : mapping of Decision or str to mapping
            Observed rewards by arm, for each decision or its id.
        partial, extra : bool, default=False
            As in :meth:`observe`, for all of these decisions.
        request : str, optional
            Key of this request, chosen by the caller. Another request with the same key within
            seven days is an error; the same one again changes nothing.

        Raises
        ------
        InputError
            As in :meth:`observe`; then nothing was learned.
        ConflictError
            If another request was made with this key.

        Examples
        --------
        >>> agent = Agent("ts-n", arms=["ann", "bob"], graph="complete", seed=1)
        >>> first, second = agent.decide(2)
        >>> agent.observe_many({first: {"ann": 1, "bob": 0}, second.id: {"bob": 1}})
        >>> agent.status()["outcomes"]
        3
        """
        check_bool(partial, "partial")
        check_bool(extra, "extra")
        if not isinstance(outcomes, Mapping):
            raise InputError(
                "outcomes must be a mapping {decision: {arm: reward}}, not "
                f"{short_repr(outcomes)}"
            )
        given = dict[str, Mapping[Arm, Reward]]()
        for decision, rewards in outcomes.items():
            id_ = _id_of(decision)
            if id_ in given:
                raise InputError(f"the decision {id_} is given twice: give all its outcomes once")
            _check_mapping(rewards)
            given[id_] = rewards
        if request is not None:
            check_request(request)
        content = "" if request is None else _content_of(given, partial, extra)

        def prepare(state: AgentState, now: float) -> tuple[list[Entry], None]:
            entries = list[Entry]()
            if request is not None:
                if self._known_request(request, content):
                    return [], None
                self._journal.put_request(request, StoredRequest(content, 0, 0), now)
            for id_, rewards in given.items():
                try:
                    entry = self._observation(state, now, id_, rewards, partial, extra)
                except InputError as error:
                    if len(given) == 1 or id_ in str(error):
                        raise
                    raise type(error)(f"decision {id_}: {error}") from None
                if entry is not None:
                    entries.append(entry._replace(number=state.number + len(entries) + 1))
            return entries, None

        self._run(prepare)
        self._warn_of_prior()

    def _observation(
        self,
        state: AgentState,
        now: float,
        id_: str,
        outcomes: Mapping[Arm, Reward],
        partial: bool,
        extra: bool,
    ) -> Entry | None:
        """Return the entry of outcomes of a decision; None if they change nothing."""
        given = checked_outcomes(state.setup, outcomes)
        decision = state.find(id_)
        if decision is None:
            made = self._made(id_)
            entries = self._journal.of_decision(made.decision or 0)
            late = late_outcomes(entries, id_, given, state.setup.arms)
            if late is None:
                return None
            return Entry(state.number + 1, now, "observe", made.decision, late)
        body = new_outcomes(state, decision, given, extra)
        body["closes"] = not partial
        if partial and not body["arms"]:
            return None
        return Entry(state.number + 1, now, "observe", decision.number, body)

    def _warn_of_prior(self) -> None:
        """Issue a warning to the caller of a method if its outcomes contradict the prior."""
        if not self._state.warning:
            return
        with self._lock:
            state = self._state
            warning, state.warning = state.warning, ""
        if warning:
            warnings.warn(
                f"the rewards contradict the prior '{text_of(state.setup.posterior)}': {warning}; "
                "see inspect_prior, and consider another prior",
                InputWarning,
                stacklevel=3,
            )

    def close(self, decision: Decision | str) -> None:
        """Close a decision: no more outcomes of it are expected.

        A closed decision stays closed.

        Parameters
        ----------
        decision : Decision or str
            The decision, or its id.

        Raises
        ------
        InputError
            If the agent has not made this decision.
        """
        id_ = _id_of(decision)

        def prepare(state: AgentState, now: float) -> tuple[list[Entry], None]:
            found = state.find(id_)
            if found is None:
                self._made(id_)
                return [], None
            return _close_entries(state, now, [found], "closed"), None

        self._run(prepare)

    def learn(self, table: object, *, key: str | None = None, unknown: str = "error") -> int:
        """Learn from outcomes without a decision, such as earlier data.

        Parameters
        ----------
        table : mapping, data frame, table or path
            A mapping from arms to rewards, or to pairs (total, count); or a table with the columns
            ``arm`` and ``reward``, one row per outcome, optionally with ``count``, the number of
            outcomes of this reward; or with the columns ``arm``, ``total`` and ``count``. A table
            is a pandas or polars data frame, a pyarrow table, or the path of a CSV or Parquet file.
        key : str, optional
            Name of the data. A table with the same key is learned once.
        unknown : {"error", "skip"}, default="error"
            What to do with outcomes of arms that the agent does not have.

        Returns
        -------
        int
            Number of outcomes that were learned.

        Raises
        ------
        InputError
            If an arm or a reward is not allowed, or if the policy divides by probabilities of
            observation, which these outcomes do not have.

        Examples
        --------
        >>> agent = Agent("ids-n", arms=["ann", "bob"], seed=1)
        >>> agent.learn({"ann": (30, 100), "bob": 1}, key="last year")
        101
        >>> agent.learn({"ann": (30, 100), "bob": 1}, key="last year")
        0
        >>> agent.state["a"]
        {'ann': 31.0, 'bob': 2.0}
        """
        if key is not None and (not isinstance(key, str) or not key):
            raise InputError(f"key must be a text, not {short_repr(key)}")
        if unknown not in ("error", "skip"):
            raise InputError(f"unknown must be 'error' or 'skip', not {short_repr(unknown)}")

        def prepare(state: AgentState, now: float) -> tuple[list[Entry], int]:
            setup = state.setup
            if not setup.incremental:
                raise InputError(
                    f"policy '{name_of(setup.policy)}' cannot learn from outcomes without a "
                    "decision: it needs the probability with which an outcome was observed. Use a "
                    "policy with a posterior"
                )
            if key is not None and key in state.tables:
                return [], 0
            arm, reward, weight, outcomes = read_outcomes(table, setup, unknown == "skip")
            body: dict[str, Any] = {"outcomes": outcomes}
            if key is not None:
                body["key"] = key
            data = pack_learned(arm, reward, weight)
            return [Entry(state.number + 1, now, "learn", None, body, data)], outcomes

        learned = self._run(prepare)
        self._warn_of_prior()
        return learned

    # A changing world -----------------------------------------------------------------------------

    def add_arm(
        self,
        name: Arm,
        prior: object = None,
        edges: EdgesLike | None = None,
        *,
        reveals: EdgesLike | None = None,
        revealed_by: EdgesLike | None = None,
    ) -> None:
        """Add an arm.

        Parameters
        ----------
        name : str or int
            Its name.
        prior : object, optional
            Parameters of its prior, such as (2, 5) or {"mean": 0, "sd": 2}. The default is the
            prior of the other arms, if they have the same.
        edges : iterable of arms or mapping of arm to float, optional
            Neighbours, which reveal the arm and are revealed by it; with probabilities if it is a
            mapping.
        reveals, revealed_by : iterable of arms or mapping of arm to float, optional
            Neighbours in one direction: arms that the new one reveals, or that reveal it.
            Without any edges, a graph for any number of arms, such as "complete", is extended; in
            other graphs the arm has no neighbours.

        Raises
        ------
        InputError
            If the name is taken, a neighbour is unknown, or the policy cannot take another arm.

        Examples
        --------
        >>> agent = Agent("ids-n", arms=["ann", "bob"], graph="edges(1-2)", seed=1)
        >>> agent.add_arm("eve", prior=(1, 9), edges=["ann"])
        >>> agent.decide(among=["eve"]).reveals
        {'ann': 1.0, 'eve': 1.0}
        """

        def prepare(state: AgentState, now: float) -> tuple[list[Entry], None]:
            setup = state.setup
            new = setup.check_new_arm(name)
            given = setup.new_arm_edges(edges, reveals, revealed_by)
            graph = pack_graph(*setup.extended_process(new, given))
            body = {
                "name": new,
                "prior": setup.new_arm_prior(prior),
                "graph": self._journal.put_object(graph),
            }
            return [Entry(state.number + 1, now, "add_arm", None, body)], None

        self._run(prepare)

    def retire(self, *arms: Arm) -> None:
        """Retire arms: they are not played and not revealed any more.

        Parameters
        ----------
        *arms : str or int
            The arms.
        """
        self._set_arms("retire", arms)

    def pause(self, *arms: Arm) -> None:
        """Pause arms: they are not played until :meth:`resume`, but may be observed.

        Parameters
        ----------
        *arms : str or int
            The arms.
        """
        self._set_arms("pause", arms)

    def resume(self, *arms: Arm) -> None:
        """Allow paused arms to be played again.

        Parameters
        ----------
        *arms : str or int
            The arms.
        """
        self._set_arms("resume", arms)

    def _set_arms(self, kind: str, arms: Sequence[Arm]) -> None:
        if not arms:
            raise InputError(f"{kind} needs one or more arms: {kind}('ann')")

        def prepare(state: AgentState, now: float) -> tuple[list[Entry], None]:
            numbers = state.setup.numbers_of(arms, "arms")
            gone = [arm for arm in numbers if arm in state.retired]
            if gone and kind != "retire":
                raise InputError(
                    f"the arm {state.setup.arms[gone[0]]!r} is retired, which is final: add it "
                    "again under another name, and pause arms that may come back"
                )
            changed = {
                "retire": [arm for arm in numbers if arm not in state.retired],
                "pause": [arm for arm in numbers if arm not in state.paused],
                "resume": [arm for arm in numbers if arm in state.paused],
            }[kind]
            if not changed:
                return [], None
            return [Entry(state.number + 1, now, kind, None, {"arms": changed})], None

        self._run(prepare)

    def set_graph(self, graph: GraphLike, weight: str | None = "auto") -> None:
        """Replace the feedback graph. Open decisions keep the graph that they were made with.

        Parameters
        ----------
        graph : str, array, Process or other graph
            Graph of the same arms. If it has names, it may have them in any order, and leave out
            retired arms.
        weight : str or None, default="auto"
            For a NetworkX graph: the edge attribute with the probabilities; None to ignore all.

        Raises
        ------
        InputError
            If the graph has other arms.
        NeedsError
            If the policy needs another kind of graph.
        """

        def prepare(state: AgentState, now: float) -> tuple[list[Entry], None]:
            process = state.setup.read_graph(graph, weight, state.retired)
            text = recipe_text(graph)
            body = {"graph": self._journal.put_object(pack_graph(process, text))}
            return [Entry(state.number + 1, now, "set_graph", None, body)], None

        self._run(prepare)

    def set_policy(self, policy: str | Policy, reset: bool = False) -> None:
        """Replace the policy, and keep what was learned.

        Parameters
        ----------
        policy : str or Policy
            The new policy.
        reset : bool, default=False
            Whether to :meth:`reset` the agent first. It must be, unless both policies have a
            posterior.

        Raises
        ------
        InputError
            If one of the policies has no posterior, and ``reset`` is False.
        """
        made = as_policy(policy)
        check_bool(reset, "reset")

        def prepare(state: AgentState, now: float) -> tuple[list[Entry], None]:
            setup = state.setup.with_policy(made)
            setup.pack(_hash_only)  # a policy without a text form cannot be journaled
            fresh, posterior = setup.init(), setup.posterior
            kept = all(keeps_posterior(one, posterior) for one in (state.policy_state, fresh))
            if not reset and not (kept and fresh.keys() == state.policy_state.keys()):
                raise InputError(
                    f"'{name_of(made)}' cannot take over what '{name_of(state.setup.policy)}' has "
                    "learned, because one of them has no posterior: use set_policy(..., "
                    "reset=True) to start from the prior"
                )
            if reset:
                entries = _reset_entries(state, now)
                body = {"policy": text_of(made), "reset": True}
                last = state.number + len(entries) + 1
                return [*entries, Entry(last, now, "set_policy", None, body)], None
            body = {"policy": text_of(made), "reset": False}
            return [Entry(state.number + 1, now, "set_policy", None, body)], None

        self._run(prepare)

    def reset(self) -> None:
        """Return to the prior and close all open decisions.

        Later outcomes of these decisions are journaled as late, and not learned.
        """

        def prepare(state: AgentState, now: float) -> tuple[list[Entry], None]:
            return _reset_entries(state, now), None

        self._run(prepare)

    # Storage --------------------------------------------------------------------------------------

    def save(self, path: str | os.PathLike[str]) -> None:
        """Copy the agent with its journal to a store: ``Agent(store=path)`` opens the copy.

        The copy continues bit for bit, and is independent of the agent. The store may have other
        agents. Either the whole agent is stored, or nothing.

        Parameters
        ----------
        path : str or Path
            File of SQLite, which is created if it does not exist, or the address of a PostgreSQL
            database.

        Raises
        ------
        InputError
            If the store has an agent of this name, if ``path`` is not a store, or if the policy or
            the prior is not registered.
        StoreError
            If the store cannot be written.

        Examples
        --------
        >>> import tempfile
        >>> agent = Agent("ts-n", arms=["ann", "bob"], seed=1)
        >>> agent.observe(agent.decide(), {"ann": 1})
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     agent.save(f"{folder}/agent.db")
        ...     Agent(store=f"{folder}/agent.db").state == agent.state
        True
        """
        from graphbandits.live.store import open_store

        with self._lock:
            journal, state = self._journal, copy.copy(self._current())
            base = self._base_state(journal.oldest_snapshot())
            state.pack(_hash_only)  # an agent that cannot be stored creates no file
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
        agent._clock, agent._lock = clock, threading.RLock()
        agent._entries_since_snapshot, agent._snapshot_interval = 0, SNAPSHOT_ENTRIES
        agent._invalid, agent._store, agent.name = False, None, name
        agent._journal, agent._health, agent._trend = journal, None, None
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

        The state at that date is kept as a snapshot, with the decisions that were open. Ids of
        removed decisions are refused.

        Parameters
        ----------
        before : date, datetime, str or float
            The date, or its text such as "2026-01-31"; seconds since 1970 if it is a number. A date
            without a time zone is local time.

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
            self._health = None if data else HealthRecord(self._state.shadow())
            self._trend = None
            return removed

    def backup(self, place: str | os.PathLike[str]) -> None:
        """Copy the store, with all its agents, to a new store.

        Parameters
        ----------
        place : str or path
            A new file of SQLite, or the address of an empty PostgreSQL database.

        Raises
        ------
        InputError
            If the agent has no store, or the new store has agents.
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
                raise StoreError(
                    f"the journal of the agent '{self.name}' in {self._place} gives another state "
                    "than the agent has: please report this"
                )
            return state.number + 1 - self._journal.first()

    def disconnect(self) -> None:
        """Close the connections to the store. The next use opens them again."""
        with self._lock:
            if self._store is not None:
                self._store.close()

    # Journal --------------------------------------------------------------------------------------

    def _get(self, key: str) -> bytes:
        return self._journal.get_object(key)

    def _run(self, prepare: Callable[[AgentState, float], tuple[list[Entry], T]]) -> T:
        """Run one operation in a transaction: all its entries are written, or none.

        The operation sees everything that was written before. Decisions that have expired are
        closed first, in a transaction of their own.
        """
        with self._lock:
            while True:
                now = self._now()
                with self._journal.write() as last:
                    state = self._catch_up(last)
                    result: Any = None
                    if due := state.due(now):
                        entries = _close_entries(state, now, due, "expired")
                    else:
                        entries, result = prepare(state, now)
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
        kinds = {one.kind for one in self._journal.of_decision(entry.decision)}
        if "decide" in kinds:
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
        """Return the state after all entries so far."""
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
        """Load the newest snapshot, and apply the entries after it."""
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
        """Return the state after an entry, from the newest snapshot before it."""
        newest = self._journal.newest_snapshot()
        recent = newest is not None and newest.data and newest.number <= until
        return self._replayed(until, newest if recent else None)

    def _replayed(self, until: int, base: Snapshot | None = None) -> AgentState:
        """Return the state after an entry, from a snapshot and the entries after it.

        The default is the oldest snapshot.
        """
        state = self._base_state(self._journal.oldest_snapshot() if base is None else base)
        entries = self._journal.entries(state.number)
        state.replay(takewhile(lambda entry: entry.number <= until, entries), self._get)
        return state

    def _base_state(self, base: Snapshot | None) -> AgentState:
        """Return the state of a snapshot; without one, that before the first entry."""
        if base is not None and base.data:  # in memory it may have none
            return self._restored(base)
        if self._journal.first() == 1:
            return AgentState(self._start, self._state.lifetime)
        raise StoreError(
            "the entries of this agent were removed: its journal cannot be replayed, because its "
            "policy or prior cannot be stored"
        )

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
    """Call a function that reads the journal, again if another process has removed old entries."""
    for _ in range(MOST_ATTEMPTS):
        with suppress(MissingEntriesError):
            return call()
    return call()


def _new_setup(given: dict[str, Any]) -> Setup:
    """Return the setup of a new agent."""
    if given["policy"] is None:
        raise InputError("a new agent needs a policy, such as Agent('ids-n', arms=4, graph='star')")
    arguments = given | {
        "graph": "empty" if given["graph"] is None else given["graph"],
        "seed": secrets.randbits(63) if given["seed"] is None else given["seed"],
        "trial": 0 if given["trial"] is None else given["trial"],
    }
    return Setup.of(**arguments)


def _with_floor(policy: str | Policy | None, floor: float | None, over: str) -> str | Policy | None:
    """Return the policy with the exploration floor, if there is one."""
    if floor is None:
        if over != "arms":
            raise InputError(f"floor_over={over!r} needs a floor: give floor, such as floor=0.02")
        return policy
    if policy is None:
        raise InputError(
            "the floor is part of the policy: give the policy, too; or omit both to open an agent"
        )
    return ExplorationFloor(as_policy(policy), floor, over)


def check_request(key: object) -> str:
    """Return the key of a request; raise InputError if it is not valid."""
    valid = isinstance(key, str) and 0 < len(key) <= MOST_KEY and key.isascii()
    if not valid or not str(key).isprintable():
        raise InputError(
            f"the key of a request has 1 to {MOST_KEY} printable ASCII characters, not "
            f"{short_repr(key)}"
        )
    return str(key)


def _content_of(outcomes: Mapping[str, Mapping[Arm, Reward]], partial: bool, extra: bool) -> str:
    """Return a hash of reported outcomes."""
    rows = sorted(
        (id_, sorted((str(arm), repr(reward)) for arm, reward in rewards.items()))
        for id_, rewards in outcomes.items()
    )
    return _hash_only(repr((rows, partial, extra)).encode("utf-8", "surrogatepass"))


def _check_mapping(outcomes: object) -> None:
    if not isinstance(outcomes, Mapping):
        raise InputError(f"outcomes must be a mapping {{arm: reward}}, not {short_repr(outcomes)}")


def _hash_only(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _seconds(value: object, what: str) -> float:
    """Return a duration in seconds."""
    number = value.total_seconds() if isinstance(value, timedelta) else value
    seconds = check_positive(number, f"{what} (a timedelta, or seconds)")
    if seconds > MOST_SECONDS:
        raise InputError(f"{what} must be at most {MOST_SECONDS:g} seconds, not {seconds:g}")
    return seconds


def _is_past(time: float, moment: float) -> bool:
    """Compare times in microseconds, as dates have them: that of a decision includes it."""
    return round(time, 6) <= round(moment, 6)


def _utc(seconds: float) -> str:
    """Format a time for a message."""
    try:
        return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M:%S} UTC"
    except (ValueError, OverflowError, OSError):
        return f"{seconds:g} s"


def _close_entries(
    state: AgentState, now: float, decisions: Sequence[OpenDecision], reason: str
) -> list[Entry]:
    body = {"reason": reason, "closes": True}
    return [
        Entry(number, now, "close", one.number, body)
        for number, one in enumerate(decisions, state.number + 1)
    ]


def _reset_entries(state: AgentState, now: float) -> list[Entry]:
    entries = _close_entries(state, now, list(state.open.values()), "reset")
    return [*entries, Entry(state.number + len(entries) + 1, now, "reset", None, {})]


def _id_of(decision: object) -> str:
    """Return the id of a decision that a user has given."""
    if isinstance(decision, Decision):
        return decision.id
    if not isinstance(decision, str):
        raise InputError(f"decision must be a Decision or its id, not {short_repr(decision)}")
    return decision
