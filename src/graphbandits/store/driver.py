"""Driver that computes the missing shards of a store, and simulations in memory."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from graphbandits.engine import MonitorFactory, Plan, Shard, Task
from graphbandits.engine._progress import Advance, progress_bar
from graphbandits.engine.executors import ThreadExecutor, executor_for
from graphbandits.engine.plan import BLOCK
from graphbandits.engine.shard import MAX_POINTS
from graphbandits.errors import GraphBanditsError, check_integer
from graphbandits.graphs import GraphLike
from graphbandits.policies import Policy
from graphbandits.posteriors import Posterior
from graphbandits.results import Results
from graphbandits.rng import Keys
from graphbandits.store.directory import Store
from graphbandits.store.summary import results_from_shards
from graphbandits.worlds import World

#: Maximum number of decisions in a shard: an interruption loses about a minute of work.
MAX_SHARD_DECISIONS = 5 * 10**6
#: Maximum of the expected observations in a shard that records them: about 200 MB per worker.
MAX_SHARD_OBSERVATIONS = 4 * 10**6
#: Maximum of trials times rounds times arms in a shard that records eligible arms: 200 MB.
MAX_SHARD_ELIGIBLE = 2 * 10**8
#: Maximum number of passes over the shards, which may be removed or damaged during the run.
MAX_PASSES = 5


@dataclass(frozen=True)
class WorkerOptions:
    """Workers of a run, and the size of its shards.

    Parameters
    ----------
    workers : int, default=1
        Number of workers on this machine.
    cluster : str, optional
        Address of a dask scheduler, or "local".
    shard : int, optional
        Number of trials in a shard. The default depends on the horizon, the arms and the workers.
    parallel : {"auto", "threads", "processes"}, default="auto"
        Kind of the workers; see :func:`graphbandits.simulate`.
    """

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
    """A task that could not be computed.

    Parameters
    ----------
    task : Task
        The task.
    error : GraphBanditsError
        The reason.
    """

    task: Task
    error: GraphBanditsError

    def __str__(self) -> str:
        last = self.task.first + self.task.trials - 1
        return f"{self.task.label}, trials {self.task.first} to {last}: {self.error}"


class RunProgress:
    """Receiver of the progress of a run. All methods do nothing; override those that you need."""

    def warn(self, message: str) -> None:
        """Receive a warning for the user.

        Parameters
        ----------
        message : str
            One sentence.
        """

    def prepared(self, store: Store, tasks: Sequence[Task], options: WorkerOptions) -> None:
        """Receive the tasks after all checks, before any computation.

        Parameters
        ----------
        store : Store
            The open store.
        tasks : sequence of Task
            All trials of each series.
        options : WorkerOptions
            Workers and shard size.
        """

    def checked(self, task: Task) -> None:
        """Receive a task whose existing shards have been verified.

        Parameters
        ----------
        task : Task
            The task.
        """

    def all_checked(self) -> None:
        """Called after the existing shards of all tasks have been verified."""

    def started(self, available: Mapping[Task, int], tasks: Sequence[Task], workers: int) -> None:
        """Called before the computation.

        Parameters
        ----------
        available : mapping of Task to int
            Number of trials of each task that the store has already.
        tasks : sequence of Task
            Tasks to compute, one per shard.
        workers : int
            Number of workers.
        """

    def advanced(self, task: Task, decisions: int) -> None:
        """Receive the progress of a running task.

        Parameters
        ----------
        task : Task
            The task.
        decisions : int
            Number of decisions since the last call for this task.
        """

    def finished(self, task: Task, seconds: float | None) -> None:
        """Receive a task whose shard is in the store.

        Parameters
        ----------
        task : Task
            The task.
        seconds : float or None
            Computation time; None if another run has computed the shard.
        """

    def failed(self, failure: Failure) -> None:
        """Receive a task that could not be computed; the other tasks continue.

        Parameters
        ----------
        failure : Failure
            The task and the error.
        """

    def stopped(self) -> None:
        """Called after the computation, also if it was interrupted."""

    def computed(self, failures: Sequence[Failure]) -> None:
        """Called after all tasks have ended, before the report is written.

        Parameters
        ----------
        failures : sequence of Failure
            Tasks that could not be computed.
        """

    def read(self, study: Any) -> None:
        """Receive a study whose results have been read.

        Parameters
        ----------
        study : graphbandits.Study
            The study.
        """

    def written(self, files: Sequence[Path]) -> None:
        """Receive the files of the report, its numbers and the figures.

        Parameters
        ----------
        files : sequence of Path
            The written files.
        """


def run_missing(
    store: Store | MemoryStore,
    tasks: Sequence[Task],
    options: WorkerOptions | None = None,
    monitor: RunProgress | None = None,
    executor: ThreadExecutor | None = None,
) -> list[Failure]:
    """Compute the trials of tasks that a store does not have.

    Each shard is written as soon as it is computed. If a task raises an exception, the other tasks
    continue.

    Parameters
    ----------
    store : Store or MemoryStore
        Store for the shards.
    tasks : sequence of Task
        All trials of each series. They are split into one task per shard.
    options : WorkerOptions, optional
        Workers and shard size.
    monitor : RunProgress, optional
        Receives the progress.
    executor : ThreadExecutor, optional
        Executor to use instead of the one that ``options`` describes.

    Returns
    -------
    list of Failure
        Tasks that could not be computed.
    """
    options, monitor = options or WorkerOptions(), monitor or RunProgress()
    gaps_of = {task: list(store.missing(task)) for task in tasks}
    pending = split_tasks(gaps_of, options)
    if executor is None:
        decisions = sum(task.decisions for task in pending)
        plans = list({id(task.plan): task.plan for task in tasks}.values())
        executor = executor_for(
            options.workers, options.cluster, options.parallel, plans, decisions
        )
    failures: list[Failure] = []
    if not pending:
        return failures
    available = {task: task.trials - sum(n for _, n in gaps) for task, gaps in gaps_of.items()}
    task_of_series = {(task.plan, task.policy): task for task in tasks}

    def still_missing(pending: Sequence[Task]) -> Iterator[Task]:
        for task in pending:
            gaps = store.missing(task_of_series[task.plan, task.policy])
            end = task.first + task.trials
            if any(first < end and task.first < first + count for first, count in gaps):
                yield task
            else:
                monitor.finished(task, None)

    # before the executor starts, because the monitor may run a measurement
    monitor.started(available, pending, executor.workers)
    try:
        with executor:
            for _ in range(MAX_PASSES):
                if store.is_shared():  # another order avoids computing the same shards twice
                    pending = random.sample(pending, len(pending))
                for task, outcome in executor.run(still_missing(pending), monitor.advanced):
                    if isinstance(outcome, Shard):
                        store.put(task, outcome)
                        monitor.finished(task, outcome.seconds)
                    else:
                        failures.append(Failure(task, outcome))
                        monitor.failed(failures[-1])
                # shards may have been removed or set aside during the run
                failed = {(f.task.plan, f.task.policy, f.task.first) for f in failures}
                again = split_tasks({task: store.missing(task) for task in tasks}, options)
                pending = [t for t in again if (t.plan, t.policy, t.first) not in failed]
                if not pending:
                    break
    finally:
        monitor.stopped()
    return failures


def shard_size(tasks: Sequence[Task], plan: Plan, options: WorkerOptions) -> int:
    """Return the number of trials in a shard: those in lockstep, fewer if the horizon is long.

    There are also fewer if many observations or eligible arms are recorded.
    """
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
    """Split the missing trials into tasks, one per shard.

    The order is plan by plan, and in each plan the first trials of all policies first. Tasks start
    at multiples of the shard size: runs with other numbers of trials give the same shards.
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
        Kind of the workers. Threads have no start-up time and suit the built-in policies, whose
        kernels release the GIL. Processes take a while to start and suit policies in plain Python;
        a process that dies is replaced. "auto" selects processes if a policy comes from a plug-in
        file or if there are a million decisions or more, else threads.
    block : int, default=250
        Maximum number of trials in lockstep. Fewer are used if a worker would be idle, or if there
        are very many arms, to limit the memory.
    regret : {"pseudo", "realised"}, default="pseudo"
        Pseudo-regret theta* - theta_A, or the difference of the outcomes, which has the same
        expectation and a larger variance.
    ratios : {"bound", "joint"}, optional
        Record the information ratios Psi_t and psi_t and the entropy of alpha_t of every trial,
        with Psi_t from the bound G h ("bound") or from the exact joint gain ("joint"). See
        :class:`graphbandits.engine.Ratios`.
    rounds : int or sequence of int, default=200
        Maximum number of recorded rounds, evenly spaced, or the list of recorded rounds. The last
        round is always recorded.
    record : str or iterable of str, optional
        "actions", "observations" or both: record what each trial played and observed in every
        round; "eligible" records the eligible arms. See
        :meth:`graphbandits.Results.trajectories`.
    eligible : float or array of bool, optional
        Arms that may be played. A number p above 0 and at most 1: each arm is eligible with
        probability p, independently in each trial and round; if no arm was drawn, one arm is
        eligible, each with the same probability. An array of shape (K,) or (T, K): the arms that
        are eligible in all rounds, or in each round, in all trials. The regret is that against the
        best eligible arm of the round. The default is all arms.
    delay : int or pair of int, default=0
        Rounds from a play to its outcomes; 0 is the round of the play. A pair is the smallest and
        the largest number: each outcome then has its own delay, and all numbers in between have the
        same probability. Outcomes that would arrive after the last round are lost.
    answer_rate : float, default=1.0
        Probability above 0 and at most 1 that an outcome arrives, for each outcome.
    monitor : callable, optional
        Called with the text form of a policy and the :class:`graphbandits.rng.Keys` of a block of
        trials, before the block runs. It returns an object with the methods of
        :class:`graphbandits.engine.RunMonitor`, which receives what happens in every round of the
        block, or None. Monitors run in threads of this process. They do not change the results.
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
    """Run a plan in memory.

    Parameters
    ----------
    plan : Plan
        The simulation.
    workers : int, default=1
        Number of threads or processes.
    parallel : {"auto", "threads", "processes"}, default="auto"
        Kind of the workers; see :func:`simulate`.
    block : int, default=250
        Maximum number of trials in lockstep.
    monitor : callable, optional
        Returns a monitor for each block of trials; see :func:`simulate`.
    progress : bool or callable, default=True
        True shows a progress bar on a terminal. A callable is called with the number of decisions
        since its last call.

    Returns
    -------
    Results
        Regret of all policies.

    Examples
    --------
    >>> plan = Plan.of("ts-n", graph="paper", horizon=10, trials=5)
    >>> simulate_plan(plan)["ts-n"].final.shape
    (5,)
    """
    per_worker = -(-plan.trials // check_integer(workers, "workers"))  # a block for each worker
    size = min(check_integer(block, "block"), plan.block, per_worker)
    options = WorkerOptions(workers, shard=size, parallel=parallel)
    if progress is True:
        with progress_bar("simulating", plan.decisions) as advance:
            return _simulate(plan, options, monitor, advance)
    return _simulate(plan, options, monitor, progress or None)


def _simulate(
    plan: Plan, options: WorkerOptions, monitor: MonitorFactory | None, advance: Advance | None
) -> Results:
    tasks = [Task(plan, name, plan.first_trial, plan.trials) for name in plan.policies]
    store = MemoryStore()
    executor = executor_for(
        options.workers, None, options.parallel, [plan], plan.decisions, monitor
    )
    failures = run_missing(store, tasks, options, _SimulationProgress(store, advance), executor)
    if failures:  # the error of the first task, independent of the speed of the workers
        order = {name: rank for rank, name in enumerate(plan.policies)}
        first = min(failures, key=lambda one: (one.task.first, order[one.task.policy]))
        # raise the original error instead of its wrapper
        cause = first.error.__cause__ if type(first.error) is GraphBanditsError else None
        raise cause or first.error
    shards = {
        name: sorted(store.shards[name], key=lambda shard: shard.first) for name in plan.policies
    }
    return results_from_shards(plan, shards)


class MemoryStore:
    """Shards of one plan in memory, by policy; after a failure no task is missing."""

    def __init__(self) -> None:
        self.shards: dict[str, list[Shard]] = {}
        self.trials: Counter[str] = Counter()
        self.has_failed = False

    def missing(self, task: Task) -> list[tuple[int, int]]:
        """Return the whole task until all of its trials are stored."""
        is_complete = self.trials[task.policy] == task.trials
        return [] if self.has_failed or is_complete else [(task.first, task.trials)]

    def put(self, task: Task, shard: Shard) -> None:
        """Store the shard of a task."""
        self.shards.setdefault(task.policy, []).append(shard)
        self.trials[task.policy] += shard.trials

    def is_shared(self) -> bool:
        """Return False: no other process uses it."""
        return False


class _SimulationProgress(RunProgress):
    """Reports decisions, and ends the run after a failure."""

    def __init__(self, store: MemoryStore, advance: Advance | None) -> None:
        self._store, self._advance = store, advance

    def advanced(self, task: Task, decisions: int) -> None:
        if self._advance is not None:
            self._advance(decisions)

    def failed(self, failure: Failure) -> None:
        self._store.has_failed = True
