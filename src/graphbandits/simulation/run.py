"""Computation of missing trials by workers, and simulations in memory."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike

from graphbandits.errors import GraphBanditsError, check_integer
from graphbandits.graphs import GraphLike
from graphbandits.policies import Policy
from graphbandits.posteriors import Posterior
from graphbandits.rng import Keys
from graphbandits.simulation.loop import MonitorFactory
from graphbandits.simulation.plan import BLOCK, Plan, Task
from graphbandits.simulation.progress import Advance, progress_bar
from graphbandits.simulation.results import Results, results_from_shards
from graphbandits.simulation.shard import MAX_POINTS, Shard
from graphbandits.simulation.workers import executor_for
from graphbandits.worlds import World

#: Maximum number of decisions in a shard: an interruption loses about a minute of work.
MAX_SHARD_DECISIONS = 5 * 10**6
#: Maximum of the expected observations in a shard that records them: about 200 MB per worker.
MAX_SHARD_OBSERVATIONS = 4 * 10**6
#: Maximum of trials times rounds times arms in a shard that records eligible arms: 200 MB.
MAX_SHARD_ELIGIBLE = 2 * 10**8


@dataclass(frozen=True)
class WorkerOptions:
    """Number and kind of workers, a cluster, and trials per shard (None: depends on the work)."""

    workers: int = 1
    cluster: str | None = None
    shard: int | None = None
    parallel: str = "auto"

    def __post_init__(self) -> None:
        check_integer(self.workers, "workers")
        if self.shard is not None:
            check_integer(self.shard, "shard")


@dataclass(frozen=True, eq=False)
class Failure:
    task: Task
    error: GraphBanditsError

    def __str__(self) -> str:
        return f"{self.task}: {self.error}"


class Shards(Protocol):
    """Where the shards of tasks are kept: in memory, or in a directory."""

    def missing(self, task: Task) -> Sequence[tuple[int, int]]:
        """Return the missing trials as ranges (first, trials)."""
        ...

    def put(self, task: Task, shard: Shard) -> bool:
        """Store the shard of a task; return whether it is new."""
        ...


def compute_missing(
    shards: Shards,
    tasks: Sequence[Task],
    options: WorkerOptions | None = None,
    *,
    monitor: MonitorFactory | None = None,
    progress: Advance | bool = False,
    label: str = "simulating",
    stop_on_failure: bool = False,
) -> list[Failure]:
    """Compute the missing trials of tasks, and return the tasks that failed.

    Each shard is stored as soon as it is computed. Several processes can compute the same tasks:
    each task is looked up again before it starts.
    """
    options = options or WorkerOptions()
    pending = split_tasks({task: shards.missing(task) for task in tasks}, options)
    if not pending:
        return []
    total = sum(task.decisions for task in pending)
    plans = list({id(task.plan): task.plan for task in tasks}.values())
    executor = executor_for(
        options.workers, options.cluster, options.parallel, plans, total, monitor
    )
    failures: list[Failure] = []

    def waiting(advance: Advance) -> Iterator[Task]:
        while pending and not (failures and stop_on_failure):
            task = pending.pop(0)
            if shards.missing(task):
                yield task
            else:
                advance(task.decisions)

    with progress_bar(label, total, show=progress is True) as bar, executor:
        advance = progress if callable(progress) else bar
        for task, outcome in executor.run(waiting(advance), lambda _, done: advance(done)):
            if not isinstance(outcome, Shard):
                failures.append(Failure(task, outcome))
            elif not shards.put(task, outcome):
                random.shuffle(pending)  # another run computes the same tasks in this order
    return failures


def shard_size(tasks: Sequence[Task], plan: Plan, options: WorkerOptions) -> int:
    """Return the trials in a shard: those in lockstep, fewer for long horizons or many records."""
    if options.shard is not None:
        return options.shard
    per_worker = -(-sum(task.trials for task in tasks) // options.workers)
    size = min(plan.block, MAX_SHARD_DECISIONS // plan.horizon, per_worker)
    if plan.recording.observations:
        size = min(size, int(MAX_SHARD_OBSERVATIONS / (plan.horizon * _observations(plan))))
    if plan.recording.eligible:
        size = min(size, MAX_SHARD_ELIGIBLE // (plan.horizon * plan.world.arms))
    return max(1, size)


def _observations(plan: Plan) -> float:
    """Return the largest expected number of observations of a play, in the graph of round 1."""
    graph = plan.process.round(1, Keys(plan.seed, plan.first_trial, 1))
    return float(graph.gain(np.ones((1, plan.world.arms))).max())


def split_tasks(
    gaps_of: Mapping[Task, Sequence[tuple[int, int]]], options: WorkerOptions
) -> list[Task]:
    """Split the missing trials into tasks, one per shard; plan by plan, the first trials first.

    Tasks start at multiples of the shard size: runs with other numbers of trials give equal shards.
    """
    series = list(gaps_of)
    tasks: list[Task] = []
    for full, gaps in gaps_of.items():
        size = shard_size(series, full.plan, options)
        for first, trials in gaps:
            end = first + trials
            starts = [first, *range((first // size + 1) * size, end, size), end]
            tasks += [
                Task(full.plan, full.policy, start, stop - start)
                for start, stop in pairwise(starts)
            ]
    order = {id(plan): rank for rank, plan in enumerate(dict.fromkeys(t.plan for t in series))}
    return sorted(tasks, key=lambda task: (order[id(task.plan)], task.first))


# Simulations in memory --------------------------------------------------------------------------


def simulate(
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
    workers: int = 1,
    parallel: str = "auto",
    block: int = BLOCK,
    regret: str = "pseudo",
    ratios: str | None = None,
    rounds: int | Sequence[int] = MAX_POINTS,
    record: str | Iterable[str] = (),
    eligible: float | ArrayLike | None = None,
    delay: int | Sequence[int] = 0,
    answer_rate: float = 1.0,
    monitor: MonitorFactory | None = None,
    progress: Advance | bool = True,
) -> Results:
    """Simulate policies in the same worlds, with the same graphs and outcomes.

    The results are the same, bit for bit, for every ``block``, number and kind of workers, and
    order of the policies.

    Parameters
    ----------
    policies : str, Policy, or iterable of them
        Policies as text forms or objects.
    world : World or str, optional
        Reward model, as an object or as text such as "gaussian(noise=0.5)". The default is
        Bernoulli arms with uniform priors.
    graph : str, array, Process or other graph, default="paper"
        Feedback graph, in any form that :func:`graphbandits.as_process` accepts.
    horizon : int
        Number of rounds.
    trials : int
        Number of trials. Each trial is a world with its own means, graphs and outcomes.
    seed : int, default=0
        Seed of the random draws.
    arms : int, optional
        Number of arms, if neither the world nor the graph determines it.
    posterior : Posterior or str, optional
        Prior that policies start from. The default is the prior of the world. A different one
        shows what a wrong prior costs.
    first_trial : int, default=0
        Number of the first trial; use it to continue an earlier run with the same seed.
    workers : int, default=1
        Number of threads or processes.
    parallel : {"auto", "threads", "processes"}, default="auto"
        Kind of the workers. Threads start at once and suit the built-in policies. Processes suit
        policies in plain Python; a process that dies is replaced. "auto" selects processes if a
        policy comes from a plug-in file or if there are a million decisions or more, else threads.
    block : int, default=250
        Maximum number of trials in lockstep. Fewer are used if a worker would be idle, or if there
        are very many arms, to limit the memory.
    regret : {"pseudo", "realised"}, default="pseudo"
        Pseudo-regret theta* - theta_A, or the difference of the outcomes, which has the same
        expectation and a larger variance.
    ratios : {"bound", "joint"}, optional
        Record the information ratios Psi_t and psi_t and the entropy of alpha_t of every trial,
        with Psi_t from the bound G h ("bound") or from the exact joint gain ("joint"). See
        :class:`graphbandits.simulation.shard.Ratios`.
    rounds : int or sequence of int, default=200
        Maximum number of recorded rounds, evenly spaced, or the list of recorded rounds. The last
        round is always recorded.
    record : str or iterable of str, optional
        "actions", "observations" or both: record what each trial played and observed in every
        round; "eligible" records the eligible arms. See
        :meth:`graphbandits.Results.trajectories`.
    eligible : float or array of bool, optional
        Arms that may be played. A number p above 0 and at most 1: each arm is eligible with
        probability p, independently in each trial and round; if no arm was drawn, one random arm is
        eligible. An array of shape (K,) or (T, K): the arms that are eligible in all rounds, or in
        each round, in all trials. The regret is that against the best eligible arm of the round.
        The default is all arms.
    delay : int or pair of int, default=0
        Rounds from a play to its outcomes; 0 is the round of the play. A pair is the smallest and
        the largest number: the delay of each outcome is drawn uniformly. Outcomes that would arrive
        after the last round are lost.
    answer_rate : float, default=1.0
        Probability above 0 and at most 1 that an outcome arrives, for each outcome.
    monitor : callable, optional
        Called with the text form of a policy and the :class:`graphbandits.rng.Keys` of a block of
        trials, before the block runs. It returns a
        :class:`graphbandits.simulation.RunMonitor`, which receives what happens in every round, or
        None. Monitors run in threads of this process. They do not change the results.
    progress : bool or callable, default=True
        True shows a progress bar on a terminal. A callable is called with the number of decisions
        since its last call.

    Returns
    -------
    Results
        Regret of all policies.

    Raises
    ------
    InputError
        If a value is not allowed.
    NeedsError
        If a policy needs information that the graph or the horizon does not provide.
    PolicyError
        If a policy raises an exception.

    Examples
    --------
    >>> results = simulate(["ts-n", "ids-n"], graph="paper", horizon=50, trials=20, seed=1)
    >>> results["ts-n"].final.shape
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
        posterior=posterior,
        first_trial=first_trial,
        regret=regret,
        ratios=ratios,
        rounds=rounds,
        record=record,
        eligible=eligible,
        delay=delay,
        answer_rate=answer_rate,
    )
    return simulate_plan(
        plan, workers=workers, parallel=parallel, block=block, monitor=monitor, progress=progress
    )


