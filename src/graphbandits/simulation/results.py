"""Results: the regret of each policy by round and by trial; combination of several results."""

from __future__ import annotations

import math
import numbers
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from graphbandits._types import Floats, Ints
from graphbandits.errors import InputError, nearest, short_repr
from graphbandits.graphs import Fixed
from graphbandits.simulation.plan import Plan
from graphbandits.simulation.shard import (
    Plays,
    Ratios,
    Shard,
    Trajectories,
    TrueMeans,
    join_all,
    rank_plays,
    true_means,
)
from graphbandits.simulation.statistics import (
    Difference,
    Moments,
    paired_differences,
    standard_error,
    t_quantile,
)
from graphbandits.simulation.tables import (
    NO_CURVES,
    QUANTILES,
    full_table,
    to_pandas,
    to_polars,
)

if TYPE_CHECKING:
    import pandas
    import polars

    from graphbandits.simulation.tables import TrajectoryTables


@dataclass(frozen=True, eq=False)
class PolicyResult:
    """Results of one policy."""

    mean: Floats
    standard_error: Floats
    quantiles: Floats
    final: Floats
    plays: Ints
    regret: Floats | None = None
    ratios: Ratios | None = None
    ratio_sums: Moments | None = None
    rank_plays: Ints | None = None
    trajectories: Trajectories | None = None
    trial_plays: Plays | None = None

    @classmethod
    def from_trials(cls, regret: Floats, plays: Ints, ratios: Ratios | None = None) -> PolicyResult:
        return cls(
            mean=regret.mean(axis=0),
            standard_error=standard_error(regret),
            quantiles=np.quantile(regret, QUANTILES, axis=0),
            final=regret[:, -1].copy(),
            plays=plays,
            regret=regret,
            ratios=ratios,
            ratio_sums=None if ratios is None else Moments.of(ratios.ratio_sum),
        )

    @classmethod
    def from_shards(
        cls, shards: Sequence[Shard], arms: int, means: TrueMeans | None = None
    ) -> PolicyResult:
        """Summarise the trials of shards; with the true means, plays are also ranked."""
        plays = np.zeros(arms, np.int64)
        for shard in shards:
            shard.plays.add_to(plays)
        return replace(
            cls.from_trials(
                np.concatenate([shard.regret for shard in shards]),
                plays,
                join_all([shard.ratios for shard in shards], Ratios.concat),
            ),
            rank_plays=rank_plays(shards, arms, means),
            trajectories=Trajectories.concat([shard.trajectories for shard in shards]),
            trial_plays=join_plays([one.plays for one in shards], [one.trials for one in shards]),
        )

    def final_quantiles(self) -> dict[str, float]:
        values = np.quantile(self.final, QUANTILES)
        return {f"{q:g}": float(v) for q, v in zip(QUANTILES, values, strict=True)}

    def quantile(self, q: float) -> Floats:
        """Compute a quantile of the regret over the trials at each recorded round."""
        if not isinstance(q, numbers.Real) or not 0.0 <= q <= 1.0:
            raise InputError(f"the level of a quantile must be a number in [0, 1], not {q!r}")
        if q in QUANTILES:
            saved: Floats = self.quantiles[QUANTILES.index(q)].copy()
            return saved
        if self.regret is None:
            levels = ", ".join(f"{level:g}" for level in QUANTILES)
            raise InputError(f"quantile {q:g} is not saved, only {levels}: {NO_CURVES}")
        values: Floats = np.quantile(self.regret, q, axis=0)
        return values


