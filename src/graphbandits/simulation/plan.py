"""Plans (one simulation of several policies in the same worlds) and their tasks."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, is_dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from graphbandits._files import from_npz, to_npz, versions
from graphbandits.errors import (
    GraphBanditsError,
    InputError,
    check_horizon,
    check_integer,
    short_repr,
)
from graphbandits.graphs import GraphLike, Process, as_process
from graphbandits.graphs.loaders import fingerprint, pack_process, unpack_process
from graphbandits.graphs.named import recipe_text
from graphbandits.graphs.properties import GraphInfo
from graphbandits.plugins import data_files, file_of, source_hash
from graphbandits.policies import Policy, Problem, as_policy
from graphbandits.policies.base import check_needs, check_problem, with_inner
from graphbandits.policies.wrappers import check_restrictable
from graphbandits.posteriors import BetaBernoulli, Posterior, is_discounted
from graphbandits.posteriors.base import reward_support
from graphbandits.registry import (
    Arrays,
    build,
    name_of,
    pack_plugin,
    summary_of,
    text_of,
    text_parameters,
    unpack_plugin,
)
from graphbandits.rng import Keys
from graphbandits.rules.gains import check_joint
from graphbandits.simulation.conditions import Answers, Eligible, check_eligible, describe_eligible
from graphbandits.simulation.loop import RunMonitor, run_recorded
from graphbandits.simulation.shard import MAX_POINTS, Recording, Shard
from graphbandits.worlds import World, as_posterior, as_world, check_world

#: Trials in lockstep. Their state fits in the CPU cache, and the overhead of Python is small.
BLOCK = 250
#: Maximum of trials times arms in a block of more than one trial.
MAX_BLOCK_ENTRIES = 10**6
#: Maximum of trials times arms times rounds until an outcome arrives, in such a block.
MAX_WAITING_ENTRIES = 10**7
#: Format of packed problems. Another format raises an error.
PROBLEM_FORMAT = 1
#: A task fails after this many workers ended while they ran it.
MAX_WORKER_DEATHS = 3


@dataclass(frozen=True, eq=False)
class Plan:
    """One simulation, checked and not yet run. Use :meth:`Plan.of` to create one.

    Attributes
    ----------
    policies : policies by their text form
    world : reward model
    process : graph process
    horizon : number of rounds
    trials : number of trials
    seed : seed of the random draws
    recording : what is recorded, and at which rounds
    posterior : prior that policies start from; usually that of the world
    graph_text : name of the graph in the results
    graph_spec : text form from which the graph was made; None if it was made from an object
    first_trial : number of the first trial
    sweep : number of the sweep in the experiment; None without a sweep
    point : values of the swept parameters
    lines : line of the sweep figures to which each policy belongs
    eligible : probability, or array of shape (1, K) or (T, K); None if all arms are eligible
    answers : delays and arrival of outcomes; None if all arrive in the round of the play
    """

    policies: dict[str, Policy]
    world: World
    process: Process
    horizon: int
    trials: int
    seed: int
    recording: Recording
    posterior: Posterior
    graph_text: str = ""
    graph_spec: str | None = None
    first_trial: int = 0
    sweep: int | None = None
    point: Mapping[str, int | float | str] = field(default_factory=dict)
    lines: Mapping[str, str] = field(default_factory=dict)
    eligible: Eligible | None = None
    answers: Answers | None = None

    @classmethod
    def of(
        cls,
        policies: str | Policy | Iterable[str | Policy],
        world: World | str | None = None,
        graph: GraphLike = "paper",
        *,
        horizon: int,
        trials: int,
        seed: int = 0,
        arms: int | None = None,
        posterior: Posterior | str | None = None,
        first_trial: int = 0,
        regret: str = "pseudo",
        ratios: str | None = None,
        rounds: int | Sequence[int] = MAX_POINTS,
        record: str | Iterable[str] = (),
        eligible: float | ArrayLike | None = None,
        delay: int | Sequence[int] = 0,
        answer_rate: float = 1.0,
    ) -> Plan:
        """Create a plan and check all settings; parameters as in :func:`graphbandits.simulate`.

        Examples
        --------
        >>> plan = Plan.of(["ts-n", "ids-n"], graph="paper", horizon=50, trials=20)
        >>> list(plan.policies), plan.decisions
        (['ts-n', 'ids-n'], 2000)
        """
        if world is not None and not isinstance(world, str):
            arms = check_world(world, arms).arms
        process = as_process(graph, arms)
        made = as_world(world, process.arms)
        prior = made.prior if posterior is None else as_posterior(posterior, process.arms)
        check_rewards(made, prior)
        given = recipe_text(graph)
        plan = cls(
            policies=named_policies(policies),
            world=made,
            posterior=prior,
            process=process,
            horizon=check_horizon(horizon),
            trials=check_integer(trials, "trials"),
            seed=check_integer(seed, "seed", least=0),
            recording=Recording.of(horizon, rounds, regret, ratios, record),
            graph_spec=given,
            graph_text=given or type(graph).__name__,
            first_trial=check_integer(first_trial, "first_trial", least=0),
            eligible=check_eligible(eligible, horizon, process.arms),
            answers=Answers.of(delay, answer_rate),
        )
        Keys(plan.seed, plan.first_trial, plan.trials)  # raises if a number is too large
        if process.rounds is not None and process.rounds < plan.horizon:
            raise InputError(
                f"the graph process has {process.rounds} rounds, but the horizon is {horizon}: "
                "use a shorter horizon"
            )
        if ratios == "joint":
            check_joint(plan.posterior, process)
        if plan.recording.eligible and plan.eligible is None:
            raise InputError(
                "cannot record the eligible arms: all arms are eligible, because 'eligible' is not "
                "given; give it, or do not record them"
            )
        if ratios is not None and not (plan.eligible is None and plan.answers is None):
            raise InputError(
                "information ratios are defined only if all arms are eligible and all outcomes "
                "arrive in the round of the play: remove ratios, or eligible, delay and answer_rate"
            )
        graphs = GraphInfo(process)
        for policy in plan.policies.values():
            check_needs(policy, process, plan.horizon)
            problem = Problem(plan.posterior, plan.horizon, policy.needs, graphs)
            check_problem(policy, problem)
            if plan.eligible is not None:
                check_restrictable(policy, problem)
        return plan

    def pack(self) -> bytes:
        """Return the problem as bytes (npz): graph, world, posterior, eligible arms and answers.

        The same bytes go to workers and are stored in studies; their sha256 is :attr:`problem`.
        Policies, horizon, seed, trials and recording are not included. Equal problems have equal
        bytes. Raise InputError if a part cannot be restored in another process.
        """
        arrays: Arrays = {}
        own = self.posterior is self.world.prior
        problem = {
            "format": PROBLEM_FORMAT,
            "graph": pack_process(self.process, self.graph_spec, arrays),
            "world": _pack_model(self.world, arrays, "world"),
            "posterior": None if own else _pack_model(self.posterior, arrays, "posterior"),
            "eligible": self.eligible if isinstance(self.eligible, float | None) else "array",
            "answers": None if self.answers is None else asdict(self.answers),
        }
        if isinstance(self.eligible, np.ndarray):
            arrays["eligible"] = self.eligible
        ordered = {name: np.ascontiguousarray(arrays[name]) for name in sorted(arrays)}
        return to_npz(problem, ordered)

    @classmethod
    def unpack(cls, data: bytes, **settings: Any) -> Plan:
        """Restore a plan from the result of :meth:`pack`.

        Parameters
        ----------
        data : bytes
            The packed problem. Plug-ins that it needs must be loaded.
        **settings
            Other parameters of :class:`Plan`: policies, horizon, trials, seed, recording, ...

        Examples
        --------
        >>> plan = Plan.of("ts-n", graph="star", arms=4, horizon=50, trials=20)
        >>> settings = {"horizon": 50, "trials": 20, "seed": 0, "recording": plan.recording}
        >>> Plan.unpack(plan.pack(), policies={}, **settings).problem == plan.problem
        True
        """
        problem, arrays = from_npz(data)
        if problem.get("format") != PROBLEM_FORMAT:
            raise InputError(
                f"the problem has format {problem.get('format')}, but this version of graphbandits "
                f"reads format {PROBLEM_FORMAT}: compute the results again"
            )
        world = unpack_plugin(problem["world"], arrays)
        prior, answers = problem["posterior"], problem["answers"]
        eligible = arrays.get("eligible", problem["eligible"])
        if isinstance(eligible, np.ndarray):
            eligible.setflags(write=False)
        spec = problem["graph"].get("text")  # only of a process class of a plug-in
        return cls(
            world=world,
            process=unpack_process(problem["graph"], arrays),
            posterior=world.prior if prior is None else unpack_plugin(prior, arrays),
            eligible=eligible,
            answers=None if answers is None else Answers(**answers),
            **{"graph_spec": spec} | settings,
        )

    @cached_property
    def problem(self) -> str:
        """The sha256 of :meth:`pack`; results with the same problem can be compared."""
        return hashlib.sha256(self.pack()).hexdigest()

    @property
    def models(self) -> list[object]:
        """The world, its prior, and the posterior of the policies, without repeats."""
        models = (self.world, self.world.prior, self.posterior)
        return list({id(one): one for one in models}.values())

    @property
    def decisions(self) -> int:
        """Number of decisions of all policies."""
        return self.trials * self.horizon * len(self.policies)

    @property
    def block(self) -> int:
        """Maximum number of trials in lockstep; smaller for very many arms or long delays."""
        most = MAX_BLOCK_ENTRIES // self.world.arms
        if self.answers is not None:  # the distributions of the plays are kept until their outcomes
            waiting = min(self.answers.high, self.horizon) + 1
            most = min(most, MAX_WAITING_ENTRIES // (self.world.arms * waiting))
        return min(BLOCK, max(1, most))

    def run_shard(
        self,
        policy: str,
        keys: Keys,
        advance: Callable[[int], None] = lambda rounds: None,
        monitor: RunMonitor | None = None,
    ) -> Shard:
        """Run a block of trials of one policy in this process.

        Parameters
        ----------
        policy : str
            Text form of the policy, a key of ``policies``.
        keys : Keys
            Seed and numbers of the trials.
        advance : callable, optional
            Called with 1 after every round. An exception that it raises ends the block.
        monitor : RunMonitor, optional
            Receives copies of the decisions, actions and observations of every round.
        """
        return run_recorded(self, policy, keys, advance, monitor)

    @property
    def arm_names(self) -> tuple[str, ...]:
        """Names of the arms; their numbers from 1 if the graph has no names."""
        return self.process.names or tuple(str(i + 1) for i in range(self.process.arms))

    def settings(self) -> dict[str, Any]:
        """Return the settings that are saved with the results, as plain values."""
        run = {"seed": self.seed, "first_trial": self.first_trial, "trials": self.trials}
        kept = self.recording
        optional = {
            "ratios": kept.ratios,
            "record": list(kept.trajectories),
            "eligible": None if self.eligible is None else describe_eligible(self.eligible),
            **({} if self.answers is None else self.answers.settings()),
        }
        return {
            "graph": self.graph_text,
            **describe_graph(self.process, self.graph_spec),
            "arms": self.process.arms,
            "horizon": self.horizon,
            "trials": self.trials,
            "seed": self.seed,
            "regret": self.recording.regret,
            **describe_world(self.world, self.posterior),
            "runs": [run],
            "policies": {
                name: describe_policy(policy, self.process.arms, self.horizon)
                for name, policy in self.policies.items()
            },
            "versions": versions(),
            **{name: value for name, value in optional.items() if value},
        }


def _pack_model(model: World | Posterior, arrays: Arrays, path: str) -> dict[str, Any]:
    """Pack a world or a posterior; raise InputError if the restored one would differ."""
    packed = pack_plugin(model, arrays, path)
    again: Arrays = {}
    same = pack_plugin(unpack_plugin(packed, arrays), again, path) == packed
    if not same or not all(np.array_equal(again[name], arrays[name]) for name in again):
        raise InputError(
            f"'{name_of(model)}' does not keep its parameters: the constructor must accept the "
            "values of its fields"
        )
    return packed


def point_text(point: Mapping[str, int | float | str]) -> str:
    """Format a point of a sweep as text.

    >>> point_text({"r": 0.5, "arms": 10})
    'r = 0.5, arms = 10'
    """
    return ", ".join(f"{parameter} = {value}" for parameter, value in point.items())


def named_policies(policies: str | Policy | Iterable[str | Policy]) -> dict[str, Policy]:
    if isinstance(policies, str) or not isinstance(policies, Iterable):
        policies = [policies]
    named: dict[str, Policy] = {}
    for given in policies:
        policy = as_policy(given)
        name = text_of(policy)
        if name in named:
            raise InputError(f"policy '{name}' is given twice")
        named[name] = policy
    if not named:
        raise InputError("no policy was given: give one or more, such as 'ids-n'")
    return named


def describe_policy(policy: Policy, arms: int, horizon: int) -> dict[str, Any]:
    """Describe a policy for the settings: summary, needs and the hash of its source.

    A policy may have a method ``caveat(arms, horizon)``. The sentence that it returns, if any, is
    stored as the note of the policy and shown next to its regret.
    """
    inner = with_inner(policy)[-1]  # its source decides most
    file = file_of(inner)
    caveat = getattr(policy, "caveat", None)
    note = caveat(arms, horizon) if caveat is not None else ""
    return {
        "summary": summary_of(type(policy)),
        "graph_known": str(policy.needs),
        "needs": asdict(policy.needs),
        "exact": policy.exact,
        "plugin": None if file is None else file.name,
        "source": source_hash(type(inner)),
    } | ({"note": note} if note else {})


def describe_graph(process: Process, text: str | None) -> dict[str, Any]:
    """Describe a graph for the settings by a hash of its content.

    For a plug-in class: the sha256 of the source files of its class and of the class that ``text``
    names, and of the files that their parameters name.
    """
    known = fingerprint(process)
    if known is not None:
        return {"graph_hash": known}
    pieces: list[object] = [process] if text is None else [process, build("graph", text)]
    sources = {source_hash(type(piece)) for piece in pieces} - {None}
    files = {digest for piece in pieces for digest in data_files(piece).values()}
    return {"graph_hash": None, "graph_source": sorted(map(str, sources | files))}


def check_rewards(world: World, posterior: Posterior) -> None:
    """Raise InputError if a posterior cannot learn from the rewards of a world."""
    given, taken = reward_support(world), reward_support(posterior)
    if not taken.includes(given):
        raise InputError(
            f"the posterior '{name_of(posterior)}' does not fit the world '{name_of(world)}': it "
            f"takes rewards of the kind {taken}, and the world gives {given}; use the matching "
            f"posterior '{name_of(world.prior)}', or another posterior for such rewards"
        )


def describe_world(world: World, posterior: Posterior | None = None) -> dict[str, Any]:
    """Describe a world for the settings, and the posterior if it is not the prior of the world."""
    described: dict[str, Any] = {"world": type(world).__name__}
    prior = world.prior
    if type(prior) is BetaBernoulli and not is_discounted(prior):  # as in earlier versions
        described["prior"] = np.stack([prior.a, prior.b], axis=1).tolist()
    else:
        described["prior"] = _parameters(prior)
    if hasattr(prior, "accuracy"):
        described["accuracy"] = prior.accuracy
    fixed: Any = getattr(world, "fixed", None)
    by_period = np.ndim(fixed) > 1  # parameters of a world whose means change
    if fixed is not None and not by_period:
        described["means"] = np.asarray(fixed).tolist()
    apart = ("name", "prior") if by_period else ("name", "prior", "fixed")
    more = {k: v for k, v in _parameters(world).items() if k not in apart}
    if more:
        described["world_parameters"] = more
    if posterior is not None and posterior is not prior:
        other = _parameters(posterior)  # a world may create its prior on each access
        described |= {} if other == _parameters(prior) else {"posterior": other}
    models = [world, prior] if posterior is None else [world, prior, posterior]
    own = f"{__name__.partition('.')[0]}."
    sources = {source_hash(type(m)) for m in models if not type(m).__module__.startswith(own)}
    if sources:
        described["world_source"] = sorted(map(str, sources))
    return described


def _parameters(model: object) -> dict[str, Any]:
    given = text_parameters(model) if is_dataclass(model) else vars(model)
    return {"name": name_of(model)} | {name: _json_value(value) for name, value in given.items()}


def _json_value(value: Any) -> Any:
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, tuple | list):
        return [_json_value(one) for one in value]
    if isinstance(value, float) and not math.isfinite(value):
        return repr(value)  # JSON has no such number
    if value is None or isinstance(value, bool | int | float | str):
        return value
    return _parameters(value) if is_dataclass(value) else short_repr(value, 1000)


@dataclass(frozen=True, eq=False)
class Task:
    """A range of trials of one policy of a plan."""

    plan: Plan
    policy: str
    first: int
    trials: int

    @property
    def decisions(self) -> int:
        return self.trials * self.plan.horizon

    def __str__(self) -> str:
        where = f" at {point_text(self.plan.point)}" if self.plan.point else ""
        return f"'{self.policy}'{where}, trials {self.first} to {self.first + self.trials - 1}"


#: Outcome of a task: its shard, or the error that it raised.
Outcome = Shard | GraphBanditsError
#: Called with a task and the number of its decisions made since the last call for it.
ProgressCallback = Callable[[Task, int], None]


def ignore_progress(task: Task, decisions: int) -> None:
    """Do nothing: the default progress callback."""
