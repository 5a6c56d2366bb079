"""Client of the decision service: the methods of an agent over HTTP."""

from __future__ import annotations

import dataclasses
import io
import json
import math
import os
import random
import threading
import warnings
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from decimal import Decimal
from itertools import count
from numbers import Integral, Real
from time import monotonic, sleep
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar, cast
from urllib.parse import quote
from uuid import uuid4

try:
    import httpx
except ImportError:
    raise ImportError(
        "the client needs httpx: python -m pip install 'graphbandits[serve]'"
    ) from None

from graphbandits import __version__
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
from graphbandits.live import values
from graphbandits.live.decision import Decision, ExplainedArm, Explanation, FrontierPoints
from graphbandits.live.health import ArmAnswers, ArmTest, Health, PosteriorTest, check_level
from graphbandits.live.methods import AgentMethods, id_of, seconds_of
from graphbandits.live.operations import (
    Decide,
    Learn,
    Observe,
    ObserveMany,
    Operation,
    check_request,
    routes,
)

# modules that compile kernels, or that read files, are imported when they are used
if TYPE_CHECKING:
    from graphbandits.graphs import GraphLike, Process
    from graphbandits.live.log import DecisionLog
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
#: Key of the answer of each route for POST requests that has one.
ANSWERS = {"decisions": "decisions", "outcomes": "accepted", "learn": "learned"}
#: Keys of :meth:`Client.status`, in the order of those of an agent.
STATUS = (
    *("name", "policy", "arms", "decisions", "open", "expired", "outcomes", "learned", "late"),
    *("paused", "retired", "entries"),
)
#: Members of Agent that a client does not have, and what to use instead.
NOT_HERE = {
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


class Client(AgentMethods):
    """Agent of a decision service, with the methods of :class:`graphbandits.Agent`.

    The arguments, results and errors are those of an agent, with these exceptions:

    - :attr:`policy` and :attr:`posterior` are texts.
    - It has no members that need the store itself: ``at``, ``backup``, ``compact``, ``figure``,
      ``forget``, ``process``, ``save`` and ``verify``.
    - A graph may also be a mapping such as ``{"edges": [["ann", "bob", 0.5]], "directed": False}``.
      A text is sent as it is; a file and any other object are converted to edges, for which the
      graph must be the same in all rounds.
    - Numbers of the state that are not finite are None.
    - Warnings of the agent stay in the log of the service. :meth:`health` reports contradictions.
    - Errors of policies that need other information are InputError, not NeedsError.

    Threads may share a client. A process that was forked needs its own. A token of the role
    "admin" is needed to create an agent, to change it, and to compare settings. With another
    token, give ``service``, ``name`` and ``token`` only.

    Requests that were not answered are sent again until ``timeout`` has passed: :meth:`decide`,
    :meth:`observe` and :meth:`observe_many` are idempotent. Other changes are sent again only if
    they were certainly not carried out. Then StoreError is raised.

    Parameters
    ----------
    policy, arms, graph : optional
        As for :class:`graphbandits.Agent`. Without a policy, the agent must exist.
    service : str or httpx.Client
        Address of the service, such as "http://localhost:8000"; or a client of httpx with a
        ``base_url``, for proxies, certificates and tests, which is not closed.
    seed, posterior, prior, horizon, trial, accuracy, expires, floor, floor_over, weight : optional
        As for :class:`graphbandits.Agent`.
    name : str, default="default"
        Name of the agent in the store of the service.
    token : str, optional
        Token of the service. The default is the environment variable GRAPHBANDITS_TOKEN. Use
        https, unless the service is on this computer.
    timeout : float, default=30
        Seconds in which a request must be answered, with all attempts.
    pi : bool, default=True
        Whether new decisions have the probabilities of all arms. With very many arms, False makes
        answers shorter; then ``pi`` of a decision is None, and :meth:`decision` reads it.

    Raises
    ------
    InputError
        If a value is not allowed, the agent is unknown, or it has other settings.
    StoreError
        If the service does not answer, or its database does not work at the moment.

    Examples
    --------
    >>> with Client("ids-n", arms=3, service="http://localhost:8000") as agent:  # doctest: +SKIP
    ...     decision = agent.decide()
    ...     agent.observe(decision, {decision.arm: 1})
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
        pi: bool = True,
    ) -> None:
        if not isinstance(name, str) or not name:
            raise InputError(f"the name of an agent must be a text, not {short_repr(name)}")
        if floor is not None and policy is None:
            raise InputError(
                "the floor is part of the policy: give the policy, too; or omit both to open an "
                "agent"
            )
        self.name = name
        self._arms: tuple[Arm, ...] = ()
        self._pi = check_bool(pi, "pi")
        settings = _settings(arms, graph, weight, posterior, prior) | {
            "seed": seed,
            "horizon": horizon,
            "trial": trial,
            "accuracy": accuracy,
            "expires": seconds_of(expires),
            "floor": floor,
            "floor_over": None if floor_over == "arms" else floor_over,
        }
        settings = _without_none(settings)
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
        found: dict[str, Any] = self._service.answer(
            "POST", ("agents",), key="agent", body=body, again=True
        )["agent"]
        return found

    def _read(self, key: str, *path: str, **params: Any) -> dict[str, Any]:
        """Return the answer to a GET request, which must have a key."""
        return self._service.answer("GET", self._path(*path), key=key, params=params)

    def _description(self) -> dict[str, Any]:
        found: dict[str, Any] = self._read("agent")["agent"]
        return found

    def _path(self, *parts: str) -> tuple[str, ...]:
        return ("agents", self.name, *parts)

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.disconnect()

    if not TYPE_CHECKING:  # a type checker knows that these members do not exist

        def __getattr__(self, name: str) -> NoReturn:
            remedy = f": use {NOT_HERE[name]} where the store is" if name in NOT_HERE else ""
            raise AttributeError(f"a client of a service has no {name!r}{remedy}")

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
        found: str | None = self._description()["posterior"]
        return found

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
        """State of the policy by arm."""
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
        return tuple(self._read("pending", "pending")["pending"])

    def status(self) -> dict[str, Any]:
        found = self._description()
        return {key: found[key] for key in STATUS}

    def history(
        self,
        last: int | None = None,
        *,
        after: int | None = None,
        decision: Decision | str | None = None,
    ) -> list[dict[str, Any]]:
        most = MOST_ROWS if last is None else check_integer(last, "last")
        start = None if after is None else check_integer(after, "after", least=0)
        id_ = None if decision is None else id_of(decision)
        answer = self._read("entries", "history", last=most, after=start, decision=id_)
        found: list[dict[str, Any]] = answer["entries"]
        if last is None and len(found) == MOST_ROWS and found[0]["number"] != (start or 0) + 1:
            raise InputError(
                f"the service returns at most {MOST_ROWS} entries: use history({MOST_ROWS}) for "
                "the newest ones, log() for all decisions, or 'graphbandits agent history STORE'"
            )
        return found

    def log(self) -> DecisionLog:
        response = self._service.send("GET", self._path("log"), params={"format": "parquet"})
        from pyarrow import ArrowException, parquet

        from graphbandits.live.log import DecisionLog

        try:
            table = parquet.read_table(io.BytesIO(response.content))
        except ArrowException:
            raise self._service.foreign(response) from None
        return DecisionLog.of(table)

    def beliefs(self, accuracy: str | None = None, estimate: bool = False) -> BeliefsByArm:
        check_bool(estimate, "estimate")
        answer = self._read("beliefs", "beliefs", accuracy=accuracy, estimate=estimate)
        import numpy as np

        from graphbandits.posteriors import BeliefsByArm

        rows = answer["beliefs"]
        arms = tuple(map(self._arm, rows))
        alpha, delta, h = (
            np.array([row[name] for row in rows.values()]) for name in ("alpha", "delta", "h")
        )
        error, index = answer.get("error_estimate"), {arm: i for i, arm in enumerate(arms)}
        return BeliefsByArm(arms, alpha, delta, h, answer["rho"], error, index)

    def health(self, level: float = 0.01) -> Health:
        found = self._read("health", "health", level=check_level(level))["health"]
        found["answers"] = [_made(ArmAnswers, row) for row in found["answers"]]
        if (test := found["test"]) is not None:
            time = test["highest_time"]
            test["highest_time"] = None if time is None else datetime.fromisoformat(time)
            test["arms"] = [_made(ArmTest, row) for row in test["arms"]]
            found["test"] = _made(PosteriorTest, test)
        return _made(Health, found)

    def trend(self, points: int = 200) -> dict[str, Any]:
        return self._read("decision", "trend", points=check_integer(points, "points"))

    def find_arms(self, search: str = "", limit: int = 20) -> tuple[list[dict[str, Any]], int]:
        if not isinstance(search, str):
            raise InputError(f"search must be a text, not {short_repr(search)}")
        most = check_integer(limit, "limit")
        answer = self._read("arms", "arms", search=search or None, limit=most)
        return answer["arms"], answer["found"]

    def neighbourhood(self, around: Iterable[Arm] = (), limit: int = 2000) -> dict[str, Any]:
        arms = [self._key(arm) for arm in _arm_list(around, "around")]
        return self._read("edges", "graph", around=arms, limit=check_integer(limit, "limit"))

    def decisions(
        self, limit: int = 50, *, before: int | None = None, only_open: bool = False
    ) -> list[dict[str, Any]]:
        check_integer(limit, "limit")
        check_bool(only_open, "only_open")
        end = None if before is None else check_integer(before, "before")
        found, more = list[dict[str, Any]](), True
        while more and len(found) < limit:
            most = min(limit - len(found), MOST_ROWS)
            params = {"open": only_open, "limit": most, "before": end}
            answer = self._read("decisions", "decisions", **params)
            found += answer["decisions"]
            more, end = answer["more"], found[-1]["number"] if found else None
        return found

    def decision(self, id: str) -> Decision:
        answer = self._read("decision", "decisions", id_of(id), explain=False, pi=True)
        return self._decision(answer["decision"])

    def explain(self, decision: Decision | str, arms: int = 5) -> Explanation:
        params = {"explain": True, "arms": check_integer(arms, "arms"), "pi": True}
        answer = self._read("decision", "decisions", id_of(decision), **params)
        found = answer["explanation"]
        if found is None:
            raise InputError(answer["note"])
        for row in found["arms"]:
            row["reveals"] = self._by_arm(row["reveals"])
        found["arms"] = [_made(ExplainedArm, row) for row in found["arms"]]
        found["decision"] = self._decision(answer["decision"])
        if (points := found.get("points")) is not None:
            points = FrontierPoints(**points | {"arms": tuple(points["arms"])})
        return _made(Explanation, found | {"points": points})

    def overview(self, arms: int = 10, last: int = 5) -> dict[str, Any]:
        most, count = check_integer(arms, "arms"), check_integer(last, "last", least=0)
        return self._read("status", "overview", arms=most, last=count)

    # Changes --------------------------------------------------------------------------------------

    def _perform(self, operation: Operation) -> Any:
        if isinstance(operation, Observe):
            rewards = {operation.id: operation.outcomes}
            operation = ObserveMany(rewards, operation.partial, operation.extra)
        body = {
            key: self._json(operation, key, value)
            for key in operation.keys
            if (value := getattr(operation, key)) is not None
        }
        if isinstance(operation, Decide):
            body["pi"] = self._pi
        if len(routes()[operation.route]) > 1:
            body["op"] = operation.op
        request = body.pop("request", None)
        answer = self._service.answer(
            "POST",
            self._path(operation.route),
            key=ANSWERS.get(operation.route),
            body=body,
            request=_key_of(request) if "request" in operation.keys else None,
        )
        if isinstance(operation, Decide):
            return [self._decision(one) for one in answer["decisions"]]
        return answer["learned"] if isinstance(operation, Learn) else None

    def _json(self, operation: Operation, key: str, value: Any) -> Any:
        text = operation.keys[key].text
        if text == values.GRAPH.text:
            return self._graph(value, getattr(operation, "weight", "auto"))
        if text == values.POLICY.text:
            return _policy_text(value)
        if text == values.CONTEXT.text:
            return value
        if text == values.REWARDS_BY_ID.text:
            return {id_: self._outcomes(rewards) for id_, rewards in value.items()}
        if text == values.TABLE.text:
            if isinstance(value, Mapping) and not hasattr(value, "columns"):
                return self._outcomes(value, skip=getattr(operation, "unknown", "") == "skip")
            return _rows(value)
        if text == values.EDGES.text and isinstance(value, Mapping):
            return {self._key(arm): _plain(chance) for arm, chance in value.items()}
        if text in (values.EDGES.text, values.ARMS.text):
            return _arm_list(value, key)
        return _plain(value)

    # Connection -----------------------------------------------------------------------------------

    def disconnect(self) -> None:
        """Close the connections to the service. The next use opens them again."""
        self._service.close()

    # Values ---------------------------------------------------------------------------------------

    def _arm(self, text: str) -> Arm:
        return int(text) if self._integers else text

    def _by_arm(self, found: Mapping[str, float]) -> dict[Arm, float]:
        return {self._arm(text): value for text, value in found.items()}

    def _key(self, arm: object) -> str:
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
        body = {"id": found["id"], "arm": 0, "p": found["probability"]}
        body |= {"context": found.get("context"), "expires": _timestamp(found.get("expires"))}
        number = found.get("number") or int(found["id"].partition("-")[0])
        time = cast(float, _timestamp(found["time"]))
        made = Decision((found["arm"],), body, number, time, None, cast(Any, None))
        # the attributes that an agent computes from arrays when they are first used
        made._reveals = self._by_arm(found["reveals"])
        pi = found.get("pi")
        made._pi = None if pi is None else self._by_arm(pi)
        return made

    def _graph(self, graph: GraphLike, weight: str | None) -> Any:
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
        self._local = self._url.host in ("localhost", "127.0.0.1", "::1")
        self._token = _checked_token(token)
        self._headers = {"User-Agent": f"graphbandits/{__version__}"}
        if self._token:
            self._headers["Authorization"] = f"Bearer {self._token}"
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

    def answer(
        self, method: str, path: tuple[str, ...], *, key: str | None, **more: Any
    ) -> dict[str, Any]:
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
        """Send a request until it is answered, and return the answer if it is no error.

        ``request`` is the idempotency key; ``again`` is whether the request may be carried out
        twice.
        """
        again = again or request is not None or method == "GET"
        content = None if body is None else _encoded(body)
        given = _without_none(params or {})
        headers = self._headers | _without_none({"Idempotency-Key": request})
        if content is not None:
            headers["Content-Type"] = "application/json"
        start = monotonic()
        for attempt in count(1):
            client, left = self._client(), max(0.01, start + self.timeout - monotonic())
            # one lost answer must not take all the time of a request that may be sent again
            most = left if request is None else min(left, max(1.0, self.timeout / 3.0))
            try:
                made = client.build_request(
                    method,
                    "".join(f"/{_quoted(part)}" for part in path),
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
                after = response.headers.get("Retry-After", "")
                if after.isascii() and after.isdigit():
                    pause = max(pause, float(after[:10]))
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

    def _reason(self, error: httpx.RequestError, sent: bool) -> str:
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
        try:
            error = response.json()["error"]
            kind, message = error["type"], error["message"]
        except (ValueError, TypeError, KeyError):
            return self.foreign(response)
        error_type = ERRORS.get(response.status_code, GraphBanditsError)
        return (UncertainError if kind == "uncertain" else error_type)(self._hidden(str(message)))

    def foreign(self, response: httpx.Response) -> StoreError:
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
    try:
        url = (
            service.base_url
            if isinstance(service, httpx.Client)
            else httpx.URL(str(service).strip())
        )
    except httpx.InvalidURL:
        url = httpx.URL()
    if url.scheme not in ("http", "https") or not url.host:
        given = "a client without base_url" if isinstance(service, httpx.Client) else service
        raise InputError(
            "service must be the address of a decision service, such as 'http://localhost:8000', "
            f"or a client of httpx with a base_url, not {short_repr(given)}"
        )
    if url.query or url.fragment or (url.userinfo and isinstance(service, str)):
        raise InputError(
            "the address of the service must not have a user name, a query or a fragment; give a "
            "token as token=..."
        )
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


def _quoted(text: str) -> str:
    """Return a part of a path; a part of dots would be removed from it.

    >>> _quoted("a/b c"), _quoted("..")
    ('a%2Fb%20c', '%2E%2E')
    """
    found = quote(text, safe="")
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
    if request is None:
        return uuid4().hex
    if check_request(request) != request.strip():
        raise InputError(f"the key of a request must not have blanks around it: {request!r}")
    return request


# Values -------------------------------------------------------------------------------------------


def _without_none(values: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in values.items() if value is not None}


def _made(cls: type[T], values: Mapping[str, Any]) -> T:
    """Return an object with the values of its fields; lists become tuples."""
    given = {field.name: values[field.name] for field in dataclasses.fields(cast(Any, cls))}
    return cls(**{k: tuple(v) if isinstance(v, list) else v for k, v in given.items()})


def _settings(
    arms: int | Iterable[Arm] | None,
    graph: GraphLike,
    weight: str | None,
    posterior: object,
    prior: object,
) -> dict[str, Any]:
    listed = isinstance(arms, Iterable) and not isinstance(arms, str)
    given: Any = [_plain(arm) for arm in cast(Any, arms)] if listed else _plain(arms)
    value: Any
    if _is_plain(graph, weight):
        value = _plain(graph)
    else:
        from graphbandits.graphs import as_process
        from graphbandits.live.setup import _integer_nodes

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


def _is_plain(graph: object, weight: str | None) -> bool:
    """Return whether a graph can be sent as it is: a text that is no file, or edges as JSON."""
    if graph is None or weight != "auto":
        return graph is None
    if isinstance(graph, str):
        return not graph.startswith("file:") and not graph.lstrip().startswith("file(")
    return isinstance(graph, Mapping)


def _graph_value(graph: GraphLike, process: Process, names: Iterable[object]) -> Any:
    """Return a graph as text, if it has one, or as edges between names."""
    from graphbandits.graphs.loaders import File
    from graphbandits.graphs.named import recipe_text
    from graphbandits.graphs.processes import edge_arrays, fixed_feedback

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


def _rows(table: object) -> list[dict[str, Any]]:
    from graphbandits.live.read_log import _columns

    columns = _columns(table)
    rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    if columns and not rows:
        raise InputError("the table has no outcomes: give at least one")
    for number, row in enumerate(rows, 1):
        for name, value in row.items():
            what = f"row {number} of the outcomes: {name}"
            number_wanted = name in ("reward", "total", "count")
            row[name] = _number(value, what, value) if number_wanted else _plain(value)
    return rows


def _number(value: Any, what: str, given: object) -> int | float:
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
    if isinstance(value, Mapping):
        return {str(key): _plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    return value.tolist() if hasattr(value, "tolist") else value


def _arm_list(arms: object, what: str) -> list[Any]:
    if isinstance(arms, str | bytes) or not isinstance(arms, Iterable):
        raise InputError(f"{what} must be a list of arms, not {short_repr(arms)}")
    return [_plain(arm) for arm in arms]


def _timestamp(text: str | None) -> float | None:
    return None if text is None else datetime.fromisoformat(text).timestamp()