@dataclass(frozen=True, eq=False)
class Results:
    """Results of :func:`graphbandits.simulate` or of a study.

    Parameters
    ----------
    rounds : ndarray of int
        Recorded rounds.
    policies : mapping of str to PolicyResult
        Results of each policy.
    arms : tuple of str
        Names of the arms.
    settings : mapping
        Settings of the simulation, as plain values; docs/results.md lists them.
    graph : Fixed, optional
        Feedback graph, if it is the same in every round.
    plan : Plan, optional
        The simulation, if it was computed in this process; needed to save the results.

    Examples
    --------
    >>> from graphbandits import simulate
    >>> results = simulate(["ts-n"], graph="paper", horizon=20, trials=10, seed=1)
    >>> results["ts-n"].regret.shape, int(results["ts-n"].plays.sum())
    ((10, 20), 200)
    """

    rounds: Ints
    policies: Mapping[str, PolicyResult]
    arms: tuple[str, ...]
    settings: Mapping[str, Any]
    graph: Fixed | None = None
    plan: Plan | None = None

    def __post_init__(self) -> None:
        if not self.policies:
            raise InputError("results must have one policy or more; got none")
        trials, rounds, arms = self.trials, len(self.rounds), len(self.arms)
        shapes = {
            "mean": (rounds,),
            "standard_error": (rounds,),
            "quantiles": (len(QUANTILES), rounds),
            "final": (trials,),
            "plays": (arms,),
            "rank_plays": (arms,),
            "regret": (trials, rounds),
        }
        for name, result in self.policies.items():
            for part, shape in shapes.items():
                array = getattr(result, part)
                if array is not None and (array.shape != shape or not array.size):
                    raise InputError(
                        f"'{part}' of '{name}' has the shape {array.shape}, which does not match "
                        f"{trials} trials, {rounds} recorded rounds and {arms} arms"
                    )
        if self.graph is not None and (
            self.graph.arms != arms or self.graph.names not in (None, self.arms)
        ):
            raise InputError(
                f"the {self.graph.arms} arms of the graph must be the {arms} arms of the results, "
                "with the same names"
            )

    @property
    def trials(self) -> int:
        return len(next(iter(self.policies.values())).final)

    @property
    def runs(self) -> list[dict[str, Any]]:
        """Runs of the trials, in order: seed, first_trial and trials of each run."""
        default = {"seed": self.settings.get("seed"), "first_trial": 0, "trials": self.trials}
        return list(self.settings.get("runs") or [default])

    @property
    def _described(self) -> Mapping[str, Any]:
        """The descriptions of the policies in the settings."""
        return self.settings.get("policies") or {}

    @property
    def notes(self) -> dict[str, str]:
        """Notes on policies, from the settings; show them next to the regret."""
        entries = {name: self._described.get(name, {}) for name in self.policies}
        return {name: str(entry["note"]) for name, entry in entries.items() if entry.get("note")}

    def __getitem__(self, policy: str) -> PolicyResult:
        if policy not in self.policies:
            raise InputError(
                f"no policy '{policy}' in these results; they have {', '.join(self.policies)}"
            )
        return self.policies[policy]

    def __repr__(self) -> str:
        one = self.trials == 1  # one trial has no interval
        half = math.nan if one else t_quantile(0.95, self.trials)
        regrets = ", ".join(
            f"{name} {self[name].mean[-1]:.4g}"
            + ("" if one else f" ± {half * self[name].standard_error[-1]:.2g}")
            for name in self.ranking()
        )
        size = f"{len(self.arms)} arms, {self.rounds[-1]} rounds"
        trials = "1 trial" if one else f"{self.trials} trials"
        what = "regret" if one else "regret ± 95%"
        return f"<Results of {trials}, {size}: {what}: {regrets}>"

    def ranking(self) -> list[str]:
        """Sort the policies by mean final regret."""
        return sorted(self.policies, key=lambda name: float(self.policies[name].mean[-1]))

    def interval(self, policy: str, confidence: float = 0.95) -> tuple[float, float]:
        """Compute a confidence interval of the expected final regret (Student's t).

        Parameters
        ----------
        policy : str
            The policy.
        confidence : float, default=0.95
            Confidence level.

        Returns
        -------
        low, high : float
            Ends of the interval.
        """
        low, high = self.band(policy, confidence=confidence)
        return float(low[-1]), float(high[-1])

    def band(
        self,
        policy: str,
        kind: str = "interval",
        confidence: float = 0.95,
        levels: tuple[float, float] = (0.1, 0.9),
    ) -> tuple[Floats, Floats]:
        """Compute a band around the regret curve of a policy.

        Parameters
        ----------
        policy : str
            The policy.
        kind : {"interval", "quantiles"}, default="interval"
            "interval": confidence interval of the expected regret (Student's t), separately for
            each round. "quantiles": quantiles of the trials.
        confidence : float, default=0.95
            Confidence level of the interval.
        levels : tuple of float, default=(0.1, 0.9)
            Lower and upper level of the quantiles.

        Returns
        -------
        low, high : ndarray of shape (rounds,)
            Ends at each recorded round.
        """
        result = self[policy]
        if kind == "interval":
            half = t_quantile(confidence, self.trials) * result.standard_error
            return result.mean - half, result.mean + half
        if kind == "quantiles":
            pair = isinstance(levels, tuple | list) and len(levels) == 2
            known = pair and all(isinstance(level, numbers.Real) for level in levels)
            if not known or not levels[0] <= levels[1]:
                raise InputError(
                    f"levels must be a lower and an upper level in [0, 1], not {levels!r}"
                )
            return result.quantile(levels[0]), result.quantile(levels[1])
        raise InputError(f"no band '{kind}': {nearest(kind, ['interval', 'quantiles'])}")

    def differences(
        self, reference: str | None = None, confidence: float = 0.95, simultaneous: bool = False
    ) -> list[Difference]:
        """Compute paired differences of the final regret, in the order of the ranking.

        All policies have the same worlds. Therefore the difference of two policies has a much
        smaller error than the regret of either one.

        Parameters
        ----------
        reference : str, optional
            Policy with which the others are compared. The default is all pairs.
        confidence : float, default=0.95
            Confidence level.
        simultaneous : bool, default=False
            If true, the intervals hold for all differences together
            (:func:`graphbandits.simulation.statistics.max_t`). If false, each Student's t interval
            holds separately.

        Examples
        --------
        >>> from graphbandits import simulate
        >>> results = simulate(["ts-n", "ids-n"], graph="star", horizon=50, trials=20, seed=1)
        >>> [(one.first, one.second) for one in results.differences("ts-n")]
        [('ids-n', 'ts-n')]
        """
        names = self.ranking()
        if reference is None:
            pairs = list(combinations(names, 2))
        else:
            self[reference]
            pairs = [(name, reference) for name in names if name != reference]
        t_quantile(confidence, self.trials)  # checks the confidence, also without pairs
        final = {name: result.final for name, result in self.policies.items()}
        return paired_differences(final, pairs, confidence, simultaneous)

    def from_best(self, confidence: float = 0.95) -> dict[str, Difference]:
        """Compute the difference of each other policy minus the one with the smallest mean regret.

        The best policy is chosen from the same trials. Intervals for a reference that is chosen
        beforehand would be too narrow. Therefore the simultaneous intervals of all pairs are used.

        Parameters
        ----------
        confidence : float, default=0.95
            Simultaneous confidence level.
        """
        best = self.ranking()[0]
        pairs = self.differences(None, confidence, simultaneous=True)
        return {d.second: d.reversed() for d in pairs if d.first == best}

    def summary(self) -> dict[str, Any]:
        """Return regret, curve and plays of each policy, and the settings, as JSON values."""
        policies = {}
        for name, result in self.policies.items():
            regret = {
                "mean": float(result.mean[-1]),
                "standard_error": _number(result.standard_error[-1]),
                "quantiles": result.final_quantiles(),
            }
            curve = {"round": self.rounds.tolist(), "mean": result.mean.tolist()}
            plays = dict(zip(self.arms, result.plays.tolist(), strict=True))
            policies[name] = {"regret": regret, "curve": curve, "plays": plays}
        return {"policies": policies, "settings": dict(self.settings)}

    def only(self, names: Iterable[str]) -> Results:
        """Select policies.

        Parameters
        ----------
        names : iterable of str
            Policies to keep, in the new order.
        """
        policies = {name: self[name] for name in names}
        described = {name: self._described[name] for name in policies if name in self._described}
        settings = {**self.settings, "policies": described}
        plan = self.plan
        if plan is not None:
            chosen = {name: plan.policies[name] for name in policies}
            plan = replace(plan, policies=chosen)
        return replace(self, policies=policies, settings=settings, plan=plan)

    def renamed(self, names: Mapping[str, str]) -> Results:
        """Rename policies.

        Parameters
        ----------
        names : mapping of str to str
            New names by old names. Other policies keep their names.
        """
        for name in names:
            self[name]
        new = [names.get(name, name) for name in self.policies]
        if twice := [name for name in new if new.count(name) > 1]:
            raise InputError(f"two policies would have the name '{twice[0]}'")
        policies = dict(zip(new, self.policies.values(), strict=True))
        described = {names.get(name, name): entry for name, entry in self._described.items()}
        settings = {**self.settings, "policies": described}
        return replace(self, policies=policies, settings=settings, plan=None)

    @classmethod
    def concat(cls, results: Sequence[Results]) -> Results:
        """Combine policies and trials of the same problem; see :func:`concat`.

        Parameters
        ----------
        results : sequence of Results
            Results to combine.
        """
        return concat(results)

    def trajectories(
        self, policy: str, trials: int | Iterable[int] | None = None
    ) -> TrajectoryTables:
        """Return what a policy could play, played and observed, as tables.

        The results must have been simulated with ``record="actions"``, "observations", "eligible"
        or several of them.

        Parameters
        ----------
        policy : str
            The policy.
        trials : int or iterable of int, optional
            Numbers of the trials. Default: all.

        Returns
        -------
        TrajectoryTables
            The tables "actions", "observations" and "eligible".

        Examples
        --------
        >>> from graphbandits import simulate
        >>> results = simulate("ts-n", graph="paper", horizon=5, trials=3, record="actions")
        >>> results.trajectories("ts-n", trials=2).table("actions")["round"].to_pylist()
        [1, 2, 3, 4, 5]
        """
        from graphbandits.simulation.tables import tables_in_memory

        return tables_in_memory(self, policy, trials)

    def to_pandas(self, table: str = "curve") -> pandas.DataFrame:
        """Return a table as a pandas data frame; docs/results.md describes the tables.

        Parameters
        ----------
        table : str, default="curve"
            "curve", "final", "plays", "regret", "ratios", "graph", "actions", "observations" or
            "eligible".
        """
        return to_pandas(full_table(self, table))

    def to_polars(self, table: str = "curve") -> polars.DataFrame:
        """Return a table as a polars data frame.

        Parameters
        ----------
        table : str, default="curve"
            As in :meth:`to_pandas`.
        """
        return to_polars(full_table(self, table))


