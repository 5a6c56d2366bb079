"""Live decisions: the same policies, one trial, outcomes from outside."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from graphbandits._io import from_npz, read_regular, readable_errors, to_npz, write_bytes
from graphbandits._types import Floats
from graphbandits.engine.loop import decide, draw_graph, init_state, update_state
from graphbandits.errors import (
    MOST_ROUNDS,
    GraphBanditsError,
    InputError,
    check_horizon,
    check_integer,
    nearest,
    short_repr,
)
from graphbandits.graphs import GraphLike, Process, as_process, make_process
from graphbandits.graphs._storage import Arrays, pack_process, unpack_process
from graphbandits.graphs.graph_info import GraphInfo
from graphbandits.graphs.named import given_text
from graphbandits.graphs.processes import check_names
from graphbandits.policies import Event, Policy, Problem, View, as_policy
from graphbandits.policies.base import check_needs, check_saved
from graphbandits.posteriors import Arm, BeliefsByArm, BetaBernoulli, Observations, Posterior
from graphbandits.posteriors._capabilities import believed, keeps_posterior, with_accuracy
from graphbandits.registry import name_of, parameters_given, registered, text_of
from graphbandits.rng import Keys

FORMAT = 1
#: The largest file that is read: far more than an agent of a million arms takes.
MAX_BYTES = 4 * 2**30


@dataclass(frozen=True)
class Decision:
    """What to play, and what may be seen.

    ``probability`` is the chance with which this arm was drawn from ``pi``; None for a policy
    that draws for itself. ``reveals`` gives every arm that may be observed its probability. Both
    are made when they are first looked at, for there may be a million arms.
    """

    id: int
    arm: Arm
    probability: float | None
    pi: dict[Arm, float] = field(repr=False)
    reveals: dict[Arm, float] = field(repr=False)

    if not TYPE_CHECKING:  # a checker would take any other name for good as well

        def __getattr__(self, name: str) -> dict[Arm, float]:
            """Make what is not there yet, of the arrays that the agent has left for it."""
            later = vars(self).get("_later", {})
            if name not in later:
                raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
            arms, which, values = later[name]
            names = arms if which is None else [arms[i] for i in which.tolist()]
            made = dict(zip(names, values.tolist(), strict=True))
            return vars(self).setdefault(name, made)


@dataclass(frozen=True)
class _Pending:
    t: int
    action: int
    pi: Floats  # (1, K)


class Agent:
    """Decides, observes, learns; saved at any moment, also between the two.

    ``arms`` are names, or a number of arms then called 0, 1, ...; it may be left out where the
    graph has names. ``prior`` is Beta(a, b) for every arm, or one pair an arm; ``accuracy`` is that
    of the statistics, "simulation" or "strict", if not as the prior says. Several decisions may
    be open at once, and be observed in any order.

    >>> agent = Agent("ids-n", arms=["ann", "bob", "eve"], graph="star", seed=1)
    >>> decision = agent.decide()
    >>> decision.arm, sorted(decision.reveals)
    ('ann', ['ann', 'bob', 'eve'])
    >>> agent.observe(decision, {"ann": 1, "bob": 0})
    >>> agent.decide().id
    2
    """

    def __init__(
        self,
        policy: str | Policy,
        arms: int | Iterable[str] | None = None,
        graph: GraphLike = "empty",
        *,
        seed: int,
        prior: object = (1.0, 1.0),
        horizon: int | None = None,
        trial: int = 0,
        accuracy: str | None = None,
    ) -> None:
        self.policy: Policy = as_policy(policy)
        names, count = _names_or_number(arms)
        self.process = as_process(graph, count)
        if count is None and _fits_any_number(graph, self.process.arms):
            raise InputError(f"graph {graph!r} fits any number of arms: say arms=... as well")
        self._graph_text = given_text(graph)
        self.arms = _arm_names(names, self.process)
        self.horizon = None if horizon is None else check_horizon(horizon)
        check_needs(self.policy, self.process, self.horizon)
        self.posterior = with_accuracy(_prior(prior, names or self.arms, self.arms), accuracy)
        self._keys = Keys(
            check_integer(seed, "seed", least=0), check_integer(trial, "trial", least=0)
        )
        self._index = {arm: i for i, arm in enumerate(self.arms)}
        self._problem = Problem(
            self.posterior, self.horizon, self.policy.needs, GraphInfo(self.process)
        )
        self._state = init_state(self.policy, self._problem, self._keys)
        self._t = 0
        self._pending: dict[int, _Pending] = {}

    def __repr__(self) -> str:
        return (
            f"Agent({text_of(self.policy)!r}, {len(self.arms)} arms, {self._t} decisions made, "
            f"{len(self._pending)} open)"
        )

    @property
    def state(self) -> dict[str, dict[Arm, float]]:
        """What the policy knows, by arm: for Beta-Bernoulli arms the posterior's a and b."""
        return {
            name: dict(zip(self.arms, array[0].tolist(), strict=True))
            for name, array in self._state.items()
            if array.shape == (1, len(self.arms))
        }

    def beliefs(self, accuracy: str | None = None, estimate: bool = False) -> BeliefsByArm:
        """What the agent believes now: alpha, Delta and h of each arm.

        ``accuracy`` as for the agent, whose own it is by default; with ``estimate`` the result has
        its estimated ``error``, absolute in simulation and relative where strict.

        >>> agent = Agent("ids-n", ["ann", "bob"], prior=[(80, 20), (20, 80)], seed=1)
        >>> found = agent.beliefs("strict", estimate=True)
        >>> f"{found['bob'].alpha:.8g}", found.arms[found.alpha.argmax()], found.error < 1e-8
        ('5.342731e-19', 'ann', True)
        """
        if not keeps_posterior(self._state, self.posterior):
            raise InputError(
                f"policy '{name_of(self.policy)}' keeps no posterior of the arms, so it has no "
                f"beliefs; what it knows is agent.state: {', '.join(self._state) or 'nothing'}"
            )
        found = believed(self.posterior, self._state, accuracy, estimate)
        return BeliefsByArm.of(found, self.arms, self._index)

    @property
    def pending(self) -> tuple[int, ...]:
        """The ids of decisions that have not been observed yet."""
        return tuple(self._pending)

    def decide(self) -> Decision:
        """The next play."""
        t = self._t + 1
        if t > MOST_ROUNDS:
            raise InputError(f"an agent makes at most {MOST_ROUNDS} decisions: start another one")
        graph = draw_graph(self.process, t, self._keys)
        view = View(t, self._keys, self._problem, graph)
        pi, action = decide(self.policy, self._state, view)
        self._t = t
        self._pending[t] = _Pending(t, int(action[0]), pi)
        reach = graph.reach(action)[0]
        seen = np.flatnonzero(reach)
        decision = object.__new__(Decision)
        vars(decision).update(
            id=t,
            arm=self.arms[action[0]],
            probability=float(pi[0, action[0]]) if self.policy.exact else None,
            _later={"pi": (self.arms, None, pi[0]), "reveals": (self.arms, seen, reach[seen])},
        )
        return decision

    def observe(self, decision: Decision | int, rewards: Mapping[Arm, float]) -> None:
        """Learn the rewards of one decision, all at once; arms that stayed unseen are left out."""
        number = decision.id if isinstance(decision, Decision) else decision
        if not isinstance(rewards, Mapping):
            raise InputError(f"rewards are given as {{arm: reward}}, not as {short_repr(rewards)}")
        whole = isinstance(number, int | np.integer) and not isinstance(number, bool)
        if not whole or number not in self._pending:
            raise InputError(
                f"decision {short_repr(number)} is not open: it was never made, or observed "
                f"before; open: {list(self._pending) or 'none'}"
            )
        pending = self._pending[number]
        action = np.array([pending.action])
        graph = draw_graph(self.process, pending.t, self._keys)
        reach = graph.reach(action)[0]
        played = self.arms[pending.action]
        seen = {}
        for arm, reward in rewards.items():
            if arm not in self._index:
                text = arm if isinstance(arm, str) else short_repr(arm)
                raise InputError(
                    f"unknown arm {short_repr(arm)}: {nearest(text, map(str, self.arms))}"
                )
            if reach[self._index[arm]] == 0.0:
                raise InputError(
                    f"playing {played!r} does not reveal {arm!r} in this graph: leave it out"
                )
            seen[self._index[arm]] = self.posterior.check_reward(reward)
        index = np.array(sorted(seen), np.int64)
        reward_array = np.array([seen[i] for i in index.tolist()], np.float64)
        observations = Observations(np.zeros_like(index), index, reward_array)
        pi = pending.pi.copy()  # a policy may write into it, and the decision has still to show it
        event = Event(pending.t, self._keys, self._problem, graph, pi, action, observations)
        before = {name: np.array(array) for name, array in self._state.items()}
        try:
            self._state = update_state(self.policy, self._state, event)
        except BaseException:
            self._state = before  # nothing was learnt, and the decision is still open
            raise
        del self._pending[number]

    def save(self, path: str | Path) -> Path:
        """Write everything the agent is into one file (NumPy's .npz, without pickle).

        An agent that was saved there before, or another zip archive, is replaced; any other file is
        left alone.
        """
        if not _may_be_replaced(Path(path)):
            raise InputError(f"{path} exists and is no saved agent: choose another name")
        if type(self.policy) not in registered("policy").values():
            raise InputError(
                f"{type(self.policy).__name__} is not registered, or its file was loaded again, so "
                "a saved agent could not find it: decorate it with @register('policy', 'its-name')"
            )
        text = text_of(self.policy)
        if as_policy(text) != self.policy:
            raise InputError(
                f"the text form '{text}' gives {as_policy(text)!r}, not {self.policy!r}: a saved "
                "agent would be another"
            )
        arrays: Arrays = {f"state/{name}": value for name, value in self._state.items()}
        arrays |= {f"pending/{p.t}": p.pi for p in self._pending.values()}
        if type(self.posterior) not in registered("posterior").values():
            raise InputError(
                f"a prior of {type(self.posterior).__name__} is not registered, so a saved agent "
                "could not find it: decorate it with @register('posterior', 'its-name')"
            )
        fields = parameters_given(self.posterior)
        arrays |= {f"prior/{k}": v for k, v in fields.items() if isinstance(v, np.ndarray)}
        meta = {
            "format": FORMAT,
            "posterior": name_of(self.posterior),
            "prior": {k: v for k, v in fields.items() if not isinstance(v, np.ndarray)},
            "policy": text,
            "arms": list(self.arms) if isinstance(self.arms[0], str) else len(self.arms),
            "seed": self._keys.seed,
            "trial": self._keys.first_trial,
            "horizon": self.horizon,
            "t": self._t,
            "has_nan": [name for name, value in self._state.items() if _has_nan(value)],
            "pending": [[p.t, p.action] for p in self._pending.values()],
            "graph": pack_process(self.process, self._graph_text, arrays),
        }
        write_bytes(Path(path), to_npz(meta, arrays))
        return Path(path)

    @classmethod
    def load(cls, path: str | Path) -> Agent:
        """The agent as it was saved; it goes on bit for bit."""
        try:
            meta, arrays = from_npz(read_regular(Path(path), MAX_BYTES))
            if meta["format"] > FORMAT:
                raise InputError(
                    f"it has format {meta['format']}, and this version of graphbandits reads up "
                    f"to {FORMAT}: update graphbandits"
                )
            prior = _saved_prior(meta, arrays)
            _check_sizes(meta["graph"], prior.arms)
            agent = cls(
                meta["policy"],
                meta["arms"],
                unpack_process(meta["graph"], arrays),
                seed=meta["seed"],
                prior=prior,
                horizon=meta["horizon"],
                trial=meta["trial"],
            )
            agent._restore(meta, arrays)
            return agent
        except GraphBanditsError as error:
            raise InputError(f"cannot load an agent from {path}: {error}") from None
        except OSError as error:
            raise InputError(f"cannot load an agent from {path}: {error.strerror}") from None
        except Exception:  # whatever a damaged archive makes its readers raise
            raise InputError(f"cannot load an agent from {path}: it is no saved agent") from None

    def _restore(self, meta: dict[str, Any], arrays: Arrays) -> None:
        """Take over state and open decisions, if this agent could have come to them."""
        for name, fresh in self._state.items():
            saved = arrays[f"state/{name}"]
            fits = saved.shape == fresh.shape and saved.dtype == fresh.dtype
            if not fits or (_has_nan(saved) and name not in meta.get("has_nan", [])):
                raise InputError(f"it is damaged: its state '{name}' does not fit")
            self._state[name] = saved
        try:
            check_saved(self.policy, self._state, self._problem)
        except InputError as error:
            raise InputError(f"it is damaged: {error}") from None
        self._graph_text = meta["graph"].get("text")
        self._t = check_integer(meta["t"], "t", least=0)
        if self._t > MOST_ROUNDS:
            raise InputError(f"it is damaged: it has made more than {MOST_ROUNDS} decisions")
        for t, action in meta["pending"]:
            pi = arrays[f"pending/{t}"]
            fits = type(t) is type(action) is int and t not in self._pending
            fits = fits and 0 < t <= self._t and 0 <= action < len(self.arms)
            fits = fits and pi.shape == (1, len(self.arms)) and pi.dtype == np.float64
            if not fits or not (pi >= 0.0).all() or not abs(pi.sum() - 1.0) < 1e-9:
                raise InputError(f"it is damaged: its open decision {short_repr(t)} does not fit")
            self._pending[t] = _Pending(t, action, pi)


