"""Client of the decision service: an agent of ``graphbandits serve``, with the methods of Agent."""

from __future__ import annotations

import dataclasses
import io
import ipaddress
import json
import math
import os
import random
import threading
import warnings
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from email.utils import parsedate_to_datetime
from itertools import count
from numbers import Integral, Real
from time import monotonic, sleep
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar, cast, overload
from urllib.parse import quote
from uuid import uuid4

try:
    import httpx
except ImportError:
    raise ImportError(
        "the client needs httpx: python -m pip install 'graphbandits[serve]'"
    ) from None

from graphbandits._version import __version__
from graphbandits.errors import (
    ConflictError,
    GraphBanditsError,
    InputError,
    InputWarning,
    NotFoundError,
    StoreError,
    UncertainError,
    check_bool,
    check_integer,
    check_positive,
    short_repr,
)

# modules that compile kernels, or that read files, are imported when they are used
if TYPE_CHECKING:
    from graphbandits.graphs import GraphLike, Process
    from graphbandits.live.decision import Decision
    from graphbandits.live.explanation import Explanation
    from graphbandits.live.health import Health
    from graphbandits.live.log import DecisionLog
    from graphbandits.live.outcomes import Reward
    from graphbandits.live.setup import EdgesLike
    from graphbandits.policies import Policy
    from graphbandits.posteriors import Arm, BeliefsByArm, Posterior

T = TypeVar("T")
#: Environment variable with the default token.
TOKEN_VARIABLE = "GRAPHBANDITS_TOKEN"
#: Pause before the second attempt, and longest pause, in seconds.
FIRST_PAUSE, LONGEST_PAUSE = 0.1, 5.0
#: Longest time to open a connection, in seconds.
CONNECT_SECONDS = 5.0
#: Most rows of one answer of the service.
MOST_ROWS = 1000
#: Characters of an unexpected answer in a message.
SHOWN = 80
#: Error of each status; the others are a GraphBanditsError.
ERRORS: dict[int, type[GraphBanditsError]] = {
    **dict.fromkeys((400, 401, 403, 413, 415, 422), InputError),
    404: NotFoundError,
    409: ConflictError,
    **dict.fromkeys((408, 429, 503), StoreError),
}
#: Statuses of requests that were not carried out, and may be tried again.
AGAIN = (429, 503)
#: Errors of requests that were not sent.
NOT_SENT = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout)
#: Errors that a second attempt does not change.
FINAL = (httpx.UnsupportedProtocol, httpx.LocalProtocolError, httpx.TooManyRedirects)
#: Keys of :meth:`Client.status`, in the order of those of an agent.
STATUS = (
    *("name", "policy", "arms", "decisions", "open", "expired", "outcomes", "learned", "late"),
    *("paused", "retired", "entries"),
)
#: Members of Agent that need its store, and what to use instead.
REFUSED = {
    "at": "Agent(store=STORE).at(time)",
    "backup": "'graphbandits agent backup STORE'",
    "compact": "'graphbandits agent compact STORE'",
    "figure": "Agent(store=STORE).figure(), or the dashboard of the service",
    "forget": "'graphbandits agent forget STORE'",
    "process": "Agent(store=STORE).process, or neighbourhood() for the edges",
    "save": "Agent(store=STORE).save(path), or log() for the decisions",
    "verify": "'graphbandits agent verify STORE'",
}
#: Random pauses do not use the random numbers of the program.
_RANDOM = random.SystemRandom()


