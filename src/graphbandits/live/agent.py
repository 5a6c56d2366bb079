"""Live decisions: an agent runs a policy in one trial, with rewards from the user."""

from __future__ import annotations

import dataclasses
import os
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from graphbandits._io import from_npz, read_regular, readable_errors, to_npz, write_bytes
from graphbandits._serialization import plain_value, restored_value
from graphbandits._types import Floats
from graphbandits.engine.loop import decide, draw_graph, init_state, update_state
from graphbandits.errors import (
    MOST_ROUNDS,
    GraphBanditsError,
    InputError,
    InputWarning,
    check_horizon,
    check_integer,
    nearest,
    short_repr,
)
from graphbandits.graphs import GraphLike, Process, as_process, make_process
from graphbandits.graphs._storage import Arrays, pack_process, unpack_process
from graphbandits.graphs.graph_info import GraphInfo
from graphbandits.graphs.named import recipe_text
from graphbandits.graphs.processes import check_names
from graphbandits.live.prior_check import PriorCheck
from graphbandits.policies import Event, Policy, Problem, View, as_policy
from graphbandits.policies.base import check_needs, check_problem, check_saved
from graphbandits.posteriors import Arm, BeliefsByArm, Observations, Posterior
from graphbandits.posteriors._capabilities import (
    check_evidence,
    compute_beliefs,
    keeps_posterior,
    with_accuracy,
)
from graphbandits.posteriors.base import StateChecked
from graphbandits.registry import name_of, parameters_given, registered, text_of
from graphbandits.rng import Keys
from graphbandits.worlds import as_posterior

FORMAT = 1
#: Maximum size of a saved agent, far above that of an agent with a million arms.
MAX_BYTES = 4 * 2**30


@dataclass(frozen=True)
class Decision:
    """A decision of an agent: the arm to play, and the arms that may be observed.

    ``pi`` and ``reveals`` are created when they are first used, because there may be a million
    arms.

    Parameters
    ----------
    id : int
        Number of the decision, from 1.
    arm : str or int
        Arm to play.
    probability : float or None
        Probability of this arm in ``pi``; None if the policy draws the arm itself.
    pi : dict of arm to float
        Probability of each arm.
    reveals : dict of arm to float
        Probability of observation of each arm that may be observed.
    """

    id: int
    arm: Arm
    probability: float | None
    pi: dict[Arm, float] = field(repr=False)
    reveals: dict[Arm, float] = field(repr=False)

    if not TYPE_CHECKING:  # a type checker would accept any attribute name

        def __getattr__(self, name: str) -> dict[Arm, float]:
            """Create ``pi`` or ``reveals`` from the arrays of the agent."""
            deferred = vars(self).get("_deferred", {})
            if name not in deferred:
                raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
            arms, which, values = deferred[name]
            names = arms if which is None else [arms[i] for i in which.tolist()]
            made = dict(zip(names, values.tolist(), strict=True))
            return vars(self).setdefault(name, made)


@dataclass(frozen=True)
class _Pending:
    """A decision without observations yet."""

    t: int
    action: int
    pi: Floats  # (1, K)


