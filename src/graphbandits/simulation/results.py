"""Results: the regret of each policy by round and by trial; combination of several results."""

from __future__ import annotations

import math
import numbers
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from graphbandits._types import Floats, Ints
from graphbandits.errors import InputError, check_integer, nearest
from graphbandits.graphs import Fixed
from graphbandits.simulation.plan import Plan
from graphbandits.simulation.shard import (
    Plays,
    Ratios,
    Shard,
    Trajectories,
    TrueMeans,
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
            arm = shard.plays.arm
            if arm.size and not 0 <= arm.min() <= arm.max() < arms:
                last = shard.first + shard.trials - 1
                raise InputError(
                    f"the shard of trials {shard.first} to {last} has plays of arms that are not "
                    f"among the {arms} arms"
                )
            shard.plays.add_to(plays)
        ratios = [shard.ratios for shard in shards if shard.ratios is not None]
        seen = [shard.trajectories for shard in shards]
        return replace(
            cls.from_trials(
                np.concatenate([shard.regret for shard in shards]),
                plays,
                Ratios.concat(ratios) if len(ratios) == len(shards) else None,
            ),
            rank_plays=rank_plays(shards, arms, means),
            trajectories=Trajectories.concat(seen) if any(seen) else None,
            trial_plays=join_plays([(shard.plays, shard.trials) for shard in shards]),
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
        trials, rounds = self.trials, len(self.rounds)
        for name, result in self.policies.items():
            regret = (trials, rounds) if result.regret is None else result.regret.shape
            sizes = {
                "mean": (result.mean.shape, (rounds,)),
                "standard_error": (result.standard_error.shape, (rounds,)),
                "quantiles": (result.quantiles.shape, (len(QUANTILES), rounds)),
                "final": (result.final.shape, (trials,)),
                "plays": (result.plays.shape, (len(self.arms),)),
                "regret": (regret, (trials, rounds)),
            }
            if result.rank_plays is not None:
                sizes["rank_plays"] = result.rank_plays.shape, (len(self.arms),)
            for part, array in result.ratios.items() if result.ratios is not None else ():
                sizes[part] = array.shape, (trials, rounds)
            if result.trajectories is not None:
                sizes["trajectories"] = (result.trajectories.trials,), (trials,)
            for part, (found, expected) in sizes.items():
                if found != expected or 0 in found:
                    raise InputError(
                        f"'{part}' of '{name}' has the shape {found}, which does not match "
                        f"{trials} trials, {rounds} recorded rounds and {len(self.arms)} arms"
                    )
            if result.trajectories is not None:
                result.trajectories.check_arms(len(self.arms), f"the trajectories of '{name}'")
        if self.graph is not None and self.graph.arms != len(self.arms):
            raise InputError(
                f"the graph has {self.graph.arms} arms, but the results have {len(self.arms)}"
            )
        if self.graph is not None and self.graph.names not in (None, self.arms):
            raise InputError("the arms of the graph and of the results have different names")

    @property
    def trials(self) -> int:
        return len(next(iter(self.policies.values())).final)

    @property
    def runs(self) -> list[dict[str, Any]]:
        """Runs of the trials, in order: seed, first_trial and trials of each run."""
        return runs_of(self.settings, self.trials)

    @property
    def notes(self) -> dict[str, str]:
        """Notes on policies, from the settings; show them next to the regret."""
        described = self.settings.get("policies")
        entries = described if isinstance(described, Mapping) else {}
        notes = {
            name: str(entries[name].get("note") or "").strip()
            for name in self.policies
            if isinstance(entries.get(name), Mapping)
        }
        return {name: text for name, text in notes.items() if text}

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
        settings = dict(self.settings)
        if isinstance(described := settings.get("policies"), Mapping):
            settings["policies"] = {k: described[k] for k in policies if k in described}
        plan = self.plan
        if plan is not None:
            chosen = {name: plan.policies[name] for name in policies}
            plan = replace(plan, policies=chosen, lines={name: name for name in chosen})
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
        settings = dict(self.settings)
        if isinstance(described := settings.get("policies"), Mapping):
            settings["policies"] = {names.get(k, k): entry for k, entry in described.items()}
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


def runs_of(settings: Mapping[str, Any], trials: int) -> list[dict[str, Any]]:
    """Return the runs in the settings; a single run from trial 0 if there are none."""
    default = {"seed": settings.get("seed"), "first_trial": 0, "trials": trials}
    runs = [_check_run(run) for run in settings.get("runs") or [default]]
    total = sum(run["trials"] for run in runs)
    if total != trials:
        raise InputError(f"the runs have {total} trials in total, but the results have {trials}")
    return runs


def _check_run(run: Mapping[str, Any]) -> dict[str, Any]:
    if not isinstance(run, Mapping):
        raise InputError(f"a run must have seed, first_trial and trials; got {run!r}")
    seed = run.get("seed")
    return {
        "seed": None if seed is None else check_integer(seed, "seed of a run", least=0),
        "first_trial": check_integer(run.get("first_trial", 0), "first_trial of a run", least=0),
        "trials": check_integer(run.get("trials"), "trials of a run"),
    }


def join_plays(parts: Sequence[tuple[Plays, int]]) -> Plays:
    starts = np.cumsum([0, *(trials for _, trials in parts)])
    return Plays(
        np.concatenate([plays.trial + at for (plays, _), at in zip(parts, starts, strict=False)]),
        np.concatenate([plays.arm for plays, _ in parts]),
        np.concatenate([plays.count for plays, _ in parts]),
    )


def _number(value: float) -> float | None:
    return None if math.isnan(value) else float(value)


#: Settings that must be equal; the problem is the hash of graph, world, posterior and answers.
SAME_SETTINGS = (
    *("problem", "graph_source", "world_source", "horizon"),
    *("regret", "ratios", "record"),
)

Runs = tuple[tuple[int | None, int, int], ...]


def concat(results: Sequence[Results]) -> Results:
    """Combine several results of the same problem.

    Results of the same runs (same seed and trial numbers) combine their policies, because they
    have the same worlds. Results of other runs append their trials, in the given order. Every
    policy must be present in every run. If versions differ, all of them are listed.
    """
    given = [] if isinstance(results, Results) else list(results)
    if not all(isinstance(part, Results) for part in given) or isinstance(results, Results):
        raise InputError("concat needs a list of results, such as concat([first, second])")
    if not given:
        raise InputError("concat needs one or more results; the list is empty")
    if len(given) == 1:
        return given[0]
    for other in given[1:]:
        _check_same_problem(given[0], other)
    described = _policy_descriptions(given)
    groups: dict[Runs, list[Results]] = {}
    for part in given:
        groups.setdefault(_runs_of(part), []).append(part)
    _check_no_overlap(list(groups))
    columns = {runs: _join_policies(parts) for runs, parts in groups.items()}
    names = list(next(iter(columns.values())))
    for group, mine in columns.items():
        for name in (*names, *mine):
            if name not in mine or name not in names:
                incomplete = group if name not in mine else next(iter(columns))
                raise InputError(
                    "results of several runs must have every policy in every run: "
                    f"'{name}' is missing in {_text(incomplete)}"
                )
    policies = {
        name: _append_trials(name, [each[name] for each in columns.values()]) for name in names
    }
    runs = tuple(run for group in columns for run in group)
    first = given[0]
    plan = _joined_plan(given, runs, policies)
    settings = _settings(given, runs, described)
    return Results(first.rounds, policies, first.arms, settings, first.graph, plan)


def _check_same_problem(one: Results, other: Results) -> None:
    """Raise InputError unless all settings except policies and runs are equal."""
    for setting in SAME_SETTINGS:
        mine, theirs = (r.settings.get(setting) for r in (one, other))
        if setting == "problem" and None in (mine, theirs):
            raise InputError(
                "results can be combined only if another process could compute them: register the "
                "graph, the world or the posterior in a plug-in file"
            )
        if mine != theirs:
            if setting == "problem":
                mine, theirs = (_problem_text(r, of) for r, of in ((one, other), (other, one)))
            raise _mismatch(setting, mine, theirs)
    if not np.array_equal(one.rounds, other.rounds):
        raise _mismatch("recorded rounds", one.rounds.tolist(), other.rounds.tolist())


def _problem_text(one: Results, other: Results) -> str:
    """Return the settings of a problem that differ from those of another one."""
    skipped = {"policies", "versions", "runs", "seed", "trials", "problem"}
    different = {
        name: value
        for name, value in one.settings.items()
        if name not in skipped and value != other.settings.get(name)
    }
    return ", ".join(f"{name} {_short(value)}" for name, value in different.items()) or "other"


def _policy_descriptions(results: list[Results]) -> dict[str, Any]:
    """Return the entry of each policy in the settings; raise InputError if two sources differ."""
    described: dict[str, Any] = {}
    for part in results:
        for name, entry in (part.settings.get("policies") or {}).items():
            mine = described.setdefault(name, entry).get("source")
            if mine != entry.get("source"):
                raise _mismatch(f"source of policy '{name}'", mine, entry.get("source"))
    return described


def _joined_plan(
    given: Sequence[Results], runs: Runs, policies: Mapping[str, PolicyResult]
) -> Plan | None:
    """Return the plan of combined results that are one run; None if they are several."""
    plans = [part.plan for part in given if part.plan is not None]
    merged = _merge_runs(runs)
    if len(plans) < len(given) or len(merged) > 1:
        return None
    every = {name: policy for plan in plans for name, policy in plan.policies.items()}
    chosen = {name: every[name] for name in policies}
    lines = {name: name for name in chosen}
    _, first, trials = merged[0]
    return replace(plans[0], policies=chosen, lines=lines, first_trial=first, trials=trials)


def _mismatch(what: str, mine: object, theirs: object) -> InputError:
    shown = (_short(value) for value in (mine, theirs))
    return InputError(
        f"results of different problems cannot be combined; {what}: {' and '.join(shown)}"
    )


def _short(value: object) -> str:
    text = value if isinstance(value, str) else "not given" if value is None else str(value)
    return text if len(text) <= 200 else f"{text[:200]}..."


def _runs_of(results: Results) -> Runs:
    """Return the runs of results; consecutive runs are merged."""
    runs = [(run["seed"], run["first_trial"], run["trials"]) for run in results.runs]
    if any(seed is None for seed, _, _ in runs):
        raise InputError(
            "results without a seed cannot be combined with others: it is unknown whether they "
            "have the same worlds"
        )
    return _merge_runs(runs)


def _merge_runs(runs: Sequence[tuple[int | None, int, int]]) -> Runs:
    merged: list[tuple[int | None, int, int]] = []
    for seed, start, trials in runs:
        if merged and merged[-1][0] == seed and sum(merged[-1][1:]) == start:
            merged[-1] = (seed, merged[-1][1], merged[-1][2] + trials)
        else:
            merged.append((seed, start, trials))
    return tuple(merged)


def _check_no_overlap(groups: list[Runs]) -> None:
    """Raise InputError if a world occurs twice."""
    seen: list[tuple[int | None, int, int]] = []
    for seed, start, trials in (run for runs in groups for run in runs):
        for other, first, count in seen:
            if seed == other and start < first + count and first < start + trials:
                raise InputError(
                    f"the same worlds would count twice: {_text(((other, first, count),))} and "
                    f"{_text(((seed, start, trials),))} overlap; use other seeds or trials, or "
                    "combine the runs of each policy first"
                )
        seen.append((seed, start, trials))


def _text(runs: Runs) -> str:
    return ", ".join(
        f"seed {seed}, trials {first} to {first + trials - 1}" for seed, first, trials in runs
    )


def _join_policies(parts: list[Results]) -> dict[str, PolicyResult]:
    """Return the policies of results of the same runs; duplicates must be equal."""
    joined: dict[str, PolicyResult] = {}
    for part in parts:
        for name, result in part.policies.items():
            mine = joined.setdefault(name, result)
            if gap := _first_difference(mine, result):
                raise InputError(
                    f"policy '{name}' has two different results for the same runs ({gap}): "
                    "it was changed, or the versions differ; remove one of the two"
                )
            if mine.regret is None:
                joined[name] = result  # this one may have the curves
    return joined


def _first_difference(mine: PolicyResult, theirs: PolicyResult) -> str:
    """Describe the first difference between two results of a policy; empty if there is none."""
    for trial in np.flatnonzero(mine.final != theirs.final)[:1]:
        values = float(mine.final[trial]), float(theirs.final[trial])
        return f"final regret of trial {trial}: {values[0]!r} and {values[1]!r}"
    if np.array_equal(mine.plays, theirs.plays):
        return ""
    return f"plays {_short(mine.plays.tolist())} and {_short(theirs.plays.tolist())}"


def _append_trials(name: str, parts: list[PolicyResult]) -> PolicyResult:
    """Concatenate the trials of several runs, and summarise them."""
    if len(parts) == 1:
        return parts[0]
    curves = [part.regret for part in parts if part.regret is not None]
    if len(curves) < len(parts):
        raise InputError(f"cannot add trials to those of '{name}': {NO_CURVES}")
    ratios = [part.ratios for part in parts if part.ratios is not None]
    ranked = [part.rank_plays for part in parts if part.rank_plays is not None]
    by_trial = [
        (part.trial_plays, len(part.final)) for part in parts if part.trial_plays is not None
    ]
    seen = [part.trajectories for part in parts]
    return replace(
        PolicyResult.from_trials(
            np.concatenate(curves),
            np.sum([part.plays for part in parts], axis=0),
            Ratios.concat(ratios) if len(ratios) == len(parts) else None,
        ),
        rank_plays=np.sum(ranked, axis=0) if len(ranked) == len(parts) else None,
        trajectories=Trajectories.concat(seen) if any(seen) else None,
        trial_plays=join_plays(by_trial) if len(by_trial) == len(parts) else None,
    )


def _settings(results: list[Results], runs: Runs, described: dict[str, Any]) -> dict[str, Any]:
    merged = _merge_runs(runs)
    seeds = {seed for seed, _, _ in merged}
    settings: dict[str, Any] = {}
    for part in results:
        for setting, value in part.settings.items():
            settings.setdefault(setting, value)
    settings["seed"] = seeds.pop() if len(seeds) == 1 else None
    settings["trials"] = sum(trials for _, _, trials in merged)
    settings["runs"] = [
        {"seed": seed, "first_trial": first, "trials": trials} for seed, first, trials in merged
    ]
    if "policies" in settings:
        settings["policies"] = described
    if "versions" in settings:
        given = [r.settings.get("versions") or {} for r in results]
        packages = dict.fromkeys(package for versions in given for package in versions)
        settings["versions"] = {p: _distinct([v.get(p) for v in given]) for p in packages}
    return settings


def _distinct(values: Sequence[object]) -> object:
    """Return the common value, or the list of different values."""
    flat = [v for value in values for v in (value if isinstance(value, list) else [value])]
    different = list(dict.fromkeys(flat))
    return different[0] if len(different) == 1 else different
