"""The methods that an agent and a client of a service share: :class:`AgentMethods`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from datetime import timedelta
from typing import TYPE_CHECKING, Any, overload

from graphbandits.errors import InputError, short_repr
from graphbandits.live import operations
from graphbandits.live.decision import Decision
from graphbandits.live.operations import Operation

# a client imports no kernels
if TYPE_CHECKING:
    from graphbandits.graphs import GraphLike
    from graphbandits.live.decision import Explanation
    from graphbandits.live.health import Health
    from graphbandits.live.log import DecisionLog
    from graphbandits.live.setup import EdgesLike
    from graphbandits.live.state import Reward
    from graphbandits.policies import Policy
    from graphbandits.posteriors import Arm, BeliefsByArm


class AgentMethods(ABC):
    """Methods of :class:`graphbandits.Agent` and :class:`graphbandits.Client`."""

    @abstractmethod
    def _perform(self, operation: Operation) -> Any:
        """Carry out an operation, and return its result."""

    # Reading --------------------------------------------------------------------------------------

    @abstractmethod
    def status(self) -> dict[str, Any]:
        """Count decisions and outcomes.

        Returns
        -------
        dict
            ``name``, ``policy``, number of ``arms``, ``decisions``, ``open`` ones, ``expired``
            ones, ``outcomes`` of decisions, ``learned`` outcomes without a decision, ``late``
            outcomes, names of ``paused`` and ``retired`` arms, and ``entries`` of the journal.
        """

    @abstractmethod
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
            Number of entries, the newest ones. The default is all that were not removed.
        after : int, optional
            Number of the entry after which to start.
        decision : Decision or str, optional
            Return the entries of this decision (or its id) only.

        Returns
        -------
        list of dict
            ``number``, ``time``, ``kind``, ``decision`` (the id) and what belongs to the kind.
        """

    @abstractmethod
    def log(self) -> DecisionLog:
        """Return all decisions with their probabilities and outcomes, as a table.

        Decisions whose entries were removed by :meth:`forget` are not in it. Decisions that have
        expired by now are closed.

        Returns
        -------
        DecisionLog
            One row per decision.

        Examples
        --------
        >>> from graphbandits import Agent
        >>> agent = Agent("ts-n", arms=["ann", "bob"], seed=1)
        >>> agent.observe(agent.decide(among=["bob"]), {"bob": 1})
        >>> agent.log().to_arrow()["eligible"].to_pylist()
        [['bob']]
        """

    @abstractmethod
    def beliefs(self, accuracy: str | None = None, estimate: bool = False) -> BeliefsByArm:
        """Compute the current statistics alpha, Delta and h of each arm that can be played.

        Parameters
        ----------
        accuracy : {"simulation", "strict"}, optional
            Accuracy of the statistics. The default is that of the agent.
        estimate : bool, default=False
            Whether to estimate the ``error``: absolute with "simulation", relative with "strict".

        Returns
        -------
        BeliefsByArm
            Statistics by arm, without paused and retired arms.

        Raises
        ------
        InputError
            If the policy has no posterior.

        Examples
        --------
        >>> from graphbandits import Agent
        >>> agent = Agent("ids-n", ["ann", "bob"], prior=[(80, 20), (20, 80)], seed=1)
        >>> found = agent.beliefs("strict", estimate=True)
        >>> f"{found['bob'].alpha:.8g}", found.arms[found.alpha.argmax()], found.error < 1e-8
        ('5.342731e-19', 'ann', True)
        """

    @abstractmethod
    def health(self, level: float = 0.01) -> Health:
        """Report whether outcomes contradict the posterior, and which answers are missing.

        A sequential test compares the outcomes with the predictions of the posterior. If the model
        is right and the parameters of the arms are drawn from the prior, the probability that it
        ever warns is at most ``level``, however often it is called. :meth:`reset` starts it again,
        and so does :meth:`forget`, from what was learned.

        Parameters
        ----------
        level : float, default=0.01
            Level of the tests, between 0 and 1.

        Returns
        -------
        Health
            Warnings, counts, the test, and the shares of answers by arm.

        Examples
        --------
        >>> from graphbandits import Agent
        >>> agent = Agent("ts-n", arms=["ann", "bob"], seed=1)
        >>> agent.learn({"ann": (30, 50), "bob": (25, 50)}), agent.health().verdict
        (100, 'ok')
        >>> agent.learn({"ann": (0, 40), "bob": (21, 40)})  # the tracking of ann is broken
        80
        >>> agent.health().verdict, agent.health().test.arms[0].arm
        ('warning', 'ann')
        """

    @abstractmethod
    def trend(self, points: int = 200) -> dict[str, Any]:
        """Return how expected regret, information ratio and entropy have developed.

        The statistics of a decision are those with which it was made, as in :meth:`explain`. Of
        more than 400 decisions, some at equal distances are chosen.

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
        """

    @abstractmethod
    def find_arms(self, search: str = "", limit: int = 20) -> tuple[list[dict[str, Any]], int]:
        """Return statistics of the arms whose names contain a text, the most relevant ones first.

        Parameters
        ----------
        search : str, default=""
            The text, in upper or lower case. The default matches all arms.
        limit : int, default=20
            Largest number of arms to return.

        Returns
        -------
        arms : list of dict
            Rows as those of :meth:`overview`: arms whose names start with the text, then those that
            are most likely the best.
        count : int
            Number of all arms that match.
        """

    @abstractmethod
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
        """

    @abstractmethod
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
            Whether to return open decisions only.

        Returns
        -------
        list of dict
            ``id``, ``number``, ``arm``, ``probability``, ``time``, ``expires``, ``status`` ("open",
            "closed" or "expired"), ``outcomes`` by arm, and the arms of ``late`` outcomes.
        """

    @abstractmethod
    def decision(self, id: str) -> Decision:
        """Return a decision, open or closed.

        Parameters
        ----------
        id : str
            Id of the decision.

        Returns
        -------
        Decision
            The decision. An unknown or removed one is an InputError.
        """

    @abstractmethod
    def explain(self, decision: Decision | str, arms: int = 5) -> Explanation:
        """Explain why an arm was played, with the state before the decision.

        Later outcomes and changes of policy, graph and arms do not change the explanation.

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

        Examples
        --------
        >>> from graphbandits import Agent
        >>> agent = Agent("ids-n", ["ann", "bob"], prior={"ann": (8, 2), "bob": (1, 1)}, seed=1)
        >>> [round(one.alpha, 2) for one in agent.explain(agent.decide()).arms]
        [0.8, 0.2]
        """

    @abstractmethod
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
        """

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
            Whether the arms of the ``n`` decisions must differ. Each is decided among the arms that
            are left; its ``pi`` is conditional on the earlier ones.
        among, exclude : iterable of arms, optional
            Arms that may be played, or that may not. The statistics are those of the best arm that
            may be played.
        graph : graph, optional
            Graph of these decisions, if it differs from that of the agent.
        context : object, optional
            JSON value that is kept with the decision.
        pending : {"ignore", "expected"}, default="ignore"
            Whether outcomes of open decisions are ignored, or counted by their expectation: then
            the posterior is narrower, with the same mean, and further decisions try other arms.
        expires : timedelta or float, optional
            Time after which these decisions expire, if it differs from that of the agent.
        request : str, optional
            Key of this request, chosen by the caller. The same request with the same key within
            seven days returns the same decisions; another request with this key is a ConflictError.

        Returns
        -------
        Decision or list of Decision
            Arm to play, and the arms that may be observed.

        Examples
        --------
        >>> from graphbandits import Agent
        >>> agent = Agent("ts-n", arms=["ann", "bob", "eve"], seed=1)
        >>> sorted(one.arm for one in agent.decide(2, distinct=True, exclude=["bob"]))
        ['ann', 'eve']
        """
        count, seconds = 1 if n is None else n, seconds_of(expires)
        asked = count, distinct, among, exclude, graph, context, pending, seconds
        made: list[Decision] = self._perform(operations.Decide(*asked, request=request))
        return made[0] if n is None else made

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
        same outcome may be reported again: it counts once. Outcomes of an expired decision are kept
        in the journal, counted as ``late`` in :meth:`status`, and not learned. If early outcomes
        contradict the prior, :class:`graphbandits.errors.InputWarning` is issued once.

        Parameters
        ----------
        decision : Decision or str
            The decision, or its id.
        outcomes : mapping of arm to float or pair
            Observed rewards, without the arms that were not observed. A pair (total, count) stands
            for several outcomes of an arm: (successes, trials) of Bernoulli arms, (sum, number) of
            Gaussian rewards, (events, exposure) of counts.
        partial : bool, default=False
            Whether more outcomes of this decision may come. Policies that divide by probabilities
            of observation, such as ``exp3-ix``, learn when the decision is closed.
        extra : bool, default=False
            Whether outcomes of arms are accepted that the decision did not reveal.

        Raises
        ------
        InputError
            If the decision is unknown or closed, an arm or a reward is not allowed, or another
            reward was reported before.

        Examples
        --------
        >>> from graphbandits import Agent
        >>> agent = Agent("ts-n", arms=["ann", "bob"], graph="complete", seed=1)
        >>> agent.observe(agent.decide(), {"ann": (3, 10), "bob": 1})
        >>> agent.state["b"]
        {'ann': 8.0, 'bob': 1.0}
        """
        self._perform(operations.Observe(id_of(decision), outcomes, partial, extra))

    def observe_many(
        self,
        outcomes: Mapping[Decision | str, Mapping[Arm, Reward]],
        *,
        partial: bool = False,
        extra: bool = False,
        request: str | None = None,
    ) -> None:
        """Learn from outcomes of several decisions, in one transaction: all of them, or none.

        Parameters
        ----------
        outcomes : mapping of Decision or str to mapping
            Observed rewards by arm, for each decision or its id.
        partial, extra : bool, default=False
            As in :meth:`observe`, for all of these decisions.
        request : str, optional
            Key of this request, as in :meth:`decide`. The same request again changes nothing.

        Examples
        --------
        >>> from graphbandits import Agent
        >>> agent = Agent("ts-n", arms=["ann", "bob"], graph="complete", seed=1)
        >>> first, second = agent.decide(2)
        >>> agent.observe_many({first: {"ann": 1, "bob": 0}, second.id: {"bob": 1}})
        """
        self._perform(operations.ObserveMany(_by_id(outcomes), partial, extra, request))

    def close(self, decision: Decision | str) -> None:
        """Close a decision: no more outcomes of it are expected. It stays closed.

        Parameters
        ----------
        decision : Decision or str
            The decision, or its id.
        """
        self._perform(operations.Close(id_of(decision)))

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
        >>> from graphbandits import Agent
        >>> agent = Agent("ids-n", arms=["ann", "bob"], seed=1)
        >>> agent.learn({"ann": (30, 100), "bob": 1}, key="last year")
        101
        >>> agent.learn({"ann": (30, 100), "bob": 1}, key="last year")
        0
        """
        learned: int = self._perform(operations.Learn(table, key, unknown))
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
            Neighbours in both directions; with probabilities if it is a mapping.
        reveals, revealed_by : iterable of arms or mapping of arm to float, optional
            Arms that the new one reveals, or that reveal it. Without any edges, a graph for any
            number of arms, such as "complete", is extended; in other graphs the arm has no
            neighbours.

        Examples
        --------
        >>> from graphbandits import Agent
        >>> agent = Agent("ids-n", arms=["ann", "bob"], graph="edges(1-2)", seed=1)
        >>> agent.add_arm("eve", prior=(1, 9), edges=["ann"])
        >>> agent.decide(among=["eve"]).reveals
        {'ann': 1.0, 'eve': 1.0}
        """
        self._perform(operations.AddArm(name, prior, edges, reveals, revealed_by))

    def retire(self, *arms: Arm) -> None:
        """Retire arms: they are not played and not revealed any more.

        Parameters
        ----------
        *arms : str or int
            The arms.
        """
        self._perform(operations.Retire(arms))

    def pause(self, *arms: Arm) -> None:
        """Pause arms: they are not played until :meth:`resume`, but may be observed.

        Parameters
        ----------
        *arms : str or int
            The arms.
        """
        self._perform(operations.Pause(arms))

    def resume(self, *arms: Arm) -> None:
        """Allow paused arms to be played again.

        Parameters
        ----------
        *arms : str or int
            The arms.
        """
        self._perform(operations.Resume(arms))

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
        NeedsError
            If the policy needs another kind of graph.
        """
        self._perform(operations.SetGraph(graph, weight))

    def set_policy(self, policy: str | Policy, reset: bool = False) -> None:
        """Replace the policy, and keep what was learned.

        Parameters
        ----------
        policy : str or Policy
            The new policy.
        reset : bool, default=False
            Whether to :meth:`reset` the agent first. It is required unless both policies have a
            posterior.
        """
        self._perform(operations.SetPolicy(policy, reset))

    def reset(self) -> None:
        """Return to the prior and close all open decisions.

        Later outcomes of these decisions are journaled as late, and not learned.
        """
        self._perform(operations.Reset())


def id_of(decision: object) -> str:
    if isinstance(decision, Decision):
        return decision.id
    if not isinstance(decision, str):
        raise InputError(f"decision must be a Decision or its id, not {short_repr(decision)}")
    return decision


def seconds_of(value: timedelta | float | None) -> float | None:
    return value.total_seconds() if isinstance(value, timedelta) else value


def _by_id(outcomes: Any) -> Any:
    if not isinstance(outcomes, Mapping):
        raise InputError(
            f"outcomes must be a mapping {{decision: {{arm: reward}}}}, not {short_repr(outcomes)}"
        )
    found = dict[str, Any]()
    for decision, rewards in outcomes.items():
        id_ = id_of(decision)
        if id_ in found:
            raise InputError(f"the decision {id_} is given twice: give all its outcomes once")
        found[id_] = rewards
    return found
