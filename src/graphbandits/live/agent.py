"""Live decisions: an agent runs a policy in one trial, with outcomes from the user."""

from __future__ import annotations

import hashlib
import json
import math
import os
import secrets
import threading
import time
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast, overload

import numpy as np
from numpy.typing import NDArray

from graphbandits._types import State
from graphbandits.engine.loop import decide, draw_graph
from graphbandits.errors import (
    MOST_ROUNDS,
    InputError,
    InputWarning,
    StoreError,
    check_bool,
    check_integer,
    check_positive,
    short_repr,
)
from graphbandits.graphs import Feedback, GraphLike, Process
from graphbandits.graphs._storage import fingerprint
from graphbandits.graphs.named import recipe_text
from graphbandits.live import saved_files
from graphbandits.live.decision import Decision
from graphbandits.live.journal import Entry, Journal, MemoryJournal, Snapshot
from graphbandits.live.outcome_tables import read_outcomes
from graphbandits.live.setup import EdgesLike, Setup, pack_graph, pack_sparse
from graphbandits.live.state import (
    AgentState,
    OpenDecision,
    Outcome,
    outcomes_of,
    own_plays_only,
    pack_learned,
)
from graphbandits.policies import Policy, View, as_policy
from graphbandits.policies.base import check_needs
from graphbandits.policies.restriction import check_restrictable
from graphbandits.posteriors import Arm, BeliefsByArm, Posterior
from graphbandits.posteriors._capabilities import (
    check_evidence,
    compute_beliefs,
    expect_outcomes,
    keeps_posterior,
    select_arms,
)
from graphbandits.posteriors.discounting import at_decision
from graphbandits.registry import name_of, text_of
from graphbandits.rng import draw_actions

if TYPE_CHECKING:
    from graphbandits.live.store import AgentStore

