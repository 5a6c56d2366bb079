"""What an agent decides about: policy, arms, graph, prior; its packed form and early warnings."""

from __future__ import annotations

import dataclasses
import json
import math
import zlib
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, cast

import numpy as np

from graphbandits._files import from_npz, to_npz
from graphbandits._types import Floats, Ints, State
from graphbandits.errors import (
    GraphBanditsError,
    InputError,
    check_horizon,
    check_integer,
    check_probability,
    nearest,
    short_repr,
)
from graphbandits.graphs import GraphLike, Process, as_process, make_process
from graphbandits.graphs.feedback import from_edges
from graphbandits.graphs.loaders import Arrays, fingerprint, pack_process, unpack_process
from graphbandits.graphs.named import recipe_text
from graphbandits.graphs.processes import Fixed, check_names, edge_arrays, fixed_feedback
from graphbandits.graphs.properties import GraphInfo
from graphbandits.policies import Policy, Problem, as_policy
from graphbandits.policies.base import check_needs, check_problem, own_plays_only
from graphbandits.posteriors import Arm, Observations, Posterior, is_discounted
from graphbandits.posteriors.base import select_arms, with_accuracy
from graphbandits.registry import (
    name_of,
    pack_plugin,
    registered,
    text_of,
    text_parameters,
    unpack_plugin,
)
from graphbandits.rng import Keys
from graphbandits.simulation.loop import init_state
from graphbandits.worlds import as_posterior, prior_parameters

#: Types of packed numbers.
_I4, _F8 = np.dtype("<i4"), np.dtype("<f8")


def pack_graph(process: Process, text: str | None) -> bytes:
    arrays: Arrays = {}
    return pack_npz({"graph": pack_process(process, text, arrays), "text": text}, arrays)


def unpack_graph(data: bytes) -> tuple[Process, str | None]:
    meta, arrays = unpack_npz(data)
    return unpack_process(meta["graph"], arrays), meta["text"]


def pack_sparse(row: Floats) -> bytes:
    """Convert the positive entries of a row of probabilities to bytes."""
    (index,) = row.nonzero()
    raw = index.astype(_I4).tobytes() + row[index].astype(_F8, copy=False).tobytes()
    # many arms have few different probabilities, which compress well
    return b"r" + raw if len(raw) <= 1000 else b"z" + zlib.compress(raw, 1)


def unpack_sparse(data: bytes) -> tuple[Ints, Floats]:
    raw = data[1:] if data[:1] == b"r" else zlib.decompress(data[1:])
    count = len(raw) // 12
    index = np.frombuffer(raw, _I4, count).astype(np.int64)
    return index, np.frombuffer(raw, _F8, count, 4 * count).astype(np.float64)


def unpack_row(data: bytes, arms: int) -> Floats:
    row = np.zeros(arms)
    index, values = unpack_sparse(data)
    row[index] = values
    return row


def pack_npz(meta: Mapping[str, Any], arrays: Arrays) -> bytes:
    return zlib.compress(to_npz(meta, arrays), 1)


def unpack_npz(data: bytes) -> tuple[dict[str, Any], Arrays]:
    return from_npz(zlib.decompress(data))


#: Arguments of an agent that determine arms, graph and prior.
MODEL = ("arms", "graph", "posterior", "prior", "accuracy")
#: Edges of a new arm: names of other arms, or a mapping from names to probabilities.
EdgesLike = Iterable[Arm] | Mapping[Arm, float]