class Agent:
    """Agent that makes decisions with a policy and learns from observed rewards.

    Several decisions may be open at a time, and may be observed in any order. An agent can be saved
    at any time, also with open decisions.

    Parameters
    ----------
    policy : str or Policy
        Policy as text form or object.
    arms : int or iterable of str, optional
        Names of the arms, or their number; then the arms are 0, 1, .... It may be omitted if the
        graph has names.
    graph : str, array, Process or other graph, default="empty"
        Feedback graph, in any form that :func:`graphbandits.as_process` accepts.
    seed : int
        Seed of the random draws.
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

    Raises
    ------
    InputError
        If a value is not allowed.
    NeedsError
        If the policy needs information that the graph or the horizon does not provide.

    Examples
    --------
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
        posterior: str | Posterior | None = None,
        prior: object = None,
        horizon: int | None = None,
        trial: int = 0,
        accuracy: str | None = None,
    ) -> None:
        self.policy: Policy = as_policy(policy)
        names, count = _names_and_number(arms)
        self.process = as_process(graph, count)
        if count is None and _fits_any_number(graph, self.process.arms):
            raise InputError(
                f"graph {graph!r} does not determine the number of arms: give arms=... as well"
            )
        self._graph_text = recipe_text(graph)
        self.arms = _arm_names(names, self.process)
        self.horizon = None if horizon is None else check_horizon(horizon)
        check_needs(self.policy, self.process, self.horizon)
        made = _prior(posterior, prior, names or self.arms, self.arms)
        self.posterior = with_accuracy(made, accuracy)
        self._keys = Keys(
            check_integer(seed, "seed", least=0), check_integer(trial, "trial", least=0)
        )
        self._index = {arm: i for i, arm in enumerate(self.arms)}
        self._problem = Problem(
            self.posterior, self.horizon, self.policy.needs, GraphInfo(self.process)
        )
        check_problem(self.policy, self._problem)
        self._state = init_state(self.policy, self._problem, self._keys)
        self._t = 0
        self._pending: dict[int, _Pending] = {}
        self._prior_check = PriorCheck(self.posterior)

    def __repr__(self) -> str:
        return (
            f"Agent({text_of(self.policy)!r}, {len(self.arms)} arms, {self._t} decisions made, "
            f"{len(self._pending)} open)"
        )

    @property
    def state(self) -> dict[str, dict[Arm, float]]:
        """State of the policy by arm; for Beta-Bernoulli arms the posterior parameters a and b."""
        return {
            name: dict(zip(self.arms, array[0].tolist(), strict=True))
            for name, array in self._state.items()
            if array.shape == (1, len(self.arms))
        }

    def beliefs(self, accuracy: str | None = None, estimate: bool = False) -> BeliefsByArm:
        """Compute the current statistics alpha, Delta and h of each arm.

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
        if not keeps_posterior(self._state, self.posterior):
            raise InputError(
                f"policy '{name_of(self.policy)}' has no posterior of the arms, and therefore no "
                f"beliefs; see its state in agent.state: {', '.join(self._state) or 'empty'}"
            )
        found = compute_beliefs(self.posterior, self._state, accuracy, estimate)
        return BeliefsByArm.of(found, self.arms, self._index)

    @property
    def pending(self) -> tuple[int, ...]:
        """Ids of the open decisions, which have not been observed yet."""
        return tuple(self._pending)

    def decide(self) -> Decision:
        """Make the next decision.

        Returns
        -------
        Decision
            Arm to play, and the arms that may be observed.
        """
        t = self._t + 1
        if t > MOST_ROUNDS:
            raise InputError(
                f"an agent makes at most {MOST_ROUNDS} decisions: create another agent"
            )
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
            _deferred={"pi": (self.arms, None, pi[0]), "reveals": (self.arms, seen, reach[seen])},
        )
        return decision

    def observe(
        self, decision: Decision | int, rewards: Mapping[Arm, float | tuple[float, float]]
    ) -> None:
        """Learn from the rewards of one decision.

        If an exception is raised, the state does not change and the decision stays open. If early
        rewards contradict the prior, :class:`graphbandits.errors.InputWarning` is issued once.

        Parameters
        ----------
        decision : Decision or int
            The decision, or its id.
        rewards : mapping of arm to float or pair
            All observed rewards of the decision. Omit the arms that were not observed. Several
            outcomes of an arm can be given as one pair (total, count): (successes, trials) of
            Bernoulli arms, (sum, number) of Gaussian rewards, (events, exposure) of counts.

        Raises
        ------
        InputError
            If the decision is not open, or if an arm or a reward is not allowed.

        Examples
        --------
        >>> agent = Agent("ts-n", arms=["ann", "bob"], graph="complete", seed=1)
        >>> agent.observe(agent.decide(), {"ann": (3, 10), "bob": 1})
        >>> agent.state["b"]
        {'ann': 8.0, 'bob': 1.0}
        """
        number = decision.id if isinstance(decision, Decision) else decision
        if not isinstance(rewards, Mapping):
            raise InputError(
                f"rewards must be a mapping {{arm: reward}}, not {short_repr(rewards)}"
            )
        is_integer = isinstance(number, int | np.integer) and not isinstance(number, bool)
        if not is_integer or number not in self._pending:
            raise InputError(
                f"decision {short_repr(number)} is not open: it was never made, or it was already "
                f"observed; open decisions: {list(self._pending) or 'none'}"
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
                    f"playing {played!r} does not reveal {arm!r} in this graph: omit this arm"
                )
            if isinstance(reward, tuple | list):
                seen[self._index[arm]] = check_evidence(self.posterior, reward)
            else:
                seen[self._index[arm]] = self.posterior.check_reward(reward), 1.0
        index = np.array(sorted(seen), np.int64)
        pairs = np.array([seen[i] for i in index.tolist()], np.float64).reshape(-1, 2)
        weight = None if (pairs[:, 1] == 1.0).all() else pairs[:, 1].copy()
        observations = Observations(np.zeros_like(index), index, pairs[:, 0].copy(), weight)
        pi = pending.pi.copy()  # a policy may modify it, and the decision still needs it
        event = Event(pending.t, self._keys, self._problem, graph, pi, action, observations)
        before = {name: np.array(array) for name, array in self._state.items()}
        try:
            self._state = update_state(self.policy, self._state, event)
        except BaseException:
            self._state = before  # the decision stays open
            raise
        del self._pending[number]
        if evidence := self._prior_check.observe(observations):
            warnings.warn(
                f"the rewards contradict the prior '{text_of(self.posterior)}': {evidence}; see "
                "inspect_prior, and consider another prior or posterior",
                InputWarning,
                stacklevel=2,
            )

    def save(self, path: str | Path) -> Path:
        """Save the agent to a file (.npz of NumPy, without pickle).

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
        if not _may_be_replaced(Path(path)):
            raise InputError(f"{path} exists and is not a saved agent: choose another name")
        if type(self.policy) not in registered("policy").values():
            raise InputError(
                f"{type(self.policy).__name__} is not registered, or its file was loaded again, "
                "and therefore a saved agent could not load it: decorate the class with "
                "@register('policy', 'its-name')"
            )
        text = text_of(self.policy)
        if as_policy(text) != self.policy:
            raise InputError(
                f"the text form '{text}' gives {as_policy(text)!r}, not {self.policy!r}: a saved "
                "agent would have a different policy"
            )
        arrays: Arrays = {f"state/{name}": value for name, value in self._state.items()}
        arrays |= {f"pending/{p.t}": p.pi for p in self._pending.values()}
        for i, checked in enumerate(() if self._prior_check.done else self._prior_check.states):
            arrays |= {f"prior_check/{i}/{name}": value for name, value in checked.items()}
        if type(self.posterior) not in registered("posterior").values():
            raise InputError(
                f"the prior class {type(self.posterior).__name__} is not registered, and therefore "
                "a saved agent could not load it: decorate the class with "
                "@register('posterior', 'its-name')"
            )
        fields = parameters_given(self.posterior)
        arrays |= {f"prior/{k}": v for k, v in fields.items() if isinstance(v, np.ndarray)}
        meta = {
            "format": FORMAT,
            "posterior": name_of(self.posterior),
            "prior": {
                name: plain_value(value, f"{name_of(self.posterior)}: {name}")
                for name, value in fields.items()
                if not isinstance(value, np.ndarray)
            },
            "policy": text,
            "arms": list(self.arms) if isinstance(self.arms[0], str) else len(self.arms),
            "seed": self._keys.seed,
            "trial": self._keys.first_trial,
            "horizon": self.horizon,
            "t": self._t,
            "has_nan": [name for name, value in self._state.items() if _has_nan(value)],
            "pending": [[p.t, p.action] for p in self._pending.values()],
            "prior_check": [self._prior_check.count, self._prior_check.done],
            "graph": pack_process(self.process, self._graph_text, arrays),
        }
        write_bytes(Path(path), to_npz(meta, arrays))
        return Path(path)

    @classmethod
    def load(cls, path: str | Path) -> Agent:
        """Load a saved agent. It continues as the original one would, bit for bit.

        Parameters
        ----------
        path : str or Path
            The file.

        Returns
        -------
        Agent
            The agent.

        Raises
        ------
        InputError
            If the file is missing, damaged or too new, or if its policy is not registered.
        """
        try:
            meta, arrays = from_npz(read_regular(Path(path), MAX_BYTES))
            if meta["format"] > FORMAT:
                raise InputError(
                    f"it has format {meta['format']}, but this version of graphbandits reads "
                    f"formats up to {FORMAT}: update graphbandits"
                )
            prior = _saved_prior(meta, arrays)
            _check_sizes(meta["graph"], prior.arms)
            agent = cls(
                meta["policy"],
                meta["arms"],
                unpack_process(meta["graph"], arrays),
                seed=meta["seed"],
                posterior=prior,
                horizon=meta["horizon"],
                trial=meta["trial"],
            )
            agent._restore(meta, arrays)
            return agent
        except GraphBanditsError as error:
            raise InputError(f"cannot load an agent from {path}: {error}") from None
        except OSError as error:
            raise InputError(f"cannot load an agent from {path}: {error.strerror}") from None
        except Exception:  # a damaged archive may raise any exception
            raise InputError(f"cannot load an agent from {path}: it is not a saved agent") from None

    def _restore(self, meta: dict[str, Any], arrays: Arrays) -> None:
        """Restore the state and the open decisions, after checking them."""
        for name, fresh in self._state.items():
            saved = arrays[f"state/{name}"]
            fits = saved.shape == fresh.shape and saved.dtype == fresh.dtype
            if not fits or (_has_nan(saved) and name not in meta.get("has_nan", [])):
                raise InputError(
                    f"it is damaged: its state '{name}' has the wrong shape, type or values"
                )
            self._state[name] = saved
        try:
            check_saved(self.policy, self._state, self._problem)
        except InputError as error:
            raise InputError(f"it is damaged: {error}") from None
        self._restore_prior_check(meta, arrays)
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
                raise InputError(f"it is damaged: its open decision {short_repr(t)} is not valid")
            self._pending[t] = _Pending(t, action, pi)

    def _restore_prior_check(self, meta: dict[str, Any], arrays: Arrays) -> None:
        """Restore the check of the prior; agents of earlier versions have none."""
        check = self._prior_check
        count, done = meta.get("prior_check", [0, True])
        check.count, check.done = int(count), bool(done) or check.done
        for i, (model, state) in enumerate(zip(check.models, check.states, strict=True)):
            if check.done:
                return
            for name, fresh in state.items():
                saved = arrays[f"prior_check/{i}/{name}"]
                if saved.shape != fresh.shape or saved.dtype != fresh.dtype:
                    raise InputError("it is damaged: its check of the prior is not valid")
                state[name] = saved
            if isinstance(model, StateChecked):
                model.check_state(state)


def _may_be_replaced(path: Path) -> bool:
    """Return whether the file does not exist, or may be a saved agent."""
    if os.path.isdir(path) or not os.path.exists(path):  # writing it raises a clear error
        return True
    if not os.path.isfile(path):
        return False
    with readable_errors(path), path.open("rb") as file:
        return file.read(2) in (b"", b"PK")


def _has_nan(values: Any) -> bool:
    return bool(np.isnan(values).any()) if values.dtype.kind == "f" else False


def _names_and_number(arms: object) -> tuple[tuple[str, ...] | None, int | None]:
    """Return the names and the number of arms, as far as they are given."""
    if arms is None:
        return None, None
    if isinstance(arms, Iterable) and not isinstance(arms, str):
        names = tuple(arms)
        if not all(isinstance(name, str) for name in names):
            raise InputError(f"arms must be a number, or names that are strings; got {arms!r}")
        return names, check_integer(len(names), "the number of arms")
    return None, check_integer(arms, "arms")


def _arm_names(given: tuple[str, ...] | None, process: Process) -> tuple[Arm, ...]:
    """Return the arms in the order of the graph; raise InputError if the names differ."""
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


def _prior(
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
    index = [position[arm] for arm in order]
    fields: dict[str, Any] = parameters_given(made) if dataclasses.is_dataclass(made) else {}
    by_arm = {k: v[index] for k, v in fields.items() if isinstance(v, np.ndarray) and v.ndim}
    if any(len(fields[name]) != len(order) for name in by_arm) or not fields:
        raise InputError(
            f"the prior '{name_of(made)}' cannot be reordered: give the names of the arms in the "
            "order of the graph"
        )
    return cast(Posterior, dataclasses.replace(cast(Any, made), **by_arm))


def _numbers(prior: Mapping[Any, Any]) -> bool:
    """Return whether a mapping has parameters of all arms; one by arm has no single numbers."""
    return any(isinstance(value, int | float | np.number) for value in prior.values())


def _saved_prior(meta: dict[str, Any], arrays: Arrays) -> Posterior:
    """Return the prior of a saved agent; early files do not name its class."""
    name = meta.get("posterior", "beta-bernoulli")
    known = registered("posterior")
    if name not in known:
        raise InputError(f"unknown posterior '{name}': {nearest(name, known)}")
    saved: dict[str, Any] = {
        key.removeprefix("prior/"): value
        for key, value in arrays.items()
        if key.startswith("prior/")
    }
    saved |= {name: restored_value(value) for name, value in meta.get("prior", {}).items()}
    posterior: Posterior = known[name](**saved)
    return posterior


def _check_sizes(graph: Any, arms: int) -> None:
    """Raise InputError if a graph has the wrong number of arms, before it allocates memory."""
    if isinstance(graph, dict):
        for name in ("arms", "count"):
            if graph.get(name, arms) != arms:
                given = short_repr(graph[name])
                raise InputError(
                    f"it is damaged: its graph has {given} arms, but its prior has {arms}"
                )
        graph = list(graph.values())
    if isinstance(graph, list):
        for part in graph:
            _check_sizes(part, arms)


def _fits_any_number(graph: GraphLike, arms: int) -> bool:
    """Return whether a graph does not determine the number of arms."""
    try:
        return make_process(graph, arms + 1).arms != arms
    except InputError:
        return True