T = TypeVar("T")
#: A reward, or several outcomes as a pair (total, count).
Reward = float | tuple[float, float]
#: A snapshot is written after this many entries, or more if a snapshot is large.
SNAPSHOT_ENTRIES = 1000
#: Bytes of a snapshot per entry between two of them: so snapshots at most double the size.
SNAPSHOT_BYTES = 200
#: How open decisions count in the next one.
PENDING = ("ignore", "expected")
#: Arguments that determine the prior.
_PRIOR = ("posterior", "prior", "accuracy")


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
        weight: str | None = "auto",
        store: str | os.PathLike[str] | None = None,
        name: str = "default",
        clock: Callable[[], float] = time.time,
    ) -> None:
        if isinstance(arms, Iterable) and not isinstance(arms, str):
            arms = tuple(arms)
        given = {
            "policy": policy,
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

        self._store = store = open_store(place, must_exist=given["policy"] is None)
        self.name = name
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
                state.created["expires"] = state.expires
                entry = Entry(1, self._clock(), "create", None, state.created)
                state.number = 1
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
        current = self._state.setup.pack(_hash_only) | {"expires": self._state.expires}
        plain = {key: given[key] for key in ("seed", "trial", "horizon") if given[key] is not None}
        if given["policy"] is not None:
            plain["policy"] = text_of(as_policy(given["policy"]))
        if expires is not None:
            plain["expires"] = expires
        for key, value in plain.items():
            if value not in (created[key], current[key]):
                remedy = "; set_policy changes the policy" if key == "policy" else ""
                raise InputError(
                    f"{key}={short_repr(value)} contradicts the agent '{self.name}' in "
                    f"{self._place}, which has {key}={short_repr(current[key])}: omit it, or "
                    f"choose another name{remedy}"
                )
        if any(given[key] is not None for key in ("arms", "graph", *_PRIOR)):
            before = Setup.unpack(created, self._get)
            reasons = [_difference(given, known) for known in (before, self._state.setup)]
            if all(reasons):
                raise InputError(
                    f"the arguments contradict the agent '{self.name}' in {self._place}: "
                    f"{reasons[0]}. Omit them to open it, or choose another name"
                )

    @property
    def _place(self) -> str:
        return "memory" if self._store is None else self._store.place

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
            return tuple(one.id for one in self._current().open.values())

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
            arms = state.setup.arms
            return {
                "name": self.name,
                "policy": text_of(state.setup.policy),
                "arms": len(arms),
                "decisions": state.decisions,
                "open": len(state.open),
                **state.counts,
                "paused": [arms[i] for i in sorted(state.paused)],
                "retired": [arms[i] for i in sorted(state.retired)],
                "entries": state.number,
            }

    def history(self, last: int | None = None) -> list[dict[str, Any]]:
        """Return the entries of the journal, as JSON values.

        Parameters
        ----------
        last : int, optional
            Number of entries to return. The default is all that were not removed.

        Returns
        -------
        list of dict
            ``number``, ``time``, ``kind``, ``decision`` (the id) and what belongs to the kind.
        """
        if last is not None:
            check_integer(last, "last")
        with self._lock:
            state = self._current()
            after = 0 if last is None else state.number - last
            arms = state.setup.arms
            ids: dict[int, str] = {}
            return [
                _described(entry, arms, ids, self._journal.of_decision)
                for entry in self._journal.entries(max(0, after))
                if entry.number <= state.number
            ]

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
        with self._lock:
            state = self._current()
            number = _number_in(id)
            entry = self._made(number, id)
            open_ = state.open.get(number)
            if open_ is None:
                if entry.body.get("graph") is None and entry.number < state.graph_since:
                    state = self._replayed(entry.number)  # the graph has changed since
                open_ = state.opened(entry, self._get)
            return _as_decision(state, entry, open_, state.feedback(open_))

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

        Returns
        -------
        Decision or list of Decision
            Arm to play, and the arms that may be observed.

        Raises
        ------
        InputError
            If an argument is not allowed, or no arm may be played.

        Examples
        --------
        >>> agent = Agent("ts-n", arms=["ann", "bob", "eve"], seed=1)
        >>> sorted(one.arm for one in agent.decide(2, distinct=True, exclude=["bob"]))
        ['ann', 'eve']
        """
        count = 1 if n is None else check_integer(n, "n")
        check_bool(distinct, "distinct")
        if pending not in PENDING:
            raise InputError(f"pending must be {' or '.join(map(repr, PENDING))}, not {pending!r}")
        body = dict[str, Any]()
        if context is not None:
            body["context"] = _json_value(context)
        seconds = None if expires is None else _seconds(expires, "expires")

        def prepare(state: AgentState, now: float) -> tuple[list[Entry], list[Decision]]:
            return self._decided(
                state, now, count, distinct, among, exclude, graph, body, pending, seconds
            )

        made = self._run(prepare)
        return made[0] if n is None else made

    def _decided(
        self,
        state: AgentState,
        now: float,
        count: int,
        distinct: bool,
        among: Iterable[Arm] | None,
        exclude: Iterable[Arm] | None,
        graph: GraphLike,
        body: dict[str, Any],
        pending: str,
        expires: float | None,
    ) -> tuple[list[Entry], list[Decision]]:
        """Return the entries of decisions, and the decisions."""
        setup = state.setup
        first = state.decisions + 1
        if first + count - 1 > MOST_ROUNDS:
            raise InputError(
                f"an agent makes at most {MOST_ROUNDS} decisions: create another agent"
            )
        lifetime = state.expires if expires is None else expires
        if lifetime is not None:
            body = body | {"expires": now + lifetime}
        eligible = _eligible(state, among, exclude)
        left = len(setup.arms) if eligible is None else int(eligible.sum())
        if distinct and count > left:
            raise InputError(
                f"{count} distinct arms are asked for, but only {left} may be played: ask for fewer"
            )
        process = setup.process
        if among is not None or exclude is not None:
            eligible = np.ones(len(setup.arms), np.bool_) if eligible is None else eligible
            packed = np.packbits(eligible).tobytes()
            body = body | {"among": self._journal.put_object(packed)}
        if graph is not None:
            process = setup.read_graph(graph, "auto", state.retired)
            check_needs(setup.policy, process, setup.horizon)
            if setup.policy.needs.fixed:
                raise InputError(
                    f"policy '{name_of(setup.policy)}' needs the same graph in every round: use "
                    "set_graph, or another policy"
                )
            body = body | {"graph": self._journal.put_object(pack_graph(process, None))}
        if count > 1:
            body = body | {"round": first, "distinct": distinct}
        feedback = draw_graph(process, first, setup.keys)
        entries, made = list[Entry](), list[Decision]()
        arrays, pi = state.policy_state, None
        waiting = _Expected(state) if pending == "expected" else None
        exact = setup.policy.exact
        now_of_view = now if getattr(setup.posterior, "half_life", None) else float(first)
        for number in range(first, first + count):
            if pi is None or distinct or waiting is not None or not exact:
                if waiting is not None:
                    arrays = waiting.state()
                mask = None if eligible is None else eligible[None, :]
                t = first if exact else number  # one moment: the same beliefs and the same t
                view = View(t, setup.keys, setup.problem, feedback, mask, now_of_view)
                pi, action = decide(setup.policy, arrays, view)
                if number != t:
                    action = draw_actions(pi, setup.keys, number)
            else:
                action = draw_actions(pi, setup.keys, number)
            arm = int(action[0])
            reply = f"{number}-{secrets.token_hex(6)}"
            own = {"id": reply, "arm": arm, "p": float(pi[0, arm]) if exact else None, **body}
            data = pack_sparse(pi[0]) if exact else None
            entry = Entry(state.number + 1 + number - first, now, "decide", number, own, data)
            entries.append(entry)
            opened = state.opened(entry, self._get, process)
            made.append(_as_decision(state, entry, opened, feedback))
            if waiting is not None:
                waiting.add(opened)
            if distinct:
                eligible = (
                    np.ones(len(setup.arms), np.bool_) if eligible is None else eligible.copy()
                )
                eligible[arm] = False
        return entries, made

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
        if not isinstance(outcomes, Mapping):
            raise InputError(
                f"outcomes must be a mapping {{arm: reward}}, not {short_repr(outcomes)}"
            )

        def prepare(state: AgentState, now: float) -> tuple[list[Entry], None]:
            new = _checked_outcomes(state.setup, outcomes)
            number = _number_in(id_)
            open_ = state.open.get(number)
            if open_ is None or open_.id != id_:
                return self._late(state, now, number, id_, new), None
            body = self._new_outcomes(state, open_, new, extra)
            if partial and not body["arms"]:
                return [], None
            body["closes"] = not partial
            return [Entry(state.number + 1, now, "observe", number, body)], None

        self._run(prepare)
        if self._state.warning:
            warnings.warn(
                f"the rewards contradict the prior '{text_of(self._state.setup.posterior)}': "
                f"{self._state.warning}; see inspect_prior, and consider another prior",
                InputWarning,
                stacklevel=2,
            )

    def _new_outcomes(
        self, state: AgentState, decision: OpenDecision, given: dict[int, Outcome], extra: bool
    ) -> dict[str, Any]:
        """Return the body of an entry with the outcomes that are not known yet."""
        arms = state.setup.arms
        new = _unknown(given, decision.seen, arms, decision.id)
        outside = list[int]()
        if new:
            reach = state.reach(decision)
            outside = [arm for arm in sorted(new) if arm >= len(reach) or reach[arm] == 0.0]
        if outside and not extra:
            raise InputError(
                f"playing {arms[decision.arm]!r} does not reveal {arms[outside[0]]!r} in this "
                "graph: omit this arm, or give extra=True if you observed it"
            )
        if outside and not state.setup.incremental:
            raise InputError(
                f"policy '{name_of(state.setup.policy)}' divides by the probability of an "
                f"observation, and {arms[outside[0]]!r} has none: omit this arm, or use a policy "
                "with a posterior"
            )
        order = sorted(new)
        body: dict[str, Any] = {"arms": order, "rewards": [new[arm][0] for arm in order]}
        if any(new[arm][1] != 1.0 for arm in order):
            body["weights"] = [new[arm][1] for arm in order]
        if outside:
            body["extra"] = outside
        return body

    def _late(
        self, state: AgentState, now: float, number: int, id_: str, given: dict[int, Outcome]
    ) -> list[Entry]:
        """Return the entry of outcomes of a decision that is not open, if they are new."""
        self._made(number, id_)
        entries = self._journal.of_decision(number)
        known = dict[int, Outcome]()
        reason = "observed"
        for entry in entries:
            known |= outcomes_of(entry.body)
            reason = entry.body.get("reason", reason)
        new = _unknown(given, known, state.setup.arms, id_)
        if not new:
            return []
        if reason not in ("expired", "reset"):
            arm = state.setup.arms[min(new)]
            raise InputError(
                f"decision {id_} is closed, and has no outcome of {arm!r}: use partial=True as "
                "long as outcomes may come, or agent.learn for outcomes without a decision"
            )
        order = sorted(new)
        body = {
            "arms": order,
            "rewards": [new[arm][0] for arm in order],
            "weights": [new[arm][1] for arm in order],
            "late": True,
        }
        return [Entry(state.number + 1, now, "observe", number, body)]

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
            number = _number_in(id_)
            open_ = state.open.get(number)
            if open_ is None or open_.id != id_:
                self._made(number, id_)
                return [], None
            body = {"reason": "closed", "closes": True}
            return [Entry(state.number + 1, now, "close", number, body)], None

        self._run(prepare)

    def learn(self, table: object, *, key: str | None = None) -> int:
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
            arm, reward, weight, outcomes = read_outcomes(table, setup)
            body: dict[str, Any] = {"outcomes": outcomes}
            if key is not None:
                body["key"] = key
            data = pack_learned(arm, reward, weight)
            return [Entry(state.number + 1, now, "learn", None, body, data)], outcomes

        return self._run(prepare)

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
            body = {
                "name": new,
                "prior": setup.new_arm_prior(prior),
                "edges": setup.new_arm_edges(edges, reveals, revealed_by),
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
            Whether the new policy starts from the prior. It must, if it keeps other statistics.

        Raises
        ------
        InputError
            If the policy keeps other statistics than the current one, and ``reset`` is False.
        """
        made = as_policy(policy)
        check_bool(reset, "reset")

        def prepare(state: AgentState, now: float) -> tuple[list[Entry], None]:
            setup = state.setup.with_policy(made)
            setup.pack(_hash_only)  # a policy without a text form cannot be journaled
            fresh = setup.init()
            same = {name: array.shape for name, array in fresh.items()} == {
                name: array.shape for name, array in state.policy_state.items()
            }
            if not same and not reset:
                raise InputError(
                    f"policy '{name_of(made)}' keeps other statistics than "
                    f"'{name_of(state.setup.policy)}': use set_policy(..., reset=True) to start it "
                    "from the prior"
                )
            if state.open and not setup.incremental:
                raise InputError(
                    f"policy '{name_of(made)}' learns when a decision is closed, and "
                    f"{len(state.open)} decisions of another policy are open: close them first"
                )
            body = {"policy": text_of(made), "reset": reset}
            return [Entry(state.number + 1, now, "set_policy", None, body)], None

        self._run(prepare)

    def reset(self) -> None:
        """Return to the prior and close all open decisions.

        Later outcomes of these decisions are journaled as late, and not learned.
        """

        def prepare(state: AgentState, now: float) -> tuple[list[Entry], None]:
            entries = _closes(state, now, list(state.open.values()), "reset")
            last = state.number + len(entries) + 1
            return [*entries, Entry(last, now, "reset", None, {})], None

        self._run(prepare)

    # Storage --------------------------------------------------------------------------------------

    def save(self, path: str | Path) -> Path:
        """Save the agent to a file (.npz of NumPy, without pickle): its state, not its history.

        Parameters
        ----------
        path : str or Path
            The file. A saved agent, or another zip archive, is replaced; any other file is not.

        Returns
        -------
        Path
            The file.

        Raises
        ------
        InputError
            If the file cannot be written, or if the policy or the prior is not registered.
        """
        with self._lock:
            return saved_files.save(self._current(), Path(path))

    @classmethod
    def load(cls, path: str | Path, clock: Callable[[], float] = time.time) -> Agent:
        """Load a saved agent. It continues as the original one would, bit for bit.

        Parameters
        ----------
        path : str or Path
            The file.
        clock : callable, default=time.time
            Function that returns the time in seconds since 1970.

        Returns
        -------
        Agent
            The agent, in memory.

        Raises
        ------
        InputError
            If the file is missing, damaged or too new, or if its policy is not registered.
        """
        state = saved_files.load(Path(path))
        agent = object.__new__(cls)
        agent._clock, agent._lock = clock, threading.RLock()
        agent._entries_since_snapshot, agent._snapshot_interval = 0, SNAPSHOT_ENTRIES
        agent._store, agent.name = None, "default"
        agent._journal, agent._state = MemoryJournal(state.number), state
        agent._start = state.setup
        return agent

    def compact(self) -> None:
        """Write a snapshot, remove older ones, and release free space of the store."""
        with self._lock:
            self._current()
            if self._store is not None:
                self._snapshot()
            self._journal.compact()

    def forget(self, before: datetime | float) -> int:
        """Remove all entries of the journal before a date, and keep what was learned from them.

        The state at that date is kept as a snapshot, with the decisions that were open. Ids of
        removed decisions are refused.

        Parameters
        ----------
        before : datetime or float
            The date; seconds since 1970 if it is a number.

        Returns
        -------
        int
            Number of removed entries.
        """
        date = _timestamp(before, "before")
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
                if self._store is not None:
                    data = self._replayed(old).pack(self._journal.put_object)
                self._journal.forget(Snapshot(old, data))
            if self._store is not None:
                self._snapshot()
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
                        entries = _closes(state, now, due, "expired")
                    else:
                        entries, result = prepare(state, now)
                    change = state.prepare(entries, self._get)
                    if entries:
                        self._journal.append(entries)
                # the transaction is committed; if that failed, the state is as before
                state.install(change, self._get)
                self._entries_since_snapshot += len(entries)
                if not due:
                    break
            if self._store and self._entries_since_snapshot >= self._snapshot_interval:
                self._snapshot()
            return cast(T, result)

    def _now(self) -> float:
        now = float(self._clock())
        if not math.isfinite(now):
            raise InputError(f"the clock returned {now!r}: it must return a finite number")
        return now

    def _current(self) -> AgentState:
        """Return the state after all entries so far."""
        return self._catch_up(self._journal.last())

    def _catch_up(self, last: int) -> AgentState:
        """Apply the entries of other processes up to the last one."""
        state = self._state
        if last == state.number:
            return state
        if last < state.number or self._journal.first() > state.number + 1:
            # the store was replaced by a copy, or entries were removed
            return self._load_newest()
        try:
            state.replay(self._journal.entries(state.number), self._get)
        except BaseException:
            self._load_newest()
            raise
        self._entries_since_snapshot += last - state.number
        return state

    def _load_newest(self) -> AgentState:
        snapshot = self._journal.newest_snapshot()
        if snapshot is None:
            raise StoreError(f"the agent '{self.name}' in {self._place} has no snapshot")
        self._state = self._restored(snapshot)
        self._state.replay(self._journal.entries(snapshot.number), self._get)
        self._entries_since_snapshot = self._state.number - snapshot.number
        self._snapshot_interval = max(SNAPSHOT_ENTRIES, len(snapshot.data) // SNAPSHOT_BYTES)
        return self._state

    def _restored(self, snapshot: Snapshot) -> AgentState:
        try:
            return AgentState.unpack(snapshot.data, self._get)
        except InputError as error:
            raise StoreError(
                f"cannot load the agent '{self.name}' from {self._place}: {error}"
            ) from error

    def _replayed(self, until: int) -> AgentState:
        """Return the state after an entry, from the oldest snapshot and the entries after it."""
        base = self._journal.oldest_snapshot()
        if base is not None:
            state = self._restored(base)
        elif self._journal.first() == 1:
            state = AgentState(self._start, self._state.expires)
        else:
            raise StoreError(
                "the entries of this agent were removed, or it was loaded from a file: its journal "
                "cannot be replayed"
            )
        entries = self._journal.entries(state.number)
        state.replay((entry for entry in entries if entry.number <= until), self._get)
        return state

    def _snapshot(self) -> None:
        with self._journal.write() as last:
            state = self._catch_up(last)
            data = state.pack(self._journal.put_object)
            self._journal.add_snapshot(Snapshot(state.number, data))
        self._entries_since_snapshot = 0
        self._snapshot_interval = max(SNAPSHOT_ENTRIES, len(data) // SNAPSHOT_BYTES)

    def _made(self, number: int, id_: str) -> Entry:
        """Return the entry of a decision; raise InputError if the agent has not made it."""
        for entry in self._journal.of_decision(number):
            if entry.kind == "decide" and entry.body["id"] == id_:
                return entry
        where = f"the agent '{self.name}'" + (f" in {self._place}" if self._store else "")
        raise InputError(
            f"unknown decision {short_repr(id_)}: {where} has not made it, or its record was "
            "removed; use the id of the decision, from the agent that made it"
        )


class _Expected:
    """State of a posterior in which outcomes of open decisions count by their expectation."""

    def __init__(self, state: AgentState) -> None:
        setup = state.setup
        if not keeps_posterior(state.policy_state, setup.posterior):
            raise InputError(
                "pending='expected' needs a policy with a posterior, and "
                f"'{name_of(setup.policy)}' has none: use pending='ignore', or a policy such as "
                "ids-n"
            )
        self._agent = state
        self._own = own_plays_only(setup.policy)
        self._weight = np.zeros(len(setup.arms))
        for one in state.open.values():
            self.add(one)

    def add(self, decision: OpenDecision) -> None:
        """Add a decision."""
        reach = self._agent.reach(decision)
        missing = np.ones(len(reach), np.bool_)
        missing[[arm for arm in decision.seen if arm < len(reach)]] = False
        if self._own:
            missing &= np.arange(len(reach)) == decision.arm
        self._weight[: len(reach)] += np.where(missing, reach, 0.0)

    def state(self) -> State:
        """Return the state of the policy, with the expected outcomes."""
        arrays = {name: np.array(array) for name, array in self._agent.policy_state.items()}
        arm = np.flatnonzero(self._weight)
        if not len(arm):
            return arrays
        return expect_outcomes(self._agent.setup.posterior, arrays, arm, self._weight[arm])


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


def _difference(given: dict[str, Any], known: Setup) -> str:
    """Return how arms, graph or prior of given arguments differ from a setup; empty if equal."""
    arms, graph = given["arms"], given["graph"]
    if graph is None and arms is None:
        arms = known.arms
    same_prior = all(given[key] is None for key in _PRIOR[:2])
    try:
        made = Setup.of(
            known.policy,
            arms,
            (known.graph_text or known.process) if graph is None else graph,
            seed=known.keys.seed,
            posterior=known.posterior if same_prior else given["posterior"],
            prior=given["prior"],
            horizon=known.horizon,
            accuracy=given["accuracy"],
            weight="auto" if graph is None else given["weight"],
        )
    except InputError as error:
        return str(error).rstrip(".")
    if made.arms != known.arms:
        return "it has other arms"
    if graph is not None and fingerprint(made.process) != fingerprint(known.process):
        return "it has another graph"
    one, other = (setup.pack(_hash_only)["prior"] for setup in (made, known))
    return "" if one == other else "it has another prior"


def _hash_only(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _seconds(value: object, what: str) -> float:
    """Return a duration in seconds."""
    number = value.total_seconds() if isinstance(value, timedelta) else value
    return check_positive(number, f"{what} (a timedelta, or seconds)")


def _timestamp(value: object, what: str) -> float:
    """Return a date as seconds since 1970; a datetime without a time zone is local time."""
    if isinstance(value, datetime):
        return value.timestamp()
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if not number or not math.isfinite(cast(float, value)):
        raise InputError(
            f"{what} must be a datetime, or seconds since 1970, not {short_repr(value)}"
        )
    return float(cast(float, value))


def _json_value(context: object) -> Any:
    """Return a copy of a context as JSON values."""
    try:
        return json.loads(json.dumps(context, allow_nan=False))
    except (TypeError, ValueError, RecursionError) as error:
        raise InputError(
            f"context must be a JSON value, such as a dict of texts and numbers: {error}"
        ) from None


def _eligible(
    state: AgentState, among: Iterable[Arm] | None, exclude: Iterable[Arm] | None
) -> NDArray[np.bool_] | None:
    """Return which arms may be played; None if all may be."""
    setup, gone = state.setup, state.inactive()
    if among is None and exclude is None and not gone:
        return None
    mask = np.full(len(setup.arms), among is None)
    if among is not None:
        mask[setup.numbers_of(among, "among")] = True
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


def _as_decision(
    state: AgentState, entry: Entry, decision: OpenDecision, feedback: Feedback
) -> Decision:
    reach = state.reach(decision, feedback)
    index = np.flatnonzero(reach)
    arms, number = state.setup.arms, decision.number
    return Decision(arms, entry.body, number, entry.time, entry.data, (index, reach[index]))


def _closes(
    state: AgentState, now: float, decisions: Sequence[OpenDecision], reason: str
) -> list[Entry]:
    body = {"reason": reason, "closes": True}
    return [
        Entry(number, now, "close", one.number, body)
        for number, one in enumerate(decisions, state.number + 1)
    ]


def _checked_outcomes(setup: Setup, outcomes: Mapping[Arm, Reward]) -> dict[int, Outcome]:
    """Return outcomes by the number of the arm, checked."""
    found = dict[int, Outcome]()
    for name, reward in outcomes.items():
        arm = setup.number_of(name)
        if arm in found:
            raise InputError(f"the arm {setup.arms[arm]!r} is given twice: give one outcome")
        if isinstance(reward, tuple | list):
            found[arm] = check_evidence(setup.posterior, reward)
        else:
            found[arm] = setup.posterior.check_reward(reward), 1.0
    return found


def _unknown(
    given: dict[int, Outcome], known: dict[int, Outcome], arms: tuple[Arm, ...], id_: str
) -> dict[int, Outcome]:
    """Return the outcomes that are not known yet; raise InputError if one contradicts them."""
    for arm, pair in given.items():
        if arm in known and known[arm] != pair:
            raise InputError(
                f"decision {id_} has the outcome {_shown(known[arm])} of {arms[arm]!r}, not "
                f"{_shown(pair)}: a reported outcome cannot be changed"
            )
    return {arm: pair for arm, pair in given.items() if arm not in known}


def _shown(pair: Outcome) -> str:
    reward, weight = pair
    return f"{reward:g}" if weight == 1.0 else f"({reward * weight:g}, {weight:g})"


def _id_of(decision: object) -> str:
    """Return the id of a decision that a user has given."""
    if isinstance(decision, Decision):
        return decision.id
    if isinstance(decision, int | np.integer) and not isinstance(decision, bool):
        return str(decision)  # the id of a decision in a file of version 0.8 or earlier
    if not isinstance(decision, str):
        raise InputError(f"decision must be a Decision or its id, not {short_repr(decision)}")
    return decision


def _number_in(id_: str) -> int:
    """Return the number of a decision from its id; 0 if it has none."""
    digits = id_.partition("-")[0]
    return int(digits) if digits.isascii() and digits.isdigit() and len(digits) <= 10 else 0


def _described(
    entry: Entry,
    arms: tuple[Arm, ...],
    ids: dict[int, str],
    of_decision: Callable[[int], list[Entry]],
) -> dict[str, Any]:
    """Return an entry as JSON values, with the names of arms and the ids of decisions."""
    body, number = entry.body, entry.decision
    found: dict[str, Any] = {
        "number": entry.number,
        "time": datetime.fromtimestamp(entry.time, UTC).isoformat(),
        "kind": entry.kind,
    }
    if number is not None:
        if entry.kind == "decide":
            ids[number] = body["id"]
        elif number not in ids:
            made = (one for one in of_decision(number) if one.kind == "decide")
            ids[number] = next((one.body["id"] for one in made), str(number))
        found["decision"] = ids[number]
    if entry.kind == "decide":
        found |= {"arm": arms[body["arm"]], "probability": body["p"]}
        found |= {key: body[key] for key in ("context",) if key in body}
    elif entry.kind in ("observe", "close"):
        pairs = outcomes_of(body)
        found["outcomes"] = {
            str(arms[arm]): reward if weight == 1.0 else [reward * weight, weight]
            for arm, (reward, weight) in pairs.items()
        }
        found |= {key: body[key] for key in ("closes", "late", "reason") if key in body}
    elif entry.kind in ("pause", "resume", "retire"):
        found["arms"] = [arms[arm] for arm in body["arms"]]
    elif entry.kind == "add_arm":
        found |= {"arm": body["name"], "prior": body["prior"]}
    elif entry.kind == "learn":
        found |= body
    elif entry.kind in ("create", "set_policy"):
        found["policy"] = body["policy"]
    return found