def _may_be_replaced(path: Path) -> bool:
    """Whether there is no file, or one that may be a saved agent."""
    if os.path.isdir(path) or not os.path.exists(path):  # writing says what is wrong with it
        return True
    if not os.path.isfile(path):
        return False
    with readable_errors(path), path.open("rb") as file:
        return file.read(2) in (b"", b"PK")


def _has_nan(values: Any) -> bool:
    return bool(np.isnan(values).any()) if values.dtype.kind == "f" else False


def _names_or_number(arms: object) -> tuple[tuple[str, ...] | None, int | None]:
    if arms is None:
        return None, None
    if isinstance(arms, Iterable) and not isinstance(arms, str):
        names = tuple(arms)
        if not all(isinstance(name, str) for name in names):
            raise InputError(f"arms are a number, or names that are texts; got {arms!r}")
        return names, check_integer(len(names), "the number of arms")
    return None, check_integer(arms, "arms")


def _arm_names(given: tuple[str, ...] | None, process: Process) -> tuple[Arm, ...]:
    if given is None:
        return process.names or tuple(range(process.arms))
    check_names(given, process.arms)
    if process.names is None:
        return given
    known = set(process.names)
    if set(given) != known:
        wrong = next(name for name in given if name not in known)
        raise InputError(f"the graph has no arm '{wrong}': {nearest(wrong, process.names)}")
    return process.names