class Client:
    """Agent of a decision service, with the methods of :class:`graphbandits.Agent`.

    A program changes from an agent to a client by one line: ``service`` replaces ``store``. The
    arguments, results and errors are the same, with these exceptions:

    - :attr:`policy` and :attr:`posterior` are texts.
    - Members that need the store itself raise InputError: ``at``, ``backup``, ``compact``,
      ``figure``, ``forget``, ``process``, ``save`` and ``verify``.
    - Warnings of the agent, such as that rewards contradict the prior, stay in the service. Its log
      has them, and :meth:`health` reports contradictions.
    - Errors of policies that need other information are InputError, not NeedsError.

    Threads may share a client. A process that was forked needs its own.

    A token of the role "admin" is needed to create an agent, to change it, and to compare settings
    with those of an agent. With another token, give ``service``, ``name`` and ``token`` only.

    Requests that were not answered are sent again, with growing pauses, until ``timeout`` has
    passed: :meth:`decide`, :meth:`observe` and :meth:`observe_many` carry a key, so that the
    service carries them out once. Other changes are sent again only if they were certainly not
    carried out. Then StoreError is raised.

    Parameters
    ----------
    policy : str or Policy, optional
        Policy as text form or object. It is required for a new agent. Without it, the agent must
        exist.
    arms : int or iterable of str or int, optional
        Names of the arms, or their number.
    graph : str, mapping, array, Process or other graph, optional
        Feedback graph, in any form that :func:`graphbandits.as_process` accepts, or a mapping such
        as ``{"edges": [["ann", "bob", 0.5]], "directed": False}``. A text is sent as it is; a file
        and any other object are converted to edges, for which the graph must be the same in all
        rounds. The default for a new agent is "empty".
    service : str or httpx.Client
        Address of the service, such as "http://localhost:8000"; or a client of httpx with a
        ``base_url``, for proxies, certificates and tests. The latter is not closed, and its own
        settings of connections are used.
    seed : int, optional
        Seed of the random draws. By default a random one.
    posterior : str or Posterior, optional
        Model of the rewards.
    prior : object, optional
        Parameters of the prior in addition to those of ``posterior``.
    horizon : int, optional
        Number of rounds, for policies that need it.
    trial : int, optional
        Number of the trial.
    accuracy : {"simulation", "strict"}, optional
        Accuracy of the statistics.
    expires : timedelta or float, optional
        Time after which an open decision expires, in seconds if it is a number.
    floor : float, optional
        Probability of exploration that is mixed into every decision.
    floor_over : {"arms", "dominating-set"}, default="arms"
        Arms over which it is spread.
    weight : str or None, default="auto"
        For a NetworkX graph: the edge attribute with the probabilities; None to ignore all
        attributes.
    name : str, default="default"
        Name of the agent in the store of the service.
    token : str, optional
        Token of the service. The default is the environment variable GRAPHBANDITS_TOKEN. Use
        https, unless the service is on this computer.
    timeout : float, default=30
        Seconds in which a request must be answered, with all attempts.

    Raises
    ------
    InputError
        If a value is not allowed, the agent is unknown, or it has other settings.
    StoreError
        If the service does not answer, or its database does not work at the moment.

    Examples
    --------
    The service of this example runs in the same process; ``service`` is usually its address.

    >>> from tempfile import TemporaryDirectory
    >>> from starlette.testclient import TestClient
    >>> from graphbandits.live.store import open_store
    >>> from graphbandits.service.app import create_app
    >>> from graphbandits.service.settings import Settings
    >>> folder = TemporaryDirectory()
    >>> open_store(f"{folder.name}/campaign.db").close()
    >>> app = create_app(Settings(store=f"{folder.name}/campaign.db"))
    >>> server = TestClient(app, "http://localhost:8000")
    >>> users = ["ann", "bob", "eve"]
    >>> with server, Client("ids-n", arms=users, graph="star", service=server, seed=1) as agent:
    ...     decision = agent.decide()
    ...     agent.observe(decision, {"ann": 1}, partial=True)
    ...     agent.observe(decision.id, {"bob": 0})
    ...     decision.arm, agent.status()["outcomes"]
    ('ann', 2)
    >>> folder.cleanup()
    """

    def __init__(
        self,
        policy: str | Policy | None = None,
        arms: int | Iterable[Arm] | None = None,
        graph: GraphLike = None,
        *,
        service: str | httpx.Client,
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
        name: str = "default",
        token: str | None = None,
        timeout: float = 30.0,
    ) -> None:
        if not isinstance(name, str) or not name:
            raise InputError(f"the name of an agent must be a text, not {short_repr(name)}")
        if floor is None and floor_over != "arms":
            raise InputError(
                f"floor_over={floor_over!r} needs a floor: give floor, such as floor=0.02"
            )
        if floor is not None and policy is None:
            raise InputError(
                "the floor is part of the policy: give the policy, too; or omit both to open an "
                "agent"
            )
        self.name = name
        self._arms: tuple[Arm, ...] = ()
        settings = _settings(arms, graph, weight, posterior, prior) | {
            "seed": seed,
            "horizon": horizon,
            "trial": trial,
            "accuracy": accuracy,
            "expires": _seconds(expires),
        }
        if floor is not None:
            settings |= {"floor": floor, "floor_over": floor_over}
        settings = {key: value for key, value in settings.items() if value is not None}
        self._service = _Service(service, token, timeout)
        if policy is None:
            found = self._description()
            if settings:  # the service compares them with those of the agent
                found = self._create(found["policy"], settings)
        else:
            found = self._create(_policy_text(policy), settings)
        self._integers = found["arm_names"] == "integer"
        self._seed: int = found["seed"]
        self._horizon: int | None = found["horizon"]

    def _create(self, policy: str, settings: Mapping[str, Any]) -> dict[str, Any]:
        """Create the agent, or open it if it has the same settings; return its description."""
        body = {"name": self.name, "policy": policy, **settings}
        found: dict[str, Any] = self._service.post("agent", ("agents",), body, again=True)
        return found

    def _description(self) -> dict[str, Any]:
        found: dict[str, Any] = self._service.get("agent", self._path())
        return found

    def _path(self, *parts: str) -> tuple[str, ...]:
        return ("agents", self.name, *parts)

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.disconnect()

    def __repr__(self) -> str:
        return f"Client(service={self._service.place!r}, name={self.name!r})"

    # Reading --------------------------------------------------------------------------------------

    @property
    def policy(self) -> str:
        """Text form of the policy."""
        return str(self._description()["policy"])

    @property
    def arms(self) -> tuple[Arm, ...]:
        """Names of the arms, including paused and retired ones."""
        if len(self._arms) != self._description()["arms"]:  # arms are added, and never removed
            rows, all_ = self._all_arms()
            self._arms = tuple(row["arm"] for row in rows) if all_ else self.log().arms
        return self._arms

    def _all_arms(self) -> tuple[list[dict[str, Any]], bool]:
        """Return the statistics of the arms in their order, and whether these are all arms."""
        rows, found = self.find_arms(limit=MOST_ROWS)
        return sorted(rows, key=lambda row: int(row["number"])), len(rows) == found

    @property
    def posterior(self) -> str | None:
        """Text form of the prior of the arms; None if it has none."""
        found = self._description()["posterior"]
        return None if found is None else str(found)

    @property
    def process(self) -> NoReturn:
        """Not available: it needs the store."""
        raise _refusal("process")

    @property
    def horizon(self) -> int | None:
        """Number of rounds, if it was given."""
        return self._horizon

    @property
    def seed(self) -> int:
        """Seed of the random draws."""
        return self._seed

    @property
    def state(self) -> dict[str, dict[Arm, float]]:
        """State of the policy by arm, as in Agent; values that are not finite are None."""
        rows, all_ = self._all_arms()
        if not all_:
            raise InputError(
                f"the service lists the state of at most {MOST_ROWS} arms, and the agent "
                f"'{self.name}' has more: use find_arms() for some of them, or "
                "Agent(store=STORE).state where the store is"
            )
        return {
            name: {row["arm"]: row["state"][name] for row in rows}
            for name in rows[0]["state"]
            if not any(isinstance(row["state"][name], list) for row in rows)
        }

    @property
    def pending(self) -> tuple[str, ...]:
        """Ids of the open decisions."""
        return tuple(self._service.get("pending", self._path("pending")))

    def status(self) -> dict[str, Any]:
        """Count decisions and outcomes.

        Returns
        -------
        dict
            As :meth:`graphbandits.Agent.status`.
        """
        found = self._description()
        return {key: found[key] for key in STATUS}

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
        if after is not None:
            check_integer(after, "after", least=0)
        found: list[dict[str, Any]] = self._service.get(
            "entries",
            self._path("history"),
            last=MOST_ROWS if last is None else last,
            after=after,
            decision=None if decision is None else _id_of(decision),
        )
        if last is None and len(found) == MOST_ROWS and found[0]["number"] != (after or 0) + 1:
            raise InputError(
                f"the service returns at most {MOST_ROWS} entries: use history({MOST_ROWS}) for "
                "the newest ones, log() for all decisions, or 'graphbandits agent history STORE'"
            )
        return found

    def log(self) -> DecisionLog:
        """Return all decisions with their probabilities and outcomes, as a table.

        Returns
        -------
        DecisionLog
            One row per decision.
        """
        response = self._service.send("GET", self._path("log"), params={"format": "parquet"})
        from pyarrow import ArrowException, parquet

        from graphbandits.live.log import DecisionLog

        try:
            table = parquet.read_table(io.BytesIO(response.content))
        except ArrowException:
            raise self._service.foreign(response) from None
        return DecisionLog.of(table)

    def beliefs(self, accuracy: str | None = None, estimate: bool = False) -> BeliefsByArm:
        """Compute the current statistics alpha, Delta and h of each arm that is active.

        Parameters
        ----------
        accuracy : {"simulation", "strict"}, optional
            Accuracy of the statistics. The default is that of the agent.
        estimate : bool, default=False
            Whether the result has an estimated ``error``.

        Returns
        -------
        BeliefsByArm
            Statistics by arm.

        Raises
        ------
        InputError
            If the policy has no posterior.
        """
        check_bool(estimate, "estimate")
        answer = self._service.answer(
            "GET",
            self._path("beliefs"),
            params={"accuracy": accuracy, "estimate": estimate},
            key="beliefs",
        )
        import numpy as np

        from graphbandits.posteriors import BeliefsByArm

        rows = answer["beliefs"]
        arms = tuple(map(self._arm, rows))
        alpha, delta, h = (
            np.array([row[name] for row in rows.values()], np.float64)
            for name in ("alpha", "delta", "h")
        )
        error = answer.get("error_estimate")
        place = {arm: i for i, arm in enumerate(arms)}
        return BeliefsByArm(arms, alpha, delta, h, answer["rho"], error, place)

    def health(self, level: float = 0.01) -> Health:
        """Report whether outcomes contradict the posterior, and which answers are missing.

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
        """
        from graphbandits.live.health import ArmAnswers, ArmTest, Health, PosteriorTest, check_level

        found = self._service.get("health", self._path("health"), level=check_level(level))
        test = found["test"]
        if test is not None:
            time = test["highest_time"]
            test |= {
                "highest_time": None if time is None else datetime.fromisoformat(time),
                "arms": tuple(_made(ArmTest, row) for row in test["arms"]),
            }
        return _made(
            Health,
            found
            | {
                "warnings": tuple(found["warnings"]),
                "notes": tuple(found["notes"]),
                "answers": tuple(_made(ArmAnswers, row) for row in found["answers"]),
                "test": None if test is None else _made(PosteriorTest, test),
            },
        )

    def trend(self, points: int = 200) -> dict[str, Any]:
        """Return how expected regret, information ratio and entropy have developed.

        Parameters
        ----------
        points : int, default=200
            Largest number of decisions to return.

        Returns
        -------
        dict
            As :meth:`graphbandits.Agent.trend`.
        """
        most = check_integer(points, "points")
        return self._service.answer(
            "GET", self._path("trend"), params={"points": most}, key="decision"
        )

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
            Rows as those of :meth:`overview`.
        found : int
            Number of arms that were found.
        """
        if not isinstance(search, str):
            raise InputError(f"search must be a text, not {short_repr(search)}")
        params = {"search": search or None, "limit": check_integer(limit, "limit")}
        answer = self._service.answer("GET", self._path("arms"), params=params, key="arms")
        return answer["arms"], answer["found"]

    def neighbourhood(self, around: Iterable[Arm] = (), limit: int = 2000) -> dict[str, Any]:
        """Return arms with their statistics, and the edges between them.

        Parameters
        ----------
        around : iterable of arms, default=()
            Arms to start from.
        limit : int, default=2000
            Largest number of arms to return.

        Returns
        -------
        dict
            As :meth:`graphbandits.Agent.neighbourhood`.
        """
        params = {
            "around": [self._key(arm) for arm in _arm_list(around, "around")],
            "limit": check_integer(limit, "limit"),
        }
        return self._service.answer("GET", self._path("graph"), params=params, key="edges")

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
            As :meth:`graphbandits.Agent.decisions`.
        """
        check_integer(limit, "limit")
        check_bool(only_open, "only_open")
        end = None if before is None else check_integer(before, "before")
        found, more = list[dict[str, Any]](), True
        while more and len(found) < limit:
            most = min(limit - len(found), MOST_ROWS)
            params = {"open": only_open, "limit": most, "before": end}
            path = self._path("decisions")
            answer = self._service.answer("GET", path, params=params, key="decisions")
            found += answer["decisions"]
            more, end = answer["more"], found[-1]["number"] if found else None
        return found

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
        NotFoundError
            If the agent has not made this decision, or its record was removed.
        """
        path = self._path("decisions", _id_of(id))
        found = self._service.get("decision", path, explain=False, pi=True)
        return self._decision(found)

    def explain(self, decision: Decision | str, arms: int = 5) -> Explanation:
        """Explain why an arm was played.

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
        """
        answer = self._service.answer(
            "GET",
            self._path("decisions", _id_of(decision)),
            params={"explain": True, "arms": check_integer(arms, "arms"), "pi": True},
            key="decision",
        )
        found = answer["explanation"]
        if found is None:
            raise InputError(answer["note"])
        from graphbandits.live.explanation import ExplainedArm, Explanation

        listed = [row | {"reveals": self._by_arm(row["reveals"])} for row in found["arms"]]
        return _made(
            Explanation,
            found
            | {
                "decision": self._decision(answer["decision"]),
                "arms": tuple(_made(ExplainedArm, row) for row in listed),
                "frontier": tuple(found["frontier"]),
                "notes": tuple(found["notes"]),
                "points": _points(found.get("points")),
            },
        )

    def overview(self, arms: int = 10, last: int = 5) -> dict[str, Any]:
        """Return the beliefs, plays and outcomes by arm, and the last decisions, as JSON values.

        Parameters
        ----------
        arms : int, default=10
            Number of arms to list.
        last : int, default=5
            Number of decisions to list.

        Returns
        -------
        dict
            As :meth:`graphbandits.Agent.overview`.
        """
        params = {
            "arms": check_integer(arms, "arms"),
            "last": check_integer(last, "last", least=0),
        }
        return self._service.answer("GET", self._path("overview"), params=params, key="status")

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
        pi: bool = True,
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
        pi: bool = True,
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
        pi: bool = True,
    ) -> Decision | list[Decision]:
        """Make the next decision, or several decisions at one moment.

        Parameters
        ----------
        n : int, optional
            Number of decisions, which are returned as a list. By default one decision is returned.
        distinct : bool, default=False
            Whether the arms of the ``n`` decisions must differ.
        among, exclude : iterable of arms, optional
            Arms that may be played, or that may not.
        graph : graph, optional
            Graph of these decisions, if it is known and differs from that of the agent.
        context : object, optional
            JSON value that is kept with the decision.
        pending : {"ignore", "expected"}, default="ignore"
            Whether outcomes that are expected from open decisions are ignored, or counted by their
            expectation.
        expires : timedelta or float, optional
            Time after which these decisions expire, if it differs from that of the agent.
        request : str, optional
            Key of this request. If the same request is made again with the same key within seven
            days, its decisions are returned again, and none is made. The default is a random key,
            which further attempts of this call use.
        pi : bool, default=True
            Whether the decisions have the probabilities of all arms. With very many arms, False
            makes answers shorter; then ``pi`` of a decision is None, and :meth:`decision` reads it.

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
        StoreError
            If the service does not answer. The message has the key of the request: with
            ``request``, the same call can be repeated later, and no decision is made twice.
        """
        body = {
            "n": check_integer(1 if n is None else n, "n"),
            "distinct": check_bool(distinct, "distinct") or None,
            "among": None if among is None else _arm_list(among, "among"),
            "exclude": None if exclude is None else _arm_list(exclude, "exclude"),
            "graph": self._graph(graph, "auto"),
            "context": None if context is None else _json_value(context),
            "pending": None if pending == "ignore" else pending,
            "expires": _seconds(expires),
            "pi": check_bool(pi, "pi"),
        }
        found = self._service.post(
            "decisions", self._path("decisions"), _without_none(body), request=_key_of(request)
        )
        made = [self._decision(one) for one in found]
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

        Without ``partial`` the decision is closed. If an exception is raised, nothing changes,
        unless it is a StoreError. The same outcome may be reported again: it counts once.

        Parameters
        ----------
        decision : Decision or str
            The decision, or its id.
        outcomes : mapping of arm to float or pair
            Observed rewards, or pairs (total, count) for several outcomes of an arm.
        partial : bool, default=False
            Whether more outcomes of this decision may come.
        extra : bool, default=False
            Whether outcomes of arms are accepted that the decision did not reveal.

        Raises
        ------
        InputError
            If the agent has not made this decision, if it is closed, if an arm or a reward is not
            allowed, or if another reward was reported before.
        """
        id_ = _id_of(decision)
        check_bool(partial, "partial")
        check_bool(extra, "extra")
        self._report({id_: self._outcomes(outcomes)}, partial, extra, None)

    def observe_many(
        self,
        outcomes: Mapping[Decision | str, Mapping[Arm, Reward]],
        *,
        partial: bool = False,
        extra: bool = False,
        request: str | None = None,
    ) -> None:
        """Learn from outcomes of several decisions: all of them, or none.

        Parameters
        ----------
        outcomes : mapping of Decision or str to mapping
            Observed rewards by arm, for each decision or its id.
        partial, extra : bool, default=False
            As in :meth:`observe`, for all of these decisions.
        request : str, optional
            Key of this request. Another request with the same key within seven days is an error;
            the same one again changes nothing. The default is a random key.

        Raises
        ------
        InputError
            As in :meth:`observe`; then nothing was learned.
        ConflictError
            If another request was made with this key.
        """
        check_bool(partial, "partial")
        check_bool(extra, "extra")
        if not isinstance(outcomes, Mapping):
            raise InputError(
                "outcomes must be a mapping {decision: {arm: reward}}, not "
                f"{short_repr(outcomes)}"
            )
        given = dict[str, dict[str, Any]]()
        for decision, rewards in outcomes.items():
            id_ = _id_of(decision)
            if id_ in given:
                raise InputError(f"the decision {id_} is given twice: give all its outcomes once")
            given[id_] = self._outcomes(rewards)
        self._report(given, partial, extra, request)

    def _report(
        self, outcomes: Mapping[str, Any], partial: bool, extra: bool, request: str | None
    ) -> None:
        body = {"outcomes": outcomes, "partial": partial, "extra": extra}
        self._service.post("accepted", self._path("outcomes"), body, request=_key_of(request))

    def close(self, decision: Decision | str) -> None:
        """Close a decision: no more outcomes of it are expected.

        Parameters
        ----------
        decision : Decision or str
            The decision, or its id.

        Raises
        ------
        NotFoundError
            If the agent has not made this decision.
        """
        self._change("close", id=_id_of(decision))

    def learn(self, table: object, *, key: str | None = None, unknown: str = "error") -> int:
        """Learn from outcomes without a decision, such as earlier data.

        The rows of a table are sent in one request, whose size the service limits.

        Parameters
        ----------
        table : mapping, data frame, table or path
            As for :meth:`graphbandits.Agent.learn`. A file is read by the client.
        key : str, optional
            Name of the data. Data with the same key is learned once.
        unknown : {"error", "skip"}, default="error"
            What to do with outcomes of arms that the agent does not have.

        Returns
        -------
        int
            Number of outcomes that were learned.

        Raises
        ------
        InputError
            If an arm or a reward is not allowed, or there are too many rows.
        """
        if key is not None and (not isinstance(key, str) or not key):
            raise InputError(f"key must be a text, not {short_repr(key)}")
        if unknown not in ("error", "skip"):
            raise InputError(f"unknown must be 'error' or 'skip', not {short_repr(unknown)}")
        outcomes: Any
        if isinstance(table, Mapping) and not hasattr(table, "columns"):
            outcomes = self._outcomes(table, skip=unknown == "skip")
        else:
            outcomes = _rows(table)
        if not outcomes:
            raise InputError("the table has no outcomes: give at least one")
        body = {"outcomes": outcomes, "key": key, "unknown": unknown}
        return int(self._service.post("learned", self._path("learn"), _without_none(body)))

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
            Parameters of its prior, such as (2, 5) or {"mean": 0, "sd": 2}.
        edges : iterable of arms or mapping of arm to float, optional
            Neighbours, which reveal the arm and are revealed by it; with probabilities if it is a
            mapping.
        reveals, revealed_by : iterable of arms or mapping of arm to float, optional
            Neighbours in one direction: arms that the new one reveals, or that reveal it.

        Raises
        ------
        InputError
            If the name is taken, a neighbour is unknown, or the policy cannot take another arm.
        """
        given = {"edges": edges, "reveals": reveals, "revealed_by": revealed_by}
        self._change(
            "add_arm",
            name=_plain(name),
            prior=_plain(prior),
            **{what: self._edges(one, what) for what, one in given.items()},
        )

    def _edges(self, edges: EdgesLike | None, what: str) -> Any:
        if isinstance(edges, Mapping):
            return {self._key(arm): _plain(chance) for arm, chance in edges.items()}
        return None if edges is None else _arm_list(edges, what)

    def retire(self, *arms: Arm) -> None:
        """Retire arms: they are not played and not revealed any more.

        Parameters
        ----------
        *arms : str or int
            The arms.
        """
        self._change("retire", arms=_arm_list(arms, "arms"))

    def pause(self, *arms: Arm) -> None:
        """Pause arms: they are not played until :meth:`resume`, but may be observed.

        Parameters
        ----------
        *arms : str or int
            The arms.
        """
        self._change("pause", arms=_arm_list(arms, "arms"))

    def resume(self, *arms: Arm) -> None:
        """Allow paused arms to be played again.

        Parameters
        ----------
        *arms : str or int
            The arms.
        """
        self._change("resume", arms=_arm_list(arms, "arms"))

    def set_graph(self, graph: GraphLike, weight: str | None = "auto") -> None:
        """Replace the feedback graph. Open decisions keep the graph that they were made with.

        Parameters
        ----------
        graph : str, mapping, array, Process or other graph
            Graph of the same arms, as for :class:`Client`.
        weight : str or None, default="auto"
            For a NetworkX graph: the edge attribute with the probabilities; None to ignore all.

        Raises
        ------
        InputError
            If the graph has other arms, or the policy needs another kind of graph.
        """
        self._change("set_graph", graph=self._graph(graph, weight))

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
        self._change("set_policy", policy=_policy_text(policy), reset=check_bool(reset, "reset"))

    def reset(self) -> None:
        """Return to the prior and close all open decisions."""
        self._change("reset")

    def _change(self, op: str, **keys: Any) -> None:
        self._service.post(None, self._path("events"), _without_none({"op": op, **keys}))

    # Connection -----------------------------------------------------------------------------------

    def disconnect(self) -> None:
        """Close the connections to the service. The next use opens them again."""
        self._service.close()

    # What needs the store -------------------------------------------------------------------------

    def at(self, *_args: object, **_options: object) -> None:
        """Raise InputError: the past of an agent needs its store."""
        raise _refusal("at")

    def backup(self, *_args: object, **_options: object) -> None:
        """Raise InputError: a copy of the store needs the store."""
        raise _refusal("backup")

    def compact(self, *_args: object, **_options: object) -> None:
        """Raise InputError: maintenance needs the store."""
        raise _refusal("compact")

    def figure(self, *_args: object, **_options: object) -> None:
        """Raise InputError: the figure needs the whole graph, and therefore the store."""
        raise _refusal("figure")

    def forget(self, *_args: object, **_options: object) -> None:
        """Raise InputError: the removal of entries needs the store."""
        raise _refusal("forget")

    def save(self, *_args: object, **_options: object) -> None:
        """Raise InputError: a copy of the agent needs the store."""
        raise _refusal("save")

    def verify(self, *_args: object, **_options: object) -> None:
        """Raise InputError: the replay of the journal needs the store."""
        raise _refusal("verify")

    # Values ---------------------------------------------------------------------------------------

    def _arm(self, text: str) -> Arm:
        """Return the arm that is the key of an object of JSON."""
        return int(text) if self._integers else text

    def _by_arm(self, found: Mapping[str, float]) -> dict[Arm, float]:
        return {self._arm(text): value for text, value in found.items()}

    def _key(self, arm: object) -> str:
        """Return an arm as key of an object of JSON."""
        if isinstance(arm, str):
            return arm
        if self._integers and isinstance(arm, Integral) and not isinstance(arm, bool):
            return str(int(arm))
        kind = "integers" if self._integers else "texts"
        raise InputError(
            f"unknown arm {short_repr(arm)}: the names of the arms of the agent '{self.name}' are "
            f"{kind}"
        )

    def _outcomes(self, outcomes: object, skip: bool = False) -> dict[str, Any]:
        """Return outcomes as JSON values; if ``skip``, without values that are no names of arms."""
        if not isinstance(outcomes, Mapping):
            raise InputError(
                f"outcomes must be a mapping {{arm: reward}}, not {short_repr(outcomes)}"
            )
        found = dict[str, Any]()
        for arm, reward in outcomes.items():
            try:
                key = self._key(arm)
            except InputError:
                if skip:
                    continue
                raise
            if key in found:
                raise InputError(f"the arm {arm!r} is given twice: give one outcome")
            what = f"outcome of {arm!r}: a reward"
            several = isinstance(reward, list | tuple)
            parts = reward if several else (reward,)
            numbers = [_number(one, what, reward) for one in parts]
            found[key] = numbers if several else numbers[0]
        return found

    def _decision(self, found: Mapping[str, Any]) -> Decision:
        """Return a decision from its JSON values."""
        from graphbandits.live.decision import Decision

        body = {"id": found["id"], "arm": 0, "p": found["probability"]}
        body["context"] = found.get("context")
        if found.get("expires") is not None:
            body["expires"] = _timestamp(found["expires"])
        number = found.get("number") or int(found["id"].partition("-")[0])
        time = _timestamp(found["time"])
        made = Decision((found["arm"],), body, number, time, None, cast(Any, None))
        # the attributes that an agent computes from arrays when they are first used
        made._reveals = self._by_arm(found["reveals"])
        pi = found.get("pi")
        made._pi = None if pi is None else self._by_arm(pi)
        return made

    def _graph(self, graph: GraphLike, weight: str | None) -> Any:
        """Return a graph of the arms of the agent as JSON values."""
        if _is_plain(graph, weight):
            return _plain(graph)
        from graphbandits.graphs import make_process

        arms = self.arms
        process = make_process(graph, len(arms), weight)
        if process.names is None and process.arms != len(arms):
            raise InputError(
                f"the graph has {process.arms} arms, but the agent has {len(arms)}: use a graph of "
                "the same arms, or give it the names of the arms"
            )
        return _graph_value(graph, process, process.names or arms)


# Requests -----------------------------------------------------------------------------------------


class _Service:
    """Requests to a service, with attempts until a time has passed. Threads may share it."""

    def __init__(self, service: str | httpx.Client, token: str | None, timeout: float) -> None:
        self.timeout = check_positive(timeout, "timeout (in seconds)")
        self._given = service if isinstance(service, httpx.Client) else None
        self._own: httpx.Client | None = None
        self._lock = threading.Lock()
        self._url = _checked_url(service)
        self.place = str(self._url.copy_with(userinfo=b"")).rstrip("/")
        self._local = _is_loopback(self._url.host)
        self._token = _checked_token(token)
        if self._token and self._url.scheme == "http" and not self._local:
            warnings.warn(
                f"the token is sent to {self._url.host} without encryption: use https",
                InputWarning,
                stacklevel=3,
            )

    def _client(self) -> httpx.Client:
        if self._given is not None:
            if self._given.is_closed:
                raise InputError("the httpx.Client that was given as service is closed")
            return self._given
        with self._lock:
            if self._own is None:
                # a proxy of the environment cannot reach this computer
                self._own = httpx.Client(base_url=self._url, trust_env=not self._local)
            return self._own

    def close(self) -> None:
        """Close the connections, unless they belong to the user."""
        with self._lock:
            own, self._own = self._own, None
        if own is not None:
            own.close()

    def get(self, key: str, path: tuple[str, ...], **params: Any) -> Any:
        """Return one value of an answer."""
        return self.answer("GET", path, params=params, key=key)[key]

    def post(
        self,
        key: str | None,
        path: tuple[str, ...],
        body: object,
        *,
        request: str | None = None,
        again: bool = False,
    ) -> Any:
        """Send a body, and return one value of the answer.

        ``request`` is the key with which the service carries a request out once. ``again`` is
        whether it may be carried out twice.
        """
        answer = self.answer("POST", path, body=body, key=key, request=request, again=again)
        return answer if key is None else answer[key]

    def answer(
        self, method: str, path: tuple[str, ...], *, key: str | None, **more: Any
    ) -> dict[str, Any]:
        """Return an answer, which must be an object with a key."""
        response = self.send(method, path, **more)
        try:
            found = response.json()
        except ValueError:
            found = None
        if not isinstance(found, dict) or (key is not None and key not in found):
            raise self.foreign(response)
        return found

    def send(
        self,
        method: str,
        path: tuple[str, ...],
        *,
        params: Mapping[str, Any] | None = None,
        body: object = None,
        request: str | None = None,
        again: bool = False,
    ) -> httpx.Response:
        """Send a request until it is answered, and return the answer if it is no error."""
        again = again or request is not None or method == "GET"
        url = "".join(f"/{_quoted(part)}" for part in path)
        content = None if body is None else _encoded(body)
        given = _without_none(params or {})
        headers = self._headers(content is not None, request)
        start = monotonic()
        for attempt in count(1):
            client, left = self._client(), max(0.01, start + self.timeout - monotonic())
            # one lost answer must not take all the time of a request that may be sent again
            most = left if request is None else min(left, max(1.0, self.timeout / 3.0))
            try:
                made = client.build_request(
                    method,
                    url,
                    content=content,
                    params=given or None,
                    headers=headers,
                    timeout=httpx.Timeout(most, connect=min(most, CONNECT_SECONDS)),
                )
            except (httpx.InvalidURL, UnicodeError):
                raise InputError(
                    "an argument does not fit into an address: it is too long, or has one half of "
                    "a surrogate pair"
                ) from None
            pause = min(LONGEST_PAUSE, FIRST_PAUSE * 2.0 ** min(attempt - 1, 20))
            pause *= _RANDOM.uniform(0.5, 1.0)
            try:
                response = client.send(made)
            except httpx.RequestError as error:
                sent = not isinstance(error, NOT_SENT)
                failure: GraphBanditsError = StoreError(self._reason(error, sent))
                final = isinstance(error, FINAL) or (sent and not again)
            else:
                if response.is_success:
                    return response
                failure = self._error(response)
                sent = isinstance(failure, UncertainError)
                final = not again if sent else response.status_code not in AGAIN
                if final:
                    raise failure
                pause = max(pause, _retry_after(response))
            if final or monotonic() + pause > start + self.timeout:
                break
            sleep(pause)
        took = monotonic() - start
        tried = f"{attempt} attempt{'s' * (attempt > 1)} in {took:.1f} s"
        text = f"{failure} ({tried})"
        if sent and method != "GET":
            text += {
                "decisions": f"; repeat it with request={request!r}, and no decision is made twice",
                "outcomes": "; report the outcomes again: each of them counts once",
            }.get(path[-1], "; it may have been carried out: check before you repeat it")
        raise StoreError(text) from None

    def _headers(self, has_body: bool, request: str | None) -> dict[str, str]:
        headers = {"User-Agent": f"graphbandits/{__version__}"}
        if has_body:
            headers["Content-Type"] = "application/json"
        if request is not None:
            headers["Idempotency-Key"] = request
        if self._token:
            headers["Authorization"] = f"Bearer {self._token}"
        return headers

    def _reason(self, error: httpx.RequestError, sent: bool) -> str:
        """Return why there is no answer."""
        # the text of a protocol error may quote a header
        quoted = isinstance(error, httpx.LocalProtocolError) or not str(error)
        reason = type(error).__name__ if quoted else self._shown(str(error), 200)
        if sent:
            return f"no answer from the service at {self.place}: {reason}"
        return (
            f"no connection to the service at {self.place}: {reason}; check the address, and that "
            "'graphbandits serve' runs there"
        )

    def _error(self, response: httpx.Response) -> GraphBanditsError:
        """Return the error of an answer, with the sentence of the service."""
        try:
            error = response.json()["error"]
            kind, message = error["type"], error["message"]
        except (ValueError, TypeError, KeyError):
            kind = message = None
        if not isinstance(message, str):
            return self.foreign(response)
        if kind == "uncertain":
            return UncertainError(self._hidden(message))
        return ERRORS.get(response.status_code, GraphBanditsError)(self._hidden(message))

    def foreign(self, response: httpx.Response) -> StoreError:
        """Return the error of an answer that is not one of the service."""
        return StoreError(
            f"the answer of {self.place} is not that of a decision service: status "
            f"{response.status_code}, {self._shown(response.text, SHOWN)!r}; check the address, "
            "and proxies in between"
        )

    def _shown(self, text: str, most: int) -> str:
        text = " ".join(self._hidden(text[:10_000]).split())
        return text if len(text) <= most else text[: most - 3] + "..."

    def _hidden(self, text: str) -> str:
        return text.replace(self._token, "TOKEN") if self._token else text


def _checked_url(service: object) -> httpx.URL:
    """Return the address of a service; raise InputError if it is not valid."""
    url = None
    if isinstance(service, httpx.Client):
        url = service.base_url
    elif isinstance(service, str):
        try:
            url = httpx.URL(service.strip())
        except httpx.InvalidURL:
            url = None
        if url is not None and url.userinfo:
            raise InputError(
                "the address of the service has a user name, which it does not use: give token=..."
            )
    if url is None or url.scheme not in ("http", "https") or not url.host:
        given = "a client without base_url" if isinstance(service, httpx.Client) else service
        raise InputError(
            "service must be the address of a decision service, such as 'http://localhost:8000', "
            f"or a client of httpx with a base_url, not {short_repr(given)}"
        )
    if url.query or url.fragment:
        raise InputError("the address of the service must not have a query or a fragment")
    return url


def _checked_token(token: object) -> str:
    """Return the token, or an empty text if there is none; errors do not show it."""
    found = os.environ.get(TOKEN_VARIABLE, "").strip() if token is None else token
    where = f"the environment variable {TOKEN_VARIABLE}" if token is None else "token"
    if not isinstance(found, str) or not found.isascii() or not found.isprintable() or " " in found:
        raise InputError(
            f"{where} must be a token of the service such as gb_..., without spaces and other "
            "characters that a header cannot have"
        )
    return found


def _is_loopback(host: str) -> bool:
    """Return whether a host is this computer.

    >>> _is_loopback("localhost"), _is_loopback("127.0.0.7"), _is_loopback("10.0.0.1")
    (True, True, False)
    """
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


def _retry_after(response: httpx.Response) -> float:
    """Return how many seconds the service asks to wait.

    >>> _retry_after(httpx.Response(503, headers={"Retry-After": "7"}))
    7.0
    """
    text = response.headers.get("Retry-After", "")
    try:
        if text.isascii() and text.isdigit():
            return float(text[:10])
        return max(0.0, (parsedate_to_datetime(text) - datetime.now(UTC)).total_seconds())
    except (ValueError, TypeError):  # no date, or one without a time zone
        return 0.0


def _quoted(text: str) -> str:
    """Return a part of a path; a part of dots would be removed from it.

    >>> _quoted("a/b c"), _quoted("..")
    ('a%2Fb%20c', '%2E%2E')
    """
    try:
        found = quote(text, safe="")
    except UnicodeEncodeError:
        raise InputError(f"{short_repr(text)} has one half of a surrogate pair") from None
    return found if found.strip(".") else found.replace(".", "%2E")


def _encoded(body: object) -> bytes:
    try:
        return json.dumps(body, allow_nan=False).encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise InputError(
            "an argument has a value that is not JSON, such as a number that is not finite: "
            f"{error}"
        ) from None


def _key_of(request: str | None) -> str:
    """Return the key of a request."""
    if request is None:
        return uuid4().hex
    # as the agent does: a header cannot have other characters
    valid = isinstance(request, str) and 0 < len(request) <= 200 and request.isascii()
    if not valid or not request.isprintable() or request != request.strip():
        raise InputError(
            "the key of a request has 1 to 200 printable ASCII characters, and no blanks around "
            f"them, not {short_repr(request)}"
        )
    return request


# Values -------------------------------------------------------------------------------------------


def _refusal(name: str) -> InputError:
    """Return the error of a member that needs the store."""
    return InputError(
        f"'{name}' needs the store of the agent, which a client does not have: use {REFUSED[name]} "
        "where the store is"
    )


def _without_none(values: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in values.items() if value is not None}


def _made(cls: type[T], values: Mapping[str, Any]) -> T:
    """Return a dataclass from a mapping that has its fields."""
    fields = dataclasses.fields(cast(Any, cls))
    return cls(**{field.name: values[field.name] for field in fields})


def _settings(
    arms: int | Iterable[Arm] | None,
    graph: GraphLike,
    weight: str | None,
    posterior: object,
    prior: object,
) -> dict[str, Any]:
    """Return the settings of a new agent that determine arms, graph and prior, as JSON values."""
    listed = isinstance(arms, Iterable) and not isinstance(arms, str)
    given: Any = [_plain(arm) for arm in cast(Any, arms)] if listed else _plain(arms)
    value: Any
    if _is_plain(graph, weight):
        value = _plain(graph)
    else:
        from graphbandits.graphs import as_process

        process = as_process(graph, len(given) if listed else given, weight)
        if given is None:
            given = _integer_nodes(graph) or list(process.names or range(process.arms))
        names = process.names or (given if isinstance(given, list) else range(process.arms))
        value = _graph_value(graph, process, names)
    if hasattr(prior, "beliefs"):
        if posterior is not None:
            raise InputError(
                "prior is a posterior object, and posterior was given, too: remove one of them"
            )
        posterior, prior = prior, None
    if posterior is not None and not isinstance(posterior, str):
        from graphbandits.registry import text_of

        posterior = text_of(posterior)
    order = given if isinstance(given, list) else range(given if isinstance(given, int) else 0)
    by_arm = isinstance(prior, Mapping) and prior and set(prior) <= set(order)
    if by_arm and not any(isinstance(one, Real) for one in cast(Any, prior).values()):
        prior = [cast(Any, prior).get(arm, {}) for arm in order]
    return {"arms": given, "graph": value, "posterior": posterior, "prior": _plain(prior)}


def _integer_nodes(graph: Any) -> list[int] | None:
    """Return the nodes of a NetworkX graph if all are integers: then they are the arms."""
    if not (hasattr(graph, "adjacency") and hasattr(graph, "is_directed")):
        return None
    nodes = list(graph.nodes)
    whole = all(isinstance(node, Integral) and not isinstance(node, bool) for node in nodes)
    return [int(node) for node in nodes] if whole else None


def _is_plain(graph: object, weight: str | None) -> bool:
    """Return whether a graph can be sent as it is: a text that is no file, or edges as JSON."""
    if graph is None or weight != "auto":
        return graph is None
    if isinstance(graph, str):
        return not graph.startswith("file:") and not graph.lstrip().startswith("file(")
    return isinstance(graph, Mapping)


def _graph_value(graph: GraphLike, process: Process, names: Iterable[object]) -> Any:
    """Return a graph as text, if it has one, or as edges between names."""
    from graphbandits.graphs._shape import edge_arrays
    from graphbandits.graphs.loaders import File
    from graphbandits.graphs.named import recipe_text
    from graphbandits.graphs.processes import fixed_feedback

    text = recipe_text(graph)
    if text is not None and not isinstance(graph, File | str):
        return text
    feedback = fixed_feedback(process)
    if feedback is None:
        raise InputError(
            "the graph changes from round to round, and has no text: give the service a text such "
            "as 'random(r=uniform)', or a graph that is the same in all rounds"
        )
    arms = list(names)
    ends = zip(*(part.tolist() for part in edge_arrays(feedback)), strict=True)
    # first all arms, in their order: the edges do not have those without neighbours
    edges: list[list[Any]] = [[arm] for arm in arms]
    edges += [[arms[i], arms[j], chance] for i, j, chance in ends]
    return {"edges": edges, "directed": True}


def _policy_text(policy: object) -> str:
    """Return the text form of a policy."""
    if isinstance(policy, str):
        return policy
    from graphbandits.policies import as_policy
    from graphbandits.registry import text_of

    made = as_policy(cast(Any, policy))
    text = text_of(made)
    if as_policy(text) != made:
        raise InputError(
            f"the text form '{text}' gives {as_policy(text)!r}, not {made!r}: a service would have "
            "a different policy"
        )
    return text


def _points(found: Mapping[str, Any] | None) -> Any:
    """Return the data of the figure of an explanation."""
    if found is None:
        return None
    import numpy as np

    from graphbandits.live.explanation import FrontierPoints

    arrays = {
        name: None if found.get(name) is None else np.array(found[name], np.float64)
        for name in ("gain", "delta", "pi", "exploration")
    }
    return _made(FrontierPoints, {**found, **arrays, "arms": tuple(found["arms"])})


def _rows(table: object) -> list[dict[str, Any]]:
    """Return the rows of a table of outcomes as JSON values."""
    from graphbandits.live.outcome_tables import _columns

    columns = _columns(table)
    if not columns:
        raise InputError(
            "a table of outcomes has the columns arm and reward (and count, if a row has several "
            "outcomes), or arm, total and count; this one has none"
        )
    rows = [
        dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)
    ]
    for number, row in enumerate(rows, 1):
        for name, value in row.items():
            what = f"row {number} of the outcomes: {name}"
            number_wanted = name in ("reward", "total", "count")
            row[name] = _number(value, what, value) if number_wanted else _plain(value)
    return rows


def _number(value: Any, what: str, given: object) -> int | float:
    """Return a number of JSON; raise InputError for one that is not finite, and other values."""
    kind = getattr(getattr(value, "dtype", None), "kind", None)
    if kind is not None:  # of NumPy, where a duration is an integer
        value = value.item() if kind in "biuf" and not value.ndim else None
    if isinstance(value, Integral):
        return int(value)
    try:
        found = float(value) if isinstance(value, Real | Decimal) else math.nan
    except (ArithmeticError, ValueError):  # a signalling NaN of decimal, or a huge fraction
        found = math.nan
    if not math.isfinite(found):
        raise InputError(f"{what} must be a finite number, not {short_repr(given)}")
    return found


def _plain(value: Any) -> Any:
    """Return a value with lists and numbers of Python, for JSON."""
    if isinstance(value, Mapping):
        return {str(key): _plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    if isinstance(value, str):
        return value
    return value.tolist() if hasattr(value, "tolist") else value


def _arm_list(arms: object, what: str) -> list[Any]:
    if isinstance(arms, str | bytes) or not isinstance(arms, Iterable):
        raise InputError(f"{what} must be a list of arms, not {short_repr(arms)}")
    return [_plain(arm) for arm in arms]


def _json_value(context: object) -> object:
    """Return a context; raise InputError if it is not JSON."""
    try:
        json.dumps(context, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise InputError(
            f"context must be a JSON value, such as a dict of texts and numbers: {error}"
        ) from None
    return context


def _seconds(value: timedelta | float | None) -> float | None:
    """Return a lifetime in seconds."""
    if value is None:
        return None
    number = value.total_seconds() if isinstance(value, timedelta) else value
    return check_positive(number, "expires (a timedelta, or seconds)")


def _timestamp(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()


def _id_of(decision: object) -> str:
    """Return the id of a decision that a user has given."""
    if isinstance(decision, str) and decision:
        return decision
    from graphbandits.live.decision import Decision

    if not isinstance(decision, Decision):
        raise InputError(f"decision must be a Decision or its id, not {short_repr(decision)}")
    return decision.id