@dataclass(frozen=True, eq=False)
class Setup:
    """Policy, arms, graph, prior and random numbers of an agent, checked. Use :meth:`Setup.of`."""

    policy: Policy
    arms: tuple[Arm, ...]
    posterior: Posterior
    process: Process
    graph_text: str | None
    horizon: int | None
    keys: Keys

    @classmethod
    def of(
        cls,
        policy: str | Policy,
        arms: int | Iterable[Arm] | None,
        graph: GraphLike,
        *,
        seed: int,
        posterior: str | Posterior | None = None,
        prior: object = None,
        horizon: int | None = None,
        trial: int = 0,
        accuracy: str | None = None,
        weight: str | None = "auto",
    ) -> Setup:
        names, count = names_and_number(arms)
        process = as_process(graph, count, weight)
        if count is None and _fits_any_number(graph, process.arms, weight):
            raise InputError(
                f"graph {graph!r} does not determine the number of arms: give arms=... as well"
            )
        order = _arm_names(names, _integer_nodes(graph), process)
        given = tuple(name.strip() if isinstance(name, str) else name for name in names or order)
        made = make_prior(posterior, prior, given, order)
        return cls(
            as_policy(policy),
            order,
            with_accuracy(made, accuracy),
            process,
            recipe_text(graph),
            None if horizon is None else check_horizon(horizon),
            Keys(check_integer(seed, "seed", least=0), check_integer(trial, "trial", least=0)),
        ).checked()

    def checked(self) -> Setup:
        """Return the setup; raise an error if the policy does not fit the graph or the rewards."""
        check_needs(self.policy, self.process, self.horizon)
        check_problem(self.policy, self.problem)
        return self

    @cached_property
    def problem(self) -> Problem:
        return Problem(self.posterior, self.horizon, self.policy.needs, GraphInfo(self.process))

    @cached_property
    def index(self) -> dict[Any, int]:
        return {arm: i for i, arm in enumerate(self.arms)}

    @cached_property
    def _index_of_text(self) -> dict[str, int]:
        return {str(arm): i for i, arm in enumerate(self.arms)}

    @cached_property
    def incremental(self) -> bool:
        """Whether the policy learns from parts of the outcomes of a decision."""
        return bool(getattr(self.policy, "incremental", False))

    @cached_property
    def own_plays_only(self) -> bool | None:
        """Whether the policy learns from own plays only; None if it is not known."""
        return own_plays_only(self.policy)

    @cached_property
    def by_time(self) -> bool:
        """Whether the posterior discounts by time, not by decisions."""
        return getattr(self.posterior, "half_life", None) is not None

    def _find(self, arm: object) -> int | None:
        if isinstance(arm, str):
            return self.index.get(arm, self._index_of_text.get(arm))
        number = isinstance(arm, _INTEGERS) and type(arm) is not bool
        return self.index.get(arm) if number else None

    def has(self, arm: object) -> bool:
        return self._find(arm) is not None

    def number_of(self, arm: object) -> int:
        """Return the number of an arm; the text of an integer name, as in JSON, is accepted."""
        found = self._find(arm)
        if found is None:
            text = arm if isinstance(arm, str) else short_repr(arm)
            raise InputError(f"unknown arm {short_repr(arm)}: {nearest(text, map(str, self.arms))}")
        return found

    def numbers_of(self, arms: object, what: str) -> list[int]:
        """Return the numbers of several arms; ``what`` is their name in messages."""
        if isinstance(arms, str | bytes) or not isinstance(arms, Iterable):
            raise InputError(f"{what} must be a list of arms, not {short_repr(arms)}")
        return [self.number_of(arm) for arm in arms]

    def init(self) -> State:
        return init_state(self.policy, self.problem, self.keys)

    def difference(self, given: Mapping[str, Any]) -> str:
        """Return how given arguments (None if not given) differ from the setup; empty if equal."""
        arms, graph = given["arms"], given["graph"]
        if arms is None and (graph is None or isinstance(graph, str)):
            arms = self.arms
        same_prior = given["posterior"] is None and given["prior"] is None
        try:
            made = Setup.of(
                self.policy,
                arms,
                (self.graph_text or self.process) if graph is None else graph,
                seed=self.keys.seed,
                posterior=None if same_prior else given["posterior"],
                prior=given["prior"],
                horizon=self.horizon,
                weight="auto" if graph is None else given["weight"],
            )
        except GraphBanditsError as error:
            return str(error).rstrip(".")
        if made.arms != self.arms:
            return f"the agent has the arms {short_repr(self.arms)}, not {short_repr(made.arms)}"
        if graph is not None and fingerprint(made.process) != fingerprint(self.process):
            return "the agent has another graph; set_graph changes it"
        prior = self.posterior if same_prior else made.posterior
        one = replace(made, posterior=with_accuracy(prior, given["accuracy"]))
        return "" if one._packed_prior() == self._packed_prior() else "the agent has another prior"

    def _packed_prior(self) -> bytes:
        arrays: Arrays = {}
        return pack_npz(pack_plugin(self.posterior, arrays, "prior"), arrays)

    # Changes --------------------------------------------------------------------------------------

    def with_policy(self, policy: str | Policy) -> Setup:
        return replace(self, policy=as_policy(policy)).checked()

    def with_graph(self, process: Process, text: str | None) -> Setup:
        return replace(self, process=process, graph_text=text).checked()

    def read_graph(
        self, graph: GraphLike, weight: str | None, retired: Iterable[int] = ()
    ) -> Process:
        """Convert a graph to a process with the arms in their order; it may lack retired arms."""
        count = len(self.arms)
        process = make_process(graph, count, weight)
        names = process.names
        if names is None or tuple(map(str, self.arms)) == names:
            if process.arms != count:
                raise InputError(
                    f"the graph has {process.arms} arms, but the agent has {count}: use the same"
                )
            return process
        feedback = fixed_feedback(process)
        if feedback is None:
            raise InputError(
                "a graph that changes must have the names of the arms in the order of the agent"
            )
        place = np.array([self.number_of(name) for name in names], np.int64)
        missing = set(range(count)) - set(place.tolist()) - set(retired)
        if missing:
            arm = self.arms[min(missing)]
            raise InputError(
                f"the graph has no arm {arm!r}: add it, without edges if it has none, or retire it"
            )
        source, target, weights = edge_arrays(feedback)
        made = from_edges(count, place[source], place[target], weights)
        return Fixed(made, tuple(map(str, self.arms)))

    def new_arm_prior(self, prior: object) -> dict[str, Any]:
        """Return the parameters of the prior of a new arm, as arguments of ``of`` of its class."""
        cls = type(self.posterior)
        if not hasattr(cls, "of") or not dataclasses.is_dataclass(cls):
            kind = f"the posterior '{name_of(self.posterior)}'"
            raise InputError(f"{kind} has no class method 'of', which is needed to add an arm")
        written, shared, different = dict[str, Any](), dict[str, Any](), set[str]()
        for name, value in text_parameters(self.posterior).items():
            if not isinstance(value, np.ndarray) or not value.ndim:
                written[name] = shared[name] = value
            elif (value == value[0]).all():
                written[name] = value[:1].tolist()
            else:
                different.add(name)
        given = {} if prior is None else prior_parameters(prior, cls, 1, written)
        for name in shared.keys() & given.keys():
            if given[name] != shared[name]:
                raise InputError(
                    f"all arms have {name}={shared[name]!r}: remove '{name}' from the prior"
                )
        if missing := different - given.keys():
            raise InputError(
                f"the arms have different priors: give prior=... (parameter '{min(missing)}')"
            )
        return written | {name: _plain(value) for name, value in given.items()}

    def with_arm(
        self, name: Arm, prior: Mapping[str, Any], process: Process, text: str | None
    ) -> Setup:
        """Return the setup with one more arm; ``prior`` is the result of :meth:`new_arm_prior`."""
        one: Any = type(self.posterior).of(1, **prior)  # type: ignore[attr-defined]
        fields = {
            field.name: np.concatenate([value, getattr(one, field.name)])
            for field in dataclasses.fields(cast(Any, self.posterior))
            if isinstance(value := getattr(self.posterior, field.name), np.ndarray) and value.ndim
        }
        posterior = dataclasses.replace(cast(Any, self.posterior), **fields)
        arms = (*self.arms, name)
        return replace(
            self, arms=arms, posterior=posterior, process=process, graph_text=text
        ).checked()

    def check_new_arm(self, name: object) -> Arm:
        if not self.incremental:
            raise InputError(
                f"policy '{name_of(self.policy)}' cannot take another arm: its state depends on "
                "all arms. Use a policy with a posterior, such as ids-n, or create another agent"
            )
        number = isinstance(self.arms[0], int)
        if number and _is_integer(name):
            new: Arm = _int64(name)
        elif not number and isinstance(name, str) and name.strip():
            new = name.strip()
        else:
            kind = "an integer" if number else "a string"
            raise InputError(f"the name of this arm must be {kind}, not {short_repr(name)}")
        if new in self.index:
            raise InputError(f"there is an arm {new!r} already: choose another name")
        return new

    def new_arm_edges(
        self, edges: object, reveals: object, revealed_by: object
    ) -> list[list[Any]] | None:
        """Return the edges [source, target, probability] of the new arm K, if given."""
        if edges is None and reveals is None and revealed_by is None:
            return None
        new, found = len(self.arms), list[list[Any]]()
        for what, given in (("edges", edges), ("reveals", reveals), ("revealed_by", revealed_by)):
            if given is None:
                continue
            arms = self.numbers_of(given, what)
            chances = given.values() if isinstance(given, Mapping) else [1.0] * len(arms)
            for arm, value in zip(arms, chances, strict=True):
                chance = check_probability(value, f"the probability of {self.arms[arm]!r}")
                if what != "revealed_by":
                    found.append([new, arm, chance])
                if what != "reveals":
                    found.append([arm, new, chance])
        return found

    def extended_process(
        self, name: Arm, edges: list[list[Any]] | None
    ) -> tuple[Process, str | None]:
        """Return the graph with one more arm, and its text form if it has one.

        Without edges, a graph for any number of arms, such as "complete", is created again for one
        more arm; in any other graph the arm has no edges.
        """
        count = len(self.arms) + 1
        if edges is None:
            if self.graph_text is not None:
                with suppress(InputError):  # such as a file that is gone
                    made = make_process(self.graph_text, count)
                    if made.arms == count and made.names is None:
                        return made, self.graph_text
            changing = fixed_feedback(self.process) is None
            if changing and dataclasses.is_dataclass(self.process):
                fields = {field.name for field in dataclasses.fields(self.process)}
                if {"arms", "names"} <= fields:
                    return replace(cast(Any, self.process), arms=count, names=None), None
        feedback = fixed_feedback(self.process)
        if feedback is None:
            raise InputError(
                "the graph changes from round to round, and therefore a new arm cannot have edges "
                "of its own: leave out the edges, or set a fixed graph with set_graph"
            )
        source, target, weight = edge_arrays(feedback)
        more = np.array(edges or [], np.float64).reshape(-1, 3)
        extended = from_edges(
            count,
            np.append(source, more[:, 0].astype(np.int64)),
            np.append(target, more[:, 1].astype(np.int64)),
            np.append(weight, more[:, 2]),
        )
        names = None if isinstance(name, int) else tuple(map(str, (*self.arms, name)))
        return Fixed(extended, names), None

    # Storage --------------------------------------------------------------------------------------

    def pack(self, put: Callable[[bytes], str]) -> dict[str, Any]:
        """Convert to JSON; arms, prior and graph are objects stored by ``put``."""
        if type(self.policy) not in registered("policy").values():
            raise InputError(
                f"{type(self.policy).__name__} is not registered, or its file was loaded again: "
                "decorate the class with @register('policy', 'its-name') to store an agent"
            )
        text = text_of(self.policy)
        if as_policy(text) != self.policy:
            raise InputError(
                f"the text form '{text}' gives {as_policy(text)!r}, not {self.policy!r}: correct "
                "its parameters to store an agent"
            )
        numbered = self.arms == tuple(range(len(self.arms)))
        names = b"" if numbered else zlib.compress(json.dumps(self.arms).encode(), 1)
        return {
            "policy": text,
            "arms": len(self.arms) if numbered else put(names),
            "prior": put(self._packed_prior()),
            "graph": put(pack_graph(self.process, self.graph_text)),
            "horizon": self.horizon,
            "seed": self.keys.seed,
            "trial": self.keys.first_trial,
        }

    @classmethod
    def unpack(cls, meta: Mapping[str, Any], get: Callable[[str], bytes]) -> Setup:
        posterior: Posterior = unpack_plugin(*unpack_npz(get(meta["prior"])))
        arms = meta["arms"]
        numbered = not isinstance(arms, str)
        names = tuple(range(arms) if numbered else json.loads(zlib.decompress(get(arms))))
        process, text = unpack_graph(get(meta["graph"]))
        keys = Keys(meta["seed"], meta["trial"])
        policy = as_policy(meta["policy"])
        return cls(policy, names, posterior, process, text, meta["horizon"], keys).checked()


