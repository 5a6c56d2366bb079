"""The one driver that computes what a store lacks, and simulations, whose store is in memory."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from graphbandits.engine import Plan, Shard, Task
from graphbandits.engine._progress import Advance, progress_bar
from graphbandits.engine.executors import ThreadExecutor, executor_for
from graphbandits.engine.plan import BLOCK
from graphbandits.engine.shard import MAX_POINTS
from graphbandits.errors import GraphBanditsError, check_integer
from graphbandits.graphs import GraphLike
from graphbandits.policies import Policy
from graphbandits.results import Results
from graphbandits.store.directory import Store
from graphbandits.store.summary import results_from_shards
from graphbandits.worlds import World

#: Decisions of a shard, at most, so that a kill costs a minute of work and not an hour.
MAX_SHARD_DECISIONS = 5 * 10**6
#: How often a run looks again for shards that were removed or damaged while it worked.
MAX_PASSES = 5


@dataclass(frozen=True)
class WorkerOptions:
    """Who computes: ``workers`` here, or those of a ``cluster``; ``shard`` is trials of a shard.

    ``parallel`` is "threads", "processes" or "auto": see :func:`graphbandits.simulate`.
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
    """A task that could not be computed, and why."""

    task: Task
    error: GraphBanditsError

    def __str__(self) -> str:
        last = self.task.first + self.task.trials - 1
        return f"{self.task.label}, trials {self.task.first} to {last}: {self.error}"


class RunProgress:
    """Receives the progress of a run; every method may be overridden, and does nothing here."""

    def warn(self, message: str) -> None:
        """Something that the user should know, in one sentence."""

    def prepared(self, store: Store, tasks: Sequence[Task], options: WorkerOptions) -> None:
        """Everything has been checked and the store is open; nothing has been computed."""

    def checked(self, task: Task) -> None:
        """The shards that are there of a task have been verified."""

    def all_checked(self) -> None:
        """No more shards are verified before computing begins."""

    def started(self, wanted: Mapping[Task, int], tasks: Sequence[Task], workers: int) -> None:
        """Computing begins: the trials that are there of each wanted task, and what is to do."""

    def advanced(self, task: Task, decisions: int) -> None:
        """A running task has made so many more decisions."""

    def finished(self, task: Task, seconds: float | None) -> None:
        """A shard is there; ``seconds`` is None if another run has computed it."""

    def failed(self, failure: Failure) -> None:
        """A task could not be computed; the others go on."""

    def stopped(self) -> None:
        """Computing has ended, for whatever reason."""

    def computed(self, failures: Sequence[Failure]) -> None:
        """All tasks have ended; the pages have not been written yet."""

    def read(self, study: Any) -> None:
        """The results of a study (:class:`graphbandits.Study`) have been read."""

    def written(self, files: Sequence[Path]) -> None:
        """The report, its numbers and the figures have been written."""


def run_missing(
    store: Store | MemoryStore,
    wanted: Sequence[Task],
    options: WorkerOptions | None = None,
    monitor: RunProgress | None = None,
    executor: ThreadExecutor | None = None,
) -> list[Failure]:
    """Compute the trials of the wanted tasks that a store lacks; return what failed.

    Each shard is kept as soon as it is there. A task that raises does not stop the others.
    ``executor`` is in place of the one that the options describe.
    """
    options, monitor = options or WorkerOptions(), monitor or RunProgress()
    lacking = {task: list(store.missing(task)) for task in wanted}
    tasks = split_tasks(lacking, options)
    if executor is None:
        decisions = sum(task.decisions for task in tasks)
        plans = list({id(task.plan): task.plan for task in wanted}.values())
        executor = executor_for(
            options.workers, options.cluster, options.parallel, plans, decisions
        )
    failures: list[Failure] = []
    if not tasks:
        return failures
    there = {task: task.trials - sum(n for _, n in gaps) for task, gaps in lacking.items()}
    whole = {(task.plan, task.policy): task for task in wanted}

    def still_missing(tasks: Sequence[Task]) -> Iterator[Task]:
        for task in tasks:
            gaps = store.missing(whole[task.plan, task.policy])
            end = task.first + task.trials
            if any(first < end and task.first < first + count for first, count in gaps):
                yield task
            else:
                monitor.finished(task, None)

    # before the executor is entered, for the monitor may measure how long it will take
    monitor.started(there, tasks, executor.workers)
    try:
        with executor:
            for _ in range(MAX_PASSES):
                if store.is_shared():  # so that two runs do not compute the same shards at once
                    tasks = random.sample(tasks, len(tasks))
                for task, outcome in executor.run(still_missing(tasks), monitor.advanced):
                    if isinstance(outcome, Shard):
                        store.put(task, outcome)
                        monitor.finished(task, outcome.seconds)
                    else:
                        failures.append(Failure(task, outcome))
                        monitor.failed(failures[-1])
                # shards may have been removed or set aside while this ran
                failed = {(f.task.plan, f.task.policy, f.task.first) for f in failures}
                again = split_tasks({task: store.missing(task) for task in wanted}, options)
                tasks = [t for t in again if (t.plan, t.policy, t.first) not in failed]
                if not tasks:
                    break
    finally:
        monitor.stopped()
    return failures


