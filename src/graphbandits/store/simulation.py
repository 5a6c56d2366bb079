"""Simulations in memory: all trials of a plan, summarised."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

import numpy as np

from graphbandits.engine import Plan, Task
from graphbandits.engine.plan import BLOCK
from graphbandits.engine.progress import progress_bar
from graphbandits.engine.recording import POINTS
from graphbandits.engine.shard import Ratios, Shard, TrueMeans, rank_plays, true_means
from graphbandits.errors import GraphBanditsError, InputError, whole_number
from graphbandits.graphs import Fixed, GraphLike
from graphbandits.policies import Policy
from graphbandits.results import PolicyResult, Results
from graphbandits.store.driver import Failure, RunMonitor, WorkerOptions, run_missing
from graphbandits.types import Floats, Ints
from graphbandits.worlds import World

#: Called with the number of decisions made since the last call.
Advance = Callable[[int], None]


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
    share = -(-plan.trials // whole_number(workers, "workers"))  # so that each worker has a block
    size = min(whole_number(block, "block"), plan.block, share)
    options = WorkerOptions(workers, shard=size, parallel=parallel)
    if progress is True:
        with progress_bar("simulating", plan.decisions) as advance:
            return _simulate(plan, options, advance)
    return _simulate(plan, options, progress or None)


def _simulate(plan: Plan, options: WorkerOptions, advance: Advance | None) -> Results:
    wanted = [Task(plan, name, plan.first_trial, plan.trials) for name in plan.policies]
    store = _Memory()
    failures = run_missing(store, wanted, options, _Progress(store, advance))
    if failures:  # that of the first task, whichever worker was quicker
        places = {name: place for place, name in enumerate(plan.policies)}
        first = min(failures, key=lambda one: (one.task.first, places[one.task.policy]))
        # an error that is not of this package is the cause of the one that names its place
        cause = first.error.__cause__ if type(first.error) is GraphBanditsError else None
        raise cause or first.error
    shards = {
        name: sorted(store.shards[name], key=lambda shard: shard.first) for name in plan.policies
    }
    return results_of(plan, shards)


def results_of(plan: Plan, shards: dict[str, list[Shard]]) -> Results:
    """The results of a plan from the shards of its policies."""
    means = true_means(plan.world, plan.seed, plan.trials)
    found = {name: summarise_shards(mine, plan.world.arms, means) for name, mine in shards.items()}
    graph = plan.process if isinstance(plan.process, Fixed) else None
    return Results(plan.recording.record, found, plan.arm_names, plan.settings(), graph)


def summarise_shards(
    shards: Sequence[Shard], arms: int, means: TrueMeans | None = None
) -> PolicyResult:
    """The trials of shards one after the other, with everything that was recorded of each."""
    ratios = [shard.ratios for shard in shards if shard.ratios is not None]
    regret: Floats = np.concatenate([shard.regret for shard in shards])
    plays = np.zeros(arms, np.int64)
    for shard in shards:
        count_plays(shard, plays)
    joined = Ratios.concat(ratios) if len(ratios) == len(shards) else None
    found = PolicyResult.from_trials(regret, plays, joined)
    return replace(found, rank_plays=rank_plays(shards, arms, means))


def count_plays(shard: Shard, plays: Ints) -> None:
    """Add the plays of a shard to a total, in place: there may be very many arms."""
    arm = shard.plays.arm
    if arm.size and not 0 <= arm.min() <= arm.max() < len(plays):
        raise InputError(
            f"a shard of trials {shard.first} to {shard.first + shard.trials - 1} has plays of "
            f"other arms than the {len(plays)} that there are"
        )
    shard.plays.add_to(plays)


class _Memory:
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


class _Progress(RunMonitor):
    """Reports decisions, and lets a failure end the run."""

    def __init__(self, store: _Memory, advance: Advance | None) -> None:
        self._store, self._advance = store, advance

    def advanced(self, task: Task, decisions: int) -> None:
        if self._advance is not None:
            self._advance(decisions)

    def failed(self, failure: Failure) -> None:
        self._store.has_failed = True
