"""Combine results: more policies in the same worlds, more worlds, or both."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from graphbandits.engine import Plan, Ratios, Trajectories
from graphbandits.errors import InputError
from graphbandits.results.data_frames import NO_CURVES
from graphbandits.results.model import PolicyResult, Results, join_plays

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

    Parameters
    ----------
    results : sequence of Results
        Results to combine.

    Returns
    -------
    Results
        All policies and trials.

    Raises
    ------
    InputError
        If the problems differ, if a policy is missing in a run, or if a world would count twice.

    Examples
    --------
    >>> from graphbandits import simulate
    >>> settings = {"graph": "paper", "horizon": 20, "trials": 4}
    >>> parts = [simulate(name, seed=s, **settings) for name in ("ts-n", "ids-n") for s in (1, 2)]
    >>> together = concat(parts)
    >>> list(together.policies), [run["seed"] for run in together.runs], together.trials
    (['ts-n', 'ids-n'], [1, 2], 8)
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
    """Return the combined settings."""
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
