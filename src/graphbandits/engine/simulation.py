"""Many trials of many policies in the same worlds."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import takewhile
from typing import Any

import numpy as np

from graphbandits.engine.crews import Crew, crew_of
from graphbandits.engine.progress import Advance, progress_bar
from graphbandits.engine.recorder import run_recorded
from graphbandits.engine.recording import Recording
from graphbandits.engine.settings import describe_graph, describe_policy, describe_world, versions
from graphbandits.engine.tasks import Task
from graphbandits.errors import GraphBanditsError, InputError, horizon_of, whole_number
from graphbandits.gains import check_joint
from graphbandits.graphs import Fixed, GraphLike, Process, as_process
from graphbandits.graphs.named import given_text
from graphbandits.graphs.prospect import Prospect
from graphbandits.policies import Policy, Problem, as_policy, check_needs
from graphbandits.policies.base import check_problem
from graphbandits.posteriors import BetaBernoulli
from graphbandits.registry import text_of
from graphbandits.results import POINTS, PolicyResult, Ratios, Results, Shard
from graphbandits.results.shards import RANKED, TrueMeans, rank_plays
from graphbandits.rng import Keys
from graphbandits.worlds import Bernoulli, World

#: Trials that run in lockstep: their state stays in the cache, and Python's share is small.
BLOCK = 250
#: A block has no more entries than this, trials times arms, unless one trial has.
ENTRIES = 10**6


def simulate(
    policies: str | Policy | Iterable[str | Policy],
    world: World | None = None,
    graph: GraphLike = "paper",
    *,
    horizon: int,
    trials: int,
    seed: int = 0,
    arms: int | None = None,
    first_trial: int = 0,
    workers: int = 1,
    parallel: str = "auto",
    block: int = BLOCK,
    regret: str = "pseudo",
    ratios: str | None = None,
    rounds: int | Sequence[int] = POINTS,
    progress: Advance | bool = True,
) -> Results:
    """Run each policy through the same ``trials`` worlds, graphs and outcomes.

    ``world`` is Bernoulli arms with uniform priors unless given. The regret is the
    pseudo-regret theta* - theta_A, or the difference of the outcomes (``regret="realised"``),
    which has the same expectation and a larger variance. The result is the same, bit for bit,
    for every ``block``, number and kind of ``workers`` and order of the policies. ``block`` is how
    many trials run in lockstep, at most: fewer do where a worker would have none, and where there
    are very many arms, so that the memory does not grow with the trials. ``first_trial`` goes on
    where an earlier run of the same seed stopped. ``progress`` is called with the number of
    decisions made since its last call; True shows a bar on a terminal.

    ``parallel`` says what the workers are: "threads", which cost nothing and suit the policies
    of this package, for their kernels release Python's lock; "processes", which take a while to
    start, suit policies in plain Python, and are replaced if they die; or "auto": processes if a
    policy comes from a plug-in file or there are a million decisions to make, else threads.

    ``ratios`` asks for the information ratios Psi_t and psi_t and the entropy of alpha_t of every
    trial to be recorded, Psi_t by the bound G h ("bound") or by the exact joint gain ("joint"): see
    :class:`graphbandits.results.Ratios`. ``rounds`` is at how many rounds the regret is kept,
    evenly spread, or the list of these rounds; the last round is always among them.

    >>> results = simulate(["ts-n", "ids-n"], graph="paper", horizon=50, trials=20, seed=1)
    >>> results["ids-n"].final.shape
    (20,)
    """
    plan = Plan.of(
        policies,
        world,
        graph,
        horizon=horizon,
        trials=trials,
        seed=seed,
        arms=arms,
        first_trial=first_trial,
        regret=regret,
        ratios=ratios,
        rounds=rounds,
    )
    return plan.run(workers=workers, parallel=parallel, block=block, progress=progress)


@dataclass(frozen=True, eq=False)
class Plan:
    """A simulation that has been checked and not yet run."""

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
        given = given_text(graph)
        plan = cls(
            policies=named_policies(policies),
            world=Bernoulli(BetaBernoulli.of(process.arms)) if world is None else world,
            process=process,
            horizon=horizon_of(horizon),
            trials=whole_number(trials, "trials"),
            seed=whole_number(seed, "seed", least=0),
            recording=Recording.of(horizon, rounds, regret, ratios),
            given_text=given,
            graph_text=given or type(graph).__name__,
            first_trial=whole_number(first_trial, "first_trial", least=0),
        )
        Keys(plan.seed, plan.first_trial, plan.trials)  # refuses more than there are numbers for
        if process.rounds is not None and process.rounds < plan.horizon:
            raise InputError(
                f"the graph process serves {process.rounds} rounds, but the horizon is {horizon}"
            )
        if ratios == "joint":
            check_joint(plan.world.prior, process)
        graphs = Prospect(process)
        for policy in plan.policies.values():
            check_needs(policy, process, plan.horizon)
            check_problem(policy, Problem(plan.world.prior, plan.horizon, policy.needs, graphs))
        return plan

    @property
    def decisions(self) -> int:
        return self.trials * self.horizon * len(self.policies)

    def run(
        self,
        *,
        workers: int = 1,
        parallel: str = "auto",
        block: int = BLOCK,
        progress: Advance | bool = True,
        label: str = "simulating",
    ) -> Results:
        """Run all blocks of trials; see :func:`simulate`."""
        whole_number(workers, "workers")
        share = -(-self.trials // workers)  # so that no worker is left without a block
        block = min(whole_number(block, "block"), max(1, ENTRIES // self.world.arms), share)
        crew = crew_of(workers, None, parallel, [self])
        if progress is True:
            with progress_bar(label, self.decisions) as advance:
                return self._run(crew, block, advance)
        return self._run(crew, block, progress or None)

    def _run(self, crew: Crew, block: int, progress: Advance | None) -> Results:
        end = self.first_trial + self.trials
        starts = range(self.first_trial, end, block)
        tasks = [
            Task(self, name, first, min(block, end - first))
            for name in self.policies
            for first in starts
        ]

        def tell(task: Task, decisions: int) -> None:
            if progress is not None:
                progress(decisions)

        places = {task: place for place, task in enumerate(tasks)}
        shards: dict[int, Shard | None] = {}
        failed: dict[int, GraphBanditsError] = {}
        with crew:
            for done in crew.work(takewhile(lambda task: not failed, tasks), tell):
                place = places[done.task]
                shards[place] = done.shard
                if done.error is not None:
                    failed[place] = done.error
                # that of the first task that fails, whoever was quicker
                if failed and all(place in shards for place in range(min(failed))):
                    error = failed[min(failed)]
                    # behind one that is not of this package stands what it was
                    raise (error.__cause__ if type(error) is GraphBanditsError else None) or error
        ran = [shard for _, shard in sorted(shards.items()) if shard is not None]
        means = true_means(self.world, self.seed, self.trials)
        results = {
            name: _joined(ran[i * len(starts) : (i + 1) * len(starts)], self.world.arms, means)
            for i, name in enumerate(self.policies)
        }
        return self.results_of(results)

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

    def results_of(self, policies: Mapping[str, PolicyResult]) -> Results:
        """Results of this plan, from what became of its policies."""
        graph = self.process if isinstance(self.process, Fixed) else None
        record, names = self.recording.record, self._names()
        return Results(record, policies, names, self.settings(), graph)

    def _names(self) -> tuple[str, ...]:
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


def true_means(world: World, seed: int, trials: int) -> TrueMeans | None:
    """The means of the world's trials, to rank its arms by; None where they are too many."""
    if trials * world.arms > RANKED:
        return None
    return cache(lambda first, count: world.means(Keys(seed, first, count)))


def _joined(shards: Sequence[Shard], arms: int, means: TrueMeans | None) -> PolicyResult:
    """The trials of all blocks, summarised."""
    ratios = [shard.ratios for shard in shards if shard.ratios is not None]
    regret = np.concatenate([shard.regret for shard in shards])
    plays = np.zeros(arms, np.int64)
    for shard in shards:
        shard.plays.add_to(plays)  # in place: there may be very many arms
    found = PolicyResult.from_trials(regret, plays, Ratios.concat(ratios) if ratios else None)
    return replace(found, rank_plays=rank_plays(shards, arms, means))


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