def results_from_shards(plan: Plan, shards: Mapping[str, Sequence[Shard]]) -> Results:
    """Return the results of a plan from the shards of its policies."""
    means = true_means(plan.world, plan.seed, plan.trials)
    arms = plan.world.arms
    found = {name: PolicyResult.from_shards(mine, arms, means) for name, mine in shards.items()}
    try:
        problem = plan.problem
    except InputError:  # a graph or a world that only this process knows
        problem = None
    graph = plan.process if isinstance(plan.process, Fixed) else None
    settings = plan.settings() | {"problem": problem}
    return Results(plan.recording.record, found, plan.arm_names, settings, graph, plan)


def join_plays(parts: Sequence[Plays], trials: Sequence[int]) -> Plays:
    starts = np.cumsum([0, *trials])
    return Plays(
        np.concatenate([plays.trial + at for plays, at in zip(parts, starts, strict=False)]),
        np.concatenate([plays.arm for plays in parts]),
        np.concatenate([plays.count for plays in parts]),
    )


def _number(value: float) -> float | None:
    return None if math.isnan(value) else float(value)


#: Settings that must be equal; the problem is the hash of graph, world, posterior and answers.
SAME_SETTINGS = frozenset(
    {"problem", "graph_source", "world_source", "horizon", "regret", "ratios", "record"}
    | {"recorded rounds"}
)
#: Settings that differ between the parts of combined results, or that a message cannot explain.
OWN_SETTINGS = frozenset({"policies", "versions", "runs", "seed", "trials", "problem"})