def extended_state(before: State, fresh: State, name: str) -> State:
    """Return the state of a policy with one more arm, whose entries are those of ``fresh``."""
    found: State = {}
    for key, array in fresh.items():
        old = before[key]
        if old.shape == array.shape:
            found[key] = old
        elif old.ndim > 1 and (len(old), old.shape[1] + 1, *old.shape[2:]) == array.shape:
            array[:, :-1] = old
            found[key] = array
        else:
            raise InputError(
                f"policy '{name}' cannot take another arm: its array '{key}' has no entry per arm"
            )
    return found


def _plain(value: Any) -> Any:
    return value.tolist() if isinstance(value, np.ndarray | np.generic) else value


def names_and_number(arms: object) -> tuple[tuple[Arm, ...] | None, int | None]:
    if arms is None:
        return None, None
    if isinstance(arms, Iterable) and not isinstance(arms, str):
        names = tuple(arms)
        texts = all(isinstance(name, str) for name in names)
        numbers = all(map(_is_integer, names))
        if not texts and not numbers:
            allowed = "a number, or names that are all strings or all integers"
            raise InputError(f"arms must be {allowed}; got {short_repr(arms)}")
        count = check_integer(len(names), "the number of arms")
        return (names if texts else tuple(map(_int64, names))), count
    return None, check_integer(arms, "arms")


