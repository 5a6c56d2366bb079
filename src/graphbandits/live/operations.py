"""Operations of the JSON protocol: one class describes a request, and carries it out.

JSON lines, POST routes, methods and help lines are made from them.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Literal, dataclass_transform

from graphbandits.errors import ConflictError, InputError, NotFoundError, check_bool, short_repr
from graphbandits.live import values
from graphbandits.live.journal import Entry, StoredRequest, made_entries
from graphbandits.live.values import Value

# a client has operations, and imports no kernels: these are imported when they are carried out
if TYPE_CHECKING:
    from graphbandits.graphs import GraphLike
    from graphbandits.live.agent import Agent
    from graphbandits.live.decision import Decision, Explanation
    from graphbandits.live.health import Health
    from graphbandits.live.setup import EdgesLike
    from graphbandits.live.state import AgentState, OpenDecision, Reward
    from graphbandits.policies import Policy
    from graphbandits.posteriors import Arm, BeliefsByArm

Role = Literal["read", "decide", "admin"]
#: Maximum of characters of the key of a request.
MAX_KEY = 200
_REQUEST = (
    "Key of this request, chosen by you. The same request with the same key is carried out once "
    "within seven days, and has the same answer."
)
#: Entries to append, and the result of the operation.
Prepared = tuple[list[Entry], Any]
#: Each operation by its name.
OPERATIONS: dict[str, type[Operation]] = {}


def json_key(value: Value, meaning: str = "", *, default: Any = dataclasses.MISSING) -> Any:
    """Return a field of an operation that is a key of its request."""
    if default is not None and default is not dataclasses.MISSING:
        meaning += f" Default: {json.dumps(default)}."
    metadata = {"value": dataclasses.replace(value, meaning=meaning)}
    return dataclasses.field(default=default, metadata=metadata)


@dataclass_transform(frozen_default=True, field_specifiers=(json_key,))
class Operation:
    """An operation. Its fields are the keys of the request, its docstring says what it does.

    ``role`` is required of callers over HTTP; ``route`` ends the address of POST requests.
    """

    op: ClassVar[str]
    role: ClassVar[Role]
    route: ClassVar[str]
    #: Keys of the request, and those that it must have.
    keys: ClassVar[dict[str, Value]]
    required: ClassVar[tuple[str, ...]]
    #: Whether it reports outcomes.
    learns: ClassVar[bool] = False

    def __init_subclass__(cls, op: str, role: Role = "read", route: str = "") -> None:
        cls.op, cls.role, cls.route = op, role, route
        # frozen for mypy; at run time, that would take 10 ms of each import
        made = dataclasses.dataclass(eq=False, repr=False)(cls)
        fields = dataclasses.fields(made)  # type: ignore[arg-type]
        cls.keys = {one.name: one.metadata["value"] for one in fields if one.metadata}
        cls.required = tuple(one.name for one in fields if one.default is dataclasses.MISSING)
        if op:
            OPERATIONS[op] = made

    def apply(self, agent: Agent) -> Any:
        """Carry out the operation; return what the method of the agent returns."""
        return agent._run(lambda state, now: self.prepare(agent, state, now))

    def prepare(self, agent: Agent, state: AgentState, now: float) -> Prepared:
        """Return the entries of the operation, and its result; their numbers come later."""
        raise NotImplementedError

    def answer(self, result: Any) -> dict[str, Any]:
        """Return the result as JSON values."""
        return {}


def routes() -> dict[str, list[type[Operation]]]:
    found = dict[str, list[type[Operation]]]()
    for operation in OPERATIONS.values():
        if operation.route:
            found.setdefault(operation.route, []).append(operation)
    return found


# Decisions ----------------------------------------------------------------------------------------


class Decide(Operation, op="decide", role="decide", route="decisions"):
    """Make one or more decisions."""

    n: int = json_key(values.DECISIONS, "Number of decisions.", default=1)
    distinct: bool = json_key(values.FLAG, "Whether arms must differ.", default=False)
    among: Iterable[Arm] | None = json_key(
        values.ARMS, "Arms that may be played. Default: all.", default=None
    )
    exclude: Iterable[Arm] | None = json_key(values.ARMS, "Arms not to play.", default=None)
    graph: GraphLike = json_key(
        values.GRAPH, "Graph of these decisions. Default: that of the agent.", default=None
    )
    context: object = json_key(values.CONTEXT, "Any value. It is kept.", default=None)
    pending: str = json_key(
        values.choice("ignore", "expected"),
        "Whether outcomes that are expected from open decisions are ignored, or count by their "
        "expectation.",
        default="ignore",
    )
    expires: float | None = json_key(
        values.SECONDS, "Time after which decisions expire. Default: as the agent.", default=None
    )
    pi: bool = json_key(values.FLAG, "Whether to list the probability of each arm.", default=False)
    request: str | None = json_key(values.TEXT, _REQUEST, default=None)

    def apply(self, agent: Agent) -> list[Decision]:
        from graphbandits.live import deciding  # faster than to import its functions

        asked, journal, make = deciding.checked(self), agent._journal, deciding.make_decisions
        if self.request is None:
            put = journal.put_object
            return agent._run(lambda state, now: make(state, asked, now, put))
        key, content = check_request(self.request), deciding.content_of(asked)

        def prepare(state: AgentState, now: float) -> tuple[list[Entry], list[Decision]]:
            known = _known_request(agent, key, content)
            if known is None:
                entries, made = make(state, asked, now, journal.put_object)
                request = StoredRequest(content, made[0].number, len(made))
                journal.put_request(key, request, now)
                return entries, made
            rows = made_entries(journal, range(known.first, known.first + known.decisions))
            if len(rows) < known.decisions:
                raise NotFoundError(f"the record of the decisions of request {key!r} was removed")
            return [], [agent.decision(one.body["id"]) for one in rows]

        return agent._run(prepare)

    def answer(self, result: list[Decision]) -> dict[str, Any]:
        return {"decisions": [_decision(one, self.pi) for one in result]}


def _decision(made: Decision, pi: bool) -> dict[str, Any]:
    found: dict[str, Any] = {
        "id": made.id,
        "arm": made.arm,
        "probability": made.probability,
        "reveals": {str(arm): chance for arm, chance in made.reveals.items()},
        "time": made.time.isoformat(),
    }
    if made.expires is not None:
        found["expires"] = made.expires.isoformat()
    if made.context is not None:
        found["context"] = made.context
    if pi:
        found["pi"] = made.pi and {str(arm): chance for arm, chance in made.pi.items()}
    return found


def check_request(key: object) -> str:
    valid = isinstance(key, str) and 0 < len(key) <= MAX_KEY and key.isascii()
    if not valid or not str(key).isprintable():
        allowed = f"1 to {MAX_KEY} printable ASCII characters"
        raise InputError(f"the key of a request has {allowed}, not {short_repr(key)}")
    return str(key)


def _known_request(agent: Agent, key: str, content: str) -> StoredRequest | None:
    known = agent._journal.get_request(key)
    if known is not None and known.content != content:
        raise ConflictError(
            f"another request was made with the key {short_repr(key)}: use a new key for this one"
        )
    return known


class Observe(Operation, op="observe", role="decide"):
    """Learn from outcomes of a decision, and close it unless `partial` is true."""

    learns = True

    id: str = json_key(values.ID)
    outcomes: Mapping[Arm, Reward] = json_key(values.REWARDS)
    partial: bool = json_key(values.FLAG, "Whether more outcomes may come.", default=False)
    extra: bool = json_key(values.FLAG, "Whether unrevealed arms are accepted.", default=False)

    def prepare(self, agent: Agent, state: AgentState, now: float) -> Prepared:
        self.check()
        return state.observation(agent, now, self), None

    def check(self) -> None:
        check_bool(self.partial, "partial")
        check_bool(self.extra, "extra")
        if not isinstance(self.outcomes, Mapping):
            wrong = short_repr(self.outcomes)
            raise InputError(f"outcomes must be a mapping {{arm: reward}}, not {wrong}")


class ObserveMany(Operation, op="observe_many", role="decide", route="outcomes"):
    """Learn from outcomes of several decisions: all of them, or none."""

    learns = True

    outcomes: Mapping[str, Mapping[Arm, Reward]] = json_key(values.REWARDS_BY_ID)
    partial: bool = json_key(values.FLAG, "Whether more outcomes may come.", default=False)
    extra: bool = json_key(values.FLAG, "Whether unrevealed arms are accepted.", default=False)
    request: str | None = json_key(values.TEXT, _REQUEST, default=None)

    def prepare(self, agent: Agent, state: AgentState, now: float) -> Prepared:
        check_bool(self.partial, "partial")
        check_bool(self.extra, "extra")
        each = [Observe(*one, self.partial, self.extra) for one in self.outcomes.items()]
        for one in each:
            one.check()
        if self.request is not None:
            key, content = check_request(self.request), self._content()
            if _known_request(agent, key, content):
                return [], None
            agent._journal.put_request(key, StoredRequest(content, 0, 0), now)
        entries = list[Entry]()
        for one in each:
            try:
                entries += state.observation(agent, now, one)
            except InputError as error:
                if len(each) == 1 or one.id in str(error):
                    raise
                raise type(error)(f"decision {one.id}: {error}") from None
        return entries, None

    def _content(self) -> str:
        rows = sorted(
            (id_, sorted((str(arm), repr(reward)) for arm, reward in rewards.items()))
            for id_, rewards in self.outcomes.items()
        )
        text = repr((rows, self.partial, self.extra))
        return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()

    def answer(self, result: None) -> dict[str, Any]:
        return {"accepted": len(self.outcomes)}


class Close(Operation, op="close", role="admin", route="events"):
    """Close a decision: no more outcomes are expected."""

    id: str = json_key(values.ID)

    def prepare(self, agent: Agent, state: AgentState, now: float) -> Prepared:
        found = state.find(self.id)
        if found is None:
            agent._made(self.id)  # raises an error if it is unknown
        return close_entries(now, [found] if found else [], "closed"), None


def close_entries(now: float, decisions: Iterable[OpenDecision], reason: str) -> list[Entry]:
    body = {"reason": reason, "closes": True}
    return [Entry(0, now, "close", one.number, body) for one in decisions]


class Pending(Operation, op="pending"):
    """List the open decisions."""

    def apply(self, agent: Agent) -> tuple[str, ...]:
        return agent.pending

    def answer(self, result: tuple[str, ...]) -> dict[str, Any]:
        return {"pending": list(result)}


class Show(Operation, op="decision"):
    """Return an earlier decision, open or closed."""

    id: str = json_key(values.ID)
    pi: bool = json_key(values.FLAG, "Whether to list the probability of each arm.", default=False)

    def apply(self, agent: Agent) -> Decision:
        return agent.decision(self.id)

    def answer(self, result: Decision) -> dict[str, Any]:
        return {"decision": _decision(result, self.pi)}


class Learn(Operation, op="learn", role="decide", route="learn"):
    """Learn from outcomes without a decision."""

    learns = True

    outcomes: object = json_key(values.TABLE)
    key: str | None = json_key(
        values.NAME, "Name of the data. Data with the same key is learned once.", default=None
    )
    unknown: str = json_key(
        values.choice("error", "skip"),
        "What to do with outcomes of unknown arms.",
        default="error",
    )

    def prepare(self, agent: Agent, state: AgentState, now: float) -> Prepared:
        from graphbandits.live.read_log import read_outcomes
        from graphbandits.live.state import pack_learned
        from graphbandits.registry import name_of

        key, unknown, setup = self.key, self.unknown, state.setup
        if key is not None and (not isinstance(key, str) or not key):
            raise InputError(f"key must be a text, not {short_repr(key)}")
        if unknown not in ("error", "skip"):
            raise InputError(f"unknown must be 'error' or 'skip', not {short_repr(unknown)}")
        if not setup.incremental:
            raise InputError(
                f"policy '{name_of(setup.policy)}' cannot learn from outcomes without a decision, "
                "because it divides by their probability: use a policy with a posterior"
            )
        if key in state.tables:
            return [], 0
        arm, reward, weight, count = read_outcomes(self.outcomes, setup, unknown == "skip")
        body = {"outcomes": count} | ({} if key is None else {"key": key})
        return [Entry(0, now, "learn", None, body, pack_learned(arm, reward, weight))], count

    def answer(self, result: int) -> dict[str, Any]:
        return {"learned": result}


# A changing world ---------------------------------------------------------------------------------


class AddArm(Operation, op="add_arm", role="admin", route="events"):
    """Add an arm."""

    name: Arm = json_key(values.ARM, "Name of the new arm.")
    prior: object = json_key(values.PRIOR, "Its prior. Default: as the other arms.", default=None)
    edges: EdgesLike | None = json_key(values.EDGES, "Neighbours in both directions.", default=None)
    reveals: EdgesLike | None = json_key(values.EDGES, "Arms the new one reveals.", default=None)
    revealed_by: EdgesLike | None = json_key(
        values.EDGES, "Arms that reveal the new one.", default=None
    )

    def prepare(self, agent: Agent, state: AgentState, now: float) -> Prepared:
        from graphbandits.live.setup import pack_graph

        setup = state.setup
        name = setup.check_new_arm(self.name)
        edges = setup.new_arm_edges(self.edges, self.reveals, self.revealed_by)
        graph = pack_graph(*setup.extended_process(name, edges))
        prior = setup.new_arm_prior(self.prior)
        body = {"name": name, "prior": prior, "graph": agent._journal.put_object(graph)}
        return [Entry(0, now, "add_arm", None, body)], None


class _ArmsOperation(Operation, op=""):
    arms: Sequence[Arm] = json_key(values.ARMS)

    def prepare(self, agent: Agent, state: AgentState, now: float) -> Prepared:
        kind, arms = self.op, self.arms
        if not arms:
            raise InputError(f"{kind} needs one or more arms: {kind}('ann')")
        numbers = state.setup.numbers_of(arms, "arms")
        gone = [arm for arm in numbers if arm in state.retired]
        if gone and kind != "retire":
            raise InputError(
                f"the arm {state.setup.arms[gone[0]]!r} is retired, which is final: add another"
            )
        changed = {
            "retire": [arm for arm in numbers if arm not in gone],
            "pause": [arm for arm in numbers if arm not in state.paused],
            "resume": [arm for arm in numbers if arm in state.paused],
        }[kind]
        return [Entry(0, now, kind, None, {"arms": changed})] if changed else [], None


class Retire(_ArmsOperation, op="retire", role="admin", route="events"):
    """Retire arms: they are not played and not revealed any more."""


class Pause(_ArmsOperation, op="pause", role="admin", route="events"):
    """Pause arms: they are not played until they are resumed."""


class Resume(_ArmsOperation, op="resume", role="admin", route="events"):
    """Allow paused arms to be played again."""


class SetGraph(Operation, op="set_graph", role="admin", route="events"):
    """Replace the feedback graph. Open decisions keep their graph."""

    graph: GraphLike = json_key(
        values.GRAPH,
        'The new graph. Edges replace all others: name every arm that is not retired; ["joe"] '
        "names an arm without edges.",
    )
    weight: str | None = "auto"

    def prepare(self, agent: Agent, state: AgentState, now: float) -> Prepared:
        from graphbandits.graphs.named import recipe_text
        from graphbandits.live.setup import pack_graph

        process = state.setup.read_graph(self.graph, self.weight, state.retired)
        data = pack_graph(process, recipe_text(self.graph))
        body = {"graph": agent._journal.put_object(data)}
        return [Entry(0, now, "set_graph", None, body)], None


class SetPolicy(Operation, op="set_policy", role="admin", route="events"):
    """Replace the policy, and keep what was learned."""

    policy: str | Policy = json_key(values.POLICY, "The new policy.")
    reset: bool = json_key(values.FLAG, "Whether the policy starts from the prior.", default=False)

    def prepare(self, agent: Agent, state: AgentState, now: float) -> Prepared:
        from graphbandits.policies import as_policy
        from graphbandits.posteriors.base import keeps_posterior
        from graphbandits.registry import name_of, text_of

        policy, reset = as_policy(self.policy), check_bool(self.reset, "reset")
        setup = state.setup.with_policy(policy)
        setup.pack(hash_of)  # a policy without a text form cannot be journaled
        fresh, posterior = setup.init(), setup.posterior
        kept = all(keeps_posterior(one, posterior) for one in (state.policy_state, fresh))
        if not reset and not (kept and fresh.keys() == state.policy_state.keys()):
            raise InputError(
                f"'{name_of(policy)}' cannot take over what '{name_of(state.setup.policy)}' has "
                "learned, because one of them has no posterior: use reset=True"
            )
        entries = _reset_entries(state, now) if reset else []
        body = {"policy": text_of(policy), "reset": reset}
        return [*entries, Entry(0, now, "set_policy", None, body)], None


def hash_of(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


class Reset(Operation, op="reset", role="admin", route="events"):
    """Return to the prior and close all open decisions."""

    def prepare(self, agent: Agent, state: AgentState, now: float) -> Prepared:
        return _reset_entries(state, now), None


def _reset_entries(state: AgentState, now: float) -> list[Entry]:
    closed = close_entries(now, state.open.values(), "reset")
    return [*closed, Entry(0, now, "reset", None, {})]


# Reading ------------------------------------------------------------------------------------------


class Beliefs(Operation, op="beliefs"):
    """Compute the statistics of the arms."""

    accuracy: str | None = json_key(
        values.ACCURACY, "Accuracy of the statistics. Default: that of the agent.", default=None
    )
    estimate: bool = json_key(values.FLAG, "Whether to estimate errors.", default=False)

    def apply(self, agent: Agent) -> BeliefsByArm:
        return agent.beliefs(self.accuracy, self.estimate)

    def answer(self, result: BeliefsByArm) -> dict[str, Any]:
        beliefs = {str(arm): dataclasses.asdict(result[arm]) for arm in result}
        error = {"error_estimate": result.error} if self.estimate else {}
        return {"beliefs": beliefs, "rho": result.rho, **error}


class Explain(Operation, op="explain"):
    """Explain an earlier decision."""

    id: str = json_key(values.ID)

    def apply(self, agent: Agent) -> Explanation:
        return agent.explain(self.id)

    def answer(self, result: Explanation) -> dict[str, Any]:
        return {"explanation": result.to_dict()}


class Status(Operation, op="status"):
    """Count decisions and outcomes."""

    def apply(self, agent: Agent) -> dict[str, Any]:
        return agent.status()

    def answer(self, result: dict[str, Any]) -> dict[str, Any]:
        return {"status": result}


class HealthReport(Operation, op="health"):
    """Report whether outcomes contradict the posterior, and which answers are missing."""

    level: float = json_key(values.LEVEL, "Level of the tests.", default=0.01)

    def apply(self, agent: Agent) -> Health:
        return agent.health(self.level)

    def answer(self, result: Health) -> dict[str, Any]:
        return {"health": result.to_dict()}


class History(Operation, op="history"):
    """Return the last entries of the journal."""

    last: int | None = json_key(values.COUNT, "Number of entries. Default: all.", default=None)

    def apply(self, agent: Agent) -> list[dict[str, Any]]:
        return agent.history(self.last)

    def answer(self, result: list[dict[str, Any]]) -> dict[str, Any]:
        return {"entries": result}