def simulate_plan(
    plan: Plan,
    *,
    workers: int = 1,
    parallel: str = "auto",
    block: int = BLOCK,
    monitor: MonitorFactory | None = None,
    progress: Advance | bool = True,
) -> Results:
    """Run a plan in memory."""
    per_worker = -(-plan.trials // check_integer(workers, "workers"))  # a block for each worker
    size = min(check_integer(block, "block"), plan.block, per_worker)
    options = WorkerOptions(workers, shard=size, parallel=parallel)
    tasks = [Task(plan, name, plan.first_trial, plan.trials) for name in plan.policies]
    memory = _Memory(plan)
    failures = compute_missing(
        memory, tasks, options, monitor=monitor, progress=progress, stop_on_failure=True
    )
    if failures:  # the error of the first task, independent of the speed of the workers
        order = list(plan.policies)
        first = min(failures, key=lambda one: (one.task.first, order.index(one.task.policy)))
        # raise the original error instead of its wrapper
        cause = first.error.__cause__ if type(first.error) is GraphBanditsError else None
        raise cause or first.error
    for shards in memory.shards.values():
        shards.sort(key=lambda shard: shard.first)
    return results_from_shards(plan, memory.shards)


class _Memory:
    """Shards of one plan in memory, by policy."""

    def __init__(self, plan: Plan) -> None:
        self.shards: dict[str, list[Shard]] = {name: [] for name in plan.policies}

    def missing(self, task: Task) -> list[tuple[int, int]]:
        return [(task.first, task.trials)]

    def put(self, task: Task, shard: Shard) -> bool:
        self.shards[task.policy].append(shard)
        return True