#: Types of names that are numbers.
_INTEGERS = (int, np.integer)


def _is_integer(name: object) -> bool:
    return isinstance(name, _INTEGERS) and not isinstance(name, bool)


def _int64(name: Any) -> int:
    """Return the name of an arm as an integer that a log can hold."""
    if not -(2**63) <= int(name) < 2**63:
        raise InputError(f"the arm {short_repr(name)} is too large: use 64 bits, or strings")
    return int(name)


def _integer_nodes(graph: GraphLike) -> tuple[int, ...] | None:
    if not (hasattr(graph, "adjacency") and hasattr(graph, "is_directed")):
        return None
    nodes = tuple(graph.nodes)
    return tuple(map(_int64, nodes)) if all(map(_is_integer, nodes)) else None


def _arm_names(
    given: tuple[Arm, ...] | None, nodes: tuple[int, ...] | None, process: Process
) -> tuple[Arm, ...]:
    if given is None:
        return nodes or process.names or tuple(range(process.arms))
    names = check_names(given, process.arms) or ()
    integers = isinstance(given[0], int)
    if process.names is None:
        return given if integers else names
    known = set(process.names)
    if set(names) != known:
        wrong = next(name for name in names if name not in known)
        raise InputError(f"the graph has no arm '{wrong}': {nearest(wrong, process.names)}")
    return tuple(map(int, process.names)) if integers else process.names