class Run(NamedTuple):
    """Consecutive trials of one seed."""

    seed: int | None
    first_trial: int
    trials: int

    def __str__(self) -> str:
        last = self.first_trial + self.trials - 1
        return f"seed {self.seed}, trials {self.first_trial} to {last}"

    def overlaps(self, other: Run) -> bool:
        first = max(self.first_trial, other.first_trial)
        last = min(self.first_trial + self.trials, other.first_trial + other.trials)
        return self.seed == other.seed and first < last


def concat(results: Sequence[Results]) -> Results:
    """Combine several results of the same problem.

    Results of the same runs (same seed and trial numbers) combine their policies, because they
    have the same worlds. Results of other runs append their trials, in the given order. Every
    policy must be present in every run. If versions differ, all of them are listed.
    """
    given = [] if isinstance(results, Results) else list(results)
    if not given or not all(isinstance(part, Results) for part in given):
        raise InputError(
            "concat needs a list of one or more results, such as concat([first, second])"
        )
    if len(given) == 1:
        return given[0]
    first = given[0]
    for other in given[1:]:
        _check_same_problem(first, other)
    described = _policy_descriptions(given)
    groups: dict[tuple[Run, ...], list[Results]] = {}
    for part in given:
        runs = [Run(**run) for run in part.runs]
        if any(run.seed is None for run in runs):
            raise InputError(
                "results without a seed cannot be combined with others: it is unknown whether they "
                "have the same worlds"
            )
        groups.setdefault(_merge_runs(runs), []).append(part)
    every = [run for group in groups for run in group]
    for one, other_run in combinations(every, 2):
        if one.overlaps(other_run):
            raise InputError(
                f"the same worlds would count twice: {one} and {other_run} overlap; use other "
                "seeds or trials, or combine the runs of each policy first"
            )
    columns = [_join_policies(parts) for parts in groups.values()]
    names = list(columns[0])
    for group, column in zip(groups, columns, strict=True):
        if column.keys() != columns[0].keys():
            raise InputError(
                "results of several runs must have every policy in every run, but "
                f"{', '.join(map(str, group))} has {', '.join(column)}, and not {', '.join(names)}"
            )
    policies = {name: _append_trials(name, [column[name] for column in columns]) for name in names}
    merged = _merge_runs(every)
    seeds = {run.seed for run in merged}
    versions = [part.settings.get("versions") or {} for part in given]
    settings = dict(first.settings) | {
        "seed": seeds.pop() if len(seeds) == 1 else None,
        "trials": sum(run.trials for run in merged),
        "runs": [run._asdict() for run in merged],
        "policies": described,
        "versions": {
            package: _distinct([one.get(package) for one in versions])
            for package in dict.fromkeys(package for one in versions for package in one)
        },
    }
    plan = None
    plans = [part.plan for part in given if part.plan is not None]
    if len(plans) == len(given) and len(merged) == 1:  # combined results that are one run
        known = {name: policy for each in plans for name, policy in each.policies.items()}
        _, start, trials = merged[0]
        chosen = {name: known[name] for name in names}
        plan = replace(plans[0], policies=chosen, first_trial=start, trials=trials)
    return Results(first.rounds, policies, first.arms, settings, first.graph, plan)