def shard_size(wanted: Sequence[Task], plan: Plan, options: WorkerOptions) -> int:
    """Trials of a shard: those that run in lockstep, fewer where a trial is long."""
    if options.shard is not None:
        return options.shard
    share = -(-sum(task.trials for task in wanted) // options.workers)  # some for each worker
    return max(1, min(plan.block, MAX_SHARD_DECISIONS // plan.horizon, share))


def split_tasks(
    lacking: Mapping[Task, Sequence[tuple[int, int]]], options: WorkerOptions
) -> list[Task]:
    """Split what is missing into tasks: plan by plan, in each the first trials of all policies.

    Tasks begin at multiples of the shard size, so that runs of other lengths make the same shards.
    """
    wanted = list(lacking)
    tasks: list[Task] = []
    for whole, gaps in lacking.items():
        size = shard_size(wanted, whole.plan, options)
        for first, trials in gaps:
            end = first + trials
            starts = [first, *range((first // size + 1) * size, end, size), end]
            tasks += [
                Task(whole.plan, whole.policy, start, stop - start)
                for start, stop in pairwise(starts)
            ]
    order = {id(plan): place for place, plan in enumerate(dict.fromkeys(t.plan for t in wanted))}
    return sorted(tasks, key=lambda task: (order[id(task.plan)], task.first))


# Simulations in memory --------------------------------------------------------------------------


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
    rounds: int | Sequence[int] = MAX_POINTS,
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
    return simulate_plan(plan, workers=workers, parallel=parallel, block=block, progress=progress)


def simulate_plan(
    plan: Plan,
    *,
    workers: int = 1,
    parallel: str = "auto",
    block: int = BLOCK,
    progress: Advance | bool = True,
) -> Results:
    """Run a plan in memory; see :func:`simulate` for the options.

    >>> plan = Plan.of("ts-n", graph="paper", horizon=10, trials=5)
    >>> simulate_plan(plan)["ts-n"].final.shape
    (5,)
    """
    share = -(-plan.trials // check_integer(workers, "workers"))  # so that each worker has a block
    size = min(check_integer(block, "block"), plan.block, share)
    options = WorkerOptions(workers, shard=size, parallel=parallel)
    if progress is True:
        with progress_bar("simulating", plan.decisions) as advance:
            return _simulate(plan, options, advance)
    return _simulate(plan, options, progress or None)


def _simulate(plan: Plan, options: WorkerOptions, advance: Advance | None) -> Results:
    wanted = [Task(plan, name, plan.first_trial, plan.trials) for name in plan.policies]
    store = MemoryStore()
    failures = run_missing(store, wanted, options, _SimulationProgress(store, advance))
    if failures:  # that of the first task, whichever worker was quicker
        places = {name: place for place, name in enumerate(plan.policies)}
        first = min(failures, key=lambda one: (one.task.first, places[one.task.policy]))
        # an error that is not of this package is the cause of the one that names its place
        cause = first.error.__cause__ if type(first.error) is GraphBanditsError else None
        raise cause or first.error
    shards = {
        name: sorted(store.shards[name], key=lambda shard: shard.first) for name in plan.policies
    }
    return results_from_shards(plan, shards)


class MemoryStore:
    """The shards of one plan, by policy; after a failure nothing more is wanted."""

    def __init__(self) -> None:
        self.shards: dict[str, list[Shard]] = {}
        self.trials: Counter[str] = Counter()
        self.has_failed = False

    def missing(self, task: Task) -> list[tuple[int, int]]:
        """All of a task until all of it is there: nothing else computes its trials."""
        is_there = self.trials[task.policy] == task.trials
        return [] if self.has_failed or is_there else [(task.first, task.trials)]

    def put(self, task: Task, shard: Shard) -> None:
        self.shards.setdefault(task.policy, []).append(shard)
        self.trials[task.policy] += shard.trials

    def is_shared(self) -> bool:
        return False


class _SimulationProgress(RunProgress):
    """Reports decisions, and lets a failure end the run."""

    def __init__(self, store: MemoryStore, advance: Advance | None) -> None:
        self._store, self._advance = store, advance

    def advanced(self, task: Task, decisions: int) -> None:
        if self._advance is not None:
            self._advance(decisions)

    def failed(self, failure: Failure) -> None:
        self._store.has_failed = True