def make_prior(
    posterior: str | Posterior | None,
    prior: object,
    given_order: tuple[Arm, ...],
    order: tuple[Arm, ...],
) -> Posterior:
    """Return the prior of the arms in ``order``, from a prior in the order of the user."""
    if hasattr(prior, "beliefs"):
        if posterior is not None:
            raise InputError(
                "prior is a posterior object, and posterior was given, too: remove one of them"
            )
        posterior, prior = cast(Posterior, prior), None
    if isinstance(prior, Mapping) and prior and set(prior) <= set(order) and not _numbers(prior):
        prior = [prior.get(arm, {}) for arm in given_order]
    made = as_posterior(posterior, len(order), prior)
    if given_order == order:
        return made
    position = {arm: i for i, arm in enumerate(given_order)}
    return select_arms(made, [position[arm] for arm in order])


def _numbers(prior: Mapping[Any, Any]) -> bool:
    """Return whether a mapping has parameters of all arms; one by arm has no single numbers."""
    return any(isinstance(value, int | float | np.number) for value in prior.values())


def _fits_any_number(graph: GraphLike, arms: int, weight: str | None) -> bool:
    try:
        return make_process(graph, arms + 1, weight).arms != arms
    except InputError:
        return True


#: Number of observations after which the prior matters little and is not checked any more.
EARLY = 200
#: Number of arms above which the prior is not checked, to save memory.
MOST_ARMS = 10_000
#: Likelihood ratio at which the prior counts as contradicted. If the prior is right, the ratio ever
#: reaches it with a probability of at most 1/CONTRADICTION (Ville's inequality).
CONTRADICTION = 1000.0


class PriorCheck:
    """Compare how well a prior, and weaker priors of the same mean, predict early observations.

    The ratio of the likelihoods of all observations is a martingale if the prior is right.
    """

    def __init__(self, prior: Posterior) -> None:
        given: Any = prior
        able = hasattr(given, "weaker") and hasattr(given, "log_evidence")
        able = able and not is_discounted(prior)
        self.models: tuple[Any, ...] = ()
        if able and prior.arms <= MOST_ARMS:
            weaker = given.weaker()
            self.models = (given, weaker, weaker.weaker())
        self.states: list[State] = [model.init(1) for model in self.models]
        self.count = 0
        self.done = not self.models

    def observe(self, seen: Observations) -> str:
        """Add observations; return a warning, empty if there is none."""
        if self.done or not len(seen.arm):
            return ""
        self.count += len(seen.arm)
        try:
            pairs = zip(self.models, self.states, strict=True)
            self.states = [model.update(state, seen) for model, state in pairs]
            pairs = zip(self.models, self.states, strict=True)
            evidence = [float(np.sum(model.log_evidence(state))) for model, state in pairs]
        except Exception:  # extreme rewards, for example; a check must not stop an agent
            self.done = True
            return ""
        against = float(np.logaddexp(evidence[1], evidence[2]) - math.log(2.0) - evidence[0])
        contradicted = against >= math.log(CONTRADICTION)
        self.done = contradicted or self.count >= EARLY
        if not contradicted:
            return ""
        ratio = f"{math.exp(min(against, 700.0)):.0e}"
        return f"the first {self.count} rewards are {ratio} times more likely under a weaker prior"
