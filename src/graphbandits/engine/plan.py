"""A plan: one simulation of several policies in the same worlds; its tasks, which executors run."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from graphbandits.engine.loop import run_recorded
from graphbandits.engine.provenance import versions
from graphbandits.engine.shard import POINTS, Recording, Shard
from graphbandits.errors import GraphBanditsError, InputError, check_horizon, check_integer
from graphbandits.gains.joint import check_joint
from graphbandits.graphs import GraphLike, Process, as_process
from graphbandits.graphs._storage import fingerprint
from graphbandits.graphs.graph_info import GraphInfo
from graphbandits.graphs.named import recipe_text
from graphbandits.plugins import data_files, file_of, source_hash
from graphbandits.policies import Policy, Problem, as_policy
from graphbandits.policies.base import check_needs, check_problem
from graphbandits.posteriors import BetaBernoulli
from graphbandits.registry import build, summary_of, text_of
from graphbandits.rng import Keys
from graphbandits.worlds import Bernoulli, World

#: Trials that run in lockstep: their state stays in the cache, and Python's share is small.
BLOCK = 250
#: A block has no more entries than this, trials times arms, unless one trial has.
ENTRIES = 10**6
#: Number of workers that may end while they run a task before the task fails.
DEATHS = 3


@dataclass(frozen=True, eq=False)
class Plan:
    """One simulation: policies, world, graph, horizon, trials and seed, checked and not yet run.

    A plan of an experiment with sweeps also has its place there: the number of the ``sweep``,
    the ``point`` with the values of the swept parameters, the ``name`` that its files have, and
    the ``lines`` of figures that its policies belong to.
    """

    policies: dict[str, Policy]
    world: World
    process: Process
    horizon: int
    trials: int
    seed: int
    recording: Recording
    graph_text: str  # what the graph is called in results
    given_text: str | None = None  # what it was made from, if from a text
    first_trial: int = 0
    sweep: int | None = None
    point: Mapping[str, int | float | str] = field(default_factory=dict)
    name: str = ""
    lines: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        policies: str | Policy | Iterable[str | Policy],
        world: World | None = None,
        graph: GraphLike = "paper",
        *,
        horizon: int,
        trials: int,
        seed: int = 0,
        arms: int | None = None,
        first_trial: int = 0,
        regret: str = "pseudo",
        ratios: str | None = None,
        rounds: int | Sequence[int] = POINTS,
    ) -> Plan:
        """Check everything before anything runs."""
        if world is not None and not hasattr(world, "outcomes"):
            raise InputError(f"a world is an object such as Bernoulli(...), not {world!r}")
        known = arms if world is None else world.arms
        if world is not None and arms is not None and arms != world.arms:
            raise InputError(f"the world has {world.arms} arms, but arms={arms} was asked for")
        process = as_process(graph, known)
        given = recipe_text(graph)
        named = named_policies(policies)
        plan = cls(
            policies=named,
            lines={name: name for name in named},
            world=Bernoulli(BetaBernoulli.of(process.arms)) if world is None else world,
            process=process,
            horizon=check_horizon(horizon),
            trials=check_integer(trials, "trials"),
            seed=check_integer(seed, "seed", least=0),
            recording=Recording.of(horizon, rounds, regret, ratios),
            given_text=given,
            graph_text=given or type(graph).__name__,
            first_trial=check_integer(first_trial, "first_trial", least=0),
        )
        Keys(plan.seed, plan.first_trial, plan.trials)  # refuses more than there are numbers for
        if process.rounds is not None and process.rounds < plan.horizon:
            raise InputError(
                f"the graph process serves {process.rounds} rounds, but the horizon is {horizon}"
            )
        if ratios == "joint":
            check_joint(plan.world.prior, process)
        graphs = GraphInfo(process)
        for policy in plan.policies.values():
            check_needs(policy, process, plan.horizon)
            check_problem(policy, Problem(plan.world.prior, plan.horizon, policy.needs, graphs))
        return plan

    @property
    def decisions(self) -> int:
        return self.trials * self.horizon * len(self.policies)

    @property
    def block(self) -> int:
        """Trials that run in lockstep, at most: fewer where there are very many arms."""
        return min(BLOCK, max(1, ENTRIES // self.world.arms))

    @property
    def where(self) -> str:
        """The point in words, for messages; empty without a sweep."""
        return f" at {point_text(self.point)}" if self.point else ""

    def run_shard(
        self, policy: str, keys: Keys, advance: Callable[[int], None] = lambda rounds: None
    ) -> Shard:
        """One block of trials of one policy, in this process."""
        return run_recorded(
            self.policies[policy],
            self.world,
            self.process,
            self.horizon,
            keys,
            self.recording,
            advance,
        )

    @property
    def arm_names(self) -> tuple[str, ...]:
        """The names of the arms; their numbers from 1 where they have none."""
        return self.process.names or tuple(str(i + 1) for i in range(self.process.arms))

    def settings(self) -> dict[str, Any]:
        """What determines the results, as plain data that is kept with them."""
        run = {"seed": self.seed, "first_trial": self.first_trial, "trials": self.trials}
        return {
            "graph": self.graph_text,
            **describe_graph(self.process, self.given_text),
            "arms": self.process.arms,
            "horizon": self.horizon,
            "trials": self.trials,
            "seed": self.seed,
            "regret": self.recording.regret,
            **describe_world(self.world),
            "runs": [run],
            "policies": {
                name: describe_policy(policy, self.process.arms, self.horizon)
                for name, policy in self.policies.items()
            },
            "versions": versions(),
        } | ({"ratios": self.recording.ratios} if self.recording.ratios else {})


def point_text(point: Mapping[str, int | float | str]) -> str:
    """A point of a sweep in words.

    >>> point_text({"r": 0.5, "arms": 10})
    'r = 0.5, arms = 10'
    """
    return ", ".join(f"{parameter} = {value}" for parameter, value in point.items())


def named_policies(policies: str | Policy | Iterable[str | Policy]) -> dict[str, Policy]:
    """Policies by their text, from texts and objects; the same one twice is refused."""
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
        raise InputError("no policy was given: name one, such as 'ids-n'")
    return named


def describe_policy(policy: Policy, arms: int, horizon: int) -> dict[str, Any]:
    """What a policy is, what it is told, and which source it was run from.

    A policy may have a method ``caveat(arms, horizon)``: the sentence that it returns, if any, is
    kept as its note and shown wherever its regret is.

    >>> from graphbandits.policies import as_policy
    >>> describe_policy(as_policy("ids-n"), arms=5, horizon=100)["graph_known"]
    'the graph before the decision'
    >>> describe_policy(as_policy("exp3-res"), arms=5, horizon=1000)["note"][-8:]
    '= 0.863.'
    """
    file = file_of(policy)
    caveat = getattr(policy, "caveat", None)
    note = caveat(arms, horizon) if caveat is not None else ""
    return {
        "summary": summary_of(type(policy)),
        "graph_known": str(policy.needs),
        "needs": asdict(policy.needs),
        "exact": policy.exact,
        "plugin": None if file is None else file.name,
        "source": source_hash(type(policy)),
    } | ({"note": note} if note else {})


def describe_graph(process: Process, text: str | None) -> dict[str, Any]:
    """What a graph is, as a hash; for a plug-in's own class, which has none, what it is made from.

    That is the sha256 of the files of its class and of the recipe that ``text`` names, and of the
    files that their parameters name.

    >>> from graphbandits.graphs import as_process
    >>> list(describe_graph(as_process("paper"), "paper"))
    ['graph_hash']
    """
    known = fingerprint(process)
    if known is not None:
        return {"graph_hash": known}
    pieces: list[object] = [process] if text is None else [process, build("graph", text)]
    sources = {source_hash(type(piece)) for piece in pieces} - {None}
    files = {digest for piece in pieces for digest in data_files(piece).values()}
    return {"graph_hash": None, "graph_source": sorted(map(str, sources | files))}


def describe_world(world: World) -> dict[str, Any]:
    """The prior that policies start from, and the means where they are fixed."""
    described: dict[str, Any] = {"world": type(world).__name__}
    if isinstance(world.prior, BetaBernoulli):
        described["prior"] = np.stack([world.prior.a, world.prior.b], axis=1).tolist()
        described["accuracy"] = world.prior.accuracy
    fixed = getattr(world, "fixed", None)
    if fixed is not None:
        described["means"] = np.asarray(fixed).tolist()
    return described


@dataclass(frozen=True, eq=False)
class Task:
    """The trials ``first`` to ``first + trials - 1`` of one policy of a plan."""

    plan: Plan
    policy: str
    first: int
    trials: int

    @property
    def decisions(self) -> int:
        return self.trials * self.plan.horizon

    @property
    def label(self) -> str:
        """The policy, and where in a sweep, for messages."""
        return f"'{self.policy}'{self.plan.where}"

    def __str__(self) -> str:
        return f"'{self.policy}', trials {self.first} to {self.first + self.trials - 1}"


#: What becomes of a task: its shard, or the error that it ended with.
Outcome = Shard | GraphBanditsError
#: Called with a task and the number of its decisions made since the last call for it.
ProgressCallback = Callable[[Task, int], None]


def ignore_progress(task: Task, decisions: int) -> None:
    """Do nothing: the default progress callback."""
