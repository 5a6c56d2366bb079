"""Recommend a policy for a graph: simulate the suitable policies within a time limit."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from functools import partial
from typing import Any

import numpy as np

from graphbandits._types import Floats
from graphbandits.errors import GraphBanditsError, InputError, check_integer, check_positive
from graphbandits.graphs import GraphLike, as_process
from graphbandits.graphs.processes import Shape, fixed_feedback
from graphbandits.policies import Policy
from graphbandits.posteriors import Posterior
from graphbandits.registry import registered
from graphbandits.rng import Keys
from graphbandits.simulation.plan import Plan
from graphbandits.simulation.progress import Advance, progress_bar
from graphbandits.simulation.run import simulate_plan
from graphbandits.simulation.statistics import paired_differences, standard_error, t_quantile
from graphbandits.simulation.workers import available_cores
from graphbandits.worlds import World, as_world, check_world

#: Confidence level of all intervals.
CONFIDENCE = 0.95
#: Policies whose regret is larger by at most this part, and not significantly, count as equal.
EQUAL = 0.1
#: Fewest and most trials of a policy, unless the number is given.
LEAST_TRIALS, MOST_TRIALS = 2, 1000
#: Number of policies that are never dropped.
FINALISTS = 3
#: Rounds before the measurement of a decision, and its seconds.
WARMUP_ROUNDS, MEASURED_SECONDS = 3, 0.1
#: Part of the time for the first trials of all policies.
FIRST_PART = 0.5
#: Of equally good policies, one is preferred if it is faster by this factor.
MUCH_FASTER = 1.5
#: Names that a sentence lists.
LISTED = 4


@dataclass(frozen=True)
class Interval:
    """A mean over trials with its 95 % confidence interval."""

    mean: float
    low: float
    high: float

    @classmethod
    def of(cls, values: Floats) -> Interval:
        mean = float(values.mean())
        half = t_quantile(CONFIDENCE, len(values)) * float(standard_error(values))
        return cls(mean, mean - half, mean + half)


@dataclass(frozen=True)
class Candidate:
    policy: str
    trials: int
    regret: Interval
    difference: Interval
    delay_cost: Interval | None
    cpu: float
    exact: bool


@dataclass(frozen=True)
class Recommendation:
    """A recommended policy, its reason, and all policies that were compared."""

    policy: str
    reason: str
    candidates: tuple[Candidate, ...]
    left_out: Mapping[str, str] = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        lines = [f"{self.policy}: {self.reason}"]
        for one in self.candidates:
            low, high = one.regret.low, one.regret.high
            interval = f"95 % interval {low:.3g} to {high:.3g}"
            lines.append(f"{one.policy}: regret {one.regret.mean:.3g} ({interval})")
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


def recommend(
    graph: GraphLike,
    *,
    horizon: int,
    arms: int | None = None,
    world: World | str | None = None,
    prior: Any = None,
    posterior: Posterior | str | None = None,
    delay: int | Sequence[int] = 0,
    answer_rate: float = 1.0,
    policies: str | Policy | Iterable[str | Policy] | None = None,
    trials: int | None = None,
    seed: int = 0,
    seconds: float = 40.0,
    workers: int | None = None,
    progress: bool = True,
) -> Recommendation:
    """Simulate the suitable policies on a graph, and recommend one.

    All policies meet the same worlds, delays and missing answers. The recommended policy is the one
    of the lowest regret. If the paired difference of others is not significant and at most 10 %,
    it is one of them that returns the probabilities of its plays: the fastest one if it is faster
    by a factor of 1.5, otherwise the one of the lowest regret.

    The number of trials is doubled while the time limit allows it. If it does not allow it for all
    policies, the better half goes on, until 3 are left. Policies of which 2 trials do not fit are
    left out. With ``trials``, there is no limit, and the result is the same in every run except for
    the CPU times.

    Parameters
    ----------
    graph, horizon, arms, world
        As in :func:`graphbandits.simulate`.
    prior : optional
        Parameters of the prior of the world, such as "2,5"; the means of each trial are drawn from
        it. The default is that of the world.
    posterior, delay, answer_rate
        As in :func:`graphbandits.simulate`.
    policies : str, Policy, or iterable of them, optional
        Policies to compare. By default all registered ones that are suitable: the graph, the
        horizon and the rewards meet their needs.
    trials : int, optional
        Number of trials of each policy, at least 2. By default as many as fit in the time.
    seed : int, default=0
        Seed of the random draws.
    seconds : float, default=40.0
        Time limit, approximately, without the compilation of a first run.
    workers : int, optional
        Number of threads; by default one per core.
    progress : bool, default=True
        Whether to show a progress bar on a terminal.

    Returns
    -------
    Recommendation
        The policy, the reason, and the numbers of all policies.

    Raises
    ------
    InputError
        If a value is not allowed, or if no policy is suitable.
    NeedsError
        If a given policy needs information that the graph or the horizon does not provide.

    Examples
    --------
    >>> found = recommend("star", arms=5, horizon=50, delay=5, policies=["ids-n", "uniform"],
    ...     trials=20)
    >>> found.policy, [one.policy for one in found.candidates]
    ('ids-n', ['ids-n', 'uniform'])
    """
    check_positive(seconds, "seconds")
    if trials is not None:
        check_integer(trials, "trials", least=2)
    workers = available_cores() if workers is None else check_integer(workers, "workers")
    known = arms if world is None or isinstance(world, str) else check_world(world).arms
    process = as_process(graph, known)
    plan = partial(
        Plan.of,
        world=as_world(world, process.arms, prior),
        graph=process,
        posterior=posterior,
        horizon=horizon,
        seed=seed,
    )
    answers: dict[str, Any] = {"delay": delay, "answer_rate": answer_rate}
    late = plan("uniform", trials=2, **answers).answers
    left_out: dict[str, str] = {}
    if policies is None:
        chosen = dict[str, Policy]()
        for name, cls in registered("policy").items():
            if not hasattr(cls, "needs"):  # it contains another policy, as "floor" does
                continue
            try:
                chosen |= plan(name, trials=2).policies
            except GraphBanditsError as error:
                left_out[name] = _short_reason(error, name)
        if not chosen:
            raise InputError(
                "no registered policy is suitable for this graph, horizon and reward model: give "
                "policies, or see 'graphbandits list policies'"
            )
    else:
        chosen = plan(policies, trials=2).policies
    comparison = _Comparison(plan, chosen, answers, late is not None, workers, left_out)
    comparison.warm_up()
    with progress_bar("comparing policies", 100, progress) as advance:
        clock = _Clock(seconds, advance)
        comparison.measure(0.1 * seconds)
        if trials is None:
            comparison.run_within(clock)
        else:
            comparison.run(trials)
    candidates = comparison.candidates()
    policy, reason = choose(candidates)
    settings: dict[str, Any] = {"arms": process.arms, "horizon": horizon, "seed": seed}
    settings |= {"delay": 0, "answer_rate": 1.0} | ({} if late is None else late.settings())
    settings["trials"] = max(one.trials for one in candidates)
    if (feedback := fixed_feedback(process)) is not None:
        shape = Shape.of(feedback)
        settings |= {"edges": shape.edges, "directed": shape.directed}
    return Recommendation(policy, reason, candidates, left_out, settings)


def _short_reason(error: GraphBanditsError, name: str) -> str:
    """Return the reason of a refused policy, without the advice that follows it."""
    return str(error).removeprefix(f"policy '{name}' ").partition(";")[0].partition(": ")[0]


class _Clock:
    def __init__(self, seconds: float, advance: Advance) -> None:
        self._start, self._seconds, self._advance = time.perf_counter(), seconds, advance
        self._shown = 0

    def left(self, part: float = 1.0) -> float:
        """Return the seconds until a part of the time has passed; move the progress bar."""
        spent = time.perf_counter() - self._start
        percent = min(100, int(100.0 * spent / self._seconds))
        self._advance(percent - self._shown)
        self._shown = percent
        return part * self._seconds - spent


@dataclass
class _Comparison:
    """Final regrets in the same worlds: ``late`` has delays and lost answers, ``prompt`` not."""

    plan: Callable[..., Plan]
    policies: Mapping[str, Policy]
    answers: Mapping[str, Any]
    is_late: bool
    workers: int
    left_out: dict[str, str]
    late: dict[str, Floats] = field(default_factory=dict)
    prompt: dict[str, Floats] = field(default_factory=dict)
    cpu: dict[str, float] = field(default_factory=dict)
    cost: dict[str, float] = field(default_factory=dict)  # estimated seconds of a trial
    pace: float = 1.0  # seconds of a run, divided by the estimate

    def warm_up(self) -> None:
        """Compile the kernels, and compute what depends on the graph only."""
        for policy in self.policies.values():
            _run_some(self.plan(policy, trials=1), WARMUP_ROUNDS, math.inf)

    def measure(self, seconds: float) -> None:
        """Measure a decision of one agent, and estimate the time of a trial."""
        most = min(MEASURED_SECONDS, seconds / len(self.policies))
        for name, policy in self.policies.items():
            plan, start = self.plan(policy, trials=1), time.perf_counter()
            rounds, self.cpu[name] = _run_some(plan, plan.horizon, most)
            seconds = time.perf_counter() - start + (plan.horizon - rounds) * self.cpu[name]
            self.cost[name] = (1 + self.is_late) * seconds / self.workers

    def run(self, trials: int, names: Sequence[str] = ()) -> None:
        """Simulate more trials, of all policies by default, with and without delays."""
        names = names or list(self.policies)
        start, done = time.perf_counter(), len(self.late.get(names[0], ()))
        policies = [self.policies[name] for name in names]
        for final, answers in ((self.late, self.answers), (self.prompt, {})):
            if final is self.prompt and not self.is_late:
                continue
            plan = self.plan(policies, trials=trials, first_trial=done, **answers)
            results = simulate_plan(plan, workers=self.workers, parallel="threads", progress=False)
            for name in names:
                final[name] = np.concatenate([final.get(name, np.empty(0)), results[name].final])
        self.pace *= (time.perf_counter() - start) / self._seconds(names, trials)

    def run_within(self, clock: _Clock) -> None:
        """Double the trials while they fit in the time; if they do not, keep the better half."""
        names = self._affordable(clock.left(FIRST_PART))
        self.run(LEAST_TRIALS, names)
        while (done := len(self.late[names[0]])) < MOST_TRIALS:
            more, left = min(done, MOST_TRIALS - done), clock.left()
            if len(names) > FINALISTS and self._seconds(names, more) > 0.5 * left:
                names = self._ranked(names)[: max(FINALISTS, -(-len(names) // 2))]
                continue
            more = min(more, int(left / self._seconds(names, 1)))
            if more <= 0.1 * done:
                break
            self.run(more, names)

    def _affordable(self, seconds: float) -> list[str]:
        """Return the policies of which the least trials fit in the time, without the slowest."""
        names = sorted(self.policies, key=self.cost.__getitem__)
        while names and self._seconds(names, LEAST_TRIALS) > seconds:
            name = names.pop()
            cpu = cpu_text(self.cpu[name])
            self.left_out[name] = f"is too slow for the time limit: {cpu} per decision"
        if not names:
            raise InputError(
                f"{LEAST_TRIALS} trials of any policy do not fit in the time limit: give more "
                "seconds, a shorter horizon, or the number of trials"
            )
        return names

    def _seconds(self, names: Iterable[str], trials: int) -> float:
        return self.pace * trials * sum(self.cost[name] for name in names)

    def _ranked(self, names: Iterable[str]) -> list[str]:
        """Return policies by their number of trials, then by their regret."""
        return sorted(
            names, key=lambda name: (-len(self.late[name]), float(self.late[name].mean()))
        )

    def _difference(self, name: str, best: str) -> Interval:
        """Return the difference of two regrets, in the trials of both."""
        trials = min(len(self.late[name]), len(self.late[best]))
        final = {one: self.late[one][:trials] for one in (name, best)}
        (found,) = paired_differences(final, [(name, best)], CONFIDENCE, simultaneous=False)
        return Interval(found.mean, found.low, found.high)

    def candidates(self) -> tuple[Candidate, ...]:
        """Return the simulated policies: those with the most trials first, then by regret."""
        names = self._ranked(self.late)
        best, found = names[0], list[Candidate]()
        for name in names:
            final, prompt = self.late[name], self.prompt.get(name)
            difference = self._difference(name, best)
            cost = None if prompt is None else Interval.of(final - prompt)
            exact = self.policies[name].exact
            numbers = Interval.of(final), difference, cost, self.cpu[name]
            found.append(Candidate(name, len(final), *numbers, exact))
        return tuple(found)


class _StoppedError(Exception):
    """Raised by a progress callback to end a run."""


def _run_some(plan: Plan, rounds: int, seconds: float) -> tuple[int, float]:
    """Run one trial; return the number of rounds, and CPU seconds of a round after the first."""
    (name,) = plan.policies
    times = list[float]()

    def advance(step: int) -> None:
        times.append(time.thread_time())
        if len(times) >= rounds or times[-1] - times[0] >= seconds:
            raise _StoppedError

    with suppress(_StoppedError):
        plan.run_shard(name, Keys(plan.seed), advance)
    return len(times), (times[-1] - times[0]) / max(1, len(times) - 1)


def cpu_text(seconds: float) -> str:
    """Format the time of a decision.

    >>> cpu_text(4.56e-5), cpu_text(0.0123)
    ('46 µs', '12.3 ms')
    """
    return f"{seconds * 1e6:.0f} µs" if seconds < 1e-3 else f"{seconds * 1e3:.3g} ms"


def choose(candidates: Sequence[Candidate]) -> tuple[str, str]:
    best, *others = candidates
    if not others:
        return best.policy, f"{best.policy} is the only policy that was compared."
    # the others were worse in the first trials
    finalists = [one for one in others if one.trials == best.trials]
    unclear = [one for one in finalists if one.difference.low <= 0.0]
    equal = [one for one in unclear if one.difference.mean <= EQUAL * abs(best.regret.mean)]
    exact = [one for one in (best, *equal) if one.exact] or [best, *equal]
    chosen, fastest = exact[0], min(exact, key=lambda one: one.cpu)
    if fastest.cpu * MUCH_FASTER <= chosen.cpu:
        chosen = fastest
    if equal:
        names = _listed(list(dict.fromkeys(one.policy for one in (chosen, best, *equal))))
        why = [] if len(exact) > len(equal) else ["returns the probabilities of its plays"]
        if chosen is not exact[0]:
            why.append(f"takes the least CPU, {cpu_text(chosen.cpu)} per decision")
        elif len(exact) > 1:
            why.append(f"had the lowest regret, {chosen.regret.mean:.1f}")
        reason = f"{names} do not differ clearly in {best.trials} trials. Of these, "
        reason += f"{chosen.policy} {' and '.join(why)}"
    else:
        reason = f"{best.policy} has the lowest regret, {best.regret.mean:.1f}"
        for one in [one for one in finalists if one not in unclear][:1]:
            gap = one.difference
            reason += f"; the next, {one.policy}, has {gap.mean:.1f} more (95 % interval "
            reason += f"{gap.low:.1f} to {gap.high:.1f})"
    unclear = [one for one in unclear if one not in equal]
    if unclear:
        names = _listed([one.policy for one in unclear])
        has = "has" if len(unclear) == 1 else "have"
        reason += f"; it is not clear that {names} {has} more regret: more trials would decide"
    return chosen.policy, reason + "."


def _listed(names: Sequence[str]) -> str:
    """Join names, with the number of those that are left out.

    >>> _listed(["ts-n", "ids-n"]), _listed(["a", "b", "c", "d", "e"])
    ('ts-n and ids-n', 'a, b, c and 2 more')
    """
    if len(names) > LISTED:
        names = [*names[: LISTED - 1], f"{len(names) - LISTED + 1} more"]
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))