def _check_same_problem(one: Results, other: Results) -> None:
    """Raise InputError unless all settings except policies and runs are equal."""
    mine, theirs = ({**r.settings, "recorded rounds": r.rounds.tolist()} for r in (one, other))
    if None in (mine.get("problem"), theirs.get("problem")):
        raise InputError(
            "results can be combined only if another process could compute them: register the "
            "graph, the world or the posterior in a plug-in file"
        )
    different = [n for n in {**mine, **theirs} if mine.get(n) != theirs.get(n)]
    if not SAME_SETTINGS.isdisjoint(different):
        shown = [
            f"{name}: {short_repr(mine.get(name))} and {short_repr(theirs.get(name))}"
            for name in different
            if name not in OWN_SETTINGS
        ]
        raise InputError(
            f"results of different problems cannot be combined; {'; '.join(shown) or 'other data'}"
        )


def _policy_descriptions(results: list[Results]) -> dict[str, Any]:
    """Return the entry of each policy in the settings; raise InputError if two sources differ."""
    described: dict[str, Any] = {}
    for part in results:
        for name, entry in part._described.items():
            if described.setdefault(name, entry).get("source") != entry.get("source"):
                raise InputError(
                    f"results of different sources of policy '{name}' cannot be combined: compute "
                    "them again with the same plug-in file"
                )
    return described


def _merge_runs(runs: Iterable[Run]) -> tuple[Run, ...]:
    """Merge consecutive runs."""
    merged: list[Run] = []
    for run in runs:
        last = merged[-1] if merged else run
        if (last.seed, last.first_trial + last.trials) == run[:2]:
            merged[-1] = last._replace(trials=last.trials + run.trials)
        else:
            merged.append(run)
    return tuple(merged)


def _join_policies(parts: list[Results]) -> dict[str, PolicyResult]:
    """Return the policies of results of the same runs; duplicates must be equal."""
    joined: dict[str, PolicyResult] = {}
    for part in parts:
        for name, result in part.policies.items():
            mine = joined.setdefault(name, result)
            pairs = ((mine.final, result.final), (mine.plays, result.plays))
            if not all(np.array_equal(one, other) for one, other in pairs):
                raise InputError(
                    f"policy '{name}' has two different results for the same runs: it was changed, "
                    "or the versions differ; remove one of the two"
                )
            if mine.regret is None:
                joined[name] = result  # this one may have the curves
    return joined


def _append_trials(name: str, parts: list[PolicyResult]) -> PolicyResult:
    """Concatenate the trials of several runs, and summarise them."""
    if len(parts) == 1:
        return parts[0]
    curves = join_all([part.regret for part in parts], np.concatenate)
    if curves is None:
        raise InputError(f"cannot add trials to those of '{name}': {NO_CURVES}")
    join = partial(join_plays, trials=[len(part.final) for part in parts])
    return replace(
        PolicyResult.from_trials(
            curves,
            np.sum([part.plays for part in parts], axis=0),
            join_all([part.ratios for part in parts], Ratios.concat),
        ),
        rank_plays=join_all([part.rank_plays for part in parts], partial(np.sum, axis=0)),
        trajectories=Trajectories.concat([part.trajectories for part in parts]),
        trial_plays=join_all([part.trial_plays for part in parts], join),
    )


def _distinct(values: Sequence[object]) -> object:
    """Return the common value, or the list of different values."""
    flat = [v for value in values for v in (value if isinstance(value, list) else [value])]
    different = list(dict.fromkeys(flat))
    return different[0] if len(different) == 1 else different
