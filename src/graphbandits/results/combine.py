"""Combine results: more policies in the same worlds, more worlds, or both."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from graphbandits.engine.shard import Ratios
from graphbandits.engine.trajectories import Trajectories
from graphbandits.errors import InputError
from graphbandits.results.data_frames import NO_CURVES, edges_of
from graphbandits.results.model import PolicyResult, Results

#: Settings that may differ between results and are combined; all others must be equal.
JOINED_SETTINGS = frozenset({"seed", "trials", "runs", "policies", "version", "versions"})
#: Values of settings that older versions did not save.
_DEFAULTS = {"regret": "pseudo", "accuracy": "simulation"}
#: Entries of a policy that may differ: they describe it and do not change its numbers.
_DESCRIPTION = frozenset({"summary", "plugin", "note"})

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
    return Results(
        first.rounds, policies, first.arms, _settings(given, runs, described), first.graph
    )


def _check_same_problem(one: Results, other: Results) -> None:
    """Raise InputError unless all settings except policies and runs are equal."""
    known = [r.settings.get("graph_hash") for r in (one, other)]
    same_graph = None not in known and known[0] == known[1]
    for setting in dict.fromkeys((*one.settings, *other.settings)):
        if setting in JOINED_SETTINGS or setting == "graph_hash":
            continue  # the hash is compared below
        if setting == "graph" and same_graph:
            continue  # the same graph from another file
        default = _DEFAULTS.get(setting)
        mine, theirs = (r.settings.get(setting, default) for r in (one, other))
        unknown = setting == "graph_source" and None in (mine, theirs)  # before 0.6
        if not unknown and _plain(mine) != _plain(theirs):
            raise _mismatch(setting, mine, theirs)
    if one.arms != other.arms:
        raise _mismatch("names of the arms", one.arms, other.arms)
    if not np.array_equal(one.rounds, other.rounds):
        raise _mismatch("recorded rounds", one.rounds.tolist(), other.rounds.tolist())
    mine, theirs = _edges(one), _edges(other)
    if mine != theirs:
        raise _mismatch("graph", _edge_text(one, mine, theirs), _edge_text(other, theirs, mine))
    if None not in known and not same_graph:
        shown = (
            f"{r.settings.get('graph')} ({r.settings['graph_hash'][:8]})" for r in (one, other)
        )
        raise _mismatch("graph", *shown)


def _policy_descriptions(results: list[Results]) -> dict[str, Any]:
    """Return the entry of each policy in the settings; raise InputError if two differ."""
    described: dict[str, Any] = {}
    for part in results:
        for name, entry in (part.settings.get("policies") or {}).items():
            mine = described.setdefault(name, entry)
            for field in dict.fromkeys((*mine, *entry)):
                if field not in _DESCRIPTION and _policy_fact(mine, field) != _policy_fact(
                    entry, field
                ):
                    what = f"{field} of policy '{name}'"
                    raise _mismatch(what, mine.get(field), entry.get(field))
    return described


def _policy_fact(entry: Mapping[str, Any], field: str) -> str:
    """Return a field of a policy entry as JSON; versions before 0.4 had no need 'fixed'."""
    value = entry.get(field)
    if field == "needs" and isinstance(value, Mapping):
        value = {"fixed": False, **value}
    return _plain(value)


def _edges(results: Results) -> set[tuple[int, int, float]] | float | None:
    """Return a fixed graph in a form that can be compared."""
    if results.graph is None:
        return None
    table = edges_of(results)
    if table is None:
        return float(results.graph.feedback.reach(np.array([0]))[0, -1])
    return set(zip(*(column.to_pylist() for column in table.columns), strict=True))


def _edge_text(results: Results, mine: Any, theirs: Any) -> str:
    """Describe a difference between two graphs, with the names of the arms."""
    if not isinstance(mine, set):
        return "not saved" if mine is None else f"all other arms with probability {mine:g}"
    more = sorted(mine - theirs) if isinstance(theirs, set) else []
    count = f"{len(mine)} edge{'s' * (len(mine) != 1)}"
    if not more:
        return count
    source, target, probability = more[0]
    return (
        f"{count} with {results.arms[source]} -> {results.arms[target]} of probability "
        f"{probability:g}"
    )


def _mismatch(what: str, mine: object, theirs: object) -> InputError:
    shown = (_short(value) for value in (mine, theirs))
    return InputError(
        f"results of different problems cannot be combined; {what}: {' and '.join(shown)}"
    )


def _short(value: object) -> str:
    text = value if isinstance(value, str) else "not given" if value is None else str(value)
    return text if len(text) <= 200 else f"{text[:200]}..."


def _plain(value: object) -> str:
    """Return a setting as JSON, in which a tuple is a list."""
    return json.dumps(value, sort_keys=True, default=repr)


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
    plays = np.sum([part.plays for part in parts], axis=0)
    ratios = [part.ratios for part in parts if part.ratios is not None]
    all_ratios = Ratios.concat(ratios) if len(ratios) == len(parts) else None
    ranked = [part.rank_plays for part in parts if part.rank_plays is not None]
    by_rank = np.sum(ranked, axis=0) if len(ranked) == len(parts) else None
    joined = PolicyResult.from_trials(np.concatenate(curves), plays, all_ratios)
    seen = [part.trajectories for part in parts]
    trajectories = Trajectories.concat(seen) if any(seen) else None
    return replace(joined, rank_plays=by_rank, trajectories=trajectories)


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
    if "version" in settings:
        settings["version"] = _distinct([r.settings.get("version") for r in results])
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