def _prior(prior: object, given_order: tuple[Arm, ...], order: tuple[Arm, ...]) -> Posterior:
    """The prior of the arms in ``order``, from one in the order that the user gave."""
    arms = len(order)
    if not isinstance(prior, BetaBernoulli) and hasattr(prior, "beliefs"):
        model = cast(Posterior, prior)
        if model.arms != arms or given_order != order:
            raise InputError(
                f"the prior has {model.arms} arms, the graph {arms}: give the prior of the graph's "
                "arms in their order"
            )
        return model
    if isinstance(prior, BetaBernoulli):
        posterior = prior
    else:
        try:
            given = np.asarray(prior)
        except ValueError:
            given = np.empty(0)
        if given.shape not in ((2,), (arms, 2)):
            raise InputError(
                f"prior is a pair (a, b), or one pair for each of the {arms} arms; got {prior!r}"
            )
        pairs = np.broadcast_to(given, (arms, 2))
        posterior = BetaBernoulli(pairs[:, 0], pairs[:, 1])
    if posterior.arms != arms:
        raise InputError(f"the prior has {posterior.arms} arms, the graph {arms}")
    if given_order == order:
        return posterior
    place = {arm: i for i, arm in enumerate(given_order)}
    moved = [place[arm] for arm in order]
    return dataclasses.replace(posterior, a=posterior.a[moved], b=posterior.b[moved])


def _saved_prior(meta: dict[str, Any], arrays: Arrays) -> Posterior:
    """The prior of a saved agent; the first ones had no choice."""
    name = meta.get("posterior", "beta-bernoulli")
    known = registered("posterior")
    if name not in known:
        raise InputError(f"unknown posterior '{name}': {nearest(name, known)}")
    saved = {k.removeprefix("prior/"): v for k, v in arrays.items() if k.startswith("prior/")}
    posterior: Posterior = known[name](**saved, **meta.get("prior", {}))
    return posterior


def _check_sizes(graph: Any, arms: int) -> None:
    """Refuse a graph of another number of arms before it is made, for that may take all memory."""
    if isinstance(graph, dict):
        for name in ("arms", "count"):
            if graph.get(name, arms) != arms:
                given = short_repr(graph[name])
                raise InputError(f"it is damaged: its graph has {given} arms, its prior {arms}")
        graph = list(graph.values())
    if isinstance(graph, list):
        for part in graph:
            _check_sizes(part, arms)


def _fits_any_number(graph: GraphLike, arms: int) -> bool:
    """Whether a graph has no number of arms of its own."""
    try:
        return make_process(graph, arms + 1).arms != arms
    except InputError:
        return True
